// SPDX-License-Identifier: MIT
/* The metrics of groups: sums that never fall, and a bounded number of names. */
#include "../unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/accounts.h"
#include "daemon/verdict.h"
#include "policy/policy.h"

#define OFFLINE 2
#define NORMAL 7
#define ONLINE 15
#define PROGRAMS 100

struct hall {
	struct gp__registry registry;
	struct gp__program program[PROGRAMS];
	struct gp__program_queue *queue[PROGRAMS];
	u32 nr;
	u64 now;
	u32 nr_orders;
};

static void deliver(void *data, struct gp__program_queue *q, const struct gp__action *a)
{
	struct hall *h = data;

	q->number = ++h->nr_orders;
	q->issued_at = a->time;
}

static int up(void **state)
{
	struct hall *h = calloc(1, sizeof(*h));

	assert_non_null(h);
	h->now = GP__S;
	gp__registry_init(&h->registry, gp__policy_find("hpf"), deliver, h);
	gp__core_configure(&h->registry.core, GP__CFG_LINGER_US, 0, h->now);
	*state = h;
	return 0;
}

static void leave(struct hall *h, u32 i)
{
	if (!h->queue[i])
		return;
	gp__program_queue_remove(&h->registry, h->queue[i], h->now);
	gp__registry_settle(&h->registry, h->now);
	gp__verdict_leave(&h->registry, &h->program[i]);
	gp__program_leave(&h->program[i]);
	h->queue[i] = NULL;
}

static int down(void **state)
{
	struct hall *h = *state;

	for (u32 i = 0; i < h->nr; i++)
		leave(h, i);
	assert_true(h->registry.accounts.next == &h->registry.accounts);
	gp__registry_close(&h->registry);
	free(h);
	return 0;
}

static u32 join(struct hall *h, uid_t uid, const char *name, const char *gpu, s32 prio)
{
	struct gp__wire_queue_add add = { .level = 3, .level_requested = 3, .hints.prio = prio };
	u32 i = h->nr++;
	struct gp__program *p = &h->program[i];
	const char *why;

	assert_true(i < PROGRAMS);
	p->uid = p->owner = uid;
	p->pid = 100 + (pid_t)i;
	p->user = gp__user_get(&h->registry.users, uid);
	gp__wire_text(p->name, sizeof(p->name), name);
	gp__wire_text(add.device, sizeof(add.device), gpu);
	gp__wire_text(add.tag, sizeof(add.tag), name);
	gp__program_enter(&h->registry, p, h->now);
	assert_int_equal(
		gp__program_queue_add(&h->registry, p, &add, false, &h->queue[i], h->now, &why), 0);
	gp__registry_settle(&h->registry, h->now);
	return i;
}

/* All orders are carried out at once. */
static void acknowledge(struct hall *h)
{
	for (u32 i = 0; i < h->nr; i++) {
		struct gp__program_queue *q = h->queue[i];

		while (q && q->waits) {
			gp__program_queue_done(&h->registry, q, q->number, 0, 0, h->now);
			gp__registry_settle(&h->registry, h->now);
		}
	}
}

static void work(struct hall *h, u32 i, bool has_work)
{
	if (has_work)
		gp__queue_ready(&h->queue[i]->core, 1, h->now);
	else
		gp__queue_idle(&h->queue[i]->core, h->now, 0, h->now);
	gp__registry_settle(&h->registry, h->now);
	acknowledge(h);
}

/* The daemon wakes up whenever the core wants to. */
static void pass(struct hall *h, u64 ns)
{
	u64 end = h->now + ns, wake;

	while ((wake = gp__registry_wake(&h->registry)) <= end) {
		h->now = gp__max_u64(wake, h->now);
		gp__registry_settle(&h->registry, h->now);
		acknowledge(h);
	}
	h->now = end;
}

static struct gp__account *account_of(struct hall *h, u32 i)
{
	assert_non_null(h->queue[i]->group->account);
	return h->queue[i]->group->account;
}

static struct gp__totals totals_of(struct hall *h, u32 i)
{
	return gp__account_totals(account_of(h, i), h->now);
}

static struct gp__totals class_totals(struct hall *h, enum gp__class class)
{
	struct gp__totals none = { 0 };
	struct gp__link *l;

	for (l = h->registry.classes.next; l != &h->registry.classes; l = l->next) {
		struct gp__class_account *c = container_of(l, struct gp__class_account, link);

		if (c->class == class)
			return gp__class_account_totals(c, h->now);
	}
	return none;
}

static u64 sum(const u64 by_rule[GP__RULE_COUNT])
{
	u64 all = 0;

	for (u32 i = 0; i < GP__RULE_COUNT; i++)
		all += by_rule[i];
	return all;
}

/* Two offline programs of one name run for 10 ms; then an online one has them held for 20 ms. */
static void play(struct hall *h)
{
	join(h, 1000, "train", "gpu-a", OFFLINE);
	join(h, 1000, "train", "gpu-a", OFFLINE);
	join(h, 1000, "serve", "gpu-a", ONLINE);
	work(h, 0, true);
	work(h, 1, true);
	pass(h, 10 * GP__MS);
	work(h, 2, true);
	pass(h, 20 * GP__MS);
}

static void times_and_rules_are_counted(void **state)
{
	struct hall *h = *state;
	struct gp__totals t;

	play(h);
	t = totals_of(h, 0);
	assert_int_equal(account_of(h, 0), account_of(h, 1));
	assert_int_equal(t.run, 10 * GP__MS);
	assert_int_equal(t.held, 40 * GP__MS);
	assert_int_equal(t.waiting, 40 * GP__MS);
	assert_int_equal(t.holds[GP__RULE_PRIORITY], 2);
	assert_int_equal(sum(t.releases), 0);
	work(h, 2, false);
	t = totals_of(h, 0);
	assert_int_equal(sum(t.holds), 2);
	assert_int_equal(sum(t.releases), 2);
	assert_int_equal(totals_of(h, 2).run, 20 * GP__MS);
	assert_int_equal(totals_of(h, 2).held, 0);
}

/* The first is held for 10 ms more and ends; the other for 20 ms, and has no work in the last 10.
 */
static void a_hold_without_work_is_no_waiting(void **state)
{
	struct hall *h = *state;

	play(h);
	gp__entity_suspend(&h->queue[1]->group->entity, true, h->now);
	pass(h, 10 * GP__MS);
	work(h, 1, false);
	leave(h, 0);
	pass(h, 10 * GP__MS);
	assert_int_equal(totals_of(h, 1).waiting, 60 * GP__MS);
	assert_int_equal(totals_of(h, 1).held, 70 * GP__MS);
}

static void no_sum_falls_when_a_group_ends(void **state)
{
	struct hall *h = *state;
	struct gp__totals before, after;

	play(h);
	before = totals_of(h, 1);
	leave(h, 0);
	after = totals_of(h, 1);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(account_of(h, 1)->nr_groups, 1);
	leave(h, 1);
	after = class_totals(h, GP__CLASS_OFFLINE);
	assert_memory_equal(&before, &after, sizeof(before));
}

static void a_program_that_returns_goes_on_where_its_class_was(void **state)
{
	struct hall *h = *state;
	struct gp__totals before;

	play(h);
	leave(h, 0);
	leave(h, 1);
	before = class_totals(h, GP__CLASS_OFFLINE);
	join(h, 1000, "train", "gpu-a", OFFLINE);
	assert_int_equal(totals_of(h, 3).run, 0);
	assert_int_equal(class_totals(h, GP__CLASS_OFFLINE).run, before.run);
	assert_int_equal(account_of(h, 3)->class->nr_joined, 3);
}

static void another_priority_leaves_the_past_to_the_old_class(void **state)
{
	struct hall *h = *state;
	struct gp__hints hints = { .prio = NORMAL };
	struct gp__totals before;

	play(h);
	before = class_totals(h, GP__CLASS_OFFLINE);
	gp__verdict_set(&h->registry, h->queue[0]->group, GP__HINT_PRIO, &hints, true, h->now);
	gp__registry_settle(&h->registry, h->now);
	assert_int_equal(account_of(h, 0)->class->class, GP__CLASS_NORMAL);
	assert_int_equal(class_totals(h, GP__CLASS_OFFLINE).held, before.held);
	assert_int_equal(class_totals(h, GP__CLASS_NORMAL).held, 0);
	pass(h, 5 * GP__MS);
	assert_int_equal(class_totals(h, GP__CLASS_OFFLINE).held, before.held + 5 * GP__MS);
	assert_int_equal(class_totals(h, GP__CLASS_NORMAL).held, 5 * GP__MS);
	leave(h, 0);
	assert_int_equal(class_totals(h, GP__CLASS_NORMAL).held, 5 * GP__MS);
}

/* The daemon has found that it has the GPU open, and moves it to the one that users share. */
static void a_group_that_moves_leaves_the_past_to_the_old_gpu(void **state)
{
	struct hall *h = *state;
	struct gp__devices *d = calloc(1, sizeof(*d) + sizeof(d->device[0]));
	struct gp__totals before;
	u32 old_gpu;

	assert_non_null(d);
	d->nr = 1;
	d->device[0].is_open = true;
	play(h);
	work(h, 2, false);
	leave(h, 1);
	pass(h, 10 * GP__MS);
	before = totals_of(h, 0);
	old_gpu = account_of(h, 0)->class->gpu;
	h->program[0].devices = d;
	gp__program_place(&h->registry, &h->program[0], h->now);
	gp__registry_settle(&h->registry, h->now);
	acknowledge(h);
	assert_int_not_equal(account_of(h, 0)->class->gpu, old_gpu);
	assert_int_equal(class_totals(h, GP__CLASS_OFFLINE).run, before.run);
	assert_int_equal(class_totals(h, GP__CLASS_OFFLINE).held, before.held);
	assert_int_equal(totals_of(h, 0).run, 0);
	assert_int_equal(sum(totals_of(h, 0).holds), 0);
	work(h, 0, false);
	work(h, 0, true);
	pass(h, 5 * GP__MS);
	assert_int_equal(totals_of(h, 0).run, 5 * GP__MS);
	leave(h, 0);
	h->program[0].devices = NULL;
	free(d);
}

static u32 count_named(struct hall *h, uid_t uid, const char *name)
{
	struct gp__link *l;
	u32 nr = 0;

	for (l = h->registry.accounts.next; l != &h->registry.accounts; l = l->next) {
		struct gp__account *a = container_of(l, struct gp__account, link);

		nr += a->class->uid == uid && (!name || !strcmp(a->program, name));
	}
	return nr;
}

static void names_are_bounded(void **state)
{
	struct hall *h = *state;
	char name[16];

	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "program-%d", i);
		join(h, 1000, name, "gpu-a", OFFLINE);
	}
	assert_int_equal(count_named(h, 1000, NULL), GP__NAMES_MAX + 1);
	assert_int_equal(count_named(h, 1000, "other"), 1);
	assert_int_equal(account_of(h, 39)->nr_groups, 8);
	assert_string_equal(account_of(h, 39)->tag, "other");
	/* A name that has an account keeps it, and another user has names of its own. */
	join(h, 1000, "program-3", "gpu-a", OFFLINE);
	assert_int_equal(account_of(h, 40), account_of(h, 3));
	join(h, 1001, "program-99", "gpu-a", OFFLINE);
	assert_int_equal(count_named(h, 1001, "program-99"), 1);
	/* Names of programs that have ended make room. */
	leave(h, 0);
	join(h, 1000, "program-39", "gpu-a", OFFLINE);
	assert_int_equal(count_named(h, 1000, "program-39"), 1);
	assert_int_equal(count_named(h, 1000, NULL), GP__NAMES_MAX + 1);
}

static struct gp__workload workload_of(const char *cgroup)
{
	struct gp__workload w;

	gp__workload_of(&w, cgroup);
	return w;
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"

static void control_groups_name_containers_pods_and_jobs(void **state)
{
	static const struct {
		const char *cgroup, *job, *pod, *container;
	} cases[] = {
		{ "", "", "", "" },
		{ "/", "", "", "" },
		{ "/user.slice/user-1000.slice/session-2.scope", "", "", "" },
		{ "/system.slice/docker-" ID ".scope", "", "", ID },
		{ "/docker/" ID, "", "", ID },
		{ "/machine.slice/libpod-" ID ".scope/container", "", "", ID },
		{ "/kubepods.slice/kubepods-burstable.slice/"
		  "kubepods-burstable-pod0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9.slice/"
		  "cri-containerd-" ID ".scope",
		  "", POD, ID },
		{ "/kubepods/besteffort/pod" POD "/" ID, "", POD, ID },
		{ "/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0", "4711", "", "" },
		{ "/slurm/uid_1000/job_12", "12", "", "" },
		{ "/user.slice/job_12", "", "", "" },
		{ "/slurm/job_12x/job_/job_99999999999999999999999", "", "", "" },
		{ "/docker/" ID "0", "", "", "" },
		{ "/kubepods/pod0a1b2c3d-4e5f-6071-8293", "", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gp__workload w = workload_of(cases[i].cgroup);

		assert_string_equal(w.job_id, cases[i].job);
		assert_string_equal(w.pod_uid, cases[i].pod);
		assert_string_equal(w.container_id, cases[i].container);
	}
}

/* The control group is known some time after the program has joined. */
static void a_container_has_an_account_of_its_own(void **state)
{
	struct hall *h = *state;
	struct gp__lineage lineage = { .nr = 1, .up[0] = { .pid = 100 }, .cgroup = "/docker/" ID };
	u64 held;

	play(h);
	held = class_totals(h, GP__CLASS_OFFLINE).held;
	gp__verdict_judge(&h->registry, &h->program[0], &lineage, h->now);
	assert_int_not_equal(account_of(h, 0), account_of(h, 1));
	assert_string_equal(account_of(h, 0)->workload.container_id, ID);
	assert_string_equal(account_of(h, 0)->program, "train");
	assert_int_equal(account_of(h, 0)->class->nr_joined, 2);
	assert_int_equal(class_totals(h, GP__CLASS_OFFLINE).held, held);
	assert_int_equal(totals_of(h, 0).held, 0);
	pass(h, 5 * GP__MS);
	assert_int_equal(totals_of(h, 0).held, 5 * GP__MS);
	/* Its earlier sums stay where they were counted. */
	assert_int_equal(totals_of(h, 1).held, held + 5 * GP__MS);
}

static void classes_without_groups_are_bounded(void **state)
{
	struct hall *h = *state;
	struct gp__link *l;
	char name[16];
	u32 nr = 0;

	for (int i = 0; i < PROGRAMS; i++) {
		snprintf(name, sizeof(name), "gpu-%d", i);
		leave(h, join(h, 1000, "train", name, OFFLINE));
	}
	for (l = h->registry.classes.next; l != &h->registry.classes; l = l->next, nr++)
		;
	assert_int_equal(nr, GP__CLASSES_PER_USER);
	snprintf(name, sizeof(name), "gpu-%d", PROGRAMS - 1);
	assert_string_equal(
		container_of(h->registry.classes.prev, struct gp__class_account, link)->key, name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(times_and_rules_are_counted, up, down),
		cmocka_unit_test_setup_teardown(a_hold_without_work_is_no_waiting, up, down),
		cmocka_unit_test_setup_teardown(no_sum_falls_when_a_group_ends, up, down),
		cmocka_unit_test_setup_teardown(a_program_that_returns_goes_on_where_its_class_was,
						up, down),
		cmocka_unit_test_setup_teardown(another_priority_leaves_the_past_to_the_old_class,
						up, down),
		cmocka_unit_test_setup_teardown(a_group_that_moves_leaves_the_past_to_the_old_gpu,
						up, down),
		cmocka_unit_test_setup_teardown(names_are_bounded, up, down),
		cmocka_unit_test(control_groups_name_containers_pods_and_jobs),
		cmocka_unit_test_setup_teardown(a_container_has_an_account_of_its_own, up, down),
		cmocka_unit_test_setup_teardown(classes_without_groups_are_bounded, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
