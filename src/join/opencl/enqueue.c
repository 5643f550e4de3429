// SPDX-License-Identifier: MIT
/*
 * The functions that enqueue a command, each through the queue's window.
 *
 * A blocking call becomes a non-blocking one, followed by a wait for the command's event: meanwhile
 * another thread may enqueue what the command waits for. Markers start no work and block no other
 * command, so they are not replaced.
 */
#include "join/opencl/events.h"
#include "join/opencl/guard.h"
#include "join/opencl/layer.h"

#define LIST(...) __VA_ARGS__

#define PASS(name, args)                                                                    \
	struct gp__cl_queue *q = gp__cl_find(queue);                                        \
	struct gp__cl_call call;                                                            \
	cl_int result;                                                                      \
                                                                                            \
	if (!q || !gp__cl_begin(&call, q, nr_waits, waits, event))                          \
		return gp__cl_next()->clEnqueue##name(queue, args, nr_waits, waits, event); \
	blocks = blocking;                                                                  \
	blocking = CL_FALSE;                                                                \
	result = gp__cl_next()->clEnqueue##name(queue, args, call.nr_waits, call.waits,     \
						call.event);                                \
	return gp__cl_end(&call, result, blocks)

#define ENQUEUE(name, params, args)                                                                \
	static cl_int CL_API_CALL enqueue_##name(cl_command_queue queue, params, cl_uint nr_waits, \
						 const cl_event *waits, cl_event *event)           \
	{                                                                                          \
		cl_bool blocking = CL_FALSE, blocks;                                               \
		PASS(name, LIST(args));                                                            \
	}

/* For functions with a parameter `blocking`. */
#define ENQUEUE_BLOCKING(name, params, args)                                                       \
	static cl_int CL_API_CALL enqueue_##name(cl_command_queue queue, params, cl_uint nr_waits, \
						 const cl_event *waits, cl_event *event)           \
	{                                                                                          \
		cl_bool blocks;                                                                    \
		PASS(name, LIST(args));                                                            \
	}

/* clang-format off */
ENQUEUE(Task, LIST(cl_kernel kernel), LIST(kernel))
ENQUEUE(NativeKernel,
	LIST(void(CL_CALLBACK *function)(void *), void *args, size_t size, cl_uint nr_memory,
	     const cl_mem *memory, const void **places),
	LIST(function, args, size, nr_memory, memory, places))

ENQUEUE_BLOCKING(ReadBuffer,
	LIST(cl_mem from, cl_bool blocking, size_t offset, size_t size, void *to),
	LIST(from, blocking, offset, size, to))
ENQUEUE_BLOCKING(WriteBuffer,
	LIST(cl_mem to, cl_bool blocking, size_t offset, size_t size, const void *from),
	LIST(to, blocking, offset, size, from))
ENQUEUE_BLOCKING(ReadBufferRect,
	LIST(cl_mem from, cl_bool blocking, const size_t *origin, const size_t *host_origin,
	     const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice,
	     void *to),
	LIST(from, blocking, origin, host_origin, region, row, slice, host_row, host_slice, to))
ENQUEUE_BLOCKING(WriteBufferRect,
	LIST(cl_mem to, cl_bool blocking, const size_t *origin, const size_t *host_origin,
	     const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice,
	     const void *from),
	LIST(to, blocking, origin, host_origin, region, row, slice, host_row, host_slice, from))
ENQUEUE_BLOCKING(ReadImage,
	LIST(cl_mem from, cl_bool blocking, const size_t *origin, const size_t *region,
	     size_t row, size_t slice, void *to),
	LIST(from, blocking, origin, region, row, slice, to))
ENQUEUE_BLOCKING(WriteImage,
	LIST(cl_mem to, cl_bool blocking, const size_t *origin, const size_t *region, size_t row,
	     size_t slice, const void *from),
	LIST(to, blocking, origin, region, row, slice, from))

ENQUEUE(CopyBuffer,
	LIST(cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size),
	LIST(from, to, from_offset, to_offset, size))
ENQUEUE(CopyBufferRect,
	LIST(cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,
	     const size_t *region, size_t from_row, size_t from_slice, size_t to_row,
	     size_t to_slice),
	LIST(from, to, from_origin, to_origin, region, from_row, from_slice, to_row, to_slice))
ENQUEUE(CopyImage,
	LIST(cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,
	     const size_t *region),
	LIST(from, to, from_origin, to_origin, region))
ENQUEUE(CopyImageToBuffer,
	LIST(cl_mem from, cl_mem to, const size_t *origin, const size_t *region, size_t offset),
	LIST(from, to, origin, region, offset))
ENQUEUE(CopyBufferToImage,
	LIST(cl_mem from, cl_mem to, size_t offset, const size_t *origin, const size_t *region),
	LIST(from, to, offset, origin, region))
ENQUEUE(FillBuffer,
	LIST(cl_mem to, const void *pattern, size_t pattern_size, size_t offset, size_t size),
	LIST(to, pattern, pattern_size, offset, size))
ENQUEUE(FillImage,
	LIST(cl_mem to, const void *color, const size_t *origin, const size_t *region),
	LIST(to, color, origin, region))
ENQUEUE(MigrateMemObjects,
	LIST(cl_uint nr, const cl_mem *memory, cl_mem_migration_flags flags),
	LIST(nr, memory, flags))
ENQUEUE(UnmapMemObject, LIST(cl_mem memory, void *mapped), LIST(memory, mapped))

ENQUEUE(SVMFree,
	LIST(cl_uint nr, void **pointers,
	     void(CL_CALLBACK *function)(cl_command_queue, cl_uint, void **, void *), void *data),
	LIST(nr, pointers, function, data))
ENQUEUE_BLOCKING(SVMMemcpy,
	LIST(cl_bool blocking, void *to, const void *from, size_t size),
	LIST(blocking, to, from, size))
ENQUEUE(SVMMemFill,
	LIST(void *to, const void *pattern, size_t pattern_size, size_t size),
	LIST(to, pattern, pattern_size, size))
ENQUEUE_BLOCKING(SVMMap,
	LIST(cl_bool blocking, cl_map_flags flags, void *pointer, size_t size),
	LIST(blocking, flags, pointer, size))
ENQUEUE(SVMUnmap, LIST(void *pointer), LIST(pointer))
ENQUEUE(SVMMigrateMem,
	LIST(cl_uint nr, const void **pointers, const size_t *sizes, cl_mem_migration_flags flags),
	LIST(nr, pointers, sizes, flags))

ENQUEUE(AcquireGLObjects, LIST(cl_uint nr, const cl_mem *objects), LIST(nr, objects))
ENQUEUE(ReleaseGLObjects, LIST(cl_uint nr, const cl_mem *objects), LIST(nr, objects))
ENQUEUE(AcquireEGLObjectsKHR, LIST(cl_uint nr, const cl_mem *objects), LIST(nr, objects))
ENQUEUE(ReleaseEGLObjectsKHR, LIST(cl_uint nr, const cl_mem *objects), LIST(nr, objects))
/* clang-format on */

/*
 * Kernels, which may be guarded
 */

/* False: launch the kernel without a guard, because of *@why, or because none is needed. */
static bool launch_guarded(struct gp__cl_call *call, cl_kernel kernel,
			   const struct gp__cl_range *range, enum gp__wire_why *why)
{
	struct gp__cl_launch *l;
	cl_event run;

	*why = GP__WIRE_GUARDED;
	if (!call->windowed || !call->queue->guard.held)
		return false;
	l = gp__cl_guard_prepare(call->queue, kernel, range, why);
	if (!l)
		return false;
	if (!gp__cl_guard_enqueue(l, call->nr_waits, call->waits, call->event, &run)) {
		*why = GP__WIRE_FAILS;
		return false;
	}
	if (call->asked)
		gp__cl_event_stands_for(*call->event, run);
	else
		gp__cl_next()->clReleaseEvent(run);
	return true;
}

static cl_int CL_API_CALL enqueue_NDRangeKernel(cl_command_queue queue, cl_kernel kernel,
						cl_uint dim, const size_t *offset,
						const size_t *global, const size_t *local,
						cl_uint nr_waits, const cl_event *waits,
						cl_event *event)
{
	const struct gp__cl_range range = { dim, offset, global, local };
	struct gp__cl_queue *q = gp__cl_find(queue);
	struct gp__cl_call call;
	cl_int result = CL_SUCCESS;
	enum gp__wire_why why;

	if (!q || !gp__cl_begin(&call, q, nr_waits, waits, event))
		return gp__cl_next()->clEnqueueNDRangeKernel(queue, kernel, dim, offset, global,
							     local, nr_waits, waits, event);
	if (!launch_guarded(&call, kernel, &range, &why))
		result = gp__cl_next()->clEnqueueNDRangeKernel(queue, kernel, dim, offset, global,
							       local, call.nr_waits, call.waits,
							       call.event);
	/* A launch that the driver refuses needs no guard. */
	if (why && result == CL_SUCCESS)
		gp__cl_tell_unguarded(q, why);
	return gp__cl_end(&call, result, CL_FALSE);
}

/*
 * Maps, which return their pointer at once
 */

/* Returns the pointer for the program; the command may have failed since it was enqueued. */
static void *end_map(struct gp__cl_call *call, void *mapped, cl_int result, cl_bool blocking,
		     cl_int *error)
{
	result = gp__cl_end(call, result, blocking);
	if (error)
		*error = result;
	return result == CL_SUCCESS ? mapped : NULL;
}

static void *CL_API_CALL enqueue_MapBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking,
					   cl_map_flags flags, size_t offset, size_t size,
					   cl_uint nr_waits, const cl_event *waits, cl_event *event,
					   cl_int *error)
{
	struct gp__cl_queue *q = gp__cl_find(queue);
	struct gp__cl_call call;
	cl_int result;
	void *mapped;

	if (!q || !gp__cl_begin(&call, q, nr_waits, waits, event))
		return gp__cl_next()->clEnqueueMapBuffer(queue, memory, blocking, flags, offset,
							 size, nr_waits, waits, event, error);
	mapped = gp__cl_next()->clEnqueueMapBuffer(queue, memory, CL_FALSE, flags, offset, size,
						   call.nr_waits, call.waits, call.event, &result);
	return end_map(&call, mapped, result, blocking, error);
}

static void *CL_API_CALL enqueue_MapImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
					  cl_map_flags flags, const size_t *origin,
					  const size_t *region, size_t *row, size_t *slice,
					  cl_uint nr_waits, const cl_event *waits, cl_event *event,
					  cl_int *error)
{
	struct gp__cl_queue *q = gp__cl_find(queue);
	struct gp__cl_call call;
	cl_int result;
	void *mapped;

	if (!q || !gp__cl_begin(&call, q, nr_waits, waits, event))
		return gp__cl_next()->clEnqueueMapImage(queue, image, blocking, flags, origin,
							region, row, slice, nr_waits, waits, event,
							error);
	mapped = gp__cl_next()->clEnqueueMapImage(queue, image, CL_FALSE, flags, origin, region,
						  row, slice, call.nr_waits, call.waits, call.event,
						  &result);
	return end_map(&call, mapped, result, blocking, error);
}

/*
 * Barriers, which start no work; in an out-of-order queue later commands wait for them
 */

static cl_int CL_API_CALL enqueue_BarrierWithWaitList(cl_command_queue queue, cl_uint nr_waits,
						      const cl_event *waits, cl_event *event)
{
	const cl_icd_dispatch *next = gp__cl_next();
	struct gp__cl_queue *q = gp__cl_find(queue);
	cl_event barrier = NULL;
	cl_int result;

	if (!q || !q->out_of_order)
		return next->clEnqueueBarrierWithWaitList(queue, nr_waits, waits, event);
	gp__cl_barrier_begin(q);
	result = next->clEnqueueBarrierWithWaitList(queue, nr_waits, waits, &barrier);
	if (result == CL_SUCCESS && event) {
		next->clRetainEvent(barrier);
		*event = barrier;
	}
	gp__cl_barrier_end(q, result == CL_SUCCESS ? barrier : NULL);
	return result;
}

/* An OpenCL 1.1 barrier has no event, but a marker behind it has. */
static cl_int mark_barrier(struct gp__cl_queue *q, cl_int result)
{
	cl_event marker = NULL;

	if (result == CL_SUCCESS && gp__cl_next()->clEnqueueMarker(q->cl, &marker) != CL_SUCCESS)
		marker = NULL;
	gp__cl_barrier_end(q, marker);
	return result;
}

static cl_int CL_API_CALL enqueue_Barrier(cl_command_queue queue)
{
	struct gp__cl_queue *q = gp__cl_find(queue);

	if (!q || !q->out_of_order)
		return gp__cl_next()->clEnqueueBarrier(queue);
	gp__cl_barrier_begin(q);
	return mark_barrier(q, gp__cl_next()->clEnqueueBarrier(queue));
}

static cl_int CL_API_CALL enqueue_WaitForEvents(cl_command_queue queue, cl_uint nr,
						const cl_event *events)
{
	struct gp__cl_queue *q = gp__cl_find(queue);

	if (!q || !q->out_of_order)
		return gp__cl_next()->clEnqueueWaitForEvents(queue, nr, events);
	gp__cl_barrier_begin(q);
	return mark_barrier(q, gp__cl_next()->clEnqueueWaitForEvents(queue, nr, events));
}

/*
 * The table
 */

#define REPLACE(name) GP__CL_REPLACE(table, clEnqueue##name, enqueue_##name)

static void replace_buffers(cl_icd_dispatch *table)
{
	REPLACE(ReadBuffer);
	REPLACE(WriteBuffer);
	REPLACE(ReadBufferRect);
	REPLACE(WriteBufferRect);
	REPLACE(CopyBuffer);
	REPLACE(CopyBufferRect);
	REPLACE(CopyBufferToImage);
	REPLACE(FillBuffer);
	REPLACE(MapBuffer);
	REPLACE(UnmapMemObject);
	REPLACE(MigrateMemObjects);
}

static void replace_images(cl_icd_dispatch *table)
{
	REPLACE(ReadImage);
	REPLACE(WriteImage);
	REPLACE(CopyImage);
	REPLACE(CopyImageToBuffer);
	REPLACE(FillImage);
	REPLACE(MapImage);
	REPLACE(AcquireGLObjects);
	REPLACE(ReleaseGLObjects);
	REPLACE(AcquireEGLObjectsKHR);
	REPLACE(ReleaseEGLObjectsKHR);
}

static void replace_shared_memory(cl_icd_dispatch *table)
{
	REPLACE(SVMFree);
	REPLACE(SVMMemcpy);
	REPLACE(SVMMemFill);
	REPLACE(SVMMap);
	REPLACE(SVMUnmap);
	REPLACE(SVMMigrateMem);
}

void gp__cl_replace_enqueues(cl_icd_dispatch *table)
{
	REPLACE(NDRangeKernel);
	REPLACE(Task);
	REPLACE(NativeKernel);
	REPLACE(BarrierWithWaitList);
	REPLACE(Barrier);
	REPLACE(WaitForEvents);
	replace_buffers(table);
	replace_images(table);
	replace_shared_memory(table);
}
