// SPDX-License-Identifier: MIT
/*
 * gpreempt cgroup: lists the rules about control groups, and registers one for the programs of a
 * job or a container. What registers is root, before the programs start.
 */
#include "cli/commands.h"

#include <string.h>

#include "base/json.h"
#include "base/table.h"
#include "base/units.h"
#include "cli/daemon.h"
#include "core/core.h"

enum { KEY_MAX = 0x2100, KEY_SHARE, KEY_WEIGHT };

struct args {
	const char *verb, *path;
	json_t *request;
	bool any; /* something is said about the group */
};

static const struct argp_option options[] = {
	{ "class", 'c', "CLASS", 0, "of programs that ask for none: a class or a priority", 0 },
	{ "max", KEY_MAX, "CLASS", 0,
	  "the highest class or priority that a program may ask for; default: --class", 0 },
	{ "share", KEY_SHARE, "PCT", 0, "of programs that ask for none, and the largest", 0 },
	{ "weight", KEY_WEIGHT, "N", 0, "of programs that ask for none, and the largest", 0 },
	{ "tag", 't', "TAG", 0, "of programs that have none", 0 },
	{ 0 },
};

static error_t set_priority(struct args *args, const char *option, const char *key,
			    const char *text, struct argp_state *state)
{
	int64_t n;
	s32 prio;

	if (gp__class_prio(text, &prio))
		n = prio;
	else if (gp__parse_i64(text, -GP__PRIO_LIMIT, GP__PRIO_LIMIT, &n))
		return gp__cmd_usage(state,
				     "%s: '%s' is none of online, normal and offline, nor a whole "
				     "number within %d of 0",
				     option, text, GP__PRIO_LIMIT);
	json_object_set_new(args->request, key, json_integer(n));
	return 0;
}

static error_t set_part(struct args *args, const char *option, const char *key, uint64_t most,
			const char *text, struct argp_state *state)
{
	char expected[80];
	uint64_t n;

	if (gp__parse_u64(text, 1, most, &n))
		return gp__cmd_usage(state, "%s: '%s' is not %s", option, text,
				     gp__expect_u64(expected, sizeof(expected), 1, most));
	json_object_set_new(args->request, key, json_integer((json_int_t)n));
	return 0;
}

static error_t take_word(struct args *args, const char *word, struct argp_state *state)
{
	if (!args->verb && (!strcmp(word, "add") || !strcmp(word, "remove")))
		args->verb = word;
	else if (!args->verb)
		return gp__cmd_usage(state, "'%s' is neither add nor remove", word);
	else if (args->path)
		return gp__cmd_usage(state, "one control group at a time, not '%s' as well", word);
	else
		args->path = word;
	return 0;
}

static error_t check(const struct args *args, struct argp_state *state)
{
	if (args->verb && !args->path)
		return gp__cmd_usage(state,
				     "%s: give the path of a control group, as in /proc/PID/cgroup",
				     args->verb);
	if (args->verb && !strcmp(args->verb, "add") && !args->any)
		return gp__cmd_usage(state, "nothing to register: give --class, --max, ...");
	if (args->any && (!args->verb || strcmp(args->verb, "add") != 0))
		return gp__cmd_usage(state, "--class, --max, --share, --weight and --tag need add");
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	args->any |= key == 'c' || key == 't' || (key >= KEY_MAX && key <= KEY_WEIGHT);
	switch (key) {
	case 'c':
		return set_priority(args, "--class", "priority", arg, state);
	case KEY_MAX:
		return set_priority(args, "--max", "max_priority", arg, state);
	case KEY_SHARE:
		return set_part(args, "--share", "share_pct", 100, arg, state);
	case KEY_WEIGHT:
		return set_part(args, "--weight", "weight", 10000, arg, state);
	case 't':
		json_object_set_new(args->request, "tag", gp__json_text(arg));
		return 0;
	case ARGP_KEY_ARG:
		return take_word(args, arg, state);
	case ARGP_KEY_END:
		return check(args, state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "\nadd PATH\nremove PATH",
	.doc = "List the rules about control groups, register one, or take it back. A rule applies "
	       "to the programs in the control group and in those below it. It is forgotten when "
	       "the control group is gone. Only administrators may do this.",
};

static const char *priority_of(char *text, size_t size, const json_t *rule, const char *key)
{
	const json_t *value = json_object_get(rule, key);
	const char *class;

	if (!json_is_integer(value))
		return "-";
	class = gp__class_name(gp__class_of((s32)json_integer_value(value)));
	if (strcmp(class, "other") != 0)
		return class;
	snprintf(text, size, "%lld", (long long)json_integer_value(value));
	return text;
}

static const char *number_of(char *text, size_t size, const json_t *rule, const char *key)
{
	const json_t *value = json_object_get(rule, key);

	snprintf(text, size, "%lld", (long long)json_integer_value(value));
	return json_is_integer(value) ? text : "-";
}

static int print_rules(struct gp__env *env, const json_t *rules)
{
	static const char *const columns[] = { "CGROUP", "CLASS", "MAX",  "SHARE",
					       "WEIGHT", "TAG",	  "FROM", "PROGRAMS" };
	struct gp__table *t = gp__table_new(env);
	char text[32];
	json_t *rule;
	size_t i;

	for (i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		gp__table_column(t, columns[i], GP__LEFT);
	json_array_foreach ((json_t *)rules, i, rule) {
		const char *tag = json_string_value(json_object_get(rule, "tag"));
		bool registered = json_is_true(json_object_get(rule, "registered"));

		gp__table_row(t);
		gp__table_cell(t, json_string_value(json_object_get(rule, "cgroup")));
		gp__table_cell(t, priority_of(text, sizeof(text), rule, "priority"));
		gp__table_cell(t, priority_of(text, sizeof(text), rule, "max_priority"));
		gp__table_cell(t, number_of(text, sizeof(text), rule, "share_pct"));
		gp__table_cell(t, number_of(text, sizeof(text), rule, "weight"));
		gp__table_cell(t, tag ? tag : "-");
		gp__table_cell(t, registered ? "request" : "configuration");
		gp__table_cell(t, number_of(text, sizeof(text), rule, "programs"));
	}
	return gp__table_print(t) ? GP__EXIT_FAILURE : GP__EXIT_OK;
}

static json_t *ask(struct gp__env *env, struct args *args, int *status)
{
	char op[16] = "cgroups";

	if (args->verb)
		snprintf(op, sizeof(op), "cgroup-%s", args->verb);
	json_object_set_new(args->request, "op", json_string(op));
	if (args->path)
		json_object_set_new(args->request, "cgroup", gp__json_text(args->path));
	return daemon_query(env, json_incref(args->request), status);
}

int cmd_cgroup(struct gp__env *env, int argc, char **argv)
{
	struct args args = { .request = json_object() };
	json_t *done = NULL, *rules;
	int status;

	if (gp__cmd_parse(env, &argp, argc, argv, &args, &status))
		done = ask(env, &args, &status);
	json_decref(args.request);
	if (!done)
		return status;
	if (env->json)
		return gp__json_print(env, done) ? GP__EXIT_FAILURE : GP__EXIT_OK;
	rules = json_object_get(done, "cgroups");
	status = GP__EXIT_OK;
	if (args.verb)
		fprintf(env->out, "%s: %s\n", args.path,
			!strcmp(args.verb, "add") ? "registered" : "removed");
	else if (json_array_size(rules))
		status = print_rules(env, rules);
	else
		fprintf(env->out, "There is no rule about a control group.\n");
	json_decref(done);
	return status;
}
