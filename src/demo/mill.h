/* SPDX-License-Identifier: MIT */
/* The host's side of the kernel of mill.cl: its arguments, and the same work on the host. */
#ifndef DEMO_MILL_H
#define DEMO_MILL_H

#include <stdint.h>

#define MILL_GROUP 256 /* work-items of a workgroup, each with one word of state */

struct mill_arguments {
	uint64_t *state;
	uint32_t rounds, pad;
	void *done; /* number of workgroups that have ended, 32 bits */
};

/* The work of one workgroup on its state. */
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
