// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Gangs: entities on several devices, the ranks of one collective, that run together or not at all.
 *
 * A rank that runs while another is held wastes its device in a spin loop. So a gang is blocked if
 * one of its members may not run: all members are held, and other entities get their devices. It is
 * unblocked when every device with a member that has work would run that member. Gangs are tried in
 * the order of priority, then age, each at most once an event, so that two gangs cannot displace
 * each other for ever.
 *
 * A guarantee on one device is none on another: a blocked gang runs beside the policies' choices
 * when a grant is due to each of its members with work, on its own device, and each of these owners
 * has had one then. Otherwise a user could collect grants on a device that nobody else uses, and
 * spend them where they disturb others.
 *
 * Wrong tool for: independent workers that happen to belong to one job. They lose time to each
 * other's devices.
 */
#include "core/internal.h"

static struct gp__entity *member(struct gp__link *l)
{
	return container_of(l, struct gp__entity, gang_link);
}

bool gp__gang_active(const struct gp__gang *g)
{
	const struct gp__link *l;

	for (l = g->members.next; l != &g->members; l = l->next) {
		if (gp__entity_active(container_of(l, struct gp__entity, gang_link)))
			return true;
	}
	return false;
}

bool gp__gang_stopped(const struct gp__gang *g)
{
	return g->nr_suspended || g->waits;
}

void gp__gang_restart_holds(struct gp__gang *g, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &g->members)
	{
		gp__entity_restart_hold(member(l), now);
		gp__entity_update(member(l), now);
	}
}

static void update_members(struct gp__gang *g, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &g->members) gp__entity_update(member(l), now);
}

static void set_blocked(struct gp__gang *g, bool blocked, u64 now)
{
	g->blocked = blocked;
	if (blocked)
		g->grant_end = 0;
	update_members(g, now);
}

static bool is_kept(const struct gp__entity *e)
{
	return gp__entity_active(e) && e->place == GP__PLACE_BLOCKED;
}

/* A grant that was due when the timer ran may not be due any more. */
static bool check_due(struct gp__entity *e, u64 now)
{
	if (!e->ripe)
		return false;
	if (gp__entity_grant_due(e, now) <= now)
		return true;
	e->ripe = GP__RULE_NONE;
	gp__entity_arm(e, now);
	return false;
}

static bool is_due(struct gp__gang *g, u64 now)
{
	struct gp__link *l, *n;
	bool any = false;

	if (gp__gang_stopped(g))
		return false;
	gp__list_each(l, n, &g->members)
	{
		struct gp__entity *e = member(l);

		if (!is_kept(e))
			continue;
		if (guard(GANG_ALL_DUE, !check_due(e, now)))
			return false;
		any |= e->ripe != GP__RULE_NONE;
	}
	return any;
}

static void grant(struct gp__gang *g, u64 now)
{
	struct gp__link *l, *n;

	g->blocked = false;
	g->grant_end = now + g->core->cfg[GP__CFG_GRANT_MS] * GP__MS;
	gp__list_each(l, n, &g->members)
	{
		struct gp__entity *e = member(l);
		enum gp__rule rule = e->ripe;

		if (is_kept(e)) {
			e->ripe = GP__RULE_NONE;
			gp__entity_note_grant(e, rule, now);
			gp__entity_grant(e, rule, g->grant_end, now);
		} else {
			gp__entity_update(e, now);
		}
	}
}

bool gp__gang_grants(const struct gp__entity *e, u64 now)
{
	if (now >= e->gang->grant_end)
		return false;
	/* It had a part in it, or gets work now, on a device where its user may have a grant. */
	return e->grant_end >= e->gang->grant_end ||
	       !guard(GANG_LATE_WORK, !gp__entity_may_grant(e, now));
}

void gp__gang_note_grant(struct gp__entity *e, u64 now)
{
	u64 end = e->gang->grant_end;

	if (e->grant_end >= end)
		return;
	e->grant_end = end;
	gp__entity_note_grant(e, GP__RULE_MAX_HOLD, now);
}

/* Whether this member keeps the gang from running. */
static bool is_stuck(const struct gp__entity *e)
{
	return e->place == GP__PLACE_SUSPENDED || e->place == GP__PLACE_WAITING;
}

static bool any_stuck(const struct gp__gang *g)
{
	const struct gp__link *l;

	for (l = g->members.next; l != &g->members; l = l->next) {
		if (is_stuck(container_of(l, struct gp__entity, gang_link)))
			return true;
	}
	return false;
}

static bool fits_all(const struct gp__gang *g, u64 now)
{
	const struct gp__link *l;

	if (gp__gang_stopped(g))
		return false;
	for (l = g->members.next; l != &g->members; l = l->next) {
		const struct gp__entity *e = container_of(l, struct gp__entity, gang_link);

		if (guard(GANG_FITS_ALL, gp__entity_active(e) && e->place == GP__PLACE_BLOCKED &&
						 !gp__dev_would_run(e->dev, e, now)))
			return false;
	}
	return true;
}

/* True: something changed. */
static bool settle_gang(struct gp__gang *g, u64 now)
{
	if (guard(GANG_WAITS, g->waits)) {
		if (g->blocked)
			return false;
		set_blocked(g, true, now);
		return true;
	}
	if (!gp__gang_active(g)) {
		if (!g->blocked || !guard(GANG_IDLE_FREE, true))
			return false;
		set_blocked(g, false, now);
		return true;
	}
	if (!g->blocked) {
		if (!guard(GANG_TOGETHER, any_stuck(g)))
			return false;
		set_blocked(g, true, now);
		return true;
	}
	if (!g->tried && fits_all(g, now)) {
		g->tried = true;
		set_blocked(g, false, now);
		return true;
	}
	if (!is_due(g, now))
		return false;
	grant(g, now);
	return true;
}

void gp__gangs_touch(struct gp__dev *d)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &d->ganged)
	{
		container_of(l, struct gp__entity, ganged_link)->gang->stale = true;
		d->core->stale_gangs = true;
	}
}

bool gp__gangs_settle(struct gp__core *c, u64 now)
{
	struct gp__link *l, *n;

	if (!c->stale_gangs)
		return false;
	gp__list_each(l, n, &c->gangs)
	{
		struct gp__gang *g = container_of(l, struct gp__gang, link);

		if (!g->stale)
			continue;
		if (settle_gang(g, now))
			return true;
		g->stale = false;
	}
	gp__list_each(l, n, &c->gangs) container_of(l, struct gp__gang, link)->tried = false;
	c->stale_gangs = false;
	return false;
}

void gp__gang_add(struct gp__core *c, struct gp__gang *g, u32 id, u64 now)
{
	now = gp__core_begin(c, now);
	memset(g, 0, sizeof(*g));
	g->core = c;
	g->id = id;
	gp__list_init(&g->members);
	gp__list_push(&c->gangs, &g->link);
	gp__log_gang(g, NULL, GP__WHAT_GANG_ADD, now);
	gp__core_settle(c, now);
}

/* The list of gangs is in the order they are tried: a more urgent first member goes first. */
static s32 prio_of(const struct gp__link *l)
{
	const struct gp__gang *g = container_of(l, struct gp__gang, link);

	return gp__list_empty(&g->members) ? -GP__PRIO_LIMIT : member(g->members.next)->prio;
}

void gp__gang_sort(struct gp__gang *g)
{
	struct gp__link *pos = &g->core->gangs;
	struct gp__link *l;

	gp__list_del(&g->link);
	for (l = pos->next; l != pos; l = l->next) {
		if (prio_of(l) < prio_of(&g->link))
			break;
	}
	gp__list_push(l, &g->link);
}

int gp__gang_join(struct gp__gang *g, struct gp__entity *e, u64 now)
{
	struct gp__link *l, *n;

	if (e->gang)
		return -EBUSY;
	gp__list_each(l, n, &g->members)
	{
		if (member(l)->dev == e->dev)
			return -EBUSY;
	}
	now = gp__core_begin(g->core, now);
	gp__log_gang(g, e, GP__WHAT_GANG_JOIN, now);
	e->gang = g;
	gp__list_push(&g->members, &e->gang_link);
	gp__list_push(&e->dev->ganged, &e->ganged_link);
	g->nr_suspended += e->suspended;
	gp__gang_sort(g);
	update_members(g, now);
	gp__core_settle(g->core, now);
	return 0;
}

void gp__gang_wait(struct gp__gang *g, bool waits, u64 now)
{
	now = gp__core_begin(g->core, now);
	gp__log_gang(g, NULL, waits ? GP__WHAT_GANG_WAIT : GP__WHAT_GANG_GO, now);
	g->waits = waits;
	/* Guarantees count from the end of the wait. */
	gp__gang_restart_holds(g, now);
	gp__core_settle(g->core, now);
}

void gp__gang_bound(struct gp__gang *g, u64 max_hold_ns, u64 now)
{
	now = gp__core_begin(g->core, now);
	g->max_hold_ns = max_hold_ns;
	gp__log_gang(g, NULL, GP__WHAT_GANG_BOUND, now);
	update_members(g, now);
	gp__core_settle(g->core, now);
}

void gp__gang_leave(struct gp__entity *e, u64 now)
{
	struct gp__gang *g = e->gang;

	if (!g)
		return;
	e->gang = NULL;
	gp__list_del(&e->gang_link);
	gp__list_del(&e->ganged_link);
	g->nr_suspended -= e->suspended;
	gp__gang_sort(g);
	update_members(g, now);
}

void gp__gang_remove(struct gp__gang *g, u64 now)
{
	struct gp__link *l, *n;

	now = gp__core_begin(g->core, now);
	gp__log_gang(g, NULL, GP__WHAT_GANG_REMOVE, now);
	gp__list_each(l, n, &g->members)
	{
		struct gp__entity *e = member(l);

		gp__gang_leave(e, now);
		gp__entity_update(e, now);
	}
	gp__list_del(&g->link);
	gp__core_settle(g->core, now);
}
