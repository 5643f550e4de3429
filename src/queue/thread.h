/* SPDX-License-Identifier: MIT */
/*
 * What the library's threads have in common: they are no business of the
 * program's signal handlers, and they sleep by the monotonic clock.
 */
#ifndef GP_QUEUE_THREAD_H
#define GP_QUEUE_THREAD_H

#include <pthread.h>
#include <stdint.h>

/* Starts a thread in which every signal is blocked; a negative errno value if it cannot. */
int gp__thread_start(pthread_t *thread, void *(*fn)(void *), void *arg);

/* For gp__cond_wait(). */
void gp__cond_init(pthread_cond_t *cond);
/* Sleeps until signalled or until that time: 0, or -ETIMEDOUT. GP__FOREVER: no limit. */
#define GP__FOREVER UINT64_MAX
int gp__cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until);

#endif
