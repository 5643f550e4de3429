/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KFD_PREEMPT_H_
#define KFD_PREEMPT_H_

#include <linux/types.h>

struct device_queue_manager;
struct file;
struct kfd_process;
struct list_head;
struct queue;

int kfd_ioctl_preempt_queue(struct file *filep, struct kfd_process *p, void *data);
int kfd_ioctl_resume_queue(struct file *filep, struct kfd_process *p, void *data);
int kfd_ioctl_preempt_query(struct file *filep, struct kfd_process *p, void *data);
int kfd_ioctl_preempt_batch(struct file *filep, struct kfd_process *p, void *data);

/* Releases the queues of other processes that an open file, or a process, holds. */
void kfd_preempt_file_closed(struct kfd_process *p, struct file *filep);
void kfd_preempt_process_ended(struct kfd_process *p);

/*
 * For the scheduler, with the DQM lock: queues are linked by preempt_link. On
 * return those are left that could not be preempted, or did not start.
 */
int kfd_preempt_for_scheduler(struct device_queue_manager *dqm, struct list_head *queues,
			      u32 type);
int kfd_resume_for_scheduler(struct device_queue_manager *dqm, struct list_head *queues);

/* A queue that is in no list any more is about to be freed. */
void kfd_preempt_forget(struct queue *q);

#endif
