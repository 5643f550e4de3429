// SPDX-License-Identifier: MIT
#include "daemon/user.h"

#include <stdlib.h>

/* The main thread's time that a user may use at once. */
#define TIME_BURST_NS (4 * GP__MS)
/* The seconds of lines that a user may write at once. */
#define LINES_BURST_S 2

bool gp__allowance_take(struct gp__allowance *a, u64 per_s, u64 burst, u64 now)
{
	u64 each = GP__S / per_s, oldest = now > burst * each ? now - burst * each : 0;

	if (a->empty_until < oldest)
		a->empty_until = oldest;
	if (a->empty_until + each > now)
		return false;
	a->empty_until += each;
	return true;
}

/* May overdraw the token bucket; the user then waits until it is refilled. */
static void charge(struct gp__allowance *a, u64 cost_ns, u64 burst_ns, u64 now)
{
	u64 oldest = now > burst_ns ? now - burst_ns : 0;

	a->empty_until = gp__max_u64(a->empty_until, oldest) + cost_ns;
}

struct gp__user *gp__user_get(struct gp__link *users, uid_t uid)
{
	struct gp__link *l, *n;
	struct gp__user *u;

	gp__list_each(l, n, users)
	{
		u = container_of(l, struct gp__user, link);
		if (u->uid == uid)
			return u;
	}
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->uid = uid;
	gp__list_init(&u->tag_accounts);
	for (u32 i = 0; i < GP__LANES; i++) {
		gp__list_init(&u->lane[i].link);
		gp__list_init(&u->lane[i].peers);
	}
	gp__list_push(users, &u->link);
	return u;
}

static void forget(struct gp__user *u)
{
	gp__quota_free(u);
	gp__list_del(&u->link);
	free(u);
}

void gp__users_sweep(struct gp__link *users, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, users)
	{
		struct gp__user *u = container_of(l, struct gp__user, link);

		if (!u->nr_peers && !u->nr_gpus && !atomic_load(&u->nr_closing) &&
		    gp__user_ready_at(u) <= now && gp__quota_forget(u, now))
			forget(u);
	}
}

void gp__users_free(struct gp__link *users)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, users) forget(container_of(l, struct gp__user, link));
}

void gp__user_charge(struct gp__user *u, u64 ns, u32 pct, u64 now)
{
	u->used_ns += ns;
	charge(&u->time, ns * 100 / pct, TIME_BURST_NS * 100 / pct, now);
}

void gp__user_charge_line(struct gp__user *u, u32 per_s, u64 now)
{
	u->nr_lines++;
	charge(&u->lines, GP__S / per_s, LINES_BURST_S * GP__S, now);
}

u64 gp__user_ready_at(const struct gp__user *u)
{
	return gp__max_u64(u->time.empty_until, u->lines.empty_until);
}

bool gp__user_may_work(struct gp__user *u, u64 now)
{
	bool by_time = u->time.empty_until > now, by_lines = u->lines.empty_until > now;

	if (!u->slowed) {
		u->refused[GP__BUDGET_TIME] += by_time;
		u->refused[GP__BUDGET_LOG] += by_lines;
	}
	u->slowed = by_time || by_lines;
	return !u->slowed;
}

const char *gp__budget_name(enum gp__budget b)
{
	static const char *const names[GP__BUDGET_COUNT] = {
		[GP__BUDGET_CONNECTIONS] = "connections",
		[GP__BUDGET_PROGRAMS] = "programs",
		[GP__BUDGET_QUEUES] = "queues",
		[GP__BUDGET_GROUPS] = "groups",
		[GP__BUDGET_GPUS] = "gpus",
		[GP__BUDGET_GANGS] = "gangs",
		[GP__BUDGET_HINTS] = "hints",
		[GP__BUDGET_UNSENT] = "unsent",
		[GP__BUDGET_MESSAGES] = "messages",
		[GP__BUDGET_TIME] = "time",
		[GP__BUDGET_LOG] = "log",
	};

	return names[b];
}
