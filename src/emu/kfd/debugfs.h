/* SPDX-License-Identifier: MIT */
/* The files of /sys/kernel/debug/kfd, written when they are opened. */
#ifndef GP__EMU_KFD_DEBUGFS_H
#define GP__EMU_KFD_DEBUGFS_H

#define EMU_DEBUGFS "/sys/kernel/debug/kfd"

struct emu_call;

/*
 * A descriptor to read one of them, for the caller to close. -ENOENT: not one of them; -EACCES:
 * only root may read debugfs.
 */
int emu_debugfs_open(struct emu_call *call, const char *path);

#endif
