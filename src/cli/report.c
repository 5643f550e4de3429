// SPDX-License-Identifier: MIT
/* gpreempt report: a page, or a document, of what a decision log says about sharing GPUs. */
#include "cli/report.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/table.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/daemon.h"
#include "cli/log_file.h"
#include "cli/report_page.h"
#include "policy/policy.h"

#define REPORT "gpreempt-report.html"
#define SINCE_MAX (100ull * 365 * 24 * 3600 * GP__S)

enum { KEY_OUTPUT = 'o', KEY_SINCE = 's', KEY_COMPARE = 'c' };

struct args {
	const char *log; /* NULL: the daemon's */
	const char *output; /* NULL: the default */
	uint64_t since_ns; /* 0: all of it */
	char *compare; /* NULL: nothing */
};

static const struct argp_option options[] = {
	{ "output", KEY_OUTPUT, "FILE", 0, "where the page goes; " REPORT ", or with --json none",
	  0 },
	{ "since", KEY_SINCE, "TIME", 0, "only the last part of the log, such as 10min", 0 },
	{ "compare", KEY_COMPARE, "POLICY,...|LOG", 0,
	  "what these policies would have done on the same day, or another log beside it", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case KEY_OUTPUT:
		args->output = arg;
		return 0;
	case KEY_SINCE:
		if (gp__parse_duration(arg, &args->since_ns) || !args->since_ns ||
		    args->since_ns > SINCE_MAX)
			return gp__cmd_usage(state, "--since: '%s' is not %s", arg,
					     GP__EXPECT_DURATION);
		return 0;
	case KEY_COMPARE:
		args->compare = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (args->log)
			return gp__cmd_usage(state,
					     "one log at a time, not '%s' as well; --compare takes "
					     "another one",
					     arg);
		args->log = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[LOG]",
	.doc = "Make a page of a decision log: how long work took, which program was held for "
	       "which "
	       "other one, who used the GPUs, and what holding cost. Without LOG it is the log of "
	       "gpreemptd.",
};

/*
 * Logs
 */

/* The path of the daemon's log. 0, or an exit status after an error message. */
static int ask_for_log(struct gp__env *env, char path[PATH_MAX])
{
	json_t *answer;
	const char *log;
	int status;

	answer = daemon_query(env, json_pack("{s:s}", "op", "list"), &status);
	if (!answer)
		return status;
	log = json_string_value(json_object_get(json_object_get(answer, "daemon"), "log"));
	snprintf(path, PATH_MAX, "%s", log ? log : "");
	json_decref(answer);
	if (*path)
		return 0;
	return gp__env_fail(env, GP__EXIT_FAILURE,
			    "Set 'log = FILE' in gpreemptd.conf(5), or name a log.",
			    "gpreemptd writes no decision log");
}

/* With @since_ns, a first pass finds out when the log ends. */
static int read_history(struct gp__env *env, struct report *r, const struct log_file *log,
			uint64_t since_ns)
{
	u64 begin = 0;
	int status;

	if (since_ns) {
		status = log_file_read(env, log, 0, &r->history);
		if (status)
			return status;
		if (r->history.end - r->history.begin > since_ns)
			begin = r->history.end - since_ns;
		gp__history_free(&r->history);
	}
	status = log_file_read(env, log, begin, &r->history);
	if (status)
		return status;
	if (!report_compute(r))
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "out of memory");
	if (!r->nr_groups)
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL,
				    "%s: no program had work on a GPU%s", log->path,
				    begin ? " in this time" : "");
	return 0;
}

static int load(struct gp__env *env, struct report *r, const char *path, uint64_t since_ns)
{
	struct log_file log;
	int status;

	memset(r, 0, sizeof(*r));
	r->name = path;
	status = log_file_open(env, &log, path);
	if (status)
		return status;
	status = read_history(env, r, &log, since_ns);
	log_file_close(&log);
	return status;
}

/*
 * Comparison
 */

/* The policies that a list names. False: it names something else as well. */
static bool find_policies(const char *list, const struct gp__policy *policies[REPORT_RUNS_MAX])
{
	char text[256], *name, *rest = text;
	size_t n = 0;

	if (strlen(list) >= sizeof(text))
		return false;
	strcpy(text, list);
	while ((name = strsep(&rest, ","))) {
		const struct gp__policy *p = gp__policy_find(name);

		if (!p || n + 2 >= REPORT_RUNS_MAX)
			return false;
		policies[n++] = p;
	}
	policies[n] = NULL;
	return true;
}

static int compare_logs(struct gp__env *env, const struct args *args, const struct report *r,
			struct report_comparison *c)
{
	struct report other;
	int status = load(env, &other, args->compare, args->since_ns);

	if (!status) {
		report_run_measured(r, r->name, &c->runs[0]);
		report_run_measured(&other, args->compare, &c->runs[1]);
		c->nr_runs = 2;
	}
	report_free(&other);
	return status;
}

static int compare(struct gp__env *env, const struct args *args, const struct report *r,
		   struct report_comparison *c)
{
	const struct gp__policy *policies[REPORT_RUNS_MAX];

	if (!find_policies(args->compare, policies)) {
		if (access(args->compare, F_OK))
			return gp__env_fail(
				env, GP__EXIT_USAGE, "'gpreempt policy' lists the policies.",
				"--compare: '%s' is neither policies nor a log: %m", args->compare);
		return compare_logs(env, args, r, c);
	}
	if (report_simulate(r, policies, c))
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "out of memory");
	return 0;
}

/*
 * Output
 */

static void cell_time(struct gp__table *t, double ns)
{
	char text[32];

	gp__table_cell(t, ns < 0 ? NULL : gp__format_duration(text, sizeof(text), (uint64_t)ns));
}

static void print_classes(struct gp__env *env, const struct report *r)
{
	struct gp__table *t = gp__table_new(env);

	gp__table_column(t, "CLASS", GP__LEFT);
	gp__table_column(t, "PIECES", GP__RIGHT);
	gp__table_column(t, "P50", GP__RIGHT);
	gp__table_column(t, "P99", GP__RIGHT);
	gp__table_column(t, "GPU-TIME", GP__RIGHT);
	gp__table_column(t, "SHARE", GP__RIGHT);
	gp__table_column(t, "HELD", GP__RIGHT);
	gp__table_column(t, "LONGEST", GP__RIGHT);
	for (size_t i = 0; i < r->nr_classes; i++) {
		const struct report_class *c = &r->classes[i];

		gp__table_row(t);
		gp__table_cell(t, gp__class_name(c->class));
		gp__table_cellf(t, "%zu", c->n);
		cell_time(t, report_p50(c));
		cell_time(t, report_p99(c));
		cell_time(t, (double)c->used);
		gp__table_cellf(t, "%.1f%%", report_pct(c->used, r->used));
		cell_time(t, (double)c->waited);
		cell_time(t, (double)c->longest_wait);
	}
	gp__table_print(t);
}

static void print_comparison(struct gp__env *env, const struct report_comparison *c)
{
	struct gp__table *t = gp__table_new(env);

	gp__table_column(t, "RUN", GP__LEFT);
	gp__table_column(t, "CLASS", GP__LEFT);
	gp__table_column(t, "PIECES", GP__RIGHT);
	gp__table_column(t, "P50", GP__RIGHT);
	gp__table_column(t, "P99", GP__RIGHT);
	gp__table_column(t, "HELD", GP__RIGHT);
	gp__table_column(t, "WASTE", GP__RIGHT);
	for (size_t i = 0; i < c->nr_runs; i++) {
		for (int k = GP__CLASS_COUNT - 1; k >= 0; k--) {
			if (!c->runs[i].classes[k].pieces && c->runs[i].classes[k].used <= 0)
				continue;
			gp__table_row(t);
			gp__table_cell(t, c->runs[i].name);
			gp__table_cell(t, gp__class_name((enum gp__class)k));
			gp__table_cellf(t, "%zu", c->runs[i].classes[k].pieces);
			cell_time(t, c->runs[i].classes[k].p50);
			cell_time(t, c->runs[i].classes[k].p99);
			cell_time(t, c->runs[i].classes[k].waited);
			gp__table_cellf(t, "%.2f%%", c->runs[i].wasted_pct);
		}
	}
	fputc('\n', env->out);
	gp__table_print(t);
}

static void print_summary(struct gp__env *env, const struct report *r,
			  const struct report_comparison *c)
{
	const struct gp__history *h = &r->history;
	u64 gpus = r->length * h->gpus.n;
	char length[32];

	fprintf(env->out,
		"%s: %s on %zu GPU%s under %s; had work %.1f %% of the time, stood still "
		"while one waited %.2f %%\n\n",
		r->name, gp__format_duration(length, sizeof(length), r->length), h->gpus.n,
		h->gpus.n == 1 ? "" : "s", h->policy ? h->policy->name : "a policy not known",
		report_pct(r->busy, gpus), report_pct(r->wasted, gpus));
	print_classes(env, r);
	if (c && !*c->refused)
		print_comparison(env, c);
	fputc('\n', env->out);
}

static int write_page(struct gp__env *env, const char *path, const struct report *r,
		      const struct report_comparison *c)
{
	int err = report_page_write(path, report_log_page(r, c));

	if (err)
		return gp__env_fail(env, GP__EXIT_FAILURE, "--output names another file.",
				    "cannot write the page %s: %s", path, strerror(-err));
	fprintf(env->json ? env->err : env->out, "The report is %s: open it in a browser.\n", path);
	return 0;
}

static int show(struct gp__env *env, const struct args *args, const struct report *r,
		const struct report_comparison *c)
{
	const char *path = args->output;
	int status = 0;

	if (!path && !env->json)
		path = REPORT;
	if (!env->json)
		print_summary(env, r, c);
	if (path)
		status = write_page(env, path, r, c);
	if (!status && env->json && gp__json_print(env, report_json(r, c)))
		status = GP__EXIT_FAILURE;
	if (!status && c && *c->refused) {
		fprintf(env->err, "gpreempt: no comparison: %s\n", c->refused);
		status = GP__EXIT_FAILURE;
	}
	return status;
}

int cmd_report(struct gp__env *env, int argc, char **argv)
{
	struct report_comparison c = { 0 };
	struct args args = { 0 };
	char path[PATH_MAX];
	struct report r;
	int status;

	if (!gp__cmd_parse(env, &argp, argc, argv, &args, &status))
		return status;
	if (!args.log) {
		status = ask_for_log(env, path);
		if (status)
			return status;
		args.log = path;
	}
	status = load(env, &r, args.log, args.since_ns);
	if (!status && args.compare)
		status = compare(env, &args, &r, &c);
	if (!status)
		status = show(env, &args, &r, args.compare ? &c : NULL);
	report_free(&r);
	return status;
}
