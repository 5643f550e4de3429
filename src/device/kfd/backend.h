/* SPDX-License-Identifier: MIT */
/*
 * AMD GPUs through amdkfd, as a backend: the queues that a program creates on /dev/kfd are reported
 * to the agent, and its orders go to their owner.
 *
 * Work is found by polling (monitor.h), or seen exactly where a library in the program sees its
 * launches (struct gp__kfd_launches): the HSA tools library does (join/hsa).
 */
#ifndef GP__DEVICE_KFD_BACKEND_H
#define GP__DEVICE_KFD_BACKEND_H

#include "device/backend.h"
#include "device/kfd/owner.h"

extern const struct gp__backend gp__backend_amd;

/* The backend's state in a program. */
struct gp__kfd_join;

/*
 * A library that sees the program's launches and can withhold them. Queues are known by the ids of
 * the driver; an unknown one is no error.
 */
struct gp__kfd_launches {
	bool (*is_loaded)(void);
	/* The driver destroyed the queue. */
	void (*removed)(uint32_t id);
	/* The process is a new child after fork(). */
	void (*forget)(void);
	/* The queue was seen to have no work: the next launch has to be reported. A launch that
	 * came while the queue was looked at may be missed, so the caller looks once more. */
	void (*rest)(uint32_t id);
	/* Whether a launch waits in the window, or was not seen to end. */
	bool (*waits)(uint32_t id);
	/* Withholds the launches of a queue, or passes them on. -ENOENT: it has no window. */
	int (*hold)(uint32_t id, bool held);
	/* The same, for a queue whose packets are kept. True: what is on its way can be dropped and
	 * handed over again. dropped(): it was, and nothing of the queue runs. */
	bool (*hold_to_drop)(uint32_t id);
	void (*dropped)(uint32_t id);
	/* The latest order was to hold queues of the program, or to release them. */
	void (*set_held)(bool held);
	/* Whether windows are narrow, as another program may want the GPU; at first they are not.
	 */
	void (*narrow)(bool narrow);
	/* Passes on what fits into the windows by now. True: more waits for room. */
	bool (*advance)(uint64_t now);
};

/* How such a library should treat queues, as the program's request demands. */
struct gp__kfd_launch_options {
	bool windows; /* every queue gets one, */
	uint32_t width; /* of so many packets, */
	uint64_t budget_ns; /* or, where width is 0, of what takes so long */
	bool keeps; /* packets are kept, so that they can be dropped */
};

/* NULL: the program is not joined. */
struct gp__port *gp__kfd_join_port(struct gp__kfd_join *j);
struct gp__kfd_launch_options gp__kfd_join_launch_options(const struct gp__kfd_join *j);
/* From now on @launches is used. It stays for good. */
void gp__kfd_join_launches(struct gp__kfd_join *j, const struct gp__kfd_launches *launches);

/* Events of that library. */
bool gp__kfd_join_find(struct gp__kfd_join *j, const void *write_index, uint32_t *id);
/* Launches into the queue are reported from now on. */
void gp__kfd_join_sees(struct gp__kfd_join *j, uint32_t id, const void *write_index);
/* Work came into a queue that rested; called by the thread that launches it. */
void gp__kfd_join_launched(struct gp__kfd_join *j, uint32_t id);
/* Something else puts work into the queue, which a window does not hold. */
void gp__kfd_join_foreign(struct gp__kfd_join *j, uint32_t id);

/* The owner of the program's queues. */
struct gp__kfd_owner *gp__kfd_join_owner(struct gp__kfd_join *j);
/* Reports the owner's events to @observer from now on; queues that exist already can be listed.
 * NULL: ends that, and no call is under way when it returns. 0, or -EBUSY: there is an observer.
 * The observer must not call it. */
int gp__kfd_join_watch(struct gp__kfd_join *j, const struct gp__kfd_owner_events *observer);

#endif
