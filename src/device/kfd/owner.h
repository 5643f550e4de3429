/* SPDX-License-Identifier: MIT */
/*
 * Owns the state of this process's queues.
 *
 * The program's runtime and the scheduler use the same controls. The owner keeps both wishes, and
 * the kernel gets the two combined, under one lock per queue: an update by the runtime never
 * releases a held queue, a release never starts a queue that the runtime has stopped, and a queue
 * is released before it is destroyed.
 *
 * The program's calls come in through gp__kfd_owner_ioctl(); calls to the driver go out through the
 * function given at creation, which is the next ioctl() after a preload's.
 *
 * If a way does not work, or the program uses it itself (a debugger of its own, the series' ioctls,
 * the end of the runtime), the owner gives it up for good and uses update from then on. Held queues
 * stay held: update holds them before the other way releases them.
 */
#ifndef GP__DEVICE_KFD_OWNER_H
#define GP__DEVICE_KFD_OWNER_H

#include <stdbool.h>
#include <stddef.h>

#include "device/kfd/control.h"

struct gp__kfd_owner;

struct gp__kfd_owner_events {
	/*
	 * A queue was created, or is about to be destroyed (before the driver is asked; if that
	 * fails, it is added again). No lock is held. Any of them may be NULL.
	 */
	void (*added)(void *data, const struct gp__kfd_queue_info *queue);
	void (*removed)(void *data, const struct gp__kfd_queue_info *queue);
	/* The runtime changed the queue's priority, percentage or ring. */
	void (*changed)(void *data, const struct gp__kfd_queue_info *queue);
	/* A held queue runs although it was not released: its way was given up, and update
	 * failed. */
	void (*lost)(void *data, const struct gp__kfd_queue_info *queue);
	void *data;
};

/* @events may be NULL. 0 or -errno. */
int gp__kfd_owner_create(gp__kfd_ioctl_fn next, enum gp__kfd_way way,
			 const struct gp__kfd_owner_events *events, struct gp__kfd_owner **owner);
/*
 * @fn gives the logical priority, for a GPU, of queues that the program creates without one, as
 * CREATE_QUEUE has it; 0: none. Called before the first call of the program.
 */
void gp__kfd_owner_prioritize(struct gp__kfd_owner *owner,
			      uint32_t (*fn)(void *data, uint32_t gpu_id), void *data);
/* Releases all queues. No call may be under way. */
void gp__kfd_owner_destroy(struct gp__kfd_owner *owner);

/* Whether the owner needs the call; others may go straight to the driver. */
bool gp__kfd_owner_wants(unsigned long request);
/*
 * Carries out a call of the program on /dev/kfd. Returns what ioctl() would, with errno set. A call
 * that it does not know is passed on unchanged.
 */
int gp__kfd_owner_ioctl(struct gp__kfd_owner *owner, int fd, unsigned long request, void *args);
/* The process is a child after fork(): it has no queues. */
void gp__kfd_owner_forget(struct gp__kfd_owner *owner);

/*
 * Holds (SAVE, DRAIN, RESET) or releases queues by id. Returns how many are as asked, or -errno if
 * all failed for the same reason. Each result (0 or -errno, -ENOENT: no such queue) is set in any
 * case. Allocates nothing.
 */
int gp__kfd_owner_set(struct gp__kfd_owner *owner, enum gp__kfd_verb verb, const uint32_t *ids,
		      int *results, size_t n);

/* Call after the first hold, and not while somebody waits: from now on a reset is noticed. By one
 * thread at a time, like the next one. */
void gp__kfd_owner_expect_reset(struct gp__kfd_owner *owner);
/* Makes the results of releases -EACCES for queues of a GPU that was reset since: the driver
 * releases them, and never runs them again. */
void gp__kfd_owner_note_reset(struct gp__kfd_owner *owner, const uint32_t *ids, int *results,
			      size_t n);

struct gp__kfd_owned {
	struct gp__kfd_queue_info queue;
	bool held; /* by us */
	int error; /* of the latest failed hold or release; 0: none failed */
};

/* Finds the queue with this write index; false: there is none. */
bool gp__kfd_owner_find(struct gp__kfd_owner *owner, const void *write_index,
			struct gp__kfd_queue_info *queue);
/* The same by its id. */
bool gp__kfd_owner_get(struct gp__kfd_owner *owner, uint32_t id, struct gp__kfd_queue_info *queue);
/* Copies up to @max queues in the order of their ids. Returns how many there are. */
size_t gp__kfd_owner_list(struct gp__kfd_owner *owner, struct gp__kfd_owned *list, size_t max);

/* The way in use; *@error, if not NULL: why it is not the requested one (-errno), or 0. */
enum gp__kfd_way gp__kfd_owner_way(struct gp__kfd_owner *owner, int *error);
/* The same as a sentence; "": the requested way is in use. */
void gp__kfd_owner_explain_way(struct gp__kfd_owner *owner, char *text, size_t size);

#endif
