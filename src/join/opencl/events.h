/* SPDX-License-Identifier: MIT */
/*
 * Events of markers that stand for a launch (guard.h), while the program has them: what they are
 * asked of that is answered from the launch's first run.
 */
#ifndef GP__JOIN_OPENCL_EVENTS_H
#define GP__JOIN_OPENCL_EVENTS_H

#include "join/opencl/cl.h"

/* @run: ours to release, when the program has released @event. */
void gp__cl_event_stands_for(cl_event event, cl_event run);
void gp__cl_replace_events(cl_icd_dispatch *table);

#endif
