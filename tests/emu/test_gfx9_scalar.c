// SPDX-License-Identifier: MIT
/*
 * Scalar instructions, each against a reference that counts bits or uses wider numbers where the
 * engine does not. A new opcode is one line in one of the lists; an opcode without a line fails.
 */
#include "../unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/gfx9/operand.h"
#include "emu/gfx9/variant.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

typedef uint64_t u64;
typedef __int128 wide;

enum { S0 = 4, S1 = 8, SD = 12, BASE = 20 }; /* registers the tests use */

#define RAM 0x10000u /* two pages, then a hole, then one that is read only */
#define ROM 0x13000u

struct world {
	struct gfx9_wave *w;
	struct emu_vm vm;
	struct gfx9_tlb tlb;
	_Alignas(8) uint8_t ram[2 * EMU_PAGE];
	_Alignas(8) uint8_t rom[EMU_PAGE];
};

static bool covered[GFX9_OPS];
static u64 seed = 88172645463325252;

static u64 rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1d;
}

static void *page(void *ctx, uint64_t va, bool write)
{
	struct world *t = ctx;

	if (va == ROM)
		return write ? NULL : t->rom;
	return va - RAM < sizeof(t->ram) ? &t->ram[va - RAM] : NULL;
}

static int setup(void **state)
{
	struct world *t = aligned_alloc(64, (sizeof(*t) + 63) / 64 * 64);

	memset(t, 0, sizeof(*t));
	t->w = aligned_alloc(64, (sizeof(*t->w) + 63) / 64 * 64);
	memset(t->w, 0, sizeof(*t->w));
	t->vm.page = page;
	t->vm.ctx = t;
	gfx9_tlb_init(&t->tlb, &t->vm);
	t->w->tlb = &t->tlb;
	for (size_t i = 0; i < sizeof(t->ram); i++)
		t->ram[i] = (uint8_t)rnd();
	for (size_t i = 0; i < sizeof(t->rom); i++)
		t->rom[i] = (uint8_t)rnd();
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct world *t = *state;

	free(t->w);
	free(t);
	return 0;
}

static enum gfx9_stop run(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	gfx9_run_fn *fn = gfx9_scalar_ops[in->op];

	assert_non_null(fn);
	covered[in->op] = true;
	return fn(w, in);
}

static u64 mask_of(unsigned int width)
{
	return width == 64 ? ~(u64)0 : ((u64)1 << width) - 1;
}

static void set_reg(struct gfx9_wave *w, unsigned int code, unsigned int width, u64 value)
{
	w->s[code] = (uint32_t)value;
	if (width == 64)
		w->s[code + 1] = (uint32_t)(value >> 32);
}

/* The wave is exactly as expected. */
static void check(const struct gfx9_wave *w, const struct gfx9_wave *expected, enum gfx9_op op,
		  u64 a, u64 b)
{
	if (!memcmp(w, expected, sizeof(*w)))
		return;
	fail_msg("%s of %#llx, %#llx: %#llx (scc %d), expected %#llx (scc %d), or something else",
		 gfx9_op_name(op), (unsigned long long)a, (unsigned long long)b,
		 (unsigned long long)gfx9_get64(w, SD), w->scc,
		 (unsigned long long)gfx9_get64(expected, SD), expected->scc);
}

/*
 * References
 */

static bool bit(u64 a, unsigned int i)
{
	return a / ((u64)1 << i) % 2;
}

static wide sext(u64 a, unsigned int width)
{
	wide value = (wide)(a & mask_of(width));

	return bit(a, width - 1) ? value - ((wide)1 << width) : value;
}

static bool fits(wide value, unsigned int width)
{
	return value >= -((wide)1 << (width - 1)) && value < (wide)1 << (width - 1);
}

/* Bit 2 * p + q of @table is the answer for bits p of a and q of b. */
static u64 logic(unsigned int table, u64 a, u64 b)
{
	u64 d = 0;

	for (unsigned int i = 0; i < 64; i++)
		if (table >> (2 * bit(a, i) + bit(b, i)) & 1)
			d += (u64)1 << i;
	return d;
}

static wide power(unsigned int n)
{
	return n ? 2 * power(n - 1) : 1;
}

/* Rounds down. */
static wide divide(wide a, wide by)
{
	return a / by - (a % by < 0);
}

static u64 field(u64 a, unsigned int low, unsigned int n, unsigned int width)
{
	u64 d = 0;

	for (unsigned int i = 0; i < n && low + i < width; i++)
		if (bit(a, low + i))
			d |= (u64)1 << i;
	return d;
}

static u64 field_signed(u64 a, unsigned int low, unsigned int n, unsigned int width)
{
	unsigned int top;

	if (!n)
		return 0;
	top = low + n < width ? low + n : width;
	return (u64)sext(field(a, low, top - low, width), top - low);
}

static u64 ones(unsigned int n, unsigned int low)
{
	u64 d = 0;

	for (unsigned int i = 0; i < n && low + i < 64; i++)
		d |= (u64)1 << (low + i);
	return d;
}

static u64 count(u64 a, bool value, unsigned int width)
{
	u64 n = 0;

	for (unsigned int i = 0; i < width; i++)
		n += bit(a, i) == value;
	return n;
}

static u64 find_up(u64 a, bool value, unsigned int width)
{
	for (unsigned int i = 0; i < width; i++)
		if (bit(a, i) == value)
			return i;
	return ~(u64)0;
}

static u64 find_down(u64 a, bool value, unsigned int width)
{
	for (unsigned int i = 0; i < width; i++)
		if (bit(a, width - 1 - i) == value)
			return i;
	return ~(u64)0;
}

static u64 backwards(u64 a, unsigned int width)
{
	u64 d = 0;

	for (unsigned int i = 0; i < width; i++)
		if (bit(a, i))
			d |= (u64)1 << (width - 1 - i);
	return d;
}

static u64 whole_quads(u64 a)
{
	u64 d = 0;

	for (unsigned int i = 0; i < 64; i++)
		if (field(a, i / 4 * 4, 4, 64))
			d |= (u64)1 << i;
	return d;
}

static u64 quad_bits(u64 a)
{
	u64 d = 0;

	for (unsigned int i = 0; i < 16; i++)
		if (field(a, i * 4, 4, 64))
			d |= (u64)1 << i;
	return d;
}

static u64 doubled(u64 a)
{
	u64 d = 0;

	for (unsigned int i = 0; i < 64; i++)
		if (bit(a, i / 2))
			d |= (u64)1 << i;
	return d;
}

static u64 with_bit(u64 a, unsigned int i, bool value)
{
	return (a & ~ones(1, i)) | (value ? ones(1, i) : 0);
}

static u64 magnitude(wide a)
{
	return (u64)(a < 0 ? -a : a);
}

#define A32 sext(a, 32)
#define B32 sext(b, 32)
#define NZ ((d & mask_of(width)) != 0)
#define KEEP scc
#define SHIFT(bits) ((unsigned int)(b % (bits)))

/* Opcode, width of the result (0: none), of src0, of src1 (0: none), result, SCC. */
#define ALU(X)                                                                        \
	X(S_ADD_U32, 32, 32, 32, a + b, (a + b) / 2 >= power(31))                     \
	X(S_SUB_U32, 32, 32, 32, a + ~b + 1, b > a)                                   \
	X(S_ADD_I32, 32, 32, 32, (u64)(A32 + B32), !fits(A32 + B32, 32))              \
	X(S_SUB_I32, 32, 32, 32, (u64)(A32 - B32), !fits(A32 - B32, 32))              \
	X(S_ADDC_U32, 32, 32, 32, a + b + scc, (wide)a + b + scc >= power(32))        \
	X(S_SUBB_U32, 32, 32, 32, (u64)((wide)a - b - scc), (wide)a - b - scc < 0)    \
	X(S_MIN_I32, 32, 32, 32, (u64)(A32 <= B32 ? A32 : B32), !(A32 >= B32))        \
	X(S_MIN_U32, 32, 32, 32, a <= b ? a : b, !(a >= b))                           \
	X(S_MAX_I32, 32, 32, 32, (u64)(A32 >= B32 ? A32 : B32), !(A32 <= B32))        \
	X(S_MAX_U32, 32, 32, 32, a >= b ? a : b, !(a <= b))                           \
	X(S_MUL_I32, 32, 32, 32, (u64)(A32 * B32), KEEP)                              \
	X(S_MUL_HI_U32, 32, 32, 32, (u64)((wide)a * b / power(32)), KEEP)             \
	X(S_MUL_HI_I32, 32, 32, 32, (u64)divide(A32 *B32, power(32)), KEEP)           \
	X(S_LSHL1_ADD_U32, 32, 32, 32, a * 2 + b, a * 2 + b >= (u64)power(32))        \
	X(S_LSHL2_ADD_U32, 32, 32, 32, a * 4 + b, a * 4 + b >= (u64)power(32))        \
	X(S_LSHL3_ADD_U32, 32, 32, 32, a * 8 + b, a * 8 + b >= (u64)power(32))        \
	X(S_LSHL4_ADD_U32, 32, 32, 32, a * 16 + b, a * 16 + b >= (u64)power(32))      \
	X(S_ABSDIFF_I32, 32, 32, 32, magnitude(sext((u64)(A32 - B32), 32)), NZ)       \
	X(S_ABS_I32, 32, 32, 0, magnitude(A32), NZ)                                   \
	X(S_SEXT_I32_I8, 32, 32, 0, (u64)sext(a, 8), KEEP)                            \
	X(S_SEXT_I32_I16, 32, 32, 0, (u64)sext(a, 16), KEEP)                          \
	X(S_MOV_B32, 32, 32, 0, a, KEEP)                                              \
	X(S_MOV_B64, 64, 64, 0, a, KEEP)                                              \
	X(S_CMOV_B32, 32, 32, 0, scc ? a : old, KEEP)                                 \
	X(S_CMOV_B64, 64, 64, 0, scc ? a : old, KEEP)                                 \
	X(S_CSELECT_B32, 32, 32, 32, scc ? a : b, KEEP)                               \
	X(S_CSELECT_B64, 64, 64, 64, scc ? a : b, KEEP)                               \
	X(S_PACK_LL_B32_B16, 32, 32, 32, b % 65536 * 65536 + a % 65536, KEEP)         \
	X(S_PACK_LH_B32_B16, 32, 32, 32, b / 65536 * 65536 + a % 65536, KEEP)         \
	X(S_PACK_HH_B32_B16, 32, 32, 32, b / 65536 * 65536 + a / 65536, KEEP)         \
	X(S_AND_B32, 32, 32, 32, logic(0x8, a, b), NZ)                                \
	X(S_AND_B64, 64, 64, 64, logic(0x8, a, b), NZ)                                \
	X(S_OR_B32, 32, 32, 32, logic(0xe, a, b), NZ)                                 \
	X(S_OR_B64, 64, 64, 64, logic(0xe, a, b), NZ)                                 \
	X(S_XOR_B32, 32, 32, 32, logic(0x6, a, b), NZ)                                \
	X(S_XOR_B64, 64, 64, 64, logic(0x6, a, b), NZ)                                \
	X(S_ANDN2_B32, 32, 32, 32, logic(0x4, a, b), NZ)                              \
	X(S_ANDN2_B64, 64, 64, 64, logic(0x4, a, b), NZ)                              \
	X(S_ORN2_B32, 32, 32, 32, logic(0xd, a, b), NZ)                               \
	X(S_ORN2_B64, 64, 64, 64, logic(0xd, a, b), NZ)                               \
	X(S_NAND_B32, 32, 32, 32, logic(0x7, a, b), NZ)                               \
	X(S_NAND_B64, 64, 64, 64, logic(0x7, a, b), NZ)                               \
	X(S_NOR_B32, 32, 32, 32, logic(0x1, a, b), NZ)                                \
	X(S_NOR_B64, 64, 64, 64, logic(0x1, a, b), NZ)                                \
	X(S_XNOR_B32, 32, 32, 32, logic(0x9, a, b), NZ)                               \
	X(S_XNOR_B64, 64, 64, 64, logic(0x9, a, b), NZ)                               \
	X(S_NOT_B32, 32, 32, 0, logic(0x3, a, 0), NZ)                                 \
	X(S_NOT_B64, 64, 64, 0, logic(0x3, a, 0), NZ)                                 \
	X(S_LSHL_B32, 32, 32, 32, (u64)(a * power(SHIFT(32))), NZ)                    \
	X(S_LSHL_B64, 64, 64, 32, (u64)(a * (unsigned __int128)power(SHIFT(64))), NZ) \
	X(S_LSHR_B32, 32, 32, 32, (u64)(a / power(SHIFT(32))), NZ)                    \
	X(S_LSHR_B64, 64, 64, 32, (u64)(a / power(SHIFT(64))), NZ)                    \
	X(S_ASHR_I32, 32, 32, 32, (u64)divide(A32, power(SHIFT(32))), NZ)             \
	X(S_ASHR_I64, 64, 64, 32, (u64)divide(sext(a, 64), power(SHIFT(64))), NZ)     \
	X(S_BFM_B32, 32, 32, 32, ones(a % 32, b % 32), KEEP)                          \
	X(S_BFM_B64, 64, 32, 32, ones(a % 64, b % 64), KEEP)                          \
	X(S_BFE_U32, 32, 32, 32, field(a, b % 32, b / 65536 % 128, 32), NZ)           \
	X(S_BFE_I32, 32, 32, 32, field_signed(a, b % 32, b / 65536 % 128, 32), NZ)    \
	X(S_BFE_U64, 64, 64, 32, field(a, b % 64, b / 65536 % 128, 64), NZ)           \
	X(S_BFE_I64, 64, 64, 32, field_signed(a, b % 64, b / 65536 % 128, 64), NZ)    \
	X(S_WQM_B32, 32, 32, 0, whole_quads(a), NZ)                                   \
	X(S_WQM_B64, 64, 64, 0, whole_quads(a), NZ)                                   \
	X(S_QUADMASK_B32, 32, 32, 0, quad_bits(a), NZ)                                \
	X(S_QUADMASK_B64, 64, 64, 0, quad_bits(a), NZ)                                \
	X(S_BREV_B32, 32, 32, 0, backwards(a, 32), KEEP)                              \
	X(S_BREV_B64, 64, 64, 0, backwards(a, 64), KEEP)                              \
	X(S_BCNT0_I32_B32, 32, 32, 0, count(a, 0, 32), NZ)                            \
	X(S_BCNT0_I32_B64, 32, 64, 0, count(a, 0, 64), NZ)                            \
	X(S_BCNT1_I32_B32, 32, 32, 0, count(a, 1, 32), NZ)                            \
	X(S_BCNT1_I32_B64, 32, 64, 0, count(a, 1, 64), NZ)                            \
	X(S_FF0_I32_B32, 32, 32, 0, find_up(a, 0, 32), KEEP)                          \
	X(S_FF0_I32_B64, 32, 64, 0, find_up(a, 0, 64), KEEP)                          \
	X(S_FF1_I32_B32, 32, 32, 0, find_up(a, 1, 32), KEEP)                          \
	X(S_FF1_I32_B64, 32, 64, 0, find_up(a, 1, 64), KEEP)                          \
	X(S_FLBIT_I32_B32, 32, 32, 0, find_down(a, 1, 32), KEEP)                      \
	X(S_FLBIT_I32_B64, 32, 64, 0, find_down(a, 1, 64), KEEP)                      \
	X(S_FLBIT_I32, 32, 32, 0, find_down(a, !bit(a, 31), 32), KEEP)                \
	X(S_FLBIT_I32_I64, 32, 64, 0, find_down(a, !bit(a, 63), 64), KEEP)            \
	X(S_BITREPLICATE_B64_B32, 64, 32, 0, doubled(a), KEEP)                        \
	X(S_BITSET0_B32, 32, 32, 0, with_bit(old, a % 32, 0), KEEP)                   \
	X(S_BITSET0_B64, 64, 32, 0, with_bit(old, a % 64, 0), KEEP)                   \
	X(S_BITSET1_B32, 32, 32, 0, with_bit(old, a % 32, 1), KEEP)                   \
	X(S_BITSET1_B64, 64, 32, 0, with_bit(old, a % 64, 1), KEEP)                   \
	X(S_CMP_EQ_I32, 0, 32, 32, 0, A32 - B32 == 0)                                 \
	X(S_CMP_LG_I32, 0, 32, 32, 0, A32 - B32 != 0)                                 \
	X(S_CMP_GT_I32, 0, 32, 32, 0, A32 - B32 > 0)                                  \
	X(S_CMP_GE_I32, 0, 32, 32, 0, A32 - B32 >= 0)                                 \
	X(S_CMP_LT_I32, 0, 32, 32, 0, A32 - B32 < 0)                                  \
	X(S_CMP_LE_I32, 0, 32, 32, 0, A32 - B32 <= 0)                                 \
	X(S_CMP_EQ_U32, 0, 32, 32, 0, (wide)a - b == 0)                               \
	X(S_CMP_LG_U32, 0, 32, 32, 0, (wide)a - b != 0)                               \
	X(S_CMP_GT_U32, 0, 32, 32, 0, (wide)a - b > 0)                                \
	X(S_CMP_GE_U32, 0, 32, 32, 0, (wide)a - b >= 0)                               \
	X(S_CMP_LT_U32, 0, 32, 32, 0, (wide)a - b < 0)                                \
	X(S_CMP_LE_U32, 0, 32, 32, 0, (wide)a - b <= 0)                               \
	X(S_CMP_EQ_U64, 0, 64, 64, 0, (wide)a - b == 0)                               \
	X(S_CMP_LG_U64, 0, 64, 64, 0, (wide)a - b != 0)                               \
	X(S_BITCMP0_B32, 0, 32, 32, 0, !bit(a, b % 32))                               \
	X(S_BITCMP1_B32, 0, 32, 32, 0, bit(a, b % 32))                                \
	X(S_BITCMP0_B64, 0, 64, 32, 0, !bit(a, b % 64))                               \
	X(S_BITCMP1_B64, 0, 64, 32, 0, bit(a, b % 64))

/* Opcode, result (of the register a and the constant k), SCC. */
#define SOPK(X)                                           \
	X(S_MOVK_I32, (u64)k, KEEP)                       \
	X(S_CMOVK_I32, scc ? (u64)k : a, KEEP)            \
	X(S_ADDK_I32, (u64)(A32 + k), !fits(A32 + k, 32)) \
	X(S_MULK_I32, (u64)(A32 * k), KEEP)               \
	X(S_CMPK_EQ_I32, a, A32 - k == 0)                 \
	X(S_CMPK_LG_I32, a, A32 - k != 0)                 \
	X(S_CMPK_GT_I32, a, A32 - k > 0)                  \
	X(S_CMPK_GE_I32, a, A32 - k >= 0)                 \
	X(S_CMPK_LT_I32, a, A32 - k < 0)                  \
	X(S_CMPK_LE_I32, a, A32 - k <= 0)                 \
	X(S_CMPK_EQ_U32, a, (wide)a - (k & 65535) == 0)   \
	X(S_CMPK_LG_U32, a, (wide)a - (k & 65535) != 0)   \
	X(S_CMPK_GT_U32, a, (wide)a - (k & 65535) > 0)    \
	X(S_CMPK_GE_U32, a, (wide)a - (k & 65535) >= 0)   \
	X(S_CMPK_LT_U32, a, (wide)a - (k & 65535) < 0)    \
	X(S_CMPK_LE_U32, a, (wide)a - (k & 65535) <= 0)

/* Opcode, EXEC as a truth table of src0 and EXEC, whether dst gets the old EXEC. */
#define EXEC_OPS(X)                        \
	X(S_AND_SAVEEXEC_B64, 0x8, true)   \
	X(S_OR_SAVEEXEC_B64, 0xe, true)    \
	X(S_XOR_SAVEEXEC_B64, 0x6, true)   \
	X(S_ANDN2_SAVEEXEC_B64, 0x4, true) \
	X(S_ORN2_SAVEEXEC_B64, 0xd, true)  \
	X(S_NAND_SAVEEXEC_B64, 0x7, true)  \
	X(S_NOR_SAVEEXEC_B64, 0x1, true)   \
	X(S_XNOR_SAVEEXEC_B64, 0x9, true)  \
	X(S_ANDN1_SAVEEXEC_B64, 0x2, true) \
	X(S_ORN1_SAVEEXEC_B64, 0xb, true)  \
	X(S_ANDN1_WREXEC_B64, 0x2, false)  \
	X(S_ANDN2_WREXEC_B64, 0x4, false)

/* Opcode, condition. */
#define BRANCHES(X)                                  \
	X(S_BRANCH, true)                            \
	X(S_CBRANCH_SCC0, !scc)                      \
	X(S_CBRANCH_SCC1, scc)                       \
	X(S_CBRANCH_VCCZ, !vcc)                      \
	X(S_CBRANCH_VCCNZ, vcc)                      \
	X(S_CBRANCH_EXECZ, !exec)                    \
	X(S_CBRANCH_EXECNZ, exec)                    \
	X(S_CBRANCH_CDBGSYS, sys)                    \
	X(S_CBRANCH_CDBGUSER, user)                  \
	X(S_CBRANCH_CDBGSYS_OR_USER, sys + user > 0) \
	X(S_CBRANCH_CDBGSYS_AND_USER, sys + user == 2)

/* Opcode after S_ATOMIC_ or S_BUFFER_ATOMIC_, the new value of m, given x and c of so many bits. */
#define ATOMICS(X)                                        \
	X(SWAP, x)                                        \
	X(CMPSWAP, m - c ? m : x)                         \
	X(ADD, x + m)                                     \
	X(SUB, m + ~x + 1)                                \
	X(SMIN, sext(x, width) <= sext(m, width) ? x : m) \
	X(UMIN, x <= m ? x : m)                           \
	X(SMAX, sext(x, width) >= sext(m, width) ? x : m) \
	X(UMAX, x >= m ? x : m)                           \
	X(AND, logic(0x8, m, x))                          \
	X(OR, logic(0xe, m, x))                           \
	X(XOR, logic(0x6, m, x))                          \
	X(INC, (wide)m + 1 > (wide)x ? 0 : m + 1)         \
	X(DEC, m > 0 && m <= x ? m - 1 : x)

/* Opcode, dwords; plain, buffer and scratch. */
#define LOADS(X)                                                            \
	X(S_LOAD_DWORD, S_BUFFER_LOAD_DWORD, S_SCRATCH_LOAD_DWORD, 1)       \
	X(S_LOAD_DWORDX2, S_BUFFER_LOAD_DWORDX2, S_SCRATCH_LOAD_DWORDX2, 2) \
	X(S_LOAD_DWORDX4, S_BUFFER_LOAD_DWORDX4, S_SCRATCH_LOAD_DWORDX4, 4) \
	X(S_LOAD_DWORDX8, S_BUFFER_LOAD_DWORDX8, INVALID, 8)                \
	X(S_LOAD_DWORDX16, S_BUFFER_LOAD_DWORDX16, INVALID, 16)
#define STORES(X)                                                              \
	X(S_STORE_DWORD, S_BUFFER_STORE_DWORD, S_SCRATCH_STORE_DWORD, 1)       \
	X(S_STORE_DWORDX2, S_BUFFER_STORE_DWORDX2, S_SCRATCH_STORE_DWORDX2, 2) \
	X(S_STORE_DWORDX4, S_BUFFER_STORE_DWORDX4, S_SCRATCH_STORE_DWORDX4, 4)

static const u64 values32[] = {
	0,	    1,		2,	    3,		15,	    31,		32,
	33,	    63,		64,	    65,		127,	    128,	255,
	0x7fff,	    0x8000,	0xffff,	    0x10000,	0xcccc,	    0x55555555, 0xaaaaaaaa,
	0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xffff3333, 0xffff7fff, 0xffff8000,
	0xfffffffe, 0xffffffff, 0x00080004, 0x0010000c, 0x001f001f, 0x00200000, 0x00210001,
	0x00400005, 0x0040003f, 0x007f0010, 0x00000007, 0xdeadbeef,
};

static const u64 values64[] = {
	0,
	1,
	2,
	63,
	0x7fffffff,
	0x80000000,
	0xffffffff,
	0x100000000,
	0x100000001,
	0x123456789abcdef0,
	0x5555555555555555,
	0xaaaaaaaaaaaaaaaa,
	0x7ffffffffffffffe,
	0x7fffffffffffffff,
	0x8000000000000000,
	0x8000000000000001,
	0xffffffff00000000,
	0xffffffff7fffffff,
	0xfffffffffffffffe,
	0xffffffffffffffff,
};

#define RANDOM_VALUES 24

static size_t nr_values(unsigned int width)
{
	if (!width)
		return 1;
	return (width == 64 ? ARRAY_SIZE(values64) : ARRAY_SIZE(values32)) + RANDOM_VALUES;
}

static u64 value(unsigned int width, size_t i)
{
	size_t n = nr_values(width) - RANDOM_VALUES;

	if (!width)
		return 0;
	if (i >= n)
		return rnd() & mask_of(width);
	return width == 64 ? values64[i] : values32[i];
}

/*
 * Arithmetic
 */

struct alu {
	enum gfx9_op op;
	unsigned int width, a, b;
	u64 (*result)(u64 a, u64 b, u64 old, bool scc);
	bool (*scc)(u64 a, u64 b, u64 d, bool scc, unsigned int width);
};

#define X(op, wd, wa, wb, result, flag)                                         \
	static u64 ref_##op(u64 a, u64 b, u64 old, bool scc)                    \
	{                                                                       \
		(void)a, (void)b, (void)old, (void)scc;                         \
		return (result);                                                \
	}                                                                       \
	static bool scc_##op(u64 a, u64 b, u64 d, bool scc, unsigned int width) \
	{                                                                       \
		(void)a, (void)b, (void)d, (void)scc, (void)width;              \
		return (flag);                                                  \
	}
ALU(X)
#undef X

static const struct alu alu[] = {
#define X(op, wd, wa, wb, result, flag) { GFX9_##op, wd, wa, wb, ref_##op, scc_##op },
	ALU(X)
#undef X
};

static void one_alu(struct gfx9_wave *w, const struct alu *t, u64 a, u64 b, bool scc)
{
	unsigned int trap = rnd() & 1 ? GFX9_TTMP0 - S0 : 0; /* registers of the trap handler */
	unsigned int s0 = S0 + trap, s1 = S1 + trap, sd = SD + trap;
	struct gfx9_inst in = { .op = (uint16_t)t->op,
				.dst = (uint16_t)sd,
				.src = { (uint16_t)s0, t->b ? (uint16_t)s1 : 0 } };
	struct gfx9_wave expected;
	u64 old, d;

	set_reg(w, s0, t->a, a);
	set_reg(w, s1, t->b, b);
	set_reg(w, sd, 64, rnd());
	w->scc = scc;
	w->status = trap ? GFX9_STATUS_PRIV : 0;
	old = gfx9_get64(w, sd) & mask_of(t->width ? t->width : 64);
	d = t->result(a, b, old, scc);
	memcpy(&expected, w, sizeof(*w));
	if (t->width)
		set_reg(&expected, sd, t->width, d);
	expected.scc = t->scc(a, b, d, scc, t->width);
	assert_int_equal(run(w, &in), GFX9_GO);
	check(w, &expected, t->op, a, b);
}

static void test_alu(void **state)
{
	struct world *world = *state;

	for (size_t n = 0; n < ARRAY_SIZE(alu); n++) {
		const struct alu *t = &alu[n];

		for (size_t i = 0; i < nr_values(t->a); i++) {
			for (size_t j = 0; j < nr_values(t->b); j++) {
				u64 a = value(t->a, i), b = value(t->b, j);

				one_alu(world->w, t, a, b, false);
				one_alu(world->w, t, a, b, true);
			}
		}
	}
}

struct sopk {
	enum gfx9_op op;
	u64 (*result)(u64 a, int64_t k, bool scc);
	bool (*scc)(u64 a, int64_t k, bool scc);
};

#define X(op, result, flag)                              \
	static u64 ref_##op(u64 a, int64_t k, bool scc)  \
	{                                                \
		(void)a, (void)k, (void)scc;             \
		return (result);                         \
	}                                                \
	static bool scc_##op(u64 a, int64_t k, bool scc) \
	{                                                \
		(void)a, (void)k, (void)scc;             \
		return (flag);                           \
	}
SOPK(X)
#undef X

static const struct sopk sopk[] = {
#define X(op, result, flag) { GFX9_##op, ref_##op, scc_##op },
	SOPK(X)
#undef X
};

static void one_sopk(struct gfx9_wave *w, const struct sopk *t, u64 a, int16_t k, bool scc)
{
	struct gfx9_inst in = { .op = (uint16_t)t->op, .dst = SD, .offset = k };
	struct gfx9_wave expected;

	set_reg(w, SD, 32, a);
	w->scc = scc;
	memcpy(&expected, w, sizeof(*w));
	set_reg(&expected, SD, 32, t->result(a, k, scc));
	expected.scc = t->scc(a, k, scc);
	assert_int_equal(run(w, &in), GFX9_GO);
	check(w, &expected, t->op, a, (u64)(int64_t)k);
}

static void test_sopk(void **state)
{
	static const int16_t constants[] = { 0, 1, 2, 127, -1, -2, INT16_MAX, INT16_MIN, 0x1234 };
	struct world *world = *state;

	for (size_t n = 0; n < ARRAY_SIZE(sopk); n++) {
		for (size_t i = 0; i < nr_values(32); i++) {
			for (size_t j = 0; j < ARRAY_SIZE(constants); j++) {
				u64 a = value(32, i);

				one_sopk(world->w, &sopk[n], a, constants[j], false);
				one_sopk(world->w, &sopk[n], a, constants[j], true);
			}
		}
	}
}

static void one_exec(struct gfx9_wave *w, enum gfx9_op op, unsigned int table, bool saves, u64 a,
		     u64 exec)
{
	struct gfx9_inst in = { .op = (uint16_t)op, .dst = SD, .src = { S0 } };
	struct gfx9_wave expected;
	u64 result = logic(table, a, exec);

	gfx9_set64(w, S0, a);
	gfx9_set64(w, GFX9_EXEC, exec);
	memcpy(&expected, w, sizeof(*w));
	gfx9_set64(&expected, SD, saves ? exec : result);
	gfx9_set64(&expected, GFX9_EXEC, result);
	expected.scc = result > 0;
	assert_int_equal(run(w, &in), GFX9_GO);
	check(w, &expected, op, a, exec);
}

static void check_lanes(struct gfx9_wave *w)
{
	const uint32_t *lanes = gfx9_lanes(w);

	for (unsigned int i = 0; i < GFX9_LANES; i++)
		assert_int_equal(lanes[i], bit(gfx9_exec(w), i) ? UINT32_MAX : 0);
}

static void test_exec(void **state)
{
	static const struct {
		enum gfx9_op op;
		unsigned int table;
		bool saves;
	} ops[] = {
#define X(op, table, saves) { GFX9_##op, table, saves },
		EXEC_OPS(X)
#undef X
	};
	struct gfx9_wave *w = ((struct world *)*state)->w;

	for (size_t n = 0; n < ARRAY_SIZE(ops); n++) {
		for (size_t i = 0; i < nr_values(64); i++) {
			for (size_t j = 0; j < nr_values(64); j++)
				one_exec(w, ops[n].op, ops[n].table, ops[n].saves, value(64, i),
					 value(64, j));
			check_lanes(w);
		}
	}
}

/* EXEC as the destination of its own old value, and half of it as any register. */
static void test_exec_as_operand(void **state)
{
	struct gfx9_wave *w = ((struct world *)*state)->w;
	struct gfx9_inst save = { .op = GFX9_S_AND_SAVEEXEC_B64, .dst = GFX9_EXEC, .src = { S0 } };
	struct gfx9_inst half = { .op = GFX9_S_MOV_B32, .dst = GFX9_EXEC + 1, .src = { 193 } };
	struct gfx9_inst pair = { .op = GFX9_S_MOV_B64, .dst = GFX9_EXEC + 1, .src = { 130 } };

	gfx9_set64(w, GFX9_EXEC, 0xff);
	gfx9_set64(w, S0, 0x3c);
	run(w, &save);
	assert_int_equal(gfx9_exec(w), 0x3c);
	assert_true(w->scc);
	run(w, &half);
	assert_int_equal(gfx9_exec(w), 0xffffffff0000003c);
	check_lanes(w);
	run(w, &pair);
	assert_int_equal(gfx9_exec(w), 2);
	check_lanes(w);
}

/*
 * Operands
 */

static u64 constant(const struct gfx9_wave *w, unsigned int code, bool is64)
{
	static const double numbers[] = { .5, -.5, 1, -1, 2, -2, 4, -4, 0.15915494309189532 };

	if (code >= 128 && code <= 192)
		return code - 128;
	if (code > 192 && code <= 208)
		return ~(u64)(code - 193);
	if (code >= 240 && code <= 248) {
		double d = numbers[code - 240];
		float f = (float)d;
		u64 bits = 0;

		memcpy(&bits, is64 ? (void *)&d : (void *)&f, is64 ? 8 : 4);
		return bits;
	}
	switch (code) {
	case 235:
		return w->shared_base * ((u64)1 << 32);
	case 236:
		return (w->shared_base + (u64)1) * ((u64)1 << 32) - 1;
	case 237:
		return w->private_base * ((u64)1 << 32);
	case 238:
		return (w->private_base + (u64)1) * ((u64)1 << 32) - 1;
	case 251:
		return w->s[106] == 0 && w->s[107] == 0;
	case 252:
		return w->s[126] == 0 && w->s[127] == 0;
	case 253:
		return w->scc;
	case 255:
		return 0x89abcdef;
	default:
		return 0;
	}
}

static void test_operands(void **state)
{
	struct gfx9_wave *w = ((struct world *)*state)->w;

	w->shared_base = 0x10000;
	w->private_base = 0x20000;
	w->status = GFX9_STATUS_PRIV;
	for (unsigned int i = 0; i < 128; i++)
		w->s[i] = (uint32_t)rnd();
	for (unsigned int round = 0; round < 4; round++) {
		w->scc = round & 1;
		gfx9_set64(w, GFX9_VCC, round & 1 ? 0 : (u64)1 << 40);
		gfx9_set64(w, GFX9_EXEC, round & 2 ? 0 : (u64)1 << 40);
		for (unsigned int code = 0; code < 256; code++) {
			struct gfx9_inst in = { .op = GFX9_S_MOV_B32,
						.dst = SD,
						.src = { (uint16_t)code },
						.literal = 0x89abcdef };
			u64 a = constant(w, code, false), b = constant(w, code, true);
			unsigned int even = code / 2 * 2;

			if (code < 128) {
				a = w->s[code];
				b = (u64)w->s[even + 1] << 32 | w->s[even];
			}
			assert_int_equal(gfx9_scalar(w, &in, code), (uint32_t)a);
			assert_int_equal(gfx9_scalar64(w, &in, code), b);
			run(w, &in);
			assert_int_equal(w->s[SD], (uint32_t)a);
			if (code / 2 * 2 == SD)
				continue;
			in.op = GFX9_S_MOV_B64;
			run(w, &in);
			assert_int_equal(gfx9_get64(w, SD), b);
		}
	}
}

/* Only signed operands are sign-extended. */
static void test_literal64(void **state)
{
	static const struct {
		enum gfx9_op op;
		u64 expected;
	} rows[] = {
		{ GFX9_S_LSHR_B64, 0x80000000 >> 4 },
		{ GFX9_S_ASHR_I64, 0xfffffffff8000000 },
		{ GFX9_S_BFE_U64, 0 },
		{ GFX9_S_BFE_I64, 0 },
		{ GFX9_S_OR_B64, 0x80000000 | (u64)4 },
	};
	struct gfx9_wave *w = ((struct world *)*state)->w;
	struct gfx9_inst in = { .dst = SD, .src = { GFX9_LITERAL, S1 }, .literal = 0x80000000 };

	gfx9_set64(w, S1, 4);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		in.op = (uint16_t)rows[i].op;
		run(w, &in);
		assert_int_equal(gfx9_get64(w, SD), rows[i].expected);
	}
	gfx9_set64(w, S1, 0x400000);
	in.op = GFX9_S_BFE_I64;
	run(w, &in);
	assert_int_equal(gfx9_get64(w, SD), 0xffffffff80000000);
	in.op = GFX9_S_BFE_U64;
	run(w, &in);
	assert_int_equal(gfx9_get64(w, SD), 0x80000000);
	in.op = GFX9_S_FLBIT_I32_I64;
	run(w, &in);
	assert_int_equal(w->s[SD], 33);
	in.op = GFX9_S_FLBIT_I32_B64;
	run(w, &in);
	assert_int_equal(w->s[SD], 32);
}

static void test_trap_temporaries(void **state)
{
	struct gfx9_wave *w = ((struct world *)*state)->w;
	struct gfx9_inst put = { .op = GFX9_S_MOV_B64, .dst = 109, .src = { 193 } };
	struct gfx9_inst get = { .op = GFX9_S_MOV_B32, .dst = SD, .src = { 108 } };

	w->s[108] = 77;
	w->s[SD] = 1;
	run(w, &put);
	assert_int_equal(w->s[108], 77);
	run(w, &get);
	assert_int_equal(w->s[SD], 0);
	w->status = GFX9_STATUS_PRIV;
	run(w, &get);
	assert_int_equal(w->s[SD], 77);
	run(w, &put);
	assert_int_equal(gfx9_get64(w, 108), UINT64_MAX);
}

/*
 * Relative moves
 */

static void test_movrel(void **state)
{
	struct gfx9_wave *w = ((struct world *)*state)->w;
	struct gfx9_inst in = { .op = GFX9_S_MOVRELS_B32, .dst = 90, .src = { 2 } };

	for (unsigned int i = 0; i < 108; i++)
		w->s[i] = 1000 + i;
	for (unsigned int i = 0; i < 20; i++)
		w->s_rest[i] = 1108 + i;
	for (unsigned int i = 0; i < 126; i++) {
		w->s[GFX9_M0] = i;
		w->s[90] = 1090;
		run(w, &in);
		assert_int_equal(w->s[90], 1002 + i);
	}
	w->s[GFX9_M0] = 126;
	run(w, &in);
	assert_int_equal(w->s[90], w->s[0]);
	w->s[GFX9_M0] = UINT32_MAX;
	run(w, &in);
	assert_int_equal(w->s[90], 1001);

	in.op = GFX9_S_MOVRELS_B64;
	w->s[GFX9_M0] = 104;
	run(w, &in);
	assert_int_equal(gfx9_get64(w, 90), (u64)1107 << 32 | 1106);

	in.op = GFX9_S_MOVRELD_B32;
	in.dst = 2;
	in.src[0] = 140;
	w->s[GFX9_M0] = 107;
	run(w, &in);
	assert_int_equal(w->s_rest[1], 12);
	w->s[GFX9_M0] = 126;
	run(w, &in);
	in.op = GFX9_S_MOVRELD_B64;
	run(w, &in);
	w->s[GFX9_M0] = 124;
	run(w, &in);
	assert_int_equal(w->s_rest[18], 12);
	assert_int_equal(w->s_rest[19], 0);
	w->s[GFX9_M0] = 104;
	run(w, &in);
	assert_int_equal(gfx9_get64(w, GFX9_VCC), 12);
	assert_int_equal(w->s[0], 1000);
}

static void test_gpr_index(void **state)
{
	struct gfx9_wave *w = ((struct world *)*state)->w;
	struct gfx9_inst on = { .op = GFX9_S_SET_GPR_IDX_ON, .src = { S0, 9 } };
	struct gfx9_inst mode = { .op = GFX9_S_SET_GPR_IDX_MODE, .offset = 0x16 };
	struct gfx9_inst idx = { .op = GFX9_S_SET_GPR_IDX_IDX, .src = { S0 } };
	struct gfx9_inst off = { .op = GFX9_S_SET_GPR_IDX_OFF };

	w->mode = 0x3f0;
	w->s[GFX9_M0] = 0xabcd6fee;
	w->s[S0] = 0x1234;
	run(w, &on);
	assert_int_equal(w->s[GFX9_M0], 0xabcd9f34);
	assert_int_equal(w->mode, 0x3f0 | GFX9_MODE_GPR_IDX);
	run(w, &mode);
	assert_int_equal(w->s[GFX9_M0], 0xabcd6f34);
	w->s[S0] = 0x777;
	run(w, &idx);
	assert_int_equal(w->s[GFX9_M0], 0xabcd6f77);
	run(w, &off);
	assert_int_equal(w->mode, 0x3f0);
	assert_int_equal(w->s[GFX9_M0], 0xabcd6f77);
}

/*
 * Control
 */

static void one_branch(struct gfx9_wave *w, enum gfx9_op op, bool taken, int16_t offset)
{
	struct gfx9_inst in = { .op = (uint16_t)op, .offset = offset };
	struct gfx9_wave expected;

	w->pc = 0x700000;
	memcpy(&expected, w, sizeof(*w));
	if (taken)
		expected.pc = (u64)(0x700000 + (wide)offset * 4);
	assert_int_equal(run(w, &in), GFX9_GO);
	check(w, &expected, op, taken, (u64)(int64_t)offset);
}

static void test_branches(void **state)
{
	static const int16_t offsets[] = { 0, 1, -1, INT16_MAX, INT16_MIN };
	struct gfx9_wave *w = ((struct world *)*state)->w;

	for (unsigned int i = 0; i < 32; i++) {
		bool scc = i & 1, vcc = i & 2, exec = i & 4, user = i & 8, sys = i & 16;

		w->scc = scc;
		gfx9_set64(w, GFX9_VCC, vcc ? (u64)1 << (i * 2) : 0);
		gfx9_set64(w, GFX9_EXEC, exec ? (u64)1 << (63 - i) : 0);
		w->status = user << 20 | sys << 21;
		for (size_t j = 0; j < ARRAY_SIZE(offsets); j++) {
#define X(op, taken) one_branch(w, GFX9_##op, taken, offsets[j]);
			BRANCHES(X)
#undef X
		}
	}
}

static void test_jumps(void **state)
{
	struct gfx9_wave *w = ((struct world *)*state)->w;
	struct gfx9_inst in = { .dst = SD, .src = { S0 }, .offset = -3 };

	w->pc = 0x123456789abc;
	in.op = GFX9_S_GETPC_B64;
	run(w, &in);
	assert_int_equal(gfx9_get64(w, SD), 0x123456789abc);
	in.op = GFX9_S_CALL_B64;
	run(w, &in);
	assert_int_equal(gfx9_get64(w, SD), 0x123456789abc);
	assert_int_equal(w->pc, 0x123456789ab0);
	gfx9_set64(w, S0, 0x7f0000001000);
	in.op = GFX9_S_SETPC_B64;
	run(w, &in);
	assert_int_equal(w->pc, 0x7f0000001000);
	in.op = GFX9_S_SWAPPC_B64;
	in.dst = S0;
	gfx9_set64(w, S0, 0xffff000000002003);
	run(w, &in);
	assert_int_equal(w->pc, 0x2000);
	assert_int_equal(gfx9_get64(w, S0), 0x7f0000001000);
}

static void test_rfe(void **state)
{
	static const enum gfx9_op ops[] = { GFX9_S_RFE_B64, GFX9_S_RFE_RESTORE_B64 };
	struct gfx9_wave *w = ((struct world *)*state)->w;

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		struct gfx9_inst in = { .op = (uint16_t)ops[i], .src = { GFX9_TTMP0, 128 } };

		w->pc = 0x1000;
		w->status = 0x40;
		gfx9_set64(w, GFX9_TTMP0, 0x01ff7f1234567890);
		assert_int_equal(run(w, &in), GFX9_ILLEGAL);
		assert_int_equal(w->pc, 0x1000);
		w->status = 0x40 | GFX9_STATUS_PRIV;
		assert_int_equal(run(w, &in), GFX9_GO);
		assert_int_equal(w->pc, 0x7f1234567890);
		assert_int_equal(w->status, 0x40);
		w->status = GFX9_STATUS_HALT | GFX9_STATUS_PRIV;
		assert_int_equal(run(w, &in), GFX9_HALT);
		assert_int_equal(w->status, GFX9_STATUS_HALT);
	}
}

/* Opcode, constant, why it stops. */
static void test_stops(void **state)
{
	static const struct {
		enum gfx9_op op;
		int16_t imm;
		enum gfx9_stop stop;
	} rows[] = {
		{ GFX9_S_NOP, 7, GFX9_GO },
		{ GFX9_S_WAITCNT, 0, GFX9_GO },
		{ GFX9_S_WAKEUP, 0, GFX9_GO },
		{ GFX9_S_INCPERFLEVEL, 3, GFX9_GO },
		{ GFX9_S_DECPERFLEVEL, 3, GFX9_GO },
		{ GFX9_S_TTRACEDATA, 0, GFX9_GO },
		{ GFX9_S_DCACHE_INV, 0, GFX9_GO },
		{ GFX9_S_DCACHE_INV_VOL, 0, GFX9_GO },
		{ GFX9_S_DCACHE_WB, 0, GFX9_GO },
		{ GFX9_S_DCACHE_WB_VOL, 0, GFX9_GO },
		{ GFX9_S_DCACHE_DISCARD, 0, GFX9_GO },
		{ GFX9_S_DCACHE_DISCARD_X2, 0, GFX9_GO },
		{ GFX9_S_ATC_PROBE, 0, GFX9_GO },
		{ GFX9_S_ATC_PROBE_BUFFER, 0, GFX9_GO },
		{ GFX9_S_ENDPGM, 0, GFX9_ENDPGM },
		{ GFX9_S_ENDPGM_SAVED, 0, GFX9_ENDPGM_SAVED },
		{ GFX9_S_SETKILL, 0, GFX9_GO },
		{ GFX9_S_SETKILL, 1, GFX9_ENDPGM },
		{ GFX9_S_BARRIER, 0, GFX9_BARRIER },
		{ GFX9_S_SLEEP, 0, GFX9_GO },
		{ GFX9_S_SLEEP, 0x80, GFX9_GO },
		{ GFX9_S_SLEEP, 1, GFX9_SLEEP },
		{ GFX9_S_SLEEP, 127, GFX9_SLEEP },
	};
	struct gfx9_wave *w = ((struct world *)*state)->w;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct gfx9_inst in = { .op = (uint16_t)rows[i].op, .offset = rows[i].imm };
		struct gfx9_wave expected;

		memcpy(&expected, w, sizeof(*w));
		assert_int_equal(run(w, &in), rows[i].stop);
		check(w, &expected, rows[i].op, 0, 0);
	}
}

static void test_messages(void **state)
{
	struct gfx9_wave *w = ((struct world *)*state)->w;
	struct gfx9_inst in = { .op = GFX9_S_TRAP, .offset = 0x1fe };

	assert_int_equal(run(w, &in), GFX9_TRAP);
	assert_int_equal(w->trap_id, 0xfe);
	in.op = GFX9_S_SENDMSG;
	in.offset = 4;
	assert_int_equal(run(w, &in), GFX9_MESSAGE);
	assert_int_equal(w->message, 4);
	assert_int_equal(w->status, 0);
	in.op = GFX9_S_SENDMSGHALT;
	in.offset = -1;
	assert_int_equal(run(w, &in), GFX9_MESSAGE);
	assert_int_equal(w->message, 1023);
	assert_int_equal(w->status, GFX9_STATUS_HALT);

	in.op = GFX9_S_SETHALT;
	in.offset = 0;
	assert_int_equal(run(w, &in), GFX9_GO);
	assert_int_equal(w->status, 0);
	in.offset = 1;
	assert_int_equal(run(w, &in), GFX9_HALT);
	assert_int_equal(w->status, GFX9_STATUS_HALT);
	w->status = GFX9_STATUS_PRIV;
	assert_int_equal(run(w, &in), GFX9_GO);
	assert_int_equal(w->status, GFX9_STATUS_PRIV | GFX9_STATUS_HALT);

	in.op = GFX9_S_SETPRIO;
	in.offset = 6;
	assert_int_equal(run(w, &in), GFX9_GO);
	assert_int_equal(w->status, GFX9_STATUS_PRIV | GFX9_STATUS_HALT | 2 << 3);
	assert_int_equal(GFX9_STATUS_USER_PRIO(w->status), 2);

	in.op = GFX9_S_ICACHE_INV;
	assert_int_equal(run(w, &in), GFX9_SLEEP);
	assert_true(w->icache_stale);
}

/* In nanoseconds, and in ticks of 100 MHz. */
static void test_clock(void **state)
{
	struct gfx9_inst in = { .op = GFX9_S_MEMTIME, .dst = SD };
	struct gfx9_wave *w = ((struct world *)*state)->w;

	w->clock = 0x123456789abcdef0;
	run(w, &in);
	assert_int_equal(gfx9_get64(w, SD), 0x123456789abcdef0);
	in.op = GFX9_S_MEMREALTIME;
	run(w, &in);
	assert_int_equal(gfx9_get64(w, SD), 0x123456789abcdef0 / 10);
}

/*
 * Hardware registers
 */

static int32_t hwreg(unsigned int id, unsigned int low, unsigned int size)
{
	return (int16_t)(id | low << 6 | (size - 1) << 11);
}

static uint32_t getreg(struct gfx9_wave *w, unsigned int id, unsigned int low, unsigned int size)
{
	struct gfx9_inst in = { .op = GFX9_S_GETREG_B32, .dst = SD };

	in.offset = hwreg(id, low, size);
	assert_int_equal(run(w, &in), GFX9_GO);
	return w->s[SD];
}

static void setreg(struct gfx9_wave *w, unsigned int id, unsigned int low, unsigned int size,
		   uint32_t to)
{
	struct gfx9_inst in = { .op = GFX9_S_SETREG_B32, .dst = SD, .literal = to };

	in.offset = hwreg(id, low, size);
	w->s[SD] = to;
	if (rnd() & 1)
		in.op = GFX9_S_SETREG_IMM32_B32;
	assert_int_equal(run(w, &in), GFX9_GO);
}

static void test_getreg(void **state)
{
	struct gfx9_wave *w = ((struct world *)*state)->w;

	w->mode = 0x080003f0;
	w->status = 0x01234040;
	w->trapsts = 0x11111111;
	w->hw_id = 0x22222222;
	w->gpr_alloc = 0x33333333;
	w->lds_alloc = 0x44444444;
	w->ib_sts = 0x55555555;
	w->private_base = 0x00020000;
	w->shared_base = 0x00010000;
	w->tba = 0x00007fabcdef1200;
	w->tma = 0x00007fabcdef2a00;
	w->xcc_id = 5;
	w->scc = true;
	gfx9_set64(w, GFX9_VCC, 1);
	assert_int_equal(getreg(w, 1, 0, 32), 0x080003f0);
	assert_int_equal(getreg(w, 1, 4, 4), 0xf);
	assert_int_equal(getreg(w, 1, 27, 32), 1);
	assert_int_equal(getreg(w, 2, 0, 32), 0x01234040 | 1 | 1 << 9);
	gfx9_set64(w, GFX9_VCC, 0);
	gfx9_set64(w, GFX9_EXEC, (u64)1 << 63);
	w->scc = false;
	assert_int_equal(getreg(w, 2, 0, 32), 0x01234040 | 1 << 10);
	assert_int_equal(getreg(w, 3, 0, 32), 0x11111111);
	assert_int_equal(getreg(w, 4, 0, 32), 0x22222222);
	assert_int_equal(getreg(w, 5, 24, 3), 3);
	assert_int_equal(getreg(w, 6, 12, 9), 0x44);
	assert_int_equal(getreg(w, 7, 0, 32), 0x55555555);
	assert_int_equal(getreg(w, 15, 0, 16), 2);
	assert_int_equal(getreg(w, 15, 16, 16), 1);
	assert_int_equal(getreg(w, 20, 0, 4), 5);
	for (unsigned int id = 16; id < 20; id++)
		assert_int_equal(getreg(w, id, 0, 32), 0);
	w->status |= GFX9_STATUS_PRIV;
	assert_int_equal(getreg(w, 16, 0, 32), 0xabcdef12);
	assert_int_equal(getreg(w, 17, 0, 32), 0x7f);
	assert_int_equal(getreg(w, 18, 0, 32), 0xabcdef2a);
	assert_int_equal(getreg(w, 19, 0, 32), 0x7f);
	for (unsigned int id = 21; id < 64; id++)
		assert_int_equal(getreg(w, id, 0, 32), 0);
	assert_int_equal(getreg(w, 0, 0, 32), 0);
}

static void test_setreg(void **state)
{
	struct gfx9_wave *w = ((struct world *)*state)->w;

	w->status = 0x40;
	setreg(w, 1, 4, 8, 0xabcd);
	assert_int_equal(w->mode, 0xcd0);
	setreg(w, 1, 0, 32, 0xffffffff);
	assert_int_equal(w->mode, 0xffffffff);
	setreg(w, 1, 28, 16, 0);
	assert_int_equal(w->mode, 0x0fffffff);
	setreg(w, 2, 0, 32, 0xffffffff);
	assert_int_equal(w->status, 0x40);
	assert_false(w->scc);
	setreg(w, 3, 0, 32, 0xffffffff);
	assert_int_equal(w->trapsts, 0x1ff);
	setreg(w, 7, 0, 32, 0xffffffff);
	assert_int_equal(w->ib_sts, 0);

	w->status = GFX9_STATUS_PRIV;
	setreg(w, 2, 0, 1, 1);
	assert_true(w->scc);
	assert_int_equal(w->status, GFX9_STATUS_PRIV);
	setreg(w, 2, 3, 29, 0);
	assert_true(w->scc);
	assert_int_equal(w->status, GFX9_STATUS_PRIV);
	setreg(w, 2, 3, 29, 0x1fffffff);
	assert_int_equal(w->status, 0xfffff9f8);
	setreg(w, 2, 0, 32, 0);
	assert_false(w->scc);
	assert_int_equal(w->status, GFX9_STATUS_PRIV);
	setreg(w, 3, 10, 1, 1);
	assert_int_equal(w->trapsts, 0x5ff);
	setreg(w, 7, 0, 32, 0x1234);
	assert_int_equal(w->ib_sts, 0x1234);
	for (unsigned int id = 4; id < 64; id++)
		if (id != 7)
			setreg(w, id, 0, 32, 0xffffffff);
	assert_int_equal(w->gpr_alloc | w->lds_alloc | w->hw_id | w->xcc_id, 0);
	assert_int_equal(w->tba | w->tma, 0);
}

/*
 * Memory
 */

static uint32_t peek(const struct world *t, u64 va)
{
	uint32_t x;

	memcpy(&x, &t->ram[va - RAM], 4);
	return x;
}

static void set_buffer(struct gfx9_wave *w, u64 base, uint32_t records, uint32_t stride)
{
	w->s[BASE] = (uint32_t)base;
	w->s[BASE + 1] = (uint32_t)(base >> 32) | stride << 16;
	w->s[BASE + 2] = records;
	w->s[BASE + 3] = 0;
}

/* A load of @n dwords gives @expected, or is a fault at @bad and changes no register. */
static void one_load(struct world *t, const struct gfx9_inst *in, unsigned int n,
		     const uint32_t *expected)
{
	struct gfx9_wave *w = t->w, before;

	for (unsigned int i = 0; i < n; i++)
		w->s[in->dst + i] = (uint32_t)rnd();
	memcpy(&before, w, sizeof(*w));
	if (expected) {
		memcpy(&before.s[in->dst], expected, (size_t)n * 4);
		assert_int_equal(run(w, in), GFX9_GO);
	} else {
		assert_int_equal(run(w, in), GFX9_FAULT);
		assert_false(w->fault.write);
		memcpy(&before.fault, &w->fault, sizeof(w->fault));
	}
	check(w, &before, in->op, n, 0);
}

static void loads(struct world *t, enum gfx9_op plain, enum gfx9_op buffer, enum gfx9_op scratch,
		  unsigned int n)
{
	struct gfx9_wave *w = t->w;
	struct gfx9_inst in = {
		.op = (uint16_t)plain, .dst = 32, .src = { BASE, S0 }, .imm = true
	};
	uint32_t expected[16] = { 0 };

	/* An immediate, below the base too; across pages; the lowest bits do not count. */
	for (u64 va = RAM; va + n * 4 <= RAM + sizeof(t->ram); va += va % 0x400 ? 0x3fc : 4) {
		gfx9_set64(w, BASE, va + 0x103);
		in.offset = -0x100 + 2;
		for (unsigned int i = 0; i < n; i++)
			expected[i] = peek(t, va + i * 4);
		one_load(t, &in, n, expected);
	}
	gfx9_set64(w, BASE, RAM + EMU_PAGE - 4);
	in.offset = 0;
	for (unsigned int i = 0; i < n; i++)
		expected[i] = peek(t, RAM + EMU_PAGE - 4 + i * 4);
	one_load(t, &in, n, expected);
	/* A register, and both. */
	in.imm = false;
	w->s[S0] = 8 | 3;
	for (unsigned int i = 0; i < n; i++)
		expected[i] = peek(t, RAM + EMU_PAGE + 4 + i * 4);
	one_load(t, &in, n, expected);
	in.imm = in.soffset_en = true;
	in.offset = 16;
	for (unsigned int i = 0; i < n; i++)
		expected[i] = peek(t, RAM + EMU_PAGE + 20 + i * 4);
	one_load(t, &in, n, expected);
	/* Not mapped, wholly or in part. */
	in.soffset_en = false;
	in.offset = 0;
	gfx9_set64(w, BASE, 0xdead0000beef0000);
	one_load(t, &in, n, NULL);
	assert_int_equal(w->fault.address, 0xdead0000beef0000);
	if (n > 1) {
		gfx9_set64(w, BASE, RAM + 2 * EMU_PAGE - 4);
		one_load(t, &in, n, NULL);
		assert_int_equal(w->fault.address, RAM + 2 * EMU_PAGE);
	}

	in.op = (uint16_t)buffer;
	for (uint32_t size = 0; size <= n * 4 + 4; size++) {
		set_buffer(w, RAM + 0x100, size, 0);
		in.offset = 4;
		for (unsigned int i = 0; i < n; i++)
			expected[i] = 4 + i * 4 + 4 <= size ? peek(t, RAM + 0x104 + i * 4) : 0;
		one_load(t, &in, n, expected);
	}
	memset(expected, 0, sizeof(expected));
	set_buffer(w, RAM, 10, 8);
	in.offset = 76;
	expected[0] = peek(t, RAM + 76);
	one_load(t, &in, n, expected);
	set_buffer(w, RAM + 2 * EMU_PAGE, UINT32_MAX, 0);
	one_load(t, &in, n, NULL);
	set_buffer(w, RAM, 0x124, 0);
	in.soffset_en = true;
	in.offset = -16;
	w->s[S0] = 0x130;
	expected[0] = peek(t, RAM + 0x120);
	one_load(t, &in, n, expected);

	if (scratch == GFX9_INVALID)
		return;
	in.op = (uint16_t)scratch;
	in.soffset_en = true;
	in.offset = 8;
	gfx9_set64(w, BASE, RAM);
	w->s[S0] = 4;
	for (unsigned int i = 0; i < n; i++)
		expected[i] = peek(t, RAM + 256 + 8 + i * 4);
	one_load(t, &in, n, expected);
}

static void test_loads(void **state)
{
#define X(plain, buffer, scratch, n) loads(*state, GFX9_##plain, GFX9_##buffer, GFX9_##scratch, n);
	LOADS(X)
#undef X
}

/* A store of @n dwords at @va changes @present of them and nothing else; @va 0: a fault. */
static void one_store(struct world *t, const struct gfx9_inst *in, unsigned int n, u64 va,
		      unsigned int present)
{
	static uint8_t expected[sizeof(t->ram)];
	struct gfx9_wave *w = t->w, before;

	for (unsigned int i = 0; i < n; i++)
		w->s[in->dst + i] = (uint32_t)rnd();
	memcpy(expected, t->ram, sizeof(expected));
	if (va)
		memcpy(&expected[va - RAM], &w->s[in->dst], (size_t)present * 4);
	memcpy(&before, w, sizeof(*w));
	before.stored = true;
	assert_int_equal(run(w, in), va ? GFX9_GO : GFX9_FAULT);
	if (!va) {
		assert_true(w->fault.write);
		memcpy(&before.fault, &w->fault, sizeof(w->fault));
	}
	check(w, &before, in->op, n, va);
	assert_memory_equal(expected, t->ram, sizeof(expected));
}

static void stores(struct world *t, enum gfx9_op plain, enum gfx9_op buffer, enum gfx9_op scratch,
		   unsigned int n)
{
	struct gfx9_wave *w = t->w;
	struct gfx9_inst in = {
		.op = (uint16_t)plain, .dst = 32, .src = { BASE, S0 }, .imm = true
	};

	gfx9_set64(w, BASE, RAM + EMU_PAGE - 4);
	one_store(t, &in, n, RAM + EMU_PAGE - 4, n);
	in.offset = -64;
	one_store(t, &in, n, RAM + EMU_PAGE - 68, n);
	in.soffset_en = true;
	w->s[S0] = 32;
	one_store(t, &in, n, RAM + EMU_PAGE - 36, n);
	in.soffset_en = false;
	gfx9_set64(w, BASE, ROM + 128);
	one_store(t, &in, n, 0, n);
	assert_int_equal(w->fault.address, ROM + 64);

	in.op = (uint16_t)buffer;
	in.offset = 12;
	for (uint32_t size = 0; size <= n * 4 + 12; size++) {
		set_buffer(w, RAM + 0x200, size, 0);
		one_store(t, &in, n, RAM + 0x20c, size < 12 ? 0 : (size - 12) / 4);
	}
	set_buffer(w, ROM, UINT32_MAX, 0);
	one_store(t, &in, n, 0, n);

	in.op = (uint16_t)scratch;
	in.imm = false;
	gfx9_set64(w, BASE, RAM);
	w->s[S0] = 20;
	one_store(t, &in, n, RAM + 20 * 64, n);
}

static void test_stores(void **state)
{
#define X(plain, buffer, scratch, n) stores(*state, GFX9_##plain, GFX9_##buffer, GFX9_##scratch, n);
	STORES(X)
#undef X
}

/* Registers that a load must not, or cannot, write. */
static void test_load_targets(void **state)
{
	struct world *t = *state;
	struct gfx9_wave *w = t->w;
	struct gfx9_inst in = { .op = GFX9_S_LOAD_DWORDX16, .src = { BASE }, .imm = true };

	gfx9_set64(w, BASE, RAM);
	in.dst = GFX9_TTMP0;
	run(w, &in);
	for (unsigned int i = 0; i < 16; i++)
		assert_int_equal(w->s[GFX9_TTMP0 + i], 0);
	w->status = GFX9_STATUS_PRIV;
	run(w, &in);
	for (unsigned int i = 0; i < 16; i++)
		assert_int_equal(w->s[GFX9_TTMP0 + i], peek(t, RAM + i * 4));
	in.dst = 127;
	run(w, &in);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(w->s[124 + i], peek(t, RAM + i * 4));
	check_lanes(w);
}

struct atomic {
	enum gfx9_op op;
	unsigned int width;
	bool buffer;
	u64 (*result)(u64 m, u64 x, u64 c, unsigned int width);
};

#define X(op, expr)                                                     \
	static u64 atomic_##op(u64 m, u64 x, u64 c, unsigned int width) \
	{                                                               \
		(void)m, (void)x, (void)c, (void)width;                 \
		return (expr);                                          \
	}
ATOMICS(X)
#undef X

static const struct atomic atomics[] = {
#define X(op, expr)                                                   \
	{ GFX9_S_ATOMIC_##op, 32, false, atomic_##op },               \
		{ GFX9_S_ATOMIC_##op##_X2, 64, false, atomic_##op },  \
		{ GFX9_S_BUFFER_ATOMIC_##op, 32, true, atomic_##op }, \
		{ GFX9_S_BUFFER_ATOMIC_##op##_X2, 64, true, atomic_##op },
	ATOMICS(X)
#undef X
};

static void one_atomic(struct world *t, const struct atomic *a, u64 m, u64 x, u64 c, bool glc)
{
	struct gfx9_wave *w = t->w, expected;
	struct gfx9_inst in = { .op = (uint16_t)a->op,
				.dst = SD,
				.src = { BASE, S0 },
				.imm = true,
				.soffset_en = true,
				.offset = -8,
				.glc = glc };
	u64 now = 0;

	set_buffer(w, RAM, 16, 0);
	w->s[S0] = 16;
	memcpy(&t->ram[8], &m, a->width / 8);
	set_reg(w, SD, a->width, x);
	set_reg(w, SD + a->width / 32, a->width, c);
	memcpy(&expected, w, sizeof(*w));
	if (glc)
		set_reg(&expected, SD, a->width, m);
	assert_int_equal(run(w, &in), GFX9_GO);
	check(w, &expected, a->op, m, x);
	memcpy(&now, &t->ram[8], a->width / 8);
	assert_int_equal(now, a->result(m, x, c, a->width) & mask_of(a->width));
}

static void test_atomics(void **state)
{
	struct world *t = *state;

	for (size_t n = 0; n < ARRAY_SIZE(atomics); n++) {
		const struct atomic *a = &atomics[n];

		for (size_t i = 0; i < nr_values(a->width); i++) {
			for (size_t j = 0; j < nr_values(a->width); j++) {
				u64 m = value(a->width, i), x = value(a->width, j);

				one_atomic(t, a, m, x, j & 1 ? m : x, i & 1);
			}
		}
	}
}

static void test_atomic_faults(void **state)
{
	struct world *t = *state;
	struct gfx9_wave *w = t->w;
	uint8_t before[64];

	for (size_t n = 0; n < ARRAY_SIZE(atomics); n++) {
		struct gfx9_inst in = { .op = (uint16_t)atomics[n].op,
					.dst = SD,
					.src = { BASE },
					.imm = true,
					.glc = true };

		set_buffer(w, ROM, 64, 0);
		gfx9_set64(w, SD, 0x1111111122222222);
		assert_int_equal(run(w, &in), GFX9_FAULT);
		assert_int_equal(w->fault.address, ROM);
		assert_true(w->fault.write);
		assert_int_equal(gfx9_get64(w, SD), 0x1111111122222222);
		if (!atomics[n].buffer)
			continue;
		set_buffer(w, RAM, atomics[n].width / 8 - 1, 0);
		memcpy(before, t->ram, sizeof(before));
		assert_int_equal(run(w, &in), GFX9_GO);
		assert_memory_equal(before, t->ram, sizeof(before));
		assert_int_equal(gfx9_get64(w, SD) & mask_of(atomics[n].width), 0);
	}
}

/*
 * Any instruction that decodes, on a wave in any state
 */

static uint32_t random_word(void)
{
	static const uint32_t prefix[][2] = {
		/* bits, mask: SOP2, SOPK, SOP1, SOPC, SOPP, SMEM */
		{ 0x80000000, 0x3fffffff }, { 0xb0000000, 0x0fffffff }, { 0xbe800000, 0x007fffff },
		{ 0xbf000000, 0x007fffff }, { 0xbf800000, 0x007fffff }, { 0xc0000000, 0x03ffffff },
	};
	size_t i = rnd() % ARRAY_SIZE(prefix);

	return prefix[i][0] | ((uint32_t)rnd() & prefix[i][1]);
}

static void random_wave(struct gfx9_wave *w)
{
	for (unsigned int i = 0; i < 128; i++)
		w->s[i] = (uint32_t)rnd() >> (rnd() & 31);
	for (unsigned int i = 0; i < 64; i += 2)
		if (rnd() & 1)
			gfx9_set64(w, i, RAM + rnd() % (4 * EMU_PAGE));
	for (unsigned int i = 0; i < ARRAY_SIZE(w->s_rest); i++)
		w->s_rest[i] = (uint32_t)rnd();
	w->scc = rnd() & 1;
	w->mode = (uint32_t)rnd();
	w->status = (uint32_t)rnd() & ~0x601u;
	w->trapsts = (uint32_t)rnd();
	w->pc = rnd() & ~(u64)3;
	w->clock = rnd();
}

static void test_random(void **state)
{
	struct world *t = *state;
	struct gfx9_wave *w = t->w;
	unsigned int ran = 0;

	for (unsigned int i = 0; i < 400000; i++) {
		uint32_t words[3] = { random_word(), (uint32_t)rnd(), (uint32_t)rnd() };
		struct gfx9_inst in;
		enum gfx9_stop stop;
		u64 pc;

		if (rnd() & 1)
			words[1] &= 0x1fff;
		if (gfx9_decode((enum gfx9_target)(i & 1), words, 3, &in) < 0 ||
		    !gfx9_scalar_ops[in.op])
			continue;
		random_wave(w);
		pc = w->pc;
		stop = gfx9_scalar_ops[in.op](w, &in);
		assert_in_range(stop, GFX9_GO, GFX9_ILLEGAL);
		if (stop == GFX9_FAULT)
			assert_int_equal(w->pc, pc);
		assert_ptr_equal(w->tlb, &t->tlb);
		assert_null(w->v);
		assert_int_equal(w->status & 0x601, 0);
		check_lanes(w);
		ran++;
	}
	assert_in_range(ran, 100000, 400000);
}

/* Last: every opcode was tested, and unexecuted ones are known by name. */
static void test_coverage(void **state)
{
	static const enum gfx9_op refused[] = {
		GFX9_S_CBRANCH_G_FORK, GFX9_S_CBRANCH_I_FORK,	      GFX9_S_CBRANCH_JOIN,
		GFX9_S_SETVSKIP,       GFX9_S_ENDPGM_ORDERED_PS_DONE,
	};
	unsigned int missing = 0, executed = 0;

	(void)state;
	for (unsigned int op = 0; op < GFX9_OPS; op++) {
		bool scalar = !strncmp(gfx9_op_name((enum gfx9_op)op), "s_", 2), is_refused = false;

		/* Waves wait there; test_kfd_gws.c has all of them. */
		if (!strncmp(gfx9_op_name((enum gfx9_op)op), "ds_gws_", 7))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
			is_refused |= refused[i] == op;
		if (!!gfx9_scalar_ops[op] != (scalar && !is_refused) ||
		    !!gfx9_scalar_ops[op] != covered[op]) {
			print_error("%s: %s, %s\n", gfx9_op_name((enum gfx9_op)op),
				    gfx9_scalar_ops[op] ? "executed" : "not executed",
				    covered[op] ? "tested" : "not tested");
			missing++;
		}
		executed += !!gfx9_scalar_ops[op];
	}
	assert_int_equal(missing, 0);
	print_message("%u scalar opcodes\n", executed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_alu),
		TEST(test_sopk),
		TEST(test_exec),
		TEST(test_exec_as_operand),
		TEST(test_operands),
		TEST(test_literal64),
		TEST(test_trap_temporaries),
		TEST(test_movrel),
		TEST(test_gpr_index),
		TEST(test_branches),
		TEST(test_jumps),
		TEST(test_rfe),
		TEST(test_stops),
		TEST(test_messages),
		TEST(test_clock),
		TEST(test_getreg),
		TEST(test_setreg),
		TEST(test_loads),
		TEST(test_stores),
		TEST(test_load_targets),
		TEST(test_atomics),
		TEST(test_atomic_faults),
		TEST(test_random),
		TEST(test_coverage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
