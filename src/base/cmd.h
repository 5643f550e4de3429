/* SPDX-License-Identifier: MIT */
/*
 * Subcommands: a plain table, and argp for the options of each.
 *
 * A command parses, calls and prints; it returns the exit status. Every command
 * has --json, --no-headers, -h/--help and --usage without asking. Wrong usage
 * ends with status 2.
 */
#ifndef GP_BASE_CMD_H
#define GP_BASE_CMD_H

#include "base/compiler.h"
#include "base/env.h"

#include <argp.h>
#include <stdbool.h>

struct gp__cmd {
	const char *name;
	/* argv[0] is the command's name. */
	int (*run)(struct gp__env *env, int argc, char **argv);
	const char *summary; /* one line, without a full stop */
};

/*
 * Runs the command argv[1] names out of env->commands (ended by a NULL name), or
 * bare() when there is none, and returns the exit status of the process.
 */
int gp__cmd_main(struct gp__env *env, int argc, char **argv,
		 int (*bare)(struct gp__env *env, int argc, char **argv));

/*
 * Parses the options of a command; input is what argp's parser gets. True: go on.
 * False: help was shown or the usage was wrong, so return *status.
 */
bool gp__cmd_parse(struct gp__env *env, const struct argp *argp, int argc, char **argv, void *input,
		   int *status);

/* The same for a command that runs another one: parsing ends at the first word that is not an
 * option. */
bool gp__cmd_parse_prefix(struct gp__env *env, const struct argp *argp, int argc, char **argv,
			  void *input, int *status);

/* In an argp parser: return gp__cmd_usage(state, "what was wrong and expected"). */
GP__PRINTF(2, 3)
error_t gp__cmd_usage(struct argp_state *state, const char *fmt, ...);

/* "help [COMMAND]" and "version", for the table. */
int gp__cmd_help(struct gp__env *env, int argc, char **argv);
int gp__cmd_version(struct gp__env *env, int argc, char **argv);

/* The name closest to word, or NULL when none is close enough to be meant. */
const char *gp__nearest(const char *word, const char *(*name_at)(const void *table, size_t i),
			const void *table);

#endif
