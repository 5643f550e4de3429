/* SPDX-License-Identifier: MIT */
/* What the parts of the packet processor share; all of it with the front end's lock. */
#ifndef GP__EMU_KFD_CP_H
#define GP__EMU_KFD_CP_H

#include "emu/kfd/aql.h"
#include "emu/kfd/queue.h"

/* Of a queue, beside what all queues have. */
struct aql {
	struct emu_dispatch *dispatches; /* not ended */
	uint32_t satisfied; /* dependencies of the packet that waits, a bit each */
	bool once; /* nothing starts before the dispatch that runs has ended */
	bool broken; /* will never go on */
	bool reclaim; /* scratch was used once, and has to be taken back first */
	uint64_t inactive_signal; /* of a queue that was stopped; 0: it has none */
};

enum aql_step {
	AQL_STEP_IDLE, /* nothing to do, until a doorbell or a job says so */
	AQL_STEP_WAITS, /* for memory */
	AQL_STEP_DONE, /* a packet was consumed */
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
enum aql_step aql_refuse(struct emu_queue *q, uint32_t code);
/* The packet's slot is free, and the read index says so; its signal is counted down as well. */
enum aql_step aql_consume(struct emu_queue *q, union aql_packet *packet);
enum aql_step aql_consume_at_once(struct emu_queue *q, union aql_packet *packet, uint64_t signal);

/* cp_dispatch.c: @p is a copy of @packet, which is at @va. */
enum aql_step aql_dispatch(struct emu_queue *q, union aql_packet *packet,
			   const struct aql_dispatch *p, uint64_t va);
void aql_drop_dispatches(struct aql *a);

#endif
