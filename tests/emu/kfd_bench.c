// SPDX-License-Identifier: MIT
#include "kfd_bench.h"

#include "base/clock.h"
#include "emu/kfd/doorbell.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define MEMORY_BYTES ((uint64_t)512 << 20)
#define TMA_OFFSET 0x1800
#define SDMA_RING_BYTES 65536

void bench_start(struct bench *b, enum gfx9_target target, const char *object)
{
	struct emu_config *c = &b->config;

	c->chip = emu_chip_find(target == GFX9_TARGET_GFX942 ? "gfx942" : "gfx90a");
	c->nr_gpus = c->nr_gpus ? c->nr_gpus : 1;
	c->nr_xccs = c->nr_xccs ? c->nr_xccs : 1;
	c->xcc_cus = c->xcc_cus ? c->xcc_cus : 4;
	c->threads = c->threads ? c->threads : 2;
	c->vram_bytes = (uint64_t)1 << 30;
	snprintf(c->dir, sizeof(c->dir), "/tmp/gpreempt-kfd-XXXXXX");
	assert_non_null(mkdtemp(c->dir));
	b->object = object;
	assert_int_equal(emu_machine_init(&b->m, c), 0);
	b->node = b->m.node[0];
}

struct gfx9_gpu *bench_gpu(const struct bench *b)
{
	return (struct gfx9_gpu *)b->node->gpu;
}

void bench_end(struct bench *b)
{
	char command[PATH_MAX + 16];

	assert_null(b->node->queues);
	assert_true(gfx9_gpu_idle(bench_gpu(b)));
	emu_machine_destroy(&b->m);
	snprintf(command, sizeof(command), "rm -rf '%s'", b->config.dir);
	assert_int_equal(system(command), 0);
}

/* The bare machine's memory becomes the process's: addresses stay as they are. */
static void move_memory(struct bench_process *p)
{
	struct machine *m = p->memory;
	void *host;

	assert_non_null(emu_memory_install(p->p, 0, MACHINE_BASE, m->size, true, &host));
	memcpy(host, m->memory, m->used);
	munmap(m->memory, m->size);
	m->memory = host;
}

void bench_process_start(struct bench *b, struct bench_process *p, pid_t pid)
{
	struct emu_process_node *pn;

	p->b = b;
	p->p = emu_process_get(&b->m, pid, getuid(), (uint64_t)pid);
	assert_non_null(p->p);
	p->memory = machine_new((enum gfx9_target)b->config.chip->target, MEMORY_BYTES, b->object);
	assert_non_null(p->memory);
	move_memory(p);
	pn = &p->p->node[0];
	pn->render_file = 1;
	if (b->config.cwsr) {
		pn->tba = p->memory->tba;
		pn->tma = p->memory->tba + TMA_OFFSET;
	}
	p->call = (struct emu_call){ .m = &b->m, .process = p->p, .pid = pid, .fd = -1 };
	assert_true(emu_process_doorbells(p->p, 0) >= 0);
}

void bench_process_end(struct bench_process *p)
{
	struct machine *m = p->memory;

	emu_process_put(p->p);
	gfx9_queue_destroy(&m->queue);
	gfx9_code_destroy(&m->code);
	gp__object_free(&m->object);
	free(m);
}

uint64_t bench_alloc(struct bench_process *p, uint64_t bytes, void *host)
{
	uint64_t va = machine_alloc(p->memory, bytes);

	*(void **)host = machine_at(p->memory, va);
	return va;
}

uint64_t bench_signal(struct bench_process *p, int64_t value, struct bench_signal **s)
{
	uint64_t va = bench_alloc(p, sizeof(**s), s);

	(*s)->kind = 1;
	atomic_store(&(*s)->value, value);
	return va;
}

static void fill_save_area(struct bench_process *p, struct gp_kfd_create_queue *args)
{
	struct emu_save_sizes sizes = emu_save_sizes(&p->b->config);

	args->ctx_save_restore_address = machine_alloc(p->memory, sizes.total_bytes);
	args->ctx_save_restore_size = (uint32_t)sizes.slice_bytes;
	args->ctl_stack_size = sizes.ctl_bytes;
}

int bench_queue(struct bench_process *p, struct bench_queue *q, uint32_t type, uint32_t packets)
{
	bool is_aql = type == GP_KFD_QUEUE_COMPUTE_AQL;
	bool is_compute = is_aql || type == GP_KFD_QUEUE_COMPUTE;
	uint32_t bytes = is_compute ? packets * AQL_PACKET_BYTES : SDMA_RING_BYTES;
	uint8_t *state;
	uint64_t state_va = bench_alloc(p, 4096, &state), inactive;
	struct gp_kfd_create_queue args = {
		.ring_base_address = q->ring_va = bench_alloc(p, bytes, &q->ring),
		.write_pointer_address = state_va + 0x38,
		.read_pointer_address = state_va + 0x80,
		.ring_size = bytes,
		.gpu_id = p->b->node->gpu_id,
		.queue_type = type,
		.queue_percentage = 100,
		.queue_priority = 7,
	};
	int err;

	q->p = p;
	q->packets = packets;
	q->write_index = (_Atomic uint64_t *)(state + 0x38);
	q->read_index = (_Atomic uint64_t *)(state + 0x80);
	q->state = (struct aql_queue *)(state + 0x80);
	q->state->offset = 0x80;
	inactive = bench_signal(p, 0, &q->inactive);
	q->state->inactive_signal = inactive;
	for (uint32_t i = 0; is_aql && i < packets; i++)
		q->ring[i * AQL_PACKET_BYTES] = AQL_INVALID;
	if (is_compute)
		fill_save_area(p, &args);
	err = emu_create_queue(&p->call, &args);
	if (err)
		return err;
	q->id = args.queue_id;
	q->doorbell = &p->p->node[0].doorbells[args.doorbell_offset % 8192 / 8];
	q->q = emu_queue_find(p->p, q->id);
	return 0;
}

struct gfx9_queue *bench_hw(const struct bench_queue *q)
{
	return (struct gfx9_queue *)q->q->hw;
}

uint64_t bench_resident(const struct bench_queue *q)
{
	return gfx9_gpu_resident(bench_gpu(q->p->b), bench_hw(q));
}

void bench_destroy(struct bench_queue *q)
{
	struct gp_kfd_destroy_queue args = { .queue_id = q->id };

	assert_int_equal(emu_destroy_queue(&q->p->call, &args), 0);
}

void bench_ring(struct bench_queue *q, uint64_t value)
{
	atomic_store(q->doorbell, value);
	emu_node_wake(q->p->b->node);
}

void bench_push(struct bench_queue *q, const union aql_packet *packet)
{
	uint64_t index = atomic_fetch_add(q->write_index, 1);
	uint64_t deadline = gp__clock_ns() + BENCH_TIMEOUT;
	uint8_t *slot = q->ring + index % q->packets * AQL_PACKET_BYTES;

	while (index - atomic_load(q->read_index) >= q->packets) {
		assert_true(gp__clock_ns() < deadline);
		usleep(50);
	}
	memcpy(slot + 2, (const uint8_t *)packet + 2, AQL_PACKET_BYTES - 2);
	atomic_store((_Atomic uint16_t *)slot, packet->header);
	bench_ring(q, index);
}

union aql_packet bench_dispatch(struct bench_process *p, const char *kernel, uint32_t groups,
				uint16_t size, const void *args, size_t args_size, uint64_t signal)
{
	union aql_packet packet = { 0 };
	struct aql_dispatch *d = &packet.dispatch;
	struct gfx9_job job = { 0 };
	int err = machine_job(p->memory, &p->memory->queue, &job, kernel, groups * size, size, args,
			      args_size);

	assert_true(err != -ENOENT);
	d->header = AQL_KERNEL_DISPATCH;
	d->setup = 1;
	for (int i = 0; i < 3; i++) {
		d->group[i] = i ? 1 : size;
		d->grid[i] = i ? 1 : groups * size;
	}
	d->private_bytes = job.kernel.scratch_bytes;
	d->group_bytes = job.kernel.lds_bytes;
	d->kernel_object = job.base.launch.kernel_object;
	d->kernarg = job.base.launch.kernarg;
	d->signal = signal;
	return packet;
}

void bench_push_gate(struct bench_queue *q, struct bench_gate *g, uint32_t groups)
{
	struct {
		uint64_t arrived, open, left, turn;
	} args;
	union aql_packet packet;
	void *turn;

	args.arrived = bench_alloc(q->p, 64, &g->arrived);
	args.open = g->open_va = args.arrived + 4;
	args.left = args.arrived + 8;
	args.turn = bench_alloc(q->p, 4 * groups, &turn);
	g->open = g->arrived + 1;
	g->left = g->arrived + 2;
	packet = bench_dispatch(q->p, "gate", groups, 64, &args, sizeof(args),
				bench_signal(q->p, 1, &g->done));
	bench_push(q, &packet);
}

bool bench_wait32(_Atomic uint32_t *value, uint32_t expected)
{
	uint64_t deadline = gp__clock_ns() + BENCH_TIMEOUT;

	while (atomic_load(value) != expected && gp__clock_ns() < deadline)
		usleep(100);
	return atomic_load(value) == expected;
}

bool bench_wait(_Atomic int64_t *value, int64_t expected)
{
	uint64_t deadline = gp__clock_ns() + BENCH_TIMEOUT;

	while (atomic_load(value) != expected && gp__clock_ns() < deadline)
		usleep(100);
	return atomic_load(value) == expected;
}

bool bench_wait_index(struct bench_queue *q, uint64_t index)
{
	return bench_wait((_Atomic int64_t *)q->read_index, (int64_t)index);
}

bool bench_stays(_Atomic int64_t *value, int64_t expected)
{
	for (int i = 0; i < 20; i++) {
		if (atomic_load(value) != expected)
			return false;
		usleep(1000);
	}
	return true;
}

int bench_hold(struct bench_queue *q, uint32_t why, enum emu_stop_type how)
{
	struct emu_node *n = q->q->node;
	int err;

	pthread_mutex_lock(&n->lock);
	err = emu_sched_hold(n, &q->q, 1, why, how, 0);
	pthread_mutex_unlock(&n->lock);
	return err;
}

int bench_release(struct bench_queue *q, uint32_t why)
{
	struct emu_node *n = q->q->node;
	int err;

	pthread_mutex_lock(&n->lock);
	err = emu_sched_release(n, &q->q, 1, why);
	pthread_mutex_unlock(&n->lock);
	return err;
}

static uint64_t lcg(uint64_t x, uint32_t rounds)
{
	while (rounds--)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

union aql_packet bench_work(struct bench_process *p, uint32_t rounds, uint64_t **state,
			    uint64_t signal)
{
	struct {
		uint64_t state;
		uint32_t rounds;
	} args = { .rounds = rounds };

	args.state = bench_alloc(p, BENCH_WORK_ITEMS * sizeof(uint64_t), state);
	for (uint32_t i = 0; i < BENCH_WORK_ITEMS; i++)
		(*state)[i] = i;
	return bench_dispatch(p, "lcg", BENCH_WORK_ITEMS / 64, 64, &args, sizeof(args), signal);
}

void bench_check_work(const uint64_t *state, uint32_t rounds)
{
	for (uint32_t i = 0; i < BENCH_WORK_ITEMS; i++)
		assert_int_equal(state[i], lcg(i, rounds));
}
