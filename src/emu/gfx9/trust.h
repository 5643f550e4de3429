/* SPDX-License-Identifier: MIT */
/*
 * How far the results of each instruction can be trusted.
 *
 * Exact: tests compare its results with the host's bit by bit. Approximate: hardware may give other
 * bits; the note says how they differ. Unsupported: the wave stops with its queue, as at an illegal
 * instruction; the note says why.
 */
#ifndef GP__EMU_GFX9_TRUST_H
#define GP__EMU_GFX9_TRUST_H

#include "emu/engine.h"
#include "emu/gfx9/isa.h"

/* *@note is NULL for an exact one. */
enum emu_trust gfx9_trust(enum gfx9_op op, const char **note);

/* Unsupported opcodes, and why. */
struct gfx9_left_out {
	uint16_t op;
	const char *reason;
};
extern const struct gfx9_left_out gfx9_left_out[];
extern const unsigned int gfx9_nr_left_out;

#endif
