// SPDX-License-Identifier: MIT
#include "emu/gfx9/format.h"

#include <stdarg.h>
#include <stdio.h>

#include "emu/gfx9/encoding.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct text {
	enum gfx9_target target;
	const struct gfx9_inst *in;
	const struct gfx9_encoding *e;
	char *buf;
	size_t n, length;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...)
{
	size_t left = t->length < t->n ? t->n - t->length : 0;
	va_list args;
	int ret;

	va_start(args, format);
	ret = vsnprintf(left ? t->buf + t->length : NULL, left, format, args);
	va_end(args);
	if (ret > 0)
		t->length += (size_t)ret;
}

/*
 * Operands
 */

static const char *const special_names[256] = {
	[GFX9_FLAT_SCRATCH] = "flat_scratch_lo",
	[GFX9_FLAT_SCRATCH + 1] = "flat_scratch_hi",
	[GFX9_XNACK_MASK] = "xnack_mask_lo",
	[GFX9_XNACK_MASK + 1] = "xnack_mask_hi",
	[GFX9_VCC] = "vcc_lo",
	[GFX9_VCC + 1] = "vcc_hi",
	[GFX9_M0] = "m0",
	[GFX9_EXEC] = "exec_lo",
	[GFX9_EXEC + 1] = "exec_hi",
	[GFX9_SHARED_BASE] = "src_shared_base",
	[GFX9_SHARED_LIMIT] = "src_shared_limit",
	[GFX9_PRIVATE_BASE] = "src_private_base",
	[GFX9_PRIVATE_LIMIT] = "src_private_limit",
	[GFX9_VCCZ] = "src_vccz",
	[GFX9_EXECZ] = "src_execz",
	[GFX9_SCC] = "src_scc",
};

static const char *pair_name(unsigned int code)
{
	switch (code) {
	case GFX9_FLAT_SCRATCH:
		return "flat_scratch";
	case GFX9_XNACK_MASK:
		return "xnack_mask";
	case GFX9_VCC:
		return "vcc";
	case GFX9_EXEC:
		return "exec";
	default:
		return NULL;
	}
}

static void put_tuple(struct text *t, const char *file, unsigned int n, unsigned int dwords)
{
	if (dwords > 1)
		put(t, "%s[%u:%u]", file, n, n + dwords - 1);
	else
		put(t, "%s%u", file, n);
}

static void put_register(struct text *t, unsigned int code, unsigned int dwords)
{
	if (code >= GFX9_AGPR)
		put_tuple(t, "a", code - GFX9_AGPR, dwords);
	else if (code >= GFX9_VGPR)
		put_tuple(t, "v", code - GFX9_VGPR, dwords);
	else if (dwords == 2 && pair_name(code))
		put(t, "%s", pair_name(code));
	else if (special_names[code] && (dwords == 1 || code > 127))
		put(t, "%s", special_names[code]);
	else if (code >= GFX9_TTMP0 && code < GFX9_M0)
		put_tuple(t, "ttmp", code - GFX9_TTMP0, dwords);
	else
		put_tuple(t, "s", code, dwords);
}

static const struct {
	const char *text;
	uint32_t f16, f32, f64; /* f64: the upper half, if the lower one is 0 */
} floats[] = {
	{ "0.5", 0x3800, 0x3f000000, 0x3fe00000 }, { "-0.5", 0xb800, 0xbf000000, 0xbfe00000 },
	{ "1.0", 0x3c00, 0x3f800000, 0x3ff00000 }, { "-1.0", 0xbc00, 0xbf800000, 0xbff00000 },
	{ "2.0", 0x4000, 0x40000000, 0x40000000 }, { "-2.0", 0xc000, 0xc0000000, 0xc0000000 },
	{ "4.0", 0x4400, 0x40800000, 0x40100000 }, { "-4.0", 0xc400, 0xc0800000, 0xc0100000 },
	{ "0.15915494", 0x3118, 0x3e22f983, 0 },
};

static void put_float(struct text *t, unsigned int code, unsigned int type)
{
	unsigned int i = code - GFX9_SRC_HALF;

	if (type == T_I16)
		put(t, "0x%x", floats[i].f16);
	else
		put(t, "%s%s", floats[i].text,
		    (type == T_B64 || type == T_F64) && code == 248 ? "309189532" : "");
}

static uint32_t float_bits(size_t i, unsigned int type)
{
	if (type == T_F64)
		return floats[i].f64;
	return type == T_F16 || type == T_V2F16 ? floats[i].f16 : floats[i].f32;
}

/* The value if it is between -16 and 64 in the operand's type; of an F64 only 0. */
static bool is_small(uint32_t value, unsigned int type, int *number)
{
	*number = type == T_F16 ? (int16_t)value : (int32_t)value;
	if (type == T_F64)
		return !value;
	return *number >= (type == T_B64 ? 0 : -16) && *number <= 64;
}

/* A literal is written as the inline constant that it could have been. */
static void put_literal(struct text *t, uint32_t value, unsigned int type)
{
	uint32_t low = type == T_F16 || type == T_I16 ? value & 0xffff : value;
	int number;

	if (is_small(value, type, &number)) {
		put(t, "%d", number);
		return;
	}
	for (size_t i = 0; type != T_B64 && i < ARRAY_SIZE(floats); i++) {
		if (float_bits(i, type) == (type == T_F16 ? low : value)) {
			put(t, "%s", floats[i].text);
			return;
		}
	}
	put(t, "0x%x", low);
}

static void put_code(struct text *t, unsigned int code, unsigned int dwords, unsigned int type)
{
	if (code == GFX9_LITERAL)
		put_literal(t, t->in->literal, type);
	else if (code >= GFX9_SRC_0 && code <= 192)
		put(t, "%u", code - GFX9_SRC_0);
	else if (code > 192 && code <= 208)
		put(t, "-%u", code - 192);
	else if (code >= GFX9_SRC_HALF && code <= 248)
		put_float(t, code, type);
	else
		put_register(t, code, dwords);
}

static bool is_number(unsigned int code)
{
	return (code >= GFX9_SRC_0 && code <= 208) || (code >= GFX9_SRC_HALF && code <= 248);
}

/* A source with its sign: |v0|, -v0, -|v0|, neg(1), sext(v0). */
static void put_source(struct text *t, const struct gfx9_operand *o, unsigned int code)
{
	unsigned int i = o->field - F_SRC0;
	bool lists = t->e->flags & ENC_PACKED;
	bool abs = !lists && t->in->abs >> i & 1, neg = !lists && t->in->neg >> i & 1;
	bool sext = t->in->sext >> i & 1, word = neg && !abs && is_number(code);

	put(t, "%s%s%s", neg ? word ? "neg(" : "-" : "", abs ? "|" : "", sext ? "sext(" : "");
	put_code(t, code, o->dwords, o->type);
	put(t, "%s%s%s", sext ? ")" : "", abs ? "|" : "", word ? ")" : "");
}

/*
 * Immediates
 */

static const char *hwreg_name(enum gfx9_target target, unsigned int id)
{
	static const char *const names[] = {
		[1] = "MODE",
		[2] = "STATUS",
		[3] = "TRAPSTS",
		[4] = "HW_ID",
		[5] = "GPR_ALLOC",
		[6] = "LDS_ALLOC",
		[7] = "IB_STS",
		[15] = "SH_MEM_BASES",
		[16] = "TBA_LO",
		[17] = "TBA_HI",
		[18] = "TMA_LO",
		[19] = "TMA_HI",
		[20] = "XCC_ID",
		[21] = "SQ_PERF_SNAPSHOT_DATA",
		[22] = "SQ_PERF_SNAPSHOT_DATA1",
		[23] = "SQ_PERF_SNAPSHOT_PC_LO",
		[24] = "SQ_PERF_SNAPSHOT_PC_HI",
	};

	if (id >= ARRAY_SIZE(names) || (id >= 20 && target != GFX9_TARGET_GFX942))
		return NULL;
	return names[id];
}

static void put_hwreg(struct text *t, uint32_t imm)
{
	unsigned int id = imm & 63, first = imm >> 6 & 31, width = (imm >> 11) + 1;
	const char *name = hwreg_name(t->target, id);

	if (name)
		put(t, "hwreg(HW_REG_%s", name);
	else
		put(t, "hwreg(%u", id);
	if (first || width != 32)
		put(t, ", %u, %u", first, width);
	put(t, ")");
}

static const char *message_op(unsigned int id, unsigned int op)
{
	static const char *const gs[] = { "GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT",
					  "GS_OP_EMIT_CUT" };
	static const char *const sys[] = { NULL, "SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD",
					   NULL, "SYSMSG_OP_TTRACE_PC" };

	if (id == 15)
		return op < ARRAY_SIZE(sys) ? sys[op] : NULL;
	return op < ARRAY_SIZE(gs) && (op || id == 3) ? gs[op] : NULL;
}

static void put_sendmsg(struct text *t, uint32_t imm)
{
	static const char *const names[16] = {
		NULL,		"INTERRUPT",	   "GS",
		"GS_DONE",	"SAVEWAVE",	   "STALL_WAVE_GEN",
		"HALT_WAVES",	"ORDERED_PS_DONE", "EARLY_PRIM_DEALLOC",
		"GS_ALLOC_REQ", "GET_DOORBELL",	   [15] = "SYSMSG"
	};
	unsigned int id = imm & 15, op = imm >> 4 & 7, stream = imm >> 8 & 3;
	bool has_op = id == 2 || id == 3 || id == 15, has_stream = (id == 2 || id == 3) && op;

	if (!names[id] || (has_op ? !message_op(id, op) : op) || (stream && !has_stream)) {
		put(t, imm & ~0x37fu ? "%u" : "sendmsg(%u, %u, %u)", imm & ~0x37fu ? imm : id, op,
		    stream);
		return;
	}
	put(t, "sendmsg(MSG_%s", names[id]);
	if (has_op)
		put(t, ", %s", message_op(id, op));
	if (has_stream)
		put(t, ", %u", stream);
	put(t, ")");
}

static void put_waitcnt(struct text *t, uint32_t imm)
{
	unsigned int vm = (imm & 15) | (imm >> 14 & 3) << 4, exp = imm >> 4 & 7,
		     lgkm = imm >> 8 & 15;
	bool all = vm == 63 && exp == 7 && lgkm == 15;
	const char *space = "";

	if (vm != 63 || all) {
		put(t, "vmcnt(%u)", vm);
		space = " ";
	}
	if (exp != 7 || all) {
		put(t, "%sexpcnt(%u)", space, exp);
		space = " ";
	}
	if (lgkm != 15 || all)
		put(t, "%slgkmcnt(%u)", space, lgkm);
}

static void put_gpr_idx(struct text *t, uint32_t imm)
{
	static const char *const names[] = { "SRC0", "SRC1", "SRC2", "DST" };
	const char *comma = "";

	if (imm > 15) {
		put(t, "0x%x", imm);
		return;
	}
	put(t, "gpr_idx(");
	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		if (!(imm >> i & 1))
			continue;
		put(t, "%s%s", comma, names[i]);
		comma = ",";
	}
	put(t, ")");
}

static void put_immediate(struct text *t, unsigned int kind, uint32_t imm)
{
	switch (kind) {
	case K_HEX:
		put(t, "0x%x", imm);
		break;
	case K_HWREG:
		put_hwreg(t, imm);
		break;
	case K_SENDMSG:
		put_sendmsg(t, imm);
		break;
	case K_WAITCNT:
		put_waitcnt(t, imm);
		break;
	case K_GPR_IDX:
		put_gpr_idx(t, imm);
		break;
	case K_BRANCH:
		put(t, "%u", imm);
		break;
	default:
		put(t, imm > 64 ? "0x%x" : "%u", imm);
	}
}

/*
 * Addresses
 */

static void put_scalar_offset(struct text *t)
{
	const struct gfx9_inst *in = t->in;
	bool reg = in->soffset_en || !in->imm;
	uint32_t size = (uint32_t)(in->offset < 0 ? -in->offset : in->offset);

	if (reg)
		put_register(t, in->src[1], 1);
	if (!in->imm)
		return;
	put(t, "%s%s0x%x", reg ? " offset:" : "", in->offset < 0 ? "-" : "", size);
}

static unsigned int address_dwords(const struct gfx9_inst *in)
{
	switch (in->format) {
	case GFX9_MUBUF:
	case GFX9_MTBUF:
		return (unsigned int)in->offen + in->idxen;
	case GFX9_SCRATCH:
		return in->sve;
	case GFX9_GLOBAL:
		return in->sdst == GFX9_OFF ? 2 : 1;
	default:
		return 2;
	}
}

static void put_address(struct text *t)
{
	const struct gfx9_inst *in = t->in;
	unsigned int dwords = address_dwords(in);

	if (dwords)
		put_register(t, in->src[0], dwords);
	else
		put(t, "off");
}

static void put_saddr(struct text *t)
{
	if (t->in->sdst == GFX9_OFF)
		put(t, "off");
	else
		put_register(t, t->in->sdst, t->in->format == GFX9_GLOBAL ? 2 : 1);
}

static void put_operand(struct text *t, const struct gfx9_operand *o)
{
	const struct gfx9_inst *in = t->in;

	switch (o->field) {
	case F_DST:
		if (o->kind == K_NUMBER)
			put_immediate(t, K_NUMBER, in->dst);
		else
			put_register(t, in->dst, o->dwords);
		break;
	case F_SDST:
	case F_SRSRC:
		put_register(t, in->sdst, o->dwords);
		break;
	case F_K:
		if (in->format == GFX9_SOPK)
			put_literal(t, in->literal, T_B32);
		else
			put(t, "0x%x", in->literal);
		break;
	case F_IMM:
		put_immediate(t, o->kind, (uint32_t)in->offset & 0xffff);
		break;
	case F_OFFSET:
		put_scalar_offset(t);
		break;
	case F_ADDR:
		put_address(t);
		break;
	case F_SADDR:
		put_saddr(t);
		break;
	default:
		put_source(t, o, in->src[o->field - F_SRC0]);
	}
}

/* Operands that this form of the instruction is written without. */
static bool is_hidden(const struct gfx9_inst *in, const struct gfx9_operand *o)
{
	if (o->kind == K_RETURN)
		return !in->glc;
	if (o->kind == K_BRANCH && in->op == GFX9_S_ENDPGM)
		return !in->offset;
	return in->lds && o->field == F_DST;
}

static void put_operands(struct text *t)
{
	const char *separator = " ";

	for (unsigned int i = 0; i < t->e->nr; i++) {
		const struct gfx9_operand *o = &t->e->operand[i];

		if (is_hidden(t->in, o))
			continue;
		put(t, "%s", separator);
		if (o->field == F_SRC1 && o->kind == K_GPR_IDX)
			put_gpr_idx(t, t->in->src[1]);
		else
			put_operand(t, o);
		separator = ", ";
	}
}

/*
 * Modifiers
 */

static void put_list(struct text *t, const char *name, unsigned int value, unsigned int nr)
{
	put(t, " %s:[", name);
	for (unsigned int i = 0; i < nr; i++)
		put(t, "%s%u", i ? "," : "", value >> i & 1);
	put(t, "]");
}

static void put_output_modifiers(struct text *t)
{
	static const char *const names[] = { "", " mul:2", " mul:4", " div:2" };

	put(t, "%s%s", t->in->clamp ? " clamp" : "", names[t->in->omod & 3]);
}

static void put_vop3p_modifiers(struct text *t)
{
	const struct gfx9_inst *in = t->in;
	bool packed = t->e->flags & ENC_PACKED;
	unsigned int nr = t->e->op_sel, all = (1u << nr) - 1;

	if (in->op_sel)
		put_list(t, "op_sel", in->op_sel, nr);
	if (nr && (in->op_sel_hi & all) != (packed ? all : 0))
		put_list(t, "op_sel_hi", in->op_sel_hi, nr);
	if (packed && in->neg)
		put_list(t, "neg_lo", in->neg, nr);
	if (packed && in->abs)
		put_list(t, "neg_hi", in->abs, nr);
	if (in->cbsz)
		put(t, " cbsz:%u", in->cbsz);
	if (in->abid)
		put(t, " abid:%u", in->abid);
	if (in->blgp && t->e->flags & ENC_NEG_LIST)
		put_list(t, "neg", in->blgp, 3);
	else if (in->blgp)
		put(t, " blgp:%u", in->blgp);
	put_output_modifiers(t);
}

static void put_vop3_modifiers(struct text *t)
{
	unsigned int nr = t->e->op_sel, sel = t->in->op_sel;

	/* Bit 3 is for the destination, which comes behind the sources. */
	if (nr == 3)
		sel = (sel & 3) | sel >> 3 << 2;
	if (nr && sel)
		put_list(t, "op_sel", sel, nr);
	put_output_modifiers(t);
}

static void put_sdwa_modifiers(struct text *t)
{
	static const char *const selections[8] = { "BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
						   "WORD_0", "WORD_1", "DWORD",	 "?" };
	static const char *const unused[4] = { "PAD", "SEXT", "PRESERVE", "?" };
	const struct gfx9_inst *in = t->in;

	put_output_modifiers(t);
	if (in->format != GFX9_VOPC)
		put(t, " dst_sel:%s dst_unused:UNUSED_%s", selections[in->dst_sel & 7],
		    unused[in->dst_unused & 3]);
	put(t, " src0_sel:%s", selections[in->src_sel[0] & 7]);
	if (in->format != GFX9_VOP1)
		put(t, " src1_sel:%s", selections[in->src_sel[1] & 7]);
}

static void put_dpp_control(struct text *t, unsigned int ctrl)
{
	static const char *const rows[] = { "row_shl", "row_shr", "row_ror" };
	static const char *const waves[] = { "wave_shl", "wave_rol", "wave_shr", "wave_ror" };
	static const char *const others[] = { "row_mirror", "row_half_mirror", "row_bcast:15",
					      "row_bcast:31" };

	if (ctrl < 0x100)
		put(t, " quad_perm:[%u,%u,%u,%u]", ctrl & 3, ctrl >> 2 & 3, ctrl >> 4 & 3,
		    ctrl >> 6);
	else if (ctrl < 0x130)
		put(t, " %s:%u", rows[(ctrl >> 4) - 0x10], ctrl & 15);
	else if (ctrl < 0x140)
		put(t, " %s:1", waves[ctrl >> 2 & 3]);
	else if (ctrl < 0x150)
		put(t, " %s", others[ctrl & 3]);
	else
		put(t, " row_newbcast:%u", ctrl & 15);
}

static void put_dpp_modifiers(struct text *t)
{
	put_dpp_control(t, t->in->dpp_ctrl);
	put(t, " row_mask:0x%x bank_mask:0x%x%s", t->in->row_mask, t->in->bank_mask,
	    t->in->bound_ctrl ? " bound_ctrl:1" : "");
}

static bool is_power_of_two(unsigned int n)
{
	return n && !(n & (n - 1));
}

static void put_bitmask_swizzle(struct text *t, unsigned int and, unsigned int or, unsigned int xor)
{
	put(t, "BITMASK_PERM,\"");
	for (int i = 4; i >= 0; i--) {
		unsigned int zero = ((or) ^ (xor)) >> i & 1;
		unsigned int one = (((and) | (or)) ^ (xor)) >> i & 1;

		put(t, "%c", zero == one ? (zero ? '1' : '0') : (zero ? 'i' : 'p'));
	}
	put(t, "\"");
}

static void put_swizzle(struct text *t, unsigned int imm)
{
	unsigned int and = imm & 31, or = imm >> 5 & 31, xor = imm >> 10 & 31, group = 32 - and;

	if ((imm & 0x8000) && (imm & 0xff00) != 0x8000) {
		put(t, " offset:%u", imm);
		return;
	}
	put(t, " offset:swizzle(");
	if (imm & 0x8000)
		put(t, "QUAD_PERM,%u,%u,%u,%u", imm & 3, imm >> 2 & 3, imm >> 4 & 3, imm >> 6 & 3);
	else if (and == 31 && ! or &&is_power_of_two(xor))
		put(t, "SWAP,%u", xor);
	else if (and == 31 && ! or &&xor&&is_power_of_two(xor+1))
		put(t, "REVERSE,%u", xor+1);
	else if (group > 1 && is_power_of_two(group) && or < group && !xor)
		put(t, "BROADCAST,%u,%u", group, or);
	else
		put_bitmask_swizzle(t, and, or, xor);
	put(t, ")");
}

static void put_ds_modifiers(struct text *t)
{
	const struct gfx9_inst *in = t->in;
	unsigned int offset = (unsigned int)in->offset | (unsigned int)in->offset1 << 8;

	if (t->e->flags & ENC_TWO_OFFSETS) {
		if (in->offset)
			put(t, " offset0:%d", in->offset);
		if (in->offset1)
			put(t, " offset1:%u", in->offset1);
	} else if (offset && in->op == GFX9_DS_SWIZZLE_B32) {
		put_swizzle(t, offset);
	} else if (offset) {
		put(t, " offset:%u", offset);
	}
	if (in->gds)
		put(t, " gds");
}

static void put_cache_modifiers(struct text *t)
{
	bool new_names = t->target == GFX9_TARGET_GFX942;

	if (t->in->glc)
		put(t, new_names ? " sc0" : " glc");
	if (t->in->slc)
		put(t, new_names ? " nt" : " slc");
	if (t->in->scc)
		put(t, new_names ? " sc1" : " scc");
}

/* The default is UNORM of 8 bits. */
static void put_data_format(struct text *t)
{
	static const char *const data[16] = {
		"INVALID",     "8",	   "16",	  "8_8",	"32",	   "16_16",
		"10_11_11",    "11_11_10", "10_10_10_2",  "2_10_10_10", "8_8_8_8", "32_32",
		"16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15"
	};
	static const char *const num[8] = { "UNORM", "SNORM", "USCALED",    "SSCALED",
					    "UINT",  "SINT",  "RESERVED_6", "FLOAT" };
	unsigned int dfmt = t->in->dfmt & 15, nfmt = t->in->nfmt & 7;

	if (dfmt == 1 && !nfmt)
		return;
	put(t, " format:[");
	if (dfmt != 1)
		put(t, "BUF_DATA_FORMAT_%s%s", data[dfmt], nfmt ? "," : "");
	if (nfmt)
		put(t, "BUF_NUM_FORMAT_%s", num[nfmt]);
	put(t, "]");
}

static void put_memory_modifiers(struct text *t)
{
	const struct gfx9_inst *in = t->in;

	put(t, "%s%s", in->idxen ? " idxen" : "", in->offen ? " offen" : "");
	if (in->offset)
		put(t, " offset:%d", in->offset);
	put(t, "%s", in->op == GFX9_BUFFER_STORE_LDS_DWORD ? " lds" : "");
	put_cache_modifiers(t);
	if (in->lds && in->op != GFX9_BUFFER_STORE_LDS_DWORD)
		put(t, " lds");
}

static void put_modifiers(struct text *t)
{
	switch (t->in->format) {
	case GFX9_SMEM:
		if (t->in->glc)
			put(t, " glc");
		break;
	case GFX9_VOP1:
	case GFX9_VOP2:
	case GFX9_VOPC:
		if (t->in->extra == GFX9_SDWA)
			put_sdwa_modifiers(t);
		else if (t->in->extra == GFX9_DPP)
			put_dpp_modifiers(t);
		break;
	case GFX9_VOP3:
		put_vop3_modifiers(t);
		break;
	case GFX9_VOP3P:
		put_vop3p_modifiers(t);
		break;
	case GFX9_DS:
		put_ds_modifiers(t);
		break;
	case GFX9_FLAT:
	case GFX9_GLOBAL:
	case GFX9_SCRATCH:
	case GFX9_MUBUF:
		put_memory_modifiers(t);
		break;
	case GFX9_MTBUF:
		put_data_format(t);
		put_memory_modifiers(t);
		break;
	default:
		break;
	}
}

static const char *suffix(const struct gfx9_inst *in)
{
	if (in->extra)
		return in->extra == GFX9_SDWA ? "_sdwa" : "_dpp";
	return in->format == GFX9_VOP3 ? "_e64" : "_e32";
}

size_t gfx9_format_inst(enum gfx9_target target, const struct gfx9_inst *in, char *buf, size_t n)
{
	struct text t = { .target = target, .in = in, .buf = buf, .n = n };

	t.e = &gfx9_encodings[in->encoding];
	put(&t, "%s%s", gfx9_op_name(in->op), t.e->flags & ENC_SUFFIX ? suffix(in) : "");
	put_operands(&t);
	put_modifiers(&t);
	return t.length;
}
