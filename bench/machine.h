/* SPDX-License-Identifier: MIT */
/* An emulated machine for a benchmark. */
#ifndef GP_BENCH_MACHINE_H
#define GP_BENCH_MACHINE_H

#include <stdbool.h>

/* Whether this process runs on one. */
bool bench_is_on_machine(void);

/*
 * This very command once more, on a machine with a kernel that has gpreempt's series and so many
 * compute units. Returns -errno where that cannot be, and not at all where it can.
 */
int bench_run_on_machine(const char *cus);

#endif
