// SPDX-License-Identifier: MIT
/*
 * The lock protects everything but what is written at creation. The thread polls with the lock and
 * calls back without it; removing a group waits for its callbacks.
 */
#include "device/nvrm/monitor.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/cond.h"
#include "base/thread.h"
#include "device/nvrm/abi.h"
#include "device/nvrm/done.h"

#define GROUPS_MAX 64
#define CHANNELS_MAX 64 /* of a group; more are not polled */
#define STACK_BYTES (128 * 1024)

enum end { UNKNOWN, COMES, REACHED };

struct channel {
	uint32_t put, get;
	uint64_t moved_at;
	enum end end; /* of the latest submission */
	struct gp__nvrm_end at;
};

struct seen {
	struct gp__nvrm_group_info group;
	struct gp__nvrm_ring ring[CHANNELS_MAX];
	struct channel channel[CHANNELS_MAX];
	int nr; /* of mapped rings; 0: not mapped yet; negative: cannot be mapped */
	uint32_t nr_channels; /* when the mapping was tried */
	bool busy, held;
	uint64_t moved_at;
};

struct message {
	uint32_t id, pending;
	bool ready;
	uint64_t at; /* when work was seen, or since when there is none */
};

struct gp__nvrm_monitor {
	struct gp__nvrm_monitor_options options;
	pthread_t thread;
	pthread_mutex_t lock;
	struct gp__cond wake; /* the thread, and threads that wait for its callbacks */
	bool ends, calm, telling;
	struct seen *seen[GROUPS_MAX];
	size_t nr;
	struct gp__peek peek;
	struct message message[GROUPS_MAX];
	size_t nr_messages;
};

/*
 * Looking. All with the lock.
 */

/* Channels are added one by one: a group is mapped again when it has more of them. */
static void map(struct gp__nvrm_monitor *m, struct seen *s)
{
	const struct gp__nvrm_monitor_options *o = &m->options;
	struct gp__nvrm_owned list[GROUPS_MAX];
	size_t n = gp__nvrm_owner_list(o->owner, list, GROUPS_MAX);
	char node[32];

	for (size_t i = 0; i < n && i < GROUPS_MAX; i++) {
		if (list[i].group.id != s->group.id || list[i].group.nr_channels == s->nr_channels)
			continue;
		s->nr_channels = list[i].group.nr_channels;
		s->nr = -EOPNOTSUPP;
		if (o->node(o->data, &s->group, node, sizeof(node)))
			s->nr = gp__nvrm_owner_map(o->owner, s->group.id, node, s->ring,
						   CHANNELS_MAX);
		for (int c = 0; c < s->nr; c++)
			s->channel[c].put = ~s->ring[c].userd[GP__NVRM_USERD_PUT / 4]; /* moved */
	}
}

/* Finds the end of the latest submission once, and polls it until it is done. */
static void look_for_end(struct gp__nvrm_monitor *m, const struct gp__nvrm_ring *ring,
			 struct channel *c, bool moved)
{
	int reached;

	if (moved) {
		gp__nvrm_end_find(&m->peek, ring, c->put, &c->at);
		c->end = c->at.at ? COMES : UNKNOWN;
	}
	if (c->end != COMES)
		return;
	reached = gp__nvrm_end_reached(&m->peek, &c->at);
	if (reached)
		c->end = reached > 0 ? REACHED : UNKNOWN;
}

/* True: an index has moved since the last look. A channel without work is read once. */
static bool look_at_channel(struct gp__nvrm_monitor *m, const struct gp__nvrm_ring *ring,
			    struct channel *c, uint64_t now)
{
	uint32_t put = ring->userd[GP__NVRM_USERD_PUT / 4], get = c->get;
	bool came = put != c->put, moved;

	if (came || get != put)
		get = ring->userd[GP__NVRM_USERD_GET / 4];
	moved = came || get != c->get;
	c->put = put;
	c->get = get;
	if (moved)
		c->moved_at = now;
	look_for_end(m, ring, c, came);
	return moved;
}

static bool is_at_work(const struct channel *c, uint64_t grace_ns, uint64_t now)
{
	if (c->put != c->get || c->end == COMES)
		return true;
	return c->end == UNKNOWN && now - c->moved_at < grace_ns;
}

/* Counts the channels with work; *@moved: an index has moved since the last look. */
static uint32_t look(struct gp__nvrm_monitor *m, struct seen *s, bool *moved, uint64_t now)
{
	uint32_t pending = 0;

	*moved = false;
	for (int i = 0; i < s->nr; i++) {
		*moved |= look_at_channel(m, &s->ring[i], &s->channel[i], now);
		pending += is_at_work(&s->channel[i], m->options.grace_ns, now);
	}
	return pending;
}

static void say_ready(struct gp__nvrm_monitor *m, struct seen *s, uint32_t pending, uint64_t now)
{
	s->busy = true;
	m->message[m->nr_messages++] = (struct message){ s->group.id, pending, true, now };
}

static void say_idle(struct gp__nvrm_monitor *m, struct seen *s)
{
	s->busy = false;
	m->message[m->nr_messages++] = (struct message){ s->group.id, 0, false, s->moved_at };
}

static void look_at(struct gp__nvrm_monitor *m, struct seen *s, uint64_t now)
{
	const struct gp__nvrm_monitor_options *o = &m->options;
	uint32_t pending;
	bool moved;

	map(m, s);
	if (s->nr <= 0) {
		/* Only the group's presence is seen. */
		if (s->nr < 0 && !s->busy)
			say_ready(m, s, 0, now);
		return;
	}
	pending = look(m, s, &moved, now);
	if (moved || pending)
		s->moved_at = now;
	if (moved && !s->busy)
		say_ready(m, s, pending, now);
	else if (s->busy && !s->held && now - s->moved_at >= o->settle_ns)
		say_idle(m, s);
}

/*
 * The thread
 */

static void tell(struct gp__nvrm_monitor *m)
{
	const struct gp__nvrm_monitor_options *o = &m->options;

	if (!m->nr_messages)
		return;
	m->telling = true;
	pthread_mutex_unlock(&m->lock);
	for (size_t i = 0; i < m->nr_messages; i++) {
		const struct message *t = &m->message[i];

		if (t->ready)
			o->ready(o->data, t->id, t->pending, t->at);
		else
			o->idle(o->data, t->id, t->at);
	}
	pthread_mutex_lock(&m->lock);
	m->telling = false;
	m->nr_messages = 0;
	gp__cond_broadcast(&m->wake);
}

static uint64_t period(const struct gp__nvrm_monitor *m)
{
	return m->calm ? m->options.calm_period_ns : m->options.period_ns;
}

static void *run(void *data)
{
	struct gp__nvrm_monitor *m = data;

	pthread_mutex_lock(&m->lock);
	while (!m->ends) {
		uint64_t now = gp__clock_ns();

		for (size_t i = 0; i < m->nr; i++)
			look_at(m, m->seen[i], now);
		tell(m);
		if (!m->ends)
			gp__cond_wait(&m->wake, &m->lock, m->nr ? now + period(m) : GP__FOREVER);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

/*
 * Groups
 */

int gp__nvrm_monitor_create(const struct gp__nvrm_monitor_options *options,
			    struct gp__nvrm_monitor **monitor)
{
	struct gp__nvrm_monitor *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->options = *options;
	if (!m->options.period_ns)
		m->options.period_ns = GP__NVRM_PERIOD_NS;
	if (!m->options.calm_period_ns)
		m->options.calm_period_ns = GP__NVRM_CALM_PERIOD_NS;
	if (!m->options.settle_ns)
		m->options.settle_ns = GP__NVRM_SETTLE_NS;
	if (!m->options.grace_ns)
		m->options.grace_ns = GP__NVRM_GRACE_NS;
	pthread_mutex_init(&m->lock, NULL);
	err = gp__peek_open(&m->peek);
	if (!err)
		err = gp__thread_start(&m->thread, STACK_BYTES, run, m);
	if (err) {
		gp__peek_close(&m->peek);
		free(m);
		return err;
	}
	*monitor = m;
	return 0;
}

void gp__nvrm_monitor_destroy(struct gp__nvrm_monitor *m)
{
	if (!m)
		return;
	pthread_mutex_lock(&m->lock);
	m->ends = true;
	gp__cond_broadcast(&m->wake);
	pthread_mutex_unlock(&m->lock);
	pthread_join(m->thread, NULL);
	for (size_t i = 0; i < m->nr; i++)
		free(m->seen[i]);
	gp__peek_close(&m->peek);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

static struct seen **find(struct gp__nvrm_monitor *m, uint32_t id)
{
	for (size_t i = 0; i < m->nr; i++) {
		if (m->seen[i]->group.id == id)
			return &m->seen[i];
	}
	return NULL;
}

int gp__nvrm_monitor_add(struct gp__nvrm_monitor *m, const struct gp__nvrm_group_info *group)
{
	struct seen *s = calloc(1, sizeof(*s));
	int err = 0;

	if (!s)
		return -ENOMEM;
	s->group = *group;
	pthread_mutex_lock(&m->lock);
	if (find(m, group->id))
		err = -EEXIST;
	else if (m->nr == GROUPS_MAX)
		err = -ENOSPC;
	else
		m->seen[m->nr++] = s;
	gp__cond_broadcast(&m->wake);
	pthread_mutex_unlock(&m->lock);
	if (err)
		free(s);
	return err;
}

void gp__nvrm_monitor_remove(struct gp__nvrm_monitor *m, uint32_t id)
{
	struct seen **at;

	pthread_mutex_lock(&m->lock);
	at = find(m, id);
	if (at) {
		free(*at);
		*at = m->seen[--m->nr];
	}
	while (m->telling)
		gp__cond_wait(&m->wake, &m->lock, GP__FOREVER);
	pthread_mutex_unlock(&m->lock);
}

void gp__nvrm_monitor_hold(struct gp__nvrm_monitor *m, uint32_t id, bool held)
{
	struct seen **at;

	pthread_mutex_lock(&m->lock);
	at = find(m, id);
	if (at) {
		(*at)->held = held;
		(*at)->moved_at = gp__clock_ns();
	}
	pthread_mutex_unlock(&m->lock);
}

void gp__nvrm_monitor_calm(struct gp__nvrm_monitor *m, bool calm)
{
	pthread_mutex_lock(&m->lock);
	m->calm = calm;
	gp__cond_broadcast(&m->wake);
	pthread_mutex_unlock(&m->lock);
}

bool gp__nvrm_monitor_sees(struct gp__nvrm_monitor *m)
{
	bool sees = true;

	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->nr; i++)
		sees &= m->seen[i]->nr >= 0;
	pthread_mutex_unlock(&m->lock);
	return sees;
}
