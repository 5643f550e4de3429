/* SPDX-License-Identifier: MIT */
/*
 * The decision log's file, or the daemon's messages on standard error. Lines are collected in
 * memory and written by a thread. If the disk is slow or full, or nobody reads from the pipe, lines
 * are dropped and counted in a comment; programs are not affected. Every line in the file is
 * complete.
 *
 * A file that has reached its limit is renamed to FILE.1, in place of an older one, and begun anew,
 * so both together have at most twice the limit.
 *
 * Only one thread opens and closes a journal. Any thread may add lines.
 */
#ifndef GP__DAEMON_JOURNAL_H
#define GP__DAEMON_JOURNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/cond.h"
#include "base/log.h"

#define GP__JOURNAL_ROOM (256 * 1024)
/* Header of a file that continues another one: it replays only after that one. */
#define GP__JOURNAL_CONTINUED "# gpreempt decision log 2, continued\n"

struct gp__journal {
	int fd; /* -1: none */
	const struct gp__log *log; /* for failures */
	const char *comment; /* what a line that counts missing lines begins with */
	char path[256]; /* "": it writes to a descriptor that it was given */
	unsigned long long max; /* bytes of the file; 0: no limit */
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	struct gp__cond wake;
	bool ends, waits; /* the thread: is to, and does for lines */
	bool reopens; /* the thread is to open the file again */
	size_t used;
	unsigned long long lost; /* lines */
	char *room, *written; /* what is collected, and what is being written */
};

/* Opens the file to append; closes another one first. @path "": only closes. 0 or -errno. */
int gp__journal_open(struct gp__journal *j, const struct gp__log *log, const char *path,
		     unsigned long long max);
/* Writes to a descriptor that other processes may share. It stays the caller's. 0 or -errno. */
int gp__journal_open_fd(struct gp__journal *j, int fd, const char *comment);
/* A stream whose text becomes lines at each flush, for struct gp__log. NULL: out of memory. */
FILE *gp__journal_stream(struct gp__journal *j);
/* Opens the same file again after it was moved away. Does not wait for it. */
void gp__journal_reopen(struct gp__journal *j);
void gp__journal_line(struct gp__journal *j, const char *line, size_t len);
/* Starts writing what was collected. Does not wait for it. */
void gp__journal_flush(struct gp__journal *j);
/*
 * Waits until all is written. If a descriptor that it was given does not take the lines within a
 * second, the thread stays, and @j must outlive it.
 */
void gp__journal_close(struct gp__journal *j);

#endif
