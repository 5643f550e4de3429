/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the layer: layer.c has the queues, the others the program's calls. */
#ifndef GP__JOIN_OPENCL_LAYER_H
#define GP__JOIN_OPENCL_LAYER_H

#include "join/opencl/queue.h"

/* The functions beneath the layer. */
const cl_icd_dispatch *gp__cl_next(void);
/* False in a child of the program. */
bool gp__cl_is_joined(void);
/* The program's kernels may be ended anywhere and run again. */
bool gp__cl_is_idempotent(void);
/* NULL: the layer does not schedule the queue. */
struct gp__cl_queue *gp__cl_find(cl_command_queue queue);

/* Reports that a kernel in the queue has no guard, although the level needs one. */
void gp__cl_tell_unguarded(struct gp__cl_queue *q, enum gp__wire_why why);

/* Replaces a function of the loader's table, if the driver has it. */
#define GP__CL_REPLACE(table, name, ours)       \
	do {                                    \
		if ((table)->name)              \
			(table)->name = (ours); \
	} while (0)

/* Replaces every function of the table that enqueues a command. */
void gp__cl_replace_enqueues(cl_icd_dispatch *table);

#endif
