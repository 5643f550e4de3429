/* SPDX-License-Identifier: MIT */
/* The launch window over an OpenCL queue, and guarded launches, against a driver of this test. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "join/opencl/copies.h"
#include "join/opencl/queue.h"
#include "join/opencl/source.h"

enum { CALLBACKS = 8, WAITS = 8, EVENTS = 512, WIDTH = 2, GROUPS = 16, COPIES = 8 };

struct callback {
	void(CL_CALLBACK *fn)(cl_event, cl_int, void *);
	void *data;
};

struct _cl_event {
	bool is_user;
	int references;
	cl_int status;
	struct callback callback[CALLBACKS];
	int nr_callbacks;
	cl_event waits[WAITS];
	cl_uint nr_waits;
};

/* A guarded copy, and the launch that uses it. */
struct _cl_kernel {
	struct gp__cl_copy copy;
	bool is_out;
	const uint32_t *held;
	struct gp__cl_block *block;
	size_t nr_groups;
	int runs[GROUPS]; /* of each work-group, in total */
	cl_event run;
};

static struct driver {
	struct _cl_event event[EVENTS];
	int nr_events;
	cl_command_queue_properties properties;
	bool refuses_callbacks, refuses_user_events;
	bool refuses_runs, refuses_markers;
	cl_event waited; /* the event of the latest wait */
	struct _cl_kernel kernel[COPIES];
	size_t reqd[3];
	int nr_shared; /* allocations of shared memory */
} driver;

struct fixture {
	cl_icd_dispatch next;
	struct gp__cl_host host;
	struct gp__cl_queue q;
	int nr_work; /* how often the queue began to have work */
	bool has_work;
	int nr_wakes, nr_later;
};

/*
 * The driver
 */

static cl_event make_event(bool is_user)
{
	cl_event e = &driver.event[driver.nr_events++];

	assert_true(driver.nr_events < EVENTS);
	*e = (struct _cl_event){ .is_user = is_user, .references = 1, .status = CL_SUBMITTED };
	return e;
}

static cl_event CL_API_CALL create_user_event(cl_context context, cl_int *err)
{
	(void)context;
	*err = driver.refuses_user_events ? CL_OUT_OF_HOST_MEMORY : CL_SUCCESS;
	return driver.refuses_user_events ? NULL : make_event(true);
}

/* Completes an event and calls its callbacks, as a driver does. */
static void end_event(cl_event e, cl_int status)
{
	assert_true(e->status > CL_COMPLETE);
	e->status = status;
	for (int i = 0; i < e->nr_callbacks; i++)
		e->callback[i].fn(e, status, e->callback[i].data);
}

static cl_int CL_API_CALL set_user_status(cl_event e, cl_int status)
{
	assert_true(e->is_user && e->references > 0);
	end_event(e, status);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL retain_event(cl_event e)
{
	assert_true(e->references > 0);
	e->references++;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL release_event(cl_event e)
{
	assert_true(e->references > 0);
	e->references--;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL set_callback(cl_event e, cl_int type,
				       void(CL_CALLBACK *fn)(cl_event, cl_int, void *), void *data)
{
	assert_int_equal(type, CL_COMPLETE);
	assert_true(e->references > 0);
	if (driver.refuses_callbacks)
		return CL_OUT_OF_RESOURCES;
	if (e->status <= CL_COMPLETE) {
		fn(e, e->status, data); /* at once, as drivers do */
		return CL_SUCCESS;
	}
	assert_true(e->nr_callbacks < CALLBACKS);
	e->callback[e->nr_callbacks++] = (struct callback){ fn, data };
	return CL_SUCCESS;
}

static cl_int CL_API_CALL get_event_info(cl_event e, cl_event_info what, size_t size, void *value,
					 size_t *needed)
{
	(void)needed;
	assert_int_equal(what, CL_EVENT_COMMAND_EXECUTION_STATUS);
	assert_int_equal(size, sizeof(cl_int));
	*(cl_int *)value = e->status;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL wait_for_events(cl_uint n, const cl_event *events)
{
	assert_int_equal(n, 1);
	assert_true(events[0]->references > 0);
	driver.waited = events[0];
	return events[0]->status < 0 ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS;
}

static cl_int CL_API_CALL get_queue_info(cl_command_queue queue, cl_command_queue_info what,
					 size_t size, void *value, size_t *needed)
{
	(void)queue, (void)needed;
	memset(value, 0, size);
	if (what == CL_QUEUE_PROPERTIES)
		memcpy(value, &driver.properties, sizeof(driver.properties));
	return CL_SUCCESS;
}

/*
 * The program
 */

static void note_work(void *data, struct gp__cl_queue *q, bool has_work)
{
	struct fixture *f = data;

	assert_ptr_equal(q, &f->q);
	assert_true(f->has_work != has_work);
	f->has_work = has_work;
	f->nr_work += has_work;
}

static void note_wake(void *data, struct gp__cl_queue *q)
{
	struct fixture *f = data;

	(void)q;
	f->nr_wakes++;
}

static void note_later(void *data, struct gp__cl_queue *q)
{
	struct fixture *f = data;

	(void)q;
	f->nr_later++;
}

static void begin(struct fixture *f, cl_command_queue_properties properties)
{
	memset(f, 0, sizeof(*f));
	memset(&driver, 0, sizeof(driver));
	driver.properties = properties;
	f->next.clCreateUserEvent = create_user_event;
	f->next.clSetUserEventStatus = set_user_status;
	f->next.clRetainEvent = retain_event;
	f->next.clReleaseEvent = release_event;
	f->next.clSetEventCallback = set_callback;
	f->next.clGetEventInfo = get_event_info;
	f->next.clWaitForEvents = wait_for_events;
	f->next.clGetCommandQueueInfo = get_queue_info;
	f->host = (struct gp__cl_host){ &f->next, note_work, note_wake, note_later, f };
	assert_int_equal(gp__cl_queue_init(&f->q, &f->host, NULL, WIDTH, 0), 0);
}

/* The driver's side of a call. */
static cl_event take(struct gp__cl_call *call)
{
	cl_event e = make_event(false);

	assert_true(call->nr_waits <= WAITS);
	e->nr_waits = call->nr_waits;
	for (cl_uint i = 0; i < call->nr_waits; i++)
		e->waits[i] = call->waits[i];
	*call->event = e;
	return e;
}

/* Enqueues a command without an event for the program; returns its event in the driver. */
static cl_event enqueue_after(struct fixture *f, cl_uint nr_waits, const cl_event *waits)
{
	struct gp__cl_call call;
	cl_event e;

	assert_true(gp__cl_begin(&call, &f->q, nr_waits, waits, NULL));
	e = take(&call);
	assert_int_equal(gp__cl_end(&call, CL_SUCCESS, CL_FALSE), CL_SUCCESS);
	return e;
}

static cl_event enqueue(struct fixture *f)
{
	return enqueue_after(f, 0, NULL);
}

static bool is_free(cl_event e)
{
	for (cl_uint i = 0; i < e->nr_waits; i++) {
		if (e->waits[i]->status > CL_COMPLETE)
			return false;
	}
	return true;
}

static void finish(struct fixture *f, cl_event e)
{
	assert_true(is_free(e));
	end_event(e, CL_COMPLETE);
	gp__cl_queue_advance(&f->q);
}

/* Checks that nothing leaked. */
static void end(struct fixture *f)
{
	gp__cl_queue_leave(&f->q);
	assert_true(gp__cl_queue_advance(&f->q));
	assert_false(f->has_work);
	gp__cl_queue_destroy(&f->q);
	for (int i = 0; i < driver.nr_events; i++)
		assert_int_equal(driver.event[i].references, 0);
}

static void an_open_queue_has_no_gates(void **state)
{
	struct fixture f;
	cl_event first, e = NULL;

	(void)state;
	begin(&f, 0);
	first = enqueue(&f);
	assert_true(f.has_work);
	gp__cl_queue_advance(&f.q);
	for (int i = 0; i < 100; i++)
		e = enqueue(&f);
	/* Only one of them is watched, and the last of the others is retained. */
	assert_int_equal(driver.nr_events, 101);
	for (int i = 1; i < 101; i++) {
		assert_int_equal(driver.event[i].nr_callbacks, 0);
		assert_int_equal(driver.event[i].references, i == 100);
		assert_true(is_free(&driver.event[i]));
	}
	finish(&f, first);
	assert_true(f.has_work);
	finish(&f, e);
	assert_false(f.has_work);
	assert_int_equal(f.nr_work, 1);
	end(&f);
}

static void the_worker_is_not_urgent_while_the_program_is_alone(void **state)
{
	struct fixture f;
	cl_event e;
	int wakes;

	(void)state;
	begin(&f, 0);
	e = enqueue(&f);
	gp__cl_queue_advance(&f.q);
	finish(&f, e);
	assert_int_equal(f.nr_wakes, 0);
	assert_int_equal(f.nr_later, 2); /* to be watched, and to be freed */
	/* Another program comes: earlier commands are watched at once. */
	e = enqueue(&f);
	gp__cl_queue_narrow(&f.q, true);
	assert_true(f.nr_wakes > 0);
	gp__cl_queue_advance(&f.q);
	wakes = f.nr_wakes;
	finish(&f, e);
	assert_true(f.nr_wakes > wakes);
	assert_int_equal(f.nr_later, 3);
	end(&f);
}

static void no_more_commands_are_in_flight_than_the_window_allows(void **state)
{
	struct fixture f;
	cl_event e[6];

	(void)state;
	begin(&f, 0);
	gp__cl_queue_narrow(&f.q, true);
	for (int i = 0; i < 6; i++)
		e[i] = enqueue(&f);
	gp__cl_queue_advance(&f.q);
	for (int i = 0; i < 6; i++) {
		for (int k = 0; k < 6; k++)
			assert_int_equal(is_free(e[k]), k < i + WIDTH);
		finish(&f, e[i]);
	}
	end(&f);
}

static void a_held_queue_starts_nothing(void **state)
{
	struct fixture f;
	cl_event before, e[4];

	(void)state;
	begin(&f, 0);
	before = enqueue(&f);
	gp__cl_queue_hold(&f.q, true);
	for (int i = 0; i < 4; i++)
		e[i] = enqueue(&f);
	gp__cl_queue_advance(&f.q);
	finish(&f, before);
	for (int i = 0; i < 4; i++)
		assert_false(is_free(e[i]));
	assert_true(f.has_work);
	/* No other program is there: all commands start. */
	gp__cl_queue_hold(&f.q, false);
	gp__cl_queue_advance(&f.q);
	for (int i = 0; i < 4; i++)
		finish(&f, e[i]);
	end(&f);
}

static void a_program_that_is_alone_again_has_no_window(void **state)
{
	struct fixture f;
	cl_event e[5];

	(void)state;
	begin(&f, 0);
	gp__cl_queue_narrow(&f.q, true);
	for (int i = 0; i < 4; i++)
		e[i] = enqueue(&f);
	gp__cl_queue_narrow(&f.q, false);
	gp__cl_queue_advance(&f.q);
	e[4] = enqueue(&f);
	assert_int_equal(e[4]->nr_waits, 0);
	for (int i = 0; i < 5; i++)
		assert_true(is_free(e[i]));
	gp__cl_queue_advance(&f.q);
	for (int i = 0; i < 5; i++)
		finish(&f, e[i]);
	end(&f);
}

static void the_programs_events_are_the_drivers(void **state)
{
	struct fixture f;
	struct gp__cl_call call;
	cl_event waits[WAITS - 1], mine = NULL, e;

	(void)state;
	begin(&f, 0);
	gp__cl_queue_hold(&f.q, true);
	for (int i = 0; i < WAITS - 1; i++)
		waits[i] = make_event(true);
	assert_true(gp__cl_begin(&call, &f.q, WAITS - 1, waits, &mine));
	e = take(&call);
	assert_int_equal(gp__cl_end(&call, CL_SUCCESS, CL_FALSE), CL_SUCCESS);
	assert_ptr_equal(mine, e);
	/* The program's list, and the gate. */
	assert_int_equal(e->nr_waits, WAITS);
	assert_memory_equal(e->waits, waits, sizeof(waits));
	gp__cl_queue_hold(&f.q, false);
	gp__cl_queue_advance(&f.q);
	for (int i = 0; i < WAITS - 1; i++) {
		set_user_status(waits[i], CL_COMPLETE);
		release_event(waits[i]);
	}
	finish(&f, e);
	assert_int_equal(mine->references, 1); /* the program's */
	release_event(mine);
	end(&f);
}

static void a_blocking_call_waits_for_its_own_command(void **state)
{
	struct fixture f;
	struct gp__cl_call call;
	cl_event e;

	(void)state;
	begin(&f, 0);
	assert_true(gp__cl_begin(&call, &f.q, 0, NULL, NULL));
	e = take(&call);
	assert_int_equal(gp__cl_end(&call, CL_SUCCESS, CL_TRUE), CL_SUCCESS);
	assert_ptr_equal(driver.waited, e);
	gp__cl_queue_advance(&f.q);
	finish(&f, e);
	assert_true(gp__cl_begin(&call, &f.q, 0, NULL, NULL));
	e = take(&call);
	e->status = -5;
	assert_int_equal(gp__cl_end(&call, CL_SUCCESS, CL_TRUE),
			 CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
	gp__cl_queue_advance(&f.q);
	end(&f);
}

static void refused_commands_leave_the_window(void **state)
{
	struct fixture f;
	struct gp__cl_call call;
	cl_event e;

	(void)state;
	for (int held = 0; held < 2; held++) {
		begin(&f, 0);
		gp__cl_queue_narrow(&f.q, true);
		gp__cl_queue_hold(&f.q, held);
		for (int i = 0; i < 5; i++) {
			assert_true(gp__cl_begin(&call, &f.q, 0, NULL, NULL));
			assert_int_equal(gp__cl_end(&call, CL_INVALID_VALUE, CL_TRUE),
					 CL_INVALID_VALUE);
			assert_false(f.has_work);
		}
		gp__cl_queue_hold(&f.q, false);
		e = enqueue(&f);
		assert_true(is_free(e));
		finish(&f, e);
		end(&f);
	}
	/* An invalid list. */
	begin(&f, 0);
	assert_false(gp__cl_begin(&call, &f.q, 1, NULL, NULL));
	assert_false(gp__cl_begin(&call, &f.q, 0, &e, NULL));
	end(&f);
}

static void waiting_commands_of_out_of_order_queues_take_no_room(void **state)
{
	struct fixture f;
	cl_event wanted, waiting[WIDTH + 1], e;

	(void)state;
	begin(&f, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	gp__cl_queue_narrow(&f.q, true);
	wanted = make_event(true);
	for (int i = 0; i < WIDTH + 1; i++)
		waiting[i] = enqueue_after(&f, 1, &wanted);
	gp__cl_queue_advance(&f.q);
	/* The program may wait for this one before it sets the event. */
	e = enqueue(&f);
	assert_true(is_free(e));
	finish(&f, e);
	set_user_status(wanted, CL_COMPLETE);
	release_event(wanted);
	gp__cl_queue_advance(&f.q);
	assert_true(is_free(waiting[WIDTH - 1]));
	assert_false(is_free(waiting[WIDTH]));
	/* They end in any order. */
	finish(&f, waiting[1]);
	assert_true(is_free(waiting[WIDTH]));
	finish(&f, waiting[WIDTH]);
	finish(&f, waiting[0]);
	end(&f);
}

static void commands_of_out_of_order_queues_wait_for_barriers(void **state)
{
	struct fixture f;
	cl_event barrier, behind[WIDTH], e;

	(void)state;
	begin(&f, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	gp__cl_queue_narrow(&f.q, true);
	e = enqueue(&f);
	gp__cl_barrier_begin(&f.q);
	barrier = make_event(false);
	gp__cl_barrier_end(&f.q, barrier);
	for (int i = 0; i < WIDTH; i++)
		behind[i] = enqueue(&f);
	gp__cl_queue_advance(&f.q);
	assert_false(is_free(behind[0]));
	finish(&f, e);
	end_event(barrier, CL_COMPLETE);
	gp__cl_queue_advance(&f.q);
	for (int i = 0; i < WIDTH; i++)
		finish(&f, behind[i]);
	/* It is over, and later commands do not wait for it. */
	e = enqueue(&f);
	assert_int_equal(e->nr_waits, 0);
	finish(&f, e);
	end(&f);
}

static void a_command_that_fails_early_leaves_the_window(void **state)
{
	struct fixture f;
	cl_event wanted[2], e[3];

	(void)state;
	begin(&f, 0);
	gp__cl_queue_hold(&f.q, true);
	for (int i = 0; i < 3; i++)
		e[i] = enqueue(&f);
	end_event(e[1], -1);
	gp__cl_queue_advance(&f.q);
	gp__cl_queue_hold(&f.q, false);
	gp__cl_queue_advance(&f.q);
	finish(&f, e[0]);
	finish(&f, e[2]);
	end(&f);

	/* The same for a command that waits for others, one of which never ends. */
	begin(&f, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	gp__cl_queue_narrow(&f.q, true);
	wanted[0] = make_event(true);
	wanted[1] = make_event(true);
	e[0] = enqueue_after(&f, 2, wanted);
	set_user_status(wanted[0], -1);
	end_event(e[0], -1);
	gp__cl_queue_advance(&f.q);
	assert_false(f.has_work);
	gp__cl_queue_leave(&f.q);
	assert_false(gp__cl_queue_advance(&f.q));
	set_user_status(wanted[1], CL_COMPLETE);
	release_event(wanted[0]);
	release_event(wanted[1]);
	end(&f);
}

static void a_released_queue_exists_until_its_commands_have_ended(void **state)
{
	struct fixture f;
	cl_event e[3];

	(void)state;
	begin(&f, 0);
	gp__cl_queue_hold(&f.q, true);
	for (int i = 0; i < 3; i++)
		e[i] = enqueue(&f);
	gp__cl_queue_leave(&f.q);
	assert_false(gp__cl_queue_advance(&f.q));
	gp__cl_queue_hold(&f.q, false);
	assert_false(gp__cl_queue_advance(&f.q));
	for (int i = 0; i < 3; i++)
		finish(&f, e[i]);
	end(&f);
}

/* A driver that runs the program's callbacks from inside its functions. */
static void commands_enqueued_inside_an_enqueue_have_no_gate(void **state)
{
	struct fixture f;
	struct gp__cl_call call;
	cl_event inner, outer;

	(void)state;
	begin(&f, 0);
	gp__cl_queue_narrow(&f.q, true);
	assert_true(gp__cl_begin(&call, &f.q, 0, NULL, NULL));
	inner = enqueue(&f);
	outer = take(&call);
	assert_int_equal(gp__cl_end(&call, CL_SUCCESS, CL_FALSE), CL_SUCCESS);
	gp__cl_queue_advance(&f.q);
	assert_true(is_free(inner) && is_free(outer));
	finish(&f, inner);
	finish(&f, outer);
	end(&f);
}

static void commands_that_cannot_be_held_or_watched_run(void **state)
{
	struct fixture f;
	cl_event e;

	(void)state;
	begin(&f, 0);
	gp__cl_queue_hold(&f.q, true);
	driver.refuses_user_events = true;
	e = enqueue(&f);
	assert_true(is_free(e));
	finish(&f, e);
	driver.refuses_user_events = false;
	driver.refuses_callbacks = true;
	gp__cl_queue_hold(&f.q, false);
	gp__cl_queue_narrow(&f.q, true);
	for (int i = 0; i < 2 * WIDTH; i++) {
		e = enqueue(&f);
		gp__cl_queue_advance(&f.q);
		assert_true(is_free(e));
	}
	end(&f);
}

/*
 * Random programs: every command ends once, and in-order queues keep their order.
 */

struct random_program {
	struct fixture f;
	cl_event e[64];
	int nr, nr_ended;
	bool ordered;
};

/* A command that the driver could run now; NULL: there is none. */
static cl_event runnable(struct random_program *r)
{
	int start = r->ordered || !r->nr ? 0 : rand() % r->nr;

	for (int n = 0; n < r->nr; n++) {
		cl_event e = r->e[(start + n) % r->nr];

		if (e->status <= CL_COMPLETE)
			continue;
		if (is_free(e))
			return e;
		if (r->ordered)
			return NULL;
	}
	return NULL;
}

static void enqueue_random(struct random_program *r)
{
	cl_event other = r->nr ? r->e[rand() % r->nr] : NULL;

	if (r->nr == 64)
		return;
	if (other && rand() % 3 == 0)
		r->e[r->nr++] = enqueue_after(&r->f, 1, &other);
	else
		r->e[r->nr++] = enqueue(&r->f);
	/* The driver retains events that others wait for. */
	retain_event(r->e[r->nr - 1]);
}

static void run_one(struct random_program *r)
{
	cl_event e = runnable(r);

	if (!e)
		return;
	end_event(e, rand() % 16 ? CL_COMPLETE : -1);
	r->nr_ended++;
}

static void a_random_step(struct random_program *r)
{
	switch (rand() % 8) {
	case 0:
		gp__cl_queue_hold(&r->f.q, rand() % 2);
		break;
	case 1:
		gp__cl_queue_narrow(&r->f.q, rand() % 2);
		break;
	case 2:
	case 3:
	case 4:
		enqueue_random(r);
		break;
	case 5:
		gp__cl_queue_advance(&r->f.q);
		break;
	default:
		run_one(r);
	}
}

static void random_programs_end(void **state)
{
	(void)state;
	for (int seed = 0; seed < 3000; seed++) {
		struct random_program r = { .ordered = seed % 2 };

		srand((unsigned int)seed);
		begin(&r.f, r.ordered ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
		for (int i = 0; i < 150; i++)
			a_random_step(&r);
		gp__cl_queue_hold(&r.f.q, false);
		for (int i = 0; i < 200 && r.nr_ended < r.nr; i++) {
			gp__cl_queue_advance(&r.f.q);
			run_one(&r);
		}
		assert_int_equal(r.nr_ended, r.nr);
		gp__cl_queue_advance(&r.f.q);
		for (int i = 0; i < r.nr; i++)
			release_event(r.e[i]);
		end(&r.f);
	}
}

/*
 * Launches that are cut short
 */

struct gp__cl_copy *gp__cl_copy_take(cl_kernel kernel, cl_device_id device, enum gp__wire_why *why)
{
	(void)device;
	*why = kernel ? GP__WIRE_GUARDED : GP__WIRE_NO_SOURCE;
	for (int i = 0; kernel && i < COPIES; i++) {
		struct _cl_kernel *k = &driver.kernel[i];

		if (k->is_out)
			continue;
		memset(k, 0, sizeof(*k));
		k->copy = (struct gp__cl_copy){ .cl = k, .nr_args = 3 };
		k->is_out = true;
		return &k->copy;
	}
	return NULL;
}

void gp__cl_copy_give(struct gp__cl_copy *copy)
{
	assert_true(copy->cl->is_out);
	copy->cl->is_out = false;
}

static void *CL_API_CALL allocate_shared(cl_context context, cl_svm_mem_flags flags, size_t size,
					 cl_uint alignment)
{
	(void)context, (void)alignment;
	assert_true(flags & CL_MEM_SVM_FINE_GRAIN_BUFFER && flags & CL_MEM_SVM_ATOMICS);
	driver.nr_shared++;
	return memset(malloc(size), 0xff, size);
}

static void CL_API_CALL free_shared(cl_context context, void *memory)
{
	(void)context;
	driver.nr_shared--;
	free(memory);
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
						 cl_command_queue_properties properties,
						 cl_int *err)
{
	static int queue;

	(void)context, (void)device, (void)properties;
	*err = CL_SUCCESS;
	return (cl_command_queue)&queue;
}

static cl_int CL_API_CALL use_queue(cl_command_queue queue)
{
	assert_non_null(queue);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL set_pointer(cl_kernel kernel, cl_uint i, const void *pointer)
{
	if (i == 3)
		kernel->held = pointer;
	else
		kernel->block = (struct gp__cl_block *)pointer;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL get_group_info(cl_kernel kernel, cl_device_id device,
					 cl_kernel_work_group_info what, size_t size, void *value,
					 size_t *needed)
{
	(void)kernel, (void)device, (void)needed;
	if (what == CL_KERNEL_COMPILE_WORK_GROUP_SIZE)
		memcpy(value, driver.reqd, size);
	else
		*(size_t *)value = 64;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info what, size_t size,
					  void *value, size_t *needed)
{
	(void)device, (void)size, (void)needed;
	assert_int_equal(what, CL_DEVICE_MAX_COMPUTE_UNITS);
	*(cl_uint *)value = 1;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dim,
					 const size_t *offset, const size_t *global,
					 const size_t *local, cl_uint nr_waits,
					 const cl_event *waits, cl_event *event)
{
	(void)queue, (void)offset;
	if (driver.refuses_runs)
		return CL_OUT_OF_RESOURCES;
	kernel->nr_groups = 1;
	for (cl_uint d = 0; d < dim; d++) {
		assert_true(local[d] > 0);
		kernel->nr_groups *= (global[d] + local[d] - 1) / local[d];
	}
	assert_true(kernel->nr_groups <= GROUPS);
	*event = kernel->run = make_event(false);
	kernel->run->nr_waits = nr_waits;
	if (nr_waits)
		memcpy(kernel->run->waits, waits, nr_waits * sizeof(*waits));
	retain_event(kernel->run); /* the driver's own */
	return CL_SUCCESS;
}

static cl_int CL_API_CALL enqueue_marker(cl_command_queue queue, cl_uint nr_waits,
					 const cl_event *waits, cl_event *event)
{
	(void)queue;
	if (driver.refuses_markers)
		return CL_OUT_OF_RESOURCES;
	*event = make_event(false);
	(*event)->nr_waits = nr_waits;
	if (nr_waits)
		memcpy((*event)->waits, waits, nr_waits * sizeof(*waits));
	return CL_SUCCESS;
}

/* Runs a work-group as the guard in the kernel does. */
static void start_group(struct _cl_kernel *k, size_t i)
{
	if (k->block->again && !k->block->left[i])
		return;
	k->block->left[i] = *k->held != 0;
	if (*k->held)
		k->block->cut = 1;
	else
		k->runs[i]++;
}

static void end_run(struct fixture *f, struct _cl_kernel *k, cl_int status)
{
	cl_event run = k->run;

	k->run = NULL;
	end_event(run, status);
	release_event(run);
	gp__cl_queue_advance(&f->q);
}

static void begin_guarded(struct fixture *f)
{
	begin(f, 0);
	f->next.clSVMAlloc = allocate_shared;
	f->next.clSVMFree = free_shared;
	f->next.clCreateCommandQueue = create_queue;
	f->next.clReleaseCommandQueue = use_queue;
	f->next.clFlush = use_queue;
	f->next.clSetKernelArgSVMPointer = set_pointer;
	f->next.clGetKernelWorkGroupInfo = get_group_info;
	f->next.clGetDeviceInfo = get_device_info;
	f->next.clEnqueueNDRangeKernel = enqueue_kernel;
	f->next.clEnqueueMarkerWithWaitList = enqueue_marker;
	assert_true(gp__cl_guard_open(&f->q, NULL));
	gp__cl_queue_narrow(&f->q, true);
}

static void end_guarded(struct fixture *f)
{
	end(f);
	assert_int_equal(driver.nr_shared, 0);
	for (int i = 0; i < COPIES; i++)
		assert_false(driver.kernel[i].is_out);
}

static cl_kernel const a_kernel = (cl_kernel)&driver;

/* Launches as enqueue.c does; returns the launch's event. NULL: it has no guard. */
static cl_event launch(struct fixture *f, const struct gp__cl_range *range, enum gp__wire_why *why)
{
	struct gp__cl_call call;
	struct gp__cl_launch *l;
	cl_event run, e = NULL;

	assert_true(gp__cl_begin(&call, &f->q, 0, NULL, NULL));
	assert_true(call.windowed);
	l = gp__cl_guard_prepare(&f->q, a_kernel, range, why);
	if (l && gp__cl_guard_enqueue(l, call.nr_waits, call.waits, call.event, &run)) {
		release_event(run);
		e = *call.event;
	}
	assert_int_equal(gp__cl_end(&call, e ? CL_SUCCESS : CL_INVALID_VALUE, CL_FALSE),
			 e ? CL_SUCCESS : CL_INVALID_VALUE);
	return e;
}

static const size_t many[3] = { 8 * GROUPS }, some[3] = { 8 };
static const struct gp__cl_range range = { 1, NULL, many, some };

static cl_event launch_many(struct fixture *f)
{
	enum gp__wire_why why;
	cl_event e = launch(f, &range, &why);

	assert_non_null(e);
	assert_int_equal(why, GP__WIRE_GUARDED);
	return e;
}

static void an_undisturbed_launch_is_run_once(void **state)
{
	struct fixture f;
	struct _cl_kernel *k = &driver.kernel[0];
	cl_event e;

	(void)state;
	begin_guarded(&f);
	for (int n = 0; n < 3; n++) {
		e = launch_many(&f);
		assert_false(is_free(e));
		for (size_t i = 0; i < GROUPS; i++)
			start_group(k, i);
		end_run(&f, k, CL_COMPLETE);
		assert_null(k->run);
		finish(&f, e);
		for (size_t i = 0; i < GROUPS; i++)
			assert_int_equal(k->runs[i], 1);
	}
	/* The queue's word, and one block that is reused. */
	assert_int_equal(driver.nr_shared, 2);
	end_guarded(&f);
}

static void remaining_work_groups_run_later_and_once(void **state)
{
	struct fixture f;
	struct _cl_kernel *k = &driver.kernel[0];
	cl_event e;

	(void)state;
	begin_guarded(&f);
	for (size_t cut = 0; cut < GROUPS; cut++) {
		e = launch_many(&f);
		for (size_t i = 0; i < cut; i++)
			start_group(k, i);
		gp__cl_queue_hold(&f.q, true);
		for (size_t i = cut; i < GROUPS; i++)
			start_group(k, i);
		end_run(&f, k, CL_COMPLETE);
		/* It is not over, and the remaining work-groups do not run. */
		assert_false(is_free(e));
		assert_null(k->run);
		gp__cl_queue_hold(&f.q, false);
		gp__cl_queue_advance(&f.q);
		assert_false(is_free(e));
		/* Cut once more, from the other side. */
		for (size_t i = GROUPS; i-- > GROUPS / 2;)
			start_group(k, i);
		gp__cl_queue_hold(&f.q, true);
		for (size_t i = GROUPS / 2; i-- > 0;)
			start_group(k, i);
		gp__cl_queue_hold(&f.q, false);
		end_run(&f, k, CL_COMPLETE);
		if (k->run) {
			for (size_t i = 0; i < GROUPS; i++)
				start_group(k, i);
			end_run(&f, k, CL_COMPLETE);
		}
		finish(&f, e);
		for (size_t i = 0; i < GROUPS; i++)
			assert_int_equal(k->runs[i], 1);
	}
	assert_int_equal(driver.nr_shared, 2);
	end_guarded(&f);
}

static void a_failed_run_fails_the_launch(void **state)
{
	struct fixture f;
	struct _cl_kernel *k = &driver.kernel[0];
	cl_event e;

	(void)state;
	begin_guarded(&f);
	for (int again = 0; again < 2; again++) {
		e = launch_many(&f);
		gp__cl_queue_hold(&f.q, true);
		for (size_t i = 0; i < GROUPS; i++)
			start_group(k, i);
		end_run(&f, k, again ? CL_COMPLETE : -5);
		driver.refuses_runs = again;
		gp__cl_queue_hold(&f.q, false);
		gp__cl_queue_advance(&f.q);
		driver.refuses_runs = false;
		assert_int_equal(e->waits[0]->status, again ? CL_OUT_OF_RESOURCES : -5);
		finish(&f, e);
	}
	/* The block is clean for the next launch. */
	e = launch_many(&f);
	for (size_t i = 0; i < GROUPS; i++)
		assert_int_equal(k->block->left[i], 0);
	end_run(&f, k, CL_COMPLETE);
	finish(&f, e);
	end_guarded(&f);
}

static void launches_that_cannot_be_guarded_are_left_to_the_driver(void **state)
{
	static const size_t huge[3] = { 1u << 20, 1u << 20 }, one[3] = { 1, 1, 1 }, none[3];
	const struct gp__cl_range too_large = { 2, NULL, huge, one };
	const struct gp__cl_range others[] = {
		{ 1, NULL, some, some }, { 1, NULL, none, one },  { 1, NULL, many, none },
		{ 0, NULL, many, some }, { 4, NULL, many, some }, { 1, NULL, NULL, NULL },
	};
	enum gp__wire_why why;
	struct fixture f;

	(void)state;
	begin_guarded(&f);
	assert_null(launch(&f, &too_large, &why));
	assert_int_equal(why, GP__WIRE_TOO_LARGE);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_null(launch(&f, &others[i], &why));
		assert_int_equal(why, GP__WIRE_GUARDED);
	}
	driver.refuses_runs = true;
	assert_null(launch(&f, &range, &why));
	driver.refuses_runs = false;
	assert_null(gp__cl_guard_prepare(&f.q, NULL, &range, &why));
	assert_int_equal(why, GP__WIRE_NO_SOURCE);
	end_guarded(&f);
}

static void without_a_marker_the_call_waits_for_the_launch(void **state)
{
	struct fixture f;
	struct _cl_kernel *k = &driver.kernel[0];
	cl_event e;

	(void)state;
	begin_guarded(&f);
	driver.refuses_markers = true;
	e = launch_many(&f);
	assert_ptr_equal(driver.waited, e);
	assert_true(e->is_user);
	for (size_t i = 0; i < GROUPS; i++)
		start_group(k, i);
	end_run(&f, k, CL_COMPLETE);
	end_guarded(&f);
}

static void chosen_work_group_sizes_divide_the_range(void **state)
{
	static const size_t global[3] = { 30, 7, 4 };
	const struct gp__cl_range open = { 3, NULL, global, NULL };
	struct _cl_kernel *k = &driver.kernel[0];
	enum gp__wire_why why;
	struct fixture f;
	cl_event e;

	(void)state;
	for (int reqd = 0; reqd < 2; reqd++) {
		begin_guarded(&f);
		if (reqd)
			memcpy(driver.reqd, (const size_t[]){ 10, 7, 1 }, sizeof(driver.reqd));
		e = launch(&f, &open, &why);
		assert_non_null(e);
		/* Of at most 64 items: 30 x 1 x 2. */
		assert_int_equal(k->nr_groups, reqd ? 12 : 14);
		end_run(&f, k, CL_COMPLETE);
		finish(&f, e);
		end_guarded(&f);
	}
}

static void the_priority_of_a_queue_is_among_its_properties(void **state)
{
	const struct {
		cl_queue_properties properties[5];
		int own;
	} cases[] = {
		{ { 0 }, 0 },
		{ { CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0 }, 0 },
		{ { CL_QUEUE_PRIORITY_KHR, CL_QUEUE_PRIORITY_HIGH_KHR, 0 }, 1 },
		{ { CL_QUEUE_PRIORITY_KHR, CL_QUEUE_PRIORITY_MED_KHR, 0 }, 0 },
		{ { CL_QUEUE_PROPERTIES, 0, CL_QUEUE_PRIORITY_KHR, CL_QUEUE_PRIORITY_LOW_KHR, 0 },
		  -1 },
	};

	(void)state;
	assert_int_equal(gp__cl_own_priority(NULL), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(gp__cl_own_priority(cases[i].properties), cases[i].own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_open_queue_has_no_gates),
		cmocka_unit_test(the_worker_is_not_urgent_while_the_program_is_alone),
		cmocka_unit_test(no_more_commands_are_in_flight_than_the_window_allows),
		cmocka_unit_test(a_held_queue_starts_nothing),
		cmocka_unit_test(a_program_that_is_alone_again_has_no_window),
		cmocka_unit_test(the_programs_events_are_the_drivers),
		cmocka_unit_test(a_blocking_call_waits_for_its_own_command),
		cmocka_unit_test(refused_commands_leave_the_window),
		cmocka_unit_test(waiting_commands_of_out_of_order_queues_take_no_room),
		cmocka_unit_test(commands_of_out_of_order_queues_wait_for_barriers),
		cmocka_unit_test(a_command_that_fails_early_leaves_the_window),
		cmocka_unit_test(a_released_queue_exists_until_its_commands_have_ended),
		cmocka_unit_test(commands_enqueued_inside_an_enqueue_have_no_gate),
		cmocka_unit_test(commands_that_cannot_be_held_or_watched_run),
		cmocka_unit_test(random_programs_end),
		cmocka_unit_test(an_undisturbed_launch_is_run_once),
		cmocka_unit_test(remaining_work_groups_run_later_and_once),
		cmocka_unit_test(a_failed_run_fails_the_launch),
		cmocka_unit_test(launches_that_cannot_be_guarded_are_left_to_the_driver),
		cmocka_unit_test(without_a_marker_the_call_waits_for_the_launch),
		cmocka_unit_test(chosen_work_group_sizes_divide_the_range),
		cmocka_unit_test(the_priority_of_a_queue_is_among_its_properties),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
