/* SPDX-License-Identifier: MIT */
/*
 * Summaries of groups that have ended, for `gpreempt why`.
 *
 * At most GP__ENDED_PER_USER groups of a user are kept, and GP__ENDED_MAX in all, which is less
 * than 2 MiB. The oldest of the user go first, and where there is no room in all, the oldest of the
 * user that has the most. So one user who starts many programs does not push out the summaries of
 * others, and many users together leave each its part. A group that ends several times in the life
 * of its program, as its queues come and go, has one summary. When memory runs out, a group is
 * forgotten.
 */
#ifndef GP__DAEMON_ENDED_H
#define GP__DAEMON_ENDED_H

#include "daemon/registry.h"

#define GP__ENDED_PER_USER 64
#define GP__ENDED_MAX 1024

/* A user that has summaries. */
struct gp__ended_user {
	struct gp__link link; /* in registry->ended_users */
	uid_t uid;
	u32 nr;
	struct gp__link ended; /* the latest last */
};

struct gp__ended {
	struct gp__link link; /* in registry->ended, the latest last */
	struct gp__link of_user; /* in user->ended */
	struct gp__ended_user *user;
	u32 group, gpu;
	pid_t pid;
	uid_t uid;
	char name[GP__WIRE_NAME_MAX], tag[GP__TAG_MAX];
	s32 prio;
	u64 since, ended_at;
	u64 used, held_total, longest_hold, wasted;
	u64 nr_holds;
	u32 nr_kept;
	struct gp__hold hold[GP__HOLDS_KEPT]; /* the latest is the first */
};

/* Call while the group still has its last queue. */
void gp__ended_keep(struct gp__registry *r, const struct gp__group *g, u64 now);
void gp__ended_free_all(struct gp__registry *r);

_Static_assert(GP__ENDED_MAX * sizeof(struct gp__ended) < 2u << 20, "what the head says");

#endif
