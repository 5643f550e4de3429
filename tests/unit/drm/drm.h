/* SPDX-License-Identifier: MIT */
/* Debian's kernel headers leave this one out; kfd_ioctl.h wants nothing of it but the types. */
#include <linux/types.h>
