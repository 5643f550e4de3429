/* SPDX-License-Identifier: MIT */
/* Calls the layer as older and newer loaders do. Usage: layer_entry FILE */
#undef NDEBUG
#include <assert.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "join/opencl/cl.h"

typedef cl_int init_with_fn(cl_uint, const cl_icd_dispatch *, cl_uint *, const cl_icd_dispatch **,
			    const cl_ulong *);

static void *find(void *layer, const char *name)
{
	void *found = dlsym(layer, name);

	if (!found)
		fprintf(stderr, "the layer has no %s\n", name);
	assert(found);
	return found;
}

static void it_says_what_it_is(void *layer)
{
	cl_layer_api_version version = 0;
	pfn_clGetLayerInfo info;
	char name[64] = "";
	size_t size = 0;

	*(void **)&info = find(layer, "clGetLayerInfo");
	assert(!info(CL_LAYER_API_VERSION, sizeof(version), &version, &size));
	assert(version == CL_LAYER_API_VERSION_100 && size == sizeof(version));
	assert(!info(CL_LAYER_NAME, 0, NULL, &size) && size == sizeof("gpreempt"));
	assert(!info(CL_LAYER_NAME, sizeof(name), name, NULL) && !strcmp(name, "gpreempt"));
	assert(info(CL_LAYER_NAME, 2, name, NULL) == CL_INVALID_VALUE);
	assert(info(0x1234, sizeof(name), name, NULL) == CL_INVALID_VALUE);
}

static cl_int CL_API_CALL theirs(cl_command_queue queue)
{
	(void)queue;
	return CL_SUCCESS;
}

/* @nr: how many functions the loader knows. The layer must not invent the others. */
static void it_takes_its_place(void *layer, cl_uint nr, bool joined)
{
	cl_icd_dispatch below = { .clRetainCommandQueue = theirs, .clFlush = theirs };
	const cl_icd_dispatch *table = NULL;
	init_with_fn *init_with;
	pfn_clInitLayer init;
	cl_uint nr_ours = 0;

	*(void **)&init = find(layer, "clInitLayer");
	*(void **)&init_with = find(layer, "clInitLayerWithProperties");
	assert(init(nr, NULL, &nr_ours, &table) == CL_INVALID_VALUE);
	assert(init(nr, &below, NULL, &table) == CL_INVALID_VALUE);
	assert(init(nr, &below, &nr_ours, NULL) == CL_INVALID_VALUE);
	assert(!init_with(nr, &below, &nr_ours, &table, NULL));
	assert(nr_ours == sizeof(below) / sizeof(void *));
	assert(table->clFlush == (nr > 60 ? theirs : NULL));
	assert((table->clRetainCommandQueue == theirs) == !joined);
	assert(!table->clEnqueueSVMMap && !table->clEnqueueNDRangeKernel);
}

/* The environment of a process is read once. */
static void in_a_process_of_its_own(void *layer, const char *priority, cl_uint nr, bool joined)
{
	pid_t pid = fork();
	int status;

	assert(pid >= 0);
	if (!pid) {
		if (priority)
			setenv("GPREEMPT_PRIORITY", priority, 1);
		else
			unsetenv("GPREEMPT_PRIORITY");
		it_takes_its_place(layer, nr, joined);
		_exit(0);
	}
	assert(waitpid(pid, &status, 0) == pid && !status);
}

int main(int argc, char **argv)
{
	const cl_uint nr_all = sizeof(cl_icd_dispatch) / sizeof(void *);
	cl_int (*deinit)(void);
	void *layer;

	assert(argc == 2);
	layer = dlopen(argv[1], RTLD_NOW);
	if (!layer)
		fprintf(stderr, "%s\n", dlerror());
	assert(layer);
	it_says_what_it_is(layer);
	setenv("GPREEMPT_SOCKET", "/nowhere", 1);
	in_a_process_of_its_own(layer, NULL, nr_all, false);
	in_a_process_of_its_own(layer, NULL, 20, false);
	in_a_process_of_its_own(layer, "no number", nr_all, false);
	in_a_process_of_its_own(layer, "2", nr_all, true);
	*(void **)&deinit = find(layer, "clDeinitLayer");
	assert(!deinit());
	return 0;
}
