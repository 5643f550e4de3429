// SPDX-License-Identifier: MIT
#include "kfd_client.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "emu/protocol.h"

#define FIRST_GOOD 4096

struct packet {
	struct emu_message msg;
	uint8_t data[EMU_DATA_MAX];
};

static void *memory_at(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

/*
 * The answer's result; it is sent with *@len bytes of the packet's data and a descriptor. The bytes
 * are a copy: the caller may leave the scope of the original while the address sanitizer, after
 * sendmsg(), still reads what was sent.
 */
static int64_t answer(struct packet *p, const int *fds, size_t *len, int *fd)
{
	bool is_good = p->msg.address >= FIRST_GOOD;

	switch (p->msg.request) {
	case EMU_READ:
		*len = is_good ? p->msg.length : 0;
		assert_true(*len <= sizeof(p->data));
		memcpy(p->data, memory_at(p->msg.address), *len);
		return is_good ? 0 : -EFAULT;
	case EMU_WRITE:
		if (is_good)
			memcpy(memory_at(p->msg.address), p->data, p->msg.data_len);
		return is_good ? 0 : -EFAULT;
	case EMU_GET_FD:
		*fd = fcntl((int)p->msg.address, F_DUPFD_CLOEXEC, 0);
		return *fd < 0 ? -EBADF : 0;
	case EMU_PUT_FD:
		return fds[0];
	default:
		return -EINVAL;
	}
}

static void *client_thread(void *arg)
{
	struct kfd_client *c = arg;
	struct packet *p = malloc(sizeof(*p));
	int fds[EMU_FDS_MAX];

	while (p && !emu_message_receive(c->fd, &p->msg, fds)) {
		struct emu_message reply = { .type = EMU_ANSWER };
		size_t len = 0;
		int fd = -1;

		reply.result = answer(p, fds, &len, &fd);
		emu_message_send(c->fd, &reply, p->data, len, &fd, fd >= 0);
		if (fd >= 0)
			close(fd);
	}
	free(p);
	return NULL;
}

void kfd_client_start(struct kfd_client *c, struct emu_call *call)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	call->fd = pair[0];
	call->wake_fd = -1;
	c->fd = pair[1];
	assert_int_equal(pthread_create(&c->thread, NULL, client_thread, c), 0);
}

void kfd_client_end(struct kfd_client *c, struct emu_call *call)
{
	close(call->fd);
	call->fd = -1;
	pthread_join(c->thread, NULL);
	close(c->fd);
}

void kfd_client_cancel(struct kfd_client *c)
{
	struct emu_message msg = { .type = EMU_CANCEL };

	assert_int_equal(emu_message_send(c->fd, &msg, NULL, 0, NULL, 0), 0);
}
