/* SPDX-License-Identifier: MIT */
/*
 * The parts of DBG_TRAP. The process's lock is held, unless stated otherwise; @p is the debugged
 * process.
 */
#ifndef GP__EMU_KFD_DEBUG_OPS_H
#define GP__EMU_KFD_DEBUG_OPS_H

#include "emu/kfd/process.h"

union emu_exception_info {
	struct gp_kfd_runtime_info runtime;
	struct gp_kfd_memory_exception fault;
};

/*
 * Exceptions (debug_exception.c). Clearing returns what was raised before.
 */
void emu_debug_raise_process(struct emu_process *p, uint64_t mask);
void emu_debug_tell_runtime(struct emu_queue *q, uint64_t mask);
uint64_t emu_debug_clear_queue(struct emu_queue *q, uint64_t mask);
uint64_t emu_debug_clear_node(struct emu_process *p, uint32_t node, uint64_t mask);
void emu_debug_clear_all(struct emu_process *p);
void emu_debug_set_wanted(struct emu_process *p, uint64_t wanted);
int emu_debug_query_event(struct emu_process *p, struct gp_kfd_dbg_query_debug_event *args);
/* Two steps, so that an exception that could not be delivered is not cleared. */
int emu_debug_query_info(struct emu_process *p, const struct gp_kfd_dbg_query_exception_info *args,
			 union emu_exception_info *info, uint32_t *size);
void emu_debug_clear_exception(struct emu_process *p,
			       const struct gp_kfd_dbg_query_exception_info *args);

/*
 * Queues and devices (debug_queue.c). SUSPEND and RESUME write flags into @ids; resuming NULL means
 * all. Both return how many.
 */
int emu_debug_suspend(struct emu_process *p, uint32_t *ids, uint32_t nr, uint64_t clear);
int emu_debug_resume(struct emu_process *p, uint32_t *ids, uint32_t nr);
/* Fills up to @max entries; returns how many there are. */
uint32_t emu_debug_snapshot_queues(struct emu_process *p, struct gp_kfd_queue_snapshot *entry,
				   uint32_t max, uint64_t clear);
uint32_t emu_debug_snapshot_nodes(struct emu_process *p, struct gp_kfd_device_snapshot *entry,
				  uint32_t max, uint64_t clear);

/*
 * Waves (debug_wave.c). The GPU of a watch exists.
 */
int emu_debug_set_override(struct emu_process *p, struct gp_kfd_dbg_launch_override *args);
int emu_debug_set_launch_mode(struct emu_process *p, const struct gp_kfd_dbg_launch_mode *args);
int emu_debug_set_watch(struct emu_process *p, struct gp_kfd_dbg_set_address_watch *args);
int emu_debug_clear_watch(struct emu_process *p, const struct gp_kfd_dbg_clear_address_watch *args);
/*
 * Resets the requests of a process that is no longer debugged; its queues are unmapped and mapped.
 */
void emu_debug_clear_waves(struct emu_process *p);

/*
 * The session (debug.c)
 */
void emu_debug_disable(struct emu_process *p);
/* Unmaps and maps all queues of all nodes, so that changes reach the hardware. */
int emu_debug_refresh(struct emu_process *p);

#endif
