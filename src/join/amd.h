/* SPDX-License-Identifier: MIT */
/*
 * The compute queues of a program on AMD GPUs, put before the agent: what the preload sees made is
 * added, what the ring monitor sees of work is reported, and orders go to the queues' owner.
 */
#ifndef GP__JOIN_AMD_H
#define GP__JOIN_AMD_H

#include "device/kfd/owner.h"
#include "join/hsa/abi.h"
#include "join/wish.h"

struct gp__amd;

/* @say gets a sentence for people. 0 or -errno. */
int gp__amd_create(struct gp__kfd_owner *owner, const struct gp__wish *wish,
		   void (*say)(const char *text), struct gp__amd **amd);
/* In a child after fork(). */
void gp__amd_forget(struct gp__amd *amd);

/* As gp__agent_arriving(). */
int gp__amd_arriving(struct gp__amd *amd, uint64_t at);

/* The HSA runtime begins, and hands over its tables. */
void gp__amd_load_hsa(struct gp__amd *amd, struct gp__hsa_table *table);

/* The owner's events. */
void gp__amd_added(struct gp__amd *amd, const struct gp__kfd_queue_info *queue);
void gp__amd_removed(struct gp__amd *amd, const struct gp__kfd_queue_info *queue);
void gp__amd_lost(struct gp__amd *amd, const struct gp__kfd_queue_info *queue);

#endif
