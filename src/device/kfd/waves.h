/* SPDX-License-Identifier: MIT */
/* Whether a process has waves on a GPU, as the driver's cu_occupancy says. */
#ifndef GP__DEVICE_KFD_WAVES_H
#define GP__DEVICE_KFD_WAVES_H

#include <stdint.h>
#include <sys/types.h>

/*
 * 1 or 0; -1: unknown, as before Linux 5.10 and on most generations. @queue_id: a queue that the
 * process has there. A process with that pid but without that queue is another one, from outside of
 * this container.
 */
int gp__kfd_waves(pid_t pid, uint32_t gpu_id, uint32_t queue_id);

#endif
