/* SPDX-License-Identifier: MIT */
/* Talks to gpreemptd for the commands: connects, sends requests, and reports problems. */
#ifndef GP_CLI_DAEMON_H
#define GP_CLI_DAEMON_H

#include "base/cmd.h"

#include <jansson.h>
#include <limits.h>

struct daemon_problem {
	int err; /* -errno */
	int status; /* exit status */
	int target; /* index of the refused one among several; -1: none in particular */
	char message[PATH_MAX + 128];
	char remedy[256];
};

/* Connects, for any number of requests. Returns a descriptor, or -1 with the reason in @why. */
int daemon_connect(struct daemon_problem *why);
/* Releases @request. Returns the answer, or NULL with the reason in @why. */
json_t *daemon_ask(int fd, json_t *request, struct daemon_problem *why);
/* Reports the problem, and returns the exit status. */
int daemon_tell(struct gp__env *env, const struct daemon_problem *why);

/* Connects for a single request. Returns the answer, or NULL after an error message. */
json_t *daemon_query(struct gp__env *env, json_t *request, int *status);

/*
 * Parses the targets of a command: PID, pid:N, group:N, queue:N, tag:TEXT or --tag TEXT. Call it
 * from the argp parser of a command for keys that are not its own.
 */
#define DAEMON_TARGETS_DOC "PID|group:N|queue:N|tag:TAG..."
#define DAEMON_TAG_OPTION                                                          \
	{                                                                          \
		"tag", 't', "TAG", 0, "all that have this tag, as tag:TAG does", 0 \
	}

error_t daemon_parse_target(json_t *targets, int key, const char *arg, struct argp_state *state);
/*
 * Requests @op for all targets, with the members of @change (may be NULL). Returns a document with
 * the "groups" of all, or NULL after an error message: then none was changed.
 */
json_t *daemon_each(struct gp__env *env, const char *op, const json_t *targets,
		    const json_t *change, int *status);

#endif
