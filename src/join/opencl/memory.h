/* SPDX-License-Identifier: MIT */
/*
 * How much device memory an OpenCL program uses: the sizes of its buffers, images and shared
 * virtual memory. A piece of memory counts on each device of its context, since the driver moves it
 * between them. Memory of the host (CL_MEM_USE_HOST_PTR, CL_MEM_ALLOC_HOST_PTR) does not count, nor
 * what the driver needs for itself.
 *
 * State is global, as the program's is. One lock protects it; the driver is not called under it.
 */
#ifndef GP__JOIN_OPENCL_MEMORY_H
#define GP__JOIN_OPENCL_MEMORY_H

#include <stdbool.h>

#include "join/opencl/cl.h"

#include "device/backend.h"

struct gp__cl_memory_host {
	const cl_icd_dispatch *next; /* the driver's functions */
	/* Names the device as in gp__queue_desc. False: its memory is not counted here. */
	bool (*name)(cl_device_id device, char key[GP__WIRE_DEVICE_MAX]);
	void (*changed)(void);
};

/* Replaces the functions of the table that create memory. Called before any of them. */
void gp__cl_memory_begin(const struct gp__cl_memory_host *host, cl_icd_dispatch *table);
/* False: some memory cannot be followed. */
bool gp__cl_memory_used(const char *key, u64 *bytes);
/* Ceases to count, in a child of the program. */
void gp__cl_memory_end(void);

#endif
