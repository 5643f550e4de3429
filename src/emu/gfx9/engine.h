/* SPDX-License-Identifier: MIT */
/* The GFX9 compute engine as the driver uses it. Targets are enum gfx9_target. */
#ifndef GP__EMU_GFX9_ENGINE_H
#define GP__EMU_GFX9_ENGINE_H

#include "emu/engine.h"
#include "emu/gfx9/isa.h"

extern const struct emu_engine gfx9_engine;

#endif
