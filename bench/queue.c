// SPDX-License-Identifier: MIT
/*
 * Measures the cost of the preemptible queue.
 *
 * "launch": one command launched and awaited, through a queue and by calling a
 * device that does nothing; the difference is the overhead for a program that is
 * never preempted. "suspend": one suspend and resume of a queue whose
 * command is running, against a bare futex round trip between two threads. At
 * level 3 the device's thread has to release the command, which is such a round
 * trip; level 2 tells it and does not wait; level 1 does not tell it.
 *
 * "hot" is one call among many, measured alternately with its baseline. "cold" is
 * a single call after 1 ms, when all threads sleep, so the two figures cannot be
 * divided pair by pair.
 *
 * A cold call depends most on where the two threads sleep: on one CPU each wake
 * is a context switch, on two it wakes an idle CPU, which takes ten times as long
 * in a virtual machine. A futex round trip has two such wakes; so has a suspend
 * at level 3, and the resume has one more. "taskset -c 0" makes the
 * scheduler's choice the same for both.
 */
#include "benches.h"
#include "base/clock.h"
#include "pingpong.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <gpreempt/gpreempt.h>

#include "queue/fakedev.h"

/* Commands between two waits, like a program with a stream. */
#define BURST 256

static void add_row(struct gp__bench_run *run, const char *what, int level, const char *state,
		    const struct gp__bench_pair *pair)
{
	json_t *row = json_pack("{s:s, s:o, s:s}", "what", what, "level",
				level ? json_integer(level) : json_null(), "state", state);

	gp__bench_set(row, "time", "ns", &pair->a_ns);
	gp__bench_set(row, "against", "ns", &pair->b_ns);
	gp__bench_set(row, "ratio", "", &pair->ratio);
	gp__bench_row(run, row);
}

/* ---------------------------------------------------- launching and waiting -- */

static __attribute__((noinline)) int null_call(void *hwq, void *cmd)
{
	atomic_uint *calls = hwq;

	(void)cmd;
	atomic_store_explicit(calls, atomic_load_explicit(calls, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	return 0;
}

static int null_verb(void *hwq)
{
	return null_call(hwq, NULL);
}

struct launcher {
	struct gp_device_ops ops;
	atomic_uint hwq;
	struct gp_queue *queue;
	char cmd[BURST];
};

static int launch_directly(void *arg, uint64_t times)
{
	struct launcher *l = arg;
	uint64_t i, n;

	for (; times; times -= n) {
		n = times < BURST ? times : BURST;
		for (i = 0; i < n; i++)
			l->ops.nlaunch(&l->hwq, &l->cmd[i]);
		for (i = 0; i < n; i++)
			l->ops.sync(&l->hwq, &l->cmd[i]);
	}
	return 0;
}

static int launch_queued(void *arg, uint64_t times)
{
	struct launcher *l = arg;
	uint64_t i, n;
	int err = 0;

	for (; times && !err; times -= n) {
		n = times < BURST ? times : BURST;
		for (i = 0; i < n && !err; i++)
			err = gp_queue_submit(l->queue, &l->cmd[i], NULL);
		if (!err)
			err = gp_queue_wait_all(l->queue, -1);
	}
	return err;
}

static int measure_launch(struct gp__bench_run *run)
{
	struct launcher l = { .ops = GP_DEVICE_OPS_INIT };
	struct gp__bench_pair pair;
	struct gp_error err_text;
	int err;

	l.ops.nlaunch = l.ops.sync = null_call;
	l.ops.interrupt = l.ops.restore = null_verb;
	err = gp_queue_create(&l.ops, &l.hwq, NULL, &l.queue, &err_text);
	if (err)
		return gp__bench_fail(run, err, "%s", err_text.message);
	err = gp__bench_compare(run, launch_queued, &l, launch_directly, &l, &pair);
	gp_queue_destroy(l.queue);
	if (err)
		return gp__bench_fail(run, err, "launching");
	add_row(run, "launch and wait", 0, "hot", &pair);
	return 0;
}

/* --------------------------------------------------- suspending and resuming -- */

static int suspend_resume(void *arg, uint64_t times)
{
	struct gp_queue *q = arg;
	int err = 0;

	while (!err && times--) {
		err = gp_queue_suspend(q, 0, -1, NULL, NULL);
		if (!err)
			err = gp_queue_resume(q, NULL);
	}
	return err;
}

static void let_all_sleep(void *arg)
{
	(void)arg;
	gp__sleep_ns(1 * GP__MS);
}

static int suspend_rows(struct gp__bench_run *run, struct gp_queue *q, int level,
			struct pingpong *futex)
{
	struct gp__bench_pair pair;
	int err;

	err = gp__bench_compare(run, suspend_resume, q, pingpong_round_trip, futex, &pair);
	if (err)
		return gp__bench_fail(run, err, "suspending at level %d", level);
	add_row(run, "suspend+resume/futex", level, "hot", &pair);

	memset(&pair, 0, sizeof(pair));
	err = gp__bench_cold(run, suspend_resume, let_all_sleep, q, &pair.a_ns);
	if (!err)
		err = gp__bench_cold(run, pingpong_round_trip, let_all_sleep, futex, &pair.b_ns);
	if (err)
		return gp__bench_fail(run, err, "suspending at level %d", level);
	add_row(run, "suspend+resume/futex", level, "cold", &pair);
	return 0;
}

static int measure_level(struct gp__bench_run *run, struct gp__fakedev *dev, int level,
			 struct pingpong *futex)
{
	struct gp__fakecmd cmd = { .run_ns = GP__FAKE_ENDLESS };
	struct gp_device_ops ops = gp__fakedev_ops(level, true);
	struct gp__fakeq *hwq = gp__fakeq_create(dev);
	struct gp_queue *q;
	int err;

	if (!hwq)
		return -ENOMEM;
	err = gp_queue_create(&ops, hwq, NULL, &q, NULL);
	if (err)
		goto out;
	err = gp_queue_submit(q, &cmd, NULL);
	while (!err && !gp__fakeq_runs(hwq))
		gp__sleep_ns(100 * GP__US);
	if (!err)
		err = suspend_rows(run, q, level, futex);
	gp__fakeq_finish(hwq);
	gp_queue_destroy(q);
out:
	gp__fakeq_destroy(hwq);
	return err;
}

int bench_queue(struct gp__bench_run *run)
{
	struct gp__fakedev *dev;
	struct pingpong futex;
	int err, level;

	err = gp__fakedev_create(1000000, &dev);
	if (err)
		return gp__bench_fail(run, err, "starting the device's thread");
	err = pingpong_start(&futex, true);
	if (err) {
		gp__bench_fail(run, err, "starting a thread");
		goto out;
	}
	/* Measure with threads: a lock costs much less without them. */
	err = measure_launch(run);
	for (level = 1; level <= 3 && !err; level++)
		err = measure_level(run, dev, level, &futex);
	pingpong_end(&futex);
out:
	gp__fakedev_destroy(dev);
	return err;
}
