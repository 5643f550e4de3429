/* SPDX-License-Identifier: MIT */
/*
 * Buffers and the address space of a process on the GPUs.
 *
 * A buffer is a memfd or part of one (or shared memory of the client, for a userptr) that the
 * machine maps once, when it first needs it. Waves, packet processors and DMA find its pages
 * through the address space (struct gfx9_vm), where it is mapped to a GPU. Unmapping waits until
 * nobody can still be using what it saw before (emu_node_quiesce()).
 */
#ifndef GP__EMU_KFD_MEMORY_H
#define GP__EMU_KFD_MEMORY_H

#include <pthread.h>

#include "emu/gfx9/code.h"
#include "emu/gfx9/vm.h"
#include "emu/kfd/machine.h"
#include "emu/kfd/table.h"

struct emu_arena;
struct emu_call;
struct emu_process;
struct emu_buffer;
struct emu_file;
struct emu_message;

/* A buffer where a GPU sees it. */
struct emu_range {
	uint64_t start, end; /* the first byte behind it */
	struct emu_buffer *buffer;
};

/* What a process has mapped to one GPU: ranges in the order of their addresses, none of which
 * overlap, so that a page is found by bisection. */
struct emu_space {
	pthread_rwlock_t lock;
	struct emu_range *range;
	uint32_t nr, room;
};

struct emu_memory {
	/* One of each for each GPU: a buffer is mapped to some of them. */
	struct gfx9_vm vm[EMU_GPUS_MAX];
	struct gfx9_code code[EMU_GPUS_MAX]; /* decoded instructions */
	struct emu_space space[EMU_GPUS_MAX];
	struct emu_table buffers[EMU_GPUS_MAX]; /* by handle, of the GPU they were made for */
	uint32_t nr_buffers; /* of all GPUs */
	struct emu_buffer *own; /* the machine's, which have no handle */
	struct emu_arena *arena; /* that the next buffers come from; under the shared_lock */
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

/*
 * A buffer of the machine's own: @size bytes at @va, mapped to one GPU, that no client can free.
 * NULL: out of memory, or there is something at this address. *@host is where it is here.
 */
struct emu_buffer *emu_memory_install(struct emu_process *p, uint32_t node, uint64_t va,
				      uint64_t size, bool write, void **host);
/* Where a GTT buffer of *@size bytes or more is on the host, for ever: it cannot be freed any more.
 * -EINVAL where it is none. */
int emu_memory_hold(struct emu_process *p, uint64_t handle, void **host, uint64_t *size);
/* Whether the process has a buffer for its doorbells; its lock is held. */
bool emu_memory_has_doorbells(const struct emu_process *p, uint32_t node);
/* mmap of a render node: *@fd is the caller's to close. */
int emu_memory_mmap(struct emu_call *call, const struct emu_file *f, const struct emu_message *msg,
		    struct emu_message *reply, int *fd);
/* The same of a dmabuf, whose number the client has as the request. */
int emu_dmabuf_mmap(struct emu_call *call, const struct emu_message *msg, struct emu_message *reply,
		    int *fd);

/* The ioctls; each takes its arguments as the client gave them, of the full size. */
struct gp_kfd_alloc_memory;
struct gp_kfd_free_memory;
struct gp_kfd_map_memory;
struct gp_kfd_get_available_memory;
struct gp_kfd_get_dmabuf_info;
struct gp_kfd_import_dmabuf;
struct gp_kfd_export_dmabuf;
int emu_alloc_memory(struct emu_call *call, struct gp_kfd_alloc_memory *args);
int emu_free_memory(struct emu_call *call, struct gp_kfd_free_memory *args);
int emu_map_memory(struct emu_call *call, struct gp_kfd_map_memory *args);
int emu_unmap_memory(struct emu_call *call, struct gp_kfd_map_memory *args);
int emu_available_memory(struct emu_call *call, struct gp_kfd_get_available_memory *args);
int emu_get_dmabuf_info(struct emu_call *call, struct gp_kfd_get_dmabuf_info *args);
int emu_import_dmabuf(struct emu_call *call, struct gp_kfd_import_dmabuf *args);
int emu_export_dmabuf(struct emu_call *call, struct gp_kfd_export_dmabuf *args);

#endif
