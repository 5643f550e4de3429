// SPDX-License-Identifier: MIT
/*
 * The vector ALU around its kernels: where operands come from, what is done to them, which lanes
 * of the result are kept.
 *
 * Two ways lead to a kernel. run_vector() does everything an instruction can ask for. The
 * run_plain_*() are for instructions that ask for nothing: registers go to the kernel as they
 * are. gfx9_vector_bind() chooses once; MODE, which may change, is looked at each time, and
 * whatever is not as compilers set it leads to run_vector().
 *
 * No register number is trusted: each is compared with what the wave has.
 */
#include "emu/gfx9/vector_job.h"
#include "emu/gfx9/vector_math.h"

#include <fenv.h>

/* MODE as it must be for the plain path: to nearest, with all denormals, IEEE, no GPR index. */
#define MODE_FLOAT 0x2ffu
#define MODE_USUAL 0x2f0u

/*
 * What is known of an opcode
 */

/* Flags are or'ed names without prefix: these give them one. */
enum {
	MASK_OUT = GFX9_F_MASK_OUT,
	EXEC_OUT = GFX9_F_EXEC_OUT,
	HI0 = GFX9_F_HI0,
	HIGH = GFX9_F_HIGH,
	ACC = GFX9_F_ACC,
	MK = GFX9_F_MK,
	AK = GFX9_F_AK,
	NEAREST = GFX9_F_NEAREST,
	VCC_IN = GFX9_F_VCC_IN,
};

#define OP(op, k, sat, s0, s1, s2, d, flags)                                                      \
	[GFX9_##op] = { GFX9_V(k),  GFX9_V(sat), NULL, { GFX9_T_##s0, GFX9_T_##s1, GFX9_T_##s2 }, \
			GFX9_T_##d, flags },
#define SPECIAL(op, f) [GFX9_##op] = { .special = GFX9_V(f) },

static const struct gfx9_vector_op ops[GFX9_OPS] = { GFX9_VECTOR_OPS(OP)
							     GFX9_VECTOR_SPECIAL(SPECIAL) };

/*
 * The kernel, with the host's rounding mode as MODE has it. Half precision kernels round
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

static enum gfx9_stop run_vector(struct gfx9_wave *w, const struct gfx9_inst *in)
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
		/* One that only the index puts beyond the wave's registers is not written. */
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
 * Nothing asked for. Sources that are no vector registers are spread out; with all lanes on, the
 * kernel writes to the destination itself.
 */

/* A source of @n rows, to *@row; false where there is none. */
ALWAYS_INLINE bool plain_source(struct gfx9_wave *w, const struct gfx9_inst *in, unsigned int code,
				unsigned int type, unsigned int n, const uint32_t **row,
				uint32_t *tmp)
{
	uint64_t v;

	*row = tmp;
	if (__builtin_expect(code >= GFX9_VGPR, 1)) {
		*row = w->v[code - GFX9_VGPR];
		return code - GFX9_VGPR + n <= w->nr_vgprs;
	}
	if (n == 1) {
		const uint32_t *constant = gfx9_inline_row(code);

		if (constant)
			*row = constant;
		else
			broadcast(tmp, gfx9_operand(w, in, code));
		return true;
	}
	v = constant64(w, in, code, type);
	broadcast(tmp, (uint32_t)v);
	broadcast(tmp + GFX9_LANES, (uint32_t)(v >> 32));
	return true;
}

/* A source with its sign changed; @row is of n rows, of which the last has the sign. */
ALWAYS_INLINE const uint32_t *signed_source(const struct gfx9_inst *in, unsigned int k,
					    unsigned int n, const uint32_t *row, uint32_t *tmp)
{
	uint32_t keep = in->abs >> k & 1 ? F32_ABS : ~0u, flip = in->neg >> k & 1 ? ~F32_ABS : 0;

	if (keep == ~0u && !flip)
		return row;
	if (n == 2)
		memcpy(tmp, row, GFX9_LANES * sizeof(*row));
	row += (n - 1) * GFX9_LANES;
	LANES
	{
		tmp[(n - 1) * GFX9_LANES + (unsigned int)i] = (row[i] & keep) ^ flip;
	}
	return tmp;
}

ALWAYS_INLINE bool unusual(const struct gfx9_wave *w, bool is_fp)
{
	uint32_t mask = GFX9_MODE_GPR_IDX | (is_fp ? MODE_FLOAT : 0);

	return __builtin_expect((w->mode & mask) != (is_fp ? MODE_USUAL : 0), 0);
}

/* How a plain instruction looks; constant in each function made from it. */
struct shape {
	unsigned int sources;
	bool fp; /* subject to MODE */
	bool wide; /* operands may be of 64 bits: the opcode says which */
	bool mk, ak; /* the second or the third source is the instruction's constant */
	bool mask_in; /* the third source is a mask */
	bool vcc_in; /* the kernel looks at VCC */
	bool mask_out;
	bool no_result; /* nothing but the mask */
	bool signs; /* neg or abs of sources, and no more than that */
};

ALWAYS_INLINE unsigned int plain_code(const struct gfx9_inst *in, struct shape s, unsigned int k)
{
	if ((s.mk && k == 1) || (s.ak && k == 2))
		return GFX9_LITERAL;
	return in->src[s.mk && k == 2 ? 1 : k];
}

ALWAYS_INLINE enum gfx9_stop run_plain(struct gfx9_wave *w, const struct gfx9_inst *in,
				       struct shape s)
{
	const struct gfx9_vector_op *op = &ops[in->op];
	_Alignas(64) uint32_t tmp[3][ROWS], out[ROWS], m[GFX9_LANES];
	const uint32_t *src[3] = { NULL, NULL, NULL }, *lanes;
	uint64_t exec = gfx9_exec(w);
	bool wide = s.wide && is_wide(op->dst);
	uint32_t *d = NULL;

	if (unusual(w, s.fp))
		return run_vector(w, in);
	for (unsigned int k = 0; k < s.sources; k++) {
		unsigned int type = s.wide ? op->src[k] : GFX9_T_B32;
		unsigned int n = s.wide && is_wide(type) ? 2 : 1;

		if (!plain_source(w, in, plain_code(in, s, k), type, n, &src[k], tmp[k]))
			return GFX9_ILLEGAL;
		if (s.signs)
			src[k] = signed_source(in, k, n, src[k], tmp[k]);
	}
	if (s.mask_in) {
		expand(gfx9_sreg64(w, in->src[2] & (GFX9_SREGS - 1)), tmp[2]);
		src[2] = tmp[2];
	}
	if (!s.no_result) {
		d = w->v[in->dst - GFX9_VGPR];
		if (in->dst - GFX9_VGPR + (wide ? 2u : 1u) > w->nr_vgprs)
			return GFX9_ILLEGAL;
		if (!s.mask_in && s.sources == 2 && (op->flags & GFX9_F_ACC))
			src[2] = d;
	}
	if (s.vcc_in)
		expand(gfx9_get64(w, GFX9_VCC), m);
	if (s.no_result || exec == GFX9_ALL_LANES) {
		op->kernel(d, m, src[0], src[1], src[2], w->mode);
	} else {
		op->kernel(out, m, src[0], src[1], src[2], w->mode);
		lanes = gfx9_lanes(w);
		blend(d, out, lanes);
		if (wide)
			blend(d + GFX9_LANES, out + GFX9_LANES, lanes);
	}
	if (s.mask_out)
		set_mask(w, in, op->flags, compress(m) & exec);
	return GFX9_GO;
}

#define SHAPES(X)                                                                                  \
	X(int1, .sources = 1)                                                                      \
	X(int2, .sources = 2)                                                                      \
	X(int3, .sources = 3)                                                                      \
	X(fp1, .sources = 1, .fp = true)                                                           \
	X(fp2, .sources = 2, .fp = true)                                                           \
	X(fp3, .sources = 3, .fp = true)                                                           \
	X(wide1, .sources = 1, .fp = true, .wide = true)                                           \
	X(wide2, .sources = 2, .fp = true, .wide = true)                                           \
	X(wide3, .sources = 3, .fp = true, .wide = true)                                           \
	X(wide_int1, .sources = 1, .wide = true)                                                   \
	X(wide_int2, .sources = 2, .wide = true)                                                   \
	X(wide_int3, .sources = 3, .wide = true)                                                   \
	X(signs1, .sources = 1, .fp = true, .signs = true)                                         \
	X(signs2, .sources = 2, .fp = true, .signs = true)                                         \
	X(signs3, .sources = 3, .fp = true, .signs = true)                                         \
	X(wide_signs1, .sources = 1, .fp = true, .wide = true, .signs = true)                      \
	X(wide_signs2, .sources = 2, .fp = true, .wide = true, .signs = true)                      \
	X(wide_signs3, .sources = 3, .fp = true, .wide = true, .signs = true)                      \
	X(cmp_signs, .sources = 2, .fp = true, .mask_out = true, .no_result = true, .signs = true) \
	X(select_signs, .sources = 2, .mask_in = true, .signs = true)                              \
	X(select, .sources = 2, .mask_in = true)                                                   \
	X(carry, .sources = 2, .mask_out = true)                                                   \
	X(carry_in, .sources = 2, .mask_in = true, .mask_out = true)                               \
	X(mk, .sources = 3, .fp = true, .mk = true)                                                \
	X(ak, .sources = 3, .fp = true, .ak = true)                                                \
	X(fmas, .sources = 3, .fp = true, .vcc_in = true)                                          \
	X(wide_fmas, .sources = 3, .fp = true, .wide = true, .vcc_in = true)                       \
	X(scale, .sources = 3, .fp = true, .mask_out = true)                                       \
	X(wide_scale, .sources = 3, .fp = true, .wide = true, .mask_out = true)                    \
	X(mad64, .sources = 3, .wide = true, .mask_out = true)                                     \
	X(cmp_int, .sources = 2, .mask_out = true, .no_result = true)                              \
	X(cmp_fp, .sources = 2, .fp = true, .mask_out = true, .no_result = true)                   \
	X(cmp_wide_int, .sources = 2, .wide = true, .mask_out = true, .no_result = true)           \
	X(cmp_wide, .sources = 2, .fp = true, .wide = true, .mask_out = true, .no_result = true)

#define SHAPE_FUNCTION(name, ...)                                                               \
	static enum gfx9_stop run_plain_##name(struct gfx9_wave *w, const struct gfx9_inst *in) \
	{                                                                                       \
		return run_plain(w, in, (struct shape){ __VA_ARGS__ });                         \
	}
SHAPES(SHAPE_FUNCTION)

#define SHAPE_ENTRY(name, ...) { { __VA_ARGS__ }, run_plain_##name },
static const struct {
	struct shape shape;
	gfx9_run_fn *run;
} shapes[] = { SHAPES(SHAPE_ENTRY) };

static bool same_shape(const struct shape *x, const struct shape *y)
{
	return x->sources == y->sources && x->fp == y->fp && x->wide == y->wide && x->mk == y->mk &&
	       x->ak == y->ak && x->vcc_in == y->vcc_in && x->mask_in == y->mask_in &&
	       x->mask_out == y->mask_out && x->no_result == y->no_result && x->signs == y->signs;
}

static struct shape shape_of(const struct gfx9_vector_op *op)
{
	struct shape s = { 0 };

	for (unsigned int k = 0; k < 3; k++) {
		if (op->src[k] == GFX9_T_MASK)
			s.mask_in = true;
		else if (op->src[k] != GFX9_T_NONE && !(k == 2 && (op->flags & GFX9_F_ACC)))
			s.sources++;
		s.fp |= is_float(op->src[k]);
		s.wide |= is_wide(op->src[k]);
	}
	s.fp |= is_float(op->dst);
	s.wide |= is_wide(op->dst);
	s.mk = op->flags & GFX9_F_MK;
	s.ak = op->flags & GFX9_F_AK;
	s.vcc_in = op->flags & GFX9_F_VCC_IN;
	s.mask_out = op->flags & GFX9_F_MASK_OUT;
	s.no_result = op->dst == GFX9_T_NONE;
	return s;
}

/* Both halves from where they are, and nothing negated. */
static bool straight(const struct gfx9_inst *in, unsigned int k)
{
	return !(in->op_sel >> k & 1) && (in->op_sel_hi >> k & 1);
}

static bool plain_operand(const struct gfx9_inst *in, const struct gfx9_vector_op *op,
			  unsigned int k)
{
	switch (op->src[k]) {
	case GFX9_T_NONE:
		return true;
	case GFX9_T_P16:
	case GFX9_T_PF16:
	case GFX9_T_P32:
		if (k == 2 && (op->flags & GFX9_F_ACC))
			return false;
		return straight(in, k) && in->src[k] >= GFX9_VGPR;
	case GFX9_T_PMOV:
	case GFX9_T_MIX:
		return false;
	case GFX9_T_MASK:
		return in->src[k] < GFX9_SREGS;
	default:
		return !is_half(op->src[k]) || in->src[k] >= GFX9_VGPR;
	}
}

/* Signs are plain where no other type of operand takes part. */
static bool plain_signs(const struct gfx9_inst *in, const struct gfx9_vector_op *op)
{
	for (unsigned int k = 0; k < 3; k++) {
		if (!((in->neg | in->abs) >> k & 1))
			continue;
		if (k == 2 && (op->flags & GFX9_F_ACC))
			return false;
		switch (op->src[k]) {
		case GFX9_T_F32:
		case GFX9_T_M32:
		case GFX9_T_F64:
		case GFX9_T_M64:
			break;
		default:
			return false;
		}
	}
	return in->format != GFX9_VOP3P || !(in->neg | in->abs);
}

static bool is_plain(const struct gfx9_inst *in, const struct gfx9_vector_op *op)
{
	if (in->extra != GFX9_PLAIN || in->omod || in->clamp || !plain_signs(in, op))
		return false;
	if (op->flags & GFX9_F_HIGH || (in->dst < GFX9_VGPR && op->dst != GFX9_T_NONE))
		return false;
	if (in->format == GFX9_VOP3 && in->op_sel)
		return false;
	if ((op->flags & GFX9_F_MASK_OUT) && in->sdst >= GFX9_SREGS)
		return false;
	if ((is_half(op->dst) && !(op->flags & GFX9_F_HI0)) || op->dst == GFX9_T_B8)
		return false;
	return plain_operand(in, op, 0) && plain_operand(in, op, 1) && plain_operand(in, op, 2);
}

static gfx9_run_fn *bind(const struct gfx9_inst *in)
{
	const struct gfx9_vector_op *op = &ops[in->op];
	struct shape s;

	if (op->special)
		return op->special;
	if (!op->kernel)
		return NULL;
	if (!is_plain(in, op))
		return run_vector;
	s = shape_of(op);
	s.signs = in->neg | in->abs;
	for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
		if (same_shape(&shapes[k].shape, &s))
			return shapes[k].run;
	}
	return run_vector;
}

#define STRING2(x) #x
#define STRING(x) STRING2(x)

extern const struct gfx9_vector_variant GFX9_V(vector);
const struct gfx9_vector_variant GFX9_V(vector) = {
	.name = STRING(GFX9_VARIANT),
	.ops = ops,
	.run = run_vector,
	.bind = bind,
	.mfma_sum = GFX9_V(mfma_sum),
};
