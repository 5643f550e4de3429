// SPDX-License-Identifier: MIT
/* Conversions between integers, single and double precision. */
#include "emu/gfx9/vector_plain.h"

#include <math.h>

/* Toward zero; a NaN is 0, and values out of range are clamped. */
static inline uint32_t to_i32(float x)
{
	bool big = x >= 2147483648.0f, small = x < -2147483648.0f;
	int32_t r = (int32_t)(big || small || x != x ? 0.0f : x);

	return (uint32_t)(big ? INT32_MAX : small ? INT32_MIN : r);
}

static inline uint32_t to_u32(float x)
{
	bool big = x >= 4294967296.0f, half = x >= 2147483648.0f;
	float y = half ? x - 2147483648.0f : x;
	int32_t r = (int32_t)(big || !(y > 0) ? 0.0f : y);

	return big ? UINT32_MAX : (uint32_t)r + (half ? 0x80000000u : 0);
}

#define CVT(name, expr)                    \
	KERNEL(name)                       \
	{                                  \
		LANES                      \
		{                          \
			uint32_t u = a[i]; \
			d[i] = expr;       \
		}                          \
	}

/* A dword to a double. */
#define CVT_LONG(name, expr)                      \
	KERNEL(name)                              \
	{                                         \
		LANES                             \
		{                                 \
			uint32_t u = a[i];        \
			store64(d, i, u64(expr)); \
		}                                 \
	}

/* A double to a dword. */
#define CVT_SHORT(name, expr)                         \
	KERNEL(name)                                  \
	{                                             \
		LANES                                 \
		{                                     \
			double x = f64(load64(a, i)); \
			d[i] = expr;                  \
		}                                     \
	}

CVT(cvt_f32_i32, u32((float)(int32_t)u))
CVT(cvt_f32_u32, u32((float)u))
CVT(cvt_i32_f32, to_i32(f32(u)))
CVT(cvt_u32_f32, to_u32(f32(u)))
CVT(cvt_flr_i32_f32, to_i32(__builtin_floorf(f32(u))))
CVT(cvt_off_f32_i4, u32((float)((int32_t)(u << 28) >> 28) / 16.0f))
CVT(cvt_f32_ubyte0, u32((float)(int32_t)(u & 0xff)))
CVT(cvt_f32_ubyte1, u32((float)(int32_t)(u >> 8 & 0xff)))
CVT(cvt_f32_ubyte2, u32((float)(int32_t)(u >> 16 & 0xff)))
CVT(cvt_f32_ubyte3, u32((float)(int32_t)(u >> 24)))
CVT_LONG(cvt_f64_i32, (double)(int32_t)u)
CVT_LONG(cvt_f64_u32, (double)u)

static inline uint32_t wide_to_i32(double x)
{
	bool big = x >= 2147483648.0, small = x <= -2147483649.0;
	int32_t r = (int32_t)(big || small || x != x ? 0.0 : x);

	return (uint32_t)(big ? INT32_MAX : small ? INT32_MIN : r);
}

static inline uint32_t wide_to_u32(double x)
{
	bool big = x >= 4294967296.0;
	double y = big || !(x > 0) ? 0.0 : x;

	return big ? UINT32_MAX : (uint32_t)(int64_t)y;
}

CVT_SHORT(cvt_i32_f64, wide_to_i32(x))
CVT_SHORT(cvt_u32_f64, wide_to_u32(x))
/* In double precision the sum is exact wherever it matters. */
CVT(cvt_rpi_i32_f32, wide_to_i32(floor((double)f32(u) + 0.5)))

KERNEL(cvt_f32_f64)
{
	LANES
	{
		uint64_t u = load64(a, i);
		uint32_t nan = (uint32_t)(u >> 32 & 0x80000000u) | F32_INF | F32_QUIET |
			       ((uint32_t)(u >> 29) & 0x3fffff);

		d[i] = nan64(u) ? nan : u32((float)f64(u));
	}
}

KERNEL(cvt_f64_f32)
{
	LANES
	{
		uint32_t u = a[i];
		uint64_t nan = (uint64_t)(u & 0x80000000u) << 32 | F64_INF | F64_QUIET |
			       (uint64_t)(u & 0x7fffff) << 29;

		store64(d, i, nan32(u) ? nan : u64((double)f32(u)));
	}
}

KERNEL(cvt_pk_u8_f32)
{
	LANES
	{
		float x = f32(a[i]), y = x > 255.0f ? 255.0f : x > 0 ? x : 0;
		uint32_t v = (uint32_t)(int32_t)__builtin_rintf(y), shift = 8 * (b[i] & 3);

		d[i] = (c[i] & ~(0xffu << shift)) | v << shift;
	}
}

GFX9_VECTOR_CVT(PLAIN)
