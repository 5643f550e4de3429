// SPDX-License-Identifier: MIT
#include "join/opencl/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Without memory for it, shared memory is not in the table: the sum is not known then. */
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(piece) ((piece)->is_lost = true)
#include <uthash.h>

#include "join/opencl/layer.h"

#define DEVICES_MAX 64
#define OF_THE_HOST (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR)

struct device {
	cl_device_id id;
	char key[GP__WIRE_DEVICE_MAX]; /* "": it is not counted */
	u32 counted_as; /* the first device with this key: sub-devices have the same */
	u64 bytes;
};

struct piece {
	UT_hash_handle hh; /* shared virtual memory by its address */
	const void *at;
	u64 bytes, devices; /* a bit for each */
	bool is_lost;
};

static struct {
	struct gp__cl_memory_host host;
	_Atomic bool counts;
	pthread_mutex_t lock; /* of all that follows */
	struct device device[DEVICES_MAX];
	u32 nr_devices;
	struct piece *shared;
	bool unknown; /* for good */
} memory = { .lock = PTHREAD_MUTEX_INITIALIZER };

static cl_int(CL_API_CALL *enqueue_free)(cl_command_queue queue, cl_uint nr, void **pointers,
					 void(CL_CALLBACK *function)(cl_command_queue, cl_uint,
								     void **, void *),
					 void *data, cl_uint nr_waits, const cl_event *waits,
					 cl_event *event);

static void lose(void)
{
	pthread_mutex_lock(&memory.lock);
	memory.unknown = true;
	pthread_mutex_unlock(&memory.lock);
	memory.host.changed();
}

/*
 * Devices
 */

/* -1: it is not known yet. With the lock. */
static int find_device(cl_device_id id)
{
	for (u32 i = 0; i < memory.nr_devices; i++) {
		if (memory.device[i].id == id)
			return (int)i;
	}
	return -1;
}

/* -1: there are too many. With the lock. */
static int add_device(cl_device_id id, const char key[GP__WIRE_DEVICE_MAX])
{
	u32 n = memory.nr_devices, as = 0;

	if (n == DEVICES_MAX)
		return -1;
	while (as < n && strcmp(memory.device[as].key, key))
		as++;
	memory.device[n].id = id;
	memory.device[n].counted_as = as;
	memcpy(memory.device[n].key, key, GP__WIRE_DEVICE_MAX);
	memory.nr_devices++;
	return (int)n;
}

static int get_device(cl_device_id id)
{
	char key[GP__WIRE_DEVICE_MAX] = "";
	int i;

	pthread_mutex_lock(&memory.lock);
	i = find_device(id);
	pthread_mutex_unlock(&memory.lock);
	if (i >= 0)
		return i;
	if (!memory.host.name(id, key))
		*key = '\0';
	pthread_mutex_lock(&memory.lock);
	i = find_device(id); /* another thread may have added it */
	if (i < 0)
		i = add_device(id, key);
	pthread_mutex_unlock(&memory.lock);
	return i;
}

/* A bit for each device of the context that is counted. False: they are not known. */
static bool devices_of(cl_context context, u64 *devices)
{
	cl_device_id id[DEVICES_MAX];
	size_t bytes = 0;

	*devices = 0;
	if (memory.host.next->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(id), id, &bytes))
		return false;
	for (size_t i = 0; i < bytes / sizeof(id[0]); i++) {
		int d = get_device(id[i]);

		if (d < 0)
			return false;
		if (*memory.device[d].key)
			*devices |= 1ull << memory.device[d].counted_as;
	}
	return true;
}

/*
 * Pieces
 */

/* With the lock. */
static void count(const struct piece *p, bool add)
{
	for (u64 bits = p->devices; bits; bits &= bits - 1)
		memory.device[__builtin_ctzll(bits)].bytes += add ? p->bytes : -p->bytes;
}

/* NULL: it is not counted. */
static struct piece *make_piece(cl_context context, u64 bytes)
{
	struct piece *p;
	u64 devices;

	if (!devices_of(context, &devices)) {
		lose();
		return NULL;
	}
	if (!devices)
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p) {
		lose();
		return NULL;
	}
	p->bytes = bytes;
	p->devices = devices;
	pthread_mutex_lock(&memory.lock);
	count(p, true);
	pthread_mutex_unlock(&memory.lock);
	return p;
}

static void end_piece(struct piece *p)
{
	pthread_mutex_lock(&memory.lock);
	count(p, false);
	pthread_mutex_unlock(&memory.lock);
	free(p);
	memory.host.changed();
}

/*
 * Buffers and images
 */

static void CL_CALLBACK destroyed(cl_mem object, void *data)
{
	(void)object;
	if (memory.counts)
		end_piece(data);
}

static cl_mem created(cl_context context, cl_mem object, cl_mem_flags flags)
{
	const cl_icd_dispatch *next = memory.host.next;
	struct piece *p;
	size_t bytes;

	if (!object || !memory.counts || flags & OF_THE_HOST)
		return object;
	if (next->clGetMemObjectInfo(object, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL)) {
		lose();
		return object;
	}
	p = make_piece(context, bytes);
	if (p && next->clSetMemObjectDestructorCallback(object, destroyed, p)) {
		lose();
		end_piece(p);
	} else if (p) {
		memory.host.changed();
	}
	return object;
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size,
					void *host, cl_int *error)
{
	return created(context, memory.host.next->clCreateBuffer(context, flags, size, host, error),
		       flags);
}

static cl_mem CL_API_CALL create_buffer_with(cl_context context,
					     const cl_mem_properties *properties,
					     cl_mem_flags flags, size_t size, void *host,
					     cl_int *error)
{
	return created(context,
		       memory.host.next->clCreateBufferWithProperties(context, properties, flags,
								      size, host, error),
		       flags);
}

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags,
				       const cl_image_format *format, const cl_image_desc *is,
				       void *host, cl_int *error)
{
	cl_mem image = memory.host.next->clCreateImage(context, flags, format, is, host, error);

	/* An image of a buffer has no memory of its own. */
	return is && is->mem_object ? image : created(context, image, flags);
}

static cl_mem CL_API_CALL create_image_with(cl_context context, const cl_mem_properties *properties,
					    cl_mem_flags flags, const cl_image_format *format,
					    const cl_image_desc *is, void *host, cl_int *error)
{
	cl_mem image = memory.host.next->clCreateImageWithProperties(context, properties, flags,
								     format, is, host, error);

	return is && is->mem_object ? image : created(context, image, flags);
}

static cl_mem CL_API_CALL create_image_2d(cl_context context, cl_mem_flags flags,
					  const cl_image_format *format, size_t width,
					  size_t height, size_t pitch, void *host, cl_int *error)
{
	return created(context,
		       memory.host.next->clCreateImage2D(context, flags, format, width, height,
							 pitch, host, error),
		       flags);
}

static cl_mem CL_API_CALL create_image_3d(cl_context context, cl_mem_flags flags,
					  const cl_image_format *format, size_t width,
					  size_t height, size_t depth, size_t pitch,
					  size_t slice_pitch, void *host, cl_int *error)
{
	return created(context,
		       memory.host.next->clCreateImage3D(context, flags, format, width, height,
							 depth, pitch, slice_pitch, host, error),
		       flags);
}

/*
 * Shared virtual memory
 */

static void add_shared(struct piece *p, const void *at)
{
	pthread_mutex_lock(&memory.lock);
	p->at = at;
	HASH_ADD_PTR(memory.shared, at, p);
	if (p->is_lost) {
		memory.unknown = true;
		count(p, false);
		free(p);
	}
	pthread_mutex_unlock(&memory.lock);
	memory.host.changed();
}

static struct piece *take_shared(const void *at)
{
	struct piece *p;

	pthread_mutex_lock(&memory.lock);
	HASH_FIND_PTR(memory.shared, &at, p);
	if (p)
		HASH_DEL(memory.shared, p);
	pthread_mutex_unlock(&memory.lock);
	return p;
}

/* True: it was counted. */
static bool forget_shared(const void *at)
{
	struct piece *p = memory.counts ? take_shared(at) : NULL;

	if (p)
		end_piece(p);
	return p;
}

static void *CL_API_CALL alloc_shared(cl_context context, cl_svm_mem_flags flags, size_t size,
				      cl_uint alignment)
{
	void *at = memory.host.next->clSVMAlloc(context, flags, size, alignment);
	struct piece *p = at && memory.counts ? make_piece(context, size) : NULL;

	if (p)
		add_shared(p, at);
	return at;
}

/* Forgets it first: once freed, other memory may have the same address. */
static void CL_API_CALL free_shared(cl_context context, void *at)
{
	forget_shared(at);
	memory.host.next->clSVMFree(context, at);
}

/* Without a function of the program, the driver frees the memory after what is enqueued. */
static cl_int CL_API_CALL free_shared_later(cl_command_queue queue, cl_uint nr, void **pointers,
					    void(CL_CALLBACK *function)(cl_command_queue, cl_uint,
									void **, void *),
					    void *data, cl_uint nr_waits, const cl_event *waits,
					    cl_event *event)
{
	bool forgot = false;
	cl_int result;

	for (cl_uint i = 0; !function && pointers && i < nr; i++)
		forgot |= forget_shared(pointers[i]);
	result = enqueue_free(queue, nr, pointers, function, data, nr_waits, waits, event);
	if (result && forgot)
		lose();
	return result;
}

/*
 * The layer
 */

void gp__cl_memory_begin(const struct gp__cl_memory_host *host, cl_icd_dispatch *table)
{
	memory.host = *host;
	if (!table->clSetMemObjectDestructorCallback)
		memory.unknown = true;
	memory.counts = !memory.unknown;
	if (!memory.counts)
		return;
	GP__CL_REPLACE(table, clCreateBuffer, create_buffer);
	GP__CL_REPLACE(table, clCreateBufferWithProperties, create_buffer_with);
	GP__CL_REPLACE(table, clCreateImage, create_image);
	GP__CL_REPLACE(table, clCreateImageWithProperties, create_image_with);
	GP__CL_REPLACE(table, clCreateImage2D, create_image_2d);
	GP__CL_REPLACE(table, clCreateImage3D, create_image_3d);
	GP__CL_REPLACE(table, clSVMAlloc, alloc_shared);
	GP__CL_REPLACE(table, clSVMFree, free_shared);
	enqueue_free = table->clEnqueueSVMFree;
	GP__CL_REPLACE(table, clEnqueueSVMFree, free_shared_later);
}

bool gp__cl_memory_used(const char *key, u64 *bytes)
{
	bool known;

	*bytes = 0;
	pthread_mutex_lock(&memory.lock);
	known = !memory.unknown;
	for (u32 i = 0; i < memory.nr_devices; i++) {
		if (!strcmp(memory.device[i].key, key))
			*bytes += memory.device[i].bytes;
	}
	pthread_mutex_unlock(&memory.lock);
	return known;
}

void gp__cl_memory_end(void)
{
	memory.counts = false;
}
