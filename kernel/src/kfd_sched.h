/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scheduler of queues by priority, for each node
 *
 * All of these do nothing on a node that has none. The order of locks is that
 * of preemption, with the scheduler's own between the process's and that of the
 * device queue manager: none of these may be called under the latter.
 */
#ifndef KFD_SCHED_H_
#define KFD_SCHED_H_

#include <linux/types.h>

struct attribute_group;
struct kfd_node;
struct kfd_process;
struct queue;

void kfd_sched_init(struct kfd_node *node);
void kfd_sched_fini(struct kfd_node *node);

/* Between these two the scheduler does nothing; queues that it holds stay held. */
void kfd_sched_pause(struct kfd_node *node);
void kfd_sched_continue(struct kfd_node *node);

/* True: the scheduler has it, unless there was no memory. */
bool kfd_sched_schedules(const struct queue *q);

/* With the lock of the queue's process. A queue that is removed is still held as it was. */
void kfd_sched_add_queue(struct queue *q);
void kfd_sched_remove_queue(struct queue *q);
void kfd_sched_queue_updated(struct queue *q);
void kfd_sched_remove_process(struct kfd_node *node, struct kfd_process *p);

/* A queue's files beside those that all have */
extern const struct attribute_group kfd_sched_queue_group;
ssize_t kfd_sched_show_queue(struct queue *q, const char *name, char *text);

#endif
