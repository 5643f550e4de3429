// SPDX-License-Identifier: MIT
/* The core's promises about time, parameters and hints, state over a change of policy. */
#include "rules.h"

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
	assert_int_equal(off->hand[0].q.nr_holds, 1);
}

static void test_a_policy_switch_keeps_totals_and_holds(void **state)
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

static bool is_clear(const u64 *state, u32 from_bytes, u32 words)
{
	const u8 *at = (const u8 *)state;
	u32 i;

	for (i = from_bytes; i < words * sizeof(u64); i++) {
		if (at[i])
			return false;
	}
	return true;
}

/* Every policy keeps to the state that it declares, however entities and devices are used. */
static void test_policies_write_only_the_state_they_declare(void **state)
{
	u32 i, j;

	(void)state;
	for (i = 0; gp__policies[i]; i++) {
		const struct gp__policy *p = gp__policies[i];

		begin_weighing(p);
		work(actor(OFFLINE, .share_pct = 10, .deadline_ns = GP__MS));
		work(actor(NORMAL, .memory = (u64)1 << 33));
		work(actor(NORMAL));
		after(GP__S);
		for (j = 0; j < 3; j++)
			assert_true(is_clear(S.actor[j].e.policy_state, p->entity_bytes,
					     GP__POLICY_ENTITY_WORDS));
		assert_true(is_clear(S.dev[0].policy_state, p->dev_bytes, GP__POLICY_DEV_WORDS));
	}
}

/* A policy starts with clear accounts; other parameters of the same policy keep them. */
static void test_a_policy_begins_with_clear_state(void **state)
{
	struct actor *a, *b;
	u64 before;

	(void)state;
	begin(&gp__policy_fair);
	work(a = actor(NORMAL));
	after(10 * GP__S);
	gp__entity_deadline(&a->e, 0, S.now); /* an event: it is charged */
	before = a->e.policy_state[1];
	assert_true(before >= 9 * GP__S);
	policy(&gp__policy_fair, (const u64[]){ 20, 1, 100 });
	assert_true(a->e.policy_state[1] >= before);
	policy(&gp__policy_none, NULL);
	assert_true(is_clear(a->e.policy_state, 0, GP__POLICY_ENTITY_WORDS));
	assert_true(is_clear(S.dev[0].policy_state, 0, GP__POLICY_DEV_WORDS));
	/* Ten seconds alone, long ago and under another policy, are nothing to catch up with. */
	policy(&gp__policy_fair, NULL);
	work(b = actor(NORMAL));
	before = gp__entity_used(&a->e, S.now);
	after(GP__S);
	assert_true(near((gp__entity_used(&a->e, S.now) - before) / GP__MS, 500, 30));
	assert_true(near(gp__entity_used(&b->e, S.now) / GP__MS, 500, 30));
}

static void test_a_policy_with_too_much_state_is_refused(void **state)
{
	struct gp__policy greedy = gp__policy_fair;

	(void)state;
	begin(&gp__policy_hpf);
	greedy.entity_bytes = (GP__POLICY_ENTITY_WORDS + 1) * sizeof(u64);
	assert_int_equal(gp__core_set_policy(&S.core, &greedy, NULL, S.now), -EINVAL);
	greedy = gp__policy_fair;
	greedy.dev_bytes = (GP__POLICY_DEV_WORDS + 1) * sizeof(u64);
	assert_int_equal(gp__core_set_policy(&S.core, &greedy, NULL, S.now), -EINVAL);
	assert_ptr_equal(S.core.policy, &gp__policy_hpf);
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
		assert_int_equal(gp__entity_add(&S.user[0], &refused, 99, 1, GP__CLASS_OTHER, "",
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
	assert_int_equal(gp__entity_add(&S.user[0], &e, 0, 1, GP__CLASS_OTHER, "", &h, S.now),
			 -EINVAL);
	assert_int_equal(
		gp__entity_add(&S.user[0], &e, GP__NOBODY, 1, GP__CLASS_OTHER, "", &h, S.now),
		-EINVAL);
}

static void test_tags_are_made_plain(void **state)
{
	struct gp__hints h = { 0 };
	struct gp__entity e;

	(void)state;
	begin(&gp__policy_hpf);
	gp__entity_add(&S.user[0], &e, 1, 1, GP__CLASS_OTHER, "a b=c\n\x1b[31m\xc3\xa4", &h, S.now);
	assert_string_equal(e.tag, "a_b_c__[31m__");
	gp__entity_remove(&e, S.now);
	gp__entity_add(&S.user[0], &e, 1, 1, GP__CLASS_OTHER,
		       "0123456789012345678901234567890123456789", &h, S.now);
	assert_string_equal(e.tag, "0123456789012345678901234567890");
	gp__entity_remove(&e, S.now);
	gp__entity_add(&S.user[0], &e, 1, 1, GP__CLASS_OTHER, NULL, &h, S.now);
	assert_string_equal(e.tag, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(time_never_goes_backwards),
		T(totals_add_up),
		T(a_policy_switch_keeps_totals_and_holds),
		T(parameters_out_of_range_change_nothing),
		T(policies_write_only_the_state_they_declare),
		T(a_policy_begins_with_clear_state),
		T(a_policy_with_too_much_state_is_refused),
		T(hints_out_of_range_change_nothing),
		T(entity_ids_are_checked),
		T(tags_are_made_plain),
	};

	return cmocka_run_group_tests_name("core state", tests, NULL, NULL);
}
