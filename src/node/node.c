// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "node/policies.h"

#include "policy/policy.h"

/* The period of reading rings. While none of them has work it doubles with each look, up to this
 * multiple. */
#define PERIOD_US 1000
#define IDLE_PERIODS 10
#define IDLE_DOUBLINGS 4 /* until it is more than that */
/* The time to wait for work whose end cannot be seen; the same as gpreemptd's. */
#define GRACE_US 100000
/* How often the driver is asked for the waves of a queue that has not moved. */
#define WAVES_NS (GP__RING_GRACE_NS / 4)

/* A group that could not be held is tried again after this. */
#define FORGIVE_NS (10 * GP__S)

/* The core's name for taking a queue off the GPU in the middle of its work. */
#define LEVEL_SAVED 3

static u64 now_of(struct gp__node_sched *n)
{
	return n->driver->now(n);
}

static struct gp__node_group *group_of(struct gp__link *l)
{
	return container_of(l, struct gp__node_group, link);
}

static struct gp__node_queue *queue_of(struct gp__link *l)
{
	return container_of(l, struct gp__node_queue, link);
}

/* Releases a queue, or all of them, in one change. */
static void release(struct gp__node_sched *n, struct gp__node_queue *only)
{
	struct gp__link hold, list, *g, *q, *next_g, *next_q;

	gp__list_init(&hold);
	gp__list_init(&list);
	gp__list_each(g, next_g, &n->groups)
	{
		gp__list_each(q, next_q, &group_of(g)->queues)
		{
			if (!only || queue_of(q) == only)
				gp__list_push(&list, &queue_of(q)->action);
		}
	}
	if (gp__list_empty(&list))
		return;
	n->driver->change(n, &hold, &list);
	gp__list_each(q, next_q, &list) gp__list_del(q);
}

/*
 * Groups and their queues
 */

s32 gp__node_own(u32 hardware)
{
	return (hardware > GP__PRIO_NORMAL) - (hardware < GP__PRIO_NORMAL);
}

u32 gp__node_asked(u32 logical, u32 hardware)
{
	u32 given = logical & ~GP__NODE_SPLIT;
	s32 own = logical & GP__NODE_SPLIT ? gp__node_own(hardware) : 0;

	if (!given)
		return hardware;
	return given == 1 && own < 0 ? 0 : given - 1 + (u32)own;
}

s32 gp__node_granted(u32 asked, bool may_be_urgent)
{
	if (asked > GP__PRIO_NORMAL && !may_be_urgent)
		return GP__PRIO_NORMAL;
	return asked < GP__PRIO_LIMIT ? (s32)asked : GP__PRIO_LIMIT;
}

static void enter_group(struct gp__node_sched *n, struct gp__node_group *g)
{
	struct gp__hints hints = { .prio = g->priority };

	gp__entity_add(&g->user->core, &g->core, g->id, g->pid, gp__class_of(g->priority), g->tag,
		       &hints, now_of(n));
}

static void enter_queue(struct gp__node_sched *n, struct gp__node_queue *q)
{
	/* Work that is there now is news to the core. */
	memset(&q->ring, 0, sizeof(q->ring));
	q->is_ready = false;
	q->is_seen = false;
	gp__queue_add(&q->group->core, &q->core, q->id, LEVEL_SAVED, LEVEL_SAVED, now_of(n));
}

static struct gp__node_group *find_group(struct gp__node_sched *n, const struct gp__node_options *o)
{
	struct gp__link *l, *next;

	gp__list_each(l, next, &n->groups)
	{
		struct gp__node_group *g = group_of(l);

		if (g->program == o->program && g->is_given == o->is_given &&
		    (!o->is_given || g->priority == o->priority))
			return g;
	}
	return NULL;
}

/* A group has the priority of its most urgent queue. */
static void settle_priority(struct gp__node_sched *n, struct gp__node_group *g)
{
	struct gp__hints hints = { .prio = queue_of(g->queues.next)->priority };
	struct gp__link *l, *next;

	gp__list_each(l, next, &g->queues)
	{
		if (queue_of(l)->priority > hints.prio)
			hints.prio = queue_of(l)->priority;
	}
	if (hints.prio == g->priority)
		return;
	g->priority = hints.prio;
	if (n->is_enabled)
		gp__entity_hint(&g->core, &hints, now_of(n));
}

static struct gp__node_user *user_of(struct gp__link *l)
{
	return container_of(l, struct gp__node_user, link);
}

static struct gp__node_user *get_user(struct gp__node_sched *n, u32 id)
{
	struct gp__link *l, *next;
	struct gp__node_user *u;

	gp__list_each(l, next, &n->users)
	{
		if (user_of(l)->id == id)
			return user_of(l);
	}
	u = n->driver->alloc(sizeof(*u));
	if (!u)
		return NULL;
	u->id = id;
	gp__owner_init(&u->core, &n->dev, id);
	gp__list_push(&n->users, &u->link);
	return u;
}

static void put_user(struct gp__node_sched *n, struct gp__node_user *u)
{
	if (u->nr_groups)
		return;
	gp__list_del(&u->link);
	n->driver->free(u);
}

/* The groups of a program follow one another, so that its memory is entered once. */
static struct gp__link *end_of_program(struct gp__node_sched *n, const void *program)
{
	struct gp__link *l;

	for (l = n->groups.prev; l != &n->groups; l = l->prev) {
		if (group_of(l)->program == program)
			return l->next;
	}
	return &n->groups;
}

static struct gp__node_group *add_group(struct gp__node_sched *n, const struct gp__node_options *o)
{
	struct gp__node_user *u = get_user(n, o->user);
	struct gp__node_group *g = u ? n->driver->alloc(sizeof(*g)) : NULL;

	if (!g) {
		if (u)
			put_user(n, u);
		return NULL;
	}
	g->user = u;
	u->nr_groups++;
	g->program = o->program;
	g->pid = o->pid;
	g->is_given = o->is_given;
	g->priority = o->priority;
	g->id = ++n->last_id;
	gp__tag_set(g->tag, o->tag);
	gp__list_init(&g->queues);
	gp__list_push(end_of_program(n, g->program), &g->link);
	n->nr_groups++;
	if (n->is_enabled)
		enter_group(n, g);
	return g;
}

static void leave_group(struct gp__node_sched *n, struct gp__node_queue *q)
{
	struct gp__node_group *g = q->group;

	if (n->is_enabled)
		gp__queue_remove(&q->core, now_of(n));
	gp__list_del(&q->link);
	if (!gp__list_empty(&g->queues)) {
		settle_priority(n, g);
		return;
	}
	if (n->is_enabled)
		gp__entity_remove(&g->core, now_of(n));
	n->nr_groups--;
	gp__list_del(&g->link);
	g->user->nr_groups--;
	put_user(n, g->user);
	n->driver->free(g);
}

static void take_wish(struct gp__node_queue *q, const struct gp__node_options *o)
{
	q->asked = o->asked;
	q->priority = o->priority;
	q->own = o->own;
}

/* False: there is no memory. */
static bool join_group(struct gp__node_sched *n, struct gp__node_queue *q,
		       const struct gp__node_options *o)
{
	struct gp__node_group *g = find_group(n, o);

	if (!g)
		g = add_group(n, o);
	if (!g)
		return false;
	q->group = g;
	q->id = ++n->last_id;
	q->place = o->place;
	take_wish(q, o);
	gp__list_push(&g->queues, &q->link);
	if (n->is_enabled)
		enter_queue(n, q);
	settle_priority(n, g);
	return true;
}

struct gp__node_queue *gp__node_add(struct gp__node_sched *n, const struct gp__node_options *o)
{
	struct gp__node_queue *q = n->driver->alloc(sizeof(*q));

	if (!q)
		return NULL;
	q->queue = o->queue;
	gp__list_init(&q->link);
	gp__list_init(&q->action);
	if (!join_group(n, q, o)) {
		n->driver->free(q);
		return NULL;
	}
	n->nr_queues++;
	return q;
}

void gp__node_remove(struct gp__node_sched *n, struct gp__node_queue *q)
{
	leave_group(n, q);
	n->nr_queues--;
	n->driver->free(q);
}

struct gp__node_queue *gp__node_update(struct gp__node_sched *n, struct gp__node_queue *q,
				       const struct gp__node_options *o)
{
	bool is_unchanged = q->asked == o->asked && o->priority <= q->group->priority;
	bool stays = q->group->is_given == o->is_given && (is_unchanged || !o->is_given);

	q->place = o->place;
	if (stays) {
		/* A grant for an unchanged wish stays. */
		if (q->asked != o->asked)
			take_wish(q, o);
		q->own = o->own;
		settle_priority(n, q->group);
		return q;
	}
	/* As long as it is one of the node's. */
	release(n, q);
	leave_group(n, q);
	if (join_group(n, q, o))
		return q;
	n->nr_queues--;
	n->driver->free(q);
	return NULL;
}

struct gp__node_queue *gp__node_of_program(struct gp__node_sched *n, const void *program)
{
	struct gp__link *l, *next;

	gp__list_each(l, next, &n->groups)
	{
		if (group_of(l)->program == program)
			return queue_of(group_of(l)->queues.next);
	}
	return NULL;
}

/*
 * Reading rings
 */

static void look_at_ring(struct gp__node_sched *n, struct gp__node_queue *q, bool is_there)
{
	const struct gp__ring_reader from = { n->driver->read, q->queue };
	struct gp__ring_reading reading;

	gp__ring_begin(&reading, &q->ring, &q->place, n->driver->is_running(q->queue), true);
	if (is_there)
		gp__ring_read(&reading, &from);
	else
		reading.sight.error = -EFAULT;
	q->sight = reading.sight;
	q->is_seen |= !q->sight.error;
}

/* Reads the rings of the program of the group @first. Returns the next program's first group. */
static struct gp__link *look_at_program(struct gp__node_sched *n, struct gp__link *first)
{
	void *program = group_of(first)->program;
	bool is_there = n->driver->begin_reading(n, program);
	struct gp__link *g = first, *q, *next;

	do {
		gp__list_each(q, next, &group_of(g)->queues) look_at_ring(n, queue_of(q), is_there);
		g = g->next;
	} while (g != &n->groups && group_of(g)->program == program);
	if (is_there)
		n->driver->end_reading(n, program);
	return g;
}

static void look_at_rings(struct gp__node_sched *n)
{
	struct gp__link *g = n->groups.next;

	while (g != &n->groups)
		g = look_at_program(n, g);
}

/* Asked after the ring was read: waves of what has arrived since are not missed. */
static void look_at_waves(struct gp__node_sched *n, struct gp__node_queue *q,
			  const struct gp__ring_patience *patience, u64 now)
{
	if (!n->driver->waves || !gp__ring_asks_waves(&q->ring, &q->sight, patience, now))
		return;
	if (!gp__ring_has_moved(&q->ring, &q->sight) && now - q->waves_at < WAVES_NS)
		return;
	q->waves_at = now;
	q->sight.waves = n->driver->waves(n, q->queue);
}

static void tell_core(struct gp__node_sched *n, struct gp__node_queue *q)
{
	u64 grace_ns = n->grace_us * GP__US, now = now_of(n);
	const struct gp__ring_patience patience = { gp__min_u64(grace_ns, GP__RING_GRACE_NS),
						    grace_ns, GP__RING_DOUBT_NS,
						    GP__RING_LIMIT_NS };
	enum gp__ring_event event;
	bool is_ready;

	look_at_waves(n, q, &patience, now);
	event = gp__ring_look(&q->ring, &q->sight, &patience, now);
	if (event != GP__RING_NOTHING && n->driver->saw)
		n->driver->saw(n, q);
	is_ready = q->ring.is_busy && !n->driver->is_away(q->queue);
	if (is_ready == q->is_ready)
		return;
	q->is_ready = is_ready;
	if (is_ready)
		gp__queue_ready(&q->core, (u32)gp__min_u64(q->ring.pending, ~(u32)0), now);
	else
		gp__queue_idle(&q->core, now, n->period_us * GP__US, now);
}

/*
 * Holding and releasing
 */

static void acknowledge(struct gp__node_sched *n, struct gp__link *list)
{
	struct gp__link *l, *next;

	gp__list_each(l, next, list)
	{
		struct gp__node_queue *q = container_of(l, struct gp__node_queue, action);

		gp__list_del(l);
		if (q->result)
			q->failed_at = now_of(n);
		gp__queue_ack(&q->core, q->result, now_of(n));
	}
}

/* A program's own priorities order its queues: higher ones run first. */
static void push_by_own(struct gp__link *list, struct gp__node_queue *q)
{
	struct gp__link *before = list;

	while (before->prev != list &&
	       container_of(before->prev, struct gp__node_queue, action)->own < q->own)
		before = before->prev;
	gp__list_push(before, &q->action);
}

static bool act_once(struct gp__node_sched *n)
{
	struct gp__link hold, release;
	struct gp__action a;

	gp__list_init(&hold);
	gp__list_init(&release);
	while (gp__core_pop(&n->core, &a)) {
		struct gp__node_queue *q = container_of(a.queue, struct gp__node_queue, core);

		q->result = 0;
		if (a.verb == GP__VERB_HOLD)
			gp__list_push(&hold, &q->action);
		else
			push_by_own(&release, q);
	}
	if (gp__list_empty(&hold) && gp__list_empty(&release))
		return false;
	n->driver->change(n, &hold, &release);
	acknowledge(n, &hold);
	acknowledge(n, &release);
	return true;
}

/*
 * Forgiving
 */

/* Failures that are older than @age. The core forgives the whole group. */
static void forgive(struct gp__node_sched *n, u64 age)
{
	struct gp__link *g, *q, *next_g, *next_q;
	u64 now = now_of(n);

	gp__list_each(g, next_g, &n->groups)
	{
		gp__list_each(q, next_q, &group_of(g)->queues)
		{
			if (queue_of(q)->core.fault == GP__FAULT_FAILED &&
			    now - queue_of(q)->failed_at >= age)
				gp__queue_level(&queue_of(q)->core, LEVEL_SAVED, now);
		}
	}
}

void gp__node_pause(struct gp__node_sched *n, bool pause)
{
	if (n->is_paused == pause)
		return;
	n->is_paused = pause;
	/* The cause of the GPU's failures is over. */
	if (!pause && n->is_enabled)
		forgive(n, 0);
}

/*
 * Thread
 */

void gp__node_tick(struct gp__node_sched *n)
{
	struct gp__link *g, *q, *next_g, *next_q;
	u64 now;

	if (n->is_paused || !n->is_enabled)
		return;
	forgive(n, FORGIVE_NS);
	look_at_rings(n);
	gp__list_each(g, next_g, &n->groups)
	{
		gp__list_each(q, next_q, &group_of(g)->queues) tell_core(n, queue_of(q));
	}
	now = now_of(n);
	if (gp__core_wake(&n->core) <= now)
		gp__core_tick(&n->core, now);
	/* An acknowledgement may be the reason for more; what failed is tried again later. */
	while (act_once(n))
		;
	n->nr_ticks++;
	if (n->dev.nr_awake)
		n->nr_idle_ticks = 0;
	else if (n->nr_idle_ticks < IDLE_DOUBLINGS)
		n->nr_idle_ticks++;
}

/* Equals run together under hpf: where all groups are, or there is but one, nothing is decided. */
static bool has_choice(const struct gp__node_sched *n)
{
	const struct gp__link *g;

	if (n->core.policy->preempt_rule != GP__RULE_PRIORITY || n->nr_groups < 2)
		return n->nr_groups > 1;
	for (g = n->groups.next->next; g != &n->groups; g = g->next) {
		if (container_of(g, struct gp__node_group, link)->priority !=
		    group_of(n->groups.next)->priority)
			return true;
	}
	return false;
}

u32 gp__node_interval_us(const struct gp__node_sched *n)
{
	u32 most = IDLE_PERIODS * n->period_us, us = n->period_us << n->nr_idle_ticks;

	if (n->is_paused || !n->is_enabled || !has_choice(n))
		return 0;
	return us < most ? us : most;
}

u64 gp__node_wait_ns(struct gp__node_sched *n)
{
	u64 now = now_of(n), at = gp__core_wake(&n->core);
	u32 interval_us = gp__node_interval_us(n);

	if (n->is_paused || !n->is_enabled)
		return GP__NEVER;
	if (interval_us)
		at = gp__min_u64(at, now + interval_us * GP__US);
	if (at == GP__NEVER)
		return GP__NEVER;
	return at > now ? at - now : 0;
}

/*
 * Creation
 */

/* The log begins with the parameters, so they come first. */
static void start_core(struct gp__node_sched *n, const struct gp__policy *policy, const u64 *params,
		       const u64 *cfg)
{
	gp__core_init(&n->core, policy);
	if (params)
		memcpy(n->core.params, params, sizeof(n->core.params));
	if (cfg)
		memcpy(n->core.cfg, cfg, sizeof(n->core.cfg));
	gp__log_keep_clear(&n->log);
	gp__core_log(&n->core, gp__log_keep_add, &n->log);
	gp__dev_add(&n->core, &n->dev, n->id, 0, GP__WEIGHS_NOT, now_of(n));
}

static void restart_core(struct gp__node_sched *n)
{
	u64 params[GP__POLICY_PARAMS_MAX], cfg[GP__CFG_COUNT];

	memcpy(params, n->core.params, sizeof(params));
	memcpy(cfg, n->core.cfg, sizeof(cfg));
	start_core(n, n->core.policy, params, cfg);
}

void gp__node_init(struct gp__node_sched *n, const struct gp__node_driver *driver, u32 id,
		   const struct gp__log_keep *log)
{
	memset(n, 0, sizeof(*n));
	n->driver = driver;
	n->id = id;
	n->is_enabled = true;
	n->period_us = PERIOD_US;
	n->grace_us = GRACE_US;
	n->log = *log;
	gp__list_init(&n->groups);
	gp__list_init(&n->users);
	start_core(n, gp__node_init_policies(n), NULL, NULL);
}

void gp__node_enable(struct gp__node_sched *n, bool enable)
{
	struct gp__link *g, *q, *u, *next_g, *next_q, *next_u;

	release(n, NULL);
	restart_core(n);
	n->is_enabled = enable;
	if (!enable)
		return;
	gp__list_each(u, next_u, &n->users)
		gp__owner_init(&user_of(u)->core, &n->dev, user_of(u)->id);
	gp__list_each(g, next_g, &n->groups)
	{
		enter_group(n, group_of(g));
		gp__list_each(q, next_q, &group_of(g)->queues) enter_queue(n, queue_of(q));
	}
}
