// SPDX-License-Identifier: MIT
/* gpreempt bench: runs a benchmark from the table in bench/benches.c. */
#include "cli/commands.h"

#include "base/json.h"
#include "base/table.h"
#include "base/units.h"
#include "bench/benches.h"

#include <string.h>

enum {
	KEY_CPU = 'c',
	KEY_DEVICE = 'd',
	KEY_LIST = 'l',
	KEY_QUICK = 'q',
	KEY_REPEATS = 'r',
};

#define CPU_MAX 1023
#define REPEATS_MIN 3

struct args {
	struct gp__bench_options options;
	const struct gp__bench *bench;
	bool list;
};

static const struct argp_option options[] = {
	{ "list", KEY_LIST, NULL, 0, "list the benchmarks of this build", 0 },
	{ "quick", KEY_QUICK, NULL, 0, "a check that it works: fewer and shorter repeats", 0 },
	{ "repeats", KEY_REPEATS, "N", 0, "how often each value is measured (21; quick: 7)", 0 },
	{ "device", KEY_DEVICE, "NAME", 0, "what to measure, where a benchmark can choose", 0 },
	{ "cpu", KEY_CPU, "N", 0, "keep the measuring thread on this CPU", 0 },
	{ 0 },
};

static const char *bench_name(const void *table, size_t i)
{
	return ((const struct gp__bench *)table)[i].name;
}

static error_t choose(struct args *args, const char *name, struct argp_state *state)
{
	const char *nearest;

	if (args->bench)
		return gp__cmd_usage(state, "one benchmark at a time, not '%s' as well", name);
	for (const struct gp__bench *b = gp__benches; b->name; b++) {
		if (!strcmp(b->name, name)) {
			args->bench = b;
			return 0;
		}
	}
	nearest = gp__nearest(name, bench_name, gp__benches);
	if (nearest)
		return gp__cmd_usage(state, "'%s' is not a benchmark; did you mean '%s'?", name,
				     nearest);
	return gp__cmd_usage(state, "'%s' is not a benchmark; --list shows them", name);
}

static error_t parse_number(const char *option, const char *text, uint64_t min, uint64_t max,
			    uint64_t *value, struct argp_state *state)
{
	char expected[80];

	if (!gp__parse_u64(text, min, max, value))
		return 0;
	return gp__cmd_usage(state, "%s: '%s' is not %s", option, text,
			     gp__expect_u64(expected, sizeof(expected), min, max));
}

static error_t check_device(const struct args *args, struct argp_state *state)
{
	const char *device = args->options.device;

	if (!device || !args->bench || gp__bench_has_device(args->bench, device))
		return 0;
	if (!args->bench->devices)
		return gp__cmd_usage(state, "--device: benchmark '%s' has none to choose",
				     args->bench->name);
	return gp__cmd_usage(state, "--device: '%s' is none of: %s", device, args->bench->devices);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;
	uint64_t value = 0;
	error_t err;

	switch (key) {
	case KEY_LIST:
		args->list = true;
		return 0;
	case KEY_QUICK:
		args->options.quick = true;
		return 0;
	case KEY_REPEATS:
		err = parse_number("--repeats", arg, REPEATS_MIN, GP__BENCH_REPEATS_MAX, &value,
				   state);
		args->options.repeats = (unsigned int)value;
		return err;
	case KEY_CPU:
		err = parse_number("--cpu", arg, 0, CPU_MAX, &value, state);
		args->options.cpu = (int)value;
		return err;
	case KEY_DEVICE:
		args->options.device = arg;
		return 0;
	case ARGP_KEY_ARG:
		return choose(args, arg, state);
	case ARGP_KEY_END:
		return check_device(args, state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[BENCHMARK]",
	.doc = "Measure what this build costs on this machine. Without a benchmark, list them.",
};

static int list_json(struct gp__env *env)
{
	json_t *root = gp__json_envelope();
	json_t *list = json_array();

	for (const struct gp__bench *b = gp__benches; b->name; b++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "name", b->name, "description",
						      b->description));
	json_object_set_new(root, "benchmarks", list);
	return gp__json_print(env, root);
}

static int list_text(struct gp__env *env)
{
	struct gp__table *t = gp__table_new(env);

	gp__table_column(t, "NAME", GP__LEFT);
	gp__table_column(t, "WHAT IT MEASURES", GP__LEFT);
	for (const struct gp__bench *b = gp__benches; b->name; b++) {
		gp__table_row(t);
		gp__table_cell(t, b->name);
		gp__table_cell(t, b->description);
	}
	return gp__table_print(t);
}

int cmd_bench(struct gp__env *env, int argc, char **argv)
{
	struct args args = { .options.cpu = -1 };
	int status;
	int err;

	if (!gp__cmd_parse(env, &argp, argc, argv, &args, &status))
		return status;
	if (args.list || !args.bench)
		err = env->json ? list_json(env) : list_text(env);
	else
		err = gp__bench_main(env, args.bench, &args.options);
	return err ? GP__EXIT_FAILURE : GP__EXIT_OK;
}
