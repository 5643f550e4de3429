/* SPDX-License-Identifier: MIT */
/* gpreempt top: what top_feed.c hears of the daemon, top.c and top_tty.c show. */
#ifndef GP_CLI_TOP_H
#define GP_CLI_TOP_H

#include "cli/daemon.h"
#include "view/top.h"

struct top_feed {
	struct gp__top top;
	int ask; /* for lists and changes; -1: there is no daemon at the moment */
	int watch; /* decisions come from here; -1: they are not for us */
	uint64_t list_at, retry_at; /* when to ask, or to connect, again */
	struct daemon_problem why; /* there is no daemon, or it refused */
};

/* False: there is none, and why. */
bool top_feed_open(struct top_feed *f, uint64_t window_ns);
void top_feed_close(struct top_feed *f);
/* Takes what is there and asks for what is due; connects again where the daemon was lost. False:
 * there is no daemon at the moment. */
bool top_feed_take(struct top_feed *f);
/* When to call it at the latest. */
uint64_t top_feed_due(const struct top_feed *f);
/* Asks for a change of a group; false, and why. Releases @request. */
bool top_feed_change(struct top_feed *f, json_t *request);

/* On the terminal, until somebody quits. The exit status. */
int top_tty(struct gp__env *env, struct top_feed *f);

#endif
