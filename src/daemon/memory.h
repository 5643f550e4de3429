/* SPDX-License-Identifier: MIT */
/*
 * GPU memory of programs: what is measured, and what policies take for it.
 *
 * The daemon's own look at sysfs (devices.h) comes before the report of the program's agent,
 * and both come before a hint. The memory of a program on a GPU is divided equally between its
 * groups there, so that it counts once for its user. A change takes effect when the registry
 * settles, once for many reports.
 */
#ifndef GP__DAEMON_MEMORY_H
#define GP__DAEMON_MEMORY_H

#include "daemon/registry.h"

/* How much memory of the group's GPU its whole program uses. False: that is not measured. */
bool gp__group_memory(const struct gp__group *g, u64 *bytes);
/* The memory, the hints, the groups or the GPUs of the program have changed. */
void gp__memory_changed(struct gp__registry *r, struct gp__program *p);
/* Gives the core what has changed. */
void gp__memory_settle(struct gp__registry *r, u64 now);

#endif
