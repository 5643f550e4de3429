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

bool gp__gang_suspended(const struct gp__gang *g)
{
	const struct gp__link *l;

	for (l = g->members.next; l != &g->members; l = l->next) {
		if (container_of(l, struct gp__entity, gang_link)->suspended)
			return true;
	}
	return false;
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

void gp__gang_grant(struct gp__gang *g, enum gp__rule rule, u64 end, u64 now)
{
	struct gp__link *l, *n;

	g->blocked = false;
	g->grant_end = end;
	gp__list_each(l, n, &g->members)
	{
		struct gp__entity *e = member(l);

		if (gp__entity_active(e) && !e->suspended && !e->nr_faults)
			gp__entity_grant(e, rule, end, now);
		else
			gp__entity_update(e, now);
	}
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

	if (gp__gang_suspended(g))
		return false;
	for (l = g->members.next; l != &g->members; l = l->next) {
		const struct gp__entity *e = container_of(l, struct gp__entity, gang_link);

		if (guard(GANG_FITS_ALL, gp__entity_active(e) && e->place == GP__PLACE_BLOCKED &&
						 !gp__dev_would_run(e->dev, e, now)))
			return false;
	}
	return true;
}

static bool settle_gang(struct gp__gang *g, u64 now)
{
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
	if (g->tried || !fits_all(g, now))
		return false;
	g->tried = true;
	set_blocked(g, false, now);
	return true;
}

bool gp__gangs_settle(struct gp__core *c, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &c->gangs)
	{
		if (settle_gang(container_of(l, struct gp__gang, link), now))
			return true;
	}
	gp__list_each(l, n, &c->gangs) container_of(l, struct gp__gang, link)->tried = false;
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
	gp__gang_sort(g);
	update_members(g, now);
	gp__core_settle(g->core, now);
	return 0;
}

void gp__gang_leave(struct gp__entity *e, u64 now)
{
	struct gp__gang *g = e->gang;

	if (!g)
		return;
	e->gang = NULL;
	gp__list_del(&e->gang_link);
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
