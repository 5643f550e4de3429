// SPDX-License-Identifier: MIT
/* The in-kernel scheduler (src/node) in the emulated driver: the driver functions that it needs,
 * its thread, and the files that are written. */
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

#define LOG_BYTES (128 * 1024)
#define WRITES_A_ROUND 64

void emu_priority_wake(struct emu_priority *s)
{
	const uint64_t one = 1;

	/* It can only fail where it is readable already. */
	if (write(s->wake_fd, &one, sizeof(one)) != sizeof(one))
		return;
}

/*
 * Driver functions
 */

static struct emu_priority *priority_of(struct gp__node_sched *n)
{
	return container_of(n, struct emu_priority, sched);
}

static uint64_t now(struct gp__node_sched *n)
{
	(void)n;
	return gp__clock_ns();
}

static void *alloc(size_t bytes)
{
	return calloc(1, bytes);
}

/* Memory of every process can be read at any time. */
static bool begin_reading(struct gp__node_sched *n, void *program)
{
	(void)n;
	(void)program;
	return true;
}

static void end_reading(struct gp__node_sched *n, void *program)
{
	(void)n;
	(void)program;
}

static bool read_memory(void *queue, uint64_t address, void *to, size_t bytes)
{
	const struct emu_queue *q = queue;
	uint64_t bad;

	return emu_memory_read(q->process, q->node->index, address, to, bytes, &bad);
}

static bool is_running(void *queue)
{
	return atomic_load(&((struct emu_queue *)queue)->active);
}

static bool is_away(void *queue)
{
	struct emu_queue *q = queue;
	bool away;

	pthread_mutex_lock(&q->node->lock);
	away = q->held & ~(uint32_t)EMU_HELD_SCHEDULER || !q->ring || !q->ring_size ||
	       !q->percentage;
	pthread_mutex_unlock(&q->node->lock);
	return away;
}

static int waves(struct gp__node_sched *n, void *queue)
{
	struct emu_node *node = priority_of(n)->node;
	uint64_t nr;

	pthread_mutex_lock(&node->lock);
	nr = node->engine->queue_waves(node->gpu, ((struct emu_queue *)queue)->hw);
	pthread_mutex_unlock(&node->lock);
	return nr > 0;
}

/* A queue that does not run anyway is held for one more reason, and nothing can go wrong. */
static uint32_t list_to_hold(struct emu_priority *s, struct gp__link *list)
{
	struct gp__node_queue *sq;
	uint32_t nr = 0;

	gp__node_each(sq, list)
	{
		struct emu_queue *q = sq->queue;

		if (q->active)
			s->batch[nr++] = q;
		else
			q->held |= EMU_HELD_SCHEDULER;
	}
	return nr;
}

static uint32_t list_to_release(struct emu_queue **batch, struct gp__link *list)
{
	struct gp__node_queue *sq;
	uint32_t nr = 0;

	gp__node_each(sq, list)
	{
		struct emu_queue *q = sq->queue;

		if (q->held & EMU_HELD_SCHEDULER)
			batch[nr++] = q;
	}
	return nr;
}

/* The queues that were to be held run on. */
static void hold_failed(struct emu_priority *s, struct gp__link *list, uint32_t nr, int err)
{
	struct gp__node_queue *sq;

	emu_sched_release(s->node, s->batch, nr, EMU_HELD_SCHEDULER);
	gp__node_each(sq, list)
	{
		for (uint32_t i = 0; i < nr; i++) {
			if (s->batch[i] == sq->queue)
				sq->result = err;
		}
	}
}

static void change(struct gp__node_sched *n, struct gp__link *hold, struct gp__link *release)
{
	struct emu_priority *s = priority_of(n);
	uint32_t nr_hold, nr_release;
	struct gp__node_queue *sq;
	int err;

	pthread_mutex_lock(&s->node->lock);
	nr_hold = list_to_hold(s, hold);
	nr_release = list_to_release(s->batch + nr_hold, release);
	err = emu_sched_change(s->node, s->batch, nr_hold, nr_release, EMU_HELD_SCHEDULER,
			       EMU_STOP_SAVE);
	if (err && nr_hold)
		hold_failed(s, hold, nr_hold, err);
	gp__node_each(sq, release) sq->result = err;
	pthread_mutex_unlock(&s->node->lock);
}

static const struct gp__node_driver driver = {
	.now = now,
	.alloc = alloc,
	.free = free,
	.begin_reading = begin_reading,
	.end_reading = end_reading,
	.read = read_memory,
	.is_running = is_running,
	.is_away = is_away,
	.waves = waves,
	.change = change,
};

/*
 * Queues
 */

uint32_t emu_priority_granted(uint32_t logical, bool is_admin)
{
	if (is_admin || (logical & ~GP_KFD_PRIORITY_SPLIT) <= GP__PRIO_NORMAL + 1)
		return logical;
	return (logical & GP_KFD_PRIORITY_SPLIT) | (GP__PRIO_NORMAL + 1);
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

static struct gp__node_options options_of(struct emu_queue *q, bool is_admin)
{
	uint32_t asked = gp__node_asked(q->logical_priority, q->priority);
	/* An urgent one was granted when it was given. */
	uint32_t logical = q->logical_priority & ~GP_KFD_PRIORITY_SPLIT;

	return (struct gp__node_options){
		.queue = q,
		.program = q->process,
		.pid = (uint32_t)q->process->pid,
		.user = (uint32_t)q->process->uid,
		.is_given = logical,
		.asked = asked,
		.priority = gp__node_granted(asked, is_admin || logical > GP__PRIO_NORMAL + 1),
		.own = gp__node_own(q->priority),
		.place = { .ring = q->ring,
			   .bytes = q->ring_size,
			   .read_index = q->read_pointer,
			   .write_index = q->write_pointer,
			   .kind = q->type == GP_KFD_QUEUE_COMPUTE_AQL ? GP__RING_AQL
								       : GP__RING_PM4 },
	};
}

/* For all queues in one batch, and one more. */
static bool has_room(struct emu_priority *s)
{
	struct emu_queue **more;

	if (s->sched.nr_queues < s->batch_room)
		return true;
	more = reallocarray(s->batch, 2 * s->batch_room + 16, sizeof(*more));
	if (!more)
		return false;
	s->batch = more;
	s->batch_room = 2 * s->batch_room + 16;
	return true;
}

void emu_priority_add_queue(struct emu_queue *q, bool is_admin)
{
	struct emu_priority *s = q->node->priority;
	struct gp__node_options o;
	char comm[32];

	if (!s || emu_queue_is_sdma(q))
		return;
	o = options_of(q, is_admin);
	read_comm(q->process->pid, comm, sizeof(comm));
	o.tag = comm;
	pthread_mutex_lock(&s->lock);
	q->scheduled = has_room(s) ? gp__node_add(&s->sched, &o) : NULL;
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
		gp__node_remove(&s->sched, q->scheduled);
	q->scheduled = NULL;
	pthread_mutex_unlock(&s->lock);
	emu_priority_wake(s);
}

void emu_priority_update_queue(struct emu_queue *q, bool is_admin)
{
	struct emu_priority *s = q->node->priority;
	struct gp__node_options o;
	char comm[32];

	if (!s)
		return;
	o = options_of(q, is_admin);
	read_comm(q->process->pid, comm, sizeof(comm));
	o.tag = comm;
	pthread_mutex_lock(&s->lock);
	if (q->scheduled)
		q->scheduled = gp__node_update(&s->sched, q->scheduled, &o);
	pthread_mutex_unlock(&s->lock);
	emu_priority_wake(s);
}

/*
 * The thread
 */

/* Text that is no number changes nothing, and neither does a number that the file does not take. */
static void store_text(struct emu_priority *s, uint32_t file, const char *text)
{
	unsigned long long value;
	char *end;

	if (gp__node_file_is_policy(file)) {
		gp__node_set_policy(&s->sched, text, strlen(text));
		return;
	}
	errno = 0;
	value = strtoull(text, &end, 10);
	end += *end == '\n';
	if (*text >= '0' && *text <= '9' && !*end && !errno)
		gp__node_store(&s->sched, file, value);
}

/* Reads some of what was written, so that no writer keeps others waiting. False: it is closed. */
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
		drained = 0; /* another wake is as good */
	pthread_mutex_lock(&s->lock);
}

/* With the lock. No event says that a reset is over. */
void emu_priority_look_for_reset(struct emu_priority *s)
{
	gp__node_pause(&s->sched, atomic_load(&s->node->hung));
}

static uint64_t pause_after_tick(struct emu_priority *s)
{
	if (s->sched.is_paused && s->sched.is_enabled)
		return s->sched.period_us * GP__US;
	return gp__node_wait_ns(&s->sched);
}

static void *run(void *arg)
{
	struct emu_priority *s = arg;

	pthread_setname_np(pthread_self(), "kfd-sched");
	gp__prefer_latency(); /* before compute units, which are threads here */
	pthread_mutex_lock(&s->lock);
	while (!s->ends) {
		read_writers(s);
		emu_priority_look_for_reset(s);
		gp__node_tick(&s->sched);
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
 * Beginning and end
 */

static void free_priority(struct emu_priority *s)
{
	for (uint32_t i = 0; i < s->nr_writers; i++)
		close(s->writer[i].fd);
	if (s->wake_fd >= 0)
		close(s->wake_fd);
	pthread_mutex_destroy(&s->lock);
	free(s->sched.log.text);
	free(s->batch);
	free(s);
}

int emu_priority_start(struct emu_node *n)
{
	struct gp__log_keep log = { .text = malloc(LOG_BYTES), .room = LOG_BYTES };
	struct emu_priority *s = calloc(1, sizeof(*s));

	if (!s) {
		free(log.text);
		return -ENOMEM;
	}
	s->node = n;
	pthread_mutex_init(&s->lock, NULL);
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	gp__node_init(&s->sched, &driver, n->gpu_id, &log);
	if (s->wake_fd < 0 || !log.text || pthread_create(&s->thread, NULL, run, s)) {
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
