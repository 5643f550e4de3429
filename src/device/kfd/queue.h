/* SPDX-License-Identifier: MIT */
/* A queue of this process as the program requested it: what its owner knows and others need. */
#ifndef GP__DEVICE_KFD_QUEUE_H
#define GP__DEVICE_KFD_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "gpreempt/uapi/gpreempt_kfd.h"

struct gp__kfd_queue_info {
	uint32_t id, gpu_id;
	uint32_t type; /* GP_KFD_QUEUE_... */
	uint32_t ring_bytes;
	/* Addresses in the process. */
	uint64_t ring, read_index, write_index;
	uint64_t save_area;
	uint32_t save_bytes; /* of each XCC */
	/* The runtime's latest wishes. */
	uint32_t percentage, priority;
};

/* PM4 or AQL; the others are SDMA of some kind. */
static inline bool gp__kfd_is_compute(uint32_t type)
{
	return type == GP_KFD_QUEUE_COMPUTE || type == GP_KFD_QUEUE_COMPUTE_AQL;
}

#endif
