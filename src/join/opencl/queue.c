// SPDX-License-Identifier: MIT
#include "join/opencl/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* The default. */
#define BUDGET_NS GP__MS

enum stage {
	FREE, /* not in the window */
	WAITING, /* for other commands, and then for room */
	GATED, /* waits for room */
	LAUNCHED,
	OVER,
};

struct gp__cl_command {
	struct gp__link link; /* in the queue's gated or ended */
	struct gp__cl_queue *queue;
	enum stage stage;
	cl_event event, gate; /* ours to release; gate: may be NULL */
	uint32_t nr_waits; /* that have not ended, and one more while they are counted */
	uint32_t references; /* its own, and one for each pending callback */
	bool ended;
	bool watches; /* its end is the end of all commands before it */
};

static const cl_icd_dispatch *next_of(const struct gp__cl_queue *q)
{
	return q->host->next;
}

/*
 * The queue's state, under its lock
 */

static bool is_windowed(const struct gp__cl_queue *q)
{
	return q->narrow || q->pq.holds;
}

static void report_work(struct gp__cl_queue *q)
{
	bool busy = q->nr_alive || q->last;

	if (busy == q->busy)
		return;
	q->busy = busy;
	q->host->work(q->host->data, q, busy);
}

static void wake(struct gp__cl_queue *q)
{
	q->host->wake(q->host->data, q);
}

/* Has the latest command watched. */
static void wake_for_last(struct gp__cl_queue *q)
{
	if (is_windowed(q))
		wake(q);
	else
		q->host->wake_later(q->host->data, q);
}

/* Whether a new command would be the first in the window's queue and find room. */
static bool has_room(const struct gp__cl_queue *q, uint64_t now)
{
	struct gp__pq after = q->pq;

	gp__pq_submit(&after, now);
	return gp__pq_pending(&after) == 1 && gp__pq_peek(&after, now).op == GP__PQ_LAUNCH;
}

/* The driver may end commands in any order; the window only counts them. */
static void count_end(struct gp__cl_queue *q, uint64_t now)
{
	gp__pq_complete(&q->pq, q->pq.completed + 1, true, now);
}

static void append(struct gp__cl_command *c, uint64_t now)
{
	c->stage = GATED;
	gp__pq_submit(&c->queue->pq, now);
	gp__list_push(&c->queue->gated, &c->link);
	wake(c->queue);
}

/* The command is over; only callbacks of other events may still refer to it. */
static void finish(struct gp__cl_command *c, uint64_t now)
{
	struct gp__cl_queue *q = c->queue;

	if (c->stage == LAUNCHED)
		count_end(q, now);
	if (c->watches)
		q->watching = false;
	c->stage = OVER;
	gp__list_push(&q->ended, &c->link);
	q->nr_alive--;
	report_work(q);
	if (c->watches)
		wake_for_last(q);
	else
		wake(q);
}

/*
 * Callbacks of the driver
 */

static void CL_CALLBACK command_ended(cl_event event, cl_int status, void *data)
{
	struct gp__cl_command *c = data;
	struct gp__cl_queue *q = c->queue;

	(void)event, (void)status;
	pthread_mutex_lock(&q->lock);
	c->ended = true;
	/* A command that fails may end before its gate was opened; the gate is opened in order. */
	if (c->stage != GATED)
		finish(c, gp__clock_ns());
	pthread_mutex_unlock(&q->lock);
}

/* Under the lock. */
static void drop_wait(struct gp__cl_command *c)
{
	if (!--c->nr_waits && c->stage == WAITING)
		append(c, gp__clock_ns());
}

static void put(struct gp__cl_command *c)
{
	struct gp__cl_queue *q = c->queue;
	bool last;

	pthread_mutex_lock(&q->lock);
	last = !--c->references;
	q->nr_commands -= last;
	if (last && q->left)
		wake(q);
	pthread_mutex_unlock(&q->lock);
	if (last)
		free(c);
}

static void CL_CALLBACK wait_ended(cl_event event, cl_int status, void *data)
{
	struct gp__cl_command *c = data;
	struct gp__cl_queue *q = c->queue;

	(void)event, (void)status;
	pthread_mutex_lock(&q->lock);
	drop_wait(c);
	pthread_mutex_unlock(&q->lock);
	put(c);
}

/* Without the lock: if the command has ended, the driver calls back at once. */
static void watch(struct gp__cl_command *c)
{
	const cl_icd_dispatch *next = next_of(c->queue);

	/* A command without a callback must not stay in the window for ever. */
	if (next->clSetEventCallback(c->event, CL_COMPLETE, command_ended, c) != CL_SUCCESS)
		command_ended(c->event, CL_COMPLETE, c);
}

static void wait_for(struct gp__cl_command *c, cl_event event)
{
	const cl_icd_dispatch *next = next_of(c->queue);

	pthread_mutex_lock(&c->queue->lock);
	c->nr_waits++;
	c->references++;
	pthread_mutex_unlock(&c->queue->lock);
	if (next->clSetEventCallback(event, CL_COMPLETE, wait_ended, c) != CL_SUCCESS)
		wait_ended(event, CL_COMPLETE, c);
}

/*
 * The worker
 */

static void open_gate(const struct gp__cl_queue *q, cl_event gate)
{
	if (!gate)
		return;
	next_of(q)->clSetUserEventStatus(gate, CL_COMPLETE);
	next_of(q)->clReleaseEvent(gate);
}

static cl_event take_gate(struct gp__cl_command *c)
{
	cl_event gate = c->gate;

	c->gate = NULL;
	return gate;
}

/* Under the lock, which it drops meanwhile. False: no gate may be opened. */
static bool launch_next(struct gp__cl_queue *q)
{
	struct gp__cl_command *c;
	cl_event gate;

	if (gp__pq_next(&q->pq, GP__PQ_MAY_LAUNCH, gp__clock_ns()).op != GP__PQ_LAUNCH)
		return false;
	c = container_of(q->gated.next, struct gp__cl_command, link);
	gp__list_del(&c->link);
	c->stage = LAUNCHED;
	gate = take_gate(c);
	if (c->ended)
		finish(c, gp__clock_ns());
	pthread_mutex_unlock(&q->lock);
	open_gate(q, gate);
	pthread_mutex_lock(&q->lock);
	gp__pq_done(&q->pq, 0, gp__clock_ns());
	return true;
}

/* Under the lock, which it drops meanwhile. */
static void free_ended(struct gp__cl_queue *q)
{
	while (!gp__list_empty(&q->ended)) {
		struct gp__cl_command *c = container_of(q->ended.next, struct gp__cl_command, link);

		gp__list_del(&c->link);
		pthread_mutex_unlock(&q->lock);
		open_gate(q, take_gate(c));
		next_of(q)->clReleaseEvent(c->event);
		put(c);
		pthread_mutex_lock(&q->lock);
	}
}

/* Under the lock: makes a command that watches the latest one; NULL: none is needed. */
static struct gp__cl_command *watch_last(struct gp__cl_queue *q)
{
	struct gp__cl_command *c;

	if (!q->last || q->watching)
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL; /* tried again with the next command, or the next end of one */
	*c = (struct gp__cl_command){
		.queue = q, .event = q->last, .references = 1, .watches = true
	};
	q->last = NULL;
	q->nr_commands++;
	q->watching = true;
	q->nr_alive++;
	return c;
}

bool gp__cl_queue_advance(struct gp__cl_queue *q)
{
	struct gp__cl_command *c;
	bool over;

	pthread_mutex_lock(&q->lock);
	gp__cl_guard_advance(q);
	while (launch_next(q))
		;
	c = watch_last(q);
	if (c) {
		pthread_mutex_unlock(&q->lock);
		watch(c);
		pthread_mutex_lock(&q->lock);
	}
	free_ended(q);
	over = q->left && !q->nr_alive && !q->last && !q->nr_commands && !q->guard.nr_launches;
	pthread_mutex_unlock(&q->lock);
	return over;
}

/*
 * Calls of the program
 */

static void lock_order(struct gp__cl_queue *q)
{
	pthread_mutex_lock(&q->order);
	q->nr_calls++;
}

static void unlock_order(struct gp__cl_queue *q)
{
	q->nr_calls--;
	pthread_mutex_unlock(&q->order);
}

static struct gp__cl_command *make_command(struct gp__cl_queue *q, enum stage stage)
{
	struct gp__cl_command *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct gp__cl_command){ .queue = q, .stage = stage, .nr_waits = 1, .references = 1 };
	pthread_mutex_lock(&q->lock);
	q->nr_commands++;
	pthread_mutex_unlock(&q->lock);
	return c;
}

static cl_event make_gate(const struct gp__cl_queue *q)
{
	cl_int err;
	cl_event gate = next_of(q)->clCreateUserEvent(q->context, &err);

	return err == CL_SUCCESS ? gate : NULL;
}

/* Adds the gate to the program's wait list. False: out of memory. */
static bool add_wait(struct gp__cl_call *call, cl_event gate)
{
	size_t n = call->nr_own;

	if (n + 1 > sizeof(call->here) / sizeof(call->here[0])) {
		call->list = malloc((n + 1) * sizeof(cl_event));
		if (!call->list)
			return false;
	} else {
		call->list = call->here;
	}
	if (n)
		memcpy(call->list, call->waits, n * sizeof(cl_event));
	call->list[n] = gate;
	call->waits = call->list;
	call->nr_waits = call->nr_own + 1;
	return true;
}

static bool has_ended(const struct gp__cl_queue *q, cl_event event)
{
	cl_int status = CL_QUEUED;

	next_of(q)->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
				   &status, NULL);
	return status <= CL_COMPLETE;
}

/* Under `order`. */
static void forget_barrier(struct gp__cl_queue *q)
{
	if (!q->barrier || !has_ended(q, q->barrier))
		return;
	next_of(q)->clReleaseEvent(q->barrier);
	q->barrier = NULL;
}

/* Chooses the stage in which a new command begins. Under `order`. */
static enum stage choose_stage(struct gp__cl_queue *q, cl_uint nr_waits)
{
	uint64_t now = gp__clock_ns();
	enum stage stage = GATED;

	pthread_mutex_lock(&q->lock);
	q->nr_alive++;
	report_work(q);
	if (!is_windowed(q) || q->nr_calls > 1) {
		stage = FREE;
	} else if (q->out_of_order && (nr_waits || q->barrier)) {
		stage = WAITING;
	} else if (has_room(q, now)) {
		gp__pq_submit(&q->pq, now);
		gp__pq_next(&q->pq, GP__PQ_MAY_LAUNCH, now);
		stage = LAUNCHED;
	}
	pthread_mutex_unlock(&q->lock);
	return stage;
}

/* Ends a launch for which there will be no callback. */
static void end_launch(struct gp__cl_queue *q, int rc)
{
	uint64_t now = gp__clock_ns();

	pthread_mutex_lock(&q->lock);
	gp__pq_done(&q->pq, rc, now);
	count_end(q, now);
	wake(q);
	pthread_mutex_unlock(&q->lock);
}

/* Without memory for a command or its gate, the command runs as without a window. */
static void prepare(struct gp__cl_call *call, enum stage stage)
{
	struct gp__cl_queue *q = call->queue;
	struct gp__cl_command *c;

	if (stage == FREE && !q->out_of_order)
		return;
	c = make_command(q, stage);
	if (c && (stage == WAITING || stage == GATED)) {
		c->gate = make_gate(q);
		if (!c->gate || !add_wait(call, c->gate)) {
			open_gate(q, take_gate(c));
			c->stage = FREE;
		}
	}
	if (!c && stage == LAUNCHED)
		end_launch(q, -ENOMEM);
	call->command = c;
}

bool gp__cl_begin(struct gp__cl_call *call, struct gp__cl_queue *q, cl_uint nr_waits,
		  const cl_event *waits, cl_event *event)
{
	enum stage stage;

	if (!nr_waits != !waits)
		return false;
	*call = (struct gp__cl_call){
		.nr_waits = nr_waits, .waits = waits, .queue = q, .nr_own = nr_waits, .asked = event
	};
	call->event = event ? event : &call->made;
	lock_order(q);
	forget_barrier(q);
	stage = choose_stage(q, nr_waits);
	call->windowed = stage != FREE;
	prepare(call, stage);
	return true;
}

static void undo(struct gp__cl_call *call)
{
	struct gp__cl_queue *q = call->queue;

	if (call->command) {
		if (call->command->stage == LAUNCHED)
			end_launch(q, -EIO);
		open_gate(q, take_gate(call->command));
		put(call->command);
	}
	pthread_mutex_lock(&q->lock);
	q->nr_alive--;
	report_work(q);
	pthread_mutex_unlock(&q->lock);
}

/* The command may be the last for a long time or one of thousands: only one is watched at a time.
 */
static void follow_last(struct gp__cl_queue *q, cl_event event)
{
	cl_event before;

	pthread_mutex_lock(&q->lock);
	before = q->last;
	q->last = event;
	q->nr_alive--;
	if (!q->watching)
		wake_for_last(q);
	pthread_mutex_unlock(&q->lock);
	if (before)
		next_of(q)->clReleaseEvent(before);
}

static void follow(struct gp__cl_call *call, cl_event event)
{
	struct gp__cl_queue *q = call->queue;
	struct gp__cl_command *c = call->command;

	c->event = event;
	if (c->stage == WAITING) {
		for (cl_uint i = 0; i < call->nr_own; i++)
			wait_for(c, call->waits[i]);
		if (q->barrier)
			wait_for(c, q->barrier);
	}
	pthread_mutex_lock(&q->lock);
	if (c->stage == LAUNCHED) {
		gp__pq_done(&q->pq, 0, gp__clock_ns());
		wake(q);
	} else if (c->stage == GATED) {
		append(c, gp__clock_ns());
	} else if (c->stage == WAITING) {
		drop_wait(c);
	}
	pthread_mutex_unlock(&q->lock);
	watch(c);
}

cl_int gp__cl_end(struct gp__cl_call *call, cl_int result, cl_bool blocking)
{
	struct gp__cl_queue *q = call->queue;
	const cl_icd_dispatch *next = next_of(q);
	cl_event event = *call->event;

	if (result != CL_SUCCESS) {
		undo(call);
	} else {
		/* A reference for us, and one for the wait below or for the program. */
		if (call->asked || blocking)
			next->clRetainEvent(event);
		if (call->command)
			follow(call, event);
		else
			follow_last(q, event);
	}
	unlock_order(q);
	if (call->list != call->here)
		free(call->list);
	if (result == CL_SUCCESS && blocking) {
		result = next->clWaitForEvents(1, &event);
		if (!call->asked)
			next->clReleaseEvent(event);
	}
	return result;
}

void gp__cl_barrier_begin(struct gp__cl_queue *q)
{
	lock_order(q);
}

void gp__cl_barrier_end(struct gp__cl_queue *q, cl_event event)
{
	cl_event before = q->barrier;

	if (event)
		q->barrier = event;
	unlock_order(q);
	if (event && before)
		next_of(q)->clReleaseEvent(before);
}

/*
 * Orders
 */

void gp__cl_queue_hold(struct gp__cl_queue *q, bool held)
{
	uint64_t now = gp__clock_ns();

	pthread_mutex_lock(&q->lock);
	if (held)
		gp__pq_hold(&q->pq, GP__PQ_BY_SCHED, false, now);
	else
		gp__pq_release(&q->pq, GP__PQ_BY_SCHED, now);
	gp__cl_guard_hold(&q->guard, held);
	wake(q);
	pthread_mutex_unlock(&q->lock);
}

void gp__cl_queue_narrow(struct gp__cl_queue *q, bool narrow)
{
	pthread_mutex_lock(&q->lock);
	q->narrow = narrow;
	gp__pq_set_window(&q->pq, narrow ? q->width : UINT32_MAX);
	wake(q);
	pthread_mutex_unlock(&q->lock);
}

void gp__cl_queue_leave(struct gp__cl_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->left = true;
	wake(q);
	pthread_mutex_unlock(&q->lock);
}

int32_t gp__cl_own_priority(const cl_queue_properties *properties)
{
	for (; properties && *properties; properties += 2) {
		if (properties[0] == CL_QUEUE_PRIORITY_KHR)
			return properties[1] == CL_QUEUE_PRIORITY_HIGH_KHR  ? 1
			       : properties[1] == CL_QUEUE_PRIORITY_LOW_KHR ? -1
									    : 0;
	}
	return 0;
}

int gp__cl_queue_init(struct gp__cl_queue *q, const struct gp__cl_host *host, cl_command_queue cl,
		      uint32_t width, uint64_t budget_ns)
{
	const struct gp__pq_config config = { .level = 1,
					      .budget_ns = budget_ns ? budget_ns : BUDGET_NS };
	cl_command_queue_properties properties = 0;
	pthread_mutexattr_t recursive;

	memset(q, 0, sizeof(*q));
	if (host->next->clGetCommandQueueInfo(cl, CL_QUEUE_CONTEXT, sizeof(q->context), &q->context,
					      NULL) != CL_SUCCESS ||
	    host->next->clGetCommandQueueInfo(cl, CL_QUEUE_PROPERTIES, sizeof(properties),
					      &properties, NULL) != CL_SUCCESS)
		return -EIO;
	q->host = host;
	q->cl = cl;
	q->out_of_order = properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
	q->width = width;
	gp__pq_init(&q->pq, &config);
	gp__pq_set_window(&q->pq, UINT32_MAX);
	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&q->order, &recursive);
	pthread_mutexattr_destroy(&recursive);
	pthread_mutex_init(&q->lock, NULL);
	gp__list_init(&q->gated);
	gp__list_init(&q->ended);
	gp__list_init(&q->guard.ended);
	gp__list_init(&q->guard.cut);
	gp__list_init(&q->guard.blocks);
	return 0;
}

void gp__cl_queue_destroy(struct gp__cl_queue *q)
{
	if (q->barrier)
		next_of(q)->clReleaseEvent(q->barrier);
	gp__cl_guard_close(q);
	pthread_mutex_destroy(&q->order);
	pthread_mutex_destroy(&q->lock);
}
