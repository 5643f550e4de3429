/* SPDX-License-Identifier: MIT */
/*
 * The daemon's table of GPUs, programs and queues, around the scheduling core.
 *
 * The registry knows nothing of sockets. Programs join, add queues and report about them; the
 * core's decisions are handed to deliver(), one order at a time. All calls are made by one thread,
 * with the time of the event; gp__registry_settle() ends an event.
 *
 * The queues of one program on one GPU with the same priority and tag are a group, which is held
 * and released as one. It is the core's entity.
 */
#ifndef GP__DAEMON_REGISTRY_H
#define GP__DAEMON_REGISTRY_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/hist.h"
#include "core/core.h"
#include "core/log.h"
#include "wire/wire.h"

struct gp__registry;

struct gp__program {
	struct gp__link link; /* in registry->programs */
	pid_t pid;
	uid_t uid;
	char name[GP__WIRE_NAME_MAX];
	u64 since;
	u32 nr_queues;
	void *peer; /* its connection */
};

/* A user with groups on a GPU. */
struct gp__gpu_user {
	struct gp__link link;
	struct gp__owner owner;
};

struct gp__gpu {
	struct gp__link link;
	struct gp__dev dev;
	struct gp__link users; /* struct gp__gpu_user */
	char key[GP__WIRE_DEVICE_MAX], name[GP__WIRE_NAME_MAX];
	uid_t named_by; /* the user of the first program with a queue there */
	u32 nr_groups;
	struct gp__hist hold_ns, release_ns; /* of the device, as agents report */
	struct gp__hist order_ns; /* from an order to its acknowledgement */
};

/* A hold of a group, for `gpreempt why`. */
struct gp__hold {
	u64 from, to; /* to 0: it lasts */
	u8 rule;
	u32 by; /* entity, 0: nobody in particular */
	pid_t by_pid;
	uid_t by_uid;
	s32 by_prio;
	char by_name[GP__WIRE_NAME_MAX];
};

#define GP__HOLDS_KEPT 16

struct gp__group {
	struct gp__link link; /* in registry->groups */
	struct gp__entity entity;
	struct gp__program *program;
	struct gp__gpu *gpu;
	u32 nr_queues;
	s32 asked_prio; /* by the program; an operator may have set another */
	struct gp__hold hold[GP__HOLDS_KEPT]; /* the latest is at (nr_holds - 1) % KEPT */
	u64 nr_holds;
};

/* A queue of a program. */
struct gp__program_queue {
	struct gp__queue core;
	struct gp__group *group;
	u32 slot; /* in its program's pages */
	u32 number; /* of the latest order */
	u8 verb; /* of the latest order: enum gp__wire_verb */
	bool waits; /* for the acknowledgement of the order */
	u64 issued_at;
	u64 work, arriving; /* as last read from its slot */
};

struct gp__registry {
	struct gp__core core;
	struct gp__link gpus, programs, groups;
	struct gp__link ended; /* summaries of groups that are gone (ended.h) */
	u32 nr_ended;
	u32 last_id; /* of entities and queues */
	u32 nr_held; /* queues whose latest order is to hold */
	u64 nr_orders;
	u64 nr_late; /* acknowledgements of orders that are not the latest */
	struct gp__group *found; /* by the latest search, which the next often repeats */
	bool groups_changed; /* a program may be alone now, or no longer */
	void (*deliver)(void *data, struct gp__program_queue *q, const struct gp__action *a);
	void *data;
};

void gp__registry_init(struct gp__registry *r, const struct gp__policy *policy,
		       void (*deliver)(void *data, struct gp__program_queue *q,
				       const struct gp__action *a),
		       void *data);

/*
 * Frees the summaries of ended groups; all other groups must be gone. @r may be all zero.
 */
void gp__registry_close(struct gp__registry *r);

void gp__program_enter(struct gp__registry *r, struct gp__program *p, u64 now);
/* Its queues must be gone. */
void gp__program_leave(struct gp__program *p);

/*
 * Adds a queue of a program. @add is a well-formed message; its values are checked here. Returns 0,
 * or -errno with a sentence in @why.
 */
int gp__program_queue_add(struct gp__registry *r, struct gp__program *p,
			  const struct gp__wire_queue_add *add, struct gp__program_queue **queue,
			  u64 now, const char **why);
void gp__program_queue_remove(struct gp__registry *r, struct gp__program_queue *q, u64 now);
/* A change of priority moves the queue to another group. */
int gp__program_queue_hints(struct gp__registry *r, struct gp__program_queue *q,
			    const struct gp__wire_hints *hints, u64 now, const char **why);
/* Acknowledges the order @number with @result. Acknowledgements of other orders are ignored. */
void gp__program_queue_done(struct gp__registry *r, struct gp__program_queue *q, u32 number,
			    int result, u64 took_ns, u64 now);

/* Delivers the core's decisions and ends the event. */
void gp__registry_settle(struct gp__registry *r, u64 now);
/* When to call gp__core_tick() at the latest; GP__NEVER: no need to. */
u64 gp__registry_wake(const struct gp__registry *r);

struct gp__group *gp__registry_find_group(struct gp__registry *r, u32 entity_id);
bool gp__registry_knows_gpu(struct gp__registry *r, const struct gp__wire_queue_add *add);
/* The number of GPUs that a program of this user was the first to name. */
u32 gp__registry_gpus_of(struct gp__registry *r, uid_t uid);
u32 gp__registry_groups_of(struct gp__registry *r, uid_t uid);
/* Whether @p is alone on all its GPUs. */
bool gp__program_is_alone(struct gp__registry *r, const struct gp__program *p);

#endif
