// SPDX-License-Identifier: MIT
/*
 * A call: sends the request, and answers the machine's requests until the reply comes.
 *
 * A signal handler that restarts interrupted calls does not end the kernel's wait for a message;
 * any other does, as with an ioctl. Then the machine is notified, and its reply is the result.
 */
#include "emu/client/client.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/client/raw.h"
#include "emu/message.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

struct reply {
	struct emu_message msg;
	int fd; /* the first descriptor of the message; -1 */
};

int client_send(struct client_connection *c, struct emu_message *msg, const void *data, size_t len,
		const int *fds, uint32_t nr_fds)
{
	union emu_control control;
	struct iovec iov[2] = { { msg, sizeof(*msg) }, { (void *)data, len } };
	struct msghdr h = { .msg_iov = iov, .msg_iovlen = len ? 2 : 1 };
	long n;

	msg->data_len = (uint32_t)len;
	msg->nr_fds = nr_fds;
	emu_control_put(&control, &h, fds, nr_fds);
	do
		n = raw_sendmsg(c->fd, &h, MSG_NOSIGNAL);
	while (n == -EINTR);
	if (n < 0)
		return (int)n;
	return n == (long)(sizeof(*msg) + len) ? 0 : -EPROTO;
}

/* Through this thread's folder: the first thread of the process may have ended. */
static int copy(long call, void *ours, uint64_t theirs, size_t len)
{
	struct iovec local = { ours, len }, remote = { (void *)theirs, len };
	long n = raw(call, raw_gettid(), (long)&local, 1, (long)&remote, 1, 0);

	return n == (long)len ? 0 : -EFAULT;
}

int client_read(void *to, uint64_t from, size_t len)
{
	return copy(SYS_process_vm_readv, to, from, len);
}

int client_write(uint64_t to, const void *from, size_t len)
{
	return copy(SYS_process_vm_writev, (void *)from, to, len);
}

static void close_fds(const int *fds, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		raw_close(fds[i]);
}

/*
 * Receives the next message of the machine into the connection's packet. -EMFILE: there was no room
 * for its descriptors; -EINTR; any other error: the machine is gone.
 */
static int receive(struct client_connection *c, int *fds)
{
	union emu_control control;
	struct emu_message *msg = &c->packet->msg;
	struct iovec iov = { c->packet, sizeof(*c->packet) };
	struct msghdr h = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };
	long n = raw_recvmsg(c->fd, &h, MSG_CMSG_CLOEXEC);
	uint32_t nr_fds;

	if (n == -EINTR)
		return -EINTR;
	if (n <= 0)
		return -ENODEV;
	nr_fds = emu_control_take(&h, fds);
	if ((size_t)n < sizeof(*msg) || (h.msg_flags & MSG_TRUNC) ||
	    msg->data_len != (size_t)n - sizeof(*msg)) {
		close_fds(fds, nr_fds);
		return -ENODEV;
	}
	if (msg->nr_fds == nr_fds)
		return 0;
	close_fds(fds, nr_fds);
	msg->nr_fds = 0;
	return -EMFILE;
}

static int answer_error(struct client_connection *c, int err)
{
	struct emu_message answer = { .type = EMU_ANSWER, .result = err };

	return client_send(c, &answer, NULL, 0, NULL, 0);
}

static int answer_question(struct client_connection *c, int received, const int *fds)
{
	int err = received ? answer_error(c, received) : client_answer(c, fds);

	return err ? -ENODEV : 0;
}

/* Waits for the reply. */
static int64_t converse(struct client_connection *c, struct reply *reply)
{
	bool cancelled = false;

	for (;;) {
		struct emu_message *msg = &c->packet->msg;
		int fds[EMU_FDS_MAX];
		int err = receive(c, fds);

		if (err == -EINTR) {
			struct emu_message cancel = { .type = EMU_CANCEL };

			if (!cancelled && client_send(c, &cancel, NULL, 0, NULL, 0))
				return -ENODEV;
			cancelled = true;
			continue;
		}
		if (err && err != -EMFILE)
			return -ENODEV;
		if (msg->type == EMU_ASK) {
			if (answer_question(c, err, fds))
				return -ENODEV;
			continue;
		}
		if (msg->type != EMU_REPLY)
			return -ENODEV;
		/* Like in the kernel, a bad address is the result, whatever else was done. */
		if (msg->data_len && client_write(msg->address, c->packet->data, msg->data_len))
			msg->result = -EFAULT;
		reply->msg = *msg;
		reply->fd = msg->nr_fds ? fds[0] : -1;
		if (msg->nr_fds > 1)
			close_fds(fds + 1, msg->nr_fds - 1);
		return err;
	}
}

/* The result of a call; with a descriptor if @reply has one. -ENODEV: the machine is gone. */
static int64_t call(struct emu_message *msg, const void *data, size_t len, struct reply *reply)
{
	struct client_connection own, *c;
	unsigned int generation;
	int64_t result;

	*reply = (struct reply){ .fd = -1 };
	c = client_connect(&own, &generation);
	if (!c)
		return -ENODEV;
	result = client_send(c, msg, data, len, NULL, 0);
	result = result ? -ENODEV : converse(c, reply);
	client_disconnect(c, generation, result == -ENODEV);
	if (!result)
		result = reply->msg.result;
	if (result < 0 && reply->fd >= 0)
		raw_close(reply->fd);
	return result;
}

int64_t client_open(const char *path, int flags, dev_t rdev)
{
	struct emu_message msg = { .type = EMU_OPEN, .flags = (uint32_t)flags };
	struct reply reply;
	int64_t err = call(&msg, path, strlen(path), &reply);

	if (err < 0)
		return err;
	if (reply.fd < 0)
		return -ENODEV;
	err = reply.msg.file ? client_file_add(reply.fd, reply.msg.file, rdev) : 0;
	if (!err && !(flags & O_CLOEXEC))
		err = raw_fcntl(reply.fd, F_SETFD, 0);
	/*
	 * Files that are not devices are opened once for reading, or written word by word: a pipe
	 * has its own mode.
	 */
	if (!err && reply.msg.file && (flags & (O_NONBLOCK | O_APPEND)))
		err = raw_fcntl(reply.fd, F_SETFL, flags & (O_NONBLOCK | O_APPEND));
	if (!err)
		return reply.fd;
	raw_close(reply.fd);
	return err;
}

/* The length of the argument that is sent along; 0: the machine asks for it if it needs it. */
static size_t read_argument(unsigned long request, const void *argument, void *to)
{
	size_t len = _IOC_SIZE(request);

	if (len > EMU_ARGUMENT_MAX || !(_IOC_DIR(request) & _IOC_WRITE))
		return 0;
	return len && !client_read(to, (uint64_t)argument, len) ? len : 0;
}

int64_t client_ioctl(uint64_t file, unsigned long request, void *argument)
{
	struct emu_message msg = { .type = EMU_IOCTL,
				   .file = file,
				   .request = (uint32_t)request,
				   .address = (uint64_t)argument,
				   .length = (uint64_t)raw_gettid(),
				   .offset = client_sets_known(),
				   .flags = EMU_TAKES_DATA };
	uint8_t data[EMU_ARGUMENT_MAX];
	size_t len = read_argument(request, argument, data);
	struct reply reply;
	int64_t result;

	if (client_serve_for(request, data, len))
		msg.flags |= EMU_SERVES;
	result = call(&msg, data, len, &reply);

	client_sets_note(reply.msg.offset);
	if (result >= 0 && reply.fd >= 0)
		raw_close(reply.fd);
	if (_IOC_TYPE(request) != GP_KFD_MAGIC)
		return result;
	if (result == -ENODEV)
		return client_lost_wait(request, argument);
	if (result >= 0)
		client_lost_note(request, argument);
	return result;
}

int64_t client_serve(void)
{
	struct emu_message msg = { .type = EMU_SERVE, .address = client_cookie_at() };
	struct reply reply;

	return call(&msg, NULL, 0, &reply);
}

#define KIND_OF_MAPPING (MAP_TYPE | MAP_ANONYMOUS)

static int64_t map_by(struct emu_message *msg, void *at, size_t len, int prot, int flags,
		      uint64_t offset)
{
	struct reply reply;
	int64_t result;

	if (offset & ((uint64_t)sysconf(_SC_PAGESIZE) - 1))
		return -EINVAL;
	msg->type = EMU_MMAP;
	msg->address = (uint64_t)at;
	msg->length = len;
	msg->offset = offset;
	msg->flags = (uint32_t)flags;
	msg->prot = (uint32_t)prot;
	result = call(msg, NULL, 0, &reply);
	if (result < 0)
		return result;
	/* The machine chooses the memory, the program the address. */
	flags = (flags & ~KIND_OF_MAPPING) | ((int)reply.msg.flags & KIND_OF_MAPPING);
	result =
		raw_mmap((uint64_t)at, len, (int)reply.msg.prot, flags, reply.fd, reply.msg.offset);
	if (reply.fd >= 0)
		raw_close(reply.fd);
	return result;
}

int64_t client_mmap(uint64_t file, void *at, size_t len, int prot, int flags, uint64_t offset)
{
	struct emu_message msg = { .file = file };

	return map_by(&msg, at, len, prot, flags, offset);
}

int64_t client_mmap_dmabuf(int fd, void *at, size_t len, int prot, int flags, uint64_t offset)
{
	struct emu_message msg = { .request = (uint32_t)fd };

	return map_by(&msg, at, len, prot, flags, offset);
}
