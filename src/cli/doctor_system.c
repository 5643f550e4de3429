// SPDX-License-Identifier: MIT
#include "cli/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/child.h"
#include "device/request.h"

#define FILES_FEW 1024

#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif

/* Reads a whole number from a file of one line; false: it is not there. */
static bool read_number(const char *path, long *value)
{
	FILE *f = fopen(path, "re");
	bool found = f && fscanf(f, "%ld", value) == 1;

	if (f)
		fclose(f);
	return found;
}

/* Programs that were not started with gpreempt run are held by tracing them. */
void doctor_ptrace(struct gp__checks *checks)
{
	long scope = 0;

	if (!read_number("/proc/sys/kernel/yama/ptrace_scope", &scope) || !scope)
		gp__check(checks, "ptrace", GP__CHECK_OK, NULL,
			  "your programs can be held without having joined");
	else if (scope < 3 && !geteuid())
		gp__check(checks, "ptrace", GP__CHECK_OK, NULL,
			  "kernel.yama.ptrace_scope is %ld, but root may trace all programs",
			  scope);
	else
		gp__check(checks, "ptrace", GP__CHECK_WARN,
			  "Start them with 'gpreempt run', or set kernel.yama.ptrace_scope to 0.",
			  "kernel.yama.ptrace_scope is %ld: programs that have not joined can%s be "
			  "held%s",
			  scope, scope < 3 ? "" : "not", scope < 3 ? " only by root" : "");
}

static void check_file(struct gp__checks *checks, const char *name, const char *built,
		       const char *installed)
{
	char path[PATH_MAX];

	if (child_has_file(built, installed, path))
		gp__check(checks, name, GP__CHECK_OK, NULL, "%s", path);
	else
		gp__check(checks, name, GP__CHECK_BAD, "Install gpreempt, or build all of it.",
			  "cannot find %s", installed);
}

void doctor_libraries(struct gp__checks *checks)
{
	check_file(checks, "join", "../join/" GP__JOIN_LIBRARY, GP_LIB_DIR "/" GP__JOIN_LIBRARY);
	check_file(checks, "emu", "../emu/client/libgpreempt-emu.so",
		   GP_LIB_DIR "/libgpreempt-emu.so");
}

/* The dynamic loader ignores a library that it cannot load, but prints a line in every program. */
static void check_preloaded(struct gp__checks *checks, const char *path)
{
	if (strchr(path, '/') && access(path, R_OK))
		gp__check(checks, "LD_PRELOAD", GP__CHECK_WARN, "Unset LD_PRELOAD, or correct it.",
			  "%s cannot be read: %s", path, strerror(errno));
}

void doctor_preload(struct gp__checks *checks)
{
	const char *all = getenv("LD_PRELOAD");
	char *copy = all ? strdup(all) : NULL, *rest = copy, *path;
	unsigned int nr_emu = 0, nr_join = 0;

	while (rest && (path = strsep(&rest, ": "))) {
		if (!*path)
			continue;
		nr_emu += strstr(path, "libgpreempt-emu.so") != NULL;
		nr_join += strstr(path, GP__JOIN_LIBRARY) != NULL;
		check_preloaded(checks, path);
	}
	free(copy);
	if (nr_emu > 1 || nr_join > 1)
		gp__check(checks, "LD_PRELOAD", GP__CHECK_WARN, "Unset LD_PRELOAD.",
			  "a library of gpreempt is in LD_PRELOAD more than once");
	else if (nr_emu)
		gp__check(checks, "machine", GP__CHECK_OK, NULL,
			  "this is an emulated machine (gpreempt emu), and so are its GPUs");
}

void doctor_files(struct gp__checks *checks)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	if (limit.rlim_cur < FILES_FEW)
		gp__check(
			checks, "files", GP__CHECK_WARN,
			"Raise it with ulimit -n, or LimitNOFILE=.",
			"a process may have %llu files open; gpreemptd needs some for each program",
			(unsigned long long)limit.rlim_cur);
	else
		gp__check(checks, "files", GP__CHECK_OK, NULL, "a process may have %llu files open",
			  (unsigned long long)limit.rlim_cur);
}

static bool opens_userfaultfd(int flags)
{
	struct uffdio_api api = { .api = UFFD_API,
				  .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP |
					      UFFD_FEATURE_WP_HUGETLBFS_SHMEM };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | flags), err;

	if (fd < 0)
		return false;
	err = ioctl(fd, UFFDIO_API, &api);
	close(fd);
	return !err;
}

void doctor_userfaultfd(struct gp__checks *checks)
{
	if (opens_userfaultfd(0) || opens_userfaultfd(UFFD_USER_MODE_ONLY))
		gp__check(checks, "userfaultfd", GP__CHECK_OK, NULL,
			  "emulated machines see doorbells without polling");
	else
		gp__check(checks, "userfaultfd", GP__CHECK_WARN,
			  "Linux 5.19 or later has it; in a container it must be permitted.",
			  "no userfaultfd with write protection: emulated machines poll doorbells "
			  "every two milliseconds");
}
