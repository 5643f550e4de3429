/* SPDX-License-Identifier: MIT */
/*
 * NVIDIA GPUs through the stock driver's resource manager, as a backend: the channel groups that
 * compute in one context on one GPU are one queue, which is held off the GPU or given another time
 * slice.
 */
#ifndef GP__DEVICE_NVRM_BACKEND_H
#define GP__DEVICE_NVRM_BACKEND_H

#include "device/backend.h"

extern const struct gp__backend gp__backend_nvidia;

#endif
