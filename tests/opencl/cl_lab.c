// SPDX-License-Identifier: MIT
#include "cl_lab.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define NONE 77

void lab_check(bool ok, const char *fmt, ...)
{
	va_list args;

	if (ok)
		return;
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

void lab_must_be(cl_int result, const char *call, int line)
{
	lab_check(result == CL_SUCCESS, "line %d: %s: %d", line, call, result);
}

void lab_open(struct lab *lab, const char *source)
{
	lab_open_with(lab, source, "");
}

void lab_open_with(struct lab *lab, const char *source, const char *options)
{
	cl_platform_id platform;
	cl_int err;

	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &lab->device, NULL)) {
		fputs("there is no OpenCL device\n", stderr);
		exit(NONE);
	}
	lab->context = clCreateContext(NULL, 1, &lab->device, NULL, NULL, &err);
	lab_must(err);
	lab->program = clCreateProgramWithSource(lab->context, 1, &source, NULL, &err);
	lab_must(err);
	lab_must(clBuildProgram(lab->program, 1, &lab->device, options, NULL, NULL));
}

void lab_close(struct lab *lab)
{
	lab_must(clReleaseProgram(lab->program));
	lab_must(clReleaseContext(lab->context));
}

cl_kernel lab_kernel(const struct lab *lab, const char *name)
{
	cl_int err;
	cl_kernel kernel = clCreateKernel(lab->program, name, &err);

	lab_must(err);
	return kernel;
}

cl_command_queue lab_queue(const struct lab *lab, cl_command_queue_properties properties)
{
	cl_int err;
	cl_command_queue queue = clCreateCommandQueue(lab->context, lab->device, properties, &err);

	lab_must(err);
	return queue;
}

uint32_t lab_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33);
}
