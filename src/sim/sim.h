/* SPDX-License-Identifier: MIT */
/* The simulator's own state; engine.c, gpu.c, stream.c and job.c share it. */
#ifndef GP__SIM_H
#define GP__SIM_H

#include "queue/pq.h"
#include "sim/engine.h"

struct sim;

/* An event at a time; of several at the same time, the one set first happens first. */
struct sim_timer {
	struct gp__node node;
	void (*fire)(struct sim *s, struct sim_timer *t);
};

/* Work is counted in 1/64 ns: a year of it fits a key with room to spare. */
#define WORK_SHIFT 6

/* Streams of a higher tier run before those of a lower one. Without weights, all are in one. */
enum sim_tier_of { SIM_TIER_LEAST, SIM_TIER_PLAIN, SIM_TIER_MOST, SIM_TIERS };

struct sim_tier {
	struct gp__tree executing; /* streams, by the work clock at which their command ends */
	u64 work;
	u64 weight; /* of all its streams */
};

struct sim_gpu {
	struct gp__dev dev;
	const struct gp__gpu_spec *spec;
	struct sim_tier tiers[SIM_TIERS];
	u64 at, frozen_until;
	u64 ran; /* changes when a program makes progress or is switched to */
	u32 nr_with_work, nr_held; /* streams; held: of those with work */
	struct sim_timer done;
	struct gp__rng verb_rng, fail_rng;
	struct gp__sim_gpu_result *result;
};

struct sim_command {
	u64 work;
	struct sim_job *job; /* NULL: of all requests in progress */
};

struct sim_stream {
	struct gp__pq pq;
	struct gp__queue queue;
	struct sim_gpu *gpu;
	struct sim_entity *entity;
	struct sim_timer op; /* a device call returns, or the queue polls again */
	u8 order; /* of the core, not yet acknowledged */
	bool in_call;
	struct sim_timer notice; /* the scheduler sees that work has arrived or ended */
	bool seen; /* the core was told of work, and not yet of its end */
	u64 idle_since; /* when its last work ended */

	/* Submitted and not completed, by ticket. */
	struct sim_command *ring;
	u64 ring_size;
	bool with_work, held; /* held: the core wants it held */

	/* The hardware's side. */
	u64 handed; /* tickets it has been given */
	bool executing, begun, interrupted, deactivated;
	u64 left; /* work of a command that was interrupted */
	u32 weight; /* as ordered by the core; 0: the device's own */
	struct gp__node node;

	/* The program's side, if it has gaps: kernels of the current job not yet submitted. */
	struct sim_timer gap;
	struct sim_job *job;
	u32 kernels_left;
	struct gp__rng kernel_rng, gap_rng, see_rng;
};

struct sim_entity {
	struct gp__entity e;
	struct gp__owner own; /* of its user, if it is the first of that user on its GPU */
	struct sim_program *program;
	u64 ran; /* the GPU's value when this program last made progress */
	u64 held_before, stops_before; /* at the end of the warm-up */
};

struct sim_job {
	u64 arrived;
	size_t nr; /* of a recorded one */
	u64 left; /* kernels on all streams and GPUs */
	u64 users; /* streams that still point to it */
	u64 token_at; /* the end of its last kernel; 0: none has ended */
	bool begun; /* with concurrent requests: it is in progress */
	struct sim_job *next;
};

struct sim_program {
	const struct gp__scenario_program *sp;
	const struct gp__program_spec *spec;
	struct sim_entity *entities; /* one for each GPU */
	struct sim_stream *streams; /* spec->streams for each GPU */
	u32 n_streams;
	struct gp__gang gang;
	struct sim_timer arrival, hint;
	u64 next_arrival, arrived;
	u64 busy_since; /* when the oldest of the jobs that follow without a pause arrived */
	size_t trace_pos;
	struct gp__rng arrival_rng, think_rng;
	struct sim_job *first, *last; /* not done, oldest first */
	struct gp__sim_program_result *result;
};

struct sim {
	const struct gp__scenario *sc;
	const struct gp__sim_options *opt;
	struct gp__sim_result *result;
	struct gp__core core;
	struct gp__tree timers;
	u32 next_entity, next_queue;
	u64 now, warmup, end;
	struct sim_timer core_timer, warmup_timer;
	struct sim_gpu *gpus;
	struct sim_program *programs;
	size_t n_programs;
	struct sim_program **owner; /* by entity id */
	u64 nr_waiting; /* commands submitted and not completed */
	const struct gp__program_spec *overloaded;
	bool failed; /* out of memory, or overloaded */
};

/* engine.c */
void sim_timer_init(struct sim_timer *t, void (*fire)(struct sim *s, struct sim_timer *t));
void sim_timer_set(struct sim *s, struct sim_timer *t, u64 at);
void sim_timer_clear(struct sim *s, struct sim_timer *t);

/* gpu.c: executing commands */
void sim_gpu_init(struct sim *s, struct sim_gpu *g, const struct gp__scenario_gpu *sg, u32 id);
/* Updates the times of the GPU and the accounts of its programs. */
void sim_gpu_charge(struct sim *s, struct sim_gpu *g);
/* Call after any change that may start or must interrupt the stream's next command. */
void sim_gpu_update(struct sim *s, struct sim_stream *st);
void sim_gpu_set_work(struct sim *s, struct sim_stream *st, bool with_work);
void sim_gpu_set_held(struct sim *s, struct sim_stream *st, bool held);
void sim_gpu_interrupt(struct sim *s, struct sim_stream *st);
void sim_gpu_lose(struct sim *s, struct sim_gpu *g);
void sim_gpu_weigh(struct sim *s, struct sim_stream *st, u32 weight);

/* stream.c: a preemptible queue between the program, the core and the GPU */
void sim_stream_init(struct sim *s, struct sim_stream *st);
void sim_stream_submit(struct sim *s, struct sim_stream *st, struct sim_job *job,
		       const struct gp__dist *kernel, u32 kernels);
void sim_stream_command_done(struct sim *s, struct sim_stream *st);
void sim_take_orders(struct sim *s);

/* job.c: jobs of programs */
static inline bool sim_is_request(const struct gp__program_spec *spec)
{
	return spec->first.a_ns != 0;
}

void sim_program_start(struct sim *s, struct sim_program *p);
void sim_kernel_done(struct sim *s, struct sim_stream *st, struct sim_job *job);

#endif
