// SPDX-License-Identifier: MIT
/*
 * Vector memory: which function runs which opcode, and what the formats share: loads, stores and
 * atomics of lanes whose addresses are known.
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
 * Loads: into rows beside the registers, then into the registers or into LDS
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

/* The page the last lane was in; most lanes are where the one before was. */
struct window {
	uint64_t page;
	uint8_t *host;
};

/* Moves the window to @va; false: a fault. */
static inline bool window_move(const struct gfx9_site *s, struct window *win, uint64_t va,
			       bool write, unsigned int lane)
{
	uint64_t page = va & ~(GFX9_PAGE - 1);
	uint8_t *host = gfx9_tlb_at(s->w->tlb, page, write);

	if (!host) {
		gfx9_fail(s->w, va, write, lane);
		return false;
	}
	win->page = page;
	win->host = host;
	return true;
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
 * The page all active lanes are in, each with all of its @bytes, and where in it; NULL: they are
 * not in one. A page that is not there is found again by the long way.
 */
ALWAYS_INLINE uint8_t *common_page(const struct gfx9_site *s, const uint64_t *restrict addr,
				   unsigned int bytes, bool write, uint32_t *restrict off)
{
	uint64_t page = addr[LANE(s->exec)] & ~(GFX9_PAGE - 1), far = 0;

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
	return far < GFX9_PAGE ? gfx9_tlb_at(s->w->tlb, page, write) : NULL;
}

/* What the registers are to hold is what memory holds. */
static bool is_whole(const struct gfx9_site *s)
{
	return !wants_lds(s) && !(s->a->flags & (GFX9_SIGNED | GFX9_D16));
}

/* All lanes of the block are on and one behind the other, in one page; the window moves there. */
ALWAYS_INLINE bool block_together(const struct gfx9_site *s, struct window *win,
				  const uint64_t *addr, unsigned int lane, unsigned int bytes,
				  bool write)
{
	uint64_t apart = 0;

	if ((s->exec >> lane & 0xff) != 0xff)
		return false;
	for (unsigned int i = 0; i < GFX9_BLOCK; i++)
		apart |= addr[lane + i] - addr[lane] - i * bytes;
	if (apart || (addr[lane] & (GFX9_PAGE - 1)) > GFX9_PAGE - GFX9_BLOCK * bytes)
		return false;
	return addr[lane] - win->page < GFX9_PAGE || window_move(s, win, addr[lane], write, lane);
}

ALWAYS_INLINE bool load_lanes(const struct gfx9_site *s, struct window *win, const uint64_t *addr,
			      unsigned int block, uint32_t (*rows)[GFX9_LANES], unsigned int bytes)
{
	for (uint64_t m = s->exec >> block & 0xff; m; m &= m - 1) {
		unsigned int lane = block + LANE(m);
		uint64_t at = addr[lane] - win->page;

		if (at > GFX9_PAGE - bytes) {
			if (!window_move(s, win, addr[lane], false, lane))
				return false;
			at = addr[lane] - win->page;
			if (at > GFX9_PAGE - bytes) {
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
	struct window win = { .page = 0 };

	if (common && is_whole(s)) {
		gfx9_gather(registers_of(s), common, GFX9_PAGE, off, 0, bytes, s->exec,
			    gfx9_pattern(off, bytes, s->exec));
		return GFX9_GO;
	}
	if (common) {
		gfx9_gather(rows, common, GFX9_PAGE, off, 0, bytes, s->exec,
			    gfx9_pattern(off, bytes, s->exec));
		return loaded(s, rows);
	}
	if (!window_move(s, &win, addr[LANE(s->exec)], false, LANE(s->exec)))
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

/* Both pages before either changes. */
static bool store_bytes(const struct gfx9_site *s, unsigned int lane, uint64_t va,
			const uint8_t *bytes, unsigned int n)
{
	uint64_t last = va + n - 1, bad = va;
	bool there = gfx9_tlb_at(s->w->tlb, va, true);

	if (there && (va ^ last) >= GFX9_PAGE) {
		bad = last & ~(GFX9_PAGE - 1);
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

ALWAYS_INLINE bool store_lanes(const struct gfx9_site *s, struct window *win, const uint64_t *addr,
			       unsigned int block, uint32_t (*rows)[GFX9_LANES], unsigned int bytes,
			       unsigned int shift)
{
	for (uint64_t m = s->exec >> block & 0xff; m; m &= m - 1) {
		unsigned int lane = block + LANE(m);
		uint64_t at = addr[lane] - win->page;

		if (at > GFX9_PAGE - bytes) {
			if (!window_move(s, win, addr[lane], true, lane))
				return false;
			at = addr[lane] - win->page;
			if (at > GFX9_PAGE - bytes) {
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
	struct window win = { .page = 0 };

	if (common) {
		gfx9_scatter(common, GFX9_PAGE, off, 0, rows, bytes, shift, s->exec,
			     gfx9_pattern(off, bytes, s->exec));
		return GFX9_GO;
	}
	if (!window_move(s, &win, addr[first], true, first))
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
 * Atomics
 */

/*
 * A sum that is no number: the first operand that is none, made quiet, or a new one where both are.
 * So it does not depend on the host.
 */
static uint64_t not_a_number(uint64_t a, uint64_t b, uint64_t infinite, uint64_t quiet)
{
	uint64_t size = quiet * 2 - 1 + infinite;

	if ((a & size) > infinite)
		return a | quiet;
	if ((b & size) > infinite)
		return b | quiet;
	/* Negative, as in the vector ALU. */
	return (size + 1) | infinite | quiet;
}

/* Half floats as doubles: sums of two are exact, so the result is rounded once. */
static double half_value(uint32_t h)
{
	uint32_t exponent = h >> 10 & 31, fraction = h & 1023;
	double v;

	if (exponent == 31)
		v = fraction ? __builtin_nan("") : __builtin_inf();
	else if (exponent)
		v = __builtin_ldexp(1024 + fraction, (int)exponent - 25);
	else
		v = __builtin_ldexp(fraction, -24);
	return h & 0x8000 ? -v : v;
}

static uint32_t half_of(double v)
{
	uint32_t sign = __builtin_signbit(v) ? 0x8000 : 0;
	double size = __builtin_fabs(v), unit;
	int exponent;
	uint32_t n;

	if (size >= 65520)
		return sign | 0x7c00;
	if (size == 0)
		return sign;
	__builtin_frexp(size, &exponent);
	exponent = exponent - 1 < -14 ? -14 : exponent - 1;
	unit = __builtin_ldexp(1, exponent - 10);
	/* At most 2048: adding 2^52 rounds to an integer, ties to even. */
	n = (uint32_t)(size / unit + 0x1p52 - 0x1p52);
	/* A carry out of the fraction goes on into the exponent. */
	return sign | (((uint32_t)(exponent + 14) << 10) + n);
}

static uint32_t add_halves(uint32_t a, uint32_t b)
{
	double v = half_value(a) + half_value(b);

	return v == v ? half_of(v) : (uint32_t)not_a_number(a, b, 0x7c00, 0x200);
}

static float float_of(uint32_t bits)
{
	float v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static uint32_t bits_of(float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

static double double_of(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static uint64_t bits_of64(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

static uint32_t add_brains(uint32_t a, uint32_t b)
{
	float v = float_of(a << 16) + float_of(b << 16);
	uint32_t bits = bits_of(v);

	if (v != v)
		return (uint32_t)not_a_number(a, b, 0x7f80, 0x40);
	return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static uint32_t add_floats(uint32_t a, uint32_t b)
{
	float v = float_of(a) + float_of(b);

	return v == v ? bits_of(v) : (uint32_t)not_a_number(a, b, 0x7f800000, 0x400000);
}

static uint64_t add_doubles(uint64_t a, uint64_t b)
{
	double v = double_of(a) + double_of(b);

	return v == v ? bits_of64(v) : not_a_number(a, b, 0x7ff0000000000000, 0x8000000000000);
}

/* A NaN gives way to a number, and -0 is less than +0. */
static double less(double a, double b)
{
	if (a != a || b != b)
		return a != a ? b : a;
	if (a == b)
		return __builtin_signbit(a) ? a : b;
	return a < b ? a : b;
}

static double more(double a, double b)
{
	return -less(-a, -b);
}

uint32_t GFX9_V(rmw32)(enum gfx9_rmw op, uint32_t old, uint32_t x, uint32_t y)
{
	switch (op) {
	case GFX9_RMW_FADD:
		return add_floats(old, x);
	case GFX9_RMW_FMIN:
		return bits_of((float)less(float_of(old), float_of(x)));
	case GFX9_RMW_FMAX:
		return bits_of((float)more(float_of(old), float_of(x)));
	case GFX9_RMW_FCMPSWAP:
		return float_of(old) == float_of(y) ? x : old;
	case GFX9_RMW_PK_F16:
		return add_halves(old & 0xffff, x & 0xffff) | add_halves(old >> 16, x >> 16) << 16;
	case GFX9_RMW_PK_BF16:
		return add_brains(old & 0xffff, x & 0xffff) | add_brains(old >> 16, x >> 16) << 16;
	default:
		return gfx9_rmw32_integer(op, old, x, y);
	}
}

/* The highest bit says whether a dword is exchanged. */
static uint32_t exchange_marked(uint32_t old, uint32_t x)
{
	return x >> 31 ? x & 0x7fffffff : old;
}

uint64_t GFX9_V(rmw64)(enum gfx9_rmw op, uint64_t old, uint64_t x, uint64_t y)
{
	switch (op) {
	case GFX9_RMW_CONDXCHG:
		return exchange_marked((uint32_t)old, (uint32_t)x) |
		       (uint64_t)exchange_marked((uint32_t)(old >> 32), (uint32_t)(x >> 32)) << 32;
	case GFX9_RMW_FADD:
		return add_doubles(old, x);
	case GFX9_RMW_FMIN:
		return bits_of64(less(double_of(old), double_of(x)));
	case GFX9_RMW_FMAX:
		return bits_of64(more(double_of(old), double_of(x)));
	case GFX9_RMW_FCMPSWAP:
		return double_of(old) == double_of(y) ? x : old;
	default:
		return gfx9_rmw64_integer(op, old, x, y);
	}
}

/*
 * Acquire and release, so that a host with weaker ordering keeps what programs order by waiting for
 * an atomic's result.
 */
#define SHARED_RMW(name, word, compute)                                                      \
	static word name(enum gfx9_rmw op, word *p, word x, word y)                          \
	{                                                                                    \
		word old;                                                                    \
                                                                                             \
		switch (op) {                                                                \
		case GFX9_RMW_SWAP:                                                          \
			return __atomic_exchange_n(p, x, __ATOMIC_ACQ_REL);                  \
		case GFX9_RMW_ADD:                                                           \
			return __atomic_fetch_add(p, x, __ATOMIC_ACQ_REL);                   \
		case GFX9_RMW_SUB:                                                           \
			return __atomic_fetch_sub(p, x, __ATOMIC_ACQ_REL);                   \
		default:                                                                     \
			old = __atomic_load_n(p, __ATOMIC_ACQUIRE);                          \
			while (!__atomic_compare_exchange_n(p, &old, compute(op, old, x, y), \
							    false, __ATOMIC_ACQ_REL,         \
							    __ATOMIC_ACQUIRE))               \
				;                                                            \
			return old;                                                          \
		}                                                                            \
	}

SHARED_RMW(shared_rmw32, uint32_t, GFX9_V(rmw32))
SHARED_RMW(shared_rmw64, uint64_t, GFX9_V(rmw64))

/* The memory of each lane's atomic; where it is in two places, @high has the upper half. */
struct targets {
	uint64_t present, shared;
	uint8_t *low[GFX9_LANES], *high[GFX9_LANES];
};

static uint8_t *target_of(const struct gfx9_site *s, unsigned int lane, unsigned int byte,
			  enum gfx9_where *where, unsigned int *run)
{
	uint64_t at;
	uint8_t *host;

	*where = s->find(s, lane, byte, &at, run);
	if (*where == GFX9_NOWHERE)
		return NULL;
	if (*where == GFX9_IN_LDS)
		return s->w->lds + at;
	/* The hardware refuses what is not aligned; and what is aligned is in one page. */
	host = *run < 4 || at & (*where == GFX9_IN_PAGES ? s->a->bytes - 1u : 3u)
		       ? NULL
		       : gfx9_tlb_at(s->w->tlb, at, true);
	if (!host)
		gfx9_fail(s->w, at, true, lane);
	return host;
}

/* False: a fault. */
static bool target_find(const struct gfx9_site *s, struct targets *t, unsigned int lane)
{
	enum gfx9_where where, upper = GFX9_IN_PAGES;
	unsigned int run;

	t->low[lane] = target_of(s, lane, 0, &where, &run);
	t->high[lane] = NULL;
	if (!t->low[lane])
		return where == GFX9_NOWHERE;
	if (run < s->a->bytes) {
		t->high[lane] = target_of(s, lane, 4, &upper, &run);
		if (!t->high[lane])
			return upper == GFX9_NOWHERE;
	} else if (where == GFX9_IN_PAGES) {
		t->shared |= (uint64_t)1 << lane;
	}
	t->present |= (uint64_t)1 << lane;
	return true;
}

static uint32_t target_rmw32(const struct targets *t, unsigned int lane, enum gfx9_rmw op,
			     uint32_t x, uint32_t y)
{
	uint32_t old, now;

	if (!(t->present >> lane & 1))
		return 0;
	if (t->shared >> lane & 1)
		return shared_rmw32(op, (uint32_t *)(void *)t->low[lane], x, y);
	memcpy(&old, t->low[lane], sizeof(old));
	now = GFX9_V(rmw32)(op, old, x, y);
	memcpy(t->low[lane], &now, sizeof(now));
	return old;
}

static uint64_t target_rmw64(const struct targets *t, unsigned int lane, enum gfx9_rmw op,
			     uint64_t x, uint64_t y)
{
	uint8_t *low = t->low[lane], *high;
	uint32_t half[2];
	uint64_t old, now;

	if (!(t->present >> lane & 1))
		return 0;
	if (t->shared >> lane & 1)
		return shared_rmw64(op, (uint64_t *)(void *)low, x, y);
	high = t->high[lane] ? t->high[lane] : low + 4;
	memcpy(&half[0], low, sizeof(half[0]));
	memcpy(&half[1], high, sizeof(half[1]));
	old = half[0] | (uint64_t)half[1] << 32;
	now = GFX9_V(rmw64)(op, old, x, y);
	half[0] = (uint32_t)now;
	half[1] = (uint32_t)(now >> 32);
	memcpy(low, &half[0], sizeof(half[0]));
	memcpy(high, &half[1], sizeof(half[1]));
	return old;
}

static uint64_t pair_at(uint32_t (*rows)[GFX9_LANES], unsigned int k, unsigned int lane)
{
	return rows[k][lane] | (uint64_t)rows[k + 1][lane] << 32;
}

static void rmw_targets32(const struct gfx9_site *s, const struct targets *t)
{
	uint32_t(*data)[GFX9_LANES] = (uint32_t(*)[GFX9_LANES])gfx9_row(s->w, s->in->src[1]);
	bool compares = s->a->rmw == GFX9_RMW_CMPSWAP;

	for (uint64_t m = s->exec; m; m &= m - 1) {
		unsigned int lane = LANE(m);
		uint32_t old = target_rmw32(t, lane, s->a->rmw, data[0][lane],
					    compares ? data[1][lane] : 0);

		if (s->in->glc)
			gfx9_row(s->w, s->in->dst)[lane] = old;
	}
}

static void rmw_targets64(const struct gfx9_site *s, const struct targets *t)
{
	uint32_t(*data)[GFX9_LANES] = (uint32_t(*)[GFX9_LANES])gfx9_row(s->w, s->in->src[1]);
	bool compares = s->a->rmw == GFX9_RMW_CMPSWAP;

	for (uint64_t m = s->exec; m; m &= m - 1) {
		unsigned int lane = LANE(m);
		uint64_t old = target_rmw64(t, lane, s->a->rmw, pair_at(data, 0, lane),
					    compares ? pair_at(data, 2, lane) : 0);

		if (!s->in->glc)
			continue;
		gfx9_row(s->w, s->in->dst)[lane] = (uint32_t)old;
		gfx9_row(s->w, s->in->dst + 1u)[lane] = (uint32_t)(old >> 32);
	}
}

static void rmw_targets(const struct gfx9_site *s, const struct targets *t)
{
	if (s->a->bytes == 4)
		rmw_targets32(s, t);
	else
		rmw_targets64(s, t);
}

static enum gfx9_stop rmw_any(const struct gfx9_site *s)
{
	struct targets t;

	t.present = t.shared = 0;
	for (uint64_t m = s->exec; m; m &= m - 1)
		if (!target_find(s, &t, LANE(m)))
			return GFX9_FAULT;
	rmw_targets(s, &t);
	return GFX9_GO;
}

/*
 * All of them
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
		return rmw_any(s);
	}
}

static enum gfx9_stop rmw_pages(const struct gfx9_site *s, const uint64_t addr[GFX9_LANES])
{
	struct window win = { .page = 0 };
	struct targets t;

	if (!window_move(s, &win, addr[LANE(s->exec)], true, LANE(s->exec)))
		return GFX9_FAULT;
	for (uint64_t m = s->exec; m; m &= m - 1) {
		unsigned int lane = LANE(m);

		if (addr[lane] & (s->a->bytes - 1u))
			return gfx9_fail(s->w, addr[lane], true, lane);
		if (addr[lane] - win.page >= GFX9_PAGE &&
		    !window_move(s, &win, addr[lane], true, lane))
			return GFX9_FAULT;
		t.low[lane] = win.host + (addr[lane] - win.page);
	}
	t.present = t.shared = s->exec;
	rmw_targets(s, &t);
	return GFX9_GO;
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
		return rmw_pages(s, addr);
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
		if (va % GFX9_PAGE > GFX9_PAGE - 4 * GFX9_LANES)
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
