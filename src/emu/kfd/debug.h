/* SPDX-License-Identifier: MIT */
/*
 * A process under a debugger, another one or itself: RUNTIME_ENABLE and DBG_TRAP.
 *
 * Two locks: the process's for what is debugged and how, and one of its own, behind all others, for
 * what the hardware's side reads: exceptions are raised from wherever they happen. Neither is held
 * while a client is asked for something.
 */
#ifndef GP__EMU_KFD_DEBUG_H
#define GP__EMU_KFD_DEBUG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/kfd/machine.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

struct emu_call;
struct emu_debug_waiter;
struct emu_process;
struct emu_queue;

struct emu_debug_node {
	uint64_t exceptions; /* GP_KFD_EC_MASK: those of the device that were raised */
	bool faulted; /* the first bad access that nobody has asked for yet: */
	struct gp_kfd_memory_exception fault;
};

struct emu_debug {
	pthread_mutex_t lock;
	bool enabled; /* somebody debugs it */
	int event_fd; /* hears of exceptions, a byte at a time; -1 */
	bool event_is_ours; /* it shares no flags with the debugger's, and does not block */
	uint64_t wanted; /* exceptions that event_fd hears of */
	uint64_t exceptions; /* of the process; those of a queue are in there */
	struct emu_debug_node node[EMU_GPUS_MAX];
	struct gp_kfd_runtime_info runtime; /* written with both locks held, read with either */

	/* With the process's lock. */
	_Atomic uint32_t debugger; /* pasid of another process that debugs it; 0 */
	uint32_t flags; /* GP_KFD_DBG_FLAG_* */
	bool activated; /* the hardware was told: a debugger and a runtime are both there */
	bool retries; /* RUNTIME_ENABLE was interrupted in its wait, and comes again */
	int answered_fd; /* a semaphore: the debugger's answers to the runtime; -1: none yet */
	struct emu_debug_waiter *waiters; /* for queues to be resumed */
};

int emu_debug_init(struct emu_process *p);
/* The process is about to end: nobody debugs it any more, nor does it debug others. No lock is
 * held, and its queues are still there. */
void emu_debug_end(struct emu_process *p);
/* The rest of it, when its queues are gone. */
void emu_debug_destroy(struct emu_process *p);

int emu_runtime_enable(struct emu_call *call, struct gp_kfd_runtime_enable *args);
int emu_dbg_trap(struct emu_call *call, struct gp_kfd_dbg_trap *args);

/*
 * Exceptions: GP_KFD_EC_MASK. With any lock. They are remembered where somebody debugs the process;
 * true where he wants to hear of them.
 */
bool emu_debug_raise_queue(struct emu_queue *q, uint64_t mask);
bool emu_debug_raise_node(struct emu_process *p, uint32_t node, uint64_t mask,
			  const struct gp_kfd_memory_exception *fault);
/*
 * What the hardware found in a queue: its debugger hears of it, or else its runtime, through what
 * it has left in the save area. False: neither wants to know.
 */
bool emu_debug_report(struct emu_queue *q, uint64_t mask);

/* What is to be told to trap handlers (emu_process_node.tma_words[2]). The process's lock. */
bool emu_debug_is_active(const struct emu_process *p);

/*
 * A queue that is to be destroyed: waits while a debugger has it suspended. 0, and it cannot be
 * suspended any more; -EBUSY where somebody else is about to destroy it; -EINTR. With the process's
 * lock, which is given away for the wait.
 */
int emu_debug_await_destroy(struct emu_call *call, struct emu_queue *q);

#endif
