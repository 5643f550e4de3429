/* SPDX-License-Identifier: MIT */
/*
 * A debugger's requests for the waves of a queue: how they start, and which addresses are watched.
 *
 * Vector memory instructions of watched waves are looked at one by one (gfx9_wave_run()); waves
 * that nobody watches run as ever. Scalar loads are not watched, as the hardware watches in the
 * vector cache.
 */
#ifndef GP__EMU_GFX9_WATCH_H
#define GP__EMU_GFX9_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define GFX9_WATCHES 4

struct gfx9_inst;
struct gfx9_wave;

/* As the hardware and amdkfd number them. */
enum gfx9_watch_mode {
	GFX9_WATCH_READ,
	GFX9_WATCH_NONREAD,
	GFX9_WATCH_ATOMIC,
	GFX9_WATCH_ALL,
};

enum gfx9_launch_mode {
	GFX9_LAUNCH_NORMAL = 0,
	GFX9_LAUNCH_HALT = 1,
	GFX9_LAUNCH_STEP = 3, /* traps after each instruction */
};

struct gfx9_watch {
	bool valid;
	uint8_t mode; /* enum gfx9_watch_mode */
	uint64_t address, mask; /* an address is watched that is the same in the bits of @mask */
};

struct gfx9_debug {
	struct gfx9_watch watch[GFX9_WATCHES];
	bool watches; /* one of them is valid */
	uint16_t exceptions; /* that new waves trap at: MODE.EXCP_EN */
	bool trap_on_start, trap_on_end;
	uint8_t launch_mode; /* enum gfx9_launch_mode */
};

/* The watches that an instruction hits, as bits of TRAPSTS. Before it is executed. */
uint32_t gfx9_watch_hits(struct gfx9_wave *w, const struct gfx9_inst *in);

#endif
