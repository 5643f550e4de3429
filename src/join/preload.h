/* SPDX-License-Identifier: MIT */
/* The preload's program, for the entry points that runtimes call. */
#ifndef GP__JOIN_PRELOAD_H
#define GP__JOIN_PRELOAD_H

#include "join/process.h"

#define GP__PUBLIC __attribute__((visibility("default")))

/* NULL: the preload does nothing in this program. */
struct gp__process *gp__preload_process(void);

/* The HSA runtime has loaded the preload as a tools library. Tells gpreempt run if that is all: it
 * sees no calls then. */
void gp__preload_is_tool(void);

#endif
