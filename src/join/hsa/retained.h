/* SPDX-License-Identifier: MIT */
/*
 * Retains the packets of a queue that are in flight, so that they can be submitted again after the
 * queue was reset (level 2 by dropping running kernels).
 *
 * The program writes its packets into a shadow ring; packets that may run are copied into the
 * queue's own ring. The two may drift apart: the program's packet n is the queue's packet n +
 * shift. After a drop the packets left in the queue's ring are replaced by no-ops, and those that
 * have not ended are appended behind them.
 *
 * The end of a packet is known from its completion signal only: read indices move when a packet
 * begins, or some time after its end. The program may reuse its own signal as soon as that has
 * fired. So each retained packet carries a signal of ours, and the program's signal is decremented
 * once ours was, which costs a little time. While no other program wants the GPU, packets are
 * therefore not retained; they are not dropped before a later packet with a barrier bit has ended.
 *
 * Some packets are never dropped but finish, together with everything in flight beside them:
 * barriers that wait for signals, vendor-specific packets, and kernels with scratch memory, for
 * which the runtime looks into the ring. No packet is dropped twice, so every packet ends.
 *
 * Wrong tool where others put packets into the queue, such as kernels on the GPU.
 *
 * Indices are the program's unless they say otherwise. The caller has a lock.
 */
#ifndef GP__JOIN_HSA_RETAINED_H
#define GP__JOIN_HSA_RETAINED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define GP__AQL_RETAINED_MAX 64u

enum gp__aql_type {
	GP__AQL_VENDOR,
	GP__AQL_INVALID,
	GP__AQL_DISPATCH,
	GP__AQL_BARRIER_AND,
	GP__AQL_AGENT_DISPATCH,
	GP__AQL_BARRIER_OR,
};
#define GP__AQL_BARRIER_BIT (1u << 8)
#define GP__AQL_AMD_BARRIER_VALUE 2u /* the format of a vendor-specific packet */

struct gp__aql_packet {
	_Atomic uint16_t header;
	uint16_t setup; /* a vendor-specific packet has its format in the low byte */
	uint32_t word[5];
	uint32_t scratch_bytes; /* of a dispatch */
	uint32_t more[7];
	uint64_t signal;
};
_Static_assert(sizeof(struct gp__aql_packet) == 64, "as the GPU reads it");

struct gp__aql_in_flight {
	bool is_used; /* the packet was not seen to end */
	bool can_be_dropped;
	uint64_t at;
	uint64_t program_signal; /* 0: the packet has none */
	struct gp__aql_packet packet;
};

struct gp__aql_retained {
	struct gp__aql_packet *program_ring, *queue_ring;
	uint32_t size; /* of both */
	uint64_t shift;
	uint64_t first; /* all packets before it have ended */
	uint64_t untracked_before; /* packets before it are not retained: their end is not known */
	uint64_t resubmit_before; /* packets before it are submitted for the second time */
	uint64_t read; /* as the program sees it */
	uint32_t nr_in_flight, nr_scratch; /* retained; of these, with scratch memory */
	uint64_t own[GP__AQL_RETAINED_MAX]; /* our signals, as handles */
	struct gp__aql_in_flight in_flight[GP__AQL_RETAINED_MAX];
	/* A packet with this signal of the program has ended. */
	void (*end)(void *data, uint64_t signal);
	void *data;
};

/* @ring has room for @size packets. @own are signals for this queue alone, at 0. */
void gp__aql_retained_init(struct gp__aql_retained *k, void *ring, void *queue_ring, uint32_t size,
			   uint64_t write, const uint64_t own[GP__AQL_RETAINED_MAX]);

/* Calls end() for all packets that have ended. @submitted: all packets before it were copied. */
void gp__aql_retained_note_ends(struct gp__aql_retained *k, uint64_t submitted);
/*
 * Copies packets from @at up to @end, as far as they are valid and fit, and returns where it
 * stopped. @queue_read: the queue's own read index. @retain: they may have to be submitted again.
 */
uint64_t gp__aql_retained_copy(struct gp__aql_retained *k, uint64_t at, uint64_t end,
			       uint64_t queue_read, bool retain);
/* The read index as the program sees it. */
uint64_t gp__aql_retained_read(struct gp__aql_retained *k, uint64_t submitted, uint64_t queue_read);

/* Whether there are packets in flight, and all of them can be submitted again. */
bool gp__aql_retained_can_drop(struct gp__aql_retained *k, uint64_t submitted, uint64_t queue_read);
/* The queue was reset and does not run. Returns from where packets are copied again. */
uint64_t gp__aql_retained_drop(struct gp__aql_retained *k, uint64_t submitted, uint64_t queue_read);

#endif
