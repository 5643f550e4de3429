// SPDX-License-Identifier: MIT
/*
 * A program that registers its memory (userptr) and copies it with a DMA engine, in random
 * sequences: DMA in both directions, waves and fills in the same ranges, overlapping registrations,
 * memory of files, shared memory, forks, and pages that are dropped. After each step all of the
 * memory must be what a plain array says. Memory that only DMA uses must stay the program's own. On
 * failure it exits with 1 and a sentence.
 *
 * Usage: pageable_client CODE_OBJECT [SEED]
 */
#include "../fail.h"

#include "base/clock.h"
#include "base/object.h"
#include "device/kfd/user.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u
#define MIB ((size_t)1 << 20)
#define RING_BYTES 4096u
#define BYTES (12 * MIB)
/* Of the memory: a private mapping of a file, and shared memory. */
#define FILE_AT (4 * MIB)
#define SHARED_AT (10 * MIB)
#define VRAM_BYTES (4 * MIB)
#define REGISTRATIONS 5u
#define REGISTERED_MAX (4 * MIB)
#define VA_FIRST 0x700000000000ull
#define VA_STEP ((uint64_t)64 << 20)
#define STEPS 300u
#define LANES 64u
#define WAIT_NS (60 * 1000000000ull)

#define SDMA_COPY 1u
#define SDMA_FILL (11u | 2u << 30)
#define SDMA_FENCE 5u

struct registration {
	uint64_t handle, va; /* handle 0: none */
	size_t at, bytes;
};

static struct {
	struct gp__kfd_user u;
	struct gp__object object;
	struct gp__kfd_memory code, vram, ring, state, arguments, signals;
	struct gp__kfd_queue queue;
	_Atomic uint64_t *doorbell;
	_Atomic uint32_t *fence;
	uint64_t written;
	uint64_t vector_add;
	uint8_t *memory, *expected, *vram_expected;
	struct registration r[REGISTRATIONS];
	uint32_t random;
	unsigned int step, copies, waves, forks;
} c;

/* A number below @n. */
static uint32_t below(uint32_t n)
{
	c.random ^= c.random << 13;
	c.random ^= c.random >> 17;
	c.random ^= c.random << 5;
	return c.random % n;
}

/*
 * The GPU
 */

static void alloc(struct gp__kfd_memory *m, uint64_t size, uint32_t flags)
{
	must(gp__kfd_alloc(&c.u, m, size, flags), "memory");
}

static void open_gpu(const char *path)
{
	struct gp__kfd_node nodes[GP__KFD_NODES_MAX];
	uint64_t offset;

	if (gp__kfd_nodes(nodes) < 1)
		fail("there is no GPU");
	must(gp__kfd_open(&c.u, &nodes[0]), "opening the GPU");
	must(gp__object_read(&c.object, path), path);
	alloc(&c.code, gp__object_bytes(&c.object), GP_KFD_MEM_GTT | GP_KFD_MEM_EXECUTABLE);
	gp__object_load(&c.object, c.code.at);
	if (!gp__object_symbol(&c.object, "vector_add.kd", &offset))
		fail("the code object has no kernel 'vector_add'");
	c.vector_add = (uint64_t)c.code.at + offset;
	alloc(&c.vram, VRAM_BYTES, GP_KFD_MEM_VRAM);
	alloc(&c.arguments, PAGE, GP_KFD_MEM_GTT);
	alloc(&c.signals, PAGE, GP_KFD_MEM_GTT);
	must(gp__kfd_queue_create(&c.u, &c.queue, 64), "a queue");
}

static void open_engine(void)
{
	struct gp_kfd_create_queue args = { .gpu_id = c.u.node.gpu_id,
					    .queue_type = GP_KFD_QUEUE_SDMA,
					    .queue_percentage = 100,
					    .queue_priority = 7,
					    .ring_size = RING_BYTES };

	alloc(&c.ring, RING_BYTES, GP_KFD_MEM_GTT | GP_KFD_MEM_EXECUTABLE);
	alloc(&c.state, PAGE, GP_KFD_MEM_GTT);
	c.fence = c.state.at;
	args.ring_base_address = (uint64_t)c.ring.at;
	args.write_pointer_address = (uint64_t)c.state.at + 64;
	args.read_pointer_address = (uint64_t)c.state.at + 72;
	must(gp__kfd_ioctl(c.u.kfd, GP_KFD_CREATE_QUEUE, &args), "a DMA queue");
	c.doorbell = (_Atomic uint64_t *)((char *)c.u.doorbells.at +
					  args.doorbell_offset % c.u.doorbells.size);
}

static void put(const uint32_t *packet, unsigned int dwords)
{
	uint32_t *ring = c.ring.at;

	for (unsigned int i = 0; i < dwords; i++, c.written += 4)
		ring[c.written % RING_BYTES / 4] = packet[i];
}

/* Rings for the packets so far and a fence, and waits for it. */
static void run_engine(void)
{
	uint64_t fence = (uint64_t)c.fence, end = gp__clock_ns() + WAIT_NS;
	const uint32_t packet[] = { SDMA_FENCE, (uint32_t)fence, (uint32_t)(fence >> 32), 1 };

	atomic_store(c.fence, 0);
	put(packet, 4);
	atomic_store((_Atomic uint64_t *)((char *)c.state.at + 64), c.written);
	atomic_store(c.doorbell, c.written);
	while (!atomic_load(c.fence)) {
		if (gp__clock_ns() > end)
			fail("step %u: the DMA engine does not end", c.step);
		usleep(20);
	}
}

static void dma(uint64_t to, uint64_t from, size_t bytes)
{
	const uint32_t packet[] = { SDMA_COPY,		 (uint32_t)bytes - 1,	 0,
				    (uint32_t)from,	 (uint32_t)(from >> 32), (uint32_t)to,
				    (uint32_t)(to >> 32) };

	put(packet, 7);
	run_engine();
}

/*
 * Registrations
 */

static void change_mapping(unsigned long request, uint64_t handle)
{
	struct gp_kfd_map_memory args = { .handle = handle,
					  .device_ids_array_ptr = (uint64_t)&c.u.node.gpu_id,
					  .n_devices = 1 };

	must(gp__kfd_ioctl(c.u.kfd, request, &args), "mapping");
}

static void add(struct registration *r, size_t at, size_t bytes)
{
	struct gp_kfd_alloc_memory args = { .va_addr = VA_FIRST + VA_STEP * (uint64_t)(r - c.r),
					    .size = bytes,
					    .mmap_offset = (uint64_t)(c.memory + at),
					    .gpu_id = c.u.node.gpu_id,
					    .flags = GP_KFD_MEM_USERPTR | GP_KFD_MEM_WRITABLE };

	must(gp__kfd_ioctl(c.u.kfd, GP_KFD_ALLOC_MEMORY, &args), "ALLOC_MEMORY");
	*r = (struct registration){ .handle = args.handle, .va = args.va_addr, at, bytes };
	change_mapping(GP_KFD_MAP_MEMORY, r->handle);
}

static void drop(struct registration *r)
{
	struct gp_kfd_free_memory args = { .handle = r->handle };

	if (!r->handle)
		return;
	change_mapping(GP_KFD_UNMAP_MEMORY, r->handle);
	must(gp__kfd_ioctl(c.u.kfd, GP_KFD_FREE_MEMORY, &args), "FREE_MEMORY");
	r->handle = 0;
}

/* Whether the page is a shared mapping now. */
static bool is_shared(const void *page)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	bool shared = false;
	char prot[5], line[512];

	if (!maps)
		fail("/proc/self/maps cannot be read");
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %4s", &start, &end, prot) == 3 &&
		    (unsigned long)page >= start && (unsigned long)page < end)
			shared = prot[3] == 's';
	fclose(maps);
	return shared;
}

/*
 * Steps
 */

static struct registration *any(void)
{
	struct registration *r = &c.r[below(REGISTRATIONS)];

	return r->handle ? r : NULL;
}

static void check(void)
{
	for (size_t i = 0; i < BYTES; i += PAGE)
		if (memcmp(c.memory + i, c.expected + i, PAGE))
			fail("step %u: page %zu is wrong", c.step, i / PAGE);
	if (memcmp(c.vram.at, c.vram_expected, VRAM_BYTES))
		fail("step %u: the VRAM is wrong", c.step);
}

static void step_register(void)
{
	struct registration *r = &c.r[below(REGISTRATIONS)];
	size_t bytes = (1 + below(REGISTERED_MAX / PAGE)) * PAGE;

	drop(r);
	add(r, below((uint32_t)((BYTES - bytes) / PAGE + 1)) * PAGE, bytes);
}

static void step_drop(void)
{
	drop(&c.r[below(REGISTRATIONS)]);
}

/* A part of a registration that fits into the VRAM. */
static size_t part(const struct registration *r, size_t *at, size_t *vram_at)
{
	size_t bytes = 1 + below((uint32_t)r->bytes);

	*at = below((uint32_t)(r->bytes - bytes + 1));
	*vram_at = below((uint32_t)(VRAM_BYTES - bytes + 1));
	return bytes;
}

static void step_dma_in(void)
{
	const struct registration *r = any();
	size_t at, vram_at, bytes;

	if (!r)
		return;
	bytes = part(r, &at, &vram_at);
	dma(r->va + at, (uint64_t)c.vram.at + vram_at, bytes);
	memcpy(c.expected + r->at + at, c.vram_expected + vram_at, bytes);
	c.copies++;
}

static void step_dma_out(void)
{
	const struct registration *r = any();
	size_t at, vram_at, bytes;

	if (!r)
		return;
	bytes = part(r, &at, &vram_at);
	dma((uint64_t)c.vram.at + vram_at, r->va + at, bytes);
	memcpy(c.vram_expected + vram_at, c.expected + r->at + at, bytes);
	c.copies++;
}

/* Between two registrations, which must not overlap. */
static void step_dma_across(void)
{
	const struct registration *from = any(), *to = any();
	size_t bytes;

	if (!from || !to || (from->at < to->at + to->bytes && to->at < from->at + from->bytes))
		return;
	bytes = 1 + below((uint32_t)(from->bytes < to->bytes ? from->bytes : to->bytes));
	dma(to->va, from->va, bytes);
	memcpy(c.expected + to->at, c.expected + from->at, bytes);
	c.copies++;
}

static void step_fill(void)
{
	const struct registration *r = any();
	uint32_t value = below(UINT32_MAX), words;
	uint64_t va;
	size_t at;

	if (!r)
		return;
	at = below((uint32_t)r->bytes / 4) * 4;
	words = 1 + below((uint32_t)(r->bytes - at) / 4);
	va = r->va + at;
	put((const uint32_t[]){ SDMA_FILL, (uint32_t)va, (uint32_t)(va >> 32), value,
				(words - 1) * 4 },
	    5);
	run_engine();
	for (uint32_t i = 0; i < words; i++)
		memcpy(c.expected + r->at + at + 4 * i, &value, 4);
}

/* Adds words of the VRAM to words of the memory. */
static void step_waves(void)
{
	const struct registration *r = any();
	struct {
		uint64_t a, b, sum;
		uint32_t n;
	} *args = c.arguments.at;
	struct gp__kfd_signal *done = c.signals.at;
	struct gp__kfd_dispatch d = { .kernel = c.vector_add, .group = LANES };
	uint64_t end = gp__clock_ns() + WAIT_NS;
	size_t at, vram_at;

	if (!r)
		return;
	args->n = 1 + below((uint32_t)(r->bytes < 65536 ? r->bytes : 65536) / 4);
	at = below((uint32_t)(r->bytes / 4 - args->n + 1)) * 4;
	vram_at = below((uint32_t)(VRAM_BYTES / 4 - args->n + 1)) * 4;
	args->a = args->sum = r->va + at;
	args->b = (uint64_t)c.vram.at + vram_at;
	d.kernarg = args;
	d.grid = (args->n + LANES - 1) / LANES * LANES;
	*done = (struct gp__kfd_signal){ .kind = GP__KFD_SIGNAL_USER, .value = 1 };
	gp__kfd_launch(&c.queue, &d, done);
	while (atomic_load(&done->value) > 0) {
		if (gp__clock_ns() > end)
			fail("step %u: the waves do not end", c.step);
		usleep(20);
	}
	for (uint32_t i = 0; i < args->n; i++) {
		uint32_t a, b;

		memcpy(&a, c.expected + r->at + at + 4 * i, 4);
		memcpy(&b, c.vram_expected + vram_at + 4 * i, 4);
		a += b;
		memcpy(c.expected + r->at + at + 4 * i, &a, 4);
	}
	if (!is_shared(c.memory + r->at + at))
		fail("step %u: waves use memory that is not shared", c.step);
	c.waves++;
}

static void step_write(void)
{
	for (int i = 0; i < 64; i++) {
		size_t at = below(BYTES);

		c.memory[at] = c.expected[at] = (uint8_t)below(256);
	}
}

/* Pages of the anonymous part. */
static void step_forget(void)
{
	size_t pages = 1 + below(64), at = below((uint32_t)(FILE_AT / PAGE - pages)) * PAGE;

	if (madvise(c.memory + at, pages * PAGE, MADV_DONTNEED))
		fail("MADV_DONTNEED");
	memset(c.expected + at, 0, pages * PAGE);
}

/* The child sees its memory as it was, whatever its parent does afterwards. */
static void step_fork(void)
{
	int go[2], status = 0;
	pid_t pid;
	char byte;

	if (pipe(go))
		fail("pipe");
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &byte, 1) != 1 || memcmp(c.memory, c.expected, SHARED_AT))
			_exit(1);
		memset(c.memory, 0x5a, SHARED_AT);
		_exit(0);
	}
	close(go[0]);
	step_dma_in();
	step_write();
	step_waves();
	if (write(go[1], "g", 1) != 1 || waitpid(pid, &status, 0) != pid || status)
		fail("step %u: a child does not see its memory as it was", c.step);
	close(go[1]);
	c.forks++;
}

static void (*const steps[])(void) = {
	step_register,	 step_register, step_drop,  step_dma_in, step_dma_in,
	step_dma_out,	 step_dma_out,	step_waves, step_fill,	 step_write,
	step_dma_across, step_forget,	step_fork,
};
#define NR_STEPS (sizeof(steps) / sizeof(steps[0]))

/*
 * Fixed sequences
 */

static void make_memory(void)
{
	int fd = memfd_create("pageable", 0);
	uint8_t *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	c.expected = calloc(1, BYTES);
	c.vram_expected = calloc(1, VRAM_BYTES);
	if (fd < 0 || at == MAP_FAILED || !c.expected || !c.vram_expected ||
	    ftruncate(fd, (off_t)BYTES))
		fail("out of memory");
	if (mmap(at + FILE_AT, 2 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
		    MAP_FAILED ||
	    mmap(at + SHARED_AT, BYTES - SHARED_AT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 fd, (off_t)SHARED_AT) == MAP_FAILED)
		fail("mmap");
	close(fd);
	c.memory = at;
	for (size_t i = 0; i < VRAM_BYTES; i++)
		c.vram_expected[i] = ((uint8_t *)c.vram.at)[i] = (uint8_t)(i * 7 + i / PAGE);
}

/* Memory that only DMA uses stays private; its pages come with the first byte. */
static void copies_leave_it_private(void)
{
	struct registration *r = &c.r[0];

	add(r, 0, 2 * MIB);
	dma(r->va + 5, (uint64_t)c.vram.at, MIB);
	memcpy(c.expected + 5, c.vram_expected, MIB);
	dma((uint64_t)c.vram.at + 3 * MIB, r->va + 4, PAGE);
	memcpy(c.vram_expected + 3 * MIB, c.expected + 4, PAGE);
	check();
	if (is_shared(c.memory) || is_shared(c.memory + MIB))
		fail("memory that only DMA uses is shared");
	drop(r);
}

/* A part is not there any more: the copy is a fault, and the machine goes on. */
static void lost_memory(void)
{
	struct registration *r = &c.r[0];
	const uint32_t bytes = 2 * MIB;

	add(r, 0, 2 * MIB);
	munmap(c.memory + MIB, MIB);
	atomic_store(c.fence, 0);
	put((const uint32_t[]){ SDMA_COPY, bytes - 1, 0, (uint32_t)r->va, (uint32_t)(r->va >> 32),
				(uint32_t)(uint64_t)c.vram.at,
				(uint32_t)((uint64_t)c.vram.at >> 32), SDMA_FENCE,
				(uint32_t)(uint64_t)c.fence, (uint32_t)((uint64_t)c.fence >> 32),
				1 },
	    11);
	atomic_store((_Atomic uint64_t *)((char *)c.state.at + 64), c.written);
	atomic_store(c.doorbell, c.written);
	usleep(200000);
	if (atomic_load(c.fence))
		fail("a copy from memory that was unmapped ends");
	drop(r);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		fail("usage: %s CODE_OBJECT [SEED]", argv[0]);
	c.random = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 1;
	open_gpu(argv[1]);
	open_engine();
	make_memory();
	copies_leave_it_private();
	for (c.step = 0; c.step < STEPS; c.step++) {
		steps[below(NR_STEPS)]();
		check();
	}
	for (unsigned int i = 0; i < REGISTRATIONS; i++)
		drop(&c.r[i]);
	check();
	lost_memory();
	printf("%u steps, %u copies, %u kernels, %u forks: right\n", STEPS, c.copies, c.waves,
	       c.forks);
	gp__object_free(&c.object);
	gp__kfd_close(&c.u);
	return 0;
}
