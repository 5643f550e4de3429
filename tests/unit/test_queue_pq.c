// SPDX-License-Identifier: MIT
/* The state machine, one behaviour a test; the test is the driver. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "queue/pq.h"

#define ALL_CAPS (GP__PQ_CAP_LV2 | GP__PQ_CAP_LV3 | GP__PQ_CAP_PENDING)

static struct gp__pq made(uint32_t caps, int level)
{
	struct gp__pq_config cfg = { .caps = caps, .level = level };
	struct gp__pq pq;

	assert_int_equal(gp__pq_init(&pq, &cfg), 0);
	return pq;
}

static enum gp__pq_op next(struct gp__pq *pq, uint64_t now)
{
	return gp__pq_next(pq, GP__PQ_MAY_ALL, now).op;
}

/* The machine wants exactly this, and it goes so. */
static enum gp__pq_note step(struct gp__pq *pq, enum gp__pq_op op, int rc, uint64_t now)
{
	assert_int_equal(next(pq, now), op);
	return gp__pq_done(pq, rc, now);
}

/* Submits n and launches all the window allows; how many that was. */
static unsigned int fill(struct gp__pq *pq, unsigned int n, uint64_t now)
{
	unsigned int launched = 0;

	while (n--)
		assert_int_not_equal(gp__pq_submit(pq, now), 0);
	while (next(pq, now) == GP__PQ_LAUNCH) {
		gp__pq_done(pq, 0, now);
		launched++;
	}
	return launched;
}

static void test_level_is_the_best_up_to_the_wish(void **state)
{
	static const struct {
		uint32_t caps;
		int wish, requested, effective;
	} t[] = {
		{ 0, 0, 3, 1 },
		{ 0, 3, 3, 1 },
		{ GP__PQ_CAP_LV2, 0, 3, 2 },
		{ GP__PQ_CAP_LV2, 1, 1, 1 },
		{ GP__PQ_CAP_LV3, 2, 2, 1 },
		{ ALL_CAPS, 0, 3, 3 },
		{ ALL_CAPS, 2, 2, 2 },
	};
	struct gp__pq pq;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		pq = made(t[i].caps, t[i].wish);
		assert_int_equal(pq.requested, t[i].requested);
		assert_int_equal(pq.effective, t[i].effective);
	}
}

static void test_bad_configurations(void **state)
{
	struct gp__pq pq;

	(void)state;
	assert_int_equal(gp__pq_init(&pq, &(struct gp__pq_config){ .level = 4 }), -EINVAL);
	assert_int_equal(gp__pq_init(&pq, &(struct gp__pq_config){ .level = -1 }), -EINVAL);
	assert_int_equal(gp__pq_init(&pq, &(struct gp__pq_config){ .window = 2, .batch = 3 }),
			 -EINVAL);
	assert_int_equal(gp__pq_init(&pq, &(struct gp__pq_config){ .level = 3,
								   .caps = GP__PQ_CAP_LV2,
								   .strict = true }),
			 -EOPNOTSUPP);
}

static void test_launches_in_order_one_at_a_time(void **state)
{
	struct gp__pq pq = made(ALL_CAPS, 3);
	struct gp__pq_action act;
	uint64_t t;

	(void)state;
	for (t = 1; t <= 5; t++)
		assert_int_equal(gp__pq_submit(&pq, 0), t);
	for (t = 1; t <= 5; t++) {
		act = gp__pq_next(&pq, GP__PQ_MAY_ALL, 0);
		assert_int_equal(act.op, GP__PQ_LAUNCH);
		assert_int_equal(act.ticket, t);
		/* Busy: nothing else until this one is reported. */
		assert_int_equal(next(&pq, 0), GP__PQ_NONE);
		gp__pq_done(&pq, 0, 0);
	}
	assert_int_equal(next(&pq, 0), GP__PQ_NONE);
	assert_int_equal(gp__pq_inflight(&pq), 5);
	assert_int_equal(pq.count.launches, 5);
	gp__pq_complete(&pq, 5, true, 10);
	assert_false(gp__pq_has_work(&pq));
}

static void test_window_is_kept(void **state)
{
	struct gp__pq_config cfg = { .window = 4, .batch = 2 };
	struct gp__pq pq;

	(void)state;
	assert_int_equal(gp__pq_init(&pq, &cfg), 0);
	assert_int_equal(fill(&pq, 10, 0), 4);
	assert_int_equal(gp__pq_pending(&pq), 6);
	assert_int_equal(gp__pq_sync_target(&pq, 0), 2);
	assert_int_equal(gp__pq_sync_target(&pq, 1), 1);
	gp__pq_complete(&pq, 2, true, 1);
	assert_int_equal(fill(&pq, 0, 1), 2);
	assert_int_equal(gp__pq_inflight(&pq), 4);
	/* Another one: wider at once, narrower when there is room again. */
	gp__pq_set_window(&pq, 5);
	assert_int_equal(fill(&pq, 0, 1), 1);
	gp__pq_set_window(&pq, 1);
	gp__pq_complete(&pq, 6, true, 1);
	assert_int_equal(fill(&pq, 0, 1), 0);
	gp__pq_complete(&pq, 7, true, 1);
	assert_int_equal(fill(&pq, 0, 1), 1);
	gp__pq_set_window(&pq, 0);
	assert_int_equal(gp__pq_window(&pq), pq.win.size);
}

static void test_sync_never_awaits_a_launch_not_returned(void **state)
{
	struct gp__pq pq = made(0, 1);

	(void)state;
	assert_int_equal(gp__pq_sync_target(&pq, 0), 0);
	gp__pq_submit(&pq, 0);
	assert_int_equal(next(&pq, 0), GP__PQ_LAUNCH);
	assert_int_equal(gp__pq_sync_target(&pq, 1), 0);
	gp__pq_done(&pq, 0, 0);
	assert_int_equal(gp__pq_sync_target(&pq, 1), 1);
}

static void test_level3_round_trip(void **state)
{
	struct gp__pq pq = made(ALL_CAPS, 3);

	(void)state;
	fill(&pq, 3, 0);
	gp__pq_submit(&pq, 0);
	assert_int_equal(gp__pq_hold(&pq, GP__PQ_BY_USER, true, 100), 0);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_SUSPENDING);
	step(&pq, GP__PQ_INTERRUPT, 0, 107);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_SUSPENDED);
	assert_int_equal(pq.stop_level, 3);
	assert_true(gp__pq_quiet(&pq));
	assert_int_equal(pq.last_suspend_ns, 7);
	assert_int_equal(next(&pq, 200), GP__PQ_NONE);
	gp__pq_release(&pq, GP__PQ_BY_USER, 300);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_RESUMING);
	step(&pq, GP__PQ_RESTORE, 0, 305);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_RUNNING);
	assert_int_equal(fill(&pq, 0, 306), 1);
	assert_int_equal(pq.count.suspends, 1);
	assert_int_equal(pq.count.resumes, 1);
}

static void test_level2_is_quiet_when_the_running_one_ends(void **state)
{
	struct gp__pq pq = made(ALL_CAPS, 2);

	(void)state;
	fill(&pq, 5, 0);
	gp__pq_hold(&pq, GP__PQ_BY_USER, true, 10);
	step(&pq, GP__PQ_DEACTIVATE, 0, 12);
	gp__pq_unstarted(&pq, 4, 12);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_SUSPENDED);
	assert_false(gp__pq_quiet(&pq));
	assert_true(gp__pq_can_quiet(&pq));
	gp__pq_complete(&pq, 1, true, 30);
	assert_true(gp__pq_quiet(&pq));
	assert_int_equal(pq.last_suspend_ns, 2);
	assert_int_equal(pq.last_quiet_ns, 20);
	gp__pq_release(&pq, GP__PQ_BY_USER, 40);
	step(&pq, GP__PQ_REACTIVATE, 0, 41);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_RUNNING);
}

/* A device that cannot tell when level 2 is quiet is drained where that was promised. */
static void test_level2_without_pending_drains(void **state)
{
	struct gp__pq pq = made(GP__PQ_CAP_LV2, 2);

	(void)state;
	fill(&pq, 3, 0);
	gp__pq_hold(&pq, GP__PQ_BY_USER, true, 10);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_SUSPENDED);
	assert_int_equal(pq.stop_level, 1);
	gp__pq_complete(&pq, 3, true, 30);
	assert_true(gp__pq_quiet(&pq));

	pq = made(GP__PQ_CAP_LV2, 2);
	fill(&pq, 3, 0);
	gp__pq_hold(&pq, GP__PQ_BY_SCHED, false, 10);
	step(&pq, GP__PQ_DEACTIVATE, 0, 12);
	assert_false(gp__pq_can_quiet(&pq));
}

static void test_level1_stops_launching_and_drains(void **state)
{
	struct gp__pq pq = made(0, 1);

	(void)state;
	assert_int_equal(fill(&pq, 9, 0), GP__WINDOW_START);
	gp__pq_hold(&pq, GP__PQ_BY_USER, false, 5);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_SUSPENDED);
	assert_false(gp__pq_quiet(&pq));
	gp__pq_complete(&pq, 2, true, 9);
	assert_true(gp__pq_quiet(&pq));
	assert_int_equal(pq.last_quiet_ns, 4);
	assert_int_equal(next(&pq, 9), GP__PQ_NONE);
	gp__pq_release(&pq, GP__PQ_BY_USER, 10);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_RUNNING);
	assert_int_equal(next(&pq, 10), GP__PQ_LAUNCH);
}

/* The hold waits for the launch under way, and lets no other begin. */
static void test_hold_during_a_launch(void **state)
{
	struct gp__pq pq = made(0, 1);

	(void)state;
	gp__pq_submit(&pq, 0);
	gp__pq_submit(&pq, 0);
	assert_int_equal(next(&pq, 0), GP__PQ_LAUNCH);
	gp__pq_hold(&pq, GP__PQ_BY_USER, false, 1);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_SUSPENDING);
	gp__pq_done(&pq, 0, 4);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_SUSPENDED);
	assert_int_equal(pq.last_suspend_ns, 3);
	assert_int_equal(next(&pq, 5), GP__PQ_NONE);
}

static void test_runs_only_when_nobody_holds(void **state)
{
	struct gp__pq pq = made(ALL_CAPS, 3);

	(void)state;
	gp__pq_hold(&pq, GP__PQ_BY_USER, false, 0);
	step(&pq, GP__PQ_INTERRUPT, 0, 0);
	gp__pq_hold(&pq, GP__PQ_BY_SCHED, false, 1);
	assert_int_equal(next(&pq, 1), GP__PQ_NONE);
	gp__pq_release(&pq, GP__PQ_BY_USER, 2);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_SUSPENDED);
	assert_int_equal(next(&pq, 2), GP__PQ_NONE);
	gp__pq_release(&pq, GP__PQ_BY_SCHED, 3);
	step(&pq, GP__PQ_RESTORE, 0, 3);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_RUNNING);
}

static void test_change_of_mind_during_a_verb(void **state)
{
	struct gp__pq pq = made(ALL_CAPS, 3);

	(void)state;
	gp__pq_hold(&pq, GP__PQ_BY_USER, false, 0);
	assert_int_equal(next(&pq, 0), GP__PQ_INTERRUPT);
	gp__pq_release(&pq, GP__PQ_BY_USER, 1);
	gp__pq_done(&pq, 0, 2);
	assert_int_equal(next(&pq, 2), GP__PQ_RESTORE);
	gp__pq_hold(&pq, GP__PQ_BY_USER, false, 3);
	gp__pq_done(&pq, 0, 4);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_SUSPENDING);
	step(&pq, GP__PQ_INTERRUPT, 0, 5);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_SUSPENDED);
}

static void test_refusal_falls_level_by_level(void **state)
{
	struct gp__pq pq = made(ALL_CAPS, 3);

	(void)state;
	fill(&pq, 1, 0);
	gp__pq_hold(&pq, GP__PQ_BY_USER, false, 0);
	assert_int_equal(step(&pq, GP__PQ_INTERRUPT, -EOPNOTSUPP, 1), GP__PQ_NOTE_FALLBACK);
	assert_int_equal(pq.effective, 2);
	assert_int_equal(step(&pq, GP__PQ_DEACTIVATE, -EPERM, 2), GP__PQ_NOTE_FALLBACK);
	assert_int_equal(pq.effective, 1);
	assert_int_equal(pq.requested, 3);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_SUSPENDED);
	assert_int_equal(pq.stop_level, 1);
	assert_int_equal(pq.count.fallbacks, 2);
	/* For good: the next one does not ask again. */
	gp__pq_release(&pq, GP__PQ_BY_USER, 3);
	gp__pq_hold(&pq, GP__PQ_BY_USER, false, 4);
	assert_int_equal(next(&pq, 4), GP__PQ_NONE);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_SUSPENDED);
}

static void test_strict_does_not_fall(void **state)
{
	struct gp__pq_config cfg = { .caps = ALL_CAPS, .level = 3, .strict = true };
	struct gp__pq pq;

	(void)state;
	assert_int_equal(gp__pq_init(&pq, &cfg), 0);
	gp__pq_hold(&pq, GP__PQ_BY_USER, false, 0);
	assert_int_equal(step(&pq, GP__PQ_INTERRUPT, -ENOSYS, 1), GP__PQ_NOTE_STOP_FAILED);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_RUNNING);
	assert_int_equal(pq.effective, 3);
	assert_int_equal(pq.last_error, -ENOSYS);
}

static void test_transient_failure_leaves_it_running(void **state)
{
	static const int errors[] = { -EAGAIN, -EBUSY, -EIO, -ENOMEM };
	struct gp__pq pq;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		pq = made(ALL_CAPS, 3);
		gp__pq_submit(&pq, 0);
		gp__pq_hold(&pq, GP__PQ_BY_USER, false, 0);
		gp__pq_hold(&pq, GP__PQ_BY_SCHED, false, 0);
		assert_int_equal(step(&pq, GP__PQ_INTERRUPT, errors[i], 1),
				 GP__PQ_NOTE_STOP_FAILED);
		assert_int_equal(pq.holds, 0);
		assert_int_equal(pq.effective, 3);
		assert_int_equal(pq.count.failures, 1);
		assert_int_equal(next(&pq, 1), GP__PQ_LAUNCH);
	}
}

/* It may have stopped after all, so it is started; that it was running is no error. */
static void test_timed_out_stop_is_undone(void **state)
{
	struct gp__pq pq = made(ALL_CAPS, 3);

	(void)state;
	gp__pq_submit(&pq, 0);
	gp__pq_hold(&pq, GP__PQ_BY_USER, false, 0);
	assert_int_equal(step(&pq, GP__PQ_INTERRUPT, -ETIMEDOUT, 1), GP__PQ_NOTE_STOP_FAILED);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_RESUMING);
	/* A new hold must not take the doubtful stop for a real one. */
	gp__pq_hold(&pq, GP__PQ_BY_USER, false, 2);
	assert_int_not_equal(gp__pq_state(&pq), GP__PQ_SUSPENDED);
	gp__pq_release(&pq, GP__PQ_BY_USER, 2);
	/* An error that is no answer to the question leaves the question open. */
	assert_int_equal(step(&pq, GP__PQ_RESTORE, -EAGAIN, 3), GP__PQ_NOTE_START_FAILED);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_RESUMING);
	step(&pq, GP__PQ_RESTORE, -EALREADY, 3 + GP__PQ_RETRY_MIN_NS);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_RUNNING);
	assert_int_equal(next(&pq, 3), GP__PQ_LAUNCH);
}

static void test_interrupted_call_is_repeated_within_reason(void **state)
{
	struct gp__pq pq = made(ALL_CAPS, 3);
	unsigned int i;

	(void)state;
	gp__pq_hold(&pq, GP__PQ_BY_USER, false, 0);
	for (i = 1; i < GP__PQ_EINTR_MAX; i++)
		assert_int_equal(step(&pq, GP__PQ_INTERRUPT, -EINTR, 1), GP__PQ_NOTE_NONE);
	assert_int_equal(step(&pq, GP__PQ_INTERRUPT, -EINTR, 1), GP__PQ_NOTE_STOP_FAILED);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_RUNNING);
}

static void test_failed_start_is_retried_with_growing_pauses(void **state)
{
	struct gp__pq pq = made(ALL_CAPS, 3);
	uint64_t now = 0, pause = GP__PQ_RETRY_MIN_NS;
	struct gp__pq_action act;
	unsigned int i;

	(void)state;
	gp__pq_hold(&pq, GP__PQ_BY_USER, false, 0);
	step(&pq, GP__PQ_INTERRUPT, 0, 0);
	gp__pq_release(&pq, GP__PQ_BY_USER, 0);
	assert_int_equal(step(&pq, GP__PQ_RESTORE, -EIO, now), GP__PQ_NOTE_START_FAILED);
	for (i = 0; i < 20; i++) {
		assert_int_equal(gp__pq_state(&pq), GP__PQ_RESUMING);
		act = gp__pq_next(&pq, GP__PQ_MAY_ALL, now);
		assert_int_equal(act.op, GP__PQ_NONE);
		assert_int_equal(act.wake_at, now + pause);
		now = act.wake_at;
		/* Reported once, not every time. */
		assert_int_equal(step(&pq, GP__PQ_RESTORE, -EIO, now), GP__PQ_NOTE_NONE);
		pause = 2 * pause < GP__PQ_RETRY_MAX_NS ? 2 * pause : GP__PQ_RETRY_MAX_NS;
	}
	now += GP__PQ_RETRY_MAX_NS;
	assert_int_equal(step(&pq, GP__PQ_RESTORE, 0, now), GP__PQ_NOTE_START_RECOVERED);
	assert_int_equal(gp__pq_state(&pq), GP__PQ_RUNNING);
	assert_int_equal(pq.count.retries, 21);
}

static void test_hold_while_the_start_fails(void **state)
{
	struct gp__pq pq = made(ALL_CAPS, 3);

	(void)state;
	gp__pq_hold(&pq, GP__PQ_BY_USER, false, 0);
	step(&pq, GP__PQ_INTERRUPT, 0, 0);
	gp__pq_release(&pq, GP__PQ_BY_USER, 0);
	assert_int_equal(next(&pq, 0), GP__PQ_RESTORE);
	gp__pq_hold(&pq, GP__PQ_BY_USER, false, 5);
	gp__pq_done(&pq, -EBUSY, 6);
	/* It never started: held again without another interrupt. */
	assert_int_equal(gp__pq_state(&pq), GP__PQ_SUSPENDED);
	assert_int_equal(next(&pq, 7 + GP__PQ_RETRY_MAX_NS), GP__PQ_NONE);
	assert_int_equal(pq.count.suspends, 2);
}

static void test_verbs_only_for_those_who_may(void **state)
{
	struct gp__pq pq = made(ALL_CAPS, 3);

	(void)state;
	gp__pq_submit(&pq, 0);
	gp__pq_hold(&pq, GP__PQ_BY_USER, false, 0);
	assert_int_equal(gp__pq_next(&pq, GP__PQ_MAY_LAUNCH, 0).op, GP__PQ_NONE);
	assert_int_equal(gp__pq_next(&pq, GP__PQ_MAY_VERB, 0).op, GP__PQ_INTERRUPT);
	gp__pq_done(&pq, 0, 0);
	gp__pq_release(&pq, GP__PQ_BY_USER, 0);
	step(&pq, GP__PQ_RESTORE, 0, 0);
	assert_int_equal(gp__pq_next(&pq, GP__PQ_MAY_VERB, 0).op, GP__PQ_NONE);
	assert_int_equal(gp__pq_next(&pq, GP__PQ_MAY_LAUNCH, 0).op, GP__PQ_LAUNCH);
}

static void test_borrowed_device_is_busy(void **state)
{
	struct gp__pq pq = made(ALL_CAPS, 3);

	(void)state;
	assert_true(gp__pq_borrow(&pq));
	assert_false(gp__pq_borrow(&pq));
	gp__pq_submit(&pq, 0);
	assert_int_equal(next(&pq, 0), GP__PQ_NONE);
	gp__pq_done(&pq, 0, 0);
	assert_int_equal(next(&pq, 0), GP__PQ_LAUNCH);
	assert_false(gp__pq_borrow(&pq));
}

static void test_close_starts_cancels_and_drains(void **state)
{
	struct gp__pq_config cfg = { .caps = ALL_CAPS, .wide = 2 };
	struct gp__pq pq;
	uint64_t last;

	(void)state;
	assert_int_equal(gp__pq_init(&pq, &cfg), 0);
	assert_int_equal(fill(&pq, 5, 0), 2);
	gp__pq_hold(&pq, GP__PQ_BY_USER, false, 0);
	step(&pq, GP__PQ_INTERRUPT, 0, 0);
	assert_int_equal(gp__pq_close(&pq, &last, 1), 3);
	assert_int_equal(last, 5);
	assert_int_equal(gp__pq_submit(&pq, 1), 0);
	assert_int_equal(gp__pq_hold(&pq, GP__PQ_BY_USER, false, 1), -ESHUTDOWN);
	step(&pq, GP__PQ_RESTORE, 0, 2);
	assert_int_equal(next(&pq, 2), GP__PQ_NONE);
	assert_false(gp__pq_closed(&pq));
	gp__pq_complete(&pq, 2, true, 3);
	assert_true(gp__pq_closed(&pq));
}

static void test_close_gives_up_on_a_dead_device(void **state)
{
	struct gp__pq pq = made(ALL_CAPS, 3);
	uint64_t last, now = 0;
	unsigned int tries = 0;

	(void)state;
	gp__pq_hold(&pq, GP__PQ_BY_USER, false, 0);
	step(&pq, GP__PQ_INTERRUPT, 0, 0);
	gp__pq_close(&pq, &last, 0);
	while (!gp__pq_closed(&pq)) {
		step(&pq, GP__PQ_RESTORE, -ENODEV, now);
		now += GP__PQ_RETRY_MAX_NS;
		tries++;
	}
	assert_int_equal(tries, GP__PQ_CLOSE_TRIES);
}

/* The promise of the tuned window, with the device modelled as a FIFO. */
static void test_tuned_window_drains_within_the_budget(void **state)
{
	static const uint64_t each[] = { 2000, 10000, 33333, 100000, 240000, 260000, 499999 };
	struct gp__pq pq;
	uint64_t now, held;
	unsigned int i, n;

	(void)state;
	for (i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		pq = made(0, 1);
		now = 0;
		fill(&pq, 2000, now);
		for (n = 0; n < 100; n++) {
			now += each[i];
			gp__pq_complete(&pq, pq.completed + 1, true, now);
			fill(&pq, 0, now);
		}
		gp__pq_hold(&pq, GP__PQ_BY_USER, true, held = now);
		while (!gp__pq_quiet(&pq)) {
			now += each[i];
			gp__pq_complete(&pq, pq.completed + 1, true, now);
		}
		assert_true(now - held <= GP__PQ_BUDGET_NS);
		assert_int_equal(pq.last_quiet_ns, now - held);
		/* And no smaller than the budget allows. */
		assert_true(now - held + each[i] > GP__PQ_BUDGET_NS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_level_is_the_best_up_to_the_wish),
		cmocka_unit_test(test_bad_configurations),
		cmocka_unit_test(test_launches_in_order_one_at_a_time),
		cmocka_unit_test(test_window_is_kept),
		cmocka_unit_test(test_sync_never_awaits_a_launch_not_returned),
		cmocka_unit_test(test_level3_round_trip),
		cmocka_unit_test(test_level2_is_quiet_when_the_running_one_ends),
		cmocka_unit_test(test_level2_without_pending_drains),
		cmocka_unit_test(test_level1_stops_launching_and_drains),
		cmocka_unit_test(test_hold_during_a_launch),
		cmocka_unit_test(test_runs_only_when_nobody_holds),
		cmocka_unit_test(test_change_of_mind_during_a_verb),
		cmocka_unit_test(test_refusal_falls_level_by_level),
		cmocka_unit_test(test_strict_does_not_fall),
		cmocka_unit_test(test_transient_failure_leaves_it_running),
		cmocka_unit_test(test_timed_out_stop_is_undone),
		cmocka_unit_test(test_interrupted_call_is_repeated_within_reason),
		cmocka_unit_test(test_failed_start_is_retried_with_growing_pauses),
		cmocka_unit_test(test_hold_while_the_start_fails),
		cmocka_unit_test(test_verbs_only_for_those_who_may),
		cmocka_unit_test(test_borrowed_device_is_busy),
		cmocka_unit_test(test_close_starts_cancels_and_drains),
		cmocka_unit_test(test_close_gives_up_on_a_dead_device),
		cmocka_unit_test(test_tuned_window_drains_within_the_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
