// SPDX-License-Identifier: MIT
/* Which summaries of ended groups are kept, of many users. */
#include "../unit/test.h"

#include <string.h>

#include "daemon/ended.h"
#include "policy/policy.h"

enum { FULL = GP__ENDED_MAX / GP__ENDED_PER_USER, FIRST_UID = 1000 };

static void deliver(void *data, struct gp__program_queue *q, const struct gp__action *a)
{
	(void)data;
	(void)q;
	(void)a;
}

static int up(void **state)
{
	static struct gp__registry r;

	memset(&r, 0, sizeof(r));
	gp__registry_init(&r, gp__policy_find("hpf"), deliver, NULL);
	*state = &r;
	return 0;
}

static int down(void **state)
{
	struct gp__registry *r = *state;

	gp__registry_close(r);
	assert_true(r->ended.next == &r->ended && r->ended_users.next == &r->ended_users);
	return 0;
}

/* A group of a program with this pid ends. */
static void end_group(struct gp__registry *r, uid_t uid, pid_t pid)
{
	struct gp__program program = { .uid = uid, .pid = pid, .since = (u64)pid };
	struct gp__gpu gpu = { .dev.id = 0 };
	struct gp__group group = { .program = &program, .gpu = &gpu };

	group.entity.dev = &gpu.dev;
	gp__ended_keep(r, &group, 1000000);
}

static u32 count(const struct gp__registry *r, uid_t uid, pid_t *oldest)
{
	struct gp__link *l;
	u32 nr = 0;

	*oldest = 0;
	for (l = r->ended.prev; l != &r->ended; l = l->prev) {
		const struct gp__ended *e = container_of(l, struct gp__ended, link);

		if (e->uid != uid)
			continue;
		nr++;
		*oldest = e->pid;
	}
	return nr;
}

static void fill(struct gp__registry *r)
{
	for (int i = 0; i < FULL; i++) {
		for (int n = 1; n <= GP__ENDED_PER_USER; n++)
			end_group(r, FIRST_UID + (uid_t)i, n);
	}
	assert_int_equal(r->nr_ended, GP__ENDED_MAX);
}

static void the_latest_64_of_a_user_are_kept(void **state)
{
	struct gp__registry *r = *state;
	pid_t oldest;

	end_group(r, 7, 1);
	for (int n = 1; n <= 1000; n++)
		end_group(r, FIRST_UID, n);
	assert_int_equal(count(r, FIRST_UID, &oldest), 64);
	assert_int_equal(oldest, 1000 - 63);
	assert_int_equal(count(r, 7, &oldest), 1);
}

static void where_all_are_full_the_largest_user_gives_way(void **state)
{
	struct gp__registry *r = *state;
	pid_t oldest;

	fill(r);
	for (int n = 1; n <= FULL; n++)
		end_group(r, 7, n);
	assert_int_equal(r->nr_ended, GP__ENDED_MAX);
	assert_int_equal(count(r, 7, &oldest), FULL);
	for (int i = 0; i < FULL; i++) {
		assert_int_equal(count(r, FIRST_UID + (uid_t)i, &oldest), GP__ENDED_PER_USER - 1);
		assert_int_equal(oldest, 2);
	}
}

static void users_with_one_group_each_replace_one_another(void **state)
{
	struct gp__registry *r = *state;
	pid_t oldest;

	for (int i = 0; i < GP__ENDED_MAX; i++)
		end_group(r, FIRST_UID + (uid_t)i, 1);
	/* The first user has as many as each other one, and is the first of the largest. */
	end_group(r, FIRST_UID, 2);
	assert_int_equal(r->nr_ended, GP__ENDED_MAX);
	assert_int_equal(count(r, FIRST_UID, &oldest), 1);
	assert_int_equal(oldest, 2);
}

static void a_group_that_ends_again_has_one_summary(void **state)
{
	struct gp__registry *r = *state;
	pid_t oldest;

	fill(r);
	for (int n = 0; n < 10; n++)
		end_group(r, FIRST_UID, GP__ENDED_PER_USER);
	assert_int_equal(count(r, FIRST_UID, &oldest), GP__ENDED_PER_USER);
	assert_int_equal(oldest, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_latest_64_of_a_user_are_kept, up, down),
		cmocka_unit_test_setup_teardown(where_all_are_full_the_largest_user_gives_way, up,
						down),
		cmocka_unit_test_setup_teardown(users_with_one_group_each_replace_one_another, up,
						down),
		cmocka_unit_test_setup_teardown(a_group_that_ends_again_has_one_summary, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
