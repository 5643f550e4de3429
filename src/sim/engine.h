/* SPDX-License-Identifier: MIT */
/*
 * The simulator: a scenario's GPUs and programs in virtual time around the real core, policies and
 * preemptible queue.
 *
 * A GPU is shared equally by the commands that execute on it at one moment, one of each stream at
 * most. Stopping a queue takes the verb's latency, takes effect at its end, and costs the GPU
 * switch_cost. The scheduler sees work arrive and end at once. All that is random follows from the
 * seed; two runs are identical.
 *
 * Wrong tool for: absolute times of real hardware. It compares policies and levels under the same
 * load.
 */
#ifndef GP__SIM_ENGINE_H
#define GP__SIM_ENGINE_H

#include "base/hist.h"
#include "core/log.h"
#include "sim/scenario.h"

struct gp__sim_options {
	const struct gp__policy *policy;
	const u64 *params; /* of the policy; NULL: its defaults */
	const u64 *cfg; /* of the core; NULL: the defaults */
	u32 level; /* for every program; 0: as the scenario says */
	u64 seed;
	int only; /* the first program of this section, alone; -1: all */
	void (*log)(void *ctx, const struct gp__record *r);
	void *log_ctx;
	/* Told now and then how far virtual time has come. May be NULL. */
	void (*progress)(void *ctx, u64 now);
	void *progress_ctx;
};

/* Of all programs of one section, after the warm-up. */
struct gp__sim_program_result {
	const struct gp__program_spec *spec;
	u32 instances;
	struct gp__hist
		latency; /* of jobs that arrived after the warm-up and were done in time to count */
	u64 done, unfinished, missed; /* jobs; missed: of the done, after their deadline */
	u64 ended; /* jobs that ended after the warm-up, whenever they arrived */
	u64 gpu_ns; /* work done on its GPUs, by all instances */
	u64 preemptions; /* stops that took effect */
	u64 failed, unresponsive, inversions; /* what the core reported of it, warm-up included */
	u64 held_ns, longest_hold_ns;
	u32 level; /* effective: the lowest of its streams */
};

struct gp__sim_gpu_result {
	const char *name;
	u64 busy_ns; /* at least one command executes */
	u64 lost_ns; /* to switching */
	u64 idle_ready_ns; /* nothing executes although somebody has work */
};

struct gp__sim_result {
	const struct gp__policy *policy;
	u64 measured_ns, events, actions;
	struct gp__sim_program_result *programs; /* as scenario->program_specs */
	size_t n_programs;
	struct gp__sim_gpu_result *gpus;
	size_t n_gpus;
};

/*
 * 0, -ENOMEM, or -EOVERFLOW where so many jobs wait that the scenario cannot be meant: *@overloaded
 * is a program that gets them faster than they are done.
 */
int gp__sim_run(const struct gp__scenario *sc, const struct gp__sim_options *opt,
		struct gp__sim_result **out, const struct gp__program_spec **overloaded);
/* More commands than this never wait: about half a gigabyte. */
#define GP__SIM_WAITING_MAX 16000000

void gp__sim_result_free(struct gp__sim_result *r);

#endif
