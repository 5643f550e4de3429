/* SPDX-License-Identifier: MIT */
/* gpreempt sim: sim.c runs, sim_figures.c computes figures, sim_text.c and sim_json.c show them,
 * and sim_log.c writes and replays logs. */
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

/* A program section on its own, without a scheduler. All zero: not known. */
struct sim_alone {
	double job_ns; /* mean time of a job */
	double share; /* of the time of one of its GPUs, 0 to 1 */
	struct gp__sim_result *result; /* if its jobs are requests */
};

struct sim_report {
	const struct gp__scenario *scenario;
	uint64_t seed;
	struct sim_run runs[SIM_RUNS_MAX];
	size_t n_runs;
	struct sim_alone *alone; /* as scenario->program_specs */
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
/* The share of time that a program got on its GPUs, in percent; the mean over its instances. */
double sim_share_got(const struct gp__sim_result *r, const struct gp__sim_program_result *p);
/* The times of requests, in the order in which they are shown. */
enum sim_times { SIM_TIMES_FIRST, SIM_TIMES_NEXT, SIM_TIMES_WHOLE, SIM_TIMES };
/* Of each of these, as a share of the samples. */
#define SIM_QUANTILES 3
extern const double sim_quantiles[SIM_QUANTILES];

bool sim_has_requests(const struct gp__scenario *sc);
const struct gp__hist *sim_times_of(const struct gp__sim_program_result *p, enum sim_times which);
/* The result of the same section alone. NULL: not known. */
const struct gp__sim_program_result *sim_alone(const struct sim_report *rep,
					       const struct gp__sim_program_result *p);
/* A quantile against the same one of the program alone. False: not known. */
bool sim_against_alone(const struct sim_report *rep, const struct gp__sim_program_result *p,
		       enum sim_times which, double q, double *value);

/* The cost of requests, summed over the GPUs of a program that serves them. */
struct sim_cost {
	/* Work of the programs that serve none, in percent of what they do alone in the time in
	 * which no request would be in progress if its server were alone. */
	bool has_kept;
	double kept_pct;
	bool has_holds;
	double holds; /* for each request */
	double wasted_pct; /* time in which nothing executed although a program was held */
};

void sim_cost(const struct sim_report *rep, const struct gp__sim_result *r,
	      const struct gp__sim_program_result *p, struct sim_cost *cost);
double sim_per_second(const struct gp__sim_result *r, uint64_t n);
/* Sums up by class, the most urgent first. Returns the number of classes. */
size_t sim_sum_classes(const struct gp__sim_result *r, struct sim_class sums[SIM_CLASSES_MAX]);

/* The decision log of a run. */
struct sim_log {
	const char *path;
	FILE *file; /* NULL: nowhere */
	bool alone; /* on standard output, and nothing else there */
};

/* Refuses to overwrite @input. 0, or an exit status after an error message. */
int sim_log_open(struct gp__env *env, struct sim_log *log, const char *path, const char *input);
/* Returns @status, or the status of a log that could not be written. */
int sim_log_close(struct gp__env *env, struct sim_log *log, int status);
int sim_replay(struct gp__env *env, const char *path, const char *copy_path);

int sim_print_text(struct gp__env *env, const struct sim_report *report);
int sim_print_json(struct gp__env *env, const struct sim_report *report);

#endif
