/* SPDX-License-Identifier: MIT */
/*
 * From a dispatch to waves: the kernel descriptor, which registers a wave starts with, and the
 * workgroups of a grid.
 *
 * The layout is that of the AMDHSA code object (versions 3 to 5), which does not differ in what the
 * hardware sees.
 */
#ifndef GP__EMU_GFX9_LAUNCH_H
#define GP__EMU_GFX9_LAUNCH_H

#include "emu/gfx9/wave.h"

/* Allocated to every wave, whatever it asks for: FLAT_SCRATCH, XNACK_MASK and VCC are 102 to 107.
 */
#define GFX9_SGPRS 112

/* What a kernel needs, read from its descriptor. */
struct gfx9_kernel {
	uint64_t entry;
	uint32_t lds_bytes, scratch_bytes; /* a work-item's scratch */
	uint32_t nr_vgprs, nr_agprs;
	uint32_t mode;
	uint16_t properties; /* which user SGPRs there are */
	uint8_t user_sgprs;
	uint8_t preload_dwords, preload_offset;
	bool private_segment, group_id[3], group_info;
	bool has_user_data; /* its user SGPRs are the dispatch's, as they are */
	uint8_t item_ids; /* highest work-item id wanted: 0 x, 1 y, 2 z */
};

#define GFX9_USER_SGPRS_MAX 16

/* What a kernel without a descriptor is described by: registers that packets have set. */
struct gfx9_registers {
	uint64_t entry;
	uint32_t rsrc1, rsrc2, rsrc3;
	uint32_t scratch_wave_bytes; /* of a wave, where it has any */
};

/* One dispatch, of AQL or by registers. Addresses are the GPU's. */
struct gfx9_dispatch {
	uint64_t kernel_object, kernarg, packet, queue_ptr, id;
	uint32_t grid[3]; /* in work-items */
	uint16_t group[3]; /* work-items in a workgroup */
	uint32_t lds_bytes, scratch_bytes; /* what the packet asks for; at least the kernel's */
	/* Memory for scratch: a slot for each wave that has some. */
	uint64_t scratch_base;
	uint32_t scratch_wave_bytes;
	uint32_t user_data[GFX9_USER_SGPRS_MAX]; /* of a dispatch by registers */
};

/* 0, -EFAULT where the descriptor cannot be read, or -EINVAL where the engine cannot run it. */
int gfx9_kernel_read(struct gfx9_tlb *tlb, enum gfx9_target target, uint64_t kernel_object,
		     struct gfx9_kernel *kernel);

/* 0, or -EINVAL where the engine cannot run it. */
int gfx9_kernel_from_registers(const struct gfx9_registers *r, struct gfx9_kernel *kernel);

/* Workgroups along each axis; the last one may be partial. */
void gfx9_dispatch_groups(const struct gfx9_dispatch *d, uint32_t groups[3]);

/* Waves of workgroup @id, which may be partial. */
uint32_t gfx9_group_waves(const struct gfx9_dispatch *d, const uint32_t id[3]);

/* How many registers a wave of this kernel has, and what of that it can read itself. */
void gfx9_wave_allocate(struct gfx9_wave *w, const struct gfx9_kernel *k);

/*
 * Gives wave @index of workgroup @id its first registers. w->v has room for the kernel's registers;
 * @scratch_slot is the wave's own.
 */
void gfx9_wave_start(struct gfx9_wave *w, enum gfx9_target target, const struct gfx9_kernel *k,
		     const struct gfx9_dispatch *d, const uint32_t id[3], uint32_t index,
		     uint32_t scratch_slot);

#endif
