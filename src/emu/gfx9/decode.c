// SPDX-License-Identifier: MIT
/*
 * The decoder. The opcode selects the encoding; fixed bits are compared, meaningless ones are
 * cleared, and the fields are extracted. Then each operand is checked against the encoding, so that
 * no instruction is executed with a register that does not exist.
 */
#include "emu/gfx9/isa.h"

#include <errno.h>
#include <string.h>

#include "emu/gfx9/encoding.h"

/* An opcode of a format: the instruction, and its place in gfx9_encodings. */
struct entry {
	uint16_t op, encoding;
};

#include "emu/gfx9/ops.inc"

#define SRC_SDWA 249
#define SRC_DPP 250

/* The words of an instruction: @n may be read, and two are buffered here, followed by zeros. */
struct source {
	enum gfx9_target target;
	const uint32_t *words;
	size_t n;
	uint32_t w, x;
};

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

/* A data register of a memory instruction: an accumulation register if the acc bit is set. */
static uint16_t data_reg(uint32_t n, bool acc)
{
	return (uint16_t)((acc ? GFX9_AGPR : GFX9_VGPR) + n);
}

const char *gfx9_op_name(enum gfx9_op op)
{
	return (unsigned int)op < GFX9_OPS ? op_names[op] : op_names[GFX9_INVALID];
}

#define TABLE(name)                                               \
	{                                                         \
		&name[0][0], sizeof(name[0]) / sizeof(name[0][0]) \
	}

bool gfx9_target_has(enum gfx9_target target, enum gfx9_op op)
{
	static const struct {
		const struct entry *first;
		size_t n; /* of one target */
	} all[] = {
		TABLE(ops_sop2),  TABLE(ops_sopk),   TABLE(ops_sop1),	 TABLE(ops_sopc),
		TABLE(ops_sopp),  TABLE(ops_smem),   TABLE(ops_vop2),	 TABLE(ops_vop1),
		TABLE(ops_vopc),  TABLE(ops_vop3),   TABLE(ops_vop3p),	 TABLE(ops_ds),
		TABLE(ops_flat),  TABLE(ops_global), TABLE(ops_scratch), TABLE(ops_mubuf),
		TABLE(ops_mtbuf),
	};

	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
		const struct entry *entry = all[k].first + (size_t)target * all[k].n;

		for (size_t i = 0; i < all[k].n; i++)
			if (entry[i].encoding && entry[i].op == op)
				return true;
	}
	return false;
}

/* Checks the fixed bits; clears those without meaning. */
static int use_encoding(struct source *s, uint16_t encoding, struct gfx9_inst *in)
{
	const struct gfx9_encoding *e = &gfx9_encodings[encoding];
	uint64_t word = (uint64_t)s->w | (uint64_t)s->x << 32;

	if (!encoding || (word & e->fixed) != e->value)
		return -EILSEQ;
	word &= ~e->ignored;
	s->w = (uint32_t)word;
	s->x = (uint32_t)(word >> 32);
	in->encoding = encoding;
	return 0;
}

static int use_entry(struct source *s, const struct entry *entry, struct gfx9_inst *in)
{
	in->op = entry->op;
	return use_encoding(s, entry->encoding, in);
}

/* The instruction has one dword more than it seemed to; NULL: it is missing. */
static const uint32_t *more(const struct source *s, struct gfx9_inst *in)
{
	return in->dwords < s->n ? &s->words[in->dwords++] : NULL;
}

static int take_literal(const struct source *s, struct gfx9_inst *in)
{
	const uint32_t *w = more(s, in);

	if (!w)
		return -ENODATA;
	in->literal = *w;
	return 0;
}

static bool has_literal(const struct gfx9_inst *in)
{
	return in->src[0] == GFX9_LITERAL || in->src[1] == GFX9_LITERAL;
}

/*
 * Scalar
 */

static int decode_sopp(struct source *s, struct gfx9_inst *in)
{
	in->format = GFX9_SOPP;
	in->offset = sign_extend(s->w, 16);
	return use_entry(s, &ops_sopp[s->target][bits(s->w, 16, 7)], in);
}

static int decode_sopk(struct source *s, struct gfx9_inst *in)
{
	uint32_t op = bits(s->w, 23, 5);
	int err = op < 29 ? use_entry(s, &ops_sopk[s->target][op], in) : -EILSEQ;

	if (err)
		return err;
	in->format = GFX9_SOPK;
	in->dst = (uint16_t)bits(s->w, 16, 7);
	in->offset = sign_extend(s->w, 16);
	return in->op == GFX9_S_SETREG_IMM32_B32 ? take_literal(s, in) : 0;
}

static int decode_sop1(struct source *s, struct gfx9_inst *in)
{
	uint32_t op = bits(s->w, 8, 8);
	int err = op < 128 ? use_entry(s, &ops_sop1[s->target][op], in) : -EILSEQ;

	if (err)
		return err;
	in->format = GFX9_SOP1;
	in->dst = (uint16_t)bits(s->w, 16, 7);
	in->src[0] = (uint16_t)bits(s->w, 0, 8);
	return has_literal(in) ? take_literal(s, in) : 0;
}

static int decode_sopc(struct source *s, struct gfx9_inst *in)
{
	int err = use_entry(s, &ops_sopc[s->target][bits(s->w, 16, 7)], in);

	if (err)
		return err;
	in->format = GFX9_SOPC;
	in->src[0] = (uint16_t)bits(s->w, 0, 8);
	in->src[1] = (uint16_t)bits(s->w, 8, 8);
	/* The second field is not an operand but four bits. */
	if (in->op == GFX9_S_SET_GPR_IDX_ON)
		return in->src[0] == GFX9_LITERAL ? take_literal(s, in) : 0;
	return has_literal(in) ? take_literal(s, in) : 0;
}

static int decode_sop2(struct source *s, struct gfx9_inst *in)
{
	uint32_t op = bits(s->w, 23, 7);
	int err = op < 64 ? use_entry(s, &ops_sop2[s->target][op], in) : -EILSEQ;

	if (err)
		return err;
	in->format = GFX9_SOP2;
	in->dst = (uint16_t)bits(s->w, 16, 7);
	in->src[0] = (uint16_t)bits(s->w, 0, 8);
	in->src[1] = (uint16_t)bits(s->w, 8, 8);
	return has_literal(in) ? take_literal(s, in) : 0;
}

static int decode_salu(struct source *s, struct gfx9_inst *in)
{
	switch (s->w >> 23) {
	case 0x17d:
		return decode_sop1(s, in);
	case 0x17e:
		return decode_sopc(s, in);
	case 0x17f:
		return decode_sopp(s, in);
	default:
		return s->w >> 28 == 0xb ? decode_sopk(s, in) : decode_sop2(s, in);
	}
}

static int decode_smem(struct source *s, struct gfx9_inst *in)
{
	int err = use_entry(s, &ops_smem[s->target][bits(s->w, 18, 8)], in);

	if (err)
		return err;
	in->format = GFX9_SMEM;
	in->imm = bits(s->w, 17, 1);
	in->glc = bits(s->w, 16, 1);
	in->soffset_en = bits(s->w, 14, 1);
	in->dst = (uint16_t)bits(s->w, 6, 7);
	in->src[0] = (uint16_t)(bits(s->w, 0, 6) << 1);
	if (in->soffset_en)
		in->src[1] = (uint16_t)bits(s->x, 25, 7);
	else if (!in->imm)
		in->src[1] = (uint16_t)bits(s->x, 0, 7);
	in->offset = in->imm ? sign_extend(s->x, 21) : 0;
	return 0;
}

/*
 * Vector ALU
 */

static void decode_sdwa(uint32_t x, struct gfx9_inst *in)
{
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

/* Seven of the eight selections are valid, and three of the four ways to treat unused bits. */
static int check_sdwa(const struct gfx9_inst *in)
{
	if (in->dst_sel == 7 || in->src_sel[0] == 7 || in->src_sel[1] == 7)
		return -EILSEQ;
	return in->dst_unused == 3 ? -EILSEQ : 0;
}

static void decode_dpp(uint32_t x, struct gfx9_inst *in)
{
	in->src[0] = vgpr(bits(x, 0, 8));
	in->dpp_ctrl = (uint16_t)bits(x, 8, 9);
	in->bound_ctrl = bits(x, 19, 1);
	in->neg = (uint8_t)(bits(x, 20, 1) | bits(x, 22, 1) << 1);
	in->abs = (uint8_t)(bits(x, 21, 1) | bits(x, 23, 1) << 1);
	in->bank_mask = (uint8_t)bits(x, 24, 4);
	in->row_mask = (uint8_t)bits(x, 28, 4);
}

/* An operand of two dwords makes it a 64-bit operation, which supports only one DPP control. */
static int check_dpp(const struct gfx9_inst *in)
{
	const struct gfx9_encoding *e = &gfx9_encodings[in->encoding];
	uint16_t ctrl = in->dpp_ctrl;

	for (unsigned int i = 0; i < e->nr; i++)
		if (e->operand[i].dwords == 2 && e->operand[i].kind == K_VGPR)
			return ctrl >> 4 == 0x15 ? 0 : -EILSEQ;
	switch (ctrl >> 4) {
	case 0x10:
	case 0x11:
	case 0x12:
		return ctrl & 15 ? 0 : -EILSEQ;
	case 0x13:
		return ctrl & 3 ? -EILSEQ : 0;
	case 0x14:
		return (ctrl & 15) < 4 ? 0 : -EILSEQ;
	default:
		return ctrl < 0x100 || ctrl >> 4 == 0x15 ? 0 : -EILSEQ;
	}
}

/* v_madmk and similar ones carry a constant; carries and v_cndmask read VCC. */
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

/* A VOP1, VOP2 or VOPC opcode in its plain, SDWA and DPP encodings. */
struct vop {
	const struct entry *plain;
	uint16_t sdwa, dpp;
};

static struct vop find_vop(const struct source *s, struct gfx9_inst *in)
{
	static const struct entry none;
	uint32_t op;

	switch (s->w >> 25) {
	case 0x3f:
		in->format = GFX9_VOP1;
		op = bits(s->w, 9, 8);
		if (op >= 128)
			return (struct vop){ &none, 0, 0 };
		return (struct vop){ &ops_vop1[s->target][op], ops_vop1_sdwa[s->target][op],
				     ops_vop1_dpp[s->target][op] };
	case 0x3e:
		in->format = GFX9_VOPC;
		op = bits(s->w, 17, 8);
		return (struct vop){ &ops_vopc[s->target][op], ops_vopc_sdwa[s->target][op], 0 };
	default:
		in->format = GFX9_VOP2;
		op = s->w >> 25;
		return (struct vop){ &ops_vop2[s->target][op], ops_vop2_sdwa[s->target][op],
				     ops_vop2_dpp[s->target][op] };
	}
}

static void vop_fields(const struct source *s, struct gfx9_inst *in)
{
	in->src[0] = (uint16_t)bits(s->w, 0, 9);
	in->sdst = GFX9_VCC;
	if (in->format != GFX9_VOPC)
		in->dst = vgpr(bits(s->w, 17, 8));
	if (in->format != GFX9_VOP1)
		in->src[1] = vgpr(bits(s->w, 9, 8));
	if (in->format == GFX9_VOP2 && reads_vcc(in->op))
		in->src[2] = GFX9_VCC;
	/* The only vector instruction here that writes a scalar register. */
	if (in->op == GFX9_V_READFIRSTLANE_B32)
		in->dst = (uint16_t)bits(s->w, 17, 8);
}

static int decode_vop_extra(struct source *s, const struct vop *vop, struct gfx9_inst *in)
{
	const uint32_t *x = more(s, in);
	bool sdwa = bits(s->w, 0, 9) == SRC_SDWA;
	int err;

	if (!x)
		return -ENODATA;
	s->x = *x;
	in->op = vop->plain->op;
	in->extra = sdwa ? GFX9_SDWA : GFX9_DPP;
	err = use_encoding(s, sdwa ? vop->sdwa : vop->dpp, in);
	if (err)
		return err;
	vop_fields(s, in);
	if (sdwa) {
		decode_sdwa(s->x, in);
		return check_sdwa(in);
	}
	decode_dpp(s->x, in);
	return check_dpp(in);
}

static int decode_vop12c(struct source *s, struct gfx9_inst *in)
{
	struct vop vop = find_vop(s, in);
	uint32_t src0 = bits(s->w, 0, 9);
	int err;

	if (src0 == SRC_SDWA || src0 == SRC_DPP)
		return decode_vop_extra(s, &vop, in);
	s->x = 0;
	err = use_entry(s, vop.plain, in);
	if (err)
		return err;
	vop_fields(s, in);
	return in->src[0] == GFX9_LITERAL || has_constant(in->op) ? take_literal(s, in) : 0;
}

/* VOP3 with a scalar destination in addition to the vector one. */
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

static void decode_vop3_sources(const struct source *s, struct gfx9_inst *in)
{
	in->src[0] = (uint16_t)bits(s->x, 0, 9);
	in->src[1] = (uint16_t)bits(s->x, 9, 9);
	in->src[2] = (uint16_t)bits(s->x, 18, 9);
	in->neg = (uint8_t)bits(s->x, 29, 3);
	in->clamp = bits(s->w, 15, 1);
}

static int decode_vop3(struct source *s, struct gfx9_inst *in)
{
	uint32_t op = bits(s->w, 16, 10);
	int err = op < 0x380 ? use_entry(s, &ops_vop3[s->target][op], in) : -EILSEQ;

	if (err)
		return err;
	in->format = GFX9_VOP3;
	in->e64 = op < 0x1c0;
	in->dst = vgpr(bits(s->w, 0, 8));
	in->omod = (uint8_t)bits(s->x, 27, 2);
	decode_vop3_sources(s, in);
	if (is_vop3b(in->op)) {
		in->sdst = (uint16_t)bits(s->w, 8, 7);
		return 0;
	}
	in->abs = (uint8_t)bits(s->w, 8, 3);
	in->op_sel = (uint8_t)bits(s->w, 11, 4);
	if (op < 0x100)
		in->sdst = (uint16_t)bits(s->w, 0, 8);
	if (in->op == GFX9_V_READLANE_B32 || in->op == GFX9_V_READFIRSTLANE_B32)
		in->dst = (uint16_t)bits(s->w, 0, 8);
	return 0;
}

static bool is_mai(uint32_t op)
{
	return op >= 0x3e;
}

static uint16_t acc_src(uint32_t code, bool acc)
{
	return (uint16_t)(acc && code >= GFX9_VGPR ? code - GFX9_VGPR + GFX9_AGPR : code);
}

/* The third source of a sparse MFMA is an index, which must be in plain registers. */
static bool is_sparse(const struct gfx9_inst *in)
{
	const struct gfx9_encoding *e = &gfx9_encodings[in->encoding];

	return e->nr == 4 && e->operand[3].kind == K_VGPR;
}

static void decode_mai(const struct source *s, struct gfx9_inst *in)
{
	bool acc_cd = bits(s->w, 15, 1);

	in->dst = data_reg(bits(s->w, 0, 8), acc_cd);
	in->cbsz = (uint8_t)bits(s->w, 8, 3);
	in->abid = (uint8_t)bits(s->w, 11, 4);
	in->blgp = (uint8_t)bits(s->x, 29, 3);
	in->src[0] = acc_src(bits(s->x, 0, 9), bits(s->x, 27, 1));
	in->src[1] = acc_src(bits(s->x, 9, 9), bits(s->x, 28, 1));
	in->src[2] = acc_src(bits(s->x, 18, 9), acc_cd && !is_sparse(in));
}

static int decode_vop3p(struct source *s, struct gfx9_inst *in)
{
	uint32_t op = bits(s->w, 16, 7);
	int err = use_entry(s, &ops_vop3p[s->target][op], in);

	if (err)
		return err;
	in->format = GFX9_VOP3P;
	if (is_mai(op)) {
		decode_mai(s, in);
		return 0;
	}
	in->dst = vgpr(bits(s->w, 0, 8));
	in->op_sel = (uint8_t)bits(s->w, 11, 3);
	in->op_sel_hi = (uint8_t)(bits(s->x, 27, 2) | bits(s->w, 14, 1) << 2);
	in->abs = (uint8_t)bits(s->w, 8, 3);
	decode_vop3_sources(s, in);
	return 0;
}

/*
 * Vector memory
 */

/* Instructions whose data field is where others have the address. */
static bool is_gws_with_data(uint16_t op)
{
	return op == GFX9_DS_GWS_INIT || op == GFX9_DS_GWS_SEMA_BR || op == GFX9_DS_GWS_BARRIER;
}

static int decode_ds(struct source *s, struct gfx9_inst *in)
{
	int err = use_entry(s, &ops_ds[s->target][bits(s->w, 17, 8)], in);
	bool acc = bits(s->w, 25, 1);

	if (err)
		return err;
	in->format = GFX9_DS;
	in->gds = bits(s->w, 16, 1);
	in->offset = (int32_t)bits(s->w, 0, 8);
	in->offset1 = (uint8_t)bits(s->w, 8, 8);
	in->src[0] = data_reg(bits(s->x, 0, 8), acc && is_gws_with_data(in->op));
	in->src[1] = data_reg(bits(s->x, 8, 8), acc);
	in->src[2] = data_reg(bits(s->x, 16, 8), acc);
	in->dst = data_reg(bits(s->x, 24, 8), acc);
	return 0;
}

static const struct entry *find_flat(const struct source *s, struct gfx9_inst *in)
{
	uint32_t op = bits(s->w, 18, 7);

	switch (bits(s->w, 14, 2)) {
	case 0:
		in->format = GFX9_FLAT;
		in->offset = (int32_t)bits(s->w, 0, 12);
		return &ops_flat[s->target][op];
	case 1:
		in->format = GFX9_SCRATCH;
		in->offset = sign_extend(s->w, 13);
		return &ops_scratch[s->target][op];
	case 2:
		in->format = GFX9_GLOBAL;
		in->offset = sign_extend(s->w, 13);
		return &ops_global[s->target][op];
	default:
		return NULL;
	}
}

static int decode_flat(struct source *s, struct gfx9_inst *in)
{
	const struct entry *entry = find_flat(s, in);
	int err = entry ? use_entry(s, entry, in) : -EILSEQ;
	bool acc;

	if (err)
		return err;
	acc = bits(s->x, 23, 1);
	in->slc = bits(s->w, 17, 1);
	in->glc = bits(s->w, 16, 1);
	in->scc = bits(s->w, 25, 1);
	if (s->target == GFX9_TARGET_GFX942 && in->format == GFX9_SCRATCH)
		in->sve = bits(s->w, 13, 1);
	else
		in->lds = bits(s->w, 13, 1);
	/* On gfx90a the vector address is used if there is no scalar one. */
	if (s->target == GFX9_TARGET_GFX90A && in->format == GFX9_SCRATCH)
		in->sve = bits(s->x, 16, 7) == GFX9_OFF;
	in->src[0] = vgpr(bits(s->x, 0, 8));
	in->src[1] = data_reg(bits(s->x, 8, 8), acc);
	in->sdst = in->format == GFX9_FLAT ? GFX9_OFF : (uint16_t)bits(s->x, 16, 7);
	in->dst = data_reg(bits(s->x, 24, 8), acc);
	return in->lds && acc ? -EILSEQ : 0;
}

static int decode_mubuf(struct source *s, struct gfx9_inst *in)
{
	int err = use_entry(s, &ops_mubuf[s->target][bits(s->w, 18, 7)], in);

	if (err)
		return err;
	in->format = GFX9_MUBUF;
	in->offset = (int32_t)bits(s->w, 0, 12);
	in->offen = bits(s->w, 12, 1);
	in->idxen = bits(s->w, 13, 1);
	in->glc = bits(s->w, 14, 1);
	in->scc = bits(s->w, 15, 1);
	in->lds = bits(s->w, 16, 1);
	in->slc = bits(s->w, 17, 1);
	in->src[0] = vgpr(bits(s->x, 0, 8));
	in->src[1] = data_reg(bits(s->x, 8, 8), bits(s->x, 23, 1));
	in->src[2] = (uint16_t)bits(s->x, 24, 8);
	in->sdst = (uint16_t)(bits(s->x, 16, 5) << 2);
	in->dst = in->src[1];
	if (in->op == GFX9_BUFFER_STORE_LDS_DWORD)
		return 0;
	return in->lds && bits(s->x, 23, 1) ? -EILSEQ : 0;
}

static int decode_mtbuf(struct source *s, struct gfx9_inst *in)
{
	int err = use_entry(s, &ops_mtbuf[s->target][bits(s->w, 15, 4)], in);

	if (err)
		return err;
	in->format = GFX9_MTBUF;
	in->offset = (int32_t)bits(s->w, 0, 12);
	in->offen = bits(s->w, 12, 1);
	in->idxen = bits(s->w, 13, 1);
	in->glc = bits(s->w, 14, 1);
	in->dfmt = (uint8_t)bits(s->w, 19, 4);
	in->nfmt = (uint8_t)bits(s->w, 23, 3);
	in->src[0] = vgpr(bits(s->x, 0, 8));
	in->src[1] = data_reg(bits(s->x, 8, 8), bits(s->x, 23, 1));
	in->src[2] = (uint16_t)bits(s->x, 24, 8);
	in->sdst = (uint16_t)(bits(s->x, 16, 5) << 2);
	in->scc = bits(s->x, 21, 1);
	in->slc = bits(s->x, 22, 1);
	in->dst = in->src[1];
	return 0;
}

static int decode_two_dwords(struct source *s, struct gfx9_inst *in)
{
	in->dwords = 2;
	switch (s->w >> 26) {
	case 0x30:
		return decode_smem(s, in);
	case 0x34:
		return s->w >> 23 == 0x1a7 ? decode_vop3p(s, in) : decode_vop3(s, in);
	case 0x36:
		return decode_ds(s, in);
	case 0x37:
		return decode_flat(s, in);
	case 0x38:
		return decode_mubuf(s, in);
	case 0x3a:
		return decode_mtbuf(s, in);
	default:
		return -EILSEQ;
	}
}

/*
 * Operands
 */

static bool is_pair(unsigned int code)
{
	return code == GFX9_FLAT_SCRATCH || code == GFX9_XNACK_MASK || code == GFX9_VCC;
}

/*
 * The first register of a scalar tuple: pairs are even; larger ones begin at a multiple of 4, and
 * the hardware clears the lower bits. Negative: not such registers.
 */
static int sgpr_tuple(unsigned int code, unsigned int dwords)
{
	unsigned int first = code & ~(dwords > 2 ? 3u : dwords - 1), last = first + dwords - 1;

	if (code >= 128 || code == 125)
		return -EILSEQ;
	if (dwords == 1)
		return (int)code;
	if (dwords == 2 && (is_pair(code) || code == GFX9_EXEC))
		return (int)code;
	if (code < GFX9_FLAT_SCRATCH)
		return last < GFX9_FLAT_SCRATCH + (dwords > 2 ? 2 : 0) ? (int)first : -EILSEQ;
	if (code < GFX9_TTMP0 || last >= GFX9_M0)
		return -EILSEQ;
	return (int)first;
}

static bool is_inline(unsigned int code)
{
	return (code >= GFX9_SRC_0 && code <= 208) || (code >= GFX9_SRC_HALF && code <= 248);
}

static bool is_constant(const struct gfx9_inst *in, unsigned int code)
{
	if (code == GFX9_LITERAL)
		return in->dwords > 1 && in->format != GFX9_VOP3 && in->format != GFX9_VOP3P &&
		       in->format != GFX9_MUBUF && in->format != GFX9_MTBUF && !in->extra;
	if (code >= GFX9_SHARED_BASE && code <= GFX9_PRIVATE_LIMIT)
		return true;
	if (code >= GFX9_VCCZ && code <= GFX9_SCC)
		return true;
	return is_inline(code);
}

static int vgpr_tuple(unsigned int code, unsigned int dwords)
{
	return code >= GFX9_VGPR && (code & 255) + dwords <= 256 ? (int)code : -EILSEQ;
}

/* The operand's code for execution; negative if the operand cannot have it. */
static int check_code(const struct gfx9_inst *in, const struct gfx9_operand *o, unsigned int code)
{
	switch (o->kind) {
	case K_VGPR:
		return vgpr_tuple(code, o->dwords);
	case K_AGPR:
		code = vgpr_tuple(code, o->dwords) < 0 ? 0 : GFX9_AGPR + (code & 255);
		return code ? (int)code : -EILSEQ;
	case K_RETURN:
		return in->glc ? vgpr_tuple(code, o->dwords) : (int)code;
	case K_SGPR:
		return sgpr_tuple(code, o->dwords);
	case K_SGPR_NO_EXEC:
		return code < GFX9_M0 ? sgpr_tuple(code, o->dwords) : -EILSEQ;
	case K_VSRC:
	case K_SRC:
		if (code >= GFX9_VGPR)
			return vgpr_tuple(code, o->dwords);
		break;
	default:
		break;
	}
	if (o->kind == K_VSRC)
		return is_inline(code) ? (int)code : -EILSEQ;
	if (code >= 128)
		return is_constant(in, code) ? (int)code : -EILSEQ;
	return sgpr_tuple(code, o->dwords);
}

static uint16_t *operand_code(struct gfx9_inst *in, unsigned int field)
{
	switch (field) {
	case F_DST:
		return &in->dst;
	case F_SDST:
	case F_SRSRC:
		return &in->sdst;
	case F_SRC0:
		return &in->src[0];
	case F_SRC1:
		return &in->src[1];
	case F_SRC2:
		return &in->src[2];
	default:
		return NULL;
	}
}

/* GLOBAL takes a 64-bit base and a 32-bit offset, or a 64-bit address; SCRATCH only offsets. */
static int check_saddr(struct gfx9_inst *in)
{
	int code;

	if (in->sdst == GFX9_OFF)
		return in->format == GFX9_GLOBAL ? vgpr_tuple(in->src[0], 2) : 0;
	code = sgpr_tuple(in->sdst, in->format == GFX9_GLOBAL ? 2 : 1);
	if (code < 0)
		return code;
	in->sdst = (uint16_t)code;
	return 0;
}

static int check_address(struct gfx9_inst *in)
{
	switch (in->format) {
	case GFX9_FLAT:
		return vgpr_tuple(in->src[0], 2) < 0 ? -EILSEQ : 0;
	case GFX9_MUBUF:
	case GFX9_MTBUF:
		return in->offen && in->idxen ? vgpr_tuple(in->src[0], 2) : 0;
	default:
		return check_saddr(in);
	}
}

/* Loads into LDS have no destination register. */
static bool is_unused(const struct gfx9_inst *in, const struct gfx9_operand *o)
{
	return in->lds && o->field == F_DST;
}

static int check_operand(struct gfx9_inst *in, const struct gfx9_operand *o)
{
	uint16_t *code = operand_code(in, o->field);
	int ret;

	switch (o->kind) {
	case K_ADDR:
		ret = check_address(in);
		return ret < 0 ? ret : 0;
	case K_OFFSET:
		return in->soffset_en || !in->imm ? sgpr_tuple(in->src[1], 1) : 0;
	case K_SADDR:
	case K_K:
	case K_NUMBER:
	case K_HEX:
	case K_BRANCH:
	case K_HWREG:
	case K_SENDMSG:
	case K_WAITCNT:
	case K_GPR_IDX:
		return 0;
	default:
		if (is_unused(in, o))
			return 0;
		ret = check_code(in, o, *code);
		if (ret >= 0)
			*code = (uint16_t)ret;
		return ret;
	}
}

static int check_operands(struct gfx9_inst *in)
{
	const struct gfx9_encoding *e = &gfx9_encodings[in->encoding];

	for (unsigned int i = 0; i < e->nr; i++)
		if (check_operand(in, &e->operand[i]) < 0)
			return -EILSEQ;
	return 0;
}

static int decode(struct source *s, struct gfx9_inst *in)
{
	in->dwords = 1;
	if (!(s->w >> 31))
		return decode_vop12c(s, in);
	if (s->w >> 30 != 2)
		return s->n < 2 ? -ENODATA : decode_two_dwords(s, in);
	s->x = 0;
	return decode_salu(s, in);
}

int gfx9_decode(enum gfx9_target target, const uint32_t *words, size_t n, struct gfx9_inst *in)
{
	struct source s = { .target = target, .words = words, .n = n };
	int err;

	if (!n)
		return -ENODATA;
	s.w = words[0];
	s.x = n > 1 ? words[1] : 0;
	memset(in, 0, sizeof(*in));
	err = decode(&s, in);
	if (!err)
		err = check_operands(in);
	return err ? err : in->dwords;
}
