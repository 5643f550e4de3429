/* SPDX-License-Identifier: MIT */
/* gpreempt run: between its options and what is done for the program. */
#ifndef GP_CLI_RUN_H
#define GP_CLI_RUN_H

#include "base/env.h"

#include <stdbool.h>

/* Why the program will not be joined though it is started so; NULL: nothing is in the way. */
const char *run_obstacle(const char *command);

/*
 * A daemon for one command and its children: its socket is $GPREEMPT_SOCKET from then on. 0, or an
 * exit status after telling why not.
 */
int run_local_begin(struct gp__env *env);
void run_local_end(void);

#endif
