/* SPDX-License-Identifier: MIT */
/*
 * Moves our descriptors in another program out of the way: to numbers that it does not expect to
 * get next, and does not close as left over.
 */
#ifndef GP_BASE_FD_H
#define GP_BASE_FD_H

#include <fcntl.h>
#include <unistd.h>

#define GP__FD_LOWEST 512

/* -1 with errno: there is none left. */
static inline int gp__fd_duplicate(int fd)
{
	int ours = fcntl(fd, F_DUPFD_CLOEXEC, GP__FD_LOWEST);

	return ours < 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : ours;
}

/* Duplicates @fd to a high number and closes it, if there is such a number; @fd may be -1. */
static inline int gp__fd_move_up(int fd)
{
	int up = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, GP__FD_LOWEST);

	if (up < 0)
		return fd;
	close(fd);
	return up;
}

#endif
