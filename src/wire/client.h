/* SPDX-License-Identifier: MIT */
/*
 * The client side of the protocol, for agents and for the command line.
 *
 * A client is used by one thread at a time, except for gp__wire_client_work() and
 * gp__wire_client_arriving(): any thread may call them, but only one at a time for a slot.
 */
#ifndef GP__WIRE_CLIENT_H
#define GP__WIRE_CLIENT_H

#include "wire/wire.h"

/*
 * The timeout of an agent's connection and requests. It is short, because an agent releases no
 * expired hold while it waits: the timeout adds to the lease.
 */
#define GP__WIRE_PATIENCE_MS 500

struct gp__wire_client {
	int socket; /* at its end when the daemon ends */
	int notify_fd; /* readable when the daemon has written orders */
	int daemon_notify_fd;
	u32 nr_slots, seq;
	u32 version; /* of the protocol, as agreed */
	u64 ttl_ns;
	struct gp__wire_status_page *status;
	const struct gp__wire_order_page *order;
};

/*
 * Connects as an agent with @nr_slots queues. Returns 0, or -errno with the reason in @text. The
 * daemon may give fewer slots.
 */
int gp__wire_client_open(struct gp__wire_client *c, const char *path, const char *program,
			 u32 nr_slots, char text[GP__WIRE_TEXT_MAX]);
/* As gp__wire_client_open(), which waits for GP__WIRE_PATIENCE_MS twice, to connect and for the
 * welcome; here for @timeout_ms, which is not 0. */
int gp__wire_client_open_within(struct gp__wire_client *c, const char *path, const char *program,
				u32 nr_slots, int timeout_ms, char text[GP__WIRE_TEXT_MAX]);
/* As gp__wire_client_open(), over a connected socket, which is closed in any case. */
int gp__wire_client_open_on(struct gp__wire_client *c, int socket, const char *program,
			    u32 nr_slots, char text[GP__WIRE_TEXT_MAX]);
void gp__wire_client_close(struct gp__wire_client *c);

/*
 * Sends a request and waits for the reply. Returns its result, or -errno of the connection
 * (-ETIMEDOUT: the daemon does not answer). @reply may be NULL.
 */
int gp__wire_client_request(struct gp__wire_client *c, void *message, struct gp__wire_reply *reply);

/* Reports whether a queue has work. Notifies the daemon unless the program is alone. */
void gp__wire_client_work(struct gp__wire_client *c, u32 slot, bool has_work, u32 pending, u64 now);
/* Announces work of the group of this queue for a time; 0: it is done or called off. Notifies the
 * daemon unless the program is alone. */
/* How long before work an announcement makes room in time; 0: not known, or nobody is there. */
u64 gp__wire_client_lead_ns(const struct gp__wire_client *c, u32 slot);
void gp__wire_client_arriving(struct gp__wire_client *c, u32 slot, u64 at_ns);
/* Acknowledges an order that was carried out, or failed, from @began_ns on for @took_ns. */
void gp__wire_client_done(struct gp__wire_client *c, u32 slot, u32 number, int result, u64 began_ns,
			  u64 took_ns);
/* Reports that a hold expired and the queue was released. */
void gp__wire_client_expired(struct gp__wire_client *c, u32 slot, u32 number);
/* Reports the program's memory on the queue's GPU, as in gp__wire_memory(). Notifies the daemon of
 * a change unless the program is alone. A daemon of an earlier version is not told. */
void gp__wire_client_memory(struct gp__wire_client *c, u32 slot, u64 memory);
/* Clears a slot for a new queue. */
void gp__wire_client_reset(struct gp__wire_client *c, u32 slot);

/* Connects as the command line. Returns a descriptor or -errno. */
int gp__wire_control(const char *path, char text[GP__WIRE_TEXT_MAX]);
/* Sends @request, which is JSON, and receives the whole answer, to be freed. 0 or -errno. */
int gp__wire_ask(int fd, const char *request, char **answer);
/* Receives the next watched line, without its newline. Returns its length, 0 at the end, or -errno
 * (-EAGAIN: none within @timeout_ms). */
ssize_t gp__wire_next_line(int fd, char *line, size_t size, int timeout_ms);

#endif
