// SPDX-License-Identifier: MIT
/*
 * How a matrix instruction sums up one result. AMD does not document it; this is what others have
 * found out on the hardware (Xie et al., "Bit-Accurate Modeling of GPU Matrix Multiply-Accumulate
 * Units", arXiv 2511.10909), MODE does not matter:
 *
 * f64 and f32 are fused multiply-adds in the order of k, with all denormals.
 *
 * gfx90a takes denormals of 16-bit elements and of C for +0, multiplies and adds as f32, and
 * flushes every result. Two products are added, and two such sums (except by the oldest bf16
 * forms), then C.
 *
 * gfx942 sums up to 8 products of 16 bits, 4 of xf32, in fixed point: 24 bits behind the point of
 * the largest product's exponent, the rest is cut off. The sum and C are brought to the larger of
 * their exponents, rounded down. With 8 bits it is 16 products, the even and the odd ones apart,
 * and C is lost where it is far below.
 *
 * The bits of a NaN are not known. Every NaN is the positive quiet one here.
 */
#include "emu/gfx9/exec_mfma.h"
#include "emu/gfx9/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAN_F32 0x7fc00000u
#define NAN_F64 0x7ff8000000000000u
#define SUM_BITS 24 /* of a sum of products behind the point; products have 20 */
#define LAST_BITS 31 /* of the sum with C */
#define MIN_EXP (-126)
#define BIAS 127
#define COLUMNS GFX9_MFMA_COLUMNS
#define STEP_MAX 16

#define ALWAYS_INLINE static inline __attribute__((always_inline))

static float float_of(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static uint32_t bits_of(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return f == f ? bits : NAN_F32;
}

static void load_floats(float *f, const uint64_t *c, unsigned int n)
{
	for (unsigned int j = 0; j < n; j++)
		f[j] = float_of((uint32_t)c[j]);
}

static void store_floats(uint64_t *c, const float *f, unsigned int n)
{
	for (unsigned int j = 0; j < n; j++)
		c[j] = bits_of(f[j]);
}

/*
 * gfx90a, 16 bits
 */

static inline float flush(float f)
{
	return fabsf(f) < 0x1p-126f ? f * 0.0f : f;
}

/* Products @e and @e + 1. */
ALWAYS_INLINE void add_pair(const struct gfx9_mfma_row *r, unsigned int e, unsigned int n,
			    float *restrict sum)
{
	const float *a = r->a->value + r->a_at + e;
	const float *b0 = r->b->value + r->b_at[e], *b1 = r->b->value + r->b_at[e + 1];

	for (unsigned int j = 0; j < n; j++)
		sum[j] = flush(flush(a[0] * b0[j]) + flush(a[1] * b1[j]));
}

ALWAYS_INLINE void sum_pairs(const struct gfx9_mfma_row *r, unsigned int n, uint64_t *c)
{
	float sum[COLUMNS], s[COLUMNS], t[COLUMNS];

	load_floats(sum, c, n);
	for (unsigned int j = 0; j < n; j++)
		sum[j] = fabsf(sum[j]) < 0x1p-126f ? 0.0f : sum[j];
	for (unsigned int e = 0; e < r->terms; e += r->step) {
		add_pair(r, e, n, s);
		if (r->step == 4) {
			add_pair(r, e + 2, n, t);
			for (unsigned int j = 0; j < n; j++)
				s[j] = flush(s[j] + t[j]);
		}
		for (unsigned int j = 0; j < n; j++)
			sum[j] = flush(sum[j] + s[j]);
	}
	store_floats(c, sum, n);
}

/*
 * gfx942
 */

/* Rounds down; shifts of any length. */
static inline int64_t shift_down(int64_t v, int by)
{
	return v >> (by < 63 ? by : 63);
}

/* Some products of a row: terms @first to @end, @every apart. */
struct part {
	unsigned int first, end, every;
};

/* Infinities and NaNs, or a product that is too large for a float. False: there are none. */
static bool sum_special(const struct gfx9_mfma_row *r, struct part p, unsigned int j, float *sum)
{
	double s = isfinite(*sum) ? 0 : (double)*sum;

	for (unsigned int e = p.first; e < p.end; e++) {
		double product =
			(double)r->a->value[r->a_at + e] * (double)r->b->value[r->b_at[e] + j];

		if (!isfinite(product))
			s += product;
		else if (fabs(product) >= 0x1p128)
			s += product > 0 ? (double)INFINITY : -(double)INFINITY;
	}
	if (isfinite(s))
		return false;
	*sum = (float)s;
	return true;
}

/* Sums of products with SUM_BITS behind the point of the largest exponent, which is @exp. */
ALWAYS_INLINE void sum_products(const struct gfx9_mfma_row *r, struct part p, unsigned int n,
				int32_t *restrict sum, int32_t *restrict exp)
{
	int32_t product[STEP_MAX][COLUMNS], e[STEP_MAX][COLUMNS];
	unsigned int nr = 0;

	for (unsigned int j = 0; j < n; j++) {
		exp[j] = 2 * GFX9_MFMA_EXP_ZERO;
		sum[j] = 0;
	}
	for (unsigned int k = p.first; k < p.end; k += p.every, nr++) {
		const int16_t *bs = r->b->sig + r->b_at[k], *be = r->b->exp + r->b_at[k];
		int32_t as = r->a->sig[r->a_at + k] * 16, ae = r->a->exp[r->a_at + k];

		for (unsigned int j = 0; j < n; j++) {
			product[nr][j] = as * bs[j];
			e[nr][j] = ae + be[j];
			exp[j] = e[nr][j] > exp[j] ? e[nr][j] : exp[j];
		}
	}
	for (unsigned int k = 0; k < nr; k++) {
		for (unsigned int j = 0; j < n; j++) {
			int32_t by = exp[j] - e[k][j], v = product[k][j], size = v < 0 ? -v : v;

			size >>= by < 31 ? by : 31;
			sum[j] += v < 0 ? -size : size;
		}
	}
}

/* With even and odd products apart: their sum. */
ALWAYS_INLINE void sum_halves(const struct gfx9_mfma_row *r, struct part p, unsigned int n,
			      int32_t *restrict sum, int32_t *restrict exp)
{
	int32_t odd[COLUMNS], odd_exp[COLUMNS];

	sum_products(r, (struct part){ p.first, p.end, 2 }, n, sum, exp);
	sum_products(r, (struct part){ p.first + 1, p.end, 2 }, n, odd, odd_exp);
	for (unsigned int j = 0; j < n; j++) {
		int32_t max = exp[j] > odd_exp[j] ? exp[j] : odd_exp[j];

		sum[j] = (int32_t)(shift_down(sum[j], max - exp[j]) +
				   shift_down(odd[j], max - odd_exp[j]));
		exp[j] = max;
	}
}

/* 2^@n, in the range of normal doubles. */
static inline double power(int n)
{
	uint64_t bits = (uint64_t)(n + 1023) << 52;
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

/* @v with LAST_BITS + 1 behind the point of @exp, as a float; first to LAST_BITS of its own. */
static inline float round_sum(int64_t v, int exp)
{
	int own, drop;

	if (!v)
		return 0.0f;
	own = exp - LAST_BITS - 1 + 63 - __builtin_clzll((unsigned long long)llabs(v));
	drop = (own > MIN_EXP ? own : MIN_EXP) - exp + 1;
	if (drop > 0)
		v = shift_down(v, drop) * ((int64_t)1 << drop);
	return (float)((double)v * power(exp - LAST_BITS - 1));
}

/* C and a sum of products, both brought to the larger of their exponents. */
static inline float add_c(int32_t sum, int sum_exp, float c, bool halves)
{
	uint32_t bits;
	int32_t sig;
	int64_t rest;
	int exp, max;

	memcpy(&bits, &c, sizeof(bits));
	sig = (int32_t)(bits & 0x7fffff);
	exp = (int)(bits >> 23 & 255);
	if (exp)
		sig |= 0x800000;
	else
		exp = 1;
	exp -= BIAS;
	max = sum_exp > exp ? sum_exp : exp;
	rest = shift_down((bits >> 31 ? -(int64_t)sig : sig) * 2, max - exp);
	if (halves && exp < max - SUM_BITS - 1)
		rest = 0;
	return round_sum(shift_down((int64_t)sum * 256, max - sum_exp) + rest * 256, max);
}

ALWAYS_INLINE void sum_fused(const struct gfx9_mfma_row *r, unsigned int n, uint64_t *c,
			     bool halves)
{
	int32_t s[COLUMNS], exp[COLUMNS];
	float sum[COLUMNS];

	load_floats(sum, c, n);
	for (unsigned int e = 0; e < r->terms; e += r->step) {
		struct part p = { e, e + r->step < r->terms ? e + r->step : r->terms, 1 };

		if (halves)
			sum_halves(r, p, n, s, exp);
		else
			sum_products(r, p, n, s, exp);
		for (unsigned int j = 0; j < n; j++) {
			if ((exp[j] >= BIAS || !isfinite(sum[j])) && sum_special(r, p, j, &sum[j]))
				continue;
			sum[j] = add_c(s[j], exp[j], sum[j], halves);
		}
	}
	store_floats(c, sum, n);
}

/*
 * Other types
 */

ALWAYS_INLINE void sum_chain(const struct gfx9_mfma_row *r, unsigned int n, uint64_t *c)
{
	float sum[COLUMNS];

	load_floats(sum, c, n);
	for (unsigned int e = 0; e < r->terms; e++) {
		const float *b = r->b->value + r->b_at[e];
		float a = r->a->value[r->a_at + e];

		for (unsigned int j = 0; j < n; j++)
			sum[j] = __builtin_fmaf(a, b[j], sum[j]);
	}
	store_floats(c, sum, n);
}

ALWAYS_INLINE void sum_double(const struct gfx9_mfma_row *r, unsigned int n, uint64_t *c)
{
	double sum[COLUMNS];

	memcpy(sum, c, n * sizeof(*sum));
	for (unsigned int e = 0; e < r->terms; e++) {
		const double *b = r->b->wide + r->b_at[e];
		double a = r->a->wide[r->a_at + e];

		for (unsigned int j = 0; j < n; j++)
			sum[j] = __builtin_fma(a, b[j], sum[j]);
	}
	memcpy(c, sum, n * sizeof(*sum));
	for (unsigned int j = 0; j < n; j++)
		c[j] = sum[j] == sum[j] ? c[j] : NAN_F64;
}

ALWAYS_INLINE void sum_integer(const struct gfx9_mfma_row *r, unsigned int n, uint64_t *c)
{
	uint32_t sum[COLUMNS];

	for (unsigned int j = 0; j < n; j++)
		sum[j] = (uint32_t)c[j];
	for (unsigned int e = 0; e < r->terms; e++) {
		const int16_t *b = r->b->sig + r->b_at[e];
		int32_t a = r->a->sig[r->a_at + e];

		for (unsigned int j = 0; j < n; j++)
			sum[j] += (uint32_t)(a * b[j]);
	}
	for (unsigned int j = 0; j < n; j++)
		c[j] = sum[j];
}

ALWAYS_INLINE void sum_row(enum gfx9_mfma_how how, const struct gfx9_mfma_row *r, unsigned int n,
			   uint64_t *c)
{
	switch (how) {
	case GFX9_MFMA_CHAIN:
		sum_chain(r, n, c);
		return;
	case GFX9_MFMA_PAIRS:
		sum_pairs(r, n, c);
		return;
	case GFX9_MFMA_FUSED:
		sum_fused(r, n, c, false);
		return;
	case GFX9_MFMA_HALVES:
		sum_fused(r, n, c, true);
		return;
	case GFX9_MFMA_INTEGER:
		sum_integer(r, n, c);
		return;
	default:
		sum_double(r, n, c);
	}
}

void GFX9_V(mfma_sum)(enum gfx9_mfma_how how, const struct gfx9_mfma_row *r, uint64_t *c)
{
	switch (r->columns) {
	case 32:
		sum_row(how, r, 32, c);
		return;
	case 16:
		sum_row(how, r, 16, c);
		return;
	default:
		sum_row(how, r, 4, c);
	}
}
