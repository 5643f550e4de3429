/* SPDX-License-Identifier: MIT */
/*
 * The part of DRM's and amdgpu's ioctls that compute programs use on render nodes. Our own
 * declarations: the distribution may have none.
 */
#ifndef GP__EMU_KFD_DRM_ABI_H
#define GP__EMU_KFD_DRM_ABI_H

#include <stdint.h>

#define DRM_MAGIC 'd'
#define DRM_VERSION 0x00
#define DRM_GET_UNIQUE 0x01
#define DRM_GET_MAGIC 0x02
#define DRM_GET_CLIENT 0x05
#define DRM_GET_CAP 0x0c
#define DRM_SET_CLIENT_CAP 0x0d
#define DRM_COMMAND_BASE 0x40
#define DRM_AMDGPU_INFO (DRM_COMMAND_BASE + 0x05)
#define DRM_AMDGPU_LAST (DRM_COMMAND_BASE + 0x15)

struct drm_version {
	int32_t major, minor, patch, pad;
	uint64_t name_len, name;
	uint64_t date_len, date;
	uint64_t desc_len, desc;
};

#define DRM_CAP_PRIME 0x5
#define DRM_CAP_TIMESTAMP_MONOTONIC 0x6
#define DRM_CAP_SYNCOBJ 0x13
#define DRM_CAP_SYNCOBJ_TIMELINE 0x14
#define DRM_CAP_LAST 0x15

struct drm_cap {
	uint64_t capability, value;
};

#define AMDGPU_INFO_ACCEL_WORKING 0x00
#define AMDGPU_INFO_HW_IP_COUNT 0x03
#define AMDGPU_INFO_TIMESTAMP 0x05
#define AMDGPU_INFO_NUM_BYTES_MOVED 0x0f
#define AMDGPU_INFO_VRAM_USAGE 0x10
#define AMDGPU_INFO_GTT_USAGE 0x11
#define AMDGPU_INFO_VRAM_GTT 0x14
#define AMDGPU_INFO_READ_MMR_REG 0x15
#define AMDGPU_INFO_DEV_INFO 0x16
#define AMDGPU_INFO_VIS_VRAM_USAGE 0x17
#define AMDGPU_INFO_NUM_EVICTIONS 0x18
#define AMDGPU_INFO_MEMORY 0x19
#define AMDGPU_INFO_VRAM_LOST_COUNTER 0x1f

struct drm_amdgpu_info {
	uint64_t return_pointer;
	uint32_t return_size, query;
	union {
		struct {
			uint32_t offset, count, instance, flags;
		} registers;
		struct {
			uint32_t type, instance;
		} hw_ip;
	};
};

struct drm_amdgpu_vram_gtt {
	uint64_t vram, visible_vram, gtt;
};

struct drm_amdgpu_heap {
	uint64_t total, usable, usage, max_allocation;
};

struct drm_amdgpu_memory {
	struct drm_amdgpu_heap vram, visible_vram, gtt;
};

#define AMDGPU_FAMILY_AI 141
#define AMDGPU_VRAM_HBM 6

struct drm_amdgpu_device {
	uint32_t device_id, chip_rev, external_rev, pci_rev;
	uint32_t family, num_shader_engines, num_shader_arrays_per_engine, gpu_counter_khz;
	uint64_t max_engine_khz, max_memory_khz;
	uint32_t cu_active_number, cu_ao_mask;
	uint32_t cu_bitmap[4][4];
	uint32_t enabled_rb_pipes_mask, num_rb_pipes, num_hw_gfx_contexts, pcie_gen;
	uint64_t ids_flags;
	uint64_t virtual_address_offset, virtual_address_max;
	uint32_t virtual_address_alignment, pte_fragment_size, gart_page_size, ce_ram_size;
	uint32_t vram_type, vram_bit_width, vce_harvest_config, gc_double_offchip_lds_buf;
	uint64_t prim_buf, pos_buf, cntl_sb_buf, param_buf;
	uint32_t prim_buf_size, pos_buf_size, cntl_sb_buf_size, param_buf_size;
	uint32_t wave_front_size, num_shader_visible_vgprs, num_cu_per_sh, num_tcc_blocks;
	uint32_t gs_vgt_table_depth, gs_prim_buffer_depth, max_gs_waves_per_vgt, pcie_num_lanes;
	uint32_t cu_ao_bitmap[4][4];
	uint64_t high_va_offset, high_va_max;
	uint32_t pa_sc_tile_steering_override, pad;
	uint64_t tcc_disabled_mask;
	uint64_t min_engine_khz, min_memory_khz;
};

_Static_assert(sizeof(struct drm_version) == 64, "as the kernel's");
_Static_assert(sizeof(struct drm_amdgpu_info) == 32, "as the kernel's");

#endif
