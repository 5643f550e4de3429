/* SPDX-License-Identifier: MIT */
/*
 * The groups that a request names: by pid, group, queue or tag.
 *
 * A request may name many, and a user may have many groups: names are sorted, so that a group costs
 * a few comparisons, however many names there are.
 */
#ifndef GP__DAEMON_TARGET_H
#define GP__DAEMON_TARGET_H

#include <jansson.h>

#include "daemon/ended.h"
#include "daemon/registry.h"

#define GP__TARGETS_MAX 256

enum gp__target_kind {
	GP__TARGET_NONE, /* malformed: it names nothing */
	GP__TARGET_PID,
	GP__TARGET_GROUP,
	GP__TARGET_QUEUE,
	GP__TARGET_TAG,
};

struct gp__target {
	enum gp__target_kind kind;
	u64 id;
	char tag[GP__TAG_MAX];
	u32 place; /* in the request */
	bool found; /* a living group has this name */
	bool found_ended;
};

struct gp__targets {
	struct gp__target target[GP__TARGETS_MAX];
	u32 nr;
	bool several; /* the request has a list */
	bool has_queues;
};

/* Reads a member that is a whole number from 0 to @most. False: it is missing, or something else.
 */
bool gp__request_number(const json_t *o, const char *key, u64 most, u64 *value);
/* False: there are none, or too many; @nr says how many. */
bool gp__targets_read(struct gp__targets *t, const json_t *request);
/*
 * Whether a name of the group is among the targets, which are marked as found. @place: of the first
 * of them in the request.
 */
bool gp__targets_match(struct gp__targets *t, const struct gp__group *g, u32 *place);
/* The same for a group that has ended, but only by names that no living group has. */
bool gp__targets_match_ended(struct gp__targets *t, const struct gp__ended *e);
/* The first target in the request that nothing was found for. NULL: there is none. */
const struct gp__target *gp__targets_missing(const struct gp__targets *t);

#endif
