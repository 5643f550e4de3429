// SPDX-License-Identifier: MIT
/* Attacks that evade the operator's decisions, mislead people, or learn of other users' programs.
 */
#include "hostile.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A connection with the operator's rights; the user's own where root did not start the attack. */
static int operator_of(const struct hostile *h, int own)
{
	return h->operator_fd >= 0 ? h->operator_fd : own;
}

/* Whether a group of this process has work and is not suspended. -1: no answer. */
static int has_escaped(int fd)
{
	json_t *answer = ask(fd, "{\"op\":\"list\"}"), *g;
	int escaped = answer ? 0 : -1;
	size_t i;

	json_array_foreach (json_object_get(answer, "groups"), i, g) {
		if (json_integer_value(json_object_get(g, "pid")) == getpid() &&
		    json_is_true(json_object_get(g, "has_work")) &&
		    json_is_false(json_object_get(g, "suspended")))
			escaped = 1;
	}
	json_decref(answer);
	return escaped;
}

/* A suspended program makes a new group, with another tag or another priority. 0 or -errno. */
static int escape(struct hostile *h, int own, bool by_tag)
{
	char request[64];
	struct gp__wire_client c;
	json_t *answer;
	int err = join(h, &c, "escape", 2);

	if (err)
		return err;
	err = add(h, &c, 0, 1, "");
	gp__wire_client_work(&c, 0, true, 1, gp__clock_ns());
	snprintf(request, sizeof(request), "{\"op\":\"suspend\",\"pid\":%d}", (int)getpid());
	answer = err ? NULL : ask(operator_of(h, own), request);
	if (!answer)
		err = -EPIPE;
	json_decref(answer);
	if (!err)
		obey(&c, 2, 100);
	if (!err)
		err = by_tag ? add(h, &c, 1, 1, "new") : set_prio(&c, 0, 0);
	if (!err && by_tag)
		gp__wire_client_work(&c, 1, true, 1, gp__clock_ns());
	if (!err) {
		obey(&c, 2, 10);
		err = has_escaped(own) > 0 ? 0 : -EACCES;
	}
	gp__wire_client_close(&c);
	return err;
}

/* Attack 10: runs again after the operator has suspended the program. */
void attack_escape(struct hostile *h)
{
	char text[GP__WIRE_TEXT_MAX];
	int own = gp__wire_control(h->socket, text), err = own < 0 ? own : 0;

	for (int i = 0; own >= 0 && goes_on(h) && err != -EPIPE; i++) {
		err = escape(h, own, i & 1);
		count(h, err);
		rest_ms(h, 100);
	}
	if (own >= 0)
		close(own);
	else
		count(h, own);
}

/* The operator chooses a policy and returns to the one before. 0 or -errno. */
static int change_policy(int fd, const char *before)
{
	static const char *const requests[] = {
		"{\"op\":\"policy\",\"name\":\"edf\"}",
		"{\"op\":\"policy\",\"name\":\"edf\",\"force\":true}"
	};
	char back[96];
	int err = -EACCES;

	snprintf(back, sizeof(back), "{\"op\":\"policy\",\"name\":\"%s\"}", before);
	for (int i = 0; i < 2 && err == -EACCES; i++) {
		json_t *answer = ask(fd, requests[i]);

		err = !answer ? -EPIPE : is_refused(answer) ? -EACCES : 0;
		json_decref(answer);
	}
	if (!err)
		json_decref(ask(fd, back));
	return err;
}

/* The name of the policy in force, for free(). NULL: no answer. */
static char *current_policy(int fd)
{
	json_t *answer = ask(fd, "{\"op\":\"list\"}");
	const char *name =
		json_string_value(json_object_get(json_object_get(answer, "daemon"), "policy"));
	char *copy = name ? strdup(name) : NULL;

	json_decref(answer);
	return copy;
}

/*
 * Attack 12: claims that its work cannot be seen to arrive, so that the administrator's choice of a
 * policy that needs this is refused. A refusal is the attacker's success.
 */
void attack_presence(struct hostile *h)
{
	char *before = current_policy(h->operator_fd);
	struct gp__wire_client c;
	int err = before ? join(h, &c, "presence", 1) : -EPIPE;

	if (!err) {
		err = add(h, &c, 0, 1, "");
		atomic_store(&c.status->slot[0].sees, GP__WIRE_SEES_PRESENCE);
		while (goes_on(h) && err != -EPIPE) {
			err = change_policy(h->operator_fd, before);
			count(h, err == -EACCES ? 0 : err ? err : -EACCES);
			rest_ms(h, 1000);
		}
		gp__wire_client_close(&c);
	}
	free(before);
}

/* RIGHT-TO-LEFT OVERRIDE, which reverses what a terminal shows after it, and a zero-width space. */
#define REVERSED "\u202Egnp.exe\u200B"

/* How many rows of the list of GPUs are those of this key. Until the daemon has seen that a program
 * has the device open, the program is on a row of its user's own, which says so. */
static int rows_of(const json_t *answer, const char *key)
{
	const json_t *gpu;
	int n = 0;
	size_t i;

	json_array_foreach (json_object_get(answer, "gpus"), i, gpu)
		n += !strcmp(json_string_value(json_object_get(gpu, "key")), key) &&
		     !json_is_integer(json_object_get(gpu, "only_user"));
	return n;
}

static bool has_override(const json_t *answer)
{
	char *text = json_dumps(answer, 0);
	bool has = text && (strstr(text, "\u202E") || strstr(text, "\u200B"));

	free(text);
	return has;
}

/*
 * Attack 13: names that mislead people: characters that reorder text, and a GPU of another size,
 * which makes a second one of the same key.
 */
void attack_names(struct hostile *h)
{
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_queue_add q = queue_of(h, 0, 1, REVERSED), twin = queue_of(h, 1, 1, "");
	struct gp__wire_client c;
	int fd, err = join(h, &c, REVERSED, 2);

	if (err)
		return;
	gp__wire_text(q.device_name, sizeof(q.device_name), REVERSED);
	twin.device_memory = 12345;
	err = gp__wire_client_request(&c, &q, NULL);
	if (!err)
		err = gp__wire_client_request(&c, &twin, NULL);
	if (err)
		count(h, err);
	fd = gp__wire_control(h->socket, text);
	while (goes_on(h) && err != -EPIPE) {
		json_t *answer = ask(fd, "{\"op\":\"list\"}");

		err = answer ? 0 : -EPIPE;
		count(h, err ? err : has_override(answer) ? 0 : -EACCES);
		if (answer)
			count(h, rows_of(answer, h->gpu) > 1 ? 0 : -EACCES);
		json_decref(answer);
		rest_ms(h, 500);
	}
	if (fd >= 0)
		close(fd);
	gp__wire_client_close(&c);
}

/* The error of a request about a process of another user; 0: no answer. */
static int error_of(int fd, const char *pid)
{
	char request[64];
	json_t *answer;
	int code;

	snprintf(request, sizeof(request), "{\"op\":\"why\",\"pid\":%.10s}", pid);
	answer = ask(fd, request);
	code = (int)json_integer_value(json_object_get(answer, "errno"));
	json_decref(answer);
	return code;
}

/*
 * Attack 14: learns which processes of other users are joined, because the error is another one. A
 * second kind of error is a success.
 */
void attack_probe(struct hostile *h)
{
	char text[GP__WIRE_TEXT_MAX];
	int fd = gp__wire_control(h->socket, text), none, code = 1;
	const struct dirent *d;
	DIR *proc;

	if (fd < 0) {
		count(h, fd);
		return;
	}
	none = error_of(fd, "2147483647");
	while (goes_on(h) && code) {
		proc = opendir("/proc");
		while (proc && (d = readdir(proc)) && goes_on(h) && code) {
			if (strspn(d->d_name, "0123456789") != strlen(d->d_name))
				continue;
			code = error_of(fd, d->d_name);
			count(h, !code ? -EPIPE : code != none ? 0 : -EACCES);
		}
		if (proc)
			closedir(proc);
		rest_ms(h, 100);
	}
	close(fd);
}

/* In a container: asks for something that only an administrator gets. */
static void ask_as_root(struct hostile *h)
{
	char text[GP__WIRE_TEXT_MAX];

	while (goes_on(h)) {
		int fd = gp__wire_control(h->socket, text);
		json_t *answer = fd < 0 ? NULL : ask(fd, "{\"op\":\"watch\"}");

		count(h, !answer ? -EPIPE : is_refused(answer) ? -EACCES : 0);
		json_decref(answer);
		if (fd >= 0)
			close(fd);
		rest_ms(h, 500);
	}
}

/* The first child of a process that has unshared its pid namespace is in the new one. */
static void enter_container(struct hostile *h)
{
	pid_t child;

	if (unshare(CLONE_NEWPID | CLONE_NEWNS)) {
		count(h, -EPERM);
		rest_ms(h, UINT32_MAX);
		return;
	}
	child = fork_child();
	if (!child) {
		ask_as_root(h);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

/* Attack 15: is an administrator as root in a container, which has no user namespace. */
void attack_container(struct hostile *h)
{
	pid_t child = fork_child();

	if (!child) {
		enter_container(h);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}
