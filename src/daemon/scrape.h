/* SPDX-License-Identifier: MIT */
/*
 * Serves the metrics over HTTP, at the address of the configuration or at a socket of systemd's.
 *
 * A thread of its own serves them, with libmicrohttpd. It asks the daemon as a command does, over
 * the daemon's own socket: the scheduling thread knows nothing of HTTP, and answers in pieces
 * between which it decides. A client that is slow or silent occupies one of a few connections until
 * a timeout, and nothing else. Many requests within a moment get the same text.
 */
#ifndef GP__DAEMON_SCRAPE_H
#define GP__DAEMON_SCRAPE_H

#include "base/log.h"
#include "daemon/config.h"

struct gp__scrape;

/* Whether this build can serve metrics. */
bool gp__scrape_is_built(void);
/*
 * Starts to serve, if the configuration or systemd says where. @listener: the daemon's own socket,
 * whose address the thread connects to. Failures are logged: programs are scheduled without.
 * Returns NULL if nothing is served.
 */
struct gp__scrape *gp__scrape_start(const struct gp__log *log, const struct gp__config *config,
				    int listener);
/* Requests are refused from now on. @s may be NULL, also below. */
void gp__scrape_refuse(struct gp__scrape *s);
/* Waits for the thread. The daemon's own socket must be closed. */
void gp__scrape_stop(struct gp__scrape *s);

#endif
