// SPDX-License-Identifier: MIT
/*
 * DS: LDS, and moving data between lanes.
 *
 * An address is the sum of a register and the instruction's offset modulo 2^32. A dword that does
 * not end within the workgroup's LDS reads as 0 and is not written; so is the whole of an atomic.
 * There is no GDS.
 */
#include "emu/gfx9/memory.h"

#define LANE(mask) gfx9_first_lane(mask)

typedef uint32_t (*rows_t)[GFX9_LANES];

static rows_t rows_of(struct gfx9_wave *w, unsigned int code)
{
	return (rows_t)gfx9_row(w, code);
}

static uint32_t offset16(const struct gfx9_inst *in)
{
	return (uint32_t)in->offset | (uint32_t)in->offset1 << 8;
}

static inline bool inside(const struct gfx9_wave *w, uint32_t at, uint32_t bytes)
{
	return bytes <= w->lds_bytes && at <= w->lds_bytes - bytes;
}

/* Whether all active lanes have @bytes at their address, without wrapping around. */
ALWAYS_INLINE bool all_inside(struct gfx9_wave *w, const uint32_t *addr, uint32_t offset,
			      uint32_t bytes)
{
	return offset + bytes <= w->lds_bytes &&
	       !gfx9_lanes_above(addr, w->lds_bytes - bytes - offset, gfx9_exec(w));
}

/*
 * Reads
 */

static uint32_t read_dword(const struct gfx9_wave *w, uint32_t at)
{
	uint32_t value = 0;

	if (inside(w, at, sizeof(value)))
		memcpy(&value, w->lds + at, sizeof(value));
	return value;
}

static void read_checked(struct gfx9_wave *w, rows_t dst, const uint32_t *addr, uint32_t offset,
			 unsigned int n)
{
	for (uint64_t m = gfx9_exec(w); m; m &= m - 1) {
		uint32_t at = addr[LANE(m)] + offset;

		for (unsigned int k = 0; k < n; k++)
			dst[k][LANE(m)] = read_dword(w, at + 4 * k);
	}
}

ALWAYS_INLINE void read_rows(struct gfx9_wave *w, rows_t dst, const uint32_t *addr, uint32_t offset,
			     unsigned int n)
{
	if (all_inside(w, addr, offset, 4 * n))
		gfx9_gather(dst, w->lds, w->lds_bytes, addr, offset, 4 * n, gfx9_exec(w),
			    gfx9_pattern(addr, 4 * n, gfx9_exec(w)));
	else
		read_checked(w, dst, addr, offset, n);
}

ALWAYS_INLINE enum gfx9_stop read_n(struct gfx9_wave *w, const struct gfx9_inst *in, unsigned int n)
{
	if (in->gds || !gfx9_has_rows(w, in->src[0], 1) || !gfx9_has_rows(w, in->dst, n))
		return GFX9_ILLEGAL;
	read_rows(w, rows_of(w, in->dst), gfx9_row(w, in->src[0]), offset16(in), n);
	return GFX9_GO;
}

enum gfx9_stop GFX9_V(ds_read1)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return read_n(w, in, 1);
}

enum gfx9_stop GFX9_V(ds_read2)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return read_n(w, in, 2);
}

enum gfx9_stop GFX9_V(ds_read3)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return read_n(w, in, 3);
}

enum gfx9_stop GFX9_V(ds_read4)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return read_n(w, in, 4);
}

/* Less than a dword, where all active lanes are within LDS. */
static bool part_inside(struct gfx9_wave *w, const struct gfx9_inst *in,
			const struct gfx9_access *a)
{
	struct gfx9_site s = { .w = w, .in = in, .a = a, .exec = gfx9_exec(w) };
	const uint32_t *addr = gfx9_row(w, in->src[0]);
	uint32_t off[GFX9_LANES];

	for (unsigned int i = 0; i < GFX9_LANES; i++)
		off[i] = addr[i] + offset16(in);
	return GFX9_V(access_lds)(&s, off);
}

/* Less than a dword */
enum gfx9_stop GFX9_V(ds_read)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	const struct gfx9_access *a = &GFX9_V(accesses)[in->op];
	uint32_t *dst;
	const uint32_t *addr;

	if (in->gds || !gfx9_has_rows(w, in->src[0], 1) || !gfx9_has_rows(w, in->dst, 1))
		return GFX9_ILLEGAL;
	if (part_inside(w, in, a))
		return GFX9_GO;
	dst = gfx9_row(w, in->dst);
	addr = gfx9_row(w, in->src[0]);
	for (uint64_t m = gfx9_exec(w); m; m &= m - 1) {
		uint32_t at = addr[LANE(m)] + offset16(in);
		uint16_t value = 0;

		if (inside(w, at, a->bytes))
			memcpy(&value, w->lds + at, a->bytes);
		dst[LANE(m)] = gfx9_widen(value, a->bytes, a->flags);
	}
	return GFX9_GO;
}

/*
 * Writes
 */

static void write_dword(const struct gfx9_wave *w, uint32_t at, uint32_t value)
{
	if (inside(w, at, sizeof(value)))
		memcpy(w->lds + at, &value, sizeof(value));
}

static void write_checked(struct gfx9_wave *w, rows_t src, const uint32_t *addr, uint32_t offset,
			  unsigned int n)
{
	for (uint64_t m = gfx9_exec(w); m; m &= m - 1)
		for (unsigned int k = 0; k < n; k++)
			write_dword(w, addr[LANE(m)] + offset + 4 * k, src[k][LANE(m)]);
}

ALWAYS_INLINE void write_rows(struct gfx9_wave *w, rows_t src, const uint32_t *addr,
			      uint32_t offset, unsigned int n)
{
	if (all_inside(w, addr, offset, 4 * n))
		gfx9_scatter(w->lds, w->lds_bytes, addr, offset, src, 4 * n, 0, gfx9_exec(w),
			     gfx9_pattern(addr, 4 * n, gfx9_exec(w)));
	else
		write_checked(w, src, addr, offset, n);
}

ALWAYS_INLINE enum gfx9_stop write_n(struct gfx9_wave *w, const struct gfx9_inst *in,
				     unsigned int n)
{
	if (in->gds || !gfx9_has_rows(w, in->src[0], 1) || !gfx9_has_rows(w, in->src[1], n))
		return GFX9_ILLEGAL;
	write_rows(w, rows_of(w, in->src[1]), gfx9_row(w, in->src[0]), offset16(in), n);
	return GFX9_GO;
}

enum gfx9_stop GFX9_V(ds_write1)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return write_n(w, in, 1);
}

enum gfx9_stop GFX9_V(ds_write2)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return write_n(w, in, 2);
}

enum gfx9_stop GFX9_V(ds_write3)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return write_n(w, in, 3);
}

enum gfx9_stop GFX9_V(ds_write4)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return write_n(w, in, 4);
}

/* Less than a dword */
enum gfx9_stop GFX9_V(ds_write)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	const struct gfx9_access *a = &GFX9_V(accesses)[in->op];
	const uint32_t *addr, *src;

	if (in->gds || !gfx9_has_rows(w, in->src[0], 1) || !gfx9_has_rows(w, in->src[1], 1))
		return GFX9_ILLEGAL;
	if (part_inside(w, in, a))
		return GFX9_GO;
	addr = gfx9_row(w, in->src[0]);
	src = gfx9_row(w, in->src[1]);
	for (uint64_t m = gfx9_exec(w); m; m &= m - 1) {
		uint32_t at = addr[LANE(m)] + offset16(in);
		uint16_t value = (uint16_t)(src[LANE(m)] >> (a->flags & GFX9_HI ? 16 : 0));

		if (inside(w, at, a->bytes))
			memcpy(w->lds + at, &value, a->bytes);
	}
	return GFX9_GO;
}

/*
 * Two places at once: at offset0 and offset1, in units of an element or of 64
 */

/* @unit is that of the offsets in bytes, @n the dwords of an element. */
ALWAYS_INLINE enum gfx9_stop pair_read(struct gfx9_wave *w, const struct gfx9_inst *in,
				       unsigned int n, uint32_t unit)
{
	uint32_t first = (uint32_t)in->offset * unit, second = in->offset1 * unit;
	uint32_t copy[GFX9_LANES];
	const uint32_t *addr;
	rows_t dst;

	if (in->gds || !gfx9_has_rows(w, in->src[0], 1) || !gfx9_has_rows(w, in->dst, 2 * n))
		return GFX9_ILLEGAL;
	addr = gfx9_row(w, in->src[0]);
	dst = rows_of(w, in->dst);
	/* The first half may overwrite the address. */
	if (in->src[0] >= in->dst && in->src[0] < in->dst + n)
		addr = memcpy(copy, addr, sizeof(copy));
	if (all_inside(w, addr, first > second ? first : second, 4 * n)) {
		gfx9_gather_pair(dst, w->lds, w->lds_bytes, addr, first, second, 4 * n,
				 gfx9_exec(w));
	} else {
		read_checked(w, dst, addr, first, n);
		read_checked(w, dst + n, addr, second, n);
	}
	return GFX9_GO;
}

static bool pair_sources(const struct gfx9_wave *w, const struct gfx9_inst *in, unsigned int n)
{
	return !in->gds && gfx9_has_rows(w, in->src[0], 1) && gfx9_has_rows(w, in->src[1], n) &&
	       gfx9_has_rows(w, in->src[2], n);
}

ALWAYS_INLINE enum gfx9_stop pair_write(struct gfx9_wave *w, const struct gfx9_inst *in,
					unsigned int n, uint32_t unit)
{
	uint32_t first = (uint32_t)in->offset * unit, second = in->offset1 * unit;
	uint64_t exec = gfx9_exec(w);
	enum gfx9_pattern pattern;
	const uint32_t *addr;
	rows_t x, y;

	if (!pair_sources(w, in, n))
		return GFX9_ILLEGAL;
	addr = gfx9_row(w, in->src[0]);
	x = rows_of(w, in->src[1]);
	y = rows_of(w, in->src[2]);
	if (all_inside(w, addr, first > second ? first : second, 4 * n)) {
		pattern = gfx9_pattern(addr, 4 * n, exec);
		gfx9_scatter(w->lds, w->lds_bytes, addr, first, x, 4 * n, 0, exec, pattern);
		gfx9_scatter(w->lds, w->lds_bytes, addr, second, y, 4 * n, 0, exec, pattern);
	} else {
		write_checked(w, x, addr, first, n);
		write_checked(w, y, addr, second, n);
	}
	return GFX9_GO;
}

#define PAIR(name, does, n, unit)                                            \
	enum gfx9_stop name(struct gfx9_wave *w, const struct gfx9_inst *in) \
	{                                                                    \
		return does(w, in, n, unit);                                 \
	}
PAIR(GFX9_V(ds_read2_b32), pair_read, 1, 4)
PAIR(GFX9_V(ds_read2_b64), pair_read, 2, 8)
PAIR(GFX9_V(ds_read2st64_b32), pair_read, 1, 4 * 64)
PAIR(GFX9_V(ds_read2st64_b64), pair_read, 2, 8 * 64)
PAIR(GFX9_V(ds_write2_b32), pair_write, 1, 4)
PAIR(GFX9_V(ds_write2_b64), pair_write, 2, 8)
PAIR(GFX9_V(ds_write2st64_b32), pair_write, 1, 4 * 64)
PAIR(GFX9_V(ds_write2st64_b64), pair_write, 2, 8 * 64)

static void swap_at(const struct gfx9_wave *w, uint32_t at, uint32_t *value, unsigned int n)
{
	for (unsigned int k = 0; k < n; k++) {
		uint32_t old = read_dword(w, at + 4 * k);

		write_dword(w, at + 4 * k, value[k]);
		value[k] = old;
	}
}

enum gfx9_stop GFX9_V(ds_pair_swap)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	bool far = in->op == GFX9_DS_WRXCHG2ST64_RTN_B32 || in->op == GFX9_DS_WRXCHG2ST64_RTN_B64;
	bool wide = in->op == GFX9_DS_WRXCHG2_RTN_B64 || in->op == GFX9_DS_WRXCHG2ST64_RTN_B64;
	unsigned int n = wide ? 2 : 1;
	uint32_t unit = 4 * n * (far ? 64 : 1);

	if (!pair_sources(w, in, n) || !gfx9_has_rows(w, in->dst, 2 * n))
		return GFX9_ILLEGAL;
	for (uint64_t m = gfx9_exec(w); m; m &= m - 1) {
		uint32_t addr = gfx9_row(w, in->src[0])[LANE(m)], value[4];

		for (unsigned int k = 0; k < n; k++) {
			value[k] = gfx9_row(w, in->src[1] + k)[LANE(m)];
			value[n + k] = gfx9_row(w, in->src[2] + k)[LANE(m)];
		}
		swap_at(w, addr + (uint32_t)in->offset * unit, value, n);
		swap_at(w, addr + in->offset1 * unit, value + n, n);
		for (unsigned int k = 0; k < 2 * n; k++)
			gfx9_row(w, in->dst + k)[LANE(m)] = value[k];
	}
	return GFX9_GO;
}

/*
 * Atomics: no other host thread uses this LDS
 */

static inline bool has_second(enum gfx9_rmw op)
{
	return op == GFX9_RMW_CMPSWAP || op == GFX9_RMW_FCMPSWAP || op == GFX9_RMW_MSKOR ||
	       op == GFX9_RMW_WRAP;
}

/* Unlike in other formats, the value to compare with comes first. */
static inline bool compares(enum gfx9_rmw op)
{
	return op == GFX9_RMW_CMPSWAP || op == GFX9_RMW_FCMPSWAP;
}

static inline bool is_float(enum gfx9_rmw op)
{
	return op == GFX9_RMW_FADD || op == GFX9_RMW_FMIN || op == GFX9_RMW_FMAX;
}

/* Keeps the sign of a denormal value. */
static uint32_t flushed(uint32_t bits)
{
	return bits & 0x7f800000 ? bits : bits & 0x80000000;
}

static uint32_t float_rmw(const struct gfx9_wave *w, enum gfx9_rmw op, uint32_t old, uint32_t x)
{
	unsigned int keep = GFX9_MODE_DENORM_F32(w->mode);
	uint32_t now;

	if (!(keep & 1)) {
		old = flushed(old);
		x = flushed(x);
	}
	now = GFX9_V(rmw32)(op, old, x, 0);
	return keep & 2 ? now : flushed(now);
}

/* If @op is a constant, the choice is made at compile time. */
ALWAYS_INLINE uint32_t new_dword(const struct gfx9_wave *w, enum gfx9_rmw op, uint32_t old,
				 uint32_t x, uint32_t y)
{
	if (is_float(op))
		return float_rmw(w, op, old, x);
	return op < GFX9_RMW_FADD ? gfx9_rmw32_integer(op, old, x, y)
				  : GFX9_V(rmw32)(op, old, x, y);
}

ALWAYS_INLINE void rmw_lanes32(struct gfx9_wave *w, const struct gfx9_inst *in, enum gfx9_rmw op,
			       uint32_t *dst)
{
	const uint32_t *addr = gfx9_row(w, in->src[0]), *x = gfx9_row(w, in->src[1]), *y = x;
	uint32_t offset = offset16(in);

	if (has_second(op))
		y = gfx9_row(w, in->src[2]);
	if (compares(op)) {
		y = x;
		x = gfx9_row(w, in->src[2]);
	}
	if (!dst && gfx9_exec(w) == GFX9_ALL_LANES && all_inside(w, addr, offset, sizeof(*x))) {
		for (unsigned int i = 0; i < GFX9_LANES; i++) {
			uint8_t *at = w->lds + (uint32_t)(addr[i] + offset);
			uint32_t old, now;

			memcpy(&old, at, sizeof(old));
			now = new_dword(w, op, old, x[i], y[i]);
			memcpy(at, &now, sizeof(now));
		}
		return;
	}
	for (uint64_t m = gfx9_exec(w); m; m &= m - 1) {
		uint32_t at = addr[LANE(m)] + offset, old = 0, now;

		if (inside(w, at, sizeof(old))) {
			memcpy(&old, w->lds + at, sizeof(old));
			now = new_dword(w, op, old, x[LANE(m)], y[LANE(m)]);
			memcpy(w->lds + at, &now, sizeof(now));
		}
		if (dst)
			dst[LANE(m)] = old;
	}
}

static void rmw_rows32(struct gfx9_wave *w, const struct gfx9_inst *in, enum gfx9_rmw op,
		       uint32_t *dst)
{
	switch (op) {
	case GFX9_RMW_ADD:
		rmw_lanes32(w, in, GFX9_RMW_ADD, dst);
		break;
	case GFX9_RMW_SMIN:
		rmw_lanes32(w, in, GFX9_RMW_SMIN, dst);
		break;
	case GFX9_RMW_SMAX:
		rmw_lanes32(w, in, GFX9_RMW_SMAX, dst);
		break;
	case GFX9_RMW_UMIN:
		rmw_lanes32(w, in, GFX9_RMW_UMIN, dst);
		break;
	case GFX9_RMW_UMAX:
		rmw_lanes32(w, in, GFX9_RMW_UMAX, dst);
		break;
	case GFX9_RMW_OR:
		rmw_lanes32(w, in, GFX9_RMW_OR, dst);
		break;
	case GFX9_RMW_INC:
		rmw_lanes32(w, in, GFX9_RMW_INC, dst);
		break;
	default:
		rmw_lanes32(w, in, op, dst);
	}
}

static uint64_t pair_at(rows_t rows, unsigned int lane)
{
	return rows[0][lane] | (uint64_t)rows[1][lane] << 32;
}

static void rmw_rows64(struct gfx9_wave *w, const struct gfx9_inst *in, enum gfx9_rmw op,
		       rows_t dst)
{
	const uint32_t *addr = gfx9_row(w, in->src[0]);
	rows_t x = rows_of(w, in->src[1]), y = x;
	uint32_t offset = offset16(in);

	if (has_second(op))
		y = rows_of(w, in->src[2]);
	if (compares(op)) {
		y = x;
		x = rows_of(w, in->src[2]);
	}
	for (uint64_t m = gfx9_exec(w); m; m &= m - 1) {
		uint32_t at = addr[LANE(m)] + offset;
		uint64_t old = 0, now;

		if (inside(w, at, sizeof(old))) {
			memcpy(&old, w->lds + at, sizeof(old));
			now = GFX9_V(rmw64)(op, old, pair_at(x, LANE(m)), pair_at(y, LANE(m)));
			memcpy(w->lds + at, &now, sizeof(now));
		}
		if (!dst)
			continue;
		dst[0][LANE(m)] = (uint32_t)old;
		dst[1][LANE(m)] = (uint32_t)(old >> 32);
	}
}

static enum gfx9_stop rmw(struct gfx9_wave *w, const struct gfx9_inst *in, bool returns)
{
	const struct gfx9_access *a = &GFX9_V(accesses)[in->op];
	unsigned int n = gfx9_registers(a);
	rows_t dst;

	if (in->gds || !gfx9_has_rows(w, in->src[0], 1) || !gfx9_has_rows(w, in->src[1], n) ||
	    (has_second(a->rmw) && !gfx9_has_rows(w, in->src[2], n)) ||
	    (returns && !gfx9_has_rows(w, in->dst, n)))
		return GFX9_ILLEGAL;
	dst = returns ? rows_of(w, in->dst) : NULL;
	if (n == 1)
		rmw_rows32(w, in, a->rmw, dst ? dst[0] : NULL);
	else
		rmw_rows64(w, in, a->rmw, dst);
	return GFX9_GO;
}

enum gfx9_stop GFX9_V(ds_rmw)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return rmw(w, in, false);
}

enum gfx9_stop GFX9_V(ds_rmw_rtn)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return rmw(w, in, true);
}

/* ds_append and ds_consume: add or subtract the number of active lanes, once. */
enum gfx9_stop GFX9_V(ds_append)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	uint32_t at = (w->s[GFX9_M0] & 0xffff) + offset16(in), old, n;
	uint64_t exec = gfx9_exec(w);

	if (in->gds || !gfx9_has_rows(w, in->dst, 1))
		return GFX9_ILLEGAL;
	n = (uint32_t)__builtin_popcountll(exec);
	old = read_dword(w, at);
	write_dword(w, at, in->op == GFX9_DS_APPEND ? old + n : old - n);
	for (uint64_t m = exec; m; m &= m - 1)
		gfx9_row(w, in->dst)[LANE(m)] = old;
	return GFX9_GO;
}

/* A dword for each lane, from M0 on. */
enum gfx9_stop GFX9_V(ds_addtid)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	bool write = in->op == GFX9_DS_WRITE_ADDTID_B32;
	uint32_t base = (w->s[GFX9_M0] & 0xffff) + offset16(in), *row;

	if (in->gds || !gfx9_has_rows(w, write ? in->src[1] : in->dst, 1))
		return GFX9_ILLEGAL;
	row = gfx9_row(w, write ? in->src[1] : in->dst);
	for (uint64_t m = gfx9_exec(w); m; m &= m - 1) {
		if (write)
			write_dword(w, base + 4 * LANE(m), row[LANE(m)]);
		else
			row[LANE(m)] = read_dword(w, base + 4 * LANE(m));
	}
	return GFX9_GO;
}

/*
 * Between lanes; LDS is not accessed
 */

static unsigned int reversed5(unsigned int i)
{
	return (i & 1) << 4 | (i & 2) << 2 | (i & 4) | (i & 8) >> 2 | (i & 16) >> 4;
}

/* The lane that provides the value of lane @i. */
static unsigned int swizzled(uint32_t how, unsigned int i)
{
	unsigned int mask = how & 31, turn = how >> 5 & 31, from;

	if (how >= 0xe000) {
		from = (reversed5(i) >> __builtin_popcount(mask)) | (i & mask);
	} else if (how >= 0xc000) {
		turn = how & 0x400 ? i - turn : i + turn;
		from = (i & mask) | (turn & ~mask);
	} else if (how & 0x8000) {
		return (i & ~3u) | (how >> (i & 3) * 2 & 3);
	} else {
		from = ((i & mask) | turn) ^ (how >> 10 & 31);
	}
	return (from & 31) | (i & 32);
}

enum gfx9_stop GFX9_V(ds_swizzle)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	uint32_t src[GFX9_LANES], *dst;
	uint64_t exec = gfx9_exec(w);

	if (in->gds || !gfx9_has_rows(w, in->src[0], 1) || !gfx9_has_rows(w, in->dst, 1))
		return GFX9_ILLEGAL;
	memcpy(src, gfx9_row(w, in->src[0]), sizeof(src));
	dst = gfx9_row(w, in->dst);
	for (uint64_t m = exec; m; m &= m - 1) {
		unsigned int from = swizzled(offset16(in), LANE(m));

		dst[LANE(m)] = exec >> from & 1 ? src[from] : 0;
	}
	return GFX9_GO;
}

static bool permute_exists(const struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return !in->gds && gfx9_has_rows(w, in->src[0], 1) && gfx9_has_rows(w, in->src[1], 1) &&
	       gfx9_has_rows(w, in->dst, 1);
}

enum gfx9_stop GFX9_V(ds_permute)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	uint32_t moved[GFX9_LANES] = { 0 }, offset = offset16(in);
	const uint32_t *addr, *src;

	if (!permute_exists(w, in))
		return GFX9_ILLEGAL;
	addr = gfx9_row(w, in->src[0]);
	src = gfx9_row(w, in->src[1]);
	for (uint64_t m = gfx9_exec(w); m; m &= m - 1)
		moved[(addr[LANE(m)] + offset) / 4 % GFX9_LANES] = src[LANE(m)];
	for (uint64_t m = gfx9_exec(w); m; m &= m - 1)
		gfx9_row(w, in->dst)[LANE(m)] = moved[LANE(m)];
	return GFX9_GO;
}

/* Disabled lanes provide 0. */
enum gfx9_stop GFX9_V(ds_bpermute)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	uint32_t src[GFX9_LANES], offset = offset16(in), *dst;
	const uint32_t *restrict addr, *restrict lanes;

	if (!permute_exists(w, in))
		return GFX9_ILLEGAL;
	addr = gfx9_row(w, in->src[0]);
	dst = gfx9_row(w, in->dst);
	lanes = gfx9_lanes(w);
	for (unsigned int i = 0; i < GFX9_LANES; i++)
		src[i] = gfx9_row(w, in->src[1])[i] & lanes[i];
	for (uint64_t m = gfx9_exec(w); m; m &= m - 1)
		dst[LANE(m)] = src[(addr[LANE(m)] + offset) / 4 % GFX9_LANES];
	return GFX9_GO;
}

enum gfx9_stop GFX9_V(ds_nop)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	(void)w;
	(void)in;
	return GFX9_GO;
}
