// SPDX-License-Identifier: MIT
/* gpreempt sim: simulates a scenario under one or more policies, or replays a decision log. */
#include "cli/sim.h"
#include "cli/child.h"
#include "cli/commands.h"

#include "base/progress.h"
#include "base/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	KEY_POLICY = 'p',
	KEY_LEVEL = 'l',
	KEY_COMPARE = 'c',
	KEY_SEED = 's',
	KEY_LOG = 256,
	KEY_REPLAY,
	KEY_NO_ALONE,
};

#define NAMES_MAX 256

struct args {
	const struct gp__env *env;
	const char *file;
	const struct gp__policy *policies[SIM_RUNS_MAX];
	size_t n_policies;
	uint32_t levels[3];
	size_t n_levels;
	bool compare, has_seed, no_alone;
	uint64_t seed;
	const char *log, *replay;
};

static const struct argp_option options[] = {
	{ "policy", KEY_POLICY, "NAME", 0, "instead of the scenario's; see gpreempt-policy(7)", 0 },
	{ "level", KEY_LEVEL, "N[,N...]", 0,
	  "preemption level of every program: 1, 2 or 3; several are compared", 0 },
	{ "compare", KEY_COMPARE, "NAME,NAME...", 0, "run it once under each of these policies",
	  0 },
	{ "seed", KEY_SEED, "N", 0, "instead of the scenario's", 0 },
	{ "log", KEY_LOG, "FILE", 0,
	  "write the decision log there ('-': standard output, and nothing else)", 0 },
	{ "replay", KEY_REPLAY, "FILE", 0,
	  "feed the events of a decision log to a fresh core and compare", 0 },
	{ "no-alone", KEY_NO_ALONE, NULL, 0, "leave out the runs that slowdown is measured against",
	  0 },
	{ 0 },
};

static const char *policy_name(const void *table, size_t i)
{
	const struct gp__policy *const *policies = table;

	return policies[i] ? policies[i]->name : NULL;
}

/* "hpf, fair and none". */
static const char *policy_names(char text[NAMES_MAX])
{
	char *end = text;

	*text = '\0';
	for (size_t i = 0; gp__policies[i]; i++)
		end += snprintf(end, (size_t)(text + NAMES_MAX - end), "%s%s",
				!i		      ? ""
				: gp__policies[i + 1] ? ", "
						      : " and ",
				gp__policies[i]->name);
	return text;
}

static error_t add_policy(struct args *args, const char *name, struct argp_state *state)
{
	const struct gp__policy *p = gp__policy_find(name);
	char names[NAMES_MAX];
	const char *nearest;

	if (!p) {
		nearest = gp__nearest(name, policy_name, gp__policies);
		if (nearest)
			return gp__cmd_usage(state, "'%s' is not a policy; did you mean '%s'?",
					     name, nearest);
		return gp__cmd_usage(state, "'%s' is not a policy; there are %s", name,
				     policy_names(names));
	}
	for (size_t i = 0; i < args->n_policies; i++) {
		if (args->policies[i] == p)
			return gp__cmd_usage(state, "policy '%s' is named twice", name);
	}
	args->policies[args->n_policies++] = p;
	return 0;
}

static error_t add_policies(struct args *args, char *list, struct argp_state *state)
{
	char *name, *rest = list;

	if (args->n_policies)
		return gp__cmd_usage(
			state, "--policy and --compare do not go together; use one of them, once");
	while ((name = strsep(&rest, ","))) {
		error_t err = add_policy(args, name, state);

		if (err)
			return err;
	}
	return 0;
}

static error_t add_levels(struct args *args, char *list, struct argp_state *state)
{
	char *text, *rest = list;
	uint64_t level;

	args->n_levels = 0;
	while ((text = strsep(&rest, ","))) {
		if (gp__parse_u64(text, 1, 3, &level) || args->n_levels == 3)
			return gp__cmd_usage(
				state, "--level: '%s' is not 1, 2 or 3, or a list of them", text);
		for (size_t i = 0; i < args->n_levels; i++) {
			if (args->levels[i] == level)
				return gp__cmd_usage(state, "--level: %s is named twice", text);
		}
		args->levels[args->n_levels++] = (uint32_t)level;
	}
	return 0;
}

static error_t check(const struct args *args, struct argp_state *state)
{
	bool log_to_stdout = args->log && !strcmp(args->log, "-");

	if (!args->file && !args->replay)
		return gp__cmd_usage(state,
				     "a scenario is missing; try 'gpreempt sim example3', or "
				     "see gpreempt-scenario(5) to write one");
	if (args->file && args->replay)
		return gp__cmd_usage(state,
				     "--replay takes its events from the log; leave out '%s'",
				     args->file);
	if (args->replay &&
	    (args->n_policies || args->n_levels || args->has_seed || args->no_alone))
		return gp__cmd_usage(state,
				     "--replay goes with --log and --json only: the log says "
				     "the rest");
	if (args->log && (args->n_policies > 1 || args->n_levels > 1))
		return gp__cmd_usage(state, "--log is for one run; name one policy and one level");
	if (log_to_stdout && args->env->json)
		return gp__cmd_usage(state, "--json and --log=- both want standard output; "
					    "write the log to a file");
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case KEY_POLICY:
	case KEY_COMPARE:
		return add_policies(args, arg, state);
	case KEY_LEVEL:
		return add_levels(args, arg, state);
	case KEY_SEED:
		if (gp__parse_u64(arg, 0, UINT64_MAX, &args->seed))
			return gp__cmd_usage(state, "--seed: '%s' is not a whole number", arg);
		args->has_seed = true;
		return 0;
	case KEY_LOG:
		args->log = arg;
		return 0;
	case KEY_REPLAY:
		args->replay = arg;
		return 0;
	case KEY_NO_ALONE:
		args->no_alone = true;
		return 0;
	case ARGP_KEY_ARG:
		if (args->file)
			return gp__cmd_usage(state, "one scenario at a time, not '%s' as well",
					     arg);
		args->file = arg;
		return 0;
	case ARGP_KEY_END:
		return check(args, state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "SCENARIO\n--replay LOG",
	.doc = "Run programs on modelled GPUs, in virtual time, under the real scheduler.\v"
	       "SCENARIO is a file, see gpreempt-scenario(5), or the name of a shipped "
	       "one:\n64gpus, deadlines, example3, gang, llm, llm-batch, multistream, "
	       "seed004-basic,\nseed004-edge, seed004-frequent, starvation, users.",
};

/*
 * Parameters from the scenario
 */

static int bad_param(struct gp__env *env, const struct gp__scenario *sc,
		     const struct gp__scenario_param *p, const char *kind, const char *whose)
{
	return gp__env_fail(env, GP__EXIT_USAGE, NULL,
			    "%s:%u: %s.%s is not a parameter of %s; see gpreempt-scenario(5)",
			    sc->file, p->line, kind, p->name, whose);
}

static int set_params(struct gp__env *env, const struct gp__scenario *sc,
		      const struct gp__scenario_params *given, const char *kind, const char *whose,
		      const struct gp__param *known, uint32_t n, u64 *values)
{
	for (uint32_t i = 0; i < n; i++)
		values[i] = known[i].def;
	for (size_t i = 0; i < given->n; i++) {
		const struct gp__scenario_param *p = &given->v[i];
		int k = gp__param_find(known, n, p->name, strlen(p->name));
		char expected[80];

		if (k < 0)
			return bad_param(env, sc, p, kind, whose);
		if (gp__parse_u64(p->value, known[k].min, known[k].max, &values[k]))
			return gp__env_fail(env, GP__EXIT_USAGE, NULL,
					    "%s:%u: %s.%s: '%s' is not %s", sc->file, p->line, kind,
					    p->name, p->value,
					    gp__expect_u64(expected, sizeof(expected), known[k].min,
							   known[k].max));
	}
	return 0;
}

/*
 * Runs
 */

static void show_progress(void *ctx, u64 now)
{
	gp__progress_update(ctx, now / GP__S);
}

static void write_line(void *ctx, const struct gp__record *r)
{
	char line[GP__LOG_LINE_MAX];
	size_t len = gp__record_format(r, line);

	fwrite(line, 1, len, ctx);
}

static int simulate(struct gp__env *env, const struct gp__scenario *sc, struct gp__sim_options opt,
		    const char *label, struct gp__sim_result **result)
{
	const struct gp__program_spec *overloaded = NULL;
	struct gp__progress progress;
	int err;

	gp__progress_start(&progress, env->err, label, "s simulated", sc->duration_ns / GP__S);
	opt.progress = show_progress;
	opt.progress_ctx = &progress;
	err = gp__sim_run(sc, &opt, result, &overloaded);
	gp__progress_end(&progress);
	if (err == -EOVERFLOW)
		return gp__env_fail(
			env, GP__EXIT_FAILURE,
			"Let its jobs arrive more slowly, or simulate a shorter time.",
			"%s:%u: program '%s' gets work faster than it is done; %d kernels wait",
			sc->file, overloaded->line, overloaded->name, GP__SIM_WAITING_MAX);
	if (err)
		return gp__env_fail(env, GP__EXIT_FAILURE,
				    "Simulate fewer programs or a shorter time.",
				    "the simulation needs more memory than there is");
	return 0;
}

/* Parameters that the scenario sets, of the core and of its policy. */
struct settings {
	const struct gp__policy *policy;
	u64 cfg[GP__CFG_COUNT], params[GP__POLICY_PARAMS_MAX];
};

static int read_settings(struct gp__env *env, const struct gp__scenario *sc, struct settings *set)
{
	char names[NAMES_MAX];
	int status;

	set->policy = sc->policy[0] ? gp__policy_find(sc->policy) : gp__policies[0];
	if (!set->policy)
		return gp__env_fail(env, GP__EXIT_USAGE, NULL,
				    "%s:%u: '%s' is not a policy; there are %s", sc->file,
				    sc->policy_line, sc->policy, policy_names(names));
	status = set_params(env, sc, &sc->core_params, "core", "the core", gp__core_params,
			    GP__CFG_COUNT, set->cfg);
	if (status)
		return status;
	return set_params(env, sc, &sc->policy_params, "policy", set->policy->name,
			  set->policy->params, set->policy->nr_params, set->params);
}

static int run_all(struct gp__env *env, const struct settings *set, struct sim_report *report,
		   FILE *log)
{
	int status = 0;

	for (size_t i = 0; !status && i < report->n_runs; i++) {
		struct sim_run *run = &report->runs[i];
		struct gp__sim_options opt = {
			.cfg = set->cfg, .seed = report->seed, .only = -1, .level = run->level
		};

		if (!run->policy)
			run->policy = set->policy;
		opt.policy = run->policy;
		/* The scenario's parameters are those of its own policy only. */
		opt.params = run->policy == set->policy ? set->params : NULL;
		opt.log = log ? write_line : NULL;
		opt.log_ctx = log;
		status = simulate(env, report->scenario, opt, run->policy->name, &run->result);
	}
	return status;
}

static int run_alone(struct gp__env *env, struct sim_report *report)
{
	const struct gp__scenario *sc = report->scenario;
	int status = 0;

	for (size_t i = 0; !status && i < sc->n_program_specs; i++) {
		struct gp__sim_options opt = { .policy = &gp__policy_none,
					       .seed = report->seed,
					       .only = (int)i };
		struct sim_alone *alone = &report->alone[i];
		struct gp__sim_result *r;

		status = simulate(env, sc, opt, sc->program_specs[i].name, &r);
		if (status)
			break;
		if (gp__hist_mean(&r->programs[i].latency, &alone->job_ns))
			alone->job_ns = 0;
		alone->share = sim_share_got(r, &r->programs[i]) / 100;
		if (r->programs[i].requests)
			alone->result = r;
		else
			gp__sim_result_free(r);
	}
	return status;
}

static void plan_runs(const struct args *args, struct sim_report *report)
{
	size_t n_policies = args->n_policies ? args->n_policies : 1;
	size_t n_levels = args->n_levels ? args->n_levels : 1;

	for (size_t i = 0; i < n_policies; i++) {
		for (size_t j = 0; j < n_levels; j++) {
			struct sim_run *run = &report->runs[report->n_runs++];

			run->policy = args->n_policies ? args->policies[i] : NULL;
			run->level = args->n_levels ? args->levels[j] : 0;
		}
	}
}

static int print_report(struct gp__env *env, const struct sim_report *report)
{
	return env->json ? sim_print_json(env, report) : sim_print_text(env, report);
}

static int report_scenario(struct gp__env *env, const struct args *args,
			   const struct gp__scenario *sc, const struct settings *set)
{
	struct sim_report report = { .scenario = sc,
				     .seed = args->has_seed ? args->seed : sc->seed };
	struct sim_log log = { 0 };
	int status = sim_log_open(env, &log, args->log, sc->file);

	if (status)
		return status;
	report.alone = calloc(sc->n_program_specs, sizeof(*report.alone));
	if (!report.alone)
		status = gp__env_fail(env, GP__EXIT_FAILURE, NULL, "out of memory");
	plan_runs(args, &report);
	if (!status)
		status = run_all(env, set, &report, log.file);
	status = sim_log_close(env, &log, status);
	/* Nothing else goes to standard output if the log does. */
	if (!status && !log.alone) {
		status = args->no_alone ? 0 : run_alone(env, &report);
		if (!status)
			status = print_report(env, &report);
	}
	for (size_t i = 0; i < report.n_runs; i++)
		gp__sim_result_free(report.runs[i].result);
	for (size_t i = 0; report.alone && i < sc->n_program_specs; i++)
		gp__sim_result_free(report.alone[i].result);
	free(report.alone);
	return status;
}

/* A name without a slash may be that of a shipped scenario, whatever the current folder. */
static const char *find_scenario(const char *name, char path[PATH_MAX])
{
	char built[PATH_MAX], installed[PATH_MAX];

	if (strchr(name, '/') || !strcmp(name, "-") || access(name, F_OK) == 0 ||
	    (size_t)snprintf(built, sizeof(built), "../../scenarios/%s.ini", name) >=
		    sizeof(built) ||
	    (size_t)snprintf(installed, sizeof(installed), GP_SCENARIO_DIR "/%s.ini", name) >=
		    sizeof(installed))
		return name;
	return child_has_file(built, installed, path) ? path : name;
}

static int run_scenario(struct gp__env *env, const struct args *args)
{
	struct gp__scenario_error err;
	struct gp__scenario *sc;
	struct settings set;
	char path[PATH_MAX];
	int status;

	switch (gp__scenario_load(find_scenario(args->file, path), &sc, &err)) {
	case 0:
		break;
	case -EINVAL:
		return gp__env_fail(env, GP__EXIT_USAGE, NULL, "%s", err.text);
	default:
		return gp__env_fail(env, GP__EXIT_FAILURE,
				    "Shipped scenarios go by name: 'gpreempt sim example3'.", "%s",
				    err.text);
	}
	status = read_settings(env, sc, &set);
	if (!status)
		status = report_scenario(env, args, sc, &set);
	gp__scenario_free(sc);
	return status;
}

int cmd_sim(struct gp__env *env, int argc, char **argv)
{
	struct args args = { .env = env };
	int status;

	if (!gp__cmd_parse(env, &argp, argc, argv, &args, &status))
		return status;
	return args.replay ? sim_replay(env, args.replay, args.log) : run_scenario(env, &args);
}
