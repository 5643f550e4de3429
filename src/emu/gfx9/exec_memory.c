// SPDX-License-Identifier: MIT
/*
 * Vector memory: which function runs which opcode, and the loads and stores of lanes whose
 * addresses are known, which all formats share. exec_atomic.c has the atomics.
 */
#include "emu/gfx9/memory.h"

#define LANE(mask) gfx9_first_lane(mask)

bool GFX9_V(data_exists)(const struct gfx9_wave *w, const struct gfx9_inst *in,
			 const struct gfx9_access *a)
{
	unsigned int n = gfx9_registers(a);

	switch (a->kind) {
	case GFX9_LOAD:
		return (a->flags & GFX9_TO_LDS) || in->lds || gfx9_has_rows(w, in->dst, n);
	case GFX9_STORE:
		return gfx9_has_rows(w, in->src[1], n);
	default:
		return gfx9_has_rows(w, in->src[1], a->rmw == GFX9_RMW_CMPSWAP ? 2 * n : n) &&
		       (!in->glc || gfx9_has_rows(w, in->dst, n));
	}
}

/*
 * Loads: into temporary rows, then into the registers or into LDS
 */

static bool wants_lds(const struct gfx9_site *s)
{
	return s->in->lds || (s->a->flags & GFX9_TO_LDS);
}

static uint32_t (*registers_of(const struct gfx9_site *s))[GFX9_LANES]
{
	return (uint32_t(*)[GFX9_LANES])gfx9_row(s->w, s->in->dst);
}

static void put_lane(const struct gfx9_access *a, uint32_t (*rows)[GFX9_LANES], unsigned int lane,
		     const uint8_t *bytes)
{
	if (a->bytes < 4) {
		rows[0][lane] = a->bytes == 1 ? bytes[0] : bytes[0] | (uint32_t)bytes[1] << 8;
		return;
	}
	for (unsigned int k = 0; k < a->bytes / 4; k++)
		memcpy(&rows[k][lane], bytes + 4 * k, sizeof(uint32_t));
}

/* Each lane has a dword of LDS, from M0 and the instruction's offset on. */
static void loaded_to_lds(const struct gfx9_site *s, uint32_t (*rows)[GFX9_LANES])
{
	uint32_t base = (s->w->s[GFX9_M0] & 0xffff) + (uint32_t)s->in->offset;

	for (uint64_t m = s->exec; m; m &= m - 1) {
		uint32_t value = rows[0][LANE(m)], at = base + 4 * LANE(m);

		if (s->a->bytes < 4)
			value = gfx9_widen(value, s->a->bytes, s->a->flags);
		if (at < s->w->lds_bytes && s->w->lds_bytes - at >= sizeof(value))
			memcpy(s->w->lds + at, &value, sizeof(value));
	}
}

/* Loads of less than a dword: gfx9_widen() for all lanes. */
static void loaded_part(const struct gfx9_site *s, const uint32_t *restrict raw)
{
	unsigned int flags = s->a->flags, unused = 32 - 8 * s->a->bytes;
	unsigned int extend = flags & GFX9_SIGNED ? unused : 0;
	unsigned int up = flags & GFX9_D16 && flags & GFX9_HI ? 16 : 0;
	uint32_t part = flags & GFX9_D16 ? 0xffff : ~0u;
	const uint32_t *restrict lanes = gfx9_lanes(s->w);
	uint32_t *restrict row = gfx9_row(s->w, s->in->dst);

	for (unsigned int i = 0; i < GFX9_LANES; i++) {
		uint32_t v = ((uint32_t)((int32_t)(raw[i] << extend) >> extend) & part) << up;

		row[i] = (row[i] & ~lanes[i]) | (v & lanes[i]);
	}
}

static enum gfx9_stop loaded(const struct gfx9_site *s, uint32_t (*rows)[GFX9_LANES])
{
	unsigned int n = gfx9_registers(s->a);
	const uint32_t *restrict lanes;

	if (wants_lds(s)) {
		loaded_to_lds(s, rows);
		return GFX9_GO;
	}
	if (s->a->bytes < 4) {
		loaded_part(s, rows[0]);
		return GFX9_GO;
	}
	lanes = gfx9_lanes(s->w);
	for (unsigned int k = 0; k < n; k++) {
		uint32_t *restrict row = gfx9_row(s->w, s->in->dst + k);

		for (unsigned int i = 0; i < GFX9_LANES; i++)
			row[i] = (rows[k][i] & lanes[i]) | (row[i] & ~lanes[i]);
	}
	return GFX9_GO;
}

static bool load_pieces(const struct gfx9_site *s, unsigned int lane, uint8_t *bytes)
{
	unsigned int run;
	uint64_t at, bad;

	for (unsigned int i = 0; i < s->a->bytes; i += run) {
		enum gfx9_where where = s->find(s, lane, i, &at, &run);

		if (run > s->a->bytes - i)
			run = s->a->bytes - i;
		if (where == GFX9_NOWHERE) {
			memset(bytes + i, 0, run);
		} else if (where == GFX9_IN_LDS) {
			memcpy(bytes + i, s->w->lds + at, run);
		} else if (!gfx9_tlb_read(s->w->tlb, at, bytes + i, run, &bad)) {
			gfx9_fail(s->w, bad, false, lane);
			return false;
		}
	}
	return true;
}

static enum gfx9_stop load_any(const struct gfx9_site *s)
{
	uint32_t rows[4][GFX9_LANES];
	uint8_t bytes[16];

	for (uint64_t m = s->exec; m; m &= m - 1) {
		if (!load_pieces(s, LANE(m), bytes))
			return GFX9_FAULT;
		put_lane(s->a, rows, LANE(m), bytes);
	}
	return loaded(s, rows);
}

static bool load_crossing(const struct gfx9_site *s, uint64_t va, unsigned int lane,
			  uint32_t (*rows)[GFX9_LANES])
{
	uint8_t bytes[16];
	uint64_t bad;

	if (!gfx9_tlb_read(s->w->tlb, va, bytes, s->a->bytes, &bad)) {
		gfx9_fail(s->w, bad, false, lane);
		return false;
	}
	put_lane(s->a, rows, lane, bytes);
	return true;
}

/*
 * The page that all active lanes are in, each with all of its @bytes, and the offsets in it; NULL:
 * they are not in one page. If it is not mapped, the slow path raises the fault.
 */
ALWAYS_INLINE uint8_t *common_page(const struct gfx9_site *s, const uint64_t *restrict addr,
				   unsigned int bytes, bool write, uint32_t *restrict off)
{
	uint64_t page = addr[LANE(s->exec)] & ~(EMU_PAGE - 1), far = 0;

	if (s->exec == GFX9_ALL_LANES) {
		for (unsigned int i = 0; i < GFX9_LANES; i++) {
			far |= (addr[i] - page) | (addr[i] - page + bytes - 1);
			off[i] = (uint32_t)(addr[i] - page);
		}
	} else {
		const uint32_t *restrict lanes = gfx9_lanes(s->w);

		for (unsigned int i = 0; i < GFX9_LANES; i++) {
			uint64_t mask = (uint64_t)(int64_t)(int32_t)lanes[i];

			far |= ((addr[i] - page) | (addr[i] - page + bytes - 1)) & mask;
			off[i] = (uint32_t)(addr[i] - page);
		}
	}
	return far < EMU_PAGE ? gfx9_tlb_at(s->w->tlb, page, write) : NULL;
}

/* The registers get the bytes of memory as they are. */
static bool is_whole(const struct gfx9_site *s)
{
	return !wants_lds(s) && !(s->a->flags & (GFX9_SIGNED | GFX9_D16));
}

/* Whether all lanes of the block are active and contiguous in one page; moves the window there. */
ALWAYS_INLINE bool block_together(const struct gfx9_site *s, struct gfx9_page_window *win,
				  const uint64_t *addr, unsigned int lane, unsigned int bytes,
				  bool write)
{
	uint64_t apart = 0;

	if ((s->exec >> lane & 0xff) != 0xff)
		return false;
	for (unsigned int i = 0; i < GFX9_BLOCK; i++)
		apart |= addr[lane + i] - addr[lane] - i * bytes;
	if (apart || (addr[lane] & (EMU_PAGE - 1)) > EMU_PAGE - GFX9_BLOCK * bytes)
		return false;
	return addr[lane] - win->page < EMU_PAGE ||
	       gfx9_page_window_move(s, win, addr[lane], write, lane);
}

ALWAYS_INLINE bool load_lanes(const struct gfx9_site *s, struct gfx9_page_window *win,
			      const uint64_t *addr, unsigned int block,
			      uint32_t (*rows)[GFX9_LANES], unsigned int bytes)
{
	for (uint64_t m = s->exec >> block & 0xff; m; m &= m - 1) {
		unsigned int lane = block + LANE(m);
		uint64_t at = addr[lane] - win->page;

		if (at > EMU_PAGE - bytes) {
			if (!gfx9_page_window_move(s, win, addr[lane], false, lane))
				return false;
			at = addr[lane] - win->page;
			if (at > EMU_PAGE - bytes) {
				if (!load_crossing(s, addr[lane], lane, rows))
					return false;
				continue;
			}
		}
		gfx9_load_lane(rows, lane, win->host + at, bytes);
	}
	return true;
}

ALWAYS_INLINE enum gfx9_stop load_pages_of(const struct gfx9_site *s,
					   const uint64_t addr[GFX9_LANES], unsigned int bytes)
{
	uint32_t rows[4][GFX9_LANES], off[GFX9_LANES];
	uint8_t *common = common_page(s, addr, bytes, false, off);
	struct gfx9_page_window win = { .page = 0 };

	if (common && is_whole(s)) {
		gfx9_gather(registers_of(s), common, EMU_PAGE, off, 0, bytes, s->exec,
			    gfx9_pattern(off, bytes, s->exec));
		return GFX9_GO;
	}
	if (common) {
		gfx9_gather(rows, common, EMU_PAGE, off, 0, bytes, s->exec,
			    gfx9_pattern(off, bytes, s->exec));
		return loaded(s, rows);
	}
	if (!gfx9_page_window_move(s, &win, addr[LANE(s->exec)], false, LANE(s->exec)))
		return GFX9_FAULT;
	for (unsigned int i = 0; i < GFX9_LANES; i += GFX9_BLOCK) {
		if (block_together(s, &win, addr, i, bytes, false))
			gfx9_load_block(rows, i, win.host + (addr[i] - win.page), bytes);
		else if (!load_lanes(s, &win, addr, i, rows, bytes))
			return GFX9_FAULT;
	}
	return loaded(s, rows);
}

static enum gfx9_stop load_pages(const struct gfx9_site *s, const uint64_t addr[GFX9_LANES])
{
	switch (s->a->bytes) {
	case 1:
		return load_pages_of(s, addr, 1);
	case 2:
		return load_pages_of(s, addr, 2);
	case 4:
		return load_pages_of(s, addr, 4);
	case 8:
		return load_pages_of(s, addr, 8);
	case 12:
		return load_pages_of(s, addr, 12);
	default:
		return load_pages_of(s, addr, 16);
	}
}

/*
 * Stores
 */

static void get_lane(const struct gfx9_site *s, unsigned int lane, uint8_t *bytes)
{
	uint32_t value = gfx9_row(s->w, s->in->src[1])[lane];

	if (s->a->bytes < 4) {
		if (s->a->flags & GFX9_HI)
			value >>= 16;
		bytes[0] = (uint8_t)value;
		bytes[1] = (uint8_t)(value >> 8);
		return;
	}
	for (unsigned int k = 0; k < s->a->bytes / 4; k++)
		memcpy(bytes + 4 * k, &gfx9_row(s->w, s->in->src[1] + k)[lane], sizeof(uint32_t));
}

/* Both pages are found before either is changed. */
static bool store_bytes(const struct gfx9_site *s, unsigned int lane, uint64_t va,
			const uint8_t *bytes, unsigned int n)
{
	uint64_t last = va + n - 1, bad = va;
	bool there = gfx9_tlb_at(s->w->tlb, va, true);

	if (there && (va ^ last) >= EMU_PAGE) {
		bad = last & ~(EMU_PAGE - 1);
		there = gfx9_tlb_at(s->w->tlb, bad, true);
	}
	if (there)
		there = gfx9_tlb_write(s->w->tlb, va, bytes, n, &bad);
	if (!there)
		gfx9_fail(s->w, bad, true, lane);
	return there;
}

static bool store_pieces(const struct gfx9_site *s, unsigned int lane, const uint8_t *bytes)
{
	unsigned int run;
	uint64_t at;

	for (unsigned int i = 0; i < s->a->bytes; i += run) {
		enum gfx9_where where = s->find(s, lane, i, &at, &run);

		if (run > s->a->bytes - i)
			run = s->a->bytes - i;
		if (where == GFX9_IN_LDS)
			memcpy(s->w->lds + at, bytes + i, run);
		else if (where != GFX9_NOWHERE && !store_bytes(s, lane, at, bytes + i, run))
			return false;
	}
	return true;
}

static enum gfx9_stop store_any(const struct gfx9_site *s)
{
	uint8_t bytes[16];

	for (uint64_t m = s->exec; m; m &= m - 1) {
		get_lane(s, LANE(m), bytes);
		if (!store_pieces(s, LANE(m), bytes))
			return GFX9_FAULT;
	}
	return GFX9_GO;
}

static bool store_crossing(const struct gfx9_site *s, uint64_t va, unsigned int lane)
{
	uint8_t bytes[16];

	get_lane(s, lane, bytes);
	return store_bytes(s, lane, va, bytes, s->a->bytes);
}

ALWAYS_INLINE bool store_lanes(const struct gfx9_site *s, struct gfx9_page_window *win,
			       const uint64_t *addr, unsigned int block,
			       uint32_t (*rows)[GFX9_LANES], unsigned int bytes, unsigned int shift)
{
	for (uint64_t m = s->exec >> block & 0xff; m; m &= m - 1) {
		unsigned int lane = block + LANE(m);
		uint64_t at = addr[lane] - win->page;

		if (at > EMU_PAGE - bytes) {
			if (!gfx9_page_window_move(s, win, addr[lane], true, lane))
				return false;
			at = addr[lane] - win->page;
			if (at > EMU_PAGE - bytes) {
				if (!store_crossing(s, addr[lane], lane))
					return false;
				continue;
			}
		}
		gfx9_store_lane(win->host + at, rows, lane, bytes, shift);
	}
	return true;
}

ALWAYS_INLINE enum gfx9_stop store_pages_of(const struct gfx9_site *s,
					    const uint64_t addr[GFX9_LANES], unsigned int bytes)
{
	uint32_t(*rows)[GFX9_LANES] = (uint32_t(*)[GFX9_LANES])gfx9_row(s->w, s->in->src[1]);
	unsigned int shift = s->a->flags & GFX9_HI ? 16 : 0, first = LANE(s->exec);
	uint32_t off[GFX9_LANES];
	uint8_t *common = common_page(s, addr, bytes, true, off);
	struct gfx9_page_window win = { .page = 0 };

	if (common) {
		gfx9_scatter(common, EMU_PAGE, off, 0, rows, bytes, shift, s->exec,
			     gfx9_pattern(off, bytes, s->exec));
		return GFX9_GO;
	}
	if (!gfx9_page_window_move(s, &win, addr[first], true, first))
		return GFX9_FAULT;
	for (unsigned int i = 0; i < GFX9_LANES; i += GFX9_BLOCK) {
		if (block_together(s, &win, addr, i, bytes, true))
			gfx9_store_block(win.host + (addr[i] - win.page), rows, i, bytes, shift);
		else if (!store_lanes(s, &win, addr, i, rows, bytes, shift))
			return GFX9_FAULT;
	}
	return GFX9_GO;
}

static enum gfx9_stop store_pages(const struct gfx9_site *s, const uint64_t addr[GFX9_LANES])
{
	switch (s->a->bytes) {
	case 1:
		return store_pages_of(s, addr, 1);
	case 2:
		return store_pages_of(s, addr, 2);
	case 4:
		return store_pages_of(s, addr, 4);
	case 8:
		return store_pages_of(s, addr, 8);
	case 12:
		return store_pages_of(s, addr, 12);
	default:
		return store_pages_of(s, addr, 16);
	}
}

/*
 * All kinds of accesses
 */

enum gfx9_stop GFX9_V(access_any)(const struct gfx9_site *s)
{
	if (!s->exec)
		return GFX9_GO;
	switch (s->a->kind) {
	case GFX9_LOAD:
		return load_any(s);
	case GFX9_STORE:
		s->w->stored = true;
		return store_any(s);
	default:
		return GFX9_V(rmw_any)(s);
	}
}

enum gfx9_stop GFX9_V(access_pages)(const struct gfx9_site *s, const uint64_t addr[GFX9_LANES])
{
	if (!s->exec)
		return GFX9_GO;
	switch (s->a->kind) {
	case GFX9_LOAD:
		return load_pages(s, addr);
	case GFX9_STORE:
		s->w->stored = true;
		return store_pages(s, addr);
	default:
		return GFX9_V(rmw_pages)(s, addr);
	}
}

static void rows_copy(const struct gfx9_site *s, uint8_t **rows)
{
	bool store = s->a->kind == GFX9_STORE;

	for (unsigned int k = 0; k < s->a->bytes / 4u; k++) {
		uint8_t *row = (uint8_t *)gfx9_row(s->w, (store ? s->in->src[1] : s->in->dst) + k);
		uint8_t *to = store ? rows[k] : row;
		const uint8_t *from = store ? row : rows[k];

		if (s->exec == GFX9_ALL_LANES) {
			memcpy(to, from, 4 * GFX9_LANES);
			continue;
		}
		for (uint64_t m = s->exec; m; m &= m - 1)
			memcpy(to + 4 * LANE(m), from + 4 * LANE(m), 4);
	}
}

bool GFX9_V(access_rows)(const struct gfx9_site *s, uint64_t va)
{
	uint8_t *rows[4];

	if (s->a->kind == GFX9_RMW || s->a->bytes < 4 || va % 4 || wants_lds(s))
		return false;
	for (unsigned int k = 0; k < s->a->bytes / 4u; k++, va += 4 * GFX9_LANES) {
		if (va % EMU_PAGE > EMU_PAGE - 4 * GFX9_LANES)
			return false; /* across two pages */
		rows[k] = gfx9_tlb_at(s->w->tlb, va, s->a->kind == GFX9_STORE);
		if (!rows[k])
			return false;
	}
	rows_copy(s, rows);
	return true;
}

ALWAYS_INLINE bool lds_of(const struct gfx9_site *s, const uint32_t *restrict off,
			  unsigned int bytes)
{
	enum gfx9_pattern pattern = gfx9_pattern(off, bytes, s->exec);
	const uint32_t *restrict lanes = gfx9_lanes(s->w);
	uint32_t last = s->w->lds_bytes - bytes, beyond = 0;
	uint32_t rows[4][GFX9_LANES];

	if (s->w->lds_bytes < bytes)
		return false;
	for (unsigned int i = 0; i < GFX9_LANES; i++)
		beyond |= (off[i] > last ? ~0u : 0) & lanes[i];
	if (beyond)
		return false;
	if (s->a->kind == GFX9_LOAD) {
		gfx9_gather(rows, s->w->lds, s->w->lds_bytes, off, 0, bytes, s->exec, pattern);
		loaded(s, rows);
	} else {
		gfx9_scatter(s->w->lds, s->w->lds_bytes, off, 0,
			     (uint32_t(*)[GFX9_LANES])gfx9_row(s->w, s->in->src[1]), bytes,
			     s->a->flags & GFX9_HI ? 16 : 0, s->exec, pattern);
	}
	return true;
}

static bool lds_by_size(const struct gfx9_site *s, const uint32_t off[GFX9_LANES])
{
	switch (s->a->bytes) {
	case 1:
		return lds_of(s, off, 1);
	case 2:
		return lds_of(s, off, 2);
	case 4:
		return lds_of(s, off, 4);
	case 8:
		return lds_of(s, off, 8);
	case 12:
		return lds_of(s, off, 12);
	default:
		return lds_of(s, off, 16);
	}
}

bool GFX9_V(access_lds)(const struct gfx9_site *s, const uint32_t off[GFX9_LANES])
{
	return s->a->kind != GFX9_RMW && !wants_lds(s) && lds_by_size(s, off);
}

/*
 * Tables
 */

#define LOAD(n, f)                                            \
	{                                                     \
		.kind = GFX9_LOAD, .bytes = (n), .flags = (f) \
	}
#define STORE(n, f)                                            \
	{                                                      \
		.kind = GFX9_STORE, .bytes = (n), .flags = (f) \
	}
#define RMW(n, op)                                                   \
	{                                                            \
		.kind = GFX9_RMW, .bytes = (n), .rmw = GFX9_RMW_##op \
	}

#define LOADS(fam)                                                                                \
	[GFX9_##fam##_LOAD_UBYTE] = LOAD(1, 0), [GFX9_##fam##_LOAD_SBYTE] = LOAD(1, GFX9_SIGNED), \
	[GFX9_##fam##_LOAD_USHORT] = LOAD(2, 0),                                                  \
	[GFX9_##fam##_LOAD_SSHORT] = LOAD(2, GFX9_SIGNED),                                        \
	[GFX9_##fam##_LOAD_UBYTE_D16] = LOAD(1, GFX9_D16),                                        \
	[GFX9_##fam##_LOAD_UBYTE_D16_HI] = LOAD(1, GFX9_D16 | GFX9_HI),                           \
	[GFX9_##fam##_LOAD_SBYTE_D16] = LOAD(1, GFX9_SIGNED | GFX9_D16),                          \
	[GFX9_##fam##_LOAD_SBYTE_D16_HI] = LOAD(1, GFX9_SIGNED | GFX9_D16 | GFX9_HI),             \
	[GFX9_##fam##_LOAD_SHORT_D16] = LOAD(2, GFX9_D16),                                        \
	[GFX9_##fam##_LOAD_SHORT_D16_HI] = LOAD(2, GFX9_D16 | GFX9_HI),                           \
	[GFX9_##fam##_LOAD_DWORD] = LOAD(4, 0), [GFX9_##fam##_LOAD_DWORDX2] = LOAD(8, 0),         \
	[GFX9_##fam##_LOAD_DWORDX3] = LOAD(12, 0), [GFX9_##fam##_LOAD_DWORDX4] = LOAD(16, 0)

#define LOADS_TO_LDS(fam)                                                    \
	[GFX9_##fam##_LOAD_LDS_UBYTE] = LOAD(1, GFX9_TO_LDS),                \
	[GFX9_##fam##_LOAD_LDS_SBYTE] = LOAD(1, GFX9_TO_LDS | GFX9_SIGNED),  \
	[GFX9_##fam##_LOAD_LDS_USHORT] = LOAD(2, GFX9_TO_LDS),               \
	[GFX9_##fam##_LOAD_LDS_SSHORT] = LOAD(2, GFX9_TO_LDS | GFX9_SIGNED), \
	[GFX9_##fam##_LOAD_LDS_DWORD] = LOAD(4, GFX9_TO_LDS)

#define STORES(fam)                                                                           \
	[GFX9_##fam##_STORE_BYTE] = STORE(1, 0),                                              \
	[GFX9_##fam##_STORE_BYTE_D16_HI] = STORE(1, GFX9_HI),                                 \
	[GFX9_##fam##_STORE_SHORT] = STORE(2, 0),                                             \
	[GFX9_##fam##_STORE_SHORT_D16_HI] = STORE(2, GFX9_HI),                                \
	[GFX9_##fam##_STORE_DWORD] = STORE(4, 0), [GFX9_##fam##_STORE_DWORDX2] = STORE(8, 0), \
	[GFX9_##fam##_STORE_DWORDX3] = STORE(12, 0), [GFX9_##fam##_STORE_DWORDX4] = STORE(16, 0)

#define ATOMIC(fam, name, op) \
	[GFX9_##fam##_ATOMIC_##name] = RMW(4, op), [GFX9_##fam##_ATOMIC_##name##_X2] = RMW(8, op)

#define ATOMICS(fam)                                                                      \
	ATOMIC(fam, SWAP, SWAP), ATOMIC(fam, CMPSWAP, CMPSWAP), ATOMIC(fam, ADD, ADD),    \
		ATOMIC(fam, SUB, SUB), ATOMIC(fam, SMIN, SMIN), ATOMIC(fam, UMIN, UMIN),  \
		ATOMIC(fam, SMAX, SMAX), ATOMIC(fam, UMAX, UMAX), ATOMIC(fam, AND, AND),  \
		ATOMIC(fam, OR, OR), ATOMIC(fam, XOR, XOR), ATOMIC(fam, INC, INC),        \
		ATOMIC(fam, DEC, DEC), [GFX9_##fam##_ATOMIC_ADD_F32] = RMW(4, FADD),      \
				       [GFX9_##fam##_ATOMIC_PK_ADD_F16] = RMW(4, PK_F16), \
				       [GFX9_##fam##_ATOMIC_ADD_F64] = RMW(8, FADD),      \
				       [GFX9_##fam##_ATOMIC_MIN_F64] = RMW(8, FMIN),      \
				       [GFX9_##fam##_ATOMIC_MAX_F64] = RMW(8, FMAX)

#define DS_RMW(name, type, n, op) \
	[GFX9_DS_##name##_##type] = RMW(n, op), [GFX9_DS_##name##_RTN_##type] = RMW(n, op)

#define DS_INTEGER(bits, n)                                                           \
	DS_RMW(ADD, U##bits, n, ADD), DS_RMW(SUB, U##bits, n, SUB),                   \
		DS_RMW(RSUB, U##bits, n, RSUB), DS_RMW(INC, U##bits, n, INC),         \
		DS_RMW(DEC, U##bits, n, DEC), DS_RMW(MIN, I##bits, n, SMIN),          \
		DS_RMW(MAX, I##bits, n, SMAX), DS_RMW(MIN, U##bits, n, UMIN),         \
		DS_RMW(MAX, U##bits, n, UMAX), DS_RMW(AND, B##bits, n, AND),          \
		DS_RMW(OR, B##bits, n, OR), DS_RMW(XOR, B##bits, n, XOR),             \
		DS_RMW(MSKOR, B##bits, n, MSKOR), DS_RMW(CMPST, B##bits, n, CMPSWAP), \
		DS_RMW(CMPST, F##bits, n, FCMPSWAP), DS_RMW(MIN, F##bits, n, FMIN),   \
		DS_RMW(MAX, F##bits, n, FMAX), DS_RMW(ADD, F##bits, n, FADD),         \
		[GFX9_DS_WRXCHG_RTN_B##bits] = RMW(n, SWAP)

const struct gfx9_access GFX9_V(accesses)[GFX9_OPS] = {
	LOADS(FLAT),
	LOADS(GLOBAL),
	LOADS(SCRATCH),
	LOADS(BUFFER),
	LOADS_TO_LDS(GLOBAL),
	LOADS_TO_LDS(SCRATCH),
	STORES(FLAT),
	STORES(GLOBAL),
	STORES(SCRATCH),
	STORES(BUFFER),
	ATOMICS(FLAT),
	ATOMICS(GLOBAL),
	ATOMICS(BUFFER),
	[GFX9_FLAT_ATOMIC_PK_ADD_BF16] = RMW(4, PK_BF16),
	[GFX9_GLOBAL_ATOMIC_PK_ADD_BF16] = RMW(4, PK_BF16),
	DS_INTEGER(32, 4),
	DS_INTEGER(64, 8),
	DS_RMW(PK_ADD, F16, 4, PK_F16),
	DS_RMW(PK_ADD, BF16, 4, PK_BF16),
	[GFX9_DS_WRAP_RTN_B32] = RMW(4, WRAP),
	[GFX9_DS_CONDXCHG32_RTN_B64] = RMW(8, CONDXCHG),
	[GFX9_DS_READ_U8] = LOAD(1, 0),
	[GFX9_DS_READ_I8] = LOAD(1, GFX9_SIGNED),
	[GFX9_DS_READ_U16] = LOAD(2, 0),
	[GFX9_DS_READ_I16] = LOAD(2, GFX9_SIGNED),
	[GFX9_DS_READ_U8_D16] = LOAD(1, GFX9_D16),
	[GFX9_DS_READ_U8_D16_HI] = LOAD(1, GFX9_D16 | GFX9_HI),
	[GFX9_DS_READ_I8_D16] = LOAD(1, GFX9_SIGNED | GFX9_D16),
	[GFX9_DS_READ_I8_D16_HI] = LOAD(1, GFX9_SIGNED | GFX9_D16 | GFX9_HI),
	[GFX9_DS_READ_U16_D16] = LOAD(2, GFX9_D16),
	[GFX9_DS_READ_U16_D16_HI] = LOAD(2, GFX9_D16 | GFX9_HI),
	[GFX9_DS_READ_B32] = LOAD(4, 0),
	[GFX9_DS_READ_B64] = LOAD(8, 0),
	[GFX9_DS_READ_B96] = LOAD(12, 0),
	[GFX9_DS_READ_B128] = LOAD(16, 0),
	[GFX9_DS_READ_ADDTID_B32] = LOAD(4, 0),
	[GFX9_DS_WRITE_B8] = STORE(1, 0),
	[GFX9_DS_WRITE_B8_D16_HI] = STORE(1, GFX9_HI),
	[GFX9_DS_WRITE_B16] = STORE(2, 0),
	[GFX9_DS_WRITE_B16_D16_HI] = STORE(2, GFX9_HI),
	[GFX9_DS_WRITE_B32] = STORE(4, 0),
	[GFX9_DS_WRITE_B64] = STORE(8, 0),
	[GFX9_DS_WRITE_B96] = STORE(12, 0),
	[GFX9_DS_WRITE_B128] = STORE(16, 0),
	[GFX9_DS_WRITE_ADDTID_B32] = STORE(4, 0),
};

#define RUN_PARTS(fam, fn)                                                         \
	[GFX9_##fam##_LOAD_UBYTE] = fn, [GFX9_##fam##_LOAD_SBYTE] = fn,            \
	[GFX9_##fam##_LOAD_USHORT] = fn, [GFX9_##fam##_LOAD_SSHORT] = fn,          \
	[GFX9_##fam##_LOAD_UBYTE_D16] = fn, [GFX9_##fam##_LOAD_UBYTE_D16_HI] = fn, \
	[GFX9_##fam##_LOAD_SBYTE_D16] = fn, [GFX9_##fam##_LOAD_SBYTE_D16_HI] = fn, \
	[GFX9_##fam##_LOAD_SHORT_D16] = fn, [GFX9_##fam##_LOAD_SHORT_D16_HI] = fn, \
	[GFX9_##fam##_STORE_BYTE] = fn, [GFX9_##fam##_STORE_BYTE_D16_HI] = fn,     \
	[GFX9_##fam##_STORE_SHORT] = fn, [GFX9_##fam##_STORE_SHORT_D16_HI] = fn

#define RUN_DWORDS(fam, fn)                                                 \
	[GFX9_##fam##_LOAD_DWORD] = fn, [GFX9_##fam##_LOAD_DWORDX2] = fn,   \
	[GFX9_##fam##_LOAD_DWORDX3] = fn, [GFX9_##fam##_LOAD_DWORDX4] = fn, \
	[GFX9_##fam##_STORE_DWORD] = fn, [GFX9_##fam##_STORE_DWORDX2] = fn, \
	[GFX9_##fam##_STORE_DWORDX3] = fn, [GFX9_##fam##_STORE_DWORDX4] = fn

#define RUN_TO_LDS(fam, fn)                                                       \
	[GFX9_##fam##_LOAD_LDS_UBYTE] = fn, [GFX9_##fam##_LOAD_LDS_SBYTE] = fn,   \
	[GFX9_##fam##_LOAD_LDS_USHORT] = fn, [GFX9_##fam##_LOAD_LDS_SSHORT] = fn, \
	[GFX9_##fam##_LOAD_LDS_DWORD] = fn

#define RUN_ATOMIC(fam, name, fn) \
	[GFX9_##fam##_ATOMIC_##name] = fn, [GFX9_##fam##_ATOMIC_##name##_X2] = fn

#define RUN_ATOMICS(fam, fn)                                                                    \
	RUN_ATOMIC(fam, SWAP, fn), RUN_ATOMIC(fam, CMPSWAP, fn), RUN_ATOMIC(fam, ADD, fn),      \
		RUN_ATOMIC(fam, SUB, fn), RUN_ATOMIC(fam, SMIN, fn), RUN_ATOMIC(fam, UMIN, fn), \
		RUN_ATOMIC(fam, SMAX, fn), RUN_ATOMIC(fam, UMAX, fn), RUN_ATOMIC(fam, AND, fn), \
		RUN_ATOMIC(fam, OR, fn), RUN_ATOMIC(fam, XOR, fn), RUN_ATOMIC(fam, INC, fn),    \
		RUN_ATOMIC(fam, DEC, fn),                                                       \
		[GFX9_##fam##_ATOMIC_ADD_F32] = fn, [GFX9_##fam##_ATOMIC_PK_ADD_F16] = fn,      \
		[GFX9_##fam##_ATOMIC_ADD_F64] = fn, [GFX9_##fam##_ATOMIC_MIN_F64] = fn,         \
		[GFX9_##fam##_ATOMIC_MAX_F64] = fn

#define RUN_FORMAT_OF(fam, c)                                       \
	[GFX9_##fam##_LOAD_FORMAT_##c] = GFX9_V(buffer_format),     \
	[GFX9_##fam##_STORE_FORMAT_##c] = GFX9_V(buffer_format),    \
	[GFX9_##fam##_LOAD_FORMAT_D16_##c] = GFX9_V(buffer_format), \
	[GFX9_##fam##_STORE_FORMAT_D16_##c] = GFX9_V(buffer_format)

#define RUN_FORMAT(fam)                                                         \
	RUN_FORMAT_OF(fam, X), RUN_FORMAT_OF(fam, XY), RUN_FORMAT_OF(fam, XYZ), \
		RUN_FORMAT_OF(fam, XYZW)

#define RUN_DS(name, type)                          \
	[GFX9_DS_##name##_##type] = GFX9_V(ds_rmw), \
	[GFX9_DS_##name##_RTN_##type] = GFX9_V(ds_rmw_rtn)

#define RUN_DS_RMW(bits)                                                                         \
	RUN_DS(ADD, U##bits), RUN_DS(SUB, U##bits), RUN_DS(RSUB, U##bits), RUN_DS(INC, U##bits), \
		RUN_DS(DEC, U##bits), RUN_DS(MIN, I##bits), RUN_DS(MAX, I##bits),                \
		RUN_DS(MIN, U##bits), RUN_DS(MAX, U##bits), RUN_DS(AND, B##bits),                \
		RUN_DS(OR, B##bits), RUN_DS(XOR, B##bits), RUN_DS(MSKOR, B##bits),               \
		RUN_DS(CMPST, B##bits), RUN_DS(CMPST, F##bits), RUN_DS(MIN, F##bits),            \
		RUN_DS(MAX, F##bits), RUN_DS(ADD, F##bits),                                      \
		[GFX9_DS_WRXCHG_RTN_B##bits] = GFX9_V(ds_rmw_rtn)

extern gfx9_run_fn *const GFX9_V(memory_ops)[GFX9_OPS];
gfx9_run_fn *const GFX9_V(memory_ops)[GFX9_OPS] = {
	RUN_PARTS(FLAT, GFX9_V(flat)),
	RUN_DWORDS(FLAT, GFX9_V(flat)),
	RUN_ATOMICS(FLAT, GFX9_V(flat)),
	[GFX9_FLAT_ATOMIC_PK_ADD_BF16] = GFX9_V(flat),

	RUN_PARTS(GLOBAL, GFX9_V(global)),
	RUN_TO_LDS(GLOBAL, GFX9_V(global)),
	RUN_ATOMICS(GLOBAL, GFX9_V(global)),
	[GFX9_GLOBAL_ATOMIC_PK_ADD_BF16] = GFX9_V(global),
	[GFX9_GLOBAL_LOAD_DWORD] = GFX9_V(global_load1),
	[GFX9_GLOBAL_LOAD_DWORDX2] = GFX9_V(global_load2),
	[GFX9_GLOBAL_LOAD_DWORDX3] = GFX9_V(global_load3),
	[GFX9_GLOBAL_LOAD_DWORDX4] = GFX9_V(global_load4),
	[GFX9_GLOBAL_STORE_DWORD] = GFX9_V(global_store1),
	[GFX9_GLOBAL_STORE_DWORDX2] = GFX9_V(global_store2),
	[GFX9_GLOBAL_STORE_DWORDX3] = GFX9_V(global_store3),
	[GFX9_GLOBAL_STORE_DWORDX4] = GFX9_V(global_store4),

	RUN_PARTS(SCRATCH, GFX9_V(scratch)),
	RUN_DWORDS(SCRATCH, GFX9_V(scratch)),
	RUN_TO_LDS(SCRATCH, GFX9_V(scratch)),

	RUN_PARTS(BUFFER, GFX9_V(buffer)),
	RUN_DWORDS(BUFFER, GFX9_V(buffer)),
	RUN_ATOMICS(BUFFER, GFX9_V(buffer)),
	RUN_FORMAT(BUFFER),
	RUN_FORMAT(TBUFFER),
	[GFX9_BUFFER_LOAD_FORMAT_D16_HI_X] = GFX9_V(buffer_format),
	[GFX9_BUFFER_STORE_FORMAT_D16_HI_X] = GFX9_V(buffer_format),
	[GFX9_BUFFER_STORE_LDS_DWORD] = GFX9_V(buffer_store_lds),
	[GFX9_BUFFER_INV] = GFX9_V(buffer_cache),
	[GFX9_BUFFER_INVL2] = GFX9_V(buffer_cache),
	[GFX9_BUFFER_WBL2] = GFX9_V(buffer_cache),
	[GFX9_BUFFER_WBINVL1] = GFX9_V(buffer_cache),
	[GFX9_BUFFER_WBINVL1_VOL] = GFX9_V(buffer_cache),

	[GFX9_DS_READ_U8] = GFX9_V(ds_read),
	[GFX9_DS_READ_I8] = GFX9_V(ds_read),
	[GFX9_DS_READ_U16] = GFX9_V(ds_read),
	[GFX9_DS_READ_I16] = GFX9_V(ds_read),
	[GFX9_DS_READ_U8_D16] = GFX9_V(ds_read),
	[GFX9_DS_READ_U8_D16_HI] = GFX9_V(ds_read),
	[GFX9_DS_READ_I8_D16] = GFX9_V(ds_read),
	[GFX9_DS_READ_I8_D16_HI] = GFX9_V(ds_read),
	[GFX9_DS_READ_U16_D16] = GFX9_V(ds_read),
	[GFX9_DS_READ_U16_D16_HI] = GFX9_V(ds_read),
	[GFX9_DS_READ_B32] = GFX9_V(ds_read1),
	[GFX9_DS_READ_B64] = GFX9_V(ds_read2),
	[GFX9_DS_READ_B96] = GFX9_V(ds_read3),
	[GFX9_DS_READ_B128] = GFX9_V(ds_read4),
	[GFX9_DS_READ2_B32] = GFX9_V(ds_read2_b32),
	[GFX9_DS_READ2_B64] = GFX9_V(ds_read2_b64),
	[GFX9_DS_READ2ST64_B32] = GFX9_V(ds_read2st64_b32),
	[GFX9_DS_READ2ST64_B64] = GFX9_V(ds_read2st64_b64),
	[GFX9_DS_READ_ADDTID_B32] = GFX9_V(ds_addtid),
	[GFX9_DS_WRITE_B8] = GFX9_V(ds_write),
	[GFX9_DS_WRITE_B8_D16_HI] = GFX9_V(ds_write),
	[GFX9_DS_WRITE_B16] = GFX9_V(ds_write),
	[GFX9_DS_WRITE_B16_D16_HI] = GFX9_V(ds_write),
	[GFX9_DS_WRITE_B32] = GFX9_V(ds_write1),
	[GFX9_DS_WRITE_B64] = GFX9_V(ds_write2),
	[GFX9_DS_WRITE_B96] = GFX9_V(ds_write3),
	[GFX9_DS_WRITE_B128] = GFX9_V(ds_write4),
	[GFX9_DS_WRITE2_B32] = GFX9_V(ds_write2_b32),
	[GFX9_DS_WRITE2_B64] = GFX9_V(ds_write2_b64),
	[GFX9_DS_WRITE2ST64_B32] = GFX9_V(ds_write2st64_b32),
	[GFX9_DS_WRITE2ST64_B64] = GFX9_V(ds_write2st64_b64),
	[GFX9_DS_WRXCHG2_RTN_B32] = GFX9_V(ds_pair_swap),
	[GFX9_DS_WRXCHG2_RTN_B64] = GFX9_V(ds_pair_swap),
	[GFX9_DS_WRXCHG2ST64_RTN_B32] = GFX9_V(ds_pair_swap),
	[GFX9_DS_WRXCHG2ST64_RTN_B64] = GFX9_V(ds_pair_swap),
	[GFX9_DS_WRITE_ADDTID_B32] = GFX9_V(ds_addtid),
	RUN_DS_RMW(32),
	RUN_DS_RMW(64),
	RUN_DS(PK_ADD, F16),
	RUN_DS(PK_ADD, BF16),
	[GFX9_DS_WRAP_RTN_B32] = GFX9_V(ds_rmw_rtn),
	[GFX9_DS_CONDXCHG32_RTN_B64] = GFX9_V(ds_rmw_rtn),
	[GFX9_DS_NOP] = GFX9_V(ds_nop),
	[GFX9_DS_APPEND] = GFX9_V(ds_append),
	[GFX9_DS_CONSUME] = GFX9_V(ds_append),
	[GFX9_DS_SWIZZLE_B32] = GFX9_V(ds_swizzle),
	[GFX9_DS_PERMUTE_B32] = GFX9_V(ds_permute),
	[GFX9_DS_BPERMUTE_B32] = GFX9_V(ds_bpermute),
};
