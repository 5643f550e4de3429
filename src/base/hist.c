// SPDX-License-Identifier: MIT
#include "base/hist.h"

#include <errno.h>

/*
 * The top GP__HIST_SUB_BITS + 1 bits of a value choose its bucket: the position
 * of the leading one picks the octave, the bits behind it the place in it. The
 * first two octaves of buckets hold one value each.
 */
static unsigned int bucket_of(uint64_t value)
{
	unsigned int shift;

	if (value < 2 * GP__HIST_SUB)
		return (unsigned int)value;
	shift = 63u - (unsigned int)__builtin_clzll(value) - GP__HIST_SUB_BITS;
	return shift * GP__HIST_SUB + (unsigned int)(value >> shift);
}

static uint64_t bucket_middle(unsigned int bucket)
{
	unsigned int shift;

	if (bucket < 2 * GP__HIST_SUB)
		return bucket;
	shift = bucket / GP__HIST_SUB - 1;
	return ((uint64_t)(bucket - shift * GP__HIST_SUB) << shift) + (1ull << shift >> 1);
}

static void add_to_sum(struct gp__hist *h, uint64_t lo, uint64_t hi)
{
	h->sum_hi += hi + __builtin_add_overflow(h->sum_lo, lo, &h->sum_lo);
}

static void widen(struct gp__hist *h, uint64_t min, uint64_t max)
{
	if (!h->count || min < h->min)
		h->min = min;
	if (!h->count || max > h->max)
		h->max = max;
}

void gp__hist_record(struct gp__hist *h, uint64_t value)
{
	widen(h, value, value);
	add_to_sum(h, value, 0);
	h->count++;
	h->bucket[bucket_of(value)]++;
}

void gp__hist_merge(struct gp__hist *into, const struct gp__hist *from)
{
	if (!from->count)
		return;
	widen(into, from->min, from->max);
	add_to_sum(into, from->sum_lo, from->sum_hi);
	into->count += from->count;
	for (unsigned int i = 0; i < GP__HIST_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
}

/* Nearest rank, from 1. The nudge keeps 0.999 * 1000 at 999 whatever the rounding. */
static uint64_t rank_of(uint64_t count, double q)
{
	double exact = q * (double)count * (1 - 1e-12);
	uint64_t rank = (uint64_t)exact;

	if ((double)rank < exact)
		rank++;
	return rank;
}

static uint64_t value_at_rank(const struct gp__hist *h, uint64_t rank)
{
	uint64_t value;
	uint64_t seen = 0;
	unsigned int i = 0;

	for (; i < GP__HIST_BUCKETS - 1; i++) {
		seen += h->bucket[i];
		if (seen >= rank)
			break;
	}
	value = bucket_middle(i);
	if (value < h->min)
		return h->min;
	return value > h->max ? h->max : value;
}

int gp__hist_quantile(const struct gp__hist *h, double q, uint64_t *value)
{
	if (!(q >= 0 && q <= 1))
		return -EINVAL;
	if (!h->count)
		return -ENODATA;
	if (q == 0)
		*value = h->min;
	else if (q == 1)
		*value = h->max;
	else
		*value = value_at_rank(h, rank_of(h->count, q));
	return 0;
}

int gp__hist_mean(const struct gp__hist *h, double *value)
{
	if (!h->count)
		return -ENODATA;
	*value = ((double)h->sum_hi * 0x1p64 + (double)h->sum_lo) / (double)h->count;
	return 0;
}
