/* SPDX-License-Identifier: MIT */
/* Holds and releases as entries of systemd's journal, with fields: journal = decisions. */
#ifndef GP__DAEMON_ENTRIES_H
#define GP__DAEMON_ENTRIES_H

#include "core/log.h"

struct gp__server;

/* After the configuration was read: begins or ends them. */
void gp__entries_apply(struct gp__server *s);
/* One entry for all queues of a group. Never waits: what journald cannot take is counted in the
 * next entry. */
void gp__entries_take(struct gp__server *s, const struct gp__record *r);

#endif
