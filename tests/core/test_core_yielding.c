// SPDX-License-Identifier: MIT
/* The core's promises about the account of entities that yield, and what they are owed. */
#include "rules.h"

static u64 used(const struct actor *a)
{
	return gp__entity_used(&a->e, S.now);
}

static u64 run_ns(const struct actor *a)
{
	return gp__queue_run_ns(&a->hand[0].q, S.now);
}

static void test_it_gets_what_the_urgent_leave(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	for (int i = 0; i < 10; i++) {
		after(56 * GP__US);
		assert_false(gp__entity_gives_way(&off->e));
		work(on);
		assert_true(gp__entity_gives_way(&off->e));
		assert_false(gp__entity_gives_way(&on->e));
		after(44 * GP__US);
		rest(on);
	}
	assert_true(runs(off));
	assert_int_equal(off->e.nr_holds, 0);
	assert_int_equal(used(off), 560 * GP__US);
	assert_int_equal(used(on), 440 * GP__US);
	/* Its queue is shown the same time. */
	assert_int_equal(run_ns(off), 560 * GP__US);
	assert_int_equal(run_ns(on), 440 * GP__US);
}

/* Between two events, too. */
static void test_the_present_counts(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	work(off = actor(OFFLINE));
	work(on = actor(ONLINE));
	for (u64 us = 1; us <= 100; us++) {
		after(GP__US);
		assert_int_equal(used(off) + run_ns(off), 0);
		assert_int_equal(used(on), us * GP__US);
		assert_int_equal(run_ns(on), us * GP__US);
	}
	/* The caller may have read the clock before the last event. */
	second_queue(on);
	gp__queue_ready(&on->hand[1].q, 1, S.now);
	assert_int_equal(gp__queue_run_ns(&on->hand[1].q, S.now - 50 * GP__US), 0);
	assert_int_equal(gp__entity_used(&on->e, S.now - 50 * GP__US), 100 * GP__US);
}

/* Of a GPU that keeps to proportions nothing else is known. */
static void test_others_share_evenly(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	work(a = actor(NORMAL));
	work(b = actor(NORMAL));
	after(10 * GP__MS);
	assert_int_equal(used(a), 5 * GP__MS);
	assert_int_equal(used(b), 5 * GP__MS);
	assert_int_equal(run_ns(a) + run_ns(b), 10 * GP__MS);
	assert_false(gp__entity_gives_way(&a->e) || gp__entity_gives_way(&b->e));
}

/* The weight counts that the device has, not the one that the policy asks for. */
static void test_the_weight_in_force_counts(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	work(off = actor(OFFLINE));
	S.answer_ns = 100 * GP__US;
	work(on = actor(ONLINE));
	after(100 * GP__US);
	assert_int_equal(used(off), 50 * GP__US);
	after(100 * GP__US);
	assert_int_equal(used(off), 50 * GP__US);
	assert_int_equal(used(on), 150 * GP__US);
	leave(on);
	after(GP__MS);
	assert_int_equal(used(off), 50 * GP__US + GP__MS);
	assert_false(off->e.yields);
}

/* A queue that has another weight gets time, and so does its entity. */
static void test_one_queue_that_does_not_yield_is_enough(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	work(off = actor(OFFLINE));
	work(on = actor(ONLINE));
	off->manner = SILENT;
	second_queue(off);
	assert_true(off->e.yields);
	gp__queue_ready(&off->hand[1].q, 1, S.now);
	assert_false(off->e.yields);
	after(100 * GP__US);
	assert_int_equal(used(off), 50 * GP__US);
	gp__queue_idle(&off->hand[1].q, S.now, 0, S.now);
	assert_true(off->e.yields);
	after(100 * GP__US);
	assert_int_equal(used(off), 50 * GP__US);
	assert_int_equal(used(on), 150 * GP__US);
}

/* An entity that lingers does not work: the device is not idle for it. */
static void test_it_works_while_the_urgent_linger(void **state)
{
	struct actor *a, *b, *on;
	u64 before;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	config(GP__CFG_LINGER_US, 1000);
	S.answer_ns = 500 * GP__US;
	work(a = actor(OFFLINE));
	work(b = actor(OFFLINE));
	on = actor(ONLINE);
	after(10 * GP__MS);
	/* The second of the two is held until its turn. */
	assert_int_equal(runs(a) + runs(b), 1);
	before = used(a) + used(b);
	work(on);
	after(100 * GP__US);
	rest(on);
	assert_true(on->e.lingering);
	after(100 * GP__US);
	assert_int_equal(used(a) + used(b) - before, 100 * GP__US);
	assert_int_equal(used(on), 100 * GP__US);
	assert_int_equal(S.dev[0].wasted, 0);
}

/* It is measured several times a second. */
static void test_more_memory_ends_no_turn(void **state)
{
	struct actor *a, *b, *running, *held;
	u32 holds;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	work(a = actor(OFFLINE));
	work(b = actor(OFFLINE));
	actor(ONLINE);
	after(10 * GP__MS);
	running = runs(a) ? a : b;
	held = running == a ? b : a;
	assert_false(runs(held));
	holds = a->e.nr_holds + b->e.nr_holds;
	for (u64 mib = 1; mib <= 4; mib++) {
		struct gp__hints more = running->e.hints;

		more.memory = mib << 20;
		assert_int_equal(gp__entity_hint(&running->e, &more, S.now), 0);
		more.memory *= 2;
		assert_int_equal(gp__entity_hint(&held->e, &more, S.now), 0);
		after(GP__MS);
		assert_true(runs(running));
		assert_false(runs(held));
	}
	assert_int_equal(a->e.nr_holds + b->e.nr_holds, holds);
}

/* Two urgent programs in turn, none of whose bursts is long enough to hold others for it. */
static void two_in_turn(struct actor *a, struct actor *b, u64 until)
{
	while (S.now < until) {
		work(a);
		rest(b);
		after(500 * GP__US);
		work(b);
		rest(a);
		after(500 * GP__US);
	}
}

static void test_it_gets_its_share_from_the_urgent(void **state)
{
	struct actor *off, *a, *b;
	u64 start;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	work(off = actor(OFFLINE));
	a = actor(ONLINE);
	b = actor(ONLINE);
	work(b);
	start = S.now;
	two_in_turn(a, b, start + 5 * GP__S);
	assert_int_equal(used(off), 0);
	config(GP__CFG_MIN_SHARE_PCT, 5);
	two_in_turn(a, b, start + 15 * GP__S);
	assert_true(near(used(off), 500 * GP__MS, 25 * GP__MS));
	assert_int_equal(off->e.nr_holds, 0);
	assert_true(used(off) + used(a) + used(b) <= S.now - start);
	assert_true(near(used(off) + used(a) + used(b), S.now - start, GP__US));
}

/* It waits for the end of a burst, and gets nothing that it does not need. */
static void test_the_share_is_deferred(void **state)
{
	struct actor *off, *a, *b;
	u64 weighs;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	config(GP__CFG_MIN_SHARE_PCT, 10);
	config(GP__CFG_DEFER_MS, 100);
	work(off = actor(OFFLINE));
	a = actor(ONLINE);
	b = actor(ONLINE);
	work(b);
	weighs = off->nr_weighs;
	/* A grant of 10 ms is owed after 100 ms, and waits for 100 ms. */
	two_in_turn(a, b, S.now + 199 * GP__MS);
	assert_int_equal(off->nr_weighs, weighs);
	two_in_turn(a, b, S.now + 2 * GP__MS);
	assert_int_equal(off->nr_weighs, weighs + 1);
	two_in_turn(a, b, S.now + GP__S);
	rest(a);
	rest(b);
	after(100 * GP__MS);
	weighs = off->nr_weighs;
	/* In the gaps it gets more than it is owed. */
	for (int i = 0; i < 1000; i++) {
		work(a);
		after(500 * GP__US);
		rest(a);
		after(500 * GP__US);
	}
	assert_int_equal(off->nr_weighs, weighs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(it_gets_what_the_urgent_leave),
		T(the_present_counts),
		T(others_share_evenly),
		T(the_weight_in_force_counts),
		T(one_queue_that_does_not_yield_is_enough),
		T(it_works_while_the_urgent_linger),
		T(more_memory_ends_no_turn),
		T(it_gets_its_share_from_the_urgent),
		T(the_share_is_deferred),
	};

	return cmocka_run_group_tests_name("core yielding", tests, NULL, NULL);
}
