// SPDX-License-Identifier: MIT
/*
 * Matrix instructions: every one that both targets decode, against a reference that takes the shape
 * from the name, the layout of matrices from AMD's tables (from the matrix to the register; the
 * engine goes the other way), and the rounding of sums from what was published about the hardware.
 */
#include "../unit/test.h"

#include "emu/gfx9/encoding.h"
#include "emu/gfx9/vector.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "f128.h"

#define LANES GFX9_LANES
#define VGPRS 96
#define AGPRS 96
#define SRC_A 0u
#define SRC_B 8u
#define SRC_C 16u
#define SRC_D 48u
#define SRC_INDEX 80u
#define NAN_F32 0x7fc00000u
#define NAN_F64 0x7ff8000000000000u

typedef __int128 i128;

enum kind { F64, F32, XF32, F16, BF16, FP8, BF8, I8, KINDS };

static const struct {
	const char *name;
	unsigned int bits, mantissa;
	int bias;
} kinds[KINDS] = {
	[F64] = { "f64", 64, 52, 1023 },  [F32] = { "f32", 32, 23, 127 },
	[XF32] = { "xf32", 32, 23, 127 }, [F16] = { "f16", 16, 10, 15 },
	[BF16] = { "bf16", 16, 7, 127 },  [FP8] = { "fp8", 8, 3, 8 },
	[BF8] = { "bf8", 8, 2, 16 },	  [I8] = { "i8", 8, 0, 0 },
};

/* An opcode of a target, parsed from its name. */
struct op {
	enum gfx9_target target;
	uint32_t words[2];
	const char *name;
	unsigned int m, k, blocks;
	enum kind a, b;
	bool sparse, one_k;
};

struct world {
	struct gfx9_wave *w;
	uint32_t (*v)[LANES];
};

static uint64_t seed = 88172645463325252;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1d >> 8;
}

static int setup(void **state)
{
	static struct world t;

	t.w = aligned_alloc(64, (sizeof(*t.w) + 63) / 64 * 64);
	t.v = aligned_alloc(64, (VGPRS + AGPRS) * sizeof(*t.v));
	assert_non_null(t.w);
	assert_non_null(t.v);
	memset(t.w, 0, sizeof(*t.w));
	memset(t.v, 0, (VGPRS + AGPRS) * sizeof(*t.v));
	t.w->v = t.v;
	t.w->nr_vgprs = VGPRS;
	t.w->nr_agprs = AGPRS;
	*state = &t;
	return 0;
}

static int teardown(void **state)
{
	struct world *t = *state;

	free(t->v);
	free(t->w);
	return 0;
}

/*
 * Names
 */

static enum kind kind_of(const char *name, size_t n)
{
	for (int i = 0; i < KINDS; i++) {
		if (strlen(kinds[i].name) == n && !strncmp(kinds[i].name, name, n))
			return (enum kind)i;
	}
	fail_msg("no such type: %.*s", (int)n, name);
	return KINDS;
}

/* "f16", "bf16_1k" or "fp8_bf8" */
static void parse_types(struct op *op, const char *s)
{
	size_t n = strcspn(s, "_");

	op->a = op->b = kind_of(s, n);
	op->one_k = !strcmp(s + n, "_1k");
	if (s[n] && !op->one_k)
		op->b = kind_of(s + n + 1, strlen(s + n + 1));
}

static bool parse(struct op *op, const struct gfx9_inst *in)
{
	unsigned int n, end = 0;
	const char *s;

	op->name = gfx9_op_name(in->op);
	op->sparse = !strncmp(op->name, "v_smfmac_", 9);
	if (!op->sparse && strncmp(op->name, "v_mfma_", 7))
		return false;
	s = op->name + (op->sparse ? 9 : 7) + 4; /* f32_, i32_ or f64_ */
	assert_int_equal(sscanf(s, "%ux%ux%u%n", &op->m, &n, &op->k, &end), 3);
	assert_int_equal(op->m, n);
	s += end;
	if (sscanf(s, "_%ub_%n", &n, &end) == 1 && n > 1 && s[1] >= '0' && s[1] <= '9')
		s += end - 1;
	parse_types(op, *s == '_' ? s + 1 : s);
	/* LLVM gives the number of registers of the result, which gives the number of blocks. */
	n = gfx9_encodings[in->encoding].operand[0].dwords / (op->a == F64 ? 2 : 1);
	op->blocks = n * LANES / (op->m * op->m);
	return true;
}

static uint32_t mai(unsigned int opcode)
{
	return 0xd3800000 | opcode << 16;
}

static unsigned int all_ops(struct op *ops, unsigned int max)
{
	unsigned int n = 0;

	for (int t = 0; t < GFX9_TARGETS; t++) {
		for (unsigned int code = 0x3e; code < 0x80; code++) {
			struct op op = { .target = (enum gfx9_target)t };
			struct gfx9_inst in;

			op.words[0] = mai(code) | SRC_D;
			op.words[1] = 0x04000000 | (256 + SRC_A) | (256 + SRC_B) << 9 | SRC_C << 18;
			if (gfx9_decode(op.target, op.words, 2, &in) == 2 && parse(&op, &in)) {
				assert_true(n < max);
				ops[n++] = op;
			}
		}
	}
	return n;
}

/*
 * Positions of elements
 */

struct place {
	unsigned int lane, element;
};

/* Row @i of A, column @i of B: lanes of one row hold blocks first, then parts of k. */
static struct place source_place(const struct op *op, unsigned int length, unsigned int block,
				 unsigned int i, unsigned int k)
{
	unsigned int n = length * op->m * op->blocks / LANES;

	return (struct place){ i + op->m * (block + op->blocks * (k / n)), k % n };
}

static struct place result_place(const struct op *op, unsigned int block, unsigned int i,
				 unsigned int j)
{
	if (op->a == F64)
		return op->m == 16 ? (struct place){ j + 16 * (i % 4), i / 4 }
				   : (struct place){ j + 4 * block + 16 * i, 0 };
	switch (op->m) {
	case 32:
		return (struct place){ j + 32 * (i / 4 % 2), 16 * block + i / 8 * 4 + i % 4 };
	case 16:
		return (struct place){ j + 16 * (i / 4), 4 * block + i % 4 };
	default:
		return (struct place){ j + 4 * block, i };
	}
}

/* The lane whose B is used in @lane. */
static unsigned int lane_of_b(unsigned int lane, unsigned int blgp)
{
	static const uint8_t group[8][4] = { { 0, 1, 2, 3 }, { 0, 1, 0, 1 }, { 2, 3, 2, 3 },
					     { 1, 2, 3, 0 }, { 0, 0, 0, 0 }, { 1, 1, 1, 1 },
					     { 2, 2, 2, 2 }, { 3, 3, 3, 3 } };

	return group[blgp][lane / 16] * 16u + lane % 16;
}

static uint64_t get(uint32_t (*rows)[LANES], unsigned int bits, struct place p)
{
	unsigned int at = p.element * bits;
	uint64_t word = rows[at / 32][p.lane];

	if (bits == 64)
		return word | (uint64_t)rows[at / 32 + 1][p.lane] << 32;
	return word >> at % 32 & (((uint64_t)1 << bits) - 1);
}

/*
 * Numbers
 */

static double from_bits(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, 8);
	return d;
}

static uint64_t to_bits(double d)
{
	uint64_t bits;

	memcpy(&bits, &d, 8);
	return isnan(d) ? NAN_F64 : bits;
}

static uint32_t float_bits(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, 4);
	return isnan(f) ? NAN_F32 : bits;
}

static double number(enum kind kind, uint64_t bits)
{
	unsigned int mantissa = kinds[kind].mantissa, width = kinds[kind].bits;
	uint64_t m = bits & (((uint64_t)1 << mantissa) - 1);
	int e = (int)(bits >> mantissa & ((1u << (width - 1 - mantissa)) - 1));
	bool negative = bits >> (width - 1);
	double v;

	if (kind == F64)
		return from_bits(bits);
	if (kind == I8)
		return (double)(int8_t)bits;
	if (width == 8)
		v = bits == 0x80 ? NAN : 0;
	else
		v = e != (1 << (width - 1 - mantissa)) - 1 ? 0 : m ? NAN : INFINITY;
	if (kind == XF32)
		m &= ~(uint64_t)0x1fff;
	if (v == 0)
		v = ldexp((double)m + (e ? ldexp(1, (int)mantissa) : 0),
			  (e ? e : 1) - kinds[kind].bias - (int)mantissa);
	return negative ? -v : v;
}

static int smallest(enum kind kind)
{
	return 1 - kinds[kind].bias;
}

static f128 two_to(int e)
{
	return (f128)ldexp(1, e / 2) * ldexp(1, e - e / 2);
}

/* A multiple of 2^@unit: towards zero, or down. */
static f128 cut(f128 v, int unit, bool down)
{
	f128 q = v * two_to(-unit);
	i128 n = (i128)q;

	if (down && q < (f128)n)
		n--;
	return (f128)n * two_to(unit);
}

static int exponent(double v, int least)
{
	int e = v == 0 || !isfinite(v) ? least : ilogb(v);

	return e > least ? e : least;
}

/*
 * Sums
 */

struct term {
	double a, b;
	int exp; /* of the product, as the hardware has it */
};

static float flushed(float f)
{
	return f != 0 && fabsf(f) < 0x1p-126f ? copysignf(0, f) : f;
}

static float flushed_product(const struct term *t, double least)
{
	float a = fabs(t->a) < least ? 0.0f : (float)t->a;
	float b = fabs(t->b) < least ? 0.0f : (float)t->b;

	return flushed(a * b);
}

/* gfx90a with 16 bits */
static uint32_t sum_of_pairs(const struct op *op, const struct term *t, uint32_t c)
{
	unsigned int at_once = op->a == BF16 && !op->one_k ? 2 : 4;
	double least = ldexp(1, smallest(op->a));
	float sum = (float)number(F32, c);

	if (fabsf(sum) < 0x1p-126f)
		sum = 0;
	for (unsigned int k = 0; k < op->k; k += at_once) {
		float s[2] = { 0, 0 };

		for (unsigned int i = 0; i < at_once; i += 2)
			s[i / 2] = flushed(flushed_product(&t[k + i], least) +
					   flushed_product(&t[k + i + 1], least));
		if (at_once == 4)
			s[0] = flushed(s[0] + s[1]);
		sum = flushed(sum + s[0]);
	}
	return float_bits(sum);
}

static bool special_sum(const struct term *t, unsigned int n, double c, double *sum)
{
	bool plus = c == INFINITY, minus = c == -INFINITY, nan = isnan(c);

	for (unsigned int i = 0; i < n; i++) {
		double p = t[i].a * t[i].b;

		nan |= isnan(p);
		plus |= p >= 0x1p128;
		minus |= p <= -0x1p128;
	}
	*sum = nan || (plus && minus) ? NAN : plus ? INFINITY : -INFINITY;
	return nan || plus || minus;
}

/* Products @step apart, cut off 24 bits below the largest. */
static f128 cut_products(const struct term *t, unsigned int n, unsigned int step, int *exp)
{
	f128 sum = 0;

	*exp = -999;
	for (unsigned int i = 0; i < n; i += step) {
		if (t[i].a * t[i].b != 0 && t[i].exp > *exp)
			*exp = t[i].exp;
	}
	for (unsigned int i = 0; i < n; i += step)
		sum += cut((f128)t[i].a * (f128)t[i].b, *exp - 24, false);
	return sum;
}

/* gfx942, up to 16 products at once; with eight bits the even and odd ones apart. */
static double fused(const struct term *t, unsigned int n, double c, bool eight)
{
	int even_exp, odd_exp = -999, exp, max, c_exp = exponent(c, -126), unit;
	f128 even, odd = 0, sum, rest;
	double special;

	if (special_sum(t, n, c, &special))
		return special;
	even = cut_products(t, n, eight ? 2 : 1, &even_exp);
	if (eight)
		odd = cut_products(t + 1, n - 1, 2, &odd_exp);
	exp = even_exp > odd_exp ? even_exp : odd_exp;
	sum = eight ? cut(even, exp - 24, true) + cut(odd, exp - 24, true) : even;
	max = exp > c_exp ? exp : c_exp;
	rest = eight && c_exp < max - 25 ? 0 : cut(c, max - 24, true);
	sum = cut(sum, max - 32, true) + rest;
	unit = exponent((double)sum, -126) - 31;
	return (double)(float)cut(sum, unit, true);
}

static uint32_t sum_fused(const struct op *op, const struct term *t, unsigned int n, uint32_t c)
{
	unsigned int at_once = op->a == XF32 ? 4 : kinds[op->a].bits == 8 ? 16 : 8;
	double sum = number(F32, c);

	for (unsigned int k = 0; k < n; k += at_once)
		sum = fused(t + k, n - k < at_once ? n - k : at_once, sum, at_once == 16);
	return float_bits((float)sum);
}

static uint64_t reference_sum(const struct op *op, const struct term *t, unsigned int n, uint64_t c)
{
	uint32_t i = (uint32_t)c;
	double d = from_bits(c);
	float f = (float)number(F32, i);

	switch (op->a) {
	case F64:
		for (unsigned int k = 0; k < n; k++)
			d = fma(t[k].a, t[k].b, d);
		return to_bits(d);
	case F32:
		for (unsigned int k = 0; k < n; k++)
			f = fmaf((float)t[k].a, (float)t[k].b, f);
		return float_bits(f);
	case I8:
		for (unsigned int k = 0; k < n; k++)
			i += (uint32_t)(int32_t)(t[k].a * t[k].b);
		return i;
	case F16:
	case BF16:
		if (op->target == GFX9_TARGET_GFX90A)
			return sum_of_pairs(op, t, i);
		/* fall through */
	default:
		return sum_fused(op, t, n, i);
	}
}

/*
 * Execution of an instruction
 */

struct form {
	unsigned int cbsz, abid, blgp;
	unsigned int constant; /* of C; 0: registers */
	bool acc_a, acc_b, acc_cd;
	unsigned int dst; /* SRC_C or SRC_A: in place */
};

static uint32_t (*bank(struct world *t, bool acc, unsigned int n))[LANES]
{
	return t->v + (acc ? VGPRS : 0) + n;
}

/* The registers before the instruction. */
static uint32_t before[VGPRS + AGPRS][LANES];

static uint32_t (*old(bool acc, unsigned int n))[LANES]
{
	return before + (acc ? VGPRS : 0) + n;
}

static uint64_t constant(const struct op *op, unsigned int code)
{
	int n = code <= 192 ? (int)code - 128 : 192 - (int)code;

	if (code == 242)
		return op->a == F64 ? 0x3ff0000000000000u : 0x3f800000u;
	if (code == 247)
		return op->a == F64 ? 0xc010000000000000u : 0xc0800000u;
	return op->a == F64 ? (uint64_t)(int64_t)n : (uint32_t)n;
}

static uint64_t reference_c(const struct op *op, const struct form *f, struct place p)
{
	bool negated = op->target == GFX9_TARGET_GFX942 && f->blgp & 4;
	uint64_t c;

	if (op->sparse)
		return get(old(f->acc_cd, f->dst), 32, p);
	c = f->constant ? constant(op, f->constant)
			: get(old(f->acc_cd, SRC_C), op->a == F64 ? 64 : 32, p);
	return op->a == F64 && negated ? c ^ (uint64_t)1 << 63 : c;
}

static double signed_number(const struct op *op, enum kind kind, uint64_t bits, bool negated)
{
	double v = number(kind, bits);

	return op->a == F64 && op->target == GFX9_TARGET_GFX942 && negated ? -v : v;
}

/* The k that element @e of row @i of a sparse A represents. */
static unsigned int sparse_k(const struct op *op, const struct form *f, unsigned int i,
			     unsigned int e)
{
	struct place p = source_place(op, op->k / 2, 0, i, e);
	unsigned int bits = kinds[op->a].bits == 16 ? 8 : 16;
	uint32_t index = old(false, SRC_INDEX)[0][p.lane];

	if (!f->cbsz)
		index >>= bits * (f->abid % (32 / bits));
	return e / 2 * 4 + (index >> 2 * p.element & 3);
}

static uint64_t reference(const struct op *op, const struct form *f, unsigned int block,
			  unsigned int i, unsigned int j)
{
	unsigned int n = op->sparse ? op->k / 2 : op->k, group = 1u << f->cbsz;
	unsigned int a_block = op->sparse ? 0 : block / group * group + f->abid % group;
	struct term t[64];

	for (unsigned int e = 0; e < n; e++) {
		unsigned int k = op->sparse ? sparse_k(op, f, i, e) : e;
		struct place a = source_place(op, n, a_block, i, e);
		struct place b = source_place(op, op->k, block, j, k);

		if (op->a != F64)
			b.lane = lane_of_b(b.lane, f->blgp);
		t[e].a = signed_number(op, op->a, get(old(f->acc_a, SRC_A), kinds[op->a].bits, a),
				       f->blgp & 1);
		t[e].b = signed_number(op, op->b, get(old(f->acc_b, SRC_B), kinds[op->b].bits, b),
				       f->blgp & 2);
		t[e].exp = exponent(t[e].a, smallest(op->a)) + exponent(t[e].b, smallest(op->b));
	}
	return reference_sum(op, t, n, reference_c(op, f, result_place(op, block, i, j)));
}

static void encode(const struct op *op, const struct form *f, uint32_t words[2])
{
	unsigned int c = op->sparse ? 256 + SRC_INDEX : f->constant ? f->constant : 256 + SRC_C;

	words[0] = (op->words[0] & 0xffff0000) | f->dst | f->cbsz << 8 | f->abid << 11 |
		   (uint32_t)f->acc_cd << 15;
	words[1] = (256 + SRC_A) | (256 + SRC_B) << 9 | c << 18 | (uint32_t)f->acc_a << 27 |
		   (uint32_t)f->acc_b << 28 | f->blgp << 29;
}

static void check(struct world *t, const struct op *op, const struct form *f)
{
	unsigned int width = op->a == F64 ? 64 : 32;
	uint32_t words[2];
	struct gfx9_inst in;

	encode(op, f, words);
	assert_int_equal(gfx9_decode(op->target, words, 2, &in), 2);
	assert_string_equal(gfx9_op_name(in.op), op->name);
	assert_non_null(gfx9_mfma_ops[in.op]);
	memcpy(before, t->v, sizeof(before));
	assert_int_equal(gfx9_mfma_ops[in.op](t->w, &in), GFX9_GO);
	for (unsigned int block = 0; block < op->blocks; block++) {
		for (unsigned int i = 0; i < op->m; i++) {
			for (unsigned int j = 0; j < op->m; j++) {
				struct place p = result_place(op, block, i, j);
				uint64_t got = get(bank(t, f->acc_cd, f->dst), width, p);
				uint64_t want = reference(op, f, block, i, j);

				if (got != want)
					fail_msg("%s block %u D[%u][%u]: %llx, not %llx", op->name,
						 block, i, j, (unsigned long long)got,
						 (unsigned long long)want);
			}
		}
	}
}

/*
 * Values
 */

enum mood { SMALL, ANY, TINY, NEAR, SPECIAL, MOODS };

static uint64_t with_exponent(enum kind kind, int e)
{
	unsigned int mantissa = kinds[kind].mantissa;
	uint64_t sign = (rnd() & 1) << (kinds[kind].bits - 1);

	e += kinds[kind].bias;
	return sign | (uint64_t)(e < 0 ? 0 : e) << mantissa |
	       (rnd() & (((uint64_t)1 << mantissa) - 1));
}

static uint64_t special_value(enum kind kind)
{
	unsigned int bits = kinds[kind].bits, mantissa = kinds[kind].mantissa;
	uint64_t sign = (uint64_t)1 << (bits - 1), infinite = sign - ((uint64_t)1 << mantissa);

	switch (rnd() % 8) {
	case 0:
		return infinite; /* the largest exponent, where there is no infinity */
	case 1:
		return infinite | sign;
	case 2:
		return infinite | 1; /* signalling */
	case 3:
		return sign;
	case 4:
		return infinite - 1; /* the largest number */
	case 5:
		return 1; /* the smallest */
	default:
		return with_exponent(kind, (int)(rnd() % 3));
	}
}

static uint64_t value(enum kind kind, enum mood mood)
{
	uint64_t any = rnd() << 32 ^ rnd();

	any &= kinds[kind].bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << kinds[kind].bits) - 1;
	if (kind == I8)
		return mood == SPECIAL ? (rnd() & 1 ? 0x80 : 0x7f) : any;
	switch (mood) {
	case SMALL:
		return rnd() % 3 ? with_exponent(kind, (int)(rnd() % 5) - 2) : 0;
	case TINY:
		return rnd() % 4 ? with_exponent(kind, smallest(kind) - 1 + (int)(rnd() % 2))
				 : with_exponent(kind, 0);
	case NEAR:
		return with_exponent(kind, (int)(rnd() % 26) - 13);
	case SPECIAL:
		return rnd() % 24 ? with_exponent(kind, (int)(rnd() % 3)) : special_value(kind);
	default:
		/* Few Infs and NaNs, so that sums may be finite. */
		return !isfinite(number(kind, any)) ? 0 : any;
	}
}

static void fill(uint32_t (*rows)[LANES], unsigned int dwords, enum kind kind, enum mood mood)
{
	unsigned int bits = kinds[kind].bits;

	for (unsigned int lane = 0; lane < LANES; lane++) {
		for (unsigned int r = 0; r < dwords; r++) {
			rows[r][lane] = 0;
			if (bits == 64 && r % 2)
				continue;
			for (unsigned int at = 0; at < 32; at += bits) {
				uint64_t v = value(kind, mood);

				rows[r][lane] |= (uint32_t)v << at;
				if (bits == 64)
					rows[r + 1][lane] = (uint32_t)(v >> 32);
			}
			if (bits == 64)
				r++;
		}
	}
}

static void fill_all(struct world *t, const struct op *op, enum mood mood)
{
	enum kind c = op->a == F64 ? F64 : F32;

	for (int acc = 0; acc < 2; acc++) {
		fill(bank(t, acc, SRC_A), SRC_B - SRC_A, op->a, mood);
		fill(bank(t, acc, SRC_B), SRC_C - SRC_B, op->b, mood);
		fill(bank(t, acc, SRC_C), VGPRS - SRC_C, c, mood);
	}
	for (unsigned int lane = 0; lane < LANES; lane++)
		bank(t, false, SRC_INDEX)[0][lane] = (uint32_t)rnd();
}

static struct form random_form(const struct op *op)
{
	static const unsigned int constants[] = { 0, 0, 0, 128, 129, 193, 242, 247 };
	struct form f = { .dst = rnd() & 1 ? SRC_D : SRC_C };

	for (unsigned int b = op->blocks; op->a != F64 && b > 1 && rnd() & 1; b /= 2)
		f.cbsz++;
	f.abid = (unsigned int)rnd() & ((1u << f.cbsz) - 1);
	f.blgp = rnd() & 1 ? (unsigned int)rnd() & 7 : 0;
	f.constant = constants[rnd() % 8];
	f.acc_a = rnd() & 1;
	f.acc_b = rnd() & 1;
	f.acc_cd = rnd() & 1;
	if (op->sparse) {
		f = (struct form){ .dst = SRC_D, .acc_cd = rnd() & 1, .abid = rnd() & 3 };
		f.cbsz = rnd() & 1;
	}
	return f;
}

static void test_every_op(void **state)
{
	struct world *t = *state;
	struct op ops[128];
	unsigned int n = all_ops(ops, 128), seen[2] = { 0, 0 };

	for (unsigned int i = 0; i < n; i++) {
		for (int mood = 0; mood < MOODS; mood++) {
			struct form f = { .dst = SRC_D };

			fill_all(t, &ops[i], (enum mood)mood);
			/* EXEC and the rounding mode are ignored. */
			gfx9_set64(t->w, GFX9_EXEC, rnd());
			t->w->mode = (uint32_t)rnd();
			check(t, &ops[i], &f);
			for (int k = 0; k < 3; k++) {
				f = random_form(&ops[i]);
				check(t, &ops[i], &f);
			}
		}
		seen[ops[i].target]++;
	}
	assert_int_equal(seen[GFX9_TARGET_GFX90A], 27);
	assert_int_equal(seen[GFX9_TARGET_GFX942], 46);
}

/* The result may overlap a source. */
static void test_overlap(void **state)
{
	struct world *t = *state;
	struct op ops[128];
	unsigned int n = all_ops(ops, 128);

	for (unsigned int i = 0; i < n; i++) {
		struct form f = { .dst = SRC_A, .acc_cd = rnd() & 1 };

		f.acc_a = f.acc_b = f.acc_cd;
		fill_all(t, &ops[i], SMALL);
		check(t, &ops[i], &f);
	}
}

/*
 * -2^13 * 2^10 - 0.5 - 0.25 - 0.125 + 2^23, which every unit gets wrong in its own way: table 8 of
 * the paper.
 */
static const struct {
	const char *name;
	uint32_t a[4], b[4];
	float want;
} known[] = {
	{ "v_mfma_f32_16x16x16f16",
	  { 0xf000, 0xb800, 0xb400, 0xb000 },
	  { 0x6400, 0x3c00, 0x3c00, 0x3c00 },
	  0.0f },
	{ "v_mfma_f32_16x16x16bf16_1k",
	  { 0xc600, 0xbf00, 0xbe80, 0xbe00 },
	  { 0x4480, 0x3f80, 0x3f80, 0x3f80 },
	  0.0f },
	{ "v_mfma_f32_16x16x8bf16",
	  { 0xc600, 0xbf00, 0xbe80, 0xbe00 },
	  { 0x4480, 0x3f80, 0x3f80, 0x3f80 },
	  -0.375f },
	{ "v_mfma_f32_16x16x16_f16",
	  { 0xf000, 0xb800, 0xb400, 0xb000 },
	  { 0x6400, 0x3c00, 0x3c00, 0x3c00 },
	  -0.5f },
	{ "v_mfma_f32_16x16x16_bf16",
	  { 0xc600, 0xbf00, 0xbe80, 0xbe00 },
	  { 0x4480, 0x3f80, 0x3f80, 0x3f80 },
	  -0.5f },
	{ "v_mfma_f32_16x16x32_bf8_bf8",
	  { 0xf4, 0xbc, 0xb8, 0xb4 },
	  { 0x68, 0x40, 0x40, 0x40 },
	  -1.0f },
};

static void put(uint32_t (*rows)[LANES], unsigned int bits, struct place p, uint32_t v)
{
	rows[p.element * bits / 32][p.lane] |= v << p.element * bits % 32;
}

static void test_known(void **state)
{
	struct world *t = *state;
	struct op ops[128];
	unsigned int n = all_ops(ops, 128), found = 0;

	for (unsigned int i = 0; i < n; i++) {
		for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
			struct form f = { .dst = SRC_D };

			if (strcmp(ops[i].name, known[k].name))
				continue;
			memset(t->v, 0, (VGPRS + AGPRS) * sizeof(*t->v));
			for (unsigned int e = 0; e < 4; e++) {
				struct place p = source_place(&ops[i], ops[i].k, 0, 0, e);

				put(bank(t, false, SRC_A), kinds[ops[i].a].bits, p, known[k].a[e]);
				put(bank(t, false, SRC_B), kinds[ops[i].b].bits, p, known[k].b[e]);
			}
			t->v[SRC_C][0] = float_bits(0x1p23f);
			check(t, &ops[i], &f);
			assert_int_equal(t->v[SRC_D][0], float_bits(known[k].want));
			found++;
		}
	}
	assert_int_equal(found, sizeof(known) / sizeof(known[0]));
}

/* 2^31 - 1 plus 127 * 127 goes on from the other end. */
static void test_integers_wrap(void **state)
{
	struct world *t = *state;
	struct op ops[128];
	unsigned int n = all_ops(ops, 128);

	for (unsigned int i = 0; i < n; i++) {
		unsigned int products = ops[i].sparse ? ops[i].k / 2 : ops[i].k;
		struct form f = { .dst = SRC_D };

		if (ops[i].a != I8)
			continue;
		for (unsigned int r = 0; r < VGPRS; r++)
			for (unsigned int lane = 0; lane < LANES; lane++)
				t->v[r][lane] = r < SRC_C ? 0x7f7f7f7f : 0x7fffffff;
		check(t, &ops[i], &f);
		assert_int_equal(t->v[SRC_D][0], 0x7fffffffu + products * 127 * 127);
	}
}

/* Registers that the wave does not have, and broadcasts of more blocks than there are. */
static void test_refused(void **state)
{
	struct world *t = *state;
	struct op ops[128];
	unsigned int n = all_ops(ops, 128);
	struct gfx9_inst in;

	for (unsigned int i = 0; i < n; i++) {
		struct form f = { .dst = SRC_D };
		uint32_t words[2];

		for (int k = 0; k < 4; k++) {
			encode(&ops[i], &f, words);
			assert_int_equal(gfx9_decode(ops[i].target, words, 2, &in), 2);
			if (k == 0)
				in.dst =
					GFX9_VGPR + VGPRS - 1u + (ops[i].m == 4 && ops[i].a != F64);
			else
				in.src[k - 1] = GFX9_AGPR + AGPRS;
			assert_int_equal(gfx9_mfma_ops[in.op](t->w, &in), GFX9_ILLEGAL);
		}
		encode(&ops[i], &f, words);
		gfx9_decode(ops[i].target, words, 2, &in);
		in.cbsz = 5;
		assert_int_equal(gfx9_mfma_ops[in.op](t->w, &in),
				 ops[i].sparse ? GFX9_GO : GFX9_ILLEGAL);
	}
}

/* All compilations of the sums give the same bits. */
static void test_variants(void **state)
{
	static const enum gfx9_mfma_type types[] = { GFX9_MFMA_F32,  GFX9_MFMA_F16, GFX9_MFMA_BF16,
						     GFX9_MFMA_XF32, GFX9_MFMA_FP8, GFX9_MFMA_I8,
						     GFX9_MFMA_F64 };
	static const enum gfx9_mfma_how hows[] = { GFX9_MFMA_CHAIN,  GFX9_MFMA_PAIRS,
						   GFX9_MFMA_FUSED,  GFX9_MFMA_FUSED,
						   GFX9_MFMA_HALVES, GFX9_MFMA_INTEGER,
						   GFX9_MFMA_DOUBLE };
	static const unsigned int columns[] = { 4, 16, 32 };
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();
	static struct gfx9_mfma_matrix a, b;

	(void)state;
	for (unsigned int n = 0; n < 20000; n++) {
		unsigned int t = n % 7;
		struct gfx9_mfma_row r = { &a, &b, t == 6 ? 4 : 16, columns[n % 3], 4, 0, { 0 } };
		uint64_t c[GFX9_MFMA_COLUMNS], first[GFX9_MFMA_COLUMNS], got[GFX9_MFMA_COLUMNS];

		if (t == 6 && r.columns == 32)
			r.columns = 16;
		for (unsigned int e = 0; e < r.terms; e++) {
			enum kind kind = t == 6		    ? F64
					 : t == 0 || t == 3 ? F32
					 : t == 4	    ? FP8
					 : t == 1	    ? F16
					 : t == 5	    ? I8
							    : BF16;

			gfx9_mfma_element(&a, e, types[t], value(kind, (enum mood)(n % MOODS)));
			r.b_at[e] = (uint16_t)(e * r.columns);
			for (unsigned int j = 0; j < r.columns; j++)
				gfx9_mfma_element(&b, e * r.columns + j, types[t],
						  value(kind, (enum mood)(n % MOODS)));
		}
		for (unsigned int j = 0; j < r.columns; j++)
			c[j] = value(t == 6 ? F64 : F32, (enum mood)(n % MOODS));
		memcpy(first, c, sizeof(c));
		v[0]->mfma_sum(hows[t], &r, first);
		for (unsigned int k = 1; v[k]; k++) {
			memcpy(got, c, sizeof(c));
			v[k]->mfma_sum(hows[t], &r, got);
			assert_memory_equal(got, first, r.columns * sizeof(*got));
		}
	}
}

/*
 * The fast path
 */

/* Around 2^@exp, often with a mantissa that is close to a rounding boundary. */
static uint64_t edge_value(enum kind kind, int exp)
{
	unsigned int mantissa = kinds[kind].mantissa, width = kinds[kind].bits;
	int exps = 1 << (width - 1 - mantissa), e = exp + kinds[kind].bias + (int)(rnd() % 9) - 4;
	uint64_t ones = ((uint64_t)1 << mantissa) - 1, any = rnd() << 32 ^ rnd();
	const uint64_t fractions[] = { 0, 1, ones, ones ^ 1, (ones + 1) / 2, any & ones };

	if (kind == I8)
		return any & 0xff;
	e = e < 0 ? 0 : e > exps - 2 ? exps - 2 : e;
	any = (any >> 63) << (width - 1) | (uint64_t)e << mantissa | fractions[rnd() % 6];
	if (rnd() % 64 == 0)
		any &= (uint64_t)1 << (width - 1);
	return width == 8 && any == 0x80 ? 0 : any; /* that is the NaN */
}

static void fill_edges(uint32_t (*rows)[LANES], unsigned int dwords, enum kind kind, int exp)
{
	unsigned int bits = kinds[kind].bits;

	for (unsigned int lane = 0; lane < LANES; lane++) {
		for (unsigned int r = 0; r < dwords; r += bits / 32 ? bits / 32 : 1) {
			uint64_t v = 0;

			for (unsigned int at = 0; at < (bits > 32 ? bits : 32); at += bits)
				v |= edge_value(kind, exp) << at;
			rows[r][lane] = (uint32_t)v;
			if (bits == 64)
				rows[r + 1][lane] = (uint32_t)(v >> 32);
		}
	}
}

static int any_exponent(enum kind kind)
{
	int exps = kind == I8 ? 1 : 1 << (kinds[kind].bits - 1 - kinds[kind].mantissa);

	return (int)(rnd() % (unsigned int)exps) - kinds[kind].bias;
}

/* Products and C over the whole range, C also at all distances from products. */
static void fill_ranges(struct world *t, const struct op *op)
{
	int a = any_exponent(op->a), b = any_exponent(op->b);
	enum kind kind = op->a == F64 ? F64 : F32;
	int c = rnd() % 4 ? a + b + (int)(rnd() % 80) - 35 : any_exponent(kind);

	if (op->a == I8)
		kind = I8;
	for (int acc = 0; acc < 2; acc++) {
		fill_edges(bank(t, acc, SRC_A), SRC_B - SRC_A, op->a, a);
		fill_edges(bank(t, acc, SRC_B), SRC_C - SRC_B, op->b, b);
		fill_edges(bank(t, acc, SRC_C), VGPRS - SRC_C, kind, c);
	}
}

/* Some infinities and NaNs among the elements or in C. */
static void add_specials(struct world *t, const struct op *op)
{
	bool in_c = rnd() & 1;
	unsigned int first = in_c ? SRC_C : SRC_A, end = in_c ? VGPRS : SRC_C;
	enum kind kind = in_c ? F32 : op->a;

	if (op->a == F64)
		kind = F64;
	for (unsigned int n = (unsigned int)rnd() % 20; n; n--) {
		uint32_t(*rows)[LANES] = bank(t, rnd() & 1, first + (rnd() % (end - first) & ~1u));
		uint64_t v = special_value(kind);
		unsigned int lane = (unsigned int)rnd() % LANES;

		rows[0][lane] = (uint32_t)v << (kinds[kind].bits == 16 && rnd() & 1 ? 16 : 0);
		if (kind == F64)
			rows[1][lane] = (uint32_t)(v >> 32);
	}
}

/* Any form, and a result that overlaps any source by any number of registers. */
static struct form any_form(const struct op *op)
{
	struct form f = random_form(op);

	if (rnd() & 1)
		f.dst = (unsigned int)rnd() % (VGPRS - 31);
	return f;
}

/*
 * True if all variants have executed it on the fast path; then the registers equal the reference's.
 */
static bool check_fast(struct world *t, const struct op *op, struct form f)
{
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();
	static uint32_t want[VGPRS + AGPRS][LANES];
	struct gfx9_inst in;
	uint32_t words[2];
	bool fast = true;

	encode(op, &f, words);
	assert_int_equal(gfx9_decode(op->target, words, 2, &in), 2);
	memcpy(before, t->v, sizeof(before));
	assert_int_equal(gfx9_mfma_reference(t->w, &in), GFX9_GO);
	memcpy(want, t->v, sizeof(want));
	for (unsigned int i = 0; v[i]; i++) {
		bool done;

		memcpy(t->v, before, sizeof(before));
		done = gfx9_mfma_fast(t->w, &in, v[i]);
		if (memcmp(t->v, done ? want : before, sizeof(want)))
			fail_msg("%s: %s differs from the reference", op->name, v[i]->name);
		/* The processor does not affect which instructions take the fast path. */
		assert_true(i == 0 || done == fast);
		fast = done;
	}
	return fast;
}

static bool has_fast_path(const struct op *op)
{
	return op->m > 4 && !op->sparse;
}

static void test_fast_path(void **state)
{
	struct world *t = *state;
	struct op ops[128];
	unsigned int n = all_ops(ops, 128);

	for (unsigned int i = 0; i < n; i++) {
		unsigned int fast = 0, rounds = has_fast_path(&ops[i]) ? 150 : 2;

		for (unsigned int k = 0; k < rounds; k++) {
			fill_ranges(t, &ops[i]);
			if (k % 3 == 2)
				add_specials(t, &ops[i]);
			fast += check_fast(t, &ops[i], any_form(&ops[i]));
		}
		for (int mood = 0; mood < MOODS; mood++) {
			fill_all(t, &ops[i], (enum mood)mood);
			fast += check_fast(t, &ops[i], any_form(&ops[i]));
		}
		assert_int_equal(fast > rounds / 4, has_fast_path(&ops[i]));
		/* Ordinary numbers always take the fast path. */
		fill_all(t, &ops[i], SMALL);
		assert_int_equal(check_fast(t, &ops[i], (struct form){ .dst = SRC_D }),
				 has_fast_path(&ops[i]));
	}
}

/*
 * 12 * 2.25 + 2 * 1.75 + 1.5 - 2^-24, a little less than 32, is a little less than half a unit in
 * the last place of C, which is odd. As f64 the sum with C is not exact.
 */
static void test_near_tie(void **state)
{
	static const uint32_t a[16] = { 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42,
					0x42, 0x42, 0x42, 0x42, 0x43, 0x43, 0x42, 0x90 };
	static const uint32_t b[16] = { 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42,
					0x42, 0x42, 0x42, 0x42, 0x40, 0x40, 0x40, 0x10 };
	const uint32_t c = 0x4e000001; /* 2^29 and the next bit */
	const struct form f = { .dst = SRC_D };
	struct world *t = *state;
	struct op ops[128];
	unsigned int n = all_ops(ops, 128), found = 0;

	for (unsigned int i = 0; i < n; i++) {
		if (ops[i].a != BF8 || ops[i].b != BF8 || ops[i].sparse)
			continue;
		memset(t->v, 0, (VGPRS + AGPRS) * sizeof(*t->v));
		for (unsigned int e = 0; e < 16; e++) {
			struct place p = source_place(&ops[i], ops[i].k, 0, 0, e);

			put(bank(t, false, SRC_A), 8, p, a[e]);
			put(bank(t, false, SRC_B), 8, p, b[e]);
		}
		t->v[SRC_C][0] = c;
		check(t, &ops[i], &f);
		assert_true(check_fast(t, &ops[i], f));
		assert_int_equal(t->v[SRC_D][0], c);
		found++;
	}
	assert_int_equal(found, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_every_op, setup, teardown),
		cmocka_unit_test_setup_teardown(test_overlap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_known, setup, teardown),
		cmocka_unit_test_setup_teardown(test_integers_wrap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test(test_variants),
		cmocka_unit_test_setup_teardown(test_fast_path, setup, teardown),
		cmocka_unit_test_setup_teardown(test_near_tie, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
