// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>

#include "world.h"

bool world_fail(struct world *w, const char *fmt, ...)
{
	va_list ap;

	if (w->broken[0])
		return false;
	va_start(ap, fmt);
	vsnprintf(w->broken, sizeof(w->broken), fmt, ap);
	va_end(ap);
	return false;
}

static u64 draw(struct world *w, u64 n)
{
	u64 z = (w->rng += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (z ^ (z >> 31)) % n;
}

static bool chance(struct world *w, u64 percent)
{
	return draw(w, 100) < percent;
}

static const struct gp__policy *random_policy(struct world *w)
{
	u64 n = 0;

	while (gp__policies[n])
		n++;
	return gp__policies[draw(w, n)];
}

/*
 * The agents
 */

static struct world_queue *wq_of(struct gp__queue *q)
{
	return container_of(q, struct world_queue, q);
}

static u64 answer_time(struct world *w)
{
	if (!w->calm && chance(w, 1))
		return GP__NEVER;
	if (!w->calm && chance(w, 1))
		return w->now + 5 * GP__S;
	return w->now + draw(w, 200 * GP__US);
}

#define ONE_STOP ((s64)1000000000)

static void spend_stop(struct world *w, u32 dev, u64 now)
{
	const u64 *cfg = w->core.cfg;
	u64 rate = cfg[GP__CFG_SWITCHES_PER_S];
	s64 full = (s64)cfg[GP__CFG_SWITCH_BURST] * ONE_STOP;

	if (!rate || w->stop_event[dev] == w->core.nr_events)
		return;
	w->stop_event[dev] = w->core.nr_events;
	w->allowance[dev] += (s64)((now - w->allowance_at[dev]) * rate);
	w->allowance_at[dev] = now;
	if (w->allowance[dev] > full)
		w->allowance[dev] = full;
	w->allowance[dev] -= ONE_STOP;
	if (w->allowance[dev] < -ONE_STOP / 100)
		world_fail(w, "switch rate: gpu%u stops more often than %llu a second", dev,
			   (unsigned long long)rate);
}

/* A hold decided earlier and issued now, after another action, was paid for then. */
static void pay_hold(struct world *w, const struct world_entity *we, const struct gp__action *a)
{
	if (a->why.rule == w->core.policy->preempt_rule && we->nr_holds != we->e.nr_holds)
		spend_stop(w, we->e.dev->id, a->time);
}

static void take_order(struct world *w, const struct gp__action *a)
{
	struct world_queue *wq = wq_of(a->queue);
	struct gp__entity *e = wq->q.entity;

	w->nr_actions++;
	if (!wq->alive) {
		world_fail(w, "vanished: an action for a queue that is gone");
		return;
	}
	if (wq->ordered)
		world_fail(w,
			   "one in flight: a second action for q%u before the first was answered",
			   wq->q.id);
	if (a->verb == GP__VERB_HOLD) {
		if (wq->stop_failures >= w->core.cfg[GP__CFG_TRIES])
			world_fail(w, "tries: q%u failed to stop %u times and is tried again",
				   wq->q.id, wq->stop_failures);
		if (wq->stopped)
			world_fail(w, "order: q%u is stopped already", wq->q.id);
		pay_hold(w, container_of(e, struct world_entity, e), a);
	}
	if (a->verb == GP__VERB_RELEASE && !wq->stopped)
		world_fail(w, "order: q%u runs already", wq->q.id);
	if (a->why.rule == GP__RULE_NONE)
		world_fail(w, "why: an action on q%u without a reason", wq->q.id);
	wq->ordered = true;
	wq->order = a->verb;
	wq->ordered_at = a->time;
	wq->answer_at = answer_time(w);
}

static void take_orders(struct world *w)
{
	struct gp__action a;

	while (gp__core_pop(&w->core, &a))
		take_order(w, &a);
	for (u32 i = 0; i < WORLD_ENTITIES; i++)
		w->entity[i].nr_holds = w->entity[i].e.nr_holds;
}

static void answer(struct world *w, struct world_queue *wq)
{
	int result = !w->calm && chance(w, wq->stubborn ? 80 : 5) ? -EBUSY : 0;

	wq->ordered = false;
	wq->answered_at = w->now;
	if (wq->order == GP__VERB_HOLD) {
		wq->stop_failures = result ? wq->stop_failures + 1 : 0;
		wq->stopped = !result;
	} else if (wq->order == GP__VERB_RELEASE && !result) {
		wq->stopped = false;
	}
	if (gp__queue_ack(&wq->q, result, w->now))
		world_fail(w, "ack: q%u's answer was refused", wq->q.id);
}

static struct world_queue *next_answer(struct world *w)
{
	struct world_queue *next = NULL;
	u32 i, j;

	for (i = 0; i < WORLD_ENTITIES; i++) {
		for (j = 0; w->entity[i].alive && j < WORLD_QUEUES; j++) {
			struct world_queue *wq = &w->entity[i].queue[j];

			if (wq->alive && wq->ordered && (!next || wq->answer_at < next->answer_at))
				next = wq;
		}
	}
	return next && next->answer_at != GP__NEVER ? next : NULL;
}

/*
 * The programs
 */

static void forgive(struct world_entity *we)
{
	u32 i;

	for (i = 0; i < WORLD_QUEUES; i++)
		we->queue[i].stop_failures = 0;
}

static struct gp__hints random_hints(struct world *w)
{
	static const s32 prios[] = { GP__PRIO_OFFLINE, GP__PRIO_OFFLINE, GP__PRIO_NORMAL,
				     GP__PRIO_ONLINE };
	struct gp__hints h = { 0 };

	h.prio = chance(w, 80) ? prios[draw(w, 4)] : (s32)draw(w, 40) - 20;
	if (chance(w, 30))
		h.weight = 1 + (u32)draw(w, 400);
	if (chance(w, 30))
		h.share_pct = 1 + (u32)draw(w, 60);
	if (chance(w, 30))
		h.deadline_ns = 1 + draw(w, 100 * GP__MS);
	if (chance(w, 20))
		h.min_share_pct = 1 + (u32)draw(w, WORLD_CLAIM_MAX);
	if (chance(w, 20))
		h.max_hold_ns = 1 + draw(w, 3 * GP__S);
	h.memory = draw(w, 1ull << 34);
	return h;
}

static void add_queue(struct world *w, struct world_entity *we)
{
	u32 i;

	for (i = 0; i < WORLD_QUEUES; i++) {
		struct world_queue *wq = &we->queue[i];

		if (wq->alive)
			continue;
		memset(wq, 0, sizeof(*wq));
		wq->alive = true;
		wq->stubborn = chance(w, 5);
		gp__queue_add(&we->e, &wq->q, w->next_id++, 3, (u8)(1 + draw(w, 3)), w->now);
		return;
	}
}

static void add_entity(struct world *w, struct world_entity *we)
{
	struct gp__hints h = random_hints(w);

	memset(we, 0, sizeof(*we));
	we->alive = true;
	if (gp__entity_add(&w->owner[draw(w, WORLD_DEVICES)][draw(w, WORLD_USERS)], &we->e,
			   w->next_id++, 1, GP__CLASS_OTHER, "t", &h, w->now))
		world_fail(w, "entity-add was refused");
	add_queue(w, we);
}

/* Poisons the memory, so that a stale pointer shows. */
static void remove_entity(struct world *w, struct world_entity *we)
{
	gp__entity_remove(&we->e, w->now);
	memset(we, 0x5a, sizeof(*we));
	we->alive = false;
}

static void remove_queue(struct world *w, struct world_queue *wq)
{
	gp__queue_remove(&wq->q, w->now);
	memset(wq, 0x5a, sizeof(*wq));
	wq->alive = false;
}

static void join_gang(struct world *w, struct world_entity *we)
{
	struct gp__gang *g = &w->gang[draw(w, WORLD_GANGS)];

	if (gp__gang_join(g, &we->e, w->now) == 0)
		we->gang = g;
}

static void leave_gangs(struct world *w)
{
	struct gp__gang *g = &w->gang[draw(w, WORLD_GANGS)];
	u32 i, id = g->id;

	gp__gang_remove(g, w->now);
	for (i = 0; i < WORLD_ENTITIES; i++) {
		if (w->entity[i].alive && w->entity[i].gang == g)
			w->entity[i].gang = NULL;
	}
	gp__gang_add(&w->core, g, id, w->now);
}

static void toggle_wait(struct world *w)
{
	struct gp__gang *g = &w->gang[draw(w, WORLD_GANGS)];

	gp__gang_wait(g, !g->waits, w->now);
}

static void switch_policy(struct world *w)
{
	const struct gp__policy *p = random_policy(w);
	u64 values[GP__POLICY_PARAMS_MAX];
	u32 i;

	if (w->keep_policy)
		return;
	/* Around the default, and now and then at the very end of the range. */
	for (i = 0; i < p->nr_params; i++) {
		u64 most = chance(w, 95) ? 2 * p->params[i].def + 1 : p->params[i].max;
		u64 value = gp__min_u64(draw(w, most + 1), p->params[i].max);

		values[i] = gp__max_u64(value, p->params[i].min);
	}
	if (gp__core_set_policy(&w->core, p, chance(w, 50) ? values : NULL, w->now))
		world_fail(w, "policy: values in range were refused for %s", p->name);
	for (i = 0; i < WORLD_ENTITIES; i++)
		forgive(&w->entity[i]);
}

/* Debts from before a change of limits are not checked. */
static void restart_debts(struct world *w)
{
	u32 i;

	for (i = 0; i < WORLD_ENTITIES; i++)
		w->entity[i].owed_since = w->entity[i].unpaid_since = w->core.now;
}

static void configure(struct world *w)
{
	static const struct {
		u32 param;
		u64 max;
	} knobs[] = {
		{ GP__CFG_MIN_SHARE_PCT, 10 },	  { GP__CFG_MAX_HOLD_MS, 4000 },
		{ GP__CFG_GRANT_MS, 50 },	  { GP__CFG_SWITCHES_PER_S, 2000 },
		{ GP__CFG_SWITCH_BURST, 50 },	  { GP__CFG_LINGER_US, 500 },
		{ GP__CFG_WASTE_PCT, 20 },	  { GP__CFG_DEFER_MS, 400 },
		{ GP__CFG_ACK_TIMEOUT_MS, 4000 },
	};
	u32 i = (u32)draw(w, sizeof(knobs) / sizeof(knobs[0]));
	u64 value = 1 + draw(w, knobs[i].max);

	if (gp__core_configure(&w->core, knobs[i].param, value, w->now))
		world_fail(w, "config: a value in range was refused");
	restart_debts(w);
	if (knobs[i].param == GP__CFG_SWITCHES_PER_S || knobs[i].param == GP__CFG_SWITCH_BURST) {
		u32 d;

		/* The model starts afresh: a changed limit promises nothing about the past. */
		for (d = 0; d < WORLD_DEVICES; d++) {
			w->allowance[d] = (s64)w->core.cfg[GP__CFG_SWITCH_BURST] * ONE_STOP;
			w->allowance_at[d] = w->core.now;
		}
	}
}

static void entity_event(struct world *w, struct world_entity *we)
{
	struct world_queue *wq = &we->queue[draw(w, WORLD_QUEUES)];
	struct gp__hints h;

	switch (draw(w, 100)) {
	case 0:
		remove_entity(w, we);
		return;
	case 1:
		if (wq->alive)
			remove_queue(w, wq);
		return;
	case 2:
		add_queue(w, we);
		return;
	case 3:
		h = random_hints(w);
		forgive(we);
		if (gp__entity_hint(&we->e, &h, w->now))
			world_fail(w, "hint: hints in range were refused");
		we->owed_since = we->unpaid_since = w->core.now;
		return;
	case 4:
		gp__entity_deadline(&we->e, w->now + draw(w, 50 * GP__MS), w->now);
		return;
	case 5:
		gp__entity_arriving(&we->e, chance(w, 20) ? 0 : w->now + draw(w, 5 * GP__MS),
				    w->now);
		return;
	case 6:
		forgive(we);
		gp__entity_suspend(&we->e, !we->e.suspended && chance(w, 30), w->now);
		return;
	case 7:
		if (wq->alive) {
			forgive(we);
			gp__queue_level(&wq->q, (u8)(1 + draw(w, 3)), w->now);
		}
		return;
	case 8:
		if (chance(w, 20))
			join_gang(w, we);
		return;
	default:
		if (!wq->alive)
			return;
		if (chance(w, 50))
			gp__queue_ready(&wq->q, 1 + (u32)draw(w, 10), w->now);
		else
			gp__queue_idle(&wq->q, w->now, 0, w->now);
	}
}

/* A device is on for most of the time. */
static void switch_device(struct world *w)
{
	struct gp__dev *d = &w->dev[draw(w, WORLD_DEVICES)];

	gp__dev_switch(d, !d->off && chance(w, 30), w->now);
}

static void random_event(struct world *w)
{
	struct world_entity *we = &w->entity[draw(w, WORLD_ENTITIES)];

	if (chance(w, 1) && chance(w, 20)) {
		switch_device(w);
	} else if (chance(w, 1) && chance(w, 30)) {
		if (chance(w, 50))
			switch_policy(w);
		else if (chance(w, 80))
			configure(w);
		else if (chance(w, 50))
			leave_gangs(w);
		else
			toggle_wait(w);
	} else if (!we->alive) {
		if (chance(w, 20))
			add_entity(w, we);
	} else {
		entity_event(w, we);
	}
}

/*
 * Time
 */

/* The next thing that happens by itself: an answer or the core's timer. False: nothing before
 * @until. */
static bool happen_next(struct world *w, u64 until)
{
	struct world_queue *wq = next_answer(w);
	u64 answer_at = wq ? wq->answer_at : GP__NEVER, wake = gp__core_wake(&w->core);

	if (gp__min_u64(answer_at, wake) > until)
		return false;
	/* At the same time the answer counts: the agent was not late. */
	if (answer_at < wake) {
		w->now = gp__max_u64(w->now, answer_at);
		answer(w, wq);
	} else {
		w->now = gp__max_u64(w->now, wake);
		gp__core_tick(&w->core, w->now);
	}
	return true;
}

static bool step_to(struct world *w, u64 until)
{
	u32 bound = 100000;

	while (happen_next(w, until)) {
		w->nr_events++;
		take_orders(w);
		if (!world_check(w))
			return false;
		if (!bound--)
			return world_fail(w, "timers: the core asks to be woken for ever");
	}
	w->now = gp__max_u64(w->now, until);
	return true;
}

bool world_step(struct world *w)
{
	u64 gap = chance(w, 2) ? draw(w, 500 * GP__MS) : draw(w, 300 * GP__US);

	if (!step_to(w, w->now + gap))
		return false;
	/* Some events are told late: their time may lie behind the core's. */
	if (chance(w, 3)) {
		u64 real = w->now;

		w->now -= draw(w, GP__MS);
		random_event(w);
		w->now = gp__max_u64(w->now, w->core.now);
		take_orders(w);
		if (!step_to(w, real))
			return false;
	} else {
		random_event(w);
	}
	w->nr_events++;
	take_orders(w);
	/* A changed limit may make something due at once, that is at the next nanosecond. */
	return step_to(w, w->now + 1) && world_check(w);
}

bool world_quiesce(struct world *w)
{
	u32 i, j;

	w->calm = true;
	for (i = 0; i < WORLD_ENTITIES; i++) {
		struct world_entity *we = &w->entity[i];

		for (j = 0; we->alive && j < WORLD_QUEUES; j++) {
			if (!we->queue[j].alive)
				continue;
			if (we->queue[j].ordered && we->queue[j].answer_at == GP__NEVER)
				we->queue[j].answer_at = w->now;
			gp__queue_idle(&we->queue[j].q, w->now, 0, w->now);
			take_orders(w);
		}
		if (we->alive && we->e.suspended) {
			gp__entity_suspend(&we->e, false, w->now);
			take_orders(w);
		}
	}
	for (i = 0; i < WORLD_GANGS; i++) {
		gp__gang_wait(&w->gang[i], false, w->now);
		take_orders(w);
	}
	if (!step_to(w, w->now + 100 * GP__S))
		return false;
	for (i = 0; i < WORLD_ENTITIES; i++) {
		for (j = 0; w->entity[i].alive && j < WORLD_QUEUES; j++) {
			if (w->entity[i].queue[j].alive && w->entity[i].queue[j].stopped)
				return world_fail(w, "quiet: q%u is stopped and nobody works",
						  w->entity[i].queue[j].q.id);
		}
	}
	if (gp__core_wake(&w->core) != GP__NEVER)
		return world_fail(w, "quiet: nobody works and the core still wants to be woken");
	return true;
}

void world_init(struct world *w, u64 seed)
{
	u32 i, j;

	memset(w, 0, sizeof(*w));
	w->rng = seed;
	w->next_id = 1;
	w->now = w->started = GP__S;
	gp__core_init(&w->core, random_policy(w));
	for (i = 0; i < WORLD_DEVICES; i++) {
		gp__dev_add(&w->core, &w->dev[i], i, 1ull << 36,
			    i ? GP__WEIGHS_NOT : GP__WEIGHS_YIELDING, w->now);
		for (j = 0; j < WORLD_USERS; j++)
			gp__owner_init(&w->owner[i][j], &w->dev[i], j);
		w->allowance[i] = (s64)w->core.cfg[GP__CFG_SWITCH_BURST] * ONE_STOP;
		w->allowance_at[i] = w->now;
	}
	for (i = 0; i < WORLD_GANGS; i++)
		gp__gang_add(&w->core, &w->gang[i], i + 1, w->now);
}
