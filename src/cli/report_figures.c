// SPDX-License-Identifier: MIT
/* Figures of a history: by class, by user, by the cause of holds. */
#include "cli/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"
#include "view/describe.h"

const char *report_group_name(char *buf, size_t n, const struct gp__history_group *g)
{
	if (*g->name)
		snprintf(buf, n, "%s (pid %u)", g->name, g->process);
	else if (*g->tag)
		snprintf(buf, n, "%s (group %u)", g->tag, g->id);
	else
		snprintf(buf, n, "group %u", g->id);
	return buf;
}

double report_pct(u64 part, u64 all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

/*
 * Classes
 */

static const enum gp__class order[] = { GP__CLASS_ONLINE, GP__CLASS_NORMAL, GP__CLASS_OFFLINE,
					GP__CLASS_OTHER };

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static void add_to_class(struct report_class *c, const struct gp__history_group *g)
{
	c->groups++;
	c->used += g->used;
	c->waited += g->waited;
	c->longest_wait = gp__max_u64(c->longest_wait, g->longest_wait);
	for (size_t i = 0; i < g->pieces.n; i++)
		c->latency[c->n++] = g->pieces.at[i].to - g->pieces.at[i].from;
}

static bool compute_class(struct report *r, enum gp__class class)
{
	struct report_class *c = &r->classes[r->nr_classes];
	const struct gp__history *h = &r->history;
	size_t pieces = 0;

	for (size_t i = 0; i < h->nr_groups; i++)
		pieces += gp__class_of(h->group[i]->prio) == class ? h->group[i]->pieces.n : 0;
	*c = (struct report_class){ .class = class };
	c->latency = calloc(pieces + 1, sizeof(*c->latency));
	if (!c->latency)
		return false;
	for (size_t i = 0; i < h->nr_groups; i++) {
		if (gp__class_of(h->group[i]->prio) == class)
			add_to_class(c, h->group[i]);
	}
	qsort(c->latency, c->n, sizeof(*c->latency), compare_u64);
	if (c->groups)
		r->nr_classes++;
	else
		free(c->latency);
	return true;
}

static double quantile(const u64 *sorted, size_t n, size_t percent)
{
	return (double)sorted[(n * percent + 99) / 100 - 1];
}

double report_p50(const struct report_class *c)
{
	return c->n >= REPORT_P50_PIECES ? quantile(c->latency, c->n, 50) : -1;
}

double report_p99(const struct report_class *c)
{
	return c->n >= REPORT_P99_PIECES ? quantile(c->latency, c->n, 99) : -1;
}

/*
 * Users
 */

static int compare_users(const void *a, const void *b)
{
	const struct report_user *one = a, *two = b;

	if (one->used != two->used)
		return one->used < two->used ? 1 : -1;
	return one->id < two->id ? -1 : one->id > two->id;
}

static struct report_user *get_user(struct report *r, u32 id)
{
	for (size_t i = 0; i < r->nr_users; i++) {
		if (r->users[i].id == id)
			return &r->users[i];
	}
	r->users[r->nr_users].id = id;
	return &r->users[r->nr_users++];
}

static bool compute_users(struct report *r)
{
	const struct gp__history *h = &r->history;

	r->users = calloc(h->nr_groups + 1, sizeof(*r->users));
	if (!r->users)
		return false;
	for (size_t i = 0; i < h->nr_groups; i++) {
		struct report_user *u = get_user(r, h->group[i]->user);

		u->groups++;
		u->used += h->group[i]->used;
		u->waited += h->group[i]->waited;
		u->longest_wait = gp__max_u64(u->longest_wait, h->group[i]->longest_wait);
	}
	qsort(r->users, r->nr_users, sizeof(*r->users), compare_users);
	return true;
}

/*
 * Causes
 */

static int compare_holds(const void *a, const void *b)
{
	const struct gp__history_hold *one = a, *two = b;

	if (one->by != two->by)
		return one->by < two->by ? -1 : 1;
	return (one->rule > two->rule) - (one->rule < two->rule);
}

static int compare_causes(const void *a, const void *b)
{
	const struct report_cause *one = a, *two = b;

	if (one->waited != two->waited)
		return one->waited < two->waited ? 1 : -1;
	if (one->held->id != two->held->id)
		return one->held->id < two->held->id ? -1 : 1;
	if (one->by != two->by)
		return one->by < two->by ? -1 : 1;
	return (one->rule > two->rule) - (one->rule < two->rule);
}

static bool add_cause(struct report *r, const struct gp__history_group *g,
		      const struct gp__history_hold *hold)
{
	struct report_cause *last = r->nr_causes ? &r->causes[r->nr_causes - 1] : NULL, *more;

	if (!last || last->held != g || last->by != hold->by || last->rule != hold->rule) {
		/* There is room for a power of two. */
		if (!(r->nr_causes & (r->nr_causes - 1))) {
			more = realloc(r->causes,
				       (r->nr_causes ? 2 * r->nr_causes : 1) * sizeof(*more));
			if (!more)
				return false;
			r->causes = more;
		}
		last = &r->causes[r->nr_causes++];
		*last = (struct report_cause){ .held = g, .by = hold->by, .rule = hold->rule };
	}
	last->nr++;
	last->waited += hold->waited;
	last->longest = gp__max_u64(last->longest, hold->longest);
	return true;
}

static bool compute_causes(struct report *r)
{
	const struct gp__history *h = &r->history;

	for (size_t i = 0; i < h->nr_groups; i++) {
		const struct gp__history_group *g = h->group[i];
		struct gp__history_hold *sorted = calloc(g->holds.n + 1, sizeof(*sorted));
		bool ok = sorted;

		if (ok && g->holds.n)
			memcpy(sorted, g->holds.at, g->holds.n * sizeof(*sorted));
		if (ok)
			qsort(sorted, g->holds.n, sizeof(*sorted), compare_holds);
		for (size_t k = 0; ok && k < g->holds.n; k++)
			ok = add_cause(r, g, &sorted[k]);
		r->holds += g->holds.n;
		free(sorted);
		if (!ok)
			return false;
	}
	if (r->nr_causes)
		qsort(r->causes, r->nr_causes, sizeof(*r->causes), compare_causes);
	return true;
}

/*
 * Groups
 */

static int compare_groups(const void *a, const void *b)
{
	const struct gp__history_group *one = *(const struct gp__history_group *const *)a;
	const struct gp__history_group *two = *(const struct gp__history_group *const *)b;
	u64 x = one->used + one->waited, y = two->used + two->waited;

	if (x != y)
		return x < y ? 1 : -1;
	return one->joined_at < two->joined_at ? -1 : one->joined_at > two->joined_at;
}

static bool compute_groups(struct report *r)
{
	const struct gp__history *h = &r->history;

	r->groups = calloc(h->nr_groups + 1, sizeof(*r->groups));
	if (!r->groups)
		return false;
	for (size_t i = 0; i < h->nr_groups; i++) {
		const struct gp__history_group *g = h->group[i];

		r->used += g->used;
		r->waited += g->waited;
		if (g->used || g->waited)
			r->groups[r->nr_groups++] = g;
	}
	qsort(r->groups, r->nr_groups, sizeof(*r->groups), compare_groups);
	return true;
}

bool report_compute(struct report *r)
{
	const struct gp__history *h = &r->history;

	r->length = h->end - h->begin;
	for (size_t i = 0; i < h->gpus.n; i++) {
		r->busy += h->gpus.at[i]->busy;
		r->wasted += h->gpus.at[i]->wasted;
	}
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		if (!compute_class(r, order[i]))
			return false;
	}
	return compute_users(r) && compute_causes(r) && compute_groups(r);
}

void report_free(struct report *r)
{
	for (size_t i = 0; i < r->nr_classes; i++)
		free(r->classes[i].latency);
	free(r->users);
	free(r->causes);
	free(r->groups);
	gp__history_free(&r->history);
}

/*
 * JSON
 */

static void set_ms(json_t *o, const char *key, double ns)
{
	gp__json_set_real(o, key, ns >= 0, ns / GP__MS);
}

static json_t *class_json(const struct report_class *c)
{
	json_t *o = json_object();

	json_object_set_new(o, "class", json_string(gp__class_name(c->class)));
	json_object_set_new(o, "groups", json_integer(c->groups));
	gp__json_set_u64(o, "pieces", true, c->n);
	set_ms(o, "p50_ms", report_p50(c));
	set_ms(o, "p99_ms", report_p99(c));
	set_ms(o, "max_ms", c->n ? (double)c->latency[c->n - 1] : -1);
	set_ms(o, "used_ms", (double)c->used);
	set_ms(o, "held_ms", (double)c->waited);
	set_ms(o, "longest_hold_ms", (double)c->longest_wait);
	return o;
}

static json_t *user_json(const struct report *r, const struct report_user *u)
{
	json_t *o = json_object();
	char name[64];

	gp__json_set_u64(o, "user", u->id != GP__NOBODY, u->id);
	json_object_set_new(o, "user_name",
			    u->id == GP__NOBODY
				    ? json_null()
				    : gp__json_text(gp__view_user(name, sizeof(name), u->id)));
	json_object_set_new(o, "groups", json_integer(u->groups));
	set_ms(o, "used_ms", (double)u->used);
	gp__json_set_real(o, "share_pct", r->used, report_pct(u->used, r->used));
	set_ms(o, "held_ms", (double)u->waited);
	set_ms(o, "longest_hold_ms", (double)u->longest_wait);
	return o;
}

static json_t *group_json(const struct report *r, const struct gp__history_group *g)
{
	json_t *o = json_object();

	json_object_set_new(o, "group", json_integer(g->id));
	json_object_set_new(o, "gpu", json_integer(g->gpu));
	gp__json_set_u64(o, "pid", g->known, g->process);
	gp__json_set_u64(o, "user", g->user != GP__NOBODY, g->user);
	json_object_set_new(o, "program", *g->name ? gp__json_text(g->name) : json_null());
	json_object_set_new(o, "tag", json_string(g->tag));
	json_object_set_new(o, "priority", g->known ? json_integer(g->prio) : json_null());
	json_object_set_new(o, "class", json_string(gp__class_name(gp__class_of(g->prio))));
	gp__json_set_u64(o, "pieces", true, g->pieces.n);
	set_ms(o, "used_ms", (double)g->used);
	gp__json_set_real(o, "share_pct", r->used, report_pct(g->used, r->used));
	gp__json_set_u64(o, "holds", true, g->holds.n);
	set_ms(o, "held_ms", (double)g->waited);
	set_ms(o, "longest_hold_ms", (double)g->longest_wait);
	set_ms(o, "wasted_ms", (double)g->wasted);
	return o;
}

static json_t *gpu_json(const struct report *r, const struct gp__history_gpu *gpu)
{
	json_t *o = json_object(), *stop = json_object(), *start = json_object();

	json_object_set_new(o, "gpu", json_integer(gpu->id));
	set_ms(o, "busy_ms", (double)gpu->busy);
	gp__json_set_real(o, "busy_pct", r->length, report_pct(gpu->busy, r->length));
	set_ms(o, "wasted_ms", (double)gpu->wasted);
	gp__json_set_real(o, "wasted_pct", r->length, report_pct(gpu->wasted, r->length));
	gp__json_set_latency(stop, &gpu->stop);
	gp__json_set_latency(start, &gpu->start);
	json_object_set_new(o, "stop", stop);
	json_object_set_new(o, "start", start);
	return o;
}

static json_t *cause_json(const struct report_cause *c)
{
	json_t *o = json_object();

	json_object_set_new(o, "group", json_integer(c->held->id));
	gp__json_set_u64(o, "by_group", c->by, c->by);
	json_object_set_new(o, "rule", json_string(gp__rule_name((enum gp__rule)c->rule)));
	gp__json_set_u64(o, "holds", true, c->nr);
	set_ms(o, "held_ms", (double)c->waited);
	set_ms(o, "longest_hold_ms", (double)c->longest);
	return o;
}

static json_t *run_json(const struct report_run *run)
{
	json_t *o = json_object(), *classes = json_array();

	json_object_set_new(o, "name", gp__json_text(run->name));
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		json_t *c = json_object();

		json_object_set_new(c, "class", json_string(gp__class_name(order[i])));
		gp__json_set_u64(c, "pieces", true, run->classes[order[i]].pieces);
		set_ms(c, "p50_ms", run->classes[order[i]].p50);
		set_ms(c, "p99_ms", run->classes[order[i]].p99);
		set_ms(c, "held_ms", run->classes[order[i]].waited);
		set_ms(c, "used_ms", run->classes[order[i]].used);
		json_array_append_new(classes, c);
	}
	json_object_set_new(o, "classes", classes);
	gp__json_set_real(o, "busy_pct", true, run->busy_pct);
	gp__json_set_real(o, "wasted_pct", true, run->wasted_pct);
	gp__json_set_u64(o, "holds", true, run->holds);
	set_ms(o, "longest_hold_ms", run->longest_wait);
	return o;
}

static json_t *comparison_json(const struct report_comparison *c)
{
	json_t *o = json_object(), *runs = json_array();

	json_object_set_new(o, "simulated", json_boolean(c->is_simulated));
	json_object_set_new(o, "refused", *c->refused ? gp__json_text(c->refused) : json_null());
	for (size_t i = 0; i < c->nr_runs; i++)
		json_array_append_new(runs, run_json(&c->runs[i]));
	json_object_set_new(o, "runs", runs);
	return o;
}

json_t *report_json(const struct report *r, const struct report_comparison *c)
{
	json_t *o = gp__json_envelope(), *gpus = json_array(), *classes = json_array();
	json_t *users = json_array(), *groups = json_array(), *holds = json_array();
	const struct gp__history *h = &r->history;

	json_object_set_new(o, "log", gp__json_text(r->name));
	set_ms(o, "begin_ms", (double)h->begin);
	set_ms(o, "length_ms", (double)r->length);
	gp__json_set_u64(o, "lines", true, h->lines);
	gp__json_set_u64(o, "missing_lines", true, h->missing);
	json_object_set_new(o, "incomplete_end", json_boolean(h->torn));
	json_object_set_new(o, "policy", h->policy ? json_string(h->policy->name) : json_null());
	for (size_t i = 0; i < h->gpus.n; i++)
		json_array_append_new(gpus, gpu_json(r, h->gpus.at[i]));
	for (size_t i = 0; i < r->nr_classes; i++)
		json_array_append_new(classes, class_json(&r->classes[i]));
	for (size_t i = 0; i < r->nr_users; i++)
		json_array_append_new(users, user_json(r, &r->users[i]));
	for (size_t i = 0; i < r->nr_groups; i++)
		json_array_append_new(groups, group_json(r, r->groups[i]));
	for (size_t i = 0; i < r->nr_causes; i++)
		json_array_append_new(holds, cause_json(&r->causes[i]));
	json_object_set_new(o, "gpus", gpus);
	json_object_set_new(o, "classes", classes);
	json_object_set_new(o, "users", users);
	json_object_set_new(o, "groups", groups);
	json_object_set_new(o, "holds", holds);
	json_object_set_new(o, "comparison", c ? comparison_json(c) : json_null());
	return o;
}
