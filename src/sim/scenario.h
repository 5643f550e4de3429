/* SPDX-License-Identifier: MIT */
/*
 * A scenario, as gpreempt-scenario(5) describes it, as plain data.
 *
 * A section of the file is a *spec*; `count` makes several GPUs or programs of one spec, and those
 * are what is simulated: `gpus` and `programs`, each with a name of its own. All of it is checked:
 * indices are in range, names are unique, times are at most GP__TIME_MAX_NS. The exception is
 * policy, policy.KEY and core.KEY, which the core judges; `file` and `line` are there to report it.
 */
#ifndef GP_SIM_SCENARIO_H
#define GP_SIM_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"
#include "sim/random.h"

#define GP__SCENARIO_NAME_LEN 48 /* of one GPU or program, with the NUL */
#define GP__SCENARIO_MAX_GPUS 4096
#define GP__SCENARIO_MAX_PROGRAMS 100000
#define GP__SCENARIO_MAX_QUEUES 1000000
#define GP__SCENARIO_MAX_BYTES (1 << 20)

/* An error in a file; people see `FILE:LINE: sentence`. */
struct gp__scenario_error {
	unsigned int line; /* 0: the file as a whole */
	char text[512];
};

struct gp__scenario_param {
	char *name; /* without "policy." or "core." */
	char *value;
	unsigned int line;
};

struct gp__scenario_params {
	struct gp__scenario_param *v;
	size_t n;
};

/* How long a stop or a start took that was ordered at that time, when it was recorded. */
struct gp__recorded_time {
	uint64_t at, took;
};

struct gp__gpu_spec {
	char name[GP__SCENARIO_NAME_LEN];
	unsigned int line;
	uint32_t count;
	uint64_t vram_bytes; /* 0: not modelled */
	uint32_t levels; /* bit n: level n is offered, n = 1..3 */
	struct gp__dist interrupt; /* Lv3 */
	struct gp__dist restore;
	struct gp__dist deactivate; /* Lv2 */
	struct gp__dist reactivate;
	struct gp__dist launch; /* Lv1: handing over one command */
	struct gp__dist switch_cost; /* GPU time lost by one stop and start */
	struct gp__dist sees; /* until the scheduler knows that an idle queue has work */
	struct gp__dist settles; /* without work until the scheduler knows that a queue is idle */
	struct gp__dist cold; /* GPU time lost when a program runs after another one */
	/* In place of `interrupt` and `restore`, if there are any: the one that is nearest in time.
	 * The caller's, by time, and not from a file. */
	const struct gp__recorded_time *stops, *starts;
	size_t n_stops, n_starts;
	uint64_t says_it_sees_ns; /* to the core, in place of `sees`; 0: as `sees`. Not from a file
				   */
	bool weighs;
	double fail; /* probability that a stop fails */
};

enum gp__arrivals_kind {
	GP__ARRIVALS_PERIODIC, /* first at `start`, then every `interval` */
	GP__ARRIVALS_POISSON, /* first at `start` + `interval`, exponential */
	GP__ARRIVALS_TRACE, /* at `start` + trace_ns[i], ascending */
	GP__ARRIVALS_CLOSED, /* at `start`, then `think` after the last job is done */
	GP__ARRIVALS_RECORDED, /* as `recorded` says; not from a file */
};

/* A job of a program that ran before. */
struct gp__recorded_job {
	uint64_t
		at; /* when it arrives; if it follows, how long after the jobs before it are done */
	uint64_t work_ns;
	bool follows;
};

struct gp__arrivals {
	enum gp__arrivals_kind kind;
	struct gp__dist interval;
	struct gp__dist think;
	uint64_t *trace_ns;
	size_t n_trace;
	const struct gp__recorded_job *recorded; /* the caller's; one kernel each */
	size_t n_recorded; /* with `repeats`, two at least */
	bool repeats; /* after the last one it goes on with the second */
};

struct gp__program_spec {
	char name[GP__SCENARIO_NAME_LEN];
	unsigned int line;
	uint32_t count;
	uint32_t *gpus; /* into scenario->gpus */
	uint32_t n_gpus;
	bool gang;
	char tag[GP__TAG_MAX]; /* "" if none */
	int32_t priority;
	uint32_t streams;
	uint32_t level; /* asked for, 1..3 */
	uint32_t window; /* 0: auto */
	uint32_t batch; /* 0: auto */
	uint64_t deadline_ns; /* after arrival; 0: none */
	uint32_t share_pct; /* 0: none asked */
	uint32_t min_share_pct; /* 0: core's default */
	uint32_t weight; /* 100 is the default */
	uint64_t max_hold_ns; /* 0: core's default */
	uint64_t memory_bytes; /* on each GPU used */

	struct gp__arrivals arrivals;
	uint64_t start_ns;
	uint64_t stop_ns; /* no job arrives from here on; duration at most */
	uint64_t jobs; /* no more than so many; 0: no limit */
	uint64_t hint_ns; /* arrivals are announced so much ahead; 0: never */

	uint32_t kernels; /* of one job, on each stream and GPU */
	struct gp__dist kernel; /* alone on the GPU */
	struct gp__dist first; /* the first kernel of a job that is a request; all 0: it is none */
	uint32_t concurrent; /* requests in progress at once */
	struct gp__dist gap; /* CPU time between two kernels; all 0: submitted at once */
};

struct gp__scenario_gpu {
	char name[GP__SCENARIO_NAME_LEN];
	struct gp__gpu_spec *spec;
};

struct gp__scenario_program {
	char name[GP__SCENARIO_NAME_LEN];
	struct gp__program_spec *spec;
	uint32_t process; /* equal numbers: one process; < scenario->n_processes */
	uint32_t user; /* equal numbers: one user */
	const uint32_t *gpus; /* one, or all of a gang's */
	uint32_t n_gpus;
};

struct gp__scenario {
	char *file; /* as messages call it */
	char *title;
	char **notes;
	size_t n_notes;
	uint64_t duration_ns;
	uint64_t warmup_ns; /* left out of the statistics; < duration */
	uint64_t seed;
	char policy[GP__SCENARIO_NAME_LEN];
	unsigned int policy_line; /* 0: the default policy */
	struct gp__scenario_params policy_params;
	struct gp__scenario_params core_params;

	struct gp__gpu_spec *gpu_specs;
	size_t n_gpu_specs;
	struct gp__program_spec *program_specs;
	size_t n_program_specs;

	struct gp__scenario_gpu *gpus;
	size_t n_gpus;
	struct gp__scenario_program *programs;
	size_t n_programs;
	uint32_t n_processes;
};

/*
 * Parse @len bytes at @text; @file is the name for messages. 0, -EINVAL with @err filled,
 * or -ENOMEM. On success the caller frees @out with gp__scenario_free().
 */
int gp__scenario_parse(const char *file, const char *text, size_t len, struct gp__scenario **out,
		       struct gp__scenario_error *err);

/* The same for the file at @path ("-": standard input). Also -errno of open and read, @err filled.
 */
int gp__scenario_load(const char *path, struct gp__scenario **out, struct gp__scenario_error *err);

void gp__scenario_free(struct gp__scenario *scenario);

#endif
