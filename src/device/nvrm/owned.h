/* SPDX-License-Identifier: MIT */
/*
 * The state of an owner, for its parts: owner.c holds and weighs, owner_ioctl.c carries out the
 * program's calls, userd.c maps.
 *
 * One lock protects all of it, except memory, which has its own (memory.h). Our own calls to the RM
 * are made with the lock, so that their objects exist meanwhile: a thread that frees an object
 * marks it as going first, with the lock, and so waits for a call that is under way, about a
 * millisecond. The program's calls are made without the lock, except the few whose arguments are
 * combined with our wishes.
 */
#ifndef GP__DEVICE_NVRM_OWNED_H
#define GP__DEVICE_NVRM_OWNED_H

#include <pthread.h>

#include "device/nvrm/abi.h"
#include "device/nvrm/memory.h"
#include "device/nvrm/owner.h"

enum gp__nvrm_kind {
	GP__NVRM_NO_KIND,
	GP__NVRM_CLIENT,
	GP__NVRM_DEVICE,
	GP__NVRM_SUBDEVICE,
	GP__NVRM_GROUP,
	GP__NVRM_CHANNEL,
	GP__NVRM_MIG,
};

/* A channel's indices, in memory that the program gave it. */
struct gp__nvrm_userd {
	uint32_t memory;
	uint64_t offset;
	void *page; /* NULL: not mapped */
	uint64_t address; /* identifies the mapping to the RM */
	uint64_t ring;
	uint32_t entries;
	int fd;
};

struct gp__nvrm_object {
	struct gp__nvrm_object *next;
	enum gp__nvrm_kind kind;
	uint32_t client, handle, parent;
	uint32_t going; /* number of the call that frees it; 0: none */
	char uuid[GP__NVRM_UUID_MAX]; /* of a group's or device's GPU; "": not known yet */
	int fd; /* a client's: ours, a duplicate of the program's; -1: there is none */

	/* A group's: */
	uint32_t id, engine;
	bool computes;
	bool copies; /* of a copy engine, while copies are held as well */
	bool told; /* it was added */
	enum gp__nvrm_verb verb; /* that is in force */
	bool drained; /* since its last release */
	uint64_t slice_us; /* ours; 0: none */
	uint64_t program_slice_us; /* 0: not known */
	uint32_t status;
	bool asked; /* part of the current call */
	int result;
	uint64_t gpu_bytes; /* of memory that its GPU has; 0: not known */

	/* A channel's: */
	bool program_disabled;
	struct gp__nvrm_userd userd;
};

struct gp__nvrm_owner {
	gp__nvrm_ioctl_fn next;
	struct gp__nvrm_owner_events events;
	pthread_mutex_t lock;
	struct gp__nvrm_object *objects; /* the newest first */
	uint32_t last_id, last_free;
	/* Frees that have reported what they free but have not marked it yet: nothing is added
	 * meanwhile, since it might be the same. */
	uint32_t nr_telling;
	struct gp__nvrm_memory memory;
	bool takes_copies, takes_any;
	bool tested; /* the layouts of controls (layout.h) */
	bool cannot; /* for good; the reason was reported */
};

static inline bool gp__nvrm_is_kind(const struct gp__nvrm_object *x, enum gp__nvrm_kind kind)
{
	return x->kind == kind && !x->going;
}

static inline bool gp__nvrm_is_in(const struct gp__nvrm_object *x,
				  const struct gp__nvrm_object *parent)
{
	return x->client == parent->client && x->parent == parent->handle;
}

static inline bool gp__nvrm_is_same_gpu(const struct gp__nvrm_object *a,
					const struct gp__nvrm_object *b)
{
	return a->client == b->client && a->parent == b->parent;
}

/* All of these with the lock. */
struct gp__nvrm_object *gp__nvrm_find(struct gp__nvrm_owner *o, uint32_t client, uint32_t handle);
struct gp__nvrm_object *gp__nvrm_find_group(struct gp__nvrm_owner *o, uint32_t id);
struct gp__nvrm_group_info gp__nvrm_info(struct gp__nvrm_owner *o,
					 const struct gp__nvrm_object *group);
/* Calls a control of the RM: 0 or -errno, with its status in *@status. */
int gp__nvrm_call(struct gp__nvrm_owner *o, uint32_t client, uint32_t object, uint32_t cmd,
		  void *params, uint32_t size, uint32_t *status);
/* Applies the verb to the groups that are asked; their results are set. */
void gp__nvrm_set_asked(struct gp__nvrm_owner *o, enum gp__nvrm_verb verb);
/* Whether a hold of @group also holds the channels of @other: its own, and those of copies. */
bool gp__nvrm_goes_with(const struct gp__nvrm_object *other, const struct gp__nvrm_object *group);
/* Holds a new channel of a held group, and holds it again after the program enabled it. */
void gp__nvrm_hold_again(struct gp__nvrm_owner *o, const struct gp__nvrm_object *changed);
/* Whether the group can be held: it computes, has a channel, and its GPU can be addressed. */
bool gp__nvrm_is_ready(struct gp__nvrm_owner *o, const struct gp__nvrm_object *group);
/* By which the group's GPU is addressed; NULL: none. */
struct gp__nvrm_object *gp__nvrm_subdevice(struct gp__nvrm_owner *o,
					   const struct gp__nvrm_object *group);
/* Restores the program's time slice if ours is in force. */
void gp__nvrm_restore_slice(struct gp__nvrm_owner *o, struct gp__nvrm_object *group);
/* Finds out which GPU the group is on. */
void gp__nvrm_name_gpu(struct gp__nvrm_owner *o, struct gp__nvrm_object *group);
void gp__nvrm_unmap(struct gp__nvrm_owner *o, struct gp__nvrm_object *channel);
void gp__nvrm_drop(struct gp__nvrm_owner *o, struct gp__nvrm_object *x);

#endif
