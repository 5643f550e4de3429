// SPDX-License-Identifier: MIT
/*
 * The folders of machines, in a folder that only the user can enter.
 *
 * A machine holds a lock on a file in its folder, which the kernel releases however the machine
 * ends. Folders are created and removed under the lock of the parent folder, so that a new one is
 * not taken for stale.
 */
#include "cli/emu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/kfd/tree.h"

#define LOCK "lock"
#define BASE_LOCK ".lock"

/* Creates a folder for this user only; 0 or -errno. */
static int own_folder(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	if (lstat(path, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return -EPERM;
	if (st.st_mode & 077 && chmod(path, 0700))
		return -errno;
	return 0;
}

static bool is_own(const char *path)
{
	struct stat st;

	return path && *path == '/' && !stat(path, &st) && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid();
}

int emu_folder_base(struct gp__env *env, char base[PATH_MAX])
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char user[64];
	int n, err;

	snprintf(user, sizeof(user), "/run/user/%u", (unsigned int)geteuid());
	if (!is_own(runtime))
		runtime = is_own(user) ? user : NULL;
	if (runtime)
		n = snprintf(base, PATH_MAX, "%s/gpreempt", runtime);
	else
		n = snprintf(base, PATH_MAX, "/tmp/gpreempt-%u", (unsigned int)geteuid());
	err = n + 5 < PATH_MAX ? own_folder(base) : -ENAMETOOLONG;
	if (!err) {
		strcpy(base + n, "/emu");
		err = own_folder(base);
	}
	if (!err)
		return 0;
	return gp__env_fail(env, GP__EXIT_FAILURE,
			    "The folder must belong to you; $XDG_RUNTIME_DIR sets its location.",
			    "cannot use %s for machines: %s", base, strerror(-err));
}

/* Opens and locks; -1: another process has the lock, or there is no file. */
static int lock_file(const char *dir, const char *name, int flags, int how)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return -1;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
	if (fd < 0)
		return -1;
	if (flock(fd, how)) {
		close(fd);
		return -1;
	}
	return fd;
}

pid_t emu_folder_owner(const char *dir)
{
	int fd = lock_file(dir, LOCK, 0, LOCK_SH | LOCK_NB);
	char path[PATH_MAX], text[32] = "";
	pid_t pid;

	if (fd >= 0 || errno != EWOULDBLOCK) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	snprintf(path, sizeof(path), "%s/" LOCK, dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return 0;
	pid = read(fd, text, sizeof(text) - 1) > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
	close(fd);
	/* The machine holds the lock but has not written its pid yet. */
	return pid > 0 ? pid : -1;
}

void emu_folder_remove(const char *dir)
{
	emu_tree_remove(dir, "");
}

int emu_folder_make(struct gp__env *env, const char *name, char dir[PATH_MAX])
{
	char base[PATH_MAX];
	int status = emu_folder_base(env, base), base_lock, lock = -1;

	if (status)
		return -status;
	if (snprintf(dir, PATH_MAX, "%s/%s", base, name) >= PATH_MAX)
		return -gp__env_fail(env, GP__EXIT_FAILURE, NULL, "%s: path is too long", base);
	base_lock = lock_file(base, BASE_LOCK, O_CREAT, LOCK_EX);
	if (emu_folder_owner(dir)) {
		gp__env_fail(env, GP__EXIT_FAILURE,
			     "Give another --name, or stop it: 'gpreempt emu stop'.",
			     "machine '%s' already exists", name);
	} else {
		emu_folder_remove(dir);
		if (own_folder(dir) ||
		    (lock = lock_file(dir, LOCK, O_CREAT, LOCK_EX | LOCK_NB)) < 0)
			gp__env_fail(env, GP__EXIT_FAILURE, NULL, "cannot create %s: %s", dir,
				     strerror(errno));
	}
	if (base_lock >= 0)
		close(base_lock);
	return lock < 0 ? -GP__EXIT_FAILURE : lock;
}

static int no_hidden(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/*
 * Kept logs: a hidden folder, so that it is not taken for a machine's.
 */

#define KEPT ".logs"
#define KEPT_MAX 16

static time_t written_at(const char *folder, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path) ||
	    stat(path, &st))
		return 0;
	return st.st_mtime;
}

/* Makes room for one more. */
static void drop_oldest(const char *folder)
{
	struct dirent **found;
	int n = scandir(folder, &found, no_hidden, alphasort), oldest = 0;
	char path[PATH_MAX];

	if (n < 0)
		return;
	for (int i = 1; i < n; i++) {
		if (written_at(folder, found[i]->d_name) <
		    written_at(folder, found[oldest]->d_name))
			oldest = i;
	}
	if (n >= KEPT_MAX && snprintf(path, sizeof(path), "%s/%s", folder, found[oldest]->d_name) <
				     (int)sizeof(path))
		unlink(path);
	for (int i = 0; i < n; i++)
		free(found[i]);
	free(found);
}

bool emu_folder_keep_log(const char *dir, const char *name, char path[PATH_MAX])
{
	char log[PATH_MAX], folder[PATH_MAX];
	struct stat st;

	if (snprintf(log, sizeof(log), "%s/" EMU_FOLDER_LOG, dir) >= (int)sizeof(log) ||
	    snprintf(folder, sizeof(folder), "%s/../" KEPT, dir) >= (int)sizeof(folder) ||
	    stat(log, &st) || !st.st_size || own_folder(folder))
		return false;
	drop_oldest(folder);
	if (!realpath(folder, path) || strlen(path) + strlen(name) + 6 > PATH_MAX)
		return false;
	sprintf(path + strlen(path), "/%s.log", name);
	return !rename(log, path);
}

int emu_folder_each(struct gp__env *env,
		    void (*each)(void *ctx, const char *name, const char *dir, pid_t pid),
		    void *ctx)
{
	char base[PATH_MAX], dir[PATH_MAX];
	struct dirent **found;
	int status = emu_folder_base(env, base), base_lock, n;

	if (status)
		return status;
	n = scandir(base, &found, no_hidden, alphasort);
	if (n < 0)
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "%s: %s", base, strerror(errno));
	for (int i = 0; i < n; i++) {
		pid_t pid;

		if (snprintf(dir, sizeof(dir), "%s/%s", base, found[i]->d_name) <
		    (int)sizeof(dir)) {
			base_lock = lock_file(base, BASE_LOCK, O_CREAT, LOCK_EX);
			pid = emu_folder_owner(dir);
			if (!pid)
				emu_folder_remove(dir);
			if (base_lock >= 0)
				close(base_lock);
			if (pid > 0)
				each(ctx, found[i]->d_name, dir, pid);
		}
		free(found[i]);
	}
	free(found);
	return 0;
}
