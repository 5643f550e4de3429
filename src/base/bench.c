// SPDX-License-Identifier: MIT
#include "base/bench.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/table.h"
#include "base/units.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define COLD_BYTES (64u << 20)

struct gp__bench_run {
	struct gp__env *env;
	const struct gp__bench *bench;
	struct gp__bench_options options;
	char device[128];
	uint64_t ends_ns;
	json_t *rows;
	double *samples; /* three times repeats: a, b and their ratios */
	char *cold; /* COLD_BYTES, allocated when first needed */
	char reason[256];
	json_t *summary;
	char sentences[2048]; /* a line each */
	struct gp__progress progress;
	uint64_t steps;
	bool cut_short;
};

bool gp__bench_quick(const struct gp__bench_run *run)
{
	return run->options.quick;
}

unsigned int gp__bench_repeats(const struct gp__bench_run *run)
{
	return run->options.repeats;
}

uint64_t gp__bench_left_ns(const struct gp__bench_run *run)
{
	uint64_t now = gp__clock_ns();

	return now < run->ends_ns ? run->ends_ns - now : 0;
}

void gp__bench_cut_short(struct gp__bench_run *run)
{
	run->cut_short = true;
}

void gp__bench_row(struct gp__bench_run *run, json_t *row)
{
	json_array_append_new(run->rows, row);
}

void gp__bench_device(struct gp__bench_run *run, const char *device)
{
	snprintf(run->device, sizeof(run->device), "%s", device);
}

/* Whether it is a word of the list, or the first one. */
static bool is_word(const char *list, const char *device, bool first)
{
	size_t len = strlen(device);

	while (list && *list) {
		if (!strncmp(list, device, len) && (!list[len] || list[len] == ' '))
			return len;
		list = first ? NULL : strchr(list, ' ');
		list += list ? 1 : 0;
	}
	return false;
}

bool gp__bench_has_device(const struct gp__bench *bench, const char *device)
{
	return is_word(bench->devices, device, false);
}

bool gp__bench_chose(const struct gp__bench_run *run, const char *device)
{
	if (run->options.device)
		return !strcmp(run->options.device, device);
	return is_word(run->bench->devices, device, true);
}

void gp__bench_summary(struct gp__bench_run *run, const char *key, json_t *value, const char *fmt,
		       ...)
{
	size_t used = strlen(run->sentences);
	va_list ap;

	json_object_set_new(run->summary, key, value);
	if (used && used + 1 < sizeof(run->sentences))
		run->sentences[used++] = '\n';
	va_start(ap, fmt);
	vsnprintf(run->sentences + used, sizeof(run->sentences) - used, fmt, ap);
	va_end(ap);
}

int gp__bench_fail(struct gp__bench_run *run, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(run->reason, sizeof(run->reason), fmt, ap);
	va_end(ap);
	return err;
}

static int time_turns(struct gp__bench_run *run, gp__bench_fn *fn, void *arg, uint64_t times,
		      uint64_t *ns)
{
	uint64_t start = gp__clock_ns();
	int err = fn(arg, times);

	*ns = gp__clock_ns() - start;
	gp__progress_update(&run->progress, ++run->steps);
	return err;
}

/* Doubles the turns until they take long enough to time. */
static int calibrate(struct gp__bench_run *run, gp__bench_fn *fn, void *arg, uint64_t *times)
{
	const uint64_t enough = run->options.quick ? GP__MS : 10 * GP__MS;
	uint64_t ns;
	int err;

	for (*times = 1;; *times *= 2) {
		err = time_turns(run, fn, arg, *times, &ns);
		if (err || ns >= enough || *times >= 1ull << 40)
			return err;
	}
}

/* At least one sample is taken, however little time is left. */
static bool wants_more(struct gp__bench_run *run, unsigned int taken)
{
	if (taken >= run->options.repeats)
		return false;
	if (!taken || gp__bench_left_ns(run))
		return true;
	run->cut_short = true;
	return false;
}

int gp__bench_hot(struct gp__bench_run *run, gp__bench_fn *fn, void *arg, struct gp__stats *ns)
{
	unsigned int n = 0;
	uint64_t times, took;
	int err;

	err = calibrate(run, fn, arg, &times);
	while (!err && wants_more(run, n)) {
		err = time_turns(run, fn, arg, times, &took);
		run->samples[n++] = (double)took / (double)times;
	}
	return err ? err : gp__stats_of(run->samples, n, ns);
}

static int fill_caches(struct gp__bench_run *run)
{
	if (!run->cold)
		run->cold = malloc(COLD_BYTES);
	if (!run->cold)
		return -ENOMEM;
	memset(run->cold, (int)run->steps, COLD_BYTES);
	/* Keeps the compiler from removing the loop, whose result is not used. */
	__asm__ volatile("" : : "r"(run->cold) : "memory");
	return 0;
}

int gp__bench_cold(struct gp__bench_run *run, gp__bench_fn *fn, void (*before)(void *arg),
		   void *arg, struct gp__stats *ns)
{
	uint64_t took;
	int err = 0;
	unsigned int n = 0;

	while (wants_more(run, n)) {
		if (before)
			before(arg);
		else
			err = fill_caches(run);
		if (!err)
			err = time_turns(run, fn, arg, 1, &took);
		if (err)
			return err;
		run->samples[n++] = (double)took;
	}
	return gp__stats_of(run->samples, n, ns);
}

struct contender {
	gp__bench_fn *fn;
	void *arg;
	uint64_t times;
	double *samples;
};

static int time_contender(struct gp__bench_run *run, struct contender *c, unsigned int n)
{
	uint64_t took;
	int err = time_turns(run, c->fn, c->arg, c->times, &took);

	c->samples[n] = (double)took / (double)c->times;
	return err;
}

static int time_pair(struct gp__bench_run *run, struct contender *first, struct contender *second,
		     unsigned int n)
{
	int err = time_contender(run, first, n);

	return err ? err : time_contender(run, second, n);
}

int gp__bench_compare(struct gp__bench_run *run, gp__bench_fn *a, void *a_arg, gp__bench_fn *b,
		      void *b_arg, struct gp__bench_pair *pair)
{
	const unsigned int repeats = run->options.repeats;
	struct contender ca = { a, a_arg, 0, run->samples };
	struct contender cb = { b, b_arg, 0, run->samples + repeats };
	double *ratios = run->samples + 2 * (size_t)repeats;
	unsigned int n;
	int err;

	err = calibrate(run, a, a_arg, &ca.times);
	if (!err)
		err = calibrate(run, b, b_arg, &cb.times);
	for (n = 0; !err && wants_more(run, n); n++) {
		err = n % 2 ? time_pair(run, &cb, &ca, n) : time_pair(run, &ca, &cb, n);
		ratios[n] = ca.samples[n] / cb.samples[n];
	}
	if (err)
		return err;
	gp__stats_of(ca.samples, n, &pair->a_ns);
	gp__stats_of(cb.samples, n, &pair->b_ns);
	return gp__stats_of(ratios, n, &pair->ratio);
}

void gp__bench_set(json_t *row, const char *name, const char *unit, const struct gp__stats *stats)
{
	const char *sep = *unit ? "_" : "";
	char key[64];

	snprintf(key, sizeof(key), "%s%s%s", name, sep, unit);
	gp__json_set_real(row, key, stats->n > 0, stats->median);
	snprintf(key, sizeof(key), "%s_lo%s%s", name, sep, unit);
	gp__json_set_real(row, key, stats->n > 0 && stats->has_ci, stats->ci_lo);
	snprintf(key, sizeof(key), "%s_hi%s%s", name, sep, unit);
	gp__json_set_real(row, key, stats->n > 0 && stats->has_ci, stats->ci_hi);
}

static void add_cell(struct gp__table *t, const json_t *value)
{
	if (json_is_string(value))
		gp__table_cell(t, json_string_value(value));
	else if (json_is_integer(value))
		gp__table_cellf(t, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		gp__table_cellf(t, json_real_value(value) < 1000 ? "%.3g" : "%.0f",
				json_real_value(value));
	else if (json_is_boolean(value))
		gp__table_cell(t, json_is_true(value) ? "yes" : "no");
	else
		gp__table_cell(t, NULL);
}

static int print_table(struct gp__bench_run *run)
{
	struct gp__table *t = gp__table_new(run->env);
	json_t *first = json_array_get(run->rows, 0);
	json_t *row, *value;
	const char *key;
	size_t i;

	json_object_foreach (first, key, value)
		gp__table_column(t, key, json_is_string(value) ? GP__LEFT : GP__RIGHT);
	json_array_foreach (run->rows, i, row) {
		gp__table_row(t);
		json_object_foreach (first, key, value)
			add_cell(t, json_object_get(row, key));
	}
	return gp__table_print(t);
}

static int print_text(struct gp__bench_run *run)
{
	int err;

	fprintf(run->env->out, "%s: %s\n", run->bench->name, run->bench->description);
	fprintf(run->env->out, "device: %s, median of %u repeats%s%s\n\n", run->device,
		run->options.repeats,
		run->options.quick ? " (quick: a check, not a measurement)" : "",
		run->cut_short ? " (fewer where the time ran out)" : "");
	err = print_table(run);
	if (*run->sentences)
		fprintf(run->env->out, "\n%s\n", run->sentences);
	return err;
}

static int print_json(struct gp__bench_run *run)
{
	json_t *root = gp__json_envelope();

	json_object_set_new(root, "bench", json_string(run->bench->name));
	json_object_set_new(root, "device", json_string(run->device));
	json_object_set_new(root, "repeats", json_integer(run->options.repeats));
	json_object_set_new(root, "quick", json_boolean(run->options.quick));
	json_object_set_new(root, "complete", json_boolean(!run->cut_short));
	json_object_update(root, run->summary);
	json_object_set(root, "results", run->rows);
	return gp__json_print(run->env, root);
}

/* The mask that was in force comes back after the run: other benchmarks may follow. */
static int pin(int cpu, cpu_set_t *before)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(*before), before))
		return -errno;
	if (cpu < 0)
		return 0;
	if (cpu >= CPU_SETSIZE)
		return -EINVAL;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

static int tell_failure(struct gp__bench_run *run, int err)
{
	if (*run->reason)
		gp__env_fail(run->env, GP__EXIT_FAILURE, NULL, "benchmark %s: %s: %s",
			     run->bench->name, run->reason, strerror(-err));
	else
		gp__env_fail(run->env, GP__EXIT_FAILURE, NULL, "benchmark %s: %s", run->bench->name,
			     strerror(-err));
	return err;
}

static int run_and_print(struct gp__bench_run *run)
{
	int err;

	gp__progress_start(&run->progress, run->env->err, run->bench->name, "repeats", 0);
	err = run->bench->run(run);
	gp__progress_end(&run->progress);
	if (!err && !json_array_size(run->rows))
		err = gp__bench_fail(run, -ENODATA, "nothing was measured");
	if (err)
		return tell_failure(run, err);
	return run->env->json ? print_json(run) : print_text(run);
}

int gp__bench_main(struct gp__env *env, const struct gp__bench *bench,
		   const struct gp__bench_options *options)
{
	struct gp__bench_run run = {
		.env = env,
		.bench = bench,
		.options = *options,
		.device = "host",
	};
	cpu_set_t before;
	int err;

	if (!run.options.budget_s)
		run.options.budget_s = GP__BENCH_BUDGET_S;
	run.ends_ns = gp__clock_ns() + run.options.budget_s * GP__S;
	if (!run.options.repeats)
		run.options.repeats = options->quick ? GP__BENCH_QUICK_REPEATS : GP__BENCH_REPEATS;
	err = pin(options->cpu, &before);
	if (err) {
		gp__env_fail(env, GP__EXIT_FAILURE, "Choose one that 'taskset -p $$' allows.",
			     "cannot run on CPU %d: %s", options->cpu, strerror(-err));
		return err;
	}
	run.rows = json_array();
	run.summary = json_object();
	run.samples = calloc(3 * (size_t)run.options.repeats, sizeof(*run.samples));
	err = run.rows && run.summary && run.samples ? run_and_print(&run)
						     : tell_failure(&run, -ENOMEM);
	free(run.cold);
	free(run.samples);
	json_decref(run.rows);
	json_decref(run.summary);
	sched_setaffinity(0, sizeof(before), &before);
	return err;
}
