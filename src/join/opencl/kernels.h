/* SPDX-License-Identifier: MIT */
/*
 * The program's kernels and the arguments that it has set, from which guarded copies are made
 * (copies.h). The kernels that the program sees are the driver's own.
 *
 * Locking: a kernel's lock protects its copies. Arguments have no lock: OpenCL allows only one
 * thread at a time to set those of a kernel, and not while the kernel is launched.
 */
#ifndef GP__JOIN_OPENCL_KERNELS_H
#define GP__JOIN_OPENCL_KERNELS_H

#include <pthread.h>

#include "join/opencl/cl.h"

#include <uthash.h>

#include "core/list.h"
#include "join/opencl/programs.h"

struct gp__cl_argument {
	size_t size;
	void *value; /* NULL: only a size is set */
	u64 version; /* 0: never set, or not known for lack of memory */
	bool is_pointer; /* value points to shared virtual memory */
};

/* The objects that a copy retains while it is launched. */
enum gp__cl_object { GP__CL_NO_OBJECT, GP__CL_MEMORY, GP__CL_SAMPLER };

/* The settings of clSetKernelExecInfo(): shared memory that is reached through other memory. */
#define GP__CL_EXEC_INFOS 2
extern const cl_kernel_exec_info gp__cl_exec_infos[GP__CL_EXEC_INFOS];

struct gp__cl_kernel {
	UT_hash_handle hh; /* by cl, while the program has it */
	cl_kernel cl;
	struct gp__cl_program *program; /* NULL: the kernel has no source */
	char *name;
	u32 references; /* of the program */
	u32 nr_users; /* copies in use, and one while the program has it */
	cl_uint nr_args;
	struct gp__cl_argument *args, exec[GP__CL_EXEC_INFOS];
	u64 version; /* of the argument that was set last */
	pthread_mutex_t lock; /* of all that follows */
	enum gp__wire_why why; /* there are no copies */
	enum gp__cl_object *objects; /* by argument */
	struct gp__link copies; /* that no launch uses */
};

/* NULL: the kernel is not known, or the program is not joined. */
struct gp__cl_kernel *gp__cl_kernel_find(cl_kernel kernel);
/* For a copy that is in use. */
void gp__cl_kernel_get(struct gp__cl_kernel *k);
void gp__cl_kernel_put(struct gp__cl_kernel *k);

/* Replaces the functions of kernels in the loader's table. */
void gp__cl_replace_kernels(cl_icd_dispatch *table);

#endif
