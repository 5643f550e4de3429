/* SPDX-License-Identifier: MIT */
/* The benchmarks of this build, one file each; the table ends with a NULL name. */
#ifndef GP_BENCH_BENCHES_H
#define GP_BENCH_BENCHES_H

#include "base/bench.h"

extern const struct gp__bench gp__benches[];

/* The error of benchmarks whose kernels were not built. */
#define BENCH_NO_KERNELS                                                                         \
	"this build has no kernels for AMD GPUs, as it was set up without a clang and lld that " \
	"know them (version 17 or later); 'scripts/deps test' installs these, and 'make' then "  \
	"builds the kernels"

/* Whether the kernels were built that some benchmarks run on a GPU. */
bool bench_has_kernels(void);

int bench_base(struct gp__bench_run *run);
int bench_decide(struct gp__bench_run *run);
int bench_decide_e2e(struct gp__bench_run *run);
int bench_emu(struct gp__bench_run *run);
int bench_emu_kfd(struct gp__bench_run *run);
int bench_emu_save(struct gp__bench_run *run); /* a part of bench_emu() */
int bench_join(struct gp__bench_run *run);
int bench_launch(struct gp__bench_run *run);
int bench_levels(struct gp__bench_run *run);
int bench_llm(struct gp__bench_run *run);
int bench_monitor(struct gp__bench_run *run);
int bench_opencl(struct gp__bench_run *run);
int bench_preempt(struct gp__bench_run *run);
int bench_queue(struct gp__bench_run *run);
int bench_scale(struct gp__bench_run *run);
int bench_scrape(struct gp__bench_run *run);
int bench_seed004(struct gp__bench_run *run);
int bench_streams(struct gp__bench_run *run);

#endif
