/* SPDX-License-Identifier: MIT */
/* gpreempt run: shared by run.c, which parses the options, and the other files of the command. */
#ifndef GP_CLI_RUN_H
#define GP_CLI_RUN_H

#include "base/env.h"

#include <stdbool.h>
#include <sys/types.h>

/* Why a program cannot be joined: "train WHY; REMEDY". */
struct run_obstacle {
	const char *why, *remedy;
};

/* False: the command can be joined, as far as its file and its arguments show. */
bool run_find_obstacle(char *const *command, struct run_obstacle *o);
/* The same for an open executable file. */
bool run_file_obstacle(int fd, struct run_obstacle *o);

/*
 * run_watch.c: a process beside the command that finds its descendants with a GPU open that have
 * not joined. It says so once for each, and again when the command has ended.
 */

struct run_watch_options {
	const char *devices; /* glob patterns of device files */
	bool quiet; /* only when the command has ended: the user knows already */
	bool require; /* it also ends the command: SIGTERM, then SIGKILL */
};

/*
 * Watches the descendants of this process and, unless there is to be run_watch_end(), the program
 * that this process will execute. 0 or -errno: it runs unwatched.
 */
int run_watch_begin(struct gp__env *env, const struct run_watch_options *o, bool ends);
/* True: all programs that used a GPU have joined. */
bool run_watch_end(void);

/*
 * Starts a daemon for one command and its children, and sets $GPREEMPT_SOCKET. 0, or an exit status
 * after an error message.
 */
int run_local_begin(struct gp__env *env);
void run_local_end(void);

#endif
