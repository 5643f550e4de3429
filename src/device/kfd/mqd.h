/* SPDX-License-Identifier: MIT */
/*
 * Reads the hex dumps of debugfs' kfd/mqds and kfd/hqds: the descriptors of queues in memory, and
 * those that the hardware's slots have loaded.
 *
 * The readers accept any text. They skip what they do not know, so a line or a word that another
 * kernel version adds does no harm; a truncated descriptor is left out.
 */
#ifndef GP__DEVICE_KFD_MQD_H
#define GP__DEVICE_KFD_MQD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* A descriptor, or the part of it in a slot. With several XCCs, the first one's. */
struct gp__kfd_mqd {
	pid_t pid; /* 0 in hqds */
	uint32_t gpu_id;
	bool sdma, aql;
	bool active; /* as the hardware has it, in hqds; in mqds it may be out of date */
	int mapped; /* cached result of gp__kfd_mqd_mapped() */
	uint32_t priority; /* 0..15; 0 for SDMA, which has none */
	uint64_t address; /* of the descriptor; 0 for SDMA, which the ring identifies */
	uint64_t ring, ring_bytes; /* ring_bytes: 0 in hqds */
};

struct gp__kfd_mqds {
	struct gp__kfd_mqd *mqd;
	size_t nr, room;
};

/* Whether the readers know the layout of this generation (90010 is gfx90a). */
bool gp__kfd_mqd_known(uint32_t gfx_version);

/* 0 or -ENOMEM; descriptors read before the failure are kept. */
int gp__kfd_mqds_read(FILE *in, struct gp__kfd_mqds *mqds);
int gp__kfd_hqds_read(FILE *in, struct gp__kfd_mqds *hqds);
void gp__kfd_mqds_free(struct gp__kfd_mqds *mqds);

/* Whether a slot has the queue of this descriptor: 1 or 0; -1: no slot of its kind is shown. */
int gp__kfd_mqd_mapped(const struct gp__kfd_mqd *mqd, const struct gp__kfd_mqds *hqds);

#endif
