// SPDX-License-Identifier: MIT
/*
 * The DMA engines: packets in rings, written by the test, and their effects on memory.
 */
#include "kfd_bench.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const char *path;
static enum gfx9_target target;

struct setup {
	struct bench b;
	struct bench_process p;
	struct bench_queue q;
	uint64_t wptr;
	uint32_t ring_bytes;
};

static struct setup *start(void)
{
	struct setup *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->b.config.kernel = EMU_KERNEL_6_1;
	bench_start(&s->b, target, path);
	bench_process_start(&s->b, &s->p, getpid());
	assert_int_equal(bench_queue(&s->p, &s->q, GP_KFD_QUEUE_SDMA, 0), 0);
	s->ring_bytes = s->q.q->ring_size;
	return s;
}

static void end(struct setup *s)
{
	bench_process_end(&s->p);
	bench_end(&s->b);
	free(s);
}

/* Writes into the ring, wrapping if necessary, without ringing the doorbell. */
static void put(struct setup *s, const uint32_t *dw, uint32_t n)
{
	uint64_t deadline = gp__clock_ns() + BENCH_TIMEOUT;

	while (s->wptr + 4 * n - atomic_load(s->q.read_index) > s->ring_bytes) {
		assert_true(gp__clock_ns() < deadline);
		usleep(50);
	}
	for (uint32_t i = 0; i < n; i++, s->wptr += 4)
		memcpy(s->q.ring + s->wptr % s->ring_bytes, &dw[i], 4);
}

#define PUT(s, ...)                               \
	put(s, (const uint32_t[]){ __VA_ARGS__ }, \
	    sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))
#define LO(va) (uint32_t)(va)
#define HI(va) (uint32_t)((va) >> 32)

static void ring(struct setup *s)
{
	atomic_store(s->q.write_index, s->wptr);
	bench_ring(&s->q, s->wptr);
}

static bool wait_idle(struct setup *s)
{
	return bench_wait_index(&s->q, s->wptr);
}

static void copies(void **unused)
{
	struct setup *s = start();
	uint8_t *from, *to, *second;
	uint64_t src, dst, dst2;
	const uint32_t n = 3000001;

	src = bench_alloc(&s->p, n, &from);
	dst = bench_alloc(&s->p, n + 1, &to);
	dst2 = bench_alloc(&s->p, n + 1, &second);
	for (uint32_t i = 0; i < n; i++)
		from[i] = (uint8_t)(i * 7 + i / 255);
	PUT(s, 1, n - 1, 0, LO(src), HI(src), LO(dst), HI(dst));
	ring(s);
	assert_true(wait_idle(s));
	assert_memory_equal(from, to, n);
	assert_int_equal(to[n], 0);
	memset(to, 0, n);
	PUT(s, 1 | 1u << 27, n - 1, 0, LO(src), HI(src), LO(dst), HI(dst), LO(dst2), HI(dst2));
	ring(s);
	assert_true(wait_idle(s));
	assert_memory_equal(from, to, n);
	assert_memory_equal(from, second, n);
	end(s);
	(void)unused;
}

/* Writes to memory that is being copied give a mixture, and nothing else is wrong. */
static void memory_may_change_while_it_is_copied(void **unused)
{
	struct setup *s = start();
	const uint32_t n = 3000000;
	uint64_t deadline = gp__clock_ns() + BENCH_TIMEOUT;
	uint8_t *from, *to, old = 0;
	uint64_t src = bench_alloc(&s->p, n, &from), dst = bench_alloc(&s->p, n, &to);

	PUT(s, 1, n - 1, 0, LO(src), HI(src), LO(dst), HI(dst));
	ring(s);
	while (atomic_load(s->q.read_index) != s->wptr && gp__clock_ns() < deadline) {
		for (uint32_t i = 0; i < n; i += 1009)
			from[i] = 1;
	}
	assert_true(wait_idle(s));
	for (uint32_t i = 0; i < n; i++)
		old |= i % 1009 ? to[i] : to[i] & 0xfe;
	assert_int_equal(old, 0);
	end(s);
	(void)unused;
}

/* A box of 5 x 3 x 2 elements of 4 bytes, out of one volume into another of other pitches. */
static void copies_of_boxes(void **unused)
{
	struct setup *s = start();
	uint32_t *from, *to;
	uint64_t src = bench_alloc(&s->p, 4 * 10 * 8 * 4, &from);
	uint64_t dst = bench_alloc(&s->p, 4 * 7 * 5 * 3, &to);

	for (uint32_t i = 0; i < 10 * 8 * 4; i++)
		from[i] = i + 1;
	PUT(s, 1 | 4 << 8 | 2u << 29, LO(src), HI(src), 2 | 1 << 16, 1 | 9 << 13, 79, LO(dst),
	    HI(dst), 1 | 2 << 16, 0 | 6 << 13, 34, 4 | 2 << 16, 1);
	ring(s);
	assert_true(wait_idle(s));
	for (uint32_t z = 0; z < 3; z++) {
		for (uint32_t y = 0; y < 5; y++) {
			for (uint32_t x = 0; x < 7; x++) {
				bool in = x >= 1 && x < 6 && y >= 2 && z < 2;
				uint32_t at = (z + 1) * 80 + (y - 2 + 1) * 10 + x - 1 + 2;

				assert_int_equal(to[z * 35 + y * 7 + x], in ? from[at] : 0);
			}
		}
	}
	end(s);
	(void)unused;
}

static void fills_writes_fences_and_timestamps(void **unused)
{
	struct setup *s = start();
	uint32_t *memory;
	uint64_t va = bench_alloc(&s->p, 1 << 20, &memory), before, stamp;

	before = emu_node_ticks(s->b.node);
	PUT(s, 11 | 2u << 30, LO(va), HI(va), 0x11223344, (200000 - 1) << 2);
	PUT(s, 2, LO(va + 900000), HI(va), 2, 7, 8, 9);
	PUT(s, 5, LO(va + 900012), HI(va), 0xabcdef);
	PUT(s, 13 | 2 << 8, LO(va + 900016), HI(va));
	PUT(s, 0 | 3 << 16, 1, 2, 3);
	PUT(s, 8 | 1 << 26, 0, 0, 0, 0, 0); /* flushes the host's writes: address 0 is none */
	ring(s);
	assert_true(wait_idle(s));
	for (uint32_t i = 0; i < 200000; i++)
		assert_int_equal(memory[i], 0x11223344);
	assert_int_equal(memory[200000], 0);
	assert_int_equal(memory[225000], 7);
	assert_int_equal(memory[225002], 9);
	assert_int_equal(memory[225003], 0xabcdef);
	memcpy(&stamp, &memory[225004], sizeof(stamp));
	assert_in_range(stamp, before, emu_node_ticks(s->b.node));
	end(s);
	(void)unused;
}

static void polls_wait_for_memory(void **unused)
{
	static const struct {
		uint32_t function, reference, before, after;
	} rows[] = {
		{ 1, 5, 9, 4 }, { 2, 5, 6, 5 }, { 3, 5, 4, 5 },
		{ 4, 5, 5, 4 }, { 5, 5, 4, 5 }, { 6, 5, 5, 6 },
	};
	struct setup *s = start();
	_Atomic uint32_t *memory;
	uint64_t va = bench_alloc(&s->p, 64, &memory);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		atomic_store(memory, rows[i].before | 0x100);
		PUT(s, 8 | rows[i].function << 28 | 1u << 31, LO(va), HI(va), rows[i].reference,
		    0xff, 0xfff << 16);
		ring(s);
		assert_true(bench_stays((_Atomic int64_t *)s->q.read_index, (int64_t)s->wptr - 24));
		atomic_store(memory, rows[i].after | 0x200);
		assert_true(wait_idle(s));
	}
	end(s);
	(void)unused;
}

static void atomics(void **unused)
{
	static const struct {
		uint32_t op;
		uint64_t before, x, y, after;
	} rows[] = {
		{ 47, 10, (uint64_t)-1, 0, 9 },
		{ 15, 0xffffffff, 2, 0, 1 },
		{ 40, 5, 9, 5, 9 },
		{ 40, 6, 9, 5, 6 },
		{ 39, 6, 9, 0, 9 },
		{ 17, 0xffffffff, 3, 0, 0xffffffff }, /* -1 is less than 3 */
		{ 18, 0xffffffff, 3, 0, 3 },
		{ 49, (uint64_t)-1, 3, 0, (uint64_t)-1 },
		{ 54, 5, 10, 0, 15 },
		{ 56, 7, 7, 0, 0 },
		{ 57, 0, 7, 0, 7 },
	};
	struct setup *s = start();
	_Atomic uint64_t *memory;
	uint64_t va = bench_alloc(&s->p, 64, &memory);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		atomic_store(memory, rows[i].before);
		PUT(s, 10 | rows[i].op << 25, LO(va), HI(va), LO(rows[i].x), HI(rows[i].x),
		    LO(rows[i].y), HI(rows[i].y), 0);
		ring(s);
		assert_true(wait_idle(s));
		assert_int_equal(atomic_load(memory), rows[i].after);
	}
	end(s);
	(void)unused;
}

/* Packets of all lengths, so that each comes to lie across the end of the ring. */
static void many_packets_go_around_the_ring(void **unused)
{
	struct setup *s = start();
	_Atomic uint64_t *count;
	uint32_t *data;
	uint64_t va = bench_alloc(&s->p, 64, &count), to = bench_alloc(&s->p, 4096, &data);

	for (uint32_t i = 0; i < 10000; i++) {
		PUT(s, 10 | 47u << 25, LO(va), HI(va), 1, 0, 0, 0, 0);
		PUT(s, 2, LO(to + i % 1000 * 4), HI(to), 0, i);
		if (i % 3 == 0)
			PUT(s, 0);
		ring(s);
	}
	assert_true(wait_idle(s));
	assert_int_equal(atomic_load(count), 10000);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(data[i], 9000 + i);
	end(s);
	(void)unused;
}

/* While stopped and started repeatedly, a long copy and later packets have the same results. */
static void holds_lose_nothing(void **unused)
{
	struct setup *s = start();
	uint8_t *from, *to;
	const uint32_t n = 32 << 20;
	uint64_t src = bench_alloc(&s->p, n, &from), dst = bench_alloc(&s->p, n, &to), va;
	_Atomic uint64_t *count;

	va = bench_alloc(&s->p, 64, &count);
	for (uint32_t i = 0; i < n; i++)
		from[i] = (uint8_t)(i ^ i >> 9);
	for (int i = 0; i < 4; i++) {
		PUT(s, 1, n - 1, 0, LO(src), HI(src), LO(dst), HI(dst));
		PUT(s, 10 | 47u << 25, LO(va), HI(va), 1, 0, 0, 0, 0);
	}
	ring(s);
	for (int i = 0; i < 50; i++) {
		uint64_t before;

		assert_int_equal(bench_hold(&s->q, EMU_HELD_PREEMPTED, EMU_STOP_SAVE), 0);
		before = atomic_load(s->q.read_index);
		usleep(200);
		assert_int_equal(atomic_load(s->q.read_index), before);
		assert_int_equal(bench_release(&s->q, EMU_HELD_PREEMPTED), 0);
		usleep(300);
	}
	assert_true(wait_idle(s));
	assert_int_equal(atomic_load(count), 4);
	assert_memory_equal(from, to, n);
	end(s);
	(void)unused;
}

static bool has_stopped(struct setup *s)
{
	uint64_t deadline = gp__clock_ns() + BENCH_TIMEOUT;
	bool stopped = false;

	while (!stopped && gp__clock_ns() < deadline) {
		emu_node_enter(s->b.node);
		stopped = s->q.q->stopped_by_error;
		emu_node_leave(s->b.node);
		usleep(100);
	}
	return stopped;
}

static void unknown_packets_stop_the_queue(void **unused)
{
	static const uint32_t first[] = { 3, 99, 1 | 9 << 8, 4, 11, 10 | 99u << 25, 13, 14 };

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		struct setup *s = start();
		uint32_t *memory;
		uint64_t va = bench_alloc(&s->p, 64, &memory);

		PUT(s, first[i], LO(va), HI(va), 0, 0, 0, 0, 0);
		ring(s);
		assert_true(has_stopped(s));
		assert_int_equal(atomic_load(s->q.read_index), 0);
		end(s);
	}
	(void)unused;
}

static void wild_pointers_are_faults(void **unused)
{
	struct setup *s = start();
	uint32_t *memory;
	uint64_t va = bench_alloc(&s->p, 64, &memory), deadline;
	bool evicted = false;

	PUT(s, 1, 63, 0, LO(va), HI(va), 0x1000, 0x70);
	ring(s);
	assert_true(has_stopped(s));
	deadline = gp__clock_ns() + BENCH_TIMEOUT;
	while (!evicted && gp__clock_ns() < deadline) {
		pthread_mutex_lock(&s->b.node->lock);
		evicted = s->p.p->node[0].evicted;
		pthread_mutex_unlock(&s->b.node->lock);
	}
	assert_true(evicted);
	end(s);
	(void)unused;
}

static void a_wild_write_pointer_stops_the_queue(void **unused)
{
	struct setup *s = start();

	bench_ring(&s->q, (uint64_t)1 << 40);
	assert_true(has_stopped(s));
	end(s);
	(void)unused;
}

/* As many as the engines have, and each has its own doorbell. */
static void queues_are_limited(void **unused)
{
	struct setup *s = start();
	struct bench_queue q[EMU_SDMA_ENGINES * EMU_SDMA_ENGINE_QUEUES];
	const int n = EMU_SDMA_ENGINES * EMU_SDMA_ENGINE_QUEUES;

	for (int i = 1; i < n; i++)
		assert_int_equal(bench_queue(&s->p, &q[i], GP_KFD_QUEUE_SDMA, 0), 0);
	assert_int_equal(bench_queue(&s->p, &q[0], GP_KFD_QUEUE_SDMA, 0), -ENOMEM);
	assert_int_equal(bench_queue(&s->p, &q[0], GP_KFD_QUEUE_SDMA_XGMI, 0), 0);
	for (int i = 0; i < n; i++) {
		assert_ptr_not_equal(q[i].doorbell, s->q.doorbell);
		for (int k = 0; k < i; k++)
			assert_ptr_not_equal(q[i].doorbell, q[k].doorbell);
	}
	bench_destroy(&q[5]);
	assert_int_equal(bench_queue(&s->p, &q[5], GP_KFD_QUEUE_SDMA, 0), 0);
	end(s);
	(void)unused;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies),
		cmocka_unit_test(memory_may_change_while_it_is_copied),
		cmocka_unit_test(copies_of_boxes),
		cmocka_unit_test(fills_writes_fences_and_timestamps),
		cmocka_unit_test(polls_wait_for_memory),
		cmocka_unit_test(atomics),
		cmocka_unit_test(many_packets_go_around_the_ring),
		cmocka_unit_test(holds_lose_nothing),
		cmocka_unit_test(unknown_packets_stop_the_queue),
		cmocka_unit_test(wild_pointers_are_faults),
		cmocka_unit_test(a_wild_write_pointer_stops_the_queue),
		cmocka_unit_test(queues_are_limited),
	};

	if (argc != 2)
		return 77;
	path = argv[1];
	target = machine_target(path);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
