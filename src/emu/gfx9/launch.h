/* SPDX-License-Identifier: MIT */
/*
 * From a dispatch to waves: the kernel descriptor, the initial registers of a wave, and the
 * workgroups of a grid.
 *
 * The layout is that of the AMDHSA code object, versions 3 to 5, which agree in what the hardware
 * sees.
 */
#ifndef GP__EMU_GFX9_LAUNCH_H
#define GP__EMU_GFX9_LAUNCH_H

#include "emu/gfx9/wave.h"

/*
 * Allocated to every wave, whatever it requests: FLAT_SCRATCH, XNACK_MASK and VCC are 102 to 107.
 */
#define GFX9_SGPRS 112

/* The requirements of a kernel, from its descriptor. */
struct gfx9_kernel {
	uint64_t entry;
	uint32_t lds_bytes, scratch_bytes; /* a work-item's scratch */
	uint32_t nr_vgprs, nr_agprs;
	uint32_t mode;
	uint16_t properties; /* which user SGPRs it has */
	uint8_t user_sgprs;
	uint8_t preload_dwords, preload_offset;
	bool private_segment, group_id[3], group_info;
	bool has_user_data; /* its user SGPRs are copied from the dispatch */
	uint8_t item_ids; /* highest work-item id wanted: 0 x, 1 y, 2 z */
};

/* 0, -EFAULT where the descriptor cannot be read, or -EINVAL where the engine cannot run it. */
int gfx9_kernel_read(struct gfx9_tlb *tlb, enum gfx9_target target, uint64_t kernel_object,
		     struct gfx9_kernel *kernel);

/* 0, or -EINVAL where the engine cannot run it. */
int gfx9_kernel_from_registers(const struct emu_launch_registers *r, struct gfx9_kernel *kernel);

/* Workgroups along each axis; the last one may be partial. */
void gfx9_dispatch_groups(const struct emu_launch *d, uint32_t groups[3]);

/* Waves of workgroup @id, which may be partial. */
uint32_t gfx9_group_waves(const struct emu_launch *d, const uint32_t id[3]);

/*
 * Sets the number of registers of a wave of this kernel, and the hardware registers that show it.
 */
void gfx9_wave_allocate(struct gfx9_wave *w, const struct gfx9_kernel *k);

/*
 * Initialises the registers of wave @index of workgroup @id. w->v has room for the kernel's
 * registers; @scratch_slot is the wave's own.
 */
void gfx9_wave_start(struct gfx9_wave *w, enum gfx9_target target, const struct gfx9_kernel *k,
		     const struct emu_launch *d, const uint32_t id[3], uint32_t index,
		     uint32_t scratch_slot);

#endif
