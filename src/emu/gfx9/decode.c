// SPDX-License-Identifier: MIT
#include "emu/gfx9/isa.h"

#include <errno.h>
#include <string.h>

#include "emu/gfx9/ops.inc"

#define SRC_SDWA 249
#define SRC_DPP 250

static uint32_t bits(uint32_t word, unsigned int low, unsigned int width)
{
	return word >> low & ((1u << width) - 1);
}

static int32_t sign_extend(uint32_t value, unsigned int width)
{
	return (int32_t)(value << (32 - width)) >> (32 - width);
}

static uint16_t vgpr(uint32_t n)
{
	return (uint16_t)(GFX9_VGPR + n);
}

/* A data register of a memory instruction: an accumulation register where the acc bit says so. */
static uint16_t data_reg(uint32_t n, bool acc)
{
	return (uint16_t)((acc ? GFX9_AGPR : GFX9_VGPR) + n);
}

const char *gfx9_op_name(enum gfx9_op op)
{
	return (unsigned int)op < GFX9_OPS ? op_names[op] : op_names[GFX9_INVALID];
}

/* The instruction needs one dword more than it seemed to; NULL where there is none. */
static const uint32_t *more(struct gfx9_inst *in, const uint32_t *words, size_t n)
{
	return in->dwords < n ? &words[in->dwords++] : NULL;
}

static int take_literal(struct gfx9_inst *in, const uint32_t *words, size_t n)
{
	const uint32_t *w = more(in, words, n);

	if (!w)
		return -ENODATA;
	in->literal = *w;
	return 0;
}

static bool has_literal(const struct gfx9_inst *in)
{
	return in->src[0] == GFX9_LITERAL || in->src[1] == GFX9_LITERAL;
}

static int decode_salu(enum gfx9_target target, const uint32_t *words, size_t n,
		       struct gfx9_inst *in)
{
	uint32_t w = words[0];

	switch (w >> 23) {
	case 0x17d:
		in->format = GFX9_SOP1;
		in->op = bits(w, 8, 8) < 128 ? ops_sop1[target][bits(w, 8, 8)] : GFX9_INVALID;
		in->dst = (uint16_t)bits(w, 16, 7);
		in->src[0] = (uint16_t)bits(w, 0, 8);
		break;
	case 0x17e:
		in->format = GFX9_SOPC;
		in->op = ops_sopc[target][bits(w, 16, 7)];
		in->src[0] = (uint16_t)bits(w, 0, 8);
		in->src[1] = (uint16_t)bits(w, 8, 8);
		break;
	case 0x17f:
		in->format = GFX9_SOPP;
		in->op = ops_sopp[target][bits(w, 16, 7)];
		in->offset = sign_extend(w, 16);
		return 0;
	default:
		if (w >> 28 == 0xb) {
			in->format = GFX9_SOPK;
			in->op = ops_sopk[target][bits(w, 23, 5)];
			in->dst = (uint16_t)bits(w, 16, 7);
			in->offset = sign_extend(w, 16);
			return in->op == GFX9_S_SETREG_IMM32_B32 ? take_literal(in, words, n) : 0;
		}
		in->format = GFX9_SOP2;
		in->op = bits(w, 23, 7) < 64 ? ops_sop2[target][bits(w, 23, 7)] : GFX9_INVALID;
		in->dst = (uint16_t)bits(w, 16, 7);
		in->src[0] = (uint16_t)bits(w, 0, 8);
		in->src[1] = (uint16_t)bits(w, 8, 8);
	}
	return has_literal(in) ? take_literal(in, words, n) : 0;
}

static int decode_smem(enum gfx9_target target, const uint32_t *words, struct gfx9_inst *in)
{
	uint32_t w = words[0], x = words[1];

	in->format = GFX9_SMEM;
	in->op = ops_smem[target][bits(w, 18, 8)];
	in->imm = bits(w, 17, 1);
	in->glc = bits(w, 16, 1);
	in->soffset_en = bits(w, 14, 1);
	in->dst = (uint16_t)bits(w, 6, 7);
	in->src[0] = (uint16_t)(bits(w, 0, 6) << 1);
	in->src[1] = (uint16_t)(in->soffset_en ? bits(x, 25, 7) : bits(x, 0, 7));
	in->offset = in->imm ? sign_extend(x, 21) : 0;
	return 0;
}

/*
 * VALU
 */

static void decode_sdwa(uint32_t x, struct gfx9_inst *in)
{
	in->extra = GFX9_SDWA;
	in->src[0] = (uint16_t)(bits(x, 0, 8) | (bits(x, 23, 1) ? 0 : GFX9_VGPR));
	in->src_sel[0] = (uint8_t)bits(x, 16, 3);
	in->src_sel[1] = (uint8_t)bits(x, 24, 3);
	in->sext = (uint8_t)(bits(x, 19, 1) | bits(x, 27, 1) << 1);
	in->neg = (uint8_t)(bits(x, 20, 1) | bits(x, 28, 1) << 1);
	in->abs = (uint8_t)(bits(x, 21, 1) | bits(x, 29, 1) << 1);
	if (in->format != GFX9_VOP1 && bits(x, 31, 1))
		in->src[1] = (uint16_t)(in->src[1] - GFX9_VGPR);
	if (in->format == GFX9_VOPC) {
		in->sdst = bits(x, 15, 1) ? (uint16_t)bits(x, 8, 7) : GFX9_VCC;
		return;
	}
	in->dst_sel = (uint8_t)bits(x, 8, 3);
	in->dst_unused = (uint8_t)bits(x, 11, 2);
	in->clamp = bits(x, 13, 1);
	in->omod = (uint8_t)bits(x, 14, 2);
}

static void decode_dpp(uint32_t x, struct gfx9_inst *in)
{
	in->extra = GFX9_DPP;
	in->src[0] = vgpr(bits(x, 0, 8));
	in->dpp_ctrl = (uint16_t)bits(x, 8, 9);
	in->bound_ctrl = bits(x, 19, 1);
	in->neg = (uint8_t)(bits(x, 20, 1) | bits(x, 22, 1) << 1);
	in->abs = (uint8_t)(bits(x, 21, 1) | bits(x, 23, 1) << 1);
	in->bank_mask = (uint8_t)bits(x, 24, 4);
	in->row_mask = (uint8_t)bits(x, 28, 4);
}

/* v_madmk and their like carry a constant; the carry and cndmask group reads VCC. */
static bool has_constant(uint16_t op)
{
	switch (op) {
	case GFX9_V_MADMK_F32:
	case GFX9_V_MADAK_F32:
	case GFX9_V_MADMK_F16:
	case GFX9_V_MADAK_F16:
	case GFX9_V_FMAMK_F32:
	case GFX9_V_FMAAK_F32:
		return true;
	default:
		return false;
	}
}

static bool reads_vcc(uint16_t op)
{
	switch (op) {
	case GFX9_V_CNDMASK_B32:
	case GFX9_V_ADDC_CO_U32:
	case GFX9_V_SUBB_CO_U32:
	case GFX9_V_SUBBREV_CO_U32:
		return true;
	default:
		return false;
	}
}

static int decode_vop_tail(const uint32_t *words, size_t n, struct gfx9_inst *in)
{
	const uint32_t *x;

	if (in->src[0] != SRC_SDWA && in->src[0] != SRC_DPP)
		return in->src[0] == GFX9_LITERAL || has_constant(in->op)
			       ? take_literal(in, words, n)
			       : 0;
	x = more(in, words, n);
	if (!x)
		return -ENODATA;
	if (in->src[0] == SRC_SDWA)
		decode_sdwa(*x, in);
	else
		decode_dpp(*x, in);
	return 0;
}

static int decode_vop12c(enum gfx9_target target, const uint32_t *words, size_t n,
			 struct gfx9_inst *in)
{
	uint32_t w = words[0];

	in->src[0] = (uint16_t)bits(w, 0, 9);
	in->sdst = GFX9_VCC;
	switch (w >> 25) {
	case 0x3f:
		in->format = GFX9_VOP1;
		in->op = bits(w, 9, 8) < 128 ? ops_vop1[target][bits(w, 9, 8)] : GFX9_INVALID;
		in->dst = vgpr(bits(w, 17, 8));
		/* The one VALU instruction that writes a scalar register. */
		if (in->op == GFX9_V_READFIRSTLANE_B32)
			in->dst = (uint16_t)bits(w, 17, 8);
		break;
	case 0x3e:
		in->format = GFX9_VOPC;
		in->op = ops_vopc[target][bits(w, 17, 8)];
		in->src[1] = vgpr(bits(w, 9, 8));
		break;
	default:
		in->format = GFX9_VOP2;
		in->op = ops_vop2[target][bits(w, 25, 6)];
		in->dst = vgpr(bits(w, 17, 8));
		in->src[1] = vgpr(bits(w, 9, 8));
		if (reads_vcc(in->op))
			in->src[2] = GFX9_VCC;
	}
	return decode_vop_tail(words, n, in);
}

/* VOP3 with a scalar destination beside, or instead of, the vector one. */
static bool is_vop3b(uint16_t op)
{
	switch (op) {
	case GFX9_V_ADD_CO_U32:
	case GFX9_V_SUB_CO_U32:
	case GFX9_V_SUBREV_CO_U32:
	case GFX9_V_ADDC_CO_U32:
	case GFX9_V_SUBB_CO_U32:
	case GFX9_V_SUBBREV_CO_U32:
	case GFX9_V_DIV_SCALE_F32:
	case GFX9_V_DIV_SCALE_F64:
	case GFX9_V_MAD_U64_U32:
	case GFX9_V_MAD_I64_I32:
		return true;
	default:
		return false;
	}
}

static int decode_vop3(enum gfx9_target target, const uint32_t *words, struct gfx9_inst *in)
{
	uint32_t w = words[0], x = words[1], op = bits(w, 16, 10);

	in->format = GFX9_VOP3;
	in->op = ops_vop3[target][op];
	in->e64 = op < 0x1c0;
	in->clamp = bits(w, 15, 1);
	in->dst = vgpr(bits(w, 0, 8));
	in->src[0] = (uint16_t)bits(x, 0, 9);
	in->src[1] = (uint16_t)bits(x, 9, 9);
	in->src[2] = (uint16_t)bits(x, 18, 9);
	in->omod = (uint8_t)bits(x, 27, 2);
	in->neg = (uint8_t)bits(x, 29, 3);
	if (is_vop3b(in->op)) {
		in->sdst = (uint16_t)bits(w, 8, 7);
		return 0;
	}
	in->abs = (uint8_t)bits(w, 8, 3);
	in->op_sel = (uint8_t)bits(w, 11, 4);
	if (op < 0x100)
		in->sdst = (uint16_t)bits(w, 0, 8);
	if (in->op == GFX9_V_READLANE_B32 || in->op == GFX9_V_READFIRSTLANE_B32)
		in->dst = (uint16_t)bits(w, 0, 8);
	return 0;
}

static bool is_mai(uint32_t op)
{
	return op >= 0x40;
}

static uint16_t acc_src(uint32_t code, bool acc)
{
	return (uint16_t)(acc && code >= GFX9_VGPR ? code - GFX9_VGPR + GFX9_AGPR : code);
}

static void decode_mai(uint32_t w, uint32_t x, struct gfx9_inst *in)
{
	bool acc_cd = bits(w, 15, 1);

	in->dst = data_reg(bits(w, 0, 8), acc_cd);
	in->cbsz = (uint8_t)bits(w, 8, 3);
	in->abid = (uint8_t)bits(w, 11, 4);
	in->blgp = (uint8_t)bits(x, 29, 3);
	in->src[0] = acc_src(bits(x, 0, 9), bits(x, 27, 1));
	in->src[1] = acc_src(bits(x, 9, 9), bits(x, 28, 1));
	in->src[2] = acc_src(bits(x, 18, 9), acc_cd);
}

static int decode_vop3p(enum gfx9_target target, const uint32_t *words, struct gfx9_inst *in)
{
	uint32_t w = words[0], x = words[1], op = bits(w, 16, 7);

	in->format = GFX9_VOP3P;
	in->op = ops_vop3p[target][op];
	if (is_mai(op)) {
		decode_mai(w, x, in);
		return 0;
	}
	in->clamp = bits(w, 15, 1);
	in->dst = vgpr(bits(w, 0, 8));
	in->src[0] = (uint16_t)bits(x, 0, 9);
	in->src[1] = (uint16_t)bits(x, 9, 9);
	in->src[2] = (uint16_t)bits(x, 18, 9);
	in->op_sel = (uint8_t)bits(w, 11, 3);
	in->op_sel_hi = (uint8_t)(bits(x, 27, 2) | bits(w, 14, 1) << 2);
	in->neg = (uint8_t)bits(x, 29, 3);
	in->abs = (uint8_t)bits(w, 8, 3);
	return 0;
}

/*
 * Memory
 */

static int decode_ds(enum gfx9_target target, const uint32_t *words, struct gfx9_inst *in)
{
	uint32_t w = words[0], x = words[1];
	bool acc = bits(w, 25, 1);

	in->format = GFX9_DS;
	in->op = ops_ds[target][bits(w, 17, 8)];
	in->gds = bits(w, 16, 1);
	in->offset = (int32_t)bits(w, 0, 8);
	in->offset1 = (uint8_t)bits(w, 8, 8);
	in->src[0] = vgpr(bits(x, 0, 8));
	in->src[1] = data_reg(bits(x, 8, 8), acc);
	in->src[2] = data_reg(bits(x, 16, 8), acc);
	in->dst = data_reg(bits(x, 24, 8), acc);
	return 0;
}

static int decode_flat(enum gfx9_target target, const uint32_t *words, struct gfx9_inst *in)
{
	uint32_t w = words[0], x = words[1], op = bits(w, 18, 7);
	bool acc = bits(x, 23, 1);

	switch (bits(w, 14, 2)) {
	case 0:
		in->format = GFX9_FLAT;
		in->op = ops_flat[target][op];
		in->offset = (int32_t)bits(w, 0, 12);
		break;
	case 1:
		in->format = GFX9_SCRATCH;
		in->op = ops_scratch[target][op];
		in->offset = sign_extend(w, 13);
		break;
	case 2:
		in->format = GFX9_GLOBAL;
		in->op = ops_global[target][op];
		in->offset = sign_extend(w, 13);
		break;
	default:
		return -EILSEQ;
	}
	in->slc = bits(w, 17, 1);
	in->glc = bits(w, 16, 1);
	in->scc = bits(w, 25, 1);
	/* On gfx90a the vector address counts where there is no scalar one. */
	if (in->format != GFX9_SCRATCH)
		in->lds = bits(w, 13, 1);
	else if (target == GFX9_TARGET_GFX942)
		in->sve = bits(w, 13, 1);
	else
		in->sve = bits(x, 16, 7) == GFX9_OFF;
	in->src[0] = vgpr(bits(x, 0, 8));
	in->src[1] = data_reg(bits(x, 8, 8), acc);
	in->sdst = in->format == GFX9_FLAT ? GFX9_OFF : (uint16_t)bits(x, 16, 7);
	in->dst = data_reg(bits(x, 24, 8), acc);
	return 0;
}

static int decode_mubuf(enum gfx9_target target, const uint32_t *words, struct gfx9_inst *in)
{
	uint32_t w = words[0], x = words[1];

	in->format = GFX9_MUBUF;
	in->op = ops_mubuf[target][bits(w, 18, 7)];
	in->offset = (int32_t)bits(w, 0, 12);
	in->offen = bits(w, 12, 1);
	in->idxen = bits(w, 13, 1);
	in->glc = bits(w, 14, 1);
	in->scc = bits(w, 15, 1);
	in->lds = bits(w, 16, 1);
	in->slc = bits(w, 17, 1);
	in->src[0] = vgpr(bits(x, 0, 8));
	in->src[1] = data_reg(bits(x, 8, 8), bits(x, 23, 1));
	in->src[2] = (uint16_t)bits(x, 24, 8);
	in->sdst = (uint16_t)(bits(x, 16, 5) << 2);
	in->dst = in->src[1];
	return 0;
}

static int decode_two_dwords(enum gfx9_target target, const uint32_t *words, struct gfx9_inst *in)
{
	in->dwords = 2;
	switch (words[0] >> 26) {
	case 0x30:
		return decode_smem(target, words, in);
	case 0x34:
		return words[0] >> 23 == 0x1a7 ? decode_vop3p(target, words, in)
					       : decode_vop3(target, words, in);
	case 0x36:
		return decode_ds(target, words, in);
	case 0x37:
		return decode_flat(target, words, in);
	case 0x38:
		return decode_mubuf(target, words, in);
	default:
		return -EILSEQ;
	}
}

int gfx9_decode(enum gfx9_target target, const uint32_t *words, size_t n, struct gfx9_inst *in)
{
	int err;

	if (!n)
		return -ENODATA;
	memset(in, 0, sizeof(*in));
	in->dwords = 1;
	if (!(words[0] >> 31))
		err = decode_vop12c(target, words, n, in);
	else if (words[0] >> 30 == 2)
		err = decode_salu(target, words, n, in);
	else
		err = n < 2 ? -ENODATA : decode_two_dwords(target, words, in);
	if (err)
		return err;
	return in->op == GFX9_INVALID ? -EILSEQ : in->dwords;
}
