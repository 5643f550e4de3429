/* SPDX-License-Identifier: MIT */
/* An instruction of the vector ALU in progress, with any modifiers, for exec_vector.c. */
#ifndef GP__EMU_GFX9_VECTOR_JOB_H
#define GP__EMU_GFX9_VECTOR_JOB_H

#include "emu/gfx9/vector_rows.h"

struct gfx9_vector_job {
	struct gfx9_wave *w;
	const struct gfx9_inst *in;
	const struct gfx9_vector_op *op;
	uint64_t active; /* lanes that are written */
	const uint32_t *operand[3]; /* registers themselves, or rows of src */
	_Alignas(64) uint32_t src[3][ROWS];
	_Alignas(64) uint32_t out[ROWS];
	_Alignas(64) uint32_t m[GFX9_LANES];
};

/* Source @k as the kernel sees it; false: the wave does not have the registers. */
bool GFX9_V(fetch)(struct gfx9_vector_job *j, unsigned int k);
/* Applies MODE and the instruction's modifiers to the result, and writes it to row @d. */
void GFX9_V(finish_result)(struct gfx9_vector_job *j);
void GFX9_V(write_result)(struct gfx9_vector_job *j, uint32_t *d);

/* DPP: whether the control is valid, and the first source, of @n rows, from other lanes. */
bool GFX9_V(dpp_valid)(unsigned int ctrl);
void GFX9_V(dpp)(struct gfx9_vector_job *j, uint32_t *row, unsigned int n);
/* SDWA: selects a byte or a word of a source; and inserts the result into @old. */
void GFX9_V(sdwa_select)(uint32_t *row, unsigned int sel, bool sext);
void GFX9_V(sdwa_place)(struct gfx9_vector_job *j, const uint32_t *old);

#endif
