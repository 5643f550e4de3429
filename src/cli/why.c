// SPDX-License-Identifier: MIT
/* gpreempt why: tells which programs a program was held for, when, for how long, by which rule. */
#include "cli/commands.h"

#include "base/json.h"
#include "cli/daemon.h"
#include "view/describe.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	return daemon_parse_target(*(json_t **)state->input, key, arg, state);
}

static const struct argp_option options[] = { DAEMON_TAG_OPTION, { 0 } };

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = DAEMON_TARGETS_DOC,
	.doc = "Say which program kept this one off the GPU, when, for how long and by which rule. "
	       "A queue stands for its group. Programs that ended lately are known, too.",
};

static const char *ms_text(char *buf, size_t n, const json_t *o, const char *key)
{
	return gp__view_ms(buf, n, json_object_get(o, key));
}

static void print_hold(struct gp__env *env, const json_t *hold)
{
	char held[32], ago[32], why[256];

	gp__view_why(why, sizeof(why), hold);
	ms_text(held, sizeof(held), hold, "held_ms");
	if (json_is_true(json_object_get(hold, "ended")))
		fprintf(env->out, "  held %s, %s ago: %s\n", held,
			ms_text(ago, sizeof(ago), hold, "ago_ms"), why);
	else
		fprintf(env->out, "  held for %s now: %s\n", held, why);
}

/* "running", or "ended 3.2 s ago". */
static const char *state_text(char *buf, size_t n, const json_t *g)
{
	char ago[32];

	if (!json_object_get(g, "ended_ms"))
		return gp__view_state_text(buf, n, g);
	snprintf(buf, n, "ended %s ago", ms_text(ago, sizeof(ago), g, "ended_ms"));
	return buf;
}

/* The time that its lingering has cost others. */
static void print_waste(struct gp__env *env, const json_t *g)
{
	char wasted[32];

	if (json_number_value(json_object_get(g, "wasted_ms")) > 0)
		fprintf(env->out,
			"  between two pieces of its work, the GPU was idle and others were held "
			"for %s in all\n",
			ms_text(wasted, sizeof(wasted), g, "wasted_ms"));
}

static void print_gang(struct gp__env *env, const json_t *g)
{
	char gang[128];

	if (gp__view_gang(gang, sizeof(gang), g))
		fprintf(env->out, "  gang: %s\n", gang);
}

static void print_group(struct gp__env *env, const json_t *g)
{
	json_int_t holds = json_integer_value(json_object_get(g, "holds"));
	const json_t *history = json_object_get(g, "history"), *hold;
	char name[128], state[128], a[32], b[32], c[32];
	size_t i;

	fprintf(env->out, "%s, priority %lld on gpu%lld: %s\n",
		gp__view_group(name, sizeof(name), g),
		(long long)json_integer_value(json_object_get(g, "priority")),
		(long long)json_integer_value(json_object_get(g, "gpu")),
		state_text(state, sizeof(state), g));
	if (json_is_true(json_object_get(g, "lost")))
		fputs("  this GPU does not answer, or was reset and has lost its queues (the "
		      "kernel's "
		      "log says why): start it again\n",
		      env->out);
	else if (json_is_true(json_object_get(g, "off")))
		fputs("  scheduling is off on this GPU ('gpreempt off'): it runs as without "
		      "gpreempt\n",
		      env->out);
	print_gang(env, g);
	if (!holds) {
		fprintf(env->out, "  never held since it joined %s ago\n",
			ms_text(a, sizeof(a), g, "joined_ms"));
		print_waste(env, g);
		return;
	}
	fprintf(env->out,
		"  in all: held %lld times, waited %s with work, at most %s at a time; used the "
		"GPU for %s\n",
		(long long)holds, ms_text(a, sizeof(a), g, "held_ms"),
		ms_text(b, sizeof(b), g, "longest_hold_ms"), ms_text(c, sizeof(c), g, "used_ms"));
	print_waste(env, g);
	json_array_foreach ((json_t *)history, i, hold)
		print_hold(env, hold);
	if ((size_t)holds > json_array_size(history))
		fprintf(env->out, "  (the latest %zu)\n", json_array_size(history));
}

int cmd_why(struct gp__env *env, int argc, char **argv)
{
	json_t *targets = json_array(), *document = NULL, *group;
	int status;
	size_t i;

	if (gp__cmd_parse(env, &argp, argc, argv, &targets, &status))
		document = daemon_each(env, "why", targets, NULL, &status);
	json_decref(targets);
	if (!document)
		return status;
	if (env->json)
		return gp__json_print(env, document) ? GP__EXIT_FAILURE : GP__EXIT_OK;
	json_array_foreach (json_object_get(document, "groups"), i, group)
		print_group(env, group);
	json_decref(document);
	return GP__EXIT_OK;
}
