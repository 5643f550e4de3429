// SPDX-License-Identifier: MIT
#include "daemon/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread.h"
#include "daemon/systemd.h"

void gp__keep_path(char *path, size_t size, const char *name, const char *socket_path)
{
	const char *folder = gp__systemd_state_folder();

	*path = '\0';
	if (folder)
		snprintf(path, size, "%s/%s", folder, name);
	else if (*socket_path)
		snprintf(path, size, "%s.%s", socket_path, name);
}

/*
 * The file
 */

/* Beside a socket in a folder that other users can write to, the file may be theirs. */
static bool is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && (st->st_uid == geteuid() || !st->st_uid) &&
	       !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* Waits for nobody: a pipe is opened at once. */
FILE *gp__keep_read(const char *path, int *err)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	FILE *f = NULL;

	*err = fd < 0 ? -errno : 0;
	if (!(fd < 0 ? lstat(path, &st) : fstat(fd, &st)) && !is_ours(&st))
		*err = -EPERM;
	if (!*err)
		f = fdopen(fd, "r");
	if (!f && !*err)
		*err = -errno;
	if (!f && fd >= 0)
		close(fd);
	return f;
}

/* Never writes to a file that somebody else has put there. */
static FILE *create(const char *path)
{
	int fd;
	FILE *f;

	if (unlink(path) && errno != ENOENT)
		return NULL;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

static int write_text(const char *text, const char *path)
{
	char fresh[GP__KEEP_PATH_MAX + 8];
	FILE *f;
	int err;

	if (!text)
		return -ENOMEM;
	if (!*text)
		return unlink(path) && errno != ENOENT ? -errno : 0;
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	f = create(fresh);
	if (!f)
		return -errno;
	err = fputs(text, f) < 0 || fflush(f) || fsync(fileno(f)) ? -errno : 0;
	if (fclose(f) && !err)
		err = -errno;
	if (!err && rename(fresh, path))
		err = -errno;
	if (err)
		unlink(fresh);
	return err;
}

/*
 * The thread
 */

static void *run(void *data)
{
	struct gp__keeper *k = data;

	k->result = write_text(k->writing, k->path);
	eventfd_write(k->done_fd, 1);
	return NULL;
}

int gp__keeper_open(struct gp__keeper *k, const char *path)
{
	*k = (struct gp__keeper){ .done_fd = -1 };
	if (strlen(path) >= sizeof(k->path))
		return -ENAMETOOLONG;
	strcpy(k->path, path);
	k->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return k->done_fd < 0 ? -errno : 0;
}

void gp__keeper_put(struct gp__keeper *k, char *text)
{
	int err;

	free(k->next);
	k->next = text;
	k->again = k->runs;
	if (k->runs)
		return;
	free(k->writing);
	k->writing = k->next;
	k->next = NULL;
	err = *k->path ? gp__thread_start(&k->thread, 0, run, k) : -ENOENT;
	k->runs = !err;
	if (err)
		k->result = err;
}

static void join(struct gp__keeper *k)
{
	char *next = k->next;

	pthread_join(k->thread, NULL);
	k->runs = false;
	k->next = NULL;
	if (k->again)
		gp__keeper_put(k, next);
}

void gp__keeper_done(struct gp__keeper *k)
{
	eventfd_t times;

	if (!eventfd_read(k->done_fd, &times) && k->runs)
		join(k);
}

void gp__keeper_close(struct gp__keeper *k)
{
	while (k->runs)
		join(k);
	free(k->writing);
	k->writing = NULL;
	if (k->done_fd >= 0)
		close(k->done_fd);
	k->done_fd = -1;
}
