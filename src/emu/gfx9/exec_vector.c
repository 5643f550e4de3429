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
#include "emu/gfx9/operand.h"
#include "emu/gfx9/vector.h"
#include "emu/gfx9/vector_math.h"

#include <fenv.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#define ROWS (2 * GFX9_LANES) /* dwords of an operand of 64 bits */
#define LAST_INLINE 248

/* MODE as it must be for the plain path: to nearest, with all denormals, IEEE, no GPR index. */
#define MODE_FLOAT 0x2ffu
#define MODE_USUAL 0x2f0u

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/*
 * Masks
 */

/* A bit of each lane to a dword of 0 or ~0. */
static void expand(uint64_t mask, uint32_t *out)
{
	static const _Alignas(64) uint32_t bit[32] = {
		1u << 0,  1u << 1,  1u << 2,  1u << 3,	1u << 4,  1u << 5,  1u << 6,  1u << 7,
		1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
		1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
		1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31,
	};
	uint32_t lo = (uint32_t)mask, hi = (uint32_t)(mask >> 32);

	for (int i = 0; i < 32; i++) {
		out[i] = lo & bit[i] ? ~0u : 0;
		out[i + 32] = hi & bit[i] ? ~0u : 0;
	}
}

/* And back. */
static uint64_t compress(const uint32_t *m)
{
	uint64_t mask = 0;

#if defined(__AVX512DQ__)
	for (int i = 0; i < 4; i++)
		mask |= (uint64_t)_mm512_movepi32_mask(_mm512_loadu_si512(m + 16 * i)) << 16 * i;
#elif defined(__AVX2__)
	for (int i = 0; i < 8; i++) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(m + 8 * i));

		mask |= (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(v)) << 8 * i;
	}
#elif defined(__SSE2__)
	for (int i = 0; i < 16; i++) {
		__m128i v = _mm_loadu_si128((const __m128i *)(m + 4 * i));

		mask |= (uint64_t)(uint32_t)_mm_movemask_ps(_mm_castsi128_ps(v)) << 4 * i;
	}
#else
	for (int i = 0; i < GFX9_LANES; i++)
		mask |= (uint64_t)(m[i] & 1) << i;
#endif
	return mask;
}

ALWAYS_INLINE void blend(uint32_t *d, const uint32_t *r, const uint32_t *lanes)
{
	LANES
	{
		d[i] = (r[i] & lanes[i]) | (d[i] & ~lanes[i]);
	}
}

static void broadcast(uint32_t *row, uint32_t value)
{
	LANES
	{
		row[i] = value;
	}
}

/*
 * What is known of an opcode
 */

static gfx9_run_fn run_nop, run_readfirstlane, run_readlane, run_writelane, run_swap, run_mqsad_u32,
	run_accvgpr_read, run_accvgpr_write, run_accvgpr_mov;

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
#define SPECIAL(op, f) [GFX9_##op] = { .special = f },

static const struct gfx9_vector_op ops[GFX9_OPS] = { GFX9_VECTOR_OPS(OP)
							     GFX9_VECTOR_SPECIAL(SPECIAL) };

static bool is_wide(unsigned int type)
{
	switch (type) {
	case GFX9_T_B64:
	case GFX9_T_M64:
	case GFX9_T_F64:
	case GFX9_T_P32:
	case GFX9_T_PMOV:
		return true;
	default:
		return false;
	}
}

static bool is_half(unsigned int type)
{
	return type == GFX9_T_B16 || type == GFX9_T_M16 || type == GFX9_T_F16;
}

static bool is_float(unsigned int type)
{
	switch (type) {
	case GFX9_T_F32:
	case GFX9_T_F64:
	case GFX9_T_F16:
	case GFX9_T_PF16:
	case GFX9_T_P32:
	case GFX9_T_MIX:
		return true;
	default:
		return false;
	}
}

/*
 * Registers
 */

/* The row of a vector register, NULL where the wave has not that many. */
ALWAYS_INLINE uint32_t *row_of(const struct gfx9_wave *w, unsigned int code, unsigned int n)
{
	unsigned int r = code - GFX9_VGPR;

	return r + n <= w->nr_vgprs && r < w->nr_vgprs ? w->v[r] : NULL;
}

static uint32_t *acc_row(const struct gfx9_wave *w, unsigned int n)
{
	return n < w->nr_agprs ? w->v[w->nr_vgprs + n] : NULL;
}

/* M0[15:12]: which of the three sources and the destination are relative to M0[7:0]. */
#define INDEX_DST 3

static unsigned int index_of(const struct gfx9_wave *w, unsigned int operand)
{
	uint32_t m0 = w->s[GFX9_M0];

	return w->mode & GFX9_MODE_GPR_IDX && m0 >> (12 + operand) & 1 ? m0 & 0xff : 0;
}

static unsigned int indexed(const struct gfx9_wave *w, unsigned int code, unsigned int operand)
{
	return code < GFX9_VGPR ? code : code + index_of(w, operand);
}

static void set_mask(struct gfx9_wave *w, const struct gfx9_inst *in, unsigned int flags,
		     uint64_t mask)
{
	gfx9_sreg_set64(w, in->sdst, mask);
	if (flags & GFX9_F_EXEC_OUT)
		gfx9_set64(w, GFX9_EXEC, mask);
}

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

/* A literal is the upper half of a double. */
static uint64_t constant64(const struct gfx9_wave *w, const struct gfx9_inst *in, unsigned int code,
			   unsigned int type)
{
	if (code < GFX9_SREGS)
		return gfx9_sreg64(w, code);
	if (type == GFX9_T_P32 || type == GFX9_T_PMOV)
		return gfx9_operand(w, in, code);
	if (code == GFX9_LITERAL && (type == GFX9_T_F64 || type == GFX9_T_M64))
		return (uint64_t)in->literal << 32;
	return gfx9_scalar64(w, in, code);
}

/*
 * Everything an instruction can ask for
 */

struct job {
	struct gfx9_wave *w;
	const struct gfx9_inst *in;
	const struct gfx9_vector_op *op;
	uint64_t active; /* lanes that are written */
	const uint32_t *operand[3]; /* registers themselves, or what src holds */
	_Alignas(64) uint32_t src[3][ROWS];
	_Alignas(64) uint32_t out[ROWS];
	_Alignas(64) uint32_t m[GFX9_LANES];
};

#define EACH_LANE(expr)                      \
	for (int i = 0; i < GFX9_LANES; i++) \
		lane[i] = (int8_t)(expr);    \
	break

/* The lane that each lane gets its first source from, -1 where there is none. */
static void dpp_lanes(unsigned int ctrl, int8_t *lane)
{
	int n = (int)(ctrl & 15);

	switch (ctrl < 0x100 ? 0 : ctrl >> 4 == 0x13 || ctrl >> 4 == 0x14 ? ctrl : ctrl >> 4) {
	case 0: /* quad_perm */
		EACH_LANE((i & ~3) | (int)(ctrl >> 2 * (i & 3) & 3));
	case 0x10: /* row_shl */
		EACH_LANE((i & 15) + n < 16 ? i + n : -1);
	case 0x11: /* row_shr */
		EACH_LANE((i & 15) >= n ? i - n : -1);
	case 0x12: /* row_ror */
		EACH_LANE((i & ~15) | ((i - n) & 15));
	case 0x15: /* row_newbcast */
		EACH_LANE((i & ~15) | n);
	case 0x130: /* wave_shl */
		EACH_LANE(i < 63 ? i + 1 : -1);
	case 0x134: /* wave_rol */
		EACH_LANE((i + 1) & 63);
	case 0x138: /* wave_shr */
		EACH_LANE(i - 1);
	case 0x13c: /* wave_ror */
		EACH_LANE((i - 1) & 63);
	case 0x140: /* row_mirror */
		EACH_LANE(i ^ 15);
	case 0x141: /* row_half_mirror */
		EACH_LANE(i ^ 7);
	case 0x142: /* row_bcast15 */
		EACH_LANE((i & ~15) - 1);
	default: /* row_bcast31 */
		EACH_LANE(i < 32 ? -1 : 31);
	}
}

static bool dpp_valid(unsigned int ctrl)
{
	switch (ctrl >> 4) {
	case 0x10:
	case 0x11:
	case 0x12:
		return ctrl & 15;
	case 0x15:
		return true;
	}
	switch (ctrl) {
	case 0x130:
	case 0x134:
	case 0x138:
	case 0x13c:
	case 0x140:
	case 0x141:
	case 0x142:
	case 0x143:
		return true;
	default:
		return ctrl < 0x100;
	}
}

/* The lanes that the masks of rows and banks leave on. */
static uint64_t dpp_enabled(const struct gfx9_inst *in)
{
	uint64_t banks = 0, mask = 0;

	for (int k = 0; k < 4; k++)
		banks |= (uint64_t)(in->bank_mask >> k & 1 ? 0xf : 0) << 4 * k;
	for (int k = 0; k < 4; k++)
		mask |= in->row_mask >> k & 1 ? banks << 16 * k : 0;
	return mask;
}

/* A lane that EXEC has switched off gives no data either. */
static void dpp(struct job *j, uint32_t *row, unsigned int n)
{
	uint64_t exec = gfx9_exec(j->w), valid = 0;
	uint32_t from[ROWS];
	int8_t lane[GFX9_LANES];

	dpp_lanes(j->in->dpp_ctrl, lane);
	for (int i = 0; i < GFX9_LANES; i++)
		valid |= (uint64_t)(lane[i] >= 0 && (exec >> (lane[i] & 63) & 1)) << i;
	memcpy(from, row, n * GFX9_LANES * sizeof(*row));
	for (int i = 0; i < GFX9_LANES; i++)
		row[i] = valid >> i & 1 ? from[lane[i] & 63] : 0;
	for (int i = GFX9_LANES; n == 2 && i < ROWS; i++)
		row[i] = valid >> (i - 64) & 1 ? from[64 + (lane[i - 64] & 63)] : 0;
	j->active &= dpp_enabled(j->in);
	if (!j->in->bound_ctrl)
		j->active &= valid;
}

static void sdwa_select(uint32_t *row, unsigned int sel, bool sext)
{
	unsigned int shift = sel < 4 ? 8 * sel : 16 * (sel - 4), bits = sel < 4 ? 8 : 16;

	if (sel >= 6)
		return;
	LANES
	{
		uint32_t v = row[i] << (32 - bits - shift);

		row[i] = sext ? (uint32_t)((int32_t)v >> (32 - bits)) : v >> (32 - bits);
	}
}

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

/* Denormals to zero where MODE says so; @bit: 1 for what goes in, 2 for what comes out. */
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

/* The packed formats choose which half of a source each half of the result is made from. */
static void swizzle(struct job *j, unsigned int k, unsigned int type)
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

static void swizzle_wide(struct job *j, unsigned int k, unsigned int type)
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

/* v_fma_mix: neg is of both kinds, the field of neg_hi means abs. */
static void mix(struct job *j, unsigned int k)
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

static void modify_source(struct job *j, unsigned int k, unsigned int type)
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
			sdwa_select(row, 5, false);
		else
			sdwa_select(row, 4, false);
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

static unsigned int source_code(const struct job *j, unsigned int k)
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

/* Whether a register differs from what the kernel is to see. */
static bool is_modified(const struct job *j, unsigned int k)
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

static bool read_source(struct job *j, unsigned int k)
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

static bool fetch(struct job *j, unsigned int k)
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
		dpp(j, j->src[0], is_wide(type) ? 2 : 1);
	if (k < 2 && in->extra == GFX9_SDWA && type != GFX9_T_MASK)
		sdwa_select(j->src[k], in->src_sel[k], in->sext >> k & 1);
	modify_source(j, k, type);
	flush(j->src[k], type, j->w->mode, 1);
	return true;
}

/*
 * Results
 */

static const float omod_factor[] = { 1.0f, 2.0f, 4.0f, 0.5f };

/* Output modifiers are for programs that want neither denormals nor IEEE; they know no -0. */
static bool omod_applies(const struct job *j)
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

static void apply_omod(struct job *j)
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

static void apply_clamp(struct job *j)
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

static void finish_result(struct job *j)
{
	flush(j->out, j->op->dst, j->w->mode, 2);
	if (omod_applies(j))
		apply_omod(j);
	if (j->in->clamp)
		apply_clamp(j);
}

enum { UNUSED_PAD, UNUSED_SEXT, UNUSED_PRESERVE };

static void sdwa_place(struct job *j, const uint32_t *old)
{
	const struct gfx9_inst *in = j->in;
	unsigned int sel = in->dst_sel;
	unsigned int shift = sel < 4 ? 8 * sel : 16 * (sel - 4), bits = sel < 4 ? 8 : 16;
	uint32_t field;

	if (sel >= 6)
		return;
	field = ((1u << bits) - 1) << shift;
	for (int i = 0; i < GFX9_LANES; i++) {
		uint32_t v = j->out[i] << shift & field, sign = v >> (shift + bits - 1) & 1;

		if (in->dst_unused == UNUSED_PRESERVE)
			v |= old[i] & ~field;
		else if (in->dst_unused == UNUSED_SEXT && sign)
			v |= ~(field | (field - 1));
		j->out[i] = v;
	}
}

/* Where a 16-bit result goes. */
static void place_half(struct job *j, const uint32_t *old)
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

/* Where an 8-bit result goes: the other bytes stay. */
static void place_byte(struct job *j, const uint32_t *old)
{
	unsigned int shift = j->in->op_sel >> 2 & 3;

	for (int i = 0; i < GFX9_LANES; i++)
		j->out[i] = (j->out[i] & 0xff) << 8 * shift | (old[i] & ~(0xffu << 8 * shift));
}

static void write_result(struct job *j, uint32_t *d)
{
	unsigned int rows = is_wide(j->op->dst) ? 2 : 1;
	_Alignas(64) uint32_t lanes[GFX9_LANES];

	if (j->in->extra == GFX9_SDWA)
		sdwa_place(j, d);
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

/*
 * The kernel, with the host's rounding mode as MODE has it. Half precision kernels round
 * themselves.
 */
static void run_kernel(struct job *j)
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

static bool well_formed(const struct job *j)
{
	const struct gfx9_inst *in = j->in;

	if ((j->op->flags & GFX9_F_MASK_OUT) && in->sdst >= GFX9_SREGS)
		return false;
	return in->extra != GFX9_DPP || dpp_valid(in->dpp_ctrl);
}

static enum gfx9_stop run_vector(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	const struct gfx9_vector_op *op = &ops[in->op];
	struct job j;
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
		if (!fetch(&j, k))
			return GFX9_ILLEGAL;
	}
	if (op->flags & GFX9_F_VCC_IN)
		expand(gfx9_get64(w, GFX9_VCC), j.m);
	run_kernel(&j);
	if (d) {
		finish_result(&j);
		write_result(&j, d);
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

/*
 * What is not lane by lane
 */

static enum gfx9_stop run_nop(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	(void)w;
	(void)in;
	return GFX9_GO;
}

static enum gfx9_stop to_scalar(struct gfx9_wave *w, const struct gfx9_inst *in, unsigned int lane)
{
	unsigned int code = indexed(w, in->src[0], 0);
	const uint32_t *row;

	if (in->dst >= GFX9_SREGS)
		return GFX9_ILLEGAL;
	if (code < GFX9_VGPR) {
		gfx9_sreg_set(w, in->dst, gfx9_operand(w, in, code));
		return GFX9_GO;
	}
	row = row_of(w, code, 1);
	if (!row)
		return GFX9_ILLEGAL;
	gfx9_sreg_set(w, in->dst, row[lane % GFX9_LANES]);
	return GFX9_GO;
}

static enum gfx9_stop run_readfirstlane(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	uint64_t exec = gfx9_exec(w);

	if (in->extra != GFX9_PLAIN)
		return GFX9_ILLEGAL;
	return to_scalar(w, in, exec ? (unsigned int)__builtin_ctzll(exec) : 0);
}

/* The number of a lane is uniform: a scalar operand, or nothing the hardware defines. */
static enum gfx9_stop run_readlane(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	if (in->src[1] >= GFX9_VGPR)
		return GFX9_ILLEGAL;
	return to_scalar(w, in, gfx9_operand(w, in, in->src[1]));
}

static enum gfx9_stop run_writelane(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	uint32_t *d = row_of(w, indexed(w, in->dst, INDEX_DST), 1);

	if (!d || in->src[0] >= GFX9_VGPR || in->src[1] >= GFX9_VGPR)
		return GFX9_ILLEGAL;
	d[gfx9_operand(w, in, in->src[1]) % GFX9_LANES] = gfx9_operand(w, in, in->src[0]);
	return GFX9_GO;
}

static enum gfx9_stop run_swap(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	uint32_t *d = row_of(w, indexed(w, in->dst, INDEX_DST), 1);
	unsigned int code = indexed(w, in->src[0], 0);
	uint32_t *s = code >= GFX9_VGPR ? row_of(w, code, 1) : NULL;
	const uint32_t *lanes = gfx9_lanes(w);

	if (!d || !s || in->extra != GFX9_PLAIN)
		return GFX9_ILLEGAL;
	LANES
	{
		uint32_t x = (d[i] ^ s[i]) & lanes[i];

		d[i] ^= x;
		s[i] ^= x;
	}
	return GFX9_GO;
}

/* Accumulation registers. Which side is one follows from the opcode. */
/* Four sums of 32 bits, over a window of four bytes that moves on by one. */
static enum gfx9_stop run_mqsad_u32(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	static const struct gfx9_vector_op sources = { .src = { GFX9_T_B64, GFX9_T_B32 } };
	gfx9_lanes_fn *msad = in->clamp ? GFX9_V(msad_u8_sat) : GFX9_V(msad_u8);
	const uint32_t *c = row_of(w, indexed(w, in->src[2], 2), 4), *lanes = gfx9_lanes(w);
	uint32_t *d = row_of(w, indexed(w, in->dst, INDEX_DST), 4);
	_Alignas(64) uint32_t window[GFX9_LANES], sums[4][GFX9_LANES];
	struct job j = { .w = w, .in = in, .op = &sources };

	if (!c || !d || in->src[2] < GFX9_VGPR || !fetch(&j, 0) || !fetch(&j, 1))
		return GFX9_ILLEGAL;
	for (int k = 0; k < 4; k++) {
		LANES
		{
			window[i] = (uint32_t)(load64(j.operand[0], i) >> 8 * k);
		}
		msad(sums[k], NULL, window, j.operand[1], c + k * GFX9_LANES, w->mode);
	}
	for (int k = 0; k < 4; k++)
		blend(d + k * GFX9_LANES, sums[k], lanes);
	return GFX9_GO;
}

static unsigned int number(unsigned int code)
{
	return (code - GFX9_VGPR) & 0xff;
}

static enum gfx9_stop move(struct gfx9_wave *w, uint32_t *d, const uint32_t *s)
{
	if (!d || !s)
		return GFX9_ILLEGAL;
	blend(d, s, gfx9_lanes(w));
	return GFX9_GO;
}

static enum gfx9_stop run_accvgpr_read(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	if (in->src[0] < GFX9_VGPR)
		return GFX9_ILLEGAL;
	return move(w, row_of(w, GFX9_VGPR + number(in->dst), 1),
		    acc_row(w, number(in->src[0]) + index_of(w, 0)));
}

static enum gfx9_stop run_accvgpr_write(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	uint32_t *d = acc_row(w, number(in->dst) + index_of(w, INDEX_DST));
	_Alignas(64) uint32_t tmp[GFX9_LANES];

	if (in->src[0] >= GFX9_VGPR)
		return move(w, d, row_of(w, GFX9_VGPR + number(in->src[0]), 1));
	broadcast(tmp, gfx9_operand(w, in, in->src[0]));
	return move(w, d, tmp);
}

static enum gfx9_stop run_accvgpr_mov(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	if (in->src[0] < GFX9_VGPR)
		return GFX9_ILLEGAL;
	return move(w, acc_row(w, number(in->dst)), acc_row(w, number(in->src[0])));
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
