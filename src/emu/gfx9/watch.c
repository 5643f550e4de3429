// SPDX-License-Identifier: MIT
#include "emu/gfx9/watch.h"

/* The addresses are the same in all variants. */
#ifndef GFX9_VARIANT
#define GFX9_VARIANT base
#endif
#include "emu/gfx9/buffer.h"

#define TRAPSTS_ADDR_WATCH0 (1u << 7)
#define TRAPSTS_ADDR_WATCH1 (1u << 12) /* and two more above it */

static bool is_watched_kind(const struct emu_address_watch *watch, uint8_t kind)
{
	switch (watch->mode) {
	case EMU_WATCH_READ:
		return kind == GFX9_LOAD;
	case EMU_WATCH_NONREAD:
		return kind != GFX9_LOAD;
	case EMU_WATCH_ATOMIC:
		return kind == GFX9_RMW;
	default:
		return true;
	}
}

/* @bytes are no more than the smallest watchable size, so it is enough to compare both ends. */
static uint32_t hits_at(const struct emu_wave_debug *d, uint8_t kind, uint64_t at,
			unsigned int bytes)
{
	uint32_t hits = 0;

	for (uint32_t i = 0; i < EMU_WATCHES; i++) {
		const struct emu_address_watch *watch = &d->watch[i];

		if (!watch->valid || !is_watched_kind(watch, kind))
			continue;
		if (!((at ^ watch->address) & watch->mask) ||
		    !(((at + bytes - 1) ^ watch->address) & watch->mask))
			hits |= i ? TRAPSTS_ADDR_WATCH1 << (i - 1) : TRAPSTS_ADDR_WATCH0;
	}
	return hits;
}

static uint32_t hits_of_lane(const struct gfx9_site *s, unsigned int lane)
{
	unsigned int run, bytes = s->a->bytes;
	uint32_t hits = 0;
	uint64_t at;

	for (unsigned int byte = 0; byte < bytes; byte += run) {
		enum gfx9_where where = s->find(s, lane, byte, &at, &run);

		if (run > bytes - byte)
			run = bytes - byte;
		if (where == GFX9_IN_PAGES || where == GFX9_IN_SCRATCH)
			hits |= hits_at(s->w->debug, s->a->kind, at, run);
	}
	return hits;
}

uint32_t gfx9_watch_hits(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	struct gfx9_site s = {
		.w = w, .in = in, .a = &GFX9_V(accesses)[in->op], .exec = gfx9_exec(w)
	};
	union gfx9_addresses room;
	struct gfx9_buffer buffer;
	uint32_t hits = 0;

	if (s.a->kind == GFX9_NO_ACCESS)
		return 0;
	if (in->format == GFX9_MUBUF) {
		if (!GFX9_V(buffer_address_exists)(w, in))
			return 0;
		GFX9_V(buffer_open)(&s, &buffer);
	} else if (!GFX9_V(flat_open)(&s, &room)) {
		return 0;
	}
	for (uint64_t m = s.exec; m; m &= m - 1)
		hits |= hits_of_lane(&s, gfx9_first_lane(m));
	return hits;
}
