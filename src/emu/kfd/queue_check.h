/* SPDX-License-Identifier: MIT */
/* Checks of the arguments of queue ioctls, in the order in which amdkfd makes them. */
#ifndef GP__EMU_KFD_QUEUE_CHECK_H
#define GP__EMU_KFD_QUEUE_CHECK_H

#include "emu/kfd/queue.h"

/* Checks CREATE_QUEUE without looking at memory; enlarges a ring that is too small. */
int emu_queue_check_arguments(const struct emu_machine *m, struct gp_kfd_create_queue *args);
/* Parts of that, for UPDATE_QUEUE. */
int emu_queue_check_share(const struct emu_machine *m, uint32_t percentage, uint32_t priority);
int emu_queue_check_ring(uint64_t address, uint32_t *size);
/* Since 6.12: each part of the queue's memory is mapped on its own, with exactly its size. */
int emu_queue_check_memory(struct emu_process *p, uint32_t node,
			   const struct gp_kfd_create_queue *args);
/* Whether a buffer is mapped at @va, of @size bytes if that is not 0. */
bool emu_queue_is_mapped_as(struct emu_process *p, uint32_t node, uint64_t va, uint64_t size);

#endif
