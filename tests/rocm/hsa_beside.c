// SPDX-License-Identifier: MIT
/*
 * libgpreempt's own queues beside the runtime's in one process: each has its own memory and
 * commands on the GPU, and stops of one do not affect the other.
 *
 * Usage: hsa_beside CODE [first], with the emulator's kernels in CODE. With first, ours are created
 * before the runtime is initialised.
 */
#include <errno.h>
#include <gpreempt/kfd.h>
#include <stdio.h>
#include <string.h>

#include "hsa_test.h"

#define COMMANDS 64
#define LANES 64

struct fill_args {
	uint64_t table, wrong;
	uint32_t id, rounds;
};

static struct gp_error err;

static void must(int rc)
{
	lab_check(!rc, "%s (%d)", err.message, rc);
}

/* Work in the runtime's queue. */
static void add_in_runtime(struct lab *lab, hsa_queue_t *queue)
{
	enum { N = 1024 };
	uint32_t *a = lab_alloc(lab, lab->fine, 3 * N * sizeof(*a)), *b = a + N, *c = b + N;
	struct {
		void *a, *b, *c;
		uint32_t n;
	} args = { a, b, c, N };

	for (uint32_t i = 0; i < N; i++) {
		a[i] = i;
		b[i] = 5 * i;
	}
	lab_run(lab, queue, "vector_add", N, &args, sizeof(args));
	for (uint32_t i = 0; i < N; i++)
		lab_check(c[i] == 6 * i, "the runtime's sum %u is %u", i, c[i]);
	lab_free(a);
}

/* Work in our queue, with the runtime's in between, and stopped at each turn. */
static void fill_in_ours(struct lab *lab, hsa_queue_t *theirs, struct gp_kfd *gpu, uint64_t kernel,
			 int level)
{
	struct gp_kfd_queue_options hw = GP_KFD_QUEUE_OPTIONS_INIT;
	struct gp_queue_options options = GP_QUEUE_OPTIONS_INIT;
	struct gp_kfd_command c[COMMANDS];
	struct gp_kfd_queue *hwq;
	struct gp_queue *queue;
	struct fill_args *args;
	uint32_t *table;
	void *at[2];

	hw.flags = GP_KFD_QUEUE_IDEMPOTENT;
	hw.level2 = GP_KFD_LEVEL2_FLUSH;
	options.level = level;
	options.flags = GP_QUEUE_STRICT_LEVEL;
	must(gp_kfd_queue_create(gpu, &hw, &hwq, &err));
	must(gp_queue_create(gp_kfd_ops(hwq), hwq, &options, &queue, &err));
	must(gp_kfd_alloc(gpu, COMMANDS * sizeof(*args), &at[0], &err));
	must(gp_kfd_alloc(gpu, (COMMANDS + 1) * LANES * sizeof(*table), &at[1], &err));
	args = at[0];
	table = (uint32_t *)at[1] + LANES;
	for (uint32_t i = 0; i < COMMANDS; i++) {
		args[i] = (struct fill_args){ (uint64_t)table, (uint64_t)at[1], i, 500 };
		c[i] = (struct gp_kfd_command)GP_KFD_COMMAND_INIT;
		c[i].kernel = kernel;
		c[i].kernarg = &args[i];
		c[i].grid[0] = c[i].group[0] = LANES;
		must(gp_queue_submit(queue, &c[i], NULL));
		if (i % 8)
			continue;
		must(gp_queue_suspend(queue, 0, -1, NULL, &err));
		add_in_runtime(lab, theirs);
		must(gp_queue_resume(queue, &err));
	}
	must(gp_queue_wait_all(queue, -1));
	for (uint32_t i = 0; i < COMMANDS * LANES; i++)
		lab_check(table[i] == (i / LANES + i % LANES) * 1664525 + 1013904223,
			  "level %d: command %u was not done", level, i / LANES);
	lab_check(!*(uint32_t *)at[1], "level %d: commands out of order", level);
	gp_queue_destroy(queue);
	gp_kfd_queue_destroy(hwq);
	gp_kfd_free(gpu, at[0]);
	gp_kfd_free(gpu, at[1]);
}

int main(int argc, char **argv)
{
	struct gp_kfd_info info = GP_KFD_INFO_INIT;
	struct gp_kfd_code *code;
	struct gp_kfd *gpu;
	hsa_queue_t *queue;
	struct lab lab;
	uint64_t kernel;

	lab_check(argc == 2 || argc == 3, "usage: hsa_beside CODE [first]");
	if (argc == 3)
		must(gp_kfd_open(0, &gpu, &err));
	lab_open(&lab);
	queue = lab_queue(&lab, 256);
	add_in_runtime(&lab, queue);
	if (argc == 2)
		must(gp_kfd_open(0, &gpu, &err));
	gp_kfd_info(gpu, &info);
	lab_check(info.shared == 1, "the GPU is not shared with the runtime");
	must(gp_kfd_load(gpu, argv[1], &code, &err));
	must(gp_kfd_kernel(code, "fill", &kernel, &err));
	for (int level = 1; level <= 3; level++)
		fill_in_ours(&lab, queue, gpu, kernel, level);
	gp_kfd_unload(code);
	must(gp_kfd_close(gpu));
	add_in_runtime(&lab, queue);
	lab_must(hsa_queue_destroy(queue));
	lab_close(&lab);
	puts("both were right");
	return 0;
}
