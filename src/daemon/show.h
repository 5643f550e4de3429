/* SPDX-License-Identifier: MIT */
/*
 * Shows the registry to the command line, as JSON. Users see their own programs, and only the
 * existence of others'; administrators see everything.
 */
#ifndef GP__DAEMON_SHOW_H
#define GP__DAEMON_SHOW_H

#include "daemon/ended.h"
#include "daemon/server.h"

bool gp__may_see(const struct gp__peer *p, const struct gp__program *program);
bool gp__may_see_user(const struct gp__peer *p, uid_t uid);

/* How the agent sees work arrive in this queue. */
enum gp__wire_sees gp__program_queue_sees(const struct gp__program_queue *q);

/* Without its queues, which the answer adds one by one. */
json_t *gp__show_group(const struct gp__server *s, const struct gp__peer *p,
		       const struct gp__group *g);
/* The same, with its holds, the latest first. */
json_t *gp__show_history(const struct gp__server *s, const struct gp__peer *p,
			 const struct gp__group *g);
/* The same of a group that has ended, for a user who may see it. */
json_t *gp__show_ended(const struct gp__server *s, const struct gp__peer *p,
		       const struct gp__ended *e);
json_t *gp__show_queue(const struct gp__program_queue *q, u64 now);
json_t *gp__show_user(const struct gp__server *s, const struct gp__user *u);
/* The verdict on a program that has left. */
json_t *gp__show_left(const struct gp__verdict *v);
json_t *gp__show_gpu(const struct gp__server *s, const struct gp__gpu *g);
/* The GPUs on which scheduling is off. */
json_t *gp__show_off(const struct gp__off *off);
json_t *gp__show_daemon(const struct gp__server *s);
/* When the latest census was taken, and of what. */
json_t *gp__show_census(const struct gp__server *s);
/* A process of it. NULL: it has none with this pid. */
json_t *gp__show_holder(const struct gp__server *s, const struct gp__peer *p, pid_t pid);
/* The user who asks, with its limits. */
json_t *gp__show_sections(const struct gp__server *s);
json_t *gp__show_asker(const struct gp__peer *p);
json_t *gp__show_params(const struct gp__param *params, u32 n, const u64 *values);

#endif
