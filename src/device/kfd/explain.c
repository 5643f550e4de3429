// SPDX-License-Identifier: MIT
/* Explains the driver's refusals, from a table that has the most special case first. */
#include "device/kfd/can.h"
#include "device/kfd/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define UPDATE (1u << GP__KFD_WAY_UPDATE)
#define DBGTRAP (1u << GP__KFD_WAY_DBGTRAP)
#define PREEMPT (1u << GP__KFD_WAY_PREEMPT)
#define OPENING (1u << GP__KFD_WAYS) /* opening /dev/kfd, before there is a control */
#define ANY (UPDATE | DBGTRAP | PREEMPT)

/*
 * The owner of the queues, and the state of its runtime when the debugger attached; or a type that
 * the kernel's series offers on this GPU, and that can so be the remedy.
 */
enum whose { EVERYBODY, OTHERS, OTHERS_UNASKED, WITH_SAVE, WITH_DRAIN };

struct rule {
	unsigned int ways;
	int err;
	enum whose whose;
	int verb; /* -1: all */
	const char *text;
};

static const struct rule rules[] = {
	{ OPENING, ENOENT, EVERYBODY, -1,
	  "there is no /dev/kfd: no AMD GPU, or amdgpu is not loaded; load it with modprobe "
	  "amdgpu" },
	{ OPENING, ENODEV, EVERYBODY, -1,
	  "/dev/kfd has no driver behind it; load it with modprobe amdgpu" },
	{ OPENING, ENXIO, EVERYBODY, -1,
	  "/dev/kfd has no driver behind it; load it with modprobe amdgpu" },
	{ OPENING, EACCES, EVERYBODY, -1,
	  "/dev/kfd is open to the group render; add the user to it with usermod -aG render" },
	{ OPENING, EPERM, EVERYBODY, -1,
	  "this container or service may not use /dev/kfd; grant it the device" },

	{ ANY, ENODATA, EVERYBODY, -1, "no queue was given; give at least one" },
	{ ANY, E2BIG, EVERYBODY, -1,
	  "more than 1024 queues were given, the most that a process has; give fewer at a time" },
	{ ANY, ENOENT, EVERYBODY, -1,
	  "no queue of this process has that id; list the queues again" },

	{ UPDATE, EBADF, OTHERS, -1,
	  "UPDATE_QUEUE serves only the process that opened /dev/kfd; let the program join, or use "
	  "dbgtrap or preempt" },
	{ ANY, EBADF, EVERYBODY, -1,
	  "the descriptor is not this process's /dev/kfd; open it again after fork()" },

	{ UPDATE, EFAULT, EVERYBODY, -1,
	  "no queue of this process has that id, or its ring is not mapped to the GPU; list the "
	  "queues again" },
	{ UPDATE, EINVAL, EVERYBODY, -1,
	  "the driver refuses the percentage, priority or ring that the runtime set last; create "
	  "the queue again" },
	{ UPDATE, EACCES, EVERYBODY, -1,
	  "the GPU was reset, and this program lost its queues; start the program again" },
	{ UPDATE | DBGTRAP, EOPNOTSUPP, EVERYBODY, -1,
	  "this way supports only SAVE; for DRAIN and RESET use preempt, with gpreempt's kernel "
	  "series" },

	{ DBGTRAP, ENOTTY, OTHERS, -1,
	  "this kernel does not have DBG_TRAP, which Linux 6.5 added; use a newer kernel, or let "
	  "the program join" },
	{ DBGTRAP, EALREADY, OTHERS, -1,
	  "another debugger is attached to the program, which can have only one; end that "
	  "debugger, for example rocgdb, or let the program join" },
	{ DBGTRAP, ENOTTY, EVERYBODY, -1,
	  "this kernel does not have DBG_TRAP, which Linux 6.5 added; use update" },
	{ DBGTRAP, EALREADY, EVERYBODY, -1,
	  "another debugger is attached to the program, which can have only one; end rocgdb, or "
	  "use update" },
	{ DBGTRAP, EBUSY, EVERYBODY, -1,
	  "another process is being debugged on this GPU, which allows only one; use update" },
	{ DBGTRAP, EPERM, OTHERS_UNASKED, -1,
	  "this process may not trace the program: that takes the same user, no other tracer and "
	  "kernel.yama.ptrace_scope 0, or CAP_SYS_PTRACE" },
	{ DBGTRAP, EPERM, OTHERS, -1,
	  "the program's runtime did not call RUNTIME_ENABLE, so its queues cannot be suspended; "
	  "use ROCr 5.7 or later, or let the program join" },
	{ DBGTRAP, EPERM, EVERYBODY, -1,
	  "the runtime did not call RUNTIME_ENABLE, so queues cannot be suspended; use ROCr 5.7 or "
	  "later, or update" },
	{ DBGTRAP, EINVAL, EVERYBODY, -1,
	  "there is no such queue, or it is being destroyed, or no debugger is attached (amdgpu "
	  "with sched_policy=2 allows none); list the queues again, or use update" },

	{ DBGTRAP, ESHUTDOWN, EVERYBODY, -1,
	  "the program's runtime began or ended, which waits for debuggers, so gpreempt's debugger "
	  "detached; use update" },

	{ PREEMPT, EALREADY, EVERYBODY, -1,
	  "the program preempts its queues itself, and a process can hold them only once; use "
	  "update" },
	{ PREEMPT, ENOTTY, EVERYBODY, -1,
	  "this kernel does not have gpreempt's series; install it, or use update or dbgtrap" },
	{ PREEMPT, EOPNOTSUPP, WITH_DRAIN, GP__KFD_SAVE,
	  "the driver cannot save waves here (cwsr_enable=0), or not for other programs; load "
	  "amdgpu with cwsr_enable=1, or use DRAIN" },
	{ PREEMPT, EOPNOTSUPP, EVERYBODY, GP__KFD_SAVE,
	  "the driver cannot save waves here (cwsr_enable=0), or not for other programs; load "
	  "amdgpu with cwsr_enable=1, or use update or dbgtrap, which wait until running work has "
	  "finished" },
	{ PREEMPT, EOPNOTSUPP, WITH_SAVE, -1,
	  "the scheduler of this GPU does not support that type, as the query shows; use SAVE" },
	{ PREEMPT, EOPNOTSUPP, EVERYBODY, -1,
	  "the scheduler of this GPU does not support that type, as the query shows; use update or "
	  "dbgtrap, which wait until running work has finished" },
	{ PREEMPT, EPERM, EVERYBODY, -1,
	  "this process neither has CAP_SYS_ADMIN nor may it trace the program that owns the "
	  "queues; "
	  "run as root, or as the same user with kernel.yama.ptrace_scope 0" },
	{ PREEMPT, EDQUOT, EVERYBODY, -1,
	  "this process or its user holds as many queues of others as the kernel allows; release "
	  "some" },
	{ PREEMPT, EBUSY, EVERYBODY, -1, "the queue is being destroyed; there is nothing to hold" },
	{ PREEMPT, EINVAL, EVERYBODY, -1, "the process has no such queue; list the queues again" },

	{ ANY, ESRCH, EVERYBODY, -1,
	  "there is no such process, or it has not opened /dev/kfd; check the pid" },
	{ ANY, ETIME, EVERYBODY, -1,
	  "the waves did not leave the GPU within the driver's timeout, so the queue was released; "
	  "see the kernel's log for a reset" },
	{ ANY, ETIMEDOUT, EVERYBODY, -1,
	  "the waves did not leave the GPU within the driver's timeout, so the queue was released; "
	  "see the kernel's log for a reset" },
	{ ANY, EIO, EVERYBODY, -1,
	  "the GPU failed to do it, and may be about to be reset; see the kernel's log" },
	{ ANY, ENODEV, EVERYBODY, -1, "the GPU is gone; see the kernel's log" },
	{ ANY, ENOMEM, EVERYBODY, -1, "the kernel is out of memory; free some" },
	{ ANY | OPENING, EMFILE, EVERYBODY, -1,
	  "this process has too many open files; raise ulimit -n" },
	{ ANY | OPENING, ENFILE, EVERYBODY, -1,
	  "this machine has too many open files; raise fs.file-max" },
	{ ANY, EINTR, EVERYBODY, -1,
	  "signals kept interrupting the call; try again with fewer signals" },
};

static bool is_of(const struct gp__kfd_control *c, enum whose whose)
{
	switch (whose) {
	case OTHERS:
		return c && c->pid;
	case OTHERS_UNASKED:
		return c && c->pid && c->runtime == GP__KFD_RUNTIME_UNKNOWN;
	case WITH_SAVE:
		return c && gp__kfd_series_can(&c->series, GP_KFD_PREEMPT_SAVE);
	case WITH_DRAIN:
		return c && gp__kfd_series_can(&c->series, GP_KFD_PREEMPT_DRAIN);
	default:
		return true;
	}
}

static const char *find(const struct gp__kfd_control *c, enum gp__kfd_verb verb, int err)
{
	unsigned int way = c ? 1u << c->way : OPENING;

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct rule *r = &rules[i];

		if (r->ways & way && r->err == err && (r->verb < 0 || r->verb == (int)verb) &&
		    is_of(c, r->whose))
			return r->text;
	}
	return NULL;
}

void gp__kfd_explain(const struct gp__kfd_control *c, enum gp__kfd_verb verb, int err, char *text,
		     size_t size)
{
	int number = err < 0 ? -err : err;
	const char *rule = find(c, verb, number), *name = strerrorname_np(number),
		   *plain = strerrordesc_np(number);

	if (!plain)
		plain = "an error without a name";
	if (!rule)
		snprintf(text, size, "%s: %s (%s)", c ? gp__kfd_way_name(c->way) : "/dev/kfd",
			 plain, name ? name : "?");
	else
		snprintf(text, size, "%s (%s)", rule, name);
}
