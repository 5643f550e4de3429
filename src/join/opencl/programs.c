// SPDX-License-Identifier: MIT
/*
 * State is global, as the program's is. Locking: `lock` protects the table and the counts; a
 * record's own lock comes before it, and is held while its guarded program is built.
 */
#include "join/opencl/programs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "join/opencl/layer.h"
#include "join/opencl/source.h"

struct gp__cl_program {
	UT_hash_handle hh; /* by cl */
	cl_program cl;
	u32 references; /* of the program */
	u32 nr_kernels; /* that refer to it */
	pthread_mutex_t lock; /* of all that follows */
	bool tried; /* to build the guarded program */
	cl_program guarded; /* NULL: there is none */
	cl_device_id device; /* that it was built for */
	enum gp__wire_why why; /* there is none */
	struct gp__cl_guarded text;
};

static struct {
	pthread_rwlock_t lock;
	struct gp__cl_program *programs;
} all = { .lock = PTHREAD_RWLOCK_INITIALIZER };

static const cl_icd_dispatch *next(void)
{
	return gp__cl_next();
}

/*
 * Records
 */

/* Under the lock. */
static struct gp__cl_program *find(cl_program program)
{
	struct gp__cl_program *p;

	HASH_FIND_PTR(all.programs, &program, p);
	return p;
}

static void add(cl_program program)
{
	struct gp__cl_program *p = calloc(1, sizeof(*p));

	if (!p)
		return; /* its kernels are not guarded then */
	p->cl = program;
	p->references = 1;
	pthread_mutex_init(&p->lock, NULL);
	pthread_rwlock_wrlock(&all.lock);
	HASH_ADD_PTR(all.programs, cl, p);
	pthread_rwlock_unlock(&all.lock);
}

static void drop_guarded(struct gp__cl_program *p)
{
	if (p->guarded)
		next()->clReleaseProgram(p->guarded);
	gp__cl_guarded_free(&p->text);
	p->guarded = NULL;
	p->tried = false;
}

/* Under the lock: removes a record without users. The caller frees the result, without the lock. */
static struct gp__cl_program *remove_unused(struct gp__cl_program *p)
{
	if (p->references || p->nr_kernels)
		return NULL;
	HASH_DEL(all.programs, p);
	return p;
}

static void free_record(struct gp__cl_program *p)
{
	if (!p)
		return;
	drop_guarded(p);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

struct gp__cl_program *gp__cl_program_get(cl_program program)
{
	struct gp__cl_program *p;

	pthread_rwlock_wrlock(&all.lock);
	p = find(program);
	if (p)
		p->nr_kernels++;
	pthread_rwlock_unlock(&all.lock);
	return p;
}

void gp__cl_program_put(struct gp__cl_program *p)
{
	pthread_rwlock_wrlock(&all.lock);
	p->nr_kernels--;
	p = remove_unused(p);
	pthread_rwlock_unlock(&all.lock);
	free_record(p);
}

/*
 * Guarded programs
 */

/* The caller frees it. NULL: the program has no source, or the driver does not return it. */
static char *read_source(cl_program program)
{
	size_t size = 0;
	char *text = NULL;

	if (!next()->clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &size) && size > 1)
		text = calloc(1, size + 1);
	if (text && next()->clGetProgramInfo(program, CL_PROGRAM_SOURCE, size, text, NULL)) {
		free(text);
		return NULL;
	}
	return text;
}

/* The options of its build, and one that keeps information about arguments. */
static char *read_options(cl_program program, cl_device_id device)
{
	static const char more[] = " -cl-kernel-arg-info";
	size_t size = 0;
	char *text;

	if (next()->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, 0, NULL,
					  &size))
		return NULL;
	text = calloc(1, size + sizeof(more));
	if (text && size &&
	    next()->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, size, text,
					  NULL)) {
		free(text);
		return NULL;
	}
	return text ? strcat(text, more) : NULL;
}

static cl_program build(cl_program program, cl_device_id device, const char *text,
			const char *options)
{
	cl_context context;
	cl_program guarded;
	cl_int err;

	if (next()->clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof(context), &context, NULL))
		return NULL;
	guarded = next()->clCreateProgramWithSource(context, 1, &text, NULL, &err);
	if (err != CL_SUCCESS)
		return NULL;
	if (next()->clBuildProgram(guarded, 1, &device, options, NULL, NULL) == CL_SUCCESS)
		return guarded;
	next()->clReleaseProgram(guarded);
	return NULL;
}

static void guard_and_build(struct gp__cl_program *p, const char *text, const char *options,
			    bool idempotent)
{
	gp__cl_guarded_free(&p->text);
	if (!gp__cl_guard_source(text, strlen(text), options, idempotent, &p->text) && p->text.text)
		p->guarded = build(p->cl, p->device, p->text.text, options);
}

/* Under the program's lock. */
static void make_guarded(struct gp__cl_program *p, cl_device_id device)
{
	char *text = read_source(p->cl), *options = read_options(p->cl, device);

	p->tried = true;
	p->device = device;
	p->why = GP__WIRE_FAILS;
	if (!text)
		p->why = GP__WIRE_NO_SOURCE;
	else if (options)
		guard_and_build(p, text, options, gp__cl_is_idempotent());
	/* Guards in loops may not compile; guards between work-groups are simpler. */
	if (text && options && p->text.text && !p->guarded && gp__cl_is_idempotent())
		guard_and_build(p, text, options, false);
	free(text);
	free(options);
}

cl_kernel gp__cl_program_kernel(struct gp__cl_program *p, const char *name, cl_device_id device,
				enum gp__wire_why *why, bool *drops)
{
	cl_kernel kernel = NULL;
	cl_int err;

	pthread_mutex_lock(&p->lock);
	if (!p->tried)
		make_guarded(p, device);
	*why = p->text.kernels ? gp__cl_guarded_why(&p->text, name) : p->why;
	if (!*why && (!p->guarded || p->device != device))
		*why = GP__WIRE_FAILS;
	if (!*why) {
		kernel = next()->clCreateKernel(p->guarded, name, &err);
		*why = err == CL_SUCCESS ? GP__WIRE_GUARDED : GP__WIRE_FAILS;
		*drops = gp__cl_guarded_drops(&p->text, name);
	}
	pthread_mutex_unlock(&p->lock);
	return *why ? NULL : kernel;
}

/*
 * Calls of the program
 */

static cl_program CL_API_CALL create_program(cl_context context, cl_uint nr, const char **texts,
					     const size_t *sizes, cl_int *error)
{
	cl_program program = next()->clCreateProgramWithSource(context, nr, texts, sizes, error);

	if (program && gp__cl_is_joined())
		add(program);
	return program;
}

static cl_int CL_API_CALL retain_program(cl_program program)
{
	cl_int result = next()->clRetainProgram(program);
	struct gp__cl_program *p;

	if (result != CL_SUCCESS || !gp__cl_is_joined())
		return result;
	pthread_rwlock_wrlock(&all.lock);
	p = find(program);
	if (p)
		p->references++;
	pthread_rwlock_unlock(&all.lock);
	return result;
}

/* Removes the record first: once released, another program may have the same address. */
static cl_int CL_API_CALL release_program(cl_program program)
{
	struct gp__cl_program *p = NULL, *gone = NULL;

	if (gp__cl_is_joined()) {
		pthread_rwlock_wrlock(&all.lock);
		p = find(program);
		if (p && p->references) {
			p->references--;
			gone = remove_unused(p);
		}
		pthread_rwlock_unlock(&all.lock);
	}
	free_record(gone);
	return next()->clReleaseProgram(program);
}

/* A guarded program that was built before is stale now. */
static cl_int CL_API_CALL build_program(cl_program program, cl_uint nr, const cl_device_id *devices,
					const char *options,
					void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
	struct gp__cl_program *p = NULL;

	if (gp__cl_is_joined()) {
		pthread_rwlock_rdlock(&all.lock);
		p = find(program);
		pthread_rwlock_unlock(&all.lock);
	}
	if (p) {
		pthread_mutex_lock(&p->lock);
		drop_guarded(p);
		pthread_mutex_unlock(&p->lock);
	}
	return next()->clBuildProgram(program, nr, devices, options, notify, data);
}

void gp__cl_replace_programs(cl_icd_dispatch *table)
{
	GP__CL_REPLACE(table, clCreateProgramWithSource, create_program);
	GP__CL_REPLACE(table, clRetainProgram, retain_program);
	GP__CL_REPLACE(table, clReleaseProgram, release_program);
	GP__CL_REPLACE(table, clBuildProgram, build_program);
}
