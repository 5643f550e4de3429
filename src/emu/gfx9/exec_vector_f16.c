// SPDX-License-Identifier: MIT
/*
 * Half precision, mixed and eight-bit kernels of the vector ALU.
 *
 * Operations are done in single precision where that is as good as exact, otherwise in double
 * precision, so that the only rounding is the one to half precision, which follows MODE by itself.
 */
#include "emu/gfx9/vector_plain.h"

#include <math.h>

/* x, y, z are numbers, u, v, t their bits. */
#define F16_1(name, expr)                              \
	KERNEL(name)                                   \
	{                                              \
		LANES                                  \
		{                                      \
			uint32_t u = a[i] & 0xffff;    \
			double x = d16(u);             \
			d[i] = fix1_16(expr, u, mode); \
		}                                      \
	}

/* In single precision, as good as exact; to nearest even is what matters. */
static inline uint32_t fix2_half(float r, uint32_t u, uint32_t v)
{
	uint32_t h = narrow16_even(u32(r));

	h = r != r ? F16_NAN : h;
	h = nan16(v) ? v | F16_QUIET : h;
	return nan16(u) ? u | F16_QUIET : h;
}

static inline uint32_t fix3_half(float r, uint32_t u, uint32_t v, uint32_t t)
{
	uint32_t h = fix2_half(r, v, t);

	return nan16(u) ? u | F16_QUIET : h;
}

#define F16_2(name, expr)                                                       \
	KERNEL(name)                                                            \
	{                                                                       \
		if (round16(mode) == ROUND_EVEN) {                              \
			LANES                                                   \
			{                                                       \
				uint32_t u = a[i] & 0xffff, v = b[i] & 0xffff;  \
				float x = f32(widen16(u)), y = f32(widen16(v)); \
				d[i] = fix2_half(expr, u, v);                   \
			}                                                       \
			return;                                                 \
		}                                                               \
		for (int i = 0; i < GFX9_LANES; i++) {                          \
			uint32_t u = a[i] & 0xffff, v = b[i] & 0xffff;          \
			float x = f32(widen16(u)), y = f32(widen16(v));         \
			d[i] = fix2_16((double)(expr), u, v, mode);             \
		}                                                               \
	}

#define F16_3(name, expr)                                                                         \
	KERNEL(name)                                                                              \
	{                                                                                         \
		if (round16(mode) == ROUND_EVEN) {                                                \
			LANES                                                                     \
			{                                                                         \
				uint32_t u = a[i] & 0xffff, v = b[i] & 0xffff, t = c[i] & 0xffff; \
				float x = f32(widen16(u)), y = f32(widen16(v));                   \
				float z = f32(widen16(t));                                        \
				d[i] = fix3_half(expr, u, v, t);                                  \
			}                                                                         \
			return;                                                                   \
		}                                                                                 \
		for (int i = 0; i < GFX9_LANES; i++) {                                            \
			uint32_t u = a[i] & 0xffff, v = b[i] & 0xffff, t = c[i] & 0xffff;         \
			float x = f32(widen16(u)), y = f32(widen16(v)), z = f32(widen16(t));      \
			d[i] = fix3_16((double)(expr), u, v, t, mode);                            \
		}                                                                                 \
	}

/* On bits, whatever they mean. */
#define BITS_2(name, expr)                                             \
	KERNEL(name)                                                   \
	{                                                              \
		bool ieee = mode & GFX9_MODE_IEEE;                     \
		LANES                                                  \
		{                                                      \
			uint32_t u = a[i] & 0xffff, v = b[i] & 0xffff; \
			d[i] = expr;                                   \
		}                                                      \
	}

#define BITS_3(name, expr)                                                                \
	KERNEL(name)                                                                      \
	{                                                                                 \
		bool ieee = mode & GFX9_MODE_IEEE;                                        \
		LANES                                                                     \
		{                                                                         \
			uint32_t u = a[i] & 0xffff, v = b[i] & 0xffff, t = c[i] & 0xffff; \
			d[i] = expr;                                                      \
		}                                                                         \
	}

F16_2(add_f16, add_odd(x, y))
F16_2(sub_f16, add_odd(x, -y))
F16_2(subrev_f16, add_odd(y, -x))
F16_2(mul_f16, x *y)
F16_3(fma_f16, add_odd(x *y, z))
BITS_2(min_f16, min16(u, v, ieee))
BITS_2(max_f16, max16(u, v, ieee))
BITS_3(min3_f16, min16(min16(u, v, ieee), t, ieee))
BITS_3(max3_f16, max16(max16(u, v, ieee), t, ieee))
BITS_3(med3_f16, med16(u, v, t, ieee))

/* Denormals are zero, and the product is rounded. */
KERNEL(mad_f16)
{
	LANES
	{
		uint32_t u = flush16(a[i] & 0xffff), v = flush16(b[i] & 0xffff);
		uint32_t t = flush16(c[i] & 0xffff);
		uint32_t p = flush16(fix2_16(d16(u) * d16(v), u, v, mode));

		d[i] = flush16(fix2_16(d16(p) + d16(t), p, t, mode));
	}
}

static inline double fract(double x)
{
	double r = x - floor(x);

	return r > 0x1.ffcp-1 ? 0x1.ffcp-1 : r;
}

#define PI 3.14159265358979323846

static inline double turn(double r)
{
	return r == 0.25 ? 1 : r == -0.25 ? -1 : sin(2 * PI * r);
}

static inline double sin_turns(double x)
{
	double r;

	if (!(fabs(x) <= 256.0))
		return isinf(x) ? NAN : 0;
	r = x - rint(x);
	return turn(r > 0.25 ? 0.5 - r : r < -0.25 ? -0.5 - r : r);
}

static inline double cos_turns(double x)
{
	if (!(fabs(x) <= 256.0))
		return isinf(x) ? NAN : 1;
	return turn(0.25 - fabs(x - rint(x)));
}

F16_1(rcp_f16, 1.0 / x)
F16_1(rsq_f16, 1.0 / sqrt(x))
F16_1(sqrt_f16, sqrt(x))
F16_1(log_f16, log2(x))
F16_1(exp_f16, exp2(x))
F16_1(sin_f16, sin_turns(x))
F16_1(cos_f16, cos_turns(x))
F16_1(fract_f16, fract(x))
F16_1(trunc_f16, trunc(x))
F16_1(ceil_f16, ceil(x))
F16_1(rndne_f16, rint(x))
F16_1(floor_f16, floor(x))

static inline bool has_exponent(uint32_t u)
{
	return (u & 0x7fff) && (u & F16_INF) != F16_INF;
}

KERNEL(frexp_exp_i16_f16)
{
	for (int i = 0; i < GFX9_LANES; i++) {
		uint32_t u = a[i] & 0xffff;
		int e = 0;

		if (has_exponent(u))
			(void)frexp(d16(u), &e);
		d[i] = (uint32_t)e & 0xffff;
	}
}

KERNEL(frexp_mant_f16)
{
	for (int i = 0; i < GFX9_LANES; i++) {
		uint32_t u = a[i] & 0xffff;
		int e;

		d[i] = fix1_16(has_exponent(u) ? frexp(d16(u), &e) : d16(u), u, mode);
	}
}

KERNEL(ldexp_f16)
{
	for (int i = 0; i < GFX9_LANES; i++) {
		uint32_t u = a[i] & 0xffff;

		d[i] = fix1_16(ldexp(d16(u), (int16_t)(uint16_t)b[i]), u, mode);
	}
}

KERNEL(div_fixup_f16)
{
	for (int i = 0; i < GFX9_LANES; i++) {
		uint32_t q = a[i] & 0xffff, den = b[i] & 0xffff, num = c[i] & 0xffff, r;
		uint32_t sign = (den ^ num) & 0x8000, y = den & 0x7fff, x = num & 0x7fff;

		if (nan16(num))
			r = num | F16_QUIET;
		else if (nan16(den))
			r = den | F16_QUIET;
		else if ((!x && !y) || (x == F16_INF && y == F16_INF))
			r = F16_NAN;
		else if (!y || x == F16_INF)
			r = sign | F16_INF;
		else if (y == F16_INF || !x)
			r = sign;
		else
			r = nan16(q) ? q | F16_QUIET : (q & 0x7fff) | sign;
		d[i] = r;
	}
}

KERNEL(pack_b32_f16)
{
	LANES
	{
		d[i] = (a[i] & 0xffff) | b[i] << 16;
	}
}

/*
 * Pairs: the kernel of one half, twice
 */

struct halves {
	_Alignas(64) uint32_t lo[3][GFX9_LANES], hi[3][GFX9_LANES];
};

static void split(struct halves *h, int k, const uint32_t *row)
{
	LANES
	{
		h->lo[k][i] = row[i] & 0xffff;
		h->hi[k][i] = row[i] >> 16;
	}
}

static void pairs(gfx9_lanes_fn *kernel, int n, uint32_t *d, const uint32_t *const *row,
		  uint32_t mode)
{
	struct halves h;
	_Alignas(64) uint32_t lo[GFX9_LANES], hi[GFX9_LANES];

	for (int k = 0; k < n; k++)
		split(&h, k, row[k]);
	kernel(lo, NULL, h.lo[0], h.lo[1], h.lo[2], mode);
	kernel(hi, NULL, h.hi[0], h.hi[1], h.hi[2], mode);
	LANES
	{
		d[i] = lo[i] | hi[i] << 16;
	}
}

#define PAIRS(name, n)                                     \
	KERNEL(pk_##name)                                  \
	{                                                  \
		const uint32_t *const row[] = { a, b, c }; \
		pairs(GFX9_V(name), n, d, row, mode);      \
	}

PAIRS(add_f16, 2)
PAIRS(mul_f16, 2)
PAIRS(min_f16, 2)
PAIRS(max_f16, 2)
PAIRS(fma_f16, 3)

/* The sources were converted to f32. */
KERNEL(fma_mix_f32)
{
	GFX9_V(fma_f32)(d, m, a, b, c, mode);
}

KERNEL(fma_mixlo_f16)
{
	LANES
	{
		uint32_t r =
			fix3(__builtin_fmaf(f32(a[i]), f32(b[i]), f32(c[i])), a[i], b[i], c[i]);

		d[i] = narrow16((double)f32(r), round16(mode));
	}
}

/* Products are exact in single precision and are added one after the other. */
KERNEL(dot2_f32_f16)
{
	LANES
	{
		uint32_t u = widen16(a[i] & 0xffff), v = widen16(b[i] & 0xffff);
		uint32_t s = widen16(a[i] >> 16), t = widen16(b[i] >> 16);
		uint32_t r = fix3(__builtin_fmaf(f32(u), f32(v), f32(c[i])), u, v, c[i]);

		d[i] = fix3(__builtin_fmaf(f32(s), f32(t), f32(r)), s, t, r);
	}
}

/*
 * Conversions
 */

KERNEL(cvt_f32_f16)
{
	LANES
	{
		d[i] = widen16(a[i] & 0xffff);
	}
}

KERNEL(cvt_f16_f32)
{
	if (round16(mode) == ROUND_EVEN) {
		LANES
		{
			d[i] = narrow16_even(a[i]);
		}
		return;
	}
	for (int i = 0; i < GFX9_LANES; i++)
		d[i] = narrow16((double)f32(a[i]), round16(mode));
}

KERNEL(cvt_pkrtz_f16_f32)
{
	for (int i = 0; i < GFX9_LANES; i++) {
		uint32_t lo = narrow16((double)f32(a[i]), ROUND_ZERO);

		d[i] = lo | narrow16((double)f32(b[i]), ROUND_ZERO) << 16;
	}
}

KERNEL(cvt_f16_u16)
{
	LANES
	{
		d[i] = narrow16((double)(a[i] & 0xffff), round16(mode));
	}
}

KERNEL(cvt_f16_i16)
{
	LANES
	{
		d[i] = narrow16((double)(int16_t)(uint16_t)a[i], round16(mode));
	}
}

/* A NaN is 0, and values out of range are clamped. */
static inline int32_t to_int(double x, double lo, double hi)
{
	if (x != x)
		return 0;
	return (int32_t)(x < lo ? lo : x > hi ? hi : x);
}

KERNEL(cvt_u16_f16)
{
	LANES
	{
		d[i] = (uint32_t)to_int(d16(a[i]), 0, 65535);
	}
}

KERNEL(cvt_i16_f16)
{
	LANES
	{
		d[i] = (uint32_t)to_int(d16(a[i]), -32768, 32767) & 0xffff;
	}
}

static inline uint32_t norm_i16(double x)
{
	return (uint32_t)to_int(rint(x * 32767), -32767, 32767) & 0xffff;
}

static inline uint32_t norm_u16(double x)
{
	return (uint32_t)to_int(rint(x * 65535), 0, 65535);
}

KERNEL(cvt_norm_i16_f16)
{
	LANES
	{
		d[i] = norm_i16(d16(a[i]));
	}
}

KERNEL(cvt_norm_u16_f16)
{
	LANES
	{
		d[i] = norm_u16(d16(a[i]));
	}
}

KERNEL(cvt_pknorm_i16_f16)
{
	LANES
	{
		d[i] = norm_i16(d16(a[i])) | norm_i16(d16(b[i])) << 16;
	}
}

KERNEL(cvt_pknorm_u16_f16)
{
	LANES
	{
		d[i] = norm_u16(d16(a[i])) | norm_u16(d16(b[i])) << 16;
	}
}

KERNEL(cvt_pknorm_i16_f32)
{
	LANES
	{
		d[i] = norm_i16((double)f32(a[i])) | norm_i16((double)f32(b[i])) << 16;
	}
}

KERNEL(cvt_pknorm_u16_f32)
{
	LANES
	{
		d[i] = norm_u16((double)f32(a[i])) | norm_u16((double)f32(b[i])) << 16;
	}
}

/*
 * Eight bits, without infinities and negative zero: 0x80 is the NaN. fp8 has three bits of
 * mantissa and a bias of 8, bf8 two and 16.
 */

static inline uint32_t widen8(uint32_t b, int mantissa, int bias)
{
	uint32_t e = (b & 0x7f) >> mantissa, m = b & ((1u << mantissa) - 1);
	double r = e ? ldexp((double)(m + (1u << mantissa)), (int)e - bias - mantissa)
		     : ldexp((double)m, 1 - bias - mantissa);

	if ((b & 0xff) == 0x80)
		return F32_NAN;
	return u32((float)(b & 0x80 ? -r : r));
}

/* To nearest even; values that are too large become NaN. */
static inline uint32_t narrow8(uint32_t u, int mantissa, int bias)
{
	double x = fabs((double)f32(u));
	uint32_t r;
	int e;

	if (nan32(u) || isinf(x))
		return 0x80;
	(void)frexp(x, &e);
	if (x == 0 || e < 2 - bias)
		e = 2 - bias;
	r = (uint32_t)rint(ldexp(x, mantissa + 1 - e)) + ((uint32_t)(e - 2 + bias) << mantissa);
	if (r > 0x7f)
		return 0x80;
	return r ? r | (u >> 24 & 0x80) : 0;
}

/*
 * Rounds up with the probability of the truncated part: the upper bits of @random are added to it.
 */
static inline uint32_t narrow8_random(uint32_t u, uint32_t random, int mantissa, int bias)
{
	uint32_t e = u >> 23 & 0xff, m = (u & 0x7fffff) | (e ? 0x800000 : 0), r;
	int below = 1 - bias - ((int)(e ? e : 1) - 127);

	if (e == 0xff)
		return 0x80;
	if (below > 0)
		m = below < 32 ? m >> below : 0;
	r = (m + (random >> (9 + mantissa))) >> (23 - mantissa);
	if (below < 0)
		r += (uint32_t)-below << mantissa;
	if (r > 0x7f)
		return 0x80;
	return r ? r | (u >> 24 & 0x80) : 0;
}

#define F8(name, mantissa, bias)                                                                   \
	KERNEL(cvt_f32_##name)                                                                     \
	{                                                                                          \
		for (int i = 0; i < GFX9_LANES; i++)                                               \
			d[i] = widen8(a[i], mantissa, bias);                                       \
	}                                                                                          \
	KERNEL(cvt_pk_f32_##name)                                                                  \
	{                                                                                          \
		for (int i = 0; i < GFX9_LANES; i++) {                                             \
			uint32_t u = a[i];                                                         \
			d[i] = widen8(u, mantissa, bias);                                          \
			d[i + 64] = widen8(u >> 8, mantissa, bias);                                \
		}                                                                                  \
	}                                                                                          \
	KERNEL(cvt_pk_##name##_f32)                                                                \
	{                                                                                          \
		for (int i = 0; i < GFX9_LANES; i++)                                               \
			d[i] = narrow8(a[i], mantissa, bias) | narrow8(b[i], mantissa, bias) << 8; \
	}                                                                                          \
	KERNEL(cvt_sr_##name##_f32)                                                                \
	{                                                                                          \
		for (int i = 0; i < GFX9_LANES; i++)                                               \
			d[i] = narrow8_random(a[i], b[i], mantissa, bias);                         \
	}

F8(fp8, 3, 8)
F8(bf8, 2, 16)

GFX9_VECTOR_F16(PLAIN)
GFX9_VECTOR_F8(PLAIN)
