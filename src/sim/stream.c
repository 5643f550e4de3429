// SPDX-License-Identifier: MIT
/*
 * A stream drives its preemptible queue as the threaded driver does, in virtual time: it makes the
 * device calls that the queue asks for, one at a time, and acknowledges the core's orders.
 */
#include "sim/sim.h"

#include <stdlib.h>

static struct sim_command *command(struct sim_stream *st, u64 ticket)
{
	return &st->ring[ticket % st->ring_size];
}

static bool make_room(struct sim *s, struct sim_stream *st)
{
	u64 size = st->ring_size ? st->ring_size * 2 : 64, t;
	struct sim_command *ring;

	if (st->pq.submitted - st->pq.completed + 1 < st->ring_size)
		return true;
	ring = calloc(size, sizeof(*ring));
	if (!ring) {
		s->failed = true;
		return false;
	}
	for (t = st->pq.completed + 1; t <= st->pq.submitted; t++)
		ring[t % size] = *command(st, t);
	free(st->ring);
	st->ring = ring;
	st->ring_size = size;
	return true;
}

/* Acknowledges an order when the queue has reached its state, or has given up. */
static void acknowledge(struct sim *s, struct sim_stream *st, enum gp__pq_note note)
{
	enum gp__pq_state state = gp__pq_state(&st->pq);
	int result = 0;

	if (!st->order)
		return;
	if (st->order == GP__VERB_HOLD && note == GP__PQ_NOTE_STOP_FAILED)
		result = st->pq.last_error ? st->pq.last_error : -EIO;
	else if (st->order == GP__VERB_HOLD && state != GP__PQ_SUSPENDED)
		return;
	else if (st->order == GP__VERB_RELEASE && state != GP__PQ_RUNNING)
		return;
	st->order = GP__VERB_NONE;
	gp__queue_ack(&st->queue, result, s->now);
}

static const struct gp__dist *latency_of(const struct gp__gpu_spec *gpu, enum gp__pq_op op)
{
	switch (op) {
	case GP__PQ_DEACTIVATE:
		return &gpu->deactivate;
	case GP__PQ_REACTIVATE:
		return &gpu->reactivate;
	case GP__PQ_INTERRUPT:
		return &gpu->interrupt;
	case GP__PQ_RESTORE:
		return &gpu->restore;
	default:
		return &gpu->launch;
	}
}

static int take_effect(struct sim *s, struct sim_stream *st, enum gp__pq_op op)
{
	bool stops = op == GP__PQ_INTERRUPT || op == GP__PQ_DEACTIVATE;

	if (stops && gp__rng_chance(&st->gpu->fail_rng, st->gpu->spec->fail))
		return -EBUSY;
	switch (op) {
	case GP__PQ_LAUNCH:
		st->handed = st->pq.launched;
		break;
	case GP__PQ_INTERRUPT:
		sim_gpu_interrupt(s, st);
		break;
	case GP__PQ_RESTORE:
		st->interrupted = false;
		break;
	case GP__PQ_DEACTIVATE:
		st->deactivated = true;
		break;
	case GP__PQ_REACTIVATE:
		st->deactivated = false;
		break;
	default:
		break;
	}
	if (stops)
		sim_gpu_lose(s, st->gpu);
	sim_gpu_update(s, st);
	return 0;
}

static void finish_call(struct sim *s, struct sim_stream *st, enum gp__pq_op op)
{
	int rc = take_effect(s, st, op);
	int level = st->pq.effective;
	enum gp__pq_note note = gp__pq_done(&st->pq, rc, s->now);

	if (st->pq.effective != level)
		gp__queue_level(&st->queue, (u8)st->pq.effective, s->now);
	acknowledge(s, st, note);
}

static u64 away(const struct gp__recorded_time *t, u64 now)
{
	return t->at > now ? t->at - now : now - t->at;
}

static u64 nearest(const struct gp__recorded_time *times, size_t n, u64 now)
{
	size_t low = 0, high = n - 1;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (times[middle].at < now)
			low = middle + 1;
		else
			high = middle;
	}
	if (low && away(&times[low - 1], now) < away(&times[low], now))
		low--;
	return times[low].took;
}

static u64 time_of(struct sim *s, struct sim_stream *st, enum gp__pq_op op)
{
	const struct gp__gpu_spec *gpu = st->gpu->spec;

	if (op == GP__PQ_INTERRUPT && gpu->n_stops)
		return nearest(gpu->stops, gpu->n_stops, s->now);
	if (op == GP__PQ_RESTORE && gpu->n_starts)
		return nearest(gpu->starts, gpu->n_starts, s->now);
	return gp__dist_sample(latency_of(gpu, op), &st->gpu->verb_rng);
}

static void drive(struct sim *s, struct sim_stream *st)
{
	for (;;) {
		struct gp__pq_action a = gp__pq_next(&st->pq, GP__PQ_MAY_ALL, s->now);
		u64 takes;

		if (a.op == GP__PQ_NONE) {
			if (a.wake_at && !st->in_call)
				sim_timer_set(s, &st->op, a.wake_at);
			return;
		}
		takes = time_of(s, st, a.op);
		if (takes) {
			st->in_call = true;
			sim_timer_set(s, &st->op, s->now + takes);
			return;
		}
		finish_call(s, st, a.op);
	}
}

static void call_returns(struct sim *s, struct sim_timer *t)
{
	struct sim_stream *st = container_of(t, struct sim_stream, op);

	if (st->in_call) {
		st->in_call = false;
		finish_call(s, st, st->pq.op);
	}
	drive(s, st);
}

/* A kernel after a gap has the deadline of its job, not one of its own. */
static void tell_ready(struct sim *s, struct sim_stream *st)
{
	const struct gp__program_spec *spec = st->entity->program->spec;
	const struct sim_job *job = st->entity->program->first;

	gp__queue_ready(&st->queue, (u32)(st->pq.submitted - st->pq.completed), s->now);
	if (spec->deadline_ns && job)
		gp__entity_deadline(&st->entity->e, job->arrived + spec->deadline_ns, s->now);
}

static u64 sees_within(const struct gp__gpu_spec *gpu)
{
	const struct gp__dist *sees = &gpu->sees;

	if (gpu->says_it_sees_ns)
		return gpu->says_it_sees_ns;
	return sees->kind == GP__DIST_UNIFORM ? sees->b_ns : sees->a_ns;
}

/* Work that has ended before it is seen is seen nevertheless, as a queue's counters tell of it. */
static void see(struct sim *s, struct sim_stream *st)
{
	if (st->seen) {
		st->seen = false;
		gp__queue_idle(&st->queue, st->idle_since, sees_within(st->gpu->spec), s->now);
		return;
	}
	st->seen = true;
	tell_ready(s, st);
	if (!st->with_work)
		sim_timer_set(s, &st->notice,
			      s->now + gp__dist_sample(&st->gpu->spec->settles, &st->see_rng));
}

/* Tells the core after @delay that work has arrived or ended. */
static void notice(struct sim *s, struct sim_stream *st, const struct gp__dist *delay)
{
	u64 takes = gp__dist_sample(delay, &st->see_rng);

	if (takes)
		sim_timer_set(s, &st->notice, s->now + takes);
	else
		see(s, st);
}

static void notice_fires(struct sim *s, struct sim_timer *t)
{
	see(s, container_of(t, struct sim_stream, notice));
}

/* Work that arrives within the time that an idle queue takes to settle ends that time. */
static void work_arrives(struct sim *s, struct sim_stream *st)
{
	if (st->seen)
		sim_timer_clear(s, &st->notice);
	else if (!gp__node_linked(&st->notice.node))
		notice(s, st, &st->gpu->spec->sees);
}

static void work_ends(struct sim *s, struct sim_stream *st)
{
	st->idle_since = s->now;
	if (st->seen)
		notice(s, st, &st->gpu->spec->settles);
}

void sim_stream_submit(struct sim *s, struct sim_stream *st, struct sim_job *job,
		       const struct gp__dist *kernel, u32 kernels)
{
	const struct gp__program_spec *spec = st->entity->program->spec;
	bool had_work = st->with_work;

	while (kernels--) {
		/* A command that outlasts the run never ends and needs no timer. */
		u64 ns = gp__min_u64(gp__dist_sample(kernel, &st->kernel_rng), 2 * s->end);
		u64 ticket;

		if (++s->nr_waiting > GP__SIM_WAITING_MAX) {
			s->overloaded = spec;
			s->failed = true;
		}
		if (s->failed || !make_room(s, st))
			return;
		ticket = gp__pq_submit(&st->pq, s->now);
		*command(st, ticket) = (struct sim_command){ .work = ns << WORK_SHIFT, .job = job };
	}
	sim_gpu_set_work(s, st, true);
	if (!had_work)
		work_arrives(s, st);
	drive(s, st);
}

void sim_stream_command_done(struct sim *s, struct sim_stream *st)
{
	struct sim_job *job = command(st, st->pq.completed + 1)->job;

	gp__pq_complete(&st->pq, st->pq.completed + 1, true, s->now);
	s->nr_waiting--;
	sim_gpu_update(s, st);
	if (!gp__pq_has_work(&st->pq)) {
		sim_gpu_set_work(s, st, false);
		work_ends(s, st);
	}
	drive(s, st);
	acknowledge(s, st, GP__PQ_NOTE_NONE);
	sim_kernel_done(s, st, job);
}

static void take_order(struct sim *s, const struct gp__action *a)
{
	struct sim_stream *st = container_of(a->queue, struct sim_stream, queue);

	if (a->verb == GP__VERB_WEIGH) {
		sim_gpu_weigh(s, st, a->weight);
		gp__queue_ack(&st->queue, 0, s->now);
		return;
	}
	st->order = a->verb;
	sim_gpu_set_held(s, st, a->verb == GP__VERB_HOLD);
	if (a->verb == GP__VERB_HOLD)
		gp__pq_hold(&st->pq, GP__PQ_BY_SCHED, false, s->now);
	else
		gp__pq_release(&st->pq, GP__PQ_BY_SCHED, s->now);
	drive(s, st);
	acknowledge(s, st, GP__PQ_NOTE_NONE);
}

void sim_take_orders(struct sim *s)
{
	struct gp__action a;

	while (gp__core_pop(&s->core, &a))
		take_order(s, &a);
}

static u32 caps_of(const struct gp__gpu_spec *gpu)
{
	u32 caps = 0;

	if (gpu->levels & 1u << 2)
		caps |= GP__PQ_CAP_LV2;
	if (gpu->levels & 1u << 3)
		caps |= GP__PQ_CAP_LV3;
	return caps;
}

void sim_stream_init(struct sim *s, struct sim_stream *st)
{
	const struct gp__program_spec *spec = st->entity->program->spec;
	struct gp__pq_config cfg = {
		.caps = caps_of(st->gpu->spec),
		.level = (int)(s->opt->level ? s->opt->level : spec->level),
		.window = spec->window,
		.batch = spec->batch,
	};

	gp__pq_init(&st->pq, &cfg);
	gp__queue_add(&st->entity->e, &st->queue, ++s->next_queue, (u8)cfg.level,
		      (u8)st->pq.effective, 0);
	sim_timer_init(&st->op, call_returns);
	sim_timer_init(&st->notice, notice_fires);
	make_room(s, st);
}
