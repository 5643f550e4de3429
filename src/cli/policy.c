// SPDX-License-Identifier: MIT
/* gpreempt policy: lists the policies, and changes policy and parameters of gpreemptd. */
#include "cli/commands.h"

#include <string.h>

#include "base/json.h"
#include "base/table.h"
#include "base/units.h"
#include "cli/daemon.h"
#include "core/core.h"

struct args {
	const char *name;
	json_t *params;
	bool force;
};

static const struct argp_option options[] = {
	{ "force", 'f', NULL, 0,
	  "change the policy even if it cannot schedule some of the joined programs", 0 },
	{ 0 },
};

/* NAME=VALUE; every value is a whole number whose unit the name ends with. */
static error_t add_param(struct args *args, char *text, struct argp_state *state)
{
	char *value = strchr(text, '=');
	uint64_t n;

	*value++ = '\0';
	if (!*text || gp__parse_u64(value, 0, INT64_MAX, &n))
		return gp__cmd_usage(state, "%s: '%s' is not a whole number", text, value);
	json_object_set_new(args->params, text, json_integer((json_int_t)n));
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	if (key == 'f') {
		args->force = true;
		return 0;
	}
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (strchr(arg, '='))
		return add_param(args, arg, state);
	if (args->name)
		return gp__cmd_usage(state, "one policy at a time, not '%s' as well", arg);
	args->name = arg;
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[NAME] [PARAMETER=N...]",
	.doc = "List the policies, or change to one; with parameters alone, change those of the "
	       "policy in force or of all policies. See gpreempt-policy(7). Changing takes an "
	       "administrator, and lasts until gpreemptd reads its configuration again.",
};

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static int print_policies(struct gp__env *env, const json_t *policies)
{
	struct gp__table *t = gp__table_new(env);
	json_t *policy;
	size_t i;

	gp__table_column(t, " ", GP__LEFT);
	gp__table_column(t, "POLICY", GP__LEFT);
	gp__table_column(t, "WHAT IT DOES", GP__LEFT);
	json_array_foreach ((json_t *)policies, i, policy) {
		gp__table_row(t);
		gp__table_cell(t, json_is_true(json_object_get(policy, "current")) ? "*" : " ");
		gp__table_cell(t, text_of(policy, "name"));
		gp__table_cell(t, text_of(policy, "summary"));
	}
	return gp__table_print(t);
}

static void param_row(struct gp__table *t, const char *name, const char *of, long long value,
		      long long usual, const char *help)
{
	gp__table_row(t);
	gp__table_cell(t, name);
	gp__table_cell(t, of);
	gp__table_cellf(t, "%lld", value);
	gp__table_cellf(t, "%lld", usual);
	gp__table_cell(t, help);
}

/* The values are the daemon's; the descriptions are of this build. */
static void add_core_rows(struct gp__table *t, const json_t *core)
{
	for (size_t i = 0; i < GP__CFG_COUNT; i++) {
		const struct gp__param *p = &gp__core_params[i];
		const json_t *value = json_object_get(core, p->name);

		if (value)
			param_row(t, p->name, "all", (long long)json_integer_value(value),
				  (long long)p->def, p->help);
	}
}

static int print_params(struct gp__env *env, const json_t *document)
{
	struct gp__table *t = gp__table_new(env);
	json_t *policy, *p;
	size_t i, j;

	gp__table_column(t, "PARAMETER", GP__LEFT);
	gp__table_column(t, "OF", GP__LEFT);
	gp__table_column(t, "VALUE", GP__RIGHT);
	gp__table_column(t, "DEFAULT", GP__RIGHT);
	gp__table_column(t, "WHAT IT IS", GP__LEFT);
	json_array_foreach (json_object_get(document, "policies"), i, policy) {
		json_array_foreach (json_object_get(policy, "params"), j, p)
			param_row(t, text_of(p, "name"), text_of(policy, "name"),
				  (long long)json_integer_value(json_object_get(p, "value")),
				  (long long)json_integer_value(json_object_get(p, "default")),
				  text_of(p, "help"));
	}
	add_core_rows(t, json_object_get(document, "core"));
	return gp__table_print(t);
}

static int print_text(struct gp__env *env, const json_t *document)
{
	int err = print_policies(env, json_object_get(document, "policies"));

	fputc('\n', env->out);
	return err ? err : print_params(env, document);
}

static json_t *ask(struct gp__env *env, const struct args *args, int *status)
{
	json_t *request = json_pack("{s:s}", "op", "policy");

	if (args->name)
		json_object_set_new(request, "name", gp__json_text(args->name));
	if (json_object_size(args->params))
		json_object_set(request, "params", args->params);
	if (args->force)
		json_object_set_new(request, "force", json_true());
	return daemon_query(env, request, status);
}

int cmd_policy(struct gp__env *env, int argc, char **argv)
{
	struct args args = { .params = json_object() };
	json_t *document = NULL;
	int status, err;

	if (gp__cmd_parse(env, &argp, argc, argv, &args, &status))
		document = ask(env, &args, &status);
	json_decref(args.params);
	if (!document)
		return status;
	if (env->json)
		return gp__json_print(env, document) ? GP__EXIT_FAILURE : GP__EXIT_OK;
	err = print_text(env, document);
	json_decref(document);
	return err ? GP__EXIT_FAILURE : GP__EXIT_OK;
}
