/* SPDX-License-Identifier: MIT */
/*
 * GPU time that a user may use: `gpu_time = 30min/1h` in gpreemptd.conf(5), for all its programs or
 * for those with a tag.
 *
 * An account is a token bucket of that much GPU time, on all GPUs together, which fills up within
 * the period. While it is empty, its groups are held, whatever others do; when a tenth of it is
 * there again, they go on. A short period makes it an upper limit of the share.
 *
 * Each user has an account, and one for each tag that has a limit: what a user does under a tag
 * costs no other user that has the same tag. A group is held while one of its accounts is empty.
 */
#ifndef GP__DAEMON_QUOTA_H
#define GP__DAEMON_QUOTA_H

#include <stdbool.h>

#include "core/list.h"
#include "core/types.h"

struct gp__group;
struct gp__registry;
struct gp__user;

struct gp__quota {
	u64 ns, period; /* ns 0: no limit */
};

/* An account, kept as the time at which the bucket is full. */
struct gp__gpu_account {
	struct gp__quota quota;
	u64 full_at;
	u64 check_at; /* when it may be empty at the earliest; 0: no program has work */
	bool over;
};

#define GP__QUOTA_TAG_MAX 32

/* The account of a tag. It stays with its user until it is full and has no group. */
struct gp__tag_account {
	struct gp__link link; /* in user->tag_accounts */
	struct gp__link groups;
	char tag[GP__QUOTA_TAG_MAX];
	struct gp__gpu_account gpu;
};

/* The user's programs are noted, as others now want to know of their work, or no longer. */
void gp__quota_set(struct gp__registry *r, struct gp__user *u, struct gp__quota quota, u64 now);
/* The limits of tags have changed. */
void gp__quota_set_tags(struct gp__registry *r, u64 now);
/* The GPU time that is gone from the bucket. */
u64 gp__quota_spent(const struct gp__gpu_account *a, u64 now);
/* Whether somebody wants to know of the work of the user's programs. */
bool gp__quota_any(const struct gp__user *u);
/* The user has a new group. */
void gp__quota_enter(struct gp__registry *r, struct gp__group *g, u64 now);
/* The group has moved to a GPU, perhaps its user's first one there: the bucket may be empty
 * earlier. */
void gp__quota_check(struct gp__group *g, u64 now);
/* Charges what the group has used since it was last charged. */
void gp__quota_charge(struct gp__group *g, u64 now);
void gp__quota_leave(struct gp__group *g, u64 now);
/* Holds and releases groups. Returns when to call it next; it is called in each turn. */
u64 gp__quotas_wake(struct gp__registry *r, u64 now);

/* What is spent of an account, on the way to and from a file (spent.h). @full_in: the time until
 * the bucket is full. */
struct gp__quota_state {
	struct gp__quota quota;
	u64 full_in;
	bool over;
};

/* Whether a group has work that is charged. */
bool gp__quotas_work(const struct gp__registry *r);
/* Charges all groups. */
void gp__quotas_charge(struct gp__registry *r, u64 now);
struct gp__quota_state gp__quota_state(const struct gp__gpu_account *a, u64 now);
/* @tag "": the account of the user itself. -ENOMEM. */
int gp__quota_restore(struct gp__user *u, const char *tag, const struct gp__quota_state *state,
		      u64 now);
/* Whether the user's accounts are as good as new. Forgets accounts of tags that are. */
bool gp__quota_forget(struct gp__user *u, u64 now);
void gp__quota_free(struct gp__user *u);

#endif
