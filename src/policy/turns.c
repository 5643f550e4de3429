// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "policy/turns.h"
#include "core/guard.h"

u64 gp__turns_quantum(const struct gp__dev *d)
{
	return gp__policy_param(d, GP__TURNS_QUANTUM_MS) * GP__MS;
}

bool gp__turns_fits(const struct gp__dev *d, const struct gp__entity *w, u64 now)
{
	(void)w;
	(void)now;
	return d->running.count < gp__policy_param(d, GP__TURNS_WIDTH);
}

void gp__turns_start(struct gp__entity *e, u64 now)
{
	e->slice_end = now + gp__turns_quantum(e->dev);
}

u64 gp__turns_next(const struct gp__dev *d)
{
	const struct gp__node *n;
	u64 due = GP__NEVER;

	/* Where the device weighs, any number run and there are no turns to end. */
	if (d->running.count > GP__TURNS_MAX)
		return GP__NEVER;
	for (n = d->running.first; n; n = gp__tree_next(n))
		due = gp__min_u64(due, container_of(n, struct gp__entity, node)->slice_end);
	return due;
}

s64 gp__turns_vtime_key(const struct gp__entity *e)
{
	return (s64)e->vtime;
}

bool gp__turns_vtime_preempts(const struct gp__dev *d, const struct gp__entity *w,
			      const struct gp__entity *r, u64 now)
{
	/* Equals change places when a turn is over, or turns would last twice as long. */
	if (r->slice_end <= now)
		return w->vtime <= r->vtime;
	return w->vtime + gp__turns_quantum(d) < r->vtime;
}

/* Having slept is no reason to run for long afterwards: one turn ahead of the others is the most it
 * is worth. */
void gp__turns_vtime_wakeup(struct gp__entity *e, u64 now)
{
	u64 lead = gp__turns_quantum(e->dev), floor = e->dev->vfloor;

	(void)now;
	floor = floor > lead ? floor - lead : 0;
	if (guard(VTIME_FLOOR, e->vtime < floor))
		e->vtime = floor;
}
