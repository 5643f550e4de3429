// SPDX-License-Identifier: MIT
/* Prints the results of a simulation as JSON. Unmeasured values are null, never 0. */
#include "cli/sim.h"

#include "base/clock.h"
#include "base/json.h"

#include <stdlib.h>

static json_t *latency_json(const struct gp__hist *h)
{
	json_t *o = json_object();

	gp__json_set_latency(o, h);
	return o;
}

static json_t *times_json(const struct sim_report *rep, const struct gp__sim_program_result *p,
			  enum sim_times which)
{
	static const char *const names[SIM_QUANTILES][2] = { { "p50_us", "p50_against_alone" },
							     { "p95_us", "p95_against_alone" },
							     { "p99_us", "p99_against_alone" } };
	const struct gp__hist *h = sim_times_of(p, which);
	json_t *o = json_object();

	gp__json_set_u64(o, "count", true, h->count);
	for (size_t i = 0; i < SIM_QUANTILES; i++) {
		double ratio = 0;
		bool known = sim_against_alone(rep, p, which, sim_quantiles[i], &ratio);

		gp__json_set_quantile_us(o, names[i][0], h, sim_quantiles[i]);
		gp__json_set_real(o, names[i][1], known, ratio);
	}
	return o;
}

static json_t *requests_json(const struct sim_report *rep, const struct gp__sim_result *r,
			     const struct gp__sim_program_result *p)
{
	json_t *o = json_object();
	struct sim_cost cost;

	sim_cost(rep, r, p, &cost);
	json_object_set_new(o, "first_token", times_json(rep, p, SIM_TIMES_FIRST));
	json_object_set_new(o, "next_token", times_json(rep, p, SIM_TIMES_NEXT));
	json_object_set_new(o, "whole", times_json(rep, p, SIM_TIMES_WHOLE));
	gp__json_set_real(o, "in_progress_ms", true, gp__to_ms(p->requests->in_progress_ns));
	gp__json_set_real(o, "others_kept_pct", cost.has_kept, cost.kept_pct);
	gp__json_set_real(o, "holds_per_request", cost.has_holds, cost.holds);
	gp__json_set_real(o, "wasted_pct", true, cost.wasted_pct);
	return o;
}

static json_t *program_json(const struct sim_report *rep, const struct gp__sim_result *r,
			    const struct gp__sim_program_result *p)
{
	json_t *o = json_object();
	double slow = 0;
	bool has_slow = sim_slowdown(rep, p, &slow);

	json_object_set_new(o, "name", gp__json_text(p->spec->name));
	json_object_set_new(o, "class",
			    json_string(gp__class_name(gp__class_of(p->spec->priority))));
	json_object_set_new(o, "priority", json_integer(p->spec->priority));
	gp__json_set_u64(o, "instances", true, p->instances);
	gp__json_set_u64(o, "level", p->level != 0, p->level);
	gp__json_set_u64(o, "jobs", true, p->done);
	gp__json_set_u64(o, "unfinished", true, p->unfinished);
	gp__json_set_u64(o, "missed", p->spec->deadline_ns != 0, p->missed);
	json_object_set_new(o, "latency", latency_json(&p->latency));
	gp__json_set_real(o, "slowdown", has_slow, slow);
	gp__json_set_real(o, "jobs_per_s", true, sim_per_second(r, p->ended));
	gp__json_set_u64(o, "share_asked_pct", p->spec->share_pct != 0, p->spec->share_pct);
	gp__json_set_real(o, "share_got_pct", true, sim_share_got(r, p));
	gp__json_set_u64(o, "preemptions", true, p->preemptions);
	gp__json_set_u64(o, "failed_stops", true, p->failed);
	gp__json_set_u64(o, "unresponsive", true, p->unresponsive);
	gp__json_set_u64(o, "inversions", true, p->inversions);
	gp__json_set_real(o, "held_ms", true, gp__to_ms(p->held_ns));
	gp__json_set_real(o, "longest_suspension_ms", true, gp__to_ms(p->longest_hold_ns));
	if (p->requests)
		json_object_set_new(o, "requests", requests_json(rep, r, p));
	return o;
}

static json_t *classes_json(const struct gp__sim_result *r)
{
	struct sim_class *sums = calloc(SIM_CLASSES_MAX, sizeof(*sums));
	json_t *list = json_array();
	size_t n = sums ? sim_sum_classes(r, sums) : 0;

	for (size_t i = 0; i < n; i++) {
		json_t *o = json_object();

		json_object_set_new(o, "class", json_string(sums[i].name));
		gp__json_set_u64(o, "programs", true, sums[i].programs);
		gp__json_set_u64(o, "jobs", true, sums[i].done);
		gp__json_set_u64(o, "unfinished", true, sums[i].unfinished);
		json_object_set_new(o, "latency", latency_json(&sums[i].latency));
		gp__json_set_real(o, "jobs_per_s", true, sim_per_second(r, sums[i].ended));
		gp__json_set_u64(o, "preemptions", true, sums[i].preemptions);
		gp__json_set_real(o, "longest_suspension_ms", true,
				  gp__to_ms(sums[i].longest_hold_ns));
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
		gp__json_set_real(o, "busy_ms", true, gp__to_ms(r->gpus[i].busy_ns));
		gp__json_set_real(o, "lost_to_switching_ms", true, gp__to_ms(r->gpus[i].lost_ns));
		gp__json_set_real(o, "idle_with_work_ms", true,
				  gp__to_ms(r->gpus[i].idle_ready_ns));
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
	gp__json_set_real(o, "measured_s", true, gp__to_s(r->measured_ns));
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
