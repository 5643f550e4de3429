/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The decision log has one line for each event (<), action (>) and report (!). Simulator, daemon
 * and kernel write the same format.
 *
 *	TIME_NS SIGN DEVICE ENTITY WHAT KEY=VALUE...
 *	1500000 < gpu0 e3 ready q=7 pending=4
 *	1500000 > gpu0 e2 exclude q=5 level=3 why=priority by=e3
 *
 * Feeding the events of a log to a fresh core gives the same actions, byte for byte. "exclude" and
 * "admit" are words of this file format; everywhere else they are called hold and release. The
 * parser accepts untrusted lines: it never reads past @len, and accepts only what the formatter
 * writes.
 */
#ifndef GP__CORE_LOG_H
#define GP__CORE_LOG_H

#include "core/core.h"

enum gp__what {
	/* events */
	GP__WHAT_CONFIG,
	GP__WHAT_POLICY,
	GP__WHAT_DEVICE_ADD,
	GP__WHAT_DEVICE_REMOVE,
	GP__WHAT_DEVICE_OFF,
	GP__WHAT_DEVICE_ON,
	GP__WHAT_ENTITY_ADD,
	GP__WHAT_ENTITY_REMOVE,
	GP__WHAT_HINT,
	GP__WHAT_DEADLINE,
	GP__WHAT_ARRIVING,
	GP__WHAT_SUSPEND,
	GP__WHAT_RESUME,
	GP__WHAT_EXEMPT,
	GP__WHAT_QUEUE_ADD,
	GP__WHAT_QUEUE_REMOVE,
	GP__WHAT_READY,
	GP__WHAT_IDLE,
	GP__WHAT_LEVEL,
	GP__WHAT_ACK,
	GP__WHAT_GANG_ADD,
	GP__WHAT_GANG_REMOVE,
	GP__WHAT_GANG_JOIN,
	GP__WHAT_GANG_WAIT,
	GP__WHAT_GANG_GO,
	GP__WHAT_GANG_BOUND,
	GP__WHAT_TICK,
	/* actions */
	GP__WHAT_HOLD,
	GP__WHAT_RELEASE,
	GP__WHAT_WEIGH,
	/* reports */
	GP__WHAT_UNRESPONSIVE,
	GP__WHAT_RECOVERED,
	GP__WHAT_FAILED,
	GP__WHAT_INVERSION,
	GP__WHAT_LINGERED,
	GP__WHAT_COUNT,
};

enum gp__field {
	GP__F_QUEUE,
	GP__F_PROCESS,
	GP__F_CLASS,
	GP__F_PRIO,
	GP__F_WEIGHT,
	GP__F_SHARE,
	GP__F_MIN_SHARE,
	GP__F_DEADLINE,
	GP__F_MAX_HOLD,
	GP__F_MEMORY,
	GP__F_CAN_WEIGH,
	GP__F_REQUESTED,
	GP__F_LEVEL,
	GP__F_PENDING,
	GP__F_RESULT,
	GP__F_AT,
	GP__F_SINCE,
	GP__F_SEES,
	GP__F_NS,
	GP__F_GANG,
	GP__F_FROM,
	GP__F_WHY,
	GP__F_BY,
	GP__F_USER, /* optional; GP__NOBODY: none */
	GP__F_COUNT,
};

/*
 * A line of the log. config and policy carry parameters instead of fields: config has one
 * (params[0] = values[0]), policy has all of the policy named @text.
 */
struct gp__record {
	u64 time;
	u8 what;
	u32 dev, entity; /* GP__NOBODY: none */
	s64 f[GP__F_COUNT];
	const char *text; /* entity-add: the tag; policy: its name */
	const struct gp__param *params;
	const u64 *values;
	u32 nr_params;
};

#define GP__LOG_LINE_MAX 512
#define GP__LOG_HEADER "# gpreempt decision log 2\n"

char gp__what_sign(enum gp__what what);

/* Writes one line with its newline and a NUL into GP__LOG_LINE_MAX bytes; returns its length
 * without the NUL. */
size_t gp__record_format(const struct gp__record *r, char *line);

/*
 * The last lines of a log, in memory that the owner provides. The oldest lines are dropped when the
 * room is used up; only a log that still has its first line can be replayed.
 */
struct gp__log_keep {
	char *text; /* whole lines; NULL: nothing is kept */
	size_t room, size; /* bytes; a line at least */
	u64 nr_dropped; /* lines */
};

/* For gp__core_log(): @keep is a struct gp__log_keep. */
void gp__log_keep_add(void *keep, const struct gp__record *r);
void gp__log_keep_clear(struct gp__log_keep *keep);

/* Memory that a parsed record points to. */
struct gp__record_room {
	char text[GP__TAG_MAX];
	u64 values[GP__POLICY_PARAMS_MAX];
};

/*
 * Parses one line, without its newline. 0, -ENODATA for an empty line or a comment, or -EINVAL with
 * what was expected in @expected. @policies ends with NULL.
 */
int gp__record_parse(const char *line, size_t len, const struct gp__policy *const *policies,
		     struct gp__record *r, struct gp__record_room *room, const char **expected);

#endif
