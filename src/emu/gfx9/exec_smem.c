// SPDX-License-Identifier: MIT
/*
 * Scalar memory: loads, stores and atomics through registers of the whole wave.
 *
 * A fault changes no register. Atomics are atomic on the host as well, since waves of one address
 * space run in several threads.
 */
#include "emu/gfx9/clock.h"
#include "emu/gfx9/exec_smem.h"
#include "emu/gfx9/operand.h"
#include "emu/gfx9/single_copy.h"

#define MAX_DWORDS 16
#define DWORD_BITS (~(uint64_t)3) /* the lowest two of each part of an address are ignored */
#define SCRATCH_UNIT 64 /* a scalar offset into scratch counts in these, for the lanes */

struct buffer {
	uint64_t base, size;
};

static uint64_t soffset(const struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return in->soffset_en || !in->imm ? gfx9_sreg(w, in->src[1]) & DWORD_BITS : 0;
}

static uint64_t ioffset(const struct gfx9_inst *in)
{
	return in->imm ? (uint64_t)(int64_t)in->offset & DWORD_BITS : 0;
}

static uint64_t global_at(const struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return (gfx9_sreg64(w, in->src[0]) & DWORD_BITS) + ioffset(in) + soffset(w, in);
}

static uint64_t scratch_at(const struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return (gfx9_sreg64(w, in->src[0]) & DWORD_BITS) + ioffset(in) +
	       soffset(w, in) * SCRATCH_UNIT;
}

/* Records of a buffer with a stride are of that many bytes. */
static struct buffer buffer_of(const struct gfx9_wave *w, const struct gfx9_inst *in)
{
	unsigned int code = in->src[0] & ~3u;
	uint32_t word1 = gfx9_sreg(w, code + 1), stride = word1 >> 16 & 0x3fff;

	return (struct buffer){
		.base = (gfx9_sreg(w, code) | (uint64_t)(word1 & 0xffff) << 32) & DWORD_BITS,
		.size = (uint64_t)gfx9_sreg(w, code + 2) * (stride ? stride : 1),
	};
}

/* The number of dwords at @offset, out of @n, that are within the buffer: the first ones. */
static unsigned int within(const struct buffer *b, uint64_t offset, unsigned int n)
{
	uint64_t left = offset < b->size ? (b->size - offset) / 4 : 0;

	return left < n ? (unsigned int)left : n;
}

static enum gfx9_stop fault(struct gfx9_wave *w, uint64_t address, bool write)
{
	w->fault = (struct gfx9_fault){ .address = address, .write = write };
	return GFX9_FAULT;
}

/* Tuples of registers begin at a multiple of their size, up to 4; results beyond EXEC are lost. */
static unsigned int tuple(const struct gfx9_inst *in, unsigned int n)
{
	return in->dst & ~((n < 4 ? n : 4) - 1);
}

static inline enum gfx9_stop load(struct gfx9_wave *w, const struct gfx9_inst *in, uint64_t va,
				  unsigned int present, unsigned int n)
{
	uint32_t data[MAX_DWORDS] = { 0 };
	unsigned int first = tuple(in, n);
	const uint8_t *from;
	uint64_t bad;

	/* All dwords in one page, to registers that any wave may write. */
	if (present == n && first + n <= GFX9_TTMP0 && (va & (EMU_PAGE - 1)) <= EMU_PAGE - 4 * n) {
		from = gfx9_tlb_at(w->tlb, va, false);
		if (!from)
			return fault(w, va, false);
		gfx9_peek_bytes(&w->s[first], from, 4 * n);
		return GFX9_GO;
	}
	if (!gfx9_tlb_read(w->tlb, va, data, (size_t)present * 4, &bad))
		return fault(w, bad, false);
	for (unsigned int i = 0; i < n && first + i < GFX9_SREGS; i++)
		gfx9_sreg_set(w, first + i, data[i]);
	return GFX9_GO;
}

static inline enum gfx9_stop store(struct gfx9_wave *w, const struct gfx9_inst *in, uint64_t va,
				   unsigned int present, unsigned int n)
{
	uint32_t data[MAX_DWORDS];
	unsigned int first = tuple(in, n);
	uint64_t bad;

	for (unsigned int i = 0; i < n; i++)
		data[i] = gfx9_sreg(w, first + i);
	w->stored = true;
	if (!gfx9_tlb_write(w->tlb, va, data, (size_t)present * 4, &bad))
		return fault(w, bad, true);
	return GFX9_GO;
}

#define ACCESS(op, how, n)                                                                 \
	enum gfx9_stop gfx9_s_##op(struct gfx9_wave *w, const struct gfx9_inst *in)        \
	{                                                                                  \
		return how(w, in, global_at(w, in), n, n);                                 \
	}                                                                                  \
	enum gfx9_stop gfx9_s_buffer_##op(struct gfx9_wave *w, const struct gfx9_inst *in) \
	{                                                                                  \
		struct buffer b = buffer_of(w, in);                                        \
		uint64_t offset = ioffset(in) + soffset(w, in);                            \
                                                                                           \
		return how(w, in, b.base + offset, within(&b, offset, n), n);              \
	}

#define SCRATCH(op, how, n)                                                                 \
	enum gfx9_stop gfx9_s_scratch_##op(struct gfx9_wave *w, const struct gfx9_inst *in) \
	{                                                                                   \
		return how(w, in, scratch_at(w, in), n, n);                                 \
	}

/* clang-format off */
ACCESS(load_dword, load, 1)
ACCESS(load_dwordx2, load, 2)
ACCESS(load_dwordx4, load, 4)
ACCESS(load_dwordx8, load, 8)
ACCESS(load_dwordx16, load, 16)
ACCESS(store_dword, store, 1)
ACCESS(store_dwordx2, store, 2)
ACCESS(store_dwordx4, store, 4)
SCRATCH(load_dword, load, 1)
SCRATCH(load_dwordx2, load, 2)
SCRATCH(load_dwordx4, load, 4)
SCRATCH(store_dword, store, 1)
SCRATCH(store_dwordx2, store, 2)
SCRATCH(store_dwordx4, store, 4)
/* clang-format on */

enum gfx9_stop gfx9_s_memtime(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	gfx9_sreg_set64(w, in->dst, w->clock);
	return GFX9_GO;
}

/* The same time in ticks of the reference clock, as in signals and the driver. */
enum gfx9_stop gfx9_s_memrealtime(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	gfx9_sreg_set64(w, in->dst, w->clock / EMU_TICK_NS);
	return GFX9_GO;
}

/*
 * Atomics: the new value of @m, given @x and, for the comparison, @c.
 */

typedef uint32_t atomic32_fn(uint32_t m, uint32_t x, uint32_t c);
typedef uint64_t atomic64_fn(uint64_t m, uint64_t x, uint64_t c);

static inline enum gfx9_stop atomic32(struct gfx9_wave *w, const struct gfx9_inst *in, uint64_t va,
				      atomic32_fn *fn)
{
	uint32_t *p = (uint32_t *)(void *)gfx9_tlb_at(w->tlb, va, true);
	uint32_t x = gfx9_sreg(w, in->dst), c = gfx9_sreg(w, in->dst | 1), m;

	if (!p)
		return fault(w, va, true);
	m = __atomic_load_n(p, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(p, &m, fn(m, x, c), true, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED))
		;
	if (in->glc)
		gfx9_sreg_set(w, in->dst, m);
	return GFX9_GO;
}

static inline enum gfx9_stop atomic64(struct gfx9_wave *w, const struct gfx9_inst *in, uint64_t va,
				      atomic64_fn *fn)
{
	uint64_t *p = (uint64_t *)(void *)gfx9_tlb_at(w->tlb, va & ~(uint64_t)7, true);
	uint64_t x = gfx9_sreg64(w, in->dst), c = gfx9_sreg64(w, in->dst | 2), m;

	if (!p)
		return fault(w, va, true);
	m = __atomic_load_n(p, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(p, &m, fn(m, x, c), true, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED))
		;
	if (in->glc)
		gfx9_sreg_set64(w, in->dst, m);
	return GFX9_GO;
}

/* Out of range: nothing is written, and the old value is 0. */
static inline enum gfx9_stop buffer_atomic32(struct gfx9_wave *w, const struct gfx9_inst *in,
					     atomic32_fn *fn)
{
	struct buffer b = buffer_of(w, in);
	uint64_t offset = ioffset(in) + soffset(w, in);

	if (within(&b, offset, 1))
		return atomic32(w, in, b.base + offset, fn);
	if (in->glc)
		gfx9_sreg_set(w, in->dst, 0);
	return GFX9_GO;
}

static inline enum gfx9_stop buffer_atomic64(struct gfx9_wave *w, const struct gfx9_inst *in,
					     atomic64_fn *fn)
{
	struct buffer b = buffer_of(w, in);
	uint64_t offset = ioffset(in) + soffset(w, in);

	if (within(&b, offset, 2) == 2)
		return atomic64(w, in, b.base + offset, fn);
	if (in->glc)
		gfx9_sreg_set64(w, in->dst, 0);
	return GFX9_GO;
}

#define ATOMIC_SIZED(op, bits, suffix, expr)                                                       \
	static uint##bits##_t op##bits(uint##bits##_t m, uint##bits##_t x, uint##bits##_t c)       \
	{                                                                                          \
		typedef int##bits##_t sint;                                                        \
                                                                                                   \
		(void)sizeof(sint);                                                                \
		(void)m, (void)x, (void)c;                                                         \
		return expr;                                                                       \
	}                                                                                          \
	enum gfx9_stop gfx9_s_atomic_##op##suffix(struct gfx9_wave *w, const struct gfx9_inst *in) \
	{                                                                                          \
		return atomic##bits(w, in, global_at(w, in), op##bits);                            \
	}                                                                                          \
	enum gfx9_stop gfx9_s_buffer_atomic_##op##suffix(struct gfx9_wave *w,                      \
							 const struct gfx9_inst *in)               \
	{                                                                                          \
		return buffer_atomic##bits(w, in, op##bits);                                       \
	}

#define ATOMIC(op, expr)             \
	ATOMIC_SIZED(op, 32, , expr) \
	ATOMIC_SIZED(op, 64, _x2, expr)

/* clang-format off */
ATOMIC(swap, x)
ATOMIC(cmpswap, m == c ? x : m)
ATOMIC(add, m + x)
ATOMIC(sub, m - x)
ATOMIC(smin, (sint)m < (sint)x ? m : x)
ATOMIC(umin, m < x ? m : x)
ATOMIC(smax, (sint)m > (sint)x ? m : x)
ATOMIC(umax, m > x ? m : x)
ATOMIC(and, m & x)
ATOMIC(or, m | x)
ATOMIC(xor, m ^ x)
ATOMIC(inc, m >= x ? 0 : m + 1)
ATOMIC(dec, m == 0 || m > x ? x : m - 1)
/* clang-format on */
