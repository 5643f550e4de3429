/* SPDX-License-Identifier: MIT */
/* Instructions that read and write hardware registers, for the table in exec_scalar.c. */
#ifndef GP__EMU_GFX9_EXEC_HWREG_H
#define GP__EMU_GFX9_EXEC_HWREG_H

#include "emu/gfx9/wave.h"

gfx9_run_fn gfx9_s_getreg_b32, gfx9_s_setreg_b32, gfx9_s_setreg_imm32_b32;

#endif
