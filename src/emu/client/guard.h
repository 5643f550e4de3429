/* SPDX-License-Identifier: MIT */
/*
 * Holds whoever writes to a range of memory until it has been replaced, with userfaultfd.
 *
 * A process that may (root, CAP_SYS_PTRACE, vm.unprivileged_userfaultfd) also holds the kernel,
 * when it writes there for another thread. Without that right such a call of another thread fails
 * with EFAULT while the guard is up, and a signal that finds its thread's stack guarded ends the
 * program: guards are up for a fraction of a millisecond at a time.
 */
#ifndef GP__EMU_CLIENT_GUARD_H
#define GP__EMU_CLIENT_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct client_guard {
	int fd; /* -1: there is none to be had */
	/* Write protection also holds for pages that are absent (Linux 6.4). Otherwise a range with
	 * such pages is registered so that reading an absent page waits, too. */
	bool protects_absent;
	bool absent; /* absent pages are held as well: needed for anonymous memory */
	uint64_t at, len; /* what is guarded */
};

/* @user_only: never the kernel. 0 or -errno, with no guard. */
int client_guard_open(struct client_guard *g, bool user_only);
void client_guard_close(struct client_guard *g);
/* Makes a range known, without holding anybody yet. */
int client_guard_register(struct client_guard *g, uint64_t at, uint64_t len);
/* One range at a time. -errno: nobody is held. */
int client_guard_raise(struct client_guard *g, uint64_t at, uint64_t len, bool anonymous);
void client_guard_drop(struct client_guard *g);

#endif
