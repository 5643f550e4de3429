/* SPDX-License-Identifier: MIT */
/*
 * Encodings: which bits of an instruction are unused, and its operands in the order of the text.
 * Instructions that agree in all of it share an encoding. The decoder checks instructions against
 * it, and the text is written from it.
 */
#ifndef GP__EMU_GFX9_ENCODING_H
#define GP__EMU_GFX9_ENCODING_H

#include <stdint.h>

/* The field of struct gfx9_inst that holds an operand. */
enum gfx9_field {
	F_DST,
	F_SDST,
	F_SRC0,
	F_SRC1,
	F_SRC2,
	F_K, /* the literal of v_madmk and its like */
	F_IMM, /* simm16 */
	F_OFFSET, /* of scalar memory: register, constant or both */
	F_ADDR, /* of vector memory: depends on other fields */
	F_SADDR,
	F_SRSRC,
};

enum gfx9_kind {
	K_VGPR,
	K_AGPR,
	K_RETURN, /* a vector register, only with glc */
	K_SGPR,
	K_SGPR_NO_EXEC, /* nor M0 */
	K_SSRC, /* scalar register or constant */
	K_SRC, /* any register or constant */
	K_VSRC, /* vector register or constant */
	K_K,
	K_OFFSET,
	K_ADDR,
	K_SADDR,
	K_NUMBER,
	K_HEX,
	K_BRANCH,
	K_HWREG,
	K_SENDMSG,
	K_WAITCNT,
	K_GPR_IDX,
};

/* The type of constants; a literal is the upper half of an F64, the lower half of a B64. */
enum gfx9_type { T_B32, T_B64, T_F64, T_F16, T_V2F16, T_I16 };

#define ENC_SUFFIX 1 /* has _e32, _e64, _sdwa or _dpp */
#define ENC_TWO_OFFSETS 2 /* LDS: offset0 and offset1 instead of one of 16 bits */
#define ENC_PACKED 4 /* neg_lo and neg_hi instead of signs of the operands */
#define ENC_NEG_LIST 8 /* MFMA: blgp holds signs */

#define GFX9_MAX_OPERANDS 5

struct gfx9_encoding {
	uint64_t fixed, value; /* required values */
	uint64_t ignored; /* bits without meaning */
	uint8_t flags;
	uint8_t op_sel; /* how many there are; the destination's is the last one */
	uint8_t nr;
	struct gfx9_operand {
		uint8_t field, kind, dwords, type;
	} operand[GFX9_MAX_OPERANDS];
};

extern const struct gfx9_encoding gfx9_encodings[];

#endif
