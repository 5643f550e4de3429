/* SPDX-License-Identifier: MIT */
/*
 * The history that a decision log tells: for each group its work, its holds and how long it ran.
 *
 * Records come in the order of their times, from a file or straight from a core. A log may continue
 * another one: a group, queue or GPU that it does not introduce is known by its number alone. A log
 * that holds several runs of a daemon is one history; times never go back.
 *
 * GPU time is divided evenly among the groups of a GPU that have work and are not held; groups with
 * the least weight get what the others leave. That is how the daemon counts it as well, except that
 * here the gap between two pieces of work counts for nobody.
 */
#ifndef GP__VIEW_HISTORY_H
#define GP__VIEW_HISTORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/hist.h"
#include "core/log.h"
#include "view/lane.h"

#define GP__HISTORY_NAME_MAX 64

/* Time during which a group had work of which nothing was left at the end. */
struct gp__history_piece {
	u64 from, to;
	u64 held; /* of it, it was held */
	u64 ran; /* GPU time that it got, until its holds took effect, if queues divide it evenly */
};

/* From the order to hold a group until the order to release it. */
struct gp__history_hold {
	u64 from, to; /* to 0: it goes on */
	u64 waited, longest; /* of it, the group had work; and at a time */
	u32 by; /* the id of the group that it is for; 0: none */
	u8 rule;
};

/* The group did the same from @from to @to. Idle times have no span. */
struct gp__history_span {
	u64 from, to;
	u32 hold; /* of a held one, the index of its hold */
	u8 kind; /* enum gp__lane_kind */
};

#define GP__HISTORY_LIST(type) \
	struct {               \
		type *at;      \
		size_t n;      \
	}

struct gp__history_queue {
	u32 id;
	u8 level, level_requested;
	bool ready, held;
	bool stopped; /* its hold has taken effect */
	u8 doing; /* the action without an acknowledgement: enum gp__what; 0: none */
	u32 weight, weight_doing;
	u64 issued_at, idle_since;
};

struct gp__history_group {
	u32 id, gpu, process, user; /* user GP__NOBODY: not known */
	bool known; /* the log introduces it */
	bool left, suspended, in_gang;
	s32 prio;
	struct gp__hints hints;
	char tag[GP__TAG_MAX], name[GP__HISTORY_NAME_MAX]; /* name "": not known */
	u64 joined_at, left_at;
	GP__HISTORY_LIST(struct gp__history_queue) queues;
	GP__HISTORY_LIST(struct gp__history_piece) pieces;
	GP__HISTORY_LIST(struct gp__history_hold) holds;
	GP__HISTORY_LIST(struct gp__history_span) spans;
	u64 used, waited, longest_wait, wasted;
	u64 executed, queue_time; /* some queue had work on the GPU; the sum over queues */
	u64 nr_announced, lead_sum; /* work that it announced, and how far ahead */
	/* Now: */
	u8 kind; /* enum gp__lane_kind */
	bool has_work, held, yields;
	u32 executing; /* queues with work that no hold keeps off the GPU */
	bool piece_is_whole; /* its beginning was seen */
	struct gp__history_piece piece;
	u64 since, work_ended; /* of the kind */
};

/* How long an order took that was given at that time. */
struct gp__history_order {
	u64 at, took;
};

struct gp__history_gpu {
	u32 id;
	u64 memory;
	u8 can_weigh;
	bool off;
	u64 busy; /* some group had work and was not held */
	u64 wasted; /* nothing ran although a group with work was held, other than by an operator */
	u64 at; /* accounts are complete until then */
	struct gp__hist stop, start; /* from an order until it took effect, ns */
	GP__HISTORY_LIST(struct gp__history_order) stops, starts; /* the same, each */
	struct gp__hist settles; /* from the end of work until the daemon saw it, ns */
	struct gp__hist sees; /* within what time it says that it sees work, ns */
};

struct gp__history {
	u64 begin, end; /* what is counted */
	u64 lines, missing; /* records; lines that the log says are missing */
	bool torn; /* the last line of the file is incomplete and was left out */
	bool begun; /* @begin was reached */
	u32 runs; /* of the daemon */
	u32 policies; /* times that one was set */
	const struct gp__policy *policy; /* the last one; NULL: not known */
	u64 params[GP__POLICY_PARAMS_MAX];
	u64 cfg[GP__CFG_COUNT];
	bool has_cfg[GP__CFG_COUNT];
	struct gp__history_group **group; /* in the order of joining, ended ones as well */
	size_t nr_groups;
	GP__HISTORY_LIST(struct gp__history_group *) live; /* those that have not ended */
	GP__HISTORY_LIST(struct gp__history_gpu *) gpus;
	u64 base, last; /* added to the times of this run; the latest time */
	bool no_memory;
	/* The latest group of each id, open addressing by id. */
	struct gp__history_group **by_id;
	size_t nr_by_id, by_id_size;
};

struct gp__history_error {
	u64 line;
	char text[256];
};

/* Counts from @begin on; 0: from the first record. */
void gp__history_init(struct gp__history *h, u64 begin);
void gp__history_free(struct gp__history *h);
void gp__history_add(struct gp__history *h, const struct gp__record *r);
/* Brings all accounts to @now, which is not later than the next record. */
void gp__history_advance(struct gp__history *h, u64 now);
/* Ends the history at @end, or at its last record if that is later. */
void gp__history_finish(struct gp__history *h, u64 end);

/*
 * Takes a line without its newline. 0, also for a comment; -EINVAL with @expected. The names of
 * programs are in comments. @policies ends with NULL.
 */
int gp__history_line(struct gp__history *h, const char *line, size_t len,
		     const struct gp__policy *const *policies, const char **expected);
/*
 * Reads a file to its end, without gp__history_finish(). 0; -EINVAL with @err for what is no log;
 * -ENOMEM; -EIO with errno. A last line without its newline that cannot be understood is left out.
 */
int gp__history_read(struct gp__history *h, FILE *in, const struct gp__policy *const *policies,
		     struct gp__history_error *err);

/* The latest group of that id; NULL: there is none. */
struct gp__history_group *gp__history_find(const struct gp__history *h, u32 id);
struct gp__history_gpu *gp__history_gpu(const struct gp__history *h, u32 id);

/*
 * What the daemon would have answered at @now, up to which accounts are complete, to "list", and to
 * "why" for one group. Fields that the log does not have are missing.
 */
json_t *gp__history_list(const struct gp__history *h, u64 now);
json_t *gp__history_why(const struct gp__history *h, const struct gp__history_group *g, u64 now);

#endif
