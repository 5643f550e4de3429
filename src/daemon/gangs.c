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

/* The end of the event decides about a gang of ranks. */
static void note_stale(struct gp__registry *r, struct gp__named_gang *g)
{
	if (!g->of_ranks)
		return;
	gp__list_del(&g->stale);
	gp__list_push(&r->stale_gangs, &g->stale);
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
	bool of_ranks = m->flags & GP__WIRE_GANG_RANKS;

	if (p->gang)
		return "this program is in a gang already";
	if (!*m->name)
		return "the gang has no name";
	if (g && g->of_ranks != of_ranks)
		return "ranks of a collective and other programs cannot be members of one gang";
	if (of_ranks && (m->members < 2 || m->members > GP__WIRE_RANKS_MAX ||
			 GP__WIRE_GANG_RANK(m->flags) >= m->members))
		return "there is no such rank";
	if (!of_ranks && m->members > GP__WIRE_GANG_MEMBERS_MAX)
		return "a gang has at most 64 members";
	if (g && g->state == GP__WIRE_GANG_GAVE_UP)
		return "its other members did not wait any longer and run ungrouped";
	if (g && m->members && m->members != g->size)
		return "its other members have given another number of members, or none";
	if (g && g->size && g->nr_programs >= g->size && !of_ranks)
		return "it has all its members";
	return NULL;
}

static struct gp__named_gang *add(struct gp__registry *r, struct gp__program *p, const char *name,
				  const struct gp__wire_gang *m, u64 now)
{
	struct gp__named_gang *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->user = p->user;
	g->size = m->members;
	g->of_ranks = m->flags & GP__WIRE_GANG_RANKS;
	g->state = g->of_ranks ? GP__WIRE_GANG_FREE : GP__WIRE_GANG_TOGETHER;
	memcpy(g->name, name, sizeof(g->name));
	gp__list_init(&g->programs);
	gp__list_init(&g->waiting);
	gp__list_init(&g->stale);
	gp__list_push(&r->gangs, &g->link);
	p->user->nr_gangs++;
	if (g->of_ranks)
		return g;
	gp__gang_add(&r->core, &g->core, ++r->last_id, now);
	if (g->size > 1) {
		g->state = GP__WIRE_GANG_WAITS;
		g->wait_until = now + GP__GANG_WAIT_NS;
		gp__list_push(&r->waiting_gangs, &g->waiting);
		gp__gang_wait(&g->core, true, now);
	}
	return g;
}

/* It is a rank without a gang. */
static void free_program(struct gp__program *p, const char *why, u64 now)
{
	struct gp__link *l, *n;

	p->free = why;
	gp__list_each(l, n, &p->groups)
		gp__group_exempt(container_of(l, struct gp__group, of_program), now);
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
		if (m->flags & GP__WIRE_GANG_RANKS)
			free_program(p, "too many gangs", now);
		return -EDQUOT;
	}
	*why = "gpreemptd is out of memory";
	g = g ? g : add(r, p, name, m, now);
	if (!g)
		return -ENOMEM;
	p->gang = g;
	p->rank = GP__WIRE_GANG_RANK(m->flags);
	gp__list_push(&g->programs, &p->of_gang);
	g->nr_programs++;
	note_stale(r, g);
	gp__list_each(l, n, &p->groups)
		gp__group_join_gang(r, container_of(l, struct gp__group, of_program), now);
	gp__program_note(r, p);
	if (g->nr_programs >= g->size || (m->flags & GP__WIRE_GANG_FORMED))
		start(r, g, now);
	*why = NULL;
	return 0;
}

void gp__program_leave_gang(struct gp__registry *r, struct gp__program *p, u64 now)
{
	struct gp__named_gang *g = p->gang;

	if (!g)
		return;
	p->gang = NULL;
	gp__list_del(&p->of_gang);
	note_stale(r, g);
	if (--g->nr_programs)
		return;
	if (g->state != GP__WIRE_GANG_GAVE_UP && g->state != GP__WIRE_GANG_FREE)
		gp__gang_remove(&g->core, now);
	gp__list_del(&g->waiting);
	gp__list_del(&g->stale);
	gp__list_del(&g->link);
	g->user->nr_gangs--;
	free(g);
}

bool gp__program_is_ganged(const struct gp__program *p)
{
	return p->gang && p->gang->state != GP__WIRE_GANG_GAVE_UP &&
	       p->gang->state != GP__WIRE_GANG_FREE;
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

void gp__group_exempt(struct gp__group *g, u64 now)
{
	const struct gp__program *p = g->program;
	/* A program that was suspended cannot escape by saying that it is only observed. */
	enum gp__exempt exempt = p->observed && !g->suspended ? GP__EXEMPT_PLAN
				 : p->free		      ? GP__EXEMPT_HOLDS
							      : GP__EXEMPT_NONE;

	if (g->entity.exempt != exempt)
		gp__entity_exempt(&g->entity, exempt, now);
}

/* Puts the group into its gang. False: it is not in it. */
static bool tie(struct gp__registry *r, struct gp__group *g, u64 now)
{
	struct gp__user *user = g->program->user;

	if (g->entity.gang)
		return true;
	gp__program_note(r, g->program);
	if (user->nr_ganged >= GP__USER_GANGED_MAX) {
		user->refused[GP__BUDGET_GANGS]++;
		return false;
	}
	if (gp__gang_join(&g->program->gang->core, &g->entity, now))
		return false;
	user->nr_ganged++;
	return true;
}

void gp__group_join_gang(struct gp__registry *r, struct gp__group *g, u64 now)
{
	struct gp__program *p = g->program;

	gp__group_exempt(g, now);
	if (p->gang)
		note_stale(r, p->gang);
	if (gp__program_is_ganged(p) && !p->gang->of_ranks)
		tie(r, g, now);
}

void gp__group_leave_gang(struct gp__registry *r, struct gp__group *g)
{
	if (g->program->gang)
		note_stale(r, g->program->gang);
	if (!g->entity.gang)
		return;
	g->program->user->nr_ganged--;
	gp__program_note(r, g->program);
}

/*
 * Ranks
 */

/* All groups of the gang, in no order. */
static void each_group(struct gp__registry *r, struct gp__named_gang *g,
		       void (*fn)(struct gp__registry *r, struct gp__group *group, u64 now),
		       u64 now)
{
	struct gp__link *l, *n, *lg, *ng;

	gp__list_each(l, n, &g->programs)
	{
		struct gp__program *p = container_of(l, struct gp__program, of_gang);

		gp__list_each(lg, ng, &p->groups)
			fn(r, container_of(lg, struct gp__group, of_program), now);
	}
}

static void exempt_group(struct gp__registry *r, struct gp__group *g, u64 now)
{
	(void)r;
	gp__group_exempt(g, now);
}

static void untie(struct gp__registry *r, struct gp__group *g, u64 now)
{
	(void)r;
	(void)now;
	if (g->entity.gang)
		g->program->user->nr_ganged--;
}

static void tie_one(struct gp__registry *r, struct gp__group *g, u64 now)
{
	if (g->program->gang->fits && !tie(r, g, now))
		g->program->gang->fits = false;
}

/* The core has the gang while its ranks are tied. */
static void tie_ranks(struct gp__registry *r, struct gp__named_gang *g, u64 now)
{
	if (g->state == GP__WIRE_GANG_FREE) {
		gp__gang_add(&r->core, &g->core, ++r->last_id, now);
		gp__gang_bound(&g->core, r->rank_hold, now);
		g->state = GP__WIRE_GANG_TOGETHER;
	}
	g->fits = true;
	each_group(r, g, tie_one, now);
}

static void untie_ranks(struct gp__registry *r, struct gp__named_gang *g, u64 now)
{
	if (g->state == GP__WIRE_GANG_FREE)
		return;
	each_group(r, g, untie, now);
	gp__gang_remove(&g->core, now);
	g->state = GP__WIRE_GANG_FREE;
}

static bool are_all_there(const struct gp__named_gang *g)
{
	const struct gp__link *l;
	u64 there = 0;

	for (l = g->programs.next; l != &g->programs; l = l->next)
		there |= 1ull << container_of(l, struct gp__program, of_gang)->rank;
	return there == ~0ull >> (64 - g->size);
}

/* NULL: they are tied now. */
static const char *try_to_tie(struct gp__registry *r, struct gp__named_gang *g, u64 now)
{
	if (g->size > GP__WIRE_GANG_MEMBERS_MAX)
		return "more than 64 ranks";
	if (!are_all_there(g))
		return "ranks are missing";
	tie_ranks(r, g, now);
	return g->fits ? NULL : "two of them on one GPU, or too many";
}

static void settle_ranks(struct gp__registry *r, struct gp__named_gang *g, u64 now)
{
	const char *why = try_to_tie(r, g, now);
	struct gp__link *l, *n;

	/* A rank is exempt before its gang ends: no hold comes between. */
	gp__list_each(l, n, &g->programs) container_of(l, struct gp__program, of_gang)->free = why;
	each_group(r, g, exempt_group, now);
	if (why)
		untie_ranks(r, g, now);
	note_programs(r, g);
}

void gp__gangs_tie(struct gp__registry *r, u64 now)
{
	while (!gp__list_empty(&r->stale_gangs)) {
		struct gp__named_gang *g =
			container_of(r->stale_gangs.next, struct gp__named_gang, stale);

		gp__list_del(&g->stale);
		settle_ranks(r, g, now);
	}
}

void gp__gangs_limit(struct gp__registry *r, u64 rank_hold, u64 now)
{
	struct gp__link *l, *n;

	r->rank_hold = rank_hold;
	gp__list_each(l, n, &r->gangs)
	{
		struct gp__named_gang *g = container_of(l, struct gp__named_gang, link);

		if (g->of_ranks && g->state == GP__WIRE_GANG_TOGETHER)
			gp__gang_bound(&g->core, rank_hold, now);
	}
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
