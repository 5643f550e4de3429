/* SPDX-License-Identifier: MIT */
/*
 * A command queue of an OpenCL program, with a launch window (level 1), and launches that can be
 * cut short where the device can (level 2, guard.h).
 *
 * Every command goes to the driver when the program enqueues it, and all that the program gets is
 * the driver's own: the event and its profile, the place in the order, arguments and memory as they
 * were then, the pointer of a map. What keeps a command from starting is one more event that it
 * waits for, its gate, which is opened when the window has room. So order, dependencies and
 * callbacks are the driver's affair as ever, and no thread of the program waits that did not
 * before.
 *
 * In a queue that runs its commands in order, a gate only waits for what the command waits for
 * anyway. Where they may run in any order, a command that waits for others takes no room before
 * they have ended; so whatever has room can run, and nobody waits for what waits for him.
 *
 * While nobody else is on the device, and the queue is not held, commands have no gates, and only
 * the latest of them is watched, now and then: nobody asks whether there is work.
 *
 * Locking: `order` is held from the choice of a gate until the driver has the command, so that
 * gates are opened in the order in which the driver has the commands. `lock` guards the state; the
 * driver is not called under it, as it may call back at once. What a driver calls from inside an
 * enqueueing function, and enqueues in turn, has no gate. Gates are opened by the pump alone:
 * gp__cl_queue_advance().
 *
 * Wrong tool for work that is enqueued past it, such as through a function of an extension: the
 * driver runs that in its order, but it is neither held nor seen.
 */
#ifndef GP__JOIN_OPENCL_QUEUE_H
#define GP__JOIN_OPENCL_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#include "join/opencl/cl.h"

#include "core/list.h"
#include "join/opencl/guard.h"
#include "queue/pq.h"

struct gp__cl_queue;

/* Called under the queue's lock: they neither wait nor call back. */
struct gp__cl_host {
	const cl_icd_dispatch *next; /* the driver's functions */
	/* It has work, or none any more. */
	void (*work)(void *data, struct gp__cl_queue *q, bool has_work);
	/* gp__cl_queue_advance() has something to do; later: in a while is soon enough. */
	void (*kick)(void *data, struct gp__cl_queue *q);
	void (*kick_later)(void *data, struct gp__cl_queue *q);
	void *data;
};

struct gp__cl_queue {
	const struct gp__cl_host *host;
	cl_command_queue cl;
	cl_context context;
	bool out_of_order;
	pthread_mutex_t order; /* of one thread it may be held by several calls; of: */
	unsigned int nr_calls;
	cl_event barrier; /* what comes later waits for it; NULL: nothing */
	pthread_mutex_t lock; /* of what follows */
	struct gp__pq pq; /* of the commands that have a place in the window */
	uint32_t width; /* of the window, in commands; 0: the tuned one */
	bool narrow;
	struct gp__link gated; /* as many as are pending in pq, in that order */
	struct gp__link ended; /* for the pump to put away */
	uint32_t nr_alive; /* calls under way, and commands that have not ended */
	uint32_t nr_commands; /* that have memory */
	cl_event last; /* the latest that is not watched; NULL: none */
	bool watching; /* one before that */
	struct gp__cl_guard guard;
	bool busy; /* as was last told */
	bool left; /* the program has released it */
};

/* @width, or, where it is 0, @budget_ns: what may be on its way; both 0: the default. */
int gp__cl_queue_init(struct gp__cl_queue *q, const struct gp__cl_host *host, cl_command_queue cl,
		      uint32_t width, uint64_t budget_ns);
/* When gp__cl_queue_advance() says so. */
void gp__cl_queue_destroy(struct gp__cl_queue *q);

/* Nothing that comes from now on starts, or it goes on. What is on its way ends. */
void gp__cl_queue_hold(struct gp__cl_queue *q, bool held);
/* Whether there is a window while it is not held; at first there is none. */
void gp__cl_queue_narrow(struct gp__cl_queue *q, bool narrow);
/* The program enqueues no more. */
void gp__cl_queue_leave(struct gp__cl_queue *q);

/* Opens the gates that may be; of one thread. True: the program has left it, and all has ended. */
bool gp__cl_queue_advance(struct gp__cl_queue *q);

/* One call of the program that enqueues something. */
struct gp__cl_call {
	/* What the driver is given instead of the program's own. */
	cl_uint nr_waits;
	const cl_event *waits;
	cl_event *event;
	/* Between begin and end. */
	struct gp__cl_queue *queue;
	bool windowed; /* somebody may want it to end early */
	struct gp__cl_command *command; /* NULL: it is not followed by itself */
	cl_uint nr_own; /* waits that are the program's */
	cl_event *asked; /* the program's */
	cl_event made, here[8];
	cl_event *list; /* where `here` is too small */
};

/* False: it is the driver's affair alone, as the list of events is none. */
bool gp__cl_begin(struct gp__cl_call *call, struct gp__cl_queue *q, cl_uint nr_waits,
		  const cl_event *waits, cl_event *event);
/* What the driver said. @blocking: returns when the command has ended. The program's answer. */
cl_int gp__cl_end(struct gp__cl_call *call, cl_int result, cl_bool blocking);

/* A barrier is enqueued between these two; @event: that of what the barrier waits for, or NULL. */
void gp__cl_barrier_begin(struct gp__cl_queue *q);
void gp__cl_barrier_end(struct gp__cl_queue *q, cl_event event);

#endif
