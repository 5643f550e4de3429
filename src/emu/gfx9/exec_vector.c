// SPDX-License-Identifier: MIT
/*
 * The vector ALU around its kernels: reads operands, applies modifiers, and writes the active lanes
 * of the result.
 *
 * There are two ways to a kernel. run_vector() handles every instruction. Those of vector_plain.h
 * handle instructions without modifiers. gfx9_vector_bind() chooses once.
 *
 * Every register number is checked against the registers of the wave.
 */
#include "emu/gfx9/vector_job.h"
#include "emu/gfx9/vector_plain.h"

#include <fenv.h>

/*
 * Properties of opcodes
 */

#define OP(op, k, sat, s0, s1, s2, d, flags)                                     \
	[GFX9_##op] = {                                                          \
		.kernel = GFX9_V(k),                                             \
		.saturate = GFX9_V(sat),                                         \
		.plain = { GFX9_V(plain_##op), GFX9_V(signed_##op) },            \
		TYPES(GFX9_T_##s0, GFX9_T_##s1, GFX9_T_##s2, GFX9_T_##d, flags), \
	},
#define SPECIAL(op, f) [GFX9_##op] = { .special = GFX9_V(f) },

static const struct gfx9_vector_op ops[GFX9_OPS] = { GFX9_VECTOR_OPS(OP)
							     GFX9_VECTOR_SPECIAL(SPECIAL) };

/*
 * Runs the kernel with the host's rounding mode as in MODE. Half precision kernels round
 * themselves.
 */
static void run_kernel(struct gfx9_vector_job *j)
{
	static const int host_mode[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
	gfx9_lanes_fn *kernel = j->in->clamp && !is_float(j->op->dst) && j->op->dst
					? j->op->saturate
					: j->op->kernel;
	uint32_t mode = j->w->mode;
	unsigned int round = ROUND_EVEN;

	if (kernel == GFX9_V(none))
		kernel = j->op->kernel;
	if (j->op->dst == GFX9_T_F32 || j->op->dst == GFX9_T_P32)
		round = GFX9_MODE_ROUND_F32(mode);
	else if (j->op->dst == GFX9_T_F64)
		round = GFX9_MODE_ROUND_F64(mode);
	if (j->op->flags & GFX9_F_NEAREST)
		round = ROUND_EVEN;
	if (round != ROUND_EVEN)
		fesetround(host_mode[round]);
	kernel(j->out, j->m, j->operand[0], j->operand[1], j->operand[2], mode);
	if (round != ROUND_EVEN)
		fesetround(FE_TONEAREST);
}

static bool well_formed(const struct gfx9_vector_job *j)
{
	const struct gfx9_inst *in = j->in;

	if ((j->op->flags & GFX9_F_MASK_OUT) && in->sdst >= GFX9_SREGS)
		return false;
	return in->extra != GFX9_DPP || GFX9_V(dpp_valid)(in->dpp_ctrl);
}

enum gfx9_stop GFX9_V(run_vector)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	const struct gfx9_vector_op *op = &ops[in->op];
	struct gfx9_vector_job j;
	uint32_t *d = NULL;

	if (op->special)
		return op->special(w, in);
	j.w = w;
	j.in = in;
	j.op = op;
	j.active = gfx9_exec(w);
	if (!op->kernel || !well_formed(&j))
		return GFX9_ILLEGAL;
	if (op->dst != GFX9_T_NONE) {
		d = row_of(w, indexed(w, in->dst, INDEX_DST), is_wide(op->dst) ? 2 : 1);
		/* A destination beyond the wave's registers because of the index is not written. */
		if (!d)
			return index_of(w, INDEX_DST) ? GFX9_GO : GFX9_ILLEGAL;
	}
	for (unsigned int k = 0; k < 3; k++) {
		if (!GFX9_V(fetch)(&j, k))
			return GFX9_ILLEGAL;
	}
	if (op->flags & GFX9_F_VCC_IN)
		expand(gfx9_get64(w, GFX9_VCC), j.m);
	run_kernel(&j);
	if (d) {
		GFX9_V(finish_result)(&j);
		GFX9_V(write_result)(&j, d);
	}
	if (op->flags & GFX9_F_MASK_OUT)
		set_mask(w, in, op->flags, compress(j.m) & j.active);
	return GFX9_GO;
}

/*
 * Instructions for the plain way
 */

/* Each half from its own place, and nothing negated. */
static bool straight(const struct gfx9_inst *in, unsigned int k)
{
	return !(in->op_sel >> k & 1) && (in->op_sel_hi >> k & 1);
}

/* A scalar operand, or a constant, whose row is quickly found. */
static bool plain_scalar(unsigned int code)
{
	if (code < GFX9_SREGS)
		return code - GFX9_TTMP0 >= GFX9_TTMPS;
	return gfx9_is_inline(code) || code == GFX9_LITERAL;
}

static bool plain_operand(const struct gfx9_inst *in, const struct gfx9_vector_op *t,
			  unsigned int k)
{
	unsigned int code = plain_code(in, *t, k);

	switch (t->src[k]) {
	case GFX9_T_NONE:
		return true;
	case GFX9_T_P16:
	case GFX9_T_PF16:
	case GFX9_T_P32:
		if (k == 2 && (t->flags & GFX9_F_ACC))
			return false;
		return straight(in, k) && code >= GFX9_VGPR;
	case GFX9_T_PMOV:
	case GFX9_T_MIX:
		return false;
	case GFX9_T_MASK:
		return code < GFX9_SREGS && plain_scalar(code);
	default:
		return code >= GFX9_VGPR || (!is_half(t->src[k]) && plain_scalar(code));
	}
}

/* Signs are plain if no other type of operand is involved. */
static bool plain_signs(const struct gfx9_inst *in, const struct gfx9_vector_op *t)
{
	for (unsigned int k = 0; k < 3; k++) {
		if (!((in->neg | in->abs) >> k & 1))
			continue;
		if (!has_sign(t->src[k]) || (k == 2 && (t->flags & GFX9_F_ACC)))
			return false;
	}
	return in->format != GFX9_VOP3P || !(in->neg | in->abs);
}

static bool is_plain(const struct gfx9_inst *in, const struct gfx9_vector_op *t)
{
	if (in->extra != GFX9_PLAIN || in->omod || in->clamp || !plain_signs(in, t))
		return false;
	if (t->flags & GFX9_F_HIGH || (in->dst < GFX9_VGPR && t->dst != GFX9_T_NONE))
		return false;
	if (in->format == GFX9_VOP3 && in->op_sel)
		return false;
	if ((t->flags & GFX9_F_MASK_OUT) && (in->sdst >= GFX9_SREGS || !plain_scalar(in->sdst)))
		return false;
	if ((is_half(t->dst) && !(t->flags & GFX9_F_HI0)) || t->dst == GFX9_T_B8)
		return false;
	return plain_operand(in, t, 0) && plain_operand(in, t, 1) && plain_operand(in, t, 2);
}

static unsigned int rows_up_to(unsigned int code, unsigned int type)
{
	if (type == GFX9_T_NONE || code < GFX9_VGPR)
		return 0;
	return code - GFX9_VGPR + (is_wide(type) ? 2 : 1);
}

/* The number of vector registers that the instruction needs. */
static unsigned int rows_of(const struct gfx9_inst *in, const struct gfx9_vector_op *t)
{
	unsigned int most = rows_up_to(in->dst, t->dst);

	for (unsigned int k = 0; k < 3; k++) {
		unsigned int n = rows_up_to(plain_code(in, *t, k), t->src[k]);

		most = n > most ? n : most;
	}
	return most;
}

static gfx9_run_fn *bind(struct gfx9_inst *in)
{
	const struct gfx9_vector_op *op = &ops[in->op];

	if (op->special)
		return op->special;
	if (!op->kernel)
		return NULL;
	if (!is_plain(in, op))
		return GFX9_V(run_vector);
	in->rows = (uint16_t)rows_of(in, op);
	return op->plain[(in->neg | in->abs) != 0];
}

#define STRING2(x) #x
#define STRING(x) STRING2(x)

extern const struct gfx9_vector_variant GFX9_V(vector);
const struct gfx9_vector_variant GFX9_V(vector) = {
	.name = STRING(GFX9_VARIANT),
	.ops = ops,
	.run = GFX9_V(run_vector),
	.bind = bind,
	.memory = GFX9_V(memory_ops),
	.mfma_sum = GFX9_V(mfma_sum),
	.mfma_fast = GFX9_V(mfma_fast),
};
