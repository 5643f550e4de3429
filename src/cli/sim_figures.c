// SPDX-License-Identifier: MIT
/* Figures of a simulation that are worked out from what it counted. */
#include "cli/sim.h"

bool sim_slowdown(const struct sim_report *rep, const struct gp__sim_program_result *p,
		  double *value)
{
	double alone = rep->alone_ns[p->spec - rep->scenario->program_specs], with;

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

double sim_per_second(const struct gp__sim_result *r, uint64_t n)
{
	return (double)n * 1e9 / (double)r->measured_ns;
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
