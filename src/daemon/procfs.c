// SPDX-License-Identifier: MIT
#include "daemon/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/proc.h"

/* The threads of a process whose main thread does not tell its state. */
#define THREADS_MAX 64
/* A line of /proc/PID/cgroup for each of the hierarchies, which are about 15. */
#define CGROUPS_MAX (16 * 1024)

int gp__procfs_open(pid_t pid, int pidfd)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };
	char path[32];
	int proc;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	/* If the process lives now, the folder was opened before its pid could be reused, and
	 * remains its own. */
	if (!poll(&ended, 1, 0))
		return proc;
	close(proc);
	return -ESRCH;
}

static DIR *open_folder(int proc, const char *name)
{
	int fd = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);

	if (!folder && fd >= 0)
		close(fd);
	return folder;
}

/*
 * Devices
 */

/*
 * Whether the descriptor may be of the device, by the name of its file. A device is looked at only
 * then: to look at a file of a network file system may take for ever.
 */
static bool may_be_one_of(const struct gp__devices *d, const char *path)
{
	const char *file = strrchr(path, '/');

	for (u32 i = 0; file && i < d->nr; i++) {
		if (!strcmp(d->device[i].file, file + 1))
			return true;
	}
	return false;
}

/*
 * Programs that only draw on a GPU, or watch it, do not open these files of AMD and NVIDIA. GPUs of
 * other vendors have no such file.
 */
static bool is_for_computing(const char *path, unsigned int major)
{
	return !strcmp(path, "/dev/kfd") || (major != GP__MAJOR_DRM && major != GP__MAJOR_NVIDIA);
}

static void look_at_descriptor(int folder, const char *name, struct gp__devices *d)
{
	char path[256];
	ssize_t n = readlinkat(folder, name, path, sizeof(path));
	struct statx st;

	if (n <= 0 || n == sizeof(path))
		return;
	path[n] = '\0';
	d->computes |= !strcmp(path, "/dev/nvidia-uvm");
	/* DONT_SYNC: no question to a file system that its user may have mounted (FUSE). */
	if (!may_be_one_of(d, path) ||
	    statx(folder, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &st) ||
	    !S_ISCHR(st.stx_mode))
		return;
	for (u32 i = 0; i < d->nr; i++) {
		if (d->device[i].number != makedev(st.stx_rdev_major, st.stx_rdev_minor))
			continue;
		d->device[i].is_open = true;
		d->computes |= is_for_computing(path, st.stx_rdev_major);
	}
}

int gp__procfs_find_devices(int proc, struct gp__devices *d)
{
	DIR *folder = open_folder(proc, "fd");
	const struct dirent *entry;
	int nr = 0;

	if (!folder)
		return errno == ENOENT ? -ESRCH : -errno;
	/* cppcheck-suppress readdirCalled; the stream is this call's own */
	for (; nr < GP__PROCFS_FILES_MAX && (entry = readdir(folder)); nr++) {
		if (entry->d_name[0] != '.')
			look_at_descriptor(dirfd(folder), entry->d_name, d);
	}
	closedir(folder);
	return nr;
}

/*
 * As ps(1) shows it
 */

bool gp__procfs_describe(int proc, u64 *start, uid_t *uid, char *name, size_t size)
{
	struct gp__proc_stat stat;
	struct stat st;

	/* The folder belongs to the user even if the process must not be inspected. */
	if (!gp__proc_stat(proc, "stat", &stat) || fstat(proc, &st))
		return false;
	*start = stat.start;
	*uid = st.st_uid;
	gp__wire_text(name, size, stat.name);
	return true;
}

pid_t gp__procfs_parent(int proc)
{
	struct gp__proc_stat stat;

	return gp__proc_stat(proc, "stat", &stat) ? stat.parent : 0;
}

/*
 * Stopped by a signal or a debugger
 */

/* The state as ps(1) shows it. '\0': unknown. */
static char state_of(int folder, const char *name)
{
	struct gp__proc_stat stat;

	return gp__proc_stat(folder, name, &stat) ? stat.state : '\0';
}

static bool is_stopped_thread(char state)
{
	return state == 'T' || state == 't' || state == 'Z' || state == 'X';
}

static bool are_threads_stopped(int proc)
{
	DIR *folder = open_folder(proc, "task");
	const struct dirent *entry;
	bool stopped = folder;
	char name[32];

	/* cppcheck-suppress readdirCalled; the stream is this call's own */
	for (u32 i = 0; stopped && i < THREADS_MAX && (entry = readdir(folder)); i++) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%.20s/stat", entry->d_name);
		stopped = is_stopped_thread(state_of(dirfd(folder), name));
	}
	if (folder)
		closedir(folder);
	return stopped;
}

/* A signal stops all threads; a debugger may stop some, and the main thread may have ended. */
static bool is_stopped_by_signal(int proc)
{
	char state = state_of(proc, "stat");

	return state == 'T' || (is_stopped_thread(state) && are_threads_stopped(proc));
}

/*
 * Frozen
 */

/* Notes the mount of a line of mountinfo: "... ROOT MOUNT_POINT OPTIONS ... - TYPE SOURCE OPTIONS".
 */
static void note_mount(struct gp__freezers *f, const char *line)
{
	char root[64], at[PATH_MAX / 2], type[32], options[256];
	const char *dash = strstr(line, " - ");

	if (!dash || sscanf(line, "%*s %*s %*s %63s %2047s", root, at) != 2 || strcmp(root, "/") ||
	    sscanf(dash, " - %31s %*s %255s", type, options) != 2)
		return;
	if (!strcmp(type, "cgroup2"))
		strcpy(f->unified, at);
	else if (!strcmp(type, "cgroup") && strstr(options, "freezer"))
		strcpy(f->freezer, at);
}

void gp__freezers_find(struct gp__freezers *f)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char line[PATH_MAX];

	memset(f, 0, sizeof(*f));
	while (mounts && fgets(line, sizeof(line), mounts))
		note_mount(f, line);
	if (mounts)
		fclose(mounts);
}

/* Whether a file of the control group has the text. @path: up to the end of its line. */
static bool group_says(const char *mount, const char *path, const char *file, const char *says)
{
	char name[PATH_MAX], text[256];
	int n = snprintf(name, sizeof(name), "%s%.*s/%s", mount, (int)strcspn(path, "\n"), path,
			 file);

	/* A group outside our namespace of control groups begins with "..". */
	return *mount && n < (int)sizeof(name) && !strstr(name, "/..") &&
	       gp__proc_read(AT_FDCWD, name, text, sizeof(text)) && strstr(text, says);
}

/* Whether the group of a line of /proc/PID/cgroup, "NUMBER:CONTROLLERS:PATH", is frozen. */
static bool is_frozen_group(const char *line, const struct gp__freezers *f)
{
	const char *controllers = strchr(line, ':');
	const char *path = controllers ? strchr(controllers + 1, ':') : NULL;

	if (!path)
		return false;
	if (!strncmp(line, "0::", 3))
		return group_says(f->unified, path + 1, "cgroup.events", "frozen 1");
	return memmem(controllers, (size_t)(path - controllers), "freezer", 7) &&
	       group_says(f->freezer, path + 1, "freezer.state", "FROZEN");
}

static bool is_frozen(int proc, const struct gp__freezers *f)
{
	char text[CGROUPS_MAX];

	if (!gp__proc_read(proc, "cgroup", text, sizeof(text)))
		return false;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (is_frozen_group(line, f))
			return true;
	}
	return false;
}

bool gp__procfs_is_stopped(int proc, const struct gp__freezers *f)
{
	return is_stopped_by_signal(proc) || is_frozen(proc, f);
}
