/* SPDX-License-Identifier: MIT */
/*
 * Matrix instructions: exec_mfma.c knows how matrices lie in registers, exec_mfma_sum.c how one
 * result is summed up.
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

/*
 * Elements of A or B, side by side: @value is exact for every type. @sig has 10 bits behind the
 * point and @exp is its exponent, for the types that are summed up by GFX9_MFMA_FUSED.
 */
struct gfx9_mfma_vector {
	const double *value;
	const int16_t *sig, *exp;
};

#define GFX9_MFMA_EXP_ZERO (-2000) /* of what is 0, and below every sum of two others */
#define GFX9_MFMA_EXP_SPECIAL 8000 /* of infinities and NaNs */

enum gfx9_mfma_how {
	GFX9_MFMA_CHAIN, /* fused multiply-adds in the order of k */
	GFX9_MFMA_PAIRS, /* gfx90a with 16 bits: pairs of products, denormals are 0 */
	GFX9_MFMA_FUSED, /* gfx942: several products at once, in fixed point */
	GFX9_MFMA_HALVES, /* the same with 8 bits: even and odd products apart */
	GFX9_MFMA_INTEGER,
	GFX9_MFMA_DOUBLE,
};

/* @c plus @k products, @step of which are summed up before they are added. */
uint64_t gfx9_mfma_sum(enum gfx9_mfma_how how, unsigned int k, unsigned int step,
		       const struct gfx9_mfma_vector *a, const struct gfx9_mfma_vector *b,
		       uint64_t c);

/* One element of a register; @bits has nothing above it. */
void gfx9_mfma_element(enum gfx9_mfma_type type, uint64_t bits, double *value, int16_t *sig,
		       int16_t *exp);

#endif
