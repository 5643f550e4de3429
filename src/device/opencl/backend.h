/* SPDX-License-Identifier: MIT */
/*
 * OpenCL devices, as a backend. The layer of the OpenCL loader (join/opencl), a library of its own,
 * joins programs; this folder reports to the command line.
 */
#ifndef GP__DEVICE_OPENCL_BACKEND_H
#define GP__DEVICE_OPENCL_BACKEND_H

#include "device/backend.h"

extern const struct gp__backend gp__backend_opencl;

#endif
