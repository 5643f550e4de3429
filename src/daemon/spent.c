// SPDX-License-Identifier: MIT
/*
 * Keeps what users have spent of their GPU time in a file, so that a restart renews no quota.
 *
 * The file is written every 10 s while a program with a quota works, and when the daemon ends.
 * After a crash, the time since then is not counted. It has the time until each account is full
 * again and the time of writing, so time without a daemon fills accounts as time with one does. A
 * clock that was put back counts as one that has stopped meanwhile.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/server.h"

#define HEADER "# GPU time that users have spent of gpu_time, for the next gpreemptd\n"
#define SAVE_NS (10 * GP__S)
#define LINES_MAX 65536

static u64 wall_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (u64)now.tv_sec * GP__S + (u64)now.tv_nsec;
}

/*
 * Reading
 */

/* "account UID NS PERIOD FULL_IN OVER [TAG]". The tag of a line without one is empty. */
static bool read_account(struct gp__server *s, const char *line, u64 passed)
{
	struct gp__quota_state state;
	char tag[GP__TAG_MAX] = "";
	unsigned int uid, over;
	struct gp__user *u;
	int n;

	n = sscanf(line, "account %u %" SCNu64 " %" SCNu64 " %" SCNu64 " %u %31s", &uid,
		   &state.quota.ns, &state.quota.period, &state.full_in, &over, tag);
	if (n < 5 || !state.quota.ns || !state.quota.period)
		return false;
	state.over = over;
	state.full_in -= gp__min_u64(state.full_in, passed);
	if (!state.full_in)
		return true;
	u = gp__user_get(&s->registry.users, uid);
	return u && !gp__quota_restore(u, tag, &state, s->now);
}

static int read_lines(struct gp__server *s, FILE *f)
{
	u64 now = wall_clock(), then = 0, passed = 0;
	char line[256];

	for (u32 i = 0; i < LINES_MAX && fgets(line, sizeof(line), f); i++) {
		if (*line == '#')
			continue;
		if (sscanf(line, "written %" SCNu64, &then) == 1)
			passed = now > then ? now - then : 0;
		else if (!then || !read_account(s, line, passed))
			return -EINVAL;
	}
	return ferror(f) ? -EIO : 0;
}

static void read_spent(struct gp__server *s)
{
	const char *path = s->spent.keeper.path;
	int err;
	FILE *f = gp__keep_read(path, &err);

	if (f) {
		err = read_lines(s, f);
		fclose(f);
	}
	s->spent.has_file = err != -ENOENT;
	if (err == -EPERM)
		gp__log_error(s->log,
			      "%s is not a file that only gpreemptd can write; it is ignored: "
			      "remove it, or choose a folder that is not shared with --socket",
			      path);
	else if (err && err != -ENOENT)
		gp__log_error(s->log,
			      "cannot read all of %s: %s; some users get their GPU time (gpu_time) "
			      "anew",
			      path, strerror(-err));
}

/*
 * Writing
 */

static void write_account(FILE *f, const struct gp__user *u, const struct gp__gpu_account *a,
			  const char *tag, u64 now)
{
	struct gp__quota_state state = gp__quota_state(a, now);

	if (state.quota.ns && state.full_in)
		fprintf(f, "account %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %d%s%s\n", u->uid,
			state.quota.ns, state.quota.period, state.full_in, state.over,
			*tag ? " " : "", tag);
}

static void write_user(FILE *f, const struct gp__user *u, u64 now)
{
	const struct gp__link *l;

	write_account(f, u, &u->gpu, "", now);
	for (l = u->tag_accounts.next; l != &u->tag_accounts; l = l->next) {
		const struct gp__tag_account *t = container_of(l, struct gp__tag_account, link);

		write_account(f, u, &t->gpu, t->tag, now);
	}
}

/* The lines of the file, from malloc(); "": there are none. NULL: out of memory. */
static char *spent_text(const struct gp__server *s)
{
	const struct gp__link *l;
	char *text = NULL;
	size_t size;
	long empty;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fprintf(f, HEADER "written %" PRIu64 "\n", wall_clock());
	empty = ftell(f);
	for (l = s->registry.users.next; l != &s->registry.users; l = l->next)
		write_user(f, container_of(l, struct gp__user, link), s->now);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	if (size <= (size_t)empty && text)
		*text = '\0';
	return text;
}

static void save(struct gp__server *s)
{
	char *text = spent_text(s);
	bool any = text && *text;

	if (*s->spent.keeper.path && (any || s->spent.has_file))
		gp__keeper_put(&s->spent.keeper, text);
	else
		free(text);
	s->spent.has_file = any;
}

static void saved(struct gp__server *s, struct gp__source *source, u32 events)
{
	struct gp__keeper *k = &s->spent.keeper;

	(void)source;
	(void)events;
	gp__keeper_done(k);
	if (k->runs || k->result == s->spent.told)
		return;
	s->spent.told = k->result;
	if (k->result)
		gp__log_error(s->log,
			      "cannot write %s: %s; after a restart users get their GPU time "
			      "(gpu_time) anew",
			      k->path, strerror(-k->result));
}

int gp__spent_open(struct gp__server *s, const char *socket_path)
{
	char path[PATH_MAX];
	int err;

	gp__keep_path(path, sizeof(path), "quota", socket_path);
	err = gp__keeper_open(&s->spent.keeper, path);
	if (err)
		return err;
	s->spent.done = (struct gp__source){ s->spent.keeper.done_fd, saved };
	if (*path)
		read_spent(s);
	return gp__server_watch(s, &s->spent.done, EPOLLIN);
}

u64 gp__spent_wake(struct gp__server *s)
{
	u64 next = s->spent.saved_at + SAVE_NS;

	if (!gp__quotas_work(&s->registry))
		return GP__NEVER;
	if (s->now < next)
		return next;
	s->spent.saved_at = s->now;
	gp__quotas_charge(&s->registry, s->now);
	save(s);
	return s->now + SAVE_NS;
}

void gp__spent_close(struct gp__server *s)
{
	if (s->spent.keeper.done_fd >= 0)
		save(s);
	gp__keeper_close(&s->spent.keeper);
}
