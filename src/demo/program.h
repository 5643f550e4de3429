/* SPDX-License-Identifier: MIT */
/* Options, time and statistics, for both programs. */
#ifndef DEMO_PROGRAM_H
#define DEMO_PROGRAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An option --@name; its value goes to one of these pointers. */
struct program_option {
	const char *name;
	bool *flag; /* takes no value */
	uint64_t *number; /* from @min to @max */
	uint64_t min, max;
	uint64_t *duration_ns; /* a number with us, ms or s behind it */
	const char **text;
};

#define PROGRAM_OPTIONS_MAX 16

/* An unknown option or invalid value ends the program with a sentence. */
void program_options(const struct program_option *known, size_t n, int argc, char **argv,
		     const char *usage);

/* The host's monotonic clock. */
uint64_t program_now(void);
void program_sleep_until(uint64_t ns);

/* Samples in nanoseconds; all are kept. */
struct program_times {
	uint64_t *ns;
	size_t n, room;
};

void program_times_add(struct program_times *t, uint64_t ns);
/* "WHAT: p50 ..., p99 ..., max ..." on standard output; and as p50_us, p99_us, max_us. */
void program_times_print(struct program_times *t, const char *what);
json_t *program_times_json(struct program_times *t);

/* Prints it on standard output, in one line; releases it. */
void program_print(json_t *object);

#endif
