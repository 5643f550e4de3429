/* SPDX-License-Identifier: MIT */
/*
 * Times counted in the buckets of a Prometheus histogram. The bounds are the same for all of them.
 *
 * There is no lock: one thread records, and it is the one that reads. Zeroed memory is empty.
 *
 * The wrong tool for quantiles: base/hist.h has finer buckets.
 */
#ifndef GP__METRICS_BUCKETS_H
#define GP__METRICS_BUCKETS_H

#include <stdint.h>

#define GP__BUCKETS 16 /* the last has no bound */

struct gp__buckets {
	uint64_t count[GP__BUCKETS]; /* of times up to the bound, and above the one before */
	uint64_t sum_ns;
};

/* In nanoseconds, ascending. */
extern const uint64_t gp__bucket_bound[GP__BUCKETS - 1];

static inline void gp__buckets_record(struct gp__buckets *b, uint64_t ns)
{
	unsigned int i = 0;

	while (i < GP__BUCKETS - 1 && ns > gp__bucket_bound[i])
		i++;
	b->count[i]++;
	b->sum_ns += ns;
}

#endif
