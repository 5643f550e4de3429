// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>

#include "world.h"

static bool fail(struct world *w, const char *fmt, ...)
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
		fail(w, "switch rate: gpu%u stops more often than %llu a second", dev,
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
		fail(w, "vanished: an action for a queue that is gone");
		return;
	}
	if (wq->ordered)
		fail(w, "one in flight: a second action for q%u before the first was answered",
		     wq->q.id);
	if (a->verb == GP__VERB_EXCLUDE) {
		if (wq->stop_failures >= w->core.cfg[GP__CFG_TRIES])
			fail(w, "tries: q%u failed to stop %u times and is tried again", wq->q.id,
			     wq->stop_failures);
		if (wq->stopped)
			fail(w, "order: q%u is stopped already", wq->q.id);
		pay_hold(w, container_of(e, struct world_entity, e), a);
	}
	if (a->verb == GP__VERB_ADMIT && !wq->stopped)
		fail(w, "order: q%u runs already", wq->q.id);
	if (a->why.rule == GP__RULE_NONE)
		fail(w, "why: an action on q%u without a reason", wq->q.id);
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
	if (wq->order == GP__VERB_EXCLUDE) {
		wq->stop_failures = result ? wq->stop_failures + 1 : 0;
		wq->stopped = !result;
	} else if (wq->order == GP__VERB_ADMIT && !result) {
		wq->stopped = false;
	}
	if (gp__queue_ack(&wq->q, result, w->now))
		fail(w, "ack: q%u's answer was refused", wq->q.id);
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
		h.min_share_pct = 1 + (u32)draw(w, 20);
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
	if (gp__entity_add(&w->dev[draw(w, WORLD_DEVICES)], &we->e, w->next_id++, 1,
			   GP__CLASS_OTHER, "t", &h, w->now))
		fail(w, "entity-add was refused");
	add_queue(w, we);
}

/* The memory is filled with rubbish: whoever still refers to it shows. */
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

static void switch_policy(struct world *w)
{
	const struct gp__policy *p = gp__policies[draw(w, 6)];
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
		fail(w, "policy: values in range were refused for %s", p->name);
	for (i = 0; i < WORLD_ENTITIES; i++)
		forgive(&w->entity[i]);
}

/* What was owed before the promise changed is not checked. */
static void restart_debts(struct world *w)
{
	u32 i;

	for (i = 0; i < WORLD_ENTITIES; i++)
		w->entity[i].owed_since = w->core.now;
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
		{ GP__CFG_ACK_TIMEOUT_MS, 4000 },
	};
	u32 i = (u32)draw(w, sizeof(knobs) / sizeof(knobs[0]));
	u64 value = 1 + draw(w, knobs[i].max);

	if (gp__core_configure(&w->core, knobs[i].param, value, w->now))
		fail(w, "config: a value in range was refused");
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
			fail(w, "hint: hints in range were refused");
		we->owed_since = w->core.now;
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
			gp__queue_idle(&wq->q, w->now);
	}
}

static void random_event(struct world *w)
{
	struct world_entity *we = &w->entity[draw(w, WORLD_ENTITIES)];

	if (chance(w, 1) && chance(w, 30)) {
		if (chance(w, 50))
			switch_policy(w);
		else if (chance(w, 80))
			configure(w);
		else
			leave_gangs(w);
	} else if (!we->alive) {
		if (chance(w, 20))
			add_entity(w, we);
	} else {
		entity_event(w, we);
	}
}

/*
 * What must always hold
 */

static bool controllable(const struct gp__entity *e)
{
	return gp__entity_active(e) && !e->suspended && !e->nr_faults;
}

/* Some events are told late: time may seem to have gone back. */
static u64 since(const struct world *w, u64 then)
{
	return w->now > then ? w->now - then : 0;
}

static u32 wanted_weight(const struct world *w, const struct world_entity *we)
{
	const struct gp__policy *p = w->core.policy;

	return we->e.dev->can_weigh && p->weight ? p->weight(&we->e) : 0;
}

static bool check_queue(struct world *w, const struct world_entity *we,
			const struct world_queue *wq)
{
	const struct gp__queue *q = &wq->q;
	u64 timeout = w->core.cfg[GP__CFG_ACK_TIMEOUT_MS] * GP__MS;

	if (wq->ordered != (q->doing != GP__VERB_NONE))
		return fail(w, "one in flight: q%u and its agent disagree", q->id);
	if (wq->ordered && w->now >= wq->ordered_at + timeout &&
	    gp__queue_state(q) != GP__STATE_UNRESPONSIVE)
		return fail(w, "unresponsive: q%u has not answered in time and is still waited for",
			    q->id);
	if (!wq->ordered && !wq->stopped && !q->weigh_refused && !q->fails &&
	    q->weight != wanted_weight(w, we))
		return fail(w, "weight: q%u has %u and should have %u", q->id, q->weight,
			    wanted_weight(w, we));
	if (!wq->ordered && q->fault == GP__FAULT_UNRESPONSIVE)
		return fail(w, "unresponsive: q%u answered and is still called so", q->id);
	if (!wq->ordered && !q->fails && wq->stopped != we->e.held)
		return fail(w, "stuck: q%u is %s, e%u is %s, and nothing is under way", q->id,
			    wq->stopped ? "stopped" : "running", we->e.id,
			    we->e.held ? "held" : "not held");
	/* Pauses between attempts grow to a second. */
	if (!wq->ordered && wq->stopped && !we->e.held && since(w, wq->answered_at) > GP__S)
		return fail(w, "stuck: q%u failed to start and is not tried again", q->id);
	return true;
}

/* Somebody with work runs on the device, and under hpf somebody more urgent. */
static bool somebody_preferred(const struct world *w, const struct gp__entity *e)
{
	u32 i;

	for (i = 0; i < WORLD_ENTITIES; i++) {
		const struct gp__entity *o = &w->entity[i].e;

		if (w->entity[i].alive && o->dev == e->dev && controllable(o) && !o->held &&
		    (w->core.policy != &gp__policy_hpf || o->prio > e->prio ||
		     (e->dev->can_weigh && w->core.params[1] && o->prio == e->prio)))
			return true;
	}
	return false;
}

/* Suspended by hand, itself or another member of its gang. */
static bool by_operator(const struct world *w, const struct world_entity *we)
{
	u32 i;

	for (i = 0; we->gang && i < WORLD_ENTITIES; i++) {
		if (w->entity[i].alive && w->entity[i].gang == we->gang && w->entity[i].e.suspended)
			return true;
	}
	return we->e.suspended;
}

static u64 longest_hold(const struct world *w, const struct gp__entity *e)
{
	u64 ms = w->core.cfg[GP__CFG_MAX_HOLD_MS];

	if (e->hints.max_hold_ns)
		return e->hints.max_hold_ns;
	return ms ? ms * GP__MS : GP__NEVER;
}

static void note_starving(struct world *w, struct world_entity *we)
{
	bool starving = we->e.held && gp__entity_active(&we->e) && !by_operator(w, we);

	if (starving && !we->starving)
		we->starving_since = we->owed_since = w->now;
	we->starving = starving;
}

/*
 * It may be a whole grant ahead when it is stopped, and is granted its share when it is a whole
 * grant behind. By default the share is at least that of a device on which everybody works.
 */
static u64 longest_debt(const struct world *w, const struct gp__entity *e)
{
	u64 ppm = gp__min_u64(w->core.cfg[GP__CFG_MIN_SHARE_PCT] * 10000, 500000 / WORLD_ENTITIES);

	if (e->hints.min_share_pct)
		ppm = e->hints.min_share_pct * 10000;
	return ppm ? 2 * w->core.cfg[GP__CFG_GRANT_MS] * GP__MS * 1000000 / ppm + GP__US
		   : GP__NEVER;
}

static bool check_guarantees(struct world *w, const struct world_entity *we)
{
	const struct gp__entity *e = &we->e;

	if (!we->starving)
		return true;
	if (since(w, we->starving_since) > longest_hold(w, e))
		return fail(w, "longest suspension: e%u is held for %llu ms", e->id,
			    (unsigned long long)(since(w, we->starving_since) / GP__MS));
	if (since(w, we->owed_since) > longest_debt(w, e))
		return fail(w, "minimum share: e%u got nothing for %llu ms", e->id,
			    (unsigned long long)(since(w, we->owed_since) / GP__MS));
	return true;
}

static bool check_entity(struct world *w, struct world_entity *we)
{
	const struct gp__entity *e = &we->e;
	bool blocked = e->gang && e->gang->blocked;
	u32 i, faults = 0;

	for (i = 0; i < WORLD_QUEUES; i++) {
		if (!we->queue[i].alive)
			continue;
		if (!check_queue(w, we, &we->queue[i]))
			return false;
		faults += we->queue[i].q.fault != GP__FAULT_NONE;
	}
	if (faults != e->nr_faults)
		return fail(w, "account: e%u counts %u faults of %u", e->id, e->nr_faults, faults);
	if (e->suspended && !e->held && !faults)
		return fail(w, "operator: e%u is suspended by hand and runs", e->id);
	if (e->held && faults)
		return fail(w, "out of plan: e%u cannot be controlled and is held", e->id);
	if (e->held && !e->suspended && !blocked && !gp__entity_active(e) &&
	    !somebody_preferred(w, e))
		return fail(w,
			    "idle: e%u has no work, nobody it could disturb runs, and it is held",
			    e->id);
	if (gp__entity_used(e, w->now) > w->now - w->started)
		return fail(w, "account: e%u got more time than has passed", e->id);
	if (e->lingering && w->now > e->linger_end)
		return fail(w, "linger: e%u keeps its place although it has been idle for long",
			    e->id);
	if (e->expected && w->now > e->expect_at + w->core.cfg[GP__CFG_ARRIVE_GRACE_MS] * GP__MS)
		return fail(w, "arriving: e%u keeps its place although its work never came", e->id);
	if (e->place == GP__PLACE_GRANTED && w->now > e->grant_end)
		return fail(w, "grant: e%u runs on a grant that is over", e->id);
	note_starving(w, we);
	return check_guarantees(w, we);
}

/* Those the policy decides about on one device. */
struct tally {
	u32 candidates, free_running, on;
	s32 top; /* most urgent that runs by choice */
	s32 low; /* least urgent that runs by choice */
	u64 earliest, running_deadline;
	u64 used;
};

static void count_entity(struct tally *t, const struct gp__entity *e)
{
	bool blocked = e->gang && e->gang->blocked;
	u64 deadline = e->deadline_at && !e->late ? e->deadline_at : GP__NEVER;

	t->on += gp__entity_active(e) && !e->held;
	if (!controllable(e) || blocked)
		return;
	t->candidates++;
	if (e->place == GP__PLACE_GRANTED)
		return;
	t->earliest = gp__min_u64(t->earliest, deadline);
	if (e->held)
		return;
	t->free_running++;
	t->top = e->prio > t->top ? e->prio : t->top;
	t->low = e->prio < t->low ? e->prio : t->low;
	t->running_deadline = gp__min_u64(t->running_deadline, deadline);
}

/* share with by_weight=1: everybody runs. */
static bool weighs(const struct world *w, const struct gp__dev *d)
{
	return w->core.policy == &gp__policy_share && d->can_weigh && w->core.params[2];
}

/* hpf with by_weight=1: one of those who are less urgent than somebody present runs beside. */
static bool has_patient(const struct world *w, const struct gp__dev *d)
{
	return w->core.policy == &gp__policy_hpf && d->can_weigh && w->core.params[1];
}

static s32 most_urgent(const struct world *w, const struct gp__dev *d)
{
	s32 top = -GP__PRIO_LIMIT;

	for (u32 i = 0; i < WORLD_ENTITIES; i++) {
		const struct gp__entity *e = &w->entity[i].e;

		if (w->entity[i].alive && e->dev == d && !e->suspended && e->prio > top)
			top = e->prio;
	}
	return top;
}

static bool check_patient(struct world *w, const struct gp__dev *d, s32 held_top)
{
	s32 top = most_urgent(w, d), announced = -GP__PRIO_LIMIT, patient = -GP__PRIO_LIMIT;
	u32 nr = 0;

	for (u32 i = 0; i < WORLD_ENTITIES; i++) {
		const struct gp__entity *e = &w->entity[i].e;

		if (!w->entity[i].alive || e->dev != d || !controllable(e) || e->held ||
		    e->place == GP__PLACE_GRANTED)
			continue;
		if (e->announced && e->prio > announced)
			announced = e->prio;
		if (e->prio < top) {
			patient = e->prio;
			nr++;
		}
	}
	if (nr > 1)
		return fail(w, "hpf: %u patient ones run together on gpu%u", nr, d->id);
	if (nr && patient < announced)
		return fail(w, "hpf: priority %d runs on gpu%u while work of %d is announced",
			    patient, d->id, announced);
	if (nr && held_top > patient)
		return fail(w, "hpf: priority %d is held on gpu%u while a patient %d runs",
			    held_top, d->id, patient);
	if (held_top == top && top != -GP__PRIO_LIMIT)
		return fail(w, "hpf: the most urgent, %d, is held on gpu%u", top, d->id);
	return true;
}

static bool check_choice(struct world *w, const struct gp__dev *d, const struct tally *t,
			 s32 held_top)
{
	const struct gp__policy *p = w->core.policy;

	if (p == &gp__policy_none && held_top != -GP__PRIO_LIMIT)
		return fail(w, "none: somebody on gpu%u is held", d->id);
	if (d->denied)
		return true; /* wants to stop somebody and may not yet */
	if (has_patient(w, d))
		return check_patient(w, d, held_top);
	if (p == &gp__policy_hpf && t->free_running && t->low != t->top)
		return fail(w, "hpf: priorities %d and %d run together on gpu%u", t->low, t->top,
			    d->id);
	if (p == &gp__policy_hpf && held_top != -GP__PRIO_LIMIT && held_top >= t->top)
		return fail(w, "hpf: priority %d is held on gpu%u while %d runs", held_top, d->id,
			    t->top);
	if (p->charge && !weighs(w, d) && t->free_running > w->core.params[1])
		return fail(w, "%s: %u run at once on gpu%u", p->name, t->free_running, d->id);
	if (p == &gp__policy_edf && t->free_running && t->running_deadline > t->earliest)
		return fail(w, "edf: not the earliest deadline runs on gpu%u", d->id);
	return true;
}

/* Under hpf nobody waits longer than it takes to catch up with those running. */
static bool check_ageing(struct world *w, const struct gp__dev *d, s32 top)
{
	u64 age_ns = w->core.params[0] * GP__MS;
	u32 i;

	if (w->core.policy != &gp__policy_hpf || d->denied || !age_ns)
		return true;
	for (i = 0; i < WORLD_ENTITIES; i++) {
		const struct world_entity *we = &w->entity[i];

		if (!we->alive || we->e.dev != d || we->gang || !we->starving || we->e.prio >= top)
			continue;
		if (since(w, we->starving_since) > (u64)(top - we->e.prio) * age_ns)
			return fail(w, "ageing: e%u, priority %d, waits for %llu ms while %d runs",
				    we->e.id, we->e.prio,
				    (unsigned long long)(since(w, we->starving_since) / GP__MS),
				    top);
	}
	return true;
}

static bool check_device(struct world *w, struct gp__dev *d)
{
	struct tally t = { .top = -GP__PRIO_LIMIT,
			   .low = GP__PRIO_LIMIT,
			   .earliest = GP__NEVER,
			   .running_deadline = GP__NEVER };
	s32 held_top = -GP__PRIO_LIMIT;
	u32 i, running = 0;

	for (i = 0; i < WORLD_ENTITIES; i++) {
		const struct gp__entity *e = &w->entity[i].e;

		if (!w->entity[i].alive || e->dev != d)
			continue;
		count_entity(&t, e);
		if (controllable(e) && e->held && !(e->gang && e->gang->blocked) &&
		    e->prio > held_top)
			held_top = e->prio;
		running += controllable(e) && !e->held;
	}
	if (t.candidates && !running)
		return fail(w, "somebody runs: gpu%u has %u with work and all are held", d->id,
			    t.candidates);
	if (t.on != d->nr_on)
		return fail(w, "account: gpu%u counts %u running of %u", d->id, d->nr_on, t.on);
	return check_choice(w, d, &t, held_top) && check_ageing(w, d, t.top);
}

/* The policy runs somebody on the device. */
static bool occupied(const struct world *w, const struct gp__dev *d)
{
	u32 i;

	for (i = 0; i < WORLD_ENTITIES; i++) {
		const struct gp__entity *e = &w->entity[i].e;

		if (w->entity[i].alive && e->dev == d && controllable(e) && !e->held &&
		    e->place != GP__PLACE_GRANTED)
			return true;
	}
	return false;
}

static bool check_gang(struct world *w, const struct gp__gang *g)
{
	u32 i, held = 0, free = 0, waiting = 0, kept = 0;

	for (i = 0; i < WORLD_ENTITIES; i++) {
		const struct world_entity *we = &w->entity[i];

		if (!we->alive || we->gang != g)
			continue;
		kept += we->e.suspended;
		if (we->e.nr_faults || we->e.suspended)
			continue;
		waiting += we->e.held && gp__entity_active(&we->e);
		kept += gp__entity_active(&we->e) && occupied(w, we->e.dev);
		held += we->e.held;
		free += !we->e.held && gp__entity_active(&we->e);
	}
	if (held && free)
		return fail(w, "gang: %u members are held and %u run", held, free);
	if (waiting && !kept)
		return fail(w, "gang: %u members are held although their devices are free",
			    waiting);
	return true;
}

static bool check(struct world *w)
{
	u32 i;

	for (i = 0; i < WORLD_ENTITIES; i++) {
		if (w->entity[i].alive && !check_entity(w, &w->entity[i]))
			return false;
	}
	for (i = 0; i < WORLD_DEVICES; i++) {
		if (!check_device(w, &w->dev[i]))
			return false;
	}
	for (i = 0; i < WORLD_GANGS; i++) {
		if (!check_gang(w, &w->gang[i]))
			return false;
	}
	return !w->broken[0];
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
		if (!check(w))
			return false;
		if (!bound--)
			return fail(w, "timers: the core asks to be woken for ever");
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
	return step_to(w, w->now + 1) && check(w);
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
			gp__queue_idle(&we->queue[j].q, w->now);
			take_orders(w);
		}
		if (we->alive && we->e.suspended) {
			gp__entity_suspend(&we->e, false, w->now);
			take_orders(w);
		}
	}
	if (!step_to(w, w->now + 100 * GP__S))
		return false;
	for (i = 0; i < WORLD_ENTITIES; i++) {
		for (j = 0; w->entity[i].alive && j < WORLD_QUEUES; j++) {
			if (w->entity[i].queue[j].alive && w->entity[i].queue[j].stopped)
				return fail(w, "quiet: q%u is stopped and nobody works",
					    w->entity[i].queue[j].q.id);
		}
	}
	if (gp__core_wake(&w->core) != GP__NEVER)
		return fail(w, "quiet: nobody works and the core still wants to be woken");
	return true;
}

void world_init(struct world *w, u64 seed)
{
	u32 i;

	memset(w, 0, sizeof(*w));
	w->rng = seed;
	w->next_id = 1;
	w->now = w->started = GP__S;
	gp__core_init(&w->core, gp__policies[draw(w, 6)]);
	for (i = 0; i < WORLD_DEVICES; i++) {
		gp__dev_add(&w->core, &w->dev[i], i, 1ull << 36,
			    i ? GP__WEIGHS_NOT : GP__WEIGHS_YIELDING, w->now);
		w->allowance[i] = (s64)w->core.cfg[GP__CFG_SWITCH_BURST] * ONE_STOP;
		w->allowance_at[i] = w->now;
	}
	for (i = 0; i < WORLD_GANGS; i++)
		gp__gang_add(&w->core, &w->gang[i], i + 1, w->now);
}
