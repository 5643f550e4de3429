// SPDX-License-Identifier: MIT
/*
 * A turn of a compute unit: workgroups start, run, end, and are saved or dropped when their queue
 * stops. Only one thread at a time has a compute unit; queues and jobs are under the GPU's lock.
 */
#include "emu/gfx9/gpu_parts.h"

#include <errno.h>

#include "emu/gfx9/group.h"

/*
 * Time
 */

/* Its SIMDs run in parallel: the busiest one determines the length of the turn. */
static uint64_t count(struct gfx9_gpu *gpu, struct gfx9_cu *cu)
{
	uint64_t longest = 0, total = 0;

	for (int i = 0; i < GFX9_SIMDS; i++) {
		total += cu->ran[i];
		if (cu->ran[i] > longest)
			longest = cu->ran[i];
		cu->ran[i] = 0;
	}
	if (!total)
		return 0;
	atomic_fetch_add_explicit(&gpu->insts, total, memory_order_relaxed);
	gfx9_clock_ran(&gpu->clock, longest * GFX9_INST_NS);
	return total;
}

static void set_busy(struct gfx9_gpu *gpu, const struct gfx9_cu *cu, bool busy)
{
	if (gpu->busy[cu->id] == busy)
		return;
	gpu->busy[cu->id] = busy;
	if (busy)
		gfx9_clock_begin(&gpu->clock);
	else
		gfx9_clock_end(&gpu->clock);
}

static void trace(struct gfx9_gpu *gpu, struct gfx9_queue *q, bool on)
{
	if (gpu->config.trace)
		gpu->config.trace(gpu->config.trace_ctx, &q->base, on, gfx9_clock_now(&gpu->clock));
}

/* Leaving. Called with the lock held; finished jobs go onto a list and are reported without it. */

void gpu_changed(struct gfx9_gpu *gpu)
{
	atomic_fetch_add(&gpu->changes, 1);
	gp__cond_broadcast(&gpu->work);
}

static void unlink_job(struct gfx9_job *job)
{
	struct gfx9_job **link = &job->queue->jobs;

	while (*link != job)
		link = &(*link)->next;
	*link = job->next;
}

void gpu_finish(struct gfx9_gpu *gpu, struct gfx9_job *job, struct gfx9_job **finished)
{
	struct gfx9_queue *q = job->queue;

	unlink_job(job);
	job->base.ended_ns = gfx9_clock_now(&gpu->clock);
	q->nr_reporting++;
	for (int i = 0; atomic_load(&job->failed) && i < EMU_XCCS_MAX; i++)
		gfx9_context_drop(&q->context[i], job);
	job->next = *finished;
	*finished = job;
}

/* A job may be freed by done(), its queue not before that is counted. */
void gpu_report_done(struct gfx9_gpu *gpu, struct gfx9_job *finished)
{
	while (finished) {
		struct gfx9_job *job = finished;
		struct gfx9_queue *q = job->queue;

		finished = job->next;
		job->base.done(&job->base, atomic_load(&job->failed));
		pthread_mutex_lock(&gpu->lock);
		if (!--q->nr_reporting && q->stop != EMU_STOP_NONE)
			gp__cond_broadcast(&gpu->left);
		pthread_mutex_unlock(&gpu->lock);
	}
}

bool gpu_job_is_over(const struct gfx9_job *job)
{
	return !job->nr_resident && (job->nr_done == job->nr_groups || atomic_load(&job->failed));
}

/* Guest memory is accessed without the lock. */
static void write_contexts(struct gfx9_gpu *gpu, struct gfx9_queue *q)
{
	q->writing = true;
	pthread_mutex_unlock(&gpu->lock);
	for (uint32_t i = 0; i < gpu->config.nr_xccs; i++)
		gfx9_context_write(&q->context[i], q->vm);
	pthread_mutex_lock(&gpu->lock);
	q->writing = false;
	if (q->stop == EMU_STOP_NONE)
		gpu_changed(gpu);
}

/* No workgroup of a stopping queue is left on a compute unit. */
void gpu_queue_left(struct gfx9_gpu *gpu, struct gfx9_queue *q, struct gfx9_job **finished)
{
	while (q->writing)
		gp__cond_wait(&gpu->left, &gpu->lock, GP__FOREVER);
	if (q->stop == EMU_STOP_SAVE)
		write_contexts(gpu, q);
	while (q->stop == EMU_STOP_RESET && q->jobs) {
		gfx9_job_fail(q->jobs, -ECANCELED);
		gpu_finish(gpu, q->jobs, finished);
	}
	gp__cond_broadcast(&gpu->left);
}

/* A workgroup has left its compute unit, for whatever reason. */
static void group_left(struct gfx9_gpu *gpu, struct gfx9_job *job, struct gfx9_job **finished)
{
	struct gfx9_queue *q = job->queue;

	job->nr_resident--;
	if (!--q->nr_resident)
		trace(gpu, q, false);
	if (gpu_job_is_over(job))
		gpu_finish(gpu, job, finished);
	if (q->stop != EMU_STOP_NONE && !q->nr_resident)
		gpu_queue_left(gpu, q, finished);
	/* Other workgroups may have waited for its scratch. */
	if (job->base.launch.scratch_bytes)
		gpu_changed(gpu);
}

static void end_group(struct gfx9_gpu *gpu, struct gfx9_group *g)
{
	struct gfx9_job *job = g->job, *finished = NULL;

	gfx9_group_give_scratch(g);
	gfx9_group_release(g);
	pthread_mutex_lock(&gpu->lock);
	job->nr_done++;
	group_left(gpu, job, &finished);
	pthread_mutex_unlock(&gpu->lock);
	gpu_report_done(gpu, finished);
}

/*
 * Stopping
 */

static int reserve(struct gfx9_gpu *gpu, struct gfx9_group *g)
{
	struct gfx9_context *c = &g->job->queue->context[g->cu->xcc];
	int err;

	pthread_mutex_lock(&gpu->lock);
	err = gfx9_group_reserve(g, c);
	pthread_mutex_unlock(&gpu->lock);
	return err;
}

static void save_group(struct gfx9_gpu *gpu, struct gfx9_group *g)
{
	struct gfx9_job *job = g->job, *finished = NULL;
	struct gfx9_queue *q = job->queue;
	struct gfx9_saved_group *saved = NULL;
	struct gfx9_context *c = &q->context[g->cu->xcc];
	int err = reserve(gpu, g);
	bool reserved = !err;

	if (err == -EAGAIN)
		return; /* retried in its next turn */
	gfx9_group_unlink(g->cu, g);
	if (!err)
		err = gfx9_group_save(g, &saved);
	if (err)
		gfx9_group_give_scratch(g);
	gfx9_group_release(g);
	pthread_mutex_lock(&gpu->lock);
	if (reserved)
		gfx9_context_saved(c, saved);
	if (err) {
		gfx9_job_fail(job, err);
		q->stop_error = err;
	}
	/* Another workgroup may have waited for this one to be saved. */
	if (q->stop == EMU_STOP_NONE)
		gpu_changed(gpu);
	group_left(gpu, job, &finished);
	pthread_mutex_unlock(&gpu->lock);
	gpu_report_done(gpu, finished);
}

static void drop_group(struct gfx9_gpu *gpu, struct gfx9_group *g)
{
	gfx9_group_unlink(g->cu, g);
	gfx9_job_fail(g->job, -ECANCELED);
	end_group(gpu, g);
}

/* Removes workgroups of stopping queues from the compute unit. */
void gpu_settle(struct gfx9_gpu *gpu, struct gfx9_cu *cu)
{
	struct gfx9_group *g, *next;

	for (g = cu->groups; g; g = next) {
		enum emu_stop_type stop = atomic_load(&g->job->queue->stop);

		next = g->next;
		if (stop != EMU_STOP_RESET && (stop != EMU_STOP_SAVE || g->job->base.hangs))
			continue;
		set_busy(gpu, cu, true);
		if (stop == EMU_STOP_SAVE)
			save_group(gpu, g);
		else
			drop_group(gpu, g);
	}
	count(gpu, cu);
}

/*
 * Starting
 */

static bool may_use(const struct gfx9_queue *q, const struct gfx9_cu *cu)
{
	return q->base.cu_mask[cu->id / 32] >> cu->id % 32 & 1;
}

/* Behind the others of its priority. */
void gpu_insert(struct gfx9_gpu *gpu, struct gfx9_queue *q)
{
	struct gfx9_queue **link = &gpu->queues;

	while (*link && (*link)->base.priority >= q->base.priority)
		link = &(*link)->next;
	q->next = *link;
	*link = q;
}

void gpu_remove(struct gfx9_gpu *gpu, struct gfx9_queue *q)
{
	struct gfx9_queue **link = &gpu->queues;

	while (*link != q)
		link = &(*link)->next;
	*link = q->next;
}

static void claim(struct gfx9_gpu *gpu, struct gfx9_job *job)
{
	job->nr_resident++;
	if (!job->queue->nr_resident++)
		trace(gpu, job->queue, true);
	gpu_remove(gpu, job->queue);
	gpu_insert(gpu, job->queue);
}

/* The next workgroup of a compute unit: a saved one, or a new one. */
struct choice {
	struct gfx9_saved_group *saved;
	struct gfx9_job *job;
	uint32_t id[3], slot[GFX9_GROUP_WAVES_MAX];
};

/* The job whose workgroups are next: those of later jobs wait until all of it has started. */
static struct gfx9_job *next_job(const struct gfx9_gpu *gpu, const struct gfx9_queue *q,
				 uint32_t xcc, uint32_t id[3])
{
	struct gfx9_job *job = q->jobs;

	while (job && !gfx9_job_next(job, xcc, gpu->config.nr_xccs, id))
		job = job->next;
	return job;
}

static bool choose_new(struct gfx9_gpu *gpu, struct gfx9_queue *q, const struct gfx9_cu *cu,
		       struct choice *c)
{
	struct gfx9_job *job = next_job(gpu, q, cu->xcc, c->id);
	uint32_t nr_waves;

	if (!job)
		return false;
	nr_waves = gfx9_group_waves(&job->base.launch, c->id);
	if (!gfx9_cu_fits(cu, job, nr_waves))
		return false;
	if (job->base.launch.scratch_bytes && !gfx9_queue_take_scratch(q, c->slot, nr_waves))
		return false;
	job->started[cu->xcc]++;
	if (!job->nr_started++)
		job->base.started_ns = gfx9_clock_now(&gpu->clock);
	c->job = job;
	return true;
}

static bool choose_from(struct gfx9_gpu *gpu, struct gfx9_queue *q, const struct gfx9_cu *cu,
			struct choice *c)
{
	struct gfx9_context *context = &q->context[cu->xcc];
	uint32_t nr_waves;

	if (q->stop != EMU_STOP_NONE || !may_use(q, cu) || q->writing || context->nr_saving)
		return false;
	c->job = gfx9_context_next(context, &nr_waves);
	if (!c->job)
		return choose_new(gpu, q, cu, c);
	if (!gfx9_cu_fits(cu, c->job, nr_waves))
		return false;
	c->saved = gfx9_context_pop(context);
	return true;
}

static bool choose(struct gfx9_gpu *gpu, const struct gfx9_cu *cu, struct choice *c)
{
	struct gfx9_queue *q;

	pthread_mutex_lock(&gpu->lock);
	for (q = gpu->queues; q; q = q->next) {
		if (choose_from(gpu, q, cu, c))
			break;
	}
	if (q)
		claim(gpu, c->job);
	pthread_mutex_unlock(&gpu->lock);
	return q;
}

static void is_restored(struct gfx9_gpu *gpu, struct gfx9_context *c, struct gfx9_saved_group *s)
{
	gfx9_context_restored(c, s);
	/* Others may be waiting to be saved. */
	if (!c->nr_restoring)
		gpu_changed(gpu);
}

/* The host is out of memory: the job fails. */
static void cannot_start(struct gfx9_gpu *gpu, const struct gfx9_cu *cu, struct choice *c)
{
	struct gfx9_job *job = c->job, *finished = NULL;
	uint32_t nr_waves = gfx9_group_waves(&job->base.launch, c->id);

	pthread_mutex_lock(&gpu->lock);
	gfx9_job_fail(job, -ENOMEM);
	if (c->saved)
		is_restored(gpu, &job->queue->context[cu->xcc], c->saved);
	for (uint32_t i = 0; !c->saved && job->base.launch.scratch_bytes && i < nr_waves; i++)
		gfx9_queue_give_scratch(job->queue, c->slot[i]);
	group_left(gpu, job, &finished);
	pthread_mutex_unlock(&gpu->lock);
	gpu_report_done(gpu, finished);
}

static bool restore_one(struct gfx9_gpu *gpu, struct gfx9_cu *cu, struct gfx9_saved_group *saved)
{
	struct gfx9_group *g = gfx9_cu_restore(cu, saved);

	if (!g)
		return false;
	pthread_mutex_lock(&gpu->lock);
	is_restored(gpu, &g->job->queue->context[cu->xcc], NULL);
	pthread_mutex_unlock(&gpu->lock);
	return true;
}

static bool start_one(struct gfx9_gpu *gpu, struct gfx9_cu *cu)
{
	struct choice c = { 0 };
	bool started;

	if (!choose(gpu, cu, &c))
		return false;
	if (c.saved)
		started = restore_one(gpu, cu, c.saved);
	else
		started = gfx9_cu_start(cu, c.job, c.id, c.slot);
	if (!started)
		cannot_start(gpu, cu, &c);
	return true;
}

/*
 * Running
 */

/* Compute units whose waves all wait get no turn before something has changed. */
static void wake_others(struct gfx9_gpu *gpu, struct gfx9_cu *cu)
{
	cu->wakes_others = false;
	pthread_mutex_lock(&gpu->lock);
	gpu_changed(gpu);
	pthread_mutex_unlock(&gpu->lock);
}

/* A turn of a compute unit. False: it had nothing to do. */
bool gpu_turn(struct gfx9_gpu *gpu, struct gfx9_cu *cu, uint64_t stops)
{
	bool started = start_one(gpu, cu);
	struct gfx9_group *ended, *next;
	uint64_t done;

	if (!gfx9_cu_busy(cu)) {
		set_busy(gpu, cu, false);
		return started;
	}
	set_busy(gpu, cu, true);
	ended = gfx9_cu_run(cu, gpu->config.slice, gfx9_clock_now(&gpu->clock), &gpu->stops, stops);
	done = count(gpu, cu);
	if (cu->wakes_others)
		wake_others(gpu, cu);
	if (!done && !ended && atomic_load(&gpu->stops) == stops)
		set_busy(gpu, cu, false); /* all of its waves are halted */
	started |= done || ended;
	for (; ended; ended = next) {
		next = ended->next;
		end_group(gpu, ended);
	}
	return started;
}
