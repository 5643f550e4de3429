/* SPDX-License-Identifier: MIT */
/*
 * Holds and releases queues of one process, by each of the ways that kernels have.
 *
 *	update   UPDATE_QUEUE, percentage 0. Own queues only, any kernel, one call per queue.
 *	dbgtrap  DBG_TRAP, as a debugger of this process or of a program that it may trace. Linux
 *	         6.5, all queues in one call. One debugger at a time.
 *	preempt  The ioctl of gpreempt's kernel series. All queues in one call, other processes'
 *too.
 *
 * A hold returns when the waves are off the hardware. Each queue ends in a known state, whatever
 * happens to the others: its result says whether the call did what was asked, and a failed hold is
 * undone, so that the queue runs.
 *
 * Two threads may act on different queues at once. The caller serialises opening, closing and calls
 * on the same queue (owner.h has the locks). A debugger of another program stays in one thread, as
 * older kernels require.
 */
#ifndef GP__DEVICE_KFD_CONTROL_H
#define GP__DEVICE_KFD_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "device/kfd/queue.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

/* The most queues that the driver gives one process; their ids are below this. */
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
	GP__KFD_SAVE, /* waves are saved and restored later: level 3 */
	GP__KFD_DRAIN, /* kernels finish, no new one starts: level 2; way preempt only */
	GP__KFD_RESET, /* kernels are dropped; way preempt only */
	GP__KFD_RELEASE,
	GP__KFD_VERBS,
};

/* As ioctl(): a result, or -1 with errno. */
typedef int (*gp__kfd_ioctl_fn)(int fd, unsigned long request, void *args);
int gp__kfd_libc_ioctl(int fd, unsigned long request, void *args);

struct gp__kfd_control {
	gp__kfd_ioctl_fn next;
	int kfd; /* the caller's, not closed here */
	pid_t pid; /* the owner of the queues; 0: this process */
	enum gp__kfd_way way;
	int events; /* a debugger's: readable when the driver has an event; -1: none */
	uint32_t runtime; /* a debugger's: GP_KFD_RUNTIME_..., when it attached */
	/* A debugger's: how long waves may run before they are saved; gp__kfd_grace(). */
	uint32_t grace;
	struct gp_kfd_preempt_query series; /* way preempt: the abilities of the first node */
	int pidfd; /* way preempt, with a pid: refers to it */
	uint64_t held[GP__KFD_QUEUES_MAX /
		      64]; /* way preempt: other processes' queues, a bit per id */
};

struct gp__kfd_target {
	const struct gp__kfd_queue_info *queue; /* of another process: only the id is used */
	int result; /* 0 or -errno */
	int undone; /* after a failed hold: 0, it runs; -errno: it could not be released */
};

/* "update", "dbgtrap", "preempt"; -1: none of them. */
const char *gp__kfd_way_name(enum gp__kfd_way way);
int gp__kfd_way_parse(const char *name);

/*
 * Opens a way: dbgtrap attaches as a debugger, preempt asks for the kernel's abilities. 0, or
 * -errno with nothing changed; gp__kfd_explain() can then say from @c what was tried.
 */
int gp__kfd_control_open(struct gp__kfd_control *c, int kfd, pid_t pid, enum gp__kfd_way way);
/* The same, with calls going out through @next. */
int gp__kfd_control_open_by(struct gp__kfd_control *c, gp__kfd_ioctl_fn next, int kfd, pid_t pid,
			    enum gp__kfd_way way);
/* The kernel series' abilities for a GPU, 0: the first one; all zero and -errno (ENOTTY) without
 * the series. */
int gp__kfd_query_series(gp__kfd_ioctl_fn next, int kfd, uint32_t gpu_id,
			 struct gp_kfd_preempt_query *series);
/* Releases what dbgtrap still holds, and what preempt still holds in another process. */
void gp__kfd_control_close(struct gp__kfd_control *c);

/*
 * Holds or releases all targets, in one call if the way can. Returns how many are as asked, or
 * -errno if all failed for the same reason. Each target's result is set in any case. Releasing a
 * running queue succeeds, and so does holding a held one. No queue may occur twice.
 */
int gp__kfd_control(struct gp__kfd_control *c, enum gp__kfd_verb verb, struct gp__kfd_target *t,
		    size_t n);

/*
 * Converts a grace period to the driver's unit of 1000 GPU clocks, rounded up and at most 255
 * units: 0.15 ms at 1.7 GHz. @clock_mhz 0: unknown, taken as 1 GHz.
 */
uint32_t gp__kfd_grace(uint32_t us, uint32_t clock_mhz);

/*
 * For a debugger of another program, when @events is readable: the program's runtime waits at its
 * end until the debugger acknowledges the event. gp__kfd_control() acknowledges it, too.
 */
void gp__kfd_control_answer(struct gp__kfd_control *c);

/*
 * For a moment: becomes the debugger of a process, also of one whose runtime lets no debugger
 * suspend its queues, and lists its queues with the addresses of their rings. Needs Linux 6.5.
 * Open: 0, or -errno with nothing changed. Snapshot, of any open dbgtrap: how many of at most @max
 * it copied, or -errno. gp__kfd_control_close() ends it.
 */
int gp__kfd_debug_open(struct gp__kfd_control *c, int kfd, pid_t pid);
int gp__kfd_debug_open_by(struct gp__kfd_control *c, gp__kfd_ioctl_fn next, int kfd, pid_t pid);
int gp__kfd_debug_snapshot(struct gp__kfd_control *c, struct gp_kfd_queue_snapshot *entry,
			   uint32_t max);

/*
 * Explains an error: the rule that was broken, the remedy and the error's name, in one sentence of
 * less than GP__KFD_EXPLAIN_MAX bytes. @c NULL: /dev/kfd could not be opened.
 */
void gp__kfd_explain(const struct gp__kfd_control *c, enum gp__kfd_verb verb, int err, char *text,
		     size_t size);

#endif
