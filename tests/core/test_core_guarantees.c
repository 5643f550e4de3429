// SPDX-License-Identifier: MIT
/* The core's promises about what an entity gets whatever the policy: minimum share, longest
 * suspension. */
#include "rules.h"

static void test_grant_lasts_over_a_gap_in_the_work(void **state)
{
	struct actor *off;

	(void)state;
	begin_strict();
	config(GP__CFG_LINGER_US, 50);
	config(GP__CFG_MAX_HOLD_MS, 100);
	config(GP__CFG_GRANT_MS, 10);
	work(actor(ONLINE));
	work(off = actor(OFFLINE));
	after(100 * GP__MS + GP__US);
	assert_true(runs(off));
	/* It waits for its kernel and submits the next one. */
	rest(off);
	work(off);
	after(5 * GP__MS);
	assert_true(runs(off));
	rest(off);
	after(20 * GP__US);
	work(off);
	after(GP__MS);
	assert_true(runs(off));
	after(5 * GP__MS);
	assert_true(stopped(off));
}

static void test_min_share_is_delivered(void **state)
{
	struct actor *off;
	u64 start;

	(void)state;
	begin_strict();
	config(GP__CFG_MIN_SHARE_PCT, 5);
	start = S.now;
	work(actor(ONLINE));
	work(off = actor(OFFLINE));
	after(20 * GP__S);
	assert_true(near(permille(off, 0, start), 50, 1));
	assert_true(off->last.why.rule == GP__RULE_MIN_SHARE || stopped(off));
}

static void test_min_share_is_delivered_beside_many(void **state)
{
	struct actor *off[3];
	u64 start;
	int i;

	(void)state;
	begin_strict();
	start = S.now;
	for (i = 0; i < 4; i++)
		work(actor(ONLINE));
	for (i = 0; i < 3; i++)
		work(off[i] = actor(OFFLINE, .min_share_pct = 5));
	after(20 * GP__S);
	for (i = 0; i < 3; i++)
		assert_true(near(permille(off[i], 0, start), 50, 2));
}

/* Default shares: together they get half at most, however many entities there are. */
static void test_min_share_by_default_leaves_the_urgent_most_of_the_device(void **state)
{
	struct actor *on, *off[9];
	u64 start;
	int i;

	(void)state;
	begin_strict();
	config(GP__CFG_MIN_SHARE_PCT, 10);
	start = S.now;
	work(on = actor(ONLINE));
	for (i = 0; i < 9; i++)
		work(off[i] = actor(OFFLINE));
	after(20 * GP__S);
	assert_true(permille(on, 0, start) >= 500);
	for (i = 0; i < 9; i++)
		assert_true(near(permille(off[i], 0, start), 50, 3));
}

static void test_min_share_may_be_asked_for(void **state)
{
	struct actor *off;
	u64 start;

	(void)state;
	begin_strict();
	start = S.now;
	work(actor(ONLINE));
	work(off = actor(OFFLINE, .min_share_pct = 20));
	after(10 * GP__S);
	assert_true(near(permille(off, 0, start), 200, 2));
}

static void test_min_share_says_why(void **state)
{
	struct actor *on, *off;

	(void)state;
	begin_strict();
	config(GP__CFG_MIN_SHARE_PCT, 10);
	work(on = actor(ONLINE));
	work(off = actor(OFFLINE));
	after(100 * GP__MS - 1);
	assert_true(stopped(off));
	after(1);
	assert_true(runs(off) && runs(on));
	assert_why(off, GP__RULE_MIN_SHARE, on->e.id);
}

static void test_min_share_an_hour_alone_is_not_held_against_it(void **state)
{
	struct actor *off;
	u64 before, start;

	(void)state;
	begin_strict();
	config(GP__CFG_MIN_SHARE_PCT, 10);
	work(off = actor(OFFLINE));
	after(3600 * GP__S);
	before = gp__entity_used(&off->e, S.now);
	start = S.now;
	work(actor(ONLINE));
	after(GP__S);
	assert_true(near(permille(off, before, start), 90, 10));
}

static void test_min_share_an_hour_of_waiting_is_not_paid_back_at_once(void **state)
{
	struct actor *off;
	u64 before;

	(void)state;
	begin_strict();
	config(GP__CFG_MIN_SHARE_PCT, 10);
	work(actor(ONLINE));
	work(off = actor(OFFLINE));
	suspend(off);
	after(3600 * GP__S);
	before = gp__entity_used(&off->e, S.now);
	resume(off);
	after(GP__S);
	/* Four grants are remembered. */
	assert_true(near(gp__entity_used(&off->e, S.now) - before, 140 * GP__MS, 10 * GP__MS));
}

static void test_min_share_is_owed_by_the_limits_that_hold_now(void **state)
{
	struct actor *off;

	(void)state;
	begin_strict();
	config(GP__CFG_GRANT_MS, 100);
	work(off = actor(OFFLINE, .min_share_pct = 10));
	after(GP__S);
	work(actor(ONLINE));
	/* It is ahead by one grant, and a grant is less from now on. */
	config(GP__CFG_GRANT_MS, 10);
	after(200 * GP__MS - 1);
	assert_true(stopped(off));
	after(1);
	assert_true(runs(off));
}

static void test_min_share_a_new_promise_does_not_reach_back(void **state)
{
	struct actor *off;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	work(actor(ONLINE));
	after(GP__S);
	config(GP__CFG_MIN_SHARE_PCT, 1);
	after(GP__S - 1);
	assert_true(stopped(off));
	after(1);
	assert_true(runs(off));
}

static void test_max_hold_is_exact_and_for_one_grant(void **state)
{
	struct actor *on, *off;

	(void)state;
	begin_strict();
	config(GP__CFG_MAX_HOLD_MS, 2000);
	work(on = actor(ONLINE));
	work(off = actor(OFFLINE));
	after(2000 * GP__MS - 1);
	assert_true(stopped(off));
	after(1);
	assert_true(runs(off) && runs(on));
	assert_why(off, GP__RULE_MAX_HOLD, on->e.id);
	after(10 * GP__MS - 1);
	assert_true(runs(off));
	after(1);
	assert_true(stopped(off));
	assert_int_equal(off->e.longest_hold, 2000 * GP__MS);
	assert_int_equal(off->e.nr_holds, 2);
}

static void test_max_hold_may_be_asked_for(void **state)
{
	struct actor *off;

	(void)state;
	begin_strict();
	config(GP__CFG_MAX_HOLD_MS, 2000);
	work(actor(ONLINE));
	work(off = actor(OFFLINE, .max_hold_ns = 100 * GP__MS));
	after(100 * GP__MS - 1);
	assert_true(stopped(off));
	after(1);
	assert_true(runs(off));
}

static void test_a_shorter_limit_holds_at_once(void **state)
{
	struct actor *off;

	(void)state;
	begin_strict();
	work(actor(ONLINE));
	work(off = actor(OFFLINE));
	after(GP__S);
	config(GP__CFG_MAX_HOLD_MS, 500);
	after(1);
	assert_true(runs(off));
	/* The grant that began under the old configuration keeps its end. */
	config(GP__CFG_GRANT_MS, 1);
	config(GP__CFG_MAX_HOLD_MS, 1000);
	after(10 * GP__MS - 1);
	assert_true(runs(off));
	after(1);
	assert_true(stopped(off));
	after(1000 * GP__MS);
	assert_true(runs(off));
	after(GP__MS);
	assert_true(stopped(off));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(grant_lasts_over_a_gap_in_the_work),
		T(min_share_is_delivered),
		T(min_share_is_delivered_beside_many),
		T(min_share_by_default_leaves_the_urgent_most_of_the_device),
		T(min_share_may_be_asked_for),
		T(min_share_says_why),
		T(min_share_an_hour_alone_is_not_held_against_it),
		T(min_share_an_hour_of_waiting_is_not_paid_back_at_once),
		T(min_share_is_owed_by_the_limits_that_hold_now),
		T(min_share_a_new_promise_does_not_reach_back),
		T(max_hold_is_exact_and_for_one_grant),
		T(max_hold_may_be_asked_for),
		T(a_shorter_limit_holds_at_once),
	};

	return cmocka_run_group_tests_name("core guarantees", tests, NULL, NULL);
}
