// SPDX-License-Identifier: MIT
/*
 * Single precision kernels of the vector ALU.
 *
 * Reciprocal, square root, logarithm and the others that the hardware only approximates are
 * computed in double precision and rounded: the error is below half a unit in the last place and
 * 2^-20 of one. Like the hardware's, they flush denormals; so do v_mad and v_mac, which round the
 * product.
 */
#include "emu/gfx9/vector_plain.h"

#include <math.h>

/* x, y, z are numbers, u, v, t their bits. */
#define F32_1(name, expr)                     \
	KERNEL(name)                          \
	{                                     \
		LANES                         \
		{                             \
			uint32_t u = a[i];    \
			float x = f32(u);     \
			d[i] = fix1(expr, u); \
		}                             \
	}

#define F32_2(name, expr)                             \
	KERNEL(name)                                  \
	{                                             \
		LANES                                 \
		{                                     \
			uint32_t u = a[i], v = b[i];  \
			float x = f32(u), y = f32(v); \
			d[i] = fix2(expr, u, v);      \
		}                                     \
	}

#define F32_3(name, expr)                                         \
	KERNEL(name)                                              \
	{                                                         \
		LANES                                             \
		{                                                 \
			uint32_t u = a[i], v = b[i], t = c[i];    \
			float x = f32(u), y = f32(v), z = f32(t); \
			d[i] = fix3(expr, u, v, t);               \
		}                                                 \
	}

/* On bits, whatever they mean. */
#define BITS_2(name, expr)                           \
	KERNEL(name)                                 \
	{                                            \
		bool ieee = mode & GFX9_MODE_IEEE;   \
		LANES                                \
		{                                    \
			uint32_t u = a[i], v = b[i]; \
			d[i] = expr;                 \
		}                                    \
	}

#define BITS_3(name, expr)                                     \
	KERNEL(name)                                           \
	{                                                      \
		bool ieee = mode & GFX9_MODE_IEEE;             \
		LANES                                          \
		{                                              \
			uint32_t u = a[i], v = b[i], t = c[i]; \
			d[i] = expr;                           \
		}                                              \
	}

F32_2(add_f32, x + y)
F32_2(sub_f32, x - y)
F32_2(subrev_f32, y - x)
F32_2(mul_f32, x *y)
F32_3(fma_f32, __builtin_fmaf(x, y, z))
BITS_2(min_f32, min32(u, v, ieee))
BITS_2(max_f32, max32(u, v, ieee))
BITS_3(min3_f32, min32(min32(u, v, ieee), t, ieee))
BITS_3(max3_f32, max32(max32(u, v, ieee), t, ieee))
BITS_3(med3_f32, med32(u, v, t, ieee))

/* 0 times anything is 0. */
static inline uint32_t mul_legacy(uint32_t u, uint32_t v)
{
	float x = f32(u), y = f32(v);

	return x == 0 || y == 0 ? 0 : fix2(x * y, u, v);
}

KERNEL(mul_legacy_f32)
{
	LANES
	{
		d[i] = mul_legacy(a[i], b[i]);
	}
}

static inline uint32_t add_flushed(uint32_t product, uint32_t t)
{
	return flush32(fix2(f32(product) + f32(t), product, t));
}

KERNEL(mad_f32)
{
	LANES
	{
		uint32_t u = flush32(a[i]), v = flush32(b[i]), t = flush32(c[i]);
		uint32_t p = flush32(fix2(f32(u) * f32(v), u, v));

		d[i] = add_flushed(p, t);
	}
}

KERNEL(mad_legacy_f32)
{
	LANES
	{
		uint32_t u = flush32(a[i]), v = flush32(b[i]), t = flush32(c[i]);

		d[i] = add_flushed(flush32(mul_legacy(u, v)), t);
	}
}

/* Always below 1; the fraction of an infinity is 0. */
static inline float fract(float x)
{
	float r = x - __builtin_floorf(x);

	return r >= 1.0f ? 0x1.fffffep-1f : r;
}

F32_1(fract_f32, fract(x))
F32_1(trunc_f32, __builtin_truncf(x))
F32_1(ceil_f32, __builtin_ceilf(x))
F32_1(rndne_f32, __builtin_rintf(x))
F32_1(floor_f32, __builtin_floorf(x))

/* The library's NaNs have either sign. */
static inline uint32_t approximate(float r, uint32_t a)
{
	uint32_t u = u32(r);

	u = nan32(u) ? F32_NAN : u;
	return nan32(a) ? a | F32_QUIET : u;
}

/* Approximated ones: denormals are zero, in and out. */
#define APPROX(name, expr)                                    \
	KERNEL(name)                                          \
	{                                                     \
		LANES                                         \
		{                                             \
			uint32_t u = flush32(a[i]);           \
			float x = f32(u);                     \
			d[i] = flush32(approximate(expr, u)); \
		}                                             \
	}

#define PI 3.14159265358979323846

/* sin(2 * pi * r) for r in [-1/4, 1/4]: exact at the exact values of a sine. */
static inline double turn(double r)
{
	return r == 0.25 ? 1 : r == -0.25 ? -1 : sin(2 * PI * r);
}

/* The unit is a full turn. Beyond 256 turns the hardware returns a constant. */
static inline float sin_turns(float x)
{
	double r;

	if (!(fabsf(x) <= 256.0f))
		return isinf(x) ? NAN : 0;
	r = (double)x - rint((double)x);
	return (float)turn(r > 0.25 ? 0.5 - r : r < -0.25 ? -0.5 - r : r);
}

static inline float cos_turns(float x)
{
	double r;

	if (!(fabsf(x) <= 256.0f))
		return isinf(x) ? NAN : 1;
	r = (double)x - rint((double)x);
	return (float)turn(0.25 - fabs(r));
}

APPROX(exp_f32, (float)exp2((double)x))
APPROX(log_f32, (float)log2((double)x))
APPROX(rcp_f32, 1.0f / x)
APPROX(rsq_f32, (float)(1.0 / sqrt((double)x)))
APPROX(sqrt_f32, __builtin_sqrtf(x))
APPROX(sin_f32, sin_turns(x))
APPROX(cos_f32, cos_turns(x))

static inline int exponent(uint32_t u)
{
	return (int)(u >> 23 & 0xff);
}

/* The magnitude is shifted up until it is a normal number. */
static inline uint32_t normalise(uint32_t u)
{
	return exponent(u) ? u & F32_ABS : u32((float)(int32_t)(u & 0x7fffff));
}

KERNEL(frexp_exp_i32_f32)
{
	LANES
	{
		uint32_t u = a[i], n = normalise(u);
		int e = exponent(u) ? exponent(u) - 126 : exponent(n) - 126 - 149;

		d[i] = exponent(u) == 255 || !(u & F32_ABS) ? 0 : (uint32_t)e;
	}
}

KERNEL(frexp_mant_f32)
{
	LANES
	{
		uint32_t u = a[i], n = normalise(u);
		uint32_t r = (u & ~F32_ABS) | 0x3f000000 | (n & 0x7fffff);

		r = exponent(u) == 255 || !(u & F32_ABS) ? u : r;
		d[i] = nan32(u) ? u | F32_QUIET : r;
	}
}

/* 2^n as a double; @n is limited to where the result is 0 or infinite. */
static inline double power(uint32_t n)
{
	int32_t e = (int32_t)n;

	e = e > 300 ? 300 : e < -300 ? -300 : e;
	return f64((uint64_t)(e + 1023) << 52);
}

KERNEL(ldexp_f32)
{
	LANES
	{
		uint32_t u = a[i];

		d[i] = fix1((float)((double)f32(u) * power(b[i])), u);
	}
}

/*
 * Division: scale the operands to avoid overflow, refine a quotient, undo the scaling, and handle
 * special values.
 */

static inline int denormal(float f)
{
	return (u32(f) & F32_ABS) - 1 < 0x7fffffu;
}

static inline uint32_t scaled(uint32_t u, float by)
{
	return fix1(f32(u) * by, u);
}

/* Nothing to scale: the operands and the quotient are of usual size. */
static inline uint32_t plain_division(const uint32_t *den, const uint32_t *num)
{
	uint32_t unusual = 0;

	for (int i = 0; i < GFX9_LANES; i++) {
		int e = exponent(den[i]), f = exponent(num[i]);

		unusual |= (uint32_t)((e < 1) | (e > 252) | (f < 24) | (f > 254) | (f - e >= 96) |
				      (f - e <= -96));
	}
	return !unusual;
}

KERNEL(div_scale_f32)
{
	if (plain_division(b, c)) {
		LANES
		{
			d[i] = nan32(a[i]) ? a[i] | F32_QUIET : a[i];
			m[i] = 0;
		}
		return;
	}
	LANES
	{
		uint32_t u = a[i], v = b[i], t = c[i], r;
		float den = f32(v), num = f32(t);
		int inverse = denormal(1.0f / den), quotient = denormal(num / den);
		int far = exponent(t) - exponent(v) >= 96, zero = (num == 0) | (den == 0);
		uint32_t up = scaled(u, 0x1p64f), down = scaled(u, 0x1p-64f);
		uint32_t upper = u == t ? up : u, lower = u == v ? up : u;

		/* Later cases override earlier ones. */
		r = exponent(t) <= 23 ? up : u;
		r = quotient ? upper : r;
		r = inverse ? down : r;
		r = inverse & quotient ? lower : r;
		r = denormal(den) ? up : r;
		r = far ? lower : r;
		r = zero ? F32_NAN : r;
		d[i] = nan32(r) ? r | F32_QUIET : r;
		m[i] = ~zero & (far | (~denormal(den) & quotient)) & 1 ? ~0u : 0;
	}
}

/* Input m: VCC. */
KERNEL(div_fmas_f32)
{
	LANES
	{
		uint32_t u = a[i], v = b[i], t = c[i];
		float r = __builtin_fmaf(f32(u), f32(v), f32(t));

		d[i] = fix3(m[i] ? 0x1p32f * r : r, u, v, t);
	}
}

KERNEL(div_fixup_f32)
{
	LANES
	{
		uint32_t q = a[i], den = b[i], num = c[i];
		uint32_t sign = (den ^ num) & ~F32_ABS, y = den & F32_ABS, x = num & F32_ABS;
		uint32_t r = nan32(q) ? q | F32_QUIET : (q & F32_ABS) | sign;

		/* Later cases override earlier ones. */
		r = exponent(num) - exponent(den) < -150 ? sign : r;
		r = y == F32_INF || !x ? sign : r;
		r = !y || x == F32_INF ? sign | F32_INF : r;
		r = (!x && !y) || (x == F32_INF && y == F32_INF) ? F32_NAN : r;
		r = nan32(den) ? den | F32_QUIET : r;
		r = nan32(num) ? num | F32_QUIET : r;
		d[i] = r;
	}
}

/*
 * Cube maps: the face that a direction points at, the coordinates on it, twice the major axis
 */

enum cube { CUBE_ID, CUBE_SC, CUBE_TC, CUBE_MA };

static inline float cube(float x, float y, float z, enum cube what)
{
	float ax = fabsf(x), ay = fabsf(y), az = fabsf(z), r[4];

	if (az >= ax && az >= ay) {
		r[CUBE_ID] = z < 0 ? 5 : 4;
		r[CUBE_SC] = z < 0 ? -x : x;
		r[CUBE_TC] = -y;
		r[CUBE_MA] = 2 * z;
	} else if (ay >= ax) {
		r[CUBE_ID] = y < 0 ? 3 : 2;
		r[CUBE_SC] = x;
		r[CUBE_TC] = y < 0 ? -z : z;
		r[CUBE_MA] = 2 * y;
	} else {
		r[CUBE_ID] = x < 0 ? 1 : 0;
		r[CUBE_SC] = x < 0 ? z : -z;
		r[CUBE_TC] = -y;
		r[CUBE_MA] = 2 * x;
	}
	return r[what];
}

F32_3(cubeid_f32, cube(x, y, z, CUBE_ID))
F32_3(cubesc_f32, cube(x, y, z, CUBE_SC))
F32_3(cubetc_f32, cube(x, y, z, CUBE_TC))
F32_3(cubema_f32, cube(x, y, z, CUBE_MA))

/*
 * Pairs
 */

KERNEL(pk_add_f32)
{
	GFX9_V(add_f32)(d, m, a, b, c, mode);
	GFX9_V(add_f32)(d + 64, m, a + 64, b + 64, c, mode);
}

KERNEL(pk_mul_f32)
{
	GFX9_V(mul_f32)(d, m, a, b, c, mode);
	GFX9_V(mul_f32)(d + 64, m, a + 64, b + 64, c, mode);
}

KERNEL(pk_fma_f32)
{
	GFX9_V(fma_f32)(d, m, a, b, c, mode);
	GFX9_V(fma_f32)(d + 64, m, a + 64, b + 64, c + 64, mode);
}

KERNEL(pk_mov_b32)
{
	LANES
	{
		uint32_t lo = a[i], hi = b[i + 64];

		d[i] = lo;
		d[i + 64] = hi;
	}
}

GFX9_VECTOR_F32(PLAIN)
