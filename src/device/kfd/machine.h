/* SPDX-License-Identifier: MIT */
/* The command line's half of the backend for AMD GPUs: count, probe, doctor and kernel_queues of
 * backend.h. */
#ifndef GP__DEVICE_KFD_MACHINE_H
#define GP__DEVICE_KFD_MACHINE_H

#include "device/report.h"

int gp__kfd_machine_count(void);
void gp__kfd_machine_probe(int nth, const struct gp__files *files, struct gp__probe_report *report);
void gp__kfd_machine_doctor(struct gp__checks *checks);
void gp__kfd_machine_kernel_queues(gp__kernel_queue_fn *add, void *data);

#endif
