// SPDX-License-Identifier: MIT
#include "machine.h"

#include "emu/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool bench_is_on_machine(void)
{
	return getenv(EMU_DIR_VARIABLE) != NULL;
}

int bench_run_on_machine(const char *cus)
{
	static const char *const machine[] = { "emu", "exec", "--kernel", "gpreempt", "--cus" };
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
