// SPDX-License-Identifier: MIT
#include "cli/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/child.h"
#include "device/kfd/probe.h"
#include "device/nvrm/gpus.h"

#define FILES_FEW 1024

#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif

/* A whole number from a file of one line; false: it is not there. */
static bool read_number(const char *path, long *value)
{
	FILE *f = fopen(path, "re");
	bool found = f && fscanf(f, "%ld", value) == 1;

	if (f)
		fclose(f);
	return found;
}

/*
 * AMD
 */

static void say_probed(struct doctor *d, int index, const struct gp__kfd_probe *p)
{
	char name[16];

	snprintf(name, sizeof(name), "gpu%d", index);
	if (!p->cwsr_enable)
		doctor_say(d, name, DOCTOR_WARN, "Boot with amdgpu.cwsr_enable=1.",
			   "%s: cwsr_enable is 0, so the driver waits for what runs instead of "
			   "taking it off the GPU",
			   p->node.name);
	else if (p->best < 0)
		doctor_say(d, name, DOCTOR_BAD, "'gpreempt probe' has the reasons.",
			   "%s: no way to take running work off the GPU works here", p->node.name);
	else
		doctor_say(d, name, DOCTOR_OK, NULL,
			   "%s: running work is taken off the GPU and put back%s; 'gpreempt probe' "
			   "measures it",
			   p->node.name,
			   p->series.version ? ", by the ioctls of gpreempt's kernel series" : "");
}

static void probe_gpu(struct doctor *d, int index, const struct gp__kfd_node *node)
{
	char reason[GP__KFD_REASON_MAX] = "", name[16];
	struct gp__kfd_probe probe;

	if (!gp__kfd_probe(node, 0, &probe, reason)) {
		say_probed(d, index, &probe);
		return;
	}
	snprintf(name, sizeof(name), "gpu%d", index);
	doctor_say(d, name, DOCTOR_BAD, NULL, "%s: no queue can be made: %s", node->name, reason);
}

void doctor_amd(struct doctor *d)
{
	struct gp__kfd_node nodes[GP__KFD_NODES_MAX];
	bool loaded = !access("/sys/module/amdgpu", F_OK);
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC), err = errno, nr;
	char why[GP__KFD_REASON_MAX];

	if (fd < 0) {
		gp__kfd_explain(NULL, 0, -err, why, sizeof(why));
		/* Without a driver there is nothing to be wrong with it. */
		doctor_say(d, "amd", err == ENOENT && !loaded ? DOCTOR_WARN : DOCTOR_BAD,
			   err == ENOENT && !loaded
				   ? "To try it without a GPU: gpreempt emu exec -- gpreempt doctor"
				   : NULL,
			   "%s", why);
		return;
	}
	close(fd);
	nr = gp__kfd_nodes(nodes);
	if (nr <= 0) {
		doctor_say(d, "amd", DOCTOR_WARN, "'dmesg' may say why amdgpu took none.",
			   "/dev/kfd is there, and no GPU is");
		return;
	}
	doctor_say(d, "amd", DOCTOR_OK, NULL, "/dev/kfd can be opened; %d GPU%s", nr,
		   nr == 1 ? "" : "s");
	for (int i = 0; i < nr; i++)
		probe_gpu(d, i, &nodes[i]);
}

/*
 * NVIDIA
 */

static void say_nvidia_gpu(struct doctor *d, const struct gp__nvrm_gpu *gpu)
{
	char name[16];

	snprintf(name, sizeof(name), "nvidia%d", gpu->minor);
	if (*gpu->firmware)
		doctor_say(d, name, DOCTOR_OK, NULL,
			   "%s: channel groups are held off the GPU and weighed; 'gpreempt probe' "
			   "measures it",
			   gpu->name);
	else
		doctor_say(d, name, DOCTOR_WARN, "'gpreempt probe' tries it.",
			   "%s: the driver does not use the GPU's own system processor (GSP), and "
			   "gpreempt was only seen to work with it",
			   gpu->name);
}

void doctor_nvidia(struct doctor *d)
{
	struct gp__nvrm_gpu gpus[GP__NVRM_GPUS_MAX];
	struct gp__nvrm_driver driver;
	char folder[128];
	int nr;

	if (gp__nvrm_driver(GP__NVRM_PROC, &driver))
		return; /* without a driver there is nothing to be wrong with it */
	if (access("/dev/nvidiactl", R_OK | W_OK)) {
		doctor_say(d, "nvidia", DOCTOR_BAD, "'nvidia-modprobe' makes it.",
			   "NVIDIA's driver %s is here, and /dev/nvidiactl cannot be opened: %s",
			   driver.version, strerror(errno));
		return;
	}
	nr = gp__nvrm_gpus(GP__NVRM_PROC, gpus, GP__NVRM_GPUS_MAX);
	doctor_say(d, "nvidia", nr > 0 ? DOCTOR_OK : DOCTOR_WARN,
		   nr > 0 ? NULL : "'dmesg' may say why it took none.",
		   "NVIDIA's driver %s%s, %d GPU%s", driver.version,
		   driver.open ? ", open kernel module" : "", nr > 0 ? nr : 0, nr == 1 ? "" : "s");
	for (int i = 0; i < nr; i++)
		say_nvidia_gpu(d, &gpus[i]);
	if (gp__nvrm_has_mps(folder, sizeof(folder)))
		doctor_say(
			d, "mps", DOCTOR_WARN, "End it with 'echo quit | nvidia-cuda-mps-control'.",
			"NVIDIA's multi-process service is on in %s and runs everybody's work as "
			"one: programs on NVIDIA GPUs have no priorities",
			folder);
}

/*
 * The rest
 */

/* For programs that were not started with gpreempt run; in those, nobody is traced from outside. */
void doctor_ptrace(struct doctor *d)
{
	long scope = 0;

	if (!read_number("/proc/sys/kernel/yama/ptrace_scope", &scope) || !scope)
		doctor_say(d, "ptrace", DOCTOR_OK, NULL,
			   "one's own programs can be stopped without having been joined");
	else if (scope < 3 && !geteuid())
		doctor_say(d, "ptrace", DOCTOR_OK, NULL,
			   "kernel.yama.ptrace_scope is %ld, and root may trace everybody", scope);
	else
		doctor_say(d, "ptrace", DOCTOR_WARN,
			   "Start them with 'gpreempt run', or set kernel.yama.ptrace_scope to 0.",
			   "kernel.yama.ptrace_scope is %ld: programs that were not joined cannot "
			   "be stopped%s",
			   scope, scope < 3 ? " but by root" : "");
}

static void check_file(struct doctor *d, const char *name, const char *built, const char *installed)
{
	char path[PATH_MAX];

	if (child_has_file(built, installed, path))
		doctor_say(d, name, DOCTOR_OK, NULL, "%s", path);
	else
		doctor_say(d, name, DOCTOR_BAD, "Install gpreempt, or build all of it.",
			   "%s is not to be found", installed);
}

void doctor_libraries(struct doctor *d)
{
	check_file(d, "join", "../join/libgpreempt-join.so", GP_LIB_DIR "/libgpreempt-join.so");
	check_file(d, "emu", "../emu/client/libgpreempt-emu.so", GP_LIB_DIR "/libgpreempt-emu.so");
}

/* The loader passes over what it does not find, with a line in every program's output. */
static void check_preloaded(struct doctor *d, const char *path)
{
	if (strchr(path, '/') && access(path, R_OK))
		doctor_say(d, "LD_PRELOAD", DOCTOR_WARN, "Unset LD_PRELOAD, or correct it.",
			   "%s cannot be read: %s", path, strerror(errno));
}

void doctor_preload(struct doctor *d)
{
	const char *all = getenv("LD_PRELOAD");
	char *copy = all ? strdup(all) : NULL, *rest = copy, *path;
	unsigned int nr_emu = 0, nr_join = 0;

	while (rest && (path = strsep(&rest, ": "))) {
		if (!*path)
			continue;
		nr_emu += strstr(path, "libgpreempt-emu.so") != NULL;
		nr_join += strstr(path, "libgpreempt-join.so") != NULL;
		check_preloaded(d, path);
	}
	free(copy);
	if (nr_emu > 1 || nr_join > 1)
		doctor_say(d, "LD_PRELOAD", DOCTOR_WARN, "Unset LD_PRELOAD.",
			   "a library of gpreempt is in LD_PRELOAD more than once");
	else if (nr_emu)
		doctor_say(d, "machine", DOCTOR_OK, NULL,
			   "this is an emulated machine (gpreempt emu): so are its GPUs");
}

void doctor_files(struct doctor *d)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	if (limit.rlim_cur < FILES_FEW)
		doctor_say(
			d, "files", DOCTOR_WARN, "Raise it with ulimit -n, or LimitNOFILE=.",
			"a process may have %llu files open; gpreemptd needs some for each program",
			(unsigned long long)limit.rlim_cur);
	else
		doctor_say(d, "files", DOCTOR_OK, NULL, "a process may have %llu files open",
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

void doctor_userfaultfd(struct doctor *d)
{
	if (opens_userfaultfd(0) || opens_userfaultfd(UFFD_USER_MODE_ONLY))
		doctor_say(d, "userfaultfd", DOCTOR_OK, NULL,
			   "emulated machines see doorbells without looking for them");
	else
		doctor_say(
			d, "userfaultfd", DOCTOR_WARN,
			"Linux 5.19 or later has it; in a container it must be permitted.",
			"no userfaultfd with write protection: emulated machines look at doorbells "
			"every two milliseconds");
}
