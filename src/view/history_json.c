// SPDX-License-Identifier: MIT
/* A history in the form of the daemon's answers, for what shows those. */
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "view/history.h"

/* As many holds as the daemon keeps of a group. */
#define HOLDS_SHOWN 16

static const char *queue_state(const struct gp__history_queue *q)
{
	if (q->held)
		return q->stopped ? "excluded" : "excluding";
	return q->stopped ? "admitting" : "admitted";
}

/* The state of the queue that is furthest from running. */
static const char *group_state(const struct gp__history_group *g)
{
	static const char *const order[] = { "excluding", "excluded", "admitting" };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		for (size_t k = 0; k < g->queues.n; k++) {
			if (!strcmp(queue_state(&g->queues.at[k]), order[i]))
				return order[i];
		}
	}
	return "admitted";
}

static json_t *weight_json(u32 weight)
{
	switch (weight) {
	case 0:
		return json_null();
	case GP__WEIGHT_LEAST:
		return json_string("least");
	case GP__WEIGHT_MOST:
		return json_string("most");
	default:
		return json_sprintf("%u", weight);
	}
}

static json_t *queue_json(const struct gp__history_queue *q)
{
	json_t *o = json_object();

	json_object_set_new(o, "queue", json_integer(q->id));
	json_object_set_new(o, "state", json_string(queue_state(q)));
	json_object_set_new(o, "has_work", json_boolean(q->ready));
	json_object_set_new(o, "level", json_integer(q->level));
	json_object_set_new(o, "level_requested", json_integer(q->level_requested));
	json_object_set_new(o, "weight", weight_json(q->weight));
	return o;
}

static json_t *name_json(const struct gp__history_group *g)
{
	if (*g->name)
		return gp__json_text(g->name);
	return *g->tag ? json_string(g->tag) : json_sprintf("group-%u", g->id);
}

static json_t *hold_json(const struct gp__history *h, const struct gp__history_hold *hold, u64 now)
{
	const struct gp__history_group *by = hold->by ? gp__history_find(h, hold->by) : NULL;
	json_t *o = json_object();

	json_object_set_new(o, "rule", json_string(gp__rule_name((enum gp__rule)hold->rule)));
	json_object_set_new(o, "ago_ms", json_real(gp__to_ms(now - hold->from)));
	json_object_set_new(o, "held_ms",
			    json_real(gp__to_ms((hold->to ? hold->to : now) - hold->from)));
	json_object_set_new(o, "ended", json_boolean(hold->to != 0));
	json_object_set_new(o, "by_group", hold->by ? json_integer(hold->by) : json_null());
	if (!by)
		return o;
	json_object_set_new(o, "by_program", name_json(by));
	json_object_set_new(o, "by_pid", json_integer(by->process));
	json_object_set_new(o, "by_priority", json_integer(by->prio));
	return o;
}

static u64 waiting_since(const struct gp__history_group *g, u64 now)
{
	return g->kind == GP__LANE_HELD ? now - g->since : 0;
}

static json_t *group_json(const struct gp__history *h, const struct gp__history_group *g, u64 now)
{
	const struct gp__history_hold *last = g->holds.n ? &g->holds.at[g->holds.n - 1] : NULL;
	json_t *o = json_object(), *queues = json_array();

	json_object_set_new(o, "group", json_integer(g->id));
	json_object_set_new(o, "gpu", json_integer(g->gpu));
	if (g->user != GP__NOBODY)
		json_object_set_new(o, "user", json_integer(g->user));
	json_object_set_new(o, "pid", json_integer(g->process));
	json_object_set_new(o, "program", name_json(g));
	json_object_set_new(o, "tag", json_string(g->tag));
	json_object_set_new(o, "priority", json_integer(g->prio));
	json_object_set_new(o, "effective", json_integer(g->prio));
	json_object_set_new(o, "state", json_string(group_state(g)));
	json_object_set_new(o, "off", json_boolean(gp__history_gpu(h, g->gpu)->off));
	json_object_set_new(o, "suspended", json_boolean(g->suspended));
	json_object_set_new(o, "has_work", json_boolean(g->has_work));
	json_object_set_new(o, "yielding", json_boolean(g->kind == GP__LANE_YIELD));
	json_object_set_new(o, "hold", g->held && last ? hold_json(h, last, now) : json_null());
	json_object_set_new(o, "used_ms", json_real(gp__to_ms(g->used)));
	json_object_set_new(o, "held_ms", json_real(gp__to_ms(g->waited)));
	json_object_set_new(
		o, "longest_hold_ms",
		json_real(gp__to_ms(gp__max_u64(g->longest_wait, waiting_since(g, now)))));
	json_object_set_new(o, "wasted_ms", json_real(gp__to_ms(g->wasted)));
	json_object_set_new(o, "holds", json_integer((json_int_t)g->holds.n));
	json_object_set_new(o, "joined_ms", json_real(gp__to_ms(now - g->joined_at)));
	for (size_t i = 0; i < g->queues.n; i++)
		json_array_append_new(queues, queue_json(&g->queues.at[i]));
	json_object_set_new(o, "queues", queues);
	return o;
}

static json_t *gpu_json(const struct gp__history *h, const struct gp__history_gpu *gpu)
{
	json_t *o = json_object(), *order = json_object();
	u32 groups = 0;

	for (size_t i = 0; i < h->live.n; i++)
		groups += h->live.at[i]->gpu == gpu->id;
	json_object_set_new(o, "gpu", json_integer(gpu->id));
	json_object_set_new(o, "name", json_string(""));
	json_object_set_new(o, "off", json_boolean(gpu->off));
	json_object_set_new(o, "groups", json_integer(groups));
	json_object_set_new(o, "switches", json_integer((json_int_t)gpu->stop.count));
	json_object_set_new(o, "wasted_ms", json_real(gp__to_ms(gpu->wasted)));
	gp__json_set_latency(order, &gpu->stop);
	json_object_set_new(o, "order", order);
	return o;
}

json_t *gp__history_list(const struct gp__history *h, u64 now)
{
	json_t *o = json_object(), *gpus = json_array(), *groups = json_array();

	json_object_set_new(o, "daemon",
			    json_pack("{s:s, s:s, s:f}", "policy",
				      h->policy ? h->policy->name : "policy not known", "version",
				      "", "up_ms", gp__to_ms(now - h->begin)));
	for (size_t i = 0; i < h->gpus.n; i++)
		json_array_append_new(gpus, gpu_json(h, h->gpus.at[i]));
	for (size_t i = 0; i < h->live.n; i++)
		json_array_append_new(groups, group_json(h, h->live.at[i], now));
	json_object_set_new(o, "gpus", gpus);
	json_object_set_new(o, "groups", groups);
	return o;
}

json_t *gp__history_why(const struct gp__history *h, const struct gp__history_group *g, u64 now)
{
	json_t *o = group_json(h, g, now), *holds = json_array();

	for (size_t i = 0; i < g->holds.n && i < HOLDS_SHOWN; i++)
		json_array_append_new(holds, hold_json(h, &g->holds.at[g->holds.n - 1 - i], now));
	json_object_set_new(o, "history", holds);
	return json_pack("{s:[o]}", "groups", o);
}
