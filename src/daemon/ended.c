// SPDX-License-Identifier: MIT
#include "daemon/ended.h"

#include <stdlib.h>

static void forget(struct gp__registry *r, struct gp__ended *e)
{
	gp__list_del(&e->link);
	r->nr_ended--;
	free(e);
}

static bool is_same(const struct gp__ended *e, const struct gp__group *g)
{
	const struct gp__program *p = g->program;

	return e->pid == p->pid && e->uid == p->uid && e->since == p->since &&
	       e->gpu == g->gpu->dev.id && e->prio == g->entity.prio &&
	       !strcmp(e->tag, g->entity.tag);
}

/* Adds the figures of an earlier group with the same name. */
static void add_earlier(struct gp__ended *e, const struct gp__ended *earlier)
{
	e->used += earlier->used;
	e->held_total += earlier->held_total;
	e->wasted += earlier->wasted;
	e->longest_hold = gp__max_u64(e->longest_hold, earlier->longest_hold);
	e->nr_holds += earlier->nr_holds;
	for (u32 i = 0; i < earlier->nr_kept && e->nr_kept < GP__HOLDS_KEPT; i++)
		e->hold[e->nr_kept++] = earlier->hold[i];
}

/* Drops the summary that the new one replaces, or else the oldest if there is no room. */
static void make_room(struct gp__registry *r, struct gp__ended *e, const struct gp__group *g)
{
	struct gp__ended *oldest = NULL;
	struct gp__link *l, *n;
	u32 of_user = 0;

	gp__list_each(l, n, &r->ended)
	{
		struct gp__ended *other = container_of(l, struct gp__ended, link);

		if (is_same(other, g)) {
			add_earlier(e, other);
			forget(r, other);
			continue;
		}
		if (other->uid != e->uid)
			continue;
		of_user++;
		if (!oldest)
			oldest = other;
	}
	if (of_user >= GP__ENDED_PER_USER)
		forget(r, oldest);
	else if (r->nr_ended >= GP__ENDED_MAX)
		forget(r, container_of(r->ended.next, struct gp__ended, link));
}

static void copy_holds(struct gp__ended *e, const struct gp__group *g, u64 now)
{
	e->nr_holds = g->nr_holds;
	e->nr_kept = (u32)(g->nr_holds < GP__HOLDS_KEPT ? g->nr_holds : GP__HOLDS_KEPT);
	for (u32 i = 0; i < e->nr_kept; i++) {
		e->hold[i] = g->hold[(g->nr_holds - 1 - i) % GP__HOLDS_KEPT];
		if (!e->hold[i].to)
			e->hold[i].to = now;
	}
}

void gp__ended_keep(struct gp__registry *r, const struct gp__group *g, u64 now)
{
	struct gp__ended *e = calloc(1, sizeof(*e));
	u64 held = gp__entity_hold_ns(&g->entity, now);

	if (!e)
		return;
	e->group = g->entity.id;
	e->gpu = g->gpu->dev.id;
	e->pid = g->program->pid;
	e->uid = g->program->uid;
	memcpy(e->name, g->program->name, sizeof(e->name));
	memcpy(e->tag, g->entity.tag, sizeof(e->tag));
	e->prio = g->entity.prio;
	e->since = g->program->since;
	e->ended_at = now;
	e->used = gp__entity_used(&g->entity, now);
	e->held_total = g->entity.held_total + held;
	e->wasted = gp__entity_wasted(&g->entity, now);
	e->longest_hold = gp__max_u64(g->entity.longest_hold, held);
	copy_holds(e, g, now);
	make_room(r, e, g);
	gp__list_push(&r->ended, &e->link);
	r->nr_ended++;
}

void gp__ended_free_all(struct gp__registry *r)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->ended) forget(r, container_of(l, struct gp__ended, link));
}
