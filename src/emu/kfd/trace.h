/* SPDX-License-Identifier: MIT */
/*
 * Who was on the compute units, and when: a line for each change, by the host's clock and by the
 * device's, in nanoseconds.
 *
 *	HOST DEVICE GPU busy|idle        a compute unit has something to do, or none has
 *	HOST DEVICE GPU on|off PID QUEUE the queue has workgroups on compute units, or none
 *	end                              the machine ended, and all of it was written
 *
 * The first two kinds are each in the order of the device's clock; a line of one may come a little
 * before an earlier one of the other.
 */
#ifndef GP__EMU_KFD_TRACE_H
#define GP__EMU_KFD_TRACE_H

#include <stdio.h>

#include "emu/gfx9/gpu.h"

struct emu_machine;

/* A GPU with its threads calls this for its node, @ctx. */
void emu_trace_change(void *ctx, struct gfx9_queue *q, bool on, uint64_t device_ns);
/* Nothing comes any more: the last line, and the file is closed. */
void emu_trace_end(struct emu_machine *m);

#endif
