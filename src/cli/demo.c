// SPDX-License-Identifier: MIT
/* gpreempt demo: shows gpreempt on an emulated GPU with two unmodified programs. */
#include "cli/demo.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/emulated.h"
#include "base/json.h"
#include "base/table.h"
#include "base/units.h"
#include "cli/commands.h"

#define REQUESTS 300
#define LLM_REQUESTS_MIN 10
#define REQUESTS_MAX 10000
#define REPORT "gpreempt-demo.html"
#define STEP_NS (20 * GP__MS) /* on a GPU */

enum {
	KEY_REQUESTS = 0x100,
	KEY_REPORT,
	KEY_NO_REPORT,
	KEY_LLM,
	KEY_DOWNLOAD,
	KEY_DEVICE,
	KEY_STEP
};

struct args {
	uint64_t requests; /* 0: the default */
	uint64_t step_ns; /* 0: the default */
	const char *report; /* NULL: none */
	const char *llm_folder; /* NULL: the default */
	bool llm, download, on_gpu;
};

static const struct argp_option options[] = {
	{ "requests", KEY_REQUESTS, "N", 0, "requests in each mode; 300, or 100 with --llm", 0 },
	{ "report", KEY_REPORT, "FILE", 0, "where the report goes; " REPORT, 0 },
	{ "device", KEY_DEVICE, "emu|amd", 0,
	  "an emulated machine of its own, or the AMD GPU of this host (no report); emu", 0 },
	{ "step", KEY_STEP, "TIME", 0,
	  "with --device amd: how long a step of the trainer takes; 20ms", 0 },
	{ "no-report", KEY_NO_REPORT, NULL, 0, "write none", 0 },
	{ "llm", KEY_LLM, "FOLDER", OPTION_ARG_OPTIONAL,
	  "two llama.cpp servers instead, from the packages in FOLDER", 0 },
	{ "download", KEY_DOWNLOAD, NULL, 0,
	  "with --llm: download the packages, about 480 MB, where they are not there", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;
	char expected[80];

	switch (key) {
	case KEY_REQUESTS:
		if (!gp__parse_u64(arg, LLM_REQUESTS_MIN, REQUESTS_MAX, &a->requests))
			return 0;
		return gp__cmd_usage(state, "--requests: '%s' is not %s", arg,
				     gp__expect_u64(expected, sizeof(expected), DEMO_P99_REQUESTS,
						    REQUESTS_MAX));
	case KEY_REPORT:
		a->report = arg;
		return 0;
	case KEY_NO_REPORT:
		a->report = NULL;
		return 0;
	case KEY_DEVICE:
		a->on_gpu = !strcmp(arg, "amd");
		if (!a->on_gpu && strcmp(arg, "emu"))
			return gp__cmd_usage(state, "--device: '%s' is neither emu nor amd", arg);
		return 0;
	case KEY_STEP:
		if (!gp__parse_duration(arg, &a->step_ns) && a->step_ns >= GP__MS)
			return 0;
		return gp__cmd_usage(state, "--step: '%s' is not at least 1ms", arg);
	case KEY_LLM:
		a->llm = true;
		a->llm_folder = arg;
		return 0;
	case KEY_DOWNLOAD:
		a->download = true;
		return 0;
	case ARGP_KEY_END:
		if (a->download && !a->llm)
			return gp__cmd_usage(state, "--download needs --llm");
		if (a->llm && a->on_gpu)
			return gp__cmd_usage(state, "--llm runs on an emulated machine only");
		if (a->step_ns && !a->on_gpu)
			return gp__cmd_usage(state, "--step needs --device amd");
		if (a->on_gpu)
			a->report = NULL; /* its timeline is the emulated machine's */
		if (a->requests && a->requests < DEMO_P99_REQUESTS && !a->llm)
			return gp__cmd_usage(state,
					     "--requests: %" PRIu64
					     " are too few for P99, which needs %d",
					     a->requests, DEMO_P99_REQUESTS);
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
	.doc = "Show what gpreempt does: an inference server and a trainer, unmodified ROCm "
	       "programs, "
	       "on one emulated GPU; alone, together, and together under gpreempt. Ends with a "
	       "table and a report to look at. Takes about three minutes.",
};

/*
 * The table
 */

static void add_columns(struct gp__table *t, bool llm)
{
	gp__table_column(t, "MODE", GP__LEFT);
	gp__table_column(t, "REQUESTS", GP__RIGHT);
	gp__table_column(t, "P50", GP__RIGHT);
	gp__table_column(t, "P99", GP__RIGHT);
	if (llm) {
		gp__table_column(t, "FIRST P50", GP__RIGHT);
		gp__table_column(t, "FIRST P99", GP__RIGHT);
		gp__table_column(t, "TOKENS/S", GP__RIGHT);
		gp__table_column(t, "FIRST P99 GPU", GP__RIGHT);
		gp__table_column(t, "TOKEN GPU", GP__RIGHT);
	}
	gp__table_column(t, "P99 GPU", GP__RIGHT);
	gp__table_column(t, "X ALONE", GP__RIGHT);
	gp__table_column(t, "STEPS/S", GP__RIGHT);
	gp__table_column(t, "KEPT", GP__RIGHT);
	gp__table_column(t, "PREEMPTIONS", GP__RIGHT);
	gp__table_column(t, "RESULTS", GP__LEFT);
}

static void add_ms(struct gp__table *t, bool known, double ms)
{
	if (known)
		gp__table_cellf(t, "%.1f ms", ms);
	else
		gp__table_cell(t, "-");
}

static void add_duration(struct gp__table *t, bool known, double ns)
{
	char text[32];

	gp__table_cell(t, known ? gp__format_duration(text, sizeof(text), (uint64_t)ns) : "-");
}

static void add_llm_cells(struct gp__table *t, const struct demo_figures *f)
{
	gp__table_cellf(t, "%.1f ms", f->first_p50_ms);
	add_ms(t, f->has_p99, f->first_p99_ms);
	gp__table_cellf(t, "%.1f", f->tokens_per_s);
	add_duration(t, f->has_p99, f->first_p99_device_ns);
	add_duration(t, true, f->token_device_ns);
}

static void add_row(struct gp__table *t, const struct demo_mode *m, bool llm)
{
	const struct demo_figures *f = &m->figures;

	gp__table_row(t);
	gp__table_cell(t, m->name);
	if (*m->unsupported)
		return;
	gp__table_cellf(t, "%zu", m->requests.n);
	gp__table_cellf(t, "%.1f ms", f->p50_ms);
	add_ms(t, f->has_p99, f->p99_ms);
	if (llm)
		add_llm_cells(t, f);
	add_duration(t, f->has_p99, f->p99_device_ns);
	if (f->has_p99)
		gp__table_cellf(t, "%.2fx", f->x_alone);
	else
		gp__table_cell(t, "-");
	gp__table_cellf(t, "%.2f", f->steps_per_s);
	gp__table_cellf(t, "%.1f %%", f->kept_pct);
	gp__table_cellf(t, "%" PRIu64, f->preemptions);
	gp__table_cell(t, f->identical ? "identical" : "DIFFERENT");
}

static const struct demo_mode *find_mode(const struct demo_mode *modes, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(modes[i].name, name) && !*modes[i].unsupported)
			return &modes[i];
	}
	return NULL;
}

static void print_sentences(FILE *out, const struct demo_mode *modes, size_t n, bool llm)
{
	const char *patient = llm ? "batch" : "trainer";
	const struct demo_mode *native = find_mode(modes, n, "native");
	const struct demo_mode *best = find_mode(modes, n, "lv3");

	fprintf(out, "\n");
	if (native && best && native->figures.has_p99)
		fprintf(out,
			"Beside the %s, of a hundred requests the slowest takes %.1f times as "
			"long as alone; under gpreempt %.2f times.\nThe %s is stopped in the "
			"middle of kernels, %" PRIu64
			" times, and keeps %.1f %% of the time that the requests leave it.\n",
			patient, native->figures.x_alone, best->figures.x_alone, patient,
			best->figures.preemptions, best->figures.kept_pct);
	for (size_t i = 0; i < n; i++) {
		if (*modes[i].unsupported)
			fprintf(out, "%s is not shown: %s.\n", modes[i].name, modes[i].unsupported);
	}
	if (modes[0].on_gpu)
		return;
	fprintf(out,
		"P50 and P99 are wall time on an emulated GPU. P99 GPU is what the GPU executed, "
		"for any program,\nwhile a request had work for it, by its own clock; X ALONE "
		"compares that.\n");
}

static int print_text(struct gp__env *env, const struct demo_mode *modes, size_t n, bool llm)
{
	struct gp__table *t = gp__table_new(env);
	int err;

	add_columns(t, llm);
	for (size_t i = 0; i < n; i++)
		add_row(t, &modes[i], llm);
	err = gp__table_print(t);
	print_sentences(env->out, modes, n, llm);
	return err ? GP__EXIT_FAILURE : GP__EXIT_OK;
}

/*
 * JSON
 */

static void set_llm_json(json_t *online, const struct demo_figures *f)
{
	gp__json_set_real(online, "first_token_p50_ms", true, f->first_p50_ms);
	gp__json_set_real(online, "first_token_p99_ms", f->has_p99, f->first_p99_ms);
	gp__json_set_real(online, "first_token_p99_device_cycles", f->has_p99,
			  f->first_p99_device_ns);
	gp__json_set_real(online, "tokens_per_s", true, f->tokens_per_s);
	gp__json_set_real(online, "token_device_cycles", true, f->token_device_ns);
}

static json_t *mode_json(const struct demo_mode *m)
{
	json_t *o = json_pack("{s:s}", "name", m->name), *online, *offline;
	const struct demo_figures *f = &m->figures;
	bool any = m->requests.n;

	if (*m->unsupported) {
		json_object_set_new(o, "unsupported", gp__json_text(m->unsupported));
		return o;
	}
	online = json_object();
	offline = json_object();
	gp__json_set_u64(online, "requests", true, m->requests.n);
	gp__json_set_real(online, "p50_ms", any, f->p50_ms);
	gp__json_set_real(online, "p99_ms", f->has_p99, f->p99_ms);
	gp__json_set_real(online, "x_alone", f->x_alone > 0, f->x_alone);
	gp__json_set_u64(online, "p99_device_cycles", f->has_p99, (uint64_t)f->p99_device_ns);
	if (any && m->requests.at[0].tokens)
		set_llm_json(online, f);
	gp__json_set_real(offline, "steps_per_s", f->steps_per_s > 0, f->steps_per_s);
	gp__json_set_real(offline, "kept_pct", f->kept_pct > 0, f->kept_pct);
	json_object_set_new(offline, "identical", json_boolean(f->identical));
	json_object_set_new(o, "online", online);
	json_object_set_new(o, "offline", offline);
	gp__json_set_u64(o, "preemptions", true, f->preemptions);
	return o;
}

json_t *demo_json(const struct demo_mode *modes, size_t n)
{
	json_t *root = gp__json_envelope(), *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, mode_json(&modes[i]));
	json_object_set_new(root, "modes", list);
	return root;
}

/*
 * The command
 */

static void tell_mode(struct gp__env *env, const struct demo_mode *m, uint64_t began)
{
	double seconds = gp__to_s(gp__clock_ns() - began);

	if (*m->unsupported)
		fprintf(env->err, "%s: not here: %s\n", m->name, m->unsupported);
	else
		fprintf(env->err, "%s: %s: %zu requests and %zu steps in %.0f s\n", m->name,
			m->title, m->requests.n, m->steps.n, seconds);
}

static int run_modes(struct demo_stage *s, struct demo_mode *modes, size_t n)
{
	struct demo_mode host = { 0 };
	uint64_t most = 1;
	int status = 0;

	for (size_t i = 0; i < n && !status; i++) {
		uint64_t began = gp__clock_ns();

		status = demo_stage_run(s, &modes[i]);
		if (!status)
			tell_mode(s->env, &modes[i], began);
		if (modes[i].steps.n > most)
			most = modes[i].steps.n;
	}
	if (!status)
		status = demo_stage_expect(s, most, &host);
	for (size_t i = 0; i < n && !status; i++) {
		if (!*modes[i].unsupported)
			demo_figures_make(&modes[i], &modes[0], &host);
	}
	demo_mode_free(&host);
	return status;
}

static int report_failed(struct gp__env *env, const char *path, int err)
{
	fprintf(env->err, "gpreempt: cannot write the report %s: %s; --report names another file\n",
		path, strerror(-err));
	return GP__EXIT_FAILURE;
}

/* Before minutes of work: whether the report can be written as far as can be told. */
static int check_report(struct gp__env *env, const struct args *a)
{
	char folder[PATH_MAX];
	struct stat st;
	int err = 0;

	if (!a->report)
		return 0;
	snprintf(folder, sizeof(folder), "%s", a->report);
	if (!stat(a->report, &st) && S_ISDIR(st.st_mode))
		err = -EISDIR;
	else if (access(a->report, W_OK) && (errno != ENOENT || access(dirname(folder), W_OK)))
		err = -errno;
	return err ? report_failed(env, a->report, err) : 0;
}

/* The table was printed already: failing to write the report is not fatal. */
static int write_report(struct gp__env *env, const struct args *a, const struct demo_mode *modes,
			size_t n)
{
	int err = demo_report_write(a->report, modes, n, a->llm);

	if (err)
		return report_failed(env, a->report, err);
	fprintf(env->json ? env->err : env->out, "%sThe report is %s: open it in a browser.\n",
		env->json ? "" : "\n", a->report);
	return 0;
}

static bool all_identical(const struct demo_mode *modes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!*modes[i].unsupported && !modes[i].figures.identical)
			return false;
	}
	return true;
}

/* The demo's claim: level 3 is better than no scheduler. */
static int check(struct gp__env *env, const struct demo_mode *modes, size_t n)
{
	double native, lv3;

	/* The figures are worthless then, so the exit status must say so. */
	if (!all_identical(modes, n)) {
		fprintf(env->err,
			"gpreempt: results differ from the CPU's: see RESULTS; report this "
			"as a defect\n");
		return GP__EXIT_FAILURE;
	}
	if (demo_is_better(modes, n, &native, &lv3))
		return GP__EXIT_OK;
	fprintf(env->err,
		"gpreempt: level 3 is not better than no scheduler: of a hundred requests the "
		"slowest "
		"takes %.2f times as long as alone, without gpreempt %.2f times; run the demo "
		"again "
		"on a machine that does nothing else\n",
		lv3, native);
	return GP__EXIT_FAILURE;
}

static int show(struct gp__env *env, const struct args *a, const struct demo_mode *modes, size_t n)
{
	int status;

	if (env->json)
		status = gp__json_print(env, demo_json(modes, n)) ? GP__EXIT_FAILURE : GP__EXIT_OK;
	else
		status = print_text(env, modes, n, a->llm);
	if (a->report && write_report(env, a, modes, n))
		status = GP__EXIT_FAILURE;
	return check(env, modes, n) ? GP__EXIT_FAILURE : status;
}

static const struct demo_mode own_modes[] = {
	{ .name = "alone", .title = "each program alone", .apart = true },
	{ .name = "native", .title = "both together, without gpreempt" },
	{ .name = "lv1", .title = "both under gpreempt, at level 1", .level = 1 },
	{ .name = "lv2",
	  .title = "both under gpreempt, at level 2 by draining",
	  .level = 2,
	  .needs_drain = true },
	{ .name = "lv3", .title = "both under gpreempt, at level 3", .level = 3 },
};
static const struct demo_mode llm_modes[] = {
	{ .name = "alone", .title = "each llama.cpp alone", .apart = true },
	{ .name = "native", .title = "both together, without gpreempt" },
	{ .name = "lv3", .title = "both under gpreempt, at level 3", .level = 3 },
};
#define MODES_MAX (sizeof(own_modes) / sizeof(own_modes[0]))

/* Work that is long on an emulated GPU is short on a real one; 0: the work stays as it is. */
static uint64_t step_ns(const struct args *a)
{
	if (a->step_ns)
		return a->step_ns;
	return a->on_gpu && !gp__is_emulated() ? STEP_NS : 0;
}

static int run(struct gp__env *env, const struct args *a, const struct demo_llm *llm)
{
	struct demo_mode modes[MODES_MAX];
	size_t n = llm ? sizeof(llm_modes) / sizeof(llm_modes[0]) : MODES_MAX;
	struct demo_stage stage;
	int status;

	memcpy(modes, llm ? llm_modes : own_modes, n * sizeof(modes[0]));
	process_signals_catch();
	status = demo_stage_open(&stage, env, llm, a->requests, a->on_gpu, step_ns(a));
	if (!status)
		status = run_modes(&stage, modes, n);
	demo_stage_close(&stage);
	if (!status)
		status = show(env, a, modes, n);
	for (size_t i = 0; i < n; i++)
		demo_mode_free(&modes[i]);
	return status;
}

int cmd_demo(struct gp__env *env, int argc, char **argv)
{
	struct args a = { .report = REPORT };
	struct demo_llm llm;
	int status;

	if (!gp__cmd_parse(env, &argp, argc, argv, &a, &status))
		return status;
	if (!a.requests)
		a.requests = a.llm ? DEMO_P99_REQUESTS : REQUESTS;
	status = check_report(env, &a);
	if (!status && a.llm)
		status = demo_llm_open(&llm, env, a.llm_folder, a.download);
	if (!status)
		status = run(env, &a, a.llm ? &llm : NULL);
	if (process_signal()) {
		/* End by the same signal, after the cleanup. */
		signal(process_signal(), SIG_DFL);
		raise(process_signal());
	}
	return status;
}
