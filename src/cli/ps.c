// SPDX-License-Identifier: MIT
/* gpreempt ps: lists the programs that are joined to gpreemptd, and their state. */
#include "cli/commands.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/table.h"
#include "base/units.h"
#include "cli/changes.h"
#include "cli/daemon.h"
#include "view/describe.h"

enum {
	KEY_QUEUES = 'q',
	KEY_USERS = 'u',
	KEY_WATCH = 'w',
};

#define WATCH_NS 2000000000ull
#define WATCH_NS_MIN 50000000ull

struct args {
	const struct gp__backend *const *backends;
	bool queues, users;
	uint64_t watch_ns; /* 0: once */
};

static const struct argp_option options[] = {
	{ "queues", KEY_QUEUES, NULL, 0, "one line a queue instead of one a group", 0 },
	{ "users", KEY_USERS, NULL, 0,
	  "one line a user, with what it uses of the daemon and how often it was refused", 0 },
	{ "watch", KEY_WATCH, "TIME", OPTION_ARG_OPTIONAL,
	  "repeat every TIME (2s) until interrupted; with --json a line for each change", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case KEY_QUEUES:
		args->queues = true;
		return 0;
	case KEY_USERS:
		args->users = true;
		return 0;
	case KEY_WATCH:
		args->watch_ns = WATCH_NS;
		if (arg &&
		    (gp__parse_duration(arg, &args->watch_ns) || args->watch_ns < WATCH_NS_MIN))
			return gp__cmd_usage(state, "--watch: '%s' is not %s, of at least 50ms",
					     arg, GP__EXPECT_DURATION);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "List the programs that are joined to gpreemptd: a line for each group, which is "
	       "the queues of one program on one GPU with the same priority and tag.",
};

/*
 * Tables
 */

static long long int_of(const json_t *o, const char *key)
{
	return (long long)json_integer_value(json_object_get(o, key));
}

static void text_cell(struct gp__table *t, const json_t *o, const char *key)
{
	gp__table_cell(t, json_string_value(json_object_get(o, key)));
}

static void int_cell(struct gp__table *t, const json_t *o, const char *key)
{
	if (json_is_integer(json_object_get(o, key)))
		gp__table_cellf(t, "%lld", int_of(o, key));
	else
		gp__table_cell(t, NULL);
}

static void gpu_cell(struct gp__table *t, const json_t *group)
{
	gp__table_cellf(t, "gpu%lld", int_of(group, "gpu"));
}

static void ms_cell(struct gp__table *t, const json_t *o, const char *key)
{
	char buf[32];

	if (json_is_number(json_object_get(o, key)))
		gp__table_cell(t, gp__view_ms(buf, sizeof(buf), json_object_get(o, key)));
	else
		gp__table_cell(t, NULL);
}

static void size_cell(struct gp__table *t, const json_t *o, const char *key)
{
	char buf[32];

	if (json_is_integer(json_object_get(o, key)))
		gp__table_cell(t, gp__format_size(buf, sizeof(buf), (uint64_t)int_of(o, key)));
	else
		gp__table_cell(t, NULL);
}

static void class_cell(struct gp__table *t, const json_t *group)
{
	const char *class = json_string_value(json_object_get(group, "class"));

	gp__table_cell(t, class && strcmp(class, "other") ? class : NULL);
}

static void priority_cell(struct gp__table *t, const json_t *group)
{
	char buf[64];

	gp__table_cell(t, gp__view_priority(buf, sizeof(buf), group));
}

/* The lowest level of its queues, and the requested level if that is higher. */
static void level_cell(struct gp__table *t, const json_t *group)
{
	const json_t *queues = json_object_get(group, "queues"), *q;
	long long level = 0, requested = 0;
	size_t i;

	json_array_foreach ((json_t *)queues, i, q) {
		if (!level || int_of(q, "level") < level)
			level = int_of(q, "level");
		if (int_of(q, "level_requested") > requested)
			requested = int_of(q, "level_requested");
	}
	if (!level)
		gp__table_cell(t, NULL);
	else if (requested > level)
		gp__table_cellf(t, "%lld of %lld", level, requested);
	else
		gp__table_cellf(t, "%lld", level);
}

static bool has_gang(const json_t *group)
{
	return json_is_object(json_object_get(group, "gang")) ||
	       json_is_string(json_object_get(group, "not_held"));
}

static bool any_gang(const json_t *groups)
{
	json_t *group;
	size_t i;

	json_array_foreach ((json_t *)groups, i, group) {
		if (has_gang(group))
			return true;
	}
	return false;
}

/* @gangs: with a column for them, which most lists need not have. */
static void group_row(struct gp__table *t, const json_t *g, bool gangs)
{
	const json_t *joined = json_object_get(g, "joined_ms");
	char buf[128];

	gp__table_row(t);
	int_cell(t, g, "group");
	int_cell(t, g, "pid");
	gp__table_cell(t, gp__view_user(buf, sizeof(buf), (uid_t)int_of(g, "user")));
	text_cell(t, g, "program");
	text_cell(t, g, "tag");
	if (gangs)
		gp__table_cell(t, gp__view_gang(buf, sizeof(buf), g));
	gpu_cell(t, g);
	class_cell(t, g);
	priority_cell(t, g);
	gp__table_cell(t, gp__view_state_text(buf, sizeof(buf), g));
	level_cell(t, g);
	int_cell(t, g, "nr_queues");
	size_cell(t, g, "memory_used_bytes");
	ms_cell(t, g, "used_ms");
	ms_cell(t, g, "held_ms");
	gp__table_cell(t,
		       joined ? gp__view_age(buf, sizeof(buf), json_number_value(joined)) : NULL);
}

static void add_columns(struct gp__table *t, const char *const *left_and_right)
{
	/* The first character is the alignment: < left, > right. */
	for (; *left_and_right; left_and_right++)
		gp__table_column(t, *left_and_right + 1,
				 **left_and_right == '>' ? GP__RIGHT : GP__LEFT);
}

static int print_groups(struct gp__env *env, const json_t *list)
{
	static const char *const first[] = { ">GROUP", ">PID", "<USER", "<PROGRAM", "<TAG", NULL };
	static const char *const gang[] = { "<GANG", NULL };
	static const char *const rest[] = { "<GPU",   "<CLASS",	 ">PRIO",   "<STATE",
					    ">LEVEL", ">QUEUES", ">MEMORY", ">USED",
					    ">HELD",  ">SINCE",	 NULL };
	const json_t *groups = json_object_get(list, "groups");
	struct gp__table *t = gp__table_new(env);
	bool gangs = any_gang(groups);
	json_t *group;
	size_t i;

	add_columns(t, first);
	if (gangs)
		add_columns(t, gang);
	add_columns(t, rest);
	json_array_foreach ((json_t *)groups, i, group)
		group_row(t, group, gangs);
	return gp__table_print(t);
}

/* The level, with its exceptions. */
static void queue_level_cell(struct gp__table *t, const json_t *q)
{
	const json_t *unguarded = json_object_get(q, "unguarded"), *why;
	bool foreign = json_is_true(json_object_get(q, "foreign_work"));
	char text[256] = "";
	size_t i, n = 0;

	json_array_foreach ((json_t *)unguarded, i, why) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? ", " : ": ",
				      json_string_value(why));
		n = n < sizeof(text) ? n : sizeof(text) - 1;
	}
	gp__table_cellf(t, "%lld of %lld%s%s%s", int_of(q, "level"), int_of(q, "level_requested"),
			json_is_true(json_object_get(q, "drops")) ? ", drops" : "",
			foreign || n ? ", not all" : "", text);
}

/* "+1"; "whole": a context whose streams cannot be held apart. */
static void own_cell(struct gp__table *t, const json_t *q)
{
	if (json_is_integer(json_object_get(q, "own_priority")))
		gp__table_cellf(t, "%s%lld", int_of(q, "own_priority") > 0 ? "+" : "",
				int_of(q, "own_priority"));
	else
		gp__table_cell(t,
			       json_is_true(json_object_get(q, "whole_context")) ? "whole" : NULL);
}

static void queue_row(struct gp__table *t, const json_t *g, const json_t *q)
{
	gp__table_row(t);
	int_cell(t, q, "queue");
	int_cell(t, g, "group");
	int_cell(t, g, "pid");
	text_cell(t, g, "program");
	gpu_cell(t, g);
	priority_cell(t, g);
	own_cell(t, q);
	text_cell(t, q, "state");
	gp__table_cell(t, json_is_true(json_object_get(q, "has_work")) ? "yes" : "no");
	int_cell(t, q, "pending");
	queue_level_cell(t, q);
	text_cell(t, q, "seen_by");
	text_cell(t, q, "weight");
	ms_cell(t, q, "run_ms");
	ms_cell(t, q, "held_ms");
	int_cell(t, q, "excluded");
}

static int print_queues(struct gp__env *env, const json_t *list)
{
	static const char *const columns[] = { ">QUEUE",  ">GROUP",   ">PID",	"<PROGRAM",
					       "<GPU",	  ">PRIO",    ">OWN",	"<STATE",
					       "<WORK",	  ">PENDING", "<LEVEL", "<SEEN BY",
					       "<WEIGHT", ">USED",    ">HELD",	">STOPS",
					       NULL };
	struct gp__table *t = gp__table_new(env);
	json_t *group, *queue;
	size_t i, j;

	add_columns(t, columns);
	json_array_foreach (json_object_get(list, "groups"), i, group) {
		json_array_foreach (json_object_get(group, "queues"), j, queue)
			queue_row(t, group, queue);
	}
	return gp__table_print(t);
}

static int print_kernel_queues(struct gp__env *env, const json_t *list, bool follows)
{
	static const char *const columns[] = { ">PID",	"<PROGRAM", ">GPU ID", ">QUEUE",
					       ">PRIO", ">OWN",	    "<STATE",  ">PENDING",
					       ">HELD", ">STOPS",   NULL };
	struct gp__table *t = gp__table_new(env);
	json_t *queue;
	size_t i;

	if (follows)
		fputc('\n', env->out);
	if (env->headers)
		fputs("Scheduled by the kernel:\n", env->out);
	add_columns(t, columns);
	json_array_foreach (json_object_get(list, "kernel_queues"), i, queue) {
		gp__table_row(t);
		int_cell(t, queue, "pid");
		text_cell(t, queue, "program");
		int_cell(t, queue, "gpu_id");
		int_cell(t, queue, "queue");
		priority_cell(t, queue);
		own_cell(t, queue);
		text_cell(t, queue, "state");
		int_cell(t, queue, "pending");
		ms_cell(t, queue, "held_ms");
		int_cell(t, queue, "excluded");
	}
	return gp__table_print(t);
}

/* The budgets that were exceeded, as "time 3, groups 1". */
static void refused_cell(struct gp__table *t, const json_t *user)
{
	const json_t *refused = json_object_get(user, "refused"), *times;
	char text[256] = "";
	const char *name;
	size_t n = 0;

	json_object_foreach ((json_t *)refused, name, times) {
		if (json_integer_value(times) && n < sizeof(text))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %lld",
					      n ? ", " : "", name,
					      (long long)json_integer_value(times));
	}
	gp__table_cell(t, *text ? text : NULL);
}

/* "30 min/1 h" */
static void quota_cell(struct gp__table *t, const json_t *user)
{
	char time[32], period[32];

	if (json_is_number(json_object_get(user, "gpu_quota_ms")))
		gp__table_cellf(
			t, "%s/%s",
			gp__view_ms(time, sizeof(time), json_object_get(user, "gpu_quota_ms")),
			gp__view_ms(period, sizeof(period),
				    json_object_get(user, "gpu_period_ms")));
	else
		gp__table_cell(t, NULL);
}

/* "Fri 20:00" */
static const char *view_time(char *buf, size_t size, time_t when)
{
	struct tm local;

	if (!localtime_r(&when, &local) || !strftime(buf, size, "%a %H:%M", &local))
		snprintf(buf, size, "-");
	return buf;
}

/* The sections of the configuration that apply at some times of the day. */
static void print_sections(struct gp__env *env, const json_t *list)
{
	const json_t *sections = json_object_get(list, "sections"), *section;
	const char *separator = "";
	char buf[64];
	size_t i;

	if (!env->headers || !json_array_size(sections))
		return;
	fputs("\nLimits that apply at some times:", env->out);
	json_array_foreach ((json_t *)sections, i, section) {
		fprintf(env->out, "%s [%s]%s", separator,
			json_string_value(json_object_get(section, "section")),
			json_is_true(json_object_get(section, "applies")) ? " (now)" : "");
		separator = ",";
	}
	fprintf(env->out, "; next change by %s.\n",
		view_time(buf, sizeof(buf), (time_t)int_of(list, "limits_until")));
}

static bool has_tags(const json_t *list)
{
	json_t *user;
	size_t i;

	json_array_foreach (json_object_get(list, "users"), i, user) {
		if (json_array_size(json_object_get(user, "tags")))
			return true;
	}
	return false;
}

static void tag_row(struct gp__table *t, const json_t *user, const json_t *tag)
{
	char buf[128];

	gp__table_row(t);
	gp__table_cell(t, gp__view_user(buf, sizeof(buf), (uid_t)int_of(user, "user")));
	text_cell(t, tag, "tag");
	ms_cell(t, tag, "gpu_time_ms");
	quota_cell(t, tag);
	gp__table_cell(t, json_is_true(json_object_get(tag, "over_quota")) ? "yes" : "no");
}

/* The users' GPU time under tags that have a limit. */
static int print_tags(struct gp__env *env, const json_t *list)
{
	static const char *const columns[] = { "<USER", "<TAG", ">GPU TIME", ">OF", "<HELD", NULL };
	struct gp__table *t;
	json_t *user, *tag;
	size_t i, k;

	/* Without headings, the rows are those of one table. */
	if (!has_tags(list) || !env->headers)
		return 0;
	fputc('\n', env->out);
	t = gp__table_new(env);
	add_columns(t, columns);
	json_array_foreach (json_object_get(list, "users"), i, user) {
		json_array_foreach (json_object_get(user, "tags"), k, tag)
			tag_row(t, user, tag);
	}
	return gp__table_print(t);
}

static int print_users(struct gp__env *env, const json_t *list)
{
	static const char *const columns[] = { "<USER",	  ">CONNECTIONS", ">PROGRAMS", ">GROUPS",
					       ">QUEUES", ">GPUS",	  ">TIME",     ">LOG LINES",
					       "<SLOWED", ">GPU TIME",	  ">OF",       "<REFUSED",
					       NULL };
	struct gp__table *t = gp__table_new(env);
	json_t *user;
	char buf[128];
	size_t i;
	int err;

	add_columns(t, columns);
	json_array_foreach (json_object_get(list, "users"), i, user) {
		gp__table_row(t);
		gp__table_cell(t, gp__view_user(buf, sizeof(buf), (uid_t)int_of(user, "user")));
		int_cell(t, user, "connections");
		int_cell(t, user, "programs");
		int_cell(t, user, "groups");
		int_cell(t, user, "queues");
		int_cell(t, user, "gpus");
		ms_cell(t, user, "time_ms");
		int_cell(t, user, "log_lines");
		gp__table_cell(t, json_is_true(json_object_get(user, "slowed")) ? "yes" : "no");
		ms_cell(t, user, "gpu_time_ms");
		quota_cell(t, user);
		refused_cell(t, user);
	}
	err = gp__table_print(t);
	if (!err)
		err = print_tags(env, list);
	if (!err)
		print_sections(env, list);
	return err;
}

/* Its groups, if it has any, are in the other table. */
static bool has_groups(const json_t *groups, const json_t *process)
{
	const json_t *pid = json_object_get(process, "pid"), *group;
	size_t i;

	json_array_foreach ((json_t *)groups, i, group) {
		if (pid && json_equal(json_object_get(group, "pid"), pid))
			return true;
	}
	return false;
}

static void process_row(struct gp__table *t, const json_t *process)
{
	char buf[128];

	gp__table_row(t);
	int_cell(t, process, "pid");
	gp__table_cell(t, gp__view_user(buf, sizeof(buf), (uid_t)int_of(process, "user")));
	text_cell(t, process, "program");
	gp__table_cell(t, gp__view_gpus(buf, sizeof(buf), process));
	gp__table_cell(t, gp__view_role(process));
	size_cell(t, process, "memory_used_bytes");
	gp__table_cell(t, json_is_true(json_object_get(process, "disturbs")) ? "yes" : "no");
}

/* The processes that have a GPU open and no group. */
static json_t *without_groups(const json_t *list)
{
	const json_t *groups = json_object_get(list, "groups");
	json_t *others = json_array(), *process;
	size_t i;

	json_array_foreach (json_object_get(list, "processes"), i, process) {
		bool scheduled = gp__view_is_scheduled(process);

		/* Of another user's process, it is not known whether it has. */
		if (!scheduled || (json_object_get(process, "pid") && !has_groups(groups, process)))
			json_array_append(others, process);
	}
	return others;
}

static void print_unlisted(struct gp__env *env, const json_t *list)
{
	long long nr = int_of(json_object_get(list, "census"), "unlisted");

	if (nr && env->headers)
		fprintf(env->out,
			"\n%lld processes are not looked at, because their users have too many.\n",
			nr);
}

/* With gpreemptd --watch: why a program is not scheduled all the same. */
static void print_unwatchable(struct gp__env *env, const json_t *others)
{
	json_t *process;
	size_t i;

	json_array_foreach ((json_t *)others, i, process) {
		const json_t *watch = json_object_get(process, "watch");
		const char *why = json_string_value(json_object_get(watch, "why"));
		const char *program = json_string_value(json_object_get(process, "program"));

		if (why)
			fprintf(env->out, "%s (pid %lld) is not watched: %s\n",
				program ? program : "a program", int_of(process, "pid"), why);
	}
}

static int print_processes(struct gp__env *env, const json_t *list)
{
	static const char *const columns[] = { ">PID",	"<USER",   "<PROGRAM",	"<GPU",
					       "<ROLE", ">MEMORY", "<DISTURBS", NULL };
	json_t *others = without_groups(list), *process;
	struct gp__table *t;
	size_t i;
	int err;

	/* Without headings, the rows are those of one table. */
	if (!json_array_size(others) || !env->headers) {
		json_decref(others);
		return 0;
	}
	fputs("\nNot scheduled, with a GPU open:\n", env->out);
	t = gp__table_new(env);
	add_columns(t, columns);
	json_array_foreach (others, i, process)
		process_row(t, process);
	err = gp__table_print(t);
	if (!err)
		print_unwatchable(env, others);
	json_decref(others);
	return err;
}

static void print_off(struct gp__env *env, const json_t *list)
{
	const json_t *off = json_object_get(json_object_get(list, "daemon"), "off");
	char gpus[256];

	if (env->headers && gp__view_off(gpus, sizeof(gpus), off, json_object_get(list, "gpus")))
		fprintf(env->out,
			"Scheduling is off on %s: programs run as without gpreempt. 'gpreempt on' "
			"switches it on.\n",
			gpus);
}

static void print_lost(struct gp__env *env, const json_t *list)
{
	const json_t *gpus = json_object_get(list, "gpus"), *gpu;
	size_t i;

	json_array_foreach (gpus, i, gpu) {
		if (!env->headers || !json_is_true(json_object_get(gpu, "lost")))
			continue;
		fprintf(env->out,
			"gpu%lld (%s) does not answer: its programs run unscheduled and may have "
			"to "
			"be started again.\n",
			(long long)json_integer_value(json_object_get(gpu, "gpu")),
			json_string_value(json_object_get(gpu, "name")));
	}
}

static int print_text(struct gp__env *env, const struct args *args, const json_t *list)
{
	bool any = json_array_size(json_object_get(list, "groups"));
	bool kernel = json_array_size(json_object_get(list, "kernel_queues"));
	int err = 0;

	if (args->users)
		return print_users(env, list);
	print_off(env, list);
	print_lost(env, list);
	if (any)
		err = args->queues ? print_queues(env, list) : print_groups(env, list);
	else if (!kernel)
		fputs("No program is joined.\n", env->out);
	if (!err && kernel)
		err = print_kernel_queues(env, list, any);
	err = err ? err : print_processes(env, list);
	if (!err)
		print_unlisted(env, list);
	return err;
}

/*
 * Queues that the kernel schedules (amdgpu.kfd_sched=1), which needs no daemon
 */

static void set_known(json_t *o, const char *key, int64_t value)
{
	json_object_set_new(o, key, value < 0 ? json_null() : json_integer(value));
}

/* null: the process has ended. */
static json_t *program_name(pid_t pid)
{
	char path[32], name[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (f && fgets(name, sizeof(name), f))
		name[strcspn(name, "\n")] = '\0';
	if (f)
		fclose(f);
	return *name ? gp__json_text(name) : json_null();
}

static void add_kernel_queue(void *data, const struct gp__kernel_queue *q)
{
	json_t *o =
		json_pack("{s:i, s:I, s:I, s:s}", "pid", q->pid, "gpu_id", (json_int_t)q->gpu_id,
			  "queue", (json_int_t)q->queue, "state", q->state);

	json_object_set_new(o, "program", program_name(q->pid));
	set_known(o, "priority", q->priority);
	set_known(o, "effective", q->effective);
	json_object_set_new(o, "own_priority", q->has_own ? json_integer(q->own) : json_null());
	set_known(o, "pending", q->pending);
	gp__json_set_real(o, "held_ms", q->held_ms >= 0, (double)q->held_ms);
	set_known(o, "excluded", q->preemptions);
	json_array_append_new(data, o);
}

static json_t *kernel_queues(const struct gp__backend *const *backends)
{
	json_t *queues = json_array();

	for (; *backends; backends++) {
		if ((*backends)->kernel_queues)
			(*backends)->kernel_queues(add_kernel_queue, queues);
	}
	return queues;
}

/*
 * Once, or repeatedly
 */

/* The list without a daemon. NULL: it would be empty. */
static json_t *list_of_kernel(const struct gp__backend *const *backends)
{
	json_t *queues = kernel_queues(backends);

	if (json_array_size(queues))
		return json_pack("{s:i, s:n, s:[], s:o}", "schema", 1, "daemon", "groups",
				 "kernel_queues", queues);
	json_decref(queues);
	return NULL;
}

static void add_names(json_t *list, const char *array)
{
	json_t *one;
	char buf[128];
	size_t i;

	json_array_foreach (json_object_get(list, array), i, one)
		json_object_set_new(
			one, "user_name",
			gp__json_text(gp__view_user(buf, sizeof(buf), (uid_t)int_of(one, "user"))));
}

/* @fd: negative if there is no daemon. NULL: the reason is in *@why. */
static json_t *get_list(const struct args *args, int fd, struct daemon_problem *why)
{
	json_t *list;

	if (fd < 0)
		return args->users ? NULL : list_of_kernel(args->backends);
	list = daemon_ask(fd,
			  args->users ? json_pack("{s:s}", "op", "users")
				      : json_pack("{s:s, s:b}", "op", "list", "processes", true),
			  why);
	if (list && !args->users)
		json_object_set_new(list, "kernel_queues", kernel_queues(args->backends));
	add_names(list, args->users ? "users" : "groups");
	add_names(list, "processes");
	return list;
}

static int show_again(struct gp__env *env, const struct args *args, json_t *list)
{
	int err;

	/* A terminal is redrawn; other output has one list after the other. */
	if (isatty(fileno(env->out)))
		fputs("\033[H\033[2J", env->out);
	err = print_text(env, args, list);
	if (!isatty(fileno(env->out)))
		fputc('\n', env->out);
	return err || fflush(env->out) ? -EIO : 0;
}

static int watch(struct gp__env *env, const struct args *args, int fd, struct daemon_problem *why)
{
	json_t *list;
	int err = 0;

	while (!err) {
		list = get_list(args, fd, why);
		if (!list)
			return daemon_tell(env, why);
		err = show_again(env, args, list);
		json_decref(list);
		if (!err)
			gp__sleep_ns(args->watch_ns);
	}
	return GP__EXIT_FAILURE; /* of the output: gp__env_finish() says which */
}

/*
 * Changes
 */

struct stream {
	struct gp__env *env;
	const struct args *args;
	json_t *last; /* NULL: nothing is known */
};

static json_t *ask_again(void *data, int fd, struct daemon_problem *why)
{
	const struct stream *s = data;

	return get_list(s->args, fd, why);
}

static int show_changes(void *data, const json_t *list)
{
	static const struct {
		const char *array, *kind, *key;
	} kinds[] = {
		{ "gpus", "gpu", "gpu" },
		{ "groups", "group", "group" },
		{ "processes", "process", "pid" },
		{ "users", "user", "user" },
	};
	struct stream *s = data;
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		err = changes_compare(s->env, kinds[i].kind, kinds[i].key,
				      json_object_get(s->last, kinds[i].array),
				      json_object_get(list, kinds[i].array));
	json_decref(s->last);
	s->last = json_incref((json_t *)list);
	return err;
}

static int lose(void *data, bool connected)
{
	struct stream *s = data;

	json_decref(s->last);
	s->last = NULL;
	return changes_print(s->env, json_pack("{s:s, s:s}", "event",
					       connected ? "appeared" : "gone", "kind", "daemon"));
}

static int follow(struct gp__env *env, const struct args *args, int fd,
		  const struct daemon_problem *why)
{
	struct stream s = { .env = env, .args = args };
	struct changes c = { .env = env,
			     .period_ns = args->watch_ns,
			     .always = true, /* no line tells of a process or of memory */
			     .ask = ask_again,
			     .show = show_changes,
			     .lose = lose,
			     .data = &s };
	int status = fd < 0 ? daemon_tell(env, why) : changes_follow(&c, fd);

	json_decref(s.last);
	return status;
}

static int once(struct gp__env *env, const struct args *args, int fd, struct daemon_problem *why)
{
	json_t *list = get_list(args, fd, why);
	int err;

	if (!list)
		return daemon_tell(env, why);
	if (env->json)
		return gp__json_print(env, list) ? GP__EXIT_FAILURE : GP__EXIT_OK;
	err = print_text(env, args, list);
	json_decref(list);
	return err ? GP__EXIT_FAILURE : GP__EXIT_OK;
}

int cmd_ps(struct gp__env *env, const struct gp__backend *const *backends, int argc, char **argv)
{
	struct daemon_problem why;
	struct args args = { .backends = backends };
	int status, fd;

	if (!gp__cmd_parse(env, &argp, argc, argv, &args, &status))
		return status;
	fd = daemon_connect(&why);
	if (args.watch_ns && env->json)
		return follow(env, &args, fd, &why);
	status = args.watch_ns ? watch(env, &args, fd, &why) : once(env, &args, fd, &why);
	if (fd >= 0)
		close(fd);
	return status;
}
