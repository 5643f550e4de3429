/* SPDX-License-Identifier: MIT */
/*
 * Computes step by step in one in-order queue, and prints a line after each step.
 *
 * Usage: cl_steps [STEPS [KERNELS [binary]]]; a step has KERNELS kernels; binary: not from source
 */
#include "cl_lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char source[] = "__kernel void churn(__global uint *cells)\n"
			     "{\n"
			     "	uint x = cells[get_global_id(0)];\n"
			     "	for (uint i = 0; i < 20000; i++)\n"
			     "		x = x * 1664525u + 1013904223u;\n"
			     "	cells[get_global_id(0)] = x;\n"
			     "}\n";

/* Creates the same program from its binary. */
static void become_binary(struct lab *lab)
{
	const unsigned char *binary;
	unsigned char *memory;
	cl_int err;
	size_t size;

	lab_must(
		clGetProgramInfo(lab->program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL));
	binary = memory = malloc(size);
	lab_check(memory, "no memory");
	lab_must(
		clGetProgramInfo(lab->program, CL_PROGRAM_BINARIES, sizeof(memory), &memory, NULL));
	lab_must(clReleaseProgram(lab->program));
	lab->program = clCreateProgramWithBinary(lab->context, 1, &lab->device, &size, &binary,
						 NULL, &err);
	lab_must(err);
	lab_must(clBuildProgram(lab->program, 1, &lab->device, "", NULL, NULL));
	free(memory);
}

int main(int argc, char **argv)
{
	unsigned long steps = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
	unsigned long kernels = argc > 2 ? strtoul(argv[2], NULL, 10) : 4;
	uint32_t cells[64] = { 1 };
	const size_t n = 64, group = 16;
	cl_command_queue queue;
	cl_kernel kernel;
	struct lab lab;
	cl_mem buffer;
	cl_int err;

	lab_open(&lab, source);
	if (argc > 3 && !strcmp(argv[3], "binary"))
		become_binary(&lab);
	queue = lab_queue(&lab, 0);
	kernel = lab_kernel(&lab, "churn");
	buffer = clCreateBuffer(lab.context, CL_MEM_COPY_HOST_PTR, sizeof(cells), cells, &err);
	lab_must(err);
	lab_must(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
	for (unsigned long i = 0; i < steps; i++) {
		for (unsigned long k = 0; k < kernels; k++)
			lab_must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &n, &group, 0, NULL,
							NULL));
		lab_must(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(cells), cells, 0,
					     NULL, NULL));
		printf("step %lu: %08x\n", i, cells[0]);
		fflush(stdout);
	}
	lab_must(clReleaseMemObject(buffer));
	lab_must(clReleaseKernel(kernel));
	lab_must(clReleaseCommandQueue(queue));
	lab_close(&lab);
	return 0;
}
