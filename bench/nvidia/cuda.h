/* SPDX-License-Identifier: MIT */
/*
 * The part of CUDA's driver API that the benchmarks use, declared here and looked up at run time:
 * they build without a toolkit, and without a driver they end with a message.
 */
#ifndef GP_BENCH_NVIDIA_CUDA_H
#define GP_BENCH_NVIDIA_CUDA_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t cu_ptr; /* an address in the GPU's memory */

struct cuda {
	int (*init)(unsigned int flags);
	int (*driver_version)(int *version);
	int (*device_get)(int *device, int ordinal);
	int (*device_name)(char *name, int size, int device);
	int (*context_retain)(void **context, int device);
	int (*context_set)(void *context);
	int (*context_release)(int device);
	int (*module_load)(void **module, const void *image);
	int (*module_function)(void **function, void *module, const char *name);
	int (*alloc)(cu_ptr *at, size_t bytes);
	int (*to_device)(cu_ptr to, const void *from, size_t bytes);
	int (*to_host)(void *to, cu_ptr from, size_t bytes);
	int (*to_device_async)(cu_ptr to, const void *from, size_t bytes, void *stream);
	int (*host_alloc)(void **at, size_t bytes);
	int (*stream_create)(void **stream, unsigned int flags);
	int (*stream_sync)(void *stream);
	int (*launch)(void *function, unsigned int gx, unsigned int gy, unsigned int gz,
		      unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
		      void *stream, void **args, void **extra);
	int (*event_create)(void **event, unsigned int flags);
	int (*event_record)(void *event, void *stream);
	int (*event_sync)(void *event);
	int (*event_elapsed)(float *ms, void *from, void *to);
	int (*error_name)(int error, const char **name);
};

#define CU_STREAM_NON_BLOCKING 1

/* Loads libcuda.so.1. NULL, or a sentence that says why it failed. */
const char *cuda_load(struct cuda *cu);
/* Ends the program with a sentence if @error is an error. */
void cuda_check(const struct cuda *cu, int error, const char *what);

#endif
