/* SPDX-License-Identifier: MIT */
/*
 * A queue with work that uses no compute unit and lasts until it is ended: a barrier packet that
 * waits for a signal. The queue is made by the driver's calls, or by the HSA runtime if there is
 * one.
 */
#ifndef GP_BENCH_WAITING_H
#define GP_BENCH_WAITING_H

#include "resident.h"

struct waiting {
	/* For a queue of the driver: */
	struct resident r;
	struct gp__kfd_signal *dependency[2], *end[2]; /* of this packet and of the one before */
	unsigned int n; /* packets so far */
	/* For a queue of the runtime: */
	const struct waiting_runtime *hsa; /* NULL: a queue of the driver */
	struct gp__hsa_queue *queue;
	uint64_t go, ended; /* signals */
};

/* @kernels: as for resident_begin(). 0 or -errno; -ENOPKG: there is no HSA runtime. */
int waiting_begin(struct waiting *w, bool hsa, const char *kernels);
void waiting_end(struct waiting *w);

/* Writes a packet and rings its doorbell. */
void waiting_ring(struct waiting *w);
/* Ends the work: 0, or -ETIME. */
int waiting_release(struct waiting *w);
/*
 * Ends the packet after putting another one behind it: the queue makes progress, without which its
 * work is doubted, and is never idle. For a queue of the driver.
 */
int waiting_renew(struct waiting *w);

/* Whether this machine has the runtime. */
bool waiting_has_hsa(void);

#endif
