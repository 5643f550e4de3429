// SPDX-License-Identifier: MIT
/*
 * A preloaded library that stands for NVIDIA's driver in one process: it answers ioctl() on devices
 * with NVIDIA's major number as the fake RM of the unit tests. Preloaded behind gpreempt's library,
 * it lets whole programs be joined, held and released where there is no driver. The program opens
 * the device files with O_PATH, as there is nobody to open them.
 *
 * $FAKE_RM_BROKEN: while this file exists, the GPU has failed: each call is answered with the
 * status in it, such as 0xf.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../unit/fake_rm.h"

__attribute__((constructor)) static void begin(void)
{
	fake_rm_reset();
	fake_rm.uuid = "GPU-0";
}

static uint32_t read_status(void)
{
	const char *path = getenv("FAKE_RM_BROKEN");
	FILE *f = path ? fopen(path, "re") : NULL;
	unsigned int status = 0;

	if (f && fscanf(f, "%x", &status) != 1)
		status = 0;
	if (f)
		fclose(f);
	return status;
}

static bool is_nvidia(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode) && major(st.st_rdev) == GP__NVRM_MAJOR;
}

int driver_ioctl(int fd, unsigned long request, ...) __asm__("ioctl");
__attribute__((visibility("default"))) int driver_ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *argument;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	if (!is_nvidia(fd))
		return (int)syscall(SYS_ioctl, fd, request, argument);
	fake_rm.broken = read_status();
	return fake_rm_ioctl(fd, request, argument);
}
