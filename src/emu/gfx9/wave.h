/* SPDX-License-Identifier: MIT */
/*
 * A wave: 64 lanes that execute one instruction stream, and all of its state.
 *
 * Instructions are functions over a wave, found by opcode (gfx9_run_fn). They change the wave and
 * memory, but the program counter only if they branch: it already points behind the instruction.
 * Memory is accessed at once, in program order: s_waitcnt is the fence that makes it visible to
 * others.
 */
#ifndef GP__EMU_GFX9_WAVE_H
#define GP__EMU_GFX9_WAVE_H

#include "emu/gfx9/gws.h"
#include "emu/gfx9/isa.h"
#include "emu/gfx9/vm.h"
#include "emu/gfx9/watch.h"

#define GFX9_LANES 64
#define GFX9_ALL_LANES (~(uint64_t)0)

/* Why a wave does not continue with the next instruction. */
enum gfx9_stop {
	GFX9_GO,
	GFX9_ENDPGM, /* s_endpgm */
	GFX9_ENDPGM_SAVED, /* s_endpgm_saved: the context save is complete */
	GFX9_BARRIER, /* waits for its workgroup */
	GFX9_SLEEP, /* yields to other waves */
	GFX9_TRAP, /* s_trap: wave->trap_id */
	GFX9_MESSAGE, /* s_sendmsg: wave->message; s_sendmsghalt has set STATUS.HALT as well */
	GFX9_HALT, /* STATUS.HALT set outside the trap handler: s_sethalt, s_rfe */
	GFX9_GLOBAL_SYNC, /* ds_gws_*: wave->gws; may wait for other waves */
	GFX9_EXCEPTION, /* enters the trap handler: TRAPSTS, or MODE.DEBUG_EN */
	GFX9_FAULT, /* memory violation: wave->fault */
	GFX9_ILLEGAL, /* an instruction the engine does not execute */
};

/* MODE */
#define GFX9_MODE_ROUND_F32(mode) ((mode)&3) /* 0 even, 1 +inf, 2 -inf, 3 zero */
#define GFX9_MODE_ROUND_F64(mode) ((mode) >> 2 & 3) /* and f16 */
#define GFX9_MODE_DENORM_F32(mode) ((mode) >> 4 & 3) /* bit 0: keep in, bit 1: keep out */
#define GFX9_MODE_DENORM_F64(mode) ((mode) >> 6 & 3)
#define GFX9_MODE_DX10_CLAMP (1u << 8)
#define GFX9_MODE_IEEE (1u << 9)
#define GFX9_MODE_DEBUG_EN (1u << 11) /* traps after each instruction */
#define GFX9_MODE_EXCP_SHIFT 12
#define GFX9_MODE_EXCP_ADDR_WATCH (1u << 19)
#define GFX9_MODE_GPR_IDX (1u << 27)
/* STATUS */
#define GFX9_STATUS_SCC (1u << 0) /* SCC, EXECZ and VCCZ are derived where STATUS is read */
#define GFX9_STATUS_USER_PRIO(status) ((status) >> 3 & 3)
#define GFX9_STATUS_PRIV (1u << 5)
#define GFX9_STATUS_TRAP_EN (1u << 6) /* there is a trap handler */
#define GFX9_STATUS_EXECZ (1u << 9)
#define GFX9_STATUS_VCCZ (1u << 10)
#define GFX9_STATUS_HALT (1u << 13)
#define GFX9_STATUS_COND_DBG_USER (1u << 20)
#define GFX9_STATUS_COND_DBG_SYS (1u << 21)

struct gfx9_group;

struct gfx9_fault {
	uint64_t address;
	bool write;
	unsigned int lane;
};

/* Temporary rows, unused between instructions. */
struct gfx9_spare {
	_Alignas(64) uint32_t src[3][2 * GFX9_LANES];
	uint32_t out[2 * GFX9_LANES];
};

struct gfx9_wave {
	uint64_t pc;
	/*
	 * Scalar registers by operand code, FLAT_SCRATCH to EXEC included; pairs are little-endian,
	 * as every supported host is.
	 */
	_Alignas(8) uint32_t s[128];
	/* Physical scalar registers 108 to 127, which only s_movrel can access. */
	uint32_t s_rest[20];
	/* v[n][lane]; the accumulation registers are behind the others, at v[nr_vgprs]. */
	uint32_t (*v)[GFX9_LANES];
	uint32_t nr_sgprs, nr_vgprs, nr_agprs;
	bool scc;
	uint32_t mode, status, trapsts;

	/* EXEC as a mask of 0 and ~0 for each lane, for vector code; valid if lanes_of == EXEC. */
	uint64_t lanes_of;
	_Alignas(64) uint32_t lanes[GFX9_LANES];

	struct gfx9_tlb *tlb; /* of the host thread that runs it */
	struct gfx9_spare *spare; /* likewise */
	struct gfx9_group *group; /* LDS and barrier */
	uint8_t *lds; /* the group's */
	uint32_t lds_bytes;

	/* Apertures of flat addresses: bits 63:32 of the shared and the private window. */
	uint32_t shared_base, private_base;
	uint64_t clock; /* the value of s_memtime; advances with instructions */

	const struct emu_wave_debug *debug; /* with address watches; NULL: none */
	bool stored; /* to memory that others can see, since the last s_waitcnt */
	bool save_pending; /* it is in a handler, and will be saved when it leaves that */
	uint8_t trap_id;
	uint16_t message;
	struct gfx9_gws_request gws;
	struct gfx9_fault fault;
	uint32_t gpr_alloc, lds_alloc, hw_id, ib_sts; /* read-only hardware registers */
	uint32_t xcc_id; /* likewise; 0 if the target has no such register */
	/* s_icache_inv was executed; it ends the turn, and the caller invalidates the code */
	bool icache_stale;
	uint64_t tba, tma;
};

typedef enum gfx9_stop gfx9_run_fn(struct gfx9_wave *w, const struct gfx9_inst *in);

/*
 * A table for each part of the instruction set, by opcode; NULL: not in that part. code.c searches
 * them; of the vector ALU it takes the best variant for this processor.
 */
extern gfx9_run_fn *const gfx9_scalar_ops[GFX9_OPS]; /* SOP*, SMEM, DS_GWS: exec_scalar.c */
extern gfx9_run_fn *const gfx9_vector_ops[GFX9_OPS]; /* VOP*: exec_vector.c */

/*
 * The function for this particular instruction: its plain form if it has no modifiers, for which it
 * fills in->rows. NULL: not a VALU op.
 */
gfx9_run_fn *gfx9_vector_bind(struct gfx9_inst *in);
/* exec_gws.c */
gfx9_run_fn gfx9_ds_gws_init, gfx9_ds_gws_barrier, gfx9_ds_gws_sema_v, gfx9_ds_gws_sema_br,
	gfx9_ds_gws_sema_p, gfx9_ds_gws_sema_release_all;
/* FLAT, GLOBAL, SCRATCH, MUBUF, DS: exec_memory.c and others. NULL: none of these. */
gfx9_run_fn *gfx9_memory_op(unsigned int op);

/*
 * As a single access, so that the host does not have to combine two small stores for a larger load.
 */
static inline uint64_t gfx9_get64(const struct gfx9_wave *w, unsigned int code)
{
	uint64_t value;

	memcpy(&value, &w->s[code], sizeof(value));
	return value;
}

static inline void gfx9_set64(struct gfx9_wave *w, unsigned int code, uint64_t value)
{
	memcpy(&w->s[code], &value, sizeof(value));
}

static inline uint64_t gfx9_exec(const struct gfx9_wave *w)
{
	return gfx9_get64(w, GFX9_EXEC);
}

/* The value of scalar operand @code (below 256) of an instruction, and the same as 64 bits. */
uint32_t gfx9_scalar(const struct gfx9_wave *w, const struct gfx9_inst *in, unsigned int code);
uint64_t gfx9_scalar64(const struct gfx9_wave *w, const struct gfx9_inst *in, unsigned int code);

/* The row of a vector operand (code >= GFX9_VGPR); the caller has checked that it exists. */
static inline uint32_t *gfx9_row(struct gfx9_wave *w, unsigned int code)
{
	return code >= GFX9_AGPR ? w->v[w->nr_vgprs + code - GFX9_AGPR] : w->v[code - GFX9_VGPR];
}

#endif
