// SPDX-License-Identifier: MIT
/* State is global, as the program's is. `lock` protects the table. */
#include "join/opencl/events.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include <uthash.h>

#include "core/types.h"
#include "join/opencl/layer.h"

struct entry {
	UT_hash_handle hh; /* by event */
	cl_event event, run;
	u32 references; /* of the program, to event */
};

static struct {
	pthread_mutex_t lock;
	struct entry *entries;
	_Atomic u32 nr; /* most programs have none, and do not take the lock */
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const cl_icd_dispatch *next(void)
{
	return gp__cl_next();
}

/* Under the lock. */
static struct entry *find(cl_event event)
{
	struct entry *e;

	HASH_FIND_PTR(all.entries, &event, e);
	return e;
}

static bool has_any(void)
{
	return gp__cl_is_joined() && atomic_load(&all.nr);
}

void gp__cl_event_stands_for(cl_event event, cl_event run)
{
	struct entry *e = malloc(sizeof(*e));

	if (!e) {
		next()->clReleaseEvent(run);
		return; /* the program sees the marker's answers */
	}
	*e = (struct entry){ .event = event, .run = run, .references = 1 };
	pthread_mutex_lock(&all.lock);
	HASH_ADD_PTR(all.entries, event, e);
	atomic_fetch_add(&all.nr, 1);
	pthread_mutex_unlock(&all.lock);
}

static cl_int CL_API_CALL retain_event(cl_event event)
{
	cl_int result = next()->clRetainEvent(event);
	struct entry *e;

	if (result != CL_SUCCESS || !has_any())
		return result;
	pthread_mutex_lock(&all.lock);
	e = find(event);
	if (e)
		e->references++;
	pthread_mutex_unlock(&all.lock);
	return result;
}

/* Removes the entry first: once released, another event may have the same address. */
static cl_int CL_API_CALL release_event(cl_event event)
{
	struct entry *e = NULL;

	if (has_any()) {
		pthread_mutex_lock(&all.lock);
		e = find(event);
		if (e && !--e->references) {
			HASH_DEL(all.entries, e);
			atomic_fetch_sub(&all.nr, 1);
		} else {
			e = NULL;
		}
		pthread_mutex_unlock(&all.lock);
	}
	if (e) {
		next()->clReleaseEvent(e->run);
		free(e);
	}
	return next()->clReleaseEvent(event);
}

/* The run that the event represents, or the event itself. The program retains it meanwhile. */
static cl_event meant_by(cl_event event)
{
	struct entry *e = NULL;
	cl_event run;

	if (!has_any())
		return event;
	pthread_mutex_lock(&all.lock);
	e = find(event);
	run = e ? e->run : event;
	pthread_mutex_unlock(&all.lock);
	return run;
}

static cl_int CL_API_CALL get_info(cl_event event, cl_event_info what, size_t size, void *value,
				   size_t *needed)
{
	cl_event of = what == CL_EVENT_COMMAND_TYPE ? meant_by(event) : event;

	return next()->clGetEventInfo(of, what, size, value, needed);
}

/* The launch ends with the marker, when all work-groups have run. */
static cl_int CL_API_CALL get_profile(cl_event event, cl_profiling_info what, size_t size,
				      void *value, size_t *needed)
{
	bool ends = what == CL_PROFILING_COMMAND_END || what == CL_PROFILING_COMMAND_COMPLETE;

	return next()->clGetEventProfilingInfo(ends ? event : meant_by(event), what, size, value,
					       needed);
}

void gp__cl_replace_events(cl_icd_dispatch *table)
{
	table->clRetainEvent = retain_event;
	table->clReleaseEvent = release_event;
	table->clGetEventInfo = get_info;
	table->clGetEventProfilingInfo = get_profile;
}
