// SPDX-License-Identifier: MIT
/*
 * Connections to the machine. A call takes the first free one, so there are as many as calls were
 * in progress at a time; a signal handler during a call takes another.
 *
 * A program may close descriptors that it does not know, and open others under their numbers: a
 * connection is used only if it is still the same socket.
 */
#include "emu/client/client.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/un.h>

#include "emu/client/raw.h"

#define NR_CONNECTIONS 64

static struct {
	struct client_connection slot[NR_CONNECTIONS];
	_Atomic uint64_t cookie; /* 0: none yet */
	_Atomic unsigned int generation; /* incremented in each child */
	_Atomic uint64_t nr_sets; /* the greatest of all replies */
	_Atomic bool complained;
} pool;

/* Of the last reply to this thread. No allocation at its first use: that may be in a handler. */
static _Thread_local uint64_t thread_sets __attribute__((tls_model("initial-exec")));

static uint64_t cookie(void)
{
	uint64_t old = atomic_load(&pool.cookie), drawn = 0;

	while (!old) {
		if (raw(SYS_getrandom, (long)&drawn, sizeof(drawn), 0, 0, 0, 0) != sizeof(drawn))
			continue;
		if (drawn && atomic_compare_exchange_strong(&pool.cookie, &old, drawn))
			return drawn;
	}
	return old;
}

/* The address of a socket is short: a long path is accessed through its open folder. */
static int connect_path(int fd, struct sockaddr_un *to, const char *dir, size_t len)
{
	long err;

	if (len + sizeof("/" EMU_SOCKET) > sizeof(to->sun_path))
		return -ENAMETOOLONG;
	memcpy(to->sun_path, dir, len);
	memcpy(to->sun_path + len, "/" EMU_SOCKET, sizeof("/" EMU_SOCKET));
	do
		err = raw(SYS_connect, fd, (long)to, sizeof(*to), 0, 0, 0);
	while (err == -EINTR);
	return (int)err;
}

static int connect_to(int fd)
{
	const struct client_machine *m = &client_machine;
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	char link[40] = "/proc/thread-self/fd/";
	char digits[12];
	size_t n = 0, len = strlen(link);
	int dir, err;

	if (m->dir_len + sizeof("/" EMU_SOCKET) <= sizeof(to.sun_path))
		return connect_path(fd, &to, m->dir, m->dir_len);
	dir = raw_openat(AT_FDCWD, m->dir, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (dir < 0)
		return dir;
	for (int rest = dir; rest || !n; rest /= 10)
		digits[n++] = (char)('0' + rest % 10);
	while (n)
		link[len++] = digits[--n];
	err = connect_path(fd, &to, link, len);
	raw_close(dir);
	return err;
}

/* A program may not report why its calls fail, or retry for ever. */
static void complain(const char *what, const char *remedy)
{
	const char *part[] = { "libgpreempt-emu: the machine in ", client_machine.dir, what, remedy,
			       "\n" };
	struct iovec iov[sizeof(part) / sizeof(part[0])];

	if (atomic_exchange(&pool.complained, true))
		return;
	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		iov[i] = (struct iovec){ (void *)part[i], strlen(part[i]) };
	raw(SYS_writev, 2, (long)iov, sizeof(part) / sizeof(part[0]), 0, 0, 0);
}

static int say_hello(struct client_connection *c)
{
	struct emu_message hello = { .type = EMU_HELLO,
				     .length = EMU_PROTOCOL_VERSION,
				     .address = cookie() };
	struct iovec iov = { c->packet, sizeof(*c->packet) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };
	int err = client_send(c, &hello, NULL, 0, NULL, 0);
	long n;

	if (err)
		return err;
	do
		n = raw_recvmsg(c->fd, &h, MSG_CMSG_CLOEXEC);
	while (n == -EINTR);
	if (n < (long)sizeof(c->packet->msg) || c->packet->msg.type != EMU_REPLY)
		return -ENODEV;
	if (c->packet->msg.result)
		complain(" speaks another version of the protocol. ",
			 "Start it anew with this version of gpreempt.");
	return c->packet->msg.result ? -ENODEV : 0;
}

static bool is_open(const struct client_connection *c)
{
	struct stat st;

	return c->ino && c->fd >= 0 && !raw_fstat(c->fd, &st) && S_ISSOCK(st.st_mode) &&
	       st.st_ino == c->ino;
}

static void close_connection(struct client_connection *c)
{
	if (is_open(c))
		raw_close(c->fd);
	c->fd = -1;
	c->ino = 0;
}

static int open_connection(struct client_connection *c)
{
	struct stat st;
	int err;

	if (!c->packet) {
		long at = raw_mmap(0, sizeof(*c->packet), PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (raw_failed(at))
			return (int)at;
		c->packet = (struct client_packet *)at;
	}
	c->fd = client_move_fd(
		(int)raw(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, 0, 0, 0));
	if (c->fd < 0)
		return c->fd;
	/* First of all: a child that is created meanwhile must recognise it as ours. */
	err = raw_fstat(c->fd, &st);
	c->ino = err ? 0 : st.st_ino;
	if (!err)
		err = connect_to(c->fd);
	if (!err)
		err = say_hello(c);
	if (err)
		close_connection(c);
	return err;
}

static struct client_connection *take(struct client_connection *own)
{
	for (uint32_t i = 0; i < NR_CONNECTIONS; i++) {
		bool idle = false;

		if (atomic_compare_exchange_strong(&pool.slot[i].busy, &idle, true))
			return &pool.slot[i];
	}
	*own = (struct client_connection){ .fd = -1, .temporary = true };
	return own;
}

static void put_back(struct client_connection *c)
{
	if (!c->temporary) {
		atomic_store(&c->busy, false);
		return;
	}
	close_connection(c);
	if (c->packet)
		raw_munmap((uint64_t)c->packet, sizeof(*c->packet));
}

/* Whether the machine has hung up. */
static bool hung_up(const struct client_connection *c)
{
	uint8_t byte;

	return raw(SYS_recvfrom, c->fd, (long)&byte, 1, MSG_PEEK | MSG_DONTWAIT, 0, 0) != -EAGAIN;
}

bool client_ended(const struct client_connection *c)
{
	return is_open(c) && hung_up(c);
}

struct client_connection *client_connect(struct client_connection *own, unsigned int *generation)
{
	struct client_connection *c;

	*generation = atomic_load(&pool.generation);
	c = take(own);
	if (is_open(c) && !hung_up(c))
		return c;
	close_connection(c);
	if (!open_connection(c))
		return c;
	complain(" does not answer: calls fail. ", "Start one with 'gpreempt emu start'.");
	put_back(c);
	return NULL;
}

void client_disconnect(struct client_connection *c, unsigned int generation, bool broken)
{
	/* A call during which a signal handler forked has ended for the child. */
	if (generation != atomic_load(&pool.generation) && !c->temporary)
		return;
	if (broken)
		close_connection(c);
	put_back(c);
}

uint64_t client_cookie_at(void)
{
	return (uint64_t)&pool.cookie;
}

uint64_t client_sets_known(void)
{
	return thread_sets ? thread_sets : atomic_load(&pool.nr_sets);
}

void client_sets_note(uint64_t nr)
{
	uint64_t known = atomic_load(&pool.nr_sets);

	if (nr)
		thread_sets = nr;
	/* Threads may have received their replies in another order. */
	while (nr > known && !atomic_compare_exchange_weak(&pool.nr_sets, &known, nr))
		;
}

void client_connections_forked(void)
{
	atomic_fetch_add(&pool.generation, 1);
	atomic_store(&pool.cookie, 0);
	atomic_store(&pool.nr_sets, 0);
	thread_sets = 0;
	for (uint32_t i = 0; i < NR_CONNECTIONS; i++) {
		close_connection(&pool.slot[i]);
		atomic_store(&pool.slot[i].busy, false);
	}
}
