/* SPDX-License-Identifier: MIT */
/*
 * Sees work arrive in channel groups, by looking at their channels' indices: for programs that tell
 * nobody. One thread for all groups of a process.
 *
 * A put index that has moved is work that came. The get index says what was fetched, not what is
 * done: that is seen by how submissions end (done.h), and a group is idle when all are done and
 * nothing has moved for a settling time. A channel where they end otherwise counts as done when all
 * was fetched and nothing has moved for grace: what runs there for longer is not seen.
 *
 * A look costs about a microsecond of a CPU a channel, as it goes over the bus: every period where
 * somebody else is on the GPU, and hardly ever where nobody is (calm).
 *
 * A group whose indices cannot be mapped is taken to have work for as long as it is there: that is
 * presence only, and gp__nvrm_monitor_sees() says so.
 */
#ifndef GP__DEVICE_NVRM_MONITOR_H
#define GP__DEVICE_NVRM_MONITOR_H

#include "device/nvrm/owner.h"

struct gp__nvrm_monitor;

#define GP__NVRM_PERIOD_NS 1000000ull
#define GP__NVRM_CALM_PERIOD_NS 250000000ull
#define GP__NVRM_SETTLE_NS 1000000ull
#define GP__NVRM_GRACE_NS 100000000ull

struct gp__nvrm_monitor_options {
	struct gp__nvrm_owner *owner;
	/* 0: the ones above. */
	uint64_t period_ns, calm_period_ns, settle_ns, grace_ns;
	/* The device of the group's GPU, /dev/nvidia0; false: it is not known. */
	bool (*node)(void *data, const struct gp__nvrm_group_info *group, char *path, size_t size);
	/* From the monitor's thread, without a lock. They may not add or remove groups. */
	void (*ready)(void *data, uint32_t id, uint32_t pending, uint64_t now);
	void (*idle)(void *data, uint32_t id, uint64_t now);
	void *data;
};

/* 0 or -errno. */
int gp__nvrm_monitor_create(const struct gp__nvrm_monitor_options *options,
			    struct gp__nvrm_monitor **monitor);
void gp__nvrm_monitor_destroy(struct gp__nvrm_monitor *monitor);

int gp__nvrm_monitor_add(struct gp__nvrm_monitor *monitor, const struct gp__nvrm_group_info *group);
/* Returns when no callback for it runs or will, and nothing of its memory is looked at. */
void gp__nvrm_monitor_remove(struct gp__nvrm_monitor *monitor, uint32_t id);
/* While it is held it does not become idle. */
void gp__nvrm_monitor_hold(struct gp__nvrm_monitor *monitor, uint32_t id, bool held);
/* Nobody else is on the GPU, or somebody may be; at first somebody may. */
void gp__nvrm_monitor_calm(struct gp__nvrm_monitor *monitor, bool calm);
/* Whether work is seen in all groups that it has looked at. */
bool gp__nvrm_monitor_sees(struct gp__nvrm_monitor *monitor);

#endif
