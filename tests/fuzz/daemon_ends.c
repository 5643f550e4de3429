// SPDX-License-Identifier: MIT
#include "daemon_ends.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* A client that has sent a request waits for the others before its next, and on a busy host a turn
 * may serve only one. */
#define TURNS_MAX 1000

static struct gp__log quiet;

uint8_t next_byte(struct bytes *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

/* The time that the daemon takes is not the input's: nobody is slowed for it. */
static void forgive(struct gp__server *s)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->registry.users)
	{
		struct gp__user *u = container_of(l, struct gp__user, link);

		u->time = u->lines = (struct gp__allowance){ 0 };
	}
}

void turn(struct gp__server *s)
{
	u64 wake = 0;

	forgive(s);
	if (gp__server_turn(s, &wake))
		abort();
}

static void *map(int fd, size_t bytes, int protection)
{
	void *at = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		abort();
	return at;
}

static void say_hello(struct gp__server *s, struct end *e, enum gp__wire_role role)
{
	struct gp__wire_hello hello = { .head = { sizeof(hello), GP__WIRE_HELLO, 0, 1, 0 },
					.version_min = GP__WIRE_VERSION,
					.version_max = GP__WIRE_VERSION,
					.role = role,
					.nr_slots = SLOTS,
					.program = "fuzz" };
	struct gp__wire_welcome welcome;
	int fds[4] = { -1, -1, -1, -1 };
	ssize_t n = -EAGAIN;
	u32 nr_fds;

	gp__wire_send(e->fd, &hello, NULL, 0);
	for (int i = 0; i < TURNS_MAX && n == -EAGAIN; i++) {
		turn(s);
		nr_fds = 4;
		n = gp__wire_receive(e->fd, &welcome, sizeof(welcome), fds, &nr_fds);
	}
	if (n != sizeof(welcome))
		return;
	if (nr_fds == 4) {
		e->status = map(fds[0], gp__wire_status_bytes(SLOTS, GP__WIRE_VERSION),
				PROT_READ | PROT_WRITE);
		e->order = map(fds[1], gp__wire_order_bytes(SLOTS), PROT_READ);
	}
	while (nr_fds)
		close(fds[--nr_fds]);
}

void come(struct gp__server *s, struct end *e, enum gp__wire_role role)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		abort();
	gp__listener_add_peer(s, pair[0], true);
	*e = (struct end){ .fd = pair[1] };
	say_hello(s, e, role);
}

void go(struct end *e)
{
	if (e->status) {
		munmap(e->status, gp__wire_status_bytes(SLOTS, GP__WIRE_VERSION));
		munmap((void *)e->order, gp__wire_order_bytes(SLOTS));
	}
	close(e->fd);
	*e = (struct end){ .fd = -1 };
}

void drain(struct end *e)
{
	static char room[GP__WIRE_MESSAGE_MAX];

	while (recv(e->fd, room, sizeof(room), MSG_DONTWAIT) > 0)
		;
}

void read_pages(struct gp__server *s)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->peers)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, link);

		if (p->status)
			gp__serve_later(s, p, GP__LANE_REPORTS);
	}
	turn(s);
}

void open_server(struct gp__server *s)
{
	int pair[2];

	gp__log_init(&quiet, "fuzz", stderr);
	quiet.level = GP__LOG_ERROR;
	/* Nothing connects to this socket. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) ||
	    gp__server_open(s, &quiet, NULL, false, "", pair[0]))
		abort();
	close(pair[1]);
	s->claims.off = true; /* a thread of its own would make runs differ */
	gp__server_unwatch(s, &s->listener);
}

void close_server(struct gp__server *s)
{
	for (int i = 0; i < TURNS_MAX && s->nr_peers; i++)
		turn(s);
	if (!gp__list_empty(&s->registry.groups) || s->nr_peers)
		abort();
	gp__server_close(s);
}
