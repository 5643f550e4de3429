// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * drf: dominant resource fairness over GPU time and memory. The dominant share of an entity is the
 * larger of its recent share of GPU time and its share of the memory, divided by its weight; that
 * of an owner is the larger of the sums. The owner with the smallest is next, and of its entities
 * the one with the smallest. So a program that fills the memory gets less GPU time, and one that
 * has used little lately, such as a server between two requests, need not wait for its turn.
 *
 * GPU time used decays with a half-life of window_ms. Each event updates a few of the waiting
 * entities in turn, so with very many the order lags behind a little.
 *
 * Wrong choice if memory is not contended: it is fair with more arithmetic then. Wrong for few
 * large programs: one whose share of memory exceeds the fair share of time only gets its
 * guarantees.
 */
#include "core/guard.h"
#include "policy/turns.h"

enum { WINDOW_MS = GP__TURNS_PARAMS };

static const struct gp__param params[] = {
	GP__TURNS_PARAM_TABLE,
	[WINDOW_MS] = { "window_ms", 10, 600000, 1000, "half-life of the memory of GPU time used" },
};

#define WEIGHT_DEFAULT 100
#define PPM 1000000

/* GPU time, decayed, as of a time. */
struct recent {
	u64 ns;
	u64 at;
};

struct state {
	struct gp__turn turn;
	struct recent recent;
};

static struct recent *recent_of(struct gp__entity *e)
{
	return &((struct state *)e->policy_state)->recent;
}

/* Each entity's time is divided by its weight. */
static struct recent *owner_recent(struct gp__owner *o)
{
	return (struct recent *)o->policy_state;
}

static u64 weighed(const struct gp__entity *e, u64 value)
{
	return value * WEIGHT_DEFAULT / (e->hints.weight ? e->hints.weight : WEIGHT_DEFAULT);
}

static u64 window(const struct gp__dev *d)
{
	return gp__policy_param(d, WINDOW_MS) * GP__MS;
}

/* Time decays in steps of an eighth of a half-life, so that the result does not depend on how often
 * it is computed. */
static u64 steps(const struct gp__dev *d, const struct recent *r, u64 now)
{
	u64 step = window(d) / 8;

	return now / step - r->at / step;
}

static void decay(const struct gp__dev *d, struct recent *r, u64 now)
{
	/* 2^-(i/8) in 1/65536 */
	static const u32 eighths[8] = { 65536, 60097, 55109, 50535, 46341, 42495, 38968, 35734 };
	u64 n = steps(d, r, now), halved = n / 8 < 63 ? r->ns >> n / 8 : 0;

	r->ns = halved * eighths[n % 8] >> 16;
	r->at = now;
}

/*
 * In steady state an entity that always runs has window / ln 2 of recent time. That is the most an
 * entity can have, however long it ran between two charges.
 */
static u64 most(const struct gp__dev *d)
{
	return window(d) / 1000 * 1443;
}

static void add(const struct gp__dev *d, struct recent *r, u64 used, u64 limit, u64 now)
{
	decay(d, r, now);
	if (guard(DRF_BOUND, r->ns + used > limit))
		r->ns = gp__max_u64(r->ns, limit);
	else
		r->ns += used;
}

static u64 time_share(const struct gp__dev *d, const struct recent *r)
{
	return r->ns / 1443 * PPM / (window(d) / 1000);
}

static u64 memory_share(const struct gp__dev *d, u64 used_mib)
{
	u64 total = d->memory >> 20;

	return total ? used_mib * PPM / total : 0;
}

static s64 key(const struct gp__entity *e)
{
	const struct gp__dev *d = e->dev;
	const struct recent *r = &((const struct state *)e->policy_state)->recent;
	u64 memory = gp__min_u64(e->hints.memory, d->memory) >> 20;

	return (s64)weighed(e, gp__max_u64(time_share(d, r), memory_share(d, memory)));
}

static s64 owner_key(const struct gp__owner *o)
{
	const struct recent *r = (const struct recent *)o->policy_state;

	return (s64)gp__max_u64(time_share(o->dev, r), memory_share(o->dev, o->memory_mib));
}

static void charge(struct gp__entity *e, u64 used, u64 now)
{
	const struct gp__dev *d = e->dev;

	used = gp__min_u64(used, GP__TIME_END / WEIGHT_DEFAULT);
	add(d, recent_of(e), used, most(d), now);
	add(d, owner_recent(e->owner), weighed(e, used), weighed(e, most(d)), now);
}

static bool refresh(struct gp__entity *e, u64 now)
{
	const struct gp__dev *d = e->dev;
	s64 old = key(e), owner_old = owner_key(e->owner);

	if (guard(DRF_REFRESH, steps(d, recent_of(e), now) != 0))
		decay(d, recent_of(e), now);
	if (guard(DRF_REFRESH, steps(d, owner_recent(e->owner), now) != 0))
		decay(d, owner_recent(e->owner), now);
	return key(e) != old || owner_key(e->owner) != owner_old;
}

/* The part that a turn adds to the dominant share of an entity. */
static s64 turn_share(const struct gp__dev *d)
{
	const struct recent turn = { .ns = gp__turns_quantum(d) };

	return (s64)time_share(d, &turn);
}

static bool preempts(const struct gp__dev *d, const struct gp__entity *w,
		     const struct gp__entity *r, u64 now)
{
	bool is_own = w->owner == r->owner;
	s64 waits = is_own ? key(w) : owner_key(w->owner);
	s64 runs = is_own ? key(r) : owner_key(r->owner);

	if (gp__turns_over(r, now))
		return waits <= runs;
	/* It has just got work, and has used little lately. */
	return guard(WAKE_UP, waits + turn_share(d) < runs);
}

const struct gp__policy gp__policy_drf = {
	.name = "drf",
	.summary = "fair by the dominant of GPU time and memory, in turns",
	.params = params,
	.nr_params = sizeof(params) / sizeof(params[0]),
	.entity_bytes = sizeof(struct state),
	.owner_bytes = sizeof(struct recent),
	.key = key,
	.owner_key = owner_key,
	.fits = gp__turns_fits,
	.preempts = preempts,
	.preempt_rule = GP__RULE_SLICE,
	.charge = charge,
	.start = gp__turns_start,
	.go_on = gp__turns_go_on,
	.next = gp__turns_next,
	.refresh = refresh,
};
