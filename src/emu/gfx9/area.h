/* SPDX-License-Identifier: MIT */
/*
 * The context save area of a queue: its size, and the description of saved waves in it.
 *
 * Each XCC has a slice. It begins with a header; the control stack grows down from the end of its
 * room, the waves' records grow up from there. Read from its top, the lowest address, the control
 * stack names the records from the highest one down: a state entry, then the waves of a workgroup,
 * the first of which has LDS in its record. This is the format that the driver expects and
 * debuggers read. Behind the slices of all XCCs is memory that belongs to a debugger.
 */
#ifndef GP__EMU_GFX9_AREA_H
#define GP__EMU_GFX9_AREA_H

#include "emu/engine.h"

struct emu_save_sizes gfx9_area_sizes(const struct emu_gpu_shape *gpu);

/* A record: vector registers, then scalar ones, this block, LDS, and a gap. */
#define GFX9_AREA_BLOCK_BYTES 128
#define GFX9_AREA_GAP_BYTES 64

/* struct emu_save_header, and behind it words that belong to the program. */
#define GFX9_AREA_HEADER_BYTES 40

/* The control stack: words of the command processor at its top, then entries. */
#define GFX9_AREA_TOP_WORDS 2
#define GFX9_AREA_TOP_WORD 0x80000000 /* a packet that does nothing */

/* The state entry: sizes of the waves of the following entries. */
uint32_t gfx9_area_state(uint32_t nr_vgprs, uint32_t nr_agprs, uint32_t nr_sgprs,
			 uint32_t lds_bytes);
uint32_t gfx9_area_wave(uint32_t group, bool scratch, bool first, bool last);

/* Whether @n entries have room in @ctl_bytes. */
static inline bool gfx9_area_fits(uint32_t ctl_bytes, uint32_t n)
{
	return GFX9_AREA_HEADER_BYTES + 4 * (GFX9_AREA_TOP_WORDS + (uint64_t)n) <= ctl_bytes;
}

#endif
