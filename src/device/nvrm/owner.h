/* SPDX-License-Identifier: MIT */
/*
 * Owns the state of this process's channel groups on NVIDIA GPUs.
 *
 * The program's calls to the RM come in through gp__nvrm_owner_ioctl(), which follows clients,
 * GPUs, channel groups and channels from their creation until they are freed, alone or with their
 * parent. Groups that compute are held and weighed, with all of their channels at once; groups of
 * copy engines only on request. Calls that the owner does not know are left alone.
 *
 * The owner combines the program's wishes and ours: a channel that the program has disabled stays
 * so when its group is released, a channel that it enables stays held while the group is held, a
 * new channel is held with its group, and the program's time slice applies again when ours ends. A
 * group is released before it is freed.
 *
 * Calls to the RM go out through the function given at creation, with the program's own handles and
 * a duplicate of its descriptor.
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
	uint32_t id; /* never reused */
	uint32_t nr_channels;
	char uuid[GP__NVRM_UUID_MAX]; /* of its GPU, "GPU-..." */
	uint64_t gpu_bytes; /* of memory that the GPU has; 0: not known */
};

struct gp__nvrm_owner_events {
	/*
	 * A group has its first channel, or is about to be freed (before the RM is asked; if that
	 * fails, it is added again). No lock is held. Any of them may be NULL.
	 */
	void (*added)(void *data, const struct gp__nvrm_group_info *group);
	void (*removed)(void *data, const struct gp__nvrm_group_info *group);
	/* The program has allocated or freed memory. */
	void (*memory)(void *data);
	/* A sentence for the user: why this program's groups cannot be held. At most once. */
	void (*cannot)(void *data, const char *why);
	void *data;
};

/* @events may be NULL. 0 or -errno. */
int gp__nvrm_owner_create(gp__nvrm_ioctl_fn next, const struct gp__nvrm_owner_events *events,
			  struct gp__nvrm_owner **owner);
/* Makes holds of a group include the program's copies on that GPU. Called before the first call. */
void gp__nvrm_owner_take_copies(struct gp__nvrm_owner *owner);
/* Follows channels of generations that are not known, too. Called before the first call. */
void gp__nvrm_owner_take_any(struct gp__nvrm_owner *owner);
/* For tests: releases all groups. No call may be in progress. */
void gp__nvrm_owner_destroy(struct gp__nvrm_owner *owner);

/* Whether the owner needs the call; others may go straight to the driver. */
bool gp__nvrm_owner_wants(unsigned long request);
/*
 * Carries out a call of the program on a device of the RM. Returns what ioctl() would, with errno
 * set. A call that it does not know is passed on unchanged.
 */
int gp__nvrm_owner_ioctl(struct gp__nvrm_owner *owner, int fd, unsigned long request, void *args);
/* The process is a child after fork(): it has no groups. */
void gp__nvrm_owner_forget(struct gp__nvrm_owner *owner);

enum gp__nvrm_verb {
	GP__NVRM_HOLD, /* running work is taken off the GPU and continues later: level 3 */
	GP__NVRM_DRAIN, /* kernels finish, no new one starts: level 2 */
	GP__NVRM_RELEASE,
};

/*
 * Holds or releases groups by id, in one call of the RM per GPU if they fit. Each result is 0 or
 * -errno; -ENOENT: the group is gone. A group whose hold failed runs.
 */
void gp__nvrm_owner_set(struct gp__nvrm_owner *owner, enum gp__nvrm_verb verb, const uint32_t *ids,
			int *results, size_t n);
/* Sets the group's time slice in microseconds; 0: the program's. 0 or -errno. */
int gp__nvrm_owner_slice(struct gp__nvrm_owner *owner, uint32_t id, uint64_t us);
/* Reads the time slice that the RM uses now. */
int gp__nvrm_owner_get_slice(struct gp__nvrm_owner *owner, uint32_t id, uint64_t *us);

/* How much memory of a GPU the program uses (memory.h). False: that is not known. */
bool gp__nvrm_owner_memory(struct gp__nvrm_owner *owner, const char *uuid, uint64_t *bytes);

struct gp__nvrm_owned {
	struct gp__nvrm_group_info group;
	bool held;
	uint64_t slice_us; /* ours; 0: the program's */
	uint32_t status; /* of our latest failed call; 0: none failed */
};

/* Copies up to @max groups. Returns how many there are. */
size_t gp__nvrm_owner_list(struct gp__nvrm_owner *owner, struct gp__nvrm_owned *list, size_t max);

/* A channel's indices, and its ring in the program's memory. */
struct gp__nvrm_ring {
	const volatile uint32_t *userd;
	uint64_t at;
	uint32_t entries;
};

/*
 * Maps the rings of a group and returns how many there are, at most @max of them in @rings. The
 * indices can be read until the group is freed (removed() has returned) or gp__nvrm_owner_unmap().
 * @node: the GPU's device, /dev/nvidia0. -errno: they cannot be mapped.
 */
int gp__nvrm_owner_map(struct gp__nvrm_owner *owner, uint32_t id, const char *node,
		       struct gp__nvrm_ring *rings, size_t max);
/* For tests: a program keeps its maps. */
void gp__nvrm_owner_unmap(struct gp__nvrm_owner *owner, uint32_t id);

#endif
