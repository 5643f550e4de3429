// SPDX-License-Identifier: MIT
/* Promise: in the gaps of a burst others stay held, and that costs them little. */
#include "rules.h"

#include <stdlib.h>

/* A patient program that always has work, and an urgent one whose bursts are tested. */
static struct actor *on, *off;

static void begin_bursts(void)
{
	begin_strict();
	config(GP__CFG_LINGER_US, 50);
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
}

/* @nr kernels of @busy with gaps of @gap in between, and a pause after them. */
static void burst(u32 nr, u64 busy, u64 gap, u64 pause)
{
	while (nr--) {
		work(on);
		after(busy);
		rest(on);
		after(nr ? gap : pause);
	}
}

static void test_gaps_are_learned(void **state)
{
	u32 before;

	(void)state;
	begin_bursts();
	S.answer_ns = 500 * GP__US;
	burst(10, GP__MS, GP__MS, 500 * GP__MS);
	before = off->nr_starts;
	burst(10, GP__MS, GP__MS, 500 * GP__MS);
	assert_int_equal(off->nr_starts, before + 1);
	/* So are other ones. */
	burst(5, GP__MS, 2 * GP__MS, GP__S);
	burst(5, GP__MS, 2 * GP__MS, GP__S);
	before = off->nr_starts;
	burst(5, GP__MS, 2 * GP__MS, GP__S);
	assert_int_equal(off->nr_starts, before + 1);
}

static void test_with_long_gaps_nobody_lingers(void **state)
{
	(void)state;
	begin_bursts();
	burst(20, GP__MS, 20 * GP__MS, GP__MS);
	work(on);
	rest(on);
	assert_true(runs(off));
}

/* The gaps of a program without pauses would be all that the patient one gets. */
static void test_gaps_that_are_all_the_others_get_are_theirs(void **state)
{
	(void)state;
	begin_bursts();
	S.answer_ns = 10 * GP__US;
	burst(100, GP__MS, 2 * GP__MS, GP__MS);
	work(on);
	after(GP__MS);
	rest(on);
	after(S.answer_ns);
	assert_true(runs(off));
}

static u64 linger(void)
{
	return on->e.lingering ? on->e.linger_end - on->e.idle_since : 0;
}

static void test_the_margin_falls_with_the_number_of_gaps(void **state)
{
	(void)state;
	begin_bursts();
	S.answer_ns = 500 * GP__US;
	/* 2.1 ms is the next edge of the histogram. */
	burst(6, GP__MS, 2 * GP__MS, 500 * GP__MS);
	work(on);
	rest(on);
	assert_in_range(linger(), 3500 * GP__US, 4500 * GP__US);
	after(500 * GP__MS);
	for (int i = 0; i < 20; i++)
		burst(10, GP__MS, 2 * GP__MS, 500 * GP__MS);
	work(on);
	rest(on);
	assert_in_range(linger(), 2 * GP__MS, 2300 * GP__US);
}

/* The others would lose 3 ms in each of ten bursts, and a release and a hold would be saved. */
static void test_a_rare_gap_is_not_waited_for(void **state)
{
	(void)state;
	begin_bursts();
	S.answer_ns = 100 * GP__US;
	for (int i = 0; i < 100; i++)
		burst(10, GP__MS, GP__MS, i % 10 ? 500 * GP__MS : 4 * GP__MS);
	work(on);
	rest(on);
	assert_in_range(linger(), GP__MS, 1300 * GP__US);
	/* It is if each switch takes long. */
	after(500 * GP__MS);
	S.answer_ns = 5 * GP__MS;
	for (int i = 0; i < 100; i++)
		burst(10, GP__MS, GP__MS, i % 10 ? 500 * GP__MS : 4 * GP__MS);
	work(on);
	rest(on);
	assert_in_range(linger(), 4 * GP__MS, 5 * GP__MS);
}

/* A gap that is shorter than two switches would give the others nothing. */
static void test_a_gap_shorter_than_two_switches_costs_nothing(void **state)
{
	u64 before;

	(void)state;
	begin_bursts();
	S.answer_ns = GP__MS;
	burst(100, 10 * GP__MS, GP__MS, GP__MS);
	before = off->nr_starts;
	burst(1000, 10 * GP__MS, GP__MS, GP__MS);
	assert_int_equal(off->nr_starts, before);
}

static void idle_since(u64 since, u64 sees)
{
	gp__queue_idle(&on->hand[0].q, since, sees, S.now);
	take_orders();
}

static void test_a_linger_is_long_enough_to_see_work(void **state)
{
	u64 since;

	(void)state;
	begin_bursts();
	work(on);
	after(GP__MS);
	since = S.now;
	after(600 * GP__US);
	/* Reported late: that is a part of the linger. */
	idle_since(since, GP__MS);
	after(1400 * GP__US - 1);
	assert_true(stopped(off));
	after(1);
	assert_true(runs(off));
	assert_int_equal(S.dev[0].wasted, 2 * GP__MS);
	/* So late that nothing is left of it. */
	work(on);
	since = S.now;
	after(3 * GP__MS);
	idle_since(since, GP__MS);
	assert_true(runs(off));
}

static void test_nobody_lingers_after_the_last_work(void **state)
{
	(void)state;
	begin_bursts();
	burst(10, GP__MS, GP__MS, 300 * GP__MS);
	work(on);
	arriving(on, 0);
	rest(on);
	assert_true(runs(off));
	/* Also if it is said too late. */
	work(on);
	rest(on);
	assert_true(stopped(off));
	arriving(on, 0);
	assert_true(runs(off));
	/* The next work is not the last. */
	work(on);
	rest(on);
	assert_true(stopped(off));
}

static void test_waste_is_counted(void **state)
{
	(void)state;
	begin_bursts();
	burst(1, GP__MS, 0, 200 * GP__MS);
	assert_int_equal(S.dev[0].wasted, 50 * GP__US);
	assert_int_equal(on->e.wasted, 50 * GP__US);
	assert_int_equal(S.reports[GP__WHAT_LINGERED], 1);
	assert_int_equal(S.last_report.entity, on->e.id);
	assert_int_equal(S.last_report.f[GP__F_NS], 50 * GP__US);
	burst(2, GP__MS, 20 * GP__US, 200 * GP__MS);
	assert_int_equal(S.dev[0].wasted, 120 * GP__US);
	assert_int_equal(on->e.wasted, 120 * GP__US);
	/* A gap that new work ends is not reported. */
	assert_int_equal(S.reports[GP__WHAT_LINGERED], 2);
	/* The present counts. */
	work(on);
	after(GP__MS);
	rest(on);
	after(30 * GP__US);
	assert_true(on->e.lingering);
	assert_int_equal(gp__entity_wasted(&on->e, S.now), 150 * GP__US);
	assert_int_equal(gp__dev_wasted(&S.dev[0], S.now), 150 * GP__US);
	assert_int_equal(gp__entity_wasted(&off->e, S.now), 0);
	after(200 * GP__MS);
	assert_int_equal(gp__entity_wasted(&on->e, S.now), 170 * GP__US);
	/* Alone on the device nothing is wasted. */
	rest(off);
	burst(2, GP__MS, 20 * GP__US, 200 * GP__MS);
	assert_int_equal(S.dev[0].wasted, 170 * GP__US);
	assert_int_equal(S.reports[GP__WHAT_LINGERED], 3);
}

static void test_a_guarantee_is_paid_after_the_burst(void **state)
{
	(void)state;
	begin_bursts();
	config(GP__CFG_MIN_SHARE_PCT, 10);
	config(GP__CFG_DEFER_MS, 50);
	/* It is one grant ahead, so after 200 ms it is owed one, but not now. */
	after(GP__S);
	work(on);
	after(250 * GP__MS - 1);
	assert_true(stopped(off));
	after(1);
	assert_true(runs(off) && runs(on));
	assert_why(off, GP__RULE_MIN_SHARE, on->e.id);
	after(GP__S);
	work(on);
	/* The burst is over before: it runs alone. */
	rest(on);
	after(GP__S);
	work(on);
	after(220 * GP__MS);
	assert_true(stopped(off));
	rest(on);
	after(GP__MS);
	assert_true(runs(off));
	assert_why(off, GP__RULE_CHOSEN, 0);
}

static void test_the_longest_hold_is_not_deferred(void **state)
{
	(void)state;
	begin_bursts();
	config(GP__CFG_DEFER_MS, 50);
	config(GP__CFG_MAX_HOLD_MS, 100);
	S.answer_ns = GP__MS;
	burst(20, 10 * GP__MS, GP__MS, GP__MS);
	work(on);
	for (int i = 0; i < 1000; i++) {
		after(GP__MS);
		assert_true(off->e.hold_since + 100 * GP__MS >= S.now || !off->e.held);
		if (i % 10 == 9)
			rest(on);
		if (i % 10 == 0)
			work(on);
	}
}

/*
 * The bound, for gaps of every kind: an independent account of the time at which the urgent one has
 * no work and the patient one is held, less the two switches that a gap saves.
 */

#define WINDOW GP__S
#define INTERVALS 4096

static struct {
	u64 end[INTERVALS], length[INTERVALS];
	u32 first, nr;
} waste;

static u64 wasted_in_window(void)
{
	u64 begin = S.now - WINDOW, sum = 0;
	u32 i;

	while (waste.nr && waste.end[waste.first] <= begin) {
		waste.first = (waste.first + 1) % INTERVALS;
		waste.nr--;
	}
	for (i = 0; i < waste.nr; i++) {
		u32 at = (waste.first + i) % INTERVALS;

		sum += gp__min_u64(waste.length[at], waste.end[at] - begin);
	}
	return sum;
}

static void add_waste(u64 end, u64 length)
{
	u32 at = (waste.first + waste.nr) % INTERVALS;

	if (!length)
		return;
	assert_true(waste.nr < INTERVALS);
	waste.end[at] = end;
	waste.length[at] = length;
	waste.nr++;
}

static u64 seed;

static u64 draw(u64 n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

/* From microseconds to seconds, each octave as likely as another. */
static u64 draw_octaves(u32 from, u32 to)
{
	u32 shift = from + (u32)draw(to - from);

	return ((u64)1 << shift) + draw((u64)1 << shift);
}

enum { SHORT, LONG, MIXED, ANY, ALTERNATING, LATE, CHANGED, KINDS };

/* Just after the lingering has ended. */
static u64 late_gap(void)
{
	return on->e.lingering ? on->e.linger_end - S.now + 1 : draw(2) * 5 * GP__MS;
}

/* CHANGED: gaps that teach it to linger, then late ones. */
static u64 draw_gap(u32 kind, u32 i)
{
	switch (kind) {
	case SHORT:
		return draw(100 * GP__US);
	case LONG:
		return 15 * GP__MS + draw(20 * GP__MS);
	case MIXED:
		return draw(32) ? 20 * GP__US + draw(2 * GP__MS) : draw(500 * GP__MS);
	case ANY:
		return draw_octaves(10, 28);
	case ALTERNATING:
		return i / 64 % 2 ? 40 * GP__MS : 200 * GP__US;
	case CHANGED:
		if (i % 300 < 250)
			return i % 10 == 9 ? 3 * GP__S : 4 * GP__MS;
		return late_gap();
	default:
		return late_gap();
	}
}

static void rest_and_wait(u32 kind, u32 i)
{
	u64 start = S.now, gap, idle, saved = 0;
	u32 starts = off->nr_starts;
	bool was_held = off->e.held && off->last.verb == GP__VERB_HOLD;

	rest(on);
	gap = draw_gap(kind, i);
	after(gap);
	if (!was_held)
		return;
	idle = off->nr_starts > starts ? off->last.time - start : gap;
	if (off->nr_starts == starts)
		saved = 2 * S.dev[0].hold_ns;
	add_waste(start + idle, idle - gp__min_u64(idle, saved));
	assert_true(wasted_in_window() <= WINDOW / 100 * S.core.cfg[GP__CFG_WASTE_PCT]);
}

static void test_waste_stays_within_its_bound(void **state)
{
	u32 kind, i;

	(void)state;
	for (kind = 0; kind < KINDS; kind++) {
		begin_bursts();
		seed = kind + 1;
		memset(&waste, 0, sizeof(waste));
		S.answer_ns = kind % 2 ? 50 * GP__US : 0;
		for (i = 0; i < 100000; i++) {
			work(on);
			after(draw_octaves(10, 22));
			rest_and_wait(i / 20000 % 2 ? (u32)draw(KINDS) : kind, i);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(gaps_are_learned),
		T(with_long_gaps_nobody_lingers),
		T(gaps_that_are_all_the_others_get_are_theirs),
		T(the_margin_falls_with_the_number_of_gaps),
		T(a_rare_gap_is_not_waited_for),
		T(a_gap_shorter_than_two_switches_costs_nothing),
		T(a_linger_is_long_enough_to_see_work),
		T(nobody_lingers_after_the_last_work),
		T(waste_is_counted),
		T(a_guarantee_is_paid_after_the_burst),
		T(the_longest_hold_is_not_deferred),
		T(waste_stays_within_its_bound),
	};

	return cmocka_run_group_tests_name("core bursts", tests, NULL, NULL);
}
