/* SPDX-License-Identifier: MIT */
/*
 * Reports the work of a program's queues, apart from how it is seen: a launch hook reports
 * arrivals, the monitor reports what it finds in the rings, and the two never wait for each other.
 * Each change of a queue is reported once, in the order in which it was noted.
 *
 * Locking: each queue has a lock, which is held while the queue's state changes and is reported,
 * and for nothing else.
 */
#ifndef GP__DEVICE_KFD_WORK_H
#define GP__DEVICE_KFD_WORK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/kfd/control.h"

struct gp__kfd_work {
	/* Must not wait, nor call back. */
	void (*report)(void *data, uint32_t id, bool has_work, uint64_t pending, uint64_t now);
	void *data;
	struct {
		pthread_mutex_t lock;
		bool exists, is_busy;
		uint64_t arrivals; /* that the hook noted */
		atomic_bool news; /* the monitor has not heard of the latest of them */
	} queue[GP__KFD_QUEUES_MAX];
};

/* All queues are forgotten; also for a child after fork(). */
void gp__kfd_work_init(struct gp__kfd_work *w,
		       void (*report)(void *data, uint32_t id, bool has_work, uint64_t pending,
				      uint64_t now),
		       void *data);
/* A queue begins without work. Reports for other ids than these are ignored. */
void gp__kfd_work_add(struct gp__kfd_work *w, uint32_t id);
void gp__kfd_work_remove(struct gp__kfd_work *w, uint32_t id);

/* For the hook: a launch into the queue. */
void gp__kfd_work_arrived(struct gp__kfd_work *w, uint32_t id, uint64_t now);

/* For the monitor: whether a launch was noted since the last call. */
bool gp__kfd_work_take(struct gp__kfd_work *w, uint32_t id);
void gp__kfd_work_ready(struct gp__kfd_work *w, uint32_t id, uint64_t pending, uint64_t now);
/* How many launches were noted so far. */
uint64_t gp__kfd_work_count(struct gp__kfd_work *w, uint32_t id);
/* The queue was found idle. False: a launch was noted after the count, or the monitor has not heard
 * of one yet, so the queue has work. */
bool gp__kfd_work_idle(struct gp__kfd_work *w, uint32_t id, uint64_t count, uint64_t now);

#endif
