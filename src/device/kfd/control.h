/* SPDX-License-Identifier: MIT */
/*
 * Stopping and starting queues of one process, in each of the ways that kernels have.
 *
 *	update   UPDATE_QUEUE, percentage 0. Own queues only, any kernel, one call a queue.
 *	dbgtrap  DBG_TRAP, as a debugger of oneself or of a program that one may trace. Linux 6.5,
 *	         all queues in one call. One debugger at a time.
 *	preempt  PREEMPT_QUEUE and PREEMPT_BATCH of gpreempt's kernel series. All queues in one
 *	         call, of others too.
 *
 * A stop returns when the waves are off the hardware. Each queue ends in a known state, whatever
 * becomes of the others: its result says whether the call did what it was asked, and a stop that
 * failed is undone, so that the queue runs.
 *
 * Two threads may be at different queues at once. What is opened and closed, and who may be at the
 * same queue, is for the caller to say (owner.h has the locks). A debugger of another program stays
 * in one thread, as older kernels want.
 */
#ifndef GP__DEVICE_KFD_CONTROL_H
#define GP__DEVICE_KFD_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "device/kfd/queue.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

/* What the driver has at most for one process, ids below this among them. */
#define GP__KFD_QUEUES_MAX 1024
#define GP__KFD_EXPLAIN_MAX 256
#define GP__KFD_RUNTIME_UNKNOWN UINT32_MAX

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

/* As ioctl(): a result, or -1 with errno. */
typedef int (*gp__kfd_ioctl_fn)(int fd, unsigned long request, void *args);

struct gp__kfd_control {
	gp__kfd_ioctl_fn next;
	int kfd; /* the caller's, not closed here */
	pid_t pid; /* whose queues; 0: one's own */
	enum gp__kfd_way way;
	int events; /* a debugger's: readable when the driver has something to say; -1: none */
	uint32_t runtime; /* a debugger's: GP_KFD_RUNTIME_..., as it was when he came */
	/* A debugger's: for how long waves may go on before they are saved; gp__kfd_grace(). */
	uint32_t grace;
	struct gp_kfd_preempt_query series; /* way preempt: what the first node can do */
	uint64_t held[GP__KFD_QUEUES_MAX / 64]; /* way preempt: queues of others, a bit an id */
};

struct gp__kfd_target {
	const struct gp__kfd_queue_info *queue; /* of others: the id is enough */
	int result; /* 0 or -errno */
	int undone; /* of a stop that failed: 0, it runs; -errno: nor could it be started again */
};

/* "update", "dbgtrap", "preempt"; -1: none of them. */
const char *gp__kfd_way_name(enum gp__kfd_way way);
int gp__kfd_way_parse(const char *name);

/*
 * Begins; for dbgtrap it becomes the debugger, for preempt it asks what the kernel can. 0 or
 * -errno, and nothing has changed; @c says to gp__kfd_explain() what was tried.
 */
int gp__kfd_control_open(struct gp__kfd_control *c, int kfd, pid_t pid, enum gp__kfd_way way);
/* The same, where calls go out through @next. */
int gp__kfd_control_open_by(struct gp__kfd_control *c, gp__kfd_ioctl_fn next, int kfd, pid_t pid,
			    enum gp__kfd_way way);
/* What is still stopped by dbgtrap, or in others by preempt, runs again. */
void gp__kfd_control_close(struct gp__kfd_control *c);

/*
 * Stops or starts all of them, in one call where the way can. How many are as asked; -errno where
 * none is and all for that one reason. Each target's result is set in any case. Starting one that
 * runs is success, and so is stopping one that is stopped. No queue may be there twice.
 */
int gp__kfd_control(struct gp__kfd_control *c, enum gp__kfd_verb verb, struct gp__kfd_target *t,
		    size_t n);

/*
 * The driver counts a grace period in steps of 1000 clocks of the GPU, of which there are 255 at
 * most: 0.15 ms at 1.7 GHz. A longer one becomes that, a shorter one than a step becomes one.
 * @clock_mhz 0: unknown, taken for 1 GHz.
 */
uint32_t gp__kfd_grace(uint32_t us, uint32_t clock_mhz);

/*
 * For a debugger of another program, when @events is readable: its runtime waits in its end for the
 * debugger to have heard of it. gp__kfd_control() does this too.
 */
void gp__kfd_control_answer(struct gp__kfd_control *c);

/*
 * The rule that was met, what to do about it, and the error's name, in one sentence of less than
 * GP__KFD_EXPLAIN_MAX bytes. @c NULL: /dev/kfd could not be opened.
 */
void gp__kfd_explain(const struct gp__kfd_control *c, enum gp__kfd_verb verb, int err, char *text,
		     size_t size);

#endif
