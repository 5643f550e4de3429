// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "policy/turns.h"
#include "core/guard.h"

static u64 turn_end(const struct gp__entity *e)
{
	return ((const struct gp__turn *)e->policy_state)->end;
}

static u64 vtime(const struct gp__entity *e)
{
	return ((const struct gp__vtime *)e->policy_state)->ns;
}

static const struct gp__vtime_owner *vtime_owner(const struct gp__owner *o)
{
	return (const struct gp__vtime_owner *)o->policy_state;
}

static struct gp__vtime_dev *vtime_dev(struct gp__dev *d)
{
	return (struct gp__vtime_dev *)d->policy_state;
}

u64 gp__turns_quantum(const struct gp__dev *d)
{
	return gp__policy_param(d, GP__TURNS_QUANTUM_MS) * GP__MS;
}

u64 gp__turns_credit(const struct gp__dev *d)
{
	return gp__policy_param(d, GP__VTIME_CREDIT_MS) * GP__MS;
}

bool gp__turns_fits(const struct gp__dev *d, const struct gp__entity *w, u64 now)
{
	(void)w;
	(void)now;
	return d->running.count < gp__policy_param(d, GP__TURNS_WIDTH);
}

bool gp__turns_over(const struct gp__entity *e, u64 now)
{
	return turn_end(e) <= now;
}

void gp__turns_start(struct gp__entity *e, u64 now)
{
	struct gp__turn *turn = (struct gp__turn *)e->policy_state;

	turn->end = now + gp__turns_quantum(e->dev);
}

void gp__turns_go_on(struct gp__entity *e, u64 now)
{
	if (gp__turns_over(e, now))
		gp__turns_start(e, now);
}

u64 gp__turns_next(const struct gp__dev *d)
{
	const struct gp__node *n;
	u64 due = GP__NEVER;

	/* On a device that weighs any number run, and there are no turns. */
	if (d->running.count > GP__TURNS_MAX)
		return GP__NEVER;
	for (n = d->running.first; n; n = gp__tree_next(n))
		due = gp__min_u64(due, turn_end(container_of(n, struct gp__entity, node)));
	return due;
}

s64 gp__turns_vtime_key(const struct gp__entity *e)
{
	return (s64)vtime(e);
}

s64 gp__turns_vtime_owner_key(const struct gp__owner *o)
{
	return (s64)vtime_owner(o)->ns;
}

void gp__turns_vtime_charge(struct gp__entity *e, u64 ns, u64 owner_ns)
{
	((struct gp__vtime *)e->policy_state)->ns += ns;
	((struct gp__vtime_owner *)e->owner->policy_state)->ns += owner_ns;
}

bool gp__turns_vtime_preempts(const struct gp__dev *d, const struct gp__entity *w,
			      const struct gp__entity *r, u64 now)
{
	bool is_own = w->owner == r->owner;
	u64 waits = is_own ? vtime(w) : vtime_owner(w->owner)->ns;
	u64 runs = is_own ? vtime(r) : vtime_owner(r->owner)->ns;

	/* Equals take turns, too: with < a turn would last twice as long. */
	if (gp__turns_over(r, now))
		return waits <= runs;
	/* It has just got work, and has credit. */
	return guard(WAKE_UP, waits + gp__turns_quantum(d) < runs);
}

/* After a time without work it is behind @floor by its credit at most. A new one has none. */
static void come_back(u64 *ns, u64 floor, u64 credit)
{
	if (guard(CREDIT_EARNED, !*ns))
		credit = 0;
	if (guard(VTIME_FLOOR, *ns + credit < floor))
		*ns = floor - credit;
}

void gp__turns_vtime_wakeup(struct gp__entity *e, u64 credit, u64 owner_credit)
{
	struct gp__vtime *state = (struct gp__vtime *)e->policy_state;
	struct gp__vtime_owner *owner = (struct gp__vtime_owner *)e->owner->policy_state;

	come_back(&state->ns, owner->floor, credit);
	if (e->owner->nr_awake == 1)
		come_back(&owner->ns, vtime_dev(e->dev)->floor, owner_credit);
}

static void raise(u64 *floor, u64 least)
{
	*floor = gp__max_u64(*floor, least);
}

/* The least virtual time of the owner of @r among its entities with work. */
static void raise_owner_floor(struct gp__entity *r)
{
	const struct gp__node *w = r->owner->waiting.first;
	u64 least = vtime(r);

	if (w)
		least = gp__min_u64(least, (u64)w->key);
	raise(&((struct gp__vtime_owner *)r->owner->policy_state)->floor, least);
}

void gp__turns_vtime_charged(struct gp__dev *d)
{
	struct gp__node *n;
	u64 least = GP__NEVER;

	if (d->running.first)
		least = (u64)d->running.first->key;
	if (d->owners.first)
		least = gp__min_u64(least, (u64)d->owners.first->key);
	if (least != GP__NEVER)
		raise(&vtime_dev(d)->floor, least);
	if (d->running.count > GP__TURNS_MAX)
		return;
	for (n = d->running.first; n; n = gp__tree_next(n))
		raise_owner_floor(container_of(n, struct gp__entity, node));
}
