// SPDX-License-Identifier: MIT
/*
 * Which opcodes that the decoder knows are executed. Each one that is not must be listed here with
 * its reason, so that none is forgotten, and none becomes executed unnoticed; and opcodes that
 * programs were seen to use must be executed.
 */
#include "../unit/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "emu/gfx9/exec_mfma.h"
#include "emu/gfx9/trust.h"

static const char *const targets[GFX9_TARGETS] = { "gfx90a", "gfx942" };

/*
 * Found in the context-save handlers of the Linux kernel, in OpenCL kernels as clang 14 and 19
 * compile them, in ROCr's kernels and trap handler, and in parts of rocRAND and rocSPARSE. The
 * image instructions of one of them do not exist on these targets.
 */
/* clang-format off */
#define USED(X) \
	X(BUFFER_LOAD_DWORD) X(BUFFER_LOAD_FORMAT_XYZW) X(BUFFER_STORE_DWORD) \
	X(BUFFER_STORE_DWORDX2) X(BUFFER_STORE_FORMAT_XYZW) X(BUFFER_WBINVL1_VOL) \
	X(DS_ADD_U32) X(DS_BPERMUTE_B32) X(DS_CMPST_RTN_B32) X(DS_READ2_B32) X(DS_READ2_B64) \
	X(DS_READ2ST64_B32) X(DS_READ2ST64_B64) X(DS_READ_B128) X(DS_READ_B32) X(DS_READ_B64) \
	X(DS_READ_B96) X(DS_READ_U16) X(DS_READ_U8) X(DS_WRITE2_B32) X(DS_WRITE2_B64) \
	X(DS_WRITE2ST64_B32) X(DS_WRITE2ST64_B64) X(DS_WRITE_B128) X(DS_WRITE_B16) \
	X(DS_WRITE_B32) X(DS_WRITE_B64) X(DS_WRITE_B8) X(FLAT_LOAD_DWORD) \
	X(FLAT_LOAD_DWORDX2) X(FLAT_LOAD_DWORDX4) X(FLAT_LOAD_UBYTE) X(FLAT_STORE_BYTE) \
	X(FLAT_STORE_DWORD) X(FLAT_STORE_DWORDX2) X(FLAT_STORE_DWORDX4) X(GLOBAL_ATOMIC_ADD) \
	X(GLOBAL_ATOMIC_AND) X(GLOBAL_ATOMIC_CMPSWAP) X(GLOBAL_ATOMIC_CMPSWAP_X2) \
	X(GLOBAL_ATOMIC_OR) X(GLOBAL_ATOMIC_SMAX) X(GLOBAL_ATOMIC_SMIN) X(GLOBAL_ATOMIC_SUB) \
	X(GLOBAL_ATOMIC_SWAP) X(GLOBAL_ATOMIC_UMAX_X2) X(GLOBAL_ATOMIC_UMIN_X2) \
	X(GLOBAL_ATOMIC_XOR) X(GLOBAL_LOAD_DWORD) X(GLOBAL_LOAD_DWORDX2) \
	X(GLOBAL_LOAD_DWORDX3) X(GLOBAL_LOAD_DWORDX4) X(GLOBAL_LOAD_UBYTE) \
	X(GLOBAL_LOAD_USHORT) X(GLOBAL_STORE_BYTE) X(GLOBAL_STORE_BYTE_D16_HI) \
	X(GLOBAL_STORE_DWORD) X(GLOBAL_STORE_DWORDX2) X(GLOBAL_STORE_DWORDX3) \
	X(GLOBAL_STORE_DWORDX4) X(GLOBAL_STORE_SHORT) X(GLOBAL_STORE_SHORT_D16_HI) \
	X(S_ADD_I32) X(S_ADD_U32) X(S_ADDC_U32) X(S_ADDK_I32) X(S_AND_B32) X(S_AND_B64) \
	X(S_AND_SAVEEXEC_B64) X(S_ANDN2_B32) X(S_ANDN2_B64) X(S_ANDN2_SAVEEXEC_B64) \
	X(S_ASHR_I32) X(S_ASHR_I64) X(S_ATOMIC_ADD) X(S_ATOMIC_ADD_X2) X(S_BARRIER) \
	X(S_BCNT1_I32_B64) X(S_BFE_U32) X(S_BFE_U64) X(S_BITCMP0_B32) X(S_BITCMP1_B32) \
	X(S_BITSET0_B32) X(S_BITSET1_B32) X(S_BRANCH) X(S_BREV_B32) X(S_BUFFER_LOAD_DWORD) \
	X(S_BUFFER_LOAD_DWORDX16) X(S_BUFFER_STORE_DWORD) X(S_BUFFER_STORE_DWORDX4) \
	X(S_CBRANCH_EXECNZ) X(S_CBRANCH_EXECZ) X(S_CBRANCH_SCC0) X(S_CBRANCH_SCC1) \
	X(S_CBRANCH_VCCNZ) X(S_CBRANCH_VCCZ) X(S_CMP_EQ_U32) X(S_CMP_EQ_U64) X(S_CMP_GE_I32) \
	X(S_CMP_GE_U32) X(S_CMP_GT_I32) X(S_CMP_GT_U32) X(S_CMP_LE_I32) X(S_CMP_LE_U32) \
	X(S_CMP_LG_U32) X(S_CMP_LG_U64) X(S_CMP_LT_I32) X(S_CMP_LT_U32) X(S_CMPK_EQ_I32) \
	X(S_CMPK_LG_I32) X(S_CMPK_LT_I32) X(S_CMPK_LT_U32) X(S_CSELECT_B32) X(S_CSELECT_B64) \
	X(S_DCACHE_WB) X(S_ENDPGM) X(S_ENDPGM_SAVED) X(S_FF1_I32_B32) X(S_FF1_I32_B64) \
	X(S_GETPC_B64) X(S_GETREG_B32) X(S_LOAD_DWORD) X(S_LOAD_DWORDX16) X(S_LOAD_DWORDX2) \
	X(S_LOAD_DWORDX4) X(S_LOAD_DWORDX8) X(S_LSHL_B32) X(S_LSHL_B64) X(S_LSHR_B32) \
	X(S_LSHR_B64) X(S_MAX_I32) X(S_MEMREALTIME) X(S_MIN_I32) X(S_MIN_U32) X(S_MOV_B32) \
	X(S_MOV_B64) X(S_MOVK_I32) X(S_MOVRELD_B64) X(S_MOVRELS_B64) X(S_MUL_HI_I32) \
	X(S_MUL_HI_U32) X(S_MUL_I32) X(S_MULK_I32) X(S_NOP) X(S_NOT_B32) X(S_OR_B32) \
	X(S_OR_B64) X(S_OR_SAVEEXEC_B64) X(S_ORN2_B64) X(S_RFE_B64) X(S_SENDMSG) \
	X(S_SET_GPR_IDX_OFF) X(S_SET_GPR_IDX_ON) X(S_SETPC_B64) X(S_SETREG_B32) \
	X(S_SETREG_IMM32_B32) X(S_SLEEP) X(S_STORE_DWORD) X(S_STORE_DWORDX2) \
	X(S_STORE_DWORDX4) X(S_SUB_I32) X(S_SUB_U32) X(S_SUBB_U32) X(S_SWAPPC_B64) X(S_TRAP) \
	X(S_WAITCNT) X(S_XOR_B32) X(S_XOR_B64) X(SCRATCH_LOAD_DWORD) X(SCRATCH_LOAD_DWORDX2) \
	X(SCRATCH_STORE_DWORD) X(SCRATCH_STORE_DWORDX3) X(SCRATCH_STORE_DWORDX4) \
	X(V_ACCVGPR_READ_B32) X(V_ACCVGPR_WRITE_B32) X(V_ADD3_U32) X(V_ADD_CO_U32) \
	X(V_ADD_F32) X(V_ADD_F64) X(V_ADD_LSHL_U32) X(V_ADD_U16) X(V_ADD_U32) \
	X(V_ADDC_CO_U32) X(V_ALIGNBIT_B32) X(V_AND_B32) X(V_AND_OR_B32) X(V_ASHRREV_I32) \
	X(V_ASHRREV_I64) X(V_BCNT_U32_B32) X(V_BFE_I32) X(V_BFE_U32) X(V_BFI_B32) \
	X(V_BFREV_B32) X(V_CMP_CLASS_F16) X(V_CMP_CLASS_F32) X(V_CMP_CLASS_F64) \
	X(V_CMP_EQ_F32) X(V_CMP_EQ_F64) X(V_CMP_EQ_U16) X(V_CMP_EQ_U32) X(V_CMP_EQ_U64) \
	X(V_CMP_GE_F32) X(V_CMP_GE_I32) X(V_CMP_GE_I64) X(V_CMP_GE_U16) X(V_CMP_GE_U32) \
	X(V_CMP_GE_U64) X(V_CMP_GT_F32) X(V_CMP_GT_F64) X(V_CMP_GT_I16) X(V_CMP_GT_I32) \
	X(V_CMP_GT_I64) X(V_CMP_GT_U16) X(V_CMP_GT_U32) X(V_CMP_GT_U64) X(V_CMP_LE_I32) \
	X(V_CMP_LE_I64) X(V_CMP_LE_U32) X(V_CMP_LE_U64) X(V_CMP_LT_F32) X(V_CMP_LT_F64) \
	X(V_CMP_LT_I16) X(V_CMP_LT_I32) X(V_CMP_LT_I64) X(V_CMP_LT_U32) X(V_CMP_LT_U64) \
	X(V_CMP_NE_U16) X(V_CMP_NE_U32) X(V_CMP_NE_U64) X(V_CMP_NEQ_F32) X(V_CMP_NEQ_F64) \
	X(V_CMP_NGE_F64) X(V_CMP_NGT_F32) X(V_CMP_NGT_F64) X(V_CMP_NLG_F32) X(V_CMP_NLT_F32) \
	X(V_CMP_NLT_F64) X(V_CMP_O_F32) X(V_CMP_O_F64) X(V_CNDMASK_B32) X(V_COS_F32) \
	X(V_CVT_F16_F32) X(V_CVT_F32_F16) X(V_CVT_F32_F64) X(V_CVT_F32_I32) X(V_CVT_F32_U32) \
	X(V_CVT_F64_F32) X(V_CVT_F64_I32) X(V_CVT_F64_U32) X(V_CVT_I32_F32) X(V_CVT_I32_F64) \
	X(V_CVT_U32_F32) X(V_CVT_U32_F64) X(V_DIV_FIXUP_F32) X(V_DIV_FIXUP_F64) \
	X(V_DIV_FMAS_F32) X(V_DIV_FMAS_F64) X(V_DIV_SCALE_F32) X(V_DIV_SCALE_F64) \
	X(V_EXP_F32) X(V_FFBH_U32) X(V_FFBL_B32) X(V_FLOOR_F32) X(V_FLOOR_F64) X(V_FMA_F16) \
	X(V_FMA_F32) X(V_FMA_F64) X(V_FMA_MIX_F32) X(V_FMA_MIXHI_F16) X(V_FMA_MIXLO_F16) \
	X(V_FMAAK_F32) X(V_FMAC_F32) X(V_FMAC_F64) X(V_FMAMK_F32) X(V_FRACT_F64) \
	X(V_FREXP_EXP_I32_F32) X(V_FREXP_EXP_I32_F64) X(V_FREXP_MANT_F32) X(V_FREXP_MANT_F64) \
	X(V_LDEXP_F32) X(V_LDEXP_F64) X(V_LOG_F32) X(V_LSHL_ADD_U32) X(V_LSHL_ADD_U64) \
	X(V_LSHL_OR_B32) X(V_LSHLREV_B16) X(V_LSHLREV_B32) X(V_LSHLREV_B64) X(V_LSHRREV_B16) \
	X(V_LSHRREV_B32) X(V_LSHRREV_B64) X(V_MAC_F32) X(V_MAD_F32) X(V_MAD_I32_I24) \
	X(V_MAD_I64_I32) X(V_MAD_U32_U24) X(V_MAD_U64_U32) X(V_MADMK_F32) X(V_MAX_F32) \
	X(V_MAX_I32) X(V_MAX_U32) X(V_MBCNT_HI_U32_B32) X(V_MBCNT_LO_U32_B32) X(V_MIN_F32) \
	X(V_MIN_I32) X(V_MIN_U16) X(V_MIN_U32) X(V_MOV_B32) X(V_MOV_B64) X(V_MUL_F16) \
	X(V_MUL_F32) X(V_MUL_F64) X(V_MUL_HI_I32) X(V_MUL_HI_U32) X(V_MUL_HI_U32_U24) \
	X(V_MUL_I32_I24) X(V_MUL_LO_U16) X(V_MUL_LO_U32) X(V_MUL_U32_U24) X(V_NOT_B32) \
	X(V_OR3_B32) X(V_OR_B32) X(V_PACK_B32_F16) X(V_PK_ADD_F32) X(V_PK_FMA_F16) \
	X(V_PK_FMA_F32) X(V_PK_MOV_B32) X(V_PK_MUL_F32) X(V_RCP_F32) X(V_RCP_F64) \
	X(V_RCP_IFLAG_F32) X(V_READFIRSTLANE_B32) X(V_READLANE_B32) X(V_RNDNE_F32) \
	X(V_RNDNE_F64) X(V_RSQ_F32) X(V_RSQ_F64) X(V_SIN_F32) X(V_SQRT_F16) X(V_SQRT_F32) \
	X(V_SUB_CO_U32) X(V_SUB_F32) X(V_SUB_U16) X(V_SUB_U32) X(V_SUBB_CO_U32) \
	X(V_SUBBREV_CO_U32) X(V_SUBREV_CO_U32) X(V_SUBREV_U32) X(V_TRUNC_F32) \
	X(V_WRITELANE_B32) X(V_XAD_U32) X(V_XOR_B32)
/* clang-format on */

#define OP(name) GFX9_##name,
static const uint16_t used[] = { USED(OP) };

#define NR(a) (sizeof(a) / sizeof((a)[0]))

static bool is_executed(uint16_t op)
{
	return gfx9_scalar_ops[op] || gfx9_memory_op(op) || gfx9_mfma_ops[op] ||
	       gfx9_vector_ops[op];
}

static bool is_left_out(uint16_t op)
{
	for (size_t i = 0; i < gfx9_nr_left_out; i++) {
		if (gfx9_left_out[i].op == op)
			return true;
	}
	return false;
}

static void test_all_but_a_few(void **state)
{
	(void)state;
	for (int t = 0; t < GFX9_TARGETS; t++) {
		unsigned int known = 0, executed = 0;

		for (uint16_t op = 1; op < GFX9_OPS; op++) {
			if (!gfx9_target_has((enum gfx9_target)t, op))
				continue;
			known++;
			executed += is_executed(op);
			if (is_executed(op) == is_left_out(op))
				fail_msg("%s on %s: %s", gfx9_op_name(op), targets[t],
					 is_executed(op) ? "executed, but said not to be"
							 : "not executed");
		}
		print_message("%s: %u of %u opcodes are executed\n", targets[t], executed, known);
		assert_int_equal(known - executed, gfx9_nr_left_out);
	}
}

/* Every opcode belongs to a target, and exactly one part executes it. */
static void test_one_place(void **state)
{
	(void)state;
	for (uint16_t op = 1; op < GFX9_OPS; op++) {
		int parts = !!gfx9_scalar_ops[op] + !!gfx9_memory_op(op) + !!gfx9_mfma_ops[op] +
			    !!gfx9_vector_ops[op];

		assert_true(parts <= 1);
		assert_true(gfx9_target_has(GFX9_TARGET_GFX90A, op) ||
			    gfx9_target_has(GFX9_TARGET_GFX942, op));
	}
	assert_false(gfx9_target_has(GFX9_TARGET_GFX90A, GFX9_V_MFMA_F32_16X16X8_XF32));
	assert_true(gfx9_target_has(GFX9_TARGET_GFX942, GFX9_V_MFMA_F32_16X16X8_XF32));
}

/* Every opcode that is not exact has a note, and the notes name opcodes that exist. */
static void test_trust(void **state)
{
	unsigned int nr[EMU_UNSUPPORTED + 1] = { 0 };
	const char *note;

	(void)state;
	for (uint16_t op = 1; op < GFX9_OPS; op++) {
		enum emu_trust trust = gfx9_trust(op, &note);

		assert_true((trust == EMU_EXACT) == !note);
		assert_int_equal(trust == EMU_UNSUPPORTED, !is_executed(op));
		nr[trust]++;
	}
	assert_true(nr[EMU_APPROXIMATE] > 20 && nr[EMU_EXACT] > 5 * nr[EMU_APPROXIMATE]);
	assert_int_equal(gfx9_trust(GFX9_V_RCP_F32, &note), EMU_APPROXIMATE);
	assert_int_equal(gfx9_trust(GFX9_V_FMA_F32, &note), EMU_EXACT);
	assert_int_equal(gfx9_trust(GFX9_V_MFMA_F32_32X32X8_F16, &note), EMU_APPROXIMATE);
	assert_int_equal(gfx9_trust(GFX9_S_SETVSKIP, &note), EMU_UNSUPPORTED);
}

static void test_used(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR(used); i++) {
		if (!is_executed(used[i]))
			fail_msg("%s is not executed", gfx9_op_name(used[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_but_a_few),
		cmocka_unit_test(test_one_place),
		cmocka_unit_test(test_used),
		cmocka_unit_test(test_trust),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
