// SPDX-License-Identifier: MIT
#include "daemon/accounts.h"

#include <stdlib.h>

/*
 * Totals
 */

static u64 open_hold_ns(const struct gp__group *g, u64 now)
{
	const struct gp__hold *hold =
		g->nr_holds ? &g->hold[(g->nr_holds - 1) % GP__HOLDS_KEPT] : NULL;

	return hold && !hold->to && now > hold->from ? now - hold->from : 0;
}

/* Since the group exists. */
static struct gp__totals totals_of(const struct gp__group *g, u64 now)
{
	const struct gp__entity *e = &g->entity;
	struct gp__totals t = g->counted;

	t.run += gp__entity_used(e, now);
	t.waiting += e->held_total + gp__entity_hold_ns(e, now);
	t.wasted += gp__entity_wasted(e, now);
	t.held += open_hold_ns(g, now);
	return t;
}

/* Adds @t, less @base. */
static void add(struct gp__totals *sum, const struct gp__totals *t, const struct gp__totals *base)
{
	sum->run += t->run - base->run;
	sum->held += t->held - base->held;
	sum->waiting += t->waiting - base->waiting;
	sum->wasted += t->wasted - base->wasted;
	for (u32 i = 0; i < GP__RULE_COUNT; i++) {
		sum->holds[i] += t->holds[i] - base->holds[i];
		sum->releases[i] += t->releases[i] - base->releases[i];
	}
}

static void add_living(struct gp__totals *sum, const struct gp__account *a, u64 now)
{
	struct gp__link *l;

	for (l = a->groups.next; l != &a->groups; l = l->next) {
		const struct gp__group *g = container_of(l, struct gp__group, of_account);
		struct gp__totals t = totals_of(g, now);

		add(sum, &t, &g->accounted);
	}
}

struct gp__totals gp__account_totals(const struct gp__account *a, u64 now)
{
	struct gp__totals sum = a->ended;

	add_living(&sum, a, now);
	return sum;
}

struct gp__totals gp__class_account_totals(const struct gp__class_account *c, u64 now)
{
	struct gp__totals sum = c->ended;
	struct gp__link *l;

	for (l = c->accounts.next; l != &c->accounts; l = l->next)
		add_living(&sum, container_of(l, struct gp__account, of_class), now);
	return sum;
}

/*
 * Classes
 */

static bool is_class_of(const struct gp__class_account *c, const struct gp__group *g)
{
	return c->uid == g->program->uid && c->class == gp__class_of(g->entity.prio) &&
	       c->gpu == g->gpu->dev.id && !strcmp(c->key, g->gpu->key);
}

static void forget_class(struct gp__class_account *c)
{
	gp__list_del(&c->link);
	free(c);
}

/* Forgets classes without groups until they are within their bounds. */
static void bound_classes(struct gp__registry *r, uid_t owner)
{
	struct gp__class_account *oldest = NULL, *oldest_of_user = NULL;
	u32 nr = 0, nr_of_user = 0;
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->classes)
	{
		struct gp__class_account *c = container_of(l, struct gp__class_account, link);

		if (c->nr_groups)
			continue;
		nr++;
		oldest = oldest ? oldest : c;
		if (c->owner != owner)
			continue;
		nr_of_user++;
		oldest_of_user = oldest_of_user ? oldest_of_user : c;
	}
	if (nr_of_user > GP__CLASSES_PER_USER)
		forget_class(oldest_of_user);
	else if (nr > GP__CLASSES_MAX)
		forget_class(oldest);
}

static struct gp__class_account *get_class(struct gp__registry *r, const struct gp__group *g)
{
	struct gp__class_account *c;
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->classes)
	{
		c = container_of(l, struct gp__class_account, link);
		if (is_class_of(c, g))
			return c;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->id = ++r->last_account;
	c->uid = g->program->uid;
	c->owner = g->program->owner;
	c->class = gp__class_of(g->entity.prio);
	c->gpu = g->gpu->dev.id;
	memcpy(c->key, g->gpu->key, sizeof(c->key));
	gp__list_init(&c->accounts);
	gp__list_push(&r->classes, &c->link);
	return c;
}

/* The latest without groups comes last. */
static void put_class(struct gp__registry *r, struct gp__class_account *c)
{
	if (c->nr_groups)
		return;
	gp__list_del(&c->link);
	gp__list_push(&r->classes, &c->link);
	bound_classes(r, c->owner);
}

/*
 * Accounts
 */

/* The place of a name in the table, which counts it; -1: there is no room. */
static int take_name(struct gp__names *names, const char *name)
{
	int room = -1;

	for (int i = GP__NAMES_MAX - 1; i >= 0; i--) {
		if (!names->count[i])
			room = i;
		else if (!strcmp(names->name[i], name))
			return names->count[i]++, i;
	}
	if (room >= 0) {
		gp__wire_text(names->name[room], sizeof(names->name[room]), name);
		names->count[room] = 1;
	}
	return room;
}

static void put_name(struct gp__names *names, int place)
{
	if (place >= 0)
		names->count[place]--;
}

static struct gp__workload workload_of(const struct gp__group *g)
{
	struct gp__workload w;

	gp__workload_of(&w, g->program->cgroup);
	return w;
}

static bool is_same_workload(const struct gp__workload *a, const struct gp__workload *b)
{
	return !strcmp(a->job_id, b->job_id) && !strcmp(a->pod_uid, b->pod_uid) &&
	       !strcmp(a->container_id, b->container_id);
}

static struct gp__account *find_account(const struct gp__class_account *c, const char *program,
					const char *tag, const struct gp__workload *w)
{
	struct gp__link *l;

	for (l = c->accounts.next; l != &c->accounts; l = l->next) {
		struct gp__account *a = container_of(l, struct gp__account, of_class);

		if (!strcmp(a->program, program) && !strcmp(a->tag, tag) &&
		    is_same_workload(&a->workload, w))
			return a;
	}
	return NULL;
}

static struct gp__account *add_account(struct gp__registry *r, struct gp__class_account *c,
				       struct gp__user *user)
{
	struct gp__account *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->id = ++r->last_account;
	a->class = c;
	a->user = user;
	a->program_name = a->tag_name = -1;
	gp__list_init(&a->groups);
	gp__list_push(&r->accounts, &a->link);
	gp__list_push(&c->accounts, &a->of_class);
	user->nr_accounts++;
	return a;
}

static void put_account(struct gp__account *a)
{
	if (a->nr_groups)
		return;
	put_name(&a->user->programs, a->program_name);
	put_name(&a->user->tags, a->tag_name);
	a->user->nr_accounts--;
	gp__list_del(&a->link);
	gp__list_del(&a->of_class);
	free(a);
}

/* The account of a group whose names have no account in its class yet. */
static struct gp__account *open_account(struct gp__registry *r, struct gp__class_account *c,
					const struct gp__group *g, struct gp__workload w)
{
	struct gp__user *user = g->program->user;
	bool full = user->nr_accounts >= GP__ACCOUNTS_PER_USER;
	int program = full ? -1 : take_name(&user->programs, g->program->name);
	int tag = full ? -1 : take_name(&user->tags, g->entity.tag);
	const char *program_text = program < 0 ? GP__ACCOUNT_OTHER : g->program->name;
	const char *tag_text = tag < 0 ? GP__ACCOUNT_OTHER : g->entity.tag;
	struct gp__account *a;

	if (full)
		w = (struct gp__workload){ 0 };
	a = find_account(c, program_text, tag_text, &w);
	a = a ? a : add_account(r, c, user);
	if (!a || a->nr_groups) { /* there is no new one to keep the names */
		put_name(&user->programs, program);
		put_name(&user->tags, tag);
		return a;
	}
	a->workload = w;
	a->program_name = program;
	a->tag_name = tag;
	gp__wire_text(a->program, sizeof(a->program), program_text);
	gp__wire_text(a->tag, sizeof(a->tag), tag_text);
	return a;
}

static struct gp__account *get_account(struct gp__registry *r, struct gp__class_account *c,
				       const struct gp__group *g)
{
	struct gp__workload w = workload_of(g);
	struct gp__account *a = find_account(c, g->program->name, g->entity.tag, &w);

	return a ? a : open_account(r, c, g, w);
}

/*
 * Groups
 */

static void enter(struct gp__registry *r, struct gp__group *g)
{
	struct gp__class_account *c = get_class(r, g);
	struct gp__account *a = c ? get_account(r, c, g) : NULL;

	g->account = a;
	if (!a) {
		if (c)
			put_class(r, c);
		return;
	}
	gp__list_push(&a->groups, &g->of_account);
	a->nr_groups++;
	c->nr_groups++;
}

void gp__account_enter(struct gp__registry *r, struct gp__group *g)
{
	enter(r, g);
	if (g->account)
		g->account->class->nr_joined++;
}

void gp__account_leave(struct gp__registry *r, struct gp__group *g, u64 now)
{
	struct gp__account *a = g->account;
	struct gp__class_account *class;
	struct gp__totals t = totals_of(g, now);

	if (a) {
		add(&a->ended, &t, &g->accounted);
		add(&a->class->ended, &t, &g->accounted);
		gp__list_del(&g->of_account);
		a->nr_groups--;
		a->class->nr_groups--;
		class = a->class;
		put_account(a);
		put_class(r, class);
	}
	g->account = NULL;
	g->accounted = t;
}

void gp__account_move(struct gp__registry *r, struct gp__group *g)
{
	/* The times of the old entity are accounted for, and the new one begins at zero. */
	g->accounted = g->counted;
	gp__account_enter(r, g);
}

void gp__account_follow(struct gp__registry *r, struct gp__group *g, u64 now)
{
	struct gp__workload w = workload_of(g);
	bool same_class = g->account && is_class_of(g->account->class, g);

	if (same_class && is_same_workload(&g->account->workload, &w))
		return;
	gp__account_leave(r, g, now);
	enter(r, g);
	if (g->account && !same_class)
		g->account->class->nr_joined++;
}

void gp__account_follow_program(struct gp__registry *r, const struct gp__program *p, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->groups)
	{
		struct gp__group *g = container_of(l, struct gp__group, link);

		if (g->program == p)
			gp__account_follow(r, g, now);
	}
}

/*
 * Finding
 */

struct gp__account *gp__account_find(struct gp__registry *r, u32 id)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->accounts)
	{
		struct gp__account *a = container_of(l, struct gp__account, link);

		if (a->id == id)
			return a;
	}
	return NULL;
}

struct gp__class_account *gp__class_account_find(struct gp__registry *r, u32 id)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->classes)
	{
		struct gp__class_account *c = container_of(l, struct gp__class_account, link);

		if (c->id == id)
			return c;
	}
	return NULL;
}

void gp__accounts_free(struct gp__registry *r)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->classes)
		forget_class(container_of(l, struct gp__class_account, link));
}
