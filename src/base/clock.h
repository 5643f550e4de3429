/* SPDX-License-Identifier: MIT */
/* The monotonic clock in nanoseconds: for intervals, never for the time of day. */
#ifndef GP_BASE_CLOCK_H
#define GP_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t gp__clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#endif
