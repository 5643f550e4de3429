/* SPDX-License-Identifier: MIT */
/* ioctl(2) on the machine's files: the table of ioctls, and copying of arguments. */
#ifndef GP__EMU_KFD_IOCTL_H
#define GP__EMU_KFD_IOCTL_H

#include <stdint.h>

struct emu_call;
struct emu_file;

/* Like the driver's: a result, or -errno. */
int emu_kfd_ioctl(struct emu_call *call, const struct emu_file *f, uint32_t cmd, uint64_t arg);
int emu_drm_ioctl(struct emu_call *call, const struct emu_file *f, uint32_t cmd, uint64_t arg);

#endif
