// SPDX-License-Identifier: MIT
/*
 * Helpers of watched programs: a connection of a helper is the program's, with its user's limits,
 * and a program that has joined has none.
 */
#include "rig.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOMEBODY 12345

/* Has the daemon speak with a helper of this process. Returns the helper's end of the connection.
 */
static int add_helper(struct rig *r, pid_t pid, uid_t uid)
{
	struct gp__helper h = { .of.pid = pid, .uid = uid, .gid = uid };
	const char *why = NULL;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	h.target = (int)syscall(SYS_pidfd_open, pid, 0);
	assert_true(h.target >= 0);
	assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	h.socket = ends[0];
	rig_hang(r, true);
	assert_non_null(gp__listener_add_helper(&r->server, &h, &why));
	rig_hang(r, false);
	return ends[1];
}

static pid_t start_program(struct rig *r)
{
	pid_t pid = rig_fork(r);

	if (!pid) {
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

static size_t nr_groups(struct rig *r)
{
	json_t *list = rig_ask(r, "{\"op\":\"list\"}");
	size_t nr = json_array_size(json_object_get(list, "groups"));

	json_decref(list);
	return nr;
}

static void a_watched_program_is_its_users(void **state)
{
	struct gp__wire_queue_add add = queue_of(15, "amd-1", "theirs");
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_reply reply = { 0 };
	struct gp__wire_client c;
	struct rig r;
	json_t *list, *g;
	pid_t pid;

	(void)state;
	rig_up(&r, NULL);
	pid = start_program(&r);
	assert_int_equal(
		gp__wire_client_open_on(&c, add_helper(&r, pid, SOMEBODY), "theirs", 4, text), 0);
	assert_int_equal(gp__wire_client_request(&c, &add, &reply), 0);
	assert_non_null(strstr(reply.text, "priority 15 is above this user's limit"));
	list = rig_ask(&r, "{\"op\":\"list\"}");
	g = first_group(list);
	assert_int_equal(json_integer_value(json_object_get(g, "user")), SOMEBODY);
	assert_int_equal(json_integer_value(json_object_get(g, "pid")), pid);
	assert_int_equal(json_integer_value(json_object_get(g, "priority")), 7);
	assert_true(json_is_true(json_object_get(g, "watched")));
	json_decref(list);

	/* The program's end is the connection's, whether its helper sees it or not. */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 500 && nr_groups(&r); i++)
		usleep(10000);
	assert_int_equal(nr_groups(&r), 0);
	gp__wire_client_close(&c);
	rig_down(&r);
}

static void a_program_that_has_joined_is_not_watched(void **state)
{
	struct gp__wire_queue_add add = queue_of(7, "amd-1", "mine");
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_client c;
	struct agent a;
	struct rig r;

	(void)state;
	rig_up(&r, NULL);
	agent_join(&r, &a, "mine");
	agent_add(&a, &add);
	assert_true(gp__wire_client_open_on(&c, add_helper(&r, getpid(), 0), "mine", 4, text) < 0);
	assert_int_equal(nr_groups(&r), 1);
	agent_leave(&a);
	/* It may be watched again. */
	rig_sync(&r);
	for (int i = 0; i < 500 && nr_groups(&r); i++)
		usleep(10000);
	assert_int_equal(gp__wire_client_open_on(&c, add_helper(&r, getpid(), 0), "mine", 4, text),
			 0);
	gp__wire_client_close(&c);
	rig_down(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_watched_program_is_its_users),
		cmocka_unit_test(a_program_that_has_joined_is_not_watched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
