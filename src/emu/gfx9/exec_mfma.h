/* SPDX-License-Identifier: MIT */
#ifndef GP__EMU_GFX9_EXEC_MFMA_H
#define GP__EMU_GFX9_EXEC_MFMA_H

#include "emu/gfx9/wave.h"

/* Matrix instructions, by opcode; NULL: not one of them. */
extern gfx9_run_fn *const gfx9_mfma_ops[GFX9_OPS];

#endif
