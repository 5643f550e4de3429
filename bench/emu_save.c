// SPDX-License-Identifier: MIT
/*
 * Measures saving and restoring all waves of a compute unit of the emulated GPU: many small ones,
 * and the largest possible ones.
 */
#include "benches.h"

#include "emu/gfx9/machine.h"

#include <errno.h>

#ifdef GP_EMU_KERNELS

#define MEMORY ((uint64_t)256 << 20)

struct shape {
	const char *name, *kernel;
	uint32_t groups, waves; /* that fill one compute unit */
	uint16_t group;
};

static const struct shape shapes[] = {
	{ "32 waves of a few registers", "gate", 32, 32, 64 },
	{ "4 waves of 512 registers and 64 KiB of LDS", "wide_gate", 1, 4, 256 },
};

struct unit {
	const struct shape *shape;
	struct machine *m;
	struct gfx9_gpu *gpu;
	struct gfx9_queue q;
	struct gfx9_job job;
	_Atomic uint32_t *arrived, *open;
};

static void done(struct emu_job *job, int result)
{
	(void)job;
	(void)result;
}

static void save(struct unit *u)
{
	gfx9_gpu_stop(u->gpu, &u->q, EMU_STOP_SAVE);
	while (gfx9_gpu_wait(u->gpu, &u->q, 0) == -ETIME)
		gfx9_gpu_step(u->gpu);
}

static void restore(struct unit *u)
{
	gfx9_gpu_go(u->gpu, &u->q);
	while (gfx9_gpu_resident(u->gpu, &u->q) < u->shape->groups)
		gfx9_gpu_step(u->gpu);
}

static int save_and_restore(void *arg, uint64_t times)
{
	struct unit *u = arg;

	while (times--) {
		save(u);
		restore(u);
	}
	return u->job.failed;
}

/* Starts waves that stay resident and wait. */
static int fill(struct unit *u)
{
	uint64_t va = machine_alloc(u->m, 4096);
	uint64_t args[] = { va, va + 4, va + 8, va + 12 };
	int err = machine_job(u->m, &u->q, &u->job, u->shape->kernel,
			      u->shape->groups * u->shape->group, u->shape->group, args,
			      sizeof(args));

	if (err)
		return err;
	u->arrived = machine_at(u->m, va);
	u->open = machine_at(u->m, va + 4);
	u->job.base.done = done;
	gfx9_gpu_dispatch(u->gpu, &u->job);
	while (*u->arrived < u->shape->groups && !u->job.failed)
		gfx9_gpu_step(u->gpu);
	return u->job.failed;
}

static void empty(struct unit *u)
{
	gfx9_gpu_stop(u->gpu, &u->q, EMU_STOP_RESET);
	while (gfx9_gpu_wait(u->gpu, &u->q, 0) == -ETIME)
		gfx9_gpu_step(u->gpu);
	gfx9_gpu_remove(u->gpu, &u->q);
	gfx9_queue_destroy(&u->q);
	gfx9_gpu_free(u->gpu);
}

/* Executes one instruction between save and restore, so that these dominate. */
static int measure(struct gp__bench_run *run, struct unit *u, struct gp__stats *ns)
{
	const struct emu_gpu_config config = {
		.target = GFX9_TARGET_GFX90A, .nr_xccs = 1, .xcc_cus = 1, .slice = 1, .cwsr = true
	};
	int err;

	u->gpu = gfx9_gpu_new(&config);
	if (!u->gpu)
		return -ENOMEM;
	machine_queue(u->m, &u->q);
	u->q.poison = false;
	gfx9_gpu_add(u->gpu, &u->q);
	err = fill(u);
	if (!err)
		err = gp__bench_hot(run, save_and_restore, u, ns);
	empty(u);
	return err;
}

static int bench_shape(struct gp__bench_run *run, const struct shape *shape, json_t *rows,
		       double *us)
{
	struct unit u = { .shape = shape };
	struct gp__stats ns;
	int err = -ENOENT;

	u.m = machine_new(GFX9_TARGET_GFX90A, MEMORY, GP_EMU_KERNELS);
	if (u.m)
		err = measure(run, &u, &ns);
	if (u.m)
		machine_free(u.m);
	if (err)
		return gp__bench_fail(run, err, "%s cannot be saved", shape->kernel);
	*us = ns.median / 1e3;
	json_array_append_new(rows, json_pack("{s:s, s:i, s:f}", "compute_unit", shape->name,
					      "waves", (int)shape->waves, "us", *us));
	return 0;
}

int bench_emu_save(struct gp__bench_run *run)
{
	json_t *rows = json_array();
	double us[2];

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		int err = bench_shape(run, &shapes[i], rows, &us[i]);

		if (err) {
			json_decref(rows);
			return err;
		}
	}
	gp__bench_summary(run, "save_restore", rows,
			  "to save a full compute unit and bring it back: %.0f us (%s), %.0f us "
			  "(%s)",
			  us[0], shapes[0].name, us[1], shapes[1].name);
	return 0;
}

#endif
