/* SPDX-License-Identifier: MIT */
/*
 * The decision log's file. Lines are collected, and a thread of their own writes them: a disk that
 * is slow or full costs the log its lines and nobody anything else. Those that are there are whole,
 * and a comment says where some are missing.
 *
 * One thread calls these.
 */
#ifndef GP__DAEMON_JOURNAL_H
#define GP__DAEMON_JOURNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cond.h"
#include "base/log.h"

#define GP__JOURNAL_ROOM (256 * 1024)

struct gp__journal {
	int fd; /* -1: none */
	const struct gp__log *log;
	char path[256];
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	struct gp__cond wake;
	bool ends, waits; /* the thread: is to, and does for lines */
	size_t used;
	unsigned long long lost; /* lines */
	char *room, *written; /* what is collected, and what is being written */
};

/* Opens it to append, or anew after it was moved away. @path "": closes it. 0 or -errno. */
int gp__journal_open(struct gp__journal *j, const struct gp__log *log, const char *path);
void gp__journal_line(struct gp__journal *j, const char *line, size_t len);
/* What was collected is to be written now. Does not wait for it. */
void gp__journal_flush(struct gp__journal *j);
/* When all is written. */
void gp__journal_close(struct gp__journal *j);

#endif
