// SPDX-License-Identifier: MIT
#include "sim/sim.h"

#include <stdlib.h>

/* Between two calls of progress(). */
#define PROGRESS_EVENTS 65536

void sim_timer_init(struct sim_timer *t, void (*fire)(struct sim *s, struct sim_timer *t))
{
	t->fire = fire;
}

void sim_timer_clear(struct sim *s, struct sim_timer *t)
{
	if (gp__node_linked(&t->node))
		gp__tree_erase(&s->timers, &t->node);
}

void sim_timer_set(struct sim *s, struct sim_timer *t, u64 at)
{
	sim_timer_clear(s, t);
	gp__tree_insert(&s->timers, &t->node, (s64)at);
}

static void core_wakes(struct sim *s, struct sim_timer *t)
{
	(void)t;
	gp__core_tick(&s->core, s->now);
}

static u64 held_ns(const struct gp__entity *e, u64 now)
{
	return e->held_total + gp__entity_hold_ns(e, now);
}

/* The number of holds of an entity: the most of any of its streams, which are held as one. */
static u64 stops(const struct sim_entity *se)
{
	const struct gp__link *l;
	u64 most = 0;

	for (l = se->e.queues.next; l != &se->e.queues; l = l->next)
		most = gp__max_u64(most, container_of(l, struct gp__queue, link)->nr_holds);
	return most;
}

/* Ends the warm-up, which the statistics leave out. */
static void end_warmup(struct sim *s, struct sim_timer *t)
{
	size_t i;
	u32 j;

	(void)t;
	for (i = 0; i < s->sc->n_gpus; i++) {
		struct sim_gpu *g = &s->gpus[i];

		sim_gpu_charge(s, g);
		g->result->busy_ns = g->result->lost_ns = g->result->idle_ready_ns = 0;
		g->result->wasted_ns = g->result->other_ns = 0;
	}
	for (i = 0; i < s->n_programs; i++) {
		struct sim_program *p = &s->programs[i];

		p->result->gpu_ns = 0;
		for (j = 0; j < p->sp->n_gpus; j++) {
			struct sim_entity *se = &p->entities[j];

			se->held_before = held_ns(&se->e, s->now);
			se->stops_before = stops(se);
			se->e.longest_hold = 0;
		}
	}
}

/* The owner of an earlier program of the same user on that GPU, or a new one. */
static struct gp__owner *owner_of(struct sim *s, struct sim_program *p, u32 i)
{
	struct gp__owner *own = &p->entities[i].own;

	for (const struct sim_program *q = s->programs; q < p; q++) {
		for (u32 j = 0; q->sp->user == p->sp->user && j < q->sp->n_gpus; j++) {
			if (q->sp->gpus[j] == p->sp->gpus[i])
				return q->entities[j].e.owner;
		}
	}
	gp__owner_init(own, &s->gpus[p->sp->gpus[i]].dev, p->sp->user + 1);
	return own;
}

static void add_entity(struct sim *s, struct sim_program *p, u32 i)
{
	const struct gp__program_spec *spec = p->spec;
	struct gp__hints h = {
		.prio = spec->priority,
		.weight = spec->weight,
		.share_pct = spec->share_pct,
		.min_share_pct = spec->min_share_pct,
		.deadline_ns = spec->deadline_ns,
		.max_hold_ns = spec->max_hold_ns,
		.memory = spec->memory_bytes,
	};
	struct sim_entity *se = &p->entities[i];
	u32 j;

	se->program = p;
	s->owner[++s->next_entity] = p;
	gp__entity_add(owner_of(s, p, i), &se->e, s->next_entity, p->sp->process + 1,
		       gp__class_of(spec->priority), spec->tag[0] ? spec->tag : p->sp->name, &h, 0);
	if (spec->gang)
		gp__gang_join(&p->gang, &se->e, 0);
	for (j = 0; j < spec->streams; j++) {
		struct sim_stream *st = &p->streams[i * spec->streams + j];

		st->gpu = &s->gpus[p->sp->gpus[i]];
		st->entity = se;
		sim_stream_init(s, st);
	}
}

static int add_program(struct sim *s, struct sim_program *p, const struct gp__scenario_program *sp)
{
	u32 i;

	p->sp = sp;
	p->spec = sp->spec;
	p->result = &s->result->programs[sp->spec - s->sc->program_specs];
	p->result->spec = sp->spec;
	p->result->instances++;
	p->n_streams = sp->n_gpus * sp->spec->streams;
	p->entities = calloc(sp->n_gpus, sizeof(*p->entities));
	p->streams = calloc(p->n_streams, sizeof(*p->streams));
	if (!p->entities || !p->streams)
		return -ENOMEM;
	if (sp->spec->gang)
		gp__gang_add(&s->core, &p->gang, (u32)(p - s->programs) + 1, 0);
	for (i = 0; i < sp->n_gpus; i++)
		add_entity(s, p, i);
	return 0;
}

/* Counts the core's reports, and passes all records on to the log. */
static void observe(void *ctx, const struct gp__record *r)
{
	struct sim *s = ctx;
	struct gp__sim_program_result *of = NULL;

	if (gp__what_sign(r->what) == '!')
		of = s->owner[r->entity]->result;
	if (r->what == GP__WHAT_FAILED)
		of->failed++;
	else if (r->what == GP__WHAT_UNRESPONSIVE)
		of->unresponsive++;
	else if (r->what == GP__WHAT_INVERSION)
		of->inversions++;
	if (s->opt->log)
		s->opt->log(s->opt->log_ctx, r);
}

static int configure(struct sim *s)
{
	const struct gp__sim_options *opt = s->opt;
	u32 i;

	gp__core_init(&s->core, opt->policy);
	for (i = 0; opt->cfg && i < GP__CFG_COUNT; i++)
		s->core.cfg[i] = opt->cfg[i];
	if (opt->params && gp__core_set_policy(&s->core, opt->policy, opt->params, 0))
		return -EINVAL;
	gp__core_log(&s->core, observe, s);
	return 0;
}

static size_t count_entities(const struct gp__scenario *sc)
{
	size_t n = 0;

	for (size_t i = 0; i < sc->n_programs; i++)
		n += sc->programs[i].n_gpus;
	return n;
}

static int build(struct sim *s)
{
	const struct gp__scenario *sc = s->sc;
	size_t i;
	int err;

	s->owner = calloc(count_entities(sc) + 1, sizeof(*s->owner));
	if (!s->owner)
		return -ENOMEM;
	err = configure(s);
	if (err)
		return err;
	s->gpus = calloc(sc->n_gpus, sizeof(*s->gpus));
	s->programs = calloc(sc->n_programs, sizeof(*s->programs));
	if (!s->gpus || !s->programs)
		return -ENOMEM;
	sim_timer_init(&s->core_timer, core_wakes);
	sim_timer_init(&s->warmup_timer, end_warmup);
	if (s->warmup)
		sim_timer_set(s, &s->warmup_timer, s->warmup);
	for (i = 0; i < sc->n_gpus; i++)
		sim_gpu_init(s, &s->gpus[i], &sc->gpus[i], (u32)i);
	for (i = 0; i < sc->n_programs && !err; i++) {
		const struct gp__scenario_program *sp = &sc->programs[i];

		if (s->opt->only >= 0 &&
		    (s->n_programs || sp->spec != &sc->program_specs[s->opt->only]))
			continue;
		err = add_program(s, &s->programs[s->n_programs++], sp);
	}
	for (i = 0; i < s->n_programs && !err; i++)
		sim_program_start(s, &s->programs[i]);
	return err;
}

static void arm_core(struct sim *s)
{
	u64 wake = gp__core_wake(&s->core);

	if (wake == GP__NEVER)
		sim_timer_clear(s, &s->core_timer);
	else if (!gp__node_linked(&s->core_timer.node) || (u64)s->core_timer.node.key != wake)
		sim_timer_set(s, &s->core_timer, wake);
}

static void run(struct sim *s)
{
	u64 n = 0;

	while (s->timers.first && (u64)s->timers.first->key < s->end && !s->failed) {
		struct sim_timer *t = container_of(s->timers.first, struct sim_timer, node);

		s->now = gp__max_u64(s->now, (u64)t->node.key);
		sim_timer_clear(s, t);
		t->fire(s, t);
		sim_take_orders(s);
		arm_core(s);
		if (++n % PROGRESS_EVENTS == 0 && s->opt->progress)
			s->opt->progress(s->opt->progress_ctx, s->now);
	}
	s->now = s->end;
}

static void sum_up_program(struct sim *s, struct sim_program *p)
{
	struct gp__sim_program_result *r = p->result;
	const struct sim_job *job;
	u32 i;

	for (i = 0; i < p->sp->n_gpus; i++) {
		const struct sim_entity *se = &p->entities[i];
		u64 now_held = gp__min_u64(gp__entity_hold_ns(&se->e, s->end), s->end - s->warmup);

		r->preemptions += stops(se) - se->stops_before;
		s->gpus[p->sp->gpus[i]].result->holds += stops(se) - se->stops_before;
		r->held_ns += held_ns(&se->e, s->end) - se->held_before;
		r->longest_hold_ns =
			gp__max_u64(r->longest_hold_ns, gp__max_u64(se->e.longest_hold, now_held));
	}
	for (i = 0; i < p->n_streams; i++) {
		const struct sim_stream *st = &p->streams[i];

		if (!r->level || (u32)st->pq.effective < r->level)
			r->level = (u32)st->pq.effective;
	}
	if (r->requests && p->first)
		r->requests->in_progress_ns += s->end - gp__max_u64(p->busy_since, s->warmup);
	for (job = p->first; job; job = job->next)
		r->unfinished += job->left && job->arrived >= s->warmup;
}

static void sum_up(struct sim *s)
{
	size_t i;

	for (i = 0; i < s->sc->n_gpus; i++)
		sim_gpu_charge(s, &s->gpus[i]);
	for (i = 0; i < s->n_programs; i++)
		sum_up_program(s, &s->programs[i]);
	s->result->events = s->core.nr_events;
	s->result->actions = s->core.nr_actions;
	s->result->measured_ns = s->end - s->warmup;
}

static void destroy_program(struct sim_program *p)
{
	u32 i;

	while (p->first) {
		struct sim_job *job = p->first;

		p->first = job->next;
		free(job);
	}
	for (i = 0; p->streams && i < p->n_streams; i++)
		free(p->streams[i].ring);
	free(p->streams);
	free(p->entities);
}

static void destroy(struct sim *s)
{
	size_t i;

	for (i = 0; s->programs && i < s->n_programs; i++)
		destroy_program(&s->programs[i]);
	free(s->owner);
	free(s->programs);
	free(s->gpus);
	free(s);
}

static bool add_requests(const struct gp__scenario *sc, struct gp__sim_result *r)
{
	for (size_t i = 0; i < r->n_programs; i++) {
		if (!sim_is_request(&sc->program_specs[i]))
			continue;
		r->programs[i].requests = calloc(1, sizeof(*r->programs[i].requests));
		if (!r->programs[i].requests)
			return false;
	}
	return true;
}

static struct gp__sim_result *new_result(const struct gp__scenario *sc)
{
	struct gp__sim_result *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->programs = calloc(sc->n_program_specs, sizeof(*r->programs));
	r->gpus = calloc(sc->n_gpus, sizeof(*r->gpus));
	r->n_programs = sc->n_program_specs;
	r->n_gpus = sc->n_gpus;
	if (r->programs && r->gpus && add_requests(sc, r))
		return r;
	gp__sim_result_free(r);
	return NULL;
}

void gp__sim_result_free(struct gp__sim_result *r)
{
	if (!r)
		return;
	for (size_t i = 0; r->programs && i < r->n_programs; i++)
		free(r->programs[i].requests);
	free(r->programs);
	free(r->gpus);
	free(r);
}

int gp__sim_run(const struct gp__scenario *sc, const struct gp__sim_options *opt,
		struct gp__sim_result **out, const struct gp__program_spec **overloaded)
{
	struct sim *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		return -ENOMEM;
	s->sc = sc;
	s->opt = opt;
	s->warmup = sc->warmup_ns;
	s->end = sc->duration_ns;
	s->result = new_result(sc);
	if (!s->result)
		goto out;
	s->result->policy = opt->policy;
	err = build(s);
	if (err)
		goto out;
	run(s);
	sum_up(s);
	err = s->overloaded ? -EOVERFLOW : s->failed ? -ENOMEM : 0;
	*overloaded = s->overloaded;
out:
	if (err)
		gp__sim_result_free(s->result);
	else
		*out = s->result;
	destroy(s);
	return err;
}
