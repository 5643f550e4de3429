/* SPDX-License-Identifier: MIT */
/* Counters of a process in sysfs, written when they are opened. */
#ifndef GP__EMU_KFD_STATS_H
#define GP__EMU_KFD_STATS_H

struct emu_machine;

/*
 * A descriptor to read one of them, for the caller to close: proc/PID/sdma_GPU, or cu_occupancy in
 * proc/PID/stats_GPU. -ENOENT: not one of them.
 */
int emu_stats_open(struct emu_machine *m, const char *path);

#endif
