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
/* Groups that a page key moves by. */
#define PAGE 10
/* Control and l: draws everything again, after another program has written to the terminal. */
#define REDRAW 12

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

static struct gp__top_group *selected(struct tty *t)
{
	for (uint32_t i = 0; i < t->feed->top.nr_groups; i++) {
		if (t->feed->top.group[i]->id == t->look.selected)
			return t->feed->top.group[i];
	}
	return NULL;
}

static void show_detail(struct tty *t, bool detail)
{
	t->look.detail = detail && selected(t);
	t->feed->explains = t->look.detail ? t->look.selected : 0;
	top_feed_explain(t->feed);
}

static void draw(struct tty *t)
{
	uint32_t rows = (uint32_t)LINES, cols = (uint32_t)COLS;

	if ((rows != t->screen.rows || cols != t->screen.cols) &&
	    gp__screen_resize(&t->screen, rows, cols))
		return;
	gp__top_sort(&t->feed->top, t->look.sort, t->look.reversed);
	gp__top_select(&t->feed->top, &t->look, 0);
	if (t->look.detail && t->feed->explains != t->look.selected)
		show_detail(t, true);
	gp__top_draw(&t->feed->top, &t->look, &t->screen);
	show(&t->screen);
	t->redraw = false;
	t->draw_at = gp__clock_ns() + FRAME_NS;
}

/*
 * Keys
 */

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

static void select_by(struct tty *t, int by)
{
	gp__top_select(&t->feed->top, &t->look, by);
	if (t->look.detail)
		show_detail(t, true);
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

/* In a recorded log. */
static void play(struct tty *t, int key)
{
	if (key == KEY_LEFT || key == KEY_RIGHT)
		top_replay_move(t->feed, key == KEY_LEFT);
	else
		top_replay_speed(t->feed, key == ']');
	top_feed_explain(t->feed);
}

static void press(struct tty *t, int key)
{
	if (key != REDRAW)
		t->look.message[0] = '\0';
	switch (key) {
	case 'q':
		t->quit = true;
		break;
	case KEY_UP:
	case 'k':
		select_by(t, -1);
		break;
	case KEY_DOWN:
	case 'j':
		select_by(t, 1);
		break;
	case KEY_PPAGE:
	case KEY_NPAGE:
		select_by(t, key == KEY_PPAGE ? -PAGE : PAGE);
		break;
	case '\n':
	case '\r':
	case KEY_ENTER:
		show_detail(t, !t->look.detail);
		break;
	case 27: /* escape */
	case KEY_BACKSPACE:
		show_detail(t, false);
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
	case 'i':
		t->look.reversed = !t->look.reversed;
		break;
	case KEY_LEFT:
	case KEY_RIGHT:
	case '[':
	case ']':
		if (t->feed->replay)
			play(t, key);
		break;
	case '/':
		show_detail(t, false);
		t->look.typing = true;
		t->look.filter[0] = '\0';
		break;
	case REDRAW:
		clearok(stdscr, TRUE);
		break;
	case ' ':
		t->look.paused = !t->look.paused;
		if (t->feed->replay)
			t->feed->replay->paused = t->look.paused;
		break;
	case '?':
	case 'h':
		t->look.help = true;
		break;
	default:
		break;
	}
}

/* A click selects, another one on the same group shows it in detail; the wheel moves. */
static void take_mouse(struct tty *t)
{
	uint32_t before = t->look.selected;
	enum gp__top_hit hit;
	MEVENT e;

	if (getmouse(&e) != OK)
		return;
	if (e.bstate & BUTTON4_PRESSED) {
		select_by(t, -1);
		return;
	}
	if (e.bstate & BUTTON5_PRESSED) {
		select_by(t, 1);
		return;
	}
	if (!(e.bstate & BUTTON1_PRESSED))
		return;
	if (t->look.detail) {
		show_detail(t, false);
		return;
	}
	hit = gp__top_click(&t->feed->top, &t->look, t->screen.rows, t->screen.cols, (uint32_t)e.y,
			    (uint32_t)e.x);
	if (hit == GP__TOP_HIT_GROUP && t->look.selected == before)
		show_detail(t, true);
}

static void take_keys(struct tty *t)
{
	int key;

	while ((key = getch()) != ERR) {
		if (key == KEY_RESIZE)
			;
		else if (t->look.help)
			t->look.help = false;
		else if (key == KEY_MOUSE)
			take_mouse(t);
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

	if (t->feed->replay) {
		top_feed_take(t->feed);
		return;
	}
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

/*
 * Blue for running, orange for held and purple for both can be told apart by people who do not see
 * red and green alike; the characters differ as well.
 */
static void init_colors(void)
{
	bool many = COLORS >= 256;

	init_pair(1, many ? 39 : COLOR_CYAN, -1);
	init_pair(2, many ? 208 : COLOR_YELLOW, -1);
	init_pair(3, many ? 176 : COLOR_MAGENTA, -1);
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
	mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	mouseinterval(0);
	if (color && has_colors()) {
		start_color();
		use_default_colors();
		init_colors();
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
