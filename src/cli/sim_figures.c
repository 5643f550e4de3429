// SPDX-License-Identifier: MIT
/* Computes figures from the counters of a simulation. */
#include "cli/sim.h"

bool sim_slowdown(const struct sim_report *rep, const struct gp__sim_program_result *p,
		  double *value)
{
	double alone = rep->alone[p->spec - rep->scenario->program_specs].job_ns, with;

	if (alone <= 0 || gp__hist_mean(&p->latency, &with))
		return false;
	*value = with / alone;
	return true;
}

double sim_share_got(const struct gp__sim_result *r, const struct gp__sim_program_result *p)
{
	double gpus = (double)p->instances * (p->spec->gang ? p->spec->n_gpus : 1);

	return 100.0 * (double)p->gpu_ns / ((double)r->measured_ns * gpus);
}

const double sim_quantiles[SIM_QUANTILES] = { 0.5, 0.95, 0.99 };

static bool is_request(const struct gp__program_spec *spec)
{
	return spec->first.a_ns != 0;
}

bool sim_has_requests(const struct gp__scenario *sc)
{
	for (size_t i = 0; i < sc->n_program_specs; i++) {
		if (is_request(&sc->program_specs[i]))
			return true;
	}
	return false;
}

const struct gp__hist *sim_times_of(const struct gp__sim_program_result *p, enum sim_times which)
{
	switch (which) {
	case SIM_TIMES_FIRST:
		return &p->requests->first;
	case SIM_TIMES_NEXT:
		return &p->requests->next;
	default:
		return &p->latency;
	}
}

const struct gp__sim_program_result *sim_alone(const struct sim_report *rep,
					       const struct gp__sim_program_result *p)
{
	size_t i = (size_t)(p->spec - rep->scenario->program_specs);
	const struct gp__sim_result *r = rep->alone[i].result;

	return r ? &r->programs[i] : NULL;
}

bool sim_against_alone(const struct sim_report *rep, const struct gp__sim_program_result *p,
		       enum sim_times which, double q, double *value)
{
	const struct gp__sim_program_result *alone = sim_alone(rep, p);
	uint64_t with, without;

	if (!alone || gp__hist_quantile(sim_times_of(p, which), q, &with) ||
	    gp__hist_quantile(sim_times_of(alone, which), q, &without) || !without)
		return false;
	*value = (double)with / (double)without;
	return true;
}

static bool uses(const struct gp__program_spec *spec, uint32_t gpu)
{
	for (uint32_t i = 0; i < spec->n_gpus; i++) {
		if (spec->gpus[i] == gpu)
			return true;
	}
	return false;
}

static uint32_t instances_on(const struct gp__scenario *sc, const struct gp__program_spec *spec,
			     uint32_t gpu)
{
	uint32_t n = 0;

	for (size_t i = 0; i < sc->n_programs; i++) {
		const struct gp__scenario_program *p = &sc->programs[i];

		for (uint32_t j = 0; p->spec == spec && j < p->n_gpus; j++)
			n += p->gpus[j] == gpu;
	}
	return n;
}

/* The part of a GPU's time that the programs which serve no requests would use if every request
 * took as long as alone. */
static double left_on(const struct sim_report *rep, uint32_t gpu)
{
	const struct gp__scenario *sc = rep->scenario;
	double busy = 0, wanted = 0;

	for (size_t i = 0; i < sc->n_program_specs; i++) {
		const struct gp__program_spec *spec = &sc->program_specs[i];
		const struct gp__sim_result *alone = rep->alone[i].result;
		double n = uses(spec, gpu) ? instances_on(sc, spec, gpu) : 0;

		if (!is_request(spec))
			wanted += n * rep->alone[i].share;
		else if (alone)
			busy += n * (double)alone->programs[i].requests->in_progress_ns /
				(double)alone->measured_ns;
	}
	return busy < 1 ? (1 - busy) * (wanted < 1 ? wanted : 1) : 0;
}

static uint64_t requests_beside(const struct gp__sim_result *r, const struct gp__program_spec *spec)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->n_programs; i++) {
		const struct gp__sim_program_result *p = &r->programs[i];
		bool beside = false;

		for (uint32_t j = 0; p->requests && j < spec->n_gpus; j++)
			beside |= uses(p->spec, spec->gpus[j]);
		n += beside ? p->ended : 0;
	}
	return n;
}

void sim_cost(const struct sim_report *rep, const struct gp__sim_result *r,
	      const struct gp__sim_program_result *p, struct sim_cost *cost)
{
	uint64_t requests = requests_beside(r, p->spec);
	double left = 0, kept = 0, holds = 0, wasted = 0;

	for (uint32_t i = 0; i < p->spec->n_gpus; i++) {
		const struct gp__sim_gpu_result *g = &r->gpus[p->spec->gpus[i]];

		left += left_on(rep, p->spec->gpus[i]) * (double)r->measured_ns;
		kept += (double)g->other_ns;
		holds += (double)g->holds;
		wasted += (double)g->wasted_ns;
	}
	cost->has_kept = sim_alone(rep, p) && left > 0;
	cost->kept_pct = cost->has_kept ? 100.0 * kept / left : 0;
	cost->has_holds = requests != 0;
	cost->holds = requests ? holds / (double)requests : 0;
	cost->wasted_pct = 100.0 * wasted / ((double)r->measured_ns * p->spec->n_gpus);
}

double sim_per_second(const struct gp__sim_result *r, uint64_t n)
{
	return (double)n * GP__S / (double)r->measured_ns;
}

size_t sim_sum_classes(const struct gp__sim_result *r, struct sim_class sums[SIM_CLASSES_MAX])
{
	static const enum gp__class order[] = { GP__CLASS_ONLINE, GP__CLASS_NORMAL,
						GP__CLASS_OFFLINE, GP__CLASS_OTHER };
	size_t n = 0;

	for (size_t o = 0; o < sizeof(order) / sizeof(order[0]); o++) {
		struct sim_class *c = &sums[n];

		for (size_t i = 0; i < r->n_programs; i++) {
			const struct gp__sim_program_result *p = &r->programs[i];

			if (gp__class_of(p->spec->priority) != order[o])
				continue;
			c->name = gp__class_name(order[o]);
			c->programs += p->instances;
			gp__hist_merge(&c->latency, &p->latency);
			c->done += p->done;
			c->ended += p->ended;
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
