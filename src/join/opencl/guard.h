/* SPDX-License-Identifier: MIT */
/*
 * Launches that can be cut short (level 2).
 *
 * Instead of the program's kernel its guarded copy is launched (kernels.h), in the same place of
 * the queue, and behind it a marker that waits for an event of ours, `settled`. The marker stands
 * for the launch from then on: what comes later in the queue, whoever waits for the launch's event
 * and whoever finishes the queue waits for the marker. When a run of the kernel has ended, either
 * all of its work-groups have run, and it is settled; or some were not started or were dropped as
 * the queue is held, and what is left runs in a queue of ours when it is not held any more, as
 * often as it takes.
 *
 * The host tells a running kernel through memory that both use at the same time: fine-grained
 * shared virtual memory with atomics. On devices without it there is no guard.
 *
 * Locking: the queue's lock (queue.h), and the driver is not called under it.
 */
#ifndef GP__JOIN_OPENCL_GUARD_H
#define GP__JOIN_OPENCL_GUARD_H

#include <stdbool.h>

#include "join/opencl/cl.h"

#include "core/list.h"
#include "wire/wire.h"

struct gp__cl_queue;
struct gp__cl_launch;

struct gp__cl_guard {
	cl_device_id device;
	uint32_t *held; /* shared with kernels, and a word behind it; NULL: there is no guard */
	cl_command_queue rest; /* where runs what is left */
	uint32_t nr_launches; /* that have memory */
	struct gp__link ended; /* launches whose run has ended, for the pump */
	struct gp__link cut; /* something of them is left to run */
	struct gp__link blocks; /* that nobody uses */
};

/* What the guard needs of the device. */
bool gp__cl_guard_can(const cl_icd_dispatch *next, cl_device_id device);
/* False: it has none, for lack of memory. */
bool gp__cl_guard_open(struct gp__cl_queue *q, cl_device_id device);
void gp__cl_guard_close(struct gp__cl_queue *q);

struct gp__cl_range {
	cl_uint dim;
	const size_t *offset, *global, *local; /* offset and local may be NULL */
};

/* NULL: launch it as it is, by *@why, or where that is GP__WIRE_GUARDED, as there is no need. */
struct gp__cl_launch *gp__cl_guard_prepare(struct gp__cl_queue *q, cl_kernel kernel,
					   const struct gp__cl_range *range,
					   enum gp__wire_why *why);
/* False: launch it as it is. Else *@event is the launch's, and *@run that of its first run, to be
 * released. The launch is gone in either case. */
bool gp__cl_guard_enqueue(struct gp__cl_launch *l, cl_uint nr_waits, const cl_event *waits,
			  cl_event *event, cl_event *run);

/* Under the queue's lock: kernels that run start no more work-groups, or do again. */
void gp__cl_guard_hold(struct gp__cl_guard *g, bool held);
/* The pump, under the queue's lock, which is let go meanwhile. */
void gp__cl_guard_advance(struct gp__cl_queue *q);

#endif
