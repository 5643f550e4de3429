/* SPDX-License-Identifier: MIT */
/*
 * The device's clock, now and at the start and end of a kernel, in nanoseconds. The runtime has
 * times in its own unit, and only of finished work; the driver has the clock.
 */
#ifndef DEMO_DEVICE_CLOCK_H
#define DEMO_DEVICE_CLOCK_H

#include <hsa/hsa.h>
#include <stdint.h>

struct device_clock {
	int kfd;
	uint32_t gpu_id;
};

/* A failure ends the program with a sentence. */
void device_clock_open(struct device_clock *c, hsa_agent_t gpu);
uint64_t device_clock_ns(const struct device_clock *c);
/* Of the kernel with this completion signal; its queue has profiling enabled. */
uint64_t device_clock_start_ns(hsa_signal_t signal);
uint64_t device_clock_end_ns(hsa_signal_t signal);

#endif
