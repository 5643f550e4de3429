// SPDX-License-Identifier: MIT
/*
 * xoshiro256** (Blackman and Vigna), its state filled by splitmix64 as its authors advise.
 */
#include "sim/random.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"

#define TWO_PI 6.283185307179586

static uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Seed, owner and draw are mixed one after the other: XORed together, two could cancel out. */
void gp__rng_init(struct gp__rng *rng, uint64_t seed, const char *owner, enum gp__draw draw)
{
	uint64_t state = seed;

	state = splitmix64(&state) ^ gp__hash(GP__HASH_START, owner, strlen(owner));
	state = splitmix64(&state) ^ (uint64_t)draw;
	for (int i = 0; i < 4; i++)
		rng->s[i] = splitmix64(&state);
}

static uint64_t rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

uint64_t gp__rng_u64(struct gp__rng *rng)
{
	uint64_t *s = rng->s;
	uint64_t result = rotl(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

double gp__rng_unit(struct gp__rng *rng)
{
	return (double)(gp__rng_u64(rng) >> 11) * 0x1p-53;
}

int gp__rng_chance(struct gp__rng *rng, double p)
{
	return gp__rng_unit(rng) < p;
}

/* Box-Muller; the second value is thrown away so that a sample is always two draws. */
static double sample_normal(struct gp__rng *rng)
{
	double radius = sqrt(-2.0 * log(1.0 - gp__rng_unit(rng)));

	return radius * cos(TWO_PI * gp__rng_unit(rng));
}

static uint64_t sample_uniform(const struct gp__dist *dist, struct gp__rng *rng)
{
	__extension__ typedef unsigned __int128 u128;
	uint64_t values = dist->b_ns - dist->a_ns + 1;

	return dist->a_ns + (uint64_t)(((u128)gp__rng_u64(rng) * values) >> 64);
}

static uint64_t to_time(double ns)
{
	if (ns >= (double)GP__TIME_MAX_NS)
		return GP__TIME_MAX_NS;
	return ns < 1.0 ? 1 : (uint64_t)(ns + 0.5);
}

uint64_t gp__dist_sample(const struct gp__dist *dist, struct gp__rng *rng)
{
	switch (dist->kind) {
	case GP__DIST_UNIFORM:
		return sample_uniform(dist, rng);
	case GP__DIST_LOGNORMAL:
		return to_time((double)dist->a_ns * exp(dist->sigma * sample_normal(rng)));
	case GP__DIST_EXP:
		return to_time((double)dist->a_ns * -log(1.0 - gp__rng_unit(rng)));
	case GP__DIST_FIXED:
		break;
	}
	return dist->a_ns;
}
