/* SPDX-License-Identifier: MIT */
/*
 * Shared by the parts of the agent: agent.c talks to the daemon, ports.c to the program, orders.c
 * carries out the daemon's orders.
 *
 * Locking: `lock` protects the lists of ports and queues and the connection's memory, which any
 * thread writes to (the ports' functions). Only the agent's thread uses the socket, changes the
 * connection, and calls a port's operations, and it calls the slow ones without the lock. So a
 * queue may vanish while its order is carried out: orders are copied, and results find their queue
 * again by its port and id.
 */
#ifndef GP__JOIN_AGENT_INTERNAL_H
#define GP__JOIN_AGENT_INTERNAL_H

#include <pthread.h>

#include "core/list.h"
#include "join/agent.h"
#include "join/ranks.h"
#include "wire/client.h"

#define NO_SLOT UINT32_MAX

enum stage {
	NEW, /* the daemon does not know it */
	KNOWN,
	REFUSED, /* the daemon does not take it: it runs unscheduled */
	GOING, /* to be unregistered and freed */
};

/* The agent's side of a port. */
struct source {
	struct gp__port port;
	struct gp__link link;
	struct gp__agent *agent;
	struct gp__queue_ops ops;
	void *state; /* under the lock until its first queue is added; NULL: not bound yet */
	u64 measured_at; /* when memory was measured last */
	bool alone, told_alone; /* the latest argument of ops.alone(), if it was called */
	bool said[2]; /* a sentence; that something is unscheduled */
};

struct queue {
	struct gp__link link;
	struct source *source;
	struct gp__queue_desc is;
	struct gp__wire_hints hints;
	enum stage stage;
	u32 slot;
	u32 number; /* of the latest order that was carried out */
	u32 pending;
	u64 until, until_seen; /* when its hold expires, and when that was first read */
	enum gp__wire_sees sees;
	u32 notes;
	s32 own; /* the program's own priority for it */
	u32 weight; /* as last ordered */
	bool weight_void; /* the device's own weight applies until the daemon gives an order */
	bool has_work, held, hints_changed;
	/* Memory of its GPU may have changed since it was measured, and is being measured. */
	bool unmeasured, measuring;
	bool lost; /* it may run although it is held */
	/* Orders of a daemon that is gone, and when they expire; see gp__agent_keep_orders(). */
	bool hold_kept, weight_kept;
	u64 hold_until, weight_until;
};

/* The gang that the program asked for. */
struct gang {
	char name[GP__WIRE_TAG_MAX]; /* "": none */
	u32 members; /* 0: any number */
	bool of_ranks; /* and the program is one: `rank` */
	u32 rank;
	bool told; /* the daemon knows */
	bool formed; /* all members had joined */
	bool said; /* that the program runs ungrouped */
	bool over; /* members were missing for too long: it is not asked for again */
};

struct gp__agent {
	pthread_mutex_t lock;
	pthread_t thread;
	bool running, stop;
	bool connected;
	bool said_refused, said_full, said_lowered;
	int wake; /* an eventfd: something changed */
	struct gp__wire_client client;
	struct gp__link sources, queues;
	u32 slot_used[GP__WIRE_SLOTS_MAX / 32];
	u64 retry_at, retry_after;
	u64 kept_until; /* a daemon that ended without a goodbye may be followed by another */
	struct gp__rank rank; /* as the launcher has it */
	u64 rank_at; /* when a library for collectives was last looked for */
	struct gang gang; /* the name is set once, under the lock; the rest is the thread's */
	struct gp__agent_state state;
	struct gp__agent_options options;
	char path[108], program[GP__WIRE_NAME_MAX];
	bool has_socket; /* it was given one instead of a path */
	int socket; /* that one; -1: it is used */
	/* The order being carried out, for queues of one port; the thread's. */
	u32 ids[GP__WIRE_SLOTS_MAX], numbers[GP__WIRE_SLOTS_MAX], slots[GP__WIRE_SLOTS_MAX];
	u32 weights[GP__WIRE_SLOTS_MAX];
	int results[GP__WIRE_SLOTS_MAX];
};

static inline struct queue *gp__agent_find(struct gp__agent *a, const struct source *s, u32 id)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &a->queues)
	{
		struct queue *q = container_of(l, struct queue, link);

		if (q->is.id == id && q->source == s && q->stage != GOING)
			return q;
	}
	return NULL;
}

/* Wakes the thread: something changed. */
void gp__agent_wake(struct gp__agent *a);
/* Starts the thread, with the lock. 0 or -errno. */
int gp__agent_start(struct gp__agent *a);
/* Says a sentence to the program's user. */
__attribute__((format(printf, 3, 4))) void gp__agent_say(struct gp__agent *a, bool unscheduled,
							 const char *fmt, ...);

/* The port after @s, or the first if that is NULL; NULL: there is none. Ports are never removed
 * while the thread runs. */
struct source *gp__agent_next_source(struct gp__agent *a, struct source *s);

/* In orders.c, for the agent's thread, without the lock. Carries out the orders that are due;
 * returns when to look again at the latest. */
u64 gp__agent_obey(struct gp__agent *a);
/*
 * The connection ends: notes until when its orders stay in force; under the lock. They do until
 * their lease ends, unless the daemon said goodbye. A new daemon's order for a queue replaces them.
 */
void gp__agent_keep_orders(struct gp__agent *a, u64 now);
/* Ends orders that have expired. Returns when the next one does. */
u64 gp__agent_expire(struct gp__agent *a);
/* How soon a release that failed is tried again. */
#define GP__RELEASE_AGAIN_NS (100 * GP__MS)
/* Releases all queues, whatever the daemon ordered. False: some could not be released. */
bool gp__agent_release_all(struct gp__agent *a);
/* Tells ports whether another program is on the GPUs, if they do not know yet. While another daemon
 * may follow, none is told that it is alone. Returns when to call it again. */
u64 gp__agent_tell_alone(struct gp__agent *a, bool alone);
/* NULL: the port is not bound yet, which another thread may be about to do. Without the lock. */
void *gp__agent_state_of(struct gp__agent *a, const struct source *s);
/* In measure.c, for the agent's thread, without the lock. Measures memory that has changed and
 * reports it; returns when to call it again at the latest. */
u64 gp__agent_measure(struct gp__agent *a);
/* Under the lock. */
void gp__agent_note_held(struct gp__agent *a, struct queue *q, bool held);

#endif
