// SPDX-License-Identifier: MIT
/* Prints the results of a simulation as text. Unmeasured values are "-", never 0. */
#include "cli/sim.h"

#include "base/table.h"
#include "base/units.h"

#include <stdlib.h>

/* More GPUs than this are summed up in one line. */
#define GPUS_SHOWN 4

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
		gp__table_cellf(t, "%u -> %.1f %%", p->spec->share_pct, sim_share_got(r, p));
	else
		gp__table_cellf(t, "%.1f %%", sim_share_got(r, p));
}

static bool has_deadlines(const struct gp__scenario *sc)
{
	for (size_t i = 0; i < sc->n_program_specs; i++) {
		if (sc->program_specs[i].deadline_ns)
			return true;
	}
	return false;
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
	if (sim_slowdown(rep, p, &slow))
		gp__table_cellf(t, "%.2fx", slow);
	else
		gp__table_cell(t, NULL);
	gp__table_cellf(t, "%.3g", sim_per_second(run->result, p->ended));
	cell_share(t, run->result, p);
	gp__table_cellf(t, "%llu", (unsigned long long)p->preemptions);
	cell_duration(t, p->preemptions != 0, p->longest_hold_ns);
	if (p->spec->deadline_ns)
		gp__table_cellf(t, "%llu", (unsigned long long)p->missed);
	else if (has_deadlines(rep->scenario))
		gp__table_cell(t, NULL);
}

static int print_programs(struct gp__env *env, const struct sim_report *rep)
{
	static const char *const columns[] = { "PRIO",	"LEVEL",   "JOBS",     "P50",	 "P99",
					       "P99.9", "MAX",	   "SLOWDOWN", "JOBS/S", "SHARE",
					       "STOPS", "LONGEST", NULL };
	struct gp__table *t = gp__table_new(env);

	gp__table_column(t, "PROGRAM", GP__LEFT);
	if (rep->n_runs > 1)
		gp__table_column(t, "POLICY", GP__LEFT);
	for (size_t i = 0; columns[i]; i++)
		gp__table_column(t, columns[i], GP__RIGHT);
	if (has_deadlines(rep->scenario))
		gp__table_column(t, "MISSED", GP__RIGHT);
	for (size_t p = 0; p < rep->scenario->n_program_specs; p++) {
		for (size_t i = 0; i < rep->n_runs; i++)
			program_row(t, rep, &rep->runs[i], &rep->runs[i].result->programs[p]);
	}
	return gp__table_print(t);
}

static void class_row(struct gp__table *t, const struct sim_report *rep, const struct sim_run *run,
		      const struct sim_class *c)
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
	gp__table_cellf(t, "%.3g", sim_per_second(run->result, c->ended));
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
	struct sim_class *sums = calloc(SIM_CLASSES_MAX, sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	gp__table_column(t, "CLASS", GP__LEFT);
	if (rep->n_runs > 1)
		gp__table_column(t, "POLICY", GP__LEFT);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		gp__table_column(t, columns[i], GP__RIGHT);
	for (size_t i = 0; i < rep->n_runs; i++) {
		size_t n;

		memset(sums, 0, SIM_CLASSES_MAX * sizeof(*sums));
		n = sim_sum_classes(rep->runs[i].result, sums);
		for (size_t c = 0; c < n; c++)
			class_row(t, rep, &rep->runs[i], &sums[c]);
	}
	free(sums);
	return gp__table_print(t);
}

static void cell_time(struct gp__table *t, const struct sim_report *rep,
		      const struct gp__sim_program_result *p, enum sim_times which, double q)
{
	double ratio;

	if (sim_against_alone(rep, p, which, q, &ratio))
		gp__table_cellf(t, "%.2fx", ratio);
	else
		cell_quantile(t, sim_times_of(p, which), q);
}

static void request_row(struct gp__table *t, const struct sim_report *rep,
			const struct sim_run *run, const struct gp__sim_program_result *p)
{
	struct sim_cost cost;

	gp__table_row(t);
	gp__table_cell(t, p->spec->name);
	gp__table_cellf(t, run->level ? "%s Lv%u" : "%s", run->policy->name, run->level);
	for (int which = 0; which < SIM_TIMES; which++) {
		for (size_t i = 0; i < SIM_QUANTILES; i++)
			cell_time(t, rep, p, which, sim_quantiles[i]);
	}
	sim_cost(rep, run->result, p, &cost);
	if (cost.has_kept)
		gp__table_cellf(t, "%.1f %%", cost.kept_pct);
	else
		gp__table_cell(t, NULL);
	if (cost.has_holds)
		gp__table_cellf(t, "%.2f", cost.holds);
	else
		gp__table_cell(t, NULL);
	gp__table_cellf(t, "%.2f %%", cost.wasted_pct);
}

/* The times that the rows of the policies are compared with. */
static void alone_row(struct gp__table *t, const struct gp__sim_program_result *alone)
{
	gp__table_row(t);
	gp__table_cell(t, alone->spec->name);
	gp__table_cell(t, "alone");
	for (int which = 0; which < SIM_TIMES; which++) {
		for (size_t i = 0; i < SIM_QUANTILES; i++)
			cell_quantile(t, sim_times_of(alone, which), sim_quantiles[i]);
	}
	for (int i = 0; i < 3; i++)
		gp__table_cell(t, NULL);
}

static int print_requests(struct gp__env *env, const struct sim_report *rep)
{
	static const char *const columns[] = { "FIRST P50", "P95",  "P99",	 "NEXT P50",
					       "P95",	    "P99",  "WHOLE P50", "P95",
					       "P99",	    "KEPT", "HOLDS",	 "WASTED" };
	struct gp__table *t = gp__table_new(env);

	gp__table_column(t, "REQUESTS", GP__LEFT);
	gp__table_column(t, "POLICY", GP__LEFT);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		gp__table_column(t, columns[i], GP__RIGHT);
	for (size_t p = 0; p < rep->scenario->n_program_specs; p++) {
		const struct gp__sim_program_result *first = &rep->runs[0].result->programs[p];

		if (!first->requests)
			continue;
		if (sim_alone(rep, first))
			alone_row(t, sim_alone(rep, first));
		for (size_t i = 0; i < rep->n_runs; i++)
			request_row(t, rep, &rep->runs[i], &rep->runs[i].result->programs[p]);
	}
	return gp__table_print(t);
}

static void print_gpu(struct gp__env *env, const char *who, const struct gp__sim_gpu_result *g,
		      double ns)
{
	fprintf(env->out,
		"%s busy %.1f %%, lost to switching %.2f %%, idle while a program had work %.2f "
		"%%\n",
		who, 100.0 * (double)g->busy_ns / ns, 100.0 * (double)g->lost_ns / ns,
		100.0 * (double)g->idle_ready_ns / ns);
}

/* "hpf: ", or "hpf Lv1: " if levels are compared, or "" if there is only one run. */
static const char *run_name(char *buf, size_t n, const struct sim_report *rep,
			    const struct sim_run *run)
{
	buf[0] = '\0';
	if (rep->n_runs > 1)
		snprintf(buf, n, run->level ? "%s Lv%u: " : "%s: ", run->policy->name, run->level);
	return buf;
}

static void print_gpus(struct gp__env *env, const struct sim_report *rep, const struct sim_run *run)
{
	const struct gp__sim_result *r = run->result;
	struct gp__sim_gpu_result sum = { 0 };
	char who[96], name[32];

	run_name(name, sizeof(name), rep, run);
	for (size_t i = 0; i < r->n_gpus; i++) {
		snprintf(who, sizeof(who), "%s%s", name, r->gpus[i].name);
		if (r->n_gpus <= GPUS_SHOWN)
			print_gpu(env, who, &r->gpus[i], (double)r->measured_ns);
		sum.busy_ns += r->gpus[i].busy_ns;
		sum.lost_ns += r->gpus[i].lost_ns;
		sum.idle_ready_ns += r->gpus[i].idle_ready_ns;
	}
	if (r->n_gpus <= GPUS_SHOWN)
		return;
	snprintf(who, sizeof(who), "%s%zu GPUs", name, r->n_gpus);
	print_gpu(env, who, &sum, (double)r->measured_ns * (double)r->n_gpus);
}

/* Compares the most and the least urgent program in one sentence. */
static void print_verdict(struct gp__env *env, const struct sim_report *rep,
			  const struct sim_run *run)
{
	const struct gp__sim_result *r = run->result;
	const struct gp__sim_program_result *hi = &r->programs[0], *lo = &r->programs[1];
	double hi_ns, lo_ns, hi_slow, lo_slow;
	char name[32];

	if (r->n_programs != 2 || hi->spec->priority == lo->spec->priority)
		return;
	if (hi->spec->priority < lo->spec->priority) {
		hi = &r->programs[1];
		lo = &r->programs[0];
	}
	if (gp__hist_mean(&hi->latency, &hi_ns) || gp__hist_mean(&lo->latency, &lo_ns) ||
	    !sim_slowdown(rep, hi, &hi_slow) || !sim_slowdown(rep, lo, &lo_slow))
		return;
	fprintf(env->out,
		"%sa job of %s takes %.1f ms, %.2f times as long as alone; one of %s %.1f ms, %.2f "
		"times\n",
		run_name(name, sizeof(name), rep, run), hi->spec->name, hi_ns / GP__MS, hi_slow,
		lo->spec->name, lo_ns / GP__MS, lo_slow);
}

static void print_policies(struct gp__env *env, const struct sim_report *rep)
{
	const struct gp__policy *last = NULL;

	for (size_t i = 0; i < rep->n_runs; i++) {
		const struct gp__policy *p = rep->runs[i].policy;

		if (p != last)
			fprintf(env->out, "policy %-6s %s\n", p->name, p->summary);
		last = p;
	}
}

static void print_heading(struct gp__env *env, const struct sim_report *rep)
{
	const struct gp__scenario *sc = rep->scenario;
	char measured[32], warmup[32];

	fprintf(env->out, "%s\n", sc->title);
	for (size_t i = 0; i < sc->n_notes; i++)
		fprintf(env->out, "  %s\n", sc->notes[i]);
	fprintf(env->out, "%s of virtual time after %s of warm-up, seed %llu\n",
		gp__format_duration(measured, sizeof(measured), sc->duration_ns - sc->warmup_ns),
		gp__format_duration(warmup, sizeof(warmup), sc->warmup_ns),
		(unsigned long long)rep->seed);
	print_policies(env, rep);
	fputc('\n', env->out);
}

static void print_unfinished(struct gp__env *env, const struct sim_report *rep)
{
	for (size_t i = 0; i < rep->n_runs; i++) {
		const struct gp__sim_result *r = rep->runs[i].result;

		for (size_t p = 0; p < r->n_programs; p++) {
			/* Each instance has a job that is not done when the time is over. */
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

static void print_reports(struct gp__env *env, const struct sim_report *rep,
			  const struct sim_run *run)
{
	const struct gp__sim_result *r = run->result;
	char name[32];

	run_name(name, sizeof(name), rep, run);
	for (size_t i = 0; i < r->n_programs; i++) {
		const struct gp__sim_program_result *p = &r->programs[i];

		if (p->failed)
			fprintf(env->out,
				"%s%s could not be held and was left running, %llu times\n", name,
				p->spec->name, (unsigned long long)p->failed);
		if (p->unresponsive)
			fprintf(env->out, "%s%s did not answer an order in time, %llu times\n",
				name, p->spec->name, (unsigned long long)p->unresponsive);
		if (p->inversions)
			fprintf(env->out,
				"%s%s ran although a more urgent program had work, %llu times\n",
				name, p->spec->name, (unsigned long long)p->inversions);
	}
}

static void print_legend(struct gp__env *env, const struct sim_report *rep)
{
	fputs("\nP50 to MAX: from the arrival of a job to its end. SLOWDOWN: mean of that, against "
	      "the program\n"
	      "alone on the GPU. SHARE: of the GPU's time (asked -> got). STOPS: how often it was "
	      "preempted.\n"
	      "LONGEST: its longest hold.",
	      env->out);
	if (has_deadlines(rep->scenario))
		fputs(" MISSED: jobs done after their deadline.", env->out);
	fputc('\n', env->out);
	if (sim_has_requests(rep->scenario))
		fputs("FIRST, NEXT, WHOLE: from the arrival of a request to its first token, from "
		      "a token "
		      "to the next,\n"
		      "and from the arrival to the end; against the server alone (1.00x). KEPT: "
		      "work of the "
		      "other programs,\n"
		      "against what they do alone while no request is in progress. HOLDS: for each "
		      "request. "
		      "WASTED: time\n"
		      "in which the GPU was idle and a program with work was held.\n",
		      env->out);
}

int sim_print_text(struct gp__env *env, const struct sim_report *rep)
{
	int err;

	print_heading(env, rep);
	err = print_programs(env, rep);
	if (!err && sim_has_requests(rep->scenario)) {
		fputc('\n', env->out);
		err = print_requests(env, rep);
	} else if (!err && rep->scenario->n_program_specs > 2) {
		fputc('\n', env->out);
		err = print_classes(env, rep);
	}
	if (err)
		return GP__EXIT_FAILURE;
	fputc('\n', env->out);
	for (size_t i = 0; i < rep->n_runs; i++)
		print_verdict(env, rep, &rep->runs[i]);
	for (size_t i = 0; i < rep->n_runs; i++)
		print_gpus(env, rep, &rep->runs[i]);
	for (size_t i = 0; i < rep->n_runs; i++)
		print_reports(env, rep, &rep->runs[i]);
	print_unfinished(env, rep);
	if (env->headers)
		print_legend(env, rep);
	return GP__EXIT_OK;
}
