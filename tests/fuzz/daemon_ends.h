/* SPDX-License-Identifier: MIT */
/* A daemon without threads of programs, whose turns the caller takes, and clients of it. */
#ifndef GP__TESTS_FUZZ_DAEMON_ENDS_H
#define GP__TESTS_FUZZ_DAEMON_ENDS_H

#include "daemon/server.h"
#include "wire/client.h"

#define SLOTS 4

/* The client's end of a connection. */
struct end {
	int fd;
	struct gp__wire_status_page *status; /* NULL: it is no agent */
	const struct gp__wire_order_page *order;
};

/* The input. */
struct bytes {
	const uint8_t *at;
	size_t left;
};

/* 0 at the end of the input. */
uint8_t next_byte(struct bytes *in);

void open_server(struct gp__server *s);
/* Serves what is ready now, and what follows from it, as gp__server_run() does. */
void turn(struct gp__server *s);
/* Makes the daemon read the pages of all agents, as if they had notified it. */
void read_pages(struct gp__server *s);
/* Lets the daemon notice that the clients are gone, which must leave nothing behind, and ends it.
 */
void close_server(struct gp__server *s);

/* Connects, with the credentials that the calling thread has. */
void come(struct gp__server *s, struct end *e, enum gp__wire_role role);
void go(struct end *e);
/* Reads the daemon's answers. */
void drain(struct end *e);

#endif
