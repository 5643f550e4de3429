/* SPDX-License-Identifier: MIT */
/*
 * A launch window over a program's own AQL ring (level 1).
 *
 * The program writes its packets into the ring as usual, but it moves a write index of ours. The
 * queue's own write index, which the packet processor reads, follows as far as the window allows.
 * So no packet is copied or changed, and order, barriers, dependencies and signals are the same as
 * without a window. The read index is the queue's, so a program that waits for room in the ring
 * waits exactly as long as it must.
 *
 * Any number of threads may write packets at the same time, as AQL allows: the announced packets
 * may have gaps, at which the packet processor waits by itself.
 *
 * If packets are retained to be submitted again (retained.h), they are copied, and the program sees
 * a read index of ours as well.
 *
 * Wrong tool where something else moves the queue's own write index, such as a kernel on the GPU
 * that enqueues work: gp__aql_ring_is_foreign() detects that.
 */
#ifndef GP__JOIN_HSA_RING_H
#define GP__JOIN_HSA_RING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "join/hsa/retained.h"
#include "queue/window.h"

enum gp__aql_gate {
	GP__AQL_OPEN, /* every packet is submitted at once */
	GP__AQL_NARROW, /* no more packets are in flight than the window allows */
	GP__AQL_HELD, /* no packet is submitted */
};

struct gp__aql_ring {
	_Atomic uint64_t write; /* the program moves it */
	pthread_mutex_t lock; /* of all that follows */
	const _Atomic uint64_t *read; /* the queue's own */
	_Atomic uint64_t *queue_write;
	uint64_t announced; /* by the doorbell: packets before it may be fetched */
	/* The queue's write index as we set it last; read without the lock, too. */
	_Atomic uint64_t submitted;
	enum gp__aql_gate gate;
	uint32_t width; /* of the window, in packets; 0: the tuned one */
	struct gp__window tuned;
	uint64_t last_read, read_at; /* the read index at the latest measurement, and its time */
	bool foreign;
	struct gp__aql_retained *retained; /* NULL: packets are not retained */
	/* Rings the queue's doorbell; @index: the last packet that may be fetched. */
	void (*ring_doorbell)(void *data, uint64_t index);
	void *data;
};

/* The gate begins open. */
void gp__aql_ring_init(struct gp__aql_ring *r, const _Atomic uint64_t *read,
		       _Atomic uint64_t *queue_write,
		       void (*ring_doorbell)(void *data, uint64_t index), void *data);
void gp__aql_ring_destroy(struct gp__aql_ring *r);

/* Retains packets in @retained. Before the ring is used. */
void gp__aql_ring_retain(struct gp__aql_ring *r, struct gp__aql_retained *retained);

/* Sets the size of the window, in packets or by the time that packets in flight may take. */
void gp__aql_ring_set_width(struct gp__aql_ring *r, uint32_t packets);
void gp__aql_ring_set_budget(struct gp__aql_ring *r, uint64_t ns);

/* Before the program reads its write index: something else may have moved the queue's own. */
void gp__aql_ring_look(struct gp__aql_ring *r);
/* The program stores @index to its doorbell. */
void gp__aql_ring_announce(struct gp__aql_ring *r, uint64_t index);

/* Submits at once what the new gate allows. */
void gp__aql_ring_set_gate(struct gp__aql_ring *r, enum gp__aql_gate gate);
/* Whether the ring is held and has packets that were not submitted, or not seen to end. */
bool gp__aql_ring_waits(struct gp__aql_ring *r);
/* Submits what fits by now. True: more packets wait for room. */
bool gp__aql_ring_advance(struct gp__aql_ring *r, uint64_t now);
/* For a ring that retains packets: the read index for the program. */
uint64_t gp__aql_ring_read(struct gp__aql_ring *r);
/* For a held ring: whether the packets in flight can be dropped and submitted again. */
bool gp__aql_ring_can_drop(struct gp__aql_ring *r);
/* They were dropped, and the queue does not run. */
void gp__aql_ring_drop(struct gp__aql_ring *r);
/* Whether something else has moved the queue's write index. */
bool gp__aql_ring_is_foreign(struct gp__aql_ring *r);

#endif
