/* SPDX-License-Identifier: MIT */
/*
 * The plain way to a kernel, for instructions without modifiers: registers go to the kernel
 * unchanged, and with all lanes active it writes to the destination itself. Each opcode has its own
 * functions, defined next to its kernel, so that its properties are constants:
 * GFX9_V(plain_OPCODE), and GFX9_V(signed_OPCODE) with neg or abs.
 *
 * gfx9_vector_bind() selects the instructions. MODE and the number of registers of a wave are
 * checked each time; if they do not fit, run_vector() is used.
 */
#ifndef GP__EMU_GFX9_VECTOR_PLAIN_H
#define GP__EMU_GFX9_VECTOR_PLAIN_H

#include "emu/gfx9/vector_math.h"
#include "emu/gfx9/vector_rows.h"

/* The required MODE: to nearest, with all denormals, IEEE, no GPR index. */
#define MODE_FLOAT 0x2ffu
#define MODE_USUAL 0x2f0u

/*
 * An instruction in progress; the table's properties of its opcode are constant in each function.
 */
struct plain {
	const uint32_t *src[3];
	uint32_t *d, *out; /* the destination, and the kernel's output */
	uint64_t exec;
};

ALWAYS_INLINE bool plain_mode(const struct gfx9_wave *w, struct gfx9_vector_op t)
{
	bool fp = is_float(t.src[0]) || is_float(t.src[1]) || is_float(t.src[2]) || is_float(t.dst);
	uint32_t mask = GFX9_MODE_GPR_IDX | (fp ? MODE_FLOAT : 0);

	return __builtin_expect((w->mode & mask) == (fp ? MODE_USUAL : 0), 1);
}

/* The position of source @k in the instruction. */
ALWAYS_INLINE unsigned int plain_code(const struct gfx9_inst *in, struct gfx9_vector_op t,
				      unsigned int k)
{
	if ((k == 1 && (t.flags & GFX9_F_MK)) || (k == 2 && (t.flags & GFX9_F_AK)))
		return GFX9_LITERAL;
	if (k == 2 && (t.flags & GFX9_F_ACC))
		return in->dst;
	return in->src[k == 2 && (t.flags & GFX9_F_MK) ? 1 : k];
}

ALWAYS_INLINE const uint32_t *plain_source32(struct gfx9_wave *w, const struct gfx9_inst *in,
					     unsigned int code, uint32_t *spare)
{
	if (__builtin_expect(code >= GFX9_VGPR, 1))
		return w->v[code - GFX9_VGPR];
	if (code >= GFX9_SRC_0 && code != GFX9_LITERAL)
		return gfx9_inline_rows[code - GFX9_SRC_0];
	broadcast(spare, code == GFX9_LITERAL ? in->literal : w->s[code]);
	return spare;
}

ALWAYS_INLINE const uint32_t *plain_source64(struct gfx9_wave *w, const struct gfx9_inst *in,
					     unsigned int code, unsigned int type, uint32_t *spare)
{
	uint64_t value;

	if (__builtin_expect(code >= GFX9_VGPR, 1))
		return w->v[code - GFX9_VGPR];
	value = constant64(w, in, code, type);
	broadcast(spare, (uint32_t)value);
	broadcast(spare + GFX9_LANES, (uint32_t)(value >> 32));
	return spare;
}

/* A source with its sign changed, in the last of its rows. */
ALWAYS_INLINE const uint32_t *plain_sign(const struct gfx9_inst *in, unsigned int k, bool wide,
					 const uint32_t *row, uint32_t *spare)
{
	uint32_t keep = in->abs >> k & 1 ? F32_ABS : ~0u, flip = in->neg >> k & 1 ? ~F32_ABS : 0;
	unsigned int last = wide ? GFX9_LANES : 0;

	if (keep == ~0u && !flip)
		return row;
	if (wide)
		memcpy(spare, row, GFX9_LANES * sizeof(*row));
	LANES
	{
		spare[last + (unsigned int)i] = (row[last + (unsigned int)i] & keep) ^ flip;
	}
	return spare;
}

/* @mask is a local variable of the caller, so that the compiler can keep it in registers. */
ALWAYS_INLINE const uint32_t *plain_source(struct gfx9_wave *w, const struct gfx9_inst *in,
					   struct gfx9_vector_op t, unsigned int k, bool signs,
					   uint32_t *mask)
{
	unsigned int type = t.src[k], code = plain_code(in, t, k);
	uint32_t *spare = w->spare->src[k];
	const uint32_t *row;

	if (type == GFX9_T_NONE)
		return NULL;
	if (type == GFX9_T_MASK) {
		expand(gfx9_get64(w, code & ~1u), mask);
		return mask;
	}
	row = is_wide(type) ? plain_source64(w, in, code, type, spare)
			    : plain_source32(w, in, code, spare);
	return signs ? plain_sign(in, k, is_wide(type), row, spare) : row;
}

/* False: not for the plain way. */
ALWAYS_INLINE bool plain_begin(struct plain *p, struct gfx9_wave *w, const struct gfx9_inst *in,
			       struct gfx9_vector_op t, bool signs, uint32_t *mask)
{
	if (signs && !has_sign(t.src[0]) && !has_sign(t.src[1]) && !has_sign(t.src[2]))
		return false;
	if (!plain_mode(w, t) || __builtin_expect(in->rows > w->nr_vgprs, 0))
		return false;
	p->src[0] = plain_source(w, in, t, 0, signs, mask);
	p->src[1] = plain_source(w, in, t, 1, signs, mask);
	p->src[2] = plain_source(w, in, t, 2, signs, mask);
	p->exec = gfx9_exec(w);
	p->d = p->out = NULL;
	if (t.dst != GFX9_T_NONE) {
		p->d = w->v[in->dst - GFX9_VGPR];
		p->out = __builtin_expect(p->exec == GFX9_ALL_LANES, 1) ? p->d : w->spare->out;
	}
	return true;
}

/* @m is the kernel's mask. */
ALWAYS_INLINE void plain_end(const struct plain *p, struct gfx9_wave *w, const struct gfx9_inst *in,
			     struct gfx9_vector_op t, const uint32_t *m)
{
	uint64_t mask;

	if (p->out != p->d) {
		keep_lanes(w, p->d, p->out);
		if (is_wide(t.dst))
			keep_lanes(w, p->d + GFX9_LANES, p->out + GFX9_LANES);
	}
	if (!(t.flags & GFX9_F_MASK_OUT))
		return;
	mask = compress(m) & p->exec;
	gfx9_set64(w, in->sdst & ~1u, mask);
	if (t.flags & GFX9_F_EXEC_OUT)
		gfx9_set64(w, GFX9_EXEC, mask);
}

/* Not inlined: signs are rare, and so much code takes long to compile. */
ALWAYS_INLINE gfx9_lanes_fn *plain_called(gfx9_lanes_fn *kernel)
{
	__asm__("" : "+r"(kernel));
	return kernel;
}

#define PLAIN_FUNCTION(name, kernel, signs, ...)                                      \
	enum gfx9_stop GFX9_V(name)(struct gfx9_wave * w, const struct gfx9_inst *in) \
	{                                                                             \
		const struct gfx9_vector_op t = { __VA_ARGS__ };                      \
		uint32_t m[GFX9_LANES], mask[GFX9_LANES];                             \
		struct plain p;                                                       \
                                                                                      \
		if (!plain_begin(&p, w, in, t, signs, mask))                          \
			return GFX9_V(run_vector)(w, in);                             \
		if (t.flags & GFX9_F_VCC_IN)                                          \
			expand(gfx9_get64(w, GFX9_VCC), m);                           \
		kernel(p.out, m, p.src[0], p.src[1], p.src[2], w->mode);              \
		plain_end(&p, w, in, t, m);                                           \
		return GFX9_GO;                                                       \
	}

/* For each line of a table in vector_ops.h. */
#define PLAIN(op, k, sat, s0, s1, s2, d, flags)                                         \
	PLAIN_FUNCTION(plain_##op, GFX9_V(k), false,                                    \
		       TYPES(GFX9_T_##s0, GFX9_T_##s1, GFX9_T_##s2, GFX9_T_##d, flags)) \
	PLAIN_FUNCTION(signed_##op, plain_called(GFX9_V(k)), true,                      \
		       TYPES(GFX9_T_##s0, GFX9_T_##s1, GFX9_T_##s2, GFX9_T_##d, flags))

#endif
