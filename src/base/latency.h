/* SPDX-License-Identifier: MIT */
/*
 * For threads that sleep until something happens and are then needed at once, for a moment: short
 * slices of CPU time. Where all CPUs are busy, Linux (6.12 and later) lets such a thread run before
 * those with longer slices, and gives it no more time than before; older kernels take no notice.
 * It needs no privilege. The wrong tool for a thread that computes: it is interrupted more often.
 */
#ifndef GP_BASE_LATENCY_H
#define GP_BASE_LATENCY_H

#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The least that the kernel takes. */
#define GP__SLICE_NS 100000u

/* As the kernel has it; not every C library does. */
struct gp__sched_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* For the calling thread and those it starts. What cannot be stays as it is. */
static inline void gp__prefer_latency(void)
{
	struct gp__sched_attr attr = { .size = sizeof(attr) };

	/* Who was given another class than the usual one keeps it. */
	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) || attr.policy != SCHED_OTHER)
		return;
	attr.runtime = GP__SLICE_NS;
	syscall(SYS_sched_setattr, 0, &attr, 0);
}

#endif
