/* SPDX-License-Identifier: MIT */
/*
 * The compute part of a GPU: XCCs of compute units, run by host threads, and the queues that are
 * mapped to them.
 *
 * Workgroups of all queues share the compute units; saved workgroups of a queue are restored before
 * new ones start. A queue is stopped in one of three ways (enum emu_stop_type) and continues where
 * it was. A single lock protects all queues; it is not held while waves run.
 */
#ifndef GP__EMU_GFX9_GPU_H
#define GP__EMU_GFX9_GPU_H

#include "emu/gfx9/clock.h"
#include "emu/gfx9/cu.h"

struct gfx9_gpu;

/* NULL: out of memory or threads, or an impossible size. */
struct gfx9_gpu *gfx9_gpu_new(const struct emu_gpu_config *config);
/* All queues must have been removed. */
void gfx9_gpu_free(struct gfx9_gpu *gpu);

/* Maps a queue: its jobs run from now on. */
void gfx9_gpu_add(struct gfx9_gpu *gpu, struct gfx9_queue *q);
/* Unmaps a stopped queue. */
void gfx9_gpu_remove(struct gfx9_gpu *gpu, struct gfx9_queue *q);
/* The job was prepared by gfx9_job_init(); it may be done before this returns. */
void gfx9_gpu_dispatch(struct gfx9_gpu *gpu, struct gfx9_job *job);

/*
 * Begins to stop the queue, and returns how: EMU_STOP_DRAIN for EMU_STOP_SAVE where there is no
 * context save. A later call changes a stop that is under way.
 */
enum emu_stop_type gfx9_gpu_stop(struct gfx9_gpu *gpu, struct gfx9_queue *q,
				 enum emu_stop_type how);
/*
 * Waits until a stopping queue has left the compute units, and its finished jobs are reported. 0;
 * -ETIME after @timeout_ns; -EIO, -ENOSPC or -ENOMEM where a workgroup was lost, whose job has
 * failed.
 */
int gfx9_gpu_wait(struct gfx9_gpu *gpu, struct gfx9_queue *q, uint64_t timeout_ns);
/* A stopped or stopping queue continues. */
void gfx9_gpu_go(struct gfx9_gpu *gpu, struct gfx9_queue *q);

/*
 * Returns when no wave can still use a page that was removed from its address space before the
 * generation was incremented.
 */
void gfx9_gpu_quiesce(struct gfx9_gpu *gpu);

/* Without threads: one turn of every compute unit. False: none had anything to do. */
bool gfx9_gpu_step(struct gfx9_gpu *gpu);

/* The device's clock in nanoseconds. */
uint64_t gfx9_gpu_clock(struct gfx9_gpu *gpu);
/* For tests: the total number of executed instructions. */
uint64_t gfx9_gpu_insts(struct gfx9_gpu *gpu);
/* The queue's workgroups on compute units, and approximately their waves. */
uint64_t gfx9_gpu_resident(struct gfx9_gpu *gpu, const struct gfx9_queue *q);
uint64_t gfx9_gpu_waves(struct gfx9_gpu *gpu, const struct gfx9_queue *q);
/* For tests: whether every compute unit is empty and has released all resources. */
bool gfx9_gpu_idle(struct gfx9_gpu *gpu);

#endif
