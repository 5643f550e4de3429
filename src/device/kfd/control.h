/* SPDX-License-Identifier: MIT */
/*
 * Stopping and starting queues of one process, in each of the ways that kernels have.
 *
 *	update   UPDATE_QUEUE, percentage 0. Own queues only, any kernel, one call a queue.
 *	dbgtrap  DBG_TRAP, as a debugger of oneself or of a program that one traces. Linux 6.5, all
 *	         queues in one call. One debugger at a time.
 *	preempt  PREEMPT_QUEUE and PREEMPT_BATCH of gpreempt's kernel series. All queues in one
 *call, of others too.
 *
 * A stop returns when the waves are off the hardware. Each queue ends in a known state, whatever
 * becomes of the others: its result says whether the call did what it was asked, and a stop that
 * failed leaves the queue running.
 *
 * Not for two threads at once: the owner of the queues' state (owner.h) has the lock.
 */
#ifndef GP__DEVICE_KFD_CONTROL_H
#define GP__DEVICE_KFD_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "device/kfd/queue.h"

enum gp__kfd_way {
	GP__KFD_WAY_UPDATE,
	GP__KFD_WAY_DBGTRAP,
	GP__KFD_WAY_PREEMPT,
	GP__KFD_WAYS,
};

enum gp__kfd_verb {
	GP__KFD_SAVE, /* what runs is saved and goes on from there: level 3 */
	GP__KFD_DRAIN, /* what runs, finishes; nothing new starts: level 2; way preempt only */
	GP__KFD_RESET, /* what runs is dropped; way preempt only */
	GP__KFD_START,
	GP__KFD_VERBS,
};

struct gp__kfd_control {
	int kfd; /* the caller's, not closed here */
	pid_t pid; /* whose queues; 0: one's own */
	enum gp__kfd_way way;
	bool traced; /* we are the target's tracer and debugger */
	int events; /* of the debugger: what the driver writes to, -1: none */
};

struct gp__kfd_target {
	const struct gp__kfd_queue_info *queue; /* of others: id, gpu_id and type are enough */
	int result; /* 0 or -errno */
};

/* "update", "dbgtrap", "preempt"; -1: none of them. */
const char *gp__kfd_way_name(enum gp__kfd_way way);
int gp__kfd_way_parse(const char *name);

/* Begins; for dbgtrap it becomes the debugger. 0 or -errno, and nothing has changed. */
int gp__kfd_control_open(struct gp__kfd_control *c, int kfd, pid_t pid, enum gp__kfd_way way);
/* What is still stopped by dbgtrap, or in others by preempt, runs again. */
void gp__kfd_control_close(struct gp__kfd_control *c);

/*
 * Stops or starts all of them, in one call where the way can. How many are as asked; -errno where
 * none could be tried. Each target's result is set in any case. Starting one that runs is success,
 * and so is stopping one that is stopped.
 */
int gp__kfd_control(struct gp__kfd_control *c, enum gp__kfd_verb verb, struct gp__kfd_target *t,
		    size_t n);

/* The rule that was met, what to do about it, and the error's name, in one sentence. */
void gp__kfd_explain(const struct gp__kfd_control *c, enum gp__kfd_verb verb, int err, char *text,
		     size_t size);

#endif
