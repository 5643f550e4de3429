/* SPDX-License-Identifier: MIT */
/*
 * One owner of the state of this process' channel groups on NVIDIA GPUs.
 *
 * The program's calls to the RM come in through gp__nvrm_owner_ioctl(): clients, GPUs, channel
 * groups and channels are followed from being made to being freed, by themselves or with what they
 * belong to. A group that computes is what is held and weighed, all of its channels at once; those
 * of copy engines are left alone unless it is asked for, and so is all that is not understood.
 *
 * The program's wishes and ours are combined: a channel that the program has disabled itself stays
 * so when we let its group go, one that it enables stays held while we hold it, one that it makes
 * is held with its group, and the time slice it asks for is kept for when ours ends. A group that
 * goes is let go first.
 *
 * What the RM is asked goes out through the function given at the start, with the program's own
 * handles and a duplicate of its descriptor.
 */
#ifndef GP__DEVICE_NVRM_OWNER_H
#define GP__DEVICE_NVRM_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp__nvrm_owner;

/* As ioctl(): a result, or -1 with errno. */
typedef int (*gp__nvrm_ioctl_fn)(int fd, unsigned long request, void *args);

#define GP__NVRM_UUID_MAX 64

/* A group that computes and has a channel. */
struct gp__nvrm_group_info {
	uint32_t id; /* given here, never twice */
	uint32_t nr_channels;
	char uuid[GP__NVRM_UUID_MAX]; /* of its GPU, "GPU-..." */
};

struct gp__nvrm_owner_events {
	/*
	 * A group has its first channel, or is about to go (before the RM is asked; where that then
	 * fails it is added again). No lock is held. Any of them may be NULL.
	 */
	void (*added)(void *data, const struct gp__nvrm_group_info *group);
	void (*removed)(void *data, const struct gp__nvrm_group_info *group);
	/* A sentence for people: why this program's groups cannot be held. At most once. */
	void (*cannot)(void *data, const char *why);
	void *data;
};

/* @events may be NULL. 0 or -errno. */
int gp__nvrm_owner_create(gp__nvrm_ioctl_fn next, const struct gp__nvrm_owner_events *events,
			  struct gp__nvrm_owner **owner);
/* Who holds a group holds what its program copies on that GPU, too. Before the first call. */
void gp__nvrm_owner_take_copies(struct gp__nvrm_owner *owner);
/* Lets all go. No call may be under way. */
void gp__nvrm_owner_destroy(struct gp__nvrm_owner *owner);

/* Whether a call matters here; the others may go straight to the driver. */
bool gp__nvrm_owner_wants(unsigned long request);
/*
 * A call of the program on a device of the RM, carried out. Returns what ioctl() would, with errno
 * set. What is not understood is passed on untouched.
 */
int gp__nvrm_owner_ioctl(struct gp__nvrm_owner *owner, int fd, unsigned long request, void *args);
/* In a child after fork(): it has no groups. */
void gp__nvrm_owner_forget(struct gp__nvrm_owner *owner);

enum gp__nvrm_verb {
	GP__NVRM_HOLD, /* what runs is taken off the GPU and goes on later: level 3 */
	GP__NVRM_DRAIN, /* what runs, finishes; nothing new starts: level 2 */
	GP__NVRM_START,
};

/*
 * Holds or starts groups by id, in one call of the RM for all of a GPU where they fit in it. Each
 * result is 0 or -errno; -ENOENT: it has gone. A group whose hold failed runs.
 */
void gp__nvrm_owner_set(struct gp__nvrm_owner *owner, enum gp__nvrm_verb verb, const uint32_t *ids,
			int *results, size_t n);
/* The group's time slice in microseconds; 0: what the program wants. 0 or -errno. */
int gp__nvrm_owner_slice(struct gp__nvrm_owner *owner, uint32_t id, uint64_t us);
/* As the RM has it now. */
int gp__nvrm_owner_get_slice(struct gp__nvrm_owner *owner, uint32_t id, uint64_t *us);

struct gp__nvrm_owned {
	struct gp__nvrm_group_info group;
	bool held;
	uint64_t slice_us; /* ours; 0: the program's */
	uint32_t status; /* what the RM said to the latest call of ours that failed; 0: none did */
};

/* Copies up to @max of them; how many there are. */
size_t gp__nvrm_owner_list(struct gp__nvrm_owner *owner, struct gp__nvrm_owned *list, size_t max);

/* Where a channel has its indices, and its ring in the program's memory. */
struct gp__nvrm_ring {
	const volatile uint32_t *userd;
	uint64_t at;
	uint32_t entries;
};

/*
 * Those of a group: how many there are, at most @max of them in @rings, with indices mapped for
 * reading until the group goes (removed() has returned) or gp__nvrm_owner_unmap(). @node: the GPU's
 * device, /dev/nvidia0. -errno: they cannot be mapped.
 */
int gp__nvrm_owner_map(struct gp__nvrm_owner *owner, uint32_t id, const char *node,
		       struct gp__nvrm_ring *rings, size_t max);
void gp__nvrm_owner_unmap(struct gp__nvrm_owner *owner, uint32_t id);

#endif
