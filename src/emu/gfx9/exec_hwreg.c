// SPDX-License-Identifier: MIT
/* Hardware registers: s_getreg and s_setreg. */
#include "emu/gfx9/exec_hwreg.h"

#include "emu/gfx9/operand.h"

enum hwreg {
	HWREG_MODE = 1,
	HWREG_STATUS,
	HWREG_TRAPSTS,
	HWREG_HW_ID,
	HWREG_GPR_ALLOC,
	HWREG_LDS_ALLOC,
	HWREG_IB_STS,
	HWREG_SH_MEM_BASES = 15,
	HWREG_TBA_LO,
	HWREG_TBA_HI,
	HWREG_TMA_LO,
	HWREG_TMA_HI,
	HWREG_XCC_ID,
};

#define STATUS_DERIVED (GFX9_STATUS_SCC | GFX9_STATUS_EXECZ | GFX9_STATUS_VCCZ)
#define TRAPSTS_EXCEPTIONS 0x1ffu /* floating-point flags, which the program may change */

static bool privileged(const struct gfx9_wave *w)
{
	return w->status & GFX9_STATUS_PRIV;
}

static uint32_t status_of(const struct gfx9_wave *w)
{
	return (w->status & ~STATUS_DERIVED) | (w->scc ? GFX9_STATUS_SCC : 0) |
	       (gfx9_exec(w) ? 0 : GFX9_STATUS_EXECZ) |
	       (gfx9_get64(w, GFX9_VCC) ? 0 : GFX9_STATUS_VCCZ);
}

/* TBA and TMA are shown without their lowest 8 bits, and only to the trap handler. */
static uint32_t handler_address(const struct gfx9_wave *w, uint64_t address, unsigned int shift)
{
	return privileged(w) ? (uint32_t)(address >> shift) : 0;
}

static uint32_t hwreg_get(const struct gfx9_wave *w, unsigned int id)
{
	switch (id) {
	case HWREG_MODE:
		return w->mode;
	case HWREG_STATUS:
		return status_of(w);
	case HWREG_TRAPSTS:
		return w->trapsts;
	case HWREG_HW_ID:
		return w->hw_id;
	case HWREG_GPR_ALLOC:
		return w->gpr_alloc;
	case HWREG_LDS_ALLOC:
		return w->lds_alloc;
	case HWREG_IB_STS:
		return w->ib_sts;
	case HWREG_SH_MEM_BASES:
		return w->private_base >> 16 | (w->shared_base & 0xffff0000);
	case HWREG_TBA_LO:
		return handler_address(w, w->tba, 8);
	case HWREG_TBA_HI:
		return handler_address(w, w->tba, 40);
	case HWREG_TMA_LO:
		return handler_address(w, w->tma, 8);
	case HWREG_TMA_HI:
		return handler_address(w, w->tma, 40);
	case HWREG_XCC_ID:
		return w->xcc_id;
	default:
		return 0;
	}
}

/* Bits that s_setreg may change; only s_rfe clears PRIV. */
static uint32_t hwreg_writable(const struct gfx9_wave *w, unsigned int id)
{
	switch (id) {
	case HWREG_MODE:
		return UINT32_MAX;
	case HWREG_STATUS:
		return privileged(w) ? ~(GFX9_STATUS_PRIV | GFX9_STATUS_EXECZ | GFX9_STATUS_VCCZ)
				     : 0;
	case HWREG_TRAPSTS:
		return privileged(w) ? UINT32_MAX : TRAPSTS_EXCEPTIONS;
	case HWREG_IB_STS:
		return privileged(w) ? UINT32_MAX : 0;
	default:
		return 0;
	}
}

static void hwreg_set(struct gfx9_wave *w, unsigned int id, uint32_t value)
{
	switch (id) {
	case HWREG_MODE:
		w->mode = value;
		break;
	case HWREG_STATUS:
		w->scc = value & GFX9_STATUS_SCC;
		w->status = value & ~STATUS_DERIVED;
		break;
	case HWREG_TRAPSTS:
		w->trapsts = value;
		break;
	case HWREG_IB_STS:
		w->ib_sts = value;
		break;
	default:
		break;
	}
}

/* The constant of these instructions: register [5:0], lowest bit [10:6], size - 1 [15:11]. */
static unsigned int hwreg_id(const struct gfx9_inst *in)
{
	return in->offset & 0x3f;
}

static unsigned int hwreg_low(const struct gfx9_inst *in)
{
	return in->offset >> 6 & 0x1f;
}

static uint32_t hwreg_mask(const struct gfx9_inst *in)
{
	return UINT32_MAX >> (31 - (in->offset >> 11 & 0x1f));
}

static void hwreg_change(struct gfx9_wave *w, const struct gfx9_inst *in, uint32_t value)
{
	unsigned int id = hwreg_id(in), low = hwreg_low(in);
	uint32_t mask = hwreg_mask(in) << low & hwreg_writable(w, id);

	if (mask)
		hwreg_set(w, id, (hwreg_get(w, id) & ~mask) | (value << low & mask));
}

enum gfx9_stop gfx9_s_getreg_b32(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	gfx9_sreg_set(w, in->dst, hwreg_get(w, hwreg_id(in)) >> hwreg_low(in) & hwreg_mask(in));
	return GFX9_GO;
}

enum gfx9_stop gfx9_s_setreg_b32(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	hwreg_change(w, in, gfx9_sreg(w, in->dst));
	return GFX9_GO;
}

enum gfx9_stop gfx9_s_setreg_imm32_b32(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	hwreg_change(w, in, in->literal);
	return GFX9_GO;
}
