/* SPDX-License-Identifier: MIT */
/*
 * Common parts of FLAT, GLOBAL, SCRATCH, MUBUF and DS instructions.
 *
 * An instruction first checks its registers (GFX9_ILLEGAL if the wave does not have them), then
 * finds the memory of every active lane, and only then changes a register: a fault leaves the
 * registers unchanged. Stores are done lane by lane, so lanes before the bad one have stored;
 * atomics find all their lanes first.
 *
 * Atomics on pages are atomic against other host threads, and a lane's aligned load or store is a
 * single access (single_copy.h). LDS and scratch belong to waves that one host thread runs, so
 * plain accesses are enough there.
 */
#ifndef GP__EMU_GFX9_MEMORY_H
#define GP__EMU_GFX9_MEMORY_H

#include <string.h>

#include "emu/gfx9/operand.h"
#include "emu/gfx9/single_copy.h"
#include "emu/gfx9/variant.h"

enum gfx9_access_kind { GFX9_NO_ACCESS, GFX9_LOAD, GFX9_STORE, GFX9_RMW };

/* Flags of loads and stores of less than a dword */
#define GFX9_SIGNED 1u
#define GFX9_D16 2u /* fills half a register and clears the other half: SRAM-ECC is always on */
#define GFX9_HI 4u /* the upper half of the register */
#define GFX9_TO_LDS 8u /* a load into LDS */

enum gfx9_rmw {
	GFX9_RMW_SWAP,
	GFX9_RMW_CMPSWAP,
	GFX9_RMW_ADD,
	GFX9_RMW_SUB,
	GFX9_RMW_RSUB,
	GFX9_RMW_SMIN,
	GFX9_RMW_UMIN,
	GFX9_RMW_SMAX,
	GFX9_RMW_UMAX,
	GFX9_RMW_AND,
	GFX9_RMW_OR,
	GFX9_RMW_XOR,
	GFX9_RMW_INC,
	GFX9_RMW_DEC,
	GFX9_RMW_MSKOR,
	GFX9_RMW_WRAP,
	GFX9_RMW_CONDXCHG,
	GFX9_RMW_FADD,
	GFX9_RMW_FMIN,
	GFX9_RMW_FMAX,
	GFX9_RMW_FCMPSWAP,
	GFX9_RMW_PK_F16,
	GFX9_RMW_PK_BF16,
};

/* The memory access of an opcode. */
struct gfx9_access {
	uint8_t kind;
	uint8_t bytes; /* of a lane in memory: 1, 2, 4, 8, 12 or 16 */
	uint8_t flags;
	uint8_t rmw;
};

extern const struct gfx9_access GFX9_V(accesses)[GFX9_OPS];

/* The place of a byte of a lane's access. */
enum gfx9_where { GFX9_NOWHERE, GFX9_IN_PAGES, GFX9_IN_SCRATCH, GFX9_IN_LDS };

/* A memory instruction in progress: how its lanes' addresses are found. */
struct gfx9_site {
	struct gfx9_wave *w;
	const struct gfx9_inst *in;
	const struct gfx9_access *a;
	uint64_t exec;
	/*
	 * Finds byte @byte of @lane's access (*@at), and how many bytes (*@run, from 1) are
	 * contiguous from there.
	 */
	enum gfx9_where (*find)(const struct gfx9_site *s, unsigned int lane, unsigned int byte,
				uint64_t *at, unsigned int *run);
	const void *priv;
};

/* The instruction with any addresses; slow. */
enum gfx9_stop GFX9_V(access_any)(const struct gfx9_site *s);
/* The same where lane i is at @addr[i] of the pages. */
enum gfx9_stop GFX9_V(access_pages)(const struct gfx9_site *s, const uint64_t addr[GFX9_LANES]);
/*
 * The same where dword k of lane i is at @va + 256 * k + 4 * i. False: not possible in this way,
 * nothing was done.
 */
bool GFX9_V(access_rows)(const struct gfx9_site *s, uint64_t va);
/*
 * Loads and stores where lane i is at @off[i] of LDS. False: not possible in this way, nothing was
 * done.
 */
bool GFX9_V(access_lds)(const struct gfx9_site *s, const uint32_t off[GFX9_LANES]);
/* The same of atomics only, with at least one active lane. */
enum gfx9_stop GFX9_V(rmw_any)(const struct gfx9_site *s);
enum gfx9_stop GFX9_V(rmw_pages)(const struct gfx9_site *s, const uint64_t addr[GFX9_LANES]);
/* False: the wave does not have the registers. */
bool GFX9_V(data_exists)(const struct gfx9_wave *w, const struct gfx9_inst *in,
			 const struct gfx9_access *a);

/* The new value of an atomic; @y is the second operand, if any. */
uint32_t GFX9_V(rmw32)(enum gfx9_rmw op, uint32_t old, uint32_t x, uint32_t y);
uint64_t GFX9_V(rmw64)(enum gfx9_rmw op, uint64_t old, uint64_t x, uint64_t y);

gfx9_run_fn GFX9_V(flat), GFX9_V(global), GFX9_V(global_load1), GFX9_V(global_load2),
	GFX9_V(global_load3), GFX9_V(global_load4), GFX9_V(global_store1), GFX9_V(global_store2),
	GFX9_V(global_store3), GFX9_V(global_store4), GFX9_V(scratch), GFX9_V(buffer),
	GFX9_V(buffer_format), GFX9_V(buffer_store_lds), GFX9_V(buffer_cache), GFX9_V(ds_read),
	GFX9_V(ds_read1), GFX9_V(ds_read2), GFX9_V(ds_read3), GFX9_V(ds_read4), GFX9_V(ds_write),
	GFX9_V(ds_write1), GFX9_V(ds_write2), GFX9_V(ds_write3), GFX9_V(ds_write4),
	GFX9_V(ds_read2_b32), GFX9_V(ds_read2_b64), GFX9_V(ds_read2st64_b32),
	GFX9_V(ds_read2st64_b64), GFX9_V(ds_write2_b32), GFX9_V(ds_write2_b64),
	GFX9_V(ds_write2st64_b32), GFX9_V(ds_write2st64_b64), GFX9_V(ds_pair_swap), GFX9_V(ds_rmw),
	GFX9_V(ds_rmw_rtn), GFX9_V(ds_append), GFX9_V(ds_addtid), GFX9_V(ds_nop),
	GFX9_V(ds_swizzle), GFX9_V(ds_permute), GFX9_V(ds_bpermute);

/*
 * Finds the addresses of a FLAT, GLOBAL or SCRATCH instruction and fills in find and priv of @s,
 * with @room for them; the caller has filled in the rest. False: another instruction, or the wave
 * does not have the registers.
 */
union gfx9_addresses {
	uint64_t address[GFX9_LANES];
	uint32_t offset[GFX9_LANES]; /* of SCRATCH */
};
bool GFX9_V(flat_open)(struct gfx9_site *s, union gfx9_addresses *room);

/* Whether the wave has @n vector registers from operand @code on. */
static inline bool gfx9_has_rows(const struct gfx9_wave *w, unsigned int code, unsigned int n)
{
	if (code >= GFX9_AGPR)
		return code - GFX9_AGPR + n <= w->nr_agprs;
	return code >= GFX9_VGPR && code - GFX9_VGPR + n <= w->nr_vgprs;
}

static inline unsigned int gfx9_registers(const struct gfx9_access *a)
{
	return (a->bytes + 3u) / 4;
}

static inline unsigned int gfx9_first_lane(uint64_t lanes)
{
	return (unsigned int)__builtin_ctzll(lanes);
}

static inline enum gfx9_stop gfx9_fail(struct gfx9_wave *w, uint64_t address, bool write,
				       unsigned int lane)
{
	w->fault = (struct gfx9_fault){ .address = address, .write = write, .lane = lane };
	return GFX9_FAULT;
}

/* The page that the lanes of an instruction were last found in. */
struct gfx9_page_window {
	uint64_t page;
	uint8_t *host;
};

/* Moves the window to @va; false: a fault. */
static inline bool gfx9_page_window_move(const struct gfx9_site *s, struct gfx9_page_window *win,
					 uint64_t va, bool write, unsigned int lane)
{
	uint64_t page = va & ~(EMU_PAGE - 1);
	uint8_t *host = gfx9_tlb_at(s->w->tlb, page, write);

	if (!host) {
		gfx9_fail(s->w, va, write, lane);
		return false;
	}
	win->page = page;
	win->host = host;
	return true;
}

/* Returns the register's content after a load of less than a dword. */
static inline uint32_t gfx9_widen(uint32_t raw, unsigned int bytes, unsigned int flags)
{
	unsigned int unused = 32 - 8 * bytes;

	if (flags & GFX9_SIGNED)
		raw = (uint32_t)((int32_t)(raw << unused) >> unused);
	if (!(flags & GFX9_D16))
		return raw;
	return flags & GFX9_HI ? raw << 16 : raw & 0xffff;
}

/* The active lanes of @row that hold more than @last. */
ALWAYS_INLINE uint64_t gfx9_lanes_above(const uint32_t *row, uint32_t last, uint64_t exec)
{
#ifdef __AVX512F__
	uint64_t above = 0;

	for (unsigned int i = 0; i < GFX9_LANES; i += 16)
		above |= (uint64_t)_mm512_cmpgt_epu32_mask(_mm512_loadu_si512(row + i),
							   _mm512_set1_epi32((int)last))
			 << i;
#else
	uint32_t mask[GFX9_LANES];
	uint64_t above;

	for (unsigned int i = 0; i < GFX9_LANES; i++)
		mask[i] = row[i] > last ? ~0u : 0;
	above = compress(mask);
#endif
	return above & exec;
}

/* The active lanes of @row that do not hold @value. */
ALWAYS_INLINE uint64_t gfx9_lanes_unlike(const uint32_t *row, uint32_t value, uint64_t exec)
{
#ifdef __AVX512F__
	uint64_t unlike = 0;

	for (unsigned int i = 0; i < GFX9_LANES; i += 16)
		unlike |= (uint64_t)_mm512_cmpneq_epi32_mask(_mm512_loadu_si512(row + i),
							     _mm512_set1_epi32((int)value))
			  << i;
#else
	uint32_t mask[GFX9_LANES];
	uint64_t unlike;

	for (unsigned int i = 0; i < GFX9_LANES; i++)
		mask[i] = row[i] != value ? ~0u : 0;
	unlike = compress(mask);
#endif
	return unlike & exec;
}

/* Whether all 64 lanes are a sequence with @step, without overflow. */
ALWAYS_INLINE bool gfx9_in_sequence(const uint32_t *row, uint32_t step)
{
	uint32_t first = row[0], differ = 0;

	if (row[GFX9_LANES - 1] - first != (GFX9_LANES - 1) * step ||
	    first > UINT32_MAX - GFX9_LANES * step)
		return false;
	for (uint32_t i = 0; i < GFX9_LANES; i++)
		differ |= (row[i] - first) ^ (i * step);
	return !differ;
}

ALWAYS_INLINE bool gfx9_all_equal(const uint32_t *row)
{
	uint32_t first = row[0], differ = 0;

	for (unsigned int i = 0; i < GFX9_LANES; i++)
		differ |= row[i] ^ first;
	return !differ;
}

/*
 * Lanes at arbitrary addresses are handled in blocks of eight: tiles of matrices are rarely
 * narrower.
 */
#define GFX9_BLOCK 8
_Static_assert(sizeof(gfx9_octet) == 4 * GFX9_BLOCK, "an octet is a row of a block");

/*
 * Transposes four dwords of four lanes, from lane order to dword order or back, with the given
 * pitches.
 */
ALWAYS_INLINE void gfx9_turn(void *to, size_t to_pitch, const void *from, size_t from_pitch)
{
	const char *in = from;
	char *out = to;
	gfx9_quad q0 = gfx9_peek128(in);
	gfx9_quad q1 = gfx9_peek128(in + from_pitch);
	gfx9_quad q2 = gfx9_peek128(in + 2 * from_pitch);
	gfx9_quad q3 = gfx9_peek128(in + 3 * from_pitch);
	gfx9_quad a = __builtin_shufflevector(q0, q1, 0, 4, 1, 5);
	gfx9_quad b = __builtin_shufflevector(q0, q1, 2, 6, 3, 7);
	gfx9_quad c = __builtin_shufflevector(q2, q3, 0, 4, 1, 5);
	gfx9_quad d = __builtin_shufflevector(q2, q3, 2, 6, 3, 7);

	gfx9_poke128(out, __builtin_shufflevector(a, c, 0, 1, 4, 5));
	gfx9_poke128(out + to_pitch, __builtin_shufflevector(a, c, 2, 3, 6, 7));
	gfx9_poke128(out + 2 * to_pitch, __builtin_shufflevector(b, d, 0, 1, 4, 5));
	gfx9_poke128(out + 3 * to_pitch, __builtin_shufflevector(b, d, 2, 3, 6, 7));
}

/* The same for two dwords of four lanes, which are interleaved on one side. */
ALWAYS_INLINE void gfx9_unzip(uint32_t *even, uint32_t *odd, const uint8_t *from)
{
	gfx9_quad a = gfx9_peek128(from), b = gfx9_peek128(from + 16);

	*(gfx9_quad *)even = __builtin_shufflevector(a, b, 0, 2, 4, 6);
	*(gfx9_quad *)odd = __builtin_shufflevector(a, b, 1, 3, 5, 7);
}

ALWAYS_INLINE void gfx9_zip(uint8_t *to, const uint32_t *even, const uint32_t *odd)
{
	gfx9_quad a = *(const gfx9_quad *)even, b = *(const gfx9_quad *)odd;

	gfx9_poke128(to, __builtin_shufflevector(a, b, 0, 4, 1, 5));
	gfx9_poke128(to + 16, __builtin_shufflevector(a, b, 2, 6, 3, 7));
}

/* Converts @n dwords of each lane, in lane order at @from, to @n rows; and back. */
ALWAYS_INLINE void gfx9_spread(uint32_t (*restrict rows)[GFX9_LANES], const uint8_t *restrict from,
			       unsigned int n)
{
	switch (n) {
	case 1:
		for (unsigned int i = 0; i < GFX9_LANES; i += GFX9_BLOCK)
			gfx9_peek_octet(&rows[0][i], from + 4 * i);
		return;
	case 2:
		for (unsigned int i = 0; i < GFX9_LANES; i += 4)
			gfx9_unzip(&rows[0][i], &rows[1][i], from + 8 * i);
		return;
	case 4:
		for (unsigned int i = 0; i < GFX9_LANES; i += 4)
			gfx9_turn(&rows[0][i], sizeof(*rows), from + 16 * i, 16);
		return;
	default:
		for (unsigned int i = 0; i < GFX9_LANES; i++)
			for (unsigned int k = 0; k < n; k++)
				rows[k][i] = gfx9_peek32(from + 4 * (n * i + k));
	}
}

ALWAYS_INLINE void gfx9_collect(uint8_t *restrict to, uint32_t (*restrict rows)[GFX9_LANES],
				unsigned int n)
{
	switch (n) {
	case 1:
		for (unsigned int i = 0; i < GFX9_LANES; i += GFX9_BLOCK)
			gfx9_poke_octet(to + 4 * i, &rows[0][i]);
		return;
	case 2:
		for (unsigned int i = 0; i < GFX9_LANES; i += 4)
			gfx9_zip(to + 8 * i, &rows[0][i], &rows[1][i]);
		return;
	case 4:
		for (unsigned int i = 0; i < GFX9_LANES; i += 4)
			gfx9_turn(to + 16 * i, 16, &rows[0][i], sizeof(*rows));
		return;
	default:
		for (unsigned int i = 0; i < GFX9_LANES; i++)
			for (unsigned int k = 0; k < n; k++)
				gfx9_poke32(to + 4 * (n * i + k), rows[k][i]);
	}
}

enum gfx9_pattern {
	GFX9_PARTIAL, /* not all lanes are active */
	GFX9_SCATTERED,
	GFX9_IN_BLOCKS, /* the lanes of each block are contiguous */
	GFX9_ONE_PLACE, /* the lanes of each block are at one address */
};

ALWAYS_INLINE bool gfx9_any(const gfx9_octet *v)
{
	uint64_t part[sizeof(*v) / 8];

	memcpy(part, v, sizeof(part));
	return part[0] | part[1] | part[2] | part[3];
}

/* The pattern of the active lanes' addresses, each with @bytes. */
ALWAYS_INLINE enum gfx9_pattern gfx9_pattern(const uint32_t *off, uint32_t bytes, uint64_t exec)
{
	gfx9_octet steps = { 0,		bytes,	   2 * bytes, 3 * bytes,
			     4 * bytes, 5 * bytes, 6 * bytes, 7 * bytes };
	gfx9_octet apart = { 0 }, differ = { 0 };

	if (exec != GFX9_ALL_LANES)
		return GFX9_PARTIAL;
	for (unsigned int i = 0; i < GFX9_LANES; i += GFX9_BLOCK) {
		gfx9_octet at = *(const gfx9_octet *)(off + i);
		gfx9_octet delta = at - __builtin_shufflevector(at, at, 0, 0, 0, 0, 0, 0, 0, 0);

		differ |= delta;
		apart |= delta ^ steps;
	}
	if (!gfx9_any(&apart))
		return GFX9_IN_BLOCKS;
	return gfx9_any(&differ) ? GFX9_SCATTERED : GFX9_ONE_PLACE;
}

/* Loads one lane. */
ALWAYS_INLINE void gfx9_load_lane(uint32_t (*rows)[GFX9_LANES], unsigned int lane,
				  const uint8_t *from, unsigned int bytes)
{
	uint64_t pair;
	gfx9_quad quad;

	switch (bytes) {
	case 1:
		rows[0][lane] = *from;
		break;
	case 2:
		rows[0][lane] = gfx9_peek16(from);
		break;
	case 8:
		pair = gfx9_peek64(from);
		rows[0][lane] = (uint32_t)pair;
		rows[1][lane] = (uint32_t)(pair >> 32);
		break;
	case 16:
		quad = gfx9_peek128(from);
		for (unsigned int k = 0; k < 4; k++)
			rows[k][lane] = quad[k];
		break;
	default:
		for (unsigned int k = 0; k < bytes / 4; k++)
			rows[k][lane] = gfx9_peek32(from + 4 * k);
	}
}

/* Loads a block whose lanes are contiguous from @from on. */
ALWAYS_INLINE void gfx9_load_block(uint32_t (*rows)[GFX9_LANES], unsigned int lane,
				   const uint8_t *from, unsigned int bytes)
{
	switch (bytes) {
	case 4:
		gfx9_peek_octet(&rows[0][lane], from);
		break;
	case 16:
		gfx9_turn(&rows[0][lane], sizeof(*rows), from, 16);
		gfx9_turn(&rows[0][lane + 4], sizeof(*rows), from + 64, 16);
		break;
	default:
		for (unsigned int i = 0; i < GFX9_BLOCK; i++)
			gfx9_load_lane(rows, lane + i, from + bytes * i, bytes);
	}
}

/* Loads a block whose lanes are all at @from. */
ALWAYS_INLINE void gfx9_load_same(uint32_t (*rows)[GFX9_LANES], unsigned int lane,
				  const uint8_t *from, unsigned int bytes)
{
	uint32_t one[4][GFX9_LANES];

	gfx9_load_lane(one, 0, from, bytes);
	for (unsigned int k = 0; k < (bytes + 3) / 4; k++)
		*(gfx9_octet *)&rows[k][lane] = (gfx9_octet){ 0 } + one[k][0];
}

#ifdef __AVX512F__
#define GFX9_WINDOW 128u /* bytes: two vectors, which one permutation can address */

/*
 * Whether the dwords of the @active ones (at least one) of 16 lanes at @off lie within a window of
 * the @size bytes: its start, and the dword of each lane in it.
 */
ALWAYS_INLINE bool gfx9_window(uint32_t size, const uint32_t *off, uint32_t active, uint32_t *from,
			       __m512i *dword)
{
	uint32_t first = off[__builtin_ctz(active)], last = off[31 - __builtin_clz(active)];
	__m512i at = _mm512_loadu_si512(off);

	if (size < GFX9_WINDOW)
		return false;
	first = first < last ? first : last;
	*from = first < size - GFX9_WINDOW ? first : size - GFX9_WINDOW;
	/* Offsets that are not a multiple of four become too large. */
	*dword = _mm512_ror_epi32(_mm512_sub_epi32(at, _mm512_set1_epi32((int)*from)), 2);
	return !(_mm512_cmpgt_epu32_mask(*dword, _mm512_set1_epi32(GFX9_WINDOW / 4 - 1)) & active);
}

/* Loads 16 lanes of each of @n rows, from @off behind as many bases. */
ALWAYS_INLINE void gfx9_gather16(uint32_t *const *row, const uint8_t *const *base, unsigned int n,
				 uint32_t size, const uint32_t *off, unsigned int lane,
				 uint32_t active)
{
	__m512i dword;
	uint32_t from;

	if (gfx9_window(size, off + lane, active, &from, &dword)) {
		for (unsigned int k = 0; k < n; k++) {
			__m512i low = _mm512_loadu_si512(base[k] + from);
			__m512i high = _mm512_loadu_si512(base[k] + from + 64);

			_mm512_mask_storeu_epi32(row[k] + lane, (__mmask16)active,
						 _mm512_permutex2var_epi32(low, dword, high));
		}
		return;
	}
	for (uint32_t m = active; m; m &= m - 1) {
		unsigned int i = lane + gfx9_first_lane(m);
		uint32_t at = off[i];

		for (unsigned int k = 0; k < n; k++)
			row[k][i] = gfx9_peek32(base[k] + at);
	}
}

ALWAYS_INLINE void gfx9_gather_dwords(uint32_t *const *row, const uint8_t *const *base,
				      unsigned int n, uint32_t size, const uint32_t *off,
				      uint64_t exec)
{
	if (exec == GFX9_ALL_LANES) {
		for (unsigned int i = 0; i < GFX9_LANES; i += 16)
			gfx9_gather16(row, base, n, size, off, i, 0xffff);
		return;
	}
	for (unsigned int i = 0; i < GFX9_LANES; i += 16)
		if (exec >> i & 0xffff)
			gfx9_gather16(row, base, n, size, off, i, exec >> i & 0xffff);
}

/* If lanes have the same address, the last one wins. */
ALWAYS_INLINE void gfx9_scatter_dwords(uint8_t *base, uint32_t size, const uint32_t *off,
				       const uint32_t *row, uint64_t exec)
{
	const __m512i steps =
		_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);

	for (unsigned int i = 0; i < GFX9_LANES; i += 16) {
		uint32_t active = exec >> i & 0xffff, from;
		__m512i values = _mm512_loadu_si512(row + i), dword;

		if (active == 0xffff && gfx9_window(size, off + i, 0xffff, &from, &dword) &&
		    !_mm512_cmpneq_epi32_mask(dword, steps))
			_mm512_storeu_si512(base + from, values);
		else
			_mm512_mask_i32scatter_epi32(base, (__mmask16)active,
						     _mm512_loadu_si512(off + i), values, 1);
	}
}
#endif

/*
 * Loads active lanes from @base + @off[lane] + @add, all within @size bytes and without overflow.
 * @off may be one of the destination registers: it is read before it is overwritten.
 */
ALWAYS_INLINE void gfx9_gather(uint32_t (*rows)[GFX9_LANES], const uint8_t *base, uint32_t size,
			       const uint32_t *off, uint32_t add, unsigned int bytes, uint64_t exec,
			       enum gfx9_pattern pattern)
{
#ifdef __AVX512F__
	if (bytes == 4) {
		base += add;
		gfx9_gather_dwords((uint32_t *[]){ rows[0] }, &base, 1, size - add, off, exec);
		return;
	}
#else
	(void)size;
#endif
	switch (pattern) {
	case GFX9_PARTIAL:
		for (uint64_t m = exec; m; m &= m - 1) {
			unsigned int i = gfx9_first_lane(m);

			gfx9_load_lane(rows, i, base + (uint32_t)(off[i] + add), bytes);
		}
		break;
	case GFX9_SCATTERED:
		for (unsigned int i = 0; i < GFX9_LANES; i++)
			gfx9_load_lane(rows, i, base + (uint32_t)(off[i] + add), bytes);
		break;
	case GFX9_IN_BLOCKS:
		for (unsigned int i = 0; i < GFX9_LANES; i += GFX9_BLOCK)
			gfx9_load_block(rows, i, base + (uint32_t)(off[i] + add), bytes);
		break;
	case GFX9_ONE_PLACE:
		for (unsigned int i = 0; i < GFX9_LANES; i += GFX9_BLOCK)
			gfx9_load_same(rows, i, base + (uint32_t)(off[i] + add), bytes);
	}
}

/* The same for two addresses of each lane, to two sets of registers. */
ALWAYS_INLINE void gfx9_gather_pair(uint32_t (*rows)[GFX9_LANES], const uint8_t *base,
				    uint32_t size, const uint32_t *off, uint32_t first,
				    uint32_t second, unsigned int bytes, uint64_t exec)
{
	unsigned int n = bytes / 4;
	enum gfx9_pattern pattern;

#ifdef __AVX512F__
	if (bytes == 4) {
		gfx9_gather_dwords((uint32_t *[]){ rows[0], rows[1] },
				   (const uint8_t *[]){ base + first, base + second }, 2,
				   size - (first > second ? first : second), off, exec);
		return;
	}
#endif
	pattern = gfx9_pattern(off, bytes, exec);
	gfx9_gather(rows, base, size, off, first, bytes, exec, pattern);
	gfx9_gather(rows + n, base, size, off, second, bytes, exec, pattern);
}

/* Stores the low bytes of a lane's registers, shifted right by @shift. */
ALWAYS_INLINE void gfx9_store_lane(uint8_t *to, uint32_t (*rows)[GFX9_LANES], unsigned int lane,
				   unsigned int bytes, unsigned int shift)
{
	gfx9_quad quad;

	switch (bytes) {
	case 1:
		*to = (uint8_t)(rows[0][lane] >> shift);
		break;
	case 2:
		gfx9_poke16(to, (uint16_t)(rows[0][lane] >> shift));
		break;
	case 8:
		gfx9_poke64(to, rows[0][lane] | (uint64_t)rows[1][lane] << 32);
		break;
	case 16:
		quad = (gfx9_quad){ rows[0][lane], rows[1][lane], rows[2][lane], rows[3][lane] };
		gfx9_poke128(to, quad);
		break;
	default:
		for (unsigned int k = 0; k < bytes / 4; k++)
			gfx9_poke32(to + 4 * k, rows[k][lane]);
	}
}

ALWAYS_INLINE void gfx9_store_block(uint8_t *to, uint32_t (*rows)[GFX9_LANES], unsigned int lane,
				    unsigned int bytes, unsigned int shift)
{
	switch (bytes) {
	case 4:
		gfx9_poke_octet(to, &rows[0][lane]);
		break;
	case 16:
		gfx9_turn(to, 16, &rows[0][lane], sizeof(*rows));
		gfx9_turn(to + 64, 16, &rows[0][lane + 4], sizeof(*rows));
		break;
	default:
		for (unsigned int i = 0; i < GFX9_BLOCK; i++)
			gfx9_store_lane(to + bytes * i, rows, lane + i, bytes, shift);
	}
}

/* As gfx9_gather(). If lanes have the same address, the last one wins. */
ALWAYS_INLINE void gfx9_scatter(uint8_t *base, uint32_t size, const uint32_t *off, uint32_t add,
				uint32_t (*rows)[GFX9_LANES], unsigned int bytes,
				unsigned int shift, uint64_t exec, enum gfx9_pattern pattern)
{
#ifdef __AVX512F__
	if (bytes == 4) {
		gfx9_scatter_dwords(base + add, size - add, off, rows[0], exec);
		return;
	}
#else
	(void)size;
#endif
	switch (pattern) {
	case GFX9_PARTIAL:
		for (uint64_t m = exec; m; m &= m - 1) {
			unsigned int i = gfx9_first_lane(m);

			gfx9_store_lane(base + (uint32_t)(off[i] + add), rows, i, bytes, shift);
		}
		break;
	case GFX9_IN_BLOCKS:
		for (unsigned int i = 0; i < GFX9_LANES; i += GFX9_BLOCK)
			gfx9_store_block(base + (uint32_t)(off[i] + add), rows, i, bytes, shift);
		break;
	default:
		for (unsigned int i = 0; i < GFX9_LANES; i++)
			gfx9_store_lane(base + (uint32_t)(off[i] + add), rows, i, bytes, shift);
	}
}

/* The new value of an atomic on integers, in both sizes. */
#define GFX9_RMW_INTEGER(name, word, sword)                                 \
	ALWAYS_INLINE word name(enum gfx9_rmw op, word old, word x, word y) \
	{                                                                   \
		switch (op) {                                               \
		case GFX9_RMW_SWAP:                                         \
			return x;                                           \
		case GFX9_RMW_CMPSWAP:                                      \
			return old == y ? x : old;                          \
		case GFX9_RMW_ADD:                                          \
			return old + x;                                     \
		case GFX9_RMW_SUB:                                          \
			return old - x;                                     \
		case GFX9_RMW_RSUB:                                         \
			return x - old;                                     \
		case GFX9_RMW_SMIN:                                         \
			return (sword)x < (sword)old ? x : old;             \
		case GFX9_RMW_UMIN:                                         \
			return x < old ? x : old;                           \
		case GFX9_RMW_SMAX:                                         \
			return (sword)x > (sword)old ? x : old;             \
		case GFX9_RMW_UMAX:                                         \
			return x > old ? x : old;                           \
		case GFX9_RMW_AND:                                          \
			return old & x;                                     \
		case GFX9_RMW_OR:                                           \
			return old | x;                                     \
		case GFX9_RMW_XOR:                                          \
			return old ^ x;                                     \
		case GFX9_RMW_INC:                                          \
			return old >= x ? 0 : old + 1;                      \
		case GFX9_RMW_DEC:                                          \
			return !old || old > x ? x : old - 1;               \
		case GFX9_RMW_MSKOR:                                        \
			return (old & ~x) | y;                              \
		case GFX9_RMW_WRAP:                                         \
			return old >= x ? old - x : old + y;                \
		default:                                                    \
			return old;                                         \
		}                                                           \
	}

GFX9_RMW_INTEGER(gfx9_rmw32_integer, uint32_t, int32_t)
GFX9_RMW_INTEGER(gfx9_rmw64_integer, uint64_t, int64_t)
#undef GFX9_RMW_INTEGER

#endif
