// SPDX-License-Identifier: MIT
#include "device/watch.h"

#include <errno.h>

void gp__watch_init(struct gp__watch *w, const struct gp__watch_ops *ops, void *state,
		    struct gp__port *port)
{
	w->ops = ops;
	w->state = state;
	w->port = port;
	pthread_mutex_init(&w->lock, NULL);
	atomic_store(&w->monitor, NULL);
	w->calm = false;
}

/* With the lock: threads may create their first queues at the same time. */
static void *get_monitor(struct gp__watch *w)
{
	void *monitor = gp__watch_monitor(w);

	if (monitor)
		return monitor;
	monitor = w->ops->create(w->state);
	if (monitor)
		w->ops->calm(monitor, w->calm);
	atomic_store(&w->monitor, monitor);
	return monitor;
}

/* A hold waits for the lock, so it finds the queue in the monitor. */
int gp__watch_add(struct gp__watch *w, const struct gp__queue_desc *desc, const void *queue)
{
	void *monitor;
	int err;

	pthread_mutex_lock(&w->lock);
	monitor = get_monitor(w);
	err = monitor ? gp__port_add(w->port, desc) : -ENOMEM;
	if (!err) {
		err = w->ops->add(w->state, monitor, queue);
		if (err)
			gp__port_remove(w->port, desc->id);
	}
	pthread_mutex_unlock(&w->lock);
	return err;
}

static void note_held(struct gp__watch *w, u32 id, bool held)
{
	pthread_mutex_lock(&w->lock);
	if (w->monitor)
		w->ops->hold(w->monitor, id, held);
	pthread_mutex_unlock(&w->lock);
}

void gp__watch_hold(struct gp__watch *w, const u32 *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		note_held(w, ids[i], true);
}

void gp__watch_hold_done(struct gp__watch *w, const u32 *ids, const int *results, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (results[i])
			note_held(w, ids[i], false);
	}
}

void gp__watch_release_done(struct gp__watch *w, const u32 *ids, const int *results, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!results[i])
			note_held(w, ids[i], false);
	}
}

void gp__watch_set_calm(struct gp__watch *w, bool calm)
{
	pthread_mutex_lock(&w->lock);
	w->calm = calm;
	if (w->monitor)
		w->ops->calm(w->monitor, calm);
	pthread_mutex_unlock(&w->lock);
}
