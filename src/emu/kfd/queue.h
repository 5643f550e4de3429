/* SPDX-License-Identifier: MIT */
/*
 * A user queue: its configuration, why it may not run, and the state of its packet processor.
 * amdkfd's struct queue and its MQD in one.
 */
#ifndef GP__EMU_KFD_QUEUE_H
#define GP__EMU_KFD_QUEUE_H

#include "emu/kfd/process.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

struct emu_call;
struct emu_hold;
struct emu_node;
struct gp__node_queue;

/* Reasons why a queue does not run; without one it is active if it has a ring and a share. */
enum {
	EMU_HELD_EVICTED = 1, /* its process was evicted: by a fault, or for memory */
	EMU_HELD_SUSPENDED = 2, /* by a debugger */
	EMU_HELD_PREEMPTED = 4, /* by its own process, with the series */
	EMU_HELD_BATCH = 8, /* by open files, with the series */
	EMU_HELD_DESTROYED = 16,
	EMU_HELD_RESET = 32, /* it hung and was reset: permanent */
	EMU_HELD_SCHEDULER = 64, /* by the kernel's own scheduler (priority.c) */
};

/* Errors of a queue, until they are handled. */
struct emu_trouble {
	bool faulted; /* a bad access, at: */
	uint64_t address;
	bool read_only; /* there is memory, but it is read-only */
	uint64_t exceptions; /* GP_KFD_EC_MASK */
};

/* The data of a trap handler's interrupt: GP_KFD_EC_MASK, or an event's id. */
#define EMU_TRAP_EXCEPTIONS(word) ((word) >> 10 & 0x1ff)
#define EMU_TRAP_EVENT 0xffffffu

struct emu_queue {
	struct emu_queue *next; /* in its node's list, active or not */
	struct emu_process *process;
	struct emu_node *node;
	uint32_t id, type; /* GP_KFD_QUEUE_* */
	uint64_t read_pointer, write_pointer;
	uint32_t logical_priority;
	uint64_t eop, eop_size, save_area;
	uint32_t save_size; /* of each XCC */
	uint32_t ctl_stack_size;
	uint32_t sdma_engine, sdma_id; /* of a DMA queue: its bit of the node's */
	uint32_t doorbell; /* index among its process's doorbells on this node */
	uint64_t exceptions; /* GP_KFD_EC_MASK of raised ones; under the debugger's lock */
	bool destroying; /* DESTROY_QUEUE has begun; under the process's lock */
	bool is_gws;
	struct emu_hold *holds; /* by other processes (preempt.c); under the node's lock */
	struct gp__node_queue *scheduled; /* NULL: not; under the lock of priority.h */

	/* Changed while it is not mapped, under the node's lock. */
	uint64_t ring;
	uint32_t ring_size, percentage, priority;
	uint32_t cu_mask[EMU_CUS_MAX / 32]; /* compute units for its workgroups; all at first */
	bool is_masked; /* by its program */

	/* The scheduler's state, under the node's lock. */
	uint32_t held;
	_Atomic bool active; /* also read without the lock */
	bool mapped;
	enum emu_stop_type stop_as; /* how it is to be unmapped next; EMU_STOP_NONE: saved */
	bool not_drained; /* its waves did not end in time and were saved */
	uint64_t mapped_since; /* device time */
	uint32_t nr_preemptions;
	uint64_t held_since, held_ns; /* host time */

	/* The front end's state, under its lock. */
	struct emu_queue *next_in_turn; /* in the list of mapped or unmapped queues */
	struct emu_hw_queue *hw; /* the compute engine's part; NULL: a DMA queue */
	uint64_t rptr; /* packets of AQL, bytes of SDMA, dwords of PM4 */
	uint64_t wptr; /* of SDMA and PM4, from the doorbell */
	uint64_t last_doorbell;
	uint32_t nr_running; /* dispatches that have not ended */
	bool hangs; /* one of them hangs, as a fault on demand */
	bool rung; /* there may be packets */
	bool traced_work; /* the latest line of the trace says that there are some */
	bool stopped_by_error;
	bool faulted; /* permanent */
	struct emu_trouble trouble;
	/* From trap handlers: exceptions, and the data of the interrupt. No lock. */
	_Atomic uint32_t trap_exceptions, trap_event;
	void *processor; /* struct cp, or the DMA engine's state */
};

int emu_create_queue(struct emu_call *call, struct gp_kfd_create_queue *args);
int emu_destroy_queue(struct emu_call *call, struct gp_kfd_destroy_queue *args);
int emu_update_queue(struct emu_call *call, struct gp_kfd_update_queue *args);
int emu_set_cu_mask(struct emu_call *call, struct gp_kfd_set_cu_mask *args);
int emu_get_queue_wave_state(struct emu_call *call, struct gp_kfd_get_queue_wave_state *args);
int emu_alloc_queue_gws(struct emu_call *call, struct gp_kfd_alloc_queue_gws *args);
/* Destroys all queues of a process that ends. No lock is held. */
void emu_destroy_queues(struct emu_process *p);

/* The queue of this id, or NULL; the process's lock is held. */
struct emu_queue *emu_queue_find(struct emu_process *p, uint32_t id);

/* True for both types of DMA queues. */
static inline bool emu_queue_is_sdma(const struct emu_queue *q)
{
	return q->type == GP_KFD_QUEUE_SDMA || q->type == GP_KFD_QUEUE_SDMA_XGMI;
}

/*
 * sched.c. Like amdkfd: under the hardware scheduler a change of one queue unmaps all queues of the
 * node, waits for their waves to be saved, and maps those that are active; under MES and without a
 * scheduler in firmware only the queue that changes is unmapped. All with the node's lock.
 */

/*
 * Unmaps all queues, and maps those that are active. Queues whose waves do not leave in time are
 * reset and the others continue: 0. Drivers before 6.12 cannot do that: -ETIME, the node is hung
 * and will be reset; -EIO while it is.
 */
int emu_sched_unmap(struct emu_node *n, uint64_t timeout_ns);
/* The same for a queue that is about to change. */
int emu_sched_unmap_queue(struct emu_queue *q);
void emu_sched_map(struct emu_node *n);
/* How long the driver waits for a preemption. */
uint32_t emu_sched_timeout_ms(const struct emu_config *config);
/* Adds a queue whose engine part exists, and removes one. */
int emu_sched_add(struct emu_queue *q);
int emu_sched_remove(struct emu_queue *q);
/* Updates whether the queue may run, after a change while it was not mapped. */
void emu_sched_judge(struct emu_queue *q);
/*
 * Holds queues for a reason, or releases them; @how says what happens to their waves (those of
 * other queues are saved). Result as of emu_sched_unmap(). A timeout below the driver's default, or
 * 0, is the default.
 */
int emu_sched_hold(struct emu_node *n, struct emu_queue **q, uint32_t nr, uint32_t why,
		   enum emu_stop_type how, uint64_t timeout_ns);
int emu_sched_release(struct emu_node *n, struct emu_queue **q, uint32_t nr, uint32_t why);
/* Holds the first nr_hold queues of @q and releases the nr_release after them, in one run list. */
int emu_sched_change(struct emu_node *n, struct emu_queue **q, uint32_t nr_hold,
		     uint32_t nr_release, uint32_t why, enum emu_stop_type how);
/* Evicts all queues of a process on this node permanently, after a fault. */
int emu_sched_evict(struct emu_node *n, struct emu_process *p);
/*
 * Work that the front end cannot do while it processes queues: memory violations, resets, turns of
 * unmapped queues. Takes the node's lock.
 */
void emu_sched_tend(struct emu_node *n);

/* The hardware priority of waves: 0 low, 1 medium, 2 high. */
int emu_pipe_priority(uint32_t priority);

/* The result of processing the queues of a node. */
struct emu_look {
	bool busy; /* something was done, more may follow */
	bool waits; /* a packet waits for memory to change */
	bool runs; /* the compute engine has work */
};

/*
 * cp*.c, pm4.c, sdma.c. With the front end's lock.
 */

/* Creates and frees the packet processor's part of a queue. -ENOMEM. */
int emu_cp_attach(struct emu_queue *q);
void emu_cp_detach(struct emu_queue *q);
/* The queue was mapped. */
void emu_cp_map(struct emu_queue *q);
/* Processes some packets of every mapped queue; and jobs that the compute engine has finished. */
void emu_cp_run(struct emu_node *n, struct emu_look *look);
void emu_cp_complete(struct emu_node *n, struct emu_look *look);
void emu_sdma_run(struct emu_node *n, struct emu_look *look);
int emu_sdma_attach(struct emu_queue *q);
void emu_sdma_detach(struct emu_queue *q);
void emu_sdma_map(struct emu_queue *q);
/* Whether the doorbell was rung since the last call. */
bool emu_queue_ring(struct emu_queue *q);
/* Copies bytes of its ring, which wraps. False: a fault. */
bool emu_queue_read_ring(struct emu_queue *q, uint64_t at, void *to, uint64_t bytes);
/*
 * Reads the write pointer from memory: the doorbell may have been rung while it was not mapped.
 * SDMA and PM4.
 */
void emu_queue_read_write_pointer(struct emu_queue *q);
/* Comparison functions of packets: 0 always, then <, <=, ==, !=, >= and > (6). */
bool emu_compare(uint64_t a, uint32_t function, uint64_t b);
/* Raises a memory violation: the queue stops, and its process is notified. */
void emu_queue_fault(struct emu_queue *q, uint64_t address, bool write);
/* Stops the queue with another error: GP_KFD_EC_*. */
void emu_queue_error(struct emu_queue *q, uint32_t code);
/* A word of the process's memory; NULL where it is not mapped or not aligned. */
_Atomic uint64_t *emu_queue_word(struct emu_queue *q, uint64_t va, bool write);

#endif
