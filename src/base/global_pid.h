/* SPDX-License-Identifier: MIT */
/*
 * Tells whether pids in this process are those that drivers know and show in sysfs: in a container
 * with pids of its own they are not.
 */
#ifndef GP_BASE_GLOBAL_PID_H
#define GP_BASE_GLOBAL_PID_H

#include <stdbool.h>
#include <sys/stat.h>

#define GP__FIRST_PID_NAMESPACE 0xEFFFFFFCu /* the kernel's PROC_PID_INIT_INO */

static inline bool gp__pid_is_global(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == GP__FIRST_PID_NAMESPACE;
}

#endif
