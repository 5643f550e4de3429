/* SPDX-License-Identifier: MIT */
/*
 * The preload's functions for other libraries of gpreempt in the process. The OpenCL layer is
 * linked with the preload: in a program that was started without it, the layer loads it, and it
 * provides the agent but sees no calls.
 */
#ifndef GP__JOIN_EXPORTS_H
#define GP__JOIN_EXPORTS_H

#include "device/backend.h"

/* Opens a port to the program's agent. NULL: the program is not joined, and the user was told. */
struct gp__port *gp_join_open(const struct gp__queue_ops *ops, void *state);
/* Whether queues of this OpenCL platform reach the GPU through queues that are joined already. */
bool gp_join_is_beneath(const char *opencl_platform);

/*
 * Implements gp_hint_arriving() and gp_hint_over() in a joined program: announces work for
 * @when_ns, CLOCK_MONOTONIC; 0 withdraws the announcement. Returns 0; -ENOTCONN: the program is not
 * joined, or there is no daemon; -ENODEV: the daemon knows no queue of it.
 */
int gp_join_arriving(uint64_t when_ns);
/* Implements gp_hint_lead_time() in a joined program. Returns as gp_join_arriving(). */
int gp_join_lead_time(uint64_t *ns);
/* Implements gp_gang_join() in a joined program. -ENOTCONN: it is not joined. */
int gp_join_gang(const char *name, uint32_t members);

#endif
