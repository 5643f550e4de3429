/* SPDX-License-Identifier: MIT */
/*
 * The state of an owner, for its two halves: owner.c holds and releases, owner_ioctl.c carries out
 * the program's calls.
 *
 * Locks: those of queues in the order of ids, then the control's. Calls of the program that may
 * wait for others (the end of a queue or of the runtime) are made without any.
 */
#ifndef GP__DEVICE_KFD_OWNED_H
#define GP__DEVICE_KFD_OWNED_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/kfd/owner.h"

#define GP__KFD_NO_EVENT UINT32_MAX /* it could not be made */

struct gp__kfd_entry {
	pthread_mutex_t lock;
	bool exists;
	bool going; /* the driver is being asked to destroy it */
	bool stuck; /* not held, but a failed hold could not be undone */
	int error;
	uint32_t serial; /* counts the queues that had this id */
	/*
	 * The generation that holds it, 0: none. Changed with both locks; a thread that has the
	 * control's for writing may read it without the other.
	 */
	uint32_t hold;
	struct gp__kfd_queue_info info;
	/* The one in `info`, also of a queue that is gone. Read without the lock, which is held
	 * while a queue drains. */
	_Atomic uint64_t write_index;
};

struct gp__kfd_owner {
	gp__kfd_ioctl_fn next;
	struct gp__kfd_owner_events events;
	uint32_t (*priority)(void *data, uint32_t gpu_id); /* NULL: queues get none */
	void *priority_data;
	/* For reading: a hold or release is under way. For writing: the control changes. */
	pthread_rwlock_t control_lock;
	struct gp__kfd_control control;
	enum gp__kfd_way asked;
	_Atomic int way;
	_Atomic int way_error;
	/* Holds of older generations have ended. */
	_Atomic uint32_t generation;
	bool is_open; /* the control is */
	int runtime_calls; /* under way: no debugger may attach now */
	int kfd; /* -1: there was no queue yet */
	bool kfd_is_ours; /* a duplicate, and not the program's own */
	uint32_t reset_event; /* of the agent's thread; reset.c; 0: none was made yet */
	_Atomic uint32_t end; /* above all ids so far */
	struct gp__kfd_entry entry[GP__KFD_QUEUES_MAX];
};

/* Whether we hold it. With its lock. */
static inline bool gp__kfd_entry_held(const struct gp__kfd_owner *o, const struct gp__kfd_entry *e)
{
	return e->hold && e->hold == atomic_load(&o->generation);
}

/* Falls back to update, also for what is held; @error says why. Without locks. */
void gp__kfd_owner_give_up(struct gp__kfd_owner *o, enum gp__kfd_way way, int error);
/* The runtime begins or ends a call for which none of our debuggers may be attached. Without
 * locks. */
void gp__kfd_owner_runtime_call(struct gp__kfd_owner *o, bool begins);
/* Releases a queue that is about to be destroyed: 0 or -errno. With its lock. */
int gp__kfd_owner_release(struct gp__kfd_owner *o, struct gp__kfd_entry *e);
/* Forgets the queue that has this id. With its lock. */
void gp__kfd_owner_clear(struct gp__kfd_owner *o, struct gp__kfd_entry *e);

#endif
