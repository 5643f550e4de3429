// SPDX-License-Identifier: MIT
/* gpreempt top: live view of GPU scheduling on the terminal, or as one picture or document. */
#include "cli/commands.h"

#include <langinfo.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/top.h"

enum {
	KEY_ONCE = '1',
	KEY_WINDOW = 'w',
	KEY_REPLAY = 'r',
	KEY_AT = 'a',
};

#define WINDOW_NS (10 * GP__S)
#define WINDOW_NS_ONCE GP__S
#define WINDOW_NS_MIN (100 * GP__MS)
#define WINDOW_NS_MAX 3600000000000ull
#define COLS_MIN 60
#define COLS_USUAL 80

struct args {
	bool once, has_at;
	uint64_t window_ns, at_ns;
	const char *replay; /* a log; NULL: live */
};

static const struct argp_option options[] = {
	{ "once", KEY_ONCE, NULL, 0, "watch for the length of the window, print one picture, exit",
	  0 },
	{ "window", KEY_WINDOW, "TIME", 0, "how far back it goes (10s; with --once or --json 1s)",
	  0 },
	{ "replay", KEY_REPLAY, "LOG", 0, "play a recorded decision log", 0 },
	{ "at", KEY_AT, "TIME", 0,
	  "with --replay: where to begin; with --once or --json the end of the picture", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case KEY_ONCE:
		args->once = true;
		return 0;
	case KEY_WINDOW:
		if (gp__parse_duration(arg, &args->window_ns) || args->window_ns < WINDOW_NS_MIN ||
		    args->window_ns > WINDOW_NS_MAX)
			return gp__cmd_usage(state, "--window: '%s' is not %s, from 100ms to 1h",
					     arg, GP__EXPECT_DURATION);
		return 0;
	case KEY_REPLAY:
		args->replay = arg;
		return 0;
	case KEY_AT:
		if (gp__parse_duration(arg, &args->at_ns))
			return gp__cmd_usage(state, "--at: '%s' is not %s", arg,
					     GP__EXPECT_DURATION);
		args->has_at = true;
		return 0;
	case ARGP_KEY_END:
		if (args->has_at && !args->replay)
			return gp__cmd_usage(state, "--at goes with --replay");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Live view of GPU scheduling: which programs run and which are held. Administrators "
	       "see every decision; other users see their own programs, from lists.",
};

/* The width of the terminal, or $COLUMNS. */
static uint32_t find_cols(FILE *out)
{
	const char *text = getenv("COLUMNS");
	struct winsize size;
	uint64_t cols;

	if (text && !gp__parse_u64(text, COLS_MIN, 1000, &cols))
		return (uint32_t)cols;
	if (!ioctl(fileno(out), TIOCGWINSZ, &size) && size.ws_col >= COLS_MIN)
		return size.ws_col;
	return COLS_USUAL;
}

/* Takes events until the window is full. False: the daemon ended. */
static bool look(struct top_feed *f)
{
	uint64_t end = gp__clock_ns() + f->top.window_ns, now;

	while ((now = gp__clock_ns()) < end) {
		uint64_t due = top_feed_due(f) < end ? top_feed_due(f) : end;
		struct pollfd p = { .fd = f->watch, .events = POLLIN };

		poll(&p, 1, due > now ? (int)((due - now) / GP__MS) + 1 : 0);
		if (!top_feed_take(f))
			return false;
	}
	f->list_at = 0; /* get the final state */
	return top_feed_take(f);
}

static int print_picture(struct gp__env *env, struct top_feed *f)
{
	struct gp__top_look look = { .once = true,
				     .unicode = !strcmp(nl_langinfo(CODESET), "UTF-8") };
	struct gp__screen screen = { 0 };

	gp__top_sort(&f->top, look.sort, false);
	if (gp__screen_resize(&screen, gp__top_height(&f->top, &look), find_cols(env->out)))
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "out of memory");
	gp__top_draw(&f->top, &look, &screen);
	gp__screen_print(&screen, env->out);
	gp__screen_free(&screen);
	return GP__EXIT_OK;
}

static int once(struct gp__env *env, struct top_feed *f)
{
	if (!f->replay && !look(f))
		return daemon_tell(env, &f->why);
	if (!env->json)
		return print_picture(env, f);
	return gp__json_print(env, gp__top_json(&f->top)) ? GP__EXIT_FAILURE : GP__EXIT_OK;
}

static int replay(struct gp__env *env, const struct args *args)
{
	struct top_replay r = { 0 };
	struct top_feed feed;
	int status = top_replay_open(env, &feed, &r, args->replay, args->window_ns);

	if (status)
		return status;
	if (args->has_at)
		top_replay_to(&feed, gp__time_add(r.begin, args->at_ns));
	else if (args->once)
		top_replay_to(&feed, r.end);
	status = args->once ? once(env, &feed) : top_tty(env, &feed);
	top_feed_close(&feed);
	top_replay_close(&r);
	return status;
}

int cmd_top(struct gp__env *env, int argc, char **argv)
{
	struct args args = { 0 };
	struct top_feed feed;
	int status;

	if (!gp__cmd_parse(env, &argp, argc, argv, &args, &status))
		return status;
	args.once |= env->json;
	if (!args.window_ns)
		args.window_ns = args.once ? WINDOW_NS_ONCE : WINDOW_NS;
	if (args.replay)
		return replay(env, &args);
	if (!top_feed_open(&feed, args.window_ns))
		return daemon_tell(env, &feed.why);
	status = args.once ? once(env, &feed) : top_tty(env, &feed);
	top_feed_close(&feed);
	return status;
}
