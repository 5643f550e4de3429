// SPDX-License-Identifier: MIT
#include "base/stats.h"

#include <errno.h>
#include <math.h>

#include "base/median.h"

/*
 * How many samples to cut at either end: the most that leave at least 95 % for
 * the median to lie between the outermost ones kept. 0: not even all suffice.
 * P(Bin(n, 1/2) = i) is summed from its logarithm, as 2^-n would underflow.
 */
static size_t ranks_outside(size_t n)
{
	double log_p = -(double)n * log(2);
	double tail = 0;
	size_t k = 0;

	while (k < n / 2) {
		tail += exp(log_p);
		if (tail > 0.025)
			break;
		log_p += log((double)(n - k)) - log((double)(k + 1));
		k++;
	}
	return k;
}

int gp__stats_of(double *samples, size_t n, struct gp__stats *stats)
{
	double median;
	size_t k;

	if (!n)
		return -ENODATA;
	median = gp__median(samples, n);
	k = ranks_outside(n);
	*stats = (struct gp__stats){
		.n = n,
		.median = median,
		.min = samples[0],
		.max = samples[n - 1],
		.has_ci = k > 0,
		.ci_lo = k ? samples[k - 1] : 0,
		.ci_hi = k ? samples[n - k] : 0,
	};
	return 0;
}
