/* SPDX-License-Identifier: MIT */
/* gpreempt doctor: the checks that concern no backend in particular. */
#ifndef GP_CLI_DOCTOR_H
#define GP_CLI_DOCTOR_H

#include "device/report.h"

void doctor_ptrace(struct gp__checks *checks);
void doctor_libraries(struct gp__checks *checks);
void doctor_preload(struct gp__checks *checks);
void doctor_files(struct gp__checks *checks);
void doctor_userfaultfd(struct gp__checks *checks);

#endif
