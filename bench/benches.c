// SPDX-License-Identifier: MIT
#include "benches.h"

const struct gp__bench gp__benches[] = {
	{ "base", "what the building blocks cost: clock, histogram, waking a thread", bench_base,
	  NULL },
	{ "decide", "what a scheduling decision costs with 10 to 10,000 entities", bench_decide,
	  NULL },
	{ "decide-e2e", "from an urgent program's doorbell to no wave of the patient one, by hops",
	  bench_decide_e2e, "emu" },
	{ "emu", "how fast the emulated GPU executes wave instructions", bench_emu, NULL },
	{ "emu-kfd", "packets, dispatches and stops of a program on an emulated machine",
	  bench_emu_kfd, "emu" },
	{ "join", "dispatches a second of a program, joined and not, while another is preempted",
	  bench_join, "emu" },
	{ "levels", "two priorities in one program, at each level of preemption", bench_levels,
	  "emu amd" },
	{ "monitor", "how soon work is seen that nobody tells of, and what looking costs",
	  bench_monitor, NULL },
	{ "preempt", "stopping and starting a queue in each way, with waves on the GPU",
	  bench_preempt, "emu" },
	{ "queue", "what a preemptible queue adds to a launch, and a suspend takes", bench_queue,
	  NULL },
	{ "scale", "how long decisions of gpreemptd take with 200 programs and 2,000 queues",
	  bench_scale, NULL },
	{ "seed004", "an online program preempts an offline one, through libgpreempt_poc",
	  bench_seed004, "emu amd" },
	{ NULL, NULL, NULL, NULL },
};
