/* SPDX-License-Identifier: MIT */
/* Between `gpreempt bench opencl` and its programs, which know nothing of gpreempt: a file that
 * both map into their memory. */
#ifndef GP_BENCH_OPENCL_PAIR_H
#define GP_BENCH_OPENCL_PAIR_H

#include <stdatomic.h>
#include <stdint.h>

#define PAIR_REQUESTS_MAX 1000
#define PAIR_PAGE 4096

struct pair {
	_Atomic uint32_t ready; /* the program has all that it needs */
	_Atomic uint32_t go, over; /* from the benchmark: begin, and end */
	_Atomic uint32_t done; /* it has done what it was to do */
	/* Of what trains: kernels that have ended, and when the latest has, CLOCK_MONOTONIC. */
	_Atomic uint64_t nr_ended, ended_ns;
	uint64_t work_ns, cpu_ns; /* of what works: wall time, and that of all its threads */
	uint64_t latency_ns[PAIR_REQUESTS_MAX]; /* of what serves */
	/* Of what trains: work-groups that have ended, counted by the kernels, where their memory
	 * is the host's. A page of its own. */
	_Alignas(PAIR_PAGE) _Atomic uint32_t nr_groups;
};

#endif
