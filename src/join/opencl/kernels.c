// SPDX-License-Identifier: MIT
/*
 * State is global, since the program that it is loaded into is. Locking: `lock` guards the tables
 * and counts; a program's lock comes before it, and is held while its guarded one is made; a
 * kernel's lock guards its copies. Arguments have no lock: OpenCL lets only one thread at a time
 * set those of a kernel, and not while it is launched.
 */
#include "join/opencl/kernels.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "core/list.h"
#include "join/opencl/layer.h"
#include "join/opencl/source.h"

struct program {
	UT_hash_handle hh; /* by cl */
	cl_program cl;
	u32 references; /* the program's own; with those of kernels: */
	u32 nr_kernels;
	pthread_mutex_t lock; /* of what follows */
	bool tried;
	cl_program guarded; /* NULL: there is none */
	cl_device_id device; /* that it is for */
	enum gp__wire_why why; /* there is none */
	struct gp__cl_guarded text;
};

struct argument {
	size_t size;
	void *value; /* NULL: there is only a size */
	u64 version; /* 0: it was never set */
	bool is_pointer; /* of shared virtual memory: value is that */
};

/* What a copy keeps for the time of its launch. */
enum object { NO_OBJECT, MEMORY, SAMPLER };

/* As clSetKernelExecInfo() has it: shared memory that is reached through other memory. */
#define EXEC_INFOS 2
static const cl_kernel_exec_info exec_names[EXEC_INFOS] = {
	CL_KERNEL_EXEC_INFO_SVM_PTRS,
	CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM,
};

struct kernel {
	UT_hash_handle hh; /* by cl, while the program has it */
	cl_kernel cl;
	struct program *program; /* NULL: has no source */
	char *name;
	u32 references; /* the program's */
	u32 nr_users; /* copies that are out, and one while the program has it */
	cl_uint nr_args;
	struct argument *args, exec[EXEC_INFOS];
	u64 version;
	pthread_mutex_t lock; /* of what follows */
	enum gp__wire_why why;
	enum object *objects; /* of each argument */
	struct gp__link copies;
};

struct copy {
	struct gp__cl_copy is;
	struct gp__link link; /* in its kernel's, while nobody has it */
	struct kernel *kernel;
	u64 *versions; /* of the arguments and the exec infos that it has */
	void **kept; /* objects, by argument; NULL: none */
};

static struct {
	pthread_rwlock_t lock;
	struct program *programs;
	struct kernel *kernels;
} all = { .lock = PTHREAD_RWLOCK_INITIALIZER };

static const cl_icd_dispatch *next(void)
{
	return gp__cl_next();
}

/*
 * Programs
 */

static struct program *find_program(cl_program program)
{
	struct program *p;

	HASH_FIND_PTR(all.programs, &program, p);
	return p;
}

static void add_program(cl_program program)
{
	struct program *p = calloc(1, sizeof(*p));

	if (!p)
		return; /* its kernels have no guard then */
	p->cl = program;
	p->references = 1;
	pthread_mutex_init(&p->lock, NULL);
	pthread_rwlock_wrlock(&all.lock);
	HASH_ADD_PTR(all.programs, cl, p);
	pthread_rwlock_unlock(&all.lock);
}

static void drop_guarded(struct program *p)
{
	if (p->guarded)
		next()->clReleaseProgram(p->guarded);
	gp__cl_guarded_free(&p->text);
	p->guarded = NULL;
	p->tried = false;
}

/* Under the lock; what to free without it, or NULL. */
static struct program *put_program(struct program *p)
{
	if (p->references || p->nr_kernels)
		return NULL;
	HASH_DEL(all.programs, p);
	return p;
}

static void free_program(struct program *p)
{
	if (!p)
		return;
	drop_guarded(p);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* In memory of its own; NULL: none, or the driver does not say. */
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

/* With one more, that says what arguments are. */
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

static void guard_and_build(struct program *p, const char *text, const char *options,
			    bool idempotent)
{
	gp__cl_guarded_free(&p->text);
	if (!gp__cl_guard_source(text, strlen(text), options, idempotent, &p->text) && p->text.text)
		p->guarded = build(p->cl, p->device, p->text.text, options);
}

/* Under the program's lock. */
static void make_guarded(struct program *p, cl_device_id device)
{
	char *text = read_source(p->cl), *options = read_options(p->cl, device);

	p->tried = true;
	p->device = device;
	p->why = GP__WIRE_FAILS;
	if (!text)
		p->why = GP__WIRE_NO_SOURCE;
	else if (options)
		guard_and_build(p, text, options, gp__cl_is_idempotent());
	/* A guard between work-groups is less that a compiler might not like. */
	if (text && options && p->text.text && !p->guarded && gp__cl_is_idempotent())
		guard_and_build(p, text, options, false);
	free(text);
	free(options);
}

/* A kernel of the guarded program; NULL: *@why. */
static cl_kernel make_kernel(struct program *p, const char *name, cl_device_id device,
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
 * Kernels
 */

static struct kernel *find_kernel(cl_kernel kernel)
{
	struct kernel *k;

	if (!gp__cl_is_joined())
		return NULL;
	pthread_rwlock_rdlock(&all.lock);
	HASH_FIND_PTR(all.kernels, &kernel, k);
	pthread_rwlock_unlock(&all.lock);
	return k;
}

static void free_copy(struct copy *c)
{
	next()->clReleaseKernel(c->is.cl);
	free(c->versions);
	free(c->kept);
	free(c);
}

static void free_kernel(struct kernel *k)
{
	while (!gp__list_empty(&k->copies)) {
		struct copy *c = container_of(k->copies.next, struct copy, link);

		gp__list_del(&c->link);
		free_copy(c);
	}
	for (cl_uint i = 0; k->args && i < k->nr_args; i++)
		free(k->args[i].is_pointer ? NULL : k->args[i].value);
	for (size_t i = 0; i < EXEC_INFOS; i++)
		free(k->exec[i].value);
	pthread_mutex_destroy(&k->lock);
	free(k->objects);
	free(k->args);
	free(k->name);
	free(k);
}

static void put_kernel(struct kernel *k)
{
	struct program *gone = NULL;
	bool last;

	pthread_rwlock_wrlock(&all.lock);
	last = !--k->nr_users;
	if (last && k->program) {
		k->program->nr_kernels--;
		gone = put_program(k->program);
	}
	pthread_rwlock_unlock(&all.lock);
	if (last)
		free_kernel(k);
	free_program(gone);
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

/* NULL: no memory, and then it is launched as it is. */
static struct kernel *make_record(cl_kernel kernel)
{
	struct kernel *k = calloc(1, sizeof(*k));

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

static void add_record(struct kernel *k)
{
	cl_program program = NULL;

	next()->clGetKernelInfo(k->cl, CL_KERNEL_PROGRAM, sizeof(cl_program), &program, NULL);
	pthread_rwlock_wrlock(&all.lock);
	k->program = find_program(program);
	if (k->program)
		k->program->nr_kernels++;
	HASH_ADD_PTR(all.kernels, cl, k);
	pthread_rwlock_unlock(&all.lock);
}

static void add_kernel(cl_kernel kernel)
{
	struct kernel *k = make_record(kernel);

	if (k)
		add_record(k);
}

/*
 * Arguments
 */

static bool keep_value(struct argument *a, size_t size, const void *value)
{
	void *copy = value ? malloc(size ? size : 1) : NULL;

	if (value && !copy)
		return false;
	if (value && size)
		memcpy(copy, value, size);
	if (!a->is_pointer)
		free(a->value);
	*a = (struct argument){ .size = size, .value = copy };
	return true;
}

/* What is set again as it is need not be set in copies. */
static bool has_value(const struct argument *a, size_t size, const void *value)
{
	return a->version && !a->is_pointer && a->size == size && !a->value == !value &&
	       (!value || !memcmp(a->value, value, size));
}

/* Where there is no memory, nobody knows the argument: the kernel is launched as it is. */
static void set_value(struct kernel *k, struct argument *a, size_t size, const void *value)
{
	if (has_value(a, size, value))
		return;
	if (keep_value(a, size, value))
		a->version = ++k->version;
	else
		a->version = 0;
}

static void set_pointer(struct kernel *k, struct argument *a, const void *pointer)
{
	if (!a->is_pointer)
		free(a->value);
	*a = (struct argument){ .value = (void *)pointer,
				.is_pointer = true,
				.version = ++k->version };
}

/* Of a clone: all that @from has. */
static void copy_arguments(struct kernel *to, const struct kernel *from)
{
	for (cl_uint i = 0; i < from->nr_args && i < to->nr_args; i++) {
		const struct argument *a = &from->args[i];

		if (a->version && a->is_pointer)
			set_pointer(to, &to->args[i], a->value);
		else if (a->version)
			set_value(to, &to->args[i], a->size, a->value);
	}
	for (size_t i = 0; i < EXEC_INFOS; i++) {
		if (from->exec[i].version)
			set_value(to, &to->exec[i], from->exec[i].size, from->exec[i].value);
	}
}

/*
 * Copies
 */

/* What the compiler says of the argument; false: it does not. */
static bool read_object(cl_kernel kernel, cl_uint i, enum object *object)
{
	cl_kernel_arg_address_qualifier where;
	char type[64] = "";

	if (next()->clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(where),
				       &where, NULL) ||
	    next()->clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_NAME, 0, NULL, NULL))
		return false;
	/* A name that is longer is none of a sampler. */
	if (next()->clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_NAME, sizeof(type), type,
				       NULL))
		type[0] = '\0';
	*object = NO_OBJECT;
	if (!strcmp(type, "sampler_t"))
		*object = SAMPLER;
	else if (where == CL_KERNEL_ARG_ADDRESS_GLOBAL || where == CL_KERNEL_ARG_ADDRESS_CONSTANT)
		*object = MEMORY;
	return true;
}

static bool read_objects(struct kernel *k, cl_kernel guarded)
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

/* Under the kernel's lock; NULL: k->why. */
static struct copy *make_copy(struct kernel *k, cl_device_id device)
{
	struct copy *c = calloc(1, sizeof(*c));
	bool drops = false;
	cl_kernel guarded = c ? make_kernel(k->program, k->name, device, &k->why, &drops) : NULL;

	if (guarded) {
		*c = (struct copy){ .is = { guarded, k->nr_args, drops }, .kernel = k };
		gp__list_init(&c->link);
		c->versions = calloc(k->nr_args + EXEC_INFOS, sizeof(*c->versions));
		c->kept = calloc(k->nr_args + 1u, sizeof(*c->kept));
		if (c->versions && c->kept && read_objects(k, guarded))
			return c;
		k->why = GP__WIRE_FAILS;
		free_copy(c);
		return NULL;
	}
	free(c);
	return NULL;
}

static struct copy *take_copy(struct kernel *k, cl_device_id device, enum gp__wire_why *why)
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

static cl_int set_argument(struct copy *c, cl_uint i, const struct argument *a)
{
	if (a->is_pointer)
		return next()->clSetKernelArgSVMPointer(c->is.cl, i, a->value);
	return next()->clSetKernelArg(c->is.cl, i, a->size, a->value);
}

/* Only what has changed since it was out last. False: something was never set, or is refused. */
static bool set_arguments(struct copy *c)
{
	const struct kernel *k = c->kernel;
	u64 *version = c->versions;

	for (cl_uint i = 0; i < k->nr_args; i++, version++) {
		if (!k->args[i].version)
			return false;
		if (*version != k->args[i].version && set_argument(c, i, &k->args[i]))
			return false;
		*version = k->args[i].version;
	}
	for (size_t i = 0; i < EXEC_INFOS; i++, version++) {
		if (*version != k->exec[i].version &&
		    next()->clSetKernelExecInfo(c->is.cl, exec_names[i], k->exec[i].size,
						k->exec[i].value))
			return false;
		*version = k->exec[i].version;
	}
	return true;
}

static bool keep_object(struct copy *c, cl_uint i)
{
	const struct argument *a = &c->kernel->args[i];
	void *object = NULL;
	cl_int err;

	if (a->is_pointer || !a->value || a->size != sizeof(object))
		return true;
	memcpy(&object, a->value, sizeof(object));
	if (!object)
		return true;
	err = c->kernel->objects[i] == MEMORY ? next()->clRetainMemObject(object)
					      : next()->clRetainSampler(object);
	if (!err)
		c->kept[i] = object;
	return !err;
}

static bool keep_objects(struct copy *c)
{
	for (cl_uint i = 0; i < c->kernel->nr_args; i++) {
		if (c->kernel->objects[i] != NO_OBJECT && !keep_object(c, i))
			return false;
	}
	return true;
}

static void release_objects(struct copy *c)
{
	for (cl_uint i = 0; i < c->kernel->nr_args; i++) {
		if (!c->kept[i])
			continue;
		if (c->kernel->objects[i] == MEMORY)
			next()->clReleaseMemObject(c->kept[i]);
		else
			next()->clReleaseSampler(c->kept[i]);
		c->kept[i] = NULL;
	}
}

struct gp__cl_copy *gp__cl_copy_take(cl_kernel kernel, cl_device_id device, enum gp__wire_why *why)
{
	struct kernel *k = find_kernel(kernel);
	struct copy *c;

	*why = k && !k->program ? GP__WIRE_NO_SOURCE : GP__WIRE_GUARDED;
	if (!k || !k->program)
		return NULL;
	c = take_copy(k, device, why);
	if (!c)
		return NULL;
	pthread_rwlock_wrlock(&all.lock);
	k->nr_users++;
	pthread_rwlock_unlock(&all.lock);
	if (set_arguments(c) && keep_objects(c))
		return &c->is;
	gp__cl_copy_give(&c->is);
	return NULL;
}

void gp__cl_copy_give(struct gp__cl_copy *copy)
{
	struct copy *c = container_of(copy, struct copy, is);
	struct kernel *k = c->kernel;

	release_objects(c);
	pthread_mutex_lock(&k->lock);
	gp__list_push(&k->copies, &c->link);
	pthread_mutex_unlock(&k->lock);
	put_kernel(k);
}

/*
 * The program's calls
 */

static cl_program CL_API_CALL create_program(cl_context context, cl_uint nr, const char **texts,
					     const size_t *sizes, cl_int *error)
{
	cl_program program = next()->clCreateProgramWithSource(context, nr, texts, sizes, error);

	if (program && gp__cl_is_joined())
		add_program(program);
	return program;
}

static cl_int CL_API_CALL retain_program(cl_program program)
{
	cl_int result = next()->clRetainProgram(program);
	struct program *p;

	if (result != CL_SUCCESS || !gp__cl_is_joined())
		return result;
	pthread_rwlock_wrlock(&all.lock);
	p = find_program(program);
	if (p)
		p->references++;
	pthread_rwlock_unlock(&all.lock);
	return result;
}

/* Before: afterwards another one may have its address. */
static cl_int CL_API_CALL release_program(cl_program program)
{
	struct program *p = NULL, *gone = NULL;

	if (gp__cl_is_joined()) {
		pthread_rwlock_wrlock(&all.lock);
		p = find_program(program);
		if (p && p->references) {
			p->references--;
			gone = put_program(p);
		}
		pthread_rwlock_unlock(&all.lock);
	}
	free_program(gone);
	return next()->clReleaseProgram(program);
}

/* What it was built into before is not what it is now. */
static cl_int CL_API_CALL build_program(cl_program program, cl_uint nr, const cl_device_id *devices,
					const char *options,
					void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
	struct program *p = NULL;

	if (gp__cl_is_joined()) {
		pthread_rwlock_rdlock(&all.lock);
		p = find_program(program);
		pthread_rwlock_unlock(&all.lock);
	}
	if (p) {
		pthread_mutex_lock(&p->lock);
		drop_guarded(p);
		pthread_mutex_unlock(&p->lock);
	}
	return next()->clBuildProgram(program, nr, devices, options, notify, data);
}

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
	struct kernel *from = clone ? find_kernel(kernel) : NULL;
	struct kernel *k = from ? make_record(clone) : NULL;

	if (k) {
		copy_arguments(k, from);
		add_record(k);
	}
	return clone;
}

static cl_int CL_API_CALL retain_kernel(cl_kernel kernel)
{
	cl_int result = next()->clRetainKernel(kernel);
	struct kernel *k = result == CL_SUCCESS ? find_kernel(kernel) : NULL;

	if (k) {
		pthread_rwlock_wrlock(&all.lock);
		k->references++;
		pthread_rwlock_unlock(&all.lock);
	}
	return result;
}

static cl_int CL_API_CALL release_kernel(cl_kernel kernel)
{
	struct kernel *k = find_kernel(kernel);
	bool last = false;

	if (k) {
		pthread_rwlock_wrlock(&all.lock);
		last = !--k->references;
		if (last)
			HASH_DEL(all.kernels, k);
		pthread_rwlock_unlock(&all.lock);
	}
	if (last)
		put_kernel(k);
	return next()->clReleaseKernel(kernel);
}

static cl_int CL_API_CALL set_kernel_arg(cl_kernel kernel, cl_uint i, size_t size,
					 const void *value)
{
	cl_int result = next()->clSetKernelArg(kernel, i, size, value);
	struct kernel *k = result == CL_SUCCESS ? find_kernel(kernel) : NULL;

	if (k && i < k->nr_args)
		set_value(k, &k->args[i], size, value);
	return result;
}

static cl_int CL_API_CALL set_kernel_pointer(cl_kernel kernel, cl_uint i, const void *pointer)
{
	cl_int result = next()->clSetKernelArgSVMPointer(kernel, i, pointer);
	struct kernel *k = result == CL_SUCCESS ? find_kernel(kernel) : NULL;

	if (k && i < k->nr_args)
		set_pointer(k, &k->args[i], pointer);
	return result;
}

static cl_int CL_API_CALL set_exec_info(cl_kernel kernel, cl_kernel_exec_info name, size_t size,
					const void *value)
{
	cl_int result = next()->clSetKernelExecInfo(kernel, name, size, value);
	struct kernel *k = result == CL_SUCCESS ? find_kernel(kernel) : NULL;

	for (size_t i = 0; k && i < EXEC_INFOS; i++) {
		if (exec_names[i] == name)
			set_value(k, &k->exec[i], size, value);
	}
	return result;
}

#define REPLACE(name, ours) \
	if (table->name)    \
	table->name = ours

void gp__cl_replace_kernels(cl_icd_dispatch *table)
{
	REPLACE(clCreateProgramWithSource, create_program);
	REPLACE(clRetainProgram, retain_program);
	REPLACE(clReleaseProgram, release_program);
	REPLACE(clBuildProgram, build_program);
	REPLACE(clCreateKernel, create_kernel);
	REPLACE(clCreateKernelsInProgram, create_kernels);
	REPLACE(clCloneKernel, clone_kernel);
	REPLACE(clRetainKernel, retain_kernel);
	REPLACE(clReleaseKernel, release_kernel);
	REPLACE(clSetKernelArg, set_kernel_arg);
	REPLACE(clSetKernelArgSVMPointer, set_kernel_pointer);
	REPLACE(clSetKernelExecInfo, set_exec_info);
}
