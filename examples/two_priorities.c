// SPDX-License-Identifier: MIT
/*
 * Two priorities in one process: a thread with short requests and a thread that
 * keeps the device busy, on one device.
 *
 *	cc two_priorities.c $(pkg-config --cflags --libs gpreempt) -lpthread
 *	./two_priorities [LEVEL]	the requested level of preemption, 1 to 3
 *
 * The device is a thread that sleeps for each command's time, so that the example
 * runs anywhere. With a real device, the six functions of the table call its driver.
 */
#include <errno.h>
#include <gpreempt/gpreempt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MS 1000000ull
#define REQUESTS 100

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ------------------------------------------------------------- the device -- */

struct command {
	uint64_t left_ns;
	int begun, ended;
	struct command *next;
};

struct hwqueue {
	struct command *first, **last;
	int inactive, interrupted, running;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	struct hwqueue *queue[2];
	int stop;
} device = { .lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };

static int may_run(const struct hwqueue *q)
{
	return q->first && !q->interrupted && (!q->inactive || q->first->begun);
}

/* Runs a queue's first command to its end, or until it is interrupted. */
static void device_run(struct hwqueue *q)
{
	struct command *c = q->first;
	uint64_t begin = now_ns(), spent = 0;
	struct timespec end = { .tv_sec = (time_t)((begin + c->left_ns) / 1000000000u),
				.tv_nsec = (long)((begin + c->left_ns) % 1000000000u) };

	c->begun = q->running = 1;
	while (!q->interrupted && spent < c->left_ns) {
		pthread_cond_timedwait(&device.work, &device.lock, &end);
		spent = now_ns() - begin;
	}
	c->left_ns -= spent < c->left_ns ? spent : c->left_ns;
	q->running = 0;
	if (!c->left_ns) {
		c->ended = 1;
		q->first = c->next;
		if (!q->first)
			q->last = &q->first;
	}
	pthread_cond_broadcast(&device.done);
}

static void *device_main(void *arg)
{
	int turn = 0, i;

	pthread_mutex_lock(&device.lock);
	while (!device.stop) {
		for (i = 0; i < 2 && !may_run(device.queue[turn]); i++)
			turn = !turn;
		if (i == 2) {
			pthread_cond_wait(&device.work, &device.lock);
			continue;
		}
		device_run(device.queue[turn]);
		turn = !turn;
	}
	pthread_mutex_unlock(&device.lock);
	return arg;
}

static int nlaunch(void *hwq, void *cmd)
{
	struct hwqueue *q = hwq;
	struct command *c = cmd;

	pthread_mutex_lock(&device.lock);
	*q->last = c;
	q->last = &c->next;
	pthread_cond_signal(&device.work);
	pthread_mutex_unlock(&device.lock);
	return 0;
}

static int sync_command(void *hwq, void *cmd)
{
	struct command *c = cmd;

	(void)hwq;
	pthread_mutex_lock(&device.lock);
	while (!c->ended)
		pthread_cond_wait(&device.done, &device.lock);
	pthread_mutex_unlock(&device.lock);
	return 0;
}

static int set(struct hwqueue *q, int *flag, int value)
{
	pthread_mutex_lock(&device.lock);
	*flag = value;
	pthread_cond_signal(&device.work);
	while (q->interrupted && q->running)
		pthread_cond_wait(&device.done, &device.lock);
	pthread_mutex_unlock(&device.lock);
	return 0;
}

static int deactivate(void *hwq)
{
	struct hwqueue *q = hwq;

	return set(q, &q->inactive, 1);
}

static int reactivate(void *hwq)
{
	struct hwqueue *q = hwq;

	return set(q, &q->inactive, 0);
}

static int interrupt(void *hwq)
{
	struct hwqueue *q = hwq;

	return set(q, &q->interrupted, 1);
}

static int restore(void *hwq)
{
	struct hwqueue *q = hwq;

	return set(q, &q->interrupted, 0);
}

/* ------------------------------------------------------------ the program -- */

static atomic_int finished;

/* Offline work: always has a few commands submitted. */
static void *offline_main(void *arg)
{
	struct command commands[4] = { { 0, 0, 0, NULL } };
	uint64_t ticket[4] = { 0 };
	struct gp_queue *queue = arg;
	unsigned long done = 0;
	int i;

	for (i = 0; !atomic_load(&finished); i = (i + 1) % 4) {
		if (ticket[i] && !gp_queue_wait(queue, ticket[i], -1))
			done++;
		commands[i] = (struct command){ .left_ns = 4 * MS };
		if (gp_queue_submit(queue, &commands[i], &ticket[i]))
			break;
	}
	gp_queue_wait_all(queue, -1);
	return (void *)done;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Online work: a request at intervals, whose answer is waited for. */
static void online_run(struct gp_queue *queue, uint64_t latency[REQUESTS])
{
	const struct timespec pause = { .tv_nsec = 10 * MS };
	uint64_t ticket, begin;
	int i;

	for (i = 0; i < REQUESTS; i++) {
		struct command c = { .left_ns = 1 * MS };

		nanosleep(&pause, NULL);
		begin = now_ns();
		if (gp_queue_submit(queue, &c, &ticket) || gp_queue_wait(queue, ticket, -1))
			return;
		latency[i] = now_ns() - begin;
	}
	qsort(latency, REQUESTS, sizeof(latency[0]), by_size);
}

static struct gp_queue *make_queue(struct hwqueue *hwq, int level, int priority,
				   struct gp_sched *sched)
{
	struct gp_device_ops ops = GP_DEVICE_OPS_INIT;
	struct gp_queue_options options = GP_QUEUE_OPTIONS_INIT;
	struct gp_queue *queue;
	struct gp_error err;

	ops.nlaunch = nlaunch;
	ops.sync = sync_command;
	ops.deactivate = deactivate;
	ops.reactivate = reactivate;
	ops.interrupt = interrupt;
	ops.restore = restore;
	options.level = level;
	options.priority = priority;
	options.sched = sched;
	if (gp_queue_create(&ops, hwq, &options, &queue, &err)) {
		fprintf(stderr, "two_priorities: %s\n", err.message);
		exit(1);
	}
	return queue;
}

static void run(const char *title, int level, struct gp_sched *sched, int with_offline)
{
	struct gp_queue *high = make_queue(device.queue[0], level, GP_PRIORITY_ONLINE, sched);
	struct gp_queue *low = make_queue(device.queue[1], level, GP_PRIORITY_OFFLINE, sched);
	struct gp_queue_stats stats = GP_QUEUE_STATS_INIT;
	uint64_t latency[REQUESTS] = { 0 };
	void *done = NULL;
	pthread_t thread;

	atomic_store(&finished, 0);
	if (with_offline && pthread_create(&thread, NULL, offline_main, low))
		exit(1);
	online_run(high, latency);
	atomic_store(&finished, 1);
	if (with_offline)
		pthread_join(thread, &done);
	gp_queue_stats(low, &stats);
	printf("%-24s %8.2f ms %8.2f ms %8lu %8lu\n", title, (double)latency[REQUESTS / 2] / MS,
	       (double)latency[REQUESTS * 99 / 100] / MS, (unsigned long)done,
	       (unsigned long)stats.suspends);
	gp_queue_destroy(low);
	gp_queue_destroy(high);
}

int main(int argc, char **argv)
{
	struct gp_sched_options options = GP_SCHED_OPTIONS_INIT;
	struct hwqueue hw[2] = { { .last = &hw[0].first }, { .last = &hw[1].first } };
	int level = argc > 1 ? atoi(argv[1]) : 3;
	struct gp_sched *sched;
	struct gp_error err;
	pthread_condattr_t attr;
	pthread_t thread;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&device.work, &attr);
	device.queue[0] = &hw[0];
	device.queue[1] = &hw[1];
	options.policy = "hpf";
	if (gp_sched_create(&options, &sched, &err)) {
		fprintf(stderr, "two_priorities: %s\n", err.message);
		return 1;
	}
	if (pthread_create(&thread, NULL, device_main, NULL))
		return 1;

	printf("%-24s %11s %11s %8s %8s\n", "", "online p50", "online p99", "offline", "suspends");
	run("online alone", level, NULL, 0);
	run("both, no scheduler", level, NULL, 1);
	run("both, by priority", level, sched, 1);

	gp_sched_destroy(sched);
	pthread_mutex_lock(&device.lock);
	device.stop = 1;
	pthread_cond_signal(&device.work);
	pthread_mutex_unlock(&device.lock);
	pthread_join(thread, NULL);
	return 0;
}
