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
	/* What one does not use goes to the other of the same user. */
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
	u64 before, start;
	int i;

	(void)state;
	begin(&gp__policy_fair);
	gather(&(struct gp__hints){ NORMAL });
	work(victim = actor_of(&S.user[1], NORMAL));
	after(GP__S);
	for (i = 0; i < MANY; i++)
		rest(crowd[i]);
	after(GP__S);
	before = gp__entity_used(&victim->e, S.now);
	start = S.now;
	for (i = 0; i < 100; i++) {
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
	};

	return cmocka_run_group_tests_name("core owners", tests, NULL, NULL);
}
