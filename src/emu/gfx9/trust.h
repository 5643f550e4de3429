/* SPDX-License-Identifier: MIT */
/*
 * How far the results of each instruction can be trusted.
 *
 * Exact: tests compare its results with the host's bit by bit. Approximate: hardware may give other
 * bits, and a note says how. Unsupported: a wave that meets it stops with its queue, as at an
 * illegal instruction, and a note says why it is left out.
 */
#ifndef GP__EMU_GFX9_TRUST_H
#define GP__EMU_GFX9_TRUST_H

#include "emu/gfx9/isa.h"

enum gfx9_trust { GFX9_EXACT, GFX9_APPROXIMATE, GFX9_UNSUPPORTED };

/* *@note is NULL for an exact one. */
enum gfx9_trust gfx9_trust(enum gfx9_op op, const char **note);
const char *gfx9_trust_name(enum gfx9_trust trust);

/* Opcodes that are left out, and why. */
struct gfx9_left_out {
	uint16_t op;
	const char *reason;
};
extern const struct gfx9_left_out gfx9_left_out[];
extern const unsigned int gfx9_nr_left_out;

#endif
