// SPDX-License-Identifier: MIT
/* The rules that must always hold, checked against what the agents of the world recorded. */
#include "world.h"

static bool controllable(const struct gp__entity *e)
{
	return gp__entity_active(e) && !e->suspended && !e->nr_faults && !e->dev->off;
}

/* Some events are told late: time may seem to have gone back. */
static u64 since(const struct world *w, u64 then)
{
	return w->now > then ? w->now - then : 0;
}

static u32 wanted_weight(const struct world *w, const struct world_entity *we)
{
	const struct gp__policy *p = w->core.policy;

	return we->e.dev->can_weigh && !we->e.dev->off && p->weight ? p->weight(&we->e) : 0;
}

static bool check_queue(struct world *w, const struct world_entity *we,
			const struct world_queue *wq)
{
	const struct gp__queue *q = &wq->q;
	u64 timeout = w->core.cfg[GP__CFG_ACK_TIMEOUT_MS] * GP__MS;

	if (wq->ordered != (q->doing != GP__VERB_NONE))
		return world_fail(w, "one in flight: q%u and its agent disagree", q->id);
	if (wq->ordered && w->now >= wq->ordered_at + timeout &&
	    gp__queue_state(q) != GP__STATE_UNRESPONSIVE)
		return world_fail(
			w, "unresponsive: q%u has not answered in time and is still waited for",
			q->id);
	if (!wq->ordered && !wq->stopped && !q->weigh_refused && !q->fails &&
	    q->weight != wanted_weight(w, we))
		return world_fail(w, "weight: q%u has %u and should have %u", q->id, q->weight,
				  wanted_weight(w, we));
	if (!wq->ordered && q->fault == GP__FAULT_UNRESPONSIVE)
		return world_fail(w, "unresponsive: q%u answered and is still called so", q->id);
	if (!wq->ordered && !q->fails && wq->stopped != we->e.held)
		return world_fail(w, "stuck: q%u is %s, e%u is %s, and nothing is under way", q->id,
				  wq->stopped ? "stopped" : "running", we->e.id,
				  we->e.held ? "held" : "not held");
	/* Pauses between attempts grow to a second. */
	if (!wq->ordered && wq->stopped && !we->e.held && since(w, wq->answered_at) > GP__S)
		return world_fail(w, "stuck: q%u failed to start and is not tried again", q->id);
	return true;
}

/* Another entity with work runs on the device; under hpf a more urgent one. */
static bool another_preferred(const struct world *w, const struct gp__entity *e)
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

/* Suspended by hand, itself or another member of its gang, or its gang waits for members. */
static bool by_operator(const struct world *w, const struct world_entity *we)
{
	u32 i;

	if (we->gang && we->gang->waits)
		return true;
	for (i = 0; we->gang && i < WORLD_ENTITIES; i++) {
		if (w->entity[i].alive && w->entity[i].gang == we->gang && w->entity[i].e.suspended)
			return true;
	}
	return we->e.suspended;
}

/* Since when it waits for a guarantee that all entities have: one grant is for its whole user. */
static u64 waits_since(const struct world_entity *we)
{
	return gp__max_u64(we->starving_since, we->e.owner->granted_at);
}

/* Held for longer than is promised, by itself or to all. */
static bool is_held_too_long(const struct world *w, const struct world_entity *we)
{
	u64 most = w->core.cfg[GP__CFG_MAX_HOLD_MS] * GP__MS, own = we->e.hints.max_hold_ns;

	if (own && (!most || own < most))
		return since(w, we->starving_since) > own;
	return (own || most) && since(w, waits_since(we)) > (own ? own : most);
}

static void note_starving(struct world *w, struct world_entity *we)
{
	bool starving = we->e.held && gp__entity_active(&we->e) && !by_operator(w, we);

	if (starving && !we->starving)
		we->starving_since = we->owed_since = w->now;
	we->starving = starving;
}

static void note_unpaid(struct world *w, struct world_entity *we)
{
	bool yields = gp__entity_gives_way(&we->e) && controllable(&we->e) && !by_operator(w, we) &&
		      we->e.place != GP__PLACE_GRANTED;
	bool unpaid = we->starving || yields;

	if (unpaid && !we->unpaid)
		we->unpaid_since = w->now;
	we->unpaid = unpaid;
}

/* The least share of a device on which all users have work, and all entities of this one do. The
 * claims of a user get a fourth of the device's fourth at the least. */
static u64 least_share(const struct world *w, const struct gp__entity *e)
{
	u64 def = w->core.cfg[GP__CFG_MIN_SHARE_PCT] * 10000, own = e->hints.min_share_pct * 10000;

	if (own > def)
		return own * 62500 / (WORLD_ENTITIES * WORLD_CLAIM_MAX * 10000);
	def = gp__min_u64(def, 500000 / WORLD_USERS) / WORLD_ENTITIES;
	return own ? gp__min_u64(own, def) : def;
}

/*
 * It may be a whole grant ahead when it is stopped, and is granted its share when it is a whole
 * grant behind and has waited for the end of a burst.
 */
static u64 longest_debt(const struct world *w, const struct gp__entity *e)
{
	u64 ppm = least_share(w, e);

	return ppm ? 2 * w->core.cfg[GP__CFG_GRANT_MS] * GP__MS * 1000000 / ppm +
			       w->core.cfg[GP__CFG_DEFER_MS] * GP__MS + GP__US
		   : GP__NEVER;
}

static bool is_owed(const struct world *w, const struct world_entity *we)
{
	return is_held_too_long(w, we) || since(w, we->owed_since) > longest_debt(w, &we->e);
}

/* A gang gets a grant when one is due to each of its members with work. */
static bool is_gang_owed(const struct world *w, const struct gp__gang *g)
{
	u32 i;

	for (i = 0; i < WORLD_ENTITIES; i++) {
		const struct world_entity *we = &w->entity[i];

		if (we->alive && we->gang == g && we->starving && !is_owed(w, we))
			return false;
	}
	return true;
}

static bool check_guarantees(struct world *w, const struct world_entity *we)
{
	const struct gp__entity *e = &we->e;

	/* The account of one that yields is looked at once in the time that a debt takes. */
	if (we->unpaid && since(w, we->unpaid_since) / 2 > longest_debt(w, e))
		return world_fail(w, "minimum share: e%u only yielded for %llu ms", e->id,
				  (unsigned long long)(since(w, we->unpaid_since) / GP__MS));
	if (!we->starving || (we->gang && !is_gang_owed(w, we->gang)))
		return true;
	if (is_held_too_long(w, we))
		return world_fail(w, "longest hold: e%u is held for %llu ms", e->id,
				  (unsigned long long)(since(w, we->starving_since) / GP__MS));
	if (since(w, we->owed_since) > longest_debt(w, e))
		return world_fail(w, "minimum share: e%u got nothing for %llu ms", e->id,
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
		return world_fail(w, "account: e%u counts %u faults of %u", e->id, e->nr_faults,
				  faults);
	if (e->held && e->dev->off)
		return world_fail(w, "off: e%u is held on a device that is off", e->id);
	if (e->suspended && !e->held && !faults && !e->dev->off)
		return world_fail(w, "operator: e%u is suspended by hand and runs", e->id);
	if (e->held && faults)
		return world_fail(w, "out of plan: e%u cannot be controlled and is held", e->id);
	if (e->held && !e->suspended && !blocked && !gp__entity_active(e) &&
	    !another_preferred(w, e))
		return world_fail(
			w, "idle: e%u has no work, nobody it could disturb runs, and it is held",
			e->id);
	if (gp__entity_used(e, w->now) > w->now - w->started)
		return world_fail(w, "account: e%u got more time than has passed", e->id);
	if (e->lingering && w->now > e->linger_end)
		return world_fail(
			w, "linger: e%u keeps its place although it has been idle for long", e->id);
	if (e->expected && w->now > e->expect_at + w->core.cfg[GP__CFG_ARRIVE_GRACE_MS] * GP__MS)
		return world_fail(w, "arriving: e%u keeps its place although its work never came",
				  e->id);
	if (e->place == GP__PLACE_GRANTED && w->now > e->grant_end)
		return world_fail(w, "grant: e%u runs on a grant that is over", e->id);
	note_starving(w, we);
	note_unpaid(w, we);
	return check_guarantees(w, we);
}

/* The entities of one device that the policy decides about. */
struct tally {
	u32 candidates, free_running, on, yielding;
	s32 top; /* most urgent that runs by choice */
	s32 low; /* least urgent that runs by choice */
	u64 earliest, running_deadline;
	u64 used;
};

/* edf orders by the deadline, and behind all of them those that have none or missed it. */
static u64 deadline_of(const struct gp__entity *e)
{
	s64 key =
		e->dev->core->policy == &gp__policy_edf ? gp__policy_edf.key(e) : (s64)GP__TIME_END;

	return key < (s64)GP__TIME_END ? (u64)key : GP__NEVER;
}

/* It works, and all of its queues with work have the least weight. */
static bool yields(const struct gp__entity *e)
{
	const struct gp__link *l;

	for (l = e->queues.next; l != &e->queues; l = l->next) {
		const struct gp__queue *q = container_of(l, struct gp__queue, link);

		if (q->ready && q->weight != GP__WEIGHT_LEAST)
			return false;
	}
	return e->nr_ready && !e->held;
}

static void count_entity(struct tally *t, const struct gp__entity *e)
{
	bool blocked = e->gang && e->gang->blocked;
	u64 deadline = deadline_of(e);

	t->on += gp__entity_active(e) && !e->held;
	t->yielding += yields(e);
	t->used += gp__entity_used(e, e->dev->core->now);
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

/* share with by_weight=1: all entities run. */
static bool weighs(const struct world *w, const struct gp__dev *d)
{
	return w->core.policy == &gp__policy_share && d->can_weigh && w->core.params[3];
}

/* hpf with by_weight=1: one patient entity runs beside the urgent ones. */
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
		return world_fail(w, "hpf: %u patient ones run together on gpu%u", nr, d->id);
	if (nr && patient < announced)
		return world_fail(w, "hpf: priority %d runs on gpu%u while work of %d is announced",
				  patient, d->id, announced);
	if (nr && held_top > patient)
		return world_fail(w, "hpf: priority %d is held on gpu%u while a patient %d runs",
				  held_top, d->id, patient);
	if (held_top == top && top != -GP__PRIO_LIMIT)
		return world_fail(w, "hpf: the most urgent, %d, is held on gpu%u", top, d->id);
	return true;
}

static bool check_choice(struct world *w, const struct gp__dev *d, const struct tally *t,
			 s32 held_top)
{
	const struct gp__policy *p = w->core.policy;

	if (p == &gp__policy_none && held_top != -GP__PRIO_LIMIT)
		return world_fail(w, "none: somebody on gpu%u is held", d->id);
	if (d->denied)
		return true; /* the rate limit delays a hold */
	if (has_patient(w, d))
		return check_patient(w, d, held_top);
	if (p == &gp__policy_hpf && t->free_running && t->low != t->top)
		return world_fail(w, "hpf: priorities %d and %d run together on gpu%u", t->low,
				  t->top, d->id);
	if (p == &gp__policy_hpf && held_top != -GP__PRIO_LIMIT && held_top >= t->top)
		return world_fail(w, "hpf: priority %d is held on gpu%u while %d runs", held_top,
				  d->id, t->top);
	if (p->charge && !weighs(w, d) && t->free_running > w->core.params[1])
		return world_fail(w, "%s: %u run at once on gpu%u", p->name, t->free_running,
				  d->id);
	if (p == &gp__policy_edf && t->free_running && t->running_deadline > t->earliest)
		return world_fail(w, "edf: not the earliest deadline runs on gpu%u", d->id);
	return true;
}

/* Under hpf no entity waits longer than its ageing takes to reach the running ones. */
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
		if (since(w, waits_since(we)) > (u64)(top - we->e.prio) * age_ns)
			return world_fail(
				w, "ageing: e%u, priority %d, waits for %llu ms while %d runs",
				we->e.id, we->e.prio,
				(unsigned long long)(since(w, we->starving_since) / GP__MS), top);
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
		return world_fail(w, "somebody runs: gpu%u has %u with work and all are held",
				  d->id, t.candidates);
	if (t.on != d->nr_on)
		return world_fail(w, "account: gpu%u counts %u running of %u", d->id, d->nr_on,
				  t.on);
	if (t.yielding != d->nr_yielding)
		return world_fail(w, "account: gpu%u counts %u that yield of %u", d->id,
				  d->nr_yielding, t.yielding);
	if (t.used > w->core.now - w->started)
		return world_fail(w, "account: the entities of gpu%u got more time than has passed",
				  d->id);
	return check_choice(w, d, &t, held_top) && check_ageing(w, d, t.top);
}

/* Compares the sums of each user with its entities. */
static bool check_owner(struct world *w, u32 dev, u32 user)
{
	const struct gp__owner *o = &w->owner[dev][user];
	u32 i, entities = 0, awake = 0, claimed = 0, share = 0, granted = 0, expected = 0;

	for (i = 0; i < WORLD_ENTITIES; i++) {
		const struct gp__entity *e = &w->entity[i].e;

		if (!w->entity[i].alive || e->owner != o)
			continue;
		entities++;
		awake += gp__entity_active(e);
		share += e->hints.share_pct;
		expected += e->expected;
		granted += e->place == GP__PLACE_GRANTED;
		if (gp__entity_active(e) &&
		    e->hints.min_share_pct > w->core.cfg[GP__CFG_MIN_SHARE_PCT])
			claimed += e->hints.min_share_pct;
	}
	if (o->nr_entities != entities || o->nr_awake != awake || o->claimed != claimed ||
	    o->share_sum != share || o->nr_expected != expected)
		return world_fail(w, "account: gpu%u's user %u has other sums", dev, user);
	if (o->granted_at != w->granted_at[dev][user] && !granted)
		return world_fail(w, "grant: gpu%u's user %u had none, and it counts", dev, user);
	w->granted_at[dev][user] = o->granted_at;
	return true;
}

static bool check_owners(struct world *w, u32 dev)
{
	const struct gp__dev *d = &w->dev[dev];
	u32 j, awake = 0, claimed = 0, claiming = 0;

	for (j = 0; j < WORLD_USERS; j++) {
		const struct gp__owner *o = &w->owner[dev][j];

		if (!check_owner(w, dev, j))
			return false;
		awake += o->nr_awake != 0;
		claimed += o->claimed;
		claiming += o->claimed != 0;
	}
	if (d->nr_awake_owners != awake || d->claimed != claimed || d->nr_claiming != claiming)
		return world_fail(w, "account: gpu%u has other sums of its users", dev);
	return true;
}

/* The policy runs an entity on the device. */
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
		if (we->e.nr_faults || we->e.suspended || we->e.dev->off)
			continue;
		waiting += we->e.held && gp__entity_active(&we->e);
		kept += g->waits;
		kept += gp__entity_active(&we->e) && occupied(w, we->e.dev);
		held += we->e.held;
		free += !we->e.held && gp__entity_active(&we->e);
	}
	if (held && free)
		return world_fail(w, "gang: %u members are held and %u run", held, free);
	if (waiting && !kept)
		return world_fail(w, "gang: %u members are held although their devices are free",
				  waiting);
	return true;
}

bool world_check(struct world *w)
{
	u32 i;

	for (i = 0; i < WORLD_ENTITIES; i++) {
		if (w->entity[i].alive && !check_entity(w, &w->entity[i]))
			return false;
	}
	for (i = 0; i < WORLD_DEVICES; i++) {
		if (!check_device(w, &w->dev[i]) || !check_owners(w, i))
			return false;
	}
	for (i = 0; i < WORLD_GANGS; i++) {
		if (!check_gang(w, &w->gang[i]))
			return false;
	}
	return !w->broken[0];
}
