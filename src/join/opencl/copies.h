/* SPDX-License-Identifier: MIT */
/*
 * Copies of the program's kernels with a guard in them (source.h), to launch in their place.
 *
 * Each launch has a copy to itself, with the arguments of that moment. The copy retains the memory
 * and samplers among them until the whole launch has run: the program may set other arguments and
 * release the memory meanwhile. Copies are used again, and only arguments that changed are set.
 */
#ifndef GP__JOIN_OPENCL_COPIES_H
#define GP__JOIN_OPENCL_COPIES_H

#include "join/opencl/cl.h"

#include "core/list.h"
#include "wire/wire.h"

/* A guarded kernel with its arguments. The guard's two own arguments follow the first @nr_args. */
struct gp__cl_copy {
	cl_kernel cl;
	cl_uint nr_args;
	bool drops; /* running work-groups end early when the queue is held */
};

/* NULL: launch the program's own kernel, because of *@why; if that is GP__WIRE_GUARDED, the driver
 * will refuse the launch itself. */
struct gp__cl_copy *gp__cl_copy_take(cl_kernel kernel, cl_device_id device, enum gp__wire_why *why);
void gp__cl_copy_give(struct gp__cl_copy *copy);
/* Frees the unused copies of a kernel. */
void gp__cl_copies_free(struct gp__link *copies);

#endif
