/* SPDX-License-Identifier: MIT */
/*
 * The programs of `gpreempt bench opencl`, plain OpenCL:
 *
 *	cl_pair FILE serve REQUESTS PERIOD_US: short requests, one in each period
 *	cl_pair FILE train: long kernels, with several always enqueued, until it is told to end
 *	cl_pair FILE work KERNELS: many small kernels, as fast as possible
 */
#include "cl_lab.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "opencl_pair.h"

enum { AHEAD = 8, KERNELS = 4, BATCH = 16, GROUP = 16 };

/* Iterations and items of the kernels: some milliseconds on two CPUs, a half and a quarter. */
static const struct shape {
	cl_uint turns;
	size_t items;
} trains = { 8000, 64 * GROUP }, serves = { 2000, 16 * GROUP }, works = { 500, 16 * GROUP };

/*
 * The kernels have a barrier, because PoCL compiles kernels with one into code that is several
 * times faster. A guard has one, so without these the comparison would measure the compiler.
 */
static const char source[] = "__kernel void churn(__global uint *cells, uint turns)\n"
			     "{\n"
			     "	barrier(CLK_LOCAL_MEM_FENCE);\n"
			     "	uint x = cells[get_global_id(0)];\n"
			     "	for (uint i = 0; i < turns; i++)\n"
			     "		x = x * 1664525u + x / (i + 3u);\n"
			     "	cells[get_global_id(0)] = x;\n"
			     "}\n"
			     "__kernel void train(__global uint *cells, uint turns,\n"
			     "		    __global uint *nr_groups)\n"
			     "{\n"
			     "	barrier(CLK_LOCAL_MEM_FENCE);\n"
			     "	uint x = cells[get_global_id(0)];\n"
			     "	for (uint i = 0; i < turns; i++)\n"
			     "		x = x * 1664525u + x / (i + 3u);\n"
			     "	cells[get_global_id(0)] = x;\n"
			     "	if (get_local_id(0) == get_local_size(0) - 1)\n"
			     "		atomic_inc(nr_groups);\n"
			     "}\n";

struct program {
	struct lab lab;
	struct pair *pair;
	cl_command_queue queue;
	cl_kernel kernel;
	cl_mem cells, nr_groups;
	size_t items;
};

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static uint64_t clock_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

static void sleep_until(uint64_t at)
{
	const struct timespec t = { (time_t)(at / 1000000000ull), (long)(at % 1000000000ull) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

static cl_event launch(struct program *p, bool wants_event)
{
	const size_t group = GROUP;
	cl_event event = NULL;

	lab_must(clEnqueueNDRangeKernel(p->queue, p->kernel, 1, NULL, &p->items, &group, 0, NULL,
					wants_event ? &event : NULL));
	return event;
}

static void count_groups(struct program *p)
{
	cl_int err;

	p->nr_groups = clCreateBuffer(p->lab.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
				      PAIR_PAGE, (void *)&p->pair->nr_groups, &err);
	lab_must(err);
	lab_must(clSetKernelArg(p->kernel, 2, sizeof(p->nr_groups), &p->nr_groups));
}

static void prepare(struct program *p, const struct shape *shape, const char *kernel)
{
	cl_int err;

	lab_open(&p->lab, source);
	p->queue = lab_queue(&p->lab, 0);
	p->kernel = lab_kernel(&p->lab, kernel);
	p->items = shape->items;
	p->cells = clCreateBuffer(p->lab.context, CL_MEM_READ_WRITE, shape->items * sizeof(cl_uint),
				  NULL, &err);
	lab_must(err);
	lab_must(clSetKernelArg(p->kernel, 0, sizeof(p->cells), &p->cells));
	lab_must(clSetKernelArg(p->kernel, 1, sizeof(shape->turns), &shape->turns));
	if (shape == &trains)
		count_groups(p);
	/* The first launch compiles the kernel, and is not measured. */
	launch(p, false);
	lab_must(clFinish(p->queue));
	atomic_store(&p->pair->ready, 1);
	while (!atomic_load(&p->pair->go))
		usleep(500);
}

static void serve(struct program *p, unsigned long requests, uint64_t period_ns)
{
	uint64_t start = clock_ns();
	cl_uint answer;

	for (unsigned long i = 0; i < requests && i < PAIR_REQUESTS_MAX; i++) {
		uint64_t at = start + i * period_ns, began;

		sleep_until(at);
		began = clock_ns();
		for (int k = 0; k < KERNELS; k++)
			launch(p, false);
		lab_must(clEnqueueReadBuffer(p->queue, p->cells, CL_TRUE, 0, sizeof(answer),
					     &answer, 0, NULL, NULL));
		p->pair->latency_ns[i] = clock_ns() - began;
	}
}

static void CL_CALLBACK note_end(cl_event event, cl_int status, void *data)
{
	struct pair *pair = data;

	(void)event, (void)status;
	atomic_store(&pair->ended_ns, clock_ns());
	atomic_fetch_add(&pair->nr_ended, 1);
}

static void train(struct program *p)
{
	cl_event ahead[AHEAD] = { NULL };

	for (unsigned long i = 0; !atomic_load(&p->pair->over); i++) {
		cl_event *e = &ahead[i % AHEAD];

		if (*e) {
			lab_must(clWaitForEvents(1, e));
			lab_must(clReleaseEvent(*e));
		}
		*e = launch(p, true);
		lab_must(clSetEventCallback(*e, CL_COMPLETE, note_end, p->pair));
		lab_must(clFlush(p->queue));
	}
	lab_must(clFinish(p->queue));
}

static void work(struct program *p, unsigned long kernels)
{
	uint64_t began = clock_ns(), began_cpu = read_clock(CLOCK_PROCESS_CPUTIME_ID);

	for (unsigned long i = 0; i < kernels; i++) {
		launch(p, false);
		if (i % BATCH == BATCH - 1)
			lab_must(clFinish(p->queue));
	}
	lab_must(clFinish(p->queue));
	p->pair->work_ns = clock_ns() - began;
	p->pair->cpu_ns = read_clock(CLOCK_PROCESS_CPUTIME_ID) - began_cpu;
}

static struct pair *map(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *memory =
		fd < 0 ? MAP_FAILED
		       : mmap(NULL, sizeof(struct pair), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	lab_check(memory != MAP_FAILED, "%s cannot be mapped", path);
	return memory;
}

int main(int argc, char **argv)
{
	struct program p;

	lab_check(argc > 2, "usage: cl_pair FILE serve|train|work [ARGUMENT...]");
	p.pair = map(argv[1]);
	if (!strcmp(argv[2], "serve") && argc == 5) {
		prepare(&p, &serves, "churn");
		serve(&p, strtoul(argv[3], NULL, 10), strtoull(argv[4], NULL, 10) * 1000);
	} else if (!strcmp(argv[2], "train") && argc == 3) {
		prepare(&p, &trains, "train");
		train(&p);
	} else if (!strcmp(argv[2], "work") && argc == 4) {
		prepare(&p, &works, "churn");
		work(&p, strtoul(argv[3], NULL, 10));
	} else {
		lab_check(false, "usage: cl_pair FILE serve|train|work [ARGUMENT...]");
	}
	atomic_store(&p.pair->done, 1);
	return 0;
}
