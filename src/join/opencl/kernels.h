/* SPDX-License-Identifier: MIT */
/*
 * The program's kernels, and guarded copies of them (source.h) to launch in their place.
 *
 * What the program sees of its programs and kernels is the driver's own. Beside each program that
 * has a source there is another one with guards, made when it is first needed, and each launch has
 * a kernel of that to itself, with the arguments as they were then: these must stay until all of it
 * has run, while the program may set others and let go of the memory.
 */
#ifndef GP__JOIN_OPENCL_KERNELS_H
#define GP__JOIN_OPENCL_KERNELS_H

#include "join/opencl/cl.h"

#include "wire/wire.h"

/* A guarded kernel with arguments, for one launch. Its two own ones come behind @nr_args. */
struct gp__cl_copy {
	cl_kernel cl;
	cl_uint nr_args;
	bool drops; /* what a work-group has begun */
};

/* NULL: it is to be launched as it is, by *@why, or GP__WIRE_GUARDED: let the driver say. */
struct gp__cl_copy *gp__cl_copy_take(cl_kernel kernel, cl_device_id device, enum gp__wire_why *why);
void gp__cl_copy_give(struct gp__cl_copy *copy);

/* Puts ours before the functions of programs and kernels. */
void gp__cl_replace_kernels(cl_icd_dispatch *table);

#endif
