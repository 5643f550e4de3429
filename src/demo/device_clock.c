/* SPDX-License-Identifier: MIT */
#include "device_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <hsa/amd_hsa_signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "hsa_lab.h"
#include "program.h"

/* The longest time to read the clock, and the number of attempts. */
enum { READ_NS = 150000, READ_TRIES = 20 };
enum { TICK_NS = 10 };

/* AMDKFD_IOC_GET_CLOCK_COUNTERS of linux/kfd_ioctl.h, which needs headers that few have. */
struct clock_counters {
	uint64_t gpu, cpu, system, system_frequency;
	uint32_t gpu_id, pad;
};
#define GET_CLOCK_COUNTERS _IOWR('K', 0x05, struct clock_counters)

void device_clock_open(struct device_clock *c, hsa_agent_t gpu)
{
	char path[128];
	uint32_t node;
	FILE *f;

	lab_must(hsa_agent_get_info(gpu, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_DRIVER_NODE_ID,
				    &node));
	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/topology/nodes/%u/gpu_id", node);
	f = fopen(path, "re");
	lab_check(f && fscanf(f, "%u", &c->gpu_id) == 1, "%s cannot be read", path);
	fclose(f);
	c->kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	lab_check(c->kfd >= 0, "/dev/kfd: %s", strerror(errno));
}

/* A late result is stale: on a busy host the clock is read again, a few times. */
uint64_t device_clock_ns(const struct device_clock *c)
{
	struct clock_counters clock = { .gpu_id = c->gpu_id };
	uint64_t began;

	for (int tries = 0; tries < READ_TRIES; tries++) {
		began = program_now();
		if (ioctl(c->kfd, GET_CLOCK_COUNTERS, &clock))
			lab_fail("GET_CLOCK_COUNTERS: %s", strerror(errno));
		if (program_now() - began < READ_NS)
			break;
	}
	return clock.gpu * TICK_NS;
}

uint64_t device_clock_start_ns(hsa_signal_t signal)
{
	return ((const amd_signal_t *)signal.handle)->start_ts * TICK_NS;
}

uint64_t device_clock_end_ns(hsa_signal_t signal)
{
	return ((const amd_signal_t *)signal.handle)->end_ts * TICK_NS;
}
