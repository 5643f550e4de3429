// SPDX-License-Identifier: MIT
/* The core's promises about suspending and resuming, and about devices that are off. */
#include "rules.h"

static void test_operator_beats_policy_and_guarantees(void **state)
{
	struct actor *a;

	(void)state;
	begin(&gp__policy_hpf);
	config(GP__CFG_MAX_HOLD_MS, 100);
	config(GP__CFG_MIN_SHARE_PCT, 10);
	work(a = actor(ONLINE));
	suspend(a);
	assert_true(stopped(a));
	assert_why(a, GP__RULE_OPERATOR, 0);
	after(60 * GP__S);
	assert_true(stopped(a));
	assert_int_equal(a->nr_starts, 0);
	resume(a);
	assert_true(runs(a));
}

static void test_operator_holds_even_entities_without_work(void **state)
{
	struct actor *a;

	(void)state;
	begin(&gp__policy_hpf);
	suspend(a = actor(ONLINE));
	assert_true(stopped(a));
	work(a);
	assert_true(stopped(a));
	rest(a);
	resume(a);
	assert_true(runs(a));
}

/* Guarantees count from the resume. */
static void test_operator_time_does_not_count_as_suspension(void **state)
{
	struct actor *off;

	(void)state;
	begin_strict();
	config(GP__CFG_MAX_HOLD_MS, 1000);
	work(actor(ONLINE));
	work(off = actor(OFFLINE));
	suspend(off);
	after(10 * GP__S);
	resume(off);
	after(1000 * GP__MS - 1);
	assert_true(stopped(off));
	after(1);
	assert_true(runs(off));
}

static void test_operator_resuming_an_entity_that_is_not_suspended_delays_no_guarantee(void **state)
{
	struct actor *off;
	int i;

	(void)state;
	begin_strict();
	config(GP__CFG_MAX_HOLD_MS, 100);
	work(off = actor(OFFLINE));
	work(actor(ONLINE));
	for (i = 0; i < 10; i++) {
		assert_true(stopped(off));
		after(10 * GP__MS);
		resume(off);
	}
	assert_true(runs(off));
}

static void test_faults_beat_the_operator(void **state)
{
	struct actor *a;

	(void)state;
	begin(&gp__policy_hpf);
	work(a = actor(ONLINE));
	a->manner = FAILS_TO_STOP;
	suspend(a);
	after(GP__S);
	assert_int_equal(gp__entity_state(&a->e), GP__STATE_FAILED);
	assert_false(a->e.held);
	a->manner = OBEYS;
	suspend(a);
	assert_true(stopped(a));
}

static void turn(bool off)
{
	gp__dev_switch(&S.dev[0], off, S.now);
	take_orders();
}

static void test_all_run_on_a_device_that_is_off(void **state)
{
	struct actor *on, *off, *suspended;

	(void)state;
	begin_strict();
	work(on = actor(ONLINE));
	work(off = actor(OFFLINE));
	suspend(suspended = actor(ONLINE));
	assert_true(stopped(off));
	turn(true);
	assert_why(off, GP__RULE_OFF, 0);
	assert_true(runs(off));
	assert_true(runs(on));
	assert_true(runs(suspended));
	after(60 * GP__S);
	assert_int_equal(off->nr_stops, 1);
	turn(false);
	assert_true(stopped(off));
	assert_true(runs(on));
	assert_true(stopped(suspended));
}

static void test_others_are_scheduled_while_a_device_is_off(void **state)
{
	struct actor *here, *there;

	(void)state;
	begin_strict();
	turn(true);
	work(actor(ONLINE));
	work(here = actor(OFFLINE));
	work(actor_on(1, ONLINE));
	work(there = actor_on(1, OFFLINE));
	assert_true(runs(here));
	assert_int_equal(here->nr_stops, 0);
	assert_true(stopped(there));
	turn(false);
	assert_true(stopped(here));
}

/* A rank on a device that is off keeps no other from running, and runs whatever its gang does. */
static void test_a_gang_is_held_where_devices_are_on(void **state)
{
	struct actor *here, *there, *urgent;

	(void)state;
	begin_strict();
	work(here = actor(OFFLINE));
	work(there = actor_on(1, OFFLINE));
	tie(&S.gang[0], here, there);
	work(urgent = actor(ONLINE));
	assert_true(stopped(here));
	assert_true(stopped(there));
	turn(true);
	assert_true(runs(here));
	assert_true(runs(there));
	work(actor_on(1, ONLINE));
	assert_true(runs(here));
	assert_true(stopped(there));
	rest(urgent);
	turn(false);
	assert_true(stopped(here));
}

static void test_a_device_that_is_off_weighs_nobody(void **state)
{
	struct actor *off;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	work(off = actor(OFFLINE));
	actor(ONLINE);
	after(GP__MS);
	assert_int_equal(off->hand[0].q.weight, GP__WEIGHT_LEAST);
	turn(true);
	after(GP__MS);
	assert_true(runs(off));
	assert_int_equal(off->hand[0].q.weight, 0);
	turn(false);
	after(GP__MS);
	assert_int_equal(off->hand[0].q.weight, GP__WEIGHT_LEAST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(operator_beats_policy_and_guarantees),
		T(operator_holds_even_entities_without_work),
		T(operator_time_does_not_count_as_suspension),
		T(operator_resuming_an_entity_that_is_not_suspended_delays_no_guarantee),
		T(faults_beat_the_operator),
		T(all_run_on_a_device_that_is_off),
		T(others_are_scheduled_while_a_device_is_off),
		T(a_gang_is_held_where_devices_are_on),
		T(a_device_that_is_off_weighs_nobody),
	};

	return cmocka_run_group_tests_name("core operator", tests, NULL, NULL);
}
