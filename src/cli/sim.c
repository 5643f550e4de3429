// SPDX-License-Identifier: MIT
/* gpreempt sim: a scenario under one policy or several, or a decision log once more. */
#include "cli/sim.h"
#include "cli/commands.h"

#include "base/json.h"
#include "base/progress.h"
#include "base/units.h"
#include "sim/replay.h"

#include <stdlib.h>
#include <string.h>

enum {
	KEY_POLICY = 'p',
	KEY_LEVEL = 'l',
	KEY_COMPARE = 'c',
	KEY_SEED = 's',
	KEY_LOG = 256,
	KEY_REPLAY,
	KEY_NO_ALONE,
};

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
	{ "policy", KEY_POLICY, "NAME", 0,
	  "instead of the scenario's: hpf, fair, share, edf, drf or none", 0 },
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

static error_t add_policy(struct args *args, const char *name, struct argp_state *state)
{
	const struct gp__policy *p = gp__policy_find(name);
	const char *nearest;

	if (!p) {
		nearest = gp__nearest(name, policy_name, gp__policies);
		if (nearest)
			return gp__cmd_usage(state, "'%s' is not a policy; did you mean '%s'?",
					     name, nearest);
		return gp__cmd_usage(
			state,
			"'%s' is not a policy; there are hpf, fair, share, edf, drf and none",
			name);
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
		args->levels[args->n_levels++] = (uint32_t)level;
	}
	return 0;
}

static error_t check(const struct args *args, struct argp_state *state)
{
	bool log_to_stdout = args->log && !strcmp(args->log, "-");

	if (!args->file && !args->replay)
		return gp__cmd_usage(state, "a scenario is missing; try scenarios/example3.ini, or "
					    "see gpreempt-scenario(5) to write one");
	if (args->file && args->replay)
		return gp__cmd_usage(state,
				     "--replay takes its events from the log; leave out '%s'",
				     args->file);
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
	       "The format of scenarios is in gpreempt-scenario(5); scenarios/ has nine of them.",
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
	gp__progress_update(ctx, now / GP__MS);
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
	struct gp__progress progress;
	int err;

	gp__progress_start(&progress, env->err, label, "ms simulated", sc->duration_ns / GP__MS);
	opt.progress = show_progress;
	opt.progress_ctx = &progress;
	err = gp__sim_run(sc, &opt, result);
	gp__progress_end(&progress);
	if (err)
		return gp__env_fail(env, GP__EXIT_FAILURE,
				    "Simulate fewer programs or a shorter time.",
				    "the simulation needs more memory than there is");
	return 0;
}

static int run_all(struct gp__env *env, const struct args *args, struct sim_report *report,
		   FILE *log)
{
	const struct gp__scenario *sc = report->scenario;
	u64 cfg[GP__CFG_COUNT], params[GP__POLICY_PARAMS_MAX];
	const struct gp__policy *own = gp__policies[0];
	int status;

	if (sc->policy[0])
		own = gp__policy_find(sc->policy);
	if (!own)
		return gp__env_fail(env, GP__EXIT_USAGE, NULL,
				    "%s:%u: '%s' is not a policy; there are hpf, fair, share, edf, "
				    "drf and none",
				    sc->file, sc->policy_line, sc->policy);
	status = set_params(env, sc, &sc->core_params, "core", "the core", gp__core_params,
			    GP__CFG_COUNT, cfg);
	if (!status)
		status = set_params(env, sc, &sc->policy_params, "policy", own->name, own->params,
				    own->nr_params, params);
	for (size_t i = 0; !status && i < report->n_runs; i++) {
		struct sim_run *run = &report->runs[i];
		struct gp__sim_options opt = {
			.cfg = cfg, .seed = report->seed, .only = -1, .level = run->level
		};

		if (!run->policy)
			run->policy = own;
		opt.policy = run->policy;
		/* Another policy than the scenario's keeps its own defaults. */
		opt.params = run->policy == own ? params : NULL;
		opt.log = log ? write_line : NULL;
		opt.log_ctx = log;
		status = simulate(env, sc, opt, run->policy->name, &run->result);
	}
	for (size_t i = 0; !status && !args->no_alone && i < sc->n_program_specs; i++) {
		struct gp__sim_options opt = { .policy = &gp__policy_none,
					       .seed = report->seed,
					       .only = (int)i };

		status = simulate(env, sc, opt, sc->program_specs[i].name, &report->alone[i]);
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

static int report_scenario(struct gp__env *env, const struct args *args,
			   const struct gp__scenario *sc, FILE *log)
{
	struct sim_report report = { .scenario = sc,
				     .seed = args->has_seed ? args->seed : sc->seed };
	int status;

	report.alone = calloc(sc->n_program_specs + 1, sizeof(*report.alone));
	if (!report.alone)
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "out of memory");
	plan_runs(args, &report);
	status = run_all(env, args, &report, log);
	/* A log on standard output is alone there. */
	if (!status && log != env->out)
		status = env->json ? sim_print_json(env, &report) : sim_print_text(env, &report);
	for (size_t i = 0; i < report.n_runs; i++)
		gp__sim_result_free(report.runs[i].result);
	for (size_t i = 0; i < sc->n_program_specs; i++)
		gp__sim_result_free(report.alone[i]);
	free(report.alone);
	return status;
}

static FILE *open_log(struct gp__env *env, const char *path)
{
	FILE *log = strcmp(path, "-") ? fopen(path, "we") : env->out;

	if (!log)
		gp__env_fail(env, GP__EXIT_FAILURE, "Choose a file that can be written.",
			     "cannot write the log %s: %m", path);
	return log;
}

/* A log that was cut short is worse than none. */
static int close_log(struct gp__env *env, FILE *log, const char *path, int status)
{
	bool failed = ferror(log);

	if (log != env->out && fclose(log))
		failed = true;
	if (failed && !status)
		return gp__env_fail(env, GP__EXIT_FAILURE, "Is the disk full?",
				    "the log %s is incomplete: %m", path);
	return status;
}

static int run_scenario(struct gp__env *env, const struct args *args)
{
	struct gp__scenario_error err;
	struct gp__scenario *sc;
	FILE *log = NULL;
	int status;

	switch (gp__scenario_load(args->file, &sc, &err)) {
	case 0:
		break;
	case -EINVAL:
		return gp__env_fail(env, GP__EXIT_USAGE, NULL, "%s", err.text);
	default:
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "%s", err.text);
	}
	if (args->log) {
		log = open_log(env, args->log);
		if (!log) {
			gp__scenario_free(sc);
			return GP__EXIT_FAILURE;
		}
		fputs(GP__LOG_HEADER, log);
	}
	status = report_scenario(env, args, sc, log);
	if (log)
		status = close_log(env, log, args->log, status);
	gp__scenario_free(sc);
	return status;
}

/*
 * Replay
 */

static int print_replay(struct gp__env *env, const char *path, const struct gp__replay_result *r)
{
	bool same = !r->differs_at;
	json_t *root;

	if (!env->json) {
		if (same)
			fprintf(env->out,
				"%s: %llu events gave the same %llu actions and %llu reports "
				"again\n",
				path, (unsigned long long)r->events, (unsigned long long)r->actions,
				(unsigned long long)r->reports);
		else
			fprintf(env->out,
				"%s:%llu: the replay differs\n  logged:   %s\n  replayed: %s\n",
				path, (unsigned long long)r->differs_at,
				r->logged[0] ? r->logged : "(nothing)",
				r->replayed[0] ? r->replayed : "(nothing)");
		return same ? GP__EXIT_OK : GP__EXIT_FAILURE;
	}
	root = gp__json_envelope();
	json_object_set_new(root, "log", gp__json_text(path));
	json_object_set_new(root, "identical", json_boolean(same));
	gp__json_set_u64(root, "events", true, r->events);
	gp__json_set_u64(root, "actions", true, r->actions);
	gp__json_set_u64(root, "reports", true, r->reports);
	gp__json_set_u64(root, "differs_at_line", !same, r->differs_at);
	if (!same) {
		json_object_set_new(root, "logged", gp__json_text(r->logged));
		json_object_set_new(root, "replayed", gp__json_text(r->replayed));
	}
	return gp__json_print(env, root) || !same ? GP__EXIT_FAILURE : GP__EXIT_OK;
}

static int run_replay(struct gp__env *env, const struct args *args)
{
	FILE *in = strcmp(args->replay, "-") ? fopen(args->replay, "re") : stdin, *copy = NULL;
	struct gp__replay_result result;
	struct gp__replay_error err;
	int status;

	if (!in)
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "cannot read the log %s: %m",
				    args->replay);
	if (args->log && !(copy = open_log(env, args->log))) {
		status = GP__EXIT_FAILURE;
		goto out;
	}
	switch (gp__replay(in, copy, &result, &err)) {
	case 0:
		status = copy == env->out ? result.differs_at != 0
					  : print_replay(env, args->replay, &result);
		break;
	case -EINVAL:
		status = gp__env_fail(env, GP__EXIT_USAGE,
				      "A log begins with \"# gpreempt decision log 1\" and is "
				      "written by 'gpreempt sim --log'.",
				      "%s:%llu: %s", args->replay, (unsigned long long)err.line,
				      err.text);
		break;
	case -EIO:
		status = gp__env_fail(env, GP__EXIT_FAILURE, NULL, "cannot read the log %s: %m",
				      args->replay);
		break;
	default:
		status = gp__env_fail(env, GP__EXIT_FAILURE, NULL, "out of memory");
	}
	if (copy)
		status = close_log(env, copy, args->log, status);
out:
	if (in != stdin)
		fclose(in);
	return status;
}

int cmd_sim(struct gp__env *env, int argc, char **argv)
{
	struct args args = { .env = env };
	int status;

	if (!gp__cmd_parse(env, &argp, argc, argv, &args, &status))
		return status;
	return args.replay ? run_replay(env, &args) : run_scenario(env, &args);
}
