/* SPDX-License-Identifier: MIT */
/* Between the parts of the layer: layer.c knows the queues, enqueue.c has the program's calls. */
#ifndef GP__JOIN_OPENCL_LAYER_H
#define GP__JOIN_OPENCL_LAYER_H

#include "join/opencl/queue.h"

/* The functions beneath the layer. */
const cl_icd_dispatch *gp__cl_next(void);
/* False in a child of the program's. */
bool gp__cl_is_joined(void);
/* Its kernels may be cut short anywhere, and run again. */
bool gp__cl_is_idempotent(void);
/* NULL: it is not scheduled here. */
struct gp__cl_queue *gp__cl_find(cl_command_queue queue);

/* A kernel in it has no guard, though it was to have one. */
void gp__cl_tell_unguarded(struct gp__cl_queue *q, enum gp__wire_why why);

/* Puts ours before every function of the table that enqueues something. */
void gp__cl_replace_enqueues(cl_icd_dispatch *table);

#endif
