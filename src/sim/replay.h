/* SPDX-License-Identifier: MIT */
/*
 * Replays a decision log: feeds its events to a fresh core and compares, line by line, what the
 * core says with what the log says. Logs may come from anybody; a line that cannot have been
 * written by a core is an error that names it.
 */
#ifndef GP__SIM_REPLAY_H
#define GP__SIM_REPLAY_H

#include "core/log.h"

#include <stdio.h>

struct gp__replay_result {
	u64 lines, events, actions, reports;
	/* Where the two first differ; 0: nowhere. A line that one side lacks is empty. */
	u64 differs_at;
	char logged[GP__LOG_LINE_MAX], replayed[GP__LOG_LINE_MAX];
};

struct gp__replay_error {
	u64 line;
	char text[256]; /* what is wrong, what was expected */
};

/*
 * 0 also where the two differ; -EINVAL with @err filled for a line that is no line of a log;
 * -ENOMEM; -EIO. What the core says goes to @copy unless that is NULL.
 */
int gp__replay(FILE *in, FILE *copy, struct gp__replay_result *r, struct gp__replay_error *err);

#endif
