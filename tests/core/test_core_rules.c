// SPDX-License-Identifier: MIT
/*
 * What the core and the policies promise, one behaviour a test. stage.h is the vocabulary: actors
 * work and rest, after() lets time pass, and runs() and stopped() are what their agents did.
 */
#include "../unit/test.h"

#include <stdlib.h>

#include "stage.h"

#define OFFLINE .prio = GP__PRIO_OFFLINE
#define NORMAL .prio = GP__PRIO_NORMAL
#define ONLINE .prio = GP__PRIO_ONLINE

#define NO_AGEING ((const u64[]){ 0, 1, 100 })

#define assert_why(a, r, who)                                                         \
	do {                                                                          \
		assert_string_equal(gp__rule_name((enum gp__rule)(a)->last.why.rule), \
				    gp__rule_name(r));                                \
		assert_int_equal((a)->last.why.by, who);                              \
	} while (0)

/* Strict priority without ageing: what guarantees and limits are tested against. */
static void begin_strict(void)
{
	begin(&gp__policy_hpf);
	policy(&gp__policy_hpf, NO_AGEING);
}

static bool near(u64 got, u64 want, u64 tolerance)
{
	return got + tolerance >= want && got <= want + tolerance;
}

/*
 * hpf
 */

static void test_hpf_stops_the_less_urgent(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin(&gp__policy_hpf);
	off = actor(OFFLINE);
	on = actor(ONLINE);
	work(off);
	assert_true(runs(off));
	work(on);
	assert_true(runs(on) && stopped(off));
	assert_why(off, GP__RULE_PRIORITY, on->e.id);
	rest(on);
	assert_true(runs(off));
	assert_why(off, GP__RULE_CHOSEN, 0);
}

static void test_hpf_stops_who_comes_later(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin(&gp__policy_hpf);
	on = actor(ONLINE);
	off = actor(OFFLINE);
	work(on);
	work(off);
	assert_true(runs(on) && stopped(off));
	assert_why(off, GP__RULE_PRIORITY, on->e.id);
}

static void test_hpf_equals_run_together(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_hpf);
	a = actor(NORMAL);
	b = actor(NORMAL);
	work(a);
	work(b);
	after(GP__S);
	assert_true(runs(a) && runs(b));
	assert_int_equal(S.nr_orders, 0);
	assert_true(near(gp__entity_used(&a->e, S.now), GP__S / 2, GP__US));
}

static void test_hpf_follows_a_changed_priority(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_hpf);
	a = actor(OFFLINE);
	b = actor(NORMAL);
	work(a);
	work(b);
	hint(a, ONLINE);
	assert_true(runs(a) && stopped(b));
	hint(a, NORMAL);
	assert_true(runs(a) && runs(b));
}

static void test_hpf_ages_at_the_exact_time_for_one_grant(void **state)
{
	struct actor *w, *on;

	(void)state;
	begin(&gp__policy_hpf);
	w = actor(.prio = GP__PRIO_ONLINE - 2);
	on = actor(ONLINE);
	work(w);
	work(on);
	after(1000 * GP__MS - 1);
	assert_true(stopped(w));
	assert_int_equal(gp__entity_effective(&w->e, S.now), GP__PRIO_ONLINE - 1);
	after(1);
	assert_true(runs(w) && runs(on));
	assert_why(w, GP__RULE_AGEING, on->e.id);
	after(10 * GP__MS - 1);
	assert_true(runs(w));
	after(1);
	assert_true(stopped(w));
	assert_int_equal(gp__entity_effective(&w->e, S.now), GP__PRIO_ONLINE - 2);
	after(1000 * GP__MS);
	assert_true(runs(w));
}

static void test_hpf_without_ageing_waits_for_ever(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_strict();
	off = actor(OFFLINE);
	on = actor(ONLINE);
	work(off);
	work(on);
	after(3600 * GP__S);
	assert_true(stopped(off));
	assert_int_equal(off->nr_starts, 0);
}

/*
 * edf
 */

static void test_edf_runs_the_earliest_deadline(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_edf);
	a = actor(.deadline_ns = 20 * GP__MS);
	b = actor(.deadline_ns = 10 * GP__MS);
	work(a);
	after(GP__MS);
	work(b);
	assert_true(runs(b) && stopped(a));
	assert_why(a, GP__RULE_DEADLINE, b->e.id);
	rest(b);
	assert_true(runs(a));
}

static void test_edf_a_job_may_name_its_deadline(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_edf);
	a = actor(.deadline_ns = 20 * GP__MS);
	b = actor(.deadline_ns = 10 * GP__MS);
	work(a);
	work(b);
	gp__entity_deadline(&a->e, S.now + GP__MS, S.now);
	take_orders();
	assert_true(runs(a) && stopped(b));
	gp__entity_deadline(&a->e, 0, S.now);
	take_orders();
	assert_true(runs(b) && stopped(a));
}

static void test_edf_tells_deadlines_apart_as_long_as_clocks_go(void **state)
{
	struct actor *a, *b, *c;

	(void)state;
	begin(&gp__policy_edf);
	S.now = GP__TIME_END - GP__S;
	work(c = actor(.prio = GP__PRIO_LIMIT));
	work(b = actor(.prio = -GP__PRIO_LIMIT, .deadline_ns = 20 * GP__MS));
	work(a = actor(.deadline_ns = 10 * GP__MS));
	assert_true(runs(a) && stopped(b) && stopped(c));
	rest(a);
	assert_true(runs(b) && stopped(c));
}

static void test_edf_a_late_job_yields(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_edf);
	a = actor(.deadline_ns = 10 * GP__MS);
	b = actor(.deadline_ns = 20 * GP__MS);
	work(a);
	work(b);
	after(10 * GP__MS - 1);
	assert_true(runs(a) && stopped(b));
	after(1);
	assert_true(runs(b) && stopped(a));
	rest(a);
	work(a);
	assert_true(stopped(a)); /* a new job: due after b's */
	rest(b);
	assert_true(runs(a));
}

static void test_edf_a_late_job_may_keep_its_place(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_edf);
	policy(&gp__policy_edf, (const u64[]){ 0 });
	a = actor(.deadline_ns = 10 * GP__MS);
	b = actor(.deadline_ns = 20 * GP__MS);
	work(a);
	work(b);
	after(15 * GP__MS);
	assert_true(runs(a) && stopped(b));
}

static void test_edf_a_deadline_may_be_named_before_the_job_is_there(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_edf);
	a = actor(.deadline_ns = 20 * GP__MS);
	b = actor(.deadline_ns = 10 * GP__MS);
	gp__entity_deadline(&a->e, S.now + 5 * GP__MS, S.now);
	work(b);
	work(a);
	after(GP__MS);
	assert_true(runs(a) && stopped(b));
	/* It was for that job: the next one has the program's own again. */
	rest(a);
	after(GP__MS);
	work(a);
	after(GP__MS);
	assert_true(runs(b) && stopped(a));
}

static void test_edf_every_job_has_a_deadline_of_its_own(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_edf);
	config(GP__CFG_LINGER_US, 1000);
	a = actor(.deadline_ns = 10 * GP__MS);
	b = actor(.deadline_ns = 12 * GP__MS);
	work(a);
	work(b);
	after(9 * GP__MS);
	assert_true(runs(a) && stopped(b));
	/* The next job comes before the gap counts as one, and is due later than b's. */
	rest(a);
	work(a);
	after(GP__US * 500);
	assert_true(runs(b) && stopped(a));
}

static void test_announced_work_may_come_on_another_queue(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_hpf);
	config(GP__CFG_ARRIVE_GRACE_MS, 1000);
	second_queue(a = actor(ONLINE));
	work(b = actor(OFFLINE));
	work(a);
	arriving(a, S.now + GP__MS);
	gp__queue_ready(&a->hand[1].q, 1, S.now);
	take_orders();
	after(GP__MS);
	assert_true(stopped(b));
	gp__queue_idle(&a->hand[1].q, S.now);
	rest(a);
	after(GP__MS);
	assert_true(runs(b));
}

static void test_gangs_are_tried_in_the_order_their_priorities_have_now(void **state)
{
	struct actor *a, *b, *online;

	(void)state;
	begin(&gp__policy_hpf);
	online = actor(ONLINE);
	a = actor(.prio = 3);
	b = actor(.prio = 2);
	tie(&S.gang[0], a, actor_on(1, .prio = 3));
	tie(&S.gang[1], b, actor_on(1, .prio = 2));
	work(online);
	work(a);
	work(b);
	after(GP__MS);
	hint(b, .prio = 5);
	rest(online);
	after(GP__MS);
	assert_true(runs(b) && stopped(a));
	assert_ptr_equal(S.core.gangs.next, &S.gang[1].link);
	/* What is left of it when its first member is gone has the priority of the next. */
	leave(b);
	assert_ptr_equal(S.core.gangs.next, &S.gang[0].link);
}

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

static void test_edf_background_runs_together_when_no_deadline_waits(void **state)
{
	struct actor *a, *b, *urgent;

	(void)state;
	begin(&gp__policy_edf);
	a = actor(NORMAL);
	b = actor(NORMAL);
	urgent = actor(.deadline_ns = GP__MS);
	work(a);
	work(b);
	assert_true(runs(a) && runs(b));
	work(urgent);
	assert_true(runs(urgent) && stopped(a) && stopped(b));
	rest(urgent);
	assert_true(runs(a) && runs(b));
}

/*
 * Turns: fair, share, drf
 */

static void test_fair_divides_by_weight(void **state)
{
	u64 start;
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_fair);
	start = S.now;
	a = actor(.weight = 300);
	b = actor(.weight = 100);
	work(a);
	work(b);
	after(4 * GP__S);
	assert_true(near(permille(a, 0, start), 750, 10));
	assert_true(near(permille(b, 0, start), 250, 10));
	assert_why(a, GP__RULE_CHOSEN, 0);
}

static void test_fair_turns_last_a_quantum(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_fair);
	a = actor(NORMAL);
	b = actor(NORMAL);
	work(a);
	work(b);
	after(10 * GP__MS - 1);
	assert_true(runs(a) && stopped(b));
	after(1);
	assert_true(runs(b) && stopped(a));
	assert_why(a, GP__RULE_SLICE, b->e.id);
	after(10 * GP__MS);
	assert_true(runs(a) && stopped(b));
}

static void test_fair_width_is_how_many_run_at_once(void **state)
{
	struct actor *a[3];
	u64 start;
	int i, n;

	(void)state;
	begin(&gp__policy_fair);
	policy(&gp__policy_fair, (const u64[]){ 10, 2 });
	start = S.now;
	for (i = 0; i < 3; i++)
		work(a[i] = actor(NORMAL));
	for (n = 0; n < 50; n++) {
		after(7 * GP__MS);
		assert_int_equal(runs(a[0]) + runs(a[1]) + runs(a[2]), 2);
	}
	after(3 * GP__S);
	for (i = 0; i < 3; i++)
		assert_true(near(permille(a[i], 0, start), 333, 10));
}

/* Whoever was away gains one turn at most: ten seconds alone are not paid back to the newcomer. */
static void test_fair_a_newcomer_gains_at_most_one_turn(void **state)
{
	struct actor *old, *new;
	u64 before, start;

	(void)state;
	begin(&gp__policy_fair);
	old = actor(NORMAL);
	new = actor(NORMAL);
	work(old);
	after(10 * GP__S);
	before = gp__entity_used(&old->e, S.now);
	start = S.now;
	work(new);
	after(100 * GP__MS);
	assert_true(near(permille(old, before, start), 500, 110));
	after(900 * GP__MS);
	assert_true(near(permille(old, before, start), 500, 15));
}

static void test_fair_a_sleeper_gains_at_most_one_turn(void **state)
{
	struct actor *a, *b, *sleeper;
	u64 before, start;

	(void)state;
	begin(&gp__policy_fair);
	work(sleeper = actor(NORMAL));
	work(a = actor(NORMAL));
	work(b = actor(NORMAL));
	after(GP__S);
	rest(sleeper);
	after(10 * GP__S);
	before = gp__entity_used(&sleeper->e, S.now);
	start = S.now;
	work(sleeper);
	after(GP__S);
	assert_true(near(permille(sleeper, before, start), 333, 20));
	assert_true(runs(a) || runs(b) || runs(sleeper));
}

/* Says something every millisecond, which the policy has to look at each time. */
static void talk(struct actor *a, int times)
{
	while (times--) {
		after(GP__MS);
		gp__entity_deadline(&a->e, S.now + GP__MS, S.now);
		take_orders();
	}
}

static void test_fair_talking_neither_prolongs_a_turn_nor_ends_it(void **state)
{
	struct actor *a, *b;
	u64 start;

	(void)state;
	begin(&gp__policy_fair);
	start = S.now;
	work(a = actor(NORMAL));
	work(b = actor(NORMAL));
	talk(a, 9);
	assert_true(runs(a) && stopped(b));
	talk(a, 1);
	assert_true(stopped(a) && runs(b));
	talk(a, 990);
	assert_true(near(permille(b, 0, start), 500, 15));
}

static void share_of_three(u32 x, u32 y, u32 z, const u64 want[3])
{
	struct actor *a[3];
	u64 start;
	int i;

	begin(&gp__policy_share);
	start = S.now;
	work(a[0] = actor(.share_pct = x));
	work(a[1] = actor(.share_pct = y));
	work(a[2] = actor(.share_pct = z));
	after(5 * GP__S);
	for (i = 0; i < 3; i++)
		assert_true(near(permille(a[i], 0, start), want[i], 10));
}

static void test_share_gives_percentages(void **state)
{
	(void)state;
	share_of_three(50, 30, 20, (const u64[]){ 500, 300, 200 });
}

static void test_share_scales_down_what_is_too_much(void **state)
{
	(void)state;
	share_of_three(100, 100, 50, (const u64[]){ 400, 400, 200 });
}

static void test_share_divides_what_is_left_among_those_that_did_not_ask(void **state)
{
	(void)state;
	share_of_three(60, 0, 0, (const u64[]){ 600, 200, 200 });
}

static void test_share_leaves_a_percent_where_nothing_is_left(void **state)
{
	(void)state;
	share_of_three(99, 1, 0, (const u64[]){ 980, 10, 10 });
}

static void test_share_unused_goes_to_the_others(void **state)
{
	struct actor *a;
	u64 start;

	(void)state;
	begin(&gp__policy_share);
	start = S.now;
	actor(.share_pct = 90);
	work(a = actor(.share_pct = 10));
	after(GP__S);
	assert_int_equal(permille(a, 0, start), 1000);
}

static u32 weight_of(const struct actor *a)
{
	return a->hand[0].q.weight;
}

static void test_hpf_by_weight_runs_one_beside(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	work(off = actor(OFFLINE));
	assert_int_equal(weight_of(off), 0);
	/* It counts that somebody urgent is there, not that it has work. */
	on = actor(ONLINE);
	assert_int_equal(weight_of(off), GP__WEIGHT_LEAST);
	assert_int_equal(weight_of(on), GP__WEIGHT_MOST);
	work(on);
	after(GP__S);
	assert_true(runs(off) && runs(on));
	rest(on);
	work(on);
	assert_int_equal(off->nr_weighs, 1);
	assert_int_equal(off->e.nr_holds, 0);
	leave(on);
	assert_int_equal(weight_of(off), 0);
	assert_true(runs(off));
}

static void test_hpf_by_weight_the_patient_take_turns(void **state)
{
	struct actor *a, *b, *on;
	u64 start;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	work(a = actor(OFFLINE));
	work(b = actor(OFFLINE));
	assert_true(runs(a) && runs(b));
	work(on = actor(ONLINE));
	start = S.now;
	assert_int_equal(runs(a) + runs(b), 1);
	after(150 * GP__MS);
	assert_why(runs(a) ? b : a, GP__RULE_SLICE, (runs(a) ? a : b)->e.id);
	for (int i = 0; i < 100; i++) {
		after(20 * GP__MS);
		assert_true(runs(on));
		assert_int_equal(runs(a) + runs(b), 1);
	}
	/* Turns of 100 ms for two seconds. */
	assert_true(a->e.nr_holds + b->e.nr_holds <= 22);
	assert_true(a->e.nr_holds >= 8 && b->e.nr_holds >= 8);
	assert_true(S.now > start);
	rest(on);
	assert_int_equal(runs(a) + runs(b), 1);
	leave(on);
	assert_true(runs(a) && runs(b));
	assert_int_equal(weight_of(a) + weight_of(b), 0);
}

static void test_hpf_by_weight_three_priorities(void **state)
{
	struct actor *off, *mid, *on;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	policy(&gp__policy_hpf, NO_AGEING);
	work(off = actor(OFFLINE));
	work(on = actor(ONLINE));
	work(mid = actor(NORMAL));
	assert_true(runs(on) && runs(mid) && stopped(off));
	assert_why(off, GP__RULE_PRIORITY, mid->e.id);
	after(10 * GP__S);
	assert_true(runs(on) && runs(mid) && stopped(off));
	rest(mid);
	assert_true(runs(on) && runs(off));
	/* Equals at the top share as the hardware lets them. */
	work(actor(ONLINE));
	assert_int_equal(weight_of(on), 0);
}

static void test_hpf_by_weight_announced_work_has_the_device(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	config(GP__CFG_ARRIVE_GRACE_MS, 10);
	work(off = actor(OFFLINE));
	work(on = actor(ONLINE));
	assert_true(runs(off));
	arriving(on, S.now);
	assert_true(stopped(off));
	assert_why(off, GP__RULE_PRIORITY, on->e.id);
	after(20 * GP__MS); /* it has work, so it was not in vain */
	assert_true(stopped(off));
	arriving(on, 0);
	assert_true(runs(off) && runs(on));
	arriving(on, S.now);
	assert_true(stopped(off));
	rest(on);
	assert_true(runs(off));
	/* What does not come is not waited for. */
	arriving(on, S.now);
	assert_true(stopped(off));
	after(20 * GP__MS);
	assert_true(runs(off));
}

static void test_hpf_by_weight_a_grant_is_no_tug_of_war(void **state)
{
	struct actor *off, *mid;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	policy(&gp__policy_hpf, NO_AGEING);
	config(GP__CFG_MAX_HOLD_MS, 500);
	config(GP__CFG_GRANT_MS, 50);
	work(off = actor(OFFLINE));
	work(actor(ONLINE));
	work(mid = actor(NORMAL));
	assert_true(stopped(off));
	after(510 * GP__MS);
	assert_true(runs(off) && runs(mid));
	assert_int_equal(weight_of(off), 0);
	assert_int_equal(weight_of(mid), GP__WEIGHT_LEAST);
}

static void test_hpf_by_weight_the_suspended_are_not_there(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	suspend(on);
	assert_int_equal(weight_of(off), 0);
	resume(on);
	assert_int_equal(weight_of(off), GP__WEIGHT_LEAST);
	hint(on, OFFLINE);
	assert_int_equal(weight_of(off), 0);
}

static void test_hpf_by_weight_is_a_parameter(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	policy(&gp__policy_hpf, (const u64[]){ 500, 0, 100 });
	work(off = actor(OFFLINE));
	work(on = actor(ONLINE));
	assert_true(runs(on) && stopped(off));
	assert_int_equal(weight_of(on), 0);
}

/* Who is stopped is weighed when it runs again. */
static void test_a_stopped_one_is_not_weighed(void **state)
{
	struct actor *a, *b, *on;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	work(a = actor(OFFLINE));
	suspend(a);
	b = actor(OFFLINE);
	on = actor(ONLINE);
	assert_int_equal(weight_of(b), GP__WEIGHT_LEAST);
	assert_int_equal(a->nr_weighs, 0);
	assert_int_equal(a->last.verb, GP__VERB_EXCLUDE);
	resume(a);
	assert_int_equal(weight_of(a), GP__WEIGHT_LEAST);
	leave(on);
	assert_int_equal(weight_of(a), 0);
}

static void test_share_by_weight_lets_all_run_weighed(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin_weighing(&gp__policy_share);
	a = actor(.share_pct = 70);
	b = actor(.share_pct = 30);
	work(a);
	work(b);
	assert_int_equal(a->nr_weighs, 0);
	policy(&gp__policy_share, (const u64[]){ 10, 1, 1 });
	after(GP__S);
	assert_true(runs(a) && runs(b));
	assert_int_equal(a->last.verb, GP__VERB_WEIGH);
	assert_int_equal(a->last.weight, 70);
	assert_why(a, GP__RULE_WEIGHT, 0);
	assert_int_equal(a->nr_weighs, 1);
	assert_int_equal(a->hand[0].q.weight, 70);
	policy(&gp__policy_hpf, NULL);
	assert_int_equal(a->hand[0].q.weight, 0);
}

static void test_share_by_weight_follows_who_comes_and_goes(void **state)
{
	struct actor *a, *b, *c;

	(void)state;
	begin_weighing(&gp__policy_share);
	policy(&gp__policy_share, (const u64[]){ 10, 1, 1 });
	a = actor(0);
	assert_int_equal(a->hand[0].q.weight, 100);
	b = actor(0);
	assert_int_equal(a->hand[0].q.weight, 50);
	assert_int_equal(b->hand[0].q.weight, 50);
	c = actor(.share_pct = 60);
	assert_int_equal(a->hand[0].q.weight, 20);
	hint(b, .share_pct = 60);
	assert_int_equal(b->hand[0].q.weight, 50);
	assert_int_equal(c->hand[0].q.weight, 50);
	leave(c);
	assert_int_equal(a->hand[0].q.weight, 40);
	assert_int_equal(b->hand[0].q.weight, 60);
}

static void test_share_by_weight_takes_turns_where_the_device_cannot(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_share);
	policy(&gp__policy_share, (const u64[]){ 10, 1, 1 });
	a = actor_on(1, .share_pct = 70);
	b = actor_on(1, .share_pct = 30);
	work(a);
	work(b);
	assert_int_equal(runs(a) + runs(b), 1);
	assert_int_equal(a->nr_weighs + b->nr_weighs, 0);
}

static void test_share_survives_absurd_oversubscription(void **state)
{
	enum { N = 1200 };
	struct gp__entity *crowd = calloc(N, sizeof(*crowd));
	struct gp__hints greedy = { .share_pct = 100 };
	struct actor *a, *b;
	u32 i;

	(void)state;
	begin(&gp__policy_share);
	for (i = 0; i < N; i++)
		gp__entity_add(&S.dev[0], &crowd[i], 1000 + i, 1, GP__CLASS_OTHER, "", &greedy,
			       S.now);
	work(a = actor(.share_pct = 1));
	work(b = actor(.share_pct = 1));
	after(GP__S);
	assert_true(near(permille(a, 0, S.now - GP__S), 500, 20));
	for (i = 0; i < N; i++)
		gp__entity_remove(&crowd[i], S.now);
	free(crowd);
}

static void test_drf_whoever_fills_the_memory_yields_time(void **state)
{
	struct actor *hog, *small;
	u64 start;

	(void)state;
	begin(&gp__policy_drf);
	start = S.now;
	work(hog = actor(.memory = (u64)1 << 35)); /* half the device */
	work(small = actor(.memory = (u64)1 << 30));
	after(10 * GP__S);
	/* small's time share rises to hog's memory share, and there they balance. */
	assert_true(permille(small, 0, start) > 480);
	leave(small);
	work(small = actor(.memory = (u64)1 << 30));
	work(actor(.memory = (u64)1 << 30));
	work(actor(.memory = (u64)1 << 30));
	start = S.now;
	after(GP__S);
	assert_true(stopped(hog));
}

static void test_drf_is_fair_where_memory_is_not_contended(void **state)
{
	struct actor *a, *b;
	u64 start;

	(void)state;
	begin(&gp__policy_drf);
	start = S.now;
	work(a = actor(NORMAL));
	work(b = actor(NORMAL));
	after(10 * GP__S);
	assert_true(near(permille(a, 0, start), 500, 20));
	assert_true(near(permille(b, 0, start), 500, 20));
}

static u64 recent_ms(struct actor *a, u64 ns)
{
	u64 end = S.now + ns;

	while (S.now < end) {
		after(GP__MS);
		gp__entity_deadline(&a->e, 0, S.now);
	}
	return a->e.recent / GP__MS;
}

/* Half of it is there after one half-life of running, however often that was noted down. */
static void test_drf_time_counts_by_its_half_life(void **state)
{
	struct actor *a;

	(void)state;
	begin(&gp__policy_drf);
	work(a = actor(NORMAL));
	/* Looked at just after a step, where it is lowest: up to 8 % below. */
	assert_true(near(recent_ms(a, GP__S), 1443 / 2, 45));
	assert_true(near(recent_ms(a, 10 * GP__S), 1443, 130));
	rest(a);
	assert_true(near(recent_ms(a, GP__S), 1443 / 2, 70));
}

/* What was used long ago is forgotten while one waits, not only when one runs. */
static void test_drf_use_fades_while_waiting(void **state)
{
	struct actor *hog, *user;

	(void)state;
	begin(&gp__policy_drf);
	work(user = actor(NORMAL));
	after(10 * GP__S);
	work(hog = actor(.memory = ((u64)1 << 36) / 10 * 4));
	after(500 * GP__MS);
	assert_true(stopped(user) && runs(hog));
	after(1000 * GP__MS);
	assert_true(user->nr_starts > 0);
}

static void test_drf_an_hour_alone_is_not_held_against_it(void **state)
{
	struct actor *old, *new;
	u64 before, start;

	(void)state;
	begin(&gp__policy_drf);
	work(old = actor(NORMAL));
	after(3600 * GP__S);
	before = gp__entity_used(&old->e, S.now);
	start = S.now;
	work(new = actor(NORMAL));
	after(10 * GP__S);
	assert_true(permille(old, before, start) > 350);
	assert_true(permille(new, 0, start) > 350);
}

/* Neither gets ahead of the other: their turns alternate all the same. */
static void test_drf_equal_memory_takes_turns(void **state)
{
	struct actor *a, *b;
	u64 start;

	(void)state;
	begin(&gp__policy_drf);
	start = S.now;
	work(a = actor(.memory = (u64)1 << 36));
	work(b = actor(.memory = (u64)1 << 36));
	after(GP__S);
	assert_true(near(permille(a, 0, start), 500, 15));
	assert_true(near(permille(b, 0, start), 500, 15));
}

static void test_drf_no_claim_of_memory_wraps_round(void **state)
{
	struct actor *liar, *honest;

	(void)state;
	begin(&gp__policy_drf);
	work(liar = actor(.memory = ~(u64)0, .weight = 1));
	work(honest = actor(.memory = (u64)1 << 30));
	after(GP__S);
	assert_true(runs(honest) && stopped(liar));
}

static void test_none_stops_nobody(void **state)
{
	(void)state;
	begin(&gp__policy_none);
	work(actor(OFFLINE));
	work(actor(ONLINE));
	work(actor(.deadline_ns = 1));
	after(10 * GP__S);
	assert_int_equal(S.nr_orders, 0);
}

/*
 * Guarantees
 */

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

/* Nobody asked: together they get half at most, however many they are. */
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

/*
 * Limits
 */

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

static void test_switch_rate_starts_whoever_displaces_nobody(void **state)
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

static void test_switch_rate_what_one_event_stops_costs_one(void **state)
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

/* What it got while it could not be stopped counts, also for its place among those waiting. */
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

static void test_linger_only_where_somebody_waits(void **state)
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

/* The core learns how long a stop takes (here 100 us) and makes room twice as early. */
static void test_arriving_makes_room_ahead_and_expires(void **state)
{
	struct actor *on, *off;

	(void)state;
	begin_strict();
	S.answer_ns = 100 * GP__US;
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	work(on);
	after(GP__MS);
	rest(on);
	after(GP__MS);
	assert_true(runs(off));
	arriving(on, S.now + 10 * GP__MS);
	after(10 * GP__MS - 200 * GP__US - 1);
	assert_int_equal(off->nr_stops, 1);
	after(1);
	assert_int_equal(off->nr_stops, 2);
	assert_why(off, GP__RULE_PRIORITY, on->e.id);
	after(200 * GP__US + 10 * GP__MS - 1);
	assert_true(stopped(off));
	after(1 + 100 * GP__US);
	assert_true(runs(off));
}

static void test_arriving_work_that_comes_is_no_longer_waited_for(void **state)
{
	struct actor *on, *off;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	arriving(on, S.now);
	assert_true(stopped(off));
	after(GP__MS);
	work(on);
	after(20 * GP__MS);
	assert_true(stopped(off));
	rest(on);
	assert_true(runs(off));
}

/* The first who announces finds room as well, though nobody knows how long making it takes. */
static void test_arriving_is_prepared_where_nobody_was_stopped_before(void **state)
{
	struct actor *on, *off;

	(void)state;
	begin_strict();
	S.answer_ns = GP__MS;
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	arriving(on, S.now + 5 * GP__MS);
	after(2 * GP__MS);
	assert_true(runs(off));
	after(2 * GP__MS);
	assert_true(stopped(off));
}

static void test_arriving_work_that_is_over_is_not_waited_for(void **state)
{
	struct actor *on, *off;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	arriving(on, S.now);
	assert_true(stopped(off));
	arriving(on, 0);
	assert_true(runs(off));
	/* One that was not made room for yet, too; and nobody is doubted for saying so. */
	arriving(on, S.now + GP__S);
	arriving(on, 0);
	after(2 * GP__S);
	assert_int_equal(off->nr_stops, 1);
	arriving(on, S.now);
	assert_true(stopped(off));
}

static void test_arriving_ends_a_gap_in_the_work_when_it_is_over(void **state)
{
	struct actor *on, *off;

	(void)state;
	begin_strict();
	config(GP__CFG_LINGER_US, 1000);
	work(off = actor(OFFLINE));
	work(on = actor(ONLINE));
	rest(on);
	assert_true(stopped(off));
	arriving(on, 0);
	assert_true(runs(off));
}

static void test_arriving_said_again_does_not_prolong_it(void **state)
{
	struct actor *on, *off;
	int i;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	for (i = 0; i < 9; i++) {
		arriving(on, S.now);
		after(GP__MS);
		assert_true(stopped(off));
	}
	arriving(on, S.now);
	after(GP__MS);
	assert_true(runs(off));
}

/* Who cries wolf keeps others off the device for half of the time at most. */
static void test_arriving_in_vain_is_not_believed_again_at_once(void **state)
{
	struct actor *on, *off;
	u64 held = 0;
	int i;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	for (i = 0; i < 1000; i++) {
		arriving(on, S.now);
		held += stopped(off);
		after(GP__MS);
	}
	assert_in_range(held, 300, 500);
	/* Work that comes makes up for it. */
	arriving(on, S.now);
	while (stopped(off))
		after(GP__MS);
	work(on);
	rest(on);
	arriving(on, S.now);
	assert_true(stopped(off));
}

/* A time no clock shows must not hide the timers of others. */
static void test_arriving_is_not_prepared_by_an_answer_that_came_too_late(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	off->manner = SILENT;
	work(on = actor(ONLINE));
	after(100 * GP__S);
	answer(off, 0);
	rest(on);
	assert_true(runs(off));
	arriving(on, S.now + 50 * GP__S);
	after(49 * GP__S);
	assert_true(runs(off));
}

static void test_arriving_while_busy_is_not_waited_for_afterwards(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	work(on = actor(ONLINE));
	arriving(on, S.now + GP__MS);
	after(2 * GP__MS);
	/* It was at work when the announced work came, and has done that, too. */
	rest(on);
	assert_true(runs(off));
	/* But what is announced for later is. */
	work(on);
	arriving(on, S.now + 3 * GP__MS);
	after(3 * GP__MS - 1);
	rest(on);
	assert_true(runs(off));
	after(1);
	assert_true(stopped(off));
}

static void test_arriving_under_edf_is_as_urgent_as_the_job_will_be(void **state)
{
	struct actor *a, *b;
	int i;

	(void)state;
	begin(&gp__policy_edf);
	a = actor(OFFLINE, .deadline_ns = 10 * GP__MS);
	work(b = actor(ONLINE));
	/* The first job, and one long after the deadline of the one before. */
	for (i = 0; i < 2; i++) {
		arriving(a, S.now);
		assert_true(stopped(b));
		after(GP__MS);
		work(a);
		assert_true(stopped(b) && runs(a));
		after(9 * GP__MS);
		assert_true(stopped(b));
		rest(a);
		assert_true(runs(b));
		after(GP__S);
	}
}

static void test_arriving_at_the_end_of_time_disturbs_nobody(void **state)
{
	struct actor *off;

	(void)state;
	begin_strict();
	config(GP__CFG_MAX_HOLD_MS, 100);
	arriving(actor(NORMAL), GP__NEVER - 1);
	work(actor(ONLINE));
	work(off = actor(OFFLINE));
	after(100 * GP__MS);
	assert_true(runs(off));
}

static void test_deadline_at_the_end_of_time_disturbs_nobody(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_edf);
	config(GP__CFG_MAX_HOLD_MS, 100);
	work(a = actor_on(1, NORMAL));
	work(actor_on(1, NORMAL));
	gp__entity_deadline(&a->e, GP__NEVER - 1, S.now);
	take_orders();
	work(actor(.deadline_ns = 10 * GP__MS));
	work(b = actor(.deadline_ns = 20 * GP__MS));
	after(10 * GP__MS);
	assert_true(runs(b));
}

/*
 * The operator
 */

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

static void test_operator_stops_even_those_without_work(void **state)
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

/* Guarantees count from the moment the operator lets go. */
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

static void test_operator_resuming_who_is_not_suspended_delays_no_guarantee(void **state)
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

/*
 * Gangs
 */

struct gang_scene {
	struct actor *rank0, *rank1, *rival1;
};

/* A gang on both devices that the rival on the second one keeps from running. */
static struct gang_scene begin_gang(void)
{
	struct gang_scene g;

	begin_strict();
	g.rank0 = actor_on(0, NORMAL);
	g.rank1 = actor_on(1, NORMAL);
	g.rival1 = actor_on(1, ONLINE);
	tie(&S.gang[0], g.rank0, g.rank1);
	work(g.rank0);
	work(g.rank1);
	assert_true(runs(g.rank0) && runs(g.rank1));
	work(g.rival1);
	return g;
}

static void test_gang_runs_together_or_not_at_all(void **state)
{
	struct gang_scene g = begin_gang();

	(void)state;
	assert_true(stopped(g.rank0) && stopped(g.rank1));
	assert_why(g.rank0, GP__RULE_GANG, 0);
	rest(g.rival1);
	assert_true(runs(g.rank0) && runs(g.rank1));
}

static void test_gang_leaves_its_devices_to_others_meanwhile(void **state)
{
	struct gang_scene g = begin_gang();
	struct actor *filler = actor_on(0, OFFLINE);

	(void)state;
	work(filler);
	assert_true(runs(filler) && stopped(g.rank0));
	rest(g.rival1);
	assert_true(stopped(filler) && runs(g.rank0) && runs(g.rank1));
}

/* The gang is next: whoever would have had the device for no time at all is not started for it. */
static void test_gang_that_comes_next_disturbs_nobody_who_waits(void **state)
{
	struct actor *a, *b, *off, *on;

	(void)state;
	begin_strict();
	config(GP__CFG_MAX_HOLD_MS, 1000);
	a = actor_on(0, NORMAL);
	b = actor_on(1, NORMAL);
	tie(&S.gang[0], a, b);
	work(off = actor_on(0, OFFLINE));
	work(on = actor_on(0, ONLINE));
	work(a);
	work(b);
	after(600 * GP__MS);
	rest(on);
	assert_true(runs(a) && runs(b) && stopped(off));
	assert_int_equal(off->nr_starts, 0);
	assert_int_equal(off->e.nr_holds, 1);
	/* And it has waited all the time. */
	after(400 * GP__MS);
	assert_true(runs(off));
	assert_int_equal(off->e.longest_hold, GP__S);
}

static void test_gang_member_without_work_does_not_stand_in_the_way(void **state)
{
	struct gang_scene g = begin_gang();

	(void)state;
	rest(g.rank1);
	assert_true(runs(g.rank0));
	work(g.rank1);
	assert_true(stopped(g.rank0) && stopped(g.rank1));
}

static void test_gang_member_without_work_is_owed_nothing(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin_strict();
	a = actor_on(0, OFFLINE);
	b = actor_on(1, OFFLINE, .max_hold_ns = 50 * GP__MS);
	tie(&S.gang[0], a, b);
	work(a);
	work(actor_on(0, ONLINE));
	after(GP__S);
	assert_true(stopped(a) && stopped(b));
	assert_int_equal(a->nr_starts, 0);
	/* Its suspension begins with its work. */
	work(b);
	after(50 * GP__MS - 1);
	assert_true(stopped(a) && stopped(b));
	after(1);
	assert_true(runs(a) && runs(b));
	assert_int_equal(b->e.longest_hold, 50 * GP__MS);
}

static void test_gang_that_has_no_work_is_not_held(void **state)
{
	struct gang_scene g = begin_gang();

	(void)state;
	rest(g.rank0);
	rest(g.rank1);
	assert_true(runs(g.rank0) && runs(g.rank1));
}

static void test_gang_is_granted_together(void **state)
{
	struct gang_scene g;

	(void)state;
	g = begin_gang();
	after(500 * GP__MS);
	config(GP__CFG_MAX_HOLD_MS, 1000);
	after(500 * GP__MS - 1);
	assert_true(stopped(g.rank0) && stopped(g.rank1));
	after(1);
	assert_true(runs(g.rank0) && runs(g.rank1) && runs(g.rival1));
	assert_int_equal(g.rank1->last.why.rule, GP__RULE_MAX_HOLD);
	after(10 * GP__MS);
	assert_true(stopped(g.rank0) && stopped(g.rank1));
}

static void test_gang_is_suspended_as_one(void **state)
{
	struct gang_scene g = begin_gang();

	(void)state;
	config(GP__CFG_MAX_HOLD_MS, 100);
	rest(g.rival1);
	suspend(g.rank0);
	assert_true(stopped(g.rank0) && stopped(g.rank1));
	after(10 * GP__S);
	assert_true(stopped(g.rank0) && stopped(g.rank1));
	resume(g.rank0);
	assert_true(runs(g.rank0) && runs(g.rank1));
}

static void test_gang_goes_on_without_a_member_that_vanished(void **state)
{
	struct gang_scene g = begin_gang();

	(void)state;
	leave(g.rank1);
	assert_true(runs(g.rank0));
	leave(g.rank0);
	rest(g.rival1);
	assert_true(gp__core_wake(&S.core) == GP__NEVER);
}

static void test_gang_that_is_dissolved_frees_its_members(void **state)
{
	struct gang_scene g = begin_gang();

	(void)state;
	gp__gang_remove(&S.gang[0], S.now);
	take_orders();
	assert_true(runs(g.rank0) && stopped(g.rank1));
}

static void test_gang_has_one_member_a_device(void **state)
{
	struct gang_scene g = begin_gang();
	struct actor *a = actor_on(0, NORMAL);

	(void)state;
	assert_int_equal(gp__gang_join(&S.gang[0], &a->e, S.now), -EBUSY);
	assert_int_equal(gp__gang_join(&S.gang[1], &g.rank0->e, S.now), -EBUSY);
}

static void test_gang_of_two_that_exclude_each_other(void **state)
{
	struct actor *a[4];

	(void)state;
	begin_strict();
	a[0] = actor_on(0, NORMAL);
	a[1] = actor_on(1, NORMAL);
	a[2] = actor_on(0, ONLINE);
	a[3] = actor_on(1, ONLINE);
	tie(&S.gang[0], a[0], a[1]);
	tie(&S.gang[1], a[2], a[3]);
	work(a[0]);
	work(a[3]);
	work(a[1]);
	work(a[2]);
	assert_true(stopped(a[0]) && stopped(a[1]) && runs(a[2]) && runs(a[3]));
	rest(a[2]);
	rest(a[3]);
	assert_true(runs(a[0]) && runs(a[1]));
}

/* One device may not stop anybody yet: the other must not start its rank over and over. */
static void test_gang_waits_for_the_switch_rate_without_flapping(void **state)
{
	struct gang_scene g;
	struct actor *other;

	(void)state;
	g = begin_gang();
	other = actor_on(0, OFFLINE);
	config(GP__CFG_SWITCHES_PER_S, 1);
	config(GP__CFG_SWITCH_BURST, 1);
	hint(g.rank1, .prio = GP__PRIO_ONLINE + 1); /* spends the token */
	assert_true(runs(g.rank1) && stopped(g.rival1));
	hint(g.rank1, NORMAL);
	assert_true(stopped(g.rank0) && stopped(g.rank1));
	g.rank0->nr_starts = 0;
	hint(g.rank1, .prio = GP__PRIO_ONLINE + 1);
	work(other);
	rest(other);
	work(other);
	rest(other);
	assert_int_equal(g.rank0->nr_starts, 0);
	after(GP__S);
	assert_true(runs(g.rank0) && runs(g.rank1) && stopped(g.rival1));
}

/*
 * Orders and answers
 */

static void test_new_queue_of_a_held_entity_is_stopped(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	work(on = actor(ONLINE));
	second_queue(off);
	assert_true(off->hand[1].stopped);
	assert_why(off, GP__RULE_NEW_QUEUE, on->e.id);
	rest(on);
	assert_false(off->hand[0].stopped || off->hand[1].stopped);
}

static void test_an_order_overtaken_is_turned_round_when_answered(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	off->manner = SILENT;
	work(on = actor(ONLINE));
	assert_int_equal(gp__queue_state(&off->hand[0].q), GP__STATE_EXCLUDING);
	rest(on);
	work(on);
	rest(on);
	assert_int_equal(off->nr_stops, 1);
	assert_int_equal(off->nr_starts, 0);
	answer(off, 0);
	assert_int_equal(off->nr_starts, 1);
	assert_true(runs(off));
}

static void test_an_answer_nobody_asked_for_is_refused(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	assert_int_equal(gp__queue_ack(&off->hand[0].q, 0, S.now), -EINVAL);
	gp__queue_ready(&on->hand[0].q, 1, S.now);
	/* Decided, but nobody has been told yet. */
	assert_int_equal(gp__queue_ack(&off->hand[0].q, 0, S.now), -EINVAL);
	take_orders();
	assert_true(stopped(off));
	assert_int_equal(gp__queue_ack(&off->hand[0].q, 0, S.now), -EINVAL);
}

static void test_silence_makes_unresponsive_at_the_exact_time(void **state)
{
	struct actor *off;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	off->manner = SILENT;
	work(actor(ONLINE));
	after(2000 * GP__MS - 1);
	assert_int_equal(gp__entity_state(&off->e), GP__STATE_EXCLUDING);
	after(1);
	assert_int_equal(gp__entity_state(&off->e), GP__STATE_UNRESPONSIVE);
	assert_int_equal(S.reports[GP__WHAT_UNRESPONSIVE], 1);
	assert_int_equal(S.last_report.entity, off->e.id);
	after(60 * GP__S);
	assert_int_equal(S.reports[GP__WHAT_UNRESPONSIVE], 1);
	assert_int_equal(off->nr_stops, 1);
	assert_true(gp__core_wake(&S.core) == GP__NEVER);
}

static void test_a_late_answer_brings_it_back_into_the_plan(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	off->manner = SILENT;
	work(on = actor(ONLINE));
	after(10 * GP__S);
	answer(off, 0);
	assert_int_equal(S.reports[GP__WHAT_RECOVERED], 1);
	assert_true(stopped(off));
	assert_int_equal(gp__entity_state(&off->e), GP__STATE_EXCLUDED);
	rest(on);
	assert_true(runs(off));
}

static void test_a_failing_stop_is_tried_thrice_and_reported_once(void **state)
{
	struct actor *off;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	off->manner = FAILS_TO_STOP;
	work(actor(ONLINE));
	assert_int_equal(off->nr_stops, 1);
	after(10 * GP__MS - 1);
	assert_int_equal(off->nr_stops, 1);
	after(1);
	assert_int_equal(off->nr_stops, 2);
	assert_int_equal(off->last.why.rule, GP__RULE_RETRY);
	after(20 * GP__MS);
	assert_int_equal(off->nr_stops, 3);
	assert_int_equal(gp__entity_state(&off->e), GP__STATE_FAILED);
	after(60 * GP__S);
	assert_int_equal(off->nr_stops, 3);
	assert_int_equal(S.reports[GP__WHAT_FAILED], 1);
	assert_int_equal((int)S.reports[GP__WHAT_INVERSION], 1);
}

static void forgive_by_hint(struct actor *a)
{
	hint(a, OFFLINE);
}

static void forgive_by_level(struct actor *a)
{
	gp__queue_level(&a->hand[0].q, 1, S.now);
	take_orders();
}

static void forgive_by_policy(struct actor *a)
{
	(void)a;
	policy(&gp__policy_hpf, NO_AGEING);
}

static void test_a_change_gives_a_failed_one_another_chance(void **state)
{
	void (*const change[])(struct actor *) = { forgive_by_hint, forgive_by_level,
						   forgive_by_policy, suspend };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(change) / sizeof(change[0]); i++) {
		struct actor *off;

		begin_strict();
		work(off = actor(OFFLINE));
		off->manner = FAILS_TO_STOP;
		work(actor(ONLINE));
		after(GP__S);
		assert_int_equal(gp__entity_state(&off->e), GP__STATE_FAILED);
		off->manner = OBEYS;
		change[i](off);
		assert_int_equal(off->nr_stops, 4);
		assert_true(stopped(off));
	}
}

static void test_a_failing_start_is_tried_for_ever_and_more_slowly(void **state)
{
	struct actor *off, *on;
	u32 early, late;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	work(on = actor(ONLINE));
	off->manner = FAILS_TO_START;
	rest(on);
	after(150 * GP__MS - 1); /* 10 + 20 + 40 + 80 */
	assert_int_equal(off->nr_starts, 4);
	after(1);
	assert_int_equal(off->nr_starts, 5);
	after(10 * GP__S);
	early = off->nr_starts;
	after(1000 * GP__S);
	late = off->nr_starts;
	assert_int_equal(late - early, 1000);
	assert_int_equal(S.reports[GP__WHAT_FAILED], 1);
	off->manner = OBEYS;
	after(GP__S);
	assert_true(runs(off));
	assert_int_equal(gp__entity_state(&off->e), GP__STATE_ADMITTED);
}

static void forgive_by_operator(struct actor *a)
{
	resume(a);
}

/* What gives a failed stop another chance must not end the attempts to start. */
static void test_a_change_does_not_end_a_failing_start(void **state)
{
	static void (*const forgive[])(struct actor *) = { forgive_by_hint, forgive_by_level,
							   forgive_by_policy, forgive_by_operator };
	struct actor *off, *on;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(forgive) / sizeof(forgive[0]); i++) {
		begin_strict();
		work(off = actor(OFFLINE));
		work(on = actor(ONLINE));
		off->manner = FAILS_TO_START;
		rest(on);
		after(GP__S);
		assert_int_equal(gp__entity_state(&off->e), GP__STATE_FAILED);
		off->manner = OBEYS;
		forgive[i](off);
		assert_true(runs(off));
		assert_why(off, GP__RULE_RETRY, 0);
	}
}

/* Stop fails, the urgent one leaves and comes back before the retry: still one attempt at a time.
 */
static void test_reexcluded_in_quick_succession_while_stops_fail(void **state)
{
	struct actor *off, *on;
	int i;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	off->manner = FAILS_TO_STOP;
	on = actor(ONLINE);
	for (i = 0; i < 20; i++) {
		work(on);
		after(GP__US);
		rest(on);
		after(GP__US);
	}
	assert_int_equal(off->nr_stops, 1);
	work(on);
	off->manner = OBEYS;
	after(10 * GP__MS);
	assert_int_equal(off->nr_stops, 2);
	assert_true(stopped(off));
	rest(on);
	assert_true(runs(off));
	assert_true(gp__core_wake(&S.core) == GP__NEVER);
}

static void test_removed_with_its_order_still_in_the_outbox(void **state)
{
	struct actor *off, *on;
	struct gp__action a;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	gp__queue_ready(&on->hand[0].q, 1, S.now);
	leave(off);
	assert_false(gp__core_pop(&S.core, &a));
	rest(on);
	assert_true(gp__core_wake(&S.core) == GP__NEVER);
}

static void test_removed_while_an_answer_is_due(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	off->manner = SILENT;
	work(on = actor(ONLINE));
	leave(off);
	rest(on);
	after(10 * GP__S);
	assert_int_equal(S.reports[GP__WHAT_UNRESPONSIVE], 0);
	assert_true(gp__core_wake(&S.core) == GP__NEVER);
}

static void test_an_inversion_that_stays_is_reported_once(void **state)
{
	struct actor *off, *on;
	const struct gp__entity *waiting, *running;
	int i;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	off->manner = FAILS_TO_STOP;
	work(on = actor(ONLINE));
	after(GP__S);
	assert_true(gp__dev_inversion(&S.dev[0], &waiting, &running));
	assert_ptr_equal(waiting, &on->e);
	assert_ptr_equal(running, &off->e);
	for (i = 0; i < 100; i++) {
		rest(on);
		rest(off);
		work(on);
		work(off);
	}
	assert_int_equal(S.reports[GP__WHAT_INVERSION], 1);
	assert_int_equal(S.last_report.entity, off->e.id);
	assert_int_equal(S.last_report.f[GP__F_BY], on->e.id);
	rest(off);
	assert_false(gp__dev_inversion(&S.dev[0], &waiting, &running));
}

static void test_a_refused_weight_is_not_asked_for_again(void **state)
{
	struct actor *a;

	(void)state;
	begin_weighing(&gp__policy_share);
	a = actor(.share_pct = 70);
	a->manner = SILENT;
	policy(&gp__policy_share, (const u64[]){ 10, 1, 1 });
	answer(a, -EOPNOTSUPP);
	work(a);
	after(GP__S);
	assert_int_equal(a->nr_weighs, 1);
	assert_int_equal(gp__entity_state(&a->e), GP__STATE_ADMITTED);
	hint(a, .share_pct = 60);
	assert_int_equal(a->last.weight, 60);
}

/*
 * Time, state, and what is refused
 */

static void test_time_never_goes_backwards(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	after(GP__S);
	on = actor(ONLINE);
	gp__queue_ready(&on->hand[0].q, 1, S.now - 500 * GP__MS);
	take_orders();
	assert_true(off->last.time == S.now);
	assert_int_equal(gp__entity_used(&off->e, S.now), GP__S);
	assert_int_equal(gp__queue_run_ns(&off->hand[0].q, S.now), GP__S);
	assert_int_equal(gp__queue_held_ns(&off->hand[0].q, S.now - GP__S), 0);
}

static void test_totals_add_up(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	after(GP__S);
	work(on);
	after(2 * GP__S);
	rest(on);
	after(3 * GP__S);
	assert_int_equal(gp__queue_run_ns(&off->hand[0].q, S.now), 4 * GP__S);
	assert_int_equal(gp__queue_held_ns(&off->hand[0].q, S.now), 2 * GP__S);
	assert_int_equal(gp__entity_used(&off->e, S.now), 4 * GP__S);
	assert_int_equal(off->e.held_total, 2 * GP__S);
	assert_int_equal(off->hand[0].q.nr_excluded, 1);
}

static void test_a_policy_switch_loses_nobodys_state(void **state)
{
	struct actor *off, *on;
	size_t i;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE, .weight = 3));
	after(GP__S);
	work(on = actor(ONLINE, .share_pct = 40));
	after(GP__S);
	for (i = 0; gp__policies[i]; i++) {
		u64 used = gp__entity_used(&off->e, S.now);

		policy(gp__policies[i], NULL);
		assert_true(gp__entity_used(&off->e, S.now) == used);
		assert_true(runs(off) || runs(on));
	}
	assert_int_equal(off->e.hints.weight, 3);
	assert_int_equal(on->e.hints.share_pct, 40);
	assert_true(off->e.nr_holds >= 1);
	policy(&gp__policy_hpf, NO_AGEING);
	assert_true(runs(on) && stopped(off));
	assert_true(off->e.held_total >= GP__S);
	suspend(on);
	policy(&gp__policy_fair, NULL);
	assert_true(stopped(on) && runs(off));
}

static void test_parameters_out_of_range_change_nothing(void **state)
{
	const u64 bad[] = { 0, 1, 0 };
	size_t i;

	(void)state;
	begin(&gp__policy_hpf);
	assert_int_equal(gp__core_set_policy(&S.core, &gp__policy_share, bad, S.now), -ERANGE);
	assert_ptr_equal(S.core.policy, &gp__policy_hpf);
	for (i = 0; i < GP__CFG_COUNT; i++) {
		u64 was = S.core.cfg[i];

		assert_int_equal(
			gp__core_configure(&S.core, (u32)i, gp__core_params[i].max + 1, S.now),
			-ERANGE);
		if (gp__core_params[i].min)
			assert_int_equal(gp__core_configure(&S.core, (u32)i,
							    gp__core_params[i].min - 1, S.now),
					 -ERANGE);
		assert_int_equal(S.core.cfg[i], was);
	}
	assert_int_equal(gp__core_configure(&S.core, GP__CFG_COUNT, 1, S.now), -EINVAL);
}

static void test_hints_out_of_range_change_nothing(void **state)
{
	static const struct gp__hints bad[] = {
		{ .prio = GP__PRIO_LIMIT + 1 },
		{ .prio = -GP__PRIO_LIMIT - 1 },
		{ .weight = 10001 },
		{ .share_pct = 101 },
		{ .min_share_pct = 101 },
		{ .deadline_ns = 3600 * GP__S + 1 },
		{ .max_hold_ns = 3600 * GP__S + 1 },
	};
	struct gp__entity refused;
	struct actor *a;
	size_t i;

	(void)state;
	begin(&gp__policy_hpf);
	work(a = actor(NORMAL, .weight = 5));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *why;

		assert_int_equal(gp__hints_check(&bad[i], &why), -EINVAL);
		assert_non_null(why);
		assert_int_equal(gp__entity_hint(&a->e, &bad[i], S.now), -EINVAL);
		assert_int_equal(gp__entity_add(&S.dev[0], &refused, 99, 1, GP__CLASS_OTHER, "",
						&bad[i], S.now),
				 -EINVAL);
	}
	assert_int_equal(a->e.prio, GP__PRIO_NORMAL);
	assert_int_equal(a->e.hints.weight, 5);
	assert_int_equal(S.reports[GP__WHAT_HINT], 0);
}

static void test_entity_ids_are_checked(void **state)
{
	struct gp__hints h = { 0 };
	struct gp__entity e;

	(void)state;
	begin(&gp__policy_hpf);
	assert_int_equal(gp__entity_add(&S.dev[0], &e, 0, 1, GP__CLASS_OTHER, "", &h, S.now),
			 -EINVAL);
	assert_int_equal(
		gp__entity_add(&S.dev[0], &e, GP__NOBODY, 1, GP__CLASS_OTHER, "", &h, S.now),
		-EINVAL);
}

static void test_tags_are_made_plain(void **state)
{
	struct gp__hints h = { 0 };
	struct gp__entity e;

	(void)state;
	begin(&gp__policy_hpf);
	gp__entity_add(&S.dev[0], &e, 1, 1, GP__CLASS_OTHER, "a b=c\n\x1b[31m\xc3\xa4", &h, S.now);
	assert_string_equal(e.tag, "a_b_c__[31m__");
	gp__entity_remove(&e, S.now);
	gp__entity_add(&S.dev[0], &e, 1, 1, GP__CLASS_OTHER,
		       "0123456789012345678901234567890123456789", &h, S.now);
	assert_string_equal(e.tag, "0123456789012345678901234567890");
	gp__entity_remove(&e, S.now);
	gp__entity_add(&S.dev[0], &e, 1, 1, GP__CLASS_OTHER, NULL, &h, S.now);
	assert_string_equal(e.tag, "");
}

static void test_nothing_ticks_while_nobody_waits(void **state)
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

static void test_a_quiet_device_holds_nobody(void **state)
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
static void test_who_runs_out_of_work_while_held_stays_held(void **state)
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

/* Held without work, then more urgent than anybody: nothing to hold it for any longer. */
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

/* What it used fades meanwhile, and it is no longer behind one whose memory does not. */
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

#define T(name) cmocka_unit_test(test_##name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(hpf_stops_the_less_urgent),
		T(hpf_stops_who_comes_later),
		T(hpf_equals_run_together),
		T(hpf_follows_a_changed_priority),
		T(hpf_ages_at_the_exact_time_for_one_grant),
		T(hpf_without_ageing_waits_for_ever),
		T(edf_runs_the_earliest_deadline),
		T(edf_a_job_may_name_its_deadline),
		T(edf_tells_deadlines_apart_as_long_as_clocks_go),
		T(edf_a_late_job_yields),
		T(edf_a_late_job_may_keep_its_place),
		T(edf_a_deadline_may_be_named_before_the_job_is_there),
		T(edf_every_job_has_a_deadline_of_its_own),
		T(edf_background_runs_together_when_no_deadline_waits),
		T(grant_lasts_over_a_gap_in_the_work),
		T(announced_work_may_come_on_another_queue),
		T(gangs_are_tried_in_the_order_their_priorities_have_now),
		T(fair_divides_by_weight),
		T(fair_turns_last_a_quantum),
		T(fair_width_is_how_many_run_at_once),
		T(fair_a_newcomer_gains_at_most_one_turn),
		T(fair_a_sleeper_gains_at_most_one_turn),
		T(fair_talking_neither_prolongs_a_turn_nor_ends_it),
		T(share_gives_percentages),
		T(share_scales_down_what_is_too_much),
		T(share_divides_what_is_left_among_those_that_did_not_ask),
		T(share_leaves_a_percent_where_nothing_is_left),
		T(share_unused_goes_to_the_others),
		T(hpf_by_weight_runs_one_beside),
		T(hpf_by_weight_the_patient_take_turns),
		T(hpf_by_weight_three_priorities),
		T(hpf_by_weight_announced_work_has_the_device),
		T(hpf_by_weight_a_grant_is_no_tug_of_war),
		T(hpf_by_weight_the_suspended_are_not_there),
		T(hpf_by_weight_is_a_parameter),
		T(a_stopped_one_is_not_weighed),
		T(share_by_weight_lets_all_run_weighed),
		T(share_by_weight_follows_who_comes_and_goes),
		T(share_by_weight_takes_turns_where_the_device_cannot),
		T(share_survives_absurd_oversubscription),
		T(drf_whoever_fills_the_memory_yields_time),
		T(drf_is_fair_where_memory_is_not_contended),
		T(drf_time_counts_by_its_half_life),
		T(drf_use_fades_while_waiting),
		T(drf_an_hour_alone_is_not_held_against_it),
		T(drf_equal_memory_takes_turns),
		T(drf_no_claim_of_memory_wraps_round),
		T(none_stops_nobody),
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
		T(switch_rate_allows_a_burst_then_the_rate),
		T(switch_rate_starts_whoever_displaces_nobody),
		T(switch_rate_what_one_event_stops_costs_one),
		T(switch_rate_time_got_beside_the_others_counts),
		T(a_lifted_switch_rate_forgets_old_debt),
		T(linger_a_short_gap_keeps_the_place),
		T(linger_only_where_somebody_waits),
		T(arriving_makes_room_ahead_and_expires),
		T(arriving_work_that_comes_is_no_longer_waited_for),
		T(arriving_is_prepared_where_nobody_was_stopped_before),
		T(arriving_work_that_is_over_is_not_waited_for),
		T(arriving_ends_a_gap_in_the_work_when_it_is_over),
		T(arriving_said_again_does_not_prolong_it),
		T(arriving_in_vain_is_not_believed_again_at_once),
		T(arriving_is_not_prepared_by_an_answer_that_came_too_late),
		T(arriving_while_busy_is_not_waited_for_afterwards),
		T(arriving_under_edf_is_as_urgent_as_the_job_will_be),
		T(arriving_at_the_end_of_time_disturbs_nobody),
		T(deadline_at_the_end_of_time_disturbs_nobody),
		T(operator_beats_policy_and_guarantees),
		T(operator_stops_even_those_without_work),
		T(operator_time_does_not_count_as_suspension),
		T(operator_resuming_who_is_not_suspended_delays_no_guarantee),
		T(faults_beat_the_operator),
		T(gang_runs_together_or_not_at_all),
		T(gang_leaves_its_devices_to_others_meanwhile),
		T(gang_that_comes_next_disturbs_nobody_who_waits),
		T(gang_member_without_work_does_not_stand_in_the_way),
		T(gang_member_without_work_is_owed_nothing),
		T(gang_that_has_no_work_is_not_held),
		T(gang_is_granted_together),
		T(gang_is_suspended_as_one),
		T(gang_goes_on_without_a_member_that_vanished),
		T(gang_that_is_dissolved_frees_its_members),
		T(gang_has_one_member_a_device),
		T(gang_of_two_that_exclude_each_other),
		T(gang_waits_for_the_switch_rate_without_flapping),
		T(new_queue_of_a_held_entity_is_stopped),
		T(an_order_overtaken_is_turned_round_when_answered),
		T(an_answer_nobody_asked_for_is_refused),
		T(silence_makes_unresponsive_at_the_exact_time),
		T(a_late_answer_brings_it_back_into_the_plan),
		T(a_failing_stop_is_tried_thrice_and_reported_once),
		T(a_change_gives_a_failed_one_another_chance),
		T(a_failing_start_is_tried_for_ever_and_more_slowly),
		T(a_change_does_not_end_a_failing_start),
		T(reexcluded_in_quick_succession_while_stops_fail),
		T(removed_with_its_order_still_in_the_outbox),
		T(removed_while_an_answer_is_due),
		T(an_inversion_that_stays_is_reported_once),
		T(a_refused_weight_is_not_asked_for_again),
		T(time_never_goes_backwards),
		T(totals_add_up),
		T(a_policy_switch_loses_nobodys_state),
		T(parameters_out_of_range_change_nothing),
		T(hints_out_of_range_change_nothing),
		T(entity_ids_are_checked),
		T(tags_are_made_plain),
		T(nothing_ticks_while_nobody_waits),
		T(work_told_twice_counts_once),
		T(an_entity_is_idle_when_all_its_queues_are),
		T(a_quiet_device_holds_nobody),
		T(who_runs_out_of_work_while_held_stays_held),
		T(being_held_without_work_is_no_suspension),
		T(held_without_work_follows_hints_and_policy),
		T(held_without_work_is_no_suspension_when_the_policy_changes),
		T(held_without_work_follows_what_fades),
	};

	return cmocka_run_group_tests_name("core rules", tests, NULL, NULL);
}
