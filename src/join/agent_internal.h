/* SPDX-License-Identifier: MIT */
/*
 * Between the parts of the agent: agent.c speaks with the program and the daemon, orders.c carries
 * out what the daemon wants.
 *
 * Locking: `lock` guards the list of queues and the connection's memory, which others write to
 * (gp__agent_work). Only the agent's thread uses the socket, changes the connection, and calls the
 * ops, and it does the slow ones of these without the lock. So a queue may vanish while its order
 * is carried out: orders are copied, and results find their queue again by its id.
 */
#ifndef GP__JOIN_AGENT_INTERNAL_H
#define GP__JOIN_AGENT_INTERNAL_H

#include <pthread.h>

#include "core/list.h"
#include "join/agent.h"
#include "wire/client.h"

#define NO_SLOT UINT32_MAX

enum stage {
	NEW, /* the daemon has not heard of it */
	KNOWN,
	REFUSED, /* by the daemon: it runs as it likes */
	GOING, /* the daemon is to be told, and then it is forgotten */
};

struct queue {
	struct gp__link link;
	struct gp__agent_queue is;
	enum stage stage;
	u32 slot;
	u32 number; /* of the latest order carried out */
	u32 pending;
	u64 until, until_seen; /* of the order to stop, and when that was first seen */
	enum gp__wire_sees sees;
	u32 notes;
	u32 weight; /* as was last ordered */
	bool weight_void; /* it is the device's own again until the daemon is heard of */
	bool has_work, stopped, hints_changed;
	bool lost; /* it may run, though it is stopped */
};

struct gp__agent {
	pthread_mutex_t lock;
	pthread_t thread;
	bool running, stop;
	bool connected;
	bool alone, told_alone; /* as was last told, if anything was */
	bool said_refused, said_full;
	int wake; /* an eventfd: something changed */
	struct gp__wire_client client;
	struct gp__link queues;
	u32 slot_used[GP__WIRE_SLOTS_MAX / 32];
	u64 retry_at, retry_after;
	struct gp__agent_state state;
	struct gp__agent_options options;
	char path[108], program[GP__WIRE_NAME_MAX];
	/* What is being carried out; the thread's. */
	u32 ids[GP__WIRE_SLOTS_MAX], numbers[GP__WIRE_SLOTS_MAX], slots[GP__WIRE_SLOTS_MAX];
	u32 weights[GP__WIRE_SLOTS_MAX];
	int results[GP__WIRE_SLOTS_MAX];
};

static inline struct queue *gp__agent_find(struct gp__agent *a, u32 id)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &a->queues)
	{
		struct queue *q = container_of(l, struct queue, link);

		if (q->is.id == id && q->stage != GOING)
			return q;
	}
	return NULL;
}

/* In orders.c, for the agent's thread, without the lock. Carries out what there is to do; when to
 * look again at the latest. */
u64 gp__agent_obey(struct gp__agent *a);
/* How soon what could not be started is tried again. */
#define GP__START_AGAIN_NS (100 * GP__MS)
/* Whatever the daemon ordered: all of them run. False: some could not be started. */
bool gp__agent_start_all(struct gp__agent *a);
/* Under the lock. */
void gp__agent_note_stopped(struct gp__agent *a, struct queue *q, bool stopped);

#endif
