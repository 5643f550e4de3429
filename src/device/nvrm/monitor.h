/* SPDX-License-Identifier: MIT */
/*
 * Finds work in channel groups by polling their channels' indices (work.h). One thread serves all
 * groups of a process.
 *
 * Polling costs about a microsecond of CPU time per channel, as it goes over the bus. It happens
 * every period while another program is on the GPU, and rarely while none is (calm); and once more
 * when a group whose work has ended would be idle.
 *
 * A group whose indices cannot be mapped counts as having work for as long as it exists: that is
 * presence only, and gp__nvrm_monitor_sees() says so.
 */
#ifndef GP__DEVICE_NVRM_MONITOR_H
#define GP__DEVICE_NVRM_MONITOR_H

#include "device/nvrm/work.h"

struct gp__nvrm_monitor;

#define GP__NVRM_PERIOD_NS 1000000ull
#define GP__NVRM_CALM_PERIOD_NS 250000000ull
#define GP__NVRM_SETTLE_NS 700000ull
#define GP__NVRM_GRACE_NS 100000000ull

struct gp__nvrm_monitor_options {
	struct gp__nvrm_owner *owner;
	/* 0: the defaults above. */
	uint64_t period_ns, calm_period_ns;
	struct gp__nvrm_work_times times;
	/* The device of the group's GPU, /dev/nvidia0; false: it is not known. */
	bool (*node)(void *data, const struct gp__nvrm_group_info *group, char *path, size_t size);
	/* From the monitor's thread, without a lock. They may not add or remove groups. */
	void (*ready)(void *data, uint32_t id, uint32_t pending, uint64_t now);
	void (*idle)(void *data, uint32_t id, uint64_t since);
	void *data;
};

/* 0 or -errno. */
int gp__nvrm_monitor_create(const struct gp__nvrm_monitor_options *options,
			    struct gp__nvrm_monitor **monitor);
/* For tests: a program keeps its monitor. */
void gp__nvrm_monitor_destroy(struct gp__nvrm_monitor *monitor);

int gp__nvrm_monitor_add(struct gp__nvrm_monitor *monitor, const struct gp__nvrm_group_info *group);
/* Returns when no callback for the group runs or will run, and its memory is not read any more. */
void gp__nvrm_monitor_remove(struct gp__nvrm_monitor *monitor, uint32_t id);
/* While the group is held it does not become idle. */
void gp__nvrm_monitor_hold(struct gp__nvrm_monitor *monitor, uint32_t id, bool held);
/* Whether no other program is on the GPU; at first one may be. */
void gp__nvrm_monitor_calm(struct gp__nvrm_monitor *monitor, bool calm);
/* Whether work is seen in all groups polled so far. */
bool gp__nvrm_monitor_sees(struct gp__nvrm_monitor *monitor);

#endif
