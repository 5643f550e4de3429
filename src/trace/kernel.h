/* SPDX-License-Identifier: MIT */
/*
 * Turns the tracepoints of the kernel series' scheduler, kfd_sched_ring and kfd_sched_action, into
 * tracks: when each queue had work in its ring, and when it was held, with the rule and the time it
 * took. The input is the text of tracefs; its clock must be "mono". The tracepoints do not say for
 * which queue another is held; the scheduler's own log does, which is a decision log.
 */
#ifndef GP__TRACE_KERNEL_H
#define GP__TRACE_KERNEL_H

#include "trace/perfetto.h"

struct gp__trace_kernel;

/* NULL: out of memory. */
struct gp__trace_kernel *gp__trace_kernel_open(struct gp__perfetto *w, const char *source);
/* Other tracepoints' lines and comments are left out. 0, -EINVAL for a line of these two that
 * cannot be read, or -ENOMEM. */
int gp__trace_kernel_line(struct gp__trace_kernel *k, const char *line);
void gp__trace_kernel_close(struct gp__trace_kernel *k);

#endif
