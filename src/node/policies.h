/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Shared by the files of the node's scheduler. */
#ifndef GP__NODE_POLICIES_H
#define GP__NODE_POLICIES_H

#include "node/node.h"

/* Sets the parameters of all policies to their defaults; returns the one to begin with. */
const struct gp__policy *gp__node_init_policies(struct gp__node_sched *node);

/* The parameters of all policies, by their place in one list of names. */
u32 gp__node_nr_params(void);
const char *gp__node_param_name(u32 param);
u64 gp__node_param(const struct gp__node_sched *node, u32 param);
/* 0 or -ERANGE. */
int gp__node_set_param(struct gp__node_sched *node, u32 param, u64 value, u64 now);

#endif
