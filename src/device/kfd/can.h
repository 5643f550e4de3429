/* SPDX-License-Identifier: MIT */
/*
 * The levels that amdkfd offers on a GPU. Level 3 needs CWSR, which saves waves. Level 2 needs
 * gpreempt's series and a driver that schedules queues itself, since firmware only saves; without
 * CWSR every driver drains: it waits for waves to end before it takes a queue off the GPU.
 */
#ifndef GP__DEVICE_KFD_CAN_H
#define GP__DEVICE_KFD_CAN_H

#include <stdbool.h>

#include "gpreempt/uapi/gpreempt_kfd.h"
#include "queue/level.h"

/* @type: GP_KFD_PREEMPT_... @series is all zero on a kernel without the series. */
static inline bool gp__kfd_series_can(const struct gp_kfd_preempt_query *series, uint32_t type)
{
	return series->version && series->types >> type & 1;
}

/* GP__HAS_LEVEL() of levels 2 and 3; level 1 needs nothing of the driver. */
static inline uint32_t gp__kfd_levels(bool cwsr, const struct gp_kfd_preempt_query *series)
{
	uint32_t levels = cwsr ? GP__HAS_LEVEL(3) : 0;

	if (!cwsr || gp__kfd_series_can(series, GP_KFD_PREEMPT_DRAIN))
		levels |= GP__HAS_LEVEL(2);
	return levels;
}

#endif
