/* SPDX-License-Identifier: MIT */
/* Memory that is shared with clients. */
#ifndef GP__EMU_KFD_MEMFD_H
#define GP__EMU_KFD_MEMFD_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* A client has the descriptor too: the seals keep it from shrinking the file. */
static inline int emu_memfd(const char *name, uint64_t bytes)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int err;

	if (fd < 0)
		return -errno;
	if (bytes <= INT64_MAX && !ftruncate(fd, (off_t)bytes) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	err = bytes <= INT64_MAX ? -errno : -EFBIG;
	close(fd);
	return err;
}

/* A file with this text, at its beginning. */
static inline int emu_memfd_text(const char *text, size_t len)
{
	int fd = emu_memfd("text", len);

	if (fd < 0)
		return fd;
	if (pwrite(fd, text, len, 0) == (ssize_t)len)
		return fd;
	close(fd);
	return -ENOMEM;
}

#endif
