// SPDX-License-Identifier: MIT
/*
 * Plays a recorded decision log for the live view. The history of the log answers in place of the
 * daemon, and the lines between two answers are passed on as the daemon would. Time is the log's
 * own, and goes as fast as the user wants.
 */
#include "cli/top.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "policy/policy.h"

#define LIST_NS (1000 * GP__MS)
#define SPEED_MAX 1024.0

/* The time of a line by the history's clock; of a comment, the time before it. */
static u64 time_of(const struct top_replay *r, const char *line)
{
	const struct gp__history *h = &r->history;

	if (*line < '0' || *line > '9')
		return h->last;
	/* After a restart of the daemon times may begin anew: the history sees to that. */
	return gp__max_u64(gp__time_add(strtoull(line, NULL, 10), h->base), h->last);
}

static void list(struct top_feed *f, u64 now)
{
	json_t *document = gp__history_list(&f->replay->history, now);

	gp__top_list(&f->top, document, now);
	json_decref(document);
	f->replay->list_at = now + LIST_NS;
}

static void show_line(struct top_feed *f, const char *line, size_t len)
{
	u64 now = f->replay->history.last;
	struct gp__record_room room;
	const char *expected;
	struct gp__record rec;

	if (!gp__record_parse(line, len, gp__policies, &rec, &room, &expected)) {
		rec.time = now;
		gp__top_record(&f->top, &rec);
	}
}

/* Takes the lines up to @until; with @shown the view sees them, too. */
static void feed(struct top_feed *f, u64 until, bool shown)
{
	struct top_replay *r = f->replay;
	const char *expected;

	while (r->at < r->log.size) {
		const char *line = r->log.text + r->at;
		size_t rest = r->log.size - r->at, len;
		const char *end = memchr(line, '\n', rest);

		if (time_of(r, line) > until)
			break;
		/* New groups have lanes from their first moment on. */
		if (shown && f->top.stale && time_of(r, line) > r->history.last)
			list(f, r->history.last);
		len = end ? (size_t)(end - line) : rest;
		r->at += len + (end != NULL);
		/* The log was read before: only an incomplete last line is refused. */
		if (!gp__history_line(&r->history, line, len, gp__policies, &expected) && shown)
			show_line(f, line, len);
	}
	gp__history_advance(&r->history, until);
}

static void tell(struct top_feed *f)
{
	const struct top_replay *r = f->replay;
	const char *path = r->log.path, *name = strrchr(path, '/');
	char at[32], of[32], speed[24];

	gp__format_duration(at, sizeof(at), r->now - r->begin);
	gp__format_duration(of, sizeof(of), r->end - r->begin);
	snprintf(speed, sizeof(speed), r->speed < 1 ? "x1/%.0f" : "x%.0f",
		 r->speed < 1 ? 1 / r->speed : r->speed);
	snprintf(f->top.playing, sizeof(f->top.playing), "%.40s %s of %s %s",
		 name ? name + 1 : path, at, of, r->now == r->end ? "(end)" : speed);
}

static void go_on(struct top_feed *f, u64 now)
{
	struct top_replay *r = f->replay;

	feed(f, now, true);
	r->now = now;
	if (f->top.stale || now >= r->list_at)
		list(f, now);
	gp__top_advance(&f->top, now);
	tell(f);
}

static void start_again(struct top_replay *r)
{
	gp__history_free(&r->history);
	gp__history_init(&r->history, 0);
	r->at = 0;
}

void top_replay_to(struct top_feed *f, u64 to)
{
	struct top_replay *r = f->replay;
	u64 from;

	to = gp__max_u64(gp__min_u64(to, r->end), r->begin);
	from = to - gp__min_u64(to - r->begin, f->top.window_ns);
	if (to < r->now)
		start_again(r);
	if (to < r->now || from > r->now) {
		gp__top_clear(&f->top);
		feed(f, from, false);
		list(f, from);
	}
	go_on(f, to);
	list(f, to);
	r->wall_at = gp__clock_ns();
}

void top_replay_move(struct top_feed *f, bool back)
{
	u64 by = f->top.window_ns / 2, now = f->replay->now;

	top_replay_to(f, back ? now - gp__min_u64(now, by) : gp__time_add(now, by));
}

void top_replay_speed(struct top_feed *f, bool faster)
{
	double speed = f->replay->speed * (faster ? 2 : 0.5);

	if (speed <= SPEED_MAX && speed >= 1 / SPEED_MAX)
		f->replay->speed = speed;
	tell(f);
}

void top_replay_take(struct top_feed *f)
{
	struct top_replay *r = f->replay;
	u64 wall = gp__clock_ns(), by = (u64)((double)(wall - r->wall_at) * r->speed);

	r->wall_at = wall;
	if (!r->paused && r->now < r->end)
		go_on(f, gp__min_u64(gp__time_add(r->now, by), r->end));
}

bool top_replay_explain(struct top_feed *f, uint32_t group)
{
	const struct gp__history *h = &f->replay->history;
	const struct gp__history_group *g = gp__history_find(h, group);

	gp__top_explain(&f->top, g ? gp__history_why(h, g, f->replay->now) : NULL);
	return g;
}

int top_replay_open(struct gp__env *env, struct top_feed *f, struct top_replay *r, const char *path,
		    uint64_t window_ns)
{
	int status = log_file_open(env, &r->log, path);

	if (status)
		return status;
	/* All of it is read once, so that errors are told before the screen is taken. */
	status = log_file_read(env, &r->log, 0, &r->history);
	if (status) {
		top_replay_close(r);
		return status;
	}
	r->begin = r->history.begin;
	r->end = r->history.end;
	start_again(r);
	r->now = r->begin;
	r->speed = 1;
	*f = (struct top_feed){ .ask = -1, .watch = -1, .replay = r };
	gp__top_init(&f->top, window_ns);
	f->top.watching = true;
	top_replay_to(f, r->begin);
	return 0;
}

void top_replay_close(struct top_replay *r)
{
	gp__history_free(&r->history);
	log_file_close(&r->log);
}
