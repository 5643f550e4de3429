// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Accounts of GPU time.
 *
 * Nothing tells the core how the hardware divides the device among the entities that run on it, so
 * time is divided evenly: a device keeps a clock that advances by dt / (entities running), and an
 * entity is charged the difference since it began. That costs O(1) however many run together.
 *
 * Entities that yield have a clock of their own. It advances only while none works that does not
 * yield; the other one stands still meanwhile. So no moment is charged twice.
 */
#include "core/internal.h"

/* The time goes to the entities that yield: only they work. */
static bool is_yielded(const struct gp__dev *d)
{
	return d->nr_yielding && !guard(YIELDS, d->nr_working > d->nr_yielding);
}

/* How many entities divide the time of the clock now; 0: it stands still. */
static u32 sharers(const struct gp__dev *d, bool yields)
{
	if (is_yielded(d) != yields)
		return 0;
	return yields ? d->nr_yielding : d->nr_on - d->nr_yielding;
}

static void advance(const struct gp__dev *d, bool yields, u64 dt, u64 *clock)
{
	u32 n = sharers(d, yields);

	/* After a month without an event a fraction of a nanosecond no longer matters. */
	if (n)
		*clock += dt >> 52 ? dt / n << GP__CLOCK_SHIFT : (dt << GP__CLOCK_SHIFT) / n;
}

void gp__dev_advance(struct gp__dev *d, u64 now)
{
	u64 dt = now - d->clock_at;

	advance(d, false, dt, &d->clock);
	advance(d, true, dt, &d->yield_clock);
	d->clock_at = now;
}

static u64 clock_of(const struct gp__entity *e)
{
	return e->yields ? e->dev->yield_clock : e->dev->clock;
}

static u64 uncharged(const struct gp__entity *e)
{
	return e->on ? (clock_of(e) - e->clock_at) >> GP__CLOCK_SHIFT : 0;
}

void gp__entity_charge(struct gp__entity *e, u64 now)
{
	const struct gp__policy *p = e->dev->core->policy;
	u64 used;

	gp__dev_advance(e->dev, now);
	used = uncharged(e);
	if (!used)
		return;
	e->clock_at += used << GP__CLOCK_SHIFT;
	e->used += used;
	if (p->charge) {
		p->charge(e, used, now);
		gp__owner_rekey(e->owner);
	}
}

/* All queues that have work have the least weight. */
static bool has_least_weight(const struct gp__entity *e)
{
	const struct gp__link *l;

	if (e->dev->can_weigh != GP__WEIGHS_YIELDING)
		return false;
	for (l = e->queues.next; l != &e->queues; l = l->next) {
		const struct gp__queue *q = container_of(l, struct gp__queue, link);

		if (q->ready && q->weight != GP__WEIGHT_LEAST)
			return false;
	}
	return true;
}

static void count(u32 *nr, bool *was, bool is)
{
	*nr += (u32)is - (u32)*was;
	*was = is;
}

void gp__entity_sync_on(struct gp__entity *e, u64 now)
{
	struct gp__dev *d = e->dev;
	bool on = gp__entity_active(e) && !e->held, working = e->nr_ready && !e->held;
	bool yields = working && has_least_weight(e), other_clock = yields != e->yields;

	if (on == e->on && working == e->working && !other_clock)
		return;
	gp__dev_advance(d, now);
	if (on != e->on || other_clock) {
		gp__entity_charge(e, now);
		e->clock_at = yields ? d->yield_clock : d->clock;
	}
	count(&d->nr_on, &e->on, on);
	count(&d->nr_working, &e->working, working);
	count(&d->nr_yielding, &e->yields, yields);
}

bool gp__entity_gives_way(const struct gp__entity *e)
{
	return e->yields && !is_yielded(e->dev);
}

u64 gp__entity_used(const struct gp__entity *e, u64 now)
{
	const struct gp__dev *d = e->dev;
	u64 dt = e->on && now > d->clock_at ? now - d->clock_at : 0;
	u32 n = sharers(d, e->yields);

	return e->used + uncharged(e) + (n ? dt / n : 0);
}

u64 gp__dev_wasted(const struct gp__dev *d, u64 now)
{
	return d->wasted + (d->wastes && now > d->waste_at ? now - d->waste_at : 0);
}

u64 gp__entity_wasted(const struct gp__entity *e, u64 now)
{
	return e->wasted + (e->lingering ? gp__dev_wasted(e->dev, now) - e->waste_mark : 0);
}

#define PPM 1000000
#define PER_PERCENT (PPM / 100)
/* The minimum shares of a device that are defaults, or those that are claims, add up to at most
 * this part of it. */
#define PROMISED (PPM / 2)

/* Entities of several owners have work. */
static bool is_shared(const struct gp__dev *d)
{
	return guard(OWNER_GUARANTEES, d->nr_awake_owners > 1);
}

/* Of an owner, or of an entity on a device that only one owner uses. */
static u64 default_each(const struct gp__dev *d)
{
	u64 each = d->core->cfg[GP__CFG_MIN_SHARE_PCT] * PER_PERCENT;
	u32 nr = is_shared(d) ? d->nr_awake_owners : d->nr_awake;

	return guard(DEFAULTS_BOUND, each * nr > PROMISED) ? PROMISED / nr : each;
}

static u64 default_share(const struct gp__entity *e)
{
	u64 each = default_each(e->dev);

	if (!each || !is_shared(e->dev) || !e->owner->nr_awake)
		return each;
	return gp__max_u64(each / e->owner->nr_awake, 1);
}

/*
 * The claims of an owner count up to its part of what there is for them, and beyond that as far as
 * the claims of others leave something. There is half of the device, less the defaults, because an
 * entity with a grant runs beside the policy's choice: if more were promised, grants would overlap
 * until none kept its promise.
 */
static u64 claimed_share(const struct gp__entity *e)
{
	const struct gp__dev *d = e->dev;
	u64 own = (u64)e->owner->claimed * PER_PERCENT, all = (u64)d->claimed * PER_PERCENT;
	u64 left = gp__max_u64(PROMISED - default_each(d) * d->nr_awake_owners, PROMISED / 2), most;

	if (all <= left || !guard(CLAIMS_BOUND, true))
		return e->claimed * PER_PERCENT;
	most = gp__max_u64(left / d->nr_claiming, left > all - own ? left - (all - own) : 0);
	return e->claimed * PER_PERCENT * gp__min_u64(most, own) / own;
}

/* The minimum share of an entity, in millionths of the device. */
static u64 min_share(const struct gp__entity *e)
{
	u64 share;

	if (e->claimed)
		return claimed_share(e);
	share = default_share(e);
	if (e->hints.min_share_pct)
		share = gp__min_u64(share, e->hints.min_share_pct * PER_PERCENT);
	return share;
}

/* All may have the default; a claim is more. */
static u32 claim_of(const struct gp__entity *e)
{
	u32 pct = e->hints.min_share_pct;

	return e->awake && pct > e->dev->core->cfg[GP__CFG_MIN_SHARE_PCT] ? pct : 0;
}

void gp__entity_sync_claim(struct gp__entity *e)
{
	struct gp__owner *o = e->owner;
	struct gp__dev *d = e->dev;
	u32 claim = claim_of(e);

	d->nr_claiming -= o->claimed != 0;
	d->claimed += claim - e->claimed;
	o->claimed += claim - e->claimed;
	d->nr_claiming += o->claimed != 0;
	e->claimed = claim;
}

static u64 grant_ns(const struct gp__entity *e)
{
	return e->dev->core->cfg[GP__CFG_GRANT_MS] * GP__MS;
}

/*
 * Updates the account of the minimum share: it grows while the entity has work and falls as it gets
 * GPU time. Both ends are bounded, so that an hour alone on the device is not held against it
 * later, and an hour of waiting is not paid back at once.
 */
void gp__entity_owe(struct gp__entity *e, u64 now)
{
	s64 bound = (s64)grant_ns(e);

	gp__entity_charge(e, now);
	if (e->awake)
		e->owed += (s64)(gp__min_u64(now - e->owed_at, 3600 * GP__S) * min_share(e) / PPM);
	e->owed -= (s64)(e->used - e->owed_used);
	e->owed_at = now;
	e->owed_used = e->used;
	if (guard(OWED_BOUND, e->owed < -bound))
		e->owed = -bound;
	if (guard(OWED_CAP, e->owed > 4 * bound))
		e->owed = 4 * bound;
}

u64 gp__entity_owed_due(const struct gp__entity *e, u64 defer, u64 now)
{
	u64 share = min_share(e), grant = grant_ns(e);
	/* No more than the account can hold. */
	u64 deferred = gp__min_u64(defer * share / PPM, 2 * grant);
	s64 missing = (s64)(grant + deferred) - e->owed;

	if (!share)
		return GP__NEVER;
	if (missing <= 0)
		return now;
	return gp__time_add(e->owed_at, ((u64)missing * PPM + share - 1) / share);
}

/*
 * How long an entity that runs beside others needs to get what it is owed: it gets 1/n of the time,
 * and meanwhile is owed its share of that time. If it hardly gains, one grant is the answer.
 */
u64 gp__entity_owed_for(const struct gp__entity *e)
{
	const struct gp__dev *d = e->dev;
	/* Entities that yield to it take none of its time. */
	u64 n = e->yields ? d->nr_on : d->nr_on - d->nr_yielding, grows;

	n = n ? n : 1;
	grows = n * min_share(e);

	if (grows > PER_PERCENT * 99)
		return grant_ns(e);
	return (u64)e->owed * n * 1000 / (PPM - grows) * 1000 + GP__US;
}

/* When guarantees that all have, and ageing, began to count: the grants of an owner's entities are
 * as far apart as those of one. */
u64 gp__entity_waits_since(const struct gp__entity *e)
{
	return guard(OWNER_GRANTS, true) ? gp__max_u64(e->hold_since, e->owner->granted_at)
					 : e->hold_since;
}

/* The entity's own longest hold; 0: none. A bound of its gang that the default does not exceed is
 * just below the default, so that it does not wait for grants to others of its owner. */
static u64 own_hold(const struct gp__entity *e)
{
	u64 all = e->dev->core->cfg[GP__CFG_MAX_HOLD_MS] * GP__MS, own = e->hints.max_hold_ns;
	u64 bound = e->gang ? e->gang->max_hold_ns : 0;

	if (!guard(GANG_BOUND, bound) || (own && own < bound))
		return own;
	return all ? gp__min_u64(bound, all - 1) : bound;
}

/* All may have the default; less is the entity's own. */
static bool is_hold_own(const struct gp__entity *e)
{
	u64 ms = e->dev->core->cfg[GP__CFG_MAX_HOLD_MS], own = own_hold(e);

	return own && (!ms || own < ms * GP__MS);
}

u64 gp__entity_hold_due(const struct gp__entity *e)
{
	u64 ms = e->dev->core->cfg[GP__CFG_MAX_HOLD_MS], own = own_hold(e);

	if (is_hold_own(e))
		return gp__time_add(e->hold_since, own);
	if (own)
		return gp__time_add(gp__entity_waits_since(e), own);
	return ms ? gp__time_add(gp__entity_waits_since(e), ms * GP__MS) : GP__NEVER;
}

bool gp__entity_may_grant(const struct gp__entity *e, u64 now)
{
	u64 ms = e->dev->core->cfg[GP__CFG_MAX_HOLD_MS];

	return ms && gp__time_add(e->owner->granted_at, ms * GP__MS) <= now;
}

void gp__entity_note_grant(struct gp__entity *e, enum gp__rule rule, u64 now)
{
	bool is_default = rule == GP__RULE_AGEING || (rule == GP__RULE_MAX_HOLD && !is_hold_own(e));

	if (is_default && is_shared(e->dev))
		e->owner->granted_at = now;
}

u64 gp__entity_hold_ns(const struct gp__entity *e, u64 now)
{
	return e->told && e->awake && now > e->hold_since ? now - e->hold_since : 0;
}

/* GPU time that its entity has got since @q's last change; queues of one entity are not told apart.
 */
static u64 got(const struct gp__queue *q, u64 now)
{
	return gp__entity_used(q->entity, now) - q->used_at;
}

/* Adds the time since the last change to the queue's total of running or of being held. */
void gp__queue_clock(struct gp__queue *q, u64 now)
{
	gp__dev_advance(q->entity->dev, now);
	if (q->verb == GP__VERB_HOLD)
		q->held_total += now - q->clock_at;
	else if (q->ready)
		q->run_total += got(q, now);
	q->clock_at = now;
	q->used_at = gp__entity_used(q->entity, now);
}

/* The caller may have read the clock before the last event did. */
static u64 since(const struct gp__queue *q, u64 now)
{
	return now > q->clock_at ? now - q->clock_at : 0;
}

u64 gp__queue_run_ns(const struct gp__queue *q, u64 now)
{
	return q->run_total + (q->ready && q->verb != GP__VERB_HOLD ? got(q, now) : 0);
}

u64 gp__queue_held_ns(const struct gp__queue *q, u64 now)
{
	return q->held_total + (q->verb == GP__VERB_HOLD ? since(q, now) : 0);
}
