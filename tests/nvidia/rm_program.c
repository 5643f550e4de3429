// SPDX-License-Identifier: MIT
/*
 * A program with a CUDA context, as its calls look to the driver, on the fake driver of
 * fake_driver.c. It is not seen to work, so it counts as having work while it exists.
 *
 *	rm_program FOLDER [CLASS]	FOLDER has the device files nvidiactl and nvidia0; CLASS is
 *that of its channels (0xc86f), or of a part of a GPU (0xc637)
 *
 * It prints "ready" when it has its context, and ends when its standard input does.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/nvrm/abi.h"

#define CHANNELS 8

static int fd;
static uint32_t last_handle = 0x5c000000;

static int open_in(const char *folder, const char *name)
{
	char path[512];
	int file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = open(path, O_PATH | O_CLOEXEC);
	if (file < 0) {
		perror(path);
		exit(1);
	}
	return file;
}

static uint32_t make(uint32_t client, uint32_t parent, uint32_t class, void *params)
{
	struct gp__nvrm_alloc48 args = { .client = client,
					 .parent = parent,
					 .object = client ? ++last_handle : 0,
					 .class = class,
					 .params = (uint64_t)(uintptr_t)params };

	if (ioctl(fd, GP__NVRM_ALLOC48, &args) || args.status) {
		fprintf(stderr, "cannot create an object of class 0x%x: status 0x%x\n", class,
			args.status);
		exit(1);
	}
	return args.object;
}

int main(int argc, char **argv)
{
	uint32_t class = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 0xc86f;
	struct gp__nvrm_group_params group = { .engine = GP__NVRM_ENGINE_GRAPHICS };
	struct gp__nvrm_channel_params channel = { .entries = 1024 };
	uint32_t client, device, subdevice, tsg;
	char byte;

	if (argc < 2) {
		fputs("usage: rm_program FOLDER [CLASS]\n", stderr);
		return 2;
	}
	fd = open_in(argv[1], "nvidiactl");
	open_in(argv[1], "nvidia0");
	client = make(0, 0, GP__NVRM_CLASS_ROOT_CLIENT, NULL);
	device = make(client, client, GP__NVRM_CLASS_DEVICE, NULL);
	subdevice = make(client, device, GP__NVRM_CLASS_SUBDEVICE, NULL);
	if (class == GP__NVRM_CLASS_MIG_PARTITION) {
		make(client, subdevice, class, NULL);
		class = 0xc86f;
	}
	tsg = make(client, device, GP__NVRM_CLASS_GROUP, &group);
	for (int i = 0; i < CHANNELS; i++)
		make(client, tsg, class, &channel);
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
