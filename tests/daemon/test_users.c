// SPDX-License-Identifier: MIT
/*
 * Several users: none can see, hold or change the programs of another, or use up what others need.
 * Root runs the daemon; the users are processes with ids of their own.
 */
#include "users.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/*
 * Another's program
 */

static void join_normally(struct rig *r)
{
	join(r, NORMAL, "");
}

static void join_with_common_tag(struct rig *r)
{
	join(r, OFFLINE, "common");
}

/* All that a user may know of another's programs. */
static void look_around(struct rig *r)
{
	static const char *const known[] = { "group", "gpu",	   "user", "priority", "class",
					     "state", "nr_queues", "off",  NULL };
	json_t *answer = rig_ask(r, "{\"op\":\"list\"}"), *g = first_group(answer), *value;
	char *text = json_dumps(answer, 0);
	const char *key;

	EXPECT(json_array_size(json_object_get(answer, "groups")) == 1);
	json_object_foreach (g, key, value) {
		size_t i = 0;

		while (known[i] && strcmp(known[i], key))
			i++;
		EXPECT(known[i]);
	}
	EXPECT(!strstr(text, "secret"));
	EXPECT(number_of(json_object_get(answer, "you"), "user") == MALLORY);
	EXPECT(json_is_false(json_object_get(json_object_get(answer, "you"), "administrator")));
}

static void others_are_there_and_no_more_is_known(void **state)
{
	struct user_process alice;
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, CONFIG);
	user_start(&alice, &r, ALICE, join_patiently);
	as(MALLORY, &r, look_around);
	user_end(&alice);
	rig_down(&r);
}

/* By whatever name; what it is called is on a page that the parent has written. */
static char names[4][64];

static void meddle(struct rig *r)
{
	static const char *const ops[] = { "\"op\":\"suspend\"", "\"op\":\"resume\"",
					   "\"op\":\"why\"", "\"op\":\"set\",\"priority\":1",
					   "\"op\":\"set\",\"share_pct\":1" };
	char request[320];

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		for (int n = 0; n < 4; n++) {
			snprintf(request, sizeof(request), "{%s,%s}", ops[i], names[n]);
			expect_refused(r, request, ENOENT);
		}
	}
}

static void anothers_program_is_not_to_be_touched(void **state)
{
	json_t *before, *after;
	struct user_process alice;
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, CONFIG);
	user_start(&alice, &r, ALICE, join_patiently);
	before = rig_ask(&r, "{\"op\":\"list\"}");
	snprintf(names[0], sizeof(names[0]), "\"group\":%u",
		 number_of(first_group(before), "group"));
	snprintf(names[1], sizeof(names[1]), "\"pid\":%d", (int)alice.pid);
	snprintf(names[2], sizeof(names[2]), "\"tag\":\"secret-tag\"");
	snprintf(names[3], sizeof(names[3]), "\"queue\":%u",
		 number_of(json_array_get(json_object_get(first_group(before), "queues"), 0),
			   "queue"));
	as(MALLORY, &r, meddle);
	after = rig_ask(&r, "{\"op\":\"list\"}");
	for (const char *const *key = (const char *const[]){ "state", "priority", "suspended",
							     "share_pct", "holds", NULL };
	     *key; key++)
		assert_true(json_equal(json_object_get(first_group(before), *key),
				       json_object_get(first_group(after), *key)));
	json_decref(before);
	json_decref(after);
	user_end(&alice);
	rig_down(&r);
}

static void ask_why_secret(struct rig *r)
{
	expect_refused(r, "{\"op\":\"why\",\"tag\":\"secret-tag\"}", ENOENT);
}

static void anothers_program_that_has_ended_is_not_told(void **state)
{
	struct user_process alice;
	json_t *answer;
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, NULL);
	user_start(&alice, &r, ALICE, join_patiently);
	user_end(&alice);
	rig_sync(&r);
	as(MALLORY, &r, ask_why_secret);
	answer = rig_ask(&r, "{\"op\":\"why\",\"tag\":\"secret-tag\"}");
	assert_string_equal(json_string_value(json_object_get(first_group(answer), "state")),
			    "ended");
	assert_int_equal(number_of(first_group(answer), "user"), ALICE);
	json_decref(answer);
	rig_down(&r);
}

static void use_a_common_tag(struct rig *r)
{
	struct gp__wire_queue_add q = queue_of(OFFLINE, "gpu-a", "common");
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_client c;
	json_t *answer;

	EXPECT(!gp__wire_client_open(&c, r->socket, "mine", 8, text));
	EXPECT(!gp__wire_client_request(&c, &q, NULL));
	answer = rig_ask(r, "{\"op\":\"suspend\",\"tag\":\"common\"}");
	EXPECT(json_array_size(json_object_get(answer, "groups")) == 1);
	EXPECT(number_of(first_group(answer), "user") == MALLORY);
	json_decref(answer);
}

static void a_tag_means_ones_own(void **state)
{
	struct user_process alice;
	json_t *answer;
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, CONFIG);
	user_start(&alice, &r, ALICE, join_with_common_tag);
	as(MALLORY, &r, use_a_common_tag);
	answer = rig_ask(&r, "{\"op\":\"list\"}");
	assert_true(json_is_false(json_object_get(first_group(answer), "suspended")));
	json_decref(answer);
	user_end(&alice);
	rig_down(&r);
}

/* Held for another user's program, which is not named. */
static void be_held(struct rig *r)
{
	struct gp__wire_queue_add q = queue_of(OFFLINE, "gpu-a", "mine");
	struct agent a = { 0 };
	char text[GP__WIRE_TEXT_MAX];
	json_t *answer, *hold;

	open_gpu();
	EXPECT(!gp__wire_client_open(&a.client, r->socket, "mine", 8, text));
	EXPECT(!gp__wire_client_request(&a.client, &q, NULL));
	agent_work(&a, 0, true);
	agent_obey(&a, 0, GP__WIRE_HOLD);
	answer = rig_ask(r, "{\"op\":\"why\",\"tag\":\"mine\"}");
	hold = json_array_get(json_object_get(first_group(answer), "history"), 0);
	EXPECT(json_is_integer(json_object_get(hold, "by_priority")));
	EXPECT(json_is_null(json_object_get(hold, "by_pid")));
	EXPECT(json_is_null(json_object_get(hold, "by_program")));
	json_decref(answer);
}

static void the_cause_of_a_hold_stays_unnamed(void **state)
{
	struct user_process alice;
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, CONFIG);
	user_start(&alice, &r, ALICE, join_normally);
	as(MALLORY, &r, be_held);
	user_end(&alice);
	rig_down(&r);
}

static void ask_for_settings_of_all_users(struct rig *r)
{
	json_t *answer = rig_ask(r, "{\"op\":\"policy\"}");

	EXPECT(json_array_size(json_object_get(answer, "policies")) > 1);
	json_decref(answer);
	expect_refused(r, "{\"op\":\"policy\",\"name\":\"none\"}", EPERM);
	expect_refused(r, "{\"op\":\"policy\",\"params\":{\"max_hold_ms\":1}}", EPERM);
	expect_refused(r, "{\"op\":\"watch\"}", EPERM);
}

static void settings_for_all_users_are_the_administrators(void **state)
{
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, NULL);
	as(MALLORY, &r, ask_for_settings_of_all_users);
	rig_down(&r);
}

/*
 * Limits
 */

static void climb(struct rig *r)
{
	struct gp__wire_queue_add q = queue_of(ONLINE, "gpu-a", "mine");
	struct gp__wire_set_hints hints = { .head = { sizeof(hints), GP__WIRE_HINTS, 0, 0, 0 },
					    .hints.prio = NORMAL + 1 };
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_reply reply;
	struct gp__wire_client c;

	EXPECT(!gp__wire_client_open(&c, r->socket, "climber", 8, text));
	EXPECT(!gp__wire_client_request(&c, &q, &reply));
	EXPECT(strstr(reply.text,
		      "priority 15 is above this user's limit, 7, and is lowered to it"));
	q.slot = 1;
	q.hints.prio = NORMAL;
	EXPECT(!gp__wire_client_request(&c, &q, &reply));
	EXPECT(!*reply.text);
	EXPECT(gp__wire_client_request(&c, &hints, &reply) == -EACCES);
	EXPECT(strstr(reply.text, "limit"));
	hints.hints.prio = OFFLINE;
	EXPECT(!gp__wire_client_request(&c, &hints, &reply));
	expect_refused(r, "{\"op\":\"set\",\"tag\":\"mine\",\"priority\":8}", EACCES);
	EXPECT(gp__wire_client_open(&c, r->socket, "second", 8, text) == -EDQUOT);
	EXPECT(strstr(text, "max_programs"));
}

static void a_user_climbs_no_higher_than_his_limit(void **state)
{
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, "[user 65532]\nmax_programs = 1\n");
	as(MALLORY, &r, climb);
	rig_down(&r);
}

static void join_without_queues(struct rig *r)
{
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_client c;

	EXPECT(gp__wire_client_open(&c, r->socket, "none", 8, text) == -EDQUOT);
	EXPECT(strstr(text, "max_queues is 0"));
}

static void a_user_without_queues_is_told(void **state)
{
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, "[user 65532]\nmax_queues = 0\n");
	as(MALLORY, &r, join_without_queues);
	rig_sync(&r);
	rig_down(&r);
}

static void name_many_gpus(struct rig *r)
{
	struct gp__wire_reply reply;
	struct gp__wire_client c;
	char text[GP__WIRE_TEXT_MAX], name[16];
	int granted = 0;

	EXPECT(!gp__wire_client_open(&c, r->socket, "namer", 1024, text));
	for (u32 i = 0; i < 100; i++) {
		struct gp__wire_queue_add q;
		int err;

		snprintf(name, sizeof(name), "gpu-%u", i);
		q = queue_of(OFFLINE, name, "");
		q.slot = i;
		err = gp__wire_client_request(&c, &q, &reply);
		EXPECT(!err || (err == -EDQUOT && strstr(reply.text, "GPUs")));
		granted += !err;
	}
	EXPECT(granted == 64);
	/* On those that are there, there is still room. */
	EXPECT(!gp__wire_client_request(
		&c,
		&(struct gp__wire_queue_add){
			.head = { sizeof(struct gp__wire_queue_add), GP__WIRE_QUEUE_ADD, 0, 0, 0 },
			.slot = 1000,
			.level = 3,
			.device = "gpu-3" },
		&reply));
}

static void a_user_cannot_name_endless_gpus(void **state)
{
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, NULL);
	as(MALLORY, &r, name_many_gpus);
	rig_down(&r);
}

/* Connections for 10 programs and 64 commands, all silent. */
static void take_all_connections(struct rig *r)
{
	for (int i = 0; i < 10 + 64 + 20; i++) {
		struct pollfd p = { .events = POLLIN };
		struct gp__wire_reply reply;

		p.fd = gp__wire_connect(r->socket);
		EXPECT(p.fd >= 0);
		if (i < 10 + 64)
			continue;
		EXPECT(poll(&p, 1, 20000) == 1);
		EXPECT(gp__wire_receive(p.fd, &reply, sizeof(reply), NULL, NULL) == sizeof(reply));
		EXPECT(reply.result == -EDQUOT);
		EXPECT(strstr(reply.text, "reached the limit of connections: max_programs"));
	}
}

static void be_kept_out(struct rig *r)
{
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_client c;

	EXPECT(gp__wire_control(r->socket, text) == -EDQUOT);
	EXPECT(strstr(text, "connections"));
	EXPECT(gp__wire_client_open(&c, r->socket, "more", 8, text) == -EDQUOT);
	EXPECT(strstr(text, "connections"));
}

static void connections_of_one_user_leave_room_for_others(void **state)
{
	struct user_process mallory, alice;
	struct two t;

	(void)state;
	NEEDS_ROOT();
	two_up(&t, "[user 65532]\nmax_programs = 10\n");
	user_start(&mallory, &t.rig, MALLORY, take_all_connections);
	as(MALLORY, &t.rig, be_kept_out);
	user_start(&alice, &t.rig, ALICE, join_patiently);
	user_end(&alice);
	preempt(&t);
	release(&t);
	/* The quota of the user is free again. */
	user_end(&mallory);
	user_start(&mallory, &t.rig, MALLORY, take_all_connections);
	user_end(&mallory);
	two_down(&t);
}

/* Its own program may have less than is configured, and not more. */
static void ask_for_guarantees(struct rig *r)
{
	struct gp__wire_queue_add q = queue_of(OFFLINE, "gpu-a", "mine");
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_client c;

	EXPECT(!gp__wire_client_open(&c, r->socket, "secret-program", 8, text));
	q.hints.max_hold_ns = 1;
	EXPECT(gp__wire_client_request(&c, &q, NULL) == -EACCES);
	q.hints.max_hold_ns = 3600 * GP__S;
	EXPECT(!gp__wire_client_request(&c, &q, NULL));
	expect_refused(r, "{\"op\":\"set\",\"tag\":\"mine\",\"min_share_pct\":100}", EACCES);
	expect_refused(r, "{\"op\":\"set\",\"tag\":\"mine\",\"max_hold_ns\":1000}", EACCES);
	json_decref(rig_ask(r, "{\"op\":\"set\",\"tag\":\"mine\",\"weight\":5}"));
}

static void guarantees_are_the_administrators(void **state)
{
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, NULL);
	as(MALLORY, &r, ask_for_guarantees);
	rig_down(&r);
}

/* As if its slices were short, so that one patient program may run beside the urgent. */
static void name_the_gpu_first(struct rig *r)
{
	struct gp__wire_queue_add q = queue_of(OFFLINE, "gpu-a", "");
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_client c;

	q.flags = GP__WIRE_CAN_WEIGH | GP__WIRE_CAN_YIELD;
	q.device_memory = 1;
	open_gpu();
	EXPECT(!gp__wire_client_open(&c, r->socket, "secret-program", 8, text));
	EXPECT(!gp__wire_client_request(&c, &q, NULL));
}

static void the_first_program_on_a_gpu_does_not_decide_for_others(void **state)
{
	struct user_process mallory;
	struct two t;
	int gpu;

	(void)state;
	NEEDS_ROOT();
	rig_up(&t.rig, CONFIG);
	user_start(&mallory, &t.rig, MALLORY, name_the_gpu_first);
	gpu = open(GPU, O_RDWR | O_CLOEXEC);
	assert_true(gpu >= 0);
	agent_join(&t.rig, &t.offline, "train");
	agent_join(&t.rig, &t.online, "serve");
	add(&t.offline, OFFLINE);
	add(&t.online, ONLINE);
	preempt(&t);
	release(&t);
	user_end(&mallory);
	two_down(&t);
	close(gpu);
}

/* Whichever section comes first. */
static void join_above_the_default_limit(struct rig *r)
{
	struct gp__wire_queue_add q = queue_of(3, "gpu-a", "");
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_reply reply;
	struct gp__wire_client c;

	EXPECT(!gp__wire_client_open(&c, r->socket, "secret-program", 8, text));
	EXPECT(!gp__wire_client_request(&c, &q, &reply));
	EXPECT(strstr(reply.text, "priority 3 is above this user's limit, 2"));
}

static void a_section_inherits_the_limits_of_everybody(void **state)
{
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, "[user 65532]\nmax_programs = 4\n[everybody]\nmax_priority = 2\n");
	as(MALLORY, &r, join_above_the_default_limit);
	rig_down(&r);
}

/*
 * Names
 */

/* An agent of an attacker does not clean what it sends. */
static void names_reach_nobody_unchanged(void **state)
{
	struct gp__wire_hello hello = { .head = { sizeof(hello), GP__WIRE_HELLO, 0, 1, 0 },
					.version_min = GP__WIRE_VERSION,
					.version_max = GP__WIRE_VERSION,
					.role = GP__WIRE_AGENT,
					.nr_slots = 1,
					.program = "a\u202eb\xffz" };
	struct gp__wire_queue_add q = queue_of(NORMAL, "gpu-a", "");
	u64 message[GP__WIRE_MESSAGE_MAX / sizeof(u64)];
	json_t *answer;
	struct rig r;
	int fd;

	(void)state;
	rig_up(&r, NULL);
	strcpy(q.device_name, "GPU\u2066\xc3");
	fd = gp__wire_connect(r.socket);
	assert_true(fd >= 0);
	assert_int_equal(gp__wire_send(fd, &hello, NULL, 0), 0);
	assert_true(gp__wire_receive(fd, message, sizeof(message), NULL, NULL) > 0);
	assert_int_equal(gp__wire_send(fd, &q, NULL, 0), 0);
	assert_true(gp__wire_receive(fd, message, sizeof(message), NULL, NULL) > 0);
	answer = rig_ask(&r, "{\"op\":\"list\"}");
	assert_string_equal(json_string_value(json_object_get(first_group(answer), "program")),
			    "a?b?z");
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(json_object_get(answer, "gpus"), 0), "name")),
			    "GPU??");
	json_decref(answer);
	close(fd);
	rig_down(&r);
}

/*
 * Containers
 */

/* Runs a function as root in new namespaces. False: they are not permitted here. */
static bool in_container(struct rig *r, int namespaces, void (*act)(struct rig *r))
{
	pid_t pid = rig_fork(r);
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		if (unshare(namespaces))
			_exit(77);
		/* A pid namespace begins with the next child. */
		pid = fork();
		if (!pid) {
			act(r);
			_exit(0);
		}
		EXPECT(waitpid(pid, &status, 0) == pid);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		return false;
	assert_int_equal(status, 0);
	return true;
}

static void change_the_policy(struct rig *r)
{
	json_t *answer = rig_ask(r, "{\"op\":\"policy\",\"name\":\"fair\"}");

	EXPECT(!json_object_get(answer, "error"));
	json_decref(answer);
}

static void fail_to_change_the_policy(struct rig *r)
{
	json_t *answer = rig_ask(r, "{\"op\":\"policy\",\"name\":\"none\"}");

	EXPECT(number_of(answer, "errno") == EPERM);
	EXPECT(strstr(json_string_value(json_object_get(answer, "error")), "in a container"));
	json_decref(answer);
	/* It can join, under the pid that the daemon sees. */
	join(r, OFFLINE, "contained");
}

static void expect_no_admin(int namespaces)
{
	bool permitted;
	struct rig r;

	NEEDS_ROOT();
	rig_up(&r, NULL);
	permitted = in_container(&r, namespaces, fail_to_change_the_policy);
	rig_sync(&r);
	rig_down(&r);
	if (!permitted) {
		print_message("namespaces cannot be made here\n");
		skip();
	}
}

static void root_of_a_pid_namespace_is_no_administrator(void **state)
{
	(void)state;
	expect_no_admin(CLONE_NEWPID);
}

/* Without a mapping, its uid is still root's for the daemon. */
static void root_of_a_user_namespace_is_no_administrator(void **state)
{
	(void)state;
	expect_no_admin(CLONE_NEWUSER);
}

static void containers_may_have_administrators(void **state)
{
	bool permitted;
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, "[daemon]\nadmins = any\n");
	change_the_policy(&r);
	permitted = in_container(&r, CLONE_NEWPID, change_the_policy);
	rig_down(&r);
	if (!permitted)
		skip();
}

/* Its uid and another one share the limits of their owner. */
static void use_a_subordinate_uid(struct rig *r)
{
	struct gp__wire_queue_add q = queue_of(OFFLINE + 1, "gpu-a", "mine");
	json_t *answer = rig_ask(r, "{\"op\":\"list\"}"), *you = json_object_get(answer, "you");
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_reply reply;
	struct gp__wire_client c;

	EXPECT(number_of(you, "user") == getuid());
	EXPECT(number_of(you, "limits_of") == ALICE);
	EXPECT(number_of(you, "max_priority") == OFFLINE);
	json_decref(answer);
	EXPECT(!gp__wire_client_open(&c, r->socket, "first", 8, text));
	EXPECT(!gp__wire_client_request(&c, &q, &reply));
	EXPECT(strstr(reply.text, "priority 3 is above this user's limit, 2"));
	EXPECT(gp__wire_client_open(&c, r->socket, "second", 8, text) == -EDQUOT);
	/* Its owner's programs are another user's. */
	expect_refused(r, "{\"op\":\"suspend\",\"tag\":\"secret-tag\"}", ENOENT);
}

static void look_at_ones_containers(struct rig *r)
{
	json_t *answer = rig_ask(r, "{\"op\":\"list\"}"), *g = first_group(answer);

	EXPECT(number_of(g, "user") == 300007);
	EXPECT(number_of(g, "limits_of") == ALICE);
	json_decref(answer);
}

static void subordinate_uids_have_the_limits_of_their_owner(void **state)
{
	char config[256], file[] = "/tmp/gpreempt-subuid-XXXXXX";
	struct user_process alice, contained;
	struct rig r;
	int fd;

	(void)state;
	NEEDS_ROOT();
	fd = mkstemp(file);
	assert_true(fd >= 0);
	dprintf(fd, "no-such-user-here:1:70000\nbroken\n%d:300000:65536\n65531:x:5\n", ALICE);
	close(fd);
	snprintf(config, sizeof(config),
		 "[daemon]\nsubuid = %s\n[user %d]\nmax_programs = 2\nmax_priority = 2\n", file,
		 ALICE);
	rig_up(&r, config);
	user_start(&alice, &r, ALICE, join_patiently);
	as(300000, &r, use_a_subordinate_uid);
	as(365535, &r, use_a_subordinate_uid);
	user_end(&alice);
	user_start(&contained, &r, 300007, join_patiently);
	as(ALICE, &r, look_at_ones_containers);
	user_end(&contained);
	rig_down(&r);
	unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(guarantees_are_the_administrators),
		cmocka_unit_test(the_first_program_on_a_gpu_does_not_decide_for_others),
		cmocka_unit_test(a_section_inherits_the_limits_of_everybody),
		cmocka_unit_test(others_are_there_and_no_more_is_known),
		cmocka_unit_test(anothers_program_is_not_to_be_touched),
		cmocka_unit_test(anothers_program_that_has_ended_is_not_told),
		cmocka_unit_test(a_tag_means_ones_own),
		cmocka_unit_test(the_cause_of_a_hold_stays_unnamed),
		cmocka_unit_test(settings_for_all_users_are_the_administrators),
		cmocka_unit_test(a_user_climbs_no_higher_than_his_limit),
		cmocka_unit_test(a_user_without_queues_is_told),
		cmocka_unit_test(a_user_cannot_name_endless_gpus),
		cmocka_unit_test(connections_of_one_user_leave_room_for_others),
		cmocka_unit_test(names_reach_nobody_unchanged),
		cmocka_unit_test(root_of_a_pid_namespace_is_no_administrator),
		cmocka_unit_test(root_of_a_user_namespace_is_no_administrator),
		cmocka_unit_test(containers_may_have_administrators),
		cmocka_unit_test(subordinate_uids_have_the_limits_of_their_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
