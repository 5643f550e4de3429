// SPDX-License-Identifier: MIT
/*
 * MUBUF: memory through a descriptor of four scalar registers. Loads beyond its range return 0 and
 * stores are dropped.
 *
 * A swizzled buffer interleaves its records: dword d of records that share a block of index_stride
 * is contiguous. Scratch was addressed so before there were SCRATCH instructions.
 */
#include "emu/gfx9/buffer.h"

#define LANE(mask) gfx9_first_lane(mask)

static uint32_t field(uint32_t word, unsigned int low, unsigned int width)
{
	return word >> low & ((1u << width) - 1);
}

static void buffer_descriptor(struct gfx9_buffer *b, const struct gfx9_wave *w,
			      const struct gfx9_inst *in)
{
	uint32_t word[4];

	for (unsigned int i = 0; i < 4; i++)
		word[i] = gfx9_sreg(w, in->sdst + i);
	b->soffset = gfx9_operand(w, in, in->src[2]);
	b->base = (word[0] | (uint64_t)(word[1] & 0xffff) << 32) + b->soffset;
	b->swizzled = word[1] >> 31;
	b->records = word[2];
	b->index_stride = 8u << field(word[3], 21, 2);
	b->add_tid = field(word[3], 23, 1);
	/* The field of the data format holds more bits of the stride. */
	b->stride = field(word[1], 16, 14) | (b->add_tid ? field(word[3], 15, 4) << 14 : 0);
}

static void buffer_lanes(struct gfx9_buffer *restrict b, struct gfx9_wave *w,
			 const struct gfx9_inst *in)
{
	const uint32_t *restrict vaddr = NULL;

	if (in->idxen || in->offen)
		vaddr = gfx9_row(w, in->src[0]);
	for (uint32_t i = 0; i < GFX9_LANES; i++)
		b->index[i] = (in->idxen ? vaddr[i] : 0) + (b->add_tid ? i : 0);
	if (in->offen && in->idxen)
		vaddr += GFX9_LANES;
	for (unsigned int i = 0; i < GFX9_LANES; i++)
		b->offset[i] = (uint32_t)in->offset + (in->offen ? (uint64_t)vaddr[i] : 0);
}

static uint64_t swizzled_offset(const struct gfx9_buffer *b, unsigned int lane, uint64_t offset)
{
	uint64_t block = b->index[lane] / b->index_stride,
		 within = b->index[lane] % b->index_stride;

	return (block * b->stride + offset / 4 * 4) * b->index_stride + within * 4 + offset % 4;
}

static enum gfx9_where find_swizzled(const struct gfx9_site *s, unsigned int lane,
				     unsigned int byte, uint64_t *at, unsigned int *run)
{
	const struct gfx9_buffer *b = s->priv;
	uint64_t offset = b->offset[lane] + byte;
	bool halves = s->a->kind == GFX9_RMW && s->a->bytes > 4;

	*run = 4 - (unsigned int)(offset % 4);
	*at = b->base + swizzled_offset(b, lane, offset);
	/* With a stride, the range counts records; without, bytes. */
	if (b->stride ? b->index[lane] >= b->records : offset + *run + b->soffset > b->records)
		return GFX9_NOWHERE;
	return halves ? GFX9_IN_SCRATCH : GFX9_IN_PAGES;
}

static enum gfx9_where find_linear(const struct gfx9_site *s, unsigned int lane, unsigned int byte,
				   uint64_t *at, unsigned int *run)
{
	const struct gfx9_buffer *b = s->priv;
	uint64_t offset = b->offset[lane] + (uint64_t)b->index[lane] * b->stride + byte;

	*at = b->base + offset;
	*run = s->a->bytes - byte;
	if (offset + *run + b->soffset <= b->records)
		return GFX9_IN_PAGES;
	/* Each dword is checked by itself, except in atomics. */
	if (*run > 4 && s->a->kind != GFX9_RMW)
		*run = 4;
	return offset + *run + b->soffset > b->records ? GFX9_NOWHERE : GFX9_IN_PAGES;
}

/* Computes the addresses; false: not all active lanes are in range. */
static bool linear_addresses(const struct gfx9_site *s, const struct gfx9_buffer *restrict b,
			     uint64_t *restrict addr)
{
	const uint32_t *restrict lanes = gfx9_lanes(s->w);
	uint64_t beyond = 0, room = (uint64_t)b->soffset + s->a->bytes;

	for (unsigned int i = 0; i < GFX9_LANES; i++) {
		uint64_t offset = b->offset[i] + (uint64_t)b->index[i] * b->stride;
		uint64_t mask = (uint64_t)(int64_t)(int32_t)lanes[i];

		addr[i] = b->base + offset;
		/* No sum comes near 2^63: the difference is negative if it is out of range. */
		beyond |= ((uint64_t)b->records - offset - room) & mask;
	}
	return !(beyond >> 63);
}

/* Scratch as compilers use it: each lane has its record, and all use one offset. */
static bool buffer_rows(const struct gfx9_site *s, const struct gfx9_buffer *b)
{
	uint64_t offset = (uint32_t)s->in->offset;
	const uint32_t *vaddr;

	if (!b->add_tid || s->in->idxen || b->index_stride != GFX9_LANES)
		return false;
	if (s->in->offen) {
		vaddr = gfx9_row(s->w, s->in->src[0]);
		for (uint64_t m = s->exec; m; m &= m - 1)
			if (vaddr[LANE(m)] != vaddr[LANE(s->exec)])
				return false;
		offset += vaddr[LANE(s->exec)];
	}
	if (offset % 4 ||
	    (b->stride ? b->records < GFX9_LANES : offset + s->a->bytes + b->soffset > b->records))
		return false;
	return GFX9_V(access_rows)(s, b->base + offset * GFX9_LANES);
}

/* A dword for each lane, contiguous: trap handlers save registers so. */
static bool buffer_row(const struct gfx9_site *s, const struct gfx9_buffer *b)
{
	uint64_t offset = (uint32_t)s->in->offset;

	if (!b->add_tid || b->stride != 4 || s->in->idxen || s->in->offen || s->a->bytes != 4 ||
	    offset + b->soffset + 4 * GFX9_LANES > b->records)
		return false;
	return GFX9_V(access_rows)(s, b->base + offset);
}

bool GFX9_V(buffer_address_exists)(const struct gfx9_wave *w, const struct gfx9_inst *in)
{
	unsigned int n = (unsigned int)in->idxen + in->offen;

	return !n || gfx9_has_rows(w, in->src[0], n);
}

void GFX9_V(buffer_open)(struct gfx9_site *s, struct gfx9_buffer *b)
{
	buffer_descriptor(b, s->w, s->in);
	buffer_lanes(b, s->w, s->in);
	s->find = b->swizzled ? find_swizzled : find_linear;
	s->priv = b;
}

static bool buffer_exists(const struct gfx9_wave *w, const struct gfx9_inst *in,
			  const struct gfx9_access *a)
{
	if (!GFX9_V(buffer_address_exists)(w, in))
		return false;
	if (in->lds && (a->kind != GFX9_LOAD || a->bytes > 4 || (a->flags & GFX9_D16)))
		return false;
	return GFX9_V(data_exists)(w, in, a);
}

enum gfx9_stop GFX9_V(buffer)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	uint64_t addr[GFX9_LANES];
	struct gfx9_buffer b;
	struct gfx9_site s = {
		.w = w,
		.in = in,
		.a = &GFX9_V(accesses)[in->op],
		.exec = gfx9_exec(w),
		.priv = &b,
	};

	if (!buffer_exists(w, in, s.a))
		return GFX9_ILLEGAL;
	if (!s.exec)
		return GFX9_GO;
	buffer_descriptor(&b, w, in);
	if (b.swizzled ? buffer_rows(&s, &b) : buffer_row(&s, &b))
		return GFX9_GO;
	buffer_lanes(&b, w, in);
	if (b.swizzled) {
		s.find = find_swizzled;
		return GFX9_V(access_any)(&s);
	}
	s.find = find_linear;
	return linear_addresses(&s, &b, addr) ? GFX9_V(access_pages)(&s, addr)
					      : GFX9_V(access_any)(&s);
}

/* A dword of LDS for each lane, from M0 and the instruction's offset on: the reverse of lds. */
enum gfx9_stop GFX9_V(buffer_store_lds)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	static const struct gfx9_access dword = { GFX9_STORE, 4, 0, 0 };
	uint32_t base = (w->s[GFX9_M0] & 0xffff) + (uint32_t)in->offset;
	struct gfx9_site s = { .w = w, .in = in, .a = &dword, .exec = gfx9_exec(w) };
	struct gfx9_buffer b;
	unsigned int run;
	uint64_t at, bad;

	if (!GFX9_V(buffer_address_exists)(w, in))
		return GFX9_ILLEGAL;
	GFX9_V(buffer_open)(&s, &b);
	w->stored = true;
	for (uint64_t m = s.exec; m; m &= m - 1) {
		uint32_t from = base + 4 * LANE(m), value = 0;

		if (from < w->lds_bytes && w->lds_bytes - from >= sizeof(value))
			memcpy(&value, w->lds + from, sizeof(value));
		if (s.find(&s, LANE(m), 0, &at, &run) != GFX9_NOWHERE &&
		    !gfx9_tlb_write(w->tlb, at, &value, sizeof(value), &bad))
			return gfx9_fail(w, bad, true, LANE(m));
	}
	return GFX9_GO;
}

/* Caches are not modelled; other threads must see earlier writes. */
enum gfx9_stop GFX9_V(buffer_cache)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	(void)w;
	(void)in;
	__atomic_thread_fence(__ATOMIC_ACQ_REL);
	return GFX9_GO;
}
