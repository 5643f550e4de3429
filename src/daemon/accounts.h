/* SPDX-License-Identifier: MIT */
/*
 * Sums up the times, holds and releases of groups for the metrics.
 *
 * A *class* has the sums of all groups of a user with one class of priority on one GPU, also of
 * those that have ended. An *account* has those of the groups in it that share the names of program
 * and tag, and the container, pod and job; it ends with its last group. So both only grow while
 * they exist, as counters of metrics must: a group that ends leaves its sums to its account, and to
 * its class.
 *
 * The number of names is bounded, because each is a time series: a user has at most
 * GP__NAMES_MAX names of programs, as many of tags, and GP__ACCOUNTS_PER_USER accounts; groups
 * beyond that count as "other". Classes without groups are forgotten when there are too many of
 * them, the ones that have been without for longest first.
 *
 * A group counts its holds where they happen, in plain integers; the sums are made when they are
 * asked for. When memory runs out, a group has no account.
 */
#ifndef GP__DAEMON_ACCOUNTS_H
#define GP__DAEMON_ACCOUNTS_H

#include "daemon/registry.h"
#include "daemon/workload.h"

#define GP__ACCOUNTS_PER_USER 128
#define GP__CLASSES_PER_USER 64 /* without groups */
#define GP__CLASSES_MAX 1024 /* without groups */
#define GP__ACCOUNT_OTHER "other"

struct gp__class_account {
	struct gp__link link; /* in registry->classes, those without groups in the order in which
				 they lost them */
	struct gp__link accounts;
	u32 id;
	uid_t uid, owner;
	enum gp__class class;
	u32 gpu; /* its number; another GPU may get it later */
	char key[GP__WIRE_DEVICE_MAX];
	u32 nr_groups;
	u64 nr_joined; /* groups, since it exists */
	struct gp__totals ended;
};

struct gp__account {
	struct gp__link link; /* in registry->accounts */
	struct gp__link of_class;
	struct gp__link groups;
	u32 id;
	struct gp__class_account *class;
	struct gp__user *user;
	char program[GP__WIRE_NAME_MAX], tag[GP__TAG_MAX];
	struct gp__workload workload;
	int program_name, tag_name; /* places in the user's tables of names; -1: none */
	u32 nr_groups;
	struct gp__totals ended;
};

/* The group has its GPU, program, tag and priority. */
void gp__account_enter(struct gp__registry *r, struct gp__group *g);
/* The group ends, or its GPU changes; its entity is still there. */
void gp__account_leave(struct gp__registry *r, struct gp__group *g, u64 now);
/* It has left, and has another entity now, which has had nothing yet. */
void gp__account_move(struct gp__registry *r, struct gp__group *g);
/* Its priority may have changed, or the control group of its program has become known. */
void gp__account_follow(struct gp__registry *r, struct gp__group *g, u64 now);
/* The same for all groups of the program. */
void gp__account_follow_program(struct gp__registry *r, const struct gp__program *p, u64 now);

struct gp__account *gp__account_find(struct gp__registry *r, u32 id);
struct gp__class_account *gp__class_account_find(struct gp__registry *r, u32 id);
/* With the groups that are there. */
struct gp__totals gp__account_totals(const struct gp__account *a, u64 now);
struct gp__totals gp__class_account_totals(const struct gp__class_account *c, u64 now);

void gp__accounts_free(struct gp__registry *r);

#endif
