// SPDX-License-Identifier: MIT
/*
 * The processes that have a GPU open, joined or not: for the command line, which asks for them, and
 * for warnings about those that disturb joined programs.
 *
 * A thread finds them (census_thread.h), when somebody asks and, with warn_unjoined, every few
 * seconds while programs are joined.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/units.h"
#include "daemon/server.h"
#include "daemon/show.h"

#define WARN_NS (3 * GP__S)
/* A census is followed by a pause of this many times its length, so that users who ask again and
 * again use at most a tenth of a processor; but not by a longer one than this. */
#define PAUSE_TIMES 9
#define PAUSE_MAX_NS (10 * GP__S)
/* Warnings about one census. */
#define WARNINGS_MAX 8

/*
 * Roles
 */

static int compare_pids(const void *pid, const void *holder)
{
	pid_t a = *(const pid_t *)pid, b = ((const struct gp__holder *)holder)->pid;

	return (a > b) - (a < b);
}

const struct gp__holder *gp__holders_find(const struct gp__holders *h, pid_t pid)
{
	return h->census.nr ? bsearch(&pid, h->census.holder, h->census.nr,
				      sizeof(*h->census.holder), compare_pids)
			    : NULL;
}

static enum gp__holder_role *find_role(struct gp__holders *h, pid_t pid)
{
	const struct gp__holder *found = gp__holders_find(h, pid);

	return found ? &h->role[found - h->census.holder] : NULL;
}

static void find_joined(struct gp__server *s)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->registry.programs)
	{
		const struct gp__program *p = container_of(l, struct gp__program, link);
		enum gp__holder_role *role = find_role(&s->holders, p->pid);

		if (role)
			*role = GP__HOLDER_JOINED;
	}
}

/* A child has its parent's files, and the preload, with which it joins when it computes. */
static bool is_child(struct gp__holders *h, u32 i)
{
	const enum gp__holder_role *parent = find_role(h, h->census.holder[i].parent);

	return parent && *parent == GP__HOLDER_JOINED;
}

static bool has_known_gpu(const struct gp__devices *d)
{
	for (u32 i = 0; i < d->nr; i++) {
		if (d->device[i].is_open && *d->device[i].key)
			return true;
	}
	return false;
}

/* Whether the device tells which GPU the process has: /dev/kfd, for one, is of all AMD GPUs. */
static bool is_gpu(const struct gp__devices *d, u32 i)
{
	return d->device[i].is_open && (*d->device[i].key || !has_known_gpu(d));
}

static bool has_joined_gpu(const struct gp__devices *d, const bool *joined)
{
	for (u32 i = 0; i < d->nr; i++) {
		if (joined[i] && is_gpu(d, i))
			return true;
	}
	return false;
}

/* All holders of a census have the same list of devices. */
static void find_disturbing(struct gp__holders *h)
{
	bool joined[GP__DEVICES_MAX] = { false };

	for (u32 i = 0; i < h->census.nr; i++) {
		const struct gp__devices *d = h->census.holder[i].devices;

		for (u32 k = 0; h->role[i] == GP__HOLDER_JOINED && k < d->nr; k++)
			joined[k] |= is_gpu(d, k);
	}
	for (u32 i = 0; i < h->census.nr; i++) {
		if (h->role[i] == GP__HOLDER_COMPUTES &&
		    has_joined_gpu(h->census.holder[i].devices, joined))
			h->role[i] = GP__HOLDER_DISTURBS;
	}
}

void gp__holders_judge(struct gp__server *s)
{
	struct gp__holders *h = &s->holders;

	for (u32 i = 0; i < h->census.nr; i++)
		h->role[i] = gp__watches_is_helper(s, h->census.holder[i].pid) ? GP__HOLDER_HELPER
			     : h->census.holder[i].computes		       ? GP__HOLDER_COMPUTES
									       : GP__HOLDER_WATCHES;
	find_joined(s);
	for (u32 i = 0; i < h->census.nr; i++) {
		if (h->role[i] == GP__HOLDER_COMPUTES && is_child(h, i))
			h->role[i] = GP__HOLDER_CHILD;
	}
	find_disturbing(h);
}

/*
 * Warnings
 */

static struct gp__known_holder *find_known(struct gp__known_holder *known, u32 nr,
					   const struct gp__holder *h)
{
	for (u32 i = 0; i < nr; i++) {
		if (known[i].pid == h->pid && known[i].start == h->start)
			return &known[i];
	}
	return NULL;
}

static const char *name_gpu(const struct gp__holder *h)
{
	for (u32 i = 0; i < h->devices->nr; i++) {
		if (is_gpu(h->devices, i))
			return h->devices->device[i].file;
	}
	return "a GPU";
}

static void warn_about(const struct gp__server *s, const struct gp__holder *h)
{
	char size[32];
	u64 used;

	if (gp__holder_memory(h, &used))
		gp__format_size(size, sizeof(size), used);
	else
		strcpy(size, "unknown");
	gp__log_about(s->log, GP__LOG_WARNING, GP__ABOUT(h->pid, h->uid),
		      "%s (pid %d, user %u) computes on %s (memory: %s) and has not joined, so "
		      "it disturbs the programs that have: start it with 'gpreempt run'",
		      h->name, (int)h->pid, h->uid, name_gpu(h), size);
}

/* A program opens a GPU before it joins: the second census that finds it counts. */
static void warn(struct gp__server *s)
{
	struct gp__holders *h = &s->holders;
	struct gp__known_holder *now = calloc(h->census.nr + 1, sizeof(*now));
	u32 nr = 0, nr_told = 0, nr_more = 0;

	for (u32 i = 0; now && i < h->census.nr; i++) {
		const struct gp__holder *holder = &h->census.holder[i];
		const struct gp__known_holder *before = find_known(h->known, h->nr_known, holder);

		if (h->role[i] != GP__HOLDER_DISTURBS)
			continue;
		now[nr] = (struct gp__known_holder){ holder->pid, holder->start,
						     before && before->told };
		if (before && !before->told) {
			now[nr].told = true;
			if (nr_told++ < WARNINGS_MAX)
				warn_about(s, holder);
			else
				nr_more++;
		}
		nr++;
	}
	if (nr_more)
		gp__log_warning(s->log,
				"%u more programs have not joined: 'gpreempt ps' lists them",
				nr_more);
	free(h->known);
	h->known = now;
	h->nr_known = nr;
}

/*
 * Taking the census
 */

static void ask(struct gp__server *s)
{
	struct gp__holders *h = &s->holders;

	if (h->asked_at)
		return;
	h->err = s->claims.off ? -ECANCELED : gp__census_thread_ask(&h->thread);
	h->asked_at = h->err ? 0 : s->now;
}

static void taken(struct gp__server *s, struct gp__source *source, u32 events)
{
	struct gp__holders *h = &s->holders;
	struct gp__census census;
	enum gp__holder_role *role;

	(void)source;
	(void)events;
	if (!gp__census_thread_take(&h->thread, &census, &h->err))
		return;
	h->took_ns = s->now - h->asked_at;
	h->asked_at = 0;
	role = calloc(census.nr + 1, sizeof(*role));
	if (h->err || !role) {
		free(role);
		gp__census_free(&census);
		h->err = h->err ? h->err : -ENOMEM;
	} else {
		gp__census_free(&h->census);
		free(h->role);
		h->census = census;
		h->role = role;
		h->taken_at = s->now;
		gp__holders_judge(s);
		if (s->config.warn_unjoined)
			warn(s);
	}
	gp__answers_go_on(s);
}

void gp__holders_want(struct gp__server *s, u64 fresh_ns)
{
	const struct gp__holders *h = &s->holders;
	u64 pause = gp__min_u64(PAUSE_TIMES * h->took_ns, PAUSE_MAX_NS);

	if (!h->taken_at || s->now - h->taken_at >= gp__max_u64(fresh_ns, pause))
		ask(s);
}

u64 gp__holders_wake(struct gp__server *s)
{
	struct gp__holders *h = &s->holders;
	u64 due = gp__max_u64(h->taken_at, h->tried_at) + WARN_NS;

	if (!s->config.warn_unjoined || gp__list_empty(&s->registry.programs))
		return GP__NEVER;
	if (s->now < due)
		return due;
	h->tried_at = s->now;
	ask(s);
	return s->now + WARN_NS;
}

/*
 * Opening
 */

int gp__holders_open(struct gp__server *s)
{
	struct gp__holders *h = &s->holders;
	int err = gp__census_thread_open(&h->thread);

	if (!err)
		err = gp__census_thread_configure(&h->thread, s->config.devices);
	if (err)
		return err;
	h->done = (struct gp__source){ h->thread.done_fd, taken };
	return gp__server_watch(s, &h->done, EPOLLIN);
}

void gp__holders_configure(struct gp__server *s)
{
	/* Out of memory: the patterns before it apply. */
	gp__census_thread_configure(&s->holders.thread, s->config.devices);
}

void gp__holders_close(struct gp__server *s)
{
	struct gp__holders *h = &s->holders;

	if (h->done.fd < 0) /* it was never opened */
		return;
	gp__census_thread_close(&h->thread);
	gp__census_free(&h->census);
	free(h->role);
	free(h->known);
	h->done.fd = -1;
}
