// SPDX-License-Identifier: MIT
#include "join/opencl/copies.h"

#include <stdlib.h>
#include <string.h>

#include "join/opencl/kernels.h"
#include "join/opencl/layer.h"

struct copy {
	struct gp__cl_copy is;
	struct gp__link link; /* in its kernel's copies, while no launch uses it */
	struct gp__cl_kernel *kernel;
	u64 *versions; /* of the arguments and exec infos that it has */
	void **retained; /* objects, by argument; NULL: none */
};

static const cl_icd_dispatch *next(void)
{
	return gp__cl_next();
}

static void free_copy(struct copy *c)
{
	next()->clReleaseKernel(c->is.cl);
	free(c->versions);
	free(c->retained);
	free(c);
}

void gp__cl_copies_free(struct gp__link *copies)
{
	while (!gp__list_empty(copies)) {
		struct copy *c = container_of(copies->next, struct copy, link);

		gp__list_del(&c->link);
		free_copy(c);
	}
}

/*
 * Making copies
 */

/* Reads the kind of an argument from the compiler's information; false: there is none. */
static bool read_object(cl_kernel kernel, cl_uint i, enum gp__cl_object *object)
{
	cl_kernel_arg_address_qualifier where;
	char type[64] = "";

	if (next()->clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(where),
				       &where, NULL) ||
	    next()->clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_NAME, 0, NULL, NULL))
		return false;
	/* A longer name is not a sampler's. */
	if (next()->clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_NAME, sizeof(type), type,
				       NULL))
		type[0] = '\0';
	*object = GP__CL_NO_OBJECT;
	if (!strcmp(type, "sampler_t"))
		*object = GP__CL_SAMPLER;
	else if (where == CL_KERNEL_ARG_ADDRESS_GLOBAL || where == CL_KERNEL_ARG_ADDRESS_CONSTANT)
		*object = GP__CL_MEMORY;
	return true;
}

static bool read_objects(struct gp__cl_kernel *k, cl_kernel guarded)
{
	cl_uint nr = 0;

	if (k->objects)
		return true;
	if (next()->clGetKernelInfo(guarded, CL_KERNEL_NUM_ARGS, sizeof(nr), &nr, NULL) ||
	    nr != k->nr_args + 2)
		return false;
	k->objects = calloc(k->nr_args + 1u, sizeof(*k->objects));
	for (cl_uint i = 0; k->objects && i < k->nr_args; i++) {
		if (!read_object(guarded, i, &k->objects[i])) {
			free(k->objects);
			k->objects = NULL;
		}
	}
	return k->objects;
}

/* Under the kernel's lock. NULL: because of k->why. */
static struct copy *make_copy(struct gp__cl_kernel *k, cl_device_id device)
{
	struct copy *c = calloc(1, sizeof(*c));
	bool drops = false;
	cl_kernel guarded =
		c ? gp__cl_program_kernel(k->program, k->name, device, &k->why, &drops) : NULL;

	if (guarded) {
		*c = (struct copy){ .is = { guarded, k->nr_args, drops }, .kernel = k };
		gp__list_init(&c->link);
		c->versions = calloc(k->nr_args + GP__CL_EXEC_INFOS, sizeof(*c->versions));
		c->retained = calloc(k->nr_args + 1u, sizeof(*c->retained));
		if (c->versions && c->retained && read_objects(k, guarded))
			return c;
		k->why = GP__WIRE_FAILS;
		free_copy(c);
		return NULL;
	}
	free(c);
	return NULL;
}

static struct copy *take_copy(struct gp__cl_kernel *k, cl_device_id device, enum gp__wire_why *why)
{
	struct copy *c = NULL;

	pthread_mutex_lock(&k->lock);
	if (!gp__list_empty(&k->copies)) {
		c = container_of(k->copies.next, struct copy, link);
		gp__list_del(&c->link);
	} else if (!k->why) {
		c = make_copy(k, device);
	}
	*why = k->why;
	pthread_mutex_unlock(&k->lock);
	return c;
}

/*
 * Arguments
 */

static cl_int set_argument(struct copy *c, cl_uint i, const struct gp__cl_argument *a)
{
	if (a->is_pointer)
		return next()->clSetKernelArgSVMPointer(c->is.cl, i, a->value);
	return next()->clSetKernelArg(c->is.cl, i, a->size, a->value);
}

/* Sets the arguments that changed since the last use. False: one was never set, or is refused. */
static bool set_arguments(struct copy *c)
{
	const struct gp__cl_kernel *k = c->kernel;
	u64 *version = c->versions;

	for (cl_uint i = 0; i < k->nr_args; i++, version++) {
		if (!k->args[i].version)
			return false;
		if (*version != k->args[i].version && set_argument(c, i, &k->args[i]))
			return false;
		*version = k->args[i].version;
	}
	for (size_t i = 0; i < GP__CL_EXEC_INFOS; i++, version++) {
		if (*version != k->exec[i].version &&
		    next()->clSetKernelExecInfo(c->is.cl, gp__cl_exec_infos[i], k->exec[i].size,
						k->exec[i].value))
			return false;
		*version = k->exec[i].version;
	}
	return true;
}

static bool retain_object(struct copy *c, cl_uint i)
{
	const struct gp__cl_argument *a = &c->kernel->args[i];
	void *object = NULL;
	cl_int err;

	if (a->is_pointer || !a->value || a->size != sizeof(object))
		return true;
	memcpy(&object, a->value, sizeof(object));
	if (!object)
		return true;
	err = c->kernel->objects[i] == GP__CL_MEMORY ? next()->clRetainMemObject(object)
						     : next()->clRetainSampler(object);
	if (!err)
		c->retained[i] = object;
	return !err;
}

static bool retain_objects(struct copy *c)
{
	for (cl_uint i = 0; i < c->kernel->nr_args; i++) {
		if (c->kernel->objects[i] != GP__CL_NO_OBJECT && !retain_object(c, i))
			return false;
	}
	return true;
}

static void release_objects(struct copy *c)
{
	for (cl_uint i = 0; i < c->kernel->nr_args; i++) {
		if (!c->retained[i])
			continue;
		if (c->kernel->objects[i] == GP__CL_MEMORY)
			next()->clReleaseMemObject(c->retained[i]);
		else
			next()->clReleaseSampler(c->retained[i]);
		c->retained[i] = NULL;
	}
}

/*
 * Launches
 */

struct gp__cl_copy *gp__cl_copy_take(cl_kernel kernel, cl_device_id device, enum gp__wire_why *why)
{
	struct gp__cl_kernel *k = gp__cl_kernel_find(kernel);
	struct copy *c;

	*why = k && !k->program ? GP__WIRE_NO_SOURCE : GP__WIRE_GUARDED;
	if (!k || !k->program)
		return NULL;
	c = take_copy(k, device, why);
	if (!c)
		return NULL;
	gp__cl_kernel_get(k);
	if (set_arguments(c) && retain_objects(c))
		return &c->is;
	gp__cl_copy_give(&c->is);
	return NULL;
}

void gp__cl_copy_give(struct gp__cl_copy *copy)
{
	struct copy *c = container_of(copy, struct copy, is);
	struct gp__cl_kernel *k = c->kernel;

	release_objects(c);
	pthread_mutex_lock(&k->lock);
	gp__list_push(&k->copies, &c->link);
	pthread_mutex_unlock(&k->lock);
	gp__cl_kernel_put(k);
}
