/* SPDX-License-Identifier: MIT */
/* OpenCL's declarations up to the version that the layer knows, deprecated ones included. */
#ifndef GP__JOIN_OPENCL_CL_H
#define GP__JOIN_OPENCL_CL_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl_layer.h>

#include <CL/cl_ext.h>

#endif
