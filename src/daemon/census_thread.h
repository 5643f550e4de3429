/* SPDX-License-Identifier: MIT */
/*
 * Takes the census (census.h) in a thread, for a thread that must not wait.
 *
 * The thread starts with the first question and sleeps while there is none. Questions that come
 * while a census is being taken are answered by the next one.
 */
#ifndef GP__DAEMON_CENSUS_THREAD_H
#define GP__DAEMON_CENSUS_THREAD_H

#include <pthread.h>

#include "base/cond.h"
#include "daemon/census.h"

struct gp__census_thread {
	int done_fd; /* an eventfd, readable when a census was taken; -1: not open */
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	struct gp__cond wake;
	bool runs, ends; /* the thread: does, and is to end */
	bool asked, answered;
	char *patterns; /* of the device files */
	struct gp__census census; /* if @answered and not @err */
	int err;
};

/* 0 or -errno. */
int gp__census_thread_open(struct gp__census_thread *t);
/* Sets the glob patterns of device files, which blanks separate. 0 or -ENOMEM. */
int gp__census_thread_configure(struct gp__census_thread *t, const char *patterns);
/* 0, or -errno if the thread cannot be started. */
int gp__census_thread_ask(struct gp__census_thread *t);
/* False: there is none. On success *@err is 0, and the caller frees the census. */
bool gp__census_thread_take(struct gp__census_thread *t, struct gp__census *c, int *err);
/* Waits for a census under way. */
void gp__census_thread_close(struct gp__census_thread *t);

#endif
