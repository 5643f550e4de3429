// SPDX-License-Identifier: MIT
/* gpreempt doctor: what is wrong here, and what to do about it. */
#include "cli/commands.h"

#include <errno.h>
#include <libgen.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/daemon.h"
#include "cli/doctor.h"
#include "policy/policy.h"
#include "wire/wire.h"

static const char *const result_names[] = { "ok", "warn", "bad" };

void doctor_say(struct doctor *d, const char *name, enum doctor_result result, const char *remedy,
		const char *fmt, ...)
{
	char message[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	d->nr[result]++;
	json_array_append_new(
		d->checks, json_pack("{s:s, s:s, s:o, s:o?}", "name", name, "result",
				     result_names[result], "message", gp__json_text(message),
				     "remedy", gp__json_text(remedy && *remedy ? remedy : NULL)));
}

/*
 * The daemon
 */

static long long int_of(const json_t *o, const char *key)
{
	return (long long)json_integer_value(json_object_get(o, key));
}

static void check_version(struct doctor *d, const char *version)
{
	if (strcmp(version, d->env->version))
		doctor_say(d, "version", DOCTOR_WARN,
			   "Restart gpreemptd after installing another version.",
			   "gpreemptd is version %s, and this program %s", version,
			   d->env->version);
}

static void check_limits(struct doctor *d, const json_t *you)
{
	if (json_is_true(json_object_get(you, "administrator"))) {
		doctor_say(d, "limits", DOCTOR_OK, NULL,
			   "you are an administrator: any priority, and everybody's programs");
		return;
	}
	doctor_say(
		d, "limits",
		int_of(you, "programs") < int_of(you, "max_programs") ? DOCTOR_OK : DOCTOR_WARN,
		int_of(you, "programs") < int_of(you, "max_programs")
			? NULL
			: "No more can join until one ends; see max_programs in gpreemptd.conf(5).",
		"you may have priorities up to %lld, and %lld programs with %lld queues each; "
		"%lld are joined",
		int_of(you, "max_priority"), int_of(you, "max_programs"), int_of(you, "max_queues"),
		int_of(you, "programs"));
}

/* Who may not write to it cannot join; of a user's own daemon that is as it should be. */
static void check_socket(struct doctor *d, const char *path, uid_t owner)
{
	struct stat socket, folder;
	char copy[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", path);
	if (owner || stat(path, &socket) || stat(dirname(copy), &folder))
		return;
	if ((socket.st_mode & 0222) == 0222 && (folder.st_mode & 0111) == 0111)
		doctor_say(d, "socket", DOCTOR_OK, NULL, "everybody may join at %s", path);
	else
		doctor_say(d, "socket", DOCTOR_WARN,
			   "Set SocketMode=0666 and DirectoryMode=0755 in gpreemptd.socket.",
			   "other users cannot join: %s or its folder is closed to them", path);
}

static bool is_seen_by_presence(const json_t *group)
{
	const json_t *queue;
	size_t i;

	json_array_foreach (json_object_get(group, "queues"), i, queue) {
		const char *by = json_string_value(json_object_get(queue, "seen_by"));

		if (by && !strcmp(by, "presence"))
			return true;
	}
	return false;
}

/* One that came when the policy was chosen already. */
static void check_seen(struct doctor *d, const json_t *list, const char *policy)
{
	const struct gp__policy *p = policy ? gp__policy_find(policy) : NULL;
	const json_t *group;
	size_t i;

	json_array_foreach (json_object_get(list, "groups"), i, group) {
		if (!p || !p->needs_arrivals || !is_seen_by_presence(group))
			continue;
		doctor_say(d, "policy", DOCTOR_WARN,
			   "Choose another: gpreempt policy hpf. 'gpreempt probe' says why.",
			   "%s counts from when work comes, and of %s (pid %lld) it is only seen "
			   "that it is there",
			   policy, json_string_value(json_object_get(group, "program")),
			   int_of(group, "pid"));
	}
}

static void check_daemon(struct doctor *d)
{
	char path[PATH_MAX] = "";
	struct daemon_problem why;
	int fd = daemon_connect(&why);
	json_t *list = NULL, *daemon;

	if (fd >= 0) {
		list = daemon_ask(fd, json_pack("{s:s}", "op", "list"), &why);
		close(fd);
	}
	if (!list) {
		doctor_say(d, "daemon", DOCTOR_BAD, why.remedy, "%s", why.message);
		return;
	}
	gp__wire_path(path, sizeof(path));
	daemon = json_object_get(list, "daemon");
	doctor_say(d, "daemon", DOCTOR_OK, NULL,
		   "gpreemptd %s, pid %lld, answers at %s; policy %s, %zu groups",
		   json_string_value(json_object_get(daemon, "version")), int_of(daemon, "pid"),
		   path, json_string_value(json_object_get(daemon, "policy")),
		   json_array_size(json_object_get(list, "groups")));
	check_seen(d, list, json_string_value(json_object_get(daemon, "policy")));
	check_version(d, json_string_value(json_object_get(daemon, "version")));
	check_socket(d, path, (uid_t)int_of(daemon, "user"));
	check_limits(d, json_object_get(list, "you"));
	json_decref(list);
}

/*
 * What was found
 */

static void print_check(struct gp__env *env, const json_t *check)
{
	static const char *const colors[] = { "\033[32m", "\033[33m", "\033[31m" };
	const char *result = json_string_value(json_object_get(check, "result"));
	const char *remedy = json_string_value(json_object_get(check, "remedy"));
	const char *color = "";

	for (size_t i = 0; i < sizeof(result_names) / sizeof(result_names[0]); i++) {
		if (env->color && !strcmp(result_names[i], result))
			color = colors[i];
	}
	fprintf(env->out, "%s%-4s%s  %-11s  %s\n", color, result, *color ? "\033[0m" : "",
		json_string_value(json_object_get(check, "name")),
		json_string_value(json_object_get(check, "message")));
	if (remedy)
		fprintf(env->out, "%19s-> %s\n", "", remedy);
}

static void print_text(struct doctor *d)
{
	json_t *check;
	size_t i;

	json_array_foreach (d->checks, i, check)
		print_check(d->env, check);
	fprintf(d->env->out, "%u ok, %u to look at, %u bad\n", d->nr[DOCTOR_OK], d->nr[DOCTOR_WARN],
		d->nr[DOCTOR_BAD]);
	json_decref(d->checks);
}

static int print_json(struct doctor *d)
{
	json_t *root = gp__json_envelope();

	json_object_set_new(root, "checks", d->checks);
	json_object_set_new(root, "ok", json_integer(d->nr[DOCTOR_OK]));
	json_object_set_new(root, "warn", json_integer(d->nr[DOCTOR_WARN]));
	json_object_set_new(root, "bad", json_integer(d->nr[DOCTOR_BAD]));
	return gp__json_print(d->env, root);
}

int cmd_doctor(struct gp__env *env, int argc, char **argv)
{
	static const struct argp argp = {
		.doc = "Check what gpreempt needs here, and say what to do about what is missing. "
		       "The exit status is 0 if nothing is bad.",
	};
	struct doctor d = { .env = env };
	int status;

	if (!gp__cmd_parse(env, &argp, argc, argv, NULL, &status))
		return status;
	d.checks = json_array();
	check_daemon(&d);
	doctor_libraries(&d);
	doctor_preload(&d);
	doctor_amd(&d);
	doctor_nvidia(&d);
	doctor_opencl(&d);
	doctor_ptrace(&d);
	doctor_files(&d);
	doctor_userfaultfd(&d);
	status = d.nr[DOCTOR_BAD] ? GP__EXIT_FAILURE : GP__EXIT_OK;
	if (!env->json)
		print_text(&d);
	else if (print_json(&d))
		status = GP__EXIT_FAILURE;
	return status;
}
