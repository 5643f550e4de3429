/* SPDX-License-Identifier: MIT */
/* Buffer descriptors, for the plain buffer instructions and the typed ones. */
#ifndef GP__EMU_GFX9_BUFFER_H
#define GP__EMU_GFX9_BUFFER_H

#include "emu/gfx9/memory.h"

struct gfx9_buffer {
	uint64_t base; /* with soffset */
	uint32_t soffset, stride, records, index_stride;
	bool swizzled, add_tid;
	uint32_t index[GFX9_LANES];
	uint64_t offset[GFX9_LANES]; /* within the record: of the instruction and of vaddr */
};

/* Reads the descriptor and fills in find and priv of @s; the caller has filled in the rest. */
void GFX9_V(buffer_open)(struct gfx9_site *s, struct gfx9_buffer *b);
/* Whether the wave has the registers of the address. */
bool GFX9_V(buffer_address_exists)(const struct gfx9_wave *w, const struct gfx9_inst *in);

#endif
