// SPDX-License-Identifier: MIT
/* Gangs of programs, by name: who is in them, and how long they wait. Time is the test's. */
#include "users.h"

#include <errno.h>
#include <string.h>

#include "daemon/gangs.h"
#include "policy/policy.h"

#define PROGRAMS 20

struct scene {
	struct gp__registry r;
	struct gp__program p[PROGRAMS];
	struct gp__program_queue *q[PROGRAMS];
	u64 now;
	const char *why;
};

static void ignore_order(void *data, struct gp__program_queue *q, const struct gp__action *a)
{
	(void)data;
	(void)a;
	q->waits = false;
	gp__queue_ack(&q->core, 0, a->time);
}

static void settle(struct scene *s)
{
	gp__registry_settle(&s->r, s->now);
}

static void begin(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	gp__registry_init(&s->r, gp__policies[0], ignore_order, NULL);
	s->r.one_user = true;
	s->now = GP__S;
}

/* A program of the user with a queue on this GPU that has work. */
static void enter(struct scene *s, int i, uid_t uid, const char *gpu)
{
	struct gp__wire_queue_add add = queue_of(OFFLINE, gpu, "");
	struct gp__program *p = &s->p[i];

	p->uid = p->owner = uid;
	p->user = gp__user_get(&s->r.users, uid);
	gp__program_enter(&s->r, p, s->now);
	assert_int_equal(gp__program_queue_add(&s->r, p, &add, true, &s->q[i], s->now, &s->why), 0);
	s->q[i]->work = 1;
	gp__queue_ready(&s->q[i]->core, 1, s->now);
	settle(s);
}

static int join_gang(struct scene *s, int i, const char *name, u32 members, u32 flags)
{
	struct gp__wire_gang m = { .members = members, .flags = flags };
	int err;

	gp__wire_text(m.name, sizeof(m.name), name);
	err = gp__program_join_gang(&s->r, &s->p[i], &m, true, s->now, &s->why);
	assert_int_equal(err != 0, s->why != NULL);
	settle(s);
	return err;
}

static void leave(struct scene *s, int i)
{
	if (s->q[i])
		gp__program_queue_remove(&s->r, s->q[i], s->now);
	s->q[i] = NULL;
	gp__program_leave_gang(&s->r, &s->p[i], s->now);
	if (s->p[i].user)
		gp__program_leave(&s->p[i]);
	s->p[i].user = NULL;
	settle(s);
}

static void end(struct scene *s)
{
	for (int i = 0; i < PROGRAMS; i++)
		leave(s, i);
	assert_true(gp__list_empty(&s->r.gangs));
	assert_true(gp__list_empty(&s->r.core.gangs));
	gp__registry_close(&s->r);
}

static bool held(const struct scene *s, int i)
{
	return s->q[i]->verb == GP__WIRE_HOLD;
}

static enum gp__wire_gang_state state_of(const struct scene *s, int i)
{
	return gp__program_gang_state(&s->p[i]);
}

static void a_gang_waits_for_its_members(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	enter(&s, 0, ALICE, "gpu-a");
	assert_int_equal(join_gang(&s, 0, "ranks", 2, 0), 0);
	assert_true(held(&s, 0));
	assert_int_equal(state_of(&s, 0), GP__WIRE_GANG_WAITS);
	assert_int_equal(gp__registry_wake(&s.r), s.now + 30 * GP__S);
	s.now += 30 * GP__S - 1;
	settle(&s);
	assert_true(held(&s, 0));
	enter(&s, 1, ALICE, "gpu-b");
	assert_int_equal(join_gang(&s, 1, "ranks", 2, 0), 0);
	assert_false(held(&s, 0) || held(&s, 1));
	assert_int_equal(state_of(&s, 0), GP__WIRE_GANG_TOGETHER);
	s.now += GP__S;
	settle(&s);
	assert_int_equal(state_of(&s, 1), GP__WIRE_GANG_TOGETHER);
	/* Nobody needs to know of the work of a program that is alone, except its gang. */
	assert_false(gp__program_is_alone(&s.p[0]));
	/* The other one goes on by itself. */
	leave(&s, 0);
	assert_false(held(&s, 1));
	end(&s);
}

static void a_gang_gives_up_after_30_seconds(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	enter(&s, 0, ALICE, "gpu-a");
	enter(&s, 1, ALICE, "gpu-b");
	assert_int_equal(join_gang(&s, 0, "ranks", 3, 0), 0);
	assert_int_equal(join_gang(&s, 1, "ranks", 3, 0), 0);
	s.now += 30 * GP__S;
	settle(&s);
	assert_false(held(&s, 0) || held(&s, 1));
	assert_int_equal(state_of(&s, 0), GP__WIRE_GANG_GAVE_UP);
	assert_int_equal(s.p[0].user->nr_ganged, 0);
	assert_true(gp__program_is_alone(&s.p[0]));
	/* A member that comes later is told. */
	enter(&s, 2, ALICE, "gpu-c");
	assert_int_equal(join_gang(&s, 2, "ranks", 3, 0), -EINVAL);
	assert_false(held(&s, 2));
	/* When all have ended, the name is free again. */
	leave(&s, 0);
	leave(&s, 1);
	assert_int_equal(join_gang(&s, 2, "ranks", 2, 0), 0);
	assert_true(held(&s, 2));
	end(&s);
}

/* After a restart of the daemon, a survivor does not wait for those that have ended. */
static void a_gang_that_was_complete_does_not_wait_again(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	enter(&s, 0, ALICE, "gpu-a");
	assert_int_equal(join_gang(&s, 0, "ranks", 2, GP__WIRE_GANG_FORMED), 0);
	assert_false(held(&s, 0));
	end(&s);
}

static void users_do_not_share_gangs(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	enter(&s, 0, ALICE, "gpu-a");
	enter(&s, 1, MALLORY, "gpu-b");
	assert_int_equal(join_gang(&s, 0, "ranks", 2, 0), 0);
	assert_int_equal(join_gang(&s, 1, "ranks", 2, 0), 0);
	assert_ptr_not_equal(s.p[0].gang, s.p[1].gang);
	assert_true(held(&s, 0) && held(&s, 1));
	end(&s);
}

static void a_gang_has_one_program_on_each_gpu(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	enter(&s, 0, ALICE, "gpu-a");
	enter(&s, 1, ALICE, "gpu-a");
	assert_int_equal(join_gang(&s, 0, "ranks", 0, 0), 0);
	assert_int_equal(join_gang(&s, 1, "ranks", 0, 0), 0);
	assert_int_equal(state_of(&s, 0), GP__WIRE_GANG_TOGETHER);
	assert_int_equal(state_of(&s, 1), GP__WIRE_GANG_PARTLY);
	assert_false(held(&s, 0) || held(&s, 1));
	end(&s);
}

static void what_a_gang_cannot_be_is_refused(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	for (int i = 0; i < 4; i++)
		enter(&s, i, ALICE, (const char *[]){ "a", "b", "c", "d" }[i]);
	assert_int_equal(join_gang(&s, 0, "", 2, 0), -EINVAL);
	assert_int_equal(join_gang(&s, 0, "ranks", 65, 0), -EINVAL);
	assert_int_equal(join_gang(&s, 0, "ranks", 2, 0), 0);
	assert_int_equal(join_gang(&s, 0, "others", 2, 0), -EINVAL);
	assert_int_equal(join_gang(&s, 1, "ranks", 3, 0), -EINVAL);
	assert_int_equal(join_gang(&s, 1, "ranks", 0, 0), 0);
	assert_int_equal(join_gang(&s, 2, "ranks", 2, 0), -EINVAL);
	end(&s);
}

static void the_number_of_gangs_of_a_user_is_bounded(void **state)
{
	char name[16], gpu[16];
	struct scene s;

	(void)state;
	begin(&s);
	for (int i = 0; i <= GP__USER_GANGS_MAX; i++) {
		snprintf(name, sizeof(name), "gang-%d", i);
		snprintf(gpu, sizeof(gpu), "gpu-%d", i);
		enter(&s, i, ALICE, gpu);
		assert_int_equal(join_gang(&s, i, name, 2, 0),
				 i < GP__USER_GANGS_MAX ? 0 : -EDQUOT);
	}
	assert_int_equal(s.p[0].user->refused[GP__BUDGET_GANGS], 1);
	/* Another user notices nothing. */
	enter(&s, 18, MALLORY, "gpu-0");
	assert_int_equal(join_gang(&s, 18, "gang-0", 0, 0), 0);
	assert_false(held(&s, 18));
	end(&s);
}

/*
 * Ranks
 */

static int join_rank(struct scene *s, int i, u32 rank, u32 size)
{
	return join_gang(s, i, "torchrun-1", size, GP__WIRE_GANG_RANKS | rank << 8);
}

/* A more urgent program gets work there. */
static void rival(struct scene *s, int i, const char *gpu)
{
	struct gp__wire_queue_add add = queue_of(ONLINE, gpu, "");
	struct gp__program *p = &s->p[i];

	p->uid = p->owner = MALLORY;
	p->user = gp__user_get(&s->r.users, MALLORY);
	gp__program_enter(&s->r, p, s->now);
	assert_int_equal(gp__program_queue_add(&s->r, p, &add, true, &s->q[i], s->now, &s->why), 0);
	s->q[i]->work = 1;
	gp__queue_ready(&s->q[i]->core, 1, s->now);
	settle(s);
}

static void ranks_are_held_when_all_are_there(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	enter(&s, 0, ALICE, "gpu-a");
	assert_int_equal(join_rank(&s, 0, 0, 2), 0);
	rival(&s, 2, "gpu-a");
	assert_false(held(&s, 0));
	assert_int_equal(state_of(&s, 0), GP__WIRE_GANG_FREE);
	assert_string_equal(s.p[0].free, "ranks are missing");
	/* Another program of the same rank is not the other rank. */
	enter(&s, 3, ALICE, "gpu-c");
	assert_int_equal(join_rank(&s, 3, 0, 2), 0);
	assert_false(held(&s, 0));
	leave(&s, 3);
	enter(&s, 1, ALICE, "gpu-b");
	assert_int_equal(join_rank(&s, 1, 1, 2), 0);
	assert_int_equal(state_of(&s, 0), GP__WIRE_GANG_TOGETHER);
	assert_null(s.p[0].free);
	assert_true(held(&s, 0) && held(&s, 1));
	/* The rest of a job is not held for one that has ended. */
	leave(&s, 1);
	assert_false(held(&s, 0));
	assert_int_equal(state_of(&s, 0), GP__WIRE_GANG_FREE);
	end(&s);
}

static void ranks_on_one_gpu_are_not_held(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	for (int i = 0; i < 2; i++) {
		enter(&s, i, ALICE, "gpu-a");
		assert_int_equal(join_rank(&s, i, (u32)i, 2), 0);
	}
	rival(&s, 2, "gpu-a");
	assert_false(held(&s, 0) || held(&s, 1));
	assert_string_equal(s.p[1].free, "two of them on one GPU, or too many");
	assert_int_equal(s.p[0].user->nr_ganged, 0);
	assert_true(gp__list_empty(&s.r.core.gangs));
	end(&s);
}

static void ranks_on_other_hosts_are_missing(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	for (int i = 0; i < 2; i++) {
		enter(&s, i, ALICE, i ? "gpu-b" : "gpu-a");
		assert_int_equal(join_rank(&s, i, 14 + (u32)i, 16), 0);
	}
	rival(&s, 2, "gpu-b");
	assert_false(held(&s, 0) || held(&s, 1));
	enter(&s, 3, ALICE, "gpu-c");
	assert_int_equal(join_gang(&s, 3, "large", 1000, GP__WIRE_GANG_RANKS | 999 << 8), 0);
	assert_string_equal(s.p[3].free, "more than 64 ranks");
	end(&s);
}

/* For how many of 1000 moments each of two users' programs is held. */
static void count_holds(const struct gp__policy *policy, bool lies, u32 nr[2])
{
	struct scene s;

	nr[0] = nr[1] = 0;
	begin(&s);
	assert_int_equal(gp__core_set_policy(&s.r.core, policy, NULL, s.now), 0);
	enter(&s, 0, ALICE, "gpu-a");
	enter(&s, 1, MALLORY, "gpu-a");
	if (lies)
		assert_int_equal(join_rank(&s, 1, 0, 2), 0);
	for (int i = 0; i < 1000; i++) {
		s.now += 10 * GP__MS;
		settle(&s);
		nr[0] += held(&s, 0);
		nr[1] += held(&s, 1);
	}
	end(&s);
}

/* To say that it is a rank costs nothing. The time for which it runs unheld is charged all the
 * same, so that it has no turn for which others would be held. */
static void a_false_rank_gets_no_more_than_its_share(void **state)
{
	static const char *const names[] = { "fair", "share", "drf" };
	u32 nr[2];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		count_holds(gp__policy_find(names[i]), false, nr);
		assert_true(nr[0] > 400 && nr[1] > 400);
		count_holds(gp__policy_find(names[i]), true, nr);
		print_message("%s: %u and %u of 1000\n", names[i], nr[0], nr[1]);
		assert_true(nr[0] < 100);
		assert_int_equal(nr[1], 0);
	}
}

static void wrong_ranks_are_refused(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	enter(&s, 0, ALICE, "gpu-a");
	assert_int_equal(join_rank(&s, 0, 2, 2), -EINVAL);
	assert_int_equal(join_rank(&s, 0, 0, 1), -EINVAL);
	assert_int_equal(join_rank(&s, 0, 0, GP__WIRE_RANKS_MAX + 1), -EINVAL);
	assert_int_equal(join_rank(&s, 0, 0, 2), 0);
	enter(&s, 1, ALICE, "gpu-b");
	assert_int_equal(join_gang(&s, 1, "torchrun-1", 2, 0), -EINVAL);
	end(&s);
}

static void a_rank_beyond_the_limit_of_gangs_is_not_held(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	enter(&s, 0, ALICE, "gpu-a");
	s.p[0].user->nr_gangs = GP__USER_GANGS_MAX;
	assert_int_equal(join_rank(&s, 0, 0, 2), -EDQUOT);
	s.p[0].user->nr_gangs = 0;
	rival(&s, 2, "gpu-a");
	assert_false(held(&s, 0));
	end(&s);
}

static void the_operator_holds_a_rank_that_is_not_tied(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	enter(&s, 0, ALICE, "gpu-a");
	assert_int_equal(join_rank(&s, 0, 0, 2), 0);
	gp__group_suspend(s.q[0]->group, true, s.now);
	settle(&s);
	assert_true(held(&s, 0));
	gp__group_suspend(s.q[0]->group, false, s.now);
	settle(&s);
	assert_false(held(&s, 0));
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gang_waits_for_its_members),
		cmocka_unit_test(a_gang_gives_up_after_30_seconds),
		cmocka_unit_test(a_gang_that_was_complete_does_not_wait_again),
		cmocka_unit_test(users_do_not_share_gangs),
		cmocka_unit_test(a_gang_has_one_program_on_each_gpu),
		cmocka_unit_test(what_a_gang_cannot_be_is_refused),
		cmocka_unit_test(the_number_of_gangs_of_a_user_is_bounded),
		cmocka_unit_test(ranks_are_held_when_all_are_there),
		cmocka_unit_test(ranks_on_one_gpu_are_not_held),
		cmocka_unit_test(ranks_on_other_hosts_are_missing),
		cmocka_unit_test(a_false_rank_gets_no_more_than_its_share),
		cmocka_unit_test(wrong_ranks_are_refused),
		cmocka_unit_test(a_rank_beyond_the_limit_of_gangs_is_not_held),
		cmocka_unit_test(the_operator_holds_a_rank_that_is_not_tied),
	};

	return cmocka_run_group_tests_name("gangs", tests, NULL, NULL);
}
