// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Whom the policy chooses, how often somebody may be stopped for it, and when a device looks again.
 *
 * settle() moves the policy's choice from a device's waiting set to its running set. An entity that
 * stays behind and was not stopped yet ("fresh") is stopped last. Places themselves are place.c's.
 */
#include "core/internal.h"

/* How many entities a settle asks to note the passing of time, beside the first ones. */
#define REFRESH_BATCH 2

/*
 * A bucket of switch_burst tokens, refilled at switches_per_s, kept as one time: tokens_at is when
 * the bucket would be full if nothing more were taken. All that one event stops costs one token, as
 * drivers stop many queues at once.
 */
static u64 token_ns(const struct gp__core *c)
{
	u64 rate = c->cfg[GP__CFG_SWITCHES_PER_S];

	return rate ? GP__S / rate : 0;
}

void gp__dev_limit_debt(struct gp__dev *d, u64 now)
{
	const struct gp__core *c = d->core;
	u64 empty = now + c->cfg[GP__CFG_SWITCH_BURST] * token_ns(c);

	if (guard(TOKEN_BOUND, d->tokens_at > empty))
		d->tokens_at = empty;
}

static u64 token_due(const struct gp__dev *d)
{
	const struct gp__core *c = d->core;
	u64 slack = (c->cfg[GP__CFG_SWITCH_BURST] - 1) * token_ns(c);

	return d->tokens_at > slack ? d->tokens_at - slack : 0;
}

static bool has_token(struct gp__dev *d, u64 now)
{
	if (d->paid_event == d->core->nr_events || !guard(SWITCH_RATE, token_due(d) > now))
		return true;
	d->denied = true;
	return false;
}

static bool may_switch(struct gp__dev *d, u64 now)
{
	if (!has_token(d, now))
		return false;
	if (d->paid_event == d->core->nr_events)
		return true;
	d->tokens_at = gp__max_u64(d->tokens_at, now) + token_ns(d->core);
	d->paid_event = d->core->nr_events;
	d->nr_switches++;
	return true;
}

static void start_running(struct gp__entity *w, u64 now)
{
	const struct gp__policy *p = gp__policy_of(w->dev);

	gp__entity_move(w, GP__PLACE_RUNNING);
	if (p->start)
		p->start(w, now);
	gp__entity_release(w, gp__why(GP__RULE_CHOSEN, 0), now);
	gp__entity_arm(w, now);
}

static void stop_waiting(struct gp__entity *e, const struct gp__entity *by, u64 now)
{
	u8 rule = gp__policy_of(e->dev)->preempt_rule;

	/* Equals by priority are stopped for nothing but another's turn. */
	if (rule == GP__RULE_PRIORITY && by && by->prio == e->prio)
		rule = GP__RULE_SLICE;
	gp__entity_hold(e, gp__why(rule, gp__id_of(by)), now);
	/* It may have run until now, because the rate limit forbade to stop it. */
	gp__entity_rekey(e);
	gp__entity_start_ageing(e);
	gp__entity_arm(e, now);
}

/* What would become of @e if it waited now. */
enum outlook { WAITS, JOINS, REPLACES };

static enum outlook outlook(const struct gp__dev *d, const struct gp__entity *e, u64 now)
{
	const struct gp__policy *p = gp__policy_of(d);
	const struct gp__entity *r = gp__last_running(d);

	if (!r || p->fits(d, e, now))
		return JOINS;
	return p->preempts(d, e, r, now) ? REPLACES : WAITS;
}

/* A device that must wait for its rate limit would not, and looks again when it may. */
bool gp__dev_would_run(struct gp__dev *d, const struct gp__entity *e, u64 now)
{
	enum outlook o = outlook(d, e, now);

	if (o != REPLACES)
		return o == JOINS;
	if (gp__list_empty(&d->touched_link))
		gp__list_push(&d->core->touched, &d->touched_link);
	return !guard(GANG_RATE, !has_token(d, now));
}

/* Each step moves one entity for good; the bound is for a policy that contradicts itself. */
static void choose(struct gp__dev *d, u64 now)
{
	const struct gp__policy *p = gp__policy_of(d);
	u32 steps = 2 * (d->running.count + d->waiting.count);

	while (d->waiting.count && steps--) {
		struct gp__entity *w = gp__first_waiting(d), *r = gp__last_running(d);

		if (guard(SOMEBODY_RUNS, !r) || (r && p->fits(d, w, now))) {
			start_running(w, now);
			continue;
		}
		if (!r || !p->preempts(d, w, r, now) || !may_switch(d, now))
			return;
		if (r->prio < w->prio)
			d->nr_inversions++;
		gp__entity_move(r, GP__PLACE_WAITING);
		stop_waiting(r, w, now);
	}
}

/* Those who may not go on beside the others any more: the least urgent first. */
static void shed(struct gp__dev *d, u64 now)
{
	const struct gp__policy *p = gp__policy_of(d);
	struct gp__entity *r;

	if (!p->stays)
		return;
	while (d->running.count > 1 && (r = gp__last_running(d)) && !p->stays(d, r, now)) {
		if (!may_switch(d, now))
			return;
		gp__entity_move(r, GP__PLACE_WAITING);
		stop_waiting(r, gp__first_running(d), now);
	}
}

/* Whoever would run if it had work is no longer held for having none. */
static void free_dormant(struct gp__dev *d, u64 now)
{
	while (d->dormant.first) {
		struct gp__entity *e = gp__entity_of(d->dormant.first);

		if (!guard(DORMANT_FREED, outlook(d, e, now) != WAITS))
			return;
		gp__entity_leave(e);
		gp__entity_update(e, now);
	}
}

static void stop_fresh(struct gp__dev *d, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &d->fresh)
	{
		if (!may_switch(d, now))
			return;
		stop_waiting(container_of(l, struct gp__entity, fresh_link), gp__first_running(d),
			     now);
	}
}

/* The first in the order of ageing that waits for its age, and not for its turn. */
static struct gp__entity *next_aged(const struct gp__dev *d)
{
	const struct gp__policy *p = gp__policy_of(d);
	struct gp__node *n;

	for (n = d->ageing.first; n; n = gp__tree_next(n)) {
		struct gp__entity *e = container_of(n, struct gp__entity, age);

		if (p->age_due(d, e) < GP__NEVER)
			return e;
	}
	return NULL;
}

static void grant_aged(struct gp__dev *d, u64 now)
{
	const struct gp__policy *p = gp__policy_of(d);
	struct gp__entity *w;

	while ((w = next_aged(d)) && guard(AGEING, p->age_due(d, w) <= now))
		gp__entity_give_grant(w, GP__RULE_AGEING, now);
}

static bool refresh_one(struct gp__entity *e, u64 now)
{
	if (!e || !gp__policy_of(e->dev)->refresh(e, now))
		return false;
	gp__entity_rekey(e);
	return true;
}

static void refresh(struct gp__dev *d, u64 now)
{
	int i;

	if (!gp__policy_of(d)->refresh)
		return;
	while (refresh_one(gp__first_running(d), now))
		;
	while (refresh_one(gp__first_waiting(d), now))
		;
	while (refresh_one(gp__entity_of(d->dormant.first), now))
		;
	for (i = 0; i < REFRESH_BATCH && !gp__list_empty(&d->members); i++) {
		struct gp__entity *e = container_of(d->members.next, struct gp__entity, dev_link);

		gp__list_del(&e->dev_link);
		gp__list_push(&d->members, &e->dev_link);
		refresh_one(e, now);
	}
}

bool gp__dev_inversion(const struct gp__dev *d, const struct gp__entity **waiting,
		       const struct gp__entity **running)
{
	const struct gp__entity *top = gp__first_running(d), *low = NULL;
	const struct gp__link *l;

	for (l = d->apart.next; l != &d->apart; l = l->next) {
		const struct gp__entity *e = container_of(l, struct gp__entity, apart_link);

		if (e->on && (!low || e->prio < low->prio))
			low = e;
	}
	for (l = d->fresh.next; l != &d->fresh; l = l->next) {
		const struct gp__entity *e = container_of(l, struct gp__entity, fresh_link);

		if (!low || e->prio < low->prio)
			low = e;
	}
	*waiting = top;
	*running = low;
	return top && low && top->prio > low->prio;
}

/* An inversion that cannot be resolved is said once, until the entity recovers. */
static void report_inversions(struct gp__dev *d, u64 now)
{
	const struct gp__entity *top = gp__first_running(d);

	while (top && d->suspects.first && d->suspects.first->key < top->prio) {
		struct gp__entity *e = gp__entity_of(d->suspects.first);

		gp__tree_erase(&d->suspects, &e->node);
		e->inversion_reported = guard(REPORT_ONCE, true);
		gp__log_entity(e, GP__WHAT_INVERSION, top->id, now);
	}
}

static void settle(struct gp__dev *d, u64 now)
{
	d->denied = false;
	gp__dev_catch_up(d, now);
	refresh(d, now);
	choose(d, now);
	shed(d, now);
	free_dormant(d, now);
	if (d->ageing.count)
		grant_aged(d, now);
	stop_fresh(d, now);
	report_inversions(d, now);
}

static void renew_turns(struct gp__dev *d, u64 now)
{
	const struct gp__policy *p = gp__policy_of(d);
	struct gp__node *n;

	if (!gp__dev_takes_turns(d))
		return;
	for (n = d->running.first; n; n = gp__tree_next(n)) {
		struct gp__entity *e = gp__entity_of(n);

		if (e->slice_end <= now)
			p->start(e, now);
	}
}

static u64 dev_due(const struct gp__dev *d)
{
	const struct gp__policy *p = gp__policy_of(d);
	const struct gp__entity *aged = next_aged(d);
	u64 due = GP__NEVER;

	if (d->denied)
		due = token_due(d);
	if (p->next && gp__dev_somebody_waits(d) && d->running.count)
		due = gp__min_u64(due, p->next(d));
	if (guard(AGEING, aged != NULL))
		due = gp__min_u64(due, p->age_due(d, aged));
	return due;
}

/* Gangs have had their say: turns that nobody ended begin anew, and the device sleeps until
 * something can change. */
static void finish(struct gp__dev *d, u64 now)
{
	renew_turns(d, now);
	gp__arm(&d->core->dev_timers, &d->timer, dev_due(d), now);
}

void gp__core_settle(struct gp__core *c, u64 now)
{
	struct gp__dev *d;

	do {
		while (!gp__list_empty(&c->dirty)) {
			d = container_of(c->dirty.next, struct gp__dev, dirty_link);
			gp__list_del(&d->dirty_link);
			settle(d, now);
		}
	} while (gp__gangs_settle(c, now));
	while (!gp__list_empty(&c->touched)) {
		d = container_of(c->touched.next, struct gp__dev, touched_link);
		gp__list_del(&d->touched_link);
		finish(d, now);
	}
	gp__core_tell(c, now);
}
