// SPDX-License-Identifier: MIT
/* What the daemon wants of the queues, carried out. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "join/agent_internal.h"

/*
 * Weights
 */

/* Of the queue in this slot; false: it has gone. */
static bool note_weight(struct gp__agent *a, size_t i, u32 weight, bool is_void)
{
	struct queue *q = gp__agent_find(a, a->ids[i]);

	if (!q || q->slot != a->slots[i])
		return false;
	q->weight = weight;
	q->weight_void = is_void;
	return true;
}

/* Those whose weight is given up, or was and holds again; under the lock. */
static size_t collect_weighed(struct gp__agent *a, bool is_void)
{
	struct gp__link *l, *next;
	size_t n = 0;

	gp__list_each(l, next, &a->queues)
	{
		struct queue *q = container_of(l, struct queue, link);

		if (!q->weight || q->weight_void == is_void || q->stage == GOING ||
		    n == GP__WIRE_SLOTS_MAX)
			continue;
		q->weight_void = is_void;
		a->ids[n] = q->is.id;
		a->weights[n++] = is_void ? 0 : q->weight;
	}
	return n;
}

static void reweigh(struct gp__agent *a, bool is_void)
{
	size_t n;

	if (!a->options.ops.weigh)
		return;
	pthread_mutex_lock(&a->lock);
	n = collect_weighed(a, is_void);
	pthread_mutex_unlock(&a->lock);
	for (size_t i = 0; i < n; i++)
		a->options.ops.weigh(a->options.data, a->ids[i], a->weights[i]);
}

/*
 * Stops
 */

/* Whether a queue may still be stopped after it was told to go on: it is told again then. */
static bool may_be_stopped(int result)
{
	return result && result != -ENOENT;
}

bool gp__agent_start_all(struct gp__agent *a)
{
	struct gp__link *l, *next;
	size_t n = 0;
	bool all;

	pthread_mutex_lock(&a->lock);
	gp__list_each(l, next, &a->queues)
	{
		struct queue *q = container_of(l, struct queue, link);

		if (q->stopped && q->stage != GOING && n < GP__WIRE_SLOTS_MAX)
			a->ids[n++] = q->is.id;
	}
	pthread_mutex_unlock(&a->lock);
	if (n)
		a->options.ops.start(a->options.data, a->ids, a->results, n);
	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < n; i++) {
		struct queue *q = gp__agent_find(a, a->ids[i]);

		if (q && !may_be_stopped(a->results[i]))
			gp__agent_note_stopped(a, q, false);
	}
	all = !a->state.nr_stopped;
	pthread_mutex_unlock(&a->lock);
	/* Nobody says any more who else is there: small slices are for when somebody does. */
	reweigh(a, true);
	return all;
}

static bool is_due(const struct gp__agent *a, const struct queue *q, enum gp__wire_verb verb,
		   u64 *order)
{
	if (q->stage != KNOWN)
		return false;
	*order = atomic_load_explicit(&a->client.down->slot[q->slot].order, memory_order_acquire);
	return gp__wire_order_number(*order) != q->number && gp__wire_order_verb(*order) == verb;
}

/* Those with an order of this kind that was not carried out yet; under the lock. */
static size_t collect(struct gp__agent *a, enum gp__wire_verb verb)
{
	struct gp__link *l, *next;
	size_t n = 0;
	u64 order;

	gp__list_each(l, next, &a->queues)
	{
		struct queue *q = container_of(l, struct queue, link);

		if (n == GP__WIRE_SLOTS_MAX || !is_due(a, q, verb, &order))
			continue;
		q->number = gp__wire_order_number(order);
		a->ids[n] = q->is.id;
		a->slots[n] = q->slot;
		a->weights[n] = gp__wire_order_weight(order);
		a->numbers[n++] = q->number;
	}
	return n;
}

void gp__agent_note_stopped(struct gp__agent *a, struct queue *q, bool stopped)
{
	a->state.nr_stopped += stopped;
	a->state.nr_stopped -= q->stopped;
	q->stopped = stopped;
	q->lost &= stopped;
}

/*
 * A queue may go meanwhile, and its id be another's. Which was stopped then is not known: it runs,
 * until there is an order for it.
 */
static void acknowledge(struct gp__agent *a, enum gp__wire_verb verb, size_t n, u64 began_ns)
{
	u64 took_ns = gp__clock_ns() - began_ns;
	size_t others = 0;

	pthread_mutex_lock(&a->lock);
	a->state.nr_orders += n;
	for (size_t i = 0; i < n; i++) {
		struct queue *q = gp__agent_find(a, a->ids[i]);

		if (!q || q->slot != a->slots[i]) {
			if (verb == GP__WIRE_STOP && !a->results[i])
				a->ids[others++] = a->ids[i];
			continue;
		}
		if (!a->results[i])
			gp__agent_note_stopped(a, q, verb == GP__WIRE_STOP);
		gp__wire_client_done(&a->client, a->slots[i], a->numbers[i], a->results[i],
				     began_ns, took_ns);
	}
	pthread_mutex_unlock(&a->lock);
	if (others)
		a->options.ops.start(a->options.data, a->ids, a->results, others);
}

static void carry_out(struct gp__agent *a, enum gp__wire_verb verb)
{
	const struct gp__agent_ops *ops = &a->options.ops;
	u64 began_ns;
	size_t n;

	pthread_mutex_lock(&a->lock);
	n = collect(a, verb);
	pthread_mutex_unlock(&a->lock);
	if (!n)
		return;
	began_ns = gp__clock_ns();
	if (verb == GP__WIRE_STOP)
		ops->stop(a->options.data, a->ids, a->results, n);
	else
		ops->start(a->options.data, a->ids, a->results, n);
	acknowledge(a, verb, n, began_ns);
	/* The daemon is there after all. */
	reweigh(a, false);
}

/* The device may take its time for each: without the lock, as the others. */
static void weigh(struct gp__agent *a)
{
	size_t n;

	pthread_mutex_lock(&a->lock);
	n = collect(a, GP__WIRE_WEIGH);
	pthread_mutex_unlock(&a->lock);
	for (size_t i = 0; i < n; i++) {
		u64 began_ns = gp__clock_ns();
		int err = a->options.ops.weigh
				  ? a->options.ops.weigh(a->options.data, a->ids[i], a->weights[i])
				  : -EOPNOTSUPP;

		pthread_mutex_lock(&a->lock);
		if (note_weight(a, i, err ? 0 : a->weights[i], false))
			gp__wire_client_done(&a->client, a->slots[i], a->numbers[i], err, began_ns,
					     gp__clock_ns() - began_ns);
		pthread_mutex_unlock(&a->lock);
	}
}

/* When it is void. For longer than was agreed, without being renewed, is not an order. */
static u64 end_of_stop(struct gp__agent *a, struct queue *q, u64 now)
{
	u64 until = atomic_load(&a->client.down->slot[q->slot].until_ns);

	if (until != q->until) {
		q->until = until;
		q->until_seen = now;
	}
	return gp__min_u64(until, q->until_seen + a->client.ttl_ns);
}

/*
 * Stops whose time is over, and those that were lost; the earliest end of the others. A queue that
 * was lost may have been stopped again meanwhile: so it is started, and its state is known.
 */
static u64 give_up_expired(struct gp__agent *a, u64 now)
{
	struct gp__link *l, *next;
	u64 first = GP__NEVER;
	size_t n = 0;

	pthread_mutex_lock(&a->lock);
	gp__list_each(l, next, &a->queues)
	{
		struct queue *q = container_of(l, struct queue, link);
		u64 until;

		if (!q->stopped || q->stage != KNOWN)
			continue;
		until = end_of_stop(a, q, now);
		if (until > now && !q->lost) {
			first = gp__min_u64(first, until);
			continue;
		}
		a->ids[n] = q->is.id;
		a->slots[n] = q->slot;
		a->numbers[n++] = q->number;
	}
	pthread_mutex_unlock(&a->lock);
	if (!n)
		return first;
	a->options.ops.start(a->options.data, a->ids, a->results, n);
	pthread_mutex_lock(&a->lock);
	a->state.nr_expired += n;
	for (size_t i = 0; i < n; i++) {
		struct queue *q = gp__agent_find(a, a->ids[i]);

		if (!q || q->slot != a->slots[i])
			continue;
		if (may_be_stopped(a->results[i])) {
			first = gp__min_u64(first, now + GP__START_AGAIN_NS);
			continue;
		}
		gp__agent_note_stopped(a, q, false);
		gp__wire_client_expired(&a->client, a->slots[i], a->numbers[i]);
	}
	pthread_mutex_unlock(&a->lock);
	reweigh(a, true);
	return first;
}

static void note_alone(struct gp__agent *a)
{
	bool alone = atomic_load(&a->client.down->alone);

	if ((alone != a->alone || !a->told_alone) && a->options.ops.alone)
		a->options.ops.alone(a->options.data, alone);
	a->alone = alone;
	a->told_alone = true;
}

/* Stops first: who starts should find the room that is made. */
u64 gp__agent_obey(struct gp__agent *a)
{
	carry_out(a, GP__WIRE_STOP);
	carry_out(a, GP__WIRE_RUN);
	weigh(a);
	note_alone(a);
	return give_up_expired(a, gp__clock_ns());
}
