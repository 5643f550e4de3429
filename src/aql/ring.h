/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Judges from a queue's ring whether the queue has work: the one judge that user space, the kernel
 * series and the emulated machine share. Freestanding and pure: it reads no clock and no memory by
 * itself, the caller brings both.
 *
 * A program rings a doorbell without the kernel, so work is seen to arrive by the write index. A
 * read index that has caught up is not the end, for a packet is consumed before its waves are done.
 * Work has ended when nothing is pending and
 *  - the last packet's completion signal has fired, and the packets before it are known to be done:
 *    the last packet has the barrier bit, or their own signals have fired;
 *  - the last signal has fired, nothing is known of the packets before it, and the hardware has no
 *    wave of the program, or nobody can say and nothing has moved for grace_ns;
 *  - there is no signal to read, and nothing has moved for grace_ns where the hardware has no wave,
 *    for blind_ns where nobody can say.
 * A signal has fired when it is 0 or less, or less than it was with the same indices.
 *
 * Everything that is read is the program's memory, and nothing in it is believed for ever. A queue
 * that is busy while its read index stands still (its signal was armed again before anybody looked,
 * its write index was moved without a doorbell, its memory cannot be read) is doubted after
 * doubt_ns where the hardware has no wave, and after limit_ns where nobody can say. Then it counts
 * as idle. Work that arrives later counts again; where packets are pending that the hardware does
 * not take, only after a rest that is GP__RING_REST times as long as the belief was.
 *
 * The waves of a queue that does not run are saved. All of these times begin when it runs again.
 *
 * The barrier bit must be seen while a packet is pending: the hardware erases it when it consumes
 * the packet. Indices are read in the order read, write, so that what is pending never is negative.
 */
#ifndef GP__AQL_RING_H
#define GP__AQL_RING_H

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>
#else
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#endif

#define GP__RING_GRACE_NS ((uint64_t)10000000)
#define GP__RING_BLIND_NS ((uint64_t)100000000)
#define GP__RING_DOUBT_NS ((uint64_t)1000000000)
#define GP__RING_LIMIT_NS ((uint64_t)30000000000)
#define GP__RING_REST 16

/* Signals of so many packets are read, the last ones. */
#define GP__RING_SIGNALS 8
#define GP__RING_WORDS (GP__RING_SIGNALS + 2)

enum gp__ring_kind {
	GP__RING_AQL,
	GP__RING_PM4, /* indices count dwords, and wrap with the ring */
	GP__RING_SDMA, /* indices count bytes */
};

/* The addresses of a ring in its program. */
struct gp__ring_place {
	uint64_t ring, bytes;
	uint64_t read_index, write_index;
	enum gp__ring_kind kind;
};

struct gp__ring_patience {
	uint64_t grace_ns, blind_ns; /* for work whose end cannot be seen */
	uint64_t doubt_ns, limit_ns; /* for work that makes no progress */
};

/* The state of the packets before the last one. */
enum gp__ring_before {
	GP__RING_BEFORE_UNKNOWN,
	GP__RING_BEFORE_RUNS, /* a signal of one has not fired */
	GP__RING_BEFORE_DONE,
};

/* A reading of a ring at one moment. */
struct gp__ring_sight {
	int error; /* -EFAULT: it cannot be read; -ERANGE: indices that no queue has */
	bool is_running; /* false: somebody holds the queue */
	uint64_t read, write;
	uint64_t pending; /* packets, dwords (PM4) or bytes (SDMA) */
	bool has_barrier; /* the last packet */
	bool has_signal;
	int64_t signal; /* of the last packet */
	enum gp__ring_before before;
	/* Of the program on the GPU: 1 or 0, -1: nobody can say. Asked for where
	 * gp__ring_asks_waves(). */
	int waves;
};

/* The memory of a ring between looks. All zero: never seen. */
struct gp__ring {
	bool is_busy;
	bool has_signal, has_fired; /* the last packet's, with these indices */
	int64_t signal;
	uint64_t read, write, pending;
	uint64_t done; /* packets before this one are done */
	uint64_t barrier_at; /* the packet before this one has the barrier bit; 0: none is known */
	uint64_t still_since; /* nothing has moved, and no wave was there */
	uint64_t stuck_since; /* it is busy, the read index has not moved, no wave was there */
	uint64_t rest_until; /* what arrives before is not believed */
};

enum gp__ring_event {
	GP__RING_NOTHING,
	GP__RING_READY,
	GP__RING_IDLE,
};

/*
 * Reading, in rounds, so that a caller can read many rings at once: after gp__ring_begin(), and for
 * as long as gp__ring_next() is true, the caller reads the first nr words in their order.
 */
struct gp__ring_word {
	uint64_t at;
	uint64_t value;
	bool is_there;
};

struct gp__ring_reading {
	const struct gp__ring *ring;
	const struct gp__ring_place *place;
	unsigned int round;
	bool asks_end;
	uint32_t nr_signals, signals; /* how many packets may have one, and which do */
	uint32_t nr;
	struct gp__ring_word word[GP__RING_WORDS];
	struct gp__ring_sight sight; /* the result */
};

/* @asks_end: whether the end of work is of interest, should nothing be pending. */
void gp__ring_begin(struct gp__ring_reading *reading, const struct gp__ring *ring,
		    const struct gp__ring_place *place, bool is_running, bool asks_end);
bool gp__ring_next(struct gp__ring_reading *reading);

/*
 * Reads the program's memory, after all that was read before, and without waiting for pages that
 * are not there: false.
 */
struct gp__ring_reader {
	bool (*read)(void *data, uint64_t address, void *to, size_t bytes);
	void *data;
};

/* All rounds of one ring. */
void gp__ring_read(struct gp__ring_reading *reading, const struct gp__ring_reader *from);

/* How much the hardware has not consumed. */
uint64_t gp__ring_pending(const struct gp__ring_place *place, uint64_t read, uint64_t write);

/* Whether a ring must be read whose write index is @write now. */
bool gp__ring_asks(const struct gp__ring *ring, uint64_t write);
/* Whether an index is another than at the last look. */
bool gp__ring_has_moved(const struct gp__ring *ring, const struct gp__ring_sight *sight);

/* Whether it matters whether the hardware has waves of the program. */
bool gp__ring_asks_waves(const struct gp__ring *ring, const struct gp__ring_sight *sight,
			 const struct gp__ring_patience *patience, uint64_t now);

/* Work that came and went between two looks, with its signals fired, is no event. */
enum gp__ring_event gp__ring_look(struct gp__ring *ring, const struct gp__ring_sight *sight,
				  const struct gp__ring_patience *patience, uint64_t now);

/* Somebody saw work arrive. True: there was none before. */
bool gp__ring_arrived(struct gp__ring *ring, uint64_t now);
/* The queue was held, or released: its times begin now. */
void gp__ring_restart(struct gp__ring *ring, uint64_t now);

#endif
