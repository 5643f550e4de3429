/* SPDX-License-Identifier: MIT */
/*
 * Address watches (struct emu_wave_debug): which of them an instruction hits.
 *
 * Only vector memory instructions of waves with a watch are checked, one by one, in
 * gfx9_wave_run(). Scalar loads are not watched: the hardware watches in the vector cache.
 */
#ifndef GP__EMU_GFX9_WATCH_H
#define GP__EMU_GFX9_WATCH_H

#include "emu/engine.h"

struct gfx9_inst;
struct gfx9_wave;

/* The watches that an instruction will hit, as bits of TRAPSTS. Called before it is executed. */
uint32_t gfx9_watch_hits(struct gfx9_wave *w, const struct gfx9_inst *in);

#endif
