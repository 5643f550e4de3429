// SPDX-License-Identifier: MIT
/*
 * Measures memory of a program on an emulated machine: making and freeing each of many buffers
 * while the others exist, and the speed of copies to VRAM by a DMA engine. A copy of the same size
 * by the CPU, which the engine cannot exceed, is measured alternately.
 */
#include "emu_memory.h"
#include "machine.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE 4096u
#define BUFFERS 20000u
#define BUFFERS_QUICK 1000u
#define COPY_BYTES ((uint64_t)64 << 20)
#define COPY_BYTES_QUICK ((uint64_t)16 << 20)
#define COPIES_MAX 16u

/*
 * Buffers
 */

enum kind { KIND_GTT, KIND_VRAM, KIND_USERPTR, KINDS };

static const char *const kind_names[KINDS] = { "GTT", "VRAM", "userptr" };

static int change_mapping(struct resident *r, unsigned long request, uint64_t handle)
{
	struct gp_kfd_map_memory args = { .handle = handle,
					  .device_ids_array_ptr = (uint64_t)&r->u.node.gpu_id,
					  .n_devices = 1 };

	return gp__kfd_ioctl(r->u.kfd, request, &args);
}

/* Maps memory of this program for the GPU, at its address. */
static int add_user(struct resident *r, struct gp__kfd_memory *m, void *at, uint64_t size)
{
	struct gp_kfd_alloc_memory args = { .va_addr = (uint64_t)at,
					    .size = size,
					    .mmap_offset = (uint64_t)at,
					    .gpu_id = r->u.node.gpu_id,
					    .flags = GP_KFD_MEM_USERPTR | GP_KFD_MEM_WRITABLE };
	int err = gp__kfd_ioctl(r->u.kfd, GP_KFD_ALLOC_MEMORY, &args);

	if (err)
		return err;
	*m = (struct gp__kfd_memory){ .at = at, .size = size, .handle = args.handle };
	return change_mapping(r, GP_KFD_MAP_MEMORY, m->handle);
}

static int remove_user(struct resident *r, struct gp__kfd_memory *m)
{
	struct gp_kfd_free_memory args = { .handle = m->handle };
	int err = change_mapping(r, GP_KFD_UNMAP_MEMORY, m->handle);

	return err ? err : gp__kfd_ioctl(r->u.kfd, GP_KFD_FREE_MEMORY, &args);
}

/* The number of descriptors of a process; -1: unknown. */
static int nr_descriptors(pid_t pid)
{
	char path[64];
	DIR *dir;
	int n = -2; /* . and .. */

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return -1;
	/* cppcheck-suppress readdirCalled; the stream is local */
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

struct buffers {
	enum kind kind;
	unsigned int nr;
	struct gp__kfd_memory *memory;
	char *pages; /* for userptr: every other one is used */
};

static int make_buffers(struct resident *r, struct buffers *b, unsigned int wanted)
{
	int err = 0;

	for (; !err && b->nr < wanted; b->nr += !err) {
		struct gp__kfd_memory *m = &b->memory[b->nr];

		if (b->kind == KIND_USERPTR)
			err = add_user(r, m, b->pages + (size_t)2 * PAGE * b->nr, PAGE);
		else
			err = gp__kfd_alloc(&r->u, m, PAGE,
					    b->kind == KIND_GTT ? GP_KFD_MEM_GTT : GP_KFD_MEM_VRAM);
	}
	return err;
}

static int free_buffers(struct resident *r, struct buffers *b)
{
	int err = 0;

	while (b->nr) {
		struct gp__kfd_memory *m = &b->memory[--b->nr];

		if (b->kind == KIND_USERPTR)
			err = remove_user(r, m);
		else
			gp__kfd_free(&r->u, m);
		if (err)
			break;
	}
	return err;
}

static void add_row(struct gp__bench_run *run, const char *verb, enum kind kind, double ns)
{
	char what[64];

	snprintf(what, sizeof(what), "%s %s buffer", verb, kind_names[kind]);
	gp__bench_row(run, json_pack("{s:s, s:s, s:i, s:f, s:n}", "what", what, "state", "many",
				     "waves", 0, "wall_us", ns / 1e3, "device_us"));
}

static int bench_kind(struct gp__bench_run *run, struct resident *r, struct buffers *b,
		      unsigned int nr, int *descriptors)
{
	uint64_t start = gp__clock_ns(), made;
	int err = make_buffers(r, b, nr);
	int n = nr_descriptors(bench_machine_pid());

	made = gp__clock_ns();
	if (n > *descriptors)
		*descriptors = n;
	if (!err)
		err = free_buffers(r, b);
	if (err)
		return gp__bench_fail(run, err, "a %s buffer after %u others", kind_names[b->kind],
				      b->nr);
	add_row(run, "make", b->kind, (double)(made - start) / nr);
	add_row(run, "free", b->kind, (double)(gp__clock_ns() - made) / nr);
	return 0;
}

int bench_emu_buffers(struct gp__bench_run *run, struct resident *r)
{
	unsigned int nr = gp__bench_quick(run) ? BUFFERS_QUICK : BUFFERS;
	struct buffers b = { .memory = calloc(nr, sizeof(*b.memory)),
			     .pages = mmap(NULL, (size_t)2 * PAGE * nr, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) };
	int err = b.memory && b.pages != MAP_FAILED ? 0 : -ENOMEM, most = -1;

	for (int kind = 0; !err && kind < KINDS; kind++) {
		b.kind = (enum kind)kind;
		err = bench_kind(run, r, &b, nr, &most);
	}
	if (!err && most >= 0)
		gp__bench_summary(run, "buffers_descriptors", json_integer(most),
				  "%u buffers at a time: the machine has %d descriptors", nr, most);
	if (b.pages != MAP_FAILED)
		munmap(b.pages, (size_t)2 * PAGE * nr);
	free(b.memory);
	return err;
}

/*
 * Copies
 */

#define RING_BYTES PAGE
#define SDMA_COPY_LINEAR 1u
#define SDMA_FENCE 5u
#define POINTERS_AT 64u /* in the page of the fence */

struct engine {
	struct resident *r;
	struct gp__kfd_memory ring, state;
	uint32_t id;
	uint64_t written; /* bytes of the ring */
	_Atomic uint64_t *doorbell;
	_Atomic uint32_t *fence;
};

static int begin_engine(struct engine *e, struct resident *r)
{
	struct gp_kfd_create_queue args = { .gpu_id = r->u.node.gpu_id,
					    .queue_type = GP_KFD_QUEUE_SDMA,
					    .queue_percentage = 100,
					    .queue_priority = 7,
					    .ring_size = RING_BYTES };
	int err;

	*e = (struct engine){ .r = r };
	err = gp__kfd_alloc(&r->u, &e->ring, RING_BYTES, GP_KFD_MEM_GTT | GP_KFD_MEM_EXECUTABLE);
	if (!err)
		err = gp__kfd_alloc(&r->u, &e->state, PAGE, GP_KFD_MEM_GTT);
	if (err)
		return err;
	args.ring_base_address = (uint64_t)e->ring.at;
	args.write_pointer_address = (uint64_t)e->state.at + POINTERS_AT;
	args.read_pointer_address = args.write_pointer_address + sizeof(uint64_t);
	err = gp__kfd_ioctl(r->u.kfd, GP_KFD_CREATE_QUEUE, &args);
	if (err)
		return err;
	e->id = args.queue_id;
	e->fence = e->state.at;
	/* The queue of packets has mapped the doorbells. */
	e->doorbell = (_Atomic uint64_t *)((char *)r->u.doorbells.at +
					   args.doorbell_offset % r->u.doorbells.size);
	return 0;
}

static void end_engine(struct engine *e)
{
	struct gp_kfd_destroy_queue args = { .queue_id = e->id };

	if (e->doorbell)
		gp__kfd_ioctl(e->r->u.kfd, GP_KFD_DESTROY_QUEUE, &args);
	gp__kfd_free(&e->r->u, &e->state);
	gp__kfd_free(&e->r->u, &e->ring);
}

static void put(struct engine *e, const uint32_t *packet, unsigned int dwords)
{
	uint32_t *ring = e->ring.at;

	for (unsigned int i = 0; i < dwords; i++, e->written += 4)
		ring[e->written % RING_BYTES / 4] = packet[i];
}

/* Waits until the fence is written: 0, or -ETIME. */
static int wait_fence(struct engine *e)
{
	uint64_t end = gp__clock_ns() + 60000000000ull;

	while (!atomic_load(e->fence)) {
		if (gp__clock_ns() > end)
			return -ETIME;
		gp__sleep_ns(50 * GP__US);
	}
	return 0;
}

static int copy_by_engine(struct engine *e, const void *to, const void *from, uint64_t bytes)
{
	uint64_t fence = (uint64_t)e->fence;
	const uint32_t packets[] = {
		SDMA_COPY_LINEAR,
		(uint32_t)bytes - 1,
		0,
		(uint32_t)(uint64_t)from,
		(uint32_t)((uint64_t)from >> 32),
		(uint32_t)(uint64_t)to,
		(uint32_t)((uint64_t)to >> 32),
		SDMA_FENCE,
		(uint32_t)fence,
		(uint32_t)(fence >> 32),
		1,
	};

	atomic_store(e->fence, 0);
	put(e, packets, sizeof(packets) / sizeof(packets[0]));
	atomic_store((_Atomic uint64_t *)((char *)e->state.at + POINTERS_AT), e->written);
	atomic_store(e->doorbell, e->written);
	return wait_fence(e);
}

struct copies {
	struct engine engine;
	uint64_t bytes;
	struct gp__kfd_memory vram, gtt;
	char *pageable, *plain;
};

/* Maps the program's memory for this copy only, like a runtime. */
static int copy_pageable(struct copies *c)
{
	struct gp__kfd_memory m;
	int err = add_user(c->engine.r, &m, c->pageable, c->bytes), end;

	if (err)
		return err;
	err = copy_by_engine(&c->engine, c->vram.at, c->pageable, c->bytes);
	end = remove_user(c->engine.r, &m);
	return err ? err : end;
}

static int copy_pinned(struct copies *c)
{
	return copy_by_engine(&c->engine, c->vram.at, c->gtt.at, c->bytes);
}

static int copy_plain(struct copies *c)
{
	memcpy(c->plain, c->gtt.at, c->bytes);
	return 0;
}

static const struct {
	const char *name, *sentence;
	int (*copy)(struct copies *c);
} ways[] = {
	{ "copy_processor_gb_per_s", "copies by the processor", copy_plain },
	{ "copy_pinned_gb_per_s", "DMA from pinned memory to VRAM", copy_pinned },
	{ "copy_pageable_gb_per_s", "DMA from pageable memory to VRAM", copy_pageable },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static int begin_copies(struct copies *c, struct resident *r)
{
	int err = begin_engine(&c->engine, r);

	if (!err)
		err = gp__kfd_alloc(&r->u, &c->vram, c->bytes, GP_KFD_MEM_VRAM);
	if (!err)
		err = gp__kfd_alloc(&r->u, &c->gtt, c->bytes, GP_KFD_MEM_GTT);
	c->pageable =
		mmap(NULL, c->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	c->plain = mmap(NULL, c->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (err || c->pageable == MAP_FAILED || c->plain == MAP_FAILED)
		return err ? err : -ENOMEM;
	memset(c->gtt.at, 1, c->bytes);
	memset(c->pageable, 2, c->bytes);
	memset(c->plain, 3, c->bytes);
	return 0;
}

static void end_copies(struct copies *c)
{
	gp__kfd_free(&c->engine.r->u, &c->gtt);
	gp__kfd_free(&c->engine.r->u, &c->vram);
	end_engine(&c->engine);
	if (c->pageable && c->pageable != MAP_FAILED)
		munmap(c->pageable, c->bytes);
	if (c->plain && c->plain != MAP_FAILED)
		munmap(c->plain, c->bytes);
}

/* Measures the ways alternately; the first round is not counted. */
static int measure_copies(struct copies *c, unsigned int times, double v[WAYS][COPIES_MAX])
{
	int err = 0;

	for (unsigned int i = 0; !err && i <= times; i++) {
		for (size_t way = 0; !err && way < WAYS; way++) {
			uint64_t start = gp__clock_ns();

			err = ways[way].copy(c);
			if (i)
				v[way][i - 1] = (double)c->bytes / (double)(gp__clock_ns() - start);
		}
		if (!err && memcmp(c->vram.at, c->pageable, c->bytes))
			err = -EIO;
	}
	return err;
}

int bench_emu_copies(struct gp__bench_run *run, struct resident *r)
{
	unsigned int times =
		gp__bench_repeats(run) < COPIES_MAX ? gp__bench_repeats(run) : COPIES_MAX;
	struct copies c = { .bytes = gp__bench_quick(run) ? COPY_BYTES_QUICK : COPY_BYTES };
	double v[WAYS][COPIES_MAX];
	int err = begin_copies(&c, r);

	if (!err)
		err = measure_copies(&c, times, v);
	end_copies(&c);
	if (err)
		return gp__bench_fail(run, err, "copying to VRAM");
	for (size_t way = 0; way < WAYS; way++) {
		struct gp__stats stats = { 0 };

		gp__stats_of(v[way], times, &stats);
		gp__bench_summary(run, ways[way].name, json_real(stats.median), "%s: %.2f GB/s",
				  ways[way].sentence, stats.median);
	}
	return 0;
}
