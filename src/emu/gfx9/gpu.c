// SPDX-License-Identifier: MIT
#include "emu/gfx9/gpu.h"

#include "base/clock.h"
#include "base/cond.h"
#include "emu/gfx9/group.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Instructions a wave runs at a time: some 30 microseconds of a host's time. */
#define SLICE 1000

/*
 * How many rounds of turns the other compute units may be ahead of one whose thread the host keeps
 * from running. With none to spare a busy host would be slower than it must; with many the times of
 * its device would be those of its threads.
 */
#define ROUNDS_AHEAD 8

/* What the workers know of a compute unit; under the GPU's lock. */
struct place {
	bool taken; /* a worker is at it, and nobody else looks at it */
	bool has_groups;
	bool ready; /* it had something to do in its last turn */
	uint64_t round; /* of that turn */
	uint64_t stops, changes; /* those that it has seen */
};

struct worker {
	struct gfx9_gpu *gpu;
	pthread_t thread;
	/* All below is under the GPU's lock. */
	uint32_t first; /* compute unit that it looks at in a round */
	uint32_t nr_looked; /* at how many it has looked in @round */
	uint64_t round;
	uint64_t stops; /* for which it found nothing to settle any more */
	const struct place *at; /* NULL: none */
	uint64_t turn;
	bool asleep;
};

struct gfx9_gpu {
	struct gfx9_gpu_config config;
	struct gfx9_clock clock;
	_Atomic uint64_t insts;
	uint32_t nr_cus, nr_workers;
	struct gfx9_cu *cu;
	bool *busy; /* of each compute unit: the clock counts it */

	pthread_mutex_t lock;
	struct gp__cond work, left;
	struct place *place; /* of each compute unit */
	uint64_t round;
	uint32_t nr_ready; /* places that are, and not taken */
	uint32_t nr_asleep;
	struct gfx9_queue *queues; /* those mapped, the highest priority first */
	/* Raised under the lock: with every queue that stops or goes on, and with everything that
	 * might give an idle worker something to do. */
	_Atomic uint64_t stops, changes;
	uint32_t nr_quiescing; /* callers of gfx9_gpu_quiesce() */
	bool quit;
	struct worker worker[];
};

/*
 * Time
 */

/* Its SIMDs run at once: the busiest one says how long the turn was. */
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
		gpu->config.trace(gpu->config.trace_ctx, q, on, gfx9_clock_now(&gpu->clock));
}

static void trace_clock(void *ctx, bool busy, uint64_t ns)
{
	struct gfx9_gpu *gpu = ctx;

	gpu->config.trace(gpu->config.trace_ctx, NULL, busy, ns);
}

/*
 * Leaving. Called with the lock held; jobs that are done with go onto a list and are reported
 * without it.
 */

static void changed(struct gfx9_gpu *gpu)
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

static void finish(struct gfx9_gpu *gpu, struct gfx9_job *job, struct gfx9_job **finished)
{
	struct gfx9_queue *q = job->queue;

	unlink_job(job);
	job->ended_ns = gfx9_clock_now(&gpu->clock);
	q->nr_reporting++;
	for (int i = 0; atomic_load(&job->failed) && i < GFX9_XCCS_MAX; i++)
		gfx9_context_drop(&q->context[i], job);
	job->next = *finished;
	*finished = job;
}

/* A job may be gone when it is told, its queue not before that is counted. */
static void report_done(struct gfx9_gpu *gpu, struct gfx9_job *finished)
{
	while (finished) {
		struct gfx9_job *job = finished;
		struct gfx9_queue *q = job->queue;

		finished = job->next;
		job->done(job, atomic_load(&job->failed));
		pthread_mutex_lock(&gpu->lock);
		if (!--q->nr_reporting && q->stop != GFX9_RUNNING)
			gp__cond_broadcast(&gpu->left);
		pthread_mutex_unlock(&gpu->lock);
	}
}

static bool is_over(const struct gfx9_job *job)
{
	return !job->nr_resident && (job->nr_done == job->nr_groups || atomic_load(&job->failed));
}

/* Guest memory is found without the lock. */
static void write_contexts(struct gfx9_gpu *gpu, struct gfx9_queue *q)
{
	q->writing = true;
	pthread_mutex_unlock(&gpu->lock);
	for (uint32_t i = 0; i < gpu->config.nr_xccs; i++)
		gfx9_context_write(&q->context[i], q->vm);
	pthread_mutex_lock(&gpu->lock);
	q->writing = false;
	if (q->stop == GFX9_RUNNING)
		changed(gpu);
}

/* Nothing of a stopping queue is left on the compute units. */
static void has_left(struct gfx9_gpu *gpu, struct gfx9_queue *q, struct gfx9_job **finished)
{
	while (q->writing)
		gp__cond_wait(&gpu->left, &gpu->lock, GP__FOREVER);
	if (q->stop == GFX9_SAVE)
		write_contexts(gpu, q);
	while (q->stop == GFX9_RESET && q->jobs) {
		gfx9_job_fail(q->jobs, -ECANCELED);
		finish(gpu, q->jobs, finished);
	}
	gp__cond_broadcast(&gpu->left);
}

/* Takes note of a workgroup that is off its compute unit, for whatever reason. */
static void group_left(struct gfx9_gpu *gpu, struct gfx9_job *job, struct gfx9_job **finished)
{
	struct gfx9_queue *q = job->queue;

	job->nr_resident--;
	if (!--q->nr_resident)
		trace(gpu, q, false);
	if (is_over(job))
		finish(gpu, job, finished);
	if (q->stop != GFX9_RUNNING && !q->nr_resident)
		has_left(gpu, q, finished);
	/* Others may have waited for its scratch. */
	if (job->dispatch.scratch_bytes)
		changed(gpu);
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
	report_done(gpu, finished);
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
		return; /* in its next turn, then */
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
	/* Somebody may have waited for this one to be out of the way. */
	if (q->stop == GFX9_RUNNING)
		changed(gpu);
	group_left(gpu, job, &finished);
	pthread_mutex_unlock(&gpu->lock);
	report_done(gpu, finished);
}

static void drop_group(struct gfx9_gpu *gpu, struct gfx9_group *g)
{
	gfx9_group_unlink(g->cu, g);
	gfx9_job_fail(g->job, -ECANCELED);
	end_group(gpu, g);
}

/* Takes off the compute unit what does not belong there any more. */
static void settle(struct gfx9_gpu *gpu, struct gfx9_cu *cu)
{
	struct gfx9_group *g, *next;

	for (g = cu->groups; g; g = next) {
		enum gfx9_stop_type stop = atomic_load(&g->job->queue->stop);

		next = g->next;
		if (stop != GFX9_RESET && (stop != GFX9_SAVE || g->job->hangs))
			continue;
		set_busy(gpu, cu, true);
		if (stop == GFX9_SAVE)
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
	return q->cu_mask[cu->id / 32] >> cu->id % 32 & 1;
}

/* Behind the others of its priority. */
static void insert(struct gfx9_gpu *gpu, struct gfx9_queue *q)
{
	struct gfx9_queue **link = &gpu->queues;

	while (*link && (*link)->priority >= q->priority)
		link = &(*link)->next;
	q->next = *link;
	*link = q;
}

static void remove_queue(struct gfx9_gpu *gpu, struct gfx9_queue *q)
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
	remove_queue(gpu, job->queue);
	insert(gpu, job->queue);
}

/* What a compute unit does next: a saved workgroup, or a new one. */
struct choice {
	struct gfx9_saved_group *saved;
	struct gfx9_job *job;
	uint32_t id[3], slot[GFX9_GROUP_WAVES_MAX];
};

/* The job whose workgroups are next: those of a later one wait until all have started. */
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
	nr_waves = gfx9_group_waves(&job->dispatch, c->id);
	if (!gfx9_cu_fits(cu, job, nr_waves))
		return false;
	if (job->dispatch.scratch_bytes && !gfx9_queue_take_scratch(q, c->slot, nr_waves))
		return false;
	job->started[cu->xcc]++;
	if (!job->nr_started++)
		job->started_ns = gfx9_clock_now(&gpu->clock);
	c->job = job;
	return true;
}

static bool choose_from(struct gfx9_gpu *gpu, struct gfx9_queue *q, const struct gfx9_cu *cu,
			struct choice *c)
{
	struct gfx9_context *context = &q->context[cu->xcc];
	uint32_t nr_waves;

	if (q->stop != GFX9_RUNNING || !may_use(q, cu) || q->writing || context->nr_saving)
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
		changed(gpu);
}

/* Nothing can be done about a host without memory but to say so. */
static void cannot_start(struct gfx9_gpu *gpu, const struct gfx9_cu *cu, struct choice *c)
{
	struct gfx9_job *job = c->job, *finished = NULL;
	uint32_t nr_waves = gfx9_group_waves(&job->dispatch, c->id);

	pthread_mutex_lock(&gpu->lock);
	gfx9_job_fail(job, -ENOMEM);
	if (c->saved)
		is_restored(gpu, &job->queue->context[cu->xcc], c->saved);
	for (uint32_t i = 0; !c->saved && job->dispatch.scratch_bytes && i < nr_waves; i++)
		gfx9_queue_give_scratch(job->queue, c->slot[i]);
	group_left(gpu, job, &finished);
	pthread_mutex_unlock(&gpu->lock);
	report_done(gpu, finished);
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

/* Compute units whose waves all wait have no turn before something has changed. */
static void wake_others(struct gfx9_gpu *gpu, struct gfx9_cu *cu)
{
	cu->wakes_others = false;
	pthread_mutex_lock(&gpu->lock);
	changed(gpu);
	pthread_mutex_unlock(&gpu->lock);
}

/* One turn of a compute unit. False: it had nothing to do. */
static bool turn(struct gfx9_gpu *gpu, struct gfx9_cu *cu, uint64_t stops)
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

bool gfx9_gpu_step(struct gfx9_gpu *gpu)
{
	uint64_t stops = atomic_load(&gpu->stops), first = ++gpu->worker[0].turn;
	bool any = false;

	for (uint32_t i = 0; i < gpu->nr_cus; i++)
		settle(gpu, &gpu->cu[i]);
	for (uint32_t i = 0; i < gpu->nr_cus && atomic_load(&gpu->stops) == stops; i++)
		any |= turn(gpu, &gpu->cu[(first + i) % gpu->nr_cus], stops);
	/* Who was interrupted does not know: waves may wait that had no turn. */
	return any || atomic_load(&gpu->stops) != stops;
}

/*
 * Workers. Any of them runs any compute unit, and all compute units that have something to do get a
 * turn in each round: how the host runs its threads decides neither where workgroups start nor how
 * far they come. A worker begins each round at a place of its own, so that while all threads run it
 * mostly meets the same compute units. What is to leave does so before anybody has another turn.
 */

static bool must_settle(const struct gfx9_gpu *gpu, const struct place *p)
{
	return !p->taken && p->has_groups && p->stops != atomic_load(&gpu->stops);
}

static struct place *next_to_settle(struct worker *w)
{
	struct gfx9_gpu *gpu = w->gpu;
	uint64_t stops = atomic_load(&gpu->stops);

	for (uint32_t i = 0; w->stops != stops && i < gpu->nr_cus; i++) {
		struct place *p = &gpu->place[(w->first + i) % gpu->nr_cus];

		if (must_settle(gpu, p))
			return p;
	}
	w->stops = stops;
	return NULL;
}

static struct place *next_of_round(struct worker *w)
{
	struct gfx9_gpu *gpu = w->gpu;

	if (w->round != gpu->round)
		w->nr_looked = 0;
	w->round = gpu->round;
	while (w->nr_looked < gpu->nr_cus) {
		struct place *p = &gpu->place[(w->first + w->nr_looked++) % gpu->nr_cus];

		if (!p->taken && p->round != gpu->round &&
		    (p->ready || p->changes != atomic_load(&gpu->changes)))
			return p;
	}
	return NULL;
}

static bool is_far_behind(const struct gfx9_gpu *gpu, const struct place *p)
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
static struct place *take(struct worker *w, bool *settles)
{
	struct gfx9_gpu *gpu = w->gpu;
	struct place *p = next_to_settle(w);

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
	/* There is something for another one, who may have found all of it taken. */
	if (gpu->nr_ready && gpu->nr_asleep)
		gp__cond_signal(&gpu->work);
	return p;
}

static void give_back(struct worker *w, struct place *p)
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

/* Nobody else is at it. */
static void visit(struct gfx9_gpu *gpu, struct place *p, bool settles)
{
	struct gfx9_cu *cu = &gpu->cu[p - gpu->place];
	uint64_t stops = atomic_load(&gpu->stops), changes = atomic_load(&gpu->changes);

	settle(gpu, cu);
	if (!settles && atomic_load(&gpu->stops) == stops) {
		/* Who was interrupted does not know: waves may wait that had no turn. */
		p->ready = turn(gpu, cu, stops) || atomic_load(&gpu->stops) != stops;
		p->changes = changes;
	}
	p->has_groups = gfx9_cu_busy(cu);
	p->stops = stops;
}

static void sleep_worker(struct worker *w)
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
	struct worker *w = arg;
	struct gfx9_gpu *gpu = w->gpu;

	/* Of this thread alone, as Linux has it. Where it cannot be, it is as before. */
	if (gpu->config.nice && nice((int)gpu->config.nice) < 0)
		errno = 0;
	pthread_mutex_lock(&gpu->lock);
	while (!gpu->quit) {
		bool settles;
		struct place *p = take(w, &settles);

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

/*
 * From outside
 */

void gfx9_gpu_add(struct gfx9_gpu *gpu, struct gfx9_queue *q)
{
	pthread_mutex_lock(&gpu->lock);
	q->stop = GFX9_RUNNING;
	insert(gpu, q);
	changed(gpu);
	pthread_mutex_unlock(&gpu->lock);
}

void gfx9_gpu_remove(struct gfx9_gpu *gpu, struct gfx9_queue *q)
{
	pthread_mutex_lock(&gpu->lock);
	remove_queue(gpu, q);
	pthread_mutex_unlock(&gpu->lock);
}

void gfx9_gpu_set(struct gfx9_gpu *gpu, struct gfx9_queue *q, int priority,
		  const uint32_t cu_mask[GFX9_CUS_MAX / 32])
{
	pthread_mutex_lock(&gpu->lock);
	q->priority = priority;
	if (cu_mask)
		memcpy(q->cu_mask, cu_mask, sizeof(q->cu_mask));
	else
		memset(q->cu_mask, 0xff, sizeof(q->cu_mask));
	remove_queue(gpu, q);
	insert(gpu, q);
	changed(gpu);
	pthread_mutex_unlock(&gpu->lock);
}

void gfx9_gpu_dispatch(struct gfx9_gpu *gpu, struct gfx9_job *job)
{
	struct gfx9_job **link, *finished = NULL;

	pthread_mutex_lock(&gpu->lock);
	for (link = &job->queue->jobs; *link; link = &(*link)->next)
		;
	*link = job;
	if (is_over(job)) /* a grid of nothing */
		finish(gpu, job, &finished);
	changed(gpu);
	pthread_mutex_unlock(&gpu->lock);
	report_done(gpu, finished);
}

static bool can_save(const struct gfx9_gpu *gpu, const struct gfx9_queue *q)
{
	return gpu->config.cwsr && q->tba && q->context[0].size;
}

enum gfx9_stop_type gfx9_gpu_stop(struct gfx9_gpu *gpu, struct gfx9_queue *q,
				  enum gfx9_stop_type how)
{
	struct gfx9_job *finished = NULL;

	if (how == GFX9_SAVE && !can_save(gpu, q))
		how = GFX9_DRAIN;
	pthread_mutex_lock(&gpu->lock);
	if (q->stop == GFX9_RUNNING)
		q->stop_error = 0;
	q->stop = how;
	atomic_fetch_add(&gpu->stops, 1);
	if (!q->nr_resident)
		has_left(gpu, q, &finished);
	changed(gpu);
	pthread_mutex_unlock(&gpu->lock);
	report_done(gpu, finished);
	return how;
}

/* Whoever waits for a queue has also been told of every job that is done. */
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
	q->stop = GFX9_RUNNING;
	atomic_fetch_add(&gpu->stops, 1);
	changed(gpu);
	pthread_mutex_unlock(&gpu->lock);
}

/* A worker that sleeps, or begins another turn, has let go of everything. */
void gfx9_gpu_quiesce(struct gfx9_gpu *gpu)
{
	pthread_mutex_lock(&gpu->lock);
	gpu->nr_quiescing++;
	atomic_fetch_add(&gpu->stops, 1);
	for (uint32_t i = 0; gpu->config.threads && i < gpu->nr_workers; i++) {
		const struct worker *w = &gpu->worker[i];
		uint64_t turn = w->turn;

		while (!w->asleep && w->turn == turn)
			gp__cond_wait(&gpu->left, &gpu->lock, GP__FOREVER);
	}
	gpu->nr_quiescing--;
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
			n += job->nr_resident * gfx9_group_waves(&job->dispatch, first);
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

static void stop_workers(struct gfx9_gpu *gpu, uint32_t n)
{
	pthread_mutex_lock(&gpu->lock);
	gpu->quit = true;
	changed(gpu);
	pthread_mutex_unlock(&gpu->lock);
	while (n--)
		pthread_join(gpu->worker[n].thread, NULL);
}

static bool start_workers(struct gfx9_gpu *gpu)
{
	for (uint32_t i = 0; i < gpu->nr_workers; i++) {
		gpu->worker[i].gpu = gpu;
		gpu->worker[i].first = i * gpu->nr_cus / gpu->nr_workers;
		if (gpu->config.threads &&
		    pthread_create(&gpu->worker[i].thread, NULL, work, &gpu->worker[i])) {
			stop_workers(gpu, i);
			return false;
		}
	}
	return true;
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

struct gfx9_gpu *gfx9_gpu_new(const struct gfx9_gpu_config *config)
{
	uint32_t nr_cus = config->nr_xccs * config->xcc_cus;
	uint32_t nr_workers = config->threads > 0 ? (uint32_t)config->threads : 1;
	struct gfx9_gpu *gpu;

	if (!nr_cus || nr_cus > GFX9_CUS_MAX || config->nr_xccs > GFX9_XCCS_MAX)
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
	if (!gpu->cu || !gpu->busy || !gpu->place || !start_workers(gpu)) {
		destroy(gpu);
		return NULL;
	}
	return gpu;
}

void gfx9_gpu_free(struct gfx9_gpu *gpu)
{
	if (gpu->config.threads)
		stop_workers(gpu, gpu->nr_workers);
	destroy(gpu);
}
