/* SPDX-License-Identifier: MIT */
/*
 * Shows the registry's counters as JSON, as rows of the document that metrics/metrics.h describes.
 * Permissions are those of show.h: users see their own programs, administrators all.
 */
#ifndef GP__DAEMON_FIGURES_H
#define GP__DAEMON_FIGURES_H

#include "daemon/accounts.h"
#include "daemon/server.h"

bool gp__may_see_class(const struct gp__peer *p, const struct gp__class_account *c);

json_t *gp__figures_daemon(const struct gp__server *s);
json_t *gp__figures_gpu(const struct gp__gpu *g, u64 now);
json_t *gp__figures_class(const struct gp__class_account *c, u64 now);
json_t *gp__figures_account(const struct gp__account *a, u64 now);
json_t *gp__figures_user(const struct gp__user *u, u64 now);

#endif
