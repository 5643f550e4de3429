// SPDX-License-Identifier: MIT
/*
 * The in-process scheduler: carries out the core's decisions on the queues of
 * this process.
 *
 * A queue that gets work or runs out of it is an event for the core, in the
 * calling thread. The scheduler's own threads carry out the core's actions,
 * because an action may take long and must not delay a thread that submits
 * urgent work.
 *
 * A time keeper among these threads sleeps until s->sleeps_until, and a spare one waits for
 * actions. A thread that starts an action makes sure that another keeps time.
 * So a device that hangs only affects its own queue: the core times out, and
 * the other queues go on, until CREW_MAX queues hang.
 *
 * Locking: s->lock is taken with or without a queue's lock held, never the
 * other way round; it is not held during an action. One thread at a time works
 * on a member (m->busy), which is not freed before that thread is done.
 *
 * A queue has at most one pending action (m->act). If it is regrouped
 * meanwhile, the core takes it for a new queue that runs with the default
 * weight: m->fresh makes that true first, and `generation` tells a stale
 * acknowledgement from one that the core waits for.
 *
 * Wrong tool across processes: use the daemon, which has the same core.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/api.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/thread.h"
#include "core/core.h"
#include "core/list.h"
#include "core/log.h"
#include "policy/policy.h"
#include "queue/driver.h"
#include "queue/params.h"

struct device {
	struct gp__link link;
	struct gp__dev dev;
	struct gp__owner owner; /* all queues are this process's */
	unsigned int groups;
};

struct group {
	struct gp__link link;
	struct gp__entity entity;
	struct device *device;
	unsigned int members;
};

struct gp__member {
	struct gp__queue cq;
	struct gp__link todo; /* in s->todo, or alone */
	struct gp_sched *sched;
	struct gp_queue *queue;
	struct group *group;
	struct gp__action act;
	bool fresh; /* regrouped: earlier actions must be undone */
	bool busy;
	bool can_weigh;
	bool weighed; /* not the default weight; owned by the busy thread */
	unsigned int generation;
};

#define CREW_MIN 2
#define CREW_MAX 8

struct gp_sched {
	pthread_mutex_t lock;
	struct gp__cond work; /* for a spare thread */
	struct gp__cond clock; /* for the thread that keeps time */
	struct gp__cond back; /* a thread is done with a queue */
	struct gp__core core;
	struct gp__link devices, groups, todo;
	uint64_t sleeps_until; /* of the thread that keeps time; 0 = none does */
	uint32_t last_id;
	unsigned int members;
	pthread_t crew[CREW_MAX];
	unsigned int threads; /* started, of the crew */
	unsigned int spare; /* asleep, not keeping time */
	bool stop;
	gp_log_fn log;
	void *log_data;
};

/* ---------------------------------------------------------------- actions -- */

static void *crew_main(void *arg);

static int crew_add(struct gp_sched *s)
{
	int rc;

	if (s->threads == CREW_MAX)
		return -EAGAIN;
	rc = gp__thread_start(&s->crew[s->threads], 0, crew_main, s);
	if (!rc)
		s->threads++;
	return rc;
}

/* Wakes or starts another thread. If none can be had, work waits until one is free. */
static void call_one(struct gp_sched *s)
{
	if (s->spare)
		gp__cond_signal(&s->work);
	else if (s->sleeps_until)
		gp__cond_signal(&s->clock);
	else
		crew_add(s);
}

/*
 * Called after every event: takes the core's actions, wakes a thread for them,
 * and wakes the time keeper if the core's next timer is earlier.
 */
static void collect(struct gp_sched *s)
{
	struct gp__action a;
	struct gp__member *m;
	bool more = false;

	while (gp__core_pop(&s->core, &a)) {
		m = container_of(a.queue, struct gp__member, cq);
		m->act = a;
		gp__list_del(&m->todo);
		gp__list_push(&s->todo, &m->todo);
		more = true;
	}
	if (more)
		call_one(s);
	if (s->sleeps_until && gp__core_wake(&s->core) < s->sleeps_until)
		gp__cond_signal(&s->clock);
}

static int weigh(struct gp__member *m, uint32_t weight)
{
	int rc = m->can_weigh ? gp__drv_weigh(m->queue, weight) : -EOPNOTSUPP;

	if (!rc)
		m->weighed = weight != 0;
	return rc;
}

static int carry_out(struct gp__member *m, const struct gp__action *a, bool fresh)
{
	if (fresh && a->verb != GP__VERB_HOLD)
		gp__drv_release(m->queue);
	if (fresh && a->verb != GP__VERB_WEIGH && m->weighed)
		weigh(m, 0);
	switch (a->verb) {
	case GP__VERB_HOLD:
		return gp__drv_hold(m->queue);
	case GP__VERB_RELEASE:
		return gp__drv_release(m->queue);
	case GP__VERB_WEIGH:
		return weigh(m, a->weight);
	default:
		return 0;
	}
}

/* The first member with an action that no thread works on. */
static struct gp__member *todo_first(struct gp_sched *s)
{
	struct gp__link *l, *n;
	struct gp__member *m;

	gp__list_each(l, n, &s->todo)
	{
		m = container_of(l, struct gp__member, todo);
		if (!m->busy)
			return m;
	}
	return NULL;
}

static void do_one(struct gp_sched *s, struct gp__member *m)
{
	struct gp__action act = m->act;
	unsigned int generation = m->generation;
	bool fresh = m->fresh;
	int rc;

	gp__list_del(&m->todo);
	m->act.verb = GP__VERB_NONE;
	m->fresh = false;
	m->busy = true;
	if (!s->sleeps_until || todo_first(s))
		call_one(s);
	pthread_mutex_unlock(&s->lock);
	rc = carry_out(m, &act, fresh);
	pthread_mutex_lock(&s->lock);
	m->busy = false;
	if (act.verb != GP__VERB_NONE && m->generation == generation)
		gp__queue_ack(&m->cq, rc, gp__clock_ns());
	collect(s);
	gp__cond_broadcast(&s->back);
}

static void rest(struct gp_sched *s)
{
	if (s->sleeps_until) {
		s->spare++;
		gp__cond_wait(&s->work, &s->lock, GP__FOREVER);
		s->spare--;
	} else {
		_Static_assert(GP__NEVER == GP__FOREVER, "the core's never is the clock's");
		s->sleeps_until = gp__core_wake(&s->core);
		gp__cond_wait(&s->clock, &s->lock, s->sleeps_until);
		s->sleeps_until = 0;
	}
}

static void *crew_main(void *arg)
{
	struct gp_sched *s = arg;
	struct gp__member *m;
	uint64_t now;

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		now = gp__clock_ns();
		if (gp__core_wake(&s->core) <= now) {
			gp__core_tick(&s->core, now);
			collect(s);
		}
		m = todo_first(s);
		if (m)
			do_one(s, m);
		else
			rest(s);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ------------------------------------------------------ devices and groups -- */

static struct device *device_get(struct gp_sched *s, const struct gp__join *join)
{
	struct gp__link *l, *n;
	struct device *d;

	gp__list_each(l, n, &s->devices)
	{
		d = container_of(l, struct device, link);
		if (d->dev.id == join->device)
			return d;
	}
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	gp__list_push(&s->devices, &d->link);
	gp__dev_add(&s->core, &d->dev, join->device, join->device_memory,
		    join->can_weigh ? GP__WEIGHS : GP__WEIGHS_NOT, gp__clock_ns());
	gp__owner_init(&d->owner, &d->dev, GP__NOBODY);
	return d;
}

static void device_put(struct device *d)
{
	if (d->groups)
		return;
	gp__dev_remove(&d->dev, gp__clock_ns());
	gp__list_del(&d->link);
	free(d);
}

static struct group *group_find(struct gp_sched *s, const struct device *d, int priority,
				const char *tag)
{
	struct gp__link *l, *n;
	struct group *g;

	gp__list_each(l, n, &s->groups)
	{
		g = container_of(l, struct group, link);
		if (g->device == d && g->entity.hints.prio == priority &&
		    !strcmp(g->entity.tag, tag))
			return g;
	}
	return NULL;
}

static struct group *group_get(struct gp_sched *s, struct device *d, const struct gp__hints *h,
			       const char *tag)
{
	struct group *g = group_find(s, d, h->prio, tag);

	if (g)
		return g;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	if (gp__entity_add(&d->owner, &g->entity, ++s->last_id, 0, gp__class_of(h->prio), tag, h,
			   gp__clock_ns())) {
		free(g);
		return NULL;
	}
	g->device = d;
	d->groups++;
	gp__list_push(&s->groups, &g->link);
	return g;
}

static void group_put(struct group *g)
{
	struct device *d = g->device;

	if (g->members)
		return;
	gp__entity_remove(&g->entity, gp__clock_ns());
	gp__list_del(&g->link);
	free(g);
	d->groups--;
	device_put(d);
}

static void group_add(struct group *g, struct gp__member *m, uint8_t level_requested, uint8_t level)
{
	g->members++;
	m->group = g;
	gp__queue_add(&g->entity, &m->cq, ++m->sched->last_id, level_requested, level,
		      gp__clock_ns());
}

static struct group *group_leave(struct gp__member *m)
{
	struct group *g = m->group;

	gp__queue_remove(&m->cq, gp__clock_ns());
	m->generation++;
	gp__list_del(&m->todo);
	g->members--;
	return g;
}

/*
 * Another priority means another group, in which the queue is new to the core:
 * a hold or weight that is in force must be undone.
 */
static int regroup(struct gp__member *m, int priority)
{
	struct gp__hints h = m->group->entity.hints;
	uint8_t level_requested = m->cq.level_requested, level = m->cq.level;
	struct gp_sched *s = m->sched;
	bool ready = m->cq.ready;
	uint32_t pending = m->cq.pending;
	struct group *old, *g;

	if (m->group->entity.hints.prio == priority)
		return 0;
	h.prio = priority;
	g = group_get(s, m->group->device, &h, m->group->entity.tag);
	if (!g)
		return -ENOMEM;
	old = group_leave(m);
	m->act.verb = GP__VERB_NONE;
	m->fresh = true;
	gp__list_push(&s->todo, &m->todo);
	call_one(s);
	group_add(g, m, level_requested, level);
	if (ready)
		gp__queue_ready(&m->cq, pending, gp__clock_ns());
	group_put(old);
	return 0;
}

/* ------------------------------------------------------------- for queues -- */

static int member_place(struct gp__member *m, const struct gp__join *join,
			const struct gp__hints *h, struct gp_error *err)
{
	struct gp_sched *s = m->sched;
	struct group *g = NULL;
	struct device *d;
	int rc = 0;

	while (s->threads < CREW_MIN && !rc)
		rc = crew_add(s);
	if (rc)
		return gp__fail(err, rc, "cannot start the scheduler's threads");
	d = device_get(s, join);
	if (d) {
		g = group_get(s, d, h, join->tag);
		if (!g)
			device_put(d);
	}
	if (!g)
		return gp__fail(err, -ENOMEM, "out of memory");
	s->members++;
	group_add(g, m, (uint8_t)join->level_requested, (uint8_t)join->level);
	collect(s);
	return 0;
}

int gp__sched_join(struct gp_sched *s, const struct gp__join *join, struct gp__member **member,
		   struct gp_error *err)
{
	struct gp__hints h = { .prio = join->priority };
	struct gp__member *m;
	const char *why;
	int rc;

	rc = gp__hints_check(&h, &why);
	if (rc)
		return gp__fail(err, rc, "%s", why);
	if (strlen(join->tag) >= GP__TAG_MAX)
		return gp__fail(err, -ENAMETOOLONG, "a tag has at most %d characters",
				GP__TAG_MAX - 1);
	m = calloc(1, sizeof(*m));
	if (!m)
		return gp__fail(err, -ENOMEM, "out of memory");
	m->sched = s;
	m->queue = join->queue;
	m->can_weigh = join->can_weigh;
	gp__list_init(&m->todo);

	pthread_mutex_lock(&s->lock);
	rc = member_place(m, join, &h, err);
	/* Set before a thread can act on the queue, which reads it. */
	if (!rc)
		*member = m;
	pthread_mutex_unlock(&s->lock);
	if (rc)
		free(m);
	return rc;
}

void gp__sched_leave(struct gp__member *m)
{
	struct gp_sched *s = m->sched;

	pthread_mutex_lock(&s->lock);
	group_put(group_leave(m));
	collect(s);
	while (m->busy)
		gp__cond_wait(&s->back, &s->lock, GP__FOREVER);
	s->members--;
	pthread_mutex_unlock(&s->lock);
	free(m);
}

bool gp__sched_ready(struct gp__member *m, uint64_t now)
{
	struct gp_sched *s = m->sched;
	bool hold;

	pthread_mutex_lock(&s->lock);
	gp__queue_ready(&m->cq, 1, now);
	collect(s);
	hold = !gp__list_empty(&m->todo) && m->act.verb == GP__VERB_HOLD;
	pthread_mutex_unlock(&s->lock);
	return hold;
}

void gp__sched_idle(struct gp__member *m, uint64_t now)
{
	struct gp_sched *s = m->sched;

	pthread_mutex_lock(&s->lock);
	gp__queue_idle(&m->cq, now, 0, now);
	collect(s);
	pthread_mutex_unlock(&s->lock);
}

void gp__sched_level(struct gp__member *m, int level, uint64_t now)
{
	struct gp_sched *s = m->sched;

	pthread_mutex_lock(&s->lock);
	gp__queue_level(&m->cq, (uint8_t)level, now);
	collect(s);
	pthread_mutex_unlock(&s->lock);
}

void gp__sched_arriving(struct gp__member *m, uint64_t when)
{
	struct gp_sched *s = m->sched;

	pthread_mutex_lock(&s->lock);
	gp__entity_arriving(&m->group->entity, when, gp__clock_ns());
	collect(s);
	pthread_mutex_unlock(&s->lock);
}

uint64_t gp__sched_lead_time(struct gp__member *m)
{
	struct gp_sched *s = m->sched;
	uint64_t lead;

	pthread_mutex_lock(&s->lock);
	lead = gp__dev_lead_ns(&m->group->device->dev);
	pthread_mutex_unlock(&s->lock);
	return lead;
}

int gp__sched_hint(struct gp__member *m, enum gp_hint hint, int64_t value, struct gp_error *err)
{
	struct gp_sched *s = m->sched;
	struct gp__hints h;
	int rc;

	pthread_mutex_lock(&s->lock);
	h = m->group->entity.hints;
	rc = gp__hint_set(&h, hint, value, err);
	if (!rc && h.memory && !m->group->device->dev.memory)
		rc = gp__fail(err, -EOPNOTSUPP,
			      "GP_HINT_MEMORY has no effect on device %u, whose memory is not "
			      "known; set device_memory in the options of its first queue",
			      m->group->device->dev.id);
	if (!rc && hint == GP_HINT_PRIORITY)
		rc = regroup(m, h.prio);
	else if (!rc)
		rc = gp__entity_hint(&m->group->entity, &h, gp__clock_ns());
	collect(s);
	pthread_mutex_unlock(&s->lock);
	if (rc == -ENOMEM)
		gp__fail(err, rc, "out of memory");
	return rc;
}

/* --------------------------------------------------------------------- API -- */

static void log_line(void *ctx, const struct gp__record *r)
{
	struct gp_sched *s = ctx;
	char line[GP__LOG_LINE_MAX];

	gp__record_format(r, line);
	s->log(s->log_data, line);
}

static int options_read(struct gp_sched_options *opt, const struct gp_sched_options *in,
			struct gp_error *err)
{
	int rc = in ? gp__struct_in(opt, sizeof(*opt), in) : 0;

	if (rc == -E2BIG)
		return gp__fail(err, rc,
				"the scheduler options have a field that this libgpreempt does "
				"not know");
	return rc ? gp__fail(err, rc, "the scheduler options' size is not set") : 0;
}

int gp_sched_create(const struct gp_sched_options *options, struct gp_sched **sched,
		    struct gp_error *err)
{
	struct gp_sched_options opt = GP_SCHED_OPTIONS_INIT;
	struct gp__choice choice;
	struct gp_sched *s;
	int rc;

	if (!sched)
		return gp__fail(err, -EINVAL, "the pointer for the new scheduler is NULL");
	*sched = NULL;
	rc = options_read(&opt, options, err);
	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return gp__fail(err, -ENOMEM, "out of memory");
	gp__core_init(&s->core, gp__policies[0]);
	rc = gp__choice_read(&choice, &s->core, opt.policy, opt.params, err);
	if (rc) {
		free(s);
		return rc;
	}
	gp__choice_apply(&choice, &s->core, gp__clock_ns());
	gp__list_init(&s->devices);
	gp__list_init(&s->groups);
	gp__list_init(&s->todo);
	pthread_mutex_init(&s->lock, NULL);
	s->log = opt.log;
	s->log_data = opt.log_data;
	if (s->log) {
		s->log(s->log_data, GP__LOG_HEADER);
		gp__core_log(&s->core, log_line, s);
	}
	*sched = s;
	return 0;
}

int gp_sched_set_policy(struct gp_sched *s, const char *policy, const char *params,
			struct gp_error *err)
{
	struct gp__choice choice;
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = gp__choice_read(&choice, &s->core, policy, params, err);
	if (!rc) {
		gp__choice_apply(&choice, &s->core, gp__clock_ns());
		collect(s);
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

int gp_sched_destroy(struct gp_sched *s)
{
	if (!s)
		return 0;
	pthread_mutex_lock(&s->lock);
	if (s->members) {
		pthread_mutex_unlock(&s->lock);
		return -EBUSY;
	}
	s->stop = true;
	gp__cond_broadcast(&s->work);
	gp__cond_broadcast(&s->clock);
	pthread_mutex_unlock(&s->lock);
	/* No thread works on a queue, so none starts another one. */
	while (s->threads)
		pthread_join(s->crew[--s->threads], NULL);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return 0;
}
