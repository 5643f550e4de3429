/* SPDX-License-Identifier: MIT */
/* The command line's half of the backend for NVIDIA GPUs: count, probe and doctor of backend.h. */
#ifndef GP__DEVICE_NVRM_MACHINE_H
#define GP__DEVICE_NVRM_MACHINE_H

#include "device/report.h"

int gp__nvrm_machine_count(void);
/* Runs gpreempt-nvidia-try (try.c), and ends it if it hangs. */
void gp__nvrm_machine_probe(int nth, const struct gp__files *files,
			    struct gp__probe_report *report);
void gp__nvrm_machine_doctor(struct gp__checks *checks);

#endif
