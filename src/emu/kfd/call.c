// SPDX-License-Identifier: MIT
/*
 * Messages, and requests of a handler to the client it works for.
 *
 * The form of each message is checked here, so that handlers see data of the length they asked for
 * and as many descriptors as they expect, or an error. A client that answers out of turn is
 * disconnected: the socket is shut down, and every later request fails at once.
 */
#include "emu/kfd/call.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "emu/message.h"

struct packet {
	struct emu_message msg;
	uint8_t data[EMU_DATA_MAX];
};

int emu_message_send(int fd, struct emu_message *msg, const void *data, size_t len, const int *fds,
		     uint32_t nr_fds)
{
	union emu_control control;
	struct iovec iov[2] = { { msg, sizeof(*msg) }, { (void *)data, len } };
	struct msghdr h = { .msg_iov = iov, .msg_iovlen = len ? 2 : 1 };
	ssize_t n;

	msg->data_len = (uint32_t)len;
	msg->nr_fds = nr_fds;
	emu_control_put(&control, &h, fds, nr_fds);
	do
		n = sendmsg(fd, &h, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)(sizeof(*msg) + len) ? 0 : -ECONNRESET;
}

static void close_fds(const int *fds, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		close(fds[i]);
}

int emu_message_receive(int fd, struct emu_message *msg, int *fds)
{
	union emu_control control;
	struct iovec iov = { msg, sizeof(*msg) + EMU_DATA_MAX };
	struct msghdr h = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };
	uint32_t nr_fds;
	ssize_t n;

	do
		n = recvmsg(fd, &h, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return -ECONNRESET;
	nr_fds = emu_control_take(&h, fds);
	if ((size_t)n < sizeof(*msg) || (h.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ||
	    msg->data_len != (size_t)n - sizeof(*msg) || msg->nr_fds != nr_fds) {
		close_fds(fds, nr_fds);
		return -ECONNRESET;
	}
	return 0;
}

static int cut_off(struct emu_call *call)
{
	shutdown(call->fd, SHUT_RDWR);
	return -ECONNRESET;
}

/* The reply to a request, into @p; a signal that comes meanwhile is remembered. */
static int receive_answer(struct emu_call *call, struct packet *p, int *fds)
{
	for (;;) {
		int err = emu_message_receive(call->fd, &p->msg, fds);

		if (err)
			return cut_off(call);
		if (p->msg.type == EMU_ANSWER)
			return 0;
		close_fds(fds, p->msg.nr_fds);
		if (p->msg.type != EMU_CANCEL)
			return cut_off(call);
		call->cancelled = true;
	}
}

/*
 * Sends a request and returns the result of the reply, which is in @p, with descriptors in @fds
 * unless the result is an errno.
 */
static int64_t ask(struct emu_call *call, struct emu_message *question, const void *data,
		   size_t len, const int *send_fds, uint32_t nr_send, struct packet *p, int *fds)
{
	int err;

	question->type = EMU_ASK;
	err = emu_message_send(call->fd, question, data, len, send_fds, nr_send);
	if (!err)
		err = receive_answer(call, p, fds);
	if (err)
		return err;
	if (p->msg.result >= 0)
		return p->msg.result;
	close_fds(fds, p->msg.nr_fds);
	return p->msg.result > -4096 ? p->msg.result : cut_off(call);
}

/* A request whose reply is a number only. */
static int64_t ask_number(struct emu_call *call, struct emu_message *question, const void *data,
			  size_t len, const int *send_fds, uint32_t nr_send)
{
	int fds[EMU_FDS_MAX];
	struct packet p;
	int64_t result = ask(call, question, data, len, send_fds, nr_send, &p, fds);

	if (result >= 0)
		close_fds(fds, p.msg.nr_fds);
	return result;
}

int emu_copy_from_user(struct emu_call *call, void *to, uint64_t from, size_t len)
{
	int fds[EMU_FDS_MAX];
	struct packet p;

	if (len && from + len < from)
		return -EFAULT;
	if (call->argument && from == call->argument_at && len <= call->argument_len) {
		memcpy(to, call->argument, len);
		call->argument = NULL;
		return 0;
	}
	for (size_t done = 0; done < len;) {
		size_t n = len - done < EMU_DATA_MAX ? len - done : EMU_DATA_MAX;
		struct emu_message q = { .request = EMU_READ, .address = from + done, .length = n };
		int64_t err = ask(call, &q, NULL, 0, NULL, 0, &p, fds);

		if (err < 0)
			return (int)err;
		close_fds(fds, p.msg.nr_fds);
		if (p.msg.data_len != n)
			return cut_off(call);
		memcpy((uint8_t *)to + done, p.data, n);
		done += n;
	}
	return 0;
}

int emu_copy_to_user(struct emu_call *call, uint64_t to, const void *from, size_t len)
{
	if (len && to + len < to)
		return -EFAULT;
	for (size_t done = 0; done < len;) {
		size_t n = len - done < EMU_DATA_MAX ? len - done : EMU_DATA_MAX;
		struct emu_message q = { .request = EMU_WRITE, .address = to + done, .length = n };
		int64_t err = ask_number(call, &q, (const uint8_t *)from + done, n, NULL, 0);

		if (err < 0)
			return (int)err;
		done += n;
	}
	return 0;
}

int emu_reply_to_user(struct emu_call *call, uint64_t to, const void *from, size_t len)
{
	if (!call->takes_data || len > sizeof(call->reply_data) || to + len < to)
		return emu_copy_to_user(call, to, from, len);
	memcpy(call->reply_data, from, len);
	call->reply_at = to;
	call->reply_len = (uint32_t)len;
	return 0;
}

int64_t emu_call_file(struct emu_call *call, uint32_t client_fd)
{
	struct emu_message q = { .request = EMU_GET_FILE, .address = client_fd };
	int fds[EMU_FDS_MAX];
	struct packet p;
	int64_t err = ask(call, &q, NULL, 0, NULL, 0, &p, fds);

	if (err < 0)
		return err;
	close_fds(fds, p.msg.nr_fds);
	return p.msg.file && p.msg.file <= INT64_MAX ? (int64_t)p.msg.file : -EBADF;
}

/* A request whose reply is one descriptor. */
static int ask_fd(struct emu_call *call, struct emu_message *q)
{
	int fds[EMU_FDS_MAX];
	struct packet p;
	int64_t err = ask(call, q, NULL, 0, NULL, 0, &p, fds);

	if (err < 0)
		return (int)err;
	if (p.msg.nr_fds == 1)
		return fds[0];
	close_fds(fds, p.msg.nr_fds);
	return cut_off(call);
}

int emu_call_get_fd(struct emu_call *call, uint32_t client_fd)
{
	struct emu_message q = { .request = EMU_GET_FD, .address = client_fd };

	return ask_fd(call, &q);
}

int emu_call_put_fd(struct emu_call *call, int fd, uint32_t flags)
{
	struct emu_message q = { .request = EMU_PUT_FD, .flags = flags };
	int64_t number = ask_number(call, &q, NULL, 0, &fd, 1);

	return number > INT32_MAX ? cut_off(call) : (int)number;
}

int emu_call_watch(struct emu_call *call, uint64_t address, uint64_t length)
{
	struct emu_message q = { .request = EMU_WATCH, .address = address, .length = length };

	return ask_fd(call, &q);
}

/*
 * How much of the range the pieces cover. They must be contiguous from its start and have a
 * descriptor each; 0: they are not.
 */
static uint64_t covered_by(const struct emu_piece *piece, uint32_t n, uint32_t nr_fds,
			   uint64_t address, uint64_t length)
{
	uint64_t done = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (piece[i].address != address + done || !piece[i].length ||
		    piece[i].length > length - done || piece[i].fd >= nr_fds ||
		    piece[i].offset > INT64_MAX - piece[i].length)
			return 0;
		done += piece[i].length;
	}
	return done;
}

/* The next pieces of the range, as many as fit into one reply. */
static int share_some(struct emu_call *call, struct emu_message *q, struct emu_piece *pieces,
		      int *piece_fds, uint32_t max, uint64_t *covered)
{
	int fds[EMU_FDS_MAX];
	struct packet p;
	int64_t err = ask(call, q, NULL, 0, NULL, 0, &p, fds);
	uint32_t n;

	if (err < 0)
		return (int)err;
	n = p.msg.data_len / sizeof(*pieces);
	err = n > max ? -E2BIG : 0;
	if (!err) {
		memcpy(pieces, p.data, n * sizeof(*pieces));
		*covered = covered_by(pieces, n, p.msg.nr_fds, q->address, q->length);
		if (!*covered)
			err = cut_off(call);
	}
	for (uint32_t i = 0; !err && i < n; i++) {
		piece_fds[i] = dup(fds[pieces[i].fd]);
		if (piece_fds[i] < 0) {
			close_fds(piece_fds, i);
			err = -EMFILE;
		}
	}
	close_fds(fds, p.msg.nr_fds);
	return err ? (int)err : (int)n;
}

int emu_call_share(struct emu_call *call, uint64_t address, uint64_t length, bool write,
		   struct emu_piece *pieces, int *fds, uint32_t max)
{
	uint64_t done = 0;
	uint32_t n = 0;

	while (done < length) {
		struct emu_message q = { .request = EMU_SHARE,
					 .address = address + done,
					 .length = length - done,
					 .flags = write };
		uint64_t covered;
		int more = share_some(call, &q, pieces + n, fds + n, max - n, &covered);

		if (more < 0) {
			close_fds(fds, n);
			if (done && more != -ECONNRESET)
				emu_call_unshare(call, address, done);
			return more;
		}
		n += (uint32_t)more;
		done += covered;
	}
	return (int)n;
}

int emu_call_check(struct emu_call *call, uint64_t address, uint64_t length, bool write)
{
	struct emu_message q = {
		.request = EMU_CHECK, .address = address, .length = length, .flags = write
	};

	return (int)ask_number(call, &q, NULL, 0, NULL, 0);
}

int emu_call_unshare(struct emu_call *call, uint64_t address, uint64_t length)
{
	struct emu_message q = { .request = EMU_UNSHARE, .address = address, .length = length };

	return (int)ask_number(call, &q, NULL, 0, NULL, 0);
}

/* While the client waits for its reply, only a signal can come. */
static int receive_cancel(struct emu_call *call)
{
	int fds[EMU_FDS_MAX];
	struct packet p;

	if (emu_message_receive(call->fd, &p.msg, fds))
		return cut_off(call);
	close_fds(fds, p.msg.nr_fds);
	if (p.msg.type != EMU_CANCEL)
		return cut_off(call);
	call->cancelled = true;
	return -EINTR;
}

int emu_call_wait(struct emu_call *call, int fd, int timeout_ms)
{
	struct pollfd fds[2] = { { .fd = fd, .events = POLLIN },
				 { .fd = call->fd, .events = POLLIN } };
	uint64_t end = gp__clock_ns() + timeout_ms * GP__MS;

	if (call->cancelled)
		return -EINTR;
	for (;;) {
		uint64_t now = gp__clock_ns();
		uint64_t left = end > now ? end - now : 0;
		struct timespec ts = { (time_t)(left / 1000000000), (long)(left % 1000000000) };
		int n = ppoll(fds, 2, timeout_ms < 0 ? NULL : &ts, NULL);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && fds[0].revents)
			return 0;
		if (n > 0 && fds[1].revents)
			return receive_cancel(call);
		if (!n)
			return -ETIME;
	}
}
