// SPDX-License-Identifier: MIT
/*
 * No call of a program, of whatever size, and no answer of a driver may crash the owner of its
 * queues, make it read beyond the arguments or write into them, or leave a lock taken.
 *
 * An input is a list of steps: a byte that says what, one for the size or the ids, then the
 * arguments. What the driver answers comes from the same input.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/kfd/owner.h"

#define SET 0xf0 /* from here on: holds and releases */

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

/* Mostly succeeds; the ids of queues come from the input. */
static int answer(int fd, unsigned long request, void *args)
{
	static const int errors[] = {
		EINVAL, EFAULT, EINTR, EBUSY, EPERM, EALREADY, ENOTTY, ENODEV
	};
	uint8_t how = next_byte();

	(void)fd;
	/* Without errors after which the owner would sleep before a retry. */
	if (how >= 0xe0) {
		errno = errors[how % 8];
		return -1;
	}
	if (_IOC_NR(request) == _IOC_NR(GP_KFD_CREATE_QUEUE) && how & 1 &&
	    _IOC_SIZE(request) >= sizeof(struct gp_kfd_create_queue))
		((struct gp_kfd_create_queue *)args)->queue_id = next_byte();
	if (request == GP_KFD_PREEMPT && ((struct gp_kfd_preempt *)args)->op == GP_KFD_OP_QUERY &&
	    how & 2) {
		((struct gp_kfd_preempt *)args)->query.magic = GP_KFD_PREEMPT_MAGIC;
		((struct gp_kfd_preempt *)args)->query.version = 1;
	}
	if (request == GP_KFD_DBG_TRAP &&
	    ((struct gp_kfd_dbg_trap *)args)->op == GP_KFD_DBG_ENABLE && how & 2)
		memset((void *)((struct gp_kfd_dbg_trap *)args)->enable.rinfo_ptr, how & 1,
		       sizeof(struct gp_kfd_runtime_info));
	return 0;
}

/* Another process: the pointers in these arguments cannot be followed. */
static bool is_followed(unsigned long request)
{
	return _IOC_NR(request) == _IOC_NR(GP_KFD_DBG_TRAP) ||
	       _IOC_NR(request) == _IOC_NR(GP_KFD_PREEMPT);
}

static void call(struct gp__kfd_owner *o, int fd, uint8_t nr)
{
	uint32_t bytes = next_byte();
	unsigned long request = _IOC(_IOC_READ | _IOC_WRITE, GP_KFD_MAGIC, nr, bytes);
	uint8_t *args = malloc(bytes + 1), *before = malloc(bytes + 1);

	if (args && before && !is_followed(request)) {
		for (uint32_t i = 0; i < bytes; i++)
			args[i] = next_byte();
		memcpy(before, args, bytes);
		gp__kfd_owner_ioctl(o, fd, request, args);
		if (nr != _IOC_NR(GP_KFD_CREATE_QUEUE) && memcmp(before, args, bytes))
			abort();
	}
	free(args);
	free(before);
}

static void set(struct gp__kfd_owner *o, uint8_t verb)
{
	uint32_t ids[16], n = next_byte() % 17;
	int results[16];

	for (uint32_t i = 0; i < n; i++)
		ids[i] = next_byte();
	gp__kfd_owner_set(o, verb % GP__KFD_VERBS, ids, results, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gp__kfd_owned list[4];
	struct gp__kfd_owner *o;
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	input = data;
	left = size;
	if (gp__kfd_owner_create(answer, next_byte() % GP__KFD_WAYS, NULL, &o))
		abort();
	while (left) {
		uint8_t what = next_byte();

		if (what >= SET)
			set(o, what);
		else
			call(o, fd, what);
		gp__kfd_owner_list(o, list, 4);
	}
	gp__kfd_owner_destroy(o);
	close(fd);
	return 0;
}
