// SPDX-License-Identifier: MIT
#include "emu/gfx9/machine.h"

#include "base/cond.h"
#include "emu/gfx9/area.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SCRATCH_WAVES 256
#define SCRATCH_BYTES 512 /* of a work-item */
/* The trap handler's buffer: code, and the handler's own memory behind it. */
#define TRAP_BYTES 8192
#define TMA_OFFSET 0x1800

static void *page(void *ctx, uint64_t va, bool write)
{
	struct machine *m = ctx;

	(void)write;
	if (va < MACHINE_BASE || va - MACHINE_BASE >= m->size)
		return NULL;
	return m->memory + (va - MACHINE_BASE);
}

uint64_t machine_alloc(struct machine *m, uint64_t bytes)
{
	uint64_t at = (m->used + 4095) & ~(uint64_t)4095;

	if (at + bytes > m->size) {
		fprintf(stderr, "the machine has too little memory\n");
		abort();
	}
	m->used = at + bytes;
	/* Memory that was not used before is still zero. */
	if (at < m->high)
		memset(m->memory + at, 0, (m->used < m->high ? m->used : m->high) - at);
	if (m->high < m->used)
		m->high = m->used;
	return MACHINE_BASE + at;
}

void *machine_at(struct machine *m, uint64_t va)
{
	return m->memory + (va - MACHINE_BASE);
}

static bool load(struct machine *m, const char *path)
{
	if (gp__object_read(&m->object, path))
		return false;
	m->image = machine_alloc(m, gp__object_bytes(&m->object));
	gp__object_load(&m->object, machine_at(m, m->image));
	return true;
}

uint64_t machine_symbol(const struct machine *m, const char *name)
{
	uint64_t offset;

	return gp__object_symbol(&m->object, name, &offset) ? m->image + offset : 0;
}

void machine_queue(struct machine *m, struct gfx9_queue *q)
{
	const struct emu_gpu_shape gpu = {
		.nr_xccs = EMU_XCCS_MAX,
		.xcc_cus = MACHINE_XCC_CUS,
		.nr_arrays = 1,
		.engine_arrays = 1,
	};
	struct emu_save_sizes sizes = gfx9_area_sizes(&gpu);
	uint64_t area = machine_alloc(m, sizes.total_bytes);

	gfx9_queue_init(q, m->target, &m->vm, &m->code);
	q->poison = true;
	gfx9_queue_set_area(q, area, sizes.slice_bytes, sizes.ctl_bytes);
	q->base.tba = m->tba;
	q->base.tma = m->tba + TMA_OFFSET;
	q->base.scratch_waves = SCRATCH_WAVES;
	q->base.scratch_wave_bytes = SCRATCH_BYTES * GFX9_LANES;
	q->base.scratch_base =
		machine_alloc(m, (uint64_t)q->base.scratch_wave_bytes * SCRATCH_WAVES);
}

enum gfx9_target machine_target(const char *path)
{
	return strstr(path, "gfx942") ? GFX9_TARGET_GFX942 : GFX9_TARGET_GFX90A;
}

struct machine *machine_new(enum gfx9_target target, uint64_t memory, const char *path)
{
	struct machine *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->target = target;
	m->size = memory;
	m->memory = mmap(NULL, memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m->memory == MAP_FAILED) {
		free(m);
		return NULL;
	}
	m->config = (struct emu_gpu_config){
		.target = target, .nr_xccs = 1, .xcc_cus = 4, .cwsr = true
	};
	m->preempt_type = EMU_STOP_SAVE;
	if (!load(m, path)) {
		fprintf(stderr, "%s is not a code object that can be read\n", path);
		munmap(m->memory, memory);
		free(m);
		return NULL;
	}
	m->vm.page = page;
	m->vm.ctx = m;
	gfx9_code_init(&m->code, target);
	m->tba = machine_alloc(m, TRAP_BYTES);
	memcpy(machine_at(m, m->tba), gfx9_trap_handler, gfx9_trap_handler_bytes);
	machine_queue(m, &m->queue);
	return m;
}

static void drop_gpu(struct machine *m)
{
	if (!m->gpu)
		return;
	gfx9_gpu_stop(m->gpu, &m->queue, EMU_STOP_RESET);
	gfx9_gpu_remove(m->gpu, &m->queue);
	gfx9_gpu_free(m->gpu);
	m->gpu = NULL;
}

void machine_free(struct machine *m)
{
	drop_gpu(m);
	gfx9_queue_destroy(&m->queue);
	gfx9_code_destroy(&m->code);
	munmap(m->memory, m->size);
	gp__object_free(&m->object);
	free(m);
}

static int make_gpu(struct machine *m)
{
	if (m->gpu && !memcmp(&m->made, &m->config, sizeof(m->made)))
		return 0;
	drop_gpu(m);
	m->gpu = gfx9_gpu_new(&m->config);
	if (!m->gpu)
		return -ENOMEM;
	m->made = m->config;
	gfx9_gpu_add(m->gpu, &m->queue);
	return 0;
}

/* The packet of a queue; kernels read the size of their workgroup from it. */
static void write_packet(struct machine *m, const struct emu_launch *d)
{
	uint8_t *p = machine_at(m, d->packet);

	p[2] = d->grid[2] > 1 ? 3 : d->grid[1] > 1 ? 2 : 1; /* dimensions */
	memcpy(p + 4, d->group, sizeof(d->group));
	memcpy(p + 12, d->grid, sizeof(d->grid));
	memcpy(p + 32, &d->kernel_object, 8);
	memcpy(p + 40, &d->kernarg, 8);
}

struct run {
	struct gfx9_job job;
	pthread_mutex_t lock;
	struct gp__cond changed;
	bool over;
	int result;
};

static void done(struct emu_job *job, int result)
{
	struct run *r = (struct run *)job;

	pthread_mutex_lock(&r->lock);
	r->over = true;
	r->result = result;
	gp__cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

static void preempt(struct machine *m)
{
	if (!m->preempt || ++m->turns % m->preempt)
		return;
	gfx9_gpu_stop(m->gpu, &m->queue, m->preempt_type);
	while (gfx9_gpu_wait(m->gpu, &m->queue, 0) == -ETIME)
		gfx9_gpu_step(m->gpu);
	gfx9_gpu_go(m->gpu, &m->queue);
}

static void run_to_end(struct machine *m, struct run *r)
{
	pthread_mutex_init(&r->lock, NULL);
	gfx9_gpu_dispatch(m->gpu, &r->job);
	while (!m->config.threads && !r->over) {
		gfx9_gpu_step(m->gpu);
		preempt(m);
	}
	pthread_mutex_lock(&r->lock);
	while (!r->over)
		gp__cond_wait(&r->changed, &r->lock, GP__FOREVER);
	pthread_mutex_unlock(&r->lock);
	pthread_mutex_destroy(&r->lock);
}

static int make_job(struct machine *m, struct gfx9_queue *q, struct gfx9_job *job,
		    const char *kernel, const uint32_t grid[3], const uint16_t group[3],
		    const void *args, size_t args_size)
{
	struct emu_launch *d = &job->base.launch;
	char name[128];

	*d = (struct emu_launch){ .grid = { grid[0], grid[1], grid[2] },
				  .group = { group[0], group[1], group[2] } };
	snprintf(name, sizeof(name), "%s.kd", kernel);
	d->kernel_object = machine_symbol(m, name);
	if (!d->kernel_object)
		return -ENOENT;
	d->packet = machine_alloc(m, 64);
	d->kernarg = machine_alloc(m, 1024);
	memcpy(machine_at(m, d->kernarg), args, args_size);
	write_packet(m, d);
	return gfx9_job_init(job, q);
}

int machine_job(struct machine *m, struct gfx9_queue *q, struct gfx9_job *job, const char *kernel,
		uint32_t grid, uint16_t group, const void *args, size_t args_size)
{
	return make_job(m, q, job, kernel, (const uint32_t[]){ grid, 1, 1 },
			(const uint16_t[]){ group, 1, 1 }, args, args_size);
}

int machine_run3(struct machine *m, const char *kernel, const uint32_t grid[3],
		 const uint16_t group[3], const void *args, size_t args_size,
		 struct gfx9_report *report)
{
	struct run r = { .job.base.done = done };
	uint64_t mark = m->used;
	int err = make_gpu(m);

	if (!err)
		err = make_job(m, &m->queue, &r.job, kernel, grid, group, args, args_size);
	if (!err) {
		run_to_end(m, &r);
		m->insts += r.job.insts;
		*report = r.job.report;
		err = r.result;
	}
	m->used = mark;
	return err;
}

int machine_run(struct machine *m, const char *kernel, uint32_t grid, uint16_t group,
		const void *args, size_t args_size, struct gfx9_report *report)
{
	return machine_run3(m, kernel, (const uint32_t[]){ grid, 1, 1 },
			    (const uint16_t[]){ group, 1, 1 }, args, args_size, report);
}
