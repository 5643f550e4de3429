/* SPDX-License-Identifier: MIT */
/*
 * The decision log's file. Lines are collected in memory and written by a thread. If the disk is
 * slow or full, lines are dropped and counted in a comment; programs are not affected. Every line
 * in the file is complete.
 *
 * Only one thread calls these functions.
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

/* Opens the file to append, or again after it was moved away. @path "": only closes. 0 or -errno.
 */
int gp__journal_open(struct gp__journal *j, const struct gp__log *log, const char *path);
void gp__journal_line(struct gp__journal *j, const char *line, size_t len);
/* Starts writing what was collected. Does not wait for it. */
void gp__journal_flush(struct gp__journal *j);
/* Waits until all is written. */
void gp__journal_close(struct gp__journal *j);

#endif
