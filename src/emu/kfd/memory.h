/* SPDX-License-Identifier: MIT */
/*
 * Buffers and the address space of a process on the GPUs.
 *
 * A buffer is a memfd or part of one (or shared memory of the client, for a userptr) that the
 * machine maps once, when it first needs it. Waves, packet processors and DMA find its pages
 * through the address space (struct emu_vm) of each GPU it is mapped to. Unmapping waits until no
 * thread can still use a page that it saw before (emu_node_quiesce()).
 */
#ifndef GP__EMU_KFD_MEMORY_H
#define GP__EMU_KFD_MEMORY_H

#include <pthread.h>

#include "emu/kfd/defer.h"
#include "emu/kfd/machine.h"
#include "emu/kfd/table.h"

struct emu_arena;
struct emu_call;
struct emu_process;
struct emu_buffer;
struct emu_file;
struct emu_message;

/* A buffer in the address space of a GPU. */
struct emu_range {
	uint64_t start, end; /* end is the first byte behind it */
	struct emu_buffer *buffer;
};

/*
 * The mappings of a process on one GPU: ranges sorted by address that do not overlap, so that a
 * page is found by bisection.
 */
struct emu_space {
	pthread_rwlock_t lock;
	struct emu_range *range;
	uint32_t nr, room;
};

/* GPU addresses have 48 bits. */
#define EMU_ADDRESS_BITS 48
#define EMU_ADDRESS_MASK ((1ULL << EMU_ADDRESS_BITS) - 1)

static inline uint64_t emu_page_align(uint64_t n)
{
	return (n + EMU_PAGE - 1) & ~(EMU_PAGE - 1);
}

/* The page() of struct emu_vm; @space is a struct emu_space. */
void *emu_space_page(void *space, uint64_t va, bool write);
/* -EINVAL: the range is not free or not valid. */
int emu_space_insert(struct emu_space *s, struct emu_buffer *b);
void emu_space_remove(struct emu_space *s, const struct emu_buffer *b);

struct emu_memory {
	/* Each GPU has its own: a buffer is mapped to some of them. */
	struct emu_vm vm[EMU_GPUS_MAX];
	struct emu_code *code[EMU_GPUS_MAX]; /* decoded instructions */
	struct emu_space space[EMU_GPUS_MAX];
	struct emu_table buffers[EMU_GPUS_MAX]; /* by handle, of the GPU they were allocated for */
	uint32_t nr_buffers; /* on all GPUs */
	struct emu_buffer *own; /* the machine's own, which have no handle */
	struct emu_defer defer; /* memory of the program that is not mapped here yet */
	struct emu_arena *arena; /* where the next buffers are allocated; under the shared_lock */
};

int emu_memory_init(struct emu_process *p);
void emu_memory_destroy(struct emu_process *p);

/*
 * Guest memory for the driver: copies a few bytes, and finds a range on the host. False, or NULL if
 * not even one byte is mapped: *@bad is the first bad address.
 */
bool emu_memory_read(struct emu_process *p, uint32_t node, uint64_t va, void *to, size_t len,
		     uint64_t *bad);
bool emu_memory_write(struct emu_process *p, uint32_t node, uint64_t va, const void *from,
		      size_t len, uint64_t *bad);
/* Valid while the caller keeps the node from quiescing (its front_lock): up to *@len bytes. */
void *emu_memory_at(struct emu_process *p, uint32_t node, uint64_t va, bool write, size_t *len);

/*
 * Whether @va is deferred memory (defer.h): up to *@len bytes of the program's memory at *@user.
 * The same is valid of it.
 */
bool emu_memory_deferred(struct emu_process *p, uint32_t node, uint64_t va, bool write, size_t *len,
			 uint64_t *user);

/*
 * Makes a buffer of the machine's own: @size bytes at @va, mapped to one GPU, that no client can
 * free. NULL: out of memory, or the address is in use. *@host is its host address.
 */
struct emu_buffer *emu_memory_install(struct emu_process *p, uint32_t node, uint64_t va,
				      uint64_t size, bool write, void **host);
/*
 * The host address of a GTT buffer of at least *@size bytes, which can no longer be freed. -EINVAL
 * where it is not one.
 */
int emu_memory_hold(struct emu_process *p, uint64_t handle, void **host, uint64_t *size);
/* Whether the process has a buffer for its doorbells; its lock is held. */
bool emu_memory_has_doorbells(const struct emu_process *p, uint32_t node);
/* mmap of a render node: the caller closes *@fd. */
int emu_memory_mmap(struct emu_call *call, const struct emu_file *f, const struct emu_message *msg,
		    struct emu_message *reply, int *fd);
/* The same of a dmabuf; the request has the client's descriptor. */
int emu_dmabuf_mmap(struct emu_call *call, const struct emu_message *msg, struct emu_message *reply,
		    int *fd);

/* The ioctls; each takes the full-size arguments of the client. */
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
