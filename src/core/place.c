// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The place of an entity on its device, and its timer.
 *
 * Every event about an entity ends in gp__entity_update(), which moves it to the place that follows
 * from its state. It never chooses: an entity that has work enters the waiting set, and decide.c
 * moves the policy's choice from there to the running set.
 */
#include "core/internal.h"

void gp__dev_dirty(struct gp__dev *d)
{
	if (gp__list_empty(&d->dirty_link))
		gp__list_push(&d->core->dirty, &d->dirty_link);
	if (gp__list_empty(&d->touched_link))
		gp__list_push(&d->core->touched, &d->touched_link);
}

/*
 * Timers
 */

void gp__arm(struct gp__tree *t, struct gp__node *n, u64 due, u64 now)
{
	bool never = due >= GP__TIME_END;
	/* Timers that are due now have just run: never ask to be woken in the past. */
	s64 key = never ? 0 : (s64)gp__max_u64(due, now + 1);

	if (gp__node_linked(n)) {
		if (!never && n->key == key)
			return;
		gp__tree_erase(t, n);
	}
	if (!never)
		gp__tree_insert(t, n, key);
}

/* Without a hold, beside others that work all the time, it may get nothing. */
static bool may_starve(const struct gp__entity *e)
{
	bool is_planned = e->place == GP__PLACE_RUNNING || e->place == GP__PLACE_WAITING;

	return guard(YIELDING_OWED, e->yields && is_planned);
}

/* Guarantees bound the holds of policies and gangs, not the operator's; an entity without work is
 * owed nothing. */
static bool is_hold_bounded(const struct gp__entity *e)
{
	if (!e->held || !gp__entity_active(e))
		return false;
	return e->place == GP__PLACE_WAITING ||
	       (e->place == GP__PLACE_BLOCKED && !gp__gang_stopped(e->gang));
}

/*
 * A grant spoils the work of the more urgent, and between two bursts it would spoil nothing: it
 * waits for the end of the burst, at which the entity is released and gets what it is owed, but not
 * for long.
 */
static u64 min_share_due(const struct gp__entity *e, u64 now)
{
	bool is_deferred = guard(DEFERRED, may_starve(e) || e->why.rule == GP__RULE_PRIORITY);
	u64 defer = e->dev->core->cfg[GP__CFG_DEFER_MS] * GP__MS;

	return gp__entity_owed_due(e, is_deferred ? defer : 0, now);
}

u64 gp__entity_grant_due(const struct gp__entity *e, u64 now)
{
	u64 due = GP__NEVER;

	if (guard(MAX_HOLD, e->held))
		due = gp__entity_hold_due(e);
	if (guard(MIN_SHARE, true))
		due = gp__min_u64(due, min_share_due(e, now));
	return due;
}

static u64 retry_due(const struct gp__entity *e)
{
	const struct gp__link *l;
	u64 due = GP__NEVER;

	for (l = e->queues.next; l != &e->queues; l = l->next) {
		const struct gp__queue *q = container_of(l, struct gp__queue, link);

		if (q->retry_at && q->doing == GP__VERB_NONE)
			due = gp__min_u64(due, q->retry_at);
	}
	return due;
}

/* The time until which announced work is waited for. */
static u64 expect_end(const struct gp__entity *e)
{
	return gp__time_add(e->expect_at, e->dev->core->cfg[GP__CFG_ARRIVE_GRACE_MS] * GP__MS);
}

static u64 entity_due(const struct gp__entity *e, u64 now)
{
	u64 due = retry_due(e);

	if (e->lingering)
		due = gp__min_u64(due, e->linger_end);
	due = gp__min_u64(due, gp__burst_due(e));
	if (e->expected)
		due = gp__min_u64(due, expect_end(e));
	else if (e->expect_from)
		due = gp__min_u64(due, e->expect_from);
	if (e->place == GP__PLACE_GRANTED)
		due = gp__min_u64(due, e->grant_end);
	if (!gp__entity_is_ripe(e) && (is_hold_bounded(e) || may_starve(e)))
		due = gp__min_u64(due, gp__entity_grant_due(e, now));
	return due;
}

void gp__entity_arm(struct gp__entity *e, u64 now)
{
	gp__arm(&e->dev->core->timers, &e->timer, entity_due(e, now), now);
}

static void retry_queues(struct gp__entity *e, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &e->queues)
	{
		struct gp__queue *q = container_of(l, struct gp__queue, link);

		if (!q->retry_at || q->retry_at > now)
			continue;
		q->retry_at = 0;
		if (guard(RELEASE_RETRY, true) || e->held)
			gp__queue_converge(q, gp__why(GP__RULE_RETRY, e->why.by), now);
	}
}

void gp__entity_give_grant(struct gp__entity *e, enum gp__rule rule, u64 now)
{
	u64 end = now + e->dev->core->cfg[GP__CFG_GRANT_MS] * GP__MS;

	if (e->place == GP__PLACE_BLOCKED) {
		e->ripe = (u8)rule;
		return;
	}
	gp__entity_note_grant(e, rule, now);
	gp__entity_grant(e, rule, end, now);
}

static void check_hold(struct gp__entity *e, u64 now)
{
	if (!is_hold_bounded(e) && !may_starve(e))
		return;
	if (guard(MAX_HOLD, e->held && gp__entity_hold_due(e) <= now)) {
		gp__entity_give_grant(e, GP__RULE_MAX_HOLD, now);
		return;
	}
	gp__entity_owe(e, now);
	if (guard(MIN_SHARE, min_share_due(e, now) <= now))
		gp__entity_give_grant(e, GP__RULE_MIN_SHARE, now);
}

/* A grant for the minimum share lasts until the entity got it, however many run beside it. */
static void check_grant(struct gp__entity *e, u64 now)
{
	if (e->place != GP__PLACE_GRANTED || now < e->grant_end)
		return;
	gp__entity_owe(e, now);
	if (e->why.rule == GP__RULE_MIN_SHARE && e->owed > 0)
		e->grant_end = now + gp__entity_owed_for(e);
	else if (guard(GRANT_ENDS, true))
		e->grant_end = 0;
}

void gp__entity_expect(struct gp__entity *e, bool expected, u64 now)
{
	struct gp__owner *o = e->owner;

	if (expected == e->expected)
		return;
	e->expected = expected;
	o->nr_expected += expected ? 1 : (u32)-1;
	if (expected && o->nr_expected == 1)
		o->expected_since = now;
}

bool gp__owner_is_doubted(const struct gp__owner *o, u64 now)
{
	return guard(EXPECT_DOUBT, now < o->doubt_until);
}

/*
 * Announced work does not arrive, is called off, or its entity goes. Further announcements of its
 * owner are ignored for as long as others were held for its entities. Entities that announce in
 * turn overlap once at most, because none is believed after the first miss.
 */
void gp__entity_give_up(struct gp__entity *e, u64 now)
{
	u64 grace = e->dev->core->cfg[GP__CFG_ARRIVE_GRACE_MS] * GP__MS;
	struct gp__owner *o = e->owner;

	if (guard(GIVEN_UP, e->expected && !e->nr_ready)) {
		o->doubt_until = now + gp__min_u64(now - o->expected_since, 4 * grace);
		o->doubted = e->id;
	}
	gp__entity_expect(e, false, now);
	e->announced &= e->nr_ready != 0;
}

/* It is time to make room, unless its owner is not believed any more. */
static void begin_expecting(struct gp__entity *e, u64 now)
{
	bool is_believed = !guard(DOUBT_AHEAD, gp__owner_is_doubted(e->owner, now));

	e->expect_from = 0;
	e->announced = now < expect_end(e) && is_believed;
	gp__entity_expect(e, e->announced, now);
}

static void entity_timer(struct gp__entity *e, u64 now)
{
	gp__burst_timer(e, now);
	if (e->expected && guard(EXPECT_ENDS, now >= expect_end(e)))
		gp__entity_give_up(e, now);
	if (e->expect_from && now >= e->expect_from)
		begin_expecting(e, now);
	check_grant(e, now);
	retry_queues(e, now);
	check_hold(e, now);
	gp__entity_update(e, now);
}

void gp__core_run_timers(struct gp__core *c, u64 now)
{
	gp__core_expire_acks(c, now);
	while (c->timers.first && (u64)c->timers.first->key <= now) {
		struct gp__entity *e = container_of(c->timers.first, struct gp__entity, timer);

		gp__tree_erase(&c->timers, &e->timer);
		entity_timer(e, now);
	}
	while (c->dev_timers.first && (u64)c->dev_timers.first->key <= now) {
		struct gp__dev *d = container_of(c->dev_timers.first, struct gp__dev, timer);

		gp__tree_erase(&c->dev_timers, &d->timer);
		gp__dev_dirty(d);
	}
}

/*
 * Places
 */

static bool sorts_owners(const struct gp__dev *d)
{
	return guard(OWNER_FIRST, gp__policy_of(d)->owner_key != NULL);
}

/* Owners are compared with each other, and within an owner its waiting entities. */
static s64 key_in(const struct gp__entity *e, enum gp__place place)
{
	const struct gp__policy *p = gp__policy_of(e->dev);

	if (sorts_owners(e->dev) && place != GP__PLACE_WAITING)
		return p->owner_key(e->owner);
	return p->key(e);
}

static struct gp__tree *line_of(const struct gp__entity *e)
{
	return sorts_owners(e->dev) ? &e->owner->waiting : &e->dev->waiting;
}

static void enter_line(struct gp__entity *e)
{
	const struct gp__policy *p = gp__policy_of(e->dev);
	struct gp__owner *o = e->owner;

	gp__tree_insert(line_of(e), &e->node, key_in(e, GP__PLACE_WAITING));
	e->dev->nr_waiting++;
	if (sorts_owners(e->dev) && !gp__node_linked(&o->node))
		gp__tree_insert(&e->dev->owners, &o->node, p->owner_key(o));
}

static void leave_line(struct gp__entity *e)
{
	struct gp__owner *o = e->owner;

	gp__tree_erase(line_of(e), &e->node);
	e->dev->nr_waiting--;
	if (gp__node_linked(&o->node) && !o->waiting.count)
		gp__tree_erase(&e->dev->owners, &o->node);
}

struct gp__entity *gp__dev_first_waiting(const struct gp__dev *d)
{
	if (!sorts_owners(d))
		return gp__entity_of(d->waiting.first);
	if (!d->owners.first)
		return NULL;
	return gp__entity_of(container_of(d->owners.first, struct gp__owner, node)->waiting.first);
}

/* Sorts the owner again, after the account of one of its entities or the time changed its key. */
void gp__owner_rekey(struct gp__owner *o)
{
	const struct gp__policy *p = gp__policy_of(o->dev);

	if (!gp__node_linked(&o->node) || p->owner_key(o) == o->node.key)
		return;
	gp__tree_erase(&o->dev->owners, &o->node);
	gp__tree_insert(&o->dev->owners, &o->node, p->owner_key(o));
}

void gp__entity_leave(struct gp__entity *e)
{
	struct gp__dev *d = e->dev;

	switch (e->place) {
	case GP__PLACE_RUNNING:
		gp__tree_erase(&d->running, &e->node);
		break;
	case GP__PLACE_WAITING:
		leave_line(e);
		if (gp__node_linked(&e->age))
			gp__tree_erase(&d->ageing, &e->age);
		gp__list_del(&e->fresh_link);
		break;
	case GP__PLACE_DORMANT:
		gp__tree_erase(&d->dormant, &e->node);
		break;
	case GP__PLACE_BLOCKED:
		d->nr_blocked--;
		break;
	case GP__PLACE_APART:
		gp__list_del(&e->apart_link);
		if (gp__node_linked(&e->node))
			gp__tree_erase(&d->suspects, &e->node);
		e->inversion_reported = false;
		break;
	}
	e->place = GP__PLACE_IDLE;
}

static void enter(struct gp__entity *e, enum gp__place place)
{
	struct gp__dev *d = e->dev;

	switch (place) {
	case GP__PLACE_RUNNING:
		gp__tree_insert(&d->running, &e->node, key_in(e, place));
		break;
	case GP__PLACE_WAITING:
		enter_line(e);
		if (!e->held)
			gp__list_push(&d->fresh, &e->fresh_link);
		break;
	case GP__PLACE_DORMANT:
		gp__tree_insert(&d->dormant, &e->node, key_in(e, place));
		break;
	case GP__PLACE_BLOCKED:
		d->nr_blocked++;
		break;
	case GP__PLACE_APART:
		gp__list_push(&d->apart, &e->apart_link);
		break;
	default:
		break;
	}
	e->place = (u8)place;
}

/* Entities with a grant, and those out of planning, have other weights than those in the plan. */
static bool is_weighed_apart(enum gp__place place)
{
	return place == GP__PLACE_GRANTED || place == GP__PLACE_APART;
}

void gp__entity_move(struct gp__entity *e, enum gp__place place)
{
	if (e->dev->can_weigh && is_weighed_apart(e->place) != is_weighed_apart(place))
		gp__entity_tell(e);
	gp__entity_leave(e);
	enter(e, place);
}

/* Ageing starts with the hold. */
void gp__entity_start_ageing(struct gp__entity *e)
{
	const struct gp__policy *p = gp__policy_of(e->dev);

	if (p->age_key && e->place == GP__PLACE_WAITING && e->held && !gp__node_linked(&e->age))
		gp__tree_insert(&e->dev->ageing, &e->age, p->age_key(e));
}

/* Sorts the entity again within its place, after its account or the time changed its key. */
void gp__entity_rekey(struct gp__entity *e)
{
	if (!gp__entity_keyed(e) || key_in(e, e->place) == e->node.key)
		return;
	gp__entity_move(e, e->place);
	gp__entity_start_ageing(e);
}

/* Members of a gang are never dormant: they are held together. */
static bool is_dormant(const struct gp__entity *e)
{
	bool waits = e->place == GP__PLACE_WAITING || e->place == GP__PLACE_DORMANT;

	return guard(DORMANT_STAYS, e->held && waits && !e->gang && !e->exempt);
}

static enum gp__place wanted_place(const struct gp__entity *e, u64 now)
{
	if (guard(OFF_WINS, e->dev->off))
		return GP__PLACE_APART;
	if (guard(FAULT_OUT_OF_PLAN, e->nr_faults != 0))
		return GP__PLACE_APART;
	if (guard(OBSERVED_RUNS, e->exempt == GP__EXEMPT_PLAN))
		return GP__PLACE_APART;
	if (guard(OPERATOR_WINS, e->suspended))
		return GP__PLACE_SUSPENDED;
	if (e->gang && e->gang->blocked)
		return GP__PLACE_BLOCKED;
	if (!gp__entity_active(e))
		return is_dormant(e) ? GP__PLACE_DORMANT : GP__PLACE_IDLE;
	if (e->gang && gp__gang_grants(e, now))
		return GP__PLACE_GRANTED;
	if (e->place == GP__PLACE_GRANTED && e->grant_end)
		return GP__PLACE_GRANTED;
	if (e->place == GP__PLACE_RUNNING || e->place == GP__PLACE_WAITING)
		return e->place;
	return GP__PLACE_WAITING;
}

/* It may have been held before it was exempt, or by the operator, or with its gang. */
static void release_exempt(struct gp__entity *e, u64 now)
{
	if (e->exempt != GP__EXEMPT_HOLDS || !e->held)
		return;
	gp__entity_release(e, gp__why(GP__RULE_OUT_OF_PLAN, 0), now);
	gp__list_push(&e->dev->fresh, &e->fresh_link);
}

/* Holds or releases the entity as its place demands; settle() holds waiting ones. */
static void enforce_place(struct gp__entity *e, u64 now)
{
	switch (e->place) {
	case GP__PLACE_WAITING:
		release_exempt(e, now);
		break;
	case GP__PLACE_SUSPENDED:
		gp__entity_hold(e, gp__why(GP__RULE_OPERATOR, 0), now);
		break;
	case GP__PLACE_APART:
		gp__entity_release(e, gp__why(e->dev->off ? GP__RULE_OFF : GP__RULE_OUT_OF_PLAN, 0),
				   now);
		break;
	case GP__PLACE_BLOCKED:
		gp__entity_hold(e, gp__why(GP__RULE_GANG, 0), now);
		break;
	case GP__PLACE_GRANTED:
		gp__entity_release(e, gp__why(GP__RULE_GANG, 0), now);
		break;
	case GP__PLACE_IDLE:
		gp__entity_release(e, gp__why(GP__RULE_IDLE, 0), now);
		break;
	}
}

/*
 * Few entities run at once where keys depend on the time used. Where more run, weighed by the
 * device, none is chosen by key, and no event may walk over all of them.
 */
bool gp__dev_takes_turns(const struct gp__dev *d)
{
	return gp__policy_of(d)->charge && d->running.count <= GP__TURNS_MAX;
}

static void charge_running(struct gp__dev *d, u64 now)
{
	struct gp__node *n, *next;

	if (!gp__dev_takes_turns(d))
		return;
	for (n = d->running.first; n; n = gp__tree_next(n))
		gp__entity_charge(gp__entity_of(n), now);
	for (n = d->running.first; n; n = next) {
		next = gp__tree_next(n);
		gp__entity_rekey(gp__entity_of(n));
	}
}

/* Charges the running entities before others are compared with them. */
void gp__dev_catch_up(struct gp__dev *d, u64 now)
{
	const struct gp__policy *p = gp__policy_of(d);

	charge_running(d, now);
	if (p->charged)
		p->charged(d);
}

static void wake_up(struct gp__entity *e, u64 now)
{
	const struct gp__policy *p = gp__policy_of(e->dev);

	if (!p->wakeup)
		return;
	gp__dev_catch_up(e->dev, now);
	p->wakeup(e, now);
}

void gp__entity_set_awake(struct gp__entity *e, bool awake)
{
	struct gp__owner *o = e->owner;

	if (awake == e->awake)
		return;
	e->awake = awake;
	e->dev->nr_awake_owners -= o->nr_awake != 0;
	e->dev->nr_awake += awake ? 1 : (u32)-1;
	o->nr_awake += awake ? 1 : (u32)-1;
	e->dev->nr_awake_owners += o->nr_awake != 0;
	gp__entity_sync_claim(e);
}

static void note_activity(struct gp__entity *e, u64 now)
{
	bool active = gp__entity_active(e);

	if (active == e->awake)
		return;
	gp__entity_owe(e, now);
	/* A hold without work counts neither in totals nor for guarantees. */
	gp__entity_restart_hold(e, now);
	gp__entity_set_awake(e, active);
	if (active)
		wake_up(e, now);
}

/* An entity out of planning that runs is an inversion as soon as a more urgent one runs. */
static void watch_apart(struct gp__entity *e)
{
	struct gp__tree *suspects = &e->dev->suspects;

	if (e->place != GP__PLACE_APART)
		return;
	if (gp__node_linked(&e->node))
		gp__tree_erase(suspects, &e->node);
	if (e->on && !e->inversion_reported && e->exempt != GP__EXEMPT_PLAN)
		gp__tree_insert(suspects, &e->node, e->prio);
}

void gp__entity_update(struct gp__entity *e, u64 now)
{
	enum gp__place place = wanted_place(e, now);

	note_activity(e, now);
	gp__entity_sync_on(e, now);
	if (place != e->place)
		gp__entity_move(e, place);
	if (place == GP__PLACE_GRANTED && e->gang)
		gp__gang_note_grant(e, now);
	enforce_place(e, now);
	watch_apart(e);
	gp__entity_start_ageing(e);
	gp__entity_arm(e, now);
	gp__dev_dirty(e->dev);
}

void gp__entity_reconsider(struct gp__entity *e, u64 now)
{
	gp__entity_charge(e, now);
	/* Hints must not end a turn, and frequent ones must not prolong it. */
	if (e->place == GP__PLACE_RUNNING && guard(TURN_GOES_ON, gp__policy_of(e->dev)->charge))
		gp__entity_move(e, GP__PLACE_RUNNING);
	else if (e->place == GP__PLACE_RUNNING || e->place == GP__PLACE_WAITING)
		gp__entity_move(e, GP__PLACE_WAITING);
	if (e->place == GP__PLACE_DORMANT)
		gp__entity_move(e, GP__PLACE_DORMANT);
	gp__entity_update(e, now);
}

void gp__entity_grant(struct gp__entity *e, enum gp__rule rule, u64 end, u64 now)
{
	struct gp__why why;

	e->grant_end = end;
	gp__entity_move(e, GP__PLACE_GRANTED);
	why = gp__why(rule, gp__id_of(gp__first_running(e->dev)));
	gp__entity_release(e, why, now);
	/* Also of one that only yielded. */
	e->why = why;
	gp__entity_arm(e, now);
	gp__dev_dirty(e->dev);
}
