/* SPDX-License-Identifier: MIT */
/*
 * The threaded queue from the inside: its struct, and the functions of engine.c for the public
 * calls in queue.c and create.c. All of them are called with the queue's lock held.
 *
 * This folder is libgpreempt: preemptible queues of one process, and a scheduler inside it
 * (sched.c). Joined programs do not use it, except for the rule of levels (level.h), the launch
 * window (window.h) and, in the OpenCL layer, the state machine (pq.h).
 *
 * Locking:
 *  - one lock a queue. It is never held across a call into the device or into
 *    the program (event callback): each of them may take as long as it likes
 *    without keeping others from asking how the queue is;
 *  - what keeps two device calls apart is not the lock but pq.op: the machine
 *    hands out no second action before the first is reported;
 *  - sync is outside of that. One thread at a time is in it (q->syncing), and
 *    it may overlap launches and verbs. That thread shares two tickets with the
 *    others without the lock, `wanted` and `synced`; see reap();
 *  - a thread that sleeps on `changed` is woken whenever a command ends, a verb
 *    returns, or the queue begins to close, and then looks again. The worker
 *    alone sleeps on `work`.
 */
#ifndef GP_QUEUE_QUEUE_H
#define GP_QUEUE_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/cond.h"
#include "queue/driver.h"
#include "queue/pq.h"

/* Results of failed commands that are remembered. */
#define GP__FAILURES_MAX 64u
#define GP__NAME_MAX 48

struct gp__slot {
	void *cmd;
	int rc; /* of a launch that failed */
};

struct gp__failure {
	uint64_t ticket;
	int rc;
};

struct gp_queue {
	pthread_mutex_t lock;
	struct gp__cond changed;
	struct gp__cond work;
	struct gp__pq pq;

	struct gp_device_ops ops;
	void *hwq;
	struct gp__member *member; /* NULL: no scheduler, or leaving it */

	struct gp__slot *ring; /* by ticket; what is not completed */
	uint64_t ring_size; /* a power of two */
	uint32_t max_pending;
	uint64_t cancelled; /* first ticket never launched; 0 = none */

	bool syncing;
	/* Shared by the thread in sync and those that wait for it; see reap(). */
	_Atomic uint64_t wanted; /* first ticket that a thread waits for */
	_Atomic uint64_t synced; /* ended well, up to here; completed may lag behind */
	unsigned int timed; /* waiters that cannot sync themselves */
	bool reap_always;

	pthread_t worker;
	bool worker_started;
	bool worker_asleep;
	bool worker_stop;

	unsigned int users; /* threads inside the API */
	unsigned int queued; /* of them, to be woken when a device call returns */
	uint64_t failed;
	uint64_t forgotten; /* latest failed ticket not remembered */
	struct gp__failure failures[GP__FAILURES_MAX];

	gp_event_fn event;
	void *event_data;
	char name[GP__NAME_MAX];
};

static inline struct gp__slot *gp__q_slot(struct gp_queue *q, uint64_t ticket)
{
	return &q->ring[ticket & (q->ring_size - 1)];
}

int gp__q_ring_grow(struct gp_queue *q);
/* Whether a command has ended, and how. */
bool gp__q_ended(struct gp_queue *q, uint64_t ticket, int *rc);

/* Every call begins and ends with these; gp_queue_destroy() waits for all calls. */
void gp__q_enter(struct gp_queue *q);
void gp__q_leave(struct gp_queue *q);

/*
 * Carries out what the machine asks for, as far as this thread may. A verb that is due and not for
 * this thread belongs to one in gp__q_wait_for_device(). True: the device was called, and
 * everything may have changed meanwhile.
 */
bool gp__q_pump(struct gp_queue *q, unsigned int may);

/* Starts or wakes the worker if there is something for it to do. */
void gp__q_kick(struct gp_queue *q);

/* Sleeps until another thread's device call may have returned. */
void gp__q_wait_for_device(struct gp_queue *q);

struct gp__limit {
	int64_t timeout_ns; /* negative: none */
	uint64_t at;
};

struct gp__limit gp__q_limit(int64_t timeout_ns);

/*
 * Takes one step towards the end of a command: in sync, if no other thread is there and any
 * duration is acceptable, else asleep until something has changed. -ETIME: the limit is reached.
 */
int gp__q_wait_step(struct gp_queue *q, uint64_t wanted, const struct gp__limit *l);

int gp__q_result(int rc);
const char *gp__q_errno(int rc);

#endif
