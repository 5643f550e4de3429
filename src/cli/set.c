// SPDX-License-Identifier: MIT
/* gpreempt set: changes the priority, share, weight or guarantees of joined programs. */
#include "cli/commands.h"

#include <string.h>

#include "base/json.h"
#include "base/units.h"
#include "cli/daemon.h"
#include "core/core.h"
#include "view/describe.h"

enum {
	KEY_CLASS = 'c',
	KEY_PRIORITY = 'p',
	KEY_DEADLINE = 0x2000,
	KEY_MAX_HOLD,
	KEY_MIN_SHARE,
	KEY_SHARE,
	KEY_WEIGHT,
};

struct args {
	json_t *targets, *change;
};

static const struct argp_option options[] = {
	{ "priority", KEY_PRIORITY, "N", 0, "larger is more urgent", 0 },
	{ "class", KEY_CLASS, "CLASS", 0,
	  "a name for a priority: offline (2), normal (7), online (15)", 0 },
	{ "share", KEY_SHARE, "PCT", 0, "of the GPU's time, under policy share", 0 },
	{ "min-share", KEY_MIN_SHARE, "PCT", 0, "guaranteed under any policy", 0 },
	{ "weight", KEY_WEIGHT, "N", 0, "against others, under policies that weigh", 0 },
	{ "deadline", KEY_DEADLINE, "TIME", 0, "of a job, from getting work; under policy edf", 0 },
	{ "max-hold", KEY_MAX_HOLD, "TIME", 0, "held for no longer at a time", 0 },
	DAEMON_TAG_OPTION,
	{ 0 },
};

static error_t set_class(struct args *args, const char *name, struct argp_state *state)
{
	s32 priority;

	if (!gp__class_prio(name, &priority))
		return gp__cmd_usage(state, "--class: '%s' is none of online, normal and offline",
				     name);
	json_object_set_new(args->change, "priority", json_integer(priority));
	return 0;
}

static error_t set_priority(struct args *args, const char *text, struct argp_state *state)
{
	char expected[80];
	int64_t n;

	if (gp__parse_i64(text, -GP__PRIO_LIMIT, GP__PRIO_LIMIT, &n))
		return gp__cmd_usage(state, "--priority: '%s' is not %s", text,
				     gp__expect_i64(expected, sizeof(expected), -GP__PRIO_LIMIT,
						    GP__PRIO_LIMIT));
	json_object_set_new(args->change, "priority", json_integer(n));
	return 0;
}

/* 0 removes the share. */
static error_t set_percent(struct args *args, const char *option, const char *key, const char *text,
			   struct argp_state *state)
{
	uint32_t ppm;

	if (gp__parse_percent(text, &ppm) || ppm % 10000)
		return gp__cmd_usage(state, "%s: '%s' is not a whole percentage from 0 to 100",
				     option, text);
	json_object_set_new(args->change, key, json_integer(ppm / 10000));
	return 0;
}

static error_t set_weight(struct args *args, const char *text, struct argp_state *state)
{
	char expected[80];
	uint64_t n;

	if (gp__parse_u64(text, 0, UINT32_MAX, &n))
		return gp__cmd_usage(state, "--weight: '%s' is not %s", text,
				     gp__expect_u64(expected, sizeof(expected), 0, UINT32_MAX));
	json_object_set_new(args->change, "weight", json_integer((json_int_t)n));
	return 0;
}

static error_t set_time(struct args *args, const char *option, const char *key, const char *text,
			struct argp_state *state)
{
	uint64_t ns;

	if (gp__parse_duration(text, &ns) || ns > INT64_MAX)
		return gp__cmd_usage(state, "%s: '%s' is not %s", option, text,
				     GP__EXPECT_DURATION);
	json_object_set_new(args->change, key, json_integer((json_int_t)ns));
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case KEY_PRIORITY:
		return set_priority(args, arg, state);
	case KEY_CLASS:
		return set_class(args, arg, state);
	case KEY_SHARE:
		return set_percent(args, "--share", "share_pct", arg, state);
	case KEY_MIN_SHARE:
		return set_percent(args, "--min-share", "min_share_pct", arg, state);
	case KEY_WEIGHT:
		return set_weight(args, arg, state);
	case KEY_DEADLINE:
		return set_time(args, "--deadline", "deadline_ns", arg, state);
	case KEY_MAX_HOLD:
		return set_time(args, "--max-hold", "max_hold_ns", arg, state);
	case ARGP_KEY_END:
		if (!json_object_size(args->change))
			return gp__cmd_usage(state,
					     "nothing to set: give --priority, --class, ...");
		return daemon_parse_target(args->targets, key, arg, state);
	default:
		return daemon_parse_target(args->targets, key, arg, state);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = DAEMON_TARGETS_DOC,
	.doc = "Change what programs that are joined may have of the GPU. A queue stands for its "
	       "group. 0 takes a share, weight or time back. You may change your own programs; "
	       "raising a priority above your limit takes an administrator.",
};

/* Prints a hint that was given, after "priority 7 (normal)". */
static void print_hint(struct gp__env *env, const json_t *g, const char *key, const char *name,
		       const char *unit)
{
	const json_t *value = json_object_get(g, key);
	char buf[32];

	if (json_is_real(value))
		fprintf(env->out, ", %s %s", name, gp__view_ms(buf, sizeof(buf), value));
	else if (json_is_integer(value))
		fprintf(env->out, ", %s %lld%s", name, (long long)json_integer_value(value), unit);
}

static void print_group(struct gp__env *env, const json_t *g)
{
	const char *class = json_string_value(json_object_get(g, "class"));
	char name[128];

	fprintf(env->out, "%s: priority %lld", gp__view_group(name, sizeof(name), g),
		(long long)json_integer_value(json_object_get(g, "priority")));
	if (class && strcmp(class, "other"))
		fprintf(env->out, " (%s)", class);
	print_hint(env, g, "share_pct", "share", " %");
	print_hint(env, g, "min_share_pct", "at least", " %");
	print_hint(env, g, "weight", "weight", "");
	print_hint(env, g, "deadline_ms", "deadline", "");
	print_hint(env, g, "max_hold_ms", "held at most", "");
	fputc('\n', env->out);
}

int cmd_set(struct gp__env *env, int argc, char **argv)
{
	struct args args = { json_array(), json_object() };
	json_t *done = NULL, *group;
	int status;
	size_t i;

	if (gp__cmd_parse(env, &argp, argc, argv, &args, &status))
		done = daemon_each(env, "set", args.targets, args.change, &status);
	json_decref(args.targets);
	json_decref(args.change);
	if (!done)
		return status;
	if (env->json)
		return gp__json_print(env, done) ? GP__EXIT_FAILURE : GP__EXIT_OK;
	json_array_foreach (json_object_get(done, "groups"), i, group)
		print_group(env, group);
	json_decref(done);
	return GP__EXIT_OK;
}
