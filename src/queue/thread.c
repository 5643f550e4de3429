// SPDX-License-Identifier: MIT
#include "queue/thread.h"

#include <time.h>

void gp__cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	/* None of these allocates or fails where there is a monotonic clock. */
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

int gp__cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until)
{
	struct timespec ts = { .tv_sec = (time_t)(until / 1000000000u),
			       .tv_nsec = (long)(until % 1000000000u) };

	if (until == GP__FOREVER)
		return -pthread_cond_wait(cond, lock);
	return -pthread_cond_timedwait(cond, lock, &ts);
}
