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
#include <sys/socket.h>

#include "daemon_ends.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct gp__server server;
static struct bytes input;

/* A message of a kind that the input chooses, its size and type right, its fields the input's. */
static void send_message(struct end *e, uint8_t kind)
{
	static const size_t sizes[] = { sizeof(struct gp__wire_queue_add),
					sizeof(struct gp__wire_queue_remove),
					sizeof(struct gp__wire_queue_level),
					sizeof(struct gp__wire_set_hints) };
	struct gp__wire_queue_add m = { 0 };
	size_t n = sizes[kind % 4];

	for (size_t i = sizeof(m.head); i < n && input.left; i++)
		((uint8_t *)&m)[i] = next_byte(&input);
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

static void send_gang(struct end *e, u8 kind)
{
	struct gp__wire_gang m = { 0 };

	for (size_t i = sizeof(m.head); i < sizeof(m) && input.left; i++)
		((uint8_t *)&m)[i] = next_byte(&input);
	m.head = (struct gp__wire_head){ sizeof(m), GP__WIRE_GANG, 0, 1, 0 };
	if (kind & 4) {
		/* Mostly right, so that programs are in one. */
		m.members %= 4;
		memset(m.name, 0, sizeof(m.name));
		snprintf(m.name, sizeof(m.name), "gang-%u", kind & 1);
	}
	gp__wire_send(e->fd, &m, NULL, 0);
}

static void send_raw(struct end *e)
{
	uint8_t bytes[256];
	size_t n = next_byte(&input);

	for (size_t i = 0; i < n; i++)
		bytes[i] = next_byte(&input);
	if (send(e->fd, bytes, n, MSG_NOSIGNAL) < 0 && errno == EBADF)
		abort();
}

static void send_text(struct end *e)
{
	struct {
		struct gp__wire_head head;
		char text[256];
	} m;
	size_t n = next_byte(&input);

	for (size_t i = 0; i < n; i++)
		m.text[i] = (char)next_byte(&input);
	m.head = (struct gp__wire_head){ (u32)(sizeof(m.head) + n), GP__WIRE_TEXT, 0, 2, 0 };
	gp__wire_send(e->fd, &m, NULL, 0);
}

static void scribble(struct end *e)
{
	size_t at = (size_t)next_byte(&input) << 8 | next_byte(&input), n = next_byte(&input) % 32;

	for (size_t i = 0; e->status && i < n; i++)
		((uint8_t *)e->status)[(at + i) % gp__wire_status_bytes(SLOTS, GP__WIRE_VERSION)] =
			next_byte(&input);
	read_pages(&server);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct end e[3];

	input = (struct bytes){ data, size };
	open_server(&server);
	for (int i = 0; i < 3; i++)
		come(&server, &e[i], i < 2 ? GP__WIRE_AGENT : GP__WIRE_CONTROL);
	while (input.left) {
		uint8_t what = next_byte(&input);
		struct end *who = &e[what % 3];
		u8 kind;

		switch (what / 3 % 4) {
		case 0:
			kind = next_byte(&input);
			if (kind & 8)
				send_gang(who, kind);
			else
				send_message(who, kind);
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
		turn(&server);
		drain(who);
		check();
	}
	for (int i = 0; i < 3; i++)
		go(&e[i]);
	close_server(&server);
	return 0;
}
