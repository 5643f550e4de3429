/* SPDX-License-Identifier: MIT */
/*
 * Instructions as text, in the syntax of LLVM's disassembler, for traces and for reports of
 * instructions that the engine does not execute. Branches show the distance in dwords that they
 * encode.
 */
#ifndef GP__EMU_GFX9_FORMAT_H
#define GP__EMU_GFX9_FORMAT_H

#include "emu/gfx9/isa.h"

/* Enough for every instruction. */
#define GFX9_TEXT_SIZE 256

/*
 * Writes at most @n bytes, the last of them 0; returns the length of the text, as snprintf() does.
 */
size_t gfx9_format_inst(enum gfx9_target target, const struct gfx9_inst *in, char *buf, size_t n);

#endif
