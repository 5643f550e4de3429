/* SPDX-License-Identifier: MIT */
/* Programs that are started for the user: with what is preloaded into them, and what they end with.
 */
#ifndef GP_CLI_CHILD_H
#define GP_CLI_CHILD_H

#include "base/env.h"

#include <limits.h>
#include <stdbool.h>

/* As env, nice and timeout have them. */
#define CHILD_OWN_FAILURE 125
#define CHILD_CANNOT_RUN 126
#define CHILD_NOT_FOUND 127

/*
 * A file that belongs to gpreempt: beside this program in the folder that it was built in (@built,
 * from the folder of this program), or where it was installed.
 */
bool child_has_file(const char *built, const char *installed, char path[PATH_MAX]);
/* The same: 0, or an exit status after telling that it is not there. */
int child_find_file(struct gp__env *env, const char *built, const char *installed,
		    char path[PATH_MAX]);

/* Adds a library to $LD_PRELOAD, before all others or after them. 0 or an exit status. */
int child_preload(struct gp__env *env, const char *path, bool first);

/* Becomes the command; returns an exit status where that cannot be. */
int child_exec(struct gp__env *env, char **argv);
/* Runs it beside us and waits for it: the status to end with. Signals that would end us go to it.
 */
int child_run(struct gp__env *env, char **argv);

#endif
