// SPDX-License-Identifier: MIT
/* What a refusal means: a table from the most special case to the most general one. */
#include "device/kfd/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define UPDATE (1u << GP__KFD_WAY_UPDATE)
#define DBGTRAP (1u << GP__KFD_WAY_DBGTRAP)
#define PREEMPT (1u << GP__KFD_WAY_PREEMPT)
#define OPENING (1u << GP__KFD_WAYS) /* /dev/kfd itself: there is no control yet */
#define ANY (UPDATE | DBGTRAP | PREEMPT)

/* Whose queues, and in which state the runtime was when the debugger came. */
enum whose { EVERYBODY, OTHERS, OTHERS_UNASKED };

struct rule {
	unsigned int ways;
	int err;
	enum whose whose;
	int verb; /* -1: each */
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

	{ ANY, ENODATA, EVERYBODY, -1, "no queue was named; name at least one" },
	{ ANY, E2BIG, EVERYBODY, -1,
	  "a process has 1024 queues at most, and more were named; name fewer at a time" },
	{ ANY, ENOENT, EVERYBODY, -1,
	  "no queue of this process has that id; list them, as queues come and go" },

	{ UPDATE, EBADF, OTHERS, -1,
	  "UPDATE_QUEUE serves only the process that opened /dev/kfd; let the program join, or use "
	  "dbgtrap or preempt" },
	{ ANY, EBADF, EVERYBODY, -1,
	  "the descriptor is no /dev/kfd of this process; open it again after fork()" },

	{ UPDATE, EFAULT, EVERYBODY, -1,
	  "no queue of this process has that id, or its ring is not mapped to the GPU; list the "
	  "queues, as they come and go" },
	{ UPDATE, EINVAL, EVERYBODY, -1,
	  "the driver refuses what the runtime last set of percentage, priority or ring; make the "
	  "queue anew" },
	{ UPDATE, EACCES, EVERYBODY, -1,
	  "the GPU was reset under this program, and its queues are lost; start it again" },
	{ UPDATE | DBGTRAP, EOPNOTSUPP, EVERYBODY, -1,
	  "only SAVE can be done this way; for DRAIN and RESET use preempt, with gpreempt's kernel "
	  "series" },

	{ DBGTRAP, ENOTTY, OTHERS, -1,
	  "DBG_TRAP came with Linux 6.5, and this kernel has none; use a newer one, or let the "
	  "program join" },
	{ DBGTRAP, EALREADY, OTHERS, -1,
	  "another debugger is attached to the program, and there can be one; end rocgdb or "
	  "whoever "
	  "it is, or let the program join" },
	{ DBGTRAP, ENOTTY, EVERYBODY, -1,
	  "DBG_TRAP came with Linux 6.5, and this kernel has none; use update" },
	{ DBGTRAP, EALREADY, EVERYBODY, -1,
	  "another debugger is attached to the program, and there can be one; end rocgdb, or use "
	  "update" },
	{ DBGTRAP, EBUSY, EVERYBODY, -1,
	  "this GPU has one debugged process at a time, and another one is it; use update" },
	{ DBGTRAP, EPERM, OTHERS_UNASKED, -1,
	  "a debugger must be allowed to trace the program: as the same user, traced by nobody "
	  "else, "
	  "with kernel.yama.ptrace_scope 0, or with CAP_SYS_PTRACE" },
	{ DBGTRAP, EPERM, OTHERS, -1,
	  "queues can be suspended once the program's runtime has said RUNTIME_ENABLE, which ROCr "
	  "does since 5.7; use a newer one, or let the program join" },
	{ DBGTRAP, EPERM, EVERYBODY, -1,
	  "queues can be suspended once the runtime has said RUNTIME_ENABLE, which ROCr does since "
	  "5.7; use a newer one, or update" },
	{ DBGTRAP, EINVAL, EVERYBODY, -1,
	  "no such queue, or one that is being destroyed, or no debugger is attached (amdgpu with "
	  "sched_policy=2 lets none); list the queues, or use update" },

	{ DBGTRAP, ESHUTDOWN, EVERYBODY, -1,
	  "the program's runtime began or ended, which waits for debuggers, so that ours had to "
	  "go; "
	  "use update" },

	{ PREEMPT, EALREADY, EVERYBODY, -1,
	  "the program preempts its queues itself, and a process can hold them once; use update" },
	{ PREEMPT, ENOTTY, EVERYBODY, -1,
	  "this kernel has not gpreempt's series; install it, or use update or dbgtrap" },
	{ PREEMPT, EOPNOTSUPP, EVERYBODY, GP__KFD_SAVE,
	  "the driver cannot save waves here (cwsr_enable=0), or not for other programs; load "
	  "amdgpu "
	  "with cwsr_enable=1, or use DRAIN" },
	{ PREEMPT, EOPNOTSUPP, EVERYBODY, -1,
	  "the scheduler of this GPU cannot do that type, as the query says; use SAVE" },
	{ PREEMPT, EPERM, EVERYBODY, -1,
	  "queues of another program are for who may trace it; be the same user, or have "
	  "CAP_SYS_PTRACE" },
	{ PREEMPT, EBUSY, EVERYBODY, -1, "the queue is being destroyed; there is nothing to stop" },
	{ PREEMPT, EINVAL, EVERYBODY, -1,
	  "the process has no such queue; list them, as queues come and go" },

	{ ANY, ESRCH, EVERYBODY, -1,
	  "there is no such process, or it has not opened /dev/kfd; look at its pid" },
	{ ANY, ETIME, EVERYBODY, -1,
	  "the waves did not leave the GPU in the driver's time, so the queue was started again; "
	  "see "
	  "the kernel's log for a reset" },
	{ ANY, ETIMEDOUT, EVERYBODY, -1,
	  "the waves did not leave the GPU in the driver's time, so the queue was started again; "
	  "see "
	  "the kernel's log for a reset" },
	{ ANY, EIO, EVERYBODY, -1,
	  "the GPU did not do it, and may be about to be reset; see the kernel's log" },
	{ ANY, ENODEV, EVERYBODY, -1, "the GPU is gone; see the kernel's log" },
	{ ANY, ENOMEM, EVERYBODY, -1, "the kernel is out of memory; free some" },
	{ ANY | OPENING, EMFILE, EVERYBODY, -1,
	  "this process has too many open files; raise ulimit -n" },
	{ ANY | OPENING, ENFILE, EVERYBODY, -1,
	  "this machine has too many open files; raise fs.file-max" },
	{ ANY, EINTR, EVERYBODY, -1,
	  "signals kept coming before the driver was done; try again with fewer of them" },
};

static bool is_of(const struct gp__kfd_control *c, enum whose whose)
{
	switch (whose) {
	case OTHERS:
		return c && c->pid;
	case OTHERS_UNASKED:
		return c && c->pid && c->runtime == GP__KFD_RUNTIME_UNKNOWN;
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
