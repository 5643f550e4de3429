/* SPDX-License-Identifier: MIT */
/*
 * The decision log's file. Lines are collected and written when there is time or no more room, and
 * a disk that is full costs the log its lines and nobody anything else.
 */
#ifndef GP__DAEMON_JOURNAL_H
#define GP__DAEMON_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"

#define GP__JOURNAL_ROOM 65536

struct gp__journal {
	int fd; /* -1: none */
	const struct gp__log *log;
	char path[256];
	size_t used;
	bool failing; /* said so already */
	unsigned long long lost; /* lines */
	char room[GP__JOURNAL_ROOM];
};

/* Opens it to append, or anew after it was moved away. @path "": closes it. 0 or -errno. */
int gp__journal_open(struct gp__journal *j, const struct gp__log *log, const char *path);
void gp__journal_line(struct gp__journal *j, const char *line, size_t len);
void gp__journal_flush(struct gp__journal *j);
void gp__journal_close(struct gp__journal *j);

#endif
