// SPDX-License-Identifier: MIT
/*
 * The public calls on a queue, and the three that the scheduler makes: thin layers over the state
 * machine (pq.h) and its engine (engine.c).
 *
 * It is the wrong tool for commands of one queue that may overtake each other.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/api.h"
#include "queue/params.h"
#include "queue/queue.h"

/* The scheduler may want it held before the first command is launched. */
static void announce(struct gp_queue *q, uint64_t now)
{
	if (gp__sched_ready(q->member, now))
		gp__pq_hold(&q->pq, GP__PQ_BY_SCHED, false, now);
}

int gp_queue_submit(struct gp_queue *q, void *cmd, uint64_t *ticket)
{
	uint64_t t;
	bool first;
	int rc = 0;

	gp__q_enter(q);
	if (q->pq.closing) {
		rc = -ESHUTDOWN;
		goto out;
	}
	if (q->max_pending && gp__pq_pending(&q->pq) >= q->max_pending) {
		rc = -EAGAIN;
		goto out;
	}
	if (q->pq.submitted - q->pq.completed == q->ring_size) {
		rc = gp__q_ring_grow(q);
		if (rc)
			goto out;
	}
	first = !gp__pq_has_work(&q->pq);
	t = gp__pq_submit(&q->pq, 0);
	*gp__q_slot(q, t) = (struct gp__slot){ .cmd = cmd };
	if (ticket)
		*ticket = t;
	if (first && q->member)
		announce(q, gp__clock_ns());
	gp__q_pump(q, GP__PQ_MAY_LAUNCH);
out:
	gp__q_leave(q);
	return rc;
}

int gp_queue_wait(struct gp_queue *q, uint64_t ticket, int64_t timeout_ns)
{
	struct gp__limit limit = gp__q_limit(timeout_ns);
	int rc, result = -EINVAL;

	gp__q_enter(q);
	if (!ticket || (ticket > q->pq.submitted && !q->cancelled))
		goto out;
	while (!gp__q_ended(q, ticket, &result)) {
		rc = gp__q_wait_step(q, ticket, &limit);
		if (rc && !gp__q_ended(q, ticket, &result)) {
			result = rc;
			break;
		}
	}
out:
	gp__q_leave(q);
	return result;
}

int gp_queue_wait_all(struct gp_queue *q, int64_t timeout_ns)
{
	struct gp__limit limit = gp__q_limit(timeout_ns);
	uint64_t last;
	int rc = 0;

	gp__q_enter(q);
	last = q->pq.submitted;
	while (!rc && q->pq.completed < last) {
		if (q->cancelled && last >= q->cancelled)
			rc = -ECANCELED;
		else
			rc = gp__q_wait_step(q, last, &limit);
	}
	if (q->pq.completed >= last)
		rc = 0;
	gp__q_leave(q);
	return rc;
}

/*
 * Waits until the hold is in force, or is not going to be. `failures` is the count from before the
 * hold was placed.
 */
static int hold_wait(struct gp_queue *q, enum gp__pq_holder by, uint64_t failures)
{
	for (;;) {
		gp__q_pump(q, GP__PQ_MAY_VERB);
		if (q->pq.closing)
			return -ECANCELED;
		if (!(q->pq.holds & by))
			return q->pq.count.failures != failures ? q->pq.last_error : -ECANCELED;
		if (gp__pq_state(&q->pq) == GP__PQ_SUSPENDED)
			return 0;
		/* A device whose state is unknown cannot be held. */
		if (q->pq.unsure && q->pq.tries) {
			gp__pq_release(&q->pq, by, gp__clock_ns());
			return q->pq.last_error;
		}
		gp__q_wait_for_device(q);
	}
}

static int drain_wait(struct gp_queue *q, int64_t timeout_ns)
{
	struct gp__limit limit = gp__q_limit(timeout_ns);
	int rc = 0;

	while (!rc && !gp__pq_quiet(&q->pq)) {
		if (gp__pq_state(&q->pq) != GP__PQ_SUSPENDED)
			return -ECANCELED;
		if (!gp__pq_can_quiet(&q->pq))
			return -EOPNOTSUPP;
		rc = gp__q_wait_step(q, q->pq.quiet_ticket, &limit);
	}
	return gp__pq_quiet(&q->pq) ? 0 : rc;
}

/*
 * Waits until the queue runs again, or another holder holds it, or the device has refused and the
 * worker keeps trying.
 */
static int release_wait(struct gp_queue *q, unsigned int may)
{
	for (;;) {
		gp__q_pump(q, may);
		if (q->pq.closing || q->pq.holds || gp__pq_state(&q->pq) == GP__PQ_RUNNING)
			return 0;
		if (q->pq.tries)
			return q->pq.last_error;
		gp__q_wait_for_device(q);
	}
}

static int suspend_fail(struct gp_queue *q, int rc, struct gp_error *err)
{
	switch (rc) {
	case -ETIME:
		return gp__fail(
			err, rc,
			"%s is suspended, but commands in flight did not end within the timeout",
			q->name);
	case -ECANCELED:
		return gp__fail(err, rc, "%s was resumed or destroyed while being suspended",
				q->name);
	case -ESHUTDOWN:
		return gp__fail(err, rc, "%s is being destroyed", q->name);
	case -EOPNOTSUPP:
		if (q->pq.stop_level == 2)
			return gp__fail(err, rc,
					"%s is held at level 2, and its device cannot tell when "
					"the running command ends",
					q->name);
		/* fallthrough */
	default:
		return gp__fail(err, rc, "%s keeps running: the device could not hold it (%s)",
				q->name, gp__q_errno(rc));
	}
}

int gp_queue_suspend(struct gp_queue *q, uint32_t flags, int64_t timeout_ns,
		     struct gp_suspend_result *result, struct gp_error *err)
{
	bool drain = flags & GP_SUSPEND_DRAIN, held;
	struct gp_suspend_result res = GP_SUSPEND_RESULT_INIT;
	uint64_t begin = gp__clock_ns(), failures;
	int rc;

	if (flags & ~GP_SUSPEND_DRAIN)
		return gp__fail(err, -EINVAL, "unknown suspend flags %#x", flags);
	if (result && gp__struct_out(result, &res, sizeof(res)))
		return gp__fail(err, -EINVAL, "the suspend result's size is not set");
	gp__q_enter(q);
	held = q->pq.holds & GP__PQ_BY_USER;
	failures = q->pq.count.failures;
	rc = gp__pq_hold(&q->pq, GP__PQ_BY_USER, drain, begin);
	if (!rc)
		rc = hold_wait(q, GP__PQ_BY_USER, failures);
	if (!rc && drain)
		rc = drain_wait(q, timeout_ns);
	if (rc == -EOPNOTSUPP && !held && q->pq.stop_level) {
		gp__pq_release(&q->pq, GP__PQ_BY_USER, gp__clock_ns());
		release_wait(q, GP__PQ_MAY_VERB);
	}

	res.level = q->pq.stop_level;
	res.may_run = !gp__pq_quiet(&q->pq);
	res.took_ns = gp__clock_ns() - begin;
	if (result)
		gp__struct_out(result, &res, sizeof(res));
	if (rc)
		suspend_fail(q, rc, err);
	gp__q_leave(q);
	return rc;
}

int gp_queue_resume(struct gp_queue *q, struct gp_error *err)
{
	int rc;

	gp__q_enter(q);
	gp__pq_release(&q->pq, GP__PQ_BY_USER, gp__clock_ns());
	rc = release_wait(q, GP__PQ_MAY_ALL);
	gp__cond_broadcast(&q->changed);
	if (rc)
		gp__fail(err, rc,
			 "%s is still held: the device refused to release it (%s); trying again",
			 q->name, gp__q_errno(rc));
	gp__q_leave(q);
	return rc;
}

int gp_queue_stats(struct gp_queue *q, struct gp_queue_stats *stats)
{
	struct gp_queue_stats s = GP_QUEUE_STATS_INIT;
	const struct gp__pq *pq = &q->pq;

	if (!stats)
		return -EINVAL;
	gp__q_enter(q);
	s.level_requested = pq->requested;
	s.level_effective = pq->effective;
	s.state = (int)gp__pq_state(pq);
	s.last_error = pq->last_error;
	s.pending = gp__pq_pending(pq);
	s.inflight = gp__pq_inflight(pq);
	s.submitted = pq->submitted;
	s.launches = pq->count.launches;
	s.completed = pq->completed;
	s.failed = q->failed;
	s.suspends = pq->count.suspends;
	s.resumes = pq->count.resumes;
	s.fallbacks = pq->count.fallbacks;
	s.suspend_failures = pq->count.failures;
	s.resume_retries = pq->count.retries;
	s.last_suspend_ns = pq->last_suspend_ns;
	s.command_ns = pq->win.est_ns;
	s.window = gp__pq_window(pq);
	s.batch = gp__pq_batch(pq);
	gp__q_leave(q);
	return gp__struct_out(stats, &s, sizeof(s));
}

int gp_queue_hint(struct gp_queue *q, enum gp_hint hint, int64_t value, struct gp_error *err)
{
	struct gp__hints unused = { .prio = 0 };
	int rc;

	gp__q_enter(q);
	if (q->member)
		rc = gp__sched_hint(q->member, hint, value, err);
	else
		rc = gp__hint_set(&unused, hint, value, err);
	gp__q_leave(q);
	return rc;
}

/*
 * The preload defines them in programs that `gpreempt run` started (join/exports.h). The loader
 * binds them once, so a program that is not joined pays only for a comparison.
 */
__attribute__((weak, visibility("default"))) int gp_join_arriving(uint64_t when_ns);
__attribute__((weak, visibility("default"))) int gp_join_lead_time(uint64_t *ns);
__attribute__((weak, visibility("default"))) int gp_join_gang(const char *name, uint32_t members);

static int say_arriving(struct gp_queue *q, uint64_t when_ns)
{
	if (!q)
		return gp_join_arriving ? gp_join_arriving(when_ns) : -ENOTCONN;
	gp__q_enter(q);
	if (q->member)
		gp__sched_arriving(q->member, when_ns);
	gp__q_leave(q);
	return 0;
}

int gp_hint_arriving(struct gp_queue *q, uint64_t when_ns)
{
	return say_arriving(q, when_ns ? when_ns : 1);
}

int gp_hint_over(struct gp_queue *q)
{
	return say_arriving(q, 0);
}

int gp_hint_lead_time(struct gp_queue *q, uint64_t *ns)
{
	if (!ns)
		return -EINVAL;
	*ns = 0;
	if (!q)
		return gp_join_lead_time ? gp_join_lead_time(ns) : -ENOTCONN;
	gp__q_enter(q);
	if (q->member)
		*ns = gp__sched_lead_time(q->member);
	gp__q_leave(q);
	return 0;
}

int gp_gang_join(const char *name, uint32_t members)
{
	if (!name)
		return -EINVAL;
	return gp_join_gang ? gp_join_gang(name, members) : -ENOTCONN;
}

/* ----------------------------------------------------- for the scheduler -- */

int gp__drv_hold(struct gp_queue *q)
{
	uint64_t failures;
	int rc;

	gp__q_enter(q);
	failures = q->pq.count.failures;
	rc = gp__pq_hold(&q->pq, GP__PQ_BY_SCHED, false, gp__clock_ns());
	if (!rc)
		rc = hold_wait(q, GP__PQ_BY_SCHED, failures);
	gp__q_leave(q);
	return rc;
}

int gp__drv_release(struct gp_queue *q)
{
	int rc;

	gp__q_enter(q);
	gp__pq_release(&q->pq, GP__PQ_BY_SCHED, gp__clock_ns());
	/* The worker launches what has piled up, since other threads wait for us. */
	rc = release_wait(q, GP__PQ_MAY_VERB);
	gp__cond_broadcast(&q->changed);
	gp__q_leave(q);
	return rc;
}

int gp__drv_weigh(struct gp_queue *q, uint32_t weight)
{
	int rc;

	gp__q_enter(q);
	while (!gp__pq_borrow(&q->pq)) {
		if (q->pq.closing) {
			gp__q_leave(q);
			return -ECANCELED;
		}
		gp__q_wait_for_device(q);
	}
	pthread_mutex_unlock(&q->lock);
	rc = gp__q_result(q->ops.weigh(q->hwq, weight));
	pthread_mutex_lock(&q->lock);
	gp__pq_done(&q->pq, rc, gp__clock_ns());
	gp__cond_broadcast(&q->changed);
	gp__q_leave(q);
	return rc;
}
