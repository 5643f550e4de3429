/* SPDX-License-Identifier: MIT */
/* The results of two streams of jobs on one GPU, and figures of them. */
#ifndef GP_BENCH_LEVELS_H
#define GP_BENCH_LEVELS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define LEVELS_JOBS_MAX 4096

struct levels_job {
	uint64_t begin_ns, end_ns; /* of the GPU's clock */
	uint64_t wall_ns;
};

/* The jobs of one stream, one after the other. Jobs that ended in time count. */
struct levels_jobs {
	struct levels_job job[LEVELS_JOBS_MAX];
	size_t nr; /* that count */
	size_t nr_all; /* including one that was cut off at the end */
};

/* Sets NAME_p50_ms, NAME_p99_ms and NAME_wall_p50_ms: null if there are no jobs. */
void levels_set_latency(json_t *row, const char *name, const struct levels_jobs *jobs);
/* The ratio of the medians of their jobs. 0: unknown. */
double levels_ratio(const struct levels_jobs *low, const struct levels_jobs *high);
double levels_wall_ratio(const struct levels_jobs *low, const struct levels_jobs *high);
/* The time with pending jobs, up to @end_ns. */
uint64_t levels_ready_ns(const struct levels_jobs *a, const struct levels_jobs *b, uint64_t end_ns);

#endif
