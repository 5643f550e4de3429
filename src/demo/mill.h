/* SPDX-License-Identifier: MIT */
/* The kernel of mill.cl as the host sees it: its arguments, and the same work done here.
 */
#ifndef DEMO_MILL_H
#define DEMO_MILL_H

#include <stdint.h>

#define MILL_GROUP 256 /* work-items of a workgroup, each with one word of state */

struct mill_arguments {
	uint64_t *state;
	uint32_t rounds, pad;
	void *done; /* how many workgroups have ended, a 32-bit number */
};

/* What one workgroup does with its state. */
static inline void turn_mill(uint64_t *state, uint32_t rounds)
{
	uint64_t tray[MILL_GROUP];

	for (uint32_t r = 0; r < rounds; r++) {
		for (int l = 0; l < MILL_GROUP; l++) {
			state[l] = state[l] * 6364136223846793005u + 1442695040888963407u;
			tray[l] = state[l];
		}
		for (int l = 0; l < MILL_GROUP; l++)
			state[l] ^= tray[(l + 1) % MILL_GROUP] >> 7;
	}
}

#endif
