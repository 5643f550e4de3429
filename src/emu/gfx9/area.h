/* SPDX-License-Identifier: MIT */
/*
 * The context save area of a queue: how large it is, and how what is saved is described in it.
 *
 * Each XCC has a slice. It begins with a header; the control stack grows down from the end of its
 * room, the waves' records grow up from there. Read from its top, the lowest address, the control
 * stack names the records from the highest one down: a state entry, then the waves of a workgroup,
 * the first of which has LDS in its record. This is what the driver asks for and debuggers read.
 * Behind the slices of all XCCs is memory that belongs to a debugger.
 */
#ifndef GP__EMU_GFX9_AREA_H
#define GP__EMU_GFX9_AREA_H

#include "emu/gfx9/isa.h"

/* What the driver knows of a GPU; arrays are shader arrays, of an XCC all and of one engine. */
struct gfx9_area_gpu {
	enum gfx9_target target;
	uint32_t nr_xccs, xcc_cus;
	uint32_t nr_arrays, engine_arrays;
};

struct gfx9_area_sizes {
	uint32_t ctl_bytes; /* header and control stack of an XCC */
	uint64_t slice_bytes; /* the same and the records: what a program asks for, for each XCC */
	uint32_t debug_bytes; /* of an XCC, too */
	uint64_t total_bytes; /* all of it for all XCCs */
};

struct gfx9_area_sizes gfx9_area_sizes(const struct gfx9_area_gpu *gpu);

/* Of a record: vector registers, then these scalar ones, this block, LDS, and nothing. */
#define GFX9_AREA_BLOCK_BYTES 128
#define GFX9_AREA_GAP_BYTES 64

/* What a save writes at the start of a slice; more follows that belongs to the program. Offsets
 * count from there. */
struct gfx9_area_header {
	uint32_t ctl_offset, ctl_bytes; /* of the control stack in use */
	uint32_t records_end, records_bytes;
};
#define GFX9_AREA_HEADER_BYTES 40

/* The control stack: words of the command processor at its top, then entries. */
#define GFX9_AREA_TOP_WORDS 2
#define GFX9_AREA_TOP_WORD 0x80000000 /* a packet that does nothing */

/* What the waves of the following entries have. */
uint32_t gfx9_area_state(uint32_t nr_vgprs, uint32_t nr_agprs, uint32_t nr_sgprs,
			 uint32_t lds_bytes);
uint32_t gfx9_area_wave(uint32_t group, bool scratch, bool first, bool last);

/* Whether @n entries have room in @ctl_bytes. */
static inline bool gfx9_area_fits(uint32_t ctl_bytes, uint32_t n)
{
	return GFX9_AREA_HEADER_BYTES + 4 * (GFX9_AREA_TOP_WORDS + (uint64_t)n) <= ctl_bytes;
}

#endif
