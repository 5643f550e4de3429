// SPDX-License-Identifier: MIT
/*
 * The in-process scheduler: the core's decisions, carried out on the queues of
 * this process by one thread.
 *
 * Queues report getting work and running out of it; that is an event for the
 * core, in the thread that brought it. What the core answers is carried out by
 * the scheduler's own thread, because a verb may take long and the thread that
 * submits urgent work has better things to do.
 *
 * Locking: s->lock is taken with or without a queue's lock held, never the
 * other way round; it is not held while the thread is at a queue. A member the
 * thread is at (m->busy) is not freed before it has come back.
 *
 * A queue has at most one thing to do (m->act). If it is regrouped meanwhile,
 * the core has forgotten what it asked for before; `generation` tells such an
 * answer from one the core still waits for.
 *
 * Wrong tool across processes: that is the daemon's work, with the same core.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/core.h"
#include "core/list.h"
#include "policy/policy.h"
#include "queue/api.h"
#include "queue/driver.h"
#include "queue/thread.h"

struct device {
	struct gp__link link;
	struct gp__dev dev;
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
	bool answer; /* the core waits for the result of act */
	bool busy;
	bool can_weigh;
	unsigned int generation;
};

struct gp_sched {
	pthread_mutex_t lock;
	pthread_cond_t work; /* for the thread */
	pthread_cond_t back; /* the thread has left a queue */
	struct gp__core core;
	struct gp__link devices, groups, todo;
	uint64_t sleeps_until; /* of the thread; 0 = it is awake */
	uint32_t last_id;
	unsigned int members;
	pthread_t thread;
	bool started;
	bool stop;
};

/* ---------------------------------------------------------------- actions -- */

/*
 * After every event: takes the core's actions and sees that the thread is
 * awake when there is something to do, now or earlier than it thinks.
 */
static void collect(struct gp_sched *s)
{
	struct gp__action a;
	struct gp__member *m;

	while (gp__core_pop(&s->core, &a)) {
		m = container_of(a.queue, struct gp__member, cq);
		m->act = a;
		m->answer = true;
		gp__list_del(&m->todo);
		gp__list_push(&s->todo, &m->todo);
	}
	if (s->sleeps_until &&
	    (!gp__list_empty(&s->todo) || gp__core_wake(&s->core) < s->sleeps_until))
		pthread_cond_signal(&s->work);
}

static int carry_out(struct gp__member *m, const struct gp__action *a)
{
	switch (a->verb) {
	case GP__VERB_EXCLUDE:
		return gp__drv_hold(m->queue);
	case GP__VERB_ADMIT:
		return gp__drv_release(m->queue);
	case GP__VERB_WEIGH:
		return m->can_weigh ? gp__drv_weigh(m->queue, a->weight) : -EOPNOTSUPP;
	default:
		return 0;
	}
}

static void do_first(struct gp_sched *s)
{
	struct gp__member *m = container_of(s->todo.next, struct gp__member, todo);
	struct gp__action act = m->act;
	unsigned int generation = m->generation;
	bool answer = m->answer;
	int rc;

	gp__list_del(&m->todo);
	m->busy = true;
	pthread_mutex_unlock(&s->lock);
	rc = carry_out(m, &act);
	pthread_mutex_lock(&s->lock);
	m->busy = false;
	if (answer && m->generation == generation)
		gp__queue_ack(&m->cq, rc, gp__clock_ns());
	collect(s);
	pthread_cond_broadcast(&s->back);
}

static void sleep_until(struct gp_sched *s, uint64_t at)
{
	s->sleeps_until = at;
	gp__cond_wait(&s->work, &s->lock, at == GP__NEVER ? GP__FOREVER : at);
	s->sleeps_until = 0;
}

static void *sched_main(void *arg)
{
	struct gp_sched *s = arg;
	uint64_t now;

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		now = gp__clock_ns();
		if (gp__core_wake(&s->core) <= now) {
			gp__core_tick(&s->core, now);
			collect(s);
		}
		if (!gp__list_empty(&s->todo))
			do_first(s);
		else
			sleep_until(s, gp__core_wake(&s->core));
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ------------------------------------------------------ devices and groups -- */

static struct device *device_get(struct gp_sched *s, uint32_t id, bool can_weigh)
{
	struct gp__link *l, *n;
	struct device *d;

	gp__list_each(l, n, &s->devices)
	{
		d = container_of(l, struct device, link);
		if (d->dev.id == id)
			return d;
	}
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	gp__list_push(&s->devices, &d->link);
	gp__dev_add(&s->core, &d->dev, id, 0, can_weigh, gp__clock_ns());
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

static enum gp__class class_of(int priority)
{
	switch (priority) {
	case GP_PRIORITY_OFFLINE:
		return GP__CLASS_OFFLINE;
	case GP_PRIORITY_NORMAL:
		return GP__CLASS_NORMAL;
	case GP_PRIORITY_ONLINE:
		return GP__CLASS_ONLINE;
	default:
		return GP__CLASS_OTHER;
	}
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
	if (gp__entity_add(&d->dev, &g->entity, ++s->last_id, 0, class_of(h->prio), tag, h,
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
 * Another priority means another group. The core knows nothing of the queue's
 * past there, so unless it wants the queue held at once, it is released.
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
	m->act = (struct gp__action){ .verb = GP__VERB_ADMIT };
	m->answer = false;
	gp__list_push(&s->todo, &m->todo);
	group_add(g, m, level_requested, level);
	if (ready)
		gp__queue_ready(&m->cq, pending, gp__clock_ns());
	group_put(old);
	return 0;
}

/* ------------------------------------------------------------- for queues -- */

int gp__sched_join(struct gp_sched *s, const struct gp__join *join, struct gp__member **member,
		   struct gp_error *err)
{
	struct gp__hints h = { .prio = join->priority };
	struct gp__member *m;
	struct device *d;
	struct group *g = NULL;
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
	if (!s->started) {
		rc = gp__thread_start(&s->thread, sched_main, s);
		if (rc) {
			gp__fail(err, rc, "cannot start the scheduler's thread");
			goto out;
		}
		s->started = true;
	}
	d = device_get(s, join->device, join->can_weigh);
	if (d) {
		g = group_get(s, d, &h, join->tag);
		if (!g)
			device_put(d);
	}
	if (!g) {
		rc = gp__fail(err, -ENOMEM, "out of memory");
		goto out;
	}
	s->members++;
	group_add(g, m, (uint8_t)join->level_requested, (uint8_t)join->level);
	collect(s);
	*member = m;
out:
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
		pthread_cond_wait(&s->back, &s->lock);
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
	hold = !gp__list_empty(&m->todo) && m->act.verb == GP__VERB_EXCLUDE;
	pthread_mutex_unlock(&s->lock);
	return hold;
}

void gp__sched_idle(struct gp__member *m, uint64_t now)
{
	struct gp_sched *s = m->sched;

	pthread_mutex_lock(&s->lock);
	gp__queue_idle(&m->cq, now);
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

int gp__hint_set(struct gp__hints *h, enum gp_hint hint, int64_t value, struct gp_error *err)
{
	struct gp__hints n = *h;
	const char *why;
	uint32_t small = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;

	if (hint != GP_HINT_PRIORITY && value < 0)
		return gp__fail(err, -ERANGE, "only a priority may be negative");
	switch (hint) {
	case GP_HINT_PRIORITY:
		n.prio = value > INT32_MAX   ? INT32_MAX
			 : value < INT32_MIN ? INT32_MIN
					     : (int32_t)value;
		break;
	case GP_HINT_WEIGHT:
		n.weight = small;
		break;
	case GP_HINT_SHARE:
		n.share_pct = small;
		break;
	case GP_HINT_MIN_SHARE:
		n.min_share_pct = small;
		break;
	case GP_HINT_DEADLINE:
		n.deadline_ns = (uint64_t)value;
		break;
	case GP_HINT_MAX_HOLD:
		n.max_hold_ns = (uint64_t)value;
		break;
	case GP_HINT_MEMORY:
		n.memory = (uint64_t)value;
		break;
	default:
		return gp__fail(err, -EINVAL, "there is no hint %d", (int)hint);
	}
	if (gp__hints_check(&n, &why))
		return gp__fail(err, -ERANGE, "%s", why);
	*h = n;
	return 0;
}

int gp__sched_hint(struct gp__member *m, enum gp_hint hint, int64_t value, struct gp_error *err)
{
	struct gp_sched *s = m->sched;
	struct gp__hints h;
	int rc;

	pthread_mutex_lock(&s->lock);
	h = m->group->entity.hints;
	rc = gp__hint_set(&h, hint, value, err);
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

struct params {
	struct gp_sched *sched;
	const struct gp__policy *policy;
	uint64_t values[GP__POLICY_PARAMS_MAX];
};

static int param_set(struct params *p, const char *name, size_t len, uint64_t value,
		     struct gp_error *err)
{
	const struct gp__param *table = p->policy->params;
	int i = gp__param_find(table, p->policy->nr_params, name, len);

	if (i >= 0) {
		p->values[i] = value;
	} else {
		table = gp__core_params;
		i = gp__param_find(table, GP__CFG_COUNT, name, len);
		if (i < 0)
			return gp__fail(err, -EINVAL, "policy %s has no parameter '%.*s'",
					p->policy->name, (int)len, name);
		gp__core_configure(&p->sched->core, (u32)i, value, gp__clock_ns());
	}
	if (gp__param_check(&table[i], value))
		return gp__fail(err, -ERANGE, "%s is between %llu and %llu", table[i].name,
				(unsigned long long)table[i].min, (unsigned long long)table[i].max);
	return 0;
}

static int params_parse(struct params *p, const char *text, struct gp_error *err)
{
	static const char space[] = " \t\n,";
	const char *end, *eq;
	uint64_t value;
	char *rest;
	int rc;

	for (text += strspn(text, space); *text; text = end + strspn(end, space)) {
		end = text + strcspn(text, space);
		eq = memchr(text, '=', (size_t)(end - text));
		errno = 0;
		value = eq && eq[1] >= '0' && eq[1] <= '9' ? strtoull(eq + 1, &rest, 10) : 0;
		if (!eq || eq[1] < '0' || eq[1] > '9' || rest != end || errno)
			return gp__fail(err, -EINVAL,
					"'%.*s' is not a name=value with a whole number",
					(int)(end - text), text);
		rc = param_set(p, text, (size_t)(eq - text), value, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int policy_start(struct gp_sched *s, const struct gp_sched_options *opt,
			struct gp_error *err)
{
	struct params p = { .sched = s };
	uint32_t i;
	int rc = 0;

	p.policy = opt->policy ? gp__policy_find(opt->policy) : gp__policies[0];
	if (!p.policy)
		return gp__fail(err, -ENOENT, "there is no policy '%s'", opt->policy);
	for (i = 0; i < p.policy->nr_params; i++)
		p.values[i] = p.policy->params[i].def;
	gp__core_init(&s->core, p.policy);
	if (opt->params)
		rc = params_parse(&p, opt->params, err);
	if (!rc)
		rc = gp__core_set_policy(&s->core, p.policy, p.values, gp__clock_ns());
	return rc;
}

int gp_sched_create(const struct gp_sched_options *options, struct gp_sched **sched,
		    struct gp_error *err)
{
	struct gp_sched_options opt = GP_SCHED_OPTIONS_INIT;
	struct gp_sched *s;
	int rc;

	if (!sched)
		return gp__fail(err, -EINVAL, "nowhere to put the new scheduler");
	*sched = NULL;
	rc = options ? gp__struct_in(&opt, sizeof(opt), options) : 0;
	if (rc)
		return gp__fail(err, rc,
				rc == -E2BIG ? "the scheduler options ask for something this "
					       "libgpreempt does not know"
					     : "the scheduler options' size is not set");
	s = calloc(1, sizeof(*s));
	if (!s)
		return gp__fail(err, -ENOMEM, "out of memory");
	gp__list_init(&s->devices);
	gp__list_init(&s->groups);
	gp__list_init(&s->todo);
	rc = policy_start(s, &opt, err);
	if (rc) {
		free(s);
		return rc;
	}
	pthread_mutex_init(&s->lock, NULL);
	gp__cond_init(&s->work);
	gp__cond_init(&s->back);
	*sched = s;
	return 0;
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
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	if (s->started)
		pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->back);
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return 0;
}
