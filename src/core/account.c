// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Who got how much GPU time.
 *
 * Nothing tells the core how the hardware divides the device among the entities that run on it, so
 * time is divided evenly: a device keeps a clock that advances by dt / (entities running), and an
 * entity is charged the difference since it began. That costs O(1) however many run together.
 */
#include "core/internal.h"

void gp__dev_advance(struct gp__dev *d, u64 now)
{
	u64 dt = now - d->clock_at;

	/* After a month without an event a fraction of a nanosecond no longer matters. */
	if (d->nr_on)
		d->clock += dt >> 52 ? dt / d->nr_on << GP__CLOCK_SHIFT
				     : (dt << GP__CLOCK_SHIFT) / d->nr_on;
	d->clock_at = now;
}

static u64 uncharged(const struct gp__entity *e)
{
	return e->on ? (e->dev->clock - e->clock_at) >> GP__CLOCK_SHIFT : 0;
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
	if (p->charge)
		p->charge(e, used, now);
}

void gp__entity_sync_on(struct gp__entity *e, u64 now)
{
	struct gp__dev *d = e->dev;
	bool on = gp__entity_active(e) && !e->held;

	if (on == e->on)
		return;
	gp__entity_charge(e, now);
	gp__dev_advance(d, now);
	e->on = on;
	e->clock_at = d->clock;
	if (on)
		d->nr_on++;
	else
		d->nr_on--;
}

u64 gp__entity_used(const struct gp__entity *e, u64 now)
{
	const struct gp__dev *d = e->dev;
	u64 dt = e->on && now > d->clock_at ? now - d->clock_at : 0;

	return e->used + uncharged(e) + (d->nr_on ? dt / d->nr_on : 0);
}

#define PPM 1000000
/* What those who asked for nothing are promised adds up to no more than this part of a device. */
#define DEFAULTS_TOGETHER (PPM / 2)

/* In millionths of the device. */
static u64 min_share(const struct gp__entity *e)
{
	const struct gp__dev *d = e->dev;
	u64 each = d->core->cfg[GP__CFG_MIN_SHARE_PCT] * (PPM / 100);

	if (e->hints.min_share_pct)
		return (u64)e->hints.min_share_pct * (PPM / 100);
	return guard(DEFAULTS_BOUND, each * d->nr_awake > DEFAULTS_TOGETHER)
		       ? DEFAULTS_TOGETHER / d->nr_awake
		       : each;
}

static u64 grant_ns(const struct gp__entity *e)
{
	return e->dev->core->cfg[GP__CFG_GRANT_MS] * GP__MS;
}

/*
 * Brings the account of the minimum share up to now: it grows while the entity has work and falls
 * as it gets time. Both ends are bounded, so that an hour alone on the device is not held against
 * it later, nor an hour of waiting paid back at once.
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

/* When a waiting entity will be owed a whole grant. */
u64 gp__entity_owed_due(const struct gp__entity *e, u64 now)
{
	s64 missing = (s64)grant_ns(e) - e->owed;
	u64 share = min_share(e);

	if (!share)
		return GP__NEVER;
	if (missing <= 0)
		return now;
	return gp__time_add(e->owed_at, ((u64)missing * PPM + share - 1) / share);
}

/*
 * How long it takes an entity that runs beside others to get what it is owed: it gets 1/n of the
 * time, and is owed its share of the time that takes. Where that is hardly less, look again later.
 */
u64 gp__entity_owed_for(const struct gp__entity *e)
{
	u64 n = e->dev->nr_on ? e->dev->nr_on : 1, grows = n * min_share(e);

	if (grows > PPM / 100 * 99)
		return grant_ns(e);
	return (u64)e->owed * n * 1000 / (PPM - grows) * 1000 + GP__US;
}

u64 gp__entity_max_hold(const struct gp__entity *e)
{
	u64 ms = e->dev->core->cfg[GP__CFG_MAX_HOLD_MS];

	if (e->hints.max_hold_ns)
		return e->hints.max_hold_ns;
	return ms ? ms * GP__MS : GP__NEVER;
}

u64 gp__entity_hold_ns(const struct gp__entity *e, u64 now)
{
	return e->told && e->awake && now > e->hold_since ? now - e->hold_since : 0;
}

/* Adds the time since the last change to the total it belongs to. */
void gp__queue_clock(struct gp__queue *q, u64 now)
{
	u64 dt = now - q->clock_at;

	if (q->verb == GP__VERB_EXCLUDE) {
		q->held_total += dt;
	} else if (q->ready) {
		q->run_total += dt;
		q->last_ran = now;
	}
	q->clock_at = now;
}

/* Who asks may have looked at the clock before the last event did. */
static u64 since(const struct gp__queue *q, u64 now)
{
	return now > q->clock_at ? now - q->clock_at : 0;
}

u64 gp__queue_run_ns(const struct gp__queue *q, u64 now)
{
	return q->run_total + (q->ready && q->verb != GP__VERB_EXCLUDE ? since(q, now) : 0);
}

u64 gp__queue_held_ns(const struct gp__queue *q, u64 now)
{
	return q->held_total + (q->verb == GP__VERB_EXCLUDE ? since(q, now) : 0);
}
