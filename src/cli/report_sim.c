// SPDX-License-Identifier: MIT
/*
 * Simulates what another policy would have done on the same day.
 *
 * A log has no arrivals of requests and no lengths of kernels, only work that was there from a time
 * to a time, and when it was held. Of each piece of work its GPU time is known, until holds took
 * effect. How long an order takes is what the one that is nearest in time took.
 *
 * Idle times follow from the policy that was in force, so they are not simply kept. If the times
 * between the beginnings of pieces vary much less than those between the end of one and the
 * beginning of the next, all come from outside, as on a clock, and keep their times; if it is the
 * other way round, each follows from the one before, and keeps its distance. Otherwise a piece that
 * began sooner after the one before than the program's pieces usually take is taken to follow, and
 * another one to come from outside.
 *
 * Whether that describes the day is not assumed but tried: simulated under its own policy, each
 * class must have the p50 and p99 that were measured. If it has not, nothing is compared.
 *
 * Wrong tool for: gangs, groups whose queues depend on each other, holds by an operator.
 */
#include "cli/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "policy/policy.h"
#include "sim/engine.h"

#define OFF_PCT_MAX 10.0
#define SEED 1
#define STREAMS_MAX 64

/* The work of one group, and the scenario that all of it makes. */
struct model {
	struct gp__scenario scenario;
	struct gp__recorded_job **jobs; /* of each program */
	u64 cfg[GP__CFG_COUNT];
};

static void model_free(struct model *m)
{
	for (size_t i = 0; m->jobs && i < m->scenario.n_programs; i++)
		free(m->jobs[i]);
	for (size_t i = 0; m->scenario.gpu_specs && i < m->scenario.n_gpus; i++) {
		free((void *)m->scenario.gpu_specs[i].stops);
		free((void *)m->scenario.gpu_specs[i].starts);
	}
	for (size_t i = 0; m->scenario.program_specs && i < m->scenario.n_programs; i++)
		free(m->scenario.program_specs[i].gpus);
	free(m->jobs);
	free(m->scenario.gpu_specs);
	free(m->scenario.gpus);
	free(m->scenario.program_specs);
	free(m->scenario.programs);
}

static u64 median_of(const struct gp__hist *h)
{
	u64 value;

	return gp__hist_quantile(h, 0.5, &value) ? 0 : value;
}

static int compare_times(const void *a, const void *b)
{
	const struct gp__recorded_time *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* The orders of a GPU by the times at which they were given. NULL: out of memory. */
static struct gp__recorded_time *copy_times(const struct gp__history_order *orders, size_t n,
					    u64 begin)
{
	struct gp__recorded_time *times = calloc(n + 1, sizeof(*times));

	for (size_t i = 0; times && i < n; i++) {
		u64 at = gp__max_u64(orders[i].at, begin);

		times[i] = (struct gp__recorded_time){ at - begin, orders[i].took };
	}
	if (times)
		qsort(times, n, sizeof(*times), compare_times);
	return times;
}

static int make_gpu(struct gp__gpu_spec *spec, const struct gp__history_gpu *gpu, u64 begin)
{
	snprintf(spec->name, sizeof(spec->name), "gpu%u", gpu->id);
	spec->count = 1;
	spec->vram_bytes = gpu->memory;
	spec->levels = 1u << 1 | 1u << 3;
	spec->stops = copy_times(gpu->stops.at, gpu->stops.n, begin);
	spec->starts = copy_times(gpu->starts.at, gpu->starts.n, begin);
	spec->n_stops = gpu->stops.n;
	spec->n_starts = gpu->starts.n;
	spec->settles = (struct gp__dist){ .a_ns = median_of(&gpu->settles) };
	spec->says_it_sees_ns = median_of(&gpu->sees);
	spec->weighs = gpu->can_weigh == GP__WEIGHS_YIELDING;
	return spec->stops && spec->starts ? 0 : -ENOMEM;
}

static u64 mean_ran(const struct gp__history_group *g)
{
	u64 sum = 0;

	for (size_t i = 0; i < g->pieces.n; i++)
		sum += g->pieces.at[i].ran;
	return g->pieces.n ? sum / g->pieces.n : 0;
}

enum origin { ORIGIN_MIXED, ORIGIN_OUTSIDE, ORIGIN_FOLLOWS };

/* Fewer pieces say nothing about what is regular. */
#define REGULAR_PIECES 10
/* How much less one time must vary than the other one. */
#define REGULAR_TIMES 4

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* How far apart 98 of 100 values are. Sorts them. */
static u64 spread(u64 *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare_u64);
	return values[(n * 99 + 99) / 100 - 1] - values[n / 100];
}

static int find_origin(const struct gp__history_group *g, enum origin *origin)
{
	u64 *between = calloc(2 * g->pieces.n + 1, sizeof(*between));
	u64 intervals_vary, gaps_vary, *gaps;

	*origin = ORIGIN_MIXED;
	if (!between)
		return -ENOMEM;
	gaps = between + g->pieces.n;
	for (size_t i = 1; i < g->pieces.n; i++) {
		const struct gp__history_piece *p = &g->pieces.at[i];

		between[i - 1] = p->from - p[-1].from;
		gaps[i - 1] = p->from - gp__min_u64(p[-1].to, p->from);
	}
	if (g->pieces.n > REGULAR_PIECES) {
		intervals_vary = spread(between, g->pieces.n - 1);
		gaps_vary = spread(gaps, g->pieces.n - 1);
		if (intervals_vary < gaps_vary / REGULAR_TIMES)
			*origin = ORIGIN_OUTSIDE;
		else if (gaps_vary < intervals_vary / REGULAR_TIMES)
			*origin = ORIGIN_FOLLOWS;
	}
	free(between);
	return 0;
}

static bool follows(enum origin origin, u64 gap, u64 usual)
{
	return origin == ORIGIN_FOLLOWS || (origin == ORIGIN_MIXED && gap < usual);
}

/* How many queues it had at work at a time, on average. */
static u32 streams_of(const struct gp__history_group *g)
{
	u64 n = g->executed ? (g->queue_time + g->executed / 2) / g->executed : 1;

	return n < 1 ? 1 : n > STREAMS_MAX ? STREAMS_MAX : (u32)n;
}

/* The pieces of a group, and the one that had not ended. Returns their number. */
static size_t make_jobs(const struct gp__history *h, const struct gp__history_group *g,
			struct gp__recorded_job *jobs, enum origin origin, bool *repeats)
{
	u64 usual = mean_ran(g), ended = 0, streams = streams_of(g);
	size_t n = 0;

	*repeats = g->pieces.n > 1;
	for (size_t i = 0; i < g->pieces.n; i++) {
		const struct gp__history_piece *p = &g->pieces.at[i];
		bool after = i && p->from >= ended && follows(origin, p->from - ended, usual);

		jobs[n++] = (struct gp__recorded_job){
			.at = after ? p->from - ended : p->from - h->begin,
			.work_ns = gp__max_u64(p->ran / streams, 1),
			.follows = after,
		};
		*repeats &= !i || after;
		ended = gp__max_u64(ended, p->to);
	}
	if (g->has_work) {
		/* How much more there was is not known: it ends after the log. */
		bool after = n && g->piece.from >= ended &&
			     follows(origin, g->piece.from - ended, usual);
		u64 from = gp__max_u64(g->piece.from, h->begin);

		jobs[n++] = (struct gp__recorded_job){
			.at = after ? from - ended : from - h->begin,
			.work_ns = *repeats ? gp__max_u64(usual, g->piece.ran) / streams
					    : 2 * (h->end - h->begin),
			.follows = after,
		};
		*repeats &= after;
	}
	return n;
}

static int make_program(struct model *m, const struct gp__history *h,
			const struct gp__history_group *g, size_t i)
{
	struct gp__program_spec *spec = &m->scenario.program_specs[i];
	struct gp__scenario_program *p = &m->scenario.programs[i];
	enum origin origin;
	u32 gpu = 0;

	while (h->gpus.at[gpu]->id != g->gpu)
		gpu++;
	m->jobs[i] = calloc(g->pieces.n + 1, sizeof(**m->jobs));
	spec->gpus = calloc(1, sizeof(*spec->gpus));
	if (!m->jobs[i] || !spec->gpus || find_origin(g, &origin))
		return -ENOMEM;
	snprintf(spec->name, sizeof(spec->name), "e%zu", i + 1);
	*spec->gpus = gpu;
	spec->n_gpus = spec->count = spec->kernels = spec->concurrent = 1;
	spec->streams = streams_of(g);
	spec->priority = g->prio;
	spec->level = 3;
	spec->weight = g->hints.weight ? g->hints.weight : 100;
	spec->share_pct = g->hints.share_pct;
	spec->min_share_pct = g->hints.min_share_pct;
	spec->max_hold_ns = g->hints.max_hold_ns;
	spec->deadline_ns = g->hints.deadline_ns;
	spec->memory_bytes = g->hints.memory;
	spec->stop_ns = h->end - h->begin;
	if (g->nr_announced > g->pieces.n / 2)
		spec->hint_ns = g->lead_sum / g->nr_announced;
	spec->arrivals.kind = GP__ARRIVALS_RECORDED;
	spec->arrivals.recorded = m->jobs[i];
	spec->arrivals.n_recorded = make_jobs(h, g, m->jobs[i], origin, &spec->arrivals.repeats);
	snprintf(p->name, sizeof(p->name), "%s", spec->name);
	*p = (struct gp__scenario_program){
		.spec = spec, .process = (u32)i, .user = g->user, .gpus = spec->gpus, .n_gpus = 1
	};
	snprintf(p->name, sizeof(p->name), "%s", spec->name);
	return 0;
}

static int model_make(struct model *m, const struct report *r)
{
	const struct gp__history *h = &r->history;
	struct gp__scenario *sc = &m->scenario;
	int err = 0;

	*m = (struct model){ .scenario = { .duration_ns = r->length, .seed = SEED } };
	sc->gpu_specs = calloc(h->gpus.n + 1, sizeof(*sc->gpu_specs));
	sc->gpus = calloc(h->gpus.n + 1, sizeof(*sc->gpus));
	sc->program_specs = calloc(r->nr_groups + 1, sizeof(*sc->program_specs));
	sc->programs = calloc(r->nr_groups + 1, sizeof(*sc->programs));
	m->jobs = calloc(r->nr_groups + 1, sizeof(struct gp__recorded_job *));
	if (!sc->gpu_specs || !sc->gpus || !sc->program_specs || !sc->programs || !m->jobs)
		return -ENOMEM;
	sc->n_gpu_specs = sc->n_gpus = h->gpus.n;
	for (size_t i = 0; i < h->gpus.n && !err; i++) {
		err = make_gpu(&sc->gpu_specs[i], h->gpus.at[i], h->begin);
		sc->gpus[i].spec = &sc->gpu_specs[i];
		snprintf(sc->gpus[i].name, sizeof(sc->gpus[i].name), "%s", sc->gpu_specs[i].name);
	}
	sc->n_program_specs = sc->n_programs = sc->n_processes = (u32)r->nr_groups;
	for (size_t i = 0; i < r->nr_groups && !err; i++)
		err = make_program(m, h, r->groups[i], i);
	for (u32 i = 0; i < GP__CFG_COUNT; i++)
		m->cfg[i] = h->has_cfg[i] ? h->cfg[i] : gp__core_params[i].def;
	return err;
}

/*
 * Running it
 */

static void take_record(void *data, const struct gp__record *r)
{
	gp__history_add(data, r);
}

static double quantile(const struct gp__hist *h, double q, u64 least)
{
	u64 value;

	return h->count < least || gp__hist_quantile(h, q, &value) ? -1 : (double)value;
}

/* Latencies are those of the jobs, as pieces that overlap are one to the history. */
static bool take_latencies(const struct gp__sim_result *result, struct report_run *run)
{
	struct gp__hist *all = calloc(GP__CLASS_COUNT, sizeof(*all));

	if (!all)
		return false;
	for (size_t i = 0; i < result->n_programs; i++)
		gp__hist_merge(&all[gp__class_of(result->programs[i].spec->priority)],
			       &result->programs[i].latency);
	for (int i = 0; i < GP__CLASS_COUNT; i++) {
		run->classes[i].pieces = all[i].count;
		run->classes[i].p50 = quantile(&all[i], 0.5, REPORT_P50_PIECES);
		run->classes[i].p99 = quantile(&all[i], 0.99, REPORT_P99_PIECES);
	}
	free(all);
	return true;
}

void report_run_measured(const struct report *r, const char *name, struct report_run *run)
{
	u64 gpus = r->length * r->history.gpus.n;

	*run = (struct report_run){ .busy_pct = report_pct(r->busy, gpus),
				    .wasted_pct = report_pct(r->wasted, gpus),
				    .holds = r->holds };
	snprintf(run->name, sizeof(run->name), "%s", name);
	for (int i = 0; i < GP__CLASS_COUNT; i++)
		run->classes[i].p50 = run->classes[i].p99 = -1;
	for (size_t i = 0; i < r->nr_classes; i++) {
		const struct report_class *c = &r->classes[i];

		run->classes[c->class].pieces = c->n;
		run->classes[c->class].p50 = report_p50(c);
		run->classes[c->class].p99 = report_p99(c);
		run->classes[c->class].waited = (double)c->waited;
		run->classes[c->class].used = (double)c->used;
		run->longest_wait = (double)gp__max_u64((u64)run->longest_wait, c->longest_wait);
	}
}

static int simulate(const struct model *m, const struct gp__policy *policy, const u64 *params,
		    const char *name, struct report_run *run)
{
	const struct gp__program_spec *overloaded;
	struct gp__sim_result *result = NULL;
	struct report again = { 0 };
	struct gp__sim_options opt = { .policy = policy,
				       .params = params,
				       .cfg = m->cfg,
				       .seed = SEED,
				       .only = -1,
				       .log = take_record,
				       .log_ctx = &again.history };
	int err;

	gp__history_init(&again.history, 0);
	err = gp__sim_run(&m->scenario, &opt, &result, &overloaded);
	if (!err) {
		gp__history_finish(&again.history, m->scenario.duration_ns);
		if (again.history.no_memory || !report_compute(&again))
			err = -ENOMEM;
	}
	if (!err) {
		report_run_measured(&again, name, run);
		if (!take_latencies(result, run))
			err = -ENOMEM;
	}
	gp__sim_result_free(result);
	report_free(&again);
	return err;
}

/*
 * Whether the model is one of that day
 */

static double off_pct(double simulated, double measured)
{
	return measured > 0 ? 100 * (simulated / measured - 1) : 0;
}

static bool is_off(double simulated, double measured)
{
	return measured >= 0 && (simulated < 0 || fabs(off_pct(simulated, measured)) > OFF_PCT_MAX);
}

static void refuse(struct report_comparison *c, enum gp__class class, const char *which,
		   double simulated, double measured)
{
	const char *name = gp__class_name(class);

	if (simulated < 0)
		snprintf(c->refused, sizeof(c->refused),
			 "simulated under its own policy, %s programs do fewer than %d pieces of "
			 "work, so the model does not describe this log",
			 name, REPORT_P50_PIECES);
	else
		snprintf(
			c->refused, sizeof(c->refused),
			"simulated under its own policy, the %s of %s work is %.3g ms, and %.3g ms "
			"was measured: %.0f %% off, where at most %.0f %% are allowed, so the "
			"model does not describe this log",
			which, name, simulated / GP__MS, measured / GP__MS,
			fabs(off_pct(simulated, measured)), OFF_PCT_MAX);
}

static void check(struct report_comparison *c)
{
	const struct report_run *was = &c->runs[0], *is = &c->runs[1];
	int checked = 0;

	for (int i = 0; i < GP__CLASS_COUNT && !*c->refused; i++) {
		checked += was->classes[i].p50 >= 0;
		if (is_off(is->classes[i].p50, was->classes[i].p50))
			refuse(c, (enum gp__class)i, "p50", is->classes[i].p50,
			       was->classes[i].p50);
		else if (is_off(is->classes[i].p99, was->classes[i].p99))
			refuse(c, (enum gp__class)i, "p99", is->classes[i].p99,
			       was->classes[i].p99);
	}
	if (!checked && !*c->refused)
		snprintf(c->refused, sizeof(c->refused),
			 "no class has %d pieces of work, so a simulation of this log cannot be "
			 "checked against it",
			 REPORT_P50_PIECES);
}

static const char *obstacle(const struct report *r)
{
	const struct gp__history *h = &r->history;

	if (!h->policy)
		return "the log does not say which policy was in force: it continues another log";
	if (h->policies > h->runs)
		return "the policy was changed while the log was written";
	if (h->missing)
		return "lines of the log are missing";
	for (size_t i = 0; i < r->nr_groups; i++) {
		if (r->groups[i]->in_gang)
			return "programs of a gang ran, and the times at which its members wait "
			       "for one another are not in the log";
	}
	return NULL;
}

int report_simulate(const struct report *r, const struct gp__policy *const *policies,
		    struct report_comparison *c)
{
	const struct gp__history *h = &r->history;
	const char *why = obstacle(r);
	char name[64];
	struct model m;
	int err;

	c->is_simulated = true;
	report_run_measured(r, "measured", &c->runs[0]);
	c->nr_runs = 1;
	if (why) {
		snprintf(c->refused, sizeof(c->refused), "%s", why);
		return 0;
	}
	err = model_make(&m, r);
	snprintf(name, sizeof(name), "%s, simulated", h->policy->name);
	if (!err)
		err = simulate(&m, h->policy, h->params, name, &c->runs[c->nr_runs++]);
	if (!err)
		check(c);
	for (; !err && !*c->refused && *policies; policies++) {
		bool same = *policies == h->policy;

		if (same || c->nr_runs == REPORT_RUNS_MAX)
			continue;
		snprintf(name, sizeof(name), "%s, simulated", (*policies)->name);
		err = simulate(&m, *policies, NULL, name, &c->runs[c->nr_runs++]);
	}
	model_free(&m);
	if (err == -EOVERFLOW) {
		snprintf(c->refused, sizeof(c->refused),
			 "simulated, work arrives faster than it is done");
		err = 0;
	}
	return err;
}
