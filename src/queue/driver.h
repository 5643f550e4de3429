/* SPDX-License-Identifier: MIT */
/*
 * The interface between a queue (queue.c) and the in-process scheduler (sched.c).
 *
 * Lock order: a queue's lock, then the scheduler's. Functions that the queue calls are called with
 * its lock held and never call back into it; functions that the scheduler calls are called with no
 * lock held.
 */
#ifndef GP_QUEUE_DRIVER_H
#define GP_QUEUE_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include <gpreempt/gpreempt.h>

/* Scheduler to queue: holds, releases or weighs it; returns the device's answer. */
int gp__drv_hold(struct gp_queue *q);
int gp__drv_release(struct gp_queue *q);
int gp__drv_weigh(struct gp_queue *q, uint32_t weight);

/* Queue to scheduler. */
struct gp__member;

struct gp__join {
	struct gp_queue *queue;
	uint32_t device;
	int priority;
	const char *tag;
	int level_requested;
	int level;
	bool can_weigh;
	uint64_t device_memory; /* 0: unknown */
};

int gp__sched_join(struct gp_sched *s, const struct gp__join *join, struct gp__member **member,
		   struct gp_error *err);
/* Returns when the scheduler is not, and will not be, acting on the queue. */
void gp__sched_leave(struct gp__member *m);

/*
 * The queue got its first command. True: it must not run now; the caller holds it at once, so that
 * not even one command is launched, and the scheduler's thread does the rest.
 */
bool gp__sched_ready(struct gp__member *m, uint64_t now);
void gp__sched_idle(struct gp__member *m, uint64_t now);
void gp__sched_level(struct gp__member *m, int level, uint64_t now);
int gp__sched_hint(struct gp__member *m, enum gp_hint hint, int64_t value, struct gp_error *err);
void gp__sched_arriving(struct gp__member *m, uint64_t when);
uint64_t gp__sched_lead_time(struct gp__member *m);

#endif
