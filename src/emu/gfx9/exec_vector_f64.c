// SPDX-License-Identifier: MIT
/*
 * Double precision kernels of the vector ALU. Reciprocal and square root are correctly rounded, the
 * reciprocal square root is within a unit in the last place; the hardware's are far coarser, and
 * programs refine them.
 */
#include "emu/gfx9/vector_plain.h"

#include <math.h>

/* Two rows as 64 numbers; low dwords come first, as on every supported host. */
union numbers {
	_Alignas(64) uint32_t half[2 * GFX9_LANES];
	uint64_t bits[GFX9_LANES];
	double value[GFX9_LANES];
};

static inline void join(union numbers *restrict to, const uint32_t *restrict from)
{
	for (int i = 0; i < GFX9_LANES; i++) {
		to->half[2 * i] = from[i];
		to->half[2 * i + 1] = from[i + GFX9_LANES];
	}
}

static inline void part(uint32_t *restrict to, const union numbers *restrict from)
{
	for (int i = 0; i < GFX9_LANES; i++) {
		to[i] = from->half[2 * i];
		to[i + GFX9_LANES] = from->half[2 * i + 1];
	}
}

/* x, y, z are numbers, u, v, t hold their bits. NaNs propagate. */
#define F64_1(name, expr)                                                   \
	KERNEL(name)                                                        \
	{                                                                   \
		union numbers u, r;                                         \
		uint64_t nans = 0;                                          \
                                                                            \
		join(&u, a);                                                \
		LANES                                                       \
		{                                                           \
			double x = u.value[i];                              \
			r.value[i] = expr;                                  \
			nans |= nan64(r.bits[i]);                           \
		}                                                           \
		if (nans)                                                   \
			LANES                                               \
			{                                                   \
				r.bits[i] = fix1_64(r.value[i], u.bits[i]); \
			}                                                   \
		part(d, &r);                                                \
	}

#define F64_2(name, expr)                                                              \
	KERNEL(name)                                                                   \
	{                                                                              \
		union numbers u, v, r;                                                 \
		uint64_t nans = 0;                                                     \
                                                                                       \
		join(&u, a);                                                           \
		join(&v, b);                                                           \
		LANES                                                                  \
		{                                                                      \
			double x = u.value[i], y = v.value[i];                         \
			r.value[i] = expr;                                             \
			nans |= nan64(r.bits[i]);                                      \
		}                                                                      \
		if (nans)                                                              \
			LANES                                                          \
			{                                                              \
				r.bits[i] = fix2_64(r.value[i], u.bits[i], v.bits[i]); \
			}                                                              \
		part(d, &r);                                                           \
	}

#define F64_3(name, expr)                                                                         \
	KERNEL(name)                                                                              \
	{                                                                                         \
		union numbers u, v, t, r;                                                         \
		uint64_t nans = 0;                                                                \
                                                                                                  \
		join(&u, a);                                                                      \
		join(&v, b);                                                                      \
		join(&t, c);                                                                      \
		LANES                                                                             \
		{                                                                                 \
			double x = u.value[i], y = v.value[i], z = t.value[i];                    \
			r.value[i] = expr;                                                        \
			nans |= nan64(r.bits[i]);                                                 \
		}                                                                                 \
		if (nans)                                                                         \
			LANES                                                                     \
			{                                                                         \
				r.bits[i] = fix3_64(r.value[i], u.bits[i], v.bits[i], t.bits[i]); \
			}                                                                         \
		part(d, &r);                                                                      \
	}

F64_2(add_f64, x + y)
F64_2(mul_f64, x *y)
F64_3(fma_f64, __builtin_fma(x, y, z))

KERNEL(min_f64)
{
	bool ieee = mode & GFX9_MODE_IEEE;

	LANES
	{
		store64(d, i, min64(load64(a, i), load64(b, i), ieee));
	}
}

KERNEL(max_f64)
{
	bool ieee = mode & GFX9_MODE_IEEE;

	LANES
	{
		store64(d, i, max64(load64(a, i), load64(b, i), ieee));
	}
}

static inline double fract(double x)
{
	double r = x - __builtin_floor(x);

	return r >= 1.0 ? 0x1.fffffffffffffp-1 : r;
}

F64_1(fract_f64, fract(x))
F64_1(trunc_f64, __builtin_trunc(x))
F64_1(ceil_f64, __builtin_ceil(x))
F64_1(rndne_f64, __builtin_rint(x))
F64_1(floor_f64, __builtin_floor(x))
F64_1(rcp_f64, 1.0 / x)
F64_1(rsq_f64, 1.0 / __builtin_sqrt(x))
F64_1(sqrt_f64, __builtin_sqrt(x))

static inline int exponent(uint64_t u)
{
	return (int)(u >> 52 & 0x7ff);
}

static inline uint64_t normalise(uint64_t u)
{
	return exponent(u) ? u & F64_ABS : u64((double)(int64_t)(u & 0xfffffffffffffu));
}

KERNEL(frexp_exp_i32_f64)
{
	LANES
	{
		uint64_t u = load64(a, i), n = normalise(u);
		int e = exponent(u) ? exponent(u) - 1022 : exponent(n) - 1022 - 1074;

		d[i] = exponent(u) == 0x7ff || !(u & F64_ABS) ? 0 : (uint32_t)e;
	}
}

KERNEL(frexp_mant_f64)
{
	LANES
	{
		uint64_t u = load64(a, i), n = normalise(u);
		uint64_t r = (u & ~F64_ABS) | 0x3fe0000000000000u | (n & 0xfffffffffffffu);

		r = exponent(u) == 0x7ff || !(u & F64_ABS) ? u : r;
		store64(d, i, nan64(u) ? u | F64_QUIET : r);
	}
}

KERNEL(ldexp_f64)
{
	for (int i = 0; i < GFX9_LANES; i++) {
		uint64_t u = load64(a, i);

		store64(d, i, fix1_64(ldexp(f64(u), (int32_t)b[i]), u));
	}
}

/*
 * Division, as in single precision
 */

static inline int denormal(double f)
{
	return (u64(f) & F64_ABS) - 1 < 0xfffffffffffffu;
}

static inline uint64_t scaled(uint64_t u, double by)
{
	return fix1_64(f64(u) * by, u);
}

/* Nothing to scale: the operands and the quotient are of usual size. */
static inline uint32_t plain_division(const uint32_t *den, const uint32_t *num)
{
	uint32_t unusual = 0;

	for (int i = 0; i < GFX9_LANES; i++) {
		int e = (int)(den[i + 64] >> 20 & 0x7ff), f = (int)(num[i + 64] >> 20 & 0x7ff);

		unusual |= (uint32_t)((e < 1) | (e > 2044) | (f < 54) | (f > 2046) |
				      (f - e >= 768) | (f - e <= -768));
	}
	return !unusual;
}

KERNEL(div_scale_f64)
{
	if (plain_division(b, c)) {
		LANES
		{
			uint64_t u = load64(a, i);

			store64(d, i, nan64(u) ? u | F64_QUIET : u);
			m[i] = 0;
		}
		return;
	}
	LANES
	{
		uint64_t u = load64(a, i), v = load64(b, i), t = load64(c, i), r;
		double den = f64(v), num = f64(t);
		int inverse = denormal(1.0 / den), quotient = denormal(num / den);
		int far = exponent(t) - exponent(v) >= 768, zero = (num == 0) | (den == 0);
		uint64_t up = scaled(u, 0x1p128), down = scaled(u, 0x1p-128);
		uint64_t upper = u == t ? up : u, lower = u == v ? up : u;

		/* Later cases override earlier ones. */
		r = exponent(t) <= 53 ? up : u;
		r = quotient ? upper : r;
		r = inverse ? down : r;
		r = inverse & quotient ? lower : r;
		r = denormal(den) ? up : r;
		r = far ? lower : r;
		r = zero ? F64_NAN : r;
		store64(d, i, nan64(r) ? r | F64_QUIET : r);
		m[i] = ~zero & (far | (~denormal(den) & quotient)) & 1 ? ~0u : 0;
	}
}

KERNEL(div_fmas_f64)
{
	LANES
	{
		uint64_t u = load64(a, i), v = load64(b, i), t = load64(c, i);
		double r = __builtin_fma(f64(u), f64(v), f64(t));

		store64(d, i, fix3_64(m[i] ? 0x1p64 * r : r, u, v, t));
	}
}

KERNEL(div_fixup_f64)
{
	LANES
	{
		uint64_t q = load64(a, i), den = load64(b, i), num = load64(c, i);
		uint64_t sign = (den ^ num) & ~F64_ABS, y = den & F64_ABS, x = num & F64_ABS;
		uint64_t r = nan64(q) ? q | F64_QUIET : (q & F64_ABS) | sign;

		/* Later cases override earlier ones. */
		r = exponent(num) - exponent(den) < -1075 ? sign : r;
		r = y == F64_INF || !x ? sign : r;
		r = !y || x == F64_INF ? sign | F64_INF : r;
		r = (!x && !y) || (x == F64_INF && y == F64_INF) ? F64_NAN : r;
		r = nan64(den) ? den | F64_QUIET : r;
		r = nan64(num) ? num | F64_QUIET : r;
		store64(d, i, r);
	}
}

/*
 * 53 bits of 2/pi behind the point, from the position that argument reduction of a number of this
 * magnitude needs.
 */
static const uint32_t two_over_pi[] = {
	0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
	0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
	0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b,
	0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7,
	0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1,
	0x1f8d5d08, 0x56033046,
};
#define TWO_OVER_PI_BITS 1184

static uint64_t two_over_pi_from(int first)
{
	uint64_t r = 0;

	for (int k = first; k < first + 53; k++)
		r = r << 1 | (k < TWO_OVER_PI_BITS ? two_over_pi[k / 32] >> (31 - k % 32) & 1 : 0);
	return r;
}

KERNEL(trig_preop_f64)
{
	for (int i = 0; i < GFX9_LANES; i++) {
		uint64_t u = load64(a, i);
		int shift = (int)(b[i] & 31) * 53, scale;

		if (exponent(u) > 1077)
			shift += exponent(u) - 1077;
		scale = -53 - shift;
		if (exponent(u) >= 0x7b0)
			scale += 128;
		store64(d, i, u64(ldexp((double)two_over_pi_from(shift), scale)));
	}
}

GFX9_VECTOR_F64(PLAIN)
