/* SPDX-License-Identifier: MIT */
/*
 * The users of the daemon, and their budgets.
 *
 * Everything that a user can make the daemon do or keep is counted here, over all processes of the
 * user: connections, programs, queues, groups, GPUs, gangs, unsent answers, lines in the decision
 * log, and the time that the daemon's main thread spends on the user. A user that has used up a
 * count is refused with a sentence; one that has used up a rate is served later. Other users do not
 * notice.
 *
 * A user is known while it has a connection, and afterwards until its rates have recovered, so that
 * connecting again does not renew a budget. Only the main thread calls these functions.
 */
#ifndef GP__DAEMON_USER_H
#define GP__DAEMON_USER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/list.h"
#include "core/types.h"
#include "daemon/quota.h"

enum gp__budget {
	GP__BUDGET_CONNECTIONS,
	GP__BUDGET_PROGRAMS,
	GP__BUDGET_QUEUES,
	GP__BUDGET_GROUPS,
	GP__BUDGET_GPUS,
	GP__BUDGET_GANGS,
	GP__BUDGET_HINTS, /* values above the user's limits */
	GP__BUDGET_UNSENT, /* bytes of answers that the user does not read */
	GP__BUDGET_MESSAGES,
	GP__BUDGET_TIME, /* of the daemon's main thread */
	GP__BUDGET_LOG, /* lines of the decision log */
	GP__BUDGET_COUNT,
};

/* A token bucket, kept as one time. */
struct gp__allowance {
	u64 empty_until; /* the bucket is empty up to this time, and fills from there */
};

/* A token bucket: @per_s tokens a second, at most @burst of them. False: it is empty. */
bool gp__allowance_take(struct gp__allowance *a, u64 per_s, u64 burst, u64 now);

/* Reasons for which connections wait (serve.c). */
enum gp__lane_kind {
	GP__LANE_REPORTS, /* their status page is to be read */
	GP__LANE_MESSAGES, /* messages are to be read, or an answer sent */
	GP__LANES,
};

struct gp__lane {
	struct gp__link link; /* among the users that have waiting connections */
	struct gp__link peers; /* the user's connections that wait */
};

/* Names that metrics have as labels (accounts.h), each with the number of accounts that have it. */
#define GP__NAMES_MAX 32

struct gp__names {
	u32 count[GP__NAMES_MAX]; /* 0: no name is there */
	char name[GP__NAMES_MAX][64];
};

#define GP__USER_UNSENT_MAX (4u << 20)
#define GP__USER_QUEUES_MAX 8192
#define GP__USER_GROUPS_MAX 1024
#define GP__USER_GPUS_MAX 64
#define GP__USER_GANGS_MAX 16
#define GP__USER_GANGED_MAX 128

struct gp__user {
	struct gp__link link; /* in the list of users */
	uid_t uid;
	u32 nr_peers, nr_programs, nr_queues, nr_groups, nr_gpus;
	u32 nr_gangs, nr_ganged; /* ganged: groups */
	u32 nr_accounts; /* accounts.h */
	struct gp__names programs, tags; /* of them */
	_Atomic u32 nr_closing; /* descriptors that a closer has not closed yet (closer.h) */
	u64 unsent; /* bytes */
	struct gp__allowance time, lines;
	u64 used_ns; /* of the main thread's time */
	u64 nr_lines; /* in the decision log */
	struct gp__gpu_account gpu;
	struct gp__link tag_accounts; /* quota.h */
	u64 refused[GP__BUDGET_COUNT]; /* how often, of a rate: how often it was served later */
	bool slowed; /* by a rate, when it was last looked at */
	struct gp__lane lane[GP__LANES];
};

/* NULL: out of memory. */
struct gp__user *gp__user_get(struct gp__link *users, uid_t uid);
/* Forgets the users that have no connection and whose rates have recovered. */
void gp__users_sweep(struct gp__link *users, u64 now);
void gp__users_free(struct gp__link *users);

/* Charges @ns of the main thread's time, of which the user may use @pct of a hundred. */
void gp__user_charge(struct gp__user *u, u64 ns, u32 pct, u64 now);
/* Charges a line of the decision log. */
void gp__user_charge_line(struct gp__user *u, u32 per_s, u64 now);
/* When the user may be served again; a time that has passed: it may. */
u64 gp__user_ready_at(const struct gp__user *u);
/* The same, and counts each time the user has become slowed. */
bool gp__user_may_work(struct gp__user *u, u64 now);

const char *gp__budget_name(enum gp__budget b);

#endif
