/* SPDX-License-Identifier: MIT */
/*
 * Finds out what can be done with a GPU: each way of holding a queue is tried on a scratch queue
 * and measured, not assumed. It runs in a child process (child.h), so that it leaves nothing behind
 * in the caller, and hangs and crashes are reported.
 */
#ifndef GP__DEVICE_KFD_PROBE_H
#define GP__DEVICE_KFD_PROBE_H

#include <stdbool.h>

#include "device/kfd/control.h"
#include "device/kfd/topology.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

#define GP__KFD_REASON_MAX 320
/* A quarter of it is longer than the driver's timeout for waves to leave the GPU. */
#define GP__KFD_PROBE_TIMEOUT_MS 40000u

struct gp__kfd_ability {
	bool works;
	bool drains; /* running work finishes first: the GPU does not save waves */
	int error; /* -errno where it does not work */
	char reason[GP__KFD_REASON_MAX]; /* the rule that forbids it, or makes it drain; a remedy */
	double hold_us, release_us; /* medians, with no waves resident */
};

struct gp__kfd_probe {
	struct gp__kfd_node node;
	struct gp_kfd_version version; /* of the driver's interface */
	struct gp_kfd_preempt_query series; /* version 0: the kernel does not have it */
	struct gp__kfd_scheduler scheduler; /* the kernel's own */
	int cwsr_enable; /* -1: the driver does not say */
	struct gp__kfd_ability way[GP__KFD_WAYS][GP__KFD_VERBS]; /* RELEASE has no entry */
	int best; /* enum gp__kfd_way for level 3, the fastest; -1: none works */
	uint64_t save_bytes; /* size of a queue's save area, all XCCs */
	uint32_t nr_queues; /* compute queues on this GPU, of all programs */
};

/*
 * 0, or -errno if not even a queue can be created; @reason says why. @timeout_ms 0: the default
 * above. Facts that need no queue are set in any case.
 */
int gp__kfd_probe(const struct gp__kfd_node *node, unsigned int timeout_ms,
		  struct gp__kfd_probe *probe, char reason[GP__KFD_REASON_MAX]);

/* "save", "drain", "reset"; and the level that each guarantees: 3 or 2. */
const char *gp__kfd_verb_name(enum gp__kfd_verb verb);
int gp__kfd_verb_level(enum gp__kfd_verb verb);

#endif
