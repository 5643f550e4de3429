// SPDX-License-Identifier: MIT
#include "emu/gfx9/launch.h"

#include <errno.h>

/* The kernel descriptor, 64 bytes. */
struct descriptor {
	uint32_t group_segment, private_segment, kernarg_size, reserved0;
	int64_t entry_offset;
	uint8_t reserved1[20];
	uint32_t rsrc3, rsrc1, rsrc2;
	uint16_t properties, kernarg_preload;
	uint32_t reserved2;
};
_Static_assert(sizeof(struct descriptor) == 64, "as in the code object");

/* properties */
#define PRIVATE_SEGMENT_BUFFER (1u << 0)
#define DISPATCH_PTR (1u << 1)
#define QUEUE_PTR (1u << 2)
#define KERNARG_PTR (1u << 3)
#define DISPATCH_ID (1u << 4)
#define FLAT_SCRATCH_INIT (1u << 5)
#define PRIVATE_SEGMENT_SIZE (1u << 6)
#define WAVE32 (1u << 10)

/* The entry point for hardware that preloads kernel arguments: behind the code that loads them. */
#define PRELOAD_ENTRY 256

/* The apertures of flat addresses, as amdkfd places them on this generation; bits 63:32. */
#define SHARED_WINDOW 0x00010000
#define PRIVATE_WINDOW 0x00020000

#define VGPRS_MAX 512
/* The unit of LDS in rsrc2; the descriptor has 0 there, as the packet has the size. */
#define LDS_UNIT 512

static uint32_t bits(uint32_t word, unsigned int low, unsigned int width)
{
	return word >> low & ((1u << width) - 1);
}

static void read_rsrc(uint32_t rsrc1, uint32_t rsrc2, uint32_t rsrc3, struct gfx9_kernel *k)
{
	uint32_t total = (bits(rsrc1, 0, 6) + 1) * 8, accum = (bits(rsrc3, 0, 6) + 1) * 4;

	k->nr_vgprs = accum < total ? accum : total;
	k->nr_agprs = total - k->nr_vgprs;
	/* Rounding and denormals, DX10_CLAMP and IEEE have the same format as in MODE. */
	k->mode = bits(rsrc1, 12, 8) | bits(rsrc1, 21, 1) << 8 | bits(rsrc1, 23, 1) << 9;
	k->private_segment = bits(rsrc2, 0, 1);
	k->user_sgprs = (uint8_t)bits(rsrc2, 1, 5);
	for (int i = 0; i < 3; i++)
		k->group_id[i] = bits(rsrc2, 7 + (unsigned int)i, 1);
	k->group_info = bits(rsrc2, 10, 1);
	k->item_ids = (uint8_t)bits(rsrc2, 11, 2);
}

static bool can_run(const struct gfx9_kernel *k)
{
	return k->user_sgprs <= EMU_USER_DATA_MAX && !(k->entry & 3) &&
	       k->nr_vgprs + k->nr_agprs <= VGPRS_MAX;
}

int gfx9_kernel_read(struct gfx9_tlb *tlb, enum gfx9_target target, uint64_t kernel_object,
		     struct gfx9_kernel *k)
{
	struct descriptor kd;
	uint64_t bad;

	memset(k, 0, sizeof(*k));
	if (!gfx9_tlb_read(tlb, kernel_object, &kd, sizeof(kd), &bad))
		return -EFAULT;
	read_rsrc(kd.rsrc1, kd.rsrc2, kd.rsrc3, k);
	k->entry = kernel_object + (uint64_t)kd.entry_offset;
	k->lds_bytes = kd.group_segment;
	k->scratch_bytes = kd.private_segment;
	k->properties = kd.properties;
	k->preload_dwords = (uint8_t)bits(kd.kernarg_preload, 0, 7);
	k->preload_offset = (uint8_t)bits(kd.kernarg_preload, 7, 9);
	if (k->preload_dwords)
		k->entry += PRELOAD_ENTRY;
	(void)target;
	return kd.properties & WAVE32 || !can_run(k) ? -EINVAL : 0;
}

int gfx9_kernel_from_registers(const struct emu_launch_registers *r, struct gfx9_kernel *k)
{
	memset(k, 0, sizeof(*k));
	read_rsrc(r->rsrc1, r->rsrc2, r->rsrc3, k);
	k->entry = r->entry;
	k->lds_bytes = bits(r->rsrc2, 15, 9) * LDS_UNIT;
	if (k->private_segment)
		k->scratch_bytes = r->scratch_wave_bytes / GFX9_LANES;
	k->has_user_data = true;
	return can_run(k) ? 0 : -EINVAL;
}

void gfx9_dispatch_groups(const struct emu_launch *d, uint32_t groups[3])
{
	for (int i = 0; i < 3; i++)
		groups[i] = (uint32_t)(((uint64_t)d->grid[i] + d->group[i] - 1) / d->group[i]);
}

/* Work-items of a workgroup along one axis: fewer at the edge of the grid. */
static uint32_t items(const struct emu_launch *d, const uint32_t id[3], int axis)
{
	uint64_t left = d->grid[axis] - (uint64_t)id[axis] * d->group[axis];

	return left < d->group[axis] ? (uint32_t)left : d->group[axis];
}

uint32_t gfx9_group_waves(const struct emu_launch *d, const uint32_t id[3])
{
	uint32_t n = items(d, id, 0) * items(d, id, 1) * items(d, id, 2);

	return (n + GFX9_LANES - 1) / GFX9_LANES;
}

/*
 * A buffer descriptor of all scratch: swizzled in elements of 4 bytes over 64 lanes, the lane added
 * to the index.
 */
static void put_scratch_descriptor(uint32_t *s, uint64_t base)
{
	s[0] = (uint32_t)base;
	s[1] = (uint32_t)(base >> 32 & 0xffff) | 1u << 31;
	s[2] = 0xffffffff;
	s[3] = 4 | 5 << 3 | 6 << 6 | 7 << 9 | 4 << 12 | 4 << 15 | 3u << 21 | 1u << 23;
}

static uint32_t *put64(uint32_t *s, uint64_t value)
{
	s[0] = (uint32_t)value;
	s[1] = (uint32_t)(value >> 32);
	return s + 2;
}

static uint32_t *put_user_sgprs(uint32_t *s, const struct gfx9_kernel *k,
				const struct emu_launch *d)
{
	if (k->has_user_data) {
		memcpy(s, d->user_data, k->user_sgprs * sizeof(*s));
		return s + k->user_sgprs;
	}
	if (k->properties & PRIVATE_SEGMENT_BUFFER) {
		put_scratch_descriptor(s, d->scratch_base);
		s += 4;
	}
	if (k->properties & DISPATCH_PTR)
		s = put64(s, d->packet);
	if (k->properties & QUEUE_PTR)
		s = put64(s, d->queue_ptr);
	if (k->properties & KERNARG_PTR)
		s = put64(s, d->kernarg);
	if (k->properties & DISPATCH_ID)
		s = put64(s, d->id);
	if (k->properties & FLAT_SCRATCH_INIT)
		s = put64(s, d->scratch_base);
	if (k->properties & PRIVATE_SEGMENT_SIZE)
		*s++ = d->scratch_bytes;
	return s;
}

/*
 * Kernel arguments that are preloaded into registers; unreadable ones stay 0, as loading them would
 * fault.
 */
static void preload(struct gfx9_wave *w, uint32_t *s, const struct gfx9_kernel *k,
		    const struct emu_launch *d)
{
	uint64_t bad;

	for (uint32_t i = 0; i < k->preload_dwords && s + i < &w->s[EMU_USER_DATA_MAX]; i++)
		gfx9_tlb_read(w->tlb, d->kernarg + 4 * (k->preload_offset + i), &s[i], 4, &bad);
}

static void put_system_sgprs(struct gfx9_wave *w, enum gfx9_target target,
			     const struct gfx9_kernel *k, const struct emu_launch *d,
			     const uint32_t id[3], uint32_t slot)
{
	uint64_t offset = (uint64_t)slot * d->scratch_wave_bytes;
	uint32_t *s = &w->s[k->user_sgprs];

	for (int i = 0; i < 3; i++) {
		if (k->group_id[i])
			*s++ = id[i];
	}
	if (k->group_info)
		*s++ = 0;
	/* gfx942 initialises FLAT_SCRATCH; on gfx90a the kernel does, from this offset. */
	if (target == GFX9_TARGET_GFX942)
		gfx9_set64(w, GFX9_FLAT_SCRATCH, d->scratch_base + offset);
	else if (k->private_segment)
		*s++ = (uint32_t)offset;
}

/* Both targets pack the three work-item ids into v0. */
static uint64_t put_item_ids(struct gfx9_wave *w, const struct emu_launch *d, const uint32_t id[3],
			     uint32_t index)
{
	uint32_t nx = items(d, id, 0), ny = items(d, id, 1), nz = items(d, id, 2);
	uint32_t first = index * GFX9_LANES, n = nx * ny * nz - first;
	uint32_t x = first % nx, y = first / nx % ny, z = first / (nx * ny);

	if (n > GFX9_LANES)
		n = GFX9_LANES;
	/* A row of work-items at a time. */
	for (uint32_t lane = 0, row; lane < n; lane += row, x = 0) {
		uint32_t others = y << 10 | z << 20, *restrict ids = &w->v[0][lane];

		row = nx - x < n - lane ? nx - x : n - lane;
		for (uint32_t i = 0; i < row; i++)
			ids[i] = (x + i) | others;
		if (++y == ny) {
			y = 0;
			z++;
		}
	}
	return GFX9_ALL_LANES >> (GFX9_LANES - n);
}

void gfx9_wave_allocate(struct gfx9_wave *w, const struct gfx9_kernel *k)
{
	w->nr_sgprs = GFX9_SGPRS;
	w->nr_vgprs = k->nr_vgprs;
	w->nr_agprs = k->nr_agprs;
	w->shared_base = SHARED_WINDOW;
	w->private_base = PRIVATE_WINDOW;
	/* Each field is the count less one, in units of 8, 4 and 16 registers. */
	w->gpr_alloc = ((k->nr_vgprs + k->nr_agprs) / 8 - 1) << 6 | (k->nr_vgprs / 4 - 1) << 12 |
		       (GFX9_SGPRS / 16 - 1) << 24;
	/* In units of 64 dwords, though allocated in twice that. */
	w->lds_alloc = w->lds_bytes / 256 << 12;
}

void gfx9_wave_start(struct gfx9_wave *w, enum gfx9_target target, const struct gfx9_kernel *k,
		     const struct emu_launch *d, const uint32_t id[3], uint32_t index,
		     uint32_t scratch_slot)
{
	uint32_t *s;

	w->pc = k->entry;
	w->mode = k->mode;
	s = put_user_sgprs(w->s, k, d);
	preload(w, s, k, d);
	put_system_sgprs(w, target, k, d, id, scratch_slot);
	gfx9_set64(w, GFX9_EXEC, put_item_ids(w, d, id, index));
}
