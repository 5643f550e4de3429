// SPDX-License-Identifier: MIT
/* The table of GPU models. This is the one file of the driver that names a compute engine. */
#include "emu/kfd/chip.h"

#include <string.h>

#include "emu/gfx9/engine.h"

static const struct emu_chip chips[] = {
	{
		.name = "gfx90a", /* MI210 */
		.engine = &gfx9_engine,
		.target = GFX9_TARGET_GFX90A,
		.nr_xccs = 1,
		.xccs_max = 1,
		.xcc_cus = 104,
		.nr_arrays = 8,
		.product = "aldebaran",
		.version = 90010,
		.device = 0x740f,
		.revision = 1,
		.mhz = 1700,
		.memory_mhz = 1600,
		.memory_width = 4096,
		.pcie_mbytes = 32000,
		.firmware = 78,
		.sdma_firmware = 8,
		.gb_addr_config = 0x22014042,
		.last_doorbell = 0x18f,
		.sdma_doorbell_align = 1,
		.max_queues = 127,
		.has_gws = true,
		.watch_low = 6,
		.watch_high = 29,
		.cache = {
			{ 1, 16, 64, EMU_CACHE_DATA | EMU_CACHE_GPU, 1 },
			{ 1, 32, 64, EMU_CACHE_CODE | EMU_CACHE_GPU, 2 },
			{ 1, 16, 64, EMU_CACHE_DATA | EMU_CACHE_GPU, 2 },
			{ 2, 8192, 128, EMU_CACHE_DATA | EMU_CACHE_GPU, 0 },
		},
	},
	{
		.name = "gfx942", /* MI300X */
		.engine = &gfx9_engine,
		.target = GFX9_TARGET_GFX942,
		.nr_xccs = 8,
		.xccs_max = 8,
		.xcc_cus = 38,
		.nr_arrays = 4,
		.product = "ip discovery",
		.version = 90402,
		.device = 0x74a1,
		.revision = 1,
		.mhz = 2100,
		.memory_mhz = 1300,
		.memory_width = 8192,
		.pcie_mbytes = 64000,
		.firmware = 155,
		.sdma_firmware = 20,
		.gb_addr_config = 0x2a114042,
		.last_doorbell = 0x1e8,
		.sdma_doorbell_align = 4,
		.max_queues = 255,
		.has_wave_traps = true,
		.ttmps = true,
		.watch_low = 7,
		.watch_high = 30,
		.cache = {
			{ 1, 32, 128, EMU_CACHE_DATA | EMU_CACHE_GPU, 1 },
			{ 1, 64, 64, EMU_CACHE_CODE | EMU_CACHE_GPU, 2 },
			{ 1, 16, 64, EMU_CACHE_DATA | EMU_CACHE_GPU, 2 },
			{ 2, 4096, 128, EMU_CACHE_DATA | EMU_CACHE_GPU, 0 },
			{ 3, 262144, 64, EMU_CACHE_DATA | EMU_CACHE_GPU, 0 },
		},
	},
};

const struct emu_chip *emu_chip_find(const char *name)
{
	for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++) {
		if (!strcmp(chips[i].name, name))
			return &chips[i];
	}
	return NULL;
}
