/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KFD_PREEMPT_H_
#define KFD_PREEMPT_H_

#include <linux/types.h>

struct amdkfd_ioctl_desc;
struct device_queue_manager;
struct file;
struct kfd_process;
struct list_head;
struct queue;
struct queue_properties;

/* How many queues the open files of a process may hold, and those of a user */
#define KFD_PREEMPT_HOLDS_MAX		4096
#define KFD_PREEMPT_USER_HOLDS_MAX	(4 * KFD_PREEMPT_HOLDS_MAX)
#define KFD_PREEMPT_TABLE_BITS		9

/* The scheduler of a node, where there is one */
struct kfd_preempt_scheduler {
	/* With the mutex of the queue's process. */
	void (*priority_changed)(struct queue *q);
};

/* The ioctl of a number; NULL: it is none of those of this file */
const struct amdkfd_ioctl_desc *kfd_preempt_ioctl(unsigned int nr);

/* Releases the queues that an open file, or all those of a process, hold. */
void kfd_preempt_file_closed(struct kfd_process *p, struct file *filep);
void kfd_preempt_process_ended(struct kfd_process *p);
/* Nobody has a reference to it any more. */
void kfd_preempt_process_freed(struct kfd_process *p);

/*
 * Says what a checkpoint has of a queue: whether its process holds it, and whether
 * it was reset. -EBUSY: a file of the process holds it, which nobody could restore.
 */
int kfd_preempt_checkpoint(struct queue *q, u32 *state);
/* The queue that is made from the properties is as it was. */
int kfd_preempt_restore(struct queue_properties *p, u32 state);

/*
 * For the scheduler, with the DQM lock: holds queues and releases others, which
 * are linked by preempt_link, in one run list where there is one. On return those
 * are left that could not be preempted, or did not start.
 */
int kfd_preempt_for_scheduler(struct device_queue_manager *dqm, struct list_head *hold,
			      u32 type, struct list_head *release);

/* A queue that is in no list any more is about to be freed. */
void kfd_preempt_forget(struct queue *q);

#endif
