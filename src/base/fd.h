/* SPDX-License-Identifier: MIT */
/*
 * Descriptors of ours in a program of somebody else's: where it does not count on the next number
 * being its own, and does not close all that it thinks are left over.
 */
#ifndef GP_BASE_FD_H
#define GP_BASE_FD_H

#include <fcntl.h>
#include <unistd.h>

#define GP__FD_LOWEST 512

/* -1 with errno where there is none left. */
static inline int gp__fd_duplicate(int fd)
{
	int ours = fcntl(fd, F_DUPFD_CLOEXEC, GP__FD_LOWEST);

	return ours < 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : ours;
}

/* The same file by a number up there, if there is one; @fd may be -1. */
static inline int gp__fd_move_up(int fd)
{
	int up = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, GP__FD_LOWEST);

	if (up < 0)
		return fd;
	close(fd);
	return up;
}

#endif
