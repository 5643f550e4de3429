/* SPDX-License-Identifier: MIT */
/*
 * What can be done with a GPU here: each way of stopping a queue is tried on a scratch queue and
 * measured, not assumed. It goes on in a child process (child.h), so that nothing of it stays in
 * the caller's, and what hangs or crashes is told of.
 */
#ifndef GP__DEVICE_KFD_PROBE_H
#define GP__DEVICE_KFD_PROBE_H

#include <stdbool.h>

#include "device/kfd/control.h"
#include "device/kfd/topology.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

#define GP__KFD_REASON_MAX 320
/* A quarter of it is more than the driver waits for waves to leave the GPU. */
#define GP__KFD_PROBE_TIMEOUT_MS 40000u

struct gp__kfd_ability {
	bool works;
	bool drains; /* what runs finishes before: the GPU does not save waves */
	int error; /* -errno where it does not work */
	char reason[GP__KFD_REASON_MAX]; /* the rule that forbids it, or makes it drain; a remedy */
	double stop_us, start_us; /* medians, with no waves resident */
};

struct gp__kfd_probe {
	struct gp__kfd_node node;
	struct gp_kfd_version version; /* of the driver's interface */
	struct gp_kfd_preempt_query series; /* version 0: not the series' kernel */
	struct gp__kfd_scheduler scheduler; /* the kernel's own */
	int cwsr_enable; /* -1: the driver does not say */
	struct gp__kfd_ability way[GP__KFD_WAYS][GP__KFD_VERBS]; /* START has no entry */
	int best; /* enum gp__kfd_way for level 3, the fastest; -1: none works */
	uint64_t save_bytes; /* what the save area of a queue takes, all XCCs */
	uint32_t nr_queues; /* compute queues alive on this GPU, of everybody */
};

/*
 * 0, or -errno where not even a queue can be made; @reason says why. @timeout_ms 0: as above. What
 * is known without a queue is there in any case.
 */
int gp__kfd_probe(const struct gp__kfd_node *node, unsigned int timeout_ms,
		  struct gp__kfd_probe *probe, char reason[GP__KFD_REASON_MAX]);

/* "save", "drain", "reset"; the level of the promise: 3 or 2. */
const char *gp__kfd_verb_name(enum gp__kfd_verb verb);
int gp__kfd_verb_level(enum gp__kfd_verb verb);

#endif
