// SPDX-License-Identifier: MIT
/* Functions that open a path. */
#include "emu/client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "emu/client/hook.h"
#include "emu/client/next.h"
#include "emu/client/raw.h"

static bool wants_mode(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

#define MODE_OF(flags, mode)                                            \
	do {                                                            \
		va_list args_;                                          \
                                                                        \
		va_start(args_, flags);                                 \
		(mode) = wants_mode(flags) ? va_arg(args_, mode_t) : 0; \
		va_end(args_);                                          \
	} while (0)

/* Like the kernel's, sysfs creates no files, and few can be written. */
static int64_t open_in_tree(const struct client_path *p, int flags)
{
	struct stat st;
	int err = raw_fstatat(AT_FDCWD, p->real, &st, 0);

	if (err)
		return err == -ENOENT && (flags & O_CREAT) ? -EACCES : err;
	if (flags & O_PATH)
		return raw_openat(AT_FDCWD, p->real, flags & ~O_CREAT, 0);
	if ((flags & O_CREAT) && (flags & O_EXCL))
		return -EEXIST;
	if ((flags & O_ACCMODE) != O_RDONLY && S_ISDIR(st.st_mode))
		return -EISDIR;
	if ((flags & O_ACCMODE) != O_RDONLY && !(p->dynamic && st.st_mode & S_IWUSR))
		return -EACCES;
	if (p->dynamic && !S_ISDIR(st.st_mode))
		return client_open(p->name, flags, 0);
	return raw_openat(AT_FDCWD, p->real, flags & ~(O_CREAT | O_EXCL | O_TRUNC), 0);
}

static int64_t open_device(const struct client_path *p, int flags)
{
	if (flags & O_DIRECTORY)
		return -ENOTDIR;
	if ((flags & O_CREAT) && (flags & O_EXCL))
		return -EEXIST;
	/* O_PATH: a reference to the file that cannot be used otherwise. */
	if (flags & O_PATH)
		return raw_openat(AT_FDCWD, p->real, flags, 0);
	if (flags & O_DIRECT)
		return -EINVAL;
	return client_open(p->name, flags, p->rdev);
}

/* False: the path is the host's. The result is the kernel's. */
static bool open_here(int dir, const char *path, int flags, int64_t *result)
{
	struct client_path p;

	if (!client_on() || !client_path_find(dir, path, &p))
		return false;
	switch (p.where) {
	case CLIENT_HOST:
		*result = raw_openat(AT_FDCWD, p.real, flags & ~O_CREAT, 0);
		break;
	case CLIENT_TREE:
		*result = open_in_tree(&p, flags);
		break;
	case CLIENT_DEVICE:
		*result = open_device(&p, flags);
		break;
	}
	return true;
}

HOOK(int, open, const char *path, int flags, ...)
{
	int64_t result;
	mode_t mode;

	MODE_OF(flags, mode);
	if (open_here(AT_FDCWD, path, flags, &result))
		return HOOK_RESULT(int, result);
	return client_next.open(path, flags, mode);
}

HOOK(int, open64, const char *path, int flags, ...)
{
	int64_t result;
	mode_t mode;

	MODE_OF(flags, mode);
	if (open_here(AT_FDCWD, path, flags, &result))
		return HOOK_RESULT(int, result);
	return client_next.open64(path, flags, mode);
}

HOOK(int, openat, int dir, const char *path, int flags, ...)
{
	int64_t result;
	mode_t mode;

	MODE_OF(flags, mode);
	if (open_here(dir, path, flags, &result))
		return HOOK_RESULT(int, result);
	return client_next.openat(dir, path, flags, mode);
}

HOOK(int, openat64, int dir, const char *path, int flags, ...)
{
	int64_t result;
	mode_t mode;

	MODE_OF(flags, mode);
	if (open_here(dir, path, flags, &result))
		return HOOK_RESULT(int, result);
	return client_next.openat64(dir, path, flags, mode);
}

HOOK(int, __open_2, const char *path, int flags)
{
	int64_t result;

	if (open_here(AT_FDCWD, path, flags, &result))
		return HOOK_RESULT(int, result);
	return client_next.__open_2(path, flags);
}

HOOK(int, __open64_2, const char *path, int flags)
{
	int64_t result;

	if (open_here(AT_FDCWD, path, flags, &result))
		return HOOK_RESULT(int, result);
	return client_next.__open64_2(path, flags);
}

HOOK(int, __openat_2, int dir, const char *path, int flags)
{
	int64_t result;

	if (open_here(dir, path, flags, &result))
		return HOOK_RESULT(int, result);
	return client_next.__openat_2(dir, path, flags);
}

HOOK(int, __openat64_2, int dir, const char *path, int flags)
{
	int64_t result;

	if (open_here(dir, path, flags, &result))
		return HOOK_RESULT(int, result);
	return client_next.__openat64_2(dir, path, flags);
}

/*
 * Streams
 */

/* open()'s flags; -1: not a mode of fopen(). */
static int flags_of(const char *mode)
{
	int flags = *mode == 'r'   ? O_RDONLY
		    : *mode == 'w' ? O_WRONLY | O_CREAT | O_TRUNC
		    : *mode == 'a' ? O_WRONLY | O_CREAT | O_APPEND
				   : -1;

	if (flags < 0)
		return -1;
	for (const char *m = mode + 1; *m && *m != ','; m++) {
		if (*m == '+')
			flags = (flags & ~O_ACCMODE) | O_RDWR;
		else if (*m == 'e')
			flags |= O_CLOEXEC;
		else if (*m == 'x')
			flags |= O_EXCL;
	}
	return flags;
}

static FILE *open_stream(const char *path, const char *mode,
			 FILE *(*next)(const char *, const char *))
{
	int64_t result = -EINVAL;
	int flags = mode ? flags_of(mode) : -1;
	FILE *stream;

	if (flags < 0 || !open_here(AT_FDCWD, path, flags, &result))
		return next(path, mode);
	if (result < 0) {
		errno = (int)-result;
		return NULL;
	}
	stream = fdopen((int)result, mode);
	if (!stream)
		raw_close((int)result);
	return stream;
}

HOOK(FILE *, fopen, const char *path, const char *mode)
{
	client_on();
	return open_stream(path, mode, client_next.fopen);
}

HOOK(FILE *, fopen64, const char *path, const char *mode)
{
	client_on();
	return open_stream(path, mode, client_next.fopen64);
}

/*
 * rocminfo asks lsmod whether the driver is loaded, which may not be installed or not be in the
 * user's PATH: the tree has a file with its output.
 */
static bool has_modules(void)
{
	struct client_path p;

	return client_path_find(AT_FDCWD, "/proc/modules", &p);
}

HOOK(FILE *, popen, const char *command, const char *mode)
{
	static const char lsmod[] = "lsmod() { cat /proc/modules; }; ";
	char *with_lsmod;
	FILE *stream;

	if (!client_on() || !command || strncmp(command, "lsmod", 5) || !has_modules())
		return client_next.popen(command, mode);
	with_lsmod = malloc(sizeof(lsmod) + strlen(command));
	if (!with_lsmod)
		return NULL;
	memcpy(with_lsmod, lsmod, sizeof(lsmod) - 1);
	memcpy(with_lsmod + sizeof(lsmod) - 1, command, strlen(command) + 1);
	stream = client_next.popen(with_lsmod, mode);
	free(with_lsmod);
	return stream;
}

/*
 * Folders
 */

/* The path for the next definition. */
static const char *redirect(int dir, const char *path, struct client_path *p)
{
	return client_on() && client_path_find(dir, path, p) ? p->real : path;
}

HOOK(DIR *, opendir, const char *path)
{
	struct client_path p;
	const char *real = redirect(AT_FDCWD, path, &p);

	return client_next.opendir(real);
}

HOOK(int, scandir, const char *path, struct dirent ***names, client_filter *filter,
     client_order *order)
{
	struct client_path p;
	const char *real = redirect(AT_FDCWD, path, &p);

	return client_next.scandir(real, names, filter, order);
}

HOOK(int, scandir64, const char *path, struct dirent ***names, client_filter *filter,
     client_order *order)
{
	struct client_path p;
	const char *real = redirect(AT_FDCWD, path, &p);

	return client_next.scandir64(real, names, filter, order);
}

HOOK(int, scandirat, int dir, const char *path, struct dirent ***names, client_filter *filter,
     client_order *order)
{
	struct client_path p;
	const char *real = redirect(dir, path, &p);

	return client_next.scandirat(dir, real, names, filter, order);
}

HOOK(int, scandirat64, int dir, const char *path, struct dirent ***names, client_filter *filter,
     client_order *order)
{
	struct client_path p;
	const char *real = redirect(dir, path, &p);

	return client_next.scandirat64(dir, real, names, filter, order);
}
