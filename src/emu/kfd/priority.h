/* SPDX-License-Identifier: MIT */
/*
 * The scheduler of gpreempt's kernel series, amdgpu.kfd_sched=1: src/node with the emulated
 * machine's driver functions, a thread for each node, and files in sysfs and debugfs.
 *
 * Its lock comes behind that of a process, and before the node's.
 */
#ifndef GP__EMU_KFD_PRIORITY_H
#define GP__EMU_KFD_PRIORITY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cond.h"
#include "node/node.h"

struct emu_call;
struct emu_node;
struct emu_queue;

#define EMU_PRIORITY_WRITERS_MAX 16

/* The reading end of a pipe, whose other end is a file that is open for writing. */
struct emu_priority_writer {
	int fd;
	uint32_t file; /* as gp__node_file_name() counts them */
};

struct emu_priority {
	struct emu_node *node;
	pthread_t thread;
	int wake_fd; /* an eventfd: the thread has something to do */

	pthread_mutex_t lock; /* of all below */
	struct gp__cond went_round; /* the thread */
	uint64_t nr_rounds; /* more than ticks: it may be disabled */
	bool ends;
	struct emu_queue **batch; /* room for those that are held or released at once */
	uint32_t batch_room;
	struct emu_priority_writer writer[EMU_PRIORITY_WRITERS_MAX];
	uint32_t nr_writers;
	struct gp__node_sched sched;
};

/*
 * The priority that is granted to a caller, of the one in CREATE_QUEUE. @is_admin: it may be
 * more urgent than normal.
 */
uint32_t emu_priority_granted(uint32_t logical, bool is_admin);

/* 0 or -errno. */
int emu_priority_start(struct emu_node *n);
/* All queues are gone. Nothing happens on a node that has no such scheduler. */
void emu_priority_end(struct emu_node *n);

/* With the lock of the queue's process; nothing happens on a node that has no such scheduler, or to
 * a DMA queue. @is_admin: the caller may be more urgent than normal. */
void emu_priority_add_queue(struct emu_queue *q, bool is_admin);
void emu_priority_remove_queue(struct emu_queue *q);
void emu_priority_update_queue(struct emu_queue *q, bool is_admin);

/*
 * The rest is for its files (priority_files.c).
 */

/* The thread goes round, and has read what was written into files before. */
void emu_priority_wake(struct emu_priority *s);
void emu_priority_await_round(struct emu_priority *s);
/* With the lock: notes whether the GPU is being reset. */
void emu_priority_look_for_reset(struct emu_priority *s);

/* Makes the files of a node, and those of a queue that is scheduled. */
int emu_priority_add_files(struct emu_node *n);
void emu_priority_add_queue_files(const struct emu_queue *q);
/*
 * A descriptor to read one of the files in sysfs or debugfs, or to write it, for the caller to
 * close. -ENOENT: it is none of these; -ENODATA: it is not known; -EACCES.
 */
int emu_priority_open(struct emu_call *call, const char *path, uint32_t flags);

#endif
