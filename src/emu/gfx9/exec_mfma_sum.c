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
 * What nobody has found out: the bits of a NaN. Every NaN is the positive quiet one here.
 */
#include "emu/gfx9/exec_mfma.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAN_F32 0x7fc00000u
#define NAN_F64 0x7ff8000000000000u
#define SIG_BITS 10 /* of an element behind the point */
#define SUM_BITS 24 /* of a sum of products */
#define LAST_BITS 31 /* of the sum with C */
#define MIN_EXP (-126)
#define BIAS 127

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

static double double_of(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

static uint64_t bits_of64(double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	return d == d ? bits : NAN_F64;
}

/*
 * Elements
 */

/* A float of @mantissa bits whose exponents begin at @bias; @special: the highest one is Inf, NaN.
 */
static void element(uint32_t bits, unsigned int width, unsigned int mantissa, int bias,
		    bool special, double *value, int16_t *sig, int16_t *exp)
{
	int e = (int)(bits >> mantissa & ((1u << (width - 1 - mantissa)) - 1));
	int32_t m = (int32_t)(bits & ((1u << mantissa) - 1));
	bool negative = bits >> (width - 1);

	if (special && e == (1 << (width - 1 - mantissa)) - 1) {
		*value = m ? (double)NAN : negative ? -INFINITY : INFINITY;
		*sig = 0;
		*exp = GFX9_MFMA_EXP_SPECIAL;
		return;
	}
	if (e)
		m |= 1 << mantissa;
	e = (e ? e : 1) - bias;
	m = (int32_t)((uint32_t)m << (SIG_BITS - mantissa));
	*sig = (int16_t)(negative ? -m : m);
	*exp = (int16_t)(m ? e : GFX9_MFMA_EXP_ZERO);
	*value = copysign(ldexp(m, e - SIG_BITS), negative ? -1.0 : 1.0);
}

/* Eight bits without infinities and without -0: that is the NaN. */
static void element8(uint32_t bits, unsigned int mantissa, int bias, double *value, int16_t *sig,
		     int16_t *exp)
{
	element(bits, 8, mantissa, bias, false, value, sig, exp);
	if (bits != 0x80)
		return;
	*value = (double)NAN;
	*exp = GFX9_MFMA_EXP_SPECIAL;
}

void gfx9_mfma_element(enum gfx9_mfma_type type, uint64_t bits, double *value, int16_t *sig,
		       int16_t *exp)
{
	uint32_t word = (uint32_t)bits;
	bool nan = (word & 0x7fffffff) > 0x7f800000;

	switch (type) {
	case GFX9_MFMA_F64:
		*value = double_of(bits);
		return;
	case GFX9_MFMA_F32:
		*value = (double)float_of(word);
		return;
	case GFX9_MFMA_I8:
		*value = (double)(int8_t)word;
		return;
	case GFX9_MFMA_XF32:
		element(nan ? 0x3fdff : word >> 13, 19, 10, BIAS, true, value, sig, exp);
		return;
	case GFX9_MFMA_F16:
		element(word, 16, 10, 15, true, value, sig, exp);
		return;
	case GFX9_MFMA_BF16:
		element(word, 16, 7, BIAS, true, value, sig, exp);
		return;
	case GFX9_MFMA_FP8:
		element8(word, 3, 8, value, sig, exp);
		return;
	default:
		element8(word, 2, 16, value, sig, exp);
	}
}

/*
 * gfx90a, 16 bits
 */

static float flush(float f)
{
	return fabsf(f) < 0x1p-126f ? f * 0.0f : f;
}

static float normal(const struct gfx9_mfma_vector *v, unsigned int k)
{
	bool denormal = abs(v->sig[k]) < 1 << SIG_BITS && v->exp[k] != GFX9_MFMA_EXP_SPECIAL;

	return denormal ? 0.0f : (float)v->value[k];
}

static float product(const struct gfx9_mfma_vector *a, const struct gfx9_mfma_vector *b,
		     unsigned int k)
{
	return flush(normal(a, k) * normal(b, k));
}

static uint32_t sum_pairs(unsigned int k, unsigned int step, const struct gfx9_mfma_vector *a,
			  const struct gfx9_mfma_vector *b, uint32_t c)
{
	float sum = float_of(c);

	if (fabsf(sum) < 0x1p-126f)
		sum = 0.0f;
	for (unsigned int i = 0; i < k; i += step) {
		float s = flush(product(a, b, i) + product(a, b, i + 1));

		if (step == 4)
			s = flush(s + flush(product(a, b, i + 2) + product(a, b, i + 3)));
		sum = flush(sum + s);
	}
	return bits_of(sum);
}

/*
 * gfx942
 */

/* Rounds down; shifts of any length. */
static int64_t shift_down(int64_t v, int by)
{
	return v >> (by < 63 ? by : 63);
}

/* Infinities and NaNs, or a product that is too large to be a float. False: there are none. */
static bool sum_special(unsigned int n, const struct gfx9_mfma_vector *a,
			const struct gfx9_mfma_vector *b, float c, float *sum)
{
	double s = isfinite(c) ? 0 : (double)c;

	for (unsigned int i = 0; i < n; i++) {
		double p = a->value[i] * b->value[i];

		if (!isfinite(p))
			s += p;
		else if (fabs(p) >= 0x1p128)
			s += p > 0 ? INFINITY : -INFINITY;
	}
	*sum = (float)s;
	return !isfinite(s);
}

/* The sum of @n products @every elements apart, with SUM_BITS behind the point of *@exp. */
static int32_t sum_products(unsigned int n, unsigned int every, const int16_t *as,
			    const int16_t *ae, const int16_t *bs, const int16_t *be, int *exp)
{
	int32_t p[16], sum = 0;
	int e[16], max = 2 * GFX9_MFMA_EXP_ZERO;

	for (unsigned int i = 0; i < n; i++) {
		p[i] = as[i * every] * bs[i * every] * (1 << (SUM_BITS - 2 * SIG_BITS));
		e[i] = ae[i * every] + be[i * every];
		max = e[i] > max ? e[i] : max;
	}
	for (unsigned int i = 0; i < n; i++) {
		int by = max - e[i] < 31 ? max - e[i] : 31;

		sum += p[i] < 0 ? -(-p[i] >> by) : p[i] >> by;
	}
	*exp = max;
	return sum;
}

/* Where even and odd products are apart: their sum. */
static int32_t sum_halves(unsigned int n, const struct gfx9_mfma_vector *a,
			  const struct gfx9_mfma_vector *b, int *exp)
{
	int even_exp, odd_exp;
	int32_t even = sum_products(n / 2, 2, a->sig, a->exp, b->sig, b->exp, &even_exp);
	int32_t odd =
		sum_products(n / 2, 2, a->sig + 1, a->exp + 1, b->sig + 1, b->exp + 1, &odd_exp);

	*exp = even_exp > odd_exp ? even_exp : odd_exp;
	return (int32_t)(shift_down(even, *exp - even_exp) + shift_down(odd, *exp - odd_exp));
}

/* @v with LAST_BITS + 1 behind the point of @exp, as a float; first to LAST_BITS of its own. */
static float round_sum(int64_t v, int exp)
{
	int own, drop;

	if (!v)
		return 0.0f;
	own = exp - LAST_BITS - 1 + 63 - __builtin_clzll((unsigned long long)llabs(v));
	drop = (own > MIN_EXP ? own : MIN_EXP) - exp + 1;
	if (drop > 0)
		v = shift_down(v, drop) * ((int64_t)1 << drop);
	return (float)ldexp((double)v, exp - LAST_BITS - 1);
}

/* C and a sum of products, both brought to the larger of their exponents. */
static float add_c(int32_t sum, int sum_exp, float c, bool halves)
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

static uint32_t sum_fused(unsigned int k, unsigned int step, const struct gfx9_mfma_vector *a,
			  const struct gfx9_mfma_vector *b, uint32_t c, bool halves)
{
	float sum = float_of(c);

	for (unsigned int i = 0; i < k; i += step) {
		struct gfx9_mfma_vector x = { a->value + i, a->sig + i, a->exp + i };
		struct gfx9_mfma_vector y = { b->value + i, b->sig + i, b->exp + i };
		unsigned int n = k - i < step ? k - i : step;
		float special;
		int32_t s;
		int exp;

		if (halves)
			s = sum_halves(n, &x, &y, &exp);
		else
			s = sum_products(n, 1, x.sig, x.exp, y.sig, y.exp, &exp);
		if ((exp >= BIAS || !isfinite(sum)) && sum_special(n, &x, &y, sum, &special))
			sum = special;
		else
			sum = add_c(s, exp, sum, halves);
	}
	return bits_of(sum);
}

/*
 * The others
 */

static uint32_t sum_chain(unsigned int k, const double *a, const double *b, uint32_t c)
{
	float sum = float_of(c);

	for (unsigned int i = 0; i < k; i++)
		sum = fmaf((float)a[i], (float)b[i], sum);
	return bits_of(sum);
}

static uint64_t sum_double(unsigned int k, const double *a, const double *b, uint64_t c)
{
	double sum = double_of(c);

	for (unsigned int i = 0; i < k; i++)
		sum = fma(a[i], b[i], sum);
	return bits_of64(sum);
}

static uint32_t sum_integer(unsigned int k, const double *a, const double *b, uint32_t c)
{
	for (unsigned int i = 0; i < k; i++)
		c += (uint32_t)((int32_t)a[i] * (int32_t)b[i]);
	return c;
}

uint64_t gfx9_mfma_sum(enum gfx9_mfma_how how, unsigned int k, unsigned int step,
		       const struct gfx9_mfma_vector *a, const struct gfx9_mfma_vector *b,
		       uint64_t c)
{
	switch (how) {
	case GFX9_MFMA_CHAIN:
		return sum_chain(k, a->value, b->value, (uint32_t)c);
	case GFX9_MFMA_PAIRS:
		return sum_pairs(k, step, a, b, (uint32_t)c);
	case GFX9_MFMA_FUSED:
		return sum_fused(k, step, a, b, (uint32_t)c, false);
	case GFX9_MFMA_HALVES:
		return sum_fused(k, step, a, b, (uint32_t)c, true);
	case GFX9_MFMA_INTEGER:
		return sum_integer(k, a->value, b->value, (uint32_t)c);
	default:
		return sum_double(k, a->value, b->value, c);
	}
}
