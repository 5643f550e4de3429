/* SPDX-License-Identifier: MIT */
/*
 * A GPU of the machine: its compute engine, its scheduler of queues, its packet processor and its
 * DMA engines.
 */
#ifndef GP__EMU_KFD_NODE_H
#define GP__EMU_KFD_NODE_H

#include "emu/kfd/machine.h"

struct emu_queue;

struct emu_node {
	struct emu_machine *m;
	uint32_t index, gpu_id, render_minor, topology_node;
	struct gfx9_gpu *gpu;
	_Atomic uint64_t vram_used;

	/*
	 * Scheduling (sched.c): all active queues are on one list, and as many as there are slots
	 * are mapped. Under this lock, which is amdkfd's dqm lock.
	 */
	pthread_mutex_t lock;
	struct emu_queue *queues;
	uint32_t nr_active, nr_mapped;
	_Atomic uint64_t nr_unmaps, nr_maps; /* of single queues: what one stop costs all others */
	bool hung; /* a preemption timed out: a reset follows */

	/* The packet processor and the DMA engines (cp.c, sdma.c) run on a thread each; held while
	 * one of them looks at memory or at queues. */
	pthread_mutex_t engine_lock;
	pthread_t cp_thread, sdma_thread;
	int wake_fd; /* an eventfd: there may be something to do */
	_Atomic bool quit;
};

struct emu_node *emu_node_new(struct emu_machine *m, uint32_t index);
void emu_node_free(struct emu_node *n);
/* Returns when nobody can still be using a page of an address space that was unmapped before. */
void emu_node_quiesce(struct emu_node *n);
/* There may be something to do for the packet processor or DMA. */
void emu_node_wake(struct emu_node *n);
/* The node's clock in nanoseconds, and in the ticks that signals and s_memrealtime show (100 MHz).
 */
uint64_t emu_node_clock(struct emu_node *n);
uint64_t emu_node_ticks(struct emu_node *n);

#endif
