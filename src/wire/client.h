/* SPDX-License-Identifier: MIT */
/*
 * The program's side of the wire: what an agent and the command line do with it.
 *
 * One thread at a time uses a client, with one exception: gp__wire_client_work() and
 * gp__wire_client_arriving() may be called by any thread, as long as only one does so for a slot.
 */
#ifndef GP__WIRE_CLIENT_H
#define GP__WIRE_CLIENT_H

#include "wire/wire.h"

struct gp__wire_client {
	int socket; /* ends when the daemon does */
	int bell; /* the daemon rings it when there are orders */
	int daemon_bell;
	u32 nr_slots, seq;
	u64 ttl_ns;
	struct gp__wire_up *up;
	const struct gp__wire_down *down;
};

/*
 * Connects and says hello, as an agent with room for @nr_slots queues. 0, or -errno and why in
 * @text. The daemon may give fewer slots.
 */
int gp__wire_client_open(struct gp__wire_client *c, const char *path, const char *program,
			 u32 nr_slots, char text[GP__WIRE_TEXT_MAX]);
void gp__wire_client_close(struct gp__wire_client *c);

/*
 * Sends a request and waits for what is replied: its result, or -errno of the connection
 * (-ETIMEDOUT: the daemon does not answer). @reply may be NULL.
 */
int gp__wire_client_request(struct gp__wire_client *c, void *message, struct gp__wire_reply *reply);

/* A queue has work, or has none any more. Rings where somebody wants to know. */
void gp__wire_client_work(struct gp__wire_client *c, u32 slot, bool has_work, u32 pending, u64 now);
/* Work is announced for a time, for all queues of this one's priority and tag on its GPU; 0: no
 * longer. Rings where somebody wants to know. */
void gp__wire_client_arriving(struct gp__wire_client *c, u32 slot, u64 at_ns);
/* The order was carried out, or not, from @began_ns on for @took_ns. */
void gp__wire_client_done(struct gp__wire_client *c, u32 slot, u32 number, int result, u64 began_ns,
			  u64 took_ns);
/* The order was not renewed in time, and the queue runs. */
void gp__wire_client_expired(struct gp__wire_client *c, u32 slot, u32 number);
/* A slot for a new queue: as if nothing had been in it. */
void gp__wire_client_reset(struct gp__wire_client *c, u32 slot);

/* The command line's: connects and says hello. A descriptor or -errno. */
int gp__wire_control(const char *path, char text[GP__WIRE_TEXT_MAX]);
/* Sends @request, JSON, and gets the whole answer, for free(). 0 or -errno. */
int gp__wire_ask(int fd, const char *request, char **answer);
/* The next line of those that are watched, without an end of line: its length, 0 at the end, or
 * -errno (-EAGAIN: none within @timeout_ms). */
ssize_t gp__wire_next_line(int fd, char *line, size_t size, int timeout_ms);

#endif
