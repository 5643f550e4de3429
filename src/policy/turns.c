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

static struct gp__vtime_dev *vtime_dev(struct gp__dev *d)
{
	return (struct gp__vtime_dev *)d->policy_state;
}

u64 gp__turns_quantum(const struct gp__dev *d)
{
	return gp__policy_param(d, GP__TURNS_QUANTUM_MS) * GP__MS;
}

static u64 credit_ns(const struct gp__dev *d)
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

bool gp__turns_vtime_preempts(const struct gp__dev *d, const struct gp__entity *w,
			      const struct gp__entity *r, u64 now)
{
	/* Equals take turns, too: with < a turn would last twice as long. */
	if (gp__turns_over(r, now))
		return vtime(w) <= vtime(r);
	/* It has just got work, and has credit. */
	return guard(WAKE_UP, vtime(w) + gp__turns_quantum(d) < vtime(r));
}

/* An entity that had no work for long is behind the others by its credit; a new one has none. */
void gp__turns_vtime_wakeup(struct gp__entity *e,
			    u64 (*virtual)(const struct gp__entity *e, u64 ns))
{
	struct gp__vtime *state = gp__vtime_of(e);
	u64 floor = vtime_dev(e->dev)->floor, credit = virtual(e, credit_ns(e->dev));

	if (guard(CREDIT_EARNED, !state->ns))
		credit = 0;
	if (guard(VTIME_FLOOR, state->ns + credit < floor))
		state->ns = floor - credit;
}

void gp__turns_vtime_charged(struct gp__dev *d)
{
	struct gp__vtime_dev *state = vtime_dev(d);
	u64 floor = GP__NEVER;

	if (d->running.first)
		floor = vtime(container_of(d->running.first, struct gp__entity, node));
	if (d->waiting.first)
		floor = gp__min_u64(floor,
				    vtime(container_of(d->waiting.first, struct gp__entity, node)));
	if (floor != GP__NEVER)
		state->floor = gp__max_u64(state->floor, floor);
}
