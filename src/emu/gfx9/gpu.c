// SPDX-License-Identifier: MIT
#include "emu/gfx9/gpu_parts.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>

/* Instructions of a wave in a turn: some 30 microseconds of host time. */
#define SLICE 1000

static void trace_clock(void *ctx, bool busy, uint64_t ns)
{
	struct gfx9_gpu *gpu = ctx;

	gpu->config.trace(gpu->config.trace_ctx, NULL, busy, ns);
}

void gfx9_gpu_add(struct gfx9_gpu *gpu, struct gfx9_queue *q)
{
	pthread_mutex_lock(&gpu->lock);
	q->stop = EMU_STOP_NONE;
	gpu_insert(gpu, q);
	gpu_changed(gpu);
	pthread_mutex_unlock(&gpu->lock);
}

void gfx9_gpu_remove(struct gfx9_gpu *gpu, struct gfx9_queue *q)
{
	pthread_mutex_lock(&gpu->lock);
	gpu_remove(gpu, q);
	pthread_mutex_unlock(&gpu->lock);
}

void gfx9_gpu_dispatch(struct gfx9_gpu *gpu, struct gfx9_job *job)
{
	struct gfx9_job **link, *finished = NULL;

	pthread_mutex_lock(&gpu->lock);
	for (link = &job->queue->jobs; *link; link = &(*link)->next)
		;
	*link = job;
	if (gpu_job_is_over(job)) /* an empty grid */
		gpu_finish(gpu, job, &finished);
	gpu_changed(gpu);
	pthread_mutex_unlock(&gpu->lock);
	gpu_report_done(gpu, finished);
}

static bool can_save(const struct gfx9_gpu *gpu, const struct gfx9_queue *q)
{
	return gpu->config.cwsr && q->base.tba && q->context[0].size;
}

enum emu_stop_type gfx9_gpu_stop(struct gfx9_gpu *gpu, struct gfx9_queue *q, enum emu_stop_type how)
{
	struct gfx9_job *finished = NULL;

	if (how == EMU_STOP_SAVE && !can_save(gpu, q))
		how = EMU_STOP_DRAIN;
	pthread_mutex_lock(&gpu->lock);
	if (q->stop == EMU_STOP_NONE)
		q->stop_error = 0;
	q->stop = how;
	atomic_fetch_add(&gpu->stops, 1);
	if (!q->nr_resident)
		gpu_queue_left(gpu, q, &finished);
	gpu_changed(gpu);
	pthread_mutex_unlock(&gpu->lock);
	gpu_report_done(gpu, finished);
	return how;
}

/* When a queue is off, all of its finished jobs have been reported as well. */
static bool is_off(const struct gfx9_queue *q)
{
	return !q->nr_resident && !q->writing && !q->nr_reporting;
}

int gfx9_gpu_wait(struct gfx9_gpu *gpu, struct gfx9_queue *q, uint64_t timeout_ns)
{
	uint64_t until = gp__clock_ns() + timeout_ns;
	int err = 0;

	pthread_mutex_lock(&gpu->lock);
	while (!is_off(q) && !err)
		err = gp__cond_wait(&gpu->left, &gpu->lock, until);
	err = is_off(q) ? q->stop_error : -ETIME;
	pthread_mutex_unlock(&gpu->lock);
	return err;
}

void gfx9_gpu_go(struct gfx9_gpu *gpu, struct gfx9_queue *q)
{
	pthread_mutex_lock(&gpu->lock);
	q->stop = EMU_STOP_NONE;
	atomic_fetch_add(&gpu->stops, 1);
	gpu_changed(gpu);
	pthread_mutex_unlock(&gpu->lock);
}

uint64_t gfx9_gpu_clock(struct gfx9_gpu *gpu)
{
	return gfx9_clock_now(&gpu->clock);
}

uint64_t gfx9_gpu_insts(struct gfx9_gpu *gpu)
{
	return atomic_load(&gpu->insts);
}

uint64_t gfx9_gpu_resident(struct gfx9_gpu *gpu, const struct gfx9_queue *q)
{
	uint64_t n;

	pthread_mutex_lock(&gpu->lock);
	n = q->nr_resident;
	pthread_mutex_unlock(&gpu->lock);
	return n;
}

uint64_t gfx9_gpu_waves(struct gfx9_gpu *gpu, const struct gfx9_queue *q)
{
	uint64_t n = 0;

	pthread_mutex_lock(&gpu->lock);
	for (const struct gfx9_job *job = q->jobs; job; job = job->next) {
		const uint32_t first[3] = { 0 };

		if (job->nr_groups)
			n += job->nr_resident * gfx9_group_waves(&job->base.launch, first);
	}
	pthread_mutex_unlock(&gpu->lock);
	return n;
}

bool gfx9_gpu_idle(struct gfx9_gpu *gpu)
{
	for (uint32_t i = 0; i < gpu->nr_cus; i++) {
		const struct gfx9_cu *cu = &gpu->cu[i];

		if (cu->groups || cu->nr_groups || cu->lds_bytes)
			return false;
		for (int k = 0; k < GFX9_SIMDS; k++) {
			if (cu->nr_waves[k] || cu->vgprs[k])
				return false;
		}
	}
	return true;
}

bool gfx9_gpu_step(struct gfx9_gpu *gpu)
{
	uint64_t stops = atomic_load(&gpu->stops), first = ++gpu->worker[0].turn;
	bool any = false;

	for (uint32_t i = 0; i < gpu->nr_cus; i++)
		gpu_settle(gpu, &gpu->cu[i]);
	for (uint32_t i = 0; i < gpu->nr_cus && atomic_load(&gpu->stops) == stops; i++)
		any |= gpu_turn(gpu, &gpu->cu[(first + i) % gpu->nr_cus], stops);
	/* After an interruption, waves may wait that had no turn. */
	return any || atomic_load(&gpu->stops) != stops;
}

static void destroy(struct gfx9_gpu *gpu)
{
	for (uint32_t i = 0; gpu->cu && i < gpu->nr_cus; i++)
		gfx9_cu_destroy(&gpu->cu[i]);
	gfx9_clock_destroy(&gpu->clock);
	pthread_mutex_destroy(&gpu->lock);
	free(gpu->cu);
	free(gpu->busy);
	free(gpu->place);
	free(gpu);
}

struct gfx9_gpu *gfx9_gpu_new(const struct emu_gpu_config *config)
{
	uint32_t nr_cus = config->nr_xccs * config->xcc_cus;
	uint32_t nr_workers = config->threads > 0 ? (uint32_t)config->threads : 1;
	struct gfx9_gpu *gpu;

	if (!nr_cus || nr_cus > EMU_CUS_MAX || config->nr_xccs > EMU_XCCS_MAX)
		return NULL;
	if (nr_workers > nr_cus)
		nr_workers = nr_cus;
	gpu = calloc(1, sizeof(*gpu) + nr_workers * sizeof(gpu->worker[0]));
	if (!gpu)
		return NULL;
	gpu->config = *config;
	if (!gpu->config.slice)
		gpu->config.slice = SLICE;
	gpu->nr_cus = nr_cus;
	gpu->nr_workers = nr_workers;
	gfx9_clock_init(&gpu->clock, config->trace ? trace_clock : NULL, gpu);
	pthread_mutex_init(&gpu->lock, NULL);
	gpu->cu = calloc(nr_cus, sizeof(*gpu->cu));
	gpu->busy = calloc(nr_cus, sizeof(*gpu->busy));
	gpu->place = calloc(nr_cus, sizeof(*gpu->place));
	for (uint32_t i = 0; gpu->cu && i < nr_cus; i++)
		gfx9_cu_init(&gpu->cu[i], config->target, i, i / config->xcc_cus,
			     i % config->xcc_cus);
	if (!gpu->cu || !gpu->busy || !gpu->place || !gpu_start_workers(gpu)) {
		destroy(gpu);
		return NULL;
	}
	return gpu;
}

void gfx9_gpu_free(struct gfx9_gpu *gpu)
{
	if (gpu->config.threads)
		gpu_stop_workers(gpu, gpu->nr_workers);
	destroy(gpu);
}
