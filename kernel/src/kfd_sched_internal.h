/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of the scheduler; nothing else includes this. */
#ifndef KFD_SCHED_INTERNAL_H_
#define KFD_SCHED_INTERNAL_H_

#include <linux/kobject.h>
#include <linux/mutex.h>
#include <linux/wait.h>

#include "gpreempt/node/node.h"

struct kfd_cu_occupancy;

/* Each device has one, which looks at its nodes in turn. */
struct kfd_sched_thread {
	struct task_struct *task;
	wait_queue_head_t wait;
	bool is_kicked;			/* one of the nodes is */
	struct mutex lock;		/* of the list; comes before those of the nodes */
	struct list_head nodes;
};

struct kfd_sched {
	struct kfd_node *node;
	struct kfd_sched_thread *thread;
	struct list_head link;		/* of the thread's nodes */
	bool is_kicked;			/* the thread has something to do */

	struct kobject kobj;		/* frees this */
	struct attribute files[GP__NODE_FILES_MAX];
	struct dentry *log_file;

	struct mutex lock;		/* of all below */
	u64 due;			/* when to look next */
	struct mm_struct *mm;		/* of the program whose rings are being read */
	struct kfd_cu_occupancy *occupancy;
	struct gp__node_sched sched;
};

/* The thread looks at once. */
void kfd_sched_kick(struct kfd_sched *s);

/* A queue's ring; read in the address space of its process, without faulting anything in. */
struct gp__ring_place kfd_sched_ring(const struct queue_properties *p);
bool kfd_sched_read_user(void *queue, u64 address, void *to, size_t bytes);

/* Whatever comes of it, its memory is freed by kfd_sched_put(). */
int kfd_sched_add_files(struct kfd_sched *s);
/* Nobody reads or writes them afterwards. */
void kfd_sched_remove_files(struct kfd_sched *s);
void kfd_sched_put(struct kfd_sched *s);

#endif
