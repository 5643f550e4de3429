// SPDX-License-Identifier: MIT
/* The core's promises about entities on several devices that run together or not at all. */
#include "rules.h"

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
	/* Without its first member the gang has the priority of the next one. */
	leave(b);
	assert_ptr_equal(S.core.gangs.next, &S.gang[0].link);
}

struct gang_scene {
	struct actor *rank0, *rank1, *rival1;
};

/* A gang on both devices, blocked by a rival on the second one. */
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

/* The gang is next: no waiting entity is released for no time at all. */
static void test_gang_that_is_next_disturbs_no_waiting_entity(void **state)
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
	a = actor_on(0, OFFLINE, .max_hold_ns = 1040 * GP__MS);
	b = actor_on(1, OFFLINE, .max_hold_ns = 50 * GP__MS);
	tie(&S.gang[0], a, b);
	work(a);
	work(actor_on(0, ONLINE));
	after(GP__S);
	assert_true(stopped(a) && stopped(b));
	assert_int_equal(a->nr_starts, 0);
	/* Its hold begins with its work. */
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

/* Otherwise a user could collect grants on one device and spend them on another. */
static void test_guarantee_on_one_device_is_none_on_another(void **state)
{
	struct actor *a, *b, *rival0;

	(void)state;
	begin_strict();
	work(rival0 = actor_on(0, ONLINE));
	work(actor_on(1, ONLINE));
	a = actor_on(0, OFFLINE);
	b = actor_on(1, OFFLINE, .max_hold_ns = 50 * GP__MS, .min_share_pct = 50);
	tie(&S.gang[0], a, b);
	work(a);
	work(b);
	after(10 * GP__S);
	assert_true(stopped(a) && stopped(b));
	assert_int_equal(a->nr_starts + b->nr_starts, 0);
	/* Without work there it need not wait for one. */
	rest(a);
	after(50 * GP__MS);
	assert_true(runs(b) && runs(rival0));
}

/* A gang and another entity of its user have no more grants on a device than one of them. */
static void test_grant_of_a_gang_is_one_to_the_owner_of_each_member(void **state)
{
	struct actor *a, *b, *other;

	(void)state;
	begin_strict();
	config(GP__CFG_MAX_HOLD_MS, 1000);
	work(actor_on(0, ONLINE));
	work(actor_on(1, ONLINE));
	a = actor_of(&S.user[0], OFFLINE);
	b = actor_on(1, OFFLINE);
	other = actor_of(&S.user[0], OFFLINE);
	tie(&S.gang[0], a, b);
	work(a);
	work(b);
	after(500 * GP__MS);
	work(other);
	after(500 * GP__MS);
	assert_true(runs(a) && runs(b));
	after(500 * GP__MS);
	assert_int_equal(other->nr_starts, 0);
	after(500 * GP__MS);
	assert_int_equal(a->nr_starts + other->nr_starts, 2);
	after(10 * GP__S);
	assert_in_range(a->nr_starts + other->nr_starts, 11, 13);
}

/* Nor are grants spent later, by work that begins in the grant of other members. */
static void test_work_that_comes_in_a_grant_has_a_part_in_it_if_its_user_may(void **state)
{
	struct actor *a, *b, *other;
	int round;

	(void)state;
	for (round = 0; round < 2; round++) {
		begin_strict();
		config(GP__CFG_MAX_HOLD_MS, 1000);
		work(actor_on(0, ONLINE));
		work(actor_on(1, ONLINE));
		a = actor_of(&S.user[0], OFFLINE);
		b = actor_on(1, OFFLINE);
		other = actor_of(&S.user[0], OFFLINE);
		tie(&S.gang[0], a, b);
		after(5 * GP__S);
		if (round)
			work(other);
		after(500 * GP__MS);
		work(b);
		after(GP__S);
		assert_true(runs(b));
		work(a);
		after(GP__MS);
		/* In the second round the other entity has had the grant of their user. */
		assert_true(round ? stopped(a) && stopped(b) : runs(a) && runs(b));
		rest(a);
		work(a);
		after(GP__MS);
		assert_true(round ? stopped(a) : runs(a));
		after(10 * GP__MS);
		assert_true(stopped(a) && stopped(b));
	}
}

static void test_gang_does_not_age(void **state)
{
	struct gang_scene g = begin_gang();

	(void)state;
	policy(&gp__policy_hpf, (const u64[]){ 500, 1, 100 });
	after(20 * GP__S);
	assert_int_equal(g.rank0->nr_starts + g.rank1->nr_starts, 0);
	rest(g.rival1);
	assert_true(runs(g.rank0) && runs(g.rank1));
	/* Nor when it waits for the switch rate alone. */
	config(GP__CFG_SWITCHES_PER_S, 1);
	config(GP__CFG_SWITCH_BURST, 1);
	work(g.rival1);
	g.rank0->nr_starts = g.rank1->nr_starts = 0;
	after(20 * GP__S);
	assert_int_equal(g.rank0->nr_starts + g.rank1->nr_starts, 0);
}

static void test_gang_that_waits_for_members_holds_the_others(void **state)
{
	struct actor *a, *b, *other;

	(void)state;
	begin_strict();
	config(GP__CFG_MAX_HOLD_MS, 100);
	config(GP__CFG_MIN_SHARE_PCT, 10);
	gp__gang_wait(&S.gang[0], true, S.now);
	a = actor_on(0, ONLINE);
	work(other = actor_on(0, OFFLINE));
	tie(&S.gang[0], a, b = actor_on(1, ONLINE));
	take_orders();
	/* With work or without, for as long as it takes, and nobody else. */
	assert_true(stopped(a) && stopped(b) && runs(other));
	work(a);
	work(b);
	after(30 * GP__S);
	assert_true(stopped(a) && stopped(b) && runs(other));
	assert_int_equal(a->nr_starts + other->nr_stops, 0);
	gp__gang_wait(&S.gang[0], false, S.now);
	take_orders();
	assert_true(runs(a) && runs(b) && stopped(other));
}

static void test_guarantees_count_from_the_end_of_the_wait(void **state)
{
	struct gang_scene g = begin_gang();

	(void)state;
	gp__gang_wait(&S.gang[0], true, S.now);
	take_orders();
	config(GP__CFG_MAX_HOLD_MS, 100);
	after(GP__S);
	gp__gang_wait(&S.gang[0], false, S.now);
	take_orders();
	after(100 * GP__MS - 1);
	assert_true(stopped(g.rank0) && stopped(g.rank1));
	after(1);
	assert_true(runs(g.rank0) && runs(g.rank1));
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

static void test_gang_of_two_that_hold_each_other_off(void **state)
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

/* The rate limit delays a hold on one device: the other must not release its rank repeatedly. */
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

/* A bound holds for the gang where all other guarantees are off. */
static void test_gang_is_not_held_beyond_its_bound(void **state)
{
	struct gang_scene g;

	(void)state;
	begin_strict();
	gp__gang_bound(&S.gang[0], 100 * GP__MS, S.now);
	g.rank0 = actor_on(0, NORMAL);
	g.rank1 = actor_on(1, NORMAL);
	tie(&S.gang[0], g.rank0, g.rank1);
	work(g.rank0);
	work(g.rank1);
	work(g.rival1 = actor_on(1, ONLINE));
	assert_true(stopped(g.rank0) && stopped(g.rank1));
	after(100 * GP__MS - 1);
	assert_true(stopped(g.rank0) && stopped(g.rank1));
	after(1);
	assert_true(runs(g.rank0) && runs(g.rank1) && runs(g.rival1));
	after(GP__S);
	assert_true(g.rank0->e.longest_hold <= 100 * GP__MS);
	assert_int_equal(g.rival1->nr_stops, 0);
}

/* It does not wait for the grants that another program of its user gets. */
static void test_bound_of_a_gang_is_its_own(void **state)
{
	struct gp__owner *owner = &S.user[0];
	struct actor *rank0, *rank1, *other;

	(void)state;
	begin_strict();
	config(GP__CFG_MAX_HOLD_MS, 100);
	gp__gang_bound(&S.gang[0], 100 * GP__MS, S.now);
	rank0 = actor_of(owner, NORMAL);
	rank1 = actor_on(1, NORMAL);
	tie(&S.gang[0], rank0, rank1);
	work(other = actor_of(owner, OFFLINE));
	work(actor(ONLINE));
	work(actor_on(1, ONLINE));
	after(150 * GP__MS);
	assert_true(other->nr_starts > 0);
	work(rank0);
	work(rank1);
	after(100 * GP__MS - 1);
	assert_true(runs(rank0) && runs(rank1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(gangs_are_tried_in_the_order_their_priorities_have_now),
		T(gang_runs_together_or_not_at_all),
		T(gang_leaves_its_devices_to_others_meanwhile),
		T(gang_that_is_next_disturbs_no_waiting_entity),
		T(gang_member_without_work_does_not_stand_in_the_way),
		T(gang_member_without_work_is_owed_nothing),
		T(gang_that_has_no_work_is_not_held),
		T(gang_is_granted_together),
		T(guarantee_on_one_device_is_none_on_another),
		T(grant_of_a_gang_is_one_to_the_owner_of_each_member),
		T(work_that_comes_in_a_grant_has_a_part_in_it_if_its_user_may),
		T(gang_does_not_age),
		T(gang_that_waits_for_members_holds_the_others),
		T(guarantees_count_from_the_end_of_the_wait),
		T(gang_is_suspended_as_one),
		T(gang_goes_on_without_a_member_that_vanished),
		T(gang_that_is_dissolved_frees_its_members),
		T(gang_has_one_member_a_device),
		T(gang_of_two_that_hold_each_other_off),
		T(gang_waits_for_the_switch_rate_without_flapping),
		T(gang_is_not_held_beyond_its_bound),
		T(bound_of_a_gang_is_its_own),
	};

	return cmocka_run_group_tests_name("core gangs", tests, NULL, NULL);
}
