// SPDX-License-Identifier: MIT
/*
 * Measures how fast the compute engine of the emulated GPU executes wave instructions: kernels
 * compiled by clang, on one host thread and on two. This is emulation speed, not that of a GPU.
 */
#include "benches.h"

#include "base/clock.h"
#include "emu/gfx9/machine.h"

#include <errno.h>
#include <stdlib.h>

#ifdef GP_EMU_KERNELS

#define MEMORY ((uint64_t)256 << 20)
#define AREA ((uint64_t)1 << 20) /* of each argument that points to memory */
#define ITEMS 65536

/* A kernel with its arguments: 'p' a pointer to an area of its own, 'u' the number, 'f' a float. */
struct load {
	const char *kernel, *args;
	uint32_t number;
	uint32_t grid;
	uint16_t group;
};

/* Large enough that execution dominates, not the launch. */
static const struct load loads[] = {
	{ "vector_add", "pppu", ITEMS, ITEMS, 256 },
	{ "saxpy", "pppfu", ITEMS, ITEMS, 256 },
	{ "reduction", "ppu", ITEMS, ITEMS, 256 },
	{ "sgemm", "pppu", 128, 128 * 128, 256 },
	{ "histogram", "ppu", ITEMS * 4, 1024, 256 },
	{ "nbody", "ppu", 512, 512, 64 },
	{ "transpose", "ppu", 256, 256 * 256, 256 },
	{ "lcg", "pu", 100, 8192, 64 },
	{ "bitonic_sort", "p", 0, 8192, 256 },
	{ "scan", "p", 0, ITEMS, 256 },
	{ "stencil", "ppu", 16, ITEMS / 2, 256 },
	{ "mandelbrot", "puu", 200, 8192, 256 },
	{ "sha256", "pp", 0, 8192, 64 },
	{ "calls", "pu", 12, 8192, 64 },
	{ "matmul_f32", "pppu", 64, 1024, 64 },
	{ "matmul_f16", "pppu", 64, 1024, 64 },
	{ "matmul_bf16", "pppu", 64, 1024, 64 },
};
#define LOADS (sizeof(loads) / sizeof(loads[0]))
#define THREADS 2

struct subject {
	struct machine *m;
	const struct load *load;
	uint64_t args[8];
	size_t args_size;
};

static void put(struct subject *s, const void *value, size_t size)
{
	s->args_size = (s->args_size + size - 1) / size * size;
	memcpy((uint8_t *)s->args + s->args_size, value, size);
	s->args_size += size;
}

static void make_args(struct subject *s)
{
	for (const char *a = s->load->args; *a; a++) {
		uint64_t pointer;
		float f = 1.5f;

		switch (*a) {
		case 'p':
			pointer = machine_alloc(s->m, AREA);
			put(s, &pointer, sizeof(pointer));
			break;
		case 'f':
			put(s, &f, sizeof(f));
			break;
		default:
			put(s, &s->load->number, sizeof(s->load->number));
		}
	}
}

static int run_kernel(void *arg, uint64_t times)
{
	struct subject *s = arg;
	struct gfx9_report report;
	int err = 0;

	while (times-- && !err)
		err = machine_run(s->m, s->load->kernel, s->load->grid, s->load->group, s->args,
				  s->args_size, &report);
	return err;
}

static int measure(struct gp__bench_run *run, struct subject *s, int threads, struct gp__stats *ns,
		   uint64_t *insts)
{
	uint64_t before;
	int err;

	/* With one thread it is the calling one: none has to be woken. */
	s->m->config.threads = threads > 1 ? threads : 0;
	err = run_kernel(s, 1);
	before = s->m->insts;
	if (!err)
		err = run_kernel(s, 1);
	*insts = s->m->insts - before;
	return err ? err : gp__bench_hot(run, run_kernel, s, ns);
}

/* Each wave multiplies 32 rows with 32 columns. */
static double multiply_adds(const struct load *load)
{
	return strncmp(load->kernel, "matmul_", 7) ? 0 : load->grid / 64.0 * 32 * 32 * load->number;
}

static int bench_load(struct gp__bench_run *run, const struct load *load, int threads,
		      double *minst_per_s)
{
	struct subject s = { .load = load };
	struct gp__stats ns;
	uint64_t insts;
	json_t *row;
	int err;

	s.m = machine_new(GFX9_TARGET_GFX90A, MEMORY, GP_EMU_KERNELS);
	if (!s.m)
		return gp__bench_fail(run, -ENOENT,
				      "the kernels of the emulated GPU cannot be loaded");
	s.m->queue.poison = false;
	make_args(&s);
	err = measure(run, &s, threads, &ns, &insts);
	machine_free(s.m);
	if (err)
		return gp__bench_fail(run, err, "%s does not run", load->kernel);
	*minst_per_s = (double)insts * 1e3 / ns.median;
	row = json_object();
	json_object_set_new(row, "kernel", json_string(load->kernel));
	json_object_set_new(row, "threads", json_integer(threads));
	json_object_set_new(row, "wave_insts", json_integer((json_int_t)insts));
	json_object_set_new(row, "seconds", json_real(ns.median / 1e9));
	json_object_set_new(row, "minst_per_s", json_real(*minst_per_s));
	json_object_set_new(row, "gmadd_per_s",
			    multiply_adds(load) > 0 ? json_real(multiply_adds(load) / ns.median)
						    : json_null());
	gp__bench_row(run, row);
	return 0;
}

int bench_emu(struct gp__bench_run *run)
{
	double speed[LOADS], all[THREADS];
	json_t *medians = json_object();
	struct gp__stats stats;

	gp__bench_device(run, "emulated gfx90a");
	for (int threads = 1; threads <= THREADS; threads++) {
		for (size_t i = 0; i < LOADS; i++) {
			int err = bench_load(run, &loads[i], threads, &speed[i]);

			if (err) {
				json_decref(medians);
				return err;
			}
		}
		gp__stats_of(speed, LOADS, &stats);
		all[threads - 1] = stats.median;
		json_object_set_new(medians, threads == 1 ? "1" : "2", json_real(all[threads - 1]));
	}
	gp__bench_summary(run, "median_minst_per_s", medians,
			  "median of the kernels: %.1f million wave instructions a second on one "
			  "thread, %.1f on two (%.2f times)",
			  all[0], all[1], all[1] / all[0]);
	return bench_emu_save(run);
}

#else

int bench_emu(struct gp__bench_run *run)
{
	return gp__bench_fail(run, -ENOENT, BENCH_NO_KERNELS);
}

#endif
