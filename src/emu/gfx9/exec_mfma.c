// SPDX-License-Identifier: MIT
/*
 * Matrix instructions: D = A B + C on one to sixteen blocks of MxM results.
 *
 * The layout of a matrix in the registers of 64 lanes follows from M, K and the number of blocks;
 * lane % M is the row of A, the column of B and of C and D. EXEC is ignored.
 *
 * A of a sparse instruction holds two of each four elements along k, and src2 selects them with two
 * bits each, in the lane of the elements. C is the destination.
 */
#include <stdlib.h>
#include <string.h>

#include "emu/gfx9/encoding.h"
#include "emu/gfx9/vector.h"

#define LANES GFX9_LANES
#define ROWS_MAX 32 /* registers of the result */

static unsigned int element_bits(unsigned int type)
{
	switch (type) {
	case GFX9_MFMA_F64:
		return 64;
	case GFX9_MFMA_F32:
	case GFX9_MFMA_XF32:
		return 32;
	case GFX9_MFMA_F16:
	case GFX9_MFMA_BF16:
		return 16;
	default:
		return 8;
	}
}

static bool is_f64(const struct gfx9_mfma_shape *s)
{
	return s->a == GFX9_MFMA_F64;
}

/* The number of elements in a row of A. */
static unsigned int length(const struct gfx9_mfma_shape *s)
{
	return s->sparse ? s->k / 2u : s->k;
}

/* Of a row of @k; lanes that hold the same row share out the blocks first, then k. */
static unsigned int elements(const struct gfx9_mfma_shape *s, unsigned int k)
{
	return k / ((unsigned int)LANES / s->m / s->blocks);
}

static unsigned int source_rows(const struct gfx9_mfma_shape *s, unsigned int k, unsigned int type)
{
	unsigned int bits = elements(s, k) * element_bits(type);

	return bits < 32 ? 1 : bits / 32;
}

static unsigned int result_rows(const struct gfx9_mfma_shape *s)
{
	return (unsigned int)s->m * s->m * s->blocks / LANES * (is_f64(s) ? 2 : 1);
}

/* The lane whose registers provide B, where blgp broadcasts or rotates groups of lanes. */
static unsigned int b_lane(unsigned int lane, unsigned int blgp)
{
	switch (blgp) {
	case 0:
		return lane;
	case 1:
		return lane % 32;
	case 2:
		return lane % 32 + 32;
	case 3:
		return (lane + 16) % LANES;
	default:
		return lane % 16 + (blgp - 4) * 16;
	}
}

/*
 * The block of A that is used for block @b: cbsz makes groups of 2^cbsz that all use their block
 * abid.
 */
static unsigned int a_block(unsigned int b, const struct gfx9_mfma_shape *s,
			    const struct gfx9_inst *in)
{
	unsigned int group = 1u << in->cbsz;

	if (is_f64(s) || s->sparse)
		return b;
	return (b & ~(group - 1)) | (in->abid & (group - 1));
}

static uint32_t *row(struct gfx9_wave *w, unsigned int code, unsigned int n)
{
	return gfx9_row(w, code + n);
}

static uint64_t pair(struct gfx9_wave *w, unsigned int code, unsigned int n, unsigned int lane)
{
	return row(w, code, n)[lane] | (uint64_t)row(w, code, n + 1)[lane] << 32;
}

/* Element @e of the registers from @code in @lane. */
static uint64_t element(struct gfx9_wave *w, unsigned int type, unsigned int code,
			unsigned int lane, unsigned int e)
{
	unsigned int bits = element_bits(type), at = e * bits;
	uint64_t word;

	if (bits == 64)
		return pair(w, code, 2 * e, lane);
	word = row(w, code, at / 32)[lane] >> at % 32;
	return word & (((uint64_t)1 << bits) - 1);
}

/* The elements of a row or column of @k, and the block, that @lane has. */
struct part {
	unsigned int block, i, k, n;
};

static struct part part_of(const struct gfx9_mfma_shape *s, unsigned int k, unsigned int lane)
{
	unsigned int group = lane / s->m, n = elements(s, k);

	return (struct part){ group % s->blocks, lane % s->m, group / s->blocks * n, n };
}

/* Block by block. A by rows, so that the terms of a sum are adjacent. */
static void read_a(struct gfx9_wave *w, const struct gfx9_inst *in, const struct gfx9_mfma_shape *s,
		   struct gfx9_mfma_matrix *m)
{
	for (unsigned int lane = 0; lane < LANES; lane++) {
		struct part p = part_of(s, length(s), lane);
		size_t at = ((size_t)p.block * s->m + p.i) * length(s) + p.k;

		for (unsigned int e = 0; e < p.n; e++)
			gfx9_mfma_element(m, at + e, s->a, element(w, s->a, in->src[0], lane, e));
	}
}

/* B by rows as well, so that results are adjacent. */
static void read_b(struct gfx9_wave *w, const struct gfx9_inst *in, const struct gfx9_mfma_shape *s,
		   struct gfx9_mfma_matrix *m)
{
	for (unsigned int lane = 0; lane < LANES; lane++) {
		unsigned int from = b_lane(lane, is_f64(s) ? 0 : in->blgp);
		struct part p = part_of(s, s->k, lane);
		size_t at = ((size_t)p.block * s->k + p.k) * s->m + p.i;

		for (unsigned int e = 0; e < p.n; e++)
			gfx9_mfma_element(m, at + (size_t)e * s->m, s->b,
					  element(w, s->b, in->src[1], from, e));
	}
}

/* gfx90a takes 16-bit denormals for 0; those are the numbers whose first bit is not set. */
static void flush_denormals(struct gfx9_mfma_matrix *m)
{
	for (unsigned int i = 0; i < GFX9_MFMA_ELEMENTS; i++)
		if (m->exp[i] != GFX9_MFMA_EXP_SPECIAL && abs(m->sig[i]) < 1 << 10)
			m->value[i] = 0;
}

static void negate(struct gfx9_mfma_matrix *m)
{
	for (unsigned int i = 0; i < LANES; i++)
		m->wide[i] = -m->wide[i];
}

/* The register and lanes that hold row @i of a block of C and D: those of column 0. */
static void place(const struct gfx9_mfma_shape *s, unsigned int block, unsigned int i,
		  unsigned int *r, unsigned int *lane)
{
	switch (s->m) {
	case 32:
		*r = block * 16 + i / 8 * 4 + i % 4;
		*lane = i / 4 % 2 * 32;
		return;
	case 16:
		*r = is_f64(s) ? i / 4 : block * 4 + i % 4;
		*lane = is_f64(s) ? i % 4 * 16 : i / 4 * 16;
		return;
	default:
		*r = is_f64(s) ? 0 : i;
		*lane = is_f64(s) ? block * 4 + i * 16 : block * 4;
	}
}

/* gfx942 has signs in blgp of the f64 forms: bit @n for A, B or C. */
static bool is_negated(const struct gfx9_inst *in, unsigned int n)
{
	return gfx9_encodings[in->encoding].flags & ENC_NEG_LIST && in->blgp >> n & 1;
}

/* A row of C, from register @r and @lane on; a constant operand is the same everywhere. */
static void addends(struct gfx9_wave *w, const struct gfx9_inst *in,
		    const struct gfx9_mfma_shape *s, unsigned int r, unsigned int lane, uint64_t *c)
{
	unsigned int code = s->sparse ? in->dst : in->src[2];
	uint64_t sign = is_negated(in, 2) ? (uint64_t)1 << 63 : 0, constant = 0;

	if (code < GFX9_VGPR)
		constant = is_f64(s) ? gfx9_scalar64(w, in, code) : gfx9_scalar(w, in, code);
	for (unsigned int i = 0; i < s->m; i++) {
		c[i] = constant;
		if (code >= GFX9_VGPR && is_f64(s))
			c[i] = pair(w, code, 2 * r, lane + i);
		else if (code >= GFX9_VGPR)
			c[i] = row(w, code, r)[lane + i];
		c[i] ^= sign;
	}
}

/* The operands of one instruction. */
struct job {
	struct gfx9_wave *w;
	const struct gfx9_inst *in;
	const struct gfx9_mfma_shape *s;
	struct gfx9_mfma_matrix a, b;
	uint64_t d[ROWS_MAX][LANES];
};

/* The position, among four elements along k, of term @e of row @i of a sparse A. */
static unsigned int index_of(const struct job *j, unsigned int i, unsigned int e)
{
	unsigned int n = elements(j->s, length(j->s)), lane = i + j->s->m * (e / n);
	/* A register holds the indices of two or four instructions. */
	unsigned int set = j->in->cbsz ? 0 : j->in->abid % (16 / n);

	return row(j->w, j->in->src[2], 0)[lane] >> (2 * n * set + 2 * (e % n)) & 3;
}

static void sum_row(struct job *j, gfx9_mfma_sum_fn *sum, unsigned int block, unsigned int i)
{
	const struct gfx9_mfma_shape *s = j->s;
	struct gfx9_mfma_row out = {
		.a = &j->a, .b = &j->b, .terms = length(s), .columns = s->m, .step = s->step
	};
	unsigned int r, lane;

	out.a_at = (uint16_t)((a_block(block, s, j->in) * s->m + i) * length(s));
	for (unsigned int e = 0; e < length(s); e++) {
		unsigned int k = s->sparse ? e / 2 * 4 + index_of(j, i, e) : e;

		out.b_at[e] = (uint16_t)((block * s->k + k) * s->m);
	}
	place(s, block, i, &r, &lane);
	addends(j->w, j->in, s, r, lane, &j->d[r][lane]);
	sum(s->how, &out, &j->d[r][lane]);
}

static bool in_range(const struct gfx9_wave *w, unsigned int code, unsigned int rows)
{
	if (code >= GFX9_AGPR)
		return code - GFX9_AGPR + rows <= w->nr_agprs;
	return code >= GFX9_VGPR && code - GFX9_VGPR + rows <= w->nr_vgprs;
}

static bool registers_exist(const struct gfx9_wave *w, const struct gfx9_inst *in,
			    const struct gfx9_mfma_shape *s)
{
	unsigned int rows = result_rows(s);

	if (!in_range(w, in->src[0], source_rows(s, length(s), s->a)) ||
	    !in_range(w, in->src[1], source_rows(s, s->k, s->b)) || !in_range(w, in->dst, rows))
		return false;
	if (s->sparse)
		return in_range(w, in->src[2], 1);
	return in->src[2] < GFX9_VGPR || in_range(w, in->src[2], rows);
}

static void read_sources(struct job *j)
{
	memset(&j->a, 0, sizeof(j->a));
	memset(&j->b, 0, sizeof(j->b));
	read_a(j->w, j->in, j->s, &j->a);
	read_b(j->w, j->in, j->s, &j->b);
	if (j->s->how == GFX9_MFMA_PAIRS) {
		flush_denormals(&j->a);
		flush_denormals(&j->b);
	}
	if (is_negated(j->in, 0))
		negate(&j->a);
	if (is_negated(j->in, 1))
		negate(&j->b);
}

/* X(name, m, k, blocks, type of A, type of B, how it is summed up, products at once, sparse) */
#define SHAPES(X)                                                               \
	X(V_MFMA_F32_32X32X1F32, 32, 1, 2, F32, F32, CHAIN, 1, false)           \
	X(V_MFMA_F32_32X32X1_2B_F32, 32, 1, 2, F32, F32, CHAIN, 1, false)       \
	X(V_MFMA_F32_16X16X1F32, 16, 1, 4, F32, F32, CHAIN, 1, false)           \
	X(V_MFMA_F32_16X16X1_4B_F32, 16, 1, 4, F32, F32, CHAIN, 1, false)       \
	X(V_MFMA_F32_4X4X1F32, 4, 1, 16, F32, F32, CHAIN, 1, false)             \
	X(V_MFMA_F32_4X4X1_16B_F32, 4, 1, 16, F32, F32, CHAIN, 1, false)        \
	X(V_MFMA_F32_32X32X2F32, 32, 2, 1, F32, F32, CHAIN, 1, false)           \
	X(V_MFMA_F32_32X32X2_F32, 32, 2, 1, F32, F32, CHAIN, 1, false)          \
	X(V_MFMA_F32_16X16X4F32, 16, 4, 1, F32, F32, CHAIN, 1, false)           \
	X(V_MFMA_F32_16X16X4_F32, 16, 4, 1, F32, F32, CHAIN, 1, false)          \
	X(V_MFMA_F32_32X32X4F16, 32, 4, 2, F16, F16, PAIRS, 4, false)           \
	X(V_MFMA_F32_32X32X4_2B_F16, 32, 4, 2, F16, F16, FUSED, 8, false)       \
	X(V_MFMA_F32_16X16X4F16, 16, 4, 4, F16, F16, PAIRS, 4, false)           \
	X(V_MFMA_F32_16X16X4_4B_F16, 16, 4, 4, F16, F16, FUSED, 8, false)       \
	X(V_MFMA_F32_4X4X4F16, 4, 4, 16, F16, F16, PAIRS, 4, false)             \
	X(V_MFMA_F32_4X4X4_16B_F16, 4, 4, 16, F16, F16, FUSED, 8, false)        \
	X(V_MFMA_F32_32X32X8F16, 32, 8, 1, F16, F16, PAIRS, 4, false)           \
	X(V_MFMA_F32_32X32X8_F16, 32, 8, 1, F16, F16, FUSED, 8, false)          \
	X(V_MFMA_F32_16X16X16F16, 16, 16, 1, F16, F16, PAIRS, 4, false)         \
	X(V_MFMA_F32_16X16X16_F16, 16, 16, 1, F16, F16, FUSED, 8, false)        \
	X(V_MFMA_F32_32X32X2BF16, 32, 2, 2, BF16, BF16, PAIRS, 2, false)        \
	X(V_MFMA_F32_16X16X2BF16, 16, 2, 4, BF16, BF16, PAIRS, 2, false)        \
	X(V_MFMA_F32_4X4X2BF16, 4, 2, 16, BF16, BF16, PAIRS, 2, false)          \
	X(V_MFMA_F32_32X32X4BF16, 32, 4, 1, BF16, BF16, PAIRS, 2, false)        \
	X(V_MFMA_F32_16X16X8BF16, 16, 8, 1, BF16, BF16, PAIRS, 2, false)        \
	X(V_MFMA_F32_32X32X4BF16_1K, 32, 4, 2, BF16, BF16, PAIRS, 4, false)     \
	X(V_MFMA_F32_32X32X4_2B_BF16, 32, 4, 2, BF16, BF16, FUSED, 8, false)    \
	X(V_MFMA_F32_16X16X4BF16_1K, 16, 4, 4, BF16, BF16, PAIRS, 4, false)     \
	X(V_MFMA_F32_16X16X4_4B_BF16, 16, 4, 4, BF16, BF16, FUSED, 8, false)    \
	X(V_MFMA_F32_4X4X4BF16_1K, 4, 4, 16, BF16, BF16, PAIRS, 4, false)       \
	X(V_MFMA_F32_4X4X4_16B_BF16, 4, 4, 16, BF16, BF16, FUSED, 8, false)     \
	X(V_MFMA_F32_32X32X8BF16_1K, 32, 8, 1, BF16, BF16, PAIRS, 4, false)     \
	X(V_MFMA_F32_32X32X8_BF16, 32, 8, 1, BF16, BF16, FUSED, 8, false)       \
	X(V_MFMA_F32_16X16X16BF16_1K, 16, 16, 1, BF16, BF16, PAIRS, 4, false)   \
	X(V_MFMA_F32_16X16X16_BF16, 16, 16, 1, BF16, BF16, FUSED, 8, false)     \
	X(V_MFMA_I32_32X32X4I8, 32, 4, 2, I8, I8, INTEGER, 1, false)            \
	X(V_MFMA_I32_32X32X4_2B_I8, 32, 4, 2, I8, I8, INTEGER, 1, false)        \
	X(V_MFMA_I32_16X16X4I8, 16, 4, 4, I8, I8, INTEGER, 1, false)            \
	X(V_MFMA_I32_16X16X4_4B_I8, 16, 4, 4, I8, I8, INTEGER, 1, false)        \
	X(V_MFMA_I32_4X4X4I8, 4, 4, 16, I8, I8, INTEGER, 1, false)              \
	X(V_MFMA_I32_4X4X4_16B_I8, 4, 4, 16, I8, I8, INTEGER, 1, false)         \
	X(V_MFMA_I32_32X32X8I8, 32, 8, 1, I8, I8, INTEGER, 1, false)            \
	X(V_MFMA_I32_16X16X16I8, 16, 16, 1, I8, I8, INTEGER, 1, false)          \
	X(V_MFMA_I32_32X32X16_I8, 32, 16, 1, I8, I8, INTEGER, 1, false)         \
	X(V_MFMA_I32_16X16X32_I8, 16, 32, 1, I8, I8, INTEGER, 1, false)         \
	X(V_MFMA_F64_16X16X4F64, 16, 4, 1, F64, F64, DOUBLE, 1, false)          \
	X(V_MFMA_F64_16X16X4_F64, 16, 4, 1, F64, F64, DOUBLE, 1, false)         \
	X(V_MFMA_F64_4X4X4F64, 4, 4, 4, F64, F64, DOUBLE, 1, false)             \
	X(V_MFMA_F64_4X4X4_4B_F64, 4, 4, 4, F64, F64, DOUBLE, 1, false)         \
	X(V_MFMA_F32_32X32X4_XF32, 32, 4, 1, XF32, XF32, FUSED, 4, false)       \
	X(V_MFMA_F32_16X16X8_XF32, 16, 8, 1, XF32, XF32, FUSED, 4, false)       \
	X(V_MFMA_F32_32X32X16_FP8_FP8, 32, 16, 1, FP8, FP8, HALVES, 16, false)  \
	X(V_MFMA_F32_16X16X32_FP8_FP8, 16, 32, 1, FP8, FP8, HALVES, 16, false)  \
	X(V_MFMA_F32_32X32X16_FP8_BF8, 32, 16, 1, FP8, BF8, HALVES, 16, false)  \
	X(V_MFMA_F32_16X16X32_FP8_BF8, 16, 32, 1, FP8, BF8, HALVES, 16, false)  \
	X(V_MFMA_F32_32X32X16_BF8_FP8, 32, 16, 1, BF8, FP8, HALVES, 16, false)  \
	X(V_MFMA_F32_16X16X32_BF8_FP8, 16, 32, 1, BF8, FP8, HALVES, 16, false)  \
	X(V_MFMA_F32_32X32X16_BF8_BF8, 32, 16, 1, BF8, BF8, HALVES, 16, false)  \
	X(V_MFMA_F32_16X16X32_BF8_BF8, 16, 32, 1, BF8, BF8, HALVES, 16, false)  \
	X(V_SMFMAC_F32_32X32X16_F16, 32, 16, 1, F16, F16, FUSED, 8, true)       \
	X(V_SMFMAC_F32_16X16X32_F16, 16, 32, 1, F16, F16, FUSED, 8, true)       \
	X(V_SMFMAC_F32_32X32X16_BF16, 32, 16, 1, BF16, BF16, FUSED, 8, true)    \
	X(V_SMFMAC_F32_16X16X32_BF16, 16, 32, 1, BF16, BF16, FUSED, 8, true)    \
	X(V_SMFMAC_I32_32X32X32_I8, 32, 32, 1, I8, I8, INTEGER, 1, true)        \
	X(V_SMFMAC_I32_16X16X64_I8, 16, 64, 1, I8, I8, INTEGER, 1, true)        \
	X(V_SMFMAC_F32_32X32X32_FP8_FP8, 32, 32, 1, FP8, FP8, HALVES, 16, true) \
	X(V_SMFMAC_F32_16X16X64_FP8_FP8, 16, 64, 1, FP8, FP8, HALVES, 16, true) \
	X(V_SMFMAC_F32_32X32X32_FP8_BF8, 32, 32, 1, FP8, BF8, HALVES, 16, true) \
	X(V_SMFMAC_F32_16X16X64_FP8_BF8, 16, 64, 1, FP8, BF8, HALVES, 16, true) \
	X(V_SMFMAC_F32_32X32X32_BF8_FP8, 32, 32, 1, BF8, FP8, HALVES, 16, true) \
	X(V_SMFMAC_F32_16X16X64_BF8_FP8, 16, 64, 1, BF8, FP8, HALVES, 16, true) \
	X(V_SMFMAC_F32_32X32X32_BF8_BF8, 32, 32, 1, BF8, BF8, HALVES, 16, true) \
	X(V_SMFMAC_F32_16X16X64_BF8_BF8, 16, 64, 1, BF8, BF8, HALVES, 16, true)

#define SHAPE(name, m, k, blocks, a, b, how, step, sparse)                                \
	[GFX9_##name] = {                                                                 \
		m, k, blocks, GFX9_MFMA_##a, GFX9_MFMA_##b, GFX9_MFMA_##how, step, sparse \
	},

static const struct gfx9_mfma_shape shapes[GFX9_OPS] = { SHAPES(SHAPE) };

static bool is_legal(const struct gfx9_wave *w, const struct gfx9_inst *in,
		     const struct gfx9_mfma_shape *s)
{
	return registers_exist(w, in, s) && (s->sparse || s->blocks >> in->cbsz);
}

static void execute(struct gfx9_wave *w, const struct gfx9_inst *in,
		    const struct gfx9_mfma_shape *s)
{
	gfx9_mfma_sum_fn *sum = gfx9_vector_variants()[0]->mfma_sum;
	unsigned int rows = result_rows(s), width = is_f64(s) ? 2 : 1;
	struct job j;

	j.w = w;
	j.in = in;
	j.s = s;
	read_sources(&j);
	for (unsigned int block = 0; block < s->blocks; block++)
		for (unsigned int i = 0; i < s->m; i++)
			sum_row(&j, sum, block, i);
	/* The destination may overlap the sources, so it is written last. */
	for (unsigned int r = 0; r < rows; r++) {
		uint32_t *to = row(w, in->dst, r);

		for (unsigned int lane = 0; lane < LANES; lane++)
			to[lane] = (uint32_t)(j.d[r / width][lane] >> 32 * (r % width));
	}
}

static const uint32_t (*rows_of(struct gfx9_wave *w, unsigned int code))[LANES]
{
	return (const uint32_t(*)[LANES])row(w, code, 0);
}

static bool execute_fast(struct gfx9_wave *w, const struct gfx9_inst *in,
			 const struct gfx9_mfma_shape *s, gfx9_mfma_fast_fn *fast)
{
	struct gfx9_mfma_call call = {
		.shape = s,
		.a = rows_of(w, in->src[0]),
		.b = rows_of(w, in->src[1]),
		.d = (uint32_t(*)[LANES])row(w, in->dst, 0),
		.cbsz = in->cbsz,
		.abid = in->abid,
		.blgp = is_f64(s) ? 0 : in->blgp,
	};

	if (in->src[2] >= GFX9_VGPR)
		call.c = rows_of(w, in->src[2]);
	else
		call.constant = is_f64(s) ? gfx9_scalar64(w, in, in->src[2])
					  : gfx9_scalar(w, in, in->src[2]);
	for (unsigned int n = 0; n < 3; n++)
		call.negate |= (uint8_t)(is_negated(in, n) << n);
	return fast(&call);
}

static enum gfx9_stop run(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	const struct gfx9_mfma_shape *s = &shapes[in->op];

	if (!is_legal(w, in, s))
		return GFX9_ILLEGAL;
	if (!execute_fast(w, in, s, gfx9_vector_variants()[0]->mfma_fast))
		execute(w, in, s);
	return GFX9_GO;
}

enum gfx9_stop gfx9_mfma_reference(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	if (!is_legal(w, in, &shapes[in->op]))
		return GFX9_ILLEGAL;
	execute(w, in, &shapes[in->op]);
	return GFX9_GO;
}

bool gfx9_mfma_fast(struct gfx9_wave *w, const struct gfx9_inst *in,
		    const struct gfx9_vector_variant *v)
{
	const struct gfx9_mfma_shape *s = &shapes[in->op];

	return is_legal(w, in, s) && execute_fast(w, in, s, v->mfma_fast);
}

#define ENTRY(name, m, k, blocks, a, b, how, step, sparse) [GFX9_##name] = run,

gfx9_run_fn *const gfx9_mfma_ops[GFX9_OPS] = { SHAPES(ENTRY) };
