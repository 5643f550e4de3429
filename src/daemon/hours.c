// SPDX-License-Identifier: MIT
/*
 * Puts the limits that are configured for some times of the day into force.
 *
 * One timer waits for the next time at which a section begins or ends, or at which the clock is put
 * forward or back. Somebody who sets the clock ends the wait as well. Without such sections, there
 * is nothing to wait for.
 */
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "daemon/server.h"
#include "daemon/verdict.h"

static time_t wall_clock(void)
{
	struct timespec now;

	/* time() may be a tick behind the timer. */
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec;
}

static void wait_for(const struct gp__server *s, time_t when)
{
	struct itimerspec at = { .it_value.tv_sec = when };

	if (timerfd_settime(s->hours.fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &at, NULL))
		gp__log_warning(s->log,
				"cannot wait for the next time of a section: %s; reload the "
				"configuration then",
				strerror(errno));
}

void gp__hours_configure(struct gp__server *s)
{
	struct gp__limits *l = &s->config.limits;
	time_t now = wall_clock();

	gp__limits_at(l, now);
	s->limits_until = gp__limits_next(l, now);
	wait_for(s, s->limits_until);
}

static void limit_program(struct gp__server *s, struct gp__peer *p)
{
	gp__quota_set(&s->registry, p->user, gp__peer_quota(p), s->now);
	gp__verdict_limit(&s->registry, &p->program, !p->admin, p->limit.max_priority, s->now);
}

void gp__hours_apply(struct gp__server *s)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->peers)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, link);

		gp__listener_permit(s, p);
		if (p->role == GP__WIRE_AGENT && !p->dead)
			limit_program(s, p);
		if (!p->admin)
			gp__list_del(&p->watching);
	}
	gp__quota_set_tags(&s->registry, s->now);
}

/* The time is there, or somebody has set the clock. */
static void due(struct gp__server *s, struct gp__source *source, u32 events)
{
	u64 times;

	(void)events;
	if (read(source->fd, &times, sizeof(times)) < 0 && errno != ECANCELED)
		return;
	gp__hours_configure(s);
	gp__hours_apply(s);
	for (u32 i = 0; i < s->config.limits.nr_sections; i++) {
		const struct gp__section *section = &s->config.limits.section[i];

		if (gp__span_is_timed(&section->span) && section->applies)
			gp__log_info(s->log, "[%s] applies now", section->name);
	}
}

int gp__hours_open(struct gp__server *s)
{
	int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	s->hours = (struct gp__source){ fd, due };
	gp__hours_configure(s);
	return gp__server_watch(s, &s->hours, EPOLLIN);
}

void gp__hours_close(struct gp__server *s)
{
	if (s->hours.fd >= 0)
		close(s->hours.fd);
}
