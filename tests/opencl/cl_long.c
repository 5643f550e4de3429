/* SPDX-License-Identifier: MIT */
/*
 * Launches a kernel with long work-groups, which may be ended anywhere and run again: it never
 * writes memory that it reads. Prints a line when a launch has ended with the right result.
 *
 * Usage: cl_long LAUNCHES TURNS [GROUPS]; each item runs a loop of TURNS iterations
 */
#include "cl_lab.h"

#include <stdio.h>
#include <stdlib.h>

enum { GROUP = 8, GROUPS_MAX = 64 };

static const char source[] = "__kernel void grind(__global uint *out, uint seed, uint turns)\n"
			     "{\n"
			     "	uint x = seed + (uint)get_global_id(0);\n"
			     "	for (uint i = 0; i < turns; i++) {\n"
			     "		x = x * 1664525u + (x >> 7) + 1013904223u;\n"
			     "		out[get_global_id(0)] = i;\n"
			     "	}\n"
			     "	out[get_global_id(0)] = x;\n"
			     "}\n";

static uint32_t grind(uint32_t x, uint32_t turns)
{
	for (uint32_t i = 0; i < turns; i++)
		x = x * 1664525u + (x >> 7) + 1013904223u;
	return x;
}

static void check_item(const uint32_t *out, size_t i, uint32_t seed, uint32_t turns)
{
	uint32_t expected = grind(seed + (uint32_t)i, turns);

	lab_check(out[i] == expected, "launch %u: item %zu has %u, not %u", seed, i, out[i],
		  expected);
}

static void launch(const struct lab *lab, cl_command_queue queue, cl_mem out, uint32_t seed,
		   uint32_t turns, size_t groups)
{
	cl_kernel kernel = lab_kernel(lab, "grind");
	static uint32_t result[GROUP * GROUPS_MAX];
	size_t items = GROUP * groups, group = GROUP;

	lab_must(clSetKernelArg(kernel, 0, sizeof(out), &out));
	lab_must(clSetKernelArg(kernel, 1, sizeof(seed), &seed));
	lab_must(clSetKernelArg(kernel, 2, sizeof(turns), &turns));
	lab_must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL));
	lab_must(clReleaseKernel(kernel));
	lab_must(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, items * 4, result, 0, NULL, NULL));
	/* Checks one item of each group, since the host is slow. */
	for (size_t g = 0; g < groups; g++)
		check_item(result, g * GROUP + seed % GROUP, seed, turns);
	printf("launch %u\n", seed);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	uint32_t launches, turns;
	cl_command_queue queue;
	size_t groups = 1;
	struct lab lab;
	cl_int err;
	cl_mem out;

	lab_check(argc > 2, "usage: cl_long LAUNCHES TURNS [GROUPS]");
	launches = (uint32_t)strtoul(argv[1], NULL, 10);
	turns = (uint32_t)strtoul(argv[2], NULL, 10);
	if (argc > 3)
		groups = strtoul(argv[3], NULL, 10);
	lab_check(groups > 0 && groups <= GROUPS_MAX, "1 to %d groups", GROUPS_MAX);
	lab_open(&lab, source);
	queue = lab_queue(&lab, 0);
	out = clCreateBuffer(lab.context, CL_MEM_READ_WRITE, GROUP * GROUPS_MAX * 4, NULL, &err);
	lab_must(err);
	for (uint32_t i = 0; i < launches; i++)
		launch(&lab, queue, out, i, turns, groups);
	lab_must(clReleaseMemObject(out));
	lab_must(clReleaseCommandQueue(queue));
	lab_close(&lab);
	return 0;
}
