/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Whether a queue of an AMD GPU has work, from its ring alone: for a kernel that schedules.
 *
 * Programs ring doorbells without the kernel, so work is seen to come by the write pointer. That
 * the read pointer has caught up is not the end: a packet is consumed before its waves are done. It
 * has ended when the last packet's completion signal has fired or, where there is none, when
 * nothing has moved for a grace time. The waves of a queue that does not run are saved: its time
 * begins when it runs again.
 *
 * Pointers, packet and signal are in the program's memory, which may say anything. What cannot be
 * read is unknown, and the queue is taken to be as it was.
 */
#ifndef GP__CORE_RING_H
#define GP__CORE_RING_H

#include "core/types.h"

/* Where a queue's ring is. */
struct gp__ring_place {
	u64 ring, bytes;
	u64 read_ptr, write_ptr;
	bool is_aql; /* otherwise PM4 */
};

/*
 * Reads the program's memory, after all that was read before, and without waiting for pages that
 * are not there: false.
 */
struct gp__ring_reader {
	bool (*read)(void *data, u64 address, void *to, size_t bytes);
	void *data;
};

/* What is seen at one moment. */
struct gp__ring_sight {
	u64 rptr, wptr;
	u64 pending; /* packets of AQL, dwords of PM4 */
	bool has_signal;
	s64 signal; /* 0 or less: the last packet is done */
};

/* What is remembered. All zero: never seen. */
struct gp__ring {
	bool is_known;
	bool is_busy;
	bool has_signal;
	s64 signal;
	u64 rptr, wptr, pending;
	u64 still_since;
};

enum gp__ring_event {
	GP__RING_NOTHING,
	GP__RING_READY,
	GP__RING_IDLE,
};

/* 0; -EFAULT: unknown; -ERANGE: what is there makes no sense. */
int gp__ring_read(const struct gp__ring_place *place, const struct gp__ring_reader *from,
		  struct gp__ring_sight *sight);

enum gp__ring_event gp__ring_look(struct gp__ring *ring, const struct gp__ring_sight *sight,
				  bool is_running, u64 grace_ns, u64 now);

#endif
