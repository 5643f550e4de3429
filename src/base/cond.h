/* SPDX-License-Identifier: MIT */
/*
 * A condition variable under the monotonic clock. As with any: the condition is read and written
 * under the lock, and a woken thread checks it again.
 *
 * It replaces pthread_cond_t because glibc's can lose a wake-up before version 2.41 (its bug
 * 25847), and a thread that waits without a limit then waits for good.
 *
 * Zeroed memory is a fresh one, and it needs no destructor.
 */
#ifndef GP_BASE_COND_H
#define GP_BASE_COND_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define GP__FOREVER UINT64_MAX

struct gp__cond {
	_Atomic uint32_t changes;
	_Atomic uint32_t waiters;
};

/* Counts the wake-ups so far, for gp__cond_wait_since(). */
static inline uint32_t gp__cond_changes(struct gp__cond *cond)
{
	return atomic_load(&cond->changes);
}

/*
 * Sleeps until woken, spuriously or not, or until that time: 0, or -ETIMEDOUT. A wake-up after
 * @changes was read counts. So the waking thread need not take the lock, if the sleeping one reads
 * @changes before it checks the condition.
 */
static inline int gp__cond_wait_since(struct gp__cond *cond, pthread_mutex_t *lock,
				      uint32_t changes, uint64_t until)
{
	const struct timespec ts = { .tv_sec = (time_t)(until / 1000000000u),
				     .tv_nsec = (long)(until % 1000000000u) };
	const struct timespec *limit = until == GP__FOREVER ? NULL : &ts;
	int before = errno, err = 0;

	/* Precedes the kernel's comparison of `changes`: a waking thread raises that before it
	 * looks for waiters. */
	atomic_fetch_add(&cond->waiters, 1);
	pthread_mutex_unlock(lock);
	if (syscall(SYS_futex, &cond->changes, FUTEX_WAIT_BITSET_PRIVATE, changes, limit, NULL,
		    FUTEX_BITSET_MATCH_ANY) < 0)
		err = errno;
	pthread_mutex_lock(lock);
	atomic_fetch_sub(&cond->waiters, 1);
	errno = before;
	return err == ETIMEDOUT ? -ETIMEDOUT : 0;
}

/* The same; the waking thread has taken the lock since the caller checked the condition. */
static inline int gp__cond_wait(struct gp__cond *cond, pthread_mutex_t *lock, uint64_t until)
{
	return gp__cond_wait_since(cond, lock, gp__cond_changes(cond), until);
}

static inline void gp__cond_wake(struct gp__cond *cond, int how_many)
{
	int before = errno;

	atomic_fetch_add(&cond->changes, 1);
	if (atomic_load(&cond->waiters))
		syscall(SYS_futex, &cond->changes, FUTEX_WAKE_PRIVATE, how_many, NULL, NULL, 0);
	errno = before;
}

static inline void gp__cond_signal(struct gp__cond *cond)
{
	gp__cond_wake(cond, 1);
}

static inline void gp__cond_broadcast(struct gp__cond *cond)
{
	gp__cond_wake(cond, INT_MAX);
}

#endif
