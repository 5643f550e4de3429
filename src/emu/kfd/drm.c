// SPDX-License-Identifier: MIT
/*
 * ioctl(2) on a render node: the requests of libdrm and the compute runtimes. Graphics buffers and
 * command streams are not emulated, and are refused.
 */
#include <errno.h>
#include <linux/ioctl.h>
#include <string.h>

#include "emu/kfd/call.h"
#include "emu/kfd/drm_abi.h"
#include "emu/kfd/ioctl.h"
#include "emu/kfd/node.h"
#include "emu/kfd/process.h"
#include "emu/kfd/topology.h"

#define REGISTERS_MAX 128
#define GB_ADDR_CONFIG 0x263e
#define PAGE 4096
#define VA_RESERVED (2ULL << 20)
#define VA_HOLE (1ULL << 47)
#define VA_HIGH 0xffff800000000000

/* Copies a text as the kernel does: as much as fits, and its length. */
static int copy_text(struct emu_call *call, uint64_t to, uint64_t *len, const char *text)
{
	uint64_t n = strlen(text), room = *len;

	*len = n;
	if (n > room)
		n = room;
	return n && to ? emu_copy_to_user(call, to, text, n) : 0;
}

static int get_version(struct emu_call *call, struct drm_version *v)
{
	int err;

	v->major = 3;
	v->minor = emu_is_6_1(call->m) ? 49 : 59;
	v->patch = 0;
	err = copy_text(call, v->name, &v->name_len, "amdgpu");
	if (!err)
		err = copy_text(call, v->date, &v->date_len, "20150101");
	if (!err)
		err = copy_text(call, v->desc, &v->desc_len, "AMD GPU");
	return err;
}

static int get_cap(struct drm_cap *cap)
{
	cap->value = 0;
	switch (cap->capability) {
	case DRM_CAP_PRIME:
		cap->value = 3;
		return 0;
	case DRM_CAP_TIMESTAMP_MONOTONIC:
	case DRM_CAP_SYNCOBJ:
	case DRM_CAP_SYNCOBJ_TIMELINE:
		cap->value = 1;
		return 0;
	default:
		/* Other capabilities are those of displays. */
		return cap->capability && cap->capability <= DRM_CAP_LAST ? -EOPNOTSUPP : -EINVAL;
	}
}

/*
 * AMDGPU_INFO
 */

/* Copies the answer to a query, limited to the caller's size. */
static int give(struct emu_call *call, const struct drm_amdgpu_info *info, const void *data,
		size_t len)
{
	if (len > info->return_size)
		len = info->return_size;
	return emu_copy_to_user(call, info->return_pointer, data, len);
}

static int give_u64(struct emu_call *call, const struct drm_amdgpu_info *info, uint64_t value)
{
	return give(call, info, &value, sizeof(value));
}

static int give_u32(struct emu_call *call, const struct drm_amdgpu_info *info, uint32_t value)
{
	return give(call, info, &value, sizeof(value));
}

static int give_registers(struct emu_call *call, const struct drm_amdgpu_info *info)
{
	uint32_t n = info->registers.count;
	uint32_t value;

	if (n > REGISTERS_MAX)
		return -EINVAL;
	/* The only register that may be read here. */
	if (n != 1 || info->registers.offset != GB_ADDR_CONFIG)
		return -EFAULT;
	value = call->m->config.chip->gb_addr_config;
	return give(call, info, &value, sizeof(value));
}

static void fill_bitmap(const struct emu_config *c, struct drm_amdgpu_device *d)
{
	uint32_t arrays = c->chip->nr_arrays;

	/* From the fifth on, engines are in the second column, and so forth. */
	for (uint32_t i = 0; i < arrays && i < 16; i++) {
		uint32_t cus = c->xcc_cus / arrays + (i < c->xcc_cus % arrays);

		d->cu_bitmap[i % 4][i / 4] = cus < 32 ? (1u << cus) - 1 : UINT32_MAX;
	}
}

static int give_device(struct emu_call *call, const struct drm_amdgpu_info *info)
{
	const struct emu_machine *m = call->m;
	const struct emu_config *c = &m->config;
	struct drm_amdgpu_device d = {
		.device_id = c->chip->device,
		.chip_rev = c->chip->revision,
		.external_rev = c->chip->revision,
		.pci_rev = c->chip->revision,
		.family = AMDGPU_FAMILY_AI,
		.num_shader_engines = c->chip->nr_arrays,
		.num_shader_arrays_per_engine = 1,
		.gpu_counter_khz = 100000,
		.max_engine_khz = c->chip->mhz * 1000ULL,
		.max_memory_khz = c->chip->memory_mhz * 1000ULL,
		.cu_active_number = c->nr_xccs * c->xcc_cus,
		.virtual_address_offset = VA_RESERVED,
		.virtual_address_max = VA_HOLE,
		.virtual_address_alignment = PAGE,
		.pte_fragment_size = 2 << 20,
		.gart_page_size = PAGE,
		.vram_type = AMDGPU_VRAM_HBM,
		.vram_bit_width = c->chip->memory_width,
		.wave_front_size = 64,
		.num_shader_visible_vgprs = 512,
		.num_cu_per_sh = emu_topology_array_cus(m),
		.pcie_num_lanes = 16,
		.high_va_offset = VA_HIGH,
		.high_va_max = -VA_RESERVED,
	};

	fill_bitmap(c, &d);
	return give(call, info, &d, sizeof(d));
}

static int give_memory(struct emu_call *call, const struct drm_amdgpu_info *info, uint32_t node)
{
	struct emu_machine *m = call->m;
	uint64_t vram = m->config.vram_bytes, used = m->node[node]->vram_used;
	uint64_t gtt = m->gtt_bytes;
	struct drm_amdgpu_memory mem = {
		.vram = { vram, vram, used, vram / 4 * 3 },
		.visible_vram = { vram, vram, used, vram / 4 * 3 },
		.gtt = { gtt, gtt, m->gtt_used, gtt / 4 * 3 },
	};

	return give(call, info, &mem, sizeof(mem));
}

static int give_vram_gtt(struct emu_call *call, const struct drm_amdgpu_info *info)
{
	struct drm_amdgpu_vram_gtt v = { call->m->config.vram_bytes, call->m->config.vram_bytes,
					 call->m->gtt_bytes };

	return give(call, info, &v, sizeof(v));
}

static int get_info(struct emu_call *call, uint32_t node, const struct drm_amdgpu_info *info)
{
	struct emu_machine *m = call->m;

	if (!info->return_size || !info->return_pointer)
		return -EINVAL;
	switch (info->query) {
	case AMDGPU_INFO_ACCEL_WORKING:
		return give_u32(call, info, 1);
	case AMDGPU_INFO_HW_IP_COUNT:
		/* The kernel has no rings of any kind. */
		return give_u32(call, info, 0);
	case AMDGPU_INFO_TIMESTAMP:
		return give_u64(call, info, emu_node_ticks(m->node[node]));
	case AMDGPU_INFO_VRAM_USAGE:
	case AMDGPU_INFO_VIS_VRAM_USAGE:
		return give_u64(call, info, m->node[node]->vram_used);
	case AMDGPU_INFO_GTT_USAGE:
		return give_u64(call, info, m->gtt_used);
	case AMDGPU_INFO_NUM_BYTES_MOVED:
	case AMDGPU_INFO_NUM_EVICTIONS:
		return give_u64(call, info, 0);
	case AMDGPU_INFO_VRAM_LOST_COUNTER:
		return give_u32(call, info, (uint32_t)m->node[node]->nr_resets);
	case AMDGPU_INFO_VRAM_GTT:
		return give_vram_gtt(call, info);
	case AMDGPU_INFO_READ_MMR_REG:
		return give_registers(call, info);
	case AMDGPU_INFO_DEV_INFO:
		return give_device(call, info);
	case AMDGPU_INFO_MEMORY:
		return give_memory(call, info, node);
	default:
		return -EINVAL;
	}
}

/*
 * The table of ioctls
 */

union arguments {
	struct drm_version version;
	struct drm_cap cap;
	struct drm_amdgpu_info info;
};

/* The size of the kernel's argument; 0 and *@err: no such ioctl. */
static uint32_t known_size(uint32_t nr, int *err)
{
	switch (nr) {
	case DRM_VERSION:
		return sizeof(struct drm_version);
	case DRM_GET_CAP:
		return sizeof(struct drm_cap);
	case DRM_AMDGPU_INFO:
		return sizeof(struct drm_amdgpu_info);
	case DRM_GET_UNIQUE:
	case DRM_GET_MAGIC:
	case DRM_GET_CLIENT:
	case DRM_SET_CLIENT_CAP:
		*err = -EACCES; /* not on render nodes */
		return 0;
	default:
		*err = nr >= DRM_COMMAND_BASE && nr <= DRM_AMDGPU_LAST ? -EOPNOTSUPP : -EINVAL;
		return 0;
	}
}

static int run(struct emu_call *call, const struct emu_file *f, uint32_t nr, union arguments *args)
{
	switch (nr) {
	case DRM_VERSION:
		return get_version(call, &args->version);
	case DRM_GET_CAP:
		return get_cap(&args->cap);
	default:
		return get_info(call, f->node, &args->info);
	}
}

int emu_drm_ioctl(struct emu_call *call, const struct emu_file *f, uint32_t cmd, uint64_t arg)
{
	union arguments args = { 0 };
	int err = 0, result;
	uint32_t size, known;

	if (_IOC_TYPE(cmd) != DRM_MAGIC)
		return -ENOTTY;
	known = known_size(_IOC_NR(cmd), &err);
	if (err)
		return err;
	size = _IOC_SIZE(cmd) < known ? _IOC_SIZE(cmd) : known;
	err = emu_copy_from_user(call, &args, arg, size);
	if (err)
		return err;
	result = run(call, f, _IOC_NR(cmd), &args);
	if (result == -ECONNRESET || _IOC_NR(cmd) == DRM_AMDGPU_INFO)
		return result;
	err = emu_reply_to_user(call, arg, &args, size);
	return err ? err : result;
}
