/* SPDX-License-Identifier: MIT */
/* gpreempt doctor: the checks add what they find, and doctor.c shows it. */
#ifndef GP_CLI_DOCTOR_H
#define GP_CLI_DOCTOR_H

#include "base/env.h"

#include <jansson.h>

enum doctor_result { DOCTOR_OK, DOCTOR_WARN, DOCTOR_BAD };

struct doctor {
	struct gp__env *env;
	json_t *checks;
	unsigned int nr[3]; /* by result */
};

/* @remedy may be NULL. */
GP__PRINTF(5, 6)
void doctor_say(struct doctor *d, const char *name, enum doctor_result result, const char *remedy,
		const char *fmt, ...);

void doctor_opencl(struct doctor *d);
/* In doctor_system.c: devices, drivers, libraries, limits. */
void doctor_amd(struct doctor *d);
void doctor_nvidia(struct doctor *d);
void doctor_ptrace(struct doctor *d);
void doctor_libraries(struct doctor *d);
void doctor_preload(struct doctor *d);
void doctor_files(struct doctor *d);
void doctor_userfaultfd(struct doctor *d);

#endif
