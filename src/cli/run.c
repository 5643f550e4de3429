// SPDX-License-Identifier: MIT
/* gpreempt run: starts a program with a priority on the GPUs it uses. */
#include "cli/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/daemon.h"
#include "core/core.h"
#include "daemon/devices.h"
#include "device/kfd/list.h"
#include "device/kfd/topology.h"
#include "device/request.h"
#include "wire/wire.h"

#define OPENCL_LAYER "libgpreempt-opencl.so"

enum {
	KEY_DEADLINE = 0x100,
	KEY_GANG,
	KEY_SHARE,
	KEY_LEVEL,
	KEY_LOCAL,
	KEY_WINDOW,
	KEY_IDEMPOTENT,
	KEY_COPIES,
	KEY_ANY_DRIVER,
	KEY_SPLIT,
	KEY_REQUIRE,
	KEY_OBSERVE,
	KEY_INDEPENDENT,
};

struct args {
	struct gp__env *env;
	char priority[16], amd_tag[GP__WIRE_TAG_MAX];
	const char *tag, *deadline, *window, *gang;
	char share[16], level[16];
	bool local, idempotent, copies, splits, any_driver, require, observe, independent;
	char devices[256]; /* as the daemon's configuration has them */
	char **command;
};

static const struct argp_option options[] = {
	{ "class", 'c', "CLASS", 0,
	  "online (15), normal (7) or offline (2); AMD_QUEUE_PRIORITY, or normal", 0 },
	{ "priority", 'p', "N", 0, "a priority instead; larger is more urgent", 0 },
	{ "tag", 't', "TAG", 0, "a name by which the program can be found; AMD_QUEUE_TAG", 0 },
	{ "share", KEY_SHARE, "PCT", 0, "percent of a GPU's time, for policies that share it", 0 },
	{ "deadline", KEY_DEADLINE, "TIME", 0, "from the arrival of work to its end, such as 5ms",
	  0 },
	{ "gang", KEY_GANG, "NAME[:N]", 0,
	  "it runs together with the other programs of this gang, or not at all; waits for N "
	  "members, for 30 s at most",
	  0 },
	{ "level", KEY_LEVEL, "1|2|3", 0, "how it is held; default: the best available", 0 },
	{ "window", KEY_WINDOW, "N|TIME", 0,
	  "at level 1: how many launches may be pending, or how long they may take; 1ms", 0 },
	{ "idempotent", KEY_IDEMPOTENT, NULL, 0,
	  "level 2 may drop running kernels: each can be interrupted and run again", 0 },
	{ "split-streams", KEY_SPLIT, NULL, 0,
	  "its streams are held apart, by the priorities that it gives them", 0 },
	{ "copies", KEY_COPIES, NULL, 0, "on NVIDIA GPUs: its copies are held, too", 0 },
	{ "any-driver", KEY_ANY_DRIVER, NULL, 0,
	  "on NVIDIA GPUs: join it on a driver or GPU that gpreempt does not know, too", 0 },
	{ "require", KEY_REQUIRE, NULL, 0,
	  "end the command, with status 125, if a program of it uses a GPU without having joined, "
	  "and do not start it without a daemon",
	  0 },
	{ "observe", KEY_OBSERVE, NULL, 0,
	  "it is listed and measured, but never held, and no other program is held for it", 0 },
	{ "independent", KEY_INDEPENDENT, NULL, 0,
	  "the ranks of torchrun, mpirun or srun do not wait for each other: each is held by "
	  "itself",
	  0 },
	{ "local", KEY_LOCAL, NULL, 0, "a daemon for this command and its children only", 0 },
	{ 0 },
};

static error_t parse_class(struct argp_state *state, const char *text, struct args *a)
{
	s32 priority;

	if (!gp__class_prio(text, &priority))
		return gp__cmd_usage(state, "--class: '%s' is none of online, normal and offline",
				     text);
	snprintf(a->priority, sizeof(a->priority), "%d", priority);
	return 0;
}

static error_t parse_number(struct argp_state *state, const char *option, const char *text,
			    int64_t min, int64_t max, char field[16])
{
	char expected[80];
	int64_t value;

	if (gp__parse_i64(text, min, max, &value))
		return gp__cmd_usage(state, "%s: '%s' is not %s", option, text,
				     gp__expect_i64(expected, sizeof(expected), min, max));
	snprintf(field, 16, "%lld", (long long)value);
	return 0;
}

static error_t parse_text(struct argp_state *state, int key, char *text, struct args *a)
{
	uint64_t ns;

	if (key == 't') {
		if (!*text || strlen(text) >= GP__WIRE_TAG_MAX)
			return gp__cmd_usage(state, "--tag: 1 to %d characters, not '%s'",
					     GP__WIRE_TAG_MAX - 1, text);
		a->tag = text;
		return 0;
	}
	if (gp__parse_duration(text, &ns) || !ns)
		return gp__cmd_usage(state, "--deadline: '%s' is not %s", text,
				     GP__EXPECT_DURATION);
	a->deadline = text;
	return 0;
}

static error_t parse_gang(struct argp_state *state, const char *text, struct args *a)
{
	char name[GP__WIRE_TAG_MAX];
	u32 members;

	if (!gp__request_gang(text, name, &members))
		return gp__cmd_usage(state, "--gang: '%s' is not %s", text, GP__EXPECT_GANG);
	a->gang = text;
	return 0;
}

static error_t parse_window(struct argp_state *state, const char *text, struct args *a)
{
	uint64_t value;

	if (gp__parse_u64(text, 1, UINT32_MAX, &value) &&
	    (gp__parse_duration(text, &value) || !value))
		return gp__cmd_usage(state, "--window: '%s' is neither a number of launches nor %s",
				     text, GP__EXPECT_DURATION);
	a->window = text;
	return 0;
}

static error_t check_level(struct argp_state *state, struct args *a)
{
	if (!a->idempotent || !strcmp(a->level, "2"))
		return 0;
	if (*a->level)
		return gp__cmd_usage(state, "--idempotent applies to level 2, not to level %s",
				     a->level);
	strcpy(a->level, "2");
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'c':
		return parse_class(state, arg, a);
	case 'p':
		return parse_number(state, "--priority", arg, -GP__PRIO_LIMIT, GP__PRIO_LIMIT,
				    a->priority);
	case KEY_SHARE:
		return parse_number(state, "--share", arg, 1, 100, a->share);
	case KEY_LEVEL:
		return parse_number(state, "--level", arg, 1, 3, a->level);
	case 't':
	case KEY_DEADLINE:
		return parse_text(state, key, arg, a);
	case KEY_WINDOW:
		return parse_window(state, arg, a);
	case KEY_GANG:
		return parse_gang(state, arg, a);
	case KEY_IDEMPOTENT:
		a->idempotent = true;
		return 0;
	case KEY_COPIES:
		a->copies = true;
		return 0;
	case KEY_ANY_DRIVER:
		a->any_driver = true;
		return 0;
	case KEY_SPLIT:
		a->splits = true;
		return 0;
	case KEY_LOCAL:
		a->local = true;
		return 0;
	case KEY_REQUIRE:
		a->require = true;
		return 0;
	case KEY_OBSERVE:
		a->observe = true;
		return 0;
	case KEY_INDEPENDENT:
		a->independent = true;
		return 0;
	case ARGP_KEY_ARG:
		/* The command's options are its own. */
		a->command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		return check_level(state, a);
	case ARGP_KEY_NO_ARGS:
		return gp__cmd_usage(state, "there is no command to run: gpreempt run [OPTION...] "
					    "-- COMMAND [ARGUMENT...]");
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "-- COMMAND [ARGUMENT...]",
	.doc = "Run a command whose work on GPUs has a priority: while a more urgent program has "
	       "work "
	       "there, it is held, and goes on afterwards where it was. Its children inherit that.",
};

/*
 * Defaults from the environment
 */

static void default_priority(struct args *a, const struct gp__kfd_wishes *w)
{
	const char *text = getenv("AMD_QUEUE_PRIORITY");

	snprintf(a->priority, sizeof(a->priority), "%d", GP__PRIO_NORMAL);
	if (w->has_priority && w->priority >= -GP__PRIO_LIMIT && w->priority <= GP__PRIO_LIMIT)
		snprintf(a->priority, sizeof(a->priority), "%d", w->priority);
	else if (text && *text)
		fprintf(a->env->err,
			"gpreempt: AMD_QUEUE_PRIORITY=%s is neither a whole number within %d of 0 "
			"nor online, normal or offline; the priority is %s\n",
			text, GP__PRIO_LIMIT, a->priority);
}

static void default_tag(struct args *a, const struct gp__kfd_wishes *w)
{
	if (!w->has_tag)
		return;
	gp__wire_text(a->amd_tag, sizeof(a->amd_tag), w->tag);
	a->tag = a->amd_tag;
	if (strlen(w->tag) >= sizeof(a->amd_tag))
		fprintf(a->env->err, "gpreempt: AMD_QUEUE_TAG is too long; the tag is '%s'\n",
			a->tag);
}

static void set_defaults(struct args *a)
{
	struct gp__kfd_wishes wishes;

	gp__kfd_wishes_own(&wishes);
	if (!*a->priority)
		default_priority(a, &wishes);
	if (!a->tag)
		default_tag(a, &wishes);
}

/*
 * The daemon
 */

/* Lowers a priority above this user's limit. 0, or with --require an exit status. */
static int keep_limit(struct args *a, const json_t *answer)
{
	const json_t *most = json_object_get(json_object_get(answer, "you"), "max_priority");
	long long limit = json_is_integer(most) ? json_integer_value(most) : GP__PRIO_LIMIT;

	if (atoi(a->priority) <= limit)
		return 0;
	if (a->require)
		return gp__env_fail(
			a->env, CHILD_OWN_FAILURE,
			"Use a lower priority, or ask an administrator for max_priority in "
			"gpreemptd.conf(5).",
			"priority %s is above your limit, %lld", a->priority, limit);
	fprintf(a->env->err,
		"gpreempt: priority %s is above your limit, %lld, and is lowered to it: ask an "
		"administrator for max_priority in gpreemptd.conf(5)\n",
		a->priority, limit);
	snprintf(a->priority, sizeof(a->priority), "%d", (int)limit);
	return 0;
}

/* Each AMD GPU here. */
static bool kernel_schedules(void)
{
	struct gp__kfd_node node[GP__KFD_NODES_MAX];
	int nr = gp__kfd_nodes(node), i = 0;

	while (i < nr && gp__kfd_kernel_scheduler(node[i].gpu_id).enabled)
		i++;
	return nr > 0 && i == nr;
}

static int run_without_daemon(const struct args *a, const struct daemon_problem *why)
{
	if (kernel_schedules())
		fprintf(a->env->err,
			"gpreempt: %s; the kernel schedules AMD GPUs itself, and what %s does on "
			"other devices has no priority\n",
			why->message, a->command[0]);
	else if (a->require)
		return gp__env_fail(a->env, CHILD_OWN_FAILURE, why->remedy, "%s", why->message);
	else
		fprintf(a->env->err,
			"gpreempt: %s; %s runs without a priority until there is one (use --local, "
			"or start gpreemptd)\n",
			why->message, a->command[0]);
	return 0;
}

static int ask_daemon(struct args *a)
{
	const char *devices;
	struct daemon_problem why;
	int fd = daemon_connect(&why), status;
	json_t *answer;

	if (fd < 0)
		return run_without_daemon(a, &why);
	answer = daemon_ask(fd, json_pack("{s:s}", "op", "list"), &why);
	close(fd);
	devices = json_string_value(json_object_get(json_object_get(answer, "daemon"), "devices"));
	if (devices)
		snprintf(a->devices, sizeof(a->devices), "%s", devices);
	status = keep_limit(a, answer);
	json_decref(answer);
	return status;
}

/*
 * The program
 */

static int set_wish(const char *variable, const char *value)
{
	return value && *value ? setenv(variable, value, 1) : unsetenv(variable);
}

/*
 * Adds the HSA tools library; names are separated by blanks. A newer runtime does not load tools
 * libraries if a profiler has registered; then the preload gets the runtime's tables.
 */
static int set_tools(const char *path)
{
	const char *others = getenv("HSA_TOOLS_LIB");
	char *all;
	int err;

	if (strchr(path, ' ') || (others && strstr(others, path)))
		return 0;
	if (asprintf(&all, "%s%s%s", path, others && *others ? " " : "", others ? others : "") < 0)
		return -1;
	err = setenv("HSA_TOOLS_LIB", all, 1);
	free(all);
	return err;
}

/*
 * Adds the OpenCL layer, which the loader puts between program and driver; names are separated by
 * colons. A build without OpenCL's headers has no layer; gpreempt doctor says so.
 */
static int set_layers(void)
{
	const char *others = getenv("OPENCL_LAYERS");
	char path[PATH_MAX], *all;
	int err;

	if (!child_has_file("../join/" OPENCL_LAYER, GP_LIB_DIR "/" OPENCL_LAYER, path) ||
	    strchr(path, ':') || (others && strstr(others, path)))
		return 0;
	if (asprintf(&all, "%s%s%s", path, others && *others ? ":" : "", others ? others : "") < 0)
		return -1;
	err = setenv("OPENCL_LAYERS", all, 1);
	free(all);
	return err;
}

static int set_environment(const struct args *a)
{
	char path[PATH_MAX];
	int status = child_find_file(a->env, "../join/" GP__JOIN_LIBRARY,
				     GP_LIB_DIR "/" GP__JOIN_LIBRARY, path);

	if (!status)
		status = child_preload(a->env, path, true);
	if (status)
		return CHILD_OWN_FAILURE;
	if (set_tools(path) || set_layers() || set_wish(GP__ENV_PRIORITY, a->priority) ||
	    set_wish(GP__ENV_TAG, a->tag) || set_wish(GP__ENV_LEVEL, a->level) ||
	    set_wish(GP__ENV_IDEMPOTENT, a->idempotent ? "1" : NULL) ||
	    set_wish(GP__ENV_SPLIT, a->splits ? "1" : NULL) ||
	    set_wish(GP__ENV_OBSERVE, a->observe ? "1" : NULL) ||
	    set_wish(GP__ENV_INDEPENDENT, a->independent ? "1" : NULL) ||
	    set_wish(GP__ENV_COPIES, a->copies ? "1" : NULL) ||
	    set_wish(GP__ENV_ANY_DRIVER, a->any_driver ? "1" : NULL) ||
	    set_wish(GP__ENV_WINDOW, a->window) || set_wish(GP__ENV_SHARE, a->share) ||
	    set_wish(GP__ENV_DEADLINE, a->deadline) || set_wish(GP__ENV_GANG, a->gang))
		return gp__env_fail(a->env, CHILD_OWN_FAILURE, NULL, "out of memory");
	return 0;
}

/* Says what is known about the command before it starts. 0 or an exit status. */
static int check_command(const struct args *a, bool *is_known)
{
	struct run_obstacle o;

	*is_known = run_find_obstacle(a->command, &o);
	if (*is_known && a->require)
		return gp__env_fail(a->env, CHILD_OWN_FAILURE, NULL,
				    "%s %s, so it cannot be joined; %s", a->command[0], o.why,
				    o.remedy);
	if (*is_known)
		fprintf(a->env->err,
			"gpreempt: %s %s, so it cannot be joined and runs without a priority; %s\n",
			a->command[0], o.why, o.remedy);
	return 0;
}

/* @is_known: the user has been told that the command cannot be joined. */
static int begin_watch(const struct args *a, bool is_known, bool ends)
{
	struct run_watch_options o = { .devices = a->devices,
				       .quiet = is_known,
				       .require = a->require };
	int err = run_watch_begin(a->env, &o, ends);

	if (err && a->require)
		return gp__env_fail(a->env, CHILD_OWN_FAILURE, NULL, "cannot watch the command: %s",
				    strerror(-err));
	return 0;
}

/* Runs the command as a child of this process. */
static int run_beside(const struct args *a, bool is_known)
{
	int status = set_environment(a);
	bool joined;

	if (!status)
		status = begin_watch(a, is_known, true);
	if (status)
		return status;
	status = child_run(a->env, a->command);
	joined = run_watch_end();
	return a->require && !joined ? CHILD_OWN_FAILURE : status;
}

static int run_locally(const struct args *a, bool is_known)
{
	int status = run_local_begin(a->env);

	if (status)
		return CHILD_OWN_FAILURE;
	status = run_beside(a, is_known);
	run_local_end();
	return status;
}

static int run_instead(const struct args *a, bool is_known)
{
	int status = set_environment(a);

	if (!status)
		status = begin_watch(a, is_known, false);
	return status ? status : child_exec(a->env, a->command);
}

int cmd_run(struct gp__env *env, int argc, char **argv)
{
	struct args a = { .env = env, .devices = GP__DEVICES_DEFAULT };
	bool is_known;
	int status;

	if (!gp__cmd_parse_prefix(env, &argp, argc, argv, &a, &status))
		return status;
	child_keep_statuses();
	set_defaults(&a);
	status = check_command(&a, &is_known);
	if (!status && !a.local)
		status = ask_daemon(&a);
	if (status)
		return status;
	if (a.local)
		return run_locally(&a, is_known);
	return a.require ? run_beside(&a, is_known) : run_instead(&a, is_known);
}
