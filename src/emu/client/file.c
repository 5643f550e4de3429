// SPDX-License-Identifier: MIT
/*
 * The table of open files, by the inode numbers of their sockets. Nothing reports when the last
 * duplicate of a file is closed: stale entries are searched for when the table is full.
 *
 * An entry is free (0), being written (1) or valid; threads that do not own it change only its
 * first word, so there is no lock, and a signal handler can use the table.
 */
#include "emu/client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "emu/client/raw.h"

#define NR_ENTRIES 2048
#define WRITING 1 /* not a socket: the kernel uses the first numbers itself */

struct entry {
	_Atomic uint64_t ino;
	_Atomic uint64_t file, rdev;
};

static struct {
	struct entry entry[NR_ENTRIES];
	_Atomic uint32_t used; /* entries behind it were never used */
} files;

static bool put(uint64_t ino, uint64_t file, dev_t rdev)
{
	for (uint32_t i = 0; i < NR_ENTRIES; i++) {
		struct entry *e = &files.entry[i];
		uint32_t used = atomic_load(&files.used);
		uint64_t empty = 0;

		if (!atomic_compare_exchange_strong(&e->ino, &empty, WRITING))
			continue;
		atomic_store(&e->file, file);
		atomic_store(&e->rdev, rdev);
		while (used <= i && !atomic_compare_exchange_weak(&files.used, &used, i + 1))
			;
		/* Last: a thread that sees the number sees the rest. */
		atomic_store(&e->ino, ino);
		return true;
	}
	return false;
}

static struct entry *find(uint64_t ino)
{
	uint32_t used = atomic_load(&files.used);

	for (uint32_t i = 0; i < used; i++) {
		if (atomic_load(&files.entry[i].ino) == ino)
			return &files.entry[i];
	}
	return NULL;
}

/* Directory entries as the kernel writes them. */
struct dirent_raw {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static int parse_fd(const char *name)
{
	int fd = 0;

	for (; *name; name++) {
		if (*name < '0' || *name > '9' || fd > 100000000)
			return -1;
		fd = fd * 10 + (*name - '0');
	}
	return fd;
}

/* Marks the entry of the table that @fd belongs to. */
static void mark(int fd, uint64_t *open)
{
	struct entry *e;
	struct stat st;

	if (fd < 0 || raw_fstat(fd, &st) || !S_ISSOCK(st.st_mode))
		return;
	e = find(st.st_ino);
	if (e)
		open[(e - files.entry) / 64] |= 1ull << ((e - files.entry) % 64);
}

static bool mark_open(uint64_t *open)
{
	int dir =
		raw_openat(AT_FDCWD, "/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	_Alignas(8) char buf[2048];
	long n;

	if (dir < 0)
		return false;
	while ((n = raw(SYS_getdents64, dir, (long)buf, sizeof(buf), 0, 0, 0)) > 0) {
		for (long at = 0; at < n;) {
			struct dirent_raw *d = (struct dirent_raw *)(buf + at);

			mark(parse_fd(d->name), open);
			at += d->len;
		}
	}
	raw_close(dir);
	return !n;
}

/* Entries that existed before the descriptors were listed, and were not found, are stale. */
static void sweep(void)
{
	uint64_t before[NR_ENTRIES], open[NR_ENTRIES / 64] = { 0 };

	for (uint32_t i = 0; i < NR_ENTRIES; i++)
		before[i] = atomic_load(&files.entry[i].ino);
	if (!mark_open(open))
		return;
	for (uint32_t i = 0; i < NR_ENTRIES; i++) {
		if (before[i] > WRITING && !(open[i / 64] >> (i % 64) & 1))
			atomic_compare_exchange_strong(&files.entry[i].ino, &before[i], 0);
	}
}

int client_file_add(int fd, uint64_t file, dev_t rdev)
{
	struct entry *old;
	struct stat st;
	int err = raw_fstat(fd, &st);

	if (err)
		return err;
	if (!S_ISSOCK(st.st_mode))
		return -EPROTO;
	/* Numbers are reused: the previous file is closed. */
	old = find(st.st_ino);
	if (old)
		atomic_store(&old->ino, 0);
	if (put(st.st_ino, file, rdev))
		return 0;
	sweep();
	return put(st.st_ino, file, rdev) ? 0 : -EMFILE;
}

bool client_file_known(const struct stat *st, uint64_t *file, dev_t *rdev)
{
	struct entry *e;

	if (!S_ISSOCK(st->st_mode))
		return false;
	e = find(st->st_ino);
	if (!e)
		return false;
	if (file)
		*file = atomic_load(&e->file);
	if (rdev)
		*rdev = atomic_load(&e->rdev);
	return true;
}

bool client_file_find(int fd, uint64_t *file, dev_t *rdev)
{
	struct stat st;

	/* If no file was opened, there is nothing to look for. */
	if (fd < 0 || !atomic_load(&files.used) || raw_fstat(fd, &st))
		return false;
	return client_file_known(&st, file, rdev);
}
