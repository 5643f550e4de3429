/* SPDX-License-Identifier: MIT */
/*
 * Waits for signals of one queue: spins for a short time, then sleeps in the driver until the GPU
 * interrupts or fails.
 *
 * The driver has one page of events per process, set by the first user. If that is another one,
 * whose page is unknown, the wait polls with sleeps of up to a millisecond.
 *
 * Only one thread at a time may wait.
 */
#ifndef GP__DEVICE_KFD_WAIT_H
#define GP__DEVICE_KFD_WAIT_H

#include "device/kfd/user.h"

struct gp__kfd_waiter {
	struct gp__kfd_user *u;
	uint32_t interrupt; /* event ids; 0: none to be had */
	uint32_t fault, reset;
	uint64_t mailbox;
};

/* 0 or -errno. */
int gp__kfd_waiter_open(struct gp__kfd_user *u, struct gp__kfd_waiter *w);
void gp__kfd_waiter_close(struct gp__kfd_waiter *w);

/* Makes this signal wake the waiter. */
void gp__kfd_waiter_attach(const struct gp__kfd_waiter *w, struct gp__kfd_signal *s);
/*
 * Waits until the signal's value is below 1; @errors is the queue's. 0; -EFAULT: a bad access of
 * this process; -EIO: the GPU was reset, or refused a packet of the queue.
 */
int gp__kfd_wait(const struct gp__kfd_waiter *w, struct gp__kfd_signal *s,
		 struct gp__kfd_signal *errors);

#endif
