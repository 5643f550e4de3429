// SPDX-License-Identifier: MIT
#include "emu/kfd/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER_MODE 0755
#define FILE_MODE 0444
#define WRITING_MODE 0644
#define OPEN_FOLDERS_MAX 16

static int join(char *buf, const char *dir, const char *path)
{
	int n = snprintf(buf, PATH_MAX, "%s%s%s", dir, *path ? "/" : "", path);

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Makes the folders of @full below @dir; including the last name if @last is true. */
static int make_folders(char *full, size_t dir_len, bool last)
{
	for (char *s = full + dir_len + 1; (s = strchr(s, '/')); s++) {
		*s = '\0';
		if (mkdir(full, FOLDER_MODE) && errno != EEXIST)
			return -errno;
		*s = '/';
	}
	return last && mkdir(full, FOLDER_MODE) && errno != EEXIST ? -errno : 0;
}

int emu_tree_folder(const char *dir, const char *path)
{
	char full[PATH_MAX];
	int err = join(full, dir, path);

	return err ? err : make_folders(full, strlen(dir), true);
}

static int write_text(const char *full, const char *fmt, va_list ap)
{
	char *text;
	int fd, len, err = 0;

	/* We can write the file, whatever its mode. */
	if (chmod(full, WRITING_MODE) && errno != ENOENT)
		return -errno;
	fd = open(full, O_WRONLY | O_CREAT | O_CLOEXEC, WRITING_MODE);
	if (fd < 0)
		return -errno;
	len = vasprintf(&text, fmt, ap);
	if (len < 0) {
		close(fd);
		return -ENOMEM;
	}
	/*
	 * First the new text, then the end of a longer old one: the first line is valid at any
	 * time.
	 */
	if (pwrite(fd, text, (size_t)len, 0) != len || ftruncate(fd, len) || fchmod(fd, FILE_MODE))
		err = errno ? -errno : -EIO;
	close(fd);
	free(text);
	return err;
}

int emu_tree_file(const char *dir, const char *path, const char *fmt, ...)
{
	char full[PATH_MAX];
	int err = join(full, dir, path);
	va_list ap;

	if (!err)
		err = make_folders(full, strlen(dir), false);
	if (err)
		return err;
	va_start(ap, fmt);
	err = write_text(full, fmt, ap);
	va_end(ap);
	return err;
}

int emu_tree_mode(const char *dir, const char *path, unsigned int mode)
{
	char full[PATH_MAX];
	int err = join(full, dir, path);

	if (err)
		return err;
	return chmod(full, mode) ? -errno : 0;
}

int emu_tree_link(const char *dir, const char *path, const char *to)
{
	char full[PATH_MAX];
	int err = join(full, dir, path);

	if (!err)
		err = make_folders(full, strlen(dir), false);
	if (err)
		return err;
	return symlink(to, full) ? -errno : 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path) && errno != ENOENT ? -errno : 0;
}

int emu_tree_remove(const char *dir, const char *path)
{
	char full[PATH_MAX];
	int err = join(full, dir, path);

	if (err)
		return err;
	err = nftw(full, remove_one, OPEN_FOLDERS_MAX, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	if (err < 0 && errno == ENOENT)
		return 0;
	return err;
}
