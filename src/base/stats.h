/* SPDX-License-Identifier: MIT */
/*
 * Medians of few samples with a confidence interval that assumes nothing about
 * how they are distributed: two order statistics chosen from the binomial
 * distribution. Fewer than six samples have no 95 % interval, and get none.
 */
#ifndef GP_BASE_STATS_H
#define GP_BASE_STATS_H

#include <stdbool.h>
#include <stddef.h>

struct gp__stats {
	size_t n;
	double median;
	double min;
	double max;
	bool has_ci; /* of the median, at 95 % */
	double ci_lo;
	double ci_hi;
};

/* Sorts the samples. 0, or -ENODATA when there is none. */
int gp__stats_of(double *samples, size_t n, struct gp__stats *stats);

#endif
