/* SPDX-License-Identifier: MIT */
/* gpreempt sim: what sim.c runs and sim_print.c shows. */
#ifndef GP_CLI_SIM_H
#define GP_CLI_SIM_H

#include "base/cmd.h"
#include "policy/policy.h"
#include "sim/engine.h"

#define SIM_RUNS_MAX 32

struct sim_run {
	const struct gp__policy *policy;
	uint32_t level; /* 0: as the scenario says */
	struct gp__sim_result *result;
};

struct sim_report {
	const struct gp__scenario *scenario;
	uint64_t seed;
	struct sim_run runs[SIM_RUNS_MAX];
	size_t n_runs;
	/* Each program section on its own, without a scheduler: what "alone" means. */
	struct gp__sim_result **alone;
};

int sim_print_text(struct gp__env *env, const struct sim_report *report);
int sim_print_json(struct gp__env *env, const struct sim_report *report);

#endif
