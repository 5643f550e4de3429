// SPDX-License-Identifier: MIT
/*
 * The packet processor: packets in rings, written by the test, and their effects.
 */
#include "kfd_bench.h"

#include "base/clock.h"
#include "emu/kfd/doorbell.h"

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
	struct bench_queue q[3];
};

static struct setup *start(int nr_queues, uint32_t packets)
{
	struct setup *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->b.config.cwsr = true;
	s->b.config.kernel = EMU_KERNEL_6_1;
	bench_start(&s->b, target, path);
	bench_process_start(&s->b, &s->p, getpid());
	for (int i = 0; i < nr_queues; i++)
		assert_int_equal(bench_queue(&s->p, &s->q[i], GP_KFD_QUEUE_COMPUTE_AQL, packets),
				 0);
	return s;
}

static void end(struct setup *s)
{
	bench_process_end(&s->p);
	bench_end(&s->b);
	free(s);
}

/*
 * Dispatches
 */

struct add {
	uint64_t a, b, c;
	uint32_t n;
};

#define ITEMS 1000

static union aql_packet prepare_add(struct setup *s, uint32_t **out, uint64_t signal)
{
	struct add args = { .n = ITEMS };
	uint32_t *a, *b;

	args.a = bench_alloc(&s->p, 4 * ITEMS, &a);
	args.b = bench_alloc(&s->p, 4 * ITEMS, &b);
	args.c = bench_alloc(&s->p, 4 * ITEMS, out);
	for (uint32_t i = 0; i < ITEMS; i++) {
		a[i] = i;
		b[i] = 3 * i;
	}
	return bench_dispatch(&s->p, "vector_add", 4, 256, &args, sizeof(args), signal);
}

static void check_add(const uint32_t *out)
{
	for (uint32_t i = 0; i < ITEMS; i++)
		assert_int_equal(out[i], 4 * i);
}

static void a_dispatch_runs_and_signals(void **unused)
{
	struct setup *s = start(1, 64);
	struct bench_signal *sig;
	_Atomic int64_t *slot;
	uint64_t signal = bench_signal(&s->p, 1, &sig), before;
	union aql_packet packet;
	uint32_t *out;

	sig->mailbox = bench_alloc(&s->p, 8, &slot);
	sig->event = 17;
	packet = prepare_add(s, &out, signal);
	before = emu_node_ticks(s->b.node);
	bench_push(&s->q[0], &packet);
	assert_true(bench_wait(&sig->value, 0));
	check_add(out);
	assert_true(bench_wait(slot, 17));
	assert_true(before <= sig->start && sig->start <= sig->end);
	assert_true(sig->end <= emu_node_ticks(s->b.node));
	assert_int_equal(atomic_load(s->q[0].read_index), 1);
	assert_int_equal(s->q[0].ring[0], AQL_INVALID);
	end(s);
	(void)unused;
}

struct gate {
	uint64_t arrived, open, left, turn;
};

struct gate_host {
	_Atomic int64_t *words; /* arrived and open in one, as two dwords */
	_Atomic uint32_t *arrived, *open, *left;
};

static union aql_packet prepare_gate(struct setup *s, struct gate_host *g, uint32_t groups,
				     uint64_t signal)
{
	struct gate args;

	args.arrived = bench_alloc(&s->p, 64, &g->arrived);
	args.open = args.arrived + 4;
	args.left = args.arrived + 8;
	args.turn = bench_alloc(&s->p, 4 * groups, &g->words);
	g->open = g->arrived + 1;
	g->left = g->arrived + 2;
	return bench_dispatch(&s->p, "gate", groups, 64, &args, sizeof(args), signal);
}

static bool wait32(_Atomic uint32_t *value, uint32_t expected)
{
	uint64_t deadline = gp__clock_ns() + BENCH_TIMEOUT;

	while (atomic_load(value) != expected && gp__clock_ns() < deadline)
		usleep(100);
	return atomic_load(value) == expected;
}

/* The index advances while the waves still run. */
static void a_packet_is_consumed_before_it_ends(void **unused)
{
	struct setup *s = start(1, 64);
	struct bench_signal *sig;
	uint64_t signal = bench_signal(&s->p, 1, &sig);
	struct gate_host g;
	union aql_packet packet = prepare_gate(s, &g, 3, signal);

	bench_push(&s->q[0], &packet);
	assert_true(wait32(g.arrived, 3));
	assert_true(bench_wait_index(&s->q[0], 1));
	assert_true(bench_stays(&sig->value, 1));
	atomic_store(g.open, 1);
	assert_true(bench_wait(&sig->value, 0));
	end(s);
	(void)unused;
}

/* Without its barrier bit a dispatch overtakes; with it, it waits. */
static void the_barrier_bit_waits_for_all_before(void **unused)
{
	struct setup *s = start(1, 64);
	struct bench_signal *first, *second, *third;
	uint64_t signal = bench_signal(&s->p, 1, &first);
	struct gate_host g;
	union aql_packet gate = prepare_gate(s, &g, 1, signal), add;
	uint32_t *out;

	bench_push(&s->q[0], &gate);
	add = prepare_add(s, &out, bench_signal(&s->p, 1, &second));
	bench_push(&s->q[0], &add);
	assert_true(bench_wait(&second->value, 0));
	add = prepare_add(s, &out, bench_signal(&s->p, 1, &third));
	add.header |= AQL_BARRIER;
	bench_push(&s->q[0], &add);
	assert_true(bench_stays(&third->value, 1));
	assert_int_equal(atomic_load(s->q[0].read_index), 2);
	atomic_store(g.open, 1);
	assert_true(bench_wait(&third->value, 0));
	assert_int_equal(atomic_load(&first->value), 0);
	check_add(out);
	end(s);
	(void)unused;
}

/*
 * Barrier packets
 */

static union aql_packet prepare_barrier(uint16_t type, uint64_t a, uint64_t b, uint64_t signal)
{
	union aql_packet packet = { .barrier = { .header = type, .signal = signal } };

	packet.barrier.dependency[1] = a;
	packet.barrier.dependency[4] = b;
	return packet;
}

static void barriers_wait_for_all_or_any(void **unused)
{
	struct setup *s = start(2, 64);
	struct bench_signal *a, *b, *all, *any, *none;
	uint64_t va_a = bench_signal(&s->p, 1, &a), va_b = bench_signal(&s->p, 2, &b);
	union aql_packet packet;

	packet = prepare_barrier(AQL_BARRIER_AND, va_a, va_b, bench_signal(&s->p, 1, &all));
	bench_push(&s->q[0], &packet);
	packet = prepare_barrier(AQL_BARRIER_OR, va_a, va_b, bench_signal(&s->p, 1, &any));
	bench_push(&s->q[1], &packet);
	packet = prepare_barrier(AQL_BARRIER_OR, 0, 0, bench_signal(&s->p, 1, &none));
	bench_push(&s->q[1], &packet);
	assert_true(bench_stays(&any->value, 1));
	atomic_store(&b->value, 0);
	assert_true(bench_wait(&any->value, 0));
	assert_true(bench_wait(&none->value, 0));
	assert_true(bench_stays(&all->value, 1));
	/* A satisfied signal may be reused. */
	atomic_store(&b->value, 7);
	assert_true(bench_stays(&all->value, 1));
	atomic_store(&a->value, 0);
	assert_true(bench_wait(&all->value, 0));
	end(s);
	(void)unused;
}

static void value_barriers_compare(void **unused)
{
	static const struct {
		uint32_t condition;
		int64_t value, mask, before, after;
	} rows[] = {
		{ AQL_EQ, 5, 0xf, 0x14, 0x25 },
		{ AQL_NE, 5, 0xff, 5, 6 },
		{ AQL_LT, -1, -1, 3, -2 },
		{ AQL_GE, 10, -1, -10, 10 },
	};
	struct setup *s = start(1, 64);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bench_signal *dep, *done;
		union aql_packet packet = { 0 };

		packet.barrier_value = (struct aql_barrier_value){
			.format = AQL_VENDOR_BARRIER_VALUE,
			.condition = rows[i].condition,
			.value = rows[i].value,
			.mask = rows[i].mask,
			.dependency = bench_signal(&s->p, rows[i].before, &dep),
			.signal = bench_signal(&s->p, 1, &done),
		};
		bench_push(&s->q[0], &packet);
		assert_true(bench_stays(&done->value, 1));
		atomic_store(&dep->value, rows[i].after);
		assert_true(bench_wait(&done->value, 0));
	}
	end(s);
	(void)unused;
}

/* A chain over three queues, each waiting for the one before. */
static void dependencies_cross_queues(void **unused)
{
	struct setup *s = start(3, 64);
	struct bench_signal *sig[61];
	uint64_t va[61];

	for (int i = 0; i <= 60; i++)
		va[i] = bench_signal(&s->p, 1, &sig[i]);
	for (int i = 0; i < 60; i++) {
		union aql_packet packet = prepare_barrier(AQL_BARRIER_AND, va[i], 0, va[i + 1]);

		bench_push(&s->q[i % 3], &packet);
	}
	assert_true(bench_stays(&sig[1]->value, 1));
	atomic_store(&sig[0]->value, 0);
	assert_true(bench_wait(&sig[60]->value, 0));
	end(s);
	(void)unused;
}

/*
 * Rings
 */

#define MANY 10000

/* Two producers, a ring of 64: their doorbells go backwards, their packets are not published in
 * order. */
struct producer {
	struct bench_queue *q;
	uint64_t signal;
};

static void *produce(void *arg)
{
	const struct producer *p = arg;
	union aql_packet packet = prepare_barrier(AQL_BARRIER_AND, 0, 0, p->signal);

	for (int i = 0; i < MANY / 2; i++)
		bench_push(p->q, &packet);
	return NULL;
}

static void many_packets_go_around_the_ring(void **unused)
{
	struct setup *s = start(1, 64);
	struct producer p = { .q = &s->q[0] };
	struct bench_signal *done;
	pthread_t other;

	p.signal = bench_signal(&s->p, MANY, &done);
	assert_int_equal(pthread_create(&other, NULL, produce, &p), 0);
	produce(&p);
	pthread_join(other, NULL);
	assert_true(bench_wait(&done->value, 0));
	assert_int_equal(atomic_load(s->q[0].read_index), MANY);
	assert_true(bench_stays(&done->value, 0));
	end(s);
	(void)unused;
}

/* Each dispatch adds one; none is lost, none runs twice. */
static void many_dispatches_each_once(void **unused)
{
	struct setup *s = start(2, 64);
	struct bench_signal *done;
	_Atomic uint32_t *count;
	uint64_t va = bench_alloc(&s->p, 64, &count);
	union aql_packet packet = bench_dispatch(&s->p, "knock", 2, 64, &va, sizeof(va),
						 bench_signal(&s->p, 2000, &done));

	for (int i = 0; i < 2000; i++) {
		packet.header = AQL_KERNEL_DISPATCH | (i % 7 ? 0 : AQL_BARRIER);
		bench_push(&s->q[i % 2], &packet);
	}
	assert_true(bench_wait(&done->value, 0));
	assert_int_equal(atomic_load(count), 4000);
	end(s);
	(void)unused;
}

/* A packet that is reserved but not published blocks all packets behind it. */
static void an_invalid_header_is_not_there_yet(void **unused)
{
	struct setup *s = start(1, 64);
	struct bench_signal *first, *second;
	union aql_packet packet = prepare_barrier(AQL_BARRIER_AND, 0, 0, 0);

	atomic_fetch_add(s->q[0].write_index, 1);
	packet.barrier.signal = bench_signal(&s->p, 1, &second);
	bench_push(&s->q[0], &packet);
	assert_true(bench_stays(&second->value, 1));
	packet.barrier.signal = bench_signal(&s->p, 1, &first);
	memcpy(s->q[0].ring + 2, (uint8_t *)&packet + 2, AQL_PACKET_BYTES - 2);
	atomic_store((_Atomic uint16_t *)s->q[0].ring, packet.header);
	bench_ring(&s->q[0], 0);
	assert_true(bench_wait(&second->value, 0));
	assert_int_equal(atomic_load(&first->value), 0);
	end(s);
	(void)unused;
}

/*
 * Errors
 */

static void spoil_dims(struct aql_dispatch *d)
{
	d->setup = 0;
}

static void spoil_grid(struct aql_dispatch *d)
{
	d->grid[2] = 0;
}

static void spoil_grid_size(struct aql_dispatch *d)
{
	d->grid[0] = d->grid[1] = d->grid[2] = UINT32_MAX;
	d->group[0] = d->group[1] = d->group[2] = 1;
}

static void spoil_group(struct aql_dispatch *d)
{
	d->group[1] = 1000;
}

static void spoil_lds(struct aql_dispatch *d)
{
	d->group_bytes = 65537;
}

static void spoil_code(struct aql_dispatch *d)
{
	d->kernel_object = 0;
}

static void spoil_agent(struct aql_dispatch *d)
{
	d->header = AQL_AGENT_DISPATCH;
}

static void spoil_type(struct aql_dispatch *d)
{
	d->header = 77;
}

static void spoil_vendor(struct aql_dispatch *d)
{
	d->header = AQL_VENDOR;
	d->setup = 99;
}

static void bad_packets_stop_their_queue(void **unused)
{
	static const struct {
		void (*spoil)(struct aql_dispatch *d);
		uint32_t code;
	} rows[] = {
		{ spoil_dims, GP_KFD_EC_QUEUE_PACKET_DISPATCH_DIM_INVALID },
		{ spoil_grid, GP_KFD_EC_QUEUE_PACKET_DISPATCH_DIM_INVALID },
		{ spoil_grid_size, GP_KFD_EC_QUEUE_PACKET_DISPATCH_DIM_INVALID },
		{ spoil_group, GP_KFD_EC_QUEUE_PACKET_DISPATCH_WORK_GROUP_SIZE_INVALID },
		{ spoil_lds, GP_KFD_EC_QUEUE_PACKET_DISPATCH_GROUP_SEGMENT_SIZE_INVALID },
		{ spoil_code, GP_KFD_EC_QUEUE_PACKET_DISPATCH_CODE_INVALID },
		{ spoil_agent, GP_KFD_EC_QUEUE_PACKET_UNSUPPORTED },
		{ spoil_type, GP_KFD_EC_QUEUE_PACKET_UNSUPPORTED },
		{ spoil_vendor, GP_KFD_EC_QUEUE_PACKET_VENDOR_UNSUPPORTED },
	};
	struct setup *s = start(1, 64);
	struct bench_signal *sig;
	uint32_t *out;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bench_queue q = { 0 };
		union aql_packet packet = prepare_add(s, &out, bench_signal(&s->p, 1, &sig));

		assert_int_equal(bench_queue(&s->p, &q, GP_KFD_QUEUE_COMPUTE_AQL, 64), 0);
		rows[i].spoil(&packet.dispatch);
		bench_push(&q, &packet);
		assert_true(bench_wait(&q.inactive->value, (int64_t)1 << (rows[i].code - 15)));
		assert_int_equal(atomic_load(q.read_index), 0);
		assert_true(bench_stays(&sig->value, 1));
		bench_destroy(&q);
	}
	/* Other queues are not affected. */
	{
		union aql_packet packet = prepare_add(s, &out, bench_signal(&s->p, 1, &sig));

		bench_push(&s->q[0], &packet);
		assert_true(bench_wait(&sig->value, 0));
		check_add(out);
	}
	end(s);
	(void)unused;
}

static bool is_evicted(struct bench_process *p)
{
	uint64_t deadline = gp__clock_ns() + BENCH_TIMEOUT;
	bool evicted = false;

	while (!evicted && gp__clock_ns() < deadline) {
		pthread_mutex_lock(&p->b->node->lock);
		evicted = p->p->node[0].evicted;
		pthread_mutex_unlock(&p->b->node->lock);
		usleep(100);
	}
	return evicted;
}

/* A wild pointer, in a packet or in a kernel, stops the queues of its process and no others. */
static void try_fault(void (*spoil)(struct setup *s, struct aql_dispatch *d))
{
	struct setup *s = start(1, 64);
	struct bench_process other = { 0 };
	struct bench_queue q = { 0 };
	struct bench_signal *sig;
	uint32_t *out;
	union aql_packet packet = prepare_add(s, &out, bench_signal(&s->p, 1, &sig));

	bench_process_start(&s->b, &other, getpid() + 100000);
	assert_int_equal(bench_queue(&other, &q, GP_KFD_QUEUE_COMPUTE_AQL, 64), 0);
	spoil(s, &packet.dispatch);
	bench_push(&s->q[0], &packet);
	assert_true(is_evicted(&s->p));
	assert_false(s->q[0].q->active);
	assert_int_equal(other.p->node[0].evicted, 0);
	packet = prepare_barrier(AQL_BARRIER_AND, 0, 0, bench_signal(&other, 1, &sig));
	bench_push(&q, &packet);
	assert_true(bench_wait(&sig->value, 0));
	bench_process_end(&other);
	end(s);
}

static void wild_kernel(struct setup *s, struct aql_dispatch *d)
{
	d->kernel_object = 0x7000000000;
	(void)s;
}

static void wild_signal(struct setup *s, struct aql_dispatch *d)
{
	d->signal = 0x7000000000;
	(void)s;
}

static void odd_signal(struct setup *s, struct aql_dispatch *d)
{
	d->signal += 3;
	(void)s;
}

static void wild_argument(struct setup *s, struct aql_dispatch *d)
{
	struct add *args = machine_at(s->p.memory, d->kernarg);

	args->c = 0x7000000000;
}

static void wild_pointers_are_faults(void **unused)
{
	try_fault(wild_kernel);
	try_fault(wild_signal);
	try_fault(odd_signal);
	try_fault(wild_argument);
	(void)unused;
}

static void wild_indices_are_faults(void **unused)
{
	struct setup *s = start(1, 64);
	union aql_packet packet = prepare_barrier(AQL_BARRIER_AND, 0x7000000000, 0, 0);

	bench_push(&s->q[0], &packet);
	assert_true(is_evicted(&s->p));
	end(s);
	(void)unused;
}

static void an_illegal_instruction_stops_the_queue(void **unused)
{
	struct setup *s = start(1, 64);
	struct bench_signal *sig;
	uint32_t *out, *code;
	union aql_packet packet = prepare_add(s, &out, bench_signal(&s->p, 1, &sig));
	uint8_t *descriptor = machine_at(s->p.memory, packet.dispatch.kernel_object), *copy;
	int64_t entry;

	packet.dispatch.kernel_object = bench_alloc(&s->p, 8192, &copy);
	memcpy(copy, descriptor, 64);
	entry = 4096;
	memcpy(copy + 16, &entry, sizeof(entry));
	code = (uint32_t *)(copy + 4096);
	code[0] = 0xffffffff;
	bench_push(&s->q[0], &packet);
	assert_true(bench_wait(&s->q[0].inactive->value, AQL_ERROR_ILLEGAL));
	assert_true(bench_stays(&sig->value, 1));
	end(s);
	(void)unused;
}

static _Atomic int64_t interrupts;

static void note_interrupt(struct emu_hw_queue *q, uint32_t m0, bool trapped)
{
	atomic_store(&interrupts, trapped ? -1 : (int64_t)m0);
	(void)q;
}

/* The first steps of trap handlers: request the doorbell of their queue, and interrupt the host. */
static void waves_know_their_doorbell(void **unused)
{
	static const uint32_t code[] = {
		0xbefe00ff, 0x80000000, /* s_mov_b32 exec_lo, 0x80000000 */
		0xbf90000a, /* s_sendmsg 10 */
		0xbf0c9f7e, /* s_bitcmp0_b32 exec_lo, 31 */
		0xbf84fffe, /* s_cbranch_scc0 back */
		0xbefc007e, /* s_mov_b32 m0, exec_lo */
		0xbf900001, /* s_sendmsg 1 */
		0xbf810000, /* s_endpgm */
	};
	struct setup *s = start(2, 64);
	struct bench_signal *sig;
	uint32_t *out;
	union aql_packet packet = prepare_add(s, &out, bench_signal(&s->p, 1, &sig));
	uint8_t *descriptor = machine_at(s->p.memory, packet.dispatch.kernel_object), *copy;
	int64_t entry = 4096;

	packet.dispatch.kernel_object = bench_alloc(&s->p, 8192, &copy);
	memcpy(copy, descriptor, 64);
	memcpy(copy + 16, &entry, sizeof(entry));
	memcpy(copy + 4096, code, sizeof(code));
	s->q[1].q->hw->interrupt = note_interrupt;
	atomic_store(&interrupts, 0);
	bench_push(&s->q[1], &packet);
	assert_true(bench_wait(&sig->value, 0));
	assert_int_equal(atomic_load(&interrupts), 1);
	end(s);
	(void)unused;
}

/*
 * Scratch: the queue has none, requests it, and continues once the runtime has provided it.
 */

static void give_scratch(struct bench_queue *q, uint32_t lane_bytes)
{
	uint32_t wave_bytes = (lane_bytes * 64 + 1023) / 1024 * 1024, waves = 64;
	void *host;

	q->state->scratch_base = bench_alloc(q->p, (uint64_t)wave_bytes * waves, &host);
	q->state->scratch_bytes = (uint64_t)wave_bytes * waves;
	q->state->scratch_lane_bytes = lane_bytes;
	q->state->tmpring = waves | wave_bytes / 1024 << 12;
}

static void scratch_is_asked_for(void **unused)
{
	struct setup *s = start(1, 64);
	struct bench_signal *sig;
	struct {
		uint64_t out;
		uint32_t rounds;
	} args = { .rounds = 3 };
	union aql_packet packet;
	uint32_t *out;

	args.out = bench_alloc(&s->p, 4 * 256, &out);
	packet = bench_dispatch(&s->p, "calls", 4, 64, &args, sizeof(args),
				bench_signal(&s->p, 2, &sig));
	assert_true(packet.dispatch.private_bytes > 0);
	bench_push(&s->q[0], &packet);
	assert_true(bench_wait(&s->q[0].inactive->value, AQL_ERROR_SCRATCH));
	assert_int_equal(atomic_load(s->q[0].read_index), 0);
	give_scratch(&s->q[0], packet.dispatch.private_bytes);
	s->q[0].state->properties |= AQL_PROPERTY_SCRATCH_ONCE;
	atomic_store(&s->q[0].inactive->value, 0);
	assert_true(bench_wait(&sig->value, 1));
	/* It was for one dispatch: nothing continues before it is reclaimed. */
	assert_true(bench_wait(&s->q[0].inactive->value, AQL_ERROR_SCRATCH_RECLAIM));
	assert_int_not_equal(out[255], 0);
	bench_push(&s->q[0], &packet);
	assert_true(bench_stays(&sig->value, 1));
	give_scratch(&s->q[0], 2 * packet.dispatch.private_bytes);
	atomic_store(&s->q[0].inactive->value, 0);
	assert_true(bench_stays(&sig->value, 1));
	atomic_store((_Atomic uint32_t *)&s->q[0].state->properties, 0);
	assert_true(bench_wait(&sig->value, 0));
	end(s);
	(void)unused;
}

/*
 * PM4 in a vendor packet
 */

static void caches_are_invalidated(void **unused)
{
	struct setup *s = start(1, 64);
	struct bench_signal *sig;
	union aql_packet packet = { 0 };
	uint32_t *ib;
	uint64_t va = bench_alloc(&s->p, 64, &ib);

	ib[0] = 3u << 30 | 5 << 16 | 0x58 << 8; /* ACQUIRE_MEM */
	ib[7] = 3u << 30 | 0x3fff << 16 | 0x10 << 8; /* NOP of one dword */
	packet.pm4_ib = (struct aql_pm4_ib){
		.format = AQL_VENDOR_PM4_IB,
		.jump = { 3u << 30 | 2 << 16 | 0x3f << 8, (uint32_t)va, (uint32_t)(va >> 32), 8 },
		.rest = 10,
		.signal = bench_signal(&s->p, 1, &sig),
	};
	bench_push(&s->q[0], &packet);
	assert_true(bench_wait(&sig->value, 0));
	ib[7] = 3u << 30 | 0x3fff << 16 | 0x77 << 8; /* an unknown packet */
	bench_push(&s->q[0], &packet);
	assert_true(bench_wait(&s->q[0].inactive->value,
			       AQL_ERROR_PACKET(GP_KFD_EC_QUEUE_PACKET_VENDOR_UNSUPPORTED)));
	end(s);
	(void)unused;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dispatch_runs_and_signals),
		cmocka_unit_test(a_packet_is_consumed_before_it_ends),
		cmocka_unit_test(the_barrier_bit_waits_for_all_before),
		cmocka_unit_test(barriers_wait_for_all_or_any),
		cmocka_unit_test(value_barriers_compare),
		cmocka_unit_test(dependencies_cross_queues),
		cmocka_unit_test(many_packets_go_around_the_ring),
		cmocka_unit_test(many_dispatches_each_once),
		cmocka_unit_test(an_invalid_header_is_not_there_yet),
		cmocka_unit_test(bad_packets_stop_their_queue),
		cmocka_unit_test(wild_pointers_are_faults),
		cmocka_unit_test(wild_indices_are_faults),
		cmocka_unit_test(an_illegal_instruction_stops_the_queue),
		cmocka_unit_test(waves_know_their_doorbell),
		cmocka_unit_test(scratch_is_asked_for),
		cmocka_unit_test(caches_are_invalidated),
	};

	if (argc != 2)
		return 77;
	path = argv[1];
	target = machine_target(path);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
