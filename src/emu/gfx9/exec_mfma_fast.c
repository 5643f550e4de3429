// SPDX-License-Identifier: MIT
/*
 * The fast path of matrix instructions: whole rows in the host's vector registers, with the bits
 * that exec_mfma_sum.c gives. It leaves an instruction to that file, the reference, where it could
 * not prove them equal: sparse matrices, blocks of 4x4, and the values named below.
 *
 * Nothing is transposed. Lane % m is the column of B and of C and D, so a row of B and a row of
 * results are adjacent lanes of one register; an element of A is broadcast.
 *
 * f32 and f64 (CHAIN, DOUBLE): the same fused multiply-adds in the same order.
 *
 * i8 (INTEGER): four products of at most 2^14 each are exact as a sum of f32, which is added to C
 * as an integer.
 *
 * gfx90a with 16 bits (PAIRS): the same multiplications and additions. Results below 2^-126 are
 * flushed only where they can occur. Let q be the unit of the last place of the smallest product.
 * Products are multiples of q, and so are their rounded sums s. With q >= 2^-102, neither is
 * denormal. Nor is C + s, where C is 0 or normal: C is a multiple of 2^-126 if |C| >= 2^-103, and
 * |C + s| > 2^-103 otherwise, unless s is 0. Elements of f16 always have q >= 2^-48.
 *
 * gfx942 with 16 bits and xf32 (FUSED): with E the largest exponent of the products of a step, and
 * u = 2^(E-24), the reference cuts each product to a multiple of u, and S is the sum of these in
 * units of u. Here a product is exact as f32 (at most 22 bits), its scaling by 1/u is too, and the
 * conversion to an integer cuts. That holds for E in [-100, 126]: a product that would be denormal
 * as f32 is then below u, and one that is infinite has a larger E.
 *
 * The reference brings S and C to the larger exponent of E and C's, ec, rounds down what falls out
 * (24 bits behind the point of C, 32 of S), cuts the sum, rounded down, to 32 significant bits, and
 * rounds to f32. This file computes t = floor(C / u) and x = t + S as f64, rounds x down to 32
 * significant bits and rounds x u to f32. That is the same:
 *
 *  - E >= ec: S keeps all its bits and C is rounded down to a multiple of u. |S| < 2^29 and |t| <=
 *    2^25, so that x is exact and has fewer than 32 bits.
 *  - E < ec: C is a multiple of u, and t is exact. The reference rounds x down to a multiple of
 *    2^(ec-32), then to 32 bits. If x has the exponent ec - 1 or more, the second grid contains no
 *    finer steps than the first, and rounding down to the second alone is the same. If it has less,
 *    S cancels most of C, hence E >= ec - 5, and x is a multiple of 2^(ec-29) with less than 32
 *    bits: nothing falls out.
 *  - x is exact as f64 while |t| < 2^53, and for |t| = 2^53 if the signs differ. Otherwise |S| is
 *    less than half a unit in the last place of t as f32 (2^29 or more), x lies in [t - 2^29, t +
 *    2^29], and all steps being monotonic, the result is C however x was rounded.
 *  - No product other than 0: the result is C, and +0 for -0. E is -200 then, which makes t exact.
 *
 * gfx942 with 8 bits (HALVES): the even and the odd products have sums of their own, which are
 * rounded down to the larger E. Everything above holds with |S| < 2^30, with two differences. A C
 * below u / 2 is lost, not rounded down. |S| may be more than half a unit in the last place of t
 * where x is not exact; but the reference rounds S down to a multiple of 2^20 or more there (|t| >=
 * 2^52), so that its two lowest bits do not matter. Without them x is exact up to 2^55, beyond
 * which |S| is less than half a unit again.
 *
 * Additions of f64 that give 0 give +0, as in the reference. An infinity or NaN has an E or a C
 * outside these ranges.
 */
#include "emu/gfx9/exec_mfma.h"
#include "emu/gfx9/vector.h"

#include <string.h>

#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX2__)
#define BYTES 32
#else
#define BYTES 16
#endif
#define WIDTH (BYTES / 4)
#define HALF (WIDTH / 2)

typedef float vf __attribute__((vector_size(BYTES)));
typedef int32_t vi __attribute__((vector_size(BYTES)));
typedef uint32_t vu __attribute__((vector_size(BYTES)));
typedef double vd __attribute__((vector_size(BYTES)));
typedef int64_t vl __attribute__((vector_size(BYTES)));
typedef uint64_t vul __attribute__((vector_size(BYTES)));
/* Half as many bytes: what f64 is converted from and to. */
typedef float hf __attribute__((vector_size(BYTES / 2)));
typedef int32_t hi __attribute__((vector_size(BYTES / 2)));

#define NAN_F32 0x7fc00000
#define NAN_F64 0x7ff8000000000000
#define SIGN INT32_MIN
#define INF 0x7f800000
#define NORMAL 0x00800000 /* the smallest normal f32 */
#define ELEMENTS 8 /* of a lane */
#define STEP_MAX 16
#define ROWS 32 /* of the result */
#define EXP_NONE (-1000) /* above that of any product with a factor 0 */
#define EXP_ONLY_C (-200) /* in the place of that one */
#define EXP_MIN (-100)
#define EXP_MAX 126

/* A or B: element @e of each lane. */
struct operand {
	_Alignas(64) float value[ELEMENTS][GFX9_LANES];
	_Alignas(64) int32_t exp[ELEMENTS][GFX9_LANES];
};

struct work {
	struct operand a, b;
	_Alignas(64) uint32_t d[ROWS][GFX9_LANES];
};

ALWAYS_INLINE vf load_f(const void *p)
{
	vf v;

	memcpy(&v, p, sizeof(v));
	return v;
}

ALWAYS_INLINE vi load_i(const void *p)
{
	vi v;

	memcpy(&v, p, sizeof(v));
	return v;
}

ALWAYS_INLINE void store(void *p, vi v)
{
	memcpy(p, &v, sizeof(v));
}

ALWAYS_INLINE vi select_i(vi mask, vi yes, vi no)
{
	return (yes & mask) | (no & ~mask);
}

ALWAYS_INLINE vi all_i(int32_t value)
{
	return (vi){ 0 } + value;
}

ALWAYS_INLINE vf all_f(float value)
{
	/* Not added to 0: the sign of -0 stays. */
#if defined(__AVX512F__)
	return _mm512_set1_ps(value);
#elif defined(__AVX2__)
	return _mm256_set1_ps(value);
#else
	return (vf){ value, value, value, value };
#endif
}

ALWAYS_INLINE bool any(vi v)
{
	int32_t lanes[WIDTH], bits = 0;

	memcpy(lanes, &v, sizeof(v));
	for (int i = 0; i < WIDTH; i++)
		bits |= lanes[i];
	return bits != 0;
}

/*
 * Elements
 */

ALWAYS_INLINE uint32_t f16_bits(uint32_t h, bool flush)
{
	uint32_t sign = (h & 0x8000) << 16, rest = (h & 0x7fff) << 13, field = h & 0x7c00;
	uint32_t bits;
	float f;

	if (flush) {
		bits = rest + (112u << 23) + (field == 0x7c00 ? 112u << 23 : 0);
		return field ? sign | bits : 0;
	}
	memcpy(&f, &rest, sizeof(f));
	f *= 0x1p112f;
	memcpy(&bits, &f, sizeof(bits));
	return sign | bits;
}

ALWAYS_INLINE uint32_t bf16_bits(uint32_t h, bool flush)
{
	return flush && !(h & 0x7f80) ? 0 : h << 16;
}

/* The exponent that exec_mfma_element.c gives: of the format, where a number is denormal. */
ALWAYS_INLINE int32_t exponent(uint32_t field, uint32_t rest, int32_t bias, uint32_t special)
{
	int32_t e = (int32_t)(field ? field : 1) - bias;

	e = field | rest ? e : GFX9_MFMA_EXP_ZERO;
	return field == special ? GFX9_MFMA_EXP_SPECIAL : e;
}

ALWAYS_INLINE void unpack_halves(struct operand *o, const uint32_t *row, unsigned int e, bool f16,
				 bool flush)
{
	uint32_t lo[GFX9_LANES], hi[GFX9_LANES];

	LANES
	{
		lo[i] = f16 ? f16_bits(row[i] & 0xffff, flush) : bf16_bits(row[i] & 0xffff, flush);
		hi[i] = f16 ? f16_bits(row[i] >> 16, flush) : bf16_bits(row[i] >> 16, flush);
	}
	memcpy(o->value[e], lo, sizeof(lo));
	memcpy(o->value[e + 1], hi, sizeof(hi));
	if (flush)
		return;
	LANES
	{
		uint32_t l = row[i] & 0xffff, h = row[i] >> 16;

		o->exp[e][i] = f16 ? exponent(l >> 10 & 31, l & 0x3ff, 15, 31)
				   : exponent(l >> 7 & 255, l & 0x7f, 127, 255);
		o->exp[e + 1][i] = f16 ? exponent(h >> 10 & 31, h & 0x3ff, 15, 31)
				       : exponent(h >> 7 & 255, h & 0x7f, 127, 255);
	}
}

ALWAYS_INLINE void unpack_xf32(struct operand *o, const uint32_t *row, unsigned int e)
{
	uint32_t bits[GFX9_LANES];

	LANES
	{
		bits[i] = row[i] & 0xffffe000;
		o->exp[e][i] = exponent(row[i] >> 23 & 255, bits[i] & 0x7fffff, 127, 255);
	}
	memcpy(o->value[e], bits, sizeof(bits));
}

ALWAYS_INLINE void unpack_bytes(struct operand *o, const uint32_t *row, unsigned int e)
{
	LANES
	{
		o->value[e][i] = (float)(int8_t)row[i];
		o->value[e + 1][i] = (float)(int8_t)(row[i] >> 8);
		o->value[e + 2][i] = (float)(int8_t)(row[i] >> 16);
		o->value[e + 3][i] = (float)(int8_t)(row[i] >> 24);
	}
}

/* Of @mantissa bits; 0x80 is the NaN, and there are no infinities. */
ALWAYS_INLINE void unpack_f8(struct operand *o, const uint32_t *row, unsigned int e,
			     unsigned int mantissa, int32_t bias)
{
	const float scale = mantissa == 3 ? 0x1p119f : 0x1p111f; /* 2^(127 - bias) */
	const uint32_t rest = (1u << mantissa) - 1;

	for (unsigned int n = 0; n < 4; n++) {
		float value[GFX9_LANES];
		uint32_t bits[GFX9_LANES];

		LANES bits[i] = (row[i] >> 8 * n & 0x7f) << (23 - mantissa) |
				(row[i] >> 8 * n & 0x80) << 24;
		memcpy(value, bits, sizeof(bits));
		LANES
		{
			uint32_t byte = row[i] >> 8 * n & 0xff;
			int32_t exp = exponent((byte & 0x7f) >> mantissa, byte & rest, bias, 255);

			o->value[e + n][i] = value[i] * scale;
			o->exp[e + n][i] = byte == 0x80 ? GFX9_MFMA_EXP_SPECIAL : exp;
		}
	}
}

static void unpack(struct operand *o, const uint32_t (*rows)[GFX9_LANES], enum gfx9_mfma_type type,
		   unsigned int elements, bool flush)
{
	switch (type) {
	case GFX9_MFMA_F16:
		for (unsigned int e = 0; e < elements; e += 2)
			if (flush)
				unpack_halves(o, rows[e / 2], e, true, true);
			else
				unpack_halves(o, rows[e / 2], e, true, false);
		return;
	case GFX9_MFMA_BF16:
		for (unsigned int e = 0; e < elements; e += 2)
			if (flush)
				unpack_halves(o, rows[e / 2], e, false, true);
			else
				unpack_halves(o, rows[e / 2], e, false, false);
		return;
	case GFX9_MFMA_XF32:
		for (unsigned int e = 0; e < elements; e++)
			unpack_xf32(o, rows[e], e);
		return;
	case GFX9_MFMA_I8:
		for (unsigned int e = 0; e < elements; e += 4)
			unpack_bytes(o, rows[e / 4], e);
		return;
	case GFX9_MFMA_FP8:
		for (unsigned int e = 0; e < elements; e += 4)
			unpack_f8(o, rows[e / 4], e, 3, 8);
		return;
	case GFX9_MFMA_BF8:
		for (unsigned int e = 0; e < elements; e += 4)
			unpack_f8(o, rows[e / 4], e, 2, 16);
		return;
	default:
		memcpy(o->value, rows, elements * sizeof(rows[0]));
	}
}

/*
 * A chunk: WIDTH columns of all rows of a block
 */

/* The rows of one step of k, WIDTH columns each. */
struct chunk {
	const struct work *w;
	unsigned int a_lane, b_lane; /* of the first row and of the first column */
	unsigned int at[GFX9_MFMA_TERMS]; /* where term k is in an operand, from there */
	uint32_t *d;
};

/* The place of row @i of a block, from its first element on. */
ALWAYS_INLINE unsigned int row_at(unsigned int m, unsigned int i)
{
	if (m == 32)
		return (i / 8 * 4 + i % 4) * GFX9_LANES + i / 4 % 2 * 32;
	return i % 4 * GFX9_LANES + i / 4 * 16;
}

ALWAYS_INLINE vf a_of(const struct chunk *c, unsigned int k, unsigned int i)
{
	return all_f((&c->w->a.value[0][0])[c->at[k] + c->a_lane + i]);
}

ALWAYS_INLINE vf b_of(const struct chunk *c, unsigned int k)
{
	return load_f(&c->w->b.value[0][0] + c->at[k] + c->b_lane);
}

ALWAYS_INLINE vf fma_f(vf a, vf b, vf c)
{
#if defined(__AVX512F__)
	return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__) && defined(__AVX2__)
	return _mm256_fmadd_ps(a, b, c);
#else
	for (int i = 0; i < WIDTH; i++)
		c[i] = __builtin_fmaf(a[i], b[i], c[i]);
	return c;
#endif
}

ALWAYS_INLINE void chain(const struct chunk *c, unsigned int m, unsigned int k)
{
	vf b = b_of(c, k);

	for (unsigned int i = 0; i < m; i++) {
		uint32_t *d = c->d + row_at(m, i);

		store(d, (vi)fma_f(a_of(c, k, i), b, load_f(d)));
	}
}

/* Four terms at once, whose sum is exact. */
ALWAYS_INLINE void integers(const struct chunk *c, unsigned int m, unsigned int k)
{
	vf b0 = b_of(c, k), b1 = b_of(c, k + 1), b2 = b_of(c, k + 2), b3 = b_of(c, k + 3);

	for (unsigned int i = 0; i < m; i++) {
		uint32_t *d = c->d + row_at(m, i);
		vf sum = (a_of(c, k, i) * b0 + a_of(c, k + 1, i) * b1) +
			 (a_of(c, k + 2, i) * b2 + a_of(c, k + 3, i) * b3);

		store(d, (vi)((vu)load_i(d) + (vu) __builtin_convertvector(sum, vi)));
	}
}

ALWAYS_INLINE vf flushed(vf v, bool flush)
{
	vi bits = (vi)v;

	if (!flush)
		return v;
	return (vf)(bits & (((bits & INT32_MAX) >= NORMAL) | SIGN));
}

ALWAYS_INLINE void pairs(const struct chunk *c, unsigned int m, unsigned int k, bool four, bool f)
{
	vf b0 = b_of(c, k), b1 = b_of(c, k + 1);
	vf b2 = four ? b_of(c, k + 2) : b0, b3 = four ? b_of(c, k + 3) : b0;

	for (unsigned int i = 0; i < m; i++) {
		uint32_t *d = c->d + row_at(m, i);
		vf s = flushed(flushed(a_of(c, k, i) * b0, f) + flushed(a_of(c, k + 1, i) * b1, f),
			       f);

		if (four) {
			vf t = flushed(flushed(a_of(c, k + 2, i) * b2, f) +
					       flushed(a_of(c, k + 3, i) * b3, f),
				       f);

			s = flushed(s + t, f);
		}
		store(d, (vi)flushed(load_f(d) + s, f));
	}
}

/*
 * gfx942
 */

ALWAYS_INLINE vi larger(vi a, vi b)
{
#if defined(__AVX512F__)
	return (vi)_mm512_max_epi32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
	return (vi)_mm256_max_epi32((__m256i)a, (__m256i)b);
#else
	return select_i(a > b, a, b);
#endif
}

ALWAYS_INLINE vi smaller(vi a, vi b)
{
#if defined(__AVX512F__)
	return (vi)_mm512_min_epi32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
	return (vi)_mm256_min_epi32((__m256i)a, (__m256i)b);
#else
	return select_i(a < b, a, b);
#endif
}

ALWAYS_INLINE vd floor_d(vd v)
{
#if defined(__AVX512F__)
	return _mm512_roundscale_pd(v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#elif defined(__AVX2__)
	return _mm256_floor_pd(v);
#else
	/* To the nearest integer, which is one too large in half of all cases. */
	const double magic = 0x1.8p52;
	vd nearest = (v + magic) - magic;
	vl above = (vl)(nearest > v) & (vl)((vd){ 0 } + 1.0);
	vl small = (v < 0x1p51) & (v > -0x1p51);

	nearest -= (vd)above;
	return (vd)(((vl)nearest & small) | ((vl)v & ~small));
#endif
}

/*
 * Half @h of @v, and conversions of halves: compilers generate many instructions for the generic
 * form.
 */
ALWAYS_INLINE hi half(vi v, int h)
{
#if defined(__AVX512F__)
	return (hi)(h ? _mm512_extracti64x4_epi64((__m512i)v, 1)
		      : _mm512_castsi512_si256((__m512i)v));
#elif defined(__AVX2__)
	return (hi)(h ? _mm256_extracti128_si256((__m256i)v, 1)
		      : _mm256_castsi256_si128((__m256i)v));
#else
	hi both[2];

	memcpy(both, &v, sizeof(v));
	return both[h];
#endif
}

ALWAYS_INLINE vd f64_of_f32(hi bits)
{
#if defined(__AVX512F__)
	return _mm512_cvtps_pd((__m256)bits);
#elif defined(__AVX2__)
	return _mm256_cvtps_pd((__m128)bits);
#else
	return __builtin_convertvector((hf)bits, vd);
#endif
}

ALWAYS_INLINE vd f64_of_i32(hi v)
{
#if defined(__AVX512F__)
	return _mm512_cvtepi32_pd((__m256i)v);
#elif defined(__AVX2__)
	return _mm256_cvtepi32_pd((__m128i)v);
#else
	return __builtin_convertvector(v, vd);
#endif
}

ALWAYS_INLINE vl i64_of_i32(hi v)
{
#if defined(__AVX512F__)
	return (vl)_mm512_cvtepi32_epi64((__m256i)v);
#elif defined(__AVX2__)
	return (vl)_mm256_cvtepi32_epi64((__m128i)v);
#else
	return __builtin_convertvector(v, vl);
#endif
}

ALWAYS_INLINE hf f32_of_f64(vd v)
{
#if defined(__AVX512F__)
	return (hf)_mm512_cvtpd_ps(v);
#elif defined(__AVX2__)
	return (hf)_mm256_cvtpd_ps(v);
#else
	return __builtin_convertvector(v, hf);
#endif
}

/* To 32 significant bits. */
ALWAYS_INLINE vd round_down(vd v)
{
	const int64_t low = ((int64_t)1 << 21) - 1; /* of 52 bits, all but the first 31 */
	vl bits = (vl)v;

#if defined(__AVX512DQ__)
	bits = (vl)_mm512_mask_add_epi64((__m512i)bits, _mm512_movepi64_mask((__m512i)bits),
					 (__m512i)bits, _mm512_set1_epi64(low));
#else
	bits += (bits < 0) & low;
#endif
	return (vd)(bits & ~low);
}

/* C and the sum @s of products, in units of 2^(@exp - 24). */
ALWAYS_INLINE hf add_c(hi c, hi s, hi exp, bool halves)
{
	vul unit = (vul)(i64_of_i32(exp) + (1023 - 24)) << 52;
	vul inverse = (vul){ 0 } + ((uint64_t)2046 << 52) - unit;
	vd scaled = f64_of_f32(c) * (vd)inverse, t = floor_d(scaled), sum = f64_of_i32(s);

	if (halves) {
		vl lost = (scaled < 0.5) & (scaled > -0.5);
		vl large = (scaled >= 0x1p52) | (scaled <= -0x1p52);

		t = (vd)((vl)t & ~lost);
		sum = (vd)(((vl)f64_of_i32(s & ~3) & large) | ((vl)sum & ~large));
	}
	return f32_of_f64(round_down(t + sum) * (vd)unit);
}

/* Some terms of a chunk: B itself, and the positions of A's elements of row 0. */
struct terms {
	vf b[STEP_MAX];
	vi b_exp[STEP_MAX];
	const float *a[STEP_MAX];
	const int32_t *a_exp[STEP_MAX];
};

/* The extremes of some rows, which tell whether all results are exact. */
struct extremes {
	vi exp; /* the largest */
	vi gap; /* the smallest that is above EXP_NONE, from there on, with the highest bit flipped
		 */
	vi c; /* the largest magnitude, likewise */
};

/*
 * The sum of the terms from @first on, @every apart, in units of 2^(@exp - 24). Unsigned, for terms
 * that are out of range: these overflow.
 */
ALWAYS_INLINE vu sum_terms(const struct terms *t, unsigned int first, unsigned int n,
			   unsigned int every, unsigned int i, vi *exp)
{
	vu sum = { 0 };
	vf scale;

	*exp = t->b_exp[first] + t->a_exp[first][i];
	for (unsigned int e = first + every; e < n; e += every)
		*exp = larger(*exp, t->b_exp[e] + t->a_exp[e][i]);
	scale = (vf)((vu)(all_i(127 + 24) - larger(*exp, all_i(EXP_MIN))) << 23);
	for (unsigned int e = first; e < n; e += every)
		sum += (vu) __builtin_convertvector(all_f(t->a[e][i]) * t->b[e] * scale, vi);
	return sum;
}

/* Even and odd terms apart. */
ALWAYS_INLINE vu sum_halves(const struct terms *t, unsigned int n, unsigned int i, vi *exp)
{
	vi even_exp, odd_exp;
	vi even = (vi)sum_terms(t, 0, n, 2, i, &even_exp);
	vi odd = (vi)sum_terms(t, 1, n, 2, i, &odd_exp);

	*exp = larger(even_exp, odd_exp);
	return (vu)(even >> smaller(*exp - even_exp, all_i(31))) +
	       (vu)(odd >> smaller(*exp - odd_exp, all_i(31)));
}

/* Adds @n products of row @i to @d. */
ALWAYS_INLINE void fused_row(const struct terms *t, unsigned int n, unsigned int i, uint32_t *d,
			     struct extremes *x)
{
	const bool halves = n == 16;
	vi exp, c = load_i(d);
	vi sum = (vi)(halves ? sum_halves(t, n, i, &exp) : sum_terms(t, 0, n, 1, i, &exp));

	x->exp = larger(x->exp, exp);
	x->gap = smaller(x->gap, (vi)((vu)exp + (uint32_t)(SIGN - EXP_NONE)));
	x->c = larger(x->c, c & INT32_MAX);
	exp = larger(exp, all_i(EXP_ONLY_C));
	for (int h = 0; h < 2; h++) {
		hf result = add_c(half(c, h), half(sum, h), half(exp, h), halves);

		memcpy(d + h * HALF, &result, sizeof(result));
	}
}

/* False: a value is outside the range that is handled here. */
ALWAYS_INLINE bool fused(const struct chunk *c, unsigned int m, unsigned int k, unsigned int n)
{
	struct extremes x = { all_i(INT32_MIN), all_i(INT32_MAX), { 0 } };
	struct terms t;

	for (unsigned int e = 0; e < n; e++) {
		t.b[e] = b_of(c, k + e);
		t.b_exp[e] = load_i(&c->w->b.exp[0][0] + c->at[k + e] + c->b_lane);
		t.a[e] = &c->w->a.value[0][0] + c->at[k + e] + c->a_lane;
		t.a_exp[e] = &c->w->a.exp[0][0] + c->at[k + e] + c->a_lane;
	}
	for (unsigned int i = 0; i < m; i++)
		fused_row(&t, n, i, c->d + row_at(m, i), &x);
	return !any((x.exp > EXP_MAX) | (x.gap < SIGN - EXP_NONE + EXP_MIN) | (x.c >= INF));
}

/*
 * Blocks
 */

enum path {
	PATH_CHAIN,
	PATH_INTEGER,
	PATH_TWO,
	PATH_TWO_FLUSHED,
	PATH_FOUR,
	PATH_FOUR_FLUSHED,
	PATH_FUSED,
	PATH_HALVES
};

ALWAYS_INLINE bool run_chunk(const struct chunk *c, enum path path, unsigned int m,
			     const struct gfx9_mfma_shape *s)
{
	unsigned int terms = s->step < s->k ? s->step : s->k;
	bool ok = true;

	switch (path) {
	case PATH_CHAIN:
		for (unsigned int k = 0; k < s->k; k++)
			chain(c, m, k);
		return true;
	case PATH_INTEGER:
		for (unsigned int k = 0; k < s->k; k += 4)
			integers(c, m, k);
		return true;
	case PATH_TWO:
	case PATH_TWO_FLUSHED:
		for (unsigned int k = 0; k < s->k; k += 2)
			pairs(c, m, k, false, path == PATH_TWO_FLUSHED);
		return true;
	case PATH_FOUR:
	case PATH_FOUR_FLUSHED:
		for (unsigned int k = 0; k < s->k; k += 4)
			pairs(c, m, k, true, path == PATH_FOUR_FLUSHED);
		return true;
	case PATH_HALVES:
		for (unsigned int k = 0; ok && k < s->k; k += 16)
			ok = fused(c, m, k, 16);
		return ok;
	default:
		for (unsigned int k = 0; ok && k < s->k; k += terms)
			ok = terms == 8 ? fused(c, m, k, 8) : fused(c, m, k, 4);
		return ok;
	}
}

ALWAYS_INLINE bool run_blocks(struct work *w, const struct gfx9_mfma_call *call, enum path path,
			      unsigned int m)
{
	const struct gfx9_mfma_shape *s = call->shape;
	unsigned int group = 1u << call->cbsz, elements = s->k * m * s->blocks / GFX9_LANES;
	struct chunk c = { .w = w };

	for (unsigned int k = 0; k < s->k; k++)
		c.at[k] = k % elements * GFX9_LANES + k / elements * s->blocks * m;
	for (unsigned int block = 0; block < s->blocks; block++) {
		c.a_lane = ((block & ~(group - 1)) | (call->abid & (group - 1))) * m;
		for (unsigned int j = 0; j < m; j += WIDTH) {
			c.b_lane = block * m + j;
			c.d = &w->d[block * m * m / GFX9_LANES][j];
			if (!run_chunk(&c, path, m, s))
				return false;
		}
	}
	return true;
}

#define RUN(path)                                                                           \
	__attribute__((noinline)) static bool run_##path(struct work *w,                    \
							 const struct gfx9_mfma_call *call) \
	{                                                                                   \
		return call->shape->m == 32 ? run_blocks(w, call, path, 32)                 \
					    : run_blocks(w, call, path, 16);                \
	}
RUN(PATH_CHAIN)
RUN(PATH_INTEGER)
RUN(PATH_TWO)
RUN(PATH_TWO_FLUSHED)
RUN(PATH_FOUR)
RUN(PATH_FOUR_FLUSHED)
RUN(PATH_FUSED)
RUN(PATH_HALVES)

/* The exponent of the smallest element that is not 0, with its bias, or one less. */
static unsigned int smallest(const struct operand *o, unsigned int elements)
{
	vi least = all_i(INT32_MAX);
	int32_t lanes[WIDTH], min = INT32_MAX;

	/* The bits minus one, so that 0 becomes the largest. */
	for (unsigned int i = 0; i < elements * GFX9_LANES; i += WIDTH) {
		vi v = ((load_i(&o->value[0][0] + i) & INT32_MAX) - 1) & INT32_MAX;

		least = select_i(v < least, v, least);
	}
	memcpy(lanes, &least, sizeof(least));
	for (int i = 0; i < WIDTH; i++)
		min = lanes[i] < min ? lanes[i] : min;
	return (unsigned int)min >> 23;
}

/* Whether a result may be denormal: q < 2^-102, where elements have 7 bits behind the point. */
static bool may_underflow(const struct work *w, const struct gfx9_mfma_shape *s)
{
	unsigned int elements = (unsigned int)s->k * s->m * s->blocks / GFX9_LANES;

	return s->a == GFX9_MFMA_BF16 &&
	       smallest(&w->a, elements) + smallest(&w->b, elements) < 2 * 127 + 14 - 102;
}

static bool run_pairs(struct work *w, const struct gfx9_mfma_call *call)
{
	bool four = call->shape->step == 4;

	if (may_underflow(w, call->shape))
		return four ? run_PATH_FOUR_FLUSHED(w, call) : run_PATH_TWO_FLUSHED(w, call);
	return four ? run_PATH_FOUR(w, call) : run_PATH_TWO(w, call);
}

static void load_c(struct work *w, const struct gfx9_mfma_call *call, unsigned int rows)
{
	bool flush = call->shape->how == GFX9_MFMA_PAIRS;

	for (unsigned int r = 0; r < rows; r++) {
		for (unsigned int i = 0; i < GFX9_LANES; i += WIDTH) {
			vi v = call->c ? load_i(&call->c[r][i]) : all_i((int32_t)call->constant);

			if (flush)
				v &= (v & INT32_MAX) >= NORMAL;
			store(&w->d[r][i], v);
		}
	}
}

static void store_d(const struct work *w, const struct gfx9_mfma_call *call, unsigned int rows)
{
	if (call->shape->how == GFX9_MFMA_INTEGER) {
		memcpy(call->d, w->d, rows * sizeof(w->d[0]));
		return;
	}
	for (unsigned int r = 0; r < rows; r++) {
		for (unsigned int i = 0; i < GFX9_LANES; i += WIDTH) {
			vi v = load_i(&w->d[r][i]);

			v = select_i((v & INT32_MAX) > INF, all_i(NAN_F32), v);
			store(&call->d[r][i], v);
		}
	}
}

/* Groups of 16 lanes of B, selected by blgp. */
static void move_groups(struct operand *b, unsigned int elements, unsigned int blgp)
{
	static const uint8_t from[8][4] = { { 0, 1, 2, 3 }, { 0, 1, 0, 1 }, { 2, 3, 2, 3 },
					    { 1, 2, 3, 0 }, { 0, 0, 0, 0 }, { 1, 1, 1, 1 },
					    { 2, 2, 2, 2 }, { 3, 3, 3, 3 } };

	for (unsigned int e = 0; e < elements; e++) {
		float value[GFX9_LANES];
		int32_t exp[GFX9_LANES];

		memcpy(value, b->value[e], sizeof(value));
		memcpy(exp, b->exp[e], sizeof(exp));
		for (unsigned int g = 0; g < 4; g++) {
			memcpy(&b->value[e][16 * g], &value[16 * from[blgp][g]], 64);
			memcpy(&b->exp[e][16 * g], &exp[16 * from[blgp][g]], 64);
		}
	}
}

static bool run_f32(const struct gfx9_mfma_call *call)
{
	const struct gfx9_mfma_shape *s = call->shape;
	unsigned int elements = (unsigned int)s->k * s->m * s->blocks / GFX9_LANES;
	unsigned int rows = (unsigned int)s->m * s->m * s->blocks / GFX9_LANES;
	bool flush = s->how == GFX9_MFMA_PAIRS, ok = true;
	struct work w;

	unpack(&w.a, call->a, s->a, elements, flush);
	unpack(&w.b, call->b, s->b, elements, flush);
	if (call->blgp)
		move_groups(&w.b, elements, call->blgp);
	load_c(&w, call, rows);
	switch (s->how) {
	case GFX9_MFMA_CHAIN:
		ok = run_PATH_CHAIN(&w, call);
		break;
	case GFX9_MFMA_INTEGER:
		ok = run_PATH_INTEGER(&w, call);
		break;
	case GFX9_MFMA_PAIRS:
		ok = run_pairs(&w, call);
		break;
	case GFX9_MFMA_HALVES:
		ok = run_PATH_HALVES(&w, call);
		break;
	default:
		ok = run_PATH_FUSED(&w, call);
	}
	if (ok)
		store_d(&w, call, rows);
	return ok;
}

/*
 * f64, 16x16x4
 */

#define F64_M 16

struct wide {
	uint64_t bits[GFX9_LANES];
};

ALWAYS_INLINE void unpack_f64(struct wide *o, const uint32_t (*rows)[GFX9_LANES], uint64_t sign)
{
	LANES
	o->bits[i] = (rows[0][i] | (uint64_t)rows[1][i] << 32) ^ sign;
}

ALWAYS_INLINE void chain_f64(const struct wide *a, const struct wide *b, unsigned int i, double *d)
{
	for (unsigned int k = 0; k < 4; k++) {
		double x, y[F64_M];

		memcpy(&x, &a->bits[k * F64_M + i], sizeof(x));
		memcpy(y, &b->bits[k * F64_M], sizeof(y));
		for (unsigned int j = 0; j < F64_M; j++)
			d[j] = __builtin_fma(x, y[j], d[j]);
	}
}

static bool run_f64(const struct gfx9_mfma_call *call)
{
	const uint64_t sign = (uint64_t)1 << 63;
	struct wide a, b, d[4];

	unpack_f64(&a, call->a, call->negate & 1 ? sign : 0);
	unpack_f64(&b, call->b, call->negate & 2 ? sign : 0);
	for (unsigned int r = 0; r < 4; r++) {
		if (call->c)
			unpack_f64(&d[r], call->c + 2 * r, 0);
		LANES
		d[r].bits[i] =
			(call->c ? d[r].bits[i] : call->constant) ^ (call->negate & 4 ? sign : 0);
	}
	for (unsigned int i = 0; i < F64_M; i++) {
		double sum[F64_M];

		memcpy(sum, &d[i / 4].bits[i % 4 * F64_M], sizeof(sum));
		chain_f64(&a, &b, i, sum);
		memcpy(&d[i / 4].bits[i % 4 * F64_M], sum, sizeof(sum));
	}
	for (unsigned int r = 0; r < 4; r++) {
		LANES
		{
			uint64_t v = d[r].bits[i];

			v = (v & INT64_MAX) > (uint64_t)0x7ff << 52 ? NAN_F64 : v;
			call->d[2 * r][i] = (uint32_t)v;
			call->d[2 * r + 1][i] = (uint32_t)(v >> 32);
		}
	}
	return true;
}

bool GFX9_V(mfma_fast)(const struct gfx9_mfma_call *call)
{
	const struct gfx9_mfma_shape *s = call->shape;

	if (s->sparse || s->m == 4)
		return false;
	return s->how == GFX9_MFMA_DOUBLE ? run_f64(call) : run_f32(call);
}
