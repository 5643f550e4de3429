// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Builds the records of the log. Without a log it costs nothing. */
#include "core/internal.h"

static void emit(struct gp__core *c, struct gp__record *r, enum gp__what what, u32 dev, u32 entity,
		 u64 now)
{
	r->time = now;
	r->what = (u8)what;
	r->dev = dev;
	r->entity = entity;
	c->log(c->log_ctx, r);
}

void gp__log_simple(struct gp__core *c, enum gp__what what, u64 now)
{
	struct gp__record r = { 0 };

	if (c->log)
		emit(c, &r, what, GP__NOBODY, GP__NOBODY, now);
}

void gp__log_config(struct gp__core *c, u32 param, u64 now)
{
	struct gp__record r = { .params = &gp__core_params[param],
				.values = &c->cfg[param],
				.nr_params = 1 };

	if (c->log)
		emit(c, &r, GP__WHAT_CONFIG, GP__NOBODY, GP__NOBODY, now);
}

void gp__log_policy(struct gp__core *c, u64 now)
{
	const struct gp__policy *p = c->policy;
	struct gp__record r = {
		.text = p->name, .params = p->params, .values = c->params, .nr_params = p->nr_params
	};

	if (c->log)
		emit(c, &r, GP__WHAT_POLICY, GP__NOBODY, GP__NOBODY, now);
}

void gp__log_dev(struct gp__dev *d, enum gp__what what, u64 now)
{
	struct gp__record r = { 0 };

	if (!d->core->log)
		return;
	r.f[GP__F_MEMORY] = (s64)d->memory;
	r.f[GP__F_CAN_WEIGH] = d->can_weigh;
	emit(d->core, &r, what, d->id, GP__NOBODY, now);
}

void gp__log_entity(struct gp__entity *e, enum gp__what what, u64 value, u64 now)
{
	const struct gp__hints *h = &e->hints;
	struct gp__record r = { 0 };

	if (!e->dev->core->log)
		return;
	r.f[GP__F_PROCESS] = e->process;
	r.f[GP__F_CLASS] = e->class;
	r.f[GP__F_PRIO] = h->prio;
	r.f[GP__F_WEIGHT] = h->weight;
	r.f[GP__F_SHARE] = h->share_pct;
	r.f[GP__F_MIN_SHARE] = h->min_share_pct;
	r.f[GP__F_DEADLINE] = (s64)h->deadline_ns;
	r.f[GP__F_MAX_HOLD] = (s64)h->max_hold_ns;
	r.f[GP__F_MEMORY] = (s64)h->memory;
	r.f[GP__F_USER] = e->owner->id;
	r.f[GP__F_AT] = r.f[GP__F_BY] = r.f[GP__F_NS] = r.f[GP__F_FROM] = (s64)value;
	r.text = e->tag;
	emit(e->dev->core, &r, what, e->dev->id, e->id, now);
}

void gp__log_queue(struct gp__queue *q, enum gp__what what, s64 value, u64 now)
{
	struct gp__entity *e = q->entity;
	struct gp__record r = { 0 };

	if (!e->dev->core->log)
		return;
	r.f[GP__F_QUEUE] = q->id;
	r.f[GP__F_REQUESTED] = q->level_requested;
	r.f[GP__F_LEVEL] = q->level;
	r.f[GP__F_PENDING] = r.f[GP__F_RESULT] = r.f[GP__F_WEIGHT] = value;
	r.f[GP__F_WHY] = q->why.rule;
	r.f[GP__F_BY] = q->why.by;
	emit(e->dev->core, &r, what, e->dev->id, e->id, now);
}

void gp__log_idle(struct gp__queue *q, u64 since, u64 sees, u64 now)
{
	struct gp__entity *e = q->entity;
	struct gp__record r = { 0 };

	if (!e->dev->core->log)
		return;
	r.f[GP__F_QUEUE] = q->id;
	r.f[GP__F_SINCE] = (s64)since;
	r.f[GP__F_SEES] = (s64)sees;
	emit(e->dev->core, &r, GP__WHAT_IDLE, e->dev->id, e->id, now);
}

void gp__log_gang(struct gp__gang *g, const struct gp__entity *e, enum gp__what what, u64 now)
{
	struct gp__record r = { 0 };

	if (!g->core->log)
		return;
	r.f[GP__F_GANG] = g->id;
	r.f[GP__F_MAX_HOLD] = (s64)g->max_hold_ns;
	emit(g->core, &r, what, e ? e->dev->id : GP__NOBODY, e ? e->id : GP__NOBODY, now);
}
