/* SPDX-License-Identifier: MIT */
/* gpreemptd as the commands reach it: connecting, asking, and telling why that did not work. */
#ifndef GP_CLI_DAEMON_H
#define GP_CLI_DAEMON_H

#include "base/cmd.h"

#include <jansson.h>
#include <limits.h>

struct daemon_problem {
	int err; /* -errno */
	int status; /* to end with */
	int target; /* the one of several that was refused; -1: none in particular */
	char message[PATH_MAX + 128];
	char remedy[256];
};

/* A connection for any number of requests: a descriptor, or -1 and why not. */
int daemon_connect(struct daemon_problem *why);
/* Releases @request. The answer, or NULL and why there is none. */
json_t *daemon_ask(int fd, json_t *request, struct daemon_problem *why);
/* Tells it, and returns the status. */
int daemon_tell(struct gp__env *env, const struct daemon_problem *why);

/* One request of a connection of its own; NULL after telling why. */
json_t *daemon_query(struct gp__env *env, json_t *request, int *status);

/*
 * Whom a command is about: PID, pid:N, group:N, queue:N, tag:TEXT or --tag TEXT, as the members of
 * requests that say so. In an argp parser, for what is not the command's own.
 */
#define DAEMON_TARGETS_DOC "PID|group:N|queue:N|tag:TAG..."
#define DAEMON_TAG_OPTION                                                          \
	{                                                                          \
		"tag", 't', "TAG", 0, "all that have this tag, as tag:TAG does", 0 \
	}

error_t daemon_parse_target(json_t *targets, int key, const char *arg, struct argp_state *state);
/*
 * Asks @op of all targets, with the members of @change (may be NULL) in the request. A document
 * with the "groups" of all, or NULL after telling why: then it was done to none.
 */
json_t *daemon_each(struct gp__env *env, const char *op, const json_t *targets,
		    const json_t *change, int *status);

#endif
