/* SPDX-License-Identifier: MIT */
/*
 * Buffers and the address space of a process on the GPUs.
 *
 * A buffer is a memfd (or shared memory of the client, for a userptr) that the machine maps once,
 * when it first needs it. Waves, packet processors and DMA find its pages through the address space
 * (struct gfx9_vm), where it is mapped to a GPU. Unmapping waits until nobody can still be using
 * what it saw before (emu_node_quiesce()).
 */
#ifndef GP__EMU_KFD_MEMORY_H
#define GP__EMU_KFD_MEMORY_H

#include <pthread.h>

#include "emu/gfx9/code.h"
#include "emu/gfx9/vm.h"

struct emu_call;
struct emu_process;
struct emu_buffer;

struct emu_memory {
	/* One for each GPU: a buffer is mapped to some of them. */
	struct gfx9_vm vm[8];
	struct gfx9_code code[8]; /* decoded instructions */
	pthread_rwlock_t lock; /* of the tree of what is mapped */
	void *tree;
	struct emu_buffer **buffer; /* by handle; handles are used again */
	uint32_t nr_buffers;
};

int emu_memory_init(struct emu_process *p);
void emu_memory_destroy(struct emu_process *p);

/*
 * For those that are no waves: copies of a few bytes, and where a range is on the host. False, or
 * NULL with less than one byte: a bad address, of which *@bad is the first.
 */
bool emu_memory_read(struct emu_process *p, uint32_t node, uint64_t va, void *to, size_t len,
		     uint64_t *bad);
bool emu_memory_write(struct emu_process *p, uint32_t node, uint64_t va, const void *from,
		      size_t len, uint64_t *bad);
/* Valid while the caller keeps the node from quiescing (its engine lock): up to *@len bytes. */
void *emu_memory_at(struct emu_process *p, uint32_t node, uint64_t va, bool write, size_t *len);

/* The ioctls; each takes its arguments as the client gave them, of the full size. */
struct gp_kfd_alloc_memory;
struct gp_kfd_free_memory;
struct gp_kfd_map_memory;
struct gp_kfd_get_available_memory;
int emu_alloc_memory(struct emu_call *call, struct gp_kfd_alloc_memory *args);
int emu_free_memory(struct emu_call *call, struct gp_kfd_free_memory *args);
int emu_map_memory(struct emu_call *call, struct gp_kfd_map_memory *args);
int emu_unmap_memory(struct emu_call *call, struct gp_kfd_map_memory *args);
int emu_available_memory(struct emu_call *call, struct gp_kfd_get_available_memory *args);

#endif
