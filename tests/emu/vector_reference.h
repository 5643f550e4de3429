/* SPDX-License-Identifier: MIT */
/* The result of each vector instruction, written differently from the engine: a value at a time. */
#ifndef GP_TEST_VECTOR_REFERENCE_H
#define GP_TEST_VECTOR_REFERENCE_H

#include "f128.h"
#include "vector_fixture.h"

/*
 * Numbers, by way of the C library and wider types
 */

static float F(uint64_t v)
{
	uint32_t u = (uint32_t)v;
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static uint32_t from_f(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static double D(uint64_t u)
{
	double f;

	memcpy(&f, &u, 8);
	return f;
}

static uint64_t from_d(double f)
{
	uint64_t u;

	memcpy(&u, &f, 8);
	return u;
}

static int32_t I(uint64_t v)
{
	return (int32_t)(uint32_t)v;
}

static uint32_t U(uint64_t v)
{
	return (uint32_t)v;
}

static int16_t S(uint64_t v)
{
	return (int16_t)(uint16_t)v;
}

static uint16_t W(uint64_t v)
{
	return (uint16_t)v;
}

static double H(uint64_t v)
{
	int e = (int)(v >> 10 & 31), m = (int)(v & 0x3ff);
	double r;

	if (e == 31)
		r = m ? NAN : INFINITY;
	else
		r = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
	return v & 0x8000 ? -r : r;
}

static bool is_nan_h(uint64_t v)
{
	return (v & 0x7fff) > 0x7c00;
}

/* The half nearest to @v, by bisection; rounding as MODE has it. */
static uint32_t to_half(f128 v, unsigned int mode)
{
	bool neg = v < 0 || (v == 0 && signbit((double)v));
	f128 x = neg ? -v : v, mid;
	uint32_t lo = 0, hi = 0x7c00;
	bool up;

	while (hi - lo > 1) {
		uint32_t m = (lo + hi) / 2;

		if ((f128)H(m) <= x)
			lo = m;
		else
			hi = m;
	}
	mid = ((f128)H(lo) + (hi == 0x7c00 ? 65536 : H(hi))) / 2;
	if ((double)x == INFINITY)
		return neg ? 0xfc00 : 0x7c00;
	if (mode == 0)
		up = x > mid || (x == mid && (lo & 1));
	else
		up = (f128)H(lo) != x && (mode == 3 ? false : neg == (mode == 2));
	return (up ? hi : lo) | (neg ? 0x8000 : 0);
}

/* Results, where the first of @n sources that is a NaN is returned, made quiet. */
static uint64_t RF(double v, int n, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t s[] = { a, b, c };

	for (int i = 0; i < n; i++) {
		if (isnan(F(s[i])))
			return U(s[i]) | 0x400000;
	}
	return isnan(v) ? 0xffc00000 : from_f((float)v);
}

static uint64_t RD(f128 v, int n, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t s[] = { a, b, c };

	for (int i = 0; i < n; i++) {
		if (isnan(D(s[i])))
			return s[i] | 0x8000000000000;
	}
	return v != v ? 0xfff8000000000000 : from_d((double)v);
}

static uint64_t RH(f128 v, int n, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t s[] = { a, b, c };

	for (int i = 0; i < n; i++) {
		if (is_nan_h(s[i]))
			return W(s[i]) | 0x200;
	}
	return v != v ? 0xfe00 : to_half(v, 0);
}

/* Denormals to zero. */
static uint64_t ZF(uint64_t v)
{
	return isnormal(F(v)) || !isfinite(F(v)) ? U(v) : U(v) & 0x80000000;
}

static uint64_t ZH(uint64_t v)
{
	return v & 0x7c00 ? W(v) : v & 0x8000;
}

static i128 clamped(i128 v, i128 lo, i128 hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

/* fmin and fmax of bits of @n: NaN rules of MODE.IEEE, -0 below +0. */
static uint64_t extreme(uint64_t a, uint64_t b, int n, bool max)
{
	uint64_t quiet = n == 64 ? 1ull << 51 : n == 32 ? 1u << 22 : 1u << 9;
	double x = n == 64 ? D(a) : n == 32 ? (double)F(a) : H(a);
	double y = n == 64 ? D(b) : n == 32 ? (double)F(b) : H(b);

	if (isnan(x) && !(a & quiet))
		return a | quiet;
	if (isnan(y) && !(b & quiet))
		return b | quiet;
	if (isnan(x))
		return b;
	if (isnan(y))
		return a;
	if (x == y)
		return (signbit(x) != 0) != max ? a : b;
	return (x > y) == max ? a : b;
}

static uint64_t minf(uint64_t a, uint64_t b, int n)
{
	return extreme(a, b, n, false);
}

static uint64_t maxf(uint64_t a, uint64_t b, int n)
{
	return extreme(a, b, n, true);
}

static uint64_t medf(uint64_t a, uint64_t b, uint64_t c, int n)
{
	double x = n == 32 ? (double)F(a) : H(a), y = n == 32 ? (double)F(b) : H(b);
	double z = n == 32 ? (double)F(c) : H(c);
	uint64_t top = maxf(maxf(a, b, n), c, n);

	if (isnan(x) || isnan(y) || isnan(z))
		return minf(minf(a, b, n), c, n);
	if (top == a)
		return maxf(b, c, n);
	return top == b ? maxf(a, c, n) : maxf(a, b, n);
}

static i128 med(i128 a, i128 b, i128 c)
{
	i128 lo = a < b ? a : b, hi = a < b ? b : a;

	return c < lo ? lo : c > hi ? hi : c;
}

static uint64_t bytes(uint64_t a, uint64_t b, uint64_t c, const char *what)
{
	uint64_t r = 0;

	for (int k = 0; k < 4; k++) {
		int x = (uint8_t)(a >> 8 * k), y = (uint8_t)(b >> 8 * k);

		if (!strcmp(what, "lerp"))
			r |= (uint64_t)((x + y + (int)(c >> 8 * k & 1)) / 2) << 8 * k;
		else if (!strcmp(what, "sad") || y)
			r += (uint64_t)abs(x - y);
	}
	return r;
}

static uint64_t qsad(uint64_t a, uint64_t b, uint64_t c, const char *what)
{
	uint64_t r = 0;

	for (int k = 0; k < 4; k++)
		r |= (uint64_t)W(bytes(U(a >> 8 * k), U(b), 0, what) + W(c >> 16 * k)) << 16 * k;
	return r;
}

static uint64_t permuted(uint64_t a, uint64_t b, uint64_t sel)
{
	uint8_t pool[8], r[4];
	uint64_t v = 0;

	for (int k = 0; k < 4; k++) {
		pool[k] = (uint8_t)(b >> 8 * k);
		pool[k + 4] = (uint8_t)(a >> 8 * k);
	}
	for (int k = 0; k < 4; k++) {
		unsigned int s = (uint8_t)(sel >> 8 * k);

		if (s >= 13)
			r[k] = 255;
		else if (s == 12)
			r[k] = 0;
		else if (s >= 8)
			r[k] = pool[(s - 8) * 2 + 1] & 128 ? 255 : 0;
		else
			r[k] = pool[s];
		v |= (uint64_t)r[k] << 8 * k;
	}
	return v;
}

static int field(uint64_t v, int k, int bits, bool sign)
{
	int r = (int)(v >> k * bits & ((1u << bits) - 1));

	return sign && r >> (bits - 1) ? r - (1 << bits) : r;
}

static uint64_t dot(uint64_t a, uint64_t b, uint64_t c, int bits, bool sign)
{
	i128 r = sign ? I(c) : (i128)U(c);

	for (int k = 0; k < 32 / bits; k++)
		r += (i128)field(a, k, bits, sign) * field(b, k, bits, sign);
	return U((uint64_t)r);
}

static uint64_t reversed(uint64_t a)
{
	uint64_t r = 0;

	for (int k = 0; k < 32; k++)
		r |= (a >> k & 1) << (31 - k);
	return r;
}

static uint64_t top_bit(uint64_t a)
{
	for (int k = 31; k >= 0; k--) {
		if (a >> k & 1)
			return (uint64_t)(31 - k);
	}
	return 0xffffffff;
}

static uint64_t ones(uint64_t a)
{
	uint64_t n = 0;

	for (; a; a &= a - 1)
		n++;
	return n;
}

static uint64_t saturated(double v, double lo, double hi)
{
	return isnan(v) ? 0 : (uint64_t)(int64_t)(v <= lo ? lo : v >= hi ? hi : trunc(v));
}

static uint64_t turned(double x, bool cosine)
{
	double q = fmod(fabs(x), 1.0);

	if (isinf(x) || isnan(x))
		return 0xffc00000;
	if (fabs(x) > 256)
		return from_f(cosine ? 1 : 0);
	if (q == 0.25 || q == 0.75)
		return from_f(cosine ? 0 : (float)((q == 0.25) == (x > 0) ? 1 : -1));
	if (q == 0 || q == 0.5)
		return from_f(cosine ? (q == 0 ? 1 : -1) : 0);
	q = 6.283185307179586476925 * q;
	return from_f((float)(cosine ? cos(q) : copysign(1, x) * sin(q)));
}

static uint64_t mantissa(uint64_t a)
{
	int e;

	return a << 1 && isfinite(F(a)) ? from_f(frexpf(F(a), &e)) : RF((double)F(a), 1, a, 0, 0);
}

static uint64_t exponent(double x)
{
	int e = 0;

	if (isfinite(x))
		frexp(x, &e);
	return U((uint64_t)e);
}

/* 0: number. The special results of a division of @x by @y, with the quotient's sign. */
static uint64_t fixup_f(uint64_t q, uint64_t y, uint64_t x)
{
	float n = F(x), d = F(y), s = signbit(n) != signbit(d) ? -1 : 1;
	int e;

	if (isnan(n))
		return U(x) | 0x400000;
	if (isnan(d))
		return U(y) | 0x400000;
	if (isnan(n / d))
		return 0xffc00000;
	if (isinf(n) || d == 0)
		return from_f(s * INFINITY);
	if (isinf(d) || n == 0)
		return from_f(s * 0.0f);
	e = (int)(x >> 23 & 255) - (int)(y >> 23 & 255);
	if (e < -150)
		return from_f(s * 0.0f);
	return isnan(F(q)) ? U(q) | 0x400000 : from_f(copysignf(F(q), s));
}

static uint64_t fixup_d(uint64_t q, uint64_t y, uint64_t x)
{
	double n = D(x), d = D(y), s = signbit(n) != signbit(d) ? -1 : 1;
	int e;

	if (isnan(n))
		return x | 0x8000000000000;
	if (isnan(d))
		return y | 0x8000000000000;
	if (isnan(n / d))
		return 0xfff8000000000000;
	if (isinf(n) || d == 0)
		return from_d(s * INFINITY);
	if (isinf(d) || n == 0)
		return from_d(s * 0.0);
	e = (int)(x >> 52 & 2047) - (int)(y >> 52 & 2047);
	if (e < -1075)
		return from_d(s * 0.0);
	return isnan(D(q)) ? q | 0x8000000000000 : from_d(copysign(D(q), s));
}

static uint64_t fixup_h(uint64_t q, uint64_t y, uint64_t x)
{
	double n = H(x), d = H(y), s = signbit(n) != signbit(d) ? -1 : 1;

	if (isnan(n))
		return W(x) | 0x200;
	if (isnan(d))
		return W(y) | 0x200;
	if (isnan(n / d))
		return 0xfe00;
	if (isinf(n) || d == 0)
		return s < 0 ? 0xfc00 : 0x7c00;
	if (isinf(d) || n == 0)
		return s < 0 ? 0x8000 : 0;
	return is_nan_h(q) ? W(q) | 0x200 : (q & 0x7fff) | (s < 0 ? 0x8000 : 0);
}

/* The powers of two for scaling: the cases of the manual, one after the other. */
static uint64_t scale_f(uint64_t a, uint64_t den, uint64_t num, bool *vcc)
{
	float d = F(den), n = F(num);
	int ed = (int)(den >> 23 & 255), en = (int)(num >> 23 & 255), e = 0;
	bool d0 = fpclassify(1 / d) == FP_SUBNORMAL, q0 = fpclassify(n / d) == FP_SUBNORMAL;

	if (n == 0 || d == 0)
		return 0xffc00000;
	if (en - ed >= 96) {
		*vcc = true;
		e = U(a) == U(den) ? 64 : 0;
	} else if (fpclassify(d) == FP_SUBNORMAL) {
		e = 64;
	} else if (d0 && q0) {
		*vcc = true;
		e = U(a) == U(den) ? 64 : 0;
	} else if (d0) {
		e = -64;
	} else if (q0) {
		*vcc = true;
		e = U(a) == U(num) ? 64 : 0;
	} else if (en <= 23) {
		e = 64;
	}
	return RF((double)ldexpf(F(a), e), 1, a, 0, 0);
}

static uint64_t scale_d(uint64_t a, uint64_t den, uint64_t num, bool *vcc)
{
	double d = D(den), n = D(num);
	int ed = (int)(den >> 52 & 2047), en = (int)(num >> 52 & 2047), e = 0;
	bool d0 = fpclassify(1 / d) == FP_SUBNORMAL, q0 = fpclassify(n / d) == FP_SUBNORMAL;

	if (n == 0 || d == 0)
		return 0xfff8000000000000;
	if (en - ed >= 768) {
		*vcc = true;
		e = a == den ? 128 : 0;
	} else if (fpclassify(d) == FP_SUBNORMAL) {
		e = 128;
	} else if (d0 && q0) {
		*vcc = true;
		e = a == den ? 128 : 0;
	} else if (d0) {
		e = -128;
	} else if (q0) {
		*vcc = true;
		e = a == num ? 128 : 0;
	} else if (en <= 53) {
		e = 128;
	}
	return RD(ldexp(D(a), e), 1, a, 0, 0);
}

/* Face, coordinates and axis, from the three magnitudes sorted. */
static uint64_t cubed(uint64_t a, uint64_t b, uint64_t c, int what)
{
	float v[3] = { F(a), F(b), F(c) };
	int axis = 0;
	float s;

	if (isnan(v[0]) || isnan(v[1]) || isnan(v[2]))
		return RF(0, 3, a, b, c);
	if (fabsf(v[2]) >= fabsf(v[0]) && fabsf(v[2]) >= fabsf(v[1]))
		axis = 2;
	else if (fabsf(v[1]) >= fabsf(v[0]))
		axis = 1;
	s = v[axis] < 0 ? -1.0f : 1.0f;
	switch (what) {
	case 0:
		return from_f((float)(2 * axis + (s < 0)));
	case 1:
		return from_f(axis == 0 ? -s * v[2] : axis == 1 ? v[0] : s * v[0]);
	case 2:
		return from_f(axis == 1 ? s * v[2] : -v[1]);
	default:
		return from_f(2 * v[axis]);
	}
}

/* The first two pieces of 2/pi; any value for others. */
#define ANYTHING UINT64_MAX

static uint64_t preop(uint64_t a, uint64_t b)
{
	if ((a >> 52 & 2047) > 1077 || (b & 31) > 1)
		return ANYTHING;
	return from_d(b & 31 ? 0x1.4a7f09d5f47d4p-54 : 0x1.45f306dc9c882p-1);
}

static uint64_t f8(uint64_t v, int m, int bias)
{
	double tiny = ldexp(1, 1 - bias - m), r = 0;

	v &= 255;
	if (v == 0x80)
		return 0xffc00000;
	/* Counting up: from the second binade on the step doubles with each. */
	for (int k = 0; k < (int)(v & 127); k++)
		r += ldexp(tiny, k >> m ? (k >> m) - 1 : 0);
	return from_f((float)(v & 128 ? -r : r));
}

static uint64_t to_f8(uint64_t v, int m, int bias)
{
	double x = fabs((double)F(v)), best = INFINITY, top = (double)F(f8(127, m, bias));
	double last = top - (double)F(f8(126, m, bias));
	uint64_t r = 0;

	if (isnan(x) || x >= top + last / 2)
		return 0x80;
	for (uint64_t k = 0; k < 128; k++) {
		double off = fabs((double)F(f8(k, m, bias)) - x);

		if (off < best || (off == best && !(k & 1))) {
			best = off;
			r = k;
		}
	}
	return r ? r | (v >> 24 & 0x80) : 0;
}

/* Rounds up if the truncated fraction and the random bits, as many as there are, sum up to one. */
static uint64_t to_f8_random(uint64_t v, uint64_t random, int m, int bias)
{
	double x = fabs((double)F(v)), low, high, parts = ldexp(1, 23 - m);
	uint64_t k = 0;

	if (!isfinite(x))
		return 0x80;
	while (k < 127 && (double)F(f8(k + 1, m, bias)) <= x)
		k++;
	low = (double)F(f8(k, m, bias));
	high = k < 127 ? (double)F(f8(k + 1, m, bias)) : 2 * low - (double)F(f8(126, m, bias));
	if (x >= high)
		return 0x80;
	if (floor((x - low) / (high - low) * parts) + (double)(U(random) >> (9 + m)) >= parts)
		k++;
	return k > 127 ? 0x80 : k ? k | (v >> 24 & 0x80) : 0;
}

static uint64_t mixed(uint64_t a, uint64_t b, uint64_t c)
{
	return RF((double)fmaf(F(a), F(b), F(c)), 3, a, b, c);
}

/* Every half of a packed operation. */
#define EACH(expr)                                                             \
	({                                                                     \
		uint64_t a_ = a, b_ = b, c_ = c, r_ = 0;                       \
		for (int k_ = 0; k_ < 32; k_ += 16) {                          \
			uint64_t a = a_ >> k_ & 0xffff, b = b_ >> k_ & 0xffff; \
			uint64_t c = c_ >> k_ & 0xffff;                        \
			(void)c;                                               \
			r_ |= (uint64_t)W((uint64_t)(expr)) << k_;             \
		}                                                              \
		r_;                                                            \
	})
#define LOHI(expr)                                                                  \
	({                                                                          \
		uint64_t a_ = a, b_ = b, c_ = c, r_ = 0;                            \
		for (int k_ = 0; k_ < 64; k_ += 32) {                               \
			uint64_t a = U(a_ >> k_), b = U(b_ >> k_), c = U(c_ >> k_); \
			(void)c;                                                    \
			r_ |= (uint64_t)U(expr) << k_;                              \
		}                                                                   \
		r_;                                                                 \
	})
#define Q(v) ((f128)D(v))
#define QH(v) ((f128)H(v))

/* X(opcode, its result for a, b, c; *m is the mask). lane is available. */
#define REFERENCES(X)                                                                              \
	X(V_MOV_B32, a)                                                                            \
	X(V_MOV_B64, a)                                                                            \
	X(V_NOT_B32, 0xffffffff - a)                                                               \
	X(V_BFREV_B32, reversed(a))                                                                \
	X(V_FFBH_U32, top_bit(a))                                                                  \
	X(V_FFBL_B32, a ? 31 - top_bit(a & -a) : 0xffffffff)                                       \
	X(V_FFBH_I32, top_bit(I(a) < 0 ? U(~a) : a))                                               \
	X(V_CNDMASK_B32, c ? b : a)                                                                \
	X(V_ADD_U32, a + b)                                                                        \
	X(V_SUB_U32, a - b)                                                                        \
	X(V_SUBREV_U32, b - a)                                                                     \
	X(V_ADD_I32, a + b)                                                                        \
	X(V_SUB_I32, a - b)                                                                        \
	X(V_ADD_CO_U32, (*m = (a + b) >> 32, a + b))                                               \
	X(V_SUB_CO_U32, (*m = (a - b) >> 63, a - b))                                               \
	X(V_SUBREV_CO_U32, (*m = (b - a) >> 63, b - a))                                            \
	X(V_ADDC_CO_U32, (*m = (a + b + (c & 1)) >> 32, a + b + (c & 1)))                          \
	X(V_SUBB_CO_U32, (*m = (a - b - (c & 1)) >> 63, a - b - (c & 1)))                          \
	X(V_SUBBREV_CO_U32, (*m = (b - a - (c & 1)) >> 63, b - a - (c & 1)))                       \
	X(V_AND_B32, ~(~a | ~b))                                                                   \
	X(V_OR_B32, ~(~a & ~b))                                                                    \
	X(V_XOR_B32, (a | b) - (a & b))                                                            \
	X(V_XNOR_B32, ~((a | b) - (a & b)))                                                        \
	X(V_LSHLREV_B32, (u128)b << a % 32)                                                        \
	X(V_LSHRREV_B32, b / (1ull << a % 32))                                                     \
	X(V_ASHRREV_I32, ((int64_t)I(b) - (I(b) < 0 ? (1ll << a % 32) - 1 : 0)) / (1ll << a % 32)) \
	X(V_MIN_U32, a < b ? a : b)                                                                \
	X(V_MAX_U32, a < b ? b : a)                                                                \
	X(V_MIN_I32, I(a) < I(b) ? a : b)                                                          \
	X(V_MAX_I32, I(a) < I(b) ? b : a)                                                          \
	X(V_MUL_I32_I24, (i128)(I(a << 8) / 256) * (I(b << 8) / 256))                              \
	X(V_MUL_HI_I32_I24, ((i128)(I(a << 8) / 256) * (I(b << 8) / 256)) >> 32)                   \
	X(V_MUL_U32_U24, (a % 0x1000000) * (b % 0x1000000))                                        \
	X(V_MUL_HI_U32_U24, (a % 0x1000000) * (b % 0x1000000) / 0x100000000)                       \
	X(V_MUL_LO_U32, (u128)a *b)                                                                \
	X(V_MUL_HI_U32, (u128)a *b >> 32)                                                          \
	X(V_MUL_HI_I32, (i128)I(a) * I(b) >> 32)                                                   \
	X(V_MAD_I32_I24, (i128)(I(a << 8) / 256) * (I(b << 8) / 256) + c)                          \
	X(V_MAD_U32_U24, (a % 0x1000000) * (b % 0x1000000) + c)                                    \
	X(V_MAD_U64_U32, (*m = ((u128)a * b + c) >> 64, a * b + c))                                \
	X(V_MAD_I64_I32, ({                                                                        \
		  i128 r = (i128)I(a) * I(b) + (int64_t)c;                                         \
		  *m = r != (int64_t)r;                                                            \
		  r;                                                                               \
	  }))                                                                                      \
	X(V_BFE_U32, (a >> b % 32) % (1ull << c % 32))                                             \
	X(V_BFE_I32, ({                                                                            \
		  int64_t n = 1ll << c % 32, r = ((int64_t)I(a) >> b % 32) & (n - 1);              \
		  r >= (n + 1) / 2 && c % 32 ? r - n : r;                                          \
	  }))                                                                                      \
	X(V_BFI_B32, c ^ (a & (b ^ c)))                                                            \
	X(V_BFM_B32, ((1ull << a % 32) - 1) << b % 32)                                             \
	X(V_LERP_U8, bytes(a, b, c, "lerp"))                                                       \
	X(V_ALIGNBIT_B32, ((u128)a << 32 | b) >> c % 32)                                           \
	X(V_ALIGNBYTE_B32, ((u128)a << 32 | b) >> c % 4 * 8)                                       \
	X(V_PERM_B32, permuted(a, b, c))                                                           \
	X(V_MIN3_I32, clamped(clamped(I(a), INT32_MIN, I(b)), INT32_MIN, I(c)))                    \
	X(V_MIN3_U32, clamped(clamped(a, 0, b), 0, c))                                             \
	X(V_MAX3_I32, clamped(clamped(I(a), I(b), INT32_MAX), I(c), INT32_MAX))                    \
	X(V_MAX3_U32, clamped(clamped(a, b, UINT32_MAX), c, UINT32_MAX))                           \
	X(V_MED3_I32, med(I(a), I(b), I(c)))                                                       \
	X(V_MED3_U32, med(a, b, c))                                                                \
	X(V_SAD_U8, bytes(a, b, 0, "sad") + c)                                                     \
	X(V_SAD_HI_U8, bytes(a, b, 0, "sad") * 65536 + c)                                          \
	X(V_SAD_U16,                                                                               \
	  (uint64_t)abs((int)W(a) - W(b)) + (uint64_t)abs((int)W(a >> 16) - W(b >> 16)) + c)       \
	X(V_SAD_U32, (uint64_t)llabs((int64_t)a - (int64_t)b) + c)                                 \
	X(V_MSAD_U8, bytes(a, b, 0, "msad") + c)                                                   \
	X(V_QSAD_PK_U16_U8, qsad(a, b, c, "sad"))                                                  \
	X(V_MQSAD_PK_U16_U8, qsad(a, b, c, "msad"))                                                \
	X(V_XAD_U32, (a | b) - (a & b) + c)                                                        \
	X(V_LSHL_ADD_U32, a *(1ull << b % 32) + c)                                                 \
	X(V_ADD_LSHL_U32, (a + b) * (1ull << c % 32))                                              \
	X(V_ADD3_U32, (u128)a + b + c)                                                             \
	X(V_LSHL_OR_B32, a *(1ull << b % 32) | c)                                                  \
	X(V_AND_OR_B32, ~(~a | ~b) | c)                                                            \
	X(V_OR3_B32, ~(~a & ~b & ~c))                                                              \
	X(V_LSHL_ADD_U64, a *(1ull << b % 8) + c)                                                  \
	X(V_LSHLREV_B64, (u128)b << a % 64)                                                        \
	X(V_LSHRREV_B64, b / (1ull << a % 64))                                                     \
	X(V_ASHRREV_I64, (i128)(int64_t)b >> a % 64)                                               \
	X(V_BCNT_U32_B32, ones(a) + b)                                                             \
	X(V_MBCNT_LO_U32_B32, ones(a &((1ull << (lane < 32 ? lane : 32)) - 1)) + b)                \
	X(V_MBCNT_HI_U32_B32, ones(lane < 32 ? 0 : a & ((1ull << (lane - 32)) - 1)) + b)           \
	X(V_CVT_PK_U16_U32, clamped(a, 0, 65535) | clamped(b, 0, 65535) << 16)                     \
	X(V_CVT_PK_I16_I32, W((uint64_t)clamped(I(a), -32768, 32767)) |                            \
				    (uint64_t)W((uint64_t)clamped(I(b), -32768, 32767)) << 16)     \
	X(V_DOT4_I32_I8, dot(a, b, c, 8, true))                                                    \
	X(V_DOT4_U32_U8, dot(a, b, c, 8, false))                                                   \
	X(V_DOT8_I32_I4, dot(a, b, c, 4, true))                                                    \
	X(V_DOT8_U32_U4, dot(a, b, c, 4, false))                                                   \
	X(V_DOT2_I32_I16, dot(a, b, c, 16, true))                                                  \
	X(V_DOT2_U32_U16, dot(a, b, c, 16, false))                                                 \
	X(V_DOT4C_I32_I8, dot(a, b, c, 8, true))                                                   \
	X(V_DOT8C_I32_I4, dot(a, b, c, 4, true))                                                   \
	X(V_DOT2C_I32_I16, dot(a, b, c, 16, true))                                                 \
	X(V_ADD_U16, W(a + b))                                                                     \
	X(V_SUB_U16, W(a - b))                                                                     \
	X(V_SUBREV_U16, W(b - a))                                                                  \
	X(V_MUL_LO_U16, W((uint64_t)W(a) * W(b)))                                                  \
	X(V_LSHLREV_B16, W((uint64_t)W(b) << a % 16))                                              \
	X(V_LSHRREV_B16, W(b) / (1u << a % 16))                                                    \
	X(V_ASHRREV_I16, W((uint64_t)(S(b) >> a % 16)))                                            \
	X(V_MAX_U16, W(a) > W(b) ? W(a) : W(b))                                                    \
	X(V_MAX_I16, S(a) > S(b) ? W(a) : W(b))                                                    \
	X(V_MIN_U16, W(a) < W(b) ? W(a) : W(b))                                                    \
	X(V_MIN_I16, S(a) < S(b) ? W(a) : W(b))                                                    \
	X(V_ADD_I16, W(a + b))                                                                     \
	X(V_SUB_I16, W(a - b))                                                                     \
	X(V_MAD_U16, W(a *b + c))                                                                  \
	X(V_MAD_I16, W(a *b + c))                                                                  \
	X(V_MAD_LEGACY_U16, W(a *b + c))                                                           \
	X(V_MAD_LEGACY_I16, W(a *b + c))                                                           \
	X(V_MAD_U32_U16, (uint64_t)W(a) * W(b) + c)                                                \
	X(V_MAD_I32_I16, (int64_t)S(a) * S(b) + (int64_t)c)                                        \
	X(V_MIN3_I16, W((uint64_t)clamped(clamped(S(a), -32768, S(b)), -32768, S(c))))             \
	X(V_MIN3_U16, clamped(clamped(W(a), 0, W(b)), 0, W(c)))                                    \
	X(V_MAX3_I16, W((uint64_t)clamped(clamped(S(a), S(b), 32767), S(c), 32767)))               \
	X(V_MAX3_U16, clamped(clamped(W(a), W(b), 65535), W(c), 65535))                            \
	X(V_MED3_I16, W((uint64_t)med(S(a), S(b), S(c))))                                          \
	X(V_MED3_U16, med(W(a), W(b), W(c)))                                                       \
	X(V_SAT_PK_U8_I16, clamped(S(a), 0, 255) | clamped(S(a >> 16), 0, 255) << 8)               \
	X(V_PK_MAD_I16, EACH(a *b + c))                                                            \
	X(V_PK_MAD_U16, EACH(a *b + c))                                                            \
	X(V_PK_MUL_LO_U16, EACH(a *b))                                                             \
	X(V_PK_ADD_I16, EACH(a + b))                                                               \
	X(V_PK_SUB_I16, EACH(a - b))                                                               \
	X(V_PK_ADD_U16, EACH(a + b))                                                               \
	X(V_PK_SUB_U16, EACH(a - b))                                                               \
	X(V_PK_LSHLREV_B16, EACH(b << a % 16))                                                     \
	X(V_PK_LSHRREV_B16, EACH(b >> a % 16))                                                     \
	X(V_PK_ASHRREV_I16, EACH(S(b) >> a % 16))                                                  \
	X(V_PK_MAX_I16, EACH(S(a) > S(b) ? a : b))                                                 \
	X(V_PK_MIN_I16, EACH(S(a) < S(b) ? a : b))                                                 \
	X(V_PK_MAX_U16, EACH(a > b ? a : b))                                                       \
	X(V_PK_MIN_U16, EACH(a < b ? a : b))                                                       \
	X(V_ADD_F32, RF((double)F(a) + (double)F(b), 2, a, b, c))                                  \
	X(V_SUB_F32, RF((double)F(a) - (double)F(b), 2, a, b, c))                                  \
	X(V_SUBREV_F32, RF((double)F(b) - (double)F(a), 2, a, b, c))                               \
	X(V_MUL_F32, RF((double)F(a) * (double)F(b), 2, a, b, c))                                  \
	X(V_MUL_LEGACY_F32,                                                                        \
	  F(a) == 0 || F(b) == 0 ? 0 : RF((double)F(a) * (double)F(b), 2, a, b, c))                \
	X(V_MIN_F32, minf(a, b, 32))                                                               \
	X(V_MAX_F32, maxf(a, b, 32))                                                               \
	X(V_MIN3_F32, minf(minf(a, b, 32), c, 32))                                                 \
	X(V_MAX3_F32, maxf(maxf(a, b, 32), c, 32))                                                 \
	X(V_MED3_F32, medf(a, b, c, 32))                                                           \
	X(V_MAC_F32, mad_f(a, b, c, false))                                                        \
	X(V_MADMK_F32, mad_f(a, b, c, false))                                                      \
	X(V_MADAK_F32, mad_f(a, b, c, false))                                                      \
	X(V_MAD_F32, mad_f(a, b, c, false))                                                        \
	X(V_MAD_LEGACY_F32, mad_f(a, b, c, true))                                                  \
	X(V_FMA_F32, mixed(a, b, c))                                                               \
	X(V_FMAC_F32, mixed(a, b, c))                                                              \
	X(V_FMAMK_F32, mixed(a, b, c))                                                             \
	X(V_FMAAK_F32, mixed(a, b, c))                                                             \
	X(V_FRACT_F32,                                                                             \
	  RF(fmin((double)(F(a) - floorf(F(a))), 0x1.fffffep-1) + 0 * (double)F(a), 1, a, b, c))   \
	X(V_TRUNC_F32, RF((double)truncf(F(a)), 1, a, b, c))                                       \
	X(V_CEIL_F32, RF(-floor(-(double)F(a)), 1, a, b, c))                                       \
	X(V_RNDNE_F32, RF(nearbyint((double)F(a)), 1, a, b, c))                                    \
	X(V_FLOOR_F32, RF(floor((double)F(a)), 1, a, b, c))                                        \
	X(V_EXP_F32, ZF(RF(pow(2, (double)F(ZF(a))), 1, a, b, c)))                                 \
	X(V_EXP_LEGACY_F32, ZF(RF(pow(2, (double)F(ZF(a))), 1, a, b, c)))                          \
	X(V_LOG_F32, RF((double)log2l((long double)F(ZF(a))), 1, a, b, c))                         \
	X(V_LOG_LEGACY_F32, RF((double)log2l((long double)F(ZF(a))), 1, a, b, c))                  \
	X(V_RCP_F32, ZF(RF(1 / (double)F(ZF(a)), 1, a, b, c)))                                     \
	X(V_RCP_IFLAG_F32, ZF(RF(1 / (double)F(ZF(a)), 1, a, b, c)))                               \
	X(V_RSQ_F32, RF((double)(1 / sqrtl((long double)F(ZF(a)))), 1, a, b, c))                   \
	X(V_SQRT_F32, RF((double)sqrtl((long double)F(ZF(a))), 1, a, b, c))                        \
	X(V_SIN_F32, isnan(F(a)) ? RF(0, 1, a, b, c) : turned((double)F(ZF(a)), false))            \
	X(V_COS_F32, isnan(F(a)) ? RF(0, 1, a, b, c) : turned((double)F(ZF(a)), true))             \
	X(V_FREXP_EXP_I32_F32, exponent((double)F(a)))                                             \
	X(V_FREXP_MANT_F32, mantissa(a))                                                           \
	X(V_LDEXP_F32, RF((double)ldexpf(F(a), I(b)), 1, a, b, c))                                 \
	X(V_DIV_SCALE_F32, scale_f(a, b, c, m))                                                    \
	X(V_DIV_FMAS_F32, RF((double)(fmaf(F(a), F(b), F(c)) * (*m ? 0x1p32f : 1)), 3, a, b, c))   \
	X(V_DIV_FIXUP_F32, fixup_f(a, b, c))                                                       \
	X(V_CUBEID_F32, cubed(a, b, c, 0))                                                         \
	X(V_CUBESC_F32, cubed(a, b, c, 1))                                                         \
	X(V_CUBETC_F32, cubed(a, b, c, 2))                                                         \
	X(V_CUBEMA_F32, cubed(a, b, c, 3))                                                         \
	X(V_PK_FMA_F32, LOHI(mixed(a, b, c)))                                                      \
	X(V_PK_MUL_F32, LOHI(RF((double)F(a) * (double)F(b), 2, a, b, c)))                         \
	X(V_PK_ADD_F32, LOHI(RF((double)F(a) + (double)F(b), 2, a, b, c)))                         \
	X(V_PK_MOV_B32, U(a) | (uint64_t)U(b) << 32)                                               \
	X(V_CVT_F32_I32, from_f((float)(double)I(a)))                                              \
	X(V_CVT_F32_U32, from_f((float)(double)U(a)))                                              \
	X(V_CVT_I32_F32, saturated((double)F(a), INT32_MIN, INT32_MAX))                            \
	X(V_CVT_U32_F32, saturated((double)F(a), 0, UINT32_MAX))                                   \
	X(V_CVT_RPI_I32_F32, saturated(floor((double)F(a) + 0.5), INT32_MIN, INT32_MAX))           \
	X(V_CVT_FLR_I32_F32, saturated(floor((double)F(a)), INT32_MIN, INT32_MAX))                 \
	X(V_CVT_OFF_F32_I4, from_f((float)((int)((a & 15) ^ 8) - 8) * 0.0625f))                    \
	X(V_CVT_F32_UBYTE0, from_f((float)(a % 256)))                                              \
	X(V_CVT_F32_UBYTE1, from_f((float)(a / 256 % 256)))                                        \
	X(V_CVT_F32_UBYTE2, from_f((float)(a / 65536 % 256)))                                      \
	X(V_CVT_F32_UBYTE3, from_f((float)(a / 16777216)))                                         \
	X(V_CVT_F64_I32, from_d((double)I(a)))                                                     \
	X(V_CVT_F64_U32, from_d((double)U(a)))                                                     \
	X(V_CVT_I32_F64, saturated(D(a), INT32_MIN, INT32_MAX))                                    \
	X(V_CVT_U32_F64, saturated(D(a), 0, UINT32_MAX))                                           \
	X(V_CVT_F32_F64,                                                                           \
	  isnan(D(a)) ? (a >> 63 << 31 | 0x7fc00000 | (a >> 29 & 0x3fffff)) : from_f((float)D(a))) \
	X(V_CVT_F64_F32, isnan(F(a))                                                               \
				 ? ((a >> 31 << 63) | 0x7ff8000000000000 | (a & 0x7fffff) << 29)   \
				 : from_d((double)F(a)))                                           \
	X(V_CVT_F32_F16, is_nan_h(a) ? ((a >> 15 & 1) << 31 | 0x7fc00000 | (a & 0x3ff) << 13)      \
				     : from_f((float)H(a)))                                        \
	X(V_CVT_F16_F32,                                                                           \
	  isnan(F(a)) ? (a >> 16 & 0x8000) | 0x7e00 | (a >> 13 & 0x3ff) : to_half((f128)F(a), 0))  \
	X(V_CVT_F16_U16, to_half(W(a), 0))                                                         \
	X(V_CVT_F16_I16, to_half(S(a), 0))                                                         \
	X(V_CVT_U16_F16, saturated(H(a), 0, 65535))                                                \
	X(V_CVT_I16_F16, W(saturated(H(a), -32768, 32767)))                                        \
	X(V_CVT_NORM_I16_F16, norm(H(a), 32767))                                                   \
	X(V_CVT_NORM_U16_F16, norm(H(a), 65535))                                                   \
	X(V_CVT_PKRTZ_F16_F32, rtz(a) | rtz(b) << 16)                                              \
	X(V_CVT_PKNORM_I16_F32, norm((double)F(a), 32767) | norm((double)F(b), 32767) << 16)       \
	X(V_CVT_PKNORM_U16_F32, norm((double)F(a), 65535) | norm((double)F(b), 65535) << 16)       \
	X(V_CVT_PKNORM_I16_F16, norm(H(a), 32767) | norm(H(b), 32767) << 16)                       \
	X(V_CVT_PKNORM_U16_F16, norm(H(a), 65535) | norm(H(b), 65535) << 16)                       \
	X(V_CVT_PK_U8_F32,                                                                         \
	  put_byte(c, b, isnan(F(a)) ? 0 : fmin(255, fmax(0, nearbyint((double)F(a))))))           \
	X(V_CVT_PKACCUM_U8_F32,                                                                    \
	  put_byte(c, b, isnan(F(a)) ? 0 : fmin(255, fmax(0, nearbyint((double)F(a))))))           \
	X(V_ADD_F64, RD(Q(a) + Q(b), 2, a, b, c))                                                  \
	X(V_MUL_F64, RD(Q(a) * Q(b), 2, a, b, c))                                                  \
	X(V_MIN_F64, minf(a, b, 64))                                                               \
	X(V_MAX_F64, maxf(a, b, 64))                                                               \
	X(V_FMA_F64, RD(fma(D(a), D(b), D(c)), 3, a, b, c))                                        \
	X(V_FMAC_F64, RD(fma(D(a), D(b), D(c)), 3, a, b, c))                                       \
	X(V_FRACT_F64,                                                                             \
	  RD(isinf(D(a)) ? NAN : fmin(D(a) - floor(D(a)), 0x1.fffffffffffffp-1), 1, a, b, c))      \
	X(V_TRUNC_F64, RD(signbit(D(a)) ? ceil(D(a)) : floor(D(a)), 1, a, b, c))                   \
	X(V_CEIL_F64, RD(-floor(-D(a)), 1, a, b, c))                                               \
	X(V_RNDNE_F64, RD(nearbyint(D(a)), 1, a, b, c))                                            \
	X(V_FLOOR_F64, RD(-ceil(-D(a)), 1, a, b, c))                                               \
	X(V_RCP_F64, RD(1 / Q(a), 1, a, b, c))                                                     \
	X(V_RSQ_F64, RD(1 / sqrt(D(a)), 1, a, b, c))                                               \
	X(V_SQRT_F64, RD(sqrt(D(a)), 1, a, b, c))                                                  \
	X(V_FREXP_EXP_I32_F64, exponent(D(a)))                                                     \
	X(V_FREXP_MANT_F64, isfinite(D(a)) ? ({                                                    \
		  int e;                                                                           \
		  from_d(frexp(D(a), &e));                                                         \
	  })                                                                                       \
					   : RD(D(a), 1, a, b, c))                                 \
	X(V_LDEXP_F64, RD(scalbn(D(a), I(b)), 1, a, b, c))                                         \
	X(V_DIV_SCALE_F64, scale_d(a, b, c, m))                                                    \
	X(V_DIV_FMAS_F64, RD(fma(D(a), D(b), D(c)) * (*m ? 0x1p64 : 1), 3, a, b, c))               \
	X(V_DIV_FIXUP_F64, fixup_d(a, b, c))                                                       \
	X(V_TRIG_PREOP_F64, preop(a, b))                                                           \
	X(V_ADD_F16, RH(QH(a) + QH(b), 2, a, b, c))                                                \
	X(V_SUB_F16, RH(QH(a) - QH(b), 2, a, b, c))                                                \
	X(V_SUBREV_F16, RH(QH(b) - QH(a), 2, a, b, c))                                             \
	X(V_MUL_F16, RH(QH(a) * QH(b), 2, a, b, c))                                                \
	X(V_MIN_F16, minf(W(a), W(b), 16))                                                         \
	X(V_MAX_F16, maxf(W(a), W(b), 16))                                                         \
	X(V_LDEXP_F16, RH(scalbn(H(a), S(b)), 1, a, b, c))                                         \
	X(V_MAC_F16, mad_h(a, b, c))                                                               \
	X(V_MADMK_F16, mad_h(a, b, c))                                                             \
	X(V_MADAK_F16, mad_h(a, b, c))                                                             \
	X(V_MAD_F16, mad_h(a, b, c))                                                               \
	X(V_MAD_LEGACY_F16, mad_h(a, b, c))                                                        \
	X(V_FMA_F16, RH(QH(a) * QH(b) + QH(c), 3, a, b, c))                                        \
	X(V_FMA_LEGACY_F16, RH(QH(a) * QH(b) + QH(c), 3, a, b, c))                                 \
	X(V_DIV_FIXUP_F16, fixup_h(a, b, c))                                                       \
	X(V_DIV_FIXUP_LEGACY_F16, fixup_h(a, b, c))                                                \
	X(V_MIN3_F16, minf(minf(W(a), W(b), 16), W(c), 16))                                        \
	X(V_MAX3_F16, maxf(maxf(W(a), W(b), 16), W(c), 16))                                        \
	X(V_MED3_F16, medf(W(a), W(b), W(c), 16))                                                  \
	X(V_RCP_F16, RH(1 / QH(a), 1, a, b, c))                                                    \
	X(V_RSQ_F16, RH((f128)(1 / sqrtl((long double)H(a))), 1, a, b, c))                         \
	X(V_SQRT_F16, RH((f128)sqrtl((long double)H(a)), 1, a, b, c))                              \
	X(V_LOG_F16, RH((f128)log2l((long double)H(a)), 1, a, b, c))                               \
	X(V_EXP_F16, RH((f128)exp2l((long double)H(a)), 1, a, b, c))                               \
	X(V_SIN_F16, is_nan_h(a) ? RH(0, 1, a, b, c) : turned_h(H(a), false))                      \
	X(V_COS_F16, is_nan_h(a) ? RH(0, 1, a, b, c) : turned_h(H(a), true))                       \
	X(V_FRACT_F16, RH(isinf(H(a)) ? NAN : fmin(H(a) - floor(H(a)), 0x1.ffcp-1), 1, a, b, c))   \
	X(V_TRUNC_F16, RH(signbit(H(a)) ? ceil(H(a)) : floor(H(a)), 1, a, b, c))                   \
	X(V_CEIL_F16, RH(-floor(-H(a)), 1, a, b, c))                                               \
	X(V_RNDNE_F16, RH(nearbyint(H(a)), 1, a, b, c))                                            \
	X(V_FLOOR_F16, RH(-ceil(-H(a)), 1, a, b, c))                                               \
	X(V_FREXP_EXP_I16_F16, W(exponent(H(a))))                                                  \
	X(V_FREXP_MANT_F16, isfinite(H(a)) ? ({                                                    \
		  int e;                                                                           \
		  RH(frexp(H(a), &e), 1, a, b, c);                                                 \
	  })                                                                                       \
					   : RH(H(a), 1, a, b, c))                                 \
	X(V_PACK_B32_F16, W(a) | (uint64_t)W(b) << 16)                                             \
	X(V_PK_ADD_F16, EACH(RH(QH(a) + QH(b), 2, a, b, c)))                                       \
	X(V_PK_MUL_F16, EACH(RH(QH(a) * QH(b), 2, a, b, c)))                                       \
	X(V_PK_FMA_F16, EACH(RH(QH(a) * QH(b) + QH(c), 3, a, b, c)))                               \
	X(V_PK_FMAC_F16, EACH(RH(QH(a) * QH(b) + QH(c), 3, a, b, c)))                              \
	X(V_PK_MIN_F16, EACH(minf(a, b, 16)))                                                      \
	X(V_PK_MAX_F16, EACH(maxf(a, b, 16)))                                                      \
	X(V_FMA_MIX_F32, mixed(a, b, c))                                                           \
	X(V_FMA_MIXLO_F16, mix_half(a, b, c))                                                      \
	X(V_FMA_MIXHI_F16, mix_half(a, b, c))                                                      \
	X(V_DOT2_F32_F16, dot_half(a, b, c))                                                       \
	X(V_DOT2C_F32_F16, dot_half(a, b, c))                                                      \
	X(V_CVT_F32_FP8, f8(a, 3, 8))                                                              \
	X(V_CVT_F32_BF8, f8(a, 2, 16))                                                             \
	X(V_CVT_PK_F32_FP8, f8(a, 3, 8) | f8(a >> 8, 3, 8) << 32)                                  \
	X(V_CVT_PK_F32_BF8, f8(a, 2, 16) | f8(a >> 8, 2, 16) << 32)                                \
	X(V_CVT_PK_FP8_F32, to_f8(a, 3, 8) | to_f8(b, 3, 8) << 8)                                  \
	X(V_CVT_PK_BF8_F32, to_f8(a, 2, 16) | to_f8(b, 2, 16) << 8)                                \
	X(V_CVT_SR_FP8_F32, to_f8_random(a, b, 3, 8))                                              \
	X(V_CVT_SR_BF8_F32, to_f8_random(a, b, 2, 16))

/* Two roundings, and no denormals anywhere. */
static uint64_t mad_f(uint64_t a, uint64_t b, uint64_t c, bool legacy)
{
	uint64_t p;

	a = ZF(a);
	b = ZF(b);
	c = ZF(c);
	p = ZF(RF((double)F(a) * (double)F(b), 2, a, b, 0));
	if (legacy && (F(a) == 0 || F(b) == 0))
		p = 0;
	return ZF(RF((double)F(p) + (double)F(c), 2, p, c, 0));
}

static uint64_t mad_h(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t p;

	a = ZH(a);
	b = ZH(b);
	c = ZH(c);
	p = ZH(RH(QH(a) * QH(b), 2, a, b, 0));
	return ZH(RH(QH(p) + QH(c), 2, p, c, 0));
}

static uint64_t norm(double v, int scale)
{
	if (isnan(v))
		return 0;
	v = fmax(fmin(v, 1), scale == 32767 ? -1 : 0);
	return W((uint64_t)(int64_t)nearbyint(v * scale));
}

static uint64_t rtz(uint64_t a)
{
	if (isnan(F(a)))
		return (a >> 16 & 0x8000) | 0x7e00 | (a >> 13 & 0x3ff);
	return to_half((f128)F(a), 3);
}

static uint64_t put_byte(uint64_t into, uint64_t at, double v)
{
	uint8_t b[4] = { (uint8_t)into, (uint8_t)(into >> 8), (uint8_t)(into >> 16),
			 (uint8_t)(into >> 24) };

	b[at % 4] = (uint8_t)v;
	return b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24;
}

static uint64_t turned_h(double x, bool cosine)
{
	uint64_t f = turned(x, cosine);

	return f == 0xffc00000 ? 0xfe00 : to_half((f128)F(f), 0);
}

static uint64_t mix_half(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t r = mixed(a, b, c);

	return isnan(F(r)) ? rtz(r) : to_half((f128)F(r), 0);
}

static uint64_t widened(uint64_t h)
{
	return is_nan_h(h) ? ((h >> 15 & 1) << 31 | 0x7fc00000 | (h & 0x3ff) << 13)
			   : from_f((float)H(h));
}

static uint64_t dot_half(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t r = mixed(widened(W(a)), widened(W(b)), c);

	return mixed(widened(W(a >> 16)), widened(W(b >> 16)), r);
}

typedef uint64_t reference_fn(uint64_t a, uint64_t b, uint64_t c, int lane, bool *m);

#define FUNCTION(op, expr)                                                              \
	static uint64_t ref_##op(uint64_t a, uint64_t b, uint64_t c, int lane, bool *m) \
	{                                                                               \
		(void)a;                                                                \
		(void)b;                                                                \
		(void)c;                                                                \
		(void)lane;                                                             \
		(void)m;                                                                \
		return (uint64_t)(expr);                                                \
	}
REFERENCES(FUNCTION)

#define ENTRY(op, expr) [GFX9_##op] = ref_##op,
static reference_fn *const references[GFX9_OPS] = { REFERENCES(ENTRY) };

/*
 * Comparisons, by name: their results for less, equal, greater and unordered
 */

static const struct {
	const char *name;
	unsigned int truth;
} conditions[] = {
	{ "f", 0 },    { "lt", 1 },   { "eq", 2 },   { "le", 3 },   { "gt", 4 },   { "lg", 5 },
	{ "ge", 6 },   { "o", 7 },    { "u", 8 },    { "nge", 9 },  { "nlg", 10 }, { "ngt", 11 },
	{ "nle", 12 }, { "neq", 13 }, { "nlt", 14 }, { "tru", 15 }, { "ne", 13 },  { "t", 15 },
};

static unsigned int order(long double x, long double y)
{
	return x < y ? 1 : x == y ? 2 : x > y ? 4 : 8;
}

static unsigned int order_of(const char *type, uint64_t a, uint64_t b)
{
	static const char *const types[] = { "f16", "f32", "f64", "i16", "u16",
					     "i32", "u32", "i64", "u64" };
	long double x[] = { H(a), F(a), D(a), S(a), W(a), I(a), U(a), (int64_t)a, a };
	long double y[] = { H(b), F(b), D(b), S(b), W(b), I(b), U(b), (int64_t)b, b };

	for (size_t k = 0; k < sizeof(types) / sizeof(types[0]); k++) {
		if (!strcmp(types[k], type))
			return order(x[k], y[k]);
	}
	fail_msg("no type %s", type);
	return 0;
}

static bool in_class(const char *type, uint64_t a, uint64_t mask)
{
	bool half = !strcmp(type, "f16"), single = !strcmp(type, "f32");
	double x = half ? H(a) : single ? (double)F(a) : D(a);
	uint64_t quiet = half ? 1u << 9 : single ? 1u << 22 : 1ull << 51;
	bool neg = signbit(x), tiny;
	int bit;

	if (isnan(x))
		return mask >> (a & quiet ? 1 : 0) & 1;
	tiny = half ? fabs(x) < 0x1p-14 : single ? fabs(x) < 0x1p-126 : fabs(x) < 0x1p-1022;
	if (isinf(x))
		bit = neg ? 2 : 9;
	else if (x == 0)
		bit = neg ? 5 : 6;
	else if (tiny)
		bit = neg ? 4 : 7;
	else
		bit = neg ? 3 : 8;
	return mask >> bit & 1;
}

/* @name is v_cmp_CONDITION_TYPE, or v_cmpx_... */
static bool compare(const char *name, uint64_t a, uint64_t b)
{
	const char *cond = strchr(name + 2, '_') + 1, *type = strchr(cond, '_') + 1;
	size_t len = (size_t)(type - 1 - cond);

	if (len == 5 && !strncmp(cond, "class", 5))
		return in_class(type, a, b);
	for (size_t k = 0; k < sizeof(conditions) / sizeof(conditions[0]); k++) {
		if (strlen(conditions[k].name) == len && !strncmp(conditions[k].name, cond, len))
			return conditions[k].truth & order_of(type, a, b);
	}
	fail_msg("no condition %s", name);
	return false;
}

static bool is_compare(const char *name)
{
	return !strncmp(name, "v_cmp", 5);
}

#endif
