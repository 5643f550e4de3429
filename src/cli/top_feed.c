// SPDX-License-Identifier: MIT
#include "cli/top.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/log.h"
#include "wire/client.h"

/* Lists are less frequent if lines tell what happens in between. */
#define LIST_NS_WATCHING (1000 * GP__MS)
#define LIST_NS_ALONE (100 * GP__MS)
#define LIST_NS_LEAST (50 * GP__MS)
#define RETRY_NS (1000 * GP__MS)
/* More at once would leave no time to draw. */
#define LINES_AT_ONCE 20000

static void lose(struct top_feed *f)
{
	if (f->ask >= 0)
		close(f->ask);
	if (f->watch >= 0)
		close(f->watch);
	f->ask = f->watch = -1;
	f->top.watching = false;
	gp__top_clear(&f->top);
	f->retry_at = gp__clock_ns() + RETRY_NS;
}

void top_feed_explain(struct top_feed *f)
{
	struct daemon_problem why;

	if (!f->explains)
		gp__top_explain(&f->top, NULL);
	else if (f->replay)
		top_replay_explain(f, f->explains);
	else if (f->ask >= 0)
		gp__top_explain(&f->top,
				daemon_ask(f->ask,
					   json_pack("{s:s, s:[{s:I}]}", "op", "why", "targets",
						     "group", (json_int_t)f->explains),
					   &why));
}

static bool get_list(struct top_feed *f)
{
	json_t *list = daemon_ask(
		f->ask, json_pack("{s:s, s:s}", "op", "list", "processes", "known"), &f->why);
	uint64_t now = gp__clock_ns();
	int err;

	if (!list) {
		lose(f);
		return false;
	}
	err = gp__top_list(&f->top, list, now);
	json_decref(list);
	top_feed_explain(f);
	f->list_at = now + (f->top.watching && !f->top.unheard ? LIST_NS_WATCHING : LIST_NS_ALONE);
	return !err;
}

/* Lines have a separate connection, because they would mix with answers. */
static void start_watching(struct top_feed *f)
{
	struct daemon_problem why;
	json_t *answer;

	f->watch = daemon_connect(&why);
	if (f->watch < 0)
		return;
	answer = daemon_ask(f->watch, json_pack("{s:s}", "op", "watch"), &why);
	if (!answer) {
		close(f->watch);
		f->watch = -1;
	}
	f->top.watching = answer;
	json_decref(answer);
}

static bool connect_again(struct top_feed *f)
{
	f->ask = daemon_connect(&f->why);
	if (f->ask < 0) {
		f->retry_at = gp__clock_ns() + RETRY_NS;
		return false;
	}
	start_watching(f);
	return get_list(f);
}

bool top_feed_open(struct top_feed *f, uint64_t window_ns)
{
	*f = (struct top_feed){ .ask = -1, .watch = -1 };
	gp__top_init(&f->top, window_ns);
	return connect_again(f);
}

void top_feed_close(struct top_feed *f)
{
	lose(f);
	gp__top_free(&f->top);
}

/* False: the daemon ended. */
static bool take_lines(struct top_feed *f)
{
	char line[GP__LOG_LINE_MAX];
	ssize_t n = 1;

	for (int i = 0; i < LINES_AT_ONCE && n > 0; i++) {
		n = gp__wire_next_line(f->watch, line, sizeof(line), 0);
		if (n > 0)
			gp__top_line(&f->top, line, (size_t)n);
	}
	return n > 0 || n == -EAGAIN;
}

bool top_feed_take(struct top_feed *f)
{
	uint64_t now = gp__clock_ns();

	if (f->replay) {
		top_replay_take(f);
		top_feed_explain(f);
		return true;
	}
	if (f->ask < 0)
		return now >= f->retry_at && connect_again(f);
	if (f->watch >= 0 && !take_lines(f)) {
		lose(f);
		return false;
	}
	if (now >= top_feed_due(f) && !get_list(f))
		return false;
	gp__top_advance(&f->top, gp__clock_ns());
	return true;
}

#define PLAY_NS (50 * GP__MS)

uint64_t top_feed_due(const struct top_feed *f)
{
	if (f->replay)
		return f->replay->wall_at + PLAY_NS;
	if (f->ask < 0)
		return f->retry_at;
	if (f->top.stale && f->top.listed_at + LIST_NS_LEAST < f->list_at)
		return f->top.listed_at + LIST_NS_LEAST;
	return f->list_at;
}

bool top_feed_change(struct top_feed *f, json_t *request)
{
	json_t *answer;

	if (f->ask < 0) {
		if (f->replay)
			snprintf(f->why.message, sizeof(f->why.message),
				 "this is a recorded log: nothing can be changed");
		json_decref(request);
		return false;
	}
	answer = daemon_ask(f->ask, request, &f->why);
	json_decref(answer);
	/* Show the change at once. */
	f->list_at = 0;
	return answer;
}
