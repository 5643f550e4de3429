// SPDX-License-Identifier: MIT
/*
 * sched_yield(). HIP calls it in a loop while it waits for the GPU. The emulated compute units run
 * on the same processors, so the loop takes time from the kernels it waits for. A thread that has
 * done nothing else for a while sleeps for short intervals instead, if its program has events of
 * the machine, as every one of ROCr's has.
 */
#include "base/clock.h"
#include "emu/client/client.h"
#include "emu/client/hook.h"
#include "emu/client/raw.h"

/* A thread that works for longer than this between two calls does not wait. */
#define WORK_NS (20 * GP__US)
/* Sleeping begins after this time, so that a short wait ends at once. */
#define POLL_NS (500 * GP__US)
/* The kernel's timers add about 50 us. */
#define SLEEP_NS (20 * GP__US)

struct poll {
	uint64_t since; /* the first call of the loop */
	uint64_t last; /* the end of the latest call */
};

static _Thread_local struct poll thread_poll __attribute__((tls_model("initial-exec")));

HOOK(int, sched_yield, void)
{
	const struct timespec sleep = gp__timespec(SLEEP_NS);
	struct poll *p = &thread_poll;
	uint64_t now = gp__clock_ns();

	if (now - p->last > WORK_NS)
		p->since = now;
	if (now - p->since > POLL_NS && client_sets_known())
		raw(SYS_nanosleep, (long)&sleep, 0, 0, 0, 0, 0);
	else
		raw(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	p->last = gp__clock_ns();
	return 0;
}
