/* SPDX-License-Identifier: MIT */
/*
 * Sends entries with fields to systemd-journald by its native protocol: a datagram for each, and a
 * sealed memfd for one that is too large. Never waits: an entry that journald cannot take now is
 * refused with -EAGAIN. Any thread may send.
 */
#ifndef GP__DAEMON_JOURNALD_H
#define GP__DAEMON_JOURNALD_H

#include "base/log.h"

#define GP__JOURNALD_SOCKET "/run/systemd/journal/socket"

struct gp__journald {
	int fd; /* -1: closed */
};

/* 0 or -errno: nothing listens there. */
int gp__journald_open(struct gp__journald *j, const char *path);
void gp__journald_close(struct gp__journald *j);
/* The message may have several lines. 0 or -errno. */
int gp__journald_send(const struct gp__journald *j, enum gp__log_level level, const char *message,
		      const struct gp__log_field *fields, size_t n);
/* For struct gp__log, with a struct gp__journald as its data. */
bool gp__journald_entry(void *journald, enum gp__log_level level, const char *message,
			const struct gp__log_field *fields, size_t n);

#endif
