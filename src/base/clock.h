/* SPDX-License-Identifier: MIT */
/* The monotonic clock in nanoseconds: for intervals, never for the time of day. Units of time, and
 * sleeping. */
#ifndef GP_BASE_CLOCK_H
#define GP_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* In nanoseconds. core/types.h has the same: the core is freestanding and uses no other folder. */
#define GP__US 1000ull
#define GP__MS 1000000ull
#define GP__S 1000000000ull

static inline struct timespec gp__timespec(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / GP__S), (long)(ns % GP__S) };
}

static inline uint64_t gp__clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * GP__S + (uint64_t)ts.tv_nsec;
}

/* A signal may end it early. */
static inline void gp__sleep_ns(uint64_t ns)
{
	const struct timespec ts = gp__timespec(ns);

	nanosleep(&ts, NULL);
}

static inline double gp__to_us(uint64_t ns)
{
	return (double)ns / 1e3;
}

static inline double gp__to_ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static inline double gp__to_s(uint64_t ns)
{
	return (double)ns / 1e9;
}

#endif
