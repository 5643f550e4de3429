/* SPDX-License-Identifier: MIT */
/* What both programs need beside a GPU: options, the time, and how long things took. */
#ifndef DEMO_PROGRAM_H
#define DEMO_PROGRAM_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* optarg as a number from @min to @max, or the program ends with a sentence about --@name. */
uint64_t program_number(const char *name, uint64_t min, uint64_t max);
/* A number with us, ms or s behind it; in nanoseconds. */
uint64_t program_duration(const char *name);

/* The host's monotonic clock. */
uint64_t program_now(void);
void program_sleep_until(uint64_t ns);

/* Any number of nanoseconds, all kept. */
struct program_times {
	uint64_t *ns;
	size_t n, room;
};

void program_times_add(struct program_times *t, uint64_t ns);
/* "WHAT: p50 ..., p99 ..., max ..." on standard output; and as p50_us, p99_us, max_us. */
void program_times_print(struct program_times *t, const char *what);
json_t *program_times_json(struct program_times *t);

/* On standard output, in one line; releases it. */
void program_print(json_t *object);

#endif
