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
#include "daemon/cgroups.h"
#include "daemon/user.h"
#include "daemon/devices.h"
#include "daemon/lineage.h"
#include "daemon/off.h"
#include "metrics/buckets.h"
#include "wire/wire.h"

struct gp__account;
struct gp__limits;
struct gp__named_gang;
struct gp__registry;
struct gp__verdict;

struct gp__program {
	struct gp__link link; /* in registry->programs */
	struct gp__link groups;
	struct gp__link changed; /* in registry->changed */
	struct gp__link memory_changed; /* in registry->memory_changed */
	struct gp__user *user;
	pid_t pid;
	uid_t uid;
	uid_t owner; /* whose limits apply; another one if uid is subordinate */
	char name[GP__WIRE_NAME_MAX];
	u64 since;
	u32 nr_queues;
	u32 nr_shared; /* of its groups, on GPUs that have others as well */
	u32 nr_there; /* of its groups, on the GPU that is counted at the moment (figures.c) */
	bool stopped; /* its queues count as idle, whatever it has reported */
	struct gp__devices *devices; /* as it was last inspected; NULL: it has none open */
	struct gp__named_gang *gang; /* gangs.h; NULL: it is in none */
	struct gp__link of_gang; /* in gang->programs */
	u32 rank; /* in it, if the gang is one of ranks */
	bool limited; /* its user's limits apply */
	s32 max_priority; /* then: the highest that no administrator has set */
	bool observed; /* it is neither held, nor are others for it */
	const char *free; /* why it is not held: the ranks of its gang cannot be tied; or NULL */
	void *peer; /* its connection */
	bool judged; /* its ancestors are known, and with them its verdict (verdict.h) */
	struct gp__verdict *verdict; /* of an operator on it or on an ancestor; NULL: none */
	struct gp__process_id process;
	char cgroup[GP__CGROUP_MAX];
	char *cgroups; /* as in gp__lineage; NULL: they are not known */
	struct gp__terms terms; /* of the rules about them */
};

/* A user with groups on a GPU. */
struct gp__gpu_user {
	struct gp__link link;
	struct gp__owner owner;
};

/*
 * A GPU of all users, if its programs have the device open, or else of one user: a program that
 * claims work on a GPU that it cannot use costs only the other programs of its user.
 */
struct gp__gpu {
	struct gp__link link;
	struct gp__dev dev;
	struct gp__link users; /* struct gp__gpu_user */
	char key[GP__WIRE_DEVICE_MAX], name[GP__WIRE_NAME_MAX];
	struct gp__user *named_by; /* the user of the first program with a queue there */
	bool is_shared; /* else it is of the user that named it */
	struct gp__link groups;
	u32 nr_groups;
	u32 nr_of_program; /* scratch of memory.c */
	struct gp__link kept; /* queues that are held by an earlier daemon's order */
	struct gp__link decided; /* in registry->decided */
	bool lost; /* it does not answer; its groups run unscheduled */
	u32 epoch; /* counts from 1 how often it was taken back */
	struct gp__hist hold_ns, release_ns; /* of the device, as agents report */
	struct gp__hist order_ns; /* from an order to its acknowledgement */
	struct gp__buckets holds, releases, orders; /* the same, for metrics */
	struct gp__buckets work; /* from the arrival of work to the order to hold others for it */
};

/* A hold of a group, for `gpreempt why`. */
struct gp__hold {
	u64 from, to; /* to 0: it lasts */
	u8 rule;
	u32 by; /* entity, 0: nobody in particular */
	pid_t by_pid;
	uid_t by_uid;
	s32 by_prio;
	bool waits; /* for the other members of its gang to join */
	bool by_quota; /* not by an operator */
	char by_name[GP__WIRE_NAME_MAX];
};

#define GP__HOLDS_KEPT 16

/* Sums of a group (accounts.h): times in nanoseconds, and counts by rule. */
struct gp__totals {
	u64 run, held, waiting, wasted;
	u64 holds[GP__RULE_COUNT], releases[GP__RULE_COUNT];
};

struct gp__group {
	struct gp__link link; /* in registry->groups */
	struct gp__link of_program, of_gpu, by_id; /* in program->groups, gpu->groups, a bucket */
	struct gp__entity entity;
	struct gp__program *program;
	struct gp__gpu *gpu;
	u32 nr_queues;
	bool named; /* in the decision log */
	bool suspended; /* by an operator */
	bool over_quota; /* its user, or that under its tag, has used up its GPU time; held as if it
			    were suspended */
	u64 charged; /* GPU time, to its accounts */
	struct gp__tag_account *tag_account; /* quota.h; NULL: its tag has no limit */
	struct gp__link of_tag_account;
	u32 gone_in; /* the GPU's epoch in which an order failed because the GPU does not answer,
			or has lost the program's queues in a reset; 0: none has */
	s32 asked_prio; /* by the program; an operator or a rule may have set another */
	u32 asked_weight, asked_share; /* likewise */
	bool by_default; /* the program has asked for no priority */
	u64 asked_memory; /* the program's hint; 0: none */
	u64 described; /* the size of the GPU, as the program says; 0: unknown */
	u64 reported; /* memory in use, as in gp__wire_memory(); 0: not measured */
	struct gp__hold hold[GP__HOLDS_KEPT]; /* the latest is at (nr_holds - 1) % KEPT */
	u64 nr_holds;
	struct gp__totals counted; /* holds; the entity has the other times */
	struct gp__totals accounted; /* in earlier accounts, of `counted` and the entity */
	struct gp__account *account; /* NULL: out of memory */
	struct gp__link of_account;
	u64 work_at; /* when work arrived */
	u64 work_event; /* the event in which the daemon learnt of it */
	u64 cause_at; /* when the work arrived for which it is to be held; 0: not known */
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
	u64 work, arriving, memory; /* as last read from its slot */
	struct gp__link kept; /* in gpu->kept, until the first order */
};

#define GP__GROUP_BUCKETS 1024
#define GP__RANK_HOLD_NS (2 * GP__S) /* unless it is configured */

enum gp__gpu_event {
	GP__GPU_LOST, /* it does not answer */
	GP__GPU_RESET, /* it has lost the queues of a group */
	GP__GPU_BACK, /* a program has started on it */
	GP__GPU_LEFT, /* its last program has ended before one has started */
};

struct gp__registry {
	struct gp__core core;
	struct gp__link users; /* user.h */
	struct gp__link gpus, programs, groups;
	struct gp__link by_id[GP__GROUP_BUCKETS]; /* the groups again, by the id of the entity */
	struct gp__link decided; /* GPUs with kept holds where another group is held now */
	struct gp__link ended; /* summaries of groups that are gone (ended.h) */
	struct gp__link ended_users;
	u32 nr_ended;
	struct gp__link verdicts; /* of operators (verdict.h) */
	const struct gp__cgroup_rule *rules; /* of the configuration (cgroups.h) */
	u32 nr_rules;
	struct gp__link registered; /* struct gp__cgroup_entry */
	u32 nr_registered;
	u64 last_cgroup; /* the latest ticket of these */
	struct gp__link gangs; /* gangs.h */
	struct gp__link waiting_gangs; /* those that wait for members, the next deadline first */
	struct gp__link stale_gangs; /* of ranks, which may have to be tied or untied */
	u64 rank_hold; /* the longest hold of a rank */
	struct gp__link accounts, classes; /* accounts.h */
	u32 last_account; /* the latest id of these */
	u32 last_id; /* of entities and queues */
	const struct gp__limits *limits; /* NULL: there are none of tags */
	const struct gp__devices *machine; /* its GPUs have numbers; NULL: none has */
	bool one_user; /* all programs count as one user's: no GPU is shared */
	struct gp__off off; /* the GPUs on which scheduling is off */
	u32 nr_held; /* queues whose latest order is to hold */
	u64 nr_orders;
	u64 nr_late; /* acknowledgements of orders that are not the latest */
	u64 nr_events; /* settled */
	/* Programs that may be alone now, or no longer, or whose gang has another state. */
	struct gp__link changed;
	struct gp__link memory_changed; /* programs; see memory.h */
	void (*deliver)(void *data, struct gp__program_queue *q, const struct gp__action *a);
	/* NULL: nobody is told. */
	void (*tell_gpu)(void *data, const struct gp__gpu *gpu, enum gp__gpu_event event,
			 const struct gp__group *g);
	void *data;
};

void gp__registry_init(struct gp__registry *r, const struct gp__policy *policy,
		       void (*deliver)(void *data, struct gp__program_queue *q,
				       const struct gp__action *a),
		       void *data);

/*
 * Frees the users, verdicts and summaries of ended groups; all other groups must be gone. @r may be
 * all zero.
 */
void gp__registry_close(struct gp__registry *r);

/* @p has its user. */
void gp__program_enter(struct gp__registry *r, struct gp__program *p, u64 now);
/* Its queues must be gone. It may never have entered. */
void gp__program_leave(struct gp__program *p);

/*
 * Adds a queue of a program. @add is a well-formed message; its values are checked here. Returns 0,
 * or -errno with a sentence in @why. @bounded: the user's limits on groups and GPUs apply.
 */
int gp__program_queue_add(struct gp__registry *r, struct gp__program *p,
			  const struct gp__wire_queue_add *add, bool bounded,
			  struct gp__program_queue **queue, u64 now, const char **why);
void gp__program_queue_remove(struct gp__registry *r, struct gp__program_queue *q, u64 now);
/* Moves its groups to the GPUs that they belong to according to p->devices. */
void gp__program_place(struct gp__registry *r, struct gp__program *p, u64 now);
/* While it is stopped, its queues count as idle. What they last reported applies afterwards. */
void gp__program_stop(struct gp__program *p, bool stopped, u64 now);
/* A change of priority moves the queue to another group. @bounded: within the user's groups. */
int gp__program_queue_hints(struct gp__registry *r, struct gp__program_queue *q,
			    const struct gp__wire_hints *hints, bool bounded, u64 now,
			    const char **why);
/* The queue gets work, which arrived at @since. Call before the core is told. */
void gp__program_queue_arrived(struct gp__registry *r, struct gp__program_queue *q, u64 since,
			       u64 now);
/* The agent's report of the memory that the program uses on the queue's GPU, as in
 * gp__wire_memory(). True: it has changed. */
bool gp__program_queue_memory(struct gp__registry *r, struct gp__program_queue *q, u64 memory);
/* Acknowledges the order @number with @result. Acknowledgements of other orders are ignored. */
void gp__program_queue_done(struct gp__registry *r, struct gp__program_queue *q, u32 number,
			    int result, u64 took_ns, u64 now);

/* Delivers the core's decisions and ends the event. */
void gp__registry_settle(struct gp__registry *r, u64 now);
/* When to call gp__core_tick() at the latest; GP__NEVER: no need to. */
u64 gp__registry_wake(const struct gp__registry *r);

/* r->off has changed. */
void gp__registry_switch(struct gp__registry *r, u64 now);

/* An operator suspends or resumes it. */
void gp__group_suspend(struct gp__group *g, bool suspend, u64 now);
/* The GPU time of its user, or of its tag, is used up, or there is some again. */
void gp__group_exceed(struct gp__group *g, bool over, u64 now);

struct gp__group *gp__registry_find_group(struct gp__registry *r, u32 entity_id);
/* Its agent is to be told whether it is alone, and about its gang. */
void gp__program_note(struct gp__registry *r, struct gp__program *p);
/* Whether @p is alone on all its GPUs, in no gang, and its user has no quota: nobody needs to know
 * of its work. */
bool gp__program_is_alone(const struct gp__program *p);

#endif
