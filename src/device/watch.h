/* SPDX-License-Identifier: MIT */
/*
 * The queues of a joined program that the agent schedules and a monitor of the backend watches for
 * work: both know the same queues, and the monitor knows which of them are held.
 *
 * The agent gets a queue before the monitor, so that work is never reported of a queue that the
 * agent does not know. The monitor learns of a hold before it is carried out: a held queue makes no
 * progress, although its work has not ended.
 *
 * Locking: the lock protects the monitor's existence, and is held while a queue is added to both.
 * It comes before the monitor's own locks. It is the wrong tool for a backend whose work is seen
 * without a monitor.
 */
#ifndef GP__DEVICE_WATCH_H
#define GP__DEVICE_WATCH_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/backend.h"

/* The backend's monitor. Each function gets the state of gp__watch_init(). */
struct gp__watch_ops {
	/* The monitor, or NULL. Called once, when the first queue is added. */
	void *(*create)(void *state);
	/* 0 or -errno. */
	int (*add)(void *state, void *monitor, const void *queue);
	void (*hold)(void *monitor, u32 id, bool held);
	void (*calm)(void *monitor, bool calm);
};

struct gp__watch {
	const struct gp__watch_ops *ops;
	void *state;
	struct gp__port *port;
	pthread_mutex_t lock;
	void *_Atomic monitor; /* NULL: no queue was added yet */
	atomic_bool calm; /* no other program is on the GPUs; at first one may be */
};

/* Forgets all queues; also for a child after fork(), which does not have the monitor's thread. */
void gp__watch_init(struct gp__watch *w, const struct gp__watch_ops *ops, void *state,
		    struct gp__port *port);

/* NULL: there is none yet. */
static inline void *gp__watch_monitor(struct gp__watch *w)
{
	return atomic_load(&w->monitor);
}

/* Adds a queue, which the monitor gets as @queue. 0 or -errno. */
int gp__watch_add(struct gp__watch *w, const struct gp__queue_desc *desc, const void *queue);

/* Queues are about to be held. */
void gp__watch_hold(struct gp__watch *w, const u32 *ids, size_t n);
/* Marks queues as running: those that were not held (an error), or were released (0). */
void gp__watch_hold_done(struct gp__watch *w, const u32 *ids, const int *results, size_t n);
void gp__watch_release_done(struct gp__watch *w, const u32 *ids, const int *results, size_t n);

void gp__watch_set_calm(struct gp__watch *w, bool calm);

#endif
