// SPDX-License-Identifier: MIT
/*
 * Compute queues of PM4 packets: streams in rings and indirect buffers, written by the test, and
 * their effects.
 */
#include "kfd_bench.h"
#include "pm4.h"

#include "base/clock.h"

#include <errno.h>
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
	struct pm4_stream s;
	uint64_t wptr;
	/* Words that packets write. */
	_Atomic uint32_t *word;
	uint64_t word_va;
};

#define RING_BYTES 1024u
#define RING_DWORDS (RING_BYTES / 4)
#define WORDS 4096

/* A debugger is attached, but not notified: exceptions are recorded. */
static void set_debugged(struct setup *s, bool debugged)
{
	pthread_mutex_lock(&s->p.p->debug.lock);
	s->p.p->debug.enabled = debugged;
	pthread_mutex_unlock(&s->p.p->debug.lock);
}

static struct setup *start(uint32_t type)
{
	struct setup *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->b.config.cwsr = true;
	s->b.config.kernel = EMU_KERNEL_6_1;
	bench_start(&s->b, target, path);
	bench_process_start(&s->b, &s->p, getpid());
	set_debugged(s, true);
	assert_int_equal(bench_queue(&s->p, &s->q, type, RING_BYTES / AQL_PACKET_BYTES), 0);
	s->word_va = bench_alloc(&s->p, 4 * WORDS, &s->word);
	return s;
}

static void end(struct setup *s)
{
	set_debugged(s, false);
	bench_process_end(&s->p);
	bench_end(&s->b);
	free(s);
}

static uint64_t va(const struct setup *s, uint32_t word)
{
	return s->word_va + 4 * word;
}

static bool wait_for(struct setup *s, uint32_t word, uint32_t expected)
{
	uint64_t deadline = gp__clock_ns() + BENCH_TIMEOUT;

	while (atomic_load(&s->word[word]) != expected && gp__clock_ns() < deadline)
		usleep(100);
	return atomic_load(&s->word[word]) == expected;
}

static bool stays(struct setup *s, uint32_t word, uint32_t expected)
{
	for (int i = 0; i < 20; i++) {
		if (atomic_load(&s->word[word]) != expected)
			return false;
		usleep(1000);
	}
	return true;
}

/* The read pointer is 32 bits wide: the bytes behind it stay. */
static uint32_t read_pointer(struct setup *s)
{
	return atomic_load((_Atomic uint32_t *)s->q.read_index);
}

static bool is_consumed(struct setup *s)
{
	uint64_t deadline = gp__clock_ns() + BENCH_TIMEOUT;

	while (read_pointer(s) != s->wptr % RING_DWORDS && gp__clock_ns() < deadline)
		usleep(50);
	return read_pointer(s) == s->wptr % RING_DWORDS;
}

/* Writes the stream into the ring, and rings the doorbell; the stream is empty again. */
static void submit(struct setup *s)
{
	uint32_t *ring = (uint32_t *)s->q.ring;

	for (uint32_t i = 0; i < s->s.n; i++)
		ring[s->wptr++ % RING_DWORDS] = s->s.dw[i];
	s->s.n = 0;
	atomic_store(s->q.write_index, s->wptr);
	bench_ring(&s->q, s->wptr);
}

/* Into an indirect buffer instead, and the jump to it into the ring. */
static void submit_ib(struct setup *s)
{
	uint32_t *ib, n = s->s.n;
	uint64_t ib_va = bench_alloc(&s->p, 4 * n, &ib);

	memcpy(ib, s->s.dw, 4 * n);
	s->s.n = 0;
	pm4_jump(&s->s, ib_va, n);
	submit(s);
}

static void put_dispatch(struct setup *s, const union aql_packet *packet)
{
	const struct aql_dispatch *d = &packet->dispatch;
	void *copy;
	const struct pm4_kernel k = {
		.kd = machine_at(s->p.memory, d->kernel_object),
		.kd_va = d->kernel_object,
		.kernarg = d->kernarg,
		.packet = bench_alloc(&s->p, sizeof(*packet), &copy),
		.groups = d->grid[0] / d->group[0],
		.size = d->group[0],
	};

	memcpy(copy, packet, sizeof(*packet));
	pm4_dispatch(&s->s, &k);
}

/*
 * Memory
 */

static void packets_write_and_copy(void **unused)
{
	struct setup *s = start(GP_KFD_QUEUE_COMPUTE);
	uint64_t before = emu_node_ticks(s->b.node), *clock = (uint64_t *)&s->word[20];

	PM4_PUT(&s->s, PM4_WRITE_DATA, PM4_MEMORY << 8, PM4_ADDRESS(va(s, 0)), 1, 2, 3, 4, 5);
	PM4_PUT(&s->s, PM4_WRITE_DATA, PM4_L2 << 8 | PM4_ONE_ADDRESS, PM4_ADDRESS(va(s, 8)), 6, 7);
	PM4_PUT(&s->s, PM4_COPY_DATA, PM4_MEMORY << 8 | PM4_FROM_MEMORY, PM4_ADDRESS(va(s, 4)),
		PM4_ADDRESS(va(s, 10)));
	PM4_PUT(&s->s, PM4_COPY_DATA, PM4_L2 << 8 | PM4_IMMEDIATE | PM4_COPY_64, 11, 12,
		PM4_ADDRESS(va(s, 12)));
	PM4_PUT(&s->s, PM4_COPY_DATA, PM4_MEMORY << 8 | PM4_CLOCK | PM4_COPY_64, 0, 0,
		PM4_ADDRESS(va(s, 20)));
	s->s.dw[s->s.n++] = 2u << 30;
	s->s.dw[s->s.n++] = 3u << 30 | PM4_NOP_ONE_DWORD << 16 | PM4_NOP << 8;
	PM4_PUT(&s->s, PM4_NOP, 0xdead, 0xbeef);
	pm4_write(&s->s, va(s, 30), 99);
	submit(s);
	assert_true(wait_for(s, 30, 99));
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(s->word[i], i + 1);
	assert_int_equal(s->word[8], 7);
	assert_int_equal(s->word[9], 0);
	assert_int_equal(s->word[10], 5);
	assert_int_equal(s->word[11], 0);
	assert_int_equal(s->word[12], 11);
	assert_int_equal(s->word[13], 12);
	assert_in_range(*clock, before, emu_node_ticks(s->b.node));
	assert_true(is_consumed(s));
	end(s);
	(void)unused;
}

/* Packets of all lengths, across the end of the ring many times. */
static void the_ring_begins_again(void **unused)
{
	struct setup *s = start(GP_KFD_QUEUE_COMPUTE);

	srand(7);
	for (uint32_t round = 1; round <= 500; round++) {
		uint32_t body[64] = { PM4_MEMORY << 8, PM4_ADDRESS(va(s, 0)) };
		uint32_t n = 1 + (uint32_t)rand() % 50;

		for (uint32_t i = 0; i < n; i++)
			body[3 + i] = round * 100 + i;
		pm4_put(&s->s, PM4_WRITE_DATA, body, 3 + n);
		submit(s);
		assert_true(wait_for(s, n - 1, round * 100 + n - 1));
		assert_int_equal(s->word[0], round * 100);
		assert_true(is_consumed(s));
	}
	assert_true(s->wptr > 20 * RING_DWORDS);
	end(s);
	(void)unused;
}

static void a_packet_waits_for_memory_and_for_its_end(void **unused)
{
	struct setup *s = start(GP_KFD_QUEUE_COMPUTE);
	uint32_t last;

	/* Accesses that are not to memory complete at once. */
	PM4_PUT(&s->s, PM4_WAIT_REG_MEM, 3, 0x3d, 0x3e, 1, 1, 4);
	pm4_wait_equal(&s->s, va(s, 0), 5);
	pm4_write(&s->s, va(s, 1), 6);
	submit(s);
	assert_true(stays(s, 1, 0));
	atomic_store(&s->word[0], 5);
	assert_true(wait_for(s, 1, 6));
	assert_true(is_consumed(s));
	pm4_write(&s->s, va(s, 2), 7);
	last = s->s.dw[--s->s.n];
	submit(s);
	assert_true(stays(s, 2, 0));
	s->s.dw[s->s.n++] = last;
	submit(s);
	assert_true(wait_for(s, 2, 7));
	end(s);
	(void)unused;
}

/*
 * Dispatches
 */

static void a_dispatch_by_registers_runs(void **unused)
{
	struct setup *s = start(GP_KFD_QUEUE_COMPUTE);
	uint64_t *state;
	union aql_packet work = bench_work(&s->p, 50, &state, 0);

	put_dispatch(s, &work);
	pm4_release_to(&s->s, va(s, 0), 1, PM4_DATA_32, PM4_WRITE_CONFIRMED, 0);
	submit_ib(s);
	assert_true(wait_for(s, 0, 1));
	bench_check_work(state, 50);
	assert_true(is_consumed(s));
	end(s);
	(void)unused;
}

struct gate {
	uint64_t arrived, open, left, turn;
};

/* A kernel of one workgroup that waits at a gate, which is word 101. */
static union aql_packet prepare_gate(struct setup *s)
{
	struct gate args = { va(s, 100), va(s, 101), va(s, 102), va(s, 103) };

	return bench_dispatch(&s->p, "gate", 1, 64, &args, sizeof(args), 0);
}

/* The packet that opens the gate is behind the one that waits for the kernel. */
static void releases_wait_but_do_not_block(void **unused)
{
	struct setup *s = start(GP_KFD_QUEUE_COMPUTE);
	union aql_packet gate = prepare_gate(s);

	put_dispatch(s, &gate);
	pm4_release_to(&s->s, va(s, 2), (uint64_t)9 << 32 | 8, PM4_DATA_64, PM4_INT_AFTER_WRITE, 1);
	pm4_release_to(&s->s, va(s, 6), 0, PM4_DATA_CLOCK, PM4_INT_NONE, 0);
	pm4_write(&s->s, va(s, 0), 1);
	pm4_wait_equal(&s->s, va(s, 1), 1);
	pm4_write(&s->s, va(s, 101), 1);
	submit_ib(s);
	assert_true(wait_for(s, 0, 1));
	assert_true(wait_for(s, 100, 1));
	assert_true(stays(s, 2, 0));
	atomic_store(&s->word[1], 1);
	assert_true(wait_for(s, 2, 8));
	assert_int_equal(s->word[3], 9);
	assert_int_equal(s->word[102], 1);
	/* They come in order. */
	pm4_release_to(&s->s, va(s, 8), 1, PM4_DATA_32, PM4_INT_NONE, 0);
	submit(s);
	assert_true(wait_for(s, 8, 1));
	assert_in_range(*(uint64_t *)&s->word[6], 1, emu_node_ticks(s->b.node));
	end(s);
	(void)unused;
}

static void a_partial_flush_holds_all_up(void **unused)
{
	struct setup *s = start(GP_KFD_QUEUE_COMPUTE);
	union aql_packet gate = prepare_gate(s);

	put_dispatch(s, &gate);
	pm4_flush(&s->s);
	pm4_write(&s->s, va(s, 0), 1);
	submit(s);
	assert_true(wait_for(s, 100, 1));
	assert_true(stays(s, 0, 0));
	atomic_store(&s->word[101], 1);
	assert_true(wait_for(s, 0, 1));
	end(s);
	(void)unused;
}

/* More than the processor keeps. */
static void many_releases_wait_for_one_dispatch(void **unused)
{
	struct setup *s = start(GP_KFD_QUEUE_COMPUTE);
	union aql_packet gate = prepare_gate(s);
	enum { RELEASES = 3 * PM4_RELEASES_MAX };

	put_dispatch(s, &gate);
	for (uint32_t i = 0; i < RELEASES; i++)
		pm4_release_to(&s->s, va(s, 200 + i), i + 1, PM4_DATA_32, PM4_INT_NONE, 0);
	submit_ib(s);
	assert_true(wait_for(s, 100, 1));
	assert_true(stays(s, 200, 0));
	atomic_store(&s->word[101], 1);
	for (uint32_t i = 0; i < RELEASES; i++)
		assert_true(wait_for(s, 200 + i, i + 1));
	assert_true(is_consumed(s));
	end(s);
	(void)unused;
}

/* Grids in workgroups, with a smaller last one, and in work-items. */
static void grids_are_counted_as_the_dispatch_says(void **unused)
{
	static const struct {
		uint32_t threads, dim, initiator, items;
	} grid[] = {
		{ 64, 3, PM4_SHADER_EN, 192 },
		{ 64 | 10u << 16, 3, PM4_SHADER_EN | PM4_PARTIAL_TG_EN, 138 },
		{ 64, 130, PM4_SHADER_EN | PM4_USE_THREAD_DIMENSIONS | PM4_PARTIAL_TG_EN, 130 },
		{ 64, 130, PM4_SHADER_EN | PM4_USE_THREAD_DIMENSIONS, 192 },
		{ 64, 3, PM4_SHADER_EN | PM4_FORCE_START_AT_000, 192 },
		{ 64, 3, 0, 0 },
		{ 64, 0, PM4_SHADER_EN, 0 },
	};
	struct setup *s = start(GP_KFD_QUEUE_COMPUTE);

	for (uint32_t i = 0; i < sizeof(grid) / sizeof(grid[0]); i++) {
		struct {
			uint64_t a, b, c;
			uint32_t n;
		} args = { .n = 1000 };
		uint32_t *a, *b, *c, n = 0;
		union aql_packet add;

		args.a = bench_alloc(&s->p, 4000, &a);
		args.b = bench_alloc(&s->p, 4000, &b);
		args.c = bench_alloc(&s->p, 4000, &c);
		memset(a, 1, 4000);
		add = bench_dispatch(&s->p, "vector_add", 1, 64, &args, sizeof(args), 0);
		put_dispatch(s, &add);
		s->s.n -= 5;
		PM4_SET(&s->s, PM4_SH_START_X, grid[i].initiator & PM4_FORCE_START_AT_000, 0, 0,
			grid[i].threads);
		PM4_PUT(&s->s, PM4_DISPATCH_DIRECT, grid[i].dim, 1, 1, grid[i].initiator);
		pm4_release_to(&s->s, va(s, 0), i + 1, PM4_DATA_32, PM4_INT_NONE, 0);
		submit_ib(s);
		assert_true(wait_for(s, 0, i + 1));
		while (n < 1000 && c[n] == 0x01010101)
			n++;
		assert_int_equal(n, grid[i].items);
	}
	end(s);
	(void)unused;
}

/*
 * Stops
 */

static int set_percentage(struct setup *s, uint32_t percentage)
{
	struct gp_kfd_update_queue args = { .ring_base_address = s->q.ring_va,
					    .queue_id = s->q.id,
					    .ring_size = RING_BYTES,
					    .queue_percentage = percentage,
					    .queue_priority = 7 };

	return emu_update_queue(&s->p.call, &args);
}

static uint32_t stop_until_done(void)
{
	struct setup *s = start(GP_KFD_QUEUE_COMPUTE);
	uint64_t *state;
	enum { ROUNDS = 60000 };
	union aql_packet work = bench_work(&s->p, ROUNDS, &state, 0);
	uint32_t stops = 0;

	put_dispatch(s, &work);
	pm4_release_to(&s->s, va(s, 0), 1, PM4_DATA_32, PM4_INT_NONE, 0);
	submit_ib(s);
	while (!atomic_load(&s->word[0])) {
		assert_int_equal(set_percentage(s, 0), 0);
		assert_int_equal(bench_resident(&s->q), 0);
		assert_int_equal(set_percentage(s, 100), 0);
		usleep(2000);
		stops++;
	}
	bench_check_work(state, ROUNDS);
	end(s);
	return stops;
}

/* On a busy host the work may end before the second stop. */
static void stopped_waves_go_on_where_they_were(void **unused)
{
	uint32_t stops = 0;

	for (int i = 0; i < 20 && stops < 2; i++)
		stops = stop_until_done();
	assert_true(stops > 1);
	(void)unused;
}

/* In the middle of a buffer, and rung while it was unmapped. */
static void a_stopped_queue_goes_on_in_its_buffer(void **unused)
{
	struct setup *s = start(GP_KFD_QUEUE_COMPUTE);

	pm4_write(&s->s, va(s, 0), 1);
	pm4_wait_equal(&s->s, va(s, 1), 1);
	pm4_write(&s->s, va(s, 2), 1);
	submit_ib(s);
	assert_true(wait_for(s, 0, 1));
	assert_int_equal(set_percentage(s, 0), 0);
	atomic_store(&s->word[1], 1);
	pm4_write(&s->s, va(s, 3), 1);
	submit(s);
	assert_true(stays(s, 2, 0));
	assert_int_equal(s->word[3], 0);
	assert_int_equal(set_percentage(s, 100), 0);
	assert_true(wait_for(s, 3, 1));
	assert_int_equal(s->word[2], 1);
	assert_true(is_consumed(s));
	end(s);
	(void)unused;
}

static void dropped_dispatches_release_nothing(void **unused)
{
	struct setup *s = start(GP_KFD_QUEUE_COMPUTE);
	union aql_packet gate = prepare_gate(s);

	put_dispatch(s, &gate);
	pm4_release_to(&s->s, va(s, 0), 1, PM4_DATA_32, PM4_INT_NONE, 0);
	submit(s);
	assert_true(wait_for(s, 100, 1));
	bench_destroy(&s->q);
	assert_int_equal(s->word[0], 0);
	end(s);
	(void)unused;
}

/*
 * Errors
 */

static bool raised(struct setup *s, uint32_t code)
{
	uint64_t deadline = gp__clock_ns() + BENCH_TIMEOUT, seen = 0;

	while (!(seen & GP_KFD_EC_MASK(code)) && gp__clock_ns() < deadline) {
		pthread_mutex_lock(&s->p.p->debug.lock);
		seen = s->q.q->exceptions;
		pthread_mutex_unlock(&s->p.p->debug.lock);
		usleep(100);
	}
	return seen & GP_KFD_EC_MASK(code);
}

static void put_unknown(struct pm4_stream *s)
{
	PM4_PUT(s, 0x99, 0, 0);
}

static void put_type_0(struct pm4_stream *s)
{
	s->dw[s->n++] = 0x1234;
}

static void put_short(struct pm4_stream *s)
{
	PM4_PUT(s, PM4_RELEASE_MEM, 0, 0);
}

static void put_register_write(struct pm4_stream *s)
{
	PM4_PUT(s, PM4_WRITE_DATA, 0, 0x1234, 0, 1);
}

static void put_register_copy(struct pm4_stream *s)
{
	PM4_PUT(s, PM4_COPY_DATA, PM4_MEMORY << 8, 0x1234, 0, 0x1000, 0);
}

static void put_graphics_register(struct pm4_stream *s)
{
	PM4_SET(s, 0x10, 0);
}

static void put_registers_beyond(struct pm4_stream *s)
{
	PM4_SET(s, PM4_SH_FIRST + PM4_SH_REGISTERS - 1, 0, 0);
}

static void put_bad_function(struct pm4_stream *s)
{
	PM4_PUT(s, PM4_WAIT_REG_MEM, 1u << 4 | 7, 0x1000, 0, 0, 0, 0);
}

static void put_bad_release(struct pm4_stream *s)
{
	pm4_release_to(s, 0x1000, 0, 7, 0, 0);
}

static void put_empty_group(struct pm4_stream *s)
{
	PM4_PUT(s, PM4_DISPATCH_DIRECT, 1, 1, 1, PM4_SHADER_EN);
}

static void put_grid_from_elsewhere(struct pm4_stream *s)
{
	PM4_SET(s, PM4_SH_START_X, 1, 0, 0, 64, 1, 1);
	PM4_PUT(s, PM4_DISPATCH_DIRECT, 2, 1, 1, PM4_SHADER_EN);
}

static void put_endless_grid(struct pm4_stream *s)
{
	PM4_SET(s, PM4_SH_NUM_THREAD_X, 1, 1, 1);
	PM4_PUT(s, PM4_DISPATCH_DIRECT, UINT32_MAX, UINT32_MAX, UINT32_MAX, PM4_SHADER_EN);
}

static const struct mistake {
	void (*put)(struct pm4_stream *s);
	uint32_t code;
} mistakes[] = {
	{ put_unknown, GP_KFD_EC_QUEUE_PACKET_UNSUPPORTED },
	{ put_type_0, GP_KFD_EC_QUEUE_PACKET_UNSUPPORTED },
	{ put_short, GP_KFD_EC_QUEUE_PACKET_UNSUPPORTED },
	{ put_register_write, GP_KFD_EC_QUEUE_PACKET_UNSUPPORTED },
	{ put_register_copy, GP_KFD_EC_QUEUE_PACKET_UNSUPPORTED },
	{ put_graphics_register, GP_KFD_EC_QUEUE_PACKET_UNSUPPORTED },
	{ put_registers_beyond, GP_KFD_EC_QUEUE_PACKET_UNSUPPORTED },
	{ put_bad_function, GP_KFD_EC_QUEUE_PACKET_UNSUPPORTED },
	{ put_bad_release, GP_KFD_EC_QUEUE_PACKET_UNSUPPORTED },
	{ put_empty_group, GP_KFD_EC_QUEUE_PACKET_DISPATCH_WORK_GROUP_SIZE_INVALID },
	{ put_grid_from_elsewhere, GP_KFD_EC_QUEUE_PACKET_DISPATCH_DIM_INVALID },
	{ put_endless_grid, GP_KFD_EC_QUEUE_PACKET_DISPATCH_DIM_INVALID },
};

static void mistakes_stop_their_queue_alone(void **unused)
{
	struct setup *s = start(GP_KFD_QUEUE_COMPUTE);

	for (uint32_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		mistakes[i].put(&s->s);
		pm4_write(&s->s, va(s, 0), 1);
		submit(s);
		assert_true(raised(s, mistakes[i].code));
		assert_int_equal(s->word[0], 0);
		bench_destroy(&s->q);
		/* The next queue of the same process works, until its own error. */
		assert_int_equal(bench_queue(&s->p, &s->q, GP_KFD_QUEUE_COMPUTE,
					     RING_BYTES / AQL_PACKET_BYTES),
				 0);
		s->wptr = 0;
		pm4_write(&s->s, va(s, 1), i + 1);
		submit(s);
		assert_true(wait_for(s, 1, i + 1));
	}
	end(s);
	(void)unused;
}

static void a_write_pointer_from_nowhere_stops_the_queue(void **unused)
{
	struct setup *s = start(GP_KFD_QUEUE_COMPUTE);

	bench_ring(&s->q, 3 * RING_DWORDS);
	assert_true(raised(s, GP_KFD_EC_QUEUE_PACKET_UNSUPPORTED));
	end(s);
	(void)unused;
}

static bool is_evicted(struct setup *s)
{
	uint64_t deadline = gp__clock_ns() + BENCH_TIMEOUT;
	bool evicted = false;

	while (!evicted && gp__clock_ns() < deadline) {
		pthread_mutex_lock(&s->b.node->lock);
		evicted = s->q.q->held & EMU_HELD_EVICTED;
		pthread_mutex_unlock(&s->b.node->lock);
		usleep(100);
	}
	return evicted;
}

static void bad_addresses_are_faults(void **unused)
{
	for (int i = 0; i < 5; i++) {
		struct setup *s = start(GP_KFD_QUEUE_COMPUTE);

		if (i == 0)
			pm4_write(&s->s, 0x1000, 1);
		else if (i == 1)
			pm4_wait_equal(&s->s, 0x1000, 1);
		else if (i == 2)
			pm4_jump(&s->s, 0x1000, 8);
		else if (i == 3)
			pm4_release_to(&s->s, va(s, 1), 0, PM4_DATA_64, 0, 0); /* not aligned */
		else
			PM4_PUT(&s->s, PM4_COPY_DATA, PM4_MEMORY << 8 | PM4_FROM_MEMORY,
				PM4_ADDRESS(0x1000), PM4_ADDRESS(va(s, 0)));
		submit(s);
		assert_true(is_evicted(s));
		end(s);
	}
	(void)unused;
}

static void a_buffer_leads_on_to_another_but_not_back(void **unused)
{
	struct setup *s = start(GP_KFD_QUEUE_COMPUTE);
	uint32_t *second;
	uint64_t second_va = bench_alloc(&s->p, 4096, &second);

	pm4_write(&s->s, va(s, 1), 2);
	memcpy(second, s->s.dw, 4 * s->s.n);
	PM4_PUT(&s->s, PM4_INDIRECT_BUFFER, PM4_ADDRESS(second_va), s->s.n | PM4_IB_CHAIN);
	pm4_write(&s->s, va(s, 0), 2); /* not reached */
	submit_ib(s);
	assert_true(wait_for(s, 1, 2));
	assert_true(is_consumed(s));
	assert_int_equal(s->word[0], 0);
	/* An empty buffer ends at once; nested calls are not possible. */
	pm4_jump(&s->s, second_va, 0);
	submit(s);
	assert_true(is_consumed(s));
	pm4_jump(&s->s, second_va, 5);
	submit_ib(s);
	assert_true(raised(s, GP_KFD_EC_QUEUE_PACKET_UNSUPPORTED));
	end(s);
	(void)unused;
}

/*
 * In AQL queues
 */

static union aql_packet vendor_ib(struct setup *s, uint64_t signal)
{
	union aql_packet packet = { .pm4_ib = { .header = AQL_VENDOR,
						.format = AQL_VENDOR_PM4_IB } };
	uint32_t *ib;
	uint64_t ib_va = bench_alloc(&s->p, 4 * s->s.n, &ib);

	memcpy(ib, s->s.dw, 4 * s->s.n);
	packet.pm4_ib.jump[0] = PM4_HEADER(PM4_INDIRECT_BUFFER, 4);
	packet.pm4_ib.jump[1] = (uint32_t)ib_va;
	packet.pm4_ib.jump[2] = (uint32_t)(ib_va >> 32);
	packet.pm4_ib.jump[3] = s->s.n | 1u << 23;
	packet.pm4_ib.rest = 10;
	packet.pm4_ib.signal = signal;
	s->s.n = 0;
	return packet;
}

static void vendor_packets_run_a_buffer(void **unused)
{
	struct setup *s = start(GP_KFD_QUEUE_COMPUTE_AQL);
	struct bench_signal *sig;
	uint64_t signal = bench_signal(&s->p, 1, &sig);
	union aql_packet packet, gate = prepare_gate(s);

	bench_push(&s->q, &gate);
	pm4_release_to(&s->s, va(s, 3), 5, PM4_DATA_32, PM4_INT_NONE, 0);
	pm4_write(&s->s, va(s, 0), 1);
	pm4_wait_equal(&s->s, va(s, 1), 1);
	pm4_write(&s->s, va(s, 2), 1);
	packet = vendor_ib(s, signal);
	bench_push(&s->q, &packet);
	assert_true(wait_for(s, 0, 1));
	assert_true(bench_stays(&sig->value, 1));
	assert_int_equal(atomic_load(s->q.read_index), 1);
	assert_int_equal(s->word[2], 0);
	atomic_store(&s->word[1], 1);
	assert_true(bench_wait(&sig->value, 0));
	assert_int_equal(s->word[2], 1);
	assert_int_equal(s->word[3], 0);
	atomic_store(&s->word[101], 1);
	assert_true(wait_for(s, 3, 5));
	end(s);
	(void)unused;
}

static void vendor_packets_with_mistakes_are_refused(void **unused)
{
	struct setup *s = start(GP_KFD_QUEUE_COMPUTE_AQL);
	union aql_packet packet;

	put_unknown(&s->s);
	packet = vendor_ib(s, 0);
	bench_push(&s->q, &packet);
	assert_true(raised(s, GP_KFD_EC_QUEUE_PACKET_VENDOR_UNSUPPORTED));
	end(s);
	(void)unused;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_write_and_copy),
		cmocka_unit_test(the_ring_begins_again),
		cmocka_unit_test(a_packet_waits_for_memory_and_for_its_end),
		cmocka_unit_test(a_dispatch_by_registers_runs),
		cmocka_unit_test(releases_wait_but_do_not_block),
		cmocka_unit_test(a_partial_flush_holds_all_up),
		cmocka_unit_test(many_releases_wait_for_one_dispatch),
		cmocka_unit_test(grids_are_counted_as_the_dispatch_says),
		cmocka_unit_test(stopped_waves_go_on_where_they_were),
		cmocka_unit_test(a_stopped_queue_goes_on_in_its_buffer),
		cmocka_unit_test(dropped_dispatches_release_nothing),
		cmocka_unit_test(mistakes_stop_their_queue_alone),
		cmocka_unit_test(a_write_pointer_from_nowhere_stops_the_queue),
		cmocka_unit_test(bad_addresses_are_faults),
		cmocka_unit_test(a_buffer_leads_on_to_another_but_not_back),
		cmocka_unit_test(vendor_packets_run_a_buffer),
		cmocka_unit_test(vendor_packets_with_mistakes_are_refused),
	};

	if (argc != 2)
		return 77;
	path = argv[1];
	target = machine_target(path);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
