/* SPDX-License-Identifier: MIT */
/*
 * gpreempt report: what a decision log says about sharing GPUs, for the person who decides whether
 * it is worth it. report.c parses and prints, report_figures.c computes figures from a history,
 * report_sim.c simulates what another policy would have done, report_log.c makes the page.
 */
#ifndef GP_CLI_REPORT_H
#define GP_CLI_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/env.h"
#include "view/history.h"

/* With fewer pieces of work there is no p50, and no p99. */
#define REPORT_P50_PIECES 20
#define REPORT_P99_PIECES 100

struct report_class {
	enum gp__class class;
	u32 groups;
	u64 *latency; /* of its pieces of work, ns, sorted */
	size_t n;
	u64 used, waited, longest_wait;
};

struct report_user {
	u32 id; /* GP__NOBODY: not known */
	u32 groups;
	u64 used, waited, longest_wait;
};

/* Holds of a group for the same other group, by the same rule. */
struct report_cause {
	const struct gp__history_group *held;
	u32 by; /* id; 0: none */
	u8 rule;
	u64 nr, waited, longest;
};

struct report {
	const char *name; /* of the log, for people */
	struct gp__history history;
	struct report_class
		classes[GP__CLASS_COUNT]; /* the most urgent first; without groups: not there */
	size_t nr_classes;
	struct report_user *users; /* those that used most first */
	size_t nr_users;
	struct report_cause *causes; /* those that cost most first */
	size_t nr_causes;
	const struct gp__history_group *
		*groups; /* with work, those that used or waited most first */
	size_t nr_groups;
	u64 length, used, waited, busy, wasted, holds; /* busy, wasted: of all GPUs */
};

/* Computes the figures from the history, which is finished. False: out of memory. */
bool report_compute(struct report *r);
void report_free(struct report *r);

/* "train (pid 12)". Returns @buf. */
const char *report_group_name(char *buf, size_t n, const struct gp__history_group *g);
/* A quantile of pieces of work in ns; negative: there are too few for it. */
double report_p50(const struct report_class *c);
double report_p99(const struct report_class *c);
double report_pct(u64 part, u64 all);

/*
 * Another policy on the same day, or another log
 */

/* What is compared of one run. Times in ns; negative: not known. */
struct report_run {
	char name[64];
	struct {
		size_t pieces;
		double p50, p99, waited, used;
	} classes[GP__CLASS_COUNT];
	double busy_pct, wasted_pct, longest_wait;
	u64 holds;
};

#define REPORT_RUNS_MAX 6

struct report_comparison {
	bool is_simulated; /* else of logs */
	/* The first is what was measured; if simulated, the second is the same policy again. */
	struct report_run runs[REPORT_RUNS_MAX];
	size_t nr_runs;
	char refused[512]; /* why it cannot be compared; "": it can */
};

void report_run_measured(const struct report *r, const char *name, struct report_run *run);
/*
 * Simulates the work of the log under its own policy, and if that gives what was measured, under
 * each of @policies, which ends with NULL. 0 or -ENOMEM; c->refused says if it does not.
 */
int report_simulate(const struct report *r, const struct gp__policy *const *policies,
		    struct report_comparison *c);

/*
 * Showing it
 */

/* @c: NULL without a comparison. */
json_t *report_json(const struct report *r, const struct report_comparison *c);
json_t *report_log_page(const struct report *r, const struct report_comparison *c);

#endif
