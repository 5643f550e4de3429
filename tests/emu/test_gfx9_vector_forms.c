// SPDX-License-Identifier: MIT
/*
 * The vector ALU around the operation: EXEC, MODE, modifiers, DPP, SDWA, the register index,
 * instructions across lanes; then any instruction that decodes, in all compilations.
 */
#include "../unit/test.h"

#include "vector_fixture.h"

/*
 * An instruction on one value: the effects of MODE and the modifiers
 */

struct modified {
	uint16_t op;
	uint32_t mode;
	uint64_t src[3], want;
	uint8_t neg, abs, omod;
	bool clamp;
};

static const struct modified modified[] = {
	/* neg and abs, in that order from the outside */
	{ GFX9_V_ADD_F32, USUAL, { 0x3f800000, 0x40000000 }, .want = 0x3f800000, .neg = 1 },
	{ GFX9_V_ADD_F32, USUAL, { 0xbf800000, 0x40000000 }, .want = 0x40400000, .abs = 1 },
	{ GFX9_V_ADD_F32,
	  USUAL,
	  { 0xbf800000, 0x40000000 },
	  .want = 0x3f800000,
	  .abs = 1,
	  .neg = 1 },
	{ GFX9_V_ADD_F32, USUAL, { 0x7f800001, 0 }, .want = 0xffc00001, .neg = 1 },
	{ GFX9_V_FMA_F32,
	  USUAL,
	  { 0x40000000, 0x40000000, 0x3f800000 },
	  .want = 0x40400000,
	  .neg = 4 },
	{ GFX9_V_ADD_F64,
	  USUAL,
	  { 0x3ff0000000000000, 0x4000000000000000 },
	  .want = 0xbff0000000000000,
	  .neg = 2 },
	{ GFX9_V_ADD_F64,
	  USUAL,
	  { 0xbff0000000000000, 0x4000000000000000 },
	  .want = 0x4008000000000000,
	  .abs = 1 },
	{ GFX9_V_MAX_F16, USUAL, { 0x3c00, 0xc000 }, .want = 0x4000, .abs = 2 },
	{ GFX9_V_CNDMASK_B32, USUAL, { 0x3f800000, 0x40000000, 0 }, .want = 0xbf800000, .neg = 1 },
	/* not for integers */
	{ GFX9_V_ADD_U32, USUAL, { 5, 6 }, .want = 11, .neg = 3, .abs = 3 },
	/* clamp: to [0, 1]; a NaN is 0 with DX10_CLAMP */
	{ GFX9_V_ADD_F32, USUAL, { 0x3f800000, 0x3f800000 }, .want = 0x3f800000, .clamp = true },
	{ GFX9_V_ADD_F32, USUAL, { 0x3f000000, 0x3e800000 }, .want = 0x3f400000, .clamp = true },
	{ GFX9_V_ADD_F32, USUAL, { 0xbf800000, 0 }, .want = 0, .clamp = true },
	{ GFX9_V_ADD_F32, USUAL, { 0x7fc00000, 0 }, .want = 0, .clamp = true },
	{ GFX9_V_ADD_F32, USUAL & ~0x100u, { 0x7fc00000, 0 }, .want = 0x7fc00000, .clamp = true },
	{ GFX9_V_ADD_F64,
	  USUAL,
	  { 0x4000000000000000, 0 },
	  .want = 0x3ff0000000000000,
	  .clamp = true },
	{ GFX9_V_ADD_F64, USUAL, { 0xc000000000000000, 0 }, .want = 0, .clamp = true },
	{ GFX9_V_ADD_F16, USUAL, { 0x4000, 0x3c00 }, .want = 0x3c00, .clamp = true },
	{ GFX9_V_PK_ADD_F16, USUAL, { 0x4000bc00, 0x3c000000 }, .want = 0x3c000000, .clamp = true },
	/* omod: only without IEEE and without denormals that come out */
	{ GFX9_V_ADD_F32, 0x100, { 0x3f800000, 0 }, .want = 0x40000000, .omod = 1 },
	{ GFX9_V_ADD_F32, 0x100, { 0x3f800000, 0 }, .want = 0x40800000, .omod = 2 },
	{ GFX9_V_ADD_F32, 0x100, { 0x3f800000, 0 }, .want = 0x3f000000, .omod = 3 },
	{ GFX9_V_ADD_F32, 0x100, { 0x80000000, 0x80000000 }, .want = 0, .omod = 1 },
	{ GFX9_V_ADD_F32, 0x100, { 0x80000000, 0x80000000 }, .want = 0x80000000 },
	{ GFX9_V_ADD_F32, USUAL, { 0x3f800000, 0 }, .want = 0x3f800000, .omod = 1 },
	{ GFX9_V_ADD_F32, 0x120, { 0x3f800000, 0 }, .want = 0x3f800000, .omod = 1 },
	{ GFX9_V_ADD_F32, 0x100, { 0x3f800000, 0 }, .want = 0x3f800000, .omod = 1, .clamp = true },
	{ GFX9_V_ADD_F64, 0x100, { 0x3ff0000000000000, 0 }, .want = 0x4000000000000000, .omod = 1 },
	{ GFX9_V_MUL_F16, 0x100, { 0x3c00, 0x4000 }, .want = 0x3c00, .omod = 3 },
	/* denormals: f32 in MODE[5:4], f64 and f16 in MODE[7:6]; in, then out */
	{ GFX9_V_ADD_F32, 0x3f0, { 0x00000001, 0x00000001 }, .want = 0x00000002 },
	{ GFX9_V_ADD_F32, 0x3e0, { 0x00000001, 0x80000001 }, .want = 0 },
	{ GFX9_V_ADD_F32, 0x3e0, { 0x00000001, 0x00800000 }, .want = 0x00800000 },
	{ GFX9_V_ADD_F32, 0x3d0, { 0x00000001, 0x00000001 }, .want = 0 },
	{ GFX9_V_ADD_F32, 0x3d0, { 0x00800000, 0x00000001 }, .want = 0x00800001 },
	{ GFX9_V_MUL_F32, 0x3d0, { 0x80800000, 0x3f000000 }, .want = 0x80000000 },
	{ GFX9_V_MAX_F32, 0x3c0, { 0x00000001, 0 }, .want = 0 },
	{ GFX9_V_CMP_LT_F32, 0x3f0, { 0, 1 }, .want = 1 },
	{ GFX9_V_CMP_LT_F32, 0x3e0, { 0, 1 }, .want = 0 },
	{ GFX9_V_CMP_CLASS_F32, 0x3c0, { 1, 1 << 7 }, .want = 1 },
	{ GFX9_V_MOV_B32, 0x300, { 1 }, .want = 1 },
	{ GFX9_V_ADD_F64, 0x370, { 1, 1 }, .want = 0 },
	{ GFX9_V_ADD_F64, 0x3b0, { 1, 0x0010000000000000 }, .want = 0x0010000000000000 },
	{ GFX9_V_ADD_F16, 0x370, { 1, 1 }, .want = 0 },
	{ GFX9_V_ADD_F16, 0x3b0, { 1, 0x0400 }, .want = 0x0400 },
	{ GFX9_V_PK_ADD_F16, 0x370, { 0x00010400, 0x00010000 }, .want = 0x00000400 },
	{ GFX9_V_PK_ADD_F32,
	  0x3d0,
	  { 0x0000000100000001, 0x4000000000000001 },
	  .want = 0x4000000000000000 },
	{ GFX9_V_CVT_F32_F16, 0x330, { 1 }, .want = 0 },
	{ GFX9_V_CVT_F16_F32, 0x370, { 0x33800000 }, .want = 0 },
	{ GFX9_V_FMA_MIX_F32, 0x3c0, { 1, 0x3f800000, 0x3f800000 }, .want = 0x3f800000 },
	/* rounding: f32 in MODE[1:0], f64 and f16 in MODE[3:2] */
	{ GFX9_V_ADD_F32, 0x3f0, { 0x3f800000, 0x33000000 }, .want = 0x3f800000 },
	{ GFX9_V_ADD_F32, 0x3f1, { 0x3f800000, 0x33000000 }, .want = 0x3f800001 },
	{ GFX9_V_ADD_F32, 0x3f2, { 0x3f800000, 0x33000000 }, .want = 0x3f800000 },
	{ GFX9_V_ADD_F32, 0x3f2, { 0xbf800000, 0xb3000000 }, .want = 0xbf800001 },
	{ GFX9_V_ADD_F32, 0x3f3, { 0xbf800000, 0xb3000000 }, .want = 0xbf800000 },
	{ GFX9_V_ADD_F32, 0x3f3, { 0x7f7fffff, 0x7f7fffff }, .want = 0x7f7fffff },
	{ GFX9_V_ADD_F32, 0x3fc, { 0x3f800000, 0x33c00000 }, .want = 0x3f800001 },
	{ GFX9_V_ADD_F32, 0x3f2, { 0x3f800000, 0xbf800000 }, .want = 0x80000000 },
	{ GFX9_V_FMA_F32, 0x3f1, { 0x3f800001, 0x3f800001, 0 }, .want = 0x3f800003 },
	{ GFX9_V_PK_MUL_F32,
	  0x3f1,
	  { 0x3f8000013f800001, 0x3f8000013f800001 },
	  .want = 0x3f8000033f800003 },
	{ GFX9_V_CVT_F32_U32, 0x3f1, { 0x01000001 }, .want = 0x4b800001 },
	{ GFX9_V_CVT_F32_F64, 0x3f1, { 0x3ff0000000000001 }, .want = 0x3f800001 },
	{ GFX9_V_CVT_F32_F64, 0x3f4, { 0x3ff0000000000001 }, .want = 0x3f800000 },
	{ GFX9_V_ADD_F64,
	  0x3f4,
	  { 0x3ff0000000000000, 0x3c00000000000000 },
	  .want = 0x3ff0000000000001 },
	{ GFX9_V_ADD_F64,
	  0x3f1,
	  { 0x3ff0000000000000, 0x3c00000000000000 },
	  .want = 0x3ff0000000000000 },
	{ GFX9_V_ADD_F64,
	  0x3fc,
	  { 0x3ff0000000000000, 0x3cae000000000000 },
	  .want = 0x3ff0000000000000 },
	{ GFX9_V_ADD_F16, 0x3f4, { 0x3c00, 0x0001 }, .want = 0x3c01 },
	{ GFX9_V_ADD_F16, 0x3f8, { 0x3c00, 0x0001 }, .want = 0x3c00 },
	{ GFX9_V_ADD_F16, 0x3f8, { 0xbc00, 0x8001 }, .want = 0xbc01 },
	{ GFX9_V_ADD_F16, 0x3fc, { 0x7bff, 0x7bff }, .want = 0x7bff },
	{ GFX9_V_ADD_F16, 0x3f4, { 0xfbff, 0xfbff }, .want = 0xfbff },
	{ GFX9_V_FMA_F16, 0x3f4, { 0x3c01, 0x3c01, 0 }, .want = 0x3c03 },
	{ GFX9_V_CVT_F16_F32, 0x3f4, { 0x3f800001 }, .want = 0x3c01 },
	{ GFX9_V_CVT_F16_F32, 0x3f1, { 0x3f800001 }, .want = 0x3c00 },
	{ GFX9_V_RNDNE_F32, 0x3f1, { 0x40200000 }, .want = 0x40000000 },
	{ GFX9_V_RNDNE_F64, 0x3f4, { 0x4004000000000000 }, .want = 0x4000000000000000 },
	{ GFX9_V_RCP_F32, 0x3f1, { 0x40400000 }, .want = 0x3eaaaaab },
	{ GFX9_V_RCP_F32, 0x3f2, { 0x40400000 }, .want = 0x3eaaaaab },
	{ GFX9_V_CVT_I32_F32, 0x3f1, { 0x3fc00000 }, .want = 1 },
	/* IEEE: a signalling NaN comes out of min and max; otherwise a number wins */
	{ GFX9_V_MIN_F32, 0x3f0, { 0x7f800001, 0x3f800000 }, .want = 0x7fc00001 },
	{ GFX9_V_MIN_F32, 0x1f0, { 0x7f800001, 0x3f800000 }, .want = 0x3f800000 },
	{ GFX9_V_MIN_F32, 0x3f0, { 0x7fc00001, 0x3f800000 }, .want = 0x3f800000 },
	{ GFX9_V_MAX_F32, 0x1f0, { 0x3f800000, 0xff800001 }, .want = 0x3f800000 },
	{ GFX9_V_MAX_F32, 0x3f0, { 0x80000000, 0 }, .want = 0 },
	{ GFX9_V_MIN_F32, 0x3f0, { 0, 0x80000000 }, .want = 0x80000000 },
	{ GFX9_V_MAX_F64,
	  0x1f0,
	  { 0x3ff0000000000000, 0x7ff0000000000001 },
	  .want = 0x3ff0000000000000 },
	{ GFX9_V_MIN_F16, 0x1f0, { 0x3c00, 0x7c01 }, .want = 0x3c00 },
};

static void put_one(struct fixture *f, const struct gfx9_vector_op *op, const uint64_t *src)
{
	uint64_t row[GFX9_LANES];

	for (unsigned int k = 0; k < 3; k++) {
		for (int i = 0; i < GFX9_LANES; i++)
			row[i] = src[k];
		if (op->src[k] == GFX9_T_MASK)
			gfx9_set64(&f->w, MASK_SRC, src[k] ? ~0ull : 0);
		else
			put(f, 2 * k, row, op->src[k] == GFX9_T_NONE ? GFX9_T_B32 : op->src[k]);
	}
}

static void test_modifiers(void **state)
{
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();
	struct fixture *f = fixture_new();

	(void)state;
	for (; *v; v++) {
		for (size_t k = 0; k < NR(modified); k++) {
			const struct modified *c = &modified[k];
			const struct gfx9_vector_op *op = &(*v)->ops[c->op];
			struct gfx9_inst in = inst_of(op, c->op);
			uint64_t got;

			in.neg = c->neg;
			in.abs = c->abs;
			in.omod = c->omod;
			in.clamp = c->clamp;
			put_one(f, op, c->src);
			f->w.mode = c->mode;
			gfx9_set64(&f->w, GFX9_EXEC, GFX9_ALL_LANES);
			assert_int_equal((*v)->bind(&in)(&f->w, &in), GFX9_GO);
			assert_int_equal(fegetround(), FE_TONEAREST);
			got = f->v[DST][63];
			if (is_wide(op->dst))
				got |= (uint64_t)f->v[DST + 1][63] << 32;
			if (op->dst == GFX9_T_NONE)
				got = gfx9_get64(&f->w, SDST) >> 63;
			if (is_half(op->dst))
				got &= 0xffff;
			if (got != c->want)
				fail_msg("%s: case %zu, %s: %llx, not %llx", (*v)->name, k,
					 gfx9_op_name(c->op), (unsigned long long)got,
					 (unsigned long long)c->want);
		}
	}
	fixture_free(f);
}

/*
 * Constants, each in the operand's type
 */

static void test_constants(void **state)
{
	static const struct {
		uint16_t op, code;
		uint64_t want;
	} cases[] = {
		{ GFX9_V_MOV_B32, 128, 0 },
		{ GFX9_V_MOV_B32, 192, 64 },
		{ GFX9_V_MOV_B32, 193, 0xffffffff },
		{ GFX9_V_MOV_B32, 208, 0xfffffff0 },
		{ GFX9_V_MOV_B32, 242, 0x3f800000 },
		{ GFX9_V_MOV_B32, 248, 0x3e22f983 },
		{ GFX9_V_MOV_B32, 255, 0x89abcdef },
		{ GFX9_V_MOV_B32, 5, 0x55555555 },
		{ GFX9_V_MOV_B32, GFX9_M0, 0x77 },
		{ GFX9_V_TRUNC_F16, 242, 0x3c00 },
		{ GFX9_V_TRUNC_F16, 247, 0xc400 },
		{ GFX9_V_TRUNC_F64, 242, 0x3ff0000000000000 },
		{ GFX9_V_TRUNC_F64, 247, 0xc010000000000000 },
		{ GFX9_V_SQRT_F64, 255, 0x4000000000000000 }, /* of 4.0 by its upper half */
		{ GFX9_V_MOV_B64, 193, 0xffffffffffffffff },
		{ GFX9_V_MOV_B64, 242, 0x3ff0000000000000 },
		{ GFX9_V_MOV_B64, 4, 0x5555555544444444 },
		{ GFX9_V_CVT_F16_I16, 193, 0xbc00 },
		{ GFX9_V_FRACT_F16, 240, 0x3800 },
	};
	struct fixture *f = fixture_new();
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();

	(void)state;
	for (; *v; v++) {
		for (size_t k = 0; k < NR(cases); k++) {
			const struct gfx9_vector_op *op = &(*v)->ops[cases[k].op];
			struct gfx9_inst in = inst_of(op, cases[k].op);
			uint64_t got;

			in.src[0] = cases[k].code;
			in.literal = cases[k].op == GFX9_V_SQRT_F64 ? 0x40100000 : 0x89abcdef;
			f->w.s[4] = 0x44444444;
			f->w.s[5] = 0x55555555;
			f->w.s[GFX9_M0] = 0x77;
			assert_int_equal((*v)->bind(&in)(&f->w, &in), GFX9_GO);
			got = f->v[DST][17];
			if (is_wide(op->dst))
				got |= (uint64_t)f->v[DST + 1][17] << 32;
			if (got != cases[k].want)
				fail_msg("%s of %u: %llx", gfx9_op_name(cases[k].op), cases[k].code,
					 (unsigned long long)got);
		}
	}
	fixture_free(f);
}

/*
 * DPP
 */

/* The lane that lane @i reads from, by the manual; -1: none. */
static int dpp_source(unsigned int ctrl, int i)
{
	int row = i / 16, at = i % 16, n = (int)ctrl & 15;

	if (ctrl <= 0xff) {
		int quad[4] = { (int)ctrl % 4, (int)ctrl / 4 % 4, (int)ctrl / 16 % 4,
				(int)ctrl / 64 };

		return i / 4 * 4 + quad[i % 4];
	}
	if (ctrl >= 0x101 && ctrl <= 0x10f)
		return at + n <= 15 ? row * 16 + at + n : -1;
	if (ctrl >= 0x111 && ctrl <= 0x11f)
		return at - n >= 0 ? row * 16 + at - n : -1;
	if (ctrl >= 0x121 && ctrl <= 0x12f)
		return row * 16 + (at + 16 - n) % 16;
	if (ctrl >= 0x150 && ctrl <= 0x15f)
		return row * 16 + n;
	switch (ctrl) {
	case 0x130:
		return i == 63 ? -1 : i + 1;
	case 0x134:
		return i == 63 ? 0 : i + 1;
	case 0x138:
		return i == 0 ? -1 : i - 1;
	case 0x13c:
		return i == 0 ? 63 : i - 1;
	case 0x140:
		return row * 16 + 15 - at;
	case 0x141:
		return i / 8 * 8 + 7 - i % 8;
	case 0x142:
		return row ? row * 16 - 1 : -1;
	case 0x143:
		return row >= 2 ? 31 : -1;
	default:
		return -2;
	}
}

static void check_dpp(struct fixture *f, const struct gfx9_vector_variant *v, unsigned int ctrl)
{
	struct gfx9_inst in = { .op = GFX9_V_ADD_U32,
				.format = GFX9_VOP2,
				.extra = GFX9_DPP,
				.dst = V(DST),
				.src = { V(0), V(2) },
				.dpp_ctrl = (uint16_t)ctrl,
				.row_mask = (uint8_t)(random64() & 15),
				.bank_mask = (uint8_t)(random64() & 15),
				.bound_ctrl = random64() & 1 };
	uint64_t exec = random64() | random64();
	enum gfx9_stop stop;

	gfx9_set64(&f->w, GFX9_EXEC, exec);
	for (int i = 0; i < GFX9_LANES; i++) {
		f->v[0][i] = 1000u + (uint32_t)i;
		f->v[2][i] = (uint32_t)i << 16;
		f->v[DST][i] = POISON;
	}
	stop = v->bind(&in)(&f->w, &in);
	if (dpp_source(ctrl, 0) == -2) {
		assert_int_equal(stop, GFX9_ILLEGAL);
		return;
	}
	assert_int_equal(stop, GFX9_GO);
	for (int i = 0; i < GFX9_LANES; i++) {
		int from = dpp_source(ctrl, i);
		bool have = from >= 0 && (exec >> from & 1);
		bool on = (exec >> i & 1) && (in.row_mask >> i / 16 & 1) &&
			  (in.bank_mask >> i % 16 / 4 & 1) && (have || in.bound_ctrl);
		uint32_t want = ((uint32_t)i << 16) + (have ? 1000u + (uint32_t)from : 0);

		if (f->v[DST][i] != (on ? want : POISON))
			fail_msg("%s: control %x, lane %d: %x", v->name, ctrl, i, f->v[DST][i]);
	}
}

static void test_dpp(void **state)
{
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();
	struct fixture *f = fixture_new();

	(void)state;
	for (; *v; v++) {
		for (unsigned int ctrl = 0; ctrl < 0x200; ctrl++) {
			for (int k = 0; k < 4; k++)
				check_dpp(f, *v, ctrl);
		}
	}
	fixture_free(f);
}

/* 64 bits, and a comparison: disabled lanes provide 0. */
static void test_dpp_wide(void **state)
{
	struct gfx9_inst move = { .op = GFX9_V_MOV_B64,
				  .format = GFX9_VOP1,
				  .extra = GFX9_DPP,
				  .dst = V(DST),
				  .src = { V(0) },
				  .dpp_ctrl = 0x153,
				  .row_mask = 15,
				  .bank_mask = 15 };
	struct gfx9_inst compare_eq = { .op = GFX9_V_CMP_EQ_U32,
					.format = GFX9_VOPC,
					.extra = GFX9_DPP,
					.sdst = GFX9_VCC,
					.src = { V(0), V(0) },
					.dpp_ctrl = 0x134,
					.row_mask = 3,
					.bank_mask = 15 };
	struct fixture *f = fixture_new();

	(void)state;
	for (uint32_t i = 0; i < GFX9_LANES; i++) {
		f->v[0][i] = i;
		f->v[1][i] = 100 + i;
	}
	assert_int_equal(gfx9_vector_bind(&move)(&f->w, &move), GFX9_GO);
	for (uint32_t i = 0; i < GFX9_LANES; i++) {
		assert_int_equal(f->v[DST][i], i / 16 * 16 + 3);
		assert_int_equal(f->v[DST + 1][i], i / 16 * 16 + 103);
		f->v[0][i] = 7;
	}
	assert_int_equal(gfx9_vector_bind(&compare_eq)(&f->w, &compare_eq), GFX9_GO);
	assert_int_equal(gfx9_get64(&f->w, GFX9_VCC), 0xffffffff);
	fixture_free(f);
}

/*
 * SDWA
 */

static uint32_t selected(uint32_t v, unsigned int sel, bool sext)
{
	uint8_t b[4];

	memcpy(b, &v, 4);
	if (sel < 4)
		return sext ? (uint32_t)(int8_t)b[sel] : b[sel];
	if (sel < 6) {
		uint16_t h = (uint16_t)(b[2 * (sel - 4)] | b[2 * (sel - 4) + 1] << 8);

		return sext ? (uint32_t)(int16_t)h : h;
	}
	return v;
}

static uint32_t placed(uint32_t r, uint32_t old, unsigned int sel, unsigned int unused)
{
	unsigned int first = sel < 4 ? sel : 2 * (sel - 4), n = sel < 4 ? 1 : 2;
	uint8_t out[4], from[4];

	if (sel == 6)
		return r;
	memcpy(out, &old, 4);
	memcpy(from, &r, 4);
	for (unsigned int k = 0; k < 4; k++) {
		if (k >= first && k < first + n)
			out[k] = from[k - first];
		else if (unused == 0 || (unused == 1 && k < first))
			out[k] = 0;
		else if (unused == 1)
			out[k] = from[n - 1] & 0x80 ? 0xff : 0;
	}
	memcpy(&r, out, 4);
	return r;
}

static void check_sdwa(struct fixture *f, const struct gfx9_vector_variant *v, struct gfx9_inst *in)
{
	uint64_t exec = random64();

	gfx9_set64(&f->w, GFX9_EXEC, exec);
	for (int i = 0; i < GFX9_LANES; i++) {
		f->v[0][i] = (uint32_t)random64();
		f->v[2][i] = (uint32_t)random64();
		f->v[DST][i] = (uint32_t)random64();
	}
	memcpy(f->v[4], f->v[DST], sizeof(f->v[4]));
	assert_int_equal(v->bind(in)(&f->w, in), GFX9_GO);
	for (int i = 0; i < GFX9_LANES; i++) {
		uint32_t x = selected(f->v[0][i], in->src_sel[0], in->sext & 1);
		uint32_t y = selected(in->src[1] == 6 ? f->w.s[6] : f->v[2][i], in->src_sel[1],
				      in->sext & 2);
		uint32_t want = placed(x + y, f->v[4][i], in->dst_sel, in->dst_unused);

		if (!(exec >> i & 1))
			want = f->v[4][i];
		if (f->v[DST][i] != want)
			fail_msg("%s: %u %u %u, sext %u, unused %u: %x, not %x", v->name,
				 in->src_sel[0], in->src_sel[1], in->dst_sel, in->sext,
				 in->dst_unused, f->v[DST][i], want);
	}
}

static void test_sdwa(void **state)
{
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();
	struct fixture *f = fixture_new();

	(void)state;
	f->w.s[6] = 0x87654321;
	for (; *v; v++) {
		for (unsigned int k = 0; k < 7 * 7 * 7 * 4 * 3; k++) {
			struct gfx9_inst in = { .op = GFX9_V_ADD_U32,
						.format = GFX9_VOP2,
						.extra = GFX9_SDWA,
						.dst = V(DST),
						.src = { V(0), k % 5 ? V(2) : 6 },
						.src_sel = { k % 7, k / 7 % 7 },
						.dst_sel = k / 49 % 7,
						.sext = k / 343 % 4,
						.dst_unused = (uint8_t)(k / 343 / 4) };

			check_sdwa(f, *v, &in);
		}
	}
	fixture_free(f);
}

/* Halves of f16, and a comparison that goes to another register pair. */
static void test_sdwa_float(void **state)
{
	struct gfx9_inst in = { .op = GFX9_V_ADD_F16,
				.format = GFX9_VOP2,
				.extra = GFX9_SDWA,
				.dst = V(DST),
				.src = { V(0), V(2) },
				.src_sel = { 5, 4 },
				.dst_sel = 5,
				.dst_unused = 2,
				.neg = 1 };
	struct gfx9_inst lt = { .op = GFX9_V_CMP_LT_U32,
				.format = GFX9_VOPC,
				.extra = GFX9_SDWA,
				.sdst = 40,
				.src = { V(0), V(2) },
				.src_sel = { 0, 1 } };
	struct fixture *f = fixture_new();

	(void)state;
	for (int i = 0; i < GFX9_LANES; i++) {
		f->v[0][i] = 0x40003c01;
		f->v[2][i] = 0x77773c00;
		f->v[DST][i] = 0x1234abcd;
	}
	assert_int_equal(gfx9_vector_bind(&in)(&f->w, &in), GFX9_GO);
	assert_int_equal(f->v[DST][5], 0xbc00abcd);
	gfx9_set64(&f->w, GFX9_EXEC, 0xff);
	assert_int_equal(gfx9_vector_bind(&lt)(&f->w, &lt), GFX9_GO);
	assert_int_equal(gfx9_get64(&f->w, 40), 0xff);
	fixture_free(f);
}

/*
 * Halves
 */

static void test_op_sel(void **state)
{
	struct fixture *f = fixture_new();
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();

	(void)state;
	for (; *v; v++) {
		for (uint8_t sel = 0; sel < 16; sel++) {
			struct gfx9_inst in = { .op = GFX9_V_MAD_U16,
						.format = GFX9_VOP3,
						.dst = V(DST),
						.src = { V(0), V(2), V(4) },
						.op_sel = sel };
			uint32_t x = sel & 1 ? 7 : 5, y = sel & 2 ? 13 : 11, z = sel & 4 ? 19 : 17;
			uint32_t r = x * y + z;

			for (int i = 0; i < GFX9_LANES; i++) {
				f->v[0][i] = 7u << 16 | 5;
				f->v[2][i] = 13u << 16 | 11;
				f->v[4][i] = 19u << 16 | 17;
				f->v[DST][i] = POISON;
			}
			assert_int_equal((*v)->bind(&in)(&f->w, &in), GFX9_GO);
			assert_int_equal(f->v[DST][9], sel & 8 ? r << 16 | (POISON & 0xffff)
							       : r | (POISON & 0xffff0000));
		}
	}
	fixture_free(f);
}

static void test_packed_select(void **state)
{
	struct fixture *f = fixture_new();
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();

	(void)state;
	for (; *v; v++) {
		for (uint8_t sel = 0; sel < 16; sel++) {
			struct gfx9_inst in = { .op = GFX9_V_PK_SUB_U16,
						.format = GFX9_VOP3P,
						.dst = V(DST),
						.src = { V(0), V(2) },
						.op_sel = sel & 3,
						.op_sel_hi = sel >> 2 };
			uint32_t lo = (sel & 1 ? 500u : 400u) - (sel & 2 ? 20u : 10u);
			uint32_t hi = (sel & 4 ? 500u : 400u) - (sel & 8 ? 20u : 10u);

			for (int i = 0; i < GFX9_LANES; i++) {
				f->v[0][i] = 500u << 16 | 400;
				f->v[2][i] = 20u << 16 | 10;
				f->v[1][i] = 600;
				f->v[3][i] = 30;
			}
			assert_int_equal((*v)->bind(&in)(&f->w, &in), GFX9_GO);
			assert_int_equal(f->v[DST][1], hi << 16 | lo);
			in.op = GFX9_V_PK_MOV_B32;
			assert_int_equal((*v)->bind(&in)(&f->w, &in), GFX9_GO);
			assert_int_equal(f->v[DST][1], sel & 1 ? 600 : 500u << 16 | 400);
			assert_int_equal(f->v[DST + 1][1], sel & 2 ? 30 : 20u << 16 | 10);
		}
	}
	fixture_free(f);
}

static void test_packed_negate(void **state)
{
	struct gfx9_inst in = { .op = GFX9_V_PK_ADD_F32,
				.format = GFX9_VOP3P,
				.dst = V(DST),
				.src = { V(0), V(2) },
				.op_sel_hi = 3,
				.neg = 1,
				.abs = 2 };
	struct gfx9_inst half = in, mix = in;
	struct fixture *f = fixture_new();

	(void)state;
	for (int i = 0; i < GFX9_LANES; i++) {
		f->v[0][i] = f->v[1][i] = 0x3f800000;
		f->v[2][i] = f->v[3][i] = 0x40000000;
	}
	assert_int_equal(gfx9_vector_bind(&in)(&f->w, &in), GFX9_GO);
	assert_int_equal(f->v[DST][3], 0x3f800000);
	assert_int_equal(f->v[DST + 1][3], 0xbf800000);
	half.op = GFX9_V_PK_ADD_F16;
	for (int i = 0; i < GFX9_LANES; i++) {
		f->v[0][i] = 0x3c003c00;
		f->v[2][i] = 0x40004000;
		f->v[4][i] = 0x3f800000;
	}
	assert_int_equal(gfx9_vector_bind(&half)(&f->w, &half), GFX9_GO);
	assert_int_equal(f->v[DST][3], 0xbc003c00);
	/* An f16, its upper half an f16 again, and an f32: |-1| * 2 - 1. */
	mix.op = GFX9_V_FMA_MIX_F32;
	mix.src[2] = V(4);
	mix.op_sel = 2;
	mix.op_sel_hi = 3;
	mix.neg = 4;
	mix.abs = 1;
	for (int i = 0; i < GFX9_LANES; i++) {
		f->v[0][i] = 0xbc00;
		f->v[2][i] = 0x40000000;
	}
	assert_int_equal(gfx9_vector_bind(&mix)(&f->w, &mix), GFX9_GO);
	assert_int_equal(f->v[DST][3], 0x3f800000);
	fixture_free(f);
}

/*
 * Lanes and registers
 */

static void test_lanes(void **state)
{
	struct gfx9_inst first = {
		.op = GFX9_V_READFIRSTLANE_B32, .format = GFX9_VOP1, .dst = 9, .src = { V(0) }
	};
	struct gfx9_inst read = {
		.op = GFX9_V_READLANE_B32, .format = GFX9_VOP3, .dst = 9, .src = { V(0), 10 }
	};
	struct gfx9_inst write = {
		.op = GFX9_V_WRITELANE_B32, .format = GFX9_VOP3, .dst = V(0), .src = { 11, 10 }
	};
	struct fixture *f = fixture_new();

	(void)state;
	for (uint32_t i = 0; i < GFX9_LANES; i++)
		f->v[0][i] = 500 + i;
	gfx9_set64(&f->w, GFX9_EXEC, 0xf000);
	assert_int_equal(gfx9_vector_bind(&first)(&f->w, &first), GFX9_GO);
	assert_int_equal(f->w.s[9], 512);
	gfx9_set64(&f->w, GFX9_EXEC, 0);
	assert_int_equal(gfx9_vector_bind(&first)(&f->w, &first), GFX9_GO);
	assert_int_equal(f->w.s[9], 500);
	f->w.s[10] = 64 + 7;
	assert_int_equal(gfx9_vector_bind(&read)(&f->w, &read), GFX9_GO);
	assert_int_equal(f->w.s[9], 507);
	f->w.s[11] = 42;
	assert_int_equal(gfx9_vector_bind(&write)(&f->w, &write), GFX9_GO);
	assert_int_equal(f->v[0][7], 42);
	assert_int_equal(f->v[0][8], 508);
	read.dst = 200;
	assert_int_equal(gfx9_vector_bind(&read)(&f->w, &read), GFX9_ILLEGAL);
	fixture_free(f);
}

static void test_swap(void **state)
{
	struct gfx9_inst in = {
		.op = GFX9_V_SWAP_B32, .format = GFX9_VOP1, .dst = V(0), .src = { V(1) }
	};
	struct fixture *f = fixture_new();

	(void)state;
	for (int i = 0; i < GFX9_LANES; i++) {
		f->v[0][i] = 1;
		f->v[1][i] = 2;
	}
	gfx9_set64(&f->w, GFX9_EXEC, 1);
	assert_int_equal(gfx9_vector_bind(&in)(&f->w, &in), GFX9_GO);
	assert_int_equal(f->v[0][0], 2);
	assert_int_equal(f->v[1][0], 1);
	assert_int_equal(f->v[0][1], 1);
	assert_int_equal(f->v[1][1], 2);
	fixture_free(f);
}

/* As the assembler encodes them: a3 from v5, v6 from a3, a1 from a3, a0 from 1.0. */
/* Only the byte that op_sel selects. */
static void test_byte_select(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	for (uint32_t byte = 0; byte < 4; byte++) {
		struct gfx9_inst in = { .op = GFX9_V_CVT_SR_FP8_F32,
					.format = GFX9_VOP3,
					.dst = V(DST),
					.src = { V(0), V(2) },
					.op_sel = (uint8_t)(byte << 2),
					.neg = 1 };

		f->v[0][9] = 0x3f800000;
		f->v[2][9] = ~0u;
		f->v[DST][9] = POISON;
		assert_int_equal(gfx9_vector_ops[in.op](&f->w, &in), GFX9_GO);
		assert_int_equal(f->v[DST][9], (POISON & ~(0xffu << 8 * byte)) | 0xc0u << 8 * byte);
	}
	fixture_free(f);
}

/* v_mqsad_u32_u8: a window of four bytes moves over eight; bytes of the reference that are 0 do not
 * count. */
static void test_mqsad(void **state)
{
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();
	struct gfx9_inst in = { .op = GFX9_V_MQSAD_U32_U8,
				.format = GFX9_VOP3,
				.dst = V(DST),
				.src = { V(0), V(2), V(4) } };
	struct fixture *f = fixture_new();

	(void)state;
	for (; *v; v++) {
		for (int n = 0; n < 40; n++) {
			uint64_t exec = n % 2 ? random64() : GFX9_ALL_LANES;

			in.clamp = n % 3 == 0;
			gfx9_set64(&f->w, GFX9_EXEC, exec);
			for (int r = 0; r < NR_VGPRS; r++)
				for (int i = 0; i < GFX9_LANES; i++)
					f->v[r][i] = (uint32_t)random64() &
						     (random64() & 1 ? ~0u : 0xff00ff);
			f->v[4][0] = f->v[5][1] = ~0u;
			for (int i = 0; i < GFX9_LANES; i++)
				f->v[12][i] = f->v[DST][i];
			assert_int_equal((*v)->run(&f->w, &in), GFX9_GO);
			for (int i = 0; i < 4 * GFX9_LANES; i++) {
				int lane = i % GFX9_LANES, k = i / GFX9_LANES;
				uint64_t x = f->v[0][lane] | (uint64_t)f->v[1][lane] << 32;
				uint64_t sum = f->v[4 + k][lane];

				for (int b = 0; b < 4; b++) {
					int ref = f->v[2][lane] >> 8 * b & 0xff;

					sum += ref ? (uint64_t)abs(ref -
								   (int)(x >> 8 * (b + k) & 0xff))
						   : 0;
				}
				if (in.clamp && sum > UINT32_MAX)
					sum = UINT32_MAX;
				if (exec >> lane & 1)
					assert_int_equal(f->v[DST + k][lane], (uint32_t)sum);
				else if (!k)
					assert_int_equal(f->v[DST][lane], f->v[12][lane]);
			}
		}
	}
	in.src[2] = V(NR_VGPRS - 3);
	assert_int_equal(gfx9_vector_ops[in.op](&f->w, &in), GFX9_ILLEGAL);
	in.src[2] = V(4);
	in.dst = V(NR_VGPRS - 3);
	assert_int_equal(gfx9_vector_ops[in.op](&f->w, &in), GFX9_ILLEGAL);
	fixture_free(f);
}

static void test_accumulation(void **state)
{
	static const uint32_t words[][2] = { { 0xd3d94003, 0x18000105 },
					     { 0xd3d84006, 0x18000103 },
					     { 0x7e02a503, 0 },
					     { 0xd3d94000, 0x180000f2 } };
	struct fixture *f = fixture_new();
	struct gfx9_inst in;

	(void)state;
	for (int i = 0; i < GFX9_LANES; i++)
		f->v[5][i] = 77;
	gfx9_set64(&f->w, GFX9_EXEC, 0xf);
	for (size_t k = 0; k < NR(words); k++) {
		assert_true(gfx9_decode(GFX9_TARGET_GFX90A, words[k], 2, &in) > 0);
		assert_int_equal(gfx9_vector_bind(&in)(&f->w, &in), GFX9_GO);
	}
	assert_int_equal(f->v[NR_VGPRS + 3][3], 77);
	assert_int_equal(f->v[NR_VGPRS + 3][4], 0);
	assert_int_equal(f->v[6][3], 77);
	assert_int_equal(f->v[NR_VGPRS + 1][3], 77);
	assert_int_equal(f->v[NR_VGPRS + 0][3], 0x3f800000);
	in.dst = V(NR_AGPRS);
	assert_int_equal(gfx9_vector_bind(&in)(&f->w, &in), GFX9_ILLEGAL);
	fixture_free(f);
}

static void test_gpr_index(void **state)
{
	struct gfx9_inst in = {
		.op = GFX9_V_ADD3_U32, .format = GFX9_VOP3, .dst = V(4), .src = { V(0), V(1), V(2) }
	};
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();
	struct fixture *f = fixture_new();

	(void)state;
	for (; *v; v++) {
		for (uint32_t enable = 0; enable < 16; enable++) {
			uint32_t want = 0;

			for (uint32_t r = 0; r < NR_VGPRS; r++) {
				for (int i = 0; i < GFX9_LANES; i++)
					f->v[r][i] = 1u << r;
			}
			f->w.mode = USUAL | GFX9_MODE_GPR_IDX;
			f->w.s[GFX9_M0] = enable << 12 | 5;
			for (uint32_t k = 0; k < 3; k++)
				want += 1u << (k + (enable >> k & 1 ? 5 : 0));
			assert_int_equal((*v)->bind(&in)(&f->w, &in), GFX9_GO);
			assert_int_equal(f->v[enable & 8 ? 9 : 4][20], want);
			f->w.s[GFX9_M0] = enable << 12 | 200;
			/* A result beyond the registers is dropped. */
			assert_int_equal((*v)->bind(&in)(&f->w, &in),
					 enable & 7 && !(enable & 8) ? GFX9_ILLEGAL : GFX9_GO);
		}
	}
	fixture_free(f);
}

/* Registers that the wave does not have, in each operand. */
static void test_bounds(void **state)
{
	static const struct {
		uint16_t op, dst, src[3];
		enum gfx9_stop want;
	} cases[] = {
		{ GFX9_V_ADD_U32, V(15), { V(15), V(15) }, GFX9_GO },
		{ GFX9_V_ADD_U32, V(16), { V(0), V(0) }, GFX9_ILLEGAL },
		{ GFX9_V_ADD_U32, V(0), { V(16), V(0) }, GFX9_ILLEGAL },
		{ GFX9_V_ADD_U32, V(0), { V(0), V(255) }, GFX9_ILLEGAL },
		{ GFX9_V_ADD_F64, V(14), { V(14), V(14) }, GFX9_GO },
		{ GFX9_V_ADD_F64, V(15), { V(0), V(0) }, GFX9_ILLEGAL },
		{ GFX9_V_ADD_F64, V(0), { V(15), V(0) }, GFX9_ILLEGAL },
		{ GFX9_V_FMA_F64, V(0), { V(0), V(0), V(15) }, GFX9_ILLEGAL },
		{ GFX9_V_FMAC_F64, V(15), { V(0), V(0) }, GFX9_ILLEGAL },
		{ GFX9_V_CMP_LT_U64, 0, { V(15), V(0) }, GFX9_ILLEGAL },
		{ GFX9_V_SWAP_B32, V(0), { V(16) }, GFX9_ILLEGAL },
	};
	struct fixture *f = fixture_new();
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();

	(void)state;
	for (; *v; v++) {
		for (size_t k = 0; k < NR(cases); k++) {
			struct gfx9_inst in = { .op = cases[k].op,
						.format = GFX9_VOP3,
						.dst = cases[k].dst,
						.sdst = 10 };

			memcpy(in.src, cases[k].src, sizeof(in.src));
			assert_int_equal((*v)->bind(&in)(&f->w, &in), cases[k].want);
			assert_int_equal((*v)->run(&f->w, &in), cases[k].want);
		}
	}
	fixture_free(f);
}

/* Destinations that are sources, shifted by one row for pairs. */
static void test_overlap(void **state)
{
	struct gfx9_inst in = { .op = GFX9_V_LSHL_ADD_U64,
				.format = GFX9_VOP3,
				.dst = V(1),
				.src = { V(0), 129, V(2) } };
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();
	struct fixture *f = fixture_new();

	(void)state;
	for (; *v; v++) {
		for (int partial = 0; partial < 2; partial++) {
			uint64_t a = 0x123456789abcdef0, c = 0xfedcba9800000001, r = (a << 1) + c;

			gfx9_set64(&f->w, GFX9_EXEC, partial ? 0xff : GFX9_ALL_LANES);
			for (int i = 0; i < GFX9_LANES; i++) {
				f->v[0][i] = (uint32_t)a;
				f->v[1][i] = (uint32_t)(a >> 32);
				f->v[2][i] = (uint32_t)c;
				f->v[3][i] = (uint32_t)(c >> 32);
			}
			assert_int_equal((*v)->bind(&in)(&f->w, &in), GFX9_GO);
			for (int i = 0; i < (partial ? 8 : 64); i++) {
				assert_int_equal(f->v[1][i], (uint32_t)r);
				assert_int_equal(f->v[2][i], (uint32_t)(r >> 32));
			}
		}
	}
	fixture_free(f);
}

/*
 * Anything that decodes
 */

static void randomise(struct fixture *f)
{
	for (size_t r = 0; r < NR_VGPRS + NR_AGPRS; r++) {
		for (int i = 0; i < GFX9_LANES; i++) {
			uint64_t x = random64();

			f->v[r][i] = x & 3 ? (uint32_t)edges32[x / 4 % NR(edges32)]
					   : (uint32_t)(x >> 32);
		}
	}
	for (int k = 0; k < 128; k++)
		f->w.s[k] = (uint32_t)random64();
	f->w.mode = (uint32_t)random64() & (random64() & 7 ? 0x3ff : 0x80003ff);
	if (random64() & 1)
		f->w.mode = USUAL;
	if (random64() & 1)
		gfx9_set64(&f->w, GFX9_EXEC, GFX9_ALL_LANES);
	f->w.status = random64() & 1 ? GFX9_STATUS_PRIV : 0;
	f->w.scc = random64() & 1;
}

/* Register numbers that are mostly valid; the rest must be refused. */
static void random_words(uint32_t words[3])
{
	static const uint32_t kinds[] = { 0x00000000, 0x7e000000, 0x7c000000, 0xd0000000,
					  0xd1c00000, 0xd2800000, 0xd3800000, 0xd3d80000 };
	uint32_t kind = kinds[random64() % NR(kinds)];

	for (int k = 0; k < 3; k++)
		words[k] = (uint32_t)random64();
	if (kind >> 31)
		words[0] = kind | (words[0] & 0x03ffff0f);
	else if (kind)
		words[0] = kind | (words[0] & 0x01ffffff);
	else
		words[0] &= 0x7fffffff;
	if (kind >> 31 && random64() & 7) {
		words[1] &= 0xfffc3e0f;
		words[1] |= (uint32_t)random64() & 0x100;
	} else if (!(kind >> 31) && random64() & 7) {
		words[0] &= ~(0xf0u << 17);
		words[0] &= ~(0xf0u << 9);
		if (!(random64() & 3))
			words[0] = (words[0] & ~0x1ffu) | 249 | (random64() & 1);
		else
			words[0] &= ~0xf0u;
		words[1] &= ~0xf0u;
	}
}

static void compare_state(const struct fixture *x, const struct fixture *y,
			  const struct gfx9_inst *in, const char *name)
{
	for (size_t r = 0; r < NR_VGPRS + NR_AGPRS; r++) {
		for (int i = 0; i < GFX9_LANES; i++) {
			if (x->v[r][i] != y->v[r][i])
				fail_msg("%s differs in %s: v%zu[%d] %08x, %08x, mode %x",
					 gfx9_op_name(in->op), name, r, i, x->v[r][i], y->v[r][i],
					 x->w.mode);
		}
	}
	assert_memory_equal(x->w.s, y->w.s, sizeof(x->w.s));
	assert_int_equal(x->w.scc, y->w.scc);
}

static void copy_state(struct fixture *to, const struct fixture *from)
{
	memcpy(to->v, from->v, (NR_VGPRS + NR_AGPRS) * sizeof(*to->v));
	memcpy(to->w.s, from->w.s, sizeof(to->w.s));
	to->w.mode = from->w.mode;
	to->w.status = from->w.status;
	to->w.scc = from->w.scc;
}

/* All compilations, and the plain and the general way of each, have the same result. */
static void test_random(void **state)
{
	const struct gfx9_vector_variant *const *variants = gfx9_vector_variants();
	struct fixture *start = fixture_new(), *first = fixture_new(), *f = fixture_new();
	unsigned int done = 0, refused = 0;

	(void)state;
	for (int k = 0; k < 150000; k++) {
		struct gfx9_inst in;
		uint32_t words[3];
		enum gfx9_stop stop;

		random_words(words);
		if (gfx9_decode(random64() % GFX9_TARGETS, words, 3, &in) <= 0)
			continue;
		if (!gfx9_vector_ops[in.op])
			continue;
		if (k % 16 == 0)
			randomise(start);
		copy_state(first, start);
		stop = variants[0]->bind(&in)(&first->w, &in);
		assert_true(stop == GFX9_GO || stop == GFX9_ILLEGAL);
		done += stop == GFX9_GO;
		refused += stop == GFX9_ILLEGAL;
		for (size_t n = 0; variants[n]; n++) {
			copy_state(f, start);
			assert_int_equal(variants[n]->run(&f->w, &in), stop);
			compare_state(first, f, &in, variants[n]->name);
			copy_state(f, start);
			assert_int_equal(variants[n]->bind(&in)(&f->w, &in), stop);
			compare_state(first, f, &in, variants[n]->name);
		}
		assert_int_equal(gfx9_vector_ops[in.op](&start->w, &in), stop);
		compare_state(first, start, &in, "the table");
	}
	print_message("%u executed, %u refused\n", done, refused);
	assert_true(done > 20000);
	fixture_free(start);
	fixture_free(first);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modifiers),     cmocka_unit_test(test_constants),
		cmocka_unit_test(test_dpp),	      cmocka_unit_test(test_dpp_wide),
		cmocka_unit_test(test_sdwa),	      cmocka_unit_test(test_sdwa_float),
		cmocka_unit_test(test_op_sel),	      cmocka_unit_test(test_packed_select),
		cmocka_unit_test(test_packed_negate), cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_swap),	      cmocka_unit_test(test_byte_select),
		cmocka_unit_test(test_mqsad),	      cmocka_unit_test(test_accumulation),
		cmocka_unit_test(test_gpr_index),     cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_overlap),	      cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
