/* SPDX-License-Identifier: MIT */
/*
 * A GPU of the machine: its compute engine, its scheduler of queues, its packet processor and its
 * DMA engines.
 *
 * Packets of all queues are looked at by one thread, the front end: a little of each queue in turn,
 * and long copies piece by piece. It looks without pause while there is something to do and a
 * moment longer; then it has itself woken by the next doorbell (doorbell.h).
 */
#ifndef GP__EMU_KFD_NODE_H
#define GP__EMU_KFD_NODE_H

#include "emu/kfd/machine.h"
#include "emu/kfd/smi.h"

/* What the hardware has room for at a time: compute queues, and those of each DMA engine. */
#define EMU_CP_QUEUES 24
#define EMU_SDMA_ENGINES 2
#define EMU_SDMA_XGMI_ENGINES 3
#define EMU_SDMA_ENGINE_QUEUES 8
#define EMU_GWS 64
/* How long a preemption may take: amdgpu's queue_preemption_timeout_ms. */
#define EMU_PREEMPT_TIMEOUT_MS 9000
#define EMU_QUEUES_PER_GPU_MAX 4096

struct emu_dispatch;
struct emu_priority;
struct emu_queue;
struct emu_watch;

struct emu_node {
	struct emu_machine *m;
	uint32_t index, gpu_id, render_minor, topology_node;
	struct gfx9_gpu *gpu;
	_Atomic uint64_t vram_used;
	struct emu_smi smi;
	struct emu_priority *priority; /* NULL: its queues are not scheduled by priority */

	/*
	 * Scheduling (sched.c): all active queues are on one list, and as many as there are slots
	 * are mapped. Under this lock, which is amdkfd's dqm lock.
	 */
	pthread_mutex_t lock;
	struct emu_queue *queues; /* the one to be mapped next first */
	uint32_t nr_queues, nr_active, nr_mapped;
	uint32_t watch_ids; /* address watches in use, a bit for each */
	uint64_t sdma_used, xgmi_used; /* queues of the DMA engines, a bit for each */
	_Atomic uint64_t nr_unmaps, nr_maps; /* of single queues: what one stop costs all others */
	_Atomic uint64_t nr_resets;
	_Atomic uint64_t slice_end; /* host time when those without a slot get one; 0: all have */
	uint64_t reset_at; /* host time of a reset that was asked for as a fault; 0: none */
	_Atomic bool hung; /* a preemption timed out: a reset follows */

	/*
	 * The front end. Its lock comes behind the node's, and is held while it looks at memory or
	 * at queues; whoever else wants it says so first (emu_node_enter()), and it makes way.
	 */
	pthread_mutex_t engine_lock;
	_Atomic uint32_t nr_entering;
	struct emu_queue *mapped, *unmapped; /* active queues with a slot, and without */
	_Atomic(struct emu_dispatch *) done; /* what the compute engine is done with */
	_Atomic bool troubled; /* queues have done something wrong */
	_Atomic bool slice_wanted; /* a queue without a slot has something to do */
	struct emu_watch *watches; /* doorbells, wherever they are mapped */
	uint64_t dispatches; /* executed in all, for a fault on demand */
	pthread_t thread;
	int wake_fd; /* an eventfd: there may be something to do */
	_Atomic bool asleep; /* or about to be: needs to be woken */
	_Atomic bool quit;
};

/* NULL, and a sentence on stderr: out of memory, threads or descriptors. */
struct emu_node *emu_node_new(struct emu_machine *m, uint32_t index);
/* All queues must be gone. */
void emu_node_free(struct emu_node *n);

/*
 * Returns when nobody can still be using a page of an address space that was unmapped before. The
 * caller holds no lock of that address space: those who look at it may wait for it.
 */
void emu_node_quiesce(struct emu_node *n);
/* There may be something to do. */
void emu_node_wake(struct emu_node *n);
/* The longest sleep of the front end after so long without work; UINT64_MAX: no limit. */
uint64_t emu_node_settle(uint64_t idle_ns);
/* The GPU is reset soon: what runs is lost, and its queues never run again. */
void emu_node_reset(struct emu_node *n);
/* Keeps the front end out. */
void emu_node_enter(struct emu_node *n);
void emu_node_leave(struct emu_node *n);

/* The node's clock in nanoseconds, and in the ticks that signals and s_memrealtime show (100 MHz).
 */
uint64_t emu_node_clock(struct emu_node *n);
uint64_t emu_node_ticks(struct emu_node *n);

#endif
