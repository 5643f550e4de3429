/* SPDX-License-Identifier: MIT */
/* The functions of a queue for gp_queue_create(), which measure stopping and starting it. */
#ifndef GP_BENCH_LEVELS_WATCH_H
#define GP_BENCH_LEVELS_WATCH_H

#include <gpreempt/kfd.h>

#define LEVELS_VERBS_MAX 1024

enum levels_verb { LEVELS_STOP, LEVELS_START, LEVELS_VERBS };

struct levels_watch {
	struct gp_device_ops ops; /* to be given to the queue, with the watch as its hwq */
	const struct gp_device_ops *inner;
	struct gp_kfd_queue *hwq;
	struct gp_kfd *gpu;
	/* The device time of each successful call, in nanoseconds. */
	double device[LEVELS_VERBS][LEVELS_VERBS_MAX];
	size_t nr[LEVELS_VERBS];
	uint64_t total_ns; /* of all */
};

void levels_watch(struct levels_watch *w, struct gp_kfd *gpu, struct gp_kfd_queue *hwq);
/* The median; -1 if there was no call. Sorts the values. */
double levels_device_ns(struct levels_watch *w, enum levels_verb verb);

#endif
