// SPDX-License-Identifier: MIT
/*
 * Global wave sync: waves of one queue synchronise across all compute units, also while the queue
 * is stopped and started.
 */
#include "kfd_bench.h"

#include "base/clock.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define GROUPS 16
#define GROUP_ITEMS 128

static const char *path;
static enum gfx9_target target;

struct setup {
	struct bench b;
	struct bench_process p;
	struct bench_queue q;
	_Atomic uint32_t *bad;
	uint64_t state_va, bad_va;
};

static struct setup *start(bool cwsr, bool with_gws)
{
	struct gp_kfd_alloc_queue_gws args = { .num_gws = 1, .first_gws = 99 };
	struct setup *s = calloc(1, sizeof(*s));
	void *state;

	assert_non_null(s);
	s->b.config.cwsr = cwsr;
	bench_start(&s->b, target, path);
	bench_process_start(&s->b, &s->p, getpid());
	assert_int_equal(bench_queue(&s->p, &s->q, GP_KFD_QUEUE_COMPUTE_AQL, 64), 0);
	args.queue_id = s->q.id;
	if (with_gws) {
		assert_int_equal(emu_alloc_queue_gws(&s->p.call, &args), 0);
		assert_int_equal(args.first_gws, 0);
		assert_int_equal(emu_alloc_queue_gws(&s->p.call, &args), -EBUSY);
	}
	s->state_va = bench_alloc(&s->p, 4096, &state);
	s->bad_va = bench_alloc(&s->p, 64, &s->bad);
	return s;
}

static void end(struct setup *s)
{
	bench_process_end(&s->p);
	bench_end(&s->b);
	free(s);
}

static struct bench_signal *push(struct setup *s, const char *kernel, uint32_t groups,
				 const void *args, size_t size)
{
	struct bench_signal *done;
	union aql_packet packet = bench_dispatch(&s->p, kernel, groups, GROUP_ITEMS, args, size,
						 bench_signal(&s->p, 1, &done));

	bench_push(&s->q, &packet);
	return done;
}

static void init(struct setup *s, uint32_t value)
{
	struct bench_signal *done;
	union aql_packet packet = bench_dispatch(&s->p, "gws_init", 1, 64, &value, sizeof(value),
						 bench_signal(&s->p, 1, &done));

	bench_push(&s->q, &packet);
	assert_true(bench_wait(&done->value, 0));
}

/* @launched workgroups of a barrier of @groups. */
static struct bench_signal *push_rounds(struct setup *s, uint32_t launched, uint32_t groups,
					uint32_t rounds)
{
	struct {
		uint64_t state, bad;
		uint32_t groups, rounds;
	} args = { s->state_va, s->bad_va, groups, rounds };

	return push(s, "gws_rounds", launched, &args, sizeof(args));
}

/* No instruction is executed any more: every wave waits. */
static bool stands_still(struct setup *s)
{
	uint64_t deadline = gp__clock_ns() + BENCH_TIMEOUT, insts;

	do {
		insts = gfx9_gpu_insts(bench_gpu(&s->b));
		usleep(20000);
		if (gfx9_gpu_insts(bench_gpu(&s->b)) == insts)
			return true;
	} while (gp__clock_ns() < deadline);
	return false;
}

static void all_workgroups_meet(void **unused)
{
	struct setup *s = start(true, true);
	struct bench_signal *done;

	init(s, GROUPS - 1);
	done = push_rounds(s, GROUPS, GROUPS, 100);
	assert_true(bench_wait(&done->value, 0));
	assert_int_equal(atomic_load(s->bad), 0);
	end(s);
	(void)unused;
}

/* Waiting waves execute nothing, can be saved, and still wait for the missing one. */
static void a_wave_that_waits_can_be_saved(void **unused)
{
	struct setup *s = start(true, true);
	struct bench_signal *done, *last;

	init(s, GROUPS - 1);
	done = push_rounds(s, GROUPS - 1, GROUPS, 1);
	for (int i = 0; i < 3; i++) {
		assert_true(stands_still(s));
		assert_int_equal(atomic_load(&done->value), 1);
		assert_int_equal(bench_hold(&s->q, EMU_HELD_PREEMPTED, EMU_STOP_SAVE), 0);
		assert_true(gfx9_gpu_idle(bench_gpu(&s->b)));
		assert_int_equal(bench_release(&s->q, EMU_HELD_PREEMPTED), 0);
	}
	last = push_rounds(s, 1, GROUPS, 1);
	assert_true(bench_wait(&done->value, 0));
	assert_true(bench_wait(&last->value, 0));
	end(s);
	(void)unused;
}

static void stopped_at_random_all_still_meet(void **unused)
{
	struct setup *s = start(true, true);
	struct bench_signal *done;

	init(s, GROUPS - 1);
	done = push_rounds(s, GROUPS, GROUPS, 10000);
	for (int stops = 0; atomic_load(&done->value) && stops < 50; stops++) {
		usleep((unsigned int)rand() % 1000);
		assert_int_equal(bench_hold(&s->q, EMU_HELD_PREEMPTED, EMU_STOP_SAVE), 0);
		assert_int_equal(bench_release(&s->q, EMU_HELD_PREEMPTED), 0);
	}
	assert_true(bench_wait(&done->value, 0));
	assert_int_equal(atomic_load(s->bad), 0);
	end(s);
	(void)unused;
}

static void semaphores_count(void **unused)
{
	struct setup *s = start(true, true);
	struct {
		uint64_t taken;
		uint32_t nr;
	} args = { s->bad_va, 3 + 4 };
	struct bench_signal *done = push(s, "gws_semaphore", 6, &args, sizeof(args));

	assert_true(bench_wait(&done->value, 0));
	assert_int_equal(atomic_load(s->bad), args.nr);
	end(s);
	(void)unused;
}

static void a_semaphore_releases_all(void **unused)
{
	struct setup *s = start(true, true);
	const uint64_t args[] = { s->bad_va, s->bad_va + 4 };
	struct bench_signal *done = push(s, "gws_release_all", GROUPS, args, sizeof(args));

	assert_true(bench_wait32(s->bad, GROUPS - 1));
	assert_int_equal(bench_hold(&s->q, EMU_HELD_PREEMPTED, EMU_STOP_SAVE), 0);
	assert_int_equal(bench_release(&s->q, EMU_HELD_PREEMPTED), 0);
	usleep(20000); /* all of them wait again */
	atomic_store(s->bad + 1, 1);
	assert_true(bench_wait(&done->value, 0));
	end(s);
	(void)unused;
}

/* Waves that wait for ever are dropped with their queue. */
static void a_queue_with_waiting_waves_can_be_destroyed(void **unused)
{
	struct setup *s = start(true, true);
	struct bench_signal *done;

	init(s, GROUPS - 1);
	push_rounds(s, GROUPS - 1, GROUPS, 1);
	assert_true(stands_still(s));
	assert_int_equal(bench_hold(&s->q, EMU_HELD_PREEMPTED, EMU_STOP_RESET), 0);
	assert_int_equal(bench_release(&s->q, EMU_HELD_PREEMPTED), 0);
	init(s, GROUPS - 1);
	done = push_rounds(s, GROUPS, GROUPS, 10);
	assert_true(bench_wait(&done->value, 0));
	init(s, GROUPS - 1);
	push_rounds(s, GROUPS - 1, GROUPS, 1);
	assert_true(stands_still(s));
	bench_destroy(&s->q);
	assert_true(gfx9_gpu_idle(bench_gpu(&s->b)));
	end(s);
	(void)unused;
}

/* Without a trap handler a refused wave continues; with one that has no second level it halts. */
static void a_queue_without_gws_is_refused(void **unused)
{
	bool with_gws = target == GFX9_TARGET_GFX942; /* which has it as a formality */
	struct setup *s = start(false, with_gws);
	uint32_t value = 0;
	struct bench_signal *done;

	init(s, 0);
	end(s);
	s = start(true, with_gws);
	done = push(s, "gws_init", 1, &value, sizeof(value));
	assert_true(stands_still(s));
	assert_int_equal(atomic_load(&done->value), 1);
	end(s);
	(void)unused;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest refusal[] = {
		cmocka_unit_test(a_queue_without_gws_is_refused),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_queue_without_gws_is_refused),
		cmocka_unit_test(all_workgroups_meet),
		cmocka_unit_test(a_wave_that_waits_can_be_saved),
		cmocka_unit_test(stopped_at_random_all_still_meet),
		cmocka_unit_test(semaphores_count),
		cmocka_unit_test(a_semaphore_releases_all),
		cmocka_unit_test(a_queue_with_waiting_waves_can_be_destroyed),
	};

	if (argc != 2)
		return 77;
	path = argv[1];
	target = machine_target(path);
	if (target == GFX9_TARGET_GFX942)
		return cmocka_run_group_tests(refusal, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
