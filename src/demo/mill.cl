/* SPDX-License-Identifier: MIT */
/*
 * Long work whose state is in registers, LDS and at barriers: each round, every work-item draws a
 * number and hands it to its neighbour. A workgroup that lost or mixed up any of it ends elsewhere.
 * Counts its workgroups in done[0], when all that they wrote is written.
 */
#include "common.h"

__kernel void mill(__global u64 *state, u32 rounds, __global u32 *done)
{
	__local u64 tray[256];
	u32 l = local_id(), next = l + 1 == local_size(0) ? 0 : l + 1;
	u64 s = state[global_id()];

	for (u32 r = 0; r < rounds; r++) {
		s = s * 6364136223846793005ul + 1442695040888963407ul;
		tray[l] = s;
		barrier_local();
		s ^= tray[next] >> 7;
		barrier_local();
	}
	state[global_id()] = s;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	barrier_local();
	if (!l)
		__atomic_fetch_add(done, 1, __ATOMIC_RELAXED);
}
