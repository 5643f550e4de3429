// SPDX-License-Identifier: MIT
/* Operands of any instruction: sources with their modifiers, and modifiers of the result. */
#include "emu/gfx9/vector_job.h"
#include "emu/gfx9/vector_math.h"

#define LAST_INLINE 248

/*
 * Constants
 */

static uint32_t inline_half(unsigned int code)
{
	static const uint16_t halves[] = { 0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
					   0xc000, 0x4400, 0xc400, 0x3118 };

	return halves[code - GFX9_SRC_HALF];
}

static bool is_inline_float(unsigned int code)
{
	return code >= GFX9_SRC_HALF && code <= LAST_INLINE;
}

static uint32_t constant32(const struct gfx9_wave *w, const struct gfx9_inst *in, unsigned int code,
			   unsigned int type)
{
	if (is_inline_float(code) && (is_half(type) || type == GFX9_T_PF16))
		return inline_half(code);
	return gfx9_operand(w, in, code);
}

/*
 * Sources
 */

static void modify(uint32_t *row, uint32_t sign, bool abs, bool neg)
{
	uint32_t keep = abs ? ~sign : ~0u, flip = neg ? sign : 0;

	if (!abs && !neg)
		return;
	LANES
	{
		row[i] = (row[i] & keep) ^ flip;
	}
}

static void flush_f32(uint32_t *row)
{
	LANES
	{
		row[i] = flush32(row[i]);
	}
}

static void flush_f64(uint32_t *row)
{
	LANES
	{
		store64(row, i, flush64(load64(row, i)));
	}
}

static void flush_f16(uint32_t *row)
{
	LANES
	{
		row[i] = flush16(row[i]);
	}
}

static void flush_pf16(uint32_t *row)
{
	LANES
	{
		row[i] = flush16(row[i] & 0xffff) | flush16(row[i] >> 16) << 16;
	}
}

static bool is_flushed(unsigned int type, uint32_t mode, unsigned int bit)
{
	switch (type) {
	case GFX9_T_F32:
	case GFX9_T_P32:
		return !(GFX9_MODE_DENORM_F32(mode) & bit);
	case GFX9_T_F64:
	case GFX9_T_F16:
	case GFX9_T_PF16:
		return !(GFX9_MODE_DENORM_F64(mode) & bit);
	default:
		return false;
	}
}

/* Flushes denormals as MODE says; @bit: 1 for inputs, 2 for results. */
static void flush(uint32_t *row, unsigned int type, uint32_t mode, unsigned int bit)
{
	if (!is_flushed(type, mode, bit))
		return;
	switch (type) {
	case GFX9_T_P32:
		flush_f32(row + GFX9_LANES);
		/* fall through */
	case GFX9_T_F32:
		flush_f32(row);
		break;
	case GFX9_T_F64:
		flush_f64(row);
		break;
	case GFX9_T_F16:
		flush_f16(row);
		break;
	case GFX9_T_PF16:
		flush_pf16(row);
		break;
	}
}

static uint32_t halves(uint32_t v, bool lo, bool hi)
{
	return (lo ? v >> 16 : v & 0xffff) | (hi ? v & 0xffff0000u : v << 16);
}

/* The packed formats select the half of a source for each half of the result. */
static void swizzle(struct gfx9_vector_job *j, unsigned int k, unsigned int type)
{
	const struct gfx9_inst *in = j->in;
	bool packed = in->format == GFX9_VOP3P;
	bool lo = packed && (in->op_sel >> k & 1), hi = !packed || (in->op_sel_hi >> k & 1);
	uint32_t *row = j->src[k];
	uint32_t flip = (in->neg >> k & 1 ? 0x8000u : 0) | (in->abs >> k & 1 ? 0x80000000u : 0);

	if (!packed)
		flip = in->neg >> k & 1 ? 0x80008000u : 0;
	if (type != GFX9_T_PF16)
		flip = 0;
	LANES
	{
		row[i] = halves(row[i], lo, hi) ^ flip;
	}
}

static void swizzle_wide(struct gfx9_vector_job *j, unsigned int k, unsigned int type)
{
	const struct gfx9_inst *in = j->in;
	bool move = type == GFX9_T_PMOV;
	bool lo = in->op_sel >> k & 1, hi = (move ? in->op_sel : in->op_sel_hi) >> k & 1;
	uint32_t flip_lo = !move && (in->neg >> k & 1) ? 0x80000000u : 0;
	uint32_t flip_hi = !move && (in->abs >> k & 1) ? 0x80000000u : 0;
	uint32_t *row = j->src[k];

	LANES
	{
		uint32_t l = row[i], h = row[i + GFX9_LANES];

		row[i] = (lo ? h : l) ^ flip_lo;
		row[i + GFX9_LANES] = (hi ? h : l) ^ flip_hi;
	}
}

/* v_fma_mix: neg applies to both types, and the field of neg_hi means abs. */
static void mix(struct gfx9_vector_job *j, unsigned int k)
{
	const struct gfx9_inst *in = j->in;
	bool half = in->op_sel_hi >> k & 1;
	unsigned int shift = in->op_sel >> k & 1 ? 16 : 0;
	uint32_t *row = j->src[k], mode = j->w->mode;

	if (!half) {
		modify(row, 0x80000000u, in->abs >> k & 1, in->neg >> k & 1);
		flush(row, GFX9_T_F32, mode, 1);
		return;
	}
	LANES
	{
		row[i] = row[i] >> shift & 0xffff;
	}
	modify(row, 0x8000, in->abs >> k & 1, in->neg >> k & 1);
	flush(row, GFX9_T_F16, mode, 1);
	LANES
	{
		row[i] = widen16(row[i]);
	}
}

static void modify_source(struct gfx9_vector_job *j, unsigned int k, unsigned int type)
{
	const struct gfx9_inst *in = j->in;
	bool abs = in->abs >> k & 1, neg = in->neg >> k & 1;
	uint32_t *row = j->src[k];

	switch (type) {
	case GFX9_T_M32:
	case GFX9_T_F32:
		modify(row, 0x80000000u, in->format != GFX9_VOP3P && abs, neg);
		break;
	case GFX9_T_M64:
	case GFX9_T_F64:
		modify(row + GFX9_LANES, 0x80000000u, abs, neg);
		break;
	case GFX9_T_B16:
	case GFX9_T_M16:
	case GFX9_T_F16:
		if (in->format == GFX9_VOP3 && (in->op_sel >> k & 1))
			GFX9_V(sdwa_select)(row, 5, false);
		else
			GFX9_V(sdwa_select)(row, 4, false);
		if (type != GFX9_T_B16)
			modify(row, 0x8000, abs, neg);
		break;
	case GFX9_T_P16:
	case GFX9_T_PF16:
		swizzle(j, k, type);
		break;
	case GFX9_T_P32:
	case GFX9_T_PMOV:
		swizzle_wide(j, k, type);
		break;
	case GFX9_T_MIX:
		mix(j, k);
		break;
	}
}

static unsigned int source_code(const struct gfx9_vector_job *j, unsigned int k)
{
	unsigned int flags = j->op->flags;

	if (k == 2 && (flags & GFX9_F_ACC))
		return indexed(j->w, j->in->dst, INDEX_DST);
	if ((k == 1 && (flags & GFX9_F_MK)) || (k == 2 && (flags & GFX9_F_AK)))
		return GFX9_LITERAL;
	if (k == 2 && (flags & GFX9_F_MK))
		k = 1;
	return indexed(j->w, j->in->src[k], k);
}

/* Whether a register differs from the operand of the kernel. */
static bool is_modified(const struct gfx9_vector_job *j, unsigned int k)
{
	unsigned int type = j->op->src[k];

	switch (type) {
	case GFX9_T_B32:
	case GFX9_T_B64:
		break;
	case GFX9_T_M32:
	case GFX9_T_F32:
	case GFX9_T_M64:
	case GFX9_T_F64:
		if ((j->in->abs | j->in->neg) >> k & 1)
			return true;
		break;
	default:
		return true;
	}
	return j->in->extra != GFX9_PLAIN || is_flushed(type, j->w->mode, 1);
}

static bool read_source(struct gfx9_vector_job *j, unsigned int k)
{
	unsigned int type = j->op->src[k], code = source_code(j, k), n = is_wide(type) ? 2 : 1;
	uint32_t *row = j->src[k];
	const uint32_t *from;
	uint64_t v;

	if (type == GFX9_T_MASK) {
		expand(gfx9_operand64(j->w, j->in, code & 0xff), row);
		return true;
	}
	if (code >= GFX9_VGPR) {
		from = row_of(j->w, code, n);
		if (!from)
			return false;
		if (!is_modified(j, k))
			j->operand[k] = from;
		else
			memcpy(row, from, n * GFX9_LANES * sizeof(*row));
		return true;
	}
	if (n == 1) {
		broadcast(row, constant32(j->w, j->in, code, type));
		return true;
	}
	v = constant64(j->w, j->in, code, type);
	broadcast(row, (uint32_t)v);
	broadcast(row + GFX9_LANES, (uint32_t)(v >> 32));
	return true;
}

bool GFX9_V(fetch)(struct gfx9_vector_job *j, unsigned int k)
{
	unsigned int type = j->op->src[k];
	const struct gfx9_inst *in = j->in;

	j->operand[k] = j->src[k];
	if (type == GFX9_T_NONE)
		return true;
	if (!read_source(j, k))
		return false;
	if (j->operand[k] != j->src[k])
		return true;
	if (k == 0 && in->extra == GFX9_DPP)
		GFX9_V(dpp)(j, j->src[0], is_wide(type) ? 2 : 1);
	if (k < 2 && in->extra == GFX9_SDWA && type != GFX9_T_MASK)
		GFX9_V(sdwa_select)(j->src[k], in->src_sel[k], in->sext >> k & 1);
	modify_source(j, k, type);
	flush(j->src[k], type, j->w->mode, 1);
	return true;
}

/*
 * Results
 */

static const float omod_factor[] = { 1.0f, 2.0f, 4.0f, 0.5f };

/* Output modifiers require that denormals are flushed and IEEE is off; they produce no -0. */
static bool omod_applies(const struct gfx9_vector_job *j)
{
	uint32_t mode = j->w->mode;

	if (!j->in->omod || j->in->format == GFX9_VOP3P || (mode & GFX9_MODE_IEEE))
		return false;
	return !((j->op->dst == GFX9_T_F32 ? GFX9_MODE_DENORM_F32(mode)
					   : GFX9_MODE_DENORM_F64(mode)) &
		 2);
}

static uint32_t clamp32(uint32_t u, bool dx10)
{
	float x = f32(u);

	if (nan32(u))
		return dx10 ? 0 : u;
	return x > 1.0f ? 0x3f800000 : x > 0 ? u : 0;
}

static uint64_t clamp64(uint64_t u, bool dx10)
{
	double x = f64(u);

	if (nan64(u))
		return dx10 ? 0 : u;
	return x > 1.0 ? 0x3ff0000000000000u : x > 0 ? u : 0;
}

static uint32_t clamp16(uint32_t u, bool dx10)
{
	if (nan16(u))
		return dx10 ? 0 : u;
	return u & 0x8000 ? 0 : u > 0x3c00 ? 0x3c00 : u;
}

static void apply_omod(struct gfx9_vector_job *j)
{
	float factor = omod_factor[j->in->omod & 3];
	uint32_t *out = j->out, mode = j->w->mode;

	for (int i = 0; i < GFX9_LANES; i++) {
		if (j->op->dst == GFX9_T_F32) {
			uint32_t r = flush32(fix1(f32(out[i]) * factor, out[i]));

			out[i] = r == 0x80000000u ? 0 : r;
		} else if (j->op->dst == GFX9_T_F64) {
			uint64_t u = load64(out, i);
			uint64_t r = flush64(fix1_64(f64(u) * (double)factor, u));

			store64(out, i, r == ~F64_ABS ? 0 : r);
		} else if (j->op->dst == GFX9_T_F16) {
			uint32_t r = flush16(fix1_16(d16(out[i]) * (double)factor, out[i], mode));

			out[i] = r == 0x8000 ? 0 : r;
		}
	}
}

static void apply_clamp(struct gfx9_vector_job *j)
{
	bool dx10 = j->w->mode & GFX9_MODE_DX10_CLAMP;
	uint32_t *out = j->out;

	for (int i = 0; i < GFX9_LANES; i++) {
		switch (j->op->dst) {
		case GFX9_T_P32:
			out[i + GFX9_LANES] = clamp32(out[i + GFX9_LANES], dx10);
			/* fall through */
		case GFX9_T_F32:
			out[i] = clamp32(out[i], dx10);
			break;
		case GFX9_T_F64:
			store64(out, i, clamp64(load64(out, i), dx10));
			break;
		case GFX9_T_F16:
			out[i] = clamp16(out[i], dx10);
			break;
		case GFX9_T_PF16:
			out[i] = clamp16(out[i] & 0xffff, dx10) | clamp16(out[i] >> 16, dx10) << 16;
			break;
		}
	}
}

void GFX9_V(finish_result)(struct gfx9_vector_job *j)
{
	flush(j->out, j->op->dst, j->w->mode, 2);
	if (omod_applies(j))
		apply_omod(j);
	if (j->in->clamp)
		apply_clamp(j);
}

/* The destination of a 16-bit result. */
static void place_half(struct gfx9_vector_job *j, const uint32_t *old)
{
	bool high =
		(j->op->flags & GFX9_F_HIGH) || (j->in->format == GFX9_VOP3 && (j->in->op_sel & 8));
	bool zero = j->op->flags & GFX9_F_HI0;

	for (int i = 0; i < GFX9_LANES; i++) {
		uint32_t v = j->out[i] & 0xffff;

		if (high)
			j->out[i] = v << 16 | (old[i] & 0xffff);
		else
			j->out[i] = v | (zero ? 0 : old[i] & 0xffff0000u);
	}
}

/* The destination of an 8-bit result: the other bytes are kept. */
static void place_byte(struct gfx9_vector_job *j, const uint32_t *old)
{
	unsigned int shift = j->in->op_sel >> 2 & 3;

	for (int i = 0; i < GFX9_LANES; i++)
		j->out[i] = (j->out[i] & 0xff) << 8 * shift | (old[i] & ~(0xffu << 8 * shift));
}

void GFX9_V(write_result)(struct gfx9_vector_job *j, uint32_t *d)
{
	unsigned int rows = is_wide(j->op->dst) ? 2 : 1;
	_Alignas(64) uint32_t lanes[GFX9_LANES];

	if (j->in->extra == GFX9_SDWA)
		GFX9_V(sdwa_place)(j, d);
	else if (is_half(j->op->dst))
		place_half(j, d);
	else if (j->op->dst == GFX9_T_B8)
		place_byte(j, d);
	if (j->active == GFX9_ALL_LANES) {
		memcpy(d, j->out, rows * GFX9_LANES * sizeof(*d));
		return;
	}
	expand(j->active, lanes);
	blend(d, j->out, lanes);
	if (rows == 2)
		blend(d + GFX9_LANES, j->out + GFX9_LANES, lanes);
}
