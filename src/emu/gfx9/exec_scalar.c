// SPDX-License-Identifier: MIT
/*
 * The scalar half of the instruction set: SOP1, SOP2, SOPK, SOPC and SOPP, with a small function
 * for each opcode; and the table of all scalar instructions, scalar memory included.
 */
#include "emu/gfx9/exec_hwreg.h"
#include "emu/gfx9/exec_smem.h"
#include "emu/gfx9/operand.h"

#define PC_BITS 0xfffffffffffcull /* 48 bits, in dwords */
#define PHYSICAL (GFX9_SREGS) /* scalar registers of a wave as s_movrel counts them */
#define M0_INDEX 0xffu
#define M0_INDEX_MODE 0xf000u
#define M0_INDEX_MODE_SHIFT 12
#define USER_PRIO_SHIFT 3

typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t i64;

static inline u32 get_u32(const struct gfx9_wave *w, const struct gfx9_inst *in, unsigned int code)
{
	return gfx9_operand(w, in, code);
}

static inline u64 get_u64(const struct gfx9_wave *w, const struct gfx9_inst *in, unsigned int code)
{
	return gfx9_operand64(w, in, code);
}

/* A literal of a signed 64-bit operand is sign-extended, that of any other is not. */
static inline i64 get_i64(const struct gfx9_wave *w, const struct gfx9_inst *in, unsigned int code)
{
	return code == GFX9_LITERAL ? (int32_t)in->literal : (i64)gfx9_operand64(w, in, code);
}

static inline void put_u32(struct gfx9_wave *w, const struct gfx9_inst *in, u32 value)
{
	gfx9_sreg_set(w, in->dst, value);
}

static inline void put_u64(struct gfx9_wave *w, const struct gfx9_inst *in, u64 value)
{
	gfx9_sreg_set64(w, in->dst, value);
}

#define RUN(name) static enum gfx9_stop name(struct gfx9_wave *w, const struct gfx9_inst *in)

/*
 * Most operands are plain: registers other than the trap temporaries, and small integers. They are
 * read without a call, so that an operation on them needs no stack. The same operation with any
 * other operand is another function, which is called last.
 */
/* clang-format off */
static const uint8_t is_plain[256] = {
	[0 ... GFX9_TTMP0 - 1] = 1,
	[GFX9_TTMP0 + GFX9_TTMPS ... GFX9_SREGS - 1] = 1,
	[GFX9_SRC_0 ... GFX9_SRC_0 + 80] = 1,
};
/* clang-format on */

static inline bool plain(const struct gfx9_inst *in)
{
	return __builtin_expect(is_plain[(uint8_t)in->src[0]] & is_plain[(uint8_t)in->src[1]] &
					is_plain[(uint8_t)in->dst],
				1);
}

static inline i64 plain_integer(unsigned int code)
{
	return code <= GFX9_SRC_0 + 64 ? (i64)code - GFX9_SRC_0 : GFX9_SRC_0 + 64 - (i64)code;
}

static inline u32 plain_u32(const struct gfx9_wave *w, unsigned int code)
{
	return code < GFX9_SREGS ? w->s[code] : (u32)plain_integer(code);
}

static inline u64 plain_u64(const struct gfx9_wave *w, unsigned int code)
{
	return code < GFX9_SREGS ? gfx9_get64(w, code & ~1u) : (u64)plain_integer(code);
}

static inline i64 plain_i64(const struct gfx9_wave *w, unsigned int code)
{
	return (i64)plain_u64(w, code);
}

static inline void plain_put_u32(struct gfx9_wave *w, const struct gfx9_inst *in, u32 value)
{
	w->s[in->dst] = value;
}

static inline void plain_put_u64(struct gfx9_wave *w, const struct gfx9_inst *in, u64 value)
{
	gfx9_set64(w, in->dst & ~1u, value);
}

#define ANY(name) __attribute__((noinline)) RUN(name##_any)

/* d of a and b; a statement about w->scc may follow. */
#define OP2(name, D, A, B, ...)                   \
	ANY(name)                                 \
	{                                         \
		A a = get_##A(w, in, in->src[0]); \
		B b = get_##B(w, in, in->src[1]); \
		D d;                              \
                                                  \
		__VA_ARGS__;                      \
		put_##D(w, in, d);                \
		return GFX9_GO;                   \
	}                                         \
	RUN(name)                                 \
	{                                         \
		A a;                              \
		B b;                              \
		D d;                              \
                                                  \
		if (!plain(in))                   \
			return name##_any(w, in); \
		a = plain_##A(w, in->src[0]);     \
		b = plain_##B(w, in->src[1]);     \
		__VA_ARGS__;                      \
		plain_put_##D(w, in, d);          \
		return GFX9_GO;                   \
	}

#define OP1(name, D, A, ...) OP2(name, D, A, u32, (void)b; __VA_ARGS__)

/* SCC is set if the result is not 0. */
#define OP2_NZ(name, D, A, B, expr) OP2(name, D, A, B, d = (expr); w->scc = d != 0)
#define OP1_NZ(name, D, A, expr) OP1(name, D, A, d = (expr); w->scc = d != 0)

#define COMPARE(name, A, B, expr)                 \
	ANY(name)                                 \
	{                                         \
		A a = get_##A(w, in, in->src[0]); \
		B b = get_##B(w, in, in->src[1]); \
                                                  \
		w->scc = (expr);                  \
		return GFX9_GO;                   \
	}                                         \
	RUN(name)                                 \
	{                                         \
		A a;                              \
		B b;                              \
                                                  \
		if (!plain(in))                   \
			return name##_any(w, in); \
		a = plain_##A(w, in->src[0]);     \
		b = plain_##B(w, in->src[1]);     \
		w->scc = (expr);                  \
		return GFX9_GO;                   \
	}

/* SOPK: the register in dst with a constant, signed or unsigned. */
#define COMPARE_K(name, A, K, expr)             \
	RUN(name)                               \
	{                                       \
		A a = (A)gfx9_sreg(w, in->dst); \
		K b = (K)in->offset;            \
                                                \
		w->scc = (expr);                \
		return GFX9_GO;                 \
	}

/* EXEC is computed from a and EXEC; dst gets its old or its new value. */
#define EXEC_OP(name, saved, expr)                     \
	RUN(name)                                      \
	{                                              \
		u64 a = get_u64(w, in, in->src[0]);    \
		u64 old = gfx9_exec(w), exec = (expr); \
                                                       \
		put_u64(w, in, saved);                 \
		gfx9_set64(w, GFX9_EXEC, exec);        \
		w->scc = exec != 0;                    \
		return GFX9_GO;                        \
	}

#define BRANCH(name, condition)                              \
	RUN(name)                                            \
	{                                                    \
		if (condition)                               \
			w->pc += (u64)((i64)in->offset * 4); \
		return GFX9_GO;                              \
	}

/*
 * Arithmetic
 */

static inline u32 add_signed(u32 a, u32 b, bool *overflow)
{
	int32_t sum;

	*overflow = __builtin_add_overflow((int32_t)a, (int32_t)b, &sum);
	return (u32)sum;
}

static inline u32 sub_signed(u32 a, u32 b, bool *overflow)
{
	int32_t difference;

	*overflow = __builtin_sub_overflow((int32_t)a, (int32_t)b, &difference);
	return (u32)difference;
}

static inline u32 add_carry(u64 a, u64 b, bool *carry)
{
	u64 sum = a + b;

	*carry = sum >> 32;
	return (u32)sum;
}

static inline u32 abs32(u32 a)
{
	return a >> 31 ? -a : a;
}

/* clang-format off */
OP2(s_add_u32, u32, u32, u32, d = add_carry(a, b, &w->scc))
OP2(s_sub_u32, u32, u32, u32, d = a - b; w->scc = a < b)
OP2(s_add_i32, u32, u32, u32, d = add_signed(a, b, &w->scc))
OP2(s_sub_i32, u32, u32, u32, d = sub_signed(a, b, &w->scc))
OP2(s_addc_u32, u32, u32, u32, d = add_carry(a, (u64)b + w->scc, &w->scc))
OP2(s_subb_u32, u32, u32, u32, u64 sub = (u64)b + w->scc; d = a - (u32)sub; w->scc = a < sub)
OP2(s_min_i32, u32, u32, u32, w->scc = (int32_t)a < (int32_t)b; d = w->scc ? a : b)
OP2(s_min_u32, u32, u32, u32, w->scc = a < b; d = w->scc ? a : b)
OP2(s_max_i32, u32, u32, u32, w->scc = (int32_t)a > (int32_t)b; d = w->scc ? a : b)
OP2(s_max_u32, u32, u32, u32, w->scc = a > b; d = w->scc ? a : b)
OP2(s_mul_i32, u32, u32, u32, d = a * b)
OP2(s_mul_hi_u32, u32, u32, u32, d = (u32)((u64)a * b >> 32))
OP2(s_mul_hi_i32, u32, u32, u32, d = (u32)((i64)(int32_t)a * (int32_t)b >> 32))
OP2(s_lshl1_add_u32, u32, u32, u32, d = add_carry((u64)a << 1, b, &w->scc))
OP2(s_lshl2_add_u32, u32, u32, u32, d = add_carry((u64)a << 2, b, &w->scc))
OP2(s_lshl3_add_u32, u32, u32, u32, d = add_carry((u64)a << 3, b, &w->scc))
OP2(s_lshl4_add_u32, u32, u32, u32, d = add_carry((u64)a << 4, b, &w->scc))
OP2_NZ(s_absdiff_i32, u32, u32, u32, abs32(a - b))
OP1_NZ(s_abs_i32, u32, u32, abs32(a))
OP1(s_sext_i32_i8, u32, u32, d = (u32)(int8_t)a)
OP1(s_sext_i32_i16, u32, u32, d = (u32)(int16_t)a)
/* clang-format on */

RUN(s_addk_i32)
{
	put_u32(w, in, add_signed(gfx9_sreg(w, in->dst), (u32)in->offset, &w->scc));
	return GFX9_GO;
}

RUN(s_mulk_i32)
{
	put_u32(w, in, gfx9_sreg(w, in->dst) * (u32)in->offset);
	return GFX9_GO;
}

/*
 * Moves
 */

/* clang-format off */
OP1(s_mov_b32, u32, u32, d = a)
OP1(s_mov_b64, u64, u64, d = a)
OP2(s_cselect_b32, u32, u32, u32, d = w->scc ? a : b)
OP2(s_cselect_b64, u64, u64, u64, d = w->scc ? a : b)
OP2(s_pack_ll_b32_b16, u32, u32, u32, d = b << 16 | (a & 0xffff))
OP2(s_pack_lh_b32_b16, u32, u32, u32, d = (b & 0xffff0000) | (a & 0xffff))
OP2(s_pack_hh_b32_b16, u32, u32, u32, d = (b & 0xffff0000) | a >> 16)
/* clang-format on */

RUN(s_cmov_b32)
{
	return w->scc ? s_mov_b32(w, in) : GFX9_GO;
}

RUN(s_cmov_b64)
{
	return w->scc ? s_mov_b64(w, in) : GFX9_GO;
}

RUN(s_movk_i32)
{
	put_u32(w, in, (u32)in->offset);
	return GFX9_GO;
}

RUN(s_cmovk_i32)
{
	return w->scc ? s_movk_i32(w, in) : GFX9_GO;
}

/*
 * s_movrel counts physical registers: up to VCC they are where their operand codes say, those
 * beyond have no code. NULL: no such register.
 */
static u32 *physical(struct gfx9_wave *w, u32 n)
{
	if (n < GFX9_TTMP0)
		return &w->s[n];
	return n < PHYSICAL ? &w->s_rest[n - GFX9_TTMP0] : NULL;
}

/* A source out of range is s0, a write out of range is dropped. */
static u32 *relative_source(struct gfx9_wave *w, u32 n)
{
	u32 *reg = physical(w, n);

	return reg ? reg : &w->s[0];
}

RUN(s_movrels_b32)
{
	put_u32(w, in, *relative_source(w, in->src[0] + w->s[GFX9_M0]));
	return GFX9_GO;
}

RUN(s_movrels_b64)
{
	const u32 *pair = relative_source(w, (in->src[0] + w->s[GFX9_M0]) & ~1u);

	put_u64(w, in, pair[0] | (u64)pair[1] << 32);
	return GFX9_GO;
}

RUN(s_movreld_b32)
{
	u32 *reg = physical(w, in->dst + w->s[GFX9_M0]);

	if (reg)
		*reg = get_u32(w, in, in->src[0]);
	return GFX9_GO;
}

RUN(s_movreld_b64)
{
	u32 *pair = physical(w, (in->dst + w->s[GFX9_M0]) & ~1u);
	u64 a = get_u64(w, in, in->src[0]);

	if (pair) {
		pair[0] = (u32)a;
		pair[1] = (u32)(a >> 32);
	}
	return GFX9_GO;
}

/*
 * Bits
 */

static inline u64 low_bits(unsigned int n)
{
	return n < 64 ? ((u64)1 << n) - 1 : ~(u64)0;
}

/* Fields of s_bfe: the offset is as wide as the operand needs, the width always 7 bits. */
static inline unsigned int field_width(u32 field)
{
	return field >> 16 & 0x7f;
}

static inline i64 sign_extend(i64 a, unsigned int width)
{
	if (!width)
		return 0;
	return width < 64 ? (i64)((u64)a << (64 - width)) >> (64 - width) : a;
}

static inline u64 reverse(u64 a)
{
	a = (a & 0x5555555555555555) << 1 | (a >> 1 & 0x5555555555555555);
	a = (a & 0x3333333333333333) << 2 | (a >> 2 & 0x3333333333333333);
	a = (a & 0x0f0f0f0f0f0f0f0f) << 4 | (a >> 4 & 0x0f0f0f0f0f0f0f0f);
	return __builtin_bswap64(a);
}

/* Bit 0 of every group of four: whether any of the four is set. */
static inline u64 quads(u64 a)
{
	a |= a >> 2;
	a |= a >> 1;
	return a & 0x1111111111111111;
}

static inline u64 quad_mask(u64 a)
{
	a = quads(a);
	a = (a | a >> 3) & 0x0303030303030303;
	a = (a | a >> 6) & 0x000f000f000f000f;
	a = (a | a >> 12) & 0x000000ff000000ff;
	return (a | a >> 24) & 0xffff;
}

static inline u64 replicate(u64 a)
{
	a = (a | a << 16) & 0x0000ffff0000ffff;
	a = (a | a << 8) & 0x00ff00ff00ff00ff;
	a = (a | a << 4) & 0x0f0f0f0f0f0f0f0f;
	a = (a | a << 2) & 0x3333333333333333;
	a = (a | a << 1) & 0x5555555555555555;
	return a * 3;
}

static inline u32 first_one(u64 a)
{
	return a ? (u32)__builtin_ctzll(a) : UINT32_MAX;
}

static inline u32 last_one(u64 a, unsigned int width)
{
	return a ? (u32)__builtin_clzll(a) - (64 - width) : UINT32_MAX;
}

static inline u32 last_unlike_sign(i64 a, unsigned int width)
{
	return last_one((u64)(a < 0 ? ~a : a), width);
}

/* clang-format off */
OP2_NZ(s_and_b32, u32, u32, u32, a & b)
OP2_NZ(s_and_b64, u64, u64, u64, a & b)
OP2_NZ(s_or_b32, u32, u32, u32, a | b)
OP2_NZ(s_or_b64, u64, u64, u64, a | b)
OP2_NZ(s_xor_b32, u32, u32, u32, a ^ b)
OP2_NZ(s_xor_b64, u64, u64, u64, a ^ b)
OP2_NZ(s_andn2_b32, u32, u32, u32, a & ~b)
OP2_NZ(s_andn2_b64, u64, u64, u64, a & ~b)
OP2_NZ(s_orn2_b32, u32, u32, u32, a | ~b)
OP2_NZ(s_orn2_b64, u64, u64, u64, a | ~b)
OP2_NZ(s_nand_b32, u32, u32, u32, ~(a & b))
OP2_NZ(s_nand_b64, u64, u64, u64, ~(a & b))
OP2_NZ(s_nor_b32, u32, u32, u32, ~(a | b))
OP2_NZ(s_nor_b64, u64, u64, u64, ~(a | b))
OP2_NZ(s_xnor_b32, u32, u32, u32, ~(a ^ b))
OP2_NZ(s_xnor_b64, u64, u64, u64, ~(a ^ b))
OP1_NZ(s_not_b32, u32, u32, ~a)
OP1_NZ(s_not_b64, u64, u64, ~a)
OP2_NZ(s_lshl_b32, u32, u32, u32, a << (b & 31))
OP2_NZ(s_lshl_b64, u64, u64, u32, a << (b & 63))
OP2_NZ(s_lshr_b32, u32, u32, u32, a >> (b & 31))
OP2_NZ(s_lshr_b64, u64, u64, u32, a >> (b & 63))
OP2_NZ(s_ashr_i32, u32, u32, u32, (u32)((int32_t)a >> (b & 31)))
OP2_NZ(s_ashr_i64, u64, i64, u32, (u64)(a >> (b & 63)))
OP2(s_bfm_b32, u32, u32, u32, d = (u32)low_bits(a & 31) << (b & 31))
OP2(s_bfm_b64, u64, u32, u32, d = low_bits(a & 63) << (b & 63))
OP2_NZ(s_bfe_u32, u32, u32, u32, a >> (b & 31) & (u32)low_bits(field_width(b)))
OP2_NZ(s_bfe_i32, u32, u32, u32, (u32)sign_extend((int32_t)a >> (b & 31), field_width(b)))
OP2_NZ(s_bfe_u64, u64, u64, u32, a >> (b & 63) & low_bits(field_width(b)))
OP2_NZ(s_bfe_i64, u64, i64, u32, (u64)sign_extend(a >> (b & 63), field_width(b)))
OP1_NZ(s_wqm_b32, u32, u32, (u32)(quads(a) * 15))
OP1_NZ(s_wqm_b64, u64, u64, quads(a) * 15)
OP1_NZ(s_quadmask_b32, u32, u32, (u32)quad_mask(a))
OP1_NZ(s_quadmask_b64, u64, u64, quad_mask(a))
OP1(s_brev_b32, u32, u32, d = (u32)(reverse(a) >> 32))
OP1(s_brev_b64, u64, u64, d = reverse(a))
OP1_NZ(s_bcnt0_i32_b32, u32, u32, (u32)__builtin_popcount(~a))
OP1_NZ(s_bcnt0_i32_b64, u32, u64, (u32)__builtin_popcountll(~a))
OP1_NZ(s_bcnt1_i32_b32, u32, u32, (u32)__builtin_popcount(a))
OP1_NZ(s_bcnt1_i32_b64, u32, u64, (u32)__builtin_popcountll(a))
OP1(s_ff0_i32_b32, u32, u32, d = first_one((u32)~a))
OP1(s_ff0_i32_b64, u32, u64, d = first_one(~a))
OP1(s_ff1_i32_b32, u32, u32, d = first_one(a))
OP1(s_ff1_i32_b64, u32, u64, d = first_one(a))
OP1(s_flbit_i32_b32, u32, u32, d = last_one(a, 32))
OP1(s_flbit_i32_b64, u32, u64, d = last_one(a, 64))
OP1(s_flbit_i32, u32, u32, d = last_unlike_sign((int32_t)a, 32))
OP1(s_flbit_i32_i64, u32, i64, d = last_unlike_sign(a, 64))
OP1(s_bitreplicate_b64_b32, u64, u32, d = replicate(a))
OP1(s_bitset0_b32, u32, u32, d = gfx9_sreg(w, in->dst) & ~(1u << (a & 31)))
OP1(s_bitset0_b64, u64, u32, d = gfx9_sreg64(w, in->dst) & ~((u64)1 << (a & 63)))
OP1(s_bitset1_b32, u32, u32, d = gfx9_sreg(w, in->dst) | 1u << (a & 31))
OP1(s_bitset1_b64, u64, u32, d = gfx9_sreg64(w, in->dst) | (u64)1 << (a & 63))

EXEC_OP(s_and_saveexec_b64, old, a & old)
EXEC_OP(s_or_saveexec_b64, old, a | old)
EXEC_OP(s_xor_saveexec_b64, old, a ^ old)
EXEC_OP(s_andn2_saveexec_b64, old, a & ~old)
EXEC_OP(s_orn2_saveexec_b64, old, a | ~old)
EXEC_OP(s_nand_saveexec_b64, old, ~(a & old))
EXEC_OP(s_nor_saveexec_b64, old, ~(a | old))
EXEC_OP(s_xnor_saveexec_b64, old, ~(a ^ old))
EXEC_OP(s_andn1_saveexec_b64, old, ~a & old)
EXEC_OP(s_orn1_saveexec_b64, old, ~a | old)
EXEC_OP(s_andn1_wrexec_b64, exec, ~a & old)
EXEC_OP(s_andn2_wrexec_b64, exec, a & ~old)

/*
 * Comparisons
 */

COMPARE(s_cmp_eq_i32, u32, u32, a == b)
COMPARE(s_cmp_lg_i32, u32, u32, a != b)
COMPARE(s_cmp_gt_i32, u32, u32, (int32_t)a > (int32_t)b)
COMPARE(s_cmp_ge_i32, u32, u32, (int32_t)a >= (int32_t)b)
COMPARE(s_cmp_lt_i32, u32, u32, (int32_t)a < (int32_t)b)
COMPARE(s_cmp_le_i32, u32, u32, (int32_t)a <= (int32_t)b)
COMPARE(s_cmp_gt_u32, u32, u32, a > b)
COMPARE(s_cmp_ge_u32, u32, u32, a >= b)
COMPARE(s_cmp_lt_u32, u32, u32, a < b)
COMPARE(s_cmp_le_u32, u32, u32, a <= b)
COMPARE(s_cmp_eq_u64, u64, u64, a == b)
COMPARE(s_cmp_lg_u64, u64, u64, a != b)
COMPARE(s_bitcmp0_b32, u32, u32, !(a >> (b & 31) & 1))
COMPARE(s_bitcmp1_b32, u32, u32, a >> (b & 31) & 1)
COMPARE(s_bitcmp0_b64, u64, u32, !(a >> (b & 63) & 1))
COMPARE(s_bitcmp1_b64, u64, u32, a >> (b & 63) & 1)

COMPARE_K(s_cmpk_eq_i32, int32_t, int16_t, a == b)
COMPARE_K(s_cmpk_lg_i32, int32_t, int16_t, a != b)
COMPARE_K(s_cmpk_gt_i32, int32_t, int16_t, a > b)
COMPARE_K(s_cmpk_ge_i32, int32_t, int16_t, a >= b)
COMPARE_K(s_cmpk_lt_i32, int32_t, int16_t, a < b)
COMPARE_K(s_cmpk_le_i32, int32_t, int16_t, a <= b)
COMPARE_K(s_cmpk_eq_u32, u32, uint16_t, a == b)
COMPARE_K(s_cmpk_lg_u32, u32, uint16_t, a != b)
COMPARE_K(s_cmpk_gt_u32, u32, uint16_t, a > b)
COMPARE_K(s_cmpk_ge_u32, u32, uint16_t, a >= b)
COMPARE_K(s_cmpk_lt_u32, u32, uint16_t, a < b)
COMPARE_K(s_cmpk_le_u32, u32, uint16_t, a <= b)

/*
 * Control
 */

BRANCH(s_branch, true)
BRANCH(s_cbranch_scc0, !w->scc)
BRANCH(s_cbranch_scc1, w->scc)
BRANCH(s_cbranch_vccz, !gfx9_get64(w, GFX9_VCC))
BRANCH(s_cbranch_vccnz, gfx9_get64(w, GFX9_VCC))
BRANCH(s_cbranch_execz, !gfx9_exec(w))
BRANCH(s_cbranch_execnz, gfx9_exec(w))
BRANCH(s_cbranch_cdbgsys, w->status & GFX9_STATUS_COND_DBG_SYS)
BRANCH(s_cbranch_cdbguser, w->status & GFX9_STATUS_COND_DBG_USER)
BRANCH(s_cbranch_cdbgsys_or_user,
       w->status & (GFX9_STATUS_COND_DBG_SYS | GFX9_STATUS_COND_DBG_USER))
BRANCH(s_cbranch_cdbgsys_and_user,
       (w->status & GFX9_STATUS_COND_DBG_SYS) && (w->status & GFX9_STATUS_COND_DBG_USER))
/* clang-format on */

RUN(s_getpc_b64)
{
	put_u64(w, in, w->pc);
	return GFX9_GO;
}

RUN(s_setpc_b64)
{
	w->pc = get_u64(w, in, in->src[0]) & PC_BITS;
	return GFX9_GO;
}

RUN(s_swappc_b64)
{
	u64 to = get_u64(w, in, in->src[0]) & PC_BITS;

	put_u64(w, in, w->pc);
	w->pc = to;
	return GFX9_GO;
}

RUN(s_call_b64)
{
	put_u64(w, in, w->pc);
	return s_branch(w, in);
}

/*
 * Also s_rfe_restore_b64, whose second operand would set STATUS.INST_ATC: there is one way to
 * translate addresses here. A halt requested in the handler begins when it is left.
 */
RUN(s_rfe_b64)
{
	if (!(w->status & GFX9_STATUS_PRIV))
		return GFX9_ILLEGAL;
	w->pc = get_u64(w, in, in->src[0]) & PC_BITS;
	w->status &= ~GFX9_STATUS_PRIV;
	/* A pending save is taken before the next instruction. */
	if (w->save_pending)
		return GFX9_SLEEP;
	if (w->status & GFX9_STATUS_HALT)
		return GFX9_HALT;
	/* Single steps start at the beginning of a turn. */
	return w->mode & GFX9_MODE_DEBUG_EN ? GFX9_SLEEP : GFX9_GO;
}

RUN(s_endpgm)
{
	(void)w, (void)in;
	return GFX9_ENDPGM;
}

RUN(s_endpgm_saved)
{
	(void)w, (void)in;
	return GFX9_ENDPGM_SAVED;
}

RUN(s_setkill)
{
	(void)w;
	return in->offset & 1 ? GFX9_ENDPGM : GFX9_GO;
}

RUN(s_barrier)
{
	(void)w, (void)in;
	return GFX9_BARRIER;
}

RUN(s_sleep)
{
	(void)w;
	return in->offset & 0x7f ? GFX9_SLEEP : GFX9_GO;
}

RUN(s_trap)
{
	w->trap_id = (uint8_t)in->offset;
	return GFX9_TRAP;
}

RUN(s_sendmsg)
{
	w->message = in->offset & 0x3ff;
	return GFX9_MESSAGE;
}

RUN(s_sendmsghalt)
{
	w->status |= GFX9_STATUS_HALT;
	return s_sendmsg(w, in);
}

RUN(s_sethalt)
{
	if (!(in->offset & 1)) {
		w->status &= ~GFX9_STATUS_HALT;
		return GFX9_GO;
	}
	w->status |= GFX9_STATUS_HALT;
	return w->status & GFX9_STATUS_PRIV ? GFX9_GO : GFX9_HALT;
}

RUN(s_setprio)
{
	w->status = (w->status & ~(3u << USER_PRIO_SHIFT)) | (u32)(in->offset & 3)
								     << USER_PRIO_SHIFT;
	return GFX9_GO;
}

RUN(s_icache_inv)
{
	(void)in;
	w->icache_stale = true;
	return GFX9_SLEEP;
}

/*
 * Memory is accessed at once and caches are not modelled, so there is nothing to wait for. But
 * after a GPU has waited for a store, all others see it, while a processor may still keep it in its
 * store buffer and execute a load: two waves that each store and then load could miss each other's
 * store. Only a full fence prevents that, so there is one after stores. Without a store before it,
 * the fence is for hosts that reorder loads (arm64).
 */
RUN(in_order)
{
	(void)in;
	if (w->stored) {
		w->stored = false;
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	} else {
		__atomic_thread_fence(__ATOMIC_ACQ_REL);
	}
	return GFX9_GO;
}

/* Hints, counters, and support for tools: nothing to do. */
RUN(nothing)
{
	(void)w, (void)in;
	return GFX9_GO;
}

/*
 * Vector registers by index: MODE enables it, M0 selects the operands and the offset.
 */

static void set_index(struct gfx9_wave *w, u32 index)
{
	w->s[GFX9_M0] = (w->s[GFX9_M0] & ~M0_INDEX) | (index & M0_INDEX);
}

static void set_index_mode(struct gfx9_wave *w, u32 mode)
{
	w->s[GFX9_M0] =
		(w->s[GFX9_M0] & ~M0_INDEX_MODE) | (mode << M0_INDEX_MODE_SHIFT & M0_INDEX_MODE);
}

/* The second operand is not an operand: its code is the mode. */
RUN(s_set_gpr_idx_on)
{
	u32 index = get_u32(w, in, in->src[0]);

	w->mode |= GFX9_MODE_GPR_IDX;
	set_index(w, index);
	set_index_mode(w, in->src[1]);
	return GFX9_GO;
}

RUN(s_set_gpr_idx_off)
{
	(void)in;
	w->mode &= ~GFX9_MODE_GPR_IDX;
	return GFX9_GO;
}

RUN(s_set_gpr_idx_mode)
{
	set_index_mode(w, (u32)in->offset);
	return GFX9_GO;
}

RUN(s_set_gpr_idx_idx)
{
	set_index(w, get_u32(w, in, in->src[0]));
	return GFX9_GO;
}

/*
 * Not executed, and so refused as unknown instructions: s_cbranch_g_fork, s_cbranch_i_fork and
 * s_cbranch_join (the branch stack, which no compiler uses); s_setvskip (every vector instruction
 * would have to check it first); s_endpgm_ordered_ps_done (pixel shaders only).
 */
#define SMEM(OP, op) [GFX9_##OP] = gfx9_##op,

gfx9_run_fn *const gfx9_scalar_ops[GFX9_OPS] = {
	GFX9_SMEM_OPS(SMEM)[GFX9_S_ABS_I32] = s_abs_i32,
	[GFX9_DS_GWS_BARRIER] = gfx9_ds_gws_barrier,
	[GFX9_DS_GWS_INIT] = gfx9_ds_gws_init,
	[GFX9_DS_GWS_SEMA_BR] = gfx9_ds_gws_sema_br,
	[GFX9_DS_GWS_SEMA_P] = gfx9_ds_gws_sema_p,
	[GFX9_DS_GWS_SEMA_RELEASE_ALL] = gfx9_ds_gws_sema_release_all,
	[GFX9_DS_GWS_SEMA_V] = gfx9_ds_gws_sema_v,
	[GFX9_S_ABSDIFF_I32] = s_absdiff_i32,
	[GFX9_S_ADD_I32] = s_add_i32,
	[GFX9_S_ADD_U32] = s_add_u32,
	[GFX9_S_ADDC_U32] = s_addc_u32,
	[GFX9_S_ADDK_I32] = s_addk_i32,
	[GFX9_S_AND_B32] = s_and_b32,
	[GFX9_S_AND_B64] = s_and_b64,
	[GFX9_S_AND_SAVEEXEC_B64] = s_and_saveexec_b64,
	[GFX9_S_ANDN1_SAVEEXEC_B64] = s_andn1_saveexec_b64,
	[GFX9_S_ANDN1_WREXEC_B64] = s_andn1_wrexec_b64,
	[GFX9_S_ANDN2_B32] = s_andn2_b32,
	[GFX9_S_ANDN2_B64] = s_andn2_b64,
	[GFX9_S_ANDN2_SAVEEXEC_B64] = s_andn2_saveexec_b64,
	[GFX9_S_ANDN2_WREXEC_B64] = s_andn2_wrexec_b64,
	[GFX9_S_ASHR_I32] = s_ashr_i32,
	[GFX9_S_ASHR_I64] = s_ashr_i64,
	[GFX9_S_ATC_PROBE] = nothing,
	[GFX9_S_ATC_PROBE_BUFFER] = nothing,
	[GFX9_S_BARRIER] = s_barrier,
	[GFX9_S_BCNT0_I32_B32] = s_bcnt0_i32_b32,
	[GFX9_S_BCNT0_I32_B64] = s_bcnt0_i32_b64,
	[GFX9_S_BCNT1_I32_B32] = s_bcnt1_i32_b32,
	[GFX9_S_BCNT1_I32_B64] = s_bcnt1_i32_b64,
	[GFX9_S_BFE_I32] = s_bfe_i32,
	[GFX9_S_BFE_I64] = s_bfe_i64,
	[GFX9_S_BFE_U32] = s_bfe_u32,
	[GFX9_S_BFE_U64] = s_bfe_u64,
	[GFX9_S_BFM_B32] = s_bfm_b32,
	[GFX9_S_BFM_B64] = s_bfm_b64,
	[GFX9_S_BITCMP0_B32] = s_bitcmp0_b32,
	[GFX9_S_BITCMP0_B64] = s_bitcmp0_b64,
	[GFX9_S_BITCMP1_B32] = s_bitcmp1_b32,
	[GFX9_S_BITCMP1_B64] = s_bitcmp1_b64,
	[GFX9_S_BITREPLICATE_B64_B32] = s_bitreplicate_b64_b32,
	[GFX9_S_BITSET0_B32] = s_bitset0_b32,
	[GFX9_S_BITSET0_B64] = s_bitset0_b64,
	[GFX9_S_BITSET1_B32] = s_bitset1_b32,
	[GFX9_S_BITSET1_B64] = s_bitset1_b64,
	[GFX9_S_BRANCH] = s_branch,
	[GFX9_S_BREV_B32] = s_brev_b32,
	[GFX9_S_BREV_B64] = s_brev_b64,
	[GFX9_S_CALL_B64] = s_call_b64,
	[GFX9_S_CBRANCH_CDBGSYS] = s_cbranch_cdbgsys,
	[GFX9_S_CBRANCH_CDBGSYS_AND_USER] = s_cbranch_cdbgsys_and_user,
	[GFX9_S_CBRANCH_CDBGSYS_OR_USER] = s_cbranch_cdbgsys_or_user,
	[GFX9_S_CBRANCH_CDBGUSER] = s_cbranch_cdbguser,
	[GFX9_S_CBRANCH_EXECNZ] = s_cbranch_execnz,
	[GFX9_S_CBRANCH_EXECZ] = s_cbranch_execz,
	[GFX9_S_CBRANCH_SCC0] = s_cbranch_scc0,
	[GFX9_S_CBRANCH_SCC1] = s_cbranch_scc1,
	[GFX9_S_CBRANCH_VCCNZ] = s_cbranch_vccnz,
	[GFX9_S_CBRANCH_VCCZ] = s_cbranch_vccz,
	[GFX9_S_CMOV_B32] = s_cmov_b32,
	[GFX9_S_CMOV_B64] = s_cmov_b64,
	[GFX9_S_CMOVK_I32] = s_cmovk_i32,
	[GFX9_S_CMP_EQ_I32] = s_cmp_eq_i32,
	[GFX9_S_CMP_EQ_U32] = s_cmp_eq_i32,
	[GFX9_S_CMP_EQ_U64] = s_cmp_eq_u64,
	[GFX9_S_CMP_GE_I32] = s_cmp_ge_i32,
	[GFX9_S_CMP_GE_U32] = s_cmp_ge_u32,
	[GFX9_S_CMP_GT_I32] = s_cmp_gt_i32,
	[GFX9_S_CMP_GT_U32] = s_cmp_gt_u32,
	[GFX9_S_CMP_LE_I32] = s_cmp_le_i32,
	[GFX9_S_CMP_LE_U32] = s_cmp_le_u32,
	[GFX9_S_CMP_LG_I32] = s_cmp_lg_i32,
	[GFX9_S_CMP_LG_U32] = s_cmp_lg_i32,
	[GFX9_S_CMP_LG_U64] = s_cmp_lg_u64,
	[GFX9_S_CMP_LT_I32] = s_cmp_lt_i32,
	[GFX9_S_CMP_LT_U32] = s_cmp_lt_u32,
	[GFX9_S_CMPK_EQ_I32] = s_cmpk_eq_i32,
	[GFX9_S_CMPK_EQ_U32] = s_cmpk_eq_u32,
	[GFX9_S_CMPK_GE_I32] = s_cmpk_ge_i32,
	[GFX9_S_CMPK_GE_U32] = s_cmpk_ge_u32,
	[GFX9_S_CMPK_GT_I32] = s_cmpk_gt_i32,
	[GFX9_S_CMPK_GT_U32] = s_cmpk_gt_u32,
	[GFX9_S_CMPK_LE_I32] = s_cmpk_le_i32,
	[GFX9_S_CMPK_LE_U32] = s_cmpk_le_u32,
	[GFX9_S_CMPK_LG_I32] = s_cmpk_lg_i32,
	[GFX9_S_CMPK_LG_U32] = s_cmpk_lg_u32,
	[GFX9_S_CMPK_LT_I32] = s_cmpk_lt_i32,
	[GFX9_S_CMPK_LT_U32] = s_cmpk_lt_u32,
	[GFX9_S_CSELECT_B32] = s_cselect_b32,
	[GFX9_S_CSELECT_B64] = s_cselect_b64,
	[GFX9_S_DCACHE_DISCARD] = nothing,
	[GFX9_S_DCACHE_DISCARD_X2] = nothing,
	[GFX9_S_DCACHE_INV] = in_order,
	[GFX9_S_DCACHE_INV_VOL] = in_order,
	[GFX9_S_DCACHE_WB] = in_order,
	[GFX9_S_DCACHE_WB_VOL] = in_order,
	[GFX9_S_DECPERFLEVEL] = nothing,
	[GFX9_S_ENDPGM] = s_endpgm,
	[GFX9_S_ENDPGM_SAVED] = s_endpgm_saved,
	[GFX9_S_FF0_I32_B32] = s_ff0_i32_b32,
	[GFX9_S_FF0_I32_B64] = s_ff0_i32_b64,
	[GFX9_S_FF1_I32_B32] = s_ff1_i32_b32,
	[GFX9_S_FF1_I32_B64] = s_ff1_i32_b64,
	[GFX9_S_FLBIT_I32] = s_flbit_i32,
	[GFX9_S_FLBIT_I32_B32] = s_flbit_i32_b32,
	[GFX9_S_FLBIT_I32_B64] = s_flbit_i32_b64,
	[GFX9_S_FLBIT_I32_I64] = s_flbit_i32_i64,
	[GFX9_S_GETPC_B64] = s_getpc_b64,
	[GFX9_S_GETREG_B32] = gfx9_s_getreg_b32,
	[GFX9_S_ICACHE_INV] = s_icache_inv,
	[GFX9_S_INCPERFLEVEL] = nothing,
	[GFX9_S_LSHL1_ADD_U32] = s_lshl1_add_u32,
	[GFX9_S_LSHL2_ADD_U32] = s_lshl2_add_u32,
	[GFX9_S_LSHL3_ADD_U32] = s_lshl3_add_u32,
	[GFX9_S_LSHL4_ADD_U32] = s_lshl4_add_u32,
	[GFX9_S_LSHL_B32] = s_lshl_b32,
	[GFX9_S_LSHL_B64] = s_lshl_b64,
	[GFX9_S_LSHR_B32] = s_lshr_b32,
	[GFX9_S_LSHR_B64] = s_lshr_b64,
	[GFX9_S_MAX_I32] = s_max_i32,
	[GFX9_S_MAX_U32] = s_max_u32,
	[GFX9_S_MIN_I32] = s_min_i32,
	[GFX9_S_MIN_U32] = s_min_u32,
	[GFX9_S_MOV_B32] = s_mov_b32,
	[GFX9_S_MOV_B64] = s_mov_b64,
	[GFX9_S_MOVK_I32] = s_movk_i32,
	[GFX9_S_MOVRELD_B32] = s_movreld_b32,
	[GFX9_S_MOVRELD_B64] = s_movreld_b64,
	[GFX9_S_MOVRELS_B32] = s_movrels_b32,
	[GFX9_S_MOVRELS_B64] = s_movrels_b64,
	[GFX9_S_MUL_HI_I32] = s_mul_hi_i32,
	[GFX9_S_MUL_HI_U32] = s_mul_hi_u32,
	[GFX9_S_MUL_I32] = s_mul_i32,
	[GFX9_S_MULK_I32] = s_mulk_i32,
	[GFX9_S_NAND_B32] = s_nand_b32,
	[GFX9_S_NAND_B64] = s_nand_b64,
	[GFX9_S_NAND_SAVEEXEC_B64] = s_nand_saveexec_b64,
	[GFX9_S_NOP] = nothing,
	[GFX9_S_NOR_B32] = s_nor_b32,
	[GFX9_S_NOR_B64] = s_nor_b64,
	[GFX9_S_NOR_SAVEEXEC_B64] = s_nor_saveexec_b64,
	[GFX9_S_NOT_B32] = s_not_b32,
	[GFX9_S_NOT_B64] = s_not_b64,
	[GFX9_S_OR_B32] = s_or_b32,
	[GFX9_S_OR_B64] = s_or_b64,
	[GFX9_S_OR_SAVEEXEC_B64] = s_or_saveexec_b64,
	[GFX9_S_ORN1_SAVEEXEC_B64] = s_orn1_saveexec_b64,
	[GFX9_S_ORN2_B32] = s_orn2_b32,
	[GFX9_S_ORN2_B64] = s_orn2_b64,
	[GFX9_S_ORN2_SAVEEXEC_B64] = s_orn2_saveexec_b64,
	[GFX9_S_PACK_HH_B32_B16] = s_pack_hh_b32_b16,
	[GFX9_S_PACK_LH_B32_B16] = s_pack_lh_b32_b16,
	[GFX9_S_PACK_LL_B32_B16] = s_pack_ll_b32_b16,
	[GFX9_S_QUADMASK_B32] = s_quadmask_b32,
	[GFX9_S_QUADMASK_B64] = s_quadmask_b64,
	[GFX9_S_RFE_B64] = s_rfe_b64,
	[GFX9_S_RFE_RESTORE_B64] = s_rfe_b64,
	[GFX9_S_SENDMSG] = s_sendmsg,
	[GFX9_S_SENDMSGHALT] = s_sendmsghalt,
	[GFX9_S_SET_GPR_IDX_IDX] = s_set_gpr_idx_idx,
	[GFX9_S_SET_GPR_IDX_MODE] = s_set_gpr_idx_mode,
	[GFX9_S_SET_GPR_IDX_OFF] = s_set_gpr_idx_off,
	[GFX9_S_SET_GPR_IDX_ON] = s_set_gpr_idx_on,
	[GFX9_S_SETHALT] = s_sethalt,
	[GFX9_S_SETKILL] = s_setkill,
	[GFX9_S_SETPC_B64] = s_setpc_b64,
	[GFX9_S_SETPRIO] = s_setprio,
	[GFX9_S_SETREG_B32] = gfx9_s_setreg_b32,
	[GFX9_S_SETREG_IMM32_B32] = gfx9_s_setreg_imm32_b32,
	[GFX9_S_SEXT_I32_I16] = s_sext_i32_i16,
	[GFX9_S_SEXT_I32_I8] = s_sext_i32_i8,
	[GFX9_S_SLEEP] = s_sleep,
	[GFX9_S_SUB_I32] = s_sub_i32,
	[GFX9_S_SUB_U32] = s_sub_u32,
	[GFX9_S_SUBB_U32] = s_subb_u32,
	[GFX9_S_SWAPPC_B64] = s_swappc_b64,
	[GFX9_S_TRAP] = s_trap,
	[GFX9_S_TTRACEDATA] = nothing,
	[GFX9_S_WAITCNT] = in_order,
	[GFX9_S_WAKEUP] = nothing,
	[GFX9_S_WQM_B32] = s_wqm_b32,
	[GFX9_S_WQM_B64] = s_wqm_b64,
	[GFX9_S_XNOR_B32] = s_xnor_b32,
	[GFX9_S_XNOR_B64] = s_xnor_b64,
	[GFX9_S_XNOR_SAVEEXEC_B64] = s_xnor_saveexec_b64,
	[GFX9_S_XOR_B32] = s_xor_b32,
	[GFX9_S_XOR_B64] = s_xor_b64,
	[GFX9_S_XOR_SAVEEXEC_B64] = s_xor_saveexec_b64,
};
