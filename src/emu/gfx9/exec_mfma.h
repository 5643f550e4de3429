/* SPDX-License-Identifier: MIT */
/*
 * Matrix instructions. exec_mfma_fast.c executes most of them; exec_mfma.c and exec_mfma_sum.c are
 * the reference and execute the others, element by element: exec_mfma.c finds the elements of the
 * matrices in registers, exec_mfma_sum.c sums up one row of results.
 */
#ifndef GP__EMU_GFX9_EXEC_MFMA_H
#define GP__EMU_GFX9_EXEC_MFMA_H

#include "emu/gfx9/wave.h"

/* Matrix instructions, by opcode; NULL: not one of them. */
extern gfx9_run_fn *const gfx9_mfma_ops[GFX9_OPS];

enum gfx9_mfma_type {
	GFX9_MFMA_F64,
	GFX9_MFMA_F32,
	GFX9_MFMA_XF32, /* f32, of which the lowest 13 bits are ignored */
	GFX9_MFMA_F16,
	GFX9_MFMA_BF16,
	GFX9_MFMA_FP8,
	GFX9_MFMA_BF8,
	GFX9_MFMA_I8,
};

#define GFX9_MFMA_ELEMENTS (GFX9_LANES * 16) /* of A or B at most */
#define GFX9_MFMA_TERMS 32 /* products of one result */
#define GFX9_MFMA_COLUMNS 32

#define GFX9_MFMA_EXP_ZERO (-2000) /* of 0: below every sum of two others */
#define GFX9_MFMA_EXP_SPECIAL 8000 /* of infinities and NaNs */

/*
 * A or B, taken apart: f64 in wide, other floats in value. sig has 10 bits behind the point and exp
 * is its exponent, where numbers have 16 bits or fewer, and xf32; sig alone is an integer.
 */
struct gfx9_mfma_matrix {
	float value[GFX9_MFMA_ELEMENTS];
	double wide[GFX9_LANES];
	int16_t sig[GFX9_MFMA_ELEMENTS], exp[GFX9_MFMA_ELEMENTS];
};

enum gfx9_mfma_how {
	GFX9_MFMA_CHAIN, /* fused multiply-adds in the order of k */
	GFX9_MFMA_PAIRS, /* gfx90a with 16 bits: pairs of products, denormals are 0 */
	GFX9_MFMA_FUSED, /* gfx942: several products at once, in fixed point */
	GFX9_MFMA_HALVES, /* the same with 8 bits: even and odd products apart */
	GFX9_MFMA_INTEGER,
	GFX9_MFMA_DOUBLE,
};

/*
 * A row of results: each is the sum of @terms products. Those of A are adjacent from a_at on; b_at
 * is the start of the row of B that a term is multiplied with.
 */
struct gfx9_mfma_row {
	const struct gfx9_mfma_matrix *a, *b;
	unsigned int terms, columns; /* columns: 4, 16 or 32 */
	unsigned int step; /* products that are summed before they are added */
	uint16_t a_at, b_at[GFX9_MFMA_TERMS];
};

/* Adds the products to @c, a row as well. Compiled for several processors: see vector.h. */
typedef void gfx9_mfma_sum_fn(enum gfx9_mfma_how how, const struct gfx9_mfma_row *r, uint64_t *c);

/* The form of a matrix instruction: @blocks products of an @m x @k and a @k x @m matrix. */
struct gfx9_mfma_shape {
	uint8_t m, k, blocks;
	uint8_t a, b; /* enum gfx9_mfma_type */
	uint8_t how, step;
	bool sparse;
};

/* An instruction for the fast path: operands as rows of registers, which may overlap. */
struct gfx9_mfma_call {
	const struct gfx9_mfma_shape *shape;
	const uint32_t (*a)[GFX9_LANES], (*b)[GFX9_LANES];
	const uint32_t (*c)[GFX9_LANES]; /* NULL: every element is @constant */
	uint32_t (*d)[GFX9_LANES];
	uint64_t constant;
	uint8_t cbsz, abid, blgp;
	uint8_t negate; /* f64: a bit each for A, B and C */
};

/*
 * Executes the instruction with the same bits as the reference, or returns false and changes
 * nothing. Compiled for several processors as well.
 */
typedef bool gfx9_mfma_fast_fn(const struct gfx9_mfma_call *call);

struct gfx9_vector_variant;

/* For tests: the two ways to execute a matrix instruction, which have the same results. */
enum gfx9_stop gfx9_mfma_reference(struct gfx9_wave *w, const struct gfx9_inst *in);
bool gfx9_mfma_fast(struct gfx9_wave *w, const struct gfx9_inst *in,
		    const struct gfx9_vector_variant *v);

/* Decodes element @at from @bits, which have nothing above it. */
void gfx9_mfma_element(struct gfx9_mfma_matrix *m, size_t at, enum gfx9_mfma_type type,
		       uint64_t bits);

#endif
