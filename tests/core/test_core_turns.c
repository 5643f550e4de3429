// SPDX-License-Identifier: MIT
/* The core's promises about the policies that take turns: fair, share and drf; and none, which has
 * no turns. */
#include "rules.h"

#include <stdlib.h>

#define BY_WEIGHT ((const u64[]){ 10, 1, 100, 1 })

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
	policy(&gp__policy_fair, (const u64[]){ 10, 2, 100 });
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

/* Ten seconds that another ran alone are not paid back, and a newcomer has no credit. */
static void test_fair_a_newcomer_gains_nothing(void **state)
{
	struct actor *old, *new;
	u64 before, start;

	(void)state;
	begin(&gp__policy_fair);
	old = actor(NORMAL);
	new = actor(NORMAL);
	work(old);
	after(10 * GP__S + 5 * GP__MS);
	before = gp__entity_used(&old->e, S.now);
	start = S.now;
	work(new);
	after(100 * GP__MS);
	assert_true(near(permille(old, before, start), 500, 50));
	after(900 * GP__MS);
	assert_true(near(permille(old, before, start), 500, 15));
}

/* Three equals; the sleeper has its third of a second and the part of its credit that the others
 * would have had. */
static void test_fair_a_sleeper_gains_at_most_its_credit(void **state)
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
	assert_true(near(permille(sleeper, before, start), 333 + 333, 15));
	after(4 * GP__S);
	assert_true(near(permille(sleeper, before, start), 333 + 67, 5));
	assert_true(runs(a) || runs(b) || runs(sleeper));
}

/* Gives a hint every millisecond, which the policy has to consider each time. */
static void talk(struct actor *a, int times)
{
	while (times--) {
		after(GP__MS);
		gp__entity_deadline(&a->e, S.now + GP__MS, S.now);
		take_orders();
	}
}

/* @a works for @on in every @on + @off. */
static void pulse(struct actor *a, u64 on, u64 off, int times)
{
	while (times--) {
		work(a);
		after(on);
		rest(a);
		after(off);
	}
}

static void wakes_up_at_once(const struct gp__policy *p)
{
	struct actor *server, *trainer;
	int i;

	begin(p);
	work(server = actor(NORMAL));
	after(GP__MS);
	rest(server);
	work(trainer = actor(NORMAL));
	after(GP__S);
	for (i = 0; i < 20; i++) {
		work(server);
		assert_true(runs(server) && stopped(trainer));
		assert_why(trainer, GP__RULE_SLICE, server->e.id);
		after(20 * GP__MS);
		assert_true(runs(server) && stopped(trainer));
		rest(server);
		assert_true(runs(trainer));
		after(70 * GP__MS);
	}
}

static void test_fair_an_entity_that_is_owed_runs_when_it_wakes_up(void **state)
{
	(void)state;
	wakes_up_at_once(&gp__policy_fair);
}

static void test_share_an_entity_that_is_owed_runs_when_it_wakes_up(void **state)
{
	(void)state;
	wakes_up_at_once(&gp__policy_share);
}

static void test_drf_an_entity_that_used_little_runs_when_it_wakes_up(void **state)
{
	(void)state;
	wakes_up_at_once(&gp__policy_drf);
}

/* After its credit it waits for its turn, as others do. */
static void test_fair_credit_ends(void **state)
{
	struct actor *server, *trainer;

	(void)state;
	begin(&gp__policy_fair);
	work(server = actor(NORMAL));
	after(GP__MS);
	rest(server);
	work(trainer = actor(NORMAL));
	after(10 * GP__S);
	talk(trainer, 1);
	work(server);
	after(499 * GP__MS);
	assert_true(runs(server) && stopped(trainer));
	after(2 * GP__MS);
	assert_true(stopped(server) && runs(trainer));
	rest(server);
	work(server);
	assert_true(stopped(server) && runs(trainer));
}

/* With credit_ms=0 it waits for the end of the turn, which begins anew with any event. */
static void test_fair_without_credit_a_turn_is_not_interrupted(void **state)
{
	struct actor *server, *trainer;

	(void)state;
	begin(&gp__policy_fair);
	policy(&gp__policy_fair, (const u64[]){ 10, 1, 0 });
	work(server = actor(NORMAL));
	after(GP__MS);
	rest(server);
	work(trainer = actor(NORMAL));
	after(10 * GP__S);
	talk(trainer, 2);
	work(server);
	assert_true(stopped(server) && runs(trainer));
	after(10 * GP__MS);
	assert_true(runs(server) && stopped(trainer));
}

/* To sleep and wake up gains nothing over working all the time. */
static void test_fair_a_waker_gets_no_more_than_its_share(void **state)
{
	static const u64 on_us[] = { 300, 3000, 15000, 90000 };
	u32 i;

	(void)state;
	for (i = 0; i < sizeof(on_us) / sizeof(on_us[0]); i++) {
		struct actor *waker, *worker;
		u64 start, on = on_us[i] * GP__US;

		begin(&gp__policy_fair);
		work(worker = actor(NORMAL));
		waker = actor(.weight = 50);
		after(GP__S);
		start = S.now;
		/* Hardly any rest: it always wants to run. */
		pulse(waker, on, on / 10, (int)(4 * GP__S / on));
		assert_true(permille(waker, 0, start) < 333 + 25);
		assert_true(permille(worker, GP__S, start) > 667 - 35);
	}
}

static void test_fair_wake_ups_keep_to_the_switch_rate(void **state)
{
	struct actor *waker, *worker;
	u32 stops;

	(void)state;
	begin(&gp__policy_fair);
	work(waker = actor(NORMAL));
	after(GP__MS);
	rest(waker);
	work(worker = actor(NORMAL));
	after(GP__S);
	config(GP__CFG_SWITCHES_PER_S, 50);
	config(GP__CFG_SWITCH_BURST, 1);
	stops = waker->nr_stops + worker->nr_stops;
	pulse(waker, 100 * GP__US, 900 * GP__US, 1000);
	assert_true(waker->nr_stops + worker->nr_stops - stops <= 52);
	assert_true(waker->nr_stops + worker->nr_stops - stops > 20);
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
	policy(&gp__policy_share, BY_WEIGHT);
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

static void test_share_by_weight_follows_added_and_removed_entities(void **state)
{
	struct actor *a, *b, *c;

	(void)state;
	begin_weighing(&gp__policy_share);
	policy(&gp__policy_share, BY_WEIGHT);
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
	policy(&gp__policy_share, BY_WEIGHT);
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
		gp__entity_add(&S.user[0], &crowd[i], 1000 + i, 1, GP__CLASS_OTHER, "", &greedy,
			       S.now);
	work(a = actor(.share_pct = 1));
	work(b = actor(.share_pct = 1));
	after(GP__S);
	assert_true(near(permille(a, 0, S.now - GP__S), 500, 20));
	for (i = 0; i < N; i++)
		gp__entity_remove(&crowd[i], S.now);
	free(crowd);
}

static void test_drf_an_entity_that_fills_the_memory_yields_time(void **state)
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
	/* Its standing, in millionths of what an entity that runs all the time has. */
	return (u64)gp__policy_drf.key(&a->e) * 1443 / 1000000;
}

/* After one half-life of running it has half of the maximum, however often it was charged. */
static void test_drf_time_counts_by_its_half_life(void **state)
{
	struct actor *a;

	(void)state;
	begin(&gp__policy_drf);
	work(a = actor(NORMAL));
	/* Just after a step it is lowest: up to 8 % below. */
	assert_true(near(recent_ms(a, GP__S), 1443 / 2, 45));
	assert_true(near(recent_ms(a, 10 * GP__S), 1443, 130));
	rest(a);
	assert_true(near(recent_ms(a, GP__S), 1443 / 2, 70));
}

/* Use decays while an entity waits, not only while it runs. */
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

static void test_none_holds_no_entity(void **state)
{
	(void)state;
	begin(&gp__policy_none);
	work(actor(OFFLINE));
	work(actor(ONLINE));
	work(actor(.deadline_ns = 1));
	after(10 * GP__S);
	assert_int_equal(S.nr_orders, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(fair_divides_by_weight),
		T(fair_turns_last_a_quantum),
		T(fair_width_is_how_many_run_at_once),
		T(fair_a_newcomer_gains_nothing),
		T(fair_a_sleeper_gains_at_most_its_credit),
		T(fair_an_entity_that_is_owed_runs_when_it_wakes_up),
		T(share_an_entity_that_is_owed_runs_when_it_wakes_up),
		T(drf_an_entity_that_used_little_runs_when_it_wakes_up),
		T(fair_credit_ends),
		T(fair_without_credit_a_turn_is_not_interrupted),
		T(fair_a_waker_gets_no_more_than_its_share),
		T(fair_wake_ups_keep_to_the_switch_rate),
		T(fair_talking_neither_prolongs_a_turn_nor_ends_it),
		T(share_gives_percentages),
		T(share_scales_down_what_is_too_much),
		T(share_divides_what_is_left_among_those_that_did_not_ask),
		T(share_leaves_a_percent_where_nothing_is_left),
		T(share_unused_goes_to_the_others),
		T(share_by_weight_lets_all_run_weighed),
		T(share_by_weight_follows_added_and_removed_entities),
		T(share_by_weight_takes_turns_where_the_device_cannot),
		T(share_survives_absurd_oversubscription),
		T(drf_an_entity_that_fills_the_memory_yields_time),
		T(drf_is_fair_where_memory_is_not_contended),
		T(drf_time_counts_by_its_half_life),
		T(drf_use_fades_while_waiting),
		T(drf_an_hour_alone_is_not_held_against_it),
		T(drf_equal_memory_takes_turns),
		T(drf_no_claim_of_memory_wraps_round),
		T(none_holds_no_entity),
	};

	return cmocka_run_group_tests_name("core turns", tests, NULL, NULL);
}
