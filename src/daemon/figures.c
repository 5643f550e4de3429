// SPDX-License-Identifier: MIT
#include "daemon/figures.h"

#include "base/json.h"
#include "daemon/memory.h"
#include "daemon/show.h"

static void set(json_t *o, const char *key, u64 value)
{
	json_object_set_new(o, key, json_integer((json_int_t)value));
}

static void set_buckets(json_t *o, const char *key, const struct gp__buckets *b)
{
	json_t *counts = json_array();

	for (u32 i = 0; i < GP__BUCKETS; i++)
		json_array_append_new(counts, json_integer((json_int_t)b->count[i]));
	json_object_set_new(
		o, key, json_pack("{s:o, s:I}", "counts", counts, "sum_ns", (json_int_t)b->sum_ns));
}

json_t *gp__figures_daemon(const struct gp__server *s)
{
	json_t *o = json_object();

	json_object_set_new(o, "build", json_pack("{s:s}", "version", GP_VERSION));
	json_object_set_new(o, "policy",
			    json_pack("{s:s}", "policy", s->registry.core.policy->name));
	set(o, "started", (u64)s->started_unix);
	set(o, "connections", s->nr_peers);
	set(o, "held_queues", s->registry.nr_held);
	set(o, "orders", s->registry.nr_orders);
	set(o, "late", s->registry.nr_late);
	set(o, "refused", s->nr_refused);
	set_buckets(o, "turn", &s->turns);
	return o;
}

json_t *gp__figures_gpu(const struct gp__gpu *g, u64 now)
{
	json_t *o = json_object();

	set(o, "gpu", g->dev.id);
	json_object_set_new(o, "key", gp__json_text(g->key));
	json_object_set_new(o, "info", json_pack("{s:o}", "name", gp__json_text(g->name)));
	gp__json_set_u64(o, "memory_bytes", g->dev.memory, g->dev.memory);
	set(o, "groups", g->nr_groups);
	set(o, "with_work", g->dev.nr_awake);
	set(o, "off", g->dev.off && !g->lost);
	set(o, "lost", g->lost);
	set(o, "switches", g->dev.nr_switches);
	set(o, "inversions", g->dev.nr_inversions);
	set(o, "wasted_ns", gp__dev_wasted(&g->dev, now));
	set_buckets(o, "stop", &g->holds);
	set_buckets(o, "start", &g->releases);
	set_buckets(o, "order", &g->orders);
	set_buckets(o, "work_to_order", &g->work);
	return o;
}

/*
 * Sums of groups
 */

bool gp__may_see_class(const struct gp__peer *p, const struct gp__class_account *c)
{
	return gp__may_see_user(p, c->uid) || c->owner == p->cred.uid;
}

/* Rules that have never applied are missing. */
static json_t *rules_json(const u64 by_rule[GP__RULE_COUNT])
{
	json_t *o = json_object();

	for (u32 rule = GP__RULE_NONE + 1; rule < GP__RULE_COUNT; rule++) {
		if (by_rule[rule])
			set(o, gp__rule_name((enum gp__rule)rule), by_rule[rule]);
	}
	return o;
}

static void set_totals(json_t *o, const struct gp__totals *t)
{
	set(o, "run_ns", t->run);
	set(o, "held_ns", t->held);
	set(o, "waiting_ns", t->waiting);
	set(o, "wasted_ns", t->wasted);
	json_object_set_new(o, "holds", rules_json(t->holds));
	json_object_set_new(o, "releases", rules_json(t->releases));
}

static void set_class(json_t *o, const struct gp__class_account *c)
{
	set(o, "gpu", c->gpu);
	set(o, "user", c->uid);
	json_object_set_new(o, "class", json_string(gp__class_name(c->class)));
}

json_t *gp__figures_class(const struct gp__class_account *c, u64 now)
{
	struct gp__totals t = gp__class_account_totals(c, now);
	json_t *o = json_object();

	set_class(o, c);
	json_object_set_new(o, "key", gp__json_text(c->key));
	set(o, "groups", c->nr_groups);
	set(o, "joined", c->nr_joined);
	set_totals(o, &t);
	return o;
}

/* Of its program's groups on its GPU, which all have the same memory. */
static u32 count_there(const struct gp__group *g)
{
	const struct gp__link *l;
	u32 nr = 0;

	for (l = g->program->groups.next; l != &g->program->groups; l = l->next)
		nr += container_of(l, struct gp__group, of_program)->gpu == g->gpu;
	return nr;
}

static void set_memory(json_t *o, const struct gp__account *a)
{
	const struct gp__link *l;
	u64 sum = 0, bytes;
	bool any = false;

	for (l = a->groups.next; l != &a->groups; l = l->next)
		container_of(l, struct gp__group, of_account)->program->nr_there = 0;
	for (l = a->groups.next; l != &a->groups; l = l->next) {
		const struct gp__group *g = container_of(l, struct gp__group, of_account);
		struct gp__program *p = g->program;

		if (!gp__group_memory(g, &bytes))
			continue;
		/* Once for each program: it may have a thousand groups. */
		p->nr_there = p->nr_there ? p->nr_there : count_there(g);
		any = true;
		sum += bytes / p->nr_there;
	}
	gp__json_set_u64(o, "memory_bytes", any, sum);
}

static const char *const states[] = {
	[GP__STATE_FREE] = "free",     [GP__STATE_HOLDING] = "holding",
	[GP__STATE_HELD] = "held",     [GP__STATE_RELEASING] = "releasing",
	[GP__STATE_FAILED] = "failed", [GP__STATE_UNRESPONSIVE] = "unresponsive",
};

#define NR_STATES (sizeof(states) / sizeof(states[0]))

static void set_queues(json_t *o, const struct gp__account *a)
{
	u64 nr[NR_STATES] = { 0 }, with_work = 0;
	json_t *queues = json_object();
	const struct gp__link *l, *q;

	for (l = a->groups.next; l != &a->groups; l = l->next) {
		const struct gp__entity *e = &container_of(l, struct gp__group, of_account)->entity;

		with_work += e->nr_ready;
		for (q = e->queues.next; q != &e->queues; q = q->next)
			nr[gp__queue_state(container_of(q, struct gp__queue, link))]++;
	}
	for (u32 state = 0; state < NR_STATES; state++)
		set(queues, states[state], nr[state]);
	json_object_set_new(o, "queues", queues);
	set(o, "with_work", with_work);
}

json_t *gp__figures_account(const struct gp__account *a, u64 now)
{
	struct gp__totals t = gp__account_totals(a, now);
	json_t *o = json_object();

	set_class(o, a->class);
	json_object_set_new(o, "program", gp__json_text(a->program));
	json_object_set_new(o, "tag", gp__json_text(a->tag));
	json_object_set_new(o, "job_id", json_string(a->workload.job_id));
	json_object_set_new(o, "pod_uid", json_string(a->workload.pod_uid));
	json_object_set_new(o, "container_id", json_string(a->workload.container_id));
	set(o, "groups", a->nr_groups);
	set_totals(o, &t);
	set_memory(o, a);
	set_queues(o, a);
	return o;
}

/* By tag; "": all of the user's programs. */
static void set_quotas(json_t *o, const struct gp__user *u, u64 now)
{
	json_t *spent = json_object(), *limit = json_object();
	const struct gp__link *l;

	if (u->gpu.quota.ns) {
		set(spent, "", gp__quota_spent(&u->gpu, now));
		set(limit, "", u->gpu.quota.ns);
	}
	for (l = u->tag_accounts.next; l != &u->tag_accounts; l = l->next) {
		const struct gp__tag_account *a = container_of(l, struct gp__tag_account, link);

		if (a->gpu.quota.ns) {
			set(spent, a->tag, gp__quota_spent(&a->gpu, now));
			set(limit, a->tag, a->gpu.quota.ns);
		}
	}
	json_object_set_new(o, "gpu_spent_ns", spent);
	json_object_set_new(o, "gpu_quota_ns", limit);
}

json_t *gp__figures_user(const struct gp__user *u, u64 now)
{
	json_t *o = json_object(), *refused = json_object();

	set(o, "user", u->uid);
	set(o, "connections", u->nr_peers);
	set(o, "programs", u->nr_programs);
	set(o, "groups", u->nr_groups);
	set(o, "queues", u->nr_queues);
	set(o, "unsent_bytes", u->unsent);
	set(o, "time_ns", u->used_ns);
	set(o, "log_lines", u->nr_lines);
	set_quotas(o, u, now);
	for (u32 b = 0; b < GP__BUDGET_COUNT; b++)
		set(refused, gp__budget_name(b), u->refused[b]);
	json_object_set_new(o, "refused", refused);
	return o;
}
