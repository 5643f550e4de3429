/* SPDX-License-Identifier: MIT */
/* Tells systemd that the daemon is ready, and takes over the socket that systemd made. */
#ifndef GP__DAEMON_SYSTEMD_H
#define GP__DAEMON_SYSTEMD_H

#include <stdbool.h>

#include "core/types.h"

/* Tells $NOTIFY_SOCKET, if there is one: "READY=1", "RELOADING=1", "STOPPING=1". */
void gp__systemd_notify(const char *state);
/* Whether systemd runs the daemon. */
bool gp__systemd_runs_us(void);
/*
 * Notifies systemd's watchdog ($WATCHDOG_USEC) when *@at has come, and sets it anew. Returns when
 * to call it next; GP__NEVER: there is no watchdog. *@at is 0 at first.
 */
u64 gp__systemd_watchdog(u64 *at, u64 now);
/* The folder that systemd keeps for the daemon's state. NULL: there is none. */
const char *gp__systemd_state_folder(void);
/* The first socket of that type, such as SOCK_STREAM, that was handed over, or -1. */
int gp__systemd_socket(int type);

#endif
