// SPDX-License-Identifier: MIT
/*
 * The driver's files in /sys: which there are, how they may be used, and their contents. Values of
 * the machine it runs on, such as the number of its processors, are left out.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

#define CLASS "/sys/class/kfd/kfd"
#define PARAMETERS "/sys/module/amdgpu/parameters"
#define DEBUGFS "/sys/kernel/debug/kfd"
#define TEXT_MAX 3000
#define GONE_TRIES 100

/* Keys whose values the machine decides on, not the driver. */
static const char *const of_machine[] = { "cpu_cores_count", "max_engine_clk_ccompute",
					  "size_in_bytes",   "MAJOR",
					  "platform_oem",    "platform_id",
					  "platform_rev" };

static int read_file(const char *path, char *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), n = 0, got = 0;

	if (fd < 0)
		return -errno;
	while (n < TEXT_MAX - 1 && (got = (int)read(fd, text + n, (size_t)(TEXT_MAX - 1 - n))) > 0)
		n += got;
	if (got < 0)
		n = -errno;
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return n;
}

static int is_of_machine(const char *line)
{
	for (size_t i = 0; i < sizeof(of_machine) / sizeof(of_machine[0]); i++) {
		size_t len = strlen(of_machine[i]);

		if (!strncmp(line, of_machine[i], len) && strchr(" =", line[len]))
			return 1;
	}
	return 0;
}

/* In one line, "\n" for its ends; values that are not the driver's are "*". */
static void flatten(char *text, char *flat)
{
	char *out = flat;

	for (char *line = text; *line;) {
		size_t len = strcspn(line, "\n"), keep = len;

		if (is_of_machine(line))
			keep = strcspn(line, " =") + 1;
		memcpy(out, line, keep);
		out += keep;
		if (keep < len)
			*out++ = '*';
		line += len;
		if (*line) {
			*out++ = '\\';
			*out++ = 'n';
			line++;
		}
	}
	*out = '\0';
}

static void say_file(const struct probe *p, const char *name, const char *path, int mask_all)
{
	char text[TEXT_MAX], flat[2 * TEXT_MAX], error[PROBE_RESULT_MAX];
	struct stat st;
	int n;

	if (stat(path, &st)) {
		probe_answer(p, name, -errno);
		return;
	}
	n = read_file(path, text);
	if (n < 0) {
		probe_say(p, name, "mode %o %s", st.st_mode & 07777, probe_result(error, n));
		return;
	}
	flatten(text, flat);
	if (mask_all)
		snprintf(flat, sizeof(flat), "%s",
			 n && text[n - 1] == '\n' ? "a line" : "no end of line");
	probe_say(p, name, "mode %o \"%s\"", st.st_mode & 07777, flat);
}

/* The names of a folder in their order; those that every device has are left out. */
static int not_common(const struct dirent *d)
{
	return strcmp(d->d_name, ".") && strcmp(d->d_name, "..") && strcmp(d->d_name, "power");
}

static void walk(const struct probe *p, const char *path, const char *name, int depth)
{
	struct dirent **found;
	char list[TEXT_MAX] = "";
	struct stat st;
	int n;

	if (lstat(path, &st)) {
		probe_answer(p, name, -errno);
		return;
	}
	n = scandir(path, &found, not_common, alphasort);
	for (int i = 0; i < n; i++) {
		strcat(list, " ");
		strcat(list, found[i]->d_name);
	}
	probe_say(p, name, "folder %o:%s", st.st_mode & 07777, list);
	for (int i = 0; i < n; i++) {
		char below[PATH_MAX], below_name[PATH_MAX];

		snprintf(below, sizeof(below), "%s/%s", path, found[i]->d_name);
		snprintf(below_name, sizeof(below_name), "%s/%s", name, found[i]->d_name);
		free(found[i]);
		if (lstat(below, &st))
			probe_answer(p, below_name, -errno);
		else if (S_ISLNK(st.st_mode))
			probe_say(p, below_name, "link");
		else if (!S_ISDIR(st.st_mode))
			say_file(p, below_name, below,
				 !strcmp(below_name, "class/dev") ||
					 !strcmp(below_name, "proc/pasid"));
		else if (depth)
			walk(p, below, below_name, depth - 1);
	}
	if (n >= 0)
		free(found);
}

static void walk_class(const struct probe *p)
{
	char real[PATH_MAX];

	if (!realpath(CLASS, real)) {
		probe_answer(p, "class", -errno);
		return;
	}
	probe_say(p, "class/real-path", "%s", real);
	/* Without the folder of processes, which others are in as well. */
	walk(p, real, "class", 0);
	strcat(real, "/topology");
	walk(p, real, "topology", 9);
}

static void of_process(const struct probe *p)
{
	char path[PATH_MAX], below[PATH_MAX + 16];

	snprintf(path, sizeof(path), CLASS "/proc/%d", (int)getpid());
	walk(p, path, "proc", 0);
	snprintf(below, sizeof(below), "%s/queues", path);
	walk(p, below, "proc/queues", 1);
	snprintf(path, sizeof(path), CLASS "/proc/%d", (int)getppid());
	probe_answer(p, "proc/of-who-has-not-opened", access(path, F_OK) ? -errno : 0);
}

static void open_only(const struct probe *p)
{
	(void)p;
	probe_open(O_RDWR);
}

/* It goes when its process has gone, and some time later. */
static void of_others(const struct probe *p)
{
	const struct timespec ts = { 0, 100000000 };
	pid_t pid = probe_child(p, open_only);
	char path[PATH_MAX];
	int tries = 0;

	snprintf(path, sizeof(path), CLASS "/proc/%d", (int)pid);
	probe_answer(p, "proc/of-child", access(path, F_OK) ? -errno : 0);
	probe_kill(pid);
	while (!access(path, F_OK) && tries++ < GONE_TRIES)
		nanosleep(&ts, NULL);
	probe_answer(p, "proc/of-dead-child", access(path, F_OK) ? -errno : 0);
}

static void closed(const struct probe *p, const void *arg)
{
	char path[PATH_MAX];

	(void)arg;
	close(p->kfd);
	snprintf(path, sizeof(path), CLASS "/proc/%d", (int)getpid());
	probe_answer(p, "proc/after-close", access(path, F_OK) ? -errno : 0);
}

static void parameters(const struct probe *p)
{
	static const char *const names[] = { "cwsr_enable",
					     "sched_policy",
					     "hws_max_conc_proc",
					     "max_num_of_queues_per_device",
					     "send_sigterm",
					     "halt_if_hws_hang",
					     "hws_gws_support",
					     "queue_preemption_timeout_ms",
					     "debug_evictions",
					     "no_system_mem_limit",
					     "no_queue_eviction_on_vm_fault",
					     "mtype_local",
					     "noretry",
					     "mes",
					     "emu_mode",
					     "debug_mask" };
	char path[PATH_MAX], name[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), PARAMETERS "/%s", names[i]);
		snprintf(name, sizeof(name), "parameter/%s", names[i]);
		say_file(p, name, path, 0);
	}
}

static void debugfs(const struct probe *p)
{
	static const char *const names[] = { "hqds", "rls", "hang_hws", "mem_limit" };
	char path[PATH_MAX], name[64], text[TEXT_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), DEBUGFS "/%s", names[i]);
		snprintf(name, sizeof(name), "debugfs/%s", names[i]);
		say_file(p, name, path, !strcmp(names[i], "mem_limit"));
	}
	/* Each process is a line, and nothing of queues is below it. */
	snprintf(name, sizeof(name), "\nProcess %d PASID 0x", (int)getpid());
	text[0] = '\n';
	if (read_file(DEBUGFS "/mqds", text + 1) < 0)
		probe_answer(p, "debugfs/mqds", -errno);
	else
		probe_say(p, "debugfs/mqds", "%s, %s", strstr(text, name) ? "has us" : "has us not",
			  strstr(text, "\n  ") ? "queues" : "no queue");
}

/* Ways to use a file that it has not. */
static void misuse(const struct probe *p)
{
	const char *path = CLASS "/topology/generation_id";
	struct stat st = { 0 };
	char byte;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	probe_answer(p, "misuse/open-to-write", fd < 0 ? -errno : 0);
	fd = open(CLASS "/topology/none", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	probe_answer(p, "misuse/create", fd < 0 ? -errno : 0);
	fd = open(CLASS "/topology/none", O_RDONLY | O_CLOEXEC);
	probe_answer(p, "misuse/open-none", fd < 0 ? -errno : 0);
	fd = open(CLASS "/topology", O_RDWR | O_CLOEXEC);
	probe_answer(p, "misuse/write-folder", fd < 0 ? -errno : 0);
	probe_answer(p, "misuse/make-folder", mkdir(CLASS "/topology/none", 0755) ? -errno : 0);
	probe_answer(p, "misuse/remove", unlink(path) ? -errno : 0);
	probe_answer(p, "misuse/rename", rename(path, CLASS "/topology/other") ? -errno : 0);
	probe_answer(p, "misuse/mode", chmod(path, 0644) ? -errno : 0);
	chmod(path, 0444);
	stat(path, &st);
	probe_say(p, "misuse/size", "%ld", (long)st.st_size);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	probe_answer(p, "misuse/read-behind-the-end", pread(fd, &byte, 1, 100) < 0 ? -errno : 0);
	probe_answer(p, "misuse/write", write(fd, "1", 1) < 0 ? -errno : 0);
	close(fd);
}

static void elsewhere(const struct probe *p)
{
	char text[TEXT_MAX];

	say_file(p, "module/initstate", "/sys/module/amdgpu/initstate", 0);
	probe_answer(p, "dri", access("/dev/dri", F_OK) ? -errno : 0);
	probe_answer(p, "driver", access("/sys/bus/pci/drivers/amdgpu", F_OK) ? -errno : 0);
	read_file("/proc/modules", text);
	probe_answer(p, "proc-modules", !!strstr(text, "amdgpu "));
	read_file("/proc/devices", text);
	probe_answer(p, "proc-devices", !!strstr(text, " kfd\n"));
}

void probe_sysfs(const struct probe *p)
{
	walk_class(p);
	of_process(p);
	of_others(p);
	probe_fresh(p, "closed", closed, NULL);
	parameters(p);
	debugfs(p);
	misuse(p);
	elsewhere(p);
}
