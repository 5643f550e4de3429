/* SPDX-License-Identifier: MIT */
/*
 * A small file that outlasts the daemon.
 *
 * A thread writes it, since a disk may be slow; the calls return at once, except for the one that
 * opens the file before the daemon serves anybody. A file that another user has made, or could have
 * written, is not opened. The new file takes the place of the old one when it is complete.
 */
#ifndef GP__DAEMON_KEEP_H
#define GP__DAEMON_KEEP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#define GP__KEEP_PATH_MAX 256

struct gp__keeper {
	int done_fd; /* readable when a text was written; -1: not open */
	char path[GP__KEEP_PATH_MAX];
	pthread_t thread;
	bool runs, again; /* the thread; @next is to be written after it */
	char *writing, *next; /* "": there is to be no file; NULL: out of memory */
	int result; /* of the last write: 0 or -errno */
};

/* Where such a file is: in the folder that systemd keeps for the daemon, else beside its socket.
 * "": nowhere. */
void gp__keep_path(char *path, size_t size, const char *name, const char *socket_path);
/* Opens a file for reading. NULL and -errno in @err, which is -EPERM if the file is not ours. */
FILE *gp__keep_read(const char *path, int *err);

/* @path "": there is no file, and what is to be kept is not. */
int gp__keeper_open(struct gp__keeper *k, const char *path);
/* Begins to write a text from malloc(), which it takes over. */
void gp__keeper_put(struct gp__keeper *k, char *text);
/* Call it when done_fd is readable. */
void gp__keeper_done(struct gp__keeper *k);
/* Waits until all is written. */
void gp__keeper_close(struct gp__keeper *k);

#endif
