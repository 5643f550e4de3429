// SPDX-License-Identifier: MIT
/*
 * Atomics of vector memory instructions: their arithmetic, and the lanes of one instruction. On
 * pages they are atomic against other host threads; LDS and scratch belong to one thread.
 */
#include "emu/gfx9/memory.h"

#define LANE(mask) gfx9_first_lane(mask)

/*
 * A sum that is a NaN: the first operand that is a NaN, made quiet, or a new NaN if both are
 * numbers. So it does not depend on the host.
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
	/* A carry out of the fraction goes into the exponent. */
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

/* A number wins over a NaN, and -0 is less than +0. */
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

/* The highest bit selects the dwords to be exchanged. */
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
 * Acquire and release, so that programs can order accesses by waiting for an atomic's result on
 * hosts with weaker ordering.
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

/* The memory of each lane's atomic; @high has the upper half if that is in another place. */
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
	/* The hardware refuses unaligned addresses; aligned data do not cross a page. */
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

enum gfx9_stop GFX9_V(rmw_any)(const struct gfx9_site *s)
{
	struct targets t;

	t.present = t.shared = 0;
	for (uint64_t m = s->exec; m; m &= m - 1)
		if (!target_find(s, &t, LANE(m)))
			return GFX9_FAULT;
	rmw_targets(s, &t);
	return GFX9_GO;
}

enum gfx9_stop GFX9_V(rmw_pages)(const struct gfx9_site *s, const uint64_t addr[GFX9_LANES])
{
	struct gfx9_page_window win = { .page = 0 };
	struct targets t;

	if (!gfx9_page_window_move(s, &win, addr[LANE(s->exec)], true, LANE(s->exec)))
		return GFX9_FAULT;
	for (uint64_t m = s->exec; m; m &= m - 1) {
		unsigned int lane = LANE(m);

		if (addr[lane] & (s->a->bytes - 1u))
			return gfx9_fail(s->w, addr[lane], true, lane);
		if (addr[lane] - win.page >= EMU_PAGE &&
		    !gfx9_page_window_move(s, &win, addr[lane], true, lane))
			return GFX9_FAULT;
		t.low[lane] = win.host + (addr[lane] - win.page);
	}
	t.present = t.shared = s->exec;
	rmw_targets(s, &t);
	return GFX9_GO;
}
