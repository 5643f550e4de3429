/* SPDX-License-Identifier: MIT */
/*
 * Declarations that the parts of the packet processor share; all of it needs the front end's lock.
 */
#ifndef GP__EMU_KFD_CP_H
#define GP__EMU_KFD_CP_H

#include "emu/kfd/aql.h"
#include "emu/kfd/pm4.h"
#include "emu/kfd/queue.h"

/* The state of a compute queue, beyond that of all queues. */
struct cp {
	struct emu_dispatch *dispatches; /* still running */
	uint64_t nr_dispatched;
	bool broken; /* a dispatch failed: it processes no more packets */
	struct pm4 pm4;

	/* AQL only */
	uint32_t satisfied; /* dependencies of the waiting packet, a bit each */
	bool once; /* no dispatch starts before the running one has ended */
	bool reclaim; /* scratch was allocated for one dispatch and must be reclaimed first */
	bool in_ib; /* the packet's indirect buffer is being executed */
	uint64_t inactive_signal; /* of a stopped queue; 0: none */
};

enum cp_step {
	CP_STEP_IDLE, /* nothing to do until a doorbell or a finished job */
	CP_STEP_WAITS, /* waits for memory to change */
	CP_STEP_DONE, /* did something: call again */
};

/* cp_signal.c */

/* Writes the times of a signal and decrements it; handle 0 is none. False: a fault. */
bool aql_complete(struct emu_queue *q, uint64_t handle, uint64_t start, uint64_t end);
/*
 * False: there is no such memory, because the program does not use AMD's runtime, or a fault was
 * raised.
 */
bool aql_read_queue(struct emu_queue *q, struct aql_queue *state);
/* Stops the queue until the runtime has set its signal to 0 again; and checks whether it has. */
void aql_stop(struct emu_queue *q, uint32_t error);
bool aql_resumes(struct emu_queue *q);
/* Stops the queue at this packet: GP_KFD_EC_*. */
enum cp_step cp_refuse(struct emu_queue *q, uint32_t code);
/* Frees the packet's slot, advances the read index and decrements its signal. */
enum cp_step aql_consume(struct emu_queue *q, union aql_packet *packet);
/* Marks the packet as processed, but keeps its slot; and frees the slot at @va. */
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
/* A dispatch described by registers. */
enum cp_step cp_dispatch_registers(struct emu_queue *q, const struct emu_launch *launch,
				   const struct emu_launch_registers *registers,
				   const struct cp_scratch *scratch);
/* The first packet that keeps its slot, or the next packet: the value of the read index. */
uint64_t cp_first_kept(const struct emu_queue *q);
/* The number of dispatches that have ended, counted up to the first that has not. */
uint64_t cp_nr_ended(const struct cp *c);
void cp_drop_dispatches(struct cp *c);

/* pm4.c */

/* Processes one packet of the ring, or of the current indirect buffer. */
enum cp_step pm4_step(struct emu_queue *q);
/* The queue was mapped: a doorbell rung before that is found in memory. */
void pm4_map(struct emu_queue *q);
/* Executes an indirect buffer packet by packet; it has ended when pm4.ib_dwords is 0. */
void pm4_begin_ib(struct emu_queue *q, const uint32_t jump[4]);
enum cp_step pm4_step_ib(struct emu_queue *q);
/* A dispatch has ended: packets that waited for it continue. */
void pm4_dispatch_ended(struct emu_queue *q);
/* A dispatch was lost: packets that wait for it are not released. */
void pm4_dispatch_lost(struct emu_queue *q, uint64_t order);

#endif
