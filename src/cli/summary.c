// SPDX-License-Identifier: MIT
/* gpreempt without arguments: prints what this build has, what the daemon does, and what to try. */
#include "cli/commands.h"

#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/daemon.h"
#include "policy/policy.h"
#include "view/describe.h"

/* The parts that depend on no GPU driver; in every build. */
static const struct {
	const char *name, *text;
} parts[] = {
	{ "sim", "modelled GPUs and programs around the real scheduling core" },
	{ "emu", "an emulated machine for unmodified ROCm programs" },
	{ "daemon", "gpreemptd: schedules the programs that join it" },
};

#define N_PARTS (sizeof(parts) / sizeof(parts[0]))

/* NULL, and why, if there is no daemon to ask. */
static json_t *ask_daemon(struct daemon_problem *why)
{
	int fd = daemon_connect(why);
	json_t *list;

	if (fd < 0)
		return NULL;
	list = daemon_ask(fd, json_pack("{s:s}", "op", "list"), why);
	close(fd);
	return list;
}

static json_t *daemon_json(const json_t *list)
{
	json_t *o = json_object();

	if (!list) {
		json_decref(o);
		return json_null();
	}
	json_object_update(o, json_object_get(list, "daemon"));
	json_object_set(o, "gpus", json_object_get(list, "gpus"));
	json_object_set(o, "groups", json_object_get(list, "groups"));
	return o;
}

/* Prints "runs: serve (15), train (2)": the groups in one of the two states. */
static void print_names(struct gp__env *env, const json_t *groups, long long gpu,
			const char *heading, enum gp__view_state one, enum gp__view_state other)
{
	const char *before = heading;
	json_t *group;
	size_t i;

	json_array_foreach ((json_t *)groups, i, group) {
		enum gp__view_state state = gp__view_state_of(group);
		const char *name = json_string_value(json_object_get(group, "program"));

		if (json_integer_value(json_object_get(group, "gpu")) != gpu ||
		    (state != one && state != other))
			continue;
		fprintf(env->out, "%s%s (%lld)", before, name ? name : "another user's",
			(long long)json_integer_value(json_object_get(group, "priority")));
		before = ", ";
	}
}

static void print_gpu(struct gp__env *env, const json_t *groups, const json_t *gpu)
{
	const char *name = json_string_value(json_object_get(gpu, "name"));
	long long id = json_integer_value(json_object_get(gpu, "gpu"));
	long long nr = json_integer_value(json_object_get(gpu, "groups"));

	fprintf(env->out, "  gpu%lld %s: %lld group%s", id, name ? name : "", nr,
		nr == 1 ? "" : "s");
	if (json_is_true(json_object_get(gpu, "off")))
		fputs("; scheduling is off", env->out);
	if (json_is_true(json_object_get(gpu, "lost")))
		fputs("; it does not answer", env->out);
	print_names(env, groups, id, "; unscheduled: ", GP__VIEW_OFF, GP__VIEW_OFF);
	print_names(env, groups, id, "; unscheduled: ", GP__VIEW_LOST, GP__VIEW_LOST);
	print_names(env, groups, id, "; runs: ", GP__VIEW_RUNNING, GP__VIEW_STARTING);
	print_names(env, groups, id, "; lingers: ", GP__VIEW_LINGERING, GP__VIEW_LINGERING);
	print_names(env, groups, id, "; yields: ", GP__VIEW_YIELDING, GP__VIEW_YIELDING);
	print_names(env, groups, id, "; held: ", GP__VIEW_HELD, GP__VIEW_STOPPING);
	print_names(env, groups, id, "; suspended: ", GP__VIEW_SUSPENDED, GP__VIEW_SUSPENDED);
	fputc('\n', env->out);
}

static void print_daemon(struct gp__env *env, const json_t *list, const struct daemon_problem *why)
{
	const json_t *daemon = json_object_get(list, "daemon"), *gpus, *gpu;
	char age[32];
	size_t i;

	if (!list) {
		fprintf(env->out, "\nDaemon: %s\n", why->message);
		if (*why->remedy)
			fprintf(env->out, "  %s\n", why->remedy);
		return;
	}
	gpus = json_object_get(list, "gpus");
	fprintf(env->out, "\nDaemon: gpreemptd %s, pid %lld, policy %s, up %s%s\n",
		json_string_value(json_object_get(daemon, "version")),
		(long long)json_integer_value(json_object_get(daemon, "pid")),
		json_string_value(json_object_get(daemon, "policy")),
		gp__view_age(age, sizeof(age), json_number_value(json_object_get(daemon, "up_ms"))),
		json_array_size(gpus) ? ":" : "; no program is joined");
	json_array_foreach ((json_t *)gpus, i, gpu)
		print_gpu(env, json_object_get(list, "groups"), gpu);
}

static json_t *backends_json(const struct gp__backend *const *backends)
{
	json_t *list = json_array();

	for (const struct gp__backend *const *b = backends; *b; b++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:s?}", "name", (*b)->name,
						      "text", (*b)->text, "built", !(*b)->missing,
						      "missing", (*b)->missing));
	return list;
}

static json_t *policies_json(void)
{
	json_t *list = json_array();

	for (const struct gp__policy *const *p = gp__policies; *p; p++)
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:b}", "name", (*p)->name, "summary",
						(*p)->summary, "default", p == gp__policies));
	return list;
}

static json_t *commands_json(const struct gp__env *env)
{
	json_t *list = json_array();

	for (const struct gp__cmd *c = env->commands; c->name; c++)
		json_array_append_new(list, json_string(c->name));
	return list;
}

static int print_json(struct gp__env *env, const struct gp__backend *const *backends,
		      const json_t *daemon)
{
	json_t *root = gp__json_envelope(), *works = json_object();

	for (size_t i = 0; i < N_PARTS; i++)
		json_object_set_new(works, parts[i].name, json_true());
	for (const struct gp__backend *const *b = backends; *b; b++)
		json_object_set_new(works, (*b)->name, json_boolean(!(*b)->missing));
	json_object_set_new(root, "version", json_string(env->version));
	json_object_set_new(root, "works", works);
	json_object_set_new(root, "backends", backends_json(backends));
	json_object_set_new(root, "policies", policies_json());
	json_object_set_new(root, "commands", commands_json(env));
	json_object_set_new(root, "daemon", daemon_json(daemon));
	return gp__json_print(env, root) ? GP__EXIT_FAILURE : GP__EXIT_OK;
}

static void print_build(struct gp__env *env, const struct gp__backend *const *backends)
{
	fputs("In this build:\n", env->out);
	for (size_t i = 0; i < N_PARTS; i++)
		fprintf(env->out, "  %-8s %s\n", parts[i].name, parts[i].text);
	fputs("\nBackends:\n", env->out);
	for (const struct gp__backend *const *b = backends; *b; b++) {
		if ((*b)->missing)
			fprintf(env->out, "  %-8s not in this build: %s\n", (*b)->name,
				(*b)->missing);
		else
			fprintf(env->out, "  %-8s %s\n", (*b)->name, (*b)->text);
	}
	fputs("\nPolicies; the first is the default:\n", env->out);
	for (const struct gp__policy *const *p = gp__policies; *p; p++)
		fprintf(env->out, "  %-8s %s\n", (*p)->name, (*p)->summary);
}

static int print_text(struct gp__env *env, const struct gp__backend *const *backends,
		      const json_t *daemon, const struct daemon_problem *why)
{
	fprintf(env->out,
		"gpreempt %s: priority-preemptive scheduling of GPUs by software. An urgent\n"
		"program gets the GPU at once; the others keep what is left and lose no work.\n\n",
		env->version);
	print_build(env, backends);
	print_daemon(env, daemon, why);
	fputs("\nTry:\n"
	      "  gpreempt sim seed004-basic --compare none,hpf\n"
	      "  gpreempt emu exec -- rocminfo\n"
	      "  gpreempt emu exec -- gpreempt probe\n"
	      "  gpreempt run -c online -- PROGRAM\n"
	      "  gpreempt doctor\n"
	      "  gpreempt bench --list\n"
	      "  gpreempt help\n",
	      env->out);
	return GP__EXIT_OK;
}

int cmd_summary(struct gp__env *env, const struct gp__backend *const *backends, int argc,
		char **argv)
{
	static const struct argp argp = {
		.args_doc = "COMMAND [OPTION...]",
		.doc = "Print what this build has and what the daemon does. 'gpreempt help' lists "
		       "the commands.",
	};
	struct daemon_problem why;
	json_t *daemon;
	int status;

	if (!gp__cmd_parse(env, &argp, argc, argv, NULL, &status))
		return status;
	daemon = ask_daemon(&why);
	status = env->json ? print_json(env, backends, daemon)
			   : print_text(env, backends, daemon, &why);
	json_decref(daemon);
	return status;
}
