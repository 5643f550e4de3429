// SPDX-License-Identifier: MIT
/*
 * Several queues share the compute units, each with kernel after kernel, and each is stopped and
 * released at random: the results are the same. Failing saves are tested, too.
 *
 *     test_gfx9_switch KERNELS [HANDLER]
 */
#include "../unit/test.h"

#include "cases.h"
#include "emu/gfx9/group.h"
#include "handler.h"
#include "reader.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define MEMORY ((uint64_t)768 << 20)
#define SECOND ((uint64_t)1000000000)
#define QUEUES 3
#define PENDING 1

static const char *kernels;
static enum gfx9_target target;

static struct machine *new_machine(void)
{
	struct machine *m = machine_new(target, MEMORY, kernels);

	assert_non_null(m);
	handler_use(m);
	return m;
}

static void open_queue(struct machine *m, struct gfx9_gpu *gpu, struct gfx9_queue *q)
{
	machine_queue(m, q);
	q->poison = true; /* no correct result by chance */
	gfx9_gpu_add(gpu, q);
}

static void close_queue(struct gfx9_gpu *gpu, struct gfx9_queue *q)
{
	gfx9_gpu_stop(gpu, q, EMU_STOP_RESET);
	while (gfx9_gpu_wait(gpu, q, 0) == -ETIME)
		gfx9_gpu_step(gpu);
	gfx9_gpu_remove(gpu, q);
	for (int i = 0; i < GFX9_SCRATCH_WORDS; i++)
		assert_int_equal(q->scratch_slots[i], 0);
	gfx9_queue_destroy(q);
}

/* A queue with the kernel it runs now. */
struct rider {
	struct gfx9_job job;
	_Atomic int result;
	struct gfx9_queue q;
	const struct kernel_case *k;
	uint64_t args[CASE_ARGS_MAX / 8];
	uint32_t nr_done;
	bool stopped, saving;
};

static void done(struct emu_job *job, int result)
{
	atomic_store(&((struct rider *)job)->result, result);
}

static uint32_t draw(uint64_t *rng)
{
	*rng = *rng * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*rng >> 33);
}

static void dispatch(struct machine *m, struct gfx9_gpu *gpu, struct rider *r,
		     const struct kernel_case *k)
{
	r->k = k;
	r->result = PENDING;
	r->job.base.done = done;
	k->prepare(m, r->args);
	assert_int_equal(machine_job(m, &r->q, &r->job, k->name, k->grid, k->group, r->args,
				     sizeof(r->args)),
			 0);
	gfx9_gpu_dispatch(gpu, &r->job);
}

static void check(struct machine *m, struct rider *r)
{
	uint32_t wrong;

	if (r->result)
		fail_msg("%s: error %d, stop %d at %#llx", r->k->name, r->result,
			 r->job.report.stop, (unsigned long long)r->job.report.pc);
	wrong = r->k->check(m, r->args);
	if (wrong != CASE_RIGHT)
		fail_msg("%s: element %u is wrong", r->k->name, wrong);
	r->nr_done++;
}

/* The slice of each XCC describes all waves that were saved from it. */
static void assert_described(struct machine *m, const struct gfx9_context *c)
{
	const struct gfx9_saved_group *s;
	uint32_t saved = 0, found = 0;
	struct record r;
	struct walk k;

	for (s = c->saved; s; s = s->next)
		saved += s->nr_waves;
	assert_true(walk_begin(&k, m, c->area));
	while (walk_on(&k, &r))
		found++;
	assert_true(walk_is_complete(&k));
	assert_int_equal(found, saved);
}

static void let_go(struct machine *m, struct gfx9_gpu *gpu, struct rider *r,
		   const struct emu_gpu_config *config)
{
	for (uint32_t i = 0; r->saving && i < config->nr_xccs; i++)
		assert_described(m, &r->q.context[i]);
	gfx9_gpu_go(gpu, &r->q);
	r->stopped = false;
}

/* Stops it in some way, or lets it continue, at random. */
static void disturb(struct machine *m, struct gfx9_gpu *gpu, struct rider *r, uint64_t *rng,
		    const struct emu_gpu_config *config)
{
	uint32_t n = draw(rng);

	if (!r->stopped && n % 4 == 0) {
		r->saving = n % 64;
		gfx9_gpu_stop(gpu, &r->q, r->saving ? EMU_STOP_SAVE : EMU_STOP_DRAIN);
		r->stopped = true;
	} else if (r->stopped && gfx9_gpu_wait(gpu, &r->q, 0) == 0 && n % 2 == 0) {
		let_go(m, gpu, r, config);
	} else if (r->stopped && n % 32 == 1) {
		gfx9_gpu_go(gpu, &r->q); /* before it has left */
		r->stopped = false;
	}
}

static uint64_t nr_saved(const struct rider *r)
{
	uint64_t n = 0;

	for (int i = 0; i < EMU_XCCS_MAX; i++)
		n += r->q.context[i].nr_waves;
	return n;
}

/* Every queue runs each kernel once, in its own order. */
static uint64_t ride(const struct emu_gpu_config *config, uint64_t seed)
{
	struct machine *m = new_machine();
	struct gfx9_gpu *gpu = gfx9_gpu_new(config);
	struct rider *riders = calloc(QUEUES, sizeof(*riders));
	uint32_t left = QUEUES * nr_kernel_cases;
	uint64_t rng = seed, saved = 0;

	assert_non_null(gpu);
	assert_non_null(riders);
	for (uint32_t i = 0; i < QUEUES; i++) {
		open_queue(m, gpu, &riders[i].q);
		dispatch(m, gpu, &riders[i], &kernel_cases[i * 5]);
	}
	while (left) {
		struct rider *r = &riders[draw(&rng) % QUEUES];

		if (config->threads)
			sched_yield();
		else
			gfx9_gpu_step(gpu);
		disturb(m, gpu, r, &rng, config);
		if (r->result == PENDING || r->nr_done == nr_kernel_cases)
			continue;
		check(m, r);
		left--;
		if (r->nr_done < nr_kernel_cases)
			dispatch(m, gpu, r,
				 &kernel_cases[((uint32_t)(r - riders) * 5 + r->nr_done * 7) %
					       nr_kernel_cases]);
	}
	for (uint32_t i = 0; i < QUEUES; i++) {
		saved += nr_saved(&riders[i]);
		close_queue(gpu, &riders[i].q);
	}
	assert_true(gfx9_gpu_idle(gpu));
	gfx9_gpu_free(gpu);
	free(riders);
	machine_free(m);
	return saved;
}

static void rides(uint32_t nr_xccs, uint32_t xcc_cus, int threads, uint64_t at_least)
{
	static const uint64_t slices[] = { 1, 7, 50, 400 };
	uint64_t saved = 0;

	/* Whether a queue on threads is found on the compute units depends on the host. */
	for (uint32_t i = 0; i < (threads ? 8 : 4) || (saved < at_least && i < 100); i++) {
		struct emu_gpu_config config = { .target = target,
						 .nr_xccs = nr_xccs,
						 .xcc_cus = xcc_cus,
						 .threads = threads,
						 .slice = slices[i % 4],
						 .cwsr = true };

		saved += ride(&config, 100 * nr_xccs + i);
	}
	print_message("%llu waves saved and restored\n", (unsigned long long)saved);
	assert_true(saved >= at_least);
}

static void queues_of_one_xcc(void **state)
{
	(void)state;
	rides(1, 4, 0, 1000);
}

static void queues_of_several_xccs(void **state)
{
	(void)state;
	rides(3, 2, 0, 1000);
}

static void queues_on_threads(void **state)
{
	(void)state;
	rides(2, 2, 2, 50);
}

/*
 * Failing saves
 */

struct failure {
	struct emu_gpu_config config;
	struct machine *m;
	struct gfx9_gpu *gpu;
	struct rider *r;
};

static const struct kernel_case *case_of(const char *name)
{
	const struct kernel_case *k = kernel_cases;

	while (strcmp(k->name, name))
		k++;
	return k;
}

/* A job with scratch and LDS must release all of it. */
static void failure_open(struct failure *f)
{
	f->config = (struct emu_gpu_config){
		.target = target, .nr_xccs = 1, .xcc_cus = 2, .slice = 20, .cwsr = true
	};
	f->m = new_machine();
	f->gpu = gfx9_gpu_new(&f->config);
	f->r = calloc(1, sizeof(*f->r));
	assert_non_null(f->gpu);
	assert_non_null(f->r);
	open_queue(f->m, f->gpu, &f->r->q);
	dispatch(f->m, f->gpu, f->r, case_of("calls"));
	for (int i = 0; i < 10; i++)
		gfx9_gpu_step(f->gpu);
	assert_int_equal(f->r->result, PENDING);
}

static int stop(struct failure *f)
{
	int err;

	assert_int_equal(gfx9_gpu_stop(f->gpu, &f->r->q, EMU_STOP_SAVE), EMU_STOP_SAVE);
	while ((err = gfx9_gpu_wait(f->gpu, &f->r->q, 0)) == -ETIME)
		gfx9_gpu_step(f->gpu);
	return err;
}

/* The next job of the queue is stopped, too, and its result is right. */
static void assert_goes_on(struct failure *f)
{
	gfx9_gpu_go(f->gpu, &f->r->q);
	dispatch(f->m, f->gpu, f->r, case_of("reduction"));
	for (int i = 0; i < 10; i++)
		gfx9_gpu_step(f->gpu);
	assert_int_equal(stop(f), 0);
	gfx9_gpu_go(f->gpu, &f->r->q);
	while (f->r->result == PENDING)
		gfx9_gpu_step(f->gpu);
	check(f->m, f->r);
	assert_true(gfx9_gpu_idle(f->gpu));
}

static void failure_close(struct failure *f)
{
	close_queue(f->gpu, &f->r->q);
	gfx9_gpu_free(f->gpu);
	free(f->r);
	machine_free(f->m);
}

static void the_area_is_too_small(void **state)
{
	struct gfx9_context *c;
	struct failure f;
	uint64_t size;

	(void)state;
	failure_open(&f);
	c = &f.r->q.context[0];
	size = c->size;
	c->size = c->ctl_bytes + 100000; /* some fit */
	assert_int_equal(stop(&f), -ENOSPC);
	assert_int_equal(f.r->result, -ENOSPC);
	assert_null(c->saved);
	assert_int_equal(c->used, 0);
	c->size = size;
	assert_goes_on(&f);
	failure_close(&f);
}

static void the_control_stack_is_too_small(void **state)
{
	struct gfx9_context *c;
	struct failure f;
	uint32_t bytes;

	(void)state;
	failure_open(&f);
	c = &f.r->q.context[0];
	bytes = c->ctl_bytes;
	c->ctl_bytes = 60; /* three entries */
	assert_int_equal(stop(&f), -ENOSPC);
	assert_int_equal(f.r->result, -ENOSPC);
	c->ctl_bytes = bytes;
	assert_goes_on(&f);
	failure_close(&f);
}

/* s_branch to itself; and s_barrier again and again. */
static void the_handler_never_ends(void **state)
{
	static const uint32_t bad[][2] = { { 0xbf82ffff }, { 0xbf8a0000, 0xbf82fffe } };

	(void)state;
	for (int i = 0; i < 2; i++) {
		static uint8_t good[HANDLER_BYTES_MAX];
		struct failure f;
		void *tba;

		failure_open(&f);
		tba = machine_at(f.m, f.m->tba);
		memcpy(good, tba, sizeof(good));
		memcpy(tba, bad[i], sizeof(bad[i]));
		assert_int_equal(stop(&f), -EIO);
		assert_int_equal(f.r->result, -EIO);
		memcpy(tba, good, sizeof(good));
		gfx9_code_invalidate(&f.m->code);
		assert_goes_on(&f);
		failure_close(&f);
	}
}

/* s_endpgm: some waves return without a record, and are missing only in the result. */
static void the_handler_saves_nothing(void **state)
{
	static const uint32_t bad = 0xbf810000;
	static uint8_t good[HANDLER_BYTES_MAX];
	struct failure f;
	void *tba;

	(void)state;
	failure_open(&f);
	tba = machine_at(f.m, f.m->tba);
	memcpy(good, tba, sizeof(good));
	memcpy(tba, &bad, sizeof(bad));
	assert_int_equal(stop(&f), 0);
	assert_int_equal(f.r->q.context[0].nr_waves, 0);
	memcpy(tba, good, sizeof(good));
	gfx9_code_invalidate(&f.m->code);
	gfx9_gpu_go(f.gpu, &f.r->q);
	while (f.r->result == PENDING)
		gfx9_gpu_step(f.gpu);
	assert_int_equal(f.r->result, 0);
	assert_goes_on(&f);
	failure_close(&f);
}

/* A program that writes to its own save area loses only its own waves. */
static void the_guest_scribbles(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct gfx9_context *c;
		struct failure f;
		uint64_t rng = seed;
		uint8_t *area;
		int steps = 0;

		failure_open(&f);
		c = &f.r->q.context[0];
		assert_int_equal(stop(&f), 0);
		assert_true(c->used > 0);
		area = machine_at(f.m, c->area);
		/* First only the description, then all of it. */
		for (uint64_t i = 0; i < (seed ? c->ctl_bytes + c->used : c->ctl_bytes); i++) {
			if (!seed || draw(&rng) % 97 == 0)
				area[i] = (uint8_t)draw(&rng);
		}
		gfx9_gpu_go(f.gpu, &f.r->q);
		while (f.r->result == PENDING && steps++ < 3000)
			gfx9_gpu_step(f.gpu);
		if (!seed)
			check(f.m, f.r);
		/* Some waves never end. */
		if (f.r->result != PENDING)
			assert_goes_on(&f);
		failure_close(&f);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queues_of_one_xcc),
		cmocka_unit_test(queues_of_several_xccs),
		cmocka_unit_test(queues_on_threads),
		cmocka_unit_test(the_area_is_too_small),
		cmocka_unit_test(the_control_stack_is_too_small),
		cmocka_unit_test(the_handler_never_ends),
		cmocka_unit_test(the_handler_saves_nothing),
		cmocka_unit_test(the_guest_scribbles),
	};

	if (argc < 2) {
		fprintf(stderr, "usage: %s KERNELS [HANDLER]\n", argv[0]);
		return 2;
	}
	kernels = argv[1];
	target = machine_target(kernels);
	if (argc > 2 && !handler_read(argv[2]))
		return 77;
	return cmocka_run_group_tests_name(kernels, tests, NULL, NULL);
}
