/* SPDX-License-Identifier: MIT */
/*
 * The GPU models that a machine can have: facts that the driver reports about each one, and the
 * compute engine that executes its waves.
 */
#ifndef GP__EMU_KFD_CHIP_H
#define GP__EMU_KFD_CHIP_H

#include "emu/engine.h"

struct emu_cache {
	uint32_t level, kbytes, line, type;
	uint32_t cus; /* compute units that share it; of level 1 only */
};

/* Types of caches, as sysfs has them. */
#define EMU_CACHE_DATA 1
#define EMU_CACHE_CODE 2
#define EMU_CACHE_GPU 8

struct emu_chip {
	const char *name; /* LLVM's */
	const struct emu_engine *engine;
	unsigned int target; /* the engine's number for it */
	uint32_t nr_xccs, xccs_max, xcc_cus; /* by default, at most, and by default */
	uint32_t nr_arrays; /* shader arrays of an XCC */
	const char *product; /* the name in sysfs */
	uint32_t version, device, revision;
	uint32_t mhz, memory_mhz, memory_width, pcie_mbytes;
	uint32_t firmware, sdma_firmware;
	uint32_t gb_addr_config; /* a register that describes how surfaces are laid out */
	uint32_t last_doorbell; /* of those reserved for DMA, interrupts and video */
	uint32_t sdma_doorbell_align;
	uint32_t max_queues; /* of a process, since Linux 6.5 */
	bool has_gws; /* instructions for global wave sync */
	bool has_wave_traps; /* a debugger can stop waves at their start and end */
	bool ttmps; /* dispatches are always described in trap temporaries */
	uint32_t watch_low, watch_high; /* bits in the mask of an address watch */
	struct emu_cache cache[5];
};

/* NULL: there is no such model. */
const struct emu_chip *emu_chip_find(const char *name);

#endif
