// SPDX-License-Identifier: MIT
/*
 * A library whose threads, with small stacks, run before a preload has started: some libraries
 * start threads in their constructors, which come before the preload's own. The thread that goes on
 * to start the preload loses the processor whenever another one wakes up, so that they often meet
 * it halfway.
 */
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#define NR_THREADS 8
#define STACK (64 << 10)

__attribute__((visibility("default"))) int early_threads_join(void);

static pthread_barrier_t all;
static pthread_t threads[NR_THREADS];

static void *yield(void *unused)
{
	(void)unused;
	pthread_barrier_wait(&all);
	for (int i = 0; i < 300; i++) {
		usleep(10);
		sched_yield();
	}
	return NULL;
}

__attribute__((constructor)) static void start(void)
{
	const struct sched_param param = { .sched_priority = 0 };
	pthread_attr_t attr;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((unsigned int)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_barrier_init(&all, NULL, NR_THREADS);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], &attr, yield, NULL);
	pthread_attr_destroy(&attr);
	sched_setscheduler(0, SCHED_IDLE, &param);
}

/* 0 or an error number. */
int early_threads_join(void)
{
	int err = 0;

	for (int i = 0; i < NR_THREADS && !err; i++)
		err = pthread_join(threads[i], NULL);
	return err;
}
