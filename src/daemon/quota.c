// SPDX-License-Identifier: MIT
#include "daemon/quota.h"

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

u64 gp__quota_spent(const struct gp__user *u, u64 now)
{
	const struct gp__gpu_account *a = &u->gpu;

	return a->quota.ns ? scale(missing(a, now), a->quota.ns, a->quota.period) : 0;
}

void gp__quota_charge(struct gp__group *g, u64 now)
{
	struct gp__gpu_account *a = &g->program->user->gpu;
	u64 used = gp__entity_used(&g->entity, now), more = used - g->charged;

	g->charged = used;
	if (!a->quota.ns)
		return;
	more = missing(a, now) + scale(more, a->quota.period, a->quota.ns);
	a->full_at = now + gp__min_u64(more, DEBT_MAX);
}

static bool is_over(const struct gp__gpu_account *a, u64 now)
{
	u64 period = a->quota.period;

	return a->quota.ns && missing(a, now) > (a->over ? period - period / AGAIN_PART : period);
}

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

/* When the bucket may be empty, or a tenth of it is there again. */
static u64 next_check(const struct gp__registry *r, const struct gp__user *u, u64 now)
{
	const struct gp__gpu_account *a = &u->gpu;
	u64 period = a->quota.period, left, wait;
	u32 gpus = nr_gpus(r, u);

	if (a->over)
		return a->full_at - (period - period / AGAIN_PART);
	if (!gpus)
		return 0;
	left = scale(period - gp__min_u64(missing(a, now), period), a->quota.ns, period);
	wait = left / gpus;
	return now + gp__max_u64(wait, CHECK_NS);
}

static void charge_all(struct gp__registry *r, const struct gp__user *u, u64 now)
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
			gp__group_exceed(g, u->gpu.over, now);
	}
	u->gpu.check_at = u->gpu.quota.ns ? next_check(r, u, now) : 0;
}

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

void gp__quota_set(struct gp__registry *r, struct gp__user *u, struct gp__quota quota, u64 now)
{
	struct gp__gpu_account *a = &u->gpu;
	u64 spent;

	if (quota.ns == a->quota.ns && quota.period == a->quota.period)
		return;
	charge_all(r, u, now);
	/* Time that was spent stays spent. */
	spent = gp__quota_spent(u, now);
	a->quota = quota;
	a->full_at = quota.ns ? now + scale(spent, quota.period, quota.ns) : 0;
	decide(r, u, now);
	note_programs(r, u);
}

void gp__quota_check(struct gp__user *u, u64 now)
{
	u->gpu.check_at = now;
}

u64 gp__quotas_wake(struct gp__registry *r, u64 now)
{
	u64 wake = GP__NEVER;
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->users)
	{
		struct gp__user *u = container_of(l, struct gp__user, link);
		struct gp__gpu_account *a = &u->gpu;

		if (!a->quota.ns)
			continue;
		if (!a->check_at)
			a->check_at = next_check(r, u, now);
		if (a->check_at && now >= a->check_at) {
			charge_all(r, u, now);
			decide(r, u, now);
		}
		wake = gp__min_u64(wake, a->check_at ? a->check_at : GP__NEVER);
	}
	return wake;
}
