// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * hpf: highest priority first. The most urgent entities that have work run, equals together; the
 * others are stopped.
 *
 * With ageing: a stopped entity gains one level of priority every age_ms. When it has caught up
 * with those running it runs beside them for one grant, then starts again from its own priority.
 *
 * Wrong choice when the urgent side can use the whole device for long: the others live on ageing
 * and guarantees alone. Use share then. Wrong, too, for equals that disturb each other: they run
 * together, and the hardware divides.
 */
#include "policy/policy.h"

enum { AGE_MS };

static const struct gp__param params[] = {
	[AGE_MS] = { "age_ms", 0, 600000, 500,
		     "waiting that is worth one level of priority; 0: no ageing" },
};

static u64 age_ns(const struct gp__dev *d)
{
	return gp__policy_param(d, AGE_MS) * GP__MS;
}

static const struct gp__entity *leader(const struct gp__dev *d)
{
	return container_of(d->running.first, struct gp__entity, node);
}

static s64 key(const struct gp__entity *e)
{
	return -(s64)e->prio;
}

static bool fits(const struct gp__dev *d, const struct gp__entity *w, u64 now)
{
	(void)now;
	return w->prio == leader(d)->prio;
}

static bool preempts(const struct gp__dev *d, const struct gp__entity *w,
		     const struct gp__entity *r, u64 now)
{
	(void)d;
	(void)now;
	return w->prio > r->prio;
}

/*
 * All age at the same speed, so the order of those waiting never changes: by the time at which each
 * would reach priority 0.
 */
static s64 age_key(const struct gp__entity *e)
{
	return (s64)e->hold_since - (s64)e->prio * (s64)age_ns(e->dev);
}

static u64 age_due(const struct gp__dev *d, const struct gp__entity *w)
{
	/* Who is urgent enough already waits for the rate limit, not for age. */
	if (!age_ns(d) || !d->running.count || w->prio >= leader(d)->prio)
		return GP__NEVER;
	return gp__time_add(w->hold_since, (u64)(leader(d)->prio - w->prio) * age_ns(d));
}

static s32 effective(const struct gp__entity *e, u64 now)
{
	u64 step = age_ns(e->dev);

	if (!step || !e->held || now < e->hold_since)
		return e->prio;
	return e->prio + (s32)gp__min_u64((now - e->hold_since) / step, GP__PRIO_LIMIT);
}

const struct gp__policy gp__policy_hpf = {
	.name = "hpf",
	.summary = "strict priority with ageing; equals run together",
	.params = params,
	.nr_params = sizeof(params) / sizeof(params[0]),
	.key = key,
	.fits = fits,
	.preempts = preempts,
	.preempt_rule = GP__RULE_PRIORITY,
	.age_key = age_key,
	.age_due = age_due,
	.effective = effective,
};
