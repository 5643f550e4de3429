/* SPDX-License-Identifier: MIT */
/*
 * The recent history of a group: how long it ran, yielded, and was held with work, in each bin of
 * a window of time.
 *
 * A window has GP__LANE_BINS bins, so a lane has a fixed size, however often the group is held.
 * Time only goes forward; a late report counts from when it arrives.
 */
#ifndef GP__VIEW_LANE_H
#define GP__VIEW_LANE_H

#include <stdint.h>

#define GP__LANE_BINS 600

enum gp__lane_kind {
	GP__LANE_UNKNOWN, /* not observed, or not visible to this user */
	GP__LANE_IDLE,
	GP__LANE_RUN,
	GP__LANE_YIELD, /* has work and may run, but others that work get the time */
	GP__LANE_HELD, /* has work and may not run */
};

struct gp__lane_bin {
	uint64_t known, run, yielded, held; /* ns */
	uint64_t longest_wait, waited; /* of waits that ended in it, ns */
	uint32_t nr_waits;
};

struct gp__lane {
	uint64_t bin_ns, at; /* the time before `at` is in the bins */
	uint64_t held_since;
	enum gp__lane_kind kind; /* since then */
	uint32_t part, whole; /* the part of the time in which it runs that it gets; whole: not 0 */
	struct gp__lane_bin bin[GP__LANE_BINS]; /* a ring buffer */
};

void gp__lane_init(struct gp__lane *l, uint64_t window_ns, uint64_t now);
/* Advances to @now. */
void gp__lane_advance(struct gp__lane *l, uint64_t now);
/* Sets what the group does from @now on. */
void gp__lane_set(struct gp__lane *l, enum gp__lane_kind kind, uint64_t now);
/* From @now on it gets so much of the time in which it runs. */
void gp__lane_share(struct gp__lane *l, uint32_t part, uint32_t whole, uint64_t now);

/*
 * Divides the window into at most @most columns of equal length. Each begins at a multiple of its
 * length, so that a picture moves as a whole. Returns their number; column 0 is the oldest, and the
 * last one includes the present.
 */
uint32_t gp__lane_columns(uint32_t most);
struct gp__lane_bin gp__lane_column(const struct gp__lane *l, uint32_t columns, uint32_t i);
/* The sum over the window. */
struct gp__lane_bin gp__lane_sum(const struct gp__lane *l);

#endif
