// SPDX-License-Identifier: MIT
/*
 * The jobs of programs. A job is a number of kernels on every stream and GPU of its program.
 *
 * A job may be a request, on one stream: each of its kernels ends with a token. A program with
 * concurrent requests works like a server with continuous batching: between two kernels it takes a
 * waiting request, if there is room for one, and runs its first kernel; otherwise it runs one
 * kernel that makes a token of every request in progress.
 */
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

/* The next recorded job; one that follows may also find that there is no other. */
static bool next_follows(const struct sim_program *p)
{
	const struct gp__arrivals *a = &p->spec->arrivals;

	return p->trace_pos == a->n_recorded || a->recorded[p->trace_pos].follows;
}

static void schedule_recorded(struct sim *s, struct sim_program *p, u64 after)
{
	const struct gp__arrivals *a = &p->spec->arrivals;

	if (p->trace_pos == a->n_recorded && a->repeats)
		p->trace_pos = 1;
	if (p->trace_pos < a->n_recorded)
		schedule_arrival(s, p, gp__time_add(after, a->recorded[p->trace_pos++].at));
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
	case GP__ARRIVALS_RECORDED:
		if (!next_follows(p))
			schedule_recorded(s, p, 0);
		break;
	case GP__ARRIVALS_CLOSED:
		break; /* the next one arrives when this one is done */
	}
}

static bool is_batched(const struct gp__program_spec *spec)
{
	return spec->concurrent > 1;
}

static const struct gp__dist *first_kernel(const struct gp__program_spec *spec)
{
	return sim_is_request(spec) ? &spec->first : &spec->kernel;
}

/* Submits the next kernel of a program that has gaps between its kernels. */
static void submit_next(struct sim *s, struct sim_stream *st)
{
	const struct gp__program_spec *spec = st->entity->program->spec;
	bool first = st->kernels_left == spec->kernels;

	st->kernels_left--;
	sim_stream_submit(s, st, st->job, first ? first_kernel(spec) : &spec->kernel, 1);
}

static void submit_all(struct sim *s, struct sim_stream *st, struct sim_job *job)
{
	const struct gp__program_spec *spec = st->entity->program->spec;

	if (spec->arrivals.kind == GP__ARRIVALS_RECORDED) {
		struct gp__dist work = { .a_ns = spec->arrivals.recorded[job->nr].work_ns };

		sim_stream_submit(s, st, job, &work, 1);
		return;
	}
	if (!sim_is_request(spec)) {
		sim_stream_submit(s, st, job, &spec->kernel, spec->kernels);
		return;
	}
	sim_stream_submit(s, st, job, &spec->first, 1);
	sim_stream_submit(s, st, job, &spec->kernel, spec->kernels - 1);
}

/* Submits the next kernel of a program with concurrent requests, if it has any. */
static void serve(struct sim *s, struct sim_stream *st)
{
	struct sim_program *p = st->entity->program;
	struct sim_job *job;
	u32 in_progress = 0;

	for (job = p->first; job && job->begun; job = job->next)
		in_progress += job->left != 0;
	if (job && in_progress < p->spec->concurrent) {
		job->begun = true;
		sim_stream_submit(s, st, job, &p->spec->first, 1);
	} else if (in_progress) {
		sim_stream_submit(s, st, NULL, &p->spec->kernel, 1);
	}
}

static void gap_over(struct sim *s, struct sim_timer *t)
{
	struct sim_stream *st = container_of(t, struct sim_stream, gap);

	if (is_batched(st->entity->program->spec))
		serve(s, st);
	else
		submit_next(s, st);
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

/* Gives a job that has arrived to a stream, which takes it now or after those before it. */
static void give_job(struct sim *s, struct sim_stream *st, struct sim_job *job)
{
	const struct gp__program_spec *spec = st->entity->program->spec;

	if (is_batched(spec)) {
		if (!st->with_work && !gp__node_linked(&st->gap.node))
			serve(s, st);
	} else if (!has_gaps(spec)) {
		submit_all(s, st, job);
	} else if (!st->job) {
		take_job(s, st, job);
	}
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
	job->nr = p->trace_pos - 1;
	job->arrived = s->now;
	job->left = (u64)p->spec->kernels * p->n_streams;
	job->users = is_batched(p->spec) ? 0 : p->n_streams;
	if (!p->first)
		p->busy_since = s->now;
	if (p->last)
		p->last->next = job;
	else
		p->first = job;
	p->last = job;
	for (i = 0; i < p->n_streams; i++)
		give_job(s, &p->streams[i], job);
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

static void count_token(struct sim *s, struct sim_program *p, struct sim_job *job)
{
	struct gp__sim_requests *r = p->result->requests;

	if (job->arrived >= s->warmup) {
		if (job->token_at)
			gp__hist_record(&r->next, s->now - job->token_at);
		else
			gp__hist_record(&r->first, s->now - job->arrived);
	}
	job->token_at = s->now;
}

/* Counts the end of a kernel. Returns true if the job ends with it. */
static bool count_kernel(struct sim *s, struct sim_program *p, struct sim_job *job)
{
	if (sim_is_request(p->spec))
		count_token(s, p, job);
	if (--job->left)
		return false;
	count_job(s, p, job);
	return true;
}

/* Sets the deadline to that of the oldest remaining job. */
static void next_deadline(struct sim *s, struct sim_program *p)
{
	u32 i;

	if (!p->spec->deadline_ns || !p->first)
		return;
	for (i = 0; i < p->sp->n_gpus; i++)
		gp__entity_deadline(&p->entities[i].e, p->first->arrived + p->spec->deadline_ns,
				    s->now);
}

/* Jobs end in the order of arrival on each stream, but not across streams. */
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

static void job_done(struct sim *s, struct sim_program *p)
{
	drop_done(p);
	if (!p->first && p->result->requests && s->now > s->warmup)
		p->result->requests->in_progress_ns +=
			s->now - gp__max_u64(p->busy_since, s->warmup);
	next_deadline(s, p);
	if (p->spec->arrivals.kind == GP__ARRIVALS_RECORDED && !p->first &&
	    !gp__node_linked(&p->arrival.node) && next_follows(p))
		schedule_recorded(s, p, s->now);
	if (p->spec->arrivals.kind == GP__ARRIVALS_CLOSED)
		schedule_arrival(s, p,
				 s->now + gp__dist_sample(&p->spec->arrivals.think, &p->think_rng));
}

/* @job: its first kernel has ended. NULL: a kernel of all that are in progress has. */
static void served(struct sim *s, struct sim_stream *st, struct sim_job *job)
{
	struct sim_program *p = st->entity->program;
	bool done = false;

	if (job) {
		done = count_kernel(s, p, job);
	} else {
		for (job = p->first; job && job->begun; job = job->next) {
			if (job->left)
				done |= count_kernel(s, p, job);
		}
	}
	if (done)
		job_done(s, p);
	if (p->first)
		sim_timer_set(s, &st->gap, s->now + gp__dist_sample(&p->spec->gap, &st->gap_rng));
}

void sim_kernel_done(struct sim *s, struct sim_stream *st, struct sim_job *job)
{
	struct sim_program *p = st->entity->program;
	bool done;

	if (is_batched(p->spec)) {
		served(s, st, job);
		return;
	}
	done = count_kernel(s, p, job);
	if (has_gaps(p->spec))
		continue_stream(s, st, job);
	else if (done)
		job->users = 0;
	if (done)
		job_done(s, p);
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
		gp__rng_init(&p->streams[i].see_rng, seed, owner, GP__DRAW_SEE);
		sim_timer_init(&p->streams[i].gap, gap_over);
	}
	if (spec->arrivals.kind == GP__ARRIVALS_RECORDED) {
		schedule_recorded(s, p, 0);
		return;
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
