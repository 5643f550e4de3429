// SPDX-License-Identifier: MIT
#include "join/opencl/guard.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "join/opencl/copies.h"
#include "join/opencl/queue.h"
#include "join/opencl/source.h"

/* Each work-group takes a byte; a launch with more of them is not guarded. */
#define GROUPS_MAX (16u << 20)
#define BLOCK_MIN 4096u
/* For work-groups whose size is chosen here. */
#define ITEMS_MAX 256u
#define GROUPS_A_UNIT 4u

/* The host's record of a block; `shared` is used by the device, too. */
struct block {
	struct gp__link link;
	struct gp__cl_block *shared;
	size_t room; /* in work-groups */
};

struct gp__cl_launch {
	struct gp__link link; /* in the guard's ended or cut */
	struct gp__cl_queue *queue;
	struct gp__cl_copy *copy;
	struct block *block;
	cl_event settled; /* NULL: it was completed */
	cl_int status; /* of the latest run */
	cl_uint dim;
	bool has_offset;
	size_t offset[3], global[3], local[3];
};

static const cl_icd_dispatch *next_of(const struct gp__cl_queue *q)
{
	return q->host->next;
}

/*
 * Memory shared with kernels
 */

#define SHARED (CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS)

static void *make_shared(const struct gp__cl_queue *q, size_t size)
{
	void *p = next_of(q)->clSVMAlloc(q->context, SHARED, size, 0);

	return p ? memset(p, 0, size) : NULL;
}

static void free_block(const struct gp__cl_queue *q, struct block *b)
{
	next_of(q)->clSVMFree(q->context, b->shared);
	free(b);
}

/* Takes the first block that is large enough; under the lock. */
static struct block *find_block(struct gp__cl_guard *g, size_t nr_groups)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &g->blocks)
	{
		struct block *b = container_of(l, struct block, link);

		if (b->room < nr_groups)
			continue;
		gp__list_del(&b->link);
		return b;
	}
	return NULL;
}

static struct block *make_block(const struct gp__cl_queue *q, size_t nr_groups)
{
	struct block *b = calloc(1, sizeof(*b));
	size_t room = BLOCK_MIN;

	while (room < nr_groups)
		room *= 2;
	if (!b)
		return NULL;
	gp__list_init(&b->link);
	b->room = room;
	b->shared = make_shared(q, sizeof(*b->shared) + room);
	if (b->shared)
		return b;
	free(b);
	return NULL;
}

static struct block *take_block(struct gp__cl_queue *q, size_t nr_groups)
{
	struct block *b;

	pthread_mutex_lock(&q->lock);
	b = find_block(&q->guard, nr_groups);
	pthread_mutex_unlock(&q->lock);
	return b ? b : make_block(q, nr_groups);
}

/* @clean: all work-groups have run, so the block has only zeroes. */
static void give_block(struct gp__cl_queue *q, struct block *b, bool clean)
{
	if (!clean)
		memset(b->shared->left, 0, b->room);
	b->shared->cut = b->shared->again = 0;
	pthread_mutex_lock(&q->lock);
	gp__list_push(&q->guard.blocks, &b->link);
	pthread_mutex_unlock(&q->lock);
}

/*
 * Launches
 */

static bool read_sizes(const struct gp__cl_launch *l, size_t *reqd, size_t *most, cl_uint *units)
{
	const cl_icd_dispatch *next = next_of(l->queue);
	cl_device_id device = l->queue->guard.device;

	return !next->clGetKernelWorkGroupInfo(l->copy->cl, device,
					       CL_KERNEL_COMPILE_WORK_GROUP_SIZE, 3 * sizeof(*reqd),
					       reqd, NULL) &&
	       !next->clGetKernelWorkGroupInfo(l->copy->cl, device, CL_KERNEL_WORK_GROUP_SIZE,
					       sizeof(*most), most, NULL) &&
	       !next->clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(*units), units,
				      NULL);
}

static size_t largest_divisor(size_t of, size_t most)
{
	while (of % most)
		most--;
	return most;
}

/*
 * All runs of a launch must have the same work-groups. If the program leaves their size to the
 * driver, it is chosen here: a divisor of the range, with several groups for each compute unit.
 */
static bool choose_local(struct gp__cl_launch *l)
{
	size_t reqd[3], most, items = 1, share;
	cl_uint units;

	if (!read_sizes(l, reqd, &most, &units))
		return false;
	if (reqd[0]) {
		memcpy(l->local, reqd, sizeof(reqd));
		return true;
	}
	for (cl_uint d = 0; d < l->dim; d++)
		items *= l->global[d];
	share = items / (units * GROUPS_A_UNIT);
	most = gp__min_u64(gp__min_u64(most, ITEMS_MAX), share ? share : 1);
	for (cl_uint d = 0; d < l->dim; d++) {
		l->local[d] = largest_divisor(l->global[d], most ? most : 1);
		most /= l->local[d];
	}
	return true;
}

/* 0: there are none. GROUPS_MAX + 1: there are too many. */
static size_t count_groups(const struct gp__cl_launch *l)
{
	size_t n = 1;

	for (cl_uint d = 0; d < l->dim; d++) {
		size_t groups;

		if (!l->local[d] || !l->global[d])
			return 0;
		groups = (l->global[d] - 1) / l->local[d] + 1;
		if (groups > GROUPS_MAX || n * groups > GROUPS_MAX)
			return GROUPS_MAX + 1u;
		n *= groups;
	}
	return n;
}

static bool copy_range(struct gp__cl_launch *l, const struct gp__cl_range *range)
{
	size_t size = range->dim * sizeof(size_t);

	if (!range->dim || range->dim > 3 || !range->global)
		return false;
	l->dim = range->dim;
	memcpy(l->global, range->global, size);
	l->has_offset = range->offset;
	if (range->offset)
		memcpy(l->offset, range->offset, size);
	if (range->local)
		memcpy(l->local, range->local, size);
	for (cl_uint d = 0; d < l->dim; d++) {
		if (!l->global[d])
			return false;
	}
	return range->local || choose_local(l);
}

/* The queue is not freed while it has launches. */
static struct gp__cl_launch *make_launch(struct gp__cl_queue *q, struct gp__cl_copy *copy)
{
	struct gp__cl_launch *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->queue = q;
	l->copy = copy;
	gp__list_init(&l->link);
	pthread_mutex_lock(&q->lock);
	q->guard.nr_launches++;
	pthread_mutex_unlock(&q->lock);
	return l;
}

static void free_launch(struct gp__cl_launch *l)
{
	struct gp__cl_queue *q = l->queue;

	free(l);
	pthread_mutex_lock(&q->lock);
	q->guard.nr_launches--;
	pthread_mutex_unlock(&q->lock);
}

static void drop(struct gp__cl_launch *l)
{
	if (l->settled)
		next_of(l->queue)->clReleaseEvent(l->settled);
	if (l->block)
		give_block(l->queue, l->block, true);
	gp__cl_copy_give(l->copy);
	free_launch(l);
}

/* Sets the guard's own arguments, and creates the event. */
static bool equip(struct gp__cl_launch *l, size_t nr_groups)
{
	const cl_icd_dispatch *next = next_of(l->queue);
	cl_kernel kernel = l->copy->cl;
	cl_uint nr_args = l->copy->nr_args;
	cl_int err;

	l->block = take_block(l->queue, nr_groups);
	if (!l->block || next->clSetKernelArgSVMPointer(kernel, nr_args, l->queue->guard.held) ||
	    next->clSetKernelArgSVMPointer(kernel, nr_args + 1, l->block->shared))
		return false;
	l->settled = next->clCreateUserEvent(l->queue->context, &err);
	if (err != CL_SUCCESS)
		l->settled = NULL;
	return l->settled;
}

struct gp__cl_launch *gp__cl_guard_prepare(struct gp__cl_queue *q, cl_kernel kernel,
					   const struct gp__cl_range *range, enum gp__wire_why *why)
{
	struct gp__cl_copy *copy = gp__cl_copy_take(kernel, q->guard.device, why);
	struct gp__cl_launch *l = copy ? make_launch(q, copy) : NULL;
	size_t nr_groups;

	if (!l) {
		if (copy)
			gp__cl_copy_give(copy);
		return NULL;
	}
	nr_groups = copy_range(l, range) ? count_groups(l) : 0;
	if (nr_groups > GROUPS_MAX)
		*why = GP__WIRE_TOO_LARGE;
	/* A single work-group is either started or not, and can only be dropped. */
	if (nr_groups >= (copy->drops ? 1 : 2) && nr_groups <= GROUPS_MAX && equip(l, nr_groups))
		return l;
	drop(l);
	return NULL;
}

/*
 * Runs
 */

static cl_int run(const struct gp__cl_launch *l, cl_command_queue queue, cl_uint nr_waits,
		  const cl_event *waits, cl_event *event)
{
	return next_of(l->queue)->clEnqueueNDRangeKernel(
		queue, l->copy->cl, l->dim, l->has_offset ? l->offset : NULL, l->global, l->local,
		nr_waits, waits, event);
}

static bool is_cut(const struct gp__cl_launch *l)
{
	return l->status >= 0 && l->block->shared->cut;
}

static void tell_settled(const cl_icd_dispatch *next, cl_event settled, cl_int status)
{
	if (!settled)
		return;
	next->clSetUserEventStatus(settled, status < 0 ? status : CL_COMPLETE);
	next->clReleaseEvent(settled);
}

static cl_event take_settled(struct gp__cl_launch *l)
{
	cl_event settled = l->settled;

	l->settled = NULL;
	return settled;
}

/*
 * If all work-groups have run, the launch is settled here, so that later commands do not wait for
 * the worker. The worker frees it; the queue exists until then.
 */
static void CL_CALLBACK run_ended(cl_event event, cl_int status, void *data)
{
	struct gp__cl_launch *l = data;
	struct gp__cl_queue *q = l->queue;
	const cl_icd_dispatch *next = next_of(q);
	cl_event settled = NULL;

	(void)event;
	pthread_mutex_lock(&q->lock);
	l->status = status;
	if (is_cut(l))
		q->host->wake(q->host->data, q);
	else
		settled = take_settled(l);
	gp__list_push(&q->guard.ended, &l->link);
	pthread_mutex_unlock(&q->lock);
	tell_settled(next, settled, status);
}

/* Waits for a run without a callback: later commands must not begin before its end. */
static void watch(struct gp__cl_launch *l, cl_event event)
{
	const cl_icd_dispatch *next = next_of(l->queue);
	cl_int status = CL_COMPLETE;

	if (next->clSetEventCallback(event, CL_COMPLETE, run_ended, l) == CL_SUCCESS)
		return;
	next->clWaitForEvents(1, &event);
	next->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
			     NULL);
	run_ended(event, status, l);
}

/*
 * In an out-of-order queue the markers of some drivers wait for all commands before them, despite
 * their wait list, so a fill of one word is used there.
 */
static cl_int enqueue_marker(struct gp__cl_queue *q, const cl_event *settled, cl_event *event)
{
	const uint32_t nothing = 0;

	if (!q->out_of_order)
		return next_of(q)->clEnqueueMarkerWithWaitList(q->cl, 1, settled, event);
	return next_of(q)->clEnqueueSVMMemFill(q->cl, &q->guard.held[1], &nothing, sizeof(nothing),
					       sizeof(nothing), 1, settled, event);
}

bool gp__cl_guard_enqueue(struct gp__cl_launch *l, cl_uint nr_waits, const cl_event *waits,
			  cl_event *event, cl_event *first)
{
	const cl_icd_dispatch *next = next_of(l->queue);
	cl_event settled = l->settled;

	if (run(l, l->queue->cl, nr_waits, waits, first) != CL_SUCCESS) {
		drop(l);
		return false;
	}
	next->clRetainEvent(settled);
	if (enqueue_marker(l->queue, &settled, event) == CL_SUCCESS) {
		watch(l, *first);
		next->clReleaseEvent(settled);
		return true;
	}
	/* Without a marker, this thread keeps later commands from starting. */
	watch(l, *first);
	next->clWaitForEvents(1, &settled);
	*event = settled;
	return true;
}

static void settle(struct gp__cl_launch *l)
{
	tell_settled(next_of(l->queue), take_settled(l), l->status);
	give_block(l->queue, l->block, l->status >= 0);
	gp__cl_copy_give(l->copy);
	free_launch(l);
}

static void run_rest(struct gp__cl_launch *l)
{
	struct gp__cl_queue *q = l->queue;
	cl_event event;

	l->block->shared->cut = 0;
	l->block->shared->again = 1;
	l->status = run(l, q->guard.rest, 0, NULL, &event);
	if (l->status != CL_SUCCESS) {
		settle(l);
		return;
	}
	watch(l, event);
	next_of(q)->clFlush(q->guard.rest);
	next_of(q)->clReleaseEvent(event);
}

static struct gp__cl_launch *pop(struct gp__link *list)
{
	struct gp__cl_launch *l = container_of(list->next, struct gp__cl_launch, link);

	if (gp__list_empty(list))
		return NULL;
	gp__list_del(&l->link);
	return l;
}

void gp__cl_guard_advance(struct gp__cl_queue *q)
{
	struct gp__cl_guard *g = &q->guard;
	struct gp__cl_launch *l;

	while ((l = pop(&g->ended))) {
		if (is_cut(l)) {
			gp__list_push(&g->cut, &l->link);
			continue;
		}
		pthread_mutex_unlock(&q->lock);
		settle(l);
		pthread_mutex_lock(&q->lock);
	}
	while (!q->pq.holds && (l = pop(&g->cut))) {
		pthread_mutex_unlock(&q->lock);
		run_rest(l);
		pthread_mutex_lock(&q->lock);
	}
}

void gp__cl_guard_hold(struct gp__cl_guard *g, bool held)
{
	if (g->held)
		atomic_store((_Atomic uint32_t *)g->held, held);
}

/*
 * Beginning and end
 */

bool gp__cl_guard_can(const cl_icd_dispatch *next, cl_device_id device)
{
	const cl_device_svm_capabilities needed =
		CL_DEVICE_SVM_FINE_GRAIN_BUFFER | CL_DEVICE_SVM_ATOMICS;
	cl_device_svm_capabilities has = 0;

	return next->clSVMAlloc && next->clEnqueueMarkerWithWaitList &&
	       !next->clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(has), &has,
				      NULL) &&
	       (has & needed) == needed;
}

bool gp__cl_guard_open(struct gp__cl_queue *q, cl_device_id device)
{
	struct gp__cl_guard *g = &q->guard;
	cl_int err;

	g->device = device;
	g->held = make_shared(q, 2 * sizeof(*g->held));
	g->rest = g->held ? next_of(q)->clCreateCommandQueue(q->context, device, 0, &err) : NULL;
	if (g->held && !g->rest) {
		next_of(q)->clSVMFree(q->context, g->held);
		g->held = NULL;
	}
	return g->held;
}

/* The program may have released the context, but our queue retains it. */
void gp__cl_guard_close(struct gp__cl_queue *q)
{
	struct gp__cl_guard *g = &q->guard;

	if (!g->held)
		return;
	while (!gp__list_empty(&g->blocks)) {
		struct block *b = container_of(g->blocks.next, struct block, link);

		gp__list_del(&b->link);
		free_block(q, b);
	}
	next_of(q)->clSVMFree(q->context, g->held);
	next_of(q)->clReleaseCommandQueue(g->rest);
}
