// SPDX-License-Identifier: MIT
/*
 * The vector ALU: every opcode against a reference that is written differently, on edge cases; and
 * clamping of integers.
 */
#include "../unit/test.h"

#include "vector_reference.h"

/*
 * Every opcode
 */

static const uint64_t edges64[] = {
	0,
	1,
	0x20,
	0x3f,
	0x80000000,
	0xffffffff,
	0x100000000,
	0x7fffffffffffffff,
	0x8000000000000000,
	0xffffffffffffffff,
	0x8000000000000001,
	0x000fffffffffffff,
	0x0010000000000000,
	0x3fe0000000000000,
	0x3ff0000000000000,
	0xbff0000000000000,
	0x3ff8000000000000,
	0x4000000000000000,
	0x41dfffffffc00000,
	0x41e0000000000000,
	0xc1e0000000200000,
	0x41efffffffe00000,
	0x41f0000000000000,
	0x7fefffffffffffff,
	0x7ff0000000000000,
	0xfff0000000000000,
	0x7ff0000000000001,
	0x7ff8000000000123,
	0xfffa000000000000,
	0x3ca0000000000000,
	0x0350000000000000,
	0x0360000000000000,
	0x36a0000000000000,
	0x123456789abcdef0,
};

static const uint64_t edges16[] = {
	0,	1,	2,	15,	0x10,	0x3ff,	0x400,	0x3800, 0x3c00, 0x3c01, 0xbc00,
	0x4000, 0x4200, 0xc400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7c01, 0x7e12, 0xfe00, 0x7fff,
	0x8000, 0x8001, 0xffff, 0x5bff, 0x1400, 0x1234, 0x6c00, 0x0003, 0x3555, 0x3400,
};

/* The k-th value of a type of operand; unused upper halves hold garbage. */
static uint64_t edge(unsigned int type, size_t k)
{
	switch (type) {
	case GFX9_T_NONE:
		return 0;
	case GFX9_T_MASK:
		return k & 1 ? ~0u : 0;
	case GFX9_T_P32:
	case GFX9_T_PMOV:
		return edges32[k % NR(edges32)] | edges32[(k * 7 + 3) % NR(edges32)] << 32;
	case GFX9_T_P16:
	case GFX9_T_PF16:
		return edges16[k % NR(edges16)] | edges16[(k * 5 + 3) % NR(edges16)] << 16;
	default:
		if (is_wide(type))
			return edges64[k % NR(edges64)];
		return is_half(type) ? edges16[k % NR(edges16)] : edges32[k % NR(edges32)];
	}
}

static size_t nr_edges(unsigned int type)
{
	switch (type) {
	case GFX9_T_NONE:
		return 1;
	case GFX9_T_MASK:
		return 2;
	case GFX9_T_B32:
	case GFX9_T_M32:
	case GFX9_T_F32:
	case GFX9_T_MIX:
	case GFX9_T_P32:
	case GFX9_T_PMOV:
		return NR(edges32);
	default:
		return is_wide(type) ? NR(edges64) : NR(edges16);
	}
}

/* 16-bit results that keep the high half; all others clear it. */
static bool keeps_high(uint16_t op)
{
	static const uint16_t keeping[] = {
		GFX9_V_ADD_I16,	       GFX9_V_SUB_I16,	      GFX9_V_MAD_U16,  GFX9_V_MAD_I16,
		GFX9_V_MIN3_I16,       GFX9_V_MIN3_U16,	      GFX9_V_MAX3_I16, GFX9_V_MAX3_U16,
		GFX9_V_MED3_I16,       GFX9_V_MED3_U16,	      GFX9_V_MAC_F16,  GFX9_V_MADMK_F16,
		GFX9_V_MADAK_F16,      GFX9_V_MAD_F16,	      GFX9_V_FMA_F16,  GFX9_V_DIV_FIXUP_F16,
		GFX9_V_MIN3_F16,       GFX9_V_MAX3_F16,	      GFX9_V_MED3_F16, GFX9_V_FMA_MIXLO_F16,
		GFX9_V_CVT_PK_FP8_F32, GFX9_V_CVT_PK_BF8_F32,
	};

	for (size_t k = 0; k < NR(keeping); k++) {
		if (keeping[k] == op)
			return true;
	}
	return false;
}

/* Operands for all lanes of a wave, and the results. */
struct trial {
	uint64_t src[3][GFX9_LANES], want[GFX9_LANES];
	uint64_t want_mask, vcc, exec;
	uint32_t old[2][GFX9_LANES];
};

static uint64_t pack(const uint64_t *lanes)
{
	uint64_t mask = 0;

	for (int i = 0; i < GFX9_LANES; i++)
		mask |= (lanes[i] & 1) << i;
	return mask;
}

static void load(struct fixture *f, const struct gfx9_vector_op *op, struct gfx9_inst *in,
		 const struct trial *t)
{
	f->w.mode = USUAL;
	gfx9_set64(&f->w, GFX9_EXEC, t->exec);
	gfx9_set64(&f->w, GFX9_VCC, t->vcc);
	gfx9_set64(&f->w, SDST, 0x5555555555555555);
	for (int i = 0; i < GFX9_LANES; i++) {
		f->v[DST][i] = t->old[0][i];
		f->v[DST + 1][i] = t->old[1][i];
	}
	for (unsigned int k = 0; k < 3; k++) {
		if (op->src[k] == GFX9_T_MASK)
			gfx9_set64(&f->w, MASK_SRC, pack(t->src[k]));
		else if (op->src[k] != GFX9_T_NONE)
			put(f, 2 * k, t->src[k], op->src[k]);
	}
	if (op->flags & GFX9_F_ACC)
		put(f, DST, t->src[2], op->src[2]);
	if (op->flags & GFX9_F_MK) {
		in->literal = (uint32_t)t->src[1][0];
		put(f, 2, t->src[2], op->src[2]);
	}
	if (op->flags & GFX9_F_AK)
		in->literal = (uint32_t)t->src[2][0];
}

static uint32_t merged(uint16_t code, unsigned int type, uint64_t r, uint32_t old)
{
	if (code == GFX9_V_FMA_MIXHI_F16)
		return (uint32_t)r << 16 | (old & 0xffff);
	if (type == GFX9_T_B8)
		return (uint32_t)(r & 0xff) | (old & 0xffffff00);
	if (is_half(type) && keeps_high(code))
		return (uint32_t)(r & 0xffff) | (old & 0xffff0000);
	return (uint32_t)r;
}

static void check(const struct gfx9_vector_variant *variant, bool general, struct fixture *f,
		  uint16_t code, const struct trial *t, const char *how)
{
	const struct gfx9_vector_op *op = &variant->ops[code];
	struct gfx9_inst in = inst_of(op, code);
	gfx9_run_fn *run = general ? variant->run : variant->bind(&in);
	uint32_t before[2][GFX9_LANES];

	load(f, op, &in, t);
	memcpy(before, f->v[DST], sizeof(before));
	assert_int_equal(run(&f->w, &in), GFX9_GO);
	if ((op->flags & GFX9_F_MASK_OUT) && gfx9_get64(&f->w, SDST) != (t->want_mask & t->exec))
		fail_msg("%s, %s, %s: mask %016llx, not %016llx", variant->name, how,
			 gfx9_op_name(code), (unsigned long long)gfx9_get64(&f->w, SDST),
			 (unsigned long long)(t->want_mask & t->exec));
	if (op->flags & GFX9_F_EXEC_OUT)
		assert_int_equal(gfx9_exec(&f->w), t->want_mask & t->exec);
	else
		assert_int_equal(gfx9_exec(&f->w), t->exec);
	for (int i = 0; i < GFX9_LANES; i++) {
		bool on = (t->exec >> i & 1) && op->dst != GFX9_T_NONE;
		uint32_t lo = on ? merged(code, op->dst, t->want[i], before[0][i]) : before[0][i];
		uint32_t hi = on && is_wide(op->dst) ? (uint32_t)(t->want[i] >> 32) : before[1][i];

		if (on && t->want[i] == ANYTHING && code == GFX9_V_TRIG_PREOP_F64)
			continue;
		if (f->v[DST][i] == lo && f->v[DST + 1][i] == hi)
			continue;
		fail_msg("%s, %s, %s of %llx, %llx, %llx in lane %d: %08x%08x, not %08x%08x",
			 variant->name, how, gfx9_op_name(code), (unsigned long long)t->src[0][i],
			 (unsigned long long)t->src[1][i], (unsigned long long)t->src[2][i], i,
			 f->v[DST + 1][i], f->v[DST][i], hi, lo);
	}
}

static void expect(uint16_t code, struct trial *t)
{
	const char *name = gfx9_op_name(code);

	t->want_mask = 0;
	for (int i = 0; i < GFX9_LANES; i++) {
		bool m = t->vcc >> i & 1;

		if (is_compare(name)) {
			m = compare(name, t->src[0][i], t->src[1][i]);
		} else {
			if (strncmp(name, "v_div_fmas", 10))
				m = false;
			t->want[i] =
				references[code](t->src[0][i], t->src[1][i], t->src[2][i], i, &m);
		}
		t->want_mask |= (uint64_t)m << i;
	}
}

static void try_all(struct fixture *f, uint16_t code, struct trial *t)
{
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();

	t->vcc = random64();
	for (int i = 0; i < GFX9_LANES; i++) {
		t->old[0][i] = POISON + (uint32_t)i;
		t->old[1][i] = ~POISON + (uint32_t)i;
	}
	expect(code, t);
	for (; *v; v++) {
		t->exec = GFX9_ALL_LANES;
		check(*v, false, f, code, t, "all lanes");
		check(*v, true, f, code, t, "general");
		t->exec = random64();
		check(*v, false, f, code, t, "some lanes");
		check(*v, true, f, code, t, "general, some lanes");
	}
}

/* All combinations of edge cases, or a few thousand of them. */
static void check_opcode(struct fixture *f, uint16_t code)
{
	const struct gfx9_vector_op *op = &gfx9_vector_variants()[0]->ops[code];
	size_t n0 = nr_edges(op->src[0]), n1 = nr_edges(op->src[1]), n2 = nr_edges(op->src[2]);
	size_t all = n0 * n1 * n2, step = all > 6000 ? all / 6000 | 1 : 1;
	struct trial t;
	size_t k = 0, lane = 0;

	while (k < all || lane) {
		size_t at = k % all;

		t.src[0][lane] = edge(op->src[0], at % n0);
		t.src[1][lane] = edge(op->src[1], at / n0 % n1);
		t.src[2][lane] = edge(op->src[2], at / n0 / n1);
		if (op->flags & GFX9_F_MK)
			t.src[1][lane] = t.src[1][0];
		if (op->flags & GFX9_F_AK)
			t.src[2][lane] = t.src[2][0];
		k += step;
		lane = (lane + 1) % GFX9_LANES;
		if (!lane)
			try_all(f, code, &t);
	}
}

static void test_every_opcode(void **state)
{
	const struct gfx9_vector_op *ops = gfx9_vector_variants()[0]->ops;
	struct fixture *f = fixture_new();
	unsigned int n = 0;

	(void)state;
	for (uint16_t code = 0; code < GFX9_OPS; code++) {
		const char *name = gfx9_op_name(code);

		assert_int_equal(gfx9_vector_ops[code] != NULL,
				 ops[code].kernel || ops[code].special);
		if (!ops[code].kernel)
			continue;
		if (!references[code] && !is_compare(name))
			fail_msg("%s has no reference", name);
		check_opcode(f, code);
		n++;
	}
	print_message("%u opcodes\n", n);
	fixture_free(f);
}

/*
 * Divisions of numbers of one size in all lanes: at the limits of unscaled division
 */

static uint64_t of_size(bool wide, int exponent)
{
	uint64_t bits = random64();

	if (wide)
		return (bits & ~(0x7ffull << 52)) | (uint64_t)exponent << 52;
	return (uint32_t)(bits & ~(0xffull << 23)) | (uint64_t)exponent << 23;
}

static int within(int exponent, int last)
{
	return exponent < 0 ? 0 : exponent > last ? last : exponent;
}

static void try_sizes(struct fixture *f, uint16_t code, int den, int num)
{
	bool wide = code == GFX9_V_DIV_SCALE_F64;
	int last = wide ? 2047 : 255;
	struct trial t;

	for (int i = 0; i < GFX9_LANES; i++) {
		t.src[1][i] = of_size(wide, within(den, last));
		t.src[2][i] = of_size(wide, within(num, last));
		t.src[0][i] = i % 3 ? t.src[i % 3][i] : of_size(wide, (int)(random64() % 256));
	}
	try_all(f, code, &t);
}

static void test_sizes_of_divisions(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	for (int k = -3; k <= 3; k++) {
		for (int den = 100; den <= 2000; den += 475) {
			try_sizes(f, GFX9_V_DIV_SCALE_F64, den, den + 768 + k);
			try_sizes(f, GFX9_V_DIV_SCALE_F64, den, den - 768 + k);
			try_sizes(f, GFX9_V_DIV_SCALE_F64, den, den + k);
		}
		try_sizes(f, GFX9_V_DIV_SCALE_F64, 2044 + k, 1900);
		try_sizes(f, GFX9_V_DIV_SCALE_F64, 1 + k, 300);
		try_sizes(f, GFX9_V_DIV_SCALE_F64, 300, 54 + k);
		try_sizes(f, GFX9_V_DIV_SCALE_F64, 1900, 2046 + k);
		for (int den = 30; den <= 240; den += 35) {
			try_sizes(f, GFX9_V_DIV_SCALE_F32, den, den + 96 + k);
			try_sizes(f, GFX9_V_DIV_SCALE_F32, den, den - 96 + k);
			try_sizes(f, GFX9_V_DIV_SCALE_F32, den, den + k);
		}
		try_sizes(f, GFX9_V_DIV_SCALE_F32, 252 + k, 200);
		try_sizes(f, GFX9_V_DIV_SCALE_F32, 1 + k, 50);
		try_sizes(f, GFX9_V_DIV_SCALE_F32, 50, 24 + k);
		try_sizes(f, GFX9_V_DIV_SCALE_F32, 200, 254 + k);
	}
	fixture_free(f);
}

/*
 * Clamp of integers: the exact result, and its limits
 */

#define ZW(v) ((i128)(v))
#define LIMITS_U32 0, UINT32_MAX
#define LIMITS_I32 INT32_MIN, INT32_MAX
#define LIMITS_U16 0, 65535
#define LIMITS_I16 -32768, 32767

struct limits {
	i128 value, lo, hi;
};

static struct limits exact(uint16_t op, uint64_t a, uint64_t b, uint64_t c)
{
	i128 x = a, y = b, z = c, i24 = (i128)(I(a << 8) / 256) * (I(b << 8) / 256);

	switch (op) {
	case GFX9_V_ADD_U32:
	case GFX9_V_ADD_CO_U32:
		return (struct limits){ x + y, LIMITS_U32 };
	case GFX9_V_SUB_U32:
	case GFX9_V_SUB_CO_U32:
		return (struct limits){ x - y, LIMITS_U32 };
	case GFX9_V_SUBREV_U32:
	case GFX9_V_SUBREV_CO_U32:
		return (struct limits){ y - x, LIMITS_U32 };
	case GFX9_V_ADDC_CO_U32:
		return (struct limits){ x + y + (z & 1), LIMITS_U32 };
	case GFX9_V_SUBB_CO_U32:
		return (struct limits){ x - y - (z & 1), LIMITS_U32 };
	case GFX9_V_SUBBREV_CO_U32:
		return (struct limits){ y - x - (z & 1), LIMITS_U32 };
	case GFX9_V_ADD_I32:
		return (struct limits){ ZW(I(a)) + I(b), LIMITS_I32 };
	case GFX9_V_SUB_I32:
		return (struct limits){ ZW(I(a)) - I(b), LIMITS_I32 };
	case GFX9_V_MAD_I32_I24:
		return (struct limits){ i24 + I(c), LIMITS_I32 };
	case GFX9_V_MAD_U32_U24:
		return (struct limits){ (x & 0xffffff) * (y & 0xffffff) + z, LIMITS_U32 };
	case GFX9_V_MAD_U64_U32:
		return (struct limits){ x * y + z, 0, UINT64_MAX };
	case GFX9_V_MAD_I64_I32:
		return (struct limits){ ZW(I(a)) * I(b) + (int64_t)c, INT64_MIN, INT64_MAX };
	case GFX9_V_SAD_U8:
		return (struct limits){ bytes(a, b, 0, "sad") + z, LIMITS_U32 };
	case GFX9_V_SAD_HI_U8:
		return (struct limits){ bytes(a, b, 0, "sad") * 65536 + z, LIMITS_U32 };
	case GFX9_V_SAD_U16:
		return (struct limits){
			abs((int)W(a) - W(b)) + abs((int)W(a >> 16) - W(b >> 16)) + z, LIMITS_U32
		};
	case GFX9_V_SAD_U32:
		return (struct limits){ (x > y ? x - y : y - x) + z, LIMITS_U32 };
	case GFX9_V_MSAD_U8:
		return (struct limits){ bytes(a, b, 0, "msad") + z, LIMITS_U32 };
	case GFX9_V_ADD_U16:
		return (struct limits){ x + y, LIMITS_U16 };
	case GFX9_V_SUB_U16:
		return (struct limits){ x - y, LIMITS_U16 };
	case GFX9_V_SUBREV_U16:
		return (struct limits){ y - x, LIMITS_U16 };
	case GFX9_V_ADD_I16:
		return (struct limits){ ZW(S(a)) + S(b), LIMITS_I16 };
	case GFX9_V_SUB_I16:
		return (struct limits){ ZW(S(a)) - S(b), LIMITS_I16 };
	case GFX9_V_MAD_U16:
	case GFX9_V_MAD_LEGACY_U16:
		return (struct limits){ x * y + z, LIMITS_U16 };
	case GFX9_V_MAD_I16:
	case GFX9_V_MAD_LEGACY_I16:
		return (struct limits){ ZW(S(a)) * S(b) + S(c), LIMITS_I16 };
	case GFX9_V_MAD_U32_U16:
		return (struct limits){ x * y + z, LIMITS_U32 };
	case GFX9_V_MAD_I32_I16:
		return (struct limits){ ZW(S(a)) * S(b) + I(c), LIMITS_I32 };
	default:
		return (struct limits){ 0, 1, -1 };
	}
}

/* The same for each half of packed ones, and for dot products. */
static uint64_t clamped_pairs(uint16_t op, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t r = 0;

	for (int k = 0; k < 32; k += 16) {
		uint16_t x = W(a >> k), y = W(b >> k), z = W(c >> k);
		i128 v = 0;

		switch (op) {
		case GFX9_V_PK_ADD_U16:
			v = clamped(ZW(x) + y, LIMITS_U16);
			break;
		case GFX9_V_PK_SUB_U16:
			v = clamped(ZW(x) - y, LIMITS_U16);
			break;
		case GFX9_V_PK_ADD_I16:
			v = clamped(ZW(S(x)) + S(y), LIMITS_I16);
			break;
		case GFX9_V_PK_SUB_I16:
			v = clamped(ZW(S(x)) - S(y), LIMITS_I16);
			break;
		case GFX9_V_PK_MAD_U16:
			v = clamped(ZW(x) * y + z, LIMITS_U16);
			break;
		case GFX9_V_PK_MAD_I16:
			v = clamped(ZW(S(x)) * S(y) + S(z), LIMITS_I16);
			break;
		default:
			return ANYTHING;
		}
		r |= (uint64_t)W((uint64_t)v) << k;
	}
	return r;
}

static uint64_t clamped_dot(const char *name, uint64_t a, uint64_t b, uint64_t c)
{
	int bits = 32 / (name[5] - '0');
	bool sign = strstr(name, "_i32") != NULL;
	i128 r = sign ? I(c) : (i128)U(c);

	for (int k = 0; k < 32 / bits; k++)
		r += (i128)field(a, k, bits, sign) * field(b, k, bits, sign);
	return U((uint64_t)(sign ? clamped(r, LIMITS_I32) : clamped(r, LIMITS_U32)));
}

static uint64_t clamped_qsad(uint64_t a, uint64_t b, uint64_t c, const char *what)
{
	uint64_t r = 0;

	for (int k = 0; k < 4; k++)
		r |= (uint64_t)clamped(bytes(U(a >> 8 * k), U(b), 0, what) + ZW(W(c >> 16 * k)),
				       LIMITS_U16)
		     << 16 * k;
	return r;
}

static uint64_t want_clamped(uint16_t op, uint64_t a, uint64_t b, uint64_t c)
{
	const char *name = gfx9_op_name(op);
	struct limits l = exact(op, a, b, c);

	if (l.lo <= l.hi) {
		uint64_t r = (uint64_t)clamped(l.value, l.lo, l.hi);

		return l.hi <= 65535 ? W(r) : l.hi > UINT32_MAX ? r : U(r);
	}
	if (op == GFX9_V_QSAD_PK_U16_U8)
		return clamped_qsad(a, b, c, "sad");
	if (op == GFX9_V_MQSAD_PK_U16_U8)
		return clamped_qsad(a, b, c, "msad");
	return !strncmp(name, "v_dot", 5) ? clamped_dot(name, a, b, c) : clamped_pairs(op, a, b, c);
}

static void test_integer_clamp(void **state)
{
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();
	struct fixture *f = fixture_new();
	unsigned int n = 0;

	(void)state;
	for (; *v; v++) {
		gfx9_lanes_fn *none = (*v)->ops[GFX9_V_MOV_B32].saturate;

		for (uint16_t code = 0; code < GFX9_OPS; code++) {
			const struct gfx9_vector_op *op = &(*v)->ops[code];
			struct gfx9_inst in = inst_of(op, code);
			struct trial t = { .exec = GFX9_ALL_LANES };

			if (!op->kernel || op->saturate == none)
				continue;
			in.clamp = true;
			n++;
			for (int round = 0; round < 40; round++) {
				for (int i = 0; i < GFX9_LANES; i++) {
					for (int k = 0; k < 3; k++)
						t.src[k][i] = edge(op->src[k], random64() % 48);
				}
				load(f, op, &in, &t);
				assert_int_equal((*v)->bind(&in)(&f->w, &in), GFX9_GO);
				for (int i = 0; i < GFX9_LANES; i++) {
					uint64_t r = f->v[DST][i], want;

					want = want_clamped(code, t.src[0][i], t.src[1][i],
							    t.src[2][i]);
					if (is_wide(op->dst))
						r |= (uint64_t)f->v[DST + 1][i] << 32;
					if (is_half(op->dst))
						r = W(r);
					if (r != want)
						fail_msg("%s clamp of %llx, %llx, %llx: %llx, not "
							 "%llx",
							 gfx9_op_name(code),
							 (unsigned long long)t.src[0][i],
							 (unsigned long long)t.src[1][i],
							 (unsigned long long)t.src[2][i],
							 (unsigned long long)r,
							 (unsigned long long)want);
				}
			}
		}
	}
	assert_true(n >= 40);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_opcode),
		cmocka_unit_test(test_sizes_of_divisions),
		cmocka_unit_test(test_integer_clamp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
