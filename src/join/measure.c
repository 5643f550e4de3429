// SPDX-License-Identifier: MIT
/*
 * Measures the program's memory on its GPUs for the daemon, after the program has allocated or
 * freed some: at most once in PERIOD_NS for each port, however often it does.
 */
#include "base/clock.h"
#include "join/agent_internal.h"

#define PERIOD_NS (250 * GP__MS)

/* Begins with the queues that the daemon knows and whose memory may have changed; under the lock.
 * False: there is none. */
static bool begin(struct gp__agent *a, const struct source *s)
{
	struct gp__link *l, *n;
	bool any = false;

	gp__list_each(l, n, &a->queues)
	{
		struct queue *q = container_of(l, struct queue, link);

		if (q->source != s || q->stage != KNOWN || !q->unmeasured)
			continue;
		q->unmeasured = false;
		any = q->measuring = true;
	}
	return any;
}

static bool any_unmeasured(struct gp__agent *a, const struct source *s)
{
	struct gp__link *l, *n;
	bool any = false;

	gp__list_each(l, n, &a->queues)
	{
		const struct queue *q = container_of(l, struct queue, link);

		any |= q->source == s && q->stage == KNOWN && q->unmeasured;
	}
	return any;
}

/* A queue that is being measured; under the lock. */
static struct queue *next_measuring(struct gp__agent *a, const struct source *s)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &a->queues)
	{
		struct queue *q = container_of(l, struct queue, link);

		if (q->source == s && q->stage == KNOWN && q->measuring)
			return q;
	}
	return NULL;
}

/* Reports it for each queue on the GPU; under the lock. */
static void report(struct gp__agent *a, const struct source *s, const char *device, u64 memory)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &a->queues)
	{
		struct queue *q = container_of(l, struct queue, link);

		if (q->source != s || q->stage != KNOWN || strcmp(q->is.device, device))
			continue;
		q->measuring = false;
		gp__wire_client_memory(&a->client, q->slot, memory);
	}
}

/* Under the lock, which it drops while it measures. */
static void measure(struct gp__agent *a, struct source *s, void *state, const char *on)
{
	char device[GP__WIRE_DEVICE_MAX];
	u64 bytes = 0, memory;

	memcpy(device, on, sizeof(device));
	pthread_mutex_unlock(&a->lock);
	memory = s->ops.memory(state, device, &bytes) ? bytes | GP__WIRE_MEMORY_KNOWN : 0;
	pthread_mutex_lock(&a->lock);
	report(a, s, device, memory);
}

static u64 measure_for(struct gp__agent *a, struct source *s)
{
	void *state = gp__agent_state_of(a, s);
	u64 now = gp__clock_ns(), due = s->measured_at ? s->measured_at + PERIOD_NS : 0;
	const struct queue *q;

	if (!state || !s->ops.memory)
		return GP__NEVER;
	pthread_mutex_lock(&a->lock);
	if (due > now) {
		due = any_unmeasured(a, s) ? due : GP__NEVER;
	} else {
		due = GP__NEVER;
		if (begin(a, s))
			s->measured_at = now;
		while ((q = next_measuring(a, s)))
			measure(a, s, state, q->is.device);
	}
	pthread_mutex_unlock(&a->lock);
	return due;
}

u64 gp__agent_measure(struct gp__agent *a)
{
	u64 due = GP__NEVER;

	for (struct source *s = NULL; (s = gp__agent_next_source(a, s));)
		due = gp__min_u64(due, measure_for(a, s));
	return due;
}
