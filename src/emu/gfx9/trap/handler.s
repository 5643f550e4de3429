// SPDX-License-Identifier: MIT
//
// The first-level trap handler: saves a wave's context at the address that the hardware gives, and restores it.
//
// It is entered at its first instruction for every trap, and at its second, four bytes on, to restore a wave.
// ttmp0 and ttmp1 hold the program counter and the reason of the trap. ttmp4 to ttmp11 and ttmp13 belong to other code
// and are part of the context; ttmp2, ttmp3, ttmp12, ttmp14 and ttmp15 are the handler's own.
//
// A wave's record: vector registers, 256 bytes each, then accumulation registers; scalar registers; a block of hardware
// registers and ttmps; LDS, with the first wave of a workgroup only.

.set STATUS_HALT_BIT, 13
.set TRAPSTS_SAVECTX_BIT, 10
.set MSG_SAVEWAVE, 4
.set FIRST_WAVE, 0x4000000		// in EXEC_HI, beside the address
.set FIRST_WAVE_BIT, 31			// in ttmp1, where the handler keeps it

// M0[15:12] while vector registers are found by M0[7:0]: of the first source, of the destination.
.set M0_SOURCE, 0x1000
.set M0_DESTINATION, 0x8000

// Buffer descriptor: dwords, one a lane.
.set RSRC_STRIDE, 0x00040000
.set RSRC_RECORDS, 0x01000000
.set RSRC_ADD_TID, 0x00807fac

// The block behind the scalar registers.
.set BLOCK_TTMP4, 0x50
.set BLOCK_TTMP8, 0x60
.set BLOCK_TTMP13, 0x74
.set BLOCK_LDS, 0x80

// Four vector registers of all lanes.
.macro store4 rsrc, offset
	buffer_store_dword	v0, off, \rsrc, \offset
	buffer_store_dword	v1, off, \rsrc, \offset offset:256
	buffer_store_dword	v2, off, \rsrc, \offset offset:512
	buffer_store_dword	v3, off, \rsrc, \offset offset:768
.endm
.macro load4 rsrc, offset
	buffer_load_dword	v0, off, \rsrc, \offset
	buffer_load_dword	v1, off, \rsrc, \offset offset:256
	buffer_load_dword	v2, off, \rsrc, \offset offset:512
	buffer_load_dword	v3, off, \rsrc, \offset offset:768
	s_waitcnt	vmcnt(0)
.endm

.text
.globl handler
handler:
	s_branch trap
	s_branch restore

trap:
	s_getreg_b32	ttmp12, hwreg(HW_REG_STATUS)	// before SCC changes
	s_getreg_b32	ttmp2, hwreg(HW_REG_TRAPSTS)
	s_bitcmp1_b32	ttmp2, TRAPSTS_SAVECTX_BIT
	s_cbranch_scc1	save

	// The program's own handler, if there is one: TMA[0] is its address, TMA[1] its own TMA.
	// The register has bits 47 to 8 of that.
	s_getreg_b32	ttmp14, hwreg(HW_REG_TMA_LO)
	s_getreg_b32	ttmp15, hwreg(HW_REG_TMA_HI)
	s_lshl_b64	ttmp[14:15], ttmp[14:15], 24
	s_ashr_i64	ttmp[14:15], ttmp[14:15], 16
	s_load_dwordx2	ttmp[2:3], ttmp[14:15], 0x0
	s_waitcnt	lgkmcnt(0)
	s_load_dwordx2	ttmp[14:15], ttmp[14:15], 0x8
	s_waitcnt	lgkmcnt(0)
	s_cmp_lg_u64	ttmp[2:3], 0
	s_cbranch_scc0	no_second_level
	s_setpc_b64	ttmp[2:3]

no_second_level:
	// s_trap: continue behind it. Any other trap halts the wave.
	s_and_b32	ttmp2, ttmp1, 0xff0000
	s_cbranch_scc1	step_over
	s_bitset1_b32	ttmp12, STATUS_HALT_BIT
	s_branch	leave
step_over:
	s_add_u32	ttmp0, ttmp0, 4
	s_addc_u32	ttmp1, ttmp1, 0
leave:
	s_and_b32	ttmp1, ttmp1, 0xffff
	s_setreg_b32	hwreg(HW_REG_STATUS), ttmp12	// SCC is part of it
	s_rfe_b64	ttmp[0:1]

// ---------------------------------------------------------------------------------------------------------------------

save:
	s_mov_b64	ttmp[2:3], exec
	s_mov_b64	exec, 0
	s_sendmsg	MSG_SAVEWAVE
wait_for_address:
	s_sleep		2
	s_cbranch_execz	wait_for_address

	// EXEC holds the record's address, and is free once that is copied.
	s_mov_b32	ttmp14, exec_lo
	s_and_b32	ttmp15, exec_hi, 0xffff
	s_and_b32	exec_lo, exec_hi, FIRST_WAVE
	s_lshl_b32	exec_lo, exec_lo, FIRST_WAVE_BIT - 26
	s_or_b32	ttmp1, ttmp1, exec_lo

	// Scalar registers first: they lie behind the vector registers.
	s_getreg_b32	exec_lo, hwreg(HW_REG_GPR_ALLOC, 6, 6)
	s_add_u32	exec_lo, exec_lo, 1
	s_lshl_b32	exec_lo, exec_lo, 11
	s_add_u32	ttmp14, ttmp14, exec_lo
	s_addc_u32	ttmp15, ttmp15, 0
.set n, 0
.rept 25
	s_store_dwordx4	s[n:n+3], ttmp[14:15], n*4
	.set n, n + 4
.endr
	s_store_dwordx2	s[100:101], ttmp[14:15], 400

	// Now they are free. FLAT_SCRATCH, XNACK_MASK, VCC and four more follow, which only an index reaches on every target.
	s_mov_b32	s20, m0
	s_mov_b32	m0, 102
	s_movrels_b64	s[24:25], s[0:1]
	s_movrels_b64	s[26:27], s[2:3]
	s_movrels_b64	s[28:29], s[4:5]
	s_movrels_b64	s[30:31], s[6:7]
	s_movrels_b64	s[32:33], s[8:9]
	s_store_dwordx4	s[24:27], ttmp[14:15], 408
	s_store_dwordx4	s[28:31], ttmp[14:15], 424
	s_store_dwordx2	s[32:33], ttmp[14:15], 440

	// s[8:9] is the record, s[12:15] describes it, ttmp[14:15] moves on to the block.
	s_getreg_b32	s4, hwreg(HW_REG_GPR_ALLOC, 6, 6)
	s_add_u32	s4, s4, 1
	s_lshl_b32	s4, s4, 11
	s_sub_u32	s8, ttmp14, s4
	s_subb_u32	s9, ttmp15, 0
	s_getreg_b32	s4, hwreg(HW_REG_GPR_ALLOC, 24, 4)
	s_add_u32	s4, s4, 1
	s_lshl_b32	s4, s4, 6
	s_add_u32	ttmp14, ttmp14, s4
	s_addc_u32	ttmp15, ttmp15, 0

	s_mov_b32	s0, s20
	s_mov_b32	s1, ttmp0
	s_and_b32	s2, ttmp1, 0xffff
	s_mov_b32	s3, ttmp2
	s_store_dwordx4	s[0:3], ttmp[14:15], 0x0
	s_mov_b32	s4, ttmp3
	s_mov_b32	s5, ttmp12
	s_getreg_b32	s6, hwreg(HW_REG_TRAPSTS)
	s_bitset0_b32	s6, TRAPSTS_SAVECTX_BIT
	s_mov_b32	s7, s26				// XNACK_MASK once more
	s_store_dwordx4	s[4:7], ttmp[14:15], 0x10
	s_mov_b32	s4, s27
	s_getreg_b32	s5, hwreg(HW_REG_MODE)
	s_set_gpr_idx_off				// where the program was using it
	s_store_dwordx2	s[4:5], ttmp[14:15], 0x20
	s_store_dwordx4	ttmp[4:7], ttmp[14:15], BLOCK_TTMP4
	s_store_dwordx4	ttmp[8:11], ttmp[14:15], BLOCK_TTMP8
	s_store_dword	ttmp13, ttmp[14:15], BLOCK_TTMP13

	// Vector registers: the first four as they are, the others through them.
	s_mov_b64	exec, -1
	s_mov_b32	s12, s8
	s_or_b32	s13, s9, RSRC_STRIDE
	s_mov_b32	s14, RSRC_RECORDS
	s_mov_b32	s15, RSRC_ADD_TID
	s_mov_b32	s16, 0				// offset
	s_getreg_b32	s18, hwreg(HW_REG_GPR_ALLOC, 12, 6)
	s_add_u32	s18, s18, 1
	s_lshl_b32	s18, s18, 2			// vector registers
	s_getreg_b32	s19, hwreg(HW_REG_GPR_ALLOC, 6, 6)
	s_add_u32	s19, s19, 1
	s_lshl_b32	s19, s19, 3
	s_sub_u32	s19, s19, s18			// accumulation registers
	store4		s[12:15], s16
	s_movk_i32	s16, 1024
	s_cmp_le_u32	s18, 4
	s_cbranch_scc1	save_agprs
	s_add_u32	s17, s18, M0_SOURCE		// M0 when all are done
	s_mov_b32	m0, 0
	s_set_gpr_idx_on	4, gpr_idx(SRC0)
save_vgpr:
	v_mov_b32	v0, v0
	v_mov_b32	v1, v1
	v_mov_b32	v2, v2
	v_mov_b32	v3, v3
	store4		s[12:15], s16
	s_add_u32	s16, s16, 1024
	s_add_u32	m0, m0, 4
	s_cmp_lt_u32	m0, s17
	s_cbranch_scc1	save_vgpr
	s_set_gpr_idx_off
save_agprs:
	s_cmp_eq_u32	s19, 0
	s_cbranch_scc1	save_lds
	s_add_u32	s17, s19, M0_SOURCE
	s_mov_b32	m0, 0
	s_set_gpr_idx_on	0, gpr_idx(SRC0)
save_agpr:
	v_accvgpr_read_b32	v0, a0
	v_accvgpr_read_b32	v1, a1
	v_accvgpr_read_b32	v2, a2
	v_accvgpr_read_b32	v3, a3
	store4		s[12:15], s16
	s_add_u32	s16, s16, 1024
	s_add_u32	m0, m0, 4
	s_cmp_lt_u32	m0, s17
	s_cbranch_scc1	save_agpr
	s_set_gpr_idx_off

save_lds:
	s_getreg_b32	s18, hwreg(HW_REG_LDS_ALLOC, 12, 9)
	s_cmp_eq_u32	s18, 0
	s_cbranch_scc1	saved
	s_lshl_b32	s18, s18, 8			// bytes, a multiple of 512
	s_barrier					// no wave writes LDS any more
	s_bitcmp1_b32	ttmp1, FIRST_WAVE_BIT
	s_cbranch_scc0	saved
	s_add_u32	s12, ttmp14, BLOCK_LDS
	s_addc_u32	s13, ttmp15, 0
	s_or_b32	s13, s13, RSRC_STRIDE
	s_mov_b32	s16, 0
	v_mbcnt_lo_u32_b32	v1, -1, 0
	v_mbcnt_hi_u32_b32	v1, -1, v1
	v_lshlrev_b32	v1, 2, v1
	s_mov_b32	m0, -1
save_lds_row:
	ds_read2_b32	v[2:3], v1 offset0:0 offset1:64
	s_waitcnt	lgkmcnt(0)
	buffer_store_dword	v2, off, s[12:15], s16
	buffer_store_dword	v3, off, s[12:15], s16 offset:256
	v_add_u32	v1, 512, v1
	s_add_u32	s16, s16, 512
	s_cmp_lt_u32	s16, s18
	s_cbranch_scc1	save_lds_row
saved:
	s_waitcnt	vmcnt(0) lgkmcnt(0)
	s_dcache_wb
	s_endpgm_saved

// ---------------------------------------------------------------------------------------------------------------------

restore:
	// All registers are free: nothing of this wave is restored yet.
	s_mov_b32	s8, exec_lo
	s_and_b32	s9, exec_hi, 0xffff
	s_and_b32	ttmp1, exec_hi, FIRST_WAVE
	s_lshl_b32	ttmp1, ttmp1, FIRST_WAVE_BIT - 26
	s_mov_b64	exec, -1
	s_mov_b32	s12, s8
	s_or_b32	s13, s9, RSRC_STRIDE
	s_mov_b32	s14, RSRC_RECORDS
	s_mov_b32	s15, RSRC_ADD_TID
	s_getreg_b32	s18, hwreg(HW_REG_GPR_ALLOC, 12, 6)
	s_add_u32	s18, s18, 1
	s_lshl_b32	s18, s18, 2
	s_getreg_b32	s19, hwreg(HW_REG_GPR_ALLOC, 6, 6)
	s_add_u32	s19, s19, 1
	s_lshl_b32	s19, s19, 3
	s_lshl_b32	s20, s19, 8			// bytes of vector registers
	s_getreg_b32	s21, hwreg(HW_REG_GPR_ALLOC, 24, 4)
	s_add_u32	s21, s21, 1
	s_lshl_b32	s21, s21, 6			// bytes of scalar registers
	s_add_u32	ttmp14, s8, s20
	s_addc_u32	ttmp15, s9, 0			// the scalar registers
	s_add_u32	s22, ttmp14, s21
	s_addc_u32	s23, ttmp15, 0			// the block

	// LDS, while vector registers are free.
	s_getreg_b32	s24, hwreg(HW_REG_LDS_ALLOC, 12, 9)
	s_lshl_b32	s24, s24, 8
	s_cmp_eq_u32	s24, 0
	s_cbranch_scc1	restore_vgprs
	s_bitcmp1_b32	ttmp1, FIRST_WAVE_BIT
	s_cbranch_scc0	restore_vgprs
	s_add_u32	s4, s22, BLOCK_LDS
	s_addc_u32	s5, s23, 0
	s_or_b32	s5, s5, RSRC_STRIDE
	s_mov_b64	s[6:7], s[14:15]
	s_mov_b32	s16, 0
	v_mbcnt_lo_u32_b32	v1, -1, 0
	v_mbcnt_hi_u32_b32	v1, -1, v1
	v_lshlrev_b32	v1, 2, v1
	s_mov_b32	m0, -1
restore_lds_row:
	buffer_load_dword	v2, off, s[4:7], s16
	buffer_load_dword	v3, off, s[4:7], s16 offset:256
	s_waitcnt	vmcnt(0)
	ds_write2_b32	v1, v2, v3 offset0:0 offset1:64
	v_add_u32	v1, 512, v1
	s_add_u32	s16, s16, 512
	s_cmp_lt_u32	s16, s24
	s_cbranch_scc1	restore_lds_row

restore_vgprs:
	s_movk_i32	s16, 1024
	s_sub_u32	s19, s19, s18			// accumulation registers
	s_cmp_le_u32	s18, 4
	s_cbranch_scc1	restore_agprs
	s_add_u32	s17, s18, M0_DESTINATION
	s_mov_b32	m0, 0
	s_set_gpr_idx_on	4, gpr_idx(DST)
restore_vgpr:
	load4		s[12:15], s16
	v_mov_b32	v0, v0
	v_mov_b32	v1, v1
	v_mov_b32	v2, v2
	v_mov_b32	v3, v3
	s_add_u32	s16, s16, 1024
	s_add_u32	m0, m0, 4
	s_cmp_lt_u32	m0, s17
	s_cbranch_scc1	restore_vgpr
	s_set_gpr_idx_off
restore_agprs:
	s_cmp_eq_u32	s19, 0
	s_cbranch_scc1	restore_first
	s_add_u32	s17, s19, M0_DESTINATION
	s_mov_b32	m0, 0
	s_set_gpr_idx_on	0, gpr_idx(DST)
restore_agpr:
	load4		s[12:15], s16
	v_accvgpr_write_b32	a0, v0
	v_accvgpr_write_b32	a1, v1
	v_accvgpr_write_b32	a2, v2
	v_accvgpr_write_b32	a3, v3
	s_add_u32	s16, s16, 1024
	s_add_u32	m0, m0, 4
	s_cmp_lt_u32	m0, s17
	s_cbranch_scc1	restore_agpr
	s_set_gpr_idx_off
restore_first:
	s_mov_b32	s16, 0
	load4		s[12:15], s16

	// No wave runs before all of the workgroup are restored, and LDS with them.
	s_cmp_eq_u32	s24, 0
	s_cbranch_scc1	restore_block
	s_barrier
restore_block:
	s_load_dwordx4	s[0:3], s[22:23], 0x0		// M0, PC, EXEC_LO
	s_load_dwordx4	s[4:7], s[22:23], 0x10		// EXEC_HI, STATUS, TRAPSTS; XNACK is among the SGPRs
	s_load_dword	s11, s[22:23], 0x24		// MODE
	s_load_dwordx4	ttmp[4:7], s[22:23], BLOCK_TTMP4
	s_load_dwordx4	ttmp[8:11], s[22:23], BLOCK_TTMP8
	s_load_dword	ttmp13, s[22:23], BLOCK_TTMP13
	s_waitcnt	lgkmcnt(0)
	s_mov_b32	ttmp0, s1
	s_and_b32	ttmp1, s2, 0xffff
	s_mov_b32	ttmp2, s3
	s_mov_b32	ttmp3, s4
	s_mov_b32	ttmp12, s5
	s_setreg_b32	hwreg(HW_REG_TRAPSTS), s6
	s_setreg_b32	hwreg(HW_REG_MODE), s11
	s_mov_b32	s20, s0				// M0
	s_load_dwordx4	s[24:27], ttmp[14:15], 408
	s_load_dwordx4	s[28:31], ttmp[14:15], 424
	s_load_dwordx2	s[32:33], ttmp[14:15], 440
	s_waitcnt	lgkmcnt(0)
	s_mov_b32	m0, 102
	s_movreld_b64	s[0:1], s[24:25]
	s_movreld_b64	s[2:3], s[26:27]
	s_movreld_b64	s[4:5], s[28:29]
	s_movreld_b64	s[6:7], s[30:31]
	s_movreld_b64	s[8:9], s[32:33]
	s_mov_b32	m0, s20
.set n, 0
.rept 25
	s_load_dwordx4	s[n:n+3], ttmp[14:15], n*4
	.set n, n + 4
.endr
	s_load_dwordx2	s[100:101], ttmp[14:15], 400
	s_waitcnt	lgkmcnt(0)
	s_mov_b64	exec, ttmp[2:3]
	s_setreg_b32	hwreg(HW_REG_STATUS), ttmp12
	s_rfe_b64	ttmp[0:1]
handler_end:
