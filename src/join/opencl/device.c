// SPDX-License-Identifier: MIT
#include "join/opencl/device.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "join/exports.h"

#define DEVICES_MAX 64

/* "": the driver does not say. */
static void read_text(const cl_icd_dispatch *next, cl_device_id device, cl_device_info what,
		      char *text, size_t size)
{
	if (next->clGetDeviceInfo(device, what, size, text, NULL) != CL_SUCCESS)
		*text = '\0';
	text[size - 1] = '\0';
}

static cl_platform_id platform_of(const cl_icd_dispatch *next, cl_device_id device, char *name,
				  size_t size)
{
	cl_platform_id platform = NULL;

	*name = '\0';
	if (next->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL) ||
	    next->clGetPlatformInfo(platform, CL_PLATFORM_NAME, size, name, NULL))
		return NULL;
	name[size - 1] = '\0';
	return platform;
}

/* Devices with the same name are distinguished by their index in the platform. */
static cl_uint index_of(const cl_icd_dispatch *next, cl_platform_id platform, cl_device_id device)
{
	cl_device_id all[DEVICES_MAX];
	cl_uint n = 0;

	if (!platform || next->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES_MAX, all, &n))
		return 0;
	for (cl_uint i = 0; i < n && i < DEVICES_MAX; i++) {
		if (all[i] == device)
			return i;
	}
	return n;
}

static cl_device_id whole_of(const cl_icd_dispatch *next, cl_device_id device)
{
	cl_device_id parent;

	while (!next->clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof(parent), &parent,
				      NULL) &&
	       parent)
		device = parent;
	return device;
}

void gp__cl_name_device(const cl_icd_dispatch *next, cl_device_id device, struct gp__queue_desc *q)
{
	char platform_name[128], name[256];
	cl_platform_id platform;
	cl_ulong memory = 0;
	cl_uint index;
	u64 h;

	device = whole_of(next, device);
	platform = platform_of(next, device, platform_name, sizeof(platform_name));
	read_text(next, device, CL_DEVICE_NAME, name, sizeof(name));
	index = index_of(next, platform, device);
	h = gp__hash(GP__HASH_START, platform_name, strlen(platform_name) + 1);
	h = gp__hash(h, name, strlen(name) + 1);
	h = gp__hash(h, &index, sizeof(index));
	snprintf(q->device, sizeof(q->device), "opencl-%016llx", (unsigned long long)h);
	gp__wire_text(q->device_name, sizeof(q->device_name), name);
	if (!next->clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(memory), &memory,
				   NULL))
		q->device_memory = memory;
}

bool gp__cl_is_joined_beneath(const cl_icd_dispatch *next, cl_device_id device)
{
	char name[128];

	return platform_of(next, device, name, sizeof(name)) && gp_join_is_beneath(name);
}
