/* SPDX-License-Identifier: MIT */
/*
 * The simulator: a scenario's GPUs and programs in virtual time around the real core, policies and
 * preemptible queue.
 *
 * The commands that execute on a GPU, at most one of each stream, share it equally or, if it
 * weighs, by the weights that the core orders. A hold takes the latency of its level, takes effect
 * at the end of it, and costs the GPU switch_cost. The scheduler sees work arrive and end after the
 * times that the GPU has for it. All randomness follows from the seed; two runs are identical.
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
	/* Called now and then with the virtual time. May be NULL. */
	void (*progress)(void *ctx, u64 now);
	void *progress_ctx;
};

/* Of a program whose jobs are requests: every kernel of one ends with a token. */
struct gp__sim_requests {
	struct gp__hist first; /* from the arrival to the first token */
	struct gp__hist next; /* from each token to the next one of the request */
	u64 in_progress_ns; /* at least one request has arrived and not ended */
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
	u64 preemptions; /* holds that took effect */
	u64 failed, unresponsive, inversions; /* reports of the core, including the warm-up */
	u64 held_ns, longest_hold_ns;
	u32 level; /* effective: the lowest of its streams */
	struct gp__sim_requests *requests; /* NULL: its jobs are no requests */
};

struct gp__sim_gpu_result {
	const char *name;
	u64 busy_ns; /* at least one command executes */
	u64 lost_ns; /* to switching */
	u64 idle_ready_ns; /* nothing executes although a program has work */
	u64 wasted_ns; /* nothing executes although a program with work is held */
	u64 holds; /* that took effect */
	u64 other_ns; /* work of the programs whose jobs are no requests */
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
 * Runs the scenario. Returns 0, -ENOMEM, or -EOVERFLOW if far too many jobs wait: *@overloaded is a
 * program whose jobs arrive faster than they are done.
 */
int gp__sim_run(const struct gp__scenario *sc, const struct gp__sim_options *opt,
		struct gp__sim_result **out, const struct gp__program_spec **overloaded);
/* The most commands that may wait: about half a gigabyte. */
#define GP__SIM_WAITING_MAX 16000000

void gp__sim_result_free(struct gp__sim_result *r);

#endif
