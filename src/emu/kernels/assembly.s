// SPDX-License-Identifier: MIT
//
// Kernels that no compiler would generate: they use every register of a wave, change their own code, trap and halt. The
// kernel arguments are the address of the results, and those named at each kernel.

.macro kernel name, vgprs=8, accum=8, lds=0, sgprs=96
	.rodata
	.p2align 6
	.amdhsa_kernel \name
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr \vgprs
		.amdhsa_accum_offset \accum
		.amdhsa_next_free_sgpr \sgprs
		.amdhsa_group_segment_fixed_size \lds
	.end_amdhsa_kernel
	.text
	.globl	\name
	.p2align 8
	.type	\name, @function
\name:
.endm

.macro label name
	.globl	\name
	.type	\name, @function
\name:
.endm

// ---------------------------------------------------------------------------------------------------------------------
// Two waves per workgroup. Each sets all of its state, waits, and stores the state it finds:
//
//	0	s0 to s99
//	448	SCC, M0, EXEC, VCC, MODE, TRAPSTS, STATUS
//	512	FLAT_SCRATCH, XNACK_MASK, VCC, and what is behind
//	1024	v0 to v23, a0 to a15, all of LDS
.set FIELDS_BYTES, 1024 + 42 * 256
.set FIELDS_MODE, 0xa880a296		// of everything something; exceptions wanted are others than those raised
.set FIELDS_TRAPSTS, 0x55
.set FIELDS_M0, 0x8abcd012

	kernel fields, vgprs=40, accum=24, lds=512

	s_load_dwordx2	s[4:5], s[0:1], 0x0
	v_readfirstlane_b32	s3, v0
	s_bfe_u32	s3, s3, 0x40006			// wave of the workgroup
	v_mbcnt_lo_u32_b32	v1, -1, 0
	v_mbcnt_hi_u32_b32	v1, -1, v1
	v_lshlrev_b32	v0, 2, v1
	s_lshl_b32	s6, s3, 8
	v_add_u32	v0, s6, v0
	s_lshl_b32	s2, s2, 1
	s_add_u32	s3, s3, s2			// of all
	s_lshl_b32	s7, s3, 8
	v_lshlrev_b32	v1, 16, v1
	v_or_b32	v1, s7, v1			// lane, wave
	ds_write_b32	v0, v1
	s_waitcnt	lgkmcnt(0)
	s_barrier
	s_mul_i32	s6, s3, FIELDS_BYTES
	s_add_u32	s100, s4, s6
	s_addc_u32	s101, s5, 0

.set n, 0
.rept 16
	v_or_b32	v0, 0x40 + n, v1
	.set reg, n
	v_accvgpr_write_b32	a[reg], v0
	.set n, n + 1
.endr
.set n, 2
.rept 22
	v_or_b32	v[n], n, v1
	.set n, n + 1
.endr
	v_or_b32	v0, 0x80, v1

	s_or_b32	s99, s7, 0x5a0000
.set n, 0
.rept 99
	s_or_b32	s[n], s99, n
	.set n, n + 1
.endr
	s_or_b32	s99, s99, 99
	s_mov_b32	m0, 102
	s_mov_b32	vcc_lo, 0x11112222
	s_mov_b32	vcc_hi, 0x33334444
	s_movreld_b64	s[0:1], vcc			// FLAT_SCRATCH
	s_mov_b32	vcc_lo, 0x55556666
	s_mov_b32	vcc_hi, 0x77778888
	s_movreld_b64	s[2:3], vcc			// XNACK_MASK
	s_mov_b32	vcc_lo, 0x9999aaaa
	s_movreld_b64	s[6:7], vcc
	s_mov_b32	vcc_hi, 0xbbbbcccc
	s_movreld_b64	s[8:9], vcc
	s_mov_b32	vcc_lo, 0xddddeeee
	s_setprio	2
	s_setreg_imm32_b32	hwreg(HW_REG_TRAPSTS, 0, 7), FIELDS_TRAPSTS
	s_mov_b32	exec_lo, 0x0f0f3333
	s_mov_b32	exec_hi, 0x5555aaaa
	s_mov_b32	m0, FIELDS_M0
	s_setreg_imm32_b32	hwreg(HW_REG_MODE), FIELDS_MODE
	s_cmp_eq_u32	s0, s0

label fields_window
.rept 64
	s_nop		0
.endr
label fields_window_end

.set n, 0
.rept 25
	s_store_dwordx4	s[n:n+3], s[100:101], n*4
	.set n, n + 4
.endr
	s_cselect_b32	s0, 0x111, 2
	s_mov_b32	s1, m0
	s_mov_b64	s[2:3], exec
	s_mov_b64	s[4:5], vcc
	s_getreg_b32	s6, hwreg(HW_REG_MODE)
	s_getreg_b32	s7, hwreg(HW_REG_TRAPSTS)
	s_getreg_b32	s8, hwreg(HW_REG_STATUS)
	s_store_dwordx4	s[0:3], s[100:101], 448
	s_store_dwordx4	s[4:7], s[100:101], 464
	s_store_dword	s8, s[100:101], 480
	s_set_gpr_idx_off
	s_mov_b32	m0, 102
	s_movrels_b64	s[24:25], s[0:1]
	s_movrels_b64	s[26:27], s[2:3]
	s_movrels_b64	s[28:29], s[4:5]
	s_movrels_b64	s[30:31], s[6:7]
	s_movrels_b64	s[32:33], s[8:9]
	s_store_dwordx4	s[24:27], s[100:101], 512
	s_store_dwordx4	s[28:31], s[100:101], 528
	s_store_dwordx2	s[32:33], s[100:101], 544

	s_mov_b64	exec, -1
	s_mov_b32	s24, s100
	s_or_b32	s25, s101, 0x00040000		// dwords, one a lane
	s_mov_b32	s26, 0x01000000
	s_mov_b32	s27, 0x00807fac
	s_movk_i32	s28, 1024
.set n, 0
.rept 24
	buffer_store_dword	v[n], off, s[24:27], s28
	s_addk_i32	s28, 256
	.set n, n + 1
.endr
.set n, 0
.rept 16
	v_accvgpr_read_b32	v0, a[n]
	buffer_store_dword	v0, off, s[24:27], s28
	s_addk_i32	s28, 256
	.set n, n + 1
.endr
	v_mbcnt_lo_u32_b32	v1, -1, 0
	v_mbcnt_hi_u32_b32	v1, -1, v1
	v_lshlrev_b32	v1, 2, v1
	ds_read2_b32	v[2:3], v1 offset0:0 offset1:64
	s_waitcnt	lgkmcnt(0)
	buffer_store_dword	v2, off, s[24:27], s28
	s_addk_i32	s28, 256
	buffer_store_dword	v3, off, s[24:27], s28
	s_waitcnt	vmcnt(0) lgkmcnt(0)
	s_dcache_wb
	s_endpgm

// ---------------------------------------------------------------------------------------------------------------------
// Writes a function, calls it, and rewrites it; counts how often the latest version was executed. +8: a page for the code
// of each workgroup, +16: the number of rounds.
	kernel patch

	s_load_dwordx4	s[4:7], s[0:1], 0x0
	s_load_dword	s8, s[0:1], 0x10
	s_waitcnt	lgkmcnt(0)
	s_lshl_b32	s9, s2, 12
	s_add_u32	s6, s6, s9
	s_addc_u32	s7, s7, 0
	s_mov_b32	s20, 0				// how often it did
	s_mov_b32	s12, 0xbe9300ff			// s_mov_b32 s19, literal
	s_mov_b32	s14, 0xbe801d1e			// s_setpc_b64 s[30:31]
patch_loop:
	s_mul_i32	s13, s8, 0x10dcd
	s_store_dwordx2	s[12:13], s[6:7], 0x0
	s_store_dword	s14, s[6:7], 0x8
	s_waitcnt	lgkmcnt(0)
	s_dcache_wb
	s_icache_inv
	s_swappc_b64	s[30:31], s[6:7]
	s_cmp_eq_u32	s19, s13
	s_addc_u32	s20, s20, 0
	s_sub_u32	s8, s8, 1
	s_cmp_lg_u32	s8, 0
	s_cbranch_scc1	patch_loop
	s_lshl_b32	s9, s2, 2
	s_add_u32	s4, s4, s9
	s_addc_u32	s5, s5, 0
	s_store_dword	s20, s[4:5], 0x0
	s_waitcnt	lgkmcnt(0)
	s_dcache_wb
	s_endpgm

// ---------------------------------------------------------------------------------------------------------------------
// Traps repeatedly, and counts; the handler counts, too, in s40. +8: the number of traps.
	kernel traps

	s_load_dwordx2	s[4:5], s[0:1], 0x0
	s_load_dword	s8, s[0:1], 0x8
	s_waitcnt	lgkmcnt(0)
	s_mov_b32	s40, 0
	s_mov_b32	s41, 0
	v_mov_b32	v2, v0
traps_loop:
	s_trap		5
	s_add_u32	s41, s41, 1
	v_add_u32	v2, 3, v2
	s_trap		0x21
	s_sub_u32	s8, s8, 1
	s_cmp_lg_u32	s8, 0
	s_trap		7				// between a comparison and its branch
	s_cbranch_scc1	traps_loop
	v_mov_b32	v4, s40
	v_mov_b32	v5, s41
	v_mov_b32	v6, v2
	s_lshl_b32	s9, s2, 10			// 16 bytes of each work-item
	s_add_u32	s4, s4, s9
	s_addc_u32	s5, s5, 0
	v_lshlrev_b32	v1, 4, v0
	global_store_dwordx3	v1, v[4:6], s[4:5]
	s_endpgm

// A second-level handler: stores the number of the trap in its memory, counts, and skips the trap.
	.p2align 8
label second_level
	s_bfe_u32	ttmp2, ttmp1, 0x80010
	s_lshl_b32	ttmp3, ttmp2, 2
	s_add_u32	ttmp14, ttmp14, ttmp3
	s_addc_u32	ttmp15, ttmp15, 0
	s_store_dword	ttmp2, ttmp[14:15], 0x0
	s_waitcnt	lgkmcnt(0)
	s_add_u32	s40, s40, 1
	s_add_u32	ttmp0, ttmp0, 4
	s_addc_u32	ttmp1, ttmp1, 0
	s_and_b32	ttmp1, ttmp1, 0xffff
	s_setreg_b32	hwreg(HW_REG_STATUS), ttmp12
	s_rfe_b64	ttmp[0:1]

// ---------------------------------------------------------------------------------------------------------------------
// Writes 1, halts, and writes 2 if it ever continues.
	kernel halts

	s_load_dwordx2	s[4:5], s[0:1], 0x0
	s_waitcnt	lgkmcnt(0)
	s_lshl_b32	s9, s2, 2
	s_add_u32	s4, s4, s9
	s_addc_u32	s5, s5, 0
	s_mov_b32	s6, 1
	s_store_dword	s6, s[4:5], 0x0
	s_waitcnt	lgkmcnt(0)
	s_sethalt	1
	s_mov_b32	s6, 2
	s_store_dword	s6, s[4:5], 0x0
	s_waitcnt	lgkmcnt(0)
	s_dcache_wb
	s_endpgm

// ---------------------------------------------------------------------------------------------------------------------
// Waves of many shapes that wait until the host writes to the results.
.macro shape name, vgprs, accum, lds
	kernel \name, vgprs=\vgprs, accum=\accum, lds=\lds
	s_load_dwordx2	s[4:5], s[0:1], 0x0
	s_waitcnt	lgkmcnt(0)
1:	s_sleep		1
	s_load_dword	s6, s[4:5], 0x0 glc
	s_waitcnt	lgkmcnt(0)
	s_cmp_eq_u32	s6, 0
	s_cbranch_scc1	1b
	s_endpgm
.endm

	shape shape_small, 8, 8, 0
	shape shape_small_lds, 8, 8, 2048
	shape shape_tiny_arch, 64, 4, 0
	shape shape_128, 128, 64, 4096
	shape shape_168, 168, 128, 512
	shape shape_256, 256, 256, 8192
	shape shape_512, 512, 256, 65536
	shape shape_all_acc, 256, 4, 16384
	shape shape_full, 64, 32, 2048
