/* SPDX-License-Identifier: MIT */
/* What the parts of the packet processor share; all of it with the front end's lock. */
#ifndef GP__EMU_KFD_CP_H
#define GP__EMU_KFD_CP_H

#include "emu/kfd/aql.h"
#include "emu/kfd/pm4.h"
#include "emu/kfd/queue.h"

/* Of a compute queue, beside what all queues have. */
struct cp {
	struct emu_dispatch *dispatches; /* not ended */
	uint64_t nr_dispatched;
	bool broken; /* will never go on */
	struct pm4 pm4;

	/* Of AQL. */
	uint32_t satisfied; /* dependencies of the packet that waits, a bit each */
	bool once; /* nothing starts before the dispatch that runs has ended */
	bool reclaim; /* scratch was used once, and has to be taken back first */
	bool in_ib; /* the packet's indirect buffer is being executed */
	uint64_t inactive_signal; /* of a queue that was stopped; 0: it has none */
};

enum cp_step {
	CP_STEP_IDLE, /* nothing to do, until a doorbell or a job says so */
	CP_STEP_WAITS, /* for memory */
	CP_STEP_DONE, /* something was done: look again */
};

/* cp_signal.c */

/* Writes the times of a signal, and counts it down; 0 is none. False: a fault. */
bool aql_complete(struct emu_queue *q, uint64_t handle, uint64_t start, uint64_t end);
/* False: it has no such memory, as a program without AMD's runtime, or an error was raised. */
bool aql_read_queue(struct emu_queue *q, struct aql_queue *state);
/* The queue stops until the runtime has set its signal to 0 again; whether it has. */
void aql_stop(struct emu_queue *q, uint32_t error);
bool aql_resumes(struct emu_queue *q);
/* It stops at this packet: GP_KFD_EC_*. */
enum cp_step cp_refuse(struct emu_queue *q, uint32_t code);
/* The packet's slot is free, and the read index says so; its signal is counted down as well. */
enum cp_step aql_consume(struct emu_queue *q, union aql_packet *packet);
/* The packet is processed and keeps its slot, which is at @va, until it is freed. */
void aql_keep(struct emu_queue *q);
void aql_free(struct emu_queue *q, uint64_t va);
enum cp_step aql_consume_at_once(struct emu_queue *q, union aql_packet *packet, uint64_t signal);

/* cp_dispatch.c: @p is a copy of @packet, which is at @va. */
enum cp_step aql_dispatch(struct emu_queue *q, union aql_packet *packet,
			  const struct aql_dispatch *p, uint64_t va);
/* Memory for the scratch of so many waves. */
struct cp_scratch {
	uint64_t base, waves;
	uint32_t wave_bytes;
};
/* A dispatch that registers describe. */
enum cp_step cp_dispatch_registers(struct emu_queue *q, const struct gfx9_dispatch *dispatch,
				   const struct gfx9_registers *registers,
				   const struct cp_scratch *scratch);
/* The packet of the first dispatch that keeps its slot, or the next one: what the read index is. */
uint64_t cp_first_kept(const struct emu_queue *q);
/* How many of the first dispatches have ended, without a gap. */
uint64_t cp_nr_ended(const struct cp *c);
void cp_drop_dispatches(struct cp *c);

/* pm4.c */

/* A packet of a queue's ring, or of the indirect buffer it is in. */
enum cp_step pm4_step(struct emu_queue *q);
/* It has a slot: what was rung while it had none stands in memory. */
void pm4_map(struct emu_queue *q);
/* An indirect buffer, one packet after the other: it has ended when pm4.ib_dwords is 0. */
void pm4_begin_ib(struct emu_queue *q, const uint32_t jump[4]);
enum cp_step pm4_step_ib(struct emu_queue *q);
/* A dispatch has ended: those who waited for it go on. */
void pm4_dispatch_ended(struct emu_queue *q);
/* It will never end: nor is what stands behind it released. */
void pm4_dispatch_lost(struct emu_queue *q, uint64_t order);

#endif
