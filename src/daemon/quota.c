// SPDX-License-Identifier: MIT
#include "daemon/quota.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/limit.h"
#include "daemon/registry.h"

/* Programs are looked at this often at most. */
#define CHECK_NS (10 * GP__MS)
/* The part of the bucket that has to be there before groups go on. */
#define AGAIN_PART 10
/* A program that cannot be held owes no more than this. */
#define DEBT_MAX (10 * 365 * 24 * 3600 * GP__S)

/* A little of a small quota is a long time of its period. */
static u64 scale(u64 value, u64 by, u64 of)
{
	double result = (double)value * (double)by / (double)of;

	return result < (double)DEBT_MAX ? (u64)result : DEBT_MAX;
}

/* The time until the bucket is full. */
static u64 missing(const struct gp__gpu_account *a, u64 now)
{
	return a->full_at > now ? a->full_at - now : 0;
}

u64 gp__quota_spent(const struct gp__gpu_account *a, u64 now)
{
	return a->quota.ns ? scale(missing(a, now), a->quota.ns, a->quota.period) : 0;
}

static void charge(struct gp__gpu_account *a, u64 used, u64 now)
{
	u64 more;

	if (!a->quota.ns)
		return;
	more = missing(a, now) + scale(used, a->quota.period, a->quota.ns);
	a->full_at = now + gp__min_u64(more, DEBT_MAX);
}

void gp__quota_charge(struct gp__group *g, u64 now)
{
	u64 used = gp__entity_used(&g->entity, now), more = used - g->charged;

	g->charged = used;
	charge(&g->program->user->gpu, more, now);
	if (g->tag_account)
		charge(&g->tag_account->gpu, more, now);
}

static bool is_over(const struct gp__gpu_account *a, u64 now)
{
	u64 period = a->quota.period;

	return a->quota.ns && missing(a, now) > (a->over ? period - period / AGAIN_PART : period);
}

/*
 * Accounts of tags
 */

static struct gp__tag_account *tag_account_of(struct gp__link *l)
{
	return container_of(l, struct gp__tag_account, link);
}

static struct gp__tag_account *find_tag(const struct gp__user *u, const char *tag)
{
	struct gp__link *l;

	for (l = u->tag_accounts.next; l != &u->tag_accounts; l = l->next) {
		if (!strcmp(tag_account_of(l)->tag, tag))
			return tag_account_of(l);
	}
	return NULL;
}

/* NULL: out of memory. */
static struct gp__tag_account *get_tag(struct gp__user *u, const char *tag)
{
	struct gp__tag_account *a = find_tag(u, tag);

	if (a)
		return a;
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	gp__list_init(&a->groups);
	strncpy(a->tag, tag, sizeof(a->tag) - 1);
	gp__list_push(&u->tag_accounts, &a->link);
	return a;
}

static void free_tag(struct gp__tag_account *a)
{
	gp__list_del(&a->link);
	free(a);
}

bool gp__quota_any(const struct gp__user *u)
{
	const struct gp__link *l;

	for (l = u->tag_accounts.next; l != &u->tag_accounts; l = l->next) {
		const struct gp__tag_account *a = container_of(l, struct gp__tag_account, link);

		if (a->gpu.quota.ns && !gp__list_empty(&a->groups))
			return true;
	}
	return u->gpu.quota.ns;
}

/*
 * Holding
 */

/*
 * On how many GPUs the user has groups; 0: none of them has work. Those without work may get it at
 * any time.
 */
static u32 nr_gpus(const struct gp__registry *r, const struct gp__user *u)
{
	const struct gp__link *l, *k;
	bool works = false;
	u32 nr = 0;

	for (l = r->gpus.next; l != &r->gpus; l = l->next) {
		const struct gp__gpu *gpu = container_of(l, struct gp__gpu, link);

		for (k = gpu->users.next; k != &gpu->users; k = k->next) {
			const struct gp__owner *o =
				&container_of(k, struct gp__gpu_user, link)->owner;

			nr += o->id == u->uid;
			works |= o->id == u->uid && o->nr_awake;
		}
	}
	return works ? nr : 0;
}

/* The same of the groups of a tag, or rather the number of those that have work. */
static u32 nr_working(const struct gp__tag_account *a)
{
	const struct gp__link *l;
	u32 nr = 0;

	for (l = a->groups.next; l != &a->groups; l = l->next)
		nr += gp__entity_active(&container_of(l, struct gp__group, of_tag_account)->entity);
	return nr;
}

/* When the bucket may be empty, or a tenth of it is there again. @at_once: on so many GPUs. */
static u64 next_check(const struct gp__gpu_account *a, u32 at_once, u64 now)
{
	u64 period = a->quota.period, left, wait;

	if (a->over)
		return a->full_at - (period - period / AGAIN_PART);
	if (!at_once)
		return 0;
	left = scale(period - gp__min_u64(missing(a, now), period), a->quota.ns, period);
	wait = left / at_once;
	return now + gp__max_u64(wait, CHECK_NS);
}

/* Holds the group while one of its accounts is empty. */
static void apply(struct gp__group *g, u64 now)
{
	bool over = g->program->user->gpu.over;

	gp__group_exceed(g, over || (g->tag_account && g->tag_account->gpu.over), now);
}

static void charge_user(struct gp__registry *r, const struct gp__user *u, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->groups)
	{
		struct gp__group *g = container_of(l, struct gp__group, link);

		if (g->program->user == u)
			gp__quota_charge(g, now);
	}
}

static void decide(struct gp__registry *r, struct gp__user *u, u64 now)
{
	struct gp__link *l, *n;

	u->gpu.over = is_over(&u->gpu, now);
	gp__list_each(l, n, &r->groups)
	{
		struct gp__group *g = container_of(l, struct gp__group, link);

		if (g->program->user == u)
			apply(g, now);
	}
	u->gpu.check_at = u->gpu.quota.ns ? next_check(&u->gpu, nr_gpus(r, u), now) : 0;
}

static void decide_tag(struct gp__tag_account *a, u64 now)
{
	struct gp__link *l, *n;

	a->gpu.over = is_over(&a->gpu, now);
	gp__list_each(l, n, &a->groups)
		apply(container_of(l, struct gp__group, of_tag_account), now);
	a->gpu.check_at = a->gpu.quota.ns ? next_check(&a->gpu, nr_working(a), now) : 0;
}

static void charge_tag(struct gp__tag_account *a, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &a->groups)
		gp__quota_charge(container_of(l, struct gp__group, of_tag_account), now);
}

/*
 * Changing
 */

/* Its agents are to notify the daemon of work, or no longer. */
static void note_programs(struct gp__registry *r, const struct gp__user *u)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->programs)
	{
		struct gp__program *p = container_of(l, struct gp__program, link);

		if (p->user == u)
			gp__program_note(r, p);
	}
}

static bool is_same(struct gp__quota a, struct gp__quota b)
{
	return a.ns == b.ns && a.period == b.period;
}

/* Time that was spent stays spent. The groups are charged. */
static void set(struct gp__gpu_account *a, struct gp__quota quota, u64 now)
{
	u64 spent = gp__quota_spent(a, now);

	a->quota = quota;
	a->full_at = quota.ns ? now + scale(spent, quota.period, quota.ns) : 0;
}

void gp__quota_set(struct gp__registry *r, struct gp__user *u, struct gp__quota quota, u64 now)
{
	if (is_same(quota, u->gpu.quota))
		return;
	charge_user(r, u, now);
	set(&u->gpu, quota, now);
	decide(r, u, now);
	note_programs(r, u);
}

/* Links the group to the account of its tag, if that has a limit. */
static void enter_tag(struct gp__registry *r, struct gp__group *g, u64 now)
{
	struct gp__quota quota = { 0 };
	struct gp__tag_account *a;

	if (r->limits && g->program->limited)
		quota = gp__limits_of_tag(r->limits, g->entity.tag);
	a = g->tag_account || !quota.ns ? g->tag_account : get_tag(g->program->user, g->entity.tag);
	if (!a)
		return;
	gp__quota_charge(g, now);
	if (!is_same(quota, a->gpu.quota)) {
		charge_tag(a, now);
		set(&a->gpu, quota, now);
		note_programs(r, g->program->user);
	}
	if (!g->tag_account) {
		g->tag_account = a;
		gp__list_push(&a->groups, &g->of_tag_account);
		gp__program_note(r, g->program);
	}
	decide_tag(a, now);
}

void gp__quota_enter(struct gp__registry *r, struct gp__group *g, u64 now)
{
	gp__list_init(&g->of_tag_account);
	enter_tag(r, g, now);
	apply(g, now);
	gp__quota_check(g, now);
}

void gp__quota_leave(struct gp__group *g, u64 now)
{
	gp__quota_charge(g, now);
	gp__list_del(&g->of_tag_account);
	g->tag_account = NULL;
}

void gp__quota_set_tags(struct gp__registry *r, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->groups) enter_tag(r, container_of(l, struct gp__group, link), now);
}

void gp__quota_check(struct gp__group *g, u64 now)
{
	g->program->user->gpu.check_at = now;
	if (g->tag_account)
		g->tag_account->gpu.check_at = now;
}

static u64 wake_user(struct gp__registry *r, struct gp__user *u, u64 now)
{
	struct gp__gpu_account *a = &u->gpu;

	if (!a->quota.ns)
		return GP__NEVER;
	if (!a->check_at)
		a->check_at = next_check(a, nr_gpus(r, u), now);
	if (a->check_at && now >= a->check_at) {
		charge_user(r, u, now);
		decide(r, u, now);
	}
	return a->check_at ? a->check_at : GP__NEVER;
}

static u64 wake_tag(struct gp__tag_account *a, u64 now)
{
	if (!a->gpu.quota.ns)
		return GP__NEVER;
	if (!a->gpu.check_at)
		a->gpu.check_at = next_check(&a->gpu, nr_working(a), now);
	if (a->gpu.check_at && now >= a->gpu.check_at) {
		charge_tag(a, now);
		decide_tag(a, now);
	}
	return a->gpu.check_at ? a->gpu.check_at : GP__NEVER;
}

u64 gp__quotas_wake(struct gp__registry *r, u64 now)
{
	struct gp__link *l, *n, *k, *m;
	u64 wake = GP__NEVER;

	gp__list_each(l, n, &r->users)
	{
		struct gp__user *u = container_of(l, struct gp__user, link);

		wake = gp__min_u64(wake, wake_user(r, u, now));
		gp__list_each(k, m, &u->tag_accounts) wake =
			gp__min_u64(wake, wake_tag(tag_account_of(k), now));
	}
	return wake;
}

/*
 * Keeping
 */

bool gp__quotas_work(const struct gp__registry *r)
{
	const struct gp__link *l;

	for (l = r->users.next; l != &r->users; l = l->next) {
		const struct gp__user *u = container_of(l, struct gp__user, link);

		if (u->nr_groups && gp__quota_any(u) && nr_gpus(r, u))
			return true;
	}
	return false;
}

void gp__quotas_charge(struct gp__registry *r, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->users)
	{
		const struct gp__user *u = container_of(l, struct gp__user, link);

		if (gp__quota_any(u))
			charge_user(r, u, now);
	}
}

struct gp__quota_state gp__quota_state(const struct gp__gpu_account *a, u64 now)
{
	return (struct gp__quota_state){ a->quota, missing(a, now), a->over };
}

int gp__quota_restore(struct gp__user *u, const char *tag, const struct gp__quota_state *state,
		      u64 now)
{
	struct gp__tag_account *t = *tag ? get_tag(u, tag) : NULL;
	struct gp__gpu_account *a = t ? &t->gpu : &u->gpu;

	if (*tag && !t)
		return -ENOMEM;
	a->quota = state->quota;
	a->full_at = now + gp__min_u64(state->full_in, DEBT_MAX);
	a->over = state->over;
	a->over = is_over(a, now);
	return 0;
}

bool gp__quota_forget(struct gp__user *u, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &u->tag_accounts)
	{
		struct gp__tag_account *a = tag_account_of(l);

		if (gp__list_empty(&a->groups) && !missing(&a->gpu, now))
			free_tag(a);
	}
	return !missing(&u->gpu, now) && gp__list_empty(&u->tag_accounts);
}

void gp__quota_free(struct gp__user *u)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &u->tag_accounts) free_tag(tag_account_of(l));
}
