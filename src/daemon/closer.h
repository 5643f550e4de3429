/* SPDX-License-Identifier: MIT */
/*
 * Closes descriptors that a client may have stretched: a socket with SO_LINGER, a file of a FUSE
 * filesystem, or a connection with such descriptors in its unread messages. close() can block on
 * each of them for as long as the client likes, so threads call it.
 *
 * A thread that is stuck in close() is lost until it returns. There are at most GP__CLOSERS of
 * them, and a user can occupy only one, so one user's descriptors delay nobody else's. Descriptors
 * that wait are counted in their user's nr_closing. Threads are started when they are needed.
 */
#ifndef GP__DAEMON_CLOSER_H
#define GP__DAEMON_CLOSER_H

#include "daemon/user.h"

#define GP__CLOSERS 64

struct gp__closer;

/* NULL: out of memory. */
struct gp__closer *gp__closer_open(void);
/*
 * Closes @fd, some time; of a socket, reads what it has received before, because closing it with
 * unread messages would discard what was sent. @user may be NULL.
 */
void gp__closer_put(struct gp__closer *c, struct gp__user *user, int fd);
/* Leaves stuck threads behind; they touch no user any more. @c may be NULL. */
void gp__closer_close(struct gp__closer *c);

#endif
