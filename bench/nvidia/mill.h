/* SPDX-License-Identifier: MIT */
/* The result of the kernels, computed on the host: any number of rounds in a few steps. */
#ifndef GP_BENCH_NVIDIA_MILL_H
#define GP_BENCH_NVIDIA_MILL_H

#include <stdint.h>

/* Applies x -> m * x + a @rounds times, by repeated squaring. */
static inline uint32_t mill_after(uint32_t v, uint64_t rounds)
{
	uint32_t m = 1664525u, a = 1013904223u;

	for (; rounds; rounds >>= 1) {
		if (rounds & 1)
			v = v * m + a;
		a = a * m + a;
		m *= m;
	}
	return v;
}

static inline uint32_t mill_seed(uint32_t id)
{
	return id * 2654435761u + 12345u;
}

/* Returns the first thread whose state is wrong after @rounds; @n: all are right. */
static inline uint32_t mill_wrong(const uint32_t *state, uint32_t n, uint64_t rounds)
{
	uint32_t i;

	for (i = 0; i < n && state[i] == mill_after(mill_seed(i), rounds); i++)
		;
	return i;
}

#endif
