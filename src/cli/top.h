/* SPDX-License-Identifier: MIT */
/* gpreempt top: top_feed.c receives from the daemon, top.c and top_tty.c show it. */
#ifndef GP_CLI_TOP_H
#define GP_CLI_TOP_H

#include "cli/daemon.h"
#include "view/top.h"

struct top_feed {
	struct gp__top top;
	int ask; /* connection for requests; -1: there is no daemon at the moment */
	int watch; /* connection for decisions; -1: this user may not see them */
	uint64_t list_at, retry_at; /* when to ask, or to connect, again */
	struct daemon_problem why; /* there is no daemon, or it refused */
};

/* False: there is no daemon; f->why has the reason. */
bool top_feed_open(struct top_feed *f, uint64_t window_ns);
void top_feed_close(struct top_feed *f);
/* Takes lines, asks for a list if one is due, and reconnects. False: there is no daemon at the
 * moment. */
bool top_feed_take(struct top_feed *f);
/* When to call it at the latest. */
uint64_t top_feed_due(const struct top_feed *f);
/* Requests a change of a group. False: f->why has the reason. Releases @request. */
bool top_feed_change(struct top_feed *f, json_t *request);

/* Shows it on the terminal until the user quits. Returns the exit status. */
int top_tty(struct gp__env *env, struct top_feed *f);

#endif
