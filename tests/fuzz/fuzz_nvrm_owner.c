// SPDX-License-Identifier: MIT
/*
 * No call of a program on NVIDIA's devices, of whatever size, and no answer of the driver may crash
 * the owner of its groups, make it read beyond the arguments, or leave a lock taken.
 *
 * An input is a list of steps: a byte that says what, then the arguments as words of one byte each,
 * so that handles are met again. What the driver answers comes from the same input.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/nvrm/abi.h"
#include "device/nvrm/owner.h"

#define SET 0xf0 /* from here on: our own orders */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *input;
static size_t left;

static uint8_t next_byte(void)
{
	if (!left)
		return 0;
	left--;
	return *input++;
}

/* The driver keeps one time slice, so that it passes the test of layouts unless the input fails it.
 */
static void keep_slice(const struct gp__nvrm_control *c)
{
	static uint64_t slice = 1024;
	uint64_t *at = (uint64_t *)(uintptr_t)c->params;

	if (c->params_size != sizeof(slice) || (uintptr_t)at < 4096)
		return;
	if (c->cmd == (uint32_t)GP__NVRM_CMD_GET_TIMESLICE)
		*at = slice;
	else if (c->cmd == (uint32_t)GP__NVRM_CMD_SET_TIMESLICE && *at)
		slice = *at;
}

static int answer(int fd, unsigned long request, void *args)
{
	uint8_t how = next_byte();

	if (request == GP__NVRM_CONTROL)
		keep_slice(args);

	(void)fd;
	if (how >= 0xe0) {
		errno = EIO;
		return -1;
	}
	/* A status, now and then; it is the last or the last but one word of each. */
	if (how >= 0xc0 && _IOC_SIZE(request) >= 8)
		((uint32_t *)args)[_IOC_SIZE(request) / 4 - (how & 1) - 1] = how;
	return 0;
}

static uint32_t class_of(uint8_t byte)
{
	static const uint32_t classes[] = { 0x41,   0x80,   0x2080, 0xa06c, 0xc86f,
					    0xcbc0, 0xc637, 0x3e,   0x40 };

	return classes[byte % 9];
}

static void call(struct gp__nvrm_owner *o, int fd, uint8_t what)
{
	static const uint8_t numbers[] = { GP__NVRM_NR_ALLOC, GP__NVRM_NR_FREE, GP__NVRM_NR_CONTROL,
					   GP__NVRM_NR_DUP,   GP__NVRM_NR_XFER, GP__NVRM_NR_HEAP };
	static const uint8_t sizes[] = { 48, 16, 32, 28, 16, sizeof(struct gp__nvrm_heap) };
	static const uint32_t commands[] = { 0x2080110b, 0xa06c0101, 0xa06c0103, 0x20800110 };
	uint8_t which = what % 6, other = next_byte();
	uint32_t size = other < 0xf0 ? sizes[which] : other % 64u * 4;
	uint32_t params[160], *args = malloc(size + 4);
	uint64_t at = (uint64_t)(uintptr_t)params;

	if (!args)
		return;
	for (uint32_t i = 0; i < size / 4; i++)
		args[i] = next_byte();
	for (uint32_t i = 0; i < 160; i++)
		params[i] = i < 24 || i % 8 == 0 ? next_byte() : 1;
	if (which == 0 && size >= 24) {
		args[3] = class_of((uint8_t)args[3]);
		memcpy(&args[4], args[4] & 1 ? &at : &(uint64_t){ args[5] }, sizeof(at));
	}
	if (which == 2 && size == 32) {
		static const uint32_t lengths[] = { sizeof(struct gp__nvrm_disable), 3, 8, 4 };
		uint8_t cmd = args[2] % 4;

		args[2] = commands[cmd];
		memcpy(&args[4], args[4] & 1 ? &at : &(uint64_t){ args[5] }, sizeof(at));
		args[6] = lengths[cmd];
	}
	if (which == 5 && size >= 12)
		args[2] %= 16;
	gp__nvrm_owner_ioctl(
		o, fd, _IOC(_IOC_READ | _IOC_WRITE, GP__NVRM_TYPE, numbers[which], size), args);
	free(args);
}

static void set(struct gp__nvrm_owner *o, uint8_t verb)
{
	uint32_t ids[8], n = next_byte() % 9;
	uint64_t bytes;
	int results[8];

	for (uint32_t i = 0; i < n; i++)
		ids[i] = next_byte();
	gp__nvrm_owner_memory(o, "GPU-", &bytes);
	if (verb % 4 == 3)
		gp__nvrm_owner_slice(o, next_byte(), next_byte());
	else
		gp__nvrm_owner_set(o, (enum gp__nvrm_verb)(verb % 4), ids, results, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gp__nvrm_owned list[4];
	struct gp__nvrm_owner *o;
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	input = data;
	left = size;
	if (gp__nvrm_owner_create(answer, NULL, &o))
		abort();
	while (left) {
		uint8_t what = next_byte();

		if (what >= SET)
			set(o, what);
		else
			call(o, fd, what);
		gp__nvrm_owner_list(o, list, 4);
	}
	gp__nvrm_owner_destroy(o);
	close(fd);
	return 0;
}
