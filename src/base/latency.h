/* SPDX-License-Identifier: MIT */
/*
 * Short slices of CPU time, for threads that sleep until an event and then are needed at once, for
 * a moment. If all CPUs are busy, Linux (6.12 and later) runs such a thread before those with
 * longer slices, and gives it no more time than before; older kernels ignore it. It needs no
 * privilege. It is the wrong tool for a thread that computes, which would be interrupted more
 * often.
 */
#ifndef GP_BASE_LATENCY_H
#define GP_BASE_LATENCY_H

#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The shortest slice that the kernel accepts. */
#define GP__SLICE_NS 100000u

/* The kernel's struct; not every C library declares it. */
struct gp__sched_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* Applies to the calling thread and threads that it creates. Failures are ignored. */
static inline void gp__prefer_latency(void)
{
	struct gp__sched_attr attr = { .size = sizeof(attr) };

	/* A thread with a real-time or other class keeps it. */
	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) || attr.policy != SCHED_OTHER)
		return;
	attr.runtime = GP__SLICE_NS;
	syscall(SYS_sched_setattr, 0, &attr, 0);
}

/* The opposite, for a thread that computes while others must not wait: long slices, and few. Lowers
 * the priority of the calling thread for good. Failures are ignored. */
static inline void gp__prefer_others(void)
{
	struct gp__sched_attr attr = { .size = sizeof(attr), .policy = SCHED_BATCH, .nice = 10 };

	syscall(SYS_sched_setattr, 0, &attr, 0);
}

#endif
