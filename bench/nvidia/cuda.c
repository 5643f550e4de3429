// SPDX-License-Identifier: MIT
#include "cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OF(field, name)                                 \
	{                                               \
		offsetof(struct cuda, field), "cu" name \
	}

static const struct {
	size_t at;
	const char *name;
} functions[] = {
	OF(init, "Init"),
	OF(driver_version, "DriverGetVersion"),
	OF(device_get, "DeviceGet"),
	OF(device_name, "DeviceGetName"),
	OF(context_retain, "DevicePrimaryCtxRetain"),
	OF(context_set, "CtxSetCurrent"),
	OF(context_release, "DevicePrimaryCtxRelease_v2"),
	OF(module_load, "ModuleLoadData"),
	OF(module_function, "ModuleGetFunction"),
	OF(alloc, "MemAlloc_v2"),
	OF(to_device, "MemcpyHtoD_v2"),
	OF(to_host, "MemcpyDtoH_v2"),
	OF(to_device_async, "MemcpyHtoDAsync_v2"),
	OF(host_alloc, "MemAllocHost_v2"),
	OF(stream_create, "StreamCreate"),
	OF(stream_sync, "StreamSynchronize"),
	OF(launch, "LaunchKernel"),
	OF(event_create, "EventCreate"),
	OF(event_record, "EventRecord"),
	OF(event_sync, "EventSynchronize"),
	OF(event_elapsed, "EventElapsedTime"),
	OF(error_name, "GetErrorName"),
};

const char *cuda_load(struct cuda *cu)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return "there is no NVIDIA driver here (libcuda.so.1 is not to be found)";
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *found = dlsym(library, functions[i].name);

		if (!found)
			return functions[i].name; /* an old driver without this function */
		memcpy((char *)cu + functions[i].at, &found, sizeof(found));
	}
	return NULL;
}

void cuda_check(const struct cuda *cu, int error, const char *what)
{
	const char *name = "?";

	if (!error)
		return;
	cu->error_name(error, &name);
	fprintf(stderr, "nvworker: %s: CUDA says %s (%d)\n", what, name, error);
	exit(EXIT_FAILURE);
}
