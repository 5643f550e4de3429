// SPDX-License-Identifier: MIT
/* Integer kernels of the vector ALU. */
#include "emu/gfx9/vector_plain.h"

#define INT1(name, expr)                         \
	KERNEL(name)                             \
	{                                        \
		LANES                            \
		{                                \
			uint32_t x = a[i];       \
			d[i] = (uint32_t)(expr); \
		}                                \
	}

#define INT2(name, expr)                             \
	KERNEL(name)                                 \
	{                                            \
		LANES                                \
		{                                    \
			uint32_t x = a[i], y = b[i]; \
			d[i] = (uint32_t)(expr);     \
		}                                    \
	}

#define INT3(name, expr)                                       \
	KERNEL(name)                                           \
	{                                                      \
		LANES                                          \
		{                                              \
			uint32_t x = a[i], y = b[i], z = c[i]; \
			d[i] = (uint32_t)(expr);               \
		}                                              \
	}

/* With a carry out, and in as z: 0 or ~0. */
#define CARRY2(name, expr, carry)                              \
	KERNEL(name)                                           \
	{                                                      \
		LANES                                          \
		{                                              \
			uint32_t x = a[i], y = b[i], r = expr; \
			m[i] = (carry) ? ~0u : 0;              \
			d[i] = r;                              \
		}                                              \
	}

#define CARRY3(name, expr, carry)                                            \
	KERNEL(name)                                                         \
	{                                                                    \
		LANES                                                        \
		{                                                            \
			uint32_t x = a[i], y = b[i], z = c[i] & 1, r = expr; \
			m[i] = (carry) ? ~0u : 0;                            \
			d[i] = r;                                            \
		}                                                            \
	}

/* 0 or ~0, as the highest bit is. */
static inline uint32_t spread_sign(uint32_t x)
{
	return (uint32_t)((int32_t)x >> 31);
}

/* The carry out of @r = @x + @y, and the borrow of @r = @x - @y, with or without a carry in. */
static inline uint32_t carry_out(uint32_t x, uint32_t y, uint32_t r)
{
	return spread_sign((x & y) | ((x | y) & ~r));
}

static inline uint32_t borrow_out(uint32_t x, uint32_t y, uint32_t r)
{
	return spread_sign((~x & y) | (~(x ^ y) & r));
}

static inline uint32_t clamp_i32(int64_t v)
{
	return (uint32_t)(int32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}

static inline uint32_t clamp_u32(uint64_t v)
{
	return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static inline int32_t sext(uint32_t v, unsigned int bits)
{
	return (int32_t)(v << (32 - bits)) >> (32 - bits);
}

static inline uint32_t u24(uint32_t v)
{
	return v & 0xffffff;
}

static inline int32_t i24(uint32_t v)
{
	return sext(v, 24);
}

static inline uint32_t minu(uint32_t x, uint32_t y)
{
	return x < y ? x : y;
}

static inline uint32_t maxu(uint32_t x, uint32_t y)
{
	return x > y ? x : y;
}

static inline int32_t mini(uint32_t x, uint32_t y)
{
	return (int32_t)x < (int32_t)y ? (int32_t)x : (int32_t)y;
}

static inline int32_t maxi(uint32_t x, uint32_t y)
{
	return (int32_t)x > (int32_t)y ? (int32_t)x : (int32_t)y;
}

/*
 * Without the multiplication by which compilers recognise a population count, and then count lane
 * by lane.
 */
static inline uint32_t popcount(uint32_t x)
{
	x -= x >> 1 & 0x55555555;
	x = (x & 0x33333333) + (x >> 2 & 0x33333333);
	x = (x + (x >> 4)) & 0x0f0f0f0f;
	x += x >> 8;
	return (x + (x >> 16)) & 0x3f;
}

static inline uint32_t reverse(uint32_t x)
{
	x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
	x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
	x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
	x = (x >> 8 & 0x00ff00ff) | (x & 0x00ff00ff) << 8;
	return x >> 16 | x << 16;
}

static inline uint32_t first_high(uint32_t x)
{
	return x ? (uint32_t)__builtin_clz(x) : ~0u;
}

INT1(mov_b32, x)
INT1(not_b32, ~x)
INT1(bfrev_b32, reverse(x))
INT1(ffbh_u32, first_high(x))
INT1(ffbl_b32, x ? (uint32_t)__builtin_ctz(x) : ~0u)
INT1(ffbh_i32, first_high(x >> 31 ? ~x : x))

KERNEL(none)
{
}

KERNEL(mov_b64)
{
	LANES
	{
		uint32_t lo = a[i], hi = a[i + 64];

		d[i] = lo;
		d[i + 64] = hi;
	}
}

INT3(cndmask_b32, z ? y : x)
INT2(add_u32, x + y)
INT2(sub_u32, x - y)
INT2(subrev_u32, y - x)
INT2(add_u32_sat, x + y < x ? ~0u : x + y)
INT2(sub_u32_sat, x < y ? 0 : x - y)
INT2(subrev_u32_sat, y < x ? 0 : y - x)
INT2(add_i32_sat, clamp_i32((int64_t)(int32_t)x + (int32_t)y))
INT2(sub_i32_sat, clamp_i32((int64_t)(int32_t)x - (int32_t)y))

CARRY2(add_co_u32, x + y, r < x)
CARRY2(sub_co_u32, x - y, x < y)
CARRY2(subrev_co_u32, y - x, y < x)
CARRY2(add_co_u32_sat, x + y < x ? ~0u : x + y, x + y < x)
CARRY2(sub_co_u32_sat, x < y ? 0 : x - y, x < y)
CARRY2(subrev_co_u32_sat, y < x ? 0 : y - x, y < x)
CARRY3(addc_co_u32, x + y + z, carry_out(x, y, r))
CARRY3(subb_co_u32, x - y - z, borrow_out(x, y, r))
CARRY3(subbrev_co_u32, y - x - z, borrow_out(y, x, r))
CARRY3(addc_co_u32_sat, clamp_u32((uint64_t)x + y + z), (uint64_t)x + y + z > UINT32_MAX)
CARRY3(subb_co_u32_sat, x < (uint64_t)y + z ? 0 : x - y - z, x < (uint64_t)y + z)
CARRY3(subbrev_co_u32_sat, y < (uint64_t)x + z ? 0 : y - x - z, y < (uint64_t)x + z)

INT2(and_b32, x &y)
INT2(or_b32, x | y)
INT2(xor_b32, x ^ y)
INT2(xnor_b32, ~(x ^ y))
INT2(lshlrev_b32, y << (x & 31))
INT2(lshrrev_b32, y >> (x & 31))
INT2(ashrrev_i32, (int32_t)y >> (x & 31))
INT2(min_u32, minu(x, y))
INT2(max_u32, maxu(x, y))
INT2(min_i32, mini(x, y))
INT2(max_i32, maxi(x, y))

INT2(mul_i32_i24, (int64_t)i24(x) * i24(y))
INT2(mul_hi_i32_i24, (int64_t)i24(x) * i24(y) >> 32)
INT2(mul_u32_u24, u24(x) * u24(y))
INT2(mul_hi_u32_u24, (uint64_t)u24(x) * u24(y) >> 32)
INT2(mul_lo_u32, x *y)
INT2(mul_hi_u32, (uint64_t)x *y >> 32)
INT2(mul_hi_i32, (int64_t)(int32_t)x *(int32_t)y >> 32)
INT3(mad_i32_i24, (uint32_t)((int64_t)i24(x) * i24(y)) + z)
INT3(mad_u32_u24, u24(x) * u24(y) + z)
INT3(mad_i32_i24_sat, clamp_i32((int64_t)i24(x) * i24(y) + (int32_t)z))
INT3(mad_u32_u24_sat, clamp_u32((uint64_t)u24(x) * u24(y) + z))

KERNEL(mad_u64_u32)
{
	LANES
	{
		uint32_t x = a[i], y = b[i], lo = x * y, hi = (uint32_t)((uint64_t)x * y >> 32);
		uint32_t z = c[i + 64], low = lo + c[i], high = hi + z + (low < lo);

		m[i] = carry_out(hi, z, high);
		d[i] = low;
		d[i + 64] = high;
	}
}

KERNEL(mad_u64_u32_sat)
{
	LANES
	{
		uint64_t z = load64(c, i), r = (uint64_t)a[i] * b[i] + z;

		m[i] = r < z ? ~0u : 0;
		store64(d, i, r < z ? UINT64_MAX : r);
	}
}

/* The carry of the signed form is its overflow. */
static inline bool overflows(uint64_t p, uint64_t z, uint64_t r)
{
	return ((p ^ r) & (z ^ r)) >> 63;
}

KERNEL(mad_i64_i32)
{
	LANES
	{
		uint64_t p = (uint64_t)((int64_t)(int32_t)a[i] * (int32_t)b[i]);
		uint64_t z = load64(c, i), r = p + z;

		m[i] = overflows(p, z, r) ? ~0u : 0;
		store64(d, i, r);
	}
}

KERNEL(mad_i64_i32_sat)
{
	LANES
	{
		uint64_t p = (uint64_t)((int64_t)(int32_t)a[i] * (int32_t)b[i]);
		uint64_t z = load64(c, i), r = p + z;
		bool over = overflows(p, z, r);

		m[i] = over ? ~0u : 0;
		if (over)
			r = z >> 63 ? (uint64_t)INT64_MIN : (uint64_t)INT64_MAX;
		store64(d, i, r);
	}
}

/*
 * Bits
 */

static inline uint32_t low_bits(uint32_t n)
{
	return (1u << (n & 31)) - 1;
}

/* Beyond the top of the operand the field is sign-extended. */
static inline uint32_t bfe_i(uint32_t x, uint32_t offset, uint32_t width)
{
	uint32_t v = (uint32_t)((int32_t)x >> (offset & 31)) & low_bits(width);
	uint32_t sign = (low_bits(width) + 1) >> 1;

	return (v ^ sign) - sign;
}

static inline uint32_t perm(uint32_t x, uint32_t y, uint32_t selector)
{
	uint64_t bytes = (uint64_t)x << 32 | y;
	uint32_t r = 0;

	for (int k = 0; k < 32; k += 8) {
		uint32_t s = selector >> k & 0xff, v;

		if (s < 8)
			v = (uint32_t)(bytes >> 8 * s) & 0xff;
		else if (s < 12)
			v = bytes >> (16 * (s - 8) + 15) & 1 ? 0xff : 0;
		else
			v = s == 12 ? 0 : 0xff;
		r |= v << k;
	}
	return r;
}

static inline uint32_t lerp(uint32_t x, uint32_t y, uint32_t z)
{
	uint32_t r = 0;

	for (int k = 0; k < 32; k += 8)
		r |= ((x >> k & 0xff) + (y >> k & 0xff) + (z >> k & 1)) >> 1 << k;
	return r;
}

static inline uint32_t distance(uint32_t x, uint32_t y)
{
	return x > y ? x - y : y - x;
}

static inline uint32_t sad8(uint32_t x, uint32_t y)
{
	uint32_t r = 0;

	for (int k = 0; k < 32; k += 8)
		r += distance(x >> k & 0xff, y >> k & 0xff);
	return r;
}

/* Bytes of the reference @y that are 0 do not count. */
static inline uint32_t msad8(uint32_t x, uint32_t y)
{
	uint32_t r = 0;

	for (int k = 0; k < 32; k += 8)
		r += y >> k & 0xff ? distance(x >> k & 0xff, y >> k & 0xff) : 0;
	return r;
}

static inline uint32_t sad16(uint32_t x, uint32_t y)
{
	return distance(x & 0xffff, y & 0xffff) + distance(x >> 16, y >> 16);
}

INT3(bfe_u32, x >> (y & 31) & low_bits(z))
INT3(bfe_i32, bfe_i(x, y, z))
INT3(bfi_b32, (x & y) | (~x & z))
INT2(bfm_b32, low_bits(x) << (y & 31))
INT3(lerp_u8, lerp(x, y, z))
INT3(alignbit_b32, y >> (z & 31) | x << 1 << (31 - (z & 31)))
INT3(alignbyte_b32, y >> 8 * (z & 3) | x << 1 << (31 - 8 * (z & 3)))
INT3(perm_b32, perm(x, y, z))
INT3(min3_i32, mini((uint32_t)mini(x, y), z))
INT3(min3_u32, minu(minu(x, y), z))
INT3(max3_i32, maxi((uint32_t)maxi(x, y), z))
INT3(max3_u32, maxu(maxu(x, y), z))
INT3(med3_i32, maxi((uint32_t)mini(x, y), (uint32_t)mini((uint32_t)maxi(x, y), z)))
INT3(med3_u32, maxu(minu(x, y), minu(maxu(x, y), z)))
INT3(sad_u8, sad8(x, y) + z)
INT3(sad_hi_u8, (sad8(x, y) << 16) + z)
INT3(sad_u16, sad16(x, y) + z)
INT3(sad_u32, distance(x, y) + z)
INT3(msad_u8, msad8(x, y) + z)
INT3(sad_u8_sat, clamp_u32((uint64_t)sad8(x, y) + z))
INT3(sad_hi_u8_sat, clamp_u32(((uint64_t)sad8(x, y) << 16) + z))
INT3(sad_u16_sat, clamp_u32((uint64_t)sad16(x, y) + z))
INT3(sad_u32_sat, clamp_u32((uint64_t)distance(x, y) + z))
INT3(msad_u8_sat, clamp_u32((uint64_t)msad8(x, y) + z))

/* Four sums over a window of four bytes that moves by one. */
#define QSAD(name, sad, saturate)                                               \
	KERNEL(name)                                                            \
	{                                                                       \
		LANES                                                           \
		{                                                               \
			uint64_t x = load64(a, i), z = load64(c, i), r = 0;     \
			for (int k = 0; k < 4; k++) {                           \
				uint32_t s = sad((uint32_t)(x >> 8 * k), b[i]); \
				s += (uint32_t)(z >> 16 * k) & 0xffff;          \
				if (saturate)                                   \
					s = minu(s, 0xffff);                    \
				r |= (uint64_t)(s & 0xffff) << 16 * k;          \
			}                                                       \
			store64(d, i, r);                                       \
		}                                                               \
	}

QSAD(qsad_pk_u16_u8, sad8, false)
QSAD(qsad_pk_u16_u8_sat, sad8, true)
QSAD(mqsad_pk_u16_u8, msad8, false)
QSAD(mqsad_pk_u16_u8_sat, msad8, true)

INT3(xad_u32, (x ^ y) + z)
INT3(lshl_add_u32, (x << (y & 31)) + z)
INT3(add_lshl_u32, (x + y) << (z & 31))
INT3(add3_u32, x + y + z)
INT3(lshl_or_b32, x << (y & 31) | z)
INT3(and_or_b32, (x & y) | z)
INT3(or3_b32, x | y | z)
INT2(bcnt_u32_b32, popcount(x) + y)

/* The number of lanes below each lane, in the lower and the upper half of the wave. */
#define B1(n) (uint32_t)((1ull << (n)) - 1)
#define B4(n) B1(n), B1(n + 1), B1(n + 2), B1(n + 3)
#define BELOW B4(0), B4(4), B4(8), B4(12), B4(16), B4(20), B4(24), B4(28)
#define X4(v) v, v, v, v
#define X32(v) X4(v), X4(v), X4(v), X4(v), X4(v), X4(v), X4(v), X4(v)

static const _Alignas(64) uint32_t below_lo[GFX9_LANES] = { BELOW, X32(~0u) };
static const _Alignas(64) uint32_t below_hi[GFX9_LANES] = { X32(0), BELOW };

INT2(mbcnt_lo_u32_b32, popcount(x &below_lo[i]) + y)
INT2(mbcnt_hi_u32_b32, popcount(x &below_hi[i]) + y)
INT2(cvt_pk_u16_u32, minu(x, 0xffff) | minu(y, 0xffff) << 16)

static inline uint32_t sat16(int32_t v)
{
	return (uint32_t)(v > INT16_MAX ? INT16_MAX : v < INT16_MIN ? INT16_MIN : v) & 0xffff;
}

INT2(cvt_pk_i16_i32, sat16((int32_t)x) | sat16((int32_t)y) << 16)

KERNEL(lshl_add_u64)
{
	LANES
	{
		uint32_t n = b[i] & 7;

		store64(d, i, (load64(a, i) << n) + load64(c, i));
	}
}

/* Shifts of two dwords: by less than 32, and by 32 more if necessary. */
KERNEL(lshlrev_b64)
{
	LANES
	{
		uint32_t n = a[i] & 31, lo = b[i] << n;
		uint32_t hi = b[i + 64] << n | b[i] >> 1 >> (31 - n);
		bool far = a[i] & 32;

		d[i] = far ? 0 : lo;
		d[i + 64] = far ? lo : hi;
	}
}

KERNEL(lshrrev_b64)
{
	LANES
	{
		uint32_t n = a[i] & 31, hi = b[i + 64] >> n;
		uint32_t lo = b[i] >> n | b[i + 64] << 1 << (31 - n);
		bool far = a[i] & 32;

		d[i] = far ? hi : lo;
		d[i + 64] = far ? 0 : hi;
	}
}

KERNEL(ashrrev_i64)
{
	LANES
	{
		uint32_t n = a[i] & 31, hi = (uint32_t)((int32_t)b[i + 64] >> n);
		uint32_t lo = b[i] >> n | b[i + 64] << 1 << (31 - n);
		uint32_t sign = spread_sign(b[i + 64]);
		bool far = a[i] & 32;

		d[i] = far ? hi : lo;
		d[i + 64] = far ? sign : hi;
	}
}

/*
 * Dot products
 */

static inline int64_t dot_i(uint32_t x, uint32_t y, unsigned int bits)
{
	int64_t r = 0;

	for (unsigned int k = 0; k < 32; k += bits)
		r += (int64_t)sext(x >> k, bits) * sext(y >> k, bits);
	return r;
}

static inline uint64_t dot_u(uint32_t x, uint32_t y, unsigned int bits)
{
	uint32_t mask = low_bits(bits);
	uint64_t r = 0;

	for (unsigned int k = 0; k < 32; k += bits)
		r += (uint64_t)(x >> k & mask) * (y >> k & mask);
	return r;
}

INT3(dot2_i32_i16, (uint64_t)dot_i(x, y, 16) + z)
INT3(dot4_i32_i8, (uint64_t)dot_i(x, y, 8) + z)
INT3(dot8_i32_i4, (uint64_t)dot_i(x, y, 4) + z)
INT3(dot2_i32_i16_sat, clamp_i32(dot_i(x, y, 16) + (int32_t)z))
INT3(dot4_i32_i8_sat, clamp_i32(dot_i(x, y, 8) + (int32_t)z))
INT3(dot8_i32_i4_sat, clamp_i32(dot_i(x, y, 4) + (int32_t)z))
INT3(dot2_u32_u16, dot_u(x, y, 16) + z)
INT3(dot4_u32_u8, dot_u(x, y, 8) + z)
INT3(dot8_u32_u4, dot_u(x, y, 4) + z)
INT3(dot2_u32_u16_sat, clamp_u32(dot_u(x, y, 16) + z))
INT3(dot4_u32_u8_sat, clamp_u32(dot_u(x, y, 8) + z))
INT3(dot8_u32_u4_sat, clamp_u32(dot_u(x, y, 4) + z))

/*
 * 16 bits: the operands are in the low halves, the high halves are ignored; the result is
 * zero-extended.
 */

#define S16(v) ((int32_t)(int16_t)(uint16_t)(v))
#define U16(v) ((uint32_t)(uint16_t)(v))
#define SATU(v) ((uint32_t)((v) < 0 ? 0 : (v) > 0xffff ? 0xffff : (v)))

#define ADD_U16(x, y) U16((x) + (y))
#define SUB_U16(x, y) U16((x) - (y))
#define ADD_U16_SAT(x, y) minu(U16(x) + U16(y), 0xffff)
#define SUB_U16_SAT(x, y) (U16(x) < U16(y) ? 0 : U16(x) - U16(y))
#define ADD_I16_SAT(x, y) sat16(S16(x) + S16(y))
#define SUB_I16_SAT(x, y) sat16(S16(x) - S16(y))
#define MUL_U16(x, y) U16(U16(x) * U16(y))
#define SHL_U16(x, y) U16(U16(y) << ((x)&15))
#define SHR_U16(x, y) (U16(y) >> ((x)&15))
#define SHR_I16(x, y) U16(S16(y) >> ((x)&15))
#define MIN_U16(x, y) minu(U16(x), U16(y))
#define MAX_U16(x, y) maxu(U16(x), U16(y))
#define MIN_I16(x, y) U16(S16(x) < S16(y) ? (x) : (y))
#define MAX_I16(x, y) U16(S16(x) > S16(y) ? (x) : (y))
#define MAD_U16(x, y, z) U16(U16(x) * U16(y) + (z))
#define MAD_U16_SAT(x, y, z) (uint32_t) clamp_wide((uint64_t)U16(x) * U16(y) + U16(z))
#define MAD_I16_SAT(x, y, z) sat16_wide((int64_t)S16(x) * S16(y) + S16(z))

static inline uint32_t clamp_wide(uint64_t v)
{
	return v > 0xffff ? 0xffff : (uint32_t)v;
}

static inline uint32_t sat16_wide(int64_t v)
{
	return (uint32_t)(v > INT16_MAX ? INT16_MAX : v < INT16_MIN ? INT16_MIN : v) & 0xffff;
}

INT2(add_u16, ADD_U16(x, y))
INT2(sub_u16, SUB_U16(x, y))
INT2(subrev_u16, SUB_U16(y, x))
INT2(add_u16_sat, ADD_U16_SAT(x, y))
INT2(sub_u16_sat, SUB_U16_SAT(x, y))
INT2(subrev_u16_sat, SUB_U16_SAT(y, x))
INT2(add_i16_sat, ADD_I16_SAT(x, y))
INT2(sub_i16_sat, SUB_I16_SAT(x, y))
INT2(mul_lo_u16, MUL_U16(x, y))
INT2(lshlrev_b16, SHL_U16(x, y))
INT2(lshrrev_b16, SHR_U16(x, y))
INT2(ashrrev_i16, SHR_I16(x, y))
INT2(max_u16, MAX_U16(x, y))
INT2(max_i16, MAX_I16(x, y))
INT2(min_u16, MIN_U16(x, y))
INT2(min_i16, MIN_I16(x, y))
INT3(mad_u16, MAD_U16(x, y, z))
INT3(mad_u16_sat, MAD_U16_SAT(x, y, z))
INT3(mad_i16_sat, MAD_I16_SAT(x, y, z))
INT3(mad_u32_u16, U16(x) * U16(y) + z)
INT3(mad_i32_i16, (uint32_t)(S16(x) * S16(y)) + z)
INT3(mad_u32_u16_sat, clamp_u32((uint64_t)U16(x) * U16(y) + z))
INT3(mad_i32_i16_sat, clamp_i32((int64_t)S16(x) * S16(y) + (int32_t)z))
INT3(min3_i16, MIN_I16(MIN_I16(x, y), z))
INT3(min3_u16, MIN_U16(MIN_U16(x, y), z))
INT3(max3_i16, MAX_I16(MAX_I16(x, y), z))
INT3(max3_u16, MAX_U16(MAX_U16(x, y), z))
INT3(med3_i16, MAX_I16(MIN_I16(x, y), MIN_I16(MAX_I16(x, y), z)))
INT3(med3_u16, MAX_U16(MIN_U16(x, y), MIN_U16(MAX_U16(x, y), z)))

static inline uint32_t sat_u8(int32_t v)
{
	return (uint32_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

INT1(sat_pk_u8_i16, sat_u8(S16(x)) | sat_u8(S16(x >> 16)) << 8)

#define PACKED2(name, f) INT2(name, f(x, y) | f(x >> 16, y >> 16) << 16)
#define PACKED3(name, f) INT3(name, f(x, y, z) | f(x >> 16, y >> 16, z >> 16) << 16)

PACKED2(pk_add_u16, ADD_U16)
PACKED2(pk_sub_u16, SUB_U16)
PACKED2(pk_add_u16_sat, ADD_U16_SAT)
PACKED2(pk_sub_u16_sat, SUB_U16_SAT)
PACKED2(pk_add_i16_sat, ADD_I16_SAT)
PACKED2(pk_sub_i16_sat, SUB_I16_SAT)
PACKED2(pk_mul_lo_u16, MUL_U16)
PACKED2(pk_lshlrev_b16, SHL_U16)
PACKED2(pk_lshrrev_b16, SHR_U16)
PACKED2(pk_ashrrev_i16, SHR_I16)
PACKED2(pk_max_u16, MAX_U16)
PACKED2(pk_max_i16, MAX_I16)
PACKED2(pk_min_u16, MIN_U16)
PACKED2(pk_min_i16, MIN_I16)
PACKED3(pk_mad_u16, MAD_U16)
PACKED3(pk_mad_u16_sat, MAD_U16_SAT)
PACKED3(pk_mad_i16_sat, MAD_I16_SAT)

GFX9_VECTOR_INT(PLAIN)
GFX9_VECTOR_INT16(PLAIN)
