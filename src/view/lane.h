/* SPDX-License-Identifier: MIT */
/*
 * What a group did lately: for how much of each of the last moments it ran, and waited with work.
 *
 * A window of time is cut into GP__LANE_BINS moments, which is all that is kept: however often
 * somebody is stopped and started, a lane has the same size. Time only goes forward; what comes in
 * late counts from when it comes.
 */
#ifndef GP__VIEW_LANE_H
#define GP__VIEW_LANE_H

#include <stdint.h>

#define GP__LANE_BINS 600

enum gp__lane_kind {
	GP__LANE_UNKNOWN, /* nobody looked, or may not know */
	GP__LANE_IDLE,
	GP__LANE_RUN,
	GP__LANE_HELD, /* has work and may not run */
};

struct gp__lane_bin {
	uint64_t known, run, held; /* ns */
	uint64_t longest_wait, waited; /* of waits that ended in it, ns */
	uint32_t nr_waits;
};

struct gp__lane {
	uint64_t bin_ns, at; /* what is before is in the bins */
	uint64_t held_since;
	enum gp__lane_kind kind; /* since then */
	struct gp__lane_bin bin[GP__LANE_BINS]; /* a ring, by the number of the moment */
};

void gp__lane_init(struct gp__lane *l, uint64_t window_ns, uint64_t now);
/* Time passed. */
void gp__lane_advance(struct gp__lane *l, uint64_t now);
/* From now on it does this. */
void gp__lane_set(struct gp__lane *l, enum gp__lane_kind kind, uint64_t now);

/*
 * Cut into columns of the same length, as many as fit into @most: each begins at a multiple of its
 * length, so that a picture moves as a whole. How many there are; column 0 is the oldest, and the
 * last one is of the present.
 */
uint32_t gp__lane_columns(uint32_t most);
struct gp__lane_bin gp__lane_column(const struct gp__lane *l, uint32_t columns, uint32_t i);
/* All of the window. */
struct gp__lane_bin gp__lane_sum(const struct gp__lane *l);

#endif
