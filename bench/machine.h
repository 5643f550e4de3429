/* SPDX-License-Identifier: MIT */
/* An emulated machine for a benchmark. */
#ifndef GP_BENCH_MACHINE_H
#define GP_BENCH_MACHINE_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether this process runs on one. */
bool bench_is_on_machine(void);

/*
 * This very command once more, on a machine with a kernel that has gpreempt's series and so many
 * compute units. Returns -errno where that cannot be, and not at all where it can.
 */
int bench_run_on_machine(const char *cus);

/* The process at the other end of the machine's socket; 0: there is none. */
pid_t bench_machine_pid(void);
/* Leaves this CPU to others, where it has more than one. */
void bench_keep_machine_off(int cpu);

#endif
