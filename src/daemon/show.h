/* SPDX-License-Identifier: MIT */
/*
 * What the command line is shown of the house, as JSON. Users see their own programs, and of others
 * that they are there; administrators see everything.
 */
#ifndef GP__DAEMON_SHOW_H
#define GP__DAEMON_SHOW_H

#include "daemon/ended.h"
#include "daemon/server.h"

bool gp__may_see(const struct gp__peer *p, const struct gp__program *program);
bool gp__may_see_user(const struct gp__peer *p, uid_t uid);

/* Where the program's work is seen to come. */
enum gp__wire_sees gp__lodger_sees(const struct gp__lodger *l);

json_t *gp__show_group(const struct gp__server *s, const struct gp__peer *p,
		       const struct gp__group *g);
/* The same, with the times for which it was held, the latest first. */
json_t *gp__show_history(const struct gp__server *s, const struct gp__peer *p,
			 const struct gp__group *g);
/* The same of one that has ended, for a user who may see it. */
json_t *gp__show_ended(const struct gp__server *s, const struct gp__peer *p,
		       const struct gp__ended *e);
json_t *gp__show_gpu(const struct gp__gpu *g);
json_t *gp__show_daemon(const struct gp__server *s);
/* Who asks, and what he may have. */
json_t *gp__show_asker(const struct gp__server *s, const struct gp__peer *p);
json_t *gp__show_params(const struct gp__param *params, u32 n, const u64 *values);

#endif
