// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * hpf: highest priority first. The most urgent entities that have work run, equals together; the
 * others are stopped.
 *
 * With ageing: a stopped entity gains one level of priority every age_ms. When it has caught up
 * with those running it runs beside them for one grant, then starts again from its own priority.
 *
 * On a device where the least weight makes way at once, and with by_weight=1, who is less urgent
 * than somebody who is there, at work or not, is patient: it has the least weight and makes way at
 * once, so one of the patient may run beside the urgent. Only one: two that make way for each other
 * get nothing done. So the patient of one priority take turns of quantum_ms, which must be long
 * beside a stop and a start, and none of them runs from when somebody more urgent announces work
 * until that is done.
 *
 * Wrong choice when the urgent side can use the whole device for long: the others live on ageing
 * and guarantees alone. Use share then. Wrong, too, for equals that disturb each other: they run
 * together, and the hardware divides.
 */
#include "core/guard.h"
#include "policy/policy.h"

enum { AGE_MS, BY_WEIGHT, QUANTUM_MS };

static const struct gp__param params[] = {
	[AGE_MS] = { "age_ms", 0, 600000, 500,
		     "waiting that is worth one level of priority; 0: no ageing" },
	[BY_WEIGHT] = { "by_weight", 0, 1, 1,
			"1: where the device can, one patient entity runs beside the urgent" },
	[QUANTUM_MS] = { "quantum_ms", 1, 10000, 100,
			 "how long that one runs while other patient ones wait" },
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

static bool weighs(const struct gp__dev *d)
{
	return d->can_weigh == GP__WEIGHS_YIELDING && gp__policy_param(d, BY_WEIGHT);
}

/* Somebody more urgent is there. */
static bool is_patient(const struct gp__dev *d, const struct gp__entity *e)
{
	return weighs(d) && e->prio < d->top_prio;
}

/* Whether @e may be beside those running that are more urgent, or came before. */
static bool is_welcome(const struct gp__dev *d, const struct gp__entity *e)
{
	const struct gp__node *n;

	for (n = d->running.first; n && n != &e->node; n = gp__tree_next(n)) {
		const struct gp__entity *r = container_of(n, struct gp__entity, node);

		if (guard(PATIENT_ALONE, is_patient(d, r)) ||
		    guard(ANNOUNCED_KEPT, r->announced && r->prio > e->prio))
			return false;
	}
	return true;
}

static bool fits(const struct gp__dev *d, const struct gp__entity *w, u64 now)
{
	(void)now;
	if (weighs(d))
		return !is_patient(d, w) || is_welcome(d, w);
	return w->prio == leader(d)->prio;
}

static bool preempts(const struct gp__dev *d, const struct gp__entity *w,
		     const struct gp__entity *r, u64 now)
{
	if (is_patient(d, w) && w->prio == r->prio)
		return r->slice_end <= now;
	return w->prio > r->prio;
}

static bool stays(const struct gp__dev *d, const struct gp__entity *r, u64 now)
{
	(void)now;
	if (weighs(d))
		return !is_patient(d, r) || is_welcome(d, r);
	return r->prio == leader(d)->prio;
}

/* A turn that was broken off goes on. */
static void start(struct gp__entity *e, u64 now)
{
	if (e->slice_end > now)
		return;
	e->slice_end = now + gp__policy_param(e->dev, QUANTUM_MS) * GP__MS;
}

/* Only the patient take turns, those of one priority: the one that runs is the last of those
 * running. A turn that is over and has not ended waits for something else. */
static u64 next(const struct gp__dev *d)
{
	const struct gp__entity *r =
		container_of(gp__tree_last(&d->running), struct gp__entity, node);
	const struct gp__node *w = d->waiting.first;

	if (!w || !is_patient(d, r) || w->key != r->node.key || r->slice_end <= d->core->now)
		return GP__NEVER;
	return r->slice_end;
}

/* Whoever runs beside the policy's choice, by a grant or because it cannot be stopped, must not
 * make way for somebody who makes way for it. */
static u32 weight(const struct gp__entity *e)
{
	const struct gp__dev *d = e->dev;

	if (!weighs(d) || e->place == GP__PLACE_GRANTED || e->place == GP__PLACE_APART)
		return 0;
	if (is_patient(d, e))
		return GP__WEIGHT_LEAST;
	return d->has_patient && d->nr_top == 1 && !e->suspended ? GP__WEIGHT_MOST : 0;
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
	.stays = stays,
	.start = start,
	.next = next,
	.weight = weight,
	.age_key = age_key,
	.age_due = age_due,
	.effective = effective,
};
