/* SPDX-License-Identifier: MIT */
/*
 * Follows gpreemptd for a stream of changes: asks again when a line of the decision log says that
 * something has happened, so that nothing is asked while nothing happens. Users who may not have
 * these lines, and what no line tells, are served by asking at intervals. If the daemon ends, it
 * waits for the next one.
 *
 * A reader that closes its end of the pipe ends the stream at once.
 */
#ifndef GP_CLI_CHANGES_H
#define GP_CLI_CHANGES_H

#include <stdint.h>

#include "base/env.h"
#include "cli/daemon.h"

struct changes {
	struct gp__env *env;
	uint64_t period_ns; /* between two looks without a line */
	bool always; /* every period also if lines arrive */
	/* The answer to look at. NULL: the reason is in *@why; -ECONNRESET and -EPIPE: the daemon
	 * has ended. */
	json_t *(*ask)(void *data, int fd, struct daemon_problem *why);
	/* Whether a line of the decision log can make a difference. NULL: each does. */
	bool (*concerns)(const char *line);
	/* Prints what has changed. -ENOMEM or 0. */
	int (*show)(void *data, const json_t *answer);
	/* The daemon has ended, or another one has begun: nothing is known any more. */
	int (*lose)(void *data, bool connected);
	void *data;
};

/* Takes @fd, of daemon_connect(), and closes it. Returns the exit status, after the output has
 * failed or a request was refused. */
int changes_follow(struct changes *c, int fd);

/* Prints an object on one line, with "schema" and "time_s", and releases it. 0 or -ENOMEM; errors
 * of the output are found by changes_follow(). */
int changes_print(struct gp__env *env, json_t *object);

/*
 * Prints how the elements of an array differ from what it was: @kind names them in the output, and
 * @key tells them apart; one without the key is left out. Times, counts and latencies that always
 * change are not compared.
 */
int changes_compare(struct gp__env *env, const char *kind, const char *key, const json_t *before,
		    const json_t *after);

#endif
