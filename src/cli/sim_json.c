// SPDX-License-Identifier: MIT
/* What a simulation showed, for programs. Unmeasured is null, never 0. */
#include "cli/sim.h"

#include "base/json.h"

#include <stdlib.h>

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
	gp__json_set_real(o, "held_ms", true, (double)p->held_ns / 1e6);
	gp__json_set_real(o, "longest_suspension_ms", true, (double)p->longest_hold_ns / 1e6);
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
