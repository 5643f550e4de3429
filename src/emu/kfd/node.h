/* SPDX-License-Identifier: MIT */
/*
 * A GPU of the machine: its compute engine, its scheduler of queues, its packet processor and its
 * DMA engines.
 *
 * A single thread, the front end, processes the packets of all queues: a little of each queue in
 * turn, and long copies piece by piece. It polls while there is work and a moment longer; then it
 * sleeps until the next doorbell (doorbell.h).
 */
#ifndef GP__EMU_KFD_NODE_H
#define GP__EMU_KFD_NODE_H

#include "emu/kfd/machine.h"
#include "emu/kfd/smi.h"

/* Hardware slots: of compute queues, and of the queues of each DMA engine. */
#define EMU_CP_QUEUES 24
#define EMU_SDMA_ENGINES 2
#define EMU_SDMA_XGMI_ENGINES 3
#define EMU_SDMA_ENGINE_QUEUES 8
#define EMU_GWS 64
/* The default timeout of a preemption: amdgpu's queue_preemption_timeout_ms. */
#define EMU_PREEMPT_TIMEOUT_MS 9000
#define EMU_QUEUES_PER_GPU_MAX 4096

struct emu_dispatch;
struct emu_priority;
struct emu_queue;
struct emu_watch;

struct emu_node {
	struct emu_machine *m;
	uint32_t index, gpu_id, render_minor, topology_node;
	const struct emu_engine *engine; /* the compute engine, and its object for this GPU */
	struct emu_gpu *gpu;
	_Atomic uint64_t vram_used;
	struct emu_smi smi;
	struct emu_priority *priority; /* NULL: its queues are not scheduled by priority */

	/*
	 * Scheduling (sched.c): all queues are on one list, and as many active ones as there are
	 * slots are mapped. Under this lock, which is amdkfd's dqm lock.
	 */
	pthread_mutex_t lock;
	struct emu_queue *queues; /* the next one to be mapped first */
	uint32_t nr_queues, nr_active, nr_mapped;
	uint32_t watch_ids; /* address watches in use, a bit for each */
	uint64_t sdma_used, xgmi_used; /* queues of the DMA engines, a bit for each */
	/* of single queues: the cost of a stop for all queues of the node */
	_Atomic uint64_t nr_unmaps, nr_maps, nr_run_lists;
	_Atomic uint64_t nr_resets;
	/* host time when unmapped queues get a slot; 0: all are mapped */
	_Atomic uint64_t slice_end;
	uint64_t reset_at; /* host time of a reset by --fault; 0: none */
	_Atomic bool hung; /* a preemption timed out: a reset follows */

	/*
	 * The front end. Its lock comes after the node's, and is held while it reads memory or
	 * queues. Other threads announce that they want it (emu_node_enter()), and the front end
	 * releases it.
	 */
	pthread_mutex_t front_lock;
	_Atomic uint32_t nr_entering;
	struct emu_queue *mapped, *unmapped; /* active queues with and without a slot */
	_Atomic(struct emu_dispatch *) done; /* finished by the compute engine */
	_Atomic bool troubled; /* queues raised errors */
	_Atomic bool slice_wanted; /* an unmapped queue has work */
	struct emu_watch *watches; /* doorbells, wherever they are mapped */
	uint64_t dispatches; /* in total, for a fault on demand */
	pthread_t thread;
	int wake_fd; /* an eventfd: there may be work */
	_Atomic bool asleep; /* or about to be: needs to be woken */
	_Atomic bool quit;
};

/* NULL, and a sentence on stderr: out of memory, threads or descriptors. */
struct emu_node *emu_node_new(struct emu_machine *m, uint32_t index);
/* All queues must have been destroyed. */
void emu_node_free(struct emu_node *n);

/*
 * Returns when no thread can still use a page of an address space that was unmapped before. The
 * caller holds no lock of that address space: threads in it may wait for the lock.
 */
void emu_node_quiesce(struct emu_node *n);
/* Wakes the front end: there may be work. */
void emu_node_wake(struct emu_node *n);
/* The longest sleep of the front end after so long without work; UINT64_MAX: no limit. */
uint64_t emu_node_settle(uint64_t idle_ns);
/* Resets the GPU soon: running work is lost, and its queues never run again. */
void emu_node_reset(struct emu_node *n);
/* Keeps the front end from running. */
void emu_node_enter(struct emu_node *n);
void emu_node_leave(struct emu_node *n);

/* The node's clock in nanoseconds, and in the ticks that signals and s_memrealtime show (100 MHz).
 */
uint64_t emu_node_clock(struct emu_node *n);
uint64_t emu_node_ticks(struct emu_node *n);

#endif
