// SPDX-License-Identifier: MIT
/* gpreemptd and the programs that join it: when programs are held, and what happens when one fails.
 */
#include "daemon/ended.h"
#include "two.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../unit/host.h"
#include "base/clock.h"

static void urgent_work_holds_the_patient(void **state)
{
	struct two t;

	(void)state;
	two_up(&t, NULL);
	for (int i = 0; i < 20; i++) {
		preempt(&t);
		release(&t);
	}
	assert_int_equal(agent_order(&t.online, 0), GP__WIRE_RELEASE);
	two_down(&t);
}

static void a_program_that_is_alone_does_not_notify(void **state)
{
	struct agent a, b;
	struct rig r;

	(void)state;
	rig_up(&r, NULL);
	agent_join(&r, &a, "alone");
	add(&a, OFFLINE);
	rig_sync(&r);
	assert_true(atomic_load(&a.client.order->alone));
	agent_work(&a, 0, true);
	/* Another program joins: work that was not notified counts. */
	agent_join(&r, &b, "other");
	add(&b, ONLINE);
	rig_sync(&r);
	assert_false(atomic_load(&a.client.order->alone));
	agent_work(&b, 0, true);
	agent_obey(&a, 0, GP__WIRE_HOLD);
	agent_leave(&b);
	agent_obey(&a, 0, GP__WIRE_RELEASE);
	rig_sync(&r);
	assert_true(atomic_load(&a.client.order->alone));
	agent_leave(&a);
	rig_down(&r);
}

/*
 * A status page is read in pieces, and the agent may change what was read already before the last
 * piece is. Called by the daemon's thread, which reads nothing else meanwhile.
 */
static struct agent *writer;
static bool all_was_read;

static void write_between_two_pieces(struct rig *r)
{
	struct gp__peer *p = container_of(r->server.peers.next, struct gp__peer, link);

	for (int i = 0; i < 2; i++) {
		agent_work(writer, 0, !i);
		p->notify.ready(&r->server, &p->notify, EPOLLIN);
		if (!i)
			all_was_read = gp__pages_serve(&r->server, p) == GP__SERVED_ALL;
	}
	while (!all_was_read)
		all_was_read = gp__pages_serve(&r->server, p) == GP__SERVED_ALL;
	all_was_read = !atomic_load(&p->status->changed[0]);
}

static void what_changes_while_a_page_is_read_is_read(void **state)
{
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_queue_add q = queue_of(OFFLINE, "gpu-a", "");
	struct agent a = { 0 };
	struct rig r;

	(void)state;
	rig_up(&r, NULL);
	assert_int_equal(open_client(&a.client, &r, "many", 1024, text), 0);
	agent_add(&a, &q);
	rig_sync(&r);
	writer = &a;
	r.last = write_between_two_pieces;
	rig_hang(&r, true);
	rig_hang(&r, false);
	rig_sync(&r);
	assert_true(all_was_read);
	agent_leave(&a);
	rig_down(&r);
}

static void one_on_another_gpu_is_left_alone(void **state)
{
	struct gp__wire_queue_add elsewhere = queue_of(OFFLINE, "gpu-b", "");
	struct agent other;
	struct two t;

	(void)state;
	two_up(&t, NULL);
	agent_join(&t.rig, &other, "elsewhere");
	agent_add(&other, &elsewhere);
	agent_work(&other, 0, true);
	preempt(&t);
	rig_sync(&t.rig);
	assert_int_equal(gp__wire_order_number(atomic_load(&other.client.order->slot[0].order)), 0);
	agent_leave(&other);
	two_down(&t);
}

static void a_hold_is_renewed(void **state)
{
	struct two t;
	u64 first, until;

	(void)state;
	two_up(&t, "[daemon]\nttl = 200ms\n");
	preempt(&t);
	first = atomic_load(&t.offline.client.order->slot[0].until_ns);
	for (int i = 0; i < 100; i++) {
		usleep(20000);
		until = atomic_load(&t.offline.client.order->slot[0].until_ns);
		if (until > first + 400 * GP__MS)
			break;
	}
	assert_true(until > first + 400 * GP__MS);
	two_down(&t);
}

/* A lease that changes in the configuration applies to programs that join later. */
static void the_time_of_an_order_is_as_was_agreed(void **state)
{
	u64 first, until = 0, agreed;
	struct agent late;
	struct two t;
	FILE *f;

	(void)state;
	two_up(&t, "[daemon]\nttl = 200ms\n");
	f = fopen(t.rig.config, "we");
	assert_non_null(f);
	fputs("[daemon]\nttl = 10s\n", f);
	fclose(f);
	kill(getpid(), SIGHUP);
	do {
		agent_join(&t.rig, &late, "late");
		agreed = late.client.ttl_ns;
		agent_leave(&late);
	} while (agreed != 10 * GP__S);
	preempt(&t);
	first = atomic_load(&t.offline.client.order->slot[0].until_ns);
	assert_true(first <= gp__clock_ns() + 200 * GP__MS);
	/* And is renewed within it. */
	for (int i = 0; i < 1000 && until <= first + 400 * GP__MS; i++) {
		usleep(20000);
		until = atomic_load(&t.offline.client.order->slot[0].until_ns);
	}
	assert_true(until > first + 400 * GP__MS);
	release(&t);
	two_down(&t);
}

static void nothing_ticks_while_no_queue_is_held(void **state)
{
	struct two t;

	(void)state;
	two_up(&t, NULL);
	agent_work(&t.offline, 0, true);
	rig_sync(&t.rig);
	rig_expect_asleep(&t.rig);
	two_down(&t);
}

static void an_order_that_was_given_up_comes_again(void **state)
{
	struct two t;
	u64 order, again = 0;

	(void)state;
	two_up(&t, NULL);
	preempt(&t);
	order = atomic_load(&t.offline.client.order->slot[0].order);
	gp__wire_client_expired(&t.offline.client, 0, gp__wire_order_number(order));
	for (int i = 0; i < 1000 && again != order + (1ull << 32); i++) {
		usleep(1000);
		again = atomic_load(&t.offline.client.order->slot[0].order);
	}
	assert_int_equal(gp__wire_order_number(again), gp__wire_order_number(order) + 1);
	assert_int_equal(gp__wire_order_verb(again), GP__WIRE_HOLD);
	/* And still ends as any other. */
	agent_work(&t.online, 0, false);
	agent_obey(&t.offline, 0, GP__WIRE_RELEASE);
	two_down(&t);
}

static void a_program_that_leaves_holds_no_other(void **state)
{
	struct two t;

	(void)state;
	two_up(&t, NULL);
	preempt(&t);
	agent_leave(&t.online);
	agent_obey(&t.offline, 0, GP__WIRE_RELEASE);
	agent_leave(&t.offline);
	rig_down(&t.rig);
}

static void a_hold_that_fails_leaves_it_running(void **state)
{
	json_t *answer;
	struct two t;
	u64 order;

	(void)state;
	two_up(&t, "[core]\ntries = 1\n");
	agent_work(&t.offline, 0, true);
	rig_sync(&t.rig);
	agent_work(&t.online, 0, true);
	order = agent_expect(&t.offline, 0, GP__WIRE_HOLD);
	gp__wire_client_done(&t.offline.client, 0, gp__wire_order_number(order), -EIO,
			     gp__clock_ns(), 0);
	answer = rig_ask(&t.rig, "{\"op\":\"list\"}");
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(answer, "daemon"), "stopped")),
		0);
	assert_string_equal(json_string_value(json_object_get(first_group(answer), "state")),
			    "failed");
	json_decref(answer);
	two_down(&t);
}

static void another_priority_is_another_group(void **state)
{
	struct gp__wire_set_hints m = { .head = { sizeof(m), GP__WIRE_HINTS, 0, 0, 0 },
					.hints = { .prio = 20 } };
	struct two t;

	(void)state;
	two_up(&t, NULL);
	preempt(&t);
	/* The one that was stopped is now the more urgent. */
	assert_int_equal(gp__wire_client_request(&t.offline.client, &m, NULL), 0);
	agent_expect(&t.offline, 0, GP__WIRE_RELEASE);
	agent_obey(&t.online, 0, GP__WIRE_HOLD);
	two_down(&t);
}

static void wrong_queues_are_refused(void **state)
{
	struct gp__wire_queue_add q = queue_of(NORMAL, "gpu-a", "");
	struct gp__wire_queue_remove none = {
		.head = { sizeof(none), GP__WIRE_QUEUE_REMOVE, 0, 0, 0 }, .slot = 5
	};
	struct gp__wire_reply reply;
	struct agent a;
	struct rig r;

	(void)state;
	rig_up(&r, NULL);
	agent_join(&r, &a, "wrong");
	q.level = 4;
	assert_int_equal(gp__wire_client_request(&a.client, &q, &reply), -ERANGE);
	assert_string_not_equal(reply.text, "");
	q.level = 3;
	q.slot = 1u << 20;
	assert_int_equal(gp__wire_client_request(&a.client, &q, &reply), -EINVAL);
	q.slot = 0;
	q.hints.share_pct = 101;
	assert_int_equal(gp__wire_client_request(&a.client, &q, &reply), -ERANGE);
	q.hints.share_pct = 0;
	assert_int_equal(gp__wire_client_request(&a.client, &q, &reply), 0);
	assert_int_equal(gp__wire_client_request(&a.client, &q, &reply), -EINVAL);
	assert_int_equal(gp__wire_client_request(&a.client, &none, &reply), -ENOENT);
	agent_leave(&a);
	rig_down(&r);
}

/*
 * The command line's requests
 */

static void why_names_the_cause_of_a_hold(void **state)
{
	json_t *answer, *hold;
	char request[64];
	struct two t;

	(void)state;
	two_up(&t, NULL);
	preempt(&t);
	rig_sync(&t.rig);
	answer = rig_ask(&t.rig, "{\"op\":\"list\"}");
	assert_int_equal(json_array_size(json_object_get(answer, "groups")), 2);
	assert_string_equal(json_string_value(json_object_get(first_group(answer), "state")),
			    "excluded");
	snprintf(request, sizeof(request), "{\"op\":\"why\",\"group\":%lld}",
		 json_integer_value(json_object_get(first_group(answer), "group")));
	json_decref(answer);
	answer = rig_ask(&t.rig, request);
	hold = json_array_get(json_object_get(first_group(answer), "history"), 0);
	assert_string_equal(json_string_value(json_object_get(hold, "rule")), "priority");
	assert_string_equal(json_string_value(json_object_get(hold, "by_program")), "serve");
	assert_int_equal(json_integer_value(json_object_get(hold, "by_pid")), getpid());
	json_decref(answer);
	two_down(&t);
}

static json_t *ask_why(struct rig *r, const char *target, s64 number)
{
	char request[96];

	snprintf(request, sizeof(request), "{\"op\":\"why\",\"%s\":%lld}", target,
		 (long long)number);
	return rig_ask(r, request);
}

static s64 number_of(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static double real_of(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static bool is(const json_t *o, const char *key)
{
	assert_true(json_is_boolean(json_object_get(o, key)));
	return json_is_true(json_object_get(o, key));
}

static void add_yielding(struct agent *a, s32 prio)
{
	struct gp__wire_queue_add q = queue_of(prio, "gpu-a", "");

	q.flags = GP__WIRE_CAN_WEIGH | GP__WIRE_CAN_YIELD;
	agent_add(a, &q);
}

/* The first group's time, and whether it yields to the second. */
static double used_ms(struct rig *r, bool yields)
{
	json_t *answer = rig_ask(r, "{\"op\":\"list\"}");
	double used = real_of(first_group(answer), "used_ms");

	assert_true(is(first_group(answer), "yielding") == yields);
	assert_false(is(json_array_get(json_object_get(answer, "groups"), 1), "yielding"));
	json_decref(answer);
	return used;
}

/* Beside urgent work on the shortest time slice, a program is not held and gets no time. */
static void a_program_that_yields_is_not_charged(void **state)
{
	double before, after;
	struct two t;

	(void)state;
	rig_up(&t.rig, "[core]\nmin_share_pct = 0\n");
	agent_join(&t.rig, &t.offline, "train");
	agent_join(&t.rig, &t.online, "serve");
	add_yielding(&t.offline, OFFLINE);
	add_yielding(&t.online, ONLINE);
	agent_obey(&t.offline, 0, GP__WIRE_WEIGH);
	agent_obey(&t.online, 0, GP__WIRE_WEIGH);
	preempt(&t);
	/* With what it has, its work is done: nobody is held for it any more. */
	gp__wire_client_arriving(&t.online.client, 0, gp__clock_ns());
	rig_sync(&t.rig);
	gp__wire_client_arriving(&t.online.client, 0, 0);
	agent_obey(&t.offline, 0, GP__WIRE_RELEASE);
	rig_sync(&t.rig);
	before = used_ms(&t.rig, true);
	usleep(2000);
	assert_true(used_ms(&t.rig, true) == before);
	agent_work(&t.online, 0, false);
	rig_sync(&t.rig);
	after = used_ms(&t.rig, false);
	usleep(2000);
	assert_true(used_ms(&t.rig, false) > after);
	two_down(&t);
}

/* Whether the program that is held was told, within the time that the urgent one lingers. */
static bool is_told_of_the_gap(struct two *t)
{
	json_t *answer, *serve;
	bool told;

	preempt(t);
	agent_work(&t->online, 0, false);
	rig_sync(&t->rig);
	answer = rig_ask(&t->rig, "{\"op\":\"list\"}");
	serve = json_array_get(json_object_get(answer, "groups"), 1);
	told = is(serve, "lingering");
	if (told)
		assert_true(is(json_object_get(first_group(answer), "hold"), "by_lingering"));
	json_decref(answer);
	agent_obey(&t->offline, 0, GP__WIRE_RELEASE);
	return told;
}

/* A slow machine may ask too late, so it tries a few times. */
static void a_program_that_lingers_is_shown_with_its_waste(void **state)
{
	bool told = false;

	(void)state;
	for (int i = 0; i < 50 && !told; i++) {
		json_t *answer, *gpu, *train, *serve;
		struct two t;

		two_up(&t, "[core]\nlinger_us = 90000\nwaste_pct = 50\n");
		told = is_told_of_the_gap(&t);
		answer = rig_ask(&t.rig, "{\"op\":\"list\"}");
		gpu = json_array_get(json_object_get(answer, "gpus"), 0);
		train = first_group(answer);
		serve = json_array_get(json_object_get(answer, "groups"), 1);
		assert_false(is(serve, "lingering"));
		assert_true(!told || real_of(serve, "wasted_ms") > 0);
		assert_true(real_of(gpu, "wasted_ms") >= real_of(serve, "wasted_ms"));
		assert_true(real_of(train, "wasted_ms") == 0);
		json_decref(answer);
		two_down(&t);
	}
	assert_true(told);
}

static void why_knows_a_program_that_has_ended(void **state)
{
	json_t *answer, *g, *hold;
	struct two t;
	s64 group;

	(void)state;
	two_up(&t, NULL);
	preempt(&t);
	answer = rig_ask(&t.rig, "{\"op\":\"list\"}");
	group = number_of(first_group(answer), "group");
	json_decref(answer);
	agent_leave(&t.offline);
	rig_sync(&t.rig);
	answer = ask_why(&t.rig, "group", group);
	g = first_group(answer);
	assert_string_equal(json_string_value(json_object_get(g, "state")), "ended");
	assert_true(json_is_real(json_object_get(g, "ended_ms")));
	assert_int_equal(number_of(g, "holds"), 1);
	assert_true(json_real_value(json_object_get(g, "held_ms")) > 0);
	hold = json_array_get(json_object_get(g, "history"), 0);
	assert_true(json_is_true(json_object_get(hold, "ended")));
	assert_string_equal(json_string_value(json_object_get(hold, "by_program")), "serve");
	json_decref(answer);
	/* A living program of the same pid comes first. */
	answer = ask_why(&t.rig, "pid", getpid());
	assert_int_equal(json_array_size(json_object_get(answer, "groups")), 1);
	assert_null(json_object_get(first_group(answer), "ended_ms"));
	json_decref(answer);
	agent_join(&t.rig, &t.offline, "train");
	add(&t.offline, OFFLINE);
	two_down(&t);
}

/* The latest ones of a user are kept, the latest first, each with what its groups did in all. */
static void only_the_latest_ended_programs_are_kept(void **state)
{
	struct gp__wire_queue_add q = queue_of(OFFLINE, "gpu-a", "many");
	struct gp__wire_queue_remove gone = {
		.head = { sizeof(gone), GP__WIRE_QUEUE_REMOVE, 0, 0, 0 }, .slot = 0
	};
	char name[16];
	json_t *answer;
	struct agent a;
	struct rig r;

	(void)state;
	rig_up(&r, NULL);
	for (int i = 0; i < GP__ENDED_PER_USER + 3; i++) {
		snprintf(name, sizeof(name), "program%d", i);
		agent_join(&r, &a, name);
		agent_add(&a, &q);
		assert_int_equal(gp__wire_client_request(&a.client, &gone, NULL), 0);
		assert_int_equal(gp__wire_client_request(&a.client, &q, NULL), 0);
		agent_leave(&a);
		rig_sync(&r);
	}
	answer = rig_ask(&r, "{\"op\":\"why\",\"tag\":\"many\"}");
	assert_int_equal(json_array_size(json_object_get(answer, "groups")), GP__ENDED_PER_USER);
	assert_string_equal(json_string_value(json_object_get(first_group(answer), "program")),
			    name);
	json_decref(answer);
	answer =
		rig_ask(&r, "{\"op\":\"why\",\"targets\":[{\"tag\":\"many\"},{\"tag\":\"many\"}]}");
	assert_int_equal(json_array_size(json_object_get(answer, "groups")), GP__ENDED_PER_USER);
	json_decref(answer);
	answer = rig_ask(&r, "{\"op\":\"suspend\",\"tag\":\"many\"}");
	assert_int_equal(number_of(answer, "errno"), ENOENT);
	json_decref(answer);
	rig_down(&r);
}

static void the_list_names_the_cause_of_a_hold(void **state)
{
	json_t *answer, *g;
	struct two t;

	(void)state;
	two_up(&t, NULL);
	answer = rig_ask(&t.rig, "{\"op\":\"list\"}");
	assert_true(json_is_null(json_object_get(first_group(answer), "hold")));
	assert_true(json_is_string(json_object_get(json_object_get(answer, "daemon"), "version")));
	assert_true(json_is_true(json_object_get(json_object_get(answer, "you"), "administrator")));
	json_decref(answer);
	preempt(&t);
	answer = rig_ask(&t.rig, "{\"op\":\"list\"}");
	g = first_group(answer);
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(g, "hold"), "by_program")),
		"serve");
	json_decref(answer);
	two_down(&t);
}

static void a_tag_means_all_that_have_it(void **state)
{
	struct gp__wire_queue_add q = queue_of(OFFLINE, "gpu-a", "batch");
	struct agent a, b;
	json_t *answer;
	struct rig r;

	(void)state;
	rig_up(&r, NULL);
	agent_join(&r, &a, "one");
	agent_join(&r, &b, "two");
	agent_add(&a, &q);
	agent_add(&b, &q);
	add(&b, NORMAL);
	answer = rig_ask(&r, "{\"op\":\"set\",\"tag\":\"batch\",\"priority\":7}");
	assert_int_equal(json_array_size(json_object_get(answer, "groups")), 2);
	assert_string_equal(json_string_value(json_object_get(first_group(answer), "class")),
			    "normal");
	json_decref(answer);
	/* No tag is not a tag. */
	answer = rig_ask(&r, "{\"op\":\"suspend\",\"tag\":\"\"}");
	assert_int_equal(json_integer_value(json_object_get(answer, "errno")), ENOENT);
	json_decref(answer);
	agent_leave(&a);
	agent_leave(&b);
	rig_down(&r);
}

static void an_operator_suspends_resumes_and_sets(void **state)
{
	json_t *answer;
	struct two t;
	u32 group;
	char request[128];

	(void)state;
	two_up(&t, NULL);
	agent_work(&t.online, 0, true);
	answer = rig_ask(&t.rig, "{\"op\":\"list\"}");
	group = (u32)json_integer_value(
		json_object_get(json_array_get(json_object_get(answer, "groups"), 1), "group"));
	json_decref(answer);
	snprintf(request, sizeof(request), "{\"op\":\"suspend\",\"group\":%u}", group);
	json_decref(rig_ask(&t.rig, request));
	agent_obey(&t.online, 0, GP__WIRE_HOLD);
	snprintf(request, sizeof(request), "{\"op\":\"resume\",\"group\":%u}", group);
	json_decref(rig_ask(&t.rig, request));
	agent_obey(&t.online, 0, GP__WIRE_RELEASE);
	snprintf(request, sizeof(request), "{\"op\":\"set\",\"group\":%u,\"priority\":1}", group);
	answer = rig_ask(&t.rig, request);
	assert_int_equal(json_integer_value(json_object_get(first_group(answer), "priority")), 1);
	json_decref(answer);
	agent_work(&t.offline, 0, true);
	agent_obey(&t.online, 0, GP__WIRE_HOLD);
	two_down(&t);
}

static void targets_are_all_changed_or_none(void **state)
{
	json_t *answer;
	struct two t;

	(void)state;
	two_up(&t, NULL);
	answer = rig_ask(&t.rig, "{\"op\":\"suspend\",\"targets\":[{\"group\":1},{\"group\":99}]}");
	assert_int_equal(json_integer_value(json_object_get(answer, "errno")), ENOENT);
	assert_int_equal(json_integer_value(json_object_get(answer, "target")), 1);
	json_decref(answer);
	answer = rig_ask(&t.rig, "{\"op\":\"list\"}");
	assert_true(json_is_false(json_object_get(first_group(answer), "suspended")));
	json_decref(answer);
	answer = rig_ask(&t.rig, "{\"op\":\"suspend\",\"targets\":[]}");
	assert_int_equal(json_integer_value(json_object_get(answer, "errno")), EINVAL);
	json_decref(answer);
	answer = rig_ask(&t.rig, "{\"op\":\"suspend\",\"targets\":7}");
	assert_int_equal(json_integer_value(json_object_get(answer, "errno")), EINVAL);
	json_decref(answer);
	two_down(&t);
}

static void expect_error(json_t *answer, int code)
{
	assert_int_equal(json_integer_value(json_object_get(answer, "errno")), code);
	assert_true(strlen(json_string_value(json_object_get(answer, "error"))) > 10);
	json_decref(answer);
}

static void wrong_requests_get_a_sentence(void **state)
{
	struct rig r;

	(void)state;
	rig_up(&r, NULL);
	expect_error(rig_ask(&r, "{\"op\":\"dance\"}"), EOPNOTSUPP);
	expect_error(rig_ask(&r, "{}"), EOPNOTSUPP);
	expect_error(rig_ask(&r, "{\"op\":\"why\",\"pid\":1}"), ENOENT);
	expect_error(rig_ask(&r, "{\"op\":\"why\"}"), ENOENT);
	expect_error(rig_ask(&r, "{\"op\":\"policy\",\"name\":\"magic\"}"), ENOENT);
	expect_error(rig_ask(&r, "{\"op\":\"policy\",\"params\":{\"magic\":1}}"), EINVAL);
	expect_error(rig_ask(&r, "{\"op\":\"policy\",\"params\":{\"tries\":-1}}"), ERANGE);
	rig_down(&r);
}

static void a_policy_is_changed_while_programs_run(void **state)
{
	json_t *answer;
	struct two t;

	(void)state;
	two_up(&t, NULL);
	preempt(&t);
	answer = rig_ask(&t.rig, "{\"op\":\"policy\",\"name\":\"none\"}");
	assert_null(json_object_get(answer, "error"));
	json_decref(answer);
	agent_obey(&t.offline, 0, GP__WIRE_RELEASE);
	two_down(&t);
}

/* Characters of a tag are replaced, and a search with the original text finds it. */
static void a_tag_of_several_words_is_one_group(void **state)
{
	struct gp__wire_queue_add q = queue_of(NORMAL, "gpu-a", "my tag=ä");
	json_t *answer;
	struct agent a;
	struct rig r;

	(void)state;
	rig_up(&r, NULL);
	agent_join(&r, &a, "serve");
	agent_add(&a, &q);
	agent_add(&a, &q);
	answer = rig_ask(&r, "{\"op\":\"why\",\"tag\":\"my tag=ä\"}");
	assert_int_equal(json_array_size(json_object_get(answer, "groups")), 1);
	assert_int_equal(json_array_size(json_object_get(first_group(answer), "queues")), 2);
	json_decref(answer);
	answer = rig_ask(&r, "{\"op\":\"why\",\"targets\":[{\"tag\":\"my_tag___\"},"
			     "{\"tag\":\"my tag=ä\"}]}");
	assert_int_equal(json_array_size(json_object_get(answer, "groups")), 1);
	json_decref(answer);
	agent_leave(&a);
	rig_down(&r);
}

/* Deadlines count from the arrival of work. */
static void a_policy_that_needs_more_than_presence_is_refused(void **state)
{
	static const char edf[] = "{\"op\":\"policy\",\"name\":\"edf\"}";
	json_t *answer;
	struct two t;

	(void)state;
	two_up(&t, NULL);
	atomic_store(&t.online.client.status->slot[0].sees, GP__WIRE_SEES_PRESENCE);
	answer = rig_ask(&t.rig, edf);
	assert_non_null(strstr(json_string_value(json_object_get(answer, "error")), "(pid "));
	expect_error(answer, EOPNOTSUPP);
	json_decref(rig_ask(&t.rig, "{\"op\":\"policy\",\"name\":\"fair\"}"));
	atomic_store(&t.online.client.status->slot[0].sees, GP__WIRE_SEES_LAUNCH);
	answer = rig_ask(&t.rig, edf);
	assert_null(json_object_get(answer, "error"));
	json_decref(answer);
	two_down(&t);
}

static void decisions_can_be_watched(void **state)
{
	char text[GP__WIRE_TEXT_MAX], line[GP__LOG_LINE_MAX], *answer;
	bool seen = false;
	struct two t;
	int fd;

	(void)state;
	two_up(&t, NULL);
	fd = gp__wire_control(t.rig.socket, text);
	assert_int_equal(gp__wire_ask(fd, "{\"op\":\"watch\"}", &answer), 0);
	free(answer);
	preempt(&t);
	while (!seen && gp__wire_next_line(fd, line, sizeof(line), 5000) > 0)
		seen = strstr(line, "exclude") && strstr(line, "why=priority");
	assert_true(seen);
	close(fd);
	two_down(&t);
}

/* The daemon never waits for a watcher: lines that do not fit are dropped, counted and told of. */
static void a_watcher_that_does_not_read_is_told_what_it_missed(void **state)
{
	char text[GP__WIRE_TEXT_MAX], line[GP__LOG_LINE_MAX], *answer;
	unsigned long long missing = 0;
	int fd, small = 4096;
	struct two t;

	(void)state;
	two_up(&t, NULL);
	fd = gp__wire_control(t.rig.socket, text);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	assert_int_equal(gp__wire_ask(fd, "{\"op\":\"watch\"}", &answer), 0);
	free(answer);
	for (int i = 0; i < 100; i++) {
		preempt(&t);
		release(&t);
	}
	/* It writes no more while they are read. */
	rig_expect_asleep(&t.rig);
	while (gp__wire_next_line(fd, line, sizeof(line), 0) > 0)
		assert_true(*line != '#');
	preempt(&t);
	assert_true(gp__wire_next_line(fd, line, sizeof(line), 5000) > 0);
	assert_int_equal(sscanf(line, "# %llu lines are missing here", &missing), 1);
	assert_true(missing > 0);
	/* It is said once. */
	release(&t);
	while (gp__wire_next_line(fd, line, sizeof(line), 100) > 0)
		assert_true(*line != '#');
	close(fd);
	two_down(&t);
}

/* --old-kernel: on one that waits in milliseconds. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urgent_work_holds_the_patient),
		cmocka_unit_test(a_program_that_is_alone_does_not_notify),
		cmocka_unit_test(what_changes_while_a_page_is_read_is_read),
		cmocka_unit_test(one_on_another_gpu_is_left_alone),
		cmocka_unit_test(a_hold_is_renewed),
		cmocka_unit_test(the_time_of_an_order_is_as_was_agreed),
		cmocka_unit_test(nothing_ticks_while_no_queue_is_held),
		cmocka_unit_test(an_order_that_was_given_up_comes_again),
		cmocka_unit_test(a_program_that_leaves_holds_no_other),
		cmocka_unit_test(a_hold_that_fails_leaves_it_running),
		cmocka_unit_test(another_priority_is_another_group),
		cmocka_unit_test(wrong_queues_are_refused),
		cmocka_unit_test(why_names_the_cause_of_a_hold),
		cmocka_unit_test(a_program_that_yields_is_not_charged),
		cmocka_unit_test(a_program_that_lingers_is_shown_with_its_waste),
		cmocka_unit_test(why_knows_a_program_that_has_ended),
		cmocka_unit_test(only_the_latest_ended_programs_are_kept),
		cmocka_unit_test(the_list_names_the_cause_of_a_hold),
		cmocka_unit_test(a_tag_means_all_that_have_it),
		cmocka_unit_test(an_operator_suspends_resumes_and_sets),
		cmocka_unit_test(targets_are_all_changed_or_none),
		cmocka_unit_test(wrong_requests_get_a_sentence),
		cmocka_unit_test(a_policy_is_changed_while_programs_run),
		cmocka_unit_test(a_tag_of_several_words_is_one_group),
		cmocka_unit_test(a_policy_that_needs_more_than_presence_is_refused),
		cmocka_unit_test(decisions_can_be_watched),
		cmocka_unit_test(a_watcher_that_does_not_read_is_told_what_it_missed),
	};

	if (argc > 1 && !strcmp(argv[1], "--old-kernel") &&
	    !host_forbid(SYS_epoll_pwait2, ENOSYS)) {
		puts("skipped: no seccomp filters on this host");
		return TEST_SKIPPED;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
