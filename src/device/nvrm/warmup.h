/* SPDX-License-Identifier: MIT */
/*
 * Warm-up: makes the GPU load a program's CUDA context just before announced work arrives, with an
 * empty kernel that a thread of our own launches in the context that announced. Otherwise the work
 * waits for the context switch, even on a GPU that is free by then.
 *
 * The kernel runs on a stream of its own, which does not wait for others, and does not disturb a
 * graph that is being captured.
 */
#ifndef GP__DEVICE_NVRM_WARMUP_H
#define GP__DEVICE_NVRM_WARMUP_H

#include <stdint.h>

struct gp__warmup;

/*
 * How long before the work the warm-ups begin, and their period: other programs are off the GPU by
 * then, or soon. With less notice than the last one they are not, and there is no warm-up.
 */
#define GP__WARMUP_AHEAD_NS 300000u
#define GP__WARMUP_EVERY_NS 100000u
#define GP__WARMUP_NOTICE_NS 500000u

/* Looks up a function of CUDA's driver API. */
typedef void *(*gp__warmup_find_fn)(const char *name);

/* @find: NULL looks into libcuda, once the program has loaded it. 0 or -errno. */
int gp__warmup_create(gp__warmup_find_fn find, struct gp__warmup **warmup);
void gp__warmup_destroy(struct gp__warmup *warmup);
/* The process is a child after fork(), which has neither the thread nor the contexts. */
void gp__warmup_forget(struct gp__warmup *warmup);

/*
 * Work was announced for that time, CLOCK_MONOTONIC, in the context of the calling thread. 0: the
 * work has arrived, or will not: when the function returns, the context is not used any more and
 * may be destroyed. It waits for that, up to a second.
 */
void gp__warmup_at(struct gp__warmup *warmup, uint64_t at);
/* As with 0, and ignores later announcements. */
void gp__warmup_end(struct gp__warmup *warmup);

/* For tests: the number of announcements that were followed by a warm-up. */
uint64_t gp__warmup_count(struct gp__warmup *warmup);

#endif
