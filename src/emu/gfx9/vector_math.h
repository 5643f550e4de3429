/* SPDX-License-Identifier: MIT */
/* Numbers as bits, for the kernels of the vector ALU: see vector.h for the results of NaNs. */
#ifndef GP__EMU_GFX9_VECTOR_MATH_H
#define GP__EMU_GFX9_VECTOR_MATH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define F32_ABS 0x7fffffffu
#define F32_INF 0x7f800000u
#define F32_QUIET 0x00400000u
#define F32_NAN 0xffc00000u
#define F64_ABS 0x7fffffffffffffffu
#define F64_INF 0x7ff0000000000000u
#define F64_QUIET 0x0008000000000000u
#define F64_NAN 0xfff8000000000000u
#define F16_INF 0x7c00u
#define F16_QUIET 0x0200u
#define F16_NAN 0xfe00u

enum { ROUND_EVEN, ROUND_UP, ROUND_DOWN, ROUND_ZERO }; /* as in MODE */

static inline float f32(uint32_t u)
{
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static inline uint32_t u32(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

static inline double f64(uint64_t u)
{
	double f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static inline uint64_t u64(double f)
{
	uint64_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

static inline uint64_t load64(const uint32_t *row, int i)
{
	return (uint64_t)row[i] | (uint64_t)row[i + 64] << 32;
}

static inline void store64(uint32_t *row, int i, uint64_t v)
{
	row[i] = (uint32_t)v;
	row[i + 64] = (uint32_t)(v >> 32);
}

static inline bool nan32(uint32_t u)
{
	return f32(u) != f32(u);
}

static inline bool nan64(uint64_t u)
{
	return f64(u) != f64(u);
}

static inline bool nan16(uint32_t u)
{
	return (u & 0x7fff) > F16_INF;
}

static inline uint32_t flush32(uint32_t u)
{
	return u & F32_INF ? u : u & 0x80000000u;
}

static inline uint64_t flush64(uint64_t u)
{
	return u & F64_INF ? u : u & ~F64_ABS;
}

static inline uint32_t flush16(uint32_t u)
{
	return u & F16_INF ? u : u & 0x8000;
}

/* The result of an invalid operation; x86 gives the same. */
static inline uint32_t result32(float r)
{
#ifdef __x86_64__
	return u32(r);
#else
	return r != r ? F32_NAN : u32(r);
#endif
}

static inline uint64_t result64(double r)
{
#ifdef __x86_64__
	return u64(r);
#else
	return r != r ? F64_NAN : u64(r);
#endif
}

/* The result @r of an operation on @a, on @a and @b, and on three. */

static inline uint32_t fix1(float r, uint32_t a)
{
	uint32_t u = result32(r);

	return nan32(a) ? a | F32_QUIET : u;
}

static inline uint32_t fix2(float r, uint32_t a, uint32_t b)
{
	uint32_t u = result32(r);

	u = nan32(b) ? b | F32_QUIET : u;
	return nan32(a) ? a | F32_QUIET : u;
}

static inline uint32_t fix3(float r, uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t u = result32(r);

	u = nan32(c) ? c | F32_QUIET : u;
	u = nan32(b) ? b | F32_QUIET : u;
	return nan32(a) ? a | F32_QUIET : u;
}

static inline uint64_t fix1_64(double r, uint64_t a)
{
	uint64_t u = result64(r);

	return nan64(a) ? a | F64_QUIET : u;
}

static inline uint64_t fix2_64(double r, uint64_t a, uint64_t b)
{
	uint64_t u = result64(r);

	u = nan64(b) ? b | F64_QUIET : u;
	return nan64(a) ? a | F64_QUIET : u;
}

static inline uint64_t fix3_64(double r, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t u = result64(r);

	u = nan64(c) ? c | F64_QUIET : u;
	u = nan64(b) ? b | F64_QUIET : u;
	return nan64(a) ? a | F64_QUIET : u;
}

/* Half precision to single: exact. NaNs become quiet. */
static inline uint32_t widen16(uint32_t h)
{
	uint32_t sign = (h & 0x8000) << 16, e = h & 0x7fff;
	uint32_t small = u32((float)(int32_t)e * 0x1p-24f);
	uint32_t u = e < 0x400 ? small : (e << 13) + 0x38000000u;

	u = e >= F16_INF ? e << 13 | F32_INF : u;
	u = e > F16_INF ? u | F32_QUIET : u;
	return u | sign;
}

static inline double d16(uint32_t h)
{
	return (double)f32(widen16(h & 0xffff));
}

/* Whether a remainder of @rest in @half halves rounds the magnitude @q away from zero. */
static inline bool round_away(uint64_t q, uint64_t rest, uint64_t half, bool negative,
			      unsigned int mode)
{
	switch (mode) {
	case ROUND_EVEN:
		return rest > half || (rest == half && (q & 1));
	case ROUND_UP:
		return rest && !negative;
	case ROUND_DOWN:
		return rest && negative;
	default:
		return false;
	}
}

/* A number to half precision, rounded once; a NaN keeps the upper bits of its payload. */
static inline uint32_t narrow16(double f, unsigned int mode)
{
	uint64_t u = u64(f), frac = u & 0xfffffffffffffu, m = frac | 1ull << 52, q;
	int e = (int)(u >> 52 & 0x7ff) - 1023, shift;
	uint32_t sign = (uint32_t)(u >> 48) & 0x8000;

	if (e == 1024)
		return frac ? sign | F16_INF | F16_QUIET | (uint32_t)(frac >> 42) : sign | F16_INF;
	if (!(u & F64_ABS))
		return sign;
	if (e > 15) {
		bool inf = round_away(1, 3, 2, sign, mode);

		return sign | (inf ? F16_INF : F16_INF - 1);
	}
	shift = e >= -14 ? 42 : 42 - 14 - e;
	if (shift > 54)
		shift = 54;
	q = m >> shift;
	if (round_away(q, m & ((1ull << shift) - 1), 1ull << (shift - 1), sign, mode))
		q++;
	return sign | ((uint32_t)q + (e >= -14 ? (uint32_t)(e + 14) << 10 : 0));
}

/* MODE[3:2] */
static inline unsigned int round16(uint32_t mode)
{
	return mode >> 2 & 3;
}

static inline uint32_t fix1_16(double r, uint32_t a, uint32_t mode)
{
	if (nan16(a))
		return a | F16_QUIET;
	return r != r ? F16_NAN : narrow16(r, round16(mode));
}

static inline uint32_t fix2_16(double r, uint32_t a, uint32_t b, uint32_t mode)
{
	if (nan16(a))
		return a | F16_QUIET;
	return fix1_16(r, b, mode);
}

static inline uint32_t fix3_16(double r, uint32_t a, uint32_t b, uint32_t c, uint32_t mode)
{
	if (nan16(a))
		return a | F16_QUIET;
	return fix2_16(r, b, c, mode);
}

/* To nearest even; overflows and NaNs are corrected at the end. */
static inline uint32_t narrow16_even(uint32_t u)
{
	uint32_t v = u & F32_ABS, sign = u >> 16 & 0x8000;
	uint32_t normal = (v - 0x38000000 + 0xfff + (v >> 13 & 1)) >> 13;
	/* Adding 0.5 leaves the denormal half in the low bits, rounded. */
	uint32_t small = u32(f32(v) + 0.5f) - 0x3f000000;
	uint32_t r = (int32_t)v < 0x38800000 ? small : normal;

	r = (int32_t)v >= 0x477ff000 ? F16_INF : r;
	r = nan32(v) ? F16_INF | F16_QUIET | (v >> 13 & 0x1ff) : r;
	return r | sign;
}

/*
 * The sum of a half, or a product of two, and a half: rounded to odd, so that rounding it to half
 * precision gives the same as the exact sum. The error is a NaN if the sum is.
 */
static inline float add_odd(float p, float c)
{
	float s = p + c, t = s - p, err = (p - (s - t)) + (c - t);
	uint32_t u = u32(s), odd = (err > 0) == (s > 0) ? u + 1 : u - 1;

	return f32((err > 0 || err < 0) && !(u & 1) ? odd : u);
}

/*
 * Minimum and maximum: -0 is below +0, a number wins over a NaN. With MODE.IEEE a signalling NaN is
 * returned, made quiet. Equal numbers differ at most in the sign of zero.
 */
#define MIN_MAX(n, type, number, is_nan, quiet)                                         \
	static inline type pick##n(type a, type b, type r, bool ieee)                   \
	{                                                                               \
		r = is_nan(b) ? a : r;                                                  \
		r = is_nan(a) ? b : r;                                                  \
		r = ieee && is_nan(b) && !(b & quiet) ? b | quiet : r;                  \
		return ieee && is_nan(a) && !(a & quiet) ? a | quiet : r;               \
	}                                                                               \
	static inline type min##n(type a, type b, bool ieee)                            \
	{                                                                               \
		type r = number(a) < number(b) ? a : b;                                 \
		r = number(a) == number(b) ? a | b : r;                                 \
		return pick##n(a, b, r, ieee);                                          \
	}                                                                               \
	static inline type max##n(type a, type b, bool ieee)                            \
	{                                                                               \
		type r = number(a) > number(b) ? a : b;                                 \
		r = number(a) == number(b) ? a & b : r;                                 \
		return pick##n(a, b, r, ieee);                                          \
	}                                                                               \
	static inline type med##n(type a, type b, type c, bool ieee)                    \
	{                                                                               \
		type lo = min##n(a, b, ieee), hi = max##n(a, b, ieee);                  \
		type med = max##n(lo, min##n(hi, c, ieee), ieee);                       \
		return is_nan(a) || is_nan(b) || is_nan(c) ? min##n(lo, c, ieee) : med; \
	}

static inline float number16(uint32_t h)
{
	return f32(widen16(h));
}

MIN_MAX(32, uint32_t, f32, nan32, F32_QUIET)
MIN_MAX(64, uint64_t, f64, nan64, F64_QUIET)
MIN_MAX(16, uint32_t, number16, nan16, F16_QUIET)

#endif
