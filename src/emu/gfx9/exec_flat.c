// SPDX-License-Identifier: MIT
/*
 * FLAT, GLOBAL and SCRATCH.
 *
 * The upper half of a flat address selects LDS or scratch (w->shared_base and w->private_base); all
 * others are in the pages. Scratch is interleaved: dword d of lane l is dword 64 * d + l behind
 * FLAT_SCRATCH, so that lanes with the same offset use one row.
 */
#include "emu/gfx9/memory.h"

#define LANE(mask) gfx9_first_lane(mask)

static bool has_saddr(const struct gfx9_inst *in)
{
	return in->sdst != GFX9_OFF;
}

static bool wants_lds(const struct gfx9_inst *in, const struct gfx9_access *a)
{
	return in->lds || (a->flags & GFX9_TO_LDS);
}

/* Only loads of up to a dword that overwrite the whole register go to LDS. */
static bool lds_is_fine(const struct gfx9_inst *in, const struct gfx9_access *a)
{
	return !wants_lds(in, a) ||
	       (a->kind == GFX9_LOAD && a->bytes <= 4 && !(a->flags & GFX9_D16));
}

/*
 * GLOBAL
 */

static bool global_exists(const struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return gfx9_has_rows(w, in->src[0], has_saddr(in) ? 1 : 2);
}

/* The scalar part of the address. */
static inline uint64_t global_base(const struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return (uint64_t)(int64_t)in->offset + (has_saddr(in) ? gfx9_sreg64(w, in->sdst) : 0);
}

static void global_addresses(struct gfx9_wave *w, const struct gfx9_inst *in,
			     uint64_t *restrict addr)
{
	const uint32_t *restrict low = gfx9_row(w, in->src[0]);
	const uint32_t *restrict high = low + GFX9_LANES;
	uint64_t base = global_base(w, in);

	if (has_saddr(in))
		for (unsigned int i = 0; i < GFX9_LANES; i++)
			addr[i] = base + low[i];
	else
		for (unsigned int i = 0; i < GFX9_LANES; i++)
			addr[i] = base + (low[i] | (uint64_t)high[i] << 32);
}

static enum gfx9_stop global_apart(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	struct gfx9_site s = {
		.w = w, .in = in, .a = &GFX9_V(accesses)[in->op], .exec = gfx9_exec(w)
	};
	uint64_t addr[GFX9_LANES];

	if (!global_exists(w, in) || !GFX9_V(data_exists)(w, in, s.a) || !lds_is_fine(in, s.a))
		return GFX9_ILLEGAL;
	global_addresses(w, in, addr);
	return GFX9_V(access_pages)(&s, addr);
}

enum gfx9_stop GFX9_V(global)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return global_apart(w, in);
}

/*
 * The lanes' memory if all lanes are active and contiguous in one page; else NULL, and no fault is
 * raised.
 */
ALWAYS_INLINE uint8_t *global_together(struct gfx9_wave *w, const struct gfx9_inst *in,
				       unsigned int bytes, bool write)
{
	const uint32_t *low;
	uint64_t va;

	if (gfx9_exec(w) != GFX9_ALL_LANES || !global_exists(w, in) || in->lds)
		return NULL;
	low = gfx9_row(w, in->src[0]);
	if (!gfx9_in_sequence(low, bytes))
		return NULL;
	va = global_base(w, in) + low[0];
	if (!has_saddr(in)) {
		if (!gfx9_all_equal(low + GFX9_LANES))
			return NULL;
		va += (uint64_t)low[GFX9_LANES] << 32;
	}
	if ((va & (EMU_PAGE - 1)) > EMU_PAGE - GFX9_LANES * bytes)
		return NULL;
	return gfx9_tlb_at(w->tlb, va, write);
}

ALWAYS_INLINE enum gfx9_stop global_load(struct gfx9_wave *w, const struct gfx9_inst *in,
					 unsigned int n)
{
	const uint8_t *from;

	if (!gfx9_has_rows(w, in->dst, n))
		return global_apart(w, in);
	from = global_together(w, in, 4 * n, false);
	if (!from)
		return global_apart(w, in);
	gfx9_spread((uint32_t(*)[GFX9_LANES])gfx9_row(w, in->dst), from, n);
	return GFX9_GO;
}

ALWAYS_INLINE enum gfx9_stop global_store(struct gfx9_wave *w, const struct gfx9_inst *in,
					  unsigned int n)
{
	uint8_t *to;

	if (!gfx9_has_rows(w, in->src[1], n))
		return GFX9_ILLEGAL;
	to = global_together(w, in, 4 * n, true);
	if (!to)
		return global_apart(w, in);
	w->stored = true;
	gfx9_collect(to, (uint32_t(*)[GFX9_LANES])gfx9_row(w, in->src[1]), n);
	return GFX9_GO;
}

enum gfx9_stop GFX9_V(global_load1)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return global_load(w, in, 1);
}

enum gfx9_stop GFX9_V(global_load2)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return global_load(w, in, 2);
}

enum gfx9_stop GFX9_V(global_load3)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return global_load(w, in, 3);
}

enum gfx9_stop GFX9_V(global_load4)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return global_load(w, in, 4);
}

enum gfx9_stop GFX9_V(global_store1)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return global_store(w, in, 1);
}

enum gfx9_stop GFX9_V(global_store2)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return global_store(w, in, 2);
}

enum gfx9_stop GFX9_V(global_store3)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return global_store(w, in, 3);
}

enum gfx9_stop GFX9_V(global_store4)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return global_store(w, in, 4);
}

/*
 * SCRATCH
 */

/* Byte @offset of @lane's scratch; it is contiguous up to the next dword. */
static uint64_t scratch_address(const struct gfx9_wave *w, unsigned int lane, uint32_t offset)
{
	return gfx9_get64(w, GFX9_FLAT_SCRATCH) + (uint64_t)(offset / 4) * (4 * GFX9_LANES) +
	       4 * lane + offset % 4;
}

static enum gfx9_where find_scratch(const struct gfx9_site *s, unsigned int lane, unsigned int byte,
				    uint64_t *at, unsigned int *run)
{
	const uint32_t *offsets = s->priv;
	uint32_t offset = offsets[lane] + byte;

	*at = scratch_address(s->w, lane, offset);
	*run = 4 - offset % 4;
	return GFX9_IN_SCRATCH;
}

static bool scratch_exists(const struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return !in->sve || gfx9_has_rows(w, in->src[0], 1);
}

static void scratch_offsets(struct gfx9_wave *w, const struct gfx9_inst *in,
			    uint32_t *restrict offsets)
{
	uint32_t base = (uint32_t)in->offset + (has_saddr(in) ? gfx9_sreg(w, in->sdst) : 0);
	const uint32_t *restrict vaddr;

	if (!in->sve) {
		for (unsigned int i = 0; i < GFX9_LANES; i++)
			offsets[i] = base;
		return;
	}
	vaddr = gfx9_row(w, in->src[0]);
	for (unsigned int i = 0; i < GFX9_LANES; i++)
		offsets[i] = vaddr[i] + base;
}

/* Addresses in the pages, where each active lane stays within a dword. */
static bool scratch_addresses(const struct gfx9_site *s, const uint32_t *restrict offsets,
			      uint64_t *restrict addr)
{
	const uint32_t *restrict lanes = gfx9_lanes(s->w);
	uint64_t base = scratch_address(s->w, 0, 0);
	uint32_t beyond = 0;

	for (uint32_t i = 0; i < GFX9_LANES; i++) {
		addr[i] = base + (uint64_t)(offsets[i] / 4) * (4 * GFX9_LANES) + 4 * i +
			  offsets[i] % 4;
		beyond |= (offsets[i] % 4 + s->a->bytes > 4 ? ~0u : 0) & lanes[i];
	}
	return !beyond;
}

/* Whether all active lanes have the same offset. */
static bool scratch_in_rows(const struct gfx9_site *s, const uint32_t *restrict offsets)
{
	const uint32_t *restrict lanes = gfx9_lanes(s->w);
	uint32_t first = offsets[LANE(s->exec)], differ = 0;

	for (unsigned int i = 0; i < GFX9_LANES; i++)
		differ |= (offsets[i] ^ first) & lanes[i];
	return !differ && first % 4 == 0;
}

/* At @offsets of each lane's scratch. */
static enum gfx9_stop access_scratch(struct gfx9_site *s, const uint32_t offsets[GFX9_LANES])
{
	uint64_t addr[GFX9_LANES];

	if (scratch_in_rows(s, offsets) &&
	    GFX9_V(access_rows)(s, scratch_address(s->w, 0, offsets[LANE(s->exec)])))
		return GFX9_GO;
	if (scratch_addresses(s, offsets, addr))
		return GFX9_V(access_pages)(s, addr);
	s->find = find_scratch;
	s->priv = offsets;
	return GFX9_V(access_any)(s);
}

enum gfx9_stop GFX9_V(scratch)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	struct gfx9_site s = {
		.w = w, .in = in, .a = &GFX9_V(accesses)[in->op], .exec = gfx9_exec(w)
	};
	uint32_t offsets[GFX9_LANES];

	if (!scratch_exists(w, in) || !GFX9_V(data_exists)(w, in, s.a) || !lds_is_fine(in, s.a))
		return GFX9_ILLEGAL;
	if (!s.exec)
		return GFX9_GO;
	scratch_offsets(w, in, offsets);
	return access_scratch(&s, offsets);
}

/*
 * FLAT
 */

static enum gfx9_where find_lds(const struct gfx9_site *s, uint32_t offset, unsigned int byte,
				uint64_t *at, unsigned int *run)
{
	uint32_t unit = s->a->bytes < 4 ? s->a->bytes : 4, size = s->w->lds_bytes;

	*at = offset + byte;
	if (s->a->kind == GFX9_RMW)
		unit = s->a->bytes;
	*run = unit;
	return *at <= size && size - *at >= unit ? GFX9_IN_LDS : GFX9_NOWHERE;
}

static enum gfx9_where find_flat(const struct gfx9_site *s, unsigned int lane, unsigned int byte,
				 uint64_t *at, unsigned int *run)
{
	const uint64_t *addr = s->priv;
	uint32_t high = (uint32_t)(addr[lane] >> 32), low = (uint32_t)addr[lane];

	if (high == s->w->shared_base)
		return find_lds(s, low, byte, at, run);
	if (high == s->w->private_base) {
		*at = scratch_address(s->w, lane, low + byte);
		*run = 4 - (low + byte) % 4;
		return GFX9_IN_SCRATCH;
	}
	*at = addr[lane] + byte;
	*run = s->a->bytes - byte;
	return GFX9_IN_PAGES;
}

/* The aperture that all active lanes are in; GFX9_NOWHERE: they differ. */
static enum gfx9_where flat_where(struct gfx9_wave *w, const uint64_t *restrict addr)
{
	const uint32_t *restrict lanes = gfx9_lanes(w);
	uint32_t shared = w->shared_base, private = w->private_base;
	uint32_t in_lds = 0, in_scratch = 0, in_pages = 0;

	for (unsigned int i = 0; i < GFX9_LANES; i++) {
		uint32_t high = (uint32_t)(addr[i] >> 32);
		uint32_t lds = high == shared ? ~0u : 0, scratch = high == private ? ~0u : 0;

		in_lds |= lds & lanes[i];
		in_scratch |= scratch & lanes[i];
		in_pages |= ~(lds | scratch) & lanes[i];
	}
	if (!in_lds && !in_scratch)
		return GFX9_IN_PAGES;
	if (in_pages || (in_lds && in_scratch))
		return GFX9_NOWHERE;
	return in_lds ? GFX9_IN_LDS : GFX9_IN_SCRATCH;
}

/*
 * A variable on the stack: all active lanes have the same address, in scratch. False: nothing was
 * done.
 */
static bool flat_variable(struct gfx9_site *s)
{
	const uint32_t *low = gfx9_row(s->w, s->in->src[0]), *high = low + GFX9_LANES;
	unsigned int lane = LANE(s->exec);
	uint64_t at = (low[lane] | (uint64_t)high[lane] << 32) + global_base(s->w, s->in);

	if (at >> 32 != s->w->private_base || at % 4)
		return false;
	if (gfx9_lanes_unlike(low, low[lane], s->exec) ||
	    gfx9_lanes_unlike(high, high[lane], s->exec))
		return false;
	return GFX9_V(access_rows)(s, scratch_address(s->w, 0, (uint32_t)at));
}

enum gfx9_stop GFX9_V(flat)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	uint64_t addr[GFX9_LANES];
	uint32_t low[GFX9_LANES];
	struct gfx9_site s = {
		.w = w,
		.in = in,
		.a = &GFX9_V(accesses)[in->op],
		.exec = gfx9_exec(w),
		.find = find_flat,
		.priv = addr,
	};
	enum gfx9_where where;

	if (!gfx9_has_rows(w, in->src[0], 2) || !GFX9_V(data_exists)(w, in, s.a) || in->lds)
		return GFX9_ILLEGAL;
	if (!s.exec || flat_variable(&s))
		return GFX9_GO;
	global_addresses(w, in, addr);
	where = flat_where(w, addr);
	if (where == GFX9_IN_PAGES)
		return GFX9_V(access_pages)(&s, addr);
	for (unsigned int i = 0; i < GFX9_LANES; i++)
		low[i] = (uint32_t)addr[i];
	if (where == GFX9_IN_SCRATCH)
		return access_scratch(&s, low);
	if (where == GFX9_IN_LDS && GFX9_V(access_lds)(&s, low))
		return GFX9_GO;
	return GFX9_V(access_any)(&s);
}

/*
 * Without access
 */

static enum gfx9_where find_global(const struct gfx9_site *s, unsigned int lane, unsigned int byte,
				   uint64_t *at, unsigned int *run)
{
	const uint64_t *addr = s->priv;

	*at = addr[lane] + byte;
	*run = s->a->bytes - byte;
	return GFX9_IN_PAGES;
}

bool GFX9_V(flat_open)(struct gfx9_site *s, union gfx9_addresses *room)
{
	s->priv = room;
	switch (s->in->format) {
	case GFX9_FLAT:
		s->find = find_flat;
		break;
	case GFX9_GLOBAL:
		s->find = find_global;
		break;
	case GFX9_SCRATCH:
		if (!scratch_exists(s->w, s->in))
			return false;
		scratch_offsets(s->w, s->in, room->offset);
		s->find = find_scratch;
		return true;
	default:
		return false;
	}
	if (!gfx9_has_rows(s->w, s->in->src[0], has_saddr(s->in) ? 1 : 2))
		return false;
	global_addresses(s->w, s->in, room->address);
	return true;
}
