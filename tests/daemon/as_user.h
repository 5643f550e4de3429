/* SPDX-License-Identifier: MIT */
/* Other users, for tests that root runs: processes with ids of their own. */
#ifndef GP__TESTS_DAEMON_AS_USER_H
#define GP__TESTS_DAEMON_AS_USER_H

#include "rig.h"

#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* The user nobody, and another one. */
#define ALICE 65533
#define MALLORY 65534

#define NEEDS_ROOT()                                                \
	do {                                                        \
		if (geteuid()) {                                    \
			print_message("only root can be others\n"); \
			skip();                                     \
		}                                                   \
	} while (0)

static inline void become(uid_t uid)
{
	if (setgroups(0, NULL) || setgid(uid) || setuid(uid))
		_exit(100);
}

/* A failed check of the child ends it with the line; of the parent, the test. */
#define EXPECT(truth)                                                                    \
	do {                                                                             \
		if (!(truth)) {                                                          \
			fprintf(stderr, "%s:%d: not: %s\n", __FILE__, __LINE__, #truth); \
			_exit(1);                                                        \
		}                                                                        \
	} while (0)

/* Runs a function as another user, in a process of its own. */
static inline void as(uid_t uid, struct rig *r, void (*act)(struct rig *r))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		become(uid);
		act(r);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A process of a user that does something and then waits to be ended. */
struct user_process {
	pid_t pid;
	int let_go;
};

static inline void user_start(struct user_process *g, struct rig *r, uid_t uid,
			      void (*begin)(struct rig *r))
{
	int here[2], there[2];
	char byte = 0;

	assert_int_equal(pipe2(here, O_CLOEXEC), 0);
	assert_int_equal(pipe2(there, O_CLOEXEC), 0);
	g->pid = fork();
	assert_true(g->pid >= 0);
	if (!g->pid) {
		close(there[1]);
		become(uid);
		begin(r);
		EXPECT(write(here[1], "", 1) == 1);
		EXPECT(read(there[0], &byte, 1) == 0);
		_exit(0);
	}
	close(here[1]);
	close(there[0]);
	assert_int_equal(read(here[0], &byte, 1), 1);
	close(here[0]);
	g->let_go = there[1];
}

static inline void user_end(struct user_process *g)
{
	int status;

	close(g->let_go);
	assert_int_equal(waitpid(g->pid, &status, 0), g->pid);
	assert_int_equal(status, 0);
}

static inline void expect_refused(struct rig *r, const char *request, int code)
{
	json_t *answer = rig_ask(r, request);
	const char *error = json_string_value(json_object_get(answer, "error"));

	if (json_integer_value(json_object_get(answer, "errno")) != code)
		fprintf(stderr, "%s: %s\n", request, error ? error : "granted");
	EXPECT(json_integer_value(json_object_get(answer, "errno")) == code);
	EXPECT(error && strlen(error) > 20);
	json_decref(answer);
}

#endif
