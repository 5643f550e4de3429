/* SPDX-License-Identifier: MIT */
/*
 * Inspects a process through /proc: which devices it has open, and whether it is stopped. The owner
 * of the process can stretch these reads, so they are not for the scheduling thread; the number of
 * reads is bounded. Root needs CAP_SYS_PTRACE for the processes of other users.
 */
#ifndef GP__DAEMON_PROCFS_H
#define GP__DAEMON_PROCFS_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "daemon/devices.h"

/* A device that a process opened after this many other files is not found. */
#define GP__PROCFS_FILES_MAX 4096

/* Mount points of the hierarchies of control groups that can freeze processes. "": none. */
struct gp__freezers {
	char unified[PATH_MAX], freezer[PATH_MAX]; /* version 2; version 1 */
};

void gp__freezers_find(struct gp__freezers *f);

/* Opens /proc/PID of the process that @pidfd refers to. -ESRCH: it has ended. */
int gp__procfs_open(pid_t pid, int pidfd);
/* Sets is_open of each device, and computes. @proc: of gp__procfs_open(). Returns how many files it
 * looked at, or -errno. */
int gp__procfs_find_devices(int proc, struct gp__devices *d);
/* Reads when it started, its user and its name, as ps(1) shows them. False: it has ended. */
bool gp__procfs_describe(int proc, u64 *start, uid_t *uid, char *name, size_t size);
/* Its parent's pid. 0: it has ended, or its parent is not known. */
pid_t gp__procfs_parent(int proc);
/* Whether it is stopped by a signal or a debugger, or frozen. False if that cannot be found out. */
bool gp__procfs_is_stopped(int proc, const struct gp__freezers *f);

#endif
