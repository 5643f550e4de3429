/* SPDX-License-Identifier: MIT */
/* Runs a benchmark on an emulated machine. */
#ifndef GP_BENCH_MACHINE_H
#define GP_BENCH_MACHINE_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether this process runs on an emulated machine. */
bool bench_is_on_machine(void);

/*
 * Executes this command again on a machine with so many compute units, a kernel with gpreempt's
 * series, and this value of emu's --sched. Returns only on failure, with -errno.
 */
int bench_run_on_machine(const char *cus, const char *sched);

/* The process at the other end of the machine's socket; 0: there is none. */
pid_t bench_machine_pid(void);
/* Moves this thread away from a CPU, if there is another one. */
void bench_keep_machine_off(int cpu);

#endif
