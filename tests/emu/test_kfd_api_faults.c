// SPDX-License-Identifier: MIT
/*
 * gpreempt/kfd.h with faults: no wait is endless, and operations that failed temporarily are
 * retried.
 *
 * Usage: test_kfd_api_faults CODE reset|hang|memory, as a command of 'gpreempt emu exec' with a
 * machine that has that fault.
 */
#include <errno.h>
#include <gpreempt/kfd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit/test.h"

#define TRIES 200
#define COMMANDS 40
#define LANES 64

static const char *code_path, *fault;

struct lab {
	struct gp_kfd *gpu;
	struct gp_kfd_code *code;
	struct gp_kfd_queue *hwq;
	struct gp_queue *queue;
	void *memory;
	uint64_t gate, fill;
};

/* A machine that is short of memory provides some eventually. */
#define KEEP_TRYING(call)                                    \
	do {                                                 \
		int tries = 0;                               \
		while ((call) == -ENOMEM && tries++ < TRIES) \
			;                                    \
		assert_true(tries < TRIES);                  \
	} while (0)

static void begin(struct lab *lab, int level, int level2)
{
	struct gp_kfd_queue_options hw = GP_KFD_QUEUE_OPTIONS_INIT;
	struct gp_queue_options options = GP_QUEUE_OPTIONS_INIT;

	hw.flags = GP_KFD_QUEUE_IDEMPOTENT;
	hw.level2 = level2;
	options.level = level;
	KEEP_TRYING(gp_kfd_open(0, &lab->gpu, NULL));
	KEEP_TRYING(gp_kfd_load(lab->gpu, code_path, &lab->code, NULL));
	assert_int_equal(gp_kfd_kernel(lab->code, "gate", &lab->gate, NULL), 0);
	assert_int_equal(gp_kfd_kernel(lab->code, "fill", &lab->fill, NULL), 0);
	KEEP_TRYING(gp_kfd_alloc(lab->gpu, 65536, &lab->memory, NULL));
	KEEP_TRYING(gp_kfd_queue_create(lab->gpu, &hw, &lab->hwq, NULL));
	assert_non_null(lab->hwq);
	assert_int_equal(
		gp_queue_create(gp_kfd_ops(lab->hwq), lab->hwq, &options, &lab->queue, NULL), 0);
}

static void end(struct lab *lab)
{
	gp_queue_destroy(lab->queue);
	gp_kfd_queue_destroy(lab->hwq);
	gp_kfd_free(lab->gpu, lab->memory);
	gp_kfd_unload(lab->code);
	assert_int_equal(gp_kfd_close(lab->gpu), 0);
}

static struct gp_kfd_command command(uint64_t kernel, const void *kernarg)
{
	struct gp_kfd_command c = GP_KFD_COMMAND_INIT;

	c.kernel = kernel;
	c.kernarg = kernarg;
	c.grid[0] = c.group[0] = LANES;
	return c;
}

/* The gate never opens, and the GPU is reset, by itself or for a stop that does not end. */
static void test_work_lost_in_a_reset_ends_with_an_error(void **state)
{
	struct lab lab = { 0 };
	struct gp_kfd_command c[2], later = GP_KFD_COMMAND_INIT;
	uint64_t ticket[2], *args;

	(void)state;
	if (!strcmp(fault, "memory")) {
		print_message("not with this fault\n");
		skip();
	}
	begin(&lab, 3, 0);
	args = lab.memory;
	for (int i = 0; i < 4; i++)
		args[i] = (uint64_t)&args[8 + i];
	for (int i = 0; i < 2; i++) {
		c[i] = command(lab.gate, args);
		assert_int_equal(gp_queue_submit(lab.queue, &c[i], &ticket[i]), 0);
	}
	if (!strcmp(fault, "hang"))
		assert_int_not_equal(gp_queue_suspend(lab.queue, 0, -1, NULL, NULL), 0);
	assert_int_equal(gp_queue_wait(lab.queue, ticket[0], -1), -EIO);
	assert_int_equal(gp_queue_wait(lab.queue, ticket[1], -1), -EIO);
	assert_int_equal(gp_queue_submit(lab.queue, &later, &ticket[0]), 0);
	assert_int_equal(gp_queue_wait(lab.queue, ticket[0], -1), -EIO);
	end(&lab);
}

/* A queue that was destroyed for a flush cannot be created again at the moment. */
static void test_a_queue_that_cannot_come_back_yet_comes_back(void **state)
{
	struct lab lab = { 0 };
	struct gp_queue_stats stats = GP_QUEUE_STATS_INIT;
	struct gp_kfd_queue_info info = GP_KFD_QUEUE_INFO_INIT;
	struct gp_kfd_command c[COMMANDS];
	uint32_t *table;
	struct {
		uint64_t table, wrong;
		uint32_t id, rounds;
	} * args;

	(void)state;
	if (strcmp(fault, "memory") != 0) {
		print_message("not with this fault\n");
		skip();
	}
	begin(&lab, 2, GP_KFD_LEVEL2_FLUSH);
	args = lab.memory;
	table = (uint32_t *)((char *)lab.memory + 8192);
	for (uint32_t i = 0; i < COMMANDS; i++) {
		args[i].table = (uint64_t)table;
		args[i].wrong = (uint64_t)lab.memory + 4096;
		args[i].id = i;
		args[i].rounds = 2000;
		c[i] = command(lab.fill, &args[i]);
		assert_int_equal(gp_queue_submit(lab.queue, &c[i], NULL), 0);
		assert_int_equal(gp_queue_suspend(lab.queue, 0, -1, NULL, NULL), 0);
		gp_queue_resume(lab.queue, NULL);
	}
	assert_int_equal(gp_queue_wait_all(lab.queue, -1), 0);
	gp_queue_stats(lab.queue, &stats);
	assert_int_equal(stats.failed, 0);
	assert_int_equal(*(uint32_t *)((char *)lab.memory + 4096), 0);
	for (uint32_t i = 0; i < COMMANDS * LANES; i++)
		assert_int_equal(table[i], (i / LANES + i % LANES) * 1664525 + 1013904223);
	gp_kfd_queue_info(lab.hwq, &info);
	print_message("%d flushes, %d times not at once\n", (int)info.flushes,
		      (int)stats.resume_retries);
	assert_true(stats.resume_retries > 0);
	end(&lab);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work_lost_in_a_reset_ends_with_an_error),
		cmocka_unit_test(test_a_queue_that_cannot_come_back_yet_comes_back),
	};

	if (argc != 3) {
		fprintf(stderr, "usage: %s CODE reset|hang|memory\n", argv[0]);
		return 2;
	}
	code_path = argv[1];
	fault = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
