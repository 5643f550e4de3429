// SPDX-License-Identifier: MIT
/*
 * Buffers: allocation, mapping and sharing, what GPUs see of them, and that a client cannot take
 * memory away from the machine.
 */
#include "../unit/host.h"
#include "kfd_server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define VA 0x100000000ULL
#define MIB (1ULL << 20)

struct world {
	struct server s;
	struct client c;
	uint32_t gpu[2];
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->s.config.kernel = EMU_KERNEL_6_12;
	w->s.config.nr_gpus = 2;
	w->s.config.vram_bytes = 64 * MIB;
	server_start(&w->s);
	client_setup(&w->s, &w->c, 1);
	for (int i = 0; i < 2; i++)
		w->gpu[i] = w->s.m.node[i]->gpu_id;
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	client_close(&w->c);
	server_stop(&w->s);
	free(w);
	return 0;
}

static int alloc(struct world *w, struct gp_kfd_alloc_memory *a, uint32_t gpu, uint32_t flags,
		 uint64_t va, uint64_t size)
{
	*a = (struct gp_kfd_alloc_memory){
		.va_addr = va, .size = size, .gpu_id = w->gpu[gpu], .flags = flags
	};
	return client_kfd(&w->c, GP_KFD_ALLOC_MEMORY, a);
}

static int release(struct world *w, uint64_t handle)
{
	struct gp_kfd_free_memory f = { handle };

	return client_kfd(&w->c, GP_KFD_FREE_MEMORY, &f);
}

/* Of one GPU, or of both. */
static int map(struct world *w, unsigned long cmd, uint64_t handle, uint32_t first, uint32_t n)
{
	struct gp_kfd_map_memory m = { .handle = handle,
				       .device_ids_array_ptr = (uintptr_t)&w->gpu[first],
				       .n_devices = n };

	return client_kfd(&w->c, cmd, &m);
}

static bool gpu_reads(struct world *w, uint32_t node, uint64_t va, void *to, size_t len)
{
	uint64_t bad;

	return emu_memory_read(client_process(&w->c), node, va, to, len, &bad);
}

static bool gpu_writes(struct world *w, uint32_t node, uint64_t va, const void *from, size_t len)
{
	uint64_t bad;

	return emu_memory_write(client_process(&w->c), node, va, from, len, &bad);
}

static void refused(void **state)
{
	struct world *w = *state;
	struct gp_kfd_alloc_memory a;

	assert_int_equal(alloc(w, &a, 0, GP_KFD_MEM_VRAM, VA, 0), -EINVAL);
	assert_int_equal(alloc(w, &a, 0, 0, VA, 4096), -EINVAL);
	assert_int_equal(alloc(w, &a, 0, GP_KFD_MEM_USERPTR, VA, 4096), -EINVAL);
	assert_int_equal(alloc(w, &a, 0, GP_KFD_MEM_DOORBELL, VA, 4096), -EINVAL);
	assert_int_equal(alloc(w, &a, 0, GP_KFD_MEM_MMIO_REMAP, VA, 8192), -EINVAL);
	assert_int_equal(alloc(w, &a, 0, GP_KFD_MEM_VRAM, VA, 65 * MIB), -ENOMEM);
	assert_int_equal(alloc(w, &a, 0, GP_KFD_MEM_GTT, VA, 1ULL << 46), -ENOMEM);
	assert_int_equal(alloc(w, &a, 0, GP_KFD_MEM_GTT, VA, UINT64_MAX), -ENOMEM);
	assert_int_equal(release(w, 0), -EINVAL);
	assert_int_equal(release(w, (uint64_t)w->gpu[0] << 32 | 5), -EINVAL);
	assert_int_equal(map(w, GP_KFD_MAP_MEMORY, 0, 0, 1), -EINVAL);
	assert_int_equal(map(w, GP_KFD_MAP_MEMORY, (uint64_t)w->gpu[0] << 32, 0, 1), -ENOMEM);
	assert_int_equal(map(w, GP_KFD_UNMAP_MEMORY, (uint64_t)w->gpu[0] << 32, 0, 1), -ENOMEM);
}

/* VRAM is limited for all processes together, and can be reused. */
static void limits(void **state)
{
	struct world *w = *state;
	struct gp_kfd_get_available_memory left = { .gpu_id = w->gpu[0] };
	struct gp_kfd_alloc_memory a, b, c;

	assert_int_equal(alloc(w, &a, 0, GP_KFD_MEM_VRAM, VA, 40 * MIB), 0);
	assert_int_equal(alloc(w, &b, 0, GP_KFD_MEM_VRAM, 2 * VA, 40 * MIB), -ENOMEM);
	assert_int_equal(alloc(w, &c, 1, GP_KFD_MEM_VRAM, 2 * VA, 40 * MIB), 0);
	assert_int_equal(client_kfd(&w->c, GP_KFD_AVAILABLE_MEMORY, &left), 0);
	assert_int_equal(left.available, 24 * MIB);
	assert_int_equal(client_process(&w->c)->node[0].vram_used, 40 * MIB);
	assert_int_equal(release(w, a.handle), 0);
	assert_int_equal(alloc(w, &b, 0, GP_KFD_MEM_VRAM, 2 * VA, 64 * MIB), 0);
	/* Handles are reused, from the lowest. */
	assert_int_equal(b.handle, a.handle);
}

static void handles(void **state)
{
	struct world *w = *state;
	struct gp_kfd_alloc_memory a[100];

	for (uint64_t i = 0; i < 100; i++) {
		assert_int_equal(alloc(w, &a[i], 0, GP_KFD_MEM_GTT, VA + i * MIB, 4096), 0);
		assert_int_equal(a[i].handle, (uint64_t)w->gpu[0] << 32 | i);
	}
	for (uint64_t i = 0; i < 100; i += 2)
		assert_int_equal(release(w, a[i].handle), 0);
	for (uint64_t i = 0; i < 100; i += 2) {
		struct gp_kfd_alloc_memory b;

		assert_int_equal(alloc(w, &b, 0, GP_KFD_MEM_GTT, VA, 4096), 0);
		assert_int_equal(b.handle, a[i].handle);
	}
}

/* Buffers may be mappings of the machine, whose number is limited. */
static void too_many(void **state)
{
	struct world *w = *state;
	struct gp_kfd_alloc_memory a, b;

	w->s.m.max_buffers = 3;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(alloc(w, &a, i & 1, GP_KFD_MEM_GTT, VA, 4096), 0);
	assert_int_equal(alloc(w, &b, 0, GP_KFD_MEM_GTT, VA, 4096), -ENOMEM);
	assert_int_equal(release(w, a.handle), 0);
	assert_int_equal(alloc(w, &b, 0, GP_KFD_MEM_GTT, VA, 4096), 0);
}

/* The program, the GPU and the machine see the same bytes. */
static void same_memory(void **state)
{
	struct world *w = *state;
	struct gp_kfd_alloc_memory a;
	char text[16] = "";
	char *mine;
	int err;

	assert_int_equal(alloc(w, &a, 0, GP_KFD_MEM_VRAM | GP_KFD_MEM_WRITABLE, VA, 3 * MIB), 0);
	mine = client_mmap(&w->c, w->c.render[0], a.mmap_offset, 3 * MIB, PROT_READ | PROT_WRITE,
			   &err);
	assert_non_null(mine);
	assert_false(gpu_reads(w, 0, VA, text, 1));
	assert_int_equal(map(w, GP_KFD_MAP_MEMORY, a.handle, 0, 1), 0);
	assert_false(gpu_reads(w, 1, VA, text, 1));
	strcpy(mine + 2 * MIB - 3, "across");
	assert_true(gpu_reads(w, 0, VA + 2 * MIB - 3, text, 7));
	assert_string_equal(text, "across");
	assert_true(gpu_writes(w, 0, VA + 3 * MIB - 4, "end", 4));
	assert_string_equal(mine + 3 * MIB - 4, "end");
	assert_false(gpu_writes(w, 0, VA + 3 * MIB - 3, "end", 4));
	assert_false(gpu_reads(w, 0, VA - 1, text, 2));
	/* A freed buffer stays mapped in the program. */
	assert_int_equal(release(w, a.handle), -EBUSY);
	assert_int_equal(map(w, GP_KFD_UNMAP_MEMORY, a.handle, 0, 1), 0);
	assert_false(gpu_reads(w, 0, VA, text, 1));
	assert_int_equal(release(w, a.handle), 0);
	strcpy(mine, "mine");
	munmap(mine, 3 * MIB);
}

static void mmap_refused(void **state)
{
	struct world *w = *state;
	struct gp_kfd_alloc_memory a;
	int err, other;
	void *part;

	assert_int_equal(alloc(w, &a, 0, GP_KFD_MEM_GTT, VA, 8192), 0);
	other = client_open(&w->c, "/dev/dri/renderD128");
	assert_null(client_mmap(&w->c, other, a.mmap_offset, 8192, PROT_READ, &err));
	assert_int_equal(err, -EACCES);
	assert_null(client_mmap(&w->c, w->c.render[1], a.mmap_offset, 8192, PROT_READ, &err));
	assert_int_equal(err, -EINVAL);
	assert_null(client_mmap(&w->c, w->c.render[0], a.mmap_offset, 12288, PROT_READ, &err));
	assert_int_equal(err, -EINVAL);
	assert_null(
		client_mmap(&w->c, w->c.render[0], a.mmap_offset + 8192, 4096, PROT_READ, &err));
	assert_int_equal(err, -EINVAL);
	assert_null(client_mmap(&w->c, w->c.render[0], 0, 4096, PROT_READ, &err));
	assert_int_equal(err, -EINVAL);
	part = client_mmap(&w->c, w->c.render[0], a.mmap_offset + 4096, 4096, PROT_READ, &err);
	assert_non_null(part);
	munmap(part, 4096);
}

/* Its memfd cannot shrink: the machine would crash. */
static void sealed(void **state)
{
	struct world *w = *state;
	struct gp_kfd_alloc_memory a;
	struct emu_message msg = { .type = EMU_MMAP,
				   .file = w->c.file_id[1],
				   .length = MIB,
				   .flags = MAP_SHARED,
				   .prot = PROT_READ };
	int fd = -1;

	assert_int_equal(alloc(w, &a, 0, GP_KFD_MEM_GTT, VA, MIB), 0);
	msg.offset = a.mmap_offset;
	assert_int_equal(client_call(&w->c, &msg, NULL, 0, &fd), 0);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 2 * MIB), -1);
	close(fd);
}

static void mapping(void **state)
{
	struct world *w = *state;
	struct gp_kfd_alloc_memory a, b, odd;
	struct gp_kfd_map_memory m = { .n_devices = 2, .device_ids_array_ptr = (uintptr_t)w->gpu };
	uint32_t bad[2] = { w->gpu[0], 1 };
	uint8_t byte;

	assert_int_equal(alloc(w, &a, 0, GP_KFD_MEM_VRAM | GP_KFD_MEM_WRITABLE, VA, MIB), 0);
	assert_int_equal(alloc(w, &b, 1, GP_KFD_MEM_GTT, VA + MIB - 4096, MIB), 0);
	assert_int_equal(alloc(w, &odd, 0, GP_KFD_MEM_GTT, VA + 100, MIB), 0);
	m.handle = a.handle;
	assert_int_equal(client_kfd(&w->c, GP_KFD_MAP_MEMORY, &m), 0);
	assert_int_equal(m.n_success, 2);
	assert_true(gpu_reads(w, 1, VA, &byte, 1));
	/* Mapping again has no effect. */
	assert_int_equal(map(w, GP_KFD_MAP_MEMORY, a.handle, 0, 2), 0);
	/* The address is in use, or not valid. */
	assert_int_equal(map(w, GP_KFD_MAP_MEMORY, b.handle, 0, 1), -EINVAL);
	assert_int_equal(map(w, GP_KFD_MAP_MEMORY, odd.handle, 0, 1), -EINVAL);
	/* A partial success, and the rest can be requested. */
	assert_int_equal(map(w, GP_KFD_UNMAP_MEMORY, a.handle, 0, 1), 0);
	m.n_success = 0;
	assert_int_equal(client_kfd(&w->c, GP_KFD_UNMAP_MEMORY, &m), -EINVAL);
	assert_int_equal(m.n_success, 0);
	m.n_success = 1;
	assert_int_equal(client_kfd(&w->c, GP_KFD_UNMAP_MEMORY, &m), 0);
	assert_int_equal(m.n_success, 2);
	m.n_success = 0;
	m.device_ids_array_ptr = (uintptr_t)bad;
	assert_int_equal(client_kfd(&w->c, GP_KFD_MAP_MEMORY, &m), -EINVAL);
	assert_int_equal(m.n_success, 1);
	m.n_success = 3;
	assert_int_equal(client_kfd(&w->c, GP_KFD_MAP_MEMORY, &m), -EINVAL);
	m.n_devices = m.n_success = 0;
	assert_int_equal(client_kfd(&w->c, GP_KFD_MAP_MEMORY, &m), -EINVAL);
	m.n_devices = 1u << 31;
	assert_int_equal(client_kfd(&w->c, GP_KFD_MAP_MEMORY, &m), -ENOMEM);
	m.n_devices = 1;
	m.device_ids_array_ptr = 8;
	assert_int_equal(client_kfd(&w->c, GP_KFD_MAP_MEMORY, &m), -EFAULT);
}

/* A thousand ranges in random order: each is found, and nothing between them. */
static void many(void **state)
{
	struct world *w = *state;
	struct gp_kfd_alloc_memory a;
	uint64_t handle[1000], value;

	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t at = VA + i * 7919 % 1000 * 8192;

		assert_int_equal(alloc(w, &a, 0, GP_KFD_MEM_GTT | GP_KFD_MEM_WRITABLE, at, 4096),
				 0);
		assert_int_equal(map(w, GP_KFD_MAP_MEMORY, a.handle, 0, 1), 0);
		assert_true(gpu_writes(w, 0, at + 8, &at, 8));
		handle[i] = a.handle;
	}
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t at = VA + i * 8192;

		assert_true(gpu_reads(w, 0, at + 8, &value, 8));
		assert_int_equal(value, at);
		assert_false(gpu_reads(w, 0, at + 4096, &value, 8));
	}
	for (uint64_t i = 0; i < 1000; i += 3)
		assert_int_equal(map(w, GP_KFD_UNMAP_MEMORY, handle[i], 0, 1), 0);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(gpu_reads(w, 0, VA + i * 7919 % 1000 * 8192, &value, 8),
				 i % 3 != 0);
}

/* Pages as waves see them, and whether they are writable. */
static void pages(void **state)
{
	struct world *w = *state;
	struct emu_vm *vm = &client_process(&w->c)->memory.vm[0];
	struct gp_kfd_alloc_memory a;
	uint64_t generation = vm->generation;

	assert_int_equal(alloc(w, &a, 0, GP_KFD_MEM_GTT, VA, 8192), 0);
	assert_int_equal(map(w, GP_KFD_MAP_MEMORY, a.handle, 0, 1), 0);
	assert_non_null(vm->page(vm->ctx, VA + 4096, false));
	assert_null(vm->page(vm->ctx, VA + 4096, true));
	assert_null(vm->page(vm->ctx, VA + 8192, false));
	assert_null(vm->page(vm->ctx, VA | 1ULL << 52, false));
	assert_null(vm->page(vm->ctx, UINT64_MAX - 4095, false));
	assert_int_equal(map(w, GP_KFD_UNMAP_MEMORY, a.handle, 0, 1), 0);
	assert_int_not_equal(vm->generation, generation);
	/* The trap handler is above the hole, with both forms of the address. */
	assert_non_null(vm->page(vm->ctx, client_process(&w->c)->node[0].tba, false));
	assert_non_null(
		vm->page(vm->ctx, client_process(&w->c)->node[0].tba | 0xffffULL << 48, false));
	assert_null(vm->page(vm->ctx, client_process(&w->c)->node[0].tba, true));
}

/* A ring that is mapped twice, one behind the other. */
static void twice(void **state)
{
	struct world *w = *state;
	struct gp_kfd_alloc_memory a;
	char text[8] = "";

	assert_int_equal(alloc(w, &a, 0,
			       GP_KFD_MEM_GTT | GP_KFD_MEM_WRITABLE | GP_KFD_MEM_AQL_QUEUE_MEM, VA,
			       16384),
			 0);
	assert_int_equal(map(w, GP_KFD_MAP_MEMORY, a.handle, 0, 1), 0);
	assert_true(gpu_writes(w, 0, VA + 8190, "over", 4));
	assert_true(gpu_reads(w, 0, VA, text, 2));
	assert_string_equal(text, "er");
	assert_true(gpu_reads(w, 0, VA + 16382, text, 2));
	assert_string_equal(text, "ov");
	assert_false(gpu_reads(w, 0, VA + 16383, text, 2));
}

/*
 * Client memory
 */

static int make_user(struct world *w, unsigned int flags, uint64_t size)
{
	int fd = memfd_create("user", flags);
	struct shared_memory *s = &w->c.shared[w->c.nr_shared++];

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	*s = (struct shared_memory){ .length = size, .fd = fd };
	s->va = (uintptr_t)mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return fd;
}

static int alloc_user(struct world *w, struct gp_kfd_alloc_memory *a, uint64_t user, uint64_t size)
{
	*a = (struct gp_kfd_alloc_memory){ .va_addr = VA,
					   .size = size,
					   .mmap_offset = user,
					   .gpu_id = w->gpu[0],
					   .flags = GP_KFD_MEM_USERPTR | GP_KFD_MEM_WRITABLE };
	return client_kfd(&w->c, GP_KFD_ALLOC_MEMORY, a);
}

static void drop_user(struct world *w)
{
	while (w->c.nr_shared) {
		struct shared_memory *s = &w->c.shared[--w->c.nr_shared];

		munmap((void *)(uintptr_t)s->va, s->length);
		close(s->fd);
	}
}

static void userptr(void **state)
{
	struct world *w = *state;
	int fd = make_user(w, MFD_ALLOW_SEALING, 16384);
	char *mine = (char *)(uintptr_t)w->c.shared[0].va;
	struct gp_kfd_alloc_memory a, b;
	char text[8];

	assert_int_equal(alloc_user(w, &a, w->c.shared[0].va + 4096, 8192), 0);
	assert_int_equal(a.mmap_offset, w->c.shared[0].va + 4096);
	assert_int_equal(map(w, GP_KFD_MAP_MEMORY, a.handle, 0, 1), 0);
	strcpy(mine + 4096, "hello");
	assert_true(gpu_reads(w, 0, VA, text, 6));
	assert_string_equal(text, "hello");
	assert_true(gpu_writes(w, 0, VA + 8188, "gpu", 4));
	assert_string_equal(mine + 12284, "gpu");
	/* The memory is a memfd that cannot shrink. */
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(map(w, GP_KFD_UNMAP_MEMORY, a.handle, 0, 1), 0);
	/* The client counts how often each page is shared, and is told when that ends. */
	assert_int_equal(alloc_user(w, &b, w->c.shared[0].va + 8192, 8192), 0);
	assert_int_equal(release(w, a.handle), 0);
	assert_int_equal(w->c.nr_unshared, 1);
	assert_int_equal(release(w, b.handle), 0);
	assert_int_equal(w->c.nr_unshared, 2);
	/* A failed share is undone. */
	w->s.m.max_buffers = 0;
	assert_int_equal(alloc_user(w, &b, w->c.shared[0].va, 8192), -ENOMEM);
	assert_int_equal(w->c.nr_unshared, 3);
	drop_user(w);
}

/* In two pieces of two descriptors. */
static void userptr_pieces(void **state)
{
	struct world *w = *state;
	struct gp_kfd_alloc_memory a;
	uint8_t *room = mmap(NULL, 16384, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char text[8];

	for (int i = 0; i < 2; i++) {
		int fd = make_user(w, MFD_ALLOW_SEALING, 8192);
		struct shared_memory *s = &w->c.shared[i];

		munmap((void *)(uintptr_t)s->va, 8192);
		s->va = (uintptr_t)mmap(room + 8192 * i, 8192, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_FIXED, fd, 0);
	}
	assert_int_equal(alloc_user(w, &a, (uintptr_t)room, 16384), 0);
	assert_int_equal(map(w, GP_KFD_MAP_MEMORY, a.handle, 0, 1), 0);
	memcpy(room + 8190, "both", 5);
	assert_true(gpu_reads(w, 0, VA + 8190, text, 5));
	assert_string_equal(text, "both");
	drop_user(w);
}

/* Memory that cannot be sealed, and a file: both can be truncated, and the machine survives. */
static void userptr_of_files(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 2; i++) {
		char name[] = "/tmp/gpreempt-user-XXXXXX", text[8] = "";
		struct gp_kfd_alloc_memory a;
		int fd = make_user(w, 0, 8192);
		char *mine = (char *)(uintptr_t)w->c.shared[0].va;

		if (i) {
			fd = mkstemp(name);
			assert_true(fd >= 0);
			unlink(name);
			assert_int_equal(ftruncate(fd, 8192), 0);
			assert_ptr_equal(mmap(mine, 8192, PROT_READ | PROT_WRITE,
					      MAP_SHARED | MAP_FIXED, fd, 0),
					 mine);
			close(w->c.shared[0].fd);
			w->c.shared[0].fd = fd;
		}
		assert_int_equal(alloc_user(w, &a, (uintptr_t)mine, 8192), 0);
		assert_int_equal(map(w, GP_KFD_MAP_MEMORY, a.handle, 0, 1), 0);
		strcpy(mine + 4096, "file");
		assert_true(gpu_reads(w, 0, VA + 4096, text, 5));
		assert_string_equal(text, "file");
		assert_true(gpu_writes(w, 0, VA, "gpu", 4));
		assert_string_equal(mine, "gpu");
		assert_int_equal(ftruncate(fd, 4096), 0);
		assert_true(gpu_reads(w, 0, VA + 4096, text, 5));
		assert_string_equal(text, "");
		assert_true(gpu_writes(w, 0, VA + 4096, "gpu", 4));
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_true(gpu_reads(w, 0, VA, text, 5));
		assert_int_equal(map(w, GP_KFD_UNMAP_MEMORY, a.handle, 0, 1), 0);
		assert_int_equal(release(w, a.handle), 0);
		drop_user(w);
	}
}

/* Unmapped memory. */
static void userptr_refused(void **state)
{
	struct world *w = *state;
	struct gp_kfd_alloc_memory a;
	uint64_t user;

	make_user(w, 0, 8192);
	user = w->c.shared[0].va;
	/* Smaller than it says. */
	close(w->c.shared[0].fd);
	w->c.shared[0].fd = memfd_create("short", MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(w->c.shared[0].fd, 4096), 0);
	assert_int_equal(alloc_user(w, &a, user, 8192), -EFAULT);
	/* Nothing there. */
	assert_int_equal(alloc_user(w, &a, 4096, 4096), -EFAULT);
	assert_int_equal(alloc_user(w, &a, user + 1, 4096), -EINVAL);
	assert_int_equal(w->s.m.gtt_used, 2 * 8192); /* of the trap handlers */
	drop_user(w);
}

/*
 * Sharing with other processes
 */

static void doorbells(void **state)
{
	struct world *w = *state;
	struct gp_kfd_alloc_memory a;
	uint64_t value = 3;

	assert_int_equal(alloc(w, &a, 0, GP_KFD_MEM_DOORBELL | GP_KFD_MEM_WRITABLE, VA,
			       emu_doorbell_bytes()),
			 0);
	assert_int_equal(map(w, GP_KFD_MAP_MEMORY, a.handle, 0, 1), 0);
	assert_int_equal(w->c.nr_watched, 1);
	assert_true(gpu_writes(w, 0, VA + 40, &value, 8));
	assert_int_equal(client_process(&w->c)->node[0].doorbells[5], 3);
	/* Repeatedly, but not without limit. */
	for (int i = 0; i < 15; i++) {
		assert_int_equal(map(w, GP_KFD_UNMAP_MEMORY, a.handle, 0, 1), 0);
		assert_int_equal(map(w, GP_KFD_MAP_MEMORY, a.handle, 0, 1), 0);
	}
	assert_int_equal(map(w, GP_KFD_UNMAP_MEMORY, a.handle, 0, 1), 0);
	assert_int_equal(map(w, GP_KFD_MAP_MEMORY, a.handle, 0, 1), -ENOSPC);
}

static void exported(void **state)
{
	struct world *w = *state;
	struct gp_kfd_alloc_memory a, user;
	struct gp_kfd_export_dmabuf ex = { .flags = O_CLOEXEC };
	struct gp_kfd_import_dmabuf im = { .va_addr = 2 * VA, .gpu_id = w->gpu[1] };
	struct gp_kfd_get_dmabuf_info info = { 0 };
	char text[8];

	assert_int_equal(client_kfd(&w->c, GP_KFD_EXPORT_DMABUF, &ex), -EINVAL);
	assert_int_equal(alloc(w, &a, 0, GP_KFD_MEM_VRAM | GP_KFD_MEM_WRITABLE, VA, MIB), 0);
	assert_int_equal(map(w, GP_KFD_MAP_MEMORY, a.handle, 0, 1), 0);
	ex.handle = a.handle;
	assert_int_equal(client_kfd(&w->c, GP_KFD_EXPORT_DMABUF, &ex), 0);
	info.dmabuf_fd = im.dmabuf_fd = ex.dmabuf_fd;
	assert_int_equal(client_kfd(&w->c, GP_KFD_GET_DMABUF_INFO, &info), 0);
	assert_int_equal(info.size, MIB);
	assert_int_equal(info.gpu_id, w->gpu[0]);
	assert_int_equal(info.flags, GP_KFD_MEM_VRAM);
	assert_int_equal(client_kfd(&w->c, GP_KFD_IMPORT_DMABUF, &im), 0);
	assert_int_equal(map(w, GP_KFD_MAP_MEMORY, im.handle, 1, 1), 0);
	assert_true(gpu_writes(w, 0, VA, "shared", 7));
	assert_true(gpu_reads(w, 1, 2 * VA, text, 7));
	assert_string_equal(text, "shared");
	/* It exists, and is counted, for as long as a process has it. */
	assert_int_equal(map(w, GP_KFD_UNMAP_MEMORY, a.handle, 0, 1), 0);
	assert_int_equal(release(w, a.handle), 0);
	assert_int_equal(w->s.m.node[0]->vram_used, MIB);
	assert_true(gpu_reads(w, 1, 2 * VA, text, 7));
	assert_int_equal(map(w, GP_KFD_UNMAP_MEMORY, im.handle, 1, 1), 0);
	assert_int_equal(release(w, im.handle), 0);
	assert_int_equal(w->s.m.node[0]->vram_used, 0);
	/* The descriptor alone keeps it, and its properties. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(client_kfd(&w->c, GP_KFD_GET_DMABUF_INFO, &info), 0);
		assert_int_equal(info.gpu_id, w->gpu[0]);
		assert_int_equal(w->s.m.node[0]->vram_used, 0);
		assert_int_equal(client_kfd(&w->c, GP_KFD_IMPORT_DMABUF, &im), 0);
		assert_int_equal(w->s.m.node[0]->vram_used, MIB);
		assert_int_equal(map(w, GP_KFD_MAP_MEMORY, im.handle, 1, 1), 0);
		memset(text, 0, sizeof(text));
		assert_true(gpu_reads(w, 1, 2 * VA, text, 7));
		assert_string_equal(text, "shared");
		assert_int_equal(map(w, GP_KFD_UNMAP_MEMORY, im.handle, 1, 1), 0);
		assert_int_equal(release(w, im.handle), 0);
	}
	assert_int_equal(w->s.m.node[0]->vram_used, 0);
	close((int)ex.dmabuf_fd);
	im.dmabuf_fd = 999;
	assert_int_equal(client_kfd(&w->c, GP_KFD_IMPORT_DMABUF, &im), -EBADF);
	im.dmabuf_fd = (uint32_t)w->c.kfd;
	assert_int_equal(client_kfd(&w->c, GP_KFD_IMPORT_DMABUF, &im), -EINVAL);
	make_user(w, MFD_ALLOW_SEALING, 4096);
	assert_int_equal(alloc_user(w, &user, w->c.shared[0].va, 4096), 0);
	ex.handle = user.handle;
	assert_int_equal(client_kfd(&w->c, GP_KFD_EXPORT_DMABUF, &ex), -EPERM);
	drop_user(w);
}

/*
 * Arenas
 */

/* Descriptors of this process, which the machine is part of. */
static unsigned int nr_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static unsigned int nr_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned int n = 0;
	int c;

	assert_non_null(maps);
	while ((c = fgetc(maps)) != EOF)
		n += c == '\n';
	fclose(maps);
	return n;
}

/* Many buffers need few descriptors and mappings, and do not overlap. */
static void thousands(void **state)
{
	enum { NR = 1500, FEW = 600 };
	struct world *w = *state;
	unsigned int fds = nr_descriptors(), mappings = nr_mappings();
	uint64_t *handle = calloc(NR, sizeof(*handle)), value;
	struct gp_kfd_alloc_memory a;

	for (uint64_t i = 0; i < NR; i++) {
		uint64_t at = VA + i * 8192;
		uint32_t kind = i % 4 ? GP_KFD_MEM_GTT : GP_KFD_MEM_VRAM;

		assert_int_equal(alloc(w, &a, 0, kind | GP_KFD_MEM_WRITABLE, at, 4096), 0);
		assert_int_equal(map(w, GP_KFD_MAP_MEMORY, a.handle, 0, 1), 0);
		assert_true(gpu_reads(w, 0, at, &value, 8));
		assert_int_equal(value, 0);
		assert_true(gpu_writes(w, 0, at, &at, 8));
		handle[i] = a.handle;
	}
	assert_in_range(nr_descriptors(), fds, fds + FEW);
	assert_in_range(nr_mappings(), mappings, mappings + FEW);
	for (uint64_t i = 0; i < NR; i++) {
		assert_true(gpu_reads(w, 0, VA + i * 8192, &value, 8));
		assert_int_equal(value, VA + i * 8192);
		assert_int_equal(map(w, GP_KFD_UNMAP_MEMORY, handle[i], 0, 1), 0);
		assert_int_equal(release(w, handle[i]), 0);
	}
	assert_in_range(nr_descriptors(), fds, fds + 1); /* the arena's */
	free(handle);
}

/* A program maps its part of an arena, and the memory is returned to the host with the buffer. */
static void arena(void **state)
{
	struct world *w = *state;
	struct emu_message msg = { .type = EMU_MMAP,
				   .file = w->c.file_id[1],
				   .length = MIB,
				   .flags = MAP_SHARED,
				   .prot = PROT_READ };
	struct gp_kfd_alloc_memory a, b;
	struct stat before, after;
	char *mine[2], text[8];
	int err, fd = -1;

	w->s.m.max_memory_files = 0;
	assert_int_equal(alloc(w, &a, 0, GP_KFD_MEM_VRAM | GP_KFD_MEM_WRITABLE, VA, MIB), 0);
	assert_int_equal(alloc(w, &b, 0, GP_KFD_MEM_GTT | GP_KFD_MEM_WRITABLE, 2 * VA, MIB), 0);
	assert_int_equal(map(w, GP_KFD_MAP_MEMORY, b.handle, 0, 1), 0);
	mine[0] = client_mmap(&w->c, w->c.render[0], a.mmap_offset, MIB, PROT_READ | PROT_WRITE,
			      &err);
	mine[1] = client_mmap(&w->c, w->c.render[0], b.mmap_offset + 4096, MIB - 4096,
			      PROT_READ | PROT_WRITE, &err);
	assert_non_null(mine[0]);
	assert_non_null(mine[1]);
	memset(mine[0], 1, MIB);
	strcpy(mine[1], "second");
	assert_true(gpu_reads(w, 0, 2 * VA + 4096, text, 7));
	assert_string_equal(text, "second");
	msg.offset = a.mmap_offset;
	assert_int_equal(client_call(&w->c, &msg, NULL, 0, &fd), 0);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(fstat(fd, &before), 0);
	assert_int_equal(release(w, a.handle), 0);
	assert_int_equal(fstat(fd, &after), 0);
	assert_int_equal(before.st_blocks - after.st_blocks, MIB / 512);
	assert_string_equal(mine[1], "second");
	close(fd);
	munmap(mine[0], MIB);
	munmap(mine[1], MIB - 4096);
}

static void *map_dmabuf(struct world *w, uint32_t number, uint64_t length, int *err)
{
	struct emu_message msg = { .type = EMU_MMAP,
				   .request = number,
				   .length = length,
				   .flags = MAP_SHARED,
				   .prot = PROT_READ | PROT_WRITE };
	int fd = -1;
	void *at;

	*err = (int)client_call(&w->c, &msg, NULL, 0, &fd);
	if (*err)
		return NULL;
	at = mmap(NULL, length, (int)msg.prot, (int)msg.flags, fd, (off_t)msg.offset);
	close(fd);
	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

/* An export from an arena is only that buffer, for programs of the machine. */
static void exported_of_arena(void **state)
{
	struct world *w = *state;
	struct gp_kfd_alloc_memory a[2];
	struct gp_kfd_export_dmabuf ex[2];
	const char names[2][8] = { "first", "second" };
	char text[8];
	int err;

	w->s.m.max_memory_files = 0;
	for (uint64_t i = 0; i < 2; i++) {
		struct gp_kfd_import_dmabuf im = { .va_addr = (i + 4) * VA, .gpu_id = w->gpu[1] };
		char *mine;

		assert_int_equal(alloc(w, &a[i], 0, GP_KFD_MEM_VRAM | GP_KFD_MEM_WRITABLE,
				       (i + 1) * VA, MIB),
				 0);
		assert_int_equal(map(w, GP_KFD_MAP_MEMORY, a[i].handle, 0, 1), 0);
		ex[i] = (struct gp_kfd_export_dmabuf){ .handle = a[i].handle, .flags = O_CLOEXEC };
		assert_int_equal(client_kfd(&w->c, GP_KFD_EXPORT_DMABUF, &ex[i]), 0);
		assert_int_equal(lseek((int)ex[i].dmabuf_fd, 0, SEEK_END), MIB);
		im.dmabuf_fd = ex[i].dmabuf_fd;
		assert_int_equal(client_kfd(&w->c, GP_KFD_IMPORT_DMABUF, &im), 0);
		assert_int_equal(map(w, GP_KFD_MAP_MEMORY, im.handle, 1, 1), 0);
		assert_true(gpu_writes(w, 0, (i + 1) * VA, names[i], 7));
		assert_true(gpu_reads(w, 1, (i + 4) * VA, text, 7));
		assert_string_equal(text, names[i]);
		/* Through the machine, and not directly. */
		assert_ptr_equal(mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED,
				      (int)ex[i].dmabuf_fd, 0),
				 MAP_FAILED);
		mine = map_dmabuf(w, ex[i].dmabuf_fd, MIB, &err);
		assert_string_equal(mine, names[i]);
		munmap(mine, MIB);
	}
	assert_null(map_dmabuf(w, ex[1].dmabuf_fd, MIB + 4096, &err));
	assert_int_equal(err, -EINVAL);
	assert_null(map_dmabuf(w, (uint32_t)w->c.kfd, MIB, &err));
	assert_int_equal(err, -EINVAL);
	for (int i = 0; i < 2; i++)
		close((int)ex[i].dmabuf_fd);
}

/* A thread looks up pages while others are mapped and unmapped. */
struct looker {
	struct emu_vm *vm;
	_Atomic bool quit;
	uint64_t seen;
};

static void *look(void *arg)
{
	struct looker *l = arg;

	while (!l->quit) {
		for (uint64_t i = 0; i < 64; i++) {
			_Atomic uint32_t *word = l->vm->page(l->vm->ctx, VA + i * 4096, false);

			/* Only of the first, which stays. */
			if (word && !i)
				l->seen += atomic_load(word);
		}
	}
	return NULL;
}

static void at_once(void **state)
{
	struct world *w = *state;
	struct looker l = { .vm = &client_process(&w->c)->memory.vm[0] };
	struct gp_kfd_alloc_memory a;
	pthread_t thread;

	assert_int_equal(alloc(w, &a, 0, GP_KFD_MEM_GTT, VA, 4096), 0);
	assert_int_equal(map(w, GP_KFD_MAP_MEMORY, a.handle, 0, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, look, &l), 0);
	for (int i = 0; i < 300; i++) {
		assert_int_equal(alloc(w, &a, 0, GP_KFD_MEM_GTT, VA + 4096, 4096 * (1 + i % 60)),
				 0);
		assert_int_equal(map(w, GP_KFD_MAP_MEMORY, a.handle, 0, 1), 0);
		assert_int_equal(map(w, GP_KFD_UNMAP_MEMORY, a.handle, 0, 1), 0);
		assert_int_equal(release(w, a.handle), 0);
	}
	l.quit = true;
	pthread_join(thread, NULL);
	assert_int_equal(l.seen, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(refused),
		T(limits),
		T(handles),
		T(too_many),
		T(same_memory),
		T(mmap_refused),
		T(sealed),
		T(mapping),
		T(many),
		T(pages),
		T(twice),
		T(userptr),
		T(userptr_pieces),
		T(userptr_of_files),
		T(userptr_refused),
		T(doorbells),
		T(exported),
		T(thousands),
		T(arena),
		T(exported_of_arena),
		T(at_once),
	};

	if (!host_has_process_vm())
		return TEST_SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
