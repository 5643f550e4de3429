// SPDX-License-Identifier: MIT
#include "machine.h"

#include "emu/protocol.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool bench_is_on_machine(void)
{
	return getenv(EMU_DIR_VARIABLE) != NULL;
}

int bench_run_on_machine(const char *cus, const char *sched)
{
	const char *const machine[] = { "emu", "exec",	  "--kernel", "gpreempt", "--nice",
					"5",   "--sched", sched,      "--cus" };
	enum { MACHINE = sizeof(machine) / sizeof(machine[0]), ARGS_MAX = 127 };
	char self[4096], command[16384];
	const char *argv[ARGS_MAX + 1] = { self };
	int n = 1, fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, command, sizeof(command) - 1);
	ssize_t self_len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (fd >= 0)
		close(fd);
	if (len <= 0 || self_len <= 0)
		return -ENOENT;
	self[self_len] = command[len] = '\0';
	for (int i = 0; i < MACHINE; i++)
		argv[n++] = machine[i];
	argv[n++] = cus;
	argv[n++] = "--";
	argv[n++] = self;
	for (const char *a = command + strlen(command) + 1; a < command + len && n < ARGS_MAX;
	     a += strlen(a) + 1)
		argv[n++] = a;
	execv(self, (char **)argv);
	return -errno;
}

pid_t bench_machine_pid(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(struct ucred);
	struct ucred peer = { 0 };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/" EMU_SOCKET,
		 getenv(EMU_DIR_VARIABLE));
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof(address)))
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	if (fd >= 0)
		close(fd);
	return peer.pid;
}

void bench_keep_machine_off(int cpu)
{
	cpu_set_t set;
	char path[64];
	struct dirent *task;
	DIR *tasks;

	if (cpu < 0 || sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) < 2)
		return;
	CPU_CLR(cpu, &set);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)bench_machine_pid());
	tasks = opendir(path);
	/* cppcheck-suppress readdirCalled; the stream is local */
	while (tasks && (task = readdir(tasks))) {
		if (atoi(task->d_name) > 0)
			sched_setaffinity(atoi(task->d_name), sizeof(set), &set);
	}
	if (tasks)
		closedir(tasks);
}
