// SPDX-License-Identifier: MIT
/* Creates and destroys queues. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/api.h"
#include "queue/queue.h"

static uint32_t caps_of(const struct gp_device_ops *ops)
{
	return (ops->deactivate ? GP__PQ_CAP_LV2 : 0) | (ops->interrupt ? GP__PQ_CAP_LV3 : 0) |
	       (ops->pending ? GP__PQ_CAP_PENDING : 0);
}

static int ops_check(const struct gp_device_ops *ops, struct gp_error *err)
{
	if (!ops->nlaunch || !ops->sync)
		return gp__fail(err, -EINVAL, "a device needs nlaunch and sync");
	if (!ops->deactivate != !ops->reactivate)
		return gp__fail(err, -EINVAL, "deactivate and reactivate come as a pair");
	if (!ops->interrupt != !ops->restore)
		return gp__fail(err, -EINVAL, "interrupt and restore come as a pair");
	return 0;
}

static int options_read(struct gp_device_ops *ops, const struct gp_device_ops *ops_in,
			struct gp_queue_options *opt, const struct gp_queue_options *opt_in,
			struct gp_error *err)
{
	int rc;

	if (!ops_in)
		return gp__fail(err, -EINVAL, "a queue needs a table of device functions");
	rc = gp__struct_in(ops, sizeof(*ops), ops_in);
	if (rc)
		return gp__fail(err, rc,
				rc == -E2BIG ? "the device table has functions that this "
					       "libgpreempt does not know"
					     : "the device table's size is not set");
	memset(opt, 0, sizeof(*opt));
	rc = opt_in ? gp__struct_in(opt, sizeof(*opt), opt_in) : 0;
	if (rc)
		return gp__fail(err, rc,
				rc == -E2BIG ? "the queue options ask for something that this "
					       "libgpreempt does not know"
					     : "the queue options' size is not set");
	if (opt->flags & ~GP_QUEUE_STRICT_LEVEL)
		return gp__fail(err, -EINVAL, "unknown queue flags %#x",
				opt->flags & ~GP_QUEUE_STRICT_LEVEL);
	return ops_check(ops, err);
}

static int machine_init(struct gp_queue *q, const struct gp_queue_options *opt,
			struct gp_error *err)
{
	const struct gp__pq_config cfg = {
		.caps = caps_of(&q->ops),
		.level = opt->level,
		.strict = opt->flags & GP_QUEUE_STRICT_LEVEL,
		.window = opt->window,
		.batch = opt->batch,
		.wide = opt->wide_window,
		.budget_ns = opt->budget_ns,
	};
	int rc = gp__pq_init(&q->pq, &cfg);

	if (rc == -EOPNOTSUPP)
		return gp__fail(err, rc, "the device does not have level %d", opt->level);
	if (rc && (opt->level < 0 || opt->level > 3))
		return gp__fail(err, rc, "level is %d; it must be 1, 2, 3, or 0 for the best",
				opt->level);
	if (rc)
		return gp__fail(err, rc, "batch is %u, more than the window of %u", opt->batch,
				opt->window);
	return 0;
}

static void queue_free(struct gp_queue *q)
{
	pthread_mutex_destroy(&q->lock);
	free(q->ring);
	free(q);
}

static int queue_join(struct gp_queue *q, const struct gp_queue_options *opt, struct gp_error *err)
{
	const struct gp__join join = {
		.queue = q,
		.device = opt->device,
		.priority = opt->priority ? opt->priority : GP_PRIORITY_NORMAL,
		.tag = opt->tag ? opt->tag : "",
		.level_requested = q->pq.requested,
		.level = q->pq.effective,
		.can_weigh = q->ops.weigh != NULL,
		.device_memory = opt->device_memory,
	};

	/* A scheduler has to know when a queue becomes idle. */
	q->reap_always = true;
	return gp__sched_join(opt->sched, &join, &q->member, err);
}

int gp_queue_create(const struct gp_device_ops *ops, void *hwq,
		    const struct gp_queue_options *options, struct gp_queue **queue,
		    struct gp_error *err)
{
	struct gp_queue_options opt;
	struct gp_queue *q;
	int rc;

	if (!queue)
		return gp__fail(err, -EINVAL, "the pointer for the new queue is NULL");
	*queue = NULL;
	q = calloc(1, sizeof(*q));
	if (!q)
		return gp__fail(err, -ENOMEM, "out of memory");

	rc = options_read(&q->ops, ops, &opt, options, err);
	if (!rc)
		rc = machine_init(q, &opt, err);
	if (rc)
		goto out_free;
	pthread_mutex_init(&q->lock, NULL);
	q->hwq = hwq;
	q->max_pending = opt.max_pending;
	q->event = opt.event;
	q->event_data = opt.event_data;
	snprintf(q->name, sizeof(q->name), "%s", opt.name ? opt.name : "queue");
	if (opt.sched) {
		rc = queue_join(q, &opt, err);
		if (rc) {
			queue_free(q);
			return rc;
		}
	}
	*queue = q;
	return 0;

out_free:
	free(q);
	return rc;
}

/* Waits until the device runs again and is empty, or has shown that it never will. */
static void wind_down(struct gp_queue *q)
{
	const struct gp__limit forever = gp__q_limit(-1);
	struct gp__pq_action act;

	for (;;) {
		gp__q_pump(q, GP__PQ_MAY_ALL);
		if (gp__pq_closed(&q->pq))
			return;
		act = gp__pq_peek(&q->pq, gp__clock_ns());
		if (act.wake_at && q->pq.tries < GP__PQ_CLOSE_TRIES) {
			gp__cond_wait(&q->changed, &q->lock, act.wake_at);
		} else if (act.op == GP__PQ_NONE) {
			/*
			 * Commands in flight on a device that cannot be released end when sync
			 * reports that the device is lost, or when a retry of the worker succeeds.
			 */
			gp__q_kick(q);
			gp__q_wait_step(q, 0, &forever);
		}
	}
}

void gp_queue_destroy(struct gp_queue *q)
{
	struct gp__member *member;
	uint64_t first, last;

	if (!q)
		return;
	pthread_mutex_lock(&q->lock);
	first = gp__pq_close(&q->pq, &last, gp__clock_ns());
	if (first <= last)
		q->cancelled = first;
	member = q->member;
	q->member = NULL;
	gp__cond_broadcast(&q->changed);

	/* The scheduler's thread may be acting on this queue and need its lock to finish. */
	pthread_mutex_unlock(&q->lock);
	if (member)
		gp__sched_leave(member);
	pthread_mutex_lock(&q->lock);

	wind_down(q);
	while (q->users || q->syncing)
		gp__cond_wait(&q->changed, &q->lock, GP__FOREVER);

	q->worker_stop = true;
	gp__cond_signal(&q->work);
	pthread_mutex_unlock(&q->lock);
	if (q->worker_started)
		pthread_join(q->worker, NULL);
	queue_free(q);
}
