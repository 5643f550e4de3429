/* SPDX-License-Identifier: MIT */
/* Parses faults on demand: preempt-timeout=5%,gpu-reset=2s. */
#ifndef GP__EMU_KFD_FAULT_H
#define GP__EMU_KFD_FAULT_H

#include <stddef.h>

#include "emu/kfd/machine.h"

/*
 * Adds the faults of a list to @faults. 0; -EINVAL with a sentence in @why that names the error and
 * what was expected, and nothing is changed.
 */
int emu_faults_parse(const char *list, struct emu_faults *faults, char *why, size_t n);

#endif
