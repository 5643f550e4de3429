// SPDX-License-Identifier: MIT
/*
 * stat() and similar functions. struct stat and struct stat64 are the same on the supported
 * processors.
 */
#include "emu/client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/sysmacros.h>

#include "emu/client/hook.h"
#include "emu/client/next.h"
#include "emu/client/raw.h"

/* False: the path is the host's. The result is the kernel's. */
static bool stat_here(int dir, const char *path, struct stat *st, int flags, int *result)
{
	struct client_path p;

	if (!client_on() || !client_path_find(dir, path, &p))
		return false;
	*result = raw_fstatat(AT_FDCWD, p.real, st, flags & ~AT_EMPTY_PATH);
	if (!*result && p.where == CLIENT_DEVICE)
		client_path_stat(st, p.rdev);
	return true;
}

/* Adjusts the result of the next definition for a descriptor: one of ours is a device. */
static int correct(int result, struct stat *st)
{
	dev_t rdev;

	if (!result && client_file_known(st, NULL, &rdev) && rdev)
		client_path_stat(st, rdev);
	return result;
}

#define HOOK_STAT(name, flags)                                     \
	HOOK(int, name, const char *path, struct stat *st)         \
	{                                                          \
		int result;                                        \
                                                                   \
		if (stat_here(AT_FDCWD, path, st, flags, &result)) \
			return HOOK_RESULT(int, result);           \
		return client_next.name(path, st);                 \
	}

#define HOOK_XSTAT(name, flags)                                         \
	HOOK(int, name, int version, const char *path, struct stat *st) \
	{                                                               \
		int result;                                             \
                                                                        \
		if (stat_here(AT_FDCWD, path, st, flags, &result))      \
			return HOOK_RESULT(int, result);                \
		return client_next.name(version, path, st);             \
	}

#define HOOK_FSTAT(name)                                      \
	HOOK(int, name, int fd, struct stat *st)              \
	{                                                     \
		client_on();                                  \
		return correct(client_next.name(fd, st), st); \
	}

#define HOOK_FXSTAT(name)                                              \
	HOOK(int, name, int version, int fd, struct stat *st)          \
	{                                                              \
		client_on();                                           \
		return correct(client_next.name(version, fd, st), st); \
	}

#define HOOK_FSTATAT(name)                                                     \
	HOOK(int, name, int dir, const char *path, struct stat *st, int flags) \
	{                                                                      \
		int result;                                                    \
                                                                               \
		if (stat_here(dir, path, st, flags, &result))                  \
			return HOOK_RESULT(int, result);                       \
		return correct(client_next.name(dir, path, st, flags), st);    \
	}

#define HOOK_FXSTATAT(name)                                                                 \
	HOOK(int, name, int version, int dir, const char *path, struct stat *st, int flags) \
	{                                                                                   \
		int result;                                                                 \
                                                                                            \
		if (stat_here(dir, path, st, flags, &result))                               \
			return HOOK_RESULT(int, result);                                    \
		return correct(client_next.name(version, dir, path, st, flags), st);        \
	}

HOOK_STAT(stat, 0)
HOOK_STAT(stat64, 0)
HOOK_STAT(lstat, AT_SYMLINK_NOFOLLOW)
HOOK_STAT(lstat64, AT_SYMLINK_NOFOLLOW)
HOOK_FSTAT(fstat)
HOOK_FSTAT(fstat64)
HOOK_FSTATAT(fstatat)
HOOK_FSTATAT(fstatat64)

/* For programs that were linked with a C library before 2.33. */
HOOK_XSTAT(__xstat, 0)
HOOK_XSTAT(__xstat64, 0)
HOOK_XSTAT(__lxstat, AT_SYMLINK_NOFOLLOW)
HOOK_XSTAT(__lxstat64, AT_SYMLINK_NOFOLLOW)
HOOK_FXSTAT(__fxstat)
HOOK_FXSTAT(__fxstat64)
HOOK_FXSTATAT(__fxstatat)
HOOK_FXSTATAT(__fxstatat64)

static void make_device(struct statx *stx, dev_t rdev)
{
	struct stat st = { 0 };

	client_path_stat(&st, rdev);
	stx->stx_mode = (uint16_t)st.st_mode;
	stx->stx_nlink = (uint32_t)st.st_nlink;
	stx->stx_uid = 0;
	stx->stx_gid = 0;
	stx->stx_ino = st.st_ino;
	stx->stx_size = 0;
	stx->stx_blocks = 0;
	stx->stx_rdev_major = major(rdev);
	stx->stx_rdev_minor = minor(rdev);
	stx->stx_dev_major = major(st.st_dev);
	stx->stx_dev_minor = minor(st.st_dev);
}

HOOK(int, statx, int dir, const char *path, int flags, unsigned int mask, struct statx *stx)
{
	struct client_path p;
	dev_t rdev;
	int result;

	if (!client_on() || !client_path_find(dir, path, &p)) {
		result = client_next.statx(dir, path, flags, mask, stx);
		/* A descriptor of ours without a path: the result is that of a socket. */
		if (!result && S_ISSOCK(stx->stx_mode) && path && !*path &&
		    client_file_find(dir, NULL, &rdev) && rdev)
			make_device(stx, rdev);
		return result;
	}
	result = client_next.statx(AT_FDCWD, p.real, flags & ~AT_EMPTY_PATH, mask, stx);
	if (!result && p.where == CLIENT_DEVICE)
		make_device(stx, p.rdev);
	return result;
}
