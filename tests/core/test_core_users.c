// SPDX-License-Identifier: MIT
/*
 * The core's promises to users, with random users: one program that always works against users
 * whose programs come, go, work, rest and announce work at random.
 */
#include "rules.h"

#define SEEDS 20
#define STEPS 1500
#define CROWD (STAGE_ACTORS - 2)

static u64 rng;

static u64 draw(u64 n)
{
	u64 z = (rng += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (z ^ (z >> 31)) % n;
}

/* GPU time of the programs of the other users, without those that are on the stage. */
static u64 used[STAGE_USERS];
static struct actor *crowd[CROWD];

static u32 user_of(const struct actor *a)
{
	return (u32)(a->e.owner - S.user);
}

static void enter(u32 i, s32 prio)
{
	struct gp__hints h = { .prio = prio };

	/* A guarantee is beside the policy. */
	if (prio != GP__PRIO_NORMAL && !draw(3))
		h.min_share_pct = 1 + (u32)draw(20);
	crowd[i] = stage_actor(0, &S.user[1 + draw(STAGE_USERS - 1)], &h);
}

/* Another takes its place on the stage. */
static void replace(u32 i, s32 prio)
{
	u32 nr = S.nr_actors;

	used[user_of(crowd[i])] += gp__entity_used(&crowd[i]->e, S.now);
	leave(crowd[i]);
	S.nr_actors = (u32)(crowd[i] - S.actor);
	enter(i, prio);
	S.nr_actors = nr;
}

static void step(s32 prio)
{
	u32 i = (u32)draw(CROWD);

	after(draw(10) ? draw(5 * GP__MS) : draw(200 * GP__MS));
	if (!draw(50))
		replace(i, prio);
	else if (!draw(20))
		arriving(crowd[i], S.now + draw(5 * GP__MS));
	else if (draw(3))
		work(crowd[i]);
	else
		rest(crowd[i]);
}

static u64 used_by(u32 user)
{
	u64 sum = used[user];
	u32 i;

	for (i = 0; i < CROWD; i++) {
		if (user_of(crowd[i]) == user)
			sum += gp__entity_used(&crowd[i]->e, S.now);
	}
	return sum;
}

static void populate(u64 seed, s32 prio)
{
	u32 i;

	rng = seed;
	memset(used, 0, sizeof(used));
	for (i = 0; i < CROWD; i++)
		enter(i, prio);
}

/* No user gets more than one that always works with one program, but for its credit. */
static void gets_no_more(const struct gp__policy *p, u64 credit)
{
	struct actor *one;
	u64 seed, start;
	u32 i, u;

	for (seed = 1; seed <= SEEDS; seed++) {
		begin(p);
		start = S.now;
		work(one = actor_of(&S.user[0], NORMAL));
		populate(seed, GP__PRIO_NORMAL);
		for (i = 0; i < STEPS; i++) {
			u64 mine;

			step(GP__PRIO_NORMAL);
			mine = gp__entity_used(&one->e, S.now);
			for (u = 1; u < STAGE_USERS; u++)
				assert_true(used_by(u) <= mine + credit);
		}
		assert_true(permille(one, 0, start) >= 1000 / STAGE_USERS - 20);
	}
}

static void test_fair_no_user_gets_more_than_its_share(void **state)
{
	(void)state;
	gets_no_more(&gp__policy_fair, (500 + 2 * 10) * GP__MS);
}

static void test_share_no_user_gets_more_than_its_share(void **state)
{
	(void)state;
	gets_no_more(&gp__policy_share, (500 + 2 * 10) * GP__MS);
}

static void test_drf_no_user_gets_more_than_its_share(void **state)
{
	(void)state;
	gets_no_more(&gp__policy_drf, 1443 * GP__MS);
}

/* The default minimum share of a user is kept, however many programs others have and whatever they
 * claim and announce. */
static void test_min_share_of_a_user_is_kept(void **state)
{
	struct actor *one;
	u64 seed, start, want;
	u32 i;

	(void)state;
	for (seed = 1; seed <= SEEDS; seed++) {
		begin_strict();
		config(GP__CFG_MIN_SHARE_PCT, 5);
		work(stage_actor(0, &S.user[1], &(struct gp__hints){ ONLINE }));
		work(one = actor_of(&S.user[0], OFFLINE));
		start = S.now;
		populate(seed, GP__PRIO_OFFLINE + 1);
		for (i = 0; i < STEPS; i++) {
			step(GP__PRIO_OFFLINE + 1);
			/* A grant may be due, and one may be under way beside many. */
			want = (S.now - start) / 20;
			assert_true(gp__entity_used(&one->e, S.now) + 40 * GP__MS >= want);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(fair_no_user_gets_more_than_its_share),
		T(share_no_user_gets_more_than_its_share),
		T(drf_no_user_gets_more_than_its_share),
		T(min_share_of_a_user_is_kept),
	};

	return cmocka_run_group_tests_name("core users", tests, NULL, NULL);
}
