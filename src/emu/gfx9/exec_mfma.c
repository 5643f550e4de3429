// SPDX-License-Identifier: MIT
/*
 * Matrix instructions: D = A B + C on one to sixteen blocks of MxM results.
 *
 * How a matrix lies in the registers of 64 lanes follows from M, K and the number of blocks; lane %
 * M is the row of A, the column of B and of C and D. EXEC does not matter. Sums are fused
 * multiply-adds in the order of k, rounded to even; the hardware's own order of additions is not
 * documented, so sums of inexact products may differ from it in the last bits.
 *
 * Not executed: the sparse, 8-bit float and xf32 forms of gfx942.
 */
#include "emu/gfx9/exec_mfma.h"

#include <math.h>

enum type { F32, F16, BF16, I8, F64 };

struct shape {
	uint8_t m, k, blocks;
	uint8_t type;
};

#define LANES GFX9_LANES
#define ELEMENTS_MAX 8 /* of A or B in one lane */

static unsigned int element_bytes(enum type type)
{
	switch (type) {
	case F64:
		return 8;
	case F32:
		return 4;
	case I8:
		return 1;
	default:
		return 2;
	}
}

/* Lanes that hold the same row share out the blocks first, then k. */
static unsigned int groups_of_k(const struct shape *s)
{
	return LANES / s->m / s->blocks;
}

static unsigned int elements(const struct shape *s)
{
	return s->k / groups_of_k(s);
}

static unsigned int source_rows(const struct shape *s)
{
	unsigned int bytes = elements(s) * element_bytes(s->type);

	return bytes < 4 ? 1 : bytes / 4;
}

static unsigned int result_rows(const struct shape *s)
{
	return (unsigned int)s->m * s->m * s->blocks / LANES * (s->type == F64 ? 2 : 1);
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
static unsigned int a_block(unsigned int b, const struct gfx9_inst *in)
{
	unsigned int group = 1u << in->cbsz;

	return (b & ~(group - 1)) | (in->abid & (group - 1));
}

static float half_to_float(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, exp = h >> 10 & 31, frac = h & 0x3ff, bits;
	float f;

	if (exp == 31)
		bits = sign | 0x7f800000 | frac << 13;
	else if (exp)
		bits = sign | (exp + 112) << 23 | frac << 13;
	else
		return copysignf((float)frac * 0x1p-24f, sign ? -1.0f : 1.0f);
	memcpy(&f, &bits, 4);
	return f;
}

static float bfloat_to_float(uint16_t b)
{
	uint32_t bits = (uint32_t)b << 16;
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

static uint32_t *row(struct gfx9_wave *w, unsigned int code, unsigned int n)
{
	return gfx9_row(w, code + n);
}

/* Element @e of the registers from @code in @lane, as a double: exact for every type. */
static double source(struct gfx9_wave *w, enum type type, unsigned int code, unsigned int lane,
		     unsigned int e)
{
	uint32_t word;
	float f;

	if (type == F64) {
		uint64_t bits = row(w, code, 2 * e)[lane] | (uint64_t)row(w, code, 2 * e + 1)[lane]
								    << 32;
		double d;

		memcpy(&d, &bits, 8);
		return d;
	}
	word = row(w, code, e * element_bytes(type) / 4)[lane];
	switch (type) {
	case F16:
		return (double)half_to_float((uint16_t)(word >> 16 * (e % 2)));
	case BF16:
		return (double)bfloat_to_float((uint16_t)(word >> 16 * (e % 2)));
	case I8:
		return (double)(int8_t)(word >> 8 * (e % 4));
	default:
		memcpy(&f, &word, 4);
		return (double)f;
	}
}

/* Block by block; A by rows, B by columns, so that what is multiplied lies side by side. */
struct matrices {
	double a[LANES * ELEMENTS_MAX], b[LANES * ELEMENTS_MAX];
};

static size_t at(const struct shape *s, unsigned int block, unsigned int i, unsigned int k)
{
	return ((size_t)block * s->m + i) * s->k + k;
}

static void read_sources(struct gfx9_wave *w, const struct gfx9_inst *in, const struct shape *s,
			 struct matrices *m)
{
	unsigned int n = elements(s), blgp = s->type == F64 ? 0 : in->blgp;

	for (unsigned int lane = 0; lane < LANES; lane++) {
		unsigned int i = lane % s->m, group = lane / s->m;
		unsigned int block = group % s->blocks, k = group / s->blocks * n;

		for (unsigned int e = 0; e < n; e++) {
			m->a[at(s, block, i, k + e)] = source(w, s->type, in->src[0], lane, e);
			m->b[at(s, block, i, k + e)] =
				source(w, s->type, in->src[1], b_lane(lane, blgp), e);
		}
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
		*block = s->type == F64 ? 0 : r / 4;
		*i = s->type == F64 ? lane / 16 + 4 * r : lane / 16 * 4 + r % 4;
		return;
	default:
		*block = s->type == F64 ? lane / 4 % 4 : lane / 4;
		*i = s->type == F64 ? lane / 16 : r;
	}
}

/* C of one result; a constant operand is the same everywhere. */
static uint64_t addend(struct gfx9_wave *w, const struct gfx9_inst *in, unsigned int lane,
		       unsigned int r, bool f64)
{
	if (in->src[2] < GFX9_VGPR)
		return f64 ? gfx9_scalar64(w, in, in->src[2]) : gfx9_scalar(w, in, in->src[2]);
	if (!f64)
		return row(w, in->src[2], r)[lane];
	return row(w, in->src[2], 2 * r)[lane] | (uint64_t)row(w, in->src[2], 2 * r + 1)[lane]
							 << 32;
}

static uint32_t sum_f32(const struct shape *s, const double *a, const double *b, uint32_t c)
{
	float sum;
	uint32_t bits;

	memcpy(&sum, &c, 4);
	for (unsigned int k = 0; k < s->k; k++)
		sum = fmaf((float)a[k], (float)b[k], sum);
	memcpy(&bits, &sum, 4);
	return bits;
}

static uint32_t sum_i32(const struct shape *s, const double *a, const double *b, uint32_t c)
{
	for (unsigned int k = 0; k < s->k; k++)
		c += (uint32_t)((int32_t)a[k] * (int32_t)b[k]);
	return c;
}

/* blgp of the f64 forms negates A, B and C. */
static uint64_t sum_f64(const struct shape *s, const struct gfx9_inst *in, const double *a,
			const double *b, uint64_t c)
{
	double sum;

	memcpy(&sum, &c, 8);
	if (in->blgp & 4)
		sum = -sum;
	for (unsigned int k = 0; k < s->k; k++)
		sum = fma(in->blgp & 1 ? -a[k] : a[k], in->blgp & 2 ? -b[k] : b[k], sum);
	memcpy(&c, &sum, 8);
	return c;
}

static bool in_range(const struct gfx9_wave *w, unsigned int code, unsigned int rows)
{
	if (code < GFX9_VGPR)
		return true;
	if (code >= GFX9_AGPR)
		return code - GFX9_AGPR + rows <= w->nr_agprs;
	return code - GFX9_VGPR + rows <= w->nr_vgprs;
}

static void multiply(struct gfx9_wave *w, const struct gfx9_inst *in, const struct shape *s,
		     const struct matrices *m, uint64_t (*d)[LANES])
{
	bool f64 = s->type == F64;
	unsigned int n = result_rows(s) / (f64 ? 2 : 1);

	for (unsigned int r = 0; r < n; r++) {
		for (unsigned int lane = 0; lane < LANES; lane++) {
			unsigned int block, i, j = lane % s->m;
			uint64_t c = addend(w, in, lane, r, f64);
			const double *a, *b;

			place(s, lane, r, &block, &i);
			a = &m->a[at(s, f64 ? block : a_block(block, in), i, 0)];
			b = &m->b[at(s, block, j, 0)];
			if (f64)
				d[r][lane] = sum_f64(s, in, a, b, c);
			else if (s->type == I8)
				d[r][lane] = sum_i32(s, a, b, (uint32_t)c);
			else
				d[r][lane] = sum_f32(s, a, b, (uint32_t)c);
		}
	}
}

static enum gfx9_stop run(struct gfx9_wave *w, const struct gfx9_inst *in, const struct shape *s)
{
	bool f64 = s->type == F64;
	unsigned int rows = result_rows(s);
	struct matrices m;
	uint64_t d[32][LANES];

	if (!in_range(w, in->src[0], source_rows(s)) || !in_range(w, in->src[1], source_rows(s)) ||
	    !in_range(w, in->src[2], rows) || !in_range(w, in->dst, rows) ||
	    in->src[0] < GFX9_VGPR || in->src[1] < GFX9_VGPR || in->dst < GFX9_VGPR ||
	    (s->blocks >> in->cbsz) == 0)
		return GFX9_ILLEGAL;
	read_sources(w, in, s, &m);
	multiply(w, in, s, &m, d);
	/* The destination may overlap the sources: only now. */
	for (unsigned int r = 0; r < rows; r++) {
		for (unsigned int lane = 0; lane < LANES; lane++)
			row(w, in->dst, r)[lane] = f64 ? (uint32_t)(d[r / 2][lane] >> 32 * (r % 2))
						       : (uint32_t)d[r][lane];
	}
	return GFX9_GO;
}

/* Every shape under the names both targets have for it. */
#define SHAPES(X)                               \
	X(F32_32X32X1F32, 32, 1, 2, F32)        \
	X(F32_32X32X1_2B_F32, 32, 1, 2, F32)    \
	X(F32_16X16X1F32, 16, 1, 4, F32)        \
	X(F32_16X16X1_4B_F32, 16, 1, 4, F32)    \
	X(F32_4X4X1F32, 4, 1, 16, F32)          \
	X(F32_4X4X1_16B_F32, 4, 1, 16, F32)     \
	X(F32_32X32X2F32, 32, 2, 1, F32)        \
	X(F32_32X32X2_F32, 32, 2, 1, F32)       \
	X(F32_16X16X4F32, 16, 4, 1, F32)        \
	X(F32_16X16X4_F32, 16, 4, 1, F32)       \
	X(F32_32X32X4F16, 32, 4, 2, F16)        \
	X(F32_32X32X4_2B_F16, 32, 4, 2, F16)    \
	X(F32_16X16X4F16, 16, 4, 4, F16)        \
	X(F32_16X16X4_4B_F16, 16, 4, 4, F16)    \
	X(F32_4X4X4F16, 4, 4, 16, F16)          \
	X(F32_4X4X4_16B_F16, 4, 4, 16, F16)     \
	X(F32_32X32X8F16, 32, 8, 1, F16)        \
	X(F32_32X32X8_F16, 32, 8, 1, F16)       \
	X(F32_16X16X16F16, 16, 16, 1, F16)      \
	X(F32_16X16X16_F16, 16, 16, 1, F16)     \
	X(F32_32X32X2BF16, 32, 2, 2, BF16)      \
	X(F32_16X16X2BF16, 16, 2, 4, BF16)      \
	X(F32_4X4X2BF16, 4, 2, 16, BF16)        \
	X(F32_32X32X4BF16, 32, 4, 1, BF16)      \
	X(F32_16X16X8BF16, 16, 8, 1, BF16)      \
	X(F32_32X32X4BF16_1K, 32, 4, 2, BF16)   \
	X(F32_32X32X4_2B_BF16, 32, 4, 2, BF16)  \
	X(F32_16X16X4BF16_1K, 16, 4, 4, BF16)   \
	X(F32_16X16X4_4B_BF16, 16, 4, 4, BF16)  \
	X(F32_4X4X4BF16_1K, 4, 4, 16, BF16)     \
	X(F32_4X4X4_16B_BF16, 4, 4, 16, BF16)   \
	X(F32_32X32X8BF16_1K, 32, 8, 1, BF16)   \
	X(F32_32X32X8_BF16, 32, 8, 1, BF16)     \
	X(F32_16X16X16BF16_1K, 16, 16, 1, BF16) \
	X(F32_16X16X16_BF16, 16, 16, 1, BF16)   \
	X(I32_32X32X4I8, 32, 4, 2, I8)          \
	X(I32_32X32X4_2B_I8, 32, 4, 2, I8)      \
	X(I32_16X16X4I8, 16, 4, 4, I8)          \
	X(I32_16X16X4_4B_I8, 16, 4, 4, I8)      \
	X(I32_4X4X4I8, 4, 4, 16, I8)            \
	X(I32_4X4X4_16B_I8, 4, 4, 16, I8)       \
	X(I32_32X32X8I8, 32, 8, 1, I8)          \
	X(I32_16X16X16I8, 16, 16, 1, I8)        \
	X(I32_32X32X16_I8, 32, 16, 1, I8)       \
	X(I32_16X16X32_I8, 16, 32, 1, I8)       \
	X(F64_16X16X4F64, 16, 4, 1, F64)        \
	X(F64_16X16X4_F64, 16, 4, 1, F64)       \
	X(F64_4X4X4F64, 4, 4, 4, F64)           \
	X(F64_4X4X4_4B_F64, 4, 4, 4, F64)

#define DEFINE(name, m, k, blocks, type)                                                  \
	static enum gfx9_stop run_##name(struct gfx9_wave *w, const struct gfx9_inst *in) \
	{                                                                                 \
		static const struct shape shape = { m, k, blocks, type };                 \
                                                                                          \
		return run(w, in, &shape);                                                \
	}
SHAPES(DEFINE)

#define ENTRY(name, m, k, blocks, type) [GFX9_V_MFMA_##name] = run_##name,

gfx9_run_fn *const gfx9_mfma_ops[GFX9_OPS] = { SHAPES(ENTRY) };
