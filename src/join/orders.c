// SPDX-License-Identifier: MIT
/* Carries out the daemon's orders, port by port. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "join/agent_internal.h"

/*
 * Weights
 */

/* False: the queue of entry @i was removed. */
static bool note_weight(struct gp__agent *a, const struct source *s, size_t i, u32 weight,
			bool is_void)
{
	struct queue *q = gp__agent_find(a, s, a->ids[i]);

	if (!q || q->slot != a->slots[i])
		return false;
	q->weight = weight;
	q->weight_void = is_void;
	return true;
}

/* Collects the queues whose weight becomes void, or valid again; under the lock. */
static size_t collect_weighed(struct gp__agent *a, const struct source *s, bool is_void)
{
	struct gp__link *l, *next;
	size_t n = 0;

	gp__list_each(l, next, &a->queues)
	{
		struct queue *q = container_of(l, struct queue, link);

		if (q->source != s || !q->weight || q->weight_void == is_void ||
		    q->stage == GOING || n == GP__WIRE_SLOTS_MAX)
			continue;
		q->weight_void = is_void;
		a->ids[n] = q->is.id;
		a->weights[n++] = is_void ? 0 : q->weight;
	}
	return n;
}

static void reweigh(struct gp__agent *a, struct source *s, bool is_void)
{
	size_t n;

	if (!s->ops.weigh)
		return;
	pthread_mutex_lock(&a->lock);
	n = collect_weighed(a, s, is_void);
	pthread_mutex_unlock(&a->lock);
	for (size_t i = 0; i < n; i++)
		s->ops.weigh(s->state, a->ids[i], a->weights[i]);
}

/*
 * Holds
 */

/* Whether a queue may still be held after its release, so that it has to be released again. */
static bool may_be_held(int result)
{
	return result && result != -ENOENT;
}

static void release_source(struct gp__agent *a, struct source *s)
{
	struct gp__link *l, *next;
	size_t n = 0;

	pthread_mutex_lock(&a->lock);
	gp__list_each(l, next, &a->queues)
	{
		struct queue *q = container_of(l, struct queue, link);

		if (q->source == s && q->held && q->stage != GOING && n < GP__WIRE_SLOTS_MAX)
			a->ids[n++] = q->is.id;
	}
	pthread_mutex_unlock(&a->lock);
	if (n)
		s->ops.release(s->state, a->ids, a->results, n);
	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < n; i++) {
		struct queue *q = gp__agent_find(a, s, a->ids[i]);

		if (q && !may_be_held(a->results[i]))
			gp__agent_note_held(a, q, false);
	}
	pthread_mutex_unlock(&a->lock);
	/* Without orders of the daemon the device's own time slices apply. */
	reweigh(a, s, true);
}

bool gp__agent_release_all(struct gp__agent *a)
{
	bool all;

	for (struct source *s = NULL; (s = gp__agent_next_source(a, s));)
		release_source(a, s);
	pthread_mutex_lock(&a->lock);
	all = !a->state.nr_held;
	pthread_mutex_unlock(&a->lock);
	return all;
}

static bool is_due(const struct gp__agent *a, const struct queue *q, enum gp__wire_verb verb,
		   u64 *order)
{
	if (q->stage != KNOWN)
		return false;
	*order = atomic_load_explicit(&a->client.order->slot[q->slot].order, memory_order_acquire);
	return gp__wire_order_number(*order) != q->number && gp__wire_order_verb(*order) == verb;
}

/* Collects the queues with an order of this kind that was not carried out yet; under the lock. */
static size_t collect(struct gp__agent *a, const struct source *s, enum gp__wire_verb verb)
{
	struct gp__link *l, *next;
	size_t n = 0;
	u64 order;

	gp__list_each(l, next, &a->queues)
	{
		struct queue *q = container_of(l, struct queue, link);

		if (q->source != s || n == GP__WIRE_SLOTS_MAX || !is_due(a, q, verb, &order))
			continue;
		q->number = gp__wire_order_number(order);
		a->ids[n] = q->is.id;
		a->slots[n] = q->slot;
		a->weights[n] = gp__wire_order_weight(order);
		a->numbers[n++] = q->number;
	}
	return n;
}

void gp__agent_note_held(struct gp__agent *a, struct queue *q, bool held)
{
	a->state.nr_held += held;
	a->state.nr_held -= q->held;
	q->held = held;
	q->lost &= held;
}

/*
 * A queue may have been removed meanwhile, and another may have its id. Which of the two was held
 * is not known then: the id is released, and the new queue runs until there is an order for it.
 */
static void acknowledge(struct gp__agent *a, struct source *s, enum gp__wire_verb verb, size_t n,
			u64 began_ns)
{
	u64 took_ns = gp__clock_ns() - began_ns;
	size_t others = 0;

	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < n; i++) {
		struct queue *q = gp__agent_find(a, s, a->ids[i]);

		if (!q || q->slot != a->slots[i]) {
			if (verb == GP__WIRE_HOLD && !a->results[i])
				a->ids[others++] = a->ids[i];
			continue;
		}
		if (!a->results[i])
			gp__agent_note_held(a, q, verb == GP__WIRE_HOLD);
		gp__wire_client_done(&a->client, a->slots[i], a->numbers[i], a->results[i],
				     began_ns, took_ns);
	}
	pthread_mutex_unlock(&a->lock);
	if (others)
		s->ops.release(s->state, a->ids, a->results, others);
}

static void carry_out_for(struct gp__agent *a, struct source *s, enum gp__wire_verb verb)
{
	u64 began_ns;
	size_t n;

	pthread_mutex_lock(&a->lock);
	n = collect(a, s, verb);
	pthread_mutex_unlock(&a->lock);
	if (!n)
		return;
	began_ns = gp__clock_ns();
	if (verb == GP__WIRE_HOLD)
		s->ops.hold(s->state, a->ids, a->results, n);
	else
		s->ops.release(s->state, a->ids, a->results, n);
	acknowledge(a, s, verb, n, began_ns);
	/* The daemon is alive, so weights that became void are valid again. */
	reweigh(a, s, false);
}

/* The device may be slow, so it is called without the lock. */
static void weigh_for(struct gp__agent *a, struct source *s)
{
	size_t n;

	pthread_mutex_lock(&a->lock);
	n = collect(a, s, GP__WIRE_WEIGH);
	pthread_mutex_unlock(&a->lock);
	for (size_t i = 0; i < n; i++) {
		u64 began_ns = gp__clock_ns();
		int err = s->ops.weigh ? s->ops.weigh(s->state, a->ids[i], a->weights[i])
				       : -EOPNOTSUPP;

		pthread_mutex_lock(&a->lock);
		if (note_weight(a, s, i, err ? 0 : a->weights[i], false))
			gp__wire_client_done(&a->client, a->slots[i], a->numbers[i], err, began_ns,
					     gp__clock_ns() - began_ns);
		pthread_mutex_unlock(&a->lock);
	}
}

/* When the hold expires: at the time that the daemon set, but no later than the lease ends. */
static u64 end_of_hold(struct gp__agent *a, struct queue *q, u64 now)
{
	u64 until = atomic_load(&a->client.order->slot[q->slot].until_ns);

	if (until != q->until) {
		q->until = until;
		q->until_seen = now;
	}
	return gp__min_u64(until, q->until_seen + a->client.ttl_ns);
}

/* Collects the queues whose hold has expired or was lost; *@first: when the next one expires. */
static size_t collect_expired(struct gp__agent *a, const struct source *s, u64 now, u64 *first)
{
	struct gp__link *l, *next;
	size_t n = 0;

	gp__list_each(l, next, &a->queues)
	{
		struct queue *q = container_of(l, struct queue, link);
		u64 until;

		if (q->source != s || !q->held || q->stage != KNOWN)
			continue;
		until = end_of_hold(a, q, now);
		if (until > now && !q->lost) {
			*first = gp__min_u64(*first, until);
			continue;
		}
		a->ids[n] = q->is.id;
		a->slots[n] = q->slot;
		a->numbers[n++] = q->number;
	}
	return n;
}

/*
 * Releases the queues of a port whose hold has expired or was lost. A queue whose hold was lost may
 * be held again by now, and a release makes its state known. Returns when the next hold expires.
 */
static u64 release_expired(struct gp__agent *a, struct source *s, u64 now)
{
	u64 first = GP__NEVER;
	size_t n;

	pthread_mutex_lock(&a->lock);
	n = collect_expired(a, s, now, &first);
	pthread_mutex_unlock(&a->lock);
	if (!n)
		return first;
	s->ops.release(s->state, a->ids, a->results, n);
	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < n; i++) {
		struct queue *q = gp__agent_find(a, s, a->ids[i]);

		if (!q || q->slot != a->slots[i])
			continue;
		if (may_be_held(a->results[i])) {
			first = gp__min_u64(first, now + GP__RELEASE_AGAIN_NS);
			continue;
		}
		gp__agent_note_held(a, q, false);
		gp__wire_client_expired(&a->client, a->slots[i], a->numbers[i]);
	}
	pthread_mutex_unlock(&a->lock);
	reweigh(a, s, true);
	return first;
}

/* NULL: the port is not bound yet, which another thread may be about to do. */
static void *state_of(struct gp__agent *a, const struct source *s)
{
	void *state;

	pthread_mutex_lock(&a->lock);
	state = s->state;
	pthread_mutex_unlock(&a->lock);
	return state;
}

void gp__agent_tell_alone(struct gp__agent *a, bool alone)
{
	for (struct source *s = NULL; (s = gp__agent_next_source(a, s));) {
		void *state = state_of(a, s);

		if (state && s->ops.alone && (alone != s->alone || !s->told_alone))
			s->ops.alone(state, alone);
		s->alone = alone;
		s->told_alone = state;
	}
}

/* Holds come first, so that a released queue finds the GPU free. */
u64 gp__agent_obey(struct gp__agent *a)
{
	u64 first = GP__NEVER, now;
	struct source *s = NULL;

	while ((s = gp__agent_next_source(a, s)))
		carry_out_for(a, s, GP__WIRE_HOLD);
	while ((s = gp__agent_next_source(a, s))) {
		carry_out_for(a, s, GP__WIRE_RELEASE);
		weigh_for(a, s);
	}
	gp__agent_tell_alone(a, atomic_load(&a->client.order->alone));
	now = gp__clock_ns();
	while ((s = gp__agent_next_source(a, s)))
		first = gp__min_u64(first, release_expired(a, s, now));
	return first;
}
