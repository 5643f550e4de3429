// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Turns decisions into actions. An entity is held or released, and each of its queues follows with
 * one action at a time. An action is not cancelled when the decision is reversed; its
 * acknowledgement starts the opposite action.
 *
 * A hold that fails is retried a few times; then the entity is left running and out of planning. A
 * release that fails is retried for ever, with back-off, because no queue may stay held. A missing
 * acknowledgement makes the entity unresponsive until it arrives.
 */
#include "core/internal.h"

#define RETRY_MAX GP__S

static u32 wanted_weight(const struct gp__queue *q)
{
	const struct gp__dev *d = q->entity->dev;
	const struct gp__policy *p = d->core->policy;

	/* The least weight may come to the same as a hold. */
	return d->can_weigh && !d->off && p->weight && !q->entity->exempt ? p->weight(q->entity)
									  : 0;
}

static enum gp__verb wanted_verb(const struct gp__queue *q)
{
	bool held = q->verb == GP__VERB_HOLD;

	if (held != q->entity->held)
		return q->entity->held ? GP__VERB_HOLD : GP__VERB_RELEASE;
	/* A held queue gets its weight when it is released: the hold stays the latest order. */
	if (!guard(WEIGH_RUNNING, held) && !q->weigh_refused && q->weight != wanted_weight(q))
		return GP__VERB_WEIGH;
	return GP__VERB_NONE;
}

static enum gp__what what_of(enum gp__verb verb)
{
	switch (verb) {
	case GP__VERB_HOLD:
		return GP__WHAT_HOLD;
	case GP__VERB_RELEASE:
		return GP__WHAT_RELEASE;
	default:
		return GP__WHAT_WEIGH;
	}
}

static void issue(struct gp__queue *q, enum gp__verb verb, struct gp__why why, u64 now)
{
	struct gp__core *c = q->entity->dev->core;

	q->doing = (u8)verb;
	q->why = verb == GP__VERB_WEIGH ? gp__why(GP__RULE_WEIGHT, 0) : why;
	q->weight_doing = wanted_weight(q);
	q->issued_at = now;
	q->retry_at = 0;
	gp__list_del(&q->outbox);
	gp__list_del(&q->inflight);
	gp__list_push(&c->outbox, &q->outbox);
	gp__list_push(&c->inflight, &q->inflight);
	c->nr_actions++;
	gp__log_queue(q, what_of(verb), verb == GP__VERB_WEIGH ? q->weight_doing : q->level, now);
}

void gp__queue_converge(struct gp__queue *q, struct gp__why why, u64 now)
{
	enum gp__verb verb = wanted_verb(q);

	if (guard(ONE_IN_FLIGHT, q->doing != GP__VERB_NONE))
		return;
	if (verb == GP__VERB_NONE || q->retry_at > now)
		return;
	issue(q, verb, why, now);
}

/* Queues get their actions when the event ends, so that one event can undo its own decisions. */
void gp__entity_tell(struct gp__entity *e)
{
	if (gp__list_empty(&e->tell_link))
		gp__list_push(&e->dev->core->tell, &e->tell_link);
}

void gp__entity_hold(struct gp__entity *e, struct gp__why why, u64 now)
{
	if (e->held)
		return;
	e->held = true;
	/* Released in this same event, before any action: the hold has not been interrupted. */
	if (!guard(HOLD_GOES_ON, e->told))
		e->hold_since = now;
	e->why = why;
	gp__list_del(&e->fresh_link);
	gp__entity_sync_on(e, now);
	gp__entity_owe(e, now);
	gp__entity_tell(e);
}

/* Counts the hold so far; guarantees count from now. */
void gp__entity_restart_hold(struct gp__entity *e, u64 now)
{
	u64 held = gp__entity_hold_ns(e, now);

	e->held_total += held;
	e->longest_hold = gp__max_u64(e->longest_hold, held);
	e->hold_since = now;
}

void gp__entity_release(struct gp__entity *e, struct gp__why why, u64 now)
{
	if (!e->held)
		return;
	gp__entity_owe(e, now);
	e->held = false;
	e->why = why;
	gp__entity_sync_on(e, now);
	gp__entity_tell(e);
}

static void tell(struct gp__entity *e, u64 now)
{
	struct gp__why why = e->held == e->told ? gp__why(GP__RULE_RETRY, 0) : e->why;
	struct gp__link *l, *n;

	if (e->held && !e->told)
		e->nr_holds++;
	if (!e->held)
		gp__entity_restart_hold(e, now);
	e->told = e->held;
	gp__list_each(l, n, &e->queues)
		gp__queue_converge(container_of(l, struct gp__queue, link), why, now);
}

void gp__core_tell(struct gp__core *c, u64 now)
{
	while (!gp__list_empty(&c->tell)) {
		struct gp__entity *e = container_of(c->tell.next, struct gp__entity, tell_link);

		gp__list_del(&e->tell_link);
		tell(e, now);
	}
}

void gp__queue_set_fault(struct gp__queue *q, enum gp__fault fault)
{
	if ((q->fault == GP__FAULT_NONE) != (fault == GP__FAULT_NONE))
		q->entity->nr_faults += fault == GP__FAULT_NONE ? (u32)-1 : 1;
	q->fault = (u8)fault;
}

void gp__entity_forgive(struct gp__entity *e)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &e->queues)
	{
		struct gp__queue *q = container_of(l, struct gp__queue, link);

		q->weigh_refused = false;
		if (q->fault != GP__FAULT_FAILED)
			continue;
		gp__queue_set_fault(q, GP__FAULT_NONE);
		q->fails = 0;
		q->retry_at = 0;
	}
}

static u64 backoff(const struct gp__queue *q)
{
	u64 base = q->entity->dev->core->cfg[GP__CFG_RETRY_MS] * GP__MS;
	u32 doublings = q->fails > 10 ? 10 : q->fails - 1u;

	return gp__min_u64(base << doublings, gp__max_u64(RETRY_MAX, base));
}

static void action_failed(struct gp__queue *q, enum gp__verb verb, int result, u64 now)
{
	const struct gp__core *c = q->entity->dev->core;

	if (verb == GP__VERB_WEIGH) {
		q->weigh_refused = true;
		return;
	}
	if (q->fails < 255)
		q->fails++;
	q->retry_at = now + backoff(q);
	if (guard(HOLD_TRIES, q->fails >= c->cfg[GP__CFG_TRIES]) && q->fault == GP__FAULT_NONE) {
		gp__queue_set_fault(q, GP__FAULT_FAILED);
		gp__log_queue(q, GP__WHAT_FAILED, result, now);
	}
}

/* Learns how long a hold takes on this device. Ignores acknowledgements that timed out. */
static void note_hold_time(struct gp__dev *d, u64 took)
{
	u64 off = took > d->hold_ns ? took - d->hold_ns : d->hold_ns - took;

	if (took >= d->core->cfg[GP__CFG_ACK_TIMEOUT_MS] * GP__MS)
		return;
	if (d->hold_known)
		d->hold_dev_ns = (d->hold_dev_ns * 7 + off) / 8;
	d->hold_ns = d->hold_ns ? (d->hold_ns * 7 + took) / 8 : took;
	d->hold_known = true;
}

static void action_done(struct gp__queue *q, enum gp__verb verb, u64 now)
{
	if (verb == GP__VERB_WEIGH) {
		q->weight = q->weight_doing;
		gp__entity_sync_on(q->entity, now);
		gp__entity_arm(q->entity, now);
		return;
	}
	gp__queue_clock(q, now);
	q->fails = 0;
	if (q->fault == GP__FAULT_FAILED)
		gp__queue_set_fault(q, GP__FAULT_NONE);
	if (verb == GP__VERB_HOLD) {
		q->verb = GP__VERB_HOLD;
		q->nr_holds++;
		note_hold_time(q->entity->dev, now - q->issued_at);
	} else {
		q->verb = GP__VERB_NONE;
	}
}

static void ack(struct gp__queue *q, int result, u64 now)
{
	enum gp__verb verb = q->doing;
	bool had_fault = q->fault != GP__FAULT_NONE;

	q->doing = GP__VERB_NONE;
	gp__list_del(&q->inflight);
	if (guard(ACK_LATE, q->fault == GP__FAULT_UNRESPONSIVE)) {
		gp__queue_set_fault(q, GP__FAULT_NONE);
		gp__log_queue(q, GP__WHAT_RECOVERED, 0, now);
	}
	if (result)
		action_failed(q, verb, result, now);
	else
		action_done(q, verb, now);
	gp__queue_converge(q, q->entity->why, now);
	/* The common case, a success, does not change the plan. */
	if (had_fault || q->fault != GP__FAULT_NONE || q->retry_at > now)
		gp__entity_update(q->entity, now);
}

int gp__queue_ack(struct gp__queue *q, int result, u64 now)
{
	struct gp__core *c = q->entity->dev->core;

	/* An action that is still in the outbox cannot have been acknowledged. */
	if (guard(ACK_SPURIOUS, q->doing == GP__VERB_NONE || !gp__list_empty(&q->outbox)))
		return -EINVAL;
	now = gp__core_begin(c, now);
	gp__log_queue(q, GP__WHAT_ACK, result, now);
	ack(q, result, now);
	gp__core_settle(c, now);
	return 0;
}

bool gp__core_pop(struct gp__core *c, struct gp__action *a)
{
	struct gp__queue *q;

	if (gp__list_empty(&c->outbox))
		return false;
	q = container_of(c->outbox.next, struct gp__queue, outbox);
	gp__list_del(&q->outbox);
	a->time = q->issued_at;
	a->queue = q;
	a->verb = q->doing;
	a->level = q->level;
	a->weight = q->weight_doing;
	a->why = q->why;
	return true;
}

/* All actions have the same timeout, so the oldest is the next to expire. */
static struct gp__queue *oldest(const struct gp__core *c)
{
	return gp__list_empty(&c->inflight)
		       ? NULL
		       : container_of(c->inflight.next, struct gp__queue, inflight);
}

static u64 ack_due(const struct gp__core *c, const struct gp__queue *q)
{
	return gp__time_add(q->issued_at, c->cfg[GP__CFG_ACK_TIMEOUT_MS] * GP__MS);
}

u64 gp__core_next_ack_timeout(const struct gp__core *c)
{
	struct gp__queue *q = oldest(c);

	return guard(ACK_TIMEOUT, q != NULL) ? ack_due(c, q) : GP__NEVER;
}

void gp__core_expire_acks(struct gp__core *c, u64 now)
{
	while (gp__core_next_ack_timeout(c) <= now) {
		struct gp__queue *q = oldest(c);

		gp__list_del(&q->inflight);
		gp__queue_set_fault(q, GP__FAULT_UNRESPONSIVE);
		gp__log_queue(q, GP__WHAT_UNRESPONSIVE, 0, now);
		gp__entity_update(q->entity, now);
	}
}
