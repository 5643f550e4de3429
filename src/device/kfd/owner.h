/* SPDX-License-Identifier: MIT */
/*
 * One owner of the state of this process' queues.
 *
 * The program's runtime and the scheduler use the same controls. Both wishes are kept here, and
 * what reaches the kernel is the two combined, under one lock a queue: an update by the runtime
 * never releases a queue that is held, an admission never starts one that the runtime has stopped,
 * and a queue that goes away is admitted first.
 *
 * The program's calls come in through gp__kfd_owner_ioctl(); what the driver is asked goes out
 * through the function given at the start, which is the next ioctl() after a preload's.
 *
 * A way that cannot be had, or that the program uses itself (a debugger of its own, the series'
 * ioctls, the end of the runtime), is given up for good, and update is used from then on. What is
 * held stays so: it is stopped by update before the other way lets go.
 */
#ifndef GP__DEVICE_KFD_OWNER_H
#define GP__DEVICE_KFD_OWNER_H

#include <stdbool.h>
#include <stddef.h>

#include "device/kfd/control.h"

struct gp__kfd_owner;

struct gp__kfd_owner_events {
	/*
	 * A queue was made, or is about to go (before the driver is asked; where that then fails it
	 * is added again). No lock is held. Any of them may be NULL.
	 */
	void (*added)(void *data, const struct gp__kfd_queue_info *queue);
	void (*removed)(void *data, const struct gp__kfd_queue_info *queue);
	/* The runtime has changed its priority, percentage or ring. */
	void (*changed)(void *data, const struct gp__kfd_queue_info *queue);
	/* It was held and runs now, though nobody said so: its way was given up, and update failed.
	 */
	void (*lost)(void *data, const struct gp__kfd_queue_info *queue);
	void *data;
};

/* @events may be NULL. 0 or -errno. */
int gp__kfd_owner_create(gp__kfd_ioctl_fn next, enum gp__kfd_way way,
			 const struct gp__kfd_owner_events *events, struct gp__kfd_owner **owner);
/*
 * For queues whose program gives them no logical priority: @fn says which the driver gets, for a
 * GPU. Negative: none. Before the first call of the program.
 */
void gp__kfd_owner_prioritize(struct gp__kfd_owner *owner,
			      int64_t (*fn)(void *data, uint32_t gpu_id), void *data);
/* Admits all. No call may be under way. */
void gp__kfd_owner_destroy(struct gp__kfd_owner *owner);

/* Whether a call matters here; the others may go straight to the driver. */
bool gp__kfd_owner_wants(unsigned long request);
/*
 * A call of the program on /dev/kfd, carried out. Returns what ioctl() would, with errno set. What
 * is not understood is passed on untouched.
 */
int gp__kfd_owner_ioctl(struct gp__kfd_owner *owner, int fd, unsigned long request, void *args);
/* In a child after fork(): it has no queues. */
void gp__kfd_owner_forget(struct gp__kfd_owner *owner);

/*
 * Exclude (SAVE, DRAIN, RESET) or admit (START) queues by id: how many are as asked; -errno where
 * none is and all for that one reason. Each result (0 or -errno, -ENOENT: no such queue) is set in
 * any case. Allocates nothing.
 */
int gp__kfd_owner_set(struct gp__kfd_owner *owner, enum gp__kfd_verb verb, const uint32_t *ids,
		      int *results, size_t n);

struct gp__kfd_owned {
	struct gp__kfd_queue_info queue;
	bool held; /* by us */
	int error; /* of the latest stop or start that failed; 0: none did */
};

/* The queue whose write index is there; false: there is none. */
bool gp__kfd_owner_find(struct gp__kfd_owner *owner, const void *write_index,
			struct gp__kfd_queue_info *queue);
/* Copies up to @max of them in the order of their ids; how many there are. */
size_t gp__kfd_owner_list(struct gp__kfd_owner *owner, struct gp__kfd_owned *list, size_t max);

/* The way that is used; *@error, if not NULL: why it is not the one asked for (-errno), or 0. */
enum gp__kfd_way gp__kfd_owner_way(struct gp__kfd_owner *owner, int *error);
/* The same as a sentence; "" where it is the one asked for. */
void gp__kfd_owner_explain_way(struct gp__kfd_owner *owner, char *text, size_t size);

#endif
