// SPDX-License-Identifier: MIT
#include "../unit/test.h"

#include "stage.h"

struct stage S;

static void note(void *ctx, const struct gp__record *r)
{
	struct stage *s = ctx;

	s->reports[r->what]++;
	if (gp__what_sign(r->what) == '!')
		s->last_report = *r;
}

static const u64 off[][2] = {
	{ GP__CFG_MIN_SHARE_PCT, 0 }, { GP__CFG_MAX_HOLD_MS, 0 }, { GP__CFG_SWITCHES_PER_S, 0 },
	{ GP__CFG_LINGER_US, 0 },     { GP__CFG_DEFER_MS, 0 },
};

static void begin_on(const struct gp__policy *p, enum gp__weighing can_weigh)
{
	u32 i;

	memset(&S, 0, sizeof(S));
	S.now = 1000 * GP__S;
	gp__core_init(&S.core, p);
	gp__core_log(&S.core, note, &S);
	for (i = 0; i < sizeof(off) / sizeof(off[0]); i++)
		config((u32)off[i][0], off[i][1]);
	gp__dev_add(&S.core, &S.dev[0], 0, (u64)1 << 36, can_weigh, S.now);
	gp__dev_add(&S.core, &S.dev[1], 1, (u64)1 << 36, GP__WEIGHS_NOT, S.now);
	for (i = 0; i < STAGE_USERS; i++)
		gp__owner_init(&S.user[i], &S.dev[0], i);
	gp__gang_add(&S.core, &S.gang[0], 1, S.now);
	gp__gang_add(&S.core, &S.gang[1], 2, S.now);
}

void begin(const struct gp__policy *p)
{
	begin_on(p, GP__WEIGHS_NOT);
}

void begin_weighing(const struct gp__policy *p)
{
	begin_on(p, GP__WEIGHS_YIELDING);
}

static void must(int rc)
{
	assert_int_equal(rc, 0);
}

void config(u32 param, u64 value)
{
	must(gp__core_configure(&S.core, param, value, S.now));
	take_orders();
}

void policy(const struct gp__policy *p, const u64 *values)
{
	must(gp__core_set_policy(&S.core, p, values, S.now));
	take_orders();
}

static void add_queue(struct actor *a, struct hand *h)
{
	gp__queue_add(&a->e, &h->q, ++S.nr_queues, 3, 3, S.now);
	take_orders();
}

struct actor *stage_actor(u32 dev, struct gp__owner *user, const struct gp__hints *h)
{
	struct actor *a = &S.actor[S.nr_actors++];

	assert_true(S.nr_actors <= STAGE_ACTORS);
	if (!user)
		gp__owner_init(user = &a->alone, &S.dev[dev], 1000 + S.nr_actors);
	must(gp__entity_add(user, &a->e, S.nr_actors, 1, GP__CLASS_OTHER, "", h, S.now));
	add_queue(a, &a->hand[0]);
	return a;
}

void stage_hint(struct actor *a, const struct gp__hints *h)
{
	must(gp__entity_hint(&a->e, h, S.now));
	take_orders();
}

void second_queue(struct actor *a)
{
	add_queue(a, &a->hand[1]);
}

void leave(struct actor *a)
{
	gp__entity_remove(&a->e, S.now);
	/* Poison, so that a stale pointer shows. */
	memset(&a->e, 0x5a, sizeof(a->e));
	memset(a->hand, 0x5a, sizeof(a->hand));
	a->hand[0].ordered = a->hand[1].ordered = false;
	take_orders();
}

void tie(struct gp__gang *g, struct actor *a, struct actor *b)
{
	must(gp__gang_join(g, &a->e, S.now));
	must(gp__gang_join(g, &b->e, S.now));
	take_orders();
}

void work(struct actor *a)
{
	gp__queue_ready(&a->hand[0].q, 1, S.now);
	take_orders();
}

void rest(struct actor *a)
{
	gp__queue_idle(&a->hand[0].q, S.now, 0, S.now);
	take_orders();
}

void suspend(struct actor *a)
{
	gp__entity_suspend(&a->e, true, S.now);
	take_orders();
}

void resume(struct actor *a)
{
	gp__entity_suspend(&a->e, false, S.now);
	take_orders();
}

void arriving(struct actor *a, u64 at)
{
	gp__entity_arriving(&a->e, at, S.now);
	take_orders();
}

/*
 * Agents
 */

static struct actor *actor_with(struct gp__queue *q)
{
	return container_of(q->entity, struct actor, e);
}

static void reply(struct hand *h, int result)
{
	h->ordered = false;
	if (!result && h->order != GP__VERB_WEIGH)
		h->stopped = h->order == GP__VERB_HOLD;
	must(gp__queue_ack(&h->q, result, S.now));
}

static void reply_in_manner(struct hand *h)
{
	static const u8 fails[] = {
		[FAILS_TO_STOP] = GP__VERB_HOLD, [FAILS_TO_START] = GP__VERB_RELEASE, [SILENT] = 0
	};

	reply(h, fails[actor_with(&h->q)->manner] == h->order ? -EBUSY : 0);
}

static void take_order(const struct gp__action *a)
{
	struct hand *h = container_of(a->queue, struct hand, q);
	struct actor *who = actor_with(a->queue);

	/* At most one action in flight per queue. */
	assert_false(h->ordered);
	h->ordered = true;
	h->order = a->verb;
	h->answer_at = who->manner == SILENT ? GP__NEVER : S.now + S.answer_ns;
	who->last = *a;
	who->nr_stops += a->verb == GP__VERB_HOLD;
	who->nr_starts += a->verb == GP__VERB_RELEASE;
	who->nr_weighs += a->verb == GP__VERB_WEIGH;
	S.nr_orders++;
}

static struct hand *next_answer(void)
{
	struct hand *next = NULL;
	u32 i;

	for (i = 0; i < S.nr_actors * STAGE_QUEUES; i++) {
		struct hand *h = &S.actor[i / STAGE_QUEUES].hand[i % STAGE_QUEUES];

		if (h->ordered && (!next || h->answer_at < next->answer_at))
			next = h;
	}
	return next && next->answer_at != GP__NEVER ? next : NULL;
}

void take_orders(void)
{
	struct gp__action a;
	struct hand *h;
	u32 bound = 1000;

	do {
		/* Nor hold and release an entity alternately for ever. */
		assert_int_not_equal(bound--, 0);
		while (gp__core_pop(&S.core, &a))
			take_order(&a);
		h = next_answer();
		if (h && h->answer_at <= S.now)
			reply_in_manner(h);
	} while (h && h->answer_at <= S.now);
}

void answer(struct actor *a, int result)
{
	a->manner = OBEYS;
	reply(&a->hand[0], result);
	take_orders();
}

void after(u64 ns)
{
	u64 end = S.now + ns;
	u32 bound = 1000000;

	for (;;) {
		struct hand *h = next_answer();
		u64 at = gp__min_u64(h ? h->answer_at : GP__NEVER, gp__core_wake(&S.core));

		if (at > end)
			break;
		/* The core must not ask to be woken for ever. */
		assert_int_not_equal(bound--, 0);
		S.now = gp__max_u64(S.now, at);
		gp__core_tick(&S.core, S.now);
		take_orders();
	}
	S.now = end;
}

bool stopped(const struct actor *a)
{
	return a->hand[0].stopped;
}

bool runs(const struct actor *a)
{
	return !stopped(a);
}

u64 permille(const struct actor *a, u64 before, u64 since)
{
	return (gp__entity_used(&a->e, S.now) - before) * 1000 / (S.now - since);
}
