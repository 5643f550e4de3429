// SPDX-License-Identifier: MIT
/* What programs do: jobs arrive, each a number of kernels on every stream and GPU of the program,
 * and end. */
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>

static void schedule_arrival(struct sim *s, struct sim_program *p, u64 at)
{
	const struct gp__program_spec *spec = p->spec;

	if (at >= spec->stop_ns || at >= s->end || (spec->jobs && p->arrived >= spec->jobs))
		return;
	p->next_arrival = at;
	sim_timer_set(s, &p->arrival, at);
	if (spec->hint_ns)
		sim_timer_set(s, &p->hint,
			      at > s->now + spec->hint_ns ? at - spec->hint_ns : s->now);
}

static void schedule_next(struct sim *s, struct sim_program *p)
{
	const struct gp__arrivals *a = &p->spec->arrivals;

	switch (a->kind) {
	case GP__ARRIVALS_PERIODIC:
	case GP__ARRIVALS_POISSON:
		schedule_arrival(s, p, s->now + gp__dist_sample(&a->interval, &p->arrival_rng));
		break;
	case GP__ARRIVALS_TRACE:
		if (p->trace_pos < a->n_trace)
			schedule_arrival(s, p, p->spec->start_ns + a->trace_ns[p->trace_pos++]);
		break;
	case GP__ARRIVALS_CLOSED:
		break; /* when this one is done */
	}
}

/* The next kernel of a program that does something on the CPU in between. */
static void submit_next(struct sim *s, struct sim_stream *st)
{
	st->kernels_left--;
	sim_stream_submit(s, st, st->job, 1);
}

static void gap_over(struct sim *s, struct sim_timer *t)
{
	submit_next(s, container_of(t, struct sim_stream, gap));
}

static bool has_gaps(const struct gp__program_spec *spec)
{
	return spec->gap.kind != GP__DIST_FIXED || spec->gap.a_ns;
}

static void take_job(struct sim *s, struct sim_stream *st, struct sim_job *job)
{
	st->job = job;
	st->kernels_left = st->entity->program->spec->kernels;
	submit_next(s, st);
}

static void arrive(struct sim *s, struct sim_timer *t)
{
	struct sim_program *p = container_of(t, struct sim_program, arrival);
	struct sim_job *job = calloc(1, sizeof(*job));
	u32 i;

	if (!job) {
		s->failed = true;
		return;
	}
	p->arrived++;
	job->program = p;
	job->arrived = s->now;
	job->left = (u64)p->spec->kernels * p->n_streams;
	job->users = p->n_streams;
	if (p->last)
		p->last->next = job;
	else
		p->first = job;
	p->last = job;
	for (i = 0; i < p->n_streams; i++) {
		if (!has_gaps(p->spec))
			sim_stream_submit(s, &p->streams[i], job, p->spec->kernels);
		else if (!p->streams[i].job)
			take_job(s, &p->streams[i], job);
	}
	schedule_next(s, p);
}

static void announce(struct sim *s, struct sim_timer *t)
{
	struct sim_program *p = container_of(t, struct sim_program, hint);
	u32 i;

	for (i = 0; i < p->sp->n_gpus; i++)
		gp__entity_arriving(&p->entities[i].e, p->next_arrival, s->now);
}

static void count_job(struct sim *s, struct sim_program *p, const struct sim_job *job)
{
	u64 latency = s->now - job->arrived;

	p->result->ended += s->now >= s->warmup;
	if (job->arrived < s->warmup)
		return;
	gp__hist_record(&p->result->latency, latency);
	p->result->done++;
	if (p->spec->deadline_ns && latency > p->spec->deadline_ns)
		p->result->missed++;
}

/* The deadline at hand is now that of the oldest job left. */
static void next_deadline(struct sim *s, struct sim_program *p)
{
	u32 i;

	if (!p->spec->deadline_ns || !p->first)
		return;
	for (i = 0; i < p->sp->n_gpus; i++)
		gp__entity_deadline(&p->entities[i].e, p->first->arrived + p->spec->deadline_ns,
				    s->now);
}

/* Jobs end in the order they came on every stream, but not across streams. */
static void drop_done(struct sim_program *p)
{
	while (p->first && !p->first->left && !p->first->users) {
		struct sim_job *job = p->first;

		p->first = job->next;
		if (!p->first)
			p->last = NULL;
		free(job);
	}
}

static void continue_stream(struct sim *s, struct sim_stream *st, struct sim_job *job)
{
	if (st->kernels_left) {
		sim_timer_set(
			s, &st->gap,
			s->now + gp__dist_sample(&st->entity->program->spec->gap, &st->gap_rng));
		return;
	}
	st->job = NULL;
	job->users--;
	if (job->next)
		take_job(s, st, job->next);
}

void sim_kernel_done(struct sim *s, struct sim_stream *st, struct sim_job *job)
{
	struct sim_program *p = job->program;
	bool done = --job->left == 0;

	if (done)
		count_job(s, p, job);
	if (has_gaps(p->spec))
		continue_stream(s, st, job);
	else if (done)
		job->users = 0;
	if (!done)
		return;
	drop_done(p);
	next_deadline(s, p);
	if (p->spec->arrivals.kind == GP__ARRIVALS_CLOSED)
		schedule_arrival(s, p,
				 s->now + gp__dist_sample(&p->spec->arrivals.think, &p->think_rng));
}

void sim_program_start(struct sim *s, struct sim_program *p)
{
	const struct gp__program_spec *spec = p->spec;
	u64 seed = s->opt->seed;
	u32 i;

	gp__rng_init(&p->arrival_rng, seed, p->sp->name, GP__DRAW_ARRIVAL);
	gp__rng_init(&p->think_rng, seed, p->sp->name, GP__DRAW_THINK);
	sim_timer_init(&p->arrival, arrive);
	sim_timer_init(&p->hint, announce);
	for (i = 0; i < p->n_streams; i++) {
		char owner[GP__SCENARIO_NAME_LEN + 16];

		snprintf(owner, sizeof(owner), "%s#%u", p->sp->name, i);
		gp__rng_init(&p->streams[i].kernel_rng, seed, owner, GP__DRAW_KERNEL);
		gp__rng_init(&p->streams[i].gap_rng, seed, owner, GP__DRAW_GAP);
		sim_timer_init(&p->streams[i].gap, gap_over);
	}
	if (spec->arrivals.kind == GP__ARRIVALS_TRACE) {
		schedule_next(s, p);
		return;
	}
	schedule_arrival(s, p,
			 spec->start_ns + (spec->arrivals.kind == GP__ARRIVALS_POISSON
						   ? gp__dist_sample(&spec->arrivals.interval,
								     &p->arrival_rng)
						   : 0));
}
