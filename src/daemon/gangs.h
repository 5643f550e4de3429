/* SPDX-License-Identifier: MIT */
/*
 * Gangs of programs, by name. A gang is of one user: the programs of others never join it, whatever
 * they call theirs.
 *
 * A gang with a number of members waits until that many programs have joined, and its members are
 * held meanwhile. After GP__GANG_WAIT_NS it gives up: its members run ungrouped, and so do those
 * that join later. It has a record here while it has a program.
 *
 * Each group of a member is in the core's gang, but only one on each GPU. Groups for which that has
 * no room are scheduled by themselves.
 *
 * The ranks of a collective are a gang of another kind: it never waits. Once all ranks are there,
 * on GPUs of their own, they are tied, and none is held for longer than registry->rank_hold. While
 * one is missing, such as on another host, or there is no room for a group, no member is held,
 * because the others would wait for it in a loop. gp__gangs_tie() ties and unties at the end of an
 * event.
 *
 * A gang holds nobody but its members. Its cost for events of others is bounded by
 * GP__USER_GANGED_MAX.
 */
#ifndef GP__DAEMON_GANGS_H
#define GP__DAEMON_GANGS_H

#include "daemon/registry.h"

#define GP__GANG_WAIT_NS (30 * GP__S)

struct gp__named_gang {
	struct gp__link link, waiting; /* in registry->gangs, registry->waiting_gangs */
	struct gp__link stale; /* in registry->stale_gangs */
	struct gp__link programs;
	struct gp__gang core; /* unless it gave up, or its ranks are not tied */
	struct gp__user *user;
	char name[GP__WIRE_TAG_MAX];
	u32 size; /* 0: no number of members was given */
	bool of_ranks;
	bool fits; /* scratch */
	u32 nr_programs;
	u64 wait_until;
	enum gp__wire_gang_state state; /* WAITS, TOGETHER, GAVE_UP or FREE */
	bool said; /* the daemon's log has that it gave up */
};

/*
 * Makes the program a member. @m is a well-formed message; its values are checked here. Returns 0,
 * or -errno with a sentence in @why. @bounded: the user's limit on gangs applies.
 */
int gp__program_join_gang(struct gp__registry *r, struct gp__program *p,
			  const struct gp__wire_gang *m, bool bounded, u64 now, const char **why);
/* Its groups must be gone. It may be in none. */
void gp__program_leave_gang(struct gp__registry *r, struct gp__program *p, u64 now);
/* It is in a gang that has neither given up nor consists of ranks that are not tied. */
bool gp__program_is_ganged(const struct gp__program *p);
enum gp__wire_gang_state gp__program_gang_state(const struct gp__program *p);

/* A group of the program is new, or on another GPU. */

void gp__group_join_gang(struct gp__registry *r, struct gp__group *g, u64 now);
/* Its program is observed or free, or is not any more. */
void gp__group_exempt(struct gp__group *g, u64 now);
/* Its entity is about to be removed, or its gang. */
void gp__group_leave_gang(struct gp__registry *r, struct gp__group *g);

/* Ties the ranks of collectives, or unties them. */
void gp__gangs_tie(struct gp__registry *r, u64 now);
/* Sets the longest hold of ranks that are tied. */
void gp__gangs_limit(struct gp__registry *r, u64 rank_hold, u64 now);

/* Gives up gangs that have waited for too long. */
void gp__gangs_expire(struct gp__registry *r, u64 now);
/* When to call it; GP__NEVER: no need to. */
u64 gp__gangs_wake(const struct gp__registry *r);

#endif
