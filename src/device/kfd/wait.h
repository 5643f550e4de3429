/* SPDX-License-Identifier: MIT */
/*
 * Waiting for signals of one queue without spinning for long: a short spin, then asleep in the
 * driver until the GPU has interrupted it, or something went wrong with the GPU.
 *
 * The driver has one page of events for a process, from whoever asks first. Where that is somebody
 * else, whose page we do not know, the sleep is by the clock, up to a millisecond at a time.
 *
 * One thread at a time waits.
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

/* From now on this signal wakes the waiter. */
void gp__kfd_waiter_attach(const struct gp__kfd_waiter *w, struct gp__kfd_signal *s);
/*
 * Until the signal's value is below 1; errors is that of the queue's. 0; -EFAULT: a bad access of
 * this process; -EIO: the GPU was reset, or has refused a packet of the queue.
 */
int gp__kfd_wait(const struct gp__kfd_waiter *w, struct gp__kfd_signal *s,
		 struct gp__kfd_signal *errors);

#endif
