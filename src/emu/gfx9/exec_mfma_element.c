// SPDX-License-Identifier: MIT
/* Elements of matrices: from the bits of a register to numbers. */
#include "emu/gfx9/exec_mfma.h"

#include <math.h>
#include <string.h>

#define SIG_BITS 10 /* behind the point */
#define BIAS 127

struct layout {
	unsigned int width, mantissa;
	int bias;
	bool special; /* the highest exponent means Inf and NaN */
};

/* 2^@n, in the range of normal doubles. */
static double power(int n)
{
	uint64_t bits = (uint64_t)(n + 1023) << 52;
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

static void take(struct gfx9_mfma_matrix *m, size_t at, const struct layout *l, uint32_t bits)
{
	unsigned int exps = 1u << (l->width - 1 - l->mantissa);
	int e = (int)(bits >> l->mantissa & (exps - 1));
	int32_t sig = (int32_t)(bits & ((1u << l->mantissa) - 1));
	float sign = bits >> (l->width - 1) ? -1.0f : 1.0f;

	if (l->special && e == (int)exps - 1) {
		m->value[at] = sig ? NAN : INFINITY * sign;
		m->sig[at] = 0;
		m->exp[at] = GFX9_MFMA_EXP_SPECIAL;
		return;
	}
	if (e)
		sig |= 1 << l->mantissa;
	e = (e ? e : 1) - l->bias;
	sig = (int32_t)((uint32_t)sig << (SIG_BITS - l->mantissa));
	m->value[at] = sign * (float)(sig * power(e - SIG_BITS));
	m->sig[at] = (int16_t)(sign < 0 ? -sig : sig);
	m->exp[at] = (int16_t)(sig ? e : GFX9_MFMA_EXP_ZERO);
}

/* Eight bits without infinities and without -0, which is the NaN. */
static void take8(struct gfx9_mfma_matrix *m, size_t at, const struct layout *l, uint32_t bits)
{
	take(m, at, l, bits);
	if (bits != 0x80)
		return;
	m->value[at] = NAN;
	m->exp[at] = GFX9_MFMA_EXP_SPECIAL;
}

void gfx9_mfma_element(struct gfx9_mfma_matrix *m, size_t at, enum gfx9_mfma_type type,
		       uint64_t bits)
{
	static const struct layout xf32 = { 19, 10, BIAS, true }, f16 = { 16, 10, 15, true };
	static const struct layout bf16 = { 16, 7, BIAS, true };
	static const struct layout fp8 = { 8, 3, 8, false }, bf8 = { 8, 2, 16, false };
	uint32_t word = (uint32_t)bits;

	switch (type) {
	case GFX9_MFMA_F64:
		memcpy(&m->wide[at], &bits, sizeof(bits));
		return;
	case GFX9_MFMA_F32:
		memcpy(&m->value[at], &word, sizeof(word));
		return;
	case GFX9_MFMA_I8:
		m->sig[at] = (int8_t)word;
		return;
	case GFX9_MFMA_XF32:
		/* A NaN stays a NaN, whichever bits it has. */
		if ((word & 0x7fffffff) > 0x7f800000)
			word |= 0x400000;
		take(m, at, &xf32, word >> 13);
		return;
	case GFX9_MFMA_F16:
		take(m, at, &f16, word);
		return;
	case GFX9_MFMA_BF16:
		take(m, at, &bf16, word);
		return;
	case GFX9_MFMA_FP8:
		take8(m, at, &fp8, word);
		return;
	default:
		take8(m, at, &bf8, word);
	}
}
