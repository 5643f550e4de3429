/* SPDX-License-Identifier: MIT */
/*
 * A queue with work that takes nothing of the GPU and lasts as long as one wants: a barrier packet
 * that waits for a signal. Made by the driver's own calls, or through the HSA runtime, as most
 * programs have theirs, where there is one.
 */
#ifndef GP_BENCH_WAITING_H
#define GP_BENCH_WAITING_H

#include "resident.h"

struct waiting {
	/* Of the driver's: */
	struct resident r;
	struct gp__kfd_signal *dependency;
	/* Of the runtime's: */
	const struct waiting_runtime *hsa; /* NULL: it is the driver's */
	struct gp__hsa_queue *queue;
	uint64_t go, ended; /* signals */
};

/* @kernels: as for resident_begin(). 0 or -errno; -ENOPKG: there is no HSA runtime. */
int waiting_begin(struct waiting *w, bool hsa, const char *kernels);
void waiting_end(struct waiting *w);

/* One packet, and its doorbell. */
void waiting_ring(struct waiting *w);
/* It ends: 0, or -ETIME. */
int waiting_release(struct waiting *w);

/* Whether this machine has the runtime. */
bool waiting_has_hsa(void);

#endif
