// SPDX-License-Identifier: MIT
/*
 * Checks the claims of programs by inspecting their processes (inspect.h).
 *
 * A program whose devices have not been seen, because it has none open or because the inspection
 * has not answered yet, shares a GPU only with programs of its own user. It is inspected when it
 * adds a queue and, while it holds others, about once a second.
 *
 * A program that is stopped or frozen holds no other. This is checked ten times a second, of
 * programs with work on a GPU where another with work is held, and of those that were found
 * stopped while any program has work. Otherwise nothing ticks. An inspection for which the daemon
 * lacks memory or descriptors is repeated after a second.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "daemon/memory.h"
#include "daemon/server.h"

#define CHECK_NS (100 * GP__MS)
#define SCAN_NS GP__S

static bool asks_devices(const struct gp__server *s)
{
	return !s->registry.one_user;
}

/*
 * Answers
 */

static void set_stopped(struct gp__server *s, struct gp__program *p, bool stopped)
{
	if (p->stopped == stopped)
		return;
	gp__log_about(s->log, GP__LOG_INFO, GP__ABOUT(p->pid, p->uid), "process %d, user %u, is %s",
		      (int)p->pid, p->uid,
		      stopped ? "stopped: it holds no other program" : "no longer stopped");
	s->claims.nr_stopped += stopped;
	s->claims.nr_stopped -= !stopped;
	gp__program_stop(p, stopped, s->now);
}

static void scan_later(struct gp__server *s, struct gp__peer *p)
{
	p->scan_again = true;
	s->claims.retry_at = gp__min_u64(s->claims.retry_at, s->now + SCAN_NS);
}

/*
 * A change may move all queues of the program. One that closes devices does not get them back at
 * once, so that it cannot keep the daemon busy by closing and opening them.
 */
static void set_devices(struct gp__server *s, struct gp__peer *p, struct gp__devices *devices)
{
	bool before = gp__devices_any_open(p->program.devices);
	bool after = gp__devices_any_open(devices);

	if (gp__devices_any_closed(p->program.devices, devices)) {
		p->closed_at = s->now;
	} else if (p->closed_at && s->now - p->closed_at < SCAN_NS) {
		free(devices);
		scan_later(s, p);
		return;
	}
	free(p->program.devices);
	p->program.devices = devices;
	if (before != after)
		gp__log_about(s->log, GP__LOG_INFO, GP__ABOUT(p->cred.pid, p->cred.uid),
			      "process %d, user %u, %s", (int)p->cred.pid, p->cred.uid,
			      after ? "has a GPU open" : "has no GPU open any more");
	gp__program_place(&s->registry, &p->program, s->now);
	gp__memory_changed(&s->registry, &p->program);
}

/* Whether the daemon lacks memory or descriptors, rather than permission. */
static bool is_temporary(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

static void warn(struct gp__server *s, const struct gp__peer *p, int err)
{
	s->claims.warned = true;
	gp__log_warning(s->log,
			"cannot see which devices process %d has open: %s; programs like it are "
			"scheduled only among those of their user: gpreemptd needs CAP_SYS_PTRACE",
			(int)p->cred.pid, strerror(-err));
}

static void set_failed(struct gp__server *s, struct gp__peer *p, int err)
{
	if (is_temporary(err))
		scan_later(s, p);
	else if (err != -ESRCH && !s->claims.warned) /* ESRCH: it has ended */
		warn(s, p, err);
}

static void answered(struct gp__server *s, struct gp__source *source, u32 events)
{
	struct gp__inspection_answer a;
	eventfd_t count;

	(void)events;
	eventfd_read(source->fd, &count);
	while (gp__inspection_take(&s->claims.inspector, &a)) {
		struct gp__peer *p = a.program;

		if (a.what & GP__ASK_STOPPED)
			set_stopped(s, &p->program, a.stopped);
		if (!(a.what & GP__ASK_DEVICES))
			continue;
		if (a.err)
			set_failed(s, p, a.err);
		else
			set_devices(s, p, a.devices);
	}
	gp__registry_settle(&s->registry, s->now);
}

/*
 * Questions
 */

static void ask(struct gp__server *s, struct gp__peer *p, u8 what)
{
	if (what & GP__ASK_DEVICES)
		p->scanned_at = s->now;
	if (p->inspection)
		gp__inspection_ask(&s->claims.inspector, p->inspection, what);
}

void gp__claims_added(struct gp__server *s, struct gp__peer *p)
{
	if (!p->inspection && p->life.fd >= 0 && !s->claims.off)
		p->inspection = gp__inspection_begin(&s->claims.inspector, p->cred.pid, p->life.fd,
						     p->cred.uid, p);
	if (asks_devices(s))
		ask(s, p, GP__ASK_DEVICES);
}

void gp__claims_memory(struct gp__server *s, struct gp__peer *p)
{
	if (asks_devices(s) && p->inspection)
		scan_later(s, p);
}

void gp__claims_end(struct gp__server *s, struct gp__peer *p)
{
	if (p->inspection)
		gp__inspection_end(&s->claims.inspector, p->inspection);
	p->inspection = NULL;
	s->claims.nr_stopped -= p->program.stopped;
	p->program.stopped = false;
	free(p->program.devices);
	p->program.devices = NULL;
}

/* Whether a program with work is held on a GPU while this group has work there. */
static bool holds_others(const struct gp__group *g)
{
	const struct gp__dev *d = &g->gpu->dev;

	return g->entity.on && d->nr_awake > d->nr_on;
}

static void check_programs(struct gp__server *s)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->registry.groups)
	{
		const struct gp__group *g = container_of(l, struct gp__group, link);
		struct gp__peer *p = g->program->peer;
		bool holds = holds_others(g);

		if (holds || g->program->stopped)
			ask(s, p, GP__ASK_STOPPED);
		if (holds && g->gpu->is_shared && s->now - p->scanned_at >= SCAN_NS)
			ask(s, p, GP__ASK_DEVICES);
	}
}

static bool any_work(const struct gp__server *s)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->registry.gpus)
	{
		if (container_of(l, struct gp__gpu, link)->dev.nr_awake)
			return true;
	}
	return false;
}

static u64 repeat_scans(struct gp__server *s)
{
	struct gp__link *l, *n;

	if (s->now < s->claims.retry_at)
		return s->claims.retry_at;
	s->claims.retry_at = GP__NEVER;
	gp__list_each(l, n, &s->peers)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, link);

		if (p->scan_again)
			ask(s, p, GP__ASK_DEVICES);
		p->scan_again = false;
	}
	return GP__NEVER;
}

static u64 check_holders(struct gp__server *s)
{
	struct gp__claims *c = &s->claims;

	if (!s->registry.nr_held && !(c->nr_stopped && any_work(s)))
		return GP__NEVER;
	if (s->now - c->checked_at >= CHECK_NS) {
		check_programs(s);
		c->checked_at = s->now;
	}
	return c->checked_at + CHECK_NS;
}

u64 gp__claims_wake(struct gp__server *s)
{
	return gp__min_u64(check_holders(s), repeat_scans(s));
}

/*
 * Opening
 */

int gp__claims_open(struct gp__server *s)
{
	struct gp__claims *c = &s->claims;
	int err = gp__inspector_open(&c->inspector);

	if (err)
		return err;
	/* Only root inspects the processes of others; another user's daemon has one user. */
	s->registry.one_user = geteuid();
	c->retry_at = GP__NEVER;
	gp__claims_configure(s);
	c->answers = (struct gp__source){ c->inspector.answers_fd, answered };
	return gp__server_watch(s, &c->answers, EPOLLIN);
}

void gp__claims_close(struct gp__server *s)
{
	if (s->claims.answers.fd >= 0) /* else it was never opened */
		gp__inspector_close(&s->claims.inspector);
	s->claims.answers.fd = -1;
}

void gp__claims_configure(struct gp__server *s)
{
	struct gp__link *l, *n;

	gp__inspector_configure(&s->claims.inspector, s->config.devices);
	gp__list_each(l, n, &s->peers)
	{
		if (asks_devices(s))
			ask(s, container_of(l, struct gp__peer, link), GP__ASK_DEVICES);
	}
}
