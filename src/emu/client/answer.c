// SPDX-License-Identifier: MIT
/*
 * Answers requests of the machine during a call. No request can make the program crash: the kernel
 * reads and writes its memory, and reports bad addresses.
 */
#include "emu/client/client.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <linux/userfaultfd.h>

#include "emu/client/guard.h"
#include "emu/client/raw.h"

static int answer(struct client_connection *c, int64_t result)
{
	struct emu_message msg = { .type = EMU_ANSWER, .result = result };

	return client_send(c, &msg, NULL, 0, NULL, 0);
}

static int answer_read(struct client_connection *c, const struct emu_message *q)
{
	struct emu_message msg = { .type = EMU_ANSWER };
	uint64_t len = q->length;

	if (len > EMU_DATA_MAX)
		return answer(c, -EINVAL);
	if (client_read(c->packet->data, q->address, len))
		return answer(c, -EFAULT);
	return client_send(c, &msg, c->packet->data, len, NULL, 0);
}

static int answer_file(struct client_connection *c, const struct emu_message *q)
{
	struct emu_message msg = { .type = EMU_ANSWER };

	if (q->address > INT32_MAX || !client_file_find((int)q->address, &msg.file, NULL))
		return answer(c, -EBADF);
	return client_send(c, &msg, NULL, 0, NULL, 0);
}

static int answer_get_fd(struct client_connection *c, const struct emu_message *q)
{
	struct emu_message msg = { .type = EMU_ANSWER };
	int fd = (int)q->address;
	int err;

	if (q->address > INT32_MAX || raw_fcntl(fd, F_GETFD, 0) < 0)
		return answer(c, -EBADF);
	err = client_send(c, &msg, NULL, 0, &fd, 1);
	return err == -EBADF ? answer(c, -EBADF) : err;
}

static int answer_put_fd(struct client_connection *c, const struct emu_message *q, int fd)
{
	int err = 0;

	if (q->file)
		err = client_file_add(fd, q->file, q->offset);
	if (!err && !(q->flags & O_CLOEXEC))
		err = raw_fcntl(fd, F_SETFD, 0);
	if (err)
		raw_close(fd);
	return answer(c, err ? err : fd);
}

static int answer_share(struct client_connection *c, const struct emu_message *q)
{
	struct emu_message msg = { .type = EMU_ANSWER };
	struct client_shared s = { .piece = (struct emu_piece *)c->packet->data };
	int err = client_share(q->address, q->length, q->flags & 1, &s);

	if (err)
		return answer(c, err);
	err = client_send(c, &msg, s.piece, s.nr_pieces * sizeof(*s.piece), s.fd, s.nr_fds);
	for (uint32_t i = 1; i < s.nr_fds; i++)
		raw_close(s.fd[i]);
	return err;
}

static int answer_watch(struct client_connection *c, const struct emu_message *q)
{
	struct emu_message msg = { .type = EMU_ANSWER };
	struct client_guard guard;
	int err = client_guard_open(&guard, true);

	if (!err) {
		err = client_guard_register(&guard, q->address, q->length);
		if (!err)
			err = client_send(c, &msg, NULL, 0, &guard.fd, 1);
		else
			err = answer(c, err);
		client_guard_close(&guard);
		return err;
	}
	return answer(c, err);
}

int client_answer(struct client_connection *c, const int *fds)
{
	const struct emu_message q = c->packet->msg;

	if (q.request == EMU_PUT_FD && q.nr_fds == 1)
		return answer_put_fd(c, &q, fds[0]);
	for (uint32_t i = 0; i < q.nr_fds; i++)
		raw_close(fds[i]);
	switch (q.request) {
	case EMU_READ:
		return answer_read(c, &q);
	case EMU_WRITE:
		return answer(c, client_write(q.address, c->packet->data, q.data_len));
	case EMU_GET_FILE:
		return answer_file(c, &q);
	case EMU_GET_FD:
		return answer_get_fd(c, &q);
	case EMU_SHARE:
		return answer_share(c, &q);
	case EMU_UNSHARE:
		return answer(c, client_unshare(q.address, q.length));
	case EMU_CHECK:
		return answer(c, client_share_check(q.address, q.length, q.flags & 1));
	case EMU_WATCH:
		return answer_watch(c, &q);
	default:
		return answer(c, -EINVAL);
	}
}
