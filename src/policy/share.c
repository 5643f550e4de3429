// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * share: percentages of a device. An entity that asks for 30 % gets at least that while it has
 * work. Unassigned and unused time goes to the others in proportion, first to those of the same
 * owner, so the device is never idle while an entity has work. Owners with entities that did not
 * ask divide what is left, and get at least one percent each. The shares of an owner count as at
 * most 100 %, and shares of more than 100 % in all are scaled down together.
 *
 * On a device that can weigh, by_weight=1 lets all entities run at once, and the hardware keeps the
 * proportions.
 *
 * Wrong choice for latency beyond the share: only a program that uses less than it asked for has
 * credit, and need not wait for its turn. Wrong as an upper limit: it is not
 * one.
 */
#include "policy/turns.h"

enum { BY_WEIGHT = GP__VTIME_PARAMS };

static const struct gp__param params[] = {
	GP__VTIME_PARAM_TABLE,
	[BY_WEIGHT] = { "by_weight", 0, 1, 0,
			"1: all run at once, weighed by the device where it can" },
};

/* Bounds the speed of virtual time to a thousand times the clock's, which overflows after a hundred
 * days. */
#define LEAST 100

/* Shares are in thousandths of a percent. */

/* Of an owner, for its entities that asked for one. */
static u32 asked(const struct gp__owner *o)
{
	u32 sum = o->dev->share_sum, pct = gp__owner_share_pct(o);

	return sum <= 100 ? pct * 1000 : pct * 100000 / sum;
}

/* Of an owner, for its entities that did not. */
static u32 left(const struct gp__owner *o)
{
	const struct gp__dev *d = o->dev;
	u32 left = d->share_sum < 100 ? 100 - d->share_sum : 0;
	u32 each = left * 1000 / (d->nr_no_share ? d->nr_no_share : 1);

	if (!o->nr_no_share)
		return 0;
	return each > 1000 ? each : 1000;
}

static u32 raise_to_least(u32 share)
{
	return share > LEAST ? share : LEAST;
}

static u32 owner_share(const struct gp__owner *o)
{
	return raise_to_least(asked(o) + left(o));
}

static u32 share_of(const struct gp__entity *e)
{
	const struct gp__owner *o = e->owner;

	if (e->hints.share_pct)
		return raise_to_least((u32)((u64)asked(o) * e->hints.share_pct / o->share_sum));
	return raise_to_least(left(o) / o->nr_no_share);
}

static bool weighs(const struct gp__dev *d)
{
	return d->can_weigh && gp__policy_param(d, BY_WEIGHT);
}

static u64 virtual(u64 ns, u32 share)
{
	return ns * 1000 / share * 100;
}

static void charge(struct gp__entity *e, u64 used, u64 now)
{
	(void)now;
	gp__turns_vtime_charge(e, virtual(used, share_of(e)), virtual(used, owner_share(e->owner)));
}

static void wakeup(struct gp__entity *e, u64 now)
{
	u64 credit = gp__turns_credit(e->dev);

	(void)now;
	gp__turns_vtime_wakeup(e, virtual(credit, share_of(e)),
			       virtual(credit, owner_share(e->owner)));
}

static bool fits(const struct gp__dev *d, const struct gp__entity *w, u64 now)
{
	return weighs(d) || gp__turns_fits(d, w, now);
}

static bool preempts(const struct gp__dev *d, const struct gp__entity *w,
		     const struct gp__entity *r, u64 now)
{
	return !weighs(d) && gp__turns_vtime_preempts(d, w, r, now);
}

static u32 weight(const struct gp__entity *e)
{
	u32 pct = share_of(e) / 1000;

	if (!weighs(e->dev))
		return 0;
	return pct ? pct : 1;
}

const struct gp__policy gp__policy_share = {
	.name = "share",
	.summary = "guaranteed percentages of the device, in turns",
	.params = params,
	.nr_params = sizeof(params) / sizeof(params[0]),
	GP__VTIME_STATE,
	.key = gp__turns_vtime_key,
	.owner_key = gp__turns_vtime_owner_key,
	.fits = fits,
	.preempts = preempts,
	.preempt_rule = GP__RULE_SLICE,
	.wakeup = wakeup,
	.charge = charge,
	.charged = gp__turns_vtime_charged,
	.start = gp__turns_start,
	.go_on = gp__turns_go_on,
	.next = gp__turns_next,
	.weight = weight,
};
