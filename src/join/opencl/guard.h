/* SPDX-License-Identifier: MIT */
/*
 * Guarded launches, which end early when their queue is held (level 2).
 *
 * A guarded copy of the program's kernel is launched in its place (copies.h), followed by a marker
 * that waits for a user event of ours, `settled`. The marker represents the launch: later commands
 * of the queue, waits for the launch's event, and clFinish() wait for the marker. When a run of the
 * kernel has ended, either all of its work-groups have run, and the launch is settled; or some were
 * not started or were dropped because the queue is held. The remaining work-groups then run in a
 * queue of ours after the release, in as many runs as it takes.
 *
 * The host signals a running kernel through fine-grained shared virtual memory with atomics. On
 * devices without it there is no guard.
 *
 * Locking: the queue's lock (queue.h); the driver is not called under it.
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
	uint32_t *held; /* shared with kernels, and a spare word behind it; NULL: no guard */
	cl_command_queue rest; /* runs the remaining work-groups */
	uint32_t nr_launches; /* that are allocated */
	struct gp__link ended; /* launches whose run has ended, for the worker */
	struct gp__link cut; /* launches with work-groups left to run */
	struct gp__link blocks; /* that are not in use */
};

/* Whether the device supports guards. */
bool gp__cl_guard_can(const cl_icd_dispatch *next, cl_device_id device);
/* False: out of memory; the queue has no guard. */
bool gp__cl_guard_open(struct gp__cl_queue *q, cl_device_id device);
void gp__cl_guard_close(struct gp__cl_queue *q);

struct gp__cl_range {
	cl_uint dim;
	const size_t *offset, *global, *local; /* offset and local may be NULL */
};

/* NULL: launch the kernel without a guard, because of *@why; GP__WIRE_GUARDED: none is needed. */
struct gp__cl_launch *gp__cl_guard_prepare(struct gp__cl_queue *q, cl_kernel kernel,
					   const struct gp__cl_range *range,
					   enum gp__wire_why *why);
/* Enqueues and consumes a launch. False: launch the kernel without a guard. Otherwise *@event is
 * the launch's event, and *@run the event of its first run, which the caller releases. */
bool gp__cl_guard_enqueue(struct gp__cl_launch *l, cl_uint nr_waits, const cl_event *waits,
			  cl_event *event, cl_event *run);

/* Under the queue's lock: running kernels start no more work-groups, or do so again. */
void gp__cl_guard_hold(struct gp__cl_guard *g, bool held);
/* For the worker, under the queue's lock, which it drops meanwhile. */
void gp__cl_guard_advance(struct gp__cl_queue *q);

#endif
