/* SPDX-License-Identifier: MIT */
/*
 * Scalar operands, inline: registers directly, everything else through operand.c.
 *
 * No operand code reaches beyond the register array: a pair begins at an even register, as on the
 * hardware. The trap temporaries read as 0 and ignore writes outside the trap handler.
 */
#ifndef GP__EMU_GFX9_OPERAND_H
#define GP__EMU_GFX9_OPERAND_H

#include "emu/gfx9/wave.h"

#define GFX9_TTMPS 16
#define GFX9_SREGS 128 /* operand codes that are registers */

static inline bool gfx9_ttmp_denied(const struct gfx9_wave *w, unsigned int code)
{
	return __builtin_expect(code - GFX9_TTMP0 < GFX9_TTMPS, 0) &&
	       !(w->status & GFX9_STATUS_PRIV);
}

static inline uint32_t gfx9_sreg(const struct gfx9_wave *w, unsigned int code)
{
	return gfx9_ttmp_denied(w, code) ? 0 : w->s[code];
}

static inline uint64_t gfx9_sreg64(const struct gfx9_wave *w, unsigned int code)
{
	return gfx9_ttmp_denied(w, code) ? 0 : gfx9_get64(w, code & ~1u);
}

static inline void gfx9_sreg_set(struct gfx9_wave *w, unsigned int code, uint32_t value)
{
	if (!gfx9_ttmp_denied(w, code))
		w->s[code] = value;
}

static inline void gfx9_sreg_set64(struct gfx9_wave *w, unsigned int code, uint64_t value)
{
	if (!gfx9_ttmp_denied(w, code))
		gfx9_set64(w, code & ~1u, value);
}

/* An inline constant in each of 64 lanes, by operand code from GFX9_SRC_0 on. */
#define GFX9_INLINE_CODES 121
extern _Alignas(64) const uint32_t gfx9_inline_rows[GFX9_INLINE_CODES][GFX9_LANES];

static inline bool gfx9_is_inline(unsigned int code)
{
	return code - GFX9_SRC_0 <= 80 || code - GFX9_SRC_HALF <= 8;
}

static inline uint32_t gfx9_operand(const struct gfx9_wave *w, const struct gfx9_inst *in,
				    unsigned int code)
{
	return code < GFX9_SREGS ? gfx9_sreg(w, code) : gfx9_scalar(w, in, code);
}

static inline uint64_t gfx9_operand64(const struct gfx9_wave *w, const struct gfx9_inst *in,
				      unsigned int code)
{
	return code < GFX9_SREGS ? gfx9_sreg64(w, code) : gfx9_scalar64(w, in, code);
}

#endif
