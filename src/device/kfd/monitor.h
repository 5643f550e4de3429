/* SPDX-License-Identifier: MIT */
/*
 * Sees work arrive in queues and end there, by looking at the rings' indices: for programs that
 * tell nobody. One thread for all queues of a process. It looks often while something happens, ever
 * less often while nothing does, down to a period that bounds how late an arrival is seen; the
 * thread sleeps for good while there are no queues.
 *
 * Idle is more than read == write, for a packet is consumed before its waves have ended: the last
 * packet's completion signal must have fired. Where that has none, its process must have no waves
 * on the GPU as far as the driver tells, and a grace time must have passed.
 *
 * Wrong tool where the launch itself can be seen: that is exact and costs less.
 */
#ifndef GP__DEVICE_KFD_MONITOR_H
#define GP__DEVICE_KFD_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "device/kfd/queue.h"

struct gp__kfd_monitor;

struct gp__kfd_monitor_options {
	uint64_t busy_period_ns; /* while a queue has work, or had just now; 0: 50 us */
	uint64_t idle_period_ns; /* the longest, when nothing happens; 0: 1 ms */
	uint64_t grace_ns; /* idle without a signal; 0: 10 ms */
	/* Called from the monitor's thread without a lock. It may not add or remove queues. */
	void (*ready)(void *data, void *queue, uint64_t pending, uint64_t now);
	void (*idle)(void *data, void *queue, uint64_t now);
	void *data;
};

struct gp__kfd_monitor_stats {
	uint64_t looks; /* at all queues */
	uint64_t cpu_ns; /* of the thread */
	uint64_t unreadable; /* times a queue's memory could not be read */
};

int gp__kfd_monitor_create(const struct gp__kfd_monitor_options *options,
			   struct gp__kfd_monitor **monitor);
void gp__kfd_monitor_destroy(struct gp__kfd_monitor *monitor);

/* @cookie: what the callbacks get. A queue begins idle. 0 or -errno. */
int gp__kfd_monitor_add(struct gp__kfd_monitor *monitor, const struct gp__kfd_queue_info *queue,
			void *cookie);
/* Returns when no callback for it runs or will. */
void gp__kfd_monitor_remove(struct gp__kfd_monitor *monitor, void *cookie);
void gp__kfd_monitor_stats(struct gp__kfd_monitor *monitor, struct gp__kfd_monitor_stats *stats);

#endif
