/* SPDX-License-Identifier: MIT */
/*
 * Tells whether a channel group has work, by looking at its channels' indices now and then. Time
 * comes in with the look.
 *
 * A put index that has moved is new work. The get index says what was fetched, not what is done:
 * that follows from how submissions end (done.h). A channel whose submissions end in another way
 * counts as done when all was fetched and nothing has moved for grace; work that runs longer there
 * is not seen.
 *
 * A look that finds everything done may fall into a short gap between two pieces of work, however
 * long ago the look before it was. So a group is idle when a second look, a settling time after
 * the first such look, finds that no index has moved in between.
 */
#ifndef GP__DEVICE_NVRM_WORK_H
#define GP__DEVICE_NVRM_WORK_H

#include "device/nvrm/done.h"
#include "device/nvrm/owner.h"

#define GP__NVRM_CHANNELS_MAX 64 /* of a group; more are not looked at */

struct gp__nvrm_channel {
	uint32_t put, get;
	uint64_t moved_at;
	enum { GP__NVRM_END_UNKNOWN, GP__NVRM_END_COMES, GP__NVRM_END_REACHED } state;
	struct gp__nvrm_end end; /* of the latest submission */
};

struct gp__nvrm_work {
	struct gp__nvrm_ring ring[GP__NVRM_CHANNELS_MAX];
	struct gp__nvrm_channel channel[GP__NVRM_CHANNELS_MAX];
	uint32_t nr; /* of rings */
	uint32_t pending; /* channels with work */
	bool busy, held;
	uint64_t moved_at; /* the latest look that found work */
	uint64_t quiet_at; /* the first look after that; 0: there was none */
};

struct gp__nvrm_work_times {
	uint64_t settle_ns, grace_ns;
};

enum gp__nvrm_change { GP__NVRM_NO_CHANGE, GP__NVRM_BECAME_BUSY, GP__NVRM_BECAME_IDLE };

/* Begins anew with the first @nr rings, as if work had arrived in each. */
void gp__nvrm_work_begin(struct gp__nvrm_work *work, uint32_t nr);
enum gp__nvrm_change gp__nvrm_work_look(struct gp__nvrm_work *work, struct gp__peek *peek,
					const struct gp__nvrm_work_times *times, uint64_t now);
/* When the group is idle unless a look finds work by then; UINT64_MAX: it has work, or is idle. */
uint64_t gp__nvrm_work_settles(const struct gp__nvrm_work *work,
			       const struct gp__nvrm_work_times *times);
/* While the group is held it does not become idle. */
void gp__nvrm_work_hold(struct gp__nvrm_work *work, bool held, uint64_t now);

#endif
