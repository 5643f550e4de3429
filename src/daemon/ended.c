// SPDX-License-Identifier: MIT
#include "daemon/ended.h"

#include <stdlib.h>

static struct gp__ended_user *get_user(struct gp__registry *r, uid_t uid)
{
	struct gp__ended_user *u;
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->ended_users)
	{
		u = container_of(l, struct gp__ended_user, link);
		if (u->uid == uid)
			return u;
	}
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->uid = uid;
	gp__list_init(&u->ended);
	gp__list_push(&r->ended_users, &u->link);
	return u;
}

static void put_user(struct gp__ended_user *u)
{
	if (u->nr)
		return;
	gp__list_del(&u->link);
	free(u);
}

/* The caller puts the user. */
static void forget(struct gp__registry *r, struct gp__ended *e)
{
	gp__list_del(&e->link);
	gp__list_del(&e->of_user);
	e->user->nr--;
	r->nr_ended--;
	free(e);
}

static void forget_oldest(struct gp__registry *r, struct gp__ended_user *u)
{
	forget(r, container_of(u->ended.next, struct gp__ended, of_user));
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

/* Drops the summary that the new one replaces. */
static void replace(struct gp__registry *r, struct gp__ended *e, const struct gp__group *g)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &e->user->ended)
	{
		struct gp__ended *other = container_of(l, struct gp__ended, of_user);

		if (!is_same(other, g))
			continue;
		add_earlier(e, other);
		forget(r, other);
	}
}

static struct gp__ended_user *find_largest(struct gp__registry *r)
{
	struct gp__ended_user *largest = NULL;
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->ended_users)
	{
		struct gp__ended_user *u = container_of(l, struct gp__ended_user, link);

		if (!largest || u->nr > largest->nr)
			largest = u;
	}
	return largest;
}

static void make_room(struct gp__registry *r, struct gp__ended_user *user)
{
	struct gp__ended_user *largest;

	if (user->nr >= GP__ENDED_PER_USER) {
		forget_oldest(r, user);
	} else if (r->nr_ended >= GP__ENDED_MAX) {
		largest = find_largest(r);
		forget_oldest(r, largest);
		if (largest != user)
			put_user(largest);
	}
}

static void insert(struct gp__registry *r, struct gp__ended *e)
{
	gp__list_push(&r->ended, &e->link);
	gp__list_push(&e->user->ended, &e->of_user);
	e->user->nr++;
	r->nr_ended++;
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
	struct gp__ended_user *user = get_user(r, g->program->uid);
	struct gp__ended *e = user ? calloc(1, sizeof(*e)) : NULL;
	u64 held = gp__entity_hold_ns(&g->entity, now);

	if (!e) {
		if (user)
			put_user(user);
		return;
	}
	e->user = user;
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
	replace(r, e, g);
	make_room(r, user);
	insert(r, e);
}

void gp__ended_free_all(struct gp__registry *r)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->ended)
	{
		struct gp__ended *e = container_of(l, struct gp__ended, link);
		struct gp__ended_user *user = e->user;

		forget(r, e);
		put_user(user);
	}
}
