// SPDX-License-Identifier: MIT
/* gpreempt without arguments: what this is, what works in this build, how the daemon is doing, and
 * what to try. */
#include "cli/commands.h"

#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/daemon.h"
#include "view/words.h"

static const struct {
	const char *name;
	bool works;
	const char *text;
} parts[] = {
	{ "sim", true, "modelled GPUs and programs around the real scheduling core" },
	{ "emu", true, "an emulated AMD machine for unmodified ROCm programs" },
	{ "daemon", true, "gpreemptd: decides for the programs that join it" },
	{ "amd", true, "gpreempt run: queues of AMD GPUs are stopped through amdkfd" },
	{ "nvidia", false, "stopping channels through NVIDIA's driver" },
	{ "opencl", false, "programs that use OpenCL" },
};

#define N_PARTS (sizeof(parts) / sizeof(parts[0]))

/* NULL, and why: none is to be had. */
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

/*
 * What it is doing
 */

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

/* "runs: serve (15), train (2)"; of those in one of the two states. */
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
	print_names(env, groups, id, "; runs: ", GP__VIEW_RUNNING, GP__VIEW_STARTING);
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

static int print_json(struct gp__env *env, const json_t *daemon)
{
	json_t *root = gp__json_envelope();
	json_t *list = json_object();

	for (size_t i = 0; i < N_PARTS; i++)
		json_object_set_new(list, parts[i].name, json_boolean(parts[i].works));
	json_object_set_new(root, "version", json_string(env->version));
	json_object_set_new(root, "works", list);
	json_object_set_new(root, "daemon", daemon_json(daemon));
	return gp__json_print(env, root) ? GP__EXIT_FAILURE : GP__EXIT_OK;
}

static void print_parts(struct gp__env *env, bool works)
{
	for (size_t i = 0; i < N_PARTS; i++) {
		if (parts[i].works == works)
			fprintf(env->out, "  %-8s %s\n", parts[i].name, parts[i].text);
	}
}

static int print_text(struct gp__env *env, const json_t *daemon, const struct daemon_problem *why)
{
	fprintf(env->out,
		"gpreempt %s: priority-preemptive scheduling of GPUs by software. An urgent\n"
		"program gets the GPU at once; the others keep what is left and lose no work.\n\n"
		"In this build:\n",
		env->version);
	print_parts(env, true);
	fputs("Not yet:\n", env->out);
	print_parts(env, false);
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

int cmd_summary(struct gp__env *env, int argc, char **argv)
{
	static const struct argp argp = {
		.args_doc = "COMMAND [OPTION...]",
		.doc = "Say what this build can do and how the daemon is doing. 'gpreempt help' "
		       "lists the commands.",
	};
	struct daemon_problem why;
	json_t *daemon;
	int status;

	if (!gp__cmd_parse(env, &argp, argc, argv, NULL, &status))
		return status;
	daemon = ask_daemon(&why);
	status = env->json ? print_json(env, daemon) : print_text(env, daemon, &why);
	json_decref(daemon);
	return status;
}
