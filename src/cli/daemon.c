// SPDX-License-Identifier: MIT
#include "cli/daemon.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/units.h"
#include "wire/client.h"

/* Where a unit may be installed. */
static const char *const unit_folders[] = { "/etc/systemd/system", "/usr/local/lib/systemd/system",
					    "/usr/lib/systemd/system", "/lib/systemd/system" };

/* The remedy fits the installation: a build tree and a container have no unit. */
static const char *how_to_start(void)
{
	char path[64];

	for (size_t i = 0; i < sizeof(unit_folders) / sizeof(unit_folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/gpreemptd.service", unit_folders[i]);
		if (!access(path, F_OK))
			return "Start one: 'systemctl enable --now gpreemptd' for all users, or "
			       "'gpreemptd &' for your own programs.";
	}
	return "Start one: 'gpreemptd &' for your own programs, as root for all users.";
}

GP__PRINTF(5, 6)
static void set_problem(struct daemon_problem *why, int err, int status, const char *remedy,
			const char *fmt, ...)
{
	va_list args;

	why->err = err;
	why->status = status;
	why->target = -1;
	snprintf(why->remedy, sizeof(why->remedy), "%s", remedy);
	va_start(args, fmt);
	vsnprintf(why->message, sizeof(why->message), fmt, args);
	va_end(args);
}

static void explain_connect(struct daemon_problem *why, int err, const char *path, const char *text)
{
	switch (-err) {
	case ENOENT:
		set_problem(why, err, GP__EXIT_NO_DAEMON, how_to_start(),
			    "no gpreemptd runs: there is no socket %s", path);
		break;
	case ECONNREFUSED:
		set_problem(why, err, GP__EXIT_NO_DAEMON, how_to_start(),
			    "no gpreemptd runs: nothing listens at %s", path);
		break;
	case EACCES:
	case EPERM:
		set_problem(
			why, err, GP__EXIT_NO_PERMISSION,
			"Its folder must be accessible, and the socket writable, for your user.",
			"no permission to connect to %s", path);
		break;
	case ETIMEDOUT:
		set_problem(why, err, GP__EXIT_FAILURE,
			    "It may be stopped or very busy; programs go on without it.",
			    "gpreemptd at %s does not answer", path);
		break;
	default:
		set_problem(why, err, GP__EXIT_FAILURE,
			    "Is it gpreemptd's socket, of the same version?", "%s: %s", path,
			    *text ? text : strerror(-err));
	}
}

int daemon_connect(struct daemon_problem *why)
{
	char path[PATH_MAX], text[GP__WIRE_TEXT_MAX];
	int err = gp__wire_path(path, sizeof(path)), fd;

	if (err == -ENOENT)
		set_problem(why, err, GP__EXIT_NO_DAEMON, how_to_start(),
			    "no gpreemptd runs for all users, and XDG_RUNTIME_DIR is not set, so "
			    "there is none of your own");
	else if (err)
		set_problem(why, err, GP__EXIT_FAILURE, "Set GPREEMPT_SOCKET to a shorter path.",
			    "the path of the socket is too long");
	if (err)
		return -1;
	fd = gp__wire_control(path, text);
	if (fd >= 0)
		return fd;
	explain_connect(why, fd, path, text);
	return -1;
}

/* Takes the reason from the answer to a refused request. */
static void explain_refusal(struct daemon_problem *why, const json_t *answer)
{
	int err = (int)json_integer_value(json_object_get(answer, "errno"));
	const char *text = json_string_value(json_object_get(answer, "error"));
	const json_t *target = json_object_get(answer, "target");
	int status = GP__EXIT_FAILURE;

	if (err == EPERM || err == EACCES)
		status = GP__EXIT_NO_PERMISSION;
	else if (err == EINVAL || err == ERANGE)
		status = GP__EXIT_USAGE;
	set_problem(why, -err, status, "", "%s", text ? text : "gpreemptd refused");
	if (json_is_integer(target))
		why->target = (int)json_integer_value(target);
}

json_t *daemon_ask(int fd, json_t *request, struct daemon_problem *why)
{
	char *text = json_dumps(request, JSON_COMPACT), *reply = NULL;
	int err = text ? gp__wire_ask(fd, text, &reply) : -ENOMEM;
	json_t *answer = NULL;

	json_decref(request);
	free(text);
	if (!err) {
		answer = json_loads(reply, 0, NULL);
		err = answer ? 0 : -EPROTO;
	}
	free(reply);
	if (err) {
		set_problem(why, err,
			    err == -ECONNRESET || err == -EPIPE ? GP__EXIT_NO_DAEMON
								: GP__EXIT_FAILURE,
			    "", "gpreemptd did not answer: %s", strerror(-err));
		return NULL;
	}
	if (!json_object_get(answer, "error"))
		return answer;
	explain_refusal(why, answer);
	json_decref(answer);
	return NULL;
}

int daemon_tell(struct gp__env *env, const struct daemon_problem *why)
{
	return gp__env_fail(env, why->status, *why->remedy ? why->remedy : NULL, "%s",
			    why->message);
}

json_t *daemon_query(struct gp__env *env, json_t *request, int *status)
{
	struct daemon_problem why;
	int fd = daemon_connect(&why);
	json_t *answer = NULL;

	if (fd < 0) {
		json_decref(request);
	} else {
		answer = daemon_ask(fd, request, &why);
		close(fd);
	}
	*status = answer ? GP__EXIT_OK : daemon_tell(env, &why);
	return answer;
}

/*
 * Targets
 */

static error_t add_target(json_t *targets, const char *text, struct argp_state *state)
{
	static const char *const kinds[] = { "pid", "group", "queue" };
	const char *colon = strchr(text, ':'), *value = colon ? colon + 1 : text;
	size_t len = colon ? (size_t)(colon - text) : 0;
	uint64_t id;

	if (colon && len == 3 && !strncmp(text, "tag", len) && *value) {
		json_array_append_new(targets, json_pack("{s:o}", "tag", gp__json_text(value)));
		return 0;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (colon ? strlen(kinds[i]) != len || strncmp(text, kinds[i], len) : i > 0)
			continue;
		if (gp__parse_u64(value, 1, INT32_MAX, &id))
			break;
		json_array_append_new(targets, json_pack("{s:I}", kinds[i], (json_int_t)id));
		return 0;
	}
	return gp__cmd_usage(state,
			     "'%s' is not PID, group:N, queue:N or tag:TAG; 'gpreempt ps' shows "
			     "them",
			     text);
}

error_t daemon_parse_target(json_t *targets, int key, const char *arg, struct argp_state *state)
{
	switch (key) {
	case ARGP_KEY_ARG:
		return add_target(targets, arg, state);
	case 't':
		json_array_append_new(targets, json_pack("{s:o}", "tag", gp__json_text(arg)));
		return 0;
	case ARGP_KEY_END:
		if (!json_array_size(targets))
			return gp__cmd_usage(
				state, "a target is missing: PID, group:N, queue:N or tag:TAG");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* "pid 12", for an error message about the target. */
static void name_target(const json_t *target, char *name, size_t size)
{
	const char *kind = json_object_iter_key(json_object_iter((json_t *)target));
	const json_t *value = json_object_get(target, kind);

	if (json_is_string(value))
		snprintf(name, size, "%s '%s'", kind, json_string_value(value));
	else
		snprintf(name, size, "%s %lld", kind, (long long)json_integer_value(value));
}

/* Prefixes the problem with the target that it is about. */
static void name_refused(struct daemon_problem *why, const json_t *targets)
{
	const json_t *target = json_array_get(targets, (size_t)why->target);
	char name[64], message[sizeof(why->message)];

	if (why->target < 0 || !target)
		return;
	name_target(target, name, sizeof(name));
	memcpy(message, why->message, sizeof(message));
	snprintf(why->message, sizeof(why->message), "%s: %.*s", name,
		 (int)(sizeof(why->message) - sizeof(name) - 3), message);
}

json_t *daemon_each(struct gp__env *env, const char *op, const json_t *targets,
		    const json_t *change, int *status)
{
	json_t *request = json_pack("{s:s, s:O}", "op", op, "targets", targets), *answer = NULL;
	struct daemon_problem why;
	int fd = daemon_connect(&why);

	if (change)
		json_object_update(request, (json_t *)change);
	if (fd >= 0) {
		answer = daemon_ask(fd, request, &why);
		close(fd);
	} else {
		json_decref(request);
	}
	if (!answer)
		name_refused(&why, targets);
	*status = answer ? GP__EXIT_OK : daemon_tell(env, &why);
	return answer;
}
