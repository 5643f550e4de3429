/* SPDX-License-Identifier: MIT */
/* The cost of memory on an emulated machine, for the benchmark emu-kfd. */
#ifndef GP_BENCH_EMU_MEMORY_H
#define GP_BENCH_EMU_MEMORY_H

#include "benches.h"
#include "resident.h"

/* 0, or the error after it was reported to the run. */
int bench_emu_buffers(struct gp__bench_run *run, struct resident *r);
int bench_emu_copies(struct gp__bench_run *run, struct resident *r);

#endif
