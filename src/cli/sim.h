/* SPDX-License-Identifier: MIT */
/* gpreempt sim: what sim.c runs, sim_figures.c works out, sim_text.c and sim_json.c
 * show, and sim_log.c logs and replays. */
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
	/* Mean time of a job of each program section on its own, without a scheduler; 0: not known.
	 */
	double *alone_ns;
};

/* Online, normal, offline, other. */
#define SIM_CLASSES_MAX 4

struct sim_class {
	const char *name;
	uint32_t programs;
	struct gp__hist latency;
	uint64_t done, ended, missed, unfinished, preemptions, longest_hold_ns, gpu_ns;
};

/* Mean time of a job against the program alone. False: not known. */
bool sim_slowdown(const struct sim_report *rep, const struct gp__sim_program_result *p,
		  double *value);
/* Of the GPUs a program uses, how much of the time it got, in percent; the mean over its instances.
 */
double sim_share_got(const struct gp__sim_result *r, const struct gp__sim_program_result *p);
double sim_per_second(const struct gp__sim_result *r, uint64_t n);
/* Sums up by class, the most urgent first. Returns how many there are. */
size_t sim_sum_classes(const struct gp__sim_result *r, struct sim_class sums[SIM_CLASSES_MAX]);

/* Where the decision log of a run goes. */
struct sim_log {
	const char *path;
	FILE *file; /* NULL: nowhere */
	bool alone; /* on standard output, and nothing else there */
};

/* @input is being read and must not be overwritten. 0, or the exit status after telling why not. */
int sim_log_open(struct gp__env *env, struct sim_log *log, const char *path, const char *input);
/* The status as it was, or that of a log that could not be written. */
int sim_log_close(struct gp__env *env, struct sim_log *log, int status);
int sim_replay(struct gp__env *env, const char *path, const char *copy_path);

int sim_print_text(struct gp__env *env, const struct sim_report *report);
int sim_print_json(struct gp__env *env, const struct sim_report *report);

#endif
