/* SPDX-License-Identifier: MIT */
/* A file that `gpreempt bench opencl` and its programs map; the programs know nothing of gpreempt.
 */
#ifndef GP_BENCH_OPENCL_PAIR_H
#define GP_BENCH_OPENCL_PAIR_H

#include <stdatomic.h>
#include <stdint.h>

#define PAIR_REQUESTS_MAX 1000
#define PAIR_PAGE 4096

struct pair {
	_Atomic uint32_t ready; /* the program is set up */
	_Atomic uint32_t go, over; /* from the benchmark: begin, and end */
	_Atomic uint32_t done; /* the program has done its work */
	/* Of the trainer: the number of ended kernels, and the time of the latest, CLOCK_MONOTONIC.
	 */
	_Atomic uint64_t nr_ended, ended_ns;
	uint64_t work_ns, cpu_ns; /* of the worker: wall time, and CPU time of all threads */
	uint64_t latency_ns[PAIR_REQUESTS_MAX]; /* of the server */
	/* Of the trainer: ended work-groups, counted by the kernels if they use host memory. In a
	 * page of its own. */
	_Alignas(PAIR_PAGE) _Atomic uint32_t nr_groups;
};

#endif
