/* SPDX-License-Identifier: MIT */
/*
 * Whether the program is a rank of a collective: a launcher such as torchrun, mpirun or srun has
 * given it a rank, and a library for collectives is loaded. A rank that is held makes the others
 * wait for it in a loop, so all of them are one gang.
 *
 * Wrong tool for: workers of a launcher that load such a library and never wait for one another;
 * `gpreempt run --independent` is for them.
 */
#ifndef GP__JOIN_RANKS_H
#define GP__JOIN_RANKS_H

#include "wire/wire.h"

struct gp__rank {
	u32 number, size; /* size 0: a launcher has given it none */
	char gang[GP__WIRE_TAG_MAX]; /* the same in all ranks of one job, and in no other job */
};

/* Reads the environment, which the program may change later. */
void gp__rank_read(struct gp__rank *r);
/* Whether a library for collectives is loaded. */
bool gp__rank_has_library(void);

#endif
