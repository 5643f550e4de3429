// SPDX-License-Identifier: MIT
/*
 * Several queues on one GPU: placement, and the effects of stops. Most tests run twice: turn by
 * turn on this thread, and on two threads of the GPU.
 */
#include "base/clock.h"
#include "emu/gfx9/machine.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define MEMORY ((uint64_t)256 << 20)
#define SECOND ((uint64_t)1000000000)
#define PENDING 1 /* of a job: not done yet */

static const char *path;
static enum gfx9_target target;

/* A GPU with some queues of a machine's. */
struct bench {
	struct machine *m;
	struct gfx9_gpu *gpu;
	struct emu_gpu_config config;
	struct gfx9_queue q[3];
	int nr_queues;
};

struct task {
	struct gfx9_job job;
	_Atomic int result;
};

static void done(struct emu_job *job, int result)
{
	atomic_store(&((struct task *)job)->result, result);
}

static void start(struct bench *b, int nr_queues, int threads)
{
	b->config.target = target;
	if (!b->config.nr_xccs)
		b->config.nr_xccs = 1;
	if (!b->config.xcc_cus)
		b->config.xcc_cus = 4;
	b->config.threads = threads;
	b->m = machine_new(target, MEMORY, path);
	assert_non_null(b->m);
	b->gpu = gfx9_gpu_new(&b->config);
	assert_non_null(b->gpu);
	b->nr_queues = nr_queues;
	for (int i = 0; i < nr_queues; i++) {
		machine_queue(b->m, &b->q[i]);
		gfx9_gpu_add(b->gpu, &b->q[i]);
	}
}

/* Gives the GPU its turns, if it has no threads. */
static void pass_time(struct bench *b)
{
	if (b->config.threads)
		usleep(200);
	else
		gfx9_gpu_step(b->gpu);
}

static int stop(struct bench *b, int queue, enum emu_stop_type how)
{
	uint64_t deadline = gp__clock_ns() + 20 * SECOND;
	int err;

	gfx9_gpu_stop(b->gpu, &b->q[queue], how);
	while ((err = gfx9_gpu_wait(b->gpu, &b->q[queue], 0)) == -ETIME &&
	       gp__clock_ns() < deadline)
		pass_time(b);
	return err;
}

static void end(struct bench *b)
{
	for (int i = 0; i < b->nr_queues; i++) {
		assert_int_equal(stop(b, i, EMU_STOP_RESET), 0);
		gfx9_gpu_remove(b->gpu, &b->q[i]);
		gfx9_queue_destroy(&b->q[i]);
	}
	assert_true(gfx9_gpu_idle(b->gpu));
	gfx9_gpu_free(b->gpu);
	machine_free(b->m);
}

static void dispatch(struct bench *b, int queue, struct task *t, const char *kernel,
		     uint32_t groups, uint16_t size, const void *args, size_t args_size)
{
	t->result = PENDING;
	t->job.base.done = done;
	assert_int_equal(machine_job(b->m, &b->q[queue], &t->job, kernel, groups * size, size, args,
				     args_size),
			 0);
	gfx9_gpu_dispatch(b->gpu, &t->job);
}

static int result_of(struct bench *b, struct task *t)
{
	uint64_t deadline = gp__clock_ns() + 20 * SECOND;

	while (atomic_load(&t->result) == PENDING && gp__clock_ns() < deadline)
		pass_time(b);
	return atomic_load(&t->result);
}

/*
 * Workgroups that wait at a gate
 */

#define GROUPS 300 /* more than fit at a time */
#define ROOM 128 /* of one wave each on four compute units */

struct gate {
	struct task task;
	_Atomic uint32_t *arrived, *open, *left;
	uint32_t *turn;
	struct {
		uint64_t arrived, open, left, turn;
	} args;
};

static void come_to_gate(struct bench *b, int queue, struct gate *g, uint32_t groups)
{
	g->args.arrived = machine_alloc(b->m, 12 + 4 * groups);
	g->args.open = g->args.arrived + 4;
	g->args.left = g->args.arrived + 8;
	g->args.turn = g->args.arrived + 12;
	g->arrived = machine_at(b->m, g->args.arrived);
	g->open = machine_at(b->m, g->args.open);
	g->left = machine_at(b->m, g->args.left);
	g->turn = machine_at(b->m, g->args.turn);
	dispatch(b, queue, &g->task, "gate", groups, 64, &g->args, sizeof(g->args));
}

static void wait_for(struct bench *b, _Atomic uint32_t *counter, uint32_t value)
{
	uint64_t deadline = gp__clock_ns() + 20 * SECOND;

	while (atomic_load(counter) < value && gp__clock_ns() < deadline)
		pass_time(b);
	assert_int_equal(atomic_load(counter), value);
}

/* The waves of each queue wait for the other's: both are on the compute units. */
static void queues_share_the_compute_units(int threads)
{
	struct bench b = { 0 };
	struct task knock;
	struct gate g;

	start(&b, 2, threads);
	come_to_gate(&b, 0, &g, 3);
	wait_for(&b, g.arrived, 3);
	dispatch(&b, 1, &knock, "knock", 1, 64, &g.args.open, sizeof(g.args.open));
	assert_int_equal(result_of(&b, &knock), 0);
	assert_int_equal(result_of(&b, &g.task), 0);
	assert_int_equal(*g.left, 3);
	end(&b);
}

/* Resident workgroups finish, no new one starts, and the rest follows later. */
static void drain_finishes_resident_groups(int threads)
{
	struct bench b = { 0 };
	struct gate g;

	start(&b, 1, threads);
	come_to_gate(&b, 0, &g, GROUPS);
	wait_for(&b, g.arrived, ROOM);
	assert_int_equal(gfx9_gpu_stop(b.gpu, &b.q[0], EMU_STOP_DRAIN), EMU_STOP_DRAIN);
	assert_int_equal(gfx9_gpu_wait(b.gpu, &b.q[0], 1000000), -ETIME);
	atomic_store(g.open, 1);
	assert_int_equal(stop(&b, 0, EMU_STOP_DRAIN), 0);
	assert_int_equal(*g.arrived, ROOM);
	assert_int_equal(*g.left, ROOM);
	gfx9_gpu_go(b.gpu, &b.q[0]);
	assert_int_equal(result_of(&b, &g.task), 0);
	assert_int_equal(*g.left, GROUPS);
	end(&b);
}

/* Saved waves leave the compute units, and continue where they were. */
static void save_makes_room_at_once(int threads)
{
	struct bench b = { .config.cwsr = true };
	struct gate g, h;

	start(&b, 2, threads);
	come_to_gate(&b, 0, &g, GROUPS);
	wait_for(&b, g.arrived, ROOM);
	assert_int_equal(stop(&b, 0, EMU_STOP_SAVE), 0);
	come_to_gate(&b, 1, &h, ROOM);
	wait_for(&b, h.arrived, ROOM);
	atomic_store(h.open, 1);
	assert_int_equal(result_of(&b, &h.task), 0);
	assert_int_equal(*g.arrived, ROOM);
	gfx9_gpu_go(b.gpu, &b.q[0]);
	atomic_store(g.open, 1);
	assert_int_equal(result_of(&b, &g.task), 0);
	/* No workgroup arrived twice. */
	assert_int_equal(*g.arrived, GROUPS);
	assert_int_equal(*g.left, GROUPS);
	end(&b);
}

static void a_drain_can_become_a_save(int threads)
{
	struct bench b = { .config.cwsr = true };
	struct gate g;

	start(&b, 1, threads);
	come_to_gate(&b, 0, &g, 10);
	wait_for(&b, g.arrived, 10);
	gfx9_gpu_stop(b.gpu, &b.q[0], EMU_STOP_DRAIN);
	assert_int_equal(gfx9_gpu_wait(b.gpu, &b.q[0], 1000000), -ETIME);
	assert_int_equal(stop(&b, 0, EMU_STOP_SAVE), 0);
	gfx9_gpu_go(b.gpu, &b.q[0]);
	atomic_store(g.open, 1);
	assert_int_equal(result_of(&b, &g.task), 0);
	assert_int_equal(*g.left, 10);
	end(&b);
}

/*
 * Resident, saved and waiting work of the queue is dropped; its neighbour and its next job are not.
 */
static void reset_drops_the_queues_work_alone(int threads)
{
	struct bench b = { .config.cwsr = true };
	struct gate g, later, other, next;

	start(&b, 2, threads);
	come_to_gate(&b, 1, &other, 5);
	wait_for(&b, other.arrived, 5);
	for (int saved = 0; saved < 2; saved++) {
		come_to_gate(&b, 0, &g, GROUPS);
		come_to_gate(&b, 0, &later, 1);
		wait_for(&b, g.arrived, ROOM - 5);
		if (saved)
			assert_int_equal(stop(&b, 0, EMU_STOP_SAVE), 0);
		assert_int_equal(stop(&b, 0, EMU_STOP_RESET), 0);
		assert_int_equal(result_of(&b, &g.task), -ECANCELED);
		assert_int_equal(result_of(&b, &later.task), -ECANCELED);
		assert_int_equal(*g.left, 0);
		gfx9_gpu_go(b.gpu, &b.q[0]);
		come_to_gate(&b, 0, &next, 7);
		atomic_store(next.open, 1);
		assert_int_equal(result_of(&b, &next.task), 0);
	}
	atomic_store(other.open, 1);
	assert_int_equal(result_of(&b, &other.task), 0);
	end(&b);
}

static void without_context_save_a_save_is_a_drain(int threads)
{
	struct bench b = { .config.cwsr = false };
	struct gate g;

	start(&b, 1, threads);
	come_to_gate(&b, 0, &g, 4);
	wait_for(&b, g.arrived, 4);
	assert_int_equal(gfx9_gpu_stop(b.gpu, &b.q[0], EMU_STOP_SAVE), EMU_STOP_DRAIN);
	assert_int_equal(gfx9_gpu_wait(b.gpu, &b.q[0], 1000000), -ETIME);
	atomic_store(g.open, 1);
	assert_int_equal(stop(&b, 0, EMU_STOP_SAVE), 0);
	assert_int_equal(result_of(&b, &g.task), 0);
	end(&b);
}

/* Only the queue with the higher priority gets room, as long as it has workgroups. */
static void the_higher_priority_starts_first(int threads)
{
	struct bench b = { 0 };
	struct gate low, high;

	start(&b, 2, threads);
	gfx9_gpu_remove(b.gpu, &b.q[1]);
	b.q[1].base.priority = 1;
	gfx9_gpu_add(b.gpu, &b.q[1]);
	come_to_gate(&b, 0, &low, GROUPS);
	wait_for(&b, low.arrived, ROOM);
	come_to_gate(&b, 1, &high, GROUPS);
	atomic_store(low.open, 1);
	wait_for(&b, high.arrived, ROOM);
	assert_int_equal(*low.arrived, ROOM);
	atomic_store(high.open, 1);
	assert_int_equal(result_of(&b, &high.task), 0);
	assert_int_equal(result_of(&b, &low.task), 0);
	end(&b);
}

/*
 * Placement of workgroups
 */

static uint32_t cu_of(const uint32_t *where)
{
	return (where[0] >> 8 & 15) + (where[0] >> 13 & 7) * 16;
}

static void workgroups_keep_to_the_mask(int threads)
{
	static const uint32_t mask[EMU_CUS_MAX / 32] = { 0x80000005, 0x10 };
	struct bench b = { .config.xcc_cus = 40 };
	struct task t;
	uint64_t out;
	const uint32_t *where;
	uint64_t seen = 0;

	start(&b, 1, threads);
	gfx9_gpu_remove(b.gpu, &b.q[0]);
	memcpy(b.q[0].base.cu_mask, mask, sizeof(mask));
	gfx9_gpu_add(b.gpu, &b.q[0]);
	out = machine_alloc(b.m, 500 * 8);
	where = machine_at(b.m, out);
	dispatch(&b, 0, &t, "where", 500, 64, &out, sizeof(out));
	assert_int_equal(result_of(&b, &t), 0);
	for (int i = 0; i < 500; i++)
		seen |= (uint64_t)1 << cu_of(&where[2 * i]);
	assert_true(!(seen & ~(uint64_t)0x1080000005));
	assert_true(seen == 0x1080000005);
	end(&b);
}

/* In turn, each on an XCC of its own. */
static void workgroups_go_round_the_xccs(int threads)
{
	struct bench b = { .config.nr_xccs = 8, .config.xcc_cus = 2 };
	const uint32_t *where;
	struct task t;
	uint64_t out;

	if (target != GFX9_TARGET_GFX942) {
		print_message("only gfx942 has several XCCs\n");
		skip();
	}
	start(&b, 1, threads);
	out = machine_alloc(b.m, 100 * 8);
	where = machine_at(b.m, out);
	dispatch(&b, 0, &t, "where", 100, 64, &out, sizeof(out));
	assert_int_equal(result_of(&b, &t), 0);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(where[2 * i + 1], i % 8);
	end(&b);
}

/*
 * A thread that the host deschedules
 */

#define KEPT_SLICE 100

/* A job whose done() blocks the thread that reports it, and its compute unit. */
struct keeper {
	struct task task;
	_Atomic bool kept, let_go;
	uint64_t out;
};

static void keep(struct emu_job *job, int result)
{
	struct keeper *k = (struct keeper *)job;

	atomic_store(&k->kept, true);
	while (!atomic_load(&k->let_go))
		usleep(200);
	done(job, result);
}

/* The compute unit that does not run until it is released. */
static uint32_t keep_a_thread(struct bench *b, struct keeper *k)
{
	const uint32_t *where;

	*k = (struct keeper){ .out = machine_alloc(b->m, 8) };
	where = machine_at(b->m, k->out);
	k->task.result = PENDING;
	k->task.job.base.done = keep;
	assert_int_equal(
		machine_job(b->m, &b->q[0], &k->task.job, "where", 64, 64, &k->out, sizeof(k->out)),
		0);
	gfx9_gpu_dispatch(b->gpu, &k->task.job);
	while (!atomic_load(&k->kept))
		usleep(200);
	return cu_of(where);
}

static void let_go(struct bench *b, struct keeper *k)
{
	atomic_store(&k->let_go, true);
	assert_int_equal(result_of(b, &k->task), 0);
}

/* The other thread alone gives each of the other three its share. */
static void threads_do_not_say_where_workgroups_run(void **state)
{
	struct bench b = { 0 };
	uint32_t kept, nr[4] = { 0 };
	const uint32_t *where;
	struct keeper k;
	struct task t;
	uint64_t out;

	(void)state;
	start(&b, 2, 2);
	kept = keep_a_thread(&b, &k);
	out = machine_alloc(b.m, 9 * 8);
	where = machine_at(b.m, out);
	dispatch(&b, 1, &t, "where", 9, 64, &out, sizeof(out));
	assert_int_equal(result_of(&b, &t), 0);
	for (int i = 0; i < 9; i++)
		nr[cu_of(&where[2 * i])]++;
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(nr[i], i == kept ? 0 : 3);
	let_go(&b, &k);
	end(&b);
}

/* The others are not far ahead of the blocked one, and continue when it does. */
static void threads_do_not_say_how_far_workgroups_come(void **state)
{
	struct bench b = { .config.slice = KEPT_SLICE };
	struct {
		uint64_t out;
		uint32_t rounds;
	} args;
	struct keeper k;
	struct task t;
	uint64_t before;

	(void)state;
	start(&b, 2, 2);
	keep_a_thread(&b, &k);
	before = gfx9_gpu_insts(b.gpu);
	args.out = machine_alloc(b.m, 64 * 8);
	args.rounds = 5000;
	dispatch(&b, 1, &t, "stopwatch", 1, 64, &args, sizeof(args));
	usleep(100000);
	assert_true(gfx9_gpu_insts(b.gpu) - before <= 10 * KEPT_SLICE);
	assert_int_equal(atomic_load(&t.result), PENDING);
	let_go(&b, &k);
	assert_int_equal(result_of(&b, &t), 0);
	assert_true(gfx9_gpu_insts(b.gpu) - before > 5000);
	end(&b);
}

/*
 * Memory that is unmapped while waves run
 */

struct window {
	struct bench *b;
	uint64_t va; /* a page that is mapped at first */
	_Atomic bool gone;
	_Atomic uint64_t late; /* number of lookups after it was unmapped */
};

static void *(*all_pages)(void *ctx, uint64_t va, bool write);
static struct window window;

static void *page_of_window(void *ctx, uint64_t va, bool write)
{
	if (va == window.va && atomic_load(&window.gone)) {
		window.late++;
		return NULL;
	}
	return all_pages(ctx, va, write);
}

/* Waves that poll a page see that it was unmapped, and it is not used after a quiesce. */
static void unmapped_memory_is_let_go(int threads)
{
	struct bench b = { 0 };
	struct gate g;

	start(&b, 1, threads);
	window = (struct window){ .b = &b, .va = b.m->used + MACHINE_BASE };
	all_pages = b.m->vm.page;
	b.m->vm.page = page_of_window;
	come_to_gate(&b, 0, &g, 8);
	assert_int_equal(g.args.arrived, window.va);
	wait_for(&b, g.arrived, 8);
	atomic_store(&window.gone, true);
	atomic_fetch_add(&b.m->vm.generation, 1);
	gfx9_gpu_quiesce(b.gpu);
	/* A thread that still used it would leave now. */
	atomic_store(g.open, 1);
	assert_int_equal(result_of(&b, &g.task), -EIO);
	assert_int_equal(*g.left, 0);
	assert_int_equal(g.task.job.report.stop, GFX9_FAULT);
	assert_true(window.late > 0);
	end(&b);
}

/*
 * Time
 */

static uint64_t stopwatch(struct bench *b, useconds_t delay)
{
	struct {
		uint64_t out;
		uint32_t rounds;
	} args = { machine_alloc(b->m, 64 * 8), 5000 };
	const uint64_t *out = machine_at(b->m, args.out);
	struct task t;

	dispatch(b, 0, &t, "stopwatch", 1, 64, &args, sizeof(args));
	while (atomic_load(&t.result) == PENDING) {
		usleep(delay);
		gfx9_gpu_step(b->gpu);
	}
	assert_int_equal(t.result, 0);
	return out[0];
}

/* However slow the host is, a kernel takes the same device time. */
static void a_slow_host_does_not_distort_time(void **state)
{
	struct bench b = { 0 };
	uint64_t fast, slow;

	(void)state;
	start(&b, 1, 0);
	fast = stopwatch(&b, 0);
	slow = stopwatch(&b, 2000);
	assert_true(fast > 5000);
	assert_int_equal(fast, slow);
	end(&b);
}

static void an_idle_device_keeps_the_hosts_time(void **state)
{
	struct bench b = { 0 };
	uint64_t host, device;

	(void)state;
	start(&b, 1, 0);
	host = gp__clock_ns();
	device = gfx9_gpu_clock(b.gpu);
	usleep(20000);
	device = gfx9_gpu_clock(b.gpu) - device;
	host = gp__clock_ns() - host;
	assert_true(device >= 20000000 && device <= host);
	end(&b);
}

/*
 * All at once: queues with different kernels, each stopped and started at random.
 */

#define ITEMS 4096
#define SHAKES 400

struct adder {
	struct {
		uint64_t a, b, c;
		uint32_t n;
	} args;
	struct task task;
	uint32_t seed;
};

static void add_again(struct bench *b, int queue, struct adder *s)
{
	uint32_t *x = machine_at(b->m, s->args.a), *y = machine_at(b->m, s->args.b);

	s->seed++;
	for (uint32_t i = 0; i < ITEMS; i++) {
		x[i] = i * s->seed;
		y[i] = i ^ s->seed;
	}
	dispatch(b, queue, &s->task, "vector_add", ITEMS / 256, 256, &s->args, sizeof(s->args));
}

static void check_sum(struct bench *b, const struct adder *s)
{
	const uint32_t *z = machine_at(b->m, s->args.c);

	assert_int_equal(s->task.result, 0);
	for (uint32_t i = 0; i < ITEMS; i++)
		assert_int_equal(z[i], i * s->seed + (i ^ s->seed));
}

static void shaken(int threads)
{
	struct bench b = { .config = { .cwsr = true, .slice = 7 } };
	struct adder s[3] = { 0 };
	uint64_t mark, runs = 0;
	uint32_t random = 1;

	start(&b, 3, threads);
	for (int i = 0; i < 3; i++) {
		s[i].args.a = machine_alloc(b.m, ITEMS * 4);
		s[i].args.b = machine_alloc(b.m, ITEMS * 4);
		s[i].args.c = machine_alloc(b.m, ITEMS * 4);
		s[i].args.n = ITEMS;
		s[i].task.result = PENDING;
	}
	mark = b.m->used;
	for (int i = 0; i < 3; i++)
		add_again(&b, i, &s[i]);
	for (int k = 0; k < SHAKES; k++) {
		int i = (int)((random = random * 1664525 + 1013904223) >> 16) % 3;

		assert_int_equal(stop(&b, i, random >> 28 & 1 ? EMU_STOP_SAVE : EMU_STOP_DRAIN), 0);
		pass_time(&b);
		gfx9_gpu_go(b.gpu, &b.q[i]);
		pass_time(&b);
		for (int n = 0; n < 3; n++) {
			if (s[n].task.result == PENDING)
				continue;
			check_sum(&b, &s[n]);
			runs++;
			add_again(&b, n, &s[n]);
		}
		if (b.m->used > MEMORY / 4 * 3)
			b.m->used = mark; /* packets of long ago */
	}
	for (int i = 0; i < 3; i++) {
		assert_int_equal(result_of(&b, &s[i].task), 0);
		check_sum(&b, &s[i]);
	}
	assert_true(runs > 3);
	end(&b);
}

#define BOTH(name)                                    \
	static void name##_turn_by_turn(void **state) \
	{                                             \
		(void)state;                          \
		name(0);                              \
	}                                             \
	static void name##_on_threads(void **state)   \
	{                                             \
		(void)state;                          \
		name(2);                              \
	}

BOTH(queues_share_the_compute_units)
BOTH(drain_finishes_resident_groups)
BOTH(save_makes_room_at_once)
BOTH(a_drain_can_become_a_save)
BOTH(reset_drops_the_queues_work_alone)
BOTH(without_context_save_a_save_is_a_drain)
BOTH(the_higher_priority_starts_first)
BOTH(workgroups_keep_to_the_mask)
BOTH(workgroups_go_round_the_xccs)
BOTH(unmapped_memory_is_let_go)
BOTH(shaken)

static void an_impossible_gpu_is_refused(void **state)
{
	(void)state;
	assert_null(gfx9_gpu_new(&(struct emu_gpu_config){ .nr_xccs = 1, .xcc_cus = 0 }));
	assert_null(gfx9_gpu_new(&(struct emu_gpu_config){ .nr_xccs = 9, .xcc_cus = 1 }));
	assert_null(gfx9_gpu_new(&(struct emu_gpu_config){ .nr_xccs = 8, .xcc_cus = 41 }));
}

int main(int argc, char **argv)
{
#define B(name) cmocka_unit_test(name##_turn_by_turn), cmocka_unit_test(name##_on_threads)
	const struct CMUnitTest tests[] = {
		B(queues_share_the_compute_units),
		B(drain_finishes_resident_groups),
		B(save_makes_room_at_once),
		B(a_drain_can_become_a_save),
		B(reset_drops_the_queues_work_alone),
		B(without_context_save_a_save_is_a_drain),
		B(the_higher_priority_starts_first),
		B(workgroups_keep_to_the_mask),
		B(workgroups_go_round_the_xccs),
		B(unmapped_memory_is_let_go),
		B(shaken),
		cmocka_unit_test(threads_do_not_say_where_workgroups_run),
		cmocka_unit_test(threads_do_not_say_how_far_workgroups_come),
		cmocka_unit_test(a_slow_host_does_not_distort_time),
		cmocka_unit_test(an_idle_device_keeps_the_hosts_time),
		cmocka_unit_test(an_impossible_gpu_is_refused),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: %s CODE_OBJECT\n", argv[0]);
		return 2;
	}
	path = argv[1];
	target = machine_target(path);
	return cmocka_run_group_tests_name(path, tests, NULL, NULL);
}
