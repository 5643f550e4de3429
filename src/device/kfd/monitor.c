// SPDX-License-Identifier: MIT
/*
 * The lock protects everything but what is written at creation. The thread polls with the lock and
 * reports without it. gp__kfd_monitor_kick() does not take it, so a launch never waits for a poll.
 */
#include "device/kfd/monitor.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "aql/ring.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/latency.h"
#include "base/thread.h"
#include "base/peek.h"
#include "device/kfd/spell.h"
#include "device/kfd/topology.h"
#include "device/kfd/waves.h"

#define LOAD_PART 16
/* The same while packets wait in a window: only this thread passes them on. */
#define SOON_PART 4
#define GRACE_PART 4 /* how often per grace time the driver is asked for waves */
#define TIMER_SLACK_NS 1000ul
/* For how many times blind_ns work without progress counts: if the driver says that there are no
 * waves, and if it does not say. */
#define DOUBT_BLIND (GP__RING_DOUBT_NS / GP__RING_BLIND_NS)
#define LIMIT_BLIND (GP__RING_LIMIT_NS / GP__RING_BLIND_NS)
#define MESSAGES 64

struct seen {
	struct gp__kfd_queue_info queue;
	void *cookie;
	bool told; /* a launch hook reports arrivals */
	bool held;
	struct gp__ring_place place;
	struct gp__ring ring;
	struct gp__ring_reading reading;
};

/* The driver's answer about the waves on a GPU. */
struct told {
	uint32_t gpu_id;
	int waves;
	uint64_t at;
};

struct message {
	void *cookie;
	enum gp__ring_event event;
	uint64_t pending;
};

struct gp__kfd_monitor {
	struct gp__kfd_monitor_options options;
	struct gp__ring_patience patience;
	pid_t pid;
	pthread_t thread;

	pthread_mutex_t lock;
	struct gp__cond wake; /* the thread */
	struct gp__cond told_all; /* threads that wait until no callback runs */
	bool ends, calm, telling;
	bool soon; /* prepare() wants another look */
	size_t nr_busy; /* as the latest look has it */
	size_t nr, room;
	/* For each queue: */
	struct seen **seen;
	struct seen **asking, **reading; /* some of them, in a look */
	struct gp__word *word; /* GP__RING_WORDS of them */
	size_t first; /* queue of the next look */
	struct told told[GP__KFD_NODES_MAX];
	size_t nr_told;
	struct gp__peek peek;
	struct gp__kfd_spell spell; /* since work ended or a queue was added */
	uint64_t look_ns; /* CPU time of a look and its wake-up, smoothed */
	struct gp__kfd_monitor_stats stats;
};

/*
 * Looking
 */

static void read_words(struct gp__kfd_monitor *m, size_t n)
{
	if (m->options.read)
		m->options.read(m->options.data, m->word, n);
	else
		gp__peek(&m->peek, m->word, n);
}

/* Puts the queues that had work, and those whose write index has changed, into asking. Returns how
 * many. */
static size_t look_at_all(struct gp__kfd_monitor *m, uint64_t now)
{
	size_t nr = 0;

	for (size_t i = 0; i < m->nr; i++)
		m->word[i].at = m->seen[i]->queue.write_index;
	read_words(m, m->nr);
	for (size_t i = 0; i < m->nr; i++) {
		/* Rotates: there may be more queues than messages in one look. */
		size_t at = (m->first + i) % m->nr;
		struct seen *s = m->seen[at];

		if (s->told && m->options.arrived && m->options.arrived(m->options.data, s->cookie))
			gp__ring_arrived(&s->ring, now);
		/* A busy queue that cannot be read must not stay busy for good. */
		if (!m->word[at].there && !s->ring.is_busy)
			m->stats.unreadable++;
		else if (!m->word[at].there || gp__ring_asks(&s->ring, m->word[at].value))
			m->asking[nr++] = s;
	}
	m->first = m->nr ? (m->first + MESSAGES) % m->nr : 0;
	return nr;
}

/* Reads one round of the queues in reading. Returns how many want another. */
static size_t read_round(struct gp__kfd_monitor *m, size_t nr)
{
	struct gp__word *word = m->word;
	size_t more = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct gp__ring_reading *r = &m->reading[i]->reading;

		for (uint32_t k = 0; k < r->nr; k++)
			word++->at = r->word[k].at;
	}
	read_words(m, (size_t)(word - m->word));
	word = m->word;
	for (size_t i = 0; i < nr; i++) {
		struct seen *s = m->reading[i];
		struct gp__ring_reading *r = &s->reading;

		for (uint32_t k = 0; k < r->nr; k++, word++) {
			r->word[k].value = word->value;
			r->word[k].is_there = word->there;
		}
		if (gp__ring_next(r))
			m->reading[more++] = s;
	}
	return more;
}

/* A held queue does not become idle: its work is saved. */
static void read_rings(struct gp__kfd_monitor *m, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct seen *s = m->asking[i];

		gp__ring_begin(&s->reading, &s->ring, &s->place, !s->held, !s->held);
		m->reading[i] = s;
	}
	for (size_t more = nr; more;)
		more = read_round(m, more);
	for (size_t i = 0; i < nr; i++)
		m->stats.unreadable += m->asking[i]->reading.sight.error == -EFAULT;
}

static struct told *told_of(struct gp__kfd_monitor *m, uint32_t gpu_id)
{
	for (size_t i = 0; i < m->nr_told; i++) {
		if (m->told[i].gpu_id == gpu_id)
			return &m->told[i];
	}
	if (m->nr_told == GP__KFD_NODES_MAX)
		return NULL;
	m->told[m->nr_told] = (struct told){ .gpu_id = gpu_id, .waves = -1 };
	return &m->told[m->nr_told++];
}

static int ask_for_waves(struct gp__kfd_monitor *m, const struct gp__kfd_queue_info *q)
{
	return m->options.waves ? m->options.waves(m->options.data, q)
				: gp__kfd_waves(m->pid, q->gpu_id, q->id);
}

/* Takes the driver's answer, unless it is older than the queue's last progress. */
static void look_at_waves(struct gp__kfd_monitor *m, struct seen *s, uint64_t now)
{
	struct gp__ring_sight *sight = &s->reading.sight;
	struct told *t;

	if (!gp__ring_asks_waves(&s->ring, sight, &m->patience, now))
		return;
	t = told_of(m, s->queue.gpu_id);
	if (!t)
		return;
	if (!t->at || now - t->at >= m->patience.grace_ns / GRACE_PART ||
	    (t->at < now && gp__ring_has_moved(&s->ring, sight))) {
		t->waves = ask_for_waves(m, &s->queue);
		t->at = now;
	}
	if (t->at >= s->ring.still_since)
		sight->waves = t->waves;
}

/* Returns the number of messages. The next look finds those beyond MESSAGES. */
static size_t look(struct gp__kfd_monitor *m, struct message message[MESSAGES])
{
	uint64_t now = gp__clock_ns();
	size_t nr, was_busy, n = 0;

	m->soon = m->options.prepare && m->options.prepare(m->options.data, now);
	nr = look_at_all(m, now);
	read_rings(m, nr);
	was_busy = m->nr_busy;
	m->nr_busy = 0;
	for (size_t i = 0; i < nr && n < MESSAGES; i++) {
		struct seen *s = m->asking[i];
		enum gp__ring_event event;

		look_at_waves(m, s, now);
		event = gp__ring_look(&s->ring, &s->reading.sight, &m->patience, now);
		m->nr_busy += s->ring.is_busy;
		if (s->ring.is_busy || event)
			gp__kfd_spell_note(&m->spell, was_busy, now);
		if (event)
			message[n++] = (struct message){ s->cookie, event, s->ring.pending };
	}
	m->stats.looks++;
	return n;
}

/*
 * The thread
 */

static size_t index_of(const struct gp__kfd_monitor *m, const void *cookie)
{
	size_t i = 0;

	while (i < m->nr && m->seen[i]->cookie != cookie)
		i++;
	return i;
}

/* Reports a message. False: the queue has work after all. */
static bool tell_one(const struct gp__kfd_monitor_options *o, const struct message *msg,
		     uint64_t now)
{
	if (msg->event == GP__RING_READY && o->ready)
		o->ready(o->data, msg->cookie, msg->pending, now);
	else if (msg->event == GP__RING_IDLE && o->idle)
		return o->idle(o->data, msg->cookie, now);
	return true;
}

/* Reports messages, with the lock, which is dropped meanwhile. False: a queue has work after
 * all. */
static bool tell(struct gp__kfd_monitor *m, const struct message *message, size_t n)
{
	uint64_t now = gp__clock_ns();
	bool is_so[MESSAGES], all = true;

	m->telling = true;
	pthread_mutex_unlock(&m->lock);
	for (size_t i = 0; i < n; i++)
		is_so[i] = tell_one(&m->options, &message[i], now);
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < n; i++) {
		size_t at = is_so[i] ? m->nr : index_of(m, message[i].cookie);

		all &= is_so[i];
		if (at < m->nr)
			gp__ring_arrived(&m->seen[at]->ring, now);
	}
	m->telling = false;
	gp__cond_broadcast(&m->told_all);
	return all;
}

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec ts = { 0 };

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * GP__S + (uint64_t)ts.tv_nsec;
}

static void account(struct gp__kfd_monitor *m)
{
	uint64_t cpu = cpu_ns(CLOCK_THREAD_CPUTIME_ID), took = cpu - m->stats.cpu_ns;

	m->look_ns = m->look_ns ? (7 * m->look_ns + took) / 8 : took;
	m->stats.cpu_ns = cpu;
}

static bool is_told_of_any(const struct gp__kfd_monitor *m)
{
	size_t i = 0;

	while (i < m->nr && !m->seen[i]->told)
		i++;
	return i < m->nr;
}

static uint64_t longest_period(const struct gp__kfd_monitor *m)
{
	const struct gp__kfd_monitor_options *o = &m->options;

	if (m->calm)
		return o->calm_period_ns;
	return !m->nr_busy && is_told_of_any(m) ? o->rest_period_ns : o->idle_period_ns;
}

static uint64_t period(const struct gp__kfd_monitor *m, uint64_t now)
{
	const struct gp__kfd_monitor_options *o = &m->options;
	uint64_t longest = longest_period(m);
	uint64_t shortest = m->calm ? o->calm_busy_period_ns : o->busy_period_ns;
	uint64_t ns = gp__kfd_spell_pause(&m->spell, m->nr_busy, now);

	if (ns > longest)
		ns = longest;
	if (ns < shortest)
		ns = shortest;
	if (m->soon && ns > o->busy_period_ns)
		ns = o->busy_period_ns;
	shortest = (m->soon ? SOON_PART : LOAD_PART) * m->look_ns;
	return ns > shortest ? ns : shortest;
}

/* Whether a hook reports all work that can arrive. */
static bool may_sleep(const struct gp__kfd_monitor *m)
{
	size_t i = 0;

	if (m->nr_busy || m->soon)
		return false;
	while (i < m->nr && m->seen[i]->told)
		i++;
	return i == m->nr;
}

/* Sleeps, unless the thread was woken since @changes was read. */
static void sleep_since(struct gp__kfd_monitor *m, uint32_t changes, uint64_t until)
{
	gp__cond_wait_since(&m->wake, &m->lock, changes, until);
}

static void *run(void *arg)
{
	struct gp__kfd_monitor *m = arg;
	struct message message[MESSAGES];

	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
	gp__prefer_latency();
	pthread_setname_np(pthread_self(), "gp-monitor");
	pthread_mutex_lock(&m->lock);
	while (!m->ends) {
		uint32_t changes = gp__cond_changes(&m->wake);
		bool all_so = true;
		size_t n;

		if (!m->nr) {
			gp__cond_wait(&m->wake, &m->lock, GP__FOREVER);
			continue;
		}
		n = look(m, message);
		if (n)
			all_so = tell(m, message, n);
		account(m);
		/* A launch may have been missed while a queue was reported idle: look again. */
		if ((n && all_so) || m->ends)
			continue;
		if (all_so && may_sleep(m))
			sleep_since(m, changes, GP__FOREVER);
		else
			sleep_since(m, changes, gp__clock_ns() + period(m, gp__clock_ns()));
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

/*
 * Queues
 */

static int make_room(struct gp__kfd_monitor *m)
{
	size_t room = m->room ? 2 * m->room : 16;
	void *seen, *asking, *reading, *word;

	if (m->nr < m->room)
		return 0;
	seen = reallocarray(m->seen, room, sizeof(*m->seen));
	if (seen)
		m->seen = seen;
	asking = reallocarray(m->asking, room, sizeof(*m->asking));
	if (asking)
		m->asking = asking;
	reading = reallocarray(m->reading, room, sizeof(*m->reading));
	if (reading)
		m->reading = reading;
	word = reallocarray(m->word, room, GP__RING_WORDS * sizeof(*m->word));
	if (word)
		m->word = word;
	if (!seen || !asking || !reading || !word)
		return -ENOMEM;
	m->room = room;
	return 0;
}

static struct gp__ring_place place_of(const struct gp__kfd_queue_info *q)
{
	enum gp__ring_kind kind = GP__RING_SDMA;

	if (q->type == GP_KFD_QUEUE_COMPUTE_AQL)
		kind = GP__RING_AQL;
	else if (q->type == GP_KFD_QUEUE_COMPUTE)
		kind = GP__RING_PM4;
	return (struct gp__ring_place){ q->ring, q->ring_bytes, q->read_index, q->write_index,
					kind };
}

int gp__kfd_monitor_add(struct gp__kfd_monitor *m, const struct gp__kfd_queue_info *queue,
			void *cookie)
{
	struct seen *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->queue = *queue;
	s->cookie = cookie;
	s->place = place_of(queue);
	pthread_mutex_lock(&m->lock);
	err = index_of(m, cookie) < m->nr ? -EEXIST : make_room(m);
	if (!err) {
		m->seen[m->nr++] = s;
		gp__kfd_spell_note(&m->spell, m->nr_busy, gp__clock_ns());
		gp__cond_broadcast(&m->wake);
	}
	pthread_mutex_unlock(&m->lock);
	if (err)
		free(s);
	return err;
}

void gp__kfd_monitor_remove(struct gp__kfd_monitor *m, void *cookie)
{
	size_t i;

	pthread_mutex_lock(&m->lock);
	i = index_of(m, cookie);
	if (i < m->nr) {
		free(m->seen[i]);
		m->seen[i] = m->seen[--m->nr];
	}
	while (m->telling)
		gp__cond_wait(&m->told_all, &m->lock, GP__FOREVER);
	pthread_mutex_unlock(&m->lock);
}

void gp__kfd_monitor_told(struct gp__kfd_monitor *m, void *cookie, bool told)
{
	size_t i;

	pthread_mutex_lock(&m->lock);
	i = index_of(m, cookie);
	if (i < m->nr)
		m->seen[i]->told = told;
	gp__cond_broadcast(&m->wake);
	pthread_mutex_unlock(&m->lock);
}

void gp__kfd_monitor_kick(struct gp__kfd_monitor *m)
{
	gp__cond_broadcast(&m->wake);
}

void gp__kfd_monitor_hold(struct gp__kfd_monitor *m, void *cookie, bool held)
{
	size_t i;

	pthread_mutex_lock(&m->lock);
	i = index_of(m, cookie);
	if (i < m->nr) {
		m->seen[i]->held = held;
		gp__ring_restart(&m->seen[i]->ring, gp__clock_ns());
		/* A released queue is polled at once. */
		if (!held)
			gp__cond_broadcast(&m->wake);
	}
	pthread_mutex_unlock(&m->lock);
}

void gp__kfd_monitor_calm(struct gp__kfd_monitor *m, bool calm)
{
	pthread_mutex_lock(&m->lock);
	if (m->calm && !calm)
		gp__cond_broadcast(&m->wake);
	m->calm = calm;
	pthread_mutex_unlock(&m->lock);
}

void gp__kfd_monitor_stats(struct gp__kfd_monitor *m, struct gp__kfd_monitor_stats *stats)
{
	clockid_t clock;

	pthread_mutex_lock(&m->lock);
	*stats = m->stats;
	pthread_mutex_unlock(&m->lock);
	if (!pthread_getcpuclockid(m->thread, &clock))
		stats->cpu_ns = cpu_ns(clock);
}

/*
 * Beginning and end
 */

static void set_default(uint64_t *value, uint64_t otherwise)
{
	if (!*value)
		*value = otherwise;
}

static void free_monitor(struct gp__kfd_monitor *m)
{
	for (size_t i = 0; i < m->nr; i++)
		free(m->seen[i]);
	free(m->seen);
	free(m->asking);
	free(m->reading);
	free(m->word);
	gp__peek_close(&m->peek);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

int gp__kfd_monitor_create(const struct gp__kfd_monitor_options *options,
			   struct gp__kfd_monitor **monitor)
{
	struct gp__kfd_monitor *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->options = *options;
	set_default(&m->options.busy_period_ns, GP__KFD_BUSY_PERIOD_NS);
	set_default(&m->options.idle_period_ns, GP__KFD_IDLE_PERIOD_NS);
	set_default(&m->options.rest_period_ns, GP__KFD_REST_PERIOD_NS);
	set_default(&m->options.calm_period_ns, GP__KFD_CALM_PERIOD_NS);
	set_default(&m->options.calm_busy_period_ns, GP__KFD_CALM_BUSY_PERIOD_NS);
	set_default(&m->options.grace_ns, GP__KFD_GRACE_NS);
	set_default(&m->options.blind_ns, GP__KFD_BLIND_NS);
	m->patience = (struct gp__ring_patience){ m->options.grace_ns, m->options.blind_ns,
						  DOUBT_BLIND * m->options.blind_ns,
						  LIMIT_BLIND * m->options.blind_ns };
	m->pid = options->pid ? options->pid : getpid();
	pthread_mutex_init(&m->lock, NULL);
	err = gp__peek_open(&m->peek);
	if (!err)
		err = gp__thread_start(&m->thread, 0, run, m);
	if (err) {
		free_monitor(m);
		return err;
	}
	*monitor = m;
	return 0;
}

void gp__kfd_monitor_destroy(struct gp__kfd_monitor *m)
{
	pthread_mutex_lock(&m->lock);
	m->ends = true;
	gp__cond_broadcast(&m->wake);
	pthread_mutex_unlock(&m->lock);
	pthread_join(m->thread, NULL);
	free_monitor(m);
}
