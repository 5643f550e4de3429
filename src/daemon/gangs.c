// SPDX-License-Identifier: MIT
#include "daemon/gangs.h"

#include <errno.h>
#include <stdlib.h>

static struct gp__named_gang *find(struct gp__registry *r, const struct gp__user *user,
				   const char *name)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->gangs)
	{
		struct gp__named_gang *g = container_of(l, struct gp__named_gang, link);

		if (g->user == user && !strcmp(g->name, name))
			return g;
	}
	return NULL;
}

static void note_programs(struct gp__registry *r, struct gp__named_gang *g)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &g->programs)
		gp__program_note(r, container_of(l, struct gp__program, of_gang));
}

static void start(struct gp__registry *r, struct gp__named_gang *g, u64 now)
{
	if (g->state != GP__WIRE_GANG_WAITS)
		return;
	g->state = GP__WIRE_GANG_TOGETHER;
	gp__list_del(&g->waiting);
	gp__gang_wait(&g->core, false, now);
	note_programs(r, g);
}

static void give_up(struct gp__registry *r, struct gp__named_gang *g, u64 now)
{
	struct gp__link *l, *n, *lg, *ng;

	g->state = GP__WIRE_GANG_GAVE_UP;
	gp__list_del(&g->waiting);
	gp__list_each(l, n, &g->programs)
	{
		struct gp__program *p = container_of(l, struct gp__program, of_gang);

		gp__list_each(lg, ng, &p->groups)
			gp__group_leave_gang(r, container_of(lg, struct gp__group, of_program));
	}
	gp__gang_remove(&g->core, now);
	note_programs(r, g);
}

/*
 * Programs
 */

static const char *refusal(const struct gp__program *p, const struct gp__named_gang *g,
			   const struct gp__wire_gang *m)
{
	if (p->gang)
		return "this program is in a gang already";
	if (!*m->name)
		return "the gang has no name";
	if (m->members > GP__WIRE_GANG_MEMBERS_MAX)
		return "a gang has at most 64 members";
	if (g && g->state == GP__WIRE_GANG_GAVE_UP)
		return "its other members did not wait any longer and run ungrouped";
	if (g && m->members && m->members != g->size)
		return "its other members have given another number of members, or none";
	if (g && g->size && g->nr_programs >= g->size)
		return "it has all its members";
	return NULL;
}

static struct gp__named_gang *add(struct gp__registry *r, struct gp__program *p, const char *name,
				  u32 size, u64 now)
{
	struct gp__named_gang *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->user = p->user;
	g->size = size;
	g->state = GP__WIRE_GANG_TOGETHER;
	memcpy(g->name, name, sizeof(g->name));
	gp__list_init(&g->programs);
	gp__list_init(&g->waiting);
	gp__list_push(&r->gangs, &g->link);
	p->user->nr_gangs++;
	gp__gang_add(&r->core, &g->core, ++r->last_id, now);
	if (size > 1) {
		g->state = GP__WIRE_GANG_WAITS;
		g->wait_until = now + GP__GANG_WAIT_NS;
		gp__list_push(&r->waiting_gangs, &g->waiting);
		gp__gang_wait(&g->core, true, now);
	}
	return g;
}

int gp__program_join_gang(struct gp__registry *r, struct gp__program *p,
			  const struct gp__wire_gang *m, bool bounded, u64 now, const char **why)
{
	char name[GP__TAG_MAX];
	struct gp__named_gang *g;
	struct gp__link *l, *n;

	gp__tag_set(name, m->name);
	g = find(r, p->user, name);
	*why = refusal(p, g, m);
	if (*why)
		return -EINVAL;
	if (!g && bounded && p->user->nr_gangs >= GP__USER_GANGS_MAX) {
		p->user->refused[GP__BUDGET_GANGS]++;
		*why = "this user has reached the limit of 16 gangs";
		return -EDQUOT;
	}
	*why = "gpreemptd is out of memory";
	g = g ? g : add(r, p, name, m->members, now);
	if (!g)
		return -ENOMEM;
	p->gang = g;
	gp__list_push(&g->programs, &p->of_gang);
	g->nr_programs++;
	gp__list_each(l, n, &p->groups)
		gp__group_join_gang(r, container_of(l, struct gp__group, of_program), now);
	gp__program_note(r, p);
	if (g->nr_programs >= g->size || (m->flags & GP__WIRE_GANG_FORMED))
		start(r, g, now);
	*why = NULL;
	return 0;
}

void gp__program_leave_gang(struct gp__program *p, u64 now)
{
	struct gp__named_gang *g = p->gang;

	if (!g)
		return;
	p->gang = NULL;
	gp__list_del(&p->of_gang);
	if (--g->nr_programs)
		return;
	if (g->state != GP__WIRE_GANG_GAVE_UP)
		gp__gang_remove(&g->core, now);
	gp__list_del(&g->waiting);
	gp__list_del(&g->link);
	g->user->nr_gangs--;
	free(g);
}

bool gp__program_is_ganged(const struct gp__program *p)
{
	return p->gang && p->gang->state != GP__WIRE_GANG_GAVE_UP;
}

enum gp__wire_gang_state gp__program_gang_state(const struct gp__program *p)
{
	const struct gp__link *l;

	if (!p->gang)
		return GP__WIRE_UNGROUPED;
	if (p->gang->state == GP__WIRE_GANG_WAITS)
		return GP__WIRE_GANG_WAITS;
	for (l = p->groups.next; l != &p->groups && gp__program_is_ganged(p); l = l->next) {
		if (!container_of(l, struct gp__group, of_program)->entity.gang)
			return GP__WIRE_GANG_PARTLY;
	}
	return p->gang->state;
}

/*
 * Groups
 */

void gp__group_join_gang(struct gp__registry *r, struct gp__group *g, u64 now)
{
	struct gp__program *p = g->program;

	if (!gp__program_is_ganged(p) || g->entity.gang)
		return;
	gp__program_note(r, p);
	if (p->user->nr_ganged >= GP__USER_GANGED_MAX) {
		p->user->refused[GP__BUDGET_GANGS]++;
		return;
	}
	if (!gp__gang_join(&p->gang->core, &g->entity, now))
		p->user->nr_ganged++;
}

void gp__group_leave_gang(struct gp__registry *r, struct gp__group *g)
{
	if (!g->entity.gang)
		return;
	g->program->user->nr_ganged--;
	gp__program_note(r, g->program);
}

/*
 * Waiting
 */

static struct gp__named_gang *first_waiting(const struct gp__registry *r)
{
	return gp__list_empty(&r->waiting_gangs)
		       ? NULL
		       : container_of(r->waiting_gangs.next, struct gp__named_gang, waiting);
}

void gp__gangs_expire(struct gp__registry *r, u64 now)
{
	struct gp__named_gang *g;

	while ((g = first_waiting(r)) && g->wait_until <= now)
		give_up(r, g, now);
}

u64 gp__gangs_wake(const struct gp__registry *r)
{
	const struct gp__named_gang *g = first_waiting(r);

	return g ? g->wait_until : GP__NEVER;
}
