/* SPDX-License-Identifier: MIT */
/*
 * A thread that finds the programs with queues on AMD GPUs, in amdkfd's sysfs, and starts a helper
 * for those that the caller wants watched. It reads files of processes and forks: neither is for
 * the scheduling thread.
 *
 * Only the pid of a program is taken from sysfs. Its user and groups are read from /proc while a
 * pidfd shows that it lives, so they are those of the process that the helper gets.
 */
#ifndef GP__DAEMON_WATCH_THREAD_H
#define GP__DAEMON_WATCH_THREAD_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/cond.h"
#include "wire/wire.h"

/* How often programs are looked for. */
#define GP__WATCH_PERIOD_NS ((u64)200000000)
/* The most that are found at a time, and of one user: a user's processes hide nobody else's. */
#define GP__WATCH_FOUND_MAX 1024
#define GP__WATCH_USER_MAX 128
#define GP__WATCH_GIDS_MAX 64

struct gp__found {
	pid_t pid;
	uid_t uid; /* the owner of its folder in /proc */
	u64 start; /* in ticks since the machine started: with the pid, it names the process */
	char name[GP__WIRE_NAME_MAX];
};

/* A helper that was started, or not: err. */
struct gp__helper {
	struct gp__found of;
	int err; /* 0 or -errno (-ESRCH: the program has ended) */
	/* Real ones: a program with the rights of its file is the user's who has started it. */
	uid_t uid;
	gid_t gid, gids[GP__WATCH_GIDS_MAX];
	u32 nr_gids;
	pid_t pid; /* the helper's, of which the caller gets the status */
	/* Descriptors that are the caller's: the program's and the helper's pidfd, our end of the
	 * connection, and the reading end of the pipe for the helper's lines. */
	int target, life, socket, lines;
};

struct gp__watch_thread {
	pthread_mutex_t lock;
	struct gp__cond wake;
	pthread_t thread;
	bool runs, ends;
	char program[PATH_MAX]; /* the helper's file */
	int done_fd; /* an eventfd: something was found or started */
	/* Between the threads: what was found last, what is wanted, and the result. */
	struct gp__found *found;
	u32 nr_found;
	bool any_found; /* since it was taken */
	struct gp__found wanted;
	bool wants;
	struct gp__helper helper;
	bool started;
};

/* @program: the helper's file. 0 or -errno. */
int gp__watch_thread_open(struct gp__watch_thread *t, const char *program);
void gp__watch_thread_close(struct gp__watch_thread *t);

/* Takes the programs that were found, to be freed, sorted by pid. False: none were since. */
bool gp__watch_thread_take(struct gp__watch_thread *t, struct gp__found **found, u32 *nr);
/* Has a helper started for a program. False: one is being started. */
bool gp__watch_thread_start(struct gp__watch_thread *t, const struct gp__found *of);
/* Takes the helper that was started. False: none is. */
bool gp__watch_thread_started(struct gp__watch_thread *t, struct gp__helper *helper);

#endif
