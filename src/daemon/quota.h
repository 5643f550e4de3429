/* SPDX-License-Identifier: MIT */
/*
 * GPU time that a user may use: `gpu_time = 30min/1h` in gpreemptd.conf(5).
 *
 * A user has a token bucket of that much GPU time, on all GPUs together, which fills up within the
 * period. While it is empty, the user's groups are held, whatever others do; when a tenth of it is
 * there again, they go on. A short period makes it an upper limit of the share.
 */
#ifndef GP__DAEMON_QUOTA_H
#define GP__DAEMON_QUOTA_H

#include "core/types.h"

struct gp__group;
struct gp__registry;
struct gp__user;

struct gp__quota {
	u64 ns, period; /* ns 0: no limit */
};

/* The account of a user, kept as the time at which the bucket is full. */
struct gp__gpu_account {
	struct gp__quota quota;
	u64 full_at;
	u64 check_at; /* when it may be empty at the earliest; 0: no program has work */
	bool over;
};

/* The user's programs are noted, as others now want to know of their work, or no longer. */
void gp__quota_set(struct gp__registry *r, struct gp__user *u, struct gp__quota quota, u64 now);
/* The GPU time that is gone from the bucket. */
u64 gp__quota_spent(const struct gp__user *u, u64 now);
/* Charges what the group has used since it was last charged. */
void gp__quota_charge(struct gp__group *g, u64 now);
/* The user has a group on a GPU, perhaps its first one there: the bucket may be empty earlier. */
void gp__quota_check(struct gp__user *u, u64 now);
/* Holds and releases groups. Returns when to call it next; it is called in each turn. */
u64 gp__quotas_wake(struct gp__registry *r, u64 now);

#endif
