// SPDX-License-Identifier: MIT
/*
 * The files of the scheduler in src/node. Names are in the tree; contents are made when a file is
 * opened. sched_GPU_ID of each node has the node's numbers and parameters, some of which can be
 * written; a queue's folder has what is known of the queue; debugfs has the log.
 *
 * A write goes through a pipe, each by itself, and cannot be refused: a number that makes no sense
 * changes nothing.
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

#define READ_ONLY 0444
#define WRITABLE 0644
#define ROOTS 0400

static int open_number(uint64_t value)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)value);

	return emu_memfd_text(text, (size_t)len);
}

static int open_value(const struct gp__node_sched *s, uint32_t file)
{
	char text[24];
	int len;

	if (!gp__node_file_is_policy(file))
		return open_number(gp__node_show(s, file));
	len = snprintf(text, sizeof(text), "%s\n", gp__node_policy(s));
	return emu_memfd_text(text, (size_t)len);
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
	const struct gp__node_sched *s = &n->priority->sched;
	const char *dir = n->m->config.dir;
	char path[128];
	int err;

	snprintf(path, sizeof(path), "%s/sched_%u", &EMU_DEBUGFS[1], n->gpu_id);
	err = add_file(dir, path, ROOTS);
	for (uint32_t i = 0; i < gp__node_nr_files(s) && !err; i++) {
		snprintf(path, sizeof(path), EMU_KFD_FOLDER "/sched_%u/%s", n->gpu_id,
			 gp__node_file_name(s, i));
		err = add_file(dir, path, gp__node_file_is_writable(s, i) ? WRITABLE : READ_ONLY);
	}
	return err;
}

void emu_priority_add_queue_files(const struct emu_queue *q)
{
	char path[128];

	if (!q->node->priority || emu_queue_is_sdma(q))
		return;
	for (const char *const *name = gp__node_queue_files; *name; name++) {
		snprintf(path, sizeof(path), EMU_KFD_FOLDER "/proc/%d/queues/%u/%s",
			 (int)q->process->pid, q->id, *name);
		add_file(q->node->m->config.dir, path, ROOTS);
	}
}

/*
 * Files of a GPU
 */

/* The writer's end of a pipe; the thread has the other. */
static int open_writer(struct emu_priority *s, uint32_t file)
{
	int ends[2], err = 0;

	if (pipe2(ends, O_CLOEXEC | O_DIRECT))
		return -errno;
	pthread_mutex_lock(&s->lock);
	if (!gp__node_file_is_writable(&s->sched, file)) {
		err = -EACCES;
	} else if (s->nr_writers == EMU_PRIORITY_WRITERS_MAX ||
		   fcntl(ends[0], F_SETFL, O_NONBLOCK)) {
		err = -ENFILE;
	} else {
		s->writer[s->nr_writers++] = (struct emu_priority_writer){ ends[0], file };
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

/* Waits until everything that was written before has been stored. */
static void await_writers(struct emu_priority *s)
{
	bool any;

	pthread_mutex_lock(&s->lock);
	any = s->nr_writers;
	pthread_mutex_unlock(&s->lock);
	if (any)
		emu_priority_await_round(s);
}

/* Writers that have closed the file may not have been removed yet. */
static int open_for_writing(struct emu_priority *s, uint32_t file)
{
	int fd = open_writer(s, file);

	if (fd != -ENFILE)
		return fd;
	await_writers(s);
	return open_writer(s, file);
}

static int open_node_file(struct emu_call *call, struct emu_priority *s, const char *name,
			  uint32_t flags)
{
	int fd, file;

	pthread_mutex_lock(&s->lock);
	file = gp__node_file_find(&s->sched, name);
	pthread_mutex_unlock(&s->lock);
	if (file < 0)
		return file;
	if ((flags & O_ACCMODE) == O_WRONLY)
		return call->uid ? -EACCES : open_for_writing(s, (uint32_t)file);
	if ((flags & O_ACCMODE) != O_RDONLY)
		return -EACCES;
	await_writers(s);
	pthread_mutex_lock(&s->lock);
	emu_priority_look_for_reset(s);
	fd = open_value(&s->sched, (uint32_t)file);
	pthread_mutex_unlock(&s->lock);
	return fd;
}

/*
 * Files of a queue
 */

static int show_queue(struct emu_priority *s, const struct gp__node_queue *q, const char *name)
{
	struct gp__node_value v;
	char text[64];
	int len, err = gp__node_queue_show(&s->sched, q, name, &v);

	if (err)
		return err;
	switch (v.kind) {
	case GP__NODE_SIGNED:
		len = snprintf(text, sizeof(text), "%lld\n", (long long)v.value);
		break;
	case GP__NODE_TEXT:
		len = snprintf(text, sizeof(text), "%s\n", v.text);
		break;
	case GP__NODE_IDS:
		len = snprintf(text, sizeof(text), "e%u q%u\n", v.group, v.queue);
		break;
	default:
		return open_number(v.number);
	}
	return emu_memfd_text(text, (size_t)len);
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
	if (q->scheduled)
		fd = show_queue(s, q->scheduled, name);
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
	if (s->sched.log.nr_dropped)
		fprintf(out, "# %llu lines before these are not kept\n",
			(unsigned long long)s->sched.log.nr_dropped);
	fwrite(s->sched.log.text, 1, s->sched.log.size, out);
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
		return call->uid ? -EACCES : open_queue_file(call->m, pid, number, name);
	return -ENOENT;
}
