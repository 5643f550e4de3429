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
struct emu_hold;
struct emu_node;
struct emu_scheduled;

/* Why a queue does not run; it is active where none of them holds and it has a ring and a share. */
enum {
	EMU_HELD_EVICTED = 1, /* its process was: by a fault, or for memory */
	EMU_HELD_SUSPENDED = 2, /* by a debugger */
	EMU_HELD_PREEMPTED = 4, /* by PREEMPT_QUEUE */
	EMU_HELD_BATCH = 8, /* by PREEMPT_BATCH of another process */
	EMU_HELD_DESTROYED = 16,
	EMU_HELD_RESET = 32, /* it hung, and was reset: for good */
	EMU_HELD_SCHEDULER = 64, /* by the kernel's own scheduler (priority.c) */
};

/* What a queue did wrong, until somebody deals with it. */
struct emu_trouble {
	bool faulted; /* a bad access, at: */
	uint64_t address;
	bool read_only; /* there is memory, but it may not be written */
	uint64_t exceptions; /* GP_KFD_EC_MASK */
};

/* The word of an interrupt that a trap handler asks for: GP_KFD_EC_MASK, or an event's id. */
#define EMU_TRAP_EXCEPTIONS(word) ((word) >> 10 & 0x1ff)
#define EMU_TRAP_EVENT 0xffffffu

struct emu_queue {
	struct emu_queue *next; /* of its node's, active or not */
	struct emu_process *process;
	struct emu_node *node;
	uint32_t id, type; /* GP_KFD_QUEUE_* */
	uint64_t read_pointer, write_pointer;
	uint32_t logical_priority;
	uint64_t eop, eop_size, save_area;
	uint32_t save_size; /* of each XCC */
	uint32_t ctl_stack_size;
	uint32_t sdma_engine, sdma_id; /* of a DMA queue: its bit of the node's */
	uint32_t doorbell; /* index of its process's on this node */
	uint64_t exceptions; /* GP_KFD_EC_MASK: those raised; under the debugger's lock */
	bool destroying; /* somebody is about to; under the process's lock */
	bool is_gws;
	struct emu_hold *holds; /* by other processes (preempt.c); under the node's lock */
	struct emu_scheduled *scheduled; /* NULL: by nobody; under the lock of priority.h */

	/* Changed while it is not mapped, under the node's lock. */
	uint64_t ring;
	uint32_t ring_size, percentage, priority;
	uint32_t cu_mask[GFX9_CUS_MAX / 32]; /* where its workgroups may run; all at first */
	bool is_masked; /* by its program */

	/* Of the scheduler, under the node's lock. */
	uint32_t held;
	_Atomic bool active; /* read without it, too */
	bool mapped;
	enum gfx9_stop_type stop_as; /* how it is to be unmapped next; GFX9_RUNNING: saved */
	bool not_drained; /* its waves were to end and did not, and were saved */
	uint64_t mapped_since; /* device time */
	uint32_t nr_preemptions;
	uint64_t held_since, held_ns; /* host time */

	/* Of the front end, under its lock. */
	struct emu_queue *next_in_turn; /* of those that have a slot, or have none */
	struct gfx9_queue hw; /* of a compute queue */
	uint64_t rptr; /* packets of AQL, bytes of SDMA, dwords of PM4 */
	uint64_t wptr; /* of SDMA and PM4, as the doorbell said */
	uint64_t last_doorbell;
	uint32_t nr_running; /* dispatches that have not ended */
	bool hangs; /* one of them does, as a fault on demand */
	bool rung; /* there may be packets */
	bool stopped_by_error;
	bool faulted; /* for good */
	struct emu_trouble trouble;
	/* Of waves' trap handlers: their exceptions, and what their interrupt was. No lock. */
	_Atomic uint32_t trap_exceptions, trap_event;
	void *engine; /* what else its processor keeps */
};

int emu_create_queue(struct emu_call *call, struct gp_kfd_create_queue *args);
int emu_destroy_queue(struct emu_call *call, struct gp_kfd_destroy_queue *args);
int emu_update_queue(struct emu_call *call, struct gp_kfd_update_queue *args);
int emu_set_cu_mask(struct emu_call *call, struct gp_kfd_set_cu_mask *args);
int emu_get_queue_wave_state(struct emu_call *call, struct gp_kfd_get_queue_wave_state *args);
int emu_alloc_queue_gws(struct emu_call *call, struct gp_kfd_alloc_queue_gws *args);
/* All of a process that ends. No lock is held. */
void emu_destroy_queues(struct emu_process *p);

/* The queue of this id, or NULL; the process's lock is held. */
struct emu_queue *emu_queue_find(struct emu_process *p, uint32_t id);

/* A type that is one of DMA. */
static inline bool emu_queue_is_sdma(const struct emu_queue *q)
{
	return q->type == GP_KFD_QUEUE_SDMA || q->type == GP_KFD_QUEUE_SDMA_XGMI;
}

/*
 * sched.c. As amdkfd under the hardware scheduler: a change of one queue unmaps all queues of the
 * node, waits for their waves to be saved, and maps those that are active. All with the node's
 * lock.
 */

/*
 * Takes every queue off the hardware, and puts back those that are active. Where waves do not leave
 * in time, their queues are reset and the others go on: 0. As drivers before 6.12 cannot do that,
 * theirs is -ETIME: the node is hung, and is reset; -EIO while it is.
 */
int emu_sched_unmap(struct emu_node *n, uint64_t timeout_ns);
void emu_sched_map(struct emu_node *n);
/* One more, with the engine's part of it made, and one less. */
int emu_sched_add(struct emu_queue *q);
int emu_sched_remove(struct emu_queue *q);
/* Whether it may run: something may have changed that while nothing was mapped. */
void emu_sched_judge(struct emu_queue *q);
/*
 * Holds queues for a reason, or no longer; @how says what becomes of their waves (the others' are
 * saved). As emu_sched_unmap(); a timeout of 0, or one that is shorter, is the driver's own.
 */
int emu_sched_hold(struct emu_node *n, struct emu_queue **q, uint32_t nr, uint32_t why,
		   enum gfx9_stop_type how, uint64_t timeout_ns);
int emu_sched_release(struct emu_node *n, struct emu_queue **q, uint32_t nr, uint32_t why);
/* All of a process on this node, for good: a fault. */
int emu_sched_evict(struct emu_node *n, struct emu_process *p);
/* What the front end cannot do while it looks at queues: bad accesses, resets, turns of those
 * without a slot. Takes the node's lock. */
void emu_sched_tend(struct emu_node *n);

/* What a look at the queues of a node found. */
struct emu_look {
	bool busy; /* something was done, more may follow */
	bool waits; /* a packet waits for memory to change */
	bool runs; /* the compute engine has something to do */
};

/*
 * cp*.c, pm4.c, sdma.c. With the front end's lock.
 */

/* A queue begins and ceases to be looked after. -ENOMEM. */
int emu_cp_attach(struct emu_queue *q);
void emu_cp_detach(struct emu_queue *q);
/* It has a slot from now on. */
void emu_cp_map(struct emu_queue *q);
/* A little of every queue with a slot; and what the compute engine is done with. */
void emu_cp_run(struct emu_node *n, struct emu_look *look);
void emu_cp_complete(struct emu_node *n, struct emu_look *look);
void emu_sdma_run(struct emu_node *n, struct emu_look *look);
int emu_sdma_attach(struct emu_queue *q);
void emu_sdma_detach(struct emu_queue *q);
void emu_sdma_map(struct emu_queue *q);
/* The doorbell of a queue was rung since somebody looked. */
bool emu_queue_ring(struct emu_queue *q);
/* Bytes of its ring, which begins again at its end. False: a fault. */
bool emu_queue_read_ring(struct emu_queue *q, uint64_t at, void *to, uint64_t bytes);
/* What was rung while it had no slot stands in memory as well; of SDMA and PM4. */
void emu_queue_read_write_pointer(struct emu_queue *q);
/* As packets compare what they wait for: 0 always, then <, <=, ==, !=, >= and > (6). */
bool emu_compare(uint64_t a, uint32_t function, uint64_t b);
/* An address the queue cannot use: it stops, and its process hears of it. */
void emu_queue_fault(struct emu_queue *q, uint64_t address, bool write);
/* Something else that stops it: GP_KFD_EC_*. */
void emu_queue_error(struct emu_queue *q, uint32_t code);
/* A word of the queue's process; NULL where there is none, or it is not aligned. */
_Atomic uint64_t *emu_queue_word(struct emu_queue *q, uint64_t va, bool write);

#endif
