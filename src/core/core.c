// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Handles events. Each one is logged, updates its entity, and settles the devices that this
 * affects. */
#include "core/core.h"
#include "core/internal.h"

const struct gp__param gp__core_params[GP__CFG_COUNT] = {
	[GP__CFG_MIN_SHARE_PCT] = { "min_share_pct", 0, 50, 1,
				    "GPU time that every entity with work gets, in percent" },
	[GP__CFG_MAX_HOLD_MS] = { "max_hold_ms", 0, 3600000, 2000, "longest hold; 0: no limit" },
	[GP__CFG_GRANT_MS] = { "grant_ms", 1, 10000, 10,
			       "how long an entity runs when a guarantee falls due" },
	[GP__CFG_SWITCHES_PER_S] = { "switches_per_s", 0, 1000000, 1000,
				     "holds a second and device, fewer where they are slow; 0: no "
				     "limit" },
	[GP__CFG_SWITCH_BURST] = { "switch_burst", 1, 100000, 100,
				   "holds in a row before the rate limit applies" },
	[GP__CFG_LINGER_US] = { "linger_us", 0, 1000000, 50,
				"the least time that an entity keeps its place without work; 0: it "
				"never does" },
	[GP__CFG_WASTE_PCT] = { "waste_pct", 0, 50, 5,
				"of any second, the time that a device may be idle for it" },
	[GP__CFG_DEFER_MS] = { "defer_ms", 0, 10000, 100,
			       "how long a minimum share that is due waits for the end of a "
			       "burst" },
	[GP__CFG_ACK_TIMEOUT_MS] = { "ack_timeout_ms", 1, 600000, 2000,
				     "an entity that does not acknowledge for so long is "
				     "unresponsive" },
	[GP__CFG_RETRY_MS] = { "retry_ms", 1, 10000, 10,
			       "pause before a failed action is tried again; doubles" },
	[GP__CFG_TRIES] = { "tries", 1, 100, 3, "failed holds before an entity is left running" },
	[GP__CFG_ARRIVE_GRACE_MS] = { "arrive_grace_ms", 1, 60000, 10,
				      "how long announced work is waited for" },
};

u64 gp__core_begin(struct gp__core *c, u64 now)
{
	if (guard(TIME_MONOTONE, now < c->now))
		now = c->now;
	c->now = now;
	c->nr_events++;
	return now;
}

void gp__core_init(struct gp__core *c, const struct gp__policy *policy)
{
	u32 i;

	memset(c, 0, sizeof(*c));
	gp__list_init(&c->devices);
	gp__list_init(&c->gangs);
	gp__list_init(&c->outbox);
	gp__list_init(&c->inflight);
	gp__list_init(&c->dirty);
	gp__list_init(&c->touched);
	gp__list_init(&c->tell);
	c->policy = policy;
	for (i = 0; i < policy->nr_params; i++)
		c->params[i] = policy->params[i].def;
	for (i = 0; i < GP__CFG_COUNT; i++)
		c->cfg[i] = gp__core_params[i].def;
}

void gp__core_log(struct gp__core *c, void (*log)(void *ctx, const struct gp__record *r), void *ctx)
{
	u32 i;

	c->log = log;
	c->log_ctx = ctx;
	for (i = 0; i < GP__CFG_COUNT; i++)
		gp__log_config(c, i, c->now);
	gp__log_policy(c, c->now);
}

/* Calls @fn for every entity; @fn may move it between places but not remove it. */
static void each_entity(struct gp__core *c, void (*fn)(struct gp__entity *e, u64 now), u64 now)
{
	struct gp__link *d, *dn, *l, *n;

	gp__list_each(d, dn, &c->devices)
	{
		struct gp__dev *dev = container_of(d, struct gp__dev, link);

		gp__list_each(l, n, &dev->members)
			fn(container_of(l, struct gp__entity, dev_link), now);
		gp__dev_dirty(dev);
	}
}

/* Charges the entity under the policy that it leaves, whose key orders the trees. */
static void leave_policy(struct gp__entity *e, u64 now)
{
	gp__entity_charge(e, now);
	if (gp__entity_keyed(e))
		gp__entity_leave(e);
}

static void clear_policy_state(struct gp__core *c)
{
	struct gp__link *d, *dn, *l, *n;

	gp__list_each(d, dn, &c->devices)
	{
		struct gp__dev *dev = container_of(d, struct gp__dev, link);

		memset(dev->policy_state, 0, sizeof(dev->policy_state));
		gp__list_each(l, n, &dev->members)
		{
			struct gp__entity *e = container_of(l, struct gp__entity, dev_link);

			memset(e->policy_state, 0, sizeof(e->policy_state));
			memset(e->owner->policy_state, 0, sizeof(e->owner->policy_state));
		}
	}
}

static void enter_policy(struct gp__entity *e, u64 now)
{
	const struct gp__policy *p = e->dev->core->policy;

	if (e->awake && p->wakeup)
		p->wakeup(e, now);
	gp__entity_forgive(e);
	gp__entity_update(e, now);
	gp__entity_tell(e);
}

int gp__core_set_policy(struct gp__core *c, const struct gp__policy *policy, const u64 *values,
			u64 now)
{
	u32 i;

	if (guard(POLICY_STATE,
		  policy->entity_bytes > GP__POLICY_ENTITY_WORDS * sizeof(u64) ||
			  policy->owner_bytes > GP__POLICY_OWNER_WORDS * sizeof(u64) ||
			  policy->dev_bytes > GP__POLICY_DEV_WORDS * sizeof(u64)))
		return -EINVAL;
	for (i = 0; values && i < policy->nr_params; i++) {
		if (gp__param_check(&policy->params[i], values[i]))
			return -ERANGE;
	}
	now = gp__core_begin(c, now);
	each_entity(c, leave_policy, now);
	/* Other parameters of the same policy leave its accounts as they are. */
	if (policy != c->policy)
		clear_policy_state(c);
	c->policy = policy;
	for (i = 0; i < policy->nr_params; i++)
		c->params[i] = values ? values[i] : policy->params[i].def;
	gp__log_policy(c, now);
	each_entity(c, enter_policy, now);
	gp__core_settle(c, now);
	return 0;
}

/* The new limits bound what the entity is owed. */
static void enter_limits(struct gp__entity *e, u64 now)
{
	gp__entity_sync_claim(e);
	gp__entity_owe(e, now);
	gp__entity_update(e, now);
}

int gp__core_configure(struct gp__core *c, u32 param, u64 value, u64 now)
{
	struct gp__link *l, *n;

	if (param >= GP__CFG_COUNT)
		return -EINVAL;
	if (gp__param_check(&gp__core_params[param], value))
		return -ERANGE;
	now = gp__core_begin(c, now);
	each_entity(c, gp__entity_owe, now);
	c->cfg[param] = value;
	gp__log_config(c, param, now);
	gp__list_each(l, n, &c->devices)
		gp__dev_limit_debt(container_of(l, struct gp__dev, link), now);
	each_entity(c, enter_limits, now);
	gp__core_settle(c, now);
	return 0;
}

void gp__dev_add(struct gp__core *c, struct gp__dev *d, u32 id, u64 memory,
		 enum gp__weighing can_weigh, u64 now)
{
	now = gp__core_begin(c, now);
	memset(d, 0, sizeof(*d));
	d->core = c;
	d->id = id;
	d->memory = memory;
	d->can_weigh = (u8)can_weigh;
	d->clock_at = now;
	gp__list_init(&d->fresh);
	gp__list_init(&d->apart);
	gp__list_init(&d->members);
	gp__list_init(&d->ganged);
	gp__list_init(&d->dirty_link);
	gp__list_init(&d->touched_link);
	gp__list_push(&c->devices, &d->link);
	gp__log_dev(d, GP__WHAT_DEVICE_ADD, now);
}

void gp__dev_remove(struct gp__dev *d, u64 now)
{
	now = gp__core_begin(d->core, now);
	gp__log_dev(d, GP__WHAT_DEVICE_REMOVE, now);
	if (gp__node_linked(&d->timer))
		gp__tree_erase(&d->core->dev_timers, &d->timer);
	gp__list_del(&d->dirty_link);
	gp__list_del(&d->touched_link);
	gp__list_del(&d->link);
}

int gp__hints_check(const struct gp__hints *h, const char **why)
{
	*why = NULL;
	if (h->prio > GP__PRIO_LIMIT || h->prio < -GP__PRIO_LIMIT)
		*why = "a priority is between -1000000 and 1000000";
	else if (h->weight > 10000)
		*why = "a weight is between 1 and 10000";
	else if (h->share_pct > 100)
		*why = "a share is between 1 and 100 percent";
	else if (h->min_share_pct > 100)
		*why = "a minimum share is between 1 and 100 percent";
	else if (h->deadline_ns > 3600 * GP__S)
		*why = "a deadline is at most one hour";
	else if (h->max_hold_ns > 3600 * GP__S)
		*why = "a longest hold is at most one hour";
	return guard(HINT_RANGE, *why != NULL) ? -EINVAL : 0;
}

#define WEIGHT_DEFAULT 100

static u64 memory_mib(const struct gp__entity *e)
{
	u32 weight = e->hints.weight ? e->hints.weight : WEIGHT_DEFAULT;

	return (gp__min_u64(e->hints.memory, e->dev->memory) >> 20) * WEIGHT_DEFAULT / weight;
}

u32 gp__owner_share_pct(const struct gp__owner *o)
{
	return guard(OWNER_SHARE, o->share_sum > 100) ? 100 : o->share_sum;
}

/* Keeps the sums of the hints, so that a policy can divide in O(1). */
static void count_hints(struct gp__entity *e, bool add)
{
	struct gp__dev *d = e->dev;
	struct gp__owner *o = e->owner;
	u32 share = e->hints.share_pct;

	d->share_sum -= gp__owner_share_pct(o);
	d->nr_no_share -= o->nr_no_share != 0;
	if (share)
		o->share_sum += add ? share : -share;
	else
		o->nr_no_share += add ? 1 : (u32)-1;
	o->memory_mib += add ? memory_mib(e) : -memory_mib(e);
	d->share_sum += gp__owner_share_pct(o);
	d->nr_no_share += o->nr_no_share != 0;
	gp__owner_rekey(o);
}

static void rank(struct gp__dev *d)
{
	struct gp__link *l, *n;

	d->top_prio = -GP__PRIO_LIMIT;
	d->nr_top = 0;
	d->has_patient = false;
	gp__list_each(l, n, &d->members)
	{
		const struct gp__entity *e = container_of(l, struct gp__entity, dev_link);

		if (e->suspended)
			continue;
		d->has_patient |= d->nr_top && e->prio != d->top_prio;
		if (e->prio > d->top_prio || !d->nr_top) {
			d->top_prio = e->prio;
			d->nr_top = 0;
		}
		d->nr_top += e->prio == d->top_prio;
	}
}

/* A new, removed or changed entity changes the weights of all others on the device. */
static void reweigh(struct gp__dev *d)
{
	struct gp__link *l, *n;

	if (d->can_weigh == GP__WEIGHS_NOT)
		return;
	rank(d);
	gp__dev_dirty(d);
	if (!d->core->policy->weight || !guard(REWEIGH, true))
		return;
	gp__list_each(l, n, &d->members)
		gp__entity_tell(container_of(l, struct gp__entity, dev_link));
}

void gp__dev_switch(struct gp__dev *d, bool off, u64 now)
{
	struct gp__link *l, *n;

	if (off == d->off)
		return;
	now = gp__core_begin(d->core, now);
	d->off = off;
	gp__log_dev(d, off ? GP__WHAT_DEVICE_OFF : GP__WHAT_DEVICE_ON, now);
	gp__list_each(l, n, &d->members)
	{
		struct gp__entity *e = container_of(l, struct gp__entity, dev_link);

		gp__entity_update(e, now);
		gp__entity_tell(e);
	}
	gp__core_settle(d->core, now);
}

static void set_hints(struct gp__entity *e, const struct gp__hints *h)
{
	e->hints = *h;
	e->prio = h->prio;
	count_hints(e, true);
	gp__entity_sync_claim(e);
}

void gp__tag_set(char to[GP__TAG_MAX], const char *tag)
{
	size_t i;

	memset(to, 0, GP__TAG_MAX);
	for (i = 0; tag && tag[i] && i < GP__TAG_MAX - 1; i++)
		to[i] = gp__tag_char(tag[i]) ? tag[i] : '_';
}

void gp__owner_init(struct gp__owner *o, struct gp__dev *d, u32 id)
{
	memset(o, 0, sizeof(*o));
	o->dev = d;
	o->id = id;
}

int gp__entity_add(struct gp__owner *o, struct gp__entity *e, u32 id, u32 process,
		   enum gp__class class, const char *tag, const struct gp__hints *h, u64 now)
{
	struct gp__dev *d = o->dev;
	const char *why;

	if (!id || id == GP__NOBODY || gp__hints_check(h, &why))
		return -EINVAL;
	now = gp__core_begin(d->core, now);
	memset(e, 0, sizeof(*e));
	e->dev = d;
	e->owner = o;
	/* The policy may have changed since its last entity went. */
	if (!o->nr_entities++)
		memset(o->policy_state, 0, sizeof(o->policy_state));
	e->id = id;
	e->process = process;
	e->class = (u8) class;
	e->owed_at = now;
	gp__list_init(&e->queues);
	gp__list_init(&e->gang_link);
	gp__list_init(&e->ganged_link);
	gp__list_init(&e->fresh_link);
	gp__list_init(&e->apart_link);
	gp__list_init(&e->tell_link);
	gp__list_push(&d->members, &e->dev_link);
	gp__tag_set(e->tag, tag);
	set_hints(e, h);
	gp__log_entity(e, GP__WHAT_ENTITY_ADD, 0, now);
	reweigh(d);
	gp__core_settle(d->core, now);
	return 0;
}

static void unlink_queue(struct gp__queue *q)
{
	if (guard(REMOVE_UNLINKS, true)) {
		gp__list_del(&q->inflight);
		gp__list_del(&q->outbox);
	}
	gp__list_del(&q->link);
}

static void detach_queue(struct gp__queue *q)
{
	struct gp__entity *e = q->entity;

	if (q->fault != GP__FAULT_NONE)
		gp__queue_set_fault(q, GP__FAULT_NONE);
	if (q->ready)
		e->nr_ready--;
	q->ready = false;
	unlink_queue(q);
}

void gp__entity_remove(struct gp__entity *e, u64 now)
{
	struct gp__core *c = e->dev->core;
	struct gp__link *l, *n;

	now = gp__core_begin(c, now);
	gp__log_entity(e, GP__WHAT_ENTITY_REMOVE, 0, now);
	gp__entity_give_up(e, now);
	gp__list_each(l, n, &e->queues) detach_queue(container_of(l, struct gp__queue, link));
	gp__burst_stop(e, now);
	e->announced = false;
	gp__entity_set_awake(e, false);
	gp__entity_sync_on(e, now);
	gp__entity_leave(e);
	gp__gang_leave(e, now);
	if (gp__node_linked(&e->timer))
		gp__tree_erase(&c->timers, &e->timer);
	count_hints(e, false);
	e->owner->nr_entities--;
	gp__list_del(&e->dev_link);
	gp__list_del(&e->tell_link);
	reweigh(e->dev);
	gp__dev_dirty(e->dev);
	gp__core_settle(c, now);
}

static bool only_memory_differs(const struct gp__hints *a, const struct gp__hints *b)
{
	return a->memory != b->memory && a->prio == b->prio && a->weight == b->weight &&
	       a->share_pct == b->share_pct && a->min_share_pct == b->min_share_pct &&
	       a->deadline_ns == b->deadline_ns && a->max_hold_ns == b->max_hold_ns;
}

int gp__entity_hint(struct gp__entity *e, const struct gp__hints *h, u64 now)
{
	struct gp__core *c = e->dev->core;
	bool only_memory = only_memory_differs(h, &e->hints), other_prio = h->prio != e->prio;
	bool other_part = h->share_pct != e->hints.share_pct || other_prio;
	const char *why;

	if (gp__hints_check(h, &why))
		return -EINVAL;
	now = gp__core_begin(c, now);
	gp__entity_owe(e, now);
	count_hints(e, false);
	set_hints(e, h);
	gp__log_entity(e, GP__WHAT_HINT, 0, now);
	if (other_part)
		reweigh(e->dev);
	if (e->gang && other_prio)
		gp__gang_sort(e->gang);
	if (only_memory) {
		/* It is measured several times a second: the group keeps its place and turn. */
		gp__entity_charge(e, now);
		gp__entity_rekey(e);
		gp__entity_update(e, now);
	} else {
		gp__entity_forgive(e);
		gp__entity_reconsider(e, now);
	}
	gp__entity_tell(e);
	gp__core_settle(c, now);
	return 0;
}

void gp__entity_deadline(struct gp__entity *e, u64 at, u64 now)
{
	struct gp__core *c = e->dev->core;

	now = gp__core_begin(c, now);
	gp__log_entity(e, GP__WHAT_DEADLINE, at, now);
	e->deadline_at = at;
	e->deadline_named = at && !e->nr_ready;
	gp__entity_reconsider(e, now);
	gp__core_settle(c, now);
}

/* A job's deadline counts from its arrival, unless the program has named one before. */
static void set_deadline(struct gp__entity *e, u64 arrival)
{
	u64 deadline = e->hints.deadline_ns;

	if (!e->deadline_named)
		e->deadline_at = deadline ? gp__time_add(arrival, deadline) : 0;
}

/* The announced work has arrived, or is called off. */
static void stop_expecting(struct gp__entity *e, u64 now)
{
	gp__entity_expect(e, false, now);
	e->expect_from = 0;
}

/* The time to make room on a device that has held no queue yet: that of a slow driver. */
#define LEAD_UNKNOWN (2 * GP__MS)

/* As with the timeout of TCP: times of a hold that vary make it longer. */
u64 gp__dev_lead_ns(const struct gp__dev *d)
{
	u64 varies = guard(LEAD_VARIES, true) ? 4 * d->hold_dev_ns : 0;

	if (guard(LEAD_UNKNOWN, !d->hold_known))
		return LEAD_UNKNOWN;
	return d->hold_ns + gp__max_u64(d->hold_ns, varies);
}

static void expect(struct gp__entity *e, u64 at, u64 now)
{
	u64 lead = gp__dev_lead_ns(e->dev);

	e->expect_at = gp__max_u64(at, now);
	e->announced = at <= gp__time_add(now, lead);
	gp__entity_expect(e, e->announced, now);
	e->expect_from = e->expected ? 0 : at - lead;
	/* Announced work has the deadline that the job will have. */
	if (!e->nr_ready)
		set_deadline(e, e->expect_at);
}

void gp__entity_arriving(struct gp__entity *e, u64 at, u64 now)
{
	struct gp__core *c = e->dev->core;
	/* A repeated announcement must not keep room for ever. */
	bool said = e->expected && !e->nr_ready;

	now = gp__core_begin(c, now);
	gp__log_entity(e, GP__WHAT_ARRIVING, at, now);
	if (!at) {
		gp__entity_give_up(e, now);
		e->expect_from = 0;
		e->announced = e->in_burst = false;
		e->over = true;
		if (!e->nr_ready)
			gp__burst_stop(e, now);
	} else if (!guard(EXPECT_ONCE, said) && !gp__owner_is_doubted(e->owner, now)) {
		e->over = false;
		expect(e, at, now);
	}
	gp__entity_reconsider(e, now);
	gp__core_settle(c, now);
}

void gp__entity_suspend(struct gp__entity *e, bool suspend, u64 now)
{
	struct gp__core *c = e->dev->core;
	bool changes = suspend != e->suspended;

	now = gp__core_begin(c, now);
	gp__log_entity(e, suspend ? GP__WHAT_SUSPEND : GP__WHAT_RESUME, 0, now);
	e->suspended = suspend;
	if (changes)
		reweigh(e->dev);
	if (changes && e->gang)
		e->gang->nr_suspended += suspend ? 1 : (u32)-1;
	gp__entity_forgive(e);
	/* A repeated call must not restart a hold: the guarantees count from its start. */
	if (changes)
		gp__entity_restart_hold(e, now);
	gp__entity_update(e, now);
	gp__entity_tell(e);
	if (changes && e->gang)
		gp__gang_restart_holds(e->gang, now);
	gp__core_settle(c, now);
}

void gp__entity_exempt(struct gp__entity *e, enum gp__exempt exempt, u64 now)
{
	struct gp__core *c = e->dev->core;

	now = gp__core_begin(c, now);
	gp__log_entity(e, GP__WHAT_EXEMPT, exempt, now);
	e->exempt = (u8)exempt;
	gp__entity_forgive(e);
	gp__entity_update(e, now);
	gp__entity_tell(e);
	gp__core_settle(c, now);
}

void gp__queue_add(struct gp__entity *e, struct gp__queue *q, u32 id, u8 level_requested, u8 level,
		   u64 now)
{
	struct gp__core *c = e->dev->core;

	now = gp__core_begin(c, now);
	memset(q, 0, sizeof(*q));
	q->entity = e;
	q->id = id;
	q->level_requested = level_requested;
	q->level = level;
	gp__queue_clock(q, now);
	gp__list_init(&q->inflight);
	gp__list_init(&q->outbox);
	gp__list_push(&e->queues, &q->link);
	gp__log_queue(q, GP__WHAT_QUEUE_ADD, 0, now);
	if (!e->held || guard(NEW_QUEUE_HELD, true))
		gp__queue_converge(q, gp__why(GP__RULE_NEW_QUEUE, e->why.by), now);
	gp__core_settle(c, now);
}

void gp__queue_remove(struct gp__queue *q, u64 now)
{
	struct gp__entity *e = q->entity;
	struct gp__core *c = e->dev->core;

	now = gp__core_begin(c, now);
	gp__log_queue(q, GP__WHAT_QUEUE_REMOVE, 0, now);
	gp__queue_clock(q, now);
	detach_queue(q);
	gp__entity_update(e, now);
	gp__core_settle(c, now);
}

static void work_came(struct gp__entity *e, u64 now)
{
	bool has_place = e->awake;

	set_deadline(e, now);
	e->deadline_named = false;
	gp__burst_work(e, now);
	/* Late, but it was no lie. */
	if (e->owner->doubted == e->id)
		e->owner->doubt_until = 0;
	stop_expecting(e, now);
	if (has_place)
		gp__entity_reconsider(e, now);
	else
		gp__entity_update(e, now);
}

/* Whether it yields depends on which of its queues have work. */
static void recount(struct gp__entity *e, u64 now)
{
	gp__entity_sync_on(e, now);
	gp__entity_arm(e, now);
}

void gp__queue_ready(struct gp__queue *q, u32 pending, u64 now)
{
	struct gp__entity *e = q->entity;
	struct gp__core *c = e->dev->core;

	now = gp__core_begin(c, now);
	gp__log_queue(q, GP__WHAT_READY, pending, now);
	q->pending = pending;
	if (q->ready)
		return;
	gp__queue_clock(q, now);
	q->ready = true;
	if (e->nr_ready++ == 0)
		work_came(e, now);
	else
		stop_expecting(e, now);
	recount(e, now);
	gp__core_settle(c, now);
}

void gp__queue_idle(struct gp__queue *q, u64 since, u64 sees, u64 now)
{
	struct gp__entity *e = q->entity;
	struct gp__core *c = e->dev->core;

	now = gp__core_begin(c, now);
	since = gp__min_u64(since, now);
	gp__log_idle(q, since, sees, now);
	q->pending = 0;
	if (!q->ready)
		return;
	gp__queue_clock(q, now);
	q->ready = false;
	if (--e->nr_ready == 0) {
		/* Work announced for a time at which the queue was busy has arrived. */
		if (guard(EXPECT_MET, now >= e->expect_at))
			stop_expecting(e, now);
		e->announced = e->expected;
		gp__burst_gap(e, since, sees, now);
		gp__entity_update(e, now);
	}
	recount(e, now);
	gp__core_settle(c, now);
}

void gp__queue_level(struct gp__queue *q, u8 level, u64 now)
{
	struct gp__entity *e = q->entity;
	struct gp__core *c = e->dev->core;

	now = gp__core_begin(c, now);
	q->level = level;
	gp__log_queue(q, GP__WHAT_LEVEL, 0, now);
	gp__entity_forgive(e);
	gp__entity_update(e, now);
	gp__entity_tell(e);
	gp__core_settle(c, now);
}

u64 gp__core_wake(const struct gp__core *c)
{
	u64 wake = gp__core_next_ack_timeout(c);

	if (c->timers.first)
		wake = gp__min_u64(wake, (u64)c->timers.first->key);
	if (c->dev_timers.first)
		wake = gp__min_u64(wake, (u64)c->dev_timers.first->key);
	return wake;
}

/* A tick at which nothing is due changes nothing and is not logged. */
void gp__core_tick(struct gp__core *c, u64 now)
{
	if (gp__core_wake(c) > now)
		return;
	now = gp__core_begin(c, now);
	gp__log_simple(c, GP__WHAT_TICK, now);
	gp__core_run_timers(c, now);
	gp__core_settle(c, now);
}

bool gp__entity_active(const struct gp__entity *e)
{
	return e->nr_ready || e->lingering || e->expected;
}

s32 gp__entity_effective(const struct gp__entity *e, u64 now)
{
	const struct gp__policy *p = e->dev->core->policy;

	return p->effective ? p->effective(e, now) : e->prio;
}

enum gp__state gp__queue_state(const struct gp__queue *q)
{
	if (q->fault == GP__FAULT_UNRESPONSIVE)
		return GP__STATE_UNRESPONSIVE;
	if (q->fault == GP__FAULT_FAILED)
		return GP__STATE_FAILED;
	if (q->doing == GP__VERB_HOLD)
		return GP__STATE_HOLDING;
	if (q->doing == GP__VERB_RELEASE)
		return GP__STATE_RELEASING;
	return q->verb == GP__VERB_HOLD ? GP__STATE_HELD : GP__STATE_FREE;
}

enum gp__state gp__entity_state(const struct gp__entity *e)
{
	enum gp__state worst = e->held ? GP__STATE_HELD : GP__STATE_FREE;
	const struct gp__link *l;

	for (l = e->queues.next; l != &e->queues; l = l->next) {
		enum gp__state s = gp__queue_state(container_of(l, struct gp__queue, link));

		bool moving = s == GP__STATE_HOLDING || s == GP__STATE_RELEASING;

		if (s >= GP__STATE_FAILED ? s > worst : moving && worst < GP__STATE_FAILED)
			worst = s;
	}
	return worst;
}

const char *gp__state_name(enum gp__state s)
{
	static const char *const names[] = { "admitted",  "excluding", "excluded",
					     "admitting", "failed",    "unresponsive" };

	return (u32)s < sizeof(names) / sizeof(names[0]) ? names[s] : "?";
}
