// SPDX-License-Identifier: MIT
/*
 * A daemon with two agents and a command line, all of whom may send and write anything: it neither
 * crashes nor loses count of itself.
 *
 * An input is a list of steps: a byte that says who does what, one for its size, and the bytes. One
 * of the connections is an administrator's, since it is the process's own user.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/server.h"
#include "wire/client.h"

#define SLOTS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct gp__server server;
static struct gp__log quiet;
static const uint8_t *input;
static size_t left;

static uint8_t next_byte(void)
{
	if (!left)
		return 0;
	left--;
	return *input++;
}

/* Serves what is ready now, and what follows from it, as gp__server_run() does. */
static void turn(void)
{
	u64 wake = 0;

	if (gp__server_turn(&server, &wake))
		abort();
}

struct end {
	int fd;
	struct gp__wire_status_page *status;
	u32 nr_slots;
};

static struct end come(void)
{
	struct end e = { .fd = -1 };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		abort();
	gp__listener_add_peer(&server, pair[0], true);
	e.fd = pair[1];
	return e;
}

static void say_hello(struct end *e, enum gp__wire_role role)
{
	struct gp__wire_hello hello = { .head = { sizeof(hello), GP__WIRE_HELLO, 0, 1, 0 },
					.version_min = GP__WIRE_VERSION,
					.version_max = GP__WIRE_VERSION,
					.role = role,
					.nr_slots = SLOTS,
					.program = "fuzz" };
	struct gp__wire_welcome welcome;
	int fds[4] = { -1, -1, -1, -1 };
	u32 nr_fds = 4;

	gp__wire_send(e->fd, &hello, NULL, 0);
	turn();
	if (gp__wire_receive(e->fd, &welcome, sizeof(welcome), fds, &nr_fds) != sizeof(welcome))
		return;
	if (nr_fds == 4) {
		void *at = mmap(NULL, gp__wire_status_bytes(SLOTS), PROT_READ | PROT_WRITE,
				MAP_SHARED, fds[0], 0);

		e->status = at == MAP_FAILED ? NULL : at;
		e->nr_slots = welcome.nr_slots;
	}
	while (nr_fds)
		close(fds[--nr_fds]);
}

static void go(struct end *e)
{
	if (e->status)
		munmap(e->status, gp__wire_status_bytes(SLOTS));
	close(e->fd);
	e->fd = -1;
}

/* A message of a kind that the input chooses, its size and type right, its fields the input's. */
static void send_message(struct end *e, uint8_t kind)
{
	static const size_t sizes[] = { sizeof(struct gp__wire_queue_add),
					sizeof(struct gp__wire_queue_remove),
					sizeof(struct gp__wire_queue_level),
					sizeof(struct gp__wire_set_hints) };
	struct gp__wire_queue_add m = { 0 };
	size_t n = sizes[kind % 4];

	for (size_t i = sizeof(m.head); i < n && left; i++)
		((uint8_t *)&m)[i] = next_byte();
	m.head = (struct gp__wire_head){ (u32)n, (u16)(GP__WIRE_QUEUE_ADD + kind % 4), 0, 1, 0 };
	if (kind & 4) {
		/* Mostly right, so that there is a queue. */
		m.slot %= SLOTS;
		if (kind % 4 == 0) {
			m.level = m.level % 3 + 1;
			m.level_requested %= 4;
			m.hints = (struct gp__wire_hints){ .prio = m.hints.prio % 20 };
			snprintf(m.device, sizeof(m.device), "gpu-%u", m.flags % 3);
			memset(m.device_name, 0, sizeof(m.device_name));
			memset(m.tag, 0, sizeof(m.tag));
		}
	}
	gp__wire_send(e->fd, &m, NULL, 0);
}

static void send_raw(struct end *e)
{
	uint8_t bytes[256];
	size_t n = next_byte();

	for (size_t i = 0; i < n; i++)
		bytes[i] = next_byte();
	if (send(e->fd, bytes, n, MSG_NOSIGNAL) < 0 && errno == EBADF)
		abort();
}

static void send_text(struct end *e)
{
	struct {
		struct gp__wire_head head;
		char text[256];
	} m;
	size_t n = next_byte();

	for (size_t i = 0; i < n; i++)
		m.text[i] = (char)next_byte();
	m.head = (struct gp__wire_head){ (u32)(sizeof(m.head) + n), GP__WIRE_TEXT, 0, 2, 0 };
	gp__wire_send(e->fd, &m, NULL, 0);
}

/* The daemon reads the pages of all agents, as if they had notified it. */
static void read_pages(void)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &server.peers)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, link);

		if (p->status)
			gp__serve_later(&server, p, GP__LANE_REPORTS);
	}
	turn();
}

static void scribble(struct end *e)
{
	size_t at = (size_t)next_byte() << 8 | next_byte(), n = next_byte() % 32;

	for (size_t i = 0; e->status && i < n; i++)
		((uint8_t *)e->status)[(at + i) % gp__wire_status_bytes(e->nr_slots)] = next_byte();
	read_pages();
}

static void drain(struct end *e)
{
	static char room[GP__WIRE_MESSAGE_MAX];

	while (recv(e->fd, room, sizeof(room), MSG_DONTWAIT) > 0)
		;
}

static void check(void)
{
	struct gp__link *l, *n;
	u32 nr = 0;

	gp__list_each(l, n, &server.registry.groups) nr +=
		container_of(l, struct gp__group, link)->nr_queues;
	if (nr > 2 * SLOTS || server.registry.nr_held > nr)
		abort();
}

static void open_server(void)
{
	int pair[2];

	gp__log_init(&quiet, "fuzz", stderr);
	quiet.level = GP__LOG_ERROR;
	/* Nothing connects to this socket. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) ||
	    gp__server_open(&server, &quiet, NULL, false, "", pair[0]))
		abort();
	close(pair[1]);
	server.claims.off = true; /* a thread of its own would make runs differ */
	gp__server_unwatch(&server, &server.listener);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct end e[3];

	input = data;
	left = size;
	open_server();
	for (int i = 0; i < 3; i++) {
		e[i] = come();
		say_hello(&e[i], i < 2 ? GP__WIRE_AGENT : GP__WIRE_CONTROL);
	}
	while (left) {
		uint8_t what = next_byte();
		struct end *who = &e[what % 3];

		switch (what / 3 % 4) {
		case 0:
			send_message(who, next_byte());
			break;
		case 1:
			scribble(who);
			break;
		case 2:
			send_text(&e[2]);
			break;
		default:
			send_raw(who);
		}
		turn();
		drain(who);
		check();
	}
	for (int i = 0; i < 3; i++)
		go(&e[i]);
	/* A client that has sent a request waits for the others before its next. */
	for (int i = 0; i < 3 && server.nr_peers; i++)
		turn();
	if (!gp__list_empty(&server.registry.groups) || server.nr_peers)
		abort();
	gp__server_close(&server);
	return 0;
}
