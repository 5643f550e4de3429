/* SPDX-License-Identifier: MIT */
/*
 * The scheduler of gpreempt's kernel series, amdgpu.kfd_sched=1: a thread for each node that looks
 * at the rings of its compute queues, tells the core which of them have work, and preempts and
 * resumes what that decides. As kernel/patches has it, with the same core, policy and way to see
 * work.
 *
 * What is scheduled is an entity: the compute queues of one process that have the same priority.
 *
 * Its lock comes behind that of a process, and before the node's.
 */
#ifndef GP__EMU_KFD_PRIORITY_H
#define GP__EMU_KFD_PRIORITY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cond.h"
#include "core/core.h"
#include "core/log.h"
#include "core/ring.h"

struct emu_call;
struct emu_node;
struct emu_process;
struct emu_queue;

#define EMU_PRIORITY_WRITERS_MAX 16

/* Somebody has one of its files open to write: what comes out of this pipe is for it. */
struct emu_priority_writer {
	int fd;
	char file[32];
};

struct emu_priority {
	struct emu_node *node;
	pthread_t thread;
	int wake_fd; /* an eventfd: the thread has something to do */

	pthread_mutex_t lock; /* of all below */
	struct gp__cond went_round; /* the thread */
	uint64_t nr_rounds, nr_ticks; /* in the former it may have found that it is disabled */
	bool ends, is_enabled;
	uint32_t period_us, grace_us;
	uint32_t last_id; /* of entities and queues */
	uint32_t nr_entities, nr_queues;
	struct emu_entity *entities;
	struct emu_queue **batch; /* room for those that are preempted or resumed at once */
	uint32_t batch_room;
	struct emu_priority_writer writer[EMU_PRIORITY_WRITERS_MAX];
	uint32_t nr_writers;
	struct gp__log_keep log;
	struct gp__core core;
	struct gp__dev dev;
};

struct emu_entity {
	struct emu_entity *next;
	struct emu_scheduled *queues;
	struct emu_process *process;
	int32_t priority;
	uint32_t id;
	struct gp__entity core;
};

/* What it knows of a queue. */
struct emu_scheduled {
	struct emu_scheduled *next; /* of its entity's */
	struct emu_scheduled *next_action;
	struct emu_entity *entity;
	struct emu_queue *q;
	uint32_t asked; /* the priority that the program wants */
	uint32_t id;
	struct gp__ring_place place;
	struct gp__ring ring;
	struct gp__ring_sight sight;
	int unknown; /* 0: there is something in sight */
	bool is_moved; /* it ran when it was to be stopped */
	int result; /* of the action */
	struct gp__queue core;
};

/* 0 or -errno. */
int emu_priority_start(struct emu_node *n);
/* All queues are gone. Nothing happens where there is none. */
void emu_priority_end(struct emu_node *n);

/* With the lock of the queue's process; nothing happens where its node has none, or the queue is
 * one of DMA. @is_admin: who asks may be more urgent than is usual. */
void emu_priority_add_queue(struct emu_queue *q, bool is_admin);
void emu_priority_remove_queue(struct emu_queue *q);
void emu_priority_update_queue(struct emu_queue *q, bool is_admin);

/*
 * The rest is for its files (priority_files.c).
 */

/* The thread goes round, and has read what was written into files before. */
void emu_priority_wake(struct emu_priority *s);
void emu_priority_await_round(struct emu_priority *s);
/* With the lock. Whoever it has preempted runs when it is disabled; when enabled it begins anew. */
void emu_priority_enable(struct emu_priority *s, bool enable);
/* A number was written into one of the files; with the lock. 0, -EINVAL or -ERANGE. */
int emu_priority_store(struct emu_priority *s, const char *name, uint64_t value);

/* Makes the files of a node, and those of a queue that is scheduled. */
int emu_priority_add_files(struct emu_node *n);
void emu_priority_add_queue_files(const struct emu_queue *q);
/*
 * A descriptor to read one of the files in sysfs or debugfs, or to write it, for the caller to
 * close. -ENOENT: it is none of these; -ENODATA: it is not known; -EACCES.
 */
int emu_priority_open(struct emu_call *call, const char *path, uint32_t flags);

#endif
