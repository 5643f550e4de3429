// SPDX-License-Identifier: MIT
/*
 * Waves that trap, halt and change their own code, also while they are saved and restored.
 *
 *     test_gfx9_trap ASSEMBLY [HANDLER]
 */
#include "../unit/test.h"

#include "handler.h"
#include "lab.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MEMORY ((uint64_t)256 << 20)
#define TMA_OFFSET 0x1800

static const char *assembly;
static enum gfx9_target target;
static struct lab lab;

static struct machine *new_machine(void)
{
	struct machine *m = machine_new(target, MEMORY, assembly);

	assert_non_null(m);
	handler_use(m);
	return m;
}

/*
 * Traps: each round has three, of numbers 5, 7 and 0x21
 */

#define TRAP_ITEMS 128
#define TRAP_ROUNDS 9

struct traps {
	struct machine *m;
	struct {
		uint64_t out;
		uint32_t rounds;
	} args;
	uint64_t marks; /* of the second-level handler; 0: there is none */
};

static void traps_open(struct traps *t, bool second_level)
{
	t->m = new_machine();
	t->args.out = machine_alloc(t->m, TRAP_ITEMS * 16);
	t->args.rounds = TRAP_ROUNDS;
	t->marks = 0;
	if (second_level) {
		uint64_t *tma = machine_at(t->m, t->m->tba + TMA_OFFSET);

		t->marks = machine_alloc(t->m, 4096);
		tma[0] = machine_symbol(t->m, "second_level");
		tma[1] = t->marks;
	}
	assert_int_equal(lab_open(&lab, t->m, "traps", TRAP_ITEMS, 64, &t->args, sizeof(t->args)),
			 0);
}

static void traps_check(struct traps *t)
{
	const uint32_t *out = machine_at(t->m, t->args.out);

	for (uint32_t i = 0; i < TRAP_ITEMS; i++) {
		assert_int_equal(out[4 * i], t->marks ? 3 * TRAP_ROUNDS : 0);
		assert_int_equal(out[4 * i + 1], TRAP_ROUNDS);
		assert_int_equal(out[4 * i + 2], i % 64 + 3 * TRAP_ROUNDS);
	}
	for (uint32_t n = 0; t->marks && n < 256; n++) {
		const uint32_t *mark = machine_at(t->m, t->marks);

		assert_int_equal(mark[n], n == 5 || n == 7 || n == 0x21 ? n : 0);
	}
}

static void traps_close(struct traps *t)
{
	lab_close(&lab);
	machine_free(t->m);
}

static void run_traps(bool second_level)
{
	struct traps t;

	traps_open(&t, second_level);
	while (lab_step(&lab, 5))
		;
	assert_int_equal(lab.job.failed, 0);
	traps_check(&t);
	traps_close(&t);
}

static void a_trap_is_stepped_over(void **state)
{
	(void)state;
	run_traps(false);
}

static void a_trap_reaches_the_second_level(void **state)
{
	(void)state;
	run_traps(true);
}

static void without_a_handler_there_is_no_trap(void **state)
{
	struct traps t;

	(void)state;
	traps_open(&t, true);
	t.marks = 0;
	lab.q.base.tba = lab.q.base.tma = 0;
	while (lab_step(&lab, 5))
		;
	assert_int_equal(lab.job.failed, 0);
	traps_check(&t);
	traps_close(&t);
}

/* Before a trap, at each instruction of both handlers, and behind: at every one in turn. */
static void traps_are_saved(void **state)
{
	uint32_t at = 0, in_handler = 0;
	bool more = true;

	(void)state;
	for (; more; at++) {
		struct traps t;

		traps_open(&t, true);
		for (uint32_t done = 0; (more = lab_step(&lab, 1)) && done < at; done++)
			;
		if (more) {
			assert_int_equal(lab_save(&lab), 0);
			in_handler += lab.shot[0].in_handler;
			lab_restore(&lab);
			assert_string_equal(lab.differs, "");
		}
		while (lab_step(&lab, 1000))
			;
		assert_int_equal(lab.job.failed, 0);
		traps_check(&t);
		traps_close(&t);
	}
	print_message("saved at each of %u instructions, %u of them in a handler\n", at,
		      in_handler);
	assert_true(in_handler > 100);
}

/*
 * Halted
 */

struct halts {
	struct machine *m;
	uint64_t out;
};

static void halts_open(struct halts *h)
{
	h->m = new_machine();
	h->out = machine_alloc(h->m, 8);
	assert_int_equal(lab_open(&lab, h->m, "halts", 128, 64, &h->out, 8), 0);
	for (int i = 0; i < 50; i++)
		assert_true(lab_step(&lab, 100));
}

static void assert_halted(struct halts *h)
{
	const uint32_t *out = machine_at(h->m, h->out);
	uint64_t insts = lab.job.insts;

	for (int i = 0; i < 10; i++)
		assert_true(lab_step(&lab, 100));
	assert_int_equal(lab.job.insts, insts);
	assert_int_equal(out[0], 1);
	assert_int_equal(out[1], 1);
}

static void halts_close(struct halts *h)
{
	lab_close(&lab);
	machine_free(h->m);
}

static void a_halted_wave_stays(void **state)
{
	struct halts h;

	(void)state;
	halts_open(&h);
	assert_halted(&h);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(lab_save(&lab), 0);
		assert_int_equal(lab.nr_shots, 2);
		assert_true(lab.shot[0].halted && lab.shot[1].halted);
		lab_restore(&lab);
		assert_string_equal(lab.differs, "");
		assert_halted(&h);
	}
	halts_close(&h);
}

/* A debugger would write to the record: HALT is a bit of STATUS. */
static void a_halted_wave_goes_on(void **state)
{
	const uint32_t *out;
	struct halts h;

	(void)state;
	halts_open(&h);
	out = machine_at(h.m, h.out);
	assert_int_equal(lab_save(&lab), 0);
	for (struct gfx9_saved_group *s = lab.q.context[0].saved; s; s = s->next) {
		uint64_t block = s->wave[0].record + s->wave[0].bytes - 64 - 128;
		uint32_t *status = machine_at(h.m, block + 4 * 5);

		assert_true(*status & GFX9_STATUS_HALT);
		*status &= ~GFX9_STATUS_HALT;
	}
	lab_restore(&lab);
	assert_string_equal(lab.differs, "status0");
	while (lab_step(&lab, 100))
		;
	assert_int_equal(lab.job.failed, 0);
	assert_int_equal(out[0], 2);
	assert_int_equal(out[1], 2);
	halts_close(&h);
}

struct task {
	struct gfx9_job job;
	_Atomic int result;
};

static void done(struct emu_job *job, int result)
{
	atomic_store(&((struct task *)job)->result, result);
}

static void wait_for(const uint32_t *word, uint32_t value)
{
	for (int i = 0; i < 10000 && *(volatile const uint32_t *)word != value; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* On threads, which are idle then; it cannot be drained, but saved and reset. */
static void a_halted_wave_costs_nothing(void **state)
{
	struct emu_gpu_config config = {
		.target = target, .nr_xccs = 1, .xcc_cus = 2, .threads = 2, .cwsr = true
	};
	struct task t = { .result = 1, .job.base.done = done };
	struct machine *m = new_machine();
	uint64_t out = machine_alloc(m, 4), insts;
	struct gfx9_gpu *gpu = gfx9_gpu_new(&config);

	(void)state;
	assert_non_null(gpu);
	gfx9_gpu_add(gpu, &m->queue);
	assert_int_equal(machine_job(m, &m->queue, &t.job, "halts", 64, 64, &out, 8), 0);
	gfx9_gpu_dispatch(gpu, &t.job);
	wait_for(machine_at(m, out), 1);
	assert_int_equal(gfx9_gpu_stop(gpu, &m->queue, EMU_STOP_DRAIN), EMU_STOP_DRAIN);
	assert_int_equal(gfx9_gpu_wait(gpu, &m->queue, 20000000), -ETIME);
	insts = gfx9_gpu_insts(gpu);
	assert_int_equal(gfx9_gpu_wait(gpu, &m->queue, 20000000), -ETIME);
	assert_int_equal(gfx9_gpu_insts(gpu), insts);
	assert_int_equal(gfx9_gpu_stop(gpu, &m->queue, EMU_STOP_SAVE), EMU_STOP_SAVE);
	assert_int_equal(gfx9_gpu_wait(gpu, &m->queue, 10000000000), 0);
	assert_int_equal(m->queue.context[0].nr_waves, 1);
	gfx9_gpu_go(gpu, &m->queue);
	gfx9_gpu_stop(gpu, &m->queue, EMU_STOP_RESET);
	assert_int_equal(gfx9_gpu_wait(gpu, &m->queue, 10000000000), 0);
	assert_int_equal(t.result, -ECANCELED);
	gfx9_gpu_remove(gpu, &m->queue);
	gfx9_gpu_free(gpu);
	machine_free(m);
}

/*
 * Code that changes
 */

#define PATCH_GROUPS 24

static void patch(struct machine *m, uint32_t rounds)
{
	struct {
		uint64_t out, code;
		uint32_t rounds;
	} args = { machine_alloc(m, PATCH_GROUPS * 4), machine_alloc(m, PATCH_GROUPS * 4096),
		   rounds };
	const uint32_t *out = machine_at(m, args.out);
	struct gfx9_report r;

	assert_int_equal(machine_run(m, "patch", PATCH_GROUPS * 64, 64, &args, sizeof(args), &r),
			 0);
	for (uint32_t i = 0; i < PATCH_GROUPS; i++)
		assert_int_equal(out[i], rounds);
}

static uint32_t nr_retired(const struct gfx9_code *code)
{
	uint32_t n = 0;

	for (int i = 0; i < 2; i++) {
		for (const struct gfx9_code_page *p = code->retired[i]; p; p = p->next_retired)
			n++;
	}
	return n;
}

static void new_code_is_executed(void **state)
{
	struct machine *m = new_machine();

	(void)state;
	for (uint64_t slice = 1; slice < 100; slice += 31) {
		m->config.slice = slice;
		m->preempt = slice == 1 ? 500 : 7;
		patch(m, 20);
	}
	/* The old code is not executed for ever. */
	assert_true(nr_retired(&m->code) < 10 * PATCH_GROUPS);
	machine_free(m);
}

static void new_code_is_executed_on_threads(void **state)
{
	struct machine *m = new_machine();

	(void)state;
	m->config.threads = 3;
	for (uint64_t slice = 3; slice < 1000; slice *= 7) {
		m->config.slice = slice;
		patch(m, 30);
	}
	assert_true(nr_retired(&m->code) < 100 * PATCH_GROUPS);
	machine_free(m);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trap_is_stepped_over),
		cmocka_unit_test(a_trap_reaches_the_second_level),
		cmocka_unit_test(without_a_handler_there_is_no_trap),
		cmocka_unit_test(traps_are_saved),
		cmocka_unit_test(a_halted_wave_stays),
		cmocka_unit_test(a_halted_wave_goes_on),
		cmocka_unit_test(a_halted_wave_costs_nothing),
		cmocka_unit_test(new_code_is_executed),
		cmocka_unit_test(new_code_is_executed_on_threads),
	};

	if (argc < 2) {
		fprintf(stderr, "usage: %s ASSEMBLY [HANDLER]\n", argv[0]);
		return 2;
	}
	assembly = argv[1];
	target = machine_target(assembly);
	if (argc > 2 && !handler_read(argv[2]))
		return 77;
	lab.four_lose_agprs = handler_is_other();
	return cmocka_run_group_tests_name(assembly, tests, NULL, NULL);
}
