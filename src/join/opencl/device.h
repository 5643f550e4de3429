/* SPDX-License-Identifier: MIT */
/* Names OpenCL devices, and tells which of them are scheduled beneath OpenCL. */
#ifndef GP__JOIN_OPENCL_DEVICE_H
#define GP__JOIN_OPENCL_DEVICE_H

#include <stdbool.h>

#include "join/opencl/cl.h"

#include "device/backend.h"

/* Fills in the device, its name and its memory, the same in every program. A sub-device counts as
 * the whole device. */
void gp__cl_name_device(const cl_icd_dispatch *next, cl_device_id device, struct gp__queue_desc *q);
/*
 * Whether the preload joins the driver's queues beneath OpenCL, where running work can be taken off
 * the device: then those are scheduled, and not the command queues.
 */
bool gp__cl_is_joined_beneath(const cl_icd_dispatch *next, cl_device_id device);

#endif
