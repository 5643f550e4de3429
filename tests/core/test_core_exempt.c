// SPDX-License-Identifier: MIT
/* The core's promises about entities that are exempt from holds, and those that are only observed.
 */
#include "rules.h"

static void exempt(struct actor *a, enum gp__exempt from)
{
	gp__entity_exempt(&a->e, from, S.now);
	take_orders();
}

static void test_exempt_is_never_held(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_strict();
	exempt(off = actor(OFFLINE), GP__EXEMPT_HOLDS);
	work(off);
	work(on = actor(ONLINE));
	assert_true(runs(off));
	assert_true(runs(on));
	after(60 * GP__S);
	rest(on);
	work(on);
	rest(off);
	work(off);
	assert_true(runs(off));
	assert_int_equal(off->nr_stops, 0);
}

static void test_exempt_keeps_its_rank(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	exempt(on = actor(ONLINE), GP__EXEMPT_HOLDS);
	work(on);
	assert_true(runs(on));
	assert_true(stopped(off));
	rest(on);
	assert_true(runs(off));
}

static void test_exempt_ends_a_hold_and_begins_one(void **state)
{
	struct actor *off;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	work(actor(ONLINE));
	assert_true(stopped(off));
	exempt(off, GP__EXEMPT_HOLDS);
	assert_true(runs(off));
	assert_why(off, GP__RULE_OUT_OF_PLAN, 0);
	exempt(off, GP__EXEMPT_NONE);
	assert_true(stopped(off));
}

static void test_exempt_frees_one_without_work(void **state)
{
	struct actor *off;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	work(actor(ONLINE));
	rest(off);
	assert_true(stopped(off));
	exempt(off, GP__EXEMPT_HOLDS);
	assert_true(runs(off));
	work(off);
	assert_true(runs(off));
}

/* The rate limit counts holds. */
static void test_exempt_costs_no_switch(void **state)
{
	struct actor *off, *on, *third;
	int i;

	(void)state;
	begin_strict();
	config(GP__CFG_SWITCHES_PER_S, 1);
	config(GP__CFG_SWITCH_BURST, 1);
	exempt(off = actor(OFFLINE), GP__EXEMPT_HOLDS);
	on = actor(ONLINE);
	work(off);
	for (i = 0; i < 10; i++) {
		work(on);
		rest(on);
	}
	work(third = actor(OFFLINE));
	work(on);
	assert_true(stopped(third));
}

static void test_the_operator_holds_the_exempt(void **state)
{
	struct actor *a;

	(void)state;
	begin_strict();
	exempt(a = actor(OFFLINE), GP__EXEMPT_HOLDS);
	work(a);
	suspend(a);
	assert_true(stopped(a));
	resume(a);
	assert_true(runs(a));
}

/* The reason for which it was held does not matter. */
static void test_exempt_runs_after_other_holds(void **state)
{
	struct actor *a, *b, *on;

	(void)state;
	begin_strict();
	a = actor_on(0, OFFLINE);
	b = actor_on(1, OFFLINE);
	tie(&S.gang[0], a, b);
	work(a);
	work(b);
	work(on = actor(ONLINE));
	assert_true(stopped(a) && stopped(b));
	exempt(a, GP__EXEMPT_HOLDS);
	exempt(b, GP__EXEMPT_HOLDS);
	gp__gang_remove(&S.gang[0], S.now);
	take_orders();
	assert_true(runs(a) && runs(b) && runs(on));
	suspend(a);
	resume(a);
	assert_true(runs(a));
	rest(on);
	work(on);
	assert_true(runs(a));
	exempt(a, GP__EXEMPT_NONE);
	assert_true(stopped(a));
}

static void test_observed_takes_no_part(void **state)
{
	struct actor *seen, *off, *on;

	(void)state;
	begin_strict();
	exempt(seen = actor(ONLINE), GP__EXEMPT_PLAN);
	work(off = actor(OFFLINE));
	work(seen);
	assert_true(runs(seen));
	assert_true(runs(off));
	suspend(seen);
	assert_true(runs(seen));
	work(on = actor(ONLINE));
	assert_true(stopped(off));
	assert_true(runs(seen));
	assert_true(runs(on));
	assert_int_equal(S.reports[GP__WHAT_INVERSION], 0);
	exempt(seen, GP__EXEMPT_NONE);
	assert_true(stopped(seen));
}

static void test_exempt_has_the_weight_of_the_device(void **state)
{
	struct actor *off;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	work(off = actor(OFFLINE));
	work(actor(ONLINE));
	assert_int_not_equal(off->hand[0].q.weight, 0);
	exempt(off, GP__EXEMPT_HOLDS);
	assert_int_equal(off->hand[0].q.weight, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(exempt_is_never_held),
		T(exempt_keeps_its_rank),
		T(exempt_ends_a_hold_and_begins_one),
		T(exempt_frees_one_without_work),
		T(exempt_costs_no_switch),
		T(the_operator_holds_the_exempt),
		T(exempt_runs_after_other_holds),
		T(observed_takes_no_part),
		T(exempt_has_the_weight_of_the_device),
	};

	return cmocka_run_group_tests_name("core exempt", tests, NULL, NULL);
}
