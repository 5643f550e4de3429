/* SPDX-License-Identifier: MIT */
/*
 * Memory through HSA: pools, copies in all directions, fills, and locked memory of the program,
 * next to memory that other threads write.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hsa_test.h"

static void draw_bytes(uint8_t *bytes, size_t nr, uint64_t seed)
{
	for (size_t i = 0; i < nr; i++)
		bytes[i] = lab_random(&seed);
}

struct add_arguments {
	const uint32_t *a, *b;
	uint32_t *c, n;
};

/* a from one pool, b from another, their sum in a third. */
static void test_pools(struct lab *lab)
{
	enum { N = 5000 };
	const hsa_amd_memory_pool_t pools[] = { lab->fine, lab->coarse, lab->kernarg };
	hsa_queue_t *queue = lab_queue(lab, 64);

	for (int p = 0; p < 3; p++) {
		uint32_t *a = lab_alloc(lab, pools[p], N * sizeof(*a));
		uint32_t *b = lab_alloc(lab, pools[(p + 1) % 3], N * sizeof(*b));
		uint32_t *c = lab_alloc(lab, pools[(p + 2) % 3], N * sizeof(*c));
		struct add_arguments args = { a, b, c, N };

		draw_bytes((uint8_t *)a, N * sizeof(*a), p);
		draw_bytes((uint8_t *)b, N * sizeof(*b), p + 10);
		lab_run(lab, queue, "vector_add", N, &args, sizeof(args));
		for (int i = 0; i < N; i++)
			lab_check(c[i] == a[i] + b[i], "pool %d: %u + %u gave %u", p, a[i], b[i],
				  c[i]);
		lab_free(a);
		lab_free(b);
		lab_free(c);
	}
	lab_must(hsa_queue_destroy(queue));
}

/* Host to GPU, on the GPU, and back, modified by a kernel. */
static void test_vram(struct lab *lab)
{
	enum { N = 100003 };
	hsa_queue_t *queue = lab_queue(lab, 64);
	uint8_t *host = lab_alloc(lab, lab->fine, N), *back = lab_alloc(lab, lab->coarse, N);
	uint8_t *one = lab_alloc(lab, lab->vram, N), *two = lab_alloc(lab, lab->vram, N);
	struct {
		const uint8_t *in;
		uint8_t *out;
		uint32_t n;
	} args = { two, one, N };

	draw_bytes(host, N, 7);
	memset(back, 0, N);
	lab_copy(lab, one, lab->gpu, host, lab->cpu, N);
	lab_copy(lab, two, lab->gpu, one, lab->gpu, N);
	lab_run(lab, queue, "invert", N, &args, sizeof(args));
	lab_copy(lab, back, lab->cpu, one, lab->gpu, N);
	for (int i = 0; i < N; i++)
		lab_check(back[i] == 255 - host[i], "byte %d is %#x, not %#x", i, back[i],
			  255 - host[i]);
	lab_must(hsa_queue_destroy(queue));
	lab_free(host);
	lab_free(back);
	lab_free(one);
	lab_free(two);
}

/* Any offset, any size: neighbouring bytes stay unchanged. */
static void test_odd_copies(struct lab *lab)
{
	static const size_t sizes[] = { 1, 3, 4, 63, 64, 65, 4095, 4096, 4097, 65537, 1 << 20 };
	enum { ROOM = (1 << 20) + 64 };
	uint8_t *from = lab_alloc(lab, lab->fine, ROOM), *to = lab_alloc(lab, lab->fine, ROOM);
	uint8_t *vram = lab_alloc(lab, lab->vram, ROOM);

	draw_bytes(from, ROOM, 3);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		size_t n = sizes[s], at = s * 5 % 32, there = s * 7 % 32;

		memset(to, 0xa5, ROOM);
		lab_copy(lab, vram + there, lab->gpu, from + at, lab->cpu, n);
		lab_copy(lab, to + at, lab->cpu, vram + there, lab->gpu, n);
		lab_check(!memcmp(to + at, from + at, n), "%zu bytes came back changed", n);
		for (size_t i = 0; i < ROOM; i++)
			lab_check((i >= at && i < at + n) || to[i] == 0xa5,
				  "a copy of %zu bytes to offset %zu wrote at %zu", n, at, i);
	}
	lab_free(from);
	lab_free(to);
	lab_free(vram);
}

/* A sequence of copies that wait for each other, not for the host. */
static void test_chained_copies(struct lab *lab)
{
	enum { N = 30000, STEPS = 16 };
	uint8_t *host = lab_alloc(lab, lab->fine, N), *back = lab_alloc(lab, lab->fine, N);
	hsa_signal_t done[STEPS + 2];
	uint8_t *vram[2];

	for (int i = 0; i < 2; i++)
		vram[i] = lab_alloc(lab, lab->vram, N);
	for (int i = 0; i < STEPS + 2; i++)
		done[i] = lab_signal(1);
	draw_bytes(host, N, 99);
	memset(back, 0, N);
	lab_must(hsa_amd_memory_async_copy(vram[0], lab->gpu, host, lab->cpu, N, 0, NULL, done[0]));
	for (int i = 0; i < STEPS; i++)
		lab_must(hsa_amd_memory_async_copy(vram[(i + 1) % 2], lab->gpu, vram[i % 2],
						   lab->gpu, N, 1, &done[i], done[i + 1]));
	lab_must(hsa_amd_memory_async_copy(back, lab->cpu, vram[STEPS % 2], lab->gpu, N, 1,
					   &done[STEPS], done[STEPS + 1]));
	lab_wait(done[STEPS + 1], HSA_WAIT_STATE_BLOCKED, "the last of a chain of copies");
	lab_check(!memcmp(host, back, N), "what went through a chain of copies came back changed");
	for (int i = 0; i < STEPS + 2; i++)
		lab_must(hsa_signal_destroy(done[i]));
	for (int i = 0; i < 2; i++)
		lab_free(vram[i]);
	lab_free(host);
	lab_free(back);
}

static void test_fill(struct lab *lab)
{
	static const size_t counts[] = { 1, 2, 15, 64, 1000, 100001 };
	enum { ROOM = 100100 };
	uint32_t *vram = lab_alloc(lab, lab->vram, ROOM * 4),
		 *host = lab_alloc(lab, lab->fine, ROOM * 4);

	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		uint32_t value = 0x11223344 * (uint32_t)(c + 1);

		lab_must(hsa_amd_memory_fill(vram, 0xeeeeeeee, ROOM));
		lab_must(hsa_amd_memory_fill(vram + 3, value, counts[c]));
		lab_copy(lab, host, lab->cpu, vram, lab->gpu, ROOM * 4);
		for (size_t i = 0; i < ROOM; i++) {
			bool inside = i >= 3 && i < 3 + counts[c];

			lab_check(host[i] == (inside ? value : 0xeeeeeeee),
				  "a fill of %zu words left %#x in word %zu", counts[c], host[i],
				  i);
		}
	}
	lab_free(vram);
	lab_free(host);
}

/* A thread that never stops writing next to the locked memory. */
struct neighbour {
	_Atomic bool stop;
	volatile uint32_t *before, *after;
	uint32_t last;
};

static void *write_around(void *data)
{
	struct neighbour *n = data;

	/* At least once, however late it begins. */
	do {
		n->last++;
		*n->before = n->last;
		*n->after = ~n->last;
		if (*n->before != n->last || *n->after != ~n->last)
			lab_fail("what a thread wrote beside locked memory was lost");
	} while (!n->stop);
	return NULL;
}

static void lock_and_use(struct lab *lab, hsa_queue_t *queue, uint8_t *bytes, size_t n)
{
	uint8_t *in, *out = malloc(n), *out_gpu, *keep = malloc(n);
	struct {
		const uint8_t *in;
		uint8_t *out;
		uint32_t n;
	} args;

	lab_check(out && keep, "out of memory");
	memcpy(keep, bytes, n);
	lab_must(hsa_amd_memory_lock(bytes, n, &lab->gpu, 1, (void **)&in));
	lab_must(hsa_amd_memory_lock(out, n, &lab->gpu, 1, (void **)&out_gpu));
	args.in = in;
	args.out = out_gpu;
	args.n = n;
	lab_run(lab, queue, "invert", n, &args, sizeof(args));
	/* Through the program's own address, before and after it is unlocked. */
	for (size_t i = 0; i < n; i++)
		lab_check(out[i] == 255 - keep[i], "locked byte %zu is %#x, not %#x", i, out[i],
			  255 - keep[i]);
	lab_must(hsa_amd_memory_unlock(bytes));
	lab_must(hsa_amd_memory_unlock(out));
	for (size_t i = 0; i < n; i++)
		lab_check(out[i] == 255 - keep[i] && bytes[i] == keep[i],
			  "byte %zu changed when it was unlocked", i);
	free(out);
	free(keep);
}

static void test_locked_memory(struct lab *lab)
{
	static const size_t sizes[] = { 1, 100, 4096, 4097, 12345, 100000 };
	hsa_queue_t *queue = lab_queue(lab, 64);

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		size_t n = sizes[s], at = 8 + s * 12 + s;
		uint8_t *heap = malloc(n + 256);
		struct neighbour near = { .before = (uint32_t *)heap,
					  .after = (uint32_t *)(heap + (at + n + 7) / 4 * 4) };
		pthread_t thread;

		lab_check(heap, "out of memory");
		draw_bytes(heap, n + 256, s);
		lab_check(!pthread_create(&thread, NULL, write_around, &near), "no thread");
		for (int round = 0; round < 5; round++)
			lock_and_use(lab, queue, heap + at, n);
		near.stop = true;
		pthread_join(thread, NULL);
		lab_check(*near.before == near.last && *near.after == ~near.last,
			  "what lies beside locked memory is not what was written last");
		free(heap);
	}
	lab_must(hsa_queue_destroy(queue));
}

/* Copies from and to plain memory of the program: the runtime locks it for a while. */
static void test_copies_of_plain_memory(struct lab *lab)
{
	enum { N = 300001 };
	uint8_t *plain = malloc(N), *back = malloc(N), *vram = lab_alloc(lab, lab->vram, N);

	lab_check(plain && back, "out of memory");
	draw_bytes(plain, N, 5);
	lab_must(hsa_memory_copy(vram, plain, N));
	lab_must(hsa_memory_copy(back, vram, N));
	lab_check(!memcmp(plain, back, N), "plain memory came back changed");
	free(plain);
	free(back);
	lab_free(vram);
}

/* Allocations of all sizes, many times; none overlap. */
static void test_alloc_and_free(struct lab *lab)
{
	enum { SLOTS = 40 };
	const hsa_amd_memory_pool_t pools[] = { lab->fine, lab->vram, lab->coarse };
	void *slot[SLOTS] = { 0 };
	size_t size[SLOTS];
	uint64_t seed = 1;

	for (int i = 0; i < 600; i++) {
		int s = lab_random(&seed) % SLOTS, p = s % 3;

		if (slot[s]) {
			if (p != 1)
				lab_check(((uint8_t *)slot[s])[size[s] - 1] == (uint8_t)s,
					  "memory of one allocation was written by another");
			lab_free(slot[s]);
			slot[s] = NULL;
			continue;
		}
		size[s] = 1 + lab_random(&seed) % (1u << lab_random(&seed) % 22);
		slot[s] = lab_alloc(lab, pools[p], size[s]);
		if (p != 1)
			memset(slot[s], s, size[s]);
	}
	for (int s = 0; s < SLOTS; s++)
		if (slot[s])
			lab_free(slot[s]);
}

static const struct lab_test tests[] = {
	{ "pools", test_pools },
	{ "vram", test_vram },
	{ "odd-copies", test_odd_copies },
	{ "chained-copies", test_chained_copies },
	{ "fill", test_fill },
	{ "locked-memory", test_locked_memory },
	{ "plain-memory", test_copies_of_plain_memory },
	{ "alloc-and-free", test_alloc_and_free },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return lab_main(tests, argc, argv);
}
