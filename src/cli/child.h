/* SPDX-License-Identifier: MIT */
/* Starts programs for the user: finds files of gpreempt, preloads libraries, passes on the status.
 */
#ifndef GP_CLI_CHILD_H
#define GP_CLI_CHILD_H

#include "base/env.h"
#include "device/report.h"

#include <limits.h>
#include <stdbool.h>

/* The exit statuses of env, nice and timeout. */
#define CHILD_OWN_FAILURE 125
#define CHILD_CANNOT_RUN 126
#define CHILD_NOT_FOUND 127

/*
 * Finds a file of gpreempt: @built, relative to the folder of this program, in a build folder, else
 * where it was installed.
 */
bool child_has_file(const char *built, const char *installed, char path[PATH_MAX]);
/* The same. 0, or an exit status after an error message. */
int child_find_file(struct gp__env *env, const char *built, const char *installed,
		    char path[PATH_MAX]);

/* The same for backends: installed files are in gpreempt's folder of libraries. */
extern const struct gp__files child_files;

/* Adds a library to $LD_PRELOAD, before all others or after them. 0 or an exit status. */
int child_preload(struct gp__env *env, const char *path, bool first);

/*
 * Before children are started whose statuses are needed: the kernel keeps no statuses while SIGCHLD
 * is ignored, as this process may have inherited. child_exec() undoes it.
 */
void child_keep_statuses(void);
/* Executes the command; returns an exit status only on failure. */
int child_exec(struct gp__env *env, char **argv);
/* Runs the command as a child, forwards signals to it and waits. Returns the exit status. */
int child_run(struct gp__env *env, char **argv);

#endif
