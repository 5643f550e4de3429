// SPDX-License-Identifier: MIT
/* What the report of a log says and shows; report_page.c makes the page. */
#include "cli/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/report_page.h"
#include "view/describe.h"

/* Rows of tables, and lanes of the timeline; the JSON document has all. */
#define ROWS_MAX 50
#define LANES_MAX 40
#define LEAST_MS 0.05

static const char *duration(char *buf, size_t n, double ns)
{
	return gp__format_duration(buf, n, (uint64_t)ns);
}

static const char *color_of(s32 prio)
{
	return gp__class_name(gp__class_of(prio));
}

static const char *user_text(char *buf, size_t n, u32 user)
{
	if (user == GP__NOBODY)
		snprintf(buf, n, "not known");
	else
		gp__view_user(buf, n, user);
	return buf;
}

/*
 * Sentences
 */

static const struct gp__history_group *longest_held(const struct report *r)
{
	const struct gp__history_group *most = NULL;

	for (size_t i = 0; i < r->nr_groups; i++) {
		if (!most || r->groups[i]->longest_wait > most->longest_wait)
			most = r->groups[i];
	}
	return most && most->longest_wait ? most : NULL;
}

static void tell(json_t *page, const struct report *r)
{
	const struct report_class *first = r->nr_classes ? &r->classes[0] : NULL;
	char length[32], p99[32], used[32];

	duration(length, sizeof(length), (double)r->length);
	if (first && report_p99(first) >= 0)
		json_object_set_new(page, "claim",
				    report_text("99 of 100 pieces of %s work were done within %s",
						gp__class_name(first->class),
						duration(p99, sizeof(p99), report_p99(first))));
	else
		json_object_set_new(page, "claim",
				    report_text("%zu programs shared %zu GPU%s for %s",
						r->nr_groups, r->history.gpus.n,
						r->history.gpus.n == 1 ? "" : "s", length));
	json_object_set_new(
		page, "lead",
		report_text("%zu groups of queues with work on %zu GPU%s, over %s, under the "
			    "policy `%s`. They used %s of GPU time. From the decision log `%s`.",
			    r->nr_groups, r->history.gpus.n, r->history.gpus.n == 1 ? "" : "s",
			    length, r->history.policy ? r->history.policy->name : "not known",
			    duration(used, sizeof(used), (double)r->used), r->name));
}

static void add_stats(json_t *page, const struct report *r)
{
	u64 gpus = r->length * r->history.gpus.n, patient = 0;
	const struct gp__history_group *longest = longest_held(r);
	char text[32], name[128];

	for (size_t i = 1; i < r->nr_classes; i++)
		patient += r->classes[i].used;
	if (r->nr_classes > 1)
		report_add_stat(page, NULL, report_text("%.1f %%", report_pct(patient, gpus)),
				false,
				report_text("of the time the GPUs worked for programs that are "
					    "not %s: what sharing gave them",
					    gp__class_name(r->classes[0].class)));
	report_add_stat(page, NULL, report_text("%.1f %%", report_pct(r->busy, gpus)), false,
			report_text("of the time a GPU had work that might run"));
	report_add_stat(page, NULL, report_text("%.2f %%", report_pct(r->wasted, gpus)),
			report_pct(r->wasted, gpus) > 5,
			report_text("of the time a GPU stood still while a program with work was "
				    "held: what holding cost"));
	report_add_stat(page, NULL,
			longest ? report_text("%s", duration(text, sizeof(text),
							     (double)longest->longest_wait))
				: report_text("never"),
			false,
			longest ? report_text("was the longest time for which a program with work "
					      "was held: %s",
					      report_group_name(name, sizeof(name), longest))
				: report_text("was a program with work held"));
}

static void add_warnings(json_t *page, const struct report *r)
{
	const struct gp__history *h = &r->history;
	size_t unknown = 0;

	for (size_t i = 0; i < r->nr_groups; i++)
		unknown += !r->groups[i]->known;
	if (h->missing)
		report_add_warning(page, report_text("The log says that %llu of its lines are "
						     "missing: the figures are not complete.",
						     (unsigned long long)h->missing));
	if (h->torn)
		report_add_warning(page, report_text("The last line of the log is not complete, "
						     "and was left out."));
	if (unknown)
		report_add_warning(page,
				   report_text("%zu groups joined before this log begins: their "
					       "priority, user and program are not known.",
					       unknown));
}

static void add_notes(json_t *page, const struct report_comparison *c)
{
	report_add_note(page, "A piece of work",
			"The time from the moment at which gpreemptd saw work in a group's queues "
			"until none was left: kernels, copies and their waiting. A request that "
			"makes the GPU idle in between is several pieces. Work that had not ended "
			"is in no distribution.");
	report_add_note(page, "A group",
			"The queues of one program on one GPU that have one priority and tag. It "
			"is held and released as one.");
	report_add_note(page, "Held",
			"A group had work and was kept off the GPU. `gpreempt why` counts it the "
			"same way. A hold without work costs nobody anything and is not counted.");
	report_add_note(page, "GPU time",
			"The time in which a group had work and was not held. Groups that did at "
			"the same time share it evenly; those with the least weight get what the "
			"others leave. It is not what the GPU's own counters say.");
	report_add_note(page, "Waste",
			"Nothing could run although a group with work was held: the scheduler "
			"waits for the next piece of an urgent burst, or an order is on its way.");
	report_add_note(page, "Classes",
			"`online` is priority 15, `normal` 7, `offline` 2; any other priority is "
			"`other`.");
	if (c && c->is_simulated)
		report_add_note(
			page, "Another policy",
			"The work of the log, simulated by `gpreempt sim`'s engine. A piece that "
			"began sooner after the one before than the program's pieces usually take "
			"follows from it; another one comes from outside at its time. The first "
			"simulation is of the log's own policy and must give the p50 and p99 that "
			"were measured within 10 %, or nothing is compared.");
}

/*
 * Tables
 */

static void add_classes(json_t *page, const struct report *r)
{
	static const char *const head[] = {
		"class",   "groups",   "pieces\nof work", "half\nwithin", "99 of 100\nwithin",
		"longest", "GPU time", "share",		  "held",	  "longest\nhold",
		NULL
	};
	json_t *table = report_add_table(
		page, "Classes",
		"How long work took, from the moment it was seen until it was done, and what the "
		"programs of each class used and waited. Quantiles of few pieces are left out.",
		head, 0);

	for (size_t i = 0; i < r->nr_classes; i++) {
		const struct report_class *c = &r->classes[i];
		json_t *row = report_add_row(table, gp__class_name(c->class), false);

		report_add_textf(row, "%s", gp__class_name(c->class));
		report_add_textf(row, "%u", c->groups);
		report_add_textf(row, "%zu", c->n);
		report_add_time(row, report_p50(c));
		report_add_time(row, report_p99(c));
		report_add_time(row, c->n ? (double)c->latency[c->n - 1] : -1);
		report_add_time(row, (double)c->used);
		report_add_textf(row, "%.1f %%", report_pct(c->used, r->used));
		report_add_time(row, (double)c->waited);
		report_add_time(row, (double)c->longest_wait);
	}
}

static void add_users(json_t *page, const struct report *r)
{
	static const char *const head[] = { "user", "groups",	     "GPU time", "share",
					    "held", "longest\nhold", NULL };
	json_t *table = report_add_table(
		page, "Users", "The share of each user in the GPU time that was used.", head, 0);

	for (size_t i = 0; i < r->nr_users && i < ROWS_MAX; i++) {
		const struct report_user *u = &r->users[i];
		json_t *row = report_add_row(table, NULL, false);
		char name[64];

		report_add_textf(row, "%s", user_text(name, sizeof(name), u->id));
		report_add_textf(row, "%u", u->groups);
		report_add_time(row, (double)u->used);
		report_add_textf(row, "%.1f %%", report_pct(u->used, r->used));
		report_add_time(row, (double)u->waited);
		report_add_time(row, (double)u->longest_wait);
	}
}

/* What a hold was for: a group, or the rule alone. */
static const char *by_text(char *buf, size_t n, const struct report *r, u32 by)
{
	const struct gp__history_group *g = by ? gp__history_find(&r->history, by) : NULL;

	if (g)
		return report_group_name(buf, n, g);
	if (by)
		snprintf(buf, n, "group %u", by);
	else
		snprintf(buf, n, "–");
	return buf;
}

static void add_causes(json_t *page, const struct report *r)
{
	static const char *const head[] = { "held",    "for", "rule", "holds", "held\nwith work",
					    "longest", NULL };
	json_t *table = report_add_table(
		page, "Who held whom",
		"Which group was held for which other one, by which rule (`gpreempt-policy`(7)), "
		"how often and for how long.",
		head, 1u << 1 | 1u << 2);

	for (size_t i = 0; i < r->nr_causes && i < ROWS_MAX; i++) {
		const struct report_cause *c = &r->causes[i];
		json_t *row = report_add_row(table, color_of(c->held->prio), false);
		char held[128], by[128];

		report_add_textf(row, "%s", report_group_name(held, sizeof(held), c->held));
		report_add_textf(row, "%s", by_text(by, sizeof(by), r, c->by));
		report_add_textf(row, "%s", gp__rule_name((enum gp__rule)c->rule));
		report_add_textf(row, "%llu", (unsigned long long)c->nr);
		report_add_time(row, (double)c->waited);
		report_add_time(row, (double)c->longest);
	}
}

static void add_groups(json_t *page, const struct report *r)
{
	static const char *const head[] = {
		"program",	 "tag",	  "GPU",   "priority", "pieces",
		"GPU time",	 "share", "holds", "held",     "of its time\nwith work",
		"longest\nhold", NULL
	};
	u64 limit = r->history.has_cfg[GP__CFG_MAX_HOLD_MS]
			    ? r->history.cfg[GP__CFG_MAX_HOLD_MS] * GP__MS
			    : 0;
	char about[256], most[32];
	json_t *table;

	snprintf(about, sizeof(about),
		 "Starvation would be here: a group that was held for most of the time in which it "
		 "had work, or for long at a time%s%s.",
		 limit ? "; the daemon's bound of a hold (max_hold_ms) was " : "",
		 limit ? duration(most, sizeof(most), (double)limit) : "");
	table = report_add_table(page, "Programs", about, head, 1u << 1);
	for (size_t i = 0; i < r->nr_groups && i < ROWS_MAX; i++) {
		const struct gp__history_group *g = r->groups[i];
		double held = report_pct(g->waited, g->used + g->waited);
		json_t *row = report_add_row(table, color_of(g->prio), false);
		char name[128];

		report_add_textf(row, "%s", report_group_name(name, sizeof(name), g));
		report_add_textf(row, "%s", *g->tag ? g->tag : "–");
		report_add_textf(row, "%u", g->gpu);
		report_add_textf(row, g->known ? "%d" : "–", g->prio);
		report_add_textf(row, "%zu", g->pieces.n);
		report_add_time(row, (double)g->used);
		report_add_textf(row, "%.1f %%", report_pct(g->used, r->used));
		report_add_textf(row, "%zu", g->holds.n);
		report_add_time(row, (double)g->waited);
		report_add_cell(row, json_pack("[o, s]", report_text("%.1f %%", held),
					       held > 90 ? "bad" : ""));
		report_add_time(row, (double)g->longest_wait);
	}
}

static void add_gpus(json_t *page, const struct report *r)
{
	static const char *const head[] = { "GPU",
					    "had work",
					    "stood still\nwhile one waited",
					    "stops",
					    "half took\neffect within",
					    "99 of 100",
					    NULL };
	json_t *table = report_add_table(
		page, "GPUs",
		"What holding cost each GPU, and how long its orders to stop took to take effect.",
		head, 0);

	for (size_t i = 0; i < r->history.gpus.n && i < ROWS_MAX; i++) {
		const struct gp__history_gpu *gpu = r->history.gpus.at[i];
		json_t *row = report_add_row(table, NULL, false);
		u64 p50 = 0, p99 = 0;
		bool known = !gp__hist_quantile(&gpu->stop, 0.5, &p50);

		gp__hist_quantile(&gpu->stop, 0.99, &p99);
		report_add_textf(row, "gpu%u", gpu->id);
		report_add_textf(row, "%.1f %%", report_pct(gpu->busy, r->length));
		report_add_textf(row, "%.2f %%", report_pct(gpu->wasted, r->length));
		report_add_textf(row, "%llu", (unsigned long long)gpu->stop.count);
		report_add_time(row, known ? (double)p50 : -1);
		report_add_time(row, known ? (double)p99 : -1);
	}
}

/*
 * The comparison
 */

static void add_run_row(json_t *table, const struct report_comparison *c, const char *what,
			double (*value)(const struct report_run *run, int class), int class,
			bool is_time)
{
	json_t *row;
	bool any = false;

	for (size_t i = 0; i < c->nr_runs; i++)
		any |= value(&c->runs[i], class) >= 0;
	if (!any)
		return;
	row = report_add_row(table, class >= 0 ? gp__class_name((enum gp__class) class) : NULL,
			     false);
	report_add_textf(row, "%s%s%s", class >= 0 ? gp__class_name((enum gp__class) class) : "",
			 class >= 0 ? ": " : "", what);
	for (size_t i = 0; i < c->nr_runs; i++) {
		double v = value(&c->runs[i], class);

		if (is_time)
			report_add_time(row, v);
		else
			report_add_textf(row, "%.2f %%", v);
	}
}

static double p50_of(const struct report_run *run, int class)
{
	return run->classes[class].p50;
}

static double p99_of(const struct report_run *run, int class)
{
	return run->classes[class].p99;
}

static double waited_of(const struct report_run *run, int class)
{
	return run->classes[class].waited > 0 || run->classes[class].used > 0
		       ? run->classes[class].waited
		       : -1;
}

static double used_of(const struct report_run *run, int class)
{
	return run->classes[class].used > 0 ? run->classes[class].used : -1;
}

static double busy_of(const struct report_run *run, int class)
{
	(void)class;
	return run->busy_pct;
}

static double wasted_of(const struct report_run *run, int class)
{
	(void)class;
	return run->wasted_pct;
}

static double longest_of(const struct report_run *run, int class)
{
	(void)class;
	return run->longest_wait;
}

static void add_comparison(json_t *page, const struct report_comparison *c)
{
	const char *head[REPORT_RUNS_MAX + 2] = { "" };
	json_t *table;

	if (*c->refused) {
		report_add_warning(page, report_text("No comparison: %s.", c->refused));
		return;
	}
	for (size_t i = 0; i < c->nr_runs; i++)
		head[i + 1] = c->runs[i].name;
	head[c->nr_runs + 1] = NULL;
	table = report_add_table(
		page, c->is_simulated ? "Under another policy" : "Two logs",
		c->is_simulated
			? "The work of this log again, under other policies, by simulation. The "
			  "first column was measured; the second one shows how well the simulation "
			  "does."
			: "The same figures of both.",
		head, 0);
	for (int i = GP__CLASS_COUNT - 1; i >= 0; i--) {
		add_run_row(table, c, "half within", p50_of, i, true);
		add_run_row(table, c, "99 of 100 within", p99_of, i, true);
		add_run_row(table, c, "GPU time", used_of, i, true);
		add_run_row(table, c, "held with work", waited_of, i, true);
	}
	add_run_row(table, c, "longest hold", longest_of, -1, true);
	add_run_row(table, c, "GPUs had work", busy_of, -1, false);
	add_run_row(table, c, "GPUs stood still while one waited", wasted_of, -1, false);
}

/*
 * Pictures
 */

static void add_curves(json_t *page, const struct report *r)
{
	static const char *const dashes[GP__CLASS_COUNT] = {
		[GP__CLASS_ONLINE] = "",
		[GP__CLASS_NORMAL] = "8 4",
		[GP__CLASS_OFFLINE] = "2 4",
		[GP__CLASS_OTHER] = "1 3",
	};
	json_t *series = json_array();

	for (size_t i = 0; i < r->nr_classes; i++) {
		const struct report_class *c = &r->classes[i];
		const char *name = gp__class_name(c->class);
		double *ms;

		if (c->n < REPORT_P50_PIECES)
			continue;
		ms = calloc(c->n, sizeof(*ms));
		if (!ms)
			break;
		for (size_t k = 0; k < c->n; k++)
			ms[k] = (double)c->latency[k] / GP__MS;
		json_array_append_new(series, report_curve(name, name, dashes[c->class],
							   c->class == GP__CLASS_ONLINE, ms, c->n));
		free(ms);
	}
	json_object_set_new(page, "cdf_title", json_string("How long work took"));
	if (!json_array_size(series)) {
		json_decref(series);
		return;
	}
	json_array_append_new(
		json_object_get(page, "cdfs"),
		json_pack("{s:s, s:s, s:s, s:b, s:o}", "name", "work", "about",
			  "Share of pieces of work that were done within a time, by class. On the "
			  "axis each step to the right is a multiple, if times differ much.",
			  "axis", "from the moment the work was seen until it was done", "log", 1,
			  "series", series));
}

/* The index of the sentence that says what a hold was for. Sentences are few: they are compared. */
static int word_of(json_t *words, const struct report *r, const struct gp__history_group *g,
		   const struct gp__history_span *s)
{
	const struct gp__history_hold *hold = s->hold < g->holds.n ? &g->holds.at[s->hold] : NULL;
	char by[128], text[200];
	size_t i, n = json_array_size(words);

	if (!hold)
		return -1;
	by_text(by, sizeof(by), r, hold->by);
	snprintf(text, sizeof(text), hold->by ? "held for %s (rule: %s)" : "held%.0s (rule: %s)",
		 by, gp__rule_name((enum gp__rule)hold->rule));
	for (i = 0; i < n; i++) {
		if (!strcmp(json_string_value(json_array_get(words, i)), text))
			return (int)i;
	}
	if (n >= 200)
		return -1;
	json_array_append_new(words, gp__json_text(text));
	return (int)n;
}

static json_t *layer(const struct report *r, const struct gp__history_group *g, u8 kind, u64 gap,
		     json_t *words, const char *fill, double opacity)
{
	struct report_layer l;

	report_layer_begin(&l, r->history.begin, r->history.end, gap);
	for (size_t i = 0; i < g->spans.n; i++) {
		const struct gp__history_span *s = &g->spans.at[i];

		if (s->kind == kind)
			report_layer_add(&l, s->from, s->to,
					 kind == GP__LANE_HELD ? word_of(words, r, g, s) : -1);
	}
	return report_layer_end(&l, fill, opacity);
}

static json_t *lane(const struct report *r, const struct gp__history_group *g, u64 gap,
		    json_t *words)
{
	const char *class = color_of(g->prio);
	char name[128], held[32], yields[32];
	json_t *layers = json_array();

	snprintf(held, sizeof(held), "#held-%s", class);
	snprintf(yields, sizeof(yields), "#yields-%s", class);
	json_array_append_new(layers, layer(r, g, GP__LANE_HELD, gap, words, held, 0.9));
	json_array_append_new(layers, layer(r, g, GP__LANE_YIELD, gap, words, yields, 0.7));
	json_array_append_new(layers, layer(r, g, GP__LANE_RUN, gap, words, class, 1));
	return json_pack("{s:o, s:o}", "name",
			 gp__json_text(report_group_name(name, sizeof(name), g)), "layers", layers);
}

static json_t *lanes(const struct report *r, json_t *words)
{
	size_t n = r->nr_groups < LANES_MAX ? r->nr_groups : LANES_MAX;
	u64 gap = report_gap(r->length, n);
	json_t *groups = json_array();

	for (size_t i = 0; i < r->history.gpus.n; i++) {
		json_t *rows = json_array();

		for (size_t k = 0; k < n; k++) {
			if (r->groups[k]->gpu == r->history.gpus.at[i]->id)
				json_array_append_new(rows, lane(r, r->groups[k], gap, words));
		}
		if (!json_array_size(rows)) {
			json_decref(rows);
			continue;
		}
		json_array_append_new(groups,
				      json_pack("{s:o, s:o}", "name",
						report_text("gpu%u", r->history.gpus.at[i]->id),
						"rows", rows));
	}
	return groups;
}

static json_t *legend(const struct report *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->nr_classes; i++) {
		const char *name = gp__class_name(r->classes[i].class);
		char held[32];

		snprintf(held, sizeof(held), "#held-%s", name);
		json_array_append_new(list,
				      json_pack("[s, o]", name, report_text("%s runs", name)));
		json_array_append_new(list,
				      json_pack("[s, o]", held, report_text("%s is held", name)));
	}
	return list;
}

static void add_timeline(json_t *page, const struct report *r)
{
	double length = (double)r->length / GP__MS;
	json_t *words = json_array(), *groups = lanes(r, words);

	if (!json_array_size(groups) || !r->length) {
		json_decref(groups);
		json_decref(words);
		return;
	}
	json_object_set_new(
		page, "timeline",
		json_pack(
			"{s:s, s:o, s:s, s:f, s:f, s:f, s:f, s:o, s:o, s:o}", "title",
			"Who ran when", "about",
			report_text(
				"When each group had work and ran, or was held%s. Hatched: held; "
				"stand on a span to see for whom. Where there are too many to see "
				"each, a lane has the parts of its time, one above the other. Ctrl "
				"and the wheel, or + and −, change how much is shown.",
				r->nr_groups > LANES_MAX ? ", of the 40 that used or waited most"
							 : ""),
			"describe", "a lane for each group, with when it ran and when it was held.",
			"length", length, "from", 0.0, "shows", length, "least",
			length < LEAST_MS ? length : LEAST_MS, "words", words, "legend", legend(r),
			"groups", groups));
}

json_t *report_log_page(const struct report *r, const struct report_comparison *c)
{
	json_t *page = report_page_new("gpreempt report", "Written by `gpreempt report`.");

	tell(page, r);
	add_stats(page, r);
	add_warnings(page, r);
	add_timeline(page, r);
	add_curves(page, r);
	if (c)
		add_comparison(page, c);
	add_classes(page, r);
	add_causes(page, r);
	add_users(page, r);
	add_groups(page, r);
	add_gpus(page, r);
	add_notes(page, c);
	return page;
}
