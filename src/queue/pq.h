/* SPDX-License-Identifier: MIT */
/*
 * The preemptible queue as a pure state machine.
 *
 * It decides; a driver acts. The driver tells it what happened (a command was
 * submitted, a hold was placed, a call into the device returned, commands
 * completed) and asks what to do next: launch ticket N, run a verb, or nothing
 * until time T. No threads, clock, allocation or I/O: time comes in with each
 * call, memory is the caller's, and the threaded driver (queue.c) and the
 * simulator run exactly this code.
 *
 * Commands are tickets 1, 2, 3, ... in the order submitted. A hardware queue is
 * a FIFO, so three counters say everything about them:
 *
 *	completed <= launched <= submitted
 *
 * These always hold:
 *  - one device call (launch or verb) at a time: gp__pq_next() answers NONE
 *    until gp__pq_done() has reported the last one;
 *  - nothing is launched while a holder holds the queue or the device is still
 *    stopped;
 *  - every ticket is launched exactly once, in order, unless the queue is
 *    closed first;
 *  - a stop that fails leaves the queue running and drops the holds;
 *  - a stop that succeeded is owed its undoing: it is retried, with growing
 *    pauses, until the device accepts it.
 *
 * Several holders may hold one queue (its program, a scheduler). It runs when
 * none does.
 *
 * It is the wrong tool for devices that complete the commands of one queue out of order.
 */
#ifndef GP_QUEUE_PQ_H
#define GP_QUEUE_PQ_H

#include <stdbool.h>
#include <stdint.h>

#include "queue/window.h"

/* The device's abilities beyond launch and sync, which every device has. */
enum gp__pq_cap {
	GP__PQ_CAP_LV2 = 1 << 0, /* deactivate and reactivate */
	GP__PQ_CAP_LV3 = 1 << 1, /* interrupt and restore */
	GP__PQ_CAP_PENDING = 1 << 2, /* counts the commands that have not begun */
};

enum gp__pq_op {
	GP__PQ_NONE,
	GP__PQ_LAUNCH,
	GP__PQ_DEACTIVATE, /* level 2: nothing new starts */
	GP__PQ_REACTIVATE,
	GP__PQ_INTERRUPT, /* level 3: running work is taken off */
	GP__PQ_RESTORE,
	GP__PQ_BORROWED, /* see gp__pq_borrow() */
};

/* The operations that the asking thread may carry out. */
enum gp__pq_may {
	GP__PQ_MAY_LAUNCH = 1 << 0,
	GP__PQ_MAY_VERB = 1 << 1,
	GP__PQ_MAY_ALL = GP__PQ_MAY_LAUNCH | GP__PQ_MAY_VERB,
};

enum gp__pq_state {
	GP__PQ_RUNNING,
	GP__PQ_SUSPENDING,
	GP__PQ_SUSPENDED,
	GP__PQ_RESUMING,
};

/* The holders of a queue; each holds at most once. */
enum gp__pq_holder {
	GP__PQ_BY_USER = 1 << 0,
	GP__PQ_BY_SCHED = 1 << 1,
};

/* An event to report; see gp__pq_done(). */
enum gp__pq_note {
	GP__PQ_NOTE_NONE,
	GP__PQ_NOTE_FALLBACK, /* a level was refused for good */
	GP__PQ_NOTE_STOP_FAILED, /* the queue keeps running */
	GP__PQ_NOTE_START_FAILED, /* still stopped; will be retried */
	GP__PQ_NOTE_START_RECOVERED, /* a retry succeeded */
};

struct gp__pq_config {
	uint32_t caps; /* enum gp__pq_cap */
	int level; /* asked for: 1..3; 0 = the best there is */
	bool strict; /* no other level than the one asked for */
	uint32_t window; /* level 1: fixed window; 0 = tuned */
	uint32_t batch; /* commands awaited at once; 0 = tuned */
	uint32_t wide; /* levels 2 and 3: window; 0 = default */
	uint64_t budget_ns; /* level 1: longest drain; 0 = default */
};

struct gp__pq_counters {
	uint64_t launches;
	uint64_t suspends; /* stops that took effect */
	uint64_t resumes; /* times the device was started again */
	uint64_t fallbacks; /* levels lost at run time */
	uint64_t failures; /* stops that failed */
	uint64_t retries; /* restores and reactivates tried again */
};

struct gp__pq {
	struct gp__pq_config cfg;
	uint32_t caps; /* what is left of cfg.caps */
	int requested;
	int effective;

	uint64_t submitted;
	uint64_t launched; /* counts the launch being carried out */
	uint64_t completed;

	uint32_t holds; /* enum gp__pq_holder */
	bool drain; /* a holder wants nothing left running */
	bool closing;
	bool unsure; /* a verb timed out: it is unknown whether the queue is stopped */
	enum gp__pq_op op; /* the device call being carried out */
	int stop_level; /* how it is stopped now; 0 = it is not */
	uint64_t quiet_ticket; /* once completed, nothing stopped still runs */

	uint32_t eintr; /* times in a row the verb at hand was interrupted */
	uint32_t tries; /* times in a row the device refused to start again */
	uint64_t retry_at;
	int last_error; /* of the latest stop or start that failed */

	uint64_t asked_at; /* when the current hold began */
	bool quiet_known; /* last_quiet_ns is about the current stop */
	uint64_t last_suspend_ns;
	uint64_t last_quiet_ns;

	struct gp__window win;
	struct gp__pq_counters count;
};

struct gp__pq_action {
	enum gp__pq_op op;
	uint64_t ticket; /* for LAUNCH */
	uint64_t wake_at; /* for NONE: ask again then; 0 = no need */
};

#define GP__PQ_BUDGET_NS 500000ull /* 500 us */
#define GP__PQ_WIDE 1024u
#define GP__PQ_RETRY_MIN_NS 1000000ull /* 1 ms, doubled each time ... */
#define GP__PQ_RETRY_MAX_NS 1000000000ull /* ... up to 1 s */
#define GP__PQ_EINTR_MAX 16u /* then it counts as a failure */
#define GP__PQ_CLOSE_TRIES 8u /* a closing queue gives up here */

/*
 * -EINVAL: a level out of range, or a batch larger than the window.
 * -EOPNOTSUPP: strict, and the device lacks that level.
 */
int gp__pq_init(struct gp__pq *pq, const struct gp__pq_config *cfg);

/* The new command's ticket, or 0 when the queue is closing. */
uint64_t gp__pq_submit(struct gp__pq *pq, uint64_t now);

/*
 * Everything up to this ticket has ended, well or badly. Called after each
 * sync; a ticket whose launch failed is passed here too, once all before it
 * have completed. exact as in gp__window_complete(). Completing a ticket twice
 * is harmless.
 */
void gp__pq_complete(struct gp__pq *pq, uint64_t ticket, bool exact, uint64_t now);

/*
 * Place or lift a hold. With drain the holder wants nothing left running, and
 * gp__pq_quiet() tells when. A hold already placed is not an error. Returns
 * -ESHUTDOWN on a closing queue.
 */
int gp__pq_hold(struct gp__pq *pq, enum gp__pq_holder by, bool drain, uint64_t now);
void gp__pq_release(struct gp__pq *pq, enum gp__pq_holder by, uint64_t now);

/*
 * No more commands, no more holds. What was not launched is cancelled: the
 * first cancelled ticket is returned, the last is *last; none if it is less.
 * The driver keeps asking for actions and reporting completions until
 * gp__pq_closed().
 */
uint64_t gp__pq_close(struct gp__pq *pq, uint64_t *last, uint64_t now);

/* The next action, among those the caller may carry out; begins it. */
struct gp__pq_action gp__pq_next(struct gp__pq *pq, unsigned int may, uint64_t now);
/* The same question without beginning anything. */
struct gp__pq_action gp__pq_peek(const struct gp__pq *pq, uint64_t now);

/*
 * The call begun by gp__pq_next() returned rc: 0 or a negative errno. At most
 * one note comes of it; FALLBACK means the effective level has just changed.
 */
enum gp__pq_note gp__pq_done(struct gp__pq *pq, int rc, uint64_t now);

/*
 * Claims the device for a call that the machine does not know; false: it is busy. Ends with
 * gp__pq_done().
 */
bool gp__pq_borrow(struct gp__pq *pq);

/*
 * After a DEACTIVATE that succeeded, from a device with CAP_PENDING: n of the
 * launched commands had not begun. Those stay frozen; the rest will finish.
 * A negative n means the device could not say after all.
 */
void gp__pq_unstarted(struct gp__pq *pq, int64_t n, uint64_t now);

enum gp__pq_state gp__pq_state(const struct gp__pq *pq);
const char *gp__pq_op_name(enum gp__pq_op op);

/* Whether the queue is stopped and nothing of it runs any more. */
bool gp__pq_quiet(const struct gp__pq *pq);
/* Whether a stopped queue will be seen to become quiet. */
bool gp__pq_can_quiet(const struct gp__pq *pq);
/* Whether the queue is closed and nothing is left to do. */
bool gp__pq_closed(const struct gp__pq *pq);

/* Sets the window of level 1; 0: the tuned one. */
void gp__pq_set_window(struct gp__pq *pq, uint32_t window);
uint32_t gp__pq_window(const struct gp__pq *pq);
uint32_t gp__pq_batch(const struct gp__pq *pq);

/*
 * The ticket to sync next: far enough to save calls, no further than `wanted` (0: no thread waits
 * for a particular one), never one whose launch has not returned. 0: nothing is in flight.
 */
uint64_t gp__pq_sync_target(const struct gp__pq *pq, uint64_t wanted);

static inline uint64_t gp__pq_pending(const struct gp__pq *pq)
{
	return pq->submitted - pq->launched;
}

static inline uint64_t gp__pq_inflight(const struct gp__pq *pq)
{
	return pq->launched - pq->completed;
}

/* Ready: something is submitted and not completed. */
static inline bool gp__pq_has_work(const struct gp__pq *pq)
{
	return pq->submitted != pq->completed;
}

#endif
