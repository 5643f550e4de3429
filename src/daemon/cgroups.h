/* SPDX-License-Identifier: MIT */
/*
 * Rules about control groups: the class, the highest priority, the share and the weight of the
 * programs in a control group and in those below it. The configuration has rules ([slice NAME]),
 * and root registers others (`gpreempt cgroup`), such as that of a job or a container.
 *
 * A program is in a control group if the kernel says so in any hierarchy of version 1 or 2. It can
 * make groups below its own, which the rule covers, and it cannot leave its own, unless one above
 * it is delegated to its user. All rules whose group contains the program apply: of the highest
 * priorities, shares and weights the lowest, and of the classes that of the nearest group, as far
 * as the highest priority allows. A rule about the highest priority replaces the limit of the user.
 *
 * While the control groups of a program are not known, it gets what all rules allow.
 */
#ifndef GP__DAEMON_CGROUPS_H
#define GP__DAEMON_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/core.h"
#include "daemon/lineage.h"

#define GP__CGROUP_RULES_MAX 64 /* in the configuration */
#define GP__CGROUPS_REGISTERED_MAX 4096

enum gp__cgroup_key {
	GP__CGROUP_CLASS = 1 << 0,
	GP__CGROUP_MAX_PRIORITY = 1 << 1,
	GP__CGROUP_WEIGHT = 1 << 2,
	GP__CGROUP_SHARE = 1 << 3,
	GP__CGROUP_TAG = 1 << 4,
};

struct gp__cgroup_rule {
	char path[GP__CGROUP_MAX]; /* as in /proc/PID/cgroup */
	u32 set; /* bits of enum gp__cgroup_key */
	s32 prio, max_priority;
	u32 weight, share_pct;
	char tag[GP__TAG_MAX];
};

/* A rule that root has registered. It is forgotten when its control group is gone. */
struct gp__cgroup_entry {
	struct gp__link link; /* in registry->registered */
	struct gp__cgroup_rule rule;
	u64 ticket; /* of questions about it */
	u64 since, checked_at;
	bool seen; /* the control group has existed */
	bool asked; /* whether it exists is being found out */
};

/* The rules for one program together. */
struct gp__terms {
	u32 set; /* bits of enum gp__cgroup_key */
	s32 prio, max_priority;
	u32 weight, share_pct;
	char tag[GP__TAG_MAX];
	char path[GP__CGROUP_MAX]; /* whose rule sets max_priority; "": the program's is not known
				    */
};

struct gp__registry;
struct gp__program;

/*
 * The path of the control group that a name means: itself if it is a path, or that of a slice of
 * systemd. False: it is neither, or too long.
 */
bool gp__cgroup_path(char path[GP__CGROUP_MAX], const char *name);
/* Whether the second control group is the first one or below it. */
bool gp__cgroup_contains(const char *path, const char *other);

/* Whether the program is in the control group, or in one below it. */
bool gp__program_is_inside(const struct gp__program *p, const char *path);
/* Whether there is any rule. */
bool gp__cgroups_rule(const struct gp__registry *r);
/* The rules that apply to a program. */
struct gp__terms gp__cgroups_terms(const struct gp__registry *r, const struct gp__program *p);
/*
 * Sets what the rules say in hints that the program asks for. @by_default: it has asked for no
 * priority.
 */
void gp__terms_apply(const struct gp__terms *t, bool by_default, struct gp__hints *h);
/* The highest priority that it may ask for: of the rules, or of its user. */
s32 gp__program_max_priority(const struct gp__program *p);
/* Says in @text that a priority is above it, @then what happens (may be ""), and what helps. */
void gp__program_explain_priority(const struct gp__program *p, s32 prio, const char *then,
				  char *text, size_t size);
/* The rules have changed, or the program's control groups have become known. */
void gp__cgroups_follow(struct gp__registry *r, struct gp__program *p, u64 now);
void gp__cgroups_follow_all(struct gp__registry *r, u64 now);

/*
 * Registers a rule, or replaces the one with the same path. 0, -ENOMEM, or -ENOSPC if there are too
 * many.
 */
int gp__cgroups_add(struct gp__registry *r, const struct gp__cgroup_rule *rule, u64 now);
/* -ENOENT: there is none. */
int gp__cgroups_remove(struct gp__registry *r, const char *path, u64 now);
void gp__cgroups_free(struct gp__registry *r);

#endif
