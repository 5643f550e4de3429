/* SPDX-License-Identifier: MIT */
/*
 * Benchmark harness: times, repeats, compares and prints.
 *
 * A benchmark is a function that makes rows; each row is a flat JSON object with the same keys,
 * which is also a line of the table that people see. A measured value is the median of repeats with
 * its 95 % interval. Two ways of doing one thing are compared in interleaved pairs, so that a
 * machine that slows down slows both.
 *
 * It measures wall time on this machine only: it is the wrong tool for a GPU's own time, and for
 * anything that one call does not repeat.
 */
#ifndef GP_BASE_BENCH_H
#define GP_BASE_BENCH_H

#include "base/compiler.h"
#include "base/env.h"
#include "base/stats.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define GP__BENCH_BUDGET_S 50
#define GP__BENCH_REPEATS 21
#define GP__BENCH_QUICK_REPEATS 7
#define GP__BENCH_REPEATS_MAX 1001

struct gp__bench_options {
	bool quick; /* fewer and shorter repeats: for tests, not for figures */
	unsigned int repeats; /* 0: as quick says */
	int cpu; /* pin the measuring thread there; -1: not */
	unsigned int budget_s; /* 0: GP__BENCH_BUDGET_S */
	const char *device; /* one of the benchmark's; NULL: its first */
};

struct gp__bench_run;

struct gp__bench {
	const char *name;
	const char *description;
	int (*run)(struct gp__bench_run *run); /* 0 or a negative errno */
	const char *devices; /* the devices to choose from, "emu amd"; NULL: none */
};

/* Whether a benchmark can be run on it. */
bool gp__bench_has_device(const struct gp__bench *bench, const char *device);

/*
 * Runs one benchmark and prints it as env says. 0 or a negative errno, with the
 * reason told through gp__env_fail().
 */
int gp__bench_main(struct gp__env *env, const struct gp__bench *bench,
		   const struct gp__bench_options *options);

/* For benchmarks. */

/* Adds a row and takes the reference. The first row's keys are the columns. */
void gp__bench_row(struct gp__bench_run *run, json_t *row);
/* Sets the device that was measured; "host" by default. */
void gp__bench_device(struct gp__bench_run *run, const char *device);
/* Whether this device was chosen. */
bool gp__bench_chose(const struct gp__bench_run *run, const char *device);
/*
 * Adds a summary of the rows: @value goes beside the results in JSON, and the reference with it;
 * people see the sentence below the table, on a line of its own.
 */
GP__PRINTF(4, 5)
void gp__bench_summary(struct gp__bench_run *run, const char *key, json_t *value, const char *fmt,
		       ...);
/* Why a benchmark fails or a row is missing, for people. Returns err. */
GP__PRINTF(3, 4)
int gp__bench_fail(struct gp__bench_run *run, int err, const char *fmt, ...);
bool gp__bench_quick(const struct gp__bench_run *run);
unsigned int gp__bench_repeats(const struct gp__bench_run *run);
/* Nothing more should be started when this is 0. */
uint64_t gp__bench_left_ns(const struct gp__bench_run *run);
/* Fewer repeats were taken than were asked for, for want of time. */
void gp__bench_cut_short(struct gp__bench_run *run);

/* Does the measured thing times over. 0 or a negative errno, which ends the benchmark. */
typedef int gp__bench_fn(void *arg, uint64_t times);

/*
 * Nanoseconds of one turn when many follow each other ("hot"). The number of
 * turns a repeat has is found so that the clock does not matter.
 */
int gp__bench_hot(struct gp__bench_run *run, gp__bench_fn *fn, void *arg, struct gp__stats *ns);
/*
 * Nanoseconds of a single turn, one clock read included, after before(arg) has
 * made things cold; before NULL: after the caches were filled with other data.
 */
int gp__bench_cold(struct gp__bench_run *run, gp__bench_fn *fn, void (*before)(void *arg),
		   void *arg, struct gp__stats *ns);

struct gp__bench_pair {
	struct gp__stats a_ns;
	struct gp__stats b_ns;
	struct gp__stats ratio; /* a / b of each pair */
};

/* As gp__bench_hot(), a and b in turns: a b, b a, a b, ... */
int gp__bench_compare(struct gp__bench_run *run, gp__bench_fn *a, void *a_arg, gp__bench_fn *b,
		      void *b_arg, struct gp__bench_pair *pair);

/* Sets KEY, KEY_lo and KEY_hi (with the unit moved to the end): median and interval. */
void gp__bench_set(json_t *row, const char *name, const char *unit, const struct gp__stats *stats);

#endif
