// SPDX-License-Identifier: MIT
/*
 * Serves users in turns, so that the connections of one user, however many and busy they are, delay
 * those of others by one piece of work at a time.
 */
#include "base/clock.h"
#include "daemon/server.h"

/* The daemon begins nothing more in a turn after this time. */
#define TURN_NS (300 * GP__US)

void gp__serve_begin(struct gp__server *s)
{
	s->turn_end = s->now + TURN_NS;
}

void gp__serve_later(struct gp__server *s, struct gp__peer *p, enum gp__lane_kind kind)
{
	struct gp__lane *lane = &p->user->lane[kind];

	if (!gp__list_empty(&p->lane[kind]))
		return;
	gp__list_push(&lane->peers, &p->lane[kind]);
	if (gp__list_empty(&lane->link))
		gp__list_push(&s->lane[kind], &lane->link);
}

static void leave(struct gp__peer *p, enum gp__lane_kind kind)
{
	struct gp__lane *lane = &p->user->lane[kind];

	gp__list_del(&p->lane[kind]);
	if (gp__list_empty(&lane->peers))
		gp__list_del(&lane->link);
}

void gp__serve_never(struct gp__peer *p)
{
	for (u32 kind = 0; kind < GP__LANES; kind++)
		leave(p, kind);
}

static void charge(struct gp__server *s, struct gp__peer *p, u64 begin)
{
	if (!p->admin)
		gp__user_charge(p->user, gp__clock_ns() - begin, p->limit.time_pct, s->now);
}

/* Serves the first connection of the first user, and puts both at the end. False: not now. */
static bool serve_first(struct gp__server *s, enum gp__lane_kind kind, struct gp__lane *lane,
			struct gp__peer *p, gp__serve_fn *serve)
{
	u64 begin = gp__clock_ns();
	enum gp__served served = serve(s, p);

	if (served == GP__SERVED_NOT)
		return false;
	charge(s, p, begin);
	leave(p, kind);
	if (served == GP__SERVED_PART && !p->dead)
		gp__list_push(&lane->peers, &p->lane[kind]);
	gp__list_del(&lane->link);
	if (!gp__list_empty(&lane->peers))
		gp__list_push(&s->lane[kind], &lane->link);
	return true;
}

u64 gp__serve(struct gp__server *s, enum gp__lane_kind kind, gp__serve_fn *serve)
{
	struct gp__link *users = &s->lane[kind], slowed, *l, *n;
	u64 wake = GP__NEVER;
	bool more = true;

	gp__list_init(&slowed);
	while (more && !gp__list_empty(users)) {
		struct gp__lane *lane = container_of(users->next, struct gp__lane, link);
		struct gp__peer *p =
			container_of(lane->peers.next - kind, struct gp__peer, lane[0]);

		if (!p->admin && !gp__user_may_work(p->user, s->now)) {
			wake = gp__min_u64(wake, gp__user_ready_at(p->user));
			gp__list_del(&lane->link);
			gp__list_push(&slowed, &lane->link);
			continue;
		}
		more = serve_first(s, kind, lane, p, serve) && gp__clock_ns() < s->turn_end;
		gp__pages_notify(s);
	}
	if (!gp__list_empty(users))
		wake = s->now;
	gp__list_each(l, n, &slowed)
	{
		gp__list_del(l);
		gp__list_push(users, l);
	}
	return wake;
}
