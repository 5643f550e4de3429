// SPDX-License-Identifier: MIT
/*
 * The agent's thread: connects to the daemon, registers queues and waits for orders (orders.c). At
 * registration it writes the queue's state to the status page; later changes go there from the
 * thread that reports them (ports.c).
 */
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
#include "queue/level.h"

#define RETRY_SOON (20 * GP__MS) /* while a daemon may be restarting */
#define RETRY_FIRST (250 * GP__MS)
#define RETRY_LAST (4 * GP__S)
#define STACK_BYTES (256 * 1024)

void gp__agent_wake(struct gp__agent *a)
{
	ssize_t n = write(a->wake, &(u64){ 1 }, sizeof(u64));

	(void)n; /* a full eventfd has woken the thread already */
}

void gp__agent_say(struct gp__agent *a, bool unscheduled, const char *fmt, ...)
{
	char text[GP__WIRE_TEXT_MAX + 128];
	va_list args;

	if (!a->options.say)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	a->options.say(a->options.data, text, unscheduled);
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

static void retry_later(struct gp__agent *a, u64 now)
{
	if (a->has_socket) {
		pthread_mutex_lock(&a->lock);
		a->state.is_over = true;
		pthread_mutex_unlock(&a->lock);
		a->retry_at = GP__NEVER;
		return;
	}
	if (now < a->kept_until)
		a->retry_after = RETRY_SOON;
	else
		a->retry_after =
			gp__max_u64(RETRY_FIRST, gp__min_u64(2 * a->retry_after, RETRY_LAST));
	a->retry_at = now + a->retry_after;
}

static void disconnect(struct gp__agent *a)
{
	struct gp__link *l, *n;
	u64 now = gp__clock_ns();

	pthread_mutex_lock(&a->lock);
	gp__agent_keep_orders(a, now);
	a->connected = a->state.connected = false;
	a->gang.told = false;
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
		q->unmeasured = true;
	}
	pthread_mutex_unlock(&a->lock);
	a->retry_after = 0;
	retry_later(a, now);
}

/* How long connecting may take: until the next order expires. */
static int patience_ms(u64 until, u64 now)
{
	u64 left_ms = until > now ? (until - now) / GP__MS : 0;

	return (int)gp__min_u64(gp__max_u64(left_ms, 1), GP__WIRE_PATIENCE_MS);
}

static int open_connection(struct gp__agent *a, struct gp__wire_client *client, int timeout_ms,
			   char text[GP__WIRE_TEXT_MAX])
{
	int socket = a->socket;

	a->socket = -1;
	if (a->has_socket)
		return gp__wire_client_open_on(client, socket, a->program, GP__WIRE_SLOTS_MAX,
					       text);
	return gp__wire_client_open_within(client, a->path, a->program, GP__WIRE_SLOTS_MAX,
					   timeout_ms, text);
}

/* @until: when the next order expires. */
static void connect_to_daemon(struct gp__agent *a, u64 now, u64 until)
{
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_client client;
	int err = open_connection(a, &client, patience_ms(until, now), text);

	if (err) {
		if (*text && !a->said_refused)
			gp__agent_say(a, true,
				      "gpreemptd refuses this program, which runs unscheduled: %s",
				      text);
		a->said_refused |= *text;
		retry_later(a, now);
		return;
	}
	client.socket = gp__fd_move_up(client.socket);
	client.notify_fd = gp__fd_move_up(client.notify_fd);
	client.daemon_notify_fd = gp__fd_move_up(client.daemon_notify_fd);
	pthread_mutex_lock(&a->lock);
	a->client = client;
	a->connected = a->state.connected = true;
	pthread_mutex_unlock(&a->lock);
	a->retry_after = 0;
}

/*
 * Registering
 */

static struct gp__wire_queue_add add_message(const struct gp__agent *a, const struct queue *q)
{
	const struct gp__request *request = q->source->port.request;
	u32 held = q->held && a->client.version >= 2 ? GP__WIRE_HELD : 0;
	u32 observed = request->observed ? GP__WIRE_OBSERVED : 0;
	/* A stream with a priority of its own has asked for one. */
	u32 by_default = request->by_default && q->hints.prio == request->hints.prio
				 ? GP__WIRE_BY_DEFAULT
				 : 0;
	struct gp__wire_queue_add m = { .head = { sizeof(m), GP__WIRE_QUEUE_ADD, 0, 0, 0 },
					.slot = q->slot,
					.flags = q->is.weigh_flags | held | observed | by_default,
					.level_requested =
						request->level ? request->level : GP__LEVEL_BEST,
					.level = q->is.level,
					.device_memory = q->is.device_memory,
					.hints = q->hints };

	gp__wire_text(m.device, sizeof(m.device), q->is.device);
	gp__wire_text(m.device_name, sizeof(m.device_name), q->is.device_name);
	gp__wire_text(m.tag, sizeof(m.tag), request->tag);
	return m;
}

/* Called with the lock held; drops it while printing, because standard error may block and launches
 * need the lock. */
static void say_refusal(struct gp__agent *a, const char *text)
{
	bool said = a->said_refused;

	a->said_refused = true;
	if (said)
		return;
	pthread_mutex_unlock(&a->lock);
	gp__agent_say(a, true,
		      "gpreemptd refuses a queue of this program, which runs unscheduled: %s",
		      text);
	pthread_mutex_lock(&a->lock);
}

/* The program runs with a lower priority than it has asked for. As say_refusal(). */
static void say_lowered(struct gp__agent *a, const char *text)
{
	bool said = a->said_lowered;

	a->said_lowered = true;
	if (said)
		return;
	pthread_mutex_unlock(&a->lock);
	gp__agent_say(a, false, "%s", text);
	pthread_mutex_lock(&a->lock);
}

/* Takes the daemon's answer to the registration of a queue; under the lock. */
static void take_answer(struct gp__agent *a, const struct source *source, u32 id, u32 slot, int err,
			const char *text)
{
	struct queue *q = gp__agent_find(a, source, id);

	if (!q || q->slot != slot)
		return; /* it was removed meanwhile, and the daemon will be told */
	if (!err) {
		q->stage = KNOWN;
		atomic_store(&a->client.status->slot[slot].sees, q->sees);
		atomic_store(&a->client.status->slot[slot].notes, q->notes);
		gp__wire_client_work(&a->client, slot, q->has_work, q->pending, gp__clock_ns());
		/* A stream's own priority is granted as far as the limit allows, without a line. */
		if (*text && q->hints.prio <= source->port.request->hints.prio)
			say_lowered(a, text);
		return;
	}
	q->stage = REFUSED;
	q->slot = NO_SLOT;
	put_slot(a, slot);
	say_refusal(a, text);
}

/* As say_refusal(). */
static void say_full(struct gp__agent *a)
{
	bool said = a->said_full;

	a->said_full = true;
	if (said)
		return;
	pthread_mutex_unlock(&a->lock);
	gp__agent_say(a, true,
		      "this program has more than %u queues, the most that gpreemptd takes from "
		      "one program; "
		      "the others run unscheduled",
		      a->client.nr_slots);
	pthread_mutex_lock(&a->lock);
}

static int register_queue(struct gp__agent *a, struct queue *q)
{
	struct gp__wire_queue_add m;
	const struct source *source = q->source;
	struct gp__wire_reply reply = { 0 };
	u32 id = q->is.id, slot;
	int err;

	if (source->port.request->observed && a->client.version < 4) {
		q->stage = REFUSED;
		say_refusal(a, "it is older than programs that are only observed");
		return 0;
	}
	slot = q->slot = take_slot(a);
	if (slot == NO_SLOT) {
		q->stage = REFUSED;
		say_full(a);
		return 0;
	}
	/* The slot may have the state of an earlier queue. */
	gp__wire_client_reset(&a->client, slot);
	q->number = gp__wire_order_number(atomic_load(&a->client.order->slot[slot].order));
	q->hints_changed = false;
	m = add_message(a, q);
	pthread_mutex_unlock(&a->lock);
	err = gp__wire_client_request(&a->client, &m, &reply);
	pthread_mutex_lock(&a->lock);
	if (err && reply.head.type != GP__WIRE_REPLY)
		return err; /* the connection failed */
	take_answer(a, source, id, slot, err, reply.text);
	return 0;
}

static int unregister_queue(struct gp__agent *a, struct queue *q)
{
	struct gp__wire_queue_remove m = { .head = { sizeof(m), GP__WIRE_QUEUE_REMOVE, 0, 0, 0 },
					   .slot = q->slot };
	int err;

	gp__list_del(&q->link);
	pthread_mutex_unlock(&a->lock);
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
					.hints = q->hints };
	struct gp__wire_reply reply = { 0 };
	int err;

	q->hints_changed = false;
	pthread_mutex_unlock(&a->lock);
	err = gp__wire_client_request(&a->client, &m, &reply);
	if (err && reply.head.type == GP__WIRE_REPLY) {
		if (!a->said_refused)
			gp__agent_say(a, false, "gpreemptd refuses a priority of this program: %s",
				      reply.text);
		a->said_refused = true;
		err = 0;
	}
	pthread_mutex_lock(&a->lock);
	return err;
}

/* The first queue that the daemon has to be told about; under the lock. */
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

static int tell(struct gp__agent *a, struct queue *q)
{
	if (q->stage == NEW)
		return register_queue(a, q);
	return q->stage == GOING ? unregister_queue(a, q) : send_hints(a, q);
}

/*
 * The gang
 */

__attribute__((format(printf, 2, 3))) static void say_ungrouped(struct gp__agent *a,
								const char *fmt, ...)
{
	char why[GP__WIRE_TEXT_MAX + 64];
	va_list args;

	if (a->gang.said)
		return;
	a->gang.said = true;
	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	gp__agent_say(a, false, "gang '%s': %s; this program runs ungrouped", a->gang.name, why);
}

#define LOOK_AGAIN GP__S

/* A library may be loaded late, so it is looked for again now and then, when there is something to
 * do anyway. */
static void look_for_ranks(struct gp__agent *a)
{
	u64 now = gp__clock_ns();

	if (!a->rank.size || *a->gang.name || now < a->rank_at)
		return;
	a->rank_at = now + LOOK_AGAIN;
	if (!gp__rank_has_library())
		return;
	pthread_mutex_lock(&a->lock);
	if (!*a->gang.name) {
		memcpy(a->gang.name, a->rank.gang, sizeof(a->gang.name));
		a->gang.members = a->rank.size;
		a->gang.rank = a->rank.number;
		a->gang.of_ranks = true;
	}
	pthread_mutex_unlock(&a->lock);
}

static u32 gang_flags(const struct gp__agent *a)
{
	if (a->gang.of_ranks)
		return GP__WIRE_GANG_RANKS | a->gang.rank << 8;
	return a->gang.formed ? GP__WIRE_GANG_FORMED : 0;
}

/* 0, or -errno: the connection failed. */
static int tell_gang(struct gp__agent *a)
{
	struct gp__wire_gang m = { .head = { sizeof(m), GP__WIRE_GANG, 0, 0, 0 } };
	struct gp__wire_reply reply = { 0 };
	bool is_new;
	int err;

	look_for_ranks(a);
	pthread_mutex_lock(&a->lock);
	is_new = *a->gang.name && !a->gang.told && !a->gang.over;
	memcpy(m.name, a->gang.name, sizeof(m.name));
	m.members = a->gang.members;
	m.flags = gang_flags(a);
	pthread_mutex_unlock(&a->lock);
	if (!is_new)
		return 0;
	a->gang.told = true;
	if (a->client.version < (a->gang.of_ranks ? 4 : 3)) {
		say_ungrouped(a, "this gpreemptd is older than gangs");
		return 0;
	}
	err = gp__wire_client_request(&a->client, &m, &reply);
	if (err && reply.head.type == GP__WIRE_REPLY) {
		say_ungrouped(a, "%s", reply.text);
		err = 0;
	}
	return err;
}

/* Reads what the daemon says of the gang. */
static void watch_gang(struct gp__agent *a)
{
	switch (a->client.version < 3 ? GP__WIRE_UNGROUPED : atomic_load(&a->client.order->gang)) {
	case GP__WIRE_GANG_TOGETHER:
		a->gang.formed = true;
		break;
	case GP__WIRE_GANG_PARTLY:
		a->gang.formed = true;
		say_ungrouped(a, "another member is on the same GPU, or the user has too many");
		break;
	case GP__WIRE_GANG_GAVE_UP:
		/* A daemon that is restarted does not make it wait again. */
		a->gang.over = true;
		say_ungrouped(a, "not all of its %u members have joined", a->gang.members);
		break;
	default:
		break;
	}
}

int gp__agent_gang(struct gp__agent *a, const char *name, u32 members)
{
	int err = 0;

	if (!gp__gang_name_ok(name) || members > GP__WIRE_GANG_MEMBERS_MAX)
		return -EINVAL;
	pthread_mutex_lock(&a->lock);
	if (!*a->gang.name) {
		gp__wire_text(a->gang.name, sizeof(a->gang.name), name);
		a->gang.members = members;
	} else if (strcmp(a->gang.name, name) != 0 || a->gang.members != members ||
		   a->gang.of_ranks) {
		err = -EBUSY;
	}
	pthread_mutex_unlock(&a->lock);
	gp__agent_wake(a);
	return err;
}

void gp__agent_rank(struct gp__agent *a, const struct gp__rank *rank)
{
	a->rank = *rank;
}

/* Tells the daemon about queues, but not for longer than until an order expires. 0; 1: there is
 * more; or -errno: the connection failed. */
static int tell_news(struct gp__agent *a, u64 expires)
{
	struct queue *q;
	int err = tell_gang(a);

	pthread_mutex_lock(&a->lock);
	while (!err && (q = next_news(a))) {
		err = tell(a, q);
		if (!err && gp__clock_ns() > expires)
			err = 1;
	}
	pthread_mutex_unlock(&a->lock);
	return err;
}

/*
 * The thread
 */

/* Clears an eventfd, or the notifications in a pipe. */
static void drain(int fd)
{
	u64 notifications[32];
	ssize_t n = read(fd, notifications, sizeof(notifications));

	(void)n;
}

/* Sleeps until something happens. False: the daemon has closed the connection. */
static bool wait_for_news(struct gp__agent *a, u64 until)
{
	struct pollfd p[3] = { { .fd = a->wake, .events = POLLIN },
			       { .fd = a->connected ? a->client.socket : -1, .events = POLLIN },
			       { .fd = a->connected ? a->client.notify_fd : -1,
				 .events = POLLIN } };
	u64 now = gp__clock_ns(), left = until > now ? until - now : 0;
	struct timespec ts = { (time_t)(left / GP__S), (long)(left % GP__S) };

	if (ppoll(p, 3, until == GP__NEVER ? NULL : &ts, NULL) <= 0)
		return true;
	if (p[0].revents)
		drain(a->wake);
	if (p[2].revents)
		drain(a->client.notify_fd);
	/* Replies are read by the requests themselves, so anything else ends the connection. */
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

/* Tries to connect, and ends what expires. Returns when to call it again. */
static u64 live_without_daemon(struct gp__agent *a)
{
	u64 until = gp__min_u64(gp__agent_expire(a), gp__agent_tell_alone(a, true));
	u64 now = gp__clock_ns();

	if (now >= a->retry_at)
		connect_to_daemon(a, now, until);
	return a->connected ? until : gp__min_u64(until, a->retry_at);
}

static void *run(void *data)
{
	struct gp__agent *a = data;
	u64 until = GP__NEVER;

	pthread_setname_np(pthread_self(), "gp-agent");
	gp__prefer_latency();
	while (!is_over(a)) {
		int news;

		if (!a->connected)
			until = has_queues(a) ? live_without_daemon(a) : GP__NEVER;
		news = a->connected ? tell_news(a, until) : 0;
		if (news < 0) {
			disconnect(a);
			continue;
		}
		if (a->connected) {
			watch_gang(a);
			until = gp__min_u64(gp__agent_obey(a), gp__agent_measure(a));
		}
		if (!wait_for_news(a, news ? 0 : until))
			disconnect(a);
	}
	gp__agent_release_all(a);
	return NULL;
}

int gp__agent_start(struct gp__agent *a)
{
	int err = gp__thread_start(&a->thread, STACK_BYTES, run, a);

	a->running = !err;
	return err;
}

/*
 * Creating and destroying the agent
 */

int gp__agent_create(const struct gp__agent_options *options, struct gp__agent **agent)
{
	struct gp__agent *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->wake = gp__fd_move_up(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (a->wake < 0) {
		int err = -errno;

		free(a);
		return err;
	}
	pthread_mutex_init(&a->lock, NULL);
	gp__list_init(&a->sources);
	gp__list_init(&a->queues);
	a->options = *options;
	if (!options->has_socket)
		snprintf(a->path, sizeof(a->path), "%s", options->path);
	a->has_socket = options->has_socket;
	a->socket = options->has_socket ? options->socket : -1;
	gp__wire_text(a->program, sizeof(a->program), options->program);
	a->client =
		(struct gp__wire_client){ .socket = -1, .notify_fd = -1, .daemon_notify_fd = -1 };
	*agent = a;
	return 0;
}

static void free_sources(struct gp__agent *a)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &a->sources)
	{
		gp__list_del(l);
		free(container_of(l, struct source, link));
	}
}

/* A child after fork() may find the list half changed by a thread that it does not have. Following
 * it forwards is safe at any moment; unlinking an element is not. */
static void free_queues(struct gp__agent *a)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &a->queues) free(container_of(l, struct queue, link));
	gp__list_init(&a->queues);
}

void gp__agent_destroy(struct gp__agent *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_mutex_unlock(&a->lock);
	gp__agent_wake(a);
	if (a->running)
		pthread_join(a->thread, NULL);
	gp__wire_client_close(&a->client);
	if (a->socket >= 0)
		close(a->socket);
	free_queues(a);
	free_sources(a);
	close(a->wake);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* For a child after fork(), when a thread that it does not have may have been opening a port. */
static void mend_sources(struct gp__agent *a)
{
	struct gp__link *last = &a->sources;

	for (struct gp__link *l = last->next; l != &a->sources; l = l->next) {
		l->prev = last;
		last = l;
	}
	a->sources.prev = last;
}

/* A thread that the child does not have may have held the lock. */
void gp__agent_forget(struct gp__agent *a)
{
	struct gp__link *l, *n;

	pthread_mutex_init(&a->lock, NULL);
	free_queues(a);
	mend_sources(a);
	gp__wire_client_close(&a->client);
	close(a->wake);
	a->wake = gp__fd_move_up(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	memset(a->slot_used, 0, sizeof(a->slot_used));
	memset(&a->state, 0, sizeof(a->state));
	gp__list_each(l, n, &a->sources) container_of(l, struct source, link)->told_alone = false;
	a->running = a->connected = false;
	a->gang.told = a->gang.formed = a->gang.said = a->gang.over = false;
	a->retry_at = a->retry_after = a->kept_until = 0;
}

/*
 * The program
 */

/* Queues with the same GPU, priority and tag are one group, and one of them announces for all. */
static bool is_same_group(const struct queue *a, const struct queue *b)
{
	return a->hints.prio == b->hints.prio && !strcmp(a->is.device, b->is.device);
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

int gp__agent_lead_time(struct gp__agent *a, u64 *ns)
{
	struct gp__link *l, *n;
	int err;

	*ns = 0;
	pthread_mutex_lock(&a->lock);
	err = a->connected ? -ENODEV : -ENOTCONN;
	gp__list_each(l, n, &a->queues)
	{
		const struct queue *q = container_of(l, struct queue, link);

		if (!a->connected || q->stage != KNOWN)
			continue;
		*ns = gp__max_u64(*ns, gp__wire_client_lead_ns(&a->client, q->slot));
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
