// SPDX-License-Identifier: MIT
/*
 * A GPU that divides itself equally among the commands executing on it. Its work clock advances by
 * dt / n, so a command that needs w of work and starts at clock c ends when the clock reads c + w,
 * whoever comes and goes meanwhile.
 */
#include "sim/sim.h"

static struct sim_stream *stream_of(struct gp__node *n)
{
	return container_of(n, struct sim_stream, node);
}

static void advance(struct sim *s, struct sim_gpu *g)
{
	u64 thawed = gp__max_u64(g->at, gp__min_u64(g->frozen_until, s->now));
	u32 n = g->executing.count;

	if (n) {
		g->work += ((s->now - thawed) << WORK_SHIFT) / n;
		g->result->busy_ns += s->now - thawed;
		g->result->lost_ns += thawed - g->at;
	} else if (g->nr_with_work) {
		g->result->idle_ready_ns += s->now - g->at;
	}
	g->at = s->now;
}

static void arm(struct sim *s, struct sim_gpu *g)
{
	unsigned __int128 need;
	u64 wall;

	if (!g->executing.first) {
		sim_timer_clear(s, &g->done);
		return;
	}
	need = (u64)g->executing.first->key > g->work ? (u64)g->executing.first->key - g->work : 0;
	need = need * g->executing.count;
	wall = (u64)((need + (1u << WORK_SHIFT) - 1) >> WORK_SHIFT);
	sim_timer_set(s, &g->done, gp__time_add(gp__max_u64(s->now, g->frozen_until), wall));
}

static void start(struct sim_gpu *g, struct sim_stream *st)
{
	const struct sim_command *cmd = &st->ring[(st->pq.completed + 1) % st->ring_size];

	if (!st->begun)
		st->left = cmd->work;
	st->begun = st->executing = true;
	gp__tree_insert(&g->executing, &st->node, (s64)(g->work + st->left));
}

/* What its command has done so far is on its program's account. */
static void charge(struct sim_gpu *g, struct sim_stream *st)
{
	u64 left = (u64)st->node.key > g->work ? (u64)st->node.key - g->work : 0;

	st->entity->program->result->gpu_ns += (st->left - left) >> WORK_SHIFT;
	st->left = left;
}

static void stop(struct sim_gpu *g, struct sim_stream *st)
{
	gp__tree_erase(&g->executing, &st->node);
	charge(g, st);
	st->executing = false;
}

void sim_gpu_charge(struct sim *s, struct sim_gpu *g)
{
	struct gp__node *n;

	advance(s, g);
	for (n = g->executing.first; n; n = gp__tree_next(n))
		charge(g, stream_of(n));
}

void sim_gpu_update(struct sim *s, struct sim_stream *st)
{
	struct sim_gpu *g = st->gpu;
	bool may_begin = !st->deactivated && st->handed > st->pq.completed;

	if (st->executing || st->interrupted || !(st->begun || may_begin))
		return;
	advance(s, g);
	start(g, st);
	arm(s, g);
}

void sim_gpu_interrupt(struct sim *s, struct sim_stream *st)
{
	st->interrupted = true;
	if (!st->executing)
		return;
	advance(s, st->gpu);
	stop(st->gpu, st);
	arm(s, st->gpu);
}

void sim_gpu_set_work(struct sim *s, struct sim_stream *st, bool with_work)
{
	if (st->with_work == with_work)
		return;
	advance(s, st->gpu);
	st->with_work = with_work;
	if (with_work)
		st->gpu->nr_with_work++;
	else
		st->gpu->nr_with_work--;
}

void sim_gpu_lose(struct sim *s, struct sim_gpu *g)
{
	u64 cost = gp__dist_sample(&g->spec->switch_cost, &g->verb_rng);

	advance(s, g);
	g->frozen_until = gp__max_u64(g->frozen_until, s->now) + cost;
	arm(s, g);
}

static void command_ends(struct sim *s, struct sim_timer *t)
{
	struct sim_gpu *g = container_of(t, struct sim_gpu, done);

	advance(s, g);
	while (g->executing.first && (u64)g->executing.first->key <= g->work) {
		struct sim_stream *st = stream_of(g->executing.first);

		stop(g, st);
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
	gp__dev_add(&s->core, &g->dev, id, sg->spec->vram_bytes, GP__WEIGHS_NOT, 0);
	sim_timer_init(&g->done, command_ends);
}
