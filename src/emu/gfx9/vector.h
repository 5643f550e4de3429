/* SPDX-License-Identifier: MIT */
/*
 * The inside of the vector ALU. A kernel computes one instruction for all 64 lanes, from rows of 64
 * dwords to a row; the common parts (operands, modifiers, EXEC, MODE) are in exec_vector.c. A
 * 64-bit value is two rows, the low dwords and then the high ones, as in the registers.
 *
 * Kernels and exec_vector.c are compiled once for each kind of processor (GFX9_VARIANT); all give
 * the same bits. Therefore the result of an operation on NaNs is defined here: it is the first
 * source that is a NaN, made quiet; if none is, an invalid operation gives the negative quiet NaN
 * without payload.
 */
#ifndef GP__EMU_GFX9_VECTOR_H
#define GP__EMU_GFX9_VECTOR_H

#include "emu/gfx9/exec_mfma.h"
#include "emu/gfx9/variant.h"
#include "emu/gfx9/vector_ops.h"
#include "emu/gfx9/wave.h"

enum gfx9_vector_type {
	GFX9_T_NONE,
	GFX9_T_B32,
	GFX9_T_M32, /* bits, to which neg and abs apply */
	GFX9_T_F32,
	GFX9_T_B64,
	GFX9_T_M64,
	GFX9_T_F64,
	GFX9_T_B16, /* in the low half of a dword */
	GFX9_T_M16,
	GFX9_T_F16,
	GFX9_T_B8, /* a result that goes to the byte op_sel chooses */
	GFX9_T_P16, /* two 16-bit integers */
	GFX9_T_PF16,
	GFX9_T_P32, /* two f32 */
	GFX9_T_PMOV, /* the sources of v_pk_mov_b32 */
	GFX9_T_MIX, /* f32 or f16, by op_sel_hi; the kernel gets f32 */
	GFX9_T_MASK, /* a bit of a scalar register pair; the kernel gets 0 or ~0 */
};

enum {
	GFX9_F_MASK_OUT = 1, /* the kernel fills m, which goes to sdst */
	GFX9_F_EXEC_OUT = 2, /* and to EXEC */
	GFX9_F_HI0 = 4, /* a 16-bit result: the other half becomes 0 */
	GFX9_F_HIGH = 8, /* a 16-bit result: goes to the high half */
	GFX9_F_ACC = 16, /* the third source is the destination */
	GFX9_F_MK = 32, /* a * constant + b */
	GFX9_F_AK = 64, /* a * b + constant */
	GFX9_F_NEAREST = 128, /* rounds to nearest, whatever MODE says */
	GFX9_F_VCC_IN = 256, /* m holds VCC before */
};

/*
 * @m is the resulting mask, a dword of 0 or ~0 for each lane. Rows may be the same, but do not
 * overlap otherwise.
 */
typedef void gfx9_lanes_fn(uint32_t *d, uint32_t *m, const uint32_t *a, const uint32_t *b,
			   const uint32_t *c, uint32_t mode);

struct gfx9_vector_op {
	gfx9_lanes_fn *kernel, *saturate;
	gfx9_run_fn *plain[2]; /* the plain way; [1]: with neg and abs */
	gfx9_run_fn *special;
	uint8_t src[3], dst;
	uint16_t flags;
};

/* A compilation of the vector ALU and of vector memory. */
struct gfx9_vector_variant {
	const char *name;
	const struct gfx9_vector_op *ops; /* [GFX9_OPS] */
	gfx9_run_fn *run; /* any instruction */
	gfx9_run_fn *(*bind)(struct gfx9_inst *in);
	gfx9_run_fn *const *memory; /* [GFX9_OPS]: FLAT, GLOBAL, SCRATCH, MUBUF, DS; else NULL */
	gfx9_mfma_sum_fn *mfma_sum;
	gfx9_mfma_fast_fn *mfma_fast;
};

/* The variants this processor can execute, best first; ends with a NULL name. */
const struct gfx9_vector_variant *const *gfx9_vector_variants(void);

#ifdef GFX9_VARIANT
#define GFX9_DECLARE(op, k, sat, s0, s1, s2, d, flags) \
	gfx9_lanes_fn GFX9_V(k);                       \
	gfx9_lanes_fn GFX9_V(sat);                     \
	gfx9_run_fn GFX9_V(plain_##op);                \
	gfx9_run_fn GFX9_V(signed_##op);
GFX9_VECTOR_OPS(GFX9_DECLARE)
#undef GFX9_DECLARE

#define GFX9_DECLARE(op, f) gfx9_run_fn GFX9_V(f);
GFX9_VECTOR_SPECIAL(GFX9_DECLARE)
#undef GFX9_DECLARE

gfx9_run_fn GFX9_V(run_vector); /* any instruction */
extern gfx9_run_fn *const GFX9_V(memory_ops)[GFX9_OPS];
gfx9_mfma_sum_fn GFX9_V(mfma_sum);
gfx9_mfma_fast_fn GFX9_V(mfma_fast);

#define KERNEL(name)                                                                        \
	inline void GFX9_V(name)(                                                           \
		uint32_t * d __attribute__((unused)), uint32_t * m __attribute__((unused)), \
		const uint32_t *a __attribute__((unused)),                                  \
		const uint32_t *b __attribute__((unused)),                                  \
		const uint32_t *c __attribute__((unused)), uint32_t mode __attribute__((unused)))

/* Lanes do not depend on one another: see gfx9_lanes_fn. */
#ifdef __clang__
#define LANES _Pragma("clang loop vectorize(assume_safety)") for (int i = 0; i < GFX9_LANES; i++)
#else
#define LANES _Pragma("GCC ivdep") for (int i = 0; i < GFX9_LANES; i++)
#endif
#endif

#endif
