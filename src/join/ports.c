// SPDX-License-Identifier: MIT
/*
 * The ports of the agent: backends and layers report queues and their work through them. Work is
 * written to the status page, and the daemon notified, in the reporting thread.
 * Any thread of the program calls these functions. They take the agent's lock for a moment, and
 * never wait for the daemon.
 */
#include <errno.h>
#include <stdlib.h>

#include "join/agent_internal.h"

static struct source *source_of(struct gp__port *port)
{
	return container_of(port, struct source, port);
}

/* Takes the lock. NULL: the queue was removed. */
static struct queue *lock_queue(struct source *s, u32 id)
{
	pthread_mutex_lock(&s->agent->lock);
	return gp__agent_find(s->agent, s, id);
}

/* Gives the lock back, and wakes the agent's thread if it has something to do. */
static void unlock(struct source *s, bool wakes)
{
	pthread_mutex_unlock(&s->agent->lock);
	if (wakes)
		gp__agent_wake(s->agent);
}

/* NULL: the daemon does not know the queue. */
static struct gp__wire_status_slot *slot_of(struct gp__agent *a, const struct queue *q)
{
	return a->connected && q->stage == KNOWN ? &a->client.status->slot[q->slot] : NULL;
}

static bool splits(const struct queue *q)
{
	return q->source->port.request->splits && !*q->source->agent->gang.name;
}

/*
 * A split program's queues are scheduled apart: by their own priority, around the program's. A
 * member of a gang is one group on each GPU: all of its queues run together, or none. With the lock
 * held.
 */
static void set_own(struct queue *q, s32 own)
{
	q->notes = (q->notes & ~GP__WIRE_NOTES_OWN) | GP__WIRE_NOTE_OWN(own);
	q->own = own;
	q->hints.prio = q->source->port.request->hints.prio + (splits(q) ? own : 0);
}

/* The list has higher queues first: they are released first. */
static void put_in_list(struct gp__agent *a, struct queue *q)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &a->queues)
	{
		if (container_of(l, struct queue, link)->own < q->own)
			break;
	}
	gp__list_push(l, &q->link);
}

static void tell_notes(struct queue *q)
{
	struct gp__wire_status_slot *slot = slot_of(q->source->agent, q);

	if (slot)
		atomic_store(&slot->notes, q->notes);
}

static int port_add(struct gp__port *port, const struct gp__queue_desc *queue)
{
	struct source *s = source_of(port);
	struct queue *q = calloc(1, sizeof(*q));
	int err = 0;

	if (!q)
		return -ENOMEM;
	q->source = s;
	q->is = *queue;
	q->hints = port->request->hints;
	q->slot = NO_SLOT;
	q->unmeasured = true;
	pthread_mutex_lock(&s->agent->lock);
	if (queue->has_own)
		set_own(q, queue->own);
	if (!s->agent->running)
		err = gp__agent_start(s->agent);
	if (!err) {
		put_in_list(s->agent, q);
		s->agent->state.nr_queues++;
	}
	unlock(s, !err);
	if (err)
		free(q);
	return err;
}

static void port_remove(struct gp__port *port, u32 id)
{
	struct source *s = source_of(port);
	struct queue *q = lock_queue(s, id);
	bool is_told = q && q->slot != NO_SLOT;

	if (q) {
		s->agent->state.nr_queues--;
		gp__agent_note_held(s->agent, q, false);
		q->stage = GOING;
	}
	/* The daemon has not heard of it, and may never be there to be told. */
	if (q && !is_told) {
		gp__list_del(&q->link);
		free(q);
	}
	unlock(s, is_told);
}

static void port_prioritize(struct gp__port *port, u32 id, s32 own)
{
	struct source *s = source_of(port);
	struct queue *q = lock_queue(s, id);
	s32 before = q ? q->hints.prio : 0;

	if (q) {
		set_own(q, own);
		gp__list_del(&q->link);
		put_in_list(s->agent, q);
		tell_notes(q);
		q->hints_changed |= q->hints.prio != before;
	}
	unlock(s, q && q->hints_changed);
}

static void port_lost(struct gp__port *port, u32 id)
{
	struct source *s = source_of(port);
	struct queue *q = lock_queue(s, id);

	if (q)
		q->lost = true;
	unlock(s, q);
}

static void port_sees(struct gp__port *port, u32 id, enum gp__wire_sees sees)
{
	struct source *s = source_of(port);
	struct queue *q = lock_queue(s, id);

	if (q) {
		struct gp__wire_status_slot *slot = slot_of(s->agent, q);

		q->sees = sees;
		if (slot)
			atomic_store(&slot->sees, sees);
	}
	unlock(s, false);
}

static void port_note(struct gp__port *port, u32 id, u32 note)
{
	struct source *s = source_of(port);
	struct queue *q = lock_queue(s, id);

	if (q) {
		q->notes |= note;
		tell_notes(q);
	}
	unlock(s, false);
}

static void port_work(struct gp__port *port, u32 id, bool has_work, u32 pending, u64 now)
{
	struct source *s = source_of(port);
	struct queue *q = lock_queue(s, id);

	if (q) {
		q->has_work = has_work;
		q->pending = pending;
		if (slot_of(s->agent, q))
			gp__wire_client_work(&s->agent->client, q->slot, has_work, pending, now);
	}
	unlock(s, false);
}

/* Wakes the thread once for many changes. */
static void port_memory(struct gp__port *port)
{
	struct source *s = source_of(port);
	struct gp__link *l, *n;
	bool wakes = false;

	pthread_mutex_lock(&s->agent->lock);
	gp__list_each(l, n, &s->agent->queues)
	{
		struct queue *q = container_of(l, struct queue, link);

		if (q->source != s)
			continue;
		wakes |= !q->unmeasured;
		q->unmeasured = true;
	}
	unlock(s, wakes);
}

static void port_say(struct gp__port *port, const char *text, bool unscheduled)
{
	struct source *s = source_of(port);
	bool said;

	pthread_mutex_lock(&s->agent->lock);
	said = s->said[unscheduled];
	s->said[unscheduled] = true;
	pthread_mutex_unlock(&s->agent->lock);
	if (!said)
		gp__agent_say(s->agent, unscheduled, "%s", text);
}

struct gp__port *gp__agent_open(struct gp__agent *a, const struct gp__request *request,
				const struct gp__queue_ops *ops)
{
	static const struct gp__port_ops port_ops = {
		.add = port_add,
		.remove = port_remove,
		.prioritize = port_prioritize,
		.lost = port_lost,
		.sees = port_sees,
		.note = port_note,
		.work = port_work,
		.memory = port_memory,
		.say = port_say,
	};
	struct source *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->port = (struct gp__port){ &port_ops, request };
	s->agent = a;
	s->ops = *ops;
	/* A child after fork() follows the list forwards, whenever that is: the port leads on
	 * before it is linked. */
	s->link.next = &a->sources;
	atomic_thread_fence(memory_order_release);
	pthread_mutex_lock(&a->lock);
	gp__list_push(&a->sources, &s->link);
	pthread_mutex_unlock(&a->lock);
	return &s->port;
}

void gp__agent_bind(struct gp__port *port, void *state)
{
	struct source *s = source_of(port);

	pthread_mutex_lock(&s->agent->lock);
	s->state = state;
	pthread_mutex_unlock(&s->agent->lock);
}

struct source *gp__agent_next_source(struct gp__agent *a, struct source *s)
{
	struct gp__link *next;

	pthread_mutex_lock(&a->lock);
	next = s ? s->link.next : a->sources.next;
	pthread_mutex_unlock(&a->lock);
	return next == &a->sources ? NULL : container_of(next, struct source, link);
}
