// SPDX-License-Identifier: MIT
/*
 * The vector ALU: every opcode against a reference that is written another way, on values where
 * things go wrong; then what goes on around the operation: EXEC, MODE, modifiers, DPP, SDWA, the
 * register index; then anything that decodes, in all compilations at once.
 */
#include "../unit/test.h"

#include "emu/gfx9/vector.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USUAL 0x3f0u /* MODE as compilers set it */
#define NR_VGPRS 16
#define NR_AGPRS 4
#define POISON 0xdeadbeefu

typedef unsigned __int128 u128;
typedef __int128 i128;

/* The registers are of exactly the size the wave has, for the address sanitizer. */
struct fixture {
	struct gfx9_wave w;
	uint32_t (*v)[GFX9_LANES];
};

static struct fixture *fixture_new(void)
{
	struct fixture *f = aligned_alloc(64, (sizeof(*f) + 63) / 64 * 64);

	memset(f, 0, sizeof(*f));
	f->v = aligned_alloc(64, (NR_VGPRS + NR_AGPRS) * sizeof(*f->v));
	memset(f->v, 0, (NR_VGPRS + NR_AGPRS) * sizeof(*f->v));
	f->w.v = f->v;
	f->w.nr_vgprs = NR_VGPRS;
	f->w.nr_agprs = NR_AGPRS;
	f->w.nr_sgprs = 102;
	f->w.mode = USUAL;
	gfx9_set64(&f->w, GFX9_EXEC, GFX9_ALL_LANES);
	f->w.lanes_of = 0;
	return f;
}

static void fixture_free(struct fixture *f)
{
	free(f->v);
	free(f);
}

static uint64_t random_state = 88172645463325252u;

static uint64_t random64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1du;
}

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
static uint32_t to_half(__float128 v, unsigned int mode)
{
	bool neg = v < 0 || (v == 0 && signbit((double)v));
	__float128 x = neg ? -v : v, mid;
	uint32_t lo = 0, hi = 0x7c00;
	bool up;

	while (hi - lo > 1) {
		uint32_t m = (lo + hi) / 2;

		if ((__float128)H(m) <= x)
			lo = m;
		else
			hi = m;
	}
	mid = ((__float128)H(lo) + (hi == 0x7c00 ? 65536 : H(hi))) / 2;
	if ((double)x == INFINITY)
		return neg ? 0xfc00 : 0x7c00;
	if (mode == 0)
		up = x > mid || (x == mid && (lo & 1));
	else
		up = (__float128)H(lo) != x && (mode == 3 ? false : neg == (mode == 2));
	return (up ? hi : lo) | (neg ? 0x8000 : 0);
}

/* Results, where the first of @n sources that is a NaN comes out, quiet. */
static uint64_t RF(double v, int n, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t s[] = { a, b, c };

	for (int i = 0; i < n; i++) {
		if (isnan(F(s[i])))
			return U(s[i]) | 0x400000;
	}
	return isnan(v) ? 0xffc00000 : from_f((float)v);
}

static uint64_t RD(__float128 v, int n, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t s[] = { a, b, c };

	for (int i = 0; i < n; i++) {
		if (isnan(D(s[i])))
			return s[i] | 0x8000000000000;
	}
	return v != v ? 0xfff8000000000000 : from_d((double)v);
}

static uint64_t RH(__float128 v, int n, uint64_t a, uint64_t b, uint64_t c)
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

/* Which power of two scales what: the cases of the manual, one after the other. */
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

/* The first two pieces of 2/pi; where others are asked for: anything. */
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

/* Up where the fraction that is cut off and the random bits, as many as there are, make up one. */
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
#define Q(v) ((__float128)D(v))
#define QH(v) ((__float128)H(v))

/* X(opcode, what it gives for a, b, c; *m is the mask). lane is at hand. */
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
	X(V_CVT_F16_F32, isnan(F(a)) ? (a >> 16 & 0x8000) | 0x7e00 | (a >> 13 & 0x3ff)             \
				     : to_half((__float128)F(a), 0))                               \
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
	X(V_RSQ_F16, RH((__float128)(1 / sqrtl((long double)H(a))), 1, a, b, c))                   \
	X(V_SQRT_F16, RH((__float128)sqrtl((long double)H(a)), 1, a, b, c))                        \
	X(V_LOG_F16, RH((__float128)log2l((long double)H(a)), 1, a, b, c))                         \
	X(V_EXP_F16, RH((__float128)exp2l((long double)H(a)), 1, a, b, c))                         \
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
	return to_half((__float128)F(a), 3);
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

	return f == 0xffc00000 ? 0xfe00 : to_half((__float128)F(f), 0);
}

static uint64_t mix_half(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t r = mixed(a, b, c);

	return isnan(F(r)) ? rtz(r) : to_half((__float128)F(r), 0);
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
 * Comparisons, by name: what is true of less, equal, greater and unordered
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

/*
 * Every opcode
 */

static const uint64_t edges32[] = {
	0,	    1,		2,	    7,		0x1f,	    0x20,	0x7f,
	0x80,	    0xff,	0x7fff,	    0x8000,	0xffff,	    0x10000,	0x7fffffff,
	0x80000000, 0x80000001, 0xffffffff, 0xfffffffe, 0x00400000, 0x007fffff, 0x00800000,
	0x3f000000, 0x3f800000, 0xbf800000, 0x3fc00000, 0x40000000, 0xc0200000, 0x4effffff,
	0x4f000000, 0xcf000000, 0x4f800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
	0x7f800001, 0x7fc00123, 0xffd00000, 0x33800000, 0x477fefff, 0x477ff000, 0x38800000,
	0x387fe000, 0x33000001, 0x12345678, 0x0c0d0b08, 0x3e800000, 0x43808000, 0x0b800000,
	0x0c000000,
};

static const uint64_t edges64[] = {
	0,
	1,
	0x20,
	0x3f,
	0x80000000,
	0xffffffff,
	0x100000000,
	0x7fffffffffffffff,
	0x8000000000000000,
	0xffffffffffffffff,
	0x8000000000000001,
	0x000fffffffffffff,
	0x0010000000000000,
	0x3fe0000000000000,
	0x3ff0000000000000,
	0xbff0000000000000,
	0x3ff8000000000000,
	0x4000000000000000,
	0x41dfffffffc00000,
	0x41e0000000000000,
	0xc1e0000000200000,
	0x41efffffffe00000,
	0x41f0000000000000,
	0x7fefffffffffffff,
	0x7ff0000000000000,
	0xfff0000000000000,
	0x7ff0000000000001,
	0x7ff8000000000123,
	0xfffa000000000000,
	0x3ca0000000000000,
	0x0350000000000000,
	0x0360000000000000,
	0x36a0000000000000,
	0x123456789abcdef0,
};

static const uint64_t edges16[] = {
	0,	1,	2,	15,	0x10,	0x3ff,	0x400,	0x3800, 0x3c00, 0x3c01, 0xbc00,
	0x4000, 0x4200, 0xc400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7c01, 0x7e12, 0xfe00, 0x7fff,
	0x8000, 0x8001, 0xffff, 0x5bff, 0x1400, 0x1234, 0x6c00, 0x0003, 0x3555, 0x3400,
};

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static bool is_wide(unsigned int type)
{
	return type == GFX9_T_B64 || type == GFX9_T_M64 || type == GFX9_T_F64 ||
	       type == GFX9_T_P32 || type == GFX9_T_PMOV;
}

static bool is_half(unsigned int type)
{
	return type == GFX9_T_B16 || type == GFX9_T_M16 || type == GFX9_T_F16;
}

/* The k-th value of a kind of operand; upper halves that do not count hold something. */
static uint64_t edge(unsigned int type, size_t k)
{
	switch (type) {
	case GFX9_T_NONE:
		return 0;
	case GFX9_T_MASK:
		return k & 1 ? ~0u : 0;
	case GFX9_T_P32:
	case GFX9_T_PMOV:
		return edges32[k % NR(edges32)] | edges32[(k * 7 + 3) % NR(edges32)] << 32;
	case GFX9_T_P16:
	case GFX9_T_PF16:
		return edges16[k % NR(edges16)] | edges16[(k * 5 + 3) % NR(edges16)] << 16;
	default:
		if (is_wide(type))
			return edges64[k % NR(edges64)];
		return is_half(type) ? edges16[k % NR(edges16)] : edges32[k % NR(edges32)];
	}
}

static size_t nr_edges(unsigned int type)
{
	switch (type) {
	case GFX9_T_NONE:
		return 1;
	case GFX9_T_MASK:
		return 2;
	case GFX9_T_B32:
	case GFX9_T_M32:
	case GFX9_T_F32:
	case GFX9_T_MIX:
	case GFX9_T_P32:
	case GFX9_T_PMOV:
		return NR(edges32);
	default:
		return is_wide(type) ? NR(edges64) : NR(edges16);
	}
}

/* 16-bit results that leave the high half alone; all others make it 0. */
static bool keeps_high(uint16_t op)
{
	static const uint16_t keeping[] = {
		GFX9_V_ADD_I16,	       GFX9_V_SUB_I16,	      GFX9_V_MAD_U16,  GFX9_V_MAD_I16,
		GFX9_V_MIN3_I16,       GFX9_V_MIN3_U16,	      GFX9_V_MAX3_I16, GFX9_V_MAX3_U16,
		GFX9_V_MED3_I16,       GFX9_V_MED3_U16,	      GFX9_V_MAC_F16,  GFX9_V_MADMK_F16,
		GFX9_V_MADAK_F16,      GFX9_V_MAD_F16,	      GFX9_V_FMA_F16,  GFX9_V_DIV_FIXUP_F16,
		GFX9_V_MIN3_F16,       GFX9_V_MAX3_F16,	      GFX9_V_MED3_F16, GFX9_V_FMA_MIXLO_F16,
		GFX9_V_CVT_PK_FP8_F32, GFX9_V_CVT_PK_BF8_F32,
	};

	for (size_t k = 0; k < NR(keeping); k++) {
		if (keeping[k] == op)
			return true;
	}
	return false;
}

static bool is_vop3p(const char *name)
{
	if (!strcmp(name, "v_pk_fmac_f16") || strstr(name, "c_f32_f16") || strstr(name, "c_i32_i"))
		return false;
	return !strncmp(name, "v_pk_", 5) || !strncmp(name, "v_dot", 5) ||
	       !strncmp(name, "v_fma_mix", 9);
}

#define V(n) (uint16_t)(GFX9_VGPR + (n))
#define DST 8
#define SDST 20
#define MASK_SRC 30

static struct gfx9_inst inst_of(const struct gfx9_vector_op *op, uint16_t code)
{
	const char *name = gfx9_op_name(code);
	struct gfx9_inst in = { .op = code, .format = GFX9_VOP3, .dst = V(DST), .sdst = SDST };

	if (is_vop3p(name)) {
		in.format = GFX9_VOP3P;
		in.op_sel_hi = 7;
	}
	if (op->flags & (GFX9_F_ACC | GFX9_F_MK | GFX9_F_AK))
		in.format = GFX9_VOP2;
	for (unsigned int k = 0; k < 3; k++)
		in.src[k] = op->src[k] == GFX9_T_MASK ? MASK_SRC : V(2 * k);
	if (!strncmp(name, "v_fma_mix", 9))
		in.op_sel_hi = 0;
	if (code == GFX9_V_PK_MOV_B32)
		in.op_sel = 0;
	return in;
}

/* One wave's worth of operands, and what comes out. */
struct trial {
	uint64_t src[3][GFX9_LANES], want[GFX9_LANES];
	uint64_t want_mask, vcc, exec;
	uint32_t old[2][GFX9_LANES];
};

static void put(struct fixture *f, unsigned int row, const uint64_t *v, unsigned int type)
{
	for (int i = 0; i < GFX9_LANES; i++) {
		uint64_t junk = is_half(type) ? 0xabcd0000u : 0;

		f->v[row][i] = (uint32_t)(v[i] | junk);
		if (is_wide(type))
			f->v[row + 1][i] = (uint32_t)(v[i] >> 32);
	}
}

static uint64_t pack(const uint64_t *lanes)
{
	uint64_t mask = 0;

	for (int i = 0; i < GFX9_LANES; i++)
		mask |= (lanes[i] & 1) << i;
	return mask;
}

static void load(struct fixture *f, const struct gfx9_vector_op *op, struct gfx9_inst *in,
		 const struct trial *t)
{
	f->w.mode = USUAL;
	gfx9_set64(&f->w, GFX9_EXEC, t->exec);
	gfx9_set64(&f->w, GFX9_VCC, t->vcc);
	gfx9_set64(&f->w, SDST, 0x5555555555555555);
	for (int i = 0; i < GFX9_LANES; i++) {
		f->v[DST][i] = t->old[0][i];
		f->v[DST + 1][i] = t->old[1][i];
	}
	for (unsigned int k = 0; k < 3; k++) {
		if (op->src[k] == GFX9_T_MASK)
			gfx9_set64(&f->w, MASK_SRC, pack(t->src[k]));
		else if (op->src[k] != GFX9_T_NONE)
			put(f, 2 * k, t->src[k], op->src[k]);
	}
	if (op->flags & GFX9_F_ACC)
		put(f, DST, t->src[2], op->src[2]);
	if (op->flags & GFX9_F_MK) {
		in->literal = (uint32_t)t->src[1][0];
		put(f, 2, t->src[2], op->src[2]);
	}
	if (op->flags & GFX9_F_AK)
		in->literal = (uint32_t)t->src[2][0];
}

static uint32_t merged(uint16_t code, unsigned int type, uint64_t r, uint32_t old)
{
	if (code == GFX9_V_FMA_MIXHI_F16)
		return (uint32_t)r << 16 | (old & 0xffff);
	if (type == GFX9_T_B8)
		return (uint32_t)(r & 0xff) | (old & 0xffffff00);
	if (is_half(type) && keeps_high(code))
		return (uint32_t)(r & 0xffff) | (old & 0xffff0000);
	return (uint32_t)r;
}

static void check(const struct gfx9_vector_variant *variant, gfx9_run_fn *run, struct fixture *f,
		  uint16_t code, const struct trial *t, const char *how)
{
	const struct gfx9_vector_op *op = &variant->ops[code];
	struct gfx9_inst in = inst_of(op, code);
	uint32_t before[2][GFX9_LANES];

	load(f, op, &in, t);
	memcpy(before, f->v[DST], sizeof(before));
	assert_int_equal(run(&f->w, &in), GFX9_GO);
	if ((op->flags & GFX9_F_MASK_OUT) && gfx9_get64(&f->w, SDST) != (t->want_mask & t->exec))
		fail_msg("%s, %s, %s: mask %016llx, not %016llx", variant->name, how,
			 gfx9_op_name(code), (unsigned long long)gfx9_get64(&f->w, SDST),
			 (unsigned long long)(t->want_mask & t->exec));
	if (op->flags & GFX9_F_EXEC_OUT)
		assert_int_equal(gfx9_exec(&f->w), t->want_mask & t->exec);
	else
		assert_int_equal(gfx9_exec(&f->w), t->exec);
	for (int i = 0; i < GFX9_LANES; i++) {
		bool on = (t->exec >> i & 1) && op->dst != GFX9_T_NONE;
		uint32_t lo = on ? merged(code, op->dst, t->want[i], before[0][i]) : before[0][i];
		uint32_t hi = on && is_wide(op->dst) ? (uint32_t)(t->want[i] >> 32) : before[1][i];

		if (on && t->want[i] == ANYTHING && code == GFX9_V_TRIG_PREOP_F64)
			continue;
		if (f->v[DST][i] == lo && f->v[DST + 1][i] == hi)
			continue;
		fail_msg("%s, %s, %s of %llx, %llx, %llx in lane %d: %08x%08x, not %08x%08x",
			 variant->name, how, gfx9_op_name(code), (unsigned long long)t->src[0][i],
			 (unsigned long long)t->src[1][i], (unsigned long long)t->src[2][i], i,
			 f->v[DST + 1][i], f->v[DST][i], hi, lo);
	}
}

static void expect(uint16_t code, struct trial *t)
{
	const char *name = gfx9_op_name(code);

	t->want_mask = 0;
	for (int i = 0; i < GFX9_LANES; i++) {
		bool m = t->vcc >> i & 1;

		if (is_compare(name)) {
			m = compare(name, t->src[0][i], t->src[1][i]);
		} else {
			if (strncmp(name, "v_div_fmas", 10))
				m = false;
			t->want[i] =
				references[code](t->src[0][i], t->src[1][i], t->src[2][i], i, &m);
		}
		t->want_mask |= (uint64_t)m << i;
	}
}

static void try_all(struct fixture *f, uint16_t code, struct trial *t)
{
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();

	t->vcc = random64();
	for (int i = 0; i < GFX9_LANES; i++) {
		t->old[0][i] = POISON + (uint32_t)i;
		t->old[1][i] = ~POISON + (uint32_t)i;
	}
	expect(code, t);
	for (; *v; v++) {
		struct gfx9_inst in = inst_of(&(*v)->ops[code], code);

		t->exec = GFX9_ALL_LANES;
		check(*v, (*v)->bind(&in), f, code, t, "all lanes");
		check(*v, (*v)->run, f, code, t, "general");
		t->exec = random64();
		check(*v, (*v)->bind(&in), f, code, t, "some lanes");
		check(*v, (*v)->run, f, code, t, "general, some lanes");
	}
}

/* All combinations of edges, or as many as a few thousand. */
static void check_opcode(struct fixture *f, uint16_t code)
{
	const struct gfx9_vector_op *op = &gfx9_vector_variants()[0]->ops[code];
	size_t n0 = nr_edges(op->src[0]), n1 = nr_edges(op->src[1]), n2 = nr_edges(op->src[2]);
	size_t all = n0 * n1 * n2, step = all > 6000 ? all / 6000 | 1 : 1;
	struct trial t;
	size_t k = 0, lane = 0;

	while (k < all || lane) {
		size_t at = k % all;

		t.src[0][lane] = edge(op->src[0], at % n0);
		t.src[1][lane] = edge(op->src[1], at / n0 % n1);
		t.src[2][lane] = edge(op->src[2], at / n0 / n1);
		if (op->flags & GFX9_F_MK)
			t.src[1][lane] = t.src[1][0];
		if (op->flags & GFX9_F_AK)
			t.src[2][lane] = t.src[2][0];
		k += step;
		lane = (lane + 1) % GFX9_LANES;
		if (!lane)
			try_all(f, code, &t);
	}
}

static void test_every_opcode(void **state)
{
	const struct gfx9_vector_op *ops = gfx9_vector_variants()[0]->ops;
	struct fixture *f = fixture_new();
	unsigned int n = 0;

	(void)state;
	for (uint16_t code = 0; code < GFX9_OPS; code++) {
		const char *name = gfx9_op_name(code);

		assert_int_equal(gfx9_vector_ops[code] != NULL,
				 ops[code].kernel || ops[code].special);
		if (!ops[code].kernel)
			continue;
		if (!references[code] && !is_compare(name))
			fail_msg("%s has no reference", name);
		check_opcode(f, code);
		n++;
	}
	print_message("%u opcodes\n", n);
	fixture_free(f);
}

/*
 * Clamp of integers: what the exact result is, and where it ends
 */

#define ZW(v) ((i128)(v))
#define LIMITS_U32 0, UINT32_MAX
#define LIMITS_I32 INT32_MIN, INT32_MAX
#define LIMITS_U16 0, 65535
#define LIMITS_I16 -32768, 32767

struct limits {
	i128 value, lo, hi;
};

static struct limits exact(uint16_t op, uint64_t a, uint64_t b, uint64_t c)
{
	i128 x = a, y = b, z = c, i24 = (i128)(I(a << 8) / 256) * (I(b << 8) / 256);

	switch (op) {
	case GFX9_V_ADD_U32:
	case GFX9_V_ADD_CO_U32:
		return (struct limits){ x + y, LIMITS_U32 };
	case GFX9_V_SUB_U32:
	case GFX9_V_SUB_CO_U32:
		return (struct limits){ x - y, LIMITS_U32 };
	case GFX9_V_SUBREV_U32:
	case GFX9_V_SUBREV_CO_U32:
		return (struct limits){ y - x, LIMITS_U32 };
	case GFX9_V_ADDC_CO_U32:
		return (struct limits){ x + y + (z & 1), LIMITS_U32 };
	case GFX9_V_SUBB_CO_U32:
		return (struct limits){ x - y - (z & 1), LIMITS_U32 };
	case GFX9_V_SUBBREV_CO_U32:
		return (struct limits){ y - x - (z & 1), LIMITS_U32 };
	case GFX9_V_ADD_I32:
		return (struct limits){ ZW(I(a)) + I(b), LIMITS_I32 };
	case GFX9_V_SUB_I32:
		return (struct limits){ ZW(I(a)) - I(b), LIMITS_I32 };
	case GFX9_V_MAD_I32_I24:
		return (struct limits){ i24 + I(c), LIMITS_I32 };
	case GFX9_V_MAD_U32_U24:
		return (struct limits){ (x & 0xffffff) * (y & 0xffffff) + z, LIMITS_U32 };
	case GFX9_V_MAD_U64_U32:
		return (struct limits){ x * y + z, 0, UINT64_MAX };
	case GFX9_V_MAD_I64_I32:
		return (struct limits){ ZW(I(a)) * I(b) + (int64_t)c, INT64_MIN, INT64_MAX };
	case GFX9_V_SAD_U8:
		return (struct limits){ bytes(a, b, 0, "sad") + z, LIMITS_U32 };
	case GFX9_V_SAD_HI_U8:
		return (struct limits){ bytes(a, b, 0, "sad") * 65536 + z, LIMITS_U32 };
	case GFX9_V_SAD_U16:
		return (struct limits){
			abs((int)W(a) - W(b)) + abs((int)W(a >> 16) - W(b >> 16)) + z, LIMITS_U32
		};
	case GFX9_V_SAD_U32:
		return (struct limits){ (x > y ? x - y : y - x) + z, LIMITS_U32 };
	case GFX9_V_MSAD_U8:
		return (struct limits){ bytes(a, b, 0, "msad") + z, LIMITS_U32 };
	case GFX9_V_ADD_U16:
		return (struct limits){ x + y, LIMITS_U16 };
	case GFX9_V_SUB_U16:
		return (struct limits){ x - y, LIMITS_U16 };
	case GFX9_V_SUBREV_U16:
		return (struct limits){ y - x, LIMITS_U16 };
	case GFX9_V_ADD_I16:
		return (struct limits){ ZW(S(a)) + S(b), LIMITS_I16 };
	case GFX9_V_SUB_I16:
		return (struct limits){ ZW(S(a)) - S(b), LIMITS_I16 };
	case GFX9_V_MAD_U16:
	case GFX9_V_MAD_LEGACY_U16:
		return (struct limits){ x * y + z, LIMITS_U16 };
	case GFX9_V_MAD_I16:
	case GFX9_V_MAD_LEGACY_I16:
		return (struct limits){ ZW(S(a)) * S(b) + S(c), LIMITS_I16 };
	case GFX9_V_MAD_U32_U16:
		return (struct limits){ x * y + z, LIMITS_U32 };
	case GFX9_V_MAD_I32_I16:
		return (struct limits){ ZW(S(a)) * S(b) + I(c), LIMITS_I32 };
	default:
		return (struct limits){ 0, 1, -1 };
	}
}

/* The same for each half of packed ones, and for dot products. */
static uint64_t clamped_pairs(uint16_t op, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t r = 0;

	for (int k = 0; k < 32; k += 16) {
		uint16_t x = W(a >> k), y = W(b >> k), z = W(c >> k);
		i128 v = 0;

		switch (op) {
		case GFX9_V_PK_ADD_U16:
			v = clamped(ZW(x) + y, LIMITS_U16);
			break;
		case GFX9_V_PK_SUB_U16:
			v = clamped(ZW(x) - y, LIMITS_U16);
			break;
		case GFX9_V_PK_ADD_I16:
			v = clamped(ZW(S(x)) + S(y), LIMITS_I16);
			break;
		case GFX9_V_PK_SUB_I16:
			v = clamped(ZW(S(x)) - S(y), LIMITS_I16);
			break;
		case GFX9_V_PK_MAD_U16:
			v = clamped(ZW(x) * y + z, LIMITS_U16);
			break;
		case GFX9_V_PK_MAD_I16:
			v = clamped(ZW(S(x)) * S(y) + S(z), LIMITS_I16);
			break;
		default:
			return ANYTHING;
		}
		r |= (uint64_t)W((uint64_t)v) << k;
	}
	return r;
}

static uint64_t clamped_dot(const char *name, uint64_t a, uint64_t b, uint64_t c)
{
	int bits = 32 / (name[5] - '0');
	bool sign = strstr(name, "_i32") != NULL;
	i128 r = sign ? I(c) : (i128)U(c);

	for (int k = 0; k < 32 / bits; k++)
		r += (i128)field(a, k, bits, sign) * field(b, k, bits, sign);
	return U((uint64_t)(sign ? clamped(r, LIMITS_I32) : clamped(r, LIMITS_U32)));
}

static uint64_t clamped_qsad(uint64_t a, uint64_t b, uint64_t c, const char *what)
{
	uint64_t r = 0;

	for (int k = 0; k < 4; k++)
		r |= (uint64_t)clamped(bytes(U(a >> 8 * k), U(b), 0, what) + ZW(W(c >> 16 * k)),
				       LIMITS_U16)
		     << 16 * k;
	return r;
}

static uint64_t want_clamped(uint16_t op, uint64_t a, uint64_t b, uint64_t c)
{
	const char *name = gfx9_op_name(op);
	struct limits l = exact(op, a, b, c);

	if (l.lo <= l.hi) {
		uint64_t r = (uint64_t)clamped(l.value, l.lo, l.hi);

		return l.hi <= 65535 ? W(r) : l.hi > UINT32_MAX ? r : U(r);
	}
	if (op == GFX9_V_QSAD_PK_U16_U8)
		return clamped_qsad(a, b, c, "sad");
	if (op == GFX9_V_MQSAD_PK_U16_U8)
		return clamped_qsad(a, b, c, "msad");
	return !strncmp(name, "v_dot", 5) ? clamped_dot(name, a, b, c) : clamped_pairs(op, a, b, c);
}

static void test_integer_clamp(void **state)
{
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();
	struct fixture *f = fixture_new();
	unsigned int n = 0;

	(void)state;
	for (; *v; v++) {
		gfx9_lanes_fn *none = (*v)->ops[GFX9_V_MOV_B32].saturate;

		for (uint16_t code = 0; code < GFX9_OPS; code++) {
			const struct gfx9_vector_op *op = &(*v)->ops[code];
			struct gfx9_inst in = inst_of(op, code);
			struct trial t = { .exec = GFX9_ALL_LANES };

			if (!op->kernel || op->saturate == none)
				continue;
			in.clamp = true;
			n++;
			for (int round = 0; round < 40; round++) {
				for (int i = 0; i < GFX9_LANES; i++) {
					for (int k = 0; k < 3; k++)
						t.src[k][i] = edge(op->src[k], random64() % 48);
				}
				load(f, op, &in, &t);
				assert_int_equal((*v)->bind(&in)(&f->w, &in), GFX9_GO);
				for (int i = 0; i < GFX9_LANES; i++) {
					uint64_t r = f->v[DST][i], want;

					want = want_clamped(code, t.src[0][i], t.src[1][i],
							    t.src[2][i]);
					if (is_wide(op->dst))
						r |= (uint64_t)f->v[DST + 1][i] << 32;
					if (is_half(op->dst))
						r = W(r);
					if (r != want)
						fail_msg("%s clamp of %llx, %llx, %llx: %llx, not "
							 "%llx",
							 gfx9_op_name(code),
							 (unsigned long long)t.src[0][i],
							 (unsigned long long)t.src[1][i],
							 (unsigned long long)t.src[2][i],
							 (unsigned long long)r,
							 (unsigned long long)want);
				}
			}
		}
	}
	assert_true(n >= 40);
	fixture_free(f);
}

/*
 * One instruction on one value: what MODE and the modifiers make of it
 */

struct modified {
	uint16_t op;
	uint32_t mode;
	uint64_t src[3], want;
	uint8_t neg, abs, omod;
	bool clamp;
};

static const struct modified modified[] = {
	/* neg and abs, in that order from the outside */
	{ GFX9_V_ADD_F32, USUAL, { 0x3f800000, 0x40000000 }, .want = 0x3f800000, .neg = 1 },
	{ GFX9_V_ADD_F32, USUAL, { 0xbf800000, 0x40000000 }, .want = 0x40400000, .abs = 1 },
	{ GFX9_V_ADD_F32,
	  USUAL,
	  { 0xbf800000, 0x40000000 },
	  .want = 0x3f800000,
	  .abs = 1,
	  .neg = 1 },
	{ GFX9_V_ADD_F32, USUAL, { 0x7f800001, 0 }, .want = 0xffc00001, .neg = 1 },
	{ GFX9_V_FMA_F32,
	  USUAL,
	  { 0x40000000, 0x40000000, 0x3f800000 },
	  .want = 0x40400000,
	  .neg = 4 },
	{ GFX9_V_ADD_F64,
	  USUAL,
	  { 0x3ff0000000000000, 0x4000000000000000 },
	  .want = 0xbff0000000000000,
	  .neg = 2 },
	{ GFX9_V_ADD_F64,
	  USUAL,
	  { 0xbff0000000000000, 0x4000000000000000 },
	  .want = 0x4008000000000000,
	  .abs = 1 },
	{ GFX9_V_MAX_F16, USUAL, { 0x3c00, 0xc000 }, .want = 0x4000, .abs = 2 },
	{ GFX9_V_CNDMASK_B32, USUAL, { 0x3f800000, 0x40000000, 0 }, .want = 0xbf800000, .neg = 1 },
	/* not for integers */
	{ GFX9_V_ADD_U32, USUAL, { 5, 6 }, .want = 11, .neg = 3, .abs = 3 },
	/* clamp: to [0, 1]; a NaN is 0 with DX10_CLAMP */
	{ GFX9_V_ADD_F32, USUAL, { 0x3f800000, 0x3f800000 }, .want = 0x3f800000, .clamp = true },
	{ GFX9_V_ADD_F32, USUAL, { 0x3f000000, 0x3e800000 }, .want = 0x3f400000, .clamp = true },
	{ GFX9_V_ADD_F32, USUAL, { 0xbf800000, 0 }, .want = 0, .clamp = true },
	{ GFX9_V_ADD_F32, USUAL, { 0x7fc00000, 0 }, .want = 0, .clamp = true },
	{ GFX9_V_ADD_F32, USUAL & ~0x100u, { 0x7fc00000, 0 }, .want = 0x7fc00000, .clamp = true },
	{ GFX9_V_ADD_F64,
	  USUAL,
	  { 0x4000000000000000, 0 },
	  .want = 0x3ff0000000000000,
	  .clamp = true },
	{ GFX9_V_ADD_F64, USUAL, { 0xc000000000000000, 0 }, .want = 0, .clamp = true },
	{ GFX9_V_ADD_F16, USUAL, { 0x4000, 0x3c00 }, .want = 0x3c00, .clamp = true },
	{ GFX9_V_PK_ADD_F16, USUAL, { 0x4000bc00, 0x3c000000 }, .want = 0x3c000000, .clamp = true },
	/* omod: only without IEEE and without denormals that come out */
	{ GFX9_V_ADD_F32, 0x100, { 0x3f800000, 0 }, .want = 0x40000000, .omod = 1 },
	{ GFX9_V_ADD_F32, 0x100, { 0x3f800000, 0 }, .want = 0x40800000, .omod = 2 },
	{ GFX9_V_ADD_F32, 0x100, { 0x3f800000, 0 }, .want = 0x3f000000, .omod = 3 },
	{ GFX9_V_ADD_F32, 0x100, { 0x80000000, 0x80000000 }, .want = 0, .omod = 1 },
	{ GFX9_V_ADD_F32, 0x100, { 0x80000000, 0x80000000 }, .want = 0x80000000 },
	{ GFX9_V_ADD_F32, USUAL, { 0x3f800000, 0 }, .want = 0x3f800000, .omod = 1 },
	{ GFX9_V_ADD_F32, 0x120, { 0x3f800000, 0 }, .want = 0x3f800000, .omod = 1 },
	{ GFX9_V_ADD_F32, 0x100, { 0x3f800000, 0 }, .want = 0x3f800000, .omod = 1, .clamp = true },
	{ GFX9_V_ADD_F64, 0x100, { 0x3ff0000000000000, 0 }, .want = 0x4000000000000000, .omod = 1 },
	{ GFX9_V_MUL_F16, 0x100, { 0x3c00, 0x4000 }, .want = 0x3c00, .omod = 3 },
	/* denormals: f32 in MODE[5:4], f64 and f16 in MODE[7:6]; in, then out */
	{ GFX9_V_ADD_F32, 0x3f0, { 0x00000001, 0x00000001 }, .want = 0x00000002 },
	{ GFX9_V_ADD_F32, 0x3e0, { 0x00000001, 0x80000001 }, .want = 0 },
	{ GFX9_V_ADD_F32, 0x3e0, { 0x00000001, 0x00800000 }, .want = 0x00800000 },
	{ GFX9_V_ADD_F32, 0x3d0, { 0x00000001, 0x00000001 }, .want = 0 },
	{ GFX9_V_ADD_F32, 0x3d0, { 0x00800000, 0x00000001 }, .want = 0x00800001 },
	{ GFX9_V_MUL_F32, 0x3d0, { 0x80800000, 0x3f000000 }, .want = 0x80000000 },
	{ GFX9_V_MAX_F32, 0x3c0, { 0x00000001, 0 }, .want = 0 },
	{ GFX9_V_CMP_LT_F32, 0x3f0, { 0, 1 }, .want = 1 },
	{ GFX9_V_CMP_LT_F32, 0x3e0, { 0, 1 }, .want = 0 },
	{ GFX9_V_CMP_CLASS_F32, 0x3c0, { 1, 1 << 7 }, .want = 1 },
	{ GFX9_V_MOV_B32, 0x300, { 1 }, .want = 1 },
	{ GFX9_V_ADD_F64, 0x370, { 1, 1 }, .want = 0 },
	{ GFX9_V_ADD_F64, 0x3b0, { 1, 0x0010000000000000 }, .want = 0x0010000000000000 },
	{ GFX9_V_ADD_F16, 0x370, { 1, 1 }, .want = 0 },
	{ GFX9_V_ADD_F16, 0x3b0, { 1, 0x0400 }, .want = 0x0400 },
	{ GFX9_V_PK_ADD_F16, 0x370, { 0x00010400, 0x00010000 }, .want = 0x00000400 },
	{ GFX9_V_PK_ADD_F32,
	  0x3d0,
	  { 0x0000000100000001, 0x4000000000000001 },
	  .want = 0x4000000000000000 },
	{ GFX9_V_CVT_F32_F16, 0x330, { 1 }, .want = 0 },
	{ GFX9_V_CVT_F16_F32, 0x370, { 0x33800000 }, .want = 0 },
	{ GFX9_V_FMA_MIX_F32, 0x3c0, { 1, 0x3f800000, 0x3f800000 }, .want = 0x3f800000 },
	/* rounding: f32 in MODE[1:0], f64 and f16 in MODE[3:2] */
	{ GFX9_V_ADD_F32, 0x3f0, { 0x3f800000, 0x33000000 }, .want = 0x3f800000 },
	{ GFX9_V_ADD_F32, 0x3f1, { 0x3f800000, 0x33000000 }, .want = 0x3f800001 },
	{ GFX9_V_ADD_F32, 0x3f2, { 0x3f800000, 0x33000000 }, .want = 0x3f800000 },
	{ GFX9_V_ADD_F32, 0x3f2, { 0xbf800000, 0xb3000000 }, .want = 0xbf800001 },
	{ GFX9_V_ADD_F32, 0x3f3, { 0xbf800000, 0xb3000000 }, .want = 0xbf800000 },
	{ GFX9_V_ADD_F32, 0x3f3, { 0x7f7fffff, 0x7f7fffff }, .want = 0x7f7fffff },
	{ GFX9_V_ADD_F32, 0x3fc, { 0x3f800000, 0x33c00000 }, .want = 0x3f800001 },
	{ GFX9_V_ADD_F32, 0x3f2, { 0x3f800000, 0xbf800000 }, .want = 0x80000000 },
	{ GFX9_V_FMA_F32, 0x3f1, { 0x3f800001, 0x3f800001, 0 }, .want = 0x3f800003 },
	{ GFX9_V_PK_MUL_F32,
	  0x3f1,
	  { 0x3f8000013f800001, 0x3f8000013f800001 },
	  .want = 0x3f8000033f800003 },
	{ GFX9_V_CVT_F32_U32, 0x3f1, { 0x01000001 }, .want = 0x4b800001 },
	{ GFX9_V_CVT_F32_F64, 0x3f1, { 0x3ff0000000000001 }, .want = 0x3f800001 },
	{ GFX9_V_CVT_F32_F64, 0x3f4, { 0x3ff0000000000001 }, .want = 0x3f800000 },
	{ GFX9_V_ADD_F64,
	  0x3f4,
	  { 0x3ff0000000000000, 0x3c00000000000000 },
	  .want = 0x3ff0000000000001 },
	{ GFX9_V_ADD_F64,
	  0x3f1,
	  { 0x3ff0000000000000, 0x3c00000000000000 },
	  .want = 0x3ff0000000000000 },
	{ GFX9_V_ADD_F64,
	  0x3fc,
	  { 0x3ff0000000000000, 0x3cae000000000000 },
	  .want = 0x3ff0000000000000 },
	{ GFX9_V_ADD_F16, 0x3f4, { 0x3c00, 0x0001 }, .want = 0x3c01 },
	{ GFX9_V_ADD_F16, 0x3f8, { 0x3c00, 0x0001 }, .want = 0x3c00 },
	{ GFX9_V_ADD_F16, 0x3f8, { 0xbc00, 0x8001 }, .want = 0xbc01 },
	{ GFX9_V_ADD_F16, 0x3fc, { 0x7bff, 0x7bff }, .want = 0x7bff },
	{ GFX9_V_ADD_F16, 0x3f4, { 0xfbff, 0xfbff }, .want = 0xfbff },
	{ GFX9_V_FMA_F16, 0x3f4, { 0x3c01, 0x3c01, 0 }, .want = 0x3c03 },
	{ GFX9_V_CVT_F16_F32, 0x3f4, { 0x3f800001 }, .want = 0x3c01 },
	{ GFX9_V_CVT_F16_F32, 0x3f1, { 0x3f800001 }, .want = 0x3c00 },
	{ GFX9_V_RNDNE_F32, 0x3f1, { 0x40200000 }, .want = 0x40000000 },
	{ GFX9_V_RNDNE_F64, 0x3f4, { 0x4004000000000000 }, .want = 0x4000000000000000 },
	{ GFX9_V_RCP_F32, 0x3f1, { 0x40400000 }, .want = 0x3eaaaaab },
	{ GFX9_V_RCP_F32, 0x3f2, { 0x40400000 }, .want = 0x3eaaaaab },
	{ GFX9_V_CVT_I32_F32, 0x3f1, { 0x3fc00000 }, .want = 1 },
	/* IEEE: a signalling NaN comes out of min and max; otherwise a number wins */
	{ GFX9_V_MIN_F32, 0x3f0, { 0x7f800001, 0x3f800000 }, .want = 0x7fc00001 },
	{ GFX9_V_MIN_F32, 0x1f0, { 0x7f800001, 0x3f800000 }, .want = 0x3f800000 },
	{ GFX9_V_MIN_F32, 0x3f0, { 0x7fc00001, 0x3f800000 }, .want = 0x3f800000 },
	{ GFX9_V_MAX_F32, 0x1f0, { 0x3f800000, 0xff800001 }, .want = 0x3f800000 },
	{ GFX9_V_MAX_F32, 0x3f0, { 0x80000000, 0 }, .want = 0 },
	{ GFX9_V_MIN_F32, 0x3f0, { 0, 0x80000000 }, .want = 0x80000000 },
	{ GFX9_V_MAX_F64,
	  0x1f0,
	  { 0x3ff0000000000000, 0x7ff0000000000001 },
	  .want = 0x3ff0000000000000 },
	{ GFX9_V_MIN_F16, 0x1f0, { 0x3c00, 0x7c01 }, .want = 0x3c00 },
};

static void put_one(struct fixture *f, const struct gfx9_vector_op *op, const uint64_t *src)
{
	uint64_t row[GFX9_LANES];

	for (unsigned int k = 0; k < 3; k++) {
		for (int i = 0; i < GFX9_LANES; i++)
			row[i] = src[k];
		if (op->src[k] == GFX9_T_MASK)
			gfx9_set64(&f->w, MASK_SRC, src[k] ? ~0ull : 0);
		else
			put(f, 2 * k, row, op->src[k] == GFX9_T_NONE ? GFX9_T_B32 : op->src[k]);
	}
}

static void test_modifiers(void **state)
{
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();
	struct fixture *f = fixture_new();

	(void)state;
	for (; *v; v++) {
		for (size_t k = 0; k < NR(modified); k++) {
			const struct modified *c = &modified[k];
			const struct gfx9_vector_op *op = &(*v)->ops[c->op];
			struct gfx9_inst in = inst_of(op, c->op);
			uint64_t got;

			in.neg = c->neg;
			in.abs = c->abs;
			in.omod = c->omod;
			in.clamp = c->clamp;
			put_one(f, op, c->src);
			f->w.mode = c->mode;
			gfx9_set64(&f->w, GFX9_EXEC, GFX9_ALL_LANES);
			assert_int_equal((*v)->bind(&in)(&f->w, &in), GFX9_GO);
			assert_int_equal(fegetround(), FE_TONEAREST);
			got = f->v[DST][63];
			if (is_wide(op->dst))
				got |= (uint64_t)f->v[DST + 1][63] << 32;
			if (op->dst == GFX9_T_NONE)
				got = gfx9_get64(&f->w, SDST) >> 63;
			if (is_half(op->dst))
				got = W(got);
			if (got != c->want)
				fail_msg("%s: case %zu, %s: %llx, not %llx", (*v)->name, k,
					 gfx9_op_name(c->op), (unsigned long long)got,
					 (unsigned long long)c->want);
		}
	}
	fixture_free(f);
}

/*
 * Constants, each as the operand wants it
 */

static void test_constants(void **state)
{
	static const struct {
		uint16_t op, code;
		uint64_t want;
	} cases[] = {
		{ GFX9_V_MOV_B32, 128, 0 },
		{ GFX9_V_MOV_B32, 192, 64 },
		{ GFX9_V_MOV_B32, 193, 0xffffffff },
		{ GFX9_V_MOV_B32, 208, 0xfffffff0 },
		{ GFX9_V_MOV_B32, 242, 0x3f800000 },
		{ GFX9_V_MOV_B32, 248, 0x3e22f983 },
		{ GFX9_V_MOV_B32, 255, 0x89abcdef },
		{ GFX9_V_MOV_B32, 5, 0x55555555 },
		{ GFX9_V_MOV_B32, GFX9_M0, 0x77 },
		{ GFX9_V_TRUNC_F16, 242, 0x3c00 },
		{ GFX9_V_TRUNC_F16, 247, 0xc400 },
		{ GFX9_V_TRUNC_F64, 242, 0x3ff0000000000000 },
		{ GFX9_V_TRUNC_F64, 247, 0xc010000000000000 },
		{ GFX9_V_SQRT_F64, 255, 0x4000000000000000 }, /* of 4.0 by its upper half */
		{ GFX9_V_MOV_B64, 193, 0xffffffffffffffff },
		{ GFX9_V_MOV_B64, 242, 0x3ff0000000000000 },
		{ GFX9_V_MOV_B64, 4, 0x5555555544444444 },
		{ GFX9_V_CVT_F16_I16, 193, 0xbc00 },
		{ GFX9_V_FRACT_F16, 240, 0x3800 },
	};
	struct fixture *f = fixture_new();
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();

	(void)state;
	for (; *v; v++) {
		for (size_t k = 0; k < NR(cases); k++) {
			const struct gfx9_vector_op *op = &(*v)->ops[cases[k].op];
			struct gfx9_inst in = inst_of(op, cases[k].op);
			uint64_t got;

			in.src[0] = cases[k].code;
			in.literal = cases[k].op == GFX9_V_SQRT_F64 ? 0x40100000 : 0x89abcdef;
			f->w.s[4] = 0x44444444;
			f->w.s[5] = 0x55555555;
			f->w.s[GFX9_M0] = 0x77;
			assert_int_equal((*v)->bind(&in)(&f->w, &in), GFX9_GO);
			got = f->v[DST][17];
			if (is_wide(op->dst))
				got |= (uint64_t)f->v[DST + 1][17] << 32;
			if (got != cases[k].want)
				fail_msg("%s of %u: %llx", gfx9_op_name(cases[k].op), cases[k].code,
					 (unsigned long long)got);
		}
	}
	fixture_free(f);
}

/*
 * DPP
 */

/* The lane @i reads from, from the words of the manual; -1: nowhere. */
static int dpp_source(unsigned int ctrl, int i)
{
	int row = i / 16, at = i % 16, n = (int)ctrl & 15;

	if (ctrl <= 0xff) {
		int quad[4] = { (int)ctrl % 4, (int)ctrl / 4 % 4, (int)ctrl / 16 % 4,
				(int)ctrl / 64 };

		return i / 4 * 4 + quad[i % 4];
	}
	if (ctrl >= 0x101 && ctrl <= 0x10f)
		return at + n <= 15 ? row * 16 + at + n : -1;
	if (ctrl >= 0x111 && ctrl <= 0x11f)
		return at - n >= 0 ? row * 16 + at - n : -1;
	if (ctrl >= 0x121 && ctrl <= 0x12f)
		return row * 16 + (at + 16 - n) % 16;
	if (ctrl >= 0x150 && ctrl <= 0x15f)
		return row * 16 + n;
	switch (ctrl) {
	case 0x130:
		return i == 63 ? -1 : i + 1;
	case 0x134:
		return i == 63 ? 0 : i + 1;
	case 0x138:
		return i == 0 ? -1 : i - 1;
	case 0x13c:
		return i == 0 ? 63 : i - 1;
	case 0x140:
		return row * 16 + 15 - at;
	case 0x141:
		return i / 8 * 8 + 7 - i % 8;
	case 0x142:
		return row ? row * 16 - 1 : -1;
	case 0x143:
		return row >= 2 ? 31 : -1;
	default:
		return -2;
	}
}

static void check_dpp(struct fixture *f, const struct gfx9_vector_variant *v, unsigned int ctrl)
{
	struct gfx9_inst in = { .op = GFX9_V_ADD_U32,
				.format = GFX9_VOP2,
				.extra = GFX9_DPP,
				.dst = V(DST),
				.src = { V(0), V(2) },
				.dpp_ctrl = (uint16_t)ctrl,
				.row_mask = (uint8_t)(random64() & 15),
				.bank_mask = (uint8_t)(random64() & 15),
				.bound_ctrl = random64() & 1 };
	uint64_t exec = random64() | random64();
	enum gfx9_stop stop;

	gfx9_set64(&f->w, GFX9_EXEC, exec);
	for (int i = 0; i < GFX9_LANES; i++) {
		f->v[0][i] = 1000u + (uint32_t)i;
		f->v[2][i] = (uint32_t)i << 16;
		f->v[DST][i] = POISON;
	}
	stop = v->bind(&in)(&f->w, &in);
	if (dpp_source(ctrl, 0) == -2) {
		assert_int_equal(stop, GFX9_ILLEGAL);
		return;
	}
	assert_int_equal(stop, GFX9_GO);
	for (int i = 0; i < GFX9_LANES; i++) {
		int from = dpp_source(ctrl, i);
		bool have = from >= 0 && (exec >> from & 1);
		bool on = (exec >> i & 1) && (in.row_mask >> i / 16 & 1) &&
			  (in.bank_mask >> i % 16 / 4 & 1) && (have || in.bound_ctrl);
		uint32_t want = ((uint32_t)i << 16) + (have ? 1000u + (uint32_t)from : 0);

		if (f->v[DST][i] != (on ? want : POISON))
			fail_msg("%s: control %x, lane %d: %x", v->name, ctrl, i, f->v[DST][i]);
	}
}

static void test_dpp(void **state)
{
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();
	struct fixture *f = fixture_new();

	(void)state;
	for (; *v; v++) {
		for (unsigned int ctrl = 0; ctrl < 0x200; ctrl++) {
			for (int k = 0; k < 4; k++)
				check_dpp(f, *v, ctrl);
		}
	}
	fixture_free(f);
}

/* Of 64 bits, and a comparison: lanes that are off give 0. */
static void test_dpp_wide(void **state)
{
	struct gfx9_inst move = { .op = GFX9_V_MOV_B64,
				  .format = GFX9_VOP1,
				  .extra = GFX9_DPP,
				  .dst = V(DST),
				  .src = { V(0) },
				  .dpp_ctrl = 0x153,
				  .row_mask = 15,
				  .bank_mask = 15 };
	struct gfx9_inst compare_eq = { .op = GFX9_V_CMP_EQ_U32,
					.format = GFX9_VOPC,
					.extra = GFX9_DPP,
					.sdst = GFX9_VCC,
					.src = { V(0), V(0) },
					.dpp_ctrl = 0x134,
					.row_mask = 3,
					.bank_mask = 15 };
	struct fixture *f = fixture_new();

	(void)state;
	for (uint32_t i = 0; i < GFX9_LANES; i++) {
		f->v[0][i] = i;
		f->v[1][i] = 100 + i;
	}
	assert_int_equal(gfx9_vector_bind(&move)(&f->w, &move), GFX9_GO);
	for (uint32_t i = 0; i < GFX9_LANES; i++) {
		assert_int_equal(f->v[DST][i], i / 16 * 16 + 3);
		assert_int_equal(f->v[DST + 1][i], i / 16 * 16 + 103);
		f->v[0][i] = 7;
	}
	assert_int_equal(gfx9_vector_bind(&compare_eq)(&f->w, &compare_eq), GFX9_GO);
	assert_int_equal(gfx9_get64(&f->w, GFX9_VCC), 0xffffffff);
	fixture_free(f);
}

/*
 * SDWA
 */

static uint32_t selected(uint32_t v, unsigned int sel, bool sext)
{
	uint8_t b[4];

	memcpy(b, &v, 4);
	if (sel < 4)
		return sext ? (uint32_t)(int8_t)b[sel] : b[sel];
	if (sel < 6) {
		uint16_t h = (uint16_t)(b[2 * (sel - 4)] | b[2 * (sel - 4) + 1] << 8);

		return sext ? (uint32_t)(int16_t)h : h;
	}
	return v;
}

static uint32_t placed(uint32_t r, uint32_t old, unsigned int sel, unsigned int unused)
{
	unsigned int first = sel < 4 ? sel : 2 * (sel - 4), n = sel < 4 ? 1 : 2;
	uint8_t out[4], from[4];

	if (sel == 6)
		return r;
	memcpy(out, &old, 4);
	memcpy(from, &r, 4);
	for (unsigned int k = 0; k < 4; k++) {
		if (k >= first && k < first + n)
			out[k] = from[k - first];
		else if (unused == 0 || (unused == 1 && k < first))
			out[k] = 0;
		else if (unused == 1)
			out[k] = from[n - 1] & 0x80 ? 0xff : 0;
	}
	memcpy(&r, out, 4);
	return r;
}

static void check_sdwa(struct fixture *f, const struct gfx9_vector_variant *v, struct gfx9_inst *in)
{
	uint64_t exec = random64();

	gfx9_set64(&f->w, GFX9_EXEC, exec);
	for (int i = 0; i < GFX9_LANES; i++) {
		f->v[0][i] = (uint32_t)random64();
		f->v[2][i] = (uint32_t)random64();
		f->v[DST][i] = (uint32_t)random64();
	}
	memcpy(f->v[4], f->v[DST], sizeof(f->v[4]));
	assert_int_equal(v->bind(in)(&f->w, in), GFX9_GO);
	for (int i = 0; i < GFX9_LANES; i++) {
		uint32_t x = selected(f->v[0][i], in->src_sel[0], in->sext & 1);
		uint32_t y = selected(in->src[1] == 6 ? f->w.s[6] : f->v[2][i], in->src_sel[1],
				      in->sext & 2);
		uint32_t want = placed(x + y, f->v[4][i], in->dst_sel, in->dst_unused);

		if (!(exec >> i & 1))
			want = f->v[4][i];
		if (f->v[DST][i] != want)
			fail_msg("%s: %u %u %u, sext %u, unused %u: %x, not %x", v->name,
				 in->src_sel[0], in->src_sel[1], in->dst_sel, in->sext,
				 in->dst_unused, f->v[DST][i], want);
	}
}

static void test_sdwa(void **state)
{
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();
	struct fixture *f = fixture_new();

	(void)state;
	f->w.s[6] = 0x87654321;
	for (; *v; v++) {
		for (unsigned int k = 0; k < 7 * 7 * 7 * 4 * 3; k++) {
			struct gfx9_inst in = { .op = GFX9_V_ADD_U32,
						.format = GFX9_VOP2,
						.extra = GFX9_SDWA,
						.dst = V(DST),
						.src = { V(0), k % 5 ? V(2) : 6 },
						.src_sel = { k % 7, k / 7 % 7 },
						.dst_sel = k / 49 % 7,
						.sext = k / 343 % 4,
						.dst_unused = (uint8_t)(k / 343 / 4) };

			check_sdwa(f, *v, &in);
		}
	}
	fixture_free(f);
}

/* Halves of f16, and a comparison that goes to another register pair. */
static void test_sdwa_float(void **state)
{
	struct gfx9_inst in = { .op = GFX9_V_ADD_F16,
				.format = GFX9_VOP2,
				.extra = GFX9_SDWA,
				.dst = V(DST),
				.src = { V(0), V(2) },
				.src_sel = { 5, 4 },
				.dst_sel = 5,
				.dst_unused = 2,
				.neg = 1 };
	struct gfx9_inst lt = { .op = GFX9_V_CMP_LT_U32,
				.format = GFX9_VOPC,
				.extra = GFX9_SDWA,
				.sdst = 40,
				.src = { V(0), V(2) },
				.src_sel = { 0, 1 } };
	struct fixture *f = fixture_new();

	(void)state;
	for (int i = 0; i < GFX9_LANES; i++) {
		f->v[0][i] = 0x40003c01;
		f->v[2][i] = 0x77773c00;
		f->v[DST][i] = 0x1234abcd;
	}
	assert_int_equal(gfx9_vector_bind(&in)(&f->w, &in), GFX9_GO);
	assert_int_equal(f->v[DST][5], 0xbc00abcd);
	gfx9_set64(&f->w, GFX9_EXEC, 0xff);
	assert_int_equal(gfx9_vector_bind(&lt)(&f->w, &lt), GFX9_GO);
	assert_int_equal(gfx9_get64(&f->w, 40), 0xff);
	fixture_free(f);
}

/*
 * Halves
 */

static void test_op_sel(void **state)
{
	struct fixture *f = fixture_new();
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();

	(void)state;
	for (; *v; v++) {
		for (uint8_t sel = 0; sel < 16; sel++) {
			struct gfx9_inst in = { .op = GFX9_V_MAD_U16,
						.format = GFX9_VOP3,
						.dst = V(DST),
						.src = { V(0), V(2), V(4) },
						.op_sel = sel };
			uint32_t x = sel & 1 ? 7 : 5, y = sel & 2 ? 13 : 11, z = sel & 4 ? 19 : 17;
			uint32_t r = x * y + z;

			for (int i = 0; i < GFX9_LANES; i++) {
				f->v[0][i] = 7u << 16 | 5;
				f->v[2][i] = 13u << 16 | 11;
				f->v[4][i] = 19u << 16 | 17;
				f->v[DST][i] = POISON;
			}
			assert_int_equal((*v)->bind(&in)(&f->w, &in), GFX9_GO);
			assert_int_equal(f->v[DST][9], sel & 8 ? r << 16 | (POISON & 0xffff)
							       : r | (POISON & 0xffff0000));
		}
	}
	fixture_free(f);
}

static void test_packed_select(void **state)
{
	struct fixture *f = fixture_new();
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();

	(void)state;
	for (; *v; v++) {
		for (uint8_t sel = 0; sel < 16; sel++) {
			struct gfx9_inst in = { .op = GFX9_V_PK_SUB_U16,
						.format = GFX9_VOP3P,
						.dst = V(DST),
						.src = { V(0), V(2) },
						.op_sel = sel & 3,
						.op_sel_hi = sel >> 2 };
			uint32_t lo = (sel & 1 ? 500u : 400u) - (sel & 2 ? 20u : 10u);
			uint32_t hi = (sel & 4 ? 500u : 400u) - (sel & 8 ? 20u : 10u);

			for (int i = 0; i < GFX9_LANES; i++) {
				f->v[0][i] = 500u << 16 | 400;
				f->v[2][i] = 20u << 16 | 10;
				f->v[1][i] = 600;
				f->v[3][i] = 30;
			}
			assert_int_equal((*v)->bind(&in)(&f->w, &in), GFX9_GO);
			assert_int_equal(f->v[DST][1], hi << 16 | lo);
			in.op = GFX9_V_PK_MOV_B32;
			assert_int_equal((*v)->bind(&in)(&f->w, &in), GFX9_GO);
			assert_int_equal(f->v[DST][1], sel & 1 ? 600 : 500u << 16 | 400);
			assert_int_equal(f->v[DST + 1][1], sel & 2 ? 30 : 20u << 16 | 10);
		}
	}
	fixture_free(f);
}

static void test_packed_negate(void **state)
{
	struct gfx9_inst in = { .op = GFX9_V_PK_ADD_F32,
				.format = GFX9_VOP3P,
				.dst = V(DST),
				.src = { V(0), V(2) },
				.op_sel_hi = 3,
				.neg = 1,
				.abs = 2 };
	struct gfx9_inst half = in, mix = in;
	struct fixture *f = fixture_new();

	(void)state;
	for (int i = 0; i < GFX9_LANES; i++) {
		f->v[0][i] = f->v[1][i] = 0x3f800000;
		f->v[2][i] = f->v[3][i] = 0x40000000;
	}
	assert_int_equal(gfx9_vector_bind(&in)(&f->w, &in), GFX9_GO);
	assert_int_equal(f->v[DST][3], 0x3f800000);
	assert_int_equal(f->v[DST + 1][3], 0xbf800000);
	half.op = GFX9_V_PK_ADD_F16;
	for (int i = 0; i < GFX9_LANES; i++) {
		f->v[0][i] = 0x3c003c00;
		f->v[2][i] = 0x40004000;
		f->v[4][i] = 0x3f800000;
	}
	assert_int_equal(gfx9_vector_bind(&half)(&f->w, &half), GFX9_GO);
	assert_int_equal(f->v[DST][3], 0xbc003c00);
	/* An f16, its upper half an f16 again, and an f32: |-1| * 2 - 1. */
	mix.op = GFX9_V_FMA_MIX_F32;
	mix.src[2] = V(4);
	mix.op_sel = 2;
	mix.op_sel_hi = 3;
	mix.neg = 4;
	mix.abs = 1;
	for (int i = 0; i < GFX9_LANES; i++) {
		f->v[0][i] = 0xbc00;
		f->v[2][i] = 0x40000000;
	}
	assert_int_equal(gfx9_vector_bind(&mix)(&f->w, &mix), GFX9_GO);
	assert_int_equal(f->v[DST][3], 0x3f800000);
	fixture_free(f);
}

/*
 * Lanes and registers
 */

static void test_lanes(void **state)
{
	struct gfx9_inst first = {
		.op = GFX9_V_READFIRSTLANE_B32, .format = GFX9_VOP1, .dst = 9, .src = { V(0) }
	};
	struct gfx9_inst read = {
		.op = GFX9_V_READLANE_B32, .format = GFX9_VOP3, .dst = 9, .src = { V(0), 10 }
	};
	struct gfx9_inst write = {
		.op = GFX9_V_WRITELANE_B32, .format = GFX9_VOP3, .dst = V(0), .src = { 11, 10 }
	};
	struct fixture *f = fixture_new();

	(void)state;
	for (uint32_t i = 0; i < GFX9_LANES; i++)
		f->v[0][i] = 500 + i;
	gfx9_set64(&f->w, GFX9_EXEC, 0xf000);
	assert_int_equal(gfx9_vector_bind(&first)(&f->w, &first), GFX9_GO);
	assert_int_equal(f->w.s[9], 512);
	gfx9_set64(&f->w, GFX9_EXEC, 0);
	assert_int_equal(gfx9_vector_bind(&first)(&f->w, &first), GFX9_GO);
	assert_int_equal(f->w.s[9], 500);
	f->w.s[10] = 64 + 7;
	assert_int_equal(gfx9_vector_bind(&read)(&f->w, &read), GFX9_GO);
	assert_int_equal(f->w.s[9], 507);
	f->w.s[11] = 42;
	assert_int_equal(gfx9_vector_bind(&write)(&f->w, &write), GFX9_GO);
	assert_int_equal(f->v[0][7], 42);
	assert_int_equal(f->v[0][8], 508);
	read.dst = 200;
	assert_int_equal(gfx9_vector_bind(&read)(&f->w, &read), GFX9_ILLEGAL);
	fixture_free(f);
}

static void test_swap(void **state)
{
	struct gfx9_inst in = {
		.op = GFX9_V_SWAP_B32, .format = GFX9_VOP1, .dst = V(0), .src = { V(1) }
	};
	struct fixture *f = fixture_new();

	(void)state;
	for (int i = 0; i < GFX9_LANES; i++) {
		f->v[0][i] = 1;
		f->v[1][i] = 2;
	}
	gfx9_set64(&f->w, GFX9_EXEC, 1);
	assert_int_equal(gfx9_vector_bind(&in)(&f->w, &in), GFX9_GO);
	assert_int_equal(f->v[0][0], 2);
	assert_int_equal(f->v[1][0], 1);
	assert_int_equal(f->v[0][1], 1);
	assert_int_equal(f->v[1][1], 2);
	fixture_free(f);
}

/* As the assembler encodes them: a3 from v5, v6 from a3, a1 from a3, a0 from 1.0. */
/* The byte that op_sel chooses, and no other. */
static void test_byte_select(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	for (uint32_t byte = 0; byte < 4; byte++) {
		struct gfx9_inst in = { .op = GFX9_V_CVT_SR_FP8_F32,
					.format = GFX9_VOP3,
					.dst = V(DST),
					.src = { V(0), V(2) },
					.op_sel = (uint8_t)(byte << 2),
					.neg = 1 };

		f->v[0][9] = 0x3f800000;
		f->v[2][9] = ~0u;
		f->v[DST][9] = POISON;
		assert_int_equal(gfx9_vector_ops[in.op](&f->w, &in), GFX9_GO);
		assert_int_equal(f->v[DST][9], (POISON & ~(0xffu << 8 * byte)) | 0xc0u << 8 * byte);
	}
	fixture_free(f);
}

/* v_mqsad_u32_u8: a window of four bytes moves over eight; bytes of the reference that are 0 do not
 * count. */
static void test_mqsad(void **state)
{
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();
	struct gfx9_inst in = { .op = GFX9_V_MQSAD_U32_U8,
				.format = GFX9_VOP3,
				.dst = V(DST),
				.src = { V(0), V(2), V(4) } };
	struct fixture *f = fixture_new();

	(void)state;
	for (; *v; v++) {
		for (int n = 0; n < 40; n++) {
			uint64_t exec = n % 2 ? random64() : GFX9_ALL_LANES;

			in.clamp = n % 3 == 0;
			gfx9_set64(&f->w, GFX9_EXEC, exec);
			for (int r = 0; r < NR_VGPRS; r++)
				for (int i = 0; i < GFX9_LANES; i++)
					f->v[r][i] = (uint32_t)random64() &
						     (random64() & 1 ? ~0u : 0xff00ff);
			f->v[4][0] = f->v[5][1] = ~0u;
			for (int i = 0; i < GFX9_LANES; i++)
				f->v[12][i] = f->v[DST][i];
			assert_int_equal((*v)->run(&f->w, &in), GFX9_GO);
			for (int i = 0; i < 4 * GFX9_LANES; i++) {
				int lane = i % GFX9_LANES, k = i / GFX9_LANES;
				uint64_t x = f->v[0][lane] | (uint64_t)f->v[1][lane] << 32;
				uint64_t sum = f->v[4 + k][lane];

				for (int b = 0; b < 4; b++) {
					int ref = f->v[2][lane] >> 8 * b & 0xff;

					sum += ref ? (uint64_t)abs(ref -
								   (int)(x >> 8 * (b + k) & 0xff))
						   : 0;
				}
				if (in.clamp && sum > UINT32_MAX)
					sum = UINT32_MAX;
				if (exec >> lane & 1)
					assert_int_equal(f->v[DST + k][lane], (uint32_t)sum);
				else if (!k)
					assert_int_equal(f->v[DST][lane], f->v[12][lane]);
			}
		}
	}
	in.src[2] = V(NR_VGPRS - 3);
	assert_int_equal(gfx9_vector_ops[in.op](&f->w, &in), GFX9_ILLEGAL);
	in.src[2] = V(4);
	in.dst = V(NR_VGPRS - 3);
	assert_int_equal(gfx9_vector_ops[in.op](&f->w, &in), GFX9_ILLEGAL);
	fixture_free(f);
}

static void test_accumulation(void **state)
{
	static const uint32_t words[][2] = { { 0xd3d94003, 0x18000105 },
					     { 0xd3d84006, 0x18000103 },
					     { 0x7e02a503, 0 },
					     { 0xd3d94000, 0x180000f2 } };
	struct fixture *f = fixture_new();
	struct gfx9_inst in;

	(void)state;
	for (int i = 0; i < GFX9_LANES; i++)
		f->v[5][i] = 77;
	gfx9_set64(&f->w, GFX9_EXEC, 0xf);
	for (size_t k = 0; k < NR(words); k++) {
		assert_true(gfx9_decode(GFX9_TARGET_GFX90A, words[k], 2, &in) > 0);
		assert_int_equal(gfx9_vector_bind(&in)(&f->w, &in), GFX9_GO);
	}
	assert_int_equal(f->v[NR_VGPRS + 3][3], 77);
	assert_int_equal(f->v[NR_VGPRS + 3][4], 0);
	assert_int_equal(f->v[6][3], 77);
	assert_int_equal(f->v[NR_VGPRS + 1][3], 77);
	assert_int_equal(f->v[NR_VGPRS + 0][3], 0x3f800000);
	in.dst = V(NR_AGPRS);
	assert_int_equal(gfx9_vector_bind(&in)(&f->w, &in), GFX9_ILLEGAL);
	fixture_free(f);
}

static void test_gpr_index(void **state)
{
	struct gfx9_inst in = {
		.op = GFX9_V_ADD3_U32, .format = GFX9_VOP3, .dst = V(4), .src = { V(0), V(1), V(2) }
	};
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();
	struct fixture *f = fixture_new();

	(void)state;
	for (; *v; v++) {
		for (uint32_t enable = 0; enable < 16; enable++) {
			uint32_t want = 0;

			for (uint32_t r = 0; r < NR_VGPRS; r++) {
				for (int i = 0; i < GFX9_LANES; i++)
					f->v[r][i] = 1u << r;
			}
			f->w.mode = USUAL | GFX9_MODE_GPR_IDX;
			f->w.s[GFX9_M0] = enable << 12 | 5;
			for (uint32_t k = 0; k < 3; k++)
				want += 1u << (k + (enable >> k & 1 ? 5 : 0));
			assert_int_equal((*v)->bind(&in)(&f->w, &in), GFX9_GO);
			assert_int_equal(f->v[enable & 8 ? 9 : 4][20], want);
			f->w.s[GFX9_M0] = enable << 12 | 200;
			/* A result beyond the registers goes nowhere. */
			assert_int_equal((*v)->bind(&in)(&f->w, &in),
					 enable & 7 && !(enable & 8) ? GFX9_ILLEGAL : GFX9_GO);
		}
	}
	fixture_free(f);
}

/* No register the wave has not got, whichever operand names it. */
static void test_bounds(void **state)
{
	static const struct {
		uint16_t op, dst, src[3];
		enum gfx9_stop want;
	} cases[] = {
		{ GFX9_V_ADD_U32, V(15), { V(15), V(15) }, GFX9_GO },
		{ GFX9_V_ADD_U32, V(16), { V(0), V(0) }, GFX9_ILLEGAL },
		{ GFX9_V_ADD_U32, V(0), { V(16), V(0) }, GFX9_ILLEGAL },
		{ GFX9_V_ADD_U32, V(0), { V(0), V(255) }, GFX9_ILLEGAL },
		{ GFX9_V_ADD_F64, V(14), { V(14), V(14) }, GFX9_GO },
		{ GFX9_V_ADD_F64, V(15), { V(0), V(0) }, GFX9_ILLEGAL },
		{ GFX9_V_ADD_F64, V(0), { V(15), V(0) }, GFX9_ILLEGAL },
		{ GFX9_V_FMA_F64, V(0), { V(0), V(0), V(15) }, GFX9_ILLEGAL },
		{ GFX9_V_FMAC_F64, V(15), { V(0), V(0) }, GFX9_ILLEGAL },
		{ GFX9_V_CMP_LT_U64, 0, { V(15), V(0) }, GFX9_ILLEGAL },
		{ GFX9_V_SWAP_B32, V(0), { V(16) }, GFX9_ILLEGAL },
	};
	struct fixture *f = fixture_new();
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();

	(void)state;
	for (; *v; v++) {
		for (size_t k = 0; k < NR(cases); k++) {
			struct gfx9_inst in = { .op = cases[k].op,
						.format = GFX9_VOP3,
						.dst = cases[k].dst,
						.sdst = 10 };

			memcpy(in.src, cases[k].src, sizeof(in.src));
			assert_int_equal((*v)->bind(&in)(&f->w, &in), cases[k].want);
			assert_int_equal((*v)->run(&f->w, &in), cases[k].want);
		}
	}
	fixture_free(f);
}

/* Destinations that are sources, shifted by one row for pairs. */
static void test_overlap(void **state)
{
	struct gfx9_inst in = { .op = GFX9_V_LSHL_ADD_U64,
				.format = GFX9_VOP3,
				.dst = V(1),
				.src = { V(0), 129, V(2) } };
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();
	struct fixture *f = fixture_new();

	(void)state;
	for (; *v; v++) {
		for (int partial = 0; partial < 2; partial++) {
			uint64_t a = 0x123456789abcdef0, c = 0xfedcba9800000001, r = (a << 1) + c;

			gfx9_set64(&f->w, GFX9_EXEC, partial ? 0xff : GFX9_ALL_LANES);
			for (int i = 0; i < GFX9_LANES; i++) {
				f->v[0][i] = (uint32_t)a;
				f->v[1][i] = (uint32_t)(a >> 32);
				f->v[2][i] = (uint32_t)c;
				f->v[3][i] = (uint32_t)(c >> 32);
			}
			assert_int_equal((*v)->bind(&in)(&f->w, &in), GFX9_GO);
			for (int i = 0; i < (partial ? 8 : 64); i++) {
				assert_int_equal(f->v[1][i], (uint32_t)r);
				assert_int_equal(f->v[2][i], (uint32_t)(r >> 32));
			}
		}
	}
	fixture_free(f);
}

/*
 * Anything that decodes
 */

static void randomise(struct fixture *f)
{
	for (size_t r = 0; r < NR_VGPRS + NR_AGPRS; r++) {
		for (int i = 0; i < GFX9_LANES; i++) {
			uint64_t x = random64();

			f->v[r][i] = x & 3 ? (uint32_t)edges32[x / 4 % NR(edges32)]
					   : (uint32_t)(x >> 32);
		}
	}
	for (int k = 0; k < 128; k++)
		f->w.s[k] = (uint32_t)random64();
	f->w.mode = (uint32_t)random64() & (random64() & 7 ? 0x3ff : 0x80003ff);
	if (random64() & 1)
		f->w.mode = USUAL;
	if (random64() & 1)
		gfx9_set64(&f->w, GFX9_EXEC, GFX9_ALL_LANES);
	f->w.status = random64() & 1 ? GFX9_STATUS_PRIV : 0;
	f->w.scc = random64() & 1;
}

/* Register numbers mostly within what there is; the rest is to be refused. */
static void random_words(uint32_t words[3])
{
	static const uint32_t kinds[] = { 0x00000000, 0x7e000000, 0x7c000000, 0xd0000000,
					  0xd1c00000, 0xd2800000, 0xd3800000, 0xd3d80000 };
	uint32_t kind = kinds[random64() % NR(kinds)];

	for (int k = 0; k < 3; k++)
		words[k] = (uint32_t)random64();
	if (kind >> 31)
		words[0] = kind | (words[0] & 0x03ffff0f);
	else if (kind)
		words[0] = kind | (words[0] & 0x01ffffff);
	else
		words[0] &= 0x7fffffff;
	if (kind >> 31 && random64() & 7) {
		words[1] &= 0xfffc3e0f;
		words[1] |= (uint32_t)random64() & 0x100;
	} else if (!(kind >> 31) && random64() & 7) {
		words[0] &= ~(0xf0u << 17);
		words[0] &= ~(0xf0u << 9);
		if (!(random64() & 3))
			words[0] = (words[0] & ~0x1ffu) | 249 | (random64() & 1);
		else
			words[0] &= ~0xf0u;
		words[1] &= ~0xf0u;
	}
}

static void compare_state(const struct fixture *x, const struct fixture *y,
			  const struct gfx9_inst *in, const char *name)
{
	for (size_t r = 0; r < NR_VGPRS + NR_AGPRS; r++) {
		for (int i = 0; i < GFX9_LANES; i++) {
			if (x->v[r][i] != y->v[r][i])
				fail_msg("%s differs in %s: v%zu[%d] %08x, %08x, mode %x",
					 gfx9_op_name(in->op), name, r, i, x->v[r][i], y->v[r][i],
					 x->w.mode);
		}
	}
	assert_memory_equal(x->w.s, y->w.s, sizeof(x->w.s));
	assert_int_equal(x->w.scc, y->w.scc);
}

static void copy_state(struct fixture *to, const struct fixture *from)
{
	memcpy(to->v, from->v, (NR_VGPRS + NR_AGPRS) * sizeof(*to->v));
	memcpy(to->w.s, from->w.s, sizeof(to->w.s));
	to->w.mode = from->w.mode;
	to->w.status = from->w.status;
	to->w.scc = from->w.scc;
}

/* All compilations, and the plain and the general way of each, leave the same behind. */
static void test_random(void **state)
{
	const struct gfx9_vector_variant *const *variants = gfx9_vector_variants();
	struct fixture *start = fixture_new(), *first = fixture_new(), *f = fixture_new();
	unsigned int done = 0, refused = 0;

	(void)state;
	for (int k = 0; k < 150000; k++) {
		struct gfx9_inst in;
		uint32_t words[3];
		enum gfx9_stop stop;

		random_words(words);
		if (gfx9_decode(random64() % GFX9_TARGETS, words, 3, &in) <= 0)
			continue;
		if (!gfx9_vector_ops[in.op])
			continue;
		if (k % 16 == 0)
			randomise(start);
		copy_state(first, start);
		stop = variants[0]->bind(&in)(&first->w, &in);
		assert_true(stop == GFX9_GO || stop == GFX9_ILLEGAL);
		done += stop == GFX9_GO;
		refused += stop == GFX9_ILLEGAL;
		for (size_t n = 0; variants[n]; n++) {
			copy_state(f, start);
			assert_int_equal(variants[n]->run(&f->w, &in), stop);
			compare_state(first, f, &in, variants[n]->name);
			copy_state(f, start);
			assert_int_equal(variants[n]->bind(&in)(&f->w, &in), stop);
			compare_state(first, f, &in, variants[n]->name);
		}
		assert_int_equal(gfx9_vector_ops[in.op](&start->w, &in), stop);
		compare_state(first, start, &in, "the table");
	}
	print_message("%u executed, %u refused\n", done, refused);
	assert_true(done > 20000);
	fixture_free(start);
	fixture_free(first);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_opcode),  cmocka_unit_test(test_integer_clamp),
		cmocka_unit_test(test_modifiers),     cmocka_unit_test(test_constants),
		cmocka_unit_test(test_dpp),	      cmocka_unit_test(test_dpp_wide),
		cmocka_unit_test(test_sdwa),	      cmocka_unit_test(test_sdwa_float),
		cmocka_unit_test(test_op_sel),	      cmocka_unit_test(test_packed_select),
		cmocka_unit_test(test_packed_negate), cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_swap),	      cmocka_unit_test(test_accumulation),
		cmocka_unit_test(test_gpr_index),     cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_overlap),	      cmocka_unit_test(test_random),
		cmocka_unit_test(test_byte_select),   cmocka_unit_test(test_mqsad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
