/* SPDX-License-Identifier: MIT */
/* gpreempt top: top_feed.c receives from the daemon, or top_replay.c plays a recorded log; top.c
 * and top_tty.c show it. */
#ifndef GP_CLI_TOP_H
#define GP_CLI_TOP_H

#include "cli/daemon.h"
#include "cli/log_file.h"
#include "view/top.h"

struct top_replay {
	struct log_file log;
	struct gp__history history; /* until now */
	size_t at; /* of the next line in the text */
	u64 begin, end, now; /* of the log, by its own clock */
	u64 wall_at; /* when now was set */
	u64 list_at;
	double speed;
	bool paused;
};

struct top_feed {
	struct gp__top top;
	int ask; /* connection for requests; -1: there is no daemon at the moment */
	int watch; /* connection for decisions; -1: this user may not see them */
	uint64_t list_at, retry_at; /* when to ask, or to connect, again */
	struct daemon_problem why; /* there is no daemon, or it refused */
	struct top_replay *replay; /* NULL: it is live */
	uint32_t explains; /* the group to explain with each list; 0: none */
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

/* Asks why the group in f->explains was held. */
void top_feed_explain(struct top_feed *f);

/*
 * Plays a log from its begin. 0, or an exit status after an error message; close it also after
 * top_feed_close().
 */
int top_replay_open(struct gp__env *env, struct top_feed *f, struct top_replay *r, const char *path,
		    uint64_t window_ns);
void top_replay_close(struct top_replay *r);
/* Goes on by the time that has passed. */
void top_replay_take(struct top_feed *f);
void top_replay_to(struct top_feed *f, u64 to);
/* By half a window. */
void top_replay_move(struct top_feed *f, bool back);
void top_replay_speed(struct top_feed *f, bool faster);
/* False: there is no such group at this time. */
bool top_replay_explain(struct top_feed *f, uint32_t group);

/* Shows it on the terminal until the user quits. Returns the exit status. */
int top_tty(struct gp__env *env, struct top_feed *f);

#endif
