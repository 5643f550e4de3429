/* SPDX-License-Identifier: MIT */
/*
 * Rows of 64 dwords, masks, and the registers of a wave, for both ways to a kernel of the vector
 * ALU. Every register number is checked against the registers of the wave.
 */
#ifndef GP__EMU_GFX9_VECTOR_ROWS_H
#define GP__EMU_GFX9_VECTOR_ROWS_H

#include "emu/gfx9/operand.h"
#include "emu/gfx9/vector.h"

#include <string.h>

#define ROWS (2 * GFX9_LANES) /* dwords of an operand of 64 bits */

/*
 * Rows
 */

ALWAYS_INLINE void blend(uint32_t *d, const uint32_t *r, const uint32_t *lanes)
{
	LANES
	{
		d[i] = (r[i] & lanes[i]) | (d[i] & ~lanes[i]);
	}
}

/* Copies active lanes of @r to @d. */
ALWAYS_INLINE void keep_lanes(struct gfx9_wave *w, uint32_t *d, const uint32_t *r)
{
#if defined(__AVX512F__)
	uint64_t exec = gfx9_exec(w);

	for (int i = 0; i < 4; i++)
		_mm512_mask_storeu_epi32(d + 16 * i, (__mmask16)(exec >> 16 * i),
					 _mm512_loadu_si512(r + 16 * i));
#else
	blend(d, r, gfx9_lanes(w));
#endif
}

static inline void broadcast(uint32_t *row, uint32_t value)
{
	LANES
	{
		row[i] = value;
	}
}

/*
 * Types
 */

/* Adds the prefix to or'ed flags. */
enum {
	MASK_OUT = GFX9_F_MASK_OUT,
	EXEC_OUT = GFX9_F_EXEC_OUT,
	HI0 = GFX9_F_HI0,
	HIGH = GFX9_F_HIGH,
	ACC = GFX9_F_ACC,
	MK = GFX9_F_MK,
	AK = GFX9_F_AK,
	NEAREST = GFX9_F_NEAREST,
	VCC_IN = GFX9_F_VCC_IN,
};

/* Of struct gfx9_vector_op. */
#define TYPES(s0, s1, s2, d, f) .src = { s0, s1, s2 }, .dst = (d), .flags = (f)

static inline bool is_wide(unsigned int type)
{
	switch (type) {
	case GFX9_T_B64:
	case GFX9_T_M64:
	case GFX9_T_F64:
	case GFX9_T_P32:
	case GFX9_T_PMOV:
		return true;
	default:
		return false;
	}
}

static inline bool is_half(unsigned int type)
{
	return type == GFX9_T_B16 || type == GFX9_T_M16 || type == GFX9_T_F16;
}

static inline bool is_float(unsigned int type)
{
	switch (type) {
	case GFX9_T_F32:
	case GFX9_T_F64:
	case GFX9_T_F16:
	case GFX9_T_PF16:
	case GFX9_T_P32:
	case GFX9_T_MIX:
		return true;
	default:
		return false;
	}
}

/* Whether neg and abs change the highest bit of the last row. */
static inline bool has_sign(unsigned int type)
{
	return type == GFX9_T_F32 || type == GFX9_T_M32 || type == GFX9_T_F64 || type == GFX9_T_M64;
}

/*
 * Registers
 */

/* The row of a vector register; NULL: the wave does not have it. */
ALWAYS_INLINE uint32_t *row_of(const struct gfx9_wave *w, unsigned int code, unsigned int n)
{
	unsigned int r = code - GFX9_VGPR;

	return r + n <= w->nr_vgprs && r < w->nr_vgprs ? w->v[r] : NULL;
}

static inline uint32_t *acc_row(const struct gfx9_wave *w, unsigned int n)
{
	return n < w->nr_agprs ? w->v[w->nr_vgprs + n] : NULL;
}

/* M0[15:12]: which of the three sources and the destination are relative to M0[7:0]. */
#define INDEX_DST 3

static inline unsigned int index_of(const struct gfx9_wave *w, unsigned int operand)
{
	uint32_t m0 = w->s[GFX9_M0];

	return w->mode & GFX9_MODE_GPR_IDX && m0 >> (12 + operand) & 1 ? m0 & 0xff : 0;
}

static inline unsigned int indexed(const struct gfx9_wave *w, unsigned int code,
				   unsigned int operand)
{
	return code < GFX9_VGPR ? code : code + index_of(w, operand);
}

static inline void set_mask(struct gfx9_wave *w, const struct gfx9_inst *in, unsigned int flags,
			    uint64_t mask)
{
	gfx9_sreg_set64(w, in->sdst, mask);
	if (flags & GFX9_F_EXEC_OUT)
		gfx9_set64(w, GFX9_EXEC, mask);
}

/* A literal is the upper half of a double. */
static inline uint64_t constant64(const struct gfx9_wave *w, const struct gfx9_inst *in,
				  unsigned int code, unsigned int type)
{
	if (code < GFX9_SREGS)
		return gfx9_sreg64(w, code);
	if (type == GFX9_T_P32 || type == GFX9_T_PMOV)
		return gfx9_operand(w, in, code);
	if (code == GFX9_LITERAL && (type == GFX9_T_F64 || type == GFX9_T_M64))
		return (uint64_t)in->literal << 32;
	return gfx9_scalar64(w, in, code);
}

#endif
