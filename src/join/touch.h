/* SPDX-License-Identifier: MIT */
/*
 * Has the GPU load a program's CUDA context just before work that was announced comes: with a
 * kernel that does nothing, launched by a thread of our own in the context that announced.
 * Otherwise the work waits for that, though nobody else is on the GPU any more.
 *
 * It is done on a stream of its own which waits for nobody, and a graph that is being captured does
 * not notice.
 */
#ifndef GP__JOIN_TOUCH_H
#define GP__JOIN_TOUCH_H

#include <stdint.h>

struct gp__touch;

/*
 * So long before the work comes, and every so often until then: others are off the GPU by then, or
 * soon. With less notice than the last one they are not, and nothing is done.
 */
#define GP__TOUCH_AHEAD_NS 300000u
#define GP__TOUCH_EVERY_NS 100000u
#define GP__TOUCH_NOTICE_NS 500000u

/* Looks a function of CUDA's driver API up. */
typedef void *(*gp__touch_find_fn)(const char *name);

/* @find: NULL is in libcuda, where the program has it loaded. 0 or -errno. */
int gp__touch_create(gp__touch_find_fn find, struct gp__touch **touch);
void gp__touch_destroy(struct gp__touch *touch);
/* In a child after fork(), which has neither the thread nor the contexts. */
void gp__touch_forget(struct gp__touch *touch);

/*
 * Work comes at that time, CLOCK_MONOTONIC, in the context of the calling thread. 0: it has come,
 * or does not: from the return on the context is not used any more, and may be destroyed. It waits
 * for that, up to a second.
 */
void gp__touch_at(struct gp__touch *touch, uint64_t at);
/* As with 0, and whatever is announced from now on. */
void gp__touch_end(struct gp__touch *touch);

/* For how many announcements it was done. */
uint64_t gp__touch_count(struct gp__touch *touch);

#endif
