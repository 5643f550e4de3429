/* SPDX-License-Identifier: MIT */
/*
 * The packets of a queue that may be cut short: what is on its way to the GPU is kept, so that it
 * can be handed over again (level 2 by dropping what runs).
 *
 * The program writes its packets into a ring of ours; those that may go are copied into the queue's
 * own. So the two may be apart: the program's packet of number n is the queue's of number n +
 * shift. After the queue was dropped, what is left in its ring does nothing any more, and what has
 * not ended is put behind it.
 *
 * Only a signal that nobody else uses tells what has ended: read indices move when a packet begins,
 * or some time after its end, and a program uses a signal again once it has fired. So each packet
 * has one of ours, and the program's is moved by us when ours was, which takes a moment. That is
 * not done while nobody else wants the GPU: what goes then is not kept, nor is it dropped before a
 * later packet has ended that waits for all before it.
 *
 * What is not dropped, but finishes, and with it what is on its way beside it: barriers that wait
 * for signals, vendors' own packets, and kernels with scratch memory, which the runtime gives them
 * by looking into the ring. And nothing is dropped twice: so whoever is dropped again and again
 * comes to an end all the same.
 *
 * Wrong tool where others put packets into the queue, such as kernels on the GPU.
 *
 * Indices are the program's, unless they say otherwise. Whoever calls has a lock.
 */
#ifndef GP__JOIN_HSA_KEPT_H
#define GP__JOIN_HSA_KEPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define GP__AQL_KEPT_MAX 64u

enum gp__aql_type {
	GP__AQL_VENDOR,
	GP__AQL_INVALID,
	GP__AQL_DISPATCH,
	GP__AQL_BARRIER_AND,
	GP__AQL_AGENT_DISPATCH,
	GP__AQL_BARRIER_OR,
};
#define GP__AQL_BARRIER_BIT (1u << 8)
#define GP__AQL_AMD_BARRIER_VALUE 2u /* the format of a vendor's packet */

struct gp__aql_packet {
	_Atomic uint16_t header;
	uint16_t setup; /* of a vendor's, in its low byte: the format */
	uint32_t word[5];
	uint32_t scratch_bytes; /* of a dispatch */
	uint32_t more[7];
	uint64_t signal;
};
_Static_assert(sizeof(struct gp__aql_packet) == 64, "as the GPU reads it");

struct gp__aql_on_its_way {
	bool is_taken; /* it was not seen to end */
	bool can_be_dropped;
	uint64_t at;
	uint64_t theirs; /* the program's signal; 0: it wants none */
	struct gp__aql_packet packet;
};

struct gp__aql_kept {
	struct gp__aql_packet *from, *to; /* the program's ring and the queue's */
	uint32_t size; /* of both */
	uint64_t shift;
	uint64_t first; /* all before it have ended */
	uint64_t blind; /* those before it were not kept: which have ended is not known */
	uint64_t again; /* those before it are handed over for the second time */
	uint64_t read; /* as the program sees it */
	uint32_t nr_taken, nr_scratch; /* on their way; of these, with scratch memory */
	uint64_t own[GP__AQL_KEPT_MAX]; /* signals, of an address each */
	struct gp__aql_on_its_way on_its_way[GP__AQL_KEPT_MAX];
	/* A packet has ended that had this signal. */
	void (*end)(void *data, uint64_t signal);
	void *data;
};

/* @ring has room for @size packets, and @own are signals that nobody else uses, at 0. */
void gp__aql_kept_init(struct gp__aql_kept *k, void *ring, void *queue_ring, uint32_t size,
		       uint64_t write, const uint64_t own[GP__AQL_KEPT_MAX]);

/* Tells of all that have ended; @handed: all before it were copied. */
void gp__aql_kept_note_ends(struct gp__aql_kept *k, uint64_t handed);
/*
 * Copies packets from @at on, up to @end, as far as they are there and have room: where it ended.
 * @queue_read: the queue's own read index. @keep: it may have to be handed over again.
 */
uint64_t gp__aql_kept_copy(struct gp__aql_kept *k, uint64_t at, uint64_t end, uint64_t queue_read,
			   bool keep);
/* What the program sees of the read index. */
uint64_t gp__aql_kept_read(struct gp__aql_kept *k, uint64_t handed, uint64_t queue_read);

/* Whether what is on its way can be handed over again, and there is something. */
bool gp__aql_kept_can_drop(struct gp__aql_kept *k, uint64_t handed, uint64_t queue_read);
/* The queue was dropped, and does not run. From where packets are to be copied again. */
uint64_t gp__aql_kept_drop(struct gp__aql_kept *k, uint64_t handed, uint64_t queue_read);

#endif
