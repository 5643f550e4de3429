/* SPDX-License-Identifier: MIT */
/*
 * Protects the machine against files that a client truncates: an access behind the end of a file
 * raises SIGBUS, which would kill the machine. At the first such access in a registered range, the
 * whole range is replaced by zeroed memory, permanently.
 */
#ifndef GP__EMU_KFD_CUT_H
#define GP__EMU_KFD_CUT_H

#include <stddef.h>

/* 0, or -ENOSPC: the table is full. Pages of hugetlbfs cannot be replaced one by one. */
int emu_cut_add(void *at, size_t bytes);
/* Removes all ranges within this one, before it is unmapped. */
void emu_cut_remove(const void *at, size_t bytes);

#endif
