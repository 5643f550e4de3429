/* SPDX-License-Identifier: MIT */
/*
 * Launches kernels of many work-groups that count how often each has run, in memory that only they
 * write: in one, two and three dimensions, with offsets, with remainders where the device supports
 * them, with barriers and local memory, with sizes chosen by the driver, in in-order and
 * out-of-order queues. It changes arguments and releases memory as soon as a kernel is enqueued.
 *
 * Usage: cl_groups [LAUNCHES [SEED [TURNS]]]; each item runs a loop of TURNS iterations
 */
#include "cl_lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUES = 2, BATCH = 8, ITEMS_MAX = 4096 };

static const char source[] =
	"#define COUNT(i) items[i] += with\n"
	"uint churn(uint x, uint turns)\n"
	"{\n"
	"	for (uint i = 0; i < turns; i++)\n"
	"		x = x * 1664525u + (x >> 7) + 1013904223u;\n"
	"	return x;\n"
	"}\n"
	"size_t place(void)\n"
	"{\n"
	"	return get_global_id(0) - get_global_offset(0) + get_global_size(0) *\n"
	"		(get_global_id(1) - get_global_offset(1) + get_global_size(1) *\n"
	"		(get_global_id(2) - get_global_offset(2)));\n"
	"}\n"
	"/* No item waits in it. */\n"
	"__kernel void count(__global uint *items, uint with, uint turns)\n"
	"{\n"
	"	size_t i = place();\n"
	"	if (churn(items[i], turns) == 1u)\n"
	"		items[i] = 0;\n"
	"	COUNT(i);\n"
	"}\n"
	"__kernel void count_together(__global uint *items, uint with, uint turns,\n"
	"			     __local uint *said)\n"
	"{\n"
	"	__local uint first;\n"
	"	size_t l = get_local_linear_id();\n"
	"	if (l == 0)\n"
	"		first = with;\n"
	"	said[l] = churn(items[place()], turns) == 1u;\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	COUNT(place()) - with + first + said[0];\n"
	"}\n";

struct shape {
	cl_uint dim;
	size_t offset[3], global[3], local[3];
	bool has_offset, has_local;
	size_t nr_items;
};

struct groups {
	struct lab lab;
	cl_command_queue queue[QUEUES];
	cl_kernel count, together;
	cl_bool can_leave; /* the device allows smaller work-groups at the end */
	cl_uint turns;
	uint64_t random;
	unsigned long nr_launches;
};

static uint32_t draw(struct groups *g, uint32_t below)
{
	return lab_random(&g->random) % below;
}

static struct shape draw_shape(struct groups *g)
{
	static const size_t most[3][3] = { { 256 }, { 16, 16 }, { 8, 8, 4 } };
	struct shape s = { .dim = 1 + draw(g, 3), .nr_items = 1 };
	bool leaves = g->can_leave && draw(g, 3) == 0;

	s.has_offset = draw(g, 3) == 0;
	s.has_local = leaves || draw(g, 3) != 0;
	for (cl_uint d = 0; d < s.dim; d++) {
		s.offset[d] = draw(g, 100);
		s.local[d] = 1 + draw(g, s.dim == 1 ? 32 : 4);
		s.global[d] = s.local[d] * (1 + draw(g, (uint32_t)(most[s.dim - 1][d] / 4)));
		if (leaves)
			s.global[d] += draw(g, (uint32_t)s.local[d]);
		s.nr_items *= s.global[d];
	}
	lab_check(s.nr_items <= ITEMS_MAX, "a shape of %zu items", s.nr_items);
	return s;
}

static size_t local_items(const struct shape *s)
{
	size_t n = 1;

	for (cl_uint d = 0; d < s->dim; d++)
		n *= s->local[d];
	return n;
}

/* The event is a kernel's, and its times are in order. */
static void check_event(cl_event event)
{
	cl_ulong began, ended;
	cl_command_type type;

	lab_must(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL));
	lab_check(type == CL_COMMAND_NDRANGE_KERNEL, "an event of type %x", type);
	lab_must(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(began), &began,
					 NULL));
	lab_must(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(ended), &ended,
					 NULL));
	lab_check(began <= ended, "it ended %lu ns before it began",
		  (unsigned long)(began - ended));
}

static cl_event launch(struct groups *g, cl_kernel kernel, const struct shape *s, cl_uint queue,
		       cl_event after)
{
	cl_event event;

	lab_must(clEnqueueNDRangeKernel(
		g->queue[queue], kernel, s->dim, s->has_offset ? s->offset : NULL, s->global,
		s->has_local ? s->local : NULL, after != NULL, after ? &after : NULL, &event));
	g->nr_launches++;
	return event;
}

/* Launches kernels one after another over the same items, and checks the result. */
static uint32_t launch_batch(struct groups *g, const struct shape *s, cl_mem items)
{
	bool together = s->has_local && draw(g, 2);
	cl_kernel kernel = together ? g->together : g->count, clone = NULL;
	cl_event before = NULL, event;
	uint32_t sum = 0;
	cl_int err;

	lab_must(clSetKernelArg(kernel, 0, sizeof(items), &items));
	lab_must(clSetKernelArg(kernel, 2, sizeof(g->turns), &g->turns));
	if (together)
		lab_must(clSetKernelArg(kernel, 3, local_items(s) * 4, NULL));
	for (int i = 0; i < BATCH; i++) {
		cl_uint with = 1 + draw(g, 1000);

		lab_must(clSetKernelArg(kernel, 1, sizeof(with), &with));
		/* PoCL 3.1 reads past its memory in clones of kernels with local variables. */
		if (i == BATCH / 2 && !together) {
			clone = clCloneKernel(kernel, &err);
			lab_must(err);
		}
		event = launch(g, clone ? clone : kernel, s, draw(g, QUEUES), before);
		sum += with;
		if (clone) {
			lab_must(clReleaseKernel(clone));
			clone = NULL;
		}
		if (before)
			lab_must(clReleaseEvent(before));
		before = event;
	}
	lab_must(clFlush(g->queue[0]));
	lab_must(clFlush(g->queue[1]));
	lab_must(clWaitForEvents(1, &before));
	check_event(before);
	lab_must(clReleaseEvent(before));
	return sum;
}

static void check_batch(struct groups *g, unsigned long seed)
{
	static uint32_t items[ITEMS_MAX];
	struct shape s = draw_shape(g);
	uint32_t sum;
	cl_mem buffer;
	cl_int err;

	memset(items, 0, sizeof(items));
	buffer = clCreateBuffer(g->lab.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
				sizeof(items), items, &err);
	lab_must(err);
	sum = launch_batch(g, &s, buffer);
	lab_must(clEnqueueReadBuffer(g->queue[0], buffer, CL_TRUE, 0, s.nr_items * 4, items, 0,
				     NULL, NULL));
	lab_must(clReleaseMemObject(buffer));
	for (size_t i = 0; i < s.nr_items; i++)
		lab_check(items[i] == sum,
			  "seed %lu, launch %lu: of %zu items in %u dimensions, item %zu has %u, "
			  "not %u",
			  seed, g->nr_launches, s.nr_items, s.dim, i, items[i], sum);
}

/* Memory that is released as soon as kernels are enqueued stays until they have run. */
static void let_go(struct groups *g)
{
	struct shape s = { .dim = 1, .global = { 512 }, .local = { 8 }, .has_local = true };
	cl_event event = NULL;
	cl_mem buffer;
	cl_uint with = 1;
	cl_kernel kernel = lab_kernel(&g->lab, "count");
	cl_int err;

	buffer = clCreateBuffer(g->lab.context, CL_MEM_READ_WRITE, 512 * 4, NULL, &err);
	lab_must(err);
	lab_must(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
	lab_must(clSetKernelArg(kernel, 1, sizeof(with), &with));
	lab_must(clSetKernelArg(kernel, 2, sizeof(g->turns), &g->turns));
	event = launch(g, kernel, &s, 0, NULL);
	lab_must(clReleaseKernel(kernel));
	lab_must(clReleaseMemObject(buffer));
	lab_must(clReleaseEvent(event));
}

/* A kernel that runs until here, in memory that only it writes. */
static void step(struct groups *g, cl_kernel kernel, cl_mem items)
{
	const size_t n = 64, group = 4;

	lab_must(clSetKernelArg(kernel, 0, sizeof(items), &items));
	lab_must(clEnqueueNDRangeKernel(g->queue[0], kernel, 1, NULL, &n, &group, 0, NULL, NULL));
	lab_must(clFinish(g->queue[0]));
	lab_must(clReleaseKernel(kernel));
}

/* A program that is built again has other kernels. */
static void check_rebuilt(struct groups *g)
{
	static const char text[] = "__kernel void add_step(__global uint *items)\n"
				   "{\n"
				   "	items[get_global_id(0)] += STEP;\n"
				   "}\n";
	struct lab lab = g->lab;
	const char *texts = text;
	uint32_t items[64] = { 0 };
	cl_kernel kernel;
	cl_mem buffer;
	cl_int err;

	buffer = clCreateBuffer(lab.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
				sizeof(items), items, &err);
	lab_must(err);
	lab.program = clCreateProgramWithSource(lab.context, 1, &texts, NULL, &err);
	lab_must(err);
	lab_must(clBuildProgram(lab.program, 1, &lab.device, "-DSTEP=1", NULL, NULL));
	step(g, lab_kernel(&lab, "add_step"), buffer);
	lab_must(clBuildProgram(lab.program, 1, &lab.device, "-DSTEP=20", NULL, NULL));
	lab_must(clCreateKernelsInProgram(lab.program, 1, &kernel, NULL));
	lab_must(clReleaseProgram(lab.program));
	step(g, kernel, buffer);
	lab_must(clEnqueueReadBuffer(g->queue[0], buffer, CL_TRUE, 0, sizeof(items), items, 0, NULL,
				     NULL));
	lab_must(clReleaseMemObject(buffer));
	for (int i = 0; i < 64; i++)
		lab_check(items[i] == 21, "item %d of the program built twice is %u", i, items[i]);
}

/* The program sees the kernels that it created. */
static void check_kernel(const struct groups *g)
{
	char text[sizeof(source) + 1];
	cl_uint nr;

	lab_must(clGetKernelInfo(g->count, CL_KERNEL_NUM_ARGS, sizeof(nr), &nr, NULL));
	lab_check(nr == 3, "a kernel with %u arguments", nr);
	lab_must(clGetProgramInfo(g->lab.program, CL_PROGRAM_SOURCE, sizeof(text), text, NULL));
	lab_check(!strcmp(text, source), "the source is another");
}

int main(int argc, char **argv)
{
	unsigned long launches = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
	unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	static struct groups g;

	g.turns = argc > 3 ? (cl_uint)strtoul(argv[3], NULL, 10) : 1000;
	g.random = seed;
	lab_open_with(&g.lab, source, "-cl-std=CL3.0 -DUNUSED=1");
	clGetDeviceInfo(g.lab.device, CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT, sizeof(g.can_leave),
			&g.can_leave, NULL);
	g.count = lab_kernel(&g.lab, "count");
	g.together = lab_kernel(&g.lab, "count_together");
	for (cl_uint q = 0; q < QUEUES; q++)
		g.queue[q] =
			lab_queue(&g.lab, CL_QUEUE_PROFILING_ENABLE |
						  (q ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0));
	while (g.nr_launches < launches) {
		if (draw(&g, 4) == 0)
			let_go(&g);
		check_batch(&g, seed);
	}
	check_kernel(&g);
	check_rebuilt(&g);
	for (cl_uint q = 0; q < QUEUES; q++)
		lab_must(clReleaseCommandQueue(g.queue[q]));
	lab_must(clReleaseKernel(g.count));
	lab_must(clReleaseKernel(g.together));
	lab_close(&g.lab);
	printf("%lu launches, each work-group once\n", g.nr_launches);
	return 0;
}
