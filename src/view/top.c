// SPDX-License-Identifier: MIT
#include "view/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "core/log.h"

void gp__top_init(struct gp__top *t, uint64_t window_ns)
{
	*t = (struct gp__top){ .window_ns = window_ns };
}

static void free_group(struct gp__top_group *g)
{
	free(g->queue);
	free(g);
}

void gp__top_clear(struct gp__top *t)
{
	for (uint32_t i = 0; i < t->nr_groups; i++)
		free_group(t->group[i]);
	free(t->gpu);
	t->gpu = NULL;
	json_decref(t->processes);
	t->processes = NULL;
	gp__top_explain(t, NULL);
	t->nr_groups = t->nr_gpus = 0;
	t->listed_at = 0;
}

void gp__top_free(struct gp__top *t)
{
	gp__top_clear(t);
	free(t->group);
	*t = (struct gp__top){ 0 };
}

/*
 * Fields of the list
 */

static long long int_of(const json_t *o, const char *key)
{
	return (long long)json_integer_value(json_object_get(o, key));
}

static void copy_text(char *to, size_t size, const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	snprintf(to, size, "%s", text ? text : "");
}

/* Negative: null. */
static double number_of(const json_t *o, const char *key)
{
	const json_t *value = json_object_get(o, key);

	return json_is_number(value) ? json_number_value(value) : -1;
}

/*
 * Groups
 */

static struct gp__top_group *find_group(const struct gp__top *t, uint32_t id)
{
	for (uint32_t i = 0; i < t->nr_groups; i++) {
		if (t->group[i]->id == id)
			return t->group[i];
	}
	return NULL;
}

static struct gp__top_group *add_group(struct gp__top *t, uint32_t id, uint64_t now)
{
	struct gp__top_group *g = calloc(1, sizeof(*g)), **more;

	if (g && t->nr_groups == t->room) {
		more = realloc(t->group, (t->room + 16) * sizeof(*more));
		if (!more) {
			free(g);
			return NULL;
		}
		t->group = more;
		t->room += 16;
	}
	if (!g)
		return NULL;
	g->id = id;
	gp__lane_init(&g->lane, t->window_ns, now);
	t->group[t->nr_groups++] = g;
	return g;
}

static uint32_t weight_of(const char *text)
{
	if (!text)
		return 0;
	if (!strcmp(text, "least"))
		return GP__WEIGHT_LEAST;
	return !strcmp(text, "most") ? GP__WEIGHT_MOST : (uint32_t)strtoul(text, NULL, 10);
}

static int read_queues(struct gp__top_group *g, const json_t *queues)
{
	struct gp__top_queue *all = calloc(json_array_size(queues) + 1, sizeof(*all));
	json_t *q;
	size_t i;

	if (!all)
		return -ENOMEM;
	json_array_foreach ((json_t *)queues, i, q) {
		const char *state = json_string_value(json_object_get(q, "state"));
		const char *weight = json_string_value(json_object_get(q, "weight"));

		all[i].id = (uint32_t)int_of(q, "queue");
		all[i].has_work = json_is_true(json_object_get(q, "has_work"));
		all[i].held = state && !strncmp(state, "exclud", 6);
		all[i].weight = weight_of(weight);
	}
	free(g->queue);
	g->queue = all;
	g->nr_queues = (uint32_t)json_array_size(queues);
	return 0;
}

/* "3", or "1/3" if level 3 was requested. */
static void read_level(struct gp__top_group *g, const json_t *queues)
{
	long long level = 0, asked = 0;
	json_t *q;
	size_t i;

	json_array_foreach ((json_t *)queues, i, q) {
		level = !level || int_of(q, "level") < level ? int_of(q, "level") : level;
		asked = int_of(q, "level_requested") > asked ? int_of(q, "level_requested") : asked;
	}
	if (asked > level)
		snprintf(g->level, sizeof(g->level), "%lld of %lld", level, asked);
	else
		snprintf(g->level, sizeof(g->level), "%lld", level);
}

/* Derived from the states of its queues. */
static enum gp__lane_kind kind_of(const struct gp__top_group *g)
{
	bool has_work = false, held = false;

	if (!g->ours)
		return GP__LANE_UNKNOWN;
	for (uint32_t i = 0; i < g->nr_queues; i++) {
		has_work |= g->queue[i].has_work;
		held |= g->queue[i].has_work && g->queue[i].held;
	}
	return !has_work ? GP__LANE_IDLE : held ? GP__LANE_HELD : GP__LANE_RUN;
}

/*
 * Groups that run at once are in tiers: those with the most weight let no other progress, and those
 * with the least weight only get what is left. The groups of one tier divide its time by weight.
 */
enum tier { TIER_LEAST, TIER_PLAIN, TIER_MOST, TIERS };

#define WEIGHT_USUAL 100
/* Sums of parts stay small. */
#define WEIGHT_MAX 100000

static uint32_t weight_of_group(const struct gp__top_group *g)
{
	uint32_t weight = 0;

	for (uint32_t i = 0; i < g->nr_queues; i++) {
		uint32_t w = g->queue[i].weight ? g->queue[i].weight : WEIGHT_USUAL;

		/* The least weight is a large number. */
		if (!g->queue[i].has_work || w == GP__WEIGHT_LEAST)
			continue;
		weight = w > weight ? w : weight;
	}
	return weight ? weight : GP__WEIGHT_LEAST;
}

static enum tier tier_of(uint32_t weight)
{
	if (weight == GP__WEIGHT_LEAST)
		return TIER_LEAST;
	return weight == GP__WEIGHT_MOST ? TIER_MOST : TIER_PLAIN;
}

static uint32_t part_of(uint32_t weight)
{
	if (tier_of(weight) != TIER_PLAIN)
		return 1;
	return weight < WEIGHT_MAX ? weight : WEIGHT_MAX;
}

struct tiers {
	uint32_t nr[TIERS], sum[TIERS];
};

/* Without lines, the groups of other users are not known, but the daemon says whether it gives way.
 */
static void set_lane(const struct gp__top *t, struct gp__top_group *g, const struct tiers *tiers,
		     uint64_t now)
{
	enum gp__lane_kind kind = kind_of(g);
	uint32_t weight = weight_of_group(g);
	enum tier tier = tier_of(weight);
	bool gives_way = !t->watching && g->gives_way && tier == TIER_LEAST;

	g->beside = 0;
	if (kind != GP__LANE_RUN) {
		gp__lane_set(&g->lane, kind, now);
		return;
	}
	for (int above = (int)tier + 1; above < TIERS; above++)
		gives_way |= tiers->nr[above] != 0;
	gp__lane_set(&g->lane, gives_way ? GP__LANE_YIELD : kind, now);
	if (!gives_way)
		g->beside = tiers->nr[tier] - 1;
	gp__lane_share(&g->lane, part_of(weight), tiers->sum[tier], now);
}

static void set_lanes(struct gp__top *t, uint32_t gpu, uint64_t now)
{
	struct tiers tiers = { 0 };

	for (uint32_t i = 0; i < t->nr_groups; i++) {
		const struct gp__top_group *g = t->group[i];
		uint32_t weight = weight_of_group(g);

		if (g->gpu != gpu || kind_of(g) != GP__LANE_RUN)
			continue;
		tiers.nr[tier_of(weight)]++;
		tiers.sum[tier_of(weight)] += part_of(weight);
	}
	for (uint32_t i = 0; i < t->nr_groups; i++) {
		if (t->group[i]->gpu == gpu)
			set_lane(t, t->group[i], &tiers, now);
	}
}

/* The names of users are in files: they are looked up once. */
static void read_user(struct gp__top_group *g, const json_t *user)
{
	long long uid = json_is_integer(user) ? (long long)json_integer_value(user) : -1;

	if (*g->user && g->uid == uid)
		return;
	g->uid = uid;
	if (uid >= 0)
		gp__view_user(g->user, sizeof(g->user), (uid_t)uid);
	else
		snprintf(g->user, sizeof(g->user), "?");
}

static int read_group(struct gp__top_group *g, const json_t *json)
{
	const json_t *queues = json_object_get(json, "queues");

	g->gone = false;
	g->gpu = (uint32_t)int_of(json, "gpu");
	g->ours = json_is_integer(json_object_get(json, "pid"));
	g->pid = (pid_t)int_of(json, "pid");
	g->priority = int_of(json, "priority");
	g->effective = g->ours ? int_of(json, "effective") : g->priority;
	g->suspended = json_is_true(json_object_get(json, "suspended"));
	g->gives_way = json_is_true(json_object_get(json, "yielding"));
	g->used_ms = number_of(json, "used_ms");
	g->held_ms = number_of(json, "held_ms");
	g->wasted_ms = number_of(json, "wasted_ms");
	g->memory_bytes = number_of(json, "memory_used_bytes");
	read_user(g, json_object_get(json, "user"));
	copy_text(g->program, sizeof(g->program), json, "program");
	copy_text(g->tag, sizeof(g->tag), json, "tag");
	g->state = gp__view_state_of(json);
	gp__view_state_text(g->state_text, sizeof(g->state_text), json);
	read_level(g, queues);
	return read_queues(g, queues);
}

static int read_groups(struct gp__top *t, const json_t *list, uint64_t now)
{
	json_t *json;
	size_t i;

	json_array_foreach ((json_t *)list, i, json) {
		struct gp__top_group *g = find_group(t, (uint32_t)int_of(json, "group"));

		if (!g)
			g = add_group(t, (uint32_t)int_of(json, "group"), now);
		if (!g || read_group(g, json))
			return -ENOMEM;
	}
	return 0;
}

/* Removes the groups and GPUs that are not in the list any more. */
static void drop_gone(struct gp__top *t)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < t->nr_groups; i++) {
		if (t->group[i]->gone)
			free_group(t->group[i]);
		else
			t->group[kept++] = t->group[i];
	}
	t->nr_groups = kept;
}

/*
 * GPUs
 */

/* The rate is computed over at least half a second. */
static void count_switches(struct gp__top_gpu *g, const struct gp__top_gpu *before,
			   uint64_t switches, uint64_t now)
{
	g->switches_base = switches;
	g->base_at = now;
	g->switches_per_s = -1;
	if (!before || switches < before->switches_base)
		return;
	g->switches_per_s = before->switches_per_s;
	if (now - before->base_at >= 500000000u) {
		g->switches_per_s = (double)(switches - before->switches_base) * GP__S /
				    (double)(now - before->base_at);
		return;
	}
	g->switches_base = before->switches_base;
	g->base_at = before->base_at;
}

static void read_gpu(struct gp__top_gpu *g, const struct gp__top_gpu *before, const json_t *json,
		     uint64_t now)
{
	g->id = (uint32_t)int_of(json, "gpu");
	count_switches(g, before, (uint64_t)int_of(json, "switches"), now);
	copy_text(g->name, sizeof(g->name), json, "name");
	g->off = json_is_true(json_object_get(json, "off"));
	g->wasted_ms = number_of(json, "wasted_ms");
	g->stop_p50_us = number_of(json_object_get(json, "stop"), "p50_us");
	g->stop_p99_us = number_of(json_object_get(json, "stop"), "p99_us");
	g->order_p50_us = number_of(json_object_get(json, "order"), "p50_us");
	g->order_p99_us = number_of(json_object_get(json, "order"), "p99_us");
}

static const struct gp__top_gpu *find_gpu(const struct gp__top *t, uint32_t id)
{
	for (uint32_t i = 0; i < t->nr_gpus; i++) {
		if (t->gpu[i].id == id)
			return &t->gpu[i];
	}
	return NULL;
}

static int compare_gpus(const void *a, const void *b)
{
	const struct gp__top_gpu *one = a, *two = b;

	return (one->id > two->id) - (one->id < two->id);
}

static int read_gpus(struct gp__top *t, const json_t *list, uint64_t now)
{
	struct gp__top_gpu *all = calloc(json_array_size(list) + 1, sizeof(*all));
	json_t *json;
	size_t i;

	if (!all)
		return -ENOMEM;
	t->unheard = false;
	json_array_foreach ((json_t *)list, i, json) {
		read_gpu(&all[i], find_gpu(t, (uint32_t)int_of(json, "gpu")), json, now);
		t->unheard |= int_of(json, "groups") == 1;
	}
	free(t->gpu);
	t->gpu = all;
	t->nr_gpus = (uint32_t)json_array_size(list);
	qsort(t->gpu, t->nr_gpus, sizeof(*t->gpu), compare_gpus);
	return 0;
}

/*
 * Processes
 */

static void read_processes(struct gp__top *t, const json_t *list)
{
	json_t *processes = json_object_get(list, "processes"), *process;
	char buf[128];
	size_t i;

	json_decref(t->processes);
	t->processes = json_is_array(processes) ? json_incref(processes) : NULL;
	json_array_foreach (t->processes, i, process)
		json_object_set_new(process, "user_name",
				    gp__json_text(gp__view_user(buf, sizeof(buf),
								(uid_t)int_of(process, "user"))));
}

/*
 * Feeding
 */

int gp__top_list(struct gp__top *t, const json_t *list, uint64_t now)
{
	const json_t *daemon = json_object_get(list, "daemon");
	int err;

	for (uint32_t i = 0; i < t->nr_groups; i++)
		t->group[i]->gone = true;
	copy_text(t->policy, sizeof(t->policy), daemon, "policy");
	copy_text(t->version, sizeof(t->version), daemon, "version");
	t->up_ms = number_of(daemon, "up_ms");
	t->off = json_is_true(json_object_get(json_object_get(daemon, "off"), "all"));
	err = read_gpus(t, json_object_get(list, "gpus"), now);
	if (!err)
		err = read_groups(t, json_object_get(list, "groups"), now);
	drop_gone(t);
	read_processes(t, list);
	for (uint32_t i = 0; i < t->nr_gpus; i++)
		set_lanes(t, t->gpu[i].id, now);
	t->listed_at = now;
	t->stale = false;
	return err;
}

static struct gp__top_queue *find_queue(const struct gp__top_group *g, uint32_t id)
{
	for (uint32_t i = 0; g && i < g->nr_queues; i++) {
		if (g->queue[i].id == id)
			return &g->queue[i];
	}
	return NULL;
}

void gp__top_record(struct gp__top *t, const struct gp__record *r)
{
	struct gp__top_group *g = find_group(t, r->entity);
	struct gp__top_queue *q = find_queue(g, (uint32_t)r->f[GP__F_QUEUE]);

	switch (r->what) {
	case GP__WHAT_READY:
	case GP__WHAT_IDLE:
		if (q)
			q->has_work = r->what == GP__WHAT_READY;
		break;
	case GP__WHAT_HOLD:
	case GP__WHAT_RELEASE:
		if (q)
			q->held = r->what == GP__WHAT_HOLD;
		break;
	case GP__WHAT_WEIGH:
		if (q)
			q->weight = (uint32_t)r->f[GP__F_WEIGHT];
		break;
	case GP__WHAT_ACK:
		/* The order did not take effect. */
		t->stale |= r->f[GP__F_RESULT] != 0;
		return;
	case GP__WHAT_TICK:
	case GP__WHAT_LINGERED:
	case GP__WHAT_DEADLINE:
	case GP__WHAT_ARRIVING:
	case GP__WHAT_INVERSION:
		return;
	default:
		t->stale = true;
		return;
	}
	if (q)
		set_lanes(t, g->gpu, r->time);
	else
		t->stale = true;
}

void gp__top_line(struct gp__top *t, const char *line, size_t len)
{
	/* Parameters of policies are not shown. */
	static const struct gp__policy *const none[] = { NULL };
	struct gp__record_room room;
	const char *expected;
	struct gp__record r;

	if (gp__record_parse(line, len, none, &r, &room, &expected))
		t->stale = true;
	else
		gp__top_record(t, &r);
}

void gp__top_explain(struct gp__top *t, json_t *why)
{
	json_decref(t->why);
	t->why = why;
}

void gp__top_advance(struct gp__top *t, uint64_t now)
{
	for (uint32_t i = 0; i < t->nr_groups; i++)
		gp__lane_advance(&t->group[i]->lane, now);
}

/*
 * Figures
 */

static double pct(uint64_t part, uint64_t known)
{
	return known ? 100.0 * (double)part / (double)known : -1;
}

double gp__top_run_pct(const struct gp__top_group *g)
{
	struct gp__lane_bin sum = gp__lane_sum(&g->lane);

	return pct(sum.run, sum.known);
}

double gp__top_yielding_pct(const struct gp__top_group *g)
{
	struct gp__lane_bin sum = gp__lane_sum(&g->lane);

	return pct(sum.yielded, sum.known);
}

double gp__top_held_pct(const struct gp__top_group *g)
{
	struct gp__lane_bin sum = gp__lane_sum(&g->lane);

	return pct(sum.held, sum.known);
}

static json_t *group_json(const struct gp__top_group *g)
{
	struct gp__lane_bin sum = gp__lane_sum(&g->lane);
	json_t *o = json_object();

	json_object_set_new(o, "group", json_integer(g->id));
	json_object_set_new(o, "gpu", json_integer(g->gpu));
	json_object_set_new(o, "user_name", gp__json_text(g->user));
	json_object_set_new(o, "priority", json_integer(g->priority));
	gp__json_set_u64(o, "pid", g->ours, (uint64_t)g->pid);
	json_object_set_new(o, "program", g->ours ? gp__json_text(g->program) : json_null());
	json_object_set_new(o, "tag", g->ours ? gp__json_text(g->tag) : json_null());
	json_object_set_new(o, "state", json_string(gp__view_state_name(g->state)));
	gp__json_set_u64(o, "beside", g->ours, g->beside);
	gp__json_set_real(o, "seen_ms", true, gp__to_ms(sum.known));
	gp__json_set_real(o, "run_pct", sum.known, gp__top_run_pct(g));
	gp__json_set_real(o, "yielding_pct", sum.known, gp__top_yielding_pct(g));
	gp__json_set_real(o, "held_pct", sum.known, gp__top_held_pct(g));
	gp__json_set_real(o, "wasted_ms", g->wasted_ms >= 0, g->wasted_ms);
	gp__json_set_u64(o, "memory_used_bytes", g->memory_bytes >= 0, (uint64_t)g->memory_bytes);
	gp__json_set_u64(o, "waits", sum.known, sum.nr_waits);
	gp__json_set_real(o, "wait_mean_ms", sum.nr_waits,
			  gp__to_ms(sum.waited) / (double)(sum.nr_waits ? sum.nr_waits : 1));
	gp__json_set_real(o, "wait_max_ms", sum.nr_waits, gp__to_ms(sum.longest_wait));
	return o;
}

static json_t *gpu_json(const struct gp__top_gpu *g)
{
	json_t *o = json_object();

	json_object_set_new(o, "gpu", json_integer(g->id));
	json_object_set_new(o, "name", gp__json_text(g->name));
	json_object_set_new(o, "off", json_boolean(g->off));
	gp__json_set_real(o, "switches_per_s", g->switches_per_s >= 0, g->switches_per_s);
	gp__json_set_real(o, "wasted_ms", g->wasted_ms >= 0, g->wasted_ms);
	gp__json_set_real(o, "stop_p50_us", g->stop_p50_us >= 0, g->stop_p50_us);
	gp__json_set_real(o, "stop_p99_us", g->stop_p99_us >= 0, g->stop_p99_us);
	gp__json_set_real(o, "order_p50_us", g->order_p50_us >= 0, g->order_p50_us);
	gp__json_set_real(o, "order_p99_us", g->order_p99_us >= 0, g->order_p99_us);
	return o;
}

json_t *gp__top_json(const struct gp__top *t)
{
	json_t *o = gp__json_envelope(), *gpus = json_array(), *groups = json_array();

	json_object_set_new(o, "version", json_string(t->version));
	json_object_set_new(o, "policy", json_string(t->policy));
	gp__json_set_real(o, "window_ms", true, gp__to_ms(t->window_ns));
	json_object_set_new(o, "by_decisions", json_boolean(t->watching));
	json_object_set(o, "processes", t->processes ? t->processes : json_null());
	for (uint32_t i = 0; i < t->nr_gpus; i++)
		json_array_append_new(gpus, gpu_json(&t->gpu[i]));
	for (uint32_t i = 0; i < t->nr_groups; i++)
		json_array_append_new(groups, group_json(t->group[i]));
	json_object_set_new(o, "gpus", gpus);
	json_object_set_new(o, "groups", groups);
	return o;
}
