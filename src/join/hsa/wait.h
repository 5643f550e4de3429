/* SPDX-License-Identifier: MIT */
/*
 * How a program waits for its signals while it is held. A runtime that waits actively polls the
 * signal on a processor until it changes, which pays for short waits. A held program waits for
 * longer, and another one needs the processor, so its wait sleeps until it is released.
 */
#ifndef GP__JOIN_HSA_WAIT_H
#define GP__JOIN_HSA_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* hsa_signal_wait_*(). */
typedef int64_t gp__hsa_wait_fn(uint64_t signal, uint32_t condition, int64_t value,
				uint64_t timeout, uint32_t state);
/* hsa_system_get_info(). */
typedef uint32_t gp__hsa_info_fn(uint32_t attribute, void *value);

struct gp__hsa_waits {
	atomic_bool held; /* the latest order was to hold queues of the program */
	_Atomic uint64_t ticks_per_s; /* of timeouts; 0: not asked for yet */
};

/* The same arguments and results as @next, which is the runtime's function. */
int64_t gp__hsa_wait(struct gp__hsa_waits *w, gp__hsa_info_fn *info, gp__hsa_wait_fn *next,
		     uint64_t signal, uint32_t condition, int64_t value, uint64_t timeout,
		     uint32_t state);

#endif
