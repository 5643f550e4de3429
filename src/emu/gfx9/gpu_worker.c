// SPDX-License-Identifier: MIT
/*
 * Threads that run compute units. Any thread runs any compute unit, and all compute units with work
 * get a turn in each round: the host's scheduling of threads affects neither where workgroups start
 * nor their relative progress. Each worker begins a round at a different compute unit, so that
 * while all threads run it mostly runs the same ones. Workgroups of stopping queues leave before
 * any compute unit gets another turn.
 */
#include "emu/gfx9/gpu_parts.h"

#include <errno.h>
#include <unistd.h>

/*
 * The number of rounds by which other compute units may be ahead of one whose thread is
 * descheduled. With none, a busy host would be slower than necessary; with many, device time would
 * depend on the host's scheduling.
 */
#define ROUNDS_AHEAD 8

static bool must_settle(const struct gfx9_gpu *gpu, const struct gpu_place *p)
{
	return !p->taken && p->has_groups && p->stops != atomic_load(&gpu->stops);
}

static struct gpu_place *next_to_settle(struct gpu_worker *w)
{
	struct gfx9_gpu *gpu = w->gpu;
	uint64_t stops = atomic_load(&gpu->stops);

	for (uint32_t i = 0; w->stops != stops && i < gpu->nr_cus; i++) {
		struct gpu_place *p = &gpu->place[(w->first + i) % gpu->nr_cus];

		if (must_settle(gpu, p))
			return p;
	}
	w->stops = stops;
	return NULL;
}

static struct gpu_place *next_of_round(struct gpu_worker *w)
{
	struct gfx9_gpu *gpu = w->gpu;

	if (w->round != gpu->round)
		w->nr_looked = 0;
	w->round = gpu->round;
	while (w->nr_looked < gpu->nr_cus) {
		struct gpu_place *p = &gpu->place[(w->first + w->nr_looked++) % gpu->nr_cus];

		if (!p->taken && p->round != gpu->round &&
		    (p->ready || p->changes != atomic_load(&gpu->changes)))
			return p;
	}
	return NULL;
}

static bool is_far_behind(const struct gfx9_gpu *gpu, const struct gpu_place *p)
{
	return gpu->round - p->round >= ROUNDS_AHEAD;
}

static bool may_begin_round(const struct gfx9_gpu *gpu)
{
	for (uint32_t i = 0; i < gpu->nr_workers; i++) {
		if (gpu->worker[i].at && is_far_behind(gpu, gpu->worker[i].at))
			return false;
	}
	return true;
}

/* NULL: there is nothing to do for now. */
static struct gpu_place *take(struct gpu_worker *w, bool *settles)
{
	struct gfx9_gpu *gpu = w->gpu;
	struct gpu_place *p = next_to_settle(w);

	*settles = p;
	if (!p)
		p = next_of_round(w);
	if (!p && may_begin_round(gpu)) {
		gpu->round++;
		p = next_of_round(w);
	}
	w->at = p;
	if (!p)
		return NULL;
	p->taken = true;
	p->round = gpu->round;
	gpu->nr_ready -= p->ready;
	/* There is work for another worker, which may have found all of it taken. */
	if (gpu->nr_ready && gpu->nr_asleep)
		gp__cond_signal(&gpu->work);
	return p;
}

static void give_back(struct gpu_worker *w, struct gpu_place *p)
{
	struct gfx9_gpu *gpu = w->gpu;

	w->at = NULL;
	w->turn++;
	p->taken = false;
	gpu->nr_ready += p->ready;
	if (gpu->nr_quiescing)
		gp__cond_broadcast(&gpu->left);
	if (is_far_behind(gpu, p))
		gp__cond_broadcast(&gpu->work);
}

/* No other thread uses the compute unit. */
static void visit(struct gfx9_gpu *gpu, struct gpu_place *p, bool settles)
{
	struct gfx9_cu *cu = &gpu->cu[p - gpu->place];
	uint64_t stops = atomic_load(&gpu->stops), changes = atomic_load(&gpu->changes);

	gpu_settle(gpu, cu);
	if (!settles && atomic_load(&gpu->stops) == stops) {
		/* After an interruption, waves may wait that had no turn. */
		p->ready = gpu_turn(gpu, cu, stops) || atomic_load(&gpu->stops) != stops;
		p->changes = changes;
	}
	p->has_groups = gfx9_cu_busy(cu);
	p->stops = stops;
}

static void sleep_worker(struct gpu_worker *w)
{
	struct gfx9_gpu *gpu = w->gpu;

	w->asleep = true;
	gpu->nr_asleep++;
	if (gpu->nr_quiescing)
		gp__cond_broadcast(&gpu->left);
	gp__cond_wait(&gpu->work, &gpu->lock, GP__FOREVER);
	gpu->nr_asleep--;
	w->asleep = false;
}

static void *work(void *arg)
{
	struct gpu_worker *w = arg;
	struct gfx9_gpu *gpu = w->gpu;

	/* On Linux this affects only this thread. If it fails, the priority stays. */
	if (gpu->config.nice && nice((int)gpu->config.nice) < 0)
		errno = 0;
	pthread_mutex_lock(&gpu->lock);
	while (!gpu->quit) {
		bool settles;
		struct gpu_place *p = take(w, &settles);

		if (!p) {
			sleep_worker(w);
			continue;
		}
		pthread_mutex_unlock(&gpu->lock);
		visit(gpu, p, settles);
		pthread_mutex_lock(&gpu->lock);
		give_back(w, p);
	}
	pthread_mutex_unlock(&gpu->lock);
	return NULL;
}

/* A worker that sleeps, or begins another turn, holds no page. */
void gfx9_gpu_quiesce(struct gfx9_gpu *gpu)
{
	pthread_mutex_lock(&gpu->lock);
	gpu->nr_quiescing++;
	atomic_fetch_add(&gpu->stops, 1);
	for (uint32_t i = 0; gpu->config.threads && i < gpu->nr_workers; i++) {
		const struct gpu_worker *w = &gpu->worker[i];
		uint64_t turn = w->turn;

		while (!w->asleep && w->turn == turn)
			gp__cond_wait(&gpu->left, &gpu->lock, GP__FOREVER);
	}
	gpu->nr_quiescing--;
	pthread_mutex_unlock(&gpu->lock);
}

void gpu_stop_workers(struct gfx9_gpu *gpu, uint32_t n)
{
	pthread_mutex_lock(&gpu->lock);
	gpu->quit = true;
	gpu_changed(gpu);
	pthread_mutex_unlock(&gpu->lock);
	while (n--)
		pthread_join(gpu->worker[n].thread, NULL);
}

bool gpu_start_workers(struct gfx9_gpu *gpu)
{
	for (uint32_t i = 0; i < gpu->nr_workers; i++) {
		gpu->worker[i].gpu = gpu;
		gpu->worker[i].first = i * gpu->nr_cus / gpu->nr_workers;
		if (gpu->config.threads &&
		    pthread_create(&gpu->worker[i].thread, NULL, work, &gpu->worker[i])) {
			gpu_stop_workers(gpu, i);
			return false;
		}
	}
	return true;
}
