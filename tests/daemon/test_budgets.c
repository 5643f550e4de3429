// SPDX-License-Identifier: MIT
/*
 * Users that ask for too much are refused, slowed or dropped, each by itself: beside them, programs
 * of others are scheduled as ever.
 */
#include "users.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"

#define GROUPS 400
#define DECISIONS 20

static void decide(struct two *t, int n)
{
	for (int i = 0; i < n; i++) {
		preempt(t);
		release(t);
	}
}

/* A member of what the daemon says of a user. */
static json_int_t figure_of(struct rig *r, uid_t uid, const char *budget, const char *member)
{
	json_t *answer = rig_ask(r, "{\"op\":\"users\"}"), *user;
	json_int_t value = -1;
	size_t i;

	json_array_foreach (json_object_get(answer, "users"), i, user) {
		if (json_integer_value(json_object_get(user, "user")) != uid)
			continue;
		user = budget ? json_object_get(user, budget) : user;
		value = json_integer_value(json_object_get(user, member));
	}
	json_decref(answer);
	return value;
}

/* Joins with a queue in each of so many groups. */
static void join_groups(struct rig *r, struct gp__wire_client *c, u32 nr)
{
	char text[GP__WIRE_TEXT_MAX], tag[16];

	EXPECT(!gp__wire_client_open(c, r->socket, "many", nr, text));
	for (u32 i = 0; i < nr; i++) {
		struct gp__wire_queue_add q;

		snprintf(tag, sizeof(tag), "t%u", i);
		q = queue_of(OFFLINE, "gpu-b", tag);
		q.slot = i;
		EXPECT(!gp__wire_client_request(c, &q, NULL));
	}
}

/*
 * Counts
 */

/* A change of priority makes a group, too. */
static void make_groups_by_hints(struct rig *r)
{
	struct gp__wire_queue_add q = queue_of(OFFLINE, "gpu-a", "");
	struct gp__wire_set_hints m = { .head = { sizeof(m), GP__WIRE_HINTS, 0, 0, 0 } };
	enum { QUEUES = 1024 };
	struct gp__wire_client c[2];
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_reply reply;
	u32 refused = 0;

	for (u32 i = 0; i < 2 * QUEUES; i++) {
		q.slot = i % QUEUES;
		if (!q.slot)
			EXPECT(!gp__wire_client_open(&c[i / QUEUES], r->socket, "g", QUEUES, text));
		EXPECT(!gp__wire_client_request(&c[i / QUEUES], &q, &reply));
	}
	for (u32 i = 0; i < 2 * QUEUES; i++) {
		m.slot = i % QUEUES;
		m.hints.prio = -(s32)i;
		if (!gp__wire_client_request(&c[i / QUEUES], &m, &reply))
			continue;
		EXPECT(reply.result == -EDQUOT);
		EXPECT(strstr(reply.text, "limit of 1024 groups"));
		refused++;
	}
	EXPECT(refused > 0);
}

static void the_limit_of_groups_holds_for_hints(void **state)
{
	struct two t;

	(void)state;
	NEEDS_ROOT();
	two_up(&t, CONFIG);
	as(MALLORY, &t.rig, make_groups_by_hints);
	decide(&t, 1);
	two_down(&t);
}

static void exceed_hints(struct rig *r)
{
	struct gp__wire_queue_add q = queue_of(NORMAL, "gpu-a", "mine");
	const struct gp__wire_hints greedy[] = { { .prio = NORMAL, .weight = 101 },
						 { .prio = NORMAL, .share_pct = 51 },
						 { .prio = NORMAL, .deadline_ns = 1000 } };
	struct gp__wire_set_hints m = { .head = { sizeof(m), GP__WIRE_HINTS, 0, 0, 0 } };
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_reply reply;
	struct gp__wire_client c;

	EXPECT(!gp__wire_client_open(&c, r->socket, "greedy", 8, text));
	for (int i = 0; i < 3; i++) {
		q.hints = greedy[i];
		EXPECT(gp__wire_client_request(&c, &q, &reply) == -EACCES);
		EXPECT(strstr(reply.text, "limit"));
	}
	q.hints = (struct gp__wire_hints){
		.prio = NORMAL, .weight = 100, .share_pct = 50, .deadline_ns = GP__MS
	};
	EXPECT(!gp__wire_client_request(&c, &q, &reply));
	for (int i = 0; i < 3; i++) {
		m.hints = greedy[i];
		EXPECT(gp__wire_client_request(&c, &m, &reply) == -EACCES);
	}
	expect_refused(r, "{\"op\":\"set\",\"tag\":\"mine\",\"weight\":101}", EACCES);
	expect_refused(r, "{\"op\":\"set\",\"tag\":\"mine\",\"share_pct\":51}", EACCES);
	expect_refused(r, "{\"op\":\"set\",\"tag\":\"mine\",\"deadline_ns\":1000}", EACCES);
	EXPECT(figure_of(r, MALLORY, "refused", "hints") == 9);
}

static void hints_are_within_limits(void **state)
{
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, CONFIG);
	as(MALLORY, &r, exceed_hints);
	rig_down(&r);
}

/*
 * Time
 */

static void ask_why_for_many(struct rig *r)
{
	struct gp__wire_client c;
	char request[16384];
	size_t at;

	join_groups(r, &c, GROUPS);
	at = (size_t)snprintf(request, sizeof(request), "{\"op\":\"why\",\"targets\":[");
	for (int i = 0; i < 256; i++)
		at += (size_t)snprintf(request + at, sizeof(request) - at, "%s{\"tag\":\"t%d\"}",
				       i ? "," : "", i);
	snprintf(request + at, sizeof(request) - at, "]}");
	for (;;) {
		json_t *answer = rig_ask(r, request);

		EXPECT(json_array_size(json_object_get(answer, "groups")) == 256);
		json_decref(answer);
		if (figure_of(r, MALLORY, "refused", "time") > 0)
			return;
	}
}

static void requests_use_up_only_their_users_time(void **state)
{
	struct two t;

	(void)state;
	NEEDS_ROOT();
	two_up(&t, CONFIG);
	as(MALLORY, &t.rig, ask_why_for_many);
	decide(&t, 1);
	two_down(&t);
}

static void toggle_work_until_slowed(struct rig *r)
{
	struct gp__wire_queue_add q = queue_of(OFFLINE, "gpu-a", "");
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_client c;

	EXPECT(!gp__wire_client_open(&c, r->socket, "toggler", 8, text));
	EXPECT(!gp__wire_client_request(&c, &q, NULL));
	do {
		for (u32 i = 0; i < 1000; i++)
			gp__wire_client_work(&c, 0, i % 2, 1, gp__clock_ns());
	} while (!figure_of(r, MALLORY, "refused", "log"));
}

static void lines_in_the_log_slow_their_user(void **state)
{
	char config[256], name[] = "/tmp/gpreempt-budget-XXXXXX";
	int fd = mkstemp(name);
	struct two t;

	(void)state;
	NEEDS_ROOT();
	assert_true(fd >= 0);
	close(fd);
	snprintf(config, sizeof(config),
		 CONFIG "log = %s\n[everybody]\nlog_lines = 10\ndaemon_time = 100\n", name);
	two_up(&t, config);
	as(MALLORY, &t.rig, toggle_work_until_slowed);
	decide(&t, 1);
	two_down(&t);
	unlink(name);
}

/*
 * Memory
 */

static void ask_without_reading(struct rig *r)
{
	struct {
		struct gp__wire_head head;
		char text[16];
	} list = { .head = { sizeof(list.head) + 13, GP__WIRE_TEXT, 0, 2, 0 },
		   .text = "{\"op\":\"list\"}" };
	enum { CONNECTIONS = 150 };
	int fd[CONNECTIONS], small = 1;
	u64 end = gp__clock_ns() + 60 * GP__S;
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_client c;

	join_groups(r, &c, GROUPS);
	for (int i = 0; i < CONNECTIONS; i++) {
		fd[i] = gp__wire_control(r->socket, text);
		EXPECT(fd[i] >= 0);
		setsockopt(fd[i], SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
		EXPECT(!gp__wire_send(fd[i], &list, NULL, 0));
	}
	do {
		EXPECT(figure_of(r, MALLORY, NULL, "unsent_bytes") <= GP__USER_UNSENT_MAX);
		EXPECT(gp__clock_ns() < end);
	} while (!figure_of(r, MALLORY, "refused", "unsent"));
	/* The others are dropped when they have not read for a while. */
	for (int i = 0; i < CONNECTIONS; i++) {
		struct pollfd p = { .fd = fd[i], .events = POLLRDHUP };

		EXPECT(poll(&p, 1, 60000) == 1);
		close(fd[i]);
	}
}

static void unread_answers_take_little_memory(void **state)
{
	struct two t;

	(void)state;
	NEEDS_ROOT();
	two_up(&t, CONFIG "[user 65532]\nmax_programs = 200\ndaemon_time = 100\n");
	as(MALLORY, &t.rig, ask_without_reading);
	decide(&t, 1);
	two_down(&t);
}

static void a_client_that_says_nothing_is_dropped(void **state)
{
	struct pollfd p = { .events = POLLRDHUP };
	struct two t;

	(void)state;
	two_up(&t, CONFIG);
	p.fd = gp__wire_connect(t.rig.socket);
	assert_true(p.fd >= 0);
	assert_int_equal(poll(&p, 1, 60000), 1);
	close(p.fd);
	decide(&t, 1);
	rig_expect_asleep(&t.rig);
	two_down(&t);
}

/* A part of a long answer is sent at a time, and all of it arrives. */
static void long_answers_are_whole(void **state)
{
	struct agent many;
	struct two t;
	json_t *answer;
	char text[GP__WIRE_TEXT_MAX], tag[16];

	(void)state;
	two_up(&t, CONFIG);
	assert_int_equal(gp__wire_client_open(&many.client, t.rig.socket, "many", 1024, text), 0);
	many.nr_queues = 0;
	for (u32 i = 0; i < 1000; i++) {
		struct gp__wire_queue_add q;

		snprintf(tag, sizeof(tag), "t%u", i % 100);
		q = queue_of(OFFLINE, "gpu-b", tag);
		agent_add(&many, &q);
	}
	answer = rig_ask(&t.rig, "{\"op\":\"list\"}");
	assert_int_equal(json_array_size(json_object_get(answer, "groups")), 102);
	assert_int_equal(json_array_size(json_object_get(answer, "gpus")), 2);
	for (u32 i = 2; i < 102; i++) {
		json_t *group = json_array_get(json_object_get(answer, "groups"), i);

		assert_int_equal(json_array_size(json_object_get(group, "queues")), 10);
	}
	json_decref(answer);
	agent_leave(&many);
	two_down(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_limit_of_groups_holds_for_hints),
		cmocka_unit_test(hints_are_within_limits),
		cmocka_unit_test(requests_use_up_only_their_users_time),
		cmocka_unit_test(lines_in_the_log_slow_their_user),
		cmocka_unit_test(unread_answers_take_little_memory),
		cmocka_unit_test(a_client_that_says_nothing_is_dropped),
		cmocka_unit_test(long_answers_are_whole),
	};

	if (open(GPU, O_RDWR | O_CLOEXEC) < 0)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
