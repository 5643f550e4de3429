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
	q->weight_kept = false;
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
	/* Queues that were lost in a reset never run again. */
	return result && result != -ENOENT && result != -EACCES;
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

/* Whether the device has carried out the hold already, for a daemon that is gone. */
static bool is_adopted(const struct queue *q, enum gp__wire_verb verb)
{
	return verb == GP__WIRE_HOLD && q->hold_kept && !q->lost;
}

/* Collects the queues with an order of this kind that was not carried out yet, @adopted or not;
 * under the lock. */
static size_t collect(struct gp__agent *a, const struct source *s, enum gp__wire_verb verb,
		      bool adopted)
{
	struct gp__link *l, *next;
	size_t n = 0;
	u64 order;

	gp__list_each(l, next, &a->queues)
	{
		struct queue *q = container_of(l, struct queue, link);

		if (q->source != s || n == GP__WIRE_SLOTS_MAX || is_adopted(q, verb) != adopted ||
		    !is_due(a, q, verb, &order))
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
	q->hold_kept = false;
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
		if (!a->results[i] || (verb == GP__WIRE_RELEASE && !may_be_held(a->results[i])))
			gp__agent_note_held(a, q, verb == GP__WIRE_HOLD);
		gp__wire_client_done(&a->client, a->slots[i], a->numbers[i], a->results[i],
				     began_ns, took_ns);
	}
	pthread_mutex_unlock(&a->lock);
	if (others)
		s->ops.release(s->state, a->ids, a->results, others);
}

/* Acknowledges the orders to hold queues that are held. */
static void adopt_for(struct gp__agent *a, struct source *s)
{
	size_t n;

	pthread_mutex_lock(&a->lock);
	n = collect(a, s, GP__WIRE_HOLD, true);
	pthread_mutex_unlock(&a->lock);
	memset(a->results, 0, n * sizeof(a->results[0]));
	if (n)
		acknowledge(a, s, GP__WIRE_HOLD, n, gp__clock_ns());
}

static void carry_out_for(struct gp__agent *a, struct source *s, enum gp__wire_verb verb)
{
	u64 began_ns;
	size_t n;

	pthread_mutex_lock(&a->lock);
	n = collect(a, s, verb, false);
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
	n = collect(a, s, GP__WIRE_WEIGH, false);
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

/*
 * When the hold expires: at the time that the daemon set, but no later than the lease ends. The
 * hold of an earlier daemon expires at once if this one refuses the queue.
 */
static u64 end_of_hold(struct gp__agent *a, struct queue *q, u64 now)
{
	u64 until;

	if (q->hold_kept)
		return q->stage == REFUSED ? 0 : q->hold_until;
	until = atomic_load(&a->client.order->slot[q->slot].until_ns);
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

		if (q->source != s || !q->held || !(q->stage == KNOWN || q->hold_kept))
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

/* Takes the result of the release of entry @i; under the lock. *@lapsed: the daemon hangs. */
static bool take_release(struct gp__agent *a, const struct source *s, size_t i, bool *lapsed)
{
	struct queue *q = gp__agent_find(a, s, a->ids[i]);

	if (!q || q->slot != a->slots[i])
		return true;
	if (may_be_held(a->results[i]))
		return false;
	if (!q->hold_kept) {
		gp__wire_client_expired(&a->client, a->slots[i], a->numbers[i]);
		*lapsed = true;
	}
	gp__agent_note_held(a, q, false);
	return true;
}

/*
 * Releases the queues of a port whose hold has expired or was lost. A queue whose hold was lost may
 * be held again by now, and a release makes its state known. Returns when the next hold expires.
 */
static u64 release_expired(struct gp__agent *a, struct source *s, u64 now)
{
	u64 first = GP__NEVER;
	bool lapsed = false;
	size_t n;

	pthread_mutex_lock(&a->lock);
	n = collect_expired(a, s, now, &first);
	pthread_mutex_unlock(&a->lock);
	if (!n)
		return first;
	s->ops.release(s->state, a->ids, a->results, n);
	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < n; i++) {
		if (!take_release(a, s, i, &lapsed))
			first = gp__min_u64(first, now + GP__RELEASE_AGAIN_NS);
	}
	pthread_mutex_unlock(&a->lock);
	if (lapsed)
		reweigh(a, s, true);
	return first;
}

/* Collects the queues whose weight has expired; *@first: when the next one does. */
static size_t collect_stale_weights(struct gp__agent *a, const struct source *s, u64 now,
				    u64 *first)
{
	struct gp__link *l, *next;
	size_t n = 0;

	gp__list_each(l, next, &a->queues)
	{
		struct queue *q = container_of(l, struct queue, link);

		if (q->source != s || !q->weight_kept || q->stage == GOING ||
		    n == GP__WIRE_SLOTS_MAX)
			continue;
		if (q->weight_until > now) {
			*first = gp__min_u64(*first, q->weight_until);
			continue;
		}
		q->weight = 0;
		q->weight_void = q->weight_kept = false;
		a->ids[n++] = q->is.id;
	}
	return n;
}

/* Ends the weights that a daemon which is gone has ordered. Returns when the next one expires. */
static u64 expire_weights(struct gp__agent *a, struct source *s, u64 now)
{
	u64 first = GP__NEVER;
	size_t n;

	pthread_mutex_lock(&a->lock);
	n = collect_stale_weights(a, s, now, &first);
	pthread_mutex_unlock(&a->lock);
	for (size_t i = 0; i < n; i++)
		s->ops.weigh(s->state, a->ids[i], 0);
	return first;
}

u64 gp__agent_expire(struct gp__agent *a)
{
	u64 first = GP__NEVER, now = gp__clock_ns();

	for (struct source *s = NULL; (s = gp__agent_next_source(a, s));) {
		first = gp__min_u64(first, release_expired(a, s, now));
		first = gp__min_u64(first, expire_weights(a, s, now));
	}
	return first;
}

void gp__agent_keep_orders(struct gp__agent *a, u64 now)
{
	bool goodbye = atomic_load(&a->client.order->goodbye);
	struct gp__link *l, *next;

	a->kept_until = goodbye ? now : now + a->client.ttl_ns;
	gp__list_each(l, next, &a->queues)
	{
		struct queue *q = container_of(l, struct queue, link);

		if (q->held && q->stage == KNOWN) {
			q->hold_until = end_of_hold(a, q, now);
			q->hold_kept = true;
		}
		if (q->weight && !q->weight_kept) {
			q->weight_until = q->weight_void ? now : a->kept_until;
			q->weight_kept = true;
		}
	}
}

void *gp__agent_state_of(struct gp__agent *a, const struct source *s)
{
	void *state;

	pthread_mutex_lock(&a->lock);
	state = s->state;
	pthread_mutex_unlock(&a->lock);
	return state;
}

u64 gp__agent_tell_alone(struct gp__agent *a, bool alone)
{
	if (alone && gp__clock_ns() < a->kept_until)
		return a->kept_until;
	for (struct source *s = NULL; (s = gp__agent_next_source(a, s));) {
		void *state = gp__agent_state_of(a, s);

		if (state && s->ops.alone && (alone != s->alone || !s->told_alone))
			s->ops.alone(state, alone);
		s->alone = alone;
		s->told_alone = state;
	}
	return GP__NEVER;
}

/* Holds come first, so that a released queue finds the GPU free. */
u64 gp__agent_obey(struct gp__agent *a)
{
	struct source *s = NULL;
	u64 first;

	while ((s = gp__agent_next_source(a, s))) {
		adopt_for(a, s);
		carry_out_for(a, s, GP__WIRE_HOLD);
	}
	while ((s = gp__agent_next_source(a, s))) {
		carry_out_for(a, s, GP__WIRE_RELEASE);
		weigh_for(a, s);
	}
	first = gp__agent_tell_alone(a, atomic_load(&a->client.order->alone));
	return gp__min_u64(first, gp__agent_expire(a));
}
