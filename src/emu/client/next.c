// SPDX-License-Identifier: MIT
/*
 * Finds the next definitions. Meanwhile the allocator may be called by dlsym(), and calls of
 * allocators go directly to the kernel.
 */
#include "emu/client/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/client/hook.h"
#include "emu/client/raw.h"

static int early_open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	return HOOK_RESULT(int, raw_openat(AT_FDCWD, path, flags, mode));
}

static int early_access(const char *path, int how)
{
	return HOOK_RESULT(int, raw(SYS_faccessat, AT_FDCWD, (long)path, how, 0, 0, 0));
}

static int early_stat(const char *path, struct stat *st)
{
	return HOOK_RESULT(int, raw_fstatat(AT_FDCWD, path, st, 0));
}

static int early_fstat(int fd, struct stat *st)
{
	return HOOK_RESULT(int, raw_fstat(fd, st));
}

static ssize_t early_readlink(const char *path, char *to, size_t len)
{
	return HOOK_RESULT(ssize_t, raw_readlinkat(AT_FDCWD, path, to, len));
}

static void *early_mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	return HOOK_RESULT(void *, raw_mmap((uint64_t)at, len, prot, flags, fd, (uint64_t)offset));
}

static int early_madvise(void *at, size_t len, int advice)
{
	return HOOK_RESULT(int, raw_madvise((uint64_t)at, len, advice));
}

struct client_next client_next = {
	.open = early_open,
	.open64 = early_open,
	.access = early_access,
	.stat = early_stat,
	.stat64 = early_stat,
	.fstat = early_fstat,
	.fstat64 = early_fstat,
	.readlink = early_readlink,
	.mmap = early_mmap,
	.mmap64 = early_mmap,
	.madvise = early_madvise,
};

void client_next_find(void)
{
	void *found;

#define CLIENT_NEXT_FIND(result, name, ...) \
	found = dlsym(RTLD_NEXT, #name);    \
	if (found)                          \
		memcpy(&client_next.name, &found, sizeof(found));
	CLIENT_NEXT(CLIENT_NEXT_FIND)
#undef CLIENT_NEXT_FIND
}
