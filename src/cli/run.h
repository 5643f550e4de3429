/* SPDX-License-Identifier: MIT */
/* gpreempt run: shared by run.c, which parses the options, and run_program.c. */
#ifndef GP_CLI_RUN_H
#define GP_CLI_RUN_H

#include "base/env.h"

#include <stdbool.h>

/* Why the program cannot be joined. NULL: it can. */
const char *run_obstacle(const char *command);

/*
 * Starts a daemon for one command and its children, and sets $GPREEMPT_SOCKET. 0, or an exit status
 * after an error message.
 */
int run_local_begin(struct gp__env *env);
void run_local_end(void);

#endif
