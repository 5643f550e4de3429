/* SPDX-License-Identifier: MIT */
/*
 * Summaries of groups that have ended, for `gpreempt why`.
 *
 * At most GP__ENDED_PER_USER groups of a user are kept, and GP__ENDED_MAX in all; the oldest go
 * first. So one user who starts many programs does not push out the summaries of others. A group
 * that ends several times in the life of its program, as its queues come and go, has one summary.
 * When memory runs out, a group is forgotten.
 */
#ifndef GP__DAEMON_ENDED_H
#define GP__DAEMON_ENDED_H

#include "daemon/registry.h"

#define GP__ENDED_PER_USER 16
#define GP__ENDED_MAX 64

struct gp__ended {
	struct gp__link link; /* in registry->ended, the latest last */
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

#endif
