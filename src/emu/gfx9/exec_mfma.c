// SPDX-License-Identifier: MIT
/*
 * Matrix instructions: D = A B + C on one to sixteen blocks of MxM results.
 *
 * How a matrix lies in the registers of 64 lanes follows from M, K and the number of blocks; lane %
 * M is the row of A, the column of B and of C and D. EXEC does not matter.
 *
 * Of the sparse ones A holds two of each four elements along k, and src2 says which: two bits each,
 * in the lane of the elements. C is the destination.
 */
#include "emu/gfx9/exec_mfma.h"

#include <string.h>

#include "emu/gfx9/encoding.h"

struct shape {
	uint8_t m, k, blocks;
	uint8_t a, b; /* enum gfx9_mfma_type */
	uint8_t how, step;
	bool sparse;
};

#define LANES GFX9_LANES
#define ELEMENTS_MAX 16 /* of A or B in one lane */
#define SPARSE_MAX 32 /* of a row of A that is sparse */

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

static bool is_f64(const struct shape *s)
{
	return s->a == GFX9_MFMA_F64;
}

/* How many elements a row of A has. */
static unsigned int length(const struct shape *s)
{
	return s->sparse ? s->k / 2u : s->k;
}

/* Of a row of @k; lanes that hold the same row share out the blocks first, then k. */
static unsigned int elements(const struct shape *s, unsigned int k)
{
	return k / ((unsigned int)LANES / s->m / s->blocks);
}

static unsigned int source_rows(const struct shape *s, unsigned int k, unsigned int type)
{
	unsigned int bits = elements(s, k) * element_bits(type);

	return bits < 32 ? 1 : bits / 32;
}

static unsigned int result_rows(const struct shape *s)
{
	return (unsigned int)s->m * s->m * s->blocks / LANES * (is_f64(s) ? 2 : 1);
}

/* Which lane's registers B is taken from where blgp broadcasts or rotates groups of lanes. */
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

/* Which block of A takes part in block @b: cbsz makes groups of 2^cbsz that all use their block
 * abid. */
static unsigned int a_block(unsigned int b, const struct shape *s, const struct gfx9_inst *in)
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

/* Block by block; A by rows, B by columns, so that what is multiplied lies side by side. */
struct matrix {
	double value[LANES * ELEMENTS_MAX];
	int16_t sig[LANES * ELEMENTS_MAX], exp[LANES * ELEMENTS_MAX];
};

static struct gfx9_mfma_vector line(const struct matrix *m, size_t at)
{
	return (struct gfx9_mfma_vector){ m->value + at, m->sig + at, m->exp + at };
}

static void negate(struct matrix *m)
{
	for (unsigned int i = 0; i < LANES * ELEMENTS_MAX; i++)
		m->value[i] = -m->value[i];
}

/* Rows of @k elements of @type from the registers at @code, in the lanes that @blgp chooses. */
static void read_matrix(struct gfx9_wave *w, const struct shape *s, unsigned int k,
			unsigned int type, unsigned int code, unsigned int blgp, struct matrix *m)
{
	unsigned int n = elements(s, k);

	memset(m, 0, sizeof(*m));
	for (unsigned int lane = 0; lane < LANES; lane++) {
		unsigned int group = lane / s->m, block = group % s->blocks;
		size_t at = ((size_t)block * s->m + lane % s->m) * k + group / s->blocks * n;

		for (unsigned int e = 0; e < n; e++)
			gfx9_mfma_element(type, element(w, type, code, b_lane(lane, blgp), e),
					  &m->value[at + e], &m->sig[at + e], &m->exp[at + e]);
	}
}

/* Where register @r of @lane lies in C and D. */
static void place(const struct shape *s, unsigned int lane, unsigned int r, unsigned int *block,
		  unsigned int *i)
{
	switch (s->m) {
	case 32:
		*block = r / 16;
		*i = r % 16 / 4 * 8 + lane / 32 * 4 + r % 4;
		return;
	case 16:
		*block = is_f64(s) ? 0 : r / 4;
		*i = is_f64(s) ? lane / 16 + 4 * r : lane / 16 * 4 + r % 4;
		return;
	default:
		*block = is_f64(s) ? lane / 4 % 4 : lane / 4;
		*i = is_f64(s) ? lane / 16 : r;
	}
}

/* gfx942 has signs in blgp of the f64 forms: bit @n for A, B or C. */
static bool is_negated(const struct gfx9_inst *in, unsigned int n)
{
	return gfx9_encodings[in->encoding].flags & ENC_NEG_LIST && in->blgp >> n & 1;
}

/* C of one result; a constant operand is the same everywhere. */
static uint64_t addend(struct gfx9_wave *w, const struct gfx9_inst *in, const struct shape *s,
		       unsigned int lane, unsigned int r)
{
	unsigned int code = s->sparse ? in->dst : in->src[2];
	uint64_t sign = is_negated(in, 2) ? (uint64_t)1 << 63 : 0;

	if (!is_f64(s))
		return code < GFX9_VGPR ? gfx9_scalar(w, in, code) : row(w, code, r)[lane];
	return sign ^ (code < GFX9_VGPR ? gfx9_scalar64(w, in, code) : pair(w, code, 2 * r, lane));
}

/* Everything one instruction works on. */
struct job {
	struct gfx9_wave *w;
	const struct gfx9_inst *in;
	const struct shape *s;
	struct matrix a, b;
	uint64_t d[32][LANES];
};

/* The elements of a column of B that stand opposite a sparse row of A. */
struct chosen {
	double value[SPARSE_MAX];
	int16_t sig[SPARSE_MAX], exp[SPARSE_MAX];
};

static struct gfx9_mfma_vector choose(const struct job *j, unsigned int i, size_t column,
				      struct chosen *out)
{
	const struct shape *s = j->s;
	unsigned int k = length(s), n = elements(s, k);
	/* A register has room for the indices of two or four instructions. */
	unsigned int set = j->in->cbsz ? 0 : j->in->abid % (16 / n);

	for (unsigned int e = 0; e < k; e++) {
		uint32_t index = row(j->w, j->in->src[2], 0)[i + s->m * (e / n)];
		size_t from = column + e / 2 * 4 + (index >> (2 * n * set + 2 * (e % n)) & 3);

		out->value[e] = j->b.value[from];
		out->sig[e] = j->b.sig[from];
		out->exp[e] = j->b.exp[from];
	}
	return (struct gfx9_mfma_vector){ out->value, out->sig, out->exp };
}

static uint64_t result(const struct job *j, unsigned int lane, unsigned int r)
{
	const struct shape *s = j->s;
	unsigned int block, i, k = length(s);
	struct gfx9_mfma_vector a, b;
	struct chosen chosen;
	size_t column;

	place(s, lane, r, &block, &i);
	column = ((size_t)block * s->m + lane % s->m) * s->k;
	a = line(&j->a, ((size_t)a_block(block, s, j->in) * s->m + i) * k);
	b = s->sparse ? choose(j, i, column, &chosen) : line(&j->b, column);
	return gfx9_mfma_sum(s->how, k, s->step, &a, &b, addend(j->w, j->in, s, lane, r));
}

static bool in_range(const struct gfx9_wave *w, unsigned int code, unsigned int rows)
{
	if (code >= GFX9_AGPR)
		return code - GFX9_AGPR + rows <= w->nr_agprs;
	return code >= GFX9_VGPR && code - GFX9_VGPR + rows <= w->nr_vgprs;
}

static bool registers_exist(const struct gfx9_wave *w, const struct gfx9_inst *in,
			    const struct shape *s)
{
	unsigned int rows = result_rows(s);

	if (!in_range(w, in->src[0], source_rows(s, length(s), s->a)) ||
	    !in_range(w, in->src[1], source_rows(s, s->k, s->b)) || !in_range(w, in->dst, rows))
		return false;
	if (s->sparse)
		return in_range(w, in->src[2], 1);
	return in->src[2] < GFX9_VGPR || in_range(w, in->src[2], rows);
}

static enum gfx9_stop run(struct gfx9_wave *w, const struct gfx9_inst *in, const struct shape *s)
{
	unsigned int rows = result_rows(s), width = is_f64(s) ? 2 : 1;
	struct job j = { .w = w, .in = in, .s = s };

	if (!registers_exist(w, in, s) || (!s->sparse && s->blocks >> in->cbsz == 0))
		return GFX9_ILLEGAL;
	read_matrix(w, s, length(s), s->a, in->src[0], 0, &j.a);
	read_matrix(w, s, s->k, s->b, in->src[1], is_f64(s) ? 0 : in->blgp, &j.b);
	if (is_negated(in, 0))
		negate(&j.a);
	if (is_negated(in, 1))
		negate(&j.b);
	for (unsigned int r = 0; r < rows / width; r++)
		for (unsigned int lane = 0; lane < LANES; lane++)
			j.d[r][lane] = result(&j, lane, r);
	/* The destination may overlap the sources: only now. */
	for (unsigned int r = 0; r < rows; r++)
		for (unsigned int lane = 0; lane < LANES; lane++)
			row(w, in->dst, r)[lane] =
				(uint32_t)(j.d[r / width][lane] >> 32 * (r % width));
	return GFX9_GO;
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

#define DEFINE(name, m, k, blocks, a, b, how, step, sparse)                                       \
	static enum gfx9_stop run_##name(struct gfx9_wave *w, const struct gfx9_inst *in)         \
	{                                                                                         \
		static const struct shape shape = {                                               \
			m, k, blocks, GFX9_MFMA_##a, GFX9_MFMA_##b, GFX9_MFMA_##how, step, sparse \
		};                                                                                \
                                                                                                  \
		return run(w, in, &shape);                                                        \
	}
SHAPES(DEFINE)

#define ENTRY(name, m, k, blocks, a, b, how, step, sparse) [GFX9_##name] = run_##name,

gfx9_run_fn *const gfx9_mfma_ops[GFX9_OPS] = { SHAPES(ENTRY) };
