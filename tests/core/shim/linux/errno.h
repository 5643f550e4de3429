/* SPDX-License-Identifier: MIT */
#ifndef SHIM_LINUX_ERRNO_H
#define SHIM_LINUX_ERRNO_H
#define ENOENT 2
#define EACCES 13
#define EFAULT 14
#define EBUSY 16
#define EINVAL 22
#define ERANGE 34
#define ENODATA 61
#endif
