/* SPDX-License-Identifier: MIT */
/* Our threads in other programs: signals are left to the program's own threads. */
#ifndef GP_BASE_THREAD_H
#define GP_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/* @stack_bytes: 0 is the default. 0 or -errno. */
static inline int gp__thread_start(pthread_t *thread, size_t stack_bytes, void *(*fn)(void *),
				   void *arg)
{
	sigset_t all, before;
	pthread_attr_t attr;
	int err;

	pthread_attr_init(&attr);
	if (stack_bytes)
		pthread_attr_setstacksize(&attr, stack_bytes);
	/* A new thread inherits the signal mask of its creator. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(thread, &attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

#endif
