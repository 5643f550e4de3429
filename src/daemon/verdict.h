/* SPDX-License-Identifier: MIT */
/*
 * Verdicts: the changes that an operator has made to a program by `gpreempt suspend`, `resume` or
 * `set`.
 *
 * A verdict belongs to a process and to the processes that it starts, however often they connect.
 * It applies to the program's present groups and to those that it makes later. A change of all
 * groups of a program applies to the program, another one to the tag of the group.
 *
 * A program that joins has the verdict of its process, or else of its nearest ancestor. A process
 * whose parent has ended is adopted by init, which hides its ancestors; if it began after the
 * process of a verdict, has the same user and is in the same control group (version 2) or one
 * below, it counts as a descendant. A user cannot leave a control group, unless one above it is
 * delegated to the user. A process that a service outside the tree starts (cron, a service manager,
 * ssh) is another program.
 *
 * Ancestors are found by another thread (lineage.h). Until they are known, a program of a user with
 * a suspended program is suspended as well.
 *
 * A verdict is kept when its program leaves, until an operator takes it back. At most
 * GP__VERDICTS_PER_USER of a user are kept: the oldest go first, and the user's own before those of
 * administrators. When memory runs out, a verdict applies to present groups only.
 */
#ifndef GP__DAEMON_VERDICT_H
#define GP__DAEMON_VERDICT_H

#include "daemon/registry.h"

#define GP__VERDICTS_PER_USER 64 /* of programs that have left */
#define GP__MARKS_MAX 17

/* The hints that an operator can set. */
enum gp__hint_field {
	GP__HINT_PRIO = 1 << 0,
	GP__HINT_WEIGHT = 1 << 1,
	GP__HINT_SHARE = 1 << 2,
	GP__HINT_MIN_SHARE = 1 << 3,
	GP__HINT_DEADLINE = 1 << 4,
	GP__HINT_MAX_HOLD = 1 << 5,
};

enum gp__said { GP__SAID_NOTHING, GP__SAID_SUSPEND, GP__SAID_RESUME };

/* A verdict on a program, or on its groups with a tag. */
struct gp__mark {
	char tag[GP__TAG_MAX];
	enum gp__said said;
	bool by_admin; /* an administrator said it */
	u32 set, set_by_admin; /* bits of enum gp__hint_field */
	struct gp__hints hints;
};

struct gp__verdict {
	struct gp__link link; /* in registry->verdicts, the latest last */
	struct gp__process_id process;
	uid_t owner;
	char cgroup[GP__CGROUP_MAX];
	u32 nr_programs; /* that are joined and have it */
	bool replaces; /* an ancestor's, which is not to apply again */
	u32 nr_marks;
	struct gp__mark mark[GP__MARKS_MAX]; /* the first is about the program */
};

/* Suspends or resumes a group, and says so about its program. */
void gp__verdict_suspend(struct gp__registry *r, struct gp__group *g, bool suspend, bool by_admin,
			 u64 now);
/* Sets hints of a group; @fields are the ones that were given. */
void gp__verdict_set(struct gp__registry *r, struct gp__group *g, u32 fields,
		     const struct gp__hints *hints, bool by_admin, u64 now);
/* Whether an administrator has suspended the group, or set one of these hints. */
bool gp__verdict_is_admins(const struct gp__group *g, bool suspended, u32 fields);

/* Sets the highest priority of the program's groups, unless it is not @limited. What the program or
 * its user ask for beyond it counts when the limit is higher again. */
void gp__verdict_limit(struct gp__registry *r, struct gp__program *p, bool limited,
		       s32 max_priority, u64 now);
/* Lowers hints that a program asks for to its limit, or replaces them by those that an operator has
 * set. */
void gp__verdict_override(const struct gp__program *p, const char *tag, struct gp__hints *hints);
/* Applies the verdict to a new group. */
void gp__verdict_apply(struct gp__registry *r, struct gp__group *g, u64 now);
/* The ancestors of a program are known. */
void gp__verdict_judge(struct gp__registry *r, struct gp__program *p, const struct gp__lineage *l,
		       u64 now);
void gp__verdict_leave(struct gp__registry *r, struct gp__program *p);

/* The verdict on a program that has left. NULL: there is none. */
struct gp__verdict *gp__verdict_find_left(struct gp__registry *r, pid_t pid);
/* Whether an administrator has said any of it. */
bool gp__verdict_is_by_admin(const struct gp__verdict *v);
/* Forgets the verdict on a program that has left. */
void gp__verdict_forget(struct gp__verdict *v);
void gp__verdict_free_all(struct gp__registry *r);

#endif
