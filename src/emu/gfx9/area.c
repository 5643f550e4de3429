// SPDX-License-Identifier: MIT
#include "emu/gfx9/area.h"

#define PAGE 4096
#define CU_WAVES 40 /* more than a GPU of these targets has, but the driver counts so */
#define ENGINE_WAVES 512
#define WAVE_ENTRY_BYTES 8
#define WAVE_DEBUG_BYTES 32
#define DEBUG_ALIGN 64

/*
 * The state of a compute unit. Blocks and gaps of 32 waves need half as much again as the driver
 * has for them, but their scalar registers leave just that.
 */
#define CU_VGPR_BYTES 0x80000
#define CU_SGPR_BYTES 0x4000
#define CU_LDS_BYTES 0x10000
#define CU_BLOCK_BYTES 0x1000

/* Entries */
#define IS_STATE (1u << 31)
#define STATE_SGPRS_SHIFT 6
#define STATE_LDS_SHIFT 9
#define STATE_ACCUM_SHIFT 24
#define WAVE_SCOREBOARD 0x1ff
#define WAVE_SCRATCH (1u << 15)
#define WAVE_LAST (1u << 16)
#define WAVE_FIRST (1u << 17)
#define TTMPS 16

static uint64_t align(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

struct emu_save_sizes gfx9_area_sizes(const struct emu_gpu_shape *gpu)
{
	uint64_t waves = (uint64_t)gpu->xcc_cus * CU_WAVES;
	uint64_t limit = (uint64_t)gpu->nr_arrays / gpu->engine_arrays * ENGINE_WAVES;
	uint64_t records = gpu->xcc_cus * (uint64_t)(CU_VGPR_BYTES + CU_SGPR_BYTES + CU_LDS_BYTES +
						     CU_BLOCK_BYTES);
	struct emu_save_sizes s;

	if (waves > limit)
		waves = limit;
	s.ctl_bytes = (uint32_t)align(
		GFX9_AREA_HEADER_BYTES + waves * WAVE_ENTRY_BYTES + 4 * GFX9_AREA_TOP_WORDS, PAGE);
	s.slice_bytes = s.ctl_bytes + align(records, PAGE);
	s.debug_bytes = (uint32_t)align(waves * WAVE_DEBUG_BYTES, DEBUG_ALIGN);
	s.total_bytes = align((s.slice_bytes + s.debug_bytes) * gpu->nr_xccs, PAGE);
	return s;
}

/* Counts are less one, in units of 8, 4 and 16 registers; the scalar ones with the trap handler's
 * own. */
uint32_t gfx9_area_state(uint32_t nr_vgprs, uint32_t nr_agprs, uint32_t nr_sgprs,
			 uint32_t lds_bytes)
{
	return IS_STATE | ((nr_vgprs + nr_agprs) / 8 - 1) |
	       ((nr_sgprs + TTMPS) / 16 - 1) << STATE_SGPRS_SHIFT |
	       lds_bytes / 512 << STATE_LDS_SHIFT | (nr_vgprs / 4 - 1) << STATE_ACCUM_SHIFT;
}

uint32_t gfx9_area_wave(uint32_t group, bool scratch, bool first, bool last)
{
	return (group & WAVE_SCOREBOARD) | (scratch ? WAVE_SCRATCH : 0) | (last ? WAVE_LAST : 0) |
	       (first ? WAVE_FIRST : 0);
}
