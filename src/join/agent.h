/* SPDX-License-Identifier: MIT */
/*
 * The agent: the thread of a joined program that talks to the daemon. There is one per process,
 * whichever backends the program uses.
 *
 * Each backend opens a port (device/backend.h), reports its queues and their work through it, and
 * carries out the orders that come for them. The thread starts with the first queue. It registers
 * queues, obeys orders and acknowledges them, and releases a queue whose hold is not renewed in
 * time. Without a daemon every queue runs, and the agent tries to connect now and then. If the
 * connection ends without a goodbye, orders stay in force until their lease ends, because the
 * daemon may be restarting; the agent then tries to connect more often.
 *
 * The program never waits for the daemon here, and no failure becomes the program's.
 *
 * Polling for work (device/kfd/monitor.h) has a thread of its own: a hold may take as long as the
 * kernel that is drained, and a registration as long as the daemon, and neither may delay the
 * arrivals or the launch windows of other queues.
 */
#ifndef GP__JOIN_AGENT_H
#define GP__JOIN_AGENT_H

#include <stdbool.h>
#include <stddef.h>

#include "device/backend.h"
#include "join/ranks.h"

struct gp__agent;

struct gp__agent_options {
	const char *path; /* the daemon's socket */
	/* Instead of a path: a connected socket, which is the agent's from then on. When that
	 * connection has ended, there is no other one, and every queue runs. */
	bool has_socket;
	int socket;
	const char *program; /* its name, as users see it */
	/* Says a sentence to the user, once for each kind of problem; may be NULL. */
	void (*say)(void *data, const char *text, bool unscheduled);
	void *data;
};

int gp__agent_create(const struct gp__agent_options *options, struct gp__agent **agent);
/* Releases all queues, ends the thread and closes the ports. */
void gp__agent_destroy(struct gp__agent *agent);
/* For a child after fork(), which has neither the queues nor the thread, and must not use its
 * parent's connection. The ports stay, without queues. */
void gp__agent_forget(struct gp__agent *agent);

/* A port for the queues of one backend. @request must outlive it. NULL: out of memory. */
struct gp__port *gp__agent_open(struct gp__agent *agent, const struct gp__request *request,
				const struct gp__queue_ops *ops);
/* Sets the first argument of a port's operations. Before its first queue is added. */
void gp__agent_bind(struct gp__port *port, void *state);

/*
 * Announces work for @at, CLOCK_MONOTONIC, on all queues; 0 withdraws the announcement. Returns 0;
 * -ENOTCONN: there is no daemon; -ENODEV: the daemon has no queue of this program.
 */
int gp__agent_arriving(struct gp__agent *agent, u64 at);
/* How far ahead of work it should be called: the longest of the program's queues. */
int gp__agent_lead_time(struct gp__agent *agent, u64 *ns);

/*
 * Makes the program a member of a gang that has @members, or any number if that is 0. 0; -EINVAL:
 * it cannot have this name or number; -EBUSY: the program has asked for another one.
 */
int gp__agent_gang(struct gp__agent *agent, const char *name, u32 members);

/* The program is this rank of a launcher's job. It joins the gang of the job when a library for
 * collectives is loaded, unless it asks for another. Before the first queue. */
void gp__agent_rank(struct gp__agent *agent, const struct gp__rank *rank);

struct gp__agent_state {
	bool connected;
	bool is_over; /* the connection that it was given has ended */
	u32 nr_queues, nr_held;
};

void gp__agent_state(struct gp__agent *agent, struct gp__agent_state *state);

#endif
