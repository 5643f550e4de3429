/* SPDX-License-Identifier: MIT */
/*
 * A command queue of an OpenCL program, with a launch window (level 1), and with guarded launches
 * where the device supports them (level 2, guard.h).
 *
 * Every command goes to the driver when the program enqueues it, and the program gets the driver's
 * own objects: the event and its profile, the position in the queue, arguments and memory of that
 * moment, the pointer of a map. The layer adds a user event to the command's wait list, its gate,
 * and completes it when the window has room. So order, dependencies and callbacks stay with the
 * driver, and no thread of the program waits that would not wait without the layer.
 *
 * In an in-order queue a gate only waits for what the command waits for anyway. In an out-of-order
 * queue a command that waits for others takes no room in the window before these have ended: so
 * every command in the window can run, and there is no deadlock.
 *
 * While no other program is on the device and the queue is not held, commands have no gates, and
 * only the latest command is watched, now and then.
 *
 * Locking: `order` is held from the choice of a gate until the driver has the command, so that
 * gates are opened in the order in which the driver has the commands. `lock` protects the state;
 * the driver is not called under it, since it may call back at once. A command that a callback
 * enqueues from inside an enqueueing function has no gate. Only the worker thread opens gates, in
 * gp__cl_queue_advance().
 *
 * Wrong tool for work that is enqueued by other functions, such as those of an extension: the
 * driver runs it in order, but it is neither held nor seen.
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

/* Functions for the queue, called under its lock: they neither wait nor call back. */
struct gp__cl_host {
	const cl_icd_dispatch *next; /* the driver's functions */
	/* The queue begins or ceases to have work. */
	void (*work)(void *data, struct gp__cl_queue *q, bool has_work);
	/* gp__cl_queue_advance() has something to do: now, or within a few milliseconds. */
	void (*wake)(void *data, struct gp__cl_queue *q);
	void (*wake_later)(void *data, struct gp__cl_queue *q);
	void *data;
};

struct gp__cl_queue {
	const struct gp__cl_host *host;
	cl_command_queue cl;
	cl_context context;
	bool out_of_order;
	pthread_mutex_t order; /* recursive; protects the next two */
	unsigned int nr_calls;
	cl_event barrier; /* later commands wait for it; NULL: none */
	pthread_mutex_t lock; /* of all that follows */
	struct gp__pq pq; /* the commands in the window */
	uint32_t width; /* of the window, in commands; 0: the tuned one */
	bool narrow;
	struct gp__link gated; /* as many as are pending in pq, in that order */
	struct gp__link ended; /* for the worker to free */
	uint32_t nr_alive; /* calls in progress, and commands that have not ended */
	uint32_t nr_commands; /* that are allocated */
	cl_event last; /* the latest command that is not watched; NULL: none */
	bool watching; /* an earlier command */
	struct gp__cl_guard guard;
	bool busy; /* as reported last */
	bool left; /* the program has released the queue */
};

/* The priority of a new queue among those of its program: -1, 0 or 1. @properties may be NULL. */
int32_t gp__cl_own_priority(const cl_queue_properties *properties);

/* @width, or, if that is 0, @budget_ns: the size of the window; both 0: the default. */
int gp__cl_queue_init(struct gp__cl_queue *q, const struct gp__cl_host *host, cl_command_queue cl,
		      uint32_t width, uint64_t budget_ns);
/* When gp__cl_queue_advance() has returned true. */
void gp__cl_queue_destroy(struct gp__cl_queue *q);

/* Holds or releases the queue. Commands that are in flight end. */
void gp__cl_queue_hold(struct gp__cl_queue *q, bool held);
/* Sets whether there is a window while the queue is not held; at first there is none. */
void gp__cl_queue_narrow(struct gp__cl_queue *q, bool narrow);
/* The program enqueues no more. */
void gp__cl_queue_leave(struct gp__cl_queue *q);

/* Opens the gates that may be opened; called by one thread. True: the program has released the
 * queue, and all commands have ended. */
bool gp__cl_queue_advance(struct gp__cl_queue *q);

/* A call of the program that enqueues a command. */
struct gp__cl_call {
	/* For the driver, instead of the program's own. */
	cl_uint nr_waits;
	const cl_event *waits;
	cl_event *event;
	/* Between begin and end. */
	struct gp__cl_queue *queue;
	bool windowed; /* another program may want the device */
	struct gp__cl_command *command; /* NULL: the command is not watched by itself */
	cl_uint nr_own; /* waits of the program */
	cl_event *asked; /* by the program; may be NULL */
	cl_event made, here[8];
	cl_event *list; /* if `here` is too small */
};

/* False: the list of events is invalid, which the driver will refuse. */
bool gp__cl_begin(struct gp__cl_call *call, struct gp__cl_queue *q, cl_uint nr_waits,
		  const cl_event *waits, cl_event *event);
/* @result: the driver's. @blocking: return when the command has ended. Returns the program's
 * result. */
cl_int gp__cl_end(struct gp__cl_call *call, cl_int result, cl_bool blocking);

/* A barrier is enqueued between these two calls; @event: completes with the barrier, or NULL. */
void gp__cl_barrier_begin(struct gp__cl_queue *q);
void gp__cl_barrier_end(struct gp__cl_queue *q, cl_event event);

#endif
