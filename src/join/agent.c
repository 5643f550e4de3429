// SPDX-License-Identifier: MIT
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/latency.h"
#include "base/thread.h"
#include "join/agent_internal.h"

#define RETRY_FIRST (250 * GP__MS)
#define RETRY_LAST (4 * GP__S)
#define STACK_BYTES (256 * 1024)

static void wake(struct gp__agent *a)
{
	ssize_t n = write(a->wake, &(u64){ 1 }, sizeof(u64));

	(void)n; /* one that is full has been woken */
}

__attribute__((format(printf, 2, 3))) static void say(struct gp__agent *a, const char *fmt, ...)
{
	char text[GP__WIRE_TEXT_MAX + 128];
	va_list args;

	if (!a->options.say)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	a->options.say(a->options.data, text);
}

/*
 * Slots
 */

static u32 take_slot(struct gp__agent *a)
{
	for (u32 i = 0; i < a->client.nr_slots; i++) {
		if (a->slot_used[i / 32] & 1u << i % 32)
			continue;
		a->slot_used[i / 32] |= 1u << i % 32;
		return i;
	}
	return NO_SLOT;
}

static void put_slot(struct gp__agent *a, u32 slot)
{
	if (slot != NO_SLOT)
		a->slot_used[slot / 32] &= ~(1u << slot % 32);
}

/*
 * The connection
 */

static void disconnect(struct gp__agent *a)
{
	struct gp__link *l, *n;

	gp__agent_start_all(a);
	pthread_mutex_lock(&a->lock);
	a->connected = a->state.connected = false;
	gp__wire_client_close(&a->client);
	memset(a->slot_used, 0, sizeof(a->slot_used));
	gp__list_each(l, n, &a->queues)
	{
		struct queue *q = container_of(l, struct queue, link);

		if (q->stage == GOING) {
			gp__list_del(&q->link);
			free(q);
			continue;
		}
		q->stage = NEW;
		q->slot = NO_SLOT;
		q->number = 0;
		q->weight = 0;
		q->weight_void = false;
	}
	pthread_mutex_unlock(&a->lock);
	/* Without a daemon nobody wants to know. */
	if (!a->alone && a->options.ops.alone)
		a->options.ops.alone(a->options.data, true);
	a->alone = true;
	a->retry_after = RETRY_FIRST;
	a->retry_at = gp__clock_ns() + a->retry_after;
}

static void connect_to_daemon(struct gp__agent *a, u64 now)
{
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_client client;
	int err = gp__wire_client_open(&client, a->path, a->program, GP__WIRE_SLOTS_MAX, text);

	if (err) {
		if (*text && !a->said_refused)
			say(a, "gpreemptd refuses this program, which runs without it: %s", text);
		a->said_refused |= *text;
		a->retry_after =
			a->retry_after ? gp__min_u64(2 * a->retry_after, RETRY_LAST) : RETRY_FIRST;
		a->retry_at = now + a->retry_after;
		return;
	}
	client.socket = gp__fd_move_up(client.socket);
	client.bell = gp__fd_move_up(client.bell);
	client.daemon_bell = gp__fd_move_up(client.daemon_bell);
	pthread_mutex_lock(&a->lock);
	a->client = client;
	a->connected = a->state.connected = true;
	a->state.nr_connects++;
	pthread_mutex_unlock(&a->lock);
	a->retry_after = 0;
}

/*
 * Registering
 */

static struct gp__wire_queue_add add_message(const struct queue *q)
{
	struct gp__wire_queue_add m = { .head = { sizeof(m), GP__WIRE_QUEUE_ADD, 0, 0, 0 },
					.slot = q->slot,
					.flags = q->is.weigh_flags,
					.level_requested = q->is.level_requested,
					.level = q->is.level,
					.device_memory = q->is.device_memory,
					.hints = q->is.hints };

	gp__wire_text(m.device, sizeof(m.device), q->is.device);
	gp__wire_text(m.device_name, sizeof(m.device_name), q->is.device_name);
	gp__wire_text(m.tag, sizeof(m.tag), q->is.tag);
	return m;
}

/* What the daemon says to a new queue; under the lock. */
static void take_answer(struct gp__agent *a, u32 id, u32 slot, int err, const char *text)
{
	struct queue *q = gp__agent_find(a, id);

	if (!q || q->slot != slot)
		return; /* went meanwhile: it will be told so */
	if (!err) {
		q->stage = KNOWN;
		atomic_store(&a->client.up->slot[slot].sees, q->sees);
		atomic_store(&a->client.up->slot[slot].notes, q->notes);
		gp__wire_client_work(&a->client, slot, q->has_work, q->pending, gp__clock_ns());
		return;
	}
	q->stage = REFUSED;
	q->slot = NO_SLOT;
	put_slot(a, slot);
	if (!a->said_refused)
		say(a,
		    "gpreemptd does not schedule a queue of this program, which runs without "
		    "it: %s",
		    text);
	a->said_refused = true;
}

static int register_queue(struct gp__agent *a, struct queue *q)
{
	struct gp__wire_queue_add m;
	struct gp__wire_reply reply = { 0 };
	u32 id = q->is.id, slot;
	int err;

	slot = q->slot = take_slot(a);
	if (slot == NO_SLOT) {
		q->stage = REFUSED;
		if (!a->said_full)
			say(a,
			    "this program has more queues than gpreemptd takes from one, %u: the "
			    "others are not scheduled",
			    a->client.nr_slots);
		a->said_full = true;
		return 0;
	}
	/* What the slot has from a queue before is not this one's. */
	gp__wire_client_reset(&a->client, slot);
	q->number = gp__wire_order_number(atomic_load(&a->client.down->slot[slot].order));
	q->hints_changed = false;
	m = add_message(q);
	pthread_mutex_unlock(&a->lock);
	err = gp__wire_client_request(&a->client, &m, &reply);
	pthread_mutex_lock(&a->lock);
	if (err && reply.head.type != GP__WIRE_REPLY)
		return err; /* of the connection */
	take_answer(a, id, slot, err, reply.text);
	return 0;
}

static int unregister_queue(struct gp__agent *a, struct queue *q)
{
	struct gp__wire_queue_remove m = { .head = { sizeof(m), GP__WIRE_QUEUE_REMOVE, 0, 0, 0 },
					   .slot = q->slot };
	int err = 0;

	gp__list_del(&q->link);
	pthread_mutex_unlock(&a->lock);
	if (q->slot != NO_SLOT)
		err = gp__wire_client_request(&a->client, &m, NULL);
	pthread_mutex_lock(&a->lock);
	put_slot(a, q->slot);
	free(q);
	return err == -ENOENT ? 0 : err;
}

static int send_hints(struct gp__agent *a, struct queue *q)
{
	struct gp__wire_set_hints m = { .head = { sizeof(m), GP__WIRE_HINTS, 0, 0, 0 },
					.slot = q->slot,
					.flags = GP__WIRE_AT_MOST,
					.hints = q->is.hints };
	struct gp__wire_reply reply = { 0 };
	int err;

	q->hints_changed = false;
	pthread_mutex_unlock(&a->lock);
	err = gp__wire_client_request(&a->client, &m, &reply);
	if (err && reply.head.type == GP__WIRE_REPLY) {
		if (!a->said_refused)
			say(a, "gpreemptd does not grant what this program asks for: %s",
			    reply.text);
		a->said_refused = true;
		err = 0;
	}
	pthread_mutex_lock(&a->lock);
	return err;
}

/* The first queue that the daemon does not know as it is now; under the lock. */
static struct queue *next_news(struct gp__agent *a)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &a->queues)
	{
		struct queue *q = container_of(l, struct queue, link);

		if (q->stage == NEW || q->stage == GOING || (q->stage == KNOWN && q->hints_changed))
			return q;
	}
	return NULL;
}

/* 0 or -errno of the connection. */
static int tell_news(struct gp__agent *a)
{
	struct queue *q;
	int err = 0;

	pthread_mutex_lock(&a->lock);
	while (!err && (q = next_news(a))) {
		if (q->stage == NEW)
			err = register_queue(a, q);
		else if (q->stage == GOING)
			err = unregister_queue(a, q);
		else
			err = send_hints(a, q);
	}
	pthread_mutex_unlock(&a->lock);
	return err;
}

/*
 * The thread
 */

/* An eventfd's counter, or the rings in a pipe. */
static void drain(int fd)
{
	u64 rings[32];
	ssize_t n = read(fd, rings, sizeof(rings));

	(void)n;
}

/* Until something happens. False: the daemon has gone. */
static bool wait_for_news(struct gp__agent *a, u64 until)
{
	struct pollfd p[3] = { { .fd = a->wake, .events = POLLIN },
			       { .fd = a->connected ? a->client.socket : -1, .events = POLLIN },
			       { .fd = a->connected ? a->client.bell : -1, .events = POLLIN } };
	u64 now = gp__clock_ns(), left = until > now ? until - now : 0;
	struct timespec ts = { (time_t)(left / GP__S), (long)(left % GP__S) };

	if (ppoll(p, 3, until == GP__NEVER ? NULL : &ts, NULL) <= 0)
		return true;
	if (p[0].revents)
		drain(a->wake);
	if (p[2].revents)
		drain(a->client.bell);
	/* Answers are read where they are asked for: what comes otherwise is the end. */
	return !p[1].revents;
}

static bool is_over(struct gp__agent *a)
{
	bool over;

	pthread_mutex_lock(&a->lock);
	over = a->stop;
	pthread_mutex_unlock(&a->lock);
	return over;
}

static bool has_queues(struct gp__agent *a)
{
	bool any;

	pthread_mutex_lock(&a->lock);
	any = !gp__list_empty(&a->queues);
	pthread_mutex_unlock(&a->lock);
	return any;
}

static void *run(void *data)
{
	struct gp__agent *a = data;

	pthread_setname_np(pthread_self(), "gp-agent");
	gp__prefer_latency();
	while (!is_over(a)) {
		u64 now = gp__clock_ns(), until = GP__NEVER;

		if (!a->connected && has_queues(a)) {
			if (now >= a->retry_at)
				connect_to_daemon(a, now);
			until = a->retry_at;
			/* What did not go on when the daemon went. */
			if (!a->connected && !gp__agent_start_all(a))
				until = gp__min_u64(until, now + GP__START_AGAIN_NS);
		}
		if (a->connected && tell_news(a)) {
			disconnect(a);
			continue;
		}
		if (a->connected)
			until = gp__agent_obey(a);
		if (!wait_for_news(a, until))
			disconnect(a);
	}
	gp__agent_start_all(a);
	return NULL;
}

static int start_thread(struct gp__agent *a)
{
	int err = gp__thread_start(&a->thread, STACK_BYTES, run, a);

	a->running = !err;
	return err;
}

/*
 * From the program
 */

int gp__agent_create(const struct gp__agent_options *options, struct gp__agent **agent)
{
	struct gp__agent *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->wake = gp__fd_move_up(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (a->wake < 0) {
		free(a);
		return -errno;
	}
	pthread_mutex_init(&a->lock, NULL);
	gp__list_init(&a->queues);
	a->options = *options;
	snprintf(a->path, sizeof(a->path), "%s", options->path);
	gp__wire_text(a->program, sizeof(a->program), options->program);
	a->client = (struct gp__wire_client){ .socket = -1, .bell = -1, .daemon_bell = -1 };
	*agent = a;
	return 0;
}

static void free_queues(struct gp__agent *a)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &a->queues)
	{
		gp__list_del(l);
		free(container_of(l, struct queue, link));
	}
}

void gp__agent_destroy(struct gp__agent *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_mutex_unlock(&a->lock);
	wake(a);
	if (a->running)
		pthread_join(a->thread, NULL);
	gp__wire_client_close(&a->client);
	free_queues(a);
	close(a->wake);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* The lock may have been another thread's when the child was made, which does not have that one. */
void gp__agent_forget(struct gp__agent *a)
{
	pthread_mutex_init(&a->lock, NULL);
	free_queues(a);
	gp__wire_client_close(&a->client);
	close(a->wake);
	a->wake = gp__fd_move_up(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	memset(a->slot_used, 0, sizeof(a->slot_used));
	memset(&a->state, 0, sizeof(a->state));
	a->running = a->connected = a->told_alone = false;
	a->retry_at = a->retry_after = 0;
}

int gp__agent_add(struct gp__agent *a, const struct gp__agent_queue *queue)
{
	struct queue *q = calloc(1, sizeof(*q));
	int err = 0;

	if (!q)
		return -ENOMEM;
	q->is = *queue;
	q->slot = NO_SLOT;
	pthread_mutex_lock(&a->lock);
	gp__list_push(&a->queues, &q->link);
	a->state.nr_queues++;
	if (!a->running)
		err = start_thread(a);
	pthread_mutex_unlock(&a->lock);
	wake(a);
	return err;
}

void gp__agent_remove(struct gp__agent *a, u32 id)
{
	struct queue *q;

	pthread_mutex_lock(&a->lock);
	q = gp__agent_find(a, id);
	if (q) {
		a->state.nr_queues--;
		gp__agent_note_stopped(a, q, false);
		q->stage = GOING;
	}
	pthread_mutex_unlock(&a->lock);
	if (q)
		wake(a);
}

void gp__agent_hints(struct gp__agent *a, u32 id, const struct gp__wire_hints *hints)
{
	struct queue *q;

	pthread_mutex_lock(&a->lock);
	q = gp__agent_find(a, id);
	if (q) {
		q->is.hints = *hints;
		q->hints_changed = true;
	}
	pthread_mutex_unlock(&a->lock);
	if (q)
		wake(a);
}

void gp__agent_lost(struct gp__agent *a, u32 id)
{
	struct queue *q;

	pthread_mutex_lock(&a->lock);
	q = gp__agent_find(a, id);
	if (q)
		q->lost = true;
	pthread_mutex_unlock(&a->lock);
	if (q)
		wake(a);
}

void gp__agent_sees(struct gp__agent *a, u32 id, enum gp__wire_sees sees)
{
	struct queue *q;

	pthread_mutex_lock(&a->lock);
	q = gp__agent_find(a, id);
	if (q) {
		q->sees = sees;
		if (a->connected && q->stage == KNOWN)
			atomic_store(&a->client.up->slot[q->slot].sees, sees);
	}
	pthread_mutex_unlock(&a->lock);
}

void gp__agent_note(struct gp__agent *a, u32 id, u32 note)
{
	struct queue *q;

	pthread_mutex_lock(&a->lock);
	q = gp__agent_find(a, id);
	if (q) {
		q->notes |= note;
		if (a->connected && q->stage == KNOWN)
			atomic_store(&a->client.up->slot[q->slot].notes, q->notes);
	}
	pthread_mutex_unlock(&a->lock);
}

void gp__agent_work(struct gp__agent *a, u32 id, bool has_work, u32 pending, u64 now)
{
	struct queue *q;

	pthread_mutex_lock(&a->lock);
	q = gp__agent_find(a, id);
	if (q) {
		q->has_work = has_work;
		q->pending = pending;
		if (a->connected && q->stage == KNOWN)
			gp__wire_client_work(&a->client, q->slot, has_work, pending, now);
	}
	pthread_mutex_unlock(&a->lock);
}

/* Those of one GPU, priority and tag are one for the daemon: telling it of the first is enough. */
static bool is_same_group(const struct queue *a, const struct queue *b)
{
	return a->is.hints.prio == b->is.hints.prio && !strcmp(a->is.tag, b->is.tag) &&
	       !strcmp(a->is.device, b->is.device);
}

int gp__agent_arriving(struct gp__agent *a, u64 at)
{
	const struct queue *told = NULL;
	struct gp__link *l, *n;
	int err;

	pthread_mutex_lock(&a->lock);
	err = a->connected ? -ENODEV : -ENOTCONN;
	gp__list_each(l, n, &a->queues)
	{
		const struct queue *q = container_of(l, struct queue, link);

		if (!a->connected || q->stage != KNOWN || (told && is_same_group(q, told)))
			continue;
		gp__wire_client_arriving(&a->client, q->slot, at);
		told = q;
		err = 0;
	}
	pthread_mutex_unlock(&a->lock);
	return err;
}

void gp__agent_state(struct gp__agent *a, struct gp__agent_state *state)
{
	pthread_mutex_lock(&a->lock);
	*state = a->state;
	pthread_mutex_unlock(&a->lock);
}
