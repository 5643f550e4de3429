// SPDX-License-Identifier: MIT
/*
 * libgpreempt-opencl.so: a layer of the OpenCL loader ($OPENCL_LAYERS) that reports the command
 * queues of a joined program to its agent. In any other program it leaves the loader's functions as
 * they are.
 *
 * If the preload joins the queues of the driver beneath, command queues are left to it: it can take
 * running work off the device, and a window above it would only delay launches.
 *
 * State is global, as the program's is. Locking: `lock` protects the list of queues, and is held
 * for reading while a thread other than the program's own uses one of them; `worker_lock` comes
 * after a queue's own lock.
 */
#include "join/opencl/layer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/clock.h"
#include "base/cond.h"
#include "base/latency.h"
#include "base/thread.h"
#include "join/exports.h"
#include "join/opencl/device.h"
#include "join/opencl/events.h"
#include "join/opencl/kernels.h"
#include "join/opencl/memory.h"
#include "queue/level.h"

#define PUBLIC __attribute__((visibility("default")))
#define NAME "gpreempt"
/* How long the worker may delay queues that are not urgent. */
#define DELAY_NS (5 * GP__MS)

struct entry {
	UT_hash_handle hh; /* by queue.cl, while the program has it */
	struct gp__link link; /* in the list of all, until its commands have ended */
	struct gp__link pending; /* in pending or delayed; under worker_lock */
	bool is_delayed; /* under worker_lock */
	struct gp__cl_queue queue;
	u32 id;
	u32 references; /* of the program; under `lock` */
	_Atomic u32 notes; /* that were reported */
};

static struct {
	cl_icd_dispatch next, table;
	bool joined; /* never changes once queues are made, but in a child */
	struct gp__cl_host host;
	struct gp__port *port;
	pthread_rwlock_t lock;
	struct entry *queues;
	struct gp__link all;
	bool narrow;
	u32 last_id;
	pthread_mutex_t worker_lock;
	struct gp__cond worker_wake;
	struct gp__link pending, delayed;
	uint64_t delayed_until; /* of all that are delayed */
	bool has_worker;
} layer = { .lock = PTHREAD_RWLOCK_INITIALIZER, .worker_lock = PTHREAD_MUTEX_INITIALIZER };

const cl_icd_dispatch *gp__cl_next(void)
{
	return &layer.next;
}

bool gp__cl_is_joined(void)
{
	return layer.joined;
}

bool gp__cl_is_idempotent(void)
{
	return layer.port->request->idempotent;
}

struct gp__cl_queue *gp__cl_find(cl_command_queue queue)
{
	struct entry *e;

	if (!layer.joined)
		return NULL;
	pthread_rwlock_rdlock(&layer.lock);
	HASH_FIND_PTR(layer.queues, &queue, e);
	pthread_rwlock_unlock(&layer.lock);
	return e ? &e->queue : NULL;
}

static struct entry *entry_of(struct gp__cl_queue *q)
{
	return container_of(q, struct entry, queue);
}

/*
 * The worker
 */

static void wake(void *data, struct gp__cl_queue *q)
{
	struct entry *e = entry_of(q);

	(void)data;
	pthread_mutex_lock(&layer.worker_lock);
	if (e->is_delayed)
		gp__list_del(&e->pending);
	e->is_delayed = false;
	if (gp__list_empty(&e->pending)) {
		gp__list_push(&layer.pending, &e->pending);
		gp__cond_signal(&layer.worker_wake);
	}
	pthread_mutex_unlock(&layer.worker_lock);
}

/* All are delayed until the time of the first, so that the worker wakes up once for them. */
static void wake_later(void *data, struct gp__cl_queue *q)
{
	struct entry *e = entry_of(q);

	(void)data;
	pthread_mutex_lock(&layer.worker_lock);
	if (gp__list_empty(&e->pending)) {
		if (gp__list_empty(&layer.delayed)) {
			layer.delayed_until = gp__clock_ns() + DELAY_NS;
			gp__cond_signal(&layer.worker_wake);
		}
		gp__list_push(&layer.delayed, &e->pending);
		e->is_delayed = true;
	}
	pthread_mutex_unlock(&layer.worker_lock);
}

static void end_delay(void)
{
	while (!gp__list_empty(&layer.delayed)) {
		struct entry *e = container_of(layer.delayed.next, struct entry, pending);

		gp__list_del(&e->pending);
		gp__list_push(&layer.pending, &e->pending);
		e->is_delayed = false;
	}
}

/* Under worker_lock, which it drops meanwhile. */
static struct entry *await_pending(void)
{
	struct entry *e;

	while (gp__list_empty(&layer.pending)) {
		uint64_t until = GP__FOREVER;

		if (!gp__list_empty(&layer.delayed))
			until = layer.delayed_until;
		if (until <= gp__clock_ns())
			end_delay();
		else
			gp__cond_wait(&layer.worker_wake, &layer.worker_lock, until);
	}
	e = container_of(layer.pending.next, struct entry, pending);
	gp__list_del(&e->pending);
	return e;
}

static void forget(struct entry *e)
{
	gp__port_remove(layer.port, e->id);
	pthread_rwlock_wrlock(&layer.lock);
	gp__list_del(&e->link);
	pthread_rwlock_unlock(&layer.lock);
	pthread_mutex_lock(&layer.worker_lock);
	gp__list_del(&e->pending);
	pthread_mutex_unlock(&layer.worker_lock);
	gp__cl_queue_destroy(&e->queue);
	free(e);
}

static void *run_worker(void *data)
{
	gp__prefer_latency();
	for (;;) {
		struct entry *e;

		pthread_mutex_lock(&layer.worker_lock);
		e = await_pending();
		pthread_mutex_unlock(&layer.worker_lock);
		if (gp__cl_queue_advance(&e->queue))
			forget(e);
	}
	return data;
}

static bool start_worker(void)
{
	pthread_t thread;

	pthread_mutex_lock(&layer.worker_lock);
	if (!layer.has_worker && !gp__thread_start(&thread, 0, run_worker, NULL)) {
		pthread_detach(thread);
		layer.has_worker = true;
	}
	pthread_mutex_unlock(&layer.worker_lock);
	return layer.has_worker;
}

/*
 * Orders
 */

static void report_work(void *data, struct gp__cl_queue *q, bool has_work)
{
	(void)data;
	gp__port_work(layer.port, entry_of(q)->id, has_work, has_work, gp__clock_ns());
}

static int set_held(u32 id, bool held)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &layer.all)
	{
		struct entry *e = container_of(l, struct entry, link);

		if (e->id != id)
			continue;
		gp__cl_queue_hold(&e->queue, held);
		return 0;
	}
	return -ENOENT;
}

static void set_all_held(const u32 *ids, int *results, size_t n, bool held)
{
	pthread_rwlock_rdlock(&layer.lock);
	for (size_t i = 0; i < n; i++)
		results[i] = set_held(ids[i], held);
	pthread_rwlock_unlock(&layer.lock);
}

static void hold(void *state, const u32 *ids, int *results, size_t n)
{
	(void)state;
	set_all_held(ids, results, n, true);
}

static void release(void *state, const u32 *ids, int *results, size_t n)
{
	(void)state;
	set_all_held(ids, results, n, false);
}

static void set_alone(void *state, bool alone)
{
	struct gp__link *l, *n;

	(void)state;
	pthread_rwlock_wrlock(&layer.lock);
	layer.narrow = !alone;
	gp__list_each(l, n, &layer.all)
		gp__cl_queue_narrow(&container_of(l, struct entry, link)->queue, layer.narrow);
	pthread_rwlock_unlock(&layer.lock);
}

/*
 * Queues
 */

/* Level 2 needs a device on which the host can signal a running kernel. */
static u32 level_of(cl_device_id device)
{
	u32 requested = layer.port->request->level, available = GP__HAS_LEVEL(1);

	if (requested != 1 && gp__cl_guard_can(&layer.next, device))
		available |= GP__HAS_LEVEL(2);
	return gp__level_effective(requested, available);
}

static void say_level(u32 level)
{
	char text[160];

	if (!layer.port->request->level || layer.port->request->level == level)
		return;
	snprintf(text, sizeof(text),
		 "level %u is not available for OpenCL queues on this device; using level %u",
		 layer.port->request->level, level);
	gp__port_say(layer.port, text);
}

void gp__cl_tell_unguarded(struct gp__cl_queue *q, enum gp__wire_why why)
{
	u32 note = GP__WIRE_NOTE_UNGUARDED(why);

	if (!(atomic_fetch_or(&entry_of(q)->notes, note) & note))
		gp__port_note(layer.port, entry_of(q)->id, note);
}

static bool is_for_us(cl_command_queue queue, cl_device_id *device)
{
	cl_command_queue_properties properties = 0;

	return !layer.next.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(*device), device,
						 NULL) &&
	       !layer.next.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties),
						 &properties, NULL) &&
	       !(properties & CL_QUEUE_ON_DEVICE) &&
	       !gp__cl_is_joined_beneath(&layer.next, *device);
}

static void put_in_list(struct entry *e)
{
	pthread_rwlock_wrlock(&layer.lock);
	e->id = ++layer.last_id;
	gp__cl_queue_narrow(&e->queue, layer.narrow);
	gp__list_push(&layer.all, &e->link);
	HASH_ADD_PTR(layer.queues, queue.cl, e);
	pthread_rwlock_unlock(&layer.lock);
}

static void say_unscheduled(void)
{
	gp__port_say_unscheduled(layer.port,
				 "out of memory; an OpenCL queue of this program runs unscheduled");
}

static struct entry *make_entry(cl_command_queue queue)
{
	const struct gp__request *r = layer.port->request;
	struct entry *e = start_worker() ? calloc(1, sizeof(*e)) : NULL;

	if (!e || gp__cl_queue_init(&e->queue, &layer.host, queue, r->window, r->window_ns)) {
		free(e);
		say_unscheduled();
		return NULL;
	}
	gp__list_init(&e->pending);
	e->references = 1;
	return e;
}

static void add(cl_command_queue queue, const cl_queue_properties *properties)
{
	struct gp__queue_desc q = { .own = gp__cl_own_priority(properties), .has_own = true };
	cl_device_id device;
	struct entry *e;

	if (!is_for_us(queue, &device))
		return;
	e = make_entry(queue);
	if (!e)
		return;
	q.level = level_of(device) == 2 && gp__cl_guard_open(&e->queue, device) ? 2 : 1;
	say_level(q.level);
	put_in_list(e);
	q.id = e->id;
	gp__cl_name_device(&layer.next, device, &q);
	if (gp__port_add(layer.port, &q))
		say_unscheduled();
	gp__port_sees(layer.port, q.id, GP__WIRE_SEES_LAUNCH);
	if (q.level == 2 && layer.port->request->idempotent)
		gp__port_note(layer.port, q.id, GP__WIRE_NOTE_DROPS);
}

/* Drops a reference; after the last one, commands that are enqueued still finish. */
static void remove_reference(cl_command_queue queue)
{
	struct entry *e;

	pthread_rwlock_wrlock(&layer.lock);
	HASH_FIND_PTR(layer.queues, &queue, e);
	if (e && !--e->references)
		HASH_DEL(layer.queues, e);
	else
		e = NULL;
	pthread_rwlock_unlock(&layer.lock);
	if (e)
		gp__cl_queue_leave(&e->queue);
}

static void add_reference(cl_command_queue queue)
{
	struct entry *e;

	pthread_rwlock_wrlock(&layer.lock);
	HASH_FIND_PTR(layer.queues, &queue, e);
	if (e)
		e->references++;
	pthread_rwlock_unlock(&layer.lock);
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
						 cl_command_queue_properties properties,
						 cl_int *error)
{
	cl_command_queue queue =
		layer.next.clCreateCommandQueue(context, device, properties, error);

	if (queue && layer.joined)
		add(queue, NULL);
	return queue;
}

static cl_command_queue CL_API_CALL create_queue_with(cl_context context, cl_device_id device,
						      const cl_queue_properties *properties,
						      cl_int *error)
{
	cl_command_queue queue =
		layer.next.clCreateCommandQueueWithProperties(context, device, properties, error);

	if (queue && layer.joined)
		add(queue, properties);
	return queue;
}

static cl_int CL_API_CALL retain_queue(cl_command_queue queue)
{
	cl_int result = layer.next.clRetainCommandQueue(queue);

	if (result == CL_SUCCESS && layer.joined)
		add_reference(queue);
	return result;
}

/* Removes the reference first: once released, another queue may have the same address. */
static cl_int CL_API_CALL release_queue(cl_command_queue queue)
{
	if (layer.joined)
		remove_reference(queue);
	return layer.next.clReleaseCommandQueue(queue);
}

/*
 * Beginning
 */

/* Memory of devices that are joined beneath is counted there. */
static bool name_counted(cl_device_id device, char key[GP__WIRE_DEVICE_MAX])
{
	struct gp__queue_desc q = { 0 };

	if (gp__cl_is_joined_beneath(&layer.next, device))
		return false;
	gp__cl_name_device(&layer.next, device, &q);
	memcpy(key, q.device, sizeof(q.device));
	return true;
}

/* The calls of OpenCL in which this happens are no cancellation points. */
static void memory_changed(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	gp__port_memory(layer.port);
	pthread_setcancelstate(before, NULL);
}

static bool measure_memory(void *state, const char *device, u64 *bytes)
{
	(void)state;
	return gp__cl_memory_used(device, bytes);
}

/* A child has neither our threads nor the driver's: its queues are not scheduled. */
static void begin_child(void)
{
	layer.joined = false;
	gp__cl_memory_end();
}

static void begin(void)
{
	static const struct gp__queue_ops ops = {
		.hold = hold, .release = release, .memory = measure_memory, .alone = set_alone
	};

	const struct gp__cl_memory_host memory = { &layer.next, name_counted, memory_changed };

	layer.port = gp_join_open(&ops, &layer);
	if (!layer.port)
		return;
	if (pthread_atfork(NULL, NULL, begin_child)) {
		gp__port_say_unscheduled(
			layer.port, "out of memory; OpenCL queues of this program run unscheduled");
		return;
	}
	gp__list_init(&layer.all);
	gp__list_init(&layer.pending);
	gp__list_init(&layer.delayed);
	layer.host = (struct gp__cl_host){
		.next = &layer.next, .work = report_work, .wake = wake, .wake_later = wake_later
	};
	layer.joined = true;
	gp__cl_replace_enqueues(&layer.table);
	gp__cl_memory_begin(&memory, &layer.table);
	if (layer.port->request->level != 1) {
		gp__cl_replace_programs(&layer.table);
		gp__cl_replace_kernels(&layer.table);
		gp__cl_replace_events(&layer.table);
	}
	layer.table.clCreateCommandQueue = create_queue;
	if (layer.table.clCreateCommandQueueWithProperties)
		layer.table.clCreateCommandQueueWithProperties = create_queue_with;
	layer.table.clRetainCommandQueue = retain_queue;
	layer.table.clReleaseCommandQueue = release_queue;
}

PUBLIC cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *value,
					 size_t *size_needed)
{
	const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	const void *answer = what == CL_LAYER_NAME ? NAME : (const void *)&version;
	size_t needed = what == CL_LAYER_NAME ? sizeof(NAME) : sizeof(version);

	if ((what != CL_LAYER_NAME && what != CL_LAYER_API_VERSION) || (value && size < needed))
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, answer, needed);
	if (size_needed)
		*size_needed = needed;
	return CL_SUCCESS;
}

/* An older loader has a shorter table than ours, and a newer one a longer table. */
PUBLIC cl_int CL_API_CALL clInitLayer(cl_uint nr_entries, const cl_icd_dispatch *target,
				      cl_uint *nr_ours, const cl_icd_dispatch **table)
{
	size_t bytes = nr_entries * sizeof(void *);

	if (!target || !nr_ours || !table)
		return CL_INVALID_VALUE;
	memset(&layer.next, 0, sizeof(layer.next));
	memcpy(&layer.next, target, bytes < sizeof(layer.next) ? bytes : sizeof(layer.next));
	layer.table = layer.next;
	begin();
	*nr_ours = sizeof(layer.table) / sizeof(void *);
	*table = &layer.table;
	return CL_SUCCESS;
}

/*
 * Newer loaders look for the next two functions. So far properties are for the loader's own use,
 * and a layer need not know any.
 */
PUBLIC cl_int CL_API_CALL clInitLayerWithProperties(cl_uint nr_entries,
						    const cl_icd_dispatch *target, cl_uint *nr_ours,
						    const cl_icd_dispatch **table,
						    const cl_ulong *properties);
cl_int CL_API_CALL clInitLayerWithProperties(cl_uint nr_entries, const cl_icd_dispatch *target,
					     cl_uint *nr_ours, const cl_icd_dispatch **table,
					     const cl_ulong *properties)
{
	(void)properties;
	return clInitLayer(nr_entries, target, nr_ours, table);
}

/* The loader does not call the layer any more. Commands that are enqueued still end, so the threads
 * and the library stay. */
PUBLIC cl_int CL_API_CALL clDeinitLayer(void);
cl_int CL_API_CALL clDeinitLayer(void)
{
	return CL_SUCCESS;
}
