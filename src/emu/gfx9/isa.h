/* SPDX-License-Identifier: MIT */
/*
 * GFX9 instructions as the engine executes them: decoded once, then run many times.
 *
 * The decoder uses the tables that scripts/gfx9-tables gets from LLVM. Unknown or truncated
 * instructions are refused; a field that the instruction does not have is 0.
 */
#ifndef GP__EMU_GFX9_ISA_H
#define GP__EMU_GFX9_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/gfx9/ops.h"

enum gfx9_target { GFX9_TARGET_GFX90A, GFX9_TARGET_GFX942, GFX9_TARGETS };

enum gfx9_format {
	GFX9_SOP2,
	GFX9_SOPK,
	GFX9_SOP1,
	GFX9_SOPC,
	GFX9_SOPP,
	GFX9_SMEM,
	GFX9_VOP2,
	GFX9_VOP1,
	GFX9_VOPC,
	GFX9_VOP3,
	GFX9_VOP3P,
	GFX9_DS,
	GFX9_FLAT,
	GFX9_GLOBAL,
	GFX9_SCRATCH,
	GFX9_MUBUF,
	GFX9_MTBUF,
	GFX9_FORMATS,
};

/* Operand codes: 0..255 as in the ISA for scalar operands, then the vector registers. */
enum {
	GFX9_FLAT_SCRATCH = 102,
	GFX9_XNACK_MASK = 104,
	GFX9_VCC = 106,
	GFX9_TTMP0 = 108,
	GFX9_M0 = 124,
	GFX9_EXEC = 126,
	GFX9_SRC_0 = 128, /* 128..192: 0..64, 193..208: -1..-16 */
	GFX9_SHARED_BASE = 235,
	GFX9_SHARED_LIMIT = 236,
	GFX9_PRIVATE_BASE = 237,
	GFX9_PRIVATE_LIMIT = 238,
	GFX9_SRC_HALF = 240, /* 240..248: 0.5 -0.5 1 -1 2 -2 4 -4 1/(2*pi) */
	GFX9_VCCZ = 251,
	GFX9_EXECZ = 252,
	GFX9_SCC = 253,
	GFX9_LITERAL = 255,
	GFX9_VGPR = 256,
	GFX9_AGPR = 512,
};
#define GFX9_OFF 127 /* saddr of a memory instruction that has none */

enum gfx9_extra { GFX9_PLAIN, GFX9_SDWA, GFX9_DPP };

struct gfx9_inst {
	uint16_t op; /* enum gfx9_op */
	uint8_t format;
	uint8_t dwords; /* 1 to 3 */
	uint8_t extra; /* enum gfx9_extra */
	uint16_t encoding; /* index of what the decoder knows about its operands */
	bool e64 : 1; /* VOP1, VOP2 and VOPC opcodes in their VOP3 form; format is VOP3 then */

	/*
	 * Scalar: dst, src[0..1]. Vector: dst, src[0..2]; sdst is the mask a comparison or a carry
	 * goes to (VCC where the encoding does not say). VOP2 that reads VCC has src[2] = VCC.
	 * SMEM: dst is sdata, src[0] sbase, src[1] soffset or 0.
	 * DS: dst, src[0] addr, src[1] data0, src[2] data1; offset is offset0, offset1 beside it.
	 * FLAT, GLOBAL, SCRATCH: dst, src[0] vaddr, src[1] vdata, sdst saddr or GFX9_OFF.
	 * MUBUF, MTBUF: dst = src[1] = vdata, src[0] vaddr, src[2] soffset, sdst srsrc.
	 */
	uint16_t dst, sdst, src[3];
	/* vector registers that the plain function relies on; see gfx9_vector_bind() */
	uint16_t rows;
	uint32_t literal;
	int32_t offset; /* simm16 of SOPK and SOPP, the offset of memory instructions */
	uint8_t offset1;

	uint8_t neg, abs; /* a bit for each source; VOP3P: neg_lo and neg_hi */
	uint8_t omod;
	bool clamp : 1;
	uint8_t op_sel, op_sel_hi; /* VOP3: op_sel[3] is of the destination */
	uint8_t cbsz, abid, blgp; /* MFMA */

	uint8_t dst_sel, dst_unused, src_sel[2], sext; /* SDWA */
	uint16_t dpp_ctrl; /* DPP */
	uint8_t row_mask, bank_mask;
	bool bound_ctrl : 1;

	bool imm : 1; /* SMEM: offset is an immediate */
	bool soffset_en : 1;
	bool glc : 1, slc : 1, scc : 1, lds : 1, gds : 1, offen : 1, idxen : 1, sve : 1;
	uint8_t dfmt, nfmt; /* MTBUF */
};

/*
 * Decodes @words, of which @n may be read. Returns the number of dwords (1 to 3), -EILSEQ where it
 * is not an instruction of this target, or -ENODATA where it continues beyond @n.
 */
int gfx9_decode(enum gfx9_target target, const uint32_t *words, size_t n, struct gfx9_inst *in);

const char *gfx9_op_name(enum gfx9_op op);

/* Whether the target has an encoding of @op. */
bool gfx9_target_has(enum gfx9_target target, enum gfx9_op op);

#endif
