/* SPDX-License-Identifier: MIT */
/*
 * The GPUs on which scheduling is off, and the file that keeps them, so that a daemon that is
 * started again keeps to it.
 *
 * Without a file, nothing is off. With one that cannot be read, all GPUs are: somebody has switched
 * one off. A file that another user has made, or could have written, is ignored. A thread writes
 * the file, since a disk may be slow; the calls return at once, except for the one that reads it
 * before the daemon serves anybody.
 */
#ifndef GP__DAEMON_OFF_H
#define GP__DAEMON_OFF_H

#include <pthread.h>
#include <stdbool.h>

#include "core/types.h"
#include "wire/wire.h"

#define GP__OFF_MAX 64
#define GP__OFF_PATH_MAX 256

struct gp__off {
	bool all;
	u32 nr;
	char key[GP__OFF_MAX][GP__WIRE_DEVICE_MAX];
};

/* Whether scheduling is off on the GPU that agents call @key. */
bool gp__off_has(const struct gp__off *o, const char *key);
static inline bool gp__off_any(const struct gp__off *o)
{
	return o->all || o->nr;
}

/* False: there is no room. */
bool gp__off_add(struct gp__off *o, const char *key);
void gp__off_remove(struct gp__off *o, const char *key);

/* -EPERM: the file is ignored. */
int gp__off_read(struct gp__off *o, const char *path);
int gp__off_write(const struct gp__off *o, const char *path);

struct gp__off_keeper {
	int done_fd; /* readable when a list was written; -1: not open */
	char path[GP__OFF_PATH_MAX];
	pthread_t thread;
	bool runs, again; /* the thread; @next is to be written after it */
	struct gp__off writing, next;
	int result; /* of the last write: 0 or -errno */
};

/* @path "": there is no file, and what is to be kept is not. */
int gp__off_keeper_open(struct gp__off_keeper *k, const char *path);
/* Begins to write a list. */
void gp__off_keep(struct gp__off_keeper *k, const struct gp__off *o);
/* Call it when done_fd is readable. */
void gp__off_kept(struct gp__off_keeper *k);
/* Waits until all is written. */
void gp__off_keeper_close(struct gp__off_keeper *k);

#endif
