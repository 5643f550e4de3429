// SPDX-License-Identifier: MIT
/*
 * libgpreempt-opencl.so: a layer of the OpenCL loader ($OPENCL_LAYERS), which puts the command
 * queues of a program that `gpreempt run` started before the agent. In any other program it leaves
 * the loader's functions as they are.
 *
 * Where the driver beneath is one whose queues the preload joins, these are left to it: it can take
 * running work off the device, and a window over it would only be in the way.
 *
 * State is global, since the program that it is loaded into is. Locking: `lock` guards the list of
 * queues, and is held for reading while one of them is used by somebody but the program itself;
 * `pump_lock` comes after a queue's own.
 */
#include "join/opencl/layer.h"

#include <dlfcn.h>
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
#include "join/agent.h"
#include "join/opencl/device.h"
#include "join/opencl/events.h"
#include "join/opencl/kernels.h"
#include "join/say.h"
#include "join/wish.h"

#define PUBLIC __attribute__((visibility("default")))
#define NAME "gpreempt"
/* How long the pump leaves queues alone that have time. */
#define REST_NS (5 * GP__MS)

struct entry {
	UT_hash_handle hh; /* by queue.cl, while the program has it */
	struct gp__link link; /* in all, until it is drained */
	struct gp__link kicked; /* in kicked or resting; under pump_lock, as: */
	bool rests;
	struct gp__cl_queue queue;
	u32 id;
	u32 references; /* of the program; under lock */
	_Atomic u32 told; /* notes */
};

static struct {
	cl_icd_dispatch next, table;
	bool joined; /* never changes once queues are made, but in a child */
	struct gp__wish wish;
	struct gp__cl_host host;
	struct gp__agent *agent;
	pthread_rwlock_t lock;
	struct entry *queues;
	struct gp__link all;
	bool narrow;
	u32 last_id;
	bool said;
	pthread_mutex_t pump_lock;
	struct gp__cond pump_wake;
	struct gp__link kicked, resting;
	uint64_t rest_until; /* of all that rest */
	bool pumping;
} layer = { .lock = PTHREAD_RWLOCK_INITIALIZER, .pump_lock = PTHREAD_MUTEX_INITIALIZER };

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
	return layer.wish.idempotent;
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

static void say_once(const char *text)
{
	if (!layer.said)
		gp__join_say(text);
	layer.said = true;
}

/*
 * The pump
 */

static void kick(void *data, struct gp__cl_queue *q)
{
	struct entry *e = entry_of(q);

	(void)data;
	pthread_mutex_lock(&layer.pump_lock);
	if (e->rests)
		gp__list_del(&e->kicked);
	e->rests = false;
	if (gp__list_empty(&e->kicked)) {
		gp__list_push(&layer.kicked, &e->kicked);
		gp__cond_signal(&layer.pump_wake);
	}
	pthread_mutex_unlock(&layer.pump_lock);
}

/* All rest until the time of the first, so that the pump wakes up once for them. */
static void kick_later(void *data, struct gp__cl_queue *q)
{
	struct entry *e = entry_of(q);

	(void)data;
	pthread_mutex_lock(&layer.pump_lock);
	if (gp__list_empty(&e->kicked)) {
		if (gp__list_empty(&layer.resting)) {
			layer.rest_until = gp__clock_ns() + REST_NS;
			gp__cond_signal(&layer.pump_wake);
		}
		gp__list_push(&layer.resting, &e->kicked);
		e->rests = true;
	}
	pthread_mutex_unlock(&layer.pump_lock);
}

static void end_rest(void)
{
	while (!gp__list_empty(&layer.resting)) {
		struct entry *e = container_of(layer.resting.next, struct entry, kicked);

		gp__list_del(&e->kicked);
		gp__list_push(&layer.kicked, &e->kicked);
		e->rests = false;
	}
}

/* Under pump_lock, which is let go meanwhile. */
static struct entry *await_kicked(void)
{
	struct entry *e;

	while (gp__list_empty(&layer.kicked)) {
		uint64_t until = GP__FOREVER;

		if (!gp__list_empty(&layer.resting))
			until = layer.rest_until;
		if (until <= gp__clock_ns())
			end_rest();
		else
			gp__cond_wait(&layer.pump_wake, &layer.pump_lock, until);
	}
	e = container_of(layer.kicked.next, struct entry, kicked);
	gp__list_del(&e->kicked);
	return e;
}

static void forget(struct entry *e)
{
	gp__agent_remove(layer.agent, e->id);
	pthread_rwlock_wrlock(&layer.lock);
	gp__list_del(&e->link);
	pthread_rwlock_unlock(&layer.lock);
	pthread_mutex_lock(&layer.pump_lock);
	gp__list_del(&e->kicked);
	pthread_mutex_unlock(&layer.pump_lock);
	gp__cl_queue_destroy(&e->queue);
	free(e);
}

static void *pump(void *data)
{
	gp__prefer_latency();
	for (;;) {
		struct entry *e;

		pthread_mutex_lock(&layer.pump_lock);
		e = await_kicked();
		pthread_mutex_unlock(&layer.pump_lock);
		if (gp__cl_queue_advance(&e->queue))
			forget(e);
	}
	return data;
}

static bool start_pump(void)
{
	pthread_t thread;

	pthread_mutex_lock(&layer.pump_lock);
	if (!layer.pumping && !gp__thread_start(&thread, 0, pump, NULL)) {
		pthread_detach(thread);
		layer.pumping = true;
	}
	pthread_mutex_unlock(&layer.pump_lock);
	return layer.pumping;
}

/*
 * The agent's side
 */

static void report_work(void *data, struct gp__cl_queue *q, bool has_work)
{
	(void)data;
	gp__agent_work(layer.agent, entry_of(q)->id, has_work, has_work, gp__clock_ns());
}

static int hold(u32 id, bool held)
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

static void hold_all(const u32 *ids, int *results, size_t n, bool held)
{
	pthread_rwlock_rdlock(&layer.lock);
	for (size_t i = 0; i < n; i++)
		results[i] = hold(ids[i], held);
	pthread_rwlock_unlock(&layer.lock);
}

static void stop(void *data, const u32 *ids, int *results, size_t n)
{
	(void)data;
	hold_all(ids, results, n, true);
}

static void start(void *data, const u32 *ids, int *results, size_t n)
{
	(void)data;
	hold_all(ids, results, n, false);
}

static void is_alone(void *data, bool alone)
{
	struct gp__link *l, *n;

	(void)data;
	pthread_rwlock_wrlock(&layer.lock);
	layer.narrow = !alone;
	gp__list_each(l, n, &layer.all)
		gp__cl_queue_narrow(&container_of(l, struct entry, link)->queue, layer.narrow);
	pthread_rwlock_unlock(&layer.lock);
}

static void agent_says(void *data, const char *text)
{
	(void)data;
	gp__join_say(text);
}

/*
 * Queues
 */

/* Level 2 is what there is, on devices that let the host tell a running kernel something. */
static u32 level_of(cl_device_id device)
{
	return layer.wish.level != 1 && gp__cl_guard_can(&layer.next, device) ? 2 : 1;
}

static bool has_level(cl_device_id device)
{
	if (layer.wish.level <= level_of(device))
		return true;
	say_once(layer.wish.level == 2
			 ? "level 2 is not to be had for this program's OpenCL queues: they run "
			   "without a priority; leave --level out, or use 1"
			 : "level 3 is not to be had for this program's OpenCL queues: they run "
			   "without a priority; leave --level out, or use less");
	return false;
}

void gp__cl_tell_unguarded(struct gp__cl_queue *q, enum gp__wire_why why)
{
	u32 note = GP__WIRE_NOTE_UNGUARDED(why);

	if (!(atomic_fetch_or(&entry_of(q)->told, note) & note))
		gp__agent_note(layer.agent, entry_of(q)->id, note);
}

static bool is_for_us(cl_command_queue queue, cl_device_id *device)
{
	cl_command_queue_properties properties = 0;

	return !layer.next.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(*device), device,
						 NULL) &&
	       !layer.next.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties),
						 &properties, NULL) &&
	       !(properties & CL_QUEUE_ON_DEVICE) &&
	       !gp__cl_is_joined_beneath(&layer.next, *device) && has_level(*device);
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

static void add(cl_command_queue queue)
{
	struct gp__agent_queue q = { .level_requested = layer.wish.level ? layer.wish.level : 3,
				     .hints = layer.wish.hints };
	cl_device_id device;
	struct entry *e;

	if (!is_for_us(queue, &device))
		return;
	e = start_pump() ? calloc(1, sizeof(*e)) : NULL;
	if (!e || gp__cl_queue_init(&e->queue, &layer.host, queue, layer.wish.window,
				    layer.wish.window_ns)) {
		free(e);
		say_once("there is no memory left to schedule this program's OpenCL queues: they "
			 "run without a priority");
		return;
	}
	q.level = level_of(device) == 2 && gp__cl_guard_open(&e->queue, device) ? 2 : 1;
	gp__list_init(&e->kicked);
	e->references = 1;
	put_in_list(e);
	q.id = e->id;
	gp__cl_name_device(&layer.next, device, &q);
	memcpy(q.tag, layer.wish.tag, sizeof(q.tag));
	gp__agent_add(layer.agent, &q);
	gp__agent_sees(layer.agent, q.id, GP__WIRE_SEES_LAUNCH);
	if (q.level == 2 && layer.wish.idempotent)
		gp__agent_note(layer.agent, q.id, GP__WIRE_NOTE_DROPS);
}

/* Whoever has the last reference gives it back; what is enqueued still ends. */
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
		add(queue);
	return queue;
}

static cl_command_queue CL_API_CALL create_queue_with(cl_context context, cl_device_id device,
						      const cl_queue_properties *properties,
						      cl_int *error)
{
	cl_command_queue queue =
		layer.next.clCreateCommandQueueWithProperties(context, device, properties, error);

	if (queue && layer.joined)
		add(queue);
	return queue;
}

static cl_int CL_API_CALL retain_queue(cl_command_queue queue)
{
	cl_int result = layer.next.clRetainCommandQueue(queue);

	if (result == CL_SUCCESS && layer.joined)
		add_reference(queue);
	return result;
}

/* Before: afterwards another one may have its address. */
static cl_int CL_API_CALL release_queue(cl_command_queue queue)
{
	if (layer.joined)
		remove_reference(queue);
	return layer.next.clReleaseCommandQueue(queue);
}

/*
 * Beginning
 */

/* A child has neither our threads nor the driver's: what it enqueues there is its own affair. */
static void begin_child(void)
{
	layer.joined = false;
	gp__agent_forget(layer.agent);
}

/* Work may be announced to the preload, which does not know of our queues. */
static int announce(uint64_t when_ns)
{
	return layer.joined ? gp__agent_arriving(layer.agent, when_ns) : -ENOTCONN;
}

static void tell_preload(void)
{
	void *found = dlsym(RTLD_DEFAULT, "gp_join_also");
	void (*also)(int (*arriving)(uint64_t when_ns));

	memcpy(&also, &found, sizeof(found));
	if (also)
		also(announce);
}

static bool make_agent(void)
{
	struct gp__agent_options options = {
		.program = program_invocation_short_name,
		.say = agent_says,
		.ops = { .stop = stop, .start = start, .alone = is_alone },
	};
	char path[108];

	options.path = path;
	return !gp__wire_path(path, sizeof(path)) && !gp__agent_create(&options, &layer.agent);
}

static void begin(void)
{
	const char *bad;

	if (!gp__wish_read(&layer.wish, &bad)) {
		gp__join_step_aside("what cannot be is in ", bad);
		return;
	}
	if (!layer.wish.joined)
		return;
	if (!make_agent() || pthread_atfork(NULL, NULL, begin_child)) {
		gp__join_step_aside("no memory, or no place where gpreemptd could be", "");
		return;
	}
	gp__list_init(&layer.all);
	gp__list_init(&layer.kicked);
	gp__list_init(&layer.resting);
	layer.host = (struct gp__cl_host){
		.next = &layer.next, .work = report_work, .kick = kick, .kick_later = kick_later
	};
	layer.joined = true;
	tell_preload();
	gp__cl_replace_enqueues(&layer.table);
	if (layer.wish.level != 1) {
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

/* A loader that is older than we are has a shorter table, and one that is younger a longer one. */
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
 * Newer loaders look for these two. Properties are for the loader's own use so far: there are none
 * that a layer would have to know.
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

/* Nobody calls us any more; what is enqueued still ends, so the threads stay, and the library. */
PUBLIC cl_int CL_API_CALL clDeinitLayer(void);
cl_int CL_API_CALL clDeinitLayer(void)
{
	return CL_SUCCESS;
}
