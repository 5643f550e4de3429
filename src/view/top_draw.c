// SPDX-License-Identifier: MIT
/* Draws the live view: a title, a lane for each group below its GPU, the selected group, keys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "view/top.h"

/* Above the lanes: title and heading. Below: the selected one, and the keys. */
#define ROWS_ABOVE 2
#define ROWS_BELOW 2
#define GAP 1

enum column { PID, USER, PROGRAM, TAG, PRIO, STATE, RUN, HELD, WAIT, MEMORY, COLUMNS };

/* Negative: to the right. 0: not shown. */
struct columns {
	int width[COLUMNS];
	uint32_t lane_at, lane_cols;
};

static const char *const headings[COLUMNS] = { "PID",	"USER", "PROGRAM", "TAG",  "PRIO",
					       "STATE", "RUN",	"HELD",	   "WAIT", "MEMORY" };

/* The most important columns on 80 characters; the lane gets the rest. */
static struct columns fit_columns(uint32_t cols)
{
	struct columns c = { .width = { -7, 0, 12, 0, -4, 9, -4, -4, -7, 0 } };

	if (cols >= 110) {
		c.width[USER] = 9;
		c.width[TAG] = 9;
	}
	if (cols >= 120)
		c.width[MEMORY] = -8;
	if (cols >= 140)
		c.width[PROGRAM] = 20;
	for (int i = 0; i < COLUMNS; i++)
		c.lane_at += c.width[i] ? (uint32_t)abs(c.width[i]) + GAP : 0;
	c.lane_at += GAP;
	c.lane_cols = cols > c.lane_at ? cols - c.lane_at : 0;
	return c;
}

/*
 * Order
 */

const char *gp__top_sort_name(enum gp__top_sort sort)
{
	static const char *const names[] = { "priority", "run",	    "held", "wait",
					     "memory",	 "program", "pid" };

	return names[sort];
}

static double mean_wait(const struct gp__top_group *g)
{
	struct gp__lane_bin sum = gp__lane_sum(&g->lane);

	return sum.nr_waits ? (double)sum.waited / sum.nr_waits : 0;
}

static double sort_key(const struct gp__top_group *g, enum gp__top_sort sort)
{
	switch (sort) {
	case GP__TOP_BY_RUN:
		return -gp__top_run_pct(g);
	case GP__TOP_BY_HELD:
		return -gp__top_held_pct(g);
	case GP__TOP_BY_WAIT:
		return -mean_wait(g);
	case GP__TOP_BY_MEMORY:
		return -g->memory_bytes;
	case GP__TOP_BY_PROGRAM:
		return 0; /* by name */
	case GP__TOP_BY_PID:
		return g->pid;
	default:
		return (double)-g->priority;
	}
}

struct order {
	enum gp__top_sort sort;
	bool reversed;
};

static int compare(const void *a, const void *b, void *data)
{
	const struct gp__top_group *one = *(struct gp__top_group *const *)a;
	const struct gp__top_group *two = *(struct gp__top_group *const *)b;
	const struct order *order = data;
	double x = sort_key(one, order->sort), y = sort_key(two, order->sort);
	int names = order->sort == GP__TOP_BY_PROGRAM ? strcasecmp(one->program, two->program) : 0;
	int turn = order->reversed ? -1 : 1;

	if (one->gpu != two->gpu)
		return one->gpu > two->gpu ? 1 : -1;
	if (names)
		return turn * names;
	if (x != y)
		return turn * (x > y ? 1 : -1);
	return (one->id > two->id) - (one->id < two->id);
}

void gp__top_sort(struct gp__top *t, enum gp__top_sort sort, bool reversed)
{
	struct order order = { sort, reversed };

	if (t->nr_groups)
		qsort_r(t->group, t->nr_groups, sizeof(*t->group), compare, &order);
}

bool gp__top_shows(const struct gp__top_look *look, const struct gp__top_group *g)
{
	char pid[16], gpu[16];

	snprintf(pid, sizeof(pid), "%d", (int)g->pid);
	snprintf(gpu, sizeof(gpu), "gpu%u", g->gpu);
	return !*look->filter || !strcasecmp(gpu, look->filter) ||
	       strcasestr(g->program, look->filter) || strcasestr(g->tag, look->filter) ||
	       strcasestr(g->user, look->filter) || (g->ours && strstr(pid, look->filter));
}

void gp__top_select(const struct gp__top *t, struct gp__top_look *look, int by)
{
	int at = -1, shown = 0;

	for (uint32_t i = 0; i < t->nr_groups; i++) {
		if (!gp__top_shows(look, t->group[i]))
			continue;
		at = t->group[i]->id == look->selected ? shown : at;
		shown++;
	}
	at = at < 0 ? 0 : at + by;
	at = at >= shown ? shown - 1 : at;
	at = at < 0 ? 0 : at;
	look->selected = 0;
	for (uint32_t i = 0; i < t->nr_groups; i++) {
		if (gp__top_shows(look, t->group[i]) && at-- == 0)
			look->selected = t->group[i]->id;
	}
}

/*
 * Lanes
 */

/* The height of a bar is the time it ran; the colour shows whether it also yielded or was held. */
static void draw_moment(struct gp__screen *s, uint32_t row, uint32_t col, bool unicode,
			const struct gp__lane_bin *b)
{
	static const wchar_t bars[] = L"▁▂▃▄▅▆▇█", ascii[] = L".:-=+*%#";
	uint64_t eighths;

	if (!b->known)
		return;
	if (!b->run && !b->yielded && !b->held) {
		gp__screen_put(s, row, col, GP__STYLE_DIM, unicode ? L'·' : L'_');
	} else if (!b->run && !b->held) {
		gp__screen_put(s, row, col, GP__STYLE_MIXED, unicode ? L'┄' : L'y');
	} else if (!b->run) {
		gp__screen_put(s, row, col, GP__STYLE_HELD, unicode ? L'░' : L'x');
	} else {
		eighths = b->run * 8 / b->known;
		eighths = eighths > 7 ? 7 : eighths;
		gp__screen_put(s, row, col, b->held || b->yielded ? GP__STYLE_MIXED : GP__STYLE_RUN,
			       (unicode ? bars : ascii)[eighths]);
	}
}

static void draw_lane(const struct gp__lane *l, const struct columns *c, struct gp__screen *s,
		      uint32_t row, bool unicode)
{
	uint32_t n = gp__lane_columns(c->lane_cols);

	for (uint32_t i = 0; i < n; i++) {
		struct gp__lane_bin b = gp__lane_column(l, n, i);

		draw_moment(s, row, c->lane_at + i, unicode, &b);
	}
}

/*
 * Groups
 */

static void percent(char *buf, size_t n, double value)
{
	if (value < 0)
		snprintf(buf, n, "-");
	else
		snprintf(buf, n, "%.0f%%", value);
}

/* The average time for which it is held with work. */
static void wait_text(char *buf, size_t n, const struct gp__top_group *g)
{
	struct gp__lane_bin sum = gp__lane_sum(&g->lane);

	if (sum.nr_waits)
		gp__format_duration(buf, n, sum.waited / sum.nr_waits);
	else
		snprintf(buf, n, "-");
}

static void memory_text(char *buf, size_t n, const struct gp__top_group *g)
{
	if (g->memory_bytes < 0)
		snprintf(buf, n, "-");
	else
		gp__format_size(buf, n, (uint64_t)g->memory_bytes);
}

static enum gp__style state_style(enum gp__view_state state)
{
	switch (state) {
	case GP__VIEW_RUNNING:
	case GP__VIEW_STARTING:
		return GP__STYLE_RUN;
	case GP__VIEW_YIELDING:
	case GP__VIEW_LINGERING:
		return GP__STYLE_MIXED;
	case GP__VIEW_HELD:
	case GP__VIEW_STOPPING:
		return GP__STYLE_HELD;
	case GP__VIEW_SUSPENDED:
	case GP__VIEW_OVER:
	case GP__VIEW_OFF:
	case GP__VIEW_LOST:
	case GP__VIEW_FAILED:
	case GP__VIEW_SILENT:
		return GP__STYLE_WARN;
	default:
		return GP__STYLE_DIM;
	}
}

/* It runs, but not alone: the GPU takes turns, as its driver makes it. */
static bool shares(const struct gp__top_group *g)
{
	return g->beside && g->state == GP__VIEW_RUNNING;
}

static void fill_cells(const struct gp__top_group *g, char cell[COLUMNS][64])
{
	snprintf(cell[PID], 64, g->ours ? "%d" : "-", (int)g->pid);
	snprintf(cell[USER], 64, "%s", g->user);
	snprintf(cell[PROGRAM], 64, g->ours ? "%s" : "(%s)", g->ours ? g->program : g->user);
	snprintf(cell[TAG], 64, "%s", *g->tag ? g->tag : "-");
	snprintf(cell[PRIO], 64, "%lld", g->priority);
	snprintf(cell[STATE], 64, "%s", shares(g) ? "sharing" : gp__view_state_name(g->state));
	percent(cell[RUN], 64, gp__top_run_pct(g));
	percent(cell[HELD], 64, gp__top_held_pct(g));
	wait_text(cell[WAIT], 64, g);
	memory_text(cell[MEMORY], 64, g);
}

static void draw_group(const struct gp__top_group *g, const struct gp__top_look *look,
		       const struct columns *c, struct gp__screen *s, uint32_t row)
{
	char cell[COLUMNS][64];
	uint32_t col = 0;

	fill_cells(g, cell);
	if (g->id == look->selected && !look->once) {
		gp__screen_style_row(s, row, GP__STYLE_SELECTED);
		for (uint32_t i = c->lane_at - GAP; i < s->cols; i++)
			gp__screen_put(s, row, i, GP__STYLE_PLAIN, L' ');
	}
	for (int i = 0; i < COLUMNS; i++) {
		enum gp__style style = GP__STYLE_PLAIN;

		if (!c->width[i])
			continue;
		if (g->id == look->selected && !look->once)
			style = GP__STYLE_SELECTED;
		else if (i == STATE)
			style = shares(g) ? GP__STYLE_MIXED : state_style(g->state);
		col = gp__screen_field(s, row, col, c->width[i], style, cell[i]) + GAP;
	}
	draw_lane(&g->lane, c, s, row, look->unicode);
}

/*
 * GPUs
 */

static void draw_gpu(const struct gp__top_gpu *g, struct gp__screen *s, uint32_t row)
{
	char p50[32], p99[32];
	uint32_t col = gp__screen_textf(s, row, 0, GP__STYLE_BOLD, "gpu%u %s", g->id, g->name);

	if (g->off) {
		gp__screen_text(s, row, col + 2, GP__STYLE_WARN, "scheduling is off");
		return;
	}
	if (g->switches_per_s >= 0)
		col = gp__screen_textf(s, row, col + 2, GP__STYLE_PLAIN, "%.1f switches/s",
				       g->switches_per_s);
	if (g->order_p50_us >= 0)
		gp__screen_textf(
			s, row, col + 2, GP__STYLE_DIM, "orders done in %s (p99 %s)",
			gp__format_duration(p50, sizeof(p50), (uint64_t)(g->order_p50_us * GP__US)),
			gp__format_duration(p99, sizeof(p99),
					    (uint64_t)(g->order_p99_us * GP__US)));
}

/*
 * Processes that have not joined
 */

bool gp__top_has_process(const struct gp__top_look *look, const json_t *process, uint32_t gpu)
{
	const json_t *devices = json_object_get(process, "devices"), *device, *number;
	const char *program = json_string_value(json_object_get(process, "program"));
	bool has_gpu = false, has_this = false;
	size_t i;

	if (gp__view_is_scheduled(process) ||
	    (*look->filter && !strcasestr(program ? program : "", look->filter)))
		return false;
	json_array_foreach ((json_t *)devices, i, device) {
		number = json_object_get(device, "gpu");
		has_gpu |= json_is_integer(number);
		has_this |= json_is_integer(number) && json_integer_value(number) == gpu;
	}
	return gpu == GP__TOP_NO_GPU ? !has_gpu : has_this;
}

/* Its state is its role; the columns of scheduled groups have its user and memory. */
static void draw_process(const json_t *process, const struct columns *c, struct gp__screen *s,
			 uint32_t row)
{
	bool disturbs = json_is_true(json_object_get(process, "disturbs"));
	const json_t *memory = json_object_get(process, "memory_used_bytes");
	const char *program = json_string_value(json_object_get(process, "program"));
	const char *user = json_string_value(json_object_get(process, "user_name"));
	enum gp__style style = disturbs ? GP__STYLE_WARN : GP__STYLE_DIM;
	char cell[COLUMNS][64] = { 0 }, size[32];
	uint32_t col = 0;

	snprintf(cell[PID], 64, program ? "%lld" : "-",
		 (long long)json_integer_value(json_object_get(process, "pid")));
	snprintf(cell[PROGRAM], 64, program ? "%s" : "(%s)", program ? program : user);
	snprintf(cell[USER], 64, "%s", user);
	snprintf(cell[STATE], 64, "%s", gp__view_role(process));
	for (int i = 0; i <= STATE; i++) {
		if (c->width[i])
			col = gp__screen_field(s, row, col, c->width[i], style, cell[i]) + GAP;
	}
	col = gp__screen_textf(s, row, col, style, "%s%s", disturbs ? "disturbs; " : "", user);
	if (json_is_integer(memory))
		gp__screen_textf(
			s, row, col, style, ", memory %s",
			gp__format_size(size, sizeof(size), (uint64_t)json_integer_value(memory)));
}

/*
 * Lines of the part that scrolls
 */

/* A GPU, or a group or process below it; without any of them the heading of processes that are on
 * other GPUs. */
struct line {
	const struct gp__top_gpu *gpu;
	const struct gp__top_group *group;
	const json_t *process;
};

static uint32_t collect_processes(const struct gp__top *t, const struct gp__top_look *look,
				  uint32_t gpu, struct line *lines)
{
	const json_t *process;
	uint32_t n = 0;
	size_t i;

	json_array_foreach (t->processes, i, process) {
		if (gp__top_has_process(look, process, gpu))
			lines[n++] = (struct line){ .process = process };
	}
	return n;
}

/* Room for the lines that collect_lines() finds. */
static size_t lines_max(const struct gp__top *t)
{
	return 1 + t->nr_groups + (t->nr_gpus + 1) * (1 + json_array_size(t->processes));
}

static uint32_t collect_lines(const struct gp__top *t, const struct gp__top_look *look,
			      struct line *lines)
{
	uint32_t n = 0, nr_others;

	for (uint32_t i = 0; i < t->nr_gpus; i++) {
		uint32_t heading = n++;

		lines[heading] = (struct line){ .gpu = &t->gpu[i] };
		for (uint32_t k = 0; k < t->nr_groups; k++) {
			if (t->group[k]->gpu == t->gpu[i].id && gp__top_shows(look, t->group[k]))
				lines[n++] = (struct line){ .group = t->group[k] };
		}
		n += collect_processes(t, look, t->gpu[i].id, &lines[n]);
		/* A filter leaves out GPUs without anything to show. */
		if (*look->filter && n == heading + 1)
			n = heading;
	}
	nr_others = collect_processes(t, look, GP__TOP_NO_GPU, &lines[n + 1]);
	lines[n] = (struct line){ 0 };
	return nr_others ? n + 1 + nr_others : n;
}

uint32_t gp__top_height(const struct gp__top *t, const struct gp__top_look *look)
{
	struct line *lines = calloc(lines_max(t), sizeof(*lines));
	uint32_t n = lines ? collect_lines(t, look, lines) : 0;

	free(lines);
	return ROWS_ABOVE + n + ROWS_BELOW;
}

/* Scrolls to the selected group. */
static void scroll(struct gp__top_look *look, const struct line *lines, uint32_t n, uint32_t room)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!lines[i].group || lines[i].group->id != look->selected)
			continue;
		if (i < look->scroll + 1)
			look->scroll = i ? i - 1 : 0;
		if (room && i >= look->scroll + room)
			look->scroll = i - room + 1;
	}
	if (n <= room)
		look->scroll = 0;
	else if (look->scroll > n - room)
		look->scroll = n - room;
}

static void draw_lines(const struct gp__top *t, struct gp__top_look *look, const struct columns *c,
		       struct gp__screen *s)
{
	struct line *lines = calloc(lines_max(t), sizeof(*lines));
	uint32_t n,
		room = s->rows > ROWS_ABOVE + ROWS_BELOW ? s->rows - ROWS_ABOVE - ROWS_BELOW : 0;

	if (!lines)
		return;
	n = collect_lines(t, look, lines);
	scroll(look, lines, n, room);
	for (uint32_t i = 0; i < room && look->scroll + i < n; i++) {
		const struct line *l = &lines[look->scroll + i];

		if (l->gpu)
			draw_gpu(l->gpu, s, ROWS_ABOVE + i);
		else if (l->group)
			draw_group(l->group, look, c, s, ROWS_ABOVE + i);
		else if (l->process)
			draw_process(l->process, c, s, ROWS_ABOVE + i);
		else
			gp__screen_text(s, ROWS_ABOVE + i, 0, GP__STYLE_BOLD,
					"on GPUs without joined programs");
	}
	free(lines);
}

/*
 * Above and below
 */

static void draw_title(const struct gp__top *t, const struct gp__top_look *look,
		       struct gp__screen *s)
{
	uint32_t running = 0, held = 0, col;
	char right[64], window[32], up[32];

	for (uint32_t i = 0; i < t->nr_groups; i++) {
		running += t->group[i]->state == GP__VIEW_RUNNING ||
			   t->group[i]->state == GP__VIEW_OFF;
		held += t->group[i]->state == GP__VIEW_HELD;
	}
	col = gp__screen_text(s, 0, 0, GP__STYLE_BOLD, "gpreempt top");
	if (*t->playing)
		gp__screen_textf(s, 0, col + 2, GP__STYLE_PLAIN,
				 "%s; %s, %u group%s: %u running, "
				 "%u held",
				 t->playing, t->policy, t->nr_groups, t->nr_groups == 1 ? "" : "s",
				 running, held);
	else if (!t->listed_at)
		col = gp__screen_text(s, 0, col + 2, GP__STYLE_WARN, "no daemon");
	else
		gp__screen_textf(s, 0, col + 2, GP__STYLE_PLAIN,
				 "%s, up %s; %u group%s: %u running, %u held", t->policy,
				 gp__view_age(up, sizeof(up), t->up_ms), t->nr_groups,
				 t->nr_groups == 1 ? "" : "s", running, held);
	gp__format_duration(window, sizeof(window), t->window_ns);
	snprintf(right, sizeof(right), "%s%s%s", look->paused ? "PAUSED" : "",
		 look->paused ? " " : "", t->watching || !t->listed_at ? "" : "(from lists)");
	if (s->cols > strlen(right))
		gp__screen_text(s, 0, s->cols - (uint32_t)strlen(right), GP__STYLE_WARN, right);
}

static void draw_headings(const struct gp__top *t, const struct columns *c, struct gp__screen *s)
{
	uint32_t col = 0, n;
	char from[40], window[32];

	gp__screen_style_row(s, 1, GP__STYLE_HEAD);
	for (int i = 0; i < COLUMNS; i++) {
		if (c->width[i])
			col = gp__screen_field(s, 1, col, c->width[i], GP__STYLE_HEAD,
					       headings[i]) +
			      GAP;
	}
	if (c->lane_cols < 12)
		return;
	snprintf(from, sizeof(from), "-%s",
		 gp__format_duration(window, sizeof(window), t->window_ns));
	gp__screen_text(s, 1, c->lane_at, GP__STYLE_HEAD, from);
	n = gp__lane_columns(c->lane_cols);
	gp__screen_text(s, 1, c->lane_at + n - 3, GP__STYLE_HEAD, "now");
}

static const struct gp__top_group *selected(const struct gp__top *t,
					    const struct gp__top_look *look)
{
	for (uint32_t i = 0; i < t->nr_groups; i++) {
		if (t->group[i]->id == look->selected)
			return t->group[i];
	}
	return NULL;
}

static void draw_selected(const struct gp__top_group *g, struct gp__screen *s, uint32_t row)
{
	char used[32], held[32], longest[32], wasted[32], memory[32];
	struct gp__lane_bin sum;
	uint32_t col;

	if (!g->ours) {
		gp__screen_textf(s, row, 0, GP__STYLE_PLAIN, "group %u of %s: %s", g->id, g->user,
				 g->state_text);
		return;
	}
	sum = gp__lane_sum(&g->lane);
	col = gp__screen_textf(
		s, row, 0, GP__STYLE_PLAIN, "group %u %s (level %s): %s; used %s", g->id,
		g->program, g->level, g->state_text,
		gp__format_duration(used, sizeof(used), (uint64_t)(g->used_ms * GP__MS)));
	if (g->wasted_ms > 0)
		col = gp__screen_textf(s, row, col, GP__STYLE_PLAIN, ", wasted %s",
				       gp__format_duration(wasted, sizeof(wasted),
							   (uint64_t)(g->wasted_ms * GP__MS)));
	col = gp__screen_textf(
		s, row, col, GP__STYLE_PLAIN, ", held %s, max wait %s",
		gp__format_duration(held, sizeof(held), (uint64_t)(g->held_ms * GP__MS)),
		gp__format_duration(longest, sizeof(longest), sum.longest_wait));
	memory_text(memory, sizeof(memory), g);
	if (g->memory_bytes >= 0)
		gp__screen_textf(s, row, col, GP__STYLE_PLAIN, ", memory %s", memory);
}

static void draw_below(const struct gp__top *t, const struct gp__top_look *look,
		       struct gp__screen *s)
{
	const struct gp__top_group *g = selected(t, look);
	uint32_t last = s->rows - 1, col;

	if (look->once || s->rows <= ROWS_ABOVE + ROWS_BELOW)
		return;
	if (*look->message)
		gp__screen_text(s, last - 1, 0, GP__STYLE_WARN, look->message);
	else if (g)
		draw_selected(g, s, last - 1);
	else if (t->listed_at && !t->nr_groups)
		gp__screen_text(s, last - 1, 0, GP__STYLE_DIM,
				t->off ? "No program is joined; scheduling is off on all GPUs."
				       : "No program is joined.");
	if (look->typing) {
		gp__screen_textf(s, last, 0, GP__STYLE_BOLD, "filter: %s_", look->filter);
		return;
	}
	gp__screen_style_row(s, last, GP__STYLE_HEAD);
	col = gp__screen_text(s, last, 0, GP__STYLE_HEAD,
			      *t->playing
				      ? "q quit  enter why  space pause  left right move  [ ] "
					"speed  ? help"
				      : "q quit  enter why  s suspend  r resume  +/- priority  ? "
					"help");
	if (*look->filter)
		gp__screen_textf(s, last, col + 2, GP__STYLE_HEAD, "[%s]", look->filter);
	else
		gp__screen_textf(s, last, col + 2, GP__STYLE_HEAD, "o %s%s",
				 look->reversed ? "-" : "", gp__top_sort_name(look->sort));
}

static void draw_help(struct gp__screen *s, bool unicode)
{
	static const char *const lines[] = {
		"up, down, j, k    select a group, as the mouse does",
		"enter             why it was held, and its times; back with enter or escape",
		"s, r              suspend it: off the GPU until it is resumed; resume it",
		"+ -               raise or lower its priority by one",
		"o, i, a heading   order by another column; the other way round",
		"/                 show only groups with this text, or only gpu1",
		"space             pause or continue",
		"left, right       in a recorded log: back and on; [ and ]: slower and faster",
		"q                 quit",
		"RUN, HELD   share of the window in which it ran, or had work and was held",
		"sharing     others run at the same time, by time slices: they divide the time",
		"WAIT        average time for which it was held with work",
	};
	uint32_t row = 2;

	gp__screen_clear(s);
	gp__screen_text(s, 0, 0, GP__STYLE_BOLD, "gpreempt top: keys");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		gp__screen_text(s, row++, 2, GP__STYLE_PLAIN, lines[i]);
	gp__screen_text(s, ++row, 2, GP__STYLE_RUN, unicode ? "▁▂▃▄▅▆▇█" : ".:-=+*%#");
	gp__screen_text(s, row, 14, GP__STYLE_PLAIN,
			"it ran for part or all of the time; another colour: it also yielded "
			"or was held");
	gp__screen_text(s, ++row, 2, GP__STYLE_MIXED, unicode ? "┄" : "y");
	gp__screen_text(s, row, 14, GP__STYLE_PLAIN, "it had work and yielded to urgent work");
	gp__screen_text(s, ++row, 2, GP__STYLE_HELD, unicode ? "░" : "x");
	gp__screen_text(s, row, 14, GP__STYLE_PLAIN, "it had work and was held");
	gp__screen_text(s, ++row, 2, GP__STYLE_DIM, unicode ? "·" : "_");
	gp__screen_text(s, row, 14, GP__STYLE_PLAIN, "it had no work");
	gp__screen_text(s, s->rows - 1, 0, GP__STYLE_HEAD, "any key: back");
}

/*
 * One group in detail
 */

/* Rows of bars, each of eighths, that show a part of the time. */
#define BAR_ROWS 3

static void draw_bar(struct gp__screen *s, uint32_t row, uint32_t col, bool unicode,
		     enum gp__style style, uint64_t part, uint64_t known)
{
	static const wchar_t bars[] = L" ▁▂▃▄▅▆▇█", ascii[] = L" .:-=+*%#";
	uint64_t eighths = known ? (part * 8 * BAR_ROWS + known - 1) / known : 0;

	for (uint32_t i = 0; i < BAR_ROWS; i++) {
		uint64_t here = eighths > 8 * i ? eighths - 8 * i : 0;

		gp__screen_put(s, row + BAR_ROWS - 1 - i, col, style,
			       (unicode ? bars : ascii)[here > 8 ? 8 : here]);
	}
}

static void draw_bars(const struct gp__top_group *g, struct gp__screen *s, uint32_t row,
		      bool unicode)
{
	uint32_t at = 6, n = gp__lane_columns(s->cols > at ? s->cols - at : 0);

	gp__screen_text(s, row + BAR_ROWS - 1, 0, GP__STYLE_RUN, "ran");
	gp__screen_text(s, row + 2 * BAR_ROWS - 1, 0, GP__STYLE_HELD, "held");
	for (uint32_t i = 0; i < n; i++) {
		struct gp__lane_bin b = gp__lane_column(&g->lane, n, i);

		draw_bar(s, row, at + i, unicode, GP__STYLE_RUN, b.run, b.known);
		draw_bar(s, row + BAR_ROWS, at + i, unicode, GP__STYLE_HELD, b.held, b.known);
	}
}

static uint32_t draw_facts(const struct gp__top_group *g, struct gp__screen *s, uint32_t row)
{
	char run[32], held[32], yielding[32], wait[32], memory[32], longest[32], now[32] = "";
	struct gp__lane_bin sum = gp__lane_sum(&g->lane);

	if (g->effective != g->priority)
		snprintf(now, sizeof(now), " (now %lld)", g->effective);
	gp__screen_textf(s, row++, 0, GP__STYLE_PLAIN, "%s; gpu%u, priority %lld%s, level %s",
			 g->state_text, g->gpu, g->priority, now, g->level);
	percent(run, sizeof(run), gp__top_run_pct(g));
	percent(held, sizeof(held), gp__top_held_pct(g));
	percent(yielding, sizeof(yielding), gp__top_yielding_pct(g));
	wait_text(wait, sizeof(wait), g);
	memory_text(memory, sizeof(memory), g);
	gp__format_duration(longest, sizeof(longest), sum.longest_wait);
	gp__screen_textf(s, row++, 0, GP__STYLE_PLAIN, "user %s, tag %s, memory %s", g->user,
			 *g->tag ? g->tag : "-", memory);
	gp__screen_textf(s, row++, 0, GP__STYLE_PLAIN,
			 "ran %s, yielded %s, held %s; a hold: %s on average, %s at most", run,
			 yielding, held, wait, sum.nr_waits ? longest : "-");
	if (g->beside)
		gp__screen_textf(
			s, row++, 0, GP__STYLE_MIXED,
			"%u other group%s at the same time: the GPU takes turns, by time slices",
			g->beside, g->beside == 1 ? " runs" : "s run");
	return row;
}

/* Breaks a text at blanks; the lines below the first one are indented. Returns the next row. */
static uint32_t draw_wrapped(struct gp__screen *s, uint32_t row, uint32_t last, const char *text)
{
	uint32_t indent = 2;

	while (*text && row < last && s->cols > indent + 8) {
		size_t room = s->cols - indent, n = strlen(text);

		if (n > room) {
			n = room;
			while (n && text[n] != ' ')
				n--;
			n = n ? n : room;
		}
		gp__screen_textf(s, row++, indent, GP__STYLE_PLAIN, "%.*s", (int)n, text);
		text += n;
		text += *text == ' ';
		indent = 6;
	}
	return row;
}

/* As gpreempt why prints it. */
static void draw_why(const struct gp__top *t, struct gp__screen *s, uint32_t row)
{
	const json_t *group = json_array_get(json_object_get(t->why, "groups"), 0), *hold;
	const json_t *holds = json_object_get(group, "history");
	char held[32], longest[32], used[32], text[384];
	uint32_t last = s->rows ? s->rows - 1 : 0;
	size_t i;

	if (!group || row >= last)
		return;
	gp__screen_textf(
		s, row++, 0, GP__STYLE_BOLD,
		"held %lld times, waited %s, at most %s at a time; used %s",
		(long long)json_integer_value(json_object_get(group, "holds")),
		gp__view_ms(held, sizeof(held), json_object_get(group, "held_ms")),
		gp__view_ms(longest, sizeof(longest), json_object_get(group, "longest_hold_ms")),
		gp__view_ms(used, sizeof(used), json_object_get(group, "used_ms")));
	json_array_foreach ((json_t *)holds, i, hold) {
		if (row >= last)
			return;
		row = draw_wrapped(s, row, last, gp__view_hold(text, sizeof(text), hold));
	}
	if (!json_array_size(holds) && row < last)
		gp__screen_text(s, row, 2, GP__STYLE_DIM, "never held");
}

static void draw_detail(const struct gp__top *t, const struct gp__top_look *look,
			const struct gp__top_group *g, struct gp__screen *s)
{
	char name[160], window[32];
	uint32_t row = 1;

	gp__screen_style_row(s, row, GP__STYLE_HEAD);
	if (g->ours)
		snprintf(name, sizeof(name), "%s (pid %d, group %u)", g->program, (int)g->pid,
			 g->id);
	else
		snprintf(name, sizeof(name), "group %u of %s", g->id, g->user);
	gp__screen_text(s, row++, 0, GP__STYLE_HEAD, name);
	row = draw_facts(g, s, row);
	draw_bars(g, s, row, look->unicode);
	row += 2 * BAR_ROWS;
	gp__screen_textf(s, row, 6, GP__STYLE_DIM, "-%s",
			 gp__format_duration(window, sizeof(window), t->window_ns));
	if (s->cols > 20)
		gp__screen_text(s, row, 6 + gp__lane_columns(s->cols - 6) - 3, GP__STYLE_DIM,
				"now");
	draw_why(t, s, row + 1);
	if (!s->rows)
		return;
	gp__screen_style_row(s, s->rows - 1, GP__STYLE_HEAD);
	gp__screen_text(s, s->rows - 1, 0, GP__STYLE_HEAD,
			*t->playing ? "enter back  up down another group  space pause  left right "
				      "move  [ ] speed"
				    : "enter back  up down another group  s suspend  r resume  +/- "
				      "priority  q quit");
	if (*look->message)
		gp__screen_text(s, s->rows - 1, 0, GP__STYLE_WARN, look->message);
}

/*
 * The mouse
 */

static bool sort_of_column(int column, enum gp__top_sort *sort)
{
	static const struct {
		int column;
		enum gp__top_sort sort;
	} sorts[] = { { PID, GP__TOP_BY_PID },	     { PROGRAM, GP__TOP_BY_PROGRAM },
		      { PRIO, GP__TOP_BY_PRIORITY }, { RUN, GP__TOP_BY_RUN },
		      { HELD, GP__TOP_BY_HELD },     { WAIT, GP__TOP_BY_WAIT },
		      { MEMORY, GP__TOP_BY_MEMORY } };

	for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
		if (sorts[i].column == column) {
			*sort = sorts[i].sort;
			return true;
		}
	}
	return false;
}

static enum gp__top_hit click_heading(struct gp__top_look *look, uint32_t cols, uint32_t col)
{
	struct columns c = fit_columns(cols);
	enum gp__top_sort sort;
	uint32_t at = 0;

	for (int i = 0; i < COLUMNS; i++) {
		uint32_t width = c.width[i] ? (uint32_t)abs(c.width[i]) + GAP : 0;

		if (width && col >= at && col < at + width && sort_of_column(i, &sort)) {
			look->reversed = look->sort == sort && !look->reversed;
			look->sort = sort;
			return GP__TOP_HIT_HEADING;
		}
		at += width;
	}
	return GP__TOP_HIT_NOTHING;
}

enum gp__top_hit gp__top_click(const struct gp__top *t, struct gp__top_look *look, uint32_t rows,
			       uint32_t cols, uint32_t row, uint32_t col)
{
	struct line *lines;
	enum gp__top_hit hit = GP__TOP_HIT_NOTHING;
	uint32_t n, i = look->scroll + row - ROWS_ABOVE;

	if (row == ROWS_ABOVE - 1)
		return click_heading(look, cols, col);
	if (row < ROWS_ABOVE || row + ROWS_BELOW >= rows)
		return hit;
	lines = calloc(lines_max(t), sizeof(*lines));
	n = lines ? collect_lines(t, look, lines) : 0;
	if (i < n && lines[i].group) {
		look->selected = lines[i].group->id;
		hit = GP__TOP_HIT_GROUP;
	}
	free(lines);
	return hit;
}

void gp__top_draw(const struct gp__top *t, struct gp__top_look *look, struct gp__screen *s)
{
	const struct gp__top_group *g = look->detail ? selected(t, look) : NULL;
	struct columns c = fit_columns(s->cols);

	gp__screen_clear(s);
	if (!s->rows)
		return;
	if (look->help && !look->once) {
		draw_help(s, look->unicode);
		return;
	}
	draw_title(t, look, s);
	if (g && !look->once) {
		draw_detail(t, look, g, s);
		return;
	}
	draw_headings(t, &c, s);
	draw_lines(t, look, &c, s);
	draw_below(t, look, s);
}
