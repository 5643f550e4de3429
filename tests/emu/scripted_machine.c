// SPDX-License-Identifier: MIT
#include "scripted_machine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <linux/userfaultfd.h>

#include "emu/protocol.h"

#define FILES_MAX 4096
#define SHARED_MAX 4096

struct packet {
	struct emu_message msg;
	uint8_t data[EMU_DATA_MAX];
	int fd[EMU_FDS_MAX];
};

struct piece {
	uint64_t cookie, address, length;
	char *at;
};

static struct {
	struct script_state *state;
	pthread_mutex_t lock;
	uint64_t owner[FILES_MAX]; /* its cookie */
	bool is_kfd[FILES_MAX];
	uint32_t nr_files;
	struct piece piece[SHARED_MAX];
	uint32_t nr_pieces;
} machine = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct connection {
	int fd;
	uint64_t cookie;
	pid_t pid;
	bool cancelled;
};

static bool send_message(int fd, struct emu_message *msg, const void *data, size_t len, int with)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov[2] = { { msg, sizeof(*msg) }, { (void *)data, len } };
	struct msghdr h = { .msg_iov = iov, .msg_iovlen = 2 };

	msg->data_len = (uint32_t)len;
	msg->nr_fds = with >= 0;
	if (with >= 0) {
		struct cmsghdr *c = (struct cmsghdr *)control;

		h.msg_control = control;
		h.msg_controllen = sizeof(control);
		*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
				       .cmsg_type = SCM_RIGHTS,
				       .cmsg_len = CMSG_LEN(sizeof(int)) };
		memcpy(CMSG_DATA(c), &with, sizeof(with));
	}
	return sendmsg(fd, &h, MSG_NOSIGNAL) == (ssize_t)(sizeof(*msg) + len);
}

static bool receive(int fd, struct packet *p)
{
	char control[CMSG_SPACE(EMU_FDS_MAX * sizeof(int))];
	struct iovec iov = { p, sizeof(p->msg) + sizeof(p->data) };
	struct msghdr h = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c;

	if (recvmsg(fd, &h, MSG_CMSG_CLOEXEC) < (ssize_t)sizeof(p->msg))
		return false;
	c = CMSG_FIRSTHDR(&h);
	if (p->msg.nr_fds && c)
		memcpy(p->fd, CMSG_DATA(c), p->msg.nr_fds * sizeof(int));
	return true;
}

/* The answer's result; it is in @p. */
static int64_t ask(struct connection *c, struct emu_message *q, const void *data, size_t len,
		   int with, struct packet *p)
{
	q->type = EMU_ASK;
	if (!send_message(c->fd, q, data, len, with))
		return -ECONNRESET;
	while (receive(c->fd, p)) {
		if (p->msg.type == EMU_ANSWER)
			return p->msg.result;
		c->cancelled = true;
	}
	return -ECONNRESET;
}

static int64_t user_read(struct connection *c, uint64_t from, void *to, size_t len)
{
	struct emu_message q = { .request = EMU_READ, .address = from, .length = len };
	struct packet p;
	int64_t err = ask(c, &q, NULL, 0, -1, &p);

	if (!err)
		memcpy(to, p.data, len);
	return err;
}

static int64_t user_write(struct connection *c, uint64_t to, const void *from, size_t len)
{
	struct emu_message q = { .request = EMU_WRITE, .address = to };
	struct packet p;

	return ask(c, &q, from, len, -1, &p);
}

static int64_t wait_a_while(struct connection *c, uint64_t ms)
{
	struct pollfd fd = { .fd = c->fd, .events = POLLIN };
	struct packet p;

	atomic_fetch_add(&machine.state->nr_waits, 1);
	if (!c->cancelled && !poll(&fd, 1, (int)ms))
		return 7;
	if (!c->cancelled && !receive(c->fd, &p))
		return -ECONNRESET;
	return -EINTR;
}

static int64_t share(struct connection *c, const struct script_args *a)
{
	uint64_t done = 0;
	int64_t total = 0;

	while (done < a->b) {
		struct emu_message q = { .request = EMU_SHARE,
					 .address = a->a + done,
					 .length = a->b - done,
					 .flags = (uint32_t)a->c };
		struct packet p;
		int64_t err = ask(c, &q, NULL, 0, -1, &p);
		struct emu_piece *piece = (struct emu_piece *)p.data;
		uint32_t n = p.msg.data_len / sizeof(*piece);

		if (err)
			return err;
		pthread_mutex_lock(&machine.lock);
		for (uint32_t i = 0; i < n; i++) {
			void *at = mmap(NULL, piece[i].length, PROT_READ | PROT_WRITE, MAP_SHARED,
					p.fd[piece[i].fd], (off_t)piece[i].offset);

			if (at == MAP_FAILED || piece[i].address != a->a + done)
				abort();
			machine.piece[machine.nr_pieces++] =
				(struct piece){ c->cookie, piece[i].address, piece[i].length, at };
			done += piece[i].length;
		}
		pthread_mutex_unlock(&machine.lock);
		for (uint32_t i = 0; i < p.msg.nr_fds; i++)
			close(p.fd[i]);
		total += n;
	}
	return total;
}

static int64_t take_back(struct connection *c, const struct script_args *a)
{
	struct emu_message q = { .request = EMU_UNSHARE, .address = a->a, .length = a->b };
	struct packet p;
	uint32_t kept = 0;

	pthread_mutex_lock(&machine.lock);
	for (uint32_t i = 0; i < machine.nr_pieces; i++) {
		struct piece *piece = &machine.piece[i];

		if (piece->cookie == c->cookie && piece->address >= a->a &&
		    piece->address + piece->length <= a->a + a->b)
			munmap(piece->at, piece->length);
		else
			machine.piece[kept++] = *piece;
	}
	machine.nr_pieces = kept;
	pthread_mutex_unlock(&machine.lock);
	return ask(c, &q, NULL, 0, -1, &p);
}

static int64_t word(struct connection *c, const struct script_args *a, uint64_t *value, bool write)
{
	int64_t err = -EFAULT;

	pthread_mutex_lock(&machine.lock);
	for (uint32_t i = 0; err && i < machine.nr_pieces; i++) {
		struct piece *piece = &machine.piece[i];

		if (piece->cookie != c->cookie || a->a < piece->address ||
		    a->a >= piece->address + piece->length)
			continue;
		if (write)
			*(uint64_t *)(piece->at + (a->a - piece->address)) = *value;
		else
			*value = *(uint64_t *)(piece->at + (a->a - piece->address));
		err = 0;
	}
	pthread_mutex_unlock(&machine.lock);
	return err;
}

static int64_t get_fd(struct connection *c, const struct script_args *a)
{
	struct emu_message q = { .request = EMU_GET_FD, .address = a->a };
	struct packet p;
	int64_t err = ask(c, &q, NULL, 0, -1, &p);
	char byte = (char)a->b;

	if (err)
		return err;
	err = write(p.fd[0], &byte, 1);
	close(p.fd[0]);
	return err;
}

static int64_t put_fd(struct connection *c, const struct script_args *a)
{
	struct emu_message q = { .request = EMU_PUT_FD, .flags = (uint32_t)a->b };
	struct packet p;
	char byte = (char)a->a;
	int ends[2];
	int64_t number;

	if (pipe(ends) || write(ends[1], &byte, 1) != 1)
		return -errno;
	close(ends[1]);
	number = ask(c, &q, NULL, 0, ends[0], &p);
	close(ends[0]);
	return number;
}

struct watch {
	int fd;
	struct uffdio_range range;
};

/* Waits for one write and lets it continue. */
static void *watch_doorbells(void *arg)
{
	struct watch *w = arg;
	struct uffdio_writeprotect let = { .range = w->range };
	struct pollfd fd = { .fd = w->fd, .events = POLLIN };
	struct uffd_msg msg;

	poll(&fd, 1, 10000);
	if (read(w->fd, &msg, sizeof(msg)) == sizeof(msg) && msg.event == UFFD_EVENT_PAGEFAULT)
		atomic_fetch_add(&machine.state->doorbells, 1);
	ioctl(w->fd, UFFDIO_WRITEPROTECT, &let);
	close(w->fd);
	free(w);
	return NULL;
}

static int64_t watch(struct connection *c, const struct script_args *a)
{
	struct emu_message q = { .request = EMU_WATCH, .address = a->a, .length = a->b };
	struct uffdio_writeprotect arm = { .range = { a->a, a->b },
					   .mode = UFFDIO_WRITEPROTECT_MODE_WP };
	struct packet p;
	int64_t err = ask(c, &q, NULL, 0, -1, &p);
	struct watch *w = malloc(sizeof(*w));
	pthread_t thread;

	if (err || !w) {
		free(w);
		return err;
	}
	*w = (struct watch){ p.fd[0], arm.range };
	if (ioctl(w->fd, UFFDIO_WRITEPROTECT, &arm))
		return -errno;
	pthread_create(&thread, NULL, watch_doorbells, w);
	pthread_detach(thread);
	return 0;
}

static int64_t add(struct connection *c, uint64_t at, size_t step)
{
	struct script_args args;

	for (size_t done = 0; done < sizeof(args); done += step) {
		int64_t err = user_read(c, at + done, (char *)&args + done, step);

		if (err)
			return err;
	}
	args.d = args.a + args.b;
	for (size_t done = 0; done < sizeof(args); done += step) {
		int64_t err = user_write(c, at + done, (char *)&args + done, step);

		if (err)
			return err;
	}
	return (int64_t)args.c;
}

static int64_t run(struct connection *c, uint32_t request, uint64_t at)
{
	struct emu_message q = { .request = EMU_GET_FILE };
	struct script_args args = { 0 };
	struct packet p;
	uint8_t byte = 42;
	int64_t err = 0;

	if (request == SCRIPT_READ)
		return user_read(c, at, &byte, 1);
	if (request == SCRIPT_WRITE)
		return user_write(c, at, &byte, 1);
	if (request == SCRIPT_ADD || request == SCRIPT_SLOW_ADD)
		return add(c, at, request == SCRIPT_ADD ? sizeof(args) : 1);
	err = user_read(c, at, &args, sizeof(args));
	if (err)
		return err;
	switch (request) {
	case SCRIPT_WAIT:
		return wait_a_while(c, args.a);
	case SCRIPT_DIE:
		_exit(0);
	case SCRIPT_GET_FILE:
		q.address = args.a;
		err = ask(c, &q, NULL, 0, -1, &p);
		return err ? err : (int64_t)p.msg.file;
	case SCRIPT_GET_FD:
		return get_fd(c, &args);
	case SCRIPT_PUT_FD:
		return put_fd(c, &args);
	case SCRIPT_SHARE:
		return share(c, &args);
	case SCRIPT_UNSHARE:
		return take_back(c, &args);
	case SCRIPT_PEEK:
		err = word(c, &args, &args.d, false);
		return err ? err : user_write(c, at, &args, sizeof(args));
	case SCRIPT_POKE:
		return word(c, &args, &args.b, true);
	case SCRIPT_WATCH:
		return watch(c, &args);
	default:
		return -ENOTTY;
	}
}

/* The file is open until the other end of its socket is closed. */
static void *wait_for_close(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char byte;

	while (read(fd, &byte, 1) > 0)
		;
	close(fd);
	atomic_fetch_sub(&machine.state->nr_files, 1);
	return NULL;
}

static int64_t open_file(struct connection *c, const char *path, struct emu_message *reply, int *fd)
{
	pthread_t thread;
	int ends[2];

	if (strstr(path, "debug")) {
		*fd = memfd_create("debug", MFD_CLOEXEC);
		if (dprintf(*fd, "of %s\n", path) < 0)
			return -errno;
		lseek(*fd, 0, SEEK_SET);
		return 0;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	*fd = ends[1];
	pthread_mutex_lock(&machine.lock);
	machine.owner[machine.nr_files] = c->cookie;
	machine.is_kfd[machine.nr_files] = !strcmp(path, "/dev/kfd");
	reply->file = ++machine.nr_files;
	pthread_mutex_unlock(&machine.lock);
	atomic_fetch_add(&machine.state->nr_files, 1);
	pthread_create(&thread, NULL, wait_for_close, (void *)(intptr_t)ends[0]);
	pthread_detach(thread);
	return 0;
}

/* The reply has the argument as its data, in the packet. */
static int64_t add_quickly(struct packet *p, struct emu_message *reply)
{
	struct script_args *args = (struct script_args *)p->data;

	if (p->msg.data_len != sizeof(*args) || !(p->msg.flags & EMU_TAKES_DATA))
		return -EFAULT;
	args->d = args->a + args->b;
	reply->address = p->msg.address;
	reply->data_len = sizeof(*args);
	return (int64_t)args->c;
}

static int64_t use_file(struct connection *c, struct packet *p, struct emu_message *reply, int *fd)
{
	uint64_t i = p->msg.file - 1;

	if (i >= machine.nr_files || (machine.is_kfd[i] && machine.owner[i] != c->cookie))
		return -EBADF;
	if (p->msg.type == EMU_IOCTL && p->msg.request == SCRIPT_QUICK_ADD)
		return add_quickly(p, reply);
	if (p->msg.type == EMU_IOCTL)
		return run(c, p->msg.request, p->msg.address);
	/* The page contains its offset, and is the second of the descriptor. */
	*fd = memfd_create("mapped", MFD_CLOEXEC);
	if (ftruncate(*fd, 2 * 4096) ||
	    pwrite(*fd, &p->msg.offset, sizeof(p->msg.offset), 4096) != sizeof(p->msg.offset))
		return -errno;
	reply->offset = 4096;
	reply->flags = MAP_SHARED;
	reply->prot = p->msg.prot;
	return 0;
}

static void serve_call(struct connection *c, struct packet *p)
{
	struct emu_message reply = { .type = EMU_REPLY };
	int fd = -1;

	c->cancelled = false;
	switch (p->msg.type) {
	case EMU_HELLO:
		c->cookie = p->msg.address;
		reply.result = p->msg.length == EMU_PROTOCOL_VERSION ? 0 : -EPROTO;
		break;
	case EMU_OPEN:
		p->data[p->msg.data_len] = '\0';
		reply.result = open_file(c, (char *)p->data, &reply, &fd);
		break;
	case EMU_IOCTL:
		atomic_store(&machine.state->nr_sets_known, p->msg.offset);
		reply.offset = atomic_load(&machine.state->nr_sets);
		reply.result = use_file(c, p, &reply, &fd);
		break;
	case EMU_MMAP:
		reply.result = use_file(c, p, &reply, &fd);
		break;
	case EMU_CANCEL:
		return;
	default:
		reply.result = -EPROTO;
	}
	atomic_store(&machine.state->cookie, c->cookie);
	atomic_store(&machine.state->pid, c->pid);
	send_message(c->fd, &reply, p->data, reply.data_len, fd);
	if (fd >= 0)
		close(fd);
}

static void *serve_connection(void *arg)
{
	struct connection c = { .fd = (int)(intptr_t)arg };
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	struct packet p;

	getsockopt(c.fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	c.pid = peer.pid;
	atomic_fetch_add(&machine.state->nr_connections, 1);
	while (receive(c.fd, &p))
		serve_call(&c, &p);
	atomic_fetch_sub(&machine.state->nr_connections, 1);
	close(c.fd);
	return NULL;
}

void script_serve(const char *dir, struct script_state *state)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	machine.state = state;
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/" EMU_SOCKET, dir);
	unlink(at.sun_path);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 200))
		abort();
	for (;;) {
		int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		pthread_t thread;

		if (client < 0)
			continue;
		pthread_create(&thread, NULL, serve_connection, (void *)(intptr_t)client);
		pthread_detach(thread);
	}
}
