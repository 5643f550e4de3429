/* SPDX-License-Identifier: MIT */
/*
 * A process under a debugger, another process or itself: RUNTIME_ENABLE and DBG_TRAP.
 *
 * Two locks: the process's lock protects the session, and a lock of its own, taken after all
 * others, protects the part that the hardware side reads: exceptions are raised from anywhere.
 * Neither is held while a client is asked for something.
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
	uint64_t exceptions; /* GP_KFD_EC_MASK: raised on the device */
	bool faulted; /* the first bad access that was not queried yet: */
	struct gp_kfd_memory_exception fault;
};

struct emu_debug {
	pthread_mutex_t lock;
	bool enabled; /* a debugger is attached */
	int event_fd; /* gets a byte for each exception; -1 */
	/* opened by us: it shares no flags with the debugger's, and does not block */
	bool event_is_ours;
	uint64_t wanted; /* exceptions that are reported to event_fd */
	uint64_t exceptions; /* of the process; a queue has its own */
	struct emu_debug_node node[EMU_GPUS_MAX];
	struct gp_kfd_runtime_info runtime; /* written with both locks held, read with either */

	/* Protected by the process's lock. */
	_Atomic uint32_t debugger; /* pasid of another process that debugs it; 0 */
	uint32_t flags; /* GP_KFD_DBG_FLAG_* */
	/* a debugger and a runtime are both there, and the hardware was configured for them */
	bool activated;
	bool retries; /* RUNTIME_ENABLE was interrupted and will be repeated */
	int answered_fd; /* a semaphore: the debugger's answers to the runtime; -1: none yet */
	struct emu_debug_waiter *waiters; /* threads that wait for queues to be resumed */
};

int emu_debug_init(struct emu_process *p);
/*
 * The process is about to end: detaches its debugger, and itself from others. No lock is held, and
 * its queues still exist.
 */
void emu_debug_end(struct emu_process *p);
/* Frees the rest, after its queues. */
void emu_debug_destroy(struct emu_process *p);

int emu_runtime_enable(struct emu_call *call, struct gp_kfd_runtime_enable *args);
int emu_dbg_trap(struct emu_call *call, struct gp_kfd_dbg_trap *args);

/*
 * Raises exceptions (GP_KFD_EC_MASK). With any lock. They are recorded while a debugger is
 * attached; true if it wants to be notified.
 */
bool emu_debug_raise_queue(struct emu_queue *q, uint64_t mask);
bool emu_debug_raise_node(struct emu_process *p, uint32_t node, uint64_t mask,
			  const struct gp_kfd_memory_exception *fault);
/*
 * Reports what the hardware found in a queue to the debugger, or else to the runtime, through the
 * address it has left in the save area. False: neither wants to know.
 */
bool emu_debug_report(struct emu_queue *q, uint64_t mask);

/* The flag for trap handlers (emu_process_node.tma_words[2]). The process's lock is held. */
bool emu_debug_is_active(const struct emu_process *p);

/*
 * Before a queue is destroyed: waits while a debugger has it suspended. 0, and it cannot be
 * suspended any more; -EBUSY where another thread is destroying it; -EINTR. With the process's
 * lock, which is released for the wait.
 */
int emu_debug_await_destroy(struct emu_call *call, struct emu_queue *q);

#endif
