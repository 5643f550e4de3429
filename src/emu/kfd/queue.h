/* SPDX-License-Identifier: MIT */
/*
 * A user queue: what the client asked for, why it may not run, and what its packet processor is
 * about. amdkfd's struct queue and its MQD in one.
 */
#ifndef GP__EMU_KFD_QUEUE_H
#define GP__EMU_KFD_QUEUE_H

#include "emu/gfx9/queue.h"
#include "emu/kfd/process.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

struct emu_call;
struct emu_node;

/* Why a queue does not run; it is active where none of them holds and it has a ring and a share. */
enum {
	EMU_HELD_EVICTED = 1, /* its process was: by a fault, or for memory */
	EMU_HELD_SUSPENDED = 2, /* by a debugger */
	EMU_HELD_PREEMPTED = 4, /* by PREEMPT_QUEUE */
	EMU_HELD_BATCH = 8, /* by PREEMPT_BATCH of another process */
	EMU_HELD_DESTROYED = 16,
};

struct emu_queue {
	struct emu_queue *next; /* of its node's, active or not */
	struct emu_process *process;
	struct emu_node *node;
	uint32_t id, type; /* GP_KFD_QUEUE_* */
	uint64_t ring, read_pointer, write_pointer;
	uint32_t ring_size, percentage, priority, logical_priority;
	uint64_t eop, eop_size, save_area, save_size;
	uint32_t ctl_stack_size;
	uint32_t doorbell; /* index of its process's on this node */
	uint64_t exceptions; /* GP_KFD_EC_MASK: those raised */
	bool is_gws;

	/* Of the scheduler, under the node's lock. */
	uint32_t held;
	bool active, mapped;
	bool lost; /* its last preemption failed: reset */
	uint64_t mapped_since; /* device time */
	uint32_t nr_preemptions;
	uint64_t held_since, held_ns;

	/* Of the packet processor or DMA, under the node's engine lock. */
	struct gfx9_queue hw; /* of a compute queue */
	uint64_t rptr; /* packets, or bytes of an SDMA ring */
	uint64_t last_doorbell;
	uint32_t nr_running; /* dispatches that have not ended */
	bool stopped_by_error;
	void *engine; /* what else cp.c keeps */
};

int emu_create_queue(struct emu_call *call, struct gp_kfd_create_queue *args);
int emu_destroy_queue(struct emu_call *call, struct gp_kfd_destroy_queue *args);
int emu_update_queue(struct emu_call *call, struct gp_kfd_update_queue *args);
int emu_set_cu_mask(struct emu_call *call, struct gp_kfd_set_cu_mask *args);
int emu_get_queue_wave_state(struct emu_call *call, struct gp_kfd_get_queue_wave_state *args);
int emu_alloc_queue_gws(struct emu_call *call, struct gp_kfd_alloc_queue_gws *args);
/* All of a process that ends, or of its node that is reset. */
void emu_destroy_queues(struct emu_process *p);

/* The queue of this id, or NULL; the process's lock is held. */
struct emu_queue *emu_queue_find(struct emu_process *p, uint32_t id);

/*
 * sched.c. As amdkfd under the hardware scheduler: a change of one queue unmaps all queues of the
 * node, waits for their waves to be saved, and maps those that are active. With the node's lock.
 */
int emu_sched_add(struct emu_queue *q);
void emu_sched_remove(struct emu_queue *q);
/*
 * Holds queues for a reason, or no longer; @how says what becomes of their waves (the others' are
 * saved). 0; -ETIME where waves did not leave in time: the node is hung, and is reset.
 */
int emu_sched_hold(struct emu_node *n, struct emu_queue **q, uint32_t nr, uint32_t why,
		   enum gfx9_stop_type how, uint64_t timeout_ns);
int emu_sched_release(struct emu_node *n, struct emu_queue **q, uint32_t nr, uint32_t why);
/* Ring, percentage, priority or CU mask have changed. */
int emu_sched_update(struct emu_queue *q);
/* All of a process on this node: a fault, a debugger. */
void emu_sched_evict(struct emu_node *n, struct emu_process *p);
void emu_sched_restore(struct emu_node *n, struct emu_process *p);

/* cp.c and sdma.c: a queue begins and ceases to be looked after; with the engine lock. */
int emu_cp_attach(struct emu_queue *q);
void emu_cp_detach(struct emu_queue *q);
/* Looks after every mapped queue once. False: nothing to do. */
bool emu_cp_run(struct emu_node *n);
bool emu_sdma_run(struct emu_node *n);
bool emu_pm4_run(struct emu_queue *q);

#endif
