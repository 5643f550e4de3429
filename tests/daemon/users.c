// SPDX-License-Identifier: MIT
#include "users.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"

static void become(uid_t uid)
{
	if (setgroups(0, NULL) || setgid(uid) || setuid(uid))
		_exit(100);
}

/* Runs a function as another user, in a process of its own. */
void as(uid_t uid, struct rig *r, void (*act)(struct rig *r))
{
	pid_t pid = rig_fork(r);
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

void user_start(struct user_process *g, struct rig *r, uid_t uid, void (*begin)(struct rig *r))
{
	int here[2], there[2];
	char byte = 0;

	assert_int_equal(pipe2(here, O_CLOEXEC), 0);
	assert_int_equal(pipe2(there, O_CLOEXEC), 0);
	g->pid = rig_fork(r);
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

void open_gpu(void)
{
	EXPECT(open(GPU, O_RDWR | O_CLOEXEC) >= 0);
}

void join(struct rig *r, s32 prio, const char *tag)
{
	struct gp__wire_queue_add q = queue_of(prio, "gpu-a", tag);
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_client c;

	open_gpu();
	EXPECT(!open_client(&c, r, "secret-program", 8, text));
	EXPECT(!gp__wire_client_request(&c, &q, NULL));
	gp__wire_client_work(&c, 0, true, 1, gp__clock_ns());
}

void join_patiently(struct rig *r)
{
	join(r, OFFLINE, "secret-tag");
}

void user_end(struct user_process *g)
{
	int status;

	close(g->let_go);
	assert_int_equal(waitpid(g->pid, &status, 0), g->pid);
	assert_int_equal(status, 0);
}

void expect_refused(struct rig *r, const char *request, int code)
{
	json_t *answer = rig_ask(r, request);
	const char *error = json_string_value(json_object_get(answer, "error"));

	if (json_integer_value(json_object_get(answer, "errno")) != code)
		fprintf(stderr, "%s: %s\n", request, error ? error : "granted");
	EXPECT(json_integer_value(json_object_get(answer, "errno")) == code);
	EXPECT(error && strlen(error) > 20);
	json_decref(answer);
}

u32 number_of(const json_t *o, const char *key)
{
	return (u32)json_integer_value(json_object_get(o, key));
}
