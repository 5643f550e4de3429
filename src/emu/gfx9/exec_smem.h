/* SPDX-License-Identifier: MIT */
/* The scalar memory instructions that have an effect: X(opcode, name) for each. */
#ifndef GP__EMU_GFX9_EXEC_SMEM_H
#define GP__EMU_GFX9_EXEC_SMEM_H

#include "emu/gfx9/wave.h"

#define GFX9_SMEM_ATOMIC(X, OP, op)                   \
	X(S_ATOMIC_##OP, s_atomic_##op)               \
	X(S_ATOMIC_##OP##_X2, s_atomic_##op##_x2)     \
	X(S_BUFFER_ATOMIC_##OP, s_buffer_atomic_##op) \
	X(S_BUFFER_ATOMIC_##OP##_X2, s_buffer_atomic_##op##_x2)

#define GFX9_SMEM_OPS(X)                                    \
	X(S_LOAD_DWORD, s_load_dword)                       \
	X(S_LOAD_DWORDX2, s_load_dwordx2)                   \
	X(S_LOAD_DWORDX4, s_load_dwordx4)                   \
	X(S_LOAD_DWORDX8, s_load_dwordx8)                   \
	X(S_LOAD_DWORDX16, s_load_dwordx16)                 \
	X(S_STORE_DWORD, s_store_dword)                     \
	X(S_STORE_DWORDX2, s_store_dwordx2)                 \
	X(S_STORE_DWORDX4, s_store_dwordx4)                 \
	X(S_SCRATCH_LOAD_DWORD, s_scratch_load_dword)       \
	X(S_SCRATCH_LOAD_DWORDX2, s_scratch_load_dwordx2)   \
	X(S_SCRATCH_LOAD_DWORDX4, s_scratch_load_dwordx4)   \
	X(S_SCRATCH_STORE_DWORD, s_scratch_store_dword)     \
	X(S_SCRATCH_STORE_DWORDX2, s_scratch_store_dwordx2) \
	X(S_SCRATCH_STORE_DWORDX4, s_scratch_store_dwordx4) \
	X(S_BUFFER_LOAD_DWORD, s_buffer_load_dword)         \
	X(S_BUFFER_LOAD_DWORDX2, s_buffer_load_dwordx2)     \
	X(S_BUFFER_LOAD_DWORDX4, s_buffer_load_dwordx4)     \
	X(S_BUFFER_LOAD_DWORDX8, s_buffer_load_dwordx8)     \
	X(S_BUFFER_LOAD_DWORDX16, s_buffer_load_dwordx16)   \
	X(S_BUFFER_STORE_DWORD, s_buffer_store_dword)       \
	X(S_BUFFER_STORE_DWORDX2, s_buffer_store_dwordx2)   \
	X(S_BUFFER_STORE_DWORDX4, s_buffer_store_dwordx4)   \
	X(S_MEMTIME, s_memtime)                             \
	X(S_MEMREALTIME, s_memrealtime)                     \
	GFX9_SMEM_ATOMIC(X, SWAP, swap)                     \
	GFX9_SMEM_ATOMIC(X, CMPSWAP, cmpswap)               \
	GFX9_SMEM_ATOMIC(X, ADD, add)                       \
	GFX9_SMEM_ATOMIC(X, SUB, sub)                       \
	GFX9_SMEM_ATOMIC(X, SMIN, smin)                     \
	GFX9_SMEM_ATOMIC(X, UMIN, umin)                     \
	GFX9_SMEM_ATOMIC(X, SMAX, smax)                     \
	GFX9_SMEM_ATOMIC(X, UMAX, umax)                     \
	GFX9_SMEM_ATOMIC(X, AND, and)                       \
	GFX9_SMEM_ATOMIC(X, OR, or)                         \
	GFX9_SMEM_ATOMIC(X, XOR, xor)                       \
	GFX9_SMEM_ATOMIC(X, INC, inc)                       \
	GFX9_SMEM_ATOMIC(X, DEC, dec)

#define GFX9_SMEM_DECLARE(OP, op) gfx9_run_fn gfx9_##op;
GFX9_SMEM_OPS(GFX9_SMEM_DECLARE)
#undef GFX9_SMEM_DECLARE

#endif
