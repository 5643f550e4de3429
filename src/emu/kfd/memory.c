// SPDX-License-Identifier: MIT
/*
 * Buffers and their ioctls: ALLOC, FREE, MAP and UNMAP. A buffer is memory (shared.c) at an address
 * of a GPU (space.c); several processes may have buffers of the same memory. The process's lock
 * protects its buffers.
 */
#include "emu/kfd/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/kfd/arena.h"
#include "emu/kfd/buffer.h"
#include "emu/kfd/call.h"
#include "emu/kfd/doorbell.h"
#include "emu/kfd/memfd.h"
#include "emu/kfd/node.h"
#include "emu/kfd/process.h"
#include "emu/kfd/report.h"
#include "emu/kfd/topology.h"
#include "emu/protocol.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

#define BUFFERS_MAX (1 << 20) /* of a process on a GPU */
#define WATCHES_MAX 16 /* places where a program has its doorbells */
#define MMAP_GPU_SHIFT 46
#define HANDLE_ID_MASK 0xffffffffu
/* The unit in which free VRAM is reported. */
#define VRAM_UNIT (2ULL << 20)
#define MMIO_BYTES 4096

/*
 * Buffers
 */

int emu_memory_init(struct emu_process *p)
{
	const struct emu_chip *chip = p->m->config.chip;
	struct emu_memory *mem = &p->memory;
	int err = emu_defer_init(&mem->defer);

	for (uint32_t i = 0; i < p->m->config.nr_gpus; i++) {
		pthread_rwlock_init(&mem->space[i].lock, NULL);
		mem->vm[i].page = emu_space_page;
		mem->vm[i].ctx = &mem->space[i];
		mem->code[i] = chip->engine->code_new(chip->target, emu_report_approximate, p);
		if (!mem->code[i])
			err = -ENOMEM;
	}
	if (err)
		emu_memory_destroy(p);
	return err;
}

static void free_buffer(struct emu_buffer *b)
{
	emu_shared_put(b->memory);
	free(b);
}

void emu_memory_destroy(struct emu_process *p)
{
	struct emu_memory *mem = &p->memory;

	while (mem->own) {
		struct emu_buffer *b = mem->own;

		mem->own = b->next;
		free_buffer(b);
	}
	for (uint32_t i = 0; i < p->m->config.nr_gpus; i++) {
		for (uint32_t id = 0; id < mem->buffers[i].room; id++) {
			if (mem->buffers[i].entry[id])
				free_buffer(mem->buffers[i].entry[id]);
		}
		emu_table_destroy(&mem->buffers[i]);
		free(mem->space[i].range);
		pthread_rwlock_destroy(&mem->space[i].lock);
		p->m->config.chip->engine->code_free(mem->code[i]);
	}
	pthread_mutex_lock(&p->m->shared_lock);
	emu_arena_put(mem->arena);
	pthread_mutex_unlock(&p->m->shared_lock);
	emu_defer_destroy(&mem->defer);
}

struct emu_buffer *emu_memory_install(struct emu_process *p, uint32_t node, uint64_t va,
				      uint64_t size, bool write, void **host)
{
	struct emu_buffer *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	*b = (struct emu_buffer){ .va = va,
				  .size = size,
				  .node = node,
				  .flags = GP_KFD_MEM_GTT | (write ? GP_KFD_MEM_WRITABLE : 0),
				  .memory = emu_shared_new(p->m, node, GP_KFD_MEM_GTT, size) };
	if (!b->memory)
		goto free_it;
	if (!emu_shared_use_file(b->memory, emu_memfd("kernel", size)))
		goto put_it;
	*host = emu_shared_host(b->memory);
	if (!*host || emu_space_insert(&p->memory.space[node], b))
		goto put_it;
	b->next = p->memory.own;
	p->memory.own = b;
	return b;

put_it:
	emu_shared_put(b->memory);
free_it:
	free(b);
	return NULL;
}

struct emu_buffer *emu_buffer_find(struct emu_process *p, uint64_t handle)
{
	uint32_t node;

	if (!emu_process_node(p, (uint32_t)(handle >> 32), &node))
		return NULL;
	return emu_table_find(&p->memory.buffers[node], handle & HANDLE_ID_MASK);
}

int emu_memory_hold(struct emu_process *p, uint64_t handle, void **host, uint64_t *size)
{
	struct emu_buffer *b = emu_buffer_find(p, handle);

	if (!b || !(b->flags & GP_KFD_MEM_GTT) || b->memory->bytes < *size)
		return -EINVAL;
	*host = emu_shared_host(b->memory);
	if (!*host)
		return -ENOMEM;
	*size = b->memory->bytes;
	b->held = true;
	return 0;
}

/*
 * ALLOC and FREE
 */

/* Doorbells and registers exist once per process, and this duplicates their descriptor. */
static int open_special(struct emu_process *p, uint32_t node, uint32_t flags)
{
	int fd;

	if (flags & GP_KFD_MEM_DOORBELL)
		fd = emu_process_doorbells(p, node);
	else
		fd = emu_process_mmio(p, node);
	return fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static int check_alloc(const struct gp_kfd_alloc_memory *args)
{
	uint32_t flags = args->flags;

	if (flags & (GP_KFD_MEM_VRAM | GP_KFD_MEM_GTT))
		return 0;
	if (flags & GP_KFD_MEM_USERPTR)
		return args->mmap_offset && !(args->mmap_offset & (EMU_PAGE - 1)) ? 0 : -EINVAL;
	if (flags & GP_KFD_MEM_DOORBELL)
		return args->size == emu_doorbell_bytes() ? 0 : -EINVAL;
	if (flags & GP_KFD_MEM_MMIO_REMAP)
		return args->size == MMIO_BYTES ? 0 : -EINVAL;
	return -EINVAL;
}

/* The memory of a new buffer. A client's own memory is requested later, without a lock. */
static int make_memory(struct emu_process *p, struct emu_buffer *b, uint64_t size)
{
	uint64_t bytes = emu_page_align(b->flags & GP_KFD_MEM_AQL_QUEUE_MEM ? size / 2 : size);
	struct emu_shared *s;

	if (!bytes || size > EMU_ADDRESS_MASK)
		return -ENOMEM;
	s = emu_shared_new(p->m, b->node, b->flags, bytes);
	if (!s)
		return -ENOMEM;
	b->memory = s;
	b->size = b->flags & GP_KFD_MEM_AQL_QUEUE_MEM ? 2 * bytes : bytes;
	if (b->flags & GP_KFD_MEM_USERPTR)
		return 0;
	if (b->flags & (GP_KFD_MEM_VRAM | GP_KFD_MEM_GTT)) {
		if (emu_shared_use_new(p, s, b->flags & GP_KFD_MEM_VRAM ? "vram" : "gtt"))
			return 0;
	} else if (emu_shared_use_file(s, open_special(p, b->node, b->flags))) {
		return 0;
	}
	emu_shared_put(s);
	return -ENOMEM;
}

/* Only the first of these types counts. */
static uint32_t one_kind(uint32_t flags)
{
	static const uint32_t kinds[] = { GP_KFD_MEM_VRAM, GP_KFD_MEM_GTT, GP_KFD_MEM_USERPTR,
					  GP_KFD_MEM_DOORBELL, GP_KFD_MEM_MMIO_REMAP };
	uint32_t all = 0, kind = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		all |= kinds[i];
		if (!kind)
			kind = flags & kinds[i];
	}
	return (flags & ~all) | kind;
}

int emu_buffer_publish(struct emu_process *p, struct emu_buffer *b)
{
	int64_t id;

	if (p->memory.nr_buffers >= p->m->max_buffers)
		return -ENOMEM;
	id = emu_table_add(&p->memory.buffers[b->node], b, BUFFERS_MAX);
	if (id < 0)
		return -EFAULT;
	b->id = (uint32_t)id;
	p->memory.nr_buffers++;
	if (b->flags & GP_KFD_MEM_VRAM && !b->imported) {
		atomic_fetch_add(&p->node[b->node].vram_used, b->memory->bytes);
		emu_topology_set_vram(p, b->node);
	}
	return 0;
}

static uint64_t mmap_offset(const struct emu_buffer *b, const struct gp_kfd_alloc_memory *args)
{
	if (b->flags & (GP_KFD_MEM_VRAM | GP_KFD_MEM_GTT))
		return (uint64_t)(b->id + 1) << EMU_MMAP_SHIFT;
	if (b->flags & GP_KFD_MEM_MMIO_REMAP)
		return (uint64_t)args->gpu_id << MMAP_GPU_SHIFT;
	return args->mmap_offset;
}

static int prepare(struct emu_process *p, const struct gp_kfd_alloc_memory *args,
		   struct emu_buffer *b)
{
	int err = emu_process_bind(p, args->gpu_id, &b->node);

	if (!err)
		err = check_alloc(args);
	if (err)
		return err;
	b->va = args->va_addr;
	b->flags = one_kind(args->flags);
	return make_memory(p, b, args->size);
}

int emu_alloc_memory(struct emu_call *call, struct gp_kfd_alloc_memory *args)
{
	struct emu_process *p = call->process;
	struct emu_buffer *b;
	int err;

	if (!args->size)
		return -EINVAL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	pthread_mutex_lock(&p->lock);
	err = prepare(p, args, b);
	pthread_mutex_unlock(&p->lock);
	if (err) {
		free(b);
		return err;
	}
	if (b->flags & GP_KFD_MEM_USERPTR) {
		err = emu_shared_use_client(call, b->memory, args->mmap_offset,
					    b->flags & GP_KFD_MEM_WRITABLE);
	}
	if (!err) {
		pthread_mutex_lock(&p->lock);
		err = emu_buffer_publish(p, b);
		pthread_mutex_unlock(&p->lock);
		if (err && b->flags & GP_KFD_MEM_USERPTR)
			emu_shared_end_client(call, b->memory);
	}
	if (err) {
		free_buffer(b);
		return err;
	}
	args->handle = (uint64_t)args->gpu_id << 32 | b->id;
	args->mmap_offset = mmap_offset(b, args);
	return 0;
}

/* Removes the buffer from the process; it must not be mapped. */
static int withdraw(struct emu_process *p, uint64_t handle, struct emu_buffer **buffer)
{
	struct emu_buffer *b = emu_buffer_find(p, handle);

	if (!b)
		return -EINVAL;
	if (b->held)
		return -EPERM;
	if (b->mapped)
		return -EBUSY;
	emu_table_remove(&p->memory.buffers[b->node], b->id);
	p->memory.nr_buffers--;
	if (b->flags & GP_KFD_MEM_VRAM && !b->imported) {
		atomic_fetch_sub(&p->node[b->node].vram_used, b->memory->bytes);
		emu_topology_set_vram(p, b->node);
	}
	*buffer = b;
	return 0;
}

int emu_free_memory(struct emu_call *call, struct gp_kfd_free_memory *args)
{
	struct emu_process *p = call->process;
	struct emu_buffer *b;
	int err;

	pthread_mutex_lock(&p->lock);
	err = withdraw(p, args->handle, &b);
	pthread_mutex_unlock(&p->lock);
	if (err)
		return err;
	/* If this fails, the program's memory stays shared, which does not matter to it. */
	if (b->flags & GP_KFD_MEM_USERPTR)
		err = emu_shared_end_client(call, b->memory);
	free_buffer(b);
	return err;
}

/*
 * MAP and UNMAP
 */

/* Reads the GPUs of a request; the caller frees them. */
static int read_devices(struct emu_call *call, const struct gp_kfd_map_memory *args, uint32_t **ids)
{
	int err;

	if (!args->n_devices || args->n_success > args->n_devices)
		return -EINVAL;
	/* There are no more than 8 GPUs, but a program may name one twice. */
	if (args->n_devices > BUFFERS_MAX)
		return -ENOMEM;
	*ids = malloc(args->n_devices * sizeof(**ids));
	if (!*ids)
		return -ENOMEM;
	err = emu_copy_from_user(call, *ids, args->device_ids_array_ptr,
				 args->n_devices * sizeof(**ids));
	if (err)
		free(*ids);
	return err;
}

static int map_one(struct emu_process *p, struct emu_buffer *b, uint32_t gpu_id)
{
	uint32_t node;
	int err = emu_process_bind(p, gpu_id, &node);

	if (err || b->mapped >> node & 1)
		return err;
	err = emu_space_insert(&p->memory.space[node], b);
	if (!err)
		b->mapped |= 1u << node;
	return err;
}

static int map_all(struct emu_process *p, struct gp_kfd_map_memory *args, const uint32_t *ids,
		   struct emu_buffer *mapped)
{
	struct emu_buffer *b;
	uint32_t node;
	int err = emu_process_bind(p, (uint32_t)(args->handle >> 32), &node);

	if (err)
		return err;
	b = emu_buffer_find(p, args->handle);
	if (!b)
		return -ENOMEM;
	for (uint32_t i = args->n_success; i < args->n_devices && !err; i++) {
		err = map_one(p, b, ids[i]);
		if (!err)
			args->n_success = i + 1;
	}
	*mapped = *b;
	return err;
}

bool emu_memory_has_doorbells(const struct emu_process *p, uint32_t node)
{
	const struct emu_table *t = &p->memory.buffers[node];

	for (uint32_t id = 0; id < t->room; id++) {
		const struct emu_buffer *b = t->entry[id];

		if (b && b->flags & GP_KFD_MEM_DOORBELL)
			return true;
	}
	return false;
}

/*
 * A program that maps its doorbells to the GPU has mapped them itself: they are watched from now
 * on.
 */
static int watch_doorbells(struct emu_call *call, const struct emu_buffer *b)
{
	int uffd;

	if (atomic_fetch_add(&call->process->node[b->node].nr_watches, 1) >= WATCHES_MAX)
		return -ENOSPC;
	uffd = emu_call_watch(call, b->va, b->size);
	if (uffd == -ECONNRESET)
		return uffd;
	return emu_doorbell_watch(call->process, b->node, uffd < 0 ? -1 : uffd, b->va, b->size);
}

int emu_map_memory(struct emu_call *call, struct gp_kfd_map_memory *args)
{
	struct emu_process *p = call->process;
	struct emu_buffer b;
	uint32_t *ids;
	int err = read_devices(call, args, &ids);

	if (err)
		return err;
	pthread_mutex_lock(&p->lock);
	err = map_all(p, args, ids, &b);
	pthread_mutex_unlock(&p->lock);
	free(ids);
	if (!err && b.flags & GP_KFD_MEM_DOORBELL)
		err = watch_doorbells(call, &b);
	return err;
}

/* *@nodes: the GPUs it was unmapped from. */
static int unmap_all(struct emu_process *p, struct gp_kfd_map_memory *args, const uint32_t *ids,
		     uint32_t *nodes)
{
	struct emu_buffer *b;
	uint32_t node;

	if (!emu_process_node(p, (uint32_t)(args->handle >> 32), &node))
		return -EINVAL;
	b = emu_buffer_find(p, args->handle);
	if (!b)
		return -ENOMEM;
	for (uint32_t i = args->n_success; i < args->n_devices; i++) {
		if (!emu_process_node(p, ids[i], &node) || !(b->mapped >> node & 1))
			return -EINVAL;
		emu_space_remove(&p->memory.space[node], b);
		b->mapped &= ~(1u << node);
		*nodes |= 1u << node;
		args->n_success = i + 1;
	}
	return 0;
}

/* When this returns, memory that was unmapped before is not in use. */
static void quiesce(struct emu_process *p, uint32_t nodes)
{
	for (uint32_t i = 0; i < p->m->config.nr_gpus; i++) {
		if (!(nodes >> i & 1))
			continue;
		atomic_fetch_add(&p->memory.vm[i].generation, 1);
		emu_node_quiesce(p->m->node[i]);
	}
}

int emu_unmap_memory(struct emu_call *call, struct gp_kfd_map_memory *args)
{
	struct emu_process *p = call->process;
	uint32_t nodes = 0, *ids;
	int err = read_devices(call, args, &ids);

	if (err)
		return err;
	pthread_mutex_lock(&p->lock);
	err = unmap_all(p, args, ids, &nodes);
	/* With the lock, or another thread could free memory that waves still use. */
	quiesce(p, nodes);
	pthread_mutex_unlock(&p->lock);
	free(ids);
	return err;
}

int emu_available_memory(struct emu_call *call, struct gp_kfd_get_available_memory *args)
{
	struct emu_node *n = emu_machine_node(call->m, args->gpu_id);
	uint64_t used, all = call->m->config.vram_bytes;

	if (!n)
		return -EINVAL;
	used = atomic_load(&n->vram_used);
	args->available = used < all ? (all - used) / VRAM_UNIT * VRAM_UNIT : 0;
	return 0;
}
