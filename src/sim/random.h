/* SPDX-License-Identifier: MIT */
/*
 * Random numbers of the simulator: reproducible, never secret.
 *
 * Each consumer of randomness owns a generator seeded from (seed, its name, which of its draws),
 * so that adding, removing or reordering programs does not change the numbers of others. Every
 * sample of one kind of distribution takes the same number of draws.
 */
#ifndef GP_SIM_RANDOM_H
#define GP_SIM_RANDOM_H

#include <stdint.h>

#include "base/clock.h"

/* Longest time the simulator knows: a year, so that sums of a few never overflow. */
#define GP__TIME_MAX_NS (365 * 24 * 3600 * GP__S)

struct gp__rng {
	uint64_t s[4];
};

/* The series of draws of one owner. */
enum gp__draw {
	GP__DRAW_ARRIVAL,
	GP__DRAW_KERNEL,
	GP__DRAW_GAP,
	GP__DRAW_THINK,
	GP__DRAW_VERB,
	GP__DRAW_FAIL,
	GP__DRAW_SEE,
};

void gp__rng_init(struct gp__rng *rng, uint64_t seed, const char *owner, enum gp__draw draw);
uint64_t gp__rng_u64(struct gp__rng *rng);

/* Uniform in [0, 1). */
double gp__rng_unit(struct gp__rng *rng);

/* True with probability @p; takes a draw whatever @p is. */
int gp__rng_chance(struct gp__rng *rng, double p);

enum gp__dist_kind {
	GP__DIST_FIXED, /* a */
	GP__DIST_UNIFORM, /* a <= x <= b */
	GP__DIST_LOGNORMAL, /* median a, sigma of the logarithm */
	GP__DIST_EXP, /* mean a */
};

/* A distribution of times. All zero is "always 0". */
struct gp__dist {
	enum gp__dist_kind kind;
	uint64_t a_ns;
	uint64_t b_ns;
	double sigma;
};

/* At most GP__TIME_MAX_NS; a lognormal or exponential time is at least 1 ns. */
uint64_t gp__dist_sample(const struct gp__dist *dist, struct gp__rng *rng);

#endif
