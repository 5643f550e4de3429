/* SPDX-License-Identifier: MIT */
/*
 * The OpenCL programs that a joined program creates from source, and their guarded counterparts
 * (source.h): another program with the same kernels and guards in them, built when the first launch
 * needs it. The program itself only ever sees its own.
 */
#ifndef GP__JOIN_OPENCL_PROGRAMS_H
#define GP__JOIN_OPENCL_PROGRAMS_H

#include "join/opencl/cl.h"

#include "wire/wire.h"

struct gp__cl_program;

/* The record of a program, with a reference for a kernel; NULL: the program has no source. */
struct gp__cl_program *gp__cl_program_get(cl_program program);
void gp__cl_program_put(struct gp__cl_program *p);

/* Creates a kernel of the guarded program, which it builds if needed. NULL: there is none, because
 * of *@why. */
cl_kernel gp__cl_program_kernel(struct gp__cl_program *p, const char *name, cl_device_id device,
				enum gp__wire_why *why, bool *drops);

/* Replaces the functions of programs in the loader's table. */
void gp__cl_replace_programs(cl_icd_dispatch *table);

#endif
