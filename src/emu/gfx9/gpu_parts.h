/* SPDX-License-Identifier: MIT */
/*
 * The state of a GPU, for gpu.c (its interface), gpu_turn.c (a turn of a compute unit) and
 * gpu_worker.c (the threads that run compute units). A single lock protects the queues and
 * everything that the workers share.
 */
#ifndef GP__EMU_GFX9_GPU_PARTS_H
#define GP__EMU_GFX9_GPU_PARTS_H

#include "base/cond.h"
#include "emu/gfx9/gpu.h"

/* A compute unit as the workers see it; under the GPU's lock. */
struct gpu_place {
	bool taken; /* a worker runs it; no other may */
	bool has_groups;
	bool ready; /* it had work in its last turn */
	uint64_t round; /* of its last turn */
	uint64_t stops, changes; /* values it has seen */
};

struct gpu_worker {
	struct gfx9_gpu *gpu;
	pthread_t thread;
	/* All below is under the GPU's lock. */
	uint32_t first; /* the compute unit with which it begins a round */
	uint32_t nr_looked; /* number of compute units examined in @round */
	uint64_t round;
	uint64_t stops; /* at which it found nothing left to settle */
	const struct gpu_place *at; /* NULL: none */
	uint64_t turn;
	bool asleep;
};

struct gfx9_gpu {
	struct emu_gpu_config config;
	struct gfx9_clock clock;
	_Atomic uint64_t insts;
	uint32_t nr_cus, nr_workers;
	struct gfx9_cu *cu;
	bool *busy; /* for each compute unit: whether the clock counts it */

	pthread_mutex_t lock;
	struct gp__cond work, left;
	struct gpu_place *place; /* of each compute unit */
	uint64_t round;
	uint32_t nr_ready; /* places that are ready and not taken */
	uint32_t nr_asleep;
	struct gfx9_queue *queues; /* mapped ones, the highest priority first */
	/*
	 * Incremented under the lock: for every queue that stops or continues; and for every change
	 * that might give an idle worker something to do.
	 */
	_Atomic uint64_t stops, changes;
	uint32_t nr_quiescing; /* callers of gfx9_gpu_quiesce() */
	bool quit;
	struct gpu_worker worker[];
};

/* gpu_turn.c; with the lock held unless stated otherwise */

/* Something changed that may give an idle compute unit work. */
void gpu_changed(struct gfx9_gpu *gpu);
/* Whether nothing of the job runs or will run; if so, puts it on the list @finished. */
bool gpu_job_is_over(const struct gfx9_job *job);
void gpu_finish(struct gfx9_gpu *gpu, struct gfx9_job *job, struct gfx9_job **finished);
/* Calls done() of the jobs on the list. Without the lock. */
void gpu_report_done(struct gfx9_gpu *gpu, struct gfx9_job *finished);
/* No workgroup of a stopping queue is left on a compute unit. */
void gpu_queue_left(struct gfx9_gpu *gpu, struct gfx9_queue *q, struct gfx9_job **finished);
/* Mapped queues: the highest priority first, and behind others of the same. */
void gpu_insert(struct gfx9_gpu *gpu, struct gfx9_queue *q);
void gpu_remove(struct gfx9_gpu *gpu, struct gfx9_queue *q);
/* Saves or drops workgroups of stopping queues on this compute unit. Without the lock. */
void gpu_settle(struct gfx9_gpu *gpu, struct gfx9_cu *cu);
/*
 * A turn of a compute unit: it may start a workgroup, and its waves run a slice each. It ends early
 * once gpu->stops is not @stops. False: it had nothing to do. Without the lock.
 */
bool gpu_turn(struct gfx9_gpu *gpu, struct gfx9_cu *cu, uint64_t stops);

/* gpu_worker.c; without the lock */

/* False: a thread could not be created, and none runs. */
bool gpu_start_workers(struct gfx9_gpu *gpu);
void gpu_stop_workers(struct gfx9_gpu *gpu, uint32_t n);

#endif
