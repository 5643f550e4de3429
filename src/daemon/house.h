/* SPDX-License-Identifier: MIT */
/*
 * Who is there: GPUs, programs and their queues, around the core that decides.
 *
 * The house knows nothing of sockets. Programs come, add queues and report about them; what the
 * core decides is handed to deliver(), one order at a time. Every call is of one thread and at one
 * time, `now`; gp__house_settle() ends an event.
 *
 * Queues of one program on one GPU with the same priority and tag are a group, which is stopped and
 * started as one: the core's entity.
 */
#ifndef GP__DAEMON_HOUSE_H
#define GP__DAEMON_HOUSE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/hist.h"
#include "core/core.h"
#include "core/log.h"
#include "wire/wire.h"

struct gp__house;

struct gp__program {
	struct gp__link link; /* in house->programs */
	pid_t pid;
	uid_t uid;
	char name[GP__WIRE_NAME_MAX];
	u64 since;
	u32 nr_queues;
	void *peer; /* who speaks for it */
};

struct gp__gpu {
	struct gp__link link;
	struct gp__dev dev;
	char key[GP__WIRE_DEVICE_MAX], name[GP__WIRE_NAME_MAX];
	uid_t named_by; /* the user whose program was the first to have a queue there */
	u32 nr_groups;
	struct gp__hist stop_ns, start_ns; /* as the devices took */
	struct gp__hist order_ns; /* from an order to its acknowledgement */
};

/* A time for which a group was held; `why` reads these. */
struct gp__hold {
	u64 from, to; /* to 0: still is */
	u8 rule;
	u32 by; /* entity, 0: nobody in particular */
	pid_t by_pid;
	uid_t by_uid;
	s32 by_prio;
	char by_name[GP__WIRE_NAME_MAX];
};

#define GP__HOLDS_KEPT 16

struct gp__group {
	struct gp__link link; /* in house->groups */
	struct gp__entity entity;
	struct gp__program *program;
	struct gp__gpu *gpu;
	u32 nr_queues;
	s32 asked_prio; /* by its program; the entity's may have been set by an operator */
	struct gp__hold hold[GP__HOLDS_KEPT]; /* the latest is at (nr_holds - 1) % KEPT */
	u64 nr_holds;
};

struct gp__lodger { /* a queue */
	struct gp__queue queue;
	struct gp__group *group;
	u32 slot; /* at its program's agent */
	u32 number; /* of the latest order */
	u8 verb; /* of it: enum gp__wire_verb */
	bool waits; /* for its acknowledgement */
	u64 issued_at;
	u64 work, arriving; /* as last read from its slot */
};

struct gp__house {
	struct gp__core core;
	struct gp__link gpus, programs, groups;
	struct gp__link ended; /* summaries of groups that are gone (ended.h) */
	u32 nr_ended;
	u32 last_id; /* of entities and queues */
	u32 nr_stopped; /* lodgers whose order is to stop */
	u64 nr_orders, nr_late;
	struct gp__group *found; /* the latest that was looked for: it is often the next, too */
	bool crowd_changed; /* groups came or went: somebody may be alone now, or no longer */
	void (*deliver)(void *data, struct gp__lodger *l, const struct gp__action *a);
	void *data;
};

void gp__house_init(struct gp__house *h, const struct gp__policy *policy,
		    void (*deliver)(void *data, struct gp__lodger *l, const struct gp__action *a),
		    void *data);

/*
 * Frees the summaries of ended groups; all other groups must be gone. It may be all zero, too.
 */
void gp__house_close(struct gp__house *h);

void gp__program_enter(struct gp__house *h, struct gp__program *p, u64 now);
/* Its lodgers must be gone. */
void gp__program_leave(struct gp__program *p);

/*
 * A queue of a program. @add was checked as a message; what it asks for is checked here. 0 or
 * -errno with a sentence in @why.
 */
int gp__lodger_add(struct gp__house *h, struct gp__program *p, const struct gp__wire_queue_add *add,
		   struct gp__lodger **lodger, u64 now, const char **why);
void gp__lodger_remove(struct gp__house *h, struct gp__lodger *l, u64 now);
/* Another priority makes it a member of another group. */
int gp__lodger_hints(struct gp__house *h, struct gp__lodger *l, const struct gp__wire_hints *hints,
		     u64 now, const char **why);
/* The order @number was carried out, with @result. What is not waited for is ignored. */
void gp__lodger_done(struct gp__house *h, struct gp__lodger *l, u32 number, int result, u64 took_ns,
		     u64 now);

/* Carries out what the core has decided since, and ends the event. */
void gp__house_settle(struct gp__house *h, u64 now);
/* When to call gp__core_tick() at the latest; GP__NEVER: no need to. */
u64 gp__house_wake(const struct gp__house *h);

struct gp__group *gp__house_find_group(struct gp__house *h, u32 entity_id);
struct gp__lodger *gp__house_find_queue(struct gp__house *h, u32 queue_id);
bool gp__house_knows_gpu(struct gp__house *h, const struct gp__wire_queue_add *add);
/* How many GPUs are there because a program of this user has named them. */
u32 gp__house_gpus_of(struct gp__house *h, uid_t uid);
u32 gp__house_groups_of(struct gp__house *h, uid_t uid);
/* Whether @p is alone on all its GPUs. */
bool gp__program_is_alone(struct gp__house *h, const struct gp__program *p);

#endif
