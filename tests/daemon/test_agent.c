// SPDX-License-Identifier: MIT
/* The agent of a joined program, with a device that only remembers what it was told. */
#include "rig.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit/host.h"
#include "base/clock.h"
#include "join/agent.h"

#define OFFLINE 2
#define ONLINE 15
#define QUEUES 100

struct program {
	struct gp__agent *agent;
	struct gp__request request;
	struct gp__port *port;
	_Atomic bool stopped[QUEUES];
	_Atomic u32 weight[QUEUES];
	_Atomic u32 started[QUEUES]; /* in their order */
	_Atomic u32 nr_started;
	_Atomic unsigned int stops, starts, calls;
	_Atomic int refuse; /* the result of a hold */
	_Atomic int refuse_start;
	_Atomic bool replaces; /* a queue goes while it is stopped, and another has its id */
	_Atomic unsigned int said;
	_Atomic bool unscheduled; /* of what was said last */
	_Atomic int alone; /* 1: told that it is; -1: that it is not */
	_Atomic u64 memory; /* 0: it cannot be measured */
	_Atomic unsigned int measured;
	char text[512];
};

static void add(struct program *p, u32 id, s32 prio);

static void set(struct program *p, const u32 *ids, int *results, size_t n, bool stopped)
{
	p->calls++;
	if (stopped && atomic_exchange(&p->replaces, false)) {
		gp__port_remove(p->port, ids[0]);
		add(p, ids[0], OFFLINE);
	}
	for (size_t i = 0; i < n; i++) {
		results[i] = stopped ? p->refuse : p->refuse_start;
		if (results[i])
			continue;
		p->stopped[ids[i]] = stopped;
		if (!stopped && p->nr_started < QUEUES) {
			p->started[p->nr_started] = ids[i];
			p->nr_started++;
		}
		*(stopped ? &p->stops : &p->starts) += 1;
	}
}

static void stop(void *data, const u32 *ids, int *results, size_t n)
{
	set(data, ids, results, n, true);
}

static void start(void *data, const u32 *ids, int *results, size_t n)
{
	set(data, ids, results, n, false);
}

static int weigh(void *data, u32 id, u32 weight)
{
	struct program *p = data;

	p->weight[id] = weight;
	return 0;
}

static void hear_alone(void *data, bool alone)
{
	struct program *p = data;

	p->alone = alone ? 1 : -1;
}

static void hear(void *data, const char *text, bool unscheduled)
{
	struct program *p = data;

	p->unscheduled = unscheduled;
	snprintf(p->text, sizeof(p->text), "%s", text);
	p->said++;
}

static bool measure(void *data, const char *device, u64 *bytes)
{
	struct program *p = data;

	p->measured++;
	*bytes = p->memory;
	return *bytes && !strcmp(device, "gpu");
}

static void program_begins(struct program *p, const char *socket)
{
	static const struct gp__queue_ops ops = { .hold = stop,
						  .release = start,
						  .weigh = weigh,
						  .memory = measure,
						  .alone = hear_alone };
	struct gp__agent_options o = {
		.path = socket, .program = "program", .say = hear, .data = p
	};

	memset(p, 0, sizeof(*p));
	assert_int_equal(gp__agent_create(&o, &p->agent), 0);
	p->port = gp__agent_open(p->agent, &p->request, &ops);
	assert_non_null(p->port);
	gp__agent_bind(p->port, p);
}

static void add_weighed(struct program *p, u32 id, s32 prio, u32 weigh_flags)
{
	struct gp__queue_desc q = { .id = id,
				    .level = 3,
				    .weigh_flags = weigh_flags,
				    .device = "gpu",
				    .device_name = "a GPU" };

	p->request.hints.prio = prio;
	assert_int_equal(gp__port_add(p->port, &q), 0);
}

/* A queue to which the program gives a priority among its own. */
static void add_own(struct program *p, u32 id, s32 own)
{
	const struct gp__queue_desc q = {
		.id = id, .level = 3, .own = own, .has_own = true, .device = "gpu"
	};

	assert_int_equal(gp__port_add(p->port, &q), 0);
}

/* Gives one of the queues another priority than the program's. */
static void set_apart(struct program *p, u32 id, s32 prio)
{
	p->request.splits = true;
	p->request.hints.prio = prio - 1;
	gp__port_prioritize(p->port, id, 1);
}

static void add(struct program *p, u32 id, s32 prio)
{
	add_weighed(p, id, prio, 0);
}

static void work(struct program *p, u32 id, bool has_work)
{
	gp__port_work(p->port, id, has_work, has_work, gp__clock_ns());
}

/* Waits until an expression is true. */
#define EVENTUALLY(condition)                                    \
	do {                                                     \
		u64 end_ = gp__clock_ns() + 20 * GP__S;          \
		while (!(condition)) {                           \
			if (gp__clock_ns() > end_)               \
				fail_msg("not: %s", #condition); \
			usleep(500);                             \
		}                                                \
	} while (0)

static bool is_connected(struct program *p, u32 nr_queues)
{
	struct gp__agent_state state;

	gp__agent_state(p->agent, &state);
	return state.connected && state.nr_queues == nr_queues;
}

static u32 nr_groups(struct rig *r)
{
	json_t *answer = rig_ask(r, "{\"op\":\"list\"}");
	u32 n = (u32)json_array_size(json_object_get(answer, "groups"));

	json_decref(answer);
	return n;
}

struct two {
	struct rig rig;
	struct program offline, online;
};

static void two_up_with(struct two *t, const char *config)
{
	rig_up(&t->rig, config);
	program_begins(&t->offline, t->rig.socket);
	program_begins(&t->online, t->rig.socket);
	add(&t->offline, 1, OFFLINE);
	add(&t->online, 1, ONLINE);
	EVENTUALLY(nr_groups(&t->rig) == 2);
}

static void two_up(struct two *t)
{
	two_up_with(t, "[daemon]\nttl = 300ms\n");
}

static void two_down(struct two *t)
{
	gp__agent_destroy(t->offline.agent);
	gp__agent_destroy(t->online.agent);
}

static void the_patient_is_stopped_and_started(void **state)
{
	struct two t;

	(void)state;
	two_up(&t);
	work(&t.offline, 1, true);
	for (int i = 0; i < 50; i++) {
		work(&t.online, 1, true);
		EVENTUALLY(t.offline.stopped[1]);
		work(&t.online, 1, false);
		EVENTUALLY(!t.offline.stopped[1]);
	}
	assert_int_equal(t.online.stops, 0);
	two_down(&t);
	rig_down(&t.rig);
}

/* The second never was, and nothing changes for it when it comes. */
static void both_are_told_that_they_are_not_alone(void **state)
{
	struct two t;

	(void)state;
	two_up(&t);
	EVENTUALLY(t.offline.alone == -1);
	EVENTUALLY(t.online.alone == -1);
	gp__port_remove(t.offline.port, 1);
	EVENTUALLY(t.online.alone == 1);
	two_down(&t);
	rig_down(&t.rig);
}

static void queues_of_a_program_are_stopped_in_one_step(void **state)
{
	unsigned int calls;
	struct two t;

	(void)state;
	two_up(&t);
	for (u32 id = 2; id < 50; id++)
		add(&t.offline, id, OFFLINE);
	EVENTUALLY(is_connected(&t.offline, 49));
	for (u32 id = 1; id < 50; id++)
		work(&t.offline, id, true);
	rig_sync(&t.rig);
	calls = t.offline.calls;
	work(&t.online, 1, true);
	EVENTUALLY(t.offline.stops == 49);
	assert_true(t.offline.calls - calls <= 2);
	two_down(&t);
	rig_down(&t.rig);
}

static void a_queue_that_goes_while_stopped_is_gone(void **state)
{
	struct two t;

	(void)state;
	two_up(&t);
	work(&t.offline, 1, true);
	work(&t.online, 1, true);
	EVENTUALLY(t.offline.stopped[1]);
	gp__port_remove(t.offline.port, 1);
	EVENTUALLY(nr_groups(&t.rig) == 1);
	/* And its id may be used again, in its slot. */
	t.offline.stopped[1] = false;
	add(&t.offline, 1, OFFLINE);
	work(&t.offline, 1, true);
	EVENTUALLY(t.offline.stopped[1]);
	two_down(&t);
	rig_down(&t.rig);
}

static void a_queue_that_is_replaced_while_it_is_stopped_runs(void **state)
{
	struct two t;

	(void)state;
	two_up(&t);
	t.offline.replaces = true;
	work(&t.offline, 1, true);
	work(&t.online, 1, true);
	EVENTUALLY(t.offline.starts);
	/* And is stopped by an order of its own. */
	work(&t.offline, 1, true);
	EVENTUALLY(t.offline.stops == 2 && t.offline.stopped[1]);
	two_down(&t);
	rig_down(&t.rig);
}

static void without_a_daemon_everything_runs_and_comes_back(void **state)
{
	char socket[96];
	struct two t;

	(void)state;
	two_up(&t);
	work(&t.offline, 1, true);
	work(&t.online, 1, true);
	EVENTUALLY(t.offline.stopped[1]);
	strcpy(socket, t.rig.socket);
	rig_down(&t.rig);
	EVENTUALLY(!t.offline.stopped[1]);
	/* Another daemon, at the same place: both come back, with what they have. */
	rig_up_at(&t.rig, NULL, socket);
	EVENTUALLY(t.offline.stopped[1]);
	assert_false(t.online.stopped[1]);
	two_down(&t);
	rig_down(&t.rig);
}

static void a_daemon_that_hangs_holds_no_queue(void **state)
{
	struct two t;

	(void)state;
	two_up(&t);
	work(&t.offline, 1, true);
	work(&t.online, 1, true);
	EVENTUALLY(t.offline.stopped[1]);
	rig_hang(&t.rig, true);
	EVENTUALLY(!t.offline.stopped[1]);
	/* It wakes up, and means it still. */
	rig_hang(&t.rig, false);
	EVENTUALLY(t.offline.stopped[1]);
	work(&t.online, 1, false);
	EVENTUALLY(!t.offline.stopped[1]);
	two_down(&t);
	rig_down(&t.rig);
}

static bool is_held(struct rig *r, s32 prio)
{
	json_t *answer = rig_ask(r, "{\"op\":\"list\"}"), *g;
	bool held = false;
	size_t i;

	json_array_foreach (json_object_get(answer, "groups"), i, g)
		held |= json_integer_value(json_object_get(g, "priority")) == prio &&
			!strcmp(json_string_value(json_object_get(g, "state")), "excluded");
	json_decref(answer);
	return held;
}

/* Both programs, the patient one held for as long as the urgent one has work. */
static void hold_for_ever(struct two *t)
{
	rig_up_lasting(&t->rig, NULL);
	program_begins(&t->offline, t->rig.socket);
	program_begins(&t->online, t->rig.socket);
	add(&t->offline, 1, OFFLINE);
	add(&t->online, 1, ONLINE);
	EVENTUALLY(nr_groups(&t->rig) == 2);
	work(&t->offline, 1, true);
	work(&t->online, 1, true);
	EVENTUALLY(t->offline.stopped[1]);
}

/* A daemon ends without a goodbye, and another one follows within the lease. */
static void crash_and_follow(struct two *t)
{
	char socket[96];

	strcpy(socket, t->rig.socket);
	rig_crash(&t->rig);
	rig_up_lasting(&t->rig, socket);
}

static void a_hold_outlasts_a_daemon_that_is_restarted(void **state)
{
	struct two t;

	(void)state;
	hold_for_ever(&t);
	for (int i = 0; i < 5; i++) {
		crash_and_follow(&t);
		EVENTUALLY(is_held(&t.rig, OFFLINE));
	}
	/* The device was told once, and nobody that it is alone. */
	assert_int_equal(t.offline.stops, 1);
	assert_int_equal(t.offline.starts, 0);
	assert_int_equal(t.offline.alone, -1);
	work(&t.online, 1, false);
	EVENTUALLY(!t.offline.stopped[1]);
	two_down(&t);
	rig_down(&t.rig);
}

/* The time in the page is the end of the lease, and no daemon extends it any more. */
static void a_hold_ends_with_its_lease_if_no_daemon_follows(void **state)
{
	struct two t;

	(void)state;
	two_up(&t);
	work(&t.offline, 1, true);
	work(&t.online, 1, true);
	EVENTUALLY(t.offline.stopped[1]);
	t.offline.refuse_start = -EIO;
	rig_crash(&t.rig);
	/* Its release fails, and is retried. */
	EVENTUALLY(t.offline.calls >= 3);
	assert_true(t.offline.stopped[1]);
	t.offline.refuse_start = 0;
	EVENTUALLY(!t.offline.stopped[1]);
	EVENTUALLY(t.offline.alone == 1);
	two_down(&t);
}

static void a_goodbye_ends_every_hold_at_once(void **state)
{
	struct two t;

	(void)state;
	hold_for_ever(&t);
	rig_down(&t.rig);
	EVENTUALLY(!t.offline.stopped[1]);
	EVENTUALLY(t.offline.alone == 1);
	two_down(&t);
}

/* Its service was stopped, not restarted: the lease would last for longer. */
static void a_daemon_that_is_not_followed_holds_for_a_moment(void **state)
{
	struct two t;

	(void)state;
	hold_for_ever(&t);
	t.rig.server.managed = true;
	rig_down(&t.rig);
	EVENTUALLY(!t.offline.stopped[1]);
	two_down(&t);
}

/* No daemon accepts the priority that the queue has by then. */
static void a_queue_that_the_next_daemon_refuses_runs(void **state)
{
	char socket[96];
	struct two t;

	(void)state;
	hold_for_ever(&t);
	strcpy(socket, t.rig.socket);
	set_apart(&t.offline, 1, 2000000); /* no priority is that high */
	EVENTUALLY(t.offline.said == 1);
	rig_crash(&t.rig);
	rig_up_at(&t.rig, NULL, socket);
	EVENTUALLY(!t.offline.stopped[1]);
	two_down(&t);
	rig_down(&t.rig);
}

/* A device that weighs keeps its weights, too, and loses those that the next daemon does not give.
 */
static void weights_outlast_a_daemon_that_is_restarted(void **state)
{
	const u32 flags = GP__WIRE_CAN_WEIGH | GP__WIRE_CAN_YIELD;
	char socket[96];
	struct two t;

	(void)state;
	rig_up(&t.rig, "[daemon]\nttl = 300ms\n");
	strcpy(socket, t.rig.socket);
	program_begins(&t.offline, socket);
	program_begins(&t.online, socket);
	add_weighed(&t.offline, 1, OFFLINE, flags);
	add_weighed(&t.online, 1, ONLINE, flags);
	EVENTUALLY(t.online.weight[1] == GP__WEIGHT_MOST);
	EVENTUALLY(t.offline.weight[1] == GP__WEIGHT_LEAST);
	rig_crash(&t.rig);
	gp__agent_destroy(t.online.agent);
	rig_up_at(&t.rig, "[daemon]\npolicy = none\n", socket);
	EVENTUALLY(!t.offline.weight[1]);
	EVENTUALLY(nr_groups(&t.rig) == 1);
	gp__agent_destroy(t.offline.agent);
	rig_down(&t.rig);
}

/* An urgent program that does not come back holds nobody for longer than the lease. */
static void a_hold_for_a_program_that_is_gone_ends(void **state)
{
	char socket[96];
	struct two t;

	(void)state;
	two_up(&t);
	work(&t.offline, 1, true);
	work(&t.online, 1, true);
	EVENTUALLY(t.offline.stopped[1]);
	strcpy(socket, t.rig.socket);
	rig_crash(&t.rig);
	gp__agent_destroy(t.online.agent);
	rig_up_at(&t.rig, NULL, socket);
	EVENTUALLY(!t.offline.stopped[1]);
	EVENTUALLY(nr_groups(&t.rig) == 1);
	EVENTUALLY(t.offline.alone == 1);
	gp__agent_destroy(t.offline.agent);
	rig_down(&t.rig);
}

/* A release that fails when the daemon ends or hangs is retried. */
static void a_start_that_fails_is_tried_again(void **state)
{
	struct two t;

	(void)state;
	two_up(&t);
	work(&t.offline, 1, true);
	work(&t.online, 1, true);
	EVENTUALLY(t.offline.stopped[1]);
	for (int hangs = 0; hangs < 2; hangs++) {
		unsigned int calls = t.offline.calls;
		char socket[96];

		t.offline.refuse_start = -EIO;
		strcpy(socket, t.rig.socket);
		if (hangs)
			rig_hang(&t.rig, true);
		else
			rig_down(&t.rig);
		EVENTUALLY(t.offline.calls >= calls + 2);
		assert_true(t.offline.stopped[1]);
		t.offline.refuse_start = 0;
		EVENTUALLY(!t.offline.stopped[1]);
		if (hangs)
			rig_hang(&t.rig, false);
		else
			rig_up_at(&t.rig, NULL, socket);
		EVENTUALLY(t.offline.stopped[1]);
	}
	two_down(&t);
	rig_down(&t.rig);
}

static bool has_weight(struct rig *r, const char *weight)
{
	json_t *answer = rig_ask(r, "{\"op\":\"list\"}"), *group, *queue;
	bool any = false;
	size_t i, j;

	json_array_foreach (json_object_get(answer, "groups"), i, group)
		json_array_foreach (json_object_get(group, "queues"), j, queue) {
			const char *is = json_string_value(json_object_get(queue, "weight"));

			any |= is && !strcmp(is, weight);
		}
	json_decref(answer);
	return any;
}

/* Two trainers on the shortest slices would make no progress: an agent alone gives its slice up. */
static void weights_end_with_the_daemon(void **state)
{
	const u32 flags = GP__WIRE_CAN_WEIGH | GP__WIRE_CAN_YIELD;
	struct program other;
	char socket[96];
	struct two t;

	(void)state;
	rig_up(&t.rig, "[daemon]\nttl = 300ms\n");
	strcpy(socket, t.rig.socket);
	program_begins(&t.offline, socket);
	program_begins(&t.online, socket);
	program_begins(&other, socket);
	add_weighed(&t.offline, 1, OFFLINE, flags);
	add_weighed(&other, 1, OFFLINE, flags);
	work(&t.offline, 1, true);
	work(&other, 1, true);
	EVENTUALLY(nr_groups(&t.rig) == 2);
	assert_int_equal(t.offline.weight[1], 0);
	add_weighed(&t.online, 1, ONLINE, flags);
	EVENTUALLY(t.online.weight[1] == GP__WEIGHT_MOST);
	EVENTUALLY(t.offline.weight[1] == GP__WEIGHT_LEAST && other.weight[1] == GP__WEIGHT_LEAST);
	EVENTUALLY(t.offline.stopped[1] != other.stopped[1]);
	EVENTUALLY(has_weight(&t.rig, "most") && has_weight(&t.rig, "least"));
	/* The one that is held runs on when the daemon hangs, and not on the shortest slice. */
	rig_hang(&t.rig, true);
	EVENTUALLY(!t.offline.stopped[1] && !other.stopped[1]);
	EVENTUALLY(!t.offline.weight[1] || !other.weight[1]);
	rig_hang(&t.rig, false);
	EVENTUALLY(t.offline.stopped[1] != other.stopped[1]);
	EVENTUALLY(t.offline.weight[1] == GP__WEIGHT_LEAST && other.weight[1] == GP__WEIGHT_LEAST);
	rig_down(&t.rig);
	EVENTUALLY(!t.offline.weight[1] && !other.weight[1] && !t.online.weight[1]);
	EVENTUALLY(!t.offline.stopped[1] && !other.stopped[1]);
	gp__agent_destroy(other.agent);
	two_down(&t);
}

static void order_for_ever(struct rig *r)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->server.peers)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, link);

		if (p->order)
			atomic_store(&p->order->slot[0].until_ns, UINT64_MAX);
	}
}

/* Whatever it wrote before: longer than was agreed is not an order. */
static void a_daemon_that_hangs_cannot_have_held_for_longer(void **state)
{
	struct two t;

	(void)state;
	two_up(&t);
	work(&t.offline, 1, true);
	work(&t.online, 1, true);
	EVENTUALLY(t.offline.stopped[1]);
	t.rig.last = order_for_ever;
	rig_hang(&t.rig, true);
	EVENTUALLY(!t.offline.stopped[1]);
	rig_hang(&t.rig, false);
	EVENTUALLY(t.offline.stopped[1]);
	two_down(&t);
	rig_down(&t.rig);
}

static bool any_has_failed(struct rig *r)
{
	json_t *answer = rig_ask(r, "{\"op\":\"list\"}"), *g;
	bool any = false;
	size_t i;

	json_array_foreach (json_object_get(answer, "groups"), i, g)
		any |= !strcmp(json_string_value(json_object_get(g, "state")), "failed");
	json_decref(answer);
	return any;
}

static void a_stop_that_is_refused_is_told_to_the_daemon(void **state)
{
	struct two t;

	(void)state;
	two_up(&t);
	t.offline.refuse = -EPERM;
	work(&t.offline, 1, true);
	work(&t.online, 1, true);
	EVENTUALLY(any_has_failed(&t.rig));
	assert_false(t.offline.stopped[1]);
	two_down(&t);
	rig_down(&t.rig);
}

/* Other code in the program has released it. */
static void lose(struct program *p, u32 id)
{
	p->stopped[id] = false;
	gp__port_lost(p->port, id);
}

static void a_stop_that_is_lost_is_ordered_again(void **state)
{
	struct two t;

	(void)state;
	two_up(&t);
	work(&t.offline, 1, true);
	work(&t.online, 1, true);
	EVENTUALLY(t.offline.stopped[1]);
	for (unsigned int i = 1; i <= 10; i++) {
		lose(&t.offline, 1);
		EVENTUALLY(t.offline.stopped[1] && t.offline.stops == i + 1);
	}
	/* A report about a queue that is not held has no effect, at the next hold either. */
	work(&t.online, 1, false);
	EVENTUALLY(!t.offline.stopped[1]);
	lose(&t.offline, 1);
	lose(&t.offline, 99);
	t.offline.refuse = -EPERM;
	work(&t.online, 1, true);
	EVENTUALLY(any_has_failed(&t.rig));
	assert_false(t.offline.stopped[1]);
	two_down(&t);
	rig_down(&t.rig);
}

static void a_refused_program_says_so_once_and_runs(void **state)
{
	struct program p;
	struct rig r;

	(void)state;
	rig_up(&r, NULL);
	program_begins(&p, r.socket);
	add(&p, 1, 2000000); /* no priority is that high */
	EVENTUALLY(p.said == 1);
	assert_non_null(strstr(p.text, "runs unscheduled"));
	assert_true(p.unscheduled);
	add(&p, 2, 2000000);
	add(&p, 3, OFFLINE);
	EVENTUALLY(nr_groups(&r) == 1);
	assert_int_equal(p.said, 1);
	gp__agent_destroy(p.agent);
	rig_down(&r);
}

static void a_child_has_an_agent_of_its_own(void **state)
{
	struct program p;
	struct rig r;
	int status;
	pid_t pid;

	(void)state;
	needs_threads_after_fork();
	rig_up(&r, NULL);
	program_begins(&p, r.socket);
	add(&p, 1, OFFLINE);
	EVENTUALLY(nr_groups(&r) == 1);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		gp__agent_forget(p.agent);
		add(&p, 2, OFFLINE);
		for (int i = 0; i < 10000 && !is_connected(&p, 1); i++)
			usleep(1000);
		_exit(is_connected(&p, 1) ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	EVENTUALLY(nr_groups(&r) == 1);
	gp__agent_destroy(p.agent);
	EVENTUALLY(nr_groups(&r) == 0);
	rig_down(&r);
}

static void another_priority_comes_through(void **state)
{
	struct two t;

	(void)state;
	two_up(&t);
	work(&t.offline, 1, true);
	work(&t.online, 1, true);
	EVENTUALLY(t.offline.stopped[1]);
	set_apart(&t.offline, 1, 20);
	EVENTUALLY(!t.offline.stopped[1]);
	EVENTUALLY(t.online.stopped[1]);
	two_down(&t);
	rig_down(&t.rig);
}

/* The number of groups; *@owns: the own priorities of all queues, as digits that are one higher. */
static u32 read_owns(struct rig *r, char owns[16])
{
	json_t *answer = rig_ask(r, "{\"op\":\"list\"}"), *group, *queue;
	u32 n = (u32)json_array_size(json_object_get(answer, "groups"));
	size_t i, j, len = 0;

	json_array_foreach (json_object_get(answer, "groups"), i, group) {
		json_array_foreach (json_object_get(group, "queues"), j, queue) {
			const json_t *own = json_object_get(queue, "own_priority");

			owns[len++] =
				(char)(json_is_integer(own) ? '1' + json_integer_value(own) : '-');
		}
	}
	owns[len] = '\0';
	json_decref(answer);
	return n;
}

static bool shows(struct rig *r, u32 nr, const char *expected)
{
	char owns[16];

	return read_owns(r, owns) == nr && !strcmp(owns, expected);
}

static void own_priorities_split_only_a_program_that_asked(void **state)
{
	struct program p;
	struct rig r;

	(void)state;
	rig_up(&r, NULL);
	program_begins(&p, r.socket);
	p.request.hints.prio = 7;
	add_own(&p, 1, 0);
	EVENTUALLY(shows(&r, 1, "1"));
	add_own(&p, 2, 1);
	EVENTUALLY(shows(&r, 1, "12"));
	gp__port_prioritize(p.port, 1, -1);
	EVENTUALLY(shows(&r, 1, "02"));
	gp__agent_destroy(p.agent);
	EVENTUALLY(nr_groups(&r) == 0);
	program_begins(&p, r.socket);
	p.request.hints.prio = 7;
	p.request.splits = true;
	add_own(&p, 1, 0);
	add_own(&p, 2, 1);
	EVENTUALLY(nr_groups(&r) == 2);
	gp__port_prioritize(p.port, 2, 0);
	EVENTUALLY(shows(&r, 1, "11"));
	gp__agent_destroy(p.agent);
	rig_down(&r);
}

static void higher_queues_of_a_program_are_released_first(void **state)
{
	struct two t;

	(void)state;
	two_up_with(&t, NULL);
	gp__port_remove(t.offline.port, 1);
	for (u32 id = 1; id <= 4; id++)
		add_own(&t.offline, id, (s32)id % 2);
	gp__port_prioritize(t.offline.port, 2, -1);
	for (u32 id = 1; id <= 4; id++)
		work(&t.offline, id, true);
	work(&t.online, 1, true);
	EVENTUALLY(t.offline.stopped[1] && t.offline.stopped[2] && t.offline.stopped[3] &&
		   t.offline.stopped[4]);
	/* In one step; orders may come in several. */
	t.offline.nr_started = 0;
	gp__agent_destroy(t.offline.agent);
	assert_int_equal(t.offline.nr_started, 4);
	assert_int_equal(t.offline.started[0] % 2, 1);
	assert_int_equal(t.offline.started[1] % 2, 1);
	assert_int_equal(t.offline.started[2], 4);
	assert_int_equal(t.offline.started[3], 2);
	gp__agent_destroy(t.online.agent);
	rig_down(&t.rig);
}

static void announced_work_makes_room_before_it_is_there(void **state)
{
	struct two t;

	(void)state;
	/* However slow the host is, the wait does not time out. */
	two_up_with(&t, "[core]\narrive_grace_ms = 60000\n");
	work(&t.offline, 1, true);
	/* Before its agent knows that the daemon knows of it, and of somebody else, nobody hears.
	 */
	EVENTUALLY(!gp__agent_arriving(t.online.agent, gp__clock_ns()) && t.offline.stopped[1]);
	assert_int_equal(gp__agent_arriving(t.online.agent, 0), 0);
	for (int i = 0; i < 20; i++) {
		EVENTUALLY(!t.offline.stopped[1]);
		/* After one in vain, others are ignored for as long as that one held the other. */
		EVENTUALLY(!gp__agent_arriving(t.online.agent, gp__clock_ns()) &&
			   t.offline.stops > (unsigned int)i + 1);
		/* It comes, or it does not, and is over. */
		if (i % 2) {
			work(&t.online, 1, true);
			work(&t.online, 1, false);
		}
		assert_int_equal(gp__agent_arriving(t.online.agent, 0), 0);
	}
	EVENTUALLY(!t.offline.stopped[1]);
	two_down(&t);
	rig_down(&t.rig);
}

static void the_lead_of_an_announcement_is_the_time_of_a_hold(void **state)
{
	u64 first, lead;
	struct two t;

	(void)state;
	two_up_with(&t, "[core]\narrive_grace_ms = 60000\n");
	work(&t.offline, 1, true);
	/* It is not known before the agent knows of the other program. */
	EVENTUALLY(!gp__agent_lead_time(t.online.agent, &first) && first);
	assert_int_equal(first, 2 * GP__MS);
	EVENTUALLY(!gp__agent_arriving(t.online.agent, gp__clock_ns()) && t.offline.stopped[1]);
	assert_int_equal(gp__agent_arriving(t.online.agent, 0), 0);
	EVENTUALLY(!t.offline.stopped[1]);
	/* With the next announcement, the agent hears of that hold. */
	EVENTUALLY(!gp__agent_arriving(t.online.agent, gp__clock_ns()) &&
		   !gp__agent_arriving(t.online.agent, 0) &&
		   !gp__agent_lead_time(t.online.agent, &lead) && lead != first);
	assert_true(lead);
	gp__port_remove(t.offline.port, 1);
	EVENTUALLY(!gp__agent_lead_time(t.online.agent, &lead) && !lead);
	add(&t.offline, 1, OFFLINE);
	two_down(&t);
	rig_down(&t.rig);
}

/* The program is alone when its work is over; another program comes later. */
static void an_announcement_that_is_over_is_not_found_later(void **state)
{
	unsigned int stops;
	struct two t;

	(void)state;
	two_up_with(&t, "[core]\narrive_grace_ms = 60000\n");
	work(&t.offline, 1, true);
	EVENTUALLY(!gp__agent_arriving(t.online.agent, gp__clock_ns()) && t.offline.stopped[1]);
	gp__port_remove(t.offline.port, 1);
	EVENTUALLY(t.online.alone == 1);
	assert_int_equal(gp__agent_arriving(t.online.agent, 0), 0);
	t.offline.stopped[1] = false;
	stops = t.offline.stops;
	add(&t.offline, 1, OFFLINE);
	work(&t.offline, 1, true);
	EVENTUALLY(t.online.alone == -1 && nr_groups(&t.rig) == 2);
	for (int i = 0; i < 50; i++)
		rig_sync(&t.rig);
	assert_int_equal(t.offline.stops, stops);
	two_down(&t);
	rig_down(&t.rig);
}

static void announcing_without_a_daemon_is_an_error(void **state)
{
	struct program p;
	struct rig r;
	u64 lead;

	(void)state;
	rig_up(&r, NULL);
	program_begins(&p, r.socket);
	assert_int_equal(gp__agent_arriving(p.agent, 1), -ENOTCONN);
	assert_int_equal(gp__agent_lead_time(p.agent, &lead), -ENOTCONN);
	add(&p, 1, 2000000); /* no priority is that high */
	EVENTUALLY(p.said == 1);
	assert_int_equal(gp__agent_arriving(p.agent, 1), -ENODEV);
	assert_int_equal(gp__agent_lead_time(p.agent, &lead), -ENODEV);
	rig_down(&r);
	EVENTUALLY(gp__agent_arriving(p.agent, 1) == -ENOTCONN);
	gp__agent_destroy(p.agent);
}

/* Queues and work come and go; in the end no queue is held. */
static void anything_in_any_order_ends_with_all_running(void **state)
{
	static bool there[2][QUEUES];
	struct program *p[2];
	struct two t;

	(void)state;
	two_up(&t);
	p[0] = &t.offline;
	p[1] = &t.online;
	memset(there, 0, sizeof(there));
	there[0][1] = there[1][1] = true;
	srandom(7);
	for (int step = 0; step < 3000; step++) {
		int who = (int)(random() % 2);
		u32 id = (u32)(random() % 20);

		if (!there[who][id] && random() % 4 == 0) {
			p[who]->stopped[id] = false;
			add(p[who], id, random() % 2 ? OFFLINE : ONLINE);
			there[who][id] = true;
		} else if (there[who][id] && random() % 16 == 0) {
			gp__port_remove(p[who]->port, id);
			there[who][id] = false;
		} else if (there[who][id]) {
			work(p[who], id, random() % 2);
		}
		if (random() % 8 == 0)
			gp__agent_arriving(p[who]->agent, random() % 2 ? gp__clock_ns() : 0);
		if (random() % 64 == 0)
			usleep(500);
	}
	for (int who = 0; who < 2; who++) {
		for (u32 id = 0; id < QUEUES; id++) {
			if (there[who][id])
				work(p[who], id, false);
		}
	}
	for (int who = 0; who < 2; who++) {
		for (u32 id = 0; id < QUEUES; id++) {
			if (there[who][id])
				EVENTUALLY(!p[who]->stopped[id]);
		}
	}
	two_down(&t);
	rig_down(&t.rig);
}

static u64 sleeps_of(int tid)
{
	char path[64], line[128];
	u64 n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &n) == 1)
			break;
	}
	fclose(f);
	return n;
}

/* How often threads younger than @than, the daemon's and agents', have gone to sleep so far. */
static u64 sleeps(int than)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	u64 sum = 0;

	assert_non_null(tasks);
	while ((task = readdir(tasks))) {
		if (atoi(task->d_name) > than)
			sum += sleeps_of(atoi(task->d_name));
	}
	closedir(tasks);
	return sum;
}

/* A sanitizer has threads, too. */
static int youngest_thread(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	int tid = 0;

	assert_non_null(tasks);
	while ((task = readdir(tasks)))
		tid = atoi(task->d_name) > tid ? atoi(task->d_name) : tid;
	closedir(tasks);
	return tid;
}

/* Whether none of them wakes up for so long. */
static bool is_quiet(int than, unsigned int ms)
{
	u64 before = sleeps(than);

	usleep(1000 * ms);
	return sleeps(than) == before;
}

static void nothing_wakes_up_while_nothing_happens(void **state)
{
	int than = youngest_thread();
	struct two t;
	u64 before;

	(void)state;
	two_up(&t);
	EVENTUALLY(is_quiet(than, 200));
	assert_true(is_quiet(than, 2000));
	work(&t.offline, 1, true);
	work(&t.online, 1, true);
	EVENTUALLY(t.offline.stopped[1]);
	/* A hold is renewed while it lasts. */
	before = sleeps(than);
	EVENTUALLY(sleeps(than) > before + 4);
	assert_true(t.offline.stopped[1]);
	work(&t.online, 1, false);
	EVENTUALLY(!t.offline.stopped[1]);
	/* After pending events nothing wakes up, with work or without. */
	EVENTUALLY(is_quiet(than, 200));
	assert_true(is_quiet(than, 2000));
	work(&t.offline, 1, false);
	EVENTUALLY(is_quiet(than, 200));
	assert_true(is_quiet(than, 2000));
	two_down(&t);
	rig_down(&t.rig);
}

/* Negative: none is shown. */
static long long memory_shown(struct rig *r)
{
	json_t *answer = rig_ask(r, "{\"op\":\"list\"}");
	json_t *used = json_object_get(first_group(answer), "memory_used_bytes");
	long long bytes = json_is_integer(used) ? (long long)json_integer_value(used) : -1;

	json_decref(answer);
	return bytes;
}

static void change_memory(struct program *p, u64 bytes)
{
	p->memory = bytes;
	gp__port_memory(p->port);
}

static void memory_is_measured_when_it_changes_and_not_more_often(void **state)
{
	struct program p;
	struct rig r;

	(void)state;
	rig_up(&r, NULL);
	program_begins(&p, r.socket);
	add(&p, 1, OFFLINE);
	EVENTUALLY(p.measured == 1);
	assert_true(memory_shown(&r) < 0);
	for (u64 i = 1; i <= 10000; i++)
		change_memory(&p, i << 20);
	EVENTUALLY(memory_shown(&r) == 10000ll << 20);
	assert_true(p.measured < 1000);
	change_memory(&p, 0);
	EVENTUALLY(memory_shown(&r) < 0);
	add(&p, 2, ONLINE);
	change_memory(&p, 5 << 20);
	EVENTUALLY(memory_shown(&r) == 5 << 20);
	gp__agent_destroy(p.agent);
	rig_down(&r);
}

/* Another daemon is told again. */
static void memory_is_reported_to_the_daemon_that_follows(void **state)
{
	struct program p;
	struct rig r, next;

	(void)state;
	rig_up(&r, NULL);
	program_begins(&p, r.socket);
	change_memory(&p, 3 << 20);
	add(&p, 1, OFFLINE);
	EVENTUALLY(memory_shown(&r) == 3 << 20);
	rig_down(&r);
	rig_up_at(&next, NULL, r.socket);
	EVENTUALLY(nr_groups(&next) == 1);
	EVENTUALLY(memory_shown(&next) == 3 << 20);
	gp__agent_destroy(p.agent);
	rig_down(&next);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_patient_is_stopped_and_started),
		cmocka_unit_test(both_are_told_that_they_are_not_alone),
		cmocka_unit_test(queues_of_a_program_are_stopped_in_one_step),
		cmocka_unit_test(a_queue_that_goes_while_stopped_is_gone),
		cmocka_unit_test(a_queue_that_is_replaced_while_it_is_stopped_runs),
		cmocka_unit_test(without_a_daemon_everything_runs_and_comes_back),
		cmocka_unit_test(a_daemon_that_hangs_holds_no_queue),
		cmocka_unit_test(a_hold_outlasts_a_daemon_that_is_restarted),
		cmocka_unit_test(a_hold_ends_with_its_lease_if_no_daemon_follows),
		cmocka_unit_test(a_goodbye_ends_every_hold_at_once),
		cmocka_unit_test(memory_is_measured_when_it_changes_and_not_more_often),
		cmocka_unit_test(memory_is_reported_to_the_daemon_that_follows),
		cmocka_unit_test(a_daemon_that_is_not_followed_holds_for_a_moment),
		cmocka_unit_test(a_queue_that_the_next_daemon_refuses_runs),
		cmocka_unit_test(weights_outlast_a_daemon_that_is_restarted),
		cmocka_unit_test(a_hold_for_a_program_that_is_gone_ends),
		cmocka_unit_test(a_start_that_fails_is_tried_again),
		cmocka_unit_test(a_daemon_that_hangs_cannot_have_held_for_longer),
		cmocka_unit_test(weights_end_with_the_daemon),
		cmocka_unit_test(a_stop_that_is_refused_is_told_to_the_daemon),
		cmocka_unit_test(a_stop_that_is_lost_is_ordered_again),
		cmocka_unit_test(a_refused_program_says_so_once_and_runs),
		cmocka_unit_test(a_child_has_an_agent_of_its_own),
		cmocka_unit_test(another_priority_comes_through),
		cmocka_unit_test(own_priorities_split_only_a_program_that_asked),
		cmocka_unit_test(higher_queues_of_a_program_are_released_first),
		cmocka_unit_test(announced_work_makes_room_before_it_is_there),
		cmocka_unit_test(the_lead_of_an_announcement_is_the_time_of_a_hold),
		cmocka_unit_test(an_announcement_that_is_over_is_not_found_later),
		cmocka_unit_test(announcing_without_a_daemon_is_an_error),
		cmocka_unit_test(nothing_wakes_up_while_nothing_happens),
		cmocka_unit_test(anything_in_any_order_ends_with_all_running),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
