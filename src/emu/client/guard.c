// SPDX-License-Identifier: MIT
#include "emu/client/guard.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <linux/userfaultfd.h>

#include "emu/client/raw.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif

#ifndef UFFD_FEATURE_WP_UNPOPULATED
#define UFFD_FEATURE_WP_UNPOPULATED (1 << 13)
#endif

static int open_with(int flags, uint64_t more_features)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM |
			    more_features,
	};
	int fd = (int)raw(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | flags, 0, 0, 0, 0, 0);
	int err;

	if (fd < 0)
		return fd;
	err = raw_ioctl(fd, UFFDIO_API, &api);
	if (!err)
		return fd;
	raw_close(fd);
	return err;
}

int client_guard_open(struct client_guard *g, bool user_only)
{
	static const int modes[] = { 0, UFFD_USER_MODE_ONLY };

	*g = (struct client_guard){ .fd = -ENODEV };
	for (int i = user_only; g->fd < 0 && i < 2; i++) {
		g->fd = open_with(modes[i], UFFD_FEATURE_WP_UNPOPULATED);
		g->protects_absent = g->fd >= 0;
		if (g->fd < 0)
			g->fd = open_with(modes[i], 0);
	}
	return g->fd < 0 ? g->fd : 0;
}

void client_guard_close(struct client_guard *g)
{
	/* Wakes all blocked threads. */
	if (g->fd >= 0)
		raw_close(g->fd);
	g->fd = -1;
}

int client_guard_register(struct client_guard *g, uint64_t at, uint64_t len)
{
	struct uffdio_register r = {
		.range = { at, len },
		.mode = UFFDIO_REGISTER_MODE_WP | (g->absent ? UFFDIO_REGISTER_MODE_MISSING : 0),
	};

	return raw_ioctl(g->fd, UFFDIO_REGISTER, &r);
}

int client_guard_raise(struct client_guard *g, uint64_t at, uint64_t len, bool anonymous)
{
	struct uffdio_writeprotect protect = { .range = { at, len },
					       .mode = UFFDIO_WRITEPROTECT_MODE_WP };
	int err;

	if (g->fd < 0)
		return -ENODEV;
	g->absent = anonymous && !g->protects_absent;
	g->at = at;
	g->len = len;
	err = client_guard_register(g, at, len);
	if (err)
		return err;
	err = raw_ioctl(g->fd, UFFDIO_WRITEPROTECT, &protect);
	if (err)
		client_guard_drop(g);
	return err;
}

void client_guard_drop(struct client_guard *g)
{
	struct uffdio_range range = { g->at, g->len };

	/*
	 * If the range was replaced, it is no longer registered, and only the waiting threads are
	 * left.
	 */
	raw_ioctl(g->fd, UFFDIO_UNREGISTER, &range);
	raw_ioctl(g->fd, UFFDIO_WAKE, &range);
}
