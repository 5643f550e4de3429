/* SPDX-License-Identifier: MIT */
/*
 * A user of amdkfd without a runtime: memory, queues and packets straight from the driver. For
 * probes, benchmarks, and queues of our own.
 */
#ifndef GP__DEVICE_KFD_USER_H
#define GP__DEVICE_KFD_USER_H

#include <stdbool.h>
#include <stddef.h>

#include "device/kfd/topology.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

/* Memory that both see at one address, zeroed. */
struct gp__kfd_memory {
	void *at;
	uint64_t size, handle;
};

struct gp__kfd_user {
	int kfd, render;
	struct gp__kfd_node node;
	struct gp_kfd_version version;
	struct gp__kfd_memory doorbells; /* mapped with the first queue */
};

/* Opens the driver and one GPU. 0 or -errno. */
int gp__kfd_open(struct gp__kfd_user *u, const struct gp__kfd_node *node);
void gp__kfd_close(struct gp__kfd_user *u);

/* An ioctl, again where a signal came; its result or -errno. */
int gp__kfd_ioctl(int fd, unsigned long request, void *args);

/* @flags: GP_KFD_MEM_GTT or GP_KFD_MEM_VRAM, and attributes. 0 or -errno. */
int gp__kfd_alloc(struct gp__kfd_user *u, struct gp__kfd_memory *m, uint64_t size, uint32_t flags);
void gp__kfd_free(struct gp__kfd_user *u, struct gp__kfd_memory *m);

/* A compute queue of AQL packets. One thread submits. */
struct gp__kfd_queue {
	struct gp__kfd_user *u;
	uint32_t id, nr_packets;
	uint64_t next; /* packet to write */
	struct gp__kfd_memory ring, control, save, eop;
	volatile uint64_t *doorbell;
};

/* @nr_packets: a power of two, 64 at least. 0 or -errno. */
int gp__kfd_queue_create(struct gp__kfd_user *u, struct gp__kfd_queue *q, uint32_t nr_packets);
int gp__kfd_queue_destroy(struct gp__kfd_queue *q);
/* UPDATE_QUEUE: 0 stops it, 100 lets it run. */
int gp__kfd_queue_set_percentage(struct gp__kfd_queue *q, uint32_t percentage);

/* A signal in memory that the GPU sees; its value goes down by one with each packet that has it. */
struct gp__kfd_signal {
	int64_t kind;
	_Atomic int64_t value;
	uint64_t event_mailbox;
	uint32_t event_id, pad;
	uint64_t start, end; /* when the packet began and ended, in the GPU's ticks */
	uint64_t reserved[2];
};
#define GP__KFD_SIGNAL_USER 1

struct gp__kfd_dispatch {
	uint64_t kernel; /* its descriptor */
	const void *kernarg;
	uint32_t grid, lds_bytes;
	uint16_t group;
};

/* Writes a packet and rings the doorbell. The ring must have room; @signal may be NULL. */
void gp__kfd_barrier(struct gp__kfd_queue *q, struct gp__kfd_signal *signal);
void gp__kfd_launch(struct gp__kfd_queue *q, const struct gp__kfd_dispatch *d,
		    struct gp__kfd_signal *signal);

#endif
