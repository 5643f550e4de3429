/* SPDX-License-Identifier: MIT */
/*
 * Log-linear histogram of 64-bit values: 30 KiB, no allocation, any range.
 *
 * Values below 128 are kept exactly; above, each power of two is cut into 64
 * equal buckets, so a quantile is off by less than 0.8 % of the value. Count,
 * mean, smallest and largest are exact. An empty histogram answers -ENODATA,
 * never 0.
 *
 * The wrong tool for a handful of samples (keep and sort them) and for threads
 * recording into one histogram: there is no lock; record apart, then merge.
 */
#ifndef GP_BASE_HIST_H
#define GP_BASE_HIST_H

#include <stdint.h>

#define GP__HIST_SUB_BITS 6
#define GP__HIST_SUB (1u << GP__HIST_SUB_BITS)
#define GP__HIST_BUCKETS ((64u - GP__HIST_SUB_BITS + 1u) * GP__HIST_SUB)

/* Zeroed memory is an empty histogram. */
struct gp__hist {
	uint64_t count;
	uint64_t min;
	uint64_t max;
	uint64_t sum_lo;
	uint64_t sum_hi;
	uint64_t bucket[GP__HIST_BUCKETS];
};

void gp__hist_record(struct gp__hist *h, uint64_t value);
void gp__hist_merge(struct gp__hist *into, const struct gp__hist *from);

/*
 * The value that a share q of the samples does not exceed; q from 0 to 1.
 * 0 gives the smallest and 1 the largest sample exactly. Each returns 0,
 * -ENODATA without samples or -EINVAL for a q out of range.
 */
int gp__hist_quantile(const struct gp__hist *h, double q, uint64_t *value);
int gp__hist_mean(const struct gp__hist *h, double *value);

#endif
