/* SPDX-License-Identifier: MIT */
/*
 * The bare cost of waking another thread and being woken by it: what anything that goes to another
 * thread or process and back is held against.
 */
#ifndef GP_BENCH_TENNIS_H
#define GP_BENCH_TENNIS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A ball goes back and forth between two threads. Each waits for its own side; the partner returns
 * every ball until it gets one with stop set.
 */
struct table_tennis {
	int (*give)(struct table_tennis *t, int side);
	int (*take)(struct table_tennis *t, int side);
	_Atomic uint32_t ball[2];
	int fd[2];
	_Atomic bool stop;
	pthread_t partner;
};

/* By a futex, or by an eventfd. 0 or -errno. */
int tennis_start(struct table_tennis *t, bool futex);
void tennis_end(struct table_tennis *t);
/* A gp__bench_fn. */
int tennis_round_trip(void *arg, uint64_t times);

#endif
