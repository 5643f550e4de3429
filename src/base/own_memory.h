/* SPDX-License-Identifier: MIT */
/*
 * Reads memory of this process at an address that another party gave and that may be unmapped: a
 * bad address is an error, not a signal. If the kernel may not be asked to read it, it is read
 * directly.
 */
#ifndef GP_BASE_OWN_MEMORY_H
#define GP_BASE_OWN_MEMORY_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static inline bool gp__read_own_memory(void *to, const void *from, size_t size)
{
	struct iovec here = { to, size }, there = { (void *)from, size };
	ssize_t n;

	if (!size)
		return true;
	if (!from)
		return false;
	n = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
	if (n < 0 && (errno == EPERM || errno == ENOSYS)) {
		memcpy(to, from, size);
		return true;
	}
	return n == (ssize_t)size;
}

#endif
