// SPDX-License-Identifier: MIT
/* The core's promises about suspending and resuming. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(operator_beats_policy_and_guarantees),
		T(operator_holds_even_entities_without_work),
		T(operator_time_does_not_count_as_suspension),
		T(operator_resuming_an_entity_that_is_not_suspended_delays_no_guarantee),
		T(faults_beat_the_operator),
	};

	return cmocka_run_group_tests_name("core operator", tests, NULL, NULL);
}
