// SPDX-License-Identifier: MIT
#include "emu/kfd/priority.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/latency.h"
#include "emu/kfd/node.h"
#include "emu/kfd/queue.h"
#include "policy/policy.h"

/* How often rings are looked at, and how much less often while none of them has work. */
#define PERIOD_US 1000
#define IDLE_PERIODS 10
/* For how long work whose end cannot be seen is waited for. */
#define GRACE_US 100000
#define LOG_BYTES (128 * 1024)
#define WRITES_A_ROUND 64

/* How the core calls it that a queue is taken off the GPU in the middle of its work. */
#define LEVEL_SAVED 3

void emu_priority_wake(struct emu_priority *s)
{
	const uint64_t one = 1;

	/* It can only fail where it is readable already. */
	if (write(s->wake_fd, &one, sizeof(one)) != sizeof(one))
		return;
}

/*
 * Entities and their queues
 */

/* Where it did not say, what it asked of the hardware, which is normal for most. */
static uint32_t asked_priority(const struct emu_queue *q)
{
	return q->logical_priority ? q->logical_priority - 1 : q->priority;
}

/* Being more urgent than normal needs a right, as it does for processes. */
static int32_t granted_priority(uint32_t asked, bool is_admin)
{
	if (asked > GP__PRIO_NORMAL && !is_admin)
		return GP__PRIO_NORMAL;
	return asked < GP__PRIO_LIMIT ? (int32_t)asked : GP__PRIO_LIMIT;
}

static void read_comm(pid_t pid, char *comm, size_t size)
{
	char path[32];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (!f || !fgets(comm, (int)size, f))
		*comm = '\0';
	comm[strcspn(comm, "\n")] = '\0';
	if (f)
		fclose(f);
}

static void enter_entity(struct emu_priority *s, struct emu_entity *e)
{
	struct gp__hints hints = { .prio = e->priority };
	char comm[32];

	read_comm(e->process->pid, comm, sizeof(comm));
	gp__entity_add(&s->dev, &e->core, e->id, (uint32_t)e->process->pid,
		       gp__class_of(e->priority), comm, &hints, gp__clock_ns());
}

static void enter_queue(struct emu_scheduled *sq)
{
	/* Work that is there now is news to the core. */
	sq->ring = (struct gp__ring){ 0 };
	gp__queue_add(&sq->entity->core, &sq->core, sq->id, LEVEL_SAVED, LEVEL_SAVED,
		      gp__clock_ns());
}

static struct emu_entity *find_entity(struct emu_priority *s, const struct emu_process *p,
				      int32_t priority)
{
	struct emu_entity *e = s->entities;

	while (e && (e->process != p || e->priority != priority))
		e = e->next;
	return e;
}

static struct emu_entity *add_entity(struct emu_priority *s, struct emu_process *p,
				     int32_t priority)
{
	struct emu_entity *e = calloc(1, sizeof(*e)), **link = &s->entities;

	if (!e)
		return NULL;
	e->process = p;
	e->priority = priority;
	e->id = ++s->last_id;
	while (*link)
		link = &(*link)->next;
	*link = e;
	s->nr_entities++;
	if (s->is_enabled)
		enter_entity(s, e);
	return e;
}

static void remove_entity(struct emu_priority *s, struct emu_entity *e)
{
	struct emu_entity **link = &s->entities;

	if (s->is_enabled)
		gp__entity_remove(&e->core, gp__clock_ns());
	s->nr_entities--;
	while (*link != e)
		link = &(*link)->next;
	*link = e->next;
	free(e);
}

/* For all of its queues in one batch, and one more. */
static bool has_room(struct emu_priority *s)
{
	struct emu_queue **more;

	if (s->nr_queues < s->batch_room)
		return true;
	more = reallocarray(s->batch, 2 * s->batch_room + 16, sizeof(*more));
	if (!more)
		return false;
	s->batch = more;
	s->batch_room = 2 * s->batch_room + 16;
	return true;
}

/* A queue for which there is no memory here is not scheduled: it runs. */
static void add_queue(struct emu_priority *s, struct emu_queue *q, bool is_admin)
{
	uint32_t asked = asked_priority(q);
	int32_t priority = granted_priority(asked, is_admin);
	struct emu_scheduled *sq = calloc(1, sizeof(*sq)), **link;
	struct emu_entity *e = find_entity(s, q->process, priority);

	if (sq && !e && has_room(s))
		e = add_entity(s, q->process, priority);
	if (!sq || !e || !has_room(s)) {
		free(sq);
		return;
	}
	sq->q = q;
	sq->entity = e;
	sq->asked = asked;
	sq->id = ++s->last_id;
	for (link = &e->queues; *link; link = &(*link)->next)
		;
	*link = sq;
	s->nr_queues++;
	if (s->is_enabled)
		enter_queue(sq);
	q->scheduled = sq;
}

static void remove_queue(struct emu_priority *s, struct emu_scheduled *sq)
{
	struct emu_entity *e = sq->entity;
	struct emu_scheduled **link = &e->queues;

	if (s->is_enabled)
		gp__queue_remove(&sq->core, gp__clock_ns());
	sq->q->scheduled = NULL;
	s->nr_queues--;
	while (*link != sq)
		link = &(*link)->next;
	*link = sq->next;
	free(sq);
	if (!e->queues)
		remove_entity(s, e);
}

/* With the lock. What it looks at is what its program said last. */
static void place_ring(struct emu_queue *q)
{
	if (!q->scheduled)
		return;
	q->scheduled->place = (struct gp__ring_place){
		.ring = q->ring,
		.bytes = q->ring_size,
		.read_ptr = q->read_pointer,
		.write_ptr = q->write_pointer,
		.is_aql = q->type == GP_KFD_QUEUE_COMPUTE_AQL,
	};
}

static void let_run(struct emu_priority *s, struct emu_queue *q)
{
	pthread_mutex_lock(&s->node->lock);
	if (q->held & EMU_HELD_SCHEDULER)
		emu_sched_release(s->node, &q, 1, EMU_HELD_SCHEDULER);
	pthread_mutex_unlock(&s->node->lock);
}

void emu_priority_add_queue(struct emu_queue *q, bool is_admin)
{
	struct emu_priority *s = q->node->priority;

	if (!s || emu_queue_is_sdma(q))
		return;
	pthread_mutex_lock(&s->lock);
	add_queue(s, q, is_admin);
	place_ring(q);
	pthread_mutex_unlock(&s->lock);
	emu_priority_wake(s);
}

void emu_priority_remove_queue(struct emu_queue *q)
{
	struct emu_priority *s = q->node->priority;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	if (q->scheduled)
		remove_queue(s, q->scheduled);
	pthread_mutex_unlock(&s->lock);
	emu_priority_wake(s);
}

void emu_priority_update_queue(struct emu_queue *q, bool is_admin)
{
	struct emu_priority *s = q->node->priority;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	if (q->scheduled && q->scheduled->asked != asked_priority(q)) {
		remove_queue(s, q->scheduled);
		let_run(s, q);
		add_queue(s, q, is_admin);
	}
	place_ring(q);
	pthread_mutex_unlock(&s->lock);
	emu_priority_wake(s);
}

/*
 * Looking
 */

static bool read_memory(void *data, u64 address, void *to, size_t bytes)
{
	const struct emu_queue *q = data;
	uint64_t bad;

	return emu_memory_read(q->process, q->node->index, address, to, bytes, &bad);
}

static void look_at_ring(struct emu_scheduled *sq)
{
	const struct gp__ring_reader from = { read_memory, sq->q };

	sq->unknown = gp__ring_read(&sq->place, &from, &sq->sight);
}

static void tell_core(struct emu_priority *s, struct emu_scheduled *sq)
{
	bool is_running = atomic_load(&sq->q->active);
	uint64_t now = gp__clock_ns(), grace_ns = s->grace_us * GP__US;

	if (sq->unknown)
		return;
	switch (gp__ring_look(&sq->ring, &sq->sight, is_running, grace_ns, now)) {
	case GP__RING_READY:
		gp__queue_ready(&sq->core, (uint32_t)gp__min_u64(sq->ring.pending, UINT32_MAX),
				now);
		break;
	case GP__RING_IDLE:
		gp__queue_idle(&sq->core, now);
		break;
	case GP__RING_NOTHING:
		break;
	}
}

/*
 * Acting
 */

static int preempt(struct emu_priority *s, uint32_t nr)
{
	int err = emu_sched_hold(s->node, s->batch, nr, EMU_HELD_SCHEDULER, GFX9_SAVE, 0);

	/* What failed holds nothing. */
	if (err)
		emu_sched_release(s->node, s->batch, nr, EMU_HELD_SCHEDULER);
	return err;
}

/* Those that do not run anyway are held by one more, and nothing can go wrong with them. */
static void exclude(struct emu_priority *s, struct emu_scheduled *actions)
{
	uint32_t nr = 0;
	int err;

	for (struct emu_scheduled *sq = actions; sq; sq = sq->next_action) {
		sq->is_moved = sq->q->active;
		if (sq->is_moved)
			s->batch[nr++] = sq->q;
		else
			sq->q->held |= EMU_HELD_SCHEDULER;
	}
	err = nr ? preempt(s, nr) : 0;
	for (struct emu_scheduled *sq = actions; sq; sq = sq->next_action)
		sq->result = sq->is_moved ? err : 0;
}

static void admit(struct emu_priority *s, struct emu_scheduled *actions)
{
	uint32_t nr = 0;
	int err;

	for (struct emu_scheduled *sq = actions; sq; sq = sq->next_action)
		s->batch[nr++] = sq->q;
	err = nr ? emu_sched_release(s->node, s->batch, nr, EMU_HELD_SCHEDULER) : 0;
	for (struct emu_scheduled *sq = actions; sq; sq = sq->next_action)
		sq->result = err;
}

static void acknowledge(struct emu_scheduled *actions)
{
	for (; actions; actions = actions->next_action)
		gp__queue_ack(&actions->core, actions->result, gp__clock_ns());
}

static bool act_once(struct emu_priority *s)
{
	struct emu_scheduled *preempted = NULL, *resumed = NULL;
	struct emu_scheduled **last_preempted = &preempted, **last_resumed = &resumed;
	struct gp__action a;

	while (gp__core_pop(&s->core, &a)) {
		struct emu_scheduled *sq = container_of(a.queue, struct emu_scheduled, core);
		struct emu_scheduled ***last =
			a.verb == GP__VERB_EXCLUDE ? &last_preempted : &last_resumed;

		sq->next_action = NULL;
		**last = sq;
		*last = &sq->next_action;
	}
	if (!preempted && !resumed)
		return false;
	pthread_mutex_lock(&s->node->lock);
	exclude(s, preempted);
	admit(s, resumed);
	pthread_mutex_unlock(&s->node->lock);
	acknowledge(preempted);
	acknowledge(resumed);
	return true;
}

/*
 * The thread
 */

static void tick(struct emu_priority *s)
{
	uint64_t now;

	for (struct emu_entity *e = s->entities; e; e = e->next) {
		for (struct emu_scheduled *sq = e->queues; sq; sq = sq->next)
			look_at_ring(sq);
	}
	for (struct emu_entity *e = s->entities; e; e = e->next) {
		for (struct emu_scheduled *sq = e->queues; sq; sq = sq->next)
			tell_core(s, sq);
	}
	now = gp__clock_ns();
	if (gp__core_wake(&s->core) <= now)
		gp__core_tick(&s->core, now);
	/* What is acknowledged may be the reason for more, but what failed is tried again later. */
	while (act_once(s))
		;
	s->nr_ticks++;
}

static bool is_paused(const struct emu_priority *s)
{
	return atomic_load(&s->node->hung);
}

/* When to look again, from now on. Who is alone on the device disturbs nobody. */
static uint64_t pause_after_tick(const struct emu_priority *s)
{
	uint64_t now = gp__clock_ns(), at = gp__core_wake(&s->core);
	uint64_t pause = s->period_us * GP__US;

	if (!s->is_enabled)
		return GP__NEVER;
	/* Nobody says when a reset is over. */
	if (is_paused(s))
		return pause;
	if (s->nr_entities > 1) {
		if (!s->dev.nr_awake)
			pause *= IDLE_PERIODS;
		at = gp__min_u64(at, now + pause);
	}
	if (at == GP__NEVER)
		return GP__NEVER;
	return at > now ? at - now : 0;
}

/* What is no number, or not one for that file, changes nothing. */
static void store_text(struct emu_priority *s, const char *file, const char *text)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	end += *end == '\n';
	if (*text >= '0' && *text <= '9' && !*end && !errno)
		emu_priority_store(s, file, value);
}

/* Some of what one wrote, so that nobody keeps others waiting. False: he has closed it. */
static bool read_writer(struct emu_priority *s, const struct emu_priority_writer *w)
{
	char text[PIPE_BUF + 1];
	ssize_t n = 1;

	for (int i = 0; i < WRITES_A_ROUND && n > 0; i++) {
		n = read(w->fd, text, PIPE_BUF);
		if (n > 0) {
			text[n] = '\0';
			store_text(s, w->file, text);
		}
	}
	return n > 0 || (n < 0 && errno == EAGAIN);
}

static void read_writers(struct emu_priority *s)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->nr_writers; i++) {
		struct emu_priority_writer *w = &s->writer[i];

		if (read_writer(s, w))
			s->writer[kept++] = *w;
		else
			close(w->fd);
	}
	s->nr_writers = kept;
}

static void wait_for(struct emu_priority *s, uint64_t ns)
{
	const struct timespec ts = { (time_t)(ns / GP__S), (long)(ns % GP__S) };
	struct pollfd fds[1 + EMU_PRIORITY_WRITERS_MAX] = { { .fd = s->wake_fd,
							      .events = POLLIN } };
	uint32_t nr = s->nr_writers;
	uint64_t drained;

	for (uint32_t i = 0; i < nr; i++)
		fds[1 + i] = (struct pollfd){ .fd = s->writer[i].fd, .events = POLLIN };
	pthread_mutex_unlock(&s->lock);
	ppoll(fds, 1 + nr, ns == GP__NEVER ? NULL : &ts, NULL);
	if (fds[0].revents & POLLIN && read(s->wake_fd, &drained, sizeof(drained)) < 0)
		drained = 0; /* somebody else's wake is as good */
	pthread_mutex_lock(&s->lock);
}

static void *run(void *arg)
{
	struct emu_priority *s = arg;

	pthread_setname_np(pthread_self(), "kfd-sched");
	gp__prefer_latency(); /* before compute units, which are threads here */
	pthread_mutex_lock(&s->lock);
	while (!s->ends) {
		read_writers(s);
		if (s->is_enabled && !is_paused(s))
			tick(s);
		s->nr_rounds++;
		gp__cond_broadcast(&s->went_round);
		wait_for(s, pause_after_tick(s));
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

void emu_priority_await_round(struct emu_priority *s)
{
	uint64_t until;

	/* Rounds are made with the lock: none is under way that would have missed something. */
	pthread_mutex_lock(&s->lock);
	until = s->nr_rounds + 1;
	emu_priority_wake(s);
	while (s->nr_rounds < until && !s->ends)
		gp__cond_wait(&s->went_round, &s->lock, GP__FOREVER);
	pthread_mutex_unlock(&s->lock);
}

/*
 * Beginning, end, and what lies between
 */

/* What is logged begins with the parameters, so they come first. */
static void start_core(struct emu_priority *s, const u64 *params, const u64 *cfg)
{
	gp__core_init(&s->core, &gp__policy_hpf);
	if (params)
		memcpy(s->core.params, params, sizeof(s->core.params));
	if (cfg)
		memcpy(s->core.cfg, cfg, sizeof(s->core.cfg));
	gp__log_keep_clear(&s->log);
	gp__core_log(&s->core, gp__log_keep_add, &s->log);
	gp__dev_add(&s->core, &s->dev, s->node->gpu_id, 0, GP__WEIGHS_NOT, gp__clock_ns());
}

/* The core begins anew, knows nobody, and has the parameters that it had. */
static void restart_core(struct emu_priority *s)
{
	u64 params[GP__POLICY_PARAMS_MAX], cfg[GP__CFG_COUNT];

	memcpy(params, s->core.params, sizeof(params));
	memcpy(cfg, s->core.cfg, sizeof(cfg));
	start_core(s, params, cfg);
}

void emu_priority_enable(struct emu_priority *s, bool enable)
{
	for (struct emu_entity *e = s->entities; e; e = e->next) {
		for (struct emu_scheduled *sq = e->queues; sq; sq = sq->next)
			let_run(s, sq->q);
	}
	restart_core(s);
	s->is_enabled = enable;
	for (struct emu_entity *e = s->entities; enable && e; e = e->next) {
		enter_entity(s, e);
		for (struct emu_scheduled *sq = e->queues; sq; sq = sq->next)
			enter_queue(sq);
	}
}

static void free_priority(struct emu_priority *s)
{
	for (uint32_t i = 0; i < s->nr_writers; i++)
		close(s->writer[i].fd);
	if (s->wake_fd >= 0)
		close(s->wake_fd);
	pthread_mutex_destroy(&s->lock);
	free(s->log.text);
	free(s->batch);
	free(s);
}

int emu_priority_start(struct emu_node *n)
{
	struct emu_priority *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->node = n;
	s->is_enabled = true;
	s->period_us = PERIOD_US;
	s->grace_us = GRACE_US;
	pthread_mutex_init(&s->lock, NULL);
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->log = (struct gp__log_keep){ .text = malloc(LOG_BYTES), .room = LOG_BYTES };
	start_core(s, NULL, NULL);
	if (s->wake_fd < 0 || !s->log.text || pthread_create(&s->thread, NULL, run, s)) {
		free_priority(s);
		return -ENOMEM;
	}
	n->priority = s;
	return 0;
}

void emu_priority_end(struct emu_node *n)
{
	struct emu_priority *s = n->priority;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->ends = true;
	pthread_mutex_unlock(&s->lock);
	emu_priority_wake(s);
	pthread_join(s->thread, NULL);
	n->priority = NULL;
	free_priority(s);
}
