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

#define GROUPS_MAX 64
#define STACK_BYTES (128 * 1024)

struct seen {
	struct gp__nvrm_group_info group;
	struct gp__nvrm_work work;
	int nr; /* of mapped rings; 0: not mapped yet; negative: cannot be mapped */
	uint32_t nr_channels; /* when the mapping was tried */
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
			s->nr = gp__nvrm_owner_map(o->owner, s->group.id, node, s->work.ring,
						   GP__NVRM_CHANNELS_MAX);
		if (s->nr > 0)
			gp__nvrm_work_begin(&s->work, (uint32_t)s->nr);
	}
}

static void say(struct gp__nvrm_monitor *m, const struct seen *s, uint64_t at)
{
	const struct gp__nvrm_work *w = &s->work;

	m->message[m->nr_messages++] = (struct message){ s->group.id, w->pending, w->busy, at };
}

static void look_at(struct gp__nvrm_monitor *m, struct seen *s, uint64_t now)
{
	map(m, s);
	if (s->nr > 0) {
		switch (gp__nvrm_work_look(&s->work, &m->peek, &m->options.times, now)) {
		case GP__NVRM_BECAME_BUSY:
			say(m, s, now);
			break;
		case GP__NVRM_BECAME_IDLE:
			say(m, s, s->work.moved_at);
			break;
		case GP__NVRM_NO_CHANGE:
			break;
		}
	} else if (s->nr < 0 && !s->work.busy) {
		/* Only the group's presence is seen. */
		s->work.busy = true;
		say(m, s, now);
	}
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

static uint64_t next_look(const struct gp__nvrm_monitor *m, uint64_t now)
{
	const struct gp__nvrm_monitor_options *o = &m->options;
	uint64_t next = m->nr ? now + (m->calm ? o->calm_period_ns : o->period_ns) : GP__FOREVER;

	for (size_t i = 0; i < m->nr; i++) {
		const struct seen *s = m->seen[i];
		uint64_t settles = s->nr > 0 ? gp__nvrm_work_settles(&s->work, &o->times) : next;

		if (settles < next)
			next = settles;
	}
	return next;
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
			gp__cond_wait(&m->wake, &m->lock, next_look(m, now));
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
	if (!m->options.times.settle_ns)
		m->options.times.settle_ns = GP__NVRM_SETTLE_NS;
	if (!m->options.times.grace_ns)
		m->options.times.grace_ns = GP__NVRM_GRACE_NS;
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
	if (at)
		gp__nvrm_work_hold(&(*at)->work, held, gp__clock_ns());
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
