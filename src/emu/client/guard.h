/* SPDX-License-Identifier: MIT */
/*
 * Blocks threads that write to a range of memory until it has been replaced, with userfaultfd.
 *
 * With the right to do so (root, CAP_SYS_PTRACE, vm.unprivileged_userfaultfd) it also blocks the
 * kernel when that writes there for another thread. Otherwise such a call of another thread fails
 * with EFAULT while the guard is active, and a signal whose stack is guarded kills the program:
 * guards are active for a fraction of a millisecond at a time.
 */
#ifndef GP__EMU_CLIENT_GUARD_H
#define GP__EMU_CLIENT_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct client_guard {
	int fd; /* -1: not available */
	/*
	 * Write protection also covers absent pages (Linux 6.4). Otherwise a range with absent
	 * pages is registered so that reading them blocks, too.
	 */
	bool protects_absent;
	bool absent; /* absent pages are covered as well: needed for anonymous memory */
	uint64_t at, len; /* the guarded range */
};

/* @user_only: never blocks the kernel. 0 or -errno, with no guard. */
int client_guard_open(struct client_guard *g, bool user_only);
void client_guard_close(struct client_guard *g);
/* Registers a range, without blocking yet. */
int client_guard_register(struct client_guard *g, uint64_t at, uint64_t len);
/* A single range at a time. -errno: no thread is blocked. */
int client_guard_raise(struct client_guard *g, uint64_t at, uint64_t len, bool anonymous);
void client_guard_drop(struct client_guard *g);

#endif
