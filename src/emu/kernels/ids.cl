/* SPDX-License-Identifier: MIT */
/*
 * A work-item's position in the grid, from where the code object's version (ABI) keeps it: version
 * 5 has it among the hidden arguments; 3 and 4 have only the global offset there, and the rest in
 * the dispatch packet.
 */
#include "common.h"

struct place {
	u32 at[3], item[3], group[3], size[3], groups[3];
	u32 dims, sum;
};

#if ABI >= 5
/* block_count 0, group_size 12, remainder 18, global_offset 40, grid_dims 64 */
#define HIDDEN(type, at) (*(__constant type *)((__constant char *)__builtin_amdgcn_implicitarg_ptr() + (at)))

static u32 size_of(int axis, u32 group)
{
	return group < HIDDEN(u32, 4 * axis) ? HIDDEN(ushort, 12 + 2 * axis) : HIDDEN(ushort, 18 + 2 * axis);
}

static u32 full_size_of(int axis)
{
	return HIDDEN(ushort, 12 + 2 * axis);
}

static u32 groups_of(int axis)
{
	return HIDDEN(u32, 4 * axis) + (HIDDEN(ushort, 18 + 2 * axis) != 0);
}

static u64 offset_of(int axis)
{
	return HIDDEN(u64, 40 + 8 * axis);
}

static u32 dims_of(void)
{
	return HIDDEN(ushort, 64);
}
#else
#define PACKET(type, at) (*(__constant type *)((__constant char *)__builtin_amdgcn_dispatch_ptr() + (at)))

static u32 full_size_of(int axis)
{
	return PACKET(ushort, 4 + 2 * axis);
}

static u32 size_of(int axis, u32 group)
{
	u32 rest = PACKET(u32, 12 + 4 * axis) - group * full_size_of(axis);

	return rest < full_size_of(axis) ? rest : full_size_of(axis);
}

static u32 groups_of(int axis)
{
	return (PACKET(u32, 12 + 4 * axis) + full_size_of(axis) - 1) / full_size_of(axis);
}

static u64 offset_of(int axis)
{
	return *(__constant u64 *)((__constant char *)__builtin_amdgcn_implicitarg_ptr() + 8 * axis);
}

static u32 dims_of(void)
{
	return PACKET(ushort, 2);
}
#endif

/* The sum over the workgroup shows that exactly its work-items took part. */
__kernel void ids(__global struct place *out, u64 pitch, u64 plane, uint first)
{
	__local u32 sum;
	u32 item[3] = { __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
			    __builtin_amdgcn_workitem_id_z() };
	u32 group[3] = { __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
			 __builtin_amdgcn_workgroup_id_z() };
	u32 at[3];
	__global struct place *p;

	for (int i = 0; i < 3; i++)
		at[i] = group[i] * full_size_of(i) + item[i];
	p = &out[first + at[0] + at[1] * pitch + at[2] * plane];
	if (!(item[0] | item[1] | item[2]))
		sum = 0;
	barrier_local();
	__atomic_fetch_add(&sum, 1, __ATOMIC_RELAXED);
	barrier_local();
	for (int i = 0; i < 3; i++) {
		p->at[i] = at[i] + (u32)offset_of(i);
		p->item[i] = item[i];
		p->group[i] = group[i];
		p->size[i] = size_of(i, group[i]);
		p->groups[i] = groups_of(i);
	}
	p->dims = dims_of();
	p->sum = sum;
}
