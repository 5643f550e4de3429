// SPDX-License-Identifier: MIT
/*
 * Kernels compiled by clang, on the engine: the same bits as computed on the host. The code object
 * is named by argument; the target is in its name.
 */
#include "../unit/test.h"

#include "cases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MEMORY ((uint64_t)256 << 20)

static const char *path;
static enum gfx9_target target;

static int setup(void **state)
{
	*state = machine_new(target, MEMORY, path);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	machine_free(*state);
	return 0;
}

static void run(struct machine *m, const struct kernel_case *k)
{
	uint64_t args[CASE_ARGS_MAX / 8], mark = m->used;
	struct gfx9_report r = { 0 };
	uint32_t wrong;
	int err;

	k->prepare(m, args);
	err = machine_run(m, k->name, k->grid, k->group, args, sizeof(args), &r);
	if (err)
		fail_msg("%s: error %d, stop %d at pc %#llx (image + %#llx), words %08x %08x, "
			 "address %#llx",
			 k->name, err, r.stop, (unsigned long long)r.pc,
			 (unsigned long long)(r.pc - m->image), r.words[0], r.words[1],
			 (unsigned long long)r.fault.address);
	wrong = k->check(m, args);
	if (wrong != CASE_RIGHT)
		fail_msg("%s: element %u is wrong", k->name, wrong);
	m->used = mark;
}

static void run_all(struct machine *m)
{
	for (unsigned int i = 0; i < nr_kernel_cases; i++)
		run(m, &kernel_cases[i]);
}

static const struct kernel_case *case_of(const char *name)
{
	const struct kernel_case *k = kernel_cases;

	while (strcmp(k->name, name))
		k++;
	return k;
}

static void every_kernel(void **state)
{
	run_all(*state);
}

/* The same bits whatever the slice of waves is: a single instruction is the hardest. */
static void slices_change_nothing(void **state)
{
	struct machine *m = *state;

	for (uint64_t slice = 1; slice < 40; slice += 6) {
		m->config.slice = slice;
		run(m, case_of("scan"));
		run(m, case_of("reduction"));
		run(m, case_of("calls"));
	}
}

/* The room of a workgroup on the compute units is released when it leaves. */
static void many_runs_leave_nothing_behind(void **state)
{
	struct machine *m = *state;

	for (int i = 0; i < 50; i++)
		run(m, case_of("scan"));
	assert_true(gfx9_gpu_idle(m->gpu));
}

/* Waves are saved and restored on other compute units while every kernel runs: the same bits. */
static void interrupted(void **state, uint64_t slice, uint64_t every)
{
	struct machine *m = *state;

	m->config.slice = slice;
	m->preempt = every;
	run_all(m);
}

static void interrupted_now_and_then(void **state)
{
	struct machine *m = *state;

	interrupted(state, 97, 5);
	assert_true(m->queue.context[0].nr_waves > 100);
}

static void interrupted_often(void **state)
{
	interrupted(state, 13, 1);
}

static void a_bad_address_is_reported(void **state)
{
	enum { ITEMS = 1000 };
	struct machine *m = *state;
	struct {
		uint64_t a, b, c;
		uint32_t n;
	} args = { machine_alloc(m, ITEMS * 4), 0x1234, machine_alloc(m, ITEMS * 4), ITEMS };
	struct gfx9_report r;

	assert_int_equal(machine_run(m, "vector_add", ITEMS, 256, &args, sizeof(args), &r), -EIO);
	assert_int_equal(r.stop, GFX9_FAULT);
	assert_true(r.fault.address >= 0x1234 && r.fault.address < 0x1234 + ITEMS * 4);
	assert_false(r.fault.write);
	assert_true(r.pc > m->image && r.pc < m->image + m->object.size);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(every_kernel),
		T(slices_change_nothing),
		T(many_runs_leave_nothing_behind),
		T(interrupted_now_and_then),
		T(interrupted_often),
		T(a_bad_address_is_reported),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: %s CODE_OBJECT\n", argv[0]);
		return 2;
	}
	path = argv[1];
	target = machine_target(path);
	return cmocka_run_group_tests_name(path, tests, NULL, NULL);
}
