/* SPDX-License-Identifier: MIT */
/*
 * The trace of compute unit occupancy: a line for each change, with the host's clock and the
 * device's, in nanoseconds.
 *
 *	HOST DEVICE GPU busy|idle           a compute unit has work, or none has
 *	HOST DEVICE GPU on|off PID QUEUE    the queue has workgroups on compute units, or none
 *	HOST DEVICE GPU work|done PID QUEUE the queue has packets that have not ended, or none
 *	end                                 the machine ended, and every line was written
 *
 * The third kind is of compute queues as their packet processor sees them, also if they are held.
 * Lines of one kind are in the order of the device's clock; a line may come a little before an
 * earlier one of another kind.
 */
#ifndef GP__EMU_KFD_TRACE_H
#define GP__EMU_KFD_TRACE_H

#include <stdio.h>

#include "emu/engine.h"

struct emu_machine;
struct emu_queue;

/* A GPU with its threads calls this for its node, @ctx. */
void emu_trace_change(void *ctx, struct emu_hw_queue *q, bool on, uint64_t device_ns);
/* The front end calls this when it has looked at a compute queue. */
void emu_trace_work(struct emu_queue *q);
/* Writes the last line and closes the file. */
void emu_trace_end(struct emu_machine *m);

#endif
