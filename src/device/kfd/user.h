/* SPDX-License-Identifier: MIT */
/*
 * Uses amdkfd without a runtime: memory, queues and packets straight from the driver. For probes,
 * benchmarks and the public API's queues.
 */
#ifndef GP__DEVICE_KFD_USER_H
#define GP__DEVICE_KFD_USER_H

#include <stdbool.h>
#include <stddef.h>

#include "device/kfd/queue.h"
#include "device/kfd/topology.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

/* Memory that the program and the GPU see at one address, zeroed. */
struct gp__kfd_memory {
	void *at;
	uint64_t size, handle;
};

struct gp__kfd_user {
	int kfd, render;
	struct gp__kfd_node node;
	struct gp_kfd_version version;
	/*
	 * A runtime in this process had this GPU first: its address space is shared, and memory is
	 * the process's own, which the GPU is shown.
	 */
	bool shared;
	struct gp__kfd_memory doorbells; /* mapped with the first queue */
	struct gp__kfd_memory event_page; /* with the first waiter (wait.h) */
};

/* Opens the driver and one GPU. 0 or -errno. */
int gp__kfd_open(struct gp__kfd_user *u, const struct gp__kfd_node *node);
void gp__kfd_close(struct gp__kfd_user *u);

/* An ioctl, repeated if a signal interrupts it; its result or -errno. */
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
	_Atomic uint64_t *doorbell;
	struct gp__kfd_signal *errors; /* its value is not 0 if the GPU refused a packet */
	bool dropped; /* the driver does not have it now */
};

/* @nr_packets: a power of two, 64 at least. 0 or -errno. */
int gp__kfd_queue_create(struct gp__kfd_user *u, struct gp__kfd_queue *q, uint32_t nr_packets);
int gp__kfd_queue_destroy(struct gp__kfd_queue *q);
/*
 * drop destroys the driver's queue: its work is lost, its memory stays, and its ring is empty.
 * revive creates one again in its place. 0, or -errno with nothing changed.
 */
int gp__kfd_queue_drop(struct gp__kfd_queue *q);
int gp__kfd_queue_revive(struct gp__kfd_queue *q);
/* The description that a control needs (control.h). */
struct gp__kfd_queue_info gp__kfd_queue_info(const struct gp__kfd_queue *q);
/* How many packets the GPU has not begun. */
uint64_t gp__kfd_queue_pending(const struct gp__kfd_queue *q);
/* UPDATE_QUEUE: 0 holds the queue, 100 lets it run. */
int gp__kfd_queue_set_percentage(struct gp__kfd_queue *q, uint32_t percentage);

/* A signal in memory that the GPU sees; each packet that has it decrements its value. */
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
	uint16_t group_y, group_z; /* 0: 1 */
	uint32_t grid_y, grid_z;
	bool in_order; /* begins when all packets before it have ended */
};

/* Builds a packet for a ring. @signal may be NULL. */
struct gp__kfd_packet {
	uint64_t word[8];
};
struct gp__kfd_packet gp__kfd_pack_barrier(struct gp__kfd_signal *signal);
struct gp__kfd_packet gp__kfd_pack_dispatch(const struct gp__kfd_dispatch *d,
					    struct gp__kfd_signal *signal);

/* put writes a packet, for which there must be room; ring rings the doorbell for all packets
 * written. */
void gp__kfd_put(struct gp__kfd_queue *q, const struct gp__kfd_packet *packet);
void gp__kfd_ring(struct gp__kfd_queue *q);
/*
 * Turns the packets in the ring of a queue that does not run into no-operations. They stay in the
 * ring, as it is unknown where the GPU continues: the slot of a packet may become free when it
 * begins, when it has ended, or some time after that.
 */
void gp__kfd_annul(struct gp__kfd_queue *q);

/* Builds, writes and rings. The ring must have room; @signal may be NULL. */
void gp__kfd_barrier(struct gp__kfd_queue *q, struct gp__kfd_signal *signal);
void gp__kfd_launch(struct gp__kfd_queue *q, const struct gp__kfd_dispatch *d,
		    struct gp__kfd_signal *signal);

#endif
