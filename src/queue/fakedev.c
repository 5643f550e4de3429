// SPDX-License-Identifier: MIT
/*
 * One lock protects the whole device. The thread sleeps through a command's time on `work`, so that
 * a verb, or another queue's first command, can end the sleep. Threads that wait for a command's
 * end, or for the thread to leave a queue, sleep on `done`.
 */
#include "queue/fakedev.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/cond.h"

struct gp__fakeq {
	struct gp__fakedev *dev;
	struct gp__fakeq *next;
	struct gp__fakecmd *head, **tail;
	uint64_t queued;
	bool inactive, interrupted;
	bool running; /* its first command is on the device */
	/* Not under the lock, so that it detects two calls at once. */
	atomic_uint inside;
	struct {
		int rc, n;
	} fail[GP__FAKE_VERBS];
	struct gp__fakeq_report report;
};

struct gp__fakedev {
	pthread_mutex_t lock;
	struct gp__cond work, done;
	pthread_t thread;
	uint64_t slice_ns;
	struct gp__fakeq *queues; /* in the order of their turns */
	bool stop;
};

static bool runnable(const struct gp__fakeq *q)
{
	if (!q->head || q->interrupted)
		return false;
	return !q->inactive || q->head->state == GP__FAKECMD_RUNNING;
}

static struct gp__fakeq *first_runnable(struct gp__fakedev *dev)
{
	struct gp__fakeq *q;

	for (q = dev->queues; q; q = q->next)
		if (runnable(q))
			return q;
	return NULL;
}

/* The queue's turn is over: it goes to the end of the list. */
static void rotate(struct gp__fakedev *dev, struct gp__fakeq *q)
{
	struct gp__fakeq **p = &dev->queues;

	while (*p != q)
		p = &(*p)->next;
	*p = q->next;
	q->next = NULL;
	while (*p)
		p = &(*p)->next;
	*p = q;
}

static bool others_runnable(struct gp__fakedev *dev, const struct gp__fakeq *q)
{
	struct gp__fakeq *o;

	for (o = dev->queues; o; o = o->next)
		if (o != q && runnable(o))
			return true;
	return false;
}

static void command_end(struct gp__fakeq *q, uint64_t now)
{
	struct gp__fakecmd *cmd = q->head;

	q->head = cmd->next;
	if (!q->head)
		q->tail = &q->head;
	q->queued--;
	q->report.ran++;
	cmd->state = GP__FAKECMD_ENDED;
	cmd->ended_at = now;
}

/*
 * Wakes without the lock: a thread woken under it may run at once, find it taken and sleep again,
 * which costs two context switches that a benchmark of switches would see.
 */
static void wake(struct gp__fakedev *dev, struct gp__cond *cond)
{
	pthread_mutex_unlock(&dev->lock);
	gp__cond_broadcast(cond);
	pthread_mutex_lock(&dev->lock);
}

/* Runs a queue's first command until it ends, is held, or its turn is over. */
static void run_turn(struct gp__fakedev *dev, struct gp__fakeq *q)
{
	struct gp__fakecmd *cmd = q->head;
	uint64_t begin = gp__clock_ns(), now = begin, spent, limit;

	cmd->state = GP__FAKECMD_RUNNING;
	q->running = true;
	while (runnable(q) && !dev->stop && now - begin < cmd->left_ns) {
		limit = begin + cmd->left_ns;
		if (others_runnable(dev, q)) {
			if (now - begin >= dev->slice_ns)
				break;
			if (limit > begin + dev->slice_ns)
				limit = begin + dev->slice_ns;
		}
		gp__cond_wait(&dev->work, &dev->lock, limit);
		now = gp__clock_ns();
	}
	spent = now - begin < cmd->left_ns ? now - begin : cmd->left_ns;
	cmd->left_ns -= spent;
	q->report.ran_ns += spent;
	q->running = false;
	if (!cmd->left_ns)
		command_end(q, now);
	rotate(dev, q);
	wake(dev, &dev->done);
}

static void *fakedev_main(void *arg)
{
	struct gp__fakedev *dev = arg;
	struct gp__fakeq *q;

	pthread_mutex_lock(&dev->lock);
	while (!dev->stop) {
		q = first_runnable(dev);
		if (q)
			run_turn(dev, q);
		else
			gp__cond_wait(&dev->work, &dev->lock, GP__FOREVER);
	}
	pthread_mutex_unlock(&dev->lock);
	return NULL;
}

/* ------------------------------------------------------ the device's table -- */

static int call_begin(struct gp__fakeq *q, enum gp__fakeverb verb)
{
	unsigned int others = atomic_fetch_add(&q->inside, 1);

	pthread_mutex_lock(&q->dev->lock);
	q->report.wrong += others;
	q->report.calls[verb]++;
	if (!q->fail[verb].n)
		return 0;
	if (q->fail[verb].n > 0)
		q->fail[verb].n--;
	return q->fail[verb].rc;
}

static int call_end(struct gp__fakeq *q, int rc)
{
	pthread_mutex_unlock(&q->dev->lock);
	atomic_fetch_sub(&q->inside, 1);
	return rc;
}

static int fake_nlaunch(void *hwq, void *arg)
{
	struct gp__fakeq *q = hwq;
	struct gp__fakecmd *cmd = arg;
	int rc = call_begin(q, GP__FAKE_NLAUNCH);

	q->report.wrong += q->inactive || q->interrupted || cmd->state != GP__FAKECMD_NEW;
	if (rc)
		return call_end(q, rc);
	cmd->state = GP__FAKECMD_QUEUED;
	cmd->left_ns = cmd->run_ns;
	cmd->next = NULL;
	*q->tail = cmd;
	q->tail = &cmd->next;
	q->queued++;
	wake(q->dev, &q->dev->work);
	return call_end(q, 0);
}

static int fake_sync(void *hwq, void *arg)
{
	struct gp__fakeq *q = hwq;
	struct gp__fakecmd *cmd = arg;
	int rc;

	pthread_mutex_lock(&q->dev->lock);
	q->report.wrong += cmd->state == GP__FAKECMD_NEW || cmd->syncs++;
	while (cmd->state != GP__FAKECMD_ENDED)
		gp__cond_wait(&q->dev->done, &q->dev->lock, GP__FOREVER);
	rc = cmd->result;
	pthread_mutex_unlock(&q->dev->lock);
	return rc;
}

static int set_stopped(struct gp__fakeq *q, enum gp__fakeverb verb, bool *flag, bool value)
{
	int rc = call_begin(q, verb);

	if (rc)
		return call_end(q, rc);
	/* Releasing a running queue is allowed: it follows a hold that timed out. */
	q->report.wrong += value && *flag;
	*flag = value;
	wake(q->dev, &q->dev->work);
	while (q->interrupted && q->running)
		gp__cond_wait(&q->dev->done, &q->dev->lock, GP__FOREVER);
	return call_end(q, 0);
}

static int fake_deactivate(void *hwq)
{
	struct gp__fakeq *q = hwq;

	return set_stopped(q, GP__FAKE_DEACTIVATE, &q->inactive, true);
}

static int fake_reactivate(void *hwq)
{
	struct gp__fakeq *q = hwq;

	return set_stopped(q, GP__FAKE_REACTIVATE, &q->inactive, false);
}

static int fake_interrupt(void *hwq)
{
	struct gp__fakeq *q = hwq;

	return set_stopped(q, GP__FAKE_INTERRUPT, &q->interrupted, true);
}

static int fake_restore(void *hwq)
{
	struct gp__fakeq *q = hwq;

	return set_stopped(q, GP__FAKE_RESTORE, &q->interrupted, false);
}

static int64_t fake_pending(void *hwq)
{
	struct gp__fakeq *q = hwq;
	int64_t n;

	pthread_mutex_lock(&q->dev->lock);
	n = (int64_t)q->queued;
	if (q->head && q->head->state == GP__FAKECMD_RUNNING)
		n--;
	pthread_mutex_unlock(&q->dev->lock);
	return n;
}

struct gp_device_ops gp__fakedev_ops(int level, bool pending)
{
	struct gp_device_ops ops = GP_DEVICE_OPS_INIT;

	ops.nlaunch = fake_nlaunch;
	ops.sync = fake_sync;
	if (level >= 2) {
		ops.deactivate = fake_deactivate;
		ops.reactivate = fake_reactivate;
	}
	if (level >= 3) {
		ops.interrupt = fake_interrupt;
		ops.restore = fake_restore;
	}
	if (pending)
		ops.pending = fake_pending;
	return ops;
}

/* --------------------------------------------------------- beginning, end -- */

int gp__fakedev_create(uint64_t slice_ns, struct gp__fakedev **out)
{
	struct gp__fakedev *dev = calloc(1, sizeof(*dev));
	int rc;

	if (!dev)
		return -ENOMEM;
	dev->slice_ns = slice_ns;
	pthread_mutex_init(&dev->lock, NULL);
	rc = -pthread_create(&dev->thread, NULL, fakedev_main, dev);
	if (rc) {
		free(dev);
		return rc;
	}
	*out = dev;
	return 0;
}

void gp__fakedev_destroy(struct gp__fakedev *dev)
{
	pthread_mutex_lock(&dev->lock);
	dev->stop = true;
	gp__cond_broadcast(&dev->work);
	pthread_mutex_unlock(&dev->lock);
	pthread_join(dev->thread, NULL);
	pthread_mutex_destroy(&dev->lock);
	free(dev);
}

struct gp__fakeq *gp__fakeq_create(struct gp__fakedev *dev)
{
	struct gp__fakeq *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->dev = dev;
	q->tail = &q->head;
	pthread_mutex_lock(&dev->lock);
	q->next = dev->queues;
	dev->queues = q;
	pthread_mutex_unlock(&dev->lock);
	return q;
}

void gp__fakeq_destroy(struct gp__fakeq *q)
{
	struct gp__fakedev *dev = q->dev;
	struct gp__fakeq **p;

	pthread_mutex_lock(&dev->lock);
	for (p = &dev->queues; *p != q; p = &(*p)->next)
		;
	*p = q->next;
	pthread_mutex_unlock(&dev->lock);
	free(q);
}

void gp__fakeq_fail(struct gp__fakeq *q, enum gp__fakeverb verb, int rc, int n)
{
	pthread_mutex_lock(&q->dev->lock);
	q->fail[verb].rc = rc;
	q->fail[verb].n = n;
	pthread_mutex_unlock(&q->dev->lock);
}

struct gp__fakeq_report gp__fakeq_report(struct gp__fakeq *q)
{
	struct gp__fakeq_report r;

	pthread_mutex_lock(&q->dev->lock);
	r = q->report;
	pthread_mutex_unlock(&q->dev->lock);
	return r;
}

void gp__fakeq_finish(struct gp__fakeq *q)
{
	pthread_mutex_lock(&q->dev->lock);
	if (q->head)
		q->head->left_ns = 0;
	gp__cond_signal(&q->dev->work);
	pthread_mutex_unlock(&q->dev->lock);
}

bool gp__fakeq_runs(struct gp__fakeq *q)
{
	bool runs;

	pthread_mutex_lock(&q->dev->lock);
	runs = q->running;
	pthread_mutex_unlock(&q->dev->lock);
	return runs;
}
