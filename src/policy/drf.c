// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * drf: dominant resource fairness over GPU time and memory. The dominant share of an entity is the
 * larger of its recent share of GPU time and its share of the memory, divided by its weight; the
 * entity with the smallest is next. So a program that fills the memory gets less GPU time.
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

struct state {
	struct gp__turn turn;
	u64 recent; /* GPU time, decayed, as of recent_at */
	u64 recent_at;
};

static const struct state *state_of(const struct gp__entity *e)
{
	return (const struct state *)e->policy_state;
}

static u64 window(const struct gp__dev *d)
{
	return gp__policy_param(d, WINDOW_MS) * GP__MS;
}

/* Time decays in steps of an eighth of a half-life, so that the result does not depend on how often
 * it is computed. */
static u64 steps(const struct gp__entity *e, u64 now)
{
	u64 step = window(e->dev) / 8;

	return now / step - state_of(e)->recent_at / step;
}

static u64 decayed(const struct gp__entity *e, u64 now)
{
	/* 2^-(i/8) in 1/65536 */
	static const u32 eighths[8] = { 65536, 60097, 55109, 50535, 46341, 42495, 38968, 35734 };
	u64 n = steps(e, now), halved = n / 8 < 63 ? state_of(e)->recent >> n / 8 : 0;

	return halved * eighths[n % 8] >> 16;
}

/*
 * In steady state an entity that always runs has window / ln 2 of recent time. That is the most an
 * entity can have, however long it ran between two charges.
 */
static void remember(struct gp__entity *e, u64 recent, u64 now)
{
	struct state *state = (struct state *)e->policy_state;
	u64 most = window(e->dev) / 1000 * 1443;

	state->recent = guard(DRF_BOUND, recent > most) ? most : recent;
	state->recent_at = now;
}

static u64 time_share(const struct gp__entity *e)
{
	return state_of(e)->recent / 1443 * PPM / (window(e->dev) / 1000);
}

static u64 memory_share(const struct gp__entity *e)
{
	u64 total = e->dev->memory >> 20, used = e->hints.memory >> 20;

	return total ? gp__min_u64(used, total) * PPM / total : 0;
}

static s64 key(const struct gp__entity *e)
{
	u32 weight = e->hints.weight ? e->hints.weight : WEIGHT_DEFAULT;

	return (s64)(gp__max_u64(time_share(e), memory_share(e)) * WEIGHT_DEFAULT / weight);
}

static void charge(struct gp__entity *e, u64 used, u64 now)
{
	remember(e, decayed(e, now) + used, now);
}

static bool refresh(struct gp__entity *e, u64 now)
{
	s64 old = key(e);

	if (!guard(DRF_REFRESH, steps(e, now) != 0))
		return false;
	remember(e, decayed(e, now), now);
	return key(e) != old;
}

static bool preempts(const struct gp__dev *d, const struct gp__entity *w,
		     const struct gp__entity *r, u64 now)
{
	(void)d;
	return gp__turns_over(r, now) && key(w) <= key(r);
}

const struct gp__policy gp__policy_drf = {
	.name = "drf",
	.summary = "fair by the dominant of GPU time and memory, in turns",
	.params = params,
	.nr_params = sizeof(params) / sizeof(params[0]),
	.entity_bytes = sizeof(struct state),
	.key = key,
	.fits = gp__turns_fits,
	.preempts = preempts,
	.preempt_rule = GP__RULE_SLICE,
	.charge = charge,
	.start = gp__turns_start,
	.go_on = gp__turns_go_on,
	.next = gp__turns_next,
	.refresh = refresh,
};
