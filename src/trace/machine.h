/* SPDX-License-Identifier: MIT */
/*
 * Turns the trace of an emulated machine ('gpreempt emu start --trace') into tracks: when each of
 * its GPUs was busy, and when each queue had workgroups on the compute units, with the device's
 * clock. Times are those of the host's clock, as in a decision log of the same host.
 */
#ifndef GP__TRACE_MACHINE_H
#define GP__TRACE_MACHINE_H

#include "trace/perfetto.h"

struct gp__trace_machine;

/* NULL: out of memory. */
struct gp__trace_machine *gp__trace_machine_open(struct gp__perfetto *w, const char *source);
/* 0, -EINVAL if the line is not one of a machine's trace, or -ENOMEM. */
int gp__trace_machine_line(struct gp__trace_machine *m, const char *line);
void gp__trace_machine_close(struct gp__trace_machine *m);

#endif
