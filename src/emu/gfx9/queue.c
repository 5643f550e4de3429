// SPDX-License-Identifier: MIT
#include "emu/gfx9/queue.h"

#include <errno.h>
#include <stdlib.h>

void gfx9_queue_init(struct gfx9_queue *q, enum gfx9_target target, struct emu_vm *vm,
		     struct gfx9_code *code)
{
	memset(q, 0, sizeof(*q));
	q->target = target;
	q->vm = vm;
	q->code = code;
	memset(q->base.cu_mask, 0xff, sizeof(q->base.cu_mask));
	gfx9_gws_init(&q->gws);
}

void gfx9_queue_destroy(struct gfx9_queue *q)
{
	for (int i = 0; i < EMU_XCCS_MAX; i++)
		gfx9_context_drop(&q->context[i], NULL);
	q->jobs = NULL;
	gfx9_gws_destroy(&q->gws);
}

void gfx9_queue_set_area(struct gfx9_queue *q, uint64_t area, uint64_t slice_bytes,
			 uint32_t ctl_bytes)
{
	for (uint32_t i = 0; i < EMU_XCCS_MAX; i++) {
		q->context[i].area = area + i * slice_bytes;
		q->context[i].size = slice_bytes;
		q->context[i].ctl_bytes = ctl_bytes;
	}
}

static int read_kernel(struct gfx9_job *job, struct gfx9_queue *q)
{
	struct gfx9_tlb *tlb = malloc(sizeof(*tlb));
	int err;

	if (!tlb)
		return -ENOMEM;
	gfx9_tlb_init(tlb, q->vm);
	err = gfx9_kernel_read(tlb, q->target, job->base.launch.kernel_object, &job->kernel);
	free(tlb);
	return err;
}

static int check_scratch(struct gfx9_job *job, const struct gfx9_queue *q)
{
	struct emu_launch *d = &job->base.launch;
	uint32_t items = (uint32_t)d->group[0] * d->group[1] * d->group[2];

	if (d->scratch_bytes < job->kernel.scratch_bytes)
		d->scratch_bytes = job->kernel.scratch_bytes;
	d->scratch_base = q->base.scratch_base;
	d->scratch_wave_bytes = q->base.scratch_wave_bytes;
	if (!d->scratch_bytes)
		return 0;
	if ((uint64_t)d->scratch_bytes * GFX9_LANES > q->base.scratch_wave_bytes ||
	    (items + GFX9_LANES - 1) / GFX9_LANES > q->base.scratch_waves)
		return -ENOSPC;
	return 0;
}

/* The kernel is known. */
static int init_job(struct gfx9_job *job, struct gfx9_queue *q)
{
	static _Atomic uint64_t serial;
	struct emu_launch *d = &job->base.launch;
	uint64_t items = (uint64_t)d->group[0] * d->group[1] * d->group[2];
	int err;

	if (!items || items > GFX9_GROUP_WAVES_MAX * GFX9_LANES)
		return -EINVAL;
	if (d->lds_bytes < job->kernel.lds_bytes)
		d->lds_bytes = job->kernel.lds_bytes;
	if (d->lds_bytes > GFX9_LDS_BYTES)
		return -EINVAL;
	err = check_scratch(job, q);
	if (err)
		return err;
	job->queue = q;
	job->serial = atomic_fetch_add(&serial, 1) + 1;
	job->next = NULL;
	job->nr_started = job->nr_done = job->nr_resident = 0;
	memset(job->started, 0, sizeof(job->started));
	job->base.hangs = false;
	job->failed = 0;
	job->insts = 0;
	job->base.started_ns = job->base.ended_ns = 0;
	gfx9_dispatch_groups(d, job->groups);
	job->nr_groups = (uint64_t)job->groups[0] * job->groups[1] * job->groups[2];
	return 0;
}

int gfx9_job_init(struct gfx9_job *job, struct gfx9_queue *q)
{
	int err = read_kernel(job, q);

	return err ? err : init_job(job, q);
}

int gfx9_job_init_registers(struct gfx9_job *job, struct gfx9_queue *q,
			    const struct emu_launch_registers *r)
{
	int err = gfx9_kernel_from_registers(r, &job->kernel);

	return err ? err : init_job(job, q);
}

/* Workgroups go to the XCCs in turn. */
bool gfx9_job_next(const struct gfx9_job *job, uint32_t xcc, uint32_t nr_xccs, uint32_t id[3])
{
	uint64_t n = job->started[xcc] * nr_xccs + xcc;

	if (n >= job->nr_groups || atomic_load(&job->failed))
		return false;
	id[0] = (uint32_t)(n % job->groups[0]);
	id[1] = (uint32_t)(n / job->groups[0] % job->groups[1]);
	id[2] = (uint32_t)(n / job->groups[0] / job->groups[1]);
	return true;
}

static bool take_slot(struct gfx9_queue *q, uint32_t *slot)
{
	for (uint32_t i = 0; i < GFX9_SCRATCH_WORDS && i * 64 < q->base.scratch_waves; i++) {
		uint64_t used = atomic_load(&q->scratch_slots[i]);
		uint64_t bit = ~used & (used + 1);

		*slot = i * 64 + (uint32_t)__builtin_ctzll(bit ? bit : 1);
		if (!bit || *slot >= q->base.scratch_waves)
			continue;
		atomic_fetch_or(&q->scratch_slots[i], bit);
		return true;
	}
	return false;
}

bool gfx9_queue_take_scratch(struct gfx9_queue *q, uint32_t *slot, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (take_slot(q, &slot[i]))
			continue;
		while (i--)
			gfx9_queue_give_scratch(q, slot[i]);
		return false;
	}
	return true;
}

void gfx9_queue_give_scratch(struct gfx9_queue *q, uint32_t slot)
{
	atomic_fetch_and(&q->scratch_slots[slot / 64], ~((uint64_t)1 << slot % 64));
}
