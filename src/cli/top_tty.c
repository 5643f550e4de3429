// SPDX-License-Identifier: MIT
/* The live view on a terminal: handles keys, redraws, and restores the terminal. */
#include "cli/top.h"

#ifdef GP_HAVE_NCURSES

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"

/* The period of redrawing. */
#define FRAME_NS 200000000ull

struct tty {
	struct top_feed *feed;
	struct gp__top_look look;
	struct gp__screen screen;
	SCREEN *terminal;
	int signals;
	int ended_by; /* a signal; 0: a key */
	bool quit, redraw;
	uint64_t draw_at;
};

/*
 * Drawing
 */

static attr_t attributes(uint8_t style)
{
	switch (style) {
	case GP__STYLE_BOLD:
		return A_BOLD;
	case GP__STYLE_DIM:
		return A_DIM;
	case GP__STYLE_HEAD:
	case GP__STYLE_SELECTED:
		return A_REVERSE;
	case GP__STYLE_RUN:
		return has_colors() ? (attr_t)COLOR_PAIR(1) : A_NORMAL;
	case GP__STYLE_HELD:
		return has_colors() ? (attr_t)COLOR_PAIR(2) : A_NORMAL;
	case GP__STYLE_MIXED:
		return has_colors() ? (attr_t)COLOR_PAIR(3) : A_NORMAL;
	case GP__STYLE_WARN:
		return (has_colors() ? (attr_t)COLOR_PAIR(3) : A_NORMAL) | A_BOLD;
	default:
		return A_NORMAL;
	}
}

static void show(const struct gp__screen *s)
{
	for (uint32_t row = 0; row < s->rows; row++) {
		for (uint32_t col = 0; col < s->cols; col++) {
			const struct gp__cell *cell = &s->cells[(size_t)row * s->cols + col];
			wchar_t text[2] = { cell->c, L'\0' };
			cchar_t c;

			setcchar(&c, text, attributes(cell->style) & ~(attr_t)A_COLOR,
				 (short)PAIR_NUMBER(attributes(cell->style)), NULL);
			mvadd_wch((int)row, (int)col, &c);
		}
	}
	refresh();
}

static void draw(struct tty *t)
{
	uint32_t rows = (uint32_t)LINES, cols = (uint32_t)COLS;

	if ((rows != t->screen.rows || cols != t->screen.cols) &&
	    gp__screen_resize(&t->screen, rows, cols))
		return;
	gp__top_sort(&t->feed->top, t->look.sort);
	gp__top_select(&t->feed->top, &t->look, 0);
	gp__top_draw(&t->feed->top, &t->look, &t->screen);
	show(&t->screen);
	t->redraw = false;
	t->draw_at = gp__clock_ns() + FRAME_NS;
}

/*
 * Keys
 */

static struct gp__top_group *selected(struct tty *t)
{
	for (uint32_t i = 0; i < t->feed->top.nr_groups; i++) {
		if (t->feed->top.group[i]->id == t->look.selected)
			return t->feed->top.group[i];
	}
	return NULL;
}

/* Adds the selected group to @request and sends it. False: it was refused. */
static bool change(struct tty *t, const struct gp__top_group *g, json_t *request)
{
	json_object_set_new(request, "group", json_integer(g->id));
	if (top_feed_change(t->feed, request))
		return true;
	snprintf(t->look.message, sizeof(t->look.message), "%.255s", t->feed->why.message);
	return false;
}

static void act(struct tty *t, int key)
{
	struct gp__top_group *g = selected(t);
	int by = key == '-' ? -1 : 1;

	if (!g)
		return;
	if (key == 's' || key == 'r') {
		change(t, g, json_pack("{s:s}", "op", key == 's' ? "suspend" : "resume"));
		return;
	}
	/* The next key may come before the next list. */
	if (change(t, g,
		   json_pack("{s:s, s:I}", "op", "set", "priority",
			     (json_int_t)(g->priority + by))))
		g->priority += by;
}

static void type_filter(struct tty *t, int key)
{
	size_t n = strlen(t->look.filter);

	if (key == '\n' || key == '\r' || key == KEY_ENTER) {
		t->look.typing = false;
	} else if (key == 27) {
		t->look.typing = false;
		t->look.filter[0] = '\0';
	} else if (key == KEY_BACKSPACE || key == 127 || key == '\b') {
		t->look.filter[n ? n - 1 : 0] = '\0';
	} else if (key >= ' ' && key < 127 && n + 1 < sizeof(t->look.filter)) {
		t->look.filter[n] = (char)key;
		t->look.filter[n + 1] = '\0';
	}
}

static void press(struct tty *t, int key)
{
	t->look.message[0] = '\0';
	switch (key) {
	case 'q':
		t->quit = true;
		break;
	case KEY_UP:
	case 'k':
		gp__top_select(&t->feed->top, &t->look, -1);
		break;
	case KEY_DOWN:
	case 'j':
		gp__top_select(&t->feed->top, &t->look, 1);
		break;
	case 's':
	case 'r':
	case '+':
	case '=':
	case '-':
		act(t, key);
		break;
	case 'o':
		t->look.sort = (t->look.sort + 1) % GP__TOP_SORTS;
		break;
	case '/':
		t->look.typing = true;
		t->look.filter[0] = '\0';
		break;
	case ' ':
		t->look.paused = !t->look.paused;
		break;
	case '?':
	case 'h':
		t->look.help = true;
		break;
	default:
		break;
	}
}

static void take_keys(struct tty *t)
{
	int key;

	while ((key = getch()) != ERR) {
		if (key == KEY_RESIZE)
			;
		else if (t->look.help)
			t->look.help = false;
		else if (t->look.typing)
			type_filter(t, key);
		else
			press(t, key);
		t->redraw = true;
	}
}

/*
 * The loop
 */

static void take_signal(struct tty *t)
{
	struct signalfd_siginfo info;

	if (read(t->signals, &info, sizeof(info)) != sizeof(info))
		return;
	t->quit = true;
	/* SIGINT quits like a key; SIGTERM ends by the signal. */
	t->ended_by = info.ssi_signo == SIGINT ? 0 : (int)info.ssi_signo;
}

static void take_data(struct tty *t)
{
	bool had = t->feed->ask >= 0;

	if (top_feed_take(t->feed) && !had) {
		t->look.message[0] = '\0';
		t->redraw = true;
	} else if (had && t->feed->ask < 0) {
		snprintf(t->look.message, sizeof(t->look.message),
			 "gpreemptd has ended; programs run without it. Reconnecting.");
		t->redraw = true;
	}
}

static int milliseconds_until(uint64_t ns)
{
	uint64_t now = gp__clock_ns();

	return ns > now ? (int)((ns - now) / GP__MS) + 1 : 0;
}

static void live(struct tty *t)
{
	while (!t->quit) {
		struct pollfd p[] = { { .fd = STDIN_FILENO, .events = POLLIN },
				      { .fd = t->signals, .events = POLLIN },
				      { .fd = t->feed->watch, .events = POLLIN } };
		uint64_t due = t->draw_at;

		if (top_feed_due(t->feed) < due)
			due = top_feed_due(t->feed);
		poll(p, 3, milliseconds_until(due));
		if (p[1].revents)
			take_signal(t);
		take_data(t);
		/* Also without input: the size may have changed. */
		take_keys(t);
		if (p[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			t->quit = true;
		if (t->redraw || (gp__clock_ns() >= t->draw_at && !t->look.paused))
			draw(t);
		else if (t->look.paused)
			t->draw_at = gp__clock_ns() + FRAME_NS;
	}
}

static bool block_signals(struct tty *t, sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigprocmask(SIG_BLOCK, &set, before);
	t->signals = signalfd(-1, &set, SFD_CLOEXEC);
	return t->signals >= 0;
}

static bool enter(struct tty *t, bool color)
{
	t->terminal = newterm(NULL, stdout, stdin);
	if (!t->terminal)
		return false;
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	if (color && has_colors()) {
		start_color();
		use_default_colors();
		init_pair(1, COLOR_GREEN, -1);
		init_pair(2, COLOR_RED, -1);
		init_pair(3, COLOR_YELLOW, -1);
	}
	return true;
}

int top_tty(struct gp__env *env, struct top_feed *f)
{
	struct tty t = { .feed = f, .redraw = true };
	sigset_t before;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return gp__env_fail(env, GP__EXIT_USAGE, "Use --once for one picture, or --json.",
				    "top needs a terminal");
	t.look.unicode = !strcmp(nl_langinfo(CODESET), "UTF-8");
	if (!block_signals(&t, &before))
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "signalfd: %s", strerror(errno));
	if (!enter(&t, env->color)) {
		const char *term = getenv("TERM");

		close(t.signals);
		sigprocmask(SIG_SETMASK, &before, NULL);
		return gp__env_fail(env, GP__EXIT_FAILURE,
				    "Set TERM to the type of the terminal, or use --once.",
				    "the terminal type '%s' is unknown", term ? term : "");
	}
	live(&t);
	endwin();
	delscreen(t.terminal);
	gp__screen_free(&t.screen);
	close(t.signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (t.ended_by) {
		/* End by the same signal, after the terminal was restored. */
		signal(t.ended_by, SIG_DFL);
		raise(t.ended_by);
	}
	return GP__EXIT_OK;
}

#else

int top_tty(struct gp__env *env, struct top_feed *f)
{
	(void)f;
	return gp__env_fail(env, GP__EXIT_FAILURE,
			    "Use --once or --json, or build it where libncurses-dev is installed.",
			    "this build has no live view: ncurses was missing");
}

#endif
