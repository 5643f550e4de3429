// SPDX-License-Identifier: MIT
/*
 * Programs on AMD GPUs that have not joined, and are scheduled all the same: each has a helper
 * (src/watch), which is its agent from outside. The helper's connection is made here and has the
 * identity of the program, so that the rest of the daemon treats it as the program's own: its
 * user's limits apply, and its groups are those of a program that joined.
 *
 * A thread finds the programs and starts the helpers (watch_thread.h). A helper is of no use once
 * its connection has ended: if it does not end by itself, which a call into the driver may delay,
 * it is killed. The driver releases what it held in any case.
 *
 * A program that joins is not watched from then on. A helper that ends is followed by another one,
 * after an interval that grows.
 */
#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "daemon/server.h"

/* Of gpreempt-watch: it says why the program cannot be watched, or is not to be. */
#define STATUS_UNWATCHABLE 3
#define STATUS_JOINS 4

#define AGAIN_MIN_NS GP__S
#define AGAIN_MAX_NS (60 * GP__S)
#define LINES_MAX 4096
/* How long a helper may take to end, and to carry out an order. The driver gives up after nine
 * seconds. */
#define END_NS (2 * GP__S)
#define ORDER_NS (15 * GP__S)
#define CHECK_NS GP__S

enum state {
	WAITS, /* for its turn, or for another attempt */
	STARTING,
	RUNS, /* its helper does */
};

struct target {
	struct gp__link link;
	struct gp__found is;
	enum state state;
	bool is_there; /* scratch: it was found again */
	u64 retry_at;
	u32 nr_tries; /* since it was last watched */
	struct gp__source helper; /* a pidfd; -1: it has none */
	pid_t helper_pid;
	int lines; /* that the helper says */
	u64 ticket; /* of the helper's connection */
	u64 kill_at; /* 0: it may live */
	bool unwatchable;
	char why[GP__WIRE_TEXT_MAX]; /* the last line; "": none */
};

/*
 * Connections
 */

static struct gp__peer *peer_of(const struct gp__server *s, const struct target *t)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, (struct gp__link *)&s->peers)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, link);

		if (p->is_helper && p->ticket == t->ticket && !p->dead)
			return p;
	}
	return NULL;
}

bool gp__watches_has_joined(const struct gp__server *s, pid_t pid)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, (struct gp__link *)&s->registry.programs)
	{
		const struct gp__program *p = container_of(l, struct gp__program, link);

		if (p->pid == pid && !((const struct gp__peer *)p->peer)->is_helper)
			return true;
	}
	return false;
}

/* Ends the connection of its helper, which then ends as well. */
static void let_go(struct gp__server *s, struct target *t)
{
	struct gp__peer *p = t->state == RUNS ? peer_of(s, t) : NULL;

	if (p)
		gp__peer_drop(s, p, NULL);
	if (t->state == RUNS && !t->kill_at)
		t->kill_at = s->now + END_NS;
}

void gp__watches_joined(struct gp__server *s, pid_t pid)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->watches.targets)
	{
		struct target *t = container_of(l, struct target, link);

		if (t->is.pid == pid)
			let_go(s, t);
	}
}

/*
 * The helper's end
 */

static void free_target(struct gp__server *s, struct target *t)
{
	if (t->helper.fd >= 0) {
		gp__server_unwatch(s, &t->helper);
		close(t->helper.fd);
		close(t->lines);
	}
	gp__list_del(&t->link);
	s->watches.nr_targets--;
	free(t);
}

/* Forgets programs that have ended and have no helper any more. */
static void sweep(struct gp__server *s)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->watches.targets)
	{
		struct target *t = container_of(l, struct target, link);

		if (!t->is_there && t->state == WAITS)
			free_target(s, t);
	}
}

static void read_lines(struct target *t)
{
	char text[LINES_MAX], *end, *begin;
	ssize_t n = read(t->lines, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	end = strrchr(text, '\n');
	if (!end)
		return;
	*end = '\0';
	begin = strrchr(text, '\n');
	gp__wire_text(t->why, sizeof(t->why), begin ? begin + 1 : text);
}

static void try_later(struct gp__server *s, struct target *t, u64 ns)
{
	t->state = WAITS;
	t->retry_at = s->now + ns;
	t->nr_tries++;
}

static u64 interval(const struct target *t)
{
	return gp__min_u64(AGAIN_MIN_NS << gp__min_u64(t->nr_tries, 6), AGAIN_MAX_NS);
}

static void judge_end(struct gp__server *s, struct target *t, const siginfo_t *info)
{
	bool exited = info->si_code == CLD_EXITED;

	t->unwatchable = exited && info->si_status == STATUS_UNWATCHABLE;
	if (t->unwatchable) {
		gp__log_info(s->log, "%s (pid %d) cannot be watched: %s", t->is.name,
			     (int)t->is.pid, t->why);
		try_later(s, t, AGAIN_MAX_NS);
	} else if (exited && info->si_status == STATUS_JOINS) {
		try_later(s, t, AGAIN_MAX_NS);
	} else {
		if (!exited)
			gp__log_warning(s->log,
					"the helper that watched %s (pid %d) was ended by signal "
					"%d; the program runs unscheduled until it is watched "
					"again",
					t->is.name, (int)t->is.pid, info->si_status);
		try_later(s, t, interval(t));
	}
}

static void helper_ended(struct gp__server *s, struct gp__source *source, u32 events)
{
	struct target *t = container_of(source, struct target, helper);
	struct gp__peer *p = peer_of(s, t);
	siginfo_t info = { 0 };

	(void)events;
	if (waitid(P_PIDFD, (id_t)source->fd, &info, WEXITED | WNOHANG) || !info.si_pid)
		return;
	if (p)
		gp__peer_drop(s, p, NULL);
	read_lines(t);
	gp__server_unwatch(s, source);
	close(source->fd);
	close(t->lines);
	source->fd = t->lines = -1;
	t->kill_at = 0;
	judge_end(s, t, &info);
	sweep(s);
	gp__registry_settle(&s->registry, s->now);
}

static void kill_helper(const struct target *t)
{
	syscall(SYS_pidfd_send_signal, t->helper.fd, SIGKILL, NULL, 0);
}

/*
 * The helper's beginning
 */

static struct target *find(struct gp__watches *w, const struct gp__found *f)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &w->targets)
	{
		struct target *t = container_of(l, struct target, link);

		if (t->is.pid == f->pid && t->is.start == f->start)
			return t;
	}
	return NULL;
}

static void close_helper(const struct gp__helper *h)
{
	close(h->target);
	close(h->socket);
	close(h->life);
	close(h->lines);
}

/* Without a target the program has ended meanwhile; its helper ends with the connection. */
static void helper_started(struct gp__server *s, const struct gp__helper *h)
{
	struct target *t = find(&s->watches, &h->of);
	const char *why = NULL;
	struct gp__peer *p;

	if (!t) {
		if (!h->err)
			close_helper(h);
		return;
	}
	if (h->err) {
		if (h->err != -ESRCH)
			snprintf(t->why, sizeof(t->why), "its helper cannot be started: %s",
				 strerror(-h->err));
		t->unwatchable = h->err != -ESRCH;
		try_later(s, t, interval(t));
		return;
	}
	t->state = RUNS;
	t->unwatchable = false;
	t->helper = (struct gp__source){ h->life, helper_ended };
	t->helper_pid = h->pid;
	t->lines = h->lines;
	p = gp__listener_add_helper(s, h, &why);
	t->ticket = p ? p->ticket : 0;
	*t->why = '\0';
	if (gp__server_watch(s, &t->helper, EPOLLIN))
		kill_helper(t);
}

/*
 * Programs
 */

static struct target *add_target(struct gp__watches *w, const struct gp__found *f)
{
	struct target *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->is = *f;
	t->helper.fd = t->lines = -1;
	gp__list_push(&w->targets, &t->link);
	w->nr_targets++;
	return t;
}

/* Programs that have ended are forgotten with their helpers, which see it as well. */
static void take_found(struct gp__server *s, const struct gp__found *found, u32 nr)
{
	struct gp__watches *w = &s->watches;
	struct gp__link *l, *n;

	gp__list_each(l, n, &w->targets) container_of(l, struct target, link)->is_there = false;
	for (u32 i = 0; i < nr; i++) {
		struct target *t = find(w, &found[i]);

		if (!t)
			t = add_target(w, &found[i]);
		if (!t)
			continue;
		t->is_there = true;
		/* execve() changes it. */
		memcpy(t->is.name, found[i].name, sizeof(t->is.name));
	}
}

static void start_next(struct gp__server *s)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->watches.targets)
	{
		struct target *t = container_of(l, struct target, link);

		if (t->state != WAITS || !t->is_there || s->now < t->retry_at ||
		    gp__watches_has_joined(s, t->is.pid))
			continue;
		if (gp__watch_thread_start(&s->watches.thread, &t->is))
			t->state = STARTING;
		return;
	}
}

static void news_came(struct gp__server *s, struct gp__source *source, u32 events)
{
	struct gp__watches *w = &s->watches;
	struct gp__helper helper;
	struct gp__found *found;
	eventfd_t times;
	u32 nr;

	(void)events;
	eventfd_read(source->fd, &times);
	if (gp__watch_thread_started(&w->thread, &helper))
		helper_started(s, &helper);
	if (gp__watch_thread_take(&w->thread, &found, &nr)) {
		take_found(s, found, nr);
		free(found);
	}
	sweep(s);
	start_next(s);
	gp__registry_settle(&s->registry, s->now);
}

/* Whether an order has waited for too long: the helper hangs. */
static bool is_late(const struct gp__server *s, const struct gp__peer *p)
{
	for (u32 i = 0; p->queue && i < p->nr_slots; i++) {
		const struct gp__program_queue *q = p->queue[i];

		if (q && q->waits && s->now - q->issued_at > ORDER_NS)
			return true;
	}
	return false;
}

static void check_helper(struct gp__server *s, struct target *t)
{
	struct gp__peer *p = peer_of(s, t);

	if (!p && !t->kill_at)
		t->kill_at = s->now + END_NS;
	if (p && p->program.nr_queues)
		t->nr_tries = 0;
	if (p && is_late(s, p)) {
		gp__log_warning(s->log,
				"the helper that watches %s (pid %d) does not carry out its "
				"orders, and is killed",
				t->is.name, (int)t->is.pid);
		gp__peer_drop(s, p, NULL);
		kill_helper(t);
	} else if (t->kill_at && s->now >= t->kill_at) {
		kill_helper(t);
		t->kill_at = s->now + END_NS;
	}
}

u64 gp__watches_wake(struct gp__server *s)
{
	struct gp__watches *w = &s->watches;
	struct gp__link *l, *n;

	if (!w->nr_targets)
		return GP__NEVER;
	if (s->now < w->check_at)
		return w->check_at;
	gp__list_each(l, n, &w->targets)
	{
		struct target *t = container_of(l, struct target, link);

		if (t->state == RUNS)
			check_helper(s, t);
	}
	w->check_at = s->now + CHECK_NS;
	return w->check_at;
}

bool gp__watches_is_helper(const struct gp__server *s, pid_t pid)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, (struct gp__link *)&s->watches.targets)
	{
		const struct target *t = container_of(l, struct target, link);

		if (t->helper.fd >= 0 && t->helper_pid == pid)
			return true;
	}
	return false;
}

json_t *gp__watches_json(const struct gp__server *s, pid_t pid)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, (struct gp__link *)&s->watches.targets)
	{
		const struct target *t = container_of(l, struct target, link);
		const struct gp__peer *p = t->state == RUNS ? peer_of(s, t) : NULL;
		json_t *o;

		if (t->is.pid != pid)
			continue;
		o = json_object();
		json_object_set_new(o, "state",
				    json_string(t->unwatchable		    ? "unwatchable"
						: p && p->program.nr_queues ? "watched"
									    : "waits"));
		json_object_set_new(o, "why", gp__json_text(*t->why ? t->why : NULL));
		json_object_set_new(o, "helper",
				    t->helper.fd >= 0 ? json_integer(t->helper_pid) : json_null());
		return o;
	}
	return json_null();
}

/*
 * Opening
 */

/* The helper's file, beside the daemon where both were built, or where it is installed. */
static bool find_program(char path[PATH_MAX])
{
	char self[PATH_MAX], built[2 * PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	snprintf(built, sizeof(built), "%s/../watch/gpreempt-watch", dirname(self));
	if (!access(built, X_OK) && realpath(built, path))
		return true;
	snprintf(path, PATH_MAX, "%s", GP_LIBEXEC_DIR "/gpreempt-watch");
	return !access(path, X_OK);
}

int gp__watches_open(struct gp__server *s)
{
	struct gp__watches *w = &s->watches;
	char program[PATH_MAX];
	int err;

	if (geteuid()) {
		gp__log_error(s->log, "only root may watch programs that have not joined; run "
				      "gpreemptd --watch as root");
		return -EPERM;
	}
	if (!find_program(program)) {
		gp__log_error(s->log, "cannot find %s; install gpreempt, or build all of it",
			      program);
		return -ENOENT;
	}
	if (access("/sys/class/kfd/kfd", F_OK))
		gp__log_warning(s->log, "there is no AMD GPU, or amdgpu is not loaded: no program "
					"is watched until it is; load it with modprobe amdgpu");
	err = gp__watch_thread_open(&w->thread, program);
	w->on = true;
	w->done = (struct gp__source){ w->thread.done_fd, news_came };
	if (!err)
		err = gp__server_watch(s, &w->done, EPOLLIN);
	if (err)
		gp__log_error(s->log, "cannot watch programs: %s", strerror(-err));
	return err;
}

void gp__watches_close(struct gp__server *s)
{
	struct gp__watches *w = &s->watches;
	struct gp__link *l, *n;

	if (!w->on)
		return;
	gp__watch_thread_close(&w->thread);
	gp__list_each(l, n, &w->targets) free_target(s, container_of(l, struct target, link));
	w->done.fd = -1;
	w->on = false;
}
