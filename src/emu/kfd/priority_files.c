// SPDX-License-Identifier: MIT
/*
 * The files of a scheduler by priority. Names are in the tree; what is in them is made when they
 * are opened. In sched_GPU_ID, of each node: whether it is enabled, how often it looks, what it has
 * done, and the parameters of core and policy; some can be written. In a queue's folder: what it
 * knows of that. In debugfs: its log.
 *
 * What is written goes through a pipe, each write by itself, and cannot be refused: what makes no
 * sense changes nothing.
 */
#include "emu/kfd/priority.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "emu/kfd/call.h"
#include "emu/kfd/debugfs.h"
#include "emu/kfd/memfd.h"
#include "emu/kfd/node.h"
#include "emu/kfd/queue.h"
#include "emu/kfd/topology.h"
#include "emu/kfd/tree.h"

#define PERIOD_US_MIN 100
#define TIME_US_MAX 10000000
#define READ_ONLY 0444
#define WRITABLE 0644
#define ROOTS 0400

static const char *const queue_files[] = {
	"effective_priority", "state",	     "rptr",   "wptr", "pending",
	"preempted_ms",	      "preemptions", "log_id",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * What a node's files are: these, and the parameters. With the lock, as the core may be starting
 * again.
 */

static uint64_t show_enable(const struct emu_priority *s)
{
	return s->is_enabled;
}

static int store_enable(struct emu_priority *s, uint64_t value)
{
	if (value > 1)
		return -EINVAL;
	emu_priority_enable(s, value);
	return 0;
}

static uint64_t show_period(const struct emu_priority *s)
{
	return s->period_us;
}

static int store_period(struct emu_priority *s, uint64_t value)
{
	if (value < PERIOD_US_MIN || value > TIME_US_MAX)
		return -ERANGE;
	s->period_us = (uint32_t)value;
	return 0;
}

static uint64_t show_grace(const struct emu_priority *s)
{
	return s->grace_us;
}

static int store_grace(struct emu_priority *s, uint64_t value)
{
	if (value > TIME_US_MAX)
		return -ERANGE;
	s->grace_us = (uint32_t)value;
	return 0;
}

static uint64_t show_paused(const struct emu_priority *s)
{
	return atomic_load(&s->node->hung);
}

static uint64_t show_ticks(const struct emu_priority *s)
{
	return s->nr_ticks;
}

static uint64_t show_switches(const struct emu_priority *s)
{
	return s->dev.nr_switches;
}

static uint64_t show_inversions(const struct emu_priority *s)
{
	return s->dev.nr_inversions;
}

static const struct node_file {
	const char *name;
	uint64_t (*show)(const struct emu_priority *s);
	int (*store)(struct emu_priority *s, uint64_t value); /* NULL: it can only be read */
} node_files[] = {
	{ "enable", show_enable, store_enable }, { "period_us", show_period, store_period },
	{ "grace_us", show_grace, store_grace }, { "paused", show_paused, NULL },
	{ "ticks", show_ticks, NULL },		 { "switches", show_switches, NULL },
	{ "inversions", show_inversions, NULL },
};

static const struct node_file *find_file(const char *name)
{
	for (size_t i = 0; i < COUNT(node_files); i++) {
		if (!strcmp(name, node_files[i].name))
			return &node_files[i];
	}
	return NULL;
}

/* The core's parameters, and then those of its policy. */
static uint32_t nr_params(const struct emu_priority *s)
{
	return GP__CFG_COUNT + s->core.policy->nr_params;
}

static const char *param_name(const struct emu_priority *s, uint32_t i)
{
	return i < GP__CFG_COUNT ? gp__core_params[i].name
				 : s->core.policy->params[i - GP__CFG_COUNT].name;
}

/* -1: it is none. */
static int find_param(const struct emu_priority *s, const char *name)
{
	for (uint32_t i = 0; i < nr_params(s); i++) {
		if (!strcmp(name, param_name(s, i)))
			return (int)i;
	}
	return -1;
}

static int store_param(struct emu_priority *s, int param, uint64_t value)
{
	u64 params[GP__POLICY_PARAMS_MAX];

	if (param < GP__CFG_COUNT)
		return gp__core_configure(&s->core, (uint32_t)param, value, gp__clock_ns());
	memcpy(params, s->core.params, sizeof(params));
	params[param - GP__CFG_COUNT] = value;
	return gp__core_set_policy(&s->core, s->core.policy, params, gp__clock_ns());
}

static bool can_write(const struct emu_priority *s, const char *name)
{
	const struct node_file *f = find_file(name);

	return f ? f->store != NULL : find_param(s, name) >= 0;
}

int emu_priority_store(struct emu_priority *s, const char *name, uint64_t value)
{
	const struct node_file *f = find_file(name);

	return f ? f->store(s, value) : store_param(s, find_param(s, name), value);
}

static int open_number(uint64_t value)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)value);

	return emu_memfd_text(text, (size_t)len);
}

static int show(const struct emu_priority *s, const char *name)
{
	const struct node_file *f = find_file(name);
	int param = find_param(s, name);

	if (f)
		return open_number(f->show(s));
	if (param < 0)
		return -ENOENT;
	return open_number(param < GP__CFG_COUNT ? s->core.cfg[param]
						 : s->core.params[param - GP__CFG_COUNT]);
}

/*
 * Names
 */

static int add_file(const char *dir, const char *path, unsigned int mode)
{
	int err = emu_tree_file(dir, path, "%s", "");

	return err ? err : emu_tree_mode(dir, path, mode);
}

int emu_priority_add_files(struct emu_node *n)
{
	const struct emu_priority *s = n->priority;
	const char *dir = n->m->config.dir;
	char path[128];
	int err;

	snprintf(path, sizeof(path), "%s/sched_%u", &EMU_DEBUGFS[1], n->gpu_id);
	err = add_file(dir, path, ROOTS);
	for (size_t i = 0; i < COUNT(node_files) && !err; i++) {
		snprintf(path, sizeof(path), EMU_KFD_FOLDER "/sched_%u/%s", n->gpu_id,
			 node_files[i].name);
		err = add_file(dir, path, node_files[i].store ? WRITABLE : READ_ONLY);
	}
	for (uint32_t i = 0; i < nr_params(s) && !err; i++) {
		snprintf(path, sizeof(path), EMU_KFD_FOLDER "/sched_%u/%s", n->gpu_id,
			 param_name(s, i));
		err = add_file(dir, path, WRITABLE);
	}
	return err;
}

void emu_priority_add_queue_files(const struct emu_queue *q)
{
	char path[128];

	if (!q->node->priority || emu_queue_is_sdma(q))
		return;
	for (size_t i = 0; i < COUNT(queue_files); i++) {
		snprintf(path, sizeof(path), EMU_KFD_FOLDER "/proc/%d/queues/%u/%s",
			 (int)q->process->pid, q->id, queue_files[i]);
		add_file(q->node->m->config.dir, path, READ_ONLY);
	}
}

/*
 * Opening those of a node
 */

/* The writer's end of a pipe; the thread has the other. */
static int open_writer(struct emu_priority *s, const char *name)
{
	int ends[2], err = 0;

	if (pipe2(ends, O_CLOEXEC | O_DIRECT))
		return -errno;
	pthread_mutex_lock(&s->lock);
	if (!can_write(s, name)) {
		err = -EACCES;
	} else if (s->nr_writers == EMU_PRIORITY_WRITERS_MAX ||
		   fcntl(ends[0], F_SETFL, O_NONBLOCK)) {
		err = -ENFILE;
	} else {
		struct emu_priority_writer *w = &s->writer[s->nr_writers++];

		w->fd = ends[0];
		snprintf(w->file, sizeof(w->file), "%s", name);
	}
	pthread_mutex_unlock(&s->lock);
	if (err) {
		close(ends[0]);
		close(ends[1]);
		return err;
	}
	emu_priority_wake(s);
	return ends[1];
}

/* What was written before can be read. */
static void await_writers(struct emu_priority *s)
{
	bool any;

	pthread_mutex_lock(&s->lock);
	any = s->nr_writers;
	pthread_mutex_unlock(&s->lock);
	if (any)
		emu_priority_await_round(s);
}

static int open_node_file(struct emu_call *call, struct emu_priority *s, const char *name,
			  uint32_t flags)
{
	int fd;

	if ((flags & O_ACCMODE) == O_WRONLY)
		return call->uid ? -EACCES : open_writer(s, name);
	if ((flags & O_ACCMODE) != O_RDONLY)
		return -EACCES;
	await_writers(s);
	pthread_mutex_lock(&s->lock);
	fd = show(s, name);
	pthread_mutex_unlock(&s->lock);
	return fd;
}

/*
 * Of a queue
 */

static int show_ring(const struct emu_scheduled *sq, uint64_t value)
{
	return sq->unknown || !sq->ring.is_known ? -ENODATA : open_number(value);
}

static int show_queue(const struct emu_scheduled *sq, const char *name)
{
	uint64_t now = gp__clock_ns();
	char text[64];
	int len = -1;

	if (!strcmp(name, "rptr"))
		return show_ring(sq, sq->ring.rptr);
	if (!strcmp(name, "wptr"))
		return show_ring(sq, sq->ring.wptr);
	if (!strcmp(name, "pending"))
		return show_ring(sq, sq->ring.pending);
	if (!strcmp(name, "preempted_ms"))
		return open_number(gp__queue_held_ns(&sq->core, now) / GP__MS);
	if (!strcmp(name, "preemptions"))
		return open_number(sq->core.nr_excluded);
	if (!strcmp(name, "effective_priority"))
		len = snprintf(text, sizeof(text), "%d\n",
			       (int)gp__entity_effective(&sq->entity->core, now));
	else if (!strcmp(name, "state"))
		len = snprintf(text, sizeof(text), "%s\n",
			       gp__state_name(gp__queue_state(&sq->core)));
	else if (!strcmp(name, "log_id"))
		len = snprintf(text, sizeof(text), "e%u q%u\n", sq->entity->id, sq->id);
	return len < 0 ? -ENOENT : emu_memfd_text(text, (size_t)len);
}

/* With the process's lock, under which no queue goes. */
static int open_file_of(struct emu_queue *q, const char *name)
{
	struct emu_priority *s = q->node->priority;
	int fd = -ENODATA;

	if (!s)
		return -ENOENT;
	emu_priority_await_round(s);
	pthread_mutex_lock(&s->lock);
	if (q->scheduled && s->is_enabled)
		fd = show_queue(q->scheduled, name);
	pthread_mutex_unlock(&s->lock);
	return fd;
}

static int open_queue_file(struct emu_machine *m, int pid, unsigned int id, const char *name)
{
	struct emu_process *p = emu_process_find(m, pid);
	struct emu_queue *q;
	int fd;

	if (!p)
		return -ENOENT;
	pthread_mutex_lock(&p->lock);
	q = emu_queue_find(p, id);
	fd = q ? open_file_of(q, name) : -ENOENT;
	pthread_mutex_unlock(&p->lock);
	emu_process_put(p);
	return fd;
}

/*
 * The log
 */

static int open_log(struct emu_priority *s)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int fd;

	if (!out)
		return -ENOMEM;
	await_writers(s);
	fputs(GP__LOG_HEADER, out);
	pthread_mutex_lock(&s->lock);
	if (s->log.nr_dropped)
		fprintf(out, "# %llu lines before these are not kept\n",
			(unsigned long long)s->log.nr_dropped);
	fwrite(s->log.text, 1, s->log.size, out);
	pthread_mutex_unlock(&s->lock);
	fd = fclose(out) ? -ENOMEM : emu_memfd_text(text, len);
	free(text);
	return fd;
}

static struct emu_priority *priority_of(struct emu_machine *m, unsigned int gpu_id)
{
	struct emu_node *n = emu_machine_node(m, gpu_id);

	return n ? n->priority : NULL;
}

int emu_priority_open(struct emu_call *call, const char *path, uint32_t flags)
{
	const char *at = strstr(path, "/kfd/kfd/");
	struct emu_priority *s;
	unsigned int number;
	char name[32];
	int pid, end = 0;

	if (sscanf(path, EMU_DEBUGFS "/sched_%u%n", &number, &end) == 1 && !path[end]) {
		s = priority_of(call->m, number);
		if (!s)
			return -ENOENT;
		return call->uid || (flags & O_ACCMODE) != O_RDONLY ? -EACCES : open_log(s);
	}
	if (!at)
		return -ENOENT;
	at += strlen("/kfd/kfd/");
	if (sscanf(at, "sched_%u/%31[a-z_]%n", &number, name, &end) == 2 && !at[end]) {
		s = priority_of(call->m, number);
		return s ? open_node_file(call, s, name, flags) : -ENOENT;
	}
	if (sscanf(at, "proc/%d/queues/%u/%31[a-z_]%n", &pid, &number, name, &end) == 3 && !at[end])
		return open_queue_file(call->m, pid, number, name);
	return -ENOENT;
}
