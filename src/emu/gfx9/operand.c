// SPDX-License-Identifier: MIT
#include "emu/gfx9/operand.h"

#define LAST_INT 208 /* -16 */
#define LAST_FLOAT 248
#define BIAS 192 /* code of 64; beyond it come -1, -2, ... */

static const uint32_t floats[] = {
	0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
	0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983,
};

static const uint64_t doubles[] = {
	0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
	0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
	0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882,
};

#define X4(x) x, x, x, x
#define X16(x) X4(x), X4(x), X4(x), X4(x)
#define ROW(x)                                                                                 \
	{                                                                                      \
		X16((uint32_t)(x)), X16((uint32_t)(x)), X16((uint32_t)(x)), X16((uint32_t)(x)) \
	}
#define ROWS4(x) ROW(x), ROW((x) + 1), ROW((x) + 2), ROW((x) + 3)
#define ROWS16(x) ROWS4(x), ROWS4((x) + 4), ROWS4((x) + 8), ROWS4((x) + 12)
#define DOWN4(x) ROW(x), ROW((x)-1), ROW((x)-2), ROW((x)-3)

#define AT(code) [(code)-GFX9_SRC_0]

/* clang-format off */
_Alignas(64) const uint32_t gfx9_inline_rows[GFX9_INLINE_CODES][GFX9_LANES] = {
	ROWS16(0), ROWS16(16), ROWS16(32), ROWS16(48), ROW(64),
	DOWN4(-1), DOWN4(-5), DOWN4(-9), DOWN4(-13),
	AT(GFX9_SRC_HALF) = ROW(0x3f000000), ROW(0xbf000000), ROW(0x3f800000), ROW(0xbf800000),
	ROW(0x40000000), ROW(0xc0000000), ROW(0x40800000), ROW(0xc0800000), ROW(0x3e22f983),
};
/* clang-format on */

static int32_t integer(unsigned int code)
{
	return code <= BIAS ? (int32_t)(code - GFX9_SRC_0) : (int32_t)(BIAS - code);
}

static bool is_float(unsigned int code)
{
	return code >= GFX9_SRC_HALF && code <= LAST_FLOAT;
}

/*
 * An aperture is 4 GiB at a multiple of that: its register is 64 bits, of which 32-bit operands see
 * the lower half.
 */
static uint64_t special(const struct gfx9_wave *w, unsigned int code)
{
	switch (code) {
	case GFX9_SHARED_BASE:
		return (uint64_t)w->shared_base << 32;
	case GFX9_SHARED_LIMIT:
		return (uint64_t)w->shared_base << 32 | UINT32_MAX;
	case GFX9_PRIVATE_BASE:
		return (uint64_t)w->private_base << 32;
	case GFX9_PRIVATE_LIMIT:
		return (uint64_t)w->private_base << 32 | UINT32_MAX;
	case GFX9_VCCZ:
		return !gfx9_get64(w, GFX9_VCC);
	case GFX9_EXECZ:
		return !gfx9_exec(w);
	case GFX9_SCC:
		return w->scc;
	default:
		return 0;
	}
}

uint32_t gfx9_scalar(const struct gfx9_wave *w, const struct gfx9_inst *in, unsigned int code)
{
	if (code < GFX9_SREGS)
		return gfx9_sreg(w, code);
	if (code <= LAST_INT)
		return (uint32_t)integer(code);
	if (code == GFX9_LITERAL)
		return in->literal;
	if (is_float(code))
		return floats[code - GFX9_SRC_HALF];
	return (uint32_t)special(w, code);
}

/*
 * A literal is zero-extended, as the hardware does for every operand but signed ones, which the
 * three instructions with such operands handle themselves.
 */
uint64_t gfx9_scalar64(const struct gfx9_wave *w, const struct gfx9_inst *in, unsigned int code)
{
	if (code < GFX9_SREGS)
		return gfx9_sreg64(w, code);
	if (code <= LAST_INT)
		return (uint64_t)(int64_t)integer(code);
	if (code == GFX9_LITERAL)
		return in->literal;
	if (is_float(code))
		return doubles[code - GFX9_SRC_HALF];
	return special(w, code);
}
