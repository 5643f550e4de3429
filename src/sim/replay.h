/* SPDX-License-Identifier: MIT */
/*
 * Replays a decision log: feeds its events to a fresh core and compares the core's lines with those
 * of the log. The log is not trusted; a line that no core can have written is an error with its
 * number.
 */
#ifndef GP__SIM_REPLAY_H
#define GP__SIM_REPLAY_H

#include "core/log.h"

#include <stdio.h>

struct gp__replay_result {
	u64 lines, events, actions, reports;
	/* The first line at which they differ; 0: none. A line that one side lacks is empty. */
	u64 differs_at;
	char logged[GP__LOG_LINE_MAX], replayed[GP__LOG_LINE_MAX];
};

struct gp__replay_error {
	u64 line;
	char text[256]; /* the problem, and the expectation */
};

/*
 * Returns 0 also if they differ; -EINVAL with @err filled for a malformed line; -ENOMEM; -EIO. The
 * lines of the core go to @copy unless that is NULL.
 */
int gp__replay(FILE *in, FILE *copy, struct gp__replay_result *r, struct gp__replay_error *err);

#endif
