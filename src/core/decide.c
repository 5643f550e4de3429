// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Decisions: carries out the policy's choice within the switch rate, and says when a device must
 * be settled again.
 *
 * settle() moves the policy's choice from a device's waiting set to its running set. Entities that
 * stay in the waiting set and are not held yet ("fresh") are held last. place.c owns the places.
 */
#include "core/internal.h"

/* How many entities a settle refreshes, beside the first ones of each set. */
#define REFRESH_BATCH 2

/* Holds take at most this part of a device's time, in the long run. */
#define HOLDING_PART 4

/*
 * A bucket of switch_burst tokens, refilled at switches_per_s or, where holds are slow, at the rate
 * that they allow. It is kept as one time: tokens_at is when the bucket would be full if nothing
 * more were taken. All holds of one event cost one token, because drivers hold many queues at once.
 */
static u64 token_ns(const struct gp__dev *d)
{
	u64 rate = d->core->cfg[GP__CFG_SWITCHES_PER_S];
	u64 slow = guard(SWITCH_COST, true) ? HOLDING_PART * d->hold_ns : 0;

	return rate ? gp__max_u64(GP__S / rate, slow) : 0;
}

void gp__dev_limit_debt(struct gp__dev *d, u64 now)
{
	u64 empty = now + d->core->cfg[GP__CFG_SWITCH_BURST] * token_ns(d);

	if (guard(TOKEN_BOUND, d->tokens_at > empty))
		d->tokens_at = empty;
}

static u64 token_due(const struct gp__dev *d)
{
	u64 slack = (d->core->cfg[GP__CFG_SWITCH_BURST] - 1) * token_ns(d);

	return d->tokens_at > slack ? d->tokens_at - slack : 0;
}

static bool has_token(struct gp__dev *d, u64 now)
{
	/* The price may have fallen. */
	gp__dev_limit_debt(d, now);
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
	d->tokens_at = gp__max_u64(d->tokens_at, now) + token_ns(d);
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

/* It keeps its place among those that wait, but runs there. */
static bool is_exempt(const struct gp__entity *e)
{
	return guard(EXEMPT_RUNS, e->exempt == GP__EXEMPT_HOLDS);
}

static void hold_waiting(struct gp__entity *e, const struct gp__entity *by, u64 now)
{
	u8 rule = gp__policy_of(e->dev)->preempt_rule;

	if (is_exempt(e)) {
		gp__entity_arm(e, now);
		return;
	}
	/* An entity of equal priority is only held for another's turn. */
	if (rule == GP__RULE_PRIORITY && by && by->prio == e->prio)
		rule = GP__RULE_SLICE;
	gp__entity_hold(e, gp__why(rule, gp__id_of(by)), now);
	/* It may have run until now, because the rate limit did not allow the hold. */
	gp__entity_rekey(e);
	gp__entity_start_ageing(e);
	gp__entity_arm(e, now);
}

/* The result of choosing among the running entities and @e. */
enum outlook { WAITS, JOINS, REPLACES };

static enum outlook outlook(const struct gp__dev *d, const struct gp__entity *e, u64 now)
{
	const struct gp__policy *p = gp__policy_of(d);
	const struct gp__entity *r = gp__last_running(d);

	if (!r || p->fits(d, e, now))
		return JOINS;
	return p->preempts(d, e, r, now) ? REPLACES : WAITS;
}

/* False also if the rate limit does not allow it yet; the device is settled again when it does. */
bool gp__dev_would_run(struct gp__dev *d, const struct gp__entity *e, u64 now)
{
	enum outlook o = outlook(d, e, now);

	if (o != REPLACES)
		return o == JOINS;
	if (gp__list_empty(&d->touched_link))
		gp__list_push(&d->core->touched, &d->touched_link);
	return !guard(GANG_RATE, !has_token(d, now));
}

/* Whether @r may be held now. Letting it run costs no switch. */
static bool may_replace(struct gp__dev *d, const struct gp__entity *r, u64 now)
{
	return guard(EXEMPT_FREE, is_exempt(r)) || may_switch(d, now);
}

/* Each step moves one entity. The bound ends the loop if a policy contradicts itself. */
static void choose(struct gp__dev *d, u64 now)
{
	const struct gp__policy *p = gp__policy_of(d);
	u32 steps = 2 * (d->running.count + d->nr_waiting);

	while (d->nr_waiting && steps--) {
		struct gp__entity *w = gp__dev_first_waiting(d), *r = gp__last_running(d);

		if (guard(SOMEBODY_RUNS, !r) || (r && p->fits(d, w, now))) {
			start_running(w, now);
			continue;
		}
		if (!r || !p->preempts(d, w, r, now) || !may_replace(d, r, now))
			return;
		if (r->prio < w->prio)
			d->nr_inversions++;
		gp__entity_move(r, GP__PLACE_WAITING);
		hold_waiting(r, w, now);
	}
}

/* Holds running entities that may not run beside the others any more, the least urgent first. */
static void shed(struct gp__dev *d, u64 now)
{
	const struct gp__policy *p = gp__policy_of(d);
	struct gp__entity *r;

	if (!p->stays)
		return;
	while (d->running.count > 1 && (r = gp__last_running(d)) && !p->stays(d, r, now)) {
		if (!may_replace(d, r, now))
			return;
		gp__entity_move(r, GP__PLACE_WAITING);
		hold_waiting(r, gp__first_running(d), now);
	}
}

/* Releases dormant entities that would run if they had work. */
static void release_dormant(struct gp__dev *d, u64 now)
{
	while (d->dormant.first) {
		struct gp__entity *e = gp__entity_of(d->dormant.first);

		if (!guard(DORMANT_FREED, outlook(d, e, now) != WAITS))
			return;
		gp__entity_leave(e);
		gp__entity_update(e, now);
	}
}

static void hold_fresh(struct gp__dev *d, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &d->fresh)
	{
		struct gp__entity *e = container_of(l, struct gp__entity, fresh_link);

		if (is_exempt(e))
			continue;
		if (!may_switch(d, now))
			return;
		hold_waiting(e, gp__first_running(d), now);
	}
}

/* A grant to another entity of its owner puts it back. True: it moved. */
static bool resort_ageing(struct gp__dev *d, struct gp__entity *e)
{
	s64 key = gp__policy_of(d)->age_key(e);

	if (key == e->age.key)
		return false;
	gp__tree_erase(&d->ageing, &e->age);
	gp__tree_insert(&d->ageing, &e->age, key);
	return true;
}

/* The first in the order of ageing that waits for its age, not for its turn. */
static struct gp__entity *next_aged(struct gp__dev *d)
{
	const struct gp__policy *p = gp__policy_of(d);
	struct gp__node *n = d->ageing.first;

	while (n) {
		struct gp__entity *e = container_of(n, struct gp__entity, age);

		if (resort_ageing(d, e))
			n = d->ageing.first;
		else if (p->age_due(d, e) < GP__NEVER)
			return e;
		else
			n = gp__tree_next(n);
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
	gp__owner_rekey(e->owner);
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
	while (refresh_one(gp__dev_first_waiting(d), now))
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

/* Reports an inversion that cannot be resolved once, until the entity recovers. */
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
	gp__gangs_touch(d);
	gp__dev_catch_up(d, now);
	refresh(d, now);
	choose(d, now);
	shed(d, now);
	release_dormant(d, now);
	if (d->ageing.count)
		grant_aged(d, now);
	hold_fresh(d, now);
	report_inversions(d, now);
}

static void renew_turns(struct gp__dev *d, u64 now)
{
	const struct gp__policy *p = gp__policy_of(d);
	struct gp__node *n;

	if (!p->go_on || !gp__dev_takes_turns(d))
		return;
	for (n = d->running.first; n; n = gp__tree_next(n))
		p->go_on(gp__entity_of(n), now);
}

static u64 dev_due(struct gp__dev *d)
{
	const struct gp__policy *p = gp__policy_of(d);
	const struct gp__entity *aged = next_aged(d);
	u64 due = GP__NEVER;

	if (d->denied)
		due = token_due(d);
	if (p->next && gp__dev_has_waiting(d) && d->running.count)
		due = gp__min_u64(due, p->next(d));
	if (guard(AGEING, aged != NULL))
		due = gp__min_u64(due, p->age_due(d, aged));
	return due;
}

/* After gangs were settled: renews the turns that go on, and sets the timer of the device. */
static void finish(struct gp__dev *d, u64 now)
{
	renew_turns(d, now);
	gp__dev_count_waste(d, now);
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
