/* SPDX-License-Identifier: MIT */
/*
 * The environment of a command: where results and messages go, in which form, and how it reports a
 * failure. A command gets one and keeps no globals.
 *
 * With --json standard output holds exactly one JSON document, an error's too; the sentence for
 * people is on standard error in either form.
 */
#ifndef GP_BASE_ENV_H
#define GP_BASE_ENV_H

#include "base/compiler.h"
#include "base/log.h"

#include <stdbool.h>
#include <stdio.h>

enum gp__exit {
	GP__EXIT_OK = 0,
	GP__EXIT_FAILURE = 1,
	GP__EXIT_USAGE = 2,
	GP__EXIT_NO_DAEMON = 3,
	GP__EXIT_NO_PERMISSION = 4,
};

struct gp__cmd;

struct gp__env {
	const char *program;
	const char *version;
	const struct gp__cmd *commands;
	FILE *out;
	FILE *err;
	struct gp__log log;
	bool json;
	bool headers;
	bool color; /* out is a terminal, and neither $NO_COLOR nor a dumb one */
};

void gp__env_init(struct gp__env *env, const char *program, const char *version);

/*
 * Tells the failure in the chosen form and returns status, so that a command can
 * end with it. message: what went wrong; remedy: what to do about it, or NULL.
 */
GP__PRINTF(4, 5)
int gp__env_fail(struct gp__env *env, int status, const char *remedy, const char *fmt, ...);

/*
 * To be called last: whatever was printed must have reached its reader. Returns
 * status, or GP__EXIT_FAILURE after telling why the output could not be written.
 */
int gp__env_finish(struct gp__env *env, int status);

#endif
