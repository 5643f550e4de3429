// SPDX-License-Identifier: MIT
/* gpreempt certify: compares what a GPU does with what gpreempt was designed to reach. */
#include "cli/certify.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/emulated.h"
#include "base/json.h"
#include "base/table.h"
#include "base/units.h"
#include "bench/machine.h"
#include "cli/commands.h"
#include "cli/process.h"

#define REPORT "gpreempt-certify"
#define MINUTES 10
#define QUICK_MINUTES 0.05
#define MINUTES_MAX 1440
#define MACHINE_CUS "2"

enum { KEY_QUICK = 'q', KEY_MINUTES = 'm', KEY_REPORT = 0x100, KEY_ONLY, KEY_DEVICE };

struct args {
	struct certify_options options;
	const char *report;
	bool on_machine; /* a new emulated one */
};

static const struct argp_option options[] = {
	{ "quick", KEY_QUICK, NULL, 0, "a check that it works: short repeats, parts left out", 0 },
	{ "minutes", KEY_MINUTES, "N", 0, "of frequent preemption; 10", 0 },
	{ "only", KEY_ONLY, "STAGE,...", 0,
	  "only these: preempt, levels, seed004, cases, demo, monitor, frequent", 0 },
	{ "device", KEY_DEVICE, "amd|emu", 0,
	  "the GPU of this host, or an emulated machine for a rehearsal; amd", 0 },
	{ "report", KEY_REPORT, "NAME", 0, "write NAME.html and NAME.json; " REPORT, 0 },
	{ 0 },
};

static error_t take_only(struct args *a, const char *list, struct argp_state *state)
{
	while (*list) {
		size_t len = strcspn(list, ",");
		char name[32];
		int stage;

		snprintf(name, sizeof(name), "%.*s", (int)len, list);
		stage = certify_stage_find(name);
		if (stage < 0)
			return gp__cmd_usage(state,
					     "--only: '%s' is none of preempt, levels, seed004, "
					     "cases, demo, monitor, frequent",
					     name);
		a->options.only |= 1u << stage;
		list += len + (list[len] == ',');
	}
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case KEY_QUICK:
		a->options.quick = true;
		return 0;
	case KEY_MINUTES:
		if (!gp__parse_double(arg, QUICK_MINUTES, MINUTES_MAX, &a->options.minutes))
			return 0;
		return gp__cmd_usage(state, "--minutes: '%s' is not a number from %g to %d", arg,
				     QUICK_MINUTES, MINUTES_MAX);
	case KEY_ONLY:
		return take_only(a, arg, state);
	case KEY_DEVICE:
		a->on_machine = !strcmp(arg, "emu");
		if (!a->on_machine && strcmp(arg, "amd"))
			return gp__cmd_usage(state, "--device: '%s' is neither amd nor emu", arg);
		return 0;
	case KEY_REPORT:
		a->report = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->options.minutes)
			a->options.minutes = a->options.quick ? QUICK_MINUTES : MINUTES;
		return 0;
	case ARGP_KEY_ARG:
		return gp__cmd_usage(state, "'%s' is not understood: it takes no arguments", arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Measure on the GPU of this host what gpreempt was designed to reach, and compare: "
	       "each "
	       "way of holding queues, the levels, the test cases, frequent preemption, inference "
	       "beside training. Takes about half an hour and writes a report.",
};

/*
 * For people
 */

static void add_rows(struct gp__table *t, const struct certify *c)
{
	char goal[64], value[64];

	gp__table_column(t, "SEED", GP__LEFT);
	gp__table_column(t, "WHAT", GP__LEFT);
	gp__table_column(t, "GOAL", GP__LEFT);
	gp__table_column(t, c->emulated ? "EMULATED" : "MEASURED", GP__RIGHT);
	gp__table_column(t, "VERDICT", GP__LEFT);
	for (size_t i = 0; i < c->nr_rows; i++) {
		const struct certify_row *row = &c->row[i];
		const char *seed = certify_sections[row->goal->section].seed;

		gp__table_row(t);
		gp__table_cell(t, *seed ? seed : NULL);
		gp__table_cell(t, row->goal->what);
		gp__table_cell(t, certify_goal_text(row->goal, goal, sizeof(goal)));
		gp__table_cell(t, certify_value_text(row, value, sizeof(value)));
		gp__table_cell(t, certify_verdict_name(row->verdict));
	}
}

/* Each reason once, with the number of its rows. */
static void print_reasons(FILE *out, const struct certify *c)
{
	for (size_t i = 0; i < c->nr_rows; i++) {
		const struct certify_row *row = &c->row[i];
		size_t before = 0, n = 0;

		if (!*row->why)
			continue;
		for (size_t k = 0; k < c->nr_rows; k++) {
			bool same = c->row[k].verdict == row->verdict &&
				    !strcmp(c->row[k].why, row->why);

			before += same && k < i;
			n += same;
		}
		if (!before)
			fprintf(out, "%s, %zu: %s\n", certify_verdict_name(row->verdict), n,
				row->why);
	}
}

static int print_text(struct gp__env *env, const struct certify *c)
{
	struct gp__table *t = gp__table_new(env);
	int err;

	fprintf(env->out, "%s, %s\n", c->gpu, c->driver);
	if (c->emulated)
		fprintf(env->out, "This is an emulated machine: no figure here is a GPU's.\n");
	fputc('\n', env->out);
	add_rows(t, c);
	err = gp__table_print(t);
	fputc('\n', env->out);
	print_reasons(env->out, c);
	for (size_t i = 0; i < c->nr_notes; i++)
		fprintf(env->out, "%s\n", c->note[i]);
	fprintf(env->out, "\n%zu passed, %zu failed, %zu not measured\n",
		certify_count(c, CERTIFY_PASSED), certify_count(c, CERTIFY_FAILED),
		certify_count(c, CERTIFY_NOT_MEASURED));
	return err;
}

static void add_note(struct certify *c, const char *text)
{
	if (c->nr_notes < CERTIFY_NOTES_MAX)
		snprintf(c->note[c->nr_notes++], sizeof(c->note[0]), "%s", text);
}

static void add_notes(struct certify *c)
{
	if (c->nvidia)
		add_note(c,
			 "The tables of the seeds are about AMD's context save. On an NVIDIA GPU "
			 "bench/nvidia/run measures the same goals: latency beside training, "
			 "suspends, results after 1,000 of them; its README explains the cases.");
	if (!c->root && !c->emulated)
		add_note(c,
			 "Root adds: the kernel's log, if it is restricted; programs of other "
			 "users; programs that have not joined (gpreemptd --watch). "
			 "Everything else is measured without it, with access to /dev/kfd (group "
			 "render).");
}

/*
 * The command
 */

/* The figures were printed already. */
static int report_failed(struct gp__env *env, const struct certify_report *r, int err)
{
	fprintf(env->err, "gpreempt: cannot write the report %s: %s; --report names another file\n",
		r->path, strerror(-err));
	return GP__EXIT_FAILURE;
}

static int show(struct gp__env *env, struct certify *c, struct certify_report *r)
{
	int err = env->json ? gp__json_print(env, certify_json(c)) : print_text(env, c);
	int status = err ? GP__EXIT_FAILURE : certify_status(c);

	err = certify_report_write(r, c);
	if (err)
		return report_failed(env, r, err);
	fprintf(env->err, "The report is %s, and %s.\n", r->html_path, r->json_path);
	return status;
}

static void take_date(struct certify *c)
{
	time_t now = time(NULL);
	struct tm tm;

	strftime(c->date, sizeof(c->date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
}

static int run(struct gp__env *env, struct certify *c, const struct args *a)
{
	struct certify_report report;
	int err = certify_report_open(&report, a->report), status;

	if (err) {
		certify_report_close(&report);
		return gp__env_fail(env, GP__EXIT_FAILURE, "--report names another file.",
				    "cannot write the report %s: %s", report.path, strerror(-err));
	}
	process_signals_catch();
	status = certify_run(c, env);
	if (!status) {
		take_date(c);
		add_notes(c);
		certify_judge(c);
		status = show(env, c, &report);
	}
	certify_report_close(&report);
	certify_free(c);
	return status;
}

int cmd_certify(struct gp__env *env, int argc, char **argv)
{
	struct args a = { .report = REPORT };
	struct certify c = { 0 };
	int status;

	if (!gp__cmd_parse(env, &argp, argc, argv, &a, &status))
		return status;
	/* This command runs again on the machine. */
	if (a.on_machine && !gp__is_emulated())
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "no machine can be started: %s",
				    strerror(-bench_run_on_machine(MACHINE_CUS, "hws")));
	c.options = a.options;
	status = run(env, &c, &a);
	if (process_signal()) {
		signal(process_signal(), SIG_DFL);
		raise(process_signal());
	}
	return status;
}
