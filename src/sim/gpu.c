// SPDX-License-Identifier: MIT
/*
 * A GPU that is shared equally by the commands executing on it. Its work clock advances by dt / n,
 * so a command that needs w of work and starts at clock c ends when the clock reads c + w, however
 * many others start and end meanwhile.
 *
 * A GPU that weighs is shared in proportion to the weights: n is their sum, and a command of weight
 * k ends at c + w / k. Commands with the least weight only progress while no other executes, and
 * those with the most let no other progress: each of these tiers has a clock of its own, and only
 * that of the highest tier with commands advances.
 */
#include "sim/sim.h"

/* Weights are relative to this one, which a program without a weight has. */
#define DEFAULT_WEIGHT 100

static struct sim_stream *stream_of(struct gp__node *n)
{
	return container_of(n, struct sim_stream, node);
}

static struct sim_tier *tier_of(const struct sim_stream *st)
{
	struct sim_tier *tiers = st->gpu->tiers;

	if (st->weight == GP__WEIGHT_LEAST)
		return &tiers[SIM_TIER_LEAST];
	return &tiers[st->weight == GP__WEIGHT_MOST ? SIM_TIER_MOST : SIM_TIER_PLAIN];
}

static u64 weight_of(const struct sim_stream *st)
{
	if (!st->gpu->spec->weighs || tier_of(st) != &st->gpu->tiers[SIM_TIER_PLAIN])
		return 1;
	return st->weight ? st->weight : DEFAULT_WEIGHT;
}

/* The tier whose commands progress. NULL: nothing executes. */
static struct sim_tier *active_tier(struct sim_gpu *g)
{
	int i = SIM_TIERS;

	while (i--) {
		if (g->tiers[i].executing.count)
			return &g->tiers[i];
	}
	return NULL;
}

static bool can_be_cold(const struct sim_gpu *g)
{
	return g->spec->cold.kind != GP__DIST_FIXED || g->spec->cold.a_ns;
}

static void mark_running(struct sim_gpu *g, struct sim_tier *t)
{
	struct gp__node *n;

	for (n = t->executing.first; n; n = gp__tree_next(n))
		stream_of(n)->entity->ran = g->ran;
}

/* Switches to the programs that did not run last, each at a cost. */
static void switch_to(struct sim *s, struct sim_gpu *g, struct sim_tier *t)
{
	u64 next = g->ran + 1;
	bool cold = false;
	struct gp__node *n;

	for (n = t->executing.first; n; n = gp__tree_next(n)) {
		struct sim_entity *se = stream_of(n)->entity;

		if (se->ran == g->ran || se->ran == next)
			continue;
		se->ran = next;
		g->frozen_until = gp__max_u64(g->frozen_until, s->now) +
				  gp__dist_sample(&g->spec->cold, &g->verb_rng);
		cold = true;
	}
	if (!cold)
		return;
	g->ran = next;
	mark_running(g, t);
}

static void advance(struct sim *s, struct sim_gpu *g)
{
	u64 thawed = gp__max_u64(g->at, gp__min_u64(g->frozen_until, s->now));
	struct sim_tier *t = active_tier(g);

	if (t) {
		t->work += ((s->now - thawed) << WORK_SHIFT) / t->weight;
		g->result->busy_ns += s->now - thawed;
		g->result->lost_ns += thawed - g->at;
		if (can_be_cold(g) && s->now > thawed) {
			g->ran++;
			mark_running(g, t);
		}
	} else if (g->nr_with_work) {
		g->result->idle_ready_ns += s->now - g->at;
		if (g->nr_held)
			g->result->wasted_ns += s->now - thawed;
	}
	g->at = s->now;
}

static void arm(struct sim *s, struct sim_gpu *g)
{
	struct sim_tier *t = active_tier(g);
	unsigned __int128 need;
	u64 wall;

	if (!t) {
		sim_timer_clear(s, &g->done);
		return;
	}
	if (can_be_cold(g))
		switch_to(s, g, t);
	need = (u64)t->executing.first->key > t->work ? (u64)t->executing.first->key - t->work : 0;
	need = need * t->weight;
	wall = (u64)((need + (1u << WORK_SHIFT) - 1) >> WORK_SHIFT);
	sim_timer_set(s, &g->done, gp__time_add(gp__max_u64(s->now, g->frozen_until), wall));
}

static void start(struct sim_stream *st)
{
	const struct sim_command *cmd = &st->ring[(st->pq.completed + 1) % st->ring_size];
	u64 weight = weight_of(st);
	struct sim_tier *t = tier_of(st);

	if (!st->begun)
		st->left = cmd->work;
	st->begun = st->executing = true;
	t->weight += weight;
	gp__tree_insert(&t->executing, &st->node,
			(s64)(t->work + (st->left + weight - 1) / weight));
}

/* Adds the work that its command has done to the account of its program. */
static void charge(struct sim_stream *st)
{
	u64 work = tier_of(st)->work;
	u64 left = (u64)st->node.key > work ? (u64)st->node.key - work : 0;

	left = gp__min_u64(left * weight_of(st), st->left);
	st->entity->program->result->gpu_ns += (st->left - left) >> WORK_SHIFT;
	if (!sim_is_request(st->entity->program->spec))
		st->gpu->result->other_ns += (st->left - left) >> WORK_SHIFT;
	st->left = left;
}

static void stop(struct sim_stream *st)
{
	struct sim_tier *t = tier_of(st);

	gp__tree_erase(&t->executing, &st->node);
	t->weight -= weight_of(st);
	charge(st);
	st->executing = false;
}

void sim_gpu_charge(struct sim *s, struct sim_gpu *g)
{
	struct gp__node *n;
	int i;

	advance(s, g);
	for (i = 0; i < SIM_TIERS; i++) {
		for (n = g->tiers[i].executing.first; n; n = gp__tree_next(n))
			charge(stream_of(n));
	}
}

void sim_gpu_update(struct sim *s, struct sim_stream *st)
{
	struct sim_gpu *g = st->gpu;
	bool may_begin = !st->deactivated && st->handed > st->pq.completed;

	if (st->executing || st->interrupted || !(st->begun || may_begin))
		return;
	advance(s, g);
	start(st);
	arm(s, g);
}

void sim_gpu_interrupt(struct sim *s, struct sim_stream *st)
{
	st->interrupted = true;
	if (!st->executing)
		return;
	advance(s, st->gpu);
	stop(st);
	arm(s, st->gpu);
}

void sim_gpu_set_work(struct sim *s, struct sim_stream *st, bool with_work)
{
	if (st->with_work == with_work)
		return;
	advance(s, st->gpu);
	st->with_work = with_work;
	if (with_work) {
		st->gpu->nr_with_work++;
		st->gpu->nr_held += st->held;
	} else {
		st->gpu->nr_with_work--;
		st->gpu->nr_held -= st->held;
	}
}

void sim_gpu_set_held(struct sim *s, struct sim_stream *st, bool held)
{
	struct sim_gpu *g = st->gpu;

	if (st->held == held)
		return;
	/* Nothing is wasted while a command executes. */
	if (!active_tier(g))
		advance(s, g);
	st->held = held;
	if (!st->with_work)
		return;
	if (held)
		g->nr_held++;
	else
		g->nr_held--;
}

void sim_gpu_lose(struct sim *s, struct sim_gpu *g)
{
	u64 cost = gp__dist_sample(&g->spec->switch_cost, &g->verb_rng);

	advance(s, g);
	g->frozen_until = gp__max_u64(g->frozen_until, s->now) + cost;
	arm(s, g);
}

void sim_gpu_weigh(struct sim *s, struct sim_stream *st, u32 weight)
{
	bool executing = st->executing;

	advance(s, st->gpu);
	if (executing)
		stop(st);
	st->weight = weight;
	if (!executing)
		return;
	start(st);
	arm(s, st->gpu);
}

static void command_ends(struct sim *s, struct sim_timer *timer)
{
	struct sim_gpu *g = container_of(timer, struct sim_gpu, done);
	struct sim_tier *t;

	advance(s, g);
	while ((t = active_tier(g)) && (u64)t->executing.first->key <= t->work) {
		struct sim_stream *st = stream_of(t->executing.first);

		stop(st);
		st->begun = false;
		sim_stream_command_done(s, st);
	}
	arm(s, g);
}

void sim_gpu_init(struct sim *s, struct sim_gpu *g, const struct gp__scenario_gpu *sg, u32 id)
{
	g->spec = sg->spec;
	g->result = &s->result->gpus[id];
	g->result->name = sg->name;
	gp__rng_init(&g->verb_rng, s->opt->seed, sg->name, GP__DRAW_VERB);
	gp__rng_init(&g->fail_rng, s->opt->seed, sg->name, GP__DRAW_FAIL);
	gp__dev_add(&s->core, &g->dev, id, sg->spec->vram_bytes,
		    sg->spec->weighs ? GP__WEIGHS_YIELDING : GP__WEIGHS_NOT, 0);
	sim_timer_init(&g->done, command_ends);
}
