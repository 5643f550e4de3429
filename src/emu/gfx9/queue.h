/* SPDX-License-Identifier: MIT */
/*
 * A hardware queue on the compute units: its running dispatches (jobs), their shared state, and the
 * workgroups that were saved.
 *
 * Functions here take no lock: a GPU's queues change under that GPU's lock (gpu.h).
 */
#ifndef GP__EMU_GFX9_QUEUE_H
#define GP__EMU_GFX9_QUEUE_H

#include "emu/gfx9/code.h"
#include "emu/gfx9/launch.h"
#include "emu/gfx9/save.h"

#define GFX9_LDS_BYTES 65536
#define GFX9_LDS_UNIT 512
#define GFX9_GROUP_WAVES_MAX 16
/* Waves of one queue that can have scratch at a time: more than the largest GPU has room for. */
#define GFX9_SCRATCH_WORDS 160

/* The reason why a wave stopped, for people and for the driver. */
struct gfx9_report {
	enum gfx9_stop stop;
	uint64_t pc;
	uint32_t group[3], wave;
	struct gfx9_fault fault; /* with GFX9_FAULT */
	uint32_t words[3]; /* with GFX9_ILLEGAL */
};

struct gfx9_job {
	struct emu_job base;

	struct gfx9_job *next;
	struct gfx9_queue *queue;
	uint64_t serial; /* unique */
	struct gfx9_kernel kernel;
	uint32_t groups[3]; /* along each axis */
	uint64_t nr_groups, nr_started, nr_done;
	uint64_t nr_resident;
	uint64_t started[EMU_XCCS_MAX]; /* workgroups that each XCC has started */
	_Atomic int failed; /* the first reason; no further workgroup starts */
	struct gfx9_report report; /* where the result is -EIO */
	_Atomic uint64_t insts;
};

struct gfx9_queue {
	struct emu_hw_queue base;
	enum gfx9_target target;
	struct emu_vm *vm;
	struct gfx9_code *code;
	/*
	 * Fills the registers and LDS of every workgroup, so that uses of uninitialised data show;
	 * for tests. Otherwise a workgroup may find data of another one of the same job, as on the
	 * hardware, but not of another job.
	 */
	bool poison;
	struct gfx9_gws gws;
	struct gfx9_context context[EMU_XCCS_MAX]; /* one for each XCC */

	struct gfx9_queue *next; /* of mapped ones */
	struct gfx9_job *jobs; /* in the order dispatched */
	_Atomic enum emu_stop_type stop;
	int stop_error; /* the reason why the last stop lost a workgroup, or 0 */
	/* the saved state is being written to guest memory; only that thread uses the contexts */
	bool writing;
	uint64_t nr_resident; /* workgroups on compute units */
	uint32_t nr_reporting; /* finished jobs whose done() has not returned */
	_Atomic uint64_t scratch_slots[GFX9_SCRATCH_WORDS]; /* a bit for each in use */
};

void gfx9_queue_init(struct gfx9_queue *q, enum gfx9_target target, struct emu_vm *vm,
		     struct gfx9_code *code);
/* The queue is not mapped. Its remaining jobs are dropped; done() is not called. */
void gfx9_queue_destroy(struct gfx9_queue *q);
/* Gives each XCC its slice of the save area. */
void gfx9_queue_set_area(struct gfx9_queue *q, uint64_t area, uint64_t slice_bytes,
			 uint32_t ctl_bytes);

/*
 * Prepares job->base.launch for the queue. 0, -EFAULT or -EINVAL as gfx9_kernel_read(); -EINVAL for
 * an impossible dispatch; -ENOSPC where the queue has too little scratch for it.
 */
int gfx9_job_init(struct gfx9_job *job, struct gfx9_queue *q);
/* The same for a kernel described by registers: no descriptor is read. */
int gfx9_job_init_registers(struct gfx9_job *job, struct gfx9_queue *q,
			    const struct emu_launch_registers *r);

/* Registers of a wave, and LDS of a workgroup, as the compute unit allocates them. */
static inline uint32_t gfx9_job_vgprs(const struct gfx9_job *job)
{
	return job->kernel.nr_vgprs + job->kernel.nr_agprs;
}

static inline uint32_t gfx9_job_lds(const struct gfx9_job *job)
{
	return (job->base.launch.lds_bytes + GFX9_LDS_UNIT - 1) / GFX9_LDS_UNIT * GFX9_LDS_UNIT;
}

/* No further workgroup of the job starts. False: it had failed already. */
static inline bool gfx9_job_fail(struct gfx9_job *job, int reason)
{
	int none = 0;

	return atomic_compare_exchange_strong(&job->failed, &none, reason);
}

/* The next workgroup that @xcc of @nr_xccs starts. False: it has started all of its own. */
bool gfx9_job_next(const struct gfx9_job *job, uint32_t xcc, uint32_t nr_xccs, uint32_t id[3]);

/* Allocates scratch for @n waves in @slot, or for none if there is too little. */
bool gfx9_queue_take_scratch(struct gfx9_queue *q, uint32_t *slot, uint32_t n);
void gfx9_queue_give_scratch(struct gfx9_queue *q, uint32_t slot);

#endif
