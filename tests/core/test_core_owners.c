// SPDX-License-Identifier: MIT
/* The core's promises to users: the many entities of one get no more than one entity would. */
#include "rules.h"

#define MANY 10

/* Entities of the first user, all of which work, or work in turn. */
static struct actor *crowd[MANY];

static void gather(const struct gp__hints *h)
{
	u32 i;

	for (i = 0; i < MANY; i++)
		work(crowd[i] = stage_actor(0, &S.user[0], h));
}

static u64 crowd_used(void)
{
	u64 used = 0;
	u32 i;

	for (i = 0; i < MANY; i++)
		used += gp__entity_used(&crowd[i]->e, S.now);
	return used;
}

static void divides_between_users(const struct gp__policy *p)
{
	struct actor *victim;
	u64 start;
	u32 i;

	begin(p);
	start = S.now;
	gather(&(struct gp__hints){ NORMAL });
	work(victim = actor_of(&S.user[1], NORMAL));
	after(10 * GP__S);
	assert_true(near(permille(victim, 0, start), 500, 20));
	for (i = 0; i < MANY; i++)
		assert_true(near(permille(crowd[i], 0, start), 500 / MANY, 10));
}

static void test_fair_divides_between_users_first(void **state)
{
	(void)state;
	divides_between_users(&gp__policy_fair);
}

static void test_share_divides_between_users_first(void **state)
{
	(void)state;
	divides_between_users(&gp__policy_share);
}

static void test_drf_divides_between_users_first(void **state)
{
	(void)state;
	divides_between_users(&gp__policy_drf);
}

/* Within a user as without others: 3 to 1. */
static void test_fair_divides_within_a_user_by_weight(void **state)
{
	struct actor *a, *b, *other;
	u64 start;

	(void)state;
	begin(&gp__policy_fair);
	start = S.now;
	work(a = actor_of(&S.user[0], .weight = 150));
	work(b = actor_of(&S.user[0], .weight = 50));
	work(other = actor_of(&S.user[1], NORMAL));
	after(10 * GP__S);
	assert_true(near(permille(a, 0, start) * 1000 / permille(b, 0, start), 3000, 150));
	assert_true(near(permille(other, 0, start), 500, 20));
}

/* Many weights count as the one of the entity that runs. */
static void test_fair_many_weights_count_once(void **state)
{
	struct actor *victim;
	u64 start;

	(void)state;
	begin(&gp__policy_fair);
	start = S.now;
	gather(&(struct gp__hints){ .weight = 300 });
	work(victim = actor_of(&S.user[1], .weight = 100));
	after(10 * GP__S);
	assert_true(near(permille(victim, 0, start), 250, 15));
}

/* Ten that ask for 50 % each ask for 100 % together. */
static void test_share_a_user_asks_for_100_percent_at_most(void **state)
{
	struct actor *victim;
	u64 start;

	(void)state;
	begin(&gp__policy_share);
	start = S.now;
	gather(&(struct gp__hints){ .share_pct = 50 });
	work(victim = actor_of(&S.user[1], .share_pct = 50));
	after(10 * GP__S);
	assert_true(near(permille(victim, 0, start), 333, 15));
}

static void test_share_the_shares_of_a_user_add_up(void **state)
{
	struct actor *a, *b, *c, *d;
	u64 start;

	(void)state;
	begin(&gp__policy_share);
	start = S.now;
	work(a = actor_of(&S.user[0], .share_pct = 30));
	work(b = actor_of(&S.user[0], .share_pct = 20));
	work(c = actor_of(&S.user[1], .share_pct = 40));
	work(d = actor_of(&S.user[2], NORMAL));
	after(10 * GP__S);
	assert_true(near(permille(a, 0, start), 300, 10));
	assert_true(near(permille(b, 0, start), 200, 10));
	assert_true(near(permille(c, 0, start), 400, 10));
	assert_true(near(permille(d, 0, start), 100, 10));
	/* The time that b does not use goes to a, which has the same user. */
	rest(b);
	start = S.now;
	after(10 * GP__S);
	assert_true(near(permille(c, 4 * GP__S, start), 400, 10));
}

/* A weighed device gets the same proportions. */
static void test_share_by_weight_divides_between_users_first(void **state)
{
	struct actor *a, *b, *c;

	(void)state;
	begin_weighing(&gp__policy_share);
	policy(&gp__policy_share, (const u64[]){ 10, 1, 100, 1 });
	a = actor_of(&S.user[0], NORMAL);
	b = actor_of(&S.user[0], NORMAL);
	c = actor_of(&S.user[1], NORMAL);
	assert_int_equal(a->hand[0].q.weight, 25);
	assert_int_equal(b->hand[0].q.weight, 25);
	assert_int_equal(c->hand[0].q.weight, 50);
}

/* Half of the memory, in ten parts, is half of the memory. */
static void test_drf_adds_up_the_memory_of_a_user(void **state)
{
	struct actor *victim;
	u64 start;

	(void)state;
	begin(&gp__policy_drf);
	start = S.now;
	gather(&(struct gp__hints){ .memory = ((u64)1 << 35) / MANY });
	work(victim = actor_of(&S.user[1], .memory = (u64)1 << 30));
	work(actor_of(&S.user[2], .memory = (u64)1 << 30));
	after(4 * GP__S);
	assert_true(crowd_used() < GP__S / 20);
	assert_true(near(permille(victim, 0, start), 500, 20));
}

/* Entities that work in turn have slept, but their user has not. */
static void test_fair_siblings_that_wake_up_in_turn_have_no_credit(void **state)
{
	struct actor *victim;
	u64 before = 0, start = 0;
	int i;

	(void)state;
	begin(&gp__policy_fair);
	gather(&(struct gp__hints){ NORMAL });
	work(victim = actor_of(&S.user[1], NORMAL));
	after(GP__S);
	for (i = 0; i < MANY; i++)
		rest(crowd[i]);
	after(GP__S);
	for (i = 0; i < 140; i++) {
		/* Their user's credit is used up. */
		if (i == 40) {
			before = gp__entity_used(&victim->e, S.now);
			start = S.now;
		}
		work(crowd[i % MANY]);
		after(50 * GP__MS);
		rest(crowd[i % MANY]);
	}
	assert_true(near(permille(victim, before, start), 500, 25));
}

/* New entities have slept neither. */
static void test_fair_new_siblings_have_no_credit(void **state)
{
	struct actor *victim, *new;
	u64 start;
	int i;

	(void)state;
	begin(&gp__policy_fair);
	work(victim = actor_of(&S.user[1], NORMAL));
	work(actor_of(&S.user[0], NORMAL));
	after(GP__S);
	start = S.now;
	for (i = 0; i < 200; i++) {
		work(new = actor_of(&S.user[0], NORMAL));
		after(25 * GP__MS);
		leave(new);
		S.nr_actors--;
	}
	assert_true(near(permille(victim, GP__S / 2, start), 500, 25));
}

static u32 crowd_starts(void)
{
	u32 i, starts = 0;

	for (i = 0; i < MANY; i++)
		starts += crowd[i]->nr_starts;
	return starts;
}

/* A crowd and another user's program beside an urgent one that always works. */
static struct actor *starve(const struct gp__hints *h, const struct gp__hints *other)
{
	struct actor *victim;

	work(actor_of(&S.user[1], ONLINE));
	gather(h);
	work(victim = stage_actor(0, &S.user[2], other));
	return victim;
}

#define STARVED (&(struct gp__hints){ OFFLINE })

/* 10 % by default; divided between eleven it would be 4.5 %. */
static void test_min_share_is_the_users_by_default(void **state)
{
	struct actor *victim;
	u64 start;
	u32 i;

	(void)state;
	begin_strict();
	config(GP__CFG_MIN_SHARE_PCT, 10);
	start = S.now;
	victim = starve(STARVED, STARVED);
	after(100 * GP__S);
	assert_true(permille(victim, 0, start) > 95);
	assert_true(near(crowd_used() * 1000 / (S.now - start), 100, 10));
	for (i = 0; i < MANY; i++)
		assert_true(near(permille(crowd[i], 0, start), 10, 3));
}

/* A minimum share that all may have is no claim. */
static void test_min_share_a_claim_of_the_default_is_the_default(void **state)
{
	struct actor *victim;
	u64 start;

	(void)state;
	begin_strict();
	config(GP__CFG_MIN_SHARE_PCT, 10);
	start = S.now;
	victim = starve(&(struct gp__hints){ OFFLINE, .min_share_pct = 10 }, STARVED);
	after(100 * GP__S);
	assert_true(permille(victim, 0, start) > 95);
	assert_true(near(crowd_used() * 1000 / (S.now - start), 100, 10));
}

/* Users that are not there need no protection. */
static void test_min_share_is_each_entitys_if_there_is_one_user(void **state)
{
	struct actor *hog;
	u64 start;

	(void)state;
	begin_strict();
	config(GP__CFG_MIN_SHARE_PCT, 2);
	start = S.now;
	work(hog = actor_of(&S.user[0], ONLINE));
	gather(STARVED);
	after(100 * GP__S);
	assert_true(near(crowd_used() * 1000 / (S.now - start), 20 * MANY, 20));
	assert_true(permille(hog, 0, start) > 750);
}

/* Three times the device is claimed, and the claim of another is kept. */
static void test_min_share_claims_of_one_user_leave_those_of_others(void **state)
{
	struct actor *victim;
	u64 start;

	(void)state;
	begin_strict();
	config(GP__CFG_MIN_SHARE_PCT, 1);
	start = S.now;
	victim = starve(&(struct gp__hints){ OFFLINE, .min_share_pct = 30 },
			&(struct gp__hints){ OFFLINE, .min_share_pct = 20 });
	after(100 * GP__S);
	assert_true(permille(victim, 0, start) > 195);
	assert_true(crowd_used() * 1000 / (S.now - start) < 350);
}

/* Of two that claim more than there is, half of the device, each gets half. */
static void test_min_share_claims_are_divided_between_users(void **state)
{
	struct actor *victim;
	u64 start;

	(void)state;
	begin_strict();
	config(GP__CFG_MIN_SHARE_PCT, 1);
	start = S.now;
	victim = starve(&(struct gp__hints){ OFFLINE, .min_share_pct = 90 },
			&(struct gp__hints){ OFFLINE, .min_share_pct = 90 });
	after(100 * GP__S);
	assert_true(permille(victim, 0, start) > 220);
	assert_true(near(crowd_used() * 1000 / (S.now - start), 235, 25));
}

/* Holds last 100 ms, and grants 10 ms. */
static void test_max_hold_grants_of_a_user_are_those_of_one(void **state)
{
	struct actor *victim;
	u32 i;

	(void)state;
	begin_strict();
	config(GP__CFG_MAX_HOLD_MS, 100);
	victim = starve(STARVED, STARVED);
	after(20 * GP__S);
	assert_true(near(victim->nr_starts, 20000 / 110, 2));
	assert_true(near(crowd_starts(), 20000 / 100, 2));
	for (i = 0; i < MANY; i++)
		assert_true(near(crowd[i]->nr_starts, 20000 / 100 / MANY, 2));
}

static void test_max_hold_that_was_asked_for_is_each_entitys(void **state)
{
	(void)state;
	begin_strict();
	config(GP__CFG_MAX_HOLD_MS, 2000);
	starve(&(struct gp__hints){ OFFLINE, .max_hold_ns = 100 * GP__MS }, STARVED);
	after(2 * GP__S);
	assert_true(near(crowd_starts(), MANY * 2000 / 110, MANY));
}

/* 13 levels of 10 ms, then a grant. */
static void test_ageing_grants_of_a_user_are_those_of_one(void **state)
{
	struct actor *victim;
	u32 i;

	(void)state;
	begin(&gp__policy_hpf);
	policy(&gp__policy_hpf, (const u64[]){ 10, 1, 100 });
	victim = starve(STARVED, STARVED);
	after(14 * GP__S);
	assert_true(near(victim->nr_starts, 100, 2));
	assert_true(near(crowd_starts(), 14000 / 130, 2));
	for (i = 0; i < MANY; i++)
		assert_true(crowd[i]->nr_starts >= 9);
}

/* Announcements without work hold others for at most half of the time, whoever makes them. */
static void test_arriving_in_turn_holds_others_no_longer_than_one_would(void **state)
{
	struct actor *off, *liar[5];
	u64 held = 0;
	int i;

	(void)state;
	begin_strict();
	work(off = actor_of(&S.user[1], OFFLINE));
	for (i = 0; i < 5; i++)
		liar[i] = actor_of(&S.user[0], ONLINE);
	for (i = 0; i < 4000; i++) {
		arriving(liar[i % 5], S.now);
		held += stopped(off);
		after(700 * GP__US);
	}
	assert_in_range(held, 1000, 2100);
}

/* An entity that does honest work does not vouch for the others. */
static void test_arriving_work_of_another_does_not_restore_trust(void **state)
{
	struct actor *off, *liar, *worker;

	(void)state;
	begin_strict();
	work(off = actor_of(&S.user[1], OFFLINE));
	liar = actor_of(&S.user[0], ONLINE);
	worker = actor_of(&S.user[0], ONLINE);
	arriving(liar, S.now);
	after(11 * GP__MS);
	assert_true(runs(off));
	work(worker);
	rest(worker);
	arriving(liar, S.now);
	assert_true(runs(off));
	/* Nor is another user doubted. */
	arriving(actor_of(&S.user[2], ONLINE), S.now);
	assert_true(stopped(off));
}

/* To call work off, or to leave, just before it is missed is a lie, too. */
static void test_arriving_called_off_or_left_late_is_in_vain(void **state)
{
	struct actor *off, *liar;
	u64 held = 0;
	int i;

	(void)state;
	begin_strict();
	work(off = actor_of(&S.user[1], OFFLINE));
	for (i = 0; i < 400; i++) {
		arriving(liar = actor_of(&S.user[0], ONLINE), S.now);
		held += stopped(off);
		after(9 * GP__MS);
		if (i % 2)
			arriving(liar, 0);
		leave(liar);
		S.nr_actors--;
	}
	assert_in_range(held, 100, 210);
}

/* Work that was announced early, before the lie, is not waited for either. */
static void test_arriving_announced_ahead_is_doubted_too(void **state)
{
	struct actor *off, *liar[5];
	u64 held = 0;
	int i;

	(void)state;
	begin_strict();
	work(off = actor_of(&S.user[1], OFFLINE));
	for (i = 0; i < 5; i++)
		arriving(liar[i] = actor_of(&S.user[0], ONLINE), S.now + (u64)i * 12 * GP__MS);
	for (i = 0; i < 60; i++) {
		held += stopped(off);
		after(GP__MS);
	}
	assert_in_range(held, 10, 32);
}

/* A user that is gone for a moment comes back with its doubt. */
static void test_arriving_doubt_outlasts_the_entities(void **state)
{
	struct actor *off, *liar;

	(void)state;
	begin_strict();
	work(off = actor_of(&S.user[1], OFFLINE));
	arriving(liar = actor_of(&S.user[0], ONLINE), S.now);
	after(10 * GP__MS);
	leave(liar);
	arriving(actor_of(&S.user[0], ONLINE), S.now);
	assert_true(runs(off));
	after(11 * GP__MS);
	arriving(actor_of(&S.user[0], ONLINE), S.now);
	assert_true(stopped(off));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(fair_divides_between_users_first),
		T(share_divides_between_users_first),
		T(drf_divides_between_users_first),
		T(fair_divides_within_a_user_by_weight),
		T(fair_many_weights_count_once),
		T(share_a_user_asks_for_100_percent_at_most),
		T(share_the_shares_of_a_user_add_up),
		T(share_by_weight_divides_between_users_first),
		T(drf_adds_up_the_memory_of_a_user),
		T(fair_siblings_that_wake_up_in_turn_have_no_credit),
		T(fair_new_siblings_have_no_credit),
		T(min_share_is_the_users_by_default),
		T(min_share_a_claim_of_the_default_is_the_default),
		T(min_share_is_each_entitys_if_there_is_one_user),
		T(min_share_claims_of_one_user_leave_those_of_others),
		T(min_share_claims_are_divided_between_users),
		T(max_hold_grants_of_a_user_are_those_of_one),
		T(max_hold_that_was_asked_for_is_each_entitys),
		T(ageing_grants_of_a_user_are_those_of_one),
		T(arriving_in_turn_holds_others_no_longer_than_one_would),
		T(arriving_work_of_another_does_not_restore_trust),
		T(arriving_called_off_or_left_late_is_in_vain),
		T(arriving_announced_ahead_is_doubted_too),
		T(arriving_doubt_outlasts_the_entities),
	};

	return cmocka_run_group_tests_name("core owners", tests, NULL, NULL);
}
