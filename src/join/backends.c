// SPDX-License-Identifier: MIT
#include "join/backends.h"

#include "device/kfd/backend.h"
#include "device/nvrm/backend.h"
#include "device/opencl/backend.h"

const struct gp__backend *const gp__backends[] = {
	&gp__backend_amd,
	&gp__backend_nvidia,
	&gp__backend_opencl,
	NULL,
};
