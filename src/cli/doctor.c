// SPDX-License-Identifier: MIT
/* gpreempt doctor: checks the daemon, this machine and the backends, and prints remedies. */
#include "cli/commands.h"

#include <errno.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/child.h"
#include "cli/daemon.h"
#include "cli/doctor.h"
#include "device/backend.h"
#include "policy/policy.h"
#include "view/describe.h"
#include "wire/wire.h"

struct doctor {
	struct gp__checks checks; /* the first member: add_check() finds the rest by it */
	struct gp__env *env;
	json_t *list;
	unsigned int nr[3]; /* by result */
};

static const char *const result_names[] = { "ok", "warn", "bad" };

static void add_check(struct gp__checks *checks, const char *name, enum gp__check_result result,
		      const char *remedy, const char *message)
{
	struct doctor *d = (struct doctor *)checks;

	d->nr[result]++;
	json_array_append_new(d->list, json_pack("{s:s, s:s, s:o, s:o?}", "name", name, "result",
						 result_names[result], "message",
						 gp__json_text(message), "remedy",
						 gp__json_text(remedy && *remedy ? remedy : NULL)));
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
		gp__check(&d->checks, "version", GP__CHECK_WARN,
			  "Restart gpreemptd after installing another version.",
			  "gpreemptd has version %s, this program %s", version, d->env->version);
}

static void check_limits(struct doctor *d, const json_t *you)
{
	if (json_is_true(json_object_get(you, "administrator"))) {
		gp__check(&d->checks, "limits", GP__CHECK_OK, NULL,
			  "you are an administrator: any priority, and the programs of all users");
		return;
	}
	gp__check(
		&d->checks, "limits",
		int_of(you, "programs") < int_of(you, "max_programs") ? GP__CHECK_OK
								      : GP__CHECK_WARN,
		int_of(you, "programs") < int_of(you, "max_programs")
			? NULL
			: "No more can join until one ends; see max_programs in gpreemptd.conf(5).",
		"you may have priorities up to %lld, and %lld programs with %lld queues each; "
		"%lld are joined",
		int_of(you, "max_priority"), int_of(you, "max_programs"), int_of(you, "max_queues"),
		int_of(you, "programs"));
}

/* A user who may not write to the socket cannot join. The daemon of an ordinary user (@owner) is
 * not for others. */
static void check_socket(struct doctor *d, const char *path, uid_t owner)
{
	struct stat socket, folder;
	char copy[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", path);
	if (owner || stat(path, &socket) || stat(dirname(copy), &folder))
		return;
	if ((socket.st_mode & 0222) == 0222 && (folder.st_mode & 0111) == 0111)
		gp__check(&d->checks, "socket", GP__CHECK_OK, NULL, "all users may join at %s",
			  path);
	else
		gp__check(&d->checks, "socket", GP__CHECK_WARN,
			  "Set SocketMode=0666 and DirectoryMode=0755 in gpreemptd.socket.",
			  "other users cannot join: they have no access to %s or its folder", path);
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

/* Finds programs whose arrivals are not seen, under a policy that needs them. */
static void check_seen(struct doctor *d, const json_t *list, const char *policy)
{
	const struct gp__policy *p = policy ? gp__policy_find(policy) : NULL;
	const json_t *group;
	size_t i;

	json_array_foreach (json_object_get(list, "groups"), i, group) {
		if (!p || !p->needs_arrivals || !is_seen_by_presence(group))
			continue;
		gp__check(&d->checks, "policy", GP__CHECK_WARN,
			  "Choose another: gpreempt policy hpf. 'gpreempt probe' says why.",
			  "policy %s needs the time at which work arrives, which is not known for "
			  "%s (pid %lld)",
			  policy, json_string_value(json_object_get(group, "program")),
			  int_of(group, "pid"));
	}
}

static void check_off(struct doctor *d, const json_t *list)
{
	const json_t *off = json_object_get(json_object_get(list, "daemon"), "off");
	char gpus[256];

	if (gp__view_off(gpus, sizeof(gpus), off, json_object_get(list, "gpus")))
		gp__check(&d->checks, "off", GP__CHECK_WARN, "Switch it on with 'gpreempt on'.",
			  "scheduling is off on %s: programs run as without gpreempt", gpus);
}

static void check_lost(struct doctor *d, const json_t *list)
{
	const json_t *gpu;
	size_t i;

	json_array_foreach (json_object_get(list, "gpus"), i, gpu) {
		if (json_is_true(json_object_get(gpu, "lost")))
			gp__check(
				&d->checks, "lost", GP__CHECK_BAD,
				"The kernel's log (dmesg) says why; start its programs again when "
				"it is back.",
				"gpu%lld (%s) does not answer: its programs run unscheduled",
				int_of(gpu, "gpu"),
				json_string_value(json_object_get(gpu, "name")));
	}
}

/* "python3 (pid 12, alice)", or "a program of alice". */
static const char *name_process(char *buf, size_t n, const json_t *process)
{
	const char *program = json_string_value(json_object_get(process, "program"));
	char user[64];

	gp__view_user(user, sizeof(user), (uid_t)int_of(process, "user"));
	if (program)
		snprintf(buf, n, "%s (pid %lld, %s)", program, int_of(process, "pid"), user);
	else
		snprintf(buf, n, "a program of %s", user);
	return buf;
}

static void check_unread(struct doctor *d, const json_t *list)
{
	const json_t *census = json_object_get(list, "census");
	const char *problem = json_string_value(json_object_get(census, "problem"));

	if (problem)
		gp__check(&d->checks, "unjoined", GP__CHECK_WARN, NULL,
			  "gpreemptd cannot find the processes that have GPUs open: %s", problem);
	else if (int_of(census, "unread"))
		gp__check(&d->checks, "unjoined", GP__CHECK_OK, NULL,
			  "%lld processes of other users are not looked at: only root's gpreemptd "
			  "with CAP_SYS_PTRACE may do that",
			  int_of(census, "unread"));
	if (int_of(census, "unlisted"))
		gp__check(&d->checks, "unjoined", GP__CHECK_WARN, NULL,
			  "%lld processes are not looked at, because their users have too many",
			  int_of(census, "unlisted"));
}

/* Finds programs that disturb the joined ones. */
static void check_unjoined(struct doctor *d, const json_t *list)
{
	const json_t *processes = json_object_get(list, "processes"), *process;
	char name[128], gpus[128];
	bool any = false;
	size_t i;

	check_unread(d, list);
	json_array_foreach ((json_t *)processes, i, process) {
		if (!json_is_true(json_object_get(process, "disturbs")))
			continue;
		any = true;
		gp__check(&d->checks, "unjoined", GP__CHECK_WARN,
			  "Start it with 'gpreempt run'; 'gpreempt ps' lists all of them.",
			  "%s uses %s, has not joined, and disturbs the programs that have",
			  name_process(name, sizeof(name), process),
			  gp__view_gpus(gpus, sizeof(gpus), process));
	}
	if (!any && json_is_array(processes))
		gp__check(&d->checks, "unjoined", GP__CHECK_OK, NULL,
			  "no program disturbs the joined ones; processes that have a GPU open: "
			  "%zu",
			  json_array_size(processes));
}

static void check_daemon(struct doctor *d)
{
	char path[PATH_MAX] = "";
	struct daemon_problem why;
	int fd = daemon_connect(&why);
	json_t *list = NULL, *daemon;

	if (fd >= 0) {
		list = daemon_ask(fd, json_pack("{s:s, s:b}", "op", "list", "processes", true),
				  &why);
		close(fd);
	}
	if (!list) {
		gp__check(&d->checks, "daemon", GP__CHECK_BAD, why.remedy, "%s", why.message);
		return;
	}
	gp__wire_path(path, sizeof(path));
	daemon = json_object_get(list, "daemon");
	gp__check(&d->checks, "daemon", GP__CHECK_OK, NULL,
		  "gpreemptd %s, pid %lld, answers at %s; policy %s, %zu groups",
		  json_string_value(json_object_get(daemon, "version")), int_of(daemon, "pid"),
		  path, json_string_value(json_object_get(daemon, "policy")),
		  json_array_size(json_object_get(list, "groups")));
	check_off(d, list);
	check_lost(d, list);
	check_unjoined(d, list);
	check_seen(d, list, json_string_value(json_object_get(daemon, "policy")));
	check_version(d, json_string_value(json_object_get(daemon, "version")));
	check_socket(d, path, (uid_t)int_of(daemon, "user"));
	check_limits(d, json_object_get(list, "you"));
	json_decref(list);
}

/*
 * Printing
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

	json_array_foreach (d->list, i, check)
		print_check(d->env, check);
	fprintf(d->env->out, "%u ok, %u to look at, %u bad\n", d->nr[GP__CHECK_OK],
		d->nr[GP__CHECK_WARN], d->nr[GP__CHECK_BAD]);
	json_decref(d->list);
}

static int print_json(struct doctor *d)
{
	json_t *root = gp__json_envelope();

	json_object_set_new(root, "checks", d->list);
	json_object_set_new(root, "ok", json_integer(d->nr[GP__CHECK_OK]));
	json_object_set_new(root, "warn", json_integer(d->nr[GP__CHECK_WARN]));
	json_object_set_new(root, "bad", json_integer(d->nr[GP__CHECK_BAD]));
	return gp__json_print(d->env, root);
}

int cmd_doctor(struct gp__env *env, const struct gp__backend *const *backends, int argc,
	       char **argv)
{
	static const struct argp argp = {
		.doc = "Check what gpreempt needs on this machine, and print a remedy for each "
		       "problem. "
		       "The exit status is 0 if nothing is bad.",
	};
	struct doctor d = { .checks = { .files = &child_files, .add = add_check }, .env = env };
	int status;

	if (!gp__cmd_parse(env, &argp, argc, argv, NULL, &status))
		return status;
	d.list = json_array();
	check_daemon(&d);
	doctor_libraries(&d.checks);
	doctor_preload(&d.checks);
	for (int i = 0; backends[i]; i++) {
		if (backends[i]->doctor)
			backends[i]->doctor(&d.checks);
	}
	doctor_ptrace(&d.checks);
	doctor_files(&d.checks);
	doctor_userfaultfd(&d.checks);
	status = d.nr[GP__CHECK_BAD] ? GP__EXIT_FAILURE : GP__EXIT_OK;
	if (!env->json)
		print_text(&d);
	else if (print_json(&d))
		status = GP__EXIT_FAILURE;
	return status;
}
