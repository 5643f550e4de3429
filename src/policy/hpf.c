// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * hpf: highest priority first. The most urgent entities that have work run, equals together; the
 * others are held.
 *
 * With ageing: a held entity gains one level of priority every age_ms. When it reaches the priority
 * of the running entities it runs beside them for one grant, then starts again from its own
 * priority. So do the other entities of its owner, unless it is the only owner.
 *
 * With by_weight=1, on a device where the least weight yields at once: an entity is patient if the
 * device has a more urgent one, with work or not. A patient entity has the least weight, so one of
 * them may run beside the urgent ones: their first kernel need not wait until it is seen and the
 * patient are held. Only one may: two that yield to each other make no progress. So the patient
 * entities of one priority take turns of quantum_ms, which must be long compared with a hold and a
 * release. None of them runs in a burst of more urgent work that is longer than a hold takes, nor
 * from the announcement of such work until it is done.
 *
 * Wrong choice if urgent programs use the whole device for long: the others only get ageing and
 * guarantees. Use share then. Wrong for equals that disturb each other: they run together, and the
 * hardware divides the device.
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

struct state {
	u64 turn_end; /* of the patient, which take turns */
};

static u64 turn_end(const struct gp__entity *e)
{
	return ((const struct state *)e->policy_state)->turn_end;
}

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

/* A more urgent entity is present. */
static bool is_patient(const struct gp__dev *d, const struct gp__entity *e)
{
	return weighs(d) && e->prio < d->top_prio;
}

/* Whether @e may run beside the running entities that sort before it. */
static bool fits_beside(const struct gp__dev *d, const struct gp__entity *e)
{
	const struct gp__node *n;

	for (n = d->running.first; n && n != &e->node; n = gp__tree_next(n)) {
		const struct gp__entity *r = container_of(n, struct gp__entity, node);

		if (guard(PATIENT_ALONE, is_patient(d, r)) ||
		    guard(ANNOUNCED_KEPT, r->announced && r->prio > e->prio) ||
		    guard(BURST_HELD, r->in_burst && r->prio > e->prio))
			return false;
	}
	return true;
}

static bool fits(const struct gp__dev *d, const struct gp__entity *w, u64 now)
{
	(void)now;
	if (weighs(d))
		return !is_patient(d, w) || fits_beside(d, w);
	return w->prio == leader(d)->prio;
}

static bool preempts(const struct gp__dev *d, const struct gp__entity *w,
		     const struct gp__entity *r, u64 now)
{
	if (is_patient(d, w) && w->prio == r->prio)
		return turn_end(r) <= now;
	return w->prio > r->prio;
}

static bool stays(const struct gp__dev *d, const struct gp__entity *r, u64 now)
{
	(void)now;
	if (weighs(d))
		return !is_patient(d, r) || fits_beside(d, r);
	return r->prio == leader(d)->prio;
}

/* An interrupted turn goes on. */
static void start(struct gp__entity *e, u64 now)
{
	struct state *state = (struct state *)e->policy_state;

	if (state->turn_end > now)
		return;
	state->turn_end = now + gp__policy_param(e->dev, QUANTUM_MS) * GP__MS;
}

/* Only patient entities of one priority take turns; the running one sorts last. A turn that is over
 * and did not end waits for the rate limit. */
static u64 next(const struct gp__dev *d)
{
	const struct gp__entity *r =
		container_of(gp__tree_last(&d->running), struct gp__entity, node);
	const struct gp__entity *w = gp__dev_first_waiting(d);

	if (!w || !is_patient(d, r) || w->prio != r->prio || turn_end(r) <= d->core->now)
		return GP__NEVER;
	return turn_end(r);
}

/* An entity that runs beside the policy's choice, by a grant or because it cannot be held, must not
 * yield to an entity that yields to it. */
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
 * All entities age at the same speed, so their order does not change: the key is the time at which
 * each would reach priority 0. A grant to one of an owner's entities makes the others start again.
 */
static s64 age_key(const struct gp__entity *e)
{
	return (s64)gp__entity_waits_since(e) - (s64)e->prio * (s64)age_ns(e->dev);
}

static u64 age_due(const struct gp__dev *d, const struct gp__entity *w)
{
	/* An entity that is urgent enough waits for the rate limit, not for its age. */
	if (!age_ns(d) || !d->running.count || w->prio >= leader(d)->prio)
		return GP__NEVER;
	return gp__time_add(gp__entity_waits_since(w),
			    (u64)(leader(d)->prio - w->prio) * age_ns(d));
}

static s32 effective(const struct gp__entity *e, u64 now)
{
	u64 step = age_ns(e->dev), since = gp__entity_waits_since(e);

	if (!step || !e->held || now < since)
		return e->prio;
	return e->prio + (s32)gp__min_u64((now - since) / step, GP__PRIO_LIMIT);
}

const struct gp__policy gp__policy_hpf = {
	.name = "hpf",
	.summary = "strict priority with ageing; equals run together",
	.params = params,
	.nr_params = sizeof(params) / sizeof(params[0]),
	.entity_bytes = sizeof(struct state),
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
