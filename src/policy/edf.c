// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * edf: earliest deadline first. One entity with a deadline runs at a time. Entities without a
 * deadline run when none with a deadline waits: the most urgent first, equals together.
 *
 * A deadline that has passed is ignored, so that one hopeless job does not make all others late.
 * With late_yields=0 the entity keeps its place.
 *
 * Wrong choice when the work does not fit: above full load deadlines are missed in no useful order.
 * Use hpf or share to say who matters.
 */
#include "core/guard.h"
#include "policy/policy.h"

enum { LATE_YIELDS };

static const struct gp__param params[] = {
	[LATE_YIELDS] = { "late_yields", 0, 1, 1,
			  "1: a deadline that has passed no longer counts" },
};

/* Keys of entities without a deadline are beyond every deadline. */
#define BACKGROUND ((s64)GP__TIME_END + GP__PRIO_LIMIT)

struct state {
	u64 missed; /* the latest deadline that passed before its job was done */
};

static bool has_deadline(const struct gp__entity *e)
{
	const struct state *state = (const struct state *)e->policy_state;

	return e->deadline_at && e->deadline_at != state->missed;
}

static s64 key(const struct gp__entity *e)
{
	if (has_deadline(e))
		return (s64)gp__min_u64(e->deadline_at, GP__TIME_END - 1);
	return BACKGROUND - e->prio;
}

static const struct gp__entity *leader(const struct gp__dev *d)
{
	return container_of(d->running.first, struct gp__entity, node);
}

static bool fits(const struct gp__dev *d, const struct gp__entity *w, u64 now)
{
	(void)now;
	return !has_deadline(w) && key(w) == key(leader(d));
}

static bool preempts(const struct gp__dev *d, const struct gp__entity *w,
		     const struct gp__entity *r, u64 now)
{
	(void)d;
	(void)now;
	return key(w) < key(r);
}

static bool refresh(struct gp__entity *e, u64 now)
{
	if (!has_deadline(e) || !guard(EDF_LATE_YIELDS, now >= e->deadline_at) ||
	    !gp__policy_param(e->dev, LATE_YIELDS))
		return false;
	((struct state *)e->policy_state)->missed = e->deadline_at;
	return true;
}

static u64 next(const struct gp__dev *d)
{
	const struct gp__entity *r = leader(d);

	return has_deadline(r) && gp__policy_param(d, LATE_YIELDS) ? r->deadline_at : GP__NEVER;
}

const struct gp__policy gp__policy_edf = {
	.name = "edf",
	.summary = "earliest deadline first; without a deadline, what is left",
	.params = params,
	.nr_params = sizeof(params) / sizeof(params[0]),
	.entity_bytes = sizeof(struct state),
	.key = key,
	.fits = fits,
	.preempts = preempts,
	.preempt_rule = GP__RULE_DEADLINE,
	.needs_arrivals = true,
	.next = next,
	.refresh = refresh,
};
