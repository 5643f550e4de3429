// SPDX-License-Identifier: MIT
/* The threaded queue on the fake device: one behaviour a test, then all at once. */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gpreempt/gpreempt.h>

#include "base/clock.h"
#include "queue/fakedev.h"
#include "queue/queue.h"

#define S 1000000000ll

struct rig {
	struct gp__fakedev *dev;
	struct gp__fakeq *hwq;
	struct gp_queue *q;
	struct gp_error err;
	pthread_mutex_t lock; /* of what follows: events come from any thread */
	int events[8];
	char event_text[GP_ERROR_MAX];
};

static void on_event(void *data, const struct gp_event *ev)
{
	struct rig *r = data;

	pthread_mutex_lock(&r->lock);
	r->events[ev->kind]++;
	snprintf(r->event_text, sizeof(r->event_text), "%s", ev->message);
	pthread_mutex_unlock(&r->lock);
}

static void rig_up(struct rig *r, int device_level, bool pending,
		   const struct gp_queue_options *options)
{
	struct gp_device_ops ops = gp__fakedev_ops(device_level, pending);
	struct gp_queue_options opt = GP_QUEUE_OPTIONS_INIT;

	memset(r, 0, sizeof(*r));
	pthread_mutex_init(&r->lock, NULL);
	if (options)
		opt = *options;
	opt.event = on_event;
	opt.event_data = r;
	assert_int_equal(gp__fakedev_create(1 * GP__MS, &r->dev), 0);
	r->hwq = gp__fakeq_create(r->dev);
	assert_int_equal(gp_queue_create(&ops, r->hwq, &opt, &r->q, &r->err), 0);
}

static void rig_down(struct rig *r)
{
	struct gp__fakeq_report report;

	gp_queue_destroy(r->q);
	report = gp__fakeq_report(r->hwq);
	gp__fakeq_destroy(r->hwq);
	gp__fakedev_destroy(r->dev);
	pthread_mutex_destroy(&r->lock);
	assert_int_equal(report.wrong, 0);
}

static struct gp_queue_stats stats_of(struct rig *r)
{
	struct gp_queue_stats s = GP_QUEUE_STATS_INIT;

	assert_int_equal(gp_queue_stats(r->q, &s), 0);
	return s;
}

static void comes_to_run(struct rig *r)
{
	while (!gp__fakeq_runs(r->hwq))
		gp__sleep_ns(100 * GP__US);
}

static void test_submit_and_wait(void **state)
{
	struct gp__fakecmd cmds[3000];
	uint64_t ticket = 0;
	struct rig r;
	unsigned int i;

	(void)state;
	memset(cmds, 0, sizeof(cmds));
	rig_up(&r, 1, false, NULL);
	for (i = 0; i < 3000; i++) {
		assert_int_equal(gp_queue_submit(r.q, &cmds[i], &ticket), 0);
		assert_int_equal(ticket, i + 1);
	}
	assert_int_equal(gp_queue_wait(r.q, 1500, -1), 0);
	assert_int_equal(gp_queue_wait_all(r.q, 10 * S), 0);
	assert_int_equal(gp_queue_wait(r.q, ticket, 0), 0);
	assert_int_equal(gp_queue_wait(r.q, ticket + 1, 0), -EINVAL);
	assert_int_equal(gp_queue_wait(r.q, 0, 0), -EINVAL);
	assert_int_equal(stats_of(&r).completed, 3000);
	assert_int_equal(gp__fakeq_report(r.hwq).ran, 3000);
	rig_down(&r);
}

/* No thread waits: commands beyond the window must still be launched. */
static void test_goes_on_without_a_waiter(void **state)
{
	struct gp__fakecmd cmds[200];
	struct rig r;
	unsigned int i;

	(void)state;
	memset(cmds, 0, sizeof(cmds));
	rig_up(&r, 1, false, NULL);
	for (i = 0; i < 200; i++)
		gp_queue_submit(r.q, &cmds[i], NULL);
	for (i = 0; i < 2000 && gp__fakeq_report(r.hwq).calls[GP__FAKE_NLAUNCH] < 200; i++)
		gp__sleep_ns(1 * GP__MS);
	assert_int_equal(gp__fakeq_report(r.hwq).calls[GP__FAKE_NLAUNCH], 200);
	rig_down(&r);
}

static void test_errors_belong_to_their_commands(void **state)
{
	struct gp__fakecmd cmds[4];
	struct rig r;

	(void)state;
	memset(cmds, 0, sizeof(cmds));
	cmds[1].result = -EIO;
	rig_up(&r, 3, false, NULL);
	gp_queue_submit(r.q, &cmds[0], NULL);
	gp_queue_submit(r.q, &cmds[1], NULL);
	gp__fakeq_fail(r.hwq, GP__FAKE_NLAUNCH, -ENOSPC, 1);
	gp_queue_submit(r.q, &cmds[2], NULL);
	gp_queue_submit(r.q, &cmds[3], NULL);
	assert_int_equal(gp_queue_wait(r.q, 3, -1), -ENOSPC);
	assert_int_equal(gp_queue_wait(r.q, 4, -1), 0);
	assert_int_equal(gp_queue_wait(r.q, 1, -1), 0);
	assert_int_equal(gp_queue_wait(r.q, 2, -1), -EIO);
	assert_int_equal(gp_queue_wait(r.q, 3, -1), -ENOSPC);
	assert_int_equal(gp_queue_wait_all(r.q, -1), 0);
	assert_int_equal(stats_of(&r).failed, 2);
	rig_down(&r);
}

static void test_forgotten_results_are_not_guessed(void **state)
{
	struct gp__fakecmd cmds[100];
	struct rig r;
	unsigned int i;

	(void)state;
	memset(cmds, 0, sizeof(cmds));
	rig_up(&r, 3, false, NULL);
	for (i = 0; i < 100; i++) {
		cmds[i].result = -EIO;
		gp_queue_submit(r.q, &cmds[i], NULL);
	}
	assert_int_equal(gp_queue_wait_all(r.q, -1), 0);
	assert_int_equal(gp_queue_wait(r.q, 1, -1), -ESTALE);
	assert_int_equal(gp_queue_wait(r.q, 100, -1), -EIO);
	rig_down(&r);
}

static void test_wait_times_out(void **state)
{
	struct gp__fakecmd cmd = { .run_ns = GP__FAKE_ENDLESS };
	uint64_t t0;
	struct rig r;

	(void)state;
	rig_up(&r, 3, false, NULL);
	gp_queue_submit(r.q, &cmd, NULL);
	t0 = gp__clock_ns();
	assert_int_equal(gp_queue_wait(r.q, 1, 0), -ETIME);
	assert_int_equal(gp_queue_wait(r.q, 1, 5 * (int64_t)GP__MS), -ETIME);
	assert_int_equal(gp_queue_wait_all(r.q, 5 * (int64_t)GP__MS), -ETIME);
	assert_true(gp__clock_ns() - t0 >= 10 * GP__MS);
	gp__fakeq_finish(r.hwq);
	assert_int_equal(gp_queue_wait(r.q, 1, 10 * S), 0);
	rig_down(&r);
}

static int slow_nlaunch(void *hwq, void *cmd)
{
	gp__sleep_ns(1 * GP__MS);
	return gp__fakedev_ops(1, false).nlaunch(hwq, cmd);
}

/*
 * The worker launches what a thread waits for: that thread is woken when the
 * command before has ended, finds its own not launched yet, and must be woken
 * again when it is.
 */
static void test_wait_for_what_another_launches(void **state)
{
	struct gp_device_ops ops = gp__fakedev_ops(1, false);
	struct gp_queue_options opt = GP_QUEUE_OPTIONS_INIT;
	struct gp__fakecmd cmds[20];
	uint64_t ticket;
	struct rig r;
	unsigned int i;

	(void)state;
	memset(cmds, 0, sizeof(cmds));
	rig_up(&r, 1, false, NULL);
	gp_queue_destroy(r.q);
	opt.window = 1;
	ops.nlaunch = slow_nlaunch;
	assert_int_equal(gp_queue_create(&ops, r.hwq, &opt, &r.q, NULL), 0);
	for (i = 0; i < 20; i++) {
		cmds[i].run_ns = 1 * GP__MS;
		gp_queue_submit(r.q, &cmds[i], &ticket);
		if (ticket > 1)
			assert_int_equal(gp_queue_wait(r.q, ticket - 1, -1), 0);
	}
	assert_int_equal(gp_queue_wait(r.q, ticket, -1), 0);
	rig_down(&r);
}

static void test_max_pending(void **state)
{
	struct gp_queue_options opt = GP_QUEUE_OPTIONS_INIT;
	struct gp__fakecmd cmds[4];
	struct rig r;

	(void)state;
	memset(cmds, 0, sizeof(cmds));
	opt.max_pending = 2;
	rig_up(&r, 1, false, &opt);
	assert_int_equal(gp_queue_suspend(r.q, 0, -1, NULL, NULL), 0);
	assert_int_equal(gp_queue_submit(r.q, &cmds[0], NULL), 0);
	assert_int_equal(gp_queue_submit(r.q, &cmds[1], NULL), 0);
	assert_int_equal(gp_queue_submit(r.q, &cmds[2], NULL), -EAGAIN);
	gp_queue_resume(r.q, NULL);
	assert_int_equal(gp_queue_wait_all(r.q, -1), 0);
	rig_down(&r);
}

/* At each level: nothing runs while suspended (as far as promised), all runs afterwards. */
static void suspend_at(int level)
{
	struct gp_suspend_result res = GP_SUSPEND_RESULT_INIT;
	struct gp__fakecmd cmds[8];
	struct gp_queue_options opt = GP_QUEUE_OPTIONS_INIT;
	struct rig r;
	uint64_t ran;
	unsigned int i;

	memset(cmds, 0, sizeof(cmds));
	opt.level = level;
	rig_up(&r, 3, true, &opt);
	assert_int_equal(stats_of(&r).level_effective, level);
	for (i = 0; i < 8; i++) {
		cmds[i].run_ns = 10 * GP__MS;
		gp_queue_submit(r.q, &cmds[i], NULL);
	}
	gp__sleep_ns(2 * GP__MS);
	assert_int_equal(gp_queue_suspend(r.q, GP_SUSPEND_DRAIN, -1, &res, NULL), 0);
	assert_int_equal(res.level, level);
	assert_int_equal(res.may_run, 0);
	assert_int_equal(stats_of(&r).state, GP_QUEUE_SUSPENDED);
	assert_false(gp__fakeq_runs(r.hwq));
	ran = gp__fakeq_report(r.hwq).ran_ns;
	gp__sleep_ns(20 * GP__MS);
	assert_int_equal(gp__fakeq_report(r.hwq).ran_ns, ran);
	assert_int_equal(gp_queue_resume(r.q, NULL), 0);
	assert_int_equal(gp_queue_wait_all(r.q, 10 * S), 0);
	assert_int_equal(gp__fakeq_report(r.hwq).ran_ns, 80 * GP__MS);
	rig_down(&r);
}

static void test_suspend_level1(void **state)
{
	(void)state;
	suspend_at(1);
}

static void test_suspend_level2(void **state)
{
	(void)state;
	suspend_at(2);
}

static void test_suspend_level3(void **state)
{
	(void)state;
	suspend_at(3);
}

/* It would not return before the command's end if it did not take it off. */
static void test_level3_stops_what_runs(void **state)
{
	struct gp_suspend_result res = GP_SUSPEND_RESULT_INIT;
	struct gp__fakecmd cmd = { .run_ns = GP__FAKE_ENDLESS };
	struct rig r;

	(void)state;
	rig_up(&r, 3, false, NULL);
	gp_queue_submit(r.q, &cmd, NULL);
	comes_to_run(&r);
	assert_int_equal(gp_queue_suspend(r.q, GP_SUSPEND_DRAIN, -1, &res, NULL), 0);
	assert_int_equal(res.level, 3);
	assert_int_equal(res.may_run, 0);
	assert_false(gp__fakeq_runs(r.hwq));
	assert_int_equal(gp_queue_resume(r.q, NULL), 0);
	comes_to_run(&r);
	gp__fakeq_finish(r.hwq);
	assert_int_equal(gp_queue_wait(r.q, 1, -1), 0);
	rig_down(&r);
}

static void test_suspend_says_what_may_still_run(void **state)
{
	struct gp_suspend_result res = GP_SUSPEND_RESULT_INIT;
	struct gp__fakecmd cmd = { .run_ns = GP__FAKE_ENDLESS };
	struct rig r;

	(void)state;
	rig_up(&r, 2, false, NULL);
	gp_queue_submit(r.q, &cmd, NULL);
	comes_to_run(&r);
	assert_int_equal(gp_queue_suspend(r.q, 0, -1, &res, NULL), 0);
	assert_int_equal(res.level, 2);
	assert_int_equal(res.may_run, 1);
	/* Stopped already, and this device cannot tell when the running one ends. */
	assert_int_equal(gp_queue_suspend(r.q, GP_SUSPEND_DRAIN, -1, &res, &r.err), -EOPNOTSUPP);
	assert_non_null(strstr(r.err.message, "level 2"));
	gp_queue_resume(r.q, NULL);
	gp__fakeq_finish(r.hwq);
	/* Asked at once, the promise is kept by draining. */
	assert_int_equal(gp_queue_suspend(r.q, GP_SUSPEND_DRAIN, -1, &res, NULL), 0);
	assert_int_equal(res.level, 1);
	assert_int_equal(res.may_run, 0);
	gp_queue_resume(r.q, NULL);
	rig_down(&r);
}

static void test_drain_times_out_suspended(void **state)
{
	struct gp_suspend_result res = GP_SUSPEND_RESULT_INIT;
	struct gp__fakecmd cmd = { .run_ns = GP__FAKE_ENDLESS };
	struct rig r;

	(void)state;
	rig_up(&r, 1, false, NULL);
	gp_queue_submit(r.q, &cmd, NULL);
	assert_int_equal(gp_queue_suspend(r.q, GP_SUSPEND_DRAIN, 5 * (int64_t)GP__MS, &res, &r.err),
			 -ETIME);
	assert_int_equal(res.may_run, 1);
	assert_int_equal(stats_of(&r).state, GP_QUEUE_SUSPENDED);
	gp__fakeq_finish(r.hwq);
	assert_int_equal(gp_queue_suspend(r.q, GP_SUSPEND_DRAIN, 10 * S, &res, NULL), 0);
	rig_down(&r);
}

static void *wait_for_fourth(void *arg)
{
	struct rig *r = arg;

	return (void *)(intptr_t)gp_queue_wait(r->q, 4, -1);
}

static bool is_syncing(struct gp_queue *q)
{
	bool syncing;

	pthread_mutex_lock(&q->lock);
	syncing = q->syncing;
	pthread_mutex_unlock(&q->lock);
	return syncing;
}

/*
 * A thread awaits four commands at once; the queue is stopped when the first
 * has ended or is about to, and the others do not end before it is resumed.
 * A wait for the first command, or for the queue to be idle, still ends.
 */
static void stop_in_mid_batch(int level, bool first_ended)
{
	struct gp_queue_options opt = GP_QUEUE_OPTIONS_INIT;
	struct gp__fakecmd cmds[4];
	pthread_t waiter;
	struct rig r;
	unsigned int i;
	void *rc;

	memset(cmds, 0, sizeof(cmds));
	opt.level = level;
	opt.batch = 4;
	rig_up(&r, 3, true, &opt);
	for (i = 0; i < 4; i++) {
		cmds[i].run_ns = GP__FAKE_ENDLESS;
		gp_queue_submit(r.q, &cmds[i], NULL);
	}
	comes_to_run(&r);
	pthread_create(&waiter, NULL, wait_for_fourth, &r);
	while (!is_syncing(r.q))
		gp__sleep_ns(100 * GP__US);
	gp__sleep_ns(1 * GP__MS);
	if (first_ended)
		gp__fakeq_finish(r.hwq);
	while (first_ended && gp__fakeq_report(r.hwq).ran < 1)
		gp__sleep_ns(100 * GP__US);
	if (first_ended)
		comes_to_run(&r);
	assert_int_equal(gp_queue_suspend(r.q, 0, -1, NULL, NULL), 0);
	gp__fakeq_finish(r.hwq);
	if (level == 2)
		assert_int_equal(gp_queue_suspend(r.q, GP_SUSPEND_DRAIN, 10 * S, NULL, NULL), 0);
	if (level == 2 || first_ended)
		assert_int_equal(gp_queue_wait(r.q, 1, 10 * S), 0);
	assert_int_equal(gp_queue_resume(r.q, NULL), 0);
	while (gp__fakeq_report(r.hwq).ran < 4) {
		gp__fakeq_finish(r.hwq);
		gp__sleep_ns(100 * GP__US);
	}
	pthread_join(waiter, &rc);
	assert_int_equal((intptr_t)rc, 0);
	rig_down(&r);
}

static void test_drain_in_mid_batch(void **state)
{
	(void)state;
	stop_in_mid_batch(2, false);
	stop_in_mid_batch(2, true);
}

static void test_wait_in_mid_batch(void **state)
{
	(void)state;
	stop_in_mid_batch(3, true);
}

static void test_fallback_is_reported_once(void **state)
{
	struct gp_suspend_result res = GP_SUSPEND_RESULT_INIT;
	struct rig r;
	unsigned int i;

	(void)state;
	rig_up(&r, 3, true, NULL);
	gp__fakeq_fail(r.hwq, GP__FAKE_INTERRUPT, -EOPNOTSUPP, -1);
	for (i = 0; i < 3; i++) {
		assert_int_equal(gp_queue_suspend(r.q, 0, -1, &res, NULL), 0);
		assert_int_equal(res.level, 2);
		assert_int_equal(gp_queue_resume(r.q, NULL), 0);
	}
	assert_int_equal(r.events[GP_EVENT_FALLBACK], 1);
	assert_non_null(strstr(r.event_text, "level 2"));
	assert_int_equal(stats_of(&r).level_requested, 3);
	assert_int_equal(stats_of(&r).level_effective, 2);
	assert_int_equal(gp__fakeq_report(r.hwq).calls[GP__FAKE_INTERRUPT], 1);
	rig_down(&r);
}

static void test_failed_suspend_leaves_it_running(void **state)
{
	struct gp__fakecmd cmd = { .run_ns = 0 };
	struct rig r;

	(void)state;
	rig_up(&r, 3, true, NULL);
	gp__fakeq_fail(r.hwq, GP__FAKE_INTERRUPT, -EBUSY, 1);
	assert_int_equal(gp_queue_suspend(r.q, 0, -1, NULL, &r.err), -EBUSY);
	assert_int_equal(r.err.code, -EBUSY);
	assert_non_null(strstr(r.err.message, "keeps running"));
	assert_int_equal(r.events[GP_EVENT_SUSPEND_FAILED], 1);
	assert_int_equal(stats_of(&r).state, GP_QUEUE_RUNNING);
	gp_queue_submit(r.q, &cmd, NULL);
	assert_int_equal(gp_queue_wait(r.q, 1, -1), 0);
	/* The next one works, at the same level. */
	assert_int_equal(gp_queue_suspend(r.q, 0, -1, NULL, NULL), 0);
	assert_int_equal(stats_of(&r).level_effective, 3);
	rig_down(&r);
}

static void test_failed_resume_is_retried(void **state)
{
	struct gp__fakecmd cmd = { .run_ns = 0 };
	struct rig r;

	(void)state;
	rig_up(&r, 3, true, NULL);
	assert_int_equal(gp_queue_suspend(r.q, 0, -1, NULL, NULL), 0);
	gp_queue_submit(r.q, &cmd, NULL);
	gp__fakeq_fail(r.hwq, GP__FAKE_RESTORE, -EIO, 3);
	assert_int_equal(gp_queue_resume(r.q, &r.err), -EIO);
	assert_int_equal(gp_queue_wait(r.q, 1, 10 * S), 0);
	assert_int_equal(r.events[GP_EVENT_RESUME_FAILED], 1);
	assert_int_equal(r.events[GP_EVENT_RESUME_RECOVERED], 1);
	assert_int_equal(stats_of(&r).resume_retries, 3);
	rig_down(&r);
}

static void *wait_forever(void *arg)
{
	struct rig *r = arg;

	return (void *)(intptr_t)gp_queue_wait(r->q, 5, -1);
}

static void *drain_forever(void *arg)
{
	struct rig *r = arg;

	return (void *)(intptr_t)gp_queue_suspend(r->q, GP_SUSPEND_DRAIN, -1, NULL, NULL);
}

static void *finish_both(void *arg)
{
	struct rig *r = arg;

	gp__sleep_ns(20 * GP__MS);
	gp__fakeq_finish(r->hwq);
	while (gp__fakeq_report(r->hwq).ran < 1)
		gp__sleep_ns(100 * GP__US);
	gp__fakeq_finish(r->hwq);
	return NULL;
}

static unsigned int users_of(struct gp_queue *q)
{
	unsigned int n;

	pthread_mutex_lock(&q->lock);
	n = q->users;
	pthread_mutex_unlock(&q->lock);
	return n;
}

/* Suspended, with commands in flight and behind, and people waiting for them. */
static void test_destroy_in_the_worst_moment(void **state)
{
	struct gp_queue_options opt = GP_QUEUE_OPTIONS_INIT;
	struct gp__fakecmd cmds[5];
	pthread_t waiter[2], drainer, finisher;
	struct rig r;
	unsigned int i;
	void *rc;

	(void)state;
	memset(cmds, 0, sizeof(cmds));
	opt.level = 1;
	opt.window = 2;
	rig_up(&r, 3, true, &opt);
	for (i = 0; i < 5; i++) {
		cmds[i].run_ns = GP__FAKE_ENDLESS;
		gp_queue_submit(r.q, &cmds[i], NULL);
	}
	pthread_create(&drainer, NULL, drain_forever, &r);
	pthread_create(&waiter[0], NULL, wait_forever, &r);
	pthread_create(&waiter[1], NULL, wait_forever, &r);
	while (users_of(r.q) < 3)
		gp__sleep_ns(1 * GP__MS);
	pthread_create(&finisher, NULL, finish_both, &r);
	gp_queue_destroy(r.q);
	r.q = NULL;
	pthread_join(finisher, NULL);
	pthread_join(waiter[0], &rc);
	assert_int_equal((intptr_t)rc, -ECANCELED);
	pthread_join(waiter[1], &rc);
	assert_int_equal((intptr_t)rc, -ECANCELED);
	pthread_join(drainer, &rc);
	assert_int_equal((intptr_t)rc, -ECANCELED);
	assert_int_equal(cmds[1].state, GP__FAKECMD_ENDED);
	assert_int_equal(cmds[4].state, GP__FAKECMD_NEW);
	rig_down(&r);
}

static void test_destroy_restores_first(void **state)
{
	struct gp__fakecmd cmd = { .run_ns = GP__FAKE_ENDLESS };
	struct rig r;

	(void)state;
	rig_up(&r, 3, true, NULL);
	gp_queue_submit(r.q, &cmd, NULL);
	comes_to_run(&r);
	assert_int_equal(gp_queue_suspend(r.q, 0, -1, NULL, NULL), 0);
	gp__fakeq_finish(r.hwq);
	rig_down(&r);
	assert_int_equal(cmd.state, GP__FAKECMD_ENDED);
}

/* Patience ends for a device with nothing in flight, not for one with work in it. */
static void test_destroy_waits_for_a_device_that_recovers(void **state)
{
	struct gp__fakecmd cmd = { .run_ns = GP__FAKE_ENDLESS };
	struct rig r;

	(void)state;
	rig_up(&r, 3, true, NULL);
	gp_queue_submit(r.q, &cmd, NULL);
	comes_to_run(&r);
	assert_int_equal(gp_queue_suspend(r.q, 0, -1, NULL, NULL), 0);
	gp__fakeq_finish(r.hwq);
	gp__fakeq_fail(r.hwq, GP__FAKE_RESTORE, -EIO, GP__PQ_CLOSE_TRIES);
	rig_down(&r);
	assert_int_equal(cmd.state, GP__FAKECMD_ENDED);
}

static void wait_for_the_end(void *data, const struct gp_event *ev)
{
	struct rig *r = data;
	bool ends = false;

	if (ev->kind != GP_EVENT_RESUME_RECOVERED)
		return;
	while (!ends) {
		gp__sleep_ns(100 * GP__US);
		pthread_mutex_lock(&r->q->lock);
		ends = r->q->worker_stop;
		pthread_mutex_unlock(&r->q->lock);
	}
}

/* The worker is told to end while it is in the program's callback. */
static void test_destroy_while_the_worker_reports(void **state)
{
	struct gp_queue_options opt = GP_QUEUE_OPTIONS_INIT;
	struct gp_device_ops ops = gp__fakedev_ops(3, true);
	struct rig r;

	(void)state;
	rig_up(&r, 3, true, NULL);
	gp_queue_destroy(r.q);
	opt.event = wait_for_the_end;
	opt.event_data = &r;
	assert_int_equal(gp_queue_create(&ops, r.hwq, &opt, &r.q, NULL), 0);
	assert_int_equal(gp_queue_suspend(r.q, 0, -1, NULL, NULL), 0);
	gp__fakeq_fail(r.hwq, GP__FAKE_RESTORE, -EIO, 1);
	assert_int_equal(gp_queue_resume(r.q, NULL), -EIO);
	while (!stats_of(&r).resumes)
		gp__sleep_ns(100 * GP__US);
	rig_down(&r);
}

static int lost_call(void *hwq, void *cmd)
{
	(void)hwq;
	(void)cmd;
	return 0;
}

static int lost_sync(void *hwq, void *cmd)
{
	(void)hwq;
	(void)cmd;
	return -ENODEV;
}

static int lost_interrupt(void *hwq)
{
	(void)hwq;
	return 0;
}

static int lost_restore(void *hwq)
{
	(void)hwq;
	return -ENODEV;
}

/* Stopped, then gone: what was in flight ends with the device's word for it. */
static void test_destroy_on_a_lost_device(void **state)
{
	struct gp_device_ops ops = GP_DEVICE_OPS_INIT;
	struct gp_queue *q;

	(void)state;
	ops.nlaunch = lost_call;
	ops.sync = lost_sync;
	ops.interrupt = lost_interrupt;
	ops.restore = lost_restore;
	assert_int_equal(gp_queue_create(&ops, NULL, NULL, &q, NULL), 0);
	assert_int_equal(gp_queue_submit(q, NULL, NULL), 0);
	assert_int_equal(gp_queue_suspend(q, 0, -1, NULL, NULL), 0);
	assert_int_equal(gp_queue_resume(q, NULL), -ENODEV);
	gp_queue_destroy(q);
}

/* --------------------------------------------------------------- all at once -- */

#define STRESS_COMMANDS 2000
#define STRESS_SUBMITTERS 2

struct stress {
	struct rig r;
	atomic_bool stop;
	struct gp__fakecmd cmds[STRESS_SUBMITTERS][STRESS_COMMANDS];
	atomic_uint next_submitter;
	atomic_uint broken; /* cmocka's asserts are for the main thread */
};

static void expect(struct stress *s, bool ok)
{
	atomic_fetch_add(&s->broken, !ok);
}

static void *stress_submit(void *arg)
{
	struct stress *s = arg;
	struct gp__fakecmd *cmds = s->cmds[atomic_fetch_add(&s->next_submitter, 1)];
	uint64_t ticket, last = 0;
	unsigned int i;

	for (i = 0; i < STRESS_COMMANDS; i++) {
		cmds[i].run_ns = i % 16 ? 0 : 50 * GP__US;
		expect(s, gp_queue_submit(s->r.q, &cmds[i], &ticket) == 0);
		expect(s, ticket > last);
		last = ticket;
		if (i % 64 == 0)
			expect(s, gp_queue_wait(s->r.q, ticket, -1) == 0);
		else if (i % 64 == 32)
			gp_queue_wait(s->r.q, ticket, (int64_t)(20 * GP__US));
	}
	expect(s, gp_queue_wait(s->r.q, last, -1) == 0);
	return NULL;
}

static void *stress_preempt(void *arg)
{
	struct stress *s = arg;
	unsigned int i = 0;
	int rc;

	while (!atomic_load(&s->stop)) {
		if (i % 7 == 3)
			gp__fakeq_fail(s->r.hwq, GP__FAKE_INTERRUPT, -EBUSY, 1);
		if (i % 11 == 5)
			gp__fakeq_fail(s->r.hwq, GP__FAKE_RESTORE, -EAGAIN, 1);
		rc = gp_queue_suspend(s->r.q, i % 3 ? GP_SUSPEND_DRAIN : 0, (int64_t)(5 * GP__MS),
				      NULL, NULL);
		/* -EAGAIN: it was to be undone, and the device failed at that. */
		expect(s, rc == 0 || rc == -EBUSY || rc == -EAGAIN || rc == -ECANCELED ||
				  rc == -ETIME);
		gp__sleep_ns(rc ? 0 : (i % 4) * 50 * GP__US);
		gp_queue_resume(s->r.q, NULL);
		gp__sleep_ns(300 * GP__US);
		i++;
	}
	return NULL;
}

static void *stress_watch(void *arg)
{
	struct gp_queue_stats st = GP_QUEUE_STATS_INIT;
	struct stress *s = arg;

	while (!atomic_load(&s->stop)) {
		gp_queue_stats(s->r.q, &st);
		expect(s, st.completed + st.inflight + st.pending == st.submitted);
		gp__sleep_ns(200 * GP__US);
	}
	return NULL;
}

static void stress_at(int level)
{
	struct gp_queue_options opt = GP_QUEUE_OPTIONS_INIT;
	pthread_t submitters[STRESS_SUBMITTERS], preempters[2], watcher;
	struct stress *s = calloc(1, sizeof(*s));
	struct gp_queue_stats st;
	unsigned int i;

	assert_non_null(s);
	opt.level = level;
	opt.wide_window = 32;
	rig_up(&s->r, 3, true, &opt);
	for (i = 0; i < STRESS_SUBMITTERS; i++)
		pthread_create(&submitters[i], NULL, stress_submit, s);
	for (i = 0; i < 2; i++)
		pthread_create(&preempters[i], NULL, stress_preempt, s);
	pthread_create(&watcher, NULL, stress_watch, s);
	for (i = 0; i < STRESS_SUBMITTERS; i++)
		pthread_join(submitters[i], NULL);
	atomic_store(&s->stop, true);
	for (i = 0; i < 2; i++)
		pthread_join(preempters[i], NULL);
	pthread_join(watcher, NULL);
	assert_int_equal(gp_queue_wait_all(s->r.q, 10 * S), 0);
	st = stats_of(&s->r);
	assert_int_equal(st.completed, STRESS_SUBMITTERS * STRESS_COMMANDS);
	assert_int_equal(st.launches, st.completed);
	assert_int_equal(st.failed, 0);
	assert_int_equal(atomic_load(&s->broken), 0);
	assert_true(st.suspends > 0);
	assert_int_equal(gp__fakeq_report(s->r.hwq).ran, st.completed);
	rig_down(&s->r);
	free(s);
}

static void test_stress_level1(void **state)
{
	(void)state;
	stress_at(1);
}

static void test_stress_level2(void **state)
{
	(void)state;
	stress_at(2);
}

static void test_stress_level3(void **state)
{
	(void)state;
	stress_at(3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_submit_and_wait),
		cmocka_unit_test(test_goes_on_without_a_waiter),
		cmocka_unit_test(test_errors_belong_to_their_commands),
		cmocka_unit_test(test_forgotten_results_are_not_guessed),
		cmocka_unit_test(test_wait_times_out),
		cmocka_unit_test(test_wait_for_what_another_launches),
		cmocka_unit_test(test_max_pending),
		cmocka_unit_test(test_suspend_level1),
		cmocka_unit_test(test_suspend_level2),
		cmocka_unit_test(test_suspend_level3),
		cmocka_unit_test(test_level3_stops_what_runs),
		cmocka_unit_test(test_suspend_says_what_may_still_run),
		cmocka_unit_test(test_drain_times_out_suspended),
		cmocka_unit_test(test_drain_in_mid_batch),
		cmocka_unit_test(test_wait_in_mid_batch),
		cmocka_unit_test(test_fallback_is_reported_once),
		cmocka_unit_test(test_failed_suspend_leaves_it_running),
		cmocka_unit_test(test_failed_resume_is_retried),
		cmocka_unit_test(test_destroy_in_the_worst_moment),
		cmocka_unit_test(test_destroy_restores_first),
		cmocka_unit_test(test_destroy_waits_for_a_device_that_recovers),
		cmocka_unit_test(test_destroy_while_the_worker_reports),
		cmocka_unit_test(test_destroy_on_a_lost_device),
		cmocka_unit_test(test_stress_level1),
		cmocka_unit_test(test_stress_level2),
		cmocka_unit_test(test_stress_level3),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
