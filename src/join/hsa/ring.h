/* SPDX-License-Identifier: MIT */
/*
 * A launch window over a program's own AQL ring (level 1).
 *
 * The program writes its packets into the ring as ever. Only the write index that it moves is not
 * the queue's: it is kept here, and the queue's own, which the packet processor goes by, follows as
 * far as the window lets it. So no packet is copied, moved or changed, and their order, barriers,
 * dependencies and signals are what they are without a window. The read index is the queue's, so a
 * program that waits for room in the ring waits as long as it has to.
 *
 * Any number of threads may write packets at once, as AQL allows: what is announced may have gaps,
 * at which the packet processor waits by itself.
 *
 * Where packets are kept so that the queue can be dropped and filled again (kept.h), they are
 * copied all the same, and the read index that the program sees is ours, too.
 *
 * Wrong tool where somebody else moves the queue's own write index, such as work that a kernel on
 * the GPU enqueues: gp__aql_ring_is_foreign() tells.
 */
#ifndef GP__JOIN_HSA_RING_H
#define GP__JOIN_HSA_RING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "join/hsa/kept.h"
#include "queue/window.h"

enum gp__aql_gate {
	GP__AQL_OPEN, /* everything goes at once */
	GP__AQL_NARROW, /* no more is on its way than the window lets */
	GP__AQL_SHUT, /* nothing goes */
};

struct gp__aql_ring {
	_Atomic uint64_t write; /* as the program moves it */
	pthread_mutex_t lock; /* of what follows */
	const _Atomic uint64_t *read; /* the queue's own */
	_Atomic uint64_t *queue_write;
	uint64_t announced; /* by the doorbell: packets before it may be taken */
	_Atomic uint64_t
		handed; /* what we made of the queue's write index; read without the lock, too */
	enum gp__aql_gate gate;
	uint32_t width; /* of the window, in packets; 0: the tuned one */
	struct gp__window tuned;
	uint64_t taken, looked_at; /* the read index when it was last looked at */
	bool foreign;
	struct gp__aql_kept *kept; /* NULL: nothing is */
	/* The queue's doorbell; @index: of the last packet that may be taken. */
	void (*ring_doorbell)(void *data, uint64_t index);
	void *data;
};

/* It is open. */
void gp__aql_ring_init(struct gp__aql_ring *r, const _Atomic uint64_t *read,
		       _Atomic uint64_t *queue_write,
		       void (*ring_doorbell)(void *data, uint64_t index), void *data);
void gp__aql_ring_destroy(struct gp__aql_ring *r);

/* Before anybody uses it: packets are kept there. */
void gp__aql_ring_keep(struct gp__aql_ring *r, struct gp__aql_kept *kept);

/* The window, in packets, or by how long what is on its way may take. */
void gp__aql_ring_set_width(struct gp__aql_ring *r, uint32_t packets);
void gp__aql_ring_set_budget(struct gp__aql_ring *r, uint64_t ns);

/* Before the program asks for its write index: others may have moved the queue's own. */
void gp__aql_ring_look(struct gp__aql_ring *r);
/* The program stores @index to its doorbell. */
void gp__aql_ring_announce(struct gp__aql_ring *r, uint64_t index);

/* What may go by it goes at once. */
void gp__aql_ring_set_gate(struct gp__aql_ring *r, enum gp__aql_gate gate);
/* Whether the gate is shut before something that has not gone, or was not seen to end. */
bool gp__aql_ring_waits(struct gp__aql_ring *r);
/* Lets go what has room by now. True: more will go when there is room. */
bool gp__aql_ring_advance(struct gp__aql_ring *r, uint64_t now);
/* Of one that keeps packets: the read index as the program is to see it. */
uint64_t gp__aql_ring_read(struct gp__aql_ring *r);
/* Of one that is shut: whether what is on its way can be dropped and handed over again. */
bool gp__aql_ring_can_drop(struct gp__aql_ring *r);
/* It was, and the queue does not run. */
void gp__aql_ring_drop(struct gp__aql_ring *r);
/* Whether somebody else was seen to move the queue's write index. */
bool gp__aql_ring_is_foreign(struct gp__aql_ring *r);

#endif
