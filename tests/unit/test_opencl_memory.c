// SPDX-License-Identifier: MIT
/* The device memory of an OpenCL program, against a driver of this test. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "join/opencl/memory.h"

#define MIB (1ull << 20)

struct _cl_mem {
	size_t size;
	void(CL_CALLBACK *destroyed)(cl_mem, void *);
	void *data;
};

struct _cl_device_id {
	const char *key; /* NULL: it is not counted */
};

struct _cl_context {
	cl_device_id device[2];
	size_t nr;
};

static struct _cl_device_id first = { "gpu-a" }, second = { "gpu-b" }, part = { "gpu-a" }, beneath;
static bool refuses_callbacks;
static unsigned int nr_changes;
static cl_icd_dispatch driver, table;

static cl_mem CL_API_CALL create(cl_context context, cl_mem_flags flags, size_t size, void *host,
				 cl_int *error)
{
	cl_mem object = size ? calloc(1, sizeof(*object)) : NULL;

	(void)context;
	(void)flags;
	(void)host;
	(void)error;
	if (object)
		object->size = size;
	return object;
}

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags,
				       const cl_image_format *format, const cl_image_desc *is,
				       void *host, cl_int *error)
{
	(void)format;
	return create(context, flags, is->image_width * 4, host, error);
}

static cl_int CL_API_CALL get_info(cl_mem object, cl_mem_info what, size_t size, void *value,
				   size_t *needed)
{
	(void)what;
	(void)size;
	(void)needed;
	memcpy(value, &object->size, sizeof(object->size));
	return CL_SUCCESS;
}

static cl_int CL_API_CALL get_context(cl_context context, cl_context_info what, size_t size,
				      void *value, size_t *needed)
{
	(void)what;
	(void)size;
	memcpy(value, context->device, context->nr * sizeof(cl_device_id));
	*needed = context->nr * sizeof(cl_device_id);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL set_callback(cl_mem object, void(CL_CALLBACK *destroyed)(cl_mem, void *),
				       void *data)
{
	if (refuses_callbacks)
		return CL_OUT_OF_HOST_MEMORY;
	object->destroyed = destroyed;
	object->data = data;
	return CL_SUCCESS;
}

static void *CL_API_CALL alloc_shared(cl_context context, cl_svm_mem_flags flags, size_t size,
				      cl_uint alignment)
{
	(void)context;
	(void)flags;
	(void)size;
	(void)alignment;
	return malloc(1);
}

static void CL_API_CALL free_shared(cl_context context, void *at)
{
	(void)context;
	free(at);
}

static cl_int CL_API_CALL free_later(cl_command_queue queue, cl_uint nr, void **pointers,
				     void(CL_CALLBACK *function)(cl_command_queue, cl_uint, void **,
								 void *),
				     void *data, cl_uint nr_waits, const cl_event *waits,
				     cl_event *event)
{
	(void)queue;
	(void)function;
	(void)data;
	(void)nr_waits;
	(void)waits;
	(void)event;
	for (cl_uint i = 0; i < nr; i++)
		free(pointers[i]);
	return CL_SUCCESS;
}

/* As the driver does when the last reference is gone. */
static void destroy(cl_mem object)
{
	if (object->destroyed)
		object->destroyed(object, object->data);
	free(object);
}

static bool name(cl_device_id device, char key[GP__WIRE_DEVICE_MAX])
{
	if (device->key)
		strcpy(key, device->key);
	return device->key;
}

static void changed(void)
{
	nr_changes++;
}

static u64 used(const char *key)
{
	u64 bytes;

	assert_true(gp__cl_memory_used(key, &bytes));
	return bytes;
}

static int begin(void **state)
{
	const struct gp__cl_memory_host host = { &driver, name, changed };

	(void)state;
	driver.clCreateBuffer = create;
	driver.clCreateImage = create_image;
	driver.clGetMemObjectInfo = get_info;
	driver.clGetContextInfo = get_context;
	driver.clSetMemObjectDestructorCallback = set_callback;
	driver.clSVMAlloc = alloc_shared;
	driver.clSVMFree = free_shared;
	driver.clEnqueueSVMFree = free_later;
	table = driver;
	gp__cl_memory_begin(&host, &table);
	return 0;
}

static void buffers_count_until_the_driver_destroys_them(void **state)
{
	struct _cl_context context = { { &first }, 1 };
	cl_mem a, b;

	(void)state;
	a = table.clCreateBuffer(&context, 0, 64 * MIB, NULL, NULL);
	b = table.clCreateBuffer(&context, 0, 16 * MIB, NULL, NULL);
	assert_int_equal(used("gpu-a"), 80 * MIB);
	assert_int_equal(nr_changes, 2);
	destroy(a);
	assert_int_equal(used("gpu-a"), 16 * MIB);
	destroy(b);
	assert_int_equal(used("gpu-a"), 0);
	assert_int_equal(nr_changes, 4);
	assert_null(table.clCreateBuffer(&context, 0, 0, NULL, NULL));
	assert_int_equal(used("gpu-a"), 0);
}

static void memory_of_the_host_does_not_count(void **state)
{
	struct _cl_context context = { { &first }, 1 };
	cl_mem a = table.clCreateBuffer(&context, CL_MEM_USE_HOST_PTR, MIB, NULL, NULL);
	cl_mem b = table.clCreateBuffer(&context, CL_MEM_ALLOC_HOST_PTR, MIB, NULL, NULL);

	(void)state;
	assert_int_equal(used("gpu-a"), 0);
	destroy(a);
	destroy(b);
}

static void memory_counts_on_each_device_of_its_context_once(void **state)
{
	struct _cl_context both = { { &first, &second }, 2 }, parts = { { &first, &part }, 2 };
	cl_mem a = table.clCreateBuffer(&both, 0, MIB, NULL, NULL);
	cl_mem b = table.clCreateBuffer(&parts, 0, MIB, NULL, NULL);

	(void)state;
	assert_int_equal(used("gpu-a"), 2 * MIB);
	assert_int_equal(used("gpu-b"), MIB);
	destroy(a);
	destroy(b);
	assert_int_equal(used("gpu-a"), 0);
	assert_int_equal(used("gpu-b"), 0);
}

static void devices_that_are_joined_beneath_are_counted_there(void **state)
{
	struct _cl_context context = { { &beneath }, 1 };
	cl_mem a = table.clCreateBuffer(&context, 0, MIB, NULL, NULL);

	(void)state;
	assert_null(a->destroyed);
	assert_int_equal(used(""), 0);
	destroy(a);
}

static void images_and_shared_memory_count(void **state)
{
	struct _cl_context context = { { &first }, 1 };
	const cl_image_desc is = { .image_width = MIB };
	cl_mem image = table.clCreateImage(&context, 0, NULL, &is, NULL, NULL);
	void *a = table.clSVMAlloc(&context, 0, MIB, 0), *b = table.clSVMAlloc(&context, 0, MIB, 0);

	(void)state;
	assert_int_equal(used("gpu-a"), 6 * MIB);
	destroy(image);
	table.clSVMFree(&context, a);
	assert_int_equal(used("gpu-a"), MIB);
	assert_int_equal(table.clEnqueueSVMFree(NULL, 1, &b, NULL, NULL, 0, NULL, NULL), 0);
	assert_int_equal(used("gpu-a"), 0);
}

/* Forgets nothing before: what is not known stays so. */
static void memory_whose_end_is_not_seen_is_unknown_not_0(void **state)
{
	struct _cl_context context = { { &first }, 1 };
	cl_mem a;
	u64 bytes;

	(void)state;
	assert_int_equal(used("gpu-a"), 0);
	refuses_callbacks = true;
	a = table.clCreateBuffer(&context, 0, MIB, NULL, NULL);
	assert_non_null(a);
	assert_false(gp__cl_memory_used("gpu-a", &bytes));
	destroy(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffers_count_until_the_driver_destroys_them),
		cmocka_unit_test(memory_of_the_host_does_not_count),
		cmocka_unit_test(memory_counts_on_each_device_of_its_context_once),
		cmocka_unit_test(devices_that_are_joined_beneath_are_counted_there),
		cmocka_unit_test(images_and_shared_memory_count),
		cmocka_unit_test(memory_whose_end_is_not_seen_is_unknown_not_0),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
