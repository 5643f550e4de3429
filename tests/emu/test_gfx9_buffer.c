// SPDX-License-Identifier: MIT
/*
 * Buffer instructions with a format, MUBUF and MTBUF: loads and stores of every data and number
 * format, against a model that works on single bits and exact fractions; then the order of
 * components, ranges, swizzled buffers, faults, and the store out of LDS.
 */
#include "../unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emu/gfx9/wave.h"

#define BASE 0x7f1234560000u
#define PAGES 2
#define LDS 1024
#define VGPRS 16
#define AGPRS 8
#define RSRC 40
#define SOFFSET 60
#define DATA 4
#define POISON 0xdeadbeefu
#define IDENTITY (4u | 5u << 3 | 6u << 6 | 7u << 9)

struct world {
	struct gfx9_wave w;
	struct emu_vm vm;
	struct gfx9_tlb tlb;
	uint8_t *memory;
};

static uint64_t seed = 88172645463325252;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1d >> 8;
}

static void *find_page(void *ctx, uint64_t va, bool write)
{
	struct world *t = ctx;

	(void)write;
	return va - BASE < PAGES * EMU_PAGE ? t->memory + (va - BASE) : NULL;
}

static void *allocate(size_t size)
{
	void *p = aligned_alloc(64, (size + 63) / 64 * 64);

	assert_non_null(p);
	return memset(p, 0, size);
}

static int setup(void **state)
{
	struct world *t = allocate(sizeof(*t));

	t->memory = allocate(PAGES * EMU_PAGE);
	t->vm.page = find_page;
	t->vm.ctx = t;
	gfx9_tlb_init(&t->tlb, &t->vm);
	t->w.tlb = &t->tlb;
	t->w.v = allocate((VGPRS + AGPRS) * sizeof(*t->w.v));
	t->w.lds = allocate(LDS);
	t->w.lds_bytes = LDS;
	t->w.nr_vgprs = VGPRS;
	t->w.nr_agprs = AGPRS;
	t->w.nr_sgprs = 102;
	t->w.mode = 0x3f0;
	gfx9_set64(&t->w, GFX9_EXEC, GFX9_ALL_LANES);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct world *t = *state;

	free(t->memory);
	free(t->w.v);
	free(t->w.lds);
	free(t);
	return 0;
}

/*
 * The model: bits and exact fractions
 */

enum number { UNORM, SNORM, USCALED, SSCALED, UINT, SINT, OTHER, FLOAT };

/* As in the names, the highest bits first; X is the lowest. */
static const char *const names[16] = {
	"",	   "8",	       "16",	      "8_8",	    "32",
	"16_16",   "10_11_11", "11_11_10",    "10_10_10_2", "2_10_10_10",
	"8_8_8_8", "32_32",    "16_16_16_16", "32_32_32",   "32_32_32_32",
	""
};

struct layout {
	unsigned int n, bits[4], first[4], bytes;
};

static struct layout layout_of(unsigned int dfmt)
{
	struct layout l = { .n = 0 };
	unsigned int back[4], at = 0;
	const char *s = names[dfmt];

	while (*s) {
		char *end;

		back[l.n++] = (unsigned int)strtoul(s, &end, 10);
		s = *end ? end + 1 : end;
	}
	for (unsigned int i = 0; i < l.n; i++) {
		l.bits[i] = back[l.n - 1 - i];
		l.first[i] = at;
		at += l.bits[i];
	}
	l.bytes = at / 8;
	return l;
}

static uint64_t bits_at(const uint8_t *p, unsigned int first, unsigned int n)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < n; i++)
		v |= (uint64_t)(p[(first + i) / 8] >> (first + i) % 8 & 1) << i;
	return v;
}

static int64_t signed_of(uint64_t v, unsigned int bits)
{
	return v >> (bits - 1) & 1 ? (int64_t)v - ((int64_t)1 << bits) : (int64_t)v;
}

static uint32_t f32(double v)
{
	float f = (float)v;
	uint32_t bits;

	memcpy(&bits, &f, 4);
	return bits;
}

static double from_f32(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, 4);
	return (double)f;
}

/* A float with five bits of exponent; of 16 bits the first is the sign. */
static double small_float(uint64_t v, unsigned int bits)
{
	unsigned int m = bits == 16 ? 10 : bits - 5, e = v >> m & 31;
	double f = (double)(v & ((1u << m) - 1)) / (1u << m), r;

	if (e == 31)
		r = f != 0 ? NAN : INFINITY;
	else
		r = e ? ldexp(1 + f, (int)e - 15) : ldexp(f, -14);
	return bits == 16 && v >> 15 ? -r : r;
}

/* NaNs are compared as such. */
static uint32_t model_load(unsigned int nfmt, uint64_t v, unsigned int bits)
{
	double max = ldexp(1, (int)bits) - 1, half = ldexp(1, (int)bits - 1) - 1;

	switch (nfmt) {
	case UNORM:
		return f32((double)v / max);
	case SNORM:
		return f32(fmax((double)signed_of(v, bits) / half, -1));
	case USCALED:
		return f32((double)v);
	case SSCALED:
		return f32((double)signed_of(v, bits));
	case UINT:
		return (uint32_t)v;
	case SINT:
		return (uint32_t)signed_of(v, bits);
	case FLOAT:
		return bits == 32 ? (uint32_t)v : bits < 10 ? 0 : f32(small_float(v, bits));
	default:
		return 0;
	}
}

/* The nearest of all small floats, which rise with their code; of two the even one. */
static uint64_t nearest_small(double v, unsigned int bits)
{
	unsigned int m = bits == 16 ? 10 : bits - 5;
	uint64_t sign = bits == 16 && signbit(v) ? 0x8000 : 0, infinite = 31u << m;
	uint64_t low = 0, high = infinite;
	double down, up;

	if (isnan(v))
		return sign | infinite | 1u << (m - 1);
	if (bits != 16 && signbit(v))
		return 0;
	v = fabs(v);
	while (high - low > 1) {
		uint64_t middle = (low + high) / 2;

		if (small_float(middle, bits) <= v)
			low = middle;
		else
			high = middle;
	}
	down = v - small_float(low, bits);
	up = (high == infinite ? 65536 : small_float(high, bits)) - v;
	return sign | (up < down || (up == down && low & 1) ? high : low);
}

static double clamp(double v, double low, double high)
{
	return isnan(v) ? 0 : fmin(fmax(v, low), high);
}

static uint64_t model_store(unsigned int nfmt, uint32_t v, unsigned int bits)
{
	double max = ldexp(1, (int)bits) - 1, half = ldexp(1, (int)bits - 1) - 1, f = from_f32(v);
	uint64_t mask = ((uint64_t)1 << bits) - 1;

	switch (nfmt) {
	case UNORM:
		return (uint64_t)nearbyint(clamp(f, 0, 1) * max);
	case SNORM:
		return (uint64_t)(int64_t)nearbyint(clamp(f, -1, 1) * half) & mask;
	case USCALED:
		return (uint64_t)clamp(f, 0, max);
	case SSCALED:
		return (uint64_t)(int64_t)clamp(f, -half - 1, half) & mask;
	case UINT:
		return (uint64_t)clamp(v, 0, max);
	case SINT:
		return (uint64_t)(int64_t)clamp((int32_t)v, -half - 1, half) & mask;
	case FLOAT:
		return bits == 32 ? v : bits < 10 ? 0 : nearest_small(f, bits);
	default:
		return 0;
	}
}

/*
 * Instructions
 */

struct form {
	bool store, d16, typed; /* typed: MTBUF */
	unsigned int n;
};

static uint16_t opcode(const struct form *f)
{
#define OPS(fam, verb, d16)                                                                    \
	{                                                                                      \
		GFX9_##fam##_##verb##_FORMAT_##d16##X, GFX9_##fam##_##verb##_FORMAT_##d16##XY, \
			GFX9_##fam##_##verb##_FORMAT_##d16##XYZ,                               \
			GFX9_##fam##_##verb##_FORMAT_##d16##XYZW                               \
	}
	static const uint16_t ops[2][2][2][4] = {
		{ { OPS(BUFFER, LOAD, ), OPS(BUFFER, LOAD, D16_) },
		  { OPS(BUFFER, STORE, ), OPS(BUFFER, STORE, D16_) } },
		{ { OPS(TBUFFER, LOAD, ), OPS(TBUFFER, LOAD, D16_) },
		  { OPS(TBUFFER, STORE, ), OPS(TBUFFER, STORE, D16_) } },
	};

	return ops[f->typed][f->store][f->d16][f->n - 1];
}

static struct gfx9_inst inst(const struct form *f, unsigned int dfmt, unsigned int nfmt)
{
	return (struct gfx9_inst){
		.op = opcode(f),
		.format = f->typed ? GFX9_MTBUF : GFX9_MUBUF,
		.dwords = 2,
		.dst = GFX9_VGPR + DATA,
		.src = { GFX9_VGPR, GFX9_VGPR + DATA, SOFFSET },
		.sdst = RSRC,
		.idxen = true,
		.dfmt = (uint8_t)(f->typed ? dfmt : 0),
		.nfmt = (uint8_t)(f->typed ? nfmt : 0),
	};
}

/* Elements side by side from BASE on, a lane each. */
static void describe(struct world *t, const struct form *f, unsigned int dfmt, unsigned int nfmt,
		     uint32_t sel, uint32_t stride)
{
	uint32_t *d = &t->w.s[RSRC];

	d[0] = (uint32_t)BASE;
	d[1] = (uint32_t)(BASE >> 32) | stride << 16;
	d[2] = 64 * stride;
	/* MTBUF ignores all of this. */
	d[3] = f->typed ? 1u | 3u << 12 | 2u << 15 : sel | nfmt << 12 | dfmt << 15;
	t->w.s[SOFFSET] = 0;
	for (uint32_t i = 0; i < GFX9_LANES; i++)
		t->w.v[0][i] = i;
}

static uint32_t half_of(unsigned int nfmt, uint32_t v)
{
	return nfmt == UINT || nfmt == SINT ? v & 0xffff : (uint32_t)nearest_small(from_f32(v), 16);
}

static uint32_t from_half(unsigned int nfmt, uint32_t v)
{
	if (nfmt == UINT)
		return v & 0xffff;
	if (nfmt == SINT)
		return (uint32_t)signed_of(v & 0xffff, 16);
	return f32(small_float(v & 0xffff, 16));
}

static bool is_nan(uint32_t v)
{
	return (v & 0x7fffffff) > 0x7f800000;
}

static bool is_half_nan(uint32_t v)
{
	return (v & 0x7fff) > 0x7c00;
}

static void expect_register(struct world *t, const struct form *f, unsigned int nfmt,
			    unsigned int lane, unsigned int i, uint32_t want)
{
	uint32_t got = t->w.v[DATA + (f->d16 ? i / 2 : i)][lane];

	if (!f->d16) {
		if (!is_nan(want) || !is_nan(got))
			assert_int_equal(got, want);
		return;
	}
	got = i % 2 ? got >> 16 : got & 0xffff;
	want = half_of(nfmt, want);
	if (!is_half_nan(want) || !is_half_nan(got) || nfmt == UINT || nfmt == SINT)
		assert_int_equal(got, want);
}

static void poison(struct world *t)
{
	for (unsigned int r = DATA; r < VGPRS + AGPRS; r++)
		for (unsigned int i = 0; i < GFX9_LANES; i++)
			t->w.v[r][i] = POISON;
}

static void check_load(struct world *t, const struct form *f, unsigned int dfmt, unsigned int nfmt,
		       uint32_t sel)
{
	struct layout l = layout_of(dfmt);
	struct gfx9_inst in = inst(f, dfmt, nfmt);

	describe(t, f, dfmt, nfmt, sel, l.bytes ? l.bytes : 4);
	for (size_t i = 0; i < 64 * 16; i++)
		t->memory[i] = (uint8_t)(rnd() % 4 ? rnd() : rnd() & 1 ? 0xff : 0x80);
	poison(t);
	assert_int_equal(gfx9_memory_op(in.op)(&t->w, &in), GFX9_GO);
	for (unsigned int lane = 0; lane < GFX9_LANES; lane++) {
		for (unsigned int i = 0; i < f->n; i++) {
			unsigned int c = f->typed ? i : (sel >> 3 * i & 7) - 4;
			bool one = !f->typed && (sel >> 3 * i & 7) == 1;
			uint32_t want = 0;

			if (c < l.n)
				want = model_load(
					nfmt,
					bits_at(t->memory + lane * l.bytes, l.first[c], l.bits[c]),
					l.bits[c]);
			if (one)
				want = nfmt == UINT || nfmt == SINT ? 1 : f32(1);
			expect_register(t, f, nfmt, lane, i, want);
		}
	}
	assert_int_equal(t->w.v[DATA + 4][0], POISON);
}

static uint32_t some_value(unsigned int nfmt, bool d16)
{
	static const double odd[] = { 0,	  -0.0,	     1,		-1,	   0.5,	     -0.5,
				      INFINITY,	  -INFINITY, NAN,	65504,	   65520,    1e30,
				      0x1p-24,	  0x1p-25,   0x1.8p-24, 1.0 / 255, 127.5,    128.5,
				      0x1.ffep15, 0x1p-14,   -2,	0x1.004p0, 0x1.00cp0 };
	uint32_t v = f32(odd[rnd() % (sizeof(odd) / sizeof(odd[0]))]);

	if (nfmt == UINT || nfmt == SINT || rnd() % 3 == 0)
		return (uint32_t)(rnd() >> rnd() % 32);
	if (rnd() & 1)
		v = f32((double)(int32_t)rnd() * 0x1p-30);
	return d16 ? (uint32_t)nearest_small(from_f32(v), 16) |
			       (uint32_t)nearest_small((double)(int32_t)rnd() * 0x1p-30, 16) << 16
		   : v;
}

static void check_store(struct world *t, const struct form *f, unsigned int dfmt, unsigned int nfmt)
{
	struct layout l = layout_of(dfmt);
	struct gfx9_inst in = inst(f, dfmt, nfmt);

	describe(t, f, dfmt, nfmt, IDENTITY, l.bytes ? l.bytes : 4);
	memset(t->memory, 0x5a, 64 * 16 + 16);
	for (unsigned int r = DATA; r < DATA + 4; r++)
		for (unsigned int i = 0; i < GFX9_LANES; i++)
			t->w.v[r][i] = some_value(nfmt, f->d16);
	assert_int_equal(gfx9_memory_op(in.op)(&t->w, &in), GFX9_GO);
	for (unsigned int lane = 0; lane < GFX9_LANES; lane++) {
		for (unsigned int c = 0; c < l.n; c++) {
			uint32_t v = t->w.v[DATA + (f->d16 ? c / 2 : c)][lane];
			uint64_t want = 0;

			if (f->d16)
				v = from_half(nfmt, c % 2 ? v >> 16 : v);
			if (c < f->n)
				want = model_store(nfmt, v, l.bits[c]);
			if (nfmt == FLOAT && l.bits[c] == 32 && is_nan((uint32_t)want))
				continue;
			assert_int_equal(bits_at(t->memory + lane * l.bytes, l.first[c], l.bits[c]),
					 want);
		}
	}
	assert_int_equal(t->memory[64 * l.bytes], 0x5a);
}

static void test_formats(void **state)
{
	struct world *t = *state;

	for (unsigned int i = 0; i < 16 * 8 * 16; i++) {
		struct form f = { .d16 = i & 1, .typed = i & 2, .n = 1 + (i >> 2 & 3) };
		unsigned int dfmt = i >> 4 & 15, nfmt = i >> 8 & 7;

		check_load(t, &f, dfmt, nfmt, IDENTITY);
		f.store = true;
		check_store(t, &f, dfmt, nfmt);
	}
}

/* 0, 1, components backwards, one of them twice. */
static void test_selected(void **state)
{
	static const uint32_t sel[] = { 0u | 1u << 3 | 4u << 6 | 5u << 9,
					7u | 6u << 3 | 5u << 6 | 4u << 9,
					4u | 4u << 3 | 1u << 6 | 0u << 9 };
	struct world *t = *state;
	struct form f = { .n = 4 };

	for (size_t i = 0; i < 3; i++) {
		for (unsigned int dfmt = 1; dfmt < 15; dfmt++) {
			check_load(t, &f, dfmt, UNORM, sel[i]);
			check_load(t, &f, dfmt, SINT, sel[i]);
		}
	}
	/* A store uses the same order. */
	f.store = true;
	describe(t, &f, 10, UINT, sel[1], 4);
	for (unsigned int r = 0; r < 4; r++)
		t->w.v[DATA + r][0] = 10 + r;
	assert_int_equal(gfx9_memory_op(opcode(&f))(&t->w, (struct gfx9_inst[]){ inst(&f, 0, 0) }),
			 GFX9_GO);
	assert_memory_equal(t->memory, "\x0d\x0c\x0b\x0a", 4);
}

/* A d16 load of one component fills one half of the register and clears the other. */
static void test_upper_half(void **state)
{
	struct world *t = *state;
	struct form f = { .d16 = true, .n = 1 };
	struct gfx9_inst in = inst(&f, 0, 0);

	describe(t, &f, 4, FLOAT, IDENTITY, 4);
	memcpy(t->memory, (uint32_t[]){ f32(1.5) }, 4);
	poison(t);
	assert_int_equal(gfx9_memory_op(in.op)(&t->w, &in), GFX9_GO);
	assert_int_equal(t->w.v[DATA][0], 0x3e00);
	in.op = GFX9_BUFFER_LOAD_FORMAT_D16_HI_X;
	assert_int_equal(gfx9_memory_op(in.op)(&t->w, &in), GFX9_GO);
	assert_int_equal(t->w.v[DATA][0], 0x3e000000);
	t->w.v[DATA][0] = 0x40003c00;
	in.op = GFX9_BUFFER_STORE_FORMAT_D16_HI_X;
	assert_int_equal(gfx9_memory_op(in.op)(&t->w, &in), GFX9_GO);
	assert_memory_equal(t->memory, (uint32_t[]){ f32(2) }, 4);
}

/* An element that is partly out of range is completely out of range; disabled lanes do nothing. */
static void test_range(void **state)
{
	struct world *t = *state;
	struct form f = { .n = 4 };
	struct gfx9_inst in = inst(&f, 0, 0);

	describe(t, &f, 14, UINT, IDENTITY, 16);
	t->w.s[RSRC + 2] = 3 * 16 + 12;
	memset(t->memory, 0x11, 5 * 16);
	poison(t);
	gfx9_set64(&t->w, GFX9_EXEC, 0xfffffffffffffffd);
	assert_int_equal(gfx9_memory_op(in.op)(&t->w, &in), GFX9_GO);
	gfx9_set64(&t->w, GFX9_EXEC, GFX9_ALL_LANES);
	for (unsigned int lane = 0; lane < GFX9_LANES; lane++)
		for (unsigned int r = 0; r < 4; r++)
			assert_int_equal(t->w.v[DATA + r][lane], lane == 1  ? POISON
								 : lane < 3 ? 0x11111111
									    : 0);
	f.store = true;
	in = inst(&f, 0, 0);
	assert_int_equal(gfx9_memory_op(in.op)(&t->w, &in), GFX9_GO);
	for (unsigned int i = 3 * 16; i < 5 * 16; i++)
		assert_int_equal(t->memory[i], 0x11);
}

/* Four dwords of eight records lie together by dwords. */
static void test_swizzled(void **state)
{
	struct world *t = *state;
	struct form f = { .n = 4 };
	struct gfx9_inst in = inst(&f, 0, 0);

	describe(t, &f, 14, UINT, IDENTITY, 16);
	t->w.s[RSRC + 1] |= 1u << 31;
	t->w.s[RSRC + 2] = 60;
	for (uint32_t i = 0; i < 64 * 4; i++)
		memcpy(t->memory + 4 * i, &i, 4);
	assert_int_equal(gfx9_memory_op(in.op)(&t->w, &in), GFX9_GO);
	for (uint32_t lane = 0; lane < GFX9_LANES; lane++)
		for (uint32_t r = 0; r < 4; r++)
			assert_int_equal(t->w.v[DATA + r][lane],
					 lane < 60 ? lane / 8 * 32 + r * 8 + lane % 8 : 0);
}

static void test_refused(void **state)
{
	struct world *t = *state;
	struct form f = { .n = 4 };
	struct gfx9_inst in = inst(&f, 0, 0);

	describe(t, &f, 14, UINT, IDENTITY, 16);
	in.dst = in.src[1] = GFX9_VGPR + VGPRS - 3;
	assert_int_equal(gfx9_memory_op(in.op)(&t->w, &in), GFX9_ILLEGAL);
	in.dst = in.src[1] = GFX9_AGPR + AGPRS - 4;
	assert_int_equal(gfx9_memory_op(in.op)(&t->w, &in), GFX9_GO);
	in.src[0] = GFX9_VGPR + VGPRS;
	assert_int_equal(gfx9_memory_op(in.op)(&t->w, &in), GFX9_ILLEGAL);
	/* Not mapped: a fault, and no register has changed. */
	in = inst(&f, 0, 0);
	poison(t);
	t->w.s[RSRC] -= 8;
	assert_int_equal(gfx9_memory_op(in.op)(&t->w, &in), GFX9_FAULT);
	assert_int_equal(t->w.fault.address, BASE - 8);
	assert_int_equal(t->w.v[DATA][5], POISON);
}

static void test_store_lds(void **state)
{
	struct world *t = *state;
	struct form f = { .n = 1 };
	struct gfx9_inst in = inst(&f, 0, 0);

	describe(t, &f, 4, UINT, IDENTITY, 4);
	t->w.s[RSRC + 2] = 62 * 4;
	t->w.s[GFX9_M0] = LDS - 128;
	in.op = GFX9_BUFFER_STORE_LDS_DWORD;
	in.lds = true;
	in.offset = 4;
	t->w.s[RSRC] -= 4;
	t->w.s[RSRC + 2] += 4;
	for (uint32_t i = 0; i < LDS / 4; i++)
		memcpy(t->w.lds + 4 * i, &i, 4);
	memset(t->memory, 0x33, 64 * 4);
	assert_int_equal(gfx9_memory_op(in.op)(&t->w, &in), GFX9_GO);
	for (uint32_t lane = 0; lane < GFX9_LANES; lane++) {
		uint32_t got, at = LDS / 4 - 32 + 1 + lane;

		memcpy(&got, t->memory + 4 * lane, 4);
		assert_int_equal(got, lane >= 62 ? 0x33333333 : at < LDS / 4 ? at : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_formats, setup, teardown),
		cmocka_unit_test_setup_teardown(test_selected, setup, teardown),
		cmocka_unit_test_setup_teardown(test_upper_half, setup, teardown),
		cmocka_unit_test_setup_teardown(test_range, setup, teardown),
		cmocka_unit_test_setup_teardown(test_swizzled, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_store_lds, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
