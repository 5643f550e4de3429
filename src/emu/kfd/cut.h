/* SPDX-License-Identifier: MIT */
/*
 * Memory of files that somebody else can cut short: an access behind the end of a file is SIGBUS,
 * which would be the end of the machine and of everybody on it. A range that is known here becomes
 * zeros of our own at the first such access, all of it and for good.
 */
#ifndef GP__EMU_KFD_CUT_H
#define GP__EMU_KFD_CUT_H

#include <stddef.h>

/* 0, or -ENOSPC: there are too many. Pages of hugetlbfs cannot be replaced one by one. */
int emu_cut_add(void *at, size_t bytes);
/* All that were added within this range, before it is unmapped. */
void emu_cut_remove(const void *at, size_t bytes);

#endif
