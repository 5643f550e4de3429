/* SPDX-License-Identifier: MIT */
/*
 * Replacements for OpenCL's library; the kernels are built without it, so that only the compiler is
 * needed.
 */
typedef uint u32;
typedef ulong u64;

static inline u32 local_size(int axis)
{
	return ((__constant ushort *)__builtin_amdgcn_dispatch_ptr())[2 + axis];
}

static inline u32 local_id(void)
{
	return __builtin_amdgcn_workitem_id_x();
}

static inline u32 group_id(void)
{
	return __builtin_amdgcn_workgroup_id_x();
}

static inline u32 global_id(void)
{
	return group_id() * local_size(0) + local_id();
}

static inline void barrier_local(void)
{
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
