/* SPDX-License-Identifier: MIT */
/*
 * A round trip between two threads by futex or eventfd: the baseline for anything that wakes
 * another thread or process.
 */
#ifndef GP_BENCH_PINGPONG_H
#define GP_BENCH_PINGPONG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A token goes back and forth between two threads. The partner returns every token until `stop` is
 * set.
 */
struct pingpong {
	int (*give)(struct pingpong *t, int side);
	int (*take)(struct pingpong *t, int side);
	_Atomic uint32_t token[2];
	int fd[2];
	_Atomic bool stop;
	pthread_t partner;
};

/* 0 or -errno. */
int pingpong_start(struct pingpong *t, bool futex);
void pingpong_end(struct pingpong *t);
/* A gp__bench_fn. */
int pingpong_round_trip(void *arg, uint64_t times);

#endif
