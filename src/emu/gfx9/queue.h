/* SPDX-License-Identifier: MIT */
/*
 * A hardware queue as compute units see it: its dispatches on their way through them (jobs), what
 * all of those share, and the workgroups that were saved off the compute units.
 *
 * Functions here take no lock: a GPU's queues change under that GPU's lock (gpu.h).
 */
#ifndef GP__EMU_GFX9_QUEUE_H
#define GP__EMU_GFX9_QUEUE_H

#include "emu/gfx9/code.h"
#include "emu/gfx9/launch.h"
#include "emu/gfx9/save.h"

#define GFX9_XCCS_MAX 8
#define GFX9_CUS_MAX 320 /* of all XCCs */
#define GFX9_LDS_BYTES 65536
#define GFX9_LDS_UNIT 512
#define GFX9_GROUP_WAVES_MAX 16
/* Waves of one queue that have scratch at a time: more than the largest GPU has room for. */
#define GFX9_SCRATCH_WORDS 160

/* How a queue leaves the compute units. */
enum gfx9_stop_type {
	GFX9_RUNNING, /* not at all */
	GFX9_DRAIN, /* what is resident runs to its end, nothing new starts */
	GFX9_SAVE, /* what is resident is saved, and goes on from there */
	GFX9_RESET, /* what is resident is dropped, and its jobs with it */
};

/* What went wrong with a wave, for people and for the driver. */
struct gfx9_report {
	enum gfx9_stop stop;
	uint64_t pc;
	uint32_t group[3], wave;
	struct gfx9_fault fault; /* with GFX9_FAULT */
	uint32_t words[3]; /* with GFX9_ILLEGAL */
};

struct gfx9_job {
	struct gfx9_dispatch dispatch;
	/*
	 * Called once when nothing of the job is left on the GPU, without a lock: 0; -EIO, @report
	 * says why; -ECANCELED after GFX9_RESET; -ENOMEM. The job is the caller's again.
	 */
	void (*done)(struct gfx9_job *job, int result);
	/* Set after gfx9_job_init(): its waves stand still for ever, and can only be dropped. */
	bool hangs;

	struct gfx9_job *next;
	struct gfx9_queue *queue;
	uint64_t serial; /* no two jobs have one */
	struct gfx9_kernel kernel;
	uint32_t groups[3]; /* along each axis */
	uint64_t nr_groups, nr_started, nr_done;
	uint64_t nr_resident;
	uint64_t started[GFX9_XCCS_MAX]; /* of those each XCC is to run */
	_Atomic int failed; /* the first reason; no workgroup starts any more */
	struct gfx9_report report;
	_Atomic uint64_t insts;
	uint64_t started_ns, ended_ns; /* its first workgroup, and itself: by the device's clock */
};

struct gfx9_queue {
	enum gfx9_target target;
	struct gfx9_vm *vm;
	struct gfx9_code *code;
	uint64_t tba, tma; /* trap handler; 0: none */
	/* Memory for the scratch of so many waves at a time. */
	uint64_t scratch_base;
	uint32_t scratch_wave_bytes, scratch_waves;
	uint32_t cu_mask[GFX9_CUS_MAX / 32]; /* compute units it may use; all at first */
	/*
	 * The registers and LDS of every workgroup are filled, so that what is read before it is
	 * written shows; for tests. Else a workgroup may find what another of the same job left, as
	 * on the hardware, but nothing of another job.
	 */
	bool poison;
	struct gfx9_debug debug; /* changed while it is not mapped */
	bool has_gws; /* changed while it is not mapped; without, GWS instructions are refused */
	struct gfx9_gws gws;
	int priority; /* of two queues the higher one's workgroups start first */
	struct gfx9_context context[GFX9_XCCS_MAX]; /* one for each XCC */
	/*
	 * What a wave can ask of the host (s_sendmsg): an interrupt with M0, from within a trap
	 * handler or not, for which this is called without a lock (NULL: nobody listens); and the
	 * doorbell of its queue, by which others know it.
	 */
	void (*interrupt)(struct gfx9_queue *q, uint32_t m0, bool trapped);
	uint32_t doorbell;

	struct gfx9_queue *next; /* of those mapped */
	struct gfx9_job *jobs; /* in the order dispatched */
	_Atomic enum gfx9_stop_type stop;
	int stop_error; /* why the last stop lost something, or 0 */
	bool writing; /* somebody describes what is saved; the contexts are his */
	uint64_t nr_resident; /* workgroups on compute units */
	uint32_t nr_reporting; /* jobs that are over, but nobody was told yet */
	_Atomic uint64_t scratch_slots[GFX9_SCRATCH_WORDS]; /* a bit for each in use */
};

void gfx9_queue_init(struct gfx9_queue *q, enum gfx9_target target, struct gfx9_vm *vm,
		     struct gfx9_code *code);
/* Of a queue that is not mapped. Jobs it still has are dropped without a word. */
void gfx9_queue_destroy(struct gfx9_queue *q);

/*
 * Makes job->dispatch ready for the queue. 0, -EFAULT or -EINVAL as gfx9_kernel_read(); -EINVAL for
 * an impossible dispatch; -ENOSPC where the queue has too little scratch for it.
 */
int gfx9_job_init(struct gfx9_job *job, struct gfx9_queue *q);
/* The same for a kernel that registers describe: no descriptor is read. */
int gfx9_job_init_registers(struct gfx9_job *job, struct gfx9_queue *q,
			    const struct gfx9_registers *r);

/* Registers of a wave, and LDS of a workgroup, as the compute unit allocates them. */
static inline uint32_t gfx9_job_vgprs(const struct gfx9_job *job)
{
	return job->kernel.nr_vgprs + job->kernel.nr_agprs;
}

static inline uint32_t gfx9_job_lds(const struct gfx9_job *job)
{
	return (job->dispatch.lds_bytes + GFX9_LDS_UNIT - 1) / GFX9_LDS_UNIT * GFX9_LDS_UNIT;
}

/* No workgroup of the job starts any more. False: it had failed already. */
static inline bool gfx9_job_fail(struct gfx9_job *job, int reason)
{
	int none = 0;

	return atomic_compare_exchange_strong(&job->failed, &none, reason);
}

/* The workgroup that @xcc of @nr_xccs starts next. False: it has started all of its own. */
bool gfx9_job_next(const struct gfx9_job *job, uint32_t xcc, uint32_t nr_xccs, uint32_t id[3]);

/* Scratch of the queue's waves. @slot is filled for @n waves, or for none where there are too few.
 */
bool gfx9_queue_take_scratch(struct gfx9_queue *q, uint32_t *slot, uint32_t n);
void gfx9_queue_give_scratch(struct gfx9_queue *q, uint32_t slot);

#endif
