/* SPDX-License-Identifier: MIT */
/*
 * Kernels of the ROCm test programs. The host can compute their results, which show whether they
 * ran twice, too early or not at all.
 */
#include "demo/mill.cl"

__kernel void vector_add(__global const u32 *a, __global const u32 *b, __global u32 *c, u32 n)
{
	u32 i = global_id();

	if (i < n)
		c[i] = a[i] + b[i];
}

/* Bytes, so that no address is aligned by accident. */
__kernel void invert(__global const uchar *in, __global uchar *out, u32 n)
{
	u32 i = global_id();

	if (i < n)
		out[i] = in[i] ^ 0xff;
}

/* The dispatch that finds @before leaves @before + 1; all others are counted. */
__kernel void follow(__global u32 *cells, u32 before, __global u32 *wrong)
{
	__global u32 *cell = &cells[global_id()];

	if (*cell != before)
		__atomic_fetch_add(wrong, 1, __ATOMIC_RELAXED);
	*cell = before + 1;
}

/*
 * Says in *mine that it is in each turn, and waits until *theirs says that of the other one, but for
 * @patience rounds at most: then it stays in that turn.
 */
__kernel void meet(__global u32 *mine, __global u32 *theirs, u32 from, u32 to, u32 patience)
{
	if (global_id())
		return;
	for (u32 turn = from; turn <= to; turn++) {
		u32 left = patience;

		__atomic_store_n(mine, turn, __ATOMIC_RELAXED);
		while (__atomic_load_n(theirs, __ATOMIC_RELAXED) < turn) {
			if (!left--)
				return;
		}
	}
}

/* In any order: one more for each dispatch. */
__kernel void count(__global u32 *cells)
{
	__atomic_fetch_add(&cells[global_id()], 1, __ATOMIC_RELAXED);
}

/* Another order leaves another result. */
__kernel void stir(__global u32 *to, __global const u32 *from, u32 with)
{
	to[global_id()] = from[global_id()] * 1664525 + with + global_id();
}

/* The order in which the dispatches ran. */
__kernel void take_ticket(__global u32 *next, __global u32 *mine)
{
	if (!global_id())
		*mine = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
}

/*
 * Long work that shows its progress: every wave counts its rounds in progress[0], and continues to
 * count after the last one until the host opens the gate.
 */
__kernel void march(__global u64 *state, u32 rounds, __global u32 *progress,
		    __global volatile u32 *gate)
{
	u64 s = state[global_id()];
	bool counts = !(local_id() & 63);

	for (u32 r = 0; r < rounds; r++) {
		s = s * 6364136223846793005ul + 1442695040888963407ul;
		s ^= s >> 29;
		if (counts)
			__atomic_fetch_add(progress, 1, __ATOMIC_RELAXED);
	}
	while (!__atomic_load_n(gate, __ATOMIC_RELAXED)) {
		if (counts)
			__atomic_fetch_add(progress, 1, __ATOMIC_RELAXED);
	}
	state[global_id()] = s;
}

/* An array with run-time indices: needs scratch. */
__kernel void scratch(__global u32 *out, u32 rounds)
{
	volatile u32 a[32];
	u32 x = global_id();

	for (u32 k = 0; k < 32; k++)
		a[k] = x + k;
	for (u32 r = 0; r < rounds; r++)
		a[(x + r) & 31] += a[(x * 3 + r) & 31] + r;
	for (u32 k = 0; k < 32; k++)
		x = x * 31 + a[k];
	out[global_id()] = x;
}

/* The position of each work-item of a three-dimensional grid that no workgroup divides. */
__kernel void place(__global u32 *out, u32 width, u32 height, u32 depth)
{
	u32 x = __builtin_amdgcn_workgroup_id_x() * local_size(0) + __builtin_amdgcn_workitem_id_x();
	u32 y = __builtin_amdgcn_workgroup_id_y() * local_size(1) + __builtin_amdgcn_workitem_id_y();
	u32 z = __builtin_amdgcn_workgroup_id_z() * local_size(2) + __builtin_amdgcn_workitem_id_z();

	if (x < width && y < height && z < depth)
		out[(z * height + y) * width + x] = x | y << 10 | z << 20;
}

/* Reports its start, and runs until the host opens the gate. */
__kernel void wait_for_host(__global volatile u32 *here, __global volatile u32 *gate)
{
	if (global_id())
		return;
	__atomic_store_n(here, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(gate, __ATOMIC_ACQUIRE))
		__builtin_amdgcn_s_sleep(2);
}

__kernel void wild(__global u32 *anywhere)
{
	anywhere[global_id()] = 0xbad;
}

/* A reciprocal, which is approximate, then an instruction that the emulated GPU does not execute. */
__kernel void unsupported(__global float *out)
{
	float r = __builtin_amdgcn_rcpf((float)(3 + global_id()));

	__asm__ volatile("s_setvskip s0, 0" ::"v"(r));
	*out = r;
}

/* Scalar instructions, which an emulated GPU executes fastest. */
__kernel void toil(u32 rounds)
{
	u32 x = rounds;

	for (u32 i = 0; i < rounds; i++) {
		x = (x ^ x >> 7) * 0x9e3779b1u;
		__asm volatile("" : "+s"(x));
	}
}
