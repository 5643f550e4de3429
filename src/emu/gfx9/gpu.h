/* SPDX-License-Identifier: MIT */
/*
 * The compute part of a GPU: XCCs of compute units, run by host threads, and the queues that are
 * mapped to them.
 *
 * Workgroups of all queues share the compute units; one that was saved goes back before a new one
 * of its queue starts. A queue is stopped in one of three ways (enum gfx9_stop_type) and goes on
 * where it was. One lock guards all queues; it is not held while waves run.
 */
#ifndef GP__EMU_GFX9_GPU_H
#define GP__EMU_GFX9_GPU_H

#include "emu/gfx9/clock.h"
#include "emu/gfx9/cu.h"

struct gfx9_gpu_config {
	enum gfx9_target target;
	uint32_t nr_xccs, xcc_cus;
	uint64_t slice; /* instructions a wave runs at a time; 0: a good number */
	int threads; /* 0: none, the caller runs it with gfx9_gpu_step() */
	uint32_t nice; /* of the threads: a GPU takes no processor from programs; 0: it does */
	bool cwsr; /* false: there is no context save, and GFX9_SAVE is GFX9_DRAIN */
	/*
	 * Who is at it, and when by the device's clock: called when the first workgroup of a queue
	 * comes onto a compute unit and when the last is off, and with NULL when the GPU as a whole
	 * becomes busy or idle. Locks are held: it calls nothing of this. NULL: nobody listens.
	 */
	void (*trace)(void *ctx, struct gfx9_queue *q, bool on, uint64_t ns);
	void *trace_ctx;
};

struct gfx9_gpu;

/* NULL: out of memory or threads, or a size that cannot be. */
struct gfx9_gpu *gfx9_gpu_new(const struct gfx9_gpu_config *config);
/* All queues must have been removed. */
void gfx9_gpu_free(struct gfx9_gpu *gpu);

/* Maps a queue: its jobs run from now on. */
void gfx9_gpu_add(struct gfx9_gpu *gpu, struct gfx9_queue *q);
/* Unmaps one that is stopped. */
void gfx9_gpu_remove(struct gfx9_gpu *gpu, struct gfx9_queue *q);
/* Changes where and when workgroups of a mapped queue start; those that have, stay. NULL: all. */
void gfx9_gpu_set(struct gfx9_gpu *gpu, struct gfx9_queue *q, int priority,
		  const uint32_t cu_mask[GFX9_CUS_MAX / 32]);
/* A job that gfx9_job_init() has accepted; it may be done before this returns. */
void gfx9_gpu_dispatch(struct gfx9_gpu *gpu, struct gfx9_job *job);

/*
 * Begins to stop the queue, and returns how: GFX9_DRAIN for GFX9_SAVE where there is no context
 * save. A stop under way may be changed by another.
 */
enum gfx9_stop_type gfx9_gpu_stop(struct gfx9_gpu *gpu, struct gfx9_queue *q,
				  enum gfx9_stop_type how);
/*
 * Waits until nothing of a stopping queue is left on the compute units, and what is done has been
 * reported. 0; -ETIME after
 * @timeout_ns; -EIO, -ENOSPC or -ENOMEM where a workgroup was lost on the way, whose job has failed
 * for that.
 */
int gfx9_gpu_wait(struct gfx9_gpu *gpu, struct gfx9_queue *q, uint64_t timeout_ns);
/* A queue that is stopped, or stopping, goes on. */
void gfx9_gpu_go(struct gfx9_gpu *gpu, struct gfx9_queue *q);

/*
 * Returns when no wave can still be using what it saw of an address space before: after this,
 * memory that was unmapped there (and the generation raised) may go.
 */
void gfx9_gpu_quiesce(struct gfx9_gpu *gpu);

/* Without threads: one turn of every compute unit. False: nobody had anything to do. */
bool gfx9_gpu_step(struct gfx9_gpu *gpu);

/* The device's clock in nanoseconds, and the instructions executed in all. */
uint64_t gfx9_gpu_clock(struct gfx9_gpu *gpu);
uint64_t gfx9_gpu_insts(struct gfx9_gpu *gpu);
/* Workgroups of the queue that are on compute units, and about how many waves they are. */
uint64_t gfx9_gpu_resident(struct gfx9_gpu *gpu, const struct gfx9_queue *q);
uint64_t gfx9_gpu_waves(struct gfx9_gpu *gpu, const struct gfx9_queue *q);
/* Whether every compute unit is empty and has all of its room. */
bool gfx9_gpu_idle(struct gfx9_gpu *gpu);

#endif
