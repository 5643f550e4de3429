// SPDX-License-Identifier: MIT
#include "daemon/off.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread.h"

#define HEADER "# GPUs on which 'gpreempt off' has switched scheduling off\n"
#define ALL "all"
#define GPU "gpu " /* and its key */

/*
 * The list
 */

static u32 find(const struct gp__off *o, const char *key)
{
	u32 i = 0;

	while (i < o->nr && strcmp(o->key[i], key) != 0)
		i++;
	return i;
}

bool gp__off_has(const struct gp__off *o, const char *key)
{
	return o->all || find(o, key) < o->nr;
}

bool gp__off_add(struct gp__off *o, const char *key)
{
	if (find(o, key) < o->nr)
		return true;
	if (o->nr == GP__OFF_MAX)
		return false;
	gp__wire_text(o->key[o->nr++], sizeof(o->key[0]), key);
	return true;
}

void gp__off_remove(struct gp__off *o, const char *key)
{
	u32 i = find(o, key);

	if (i < o->nr)
		memmove(o->key[i], o->key[i + 1], (--o->nr - i) * sizeof(o->key[0]));
}

/*
 * The file
 */

static bool read_line(struct gp__off *o, const char *line)
{
	const char *key = line + strlen(GPU);

	if (!strcmp(line, ALL)) {
		o->all = true;
		return true;
	}
	if (!*line || *line == '#')
		return true;
	return !strncmp(line, GPU, strlen(GPU)) && *key && strlen(key) < sizeof(o->key[0]) &&
	       gp__off_add(o, key);
}

static int read_lines(struct gp__off *o, FILE *f)
{
	char line[256];

	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!read_line(o, line))
			return -EINVAL;
	}
	return ferror(f) ? -EIO : 0;
}

/* Beside a socket in a folder that other users can write to, the file may be theirs. */
static bool is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && (st->st_uid == geteuid() || !st->st_uid) &&
	       !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* Waits for nobody: a pipe is opened at once. */
static FILE *open_ours(const char *path, int *err)
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

int gp__off_read(struct gp__off *o, const char *path)
{
	int err;
	FILE *f = open_ours(path, &err);

	*o = (struct gp__off){ 0 };
	if (!f && (err == -ENOENT || err == -EPERM))
		return err == -ENOENT ? 0 : err;
	if (f) {
		err = read_lines(o, f);
		fclose(f);
	}
	o->all |= err != 0;
	return err;
}

static int write_lines(const struct gp__off *o, FILE *f)
{
	fputs(HEADER, f);
	if (o->all)
		fputs(ALL "\n", f);
	for (u32 i = 0; i < o->nr; i++)
		fprintf(f, GPU "%s\n", o->key[i]);
	return fflush(f) || fsync(fileno(f)) ? -errno : 0;
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

/* The new file takes the place of the old one when it is complete. */
int gp__off_write(const struct gp__off *o, const char *path)
{
	char fresh[GP__OFF_PATH_MAX + 8];
	FILE *f;
	int err;

	if (!gp__off_any(o))
		return unlink(path) && errno != ENOENT ? -errno : 0;
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	f = create(fresh);
	if (!f)
		return -errno;
	err = write_lines(o, f);
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
	struct gp__off_keeper *k = data;

	k->result = gp__off_write(&k->writing, k->path);
	eventfd_write(k->done_fd, 1);
	return NULL;
}

int gp__off_keeper_open(struct gp__off_keeper *k, const char *path)
{
	*k = (struct gp__off_keeper){ .done_fd = -1 };
	if (strlen(path) >= sizeof(k->path))
		return -ENAMETOOLONG;
	strcpy(k->path, path);
	k->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return k->done_fd < 0 ? -errno : 0;
}

void gp__off_keep(struct gp__off_keeper *k, const struct gp__off *o)
{
	int err;

	k->next = *o;
	k->again = k->runs;
	if (k->runs)
		return;
	k->writing = k->next;
	err = *k->path ? gp__thread_start(&k->thread, 0, run, k) : -ENOENT;
	k->runs = !err;
	if (err)
		k->result = err;
}

void gp__off_kept(struct gp__off_keeper *k)
{
	eventfd_t times;

	if (eventfd_read(k->done_fd, &times) || !k->runs)
		return;
	pthread_join(k->thread, NULL);
	k->runs = false;
	if (k->again)
		gp__off_keep(k, &k->next);
}

void gp__off_keeper_close(struct gp__off_keeper *k)
{
	while (k->runs) {
		pthread_join(k->thread, NULL);
		k->runs = false;
		if (k->again)
			gp__off_keep(k, &k->next);
	}
	if (k->done_fd >= 0)
		close(k->done_fd);
	k->done_fd = -1;
}
