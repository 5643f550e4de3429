// SPDX-License-Identifier: MIT
/* The core's promises about orders to queues and their acknowledgements: late, failed, missing. */
#include "rules.h"

static void test_new_queue_of_a_held_entity_is_held(void **state)
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
	assert_int_equal(gp__queue_state(&off->hand[0].q), GP__STATE_HOLDING);
	rest(on);
	work(on);
	rest(on);
	assert_int_equal(off->nr_stops, 1);
	assert_int_equal(off->nr_starts, 0);
	answer(off, 0);
	assert_int_equal(off->nr_starts, 1);
	assert_true(runs(off));
}

static void test_an_unexpected_acknowledgement_is_refused(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	assert_int_equal(gp__queue_ack(&off->hand[0].q, 0, S.now), -EINVAL);
	gp__queue_ready(&on->hand[0].q, 1, S.now);
	/* Decided, but still in the outbox. */
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
	assert_int_equal(gp__entity_state(&off->e), GP__STATE_HOLDING);
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
	assert_int_equal(gp__entity_state(&off->e), GP__STATE_HELD);
	rest(on);
	assert_true(runs(off));
}

static void test_a_failing_hold_is_tried_thrice_and_reported_once(void **state)
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

static void test_a_failing_release_is_tried_for_ever_with_back_off(void **state)
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
	assert_int_equal(gp__entity_state(&off->e), GP__STATE_FREE);
}

static void forgive_by_operator(struct actor *a)
{
	resume(a);
}

/* A change that forgives failed holds must not end the retries of a release. */
static void test_a_change_does_not_end_a_failing_release(void **state)
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
static void test_held_again_in_quick_succession_while_holds_fail(void **state)
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
	int i;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	off->manner = FAILS_TO_STOP;
	work(on = actor(ONLINE));
	after(GP__S);
	assert_true(runs(on) && runs(off));
	for (i = 0; i < 100; i++) {
		rest(on);
		rest(off);
		work(on);
		work(off);
	}
	assert_int_equal(S.reports[GP__WHAT_INVERSION], 1);
	assert_int_equal(S.last_report.entity, off->e.id);
	assert_int_equal(S.last_report.f[GP__F_BY], on->e.id);
}

static void test_a_refused_weight_is_not_asked_for_again(void **state)
{
	struct actor *a;

	(void)state;
	begin_weighing(&gp__policy_share);
	a = actor(.share_pct = 70);
	a->manner = SILENT;
	policy(&gp__policy_share, (const u64[]){ 10, 1, 100, 1 });
	answer(a, -EOPNOTSUPP);
	work(a);
	after(GP__S);
	assert_int_equal(a->nr_weighs, 1);
	assert_int_equal(gp__entity_state(&a->e), GP__STATE_FREE);
	hint(a, .share_pct = 60);
	assert_int_equal(a->last.weight, 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(new_queue_of_a_held_entity_is_held),
		T(an_order_overtaken_is_turned_round_when_answered),
		T(an_unexpected_acknowledgement_is_refused),
		T(silence_makes_unresponsive_at_the_exact_time),
		T(a_late_answer_brings_it_back_into_the_plan),
		T(a_failing_hold_is_tried_thrice_and_reported_once),
		T(a_change_gives_a_failed_one_another_chance),
		T(a_failing_release_is_tried_for_ever_with_back_off),
		T(a_change_does_not_end_a_failing_release),
		T(held_again_in_quick_succession_while_holds_fail),
		T(removed_with_its_order_still_in_the_outbox),
		T(removed_while_an_answer_is_due),
		T(an_inversion_that_stays_is_reported_once),
		T(a_refused_weight_is_not_asked_for_again),
	};

	return cmocka_run_group_tests_name("core orders", tests, NULL, NULL);
}
