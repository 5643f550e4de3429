// SPDX-License-Identifier: MIT
/* The core's promises about switch rate and hysteresis. */
#include "rules.h"

static u32 toggle(struct actor *on, struct actor *off, int times)
{
	u32 before = off->nr_stops;

	while (times--) {
		work(on);
		rest(on);
	}
	return off->nr_stops - before;
}

static void test_switch_rate_allows_a_burst_then_the_rate(void **state)
{
	struct actor *on, *off;

	(void)state;
	begin_strict();
	config(GP__CFG_SWITCHES_PER_S, 10);
	config(GP__CFG_SWITCH_BURST, 3);
	on = actor(ONLINE);
	work(off = actor(OFFLINE));
	assert_int_equal(toggle(on, off, 10), 3);
	work(on);
	assert_true(runs(on) && runs(off));
	after(100 * GP__MS - 1);
	assert_true(runs(off));
	after(1);
	assert_true(stopped(off));
	rest(on);
	after(10 * GP__S);
	assert_int_equal(toggle(on, off, 10), 3);
}

static void test_switch_rate_does_not_delay_a_release_without_a_hold(void **state)
{
	struct actor *on, *off;

	(void)state;
	begin_strict();
	config(GP__CFG_SWITCHES_PER_S, 1);
	config(GP__CFG_SWITCH_BURST, 1);
	on = actor(ONLINE);
	work(off = actor(OFFLINE));
	work(on);
	assert_true(stopped(off));
	rest(on);
	assert_true(runs(off));
}

static void test_switch_rate_all_holds_of_one_event_cost_one(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin_strict();
	config(GP__CFG_SWITCHES_PER_S, 1);
	config(GP__CFG_SWITCH_BURST, 1);
	work(a = actor(OFFLINE));
	work(b = actor(OFFLINE));
	work(actor(ONLINE));
	assert_true(stopped(a) && stopped(b));
}

/* Time used while the hold was delayed counts, also for its place in the waiting set. */
static void test_switch_rate_time_got_beside_the_others_counts(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_fair);
	config(GP__CFG_SWITCHES_PER_S, 1);
	config(GP__CFG_SWITCH_BURST, 1);
	work(a = actor(0));
	work(b = actor(0));
	work(actor(.weight = 10));
	assert_true(runs(a) && stopped(b));
	after(1100 * GP__MS);
	assert_true(stopped(a) && runs(b));
	after(GP__S);
	assert_true(runs(a) && stopped(b));
}

static void test_a_lifted_switch_rate_forgets_old_debt(void **state)
{
	struct actor *on, *off;

	(void)state;
	begin_strict();
	config(GP__CFG_SWITCHES_PER_S, 1);
	config(GP__CFG_SWITCH_BURST, 100);
	on = actor(ONLINE);
	work(off = actor(OFFLINE));
	assert_int_equal(toggle(on, off, 200), 100);
	config(GP__CFG_SWITCHES_PER_S, 1000);
	assert_int_equal(toggle(on, off, 1), 0);
	after(GP__MS);
	assert_int_equal(toggle(on, off, 10), 1);
	config(GP__CFG_SWITCHES_PER_S, 0);
	assert_int_equal(toggle(on, off, 10), 10);
}

/* Holds of 2 ms may take a quarter of the time: 125 a second. */
static void test_switch_rate_follows_what_a_hold_costs(void **state)
{
	struct actor *on, *off;
	u32 i, before = 0;

	(void)state;
	begin_strict();
	config(GP__CFG_SWITCHES_PER_S, 1000);
	config(GP__CFG_SWITCH_BURST, 10);
	S.answer_ns = 2 * GP__MS;
	on = actor(ONLINE);
	work(off = actor(OFFLINE));
	for (i = 0; i < 1000; i++) {
		if (i == 500)
			before = off->nr_stops;
		work(on);
		after(2500 * GP__US);
		rest(on);
		after(2500 * GP__US);
	}
	assert_true(near(off->nr_stops - before, 2500 / 8, 12));
	/* Once they are fast, the debt is not remembered. */
	S.answer_ns = 0;
	for (i = 0; i < 200; i++) {
		work(on);
		after(2500 * GP__US);
		rest(on);
		after(2500 * GP__US);
	}
	before = off->nr_stops;
	work(on);
	assert_int_equal(off->nr_stops, before + 1);
}

static void test_linger_a_short_gap_keeps_the_place(void **state)
{
	struct actor *on, *off;

	(void)state;
	begin_strict();
	config(GP__CFG_LINGER_US, 50);
	work(off = actor(OFFLINE));
	work(on = actor(ONLINE));
	rest(on);
	after(50 * GP__US - 1);
	work(on);
	after(GP__S);
	assert_int_equal(off->nr_starts, 0);
	rest(on);
	after(50 * GP__US - 1);
	assert_true(stopped(off));
	after(1);
	assert_true(runs(off));
}

static void test_linger_only_while_another_waits(void **state)
{
	struct actor *on;

	(void)state;
	begin_strict();
	config(GP__CFG_LINGER_US, 50);
	work(on = actor(ONLINE));
	rest(on);
	assert_false(gp__entity_active(&on->e));
	assert_true(gp__core_wake(&S.core) == GP__NEVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(switch_rate_allows_a_burst_then_the_rate),
		T(switch_rate_does_not_delay_a_release_without_a_hold),
		T(switch_rate_all_holds_of_one_event_cost_one),
		T(switch_rate_time_got_beside_the_others_counts),
		T(a_lifted_switch_rate_forgets_old_debt),
		T(switch_rate_follows_what_a_hold_costs),
		T(linger_a_short_gap_keeps_the_place),
		T(linger_only_while_another_waits),
	};

	return cmocka_run_group_tests_name("core limits", tests, NULL, NULL);
}
