/* SPDX-License-Identifier: MIT */
/* The library's threads sleep by the monotonic clock. */
#ifndef GP_QUEUE_THREAD_H
#define GP_QUEUE_THREAD_H

#include <stdint.h>

#include "base/thread.h"

/* For gp__cond_wait(). */
void gp__cond_init(pthread_cond_t *cond);
/* Sleeps until signalled or until that time: 0, or -ETIMEDOUT. GP__FOREVER: no limit. */
#define GP__FOREVER UINT64_MAX
int gp__cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until);

#endif
