/* SPDX-License-Identifier: MIT */
/* Shared by the OpenCL programs of the tests: they use the first device, and end at the first
 * error. */
#ifndef TESTS_OPENCL_CL_LAB_H
#define TESTS_OPENCL_CL_LAB_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <stdbool.h>
#include <stdint.h>

struct lab {
	cl_device_id device;
	cl_context context;
	cl_program program;
};

/* Exits with 77 if there is no device. */
void lab_open(struct lab *lab, const char *source);
/* @options: for the compiler. */
void lab_open_with(struct lab *lab, const char *source, const char *options);
void lab_close(struct lab *lab);
cl_kernel lab_kernel(const struct lab *lab, const char *name);
cl_command_queue lab_queue(const struct lab *lab, cl_command_queue_properties properties);
uint32_t lab_random(uint64_t *state);

/* Prints an error and ends the program. */
__attribute__((format(printf, 2, 3))) void lab_check(bool ok, const char *fmt, ...);
void lab_must_be(cl_int result, const char *call, int line);
#define lab_must(call) lab_must_be((call), #call, __LINE__)

#endif
