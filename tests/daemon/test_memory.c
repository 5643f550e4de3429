// SPDX-License-Identifier: MIT
/* GPU memory of programs: who measures it, and what policies take for it. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/memory.h"
#include "policy/policy.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)
#define KNOWN GP__WIRE_MEMORY_KNOWN

/*
 * The registry
 */

struct table {
	struct gp__registry r;
	struct gp__program p[2];
	u64 now;
};

static void ignore_order(void *data, struct gp__program_queue *q, const struct gp__action *a)
{
	(void)data;
	(void)q;
	(void)a;
}

static void table_up(struct table *t)
{
	memset(t, 0, sizeof(*t));
	gp__registry_init(&t->r, &gp__policy_drf, ignore_order, NULL);
	for (u32 i = 0; i < 2; i++) {
		struct gp__program *p = &t->p[i];

		p->uid = p->owner = 1000 + i;
		p->user = gp__user_get(&t->r.users, p->owner);
		gp__program_enter(&t->r, p, ++t->now);
	}
}

static void table_down(struct table *t, struct gp__program_queue **q, size_t n)
{
	for (size_t i = 0; i < n; i++)
		gp__program_queue_remove(&t->r, q[i], ++t->now);
	for (u32 i = 0; i < 2; i++) {
		gp__program_leave(&t->p[i]);
		free(t->p[i].devices);
	}
	gp__registry_close(&t->r);
}

static struct gp__program_queue *add(struct table *t, u32 program, s32 prio, u64 size, u64 hint)
{
	struct gp__wire_queue_add m = queue_of(prio, "amd-1", "");
	struct gp__program_queue *q;
	const char *why;

	m.device_memory = size;
	m.hints.memory = hint;
	assert_int_equal(gp__program_queue_add(&t->r, &t->p[program], &m, true, &q, ++t->now, &why),
			 0);
	gp__registry_settle(&t->r, ++t->now);
	return q;
}

static void report(struct table *t, struct gp__program_queue *q, u64 memory)
{
	gp__program_queue_memory(&t->r, q, memory);
	gp__registry_settle(&t->r, ++t->now);
}

/* The memory that the policy sees. */
static u64 counted(const struct gp__program_queue *q)
{
	return q->group->entity.hints.memory;
}

static void look(struct table *t, u32 program, bool known, u64 used)
{
	struct gp__devices *d = calloc(1, sizeof(*d) + sizeof(d->device[0]));

	assert_non_null(d);
	d->nr = 1;
	d->device[0] = (struct gp__device){ .key = "amd-1",
					    .memory = 16 * GIB,
					    .is_open = true,
					    .is_used_known = known,
					    .used = used };
	free(t->p[program].devices);
	t->p[program].devices = d;
	gp__program_place(&t->r, &t->p[program], ++t->now);
	gp__memory_changed(&t->r, &t->p[program]);
	gp__registry_settle(&t->r, ++t->now);
}

static void a_measurement_comes_before_the_hint(void **state)
{
	struct gp__program_queue *q;
	struct table t;
	u64 bytes;

	(void)state;
	table_up(&t);
	q = add(&t, 0, 7, 16 * GIB, 2 * GIB);
	assert_false(gp__group_memory(q->group, &bytes));
	assert_int_equal(counted(q), 2 * GIB);
	report(&t, q, KNOWN | 12 * GIB);
	assert_true(gp__group_memory(q->group, &bytes));
	assert_int_equal(bytes, 12 * GIB);
	assert_int_equal(counted(q), 12 * GIB);
	assert_int_equal(q->group->entity.owner->memory_mib, 12 * GIB / MIB);
	report(&t, q, KNOWN); /* that is 0 bytes, and measured */
	assert_int_equal(counted(q), 0);
	report(&t, q, 0); /* and this is not measured any more */
	assert_false(gp__group_memory(q->group, &bytes));
	assert_int_equal(counted(q), 2 * GIB);
	table_down(&t, &q, 1);
}

static void a_hint_that_changes_does_not_replace_a_measurement(void **state)
{
	struct gp__wire_hints hints = { .prio = 7, .memory = 3 * GIB };
	struct gp__program_queue *q;
	const char *why;
	struct table t;

	(void)state;
	table_up(&t);
	q = add(&t, 0, 7, 16 * GIB, 0);
	report(&t, q, KNOWN | GIB);
	assert_int_equal(gp__program_queue_hints(&t.r, q, &hints, true, ++t.now, &why), 0);
	gp__registry_settle(&t.r, ++t.now);
	assert_int_equal(counted(q), GIB);
	report(&t, q, 0);
	assert_int_equal(counted(q), 3 * GIB);
	table_down(&t, &q, 1);
}

static void the_memory_of_a_program_counts_once(void **state)
{
	struct gp__program_queue *q[3];
	struct table t;

	(void)state;
	table_up(&t);
	q[0] = add(&t, 0, 2, 16 * GIB, 0);
	q[1] = add(&t, 0, 7, 16 * GIB, 0);
	for (int i = 0; i < 2; i++)
		report(&t, q[i], KNOWN | 8 * GIB);
	assert_ptr_not_equal(q[0]->group, q[1]->group);
	assert_int_equal(counted(q[0]), 4 * GIB);
	assert_int_equal(counted(q[1]), 4 * GIB);
	assert_int_equal(q[0]->group->entity.owner->memory_mib, 8 * GIB / MIB);
	gp__program_queue_remove(&t.r, q[1], ++t.now);
	gp__registry_settle(&t.r, ++t.now);
	assert_int_equal(counted(q[0]), 8 * GIB);
	table_down(&t, q, 1);
}

static void a_new_group_of_a_program_takes_the_report_along(void **state)
{
	struct gp__wire_hints hints = { .prio = 9 };
	struct gp__program_queue *q;
	const char *why;
	struct table t;

	(void)state;
	table_up(&t);
	q = add(&t, 0, 7, 16 * GIB, 0);
	report(&t, q, KNOWN | 8 * GIB);
	assert_int_equal(gp__program_queue_hints(&t.r, q, &hints, true, ++t.now, &why), 0);
	gp__registry_settle(&t.r, ++t.now);
	assert_int_equal(q->group->entity.prio, 9);
	assert_int_equal(counted(q), 8 * GIB);
	table_down(&t, &q, 1);
}

/* A client that reports less than it uses gains nothing where the daemon sees it. */
static void the_daemon_believes_its_own_eyes(void **state)
{
	struct gp__program_queue *q;
	struct table t;
	u64 bytes;

	(void)state;
	table_up(&t);
	q = add(&t, 0, 7, 16 * GIB, 0);
	report(&t, q, KNOWN | MIB);
	look(&t, 0, true, 12 * GIB);
	assert_true(gp__group_memory(q->group, &bytes));
	assert_int_equal(bytes, 12 * GIB);
	assert_int_equal(counted(q), 12 * GIB);
	report(&t, q, KNOWN | 2 * MIB);
	assert_int_equal(counted(q), 12 * GIB);
	look(&t, 0, false, 0); /* the driver shows it no more */
	assert_int_equal(counted(q), 2 * MIB);
	table_down(&t, &q, 1);
}

/* The first program says how large a GPU is that the daemon cannot measure. */
static void a_false_size_changes_no_share_but_the_own_one(void **state)
{
	struct gp__program_queue *q[2];
	struct table t;

	(void)state;
	table_up(&t);
	t.r.one_user = false;
	for (u32 i = 0; i < 2; i++) { /* some GPU is open, and not one that it knows */
		look(&t, i, false, 0);
		strcpy(t.p[i].devices->device[0].key, "");
	}
	q[0] = add(&t, 0, 7, 64 * MIB, 0);
	q[1] = add(&t, 1, 7, 16 * GIB, 0);
	assert_ptr_equal(q[0]->group->gpu, q[1]->group->gpu);
	report(&t, q[1], KNOWN | 4 * GIB);
	assert_int_equal(counted(q[1]), 16 * MIB); /* a quarter of it, as before */
	report(&t, q[1], KNOWN | (KNOWN - 1)); /* nor does a silly one overflow */
	assert_true(counted(q[1]) >= 64 * MIB);
	table_down(&t, q, 2);
}

/*
 * The protocol
 */

/* Waits until the daemon shows so much memory; negative: none. */
static void expect_used(struct rig *r, long long bytes)
{
	json_t *answer, *used;
	bool matches;

	for (int i = 0; i < 2000; i++) {
		answer = rig_ask(r, "{\"op\":\"list\"}");
		used = json_object_get(first_group(answer), "memory_used_bytes");
		assert_non_null(used);
		matches = bytes < 0 ? json_is_null(used) : json_integer_value(used) == bytes;
		json_decref(answer);
		if (matches)
			return;
		usleep(5000);
	}
	fail_msg("the daemon never shows %lld bytes", bytes);
}

static void what_the_agent_reports_is_shown(void **state)
{
	struct gp__wire_queue_add m = queue_of(7, "gpu", "");
	struct agent a = { 0 };
	struct rig r;
	u32 slot;

	(void)state;
	rig_up(&r, NULL);
	agent_join(&r, &a, "program");
	assert_true(a.client.version >= 3);
	slot = agent_add(&a, &m);
	expect_used(&r, -1);
	gp__wire_client_memory(&a.client, slot, KNOWN | 700 * MIB);
	expect_used(&r, 700 * MIB);
	gp__wire_client_memory(&a.client, slot, KNOWN);
	expect_used(&r, 0);
	gp__wire_client_memory(&a.client, slot, 0);
	expect_used(&r, -1);
	agent_leave(&a);
	rig_down(&r);
}

/* It maps less of the page, and nothing beyond that is read as its report. */
static void an_agent_of_an_earlier_version_reports_none(void **state)
{
	struct gp__wire_queue_add m = queue_of(7, "gpu", "");
	struct agent a = { 0 };
	struct rig r;
	u32 slot;

	(void)state;
	assert_true(gp__wire_status_bytes(64, 2) < gp__wire_status_bytes(64, 3));
	rig_up(&r, NULL);
	agent_join(&r, &a, "program");
	slot = agent_add(&a, &m);
	a.client.version = 2;
	gp__wire_client_memory(&a.client, slot, KNOWN | 700 * MIB);
	agent_work(&a, slot, true);
	rig_sync(&r);
	expect_used(&r, -1);
	a.client.version = 3;
	agent_leave(&a);
	rig_down(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_measurement_comes_before_the_hint),
		cmocka_unit_test(a_hint_that_changes_does_not_replace_a_measurement),
		cmocka_unit_test(the_memory_of_a_program_counts_once),
		cmocka_unit_test(a_new_group_of_a_program_takes_the_report_along),
		cmocka_unit_test(the_daemon_believes_its_own_eyes),
		cmocka_unit_test(a_false_size_changes_no_share_but_the_own_one),
		cmocka_unit_test(what_the_agent_reports_is_shown),
		cmocka_unit_test(an_agent_of_an_earlier_version_reports_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
