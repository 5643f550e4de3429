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
	static const char *const names[] = { "priority", "run", "held", "pid" };

	return names[sort];
}

static double sort_key(const struct gp__top_group *g, enum gp__top_sort sort)
{
	switch (sort) {
	case GP__TOP_BY_RUN:
		return -gp__top_run_pct(g);
	case GP__TOP_BY_HELD:
		return -gp__top_held_pct(g);
	case GP__TOP_BY_PID:
		return g->pid;
	default:
		return (double)-g->priority;
	}
}

static int compare(const void *a, const void *b, void *data)
{
	const struct gp__top_group *one = *(struct gp__top_group *const *)a;
	const struct gp__top_group *two = *(struct gp__top_group *const *)b;
	enum gp__top_sort sort = *(enum gp__top_sort *)data;
	double x = sort_key(one, sort), y = sort_key(two, sort);

	if (one->gpu != two->gpu)
		return one->gpu > two->gpu ? 1 : -1;
	if (x != y)
		return x > y ? 1 : -1;
	return (one->id > two->id) - (one->id < two->id);
}

void gp__top_sort(struct gp__top *t, enum gp__top_sort sort)
{
	if (t->nr_groups)
		qsort_r(t->group, t->nr_groups, sizeof(*t->group), compare, &sort);
}

bool gp__top_shows(const struct gp__top_look *look, const struct gp__top_group *g)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)g->pid);
	return !*look->filter || strcasestr(g->program, look->filter) ||
	       strcasestr(g->tag, look->filter) || strcasestr(g->user, look->filter) ||
	       (g->ours && strstr(pid, look->filter));
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

static void fill_cells(const struct gp__top_group *g, char cell[COLUMNS][64])
{
	snprintf(cell[PID], 64, g->ours ? "%d" : "-", (int)g->pid);
	snprintf(cell[USER], 64, "%s", g->user);
	snprintf(cell[PROGRAM], 64, g->ours ? "%s" : "(%s)", g->ours ? g->program : g->user);
	snprintf(cell[TAG], 64, "%s", *g->tag ? g->tag : "-");
	snprintf(cell[PRIO], 64, "%lld", g->priority);
	snprintf(cell[STATE], 64, "%s", gp__view_state_name(g->state));
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
			style = state_style(g->state);
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
		lines[n++] = (struct line){ .gpu = &t->gpu[i] };
		for (uint32_t k = 0; k < t->nr_groups; k++) {
			if (t->group[k]->gpu == t->gpu[i].id && gp__top_shows(look, t->group[k]))
				lines[n++] = (struct line){ .group = t->group[k] };
		}
		n += collect_processes(t, look, t->gpu[i].id, &lines[n]);
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
	if (!t->listed_at)
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
			      "q quit  s suspend  r resume  +/- priority  space pause  ? help");
	if (*look->filter)
		gp__screen_textf(s, last, col + 2, GP__STYLE_HEAD, "[%s]", look->filter);
	else
		gp__screen_textf(s, last, col + 2, GP__STYLE_HEAD, "o %s",
				 gp__top_sort_name(look->sort));
}

static void draw_help(struct gp__screen *s, bool unicode)
{
	static const char *const lines[] = {
		"up, down, j, k    select a group",
		"s                 suspend it: off the GPU until it is resumed",
		"r                 resume it",
		"+ -               raise or lower its priority by one",
		"o                 order by priority, run, held or pid",
		"/                 show only groups with this text",
		"space             pause or continue",
		"q                 quit",
		"",
		"RUN, HELD   share of the window in which it ran, or had work and was held; groups",
		"            that run at once divide the time",
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

void gp__top_draw(const struct gp__top *t, struct gp__top_look *look, struct gp__screen *s)
{
	struct columns c = fit_columns(s->cols);

	gp__screen_clear(s);
	if (!s->rows)
		return;
	if (look->help && !look->once) {
		draw_help(s, look->unicode);
		return;
	}
	draw_title(t, look, s);
	draw_headings(t, &c, s);
	draw_lines(t, look, &c, s);
	draw_below(t, look, s);
}
