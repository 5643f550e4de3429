// SPDX-License-Identifier: MIT
/* What a simulation showed: a table for people, JSON for programs. Unmeasured is "-" or null, never
 * 0. */
#include "cli/sim.h"

#include "base/json.h"
#include "base/table.h"
#include "base/units.h"

#include <stdlib.h>

/* More GPUs than this are summed up in one line. */
#define GPUS_SHOWN 4

static const char *class_of(int32_t prio)
{
	switch (prio) {
	case GP__PRIO_ONLINE:
		return "online";
	case GP__PRIO_NORMAL:
		return "normal";
	case GP__PRIO_OFFLINE:
		return "offline";
	default:
		return "other";
	}
}

static bool slowdown(const struct sim_report *rep, const struct gp__sim_program_result *p,
		     double *value)
{
	const struct gp__sim_result *alone = rep->alone[p->spec - rep->scenario->program_specs];
	double with, without;

	if (!alone || gp__hist_mean(&p->latency, &with) ||
	    gp__hist_mean(&alone->programs[p->spec - rep->scenario->program_specs].latency,
			  &without) ||
	    without <= 0)
		return false;
	*value = with / without;
	return true;
}

/* Of the GPUs a program uses, how much of the time it got, in percent; the mean over its instances.
 */
static double share_got(const struct gp__sim_result *r, const struct gp__sim_program_result *p)
{
	double gpus = (double)p->instances * (p->spec->gang ? p->spec->n_gpus : 1);

	return 100.0 * (double)p->gpu_ns / ((double)r->measured_ns * gpus);
}

static double per_second(const struct gp__sim_result *r, uint64_t n)
{
	return (double)n * 1e9 / (double)r->measured_ns;
}

/*
 * For people
 */

static void cell_quantile(struct gp__table *t, const struct gp__hist *h, double q)
{
	char buf[32];
	uint64_t ns;

	if (gp__hist_quantile(h, q, &ns))
		gp__table_cell(t, NULL);
	else
		gp__table_cell(t, gp__format_duration(buf, sizeof(buf), ns));
}

static void cell_duration(struct gp__table *t, bool known, uint64_t ns)
{
	char buf[32];

	gp__table_cell(t, known ? gp__format_duration(buf, sizeof(buf), ns) : NULL);
}

static void cell_share(struct gp__table *t, const struct gp__sim_result *r,
		       const struct gp__sim_program_result *p)
{
	if (p->spec->share_pct)
		gp__table_cellf(t, "%u -> %.1f %%", p->spec->share_pct, share_got(r, p));
	else
		gp__table_cellf(t, "%.1f %%", share_got(r, p));
}

static void program_row(struct gp__table *t, const struct sim_report *rep,
			const struct sim_run *run, const struct gp__sim_program_result *p)
{
	double slow;

	gp__table_row(t);
	gp__table_cell(t, p->spec->name);
	if (rep->n_runs > 1)
		gp__table_cell(t, run->policy->name);
	gp__table_cellf(t, "%d", p->spec->priority);
	gp__table_cellf(t, "Lv%u", p->level);
	gp__table_cellf(t, "%llu", (unsigned long long)p->done);
	cell_quantile(t, &p->latency, 0.5);
	cell_quantile(t, &p->latency, 0.99);
	cell_quantile(t, &p->latency, 0.999);
	cell_quantile(t, &p->latency, 1);
	if (slowdown(rep, p, &slow))
		gp__table_cellf(t, "%.2fx", slow);
	else
		gp__table_cell(t, NULL);
	gp__table_cellf(t, "%.3g", per_second(run->result, p->done));
	cell_share(t, run->result, p);
	gp__table_cellf(t, "%llu", (unsigned long long)p->preemptions);
	cell_duration(t, p->preemptions != 0, p->longest_hold_ns);
	if (p->spec->deadline_ns)
		gp__table_cellf(t, "%llu", (unsigned long long)p->missed);
	else
		gp__table_cell(t, NULL);
}

static int print_programs(struct gp__env *env, const struct sim_report *rep)
{
	static const char *const columns[] = { "PRIO",	"LEVEL",   "JOBS",     "P50",	 "P99",
					       "P99.9", "MAX",	   "SLOWDOWN", "JOBS/S", "SHARE",
					       "STOPS", "LONGEST", "MISSED" };
	struct gp__table *t = gp__table_new(env);

	gp__table_column(t, "PROGRAM", GP__LEFT);
	if (rep->n_runs > 1)
		gp__table_column(t, "POLICY", GP__LEFT);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		gp__table_column(t, columns[i], GP__RIGHT);
	for (size_t p = 0; p < rep->scenario->n_program_specs; p++) {
		for (size_t i = 0; i < rep->n_runs; i++)
			program_row(t, rep, &rep->runs[i], &rep->runs[i].result->programs[p]);
	}
	return gp__table_print(t);
}

struct class_sum {
	const char *name;
	int32_t prio;
	uint32_t programs;
	struct gp__hist latency;
	uint64_t done, missed, unfinished, preemptions, longest_hold_ns, gpu_ns;
};

/* Sums up by class, the most urgent first; @sums has room for one a section. Returns how many. */
static size_t sum_classes(const struct gp__sim_result *r, struct class_sum *sums)
{
	static const int32_t order[] = { GP__PRIO_ONLINE, GP__PRIO_NORMAL, GP__PRIO_OFFLINE, -1 };
	size_t n = 0;

	for (size_t o = 0; o < sizeof(order) / sizeof(order[0]); o++) {
		struct class_sum *c = &sums[n];

		for (size_t i = 0; i < r->n_programs; i++) {
			const struct gp__sim_program_result *p = &r->programs[i];

			if (class_of(p->spec->priority) != class_of(order[o]))
				continue;
			c->name = class_of(order[o]);
			c->programs += p->instances;
			gp__hist_merge(&c->latency, &p->latency);
			c->done += p->done;
			c->missed += p->missed;
			c->unfinished += p->unfinished;
			c->preemptions += p->preemptions;
			c->gpu_ns += p->gpu_ns;
			if (p->longest_hold_ns > c->longest_hold_ns)
				c->longest_hold_ns = p->longest_hold_ns;
		}
		n += c->programs != 0;
	}
	return n;
}

#define CLASSES_MAX 4

static void class_row(struct gp__table *t, const struct sim_report *rep, const struct sim_run *run,
		      const struct class_sum *c)
{
	double gpus = (double)rep->scenario->n_gpus;

	gp__table_row(t);
	gp__table_cell(t, c->name);
	if (rep->n_runs > 1)
		gp__table_cellf(t, run->level ? "%s Lv%u" : "%s", run->policy->name, run->level);
	gp__table_cellf(t, "%u", c->programs);
	gp__table_cellf(t, "%llu", (unsigned long long)c->done);
	cell_quantile(t, &c->latency, 0.5);
	cell_quantile(t, &c->latency, 0.99);
	cell_quantile(t, &c->latency, 0.999);
	cell_quantile(t, &c->latency, 1);
	gp__table_cellf(t, "%.3g", per_second(run->result, c->done));
	gp__table_cellf(t, "%.1f %%",
			100.0 * (double)c->gpu_ns / ((double)run->result->measured_ns * gpus));
	gp__table_cellf(t, "%llu", (unsigned long long)c->preemptions);
	cell_duration(t, c->preemptions != 0, c->longest_hold_ns);
}

static int print_classes(struct gp__env *env, const struct sim_report *rep)
{
	static const char *const columns[] = {
		"PROGRAMS", "JOBS",   "P50",	 "P99",	  "P99.9",
		"MAX",	    "JOBS/S", "OF GPUS", "STOPS", "LONGEST"
	};
	struct gp__table *t = gp__table_new(env);
	struct class_sum *sums = calloc(CLASSES_MAX, sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	gp__table_column(t, "CLASS", GP__LEFT);
	if (rep->n_runs > 1)
		gp__table_column(t, "POLICY", GP__LEFT);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		gp__table_column(t, columns[i], GP__RIGHT);
	for (size_t i = 0; i < rep->n_runs; i++) {
		size_t n;

		memset(sums, 0, CLASSES_MAX * sizeof(*sums));
		n = sum_classes(rep->runs[i].result, sums);
		for (size_t c = 0; c < n; c++)
			class_row(t, rep, &rep->runs[i], &sums[c]);
	}
	free(sums);
	return gp__table_print(t);
}

static void print_gpu(struct gp__env *env, const char *who, const struct gp__sim_gpu_result *g,
		      double ns)
{
	fprintf(env->out,
		"%s: busy %.1f %%, lost to switching %.2f %%, idle while somebody had work %.2f "
		"%%\n",
		who, 100.0 * (double)g->busy_ns / ns, 100.0 * (double)g->lost_ns / ns,
		100.0 * (double)g->idle_ready_ns / ns);
}

static void print_gpus(struct gp__env *env, const struct sim_report *rep, const struct sim_run *run)
{
	const struct gp__sim_result *r = run->result;
	struct gp__sim_gpu_result sum = { 0 };
	char who[96], prefix[48] = "";

	if (rep->n_runs > 1)
		snprintf(prefix, sizeof(prefix), run->level ? "%s Lv%u, " : "%s, ",
			 run->policy->name, run->level);
	for (size_t i = 0; i < r->n_gpus; i++) {
		snprintf(who, sizeof(who), "%s%s", prefix, r->gpus[i].name);
		if (r->n_gpus <= GPUS_SHOWN)
			print_gpu(env, who, &r->gpus[i], (double)r->measured_ns);
		sum.busy_ns += r->gpus[i].busy_ns;
		sum.lost_ns += r->gpus[i].lost_ns;
		sum.idle_ready_ns += r->gpus[i].idle_ready_ns;
	}
	if (r->n_gpus <= GPUS_SHOWN)
		return;
	snprintf(who, sizeof(who), "%s%zu GPUs", prefix, r->n_gpus);
	print_gpu(env, who, &sum, (double)r->measured_ns * (double)r->n_gpus);
}

/* What one looks for first where two priorities meet: how much longer the less urgent one takes. */
static void print_ratio(struct gp__env *env, const struct sim_report *rep,
			const struct sim_run *run)
{
	const struct gp__sim_result *r = run->result;
	const struct gp__sim_program_result *hi = &r->programs[0], *lo = &r->programs[1];
	double hi_ns, lo_ns;

	if (r->n_programs != 2 || hi->spec->priority == lo->spec->priority)
		return;
	if (hi->spec->priority < lo->spec->priority) {
		hi = &r->programs[1];
		lo = &r->programs[0];
	}
	if (gp__hist_mean(&hi->latency, &hi_ns) || gp__hist_mean(&lo->latency, &lo_ns) ||
	    hi_ns <= 0)
		return;
	fprintf(env->out,
		"%s%s: a job of %s takes %.1f ms, one of %s %.1f ms: %.2f times as long\n",
		rep->n_runs > 1 ? run->policy->name : "mean",
		rep->n_runs > 1 && run->level
			? (const char *[]){ "", " Lv1", " Lv2", " Lv3" }[run->level]
			: "",
		hi->spec->name, hi_ns / 1e6, lo->spec->name, lo_ns / 1e6, lo_ns / hi_ns);
}

static void print_heading(struct gp__env *env, const struct sim_report *rep)
{
	const struct gp__scenario *sc = rep->scenario;
	char measured[32], warmup[32];

	fprintf(env->out, "%s\n", sc->title);
	for (size_t i = 0; i < sc->n_notes; i++)
		fprintf(env->out, "  %s\n", sc->notes[i]);
	fprintf(env->out, "%s simulated after %s of warm-up, seed %llu",
		gp__format_duration(measured, sizeof(measured), sc->duration_ns - sc->warmup_ns),
		gp__format_duration(warmup, sizeof(warmup), sc->warmup_ns),
		(unsigned long long)rep->seed);
	if (rep->n_runs == 1)
		fprintf(env->out, ", policy %s: %s", rep->runs[0].policy->name,
			rep->runs[0].policy->summary);
	fputs("\n\n", env->out);
}

static void print_unfinished(struct gp__env *env, const struct sim_report *rep)
{
	for (size_t i = 0; i < rep->n_runs; i++) {
		const struct gp__sim_result *r = rep->runs[i].result;

		for (size_t p = 0; p < r->n_programs; p++) {
			/* One job per instance is always on its way when the time is over. */
			if (r->programs[p].unfinished > 2 * r->programs[p].instances)
				fprintf(env->out,
					"%s: %llu jobs of %s were not done when the time was "
					"over\n",
					rep->runs[i].policy->name,
					(unsigned long long)r->programs[p].unfinished,
					r->programs[p].spec->name);
		}
	}
}

int sim_print_text(struct gp__env *env, const struct sim_report *rep)
{
	int err;

	print_heading(env, rep);
	err = print_programs(env, rep);
	if (!err && rep->scenario->n_program_specs > 2) {
		fputc('\n', env->out);
		err = print_classes(env, rep);
	}
	if (err)
		return GP__EXIT_FAILURE;
	fputc('\n', env->out);
	for (size_t i = 0; i < rep->n_runs; i++)
		print_ratio(env, rep, &rep->runs[i]);
	for (size_t i = 0; i < rep->n_runs; i++)
		print_gpus(env, rep, &rep->runs[i]);
	print_unfinished(env, rep);
	return GP__EXIT_OK;
}

/*
 * For programs
 */

static json_t *latency_json(const struct gp__hist *h)
{
	json_t *o = json_object();

	gp__json_set_latency(o, h);
	return o;
}

static json_t *program_json(const struct sim_report *rep, const struct gp__sim_result *r,
			    const struct gp__sim_program_result *p)
{
	json_t *o = json_object();
	double slow = 0;
	bool has_slow = slowdown(rep, p, &slow);

	json_object_set_new(o, "name", gp__json_text(p->spec->name));
	json_object_set_new(o, "class", json_string(class_of(p->spec->priority)));
	json_object_set_new(o, "priority", json_integer(p->spec->priority));
	gp__json_set_u64(o, "instances", true, p->instances);
	gp__json_set_u64(o, "level", p->level != 0, p->level);
	gp__json_set_u64(o, "jobs", true, p->done);
	gp__json_set_u64(o, "unfinished", true, p->unfinished);
	gp__json_set_u64(o, "missed", p->spec->deadline_ns != 0, p->missed);
	json_object_set_new(o, "latency", latency_json(&p->latency));
	gp__json_set_real(o, "slowdown", has_slow, slow);
	gp__json_set_real(o, "jobs_per_s", true, per_second(r, p->done));
	gp__json_set_u64(o, "share_asked_pct", p->spec->share_pct != 0, p->spec->share_pct);
	gp__json_set_real(o, "share_got_pct", true, share_got(r, p));
	gp__json_set_u64(o, "preemptions", true, p->preemptions);
	gp__json_set_real(o, "held_ms", true, (double)p->held_ns / 1e6);
	gp__json_set_real(o, "longest_suspension_ms", true, (double)p->longest_hold_ns / 1e6);
	return o;
}

static json_t *classes_json(const struct gp__sim_result *r)
{
	struct class_sum *sums = calloc(CLASSES_MAX, sizeof(*sums));
	json_t *list = json_array();
	size_t n = sums ? sum_classes(r, sums) : 0;

	for (size_t i = 0; i < n; i++) {
		json_t *o = json_object();

		json_object_set_new(o, "class", json_string(sums[i].name));
		gp__json_set_u64(o, "programs", true, sums[i].programs);
		gp__json_set_u64(o, "jobs", true, sums[i].done);
		gp__json_set_u64(o, "unfinished", true, sums[i].unfinished);
		json_object_set_new(o, "latency", latency_json(&sums[i].latency));
		gp__json_set_real(o, "jobs_per_s", true, per_second(r, sums[i].done));
		gp__json_set_u64(o, "preemptions", true, sums[i].preemptions);
		gp__json_set_real(o, "longest_suspension_ms", true,
				  (double)sums[i].longest_hold_ns / 1e6);
		json_array_append_new(list, o);
	}
	free(sums);
	return list;
}

static json_t *gpus_json(const struct gp__sim_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_gpus; i++) {
		json_t *o = json_object();

		json_object_set_new(o, "name", gp__json_text(r->gpus[i].name));
		gp__json_set_real(o, "busy_ms", true, (double)r->gpus[i].busy_ns / 1e6);
		gp__json_set_real(o, "lost_to_switching_ms", true,
				  (double)r->gpus[i].lost_ns / 1e6);
		gp__json_set_real(o, "idle_with_work_ms", true,
				  (double)r->gpus[i].idle_ready_ns / 1e6);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *run_json(const struct sim_report *rep, const struct sim_run *run)
{
	const struct gp__sim_result *r = run->result;
	json_t *o = json_object(), *programs = json_array();

	json_object_set_new(o, "policy", json_string(run->policy->name));
	gp__json_set_u64(o, "level", run->level != 0, run->level);
	gp__json_set_real(o, "measured_s", true, (double)r->measured_ns / 1e9);
	gp__json_set_u64(o, "events", true, r->events);
	gp__json_set_u64(o, "actions", true, r->actions);
	for (size_t i = 0; i < r->n_programs; i++)
		json_array_append_new(programs, program_json(rep, r, &r->programs[i]));
	json_object_set_new(o, "programs", programs);
	json_object_set_new(o, "classes", classes_json(r));
	json_object_set_new(o, "gpus", gpus_json(r));
	return o;
}

int sim_print_json(struct gp__env *env, const struct sim_report *rep)
{
	json_t *root = gp__json_envelope(), *runs = json_array();

	json_object_set_new(root, "scenario", gp__json_text(rep->scenario->title));
	json_object_set_new(root, "file", gp__json_text(rep->scenario->file));
	gp__json_set_u64(root, "seed", true, rep->seed);
	for (size_t i = 0; i < rep->n_runs; i++)
		json_array_append_new(runs, run_json(rep, &rep->runs[i]));
	json_object_set_new(root, "runs", runs);
	return gp__json_print(env, root) ? GP__EXIT_FAILURE : GP__EXIT_OK;
}
