/* SPDX-License-Identifier: MIT */
/* The simulator's own state; engine.c, gpu.c, stream.c and job.c share it. */
#ifndef GP__SIM_H
#define GP__SIM_H

#include "queue/pq.h"
#include "sim/engine.h"

struct sim;

/* Something that happens at a time; of several at one time, what was set first. */
struct sim_timer {
	struct gp__node node;
	void (*fire)(struct sim *s, struct sim_timer *t);
};

/* Work is counted in 1/64 ns: a year of it fits a key with room to spare. */
#define WORK_SHIFT 6

struct sim_gpu {
	struct gp__dev dev;
	const struct gp__gpu_spec *spec;
	struct gp__tree executing; /* streams, by the work clock at which their command ends */
	u64 work, at, frozen_until;
	u32 nr_with_work;
	struct sim_timer done;
	struct gp__rng verb_rng, fail_rng;
	struct gp__sim_gpu_result *result;
};

struct sim_command {
	u64 work;
	struct sim_job *job;
};

struct sim_stream {
	struct gp__pq pq;
	struct gp__queue queue;
	struct sim_gpu *gpu;
	struct sim_entity *entity;
	struct sim_timer op; /* a device call returns, or the queue asks to be asked again */
	u8 order; /* of the core, not acknowledged yet */
	bool in_call;

	/* Submitted and not completed, by ticket. */
	struct sim_command *ring;
	u64 ring_size;
	bool with_work;

	/* The hardware's side. */
	u64 handed; /* tickets it has been given */
	bool executing, begun, interrupted, deactivated;
	u64 left; /* work of a command that was interrupted */
	struct gp__node node;

	/* The program's side, where it has gaps: kernels of the job at hand not yet submitted. */
	struct sim_timer gap;
	struct sim_job *job;
	u32 kernels_left;
	struct gp__rng kernel_rng, gap_rng;
};

struct sim_entity {
	struct gp__entity e;
	struct sim_program *program;
	u64 held_before, stops_before; /* at the end of the warm-up */
};

struct sim_job {
	u64 arrived;
	u64 left; /* kernels on all streams and GPUs */
	u64 users; /* streams that still point to it */
	struct sim_job *next;
	struct sim_program *program;
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

/* gpu.c: what executes, and for how long */
void sim_gpu_init(struct sim *s, struct sim_gpu *g, const struct gp__scenario_gpu *sg, u32 id);
/* Brings the GPU's own times, and what its programs got, up to now. */
void sim_gpu_charge(struct sim *s, struct sim_gpu *g);
/* Call after anything that may let the stream's next command start or must stop it. */
void sim_gpu_update(struct sim *s, struct sim_stream *st);
void sim_gpu_set_work(struct sim *s, struct sim_stream *st, bool with_work);
void sim_gpu_interrupt(struct sim *s, struct sim_stream *st);
void sim_gpu_lose(struct sim *s, struct sim_gpu *g);

/* stream.c: a preemptible queue between the program, the core and the GPU */
void sim_stream_init(struct sim *s, struct sim_stream *st);
void sim_stream_submit(struct sim *s, struct sim_stream *st, struct sim_job *job, u32 kernels);
void sim_stream_command_done(struct sim *s, struct sim_stream *st);
void sim_take_orders(struct sim *s);

/* job.c: what programs do */
void sim_program_start(struct sim *s, struct sim_program *p);
void sim_kernel_done(struct sim *s, struct sim_stream *st, struct sim_job *job);

#endif
