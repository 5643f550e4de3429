// SPDX-License-Identifier: MIT
/*
 * The lock protects everything but what is written at creation. A look is made with it, callbacks
 * are made without.
 */
#include "device/kfd/monitor.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cond.h"
#include "base/latency.h"
#include "base/thread.h"
#include "base/peek.h"
#include "device/kfd/topology.h"
#include "device/kfd/watch.h"
#include "device/kfd/waves.h"

#define SECOND_NS 1000000000ull
#define LOAD_PART 16
/* The same where packets wait for it to look: nobody else hands them over. */
#define SOON_PART 4
#define GRACE_PART 4 /* how often in a grace time the driver is asked for waves */
#define TIMER_SLACK_NS 1000ul
#define PACKET_BYTES 64
#define PACKET_SIGNAL 56
#define SIGNAL_VALUE 8
#define MESSAGES 64

/* What is read of a queue again, in this order. */
enum { WORD_SIGNAL, WORD_READ, WORD_WRITE, WORDS };

struct seen {
	struct gp__kfd_queue_info queue;
	void *cookie;
	bool told; /* of arrivals, by others */
	struct gp__kfd_watch watch;
	struct gp__kfd_sight sight;
	uint64_t signal_at; /* of the last packet; 0: it has none */
};

/* What the driver said of the waves on a GPU. */
struct told {
	uint32_t gpu_id;
	int waves;
	uint64_t at;
};

struct message {
	void *cookie;
	enum gp__kfd_watch_event event;
	uint64_t pending;
};

struct gp__kfd_monitor {
	struct gp__kfd_monitor_options options;
	struct gp__kfd_patience patience;
	pid_t pid;
	pthread_t thread;

	pthread_mutex_t lock;
	struct gp__cond wake; /* the thread, or who waits for its callbacks */
	bool ends, calm, telling;
	bool soon; /* whoever prepares the look wants another */
	size_t nr_busy; /* as the latest look has it */
	size_t nr, room;
	/* For each queue: */
	struct seen **seen;
	struct seen **asking, **ending; /* some of them, in a look */
	struct gp__word *word; /* WORDS of them */
	size_t first; /* to be looked at */
	struct told told[GP__KFD_NODES_MAX];
	size_t nr_told;
	struct gp__peek peek;
	struct gp__kfd_spell spell; /* when there was work, or a queue was added */
	uint64_t look_ns; /* what a look takes of a CPU with waking up, smoothed */
	struct gp__kfd_monitor_stats stats;
};

/*
 * Looking
 */

/*
 * Who may have something to say: those that had work, and those whose write index has changed. How
 * many; they are in asking.
 */
static size_t look_at_all(struct gp__kfd_monitor *m)
{
	size_t nr = 0;

	for (size_t i = 0; i < m->nr; i++)
		m->word[i].at = m->seen[i]->queue.write_index;
	gp__peek(&m->peek, m->word, m->nr);
	for (size_t i = 0; i < m->nr; i++) {
		/* Not always the same ones first: there may be more than can be told at once. */
		size_t at = (m->first + i) % m->nr;
		struct seen *s = m->seen[at];

		if (!m->word[at].there)
			m->stats.unreadable++;
		else if (s->watch.busy || m->word[at].value != s->watch.write)
			m->asking[nr++] = s;
	}
	m->first = m->nr ? (m->first + MESSAGES) % m->nr : 0;
	return nr;
}

/* Their indices. How many of them could be read, in the same order. */
static size_t look_at_indices(struct gp__kfd_monitor *m, size_t nr, uint64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++) {
		/* The read index first: it never passes the write index. */
		m->word[2 * i].at = m->asking[i]->queue.read_index;
		m->word[2 * i + 1].at = m->asking[i]->queue.write_index;
	}
	gp__peek(&m->peek, m->word, 2 * nr);
	for (size_t i = 0; i < nr; i++) {
		const struct gp__word *w = &m->word[2 * i];
		struct seen *s = m->asking[i];

		if (!w[0].there || !w[1].there) {
			m->stats.unreadable++;
			continue;
		}
		s->sight = (struct gp__kfd_sight){
			.now = now, .read = w[0].value, .write = w[1].value, .waves = -1
		};
		m->asking[kept++] = s;
	}
	return kept;
}

/* Which signal the last packet has. */
static void find_signals(struct gp__kfd_monitor *m, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct seen *s = m->ending[i];
		uint64_t slot = (s->sight.write - 1) % (s->queue.ring_bytes / PACKET_BYTES);

		m->word[i].at = s->queue.ring + slot * PACKET_BYTES + PACKET_SIGNAL;
	}
	gp__peek(&m->peek, m->word, nr);
	for (size_t i = 0; i < nr; i++)
		m->ending[i]->signal_at = m->word[i].there ? m->word[i].value : 0;
}

/* The signals' values, and then the indices again: what came meanwhile has another signal. */
static void look_at_signals(struct gp__kfd_monitor *m, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct seen *s = m->ending[i];
		struct gp__word *w = &m->word[WORDS * i];

		w[WORD_SIGNAL].at =
			s->signal_at ? s->signal_at + SIGNAL_VALUE : s->queue.read_index;
		w[WORD_READ].at = s->queue.read_index;
		w[WORD_WRITE].at = s->queue.write_index;
	}
	gp__peek(&m->peek, m->word, WORDS * nr);
	for (size_t i = 0; i < nr; i++) {
		struct seen *s = m->ending[i];
		const struct gp__word *w = &m->word[WORDS * i];

		if (!w[WORD_READ].there || !w[WORD_WRITE].there)
			continue;
		s->sight.has_signal = s->signal_at && w[WORD_SIGNAL].there &&
				      s->sight.read == w[WORD_READ].value &&
				      s->sight.write == w[WORD_WRITE].value;
		s->sight.signal = (int64_t)w[WORD_SIGNAL].value;
		s->sight.read = w[WORD_READ].value;
		s->sight.write = w[WORD_WRITE].value;
	}
}

/* Those whose work may have ended, where a signal can say so: packets of AQL have some. */
static size_t find_ending(struct gp__kfd_monitor *m, size_t nr)
{
	size_t n = 0;

	for (size_t i = 0; i < nr; i++) {
		struct seen *s = m->asking[i];

		if (s->queue.type == GP_KFD_QUEUE_COMPUTE_AQL && s->sight.write &&
		    s->queue.ring_bytes >= PACKET_BYTES &&
		    gp__kfd_watch_asks(&s->watch, s->sight.read, s->sight.write))
			m->ending[n++] = s;
	}
	return n;
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

/* What the driver says, unless that is older than what the queue last did. */
static void look_at_waves(struct gp__kfd_monitor *m, struct seen *s)
{
	uint64_t now = s->sight.now;
	struct told *t;

	if (!gp__kfd_watch_asks_waves(&s->watch, &s->sight, &m->patience))
		return;
	t = told_of(m, s->queue.gpu_id);
	if (!t)
		return;
	if (!t->at || now - t->at >= m->patience.grace_ns / GRACE_PART) {
		t->waves = ask_for_waves(m, &s->queue);
		t->at = now;
	}
	if (t->at >= s->watch.still_since)
		s->sight.waves = t->waves;
}

/* How many messages there are. Those beyond MESSAGES are found by the next look. */
static size_t look(struct gp__kfd_monitor *m, struct message message[MESSAGES])
{
	uint64_t now = gp__clock_ns();
	size_t nr, ending, was_busy, n = 0;

	m->soon = m->options.prepare && m->options.prepare(m->options.data, now);
	nr = look_at_all(m);
	if (nr)
		nr = look_at_indices(m, nr, now);
	ending = find_ending(m, nr);
	if (ending) {
		find_signals(m, ending);
		look_at_signals(m, ending);
	}
	was_busy = m->nr_busy;
	m->nr_busy = 0;
	for (size_t i = 0; i < nr && n < MESSAGES; i++) {
		struct seen *s = m->asking[i];
		enum gp__kfd_watch_event event;

		look_at_waves(m, s);
		event = gp__kfd_watch_look(&s->watch, &s->sight, &m->patience);
		m->nr_busy += s->watch.busy;
		if (s->watch.busy || event)
			gp__kfd_spell_note(&m->spell, was_busy, now);
		if (event)
			message[n++] = (struct message){
				.cookie = s->cookie,
				.event = event,
				.pending = gp__kfd_watch_pending(&s->watch, s->watch.read,
								 s->watch.write),
			};
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

/* Whether what was seen is so. */
static bool tell_one(const struct gp__kfd_monitor_options *o, const struct message *msg,
		     uint64_t now)
{
	if (msg->event == GP__KFD_WATCH_READY && o->ready)
		o->ready(o->data, msg->cookie, msg->pending, now);
	else if (msg->event == GP__KFD_WATCH_IDLE && o->idle)
		return o->idle(o->data, msg->cookie, now);
	return true;
}

/* With the lock, which is not held while they are told. Whether all was as it was seen. */
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
			gp__kfd_watch_rang(&m->seen[at]->watch);
	}
	m->telling = false;
	gp__cond_broadcast(&m->wake);
	return all;
}

/* What is seen from now on is told after what is being told. */
static void await_telling(struct gp__kfd_monitor *m)
{
	while (m->telling)
		gp__cond_wait(&m->wake, &m->lock, GP__FOREVER);
}

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec ts = { 0 };

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
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

/* Nothing will be seen before somebody tells. */
static bool may_sleep(const struct gp__kfd_monitor *m)
{
	size_t i = 0;

	if (m->nr_busy || m->soon)
		return false;
	while (i < m->nr && m->seen[i]->told)
		i++;
	return i == m->nr;
}

static void wait_for(struct gp__kfd_monitor *m, uint64_t ns)
{
	gp__cond_wait(&m->wake, &m->lock, gp__clock_ns() + ns);
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
		bool all_so = true;
		size_t n;

		await_telling(m);
		if (!m->nr) {
			gp__cond_wait(&m->wake, &m->lock, GP__FOREVER);
			continue;
		}
		n = look(m, message);
		if (n)
			all_so = tell(m, message, n);
		account(m);
		/* Who was told that a queue is idle may have missed what came meanwhile. Who denied
		 * it is given time: others wait for this thread to be done with telling. */
		if ((n && all_so) || m->ends)
			continue;
		if (all_so && may_sleep(m))
			gp__cond_wait(&m->wake, &m->lock, GP__FOREVER);
		else
			wait_for(m, period(m, gp__clock_ns()));
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
	void *seen, *asking, *ending, *word;

	if (m->nr < m->room)
		return 0;
	seen = reallocarray(m->seen, room, sizeof(*m->seen));
	if (seen)
		m->seen = seen;
	asking = reallocarray(m->asking, room, sizeof(*m->asking));
	if (asking)
		m->asking = asking;
	ending = reallocarray(m->ending, room, sizeof(*m->ending));
	if (ending)
		m->ending = ending;
	word = reallocarray(m->word, room, WORDS * sizeof(*m->word));
	if (word)
		m->word = word;
	if (!seen || !asking || !ending || !word)
		return -ENOMEM;
	m->room = room;
	return 0;
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
	gp__kfd_watch_init(&s->watch, queue);
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
	await_telling(m);
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

void gp__kfd_monitor_rang(struct gp__kfd_monitor *m, void *cookie)
{
	const struct message message = { cookie, GP__KFD_WATCH_READY, 1 };
	size_t i;

	pthread_mutex_lock(&m->lock);
	await_telling(m);
	i = index_of(m, cookie);
	if (i < m->nr && gp__kfd_watch_rang(&m->seen[i]->watch)) {
		gp__kfd_spell_note(&m->spell, m->nr_busy, gp__clock_ns());
		tell(m, &message, 1);
	}
	pthread_mutex_unlock(&m->lock);
}

void gp__kfd_monitor_hold(struct gp__kfd_monitor *m, void *cookie, bool held)
{
	size_t i;

	pthread_mutex_lock(&m->lock);
	i = index_of(m, cookie);
	if (i < m->nr) {
		m->seen[i]->watch.held = held;
		m->seen[i]->watch.still_since = gp__clock_ns();
		/* What it does then is of interest. */
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
	free(m->ending);
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
	m->patience = (struct gp__kfd_patience){ m->options.grace_ns, m->options.blind_ns };
	m->pid = getpid();
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
