/* SPDX-License-Identifier: MIT */
/*
 * Runs random programs that enqueue in every way at once: kernels, copies, fills, rectangles,
 * images, maps, shared virtual memory, markers, barriers, user events, callbacks, blocking and
 * non-blocking calls, over in-order and out-of-order queues that depend on each other, and by
 * several threads in one queue. Each program knows its final memory, since every step depends on
 * the one before. Images, native kernels and out-of-order queues are left out if the device has
 * none.
 *
 * Usage: cl_mix [PROGRAMS [SEED]]
 */
#include "cl_lab.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"

enum {
	QUEUES = 4, /* every other one is out-of-order */
	BUFFERS = 5,
	SHARED = BUFFERS - 1, /* the one that is shared virtual memory */
	SIDE = 8,
	CELLS = SIDE * SIDE,
	BYTES = CELLS * 4,
	STEPS = 48,
	WAITS = STEPS + 2,
	THREADS = 3,
	ROUNDS = 40, /* by each thread */
};

static const char source[] = "__kernel void stir(__global uint *cells, uint with)\n"
			     "{\n"
			     "	size_t i = get_global_id(0);\n"
			     "	cells[i] = cells[i] * 1664525u + with + (uint)i;\n"
			     "}\n"
			     "__kernel void stir_all(__global uint *cells, uint with)\n"
			     "{\n"
			     "	for (uint i = 0; i < 64; i++)\n"
			     "		cells[i] = cells[i] * 1664525u + with + i;\n"
			     "}\n";

struct mix;

/* The operations on a buffer. */
struct step {
	uint32_t to, from, with;
	cl_event done;
	uint32_t data[CELLS]; /* the host's memory, written to or read from a buffer */
	uint32_t expected[CELLS]; /* after a read */
	bool reads;
};

struct mix {
	struct lab lab;
	cl_kernel stir, stir_all;
	cl_command_queue queue[QUEUES];
	cl_mem buffer[BUFFERS], image[2];
	uint32_t *shared;
	uint32_t expected[BUFFERS][CELLS];
	struct step step[STEPS];
	int nr_steps;
	cl_event last_write[BUFFERS], reads[BUFFERS][STEPS];
	int nr_reads[BUFFERS];
	cl_event user[STEPS]; /* events */
	bool is_set[STEPS];
	int nr_user;
	atomic_int nr_called;
	int nr_callbacks;
	bool has_images, has_native_kernels, has_unordered_queues; /* of the device */
	uint64_t random;
};

static uint32_t draw(struct mix *m, uint32_t below)
{
	return lab_random(&m->random) % below;
}

static void stir_here(uint32_t *cells, uint32_t with)
{
	for (uint32_t i = 0; i < CELLS; i++)
		cells[i] = cells[i] * 1664525u + with + i;
}

/*
 * Waits of a step
 */

struct waits {
	cl_event list[3 * WAITS];
	cl_uint n;
};

static void wait_for(struct waits *w, cl_event event)
{
	for (cl_uint i = 0; i < w->n; i++) {
		if (w->list[i] == event)
			return;
	}
	if (event)
		w->list[w->n++] = event;
}

/* Every step waits for events; an out-of-order queue has no other order. */
static struct waits waits_of(struct mix *m, const struct step *s)
{
	struct waits w = { .n = 0 };

	wait_for(&w, m->last_write[s->to]);
	wait_for(&w, m->last_write[s->from]);
	for (int i = 0; i < m->nr_reads[s->to]; i++)
		wait_for(&w, m->reads[s->to][i]);
	return w;
}

static void set(struct mix *m, int i)
{
	if (!m->is_set[i])
		lab_must(clSetUserEventStatus(m->user[i], CL_COMPLETE));
	m->is_set[i] = true;
}

/* Sets all user events: a thread that waits from now on must not wait for itself. */
static void set_all(struct mix *m)
{
	for (int i = 0; i < m->nr_user; i++)
		set(m, i);
}

static void add_user_event(struct mix *m, struct waits *w)
{
	cl_int err;

	m->user[m->nr_user] = clCreateUserEvent(m->lab.context, &err);
	lab_must(err);
	m->is_set[m->nr_user] = false;
	wait_for(w, m->user[m->nr_user++]);
}

static void CL_CALLBACK called(cl_event event, cl_int status, void *data)
{
	struct mix *m = data;

	(void)event;
	if (status == CL_COMPLETE)
		atomic_fetch_add(&m->nr_called, 1);
}

/*
 * Ways to enqueue
 */

#define LIST(w) (w)->n, (w)->n ? (w)->list : NULL
static const size_t zero[3], whole[3] = { SIDE, SIDE, 1 }, rect[3] = { SIDE * 4, SIDE, 1 };
static const size_t all = CELLS, one = 1;

static void set_cells(struct mix *m, cl_kernel kernel, const struct step *s)
{
	if (s->to == SHARED)
		lab_must(clSetKernelArgSVMPointer(kernel, 0, m->shared));
	else
		lab_must(clSetKernelArg(kernel, 0, sizeof(cl_mem), &m->buffer[s->to]));
	lab_must(clSetKernelArg(kernel, 1, sizeof(s->with), &s->with));
}

static void do_stir(struct mix *m, struct step *s, cl_command_queue q, struct waits *w)
{
	const size_t group = 16;

	set_cells(m, m->stir, s);
	lab_must(clEnqueueNDRangeKernel(q, m->stir, 1, NULL, &all, draw(m, 2) ? &group : NULL,
					LIST(w), &s->done));
	stir_here(m->expected[s->to], s->with);
}

static void do_task(struct mix *m, struct step *s, cl_command_queue q, struct waits *w)
{
	set_cells(m, m->stir_all, s);
	if (draw(m, 2))
		lab_must(clEnqueueTask(q, m->stir_all, LIST(w), &s->done));
	else
		lab_must(clEnqueueNDRangeKernel(q, m->stir_all, 1, NULL, &one, &one, LIST(w),
						&s->done));
	stir_here(m->expected[s->to], s->with);
}

static void CL_CALLBACK stir_native(void *data)
{
	struct {
		uint32_t *cells;
		uint32_t with;
	} args;

	memcpy(&args, data, sizeof(args));
	stir_here(args.cells, args.with);
}

static void do_native(struct mix *m, struct step *s, cl_command_queue q, struct waits *w)
{
	cl_device_exec_capabilities can = 0;
	struct {
		cl_mem cells;
		uint32_t with;
	} args = { m->buffer[s->to], s->with };
	const void *place = &args.cells;

	clGetDeviceInfo(m->lab.device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(can), &can, NULL);
	if (s->to == SHARED || !(can & CL_EXEC_NATIVE_KERNEL)) {
		do_stir(m, s, q, w);
		return;
	}
	lab_must(clEnqueueNativeKernel(q, stir_native, &args, sizeof(args), 1, &args.cells, &place,
				       LIST(w), &s->done));
	stir_here(m->expected[s->to], s->with);
}

static void do_copy(struct mix *m, struct step *s, cl_command_queue q, struct waits *w)
{
	if (s->to == SHARED || s->from == SHARED) {
		do_stir(m, s, q, w);
		return;
	}
	if (draw(m, 2))
		lab_must(clEnqueueCopyBuffer(q, m->buffer[s->from], m->buffer[s->to], 0, 0, BYTES,
					     LIST(w), &s->done));
	else
		lab_must(clEnqueueCopyBufferRect(q, m->buffer[s->from], m->buffer[s->to], zero,
						 zero, rect, SIDE * 4, BYTES, SIDE * 4, BYTES,
						 LIST(w), &s->done));
	memcpy(m->expected[s->to], m->expected[s->from], BYTES);
	m->reads[s->from][m->nr_reads[s->from]++] = s->done;
}

static void do_fill(struct mix *m, struct step *s, cl_command_queue q, struct waits *w)
{
	uint32_t first = draw(m, CELLS / 2), n = 1 + draw(m, CELLS / 2);

	if (s->to == SHARED)
		lab_must(clEnqueueSVMMemFill(q, m->shared + first, &s->with, 4, n * 4, LIST(w),
					     &s->done));
	else
		lab_must(clEnqueueFillBuffer(q, m->buffer[s->to], &s->with, 4, first * 4, n * 4,
					     LIST(w), &s->done));
	for (uint32_t i = first; i < first + n; i++)
		m->expected[s->to][i] = s->with;
}

static void do_write(struct mix *m, struct step *s, cl_command_queue q, struct waits *w)
{
	cl_bool blocking = !draw(m, 3);

	for (uint32_t i = 0; i < CELLS; i++)
		s->data[i] = lab_random(&m->random);
	memcpy(m->expected[s->to], s->data, BYTES);
	if (blocking)
		set_all(m);
	if (s->to == SHARED)
		lab_must(clEnqueueSVMMemcpy(q, blocking, m->shared, s->data, BYTES, LIST(w),
					    &s->done));
	else if (draw(m, 2))
		lab_must(clEnqueueWriteBuffer(q, m->buffer[s->to], blocking, 0, BYTES, s->data,
					      LIST(w), &s->done));
	else
		lab_must(clEnqueueWriteBufferRect(q, m->buffer[s->to], blocking, zero, zero, rect,
						  SIDE * 4, BYTES, SIDE * 4, BYTES, s->data,
						  LIST(w), &s->done));
	if (blocking)
		memset(s->data, 0xa5, BYTES); /* the call has returned, so the memory is free */
}

static void do_read(struct mix *m, struct step *s, cl_command_queue q, struct waits *w)
{
	cl_bool blocking = !draw(m, 3);

	s->reads = true;
	memcpy(s->expected, m->expected[s->to], BYTES);
	if (blocking)
		set_all(m);
	if (s->to == SHARED)
		lab_must(clEnqueueSVMMemcpy(q, blocking, s->data, m->shared, BYTES, LIST(w),
					    &s->done));
	else if (draw(m, 2))
		lab_must(clEnqueueReadBuffer(q, m->buffer[s->to], blocking, 0, BYTES, s->data,
					     LIST(w), &s->done));
	else
		lab_must(clEnqueueReadBufferRect(q, m->buffer[s->to], blocking, zero, zero, rect,
						 SIDE * 4, BYTES, SIDE * 4, BYTES, s->data, LIST(w),
						 &s->done));
	lab_check(!blocking || !memcmp(s->data, s->expected, BYTES), "a blocking read is wrong");
}

/* Maps memory, changes it on the host, and unmaps it. */
static void do_map(struct mix *m, struct step *s, cl_command_queue q, struct waits *w)
{
	cl_bool blocking = draw(m, 2);
	uint32_t *cells = m->shared;
	cl_event mapped;
	cl_int err;

	set_all(m);
	if (s->to == SHARED) {
		lab_must(clEnqueueSVMMap(q, blocking, CL_MAP_READ | CL_MAP_WRITE, cells, BYTES,
					 LIST(w), &mapped));
	} else {
		cells = clEnqueueMapBuffer(q, m->buffer[s->to], blocking,
					   CL_MAP_READ | CL_MAP_WRITE, 0, BYTES, LIST(w), &mapped,
					   &err);
		lab_must(err);
	}
	if (!blocking)
		lab_must(clWaitForEvents(1, &mapped));
	stir_here(cells, s->with);
	if (s->to == SHARED)
		lab_must(clEnqueueSVMUnmap(q, cells, 1, &mapped, &s->done));
	else
		lab_must(clEnqueueUnmapMemObject(q, m->buffer[s->to], cells, 1, &mapped, &s->done));
	lab_must(clReleaseEvent(mapped));
	stir_here(m->expected[s->to], s->with);
}

/* Copies from one buffer through two images into the other. */
static void do_images(struct mix *m, struct step *s, cl_command_queue q, struct waits *w)
{
	cl_event a, b;

	if (s->to == SHARED || s->from == SHARED) {
		do_task(m, s, q, w);
		return;
	}
	set_all(m); /* the images have one user at a time */
	lab_must(clEnqueueCopyBufferToImage(q, m->buffer[s->from], m->image[0], 0, zero, whole,
					    LIST(w), &a));
	lab_must(clEnqueueCopyImage(q, m->image[0], m->image[1], zero, zero, whole, 1, &a, &b));
	lab_must(clEnqueueCopyImageToBuffer(q, m->image[1], m->buffer[s->to], zero, whole, 0, 1, &b,
					    &s->done));
	lab_must(clWaitForEvents(1, &s->done));
	lab_must(clReleaseEvent(a));
	lab_must(clReleaseEvent(b));
	memcpy(m->expected[s->to], m->expected[s->from], BYTES);
}

/* Writes the host's memory to an image and reads it back. */
static void do_image_io(struct mix *m, struct step *s, cl_command_queue q, struct waits *w)
{
	cl_bool blocking = draw(m, 2);
	uint32_t color[4] = { s->with, s->with, s->with, s->with };
	const size_t corner[3] = { 2, 2, 1 };
	cl_event a, b;

	set_all(m);
	for (uint32_t i = 0; i < CELLS; i++)
		s->data[i] = s->expected[i] = lab_random(&m->random);
	for (uint32_t i = 0; i < 4; i++)
		s->expected[i / 2 * SIDE + i % 2] = s->with;
	lab_must(clEnqueueWriteImage(q, m->image[0], blocking, zero, whole, 0, 0, s->data, LIST(w),
				     &a));
	lab_must(clEnqueueFillImage(q, m->image[0], color, zero, corner, 1, &a, &b));
	lab_must(clEnqueueReadImage(q, m->image[0], blocking, zero, whole, 0, 0, s->data, 1, &b,
				    &s->done));
	lab_must(clWaitForEvents(1, &s->done));
	lab_must(clReleaseEvent(a));
	lab_must(clReleaseEvent(b));
	s->reads = true;
}

static void do_map_image(struct mix *m, struct step *s, cl_command_queue q, struct waits *w)
{
	size_t row;
	cl_int err;
	uint32_t *cells;

	set_all(m);
	cells = clEnqueueMapImage(q, m->image[1], CL_TRUE, CL_MAP_WRITE, zero, whole, &row, NULL,
				  LIST(w), NULL, &err);
	lab_must(err);
	for (uint32_t y = 0; y < SIDE; y++) {
		for (uint32_t x = 0; x < SIDE; x++)
			cells[y * row / 4 + x] = s->expected[y * SIDE + x] = s->with + y + x;
	}
	lab_must(clEnqueueUnmapMemObject(q, m->image[1], cells, 0, NULL, &s->done));
	lab_must(clWaitForEvents(1, &s->done));
	lab_must(clEnqueueReadImage(q, m->image[1], CL_TRUE, zero, whole, 0, 0, s->data, 0, NULL,
				    NULL));
	s->reads = true;
}

static void do_migrate(struct mix *m, struct step *s, cl_command_queue q, struct waits *w)
{
	if (s->to == SHARED)
		do_fill(m, s, q, w);
	else
		lab_must(clEnqueueMigrateMemObjects(q, 1, &m->buffer[s->to],
						    draw(m, 2) ? CL_MIGRATE_MEM_OBJECT_HOST : 0,
						    LIST(w), &s->done));
}

/* Enqueues a marker that waits for the events of others. */
static void do_marker(struct mix *m, struct step *s, cl_command_queue q, struct waits *w)
{
	(void)m;
	if (w->n)
		lab_must(clEnqueueMarkerWithWaitList(q, LIST(w), &s->done));
	else
		lab_must(clEnqueueMarker(q, &s->done));
}

static void do_barrier(struct mix *m, struct step *s, cl_command_queue q, struct waits *w)
{
	/* An OpenCL 1.1 barrier waits for earlier commands of the queue, not for events. */
	if (!w->n)
		lab_must(clEnqueueBarrier(q));
	else
		lab_must(clEnqueueBarrierWithWaitList(q, LIST(w), NULL));
	/* Later commands need not wait for what the barrier waited for. */
	w->n = 0;
	do_stir(m, s, q, w);
}

static void CL_CALLBACK free_shared(cl_command_queue q, cl_uint n, void **pointers, void *data)
{
	struct mix *m = data;

	(void)q;
	for (cl_uint i = 0; i < n; i++)
		clSVMFree(m->lab.context, pointers[i]);
	atomic_fetch_add(&m->nr_called, 1);
}

/* The queue fills memory and frees it. */
static void do_free(struct mix *m, struct step *s, cl_command_queue q, struct waits *w)
{
	void *p = clSVMAlloc(m->lab.context, CL_MEM_READ_WRITE, BYTES, 0);
	cl_event filled;

	lab_check(p, "no shared memory");
	lab_must(clEnqueueSVMMemFill(q, p, &s->with, 4, BYTES, LIST(w), &filled));
	lab_must(clEnqueueSVMFree(q, 1, &p, free_shared, m, 1, &filled, &s->done));
	lab_must(clReleaseEvent(filled));
	m->nr_callbacks++;
}

typedef void step_fn(struct mix *m, struct step *s, cl_command_queue q, struct waits *w);
static step_fn *const ways[] = { do_stir,    do_stir,	  do_stir,	do_task,    do_native,
				 do_copy,    do_fill,	  do_write,	do_read,    do_map,
				 do_images,  do_image_io, do_map_image, do_migrate, do_marker,
				 do_barrier, do_free };

/* A device that lacks a command copies instead. */
static step_fn *draw_way(struct mix *m)
{
	step_fn *way = ways[draw(m, sizeof(ways) / sizeof(ways[0]))];
	bool is_image = way == do_images || way == do_image_io || way == do_map_image;

	if ((is_image && !m->has_images) || (way == do_native && !m->has_native_kernels))
		return do_copy;
	return way;
}

/*
 * Steps
 */

static void disturb(struct mix *m, cl_command_queue q)
{
	switch (draw(m, 12)) {
	case 0:
		lab_must(clFlush(q));
		break;
	case 1:
		set_all(m);
		lab_must(clFinish(q));
		break;
	case 2:
		if (m->nr_user)
			set(m, (int)draw(m, (uint32_t)m->nr_user));
		break;
	case 3:
		lab_must(clRetainCommandQueue(q));
		lab_must(clReleaseCommandQueue(q));
		break;
	}
}

/* A step waits for earlier writers of all its buffers, and for earlier readers of its target. */
static void add_step(struct mix *m)
{
	struct step *s = &m->step[m->nr_steps++];
	uint32_t to = draw(m, BUFFERS);
	cl_command_queue q = m->queue[draw(m, QUEUES)];
	step_fn *way = draw_way(m);
	struct waits w;

	*s = (struct step){ .to = to,
			    .from = (to + 1 + draw(m, BUFFERS - 1)) % BUFFERS,
			    .with = lab_random(&m->random) };
	w = waits_of(m, s);
	if (!draw(m, 6))
		add_user_event(m, &w);
	way(m, s, q, &w);
	if (!draw(m, 4)) {
		lab_must(clSetEventCallback(s->done, CL_COMPLETE, called, m));
		m->nr_callbacks++;
	}
	m->last_write[to] = s->done;
	m->nr_reads[to] = 0;
	disturb(m, q);
}

static void begin(struct mix *m)
{
	m->nr_steps = m->nr_callbacks = m->nr_user = 0;
	atomic_store(&m->nr_called, 0);
	for (int b = 0; b < BUFFERS; b++) {
		m->last_write[b] = NULL;
		m->nr_reads[b] = 0;
	}
}

static void wait_for_callbacks(struct mix *m)
{
	for (int i = 0; i < 60000 && atomic_load(&m->nr_called) < m->nr_callbacks; i++)
		usleep(1000);
	lab_check(atomic_load(&m->nr_called) == m->nr_callbacks, "%d callbacks of %d came",
		  atomic_load(&m->nr_called), m->nr_callbacks);
}

static void finish(struct mix *m)
{
	set_all(m);
	for (int q = 0; q < QUEUES; q++)
		lab_must(clFinish(m->queue[q]));
	for (int i = 0; i < m->nr_steps; i++) {
		struct step *s = &m->step[i];
		cl_int status;

		lab_must(clGetEventInfo(s->done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
					&status, NULL));
		lab_check(status == CL_COMPLETE, "step %d has the status %d in the end", i, status);
		lab_check(!s->reads || !memcmp(s->data, s->expected, BYTES),
			  "step %d has read what is not there", i);
		lab_must(clReleaseEvent(s->done));
	}
	for (int i = 0; i < m->nr_user; i++)
		lab_must(clReleaseEvent(m->user[i]));
	wait_for_callbacks(m);
}

static void run_steps(struct mix *m)
{
	int nr = 1 + (int)draw(m, STEPS);

	begin(m);
	while (m->nr_steps < nr)
		add_step(m);
	finish(m);
}

/*
 * Threads that share queues, each with a buffer of its own
 */

struct producer {
	struct mix *m;
	uint32_t which;
};

static void *stir_own(void *data)
{
	struct producer *p = data;
	struct mix *m = p->m;
	cl_kernel kernel = lab_kernel(&m->lab, "stir");
	cl_event before = NULL, done;

	lab_must(clSetKernelArg(kernel, 0, sizeof(cl_mem), &m->buffer[p->which]));
	for (uint32_t i = 0; i < ROUNDS; i++) {
		lab_must(clSetKernelArg(kernel, 1, sizeof(i), &i));
		lab_must(clEnqueueNDRangeKernel(m->queue[i / 2 % QUEUES], kernel, 1, NULL, &all,
						NULL, before != NULL, before ? &before : NULL,
						&done));
		if (before)
			lab_must(clReleaseEvent(before));
		before = done;
	}
	lab_must(clWaitForEvents(1, &before));
	lab_must(clReleaseEvent(before));
	lab_must(clReleaseKernel(kernel));
	return NULL;
}

static void run_threads(struct mix *m)
{
	struct producer producer[THREADS];
	pthread_t thread[THREADS];

	for (uint32_t t = 0; t < THREADS; t++) {
		producer[t] = (struct producer){ m, t };
		lab_check(!pthread_create(&thread[t], NULL, stir_own, &producer[t]),
			  "no thread can be made");
	}
	for (uint32_t t = 0; t < THREADS; t++) {
		pthread_join(thread[t], NULL);
		for (uint32_t i = 0; i < ROUNDS; i++)
			stir_here(m->expected[t], i);
	}
}

/*
 * A blocking call of one thread waits for a command that another thread enqueues behind it in the
 * same out-of-order queue
 */

struct reader {
	struct mix *m;
	cl_event wanted;
	uint32_t data[CELLS];
};

static void *read_later(void *data)
{
	struct reader *r = data;

	lab_must(clEnqueueReadBuffer(r->m->queue[1], r->m->buffer[0], CL_TRUE, 0, BYTES, r->data, 1,
				     &r->wanted, NULL));
	return NULL;
}

static void run_reader(struct mix *m)
{
	struct reader r = { .m = m };
	pthread_t thread;
	cl_event done;
	cl_int err;

	r.wanted = clCreateUserEvent(m->lab.context, &err);
	lab_must(err);
	lab_check(!pthread_create(&thread, NULL, read_later, &r), "no thread can be made");
	for (uint32_t i = 0; i < 8; i++) {
		set_cells(m, m->stir, &(struct step){ .with = i });
		lab_must(clEnqueueNDRangeKernel(m->queue[1], m->stir, 1, NULL, &all, NULL, 0, NULL,
						&done));
		stir_here(m->expected[0], i);
		lab_must(clWaitForEvents(1, &done));
		lab_must(clReleaseEvent(done));
	}
	lab_must(clSetUserEventStatus(r.wanted, CL_COMPLETE));
	pthread_join(thread, NULL);
	lab_must(clReleaseEvent(r.wanted));
	lab_check(!memcmp(r.data, m->expected[0], BYTES), "a blocking read is wrong");
}

/*
 * Programs
 */

static void look_at_device(struct mix *m)
{
	cl_command_queue_properties queues = 0;
	cl_device_exec_capabilities kernels = 0;
	cl_bool images = CL_FALSE;

	lab_must(clGetDeviceInfo(m->lab.device, CL_DEVICE_IMAGE_SUPPORT, sizeof(images), &images,
				 NULL));
	lab_must(clGetDeviceInfo(m->lab.device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(kernels),
				 &kernels, NULL));
	lab_must(clGetDeviceInfo(m->lab.device, CL_DEVICE_QUEUE_PROPERTIES, sizeof(queues), &queues,
				 NULL));
	m->has_images = images;
	m->has_native_kernels = kernels & CL_EXEC_NATIVE_KERNEL;
	m->has_unordered_queues = queues & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
}

static void make_queues(struct mix *m)
{
	const cl_command_queue_properties unordered =
		m->has_unordered_queues ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0;

	for (int q = 0; q < QUEUES; q++)
		m->queue[q] = lab_queue(&m->lab, (q % 2 ? unordered : 0) |
							 (q / 2 ? CL_QUEUE_PROFILING_ENABLE : 0));
}

/* Creates and releases queues while others have work. */
static void remake_queues(struct mix *m)
{
	for (int q = 0; q < QUEUES; q++)
		lab_must(clReleaseCommandQueue(m->queue[q]));
	make_queues(m);
}

static void make_memory(struct mix *m)
{
	const cl_image_format format = { CL_R, CL_UNSIGNED_INT32 };
	const cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D,
				     .image_width = SIDE,
				     .image_height = SIDE };
	cl_int err;

	for (int b = 0; b < SHARED; b++) {
		m->buffer[b] =
			clCreateBuffer(m->lab.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
				       BYTES, m->expected[b], &err);
		lab_must(err);
	}
	for (int i = 0; i < 2 && m->has_images; i++) {
		m->image[i] = clCreateImage(m->lab.context, CL_MEM_READ_WRITE, &format, &desc, NULL,
					    &err);
		lab_must(err);
	}
	m->shared = clSVMAlloc(m->lab.context, CL_MEM_READ_WRITE, BYTES, 0);
	lab_check(m->shared, "no shared memory");
	lab_must(clEnqueueSVMMemcpy(m->queue[0], CL_TRUE, m->shared, m->expected[SHARED], BYTES, 0,
				    NULL, NULL));
}

static void check(struct mix *m, unsigned long program, unsigned long seed)
{
	uint32_t cells[CELLS];

	for (uint32_t b = 0; b < BUFFERS; b++) {
		if (b == SHARED)
			lab_must(clEnqueueSVMMemcpy(m->queue[0], CL_TRUE, cells, m->shared, BYTES,
						    0, NULL, NULL));
		else
			lab_must(clEnqueueReadBuffer(m->queue[b % QUEUES], m->buffer[b], CL_TRUE, 0,
						     BYTES, cells, 0, NULL, NULL));
		for (uint32_t i = 0; i < CELLS; i++)
			lab_check(cells[i] == m->expected[b][i],
				  "program %lu of seed %lu: cell %u of buffer %u is %u, not %u",
				  program, seed, i, b, cells[i], m->expected[b][i]);
	}
}

int main(int argc, char **argv)
{
	unsigned long programs = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
	unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	static struct mix m;
	uint64_t sum = 0;

	lab_open(&m.lab, source);
	m.stir = lab_kernel(&m.lab, "stir");
	m.stir_all = lab_kernel(&m.lab, "stir_all");
	look_at_device(&m);
	make_queues(&m);
	make_memory(&m);
	for (unsigned long i = 0; i < programs; i++) {
		m.random = seed * 1000003 + i;
		if (i % 8 == 7)
			run_threads(&m);
		else if (i % 8 == 3 && m.has_unordered_queues)
			run_reader(&m);
		else
			run_steps(&m);
		if (i % 8 == 5)
			remake_queues(&m);
		check(&m, i, seed);
		sum = gp__hash(sum, m.expected, sizeof(m.expected));
	}
	for (int q = 0; q < QUEUES; q++)
		lab_must(clReleaseCommandQueue(m.queue[q]));
	clSVMFree(m.lab.context, m.shared);
	lab_close(&m.lab);
	printf("%lu programs, memory %016lx\n", programs, (unsigned long)sum);
	return 0;
}
