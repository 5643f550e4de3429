// SPDX-License-Identifier: MIT
#include "daemon/show.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "daemon/gangs.h"
#include "daemon/memory.h"
#include "daemon/verdict.h"

bool gp__may_see_user(const struct gp__peer *p, uid_t uid)
{
	return p->admin || uid == p->cred.uid;
}

bool gp__may_see(const struct gp__peer *p, const struct gp__program *program)
{
	/* A user also sees the programs of its containers, and these only their own. */
	return gp__may_see_user(p, program->uid) || program->owner == p->cred.uid;
}

enum gp__wire_sees gp__program_queue_sees(const struct gp__program_queue *q)
{
	const struct gp__peer *p = q->group->program->peer;

	return (enum gp__wire_sees)atomic_load(&p->status->slot[q->slot].sees);
}

static const char *seen_by(const struct gp__program_queue *q)
{
	switch (gp__program_queue_sees(q)) {
	case GP__WIRE_SEES_LAUNCH:
		return "launch";
	case GP__WIRE_SEES_PRESENCE:
		return "presence";
	default:
		return "ring";
	}
}

static u32 notes_of(const struct gp__program_queue *q)
{
	const struct gp__peer *p = q->group->program->peer;

	return atomic_load(&p->status->slot[q->slot].notes);
}

/* Why kernels in this queue have no guard; [] where all have. */
static json_t *unguarded_json(const struct gp__program_queue *q)
{
	static const char *const reasons[GP__WIRE_NR_WHYS] = {
		[GP__WIRE_NO_SOURCE] = "no source",
		[GP__WIRE_UNSEEN] = "not seen in the source",
		[GP__WIRE_WAITS] = "may wait for work-groups",
		[GP__WIRE_SHARES] = "has variables of its program",
		[GP__WIRE_ENQUEUES] = "launches kernels",
		[GP__WIRE_CALLED] = "called by kernels",
		[GP__WIRE_STRANGE] = "unknown attributes",
		[GP__WIRE_FAILS] = "refused by the driver",
		[GP__WIRE_TOO_LARGE] = "too many work-groups",
	};
	u32 notes = notes_of(q);
	json_t *list = json_array();

	for (u32 why = GP__WIRE_GUARDED + 1; why < GP__WIRE_NR_WHYS; why++) {
		if (notes & GP__WIRE_NOTE_UNGUARDED(why))
			json_array_append_new(list, json_string(reasons[why]));
	}
	return list;
}

/* null: the device's own weight. */
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

/* null: the program cannot give this queue one, or it is not known. */
static json_t *own_json(const struct gp__program_queue *q)
{
	u32 notes = notes_of(q);

	for (s32 own = -1; own <= 1; own++) {
		if (notes & GP__WIRE_NOTE_OWN(own))
			return json_integer(own);
	}
	return json_null();
}

json_t *gp__show_queue(const struct gp__program_queue *q, u64 now)
{
	const struct gp__queue *core = &q->core;
	json_t *o = json_object();

	json_object_set_new(o, "queue", json_integer(core->id));
	json_object_set_new(o, "own_priority", own_json(q));
	json_object_set_new(o, "effective", json_integer(gp__entity_effective(core->entity, now)));
	json_object_set_new(o, "whole_context", json_boolean(notes_of(q) & GP__WIRE_NOTE_WHOLE));
	json_object_set_new(o, "state", json_string(gp__state_name(gp__queue_state(core))));
	json_object_set_new(o, "has_work", json_boolean(core->ready));
	json_object_set_new(o, "pending", json_integer(core->pending));
	json_object_set_new(o, "seen_by", json_string(seen_by(q)));
	json_object_set_new(o, "drops", json_boolean(notes_of(q) & GP__WIRE_NOTE_DROPS));
	json_object_set_new(o, "foreign_work", json_boolean(notes_of(q) & GP__WIRE_NOTE_FOREIGN));
	json_object_set_new(o, "unguarded", unguarded_json(q));
	json_object_set_new(o, "weight", weight_json(core->weight));
	json_object_set_new(o, "level", json_integer(core->level));
	json_object_set_new(o, "level_requested", json_integer(core->level_requested));
	json_object_set_new(o, "run_ms", json_real(gp__to_ms(gp__queue_run_ns(core, now))));
	json_object_set_new(o, "held_ms", json_real(gp__to_ms(gp__queue_held_ns(core, now))));
	json_object_set_new(o, "excluded", json_integer((json_int_t)core->nr_holds));
	return o;
}

static bool is_lingering(const struct gp__dev *d, u32 entity_id)
{
	const struct gp__node *n;

	for (n = d->running.first; n; n = gp__tree_next(n)) {
		const struct gp__entity *e = container_of(n, struct gp__entity, node);

		if (e->id == entity_id)
			return e->lingering;
	}
	return false;
}

/* @d: the device of a group that has not ended. */
static json_t *hold_json(const struct gp__peer *p, const struct gp__hold *h,
			 const struct gp__dev *d, u64 now)
{
	bool known = h->by && (p->admin || h->by_uid == p->cred.uid);
	bool lasts = d && !h->to;
	json_t *o = json_object();

	json_object_set_new(o, "rule",
			    json_string(h->by_quota && h->rule == GP__RULE_OPERATOR
						? "quota"
						: gp__rule_name(h->rule)));
	json_object_set_new(o, "ago_ms", json_real(gp__to_ms(now - h->from)));
	json_object_set_new(o, "held_ms", json_real(gp__to_ms((h->to ? h->to : now) - h->from)));
	json_object_set_new(o, "ended", json_boolean(h->to != 0));
	json_object_set_new(o, "by_group", h->by ? json_integer(h->by) : json_null());
	json_object_set_new(o, "by_priority", h->by ? json_integer(h->by_prio) : json_null());
	json_object_set_new(o, "by_pid", known ? json_integer(h->by_pid) : json_null());
	json_object_set_new(o, "by_program", known ? gp__json_text(h->by_name) : json_null());
	json_object_set_new(o, "gang_waits", json_boolean(h->waits));
	json_object_set_new(o, "by_lingering",
			    known ? json_boolean(lasts && is_lingering(d, h->by)) : json_null());
	return o;
}

static void set_hints(json_t *o, const struct gp__group *g)
{
	const struct gp__hints *h = &g->entity.hints;

	gp__json_set_u64(o, "weight", h->weight, h->weight);
	gp__json_set_u64(o, "share_pct", h->share_pct, h->share_pct);
	gp__json_set_u64(o, "min_share_pct", h->min_share_pct, h->min_share_pct);
	gp__json_set_real(o, "deadline_ms", h->deadline_ns, gp__to_ms(h->deadline_ns));
	gp__json_set_real(o, "max_hold_ms", h->max_hold_ns, gp__to_ms(h->max_hold_ns));
	gp__json_set_u64(o, "memory_bytes", g->asked_memory, g->asked_memory);
}

static void set_memory(json_t *o, const struct gp__group *g)
{
	u64 bytes;
	bool known = gp__group_memory(g, &bytes);

	gp__json_set_u64(o, "memory_used_bytes", known, bytes);
}

/* Times and counts, for a user who may see them. */
static void set_times(json_t *o, const struct gp__group *g, u64 now)
{
	const struct gp__entity *e = &g->entity;

	json_object_set_new(o, "used_ms", json_real(gp__to_ms(gp__entity_used(e, now))));
	json_object_set_new(o, "held_ms",
			    json_real(gp__to_ms(e->held_total + gp__entity_hold_ns(e, now))));
	json_object_set_new(o, "longest_hold_ms", json_real(gp__to_ms(e->longest_hold)));
	json_object_set_new(o, "wasted_ms", json_real(gp__to_ms(gp__entity_wasted(e, now))));
	json_object_set_new(o, "holds", json_integer((json_int_t)g->nr_holds));
	json_object_set_new(o, "joined_ms", json_real(gp__to_ms(now - g->program->since)));
}

static const struct gp__hold *current_hold(const struct gp__group *g)
{
	const struct gp__hold *h =
		g->nr_holds ? &g->hold[(g->nr_holds - 1) % GP__HOLDS_KEPT] : NULL;

	return h && !h->to ? h : NULL;
}

/* The pid whose verdict applies, if it is another process's; null: none does. */
static json_t *inherited_json(const struct gp__program *p)
{
	return p->verdict && p->verdict->process.pid != p->pid
		       ? json_integer(p->verdict->process.pid)
		       : json_null();
}

/* null: it is in none. */
static json_t *gang_json(const struct gp__group *g)
{
	static const char *const states[] = {
		[GP__WIRE_GANG_WAITS] = "waits",
		[GP__WIRE_GANG_TOGETHER] = "together",
		[GP__WIRE_GANG_GAVE_UP] = "gave-up",
		[GP__WIRE_GANG_FREE] = "free",
	};
	const struct gp__named_gang *gang = g->program->gang;
	json_t *o;

	if (!gang)
		return json_null();
	o = json_object();
	json_object_set_new(o, "name", gp__json_text(gang->name));
	json_object_set_new(o, "state", json_string(states[gang->state]));
	json_object_set_new(o, "programs", json_integer(gang->nr_programs));
	gp__json_set_u64(o, "size", gang->size, gang->size);
	json_object_set_new(o, "member", json_boolean(g->entity.gang != NULL));
	json_object_set_new(o, "held", json_boolean(g->entity.gang && g->entity.gang->blocked));
	json_object_set_new(o, "ranks", json_boolean(gang->of_ranks));
	json_object_set_new(o, "rank",
			    gang->of_ranks ? json_integer(g->program->rank) : json_null());
	return o;
}

/* Other users only see that the group exists. */
json_t *gp__show_group(const struct gp__server *s, const struct gp__peer *p,
		       const struct gp__group *g)
{
	const struct gp__hold *hold = current_hold(g);
	const struct gp__entity *e = &g->entity;
	json_t *o = json_object();
	u64 now = s->now;

	json_object_set_new(o, "group", json_integer(e->id));
	json_object_set_new(o, "gpu", json_integer(g->gpu->dev.id));
	json_object_set_new(o, "user", json_integer(g->program->uid));
	json_object_set_new(o, "priority", json_integer(e->prio));
	json_object_set_new(o, "class", json_string(gp__class_name(gp__class_of(e->prio))));
	json_object_set_new(o, "state", json_string(gp__state_name(gp__entity_state(e))));
	json_object_set_new(o, "off", json_boolean(g->gpu->dev.off));
	json_object_set_new(o, "nr_queues", json_integer(g->nr_queues));
	if (!gp__may_see(p, g->program))
		return o;
	json_object_set_new(o, "lost", json_boolean(g->gpu->lost || g->gone_in));
	json_object_set_new(o, "limits_of", json_integer(g->program->owner));
	json_object_set_new(o, "pid", json_integer(g->program->pid));
	json_object_set_new(o, "program", gp__json_text(g->program->name));
	json_object_set_new(o, "tag", gp__json_text(e->tag));
	json_object_set_new(o, "gang", gang_json(g));
	json_object_set_new(o, "observed", json_boolean(g->program->observed));
	json_object_set_new(o, "not_held",
			    g->program->free ? json_string(g->program->free) : json_null());
	json_object_set_new(o, "watched",
			    json_boolean(((struct gp__peer *)g->program->peer)->is_helper));
	json_object_set_new(o, "effective", json_integer(gp__entity_effective(e, now)));
	json_object_set_new(o, "asked_priority", json_integer(g->asked_prio));
	json_object_set_new(o, "suspended", json_boolean(g->suspended));
	json_object_set_new(o, "over_quota", json_boolean(g->over_quota));
	json_object_set_new(o, "inherits_from", inherited_json(g->program));
	json_object_set_new(o, "has_work", json_boolean(gp__entity_active(e)));
	json_object_set_new(o, "process_stopped", json_boolean(g->program->stopped));
	json_object_set_new(o, "yielding", json_boolean(gp__entity_gives_way(e)));
	json_object_set_new(o, "lingering", json_boolean(e->lingering));
	json_object_set_new(o, "hold", hold ? hold_json(p, hold, &g->gpu->dev, now) : json_null());
	set_times(o, g, now);
	set_memory(o, g);
	set_hints(o, g);
	return o;
}

json_t *gp__show_history(const struct gp__server *s, const struct gp__peer *p,
			 const struct gp__group *g)
{
	u64 kept = g->nr_holds < GP__HOLDS_KEPT ? g->nr_holds : GP__HOLDS_KEPT;
	json_t *o = gp__show_group(s, p, g), *holds = json_array();

	for (u64 i = 0; i < kept; i++)
		json_array_append_new(holds,
				      hold_json(p, &g->hold[(g->nr_holds - 1 - i) % GP__HOLDS_KEPT],
						&g->gpu->dev, s->now));
	json_object_set_new(o, "history", holds);
	return o;
}

json_t *gp__show_ended(const struct gp__server *s, const struct gp__peer *p,
		       const struct gp__ended *e)
{
	json_t *o = json_object(), *holds = json_array();

	json_object_set_new(o, "group", json_integer(e->group));
	json_object_set_new(o, "gpu", json_integer(e->gpu));
	json_object_set_new(o, "user", json_integer(e->uid));
	json_object_set_new(o, "priority", json_integer(e->prio));
	json_object_set_new(o, "class", json_string(gp__class_name(gp__class_of(e->prio))));
	json_object_set_new(o, "state", json_string("ended"));
	json_object_set_new(o, "nr_queues", json_integer(0));
	json_object_set_new(o, "pid", json_integer(e->pid));
	json_object_set_new(o, "program", gp__json_text(e->name));
	json_object_set_new(o, "tag", gp__json_text(e->tag));
	json_object_set_new(o, "used_ms", json_real(gp__to_ms(e->used)));
	json_object_set_new(o, "held_ms", json_real(gp__to_ms(e->held_total)));
	json_object_set_new(o, "longest_hold_ms", json_real(gp__to_ms(e->longest_hold)));
	json_object_set_new(o, "wasted_ms", json_real(gp__to_ms(e->wasted)));
	json_object_set_new(o, "holds", json_integer((json_int_t)e->nr_holds));
	json_object_set_new(o, "joined_ms", json_real(gp__to_ms(s->now - e->since)));
	json_object_set_new(o, "ended_ms", json_real(gp__to_ms(s->now - e->ended_at)));
	for (u32 i = 0; i < e->nr_kept; i++)
		json_array_append_new(holds, hold_json(p, &e->hold[i], NULL, s->now));
	json_object_set_new(o, "history", holds);
	return o;
}

json_t *gp__show_left(const struct gp__verdict *v)
{
	const struct gp__mark *m = &v->mark[0];
	json_t *o = json_object();
	bool suspends = false;

	for (u32 i = 0; i < v->nr_marks; i++)
		suspends |= v->mark[i].said == GP__SAID_SUSPEND;
	json_object_set_new(o, "pid", json_integer(v->process.pid));
	json_object_set_new(o, "user", json_integer(v->owner));
	json_object_set_new(o, "suspended", json_boolean(suspends));
	json_object_set_new(o, "priority",
			    m->set & GP__HINT_PRIO ? json_integer(m->hints.prio) : json_null());
	return o;
}

static json_t *latency_json(const struct gp__hist *h)
{
	json_t *o = json_object();

	gp__json_set_latency(o, h);
	return o;
}

json_t *gp__show_gpu(const struct gp__server *s, const struct gp__gpu *g)
{
	json_t *o = json_object();

	json_object_set_new(o, "gpu", json_integer(g->dev.id));
	json_object_set_new(o, "key", gp__json_text(g->key));
	json_object_set_new(o, "name", gp__json_text(g->name));
	gp__json_set_u64(o, "memory_bytes", g->dev.memory, g->dev.memory);
	/* null: programs of all users share it. */
	gp__json_set_u64(o, "only_user", !g->is_shared && !s->registry.one_user, g->named_by->uid);
	json_object_set_new(o, "off", json_boolean(g->dev.off && !g->lost));
	json_object_set_new(o, "lost", json_boolean(g->lost));
	json_object_set_new(o, "groups", json_integer(g->nr_groups));
	json_object_set_new(o, "with_work", json_integer(g->dev.nr_awake));
	json_object_set_new(o, "switches", json_integer((json_int_t)g->dev.nr_switches));
	json_object_set_new(o, "inversions", json_integer((json_int_t)g->dev.nr_inversions));
	json_object_set_new(o, "wasted_ms", json_real(gp__to_ms(gp__dev_wasted(&g->dev, s->now))));
	json_object_set_new(o, "stop", latency_json(&g->hold_ns));
	json_object_set_new(o, "start", latency_json(&g->release_ns));
	json_object_set_new(o, "order", latency_json(&g->order_ns));
	return o;
}

json_t *gp__show_params(const struct gp__param *params, u32 n, const u64 *values)
{
	json_t *o = json_object();

	for (u32 i = 0; i < n; i++)
		json_object_set_new(o, params[i].name, json_integer((json_int_t)values[i]));
	return o;
}

json_t *gp__show_off(const struct gp__off *off)
{
	json_t *o = json_object(), *gpus = json_array();

	for (u32 i = 0; i < off->nr; i++)
		json_array_append_new(gpus, gp__json_text(off->key[i]));
	json_object_set_new(o, "all", json_boolean(off->all));
	json_object_set_new(o, "gpus", gpus);
	return o;
}

json_t *gp__show_daemon(const struct gp__server *s)
{
	const struct gp__core *core = &s->registry.core;
	json_t *o = json_object();

	json_object_set_new(o, "version", json_string(GP_VERSION));
	json_object_set_new(o, "pid", json_integer(getpid()));
	json_object_set_new(o, "user", json_integer(geteuid()));
	json_object_set_new(o, "up_ms", json_real(gp__to_ms(s->now - s->started_at)));
	json_object_set_new(o, "policy", json_string(core->policy->name));
	json_object_set_new(
		o, "params",
		gp__show_params(core->policy->params, core->policy->nr_params, core->params));
	json_object_set_new(o, "core", gp__show_params(gp__core_params, GP__CFG_COUNT, core->cfg));
	json_object_set_new(o, "devices", json_string(s->config.devices));
	json_object_set_new(o, "log", *s->config.log ? gp__json_text(s->config.log) : json_null());
	json_object_set_new(o, "off", gp__show_off(&s->registry.off));
	json_object_set_new(o, "connections", json_integer(s->nr_peers));
	json_object_set_new(o, "orders", json_integer((json_int_t)s->registry.nr_orders));
	json_object_set_new(o, "stopped", json_integer(s->registry.nr_held));
	json_object_set_new(o, "late", json_integer((json_int_t)s->registry.nr_late));
	json_object_set_new(o, "refused", json_integer((json_int_t)s->nr_refused));
	json_object_set_new(o, "turn", latency_json(&s->turn_ns));
	return o;
}

json_t *gp__show_census(const struct gp__server *s)
{
	const struct gp__holders *h = &s->holders;
	json_t *o = json_object();

	gp__json_set_real(o, "age_ms", h->taken_at, gp__to_ms(s->now - h->taken_at));
	gp__json_set_u64(o, "unread", h->taken_at, h->census.nr_unread);
	gp__json_set_u64(o, "unlisted", h->taken_at, h->census.nr_unlisted);
	json_object_set_new(o, "problem", h->err ? json_string(strerror(-h->err)) : json_null());
	return o;
}

/* The number that programs' GPUs have. */
static json_t *gpu_number(const struct gp__server *s, const char *key)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->registry.gpus)
	{
		const struct gp__gpu *g = container_of(l, struct gp__gpu, link);

		if (!strcmp(g->key, key))
			return json_integer(g->dev.id);
	}
	return json_null();
}

static json_t *devices_json(const struct gp__server *s, const struct gp__devices *d, bool all)
{
	json_t *list = json_array();

	for (u32 i = 0; i < d->nr; i++) {
		const struct gp__device *device = &d->device[i];
		json_t *o;

		if (!device->is_open)
			continue;
		o = json_object();
		json_object_set_new(o, "file", gp__json_text(device->file));
		json_object_set_new(o, "gpu", gpu_number(s, device->key));
		json_object_set_new(o, "key", gp__json_text(*device->key ? device->key : NULL));
		if (all)
			gp__json_set_u64(o, "memory_used_bytes", device->is_used_known,
					 device->used);
		json_array_append_new(list, o);
	}
	return list;
}

/* Other users only see that there is one. */
json_t *gp__show_holder(const struct gp__server *s, const struct gp__peer *p, pid_t pid)
{
	const struct gp__holders *h = &s->holders;
	const struct gp__holder *holder = gp__holders_find(h, pid);
	enum gp__holder_role role;
	bool all, known;
	json_t *o;
	u64 used;

	if (!holder)
		return NULL;
	o = json_object();
	role = h->role[holder - h->census.holder];
	all = gp__may_see_user(p, holder->uid);
	json_object_set_new(o, "user", json_integer(holder->uid));
	/* A watched program is scheduled as a joined one. */
	json_object_set_new(
		o, "joined",
		json_boolean(role == GP__HOLDER_JOINED && gp__watches_has_joined(s, pid)));
	json_object_set_new(o, "scheduled", json_boolean(role == GP__HOLDER_JOINED));
	json_object_set_new(o, "child_of_joined", json_boolean(role == GP__HOLDER_CHILD));
	json_object_set_new(o, "computes", json_boolean(holder->computes));
	json_object_set_new(o, "disturbs", json_boolean(role == GP__HOLDER_DISTURBS));
	json_object_set_new(o, "devices", devices_json(s, holder->devices, all));
	if (!all)
		return o;
	json_object_set_new(o, "pid", json_integer(holder->pid));
	json_object_set_new(o, "program", gp__json_text(holder->name));
	known = gp__holder_memory(holder, &used);
	gp__json_set_u64(o, "memory_used_bytes", known, used);
	json_object_set_new(o, "watch", gp__watches_json(s, pid));
	return o;
}

static void set_quota(json_t *o, const struct gp__gpu_account *a, u64 now)
{
	u64 limit = a->quota.ns;

	gp__json_set_real(o, "gpu_time_ms", limit, gp__to_ms(gp__quota_spent(a, now)));
	gp__json_set_real(o, "gpu_quota_ms", limit, gp__to_ms(limit));
	gp__json_set_real(o, "gpu_period_ms", limit, gp__to_ms(a->quota.period));
	json_object_set_new(o, "over_quota", json_boolean(a->over));
}

/* The tags under which the user has a limit, or had one. */
static json_t *tag_quotas(const struct gp__user *u, u64 now)
{
	json_t *tags = json_array();
	const struct gp__link *l;

	for (l = u->tag_accounts.next; l != &u->tag_accounts; l = l->next) {
		const struct gp__tag_account *a = container_of(l, struct gp__tag_account, link);
		json_t *o = json_object();

		json_object_set_new(o, "tag", gp__json_text(a->tag));
		set_quota(o, &a->gpu, now);
		json_array_append_new(tags, o);
	}
	return tags;
}

/* The times in which a user was refused or slowed are counted by budget. */
json_t *gp__show_user(const struct gp__server *s, const struct gp__user *u)
{
	json_t *o = json_object(), *refused = json_object();

	json_object_set_new(o, "user", json_integer(u->uid));
	json_object_set_new(o, "connections", json_integer(u->nr_peers));
	json_object_set_new(o, "closing", json_integer(atomic_load(&u->nr_closing)));
	json_object_set_new(o, "programs", json_integer(u->nr_programs));
	json_object_set_new(o, "groups", json_integer(u->nr_groups));
	json_object_set_new(o, "queues", json_integer(u->nr_queues));
	json_object_set_new(o, "gpus", json_integer(u->nr_gpus));
	json_object_set_new(o, "gangs", json_integer(u->nr_gangs));
	json_object_set_new(o, "unsent_bytes", json_integer((json_int_t)u->unsent));
	json_object_set_new(o, "log_lines", json_integer((json_int_t)u->nr_lines));
	json_object_set_new(o, "time_ms", json_real(gp__to_ms(u->used_ns)));
	json_object_set_new(o, "slowed", json_boolean(gp__user_ready_at(u) > s->now));
	set_quota(o, &u->gpu, s->now);
	json_object_set_new(o, "tags", tag_quotas(u, s->now));
	for (u32 b = 0; b < GP__BUDGET_COUNT; b++)
		json_object_set_new(refused, gp__budget_name(b),
				    json_integer((json_int_t)u->refused[b]));
	json_object_set_new(o, "refused", refused);
	return o;
}

/* The sections of the configuration that apply at some times of the day. */
json_t *gp__show_sections(const struct gp__server *s)
{
	const struct gp__limits *l = &s->config.limits;
	json_t *sections = json_array();

	for (u32 i = 0; i < l->nr_sections; i++) {
		const struct gp__section *section = &l->section[i];

		if (gp__span_is_timed(&section->span))
			json_array_append_new(sections, json_pack("{s:o, s:b}", "section",
								  gp__json_text(section->name),
								  "applies", section->applies));
	}
	return sections;
}

json_t *gp__show_asker(const struct gp__peer *p)
{
	json_t *o = json_object();

	json_object_set_new(o, "user", json_integer(p->cred.uid));
	json_object_set_new(o, "limits_of", json_integer(p->owner));
	json_object_set_new(o, "administrator", json_boolean(p->admin));
	gp__json_set_u64(o, "programs", true, p->user->nr_programs);
	json_object_set_new(o, "max_priority",
			    p->admin ? json_null() : json_integer(p->limit.max_priority));
	json_object_set_new(o, "max_priority_ever",
			    p->admin ? json_null() : json_integer(p->limit.ever_priority));
	gp__json_set_u64(o, "max_programs", !p->admin, p->limit.max_programs);
	gp__json_set_u64(o, "max_queues", true, p->limit.max_queues);
	gp__json_set_u64(o, "max_weight", !p->admin, p->limit.max_weight);
	gp__json_set_u64(o, "max_share_pct", !p->admin, p->limit.max_share);
	gp__json_set_real(o, "min_deadline_ms", !p->admin, gp__to_ms(p->limit.min_deadline));
	return o;
}
