// SPDX-License-Identifier: MIT
/* gpreempt off and on: a switch with which all programs run as without gpreempt. */
#include "cli/commands.h"

#include <string.h>

#include "base/json.h"
#include "cli/daemon.h"
#include "view/describe.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char **gpu = state->input;

	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (*gpu)
		return gp__cmd_usage(state, "one GPU at a time: '%s' is a second one", arg);
	*gpu = arg;
	return 0;
}

/*
 * GPUs that the kernel schedules itself
 */

static void note_gpu(void *data, const struct gp__kernel_queue *q)
{
	json_t *ids = data, *id;
	size_t i;

	json_array_foreach (ids, i, id) {
		if (json_integer_value(id) == (json_int_t)q->gpu_id)
			return;
	}
	json_array_append_new(ids, json_integer((json_int_t)q->gpu_id));
}

static json_t *find_kernel_gpus(const struct gp__backend *const *backends)
{
	json_t *ids = json_array();

	for (; *backends; backends++) {
		if ((*backends)->kernel_queues)
			(*backends)->kernel_queues(note_gpu, ids);
	}
	return ids;
}

/* They are not the daemon's, so the user does it. */
static void print_kernel_gpus(struct gp__env *env, const json_t *ids, bool off)
{
	json_t *id;
	size_t i;

	json_array_foreach ((json_t *)ids, i, id)
		fprintf(env->out,
			"The kernel schedules the GPU with id %lld itself, which this does not "
			"change; as root: echo %d > /sys/class/kfd/kfd/sched_%lld/enable\n",
			(long long)json_integer_value(id), off ? 0 : 1,
			(long long)json_integer_value(id));
}

/*
 * The answer
 */

static void print_saved(struct gp__env *env, const json_t *answer)
{
	const json_t *saved = json_object_get(answer, "saved");
	const char *why = json_string_value(json_object_get(answer, "unsaved_why"));

	if (!json_is_true(saved))
		fprintf(env->out, "It is not saved%s%s: when gpreemptd starts again, it is lost.\n",
			why ? ": " : " yet", why ? why : "");
}

static void print_answer(struct gp__env *env, const json_t *answer, bool off)
{
	const char *gpu = json_string_value(json_object_get(answer, "gpu"));
	long long released = json_integer_value(json_object_get(answer, "released"));
	const json_t *number = json_object_get(answer, "number");
	char rest[160], name[32];

	if (json_is_integer(number)) {
		snprintf(name, sizeof(name), "gpu%lld", (long long)json_integer_value(number));
		gpu = name;
	}
	if (off)
		fprintf(env->out,
			"Scheduling is off on %s: all programs run as without gpreempt (%lld held "
			"queue%s released).\n",
			gpu ? gpu : "all GPUs", released, released == 1 ? "" : "s");
	else
		fprintf(env->out, "Scheduling is on%s%s again.\n", gpu ? " on " : "",
			gpu ? gpu : "");
	if (!off && gp__view_off(rest, sizeof(rest), json_object_get(answer, "off"), NULL))
		fprintf(env->out, "It is still off on %s.\n", rest);
	print_saved(env, answer);
}

static int act(struct gp__env *env, const struct gp__backend *const *backends, bool off,
	       const struct argp *argp, int argc, char **argv)
{
	json_t *request = json_pack("{s:s}", "op", off ? "off" : "on"), *answer = NULL, *kernel;
	const char *gpu = NULL;
	int status;

	if (!gp__cmd_parse(env, argp, argc, argv, &gpu, &status)) {
		json_decref(request);
		return status;
	}
	if (gpu)
		json_object_set_new(request, "gpu", gp__json_text(gpu));
	answer = daemon_query(env, request, &status);
	if (!answer)
		return status;
	kernel = find_kernel_gpus(backends);
	if (!env->json) {
		print_answer(env, answer, off);
		print_kernel_gpus(env, kernel, off);
	}
	json_object_set_new(answer, "kernel_gpus", kernel);
	status = env->json && gp__json_print(env, json_incref(answer)) ? GP__EXIT_FAILURE
								       : GP__EXIT_OK;
	json_decref(answer);
	return status;
}

int cmd_off(struct gp__env *env, const struct gp__backend *const *backends, int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse,
		.args_doc = "[GPU]",
		.doc = "Switch scheduling off: all programs run as without gpreempt, at once, also "
		       "suspended ones and those that join later, until 'gpreempt on', also after "
		       "a restart of gpreemptd. GPU is a number as in 'gpreempt ps', or a key as "
		       "in 'gpreempt ps --json'; without it, all GPUs. Administrators only.",
	};

	return act(env, backends, true, &argp, argc, argv);
}

int cmd_on(struct gp__env *env, const struct gp__backend *const *backends, int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse,
		.args_doc = "[GPU]",
		.doc = "Switch scheduling on again after 'gpreempt off': all programs are "
		       "scheduled as before. Administrators only.",
	};

	return act(env, backends, false, &argp, argc, argv);
}
