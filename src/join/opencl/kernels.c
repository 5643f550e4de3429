// SPDX-License-Identifier: MIT
/* State is global, as the program's is. `lock` protects the table and the counts. */
#include "join/opencl/kernels.h"

#include <stdlib.h>
#include <string.h>

#include "join/opencl/copies.h"
#include "join/opencl/layer.h"

const cl_kernel_exec_info gp__cl_exec_infos[GP__CL_EXEC_INFOS] = {
	CL_KERNEL_EXEC_INFO_SVM_PTRS,
	CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM,
};

static struct {
	pthread_rwlock_t lock;
	struct gp__cl_kernel *kernels;
} all = { .lock = PTHREAD_RWLOCK_INITIALIZER };

static const cl_icd_dispatch *next(void)
{
	return gp__cl_next();
}

/*
 * Records
 */

struct gp__cl_kernel *gp__cl_kernel_find(cl_kernel kernel)
{
	struct gp__cl_kernel *k;

	if (!gp__cl_is_joined())
		return NULL;
	pthread_rwlock_rdlock(&all.lock);
	HASH_FIND_PTR(all.kernels, &kernel, k);
	pthread_rwlock_unlock(&all.lock);
	return k;
}

static void free_kernel(struct gp__cl_kernel *k)
{
	gp__cl_copies_free(&k->copies);
	for (cl_uint i = 0; k->args && i < k->nr_args; i++)
		free(k->args[i].is_pointer ? NULL : k->args[i].value);
	for (size_t i = 0; i < GP__CL_EXEC_INFOS; i++)
		free(k->exec[i].value);
	pthread_mutex_destroy(&k->lock);
	free(k->objects);
	free(k->args);
	free(k->name);
	if (k->program)
		gp__cl_program_put(k->program);
	free(k);
}

void gp__cl_kernel_get(struct gp__cl_kernel *k)
{
	pthread_rwlock_wrlock(&all.lock);
	k->nr_users++;
	pthread_rwlock_unlock(&all.lock);
}

void gp__cl_kernel_put(struct gp__cl_kernel *k)
{
	bool last;

	pthread_rwlock_wrlock(&all.lock);
	last = !--k->nr_users;
	pthread_rwlock_unlock(&all.lock);
	if (last)
		free_kernel(k);
}

static char *read_name(cl_kernel kernel)
{
	size_t size = 0;
	char *name = NULL;

	if (!next()->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 0, NULL, &size) && size)
		name = calloc(1, size + 1);
	if (name && next()->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, size, name, NULL)) {
		free(name);
		return NULL;
	}
	return name;
}

/* NULL: out of memory; the kernel is launched without a guard. */
static struct gp__cl_kernel *make_record(cl_kernel kernel)
{
	struct gp__cl_kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->cl = kernel;
	k->references = k->nr_users = 1;
	gp__list_init(&k->copies);
	pthread_mutex_init(&k->lock, NULL);
	k->name = read_name(kernel);
	if (!next()->clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(k->nr_args), &k->nr_args,
				     NULL))
		k->args = calloc(k->nr_args + 1u, sizeof(*k->args));
	if (k->name && k->args)
		return k;
	free_kernel(k);
	return NULL;
}

static void add_record(struct gp__cl_kernel *k)
{
	cl_program program = NULL;

	next()->clGetKernelInfo(k->cl, CL_KERNEL_PROGRAM, sizeof(cl_program), &program, NULL);
	k->program = gp__cl_program_get(program);
	pthread_rwlock_wrlock(&all.lock);
	HASH_ADD_PTR(all.kernels, cl, k);
	pthread_rwlock_unlock(&all.lock);
}

static void add_kernel(cl_kernel kernel)
{
	struct gp__cl_kernel *k = make_record(kernel);

	if (k)
		add_record(k);
}

/*
 * Arguments
 */

static bool keep_value(struct gp__cl_argument *a, size_t size, const void *value)
{
	void *copy = value ? malloc(size ? size : 1) : NULL;

	if (value && !copy)
		return false;
	if (value && size)
		memcpy(copy, value, size);
	if (!a->is_pointer)
		free(a->value);
	*a = (struct gp__cl_argument){ .size = size, .value = copy };
	return true;
}

/* An argument that is set to the value it has need not be set in copies. */
static bool has_value(const struct gp__cl_argument *a, size_t size, const void *value)
{
	return a->version && !a->is_pointer && a->size == size && !a->value == !value &&
	       (!value || !memcmp(a->value, value, size));
}

/* Without memory the value is unknown, and the kernel is launched without a guard. */
static void set_value(struct gp__cl_kernel *k, struct gp__cl_argument *a, size_t size,
		      const void *value)
{
	if (has_value(a, size, value))
		return;
	if (keep_value(a, size, value))
		a->version = ++k->version;
	else
		a->version = 0;
}

static void set_pointer(struct gp__cl_kernel *k, struct gp__cl_argument *a, const void *pointer)
{
	if (!a->is_pointer)
		free(a->value);
	*a = (struct gp__cl_argument){ .value = (void *)pointer,
				       .is_pointer = true,
				       .version = ++k->version };
}

/* For a clone of @from. */
static void copy_arguments(struct gp__cl_kernel *to, const struct gp__cl_kernel *from)
{
	for (cl_uint i = 0; i < from->nr_args && i < to->nr_args; i++) {
		const struct gp__cl_argument *a = &from->args[i];

		if (a->version && a->is_pointer)
			set_pointer(to, &to->args[i], a->value);
		else if (a->version)
			set_value(to, &to->args[i], a->size, a->value);
	}
	for (size_t i = 0; i < GP__CL_EXEC_INFOS; i++) {
		if (from->exec[i].version)
			set_value(to, &to->exec[i], from->exec[i].size, from->exec[i].value);
	}
}

/*
 * Calls of the program
 */

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *error)
{
	cl_kernel kernel = next()->clCreateKernel(program, name, error);

	if (kernel && gp__cl_is_joined())
		add_kernel(kernel);
	return kernel;
}

static cl_int CL_API_CALL create_kernels(cl_program program, cl_uint nr, cl_kernel *kernels,
					 cl_uint *nr_kernels)
{
	cl_uint n = 0;
	cl_int result = next()->clCreateKernelsInProgram(program, nr, kernels, &n);

	if (result == CL_SUCCESS && nr_kernels)
		*nr_kernels = n;
	for (cl_uint i = 0; result == CL_SUCCESS && kernels && i < n && gp__cl_is_joined(); i++)
		add_kernel(kernels[i]);
	return result;
}

static cl_kernel CL_API_CALL clone_kernel(cl_kernel kernel, cl_int *error)
{
	cl_kernel clone = next()->clCloneKernel(kernel, error);
	struct gp__cl_kernel *from = clone ? gp__cl_kernel_find(kernel) : NULL;
	struct gp__cl_kernel *k = from ? make_record(clone) : NULL;

	if (k) {
		copy_arguments(k, from);
		add_record(k);
	}
	return clone;
}

static cl_int CL_API_CALL retain_kernel(cl_kernel kernel)
{
	cl_int result = next()->clRetainKernel(kernel);
	struct gp__cl_kernel *k = result == CL_SUCCESS ? gp__cl_kernel_find(kernel) : NULL;

	if (k) {
		pthread_rwlock_wrlock(&all.lock);
		k->references++;
		pthread_rwlock_unlock(&all.lock);
	}
	return result;
}

static cl_int CL_API_CALL release_kernel(cl_kernel kernel)
{
	struct gp__cl_kernel *k = gp__cl_kernel_find(kernel);
	bool last = false;

	if (k) {
		pthread_rwlock_wrlock(&all.lock);
		last = !--k->references;
		if (last)
			HASH_DEL(all.kernels, k);
		pthread_rwlock_unlock(&all.lock);
	}
	if (last)
		gp__cl_kernel_put(k);
	return next()->clReleaseKernel(kernel);
}

static cl_int CL_API_CALL set_kernel_arg(cl_kernel kernel, cl_uint i, size_t size,
					 const void *value)
{
	cl_int result = next()->clSetKernelArg(kernel, i, size, value);
	struct gp__cl_kernel *k = result == CL_SUCCESS ? gp__cl_kernel_find(kernel) : NULL;

	if (k && i < k->nr_args)
		set_value(k, &k->args[i], size, value);
	return result;
}

static cl_int CL_API_CALL set_kernel_pointer(cl_kernel kernel, cl_uint i, const void *pointer)
{
	cl_int result = next()->clSetKernelArgSVMPointer(kernel, i, pointer);
	struct gp__cl_kernel *k = result == CL_SUCCESS ? gp__cl_kernel_find(kernel) : NULL;

	if (k && i < k->nr_args)
		set_pointer(k, &k->args[i], pointer);
	return result;
}

static cl_int CL_API_CALL set_exec_info(cl_kernel kernel, cl_kernel_exec_info name, size_t size,
					const void *value)
{
	cl_int result = next()->clSetKernelExecInfo(kernel, name, size, value);
	struct gp__cl_kernel *k = result == CL_SUCCESS ? gp__cl_kernel_find(kernel) : NULL;

	for (size_t i = 0; k && i < GP__CL_EXEC_INFOS; i++) {
		if (gp__cl_exec_infos[i] == name)
			set_value(k, &k->exec[i], size, value);
	}
	return result;
}

void gp__cl_replace_kernels(cl_icd_dispatch *table)
{
	GP__CL_REPLACE(table, clCreateKernel, create_kernel);
	GP__CL_REPLACE(table, clCreateKernelsInProgram, create_kernels);
	GP__CL_REPLACE(table, clCloneKernel, clone_kernel);
	GP__CL_REPLACE(table, clRetainKernel, retain_kernel);
	GP__CL_REPLACE(table, clReleaseKernel, release_kernel);
	GP__CL_REPLACE(table, clSetKernelArg, set_kernel_arg);
	GP__CL_REPLACE(table, clSetKernelArgSVMPointer, set_kernel_pointer);
	GP__CL_REPLACE(table, clSetKernelExecInfo, set_exec_info);
}
