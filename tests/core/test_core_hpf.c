// SPDX-License-Identifier: MIT
/* The core's promises about highest priority first, with ageing, and beside the urgent by weight.
 */
#include "rules.h"

static void test_hpf_holds_the_less_urgent(void **state)
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

static void test_hpf_holds_a_less_urgent_newcomer(void **state)
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
	/* It counts that an urgent entity is present, not that it has work. */
	on = actor(ONLINE);
	assert_int_equal(weight_of(off), GP__WEIGHT_LEAST);
	assert_int_equal(weight_of(on), GP__WEIGHT_MOST);
	work(on);
	after(GP__MS);
	assert_true(runs(off) && runs(on));
	rest(on);
	work(on);
	assert_int_equal(off->nr_weighs, 1);
	assert_int_equal(off->e.nr_holds, 0);
	leave(on);
	assert_int_equal(weight_of(off), 0);
	assert_true(runs(off));
}

/* The time that a hold takes is not known: twice that of a slow driver. */
#define LONG_BURST (2 * GP__MS)

static void test_hpf_by_weight_a_long_burst_has_the_device(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	work(off = actor(OFFLINE));
	work(on = actor(ONLINE));
	after(LONG_BURST - 1);
	assert_true(runs(off));
	after(1);
	assert_true(stopped(off) && runs(on));
	assert_why(off, GP__RULE_PRIORITY, on->e.id);
	rest(on);
	assert_true(runs(off));
	assert_int_equal(weight_of(off), GP__WEIGHT_LEAST);
}

static void test_hpf_by_weight_bursts_that_are_usually_long(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	S.answer_ns = 500 * GP__US;
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	for (int i = 0; i < 8; i++) {
		work(on);
		after(20 * GP__MS);
		assert_true(stopped(off));
		rest(on);
		after(100 * GP__MS);
		assert_true(runs(off));
	}
	/* At once, without waiting to see whether it becomes long. */
	work(on);
	assert_int_equal(off->last.verb, GP__VERB_HOLD);
	rest(on);
	/* Until they are usually short again. */
	for (int i = 0; i < 200; i++) {
		after(10 * GP__MS);
		work(on);
		after(GP__US);
		rest(on);
	}
	after(10 * GP__MS);
	work(on);
	after(GP__US);
	assert_int_equal(off->last.verb, GP__VERB_RELEASE);
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
	on = actor(ONLINE);
	start = S.now;
	assert_int_equal(runs(a) + runs(b), 1);
	after(150 * GP__MS);
	assert_why(runs(a) ? b : a, GP__RULE_SLICE, (runs(a) ? a : b)->e.id);
	for (int i = 0; i < 100; i++) {
		after(20 * GP__MS);
		assert_int_equal(runs(a) + runs(b), 1);
	}
	/* Turns of 100 ms for two seconds. */
	assert_true(a->e.nr_holds + b->e.nr_holds <= 22);
	assert_true(a->e.nr_holds >= 8 && b->e.nr_holds >= 8);
	assert_true(S.now > start);
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
	on = actor(ONLINE);
	work(mid = actor(NORMAL));
	assert_true(runs(mid) && stopped(off));
	assert_why(off, GP__RULE_PRIORITY, mid->e.id);
	after(10 * GP__S);
	assert_true(runs(mid) && stopped(off));
	rest(mid);
	assert_true(runs(off));
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
	/* Announced work that does not arrive is not waited for. */
	arriving(on, S.now);
	assert_true(stopped(off));
	after(20 * GP__MS);
	assert_true(runs(off));
}

/* Work that was announced while it had work has come with that. */
static void test_hpf_by_weight_the_next_burst_was_not_announced(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_weighing(&gp__policy_hpf);
	config(GP__CFG_ARRIVE_GRACE_MS, 10);
	S.answer_ns = 500 * GP__US;
	work(off = actor(OFFLINE));
	work(on = actor(ONLINE));
	arriving(on, S.now);
	after(GP__MS);
	assert_true(stopped(off));
	rest(on);
	after(GP__S);
	work(on);
	assert_int_equal(off->last.verb, GP__VERB_RELEASE);
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
	actor(ONLINE);
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

/* A held entity gets its weight when it is released. */
static void test_a_held_entity_is_not_weighed(void **state)
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
	assert_int_equal(a->last.verb, GP__VERB_HOLD);
	resume(a);
	assert_int_equal(weight_of(a), GP__WEIGHT_LEAST);
	leave(on);
	assert_int_equal(weight_of(a), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(hpf_holds_the_less_urgent),
		T(hpf_holds_a_less_urgent_newcomer),
		T(hpf_equals_run_together),
		T(hpf_follows_a_changed_priority),
		T(hpf_ages_at_the_exact_time_for_one_grant),
		T(hpf_without_ageing_waits_for_ever),
		T(hpf_by_weight_runs_one_beside),
		T(hpf_by_weight_a_long_burst_has_the_device),
		T(hpf_by_weight_bursts_that_are_usually_long),
		T(hpf_by_weight_the_patient_take_turns),
		T(hpf_by_weight_three_priorities),
		T(hpf_by_weight_announced_work_has_the_device),
		T(hpf_by_weight_the_next_burst_was_not_announced),
		T(hpf_by_weight_a_grant_is_no_tug_of_war),
		T(hpf_by_weight_the_suspended_are_not_there),
		T(hpf_by_weight_is_a_parameter),
		T(a_held_entity_is_not_weighed),
	};

	return cmocka_run_group_tests_name("core hpf", tests, NULL, NULL);
}
