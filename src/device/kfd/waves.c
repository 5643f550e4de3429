// SPDX-License-Identifier: MIT
#include "device/kfd/waves.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "device/kfd/list.h"

#define PROC "/sys/class/kfd/kfd/proc"

static bool read_number(const char *path, uint64_t *value)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[64];
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text));
	close(fd);
	return n > 0 && gp__kfd_number_parse(text, (size_t)n, UINT32_MAX, value);
}

int gp__kfd_waves(pid_t pid, uint32_t gpu_id, uint32_t queue_id)
{
	char path[128];
	uint64_t value;

	snprintf(path, sizeof(path), PROC "/%d/queues/%u/gpuid", (int)pid, queue_id);
	if (!read_number(path, &value) || value != gpu_id)
		return -1;
	snprintf(path, sizeof(path), PROC "/%d/stats_%u/cu_occupancy", (int)pid, gpu_id);
	return read_number(path, &value) ? value != 0 : -1;
}
