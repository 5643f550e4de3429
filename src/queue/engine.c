// SPDX-License-Identifier: MIT
/*
 * The engine of the threaded queue: carries out what the state machine asks for, on a device and
 * with threads.
 *
 * The thread that needs something does it. A submit launches in its own thread, a suspend or resume
 * runs the verb in its own thread, a wait without a timeout calls sync in its own thread. The
 * worker, started when first needed, does the rest: it refills behind a full window, syncs on
 * behalf of threads that wait with a timeout or of a scheduler that needs to see the queue become
 * idle, and retries what the device refused to start. So a queue that is never preempted costs two
 * uncontended locks per command and no thread.
 *
 * Locking: see queue.h.
 */
#include "queue/queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"

/* A submit launches at most this many commands, those of other threads included; the worker does
 * the rest. */
#define LAUNCH_MAX 64u
/* The most commands that one sync awaits. */
#define REAP_MAX 64u
/* A sync that took less did not wait: the command had ended before. */
#define EXACT_NS 3000u

int gp__q_ring_grow(struct gp_queue *q)
{
	uint64_t size = q->ring_size ? 2 * q->ring_size : 16;
	struct gp__slot *ring = calloc(size, sizeof(*ring));
	uint64_t t;

	if (!ring)
		return -ENOMEM;
	for (t = q->pq.completed + 1; t <= q->pq.submitted; t++)
		ring[t & (size - 1)] = *gp__q_slot(q, t);
	free(q->ring);
	q->ring = ring;
	q->ring_size = size;
	return 0;
}

static void failure_keep(struct gp_queue *q, uint64_t ticket, int rc)
{
	struct gp__failure *f = &q->failures[q->failed++ % GP__FAILURES_MAX];

	if (f->ticket > q->forgotten)
		q->forgotten = f->ticket;
	f->ticket = ticket;
	f->rc = rc;
}

static int failure_find(const struct gp_queue *q, uint64_t ticket)
{
	unsigned int i;

	for (i = 0; i < GP__FAILURES_MAX; i++)
		if (q->failures[i].ticket == ticket)
			return q->failures[i].rc;
	return ticket <= q->forgotten ? -ESTALE : 0;
}

bool gp__q_ended(struct gp_queue *q, uint64_t ticket, int *rc)
{
	*rc = 0;
	if (ticket <= q->pq.completed) {
		if (q->failed)
			*rc = failure_find(q, ticket);
		return true;
	}
	if (q->cancelled && ticket >= q->cancelled) {
		*rc = -ECANCELED;
		return true;
	}
	*rc = gp__q_slot(q, ticket)->rc;
	return *rc != 0;
}

/*
 * Everything up to `ticket` has ended; launches that failed right behind it
 * have nothing left to wait for and end with it.
 */
static void retire(struct gp_queue *q, uint64_t ticket, bool exact, uint64_t now)
{
	uint64_t t;

	while (ticket < q->pq.launched && gp__q_slot(q, ticket + 1)->rc)
		ticket++;
	for (t = q->pq.completed + 1; t <= ticket; t++)
		if (gp__q_slot(q, t)->rc)
			failure_keep(q, t, gp__q_slot(q, t)->rc);
	gp__pq_complete(&q->pq, ticket, exact, now);
	if (q->member && !gp__pq_has_work(&q->pq))
		gp__sched_idle(q->member, now);
	gp__cond_broadcast(&q->changed);
}

/* ---------------------------------------------------------- device calls -- */

/* A device must not return a positive value: it counts as an error. */
int gp__q_result(int rc)
{
	return rc > 0 ? -EPROTO : rc;
}

const char *gp__q_errno(int rc)
{
	const char *text = strerrordesc_np(-rc);

	return text ? text : "unknown error";
}

static void report(struct gp_queue *q, enum gp__pq_note note, enum gp__pq_op op, int rc)
{
	struct gp_event ev = { .size = sizeof(ev), .error = rc, .level = q->pq.effective };
	const char *what = gp__pq_op_name(op);
	char text[GP_ERROR_MAX];

	if (note == GP__PQ_NOTE_FALLBACK && q->member)
		gp__sched_level(q->member, q->pq.effective, gp__clock_ns());
	if (!q->event)
		return;
	switch (note) {
	case GP__PQ_NOTE_FALLBACK:
		ev.kind = GP_EVENT_FALLBACK;
		snprintf(text, sizeof(text),
			 "%s: the device refuses %s (%s); level %d takes its place", q->name, what,
			 gp__q_errno(rc), ev.level);
		break;
	case GP__PQ_NOTE_STOP_FAILED:
		ev.kind = GP_EVENT_SUSPEND_FAILED;
		snprintf(text, sizeof(text), "%s: %s failed (%s); the queue keeps running", q->name,
			 what, gp__q_errno(rc));
		break;
	case GP__PQ_NOTE_START_FAILED:
		ev.kind = GP_EVENT_RESUME_FAILED;
		snprintf(text, sizeof(text),
			 "%s: %s failed (%s); the queue is still held, trying again", q->name, what,
			 gp__q_errno(rc));
		break;
	case GP__PQ_NOTE_START_RECOVERED:
		ev.kind = GP_EVENT_RESUME_RECOVERED;
		ev.error = 0;
		snprintf(text, sizeof(text), "%s: a retry of %s succeeded", q->name, what);
		break;
	case GP__PQ_NOTE_NONE:
		return;
	}
	ev.message = text;
	pthread_mutex_unlock(&q->lock);
	q->event(q->event_data, &ev);
	pthread_mutex_lock(&q->lock);
}

static void launch(struct gp_queue *q, uint64_t ticket)
{
	void *cmd = gp__q_slot(q, ticket)->cmd;
	uint64_t now = 0;
	int rc;

	pthread_mutex_unlock(&q->lock);
	rc = gp__q_result(q->ops.nlaunch(q->hwq, cmd));
	pthread_mutex_lock(&q->lock);

	/* At level 1 a hold placed meanwhile takes effect right now. */
	if (rc || q->pq.holds)
		now = gp__clock_ns();
	gp__pq_done(&q->pq, rc, now);
	if (!rc)
		return;
	gp__q_slot(q, ticket)->rc = rc;
	if (ticket == q->pq.completed + 1)
		retire(q, ticket, false, now);
	else
		gp__cond_broadcast(&q->changed);
}

static int verb_call(struct gp_queue *q, enum gp__pq_op op)
{
	switch (op) {
	case GP__PQ_DEACTIVATE:
		return q->ops.deactivate(q->hwq);
	case GP__PQ_REACTIVATE:
		return q->ops.reactivate(q->hwq);
	case GP__PQ_INTERRUPT:
		return q->ops.interrupt(q->hwq);
	case GP__PQ_RESTORE:
		return q->ops.restore(q->hwq);
	default:
		return -EINVAL;
	}
}

static void verb(struct gp_queue *q, enum gp__pq_op op)
{
	enum gp__pq_note note;
	int64_t unstarted = -1;
	bool ask;
	int rc;

	ask = op == GP__PQ_DEACTIVATE && q->ops.pending;
	pthread_mutex_unlock(&q->lock);
	rc = gp__q_result(verb_call(q, op));
	if (!rc && ask)
		unstarted = q->ops.pending(q->hwq);
	pthread_mutex_lock(&q->lock);

	note = gp__pq_done(&q->pq, rc, gp__clock_ns());
	if (!rc && ask)
		gp__pq_unstarted(&q->pq, unstarted, gp__clock_ns());
	gp__cond_broadcast(&q->changed);
	report(q, note, op, rc);
}

/* -------------------------------------------------------------- progress -- */

void gp__q_wait_for_device(struct gp_queue *q)
{
	q->queued++;
	gp__cond_wait(&q->changed, &q->lock, GP__FOREVER);
	q->queued--;
}

/* Only a launch into an empty device and a retry need the clock. */
static uint64_t time_for_next(const struct gp_queue *q)
{
	return q->pq.stop_level || !gp__pq_inflight(&q->pq) ? gp__clock_ns() : 0;
}

bool gp__q_pump(struct gp_queue *q, unsigned int may)
{
	struct gp__pq_action act;
	unsigned int launches = 0, calls;

	for (calls = 0;; calls++) {
		act = gp__pq_next(&q->pq, may, time_for_next(q));
		if (act.op == GP__PQ_NONE)
			break;
		if (act.op == GP__PQ_LAUNCH) {
			launch(q, act.ticket);
			if (++launches == LAUNCH_MAX)
				may &= ~GP__PQ_MAY_LAUNCH;
		} else {
			verb(q, act.op);
		}
	}
	if (launches && (q->queued || q->pq.closing))
		gp__cond_broadcast(&q->changed);
	return calls > 0;
}

/* Commands up to this one have ended, so more may be launched. */
static void ended(struct gp_queue *q, uint64_t ticket, bool exact, uint64_t now)
{
	retire(q, ticket, exact, now);
	gp__q_pump(q, GP__PQ_MAY_LAUNCH);
}

static int sync_one(struct gp_queue *q, void *cmd)
{
	int rc;

	do
		rc = gp__q_result(q->ops.sync(q->hwq, cmd));
	while (rc == -EINTR);
	return rc;
}

/*
 * Waits in the device for the next commands of a batch, without the lock. The oldest come first:
 * the queue may be held meanwhile, and then the younger ones end only after its release, which may
 * depend on a thread that waits for the older ones. So each end is published in q->synced, and the
 * batch ends at the command that a thread waits for. A waiting thread writes q->wanted and then
 * reads q->synced; this one does the reverse, so at least one of the two sees the other.
 */
static void reap(struct gp_queue *q)
{
	uint64_t first = q->pq.completed + 1, begin = 0, now, wanted, t;
	uint64_t last = gp__pq_sync_target(&q->pq, atomic_load(&q->wanted));
	void *cmds[REAP_MAX]; /* a copy: the ring may be reallocated */
	int rc;

	/* A launch that failed needs no sync; see retire() for the next one. */
	for (t = first; t <= last && t - first < REAP_MAX && !gp__q_slot(q, t)->rc; t++)
		cmds[t - first] = gp__q_slot(q, t)->cmd;
	last = t - 1;

	q->syncing = true;
	pthread_mutex_unlock(&q->lock);
	for (t = first;; t++) {
		if (t == last)
			begin = gp__clock_ns();
		rc = sync_one(q, cmds[t - first]);
		if (rc || t == last)
			break;
		atomic_store(&q->synced, t);
		wanted = atomic_load(&q->wanted);
		if (wanted >= first && wanted <= t)
			break;
	}
	now = gp__clock_ns();
	pthread_mutex_lock(&q->lock);
	q->syncing = false;
	gp__q_slot(q, t)->rc = rc;
	ended(q, t, t == last && now - begin >= EXACT_NS, now);
}

/* Records the ends that the thread in sync has published; false: nothing new. */
static bool catch_up(struct gp_queue *q)
{
	uint64_t synced = atomic_load(&q->synced);

	if (synced <= q->pq.completed)
		return false;
	ended(q, synced, false, gp__clock_ns());
	return true;
}

/* Whether a thread should be in sync and none is. */
static bool reap_due(const struct gp_queue *q)
{
	if (q->syncing || !(q->reap_always || q->timed || gp__pq_pending(&q->pq)))
		return false;
	return gp__pq_sync_target(&q->pq, 0) != 0;
}

static bool work_due(const struct gp_queue *q)
{
	struct gp__pq_action act;

	if (reap_due(q))
		return true;
	/* At time 0 nothing to be retried is due yet, so its time is given. */
	act = gp__pq_peek(&q->pq, 0);
	return act.op == GP__PQ_LAUNCH || act.wake_at;
}

static void *worker_main(void *arg)
{
	struct gp_queue *q = arg;
	struct gp__pq_action act;
	unsigned int may;

	pthread_mutex_lock(&q->lock);
	while (!q->worker_stop) {
		/* The worker runs a verb only after its first attempt failed. */
		may = GP__PQ_MAY_LAUNCH | (q->pq.tries ? GP__PQ_MAY_VERB : 0);
		if (gp__q_pump(q, may))
			continue;
		if (reap_due(q)) {
			reap(q);
			continue;
		}
		act = gp__pq_peek(&q->pq, gp__clock_ns());
		if (act.op == GP__PQ_LAUNCH || (act.op != GP__PQ_NONE && q->pq.tries))
			continue;
		q->worker_asleep = true;
		gp__cond_wait(&q->work, &q->lock, act.wake_at ? act.wake_at : GP__FOREVER);
		q->worker_asleep = false;
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

void gp__q_kick(struct gp_queue *q)
{
	if (!work_due(q))
		return;
	if (q->worker_asleep)
		gp__cond_signal(&q->work);
	else if (!q->worker_started && !q->worker_stop)
		q->worker_started = !gp__thread_start(&q->worker, 0, worker_main, q);
}

void gp__q_enter(struct gp_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->users++;
}

void gp__q_leave(struct gp_queue *q)
{
	gp__q_kick(q);
	q->users--;
	if (q->pq.closing)
		gp__cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

struct gp__limit gp__q_limit(int64_t timeout_ns)
{
	struct gp__limit l = { .timeout_ns = timeout_ns, .at = GP__FOREVER };

	if (timeout_ns >= 0)
		l.at = gp__clock_ns() + (uint64_t)timeout_ns;
	return l;
}

/* The first ticket that a thread waits for; a ticket that has ended is replaced by any other. */
static void want(struct gp_queue *q, uint64_t ticket)
{
	uint64_t wanted = atomic_load(&q->wanted);

	if (ticket > q->pq.completed && (wanted <= q->pq.completed || ticket < wanted))
		atomic_store(&q->wanted, ticket);
}

int gp__q_wait_step(struct gp_queue *q, uint64_t wanted, const struct gp__limit *l)
{
	bool forever = l->timeout_ns < 0;
	bool launch = forever && !q->syncing;
	int rc;

	want(q, wanted);
	if (q->syncing && catch_up(q))
		return 0;
	/* The worker would do it, but it may not exist for lack of memory. */
	if (forever && gp__q_pump(q, GP__PQ_MAY_LAUNCH))
		return 0;
	if (launch && gp__pq_sync_target(&q->pq, wanted)) {
		reap(q);
		return 0;
	}
	/* With no thread in sync, a launch has to wake us, not a completion. */
	q->queued += launch;
	q->timed += !forever;
	/* Polling leaves no trace, so the worker must not rely on one. */
	if (l->timeout_ns == 0)
		q->reap_always = true;
	gp__q_kick(q);
	rc = l->timeout_ns ? gp__cond_wait(&q->changed, &q->lock, l->at) : -ETIMEDOUT;
	q->timed -= !forever;
	q->queued -= launch;
	return rc == -ETIMEDOUT ? -ETIME : 0;
}
