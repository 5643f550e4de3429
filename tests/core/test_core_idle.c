// SPDX-License-Identifier: MIT
/* The core's promises about entities that have no work, held or not. */
#include "rules.h"

static void test_nothing_ticks_while_no_entity_waits(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; gp__policies[i]; i++) {
		struct actor *a, *b;

		begin(gp__policies[i]);
		config(GP__CFG_MIN_SHARE_PCT, 1);
		config(GP__CFG_MAX_HOLD_MS, 2000);
		config(GP__CFG_SWITCHES_PER_S, 1000);
		config(GP__CFG_LINGER_US, 50);
		assert_true(gp__core_wake(&S.core) == GP__NEVER);
		work(a = actor(NORMAL));
		assert_true(gp__core_wake(&S.core) == GP__NEVER);
		work(b = actor(ONLINE));
		after(3 * GP__S);
		rest(a);
		rest(b);
		after(GP__S);
		assert_true(gp__core_wake(&S.core) == GP__NEVER);
	}
}

static void test_work_told_twice_counts_once(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	work(on = actor(ONLINE));
	work(on);
	assert_int_equal(on->e.nr_ready, 1);
	rest(on);
	rest(on);
	assert_int_equal(on->e.nr_ready, 0);
	assert_true(runs(off));
}

static void test_an_entity_is_idle_when_all_its_queues_are(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	second_queue(on);
	work(on);
	gp__queue_ready(&on->hand[1].q, 1, S.now);
	rest(on);
	assert_true(stopped(off));
	gp__queue_remove(&on->hand[1].q, S.now);
	take_orders();
	assert_true(runs(off));
}

static void test_an_idle_device_holds_no_entity(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	work(on = actor(ONLINE));
	rest(off);
	leave(on);
	assert_true(runs(off));
	assert_why(off, GP__RULE_IDLE, 0);
	assert_true(gp__core_wake(&S.core) == GP__NEVER);
}

/* Its next piece of work would be stopped again: starting it in between is two switches for
 * nothing. */
static void test_an_entity_that_runs_out_of_work_while_held_stays_held(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	work(on = actor(ONLINE));
	rest(off);
	after(GP__S);
	work(off);
	assert_int_equal(off->nr_starts, 0);
	rest(off);
	rest(on);
	assert_true(runs(off));
}

static void test_being_held_without_work_is_no_suspension(void **state)
{
	struct actor *off;

	(void)state;
	begin_strict();
	config(GP__CFG_MAX_HOLD_MS, 100);
	work(off = actor(OFFLINE));
	work(actor(ONLINE));
	after(50 * GP__MS);
	rest(off);
	after(GP__S);
	assert_int_equal(off->nr_starts, 0);
	assert_int_equal(off->e.held_total, 50 * GP__MS);
	work(off);
	after(100 * GP__MS - 1);
	assert_true(stopped(off));
	after(1);
	assert_true(runs(off));
}

/* Held without work, then the most urgent: there is no reason to hold it any longer. */
static void test_held_without_work_follows_hints_and_policy(void **state)
{
	struct actor *off;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	work(actor(NORMAL));
	rest(off);
	assert_true(stopped(off));
	hint(off, ONLINE);
	assert_true(runs(off));
	hint(off, OFFLINE);
	work(off);
	rest(off);
	assert_true(stopped(off));
	policy(&gp__policy_none, NULL);
	assert_true(runs(off));
}

static void test_held_without_work_is_no_suspension_when_the_policy_changes(void **state)
{
	struct actor *off;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	work(actor(ONLINE));
	after(50 * GP__MS);
	rest(off);
	after(GP__S);
	policy(&gp__policy_none, NULL);
	assert_true(runs(off));
	assert_int_equal(off->e.held_total, 50 * GP__MS);
	assert_int_equal(off->e.longest_hold, 50 * GP__MS);
}

/* Its recent use decays, and it is no longer behind an entity whose memory share does not. */
static void test_held_without_work_follows_what_fades(void **state)
{
	struct actor *a, *b;
	int i;

	(void)state;
	begin(&gp__policy_drf);
	work(a = actor(.weight = 1));
	after(GP__S);
	work(actor(.weight = 10000));
	work(b = actor(.memory = (u64)1 << 35));
	after(20 * GP__MS);
	rest(a);
	rest(b);
	assert_true(stopped(a) && stopped(b));
	/* Nothing but an event makes the core look: here, any. */
	for (i = 0; i < 3; i++) {
		after(60 * GP__S);
		config(GP__CFG_LINGER_US, 0);
	}
	assert_true(runs(a));
	assert_true(stopped(b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nothing_ticks_while_no_entity_waits),
		T(work_told_twice_counts_once),
		T(an_entity_is_idle_when_all_its_queues_are),
		T(an_idle_device_holds_no_entity),
		T(an_entity_that_runs_out_of_work_while_held_stays_held),
		T(being_held_without_work_is_no_suspension),
		T(held_without_work_follows_hints_and_policy),
		T(held_without_work_is_no_suspension_when_the_policy_changes),
		T(held_without_work_follows_what_fades),
	};

	return cmocka_run_group_tests_name("core idle", tests, NULL, NULL);
}
