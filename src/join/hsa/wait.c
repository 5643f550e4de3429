// SPDX-License-Identifier: MIT
#include "join/hsa/wait.h"

#include "base/clock.h"
#include "join/hsa/abi.h"

/* How soon a wait that polls notices that the program is held. */
#define POLL_NS (200 * GP__US)
/* How soon a wait that sleeps polls again after a release. It ends at once with its signal, but the
 * runtime polls for 200 us before it sleeps. */
#define SLEEP_NS (20 * GP__MS)

static bool is_met(uint32_t condition, int64_t is, int64_t value)
{
	switch (condition) {
	case GP__HSA_EQ:
		return is == value;
	case GP__HSA_NE:
		return is != value;
	case GP__HSA_LT:
		return is < value;
	case GP__HSA_GTE:
		return is >= value;
	default:
		return true; /* the runtime's answer counts */
	}
}

static uint64_t ticks_per_s(struct gp__hsa_waits *w, gp__hsa_info_fn *info)
{
	uint64_t ticks = atomic_load_explicit(&w->ticks_per_s, memory_order_relaxed);

	if (!ticks && !info(GP__HSA_INFO_TICKS_PER_S, &ticks))
		atomic_store_explicit(&w->ticks_per_s, ticks, memory_order_relaxed);
	return ticks;
}

/*
 * Only a wait that polls and has no limit is divided: every other one ends or sleeps by itself. A
 * part that ends early without its condition is the runtime's answer, for instance because the
 * signal was destroyed.
 */
int64_t gp__hsa_wait(struct gp__hsa_waits *w, gp__hsa_info_fn *info, gp__hsa_wait_fn *next,
		     uint64_t signal, uint32_t condition, int64_t value, uint64_t timeout,
		     uint32_t state)
{
	uint64_t ticks =
		state == GP__HSA_WAIT_ACTIVE && timeout == UINT64_MAX ? ticks_per_s(w, info) : 0;

	if (!ticks)
		return next(signal, condition, value, timeout, state);
	for (;;) {
		bool held = atomic_load_explicit(&w->held, memory_order_relaxed);
		uint64_t part_ns = held ? SLEEP_NS : POLL_NS, begin = gp__clock_ns();
		int64_t is = next(signal, condition, value, ticks / (GP__S / part_ns),
				  held ? GP__HSA_WAIT_BLOCKED : GP__HSA_WAIT_ACTIVE);

		if (is_met(condition, is, value) || gp__clock_ns() - begin < part_ns / 2)
			return is;
	}
}
