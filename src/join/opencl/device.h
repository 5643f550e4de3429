/* SPDX-License-Identifier: MIT */
/* What an OpenCL device is called, and whether somebody else schedules it. */
#ifndef GP__JOIN_OPENCL_DEVICE_H
#define GP__JOIN_OPENCL_DEVICE_H

#include <stdbool.h>

#include "join/opencl/cl.h"

#include "join/agent.h"

/* The device, its name and its memory, the same in every program; of a part of one, the whole. */
void gp__cl_name_device(const cl_icd_dispatch *next, cl_device_id device,
			struct gp__agent_queue *q);
/*
 * Whether the queues that lie beneath it are joined at their driver, where running work can be
 * taken off the device: then those are scheduled, and not the ones of OpenCL.
 */
bool gp__cl_is_joined_beneath(const cl_icd_dispatch *next, cl_device_id device);

#endif
