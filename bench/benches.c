// SPDX-License-Identifier: MIT
#include "benches.h"

const struct gp__bench gp__benches[] = {
	{ "base", "cost of the building blocks: clock, histogram, waking a thread", bench_base,
	  NULL },
	{ "decide", "cost of a scheduling decision with 10 to 10,000 entities", bench_decide,
	  NULL },
	{ "decide-e2e", "time from an urgent doorbell to no wave of the patient program, by hops",
	  bench_decide_e2e, "emu" },
	{ "emu", "how fast the emulated GPU executes wave instructions", bench_emu, NULL },
	{ "emu-kfd", "packets, dispatches and stops of a program on an emulated machine",
	  bench_emu_kfd, "emu" },
	{ "join", "dispatches a second of a program, joined and not, while another is preempted",
	  bench_join, "emu" },
	{ "launch", "cost of being joined at the HSA runtime: doorbells, launches, windows",
	  bench_launch, "emu" },
	{ "levels", "two priorities in one program, at each level of preemption", bench_levels,
	  "emu amd" },
	{ "llm",
	  "requests of a language model's server beside a trainer, with gpreempt and without",
	  bench_llm, "emu" },
	{ "monitor", "delay and CPU time of polling for work", bench_monitor, NULL },
	{ "opencl", "a server and a trainer of OpenCL, draining, and the cost of being joined",
	  bench_opencl, NULL },
	{ "preempt", "stopping and starting a queue in each way, with waves on the GPU",
	  bench_preempt, "emu amd" },
	{ "queue", "cost of a preemptible queue: launches, suspending", bench_queue, NULL },
	{ "scale", "time of decisions of gpreemptd with 200 programs and 2,000 queues", bench_scale,
	  NULL },
	{ "scrape", "a scrape of the metrics of 200 programs, and what it costs decisions",
	  bench_scrape, NULL },
	{ "seed004", "an online program preempts an offline one, through libgpreempt_poc",
	  bench_seed004, "emu amd" },
	{ "streams", "two priorities of streams in a HIP program, at each level of preemption",
	  bench_streams, "emu" },
	{ NULL, NULL, NULL, NULL },
};

bool bench_has_kernels(void)
{
#ifdef GP_EMU_KERNELS
	return true;
#else
	return false;
#endif
}
